"""Columns of `Zap.leaves` and elements of `Zap.scalars`; see `model.zfs.dedup.zap`."""
N_ENTRIES, DEPTH, DIRTIED = range(3)  # count of entries; bits of its prefix; number of the last group that wrote it
N_COLUMNS = 3
BITS, N_LEAVES, IN_ALL = range(3)  # bits of a key that the pointers tell apart; count of leaves; count of all entries
N_SCALARS = 3
