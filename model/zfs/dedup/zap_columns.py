"""Columns of `Zap.leaves` and elements of `Zap.scalars`; see `model.zfs.dedup.zap`."""

# Columns of Zap.leaves.
(N_ENTRIES,  # count of entries
 DEPTH,  # bits of its prefix
 DIRTIED,  # number of the last transaction group that dirtied it
 ) = range(3)
N_COLUMNS = 3

# Elements of Zap.scalars.
(BITS,  # bits of a key that the pointers tell apart
 N_LEAVES,  # count of leaves
 IN_ALL,  # count of entries of all leaves
 ) = range(3)
N_SCALARS = 3
