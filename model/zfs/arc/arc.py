"""The ARC of ZFS, 2007: which blocks stay in core, and what is given up for a new one.

A block is *anonymous* while it is dirty or on its first way in. Then it is on the side of what was used once (MRU) or again
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
 3. *Adaptation.* A buffer of s bytes for an MRU ghost: p grows by s, up to c. It grows by s times |MFU ghosts| / |MRU
    ghosts| (whole number) if that is more than one. For an MFU ghost it falls likewise, down to 0. While there are less than
    c bytes, p also grows by s if an anonymous buffer makes anonymous and MRU more than p.
 4. *Eviction* comes before a new buffer if there are more than c bytes, or, for metadata, no less than a quarter of c of
    metadata. The side for an anonymous or MRU block: MFU, if anything of this type can be evicted and anonymous and MRU take
    less than p. Else it is MRU. For others it is MRU, if there is anything and MFU takes less than c - p, else MFU. From the
    tail of the list, until s bytes are gone. Indirect and prefetched blocks used less than a second ago are passed over. So
    are blocks of another size than s if the next one has it. What cannot be evicted is lived with.
 5. *Every second*, if all with ghosts is more than 2c: MRU is evicted down to p (data first). MRU ghosts are forgotten until
    anonymous, MRU and they are c. Then MFU goes, until all is c, and MFU ghosts, until all with ghosts is 2c.
 6. What is on a cache device (`model.zfs.arc.l2arc`) keeps its header when its ghost is forgotten. When it is wanted then,
    nothing is adapted, room is made as for an MFU ghost, and the block becomes MFU.

In ZFS: `arc_access`, `add_reference`, `remove_reference`, `arc_adapt`, `arc_get_data_buf`, `arc_evict_needed`, `arc_evict`,
`arc_adjust`; spec 7.1 to 7.3, 7.5. Left out: memory pressure (c stays where it starts, at its greatest), and later bounds of
p. Of the bytes of headers only those that cache devices cost are counted.

Headers, states and lists: `model.zfs.arc.lists`. ARC as it was published, over the same lists: `model.zfs.arc.textbook`.
"""

from typing import NamedTuple

import numpy as np

from model.jit import kernel, part
from model.jit.cpu_prefetch import prefetch
from model.jit.lent_memory import empty, zeros
from model.structures.sentinels import NIL
from model.zfs.arc import columns as header
from model.zfs.arc import scalars as scalar
from model.zfs.arc.lists import (
    ANONYMOUS,
    GHOST,
    HEADER_BYTES,
    INDIRECT,
    L2_ONLY,
    MFU,
    MFU_GHOST,
    MRU,
    MRU_GHOST,
    N_LISTS,
    PREFETCHED,
    Arc,
    forget,
    hold,
    leave_ghosts,
    lose_data,
    lose_l2,
    move,
    new_nodes,
    release,
    take_node,
    total_bytes,
    unlist,
)


class ArcParams(NamedTuple):
    """Sizes and ages of the ARC: limits in B, ages in ticks of 10 ms."""

    c_bytes: int  # B, arc_c
    meta_limit_bytes: int  # B, arc_meta_limit
    promote_ticks: int = 6  # hz >> 4, of 100 Hz
    lifespan_ticks: int = 100  # a second: indirect and prefetched blocks live so long


# ---- access ----


@kernel
def access(arc, params, node, tick):
    """Rule 1, for a node that its caller holds, or prefetches."""
    nodes, state = arc.nodes, int(arc.nodes[node, header.STATE])
    is_prefetch = nodes[node, header.MARKS] & PREFETCHED != 0
    if state == ANONYMOUS:
        move(arc, node, MRU)
    elif state == MRU:
        if is_prefetch:
            if nodes[node, header.HOLDS] > 0:
                nodes[node, header.MARKS] &= ~PREFETCHED
        elif tick <= nodes[node, header.TICK] + params.promote_ticks:
            return
        else:
            move(arc, node, MFU)
    elif state != MFU:
        move(arc, node, MRU if is_prefetch else MFU)
    nodes[node, header.TICK] = tick


@kernel
def touch(arc, params, node, tick):
    """A demand for a block that is in core and not held: take hold, access, let go."""
    hold(arc, node)
    access(arc, params, node, tick)
    release(arc, node)


@kernel
def make_anonymous(arc, node):
    """`node`, in core, is dirtied, or on its way to disk: its old identity has vanished."""
    lose_l2(arc, node)
    move(arc, node, ANONYMOUS)
    arc.nodes[node, header.TICK] = 0


# ---- eviction ----


@kernel
def _is_spared(arc, params, node, tick):
    return (arc.nodes[node, header.MARKS] & (INDIRECT | PREFETCHED) != 0
            and tick - arc.nodes[node, header.TICK] < params.lifespan_ticks)


@kernel
def evict_now(arc, node):
    """`node`, in core and on a list, becomes a ghost."""
    move(arc, node, int(arc.nodes[node, header.STATE]) + GHOST)
    lose_data(arc, node)


@kernel
def _evict(arc, params, state, is_metadata, n_bytes, wanted, tick):
    """Rule 4: from the tail, until `n_bytes` are gone; `wanted` is the size looked ahead for, or 0."""
    nodes, end, evicted = arc.nodes, 2 * state + is_metadata, 0
    node = int(nodes[end, header.NEWER])
    while node != end and evicted < n_bytes:
        newer = int(nodes[node, header.NEWER])
        is_passed = wanted != 0 and nodes[node, header.N_BYTES] != wanted and nodes[newer, header.N_BYTES] == wanted
        if not is_passed and not _is_spared(arc, params, node, tick):
            evicted += int(nodes[node, header.N_BYTES])
            evict_now(arc, node)
            arc.scalars[scalar.HAS_EVICTED] = 1
            prefetch(nodes, int(nodes[newer, header.ABOVE]))  # what the next eviction will change
            prefetch(nodes, int(nodes[newer, header.NEWER]))
        node = newer


@kernel
def _victim(arc, params, state, is_metadata):
    """Rule 4: the side that a buffer for a block of `state` is taken from."""
    p, recent = arc.scalars[scalar.P], arc.n_bytes[ANONYMOUS] + arc.n_bytes[MRU]
    if state <= MRU:
        return MFU if arc.evictable[2 * MFU + is_metadata] > 0 and p > recent else MRU
    return MRU if arc.evictable[2 * MRU + is_metadata] > 0 and params.c_bytes - p > arc.n_bytes[MFU] else MFU


@kernel
def _adapt(arc, params, state, n_bytes):
    """Rule 3."""
    mru, mfu, p = arc.n_bytes[MRU_GHOST], arc.n_bytes[MFU_GHOST], arc.scalars[scalar.P]
    if state == MRU_GHOST:
        arc.scalars[scalar.P] = min(params.c_bytes, p + n_bytes * (1 if mru >= mfu else mfu // mru))
    elif state == MFU_GHOST:
        arc.scalars[scalar.P] = max(0, p - n_bytes * (1 if mfu >= mru else mru // mfu))


@kernel
def make_room(arc, params, state, is_metadata, n_bytes, tick):
    """What comes before a buffer for a block of `state`: rules 3 and 4."""
    _adapt(arc, params, state, n_bytes)
    is_needed = is_metadata and arc.scalars[scalar.META] >= params.meta_limit_bytes
    if is_needed or total_bytes(arc) > params.c_bytes:
        _evict(arc, params, _victim(arc, params, state, is_metadata), is_metadata, n_bytes, n_bytes, tick)


@kernel
def grow(arc, params, n_bytes, is_metadata):
    """`n_bytes` more are anonymous: of a new block, or a second buffer of one that is being written."""
    arc.n_bytes[ANONYMOUS] += n_bytes
    if is_metadata:
        arc.scalars[scalar.META] += n_bytes
    if total_bytes(arc) < params.c_bytes and arc.n_bytes[ANONYMOUS] + arc.n_bytes[MRU] > arc.scalars[scalar.P]:
        arc.scalars[scalar.P] = min(params.c_bytes, arc.scalars[scalar.P] + n_bytes)


@kernel
def shrink(arc, n_bytes):
    """The second buffer of a block, of data, is given back."""
    arc.n_bytes[ANONYMOUS] -= n_bytes


@kernel
def new_block(arc, params, key, is_metadata, n_bytes, marks, tick):
    """The node, anonymous and held by the caller, of a block that has no header yet."""
    make_room(arc, params, ANONYMOUS, is_metadata, n_bytes, tick)
    node, nodes = take_node(arc), arc.nodes
    nodes[node, header.KEY], nodes[node, header.STATE], nodes[node, header.HOLDS] = key, ANONYMOUS, 1
    nodes[node, header.IS_METADATA], nodes[node, header.N_BYTES], nodes[node, header.MARKS] = is_metadata, n_bytes, marks
    nodes[node, header.TICK] = nodes[node, header.ABOVE] = nodes[node, header.READER] = nodes[node, header.DIRTIED] = 0
    nodes[node, header.IN_L2] = NIL
    arc.node_of[key] = node
    grow(arc, params, n_bytes, is_metadata)
    return node


@kernel
def _return_from_l2(arc, node, tick):
    """Rule 6."""
    arc.scalars[scalar.L2_HEADERS] -= HEADER_BYTES
    arc.n_bytes[MFU] += arc.nodes[node, header.N_BYTES]
    arc.nodes[node, header.STATE], arc.nodes[node, header.TICK] = MFU, tick


@kernel
def revive(arc, params, node, marks, tick):
    """What only has a header, a ghost or L2_ONLY, is wanted: it gets a buffer, and is held by the caller."""
    nodes = arc.nodes
    state, is_metadata = int(nodes[node, header.STATE]), int(nodes[node, header.IS_METADATA])
    n_bytes = int(nodes[node, header.N_BYTES])
    make_room(arc, params, state, is_metadata, n_bytes, tick)
    if state != L2_ONLY:
        unlist(arc, node)
    nodes[node, header.HOLDS] = 1
    nodes[node, header.MARKS] = marks
    if is_metadata:
        arc.scalars[scalar.META] += n_bytes
    if state == L2_ONLY:
        _return_from_l2(arc, node, tick)
    else:
        access(arc, params, node, tick)


# ---- every second ----


@part
def _forget_ghosts(arc, state, n_bytes):
    """Data first, from the tail, until `n_bytes` are gone."""
    nodes = arc.nodes
    for end in range(2 * state, 2 * state + 2):
        while n_bytes > 0 and nodes[end, header.NEWER] != end:
            node = int(nodes[end, header.NEWER])
            n_bytes -= int(nodes[node, header.N_BYTES])
            unlist(arc, node)
            if nodes[node, header.IN_L2] != NIL:
                leave_ghosts(arc, node)
            else:
                forget(arc, node)


@kernel
def adjust(arc, params, tick):
    """Rule 5: what every second brings the lists back to their sizes."""
    n, c = arc.n_bytes, params.c_bytes
    if total_bytes(arc) + n[MRU_GHOST] + n[MFU_GHOST] <= 2 * c:
        return
    for is_metadata in range(2):
        _evict(arc, params, MRU, is_metadata, n[ANONYMOUS] + n[MRU] - arc.scalars[scalar.P], 0, tick)
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


def new_arc(params: ArcParams, n_keys: int, n_nodes: int, p_bytes: int | None = None) -> Arc:
    """An empty cache for keys 0 .. n_keys - 1, with at most `n_nodes` headers; p starts at c / 2, spec 7.1."""
    nodes = new_nodes(n_nodes + N_LISTS)
    nodes[:N_LISTS] = 0
    nodes[:N_LISTS, header.OLDER] = nodes[:N_LISTS, header.NEWER] = np.arange(N_LISTS)
    p = params.c_bytes // 2 if p_bytes is None else p_bytes
    scalars = np.zeros(scalar.N_SCALARS, np.int64)
    scalars[scalar.P], scalars[scalar.N_NODES], scalars[scalar.FREE] = p, N_LISTS, NIL
    return Arc(nodes=nodes, node_of=zeros(n_keys, np.int32), n_bytes=np.zeros(5, np.int64),
               evictable=np.zeros(N_LISTS, np.int64), scalars=scalars)


def copy_arc(arc, n_nodes):
    """A cache that holds what `arc` does, with room for as many headers, or more."""
    used = arc.scalars[scalar.N_NODES]
    nodes = new_nodes(max(n_nodes + N_LISTS, len(arc.nodes)))
    nodes[:used] = arc.nodes[:used]
    node_of = empty(len(arc.node_of), np.int32)
    node_of[:] = arc.node_of
    return Arc(nodes=nodes, node_of=node_of, n_bytes=arc.n_bytes.copy(), evictable=arc.evictable.copy(),
               scalars=arc.scalars.copy())
