"""A trace of the reader's own, in whatever format it is: read once, checked to its end, then handed over.

    trace = read(path)
    trace.requests      REQUEST[n], on disk
"""
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np

from model.zfs.vdev import cache_replay
from study.errors import UserError
from study.replays import alloc_trace, public_formats, trace_file, vdev_cache, vdev_queue
from study.tables import is_parquet
from study.traces import oracle_general
from study.traces.pieces import Pieces, shown
from study.traces.requests import MAX_SECONDS, Format, Trace, at_rate, named, of_devices, rows_of, spooled
from study.traces.text_columns import ReaderMemory
from study.traces.text_formats import read_lines, text_format
from study.words import counted

READ_HERE = ("Give an iolog of fio (version 2 or 3), text of blkparse, a CSV of MSR Cambridge, or oracleGeneral of "
             "libCacheSim (by its name). Recordings of the vdev cache or vdev queue as in data/traces are read, too")
MSR_COLUMNS = ("Timestamp (100 ns), Hostname, DiskNumber, Type (Read or Write), Offset (B), Size (B), ResponseTime (100 ns, "
               "or 0)")
TICK_NS = 10**7     # of recordings
EVENT = "Q"         # of blkparse: what was asked for, before the scheduler merged or sorted it
RECORDED = "a recording of the {}"
Rows = Iterator[tuple[np.ndarray, np.ndarray]]


def read(path: Path, event: str | None = None) -> Trace:
    """The requests at `path`. `event`: which of blkparse's are they, EVENT if it is None. Raises UserError."""
    if not path.exists():
        raise UserError(f"{path} is not there; name the file of a trace")
    if is_parquet(path):
        _refuse_event(event, path)
        return _recording(path)
    with closing(Pieces(path)) as pieces:
        if oracle_general.is_named_so(path.name):
            _refuse_event(event, path)
            notes: list[str] = []
            return _spooled(path, oracle_general.FORMAT, oracle_general.read(pieces, notes), "record", {}, notes)
        first = pieces.first_line()
        known = public_formats.format_of(first)
        if known is not None and known.name in (public_formats.MSR, public_formats.FIO, public_formats.BLKPARSE):
            if known.name != public_formats.BLKPARSE:
                _refuse_event(event, path)
            return _text(pieces, known.name, first, event or EVENT)
    if known is not None:
        raise UserError(f"{path} is {known.name}, which is not read here. Write it as a CSV of MSR Cambridge. Its columns "
                        f"are {MSR_COLUMNS}")
    if trace_file.is_table(path):
        _refuse_event(event, path)
        return _recording(path)
    raise UserError(f"{path} is no trace of a format that is read here. {READ_HERE}")


def _refuse_event(event: str | None, path: Path) -> None:
    if event is not None:
        raise UserError(f"--event is {event}, but {path} is no text of blkparse, whose events have letters; leave it out")


def _text(pieces: Pieces, name: str, first: str, event: str) -> Trace:
    if name == public_formats.FIO and first.split()[2] not in ("2", "3"):
        raise UserError(f"{pieces.path} is an iolog of fio of version {first.split()[2][:20]}, but 2 and 3 are read here; "
                        "record it anew with fio 1.17 or later")
    if name == public_formats.FIO:
        name = f"{name} {first.split()[2]}"
    text, memory = text_format(name, event), ReaderMemory({}, {}, [], {})
    notes: list[str] = []
    form = text.format

    def rows() -> Rows:
        yield from read_lines(pieces, text, memory)
        notes.extend(text.ends(str(pieces.path), memory))
    trace = _spooled(pieces.path, form, rows(), "line", memory.devices, notes)
    if memory.counts.get("waits"):
        trace = trace._replace(format=form._replace(resolution="its waits"))
    return trace


def _spooled(path: Path, form: Format, pieces: Rows, unit: str, devices: dict[str, int], notes: list[str]) -> Trace:
    """All requests. Raises UserError."""
    requests = spooled(_in_order(path, pieces, unit))
    if not len(requests):
        raise UserError(f"{path} has no requests; copy it again, or record it longer")
    return Trace(path, form, requests, list(devices) or [""], (*form.notes, *notes))


def _in_order(path: Path, pieces: Rows, unit: str) -> Iterator[np.ndarray]:
    """Requests, held to their times. Raises UserError."""
    last = 0
    for rows, numbers in pieces:
        time_ns = rows["time_ns"]
        back = np.flatnonzero(np.diff(time_ns, prepend=last) < 0)
        if len(back):
            before = time_ns[back[0] - 1] if back[0] else last
            raise UserError(f"{unit} {numbers[back[0]]} of {path} is {(before - time_ns[back[0]]) / 1e9:g} s earlier than "
                            "the request before it, but time never goes back; sort the trace by time")
        last = int(time_ns[-1]) if len(time_ns) else last
        if last > MAX_SECONDS * 1e9:
            raise UserError(f"{unit} {numbers[-1]} of {path} is {last / 1e9:.0f} s after the first, but the model's clock "
                            f"takes {MAX_SECONDS:.0f}; cut the trace")
        yield rows


def _recording(path: Path) -> Trace:
    """A table in the form of data/traces."""
    columns = set(trace_file.columns_of(path))
    if columns >= set(vdev_cache.OPERATION_COLUMNS):
        table = vdev_cache.read_vdev_cache_trace(path)
        mask, kind, what = table["op"] != cache_replay.COMPLETION, table["op"], "vdev cache"
    elif columns >= {"tick", "op", "kind", "off512", "size512", "io", "unit"}:
        table = vdev_queue.read_queue_trace(path)
        mask, kind, what = table["op"] == 0, table["kind"], "vdev queue"
    elif columns >= set(alloc_trace.COLUMNS):
        raise UserError(f"{path} is a recording of the allocator, which has no reads and no places; give it to study replay "
                        "alloc")
    else:
        raise UserError(f"{path} is a table of {shown(', '.join(sorted(columns)))}, which is no trace of requests. "
                        f"{READ_HERE}")
    if not mask.any():
        raise UserError(f"{path} has no requests; give one with reads or writes")
    tick = table["tick"][mask]
    if tick[-1] - tick[0] > MAX_SECONDS * 100:
        raise UserError(f"{path} is {tick[-1] - tick[0]} ticks long, but the model's clock takes {MAX_SECONDS * 100:.0f}; "
                        "cut the trace")
    requests = rows_of(time_ns=(tick - tick[0]) * TICK_NS, place=table["off512"][mask] * 512,
                       n_bytes=table["size512"][mask] * 512, kind=kind[mask], device=0)
    note = f"{counted(int((~mask).sum()), 'row')} of other events are no requests"
    return Trace(path, Format(RECORDED.format(what), resolution="10 ms", recording=what), requests, [""], (note,))


def ready(path: Path, event: str | None, devices: list[str], per_second: float | None) -> Trace:
    """The trace as it is to be used: of these devices, or all, and at that rate, or its own times. Raises UserError."""
    trace = read(path, event)
    if devices:
        trace = of_devices(trace, devices)
    elif len(trace.devices) > 1 and trace.format.name.startswith(public_formats.BLKPARSE):
        raise UserError(f"{path} is of {len(trace.devices)} devices ({named(trace.devices)}), and a request may be in it "
                        "once for each that it passes; say by --device which to take")
    return trace if per_second is None else at_rate(trace, per_second)


def seconds_to_read(make: Callable[[], Trace]) -> tuple[Trace, float]:
    """(what it makes, s of a processor)"""
    start = time.process_time()
    trace = make()
    return trace, time.process_time() - start
