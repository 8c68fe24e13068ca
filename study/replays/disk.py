"""A measured trace of a real drive through the disk model: how far off is the model?

A trace has one request at a time: operation, block, count, the service time that was measured, and idle time. Three
versions of the drive are replayed:

* *specified*: every number from the drive's description, nothing fitted;
* *estimated*: a few constants of the electronics that no description gives, or that depend on the host that measured.
  They are estimated on the first half of the trace (`ESTIMATED` lists them with their ranges);
* *data_sheet*: only what a data sheet prints: rotation speed, three seek times, capacity, heads, the longest and the
  shortest track, buffer. This error is the prior for drives of which nobody has a trace.

The *demerit* is the root mean square horizontal distance between the two cumulative distributions of service times,
over the measured mean (Ruemmler and Wilkes, 1994). The second half is what counts: nothing was fitted on it. The idle
times of the trace follow the model's own completions, so an error of one request does not become one of the next. The
spindle's angle is known from the request before, as in the real drive.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from model.devices import overhead_columns as overhead
from model.devices.disk import check_request, serve_in_turn
from model.devices.disk_mechanics import FROM_AHEAD, FROM_BUFFER, TO_BUFFER, Disk, new_state
from study import tables as table_file
from study.errors import UserError
from study.replays.drive_file import data_sheet_disk, read_drive, read_seek_table, specified_disk

ESTIMATED = {  # constant: (range, unit, what it is estimated from)
    "gap_before": ((0, 1), "1", "whether idle time lies before its request or after it: error of each request"),
    "ahead_after_sequence": ((0, 1), "1", "whether read-ahead waits for a second read in sequence: the same"),
    "bus_ns": ((0, 400_000), "ns/block", "growth of service time with size, of requests served by the buffer"),
    "command_ns": ((0, 3_000_000), "ns", "requests it governs, up to eight: median error, mean where the arm moves"),
    "idle_hit_ns": ((0, 1_000_000), "ns", "median error of reads from a buffer that is not being filled"),
}
TRACE_COLUMNS = ("op", "block", "count", "service_us", "gap_us")
ROUNDS = 4  # of estimation; each starts from the constants of the one before
MIN_REQUESTS = 4  # of a trace: two halves, each with a distribution
LARGEST = 10**11  # blocks (51 TB), or us (28 hours, of which 90 000 are within 64 bits of ns)
MIN_CHOSEN = 30  # requests without which a constant is left alone
MIN_GAIN = 0.02  # a switch is thrown only if it lowers the mean error of a request by this part
TRIED_NS = tuple(1000 * us for us in (0, 100, -100, 200, -200, 300, -300, 400, 600, 800, 1000))  # about an overhead
START_NS = 1_000_000_000


class Trace(NamedTuple):
    """Requests in order; (n,) int64 arrays."""

    block: np.ndarray
    count: np.ndarray  # type: ignore[assignment]  # a tuple's own `count` is not called; disk_replays digests this file
    is_write: np.ndarray  # 0 or 1
    service_ns: np.ndarray  # measured, issue to completion
    gap_ns: np.ndarray  # idle time


class Score(NamedTuple):
    """How far a replay is off. Times in ms, demerits and errors as parts of the measured mean."""

    demerit: float  # whole trace
    demerit_second: float  # second half
    mean_error: float  # predicted mean less measured, whole trace
    mean_error_second: float
    request_rms: float  # root mean square error of a request, second half
    predicted_ms: np.ndarray  # (n,)


class DiskReplay(NamedTuple):
    """Result of `replay_disk`: a `Score` per version of the drive, and what was estimated."""

    measured_ms: np.ndarray  # (n,)
    scores: dict  # specified, estimated, data_sheet: Score
    constants: dict  # name: value of each estimated constant
    specified: Disk
    estimated: Disk


def read_trace(path: str | Path) -> Trace:
    """The trace at `path`; a `UserError` says what about it cannot be."""
    give = f"give a CSV of {', '.join(TRACE_COLUMNS)}"
    table = table_file.read(path, "the trace", give)
    missing = [name for name in TRACE_COLUMNS if name not in table]
    if missing:
        has = ", ".join(map(str, table))
        raise UserError(f"the trace {path} has no column {', '.join(missing)} (it has {has[:80]}); {give}")
    if twice := table_file.twice(list(table), TRACE_COLUMNS):
        raise UserError(f"the trace {path} has several columns of the name {twice}; leave one of them")
    if len(table) < MIN_REQUESTS:
        many = f"{len(table)} request{'s' * (len(table) != 1)}" if len(table) else "no requests"
        raise UserError(f"the trace {path} has {many}; give at least {MIN_REQUESTS}")
    operation = table["op"].astype(str).str.strip().str.upper()
    numbers = table[list(TRACE_COLUMNS[1:])].apply(pd.to_numeric, errors="coerce")
    whole = numbers[["block", "count"]]
    wrong = ~operation.isin(["R", "W"]) | ~((numbers >= 0) & (numbers <= LARGEST)).all(axis=1) | (whole % 1 != 0).any(axis=1)
    if wrong.any():
        row = int(wrong.argmax())
        seen = ",".join(map(str, table.loc[row, list(TRACE_COLUMNS)]))
        raise UserError(f"request {row + 1} of the trace {path} is {seen[:60]}. Give R or W and four numbers of 0 to 10^11, "
                        "block and count whole, and a trace that is not cut off")
    service, gap = (np.rint(numbers[name].to_numpy() * 1000).astype(np.int64) for name in ("service_us", "gap_us"))
    if not service[:len(service) // 2].any() or not service[len(service) // 2:].any():
        raise UserError(f"half of the trace {path}, or all of it, has no service times; give a measured trace")
    block, count = (numbers[name].to_numpy().astype(np.int64) for name in ("block", "count"))
    return Trace(block, count, (operation == "W").to_numpy().astype(np.int64), service, gap)


def check_trace(trace: Trace, disk: Disk, path: str | Path) -> None:
    """`UserError` at the first request that the disk cannot serve."""
    wrong = (trace.count < 1) | (trace.block + trace.count > disk.layout.n_blocks)
    if wrong.any():
        first = int(wrong.argmax())
        try:
            check_request(disk, int(trace.block[first]), int(trace.count[first]))
        except ValueError as error:
            raise UserError(f"request {first + 1} of the trace {path}: {error}") from None


def simulate(disk: Disk, trace: Trace, gap_before: int) -> tuple[np.ndarray, np.ndarray]:
    """(service times in ns, ways of being served) of a trace; (n,) int64 each."""
    before, after = (trace.gap_ns, trace.gap_ns * 0)[::1 if gap_before else -1]
    took, served = np.zeros((2, len(trace.block)), np.int64)
    before = before + START_NS * (np.arange(len(before)) == 0)
    serve_in_turn(disk, new_state(disk, [0]), 0, before, after, trace.block, trace.count, trace.is_write, took, served)
    return took, served


def demerit(predicted: np.ndarray, measured: np.ndarray) -> float:
    """RMS horizontal distance of the two cumulative distributions over the measured mean; equally long arrays."""
    return float(np.sqrt(np.mean((np.sort(predicted) - np.sort(measured)) ** 2)) / np.mean(measured))


def score(predicted: np.ndarray, measured: np.ndarray) -> Score:
    """`Score` of predicted against measured service times in ms."""
    half = len(measured) // 2
    second, truth, mean = predicted[half:], measured[half:], measured.mean()
    return Score(demerit(predicted, measured), demerit(second, truth), float(predicted.mean() / mean - 1),
                 float(second.mean() / truth.mean() - 1), float(np.sqrt(np.mean((second - truth) ** 2)) / truth.mean()),
                 predicted)


def _first_half(trace: Trace) -> Trace:
    return Trace(*(column[:len(trace.block) // 2] for column in trace))


def _clipped(name: str, value: float) -> int:
    low, high = ESTIMATED[name][0]
    return int(min(max(value, low), high))


def _bus_ns(disk: Disk, trace: Trace, served: np.ndarray) -> int:
    """How much a block adds to the service of requests that the buffer alone serves: a common slope of the medians."""
    chosen = np.isin(served, [TO_BUFFER] if disk.buffers_writes else [FROM_AHEAD, FROM_BUFFER])
    sizes = pd.DataFrame({"count": trace.count, "ns": trace.service_ns})[chosen].groupby("count")["ns"]
    rows = sizes.agg(["median", "size"]).query("size >= 5")
    if len(rows) < 2:
        return disk.bus_ns
    slope = np.polyfit(rows.index, rows["median"], 1, w=np.sqrt(rows["size"]))[0]
    return _clipped("bus_ns", slope)


def _median(error: np.ndarray, chosen: np.ndarray) -> float:
    """Median error of the chosen requests, 0 where they are too few to tell."""
    return np.median(error[chosen]) if chosen.sum() >= MIN_CHOSEN else 0


def _buffer_overheads(disk: Disk, trace: Trace, gap_before: int) -> Disk:
    """The disk with bus speed and overheads of what the buffer serves moved by the median errors of those requests."""
    disk = disk._replace(bus_ns=_bus_ns(disk, trace, simulate(disk, trace, gap_before)[1]))
    took, served = simulate(disk, trace, gap_before)
    error, after = trace.service_ns - took, np.concatenate(([0], trace.is_write[:-1]))
    streams = (served == FROM_AHEAD).sum() >= MIN_CHOSEN
    idle = disk.idle_hit_ns + _median(error, (served == FROM_BUFFER) & (after == 0)) * streams
    command = disk.command_ns.copy()
    for wrote in (0, 1):
        hits = (served == FROM_AHEAD) | (served == FROM_BUFFER) & (wrote or not streams)
        for row, chosen in ((overhead.READ_HIT, hits), (overhead.WRITE_BUFFERED, served == TO_BUFFER)):
            command[row, wrote] = _clipped("command_ns", command[row, wrote] + _median(error, chosen & (after == wrote)))
    return disk._replace(command_ns=command, idle_hit_ns=_clipped("idle_hit_ns", idle))


def _arm_overhead(disk: Disk, trace: Trace, gap_before: int, row: int, wrote: int) -> Disk:
    """The disk with one overhead of requests that move the arm moved to where their distribution fits best.

    An overhead vanishes in the rotational latency of most requests and costs a few a revolution: no mean or median
    leads to it, so a few values are tried.
    """
    chosen = (trace.is_write == (row == overhead.WRITE_THROUGH)) & (np.concatenate(([0], trace.is_write[:-1])) == wrote)
    if chosen.sum() < MIN_CHOSEN:
        return disk
    best, min_demerit = disk, np.inf
    for shift in TRIED_NS:
        command = disk.command_ns.copy()
        command[row, wrote] = _clipped("command_ns", command[row, wrote] + shift)
        took, _ = simulate(disk._replace(command_ns=command), trace, gap_before)
        off = demerit(took[chosen], trace.service_ns[chosen])
        if off < min_demerit * (1 - MIN_GAIN):
            best, min_demerit = disk._replace(command_ns=command), off
    return best


def _estimated(disk: Disk, trace: Trace, gap_before: int) -> tuple[Disk, float]:
    """(disk, mean absolute error of a request in ns) with its constants estimated on `trace`."""
    arm_rows = (overhead.READ_MISS,) if disk.buffers_writes else (overhead.READ_MISS, overhead.WRITE_THROUGH)
    for _ in range(ROUNDS):
        disk = _buffer_overheads(disk, trace, gap_before)
    for row in arm_rows:
        for wrote in (0, 1):
            disk = _arm_overhead(disk, trace, gap_before, row, wrote)
    return disk, np.abs(simulate(disk, trace, gap_before)[0] - trace.service_ns).mean()


def estimate(disk: Disk, trace: Trace) -> tuple[Disk, int]:
    """(disk, gap_before): the constants of `ESTIMATED`, from the first half of a trace and nothing else."""
    half = _first_half(trace)
    best, before, error = disk, 0, np.inf
    for gap_before in (0, 1):
        for switch in (0, 1):
            candidate, its_error = _estimated(disk._replace(ahead_after_sequence=switch), half, gap_before)
            if its_error < error * (1 - MIN_GAIN):
                best, before, error = candidate, gap_before, its_error
    return best, before


def replay_disk(trace_csv: str | Path, drive_json: str | Path, seek_csv: str | Path | None = None) -> DiskReplay:
    """Replay a measured trace; returns a `DiskReplay`. `seek_csv` is the measured seek curve if the drive names none.

    Raises `UserError` for files that cannot be read, impossible drives and requests beyond the end of the disk.
    """
    trace = read_trace(trace_csv)
    specified = specified_disk(read_drive(drive_json), read_seek_table(seek_csv) if seek_csv else None)
    check_trace(trace, specified, trace_csv)
    estimated, gap_before = estimate(specified, trace)
    measured = trace.service_ns / 1e6
    sheet = data_sheet_disk(specified)
    check_trace(trace, sheet, trace_csv)
    versions = {"specified": (specified, 0), "estimated": (estimated, gap_before), "data_sheet": (sheet, 0)}
    scores = {name: score(simulate(disk, trace, before)[0] / 1e6, measured) for name, (disk, before) in versions.items()}
    constants = {"gap_before": gap_before} | {name: getattr(estimated, name) for name in ESTIMATED if name != "gap_before"}
    return DiskReplay(measured, scores, constants, specified, estimated)


def per_request(result: DiskReplay, version: str = "estimated") -> pd.DataFrame:
    """Table of measured and predicted service times and their difference in ms, a row per request."""
    predicted = result.scores[version].predicted_ms
    return pd.DataFrame({"measured_ms": result.measured_ms, "predicted_ms": predicted,
                         "error_ms": predicted - result.measured_ms})
