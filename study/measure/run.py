"""Run a plan: each run on a restarted server, warmed up, sampled, and handed to the importers of `study.ingest`.

    for done in run.all_of(plan, programs, places, label): …      what each gave, as it ends

A run that is interrupted or fails is not kept. Those before it are.
"""
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from study.errors import UserError
from study.ingest import given_runs, imports, measured, tables
from study.measure import cluster, plan, processes, provenance, sampling
from study.measure.cluster import Server
from study.measure.plan import GIB, Plan, Run
from study.measure.programs import Programs

PATIENCE = 3.0          # times as long as it should take: then pgbench is taken to hang
PATIENCE_MORE_S = 60.0
THREADS = 2             # of pgbench at most; as many as processors


class Places(NamedTuple):
    """Where the cluster lies, and where its log does if that is apart."""
    folder: Path                # on the disk that is measured
    wal_folder: Path | None


class Done(NamedTuple):
    """A run that has ended: its rate, its mean latency, and what was imported of it."""
    run: Run
    tps: float
    mean_ms: float
    report: imports.Report


def all_of(to_do: Plan, programs: Programs, places: Places, label: str, files: Path | None = None,
           fio: Sequence[str] = ()) -> Iterator[Done]:
    """Each run as it is done. `files`: a folder that gets what the tools printed; `fio`: ids of the imports of its outputs.
    Raises UserError, or processes.Stopped."""
    described, devices = machine_of(places)
    of_all = {"fio": " ".join(fio), "machine": described}
    with cluster.private(programs, places.folder, places.wal_folder) as server:
        server.start({"max_wal_size": "4GB"})
        for scale in sorted({planned.rung.scale for planned in to_do.runs}):
            server.fill(scale)
            _refuse_full(server, to_do)
        server.stop()
        for planned in to_do.runs:
            processes.refuse_stopped()
            with tempfile.TemporaryDirectory(prefix="run-", dir=server.folder) as scratch:
                processes.give(Path(scratch), server.owner)
                settings = _measure(server, to_do, planned, Path(scratch), devices)
                yield _kept(to_do, planned, Path(scratch), label, programs.version, settings, of_all, files)


def machine_of(places: Places) -> tuple[dict[str, str], list[str]]:
    """What it is measured on, in words, and the block devices to sample."""
    data = provenance.place(places.folder)
    described = provenance.host() | {f"data.{name}": text for name, text in data.described.items()}
    if places.wal_folder is None:
        return described, list(data.devices)
    log = provenance.place(places.wal_folder)
    described |= {f"log.{name}": text for name, text in log.described.items()}
    described["log.device_is"] = "the same" if log.devices == data.devices else "another"
    return described, list(dict.fromkeys([*data.devices, *log.devices]))


def params_of(to_do: Plan, planned: Run, label: str, version: str, of_all: dict[str, Any]) -> dict[str, Any]:
    """All that is known of a run before it begins. `of_all`: what is the same for all."""
    rung = planned.rung
    rungs = dict.fromkeys(run.rung.name for run in to_do.runs)
    return {"set": label, "rung": rung.name, "against": rung.against, "change": rung.change, "unsafe": rung.unsafe,
            "wal_apart": rung.wal_apart, "scale": rung.scale, "clients": rung.clients, "threads": min(THREADS, rung.clients),
            "repeat": planned.repeat, "order": planned.order, "seed": to_do.seed, "seconds": to_do.sizes.seconds,
            "warm_up_s": to_do.sizes.warm_up_s, "version": version, "rungs": " ".join(rungs),
            "chosen": rung.settings, **of_all}


def _measure(server: Server, to_do: Plan, planned: Run, scratch: Path, devices: list[str]) -> dict[str, Any]:
    """One run, its files in `scratch`; what there is to be said of it. Raises UserError if pgbench fails."""
    tables = server.tables_of(planned.rung.scale)
    server.start(planned.rung.settings, planned.rung.wal_apart)
    settings = server.settings()
    _pgbench(server, to_do, planned, tables, to_do.sizes.warm_up_s, scratch, "warm-up.txt", [])
    server.asked("CHECKPOINT")
    with sampling.taken(server, tables, devices) as samples:
        _pgbench(server, to_do, planned, tables, to_do.sizes.seconds, scratch, "pgbench.txt",
                 ["-n", "-P", "1", "--progress-timestamp", "-l", "--log-prefix", str(scratch / "pgbench_log")])
        server.refuse_dead()
    server.stop()
    (scratch / "warm-up.txt").unlink()
    return {"settings": settings, "series": sampling.series(samples)}


def _pgbench(server: Server, to_do: Plan, planned: Run, tables: str, seconds: int, scratch: Path, name: str,
             options: list[str]) -> None:
    if not seconds:
        (scratch / name).touch()
        return
    threads = str(min(THREADS, planned.rung.clients))
    words = [server.programs.path("pgbench"), *server.reached(), "-c", str(planned.rung.clients), "-j", threads, "-T",
             str(seconds), *options, tables]
    with (scratch / name).open("wb") as out:
        process = processes.start(words, server.owner, scratch, out)
        try:
            deadline = time.monotonic() + PATIENCE * seconds + PATIENCE_MORE_S
            while not processes.waited(process, processes.WATCH_S):
                server.refuse_dead()
                _refuse_full(server, to_do)
                if time.monotonic() > deadline:
                    raise UserError(f"pgbench has not ended {PATIENCE * seconds + PATIENCE_MORE_S:g} s after it began, for "
                                    f"a run of {seconds} s; look what holds up the disk")
        finally:
            processes.end(process, signal.SIGTERM)
    if process.returncode:
        shown = (scratch / name).read_text(errors="replace").strip().splitlines()
        raise UserError(f"pgbench fails in rung {planned.rung.name}: {' / '.join(shown[-2:])[-200:]}; nothing of that run "
                        "is kept")


def _refuse_full(server: Server, to_do: Plan) -> None:
    """UserError when the cluster is larger than was said, or the disk nearly full."""
    taken = sum(_size(path) for folder in filter(None, (server.folder, server.wal)) for path in folder.rglob("*"))
    space = shutil.disk_usage(server.folder)
    if taken > to_do.disk_bytes:
        raise UserError(f"the cluster takes {taken / GIB:.2f} GiB, more than the {to_do.disk_bytes / GIB:.2f} GiB that were "
                        "to be enough; the measurement was stopped")
    if space.free < plan.LEFT_FREE * space.total / 2:
        raise UserError(f"only {space.free / GIB:.2f} GiB are left free on the disk of {server.folder.parent}; the "
                        "measurement was stopped. Make room there, or choose another --dir")


def _size(path: Path) -> int:
    """B; 0 for what is gone by now."""
    try:
        return path.lstat().st_blocks * 512
    except OSError:
        return 0


def _kept(to_do: Plan, planned: Run, scratch: Path, label: str, server_version: str, measurement: dict[str, Any],
          of_all: dict[str, Any], files: Path | None) -> Done:
    """The run in the folder of imports."""
    rung = planned.rung
    measured.write(scratch / measured.FILE, params_of(to_do, planned, label, server_version, of_all) | {
        "settings": measurement["settings"]}, measurement["series"])
    [given] = given_runs.given([scratch], f"{label}/{rung.name}")
    report = imports.imported(given, imports.Options())
    if files is not None:
        to = files / f"{rung.name}-{planned.repeat}"
        to.mkdir(parents=True, exist_ok=True)
        for name in ("pgbench.txt", measured.FILE):
            shutil.copyfile(scratch / name, to / name)
    totals = tables.totals(report.folder)
    return Done(planned, totals["pgbench.tps"], totals["pgbench.response.mean"], report)

