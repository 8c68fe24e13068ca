"""What a machine and its server do in each second of a run: /proc/diskstats, /proc/stat and pg_stat_*.

    with sampling.taken(server, tables, devices) as samples: …
    sampling.series(samples)        {"disk": …, "processors": …, "postgres": …}, columns and rows of rates

One client of psql asks the server; it holds one connection and takes no lock. Counters become rates of the second before.
"""
import contextlib
import itertools
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from study.measure import processes
from study.measure.cluster import Server

EVERY_S = 1.0
SECTOR = 512                    # B, of /proc/diskstats, whatever the device has (Documentation/admin-guide/iostats.rst).
# Columns of /proc/diskstats behind the name, the same document: 1 reads, 3 sectors read, 5 writes, 7 sectors written,
# 10 ms busy, 16 flushes (from Linux 5.5 on).
OF_DISK = {"reads": (0, 1, "1/s"), "read_bytes": (2, SECTOR, "B/s"), "writes": (4, 1, "1/s"),
           "written_bytes": (6, SECTOR, "B/s"), "busy": (9, 0.001, "1"), "flushes": (15, 1, "1/s")}
# Columns of the line cpu of /proc/stat (proc_stat(5)); stolen: taken by the host of a virtual machine.
OF_PROCESSORS = {"user": (0, 1), "system": (2, 5, 6), "waiting": (4,), "stolen": (7,), "idle": (3,)}
OURS = "ours"                   # of user and system: what server, clients and we take; the rest is of other programs
POSTGRES = {"commits": "1/s", "wal_bytes": "B/s", "wal_records": "1/s", "full_page_images": "1/s", "wal_syncs": "1/s",
            "wal_sync_ms": "1", "checkpoints": "1/s", "checkpoint_pages": "1/s", "blocks_read": "1/s"}


class Moment(NamedTuple):
    """Counters at one time."""
    epoch_s: float
    values: dict[str, dict[str, float]]     # of a device, or of the whole: "" -> counter -> value


class _Ours:
    """Ticks that processes of a folder, and we ourselves, have taken so far; those that have ended included."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.total, self.of = folder, 0.0, dict[int, float]()

    def ticks(self) -> float:
        for process in [*processes.living_in(self.folder), os.getpid()]:
            with contextlib.suppress(OSError, ValueError, IndexError):
                words = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
                now = float(words[11]) + float(words[12])       # utime, stime: proc_pid_stat(5), from the third on
                self.total += now - self.of.get(process, 0.0)
                self.of[process] = now
        return self.total


class Samples(NamedTuple):
    """What was read in each second: of the disk, the processors and the server."""
    disk: list[Moment]
    processors: list[Moment]
    postgres: list[Moment]


def query(release: int) -> str:
    """Counters of the server as one JSON object. Views have moved columns. 17 parted checkpoints from bgwriter. 18 moved
    syncs of the log to pg_stat_io, where those of new segments (context init) stand apart."""
    syncs = ("(SELECT sum(fsyncs), sum(fsync_time) FROM pg_stat_io WHERE object = 'wal' "
             "AND context = 'normal')" if release >= 18 else
             "(SELECT wal_sync, wal_sync_time FROM pg_stat_wal)")
    points = ("(SELECT num_timed + num_requested, buffers_written FROM pg_stat_checkpointer)" if release >= 17 else
              "(SELECT checkpoints_timed + checkpoints_req, buffers_checkpoint FROM pg_stat_bgwriter)")
    return f"""
        SELECT json_build_object('epoch_s', extract(epoch FROM clock_timestamp()), 'commits', d.xact_commit,
            'blocks_read', d.blks_read, 'wal_bytes', w.wal_bytes, 'wal_records', w.wal_records,
            'full_page_images', w.wal_fpi, 'wal_syncs', s.n, 'wal_sync_ms', s.ms, 'checkpoints', c.n,
            'checkpoint_pages', c.pages)
        FROM pg_stat_database d, pg_stat_wal w, {syncs} s(n, ms), {points} c(n, pages)
        WHERE d.datname = current_database()"""


def disk_counters(text: str, devices: list[str]) -> dict[str, dict[str, float]]:
    """Of the text of /proc/diskstats; a counter that an old kernel lacks is left out."""
    counters = {}
    for row in text.splitlines():
        words = row.split()
        if len(words) > 3 and words[2] in devices:
            numbers = [float(word) for word in words[3:]]
            counters[words[2]] = {name: numbers[place] * unit for name, (place, unit, _) in OF_DISK.items()
                               if place < len(numbers)}
    return counters


def processor_counters(text: str) -> dict[str, float]:
    """Of the text of /proc/stat, in ticks."""
    numbers = [float(word) for word in text.splitlines()[0].split()[1:]]
    return {name: sum(numbers[place] for place in places if place < len(numbers)) for name, places in OF_PROCESSORS.items()}


@contextlib.contextmanager
def taken(server: Server, tables: str, devices: list[str]) -> Iterator[Samples]:
    """Sampled from here on until the end of the block."""
    samples, over = Samples([], [], []), threading.Event()
    asking = processes.start([server.programs.path("psql"), "-XAtqw", *server.reached(), "-d", tables], server.owner,
                             server.folder, subprocess.PIPE, subprocess.DEVNULL, subprocess.PIPE)
    assert asking.stdin is not None
    asking.stdin.write(f"{' '.join(query(server.programs.release).split())} \\watch {EVERY_S:g}\n".encode())
    asking.stdin.flush()
    threads = [threading.Thread(target=_listen, args=(asking, samples), daemon=True),
               threading.Thread(target=_look, args=(devices, samples, over, _Ours(server.folder)), daemon=True)]
    for thread in threads:
        thread.start()
    try:
        yield samples
    finally:
        over.set()
        processes.end(asking, signal.SIGTERM)
        for thread in threads:
            thread.join(processes.PATIENCE_S)


def _look(devices: list[str], samples: Samples, over: threading.Event, ours: _Ours) -> None:
    due = time.monotonic()
    while not over.is_set():
        now = time.time()
        samples.disk.append(Moment(now, disk_counters(Path("/proc/diskstats").read_text(), devices)))
        samples.processors.append(Moment(now, {"": {
            **processor_counters(Path("/proc/stat").read_text()), OURS: ours.ticks()}}))
        due += EVERY_S
        over.wait(max(0.0, due - time.monotonic()))


def _listen(asking: subprocess.Popen, samples: Samples) -> None:
    for line in asking.stdout or ():
        with contextlib.suppress(ValueError, TypeError, AttributeError, KeyError):
            sample = json.loads(line)
            samples.postgres.append(Moment(float(sample.pop("epoch_s")), {"": {
                name: float(value) for name, value in sample.items() if value is not None}}))


def series(samples: Samples) -> dict[str, dict[str, Any]]:
    """Rates of each second: columns, units, and rows of epoch_s, subject, values (None where there is none)."""
    units = {name: unit for name, (_, _, unit) in OF_DISK.items()}
    return {"disk": _rates(samples.disk, units), "postgres": _rates(samples.postgres, POSTGRES),
            "processors": _shares(_rates(samples.processors, dict.fromkeys([*OF_PROCESSORS, OURS], "1")))}


def _rates(moments: list[Moment], units: dict[str, str]) -> dict[str, Any]:
    rows = []
    for before, now in itertools.pairwise(moments):
        elapsed = now.epoch_s - before.epoch_s
        for subject in now.values.keys() & before.values.keys() if elapsed > 0 else ():
            old, new = before.values[subject], now.values[subject]
            rows.append([round(now.epoch_s, 3), subject, *(
                _digits((new[name] - old[name]) / elapsed * (0.001 if name == "wal_sync_ms" else 1))
                if name in new and name in old else None for name in units)])
    return {"columns": list(units), "units": list(units.values()), "rows": rows}


def _shares(rates: dict[str, Any]) -> dict[str, Any]:
    """Of all processors together: each second adds up to 1, but for OURS, the last, which is a part of it."""
    rows = [[*row[:2], *(_digits(value / sum(row[2:-1])) for value in row[2:])]
            for row in rates["rows"] if sum(row[2:-1]) > 0]
    return {**rates, "rows": rows}


def _digits(value: float) -> float:
    return float(f"{value:.6g}")
