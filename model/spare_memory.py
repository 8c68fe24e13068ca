"""Memory for the large tables of a run, used again by the next one.

A run of gigabytes of files needs 200 MB of tables, and the next run as much. What is given back to the operating system
comes back as pages that must be found and cleared, some at every step of the run: an eighth of the time of a run of the
OLTP simulation, and more on a machine of which others have a share. So what a run no longer needs is kept here for the
next one.

An array on such memory lends it from a `_Loan`. That one goes when the last array on it does, a view or not, and only
then is the memory there for others.
"""

from collections import deque
from math import prod
from threading import Lock

import numpy as np

LEAST_BYTES = 2**20  # less is not worth it
MOST_SPARE = 8  # pieces kept at a time
_spare = deque()  # the one given back last is the last
_choosing = Lock()


class _Loan:
    """What an array on lent memory keeps alive."""

    def __init__(self, memory):
        self.memory = memory
        self.__array_interface__ = memory.__array_interface__

    def __del__(self):
        _spare.append(self.memory)


def _memory(n_bytes):
    """A piece of memory of `n_bytes` or more: the smallest spare one that is large enough, or a new one."""
    with _choosing:
        large_enough = [(memory.nbytes, i) for i, memory in enumerate(list(_spare)) if memory.nbytes >= n_bytes]
        if large_enough:
            _, i = min(large_enough)
            memory = _spare[i]
            del _spare[i]
            return memory
        while len(_spare) >= MOST_SPARE:
            _spare.popleft()
        return np.empty(n_bytes, np.uint8)


def empty(shape, dtype):
    """As `np.empty`: what is in it means nothing."""
    n_bytes = prod(np.atleast_1d(shape).tolist()) * np.dtype(dtype).itemsize
    if n_bytes < LEAST_BYTES:
        return np.empty(shape, dtype)
    return np.asarray(_Loan(_memory(n_bytes)))[:n_bytes].view(dtype).reshape(shape)


def zeros(shape, dtype):
    """As `np.zeros`."""
    array = empty(shape, dtype)
    array.fill(0)
    return array
