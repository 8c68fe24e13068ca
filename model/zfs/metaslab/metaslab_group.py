"""One vdev: which of its metaslabs a block comes from. Weights, and who is active (spec 2.4, 2.5, 2.6).

 1. *Weight*: twice the space that is not allocated (as of the last sync). A part is taken off that grows with the number of
    the metaslab, up to half. So the outer ones, where a disk is faster, weigh more. Then a bonus: to b121 twice as much for
    every metaslab that was ever written to. Later those up to the highest activated one have it, with a factor that is 1 by
    a slip.
 2. A block goes to the metaslab that weighs most, and active ones weigh more than all others. So once activated, a metaslab
    stays *primary*. To b121 that lasts until a request fails in it, later until at the end of a txg it is fragmented.
 3. A further copy on the same vdev goes to the heaviest metaslab that is far enough from the other copies, which becomes
    *secondary*. From one in which nothing was ever allocated it is half as far again.
 4. To activate is to load the map, if it is not. What is deferred is free on disk, and is taken out again.
 5. A request failed: the metaslab is left with a weight of one byte less than was asked for, later with its longest free
    segment. The next one is tried. That lasts until it is weighed again (`model.zfs.metaslab.sync`).
 6. A metaslab that is not active and has nothing to sync is unloaded. Its cursors are lost.

When a map is loaded whose log was not read ahead, the allocation waits for as many reads as the log has blocks:
`counters.load_blocks`. What was read is taken to be forgotten when the same log is next loaded.

In ZFS: metaslab.c (`metaslab_weight`, `metaslab_group_alloc`, `metaslab_activate`, `metaslab_passivate`). The tree of
metaslabs by weight is an array in order of weight here.
"""

import numpy as np

from model.jit import kernel, part
from model.structures.sentinels import NOWHERE
from model.zfs.metaslab.state import (
    BONUS_AREA,
    FAILURE,
    LARGEST,
    LAST_DIRTY,
    NOT_DIRTY,
    OPEN,
    PASSIVE,
    PRIMARY,
    SECONDARY,
    Metaslabs,
    alloc_map,
    defer_map,
    metaslab_at,
    ms_bytes,
)
from model.zfs.shared_numbers import TXG_SIZE
from model.zfs.space import free_map, space_map_log
from model.zfs.space.status import note

NO_METASLAB = -1


# ---- order by weight ----


@kernel
def _before(pool, a, b):
    """Whether metaslab `a` comes before `b`: active ones first, then by weight, then by number."""
    if pool.active[a] != pool.active[b]:
        return pool.active[a] > pool.active[b]
    if pool.weight[a] != pool.weight[b]:
        return pool.weight[a] > pool.weight[b]
    return a < b


@kernel
def _place(pool, m, rank):
    pool.order[rank] = m
    pool.rank[m] = rank


@kernel
def set_weight(pool, m, weight, active):
    """Give a metaslab a weight, and its place in the order."""
    pool.weight[m], pool.active[m] = weight, active
    vdev, rank = pool.vdev[m], pool.rank[m]
    first = pool.vdevs.first_ms[vdev]
    last = first + pool.vdevs.n_ms[vdev] - 1
    while rank > first and _before(pool, m, pool.order[rank - 1]):
        _place(pool, pool.order[rank - 1], rank)
        rank -= 1
    while rank < last and _before(pool, pool.order[rank + 1], m):
        _place(pool, pool.order[rank + 1], rank)
        rank += 1
    _place(pool, m, rank)


# ---- weight ----


@part
def _gets_bonus(pool, m):
    if pool.params.bonus_scope == BONUS_AREA:
        return pool.start[m] <= pool.vdevs.bonus_area[pool.vdev[m]]
    return pool.has_object[m] == 1


@kernel
def plain_weight(pool, m):
    """The weight without the two uppermost bits (rule 1)."""
    params, vdev = pool.params, pool.vdev[m]
    weight = ms_bytes(pool, m) - pool.allocated[m]
    if params.lba_weight:
        index = m - pool.vdevs.first_ms[vdev]
        weight = 2 * weight - index * weight // pool.vdevs.n_ms[vdev]
    if _gets_bonus(pool, m):
        weight = weight * params.bonus_multiplier // params.bonus_divisor
    return weight


@part
def _stays_active(pool, m):
    if pool.params.primary_until == FAILURE:
        return True
    return pool.loaded[m] == 1 and not free_map.is_fragmented(pool, m)


@part
def _active_anew(pool, m):
    if pool.active[m] != PASSIVE and not _stays_active(pool, m):
        return PASSIVE
    return pool.active[m]


@kernel
def weigh(pool, m):
    """Weigh a metaslab anew: at the end of a txg."""
    set_weight(pool, m, plain_weight(pool, m), _active_anew(pool, m))


@kernel
def weigh_vdev(pool, vdev):
    """All metaslabs of a vdev get their weights anew."""
    for m in range(pool.vdevs.first_ms[vdev], pool.vdevs.first_ms[vdev] + pool.vdevs.n_ms[vdev]):
        weigh(pool, m)


@kernel
def open_vdev(pool, vdev):
    """The space of a vdev that was added can be had."""
    vdevs = pool.vdevs
    vdevs.presence[vdev] = OPEN
    pool.class_space[vdevs.metaslab_class[vdev]] += vdevs.n_ms[vdev] << vdevs.ms_shift[vdev]
    weigh_vdev(pool, vdev)


@kernel
def _weigh_each(pool):
    for m in range(len(pool.weight)):
        pool.weight[m], pool.active[m] = plain_weight(pool, m), _active_anew(pool, m)


def weigh_all(pool: Metaslabs) -> None:
    """Weigh all metaslabs anew. They are sorted, not moved to their places one by one, since there may be many."""
    _weigh_each(pool)
    for first, n in zip(pool.vdevs.first_ms, pool.vdevs.n_ms, strict=True):
        its_own = slice(first, first + n)
        pool.order[its_own] = first + np.lexsort((-pool.weight[its_own], -pool.active[its_own]))
        pool.rank[pool.order[its_own]] = np.arange(first, first + n)


# ---- active or not ----


@kernel
def passivate(pool, m, weight):
    """End an active metaslab's time, and leave it that weight."""
    set_weight(pool, m, weight, PASSIVE)


@part
def _count_load(pool, m):
    counters = pool.counters
    counters.n_loads[0] += 1
    if pool.prefetched[m] == 0:
        counters.load_blocks[0] += space_map_log.n_blocks(pool.log, m)
    pool.prefetched[m] = 0


@part
def _load(pool, m):
    _count_load(pool, m)
    free_map.load(pool, m)
    for txg in range(pool.params.defer_txgs):
        free_map.withhold(pool, defer_map(pool, m, txg), m)
    pool.loaded[m] = 1


@part
def unload(pool, m):
    """The space map of metaslab `m` leaves memory."""
    free_map.unload(pool, m)
    pool.loaded[m] = 0
    pool.counters.n_unloads[0] += 1


@part
def _activate(pool, m, wanted):
    """Rule 4. One that is active already keeps its bit."""
    if pool.active[m] != PASSIVE:
        return
    if pool.loaded[m] == 0:
        _load(pool, m)
    vdev = pool.vdev[m]
    pool.vdevs.bonus_area[vdev] = max(pool.vdevs.bonus_area[vdev], pool.start[m])
    pool.counters.n_activated[0] += 1
    set_weight(pool, m, pool.weight[m], wanted)


# ---- choosing ----


@kernel
def _far_enough(pool, vdev, m, distance, copy):
    """Whether a metaslab is as far as it should be from the `copy` earlier copies (rule 3)."""
    if pool.allocated[m] == 0:
        distance += distance >> 1
    for i in range(copy):
        if pool.dva_vdev[i] == vdev:
            apart = abs(m - metaslab_at(pool, vdev, pool.dva_offset[i]))
            if apart << pool.vdevs.ms_shift[vdev] < distance:
                return False
    return True


@part
def _choose(pool, vdev, wanted, n_bytes, distance, copy):
    """The metaslab to try, or NO_METASLAB."""
    first = pool.vdevs.first_ms[vdev]
    for rank in range(first, first + pool.vdevs.n_ms[vdev]):
        m = pool.order[rank]
        if pool.active[m] == PASSIVE and pool.weight[m] < n_bytes:
            return NO_METASLAB
        if wanted == PRIMARY or _far_enough(pool, vdev, m, distance, copy):
            return m
    return NO_METASLAB


@part
def _wanted(pool, vdev, copy):
    """What a metaslab of this vdev is to be for this copy: secondary, if an earlier one is on the vdev."""
    for i in range(copy):
        if pool.dva_vdev[i] == vdev:
            return SECONDARY
    return PRIMARY


@kernel
def mark_dirty(pool, m, txg):
    """Have that txg sync the metaslab, before all that are to be synced already."""
    slot, vdev = txg % TXG_SIZE, pool.vdev[m]
    if pool.next_dirty[m, slot] == NOT_DIRTY:
        pool.next_dirty[m, slot] = pool.vdevs.dirty[vdev, slot]
        pool.vdevs.dirty[vdev, slot] = m


@kernel
def last_dirty(pool, vdev, txg):
    """The metaslab that was made dirty last for that txg; LAST_DIRTY if there is none."""
    return pool.vdevs.dirty[vdev, txg % TXG_SIZE]


@kernel
def take_dirty(pool, vdev, txg):
    """The same metaslab, which is dirty no longer."""
    slot, m = txg % TXG_SIZE, last_dirty(pool, vdev, txg)
    if m != LAST_DIRTY:
        pool.vdevs.dirty[vdev, slot] = pool.next_dirty[m, slot]
        pool.next_dirty[m, slot] = NOT_DIRTY
    return m


@part
def _record(pool, m, txg, offset, n_bytes):
    """Allocate what was picked."""
    note(pool, free_map.take(pool, m, offset, offset + n_bytes))
    allocated = alloc_map(pool, m, txg)
    if free_map.space(pool, allocated) == 0:
        mark_dirty(pool, m, txg)
    note(pool, free_map.put(pool, allocated, offset, offset + n_bytes))


@part
def allocate_in_group(pool, vdev, txg, n_bytes, distance, copy):
    """Offset of so many B on a vdev, allocated in that txg, or NOWHERE."""
    wanted = _wanted(pool, vdev, copy)
    while pool.failure[0] == 0:
        m = _choose(pool, vdev, wanted, n_bytes, distance, copy)
        if m == NO_METASLAB:
            return NOWHERE
        if pool.active[m] == SECONDARY and wanted == PRIMARY:
            passivate(pool, m, pool.weight[m])
            continue
        _activate(pool, m, wanted)
        offset = free_map.pick(pool, m, n_bytes)
        if offset != NOWHERE:
            _record(pool, m, txg, offset, n_bytes)
            return offset
        left = n_bytes - 1  # a first fit that aligns can fail although a segment is long enough: not to be asked again
        passivate(pool, m, min(left, free_map.largest(pool, m)) if pool.params.passivate_with == LARGEST else left)
    return NOWHERE
