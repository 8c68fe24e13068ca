"""Driving one free map with a stream of operations, recorded or made up.

Blocks are placed by `model.zfs.space.pickers` and taken out of a map of `model.zfs.space.space_map`: the same kernels that a
simulation of a whole pool calls. A block that is freed is free at once; whoever made the stream has put its frees where a
txg ended.
"""

from typing import NamedTuple

import numpy as np

from model.jit import kernel
from model.structures.sentinels import NOWHERE
from model.zfs.space.pickers import FIRST_FIT, PickerParams, pick
from model.zfs.space.space_map import add, clear, largest, new_space_maps, remove
from model.zfs.space.status import OK

ALLOCATE, FREE, TXG_END, MARKER, NEW_MAP = range(5)  # what an operation is; the codes of the recorded traces
NOTHING_WRONG = -1  # in place of a row


class Operations(NamedTuple):
    """A stream in order of time, an element per operation."""

    kind: np.ndarray
    n_bytes: np.ndarray  # ALLOCATE: size of the block; NEW_MAP: size of the map, all of which is free
    block: np.ndarray  # ALLOCATE: number of this block; FREE: number of the block that is freed; blocks count from 0


class Blocks(NamedTuple):
    """What became of each block."""

    offset: np.ndarray  # B, or NOWHERE
    n_bytes: np.ndarray
    by_size: np.ndarray  # 1 if the tree of sizes decided its place


class Summary(NamedTuple):
    """A map after the last operation, and what happened on the way; bytes and counts."""

    n_refused: int  # blocks that found no place
    by_size: int  # blocks whose place the tree of sizes decided
    free_bytes: int
    n_segments: int
    largest_bytes: int  # 0 without a tree of sizes


@kernel
def _allocate(maps, params, n_bytes, blocks, block):
    before = maps.by_size[0]
    offset = pick(maps, 0, n_bytes, params)
    blocks.offset[block] = offset
    blocks.n_bytes[block] = n_bytes
    blocks.by_size[block] = maps.by_size[0] - before
    return OK if offset == NOWHERE else remove(maps, 0, offset, offset + n_bytes)


@kernel
def _free(maps, blocks, block):
    offset = blocks.offset[block]
    return OK if offset == NOWHERE else add(maps, 0, offset, offset + blocks.n_bytes[block])


@kernel
def _start_anew(maps, n_bytes):
    clear(maps, 0)
    maps.size_bytes[0] = n_bytes
    return add(maps, 0, 0, n_bytes)


@kernel
def _run(maps, params, operations, blocks):
    """Returns the first row that the map cannot follow, or NOTHING_WRONG."""
    for row in range(len(operations.kind)):
        kind, n_bytes, block = operations.kind[row], operations.n_bytes[row], operations.block[row]
        status = OK
        if kind == ALLOCATE:
            status = _allocate(maps, params, n_bytes, blocks, block)
        elif kind == FREE:
            status = _free(maps, blocks, block)
        elif kind == NEW_MAP:
            status = _start_anew(maps, n_bytes)
        if status != OK:
            return row
    return NOTHING_WRONG


def _room(operations):
    """Segments that there can be at most: two cannot touch, and each operation makes one more."""
    smallest = 512
    largest_map = int(operations.n_bytes[operations.kind == NEW_MAP].max(initial=0))
    return min(largest_map // smallest // 2 + 1, len(operations.kind)) + 1


def drive(params: PickerParams, operations: Operations) -> tuple[Blocks, Summary]:
    """Run the stream through one map: (Blocks, Summary). The map begins with nothing free, until a NEW_MAP.

    A block that found no place is not freed. ValueError when more is freed than was allocated."""
    maps = new_space_maps(1, _room(operations), 1)
    maps.has_sizes[0] = params.picker != FIRST_FIT
    blocks = Blocks(*np.zeros((3, int((operations.kind == ALLOCATE).sum())), np.int64))
    row = _run(maps, params, operations, blocks)
    if row != NOTHING_WRONG:
        raise ValueError(f"operation {row} frees block {operations.block[row]}, but some of it is free already; "
                         "free each block once")
    return blocks, Summary(int((blocks.offset == NOWHERE).sum()), int(maps.by_size[0]), int(maps.space[0]),
                           int(maps.n_segments[0]), int(largest(maps, 0)))
