"""The end of a transaction group: what is written of the metaslabs, and when freed space comes back (spec 2.9, 2.10).

Each metaslab in which the txg allocated or freed is *dirty*. When txg N is synced, each of them, last made dirty first:

 1. Its first time it gets a log (`model.zfs.space.space_map_log`).
 2. *Condense*: if it is loaded and its log is 16 bytes or more for each free segment, the log is written anew. It then has
    what is allocated, and nothing else.
 3. What was allocated, then what was freed, is appended to the log, and counts as allocated or not from now on.

Then each of them, in the opposite order:

 4. What the txg freed is free: a block freed in txg N can be allocated by N + 1. From hg 10921 on it is *deferred*
    instead, and what N - 2 freed is free now: so that is N + 3. A metaslab with deferred space is dirty in the next txg.
 5. One that is loaded, not active, and in which no later txg has allocated is unloaded.
 6. It is weighed anew.

From hg 11146 on, if any was dirty, all metaslabs of the vdev up to the highest one ever activated are weighed anew. The
logs of the (up to 3) heaviest are read ahead, if they are not loaded.

The space of a vdev that was added in the txg can be had from then on.

In ZFS: metaslab.c (`metaslab_sync`, `metaslab_sync_done`, `metaslab_sync_reassess`, `metaslab_prefetch`), vdev.c. Left out:
later passes of a sync, in which the blocks of the logs themselves are allocated. Whoever simulates a pool's own blocks
allocates them like any others.
"""

from model.jit import kernel, part
from model.zfs.metaslab.metaslab_group import last_dirty, mark_dirty, open_vdev, take_dirty, unload, weigh
from model.zfs.metaslab.state import ADDED, LAST_DIRTY, PASSIVE, alloc_map, defer_map
from model.zfs.metaslab.state import free_map as map_of_frees
from model.zfs.space import free_map, space_map_log

CONDENSE_RECORDS = 2  # records for each free segment: the segments in core take half the room


@part
def _condense(pool, m, txg, freed):
    free_map.start_over(
        pool, m, alloc_map(pool, m, txg), map_of_frees(pool, m, txg), freed,
        (defer_map(pool, m, 0), defer_map(pool, m, 1)), (alloc_map(pool, m, txg + 1), alloc_map(pool, m, txg + 2)))
    pool.syncing[m] = 0
    pool.counters.n_condensed[0] += 1


@part
def _write(pool, m, txg):
    """Rules 2 and 3. What was freed is kept for rule 4."""
    freed = map_of_frees(pool, m, txg - 1)
    before = pool.log.n_records[m]
    if pool.loaded[m] == 1 and before >= CONDENSE_RECORDS * free_map.n_free_segments(pool, m):
        _condense(pool, m, txg, freed)
        before = 0
    pool.syncing[m] += free_map.append(pool, m, alloc_map(pool, m, txg))
    pool.syncing[m] -= free_map.append_frees(pool, m, map_of_frees(pool, m, txg), freed)
    if pool.log.n_records[m] > before:
        pool.counters.log_blocks[0] += space_map_log.n_blocks(pool.log, m) - (before >> space_map_log.PLACE_SHIFT)


@part
def _sync(pool, m, txg):
    allocs, frees = alloc_map(pool, m, txg), map_of_frees(pool, m, txg)
    unchanged = free_map.space(pool, allocs) == 0 and free_map.space(pool, frees) == 0
    if unchanged and pool.params.skips_unchanged:
        return
    pool.has_object[m] = 1
    _write(pool, m, txg)


@kernel
def _comes_back(pool, m, txg):
    """The map of what is free of it when that txg is synced (rule 4)."""
    return map_of_frees(pool, m, txg - 1) if pool.params.defer_txgs == 0 else defer_map(pool, m, txg)


@kernel
def _look_ahead(pool, vdev, txg):
    """To the next dirty metaslab: most have one row of what comes back, so that looking ahead in its map comes too late."""
    m = last_dirty(pool, vdev, txg - 1)
    if m != LAST_DIRTY:
        free_map.look_ahead(pool, _comes_back(pool, m, txg), m)


@part
def _return_space(pool, m, txg):
    """Rule 4. Returns the B by which more is withheld."""
    freed, back = map_of_frees(pool, m, txg - 1), _comes_back(pool, m, txg)
    more = free_map.space(pool, freed) - free_map.space(pool, back)
    free_map.give_all(pool, back, m, pool.loaded[m] == 1)
    if back != freed:
        free_map.move(pool, freed, back)
        pool.deferred[m] += more
        if pool.deferred[m] != 0:
            mark_dirty(pool, m, txg + 1)
    return more


@part
def _count_space(pool, m, n_bytes):
    vdev = pool.vdev[m]
    pool.vdevs.allocated[vdev] += n_bytes
    pool.class_allocated[pool.vdevs.metaslab_class[vdev]] += n_bytes


@part
def _can_unload(pool, m, txg):
    """Rule 5."""
    if pool.loaded[m] == 0 or pool.active[m] != PASSIVE:
        return False
    return free_map.space(pool, alloc_map(pool, m, txg + 1)) == 0 and free_map.space(pool, alloc_map(pool, m, txg + 2)) == 0


@part
def _sync_done(pool, m, txg):
    withheld = _return_space(pool, m, txg)
    _count_space(pool, m, pool.syncing[m] - pool.allocated[m] + withheld)
    pool.allocated[m] = pool.syncing[m]
    if _can_unload(pool, m, txg):
        unload(pool, m)
    weigh(pool, m)


@part
def _reassess(pool, vdev):
    for m in range(pool.vdevs.first_ms[vdev], pool.vdevs.first_ms[vdev] + pool.vdevs.n_ms[vdev]):
        if pool.start[m] <= pool.vdevs.bonus_area[vdev]:
            weigh(pool, m)


@part
def _prefetch(pool, vdev):
    first = pool.vdevs.first_ms[vdev]
    for rank in range(first, first + min(pool.params.prefetch_maps, pool.vdevs.n_ms[vdev])):
        m = pool.order[rank]
        if pool.loaded[m] == 0 and pool.has_object[m] == 1 and pool.prefetched[m] == 0:
            pool.prefetched[m] = 1
            pool.counters.prefetched_blocks[0] += space_map_log.n_blocks(pool.log, m)


@part
def _sync_vdev(pool, vdev, txg):
    m = take_dirty(pool, vdev, txg)
    if m == LAST_DIRTY:
        return
    while m != LAST_DIRTY:
        _sync(pool, m, txg)
        mark_dirty(pool, m, txg - 1)
        m = take_dirty(pool, vdev, txg)
    m = take_dirty(pool, vdev, txg - 1)
    while m != LAST_DIRTY:
        _look_ahead(pool, vdev, txg)
        _sync_done(pool, m, txg)
        m = take_dirty(pool, vdev, txg - 1)
    if pool.params.reassess:
        _reassess(pool, vdev)
    _prefetch(pool, vdev)


@kernel
def sync_txg(pool, txg):
    """Sync that txg; the txgs before it are synced already. OK, or what cannot be."""
    for vdev in range(len(pool.vdevs.asize)):
        if pool.vdevs.presence[vdev] == ADDED:
            open_vdev(pool, vdev)
        _sync_vdev(pool, vdev, txg)
    return pool.failure[0]
