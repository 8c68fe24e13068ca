"""All recorded traces below a folder, each through the mechanism that it was recorded of."""
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from study.errors import UserError
from study.project import DATA, data_files
from study.replays import alloc_trace
from study.replays import pool as replay_pool
from study.replays import space_map as replay_alloc
from study.replays import vdev_cache as replay
from study.replays.alloc_trace import AllocReplay
from study.replays.vdev_cache import Replay

VDEV_CACHE = set(replay.COLUMNS)
Kind = TypeVar("Kind", Replay, AllocReplay)


class Unreadable(NamedTuple):
    """A trace that could not be replayed, and why."""
    path: Path
    reason: str


def verify(folder: Path) -> Iterator[Replay | AllocReplay | Unreadable]:
    """Replay every trace of a kind that the model knows; other Parquet files are left alone. Raises UserError when the
    folder has no trace at all."""
    if not folder.is_dir():
        raise UserError(f"there is no folder {folder}; name one that holds recorded traces")
    files = sorted(folder.rglob("*.parquet"))
    traces: list[tuple[Callable[[Path], Iterator[Replay | AllocReplay]], Path]] = [
        (_vdev_cache_replays, file) for file in files if _columns(file) >= VDEV_CACHE]
    traces += [(replay_alloc.replays_of if replay_alloc.is_of_one_map(file) else replay_pool.replays_of, file)
               for file in files if replay_alloc.recorded_with(file)]
    if not traces:
        raise UserError(f"{folder} holds no recorded trace of the vdev cache or of the allocator; name a folder that does")
    for replays_of, trace in traces:
        try:
            yield from replays_of(trace)
        except UserError as error:
            yield Unreadable(trace, str(error))


def _vdev_cache_replays(trace: Path) -> Iterator[Replay]:
    return replay.replays_of(trace, replay.read_stats(trace.parent / "stats.jsonl").get(trace.stem, {}))


def committed() -> list[Replay]:
    """The cuts of the vdev cache, which a notebook declares as read. Raises UserError if one cannot be read."""
    data_files("traces/vdev_cache/*")
    return readable(DATA / "traces" / "vdev_cache", Replay)


def readable(folder: Path, kind: type[Kind]) -> list[Kind]:
    """All replays of a folder whose traces are of one kind. Raises UserError if one cannot be read."""
    replays = []
    for one in verify(folder):
        if isinstance(one, Unreadable):
            raise UserError(one.reason)
        assert isinstance(one, kind)
        replays.append(one)
    return replays


def differences_of(one: Replay | AllocReplay) -> int:
    """Rows that differ; at least 1 where something else does."""
    return one.differences if isinstance(one, Replay) else max(one.differences or 0, int(one.differs))


def rows_of(replays: list[Replay | AllocReplay]) -> int:
    """Rows of all traces, each once: a trace may have been replayed in two ways."""
    return sum({one.path: one.rows for one in replays}.values())


def table(replays: list[Replay]) -> pd.DataFrame:
    """A row for each replay: trace, who completed the fills, rows, differences, reads by outcome."""
    return pd.DataFrame([{"trace": one.path.stem, "completions": one.completions, "rows": one.rows,
                          "differences": one.differences, **{name: n for name, n in one.outcomes.items() if n}}
                         for one in replays]).fillna(0).astype({name: int for name in ("rows", "differences")})


def outcome_counts(replays: list[Replay]) -> np.ndarray:
    """Reads by outcome, [recorded, replayed], each trace once."""
    return np.sum([one.pairs for one in replays if one.completions == "recorded"], axis=0)


def say(one: Replay | AllocReplay | Unreadable) -> str:
    """What a replay of any kind found, for the terminal."""
    return alloc_trace.sentence(one) if isinstance(one, AllocReplay) else sentence(one)


def sentence(one: Replay | Unreadable) -> str:
    """What a replay found, for the terminal."""
    if isinstance(one, Unreadable):
        return one.reason
    speed = f"{one.seconds / one.rows * 1e9:.0f} ns a row"
    if one.first is None:
        return f"{one.path}: 0 differences in {one.rows} rows ({one.completions} completions, {speed})"
    first = one.first
    return (f"{one.path}: {one.differences} differences in {one.rows} rows ({one.completions} completions); the first in "
            f"row {first.row}: {first.column} is {first.recorded} in the recording and {first.replayed} in the model")


def _columns(file: Path) -> set[str]:
    """The columns of a Parquet file; those of a trace when it can't be read, so that replaying it says what is wrong."""
    try:
        return set(pq.read_schema(file).names)
    except (OSError, pa.ArrowException):
        return VDEV_CACHE
