"""Many draws of all that is not known, what they say, and which condition moves them."""
