"""The ARC's headers: states, lists, holds, and what a header costs that is kept for a block on a cache device.

A node is a header: a block in core, a *ghost*, or a block that only a cache device still has. Blocks in core that nobody
holds, and ghosts, stand on lists, one for each state and type, the newest at the head. The holder of a block takes it off
its list.

What is on a cache device keeps a header as long as it is there. Headers are memory of the ARC's (`total_bytes`). A header is
an addition to that of a block or ghost. It is a whole one for a block that has gone from everywhere else, in state L2_ONLY
and on no list. What is dirtied has a new identity: its copy on the cache device is worth nothing (`lose_l2`).

Rules over them: `model.zfs.arc.arc`. In ZFS: `add_reference`, `remove_reference`, `arc_change_state`, `arc_hdr_destroy`;
spec 7.2 and 7.5.
"""

from typing import NamedTuple

import numpy as np

from model.jit import kernel
from model.jit.lent_memory import empty, in_lines
from model.structures.sentinels import NIL
from model.zfs.arc import columns as header
from model.zfs.arc import scalars as scalar

# States, and lists: 2 x state + (1 for metadata). Node number i < 10 is the end of list i.
ANONYMOUS, MRU, MFU, MRU_GHOST, MFU_GHOST = 0, 1, 2, 3, 4
GHOST = 2  # a state's ghost comes so much later
L2_ONLY = 5  # on a cache device and nowhere else
N_LISTS = 10

# Marks.
INDIRECT, PREFETCHED = 1, 2
L2_CACHEABLE = 4  # of a pool with a cache device, and its secondarycache allows it

HEADER_BYTES, L2_HEADER_BYTES = 168, 20  # of a block, and more if it is on a cache device; counted in spec 7.5, an estimate


class Arc(NamedTuple):
    """Nodes are headers: blocks in core and ghosts."""

    nodes: np.ndarray  # int32 [node, column]; see model.zfs.arc.columns
    node_of: np.ndarray  # int32, per key: its node, or NIL
    n_bytes: np.ndarray  # per state: B, held or not
    evictable: np.ndarray  # per list: B
    scalars: np.ndarray  # see model.zfs.arc.scalars


def new_nodes(n):
    """Rows for `n` nodes. What is in them means nothing until they are taken."""
    return in_lines((n, header.N_COLUMNS), np.int32, empty)


# ---- lists ----


@kernel
def _list_of(arc, node):
    return 2 * int(arc.nodes[node, header.STATE]) + int(arc.nodes[node, header.IS_METADATA])


@kernel
def unlist(arc, node):
    """The block of `node` can no longer be evicted, and leaves its list."""
    nodes = arc.nodes
    older, newer = int(nodes[node, header.OLDER]), int(nodes[node, header.NEWER])
    nodes[older, header.NEWER] = newer
    nodes[newer, header.OLDER] = older
    arc.evictable[_list_of(arc, node)] -= nodes[node, header.N_BYTES]


@kernel
def enlist(arc, node):
    """Put `node` at the head of its list."""
    nodes, end = arc.nodes, _list_of(arc, node)
    newest = int(nodes[end, header.OLDER])
    nodes[node, header.OLDER], nodes[node, header.NEWER] = newest, end
    nodes[newest, header.NEWER] = nodes[end, header.OLDER] = node
    arc.evictable[end] += nodes[node, header.N_BYTES]


@kernel
def move(arc, node, state):
    """Change the state of `node`; if it is on a list, to the head of the other one."""
    nodes = arc.nodes
    was, is_listed = int(nodes[node, header.STATE]), nodes[node, header.HOLDS] == 0
    if is_listed and was != ANONYMOUS:
        unlist(arc, node)
    arc.n_bytes[was] -= nodes[node, header.N_BYTES]
    arc.n_bytes[state] += nodes[node, header.N_BYTES]
    nodes[node, header.STATE] = state
    if is_listed and state != ANONYMOUS:
        enlist(arc, node)


# ---- headers, holds ----


@kernel
def in_core(arc, node):
    """Whether `node` is a block with data, or one that they are being read for."""
    return node != NIL and arc.nodes[node, header.STATE] <= MFU


@kernel
def total_bytes(arc):
    """B in core: arc_size."""
    return arc.n_bytes[ANONYMOUS] + arc.n_bytes[MRU] + arc.n_bytes[MFU] + arc.scalars[scalar.L2_HEADERS]


@kernel
def has_nodes(arc, n):
    """Whether there are `n` nodes to be had for certain."""
    return arc.scalars[scalar.N_NODES] + n < len(arc.nodes)


@kernel
def take_node(arc):
    """The number of a node that no block has."""
    node = arc.scalars[scalar.FREE]
    if node != NIL:
        arc.scalars[scalar.FREE] = int(arc.nodes[node, header.NEWER])
        return node
    node = arc.scalars[scalar.N_NODES]
    arc.scalars[scalar.N_NODES] += 1
    return node


@kernel
def lose_l2(arc, node):
    """What a cache device has of `node` is not wanted, or has been written over."""
    if arc.nodes[node, header.IN_L2] != NIL:
        arc.nodes[node, header.IN_L2] = NIL
        arc.scalars[scalar.L2_HEADERS] -= L2_HEADER_BYTES


@kernel
def leave_ghosts(arc, node):
    """`node`, a ghost that is on no list any more, is a header for a cache device's sake from now on."""
    arc.n_bytes[arc.nodes[node, header.STATE]] -= arc.nodes[node, header.N_BYTES]
    arc.nodes[node, header.STATE] = L2_ONLY
    arc.scalars[scalar.L2_HEADERS] += HEADER_BYTES


@kernel
def forget(arc, node):
    """No header is left of `node`, which is on no list."""
    lose_l2(arc, node)
    if arc.nodes[node, header.STATE] == L2_ONLY:
        arc.scalars[scalar.L2_HEADERS] -= HEADER_BYTES
    else:
        arc.n_bytes[arc.nodes[node, header.STATE]] -= arc.nodes[node, header.N_BYTES]
    arc.node_of[arc.nodes[node, header.KEY]] = NIL
    arc.nodes[node, header.NEWER] = arc.scalars[scalar.FREE]
    arc.scalars[scalar.FREE] = node


@kernel
def hold(arc, node):
    """Rules 1 and 2: a block that is held is in no list."""
    if arc.nodes[node, header.HOLDS] == 0 and arc.nodes[node, header.STATE] != ANONYMOUS:
        unlist(arc, node)
        arc.nodes[node, header.MARKS] &= ~PREFETCHED
    arc.nodes[node, header.HOLDS] += 1


@kernel
def release(arc, node):
    """One hold less on the block of `node`; without any it can be evicted, unless it is anonymous."""
    arc.nodes[node, header.HOLDS] -= 1
    if arc.nodes[node, header.HOLDS] == 0 and arc.nodes[node, header.STATE] != ANONYMOUS:
        enlist(arc, node)


@kernel
def hold_above(arc, node, above):
    """`node`, in core, holds `above` (or NIL) from now on."""
    arc.nodes[node, header.ABOVE] = above
    if above != NIL:
        hold(arc, above)


@kernel
def lose_data(arc, node):
    """A block is not in core any more, so it does not hold the one above it."""
    if arc.nodes[node, header.IS_METADATA]:
        arc.scalars[scalar.META] -= arc.nodes[node, header.N_BYTES]
    above = int(arc.nodes[node, header.ABOVE])
    if above != NIL:
        arc.nodes[node, header.ABOVE] = NIL
        release(arc, above)


@kernel
def drop(arc, node):
    """`node`, which nobody holds, or holds but the caller, is gone, without a ghost."""
    if arc.nodes[node, header.HOLDS] == 0 and arc.nodes[node, header.STATE] not in (ANONYMOUS, L2_ONLY):
        unlist(arc, node)
    if arc.nodes[node, header.STATE] <= MFU:
        lose_data(arc, node)
    forget(arc, node)
