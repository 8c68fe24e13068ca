"""Recorded decisions of the real vdev queue against the model's: what it issues next, in what company, what it drops.

A trace is a Parquet file (or a CSV) of what happens to the queue of a leaf in order of time. I/Os arrive and units complete,
each followed by what the queue does then (`data/traces/vdev_queue/README.md`). The arrivals and completions go to
`model.zfs.vdev.queue_replay`, that is to the kernels that simulations call.

Every decision depends on those before it. So a replay ends with the first one that is not as recorded.
"""
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from model.devices.sectors import SECTOR_BYTES
from model.zfs.eras import era as era_of
from model.zfs.vdev.queue import (
    DONT_AGGREGATE,
    MAX_IOS,
    OPTIONAL,
    REPAIR,
    RESILVER,
    SCRUB,
    SCRUB_THREAD,
    SELF_HEAL,
    VdevQueueParams,
)
from model.zfs.vdev.queue_aggregation import NODATA
from model.zfs.vdev.queue_replay import ARRIVAL, COMPLETION, DROP, ISSUE, Decisions, Events, drive
from study.errors import UserError
from study.replays.trace_file import LARGEST, Comparison, Difference, build_in, check_bounds, check_time, read_columns

COLUMNS = ("tick", "op", "kind", "off512", "size512", "priority", "flags", "io", "n", "unit")
DECIDED = ("op", "kind", "off512", "size512", "io", "n", "unit")  # of a decision, each compared
FLAGS = {1: DONT_AGGREGATE, 2: REPAIR, 4: SELF_HEAL, 8: RESILVER, 16: SCRUB, 32: SCRUB_THREAD, 2048: NODATA,
         65536: OPTIONAL}  # ZFS's flags in the recordings: the model's marks
LARGEST_SIZE = 2**21  # sectors of an I/O
NOTHING = -1  # in place of a decision


# ---- reading ----


def read_queue_trace(path: Path | str) -> dict[str, np.ndarray]:
    """The columns of a trace, each int64[rows], checked. Raises UserError."""
    path = Path(path)
    columns = read_columns(path, COLUMNS, "a replay compares")
    arrives, issues = columns["op"] == ARRIVAL, columns["op"] == ISSUE
    check_bounds(path, columns, (
        ("op", 0, 3, True), ("tick", 0, LARGEST, True), ("kind", 0, 1, arrives),
        ("off512", 0, LARGEST // SECTOR_BYTES, arrives), ("size512", 1, LARGEST_SIZE, arrives),
        ("priority", 0, 2**20, arrives), ("flags", 0, sum(FLAGS), arrives), ("n", 1, MAX_IOS, issues)))
    check_time(path, columns["tick"])
    _check_numbers(path, columns)
    return columns


def _check_numbers(path: Path, columns: dict[str, np.ndarray]) -> None:
    """I/Os and units have numbers of their own, and a unit completes once, after it was issued."""
    op, unit = columns["op"], columns["unit"]
    unknown = (op == ARRIVAL) & (columns["flags"] & ~np.int64(sum(FLAGS)) != 0)
    _refuse(path, unknown, columns["flags"], "has flags {}, but the known ones are "
            f"{', '.join(map(str, FLAGS))}", "mend the row")
    _refuse(path, np.arange(len(op)) < (op[0] >= ISSUE), op, "is a decision (op {}) before anything arrived",
            "keep every row of the trace")
    for kind, name in ((ARRIVAL, "io"), (ISSUE, "unit"), (COMPLETION, "unit")):
        _refuse(path, _again(op == kind, columns[name]), columns[name],
                f"has the number {{}} of an earlier row in column {name}", "give each a number of its own")
    rows = np.full(len(op), len(op))
    rows[op == COMPLETION] = _rows_of(unit[op == COMPLETION], op == ISSUE, unit)
    _refuse(path, (op == COMPLETION) & (rows > np.arange(len(op))), unit,
            "completes unit {}, which was not issued before it", "keep every row of the trace")


def _refuse(path: Path, bad: np.ndarray, values: np.ndarray, complaint: str, mend: str) -> None:
    """A UserError for the first row in `bad`, a mask."""
    rows = np.flatnonzero(bad)
    if len(rows):
        raise UserError(f"{path}: row {rows[0]} {complaint.format(values[rows[0]])}; {mend}")


def _again(mask: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Rows of `mask` whose number an earlier one has."""
    rows = np.flatnonzero(mask)
    _, first = np.unique(numbers[rows], return_index=True)
    again = mask.copy()
    again[rows[first]] = False
    return again


def _rows_of(wanted: np.ndarray, mask: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """The row of `mask` that has each of the `wanted` numbers; the number of rows where there is none."""
    rows = np.flatnonzero(mask)
    order = rows[np.argsort(numbers[rows], kind="stable")]
    if not len(order):
        return np.full(len(wanted), len(mask))
    place = np.minimum(np.searchsorted(numbers[order], wanted), len(order) - 1)
    return np.where(numbers[order[place]] == wanted, order[place], len(mask))


# ---- the model ----


def _marks(flags: np.ndarray) -> np.ndarray:
    return np.bitwise_or.reduce([np.where(flags & flag, mark, 0) for flag, mark in FLAGS.items()])


def _ordinals(columns: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """(I/O, unit) of each row by number in order of arrival and of issue; NOTHING where there is none."""
    op, n_rows = columns["op"], len(columns["op"])
    ordinals = []
    for kind, name in ((ARRIVAL, "io"), (ISSUE, "unit")):
        rows = _rows_of(columns[name], op == kind, columns[name])
        number = np.append(np.cumsum(op == kind) - 1, NOTHING)
        ordinals.append(number[np.minimum(rows, n_rows)])
    return ordinals[0], ordinals[1]


def _events(columns: dict[str, np.ndarray], unit: np.ndarray) -> Events:
    happens = columns["op"] <= COMPLETION
    of = {name: values[happens] for name, values in columns.items()}
    return Events(kind=of["op"], tick=of["tick"], io_kind=of["kind"], offset=of["off512"] * SECTOR_BYTES,
                  n_bytes=of["size512"] * SECTOR_BYTES, priority=of["priority"], marks=_marks(of["flags"]),
                  unit=unit[happens])


def _max_at_a_time(columns: dict[str, np.ndarray]) -> int:
    """I/Os that wait or are on the device at a time, by the recording."""
    op, rows = columns["op"], np.flatnonzero(columns["op"] == COMPLETION)
    change = np.where(op == ARRIVAL, 1, np.where(op == DROP, -1, 0))
    change[rows] = -columns["n"][_rows_of(columns["unit"][rows], op == ISSUE, columns["unit"])]
    return int(np.cumsum(change).max())


# ---- comparing ----


def _recorded(columns: dict[str, np.ndarray], io: np.ndarray, unit: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """(event of each recorded decision, its columns as the model has them)."""
    decides = columns["op"] >= ISSUE
    event = np.cumsum(~decides)[decides] - 1
    issues = columns["op"][decides] == ISSUE
    values = {name: columns[name][decides] for name in DECIDED}
    values |= {"io": io[decides], "n": np.where(issues, values["n"], 0), "unit": np.where(issues, unit[decides], NOTHING)}
    return event, values


def _replayed(decisions: Decisions) -> dict[str, np.ndarray]:
    return {"op": decisions.kind, "kind": decisions.io_kind, "off512": decisions.offset // SECTOR_BYTES,
            "size512": decisions.n_bytes // SECTOR_BYTES, "io": decisions.io, "n": decisions.n_ios, "unit": decisions.unit}


def _first_difference(columns: dict[str, np.ndarray], event: np.ndarray, recorded: dict[str, np.ndarray],
                      decisions: Decisions) -> Difference | None:
    """The first decision that is not as recorded, in the terms of the file."""
    replayed = _replayed(decisions)
    n = min(len(event), len(decisions.event))
    differs = event[:n] != decisions.event[:n]
    for name in DECIDED:
        differs |= recorded[name][:n] != replayed[name][:n]
    at = int(np.argmax(differs)) if differs.any() else n
    never = len(columns["op"])
    was = int(event[at]) if at < len(event) else never
    now = int(decisions.event[at]) if at < len(decisions.event) else never
    if was == now == never:
        return None
    rows = np.flatnonzero(columns["op"] >= ISSUE)
    if was < now:
        return Difference(int(rows[at]), "op", int(recorded["op"][at]), NOTHING)
    if now < was:
        row = int(np.flatnonzero(columns["op"] <= COMPLETION)[now]) + 1 + int((event == now).sum())
        return Difference(row, "op", int(columns["op"][row]) if row < never else NOTHING, int(replayed["op"][at]))
    name = next(name for name in DECIDED if recorded[name][at] != replayed[name][at])
    return Difference(int(rows[at]), name, int(recorded[name][at]), int(replayed[name][at]))


# ---- replays ----


def rules_of(path: Path, era: str | None) -> tuple[str, VdevQueueParams]:
    """(era, its rules): of the build in the name of the file, if none is given. Raises UserError."""
    name = era or build_in(path.name.partition("_queue")[0])
    if name is None:
        raise UserError(f"{path} has no known build in front of _queue in its name, whose rules are to be used; give --era")
    try:
        return name, era_of(name).queue
    except ValueError as error:
        raise UserError(str(error)) from error


def replay_queue(path: Path | str, era: str | None = None) -> Comparison:
    """Run the trace at `path` through the model and compare every decision."""
    path = Path(path)
    name, params = rules_of(path, era)
    columns = read_queue_trace(path)
    io, unit = _ordinals(columns)
    events, n_ios = _events(columns, unit), _max_at_a_time(columns)
    if n_ios > MAX_IOS:
        raise UserError(f"{path} has {n_ios} I/Os in the queue at a time, but the model takes {MAX_IOS}; record fewer")
    drive(params, Events(*(column[:0] for column in events)), 1)  # compiles
    start = time.process_time()
    decisions, done = drive(params, events, n_ios)
    seconds = time.process_time() - start
    event, recorded = _recorded(columns, io, unit)
    first = _first_difference(columns, event, recorded, decisions)
    if first is None and done < len(events.kind):  # a defect: what agrees has room, and completes what it issued
        raise RuntimeError(f"event {done} of {path} cannot be")
    note = "" if first is None else "what follows depends on it and is not compared"
    return Comparison(path=path, decisions=f"{len(event)} decisions of the vdev queue, rules of {name}",
                      rows=len(columns["op"]), differences=int(first is not None), first=first, seconds=seconds,
                      columns=DECIDED, note=note)


def replays_of(path: Path) -> Iterator[Comparison]:
    """The comparison of all decisions in a recording: one."""
    yield replay_queue(path)
