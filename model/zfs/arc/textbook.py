"""ARC as N. Megiddo and D. Modha published it (FAST '03, figure 4), over the lists of ZFS's (`model.zfs.arc.arc`).

    a block that is nowhere   becomes MRU. Before, if MRU and its ghosts are c, the oldest ghost of MRU is forgotten (the
                              oldest of MRU itself if it has none). Or else, if all are 2c, the oldest ghost of MFU
    a hit                     becomes MFU, however soon after the last one
    a ghost                   moves p, by one or by the ratio of the ghosts' numbers, and becomes MFU
    room, once c are in core  MRU's oldest becomes a ghost if MRU is more than p (or just p, for a ghost of MFU). Else it is
                              MFU's

What ZFS does otherwise: blocks have sizes, holds and types; a hit within 60 ms changes nothing. All that is over is evicted
once a second and before new buffers, not with every miss.
"""

from model.jit import kernel
from model.structures.sentinels import NIL
from model.zfs.arc import columns as header
from model.zfs.arc import scalars as scalar
from model.zfs.arc.lists import GHOST, MFU, MFU_GHOST, MRU, MRU_GHOST, enlist, forget, move, take_node, unlist


@kernel
def _replace(arc, is_second_ghost):
    """REPLACE of the paper: the oldest block of one side becomes a ghost."""
    n, p = arc.n_bytes, arc.scalars[scalar.P]
    state = MRU if n[MRU] > 0 and (n[MRU] > p or (is_second_ghost and n[MRU] == p)) else MFU
    move(arc, int(arc.nodes[2 * state, header.NEWER]), state + GHOST)


@kernel
def _adapt_textbook(arc, c, state):
    """Cases II and III of the paper: a ghost of `state` is wanted."""
    mru, mfu, p = arc.n_bytes[MRU_GHOST], arc.n_bytes[MFU_GHOST], arc.scalars[scalar.P]
    if state == MRU_GHOST:
        arc.scalars[scalar.P] = min(c, p + max(1, mfu // mru))
    else:
        arc.scalars[scalar.P] = max(0, p - max(1, mru // mfu))


@kernel
def _oldest_gone(arc, state):
    node = int(arc.nodes[2 * state, header.NEWER])
    unlist(arc, node)
    forget(arc, node)


@kernel
def _trim_textbook(arc, c):
    """Case IV of the paper, for a block that is nowhere."""
    n = arc.n_bytes
    recent, everything = n[MRU] + n[MRU_GHOST], n[MRU] + n[MFU] + n[MRU_GHOST] + n[MFU_GHOST]
    if recent == c and n[MRU] == c:
        _oldest_gone(arc, MRU)
        return
    if recent == c:
        _oldest_gone(arc, MRU_GHOST)
    elif everything == 2 * c:
        _oldest_gone(arc, MFU_GHOST)
    if everything >= c:
        _replace(arc, False)


@kernel
def request_textbook(arc, params, key):
    """Reference `key`; True on a hit. `c_bytes` counts blocks."""
    node = int(arc.node_of[key])
    if node == NIL:
        _trim_textbook(arc, params.c_bytes)
        node = take_node(arc)
        arc.nodes[node, header.KEY], arc.nodes[node, header.STATE], arc.nodes[node, header.N_BYTES] = key, MRU, 1
        arc.nodes[node, header.HOLDS] = arc.nodes[node, header.IS_METADATA] = 0
        arc.node_of[key] = node
        arc.n_bytes[MRU] += 1
        enlist(arc, node)
        return False
    state = int(arc.nodes[node, header.STATE])
    if state > MFU:
        _adapt_textbook(arc, params.c_bytes, state)
        _replace(arc, state == MFU_GHOST)
    move(arc, node, MFU)
    return state <= MFU
