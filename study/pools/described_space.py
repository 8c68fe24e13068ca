"""Free space made to a description: where the free segments of a metaslab may lie.

A description says how many bytes are free, and at best a histogram of the segments' lengths. Segments are drawn to it, and
put in random order with allocated space between them, cut at random:

    a histogram         in each of its powers of two as many as it says, at random lengths, so that they are as many bytes
    number and longest  lengths as of random cuts (exponential), one of them the longest
    a fragmentation     whole sectors as of coin tosses (geometric), the mean such that they have this fragmentation
    neither             nothing is known: holes of one size, which is said. `unknown` tells such a metaslab

`smaller` makes one too large to be made a fraction of itself.

*Fragmentation*, 0 to 100 %, is that of OpenZFS. Each free byte counts by the power of two of its segment (metaslab.c,
zfs_frag_table). It counts in full below 2 KiB, half at 128 KiB, not at all from 16 MiB on.
"""
from collections.abc import Sequence

import numpy as np

from model.devices.sectors import SECTOR_BYTES
from study.errors import UserError
from study.pools.zdb import Slab

WEIGHTS = (100, 100, 98, 95, 90, 80, 70, 60, 50, 40, 30, 20, 15, 10, 5, 0)      # %, from 2^9 bytes on
FIRST_POWER = 9
CLOSEST = 1e-4          # a mean is sought until it is known this well
ROUNDING = 0.5          # `zpool list` prints whole %
MIB = 2**20


def segments(slab: Slab, hole_bytes: int, rng: np.random.Generator) -> np.ndarray:
    """(n, 2) starts and ends of free segments in the metaslab, in bytes from its start, in order. `hole_bytes`: of each,
    where nothing is known of them."""
    if _is_whole(slab):
        return np.array([[0, slab.size_bytes]], np.int64)
    unit = _unit(slab)
    if slab.free_bytes < unit:
        return np.empty((0, 2), np.int64)
    lengths = np.maximum(1, np.rint(_lengths(slab, hole_bytes, unit, rng) / unit)).astype(np.int64)
    return unit * _spread(rng.permutation(lengths), slab.size_bytes // unit, rng)


def _is_whole(slab: Slab) -> bool:
    return not slab.is_used or slab.free_bytes >= slab.size_bytes


def unknown(slab: Slab) -> bool:
    """Whether nothing was printed of how its free space is cut up."""
    return described_by(slab) == "nothing"


def described_by(slab: Slab) -> str:
    """What its free segments are made from: "histogram", "segments" (their number), "fragmentation" or "nothing"; "" of a
    metaslab that is free as a whole."""
    return ("" if _is_whole(slab) else "histogram" if any((slab.histogram or {}).values()) else
            "segments" if slab.n_segments else "fragmentation" if slab.fragmentation is not None else "nothing")


def _unit(slab: Slab) -> int:
    """What lengths are multiples of."""
    if slab.histogram:
        return max(SECTOR_BYTES, 2 ** min((power for power, count in slab.histogram.items() if count), default=FIRST_POWER))
    return slab.sector_bytes


def n_segments(slab: Slab, hole_bytes: int) -> int:
    """How many free segments it is given, before those are left out that find no room."""
    if _is_whole(slab):
        return 1
    if slab.histogram and any(slab.histogram.values()):
        return sum(slab.histogram.values())
    if slab.n_segments:
        return slab.n_segments
    if slab.fragmentation is not None:
        return max(1, round(slab.free_bytes / _mean(slab)))
    return slab.free_bytes // _hole(slab, hole_bytes)


def _hole(slab: Slab, hole_bytes: int) -> int:
    """B of each hole: so much, or more where too little is allocated to keep so many apart."""
    return max(1, min(slab.free_bytes, max(hole_bytes, -(-int(min_mean(slab)) // hole_bytes) * hole_bytes)))


def smaller(slab: Slab, k: int) -> Slab:
    """A k-th of the metaslab, with a k-th of its free segments, of each length as many in a hundred."""
    counts = slab.histogram
    if counts is not None:
        ordered = sorted(counts, reverse=True)
        sums = (np.cumsum([0, *(counts[power] for power in ordered)]) + k // 2) // k
        counts = dict(zip(ordered, np.diff(sums).tolist(), strict=True))
    min_free = sum(count << power for power, count in (counts or {}).items())
    free = max(slab.free_bytes // k, min_free)
    return slab._replace(
        size_bytes=slab.size_bytes // k, offset=slab.offset // k, free_bytes=free, histogram=counts,
        n_segments=slab.n_segments and max(1, slab.n_segments // k),
        largest_bytes=slab.largest_bytes and min(slab.largest_bytes, free))


def _mean(slab: Slab) -> float:
    """B of a segment, by how fragmented the free space is."""
    assert slab.fragmentation is not None
    return max(mean_length(slab.fragmentation, slab.sector_bytes), min_mean(slab))


def _lengths(slab: Slab, hole_bytes: int, unit: int, rng: np.random.Generator) -> np.ndarray:
    """Bytes of each segment, about as many as are free."""
    if slab.histogram and any(slab.histogram.values()):
        return _of_histogram(slab.histogram, slab.free_bytes, unit, rng)
    n = n_segments(slab, hole_bytes)
    if slab.n_segments:
        return _of_random_cuts(slab.free_bytes, n, slab.largest_bytes, rng)
    if slab.fragmentation is not None:
        return _of_coin_tosses(slab, n, _mean(slab), rng)
    return np.full(n, float(_hole(slab, hole_bytes)))


def _of_histogram(histogram: dict[int, int], free_bytes: int, unit: int, rng: np.random.Generator) -> np.ndarray:
    """2^power (1 + u^g) in whole units, u at random; the larger g is, the less they are in all."""
    powers = np.repeat([*histogram], [*histogram.values()])
    min_bytes, shares = 2.0**powers, rng.random(len(powers))

    def drawn(g: float) -> np.ndarray:
        return unit * np.floor(min_bytes * (1 + shares**g) / unit)
    low, high = 1e-3, 1e3
    while high / low > 1 + CLOSEST:
        middle = (low * high) ** 0.5
        low, high = (middle, high) if drawn(middle).sum() > free_bytes else (low, middle)
    return drawn(high)


def _of_coin_tosses(slab: Slab, n: int, mean: float, rng: np.random.Generator) -> np.ndarray:
    lengths = rng.geometric(slab.sector_bytes / mean, n)
    return lengths * (slab.free_bytes / lengths.sum())


def _of_random_cuts(free_bytes: int, n: int, longest: int | None, rng: np.random.Generator) -> np.ndarray:
    """`n` lengths as random cuts make them, none over `longest`, which is one of them."""
    lengths = rng.exponential(1.0, n)
    lengths *= free_bytes / lengths.sum()
    if longest:
        lengths = np.minimum(lengths, longest)
        lengths[np.argmax(lengths)] = longest
    return lengths


def _spread(lengths: np.ndarray, room: int, rng: np.random.Generator) -> np.ndarray:
    """Segments of these lengths in this order, with what is left of `room` between them: at least 1, cut at random."""
    used = int(lengths.sum())
    left = room - used - (len(lengths) - 1)
    if left < 0:
        lengths = lengths[:_how_many_fit(lengths, room)]
        left = max(0, room - int(lengths.sum()) - (len(lengths) - 1))
    cuts = np.sort(rng.integers(0, left + 1, len(lengths)))
    ends = np.cumsum(lengths) + cuts + np.arange(len(lengths))
    return np.stack([ends - lengths, ends], axis=1)


def _how_many_fit(lengths: np.ndarray, room: int) -> int:
    return max(1, int(np.searchsorted(np.cumsum(lengths + 1), room + 1, side="right")))


# --- fragmentation --------------------------------------------------------------------------------------------------------

def fragmentation(lengths: Sequence[int] | np.ndarray) -> float:
    """In %, of segments of these lengths."""
    lengths = np.asarray(lengths)
    powers = np.frexp(lengths.astype(float))[1] - 1
    weights = np.array(WEIGHTS)[np.clip(powers - FIRST_POWER, 0, len(WEIGHTS) - 1)]
    return float((weights * lengths).sum() / max(1, lengths.sum()))


def mean_length(percent: float, sector_bytes: int = SECTOR_BYTES) -> float:
    """Mean of geometric lengths with that fragmentation, in bytes."""
    low, high = float(sector_bytes), 1024.0 * MIB
    while high / low > 1 + CLOSEST:
        middle = (low * high) ** 0.5
        low, high = (middle, high) if of_geometric(middle, sector_bytes) > percent else (low, middle)
    return (low * high) ** 0.5


def of_geometric(mean: float, sector_bytes: int = SECTOR_BYTES) -> float:
    """Fragmentation of lengths that end with each sector with probability p. Of the bytes, (1 - p)^(k - 1) (1 + (k - 1) p)
    are in segments of k sectors or more."""
    weights = np.array(WEIGHTS[sector_bytes.bit_length() - 1 - FIRST_POWER:])
    p, k = sector_bytes / mean, 2.0 ** np.arange(1, len(weights))
    longer = np.concatenate([[1.0], (1 - p) ** (k - 1) * (1 + (k - 1) * p), [0.0]])
    return float((weights * -np.diff(longer)).sum())


def min_mean(slab: Slab) -> float:
    """Of the lengths of free segments, in bytes: they have a sector at least, and an allocated one between any two."""
    sector = slab.sector_bytes
    return max(sector, slab.free_bytes / max(1, (slab.size_bytes - slab.free_bytes) // sector))


def alike(fill: float, percent: float, disk_bytes: int, metaslab_bytes: int, sector_bytes: int = SECTOR_BYTES) -> list[Slab]:
    """Metaslabs of a disk that are all filled so far and fragmented so much."""
    if not 0 <= fill < 1:
        raise UserError(f"the fill is {fill:g}, but it must be from 0 to less than 1; give the allocated share of the pool")
    if not 0 <= percent <= 100:
        raise UserError(f"the fragmentation is {percent:g} %, but it must be from 0 to 100; give what `zpool list` prints")
    free = round((1 - fill) * metaslab_bytes)
    slab = Slab(vdev=0, offset=0, is_used=fill > 0, free_bytes=free, size_bytes=metaslab_bytes, fragmentation=percent,
                sector_bytes=sector_bytes)
    max_pct = of_geometric(min_mean(slab), sector_bytes)
    if percent > max_pct + ROUNDING:
        raise UserError(f"the fragmentation is {percent:g} %, but random free space with a fill of {fill:g} has "
                        f"{max_pct:.0f} at most; give less, or what `zdb -mm` prints")
    return [slab._replace(offset=i * metaslab_bytes) for i in range(disk_bytes // metaslab_bytes)]
