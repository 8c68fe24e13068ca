"""An import: which files are of which tool, what they hold, how it adds up, and the folder that keeps it.

`given_runs` says what is a run, `clocks` when it was, and `tables` writes its numbers. The id of a run is a digest of the
contents of its files, so that the same import twice adds nothing. A run is written beside its place and renamed into it: an
import that is interrupted leaves nothing. What is damaged, cut off or aborted is refused, or with `partial` kept and marked.
"""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pyarrow as pa

from study.errors import UserError
from study.ingest import (
    benchbase,
    clocks,
    filebench,
    iostat,
    mapped_csv,
    measured,
    other_tools,
    sysbench,
    tables,
    text,
    unix_iostat,
)
from study.ingest.fio import importer as fio
from study.ingest.given_runs import Given
from study.ingest.pgbench import importer as pgbench
from study.ingest.reading import Damaged, Reading, Source
from study.ingest.zpool_iostat import importer as zpool_iostat
from study.project import digest, exclusively, runs_folder, write_atomically
from study.runs.folder import MANIFEST, manifest
from study.words import counted

IMPORTERS: tuple[ModuleType, ...] = (
    pgbench, sysbench, fio, zpool_iostat, iostat, unix_iostat, filebench, benchbase, measured
)
FOLDER = "imported"  # below the folder of runs
VERSION = 6  # of what is kept; a change of an importer that changes numbers raises it
OLDER = "imported by an older version of the study, which read some outputs otherwise"
OK, PARTIAL = "ok", "partial"  # status of a run
IMPOSSIBLE = (ValueError, ArithmeticError, pa.ArrowException)  # of what is no number, date or text after all


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


def recognised(run: Given) -> tuple[dict[ModuleType, list[Source]], list[str]]:
    """The files of each tool, and what of the rest is passed over. Raises UserError if nothing is known."""
    of_tools: dict[ModuleType, list[Source]] = {}
    passed_over, others = list(run.passed_over), list[str]()
    for path, name in run.files:
        head = text.head(path)
        for module in IMPORTERS:
            if (kind := module.kind(name, head)) is not None:
                of_tools.setdefault(module, []).append(Source(path, name, kind))
                passed_over += [
                    f"{name}: its output of {other.TOOL}, beside that of {module.TOOL}; give each in a file of its own"
                    for other in IMPORTERS
                    if other is not module and other.kind(name, head) is not None
                ]
                break
        else:
            other = other_tools.whose(head)
            what = "empty" if not head else f"output of {other.name}" if other else "of no tool that is known"
            passed_over.append(f"{name}: {what}")
            others += [f"{name} is output of {other.name}, which is not read here; {other.instead}"] if other else []
    if not of_tools:
        if others:
            raise UserError(f"{others[0]}; nothing was imported")
        if not any(path.stat().st_size for path, _ in run.files):
            raise UserError(f"{_files_of(run)} empty; a tool that is killed may leave it so; nothing was imported")
        names = ", ".join(module.TOOL for module in IMPORTERS)
        raise UserError(f"{_files_of(run)} of no tool that is read here ({names}); a CSV of your own needs --mapping")
    return of_tools, passed_over


def _files_of(run: Given) -> str:
    return f"{run.files[0][1]} is" if len(run.files) == 1 else f"the {len(run.files)} files of {run.label} are"


def imported(run: Given, options: Options, home: Path | None = None) -> Report:
    """Read a run and keep it, in the folder `home` (default: with the runs, where the store finds it). Raises UserError, and
    then nothing has changed."""
    of_tools, passed_over = (
        recognised(run)
        if options.mapping is None
        else ({mapped_csv: [Source(path, name, "") for path, name in run.files]}, run.passed_over)
    )
    mapping = options.mapping.model_dump_json() if options.mapping else None
    inputs = {source.name: _sha256(source.path) for sources in of_tools.values() for source in sources}
    run_id = digest([json.dumps([VERSION, sorted(inputs.values()), options.started, options.utc_offset, mapping]).encode()])[
        :16
    ]
    home = home or runs_folder() / FOLDER
    with exclusively(runs_folder() / ".locks" / FOLDER):
        if known := manifest(home / run_id):
            return _there_already(known, home / run_id, options)
        _refuse_beside_an_older_reading(inputs, home)
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


def is_older(known: dict[str, Any]) -> bool:
    """Whether an import was read by an older version of the study."""
    return bool(known["version"] < VERSION)


def _refuse_beside_an_older_reading(inputs: dict[str, str], home: Path) -> None:
    """The same run twice in the store would count twice."""
    for path in sorted(home.glob(f"*/{MANIFEST}")):
        known = manifest(path.parent)
        if known and is_older(known) and sorted(known["of_files"].values()) == sorted(inputs.values()):
            raise UserError(f"these files are there as '{known['label']}', {OLDER}; delete {path.parent} and import them "
                            "again")


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
            series.clock = clocks.in_utc(series.clock, options.started, options.utc_offset)
    series_shown = [clocks.of_series(reading.tool, series) for reading in readings for series in reading.series]
    _refuse_two_of_a_name([shown["series"] for shown in series_shown])
    starts = [shown["starts"] for shown in series_shown if shown["starts"]]
    starts += [clocks.utc(reading.begins) for reading in readings if reading.begins is not None]
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
    tables.write(draft, readings, options.mapping)
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
