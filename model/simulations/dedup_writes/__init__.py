"""A pool with dedup that is written to, or freed from, faster than its table can be read."""
