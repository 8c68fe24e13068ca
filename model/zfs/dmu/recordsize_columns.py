"""The elements of `Records.counts` (`model.zfs.dmu.recordsize`)."""

# Elements of Records.counts.
ASKED_BYTES = 0  # B that writes were of
READ_FIRST = 1  # count of records read because a piece did not cover them
DIRTIED = 2  # count of records dirtied
N_COUNTS = 3  # count
