"""Memory for the large tables of a run, used again by the next one.

A run of gigabytes of files needs 200 MB of tables, and the next run as much. What is given back to the operating system
comes back as pages that must be found and cleared, some at every step of the run. That took an eighth of the time of a run
of the OLTP simulation, and more on a machine of which others have a share. So what a run no longer needs is kept here for
the next one.

An array on such memory lends it from a `_Loan`. That one goes when the last array on it does, a view or not, and only
then is the memory there for others.

A processor fetches memory in *lines*. A row that is as long as a line, and begins with one, is one fetch (`in_lines`). What
is looked up together should stand in one row.
"""

from math import prod

import numpy as np

MIN_BYTES = 2**20  # less is not worth it
LINE_BYTES = 64  # of a processor's cache
MAX_SPARE = 8  # pieces kept, as many as a run has; the oldest goes
MAX_RATIO = 8  # of what is lent to what is asked for: memory of 4 GiB needs a fifth of the headers that 16 GiB need
_spare: dict[int, np.ndarray] = {}  # by id, the one given back last is the last


class _Loan:
    """What an array on lent memory keeps alive."""

    def __init__(self, memory):
        self.memory = memory
        self.__array_interface__ = memory.__array_interface__

    def __del__(self):
        _spare[id(self.memory)] = self.memory
        while len(_spare) > MAX_SPARE:
            _spare.pop(list(_spare)[0], None)  # noqa: RUF015 - a list of it is made in one step


def _memory(n_bytes):
    """A piece of memory of `n_bytes`, or up to MAX_RATIO times as much: the smallest spare one, or a new one. (Each step is
    one of the interpreter's, so that threads and destructors may come between them.)"""
    fitting = [(memory.nbytes, key) for key, memory in list(_spare.items())
               if n_bytes <= memory.nbytes <= MAX_RATIO * n_bytes]
    for _, key in sorted(fitting):
        memory = _spare.pop(key, None)
        if memory is not None:
            return memory
    return np.empty(n_bytes, np.uint8)


def empty(shape, dtype):
    """As `np.empty`: what is in it means nothing."""
    n_bytes = prod(np.atleast_1d(shape).tolist()) * np.dtype(dtype).itemsize
    if n_bytes < MIN_BYTES:
        return np.empty(shape, dtype)
    return np.asarray(_Loan(_memory(n_bytes)))[:n_bytes].view(dtype).reshape(shape)


def zeros(shape, dtype):
    """As `np.zeros`."""
    array = empty(shape, dtype)
    array.fill(0)
    return array


def in_lines(shape, dtype, made_by=zeros):
    """As `made_by` makes it, but it begins where a line of a processor's cache does."""
    n_bytes = prod(shape) * np.dtype(dtype).itemsize
    room = made_by(n_bytes + LINE_BYTES, np.uint8)
    ahead = -room.ctypes.data % LINE_BYTES
    return room[ahead:ahead + n_bytes].view(dtype).reshape(shape)
