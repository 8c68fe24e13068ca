"""What is free of a pool that a scenario says is filled: made as described, for the allocator to find its way in.

    pool_fill.of_pool(machine.pool, build, seed)       None where `fill` is 0
    pool_fill.note(machine.pool, build)                what was made of it, in a sentence

Every metaslab has the fill and the fragmentation of the pool. The free segments of one are drawn by
`study.pools.described_space`, and what lies between them is claimed. A large pool has more segments than the model holds.
Then only some metaslabs are made, those that the allocator prefers, and the others are taken as full. Further copies of a
block go an eighth of a vdev further on, so that there as many are made. If one of each place is too much, metaslabs are made
smaller (as `study.pools.forecast` does). The metaslab that is set aside for log blocks is none of them.
"""
from typing import NamedTuple

import numpy as np

from model.events.streams import stream
from model.filesystems.zfs.placement import log_bytes, usable_bytes
from model.zfs.ageing.described import claim, count_bytes
from model.zfs.eras import Era
from model.zfs.metaslab.metaslab_group import weigh_all
from model.zfs.metaslab.new_pool import SMALLEST_SHIFT, metaslab_shift, new_pool, vdev_asize
from model.zfs.metaslab.state import Metaslabs, TopVdev
from model.zfs.vdev import raid
from study.machines.storage import Devices, Pool
from study.pools import described_space
from study.pools.zdb import Slab

MAX_SEGMENTS = 2**19            # that are made: 50 MB of the allocator's maps
DISTANCE_SHIFT, PLACES = 3, 3   # of copies: model.zfs.metaslab.metaslab_class, rule 4
SPARE_SEGMENTS = 2**21          # of what groups allocate and free
SPARE_LOG_BLOCKS = 2**14


class Made(NamedTuple):
    """What is made of each vdev."""
    slab: Slab                  # a metaslab; all are alike
    n_metaslabs: int            # of a vdev
    numbers: list[int]          # of those that are made
    smaller_by: int             # times, than metaslabs are


def made(pool: Pool, build: Era) -> Made:
    """Which metaslabs of each data vdev. UserError for a fragmentation that such a fill cannot have."""
    data, vdev = pool.data, _vdev(pool.data)
    asize, set_aside = vdev_asize(vdev, data.device_bytes), _set_aside(data, build)
    size, max_segments = 1 << metaslab_shift(asize), MAX_SEGMENTS // data.n_vdevs
    of_rule = size
    while True:
        slab = described_space.alike(pool.fill, pool.fragmentation or 0, size, size, 1 << data.ashift)[0]
        n, of_each = asize // size, described_space.n_segments(slab, 0)
        apart = -(-n >> DISTANCE_SHIFT) or 1
        in_a_row = min(apart, max(1, max_segments // PLACES // of_each))
        numbers = [m for m in range(min(n, PLACES * apart)) if m % apart < in_a_row and m * size >= set_aside]
        if max_segments // of_each >= n:
            numbers = [m for m in range(n) if m * size >= set_aside]
        if len(numbers) * of_each <= max_segments or size >> SMALLEST_SHIFT < 2:
            return Made(slab, n, numbers, of_rule // size)
        size //= 2


def _vdev(data: Devices) -> raid.VdevParams:
    return raid.vdev_params("single" if data.layout == "stripe" else data.layout, data.group, data.ashift)


def _set_aside(data: Devices, build: Era) -> int:
    """B at the front of each vdev that hold log blocks and nothing else."""
    return log_bytes(usable_bytes(_vdev(data), data.device_bytes)) * build.zil.own_metaslab


def of_pool(pool: Pool | None, build: Era, seed: int) -> Metaslabs | None:
    """The data vdevs of the pool, for a run to change; None for those that are as good as empty."""
    if pool is None or not pool.fill:
        return None
    slab, n, numbers, _ = made(pool, build)
    size, data = slab.size_bytes, pool.data
    n_segments = data.n_vdevs * len(numbers) * described_space.n_segments(slab, 0)
    space = new_pool([TopVdev(vdev=_vdev(data), disk_bytes=data.device_bytes)] * data.n_vdevs, build.metaslab,
                     metaslab_bytes=size, max_segments=3 * n_segments + SPARE_SEGMENTS,
                     log_blocks=n_segments // 64 + 2 * n * data.n_vdevs + SPARE_LOG_BLOCKS)
    allocated = {vdev * n + m: m * size + _between(free_of(slab, seed, vdev, m), size)
                 for vdev in range(data.n_vdevs) for m in numbers}
    used = np.full(len(space.weight), size)
    used[list(allocated)] = [int((ends - starts).sum()) for starts, ends in (rows.T for rows in allocated.values())]
    count_bytes(space, used)
    for number, rows in allocated.items():
        claim(space, number, rows)
    weigh_all(space)
    return space


def free_of(slab: Slab, seed: int, vdev: int, metaslab: int) -> np.ndarray:
    """Starts and ends of the free segments of a metaslab, in B from its start."""
    return described_space.segments(slab, 0, stream(seed, f"free space {vdev} {metaslab}"))


def _between(free: np.ndarray, size: int) -> np.ndarray:
    """Starts and ends of what lies between free segments."""
    bounds = np.concatenate([[0], free.ravel(), [size]]).reshape(-1, 2)
    return bounds[bounds[:, 0] < bounds[:, 1]]


def note(name: str, pool: Pool, build: Era) -> str:
    """One or two sentences, for the pool of that name."""
    _, n, numbers, smaller_by = made(pool, build)
    note = (f"{name}: free space is made anew at random, with fill = {pool.fill:g} and fragmentation = "
            f"{pool.fragmentation:g}, in {len(numbers)} of the {n} metaslabs of each vdev")
    note += ", which the allocator prefers; the others are taken as full" if len(numbers) < n else ""
    return note + (f". Metaslabs are {smaller_by} times smaller than ZFS makes them" if smaller_by > 1 else "")
