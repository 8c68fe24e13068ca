"""Order entry and Exchange on an appliance (2010), on pools that age. `run` has the loop, `series` a series of runs."""
