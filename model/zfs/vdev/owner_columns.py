"""The columns of `VdevQueue.own` (`model.zfs.vdev.queue`): whose an I/O is. The leaves fill them, but for the last one."""

# Columns of VdevQueue.own.
LEAF = 0  # index of the leaf
OWNER = 1  # a waiter, FOR_LINE or FOR_TXG
LINE = 2  # of FOR_LINE: node of the vdev cache that it fills
ENTRY = 3  # index, for whoever writes transaction groups
N_COLUMNS = 4  # count
