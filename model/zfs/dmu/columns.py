"""The columns of the tables of dirty blocks (`model.zfs.dmu.dirty.Txgs`)."""

# Columns of Txgs.entries; FIRST and LAST are columns of Txgs.quarters, too.
BLOCK = 0  # number of the block
FIRST = 1  # entry of the first child; of a quarter: of the first top of a file; or NIL
LAST = 2  # entry of the last child; of a quarter: of the last top of a file; or NIL
ABOVE = 3  # entry of the parent; NIL for the top of a file
FOLLOWING = 4  # entry of the next child of the same parent, or of the next top of a file; or NIL
WRITING = 5  # count of I/Os by which it is on its way to disk, or WRITTEN
NODE = 6  # its header in the ARC, which is held until it is written; NIL if nobody has looked yet (model.zfs.dmu.dbuf)
N_COLUMNS = 8  # count; the last one means nothing: so an entry is a line of a processor's cache

# Another column of Txgs.quarters.
N_USED = 0  # count of entries used
N_QUARTER_COLUMNS = 3  # count
