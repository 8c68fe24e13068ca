"""How large an LRU cache must be for a reference to hit: the *stack distance* of each, exactly, for all sizes at once.

LRU caches include each other: what is in one of c blocks is in one of c + 1. So a reference hits in all caches from some
size on. That is its distance, the number of blocks used since its block was last used, itself included. A histogram of
distances is the miss-ratio curve (R. Mattson and others, Evaluation techniques for storage hierarchies, IBM Systems Journal
9, 1970).

    place in time    1   2   3   4   5   6        a reference to B: after place 2 are C, D and A.
    last use of      .   B   .   C   D   A        Its distance is 4: a cache of four blocks hits, one of three does not

Places are counted by a Fenwick tree, which has 1 at each place that is the last use of a block. When all places are used up,
those that are in use move to the front.
"""

from typing import NamedTuple

import numpy as np

from model.jit import kernel
from model.structures.sentinels import NIL

FIRST_TIME = 0  # in place of a distance: the block has not been used before


class Stack(NamedTuple):
    """Of blocks numbered from 1."""

    tree: np.ndarray  # int32, per place from 1: Fenwick tree of the places that are the last use of a block
    block_at: np.ndarray  # int32, per place: the block used there; NIL if it has been used since
    place_of: np.ndarray  # int32, per block: the place of its last use, or 0
    n_places: np.ndarray  # one element: places used
    n_blocks: np.ndarray  # one element: blocks seen


@kernel
def _add(tree, place, change):
    while place < len(tree):
        tree[place] += change
        place += place & -place


@kernel
def _up_to(tree, place):
    n = 0
    while place > 0:
        n += tree[place]
        place -= place & -place
    return n


@kernel
def _move_to_front(stack):
    """All places are used up: the last uses keep their order, at places 1 .. n_blocks."""
    n = 0
    for place in range(1, stack.n_places[0] + 1):
        block = stack.block_at[place]
        if block != NIL:
            n += 1
            stack.block_at[n] = block
            stack.place_of[block] = n
    tree = stack.tree
    for place in range(1, len(tree)):
        tree[place] = 1 if place <= n else 0
    for place in range(1, len(tree)):
        above = place + (place & -place)
        if above < len(tree):
            tree[above] += tree[place]
    stack.n_places[0] = n


@kernel
def distance_of(stack, block):
    """The stack distance of a reference to `block`, or FIRST_TIME; it is the one used last from now on."""
    if stack.n_places[0] + 1 == len(stack.tree):
        _move_to_front(stack)
    distance, place = FIRST_TIME, stack.place_of[block]
    if place != 0:
        distance = stack.n_blocks[0] - _up_to(stack.tree, place) + 1
        _add(stack.tree, place, -1)
        stack.block_at[place] = NIL
    else:
        stack.n_blocks[0] += 1
    stack.n_places[0] += 1
    now = stack.n_places[0]
    _add(stack.tree, now, 1)
    stack.block_at[now], stack.place_of[block] = block, now
    return distance


@kernel
def count_distances(stack, blocks, is_counted, histogram):
    """References to `blocks` (int[n], numbers from 1). Those that count add to `histogram` (int64[n_blocks + 1]) at their
    distance."""
    for i in range(len(blocks)):
        distance = distance_of(stack, int(blocks[i]))
        if is_counted[i]:
            histogram[distance] += 1


def new_stack(n_blocks: int) -> Stack:
    """For blocks 1 .. n_blocks (to 2^29), none of which has been used."""
    n_places = 2 * n_blocks + 1024  # a move to the front is paid by as many references as there are blocks, at least
    return Stack(tree=np.zeros(n_places + 1, np.int32), block_at=np.zeros(n_places + 1, np.int32),
                 place_of=np.zeros(n_blocks + 1, np.int32), n_places=np.zeros(1, np.int64), n_blocks=np.zeros(1, np.int64))
