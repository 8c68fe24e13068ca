"""Traces of requests for blocks of one size, through the ARC of ZFS and through the one that was published.

By ZFS's rules time matters: requests come evenly, so many in a tick of 10 ms. What runs every second runs every 100
ticks, or as many as one likes. The published one counts requests and knows no time.
"""

from model.jit import kernel
from model.structures.sentinels import NIL
from model.zfs.arc.arc import access, adjust, new_block, release, revive, touch
from model.zfs.arc.lists import in_core
from model.zfs.arc.textbook import request_textbook


@kernel
def request_zfs(arc, params, key, n_bytes, tick):
    """A demand for `key`; True on a hit."""
    node = int(arc.node_of[key])
    if in_core(arc, node):
        touch(arc, params, node, tick)
        return True
    if node != NIL:
        revive(arc, params, node, 0, tick)
    else:
        node = new_block(arc, params, key, 0, n_bytes, 0, tick)
        access(arc, params, node, tick)
    release(arc, node)
    return False


@kernel
def misses_zfs(arc, params, keys, n_bytes, requests_per_tick, adjust_ticks):
    """Misses of a trace; `keys`: block numbers, int64."""
    n, tick = 0, 0
    for i in range(len(keys)):
        if i // requests_per_tick > tick:
            tick = i // requests_per_tick
            if tick % adjust_ticks == 0:
                adjust(arc, params, tick)
        n += 0 if request_zfs(arc, params, keys[i], n_bytes, tick) else 1
    return n


@kernel
def misses_textbook(arc, params, keys):
    """The same by the published rules, for an ARC whose sizes count blocks."""
    n = 0
    for i in range(len(keys)):
        n += 0 if request_textbook(arc, params, keys[i]) else 1
    return n
