"""Defects in the ARC; its twin must notice each. Run without the compiler: prints which were not noticed.

    NUMBA_DISABLE_JIT=1 PYTHONPATH=.:tests python -m defects.arc
"""

import json
import sys

from drivers.arc import SIZES, long_run
from model.zfs.arc import arc
from model.zfs.arc import columns as header
from model.zfs.arc import lists as arc_lists
from model.zfs.arc import scalars as scalar
from model.zfs.arc.lists import ANONYMOUS, INDIRECT, MFU, MFU_GHOST, MRU, MRU_GHOST, PREFETCHED
from support.defects import defect, unnoticed, with_columns

# ---- how p moves ----


def other_ghost(state):
    return MRU_GHOST + MFU_GHOST - state


def ratio(a, state):
    return max(1, a.n_bytes[other_ghost(state)] // max(1, a.n_bytes[state]))


def move_p(a, state, step, low, high):
    a.scalars[scalar.P] = min(high, max(low, a.scalars[scalar.P] + (step if state == MRU_GHOST else -step)))


# Of a cache, c, the state of a ghost and its size: bytes, or one block of the published ARC.
STEPS = {
    "p stays where it is": lambda a, c, state, n: None,
    "p moves the other way": lambda a, c, state, n: move_p(a, other_ghost(state), n * ratio(a, state), 0, c),
    "p moves by what is asked for alone": lambda a, c, state, n: move_p(a, state, n, 0, c),
    "the ratio of ghosts is upside down": lambda a, c, state, n: move_p(a, state, n * ratio(a, other_ghost(state)), 0, c),
    "the ratio of ghosts is rounded up": lambda a, c, state, n:
        move_p(a, state, n * max(1, -(-a.n_bytes[other_ghost(state)] // a.n_bytes[state])), 0, c),
    "p may exceed c": lambda a, c, state, n: move_p(a, state, n * ratio(a, state), 0, 2**40),
    "p may fall below 0": lambda a, c, state, n: move_p(a, state, n * ratio(a, state), -2**40, c),
}


def in_zfs(step):
    def adapt(a, params, state, n_bytes):
        if state in (MRU_GHOST, MFU_GHOST):
            step(a, params.c_bytes, state, n_bytes)
    return adapt


def moves_p_after_room_is_made(a, params, state, is_metadata, n_bytes, tick, real=arc.make_room, adapt=arc._adapt):
    with defect(arc, "_adapt", lambda *given: None):
        real(a, params, state, is_metadata, n_bytes, tick)
    adapt(a, params, state, n_bytes)


def leaves_p(a, params, n_bytes, is_metadata, real=arc.grow):
    p = a.scalars[scalar.P]
    real(a, params, n_bytes, is_metadata)
    a.scalars[scalar.P] = p


def moves_p_if_c_is_full(a, params, n_bytes, is_metadata, real=arc.grow):
    real(a, params._replace(c_bytes=2**40), n_bytes, is_metadata)
    a.scalars[scalar.P] = min(params.c_bytes, a.scalars[scalar.P])


def moves_p_if_it_is_not_exceeded(a, params, n_bytes, is_metadata, real=arc.grow):
    p = a.scalars[scalar.P]
    real(a, params, n_bytes, is_metadata)
    if arc_lists.total_bytes(a) < params.c_bytes and a.n_bytes[ANONYMOUS] + a.n_bytes[MRU] == p:
        a.scalars[scalar.P] = min(params.c_bytes, p + n_bytes)


def moves_p_beyond_c(a, params, n_bytes, is_metadata, real=arc.grow):
    p = a.scalars[scalar.P]
    real(a, params, n_bytes, is_metadata)
    if a.scalars[scalar.P] > p:
        a.scalars[scalar.P] = p + n_bytes


# ---- access ----


def promotes_after(ticks, real=arc.access):
    return lambda a, params, node, tick: real(a, params._replace(promote_ticks=ticks), node, tick)


def remembers_every_use(a, params, node, tick, real=arc.access):
    real(a, params, node, tick)
    a.nodes[node, header.TICK] = tick


def forgets_uses_of_mfu(a, params, node, tick, real=arc.access):
    if a.nodes[node, header.STATE] != MFU:
        real(a, params, node, tick)


def ghosts_become(state_of, real=arc.access):
    def access(a, params, node, tick):
        if a.nodes[node, header.STATE] in (MRU_GHOST, MFU_GHOST):
            arc_lists.move(a, node, state_of(a.nodes[node, header.MARKS] & PREFETCHED))
            a.nodes[node, header.TICK] = tick
        else:
            real(a, params, node, tick)
    return access


def promotes_who_prefetches(a, params, node, tick, real=arc.access):
    marks = a.nodes[node, header.MARKS]
    a.nodes[node, header.MARKS] &= ~PREFETCHED
    real(a, params, node, tick)
    a.nodes[node, header.MARKS] = marks


def keeps_the_mark(real):
    def keeps(a, *arguments):
        node = arguments[0] if len(arguments) == 1 else arguments[1]
        mark = a.nodes[node, header.MARKS] & PREFETCHED
        real(a, *arguments)
        a.nodes[node, header.MARKS] |= mark
    return keeps


def takes_the_mark(a, params, node, tick, real=arc.access):
    real(a, params, node, tick)
    a.nodes[node, header.MARKS] &= ~PREFETCHED


def is_new(a, params, node, marks, tick):
    """A ghost is worth nothing."""
    key, is_metadata, n_bytes = (int(a.nodes[node, column]) for column in (header.KEY, header.IS_METADATA, header.N_BYTES))
    arc_lists.drop(a, node)
    arc.access(a, params, arc.new_block(a, params, key, is_metadata, n_bytes, marks, tick), tick)


def still_counts_as_ghost(a, params, node, marks, tick, real=arc.revive):
    state = a.nodes[node, header.STATE]
    real(a, params, node, marks, tick)
    a.n_bytes[state] += a.nodes[node, header.N_BYTES]


# ---- lists, holds, what metadata is ----


def enlist_at_tail(a, node):
    nodes, end = a.nodes, arc_lists._list_of(a, node)
    oldest = int(nodes[end, header.NEWER])
    nodes[node, header.OLDER], nodes[node, header.NEWER] = end, oldest
    nodes[oldest, header.OLDER] = nodes[end, header.NEWER] = node
    a.evictable[end] += nodes[node, header.N_BYTES]


def keeps_hold_of_above(a, node, real=arc_lists.lose_data):
    a.nodes[node, header.ABOVE] = arc_lists.NIL
    real(a, node)


def counts_lost_metadata(a, node, real=arc_lists.lose_data):
    n_bytes = a.scalars[scalar.META]
    real(a, node)
    a.scalars[scalar.META] = n_bytes


def leaves_a_ghost(a, node, real=arc_lists.drop):
    if a.nodes[node, header.STATE] in (MRU, MFU) and a.nodes[node, header.HOLDS] == 0:
        arc.evict_now(a, node)
    else:
        real(a, node)


# ---- eviction ----


def newest_first(real):
    def from_the_head(*arguments):
        with defect(sys.modules[real.__module__], "header", with_columns(header, NEWER=header.OLDER)):
            return real(*arguments)
    return from_the_head


def evicts(change, real=arc._evict):
    """`change`: of the metadata flag, the bytes to be evicted and the size looked for."""
    def evict(a, params, state, is_metadata, n_bytes, wanted, tick):
        real(a, params, state, *change(is_metadata, n_bytes, wanted), tick)
    return evict


def forgets_that_it_evicted(*arguments, real=arc._evict):
    real(*arguments)
    arguments[0].scalars[scalar.HAS_EVICTED] = 0


def spares(marks, ticks):
    return lambda a, params, node, tick: (a.nodes[node, header.MARKS] & marks != 0
                                          and tick - a.nodes[node, header.TICK] < ticks)


def one_list_of_ghosts(a, node):
    arc_lists.move(a, node, MRU_GHOST)
    arc_lists.lose_data(a, node)


def victim(for_new, for_again):
    """`for_new`, `for_again`: whether MFU, or MRU, is taken from for a buffer of this type."""
    def side(a, params, state, is_metadata):
        given = (a.evictable, a.scalars[scalar.P], a.n_bytes, params.c_bytes, is_metadata)
        if state <= MRU:
            return MFU if for_new(*given) else MRU
        return MRU if for_again(*given) else MFU
    return side


def new_takes_mfu(evictable, p, n, c, kind):
    return evictable[2 * MFU + kind] > 0 and p > n[ANONYMOUS] + n[MRU]


def again_takes_mru(evictable, p, n, c, kind):
    return evictable[2 * MRU + kind] > 0 and c - p > n[MFU]


def makes_room(total, real=arc.make_room):
    """`total`: of the bytes that there are and those that are to come."""
    def make_room(a, params, state, is_metadata, n_bytes, tick):
        with defect(arc, "total_bytes", lambda a: total(arc_lists.total_bytes(a), n_bytes)):
            real(a, params, state, is_metadata, n_bytes, tick)
    return make_room


def limits_metadata(limit, real=arc.make_room):
    return lambda a, params, *more: real(a, params._replace(meta_limit_bytes=limit(params.meta_limit_bytes)), *more)


def limit_of_metadata_is_for_all(a, params, state, is_metadata, n_bytes, tick, real=arc.make_room):
    is_over = a.scalars[scalar.META] >= params.meta_limit_bytes
    makes_room(lambda there, to_come: 2**40 if is_over else there, real)(a, params, state, is_metadata, n_bytes, tick)


# ---- every second ----


def adjusts(evict, real=arc.adjust):
    def adjust(a, params, tick):
        with defect(arc, "_evict", evict):
            real(a, params, tick)
    return adjust


def trims_all_but(state_kept, real=arc._evict):
    return lambda a, params, state, *more: None if state == state_kept else real(a, params, state, *more)


def trims_all_of(state_emptied, real=arc._evict):
    return lambda a, params, state, kind, n_bytes, *more: real(
        a, params, state, kind, 2**40 if state == state_emptied and n_bytes > 0 else n_bytes, *more)


def trims_always(a, params, tick, real=arc.adjust):
    real(a, params, tick)
    for is_metadata in range(2):
        arc._evict(a, params, MRU, is_metadata, a.n_bytes[ANONYMOUS] + a.n_bytes[MRU] - a.scalars[scalar.P], 0, tick)


def forgets(n_of, real=arc._forget_ghosts):
    """`n_of`: B to be forgotten, of the cache, the state of ghosts and the right number."""
    return lambda a, state, n_bytes: real(a, state, n_of(a, state, n_bytes))


def forgets_metadata_first(a, state, n_bytes):
    for end in (2 * state + 1, 2 * state):
        while n_bytes > 0 and a.nodes[end, header.NEWER] != end:
            node = int(a.nodes[end, header.NEWER])
            n_bytes -= a.nodes[node, header.N_BYTES]
            arc_lists.unlist(a, node)
            arc_lists.forget(a, node)


DEFECTS = {
    "none": (arc, "adjust", arc.adjust),
    **{name: (arc, "_adapt", in_zfs(step)) for name, step in STEPS.items()},
    "p moves after room is made": (arc, "make_room", moves_p_after_room_is_made),
    "what is new leaves p": (arc, "grow", leaves_p),
    "what is new moves p though c is full": (arc, "grow", moves_p_if_c_is_full),
    "what is new moves p that is just met": (arc, "grow", moves_p_if_it_is_not_exceeded),
    "what is new moves p beyond c": (arc, "grow", moves_p_beyond_c),
    "a second use promotes at once": (arc, "access", promotes_after(-1)),
    "a second use promotes after six ticks": (arc, "access", promotes_after(5)),
    "nothing is promoted": (arc, "access", promotes_after(2**30)),
    "a use too soon counts as the last one": (arc, "access", remembers_every_use),
    "uses in MFU are forgotten": (arc, "access", forgets_uses_of_mfu),
    "a ghost becomes MRU": (arc, "access", ghosts_become(lambda is_ahead: MRU)),
    "a prefetched ghost becomes MFU": (arc, "access", ghosts_become(lambda is_ahead: MFU)),
    "a prefetch promotes": (arc, "access", promotes_who_prefetches),
    "any access takes the mark of prefetch": (arc, "access", takes_the_mark),
    "who waits for a prefetch leaves its mark": (arc, "access", keeps_the_mark(arc.access)),
    "a demand leaves the mark of prefetch": (arc, "hold", keeps_the_mark(arc.hold)),
    "a ghost is worth nothing": (arc, "revive", is_new),
    "a ghost found still counts as one": (arc, "revive", still_counts_as_ghost),
    "what is dirtied stays where it was": (arc, "make_anonymous", lambda a, node: None),
    "a second buffer is not given back": (arc, "shrink", lambda a, n_bytes: None),
    "the newest stands at the tail": (arc_lists, "enlist", enlist_at_tail),
    "the block above is not held": (arc_lists, "hold_above", lambda a, node, above: None),
    "the block above stays held": (arc, "lose_data", keeps_hold_of_above),
    "metadata counts when it has gone": (arc, "lose_data", counts_lost_metadata),
    "what is dropped leaves a ghost": (arc_lists, "drop", leaves_a_ghost),
    "the newest is evicted": (arc, "_evict", newest_first(arc._evict)),
    "one block is evicted": (arc, "_evict", evicts(lambda kind, n, wanted: (kind, min(n, 1), wanted))),
    "a whole list is evicted": (arc, "_evict", evicts(lambda kind, n, wanted: (kind, 2**40, wanted))),
    "one byte more is evicted": (arc, "_evict", evicts(lambda kind, n, wanted: (kind, n + 1, wanted))),
    "no size is looked for": (arc, "_evict", evicts(lambda kind, n, wanted: (kind, n, 0))),
    "the thread of every second looks for a size": (arc, "_evict", evicts(lambda kind, n, wanted: (kind, n, wanted or 4))),
    "data go for metadata": (arc, "_evict", evicts(lambda kind, n, wanted: (0, n, wanted))),
    "nobody remembers an eviction": (arc, "_evict", forgets_that_it_evicted),
    "nothing is spared": (arc, "_is_spared", spares(0, 100)),
    "indirect blocks are not spared": (arc, "_is_spared", spares(PREFETCHED, 100)),
    "what was prefetched is not spared": (arc, "_is_spared", spares(INDIRECT, 100)),
    "all are spared for a second": (
        arc, "_is_spared", lambda a, params, node, tick: tick - a.nodes[node, header.TICK] < 100),
    "some are spared for a second and a tick": (arc, "_is_spared", spares(INDIRECT | PREFETCHED, 101)),
    "all ghosts are MRU's": (arc, "evict_now", one_list_of_ghosts),
    "new blocks take from MRU": (arc, "_victim", victim(lambda *given: False, again_takes_mru)),
    "new blocks take from MFU if p is just met": (arc, "_victim", victim(
        lambda there, p, n, c, kind: there[2 * MFU + kind] > 0 and p >= n[ANONYMOUS] + n[MRU], again_takes_mru)),
    "new blocks take from an empty MFU": (arc, "_victim", victim(
        lambda there, p, n, c, kind: p > n[ANONYMOUS] + n[MRU], again_takes_mru)),
    "new blocks take from MFU if there is another type": (arc, "_victim", victim(
        lambda there, p, n, c, kind: new_takes_mfu(there, p, n, c, 1 - kind), again_takes_mru)),
    "what is anonymous does not count": (arc, "_victim", victim(
        lambda there, p, n, c, kind: there[2 * MFU + kind] > 0 and p > n[MRU], again_takes_mru)),
    "ghosts take from MFU": (arc, "_victim", victim(new_takes_mfu, lambda *given: False)),
    "ghosts take from MRU if MFU is just its share": (arc, "_victim", victim(
        new_takes_mfu, lambda there, p, n, c, kind: there[2 * MRU + kind] > 0 and c - p >= n[MFU])),
    "ghosts take from an empty MRU": (arc, "_victim", victim(new_takes_mfu, lambda there, p, n, c, kind: c - p > n[MFU])),
    "ghosts take as new blocks do": (arc, "_victim", victim(new_takes_mfu, lambda *given: not new_takes_mfu(*given))),
    "room is made when c is just met": (arc, "make_room", makes_room(lambda there, to_come: there + 1)),
    "room is made for what is to come": (arc, "make_room", makes_room(lambda there, to_come: there + to_come)),
    "metadata has no limit": (arc, "make_room", limits_metadata(lambda limit: 2**40)),
    "metadata may just meet its limit": (arc, "make_room", limits_metadata(lambda limit: limit + 1)),
    "metadata at its limit makes data go": (arc, "make_room", limit_of_metadata_is_for_all),
    "no thread runs every second": (arc, "adjust", lambda a, params, tick: None),
    "MRU is trimmed to p every second": (arc, "adjust", trims_always),
    "MRU is not trimmed to p": (arc, "adjust", adjusts(trims_all_but(MRU))),
    "MFU is not trimmed": (arc, "adjust", adjusts(trims_all_but(MFU))),
    "MRU is emptied": (arc, "adjust", adjusts(trims_all_of(MRU))),
    "MFU is emptied": (arc, "adjust", adjusts(trims_all_of(MFU))),
    "metadata is trimmed first": (arc, "adjust", adjusts(evicts(lambda kind, n, wanted: (1 - kind, n, wanted)))),
    "ghosts of MRU are not forgotten": (arc, "_forget_ghosts", forgets(lambda a, state, n: n * (state == MFU_GHOST))),
    "ghosts of MFU are not forgotten": (arc, "_forget_ghosts", forgets(lambda a, state, n: n * (state == MRU_GHOST))),
    "a byte more of ghosts is forgotten": (arc, "_forget_ghosts", forgets(lambda a, state, n: n + 1)),
    "what is anonymous leaves ghosts their room": (arc, "_forget_ghosts", forgets(
        lambda a, state, n: n - a.n_bytes[ANONYMOUS] * (state == MRU_GHOST))),
    "the newest ghosts are forgotten": (arc, "_forget_ghosts", newest_first(arc._forget_ghosts)),
    "ghosts of metadata are forgotten first": (arc, "_forget_ghosts", forgets_metadata_first),
}


def differs(run, cases):
    """Whether the twins disagree, or the cache breaks down."""
    try:
        for case in cases:
            run(case)
    except (AssertionError, IndexError, ValueError, ZeroDivisionError):
        return True
    return False


def main():
    print(json.dumps(unnoticed(DEFECTS, lambda _: differs(long_run, range(len(SIZES))))))


if __name__ == "__main__":
    main()
