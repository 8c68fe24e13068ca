"""AVL trees and space maps a second time, as plainly as they can be said.

The tree is recursive and knows heights, not balances; the map is a Python set of units. Written from the specification,
and slow. `defect` breaks one rule of the trees' shapes on purpose.
"""

from dataclasses import dataclass

DEFECTS = (
    "takes the predecessor always",
    "takes the successor always",
    "rotates twice about a balanced child",
)


@dataclass
class Node:
    key: object
    left: "Node | None" = None
    right: "Node | None" = None
    height: int = 1


def height(node):
    return node.height if node else 0


def measured(node):
    """The node, with its height put right."""
    node.height = 1 + max(height(node.left), height(node.right))
    return node


def lean(node):
    return height(node.right) - height(node.left)


def raise_left(node):
    top = node.left
    node.left = top.right
    top.right = measured(node)
    return measured(top)


def raise_right(node):
    top = node.right
    node.right = top.left
    top.left = measured(node)
    return measured(top)


def balanced(node, defect=None):
    """The subtree with `node` on top, rotated if it leans too far."""
    measured(node)
    leans = {"rotates twice about a balanced child": 0}.get(defect, 1)
    if lean(node) > 1:
        if lean(node.right) <= -leans and node.right.left:
            node.right = raise_left(node.right)
        return raise_right(node)
    if lean(node) < -1:
        if lean(node.left) >= leans and node.left.right:
            node.left = raise_right(node.left)
        return raise_left(node)
    return node


def inserted(node, key):
    if node is None:
        return Node(key)
    if key < node.key:
        node.left = inserted(node.left, key)
    else:
        node.right = inserted(node.right, key)
    return balanced(node)


def lowest(node):
    return lowest(node.left) if node.left else node


def highest(node):
    return highest(node.right) if node.right else node


def removed(node, key, defect=None):
    if key < node.key:
        node.left = removed(node.left, key, defect)
    elif key > node.key:
        node.right = removed(node.right, key, defect)
    elif not (node.left and node.right):
        return node.left or node.right
    elif takes_successor(node, defect):
        node.key = lowest(node.right).key
        node.right = removed(node.right, node.key, defect)
    else:
        node.key = highest(node.left).key
        node.left = removed(node.left, node.key, defect)
    return balanced(node, defect)


def takes_successor(node, defect):
    if defect == "takes the predecessor always":
        return False
    return lean(node) > 0 or defect == "takes the successor always"


def shape(node):
    """(key, shape of the left, shape of the right), or None."""
    return node and (node.key, shape(node.left), shape(node.right))


def post_order(shape_):
    return [] if shape_ is None else [*post_order(shape_[1]), *post_order(shape_[2]), shape_[0]]


def in_order(shape_):
    return [] if shape_ is None else [*in_order(shape_[1]), shape_[0], *in_order(shape_[2])]


def segments(units):
    """The set of units as maximal runs [start, end), in order."""
    runs = []
    for unit in sorted(units):
        if runs and runs[-1][1] == unit:
            runs[-1] = (runs[-1][0], unit + 1)
        else:
            runs.append((unit, unit + 1))
    return runs
