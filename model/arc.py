"""The ARC of ZFS, 2007: which blocks stay in core, and what is given up for a new one.

A block is *anonymous* while it is dirty or on its first way in; then on the side of what was used once (MRU) or again
(MFU). What is evicted leaves its header behind, as a *ghost*: to find one means that its side was too small.

    anonymous --> MRU ----------> MFU              c: bytes that there should be, all in all
                   |  used again   |               p: how many of them for anonymous and MRU
                   v  evicted      v
               MRU ghost       MFU ghost           a demand for either: MFU, after p was moved by it

 1. *Access.* Anonymous becomes MRU. MRU becomes MFU if it is used more than 6 ticks (of 10 ms) after it was last;
    sooner, nothing changes. A ghost becomes MFU, or MRU if it is prefetched. A prefetched block keeps a mark until
    somebody takes hold of it; a prefetch of a block that still has the mark moves nothing.
 2. *Holds.* A block that is held stands on no list and cannot be evicted. With its last hold it goes to the head of its
    list; data and metadata have lists of their own. A block in core holds the indirect block above it.
 3. *Adaptation.* A buffer of s bytes for an MRU ghost: p grows by s, times |MFU ghosts| / |MRU ghosts| (whole number) if
    that is more than one, up to c; for an MFU ghost it falls likewise, down to 0. While there are less than c bytes, p
    also grows by s if an anonymous buffer makes anonymous and MRU more than p.
 4. *Eviction* comes before a new buffer if there are more than c bytes, or, for metadata, no less than a quarter of c of
    metadata. The side: for an anonymous or MRU block MFU, if there is anything of this type to evict and anonymous and
    MRU take less than p, else MRU; for others MRU, if there is anything and MFU takes less than c - p, else MFU. From the
    tail of the list, until s bytes are gone; passed over are indirect and prefetched blocks used less than a second ago,
    and blocks of another size than s if the next one has it. What cannot be evicted is lived with.
 5. *Every second*, if all with ghosts is more than 2c: MRU is evicted down to p (data first), MRU ghosts are forgotten
    until anonymous, MRU and they are c; then MFU, until all is c, and MFU ghosts, until all with ghosts is 2c.

In ZFS: `arc_access`, `add_reference`, `remove_reference`, `arc_adapt`, `arc_get_data_buf`, `arc_evict_needed`, `arc_evict`,
`arc_adjust`; spec 7.1 to 7.3. Left out: memory pressure (c stays where it starts, at its greatest), bytes of headers,
later bounds of p.

ARC as it was published, over the same lists: `model.arc_textbook`.
"""

from typing import NamedTuple

import numpy as np

from model.jit import kernel, part

NONE = 0

# States, and lists: 2 x state + (1 for metadata). Node number i < 10 is the end of list i.
ANONYMOUS, MRU, MFU, MRU_GHOST, MFU_GHOST = 0, 1, 2, 3, 4
GHOST = 2  # a state's ghost comes so much later
N_LISTS = 10

# Columns of Arc.nodes.
KEY = 0
OLDER, NEWER = 1, 2  # neighbours on the list; NEWER of a node not in use: the next such
STATE = 3
IS_METADATA = 4
N_BYTES = 5
HOLDS = 6
TICK = 7  # of the last access
MARKS = 8  # see INDIRECT, PREFETCHED
ABOVE = 9  # the node of the indirect block that this one holds, or NONE
READER, DIRTIED = 10, 11  # the user's own: who reads it from disk; the last transaction group that it is dirty in
N_COLUMNS = 12

INDIRECT, PREFETCHED = 1, 2

# Elements of Arc.scalars.
P, META, N_NODES, FREE = 0, 1, 2, 3  # B; B of metadata; nodes taken so far; the first given back


class ArcParams(NamedTuple):
    c_bytes: int  # B, arc_c
    meta_limit_bytes: int  # B, arc_meta_limit
    promote_ticks: int = 6  # hz >> 4, of 100 Hz
    lifespan_ticks: int = 100  # a second: indirect and prefetched blocks live so long


class Arc(NamedTuple):
    """Nodes are headers: blocks in core and ghosts."""

    nodes: np.ndarray  # int32 [node, column]; see KEY and the others
    node_of: np.ndarray  # int32, per key: its node, or NONE
    n_bytes: np.ndarray  # per state: B, held or not
    evictable: np.ndarray  # per list: B
    scalars: np.ndarray  # see P and the others


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
    return node != NONE and arc.nodes[node, STATE] <= MFU


@kernel
def total_bytes(arc):
    """B in core: arc_size."""
    return arc.n_bytes[ANONYMOUS] + arc.n_bytes[MRU] + arc.n_bytes[MFU]


@kernel
def has_nodes(arc, n):
    """Whether there are `n` nodes to be had for certain."""
    return arc.scalars[N_NODES] + n < len(arc.nodes)


@kernel
def take_node(arc):
    node = arc.scalars[FREE]
    if node != NONE:
        arc.scalars[FREE] = int(arc.nodes[node, NEWER])
        return node
    node = arc.scalars[N_NODES]
    arc.scalars[N_NODES] += 1
    return node


@kernel
def forget(arc, node):
    """No header is left of `node`, which is on no list."""
    arc.n_bytes[arc.nodes[node, STATE]] -= arc.nodes[node, N_BYTES]
    arc.node_of[arc.nodes[node, KEY]] = NONE
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
    """`node`, in core, holds `above` (or NONE) from now on."""
    arc.nodes[node, ABOVE] = above
    if above != NONE:
        hold(arc, above)


@kernel
def _lose_data(arc, node):
    if arc.nodes[node, IS_METADATA]:
        arc.scalars[META] -= arc.nodes[node, N_BYTES]
    above = int(arc.nodes[node, ABOVE])
    if above != NONE:
        arc.nodes[node, ABOVE] = NONE
        release(arc, above)


@kernel
def drop(arc, node):
    """`node`, which nobody holds, or holds but the caller, is gone, without a ghost."""
    if arc.nodes[node, HOLDS] == 0 and arc.nodes[node, STATE] != ANONYMOUS:
        unlist(arc, node)
    if arc.nodes[node, STATE] <= MFU:
        _lose_data(arc, node)
    forget(arc, node)


# ---- access ----


@kernel
def access(arc, params, node, tick):
    """Rule 1, for a node that its caller holds, or prefetches."""
    nodes, state = arc.nodes, int(arc.nodes[node, STATE])
    is_prefetch = nodes[node, MARKS] & PREFETCHED != 0
    if state == ANONYMOUS:
        move(arc, node, MRU)
    elif state == MRU:
        if is_prefetch:
            if nodes[node, HOLDS] > 0:
                nodes[node, MARKS] &= ~PREFETCHED
        elif tick <= nodes[node, TICK] + params.promote_ticks:
            return
        else:
            move(arc, node, MFU)
    elif state != MFU:
        move(arc, node, MRU if is_prefetch else MFU)
    nodes[node, TICK] = tick


@kernel
def touch(arc, params, node, tick):
    """A demand for a block that is in core and not held: take hold, access, let go."""
    hold(arc, node)
    access(arc, params, node, tick)
    release(arc, node)


@kernel
def make_anonymous(arc, node):
    """`node`, in core, is dirtied, or on its way to disk: its old identity has vanished."""
    move(arc, node, ANONYMOUS)
    arc.nodes[node, TICK] = 0


# ---- eviction ----


@kernel
def _is_spared(arc, params, node, tick):
    return arc.nodes[node, MARKS] != 0 and tick - arc.nodes[node, TICK] < params.lifespan_ticks


@kernel
def _evict(arc, params, state, is_metadata, n_bytes, wanted, tick):
    """Rule 4: from the tail, until `n_bytes` are gone; `wanted` is the size looked ahead for, or 0."""
    nodes, end, evicted = arc.nodes, 2 * state + is_metadata, 0
    node = int(nodes[end, NEWER])
    while node != end and evicted < n_bytes:
        newer = int(nodes[node, NEWER])
        is_passed = wanted != 0 and nodes[node, N_BYTES] != wanted and nodes[newer, N_BYTES] == wanted
        if not is_passed and not _is_spared(arc, params, node, tick):
            evicted += int(nodes[node, N_BYTES])
            move(arc, node, state + GHOST)
            _lose_data(arc, node)
        node = newer


@kernel
def _victim(arc, params, state, is_metadata):
    """Rule 4: the side that a buffer for a block of `state` is taken from."""
    p, recent = arc.scalars[P], arc.n_bytes[ANONYMOUS] + arc.n_bytes[MRU]
    if state <= MRU:
        return MFU if arc.evictable[2 * MFU + is_metadata] > 0 and p > recent else MRU
    return MRU if arc.evictable[2 * MRU + is_metadata] > 0 and params.c_bytes - p > arc.n_bytes[MFU] else MFU


@kernel
def _adapt(arc, params, state, n_bytes):
    """Rule 3."""
    mru, mfu, p = arc.n_bytes[MRU_GHOST], arc.n_bytes[MFU_GHOST], arc.scalars[P]
    if state == MRU_GHOST:
        arc.scalars[P] = min(params.c_bytes, p + n_bytes * (1 if mru >= mfu else mfu // mru))
    elif state == MFU_GHOST:
        arc.scalars[P] = max(0, p - n_bytes * (1 if mfu >= mru else mru // mfu))


@kernel
def make_room(arc, params, state, is_metadata, n_bytes, tick):
    """What comes before a buffer for a block of `state`: rules 3 and 4."""
    _adapt(arc, params, state, n_bytes)
    is_needed = is_metadata and arc.scalars[META] >= params.meta_limit_bytes
    if is_needed or total_bytes(arc) > params.c_bytes:
        _evict(arc, params, _victim(arc, params, state, is_metadata), is_metadata, n_bytes, n_bytes, tick)


@kernel
def grow(arc, params, n_bytes, is_metadata):
    """`n_bytes` more are anonymous: of a new block, or a second buffer of one that is being written."""
    arc.n_bytes[ANONYMOUS] += n_bytes
    if is_metadata:
        arc.scalars[META] += n_bytes
    if total_bytes(arc) < params.c_bytes and arc.n_bytes[ANONYMOUS] + arc.n_bytes[MRU] > arc.scalars[P]:
        arc.scalars[P] = min(params.c_bytes, arc.scalars[P] + n_bytes)


@kernel
def shrink(arc, n_bytes):
    """The second buffer of a block, of data, is given back."""
    arc.n_bytes[ANONYMOUS] -= n_bytes


@kernel
def new_block(arc, params, key, is_metadata, n_bytes, marks, tick):
    """The node, anonymous and held by the caller, of a block that has no header yet."""
    make_room(arc, params, ANONYMOUS, is_metadata, n_bytes, tick)
    node, nodes = take_node(arc), arc.nodes
    nodes[node, KEY], nodes[node, STATE], nodes[node, HOLDS] = key, ANONYMOUS, 1
    nodes[node, IS_METADATA], nodes[node, N_BYTES], nodes[node, MARKS] = is_metadata, n_bytes, marks
    nodes[node, TICK] = nodes[node, ABOVE] = nodes[node, READER] = nodes[node, DIRTIED] = 0
    arc.node_of[key] = node
    grow(arc, params, n_bytes, is_metadata)
    return node


@kernel
def revive(arc, params, node, marks, tick):
    """A ghost is wanted: it gets a buffer, and is held by the caller."""
    nodes = arc.nodes
    state, is_metadata = int(nodes[node, STATE]), int(nodes[node, IS_METADATA])
    n_bytes = int(nodes[node, N_BYTES])
    make_room(arc, params, state, is_metadata, n_bytes, tick)
    unlist(arc, node)
    nodes[node, HOLDS] = 1
    nodes[node, MARKS] = marks
    if is_metadata:
        arc.scalars[META] += n_bytes
    access(arc, params, node, tick)


# ---- every second ----


@part
def _forget_ghosts(arc, state, n_bytes):
    """Data first, from the tail, until `n_bytes` are gone."""
    nodes = arc.nodes
    for end in range(2 * state, 2 * state + 2):
        while n_bytes > 0 and nodes[end, NEWER] != end:
            node = int(nodes[end, NEWER])
            n_bytes -= int(nodes[node, N_BYTES])
            unlist(arc, node)
            forget(arc, node)


@kernel
def adjust(arc, params, tick):
    """Rule 5."""
    n, c = arc.n_bytes, params.c_bytes
    if total_bytes(arc) + n[MRU_GHOST] + n[MFU_GHOST] <= 2 * c:
        return
    for is_metadata in range(2):
        _evict(arc, params, MRU, is_metadata, n[ANONYMOUS] + n[MRU] - arc.scalars[P], 0, tick)
    _forget_ghosts(arc, MRU_GHOST, n[ANONYMOUS] + n[MRU] + n[MRU_GHOST] - c)
    for is_metadata in range(2):
        _evict(arc, params, MFU, is_metadata, total_bytes(arc) - c, 0, tick)
    _forget_ghosts(arc, MFU_GHOST, total_bytes(arc) + n[MRU_GHOST] + n[MFU_GHOST] - 2 * c)


# ---- making one ----


def greatest_c(memory_bytes):
    """B: c_max of a machine with so much memory, which is where c starts; spec 7.1."""
    spare = memory_bytes - 2**30 if memory_bytes >= 2**30 else 0
    return max(6 * (memory_bytes // 8), spare)


def arc_params(memory_bytes):
    """Of a machine with so much memory that does nothing else."""
    c = greatest_c(memory_bytes)
    return ArcParams(c, c // 4)


def new_arc(params, n_keys, n_nodes, p_bytes=None):
    """An empty cache for keys 0 .. n_keys - 1, with at most `n_nodes` headers; p starts at c / 2, spec 7.1."""
    nodes = np.zeros((n_nodes + N_LISTS, N_COLUMNS), np.int32)
    nodes[:N_LISTS, OLDER] = nodes[:N_LISTS, NEWER] = np.arange(N_LISTS)
    p = params.c_bytes // 2 if p_bytes is None else p_bytes
    return Arc(nodes, np.zeros(n_keys, np.int32), np.zeros(5, np.int64), np.zeros(N_LISTS, np.int64),
               np.array([p, 0, N_LISTS, NONE], np.int64))


def copy_arc(arc, n_nodes):
    """A cache that holds what `arc` does, with room for as many headers, or more."""
    used = arc.scalars[N_NODES]
    nodes = np.zeros((max(n_nodes + N_LISTS, len(arc.nodes)), N_COLUMNS), np.int32)
    nodes[:used] = arc.nodes[:used]
    return Arc(nodes, *(array.copy() for array in arc[1:]))
