"""What kernels say of what they were asked to do. The first status that says that something cannot be is kept."""

from model.jit import kernel

NO_SPACE = -1  # nowhere is room: ENOSPC
OK = 0  # done
OVERLAP = 1  # some of it is there already
ABSENT = 2  # some of it is not there
FULL = 3  # no node is left
UNALIGNED = 4  # no whole number of blocks


@kernel
def note(pool, status):
    """Keep the first status that says that something cannot be."""
    if status != OK and pool.failure[0] == OK:
        pool.failure[0] = status
