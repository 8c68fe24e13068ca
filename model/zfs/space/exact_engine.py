"""`model.zfs.space.free_map` over `model.zfs.space.space_map`: segments of any size, in trees of the right shape."""

from model.jit import kernel
from model.structures.sentinels import NIL
from model.zfs.space import pickers, space_map, space_map_log
from model.zfs.space.status import note

# ---- the map of what is free in metaslab m ----


@kernel
def pick(pool, m, n_bytes):
    """Offset for so many B, or NOWHERE. Moves a cursor and takes nothing."""
    return pickers.pick(pool.maps, m, n_bytes, pool.params.picker)


@kernel
def take(pool, m, start, end):
    """What was free is allocated."""
    return space_map.remove(pool.maps, m, start, end)


@kernel
def give(pool, m, start, end):
    """What was allocated is free."""
    return space_map.add(pool.maps, m, start, end)


@kernel
def largest(pool, m):
    """B of the longest free segment."""
    return space_map.largest(pool.maps, m)


@kernel
def is_fragmented(pool, m):
    """Whether the picker calls the free space of metaslab `m` fragmented (spec 2.5)."""
    return pickers.is_fragmented(pool.maps, m, pool.params.picker)


@kernel
def n_free_segments(pool, m):
    """How many free segments metaslab `m` has."""
    return pool.maps.n_segments[m]


@kernel
def load(pool, m):
    """Make the free map of what the log says. Cursors begin at 0."""
    maps = pool.maps
    note(pool, space_map.add(maps, m, maps.low[m], maps.low[m] + maps.size_bytes[m]))
    note(pool, space_map_log.replay(pool.log, maps, m, pool.vdevs.ashift[pool.vdev[m]]))


@kernel
def unload(pool, m):
    """Forget the free map and the cursors."""
    space_map.clear(pool.maps, m)


@kernel
def look_ahead(pool, source, m):
    """Nothing: of trees, the processor fetches nothing early."""
    pass


@kernel
def give_all(pool, source, m, loaded):
    """Empty map `source` into the free map of `m`; if that is not loaded the log has it."""
    if loaded:
        note(pool, space_map.move(pool.maps, source, m))
    else:
        space_map.clear(pool.maps, source)


@kernel
def withhold(pool, source, m):
    """Take all that is in map `source` out of the free map of `m`, which was just loaded."""
    _remove_all(pool, pool.maps, source, m)


# ---- the maps of txgs ----


@kernel
def space(pool, txg_map):
    """B in the map."""
    return pool.maps.space[txg_map]


@kernel
def put(pool, txg_map, start, end):
    """Add a segment. OVERLAP if any of it is there."""
    return space_map.add(pool.maps, txg_map, start, end)


@kernel
def unput(pool, txg_map, start, end):
    """Take a segment out again."""
    return space_map.remove(pool.maps, txg_map, start, end)


@kernel
def _copy(pool, source, target):
    """Add all of one map to another, in order of offset."""
    maps = pool.maps
    node = space_map.first(maps, source)
    while node != NIL:
        note(pool, space_map.add(maps, target, maps.start[node], maps.end[node]))
        node = space_map.following(maps, node)


@kernel
def move(pool, source, target):
    """Empty one map into another."""
    note(pool, space_map.move(pool.maps, source, target))


@kernel
def _remove_all(pool, maps, source, target):
    node = space_map.first(maps, source)
    while node != NIL:
        note(pool, space_map.remove(maps, target, maps.start[node], maps.end[node]))
        node = space_map.following(maps, node)


# ---- the log of metaslab m ----


@kernel
def _append(pool, m, txg_map, kind):
    n_bytes = pool.maps.space[txg_map]
    note(pool, space_map_log.append(pool.log, pool.maps, m, txg_map, kind, pool.vdevs.ashift[pool.vdev[m]]))
    return n_bytes


@kernel
def append(pool, m, allocs):
    """Empty a map into the log, as allocations. Returns the B of it."""
    return _append(pool, m, allocs, space_map_log.ALLOC)


@kernel
def append_frees(pool, m, frees, freed):
    """Empty the map `frees` into the log, as frees, and into the map `freed`. Returns the B of it."""
    _copy(pool, frees, freed)
    return _append(pool, m, frees, space_map_log.FREE)


@kernel
def start_over(pool, m, allocs, frees, freed, defers, later):
    """Condense: an empty log, and in map `allocs` all that is allocated as of this txg. Free as of this txg is: the free
    map, freed in this txg, deferred (2 maps), and allocated by one of the 2 later txgs. Map `frees` is emptied into
    `freed`."""
    maps = pool.maps
    _copy(pool, frees, freed)
    space_map.clear(maps, allocs)
    space_map.clear(maps, frees)
    note(pool, space_map.add(maps, allocs, maps.low[m], maps.low[m] + maps.size_bytes[m]))
    for source in (m, freed, defers[0], defers[1], later[0], later[1]):
        _remove_all(pool, maps, source, allocs)
    space_map_log.truncate(pool.log, m)
