"""Defects in the L2ARC; random runs must notice each. Run without the compiler: prints which were not noticed.

    NUMBA_DISABLE_JIT=1 PYTHONPATH=.:tests python -m defects.l2arc
"""

import json

from drivers.l2arc import long_run
from model.structures.sentinels import NIL
from model.zfs.arc import arc, l2arc
from model.zfs.arc import columns as header
from model.zfs.arc import l2_columns as l2_cache
from model.zfs.arc import lists as arc_lists
from model.zfs.arc import scalars as scalar
from support.defects import unnoticed


def evicts_to_the_end(l2, arc_, device, target, real=l2arc._evict_ahead):
    real(l2, arc_, device, 2**40)


def counts_only_what_it_feeds(l2, arc_, params, device, end, target, towards):
    nodes, passed = arc_.nodes, 0
    node = int(nodes[end, towards])
    while node != end:
        if l2arc._is_eligible(arc_, params, node):
            passed += int(nodes[node, header.N_BYTES])
            if passed > target * params.headroom:
                return True
            if l2.round[l2_cache.WROTE] + nodes[node, header.N_BYTES] > target:
                return False
            l2arc._copy(l2, arc_, device, node)
        node = int(nodes[node, towards])
    return True


def walks_from_the_tail(l2, arc_, params, device, end, target, towards, real=l2arc._walk):
    return real(l2, arc_, params, device, end, target, header.NEWER)


def goes_on_after_what_does_not_fit(*arguments, real=l2arc._walk):
    real(*arguments)
    return True


def feeds_the_unread(arc_, params, node):
    return arc_.nodes[node, header.MARKS] & arc_lists.L2_CACHEABLE != 0 and arc_.nodes[node, header.IN_L2] == NIL


def feeds_what_may_not_be_cached(arc_, params, node):
    return arc_.nodes[node, header.IN_L2] == NIL


def feeds_again(arc_, params, node, real=l2arc._is_eligible):
    arc_.nodes[node, header.IN_L2] = NIL
    return real(arc_, params, node)


def begins_to_count_at_the_end(l2, params, now, real=l2arc._end_round):
    l2.round[l2_cache.BEGAN] = now
    real(l2, params, now)


def starts_at_the_first(l2, *arguments, real=l2arc.feed):
    l2.round[l2_cache.DEVICE] = -1
    return real(l2, *arguments)


def never_wraps(l2, params, arc_, now, real=l2arc.feed):
    start = l2.devices[:, l2_cache.START].copy()
    l2.devices[:, l2_cache.START] = l2.devices[:, l2_cache.HAND]
    n = real(l2, params, arc_, now)
    l2.devices[:, l2_cache.START] = start
    return n


def reads_what_is_being_written(l2, params, arc_, block, is_prefetch, real=l2arc.l2_holds):
    return real(l2, params._replace(norw=0), arc_, block, is_prefetch)


def comes_back_to_mru(arc_, node, tick, real=arc._return_from_l2):
    real(arc_, node, tick)
    arc_.nodes[node, header.STATE] = arc_lists.MRU
    arc_.n_bytes[arc_lists.MFU] -= arc_.nodes[node, header.N_BYTES]
    arc_.n_bytes[arc_lists.MRU] += arc_.nodes[node, header.N_BYTES]


def costs_nothing(arc_, node, real=arc_lists.leave_ghosts):
    real(arc_, node)
    arc_.scalars[scalar.L2_HEADERS] -= arc_lists.HEADER_BYTES


DEFECTS = {
    "none": (l2arc, "NOWHERE", l2arc.NOWHERE),
    "nothing is written over": (l2arc, "_evict_ahead", lambda *a: None),
    "too much is written over": (l2arc, "_evict_ahead", evicts_to_the_end),
    "a header stays without its copy": (l2arc, "forget", l2arc.lose_l2),
    "headroom counts what is fed": (l2arc, "_walk", counts_only_what_it_feeds),
    "a round goes on after a block that does not fit": (l2arc, "_walk", goes_on_after_what_does_not_fit),
    "what nobody has used is fed": (l2arc, "_is_eligible", feeds_the_unread),
    "secondarycache is not asked": (l2arc, "_is_eligible", feeds_what_may_not_be_cached),
    "what is there is fed again": (l2arc, "_is_eligible", feeds_again),
    "a cold ARC is fed from the tail": (l2arc, "_walk", walks_from_the_tail),
    "there is no boost": (l2arc, "target_bytes", lambda a, params: params.write_max_bytes),
    "MRU comes first": (l2arc, "MRU", arc_lists.MFU),
    "the next round counts from the end": (l2arc, "_end_round", begins_to_count_at_the_end),
    "one device is fed": (l2arc, "feed", starts_at_the_first),
    "the hand stays where it is": (l2arc, "feed", never_wraps),
    "a device is read while it is written to": (l2arc, "l2_holds", reads_what_is_being_written),
    "a new identity keeps its old copy": (arc, "lose_l2", lambda *a: None),
    "what is forgotten keeps its copy": (arc_lists, "lose_l2", lambda *a: None),
    "a copy does not keep its header": (arc, "leave_ghosts", arc_lists.forget),
    "who comes back is in MRU": (arc, "_return_from_l2", comes_back_to_mru),
    "headers cost nothing": (arc, "leave_ghosts", costs_nothing),
}


def is_noticed():
    try:
        for seed in range(6):
            long_run(seed, n=700, check_every=3)
    except (AssertionError, ValueError, IndexError, KeyError):
        return True
    return False


def main():
    print(json.dumps(unnoticed(DEFECTS, lambda _: is_noticed())))


if __name__ == "__main__":
    main()
