"""The command line: one function a verb. Errors that the user can mend are one sentence and exit code 2."""
import os
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from study import errors
from study.cli_replay import replay
from study.console import err, out
from study.errors import UserError

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False,
                  help="What makes a database fast or slow on ZFS: run the notebooks, ask the run store, typeset the paper.")
check = typer.Typer(no_args_is_help=True, help="Hold a text against the store.")
app.add_typer(replay, name="replay")
app.add_typer(check, name="check")

# JupyterLab asks for news and updates over the network unless told otherwise.
QUIET = ("--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate")

Workers = Annotated[int | None, typer.Option(min=1, help="Runs at a time; default: one per processor.")]
CellSeconds = Annotated[int, typer.Option(min=1, help="The longest that one cell may take, in seconds.")]
MemoryGB = Annotated[float | None, typer.Option(min=0.5, help="The most memory that one kernel may map, in GB (10^9).")]


@app.command()
def reproduce(
    only: Annotated[list[str] | None, typer.Option(help="Run only this notebook (name or its number).")] = None,
    draws: Annotated[int | None, typer.Option(min=2, help="Draws of the priors, not the default.")] = None,
    workers: Workers = None,
    accept: Annotated[bool, typer.Option(help="Rewrite paper/results.json with what comes out.")] = False,
    cell_seconds: CellSeconds = 3600,
    memory_gb: MemoryGB = None,
) -> None:
    """Everything: run the notebooks, print the scoreboard, write figures, results and paper/paper.pdf.

    A run that has been done is not repeated. Exits with 1 when a run fails or the results differ from the committed
    paper/results.json. With --draws the scoreboard is of these runs, and nothing is compared or written to the paper.
    """
    from study import reproduction
    limits = _limits(cell_seconds, memory_gb)
    if draws is not None:
        if accept:
            raise UserError("--accept takes what the defaults give and --draws is none of them; leave one of the two out")
        raise typer.Exit(reproduction.with_draws(only or [], draws, workers, limits, out))
    raise typer.Exit(reproduction.reproduce(only or [], workers, accept, limits, out))


@app.command()
def run(
    notebooks: Annotated[list[str], typer.Argument(help="Names, numbers or paths of notebooks.")],
    parameter: Annotated[list[str] | None, typer.Option("--parameter", "-p", help="NAME=VALUE; repeat for more.")] = None,
    params: Annotated[Path | None, typer.Option(help="A YAML file of parameters; -p goes before it.")] = None,
    workers: Workers = None,
    cell_seconds: CellSeconds = 3600,
    memory_gb: MemoryGB = None,
) -> None:
    """Execute notebooks with papermill, strictly: every parameter is checked before a kernel starts."""
    from study import parameters, reproduction
    from study.notebooks import find
    from study.plan import plan
    overrides = (parameters.from_yaml(params) if params else {}) | parameters.from_command_line(parameter or [])
    plans = [plan(find(name), overrides) for name in notebooks]
    outcomes = reproduction.run_plans(plans, workers, _limits(cell_seconds, memory_gb), err)
    for outcome in outcomes:
        out.print(f"{outcome.plan.name} {outcome.status} {outcome.plan.folder}", soft_wrap=True)
    raise typer.Exit(0 if all(outcome.status == "ok" for outcome in outcomes) else 1)


@app.command()
def params(notebook: str) -> None:
    """Name, type, unit, range, choices, default and help of a notebook's parameters."""
    from study import notebooks, parameters
    path = notebooks.find(notebook)
    listed = notebooks.entry(path)
    table = Table("name", "type", "default", "unit", "range", "help", box=None)
    for name, (default, one) in parameters.schema(path, listed.parameters if listed else None).items():
        table.add_row(name, one.kind, str(default), one.unit, one.range(), one.help)
    out.print(table if table.row_count else f"{path.stem} has no parameters")


@app.command()
def claims(ids: Annotated[list[str] | None, typer.Argument(help="Only these claims.")] = None) -> None:
    """The scoreboard of claims; exits with 1 if a grade fell against paper/results.json."""
    from study import reproduction
    raise typer.Exit(reproduction.show_claims(ids or [], out))


@app.command()
def query(
    sql: str,
    format: Annotated[str, typer.Option(help="table, csv, json or parquet")] = "table",
    to: Annotated[Path | None, typer.Option(help="Write to this file instead of the terminal.")] = None,
) -> None:
    """Ask the run store in SQL (tables runs, params, metrics, samples, figures, claims, predictions)."""
    from study import ask
    ask.query(sql, format, to, out)


@app.command()
def diff(one: str, other: str) -> None:
    """What differs between two runs in parameters, code, data and results."""
    from study import ask
    ask.diff(one, other, out)


@app.command()
def trace(figure: str) -> None:
    """Where a figure comes from: notebook, run, parameters, code and data."""
    from study import ask
    ask.trace(figure, out)


@app.command()
def export(
    to: Annotated[Path, typer.Option(help="The folder to write to.")] = Path("export"),
    format: Annotated[str, typer.Option(help="Figure formats, with commas: pdf, svg, png.")] = "pdf,svg,png",
    width: Annotated[str, typer.Option(help="Width of the figures: column (3.4 in) or page (7 in).")] = "column",
) -> None:
    """Figures; numbers as JSON, CSV and LaTeX macros; tables as CSV and LaTeX (booktabs)."""
    from study import export as exporter
    from study.plan import all_plans
    written = exporter.export(all_plans(), to, exporter.formats(format), exporter.width(width))
    out.print(f"{len(written)} files written to {to}", soft_wrap=True)


@app.command()
def paper() -> None:
    """Typeset paper/paper.pdf; every number and figure in it comes from the run store."""
    from study import paper as text
    from study.plan import all_plans
    out.print(f"typeset {text.build(all_plans())}", soft_wrap=True)


@check.command("paper")
def check_paper() -> None:
    """Numbers and figures of the paper against the store; exits with 1 if the text says something of its own."""
    from study import paper as text
    from study.plan import all_plans
    found = text.check(all_plans())
    for line in found:
        out.print(line, soft_wrap=True)
    out.print(f"{len(found)} objections" if found else "the paper says what the store says")
    raise typer.Exit(1 if found else 0)


@app.command()
def pool(
    file: Annotated[Path | None, typer.Argument(help="What `zdb -m`, `-mm` or `-mmm POOL` printed.")] = None,
    fill: Annotated[float | None, typer.Option(help="Instead of a file: allocated share of the pool, 0 to 1.")] = None,
    fragmentation: Annotated[float | None, typer.Option(help="And its fragmentation, %, as of `zpool list`.")] = None,
    record: Annotated[str, typer.Option(help="Size of the records that are written (of a LUN, its volblocksize).")] = "8K",
    era: Annotated[str | None, typer.Option(help="Rules of this build only, such as b141.")] = None,
    disk: Annotated[str, typer.Option(help="With --fill: size of a top-level vdev.")] = "1T",
) -> None:
    """How well small writes would aggregate in your pool: the allocator, run in free space like the pool's."""
    from study import forecast
    slabs, record_bytes = forecast.of_pool(file, fill, fragmentation, disk), forecast.size(record, "record")
    found = forecast.table(forecast.of_slabs(slabs, record_bytes, forecast.eras(era)), record_bytes)
    table = Table(*found.columns, box=None, pad_edge=False)
    for row in found.itertuples(index=False):
        table.add_row(*row)
    out.print(table)


@app.command()
def predict(
    scenario: Annotated[Path, typer.Argument(help="A TOML file such as those in data/scenarios.")],
    to: Annotated[Path | None, typer.Option("--out", help="Write scenario and intervals here (JSON).")] = None,
    draws: Annotated[int, typer.Option(min=2, help="Draws of all that is not known.")] = 24,
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each draw.")] = 1,
) -> None:
    """What a database would do on a machine: TPS, response times, log and device I/O, each with a 90 % interval."""
    from study import model_error
    from study import predict as prediction
    from study.scenario import read
    found = prediction.interval(read(scenario), draws, seeds)
    prediction.say(found, out)
    model_error.say(found.tps, out)
    if to is not None:
        prediction.write(found, to, model_error.as_quantity(found.tps))
        out.print(f"written to {to}", soft_wrap=True)


@app.command()
def advise(
    hardware: Annotated[Path | None, typer.Option(help="What you have: a TOML file as in data/machines.")] = None,
    database: Annotated[str, typer.Option(help="postgres, innodb or oracle.")] = "postgres",
    draws: Annotated[int, typer.Option(min=2, help="Draws of all that is not known.")] = 8,
    today: Annotated[bool, typer.Option(help="Instead: what of the advice still holds in OpenZFS of today.")] = False,
) -> None:
    """Which step of tuning next gives most on your machine, with intervals, and what it costs in safety."""
    from study import advise as advising
    from study import recipes
    if today:
        out.print(recipes.page(), soft_wrap=True, markup=False)
    elif database == "oracle":
        advising.say_recipes(database, out)
    elif hardware is None:
        raise UserError("--hardware is missing; give a TOML file of what you have, such as data/machines/"
                        "two-disks-and-an-ssd.toml")
    elif database in advising.DATABASES:
        advising.say(advising.advise(*advising.read(hardware, database), draws), out)
    else:
        raise UserError(f"database is '{database}', but the choices are postgres, innodb and oracle; take one of these")


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def lab(context: typer.Context) -> None:
    """JupyterLab on notebooks/, with the run store made. Options of JupyterLab's own are passed on."""
    from study import store
    from study.project import NOTEBOOKS
    store.refresh()
    root = ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    os.chdir(NOTEBOOKS)
    os.execv(sys.executable, [sys.executable, "-m", "jupyterlab", *root, *QUIET, *context.args])


@app.command()
def verify(folder: Annotated[Path, typer.Argument(help="A folder of recorded traces.")] = Path("data/traces")) -> None:
    """Replay all recorded traces below a folder; exits with 1 if one decision differs."""
    from study import verify as verification
    replays, unreadable = [], []
    for result in verification.verify(folder):
        out.print(verification.say(result), soft_wrap=True)
        (unreadable if isinstance(result, verification.Unreadable) else replays).append(result)
    differences = sum(map(verification.differences_of, replays))
    out.print(f"{differences} differences in {verification.rows_of(replays)} rows of "
              f"{len({one.path for one in replays})} traces; {len(unreadable)} traces could not be read")
    raise typer.Exit(1 if differences or unreadable else 0)


@app.command()
def age(
    era: Annotated[str, typer.Option(help="Rules of which build: b103, b117, b141, b141_df.")] = "b141",
    vdevs: Annotated[int, typer.Option(min=1, help="Top-level vdevs of one disk each, or of mirrors.")] = 11,
    disk_gb: Annotated[float, typer.Option(min=0.1, help="Size of a disk, in GB (10^9).")] = 1000,
    records: Annotated[int, typer.Option(min=1, help="Records of 4 KiB; 91 million are 350 GiB.")] = 91_000_000,
    used_pct: Annotated[float, typer.Option(min=0, max=100, help="Of the pool, with other data that stays.")] = 0,
    turnovers: Annotated[float, typer.Option(min=0, help="Random rewrites for each record.")] = 3,
    writes_per_txg: Annotated[int, typer.Option(min=1, help="Records that a transaction group writes.")] = 25_000,
    keep: Annotated[bool, typer.Option(help="Keep the pool, for notebooks that ask for the same.")] = False,
) -> None:
    """Write a pool full of records and rewrite them at random: what that does to the free space, and how long it takes."""
    from study.age import age_and_say
    age_and_say(out, era, vdevs, disk_gb, records, used_pct, turnovers, writes_per_txg, keep)


def _limits(cell_seconds: int, memory_gb: float | None):
    from study.plan import Limits
    return Limits(cell_seconds, None if memory_gb is None else int(memory_gb * 1e9))


def main() -> None:
    """Run, and turn what the user can mend into one sentence."""
    try:
        app()
    except UserError as error:
        _stop(str(error))
    except OSError as error:
        _stop(str(errors.of_the_system(error)))


def _stop(sentence: str) -> None:
    err.print(f"study: {sentence}", soft_wrap=True, markup=False)
    sys.exit(2)
