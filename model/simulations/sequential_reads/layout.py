"""Where files of large records lie: first fit exactly, in a pool that only grows.

`model.zfs.dmu.layout` puts everything behind the frontier of a leaf, which is exact as long as what alignment leaves free is
too short for anything. With records of 128 KiB it is not. Behind every indirect block of a few sectors there is a hole of
more than 120 KiB, which dozens of indirect blocks fit into. The allocator of 2007 (spec 2.8, FF) fills it, because it keeps
a *cursor* for every alignment:

 1. The alignment of a piece is the lowest set bit of its length.
 2. Search upwards from that alignment's cursor, from the free segment on that the cursor lies in, or else the next one.
    Take the first segment that the piece fits into, its start rounded up to the alignment.
 3. The cursor then stands behind the piece. If nothing is found it goes back to 0 and the search starts once more. Here the
    last segment has no end, so something always is.

    records   |R0      |R1      |.................|R2      |R3      |            . = free
    and L1s                      LLL..............          each new L1 of this leaf goes on behind the last

So the indirect blocks of a leaf lie side by side. Where checksums are off, 26 to 64 of them are in a line of the vdev
cache (spec 5.1 gives their sizes). Leaves take turns as in `model.zfs.dmu.layout`, rules 1, 2 and 4.

In ZFS: `metaslab_ff_alloc`. Left out: what `model.zfs.dmu.layout` leaves out, and that a leaf consists of metaslabs of some
GiB. In each of these its indirect blocks would begin a new hole.
"""

from typing import NamedTuple

import numpy as np

from model.jit import kernel
from model.zfs.dmu.layout import ALIQUOT_BYTES, Layout, _is_last_child, level_block, new_space
from model.zfs.vdev.places import FRONT_BYTES, LEAF_SHIFT

N_ALIGNMENTS = 48
DONE, OUT_OF_HOLES = 0, 1


class Free(NamedTuple):
    """What is free on each leaf: holes, in order of address, and all from the frontier on. B from the start of the leaf."""

    aliquot_bytes: int
    frontier: np.ndarray  # per leaf
    hole_start: np.ndarray  # [leaf, i]
    hole_end: np.ndarray  # [leaf, i]
    n_holes: np.ndarray  # per leaf
    max_holes: np.ndarray  # one element: that a leaf ever had
    cursor: np.ndarray  # [leaf, log2 of the alignment]
    rotor: np.ndarray  # one element: a leaf
    given: np.ndarray  # one element: B since the rotor came there


@kernel
def _log2(power):
    n = 0
    while power > 1:
        power >>= 1
        n += 1
    return n


@kernel
def _insert_hole(free, leaf, i, start, end):
    """[start, end) is free, as hole `i`; unless it is empty."""
    if start == end:
        return
    for j in range(free.n_holes[leaf], i, -1):
        free.hole_start[leaf, j], free.hole_end[leaf, j] = free.hole_start[leaf, j - 1], free.hole_end[leaf, j - 1]
    free.hole_start[leaf, i], free.hole_end[leaf, i] = start, end
    free.n_holes[leaf] += 1
    free.max_holes[0] = max(free.max_holes[0], free.n_holes[leaf])


@kernel
def _cut(free, leaf, i, start, end):
    """Take [start, end) out of hole `i`."""
    first, last = free.hole_start[leaf, i], free.hole_end[leaf, i]
    free.n_holes[leaf] -= 1
    for j in range(i, free.n_holes[leaf]):
        free.hole_start[leaf, j], free.hole_end[leaf, j] = free.hole_start[leaf, j + 1], free.hole_end[leaf, j + 1]
    _insert_hole(free, leaf, i, end, last)
    _insert_hole(free, leaf, i, first, start)


@kernel
def _first_behind(free, leaf, cursor):
    """The first hole that ends behind `cursor`; as many as there are if none does."""
    low, high = 0, free.n_holes[leaf]
    while low < high:
        middle = (low + high) >> 1
        if free.hole_end[leaf, middle] > cursor:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def first_fit(free, leaf, n_bytes):
    """Rules 1 to 3: `n_bytes` of `leaf`; B from the start of the device."""
    alignment = n_bytes & -n_bytes
    which = _log2(alignment)
    for i in range(_first_behind(free, leaf, free.cursor[leaf, which]), free.n_holes[leaf]):
        start = (free.hole_start[leaf, i] + alignment - 1) & -alignment
        if start + n_bytes <= free.hole_end[leaf, i]:
            _cut(free, leaf, i, start, start + n_bytes)
            free.cursor[leaf, which] = start + n_bytes
            return start
    frontier = free.frontier[leaf]
    start = (frontier + alignment - 1) & -alignment
    _insert_hole(free, leaf, free.n_holes[leaf], frontier, start)
    free.frontier[leaf] = free.cursor[leaf, which] = start + n_bytes
    return start


@kernel
def _allocate(free, leaf, n_bytes):
    """A place on `leaf`; then it is seen whether the rotor goes on."""
    offset = first_fit(free, leaf, n_bytes)
    free.given[0] += n_bytes
    if free.given[0] >= free.aliquot_bytes:
        free.rotor[0] = leaf + 1 if leaf + 1 < len(free.frontier) else 0
        free.given[0] = 0
    return leaf << LEAF_SHIFT | offset


@kernel
def _place_indirect(files, sizes, layout, free, block, level):
    i = block - files.n_records
    layout.level[i] = level
    layout.n_bytes[i] = sizes.sequential_l1[i % len(sizes.sequential_l1)] if level == 1 else sizes.upper_l
    layout.place[block] = _allocate(free, free.rotor[0], layout.n_bytes[i])
    leaf = (layout.place[block] >> LEAF_SHIFT) + 1
    layout.second[i] = _allocate(free, leaf if leaf < len(free.frontier) else 0, layout.n_bytes[i])


@kernel
def _write_files(files, sizes, layout, free):
    """Write all files, one after the other, from start to end. Ends early where there is no room to note holes."""
    room = free.hole_start.shape[1] - 8
    for file in range(len(files.n_levels)):
        n_records = files.n_records_of[file]
        for record in range(n_records):
            layout.place[files.base[file, 0] + record] = _allocate(free, free.rotor[0], sizes.record_bytes)
            level = 1
            while level < files.n_levels[file] and _is_last_child(record, n_records, level, files.shift):
                _place_indirect(files, sizes, layout, free, level_block(files, file, record, level), level)
                level += 1
            if free.max_holes[0] > room:
                return OUT_OF_HOLES
    return DONE


def new_free(n_leaves, aliquot_bytes=ALIQUOT_BYTES, n_holes=64, first_byte=0):
    """An empty pool, freshly imported, with room to note so many holes a leaf; the first `first_byte` are taken."""
    rotor = new_space(n_leaves, aliquot_bytes).rotor
    return Free(
        aliquot_bytes=aliquot_bytes, frontier=np.full(n_leaves, FRONT_BYTES + first_byte),
        hole_start=np.zeros((n_leaves, n_holes), np.int64), hole_end=np.zeros((n_leaves, n_holes), np.int64),
        n_holes=np.zeros(n_leaves, np.int64), max_holes=np.zeros(1, np.int64),
        cursor=np.zeros((n_leaves, N_ALIGNMENTS), np.int64), rotor=rotor, given=np.zeros(1, np.int64))


def lay_out(files, sizes, n_leaves, aliquot_bytes=ALIQUOT_BYTES, first_byte=0):
    """(Layout, Free afterwards) of all files, written one after the other into a pool. Its leaves are full up to
    `first_byte`, and empty from there on."""
    n_indirect, n_holes = files.n_blocks - files.n_records, 64
    while True:
        free = new_free(n_leaves, aliquot_bytes, n_holes, first_byte)
        layout = Layout(
            place=np.empty(files.n_blocks, np.int64), second=np.empty(n_indirect, np.int64),
            n_bytes=np.empty(n_indirect, np.int64), level=np.empty(n_indirect, np.int64))
        if _write_files(files, sizes, layout, free) == DONE:
            return layout, free
        n_holes *= 4
