"""What becomes of small writes in a user's own pool: its free space is made again as described, and the allocator is run
in it.

    forecast.of_slabs(zdb.read(path), record_bytes=8192)                  from what zdb prints
    forecast.of_slabs(described_space.alike(0.8, 40, …), record_bytes=8192)    from a fill and a fragmentation

Each top-level vdev is taken by itself. Its metaslabs have the free space that they had when zdb was run, at places made up
to the description. Transaction groups of records are allocated in them under the rules of an era, and nothing is freed
meanwhile. So this is what the next writes meet, not what the pool will be like in a month. Blocks per I/O are counted as if
a group waited for its disk as a whole: an upper bound. A vdev is taken as a disk or a mirror of disks: zdb does not say
which are RAID-Z, and parity is left out. Where no segment is long enough for a record, ZFS cuts it up (gang blocks,
`model.zfs.metaslab.gang`), and so does this.

`zdb -m` has no histogram, and tells nothing of how free space is cut up. There are two forecasts then: of holes of one
record each, and of one hole in each metaslab. What is true lies between them.
"""
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from model.events.streams import stream
from model.structures.sentinels import NOWHERE
from model.zfs.ageing.described import claim, count_bytes, n_units, n_units_of_pieces, new_pieces, write_in_pieces
from model.zfs.eras import era
from model.zfs.metaslab.metaslab_group import weigh_all
from model.zfs.metaslab.new_pool import SMALLEST_SHIFT, new_pool
from model.zfs.metaslab.replay import ALLOCATE, END_OF_TXG, Rows, decided_for, run
from model.zfs.metaslab.state import Metaslabs, TopVdev
from model.zfs.space.status import OK
from study.errors import UserError
from study.pools import described_space
from study.pools.zdb import Slab

ERAS = ("b103", "b117", "b141_df", "b141")      # first fit; dynamic fit at 30 %, at 4 %; new dynamic fit
N_TXGS, TXG_RECORDS = 8, 1024       # written; less where that would be more than
FIRST_GROUP = 1         # number of the first transaction group that is written
MAX_SHARE = 0.25                    # of what is free
FEW, MORE = 3, 4        # metaslabs to be made at first; times as many if those do not do
MAX_SEGMENTS = 2**24    # that are made: 1.5 GB; if there were more, metaslabs are made smaller
MAX_UNKNOWN = 2**20     # where nothing is known of them, all are alike
RECORDS, WHOLE = "of one record", "one in each metaslab"
SPARE_SEGMENTS, SPARE_LOG_BLOCKS = 2**17, 2**10


class Forecast(NamedTuple):
    """Of one vdev and era."""
    vdev: int
    era: str
    blocks_per_io: float
    single: float           # share of the I/Os with one block, or one piece of a gang
    n_metaslabs: int        # that the writes went to
    gangs: float = 0.0      # share of the blocks for which no segment was long enough
    holes: str = ""         # what was assumed of free space of which nothing is known; "" if all was described


def of_slabs(slabs: list[Slab], record_bytes: int, eras: Iterable[str] = ERAS, seed: int = 1) -> list[Forecast]:
    """A forecast for each era and vdev that takes all data."""
    if record_bytes % 512 or not 512 <= record_bytes <= 2**17:
        raise UserError(f"the record is {record_bytes} bytes, but it must be a multiple of 512 up to 131072; choose one")
    of_data = [slab for slab in slabs if not slab.purpose]
    vdevs = {vdev: [slab for slab in of_data if slab.vdev == vdev] for vdev in sorted({slab.vdev for slab in of_data})}
    return [_of_vdev(vdev, metaslabs, record_bytes, name, seed, hole_bytes)._replace(holes=holes)
            for vdev, metaslabs in vdevs.items() for name in eras for holes, hole_bytes in _holes(metaslabs, record_bytes)]


def _holes(slabs: list[Slab], record_bytes: int) -> list[tuple[str, int]]:
    """What free space may be like of which nothing is known: name, and B of a hole."""
    if not any(map(described_space.unknown, slabs)):
        return [("", record_bytes)]
    return [(RECORDS, record_bytes), (WHOLE, slabs[0].size_bytes)]


def _of_vdev(vdev: int, slabs: list[Slab], record_bytes: int, name: str, seed: int, hole_bytes: int) -> Forecast:
    """As few metaslabs are made as the writes need."""
    n, order = FEW, _by_weight(slabs, name)
    while True:
        slabs, order = _manageable(slabs, order, name, n, hole_bytes)
        pool, made = _pool(slabs, hole_bytes, name, seed, order[:n])
        offsets = _write(pool, n_records(slabs, record_bytes, vdev), record_bytes)
        if offsets is None and len(made) == len(slabs):
            pool, _ = _pool(slabs, hole_bytes, name, seed, order[:n])
            return _of_gangs(pool, vdev, name, n_records(slabs, record_bytes, vdev), record_bytes, slabs[0].size_bytes)
        if offsets is not None and set((offsets.ravel() // slabs[0].size_bytes).tolist()) <= made:
            return _counted(vdev, name, offsets, record_bytes, slabs[0].size_bytes)
        n *= MORE


def _manageable(slabs: list[Slab], order: list[int], name: str, n: int, hole_bytes: int) -> tuple[list[Slab], list[int]]:
    """The metaslabs, or smaller ones, so that the `n` that weigh most have no more free segments than the model holds; and
    their order by weight."""
    while True:
        first = [slabs[m] for m in order[:n]]
        n_segments = sum(described_space.n_segments(slab, hole_bytes) for slab in first)
        max_segments = MAX_UNKNOWN if all(map(described_space.unknown, first)) else MAX_SEGMENTS
        if n_segments <= max_segments or slabs[0].size_bytes >> SMALLEST_SHIFT < 2:
            return slabs, order
        slabs = [described_space.smaller(slab, 2) for slab in slabs]
        order = _by_weight(slabs, name)


def _pool(slabs: list[Slab], hole_bytes: int, name: str, seed: int, first: list[int]) -> tuple[Metaslabs, set[int]]:
    """A pool of one vdev, and which of its metaslabs have been made: those that weigh most."""
    size = slabs[0].size_bytes
    made = {m: _allocated(slabs[m], m * size, hole_bytes, stream(seed, f"metaslab {m}")) for m in first}
    n_segments = sum(map(len, made.values()))
    pool = new_pool([TopVdev(asize=size * len(slabs))], era(name).metaslab, metaslab_bytes=size,
                    max_segments=2 * n_segments + SPARE_SEGMENTS,
                    log_blocks=n_segments // 256 + 2 * len(slabs) + SPARE_LOG_BLOCKS)
    used = _used_bytes(slabs)
    for m, segments in made.items():
        used[m] = _bytes(segments) if slabs[m].is_used else used[m]
    count_bytes(pool, used)
    for m, segments in made.items():
        claim(pool, m, segments)
    weigh_all(pool)
    return pool, set(made)


def _by_weight(slabs: list[Slab], name: str) -> list[int]:
    size = slabs[0].size_bytes
    vdevs = [TopVdev(asize=size * len(slabs))]
    pool = new_pool(vdevs, era(name).metaslab, metaslab_bytes=size, max_segments=1, log_blocks=1)
    count_bytes(pool, _used_bytes(slabs))
    return pool.order.tolist()


def _used_bytes(slabs: list[Slab]) -> np.ndarray:
    """What is allocated in each metaslab, as it was described; -1 where nothing was ever written."""
    return np.array([max(0, slab.size_bytes - slab.free_bytes) if slab.is_used else -1 for slab in slabs], np.int64)


def _allocated(slab: Slab, start: int, hole_bytes: int, rng: np.random.Generator) -> np.ndarray:
    """What lies between the free segments, at offsets in the vdev."""
    free = described_space.segments(slab, hole_bytes, rng)
    bounds = np.concatenate([[0], free.ravel(), [slab.size_bytes]]).reshape(-1, 2)
    return start + bounds[bounds[:, 0] < bounds[:, 1]]


def _bytes(segments: np.ndarray) -> int:
    return int((segments[:, 1] - segments[:, 0]).sum())


def n_records(slabs: list[Slab], record_bytes: int, vdev: int) -> int:
    """Records of each group."""
    free = sum(slab.free_bytes for slab in slabs)
    n = min(TXG_RECORDS, int(MAX_SHARE * free) // record_bytes // N_TXGS)
    if n < 1:
        raise UserError(f"vdev {vdev} has {free} bytes free, too little to write records of {record_bytes} bytes to; take "
                        "smaller ones")
    return n


def _write(pool: Metaslabs, n: int, record_bytes: int) -> np.ndarray | None:
    """Where the `n` records of each group went, (group, record); None if they found no room."""
    op = np.tile(np.append(np.full(n, ALLOCATE), END_OF_TXG), N_TXGS)
    is_one = (op == ALLOCATE).astype(np.int64)
    txgs = np.repeat(np.arange(FIRST_GROUP, FIRST_GROUP + N_TXGS), n + 1)
    rows = Rows(op=op, n_bytes=record_bytes * is_one, which=txgs * (1 - is_one), n_copies=is_one,
                first_txg=np.array([FIRST_GROUP]))
    decided = decided_for(rows, pool)
    has_room = run(pool, rows, decided) == OK and (decided.offset != NOWHERE).all()
    return decided.offset.reshape(N_TXGS, n) if has_room else None


def _of_gangs(pool: Metaslabs, vdev: int, name: str, n: int, record_bytes: int, metaslab_bytes: int) -> Forecast:
    """The forecast where some of the `n` records of each group have to be gangs."""
    pieces = new_pieces(N_TXGS * n, record_bytes)
    if write_in_pieces(pool, pieces, FIRST_GROUP, N_TXGS, n, record_bytes) != OK:
        raise UserError(f"vdev {vdev} has no room for records of {record_bytes} bytes, not even in pieces; "
                        "take smaller ones")
    n_pieces, n_written = int(pieces.n[0]), N_TXGS * n
    group, offset, n_bytes = (column[:n_pieces] for column in pieces[:3])
    units, alone = np.sum([n_units_of_pieces(offset[group == txg], n_bytes[group == txg], _max_bytes(name))
                           for txg in range(N_TXGS)], axis=0)
    return Forecast(vdev=vdev, era=name, blocks_per_io=n_written / units, single=alone / units,
                    n_metaslabs=len(np.unique(offset // metaslab_bytes)), gangs=pieces.n_gangs[0] / n_written)


def _max_bytes(name: str) -> int:
    """Of a write to a disk."""
    return era(name).queue.aggregation_bytes


def _counted(vdev: int, name: str, offsets: np.ndarray, record_bytes: int, metaslab_bytes: int) -> Forecast:
    at_once = [np.sort(group) for group in offsets]
    units = sum(n_units(np.zeros(len(group), np.int64), group, record_bytes, _max_bytes(name)) for group in at_once)
    alone = sum(_n_alone(group, record_bytes) for group in at_once)
    return Forecast(vdev=vdev, era=name, blocks_per_io=offsets.size / units, single=alone / units,
                    n_metaslabs=len(np.unique(offsets // metaslab_bytes)))


def _n_alone(offsets: np.ndarray, record_bytes: int) -> int:
    """Of sorted offsets those without a neighbour on either side."""
    touches = np.diff(offsets) == record_bytes
    return int((~np.append(False, touches) & ~np.append(touches, False)).sum())
