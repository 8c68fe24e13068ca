"""Ordered lists of many items in many places: skip lists in arrays.

Items are numbered, each has a key and a second key for ties, and each waits in at most one list of an order. A list is
doubly linked, with an *end* that closes it to a ring and is greater than everything. The links of level 0 lead through all
of the list. Those of level 1 through about a quarter of it, level 2 through a sixteenth, and so on:

    level 2   end ------------------------------> 21 ---------> end
    level 1   end --------> 9 ------------------> 21 ---------> end
    level 0   end --> 4 --> 9 --> 13 --> 17 ----> 21 --> 30 --> end

A search goes along the highest level as far as it may, then along the next one below. It takes a few steps for every factor
of four in length. Neighbours are one link away, and taking something out needs no search at all.

Items with equal keys stay in the order in which they came. How many levels an item has is settled by its number, as if by
lot. It decides how long a search takes and never what it finds.

Measured against the other obvious structure, a sorted array for every list, with binary search and moving up. The table has
ns for an I/O to arrive at, be issued from and leave a queue of `model.zfs.vdev.queue` in which that many wait. There is one
leaf, with reads at random places.

    waiting            1    10   100   1000
    skip lists        35    58    71    197
    sorted arrays     30    73   313   3016

What arrives in order of offset, as the writes of a transaction group do, is put behind the last one without a search. It
takes 65 ns with 1000 waiting.
"""

from typing import NamedTuple

import numpy as np

from model.jit import kernel

GREATEST = np.iinfo(np.int64).max  # key of an end
LEVEL_BITS = 2  # each level has a quarter of the items of the one below
TOP_ITEMS = 64  # about as many may stand on the highest level, if all are in one list; the others are seldom so long


class Order(NamedTuple):
    """One order, and all lists in it. A item's number is its place in the arrays; ends have numbers as well."""

    key: np.ndarray  # what the lists are in order of; not written here
    tie: np.ndarray  # and among equal keys; not written here
    n_levels: np.ndarray  # of each item, 1 or more; of each end, how many its list has had
    after: np.ndarray  # [level, item]: the next one, or the end of the list
    before: np.ndarray  # [level, item]: the one before, or the end of the list


@kernel
def _not_greater(order, a, b):
    """Whether `a` may stand in front of `b`."""
    return order.key[a] < order.key[b] or (order.key[a] == order.key[b] and order.tie[a] <= order.tie[b])


@kernel
def _link(order, level, place, item):
    following = order.after[level, place]
    order.before[level, item] = place
    order.after[level, item] = following
    order.after[level, place] = item
    order.before[level, following] = item


@kernel
def _unlink(order, level, item):
    before, after = order.before[level, item], order.after[level, item]
    order.after[level, before] = after
    order.before[level, after] = before


@kernel
def _last_not_greater(order, level, place, item):
    """Along a level, from `place` on: behind what `item` has to stand."""
    following = order.after[level, place]
    while _not_greater(order, following, item):
        place = following
        following = order.after[level, place]
    return place


@kernel
def insert(order, end, item):
    """Put `item` into the list of `end`, behind all that are not greater. (Level 0, all that most items have, is written
    out: the compiler then knows which row of links it is.)"""
    last, levels = order.before[0, end], order.n_levels[item]
    if levels > order.n_levels[end]:
        order.n_levels[end] = levels
    if last == end or _not_greater(order, last, item):  # no search
        _link(order, 0, last, item)
        for level in range(1, levels):
            _link(order, level, order.before[level, end], item)
        return
    place = end
    for level in range(order.n_levels[end] - 1, 0, -1):
        place = _last_not_greater(order, level, place, item)
        if level < levels:
            _link(order, level, place, item)
    _link(order, 0, _last_not_greater(order, 0, place, item), item)


@kernel
def remove(order, item):
    """Take `item` out of its list."""
    _unlink(order, 0, item)
    for level in range(1, order.n_levels[item]):
        _unlink(order, level, item)


def n_levels_for(n_items):
    """How many levels a list of so many items has: one at least."""
    return max(1, -(-(n_items // TOP_ITEMS).bit_length() // LEVEL_BITS))


def new_order(key, tie, first_end, levels=None, links=None):
    """Empty lists of the items 0 .. first_end - 1; the numbers from `first_end` on are their ends.

    `key` and `tie` are the arrays to go by, of all items and ends; the keys of the ends are set here. `levels` and `links`
    are places for `n_levels` and for `after` and `before`, all zeros, if they are to stand beside something else. (Orders
    whose ends have other numbers can share their levels.)
    """
    if links is None:
        levels, links = np.zeros(len(key), np.int8), np.zeros((2, n_levels_for(first_end), len(key)), np.int32)
    after, before = links
    scattered = np.arange(len(key), dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(32)
    lot = (scattered.astype(np.float64) + 0.5) / 2.0**32
    levels[:] = 1
    for level in range(1, len(after)):
        levels[lot < 2.0 ** (-LEVEL_BITS * level)] = level + 1
    levels[first_end:] = 1
    key[first_end:] = GREATEST
    after[:, first_end:] = before[:, first_end:] = np.arange(first_end, len(key))  # what is in no list has no neighbours
    return Order(key, tie, levels, after, before)
