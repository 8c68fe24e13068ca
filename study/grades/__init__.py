"""How far a simulation agrees with a published number: scores and the rule of the grades."""
