"""Requests of a trace, whatever its format: a table on disk, so that a file of any length is read once and in little memory.

    requests = spooled(pieces)      # REQUEST[n], of what comes piece by piece, in order of time
"""
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from study.errors import UserError

READ, WRITE, TRIM = 0, 1, 2
KINDS = ("read", "write", "trim")
REQUEST = np.dtype([("time_ns", np.int64), ("place", np.int64), ("n_bytes", np.int64), ("device", np.int32),
                    ("kind", np.int32)])
CHUNK = 2**18           # requests, or blocks, that are worked on at a time
LARGEST_PLACE = 2**53   # B
LARGEST_REQUEST = 2**30     # B; ZFS itself has none above 16 MiB
MAX_DEVICES = 2**10
MAX_SECONDS = 2**31 / 100   # of a trace: ticks of the model have 31 bits
DEVICE_SHIFT = 44       # of keys: blocks have at least 512 B, and a device has at most 2^53 B


class Format(NamedTuple):
    """What a format says of a request, and what it does not."""

    name: str
    has_kind: bool = True       # read or write
    has_place: bool = True      # `place` is B from the beginning of the device; else it is the name of an object
    resolution: str = ""        # of its times, in words; "" if it has none
    notes: tuple[str, ...] = ()     # what a reader has to know of all files of this format
    recording: str = ""         # of which mechanism of ZFS it is a recording, with its decisions


class Trace(NamedTuple):
    """A trace as it was read."""

    path: Path
    format: Format
    requests: np.ndarray        # REQUEST[n]; times from the first on
    devices: list[str]          # names, by number
    notes: tuple[str, ...]      # of this file

    @property
    def seconds(self) -> float:
        """From the first request to the last [s]."""
        return (int(self.requests["time_ns"][-1]) - int(self.requests["time_ns"][0])) / 1e9


def spooled(pieces: Iterable[np.ndarray], dtype: np.dtype = REQUEST) -> np.ndarray:
    """All rows, in a temporary file without a name: of these only what is used is in memory."""
    n = 0
    with tempfile.TemporaryFile() as file:
        for rows in pieces:
            file.write(np.ascontiguousarray(rows, dtype).view(np.uint8).data)
            n += len(rows)
        file.flush()
        return np.memmap(file, dtype, "r", shape=(n,)) if n else np.empty(0, dtype)


def rows_of(**columns: np.ndarray | int) -> np.ndarray:
    """REQUEST[n] of its columns."""
    n = max(len(column) for column in columns.values() if isinstance(column, np.ndarray))
    rows = np.zeros(n, REQUEST)
    for name, column in columns.items():
        rows[name] = column
    return rows


def chunks(requests: np.ndarray) -> Iterator[np.ndarray]:
    """The requests, so many at a time."""
    for first in range(0, len(requests), CHUNK):
        yield np.asarray(requests[first:first + CHUNK])


def blocks(requests: np.ndarray, block_bytes: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(rows, key of a block) of all blocks that requests touch, in order, so many at a time. A row comes as often as it has
    blocks. `block_bytes` 0: each place is an object, and that is the key."""
    for rows in chunks(requests):
        if block_bytes == 0:
            yield rows, rows["place"]
            continue
        first = rows["place"] // block_bytes
        n = (rows["place"] + rows["n_bytes"] - 1) // block_bytes - first + 1
        ends = np.cumsum(n)
        begin = 0
        while begin < len(rows):
            before = ends[begin - 1] if begin else 0
            end = max(begin + 1, int(np.searchsorted(ends, before + CHUNK, "right")))
            each = np.repeat(np.arange(begin, end), n[begin:end])
            within = np.arange(len(each)) - np.repeat(ends[begin:end] - n[begin:end] - before, n[begin:end])
            device = rows["device"][each].astype(np.int64)
            yield rows[each], (device << DEVICE_SHIFT) + first[each] + within
            begin = end


def of_devices(trace: Trace, wanted: list[str]) -> Trace:
    """The requests to the devices of these names. Raises UserError."""
    unknown = [name for name in wanted if name not in trace.devices]
    if unknown:
        raise UserError(f"{trace.path} has no device {', '.join(unknown)}, but {named(trace.devices)}; name one of these")
    numbers = [trace.devices.index(name) for name in wanted]
    return _where(trace, lambda rows: np.isin(rows["device"], numbers))


def _where(trace: Trace, is_wanted: Callable[[np.ndarray], np.ndarray]) -> Trace:
    requests = spooled(rows[is_wanted(rows)] for rows in chunks(trace.requests))
    if not len(requests):
        raise UserError(f"{trace.path} has no requests to these devices; name others")
    return trace._replace(requests=requests, format=trace.format._replace(recording=""))


def named(devices: list[str], most: int = 8) -> str:
    """Names in a sentence, the first of them."""
    more = f" and {len(devices) - most} more" if len(devices) > most else ""
    return f"{', '.join(devices[:most])}{more}"


def at_rate(trace: Trace, per_second: float) -> Trace:
    """The same requests, evenly spaced. Raises UserError."""
    if not 0 < per_second < 1e9:
        raise UserError(f"the rate is {per_second:g} requests a second, but it must be more than 0 and less than 10^9; "
                        "choose such a number")
    if len(trace.requests) / per_second > MAX_SECONDS:
        raise UserError(f"{len(trace.requests)} requests take {len(trace.requests) / per_second:.3g} s at {per_second:g} a "
                        f"second, but the model's clock takes {MAX_SECONDS:.0f}; choose a higher --rate")

    def evenly() -> Iterator[np.ndarray]:
        done = 0
        for rows in chunks(trace.requests):
            rows = rows.copy()
            rows["time_ns"] = np.arange(done, done + len(rows)) * 1e9 / per_second
            yield rows
            done += len(rows)
    form = trace.format._replace(resolution=f"{per_second:g} requests a second, as told", recording="")
    return trace._replace(requests=spooled(evenly()), format=form)
