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
    free = pool.blocks.free
    n = max(1, blocks_of(free, n_bytes >> free.unit_shift))
    block = bitmap_pickers.pick_block(free, m, n, pool.params.picker)
    return (free.first_unit[m] + block * free.grain) << free.unit_shift if block != NOWHERE else NOWHERE


@kernel
def take(pool, m, start, end):
    return bitmap_maps.take(pool.blocks, m, start, end)


@kernel
def give(pool, m, start, end):
    return bitmap_maps.give(pool.blocks, m, start, end)


@kernel
def largest(pool, m):
    return bitmap_maps.largest(pool.blocks, m)


@kernel
def is_fragmented(pool, m):
    return bitmap_pickers.is_fragmented(pool.blocks.free, m, pool.params.picker)


@kernel
def n_free_segments(pool, m):
    return n_segments(pool.blocks.free, m)


@kernel
def load(pool, m):
    pass


@kernel
def unload(pool, m):
    bitmap_maps.forget_cursors(pool.blocks, m)


@kernel
def look_ahead(pool, source, m):
    bitmap_maps.look_ahead_to(pool.blocks, source, m)


@kernel
def give_all(pool, source, m, loaded):
    note(pool, bitmap_maps.give_all(pool.blocks, source, m))


@kernel
def withhold(pool, source, m):
    pass


@kernel
def space(pool, txg_map):
    return bitmap_maps.space(pool.blocks, txg_map)


@kernel
def put(pool, txg_map, start, end):
    return bitmap_maps.put(pool.blocks, txg_map, start, end)


@kernel
def unput(pool, txg_map, start, end):
    return bitmap_maps.unput(pool.blocks, txg_map, start, end)


@kernel
def move(pool, source, target):
    bitmap_maps.move(pool.blocks, source, target)


@kernel
def append(pool, m, allocs):
    n_bytes = bitmap_maps.space(pool.blocks, allocs)
    pool.log.n_records[m] += bitmap_maps.append(pool.blocks, m, allocs, pool.vdevs.ashift[pool.vdev[m]])
    return n_bytes


@kernel
def append_frees(pool, m, frees, freed):
    n_bytes = bitmap_maps.space(pool.blocks, frees)
    pool.log.n_records[m] += bitmap_maps.n_records(pool.blocks, m, frees, pool.vdevs.ashift[pool.vdev[m]])
    bitmap_maps.move(pool.blocks, frees, freed)
    return n_bytes


@kernel
def start_over(pool, m, allocs, frees, freed, defers, later):
    sources = (freed, defers[0], defers[1], later[0], later[1])
    bitmap_maps.move(pool.blocks, frees, freed)
    bitmap_maps.rewrite(pool.blocks, m, allocs, sources, pool.vdevs.ashift[pool.vdev[m]])
    pool.log.n_records[m] = 0
