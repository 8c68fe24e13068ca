"""Everything around the simulator: runner, run store, claims, statistics, figures, paper and command line."""
