"""The verbs that say what there is: `study scenario`, of the machine at hand, and `study hardware`, of sheets."""
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from study.commands import complete
from study.commands.result import Json, give
from study.console import number, out, page
from study.errors import UserError
from study.project import refuse_unwritable, write_atomically

if TYPE_CHECKING:
    from study.machines.this_machine import Seen

machines = typer.Typer(rich_markup_mode="rich")
PANEL = "Your own machine"
SECONDS = 20            # that a tool may take
PSQL = ("psql", "-XAtw", "-d", "postgres", "-c")
TOOLS = {"lsblk": ("lsblk", "-J", "-b", "-O"), "zpool status": ("zpool", "status", "-PL"),
         "zpool list": ("zpool", "list", "-Hpv"), "zfs get": ("zfs", "get", "-Hp", "-t", "filesystem,volume", "all"),
         "SHOW ALL": (*PSQL, "SHOW ALL"), "databases": (*PSQL, "SELECT sum(pg_database_size(oid)) FROM pg_database")}
MODULE = "/sys/module/zfs"
FILES_ALWAYS = ("/proc/cpuinfo", "/proc/meminfo", f"{MODULE}/version")
FILES = (*FILES_ALWAYS, *(f"{MODULE}/parameters/{name}" for name in (
    "zfs_arc_max", "zfs_prefetch_disable", "zfs_nocacheflush")))


@machines.command("scenario", rich_help_panel=PANEL)
def of_this_machine(
    from_this_machine: Annotated[bool, typer.Option(
        "--from-this-machine", help="Look at lsblk, zpool, zfs, /proc, /sys and psql of this machine.")] = False,
    dataset: Annotated[str | None, typer.Option(help="Data set of the database; if not given, as PostgreSQL says.")] = None,
    to: Annotated[Path | None, typer.Option(help="Write to this file, which must not exist.")] = None,
    as_json: Json = False,
) -> None:
    """Write a scenario of this machine: each line says where its value came from, or that it could not be seen.

    Nothing is changed, and no root is needed. psql takes PGHOST and PGUSER as usual.
    A value that no tool shows is a guess, and its line says so. Serial numbers are not written.

    Exits with 0 if a scenario was written, and with 2 if no disk can be seen or the file exists.

    Example: study scenario --from-this-machine --to mine.toml
    """
    from study.machines import this_machine
    if not from_this_machine:
        raise UserError("--from-this-machine is missing; give it, or copy a scenario of data/scenarios")
    if to is not None:
        refuse_unwritable(to)
        if to.exists():
            raise UserError(f"{to} exists and is not written over; name another file with --to")
    seen = look()
    lines = this_machine.lines(seen, dataset)
    text = this_machine.text(lines)
    if to is not None:
        write_atomically(to, text)
    content = this_machine.check(text).model_dump(mode="json")
    notes = [line._asdict() for line in lines]
    give({"scenario": content, "lines": notes, "not_seen": seen.missing}, as_json, lambda: out.print(
        text if to is None else f"written to {to}; ask: study predict {to}", soft_wrap=True, end="" if to is None else "\n"))


def look() -> "Seen":
    """What the tools of this machine print."""
    from study.machines.this_machine import Seen
    from study.machines.tool_output import settings
    seen = Seen({"uname": os.uname().sysname}, {})
    for name, words in TOOLS.items():
        _ask(seen, name, words)
    for name in FILES if Path(MODULE).exists() else FILES_ALWAYS:
        try:
            seen.texts[name] = Path(name).read_text()
        except OSError as error:
            seen.missing[name] = error.strerror or str(error)
    folder = settings(seen.texts.get("SHOW ALL", "")).get("data_directory")
    if folder and os.access(folder, os.X_OK):
        seen.texts["pg_wal"] = os.path.realpath(os.path.join(folder, "pg_wal"))
    elif folder:
        seen.missing["pg_wal"] = "the database's folder may not be read, so that a log elsewhere would not be seen"
    return seen


def _ask(seen: "Seen", name: str, words: tuple[str, ...]) -> None:
    if not (tool := shutil.which(words[0], path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin")):
        seen.missing[name] = f"{words[0]} is not there"
        return
    try:
        done = subprocess.run([tool, *words[1:]], capture_output=True, text=True, errors="replace", timeout=SECONDS,
                              stdin=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C"})
    except (OSError, subprocess.TimeoutExpired) as error:
        seen.missing[name] = f"{words[0]} gave no answer ({type(error).__name__})"
        return
    if done.returncode or not done.stdout.strip():
        seen.missing[name] = (done.stderr.strip().splitlines() or ["nothing to show"])[0]
    else:
        seen.texts[name] = done.stdout


@machines.command(rich_help_panel=PANEL)
def hardware(
    name: Annotated[str | None, typer.Argument(help="One data sheet: every value with its range and source.",
                                               autocompletion=complete.sheets)] = None,
    as_json: Json = False,
) -> None:
    """The data sheets in data/hardware, which scenarios name: the device of each, and how its values are known.

    Capacity is in GB (10^9). Speed is rpm of a disk, and random reads and writes a second of other devices.

    Example: study hardware savvio-10k2
    """
    from study.machines import hardware as sheets
    from study.machines.storage import sheet
    if name is not None:
        try:
            device = sheet(name)
        except ValueError as error:
            raise UserError(str(error)) from None
        def say() -> None:
            out.print(f"{sheets.what(name)}. {device.name}. {device.note}", soft_wrap=True)
            out.print(page({row["name"]: _of_value(row) for row in device.table.to_dict("records")}))
        give({"sheet": name, "what": sheets.what(name), "device": device.name, "note": device.note,
              "values": device.table}, as_json, say)
        return
    rows = sheets.summaries()
    give(rows, as_json, lambda: out.print(page({row["sheet"]: _of_sheet(row) for row in rows})))


def _of_sheet(row: dict) -> str:
    """What one sheet is of, in a line or a few: beside its name that fits any terminal."""
    speed = f"{row['rpm']} rpm" if row["rpm"] else (
        f"{number(row['read_iops'])} random reads a second, {number(row['write_iops'])} writes")
    known = ", ".join(f"{n} {how}" for how, n in row["known"].items())
    return f"{row['what']}. {row['device']}: {number(row['gb'])} GB, {speed}. Values: {known}"


def _of_value(row: dict) -> str:
    """A value of a sheet with its unit and range, and how it is known."""
    value = number(row["value"]) if isinstance(row["value"], float) else str(row["value"])
    bounds = f" ({row['range']})" if row["range"] else ""
    return f"{value} {row['unit']}".removesuffix(" 1") + f"{bounds}, {row['known']}: {row['source']}"
