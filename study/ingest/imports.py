"""An import: which files are of which tool, what they hold, how it adds up, and the folder that keeps it.

A run is one folder, or the files that are given beside each other. Its id is a digest of their contents, so that the same
import twice adds nothing. It is written beside its place and renamed into it: an import that is interrupted leaves nothing.
What is damaged, cut off or aborted is refused, or with `partial` kept and marked.
"""

import hashlib
import json
import math
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from study.errors import UserError
from study.given_files import refuse_endless
from study.ingest import benchbase, filebench, fio, iostat, mapped_csv, measured, pgbench, sysbench, text, zpool_iostat
from study.ingest.reading import BINS, POINTS, Clock, Damaged, Reading, Series, Source
from study.project import digest, exclusively, runs_folder, write_atomically
from study.runs import samples
from study.runs.folder import MANIFEST, manifest
from study.words import counted

IMPORTERS: tuple[ModuleType, ...] = (pgbench, sysbench, fio, zpool_iostat, iostat, filebench, benchbase, measured)
FOLDER = "imported"  # below the folder of runs
VERSION = 1  # of what is kept; a change of an importer that changes numbers raises it
MAX_BYTES = 2**36  # of a file: a log of ten million transactions is 400 MB
MAX_FILES = 10_000  # of a folder
METRICS, OBSERVATIONS, HISTOGRAMS, TRANSACTIONS = "metrics", "observations", "histograms", "transactions"
OK, PARTIAL = "ok", "partial"  # status of a run
SINCE = "_since_"  # in the names of series that are of long before the run
IMPOSSIBLE = (ValueError, ArithmeticError, pa.ArrowException)  # of what is no number, date or text after all
GAP = 1.5  # intervals


class Given(NamedTuple):
    """A run as it was given: files, with the names that the user knows them by."""

    label: str
    files: list[tuple[Path, str]]
    passed_over: list[str]


class Options(NamedTuple):
    """What the user says beyond the files."""

    label: str | None = None
    started: str | None = None  # ISO 8601: when series begin that have no clock
    utc_offset: str | None = None  # +02:00: of times without a zone
    partial: bool = False
    mapping: mapped_csv.Mapping | None = None  # of a CSV


class Report(NamedTuple):
    """What became of one import."""

    run_id: str
    label: str
    status: str
    reason: str
    added: bool  # False if it was there already
    folder: Path
    tools: list[dict[str, Any]]
    series: list[dict[str, Any]]
    passed_over: list[str]


def given(paths: Sequence[Path], label: str | None = None) -> list[Given]:
    """The runs that paths name. Raises UserError."""
    folders = [path for path in paths if path.is_dir()]
    files = [path for path in paths if not path.is_dir()]
    for path in files:
        if not path.exists():
            raise UserError(f"{path} is not there; check the path")
        refuse_endless(path, MAX_BYTES)
        if not path.is_file():
            raise UserError(f"{path} is no plain file, so it cannot be read twice; write it to a file first")
    runs = [Given(label or folder.resolve().name, *_below(folder)) for folder in folders]
    if files:
        runs.append(Given(label or files[0].stem, _named(files), []))
    if label and len(runs) > 1:
        raise UserError(f"--label names one run, but {len(runs)} were given (each folder is one); import them one by one")
    return runs


def _named(files: Sequence[Path]) -> list[tuple[Path, str]]:
    """By their names alone, where these differ."""
    names = [path.name for path in files]
    return [(path, path.name if names.count(path.name) == 1 else str(path)) for path in dict.fromkeys(files)]


def _below(folder: Path) -> tuple[list[tuple[Path, str]], list[str]]:
    """Files of a folder and of those below it; links and hidden files are passed over."""
    files, passed_over = [], []
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and not Path(parent, name).is_symlink())
        for name in sorted(names):
            path = Path(parent, name)
            shown = path.relative_to(folder).as_posix()
            if path.is_symlink() or not path.is_file():
                passed_over.append(f"{shown}: a link or no plain file")
            elif not name.startswith("."):
                refuse_endless(path, MAX_BYTES)
                files.append((path, shown))
        if len(files) > MAX_FILES:
            raise UserError(f"{folder} has more than {MAX_FILES} files; give the folder of one run")
    if not files:
        raise UserError(f"{folder} has no files to import; check the path")
    return files, passed_over


def recognised(run: Given) -> tuple[dict[ModuleType, list[Source]], list[str]]:
    """The files of each tool, and what of the rest is passed over. Raises UserError if nothing is known."""
    of_tools: dict[ModuleType, list[Source]] = {}
    passed_over = list(run.passed_over)
    for path, name in run.files:
        head = text.head(path)
        for module in IMPORTERS:
            if (kind := module.kind(name, head)) is not None:
                of_tools.setdefault(module, []).append(Source(path, name, kind))
                break
        else:
            passed_over.append(f"{name}: empty" if not path.stat().st_size else f"{name}: of no tool that is known")
    if not of_tools:
        names = ", ".join(module.TOOL for module in IMPORTERS)
        raise UserError(f"{_files_of(run)} of no tool that is read here ({names}); a CSV of your own needs --mapping")
    return of_tools, passed_over


def _files_of(run: Given) -> str:
    return f"{run.files[0][1]} is" if len(run.files) == 1 else f"the {len(run.files)} files of {run.label} are"


def imported(run: Given, options: Options) -> Report:
    """Read a run and keep it. Raises UserError, and then nothing has changed."""
    of_tools, passed_over = (
        recognised(run)
        if options.mapping is None
        else ({mapped_csv: [Source(path, name, "") for path, name in run.files]}, run.passed_over)
    )
    said = options.mapping.model_dump_json() if options.mapping else None
    inputs = {source.name: _sha256(source.path) for sources in of_tools.values() for source in sources}
    run_id = digest([json.dumps([VERSION, sorted(inputs.values()), options.started, options.utc_offset, said]).encode()])[
        :16
    ]
    home = runs_folder() / FOLDER
    with exclusively(runs_folder() / ".locks" / FOLDER):
        if known := manifest(home / run_id):
            return _there_already(known, home / run_id, options)
        home.mkdir(parents=True, exist_ok=True)
        for left in home.glob(".import-*"):  # by a command that was killed: whoever writes is alone
            shutil.rmtree(left)
        with tempfile.TemporaryDirectory(prefix=".import-", dir=home) as scratch:
            readings = [_read(module, sources, Path(scratch), options) for module, sources in of_tools.items()]
            try:
                return _keep(run, options, readings, inputs, passed_over, Path(scratch), home / run_id)
            except IMPOSSIBLE as error:
                raise UserError(
                    f"cannot keep {run.label!r}: it holds a name or a number that cannot be ({_short(error)}); "
                    "nothing of it was imported"
                ) from None


def totals(folder: Path) -> dict[str, float]:
    """Numbers of a whole run that was kept, by name; each in the unit that the table `metrics` has beside it."""
    table = pq.read_table(folder / f"{METRICS}.parquet")
    return dict(zip(table["name"].to_pylist(), table["value"].to_pylist(), strict=True))


def kept() -> Iterator[tuple[dict[str, Any], Path]]:
    """Manifest and folder of every import."""
    for path in sorted((runs_folder() / FOLDER).glob(f"*/{MANIFEST}")):
        if known := manifest(path.parent):
            yield known, path.parent


def _there_already(known: dict[str, Any], folder: Path, options: Options) -> Report:
    if options.label and known["label"] != options.label:
        raise UserError(
            f"these files are imported already, as '{known['label']}'; to give them another label, delete "
            f"{folder} and import them again"
        )
    return Report(
        run_id=known["run_id"],
        label=known["label"],
        status=known["status"],
        reason=known["reason"] or "",
        added=False,
        folder=folder,
        tools=known["tools"],
        series=known["series"],
        passed_over=known["passed_over"],
    )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read(module: ModuleType, sources: list[Source], scratch: Path, options: Options) -> Reading:
    try:
        if options.mapping is not None:
            if len(sources) > 1:
                raise Damaged(f"a mapping is of one CSV, but {len(sources)} files were given")
            reading = mapped_csv.read(sources[0], options.mapping)
        else:
            reading = module.read(sources, scratch)
    except Damaged as error:
        raise UserError(f"cannot import {sources[0].name} as {module.TOOL}: {error}; nothing of it was imported") from None
    except IMPOSSIBLE as error:
        raise UserError(
            f"cannot import {sources[0].name} as {module.TOOL}: it holds a number that cannot be ({_short(error)}); "
            "nothing of it was imported"
        ) from None
    if not reading.rows and not reading.problems and not reading.refused:
        reading.problems.append(f"{sources[0].name} holds no data")
    return reading


def _short(error: Exception) -> str:
    """Its first words, of printable characters alone."""
    return "".join(letter for letter in str(error)[:60] if letter.isprintable())


def _objections(reading: Reading) -> Iterator[str]:
    """Why an import is not whole, each as a clause."""
    yield from reading.problems
    if reading.refused:
        first = reading.refused[0]
        where = f"line {first.line} of {first.file}" if first.line else first.file
        yield f"{counted(reading.n_refused, 'line')} cannot be read, the first {where}: {first.reason}"
    for check in reading.checks:
        if not check.agrees:
            yield (
                f"{check.name}: {check.counted:.6g} {check.unit} were counted, but {reading.tool} printed "
                f"{check.printed:.6g}"
            )


def _keep(
    run: Given,
    options: Options,
    readings: list[Reading],
    inputs: dict[str, str],
    passed_over: list[str],
    scratch: Path,
    folder: Path,
) -> Report:
    objections = [objection for reading in readings for objection in _objections(reading)]
    if objections and not options.partial:
        more = f" (and {len(objections) - 1} more)" if len(objections) > 1 else ""
        raise UserError(
            f"{run.label} is not whole: {objections[0]}{more}; nothing of it was imported, and --partial imports what "
            "there is, marked so"
        )
    for reading in readings:
        for series in reading.series:
            series.clock = _clock(series.clock, options)
    series_shown = [_of_series(reading.tool, series) for reading in readings for series in reading.series]
    _refuse_two_of_a_name([shown["series"] for shown in series_shown])
    starts = [shown["starts"] for shown in series_shown if shown["starts"]]
    starts += [utc(reading.begins) for reading in readings if reading.begins is not None]
    made: dict[str, Any] = {
        "run_id": folder.name,
        "origin": "imported",
        "name": "+".join(reading.tool for reading in readings),
        "label": run.label,
        "status": PARTIAL if objections else OK,
        "reason": "; ".join(objections) or None,
        "started": min(starts, default=None),
        "parameters": _parameters(readings),
        "tools": [_of_tool(reading) for reading in readings],
        "series": series_shown,
        "passed_over": passed_over,
        "of_files": inputs,
        "version": VERSION,
    }
    draft = scratch / "draft"
    draft.mkdir()
    _write_tables(draft, readings, options.mapping)
    made["files"] = {
        path.relative_to(draft).as_posix(): digest([path.read_bytes()]) for path in sorted(draft.rglob("*.parquet"))
    }
    write_atomically(draft / MANIFEST, json.dumps(made, indent=1, ensure_ascii=False) + "\n")
    shutil.rmtree(folder, ignore_errors=True)  # without a manifest it never counted
    os.replace(draft, folder)
    return Report(
        run_id=folder.name, label=run.label, status=made["status"], reason=made["reason"] or "", added=True,
        folder=folder, tools=made["tools"], series=series_shown, passed_over=passed_over
    )


def _refuse_two_of_a_name(names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"two files hold the series {name}; a run has one of each, so give each run by itself")


def _parameters(readings: list[Reading]) -> dict[str, Any]:
    return {f"{reading.tool}.{name}": value for reading in readings for name, value in reading.params.items()}


def _of_tool(reading: Reading) -> dict[str, Any]:
    return {
        "tool": reading.tool,
        "dialect": reading.dialect,
        "version": reading.version,
        "load": reading.load,
        "rows_read": reading.rows,
        "rows_refused": reading.n_refused,
        "other_lines": reading.other_lines,
        "checks": [check._asdict() for check in reading.checks],
        "refused": [refused._asdict() for refused in reading.refused],
        "problems": reading.problems,
        "missing": reading.missing,
        "warnings": reading.warnings,
        "units": (
            {f"{series.name}.{quantity.name}": quantity.unit for series in reading.series for quantity in series.quantities}
            | {total.name: total.unit for total in reading.totals}
        ),
    }


def _write_tables(draft: Path, readings: list[Reading], mapping: mapped_csv.Mapping | None) -> None:
    totals = [total for reading in readings for total in reading.totals]
    pq.write_table(
        pa.table(
            {
                "name": pa.array([total.name for total in totals], pa.string()),
                "value": pa.array([total.value for total in totals], pa.float64()),
                "unit": pa.array([total.unit or "1" for total in totals], pa.string()),
            }
        ),
        draft / f"{METRICS}.parquet",
    )
    with pq.ParquetWriter(draft / f"{OBSERVATIONS}.parquet", POINTS) as writer:
        for reading in readings:
            for series in reading.series:
                writer.write_table(series.table())
    rows = [
        (made.series, made.subject, None if math.isnan(made.t) else made.t, made.name, *one, made.unit, made.of)
        for reading in readings
        for made in reading.histograms
        for one in made.bins
    ]
    pq.write_table(
        pa.Table.from_pylist([dict(zip(BINS.names, row, strict=True)) for row in rows], BINS),
        draft / f"{HISTOGRAMS}.parquet",
    )
    if mapping is not None and mapping.kind == "runs":
        samples.write(draft, mapping.series, samples.checked(mapping.series, mapped_csv.samples(readings[0])))
    (draft / TRANSACTIONS).mkdir()
    for n, path in enumerate(path for reading in readings for path in reading.transactions):
        os.replace(path, draft / TRANSACTIONS / f"{n}.parquet")


# --- one clock --------------------------------------------------------------------------------------------------------


def _clock(clock: Clock, options: Options) -> Clock:
    """In UTC, with what the user says where the files do not."""
    if clock.starts is not None and clock.source.startswith(text.LOCAL):
        if options.utc_offset is None:
            return Clock(None, math.inf, f"{clock.source}; --utc-offset gives the zone")
        return Clock(
            clock.starts - offset_s(options.utc_offset),
            clock.uncertainty_s,
            f"{clock.source}, taken as UTC{options.utc_offset}",
        )
    if clock.starts is None and options.started is not None:
        moment, resolution = started_s(options.started)
        return Clock(moment, resolution, "--started")
    return clock


def offset_s(offset: str) -> float:
    """Seconds of +02:00. Raises UserError."""
    seen = text.epoch(f"1970-01-01T00:00:00{offset}")
    if seen is None or not seen[1]:
        raise UserError(f"--utc-offset is '{offset}', which is no offset; write it like +02:00")
    return -seen[0]


def started_s(moment: str) -> tuple[float, float]:
    """Seconds since 1970 and to either side what is not told. Raises UserError."""
    seen = text.epoch(moment)
    if seen is None or not seen[1]:
        raise UserError(f"--started is '{moment}', which is no time with a zone; write it like 2026-11-21T00:46:00Z")
    return seen[0], 60.0 if moment.count(":") == 1 else 1.0


def utc(seconds: float) -> str:
    """ISO 8601 to the microsecond, without a zone, as the store has it."""
    return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None).isoformat(timespec="microseconds")


def _of_series(tool: str, series: Series) -> dict[str, Any]:
    times = np.unique(np.array(series.times))
    steps = np.diff(times)
    interval = series.interval_s or (float(np.median(steps)) if len(steps) else None)
    wide = np.flatnonzero(steps > GAP * interval) if interval else np.empty(0, int)
    known = series.clock.starts is not None
    return {
        "series": series.name,
        "tool": tool,
        "starts": utc(series.clock.starts) if series.clock.starts is not None else None,
        "uncertainty_s": series.clock.uncertainty_s if known else None,
        "clock": series.clock.source,
        "interval_s": interval,
        "first_s": float(times[0]) if len(times) else None,
        "last_s": float(times[-1]) if len(times) else None,
        "points": len(times),
        "gaps": [[float(times[n]), float(times[n + 1])] for n in wide],
    }


def alignment(series: list[dict[str, Any]]) -> dict[str, Any]:
    """What all series with a clock have in common: from when to when, UTC, and how far two of them may be apart, s."""
    known = [one for one in series if one["starts"] and one["points"] and SINCE not in one["series"]]
    frame = pd.DataFrame(
        [
            {
                "begin": datetime.fromisoformat(one["starts"]).replace(tzinfo=UTC).timestamp() + one["first_s"],
                "end": datetime.fromisoformat(one["starts"]).replace(tzinfo=UTC).timestamp() + one["last_s"],
                "uncertainty": one["uncertainty_s"],
            }
            for one in known
        ]
    )
    without = [one["series"] for one in series if not one["starts"]]
    if frame.empty:
        return {"from": None, "to": None, "uncertainty_s": None, "without_clock": without}
    begin, end = frame["begin"].max(), frame["end"].min()
    apart = sum(sorted(frame["uncertainty"])[-2:])
    return {
        "from": utc(begin) if end >= begin else None,
        "to": utc(end) if end >= begin else None,
        "uncertainty_s": float(apart),
        "without_clock": without,
    }
