"""Driving maps of free blocks with a stream of operations: the fast twin of `model.zfs.space.replay_exact`.

The unit is the largest power of two that divides all sizes. Where no choice depended on the shape of a tree
(`Summary.n_ambiguous` is 0) the offsets are those of the exact engine. After the first that did, nothing is promised.
"""

from typing import NamedTuple

import numpy as np

from model.jit import kernel
from model.structures.sentinels import NOWHERE
from model.zfs.space.bitmap_pickers import pick_block
from model.zfs.space.bitmaps import MAX_BLOCKS, new_free_blocks
from model.zfs.space.free_runs import give, take
from model.zfs.space.pickers import PickerParams
from model.zfs.space.replay_exact import ALLOCATE, FREE, NEW_MAP, NOTHING_WRONG, Blocks, Operations
from model.zfs.space.status import OK


class Summary(NamedTuple):
    """The last map after the last operation, and what happened in all on the way; bytes and counts."""

    n_refused: int  # blocks that found no place
    by_size: int  # blocks whose place was the shortest run
    free_bytes: int
    n_segments: int
    n_ambiguous: int


@kernel
def _allocate(fb, params, n_bytes, blocks, block):
    n, before = n_bytes >> fb.unit_shift, fb.by_size[0]
    start = pick_block(fb, 0, n, params)
    blocks.offset[block] = start << fb.unit_shift if start != NOWHERE else NOWHERE
    blocks.n_bytes[block] = n_bytes
    blocks.by_size[block] = fb.by_size[0] - before
    return OK if start == NOWHERE else take(fb, 0, start, n)


@kernel
def _free(fb, blocks, block):
    offset = blocks.offset[block]
    return OK if offset == NOWHERE else give(fb, 0, offset >> fb.unit_shift, blocks.n_bytes[block] >> fb.unit_shift)


@kernel
def _run(fb, params, operations, blocks, first, end):
    """Rows `first` to `end` in one map. Returns the row that it cannot follow, or NOTHING_WRONG."""
    for row in range(first, end):
        kind, status = operations.kind[row], OK
        if kind == ALLOCATE:
            status = _allocate(fb, params, operations.n_bytes[row], blocks, operations.block[row])
        elif kind == FREE:
            status = _free(fb, blocks, operations.block[row])
        elif kind == NEW_MAP:
            status = give(fb, 0, 0, fb.n_blocks[0])
        if status != OK:
            return row
    return NOTHING_WRONG


def unit_of(operations: Operations) -> int:
    """The largest power of two of B that divides all sizes of a stream."""
    together = int(np.bitwise_or.reduce(operations.n_bytes))
    return together & -together if together else 512


def fits(operations: Operations) -> bool:
    """Whether the maps of a stream are few enough blocks, each, for this engine."""
    return int(operations.n_bytes.max(initial=0)) // unit_of(operations) <= MAX_BLOCKS


def drive(params: PickerParams, operations: Operations) -> tuple[Blocks, Summary]:
    """Run the stream through its maps, each from its NEW_MAP on: (Blocks, Summary)."""
    unit = unit_of(operations)
    blocks = Blocks(*np.zeros((3, int((operations.kind == ALLOCATE).sum())), np.int64))
    begins = np.flatnonzero(operations.kind == NEW_MAP)
    n_ambiguous = 0
    fb = new_free_blocks(1, unit)
    _run(fb, params, operations, blocks, 0, 0)  # compiles, even if there is nothing to do
    for first, end in zip(begins, [*begins[1:], len(operations.kind)], strict=False):
        fb = new_free_blocks(int(operations.n_bytes[first]) // unit, unit)
        row = _run(fb, params, operations, blocks, int(first), int(end))
        if row != NOTHING_WRONG:
            raise ValueError(f"operation {row} frees block {operations.block[row]}, but some of it is free already; "
                             "free each block once")
        n_ambiguous += int(fb.n_ambiguous[0])
    return blocks, Summary(int((blocks.offset == NOWHERE).sum()), int(blocks.by_size.sum()), int(fb.n_free[0]) * unit,
                           int(fb.n_runs[0]), n_ambiguous)
