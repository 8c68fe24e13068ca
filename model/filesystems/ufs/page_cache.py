"""The page cache under UFS: pages of files in memory that nobody else needs, the longest unused one given up first.

Solaris keeps a file's page after use on the *cachelist*, which is part of free memory. The cache is as large as what
processes and the kernel leave. `segmap_percent` does not bound it. It is how much of it is mapped for reads and writes at a
time; what leaves the map stays on the cachelist (R. McDougall, J. Mauro, Solaris Internals, "page cache"; Solaris Tunable
Parameters Reference Manual, segmap_percent). A page that is on its way to disk, or put off, is *held*: it cannot be given
up.

Pages are numbered from 1 here; 0 closes the ring of `model.structures.lru`. Approximation: pages are given up in order of
last use; the cachelist has them in order of leaving the map.
"""

from typing import NamedTuple

import numpy as np

from model.jit import kernel
from model.structures.lru import SENTINEL, link_after, unlink


class PageCache(NamedTuple):
    """Which pages of files are in memory, in the order of their last use."""

    capacity: int  # pages
    older: np.ndarray  # the ring, per page
    newer: np.ndarray
    in_core: np.ndarray  # per page: 1 if it is
    held: np.ndarray  # per page: writes that it waits for
    n: np.ndarray  # one element: pages in core


@kernel
def _give_up_one(cache):
    """The longest unused page that is not held leaves. False if there is none."""
    for _ in range(cache.n[0]):
        page = cache.newer[SENTINEL]
        unlink(cache, page)
        if not cache.held[page]:
            cache.in_core[page] = 0
            cache.n[0] -= 1
            return True
        link_after(cache, cache.older[SENTINEL], page)
    return False


@kernel
def touch(cache, page):
    """`page` is used: whether it was in core. It is from now on, unless the cache has no room at all."""
    was_here = cache.in_core[page] == 1
    if was_here:
        unlink(cache, page)
    elif cache.n[0] >= cache.capacity and not _give_up_one(cache):
        return False
    else:
        cache.in_core[page] = 1
        cache.n[0] += 1
    link_after(cache, cache.older[SENTINEL], page)
    return was_here


@kernel
def fill(cache, n_pages):
    """As after files of `n_pages` have been written in order, the last ones still here."""
    for page in range(max(1, n_pages + 1 - cache.capacity), n_pages + 1):
        touch(cache, page)


def new_page_cache(capacity, n_pages):
    """Empty."""
    if capacity < 0:
        raise ValueError(f"the page cache has {capacity} pages, but memory is not negative; leave it 0 or more")
    return PageCache(int(capacity), np.zeros(n_pages + 1, np.int32), np.zeros(n_pages + 1, np.int32),
                     np.zeros(n_pages + 1, np.int8), np.zeros(n_pages + 1, np.int16), np.zeros(1, np.int64))
