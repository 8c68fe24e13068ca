"""The long runs of maps of free blocks, in exact order of (length, start), and found by where they begin or end.

A run is long from 32 blocks on. No two of them can begin in the same 32 blocks, nor end there. So a table with one entry for
every 32 blocks finds a run by its first block and another one by its last. The order is a skip list
(`model.structures.skip_lists`).

A run that shrinks or grows keeps its number, and its place in the order as long as its neighbours there allow it. So the one
large run of a fresh map, which every allocation trims, costs no search. Where they do not, it is taken out of the order and
is *loose*, until another run of its map is to be. So the run at a cursor, which one allocation after the other trims, is put
in order again once for all of them. Who asks for the longest or the shortest run asks the loose one, too.
"""

from typing import NamedTuple

import numpy as np

from model.jit import kernel, part
from model.jit.cpu_prefetch import prefetch
from model.jit.untouched_memory import zeros
from model.structures.sentinels import NONE
from model.structures.skip_lists import LEVEL_BITS, Order, insert, remove

LONG = 32  # blocks; shift 5 below
SCATTER_HIGH, SCATTER_LOW = 0x9E3779B9, 0x7F4A7C15  # halves of 2^64 over the golden ratio: multiples of it are spread evenly
# A run is a row, so that who comes to one in a list fetches memory once. Links of further levels stand in further rows.
RUN = np.dtype([("start", np.int32), ("length", np.int32), ("after", np.int32), ("before", np.int32)])


class LongRuns(NamedTuple):
    """Long runs of all maps, by number; the list of map m is the one of end `first_end` + m."""

    stride: int  # entries of the tables from map to map
    first_end: int
    start: np.ndarray  # block
    length: np.ndarray  # blocks
    order: Order  # by length, then start
    unused: np.ndarray  # stack of the numbers that are not in use ...
    n_unused: np.ndarray  # ... how many; those from n_fresh on have never been
    n_fresh: np.ndarray
    at_start: np.ndarray  # [map * stride + block >> 5]: number + 1 of the run that begins there, or 0
    at_end: np.ndarray  # likewise of the run whose last block is there; stale where there is none
    loose: np.ndarray  # [map]: number + 1 of the run that stands in no list, or 0


def new_long_runs(n_maps, stride, capacity):
    """Room for `capacity` runs of `n_maps` maps. Memory that was never used takes none."""
    n = capacity + n_maps
    n_levels = max(1, -(-capacity.bit_length() // LEVEL_BITS))
    rows, levels = zeros((n_levels, n), RUN), zeros(n, np.int8)
    start, length, after, before = rows["start"][0], rows["length"][0], rows["after"], rows["before"]
    length[capacity:] = np.iinfo(np.int32).max
    levels[capacity:] = 1
    after[:, capacity:] = before[:, capacity:] = np.arange(capacity, n)
    order = Order(length, start, levels, after, before)
    ends = zeros((n_maps * stride, 2), np.int32)
    return LongRuns(
        stride=stride, first_end=capacity, start=start, length=length, order=order, unused=zeros(capacity, np.int64),
        n_unused=np.zeros(1, np.int64), n_fresh=np.zeros(1, np.int64), at_start=ends[:, 0], at_end=ends[:, 1],
        loose=np.zeros(n_maps, np.int64))


@kernel
def _levels(long, run):
    """How many levels a run has: settled by its number, as if by lot. (In halves, the product fits 64 bits.)"""
    lot = (run * SCATTER_HIGH + (run * SCATTER_LOW >> 32)) & (1 << 32) - 1
    levels, most = 1, len(long.order.after)
    while levels < most and lot < 1 << 32 - LEVEL_BITS * levels:
        levels += 1
    return levels


@kernel
def is_full(long):
    """Whether there is no room for one more."""
    return long.n_unused[0] == 0 and long.n_fresh[0] == long.first_end


@kernel
def beginning_at(long, m, start):
    """The long run that begins at `start`, where one does."""
    return np.int64(long.at_start[m * long.stride + (start >> 5)]) - 1


@kernel
def ending_at(long, m, end):
    """The long run that ends before block `end`, where one does."""
    return np.int64(long.at_end[m * long.stride + (end - 1 >> 5)]) - 1


@kernel
def begins(long, m, word):
    """Whether a long run begins in a word of 64 blocks."""
    at = m * long.stride + 2 * word
    return long.at_start[at] != 0 or long.at_start[at + 1] != 0


@kernel
def last_to_begin(long, m, word, block):
    """The last long run that begins in a word of 64 blocks, at or before `block`; or NONE."""
    at = m * long.stride + 2 * word
    for half in range(1, -1, -1):
        run = np.int64(long.at_start[at + half]) - 1
        if run != NONE and long.start[run] <= block:
            return run
    return NONE


@part
def remember(long, m, start, end):
    """A long run has come to be; there is room for it."""
    if long.n_unused[0] > 0:
        long.n_unused[0] -= 1
        run = long.unused[long.n_unused[0]]
    else:
        run = long.n_fresh[0]
        long.n_fresh[0] += 1
        long.order.n_levels[run] = _levels(long, run)
    _write(long, m, run, start, end)
    insert(long.order, long.first_end + m, run)


@kernel
def _write(long, m, run, start, end):
    long.start[run] = start
    long.length[run] = end - start
    long.at_start[m * long.stride + (start >> 5)] = run + 1
    long.at_end[m * long.stride + (end - 1 >> 5)] = run + 1


@part
def forget(long, m, run):
    """A long run is no more."""
    long.at_start[m * long.stride + (long.start[run] >> 5)] = 0
    if _loose(long, m) == run:
        long.loose[m] = 0
    else:
        remove(long.order, run)
    long.unused[long.n_unused[0]] = run
    long.n_unused[0] += 1


@kernel
def _in_place(long, run):
    """Whether a run stands between its neighbours in the order. An end is greater than all, in front of it is none."""
    before, after = long.order.before[0, run], long.order.after[0, run]
    return ((before >= long.first_end or _less(long, before, run)) and _less(long, run, after))


@kernel
def _less(long, a, b):
    return long.length[a] < long.length[b] or (long.length[a] == long.length[b] and long.start[a] < long.start[b])


@kernel
def _loose(long, m):
    """The run of a map that stands in no list, or NONE."""
    return long.loose[m] - 1


@part
def _loosen(long, m, run):
    """Take a run out of the order; the one that was loose is put in order."""
    remove(long.order, run)
    if _loose(long, m) != NONE:
        insert(long.order, long.first_end + m, _loose(long, m))
    long.loose[m] = run + 1


@kernel
def resize(long, m, run, start, end):
    """A long run now reaches from `start` to `end`."""
    long.at_start[m * long.stride + (long.start[run] >> 5)] = 0
    _write(long, m, run, start, end)
    if run != _loose(long, m) and not _in_place(long, run):
        _loosen(long, m, run)


@kernel
def longest_long(long, m):
    """Blocks of the longest long run; 0 if there is none."""
    run, loose = long.order.before[0, long.first_end + m], _loose(long, m)
    max_blocks = np.int64(0 if run >= long.first_end else long.length[run])
    return max_blocks if loose == NONE else max(max_blocks, np.int64(long.length[loose]))


@part
def shortest_long(long, m, n):
    """Start of the shortest long run of at least `n` blocks, the lowest among equals; NONE if there is none."""
    place, loose = long.first_end + m, _loose(long, m)
    for level in range(long.order.n_levels[place] - 1, -1, -1):
        following = long.order.after[level, place]
        while long.length[following] < n:
            place = following
            following = long.order.after[level, place]
    run = np.int64(long.order.after[0, place])
    if loose != NONE and long.length[loose] >= n and _less(long, loose, run):
        run = loose
    return NONE if run >= long.first_end else np.int64(long.start[run])


@kernel
def look_ahead(long, m, block):
    """Something will soon change there (`model.jit.cpu_prefetch`)."""
    prefetch(long.at_start, m * long.stride + (block >> 5))


@kernel
def look_closer(long, m, block, n):
    """`n` blocks from `block` on will be free in a moment: the runs that they may join."""
    before, behind = ending_at(long, m, max(1, block)), beginning_at(long, m, block + n)
    if before != NONE:
        prefetch(long.start, before)
    if behind != NONE:
        prefetch(long.start, behind)
