"""Recorded decisions of the real vdev cache against the model's, row by row.

A trace is a Parquet file (or a CSV) of operations in order of time, with what the ZFS code decided beside each. The
format is described in `data/traces/vdev_cache/README.md`. `replay_vdev_cache` feeds the operations to the kernels of
`model.zfs.vdev.cache`, the very ones that simulations call, and compares every decision.

Who may fill is a rule of the build. Where only metadata fills, the trace says of each read whether the build took it for
metadata. From the block's level and type it says whether the model would have.
"""
import math
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from model.devices.sectors import SECTOR_BYTES
from model.structures.sentinels import NOWHERE
from model.zfs.eras import era as era_of
from model.zfs.vdev import cache_replay
from model.zfs.vdev.cache import FILL_ALL, FILL_METADATA, FILL_RULES, OUTCOMES, VdevCacheParams
from model.zfs.vdev.cache_replay import COMPLETION, READ, RECORDED, Decisions, Operations
from study.errors import UserError
from study.replays.trace_file import (
    LARGEST,
    Difference,
    build_in,
    check_bounds,
    check_time,
    read_columns,
    read_lines,
    where,
    whole,
)
from study.words import counted

OPERATION_COLUMNS = ("tick", "op", "nocache", "size512", "off512")
DECISION_COLUMNS = ("res", "fill512", "evict512")
COLUMNS = OPERATION_COLUMNS + DECISION_COLUMNS
POINTER_COLUMNS = ("level", "type", "via", "metadata")  # of what a read was made from, where the trace says so
PLAIN_BUILD = "onnv_69"  # every read that is let in fills: so do those of a trace that names no build
BUILD_OF_RULE = dict(zip(FILL_RULES, (PLAIN_BUILD, "onnv_70", "onnv_79"), strict=True))
OWN_NAMES = {"cache_bytes": "size", "max_read_bytes": "max"}  # on the command line and in stats.jsonl
LARGEST_SIZE = 2**31  # sectors
LARGEST_CACHE = 2**40  # B; also of the largest read


class Replay(NamedTuple):
    """A trace replayed."""

    path: Path
    era: str  # the build whose rules were used
    completions: str  # "recorded", or "own" when the model decided when fills complete
    rows: int
    columns: tuple[str, ...]  # that were compared
    differences: int  # rows in which any decision differs
    first: Difference | None
    seconds: float  # of a processor in the model, once compiled
    outcomes: dict[str, int]  # reads by what became of them
    pairs: np.ndarray  # [recorded, replayed] -> reads, by outcome
    counters: dict[str, int]  # hits, misses, delegations as ZFS counts them, and lines resident at the end


# ---- reading ----


def _check(path: Path, columns: dict[str, np.ndarray]) -> None:
    """A UserError for the first row of each column that no trace can have."""
    is_read = columns["op"] == READ
    bounds = [("op", 0, 2, True), ("nocache", 0, 1, True), ("tick", 0, LARGEST, True),
              ("size512", 1, LARGEST_SIZE, columns["op"] != COMPLETION), ("off512", 0, LARGEST // SECTOR_BYTES, True)]
    bounds += [(name, low, high, is_read) for name, low, high in (
        ("level", -1, 127), ("type", -1, 127), ("via", 0, 2), ("metadata", 0, 1)) if name in columns]
    check_bounds(path, columns, bounds)
    check_time(path, columns["tick"])


def read_vdev_cache_trace(path: Path | str) -> dict[str, np.ndarray]:
    """The columns of a trace, each int64[rows], checked. Raises UserError."""
    path = Path(path)
    columns = read_columns(path, COLUMNS, "a replay compares", optional=POINTER_COLUMNS)
    _check(path, columns)
    return columns


def _stream(columns: dict[str, np.ndarray]) -> Operations:
    """As the model wants it. Where a trace knows no types, a read of data is one that carries DONT_CACHE."""
    return cache_replay.operations(
        columns["tick"], columns["op"], columns["off512"] * SECTOR_BYTES, np.maximum(columns["size512"], 1) * SECTOR_BYTES,
        is_metadata=np.maximum(columns["metadata"], 0) if "metadata" in columns else 1, dont_cache=columns["nocache"])


# ---- comparing ----


class Disagreement(NamedTuple):
    """A column of a trace beside the model's."""

    column: str
    rows: np.ndarray  # mask of those that differ
    recorded: np.ndarray
    replayed: np.ndarray


def _disagreements(columns: dict[str, np.ndarray], decisions: Decisions, params: VdevCacheParams, own: bool
                   ) -> list[Disagreement]:
    """Everything that can be compared."""
    completion = columns["op"] == COMPLETION
    replayed = {"off512": np.where(completion, decisions.completed // SECTOR_BYTES, columns["off512"])}
    if own and completion.any():  # where a completion is missing before a row, that row should have been it
        replayed["op"] = np.where(decisions.unannounced > 0, COMPLETION, columns["op"])
    decided = decisions.outcome, decisions.fill // SECTOR_BYTES, decisions.evicted // SECTOR_BYTES
    replayed |= dict(zip(DECISION_COLUMNS, decided, strict=True))
    if set(POINTER_COLUMNS) <= set(columns):
        replayed["metadata"] = _metadata(columns, params)
    return [Disagreement(name, values != columns[name], columns[name], values) for name, values in replayed.items()]


def _metadata(columns: dict[str, np.ndarray], params: VdevCacheParams) -> np.ndarray:
    """What the column `metadata` should hold, by the model's rule: until onnv_69 no read is marked."""
    marked = cache_replay.is_metadata(columns["level"], columns["type"], columns["via"] != cache_replay.NO_POINTER)
    marked = marked if params.fill_rule != FILL_ALL else np.zeros_like(marked)
    return np.where(columns["op"] == READ, marked, columns["metadata"])


def _pairs(columns: dict[str, np.ndarray], decisions: Decisions) -> np.ndarray:
    """How many reads had each recorded and each replayed outcome: [recorded, replayed]."""
    reads, n = columns["op"] == READ, len(OUTCOMES)
    recorded = np.clip(columns["res"][reads], 0, n - 1)
    return np.bincount(recorded * n + decisions.outcome[reads], minlength=n * n).reshape(n, n)


def _first(disagreements: list[Disagreement], row: int) -> Difference:
    column = next(disagreement for disagreement in disagreements if disagreement.rows[row])
    return Difference(row, column.column, int(column.recorded[row]), int(column.replayed[row]))


def _check_completions(path: Path, columns: dict[str, np.ndarray], decisions: Decisions, first_row: float) -> None:
    """A UserError when the trace completes a fill that was never issued, and model and trace agreed until then."""
    stray = np.flatnonzero((columns["op"] == COMPLETION) & (decisions.completed == NOWHERE))
    if len(stray) and stray[0] <= first_row:
        raise UserError(f"{path}: row {stray[0]} completes the fill of the line at off512 "
                        f"{columns['off512'][stray[0]]}, but no such fill runs; start with an empty cache, "
                        "keep every row")


def _parameters(era: str, cache_bytes: int, max_read_bytes: int, fill_ticks: int | None) -> VdevCacheParams:
    """Checked by the model; what is wrong is for the user to mend."""
    if fill_ticks is not None and not 0 <= fill_ticks <= LARGEST:
        raise UserError(f"a fill takes {fill_ticks} ticks, but it can take 0 to 2^53; choose that, or no number to take "
                        "completions from the trace")
    nothing = cache_replay.operations([0], READ, [0], [1])
    try:
        params = era_of(era).cache._replace(cache_bytes=cache_bytes, max_read_bytes=max_read_bytes)
        cache_replay.drive(params, nothing, RECORDED if fill_ticks is None else fill_ticks)  # compiles, too
    except ValueError as error:
        raise UserError(re.sub(r"\w+", lambda word: OWN_NAMES.get(word[0], word[0]), str(error))) from error
    return params


def _check_knows_metadata(path: Path, columns: dict[str, np.ndarray], era: str, params: VdevCacheParams) -> None:
    if params.fill_rule == FILL_METADATA and "metadata" not in columns:
        raise UserError(f"{path} has no column metadata, but in {era} only metadata fills; record it too, or replay the "
                        f"trace with --era {PLAIN_BUILD}")


def replay_vdev_cache(path: Path | str, cache_bytes: int = 10 * 2**20, max_read_bytes: int = 16384,
                      fill_ticks: int | None = None, era: str | None = None) -> Replay:
    """Run the trace at `path` through the model and compare every decision.

    cache_bytes     B, zfs_vdev_cache_size when the trace was recorded
    max_read_bytes  B, zfs_vdev_cache_max
    fill_ticks      None: fills complete where the trace says so. A number: the model completes them itself, that many ticks
                    after their issue, and the trace's completions (if it has any) are compared too
    era             whose rule of who may fill; None: of the build in the name of the file, or that to onnv_69
    """
    path, own = Path(path), fill_ticks is not None
    era = era or build_in(path.name.partition("_")[0]) or PLAIN_BUILD
    params = _parameters(era, cache_bytes, max_read_bytes, fill_ticks)
    columns = read_vdev_cache_trace(path)
    _check_knows_metadata(path, columns, era, params)
    stream = _stream(columns)
    start = time.process_time()
    decisions, cache = cache_replay.drive(params, stream, RECORDED if fill_ticks is None else fill_ticks)
    seconds = time.process_time() - start
    disagreements = _disagreements(columns, decisions, params, own)
    rows = np.flatnonzero(np.logical_or.reduce([disagreement.rows for disagreement in disagreements]))
    if not own:
        _check_completions(path, columns, decisions, rows[0] if len(rows) else math.inf)
    pairs = _pairs(columns, decisions)
    counters = {"hits": cache.hits, "misses": cache.misses, "delegations": cache.delegations, "lines": cache.n_lines}
    return Replay(path=path, era=era, completions="own" if own else "recorded", rows=len(columns["tick"]),
                  columns=tuple(disagreement.column for disagreement in disagreements),
                  differences=len(rows), first=_first(disagreements, int(rows[0])) if len(rows) else None, seconds=seconds,
                  outcomes=dict(zip(OUTCOMES, pairs.sum(0).tolist(), strict=True)), pairs=pairs,
                  counters={name: int(values[0]) for name, values in counters.items()})


def sentence(replay: Replay) -> str:
    """What a replay gave, for the terminal."""
    speed = f"{replay.seconds / replay.rows * 1e9:.0f} ns a row"
    text = (f"{replay.path}: {counted(replay.differences, 'difference')} in {counted(replay.rows, 'row')} by "
            f"{', '.join(replay.columns)} "
            f"(rules of {replay.era}, {replay.completions} completions, {speed})")
    return "; ".join(filter(None, (text, where(replay.first))))


# ---- folders ----


class Recorded(NamedTuple):
    """The parameters under which a trace was recorded, as far as they are known."""

    sizes: dict[str, int]  # cache_bytes, max_read_bytes
    fill_ticks: int | None = None
    era: str | None = None
    n_reads: int | None = None


def read_stats(path: Path) -> dict[str, Recorded]:
    """The parameters of traces, by name of the trace; empty when there is no such file."""
    return dict(read_lines(path, lambda entry: (str(entry["trace"]), _recorded(entry)), "a trace",
                           "trace, whole numbers L, size and max, and a fill_rule or none"))


def _recorded(entry: dict) -> Recorded:
    rule = entry.get("fill_rule")
    if rule is not None and rule not in BUILD_OF_RULE:
        raise ValueError(f"fill_rule is {rule!r}, but the rules are {', '.join(BUILD_OF_RULE)}")
    sizes = {argument: whole(entry, name, 0, LARGEST_CACHE)
             for argument, name in (("cache_bytes", "size"), ("max_read_bytes", "max")) if name in entry}
    return Recorded(sizes, whole(entry, "L", 0, LARGEST) if "L" in entry else None,
                    BUILD_OF_RULE[rule] if rule is not None else None, _n_reads(entry))


def _n_reads(entry: dict) -> int | None:
    """Reads of all outcomes, where they were counted."""
    counts = entry.get("by_res")
    return sum(counts) if isinstance(counts, list) and all(type(n) is int for n in counts) else None


def replays_of(path: Path, recorded: Recorded) -> Iterator[Replay]:
    """A trace under the parameters with which it was recorded: once with its completions, once with the model's own."""
    for fill_ticks in dict.fromkeys((None, recorded.fill_ticks)):
        yield replay_vdev_cache(path, **recorded.sizes, fill_ticks=fill_ticks, era=recorded.era)
