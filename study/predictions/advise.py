"""`study advise`: which step of tuning next gives most on what one has, and what it costs in safety.

    machine, spare = advise.read(Path("data/machines/two-disks-and-an-ssd.toml"), "postgres")
    advice = advise.advise(machine, spare, draws=8)
    advice.steps                 every recipe: TPS and gain with intervals, what it trades, or why it is not tried
    advice.ladder                the safe steps one on top of the other, the largest first

How long a run must be is judged as for `study predict` (`study.machines.run_length`), and in what size as for `study
predict --against` (`study.predictions.sizes`). A step is called faster or slower only if the interval of its gain, under
common draws, excludes zero.

The file is a scenario without a database, and a list of `[[spare]]` devices. Each could become a log device, a cache
device, or a pool for the log or the data. Recipes: data/advice.toml. All steps are compared under the same draws, on a
server that has been at work for hours. What is below the database (`study.predictions.storage_steps`) is no rung: its
numbers are of requests to a pool, not of transactions.
"""
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from pydantic import TypeAdapter, ValidationError

from study import errors
from study.ensembles import intervals
from study.errors import UserError
from study.machines import run_length, scenario
from study.machines import simulate as machines
from study.machines.scenario import Scenario
from study.machines.storage import Devices
from study.predictions import bounds, configuration_lines, ladder, model_error, predict, sizes, storage_steps, tuning_steps
from study.predictions.tuning_steps import Step, is_safe, key
from study.project import DATA

DATABASES = {"postgres": {"kind": "postgres", "scale": 100, "clients": 16}, "innodb": {"kind": "innodb", "seconds": 600},
             "oracle": {"kind": "oracle", "clients": 32}}
OTHER_NAMES = {"mysql": "innodb", "mariadb": "innodb", "postgresql": "postgres"}
SPARE = TypeAdapter(tuple[Devices, ...])
DRAWS = 8
STEP_COLUMNS = ["step", "gain_low", "gain", "gain_high", "tps_low", "tps", "tps_high", "trades", "why_slower", "why_not",
                "why_no_rung", "lines", "is_whole"]
BEGINNING = "Runs of these steps hold only the beginning of an interval between checkpoints. Images of pages are most there:"
ALL_BEGIN = ("All runs hold only the beginning of an interval between checkpoints. Images of pages are most there. "
             "What spares images gains less than is shown.")


class Advice(NamedTuple):
    """What `study advise` says: the machine as it is, each step by itself, and the ladder of all."""
    base: pd.DataFrame          # of the machine as it is: see predict.table
    steps: pd.DataFrame         # STEP_COLUMNS; gain and TPS at 5, 50, 95 %; best first
    ladder: pd.DataFrame        # rung, TPS (5, 50, 95 %)
    calibrated_tps: intervals.Interval      # of the machine as it is, with the error of earlier blind predictions
    bound_by: Sequence[bounds.Share] = ()
    notes: tuple[str, ...] = ()     # what was taken by default
    remarks: tuple[str, ...] = ()   # what a reader must know of the machine: see predict.notes
    is_whole: bool = True           # the run of the machine as it is holds all that comes once between two checkpoints
    gain_more: tuple[ladder.Stacked, ...] = ()   # rungs that gain more on the ladder than by themselves
    why_more: tuple[str, ...] = ()  # and why, in words
    storage: tuple[storage_steps.StorageStep, ...] = ()     # dedup and the LUN, where the file asks
    not_asked: str = ""             # what of that it does not ask


def named(path: Path) -> Path:
    """The file itself, or that of data/machines or of data/scenarios which has the name. UserError for a name of none."""
    if path.exists() or path.parent != Path():
        return path
    ours = {file.stem: file for folder in ("scenarios", "machines") for file in sorted((DATA / folder).glob("*.toml"))}
    name = path.name.removesuffix(".toml")
    if name not in ours:
        raise UserError(f"{path} is not there; " + errors.meant(
            name, ours, f"name a file, or one of data/machines or data/scenarios: {', '.join(sorted(ours))}"))
    return ours[name]


def read(path: Path, database: str | None = None) -> tuple[Scenario, tuple[Devices, ...]]:
    """The machine of a file with its database, or with an ordinary one, and the devices to spare: see `content_of`."""
    content, spare = content_of(path, database)
    machine = scenario.of(content, path.name)
    try:
        return machine, SPARE.validate_python(spare)
    except ValidationError as error:
        raise UserError(scenario.sentence(path.name, error, within="spare")) from None


def content_of(path: Path, database: str | None = None) -> tuple[dict, list]:
    """What the file says of the machine and its database, and of devices to spare. An ordinary `database` stands where the
    file has none, or one of another kind; left out, it is the file's kind, and else PostgreSQL."""
    content = scenario.toml(path)
    spare = content.pop("spare", [])
    for section in storage_steps.SECTIONS:
        content.pop(section, None)
    if not isinstance(spare, list):
        raise UserError(f"{path.name}: spare is {spare!r}, but it must be a list; begin each device with [[spare]]")
    described = content.get("database")
    if described is None or (isinstance(described, dict) and database not in (None, _kind(described))):
        content["database"] = DATABASES[database or "postgres"]
    return content, spare


def _kind(section: dict) -> str:
    """Of the database that a section describes."""
    kind = str(section.get("kind", "postgres"))
    return OTHER_NAMES.get(kind, kind)


def taken_instead(path: Path, database: str | None) -> tuple[str, ...]:
    """That the file's database is not the one that is asked about, as a line; nothing if it is."""
    section = scenario.toml(path).get("database")
    if database is None or not isinstance(section, dict) or (kind := _kind(section)) == database:
        return ()
    ordinary = ", ".join(f"{name} = {predict.as_toml(value)}" for name, value in DATABASES[database].items())
    return (f"[database] of {path.name} is of {kind} and is not used: --database {database} takes an ordinary one "
            f"({ordinary}). Leave --database out for the file's own.",)


# --- what they are worth --------------------------------------------------------------------------------------------------

def at_work(machine: Scenario) -> Scenario:
    """The server after hours of work, unless its file says otherwise: what fits into the ARC, a cache device and InnoDB's
    buffers is there. (Those of PostgreSQL: `study.machines.run_length`; of Oracle: `model.databases.oracle.start`.)"""
    return scenario.changed(machine, _after_hours(machine))


def _after_hours(machine: Scenario) -> dict[str, Any]:
    changes: dict[str, Any] = {"files.warm": True} if machine.files.warm is None else {}
    if machine.files.kind != "ufs" and machine.files.cache_warm is None:
        changes["files.cache_warm"] = machine.files.warm is not False
    if machine.database.kind == "innodb" and machine.database.start is None:
        changes["database.start"] = "warm"
    return changes


def taken_after_hours(machine: Scenario) -> tuple[str, ...]:
    """What `at_work` takes where the file leaves it open, as a line; nothing if it leaves nothing open."""
    taken = [f"{path} = {predict.as_toml(value)}" for path, value in _after_hours(machine).items()]
    return (f"{', '.join(taken)}: after hours of work. `study predict` draws what is left out here, so its rates differ.",
            ) if taken else ()


def advise(machine: Scenario, spare: tuple[Devices, ...] = (), draws: int = DRAWS,
           budget: run_length.Budget = run_length.BUDGET, safe_only: bool = False, kept_as: str | None = None) -> Advice:
    """`safe_only`: what trades safety is no rung of the ladder, and is not tried. `kept_as`: see
    `study.predictions.predict.compare`; the runs of all single steps, and those of the ladder."""
    machine = at_work(machine)
    all_steps = [step for step in tuning_steps.steps(machine, spare) if is_safe(step) or not safe_only]
    tried = [step for step in all_steps if step.after is not None]
    scenarios = [machine, *(step.after for step in tried if step.after is not None)]
    known = machines.known(scenarios, predict.EXPERIMENTS[machine.database.kind])
    common = ladder.Common(known, draws, budget, kept_as)
    base, pairs = _runs(scenarios, common)
    as_it_is = base.tps
    gains = [pair.tps_after / pair.tps_before for pair in pairs]
    tps = [as_it_is * gain for gain in gains]
    best = sorted(enumerate(gains), key=lambda pair: -pair[1].median())
    gaining = [(tried[i], gain) for i, gain in best if gain.median() >= ladder.WORTH]
    chosen = [(step, as_it_is * gain) for step, gain in gaining if is_safe(step) and ladder.sign(gain) > 0]
    made = ladder.of(machine, as_it_is, chosen, common)
    left_out = {key(step): _why_no_rung(step, gain) for step, gain in gaining} | made.left_out
    rows: list[tuple] = [
            (step.name, *intervals.interval(gain), *intervals.interval(rate), " ".join(step.trades),
             step.recipe.mechanism if ladder.sign(gain) < 0 else "", "", left_out.get(key(step), ""),
             configuration_lines.of(machine, step.changes), pair.is_whole)
            for step, pair, gain, rate in zip(tried, pairs, gains, tps, strict=True)]
    rows += [(step.name, *[float("nan")] * 6, "", "", step.why_not, "", (), True)
             for step in all_steps if step.after is None]
    table = pd.DataFrame(rows, columns=STEP_COLUMNS).sort_values("gain", ascending=False, na_position="last")
    return Advice(base=predict.table(base), steps=table.reset_index(drop=True), ladder=made.rungs,
                  calibrated_tps=model_error.widened(intervals.interval(as_it_is), model_error.seen()),
                  is_whole=bool(base.is_whole.all()), gain_more=made.gain_more)


class _Pair(NamedTuple):
    """The machine as it is and with a step, in the size of both, under the same draws."""
    tps_before: pd.Series       # by draw
    tps_after: pd.Series
    is_whole: bool              # see Advice


def _runs(scenarios: list[Scenario], common: ladder.Common) -> tuple[pd.DataFrame, list[_Pair]]:
    """Of the first scenario in its own size, a row for each draw; and a pair for each of the others."""
    machine, values = scenarios[0], common.known.central()
    predict.alike(scenarios, values, common.budget)      # on all processors; each by itself then remembers its short runs
    size_of = [sizes.own(machine, values, common.budget),
               *(sizes.of_pair(machine, after, values, common.budget) for after in scenarios[1:])]
    all_sizes = list(dict.fromkeys(size_of))
    by_place: dict[tuple[float | None, int], pd.DataFrame] = {}
    for size in all_sizes:
        places = [place for place, its in enumerate(size_of[1:], 1) if its == size]
        runs = predict.compare([machine, *(scenarios[place] for place in places)], common.draws, budget=common.budget,
                               known=common.known, smaller_by=size, kept_as=common.kept_as if len(all_sizes) == 1 else None)
        of_each = [runs[runs.scenario == i].reset_index(drop=True) for i in range(len(places) + 1)]
        by_place |= {(size, place): of_place for place, of_place in zip([0, *places], of_each, strict=True)}
    return by_place[size_of[0], 0], [
        _Pair(by_place[size, 0].tps, by_place[size, place].tps, bool(by_place[size, place].is_whole.all()))
        for place, size in enumerate(size_of[1:], 1)]


def is_open(low: float, high: float) -> bool:
    """Whether an interval of gains leaves open if there is any. What is 1 in every draw surely gains nothing."""
    return low <= 1 <= high and low < high


def _why_no_rung(step: Step, gain: pd.Series) -> str:
    """Of a step that gains by itself; "" if it can be one."""
    if not is_safe(step):
        return "it trades safety, which is left to you"
    return "" if ladder.sign(gain) > 0 else "it may gain nothing: the interval of its gain holds zero"


def slower(table: pd.DataFrame) -> list[str]:
    """Of steps that lose even at the upper end of their interval: what they do, in words."""
    return [f"{row.step} makes it slower here. What it does: {row.why_slower}"
            for row in table[table.why_slower != ""].itertuples()]


def why_more(machine: Scenario, advice: Advice, as_it_is: Sequence[bounds.Share],
             budget: run_length.Budget) -> tuple[str, ...]:
    """Of steps that gain more on the ladder than by themselves. What does a transaction's time go with on the rung below,
    and on the machine as it is?"""
    experiment = predict.EXPERIMENTS[machine.database.kind]
    return tuple(
        f"{stacked.step} gains {stacked.on_top - 1:+.0%} on the ladder, and {stacked.alone - 1:+.0%} by itself. "
        f"The rung below it is {bounds.words(bounds.of(stacked.below, experiment, budget))}. "
        f"The machine as it is is {bounds.words(as_it_is)}."
        for stacked in advice.gain_more)


def beginnings(advice: Advice) -> list[str]:
    """Which runs hold no whole interval between checkpoints, and what follows, in words."""
    if not advice.is_whole:
        return [ALL_BEGIN]
    steps = advice.steps[~advice.steps.is_whole.astype(bool)]
    return [BEGINNING] * bool(len(steps)) + [f"- {step}" for step in steps.step]
