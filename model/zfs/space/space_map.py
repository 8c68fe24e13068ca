"""Space maps in core: which parts of a metaslab are free, or were allocated or freed in a txg (spec 2.7).

A map is a set of half-open segments [start, end) that neither overlap nor touch, in an AVL tree in order of offset.

* Adding joins what touches. With neighbours on both sides the left one is removed and the right one reaches down to its
  start. With one neighbour that one grows. With none a new leaf is made where the search for it ended.
* Removing shortens a segment, removes it whole, or cuts it in two. The node keeps what is left of the cut. What is right of
  it gets a new node, put next to it.
* A search for an area calls a segment that overlaps it anywhere "equal". So it finds the overlapping segment that stands
  nearest to the root, not the lowest. So the shape of a tree can decide where a block goes, and it must be right. Moving a
  map into another one takes its segments in post-order.

A *free map* also keeps its segments in order of (length, start), in a second tree, if `has_sizes` says so (since dynamic fit
exists). Its order is complete, so its shape decides nothing. Free maps have 64 cursors each, for `model.zfs.space.pickers`.

All maps share one store of segments. Offsets and lengths are in bytes from the start of the vdev. The segment that was
allocated from last, or what follows it, is remembered as `recent`. Next time it saves most searches, and never changes what
is found. It is taken only where it contains the whole area, so that nothing else can overlap it.

Kernels return a status, OK where it is not said otherwise. Whoever is refused with OVERLAP or ABSENT finds the map as
it was.
"""

from typing import NamedTuple

import numpy as np

from model.jit import kernel
from model.structures.sentinels import NIL
from model.zfs.space import avl
from model.zfs.space import columns as bounds
from model.zfs.space import cursor_columns as which
from model.zfs.space import tree_columns as branch
from model.zfs.space.avl import Trees
from model.zfs.space.status import ABSENT, FULL, OK, OVERLAP


class SpaceMaps(NamedTuple):
    """Many maps over one store of segments. Segment i is node i of `trees`, and node i + n_room in a tree of sizes.
    Map m is tree m, its sizes are tree n_maps + m. Free maps come first."""

    trees: Trees
    start: np.ndarray  # (segment,) B; a view: do not write
    end: np.ndarray  # (segment,) B; likewise
    unused: np.ndarray  # (n_room,) numbers of nodes that are in no map ...
    n_unused: np.ndarray  # ... so many; one element
    space: np.ndarray  # (map,) B in all segments
    n_segments: np.ndarray  # (map,)
    recent: np.ndarray  # (map,) a segment of the map, or NIL
    low: np.ndarray  # (map,) B, start of the area that the map is of; for those who fill it
    size_bytes: np.ndarray  # (map,) B, length of that area; what share is free is of this
    has_sizes: np.ndarray  # (map,) 1 if there is a tree of sizes
    cursors: np.ndarray  # (free map, number) B: see model.zfs.space.cursor_columns
    by_size: np.ndarray  # (free map,) blocks whose place the tree of sizes decided, ever


# ---- searching ----


@kernel
def contains(maps, node, start, end):
    """Whether the segment `node` contains all of [start, end)."""
    return maps.trees.key[node, bounds.START] <= start and end <= maps.trees.key[node, bounds.END]


@kernel
def search(maps, m, start, end):
    """Look for [start, end): (overlapping segment nearest to the root, or NIL; its or a new node's parent; side of it; last
    passed left, right). Without overlap these two are the neighbours."""
    key, link = maps.trees.key, maps.trees.link
    node, parent, side, before, after = maps.trees.root[m], NIL, branch.LEFT, NIL, NIL
    while node != NIL:
        if end <= key[node, bounds.START]:
            after, parent, side = node, node, branch.LEFT
        elif start >= key[node, bounds.END]:
            before, parent, side = node, node, branch.RIGHT
        else:
            break
        node = link[node, side]
    return node, parent, side, before, after


@kernel
def overlapping(maps, m, start, end):
    """The segment that a search for [start, end) finds, or NIL."""
    recent = maps.recent[m]
    if recent != NIL and contains(maps, recent, start, end):
        return recent
    return search(maps, m, start, end)[0]


@kernel
def overlapping_or_next(maps, m, start, end):
    """The segment that a search for [start, end) finds, else the first one above, or NIL."""
    recent = maps.recent[m]
    if recent != NIL and contains(maps, recent, start, end):
        return recent
    node, _, _, _, after = search(maps, m, start, end)
    return node if node != NIL else after


@kernel
def holds(maps, m, start, end):
    """Whether all of [start, end) is in map `m`."""
    node = overlapping(maps, m, start, end)
    return node != NIL and contains(maps, node, start, end)


@kernel
def first(maps, m):
    """The lowest segment, or NIL."""
    return avl.end(maps.trees, m, branch.LEFT)


@kernel
def following(maps, node):
    """The next higher segment, or NIL."""
    return avl.beside(maps.trees, node, branch.RIGHT)


# ---- sizes ----


@kernel
def _n_room(maps):
    return len(maps.unused)


@kernel
def _sizes(maps, m):
    """Number of the tree of sizes of map `m`."""
    return len(maps.space) + m


@kernel
def smallest_of_at_least(maps, m, length):
    """The shortest segment of at least that many bytes, of equal ones the lowest; or NIL."""
    key, link = maps.trees.key, maps.trees.link
    node, shortest = maps.trees.root[_sizes(maps, m)], NIL
    while node != NIL:
        if key[node, bounds.LENGTH] >= length:
            shortest = node
            node = link[node, branch.LEFT]
        else:
            node = link[node, branch.RIGHT]
    return shortest - _n_room(maps) if shortest != NIL else NIL


@kernel
def largest(maps, m):
    """Bytes of the longest segment, 0 if there is none. Needs the tree of sizes."""
    node = avl.end(maps.trees, _sizes(maps, m), branch.RIGHT)
    return maps.trees.key[node, bounds.LENGTH] if node != NIL else 0


@kernel
def _enter_size(maps, m, segment):
    """Put a segment into the tree of sizes, if there is one."""
    if maps.has_sizes[m] == 0:
        return
    key, link, node = maps.trees.key, maps.trees.link, segment + _n_room(maps)
    start = key[segment, bounds.START]
    length = key[segment, bounds.END] - start
    key[node, bounds.LENGTH], key[node, bounds.LOWEST] = length, start
    at, parent, side = maps.trees.root[_sizes(maps, m)], NIL, branch.LEFT
    while at != NIL:
        less = length < key[at, bounds.LENGTH] or (length == key[at, bounds.LENGTH] and start < key[at, bounds.LOWEST])
        parent, side = at, branch.LEFT if less else branch.RIGHT
        at = link[at, side]
    avl.insert(maps.trees, _sizes(maps, m), node, parent, side)


@kernel
def _leave_size(maps, m, segment):
    if maps.has_sizes[m] != 0:
        avl.remove(maps.trees, _sizes(maps, m), segment + _n_room(maps))


# ---- segments ----


@kernel
def _new_segment(maps, m, start, end):
    """A node for [start, end), in no tree yet; NIL if there is none left."""
    if maps.n_unused[0] == 0:
        return NIL
    maps.n_unused[0] -= 1
    node = maps.unused[maps.n_unused[0]]
    maps.trees.key[node, bounds.START], maps.trees.key[node, bounds.END] = start, end
    maps.n_segments[m] += 1
    return node


@kernel
def _give_back(maps, m, node):
    maps.unused[maps.n_unused[0]] = node
    maps.n_unused[0] += 1
    maps.n_segments[m] -= 1
    if maps.recent[m] == node:
        maps.recent[m] = NIL


@kernel
def _join(maps, m, before, after, start, end):
    """Let the neighbours that touch [start, end) have it. Returns the one that has it now, or NIL if none touches."""
    key = maps.trees.key
    touches_before = before != NIL and key[before, bounds.END] == start
    touches_after = after != NIL and key[after, bounds.START] == end
    if touches_before:
        _leave_size(maps, m, before)
    if touches_after:
        _leave_size(maps, m, after)
    if touches_before and touches_after:
        avl.remove(maps.trees, m, before)
        key[after, bounds.START] = key[before, bounds.START]
        _give_back(maps, m, before)
    elif touches_after:
        key[after, bounds.START] = start
    elif touches_before:
        key[before, bounds.END] = end
    return after if touches_after else (before if touches_before else NIL)


@kernel
def add(maps, m, start, end):
    """Put [start, end) into map `m`. OVERLAP if any of it is there."""
    node, parent, side, before, after = search(maps, m, start, end)
    if node != NIL:
        return OVERLAP
    node = _join(maps, m, before, after, start, end)
    if node == NIL:
        node = _new_segment(maps, m, start, end)
        if node == NIL:
            return FULL
        avl.insert(maps.trees, m, node, parent, side)
    _enter_size(maps, m, node)
    maps.space[m] += end - start
    return OK


@kernel
def _cut(maps, m, node, start, end):
    """Take [start, end), which reaches neither end, out of a segment. FULL if there is no node for what is above."""
    upper = _new_segment(maps, m, end, maps.trees.key[node, bounds.END])
    if upper == NIL:
        return FULL
    _leave_size(maps, m, node)
    maps.trees.key[node, bounds.END] = start
    parent, side = avl.place_beside(maps.trees, node, branch.RIGHT)
    avl.insert(maps.trees, m, upper, parent, side)
    _enter_size(maps, m, upper)
    _enter_size(maps, m, node)
    maps.recent[m] = upper
    return OK


@kernel
def _remove_whole(maps, m, node):
    maps.recent[m] = avl.beside(maps.trees, node, branch.RIGHT)
    _leave_size(maps, m, node)
    avl.remove(maps.trees, m, node)
    _give_back(maps, m, node)


@kernel
def remove(maps, m, start, end):
    """Take [start, end) out of map `m`. ABSENT if not all of it is there."""
    key, node = maps.trees.key, overlapping(maps, m, start, end)
    if node == NIL or not contains(maps, node, start, end):
        return ABSENT
    from_start, to_end = key[node, bounds.START] == start, key[node, bounds.END] == end
    if from_start and to_end:
        _remove_whole(maps, m, node)
    elif from_start or to_end:
        _leave_size(maps, m, node)
        key[node, bounds.START if from_start else bounds.END] = end if from_start else start
        _enter_size(maps, m, node)
        maps.recent[m] = node
    elif _cut(maps, m, node, start, end) == FULL:
        return FULL
    maps.space[m] -= end - start
    return OK


# ---- whole maps ----


@kernel
def _forget(maps, m):
    """What a map without segments looks like."""
    maps.trees.root[m] = NIL
    maps.trees.root[_sizes(maps, m)] = NIL
    maps.space[m] = 0
    maps.n_segments[m] = 0
    maps.recent[m] = NIL


@kernel
def clear(maps, m):
    """Empty map `m`, and set the cursors of a free map to 0."""
    node = avl.first_of_all(maps.trees, m)
    while node != NIL:
        following_node = avl.next_of_all(maps.trees, node)
        _give_back(maps, m, node)
        node = following_node
    _forget(maps, m)
    if m < len(maps.cursors):
        for i in range(which.N_CURSORS):
            maps.cursors[m, i] = 0


@kernel
def move(maps, source, target):
    """Empty map `source` into `target`, segments in post-order. OVERLAP: what overlaps is lost, which is a defect."""
    status = OK
    node = avl.first_of_all(maps.trees, source)
    while node != NIL:
        following_node = avl.next_of_all(maps.trees, node)
        start, end = maps.trees.key[node, bounds.START], maps.trees.key[node, bounds.END]
        _give_back(maps, source, node)
        added = add(maps, target, start, end)
        status = status if added == OK else added
        node = following_node
    _forget(maps, source)
    return status


def new_space_maps(n_maps: int, max_segments: int, n_free_maps: int) -> SpaceMaps:
    """Empty maps, of which the first `n_free_maps` are free maps, with room for `max_segments` segments in all."""
    trees = avl.new_trees(2 * n_maps, 2 * max_segments)
    unused = np.arange(max_segments, 0, -1, dtype=np.int32)
    has_sizes = (np.arange(n_maps) < n_free_maps).astype(np.int64)
    of_maps = {name: np.zeros(n_maps, np.int64) for name in ("space", "n_segments", "recent", "low", "size_bytes")}
    of_segments = trees.key[:max_segments + 1]
    return SpaceMaps(trees=trees, start=of_segments[:, bounds.START], end=of_segments[:, bounds.END], unused=unused,
                     n_unused=np.array([max_segments]), has_sizes=has_sizes,
                     cursors=np.zeros((n_free_maps, which.N_CURSORS), np.int64), by_size=np.zeros(n_free_maps, np.int64),
                     **of_maps)
