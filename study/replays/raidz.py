"""What the real RAID-Z code makes of a block against the model: how much it takes, and which disks do what.

`raidz_asize.csv` has sizes (`vdev_raidz_asize`), `raidz_ios_<build>.parquet` the I/Os of children in order of issue
(`vdev_raidz_io_start`); `data/traces/raidz/README.md`.
"""
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from model.devices.sectors import SECTOR_BYTES
from model.zfs.eras import era as era_of
from model.zfs.vdev import child_columns as piece
from model.zfs.vdev.raid import VdevParams, asize, max_ios, read_ios, vdev_params, write_ios
from study.errors import UserError
from study.replays.trace_file import (
    LARGEST,
    Comparison,
    Difference,
    build_in,
    check_bounds,
    integers,
    read_columns,
    read_table,
    stem_of,
)

SIZE_COLUMNS = ("kind", "width", "parity", "ashift", "psize", "asize")
IO_COLUMNS = ("parity", "width", "ashift", "off512", "size512", "write", "i", "child", "coff512", "csize512", "optional")
BLOCK_COLUMNS = IO_COLUMNS[:6]
DECIDED = {"child": piece.CHILD, "coff512": piece.OFFSET, "csize512": piece.BYTES, "optional": piece.IS_PADDING}
UNITS = {"coff512": SECTOR_BYTES, "csize512": SECTOR_BYTES}  # of the model's numbers in those of the file
LARGEST_BLOCK = 2**24  # B
NOTHING = -1  # in place of an I/O


def _vdev(path: Path, row: int, kind: str, width: int, ashift: int) -> VdevParams:
    try:
        return vdev_params(kind, width, ashift)
    except ValueError as error:
        raise UserError(f"{path}: in row {row} {error}") from error


# ---- sizes ----


def compare_sizes(path: Path | str) -> Comparison:
    """Every size in the table at `path` against the model's."""
    path = Path(path)
    table = read_table(path, SIZE_COLUMNS, "a size is compared by")
    columns = {name: integers(path, table, name) for name in SIZE_COLUMNS[1:]}
    check_bounds(path, columns, (("psize", 1, LARGEST_BLOCK, True),))
    vdevs = [_vdev(path, row, str(kind).strip(), *where) for row, (kind, *where) in enumerate(
        zip(table["kind"], columns["width"].tolist(), columns["ashift"].tolist(), strict=True))]
    _check_parity(path, columns["parity"], np.array([vdev.n_parity for vdev in vdevs]))
    asize(VdevParams(), SECTOR_BYTES)  # compiles
    start = time.process_time()
    sizes = np.array([asize(vdev, psize) for vdev, psize in zip(vdevs, columns["psize"].tolist(), strict=True)])
    seconds = time.process_time() - start
    rows = np.flatnonzero(sizes != columns["asize"])
    first = Difference(int(rows[0]), "asize", int(columns["asize"][rows[0]]), int(sizes[rows[0]])) if len(rows) else None
    return Comparison(path=path, decisions="sizes of blocks on vdevs", rows=len(sizes), differences=len(rows), first=first,
                      seconds=seconds, columns=("asize",))


def _check_parity(path: Path, parity: np.ndarray, of_kind: np.ndarray) -> None:
    rows = np.flatnonzero(parity != of_kind)
    if len(rows):
        row = rows[0]
        raise UserError(f"{path}: row {row} has parity {parity[row]}, but a vdev of its kind has {of_kind[row]}; mend the "
                        "row")


# ---- I/Os of children ----


def _blocks(path: Path, columns: dict[str, np.ndarray]) -> np.ndarray:
    """The rows in which the I/Os of a block begin. Raises UserError if those of one are not together."""
    starts = np.flatnonzero(columns["i"] == 0)
    expected = np.arange(len(columns["i"]))
    expected -= starts[np.maximum(np.searchsorted(starts, expected, "right") - 1, 0)] if len(starts) else 0
    bad = columns["i"] != expected
    for name in BLOCK_COLUMNS:
        bad |= (expected > 0) & (columns[name] != np.roll(columns[name], 1))
    rows = np.flatnonzero(bad)
    if len(rows):
        raise UserError(f"{path}: row {rows[0]} is I/O {columns['i'][rows[0]]} of a block, but should be "
                        f"{expected[rows[0]]} of the block of the row before. Keep the rows of a block together")
    return starts


def _ios_of(vdev: VdevParams, padding: int, offset: int, psize: int, is_write: bool) -> np.ndarray:
    ios = np.zeros((max_ios(vdev), piece.N_COLUMNS), np.int64)
    n = write_ios(vdev, offset, psize, padding, ios) if is_write else read_ios(vdev, offset, psize, ios)
    return ios[:n]


def _replayed(path: Path, columns: dict[str, np.ndarray], starts: np.ndarray, padding: int) -> tuple[np.ndarray, np.ndarray]:
    """(the model's I/Os in the rows of the file, NOTHING where it has none; of each row, how many its block has)."""
    ios = np.full((len(columns["i"]), piece.N_COLUMNS), NOTHING, np.int64)
    counts = np.zeros(len(ios), np.int64)
    ends = np.append(starts[1:], len(ios))
    blocks = zip(*(columns[name][starts].tolist() for name in BLOCK_COLUMNS), strict=True)
    for start, end, block in zip(starts.tolist(), ends.tolist(), blocks, strict=True):
        parity, width, ashift, offset, size, is_write = block
        vdev = _vdev(path, start, f"raidz{parity}", width, ashift)
        made = _ios_of(vdev, padding, offset * SECTOR_BYTES, size * SECTOR_BYTES, bool(is_write))
        counts[start:end] = len(made)
        ios[start:start + min(len(made), end - start)] = made[:end - start]
    return ios, counts


def compare_ios(path: Path | str, era: str | None = None) -> Comparison:
    """Every I/O of a child in the table at `path` against the model's; by the name of the file, unless an era is given."""
    path = Path(path)
    name = era or build_in(stem_of(path).rpartition("_")[2])
    if name is None:
        raise UserError(f"{path} does not end with a known build, whose rules are to be used; name it raidz_ios_141.parquet "
                        "or the like")
    columns = read_columns(path, IO_COLUMNS, "I/Os of children are compared by")
    check_bounds(path, columns, (("parity", 1, 3, True), ("off512", 0, LARGEST // SECTOR_BYTES, True),
                                 ("size512", 1, LARGEST_BLOCK // SECTOR_BYTES, True), ("write", 0, 1, True)))
    starts, padding = _blocks(path, columns), era_of(name).raidz.padding
    for is_write in (True, False):  # compiles
        _ios_of(vdev_params("raidz1", 3), padding, 0, SECTOR_BYTES, is_write)
    start = time.process_time()
    ios, counts = _replayed(path, columns, starts, padding)
    seconds = time.process_time() - start
    replayed = {name: ios[:, column] // UNITS.get(name, 1) for name, column in DECIDED.items()}
    lasts = np.append(starts[1:], len(counts)) - 1
    too_many = np.zeros(len(counts), bool)
    too_many[lasts] = columns["i"][lasts] + 1 < counts[lasts]  # the model goes on where the file ends
    rows = np.flatnonzero(np.logical_or.reduce([replayed[name] != columns[name] for name in DECIDED]) | too_many)
    return Comparison(path=path, decisions=f"{len(starts)} blocks on RAID-Z, rules of {name}", rows=len(counts),
                      differences=len(rows), first=_first(columns, replayed, counts, rows), seconds=seconds,
                      columns=("i", *DECIDED))


def _first(columns: dict[str, np.ndarray], replayed: dict[str, np.ndarray], counts: np.ndarray, rows: np.ndarray
           ) -> Difference | None:
    if not len(rows):
        return None
    row = int(rows[0])
    name = next((name for name in DECIDED if replayed[name][row] != columns[name][row]), None)
    if name is None:
        return Difference(row, "i", int(columns["i"][row]), int(counts[row]) - 1)
    return Difference(row, name, int(columns[name][row]), int(replayed[name][row]))


def sizes_of(path: Path) -> Iterator[Comparison]:
    """The comparison of all sizes in a recording: one."""
    yield compare_sizes(path)


def ios_of(path: Path) -> Iterator[Comparison]:
    """The comparison of all I/Os in a recording: one."""
    yield compare_ios(path)
