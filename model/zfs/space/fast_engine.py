"""`model.zfs.space.free_map` over `model.zfs.space.bitmap_maps`: the maps of a pool whose blocks are all multiples of one
size."""

from model.jit import kernel
from model.structures.sentinels import NOWHERE
from model.zfs.space import bitmap_maps, bitmap_pickers
from model.zfs.space.bitmaps import blocks_of
from model.zfs.space.free_runs import n_segments
from model.zfs.space.status import note


@kernel
def pick(pool, m, n_bytes):
    """The offset [B] of `n_bytes` that the picker chooses in metaslab `m`, or NOWHERE. Nothing is taken yet."""
    free = pool.blocks.free
    n = max(1, blocks_of(free, n_bytes >> free.unit_shift))
    block = bitmap_pickers.pick_block(free, m, n, pool.params.picker)
    return (free.first_unit[m] + block * free.grain) << free.unit_shift if block != NOWHERE else NOWHERE


@kernel
def take(pool, m, start, end):
    """The bytes from `start` to `end` of metaslab `m` are no longer free."""
    return bitmap_maps.take(pool.blocks, m, start, end)


@kernel
def give(pool, m, start, end):
    """The bytes from `start` to `end` of metaslab `m` are free again."""
    return bitmap_maps.give(pool.blocks, m, start, end)


@kernel
def largest(pool, m):
    """Bytes of the longest free segment of metaslab `m`."""
    return bitmap_maps.largest(pool.blocks, m)


@kernel
def is_fragmented(pool, m):
    """Whether the picker calls the free space of metaslab `m` fragmented (spec 2.5)."""
    return bitmap_pickers.is_fragmented(pool.blocks.free, m, pool.params.picker)


@kernel
def n_free_segments(pool, m):
    """How many free segments metaslab `m` has."""
    return n_segments(pool.blocks.free, m)


@kernel
def load(pool, m):
    """Nothing: the bitmap of a metaslab is always there."""
    pass


@kernel
def unload(pool, m):
    """The picker forgets where it was in metaslab `m`."""
    bitmap_maps.forget_cursors(pool.blocks, m)


@kernel
def look_ahead(pool, source, m):
    """The processor fetches early what freeing the blocks of `source` will touch in metaslab `m`."""
    bitmap_maps.look_ahead_to(pool.blocks, source, m)


@kernel
def give_all(pool, source, m, loaded):
    """All space of the map `source` is free again in metaslab `m`."""
    note(pool, bitmap_maps.give_all(pool.blocks, source, m))


@kernel
def withhold(pool, source, m):
    """Nothing: space of `source` stays taken in the bitmap until it is given."""
    pass


@kernel
def space(pool, txg_map):
    """Bytes in a map of a transaction group."""
    return bitmap_maps.space(pool.blocks, txg_map)


@kernel
def put(pool, txg_map, start, end):
    """The bytes from `start` to `end` enter a map of a transaction group."""
    return bitmap_maps.put(pool.blocks, txg_map, start, end)


@kernel
def unput(pool, txg_map, start, end):
    """The bytes from `start` to `end` leave a map of a transaction group."""
    return bitmap_maps.unput(pool.blocks, txg_map, start, end)


@kernel
def move(pool, source, target):
    """All that is in the map `source` goes over to the map `target`."""
    bitmap_maps.move(pool.blocks, source, target)


@kernel
def append(pool, m, allocs):
    """Allocations of a group go into the space map's log on disk. Bytes that they are."""
    n_bytes = bitmap_maps.space(pool.blocks, allocs)
    pool.log.n_records[m] += bitmap_maps.append(pool.blocks, m, allocs, pool.vdevs.ashift[pool.vdev[m]])
    return n_bytes


@kernel
def append_frees(pool, m, frees, freed):
    """Frees of a group go into the space map's log on disk and over to `freed`. Bytes that they are."""
    n_bytes = bitmap_maps.space(pool.blocks, frees)
    pool.log.n_records[m] += bitmap_maps.n_records(pool.blocks, m, frees, pool.vdevs.ashift[pool.vdev[m]])
    bitmap_maps.move(pool.blocks, frees, freed)
    return n_bytes


@kernel
def start_over(pool, m, allocs, frees, freed, defers, later):
    """The space map of metaslab `m` is condensed: its log on disk is written anew, as the blocks that are allocated."""
    sources = (freed, defers[0], defers[1], later[0], later[1])
    bitmap_maps.move(pool.blocks, frees, freed)
    bitmap_maps.rewrite(pool.blocks, m, allocs, sources, pool.vdevs.ashift[pool.vdev[m]])
    pool.log.n_records[m] = 0
