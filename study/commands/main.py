"""The command line: one function a verb. Errors that the user can mend are one sentence and exit code 2."""
import locale
import math
import os
import sys
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from study import errors
from study.commands import advise, age, align, complete, dedup, ingest, lab, measure, pool, predict
from study.commands import sweep as sweep_verb
from study.commands.replay import replay
from study.commands.result import Json, give
from study.commands.scenario import machines
from study.console import err, out, table
from study.errors import UserError
from study.words import counted

if TYPE_CHECKING:
    from study.runs.plan import Limits

# panels of study --help
NOTEBOOKS, CAME_OUT, TRACES, MACHINE = "Notebooks", "What came out", "Recorded traces", "Your own machine"
RUNS = "Your own runs"

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False,
                  help="What makes a database fast or slow on ZFS: run the notebooks, see what came out, ask about a "
                       "machine of your own. Start with study run 90, then study claims.")
check = typer.Typer(no_args_is_help=True, help="Compare a text with the run store.")
machine = typer.Typer(rich_markup_mode="rich")
for verb in (pool.pool, dedup.dedup, predict.predict, advise.advise, align.align, age.age):
    machine.command(rich_help_panel=MACHINE)(verb)
machine.command(rich_help_panel=RUNS)(ingest.ingest)
app.add_typer(machine)
app.add_typer(measure.measure, name="measure", rich_help_panel=RUNS)
app.add_typer(machines)
app.add_typer(replay, name="replay", rich_help_panel=TRACES)
app.add_typer(check, name="check", rich_help_panel=CAME_OUT)


def _say_version(wanted: bool) -> None:
    if wanted:
        out.print(f"study {version('zfs-database-study')}")
        raise typer.Exit()


@app.callback()
def study(
    of_version: Annotated[bool, typer.Option("--version", callback=_say_version, is_eager=True,
                                             help="Print the version and exit.")] = False,
) -> None:
    """What makes a database fast or slow on ZFS."""


Workers = Annotated[int | None, typer.Option(min=1, help="Runs at a time; default: one per processor.")]
CellSeconds = Annotated[int, typer.Option(min=1, help="The longest that one cell may take, in seconds.")]
RunSeconds = Annotated[int | None, typer.Option(min=1, help="The longest that one run may take, in seconds.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would run and how long it takes; run nothing.")]
MemoryGB = Annotated[float | None, typer.Option(min=0.5, help="The most memory that one kernel may map, in GB (10^9).")]


@app.command(rich_help_panel=NOTEBOOKS)
def reproduce(
    only: Annotated[list[str] | None, typer.Option(help="Run only this notebook (name or its number).")] = None,
    draws: Annotated[int | None, typer.Option(min=2, help="This many draws of the priors, instead of the default.")] = None,
    workers: Workers = None,
    accept: Annotated[bool, typer.Option(help="Rewrite paper/results.json and data/ensembles with what comes out.")] = False,
    whole: Annotated[bool, typer.Option("--whole", help="Read nothing from data/ensembles: simulate every case.")] = False,
    cell_seconds: CellSeconds = 3600,
    run_seconds: RunSeconds = None,
    memory_gb: MemoryGB = None,
    as_json: Json = False,
    dry_run: DryRun = False,
) -> None:
    """Everything: run the notebooks, print the scoreboard, write figures, results and paper/paper.pdf.

    A run that has been done is not repeated.
    Ensembles are read from data/ensembles, and a few of their cases are simulated again.

    Exits with 1 if a run fails or the results differ from the committed paper/results.json.

    With --draws the scoreboard is of these runs. Nothing is compared, and nothing is written to the paper.
    """
    from study.commands import reproduction
    limits = _limits(cell_seconds, memory_gb, run_seconds)
    if draws is not None and accept:
        raise UserError("--accept takes what the defaults give and --draws is none of them; leave one of the two out")
    if draws is not None and whole:
        raise UserError("--draws with another number than the default simulates every case; leave --whole out")
    if dry_run:
        from study.commands import status
        status.show(reproduction.plans_of(only or [], draws, whole), as_json, out)
        return
    if draws is not None:
        raise typer.Exit(reproduction.with_draws(only or [], draws, workers, limits, as_json, out))
    made = reproduction.reproduce(only or [], workers, accept, whole, limits, err if as_json else out)
    give(made, as_json, lambda: None)       # as text, it was said while it was made
    raise typer.Exit(made.code)


@app.command(rich_help_panel=NOTEBOOKS)
def run(
    notebooks: Annotated[list[str], typer.Argument(help="Names, numbers or paths of notebooks.",
                                                   autocompletion=complete.notebooks)],
    parameter: Annotated[list[str] | None, typer.Option("--parameter", "-p", help="NAME=VALUE; repeat for more.")] = None,
    params: Annotated[Path | None, typer.Option(help="A YAML file of parameters; a value of -p overrides it.")] = None,
    workers: Workers = None,
    cell_seconds: CellSeconds = 3600,
    run_seconds: RunSeconds = None,
    memory_gb: MemoryGB = None,
    as_json: Json = False,
    secret: Annotated[list[str] | None, typer.Option(
        help="A parameter whose value is in the environment variable of its name; the value is never written.")] = None,
    again: Annotated[bool, typer.Option("--again", help="Repeat also runs that have been done before.")] = False,
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
        status.show(plans, as_json, out)
        return
    if secret:
        hidden = secrets.asked_for(secret)
        plans = [plan(path, overrides, hidden) for path in paths]
    outcomes = reproduction.run_plans(plans, workers, _limits(cell_seconds, memory_gb, run_seconds), err, again)
    scoreboard.give_outcomes(outcomes, as_json, out)
    codes = {outcome.exit_code for outcome in outcomes} - {0}
    raise typer.Exit(min(codes, default=0))


app.command(rich_help_panel=NOTEBOOKS)(sweep_verb.sweep)


@app.command(rich_help_panel=NOTEBOOKS)
def status(as_json: Json = False) -> None:
    """Which runs are current, which would be made, and how long that takes; for the study's notebooks and your own."""
    from study.commands.status import show_all
    show_all(as_json, out)


@app.command(rich_help_panel=NOTEBOOKS)
def params(
    notebook: Annotated[str, typer.Argument(help="Name, number or path of a notebook.", autocompletion=complete.notebooks)],
    as_json: Json = False,
) -> None:
    """Name, type, unit, range, choices, default and help of a notebook's parameters."""
    from study.runs import catalogue, parameters
    path = catalogue.find(notebook)
    listed = catalogue.entry(path)
    rows = [{"name": name, "type": f"{parameter.kind} or null" if parameter.optional else parameter.kind,
             "default": default, "unit": parameter.unit, "range": parameter.range(), "help": parameter.help}
            for name, (default, parameter) in parameters.schema(path, listed.parameters if listed else None).items()]
    shown = table("name", "type", "default", "unit", "range", "help", whole="name")
    for row in rows:
        shown.add_row(*map(str, row.values()))
    give(rows, as_json, lambda: out.print(
        shown if rows else f"{path.stem} has no parameters: {parameters.without_parameters(path) or 'their cell is empty'}",
        soft_wrap=True))


@app.command(rich_help_panel=CAME_OUT)
def claims(
    words: Annotated[list[str] | None, typer.Argument(
        help="One claim by its name. Or all claims whose name contains one of these words, or fits one with a *. "
             "Or all of a notebook (01) or a document (lutz-2010).", autocompletion=complete.claims)] = None,
    grade: Annotated[str | None, typer.Option(help="Only claims of this grade, such as consistent.",
                                              autocompletion=complete.grades)] = None,
    every: Annotated[bool, typer.Option("--all", help="Also claims with nothing to predict.")] = False,
    as_json: Json = False,
) -> None:
    """The scoreboard: how many claims have which grade; each claim as printed, what its audit finds, its grade.

    The name of one claim gives its page: what the document says, what was simulated, the grade and why, the figure.
    Where a notebook has not been run here, grades are those of paper/results.json.
    Exits with 1 if a notebook that has been run here gives a lower grade than that file.
    """
    from study.commands import scoreboard
    raise typer.Exit(scoreboard.show_claims(words or [], grade, every, as_json, out))


@app.command(rich_help_panel=CAME_OUT)
def query(
    sql: Annotated[str, typer.Argument(help="One SELECT, in quotes; docs/run-store.md has ten to start with.")],
    format: Annotated[str | None, typer.Option(
        help="table, csv, json or parquet. Default: the ending of the name after --to, else table.")] = None,
    to: Annotated[Path | None, typer.Option(
        help="Write to this file instead of the terminal; folders that are missing are made.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> None:
    """Ask the run store in SQL (tables runs, params, metrics, samples, figures, claims, predictions, made_by).

    Tables of imported runs: imports, import_checks, import_notes, import_series, observations, histograms, transactions.

    If rows are wider than the terminal, each is printed as a block, with units.
    """
    from study.commands import query as ask
    if as_json and format not in (None, "json"):
        raise UserError(f"--json is one format and --format {format} another; leave one of the two out")
    ask.query(sql, "json" if as_json else format, to, out)


@app.command(rich_help_panel=CAME_OUT)
def diff(
    first: Annotated[str, typer.Argument(help="A run, by its id or the start of it.")],
    second: Annotated[str, typer.Argument(help="Another one.")],
    as_json: Json = False,
) -> None:
    """What differs between two runs in parameters, code, data and results."""
    from study.commands import query as ask
    ask.diff(first, second, out, as_json)


@app.command(rich_help_panel=CAME_OUT)
def trace(
    figure: Annotated[str, typer.Argument(help="Name of a figure, such as lines_over_time.")],
    as_json: Json = False,
) -> None:
    """Where a figure comes from: notebook, run, parameters, code and data."""
    from study.commands import query as ask
    ask.trace(figure, out, as_json)


@app.command(rich_help_panel=CAME_OUT)
def export(
    to: Annotated[Path, typer.Option(help="The folder to write to; it is made if missing.")] = Path("export"),
    format: Annotated[str, typer.Option(help="Figure formats, with commas: pdf, svg, png.")] = "pdf,svg,png",
    width: Annotated[str, typer.Option(help="Width of figures and tables: column (3.4 in) or page (7 in).")] = "column",
    only: Annotated[list[str] | None, typer.Option(
        help="Only this figure, number or claim, or all of this notebook; repeat for more.")] = None,
    as_json: Json = False,
) -> None:
    """Write figures; numbers, exact and rounded, as JSON, CSV and LaTeX macros; tables as CSV and LaTeX (booktabs).

    index.html in the folder shows every figure with its caption. It links to a page of each executed notebook.
    All of it works without the network.

    example.tex shows how LaTeX reads the exported files.
    """
    from study.paper import export as exporter
    from study.runs.plan import all_plans
    written = exporter.export(all_plans(), to, exporter.formats(format), exporter.width(width), only=only or ())
    give({"folder": to, "files": [path.name for path in written]}, as_json, lambda: out.print(
        f"{counted(len(written), 'file')} written to {to}; {to / 'index.html'} shows them", soft_wrap=True))


@app.command(rich_help_panel=CAME_OUT)
def paper(as_json: Json = False) -> None:
    """Typeset paper/paper.pdf; every number and figure in it comes from the run store.

    It refuses a number that is typed by hand, or that is marked as given but is not in data/.
    """
    from study.paper import typeset
    from study.runs.plan import all_plans
    made = typeset.build(all_plans())
    give({"paper": made}, as_json, lambda: out.print(f"typeset {made}", soft_wrap=True))


@app.command(rich_help_panel=CAME_OUT)
def docs(
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit with 1 if a page is out of date.")] = False,
    as_json: Json = False,
) -> None:
    """Write the generated parts of README.md and docs/: tables of results, help of commands, keys of scenarios."""
    from study.commands.documentation import handbook
    changed = handbook.out_of_date() if check else handbook.write()
    kind, pages = "out of date" if check else "written", [path.relative_to(handbook.ROOT) for path in changed]
    lines = [f"{kind}: {page}" for page in pages] or ["all pages are up to date"]
    give({kind.replace(" ", "_"): pages}, as_json, lambda: out.print("\n".join(lines), soft_wrap=True))
    raise typer.Exit(1 if check and changed else 0)


@check.command("paper")
def check_paper(as_json: Json = False) -> None:
    """Compare the paper's numbers and figures with the run store; exits with 1 if one of them is not from there."""
    from study.paper import typeset
    from study.runs.plan import all_plans
    objections = typeset.check(all_plans())
    many = counted(len(objections), "objection")
    end = many if objections else "the paper says what the store says"
    give({"objections": objections}, as_json, lambda: out.print("\n".join([*objections, end]), soft_wrap=True))
    raise typer.Exit(1 if objections else 0)


app.command(rich_help_panel=NOTEBOOKS, context_settings=lab.PASSED_ON)(lab.lab)


@app.command(rich_help_panel=TRACES)
def verify(
    folder: Annotated[Path | None, typer.Argument(
        help="A folder of recorded traces; default: the project's own, data/traces.")] = None,
    as_json: Json = False,
) -> None:
    """Replay all recorded traces below a folder; exits with 1 if a decision differs, with 2 if a trace cannot be read."""
    from study.project import DATA
    from study.replays import verify as verification
    results = []
    for result in verification.verify(folder or DATA / "traces"):
        (err if as_json else out).print(verification.sentence(result), soft_wrap=True)
        results.append(result)
    replays = [result for result in results if not isinstance(result, verification.Unreadable | verification.NotCompared)]
    unreadable, not_compared = ([result for result in results if isinstance(result, kind)]
                                for kind in (verification.Unreadable, verification.NotCompared))
    differences, rows = sum(map(verification.differences_of, replays)), verification.rows_of(replays)
    traces = len({replay.path for replay in replays})
    give({"differences": differences, "rows": rows, "traces": traces, "unreadable": unreadable, "not_compared": not_compared,
          "replays": replays}, as_json,
         lambda: out.print(f"{counted(differences, 'difference')} in {counted(rows, 'row')} of {counted(traces, 'trace')}; "
                           f"{counted(len(unreadable), 'trace')} could not be read"))
    raise typer.Exit(1 if differences else 2 if unreadable else 0)


def _limits(cell_seconds: int, memory_gb: float | None, run_seconds: int | None) -> "Limits":
    from study.runs.plan import Limits
    memory = None if memory_gb is None or math.isinf(memory_gb) else int(memory_gb * 1e9)
    return Limits(cell_seconds, memory, run_seconds)


def _in_utf8() -> None:
    """Text is UTF-8 in files and names, whatever language the system speaks. Python must be told so when it starts."""
    if not sys.flags.utf8_mode and locale.getencoding().lower().replace("-", "") != "utf8":
        os.environ["PYTHONUTF8"] = "1"
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def without_grammars() -> None:
    """Notebooks have no IRIs. To check some, jsonschema would build the grammars of RFC 3987 when it is imported: for two
    seconds, in each process that runs a notebook."""
    sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]  # so Python says that it cannot be imported


def main() -> None:
    """Run, and turn what the user can mend into one sentence."""
    _in_utf8()
    without_grammars()
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
    what = getattr(getattr(error, "param", None), "help", None)
    if message.startswith("Missing") and what:
        message += f" ({what.strip().rstrip('.')})"
    complaints = getattr(error.__cause__, "errors", None)       # of pydantic, which knows the value
    if complaints:
        message = errors.of_value(message.removeprefix("Invalid value for ").partition(": ")[0], complaints()[0])
    message, path = message[:1].lower() + message[1:], getattr(getattr(error, "ctx", None), "command_path", "study")
    return message if not message or message.endswith("?") else f"{message}; see: {path} --help"


def _stop(sentence: str) -> None:
    if sentence:
        err.print(f"study: {sentence}", soft_wrap=True)
    sys.exit(2)
