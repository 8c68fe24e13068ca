"""What kernels say when something cannot be: the first such status is kept in the state."""

from model.jit import kernel


@kernel
def note(pool, status):
    """Keep the first status that says that something cannot be."""
    if status != OK and pool.failure[0] == OK:
        pool.failure[0] = status

NO_SPACE = -1  # nowhere is room: ENOSPC
UNALIGNED = 4  # no whole number of blocks
OK = 0  # done
OVERLAP = 1  # some of it is there already
ABSENT = 2  # some of it is not there
FULL = 3  # no node is left
