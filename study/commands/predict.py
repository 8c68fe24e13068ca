"""`study predict`: what a database would do on a machine of the user's own."""
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from study import console, given_files
from study.commands.result import Json, give
from study.console import err, out
from study.errors import UserError
from study.project import refuse_overwriting, refuse_unwritable

if TYPE_CHECKING:
    from study.machines.scenario import Scenario


def predict(
    scenario: Annotated[Path, typer.Argument(help="A TOML file, or the name of one in data/scenarios.")],
    to: Annotated[Path | None, typer.Option(
        "--out", help="Write scenario and intervals here (JSON); folders that are missing are made.")] = None,
    against: Annotated[Path | None, typer.Option(
        help="A changed scenario: print what the change gains, judged as `study advise` judges a step.")] = None,
    draws: Annotated[int, typer.Option(min=2, help="How many draws of everything that is not known.")] = 24,
    seeds: Annotated[int, typer.Option(min=1, help="Simulated runs of each draw.")] = 1,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be simulated and which values are defaults; run "
                                                            "nothing.")] = False,
    as_json: Json = False,
) -> None:
    """What a database would do on a machine: TPS, response times, log and device I/O.

    Each has an interval: the middle, and 5 to 95 % of the draws of everything that is not known.
    The first row widens the interval of TPS by the error of earlier blind predictions.

    Takes one to four minutes, the first of them for compiling.

    Two separate predictions do not give a gain, as a large machine is made smaller for its run.
    --against compares two scenarios under the same draws, at one size.

    Example: study predict data/scenarios/nvme-mirror.toml
    Example: study predict mine.toml --against changed.toml

    How far off such predictions are: docs/predicting.md.
    """
    from study.machines import room_for_records
    from study.machines import scenario as scenarios
    from study.machines.simulate import checked
    scenario = scenarios.named(scenario)
    given_files.refuse_endless(scenario, given_files.TEXT)
    content = scenarios.toml(scenario)
    mine = checked(scenarios.of(content, scenario.name))
    room_for_records.refuse_too_few(mine)
    if against is not None:
        of_one: dict[str, object] = {"--out": to, "--dry-run": dry_run or None, "--seeds": seeds if seeds > 1 else None}
        _compare((scenario, mine), against, draws, of_one, as_json)
        return
    if to is not None:
        refuse_unwritable(to)
        refuse_overwriting(to, scenario)
    if dry_run:
        _give_plan(scenario, mine, content, draws * seeds, as_json)
    else:
        _give_prediction(mine, content, draws, seeds, to, as_json)


def _give_plan(scenario: Path, mine: "Scenario", content: dict[str, Any], n_runs: int, as_json: bool) -> None:
    """What would be simulated, and what is taken by default."""
    from study.predictions import predict as prediction
    notes, taken = prediction.notes(mine), prediction.taken_by_default(content, mine)
    give({"scenario": mine.model_dump(mode="json"), "runs": n_runs, "taken_by_default": taken, "notes": notes}, as_json,
         lambda: out.print("\n".join([
             f"{scenario} can be simulated: {n_runs} runs, a minute or a few", *(f"- {note}" for note in notes),
             "taken by default:", *(f"  {line}" for line in taken)]), soft_wrap=True))


def _give_prediction(mine: "Scenario", content: dict[str, Any], draws: int, seeds: int, to: Path | None,
                     as_json: bool) -> None:
    """All draws are simulated. The prediction is given, and written to the file `to` if there is one."""
    from study.predictions import against as comparison
    from study.predictions import bounds, model_error
    from study.predictions import predict as prediction
    from study.runs import progress
    if era := prediction.era_taken(content, mine):
        err.print(era, soft_wrap=True)
    err.print(f"simulating {draws * seeds} runs: a minute or a few")
    with console.counting("runs") as tell, progress.telling(tell):
        predicted = prediction.interval(mine, draws, seeds)
        shares = bounds.of(mine, prediction.EXPERIMENTS[mine.database.kind])
    error, taken = model_error.seen(), prediction.taken_by_default(content, mine, predicted.run)
    others = {"bound_by": {part.of: part.share for part in shares}, "taken_by_default": taken}
    calibrated = model_error.as_quantity(predicted.tps, error) | others
    if to is not None:
        prediction.write(predicted, to, calibrated)

    def say() -> None:
        prediction.say(predicted, out, model_error.widened(predicted.tps, error))
        out.print(f"first row: {model_error.in_words(error)}", soft_wrap=True)
        out.print(bounds.sentence(shares), soft_wrap=True)
        out.print("\n".join(["taken by default:", *(f"  {line}" for line in taken)]), soft_wrap=True)
        out.print(comparison.HINT, soft_wrap=True)
        if to is not None:
            out.print(f"written to {to}", soft_wrap=True)
    give(json.loads(prediction.as_json(predicted, calibrated)), as_json, say)


def _compare(mine: tuple[Path, "Scenario"], other: Path, draws: int, of_one: Mapping[str, object], as_json: bool) -> None:
    """What the change from a machine, and its file, to that of the file `other` gains; `of_one`: options that are of one
    machine, if given."""
    from study.machines import room_for_records
    from study.machines import scenario as scenarios
    from study.predictions import advise, against
    from study.predictions import predict as prediction
    from study.runs import progress
    if given := [name for name, value in of_one.items() if value is not None]:
        raise UserError(f"--against compares two machines and {given[0]} is of one; leave one of the two out")
    other = scenarios.named(other)
    given_files.refuse_endless(other, given_files.TEXT)
    changed = scenarios.read(other)
    room_for_records.refuse_too_few(changed)
    err.print(f"simulating {2 * draws} runs: a few minutes")
    with console.counting("runs") as tell, progress.telling(tell):
        made = against.compare(mine[1], changed, draws)
    taken = advise.taken_after_hours(mine[1])
    notes = [*dict.fromkeys([*prediction.notes(mine[1]), *prediction.notes(changed)])]

    def say() -> None:
        against.say(made, out, f"{mine[0].name} ({made.before})", f"{other.name} ({made.after})")
        for note in notes:
            out.print(f"- {note}", soft_wrap=True)
        for line in taken:
            out.print(f"taken by default: {line}", soft_wrap=True)
    give(made._asdict() | {"says": against.sentence(made), "notes": notes, "taken_by_default": taken}, as_json, say)
