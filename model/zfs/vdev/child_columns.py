"""The columns of a table of I/Os of children (`model.zfs.vdev.raid`): the pieces of a block."""

# Columns of a table of I/Os of children.
CHILD = 0  # index of the child
OFFSET = 1  # B in the child, behind its labels
BYTES = 2  # B
IS_PADDING = 3  # 1: padding alone
N_COLUMNS = 4  # count
