"""All recorded traces below a folder, each through the mechanism that it was recorded of."""
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import pandas as pd

from study.errors import UserError
from study.project import DATA, data_files
from study.replays import alloc_trace, pool, raidz, space_map, trace_file, vdev_cache, vdev_queue
from study.replays.alloc_trace import OFFSETS, SUFFIX, AllocReplay, recorded_with
from study.replays.recorded_vdevs import FILE
from study.replays.trace_file import Comparison
from study.replays.vdev_cache import Replay

STATS = "stats.jsonl"
STATES = "_txg.csv"
TABLES = (".parquet", ".csv")
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


def verify(folder: Path) -> Iterator[Result | Unreadable | NotCompared]:
    """Replay every trace of a kind that the model knows, and say of every other file why it is not compared. Raises
    UserError when the folder has no trace at all."""
    if not folder.is_dir():
        raise UserError(f"there is no folder {folder}; name one that holds recorded traces")
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    kinds = {file: kind for file in files if (kind := _kind(file)) is not None}
    if not kinds:
        raise UserError(f"{folder} holds no recorded trace of the vdev cache, of the vdev queue, of the allocator or of "
                        "RAID-Z; name a folder that does")
    for file in files:
        try:
            yield from kinds[file](file) if file in kinds else _beside(file)
        except UserError as error:
            yield Unreadable(file, str(error))


def _kind(file: Path) -> Callable[[Path], Iterator[Result]] | None:
    """What replays a file, if it is a trace. One that cannot be read is taken for one, so that replaying it says why."""
    if file.name.endswith(SUFFIX):
        return _alloc_replays if recorded_with(file) else None
    if file.suffix not in TABLES or file.name.endswith((OFFSETS, STATES)):
        return None
    columns = set(trace_file.columns_of(file))
    kinds: tuple[tuple[tuple[str, ...], Callable[[Path], Iterator[Result]]], ...] = (
        (vdev_cache.COLUMNS, _vdev_cache_replays), (vdev_queue.COLUMNS, vdev_queue.replays_of),
        (raidz.IO_COLUMNS, raidz.ios_of), (raidz.SIZE_COLUMNS, raidz.sizes_of))
    known = next((replays for needed, replays in kinds if columns >= set(needed)), None)
    return _vdev_cache_replays if known is None and not columns and file.suffix == ".parquet" else known


def _alloc_replays(file: Path) -> Iterator[AllocReplay]:
    return space_map.replays_of(file) if space_map.is_of_one_map(file) else pool.replays_of(file)


def _vdev_cache_replays(trace: Path) -> Iterator[Replay]:
    recorded = vdev_cache.read_stats(trace.parent / STATS)
    return vdev_cache.replays_of(trace, recorded.get(trace.stem, vdev_cache.Recorded({})))


def _beside(file: Path) -> Iterator[NotCompared]:
    """A file that is no trace."""
    scenario, _, variant = file.name.removesuffix(OFFSETS).partition("__")
    operations = [file.with_name(f"{scenario}{SUFFIX}"), file.with_name(f"{scenario}__{variant}{SUFFIX}")]
    if file.name.endswith(SUFFIX):
        yield NotCompared(file, f"no offsets (*{OFFSETS}) stand beside it: nothing to compare with")
    elif file.name.endswith(OFFSETS):
        is_read = any(operation.exists() for operation in operations)
        yield NotCompared(file, "compared with the replay of its operations" if is_read else
                          f"no operations (*{SUFFIX}) stand beside it: nothing to replay")
    elif file.name.endswith(STATES):
        yield NotCompared(file, "states after transaction groups, compared with the replay of the operations beside it")
    elif file.name in (STATS, FILE):
        yield NotCompared(file, "says under which parameters the traces beside it were recorded")
    else:
        yield NotCompared(file, "of no format with decisions: nothing to compare")


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
    return pd.DataFrame([{"trace": replay.path.stem, "completions": replay.completions, "rows": replay.rows,
                          "differences": replay.differences, **{name: n for name, n in replay.outcomes.items() if n}}
                         for replay in replays]).fillna(0).astype({name: int for name in ("rows", "differences")})


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
