"""`study sweep`: one notebook at many points, or many draws of its experiment, on many processors."""
import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from study.commands import complete
from study.commands.result import Json, give
from study.console import err, number, out, table
from study.errors import UserError
from study.words import counted

MAX_POINTS = 100_000     # of a sweep
SHOWN = 12      # rows and columns of the result that are printed, at most
THEN = "; then come the waves, whose draws depend on these"
OF_ENSEMBLE = ("draws", "seeds", "seed")        # parameters that a draw does not depend on


class Swept(NamedTuple):
    """For --json. `table` is the file of all rows, empty if some are missing."""
    name: str
    points: int
    done_before: int
    failed: int
    seconds: float
    workers: int
    busy_percent: float
    table: str


def sweep(
    notebook: Annotated[str, typer.Argument(help="Name, number or path of a notebook.", autocompletion=complete.notebooks)],
    parameter: Annotated[list[str] | None, typer.Option("--parameter", "-p", help="NAME=VALUE at all points.")] = None,
    grid: Annotated[list[str] | None, typer.Option(
        help="NAME=VALUE,VALUE: each of these values; repeat for more names.")] = None,
    between: Annotated[list[str] | None, typer.Option(
        help="NAME=LOW:HIGH, or LOW:HIGH:log: values are sampled between the two.")] = None,
    samples: Annotated[int, typer.Option(min=0, max=MAX_POINTS, help="Points of a Latin hypercube over all --between.")] = 0,
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds at each point; the first is the notebook's.")] = 1,
    draws: Annotated[int, typer.Option(
        min=0, max=MAX_POINTS, help="Instead of runs: this many draws of the notebook's priors.")] = 0,
    waves: Annotated[int, typer.Option(
        min=0, help="After the draws: this many waves of draws towards all printed numbers.")] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the hypercube or of the draws.")] = 1,
    workers: Annotated[int | None, typer.Option(min=1, help="Local processes; default: one per processor.")] = None,
    cluster: Annotated[str | None, typer.Option(
        help="A Dask scheduler, as tcp://HOST:8786, instead of local processes.")] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Write the nearest machine to data/nearest.")] = False,
    cell_seconds: Annotated[int, typer.Option(min=1, help="The longest that one cell may take, in seconds.")] = 3600,
    as_json: Json = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say how many points there are; run nothing.")] = False,
) -> None:
    """Run a notebook at many points, or draw its priors many times; write all results to a table.

    Each point is a run of its own with papermill. A process of this machine or of a Dask cluster makes it.

    Rows are written as they come. So the same command continues where it was stopped.
    """
    from study.runs import parameters
    from study.runs.catalogue import find
    from study.sweeps import sweep as sweeps
    from study.sweeps.cluster import Workers
    _refuse_mixed(draws, waves, keep, bool(grid or between or samples or seeds > 1))
    if keep and parameter:
        raise UserError("--keep is for the notebook's own parameters; leave -p out")
    if workers and cluster:
        raise UserError("--workers are processes of this machine and --cluster is elsewhere; give one of the two")
    path, fixed = find(notebook), parameters.from_command_line(parameter or [])
    planned = _of_draws(path, fixed, draws, seed) if draws else _of_runs(
        path, fixed, grid or [], between or [], samples, seeds, seed, cell_seconds)
    if dry_run:
        n_before, n_points = len(sweeps.done(planned)), len(planned.points)
        give(Swept(name=planned.name, points=n_points, done_before=n_before, failed=0, seconds=0.0, workers=0,
                   busy_percent=0.0, table=""), as_json,
             lambda: out.print(f"{counted(n_points, 'point')}, of which {n_before} are done" + THEN * bool(waves),
                               soft_wrap=True))
        return
    with _stopped_softly(), Workers(workers, cluster) as on:
        if waves:
            _give_nearest(path, fixed, draws, waves, seed, keep, lambda points: sweeps.carry_out(points, on, err).rows,
                          as_json)
            return
        made = sweeps.carry_out(planned, on, err)
    result = Swept(name=planned.name, points=len(planned.points), done_before=made.n_before, failed=len(made.failed),
                   seconds=round(made.seconds, 1), workers=made.workers, busy_percent=round(made.busy, 1),
                   table="" if made.failed else str(planned.table))
    give(result, as_json, lambda: _say(planned, made))
    raise typer.Exit(int(bool(made.failed)))


def _refuse_mixed(draws: int, waves: int, keep: bool, varies: bool) -> None:
    if draws and varies:
        raise UserError("--draws takes its values from the priors; leave --grid, --between, --samples and --seeds out")
    if waves and not draws:
        raise UserError("--waves begin with draws of the priors; give --draws too, for example --draws 100")
    if keep and not waves:
        raise UserError("--keep is for the machine that --waves find; give --waves too")
    if not (draws or varies):
        raise UserError("a sweep needs something that varies; give --grid, --between, --seeds or --draws")


@contextlib.contextmanager
def _stopped_softly() -> Iterator[None]:
    """Ctrl-C says what is left of the work: all that has been finished."""
    try:
        yield
    except KeyboardInterrupt:
        err.print("stopped; what is finished is kept, and the same command goes on with the rest", soft_wrap=True)
        raise SystemExit(130) from None


def _of_runs(path: Path, fixed: dict[str, Any], grids: list[str], ranges: list[str], samples: int, seeds: int, seed: int,
             cell_seconds: int) -> Any:
    """A sweep over runs of a notebook."""
    import pandas as pd

    from study.runs.plan import Limits
    from study.sweeps import points, sweep, tasks
    axes, spans = list(map(points.grid, grids)), list(map(points.between, ranges))
    plans = points.over(path, fixed, axes, spans, samples, seeds, seed)
    if plans[0].needs:
        raise UserError(f"{path.stem} reads the record of {plans[0].needs[0].name}, which a sweep does not run; sweep "
                        "that one")
    swept = [*(axis.name for axis in axes), *(span.name for span in spans), *[points.SEED] * (seeds > 1)]
    by_key = {planned.run_id: planned for planned in plans}         # whole numbers of a range may meet
    table = pd.DataFrame([{name: planned.parameters[name] for name in swept} for planned in by_key.values()],
                         index=list(by_key))
    own = str(path) if path.is_absolute() else path.stem
    return sweep.Sweep(path.stem, tasks.run_notebook, table,
                       [(own, planned.parameters, Limits(cell_seconds)) for planned in by_key.values()])


def _of_draws(path: Path, fixed: dict[str, Any], n_draws: int, seed: int) -> Any:
    """A sweep over draws of a notebook's experiment."""
    from study.sweeps import waves
    return waves.of_draws(path.stem, *_experiment(path, fixed), n_draws, seed)


def _experiment(path: Path, fixed: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The module of a notebook's experiment, and its parameters."""
    from study.runs import catalogue, parameters
    listed = catalogue.entry(path)
    if listed is None or not listed.experiment:
        able = " and ".join(name for name, entry in catalogue.STUDY.items() if entry.experiment)
        raise UserError(f"{path.stem} has no draws that can be swept; {able} have")
    values = parameters.resolve(path, listed.parameters, fixed)
    return listed.experiment, {name: value for name, value in values.items() if name not in OF_ENSEMBLE}


def _give_nearest(path: Path, fixed: dict[str, Any], draws: int, n_waves: int, seed: int, keep: bool, run: Any,
                  as_json: bool) -> None:
    from study.ensembles import nearest_machine
    from study.sweeps import tasks, waves
    module, parameters = _experiment(path, fixed)
    nearest = waves.nearest(path.stem, module, parameters, draws, n_waves, seed, run)
    if keep:
        nearest_machine.write(path.stem, nearest)
    sentence = nearest_machine.sentence(tasks.drawn_of(module, tuple(parameters.items())), nearest)
    give(nearest, as_json, lambda: out.print(sentence, soft_wrap=True))


def _say(planned: Any, made: Any) -> None:
    from study.sweeps.tasks import table as of_rows
    for row in made.failed[:SHOWN]:
        err.print(f"{row.point}: {row.status} ({row.reason})", soft_wrap=True)
    rows = of_rows(planned.points, made.rows)
    numbers = [name for name in rows if name not in (*planned.points, "status")]
    if len(planned.points.columns) + len(numbers) <= SHOWN and len(rows) <= SHOWN:
        shown = table(*rows.columns)
        for row in rows.itertuples(index=False):
            shown.add_row(*(number(value) if isinstance(value, float) else str(value) for value in row))
        out.print(shown)
    if made.workers:
        out.print(f"{counted(made.workers, 'worker')}, busy {made.busy:.0f} % of {made.seconds:.0f} s", soft_wrap=True)
    if made.failed:
        err.print(f"{counted(len(made.failed), 'point')} of {len(planned.points)} failed; the same command tries these "
                  "again", soft_wrap=True)
    else:
        out.print(f"{counted(len(rows), 'point')} with {counted(len(numbers), 'number')} each: {planned.table}",
                  soft_wrap=True)
