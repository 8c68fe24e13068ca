"""`study age`: an aged pool on the terminal, with progress."""
import resource
from collections.abc import Iterator

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from model.zfs.eras import ERAS
from model.zfs.metaslab.new_pool import disk_asize, metaslab_shift
from model.zfs.metaslab.state import TopVdev
from study import console
from study.commands.result import give
from study.errors import UserError
from study.pools.aged_pools import SEGMENTS, Aged, Recipe, aged, make

MAX_TURNOVERS = 10_000
UNIT_SHIFT, MAX_UNITS = 12, 2**32 - 2  # see model.zfs.ageing.aged_pool
PARTS = 10  # of the rewriting, that are shown
MAX_WRITES_PER_TXG = SEGMENTS // 8  # what a group allocates and frees, and what is withheld of two more, has room then
LARGEST_DISK_GB = 13_000  # metaslabs of 64 GiB: all blocks of 4 KiB that a map of the fast engine holds


def recipe_of(era: str, n_vdevs: int, disk_gb: float, n_records: int, used_pct: float, turnovers: float,
              writes_per_txg: int) -> Recipe:
    """Raises UserError."""
    if era not in ERAS:
        raise UserError(f"era is {era!r}, but there are {', '.join(ERAS)}; choose one of these")
    if not turnovers <= MAX_TURNOVERS:
        raise UserError(f"every record is rewritten {turnovers:g} times, more than {MAX_TURNOVERS}; choose fewer")
    if not disk_gb <= LARGEST_DISK_GB:
        raise UserError(f"a disk has {disk_gb:g} GB, but a map of its metaslabs holds no more than those of "
                        f"{LARGEST_DISK_GB} GB; take smaller disks")
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


def age_and_say(out: Console, era: str, n_vdevs: int, disk_gb: float, n_records: int, used_pct: float, turnovers: float,
                writes_per_txg: int, keep: bool, as_json: bool = False) -> None:
    recipe = recipe_of(era, n_vdevs, disk_gb, n_records, used_pct, turnovers, writes_per_txg)
    with Progress(TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:.0f} %"), TimeElapsedColumn(),
                  TimeRemainingColumn(), console=console.err) as progress:
        tasks = {}

        def tell(doing: str, share: float) -> None:
            if doing not in tasks:
                tasks[doing] = progress.add_task(doing, total=1.0)
            progress.update(tasks[doing], completed=share)
        try:
            result = (aged if keep else make)(recipe, tell)
        except ValueError as error:
            raise UserError(str(error)) from error
    parts = list(rows(result, turnovers))
    n = n_records * (1 + turnovers)
    used = int(result.pool.class_allocated[0]) / int(result.pool.class_space[0])
    summary = {"records": n_records, "metaslabs": len(result.pool.weight), "used": used, "writes": int(n),
                "seconds": result.seconds, "ns_a_write": result.seconds / n * 1e9,
                "maps_loaded": result.pool.counters.n_loads[0],
                "memory_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20}
    give({**summary, "records_per_row": [{"when": when, "records": contiguity} for when, contiguity in parts]}, as_json,
         lambda: _say(parts, summary, out))


def _say(parts: list[tuple[str, float]], summary: dict, out: Console) -> None:
    table = console.table("", "records per row of touching ones")
    for name, contiguity in parts:
        table.add_row(name, f"{contiguity:.1f}")
    out.print(table)
    out.print("{records} records in {metaslabs} metaslabs, {used:.1%} of the pool used. {writes} writes in {seconds:.0f} s "
              "of processor time ({ns_a_write:.0f} ns a write), {maps_loaded} maps loaded. {memory_gib:.2f} GiB of memory "
              "at most.".format(**summary), soft_wrap=True)
