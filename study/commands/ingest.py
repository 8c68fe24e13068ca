"""`study ingest`: what benchmark tools and monitors of the user's own printed, into the run store."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from study import console
from study.commands.result import Json, give
from study.console import number, out
from study.errors import UserError
from study.words import counted

if TYPE_CHECKING:
    from study.ingest.imports import Report

SHOWN_GAPS = 5
SINCE = "_since_"  # in names of what is of long before the run, in the units of the rest


def ingest(
    paths: Annotated[
        list[Path], typer.Argument(help="Files of one run, or folders, each of which is a run.", metavar="FILE|FOLDER...")
    ],
    label: Annotated[
        str | None,
        typer.Option(help="Name of the run in the store; default: the name of its folder or " "first file."),
    ] = None,
    mapping: Annotated[
        Path | None, typer.Option(help="A TOML file that says what the columns of your own CSV are.")
    ] = None,
    started: Annotated[
        str | None, typer.Option(help="Start of series that have no clock, as 2026-11-21T00:46:00Z.")
    ] = None,
    utc_offset: Annotated[str | None, typer.Option(help="Time zone of times that have none, as +02:00.")] = None,
    partial: Annotated[
        bool, typer.Option("--partial", help="Also import what is cut off, damaged or aborted; it is marked.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Import what benchmark tools and monitors printed, and check whether it adds up.

    It reads pgbench, sysbench, fio, zpool iostat, iostat, FileBench, BenchBase, and your own CSV files.
    It finds out from the files which tool and version wrote them.

    Every import is compared with the totals that the tool itself printed.
    What is cut off, damaged or aborted is refused, unless --partial is given.

    docs/your-runs.md has an example of each tool and what to ask the store.

    Example: study ingest data/examples/run --label "my first run"
    """
    from study.ingest import given_runs, imports, mapped_csv
    from study.store import store

    options = imports.Options(label, started, utc_offset, partial, mapped_csv.mapping(mapping) if mapping else None)
    runs = given_runs.given(paths, label)
    reports = []
    try:
        for run in runs:
            with console.doing(f"importing {run.label}"):
                reports.append(imports.imported(run, options))
        with console.doing("bringing the run store up to date"):
            store.refresh()
    except UserError:  # of several runs none is kept, nor what the store cannot hold
        for report in reports:
            if report.added:
                shutil.rmtree(report.folder)
        store.refresh()
        raise

    def say() -> None:
        for report in reports:
            _say(report)

    give([_plain(report) for report in reports], as_json, say)


def _plain(report: "Report") -> dict[str, Any]:
    from study.ingest import clocks

    return {**report._asdict(), "alignment": clocks.alignment(report.series)}


def _say(report: "Report") -> None:
    done = "imported" if report.added else "imported already, so nothing was added"
    out.print(f"{report.label}: {done} (run {report.run_id})", soft_wrap=True)
    if report.reason:
        out.print(f"  marked as partial: {report.reason}", soft_wrap=True)
    for tool in report.tools:
        _say_tool(tool)
    _say_clock(report)
    for name in report.passed_over:
        out.print(f"  passed over: {name}", soft_wrap=True)


def _say_tool(tool: dict[str, Any]) -> None:
    version = " ".join(word for word in (tool["version"], f"(format: {tool['dialect']})" if tool["dialect"] else "") if word)
    out.print(
        f"  {tool['tool']} {version or 'of unknown version'}: {counted(tool['rows_read'], 'row')} of data read, "
        f"{tool['rows_refused']} refused, {counted(tool['other_lines'], 'other line')}; load: {tool['load']}",
        soft_wrap=True,
    )
    for line in tool["refused"]:
        out.print(f"    refused: {line['file']}, line {line['line']}: {line['reason']}", soft_wrap=True)
    for check in tool["checks"]:
        verdict = ("agrees" if check["agrees"] else "differs") + (f"; {check['note']}" if check["note"] else "")
        out.print(
            f"    {check['name']}: {number(check['counted'])} {check['unit']} counted, {number(check['printed'])} printed "
            f"({verdict})",
            soft_wrap=True,
        )
    for kind in ("missing", "warnings"):
        for sentence in tool[kind]:
            out.print(f"    {kind.removesuffix('s')}: {sentence}", soft_wrap=True)
    of_units: dict[str, list[str]] = {}
    for name, unit in sorted(tool["units"].items()):
        if SINCE not in name:
            of_units.setdefault(unit or "1", []).append(name)
    for unit, names in of_units.items():
        out.print(f"    in {unit}: {', '.join(names)}", soft_wrap=True)


def _say_clock(report: "Report") -> None:
    from study.ingest import clocks

    if not report.series:
        return
    for series in report.series:
        starts = (
            f"starts at {series['starts']} UTC ± {number(series['uncertainty_s'])} s ({series['clock']})"
            if series["starts"]
            else f"no time of day ({series['clock']})"
        )
        every = f", every {number(series['interval_s'])} s" if series["interval_s"] else ""
        out.print(
            f"  {series['series']}: {counted(series['points'], 'point')}{every}, {counted(len(series['gaps']), 'gap')}; "
            f"{starts}",
            soft_wrap=True,
        )
        for begin, end in series["gaps"][:SHOWN_GAPS]:
            out.print(f"    gap: from {number(begin)} to {number(end)} s", soft_wrap=True)
    together = clocks.alignment(report.series)
    if len(report.series) > 1 and together["from"]:
        out.print(
            f"  in common: {together['from']} to {together['to']} UTC; two series are apart by "
            f"{number(together['uncertainty_s'])} s at most",
            soft_wrap=True,
        )
