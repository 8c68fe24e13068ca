"""Draws of the order entry at full size that are kept, beside the same draws to scale. They have no part in any grade.

    keep(folder, 3)             simulate draw 3 (`order_entry_full_size`) and keep it: a file for each draw
    to_do(folder, 20)           which of the first twenty are missing, or are of an older model
    kept_draws = read()         those in data/full_scale
    words(kept_draws)           how many they are, and which are of an older model
    both = pairs(60, …)         each beside the same draw to scale, and the best guess likewise
    table(both)                 what is compared, at both sizes

The cycle is not compared: it takes twenty test runs at full size, and these series have thirty. No printed number is read
here.
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
from study.experiments.allocator_2010 import order_entry, order_entry_full_size
from study.experiments.allocator_2010 import order_entry_full_scale as full_scale
from study.experiments.allocator_2010.order_entry import outcome
from study.experiments.allocator_2010.order_entry_full_size import (
    N_DRAWS,
    N_RUNS,
    N_USERS,
    RECORD_KIB,
    cases,
    code,
    machine,
    series_of,
)
from study.experiments.allocator_2010.order_entry_series import TPS
from study.pools import engine_share

FOLDER, NAME = project.DATA / "full_scale", "draw-{:02d}.parquet"
MAKER = "benchmarks/full_scale.py draws {}"
CASE, CODE, PYTHON = "case", "code", "python"
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
    is_older: bool      # whether its model, or what was drawn, is another one than today's


class Pairs(NamedTuple):
    """The same draws at both sizes, and the best guess: a row each, a column for each of COMPARED."""
    small: pd.DataFrame
    full: pd.DataFrame


# --- files --------------------------------------------------------------------------------------------------------------

def file_of(folder: Path, number: int) -> Path:
    """Where draw `number` is kept."""
    return folder / NAME.format(number)


def keep(folder: Path, number: int) -> Path:
    """Simulate draw `number` of the hypercube and write its file. CannotRun if its users never settle."""
    case, begin = cases()[number], time.process_time()
    with engine_share.noted() as pools:
        made = kept.Made(order_entry_full_size.rows(case), pools)
    facts = {"maker": order_entry_full_size.__name__, "reads": "[]", "calls": _digest(case), CASE: json.dumps(case),
             CODE: code(), PYTHON: TODAY, kept.SECONDS: f"{time.process_time() - begin:.0f}"}
    kept.write(file_of(folder, number), [made], facts)
    return file_of(folder, number)


def to_do(folder: Path, n: int) -> list[int]:
    """Of the first `n` draws those that are not in `folder`, then those that are there of an older model."""
    numbers = range(len(cases()[:n]))
    missing = [number for number in numbers if not file_of(folder, number).exists()]
    return missing + [number for number in numbers if number not in missing
                      and _is_older(kept.facts(file_of(folder, number)), cases()[number], any_python=False)]


def read(folder: Path = FOLDER) -> dict[int, Draw]:
    """The draws that are kept, by number. UserError if a file is damaged, or has not all test runs."""
    today, draws = cases(), {}
    for number in range(N_DRAWS):
        path = file_of(folder, number)
        if not path.exists():
            continue
        path = project.data_file(path.relative_to(project.DATA).as_posix()) if folder == FOLDER else path
        facts, (made,) = kept.facts(path), kept.read(path)
        rows = pd.DataFrame(made.rows)
        if set(rows[rows.name == TPS].groupby("rules").run.nunique()) != {N_RUNS} or set(rows.rules) != {BEFORE, AFTER}:
            raise UserError(f"{path} has not {N_RUNS} test runs under both rules; restore it with git checkout -- data, or "
                            f"remove it and make it anew with: {MAKER.format(number + 1)}")
        is_older = _is_older(facts, today[number], any_python=True)
        draws[number] = Draw(json.loads(facts[CASE]), rows, made.pools, facts[PYTHON], is_older)
    if not draws:
        raise UserError(f"{folder} has no draw at full size; restore them with: git checkout -- data")
    return draws


def _digest(case: dict) -> str:
    return project.digest([kept.as_text((case, N_RUNS, N_USERS, RECORD_KIB)).encode()])


def _is_older(facts: dict[str, str], case: dict, any_python: bool) -> bool:
    """Whether a file is of another case or of other code. Under another Python digests of the same code differ."""
    is_of_today = facts[CODE] == code() or (any_python and facts[PYTHON] not in ("", TODAY))
    return facts["calls"] != _digest(case) or not is_of_today


# --- beside the same draws to scale -------------------------------------------------------------------------------------

def pairs(cycle_runs: int, **fixed: Any) -> Pairs:
    """The kept draws at both sizes, and the best guess. `fixed`: of the series to scale, as in `order_entry.predict`. Users,
    record and number of test runs are those of the series at full size, whatever `fixed` says."""
    fixed |= {"n_users": N_USERS, "record_kib": RECORD_KIB}
    draws = list(read().values())
    engine_share.restore(pool for draw in draws for pool in draw.pools)
    known = priors.read(order_entry.EXPERIMENT)
    best = {"part": "central", "seed": full_scale.SEED, **known.central()}
    ensemble = kept.Ensemble("order-entry-pairs", order_entry.__name__, ensembles.parts_of(known))
    calls = [(case, fixed, N_RUNS, cycle_runs) for case in (*(draw.case for draw in draws), best)]
    to_scale = kept.rows(ensemble, order_entry.of_case, calls)
    full = [_outcome(draw) for draw in draws]
    old, new = (runs.first(N_RUNS) for _, runs in full_scale.read()[best["age"]].items())
    full.append(outcome(machine(best), old, new, old))
    return Pairs(*(pd.DataFrame([{name: row[f"{AFTER}/{name}"] for name in COMPARED} for row in of_size])
                   for of_size in ([row for row, in to_scale], full)))


def _outcome(draw: Draw) -> dict[str, float]:
    old, new = (series_of(draw.rows[draw.rows.rules == variant]) for variant in (BEFORE, AFTER))
    return outcome(machine(draw.case), old, new, old)


# --- for readers --------------------------------------------------------------------------------------------------------

def words(draws: dict[int, Draw]) -> str:
    """How many draws are kept, and which of them are of an older model, or by which nobody can tell."""
    older = [number for number, draw in draws.items() if draw.is_older]
    elsewhere = [number for number, draw in draws.items() if not draw.is_older and draw.python != TODAY]
    sentences = [f"{len(draws)} of {N_DRAWS} draws are kept at full size."]
    if older:
        sentences.append(f"Of an older model {_are(older)}; {MAKER.format(N_DRAWS)} makes them anew.")
    if elsewhere:
        sentences.append(f"Under Python {TODAY} nobody can tell whether the model is still that of {_listed(elsewhere)}.")
    return " ".join(sentences)


def _are(numbers: list[int]) -> str:
    return f"{'is' if len(numbers) == 1 else 'are'} {_listed(numbers)}"


def _listed(numbers: list[int]) -> str:
    return f"{'draw' if len(numbers) == 1 else 'draws'} " + ", ".join(map(str, numbers))


def table(both: Pairs) -> pd.DataFrame:
    """A row for each of COMPARED: the least, the middle and the most of the pairs, to scale and at full size."""
    ends = {"least": "min", "middle": "median", "most": "max"}
    columns = {"what": [LABELS[name] for name in COMPARED]}
    for size, of_size in (("to scale", both.small), ("full size", both.full)):
        columns |= {f"{size}, {end}": of_size[list(COMPARED)].agg(how).tolist() for end, how in ends.items()}
    return pd.DataFrame(columns)


def metrics(both: Pairs) -> pd.DataFrame:
    """For the run store: name, value, unit."""
    units = {GAIN: "%", REDUCTION: "%"}
    rows = [("pairs.n", len(both.full), "draws")]
    rows += [(f"pairs.{name}.{size}-{end}", of_size[name].agg(how), units.get(name, "1"))
             for name in COMPARED for size, of_size in (("small", both.small), ("full", both.full))
             for end, how in (("low", "min"), ("middle", "median"), ("high", "max"))]
    return pd.DataFrame(rows, columns=["name", "value", "unit"])
