"""All recorded traces below a folder, each through the mechanism that it was recorded of.

A file that should be a trace, by its name or its columns, and cannot be replayed is an error. Any other file is named, too.
"""
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import pandas as pd

from model.zfs.space.pickers import VARIANTS
from study import tables as table_file
from study.errors import UserError
from study.project import DATA, data_files
from study.replays import alloc_trace, pool, pool_states, raidz, space_map, trace_file, vdev_cache, vdev_queue
from study.replays.alloc_trace import OFFSETS, OPERATIONS, AllocReplay, recorded_with, scenario_of
from study.replays.pool_states import STATES, txgs_beside
from study.replays.recorded_vdevs import FILE, read_rows
from study.replays.trace_file import Comparison, columns_of, is_table, stem_of, table_beside
from study.replays.vdev_cache import Replay

STATS = "stats.jsonl"
ARCHIVES = (*table_file.PACKED, ".tar", ".tgz", ".7z", ".rar")
ENOUGH = 0.5  # of a format's columns: a table that has so many is taken for a trace of it, whatever else is missing
MISNAMED = {OPERATIONS: alloc_trace.COLUMNS, OFFSETS: ("off512",), STATES: ("txg", *pool_states.PER_TXG)}
Result = Replay | AllocReplay | Comparison
Kind = TypeVar("Kind", Replay, AllocReplay, Comparison)


class Unreadable(NamedTuple):
    """A trace that could not be replayed, and why."""
    path: Path
    reason: str


class NotCompared(NamedTuple):
    """A file that holds no decisions of its own, and what it is for."""
    path: Path
    reason: str


Replays = Callable[[Path], Iterator[Result | NotCompared]]


def verify(folder: Path) -> Iterator[Result | Unreadable | NotCompared]:
    """Replay every trace of a kind that the model knows, and say of every other file why it is not compared. Raises
    UserError when the folder has no trace at all."""
    if not folder.is_dir():
        raise UserError(f"there is no folder {folder}; name one that holds recorded traces")
    kinds = {file: _kind(file) for file in sorted(_files(folder))}
    if all(kind is _no_trace for kind in kinds.values()):
        raise UserError(f"{folder} holds no recorded trace of the vdev cache, of the vdev queue, of the allocator or of "
                        "RAID-Z; name a folder that does")
    for file, replays in kinds.items():
        try:
            yield from replays(file)
        except UserError as error:
            yield Unreadable(file, str(error))


def _files(folder: Path) -> Iterator[Path]:
    """All files in a folder and below it, also behind links, but each folder once: a link may lead back up."""
    seen = set()
    for root, folders, names in os.walk(folder, followlinks=True):
        place = os.path.realpath(root)
        if place in seen:
            folders.clear()
        else:
            seen.add(place)
            yield from (Path(root, name) for name in names)


# ---- what a file is ----


def _kind(file: Path) -> Replays:
    """What replays a file, or says why it is not replayed."""
    if not is_table(file) and not table_file.is_parquet(file):
        return _packed if file.suffix.lower() in ARCHIVES else _no_trace
    stem = stem_of(file)
    if stem.endswith(OPERATIONS):
        return _alloc_replays if recorded_with(file) else _no_trace
    return _no_trace if stem.endswith((OFFSETS, STATES)) else _by_columns(file)


def _by_columns(file: Path) -> Replays:
    """By the format of which a table has the largest part. One that cannot be read is taken for a trace."""
    try:
        columns = set(columns_of(file))
    except UserError:
        return _misnamed
    formats: dict[tuple[str, ...], Replays] = {
        vdev_cache.COLUMNS: _vdev_cache_replays, vdev_queue.COLUMNS: vdev_queue.replays_of,
        raidz.IO_COLUMNS: raidz.ios_of, raidz.SIZE_COLUMNS: raidz.sizes_of}
    parts = {needed: len(columns & set(needed)) / len(needed) for needed in formats}
    nearest = max(parts, key=parts.__getitem__)
    if parts[nearest] >= ENOUGH:
        return formats[nearest]
    return _misnamed if any(columns >= set(needed) for needed in MISNAMED.values()) else _no_trace


def _alloc_replays(file: Path) -> Iterator[AllocReplay | NotCompared]:
    if space_map.is_of_one_map(file):
        yield from space_map.replays_of(file)
        return
    n_rows = read_rows(file.parent / FILE)
    for replay in pool.replays_of(file):
        yield replay
        if txgs_beside(file, replay.variant) is None:
            yield NotCompared(file, f"no states (*{STATES}) of {replay.variant} stand beside it: only blocks were compared")
        yield from _cut_short(file, replay.rows, n_rows.get((scenario_of(file), replay.variant)), FILE)


def _vdev_cache_replays(trace: Path) -> Iterator[Replay | NotCompared]:
    path = trace.parent / STATS
    recorded = vdev_cache.read_stats(path).get(stem_of(trace))
    replays = list(vdev_cache.replays_of(trace, recorded or vdev_cache.Recorded({})))
    yield from replays
    if recorded is None:
        yield NotCompared(trace, f"{STATS} beside it does not name it: sizes are those of ZFS, only recorded fills complete")
    else:
        yield from _cut_short(trace, int(replays[0].pairs.sum()), recorded.n_reads, STATS, "reads")


def _cut_short(file: Path, n: int, n_recorded: int | None, where: str, unit: str = "rows") -> Iterator[NotCompared]:
    """Says so where a trace has less, or more, than was recorded."""
    if n_recorded is not None and n != n_recorded:
        yield NotCompared(file, f"has {n} {unit}, but {where} says {n_recorded}: what is missing was not compared")


def _packed(file: Path) -> Iterator[Result]:
    raise UserError(f"{file} is packed and can hold recordings, but only a CSV is read so; unpack it")


def _misnamed(file: Path) -> Iterator[Result]:
    """A table that is found by its name, and has another; or that cannot be read."""
    columns = columns_of(file)
    ending = next(ending for ending, needed in MISNAMED.items() if set(needed) <= set(columns))
    raise UserError(f"{file} has columns {', '.join(MISNAMED[ending])} of the allocator, but its name does not end with "
                    f"{ending}. Name it and the tables that belong to it as data/traces/alloc/README.md says")


def _no_trace(file: Path) -> Iterator[NotCompared]:
    stem = stem_of(file)
    if is_table(file) and stem.endswith(OPERATIONS):
        reason = f"no offsets (*{OFFSETS}) stand beside it: nothing to compare with"
    elif is_table(file) and stem.endswith(OFFSETS):
        reason = _of_offsets(file)
    elif is_table(file) and stem.endswith(STATES):
        reason = _of_states(file)
    elif file.name in (STATS, FILE):
        reason = "says under which parameters the traces beside it were recorded"
    elif is_table(file) or table_file.is_parquet(file):
        reason = f"a table of {', '.join(columns_of(file))}, which is no recording: nothing to compare"
    else:
        reason = "neither a Parquet file nor a CSV, so no recording: nothing to compare"
    yield NotCompared(file, reason)


def _of_offsets(file: Path) -> str:
    """Raises UserError if operations stand beside the offsets, and are not replayed under their variant."""
    scenario, _, variant = stem_of(file).removesuffix(OFFSETS).partition("__")
    operations = _operations(file, scenario, variant)
    if operations is None:
        return f"no operations (*{OPERATIONS}) stand beside it: nothing to replay"
    if variant not in VARIANTS:
        raise UserError(f"{file} is of variant {variant!r}, but the recorded ones are {', '.join(VARIANTS)}; rename it")
    return f"belongs to {operations.name}, whose line says what was compared"


def _of_states(file: Path) -> str:
    stem = stem_of(file).removesuffix(STATES)
    for variant in (variant for variant in VARIANTS if stem.endswith(f"_{variant}")):
        operations = _operations(file, stem.removesuffix(f"_{variant}"), variant)
        if operations is not None and variant in dict(recorded_with(operations)):
            return f"states after transaction groups; belongs to {operations.name}, whose line says what was compared"
        if operations is not None:
            return f"belongs to {operations.name}, of which no offsets of {variant} are here: nothing was compared"
    return f"no operations with offsets (*{OPERATIONS}, *{OFFSETS}) stand beside it: nothing to replay"


def _operations(file: Path, scenario: str, variant: str) -> Path | None:
    return (table_beside(file, f"{scenario}{OPERATIONS}") or table_beside(file, f"{scenario}__{variant}{OPERATIONS}"))


# ---- for notebooks ----


def committed() -> list[Replay]:
    """The cuts of the vdev cache, which a notebook declares as read. Raises UserError if one cannot be read."""
    data_files("traces/vdev_cache/*")
    return readable(DATA / "traces" / "vdev_cache", Replay)


def readable(folder: Path, kind: type[Kind]) -> list[Kind]:
    """All replays of one kind in a folder. Raises UserError if a file cannot be read."""
    replays = []
    for result in verify(folder):
        if isinstance(result, Unreadable):
            raise UserError(result.reason)
        if isinstance(result, kind):
            replays.append(result)
    return replays


def differences_of(result: Result) -> int:
    """Rows that differ; at least 1 where something else does."""
    if isinstance(result, AllocReplay):
        return max(result.differences or 0, int(result.differs))
    return result.differences


def rows_of(results: Sequence[Result]) -> int:
    """Rows of all traces, each once: a trace may have been replayed in two ways."""
    return sum({result.path: result.rows for result in results}.values())


def table(replays: list[Replay]) -> pd.DataFrame:
    """A row for each replay: trace, who completed the fills, rows, differences, reads by outcome."""
    table = pd.DataFrame([{"trace": replay.path.stem, "completions": replay.completions, "rows": replay.rows,
                           "differences": replay.differences, **{name: n for name, n in replay.outcomes.items() if n}}
                          for replay in replays]).fillna(0)
    return table.astype(dict.fromkeys(table.columns[2:], int))


def outcome_counts(replays: list[Replay]) -> np.ndarray:
    """Reads by outcome, [recorded, replayed], each trace once."""
    return np.sum([replay.pairs for replay in replays if replay.completions == "recorded"], axis=0)


def sentence(result: Result | Unreadable | NotCompared) -> str:
    """What became of a file, for the terminal."""
    if isinstance(result, Unreadable):
        return result.reason
    if isinstance(result, NotCompared):
        return f"{result.path}: {result.reason}"
    if isinstance(result, AllocReplay):
        return alloc_trace.sentence(result)
    return vdev_cache.sentence(result) if isinstance(result, Replay) else trace_file.sentence(result)
