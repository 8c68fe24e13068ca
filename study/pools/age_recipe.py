"""An aged pool as it is asked for in words of a user, and what its writes were like: `study age`."""
from collections.abc import Iterator

from model.zfs.eras import ERAS
from model.zfs.metaslab.new_pool import disk_asize, metaslab_shift
from model.zfs.metaslab.state import TopVdev
from study.errors import UserError
from study.pools.aged_pools import SEGMENTS, Aged, Recipe

MAX_TURNOVERS = 10_000
UNIT_SHIFT, MAX_UNITS = 12, 2**32 - 2  # see model.zfs.ageing.aged_pool
PARTS = 10  # of the rewriting, that are shown
MAX_WRITES_PER_TXG = SEGMENTS // 8  # what a group allocates and frees, and what is withheld of two more, has room then
MAX_DISK_GB = 13_000  # metaslabs of 64 GiB, of 2^24 blocks of 4 KiB


def recipe_of(era: str, n_vdevs: int, disk_gb: float, n_records: int, used_pct: float, turnovers: float,
              writes_per_txg: int) -> Recipe:
    """Raises UserError."""
    if era not in ERAS:
        raise UserError(f"era is {era!r}, but there are {', '.join(ERAS)}; choose one of these")
    if not turnovers <= MAX_TURNOVERS:
        raise UserError(f"every record is rewritten {turnovers:g} times, more than {MAX_TURNOVERS}; choose fewer")
    if not disk_gb <= MAX_DISK_GB:
        raise UserError(f"a disk has {disk_gb:g} GB, but a map of its metaslabs holds no more than those of "
                        f"{MAX_DISK_GB} GB; take smaller disks")
    if not writes_per_txg <= MAX_WRITES_PER_TXG:
        raise UserError(f"a transaction group writes {writes_per_txg} records, but what it frees has room for "
                        f"{MAX_WRITES_PER_TXG}; choose at most so many")
    vdev = TopVdev(asize=disk_asize(int(disk_gb * 1e9)))
    _refuse_what_has_no_room(n_vdevs * n_units(vdev), n_records, used_pct, writes_per_txg)
    return Recipe(
        rules=ERAS[era].metaslab, vdevs=(vdev,) * n_vdevs, n_records=n_records, used_pct=used_pct,
        turnovers=turnovers, writes_per_txg=writes_per_txg)


def n_units(vdev: TopVdev) -> int:
    """Blocks of 4 KiB in the metaslabs of a vdev: a rest that makes no metaslab is not used."""
    shift = metaslab_shift(vdev.asize)
    return vdev.asize >> shift << shift >> UNIT_SHIFT


def _refuse_what_has_no_room(units: int, n_records: int, used_pct: float, writes_per_txg: int) -> None:
    """Before anything is compiled. What fills up only as it ages is said then."""
    if units > MAX_UNITS:
        raise UserError(f"the pool has {units} blocks of 4 KiB, but at most {MAX_UNITS} (17.5 TB) can be numbered; take "
                        "fewer or smaller disks")
    if used_pct > 0 and int(units * used_pct / 100) < n_records:
        raise UserError(f"{used_pct:g} % of the pool are to be used, but the records alone take "
                        f"{100 * n_records / units:.1f} %; choose that at least, or 0")
    used = max(n_records, int(units * used_pct / 100))
    if used + min(n_records, writes_per_txg) > units:
        raise UserError(f"of {units} blocks of 4 KiB {used} are used, but a group writes anew before it frees; take fewer "
                        "records or larger disks")


def rows(result: Aged, turnovers: float) -> Iterator[tuple[str, float]]:
    """(when, mean contiguity) while the records were written, and by parts of their rewriting."""
    yield "written in order", float(result.fill_contiguity.mean())
    n = min(PARTS, len(result.contiguity))
    for i in range(n):
        part = result.contiguity[len(result.contiguity) * i // n:len(result.contiguity) * (i + 1) // n]
        yield f"rewritten {turnovers * i / n:.1f} to {turnovers * (i + 1) / n:.1f} times", float(part.mean())
