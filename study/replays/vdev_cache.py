"""Recorded decisions of the real vdev cache against the model's, row by row.

A trace is a Parquet file (or a CSV) of operations in order of time, with what the ZFS code decided beside each (the format
is described in `data/traces/vdev_cache/README.md`). `replay_vdev_cache` feeds the operations to the kernels of
`model.zfs.vdev.cache`, the very ones that simulations call, and compares every decision.
"""
import json
import math
import re
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from model.structures.sentinels import NOWHERE
from model.zfs.vdev import cache_replay
from model.zfs.vdev.cache import FILL_ALL, OUTCOMES, VdevCacheParams
from model.zfs.vdev.cache_replay import COMPLETION, READ, RECORDED, Decisions, Operations
from study import tables as table_file
from study.errors import UserError

SECTOR = 512  # B; unit of the columns named *512
OPERATION_COLUMNS = ("tick", "op", "nocache", "size512", "off512")
DECISION_COLUMNS = ("res", "fill512", "evict512")
COLUMNS = OPERATION_COLUMNS + DECISION_COLUMNS
LARGEST = 2**53  # of ticks and sectors: keeps every sum and product within 64 bits
OWN_NAMES = {"cache_bytes": "size", "max_read_bytes": "max"}  # on the command line and in stats.jsonl
LARGEST_SIZE = 2**31  # sectors


class Difference(NamedTuple):
    """The first place where model and trace disagree."""

    row: int  # 0 is the first row of the file
    column: str
    recorded: int
    replayed: int


class Replay(NamedTuple):
    """A trace replayed."""

    path: Path
    completions: str  # "recorded", or "own" when the model decided when fills complete
    rows: int
    differences: int  # rows in which any decision differs
    first: Difference | None
    seconds: float  # in the model, once compiled
    outcomes: dict[str, int]  # reads by what became of them
    pairs: np.ndarray  # [recorded, replayed] -> reads, by outcome
    counters: dict[str, int]  # hits, misses, delegations as ZFS counts them, and lines resident at the end


# ---- reading ----


def integers(path: Path, table: pd.DataFrame, name: str) -> np.ndarray:
    """Column `name` as int64, or a UserError that names the first row without a whole number."""
    column = table[name]
    kind = column.dtype.kind
    values = (column if kind in "biuf" else pd.to_numeric(column.astype(str), errors="coerce")).to_numpy()
    whole = values == np.floor(values) if values.dtype.kind == "f" else True
    bad = np.flatnonzero(~(whole & (values >= -LARGEST) & (values <= LARGEST)))
    if len(bad):
        row, value = bad[0], column.iloc[bad[0]]
        if value is None or value != value:
            raise UserError(f"{path}: row {row} has no value in column {name}, but every row needs one; complete the trace")
        raise UserError(f"{path}: row {row} has {str(value)[:40]} in column {name}, but must hold a whole number of at most "
                        "2^53; mend the row")
    return values.astype(np.int64)


def _check(path: Path, columns: dict[str, np.ndarray]) -> None:
    """A UserError for the first row of each column that no trace can have."""
    transfers = columns["op"] != COMPLETION
    rules = (
        ("op", 0, 2, True),
        ("nocache", 0, 1, True),
        ("tick", 0, LARGEST, True),
        ("size512", 1, LARGEST_SIZE, transfers),
        ("off512", 0, LARGEST // SECTOR, True),
    )
    for name, low, high, where in rules:
        values = columns[name]
        bad = np.flatnonzero(((values < low) | (values > high)) & where)
        if len(bad):
            raise UserError(f"{path}: row {bad[0]} has {values[bad[0]]} in column {name}, but it must be from {low} to "
                            f"{high}; mend or remove the row")
    back = np.flatnonzero(np.diff(columns["tick"]) < 0) + 1
    if len(back):
        now, before = columns["tick"][back[0]], columns["tick"][back[0] - 1]
        raise UserError(f"{path}: row {back[0]} has tick {now} after tick {before}, but ticks never go back; "
                        "sort the trace by time")


def read_table(path: Path, needed: Sequence[str], why: str, optional: Sequence[str] = ()) -> pd.DataFrame:
    """The columns `needed` of a Parquet file or a CSV, and those of `optional` that it has. Raises UserError, which says
    `why` they are needed."""
    if not path.exists() or path.is_dir():
        raise UserError(f"{path} is {'a folder' if path.is_dir() else 'not there'}; name the file of a trace")
    of_parquet = path.suffix == ".parquet" or table_file.is_parquet(path)
    names, select = _parquet(path) if of_parquet else _csv(path, needed)
    missing = [name for name in needed if name not in names]
    if missing:
        raise UserError(f"{path} has no column {', '.join(missing)} (it has {', '.join(names)}), but {why} "
                        f"{', '.join(needed)}; record them too")
    wanted = [*needed, *(name for name in optional if name in names)]
    if twice := table_file.twice(names, wanted):
        raise UserError(f"{path} has several columns of the name {twice}; leave one of them")
    table = select(wanted)
    if not len(table):
        raise UserError(f"{path} has 0 rows, but a trace has at least one; copy it again")
    return table


def _csv(path: Path, needed: Sequence[str]) -> tuple[list[str], Callable]:
    """(names of columns, what gives some of them)"""
    table = table_file.read(path, "the trace", f"give a Parquet file or a CSV of {', '.join(needed)}")
    return list(map(str, table)), table.__getitem__


def _parquet(path: Path) -> tuple[list[str], Callable]:
    """The same of a Parquet file, of which no more is read than is asked for."""
    try:
        file = pq.ParquetFile(path)
    except (OSError, pa.ArrowException) as error:
        raise _unreadable(path, error) from error

    def select(names: Sequence[str]) -> pd.DataFrame:
        try:
            return file.read(columns=list(names)).to_pandas(ignore_metadata=True)
        except (OSError, pa.ArrowException) as error:
            raise _unreadable(path, error) from error
    return file.schema_arrow.names, select


def _unreadable(path: Path, error: Exception) -> UserError:
    reason = str(error).splitlines()[0].rstrip(".")
    return UserError(f"{path} cannot be read as a Parquet file ({reason}); it is truncated or of another kind, so copy "
                     "it again")


def read_vdev_cache_trace(path: Path | str) -> dict[str, np.ndarray]:
    """The columns of a trace, each int64[rows], checked. Raises UserError."""
    path = Path(path)
    table = read_table(path, COLUMNS, "a replay compares")
    columns = {name: integers(path, table, name) for name in COLUMNS}
    _check(path, columns)
    return columns


def _stream(columns: dict[str, np.ndarray]) -> Operations:
    """As the model wants it. The traces know no types: a read of data is one that carries DONT_CACHE."""
    return cache_replay.operations(columns["tick"], columns["op"], columns["off512"] * SECTOR,
                                       np.maximum(columns["size512"], 1) * SECTOR, dont_cache=columns["nocache"])


# ---- comparing ----


def _disagreements(columns: dict[str, np.ndarray], decisions: Decisions, own: bool) -> list[tuple]:
    """(column, rows that differ, recorded values, replayed values) of everything that can be compared."""
    completion = columns["op"] == COMPLETION
    completed = np.where(completion, decisions.completed // SECTOR, columns["off512"])
    found = [("off512", completed != columns["off512"], columns["off512"], completed)]
    if own and completion.any():
        op = np.where(decisions.unannounced > 0, COMPLETION, columns["op"])  # a completion is missing before this row
        found.append(("op", op != columns["op"], columns["op"], op))
    sectors = (decisions.fill // SECTOR, decisions.evicted // SECTOR)
    for name, replayed in zip(DECISION_COLUMNS, (decisions.outcome, *sectors), strict=True):
        found.append((name, replayed != columns[name], columns[name], replayed))
    return found


def _pairs(columns: dict[str, np.ndarray], decisions: Decisions) -> np.ndarray:
    """How many reads had each recorded and each replayed outcome: [recorded, replayed]."""
    reads, n = columns["op"] == READ, len(OUTCOMES)
    recorded = np.clip(columns["res"][reads], 0, n - 1)
    return np.bincount(recorded * n + decisions.outcome[reads], minlength=n * n).reshape(n, n)


def _first(disagreements: list[tuple], row: int) -> Difference:
    name, _, recorded, replayed = next(found for found in disagreements if found[1][row])
    return Difference(row, name, int(recorded[row]), int(replayed[row]))


def _check_completions(path: Path, columns: dict[str, np.ndarray], decisions: Decisions, first_row: float) -> None:
    """A UserError when the trace completes a fill that was never issued, and model and trace agreed until then."""
    stray = np.flatnonzero((columns["op"] == COMPLETION) & (decisions.completed == NOWHERE))
    if len(stray) and stray[0] <= first_row:
        raise UserError(f"{path}: row {stray[0]} completes the fill of the line at off512 "
                        f"{columns['off512'][stray[0]]}, but no such fill runs; start with an empty cache, "
                        "keep every row")


def _parameters(cache_bytes: int, max_read_bytes: int, fill_ticks: int | None) -> VdevCacheParams:
    """Checked by the model; what it finds is for the user to mend."""
    if fill_ticks is not None and not 0 <= fill_ticks <= LARGEST:
        raise UserError(f"a fill takes {fill_ticks} ticks, but it can take 0 to 2^53; choose that, or no number to take "
                        "completions from the trace")
    params = VdevCacheParams(cache_bytes=cache_bytes, max_read_bytes=max_read_bytes, fill_rule=FILL_ALL)
    nothing = cache_replay.operations([0], READ, [0], [1])
    try:
        cache_replay.drive(params, nothing, RECORDED if fill_ticks is None else fill_ticks)  # compiles, too
    except ValueError as error:
        raise UserError(re.sub(r"\w+", lambda word: OWN_NAMES.get(word[0], word[0]), str(error))) from error
    return params


def replay_vdev_cache(path: Path | str, cache_bytes: int = 10 * 2**20, max_read_bytes: int = 16384,
                      fill_ticks: int | None = None) -> Replay:
    """Run the trace at `path` through the model and compare every decision.

    cache_bytes     B, zfs_vdev_cache_size when the trace was recorded
    max_read_bytes  B, zfs_vdev_cache_max
    fill_ticks      None: fills complete where the trace says so; a number: the model completes them itself, that many
                    ticks after their issue, and the trace's completions (if it has any) are compared too
    """
    path, own = Path(path), fill_ticks is not None
    params = _parameters(cache_bytes, max_read_bytes, fill_ticks)
    columns = read_vdev_cache_trace(path)
    stream = _stream(columns)
    start = time.perf_counter()
    decisions, cache = cache_replay.drive(params, stream, RECORDED if fill_ticks is None else fill_ticks)
    seconds = time.perf_counter() - start
    disagreements = _disagreements(columns, decisions, own)
    rows = np.flatnonzero(np.logical_or.reduce([found[1] for found in disagreements]))
    if not own:
        _check_completions(path, columns, decisions, rows[0] if len(rows) else math.inf)
    pairs = _pairs(columns, decisions)
    counters = {"hits": cache.hits, "misses": cache.misses, "delegations": cache.delegations, "lines": cache.n_lines}
    return Replay(path=path, completions="own" if own else "recorded", rows=len(columns["tick"]), differences=len(rows),
                  first=_first(disagreements, int(rows[0])) if len(rows) else None, seconds=seconds,
                  outcomes=dict(zip(OUTCOMES, pairs.sum(0).tolist(), strict=True)), pairs=pairs,
                  counters={name: int(values[0]) for name, values in counters.items()})


# ---- folders ----


def read_stats(path: Path) -> dict[str, dict]:
    """The parameters under which traces were recorded, by name of the trace; empty when there is no such file."""
    entries = {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path} cannot be read ({error}); mend it or remove it") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            entries[entry["trace"]] = {name: int(entry[name]) for name in ("L", "size", "max") if name in entry}
        except (ValueError, KeyError, TypeError) as error:
            raise UserError(f"{path}: line {number} does not describe a trace ({error!r}); it must be a JSON object "
                            "with trace, and whole numbers L, size and max") from error
    return entries


def replays_of(path: Path, entry: dict[str, int]) -> Iterator[Replay]:
    """A trace under the parameters of its `entry` in a stats.jsonl, which may be empty."""
    sizes = {argument: entry[name] for argument, name in (("cache_bytes", "size"), ("max_read_bytes", "max"))
             if name in entry}
    for fill_ticks in (None, entry["L"]) if "L" in entry else (None,):
        yield replay_vdev_cache(path, **sizes, fill_ticks=fill_ticks)
