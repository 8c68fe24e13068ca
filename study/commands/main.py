"""The command line: one function a verb. Errors that the user can mend are one sentence and exit code 2."""
import json
import locale
import math
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from study import errors
from study.commands.machine import machine
from study.commands.replay import replay
from study.console import err, out, table
from study.errors import UserError

NOTEBOOKS, CAME_OUT, TRACES = "Notebooks", "What came out", "Recorded traces"      # panels of study --help

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False,
                  help="What makes a database fast or slow on ZFS: run the notebooks, see what came out, ask about a "
                       "machine of your own. To begin with: study run 90, then study claims.")
check = typer.Typer(no_args_is_help=True, help="Hold a text against the store.")
app.add_typer(machine)
app.add_typer(replay, name="replay", rich_help_panel=TRACES)
app.add_typer(check, name="check", rich_help_panel=CAME_OUT)

# JupyterLab asks for news and updates over the network unless told otherwise, and then still whether it may.
QUIET = ("--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate")
WITHOUT_OUTPUTS = ("--ServerApp.jpserver_extensions=study.runs.saving=True",)      # committed notebooks have none
FIRST = ("--LabApp.default_url=/lab/tree/notebooks/index.ipynb",)
PAGE = {"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}

Workers = Annotated[int | None, typer.Option(min=1, help="Runs at a time; default: one per processor.")]
CellSeconds = Annotated[int, typer.Option(min=1, help="The longest that one cell may take, in seconds.")]
RunSeconds = Annotated[int | None, typer.Option(min=1, help="The longest that one run may take, in seconds.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would run and how long it takes; run nothing.")]
MemoryGB = Annotated[float | None, typer.Option(min=0.5, help="The most memory that one kernel may map, in GB (10^9).")]


@app.command(rich_help_panel=NOTEBOOKS)
def reproduce(
    only: Annotated[list[str] | None, typer.Option(help="Run only this notebook (name or its number).")] = None,
    draws: Annotated[int | None, typer.Option(min=2, help="Draws of the priors, not the default.")] = None,
    workers: Workers = None,
    accept: Annotated[bool, typer.Option(help="Rewrite paper/results.json with what comes out.")] = False,
    cell_seconds: CellSeconds = 3600,
    run_seconds: RunSeconds = None,
    memory_gb: MemoryGB = None,
    dry_run: DryRun = False,
) -> None:
    """Everything: run the notebooks, print the scoreboard, write figures, results and paper/paper.pdf.

    A run that has been done is not repeated. Exits with 1 when a run fails or the results differ from the committed
    paper/results.json. With --draws the scoreboard is of these runs, and nothing is compared or written to the paper.
    """
    from study.commands import reproduction
    limits = _limits(cell_seconds, memory_gb, run_seconds)
    if dry_run:
        from study.commands import status
        status.show(reproduction.plans_of(only or [], draws), out)
        return
    if draws is not None:
        if accept:
            raise UserError("--accept takes what the defaults give and --draws is none of them; leave one of the two out")
        raise typer.Exit(reproduction.with_draws(only or [], draws, workers, limits, out))
    raise typer.Exit(reproduction.reproduce(only or [], workers, accept, limits, out))


@app.command(rich_help_panel=NOTEBOOKS)
def run(
    notebooks: Annotated[list[str], typer.Argument(help="Names, numbers or paths of notebooks.")],
    parameter: Annotated[list[str] | None, typer.Option("--parameter", "-p", help="NAME=VALUE; repeat for more.")] = None,
    params: Annotated[Path | None, typer.Option(help="A YAML file of parameters; what -p gives as well counts.")] = None,
    workers: Workers = None,
    cell_seconds: CellSeconds = 3600,
    run_seconds: RunSeconds = None,
    memory_gb: MemoryGB = None,
    secret: Annotated[list[str] | None, typer.Option(
        help="A parameter whose value the environment variable of its name has; it is never written.")] = None,
    again: Annotated[bool, typer.Option("--again", help="Run also what has been done before.")] = False,
    dry_run: DryRun = False,
) -> None:
    """Execute notebooks with papermill, strictly: every parameter is checked before a kernel starts.

    A run that has been done is not repeated, unless its code, its data or a file that it reads has changed.
    """
    from study.commands import reproduction, scoreboard, status
    from study.runs import parameters, secrets
    from study.runs.catalogue import find
    from study.runs.plan import plan
    overrides = (parameters.from_yaml(params) if params else {}) | parameters.from_command_line(parameter or [])
    paths = [find(name) for name in notebooks]
    plans = [plan(path, overrides, dict.fromkeys(secret or (), "")) for path in paths]
    if dry_run:
        status.show(plans, out)
        return
    if secret:
        hidden = secrets.asked_for(secret)
        plans = [plan(path, overrides, hidden) for path in paths]
    outcomes = reproduction.run_plans(plans, workers, _limits(cell_seconds, memory_gb, run_seconds), err, again)
    scoreboard.say_outcomes(outcomes, out)
    codes = {outcome.exit_code for outcome in outcomes} - {0}
    raise typer.Exit(min(codes, default=0))


@app.command(rich_help_panel=NOTEBOOKS)
def status() -> None:
    """What is current, what would run and how long that takes, of the study's notebooks and your own."""
    from study.commands import status as states
    states.show_all(out)


@app.command(rich_help_panel=NOTEBOOKS)
def params(notebook: Annotated[str, typer.Argument(help="Name, number or path of a notebook.")]) -> None:
    """Name, type, unit, range, choices, default and help of a notebook's parameters."""
    from study.runs import catalogue as notebooks
    from study.runs import parameters
    path = notebooks.find(notebook)
    listed = notebooks.entry(path)
    shown = table("name", "type", "default", "unit", "range", "help", whole="name")
    for name, (default, parameter) in parameters.schema(path, listed.parameters if listed else None).items():
        kind = f"{parameter.kind} or null" if parameter.optional else parameter.kind
        shown.add_row(name, kind, str(default), parameter.unit, parameter.range(), parameter.help)
    out.print(shown if shown.row_count else f"{path.stem} has no parameters")


@app.command(rich_help_panel=CAME_OUT)
def claims(
    words: Annotated[list[str] | None, typer.Argument(
        help="Only claims whose name holds one of these, and claims of a notebook (01) or a document (lutz-2010).")] = None,
) -> None:
    """The scoreboard of claims: as printed, what the audit finds, the grade.

    Of notebooks not run here, the grades are those of paper/results.json.
    Exits with 1 if a grade of a notebook that has been run fell against these.
    """
    from study.commands import scoreboard
    raise typer.Exit(scoreboard.show_claims(words or [], out))


@app.command(rich_help_panel=CAME_OUT)
def query(
    sql: Annotated[str, typer.Argument(help="One SELECT, in quotes; docs/run-store.md has ten to start with.")],
    format: Annotated[str, typer.Option(help="table, csv, json or parquet")] = "table",
    to: Annotated[Path | None, typer.Option(
        help="Write to this file instead of the terminal; folders that are missing are made.")] = None,
) -> None:
    """Ask the run store in SQL (tables runs, params, metrics, samples, figures, claims, predictions, made_by)."""
    from study.commands import query as ask
    ask.query(sql, format, to, out)


@app.command(rich_help_panel=CAME_OUT)
def diff(
    one: Annotated[str, typer.Argument(help="A run, by its id or the start of it.")],
    other: Annotated[str, typer.Argument(help="Another one.")],
) -> None:
    """What differs between two runs in parameters, code, data and results."""
    from study.commands import query as ask
    ask.diff(one, other, out)


@app.command(rich_help_panel=CAME_OUT)
def trace(figure: Annotated[str, typer.Argument(help="Name of a figure, such as lines_over_time.")]) -> None:
    """Where a figure comes from: notebook, run, parameters, code and data."""
    from study.commands import query as ask
    ask.trace(figure, out)


@app.command(rich_help_panel=CAME_OUT)
def export(
    to: Annotated[Path, typer.Option(help="The folder to write to; it is made if missing.")] = Path("export"),
    format: Annotated[str, typer.Option(help="Figure formats, with commas: pdf, svg, png.")] = "pdf,svg,png",
    width: Annotated[str, typer.Option(help="Width of the figures: column (3.4 in) or page (7 in).")] = "column",
) -> None:
    """Figures; numbers as JSON, CSV and LaTeX macros; tables as CSV and LaTeX (booktabs)."""
    from study.paper import export as exporter
    from study.runs.plan import all_plans
    written = exporter.export(all_plans(), to, exporter.formats(format), exporter.width(width))
    out.print(f"{len(written)} files written to {to}", soft_wrap=True)


@app.command(rich_help_panel=CAME_OUT)
def paper() -> None:
    """Typeset paper/paper.pdf; every number and figure in it comes from the run store."""
    from study.paper import typeset as text
    from study.runs.plan import all_plans
    out.print(f"typeset {text.build(all_plans())}", soft_wrap=True)


@app.command(rich_help_panel=CAME_OUT)
def docs(
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit with 1 if a page is out of date.")] = False,
) -> None:
    """Write what is made in README.md and docs/: tables of results, help of commands, keys of scenarios."""
    from study.commands import documentation
    changed = documentation.out_of_date() if check else documentation.write()
    for path in changed:
        out.print(f"{'out of date' if check else 'written'}: {path.relative_to(documentation.ROOT)}", soft_wrap=True)
    if not changed:
        out.print("all pages are up to date")
    raise typer.Exit(1 if check and changed else 0)


@check.command("paper")
def check_paper() -> None:
    """Numbers and figures of the paper against the store; exits with 1 if the text says something of its own."""
    from study.paper import typeset as text
    from study.runs.plan import all_plans
    objections = text.check(all_plans())
    for line in objections:
        out.print(line, soft_wrap=True)
    out.print(f"{len(objections)} objections" if objections else "the paper says what the store says")
    raise typer.Exit(1 if objections else 0)


@app.command(rich_help_panel=NOTEBOOKS, context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def lab(context: typer.Context) -> None:
    """JupyterLab on notebooks/index.ipynb, with the run store made. Options of JupyterLab's own are passed on."""
    from study.project import ROOT, write_atomically
    from study.store import store
    store.refresh()
    write_atomically(Path(sys.prefix) / "etc/jupyter/labconfig/page_config.json", json.dumps(PAGE))
    root = ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    os.environ["PYTHONUTF8"] = "1"
    os.chdir(ROOT)
    os.execv(sys.executable, [sys.executable, "-m", "jupyterlab", *root, *QUIET, *WITHOUT_OUTPUTS, *FIRST, *context.args])


@app.command(rich_help_panel=TRACES)
def verify(
    folder: Annotated[Path | None, typer.Argument(
        help="A folder of recorded traces; default: the project's own, data/traces.")] = None,
) -> None:
    """Replay all recorded traces below a folder; exits with 1 if one decision differs."""
    from study.project import DATA
    from study.replays import verify as verification
    results = []
    for result in verification.verify(folder or DATA / "traces"):
        out.print(verification.say(result), soft_wrap=True)
        results.append(result)
    replays = [replay for replay in results if not isinstance(replay, verification.Unreadable)]
    unreadable = [trace for trace in results if isinstance(trace, verification.Unreadable)]
    differences = sum(map(verification.differences_of, replays))
    out.print(f"{differences} differences in {verification.rows_of(replays)} rows of "
              f"{len({replay.path for replay in replays})} traces; {len(unreadable)} traces could not be read")
    raise typer.Exit(1 if differences or unreadable else 0)


def _limits(cell_seconds: int, memory_gb: float | None, run_seconds: int | None):
    from study.runs.plan import Limits
    memory = None if memory_gb is None or math.isinf(memory_gb) else int(memory_gb * 1e9)
    return Limits(cell_seconds, memory, run_seconds)


def _in_utf8() -> None:
    """Text is UTF-8 in files and names, whatever language the system speaks. Python must be told so when it starts."""
    if not sys.flags.utf8_mode and locale.getencoding().lower().replace("-", "") != "utf8":
        os.environ["PYTHONUTF8"] = "1"
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def main() -> None:
    """Run, and turn what the user can mend into one sentence."""
    _in_utf8()
    try:
        sys.exit(app(prog_name="study", standalone_mode=False))
    except UserError as error:
        _stop(str(error))
    except typer.TyperException as error:
        _stop(_of_usage(error))
    except OSError as error:
        _stop(str(errors.of_the_system(error)))
    except MemoryError as error:
        message = str(error) or "no memory is left"
        _stop(f"{message[:1].lower()}{message[1:]}: this takes more memory than there is; ask for something smaller")


def _of_usage(error: typer.TyperException) -> str:
    """A word that the command line lacks or does not know. Nothing, if no word was given and help has been printed."""
    message = error.format_message().strip().rstrip(".").replace(". Did you mean", "; did you mean")
    complaints = getattr(error.__cause__, "errors", None)       # of pydantic, which knows the value
    if complaints:
        message = errors.of_value(message.removeprefix("Invalid value for ").partition(": ")[0], complaints()[0])
    message, path = message[:1].lower() + message[1:], getattr(getattr(error, "ctx", None), "command_path", "study")
    return message if not message or message.endswith("?") else f"{message}; see: {path} --help"


def _stop(sentence: str) -> None:
    if sentence:
        err.print(f"study: {sentence}", soft_wrap=True)
    sys.exit(2)
