"""What kernels say when something cannot be: the first such status is kept in the state."""

from model.jit import kernel
from model.zfs.space.space_map import OK


@kernel
def note(pool, status):
    """Keep the first status that says that something cannot be."""
    if status != OK and pool.failure[0] == OK:
        pool.failure[0] = status
