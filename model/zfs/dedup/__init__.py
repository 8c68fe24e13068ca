"""The dedup table, as it was until OpenZFS 2.2: which blocks of it are read, filled, split and dirtied."""
