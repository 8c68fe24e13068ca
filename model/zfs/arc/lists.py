"""The ARC's headers: states, lists, holds, and what a header costs that is kept for a block on a cache device.

A node is a header: a block in core, a *ghost*, or a block that only a cache device still has. Blocks in core that nobody
holds, and ghosts, stand on lists, one for each state and type, the newest at the head. Who holds a block takes it off its
list.

What is on a cache device keeps a header as long as it is there, and headers are memory of the ARC's (`total_bytes`): an
addition to that of a block or ghost, and a whole one for a block that has gone from everywhere else, in state L2_ONLY and
on no list. What is dirtied has a new identity: its copy on the cache device is worth nothing (`lose_l2`).

Rules over them: `model.zfs.arc.arc`. In ZFS: `add_reference`, `remove_reference`, `arc_change_state`, `arc_hdr_destroy`;
spec 7.2 and 7.5.
"""

from typing import NamedTuple

import numpy as np

from model.jit import kernel
from model.jit.lent_memory import empty, in_lines

NIL = 0

# States, and lists: 2 x state + (1 for metadata). Node number i < 10 is the end of list i.
ANONYMOUS, MRU, MFU, MRU_GHOST, MFU_GHOST = 0, 1, 2, 3, 4
GHOST = 2  # a state's ghost comes so much later
L2_ONLY = 5  # on a cache device and nowhere else
N_LISTS = 10

# Columns of Arc.nodes.
KEY = 0  # index of Arc.node_of: whose header it is
OLDER = 1  # the next older node on the list
NEWER = 2  # the next newer node on the list; of a node not in use: the next such node
STATE = 3  # ANONYMOUS, MRU, ...
IS_METADATA = 4  # 0 or 1
N_BYTES = 5  # B of the block in core
HOLDS = 6  # count of those who hold it
TICK = 7  # tick of the last access
MARKS = 8  # bits: INDIRECT, PREFETCHED, L2_CACHEABLE
ABOVE = 9  # node of the indirect block that this one holds, or NIL
READER = 10  # the user's own: who reads it from disk
DIRTIED = 11  # the user's own: the last transaction group that it is dirty in
IN_L2 = 12  # 1 + its slot of the cache devices' (model.zfs.arc.l2arc), or NIL
N_COLUMNS = 16  # count; the last ones mean nothing: so a node is one line of a processor's cache

# Marks.
INDIRECT, PREFETCHED = 1, 2
L2_CACHEABLE = 4  # of a pool with a cache device, and its secondarycache allows it

# Elements of Arc.scalars.
P = 0  # B wanted of anonymous blocks and MRU: arc_p
META = 1  # B of metadata in core
N_NODES = 2  # count of nodes taken so far
FREE = 3  # the node given back last, or NIL
L2_HEADERS = 4  # B of headers that there are for what is on cache devices
HAS_EVICTED = 5  # 1 once anything has been evicted
N_SCALARS = 6  # count

HEADER_BYTES, L2_HEADER_BYTES = 168, 20  # of a block, and more if it is on a cache device; counted in spec 7.5, an estimate


class Arc(NamedTuple):
    """Nodes are headers: blocks in core and ghosts."""

    nodes: np.ndarray  # int32 [node, column]; see KEY and the others
    node_of: np.ndarray  # int32, per key: its node, or NIL
    n_bytes: np.ndarray  # per state: B, held or not
    evictable: np.ndarray  # per list: B
    scalars: np.ndarray  # see P and the others


def new_nodes(n):
    """Rows for `n` nodes. What is in them means nothing until they are taken."""
    return in_lines((n, N_COLUMNS), np.int32, empty)


# ---- lists ----


@kernel
def _list_of(arc, node):
    return 2 * int(arc.nodes[node, STATE]) + int(arc.nodes[node, IS_METADATA])


@kernel
def unlist(arc, node):
    nodes = arc.nodes
    older, newer = int(nodes[node, OLDER]), int(nodes[node, NEWER])
    nodes[older, NEWER] = newer
    nodes[newer, OLDER] = older
    arc.evictable[_list_of(arc, node)] -= nodes[node, N_BYTES]


@kernel
def enlist(arc, node):
    """Put `node` at the head of its list."""
    nodes, end = arc.nodes, _list_of(arc, node)
    newest = int(nodes[end, OLDER])
    nodes[node, OLDER], nodes[node, NEWER] = newest, end
    nodes[newest, NEWER] = nodes[end, OLDER] = node
    arc.evictable[end] += nodes[node, N_BYTES]


@kernel
def move(arc, node, state):
    """Change the state of `node`; if it is on a list, to the head of the other one."""
    nodes = arc.nodes
    was, is_listed = int(nodes[node, STATE]), nodes[node, HOLDS] == 0
    if is_listed and was != ANONYMOUS:
        unlist(arc, node)
    arc.n_bytes[was] -= nodes[node, N_BYTES]
    arc.n_bytes[state] += nodes[node, N_BYTES]
    nodes[node, STATE] = state
    if is_listed and state != ANONYMOUS:
        enlist(arc, node)


# ---- headers, holds ----


@kernel
def in_core(arc, node):
    """Whether `node` is a block with data, or one that they are being read for."""
    return node != NIL and arc.nodes[node, STATE] <= MFU


@kernel
def total_bytes(arc):
    """B in core: arc_size."""
    return arc.n_bytes[ANONYMOUS] + arc.n_bytes[MRU] + arc.n_bytes[MFU] + arc.scalars[L2_HEADERS]


@kernel
def has_nodes(arc, n):
    """Whether there are `n` nodes to be had for certain."""
    return arc.scalars[N_NODES] + n < len(arc.nodes)


@kernel
def take_node(arc):
    node = arc.scalars[FREE]
    if node != NIL:
        arc.scalars[FREE] = int(arc.nodes[node, NEWER])
        return node
    node = arc.scalars[N_NODES]
    arc.scalars[N_NODES] += 1
    return node


@kernel
def lose_l2(arc, node):
    """What a cache device has of `node` is not wanted, or has been written over."""
    if arc.nodes[node, IN_L2] != NIL:
        arc.nodes[node, IN_L2] = NIL
        arc.scalars[L2_HEADERS] -= L2_HEADER_BYTES


@kernel
def leave_ghosts(arc, node):
    """`node`, a ghost that is on no list any more, is a header for a cache device's sake from now on."""
    arc.n_bytes[arc.nodes[node, STATE]] -= arc.nodes[node, N_BYTES]
    arc.nodes[node, STATE] = L2_ONLY
    arc.scalars[L2_HEADERS] += HEADER_BYTES


@kernel
def forget(arc, node):
    """No header is left of `node`, which is on no list."""
    lose_l2(arc, node)
    if arc.nodes[node, STATE] == L2_ONLY:
        arc.scalars[L2_HEADERS] -= HEADER_BYTES
    else:
        arc.n_bytes[arc.nodes[node, STATE]] -= arc.nodes[node, N_BYTES]
    arc.node_of[arc.nodes[node, KEY]] = NIL
    arc.nodes[node, NEWER] = arc.scalars[FREE]
    arc.scalars[FREE] = node


@kernel
def hold(arc, node):
    """Rules 1 and 2."""
    if arc.nodes[node, HOLDS] == 0 and arc.nodes[node, STATE] != ANONYMOUS:
        unlist(arc, node)
        arc.nodes[node, MARKS] &= ~PREFETCHED
    arc.nodes[node, HOLDS] += 1


@kernel
def release(arc, node):
    arc.nodes[node, HOLDS] -= 1
    if arc.nodes[node, HOLDS] == 0 and arc.nodes[node, STATE] != ANONYMOUS:
        enlist(arc, node)


@kernel
def hold_above(arc, node, above):
    """`node`, in core, holds `above` (or NIL) from now on."""
    arc.nodes[node, ABOVE] = above
    if above != NIL:
        hold(arc, above)


@kernel
def lose_data(arc, node):
    """A block is not in core any more, so it does not hold the one above it."""
    if arc.nodes[node, IS_METADATA]:
        arc.scalars[META] -= arc.nodes[node, N_BYTES]
    above = int(arc.nodes[node, ABOVE])
    if above != NIL:
        arc.nodes[node, ABOVE] = NIL
        release(arc, above)


@kernel
def drop(arc, node):
    """`node`, which nobody holds, or holds but the caller, is gone, without a ghost."""
    if arc.nodes[node, HOLDS] == 0 and arc.nodes[node, STATE] not in (ANONYMOUS, L2_ONLY):
        unlist(arc, node)
    if arc.nodes[node, STATE] <= MFU:
        lose_data(arc, node)
    forget(arc, node)
