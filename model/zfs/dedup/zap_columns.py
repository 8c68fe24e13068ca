"""Columns of `Zap.leaves` and elements of `Zap.scalars`; see `model.zfs.dedup.zap`."""
N_ENTRIES, DEPTH, DIRTIED = range(3)
N_COLUMNS = 3
BITS, N_LEAVES, IN_ALL = range(3)
N_SCALARS = 3
