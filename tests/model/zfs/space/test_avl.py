"""AVL trees in arrays: order, balance, and the very shapes of a recursive tree that was written apart."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.events.streams import stream
from model.structures.sentinels import NIL
from model.zfs.space import avl
from model.zfs.space import tree_columns as branch
from twins import space_map as twin

quick = settings(deadline=None, derandomize=True, max_examples=60)


def where(trees, tree, key):
    """(node with this key or NIL, parent and side of a new one)."""
    node, parent, side = trees.root[tree], NIL, branch.LEFT
    while node != NIL and trees.key[node, 0] != key:
        parent, side = node, branch.LEFT if key < trees.key[node, 0] else branch.RIGHT
        node = trees.link[node, side]
    return int(node), int(parent), side


def put(trees, tree, node, key):
    trees.key[node, 0] = key
    avl.insert(trees, tree, node, *where(trees, tree, key)[1:])


def shape(trees, node):
    return None if node == NIL else (int(trees.key[node, 0]), shape(trees, trees.link[node, branch.LEFT]),
                                      shape(trees, trees.link[node, branch.RIGHT]))


def checked_height(trees, node, parent=NIL):
    """Height of the subtree, whose links and balances are looked at on the way."""
    if node == NIL:
        return 0
    assert trees.link[node, branch.PARENT] == parent
    left, right = (checked_height(trees, trees.link[node, side], node) for side in (branch.LEFT, branch.RIGHT))
    assert trees.link[node, branch.BALANCE] == right - left
    assert abs(right - left) <= 1
    return 1 + max(left, right)


def walk(trees, node, side):
    while node != NIL:
        yield int(trees.key[node, 0])
        node = avl.beside(trees, node, side)


def grown(keys, trees=None):
    trees = trees or avl.new_trees(1, max(keys, default=0) + 1)
    for key in keys:
        put(trees, 0, key + 1, key)
    return trees


def toggle_all(keys, defect=None):
    """Insert a key that is absent, remove one that is present; (shape here, shape of the twin) after each."""
    trees, plain, present = avl.new_trees(1, 70), None, set()
    for key in keys:
        if key in present:
            avl.remove(trees, 0, key + 1)
            plain = twin.removed(plain, key, defect)
        else:
            put(trees, 0, key + 1, key)
            plain = twin.inserted(plain, key)
        present ^= {key}
        checked_height(trees, trees.root[0])
        yield shape(trees, trees.root[0]), twin.shape(plain)


@quick
@given(st.lists(st.integers(0, 60), max_size=200))
def test_shapes_and_balances_are_those_of_the_recursive_tree(keys):
    for here, there in toggle_all(keys):
        assert here == there


@pytest.mark.parametrize("defect", twin.DEFECTS)
def test_a_tree_with_one_rule_broken_gets_another_shape(defect):
    keys = (stream(4, "keys").random(2000) * 60).astype(int).tolist()
    assert any(here != there for here, there in toggle_all(keys, defect))


@quick
@given(st.sets(st.integers(0, 60)), st.permutations(range(61)))
def test_walks_are_in_order_from_both_ends_and_children_come_before_parents(present, order):
    trees = grown([key for key in order if key in present])
    assert list(walk(trees, avl.end(trees, 0, branch.LEFT), branch.RIGHT)) == sorted(present)
    assert list(walk(trees, avl.end(trees, 0, branch.RIGHT), branch.LEFT)) == sorted(present, reverse=True)
    node, keys = avl.first_of_all(trees, 0), []
    while node != NIL:
        keys.append(int(trees.key[node, 0]))
        node = avl.next_of_all(trees, node)
    assert keys == twin.post_order(shape(trees, trees.root[0]))


@quick
@given(st.sets(st.integers(0, 30), min_size=1), st.permutations(range(31)), st.data())
def test_what_is_put_beside_a_node_is_its_neighbour(present, order, data):
    trees = grown([2 * key for key in order if key in present], avl.new_trees(1, 70))
    here, side = data.draw(st.sampled_from(sorted(present))), data.draw(st.sampled_from((branch.LEFT, branch.RIGHT)))
    new = 2 * here + (1 if side == branch.RIGHT else -1)
    trees.key[64, 0] = new
    avl.insert(trees, 0, 64, *avl.place_beside(trees, 2 * here + 1, side))
    checked_height(trees, trees.root[0])
    assert list(walk(trees, avl.end(trees, 0, branch.LEFT), branch.RIGHT)) == sorted([2 * key for key in present] + [new])


def test_a_balanced_sibling_is_rotated_once_and_the_walk_ends():
    """2 lies between 1 and a balanced 4. Without 1 a single rotation lifts 4, and 3 changes sides."""
    trees = grown([2, 1, 4, 3, 5])
    avl.remove(trees, 0, 2)
    assert shape(trees, trees.root[0]) == (4, (2, None, (3, None, None)), (5, None, None))
    assert trees.link[5, branch.BALANCE] == -1


@pytest.mark.parametrize(("keys", "top"), [([3, 1, 5, 0, 2, 4, 6], 2), ([3, 1, 5, 4], 4), ([3, 1, 5, 0], 1)])
def test_the_predecessor_replaces_a_node_and_the_successor_one_that_is_right_heavy(keys, top):
    trees = grown(keys)
    avl.remove(trees, 0, 4)
    assert shape(trees, trees.root[0])[0] == top


def test_trees_of_one_store_do_not_see_each_other():
    trees = avl.new_trees(2, 20)
    for key in range(10):
        put(trees, key % 2, key + 1, key)
    avl.remove(trees, 0, 5)
    assert twin.in_order(shape(trees, trees.root[0])) == [0, 2, 6, 8]
    assert twin.in_order(shape(trees, trees.root[1])) == [1, 3, 5, 7, 9]


def test_a_row_lies_within_one_line_of_a_cache():
    trees = avl.new_trees(1, 5)
    assert trees.key.ctypes.data % 64 == 0
    assert trees.key.strides == (32, 8)
    assert np.shares_memory(trees.key, trees.link)
