"""Queues of processes, first come, first served: for servers, for locks, for somebody who will be done.

A process waits in one queue at most, so that the processes themselves are the links. `after[process]` is who comes behind
it, `queue[i, ends.FIRST]` and `queue[i, ends.LAST]` are the ends of queue `i`.
"""

import numpy as np

from model.events import queue_columns as ends
from model.jit import kernel

NOBODY = -1  # no process, or no task


@kernel
def join(queue, after, i, process):
    """`process` waits in queue `i`, behind the others."""
    after[process] = NOBODY
    if queue[i, ends.FIRST] == NOBODY:
        queue[i, ends.FIRST] = process
    else:
        after[queue[i, ends.LAST]] = process
    queue[i, ends.LAST] = process


@kernel
def leave(queue, after, i):
    """The first of queue `i`, who leaves it, or NOBODY."""
    process = queue[i, ends.FIRST]
    if process != NOBODY:
        queue[i, ends.FIRST] = after[process]
    return process


def new_queues(n):
    """`n` empty queues, int64 (n, 2): first and last process."""
    return np.full((n, 2), NOBODY)
