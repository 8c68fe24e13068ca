"""Draws of the order entry at full size that are kept, and the same draws to scale.

    keep(folder, 3)             simulate draw 3 (`order_entry_full_size`) and keep it: a file for each draw
    refuse(folder, 3, why)      keep beside the draws that this one cannot be simulated, and why
    to_do(folder, 20)           which of the first twenty are missing, or are of an older model
    kept_draws = read()         those in data/full_scale
    cannot = refused()          those that cannot be simulated
    words(kept_draws, cannot)   how many they are, which are of an older model, and what grades are of
    full = results()            the draws that grades are of, None while these are to scale
    both = pairs(60, …)         each beside the same draw to scale, and the best guess likewise
    table(both)                 what is compared, at both sizes

Grades. All N_DRAWS count, or none. A draw counts if it is of today's model. Under another Python nobody can tell: there it
counts if those of its own Python are of one model. One draw that cannot be simulated leaves all grades to scale.

The cycle is neither compared nor graded: it takes twenty test runs at full size, and these series have thirty. No printed
number is read here.
"""
import json
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from study import project
from study.documents import priors
from study.ensembles import ensembles, kept
from study.ensembles.ensembles import AFTER, BEFORE
from study.errors import UserError
from study.experiments.allocator_2010 import order_entry, order_entry_full_scale, order_entry_full_size
from study.experiments.allocator_2010.order_entry import outcome
from study.experiments.allocator_2010.order_entry_full_size import (
    N_DRAWS,
    N_RUNS,
    N_USERS,
    OF_SCALE,
    RECORD_KIB,
    cases,
    code,
    machine,
    series_of,
)
from study.experiments.allocator_2010.order_entry_graded import JOINT, with_joint
from study.experiments.allocator_2010.order_entry_series import TPS
from study.pools import engine_share

FOLDER, NAME, REASON = project.DATA / "full_scale", "draw-{:02d}.parquet", "draw-{:02d}.refused.json"
CYCLE = f"{AFTER}/cycle.skewness"
MAKER = "benchmarks/full_scale.py draws {}"
BEST_GUESS = "best"
CASE, CODE, PYTHON, WHY = "case", "code", "python", "why"
TODAY = "{}.{}".format(*sys.version_info[:2])

GAIN, REDUCTION, R_SQUARED, BEST, BLOCKS = COMPARED = (
    "throughput.gain", "variability.reduction", "io_size.r_squared", "best.r_squared", "aggregation.ratio")
LABELS = {GAIN: "gain (%)", REDUCTION: "less variability (%)", R_SQUARED: "R² of I/O size",
          BEST: "R² of the best statistic",
          BLOCKS: "records in a write, fastest over slowest test run"}


class Draw(NamedTuple):
    """A draw that is kept: what was drawn, its test runs (`order_entry_full_size.rows`), and what made it."""
    case: dict[str, Any]
    rows: pd.DataFrame
    pools: list[dict[str, Any]]     # what the fast engine served: see `study.pools.engine_share`
    python: str         # "" where nothing is known of what made it
    code: str           # digest of its model
    is_older: bool      # whether its model, or what was drawn, is another one than today's


class Refused(NamedTuple):
    """A draw that cannot be simulated: why, and what found it so."""
    why: str
    python: str
    is_older: bool


class Pairs(NamedTuple):
    """The same draws at both sizes, and the best guess: a row each, by number or BEST_GUESS. A column for each of COMPARED
    and for the joint fact."""
    small: pd.DataFrame
    full: pd.DataFrame


# --- files --------------------------------------------------------------------------------------------------------------

def file_of(folder: Path, number: int) -> Path:
    """Where draw `number` is kept."""
    return folder / NAME.format(number)


def reason_of(folder: Path, number: int) -> Path:
    """Where it is kept why draw `number` cannot be simulated."""
    return folder / REASON.format(number)


def keep(folder: Path, number: int) -> Path:
    """Simulate draw `number` of the hypercube and write its file, in place of a reason why not. CannotRun if its users never
    settle."""
    case, begin = cases()[number], time.process_time()
    with engine_share.noted() as pools:
        made = kept.Made(order_entry_full_size.rows(case), pools)
    kept.write(file_of(folder, number), [made],
               {"maker": order_entry_full_size.__name__, "reads": "[]", **_made_by(case), CASE: json.dumps(case),
                kept.SECONDS: f"{time.process_time() - begin:.0f}"})
    reason_of(folder, number).unlink(missing_ok=True)
    return file_of(folder, number)


def refuse(folder: Path, number: int, why: str) -> Path:
    """Keep why draw `number` cannot be simulated by today's model, in place of a draw of an older one."""
    facts = _made_by(cases()[number]) | {WHY: why}
    project.write_atomically(reason_of(folder, number), json.dumps(facts, indent=1) + "\n")
    file_of(folder, number).unlink(missing_ok=True)
    return reason_of(folder, number)


def to_do(folder: Path, n: int) -> list[int]:
    """Of the first `n` draws those that are not in `folder`, then those that are there of an older model. One that is known
    not to be possible is there."""
    numbers = range(len(cases()[:n]))
    facts = {number: facts for number in numbers if (facts := _facts(folder, number)) is not None}
    return [number for number in numbers if number not in facts] + [
        number for number, of_file in facts.items() if _is_older(of_file, cases()[number], any_python=False)]


def _facts(folder: Path, number: int) -> dict[str, str] | None:
    """What made a draw, or found that it cannot be simulated; None where neither is kept."""
    if file_of(folder, number).exists():
        return kept.facts(file_of(folder, number))
    return _reason(reason_of(folder, number)) if reason_of(folder, number).exists() else None


def _reason(path: Path) -> dict[str, str]:
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        facts = None
    if not isinstance(facts, dict) or not all(isinstance(facts.get(name), str) for name in ("calls", CODE, PYTHON, WHY)):
        raise UserError(f"{path} does not say why a draw cannot be simulated; restore it with git checkout -- data, or "
                        "remove it")
    return facts


def _made_by(case: dict) -> dict[str, str]:
    return {"calls": _digest(case), CODE: code(), PYTHON: TODAY}


def read(folder: Path = FOLDER) -> dict[int, Draw]:
    """The draws that are kept, by number. UserError if a file is damaged, or has not all test runs."""
    today, draws = cases(), {}
    for number in range(N_DRAWS):
        path = file_of(folder, number)
        if not path.exists():
            continue
        path = _declared(path)
        facts, (made,) = kept.facts(path), kept.read(path)
        rows = pd.DataFrame(made.rows)
        if set(rows[rows.name == TPS].groupby("rules").run.nunique()) != {N_RUNS} or set(rows.rules) != {BEFORE, AFTER}:
            raise UserError(f"{path} has not {N_RUNS} test runs under both rules; restore it with git checkout -- data, or "
                            f"remove it and make it anew with: {MAKER.format(number + 1)}")
        is_older = _is_older(facts, today[number], any_python=True)
        draws[number] = Draw(json.loads(facts[CASE]), rows, made.pools, facts[PYTHON], facts[CODE], is_older)
    if not draws:
        raise UserError(f"{folder} has no draw at full size; restore them with: git checkout -- data")
    return draws


def refused(folder: Path = FOLDER) -> dict[int, Refused]:
    """The draws that cannot be simulated, by number. UserError if a reason is damaged."""
    today, known = cases(), {}
    for number in range(N_DRAWS):
        if reason_of(folder, number).exists():
            facts = _reason(_declared(reason_of(folder, number)))
            known[number] = Refused(facts[WHY], facts[PYTHON], _is_older(facts, today[number], any_python=True))
    return known


def _declared(path: Path) -> Path:
    """The same; of the project's own folder a run must have declared that it reads it."""
    return project.data_file(path.relative_to(project.DATA).as_posix()) if path.parent == FOLDER else path


def _digest(case: dict) -> str:
    return project.digest([kept.as_text((case, N_RUNS, N_USERS, RECORD_KIB)).encode()])


def _is_older(facts: dict[str, str], case: dict, any_python: bool) -> bool:
    """Whether a file is of another case or of other code. Under another Python digests of the same code differ."""
    is_of_today = facts[CODE] == code() or (any_python and facts[PYTHON] not in ("", TODAY))
    return facts["calls"] != _digest(case) or not is_of_today


# --- what grades are of -------------------------------------------------------------------------------------------------

def results(folder: Path = FOLDER) -> pd.DataFrame | None:
    """The draws that grades are of, None while these are to scale. Columns are those of `order_entry.predict` without the
    cycle, and without numbers that are no conditions; the joint fact is one more. All are of the part `all`."""
    draws = read(folder)
    if not is_complete(draws):
        return None
    known = priors.read(order_entry.EXPERIMENT)
    rows = [_row(draws[number]) for number in range(N_DRAWS)]
    numbers = {prior.name for prior in known.priors} - {condition.name for condition in known.conditions}
    table = pd.DataFrame(rows).assign(fitted=False, reached=True).drop(columns=[CYCLE, *numbers, *OF_SCALE])
    return with_joint(table)


def is_complete(draws: dict[int, Draw]) -> bool:
    """Whether all N_DRAWS are simulated, by today's model. Digests of two Pythons differ, so that those of each Python must
    be of one model."""
    of_models = {(draw.python, draw.code) for draw in draws.values()}
    return (len(draws) == N_DRAWS and not any(draw.is_older for draw in draws.values())
            and len(of_models) == len({python for python, _ in of_models}))


def _row(draw: Draw) -> dict[str, Any]:
    """A case and what its test runs show. The pool may be fuller than was asked for."""
    of_full_size = machine(draw.case)
    more = {} if of_full_size.n_other else {"pool_fill": of_full_size.pool_fill}
    return draw.case | more | _outcome(draw)


# --- beside the same draws to scale -------------------------------------------------------------------------------------

def pairs(cycle_runs: int, **fixed: Any) -> Pairs:
    """The kept draws at both sizes, and the best guess. `fixed`: of the series to scale, as in `order_entry.predict`. Users,
    record and number of test runs are those of the series at full size, whatever `fixed` says."""
    fixed |= {"n_users": N_USERS, "record_kib": RECORD_KIB}
    draws = read()
    engine_share.restore(pool for draw in draws.values() for pool in draw.pools)
    known = priors.read(order_entry.EXPERIMENT)
    best = {"part": "central", "seed": order_entry_full_scale.SEED, **known.central()}
    ensemble = kept.Ensemble("order-entry-pairs", order_entry.__name__, ensembles.parts_of(known))
    calls = [(case, fixed, N_RUNS, cycle_runs) for case in (*(draw.case for draw in draws.values()), best)]
    to_scale = kept.rows(ensemble, order_entry.of_case, calls)
    full = [_outcome(draw) for draw in draws.values()]
    old, new = (runs.first(N_RUNS) for _, runs in order_entry_full_scale.read()[best["age"]].items())
    full.append(outcome(machine(best), old, new, old))
    names = [*(f"{number:02d}" for number in draws), BEST_GUESS]
    shown = [*COMPARED, JOINT]
    return Pairs(*(with_joint(pd.DataFrame(of_size, index=names))[[f"{AFTER}/{name}" for name in shown]].set_axis(
        shown, axis=1) for of_size in ([row for row, in to_scale], full)))


def _outcome(draw: Draw) -> dict[str, float]:
    old, new = (series_of(draw.rows[draw.rows.rules == variant]) for variant in (BEFORE, AFTER))
    return outcome(machine(draw.case), old, new, old)


# --- for readers --------------------------------------------------------------------------------------------------------

def words(draws: dict[int, Draw], cannot: dict[int, Refused]) -> str:
    """How many draws are kept, and which of them are of an older model, or by which nobody can tell. Which cannot be
    simulated, and what grades are of."""
    everything: list[tuple[int, Draw | Refused]] = sorted([*draws.items(), *cannot.items()], key=lambda item: item[0])
    older = [number for number, of_file in everything if of_file.is_older]
    elsewhere = [number for number, of_file in everything if not of_file.is_older and of_file.python != TODAY]
    sentences = [f"{len(draws)} of {N_DRAWS} draws are kept at full size."]
    sentences += [f"Draw {number} cannot be simulated: {of_file.why}."
                  for number, of_file in cannot.items()]
    if older:
        sentences.append(f"Of an older model {_are(older)}; {MAKER.format(N_DRAWS)} makes them anew.")
    if elsewhere:
        sentences.append(f"Under Python {TODAY} nobody can tell whether the model is still that of {_listed(elsewhere)}.")
    sentences.append(f"Grades take {N_DRAWS} draws at full size, from the least to the most. The cycle is graded to scale."
                     if is_complete(draws) else f"Grades are to scale until all {N_DRAWS} are there, of today's model.")
    return " ".join(sentences)


def _are(numbers: list[int]) -> str:
    return f"{'is' if len(numbers) == 1 else 'are'} {_listed(numbers)}"


def _listed(numbers: list[int]) -> str:
    return f"{'draw' if len(numbers) == 1 else 'draws'} " + ", ".join(map(str, numbers))


def sentence(both: Pairs) -> str:
    """What the pairs show of steadiness, gain and the joint fact, at both sizes."""
    n, ranges = len(both.full), {}
    for name in (REDUCTION, GAIN):
        ranges[name] = [f"{of_size[name].min():.0f} to {of_size[name].max():.0f}" for of_size in (both.full, both.small)]
    joint = [int((of_size[JOINT] >= 1).sum()) for of_size in (both.full, both.small)]
    return (f"These {n} machines gain {ranges[GAIN][0]} % at full size, and {ranges[GAIN][1]} % to scale. Their runs vary "
            f"{ranges[REDUCTION][0]} % less at full size, and {ranges[REDUCTION][1]} % less to scale. The joint fact is "
            f"eight blocks in a good write and two in a bad one. It shows in {joint[0]} of them at full size, and in "
            f"{joint[1]} to scale.")


def table(both: Pairs) -> pd.DataFrame:
    """A row for each of COMPARED: the least, the middle and the most of the pairs, to scale and at full size."""
    ends = {"least": "min", "middle": "median", "most": "max"}
    columns = {"what": [LABELS[name] for name in COMPARED]}
    for size, of_size in (("to scale", both.small), ("full size", both.full)):
        columns |= {f"{size}, {end}": of_size[list(COMPARED)].agg(how).tolist() for end, how in ends.items()}
    return pd.DataFrame(columns)


def pair_metric(draw: str, name: str, size: str) -> str:
    """The name of a number of one pair in the run store; `size` is small or full."""
    return f"pair.{draw}.{name}.{size}"


def metrics(both: Pairs) -> pd.DataFrame:
    """For the run store: name, value, unit."""
    units = {GAIN: "%", REDUCTION: "%"}
    rows = [("pairs.n", len(both.full), "draws")]
    rows += [(f"pairs.{name}.{size}-{end}", of_size[name].agg(how), units.get(name, "1"))
             for name in COMPARED for size, of_size in (("small", both.small), ("full", both.full))
             for end, how in (("low", "min"), ("middle", "median"), ("high", "max"))]
    rows += [(pair_metric(draw, name, size), of_size.loc[draw, name], units.get(name, "1"))
             for draw in both.full.index for name in (*COMPARED, JOINT)
             for size, of_size in (("small", both.small), ("full", both.full))]
    return pd.DataFrame(rows, columns=["name", "value", "unit"])
