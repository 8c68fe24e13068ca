"""Zeros of which nobody knows how many will be written: the operating system finds memory for a page when it is.

`np.zeros` asks for pages of 2 MiB where the system has them. They are faster. But in a table of tens of gigabytes, of which
a few bytes in each megabyte are written, they are all of it. So the largest tables come in pages of 4 KiB.
"""

import contextlib
import mmap

import numpy as np

SMALL_PAGES_BYTES = 2**28  # tables from here on
MAP_NORESERVE = 0x4000  # of Linux, without a name in Python 3.11: a table may exceed all memory if little is written


def zeros(shape, dtype):
    """As `np.zeros`. MemoryError if not even the addresses can be had."""
    n_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    if n_bytes < SMALL_PAGES_BYTES:
        return np.zeros(shape, dtype)
    try:
        memory = mmap.mmap(-1, n_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE)
    except OSError:
        raise MemoryError(f"the system refuses a table of {n_bytes / 2**30:.1f} GiB, most of it never written (ulimit -v)"
                          ) from None
    with contextlib.suppress(OSError):  # a system without large pages has none to do without
        memory.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(memory, dtype).reshape(shape)
