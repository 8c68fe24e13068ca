"""The columns of what zfetch wants read (`model.zfs.dmu.zfetch.read_block`)."""

FIRST_BLOCK = 0  # number of the first block in its file
N_BLOCKS = 1  # count of blocks
N_COLUMNS = 2  # count
