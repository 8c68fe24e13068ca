"""AVL trees over numbered nodes, of exactly the shapes that avl.c gives them.

Which segment of free space a first fit begins with can depend on where it stands in its tree (spec 2.7.2). So the trees
of `model.zfs.space.space_map` must have the shapes of the ones in ZFS. The rules that decide shapes:

* A new node becomes a leaf where the search for it ended, or is put beside a node that is given. There it is its child on
  that side, or, where it has one, a child of the nearest node on that side.
* Balance is height on the right less height on the left: -1, 0 or 1. After an insertion the walk upwards ends where a
  height did not grow, or with one rotation.
* A node with two children is replaced by its predecessor in order, if it is right-heavy by its successor. What replaces
  it takes over its place and its balance. Balances are then mended from where the replacement was taken.
* After a removal the walk upwards ends where a height did not shrink. A rotation about a child of balance 0 is a single
  one and leaves the height as it was. So the walk ends there as well.

Nothing here knows what the trees are in order of. Nodes are numbered from 1; 0 is nobody, and the parent that is
sometimes written into its row means nothing. There can be many trees in one store of nodes, each node in at most one.

A node is one row of 32 bytes, as many as a processor fetches with two or one of its lines. It has two int64 of whoever keeps
things in the trees, then four int32 of links. `Trees.key` and `Trees.link` are two views of these rows.
"""

from typing import NamedTuple

import numpy as np

from model.jit import kernel
from model.jit.lent_memory import in_lines
from model.structures.sentinels import NIL
from model.zfs.space import tree_columns as branch

SIDES = branch.LEFT + branch.RIGHT


class Trees(NamedTuple):
    """A store of nodes, and the trees in it."""

    key: np.ndarray  # int64[node, 4]: columns 0 and 1 are the caller's
    link: np.ndarray  # int32[node, 8]: columns: model.zfs.space.tree_columns
    root: np.ndarray  # int32[tree]


@kernel
def _hang(trees, tree, parent, side, node):
    """Make `node`, or NIL, the child of `parent` on that side; the root, if there is no parent."""
    if parent == NIL:
        trees.root[tree] = node
    else:
        trees.link[parent, side] = node
    trees.link[node, branch.PARENT] = parent


@kernel
def _side(trees, parent, node):
    """On which side of its parent a node is."""
    return branch.RIGHT if trees.link[parent, branch.RIGHT] == node else branch.LEFT


@kernel
def _heavier(side):
    """What a node's balance gains when it grows on that side."""
    return 1 if side == branch.RIGHT else -1


@kernel
def _rotate_once(trees, node, heavy, sign):
    """Lift the child on the heavy side above `node`. Returns (the child, whether the subtree has become lower)."""
    link, light = trees.link, SIDES - heavy
    child = link[node, heavy]
    moved = link[child, light]
    balance = link[child, branch.BALANCE] - sign  # 0, or of the other sign where the child was balanced
    link[node, heavy] = moved
    link[moved, branch.PARENT] = node
    link[child, light] = node
    link[node, branch.PARENT] = child
    link[node, branch.BALANCE] = -balance
    link[child, branch.BALANCE] = balance
    return child, balance == 0


@kernel
def _rotate_twice(trees, node, heavy, sign):
    """Lift the heavy child's child on the light side above both. Returns it."""
    link, light = trees.link, SIDES - heavy
    child = link[node, heavy]
    middle = link[child, light]
    inner, outer, balance = link[middle, heavy], link[middle, light], link[middle, branch.BALANCE]
    link[child, light] = inner
    link[inner, branch.PARENT] = child
    link[node, heavy] = outer
    link[outer, branch.PARENT] = node
    link[middle, heavy] = child
    link[child, branch.PARENT] = middle
    link[middle, light] = node
    link[node, branch.PARENT] = middle
    link[child, branch.BALANCE] = sign if balance == -sign else 0
    link[node, branch.BALANCE] = -sign if balance == sign else 0
    link[middle, branch.BALANCE] = 0
    return middle


@kernel
def _leans_back(trees, child, sign):
    """Whether the heavy child of a node that leans by `sign` is itself heavier on the other side."""
    return trees.link[child, branch.BALANCE] == -sign


@kernel
def _rotate(trees, tree, node, sign):
    """Mend a node that is two higher on one side (right if `sign` is 1). Returns whether the subtree became lower."""
    parent = trees.link[node, branch.PARENT]
    side = _side(trees, parent, node)
    heavy = branch.RIGHT if sign > 0 else branch.LEFT
    if _leans_back(trees, trees.link[node, heavy], sign):
        top, lower = _rotate_twice(trees, node, heavy, sign), True
    else:
        top, lower = _rotate_once(trees, node, heavy, sign)
    _hang(trees, tree, parent, side, top)
    return lower


@kernel
def insert(trees, tree, node, parent, side):
    """Put `node` into the tree as the child of `parent` on that side, where there is none. No parent: the first node."""
    link = trees.link
    link[node, branch.LEFT] = link[node, branch.RIGHT] = NIL
    link[node, branch.BALANCE] = 0
    _hang(trees, tree, parent, side, node)
    while parent != NIL:
        before = link[parent, branch.BALANCE]
        grown = before + _heavier(side)
        if before != 0:
            if grown == 0:
                link[parent, branch.BALANCE] = 0
            else:
                _rotate(trees, tree, parent, _heavier(side))
            return
        link[parent, branch.BALANCE] = grown
        node = parent
        parent = link[node, branch.PARENT]
        side = _side(trees, parent, node)


@kernel
def outermost(trees, node, side):
    """The last node that is reached from `node` by going to that side all the time."""
    while trees.link[node, side] != NIL:
        node = trees.link[node, side]
    return node


@kernel
def place_beside(trees, here, side):
    """(parent, side) for a new node next to `here` in order, on that side of it."""
    child = trees.link[here, side]
    if child == NIL:
        return here, side
    return outermost(trees, child, SIDES - side), SIDES - side


@kernel
def _put_in_place(trees, tree, node, replaced):
    """Let `node` have the place and the balance of `replaced`."""
    link = trees.link
    parent = link[replaced, branch.PARENT]
    _hang(trees, tree, parent, _side(trees, parent, replaced), node)
    for side in (branch.LEFT, branch.RIGHT):
        child = link[replaced, side]
        link[node, side] = child
        link[child, branch.PARENT] = node
    link[node, branch.BALANCE] = link[replaced, branch.BALANCE]


@kernel
def _replaced_from(trees, node):
    """The side of a node with two children that its replacement comes from."""
    return branch.RIGHT if trees.link[node, branch.BALANCE] > 0 else branch.LEFT


@kernel
def _take_out(trees, tree, node):
    """Unlink `node`. Returns (parent, side) of the subtree that became lower."""
    link = trees.link
    gap, replaces = node, NIL
    if link[node, branch.LEFT] != NIL and link[node, branch.RIGHT] != NIL:
        side = _replaced_from(trees, node)
        replaces = outermost(trees, link[node, side], SIDES - side)
        gap = replaces
    parent = link[gap, branch.PARENT]
    side = _side(trees, parent, gap)
    child = link[gap, branch.LEFT] if link[gap, branch.LEFT] != NIL else link[gap, branch.RIGHT]
    _hang(trees, tree, parent, side, child)
    if replaces != NIL:
        _put_in_place(trees, tree, replaces, node)
        if parent == node:
            parent = replaces
    return parent, side


@kernel
def remove(trees, tree, node):
    """Take `node` out of the tree."""
    link = trees.link
    parent, side = _take_out(trees, tree, node)
    while parent != NIL:
        node, before = parent, link[parent, branch.BALANCE]
        parent = link[node, branch.PARENT]
        if before == 0:
            link[node, branch.BALANCE] = -_heavier(side)
            return
        shrunk_from = side
        side = _side(trees, parent, node)
        if before == _heavier(shrunk_from):
            link[node, branch.BALANCE] = 0
        elif not _rotate(trees, tree, node, before):
            return


@kernel
def end(trees, tree, side):
    """The first (LEFT) or last (RIGHT) node in order, or NIL."""
    return outermost(trees, trees.root[tree], side)


@kernel
def beside(trees, node, side):
    """The next node in order on that side, or NIL."""
    child = trees.link[node, side]
    if child != NIL:
        return outermost(trees, child, SIDES - side)
    parent = trees.link[node, branch.PARENT]
    while parent != NIL and trees.link[parent, side] == node:
        node = parent
        parent = trees.link[node, branch.PARENT]
    return parent


@kernel
def _lowest_leaf(trees, node):
    """Where a walk through the subtree of `node`, children first, begins."""
    while True:
        if trees.link[node, branch.LEFT] != NIL:
            node = trees.link[node, branch.LEFT]
        elif trees.link[node, branch.RIGHT] != NIL:
            node = trees.link[node, branch.RIGHT]
        else:
            return node


@kernel
def first_of_all(trees, tree):
    """Where a walk with children before their parents (left, right, parent) begins, or NIL."""
    return _lowest_leaf(trees, trees.root[tree])


@kernel
def next_of_all(trees, node):
    """What comes after `node` in that walk, or NIL. Does not look at what was walked over before."""
    parent = trees.link[node, branch.PARENT]
    other = trees.link[parent, branch.RIGHT]
    if other != NIL and other != node:
        return _lowest_leaf(trees, other)
    return parent


def new_trees(n_trees, n_nodes):
    """Empty trees, and room for the nodes 1 .. n_nodes."""
    rows = in_lines((n_nodes + 1, 4), np.int64, np.zeros)
    return Trees(rows, rows.view(np.int32), np.zeros(n_trees, np.int32))
