"""Draws of the order entry at full size, beside the same draws to scale. They have no part in any grade.

    made(case)                  one draw at full size: a quarter of an hour of one processor
    drawn, rows = read()        those kept in data/full_scale
    both = pairs(60, …)         each beside the same draw to scale, and the best guess likewise
    table(both)                 what is compared, at both sizes

No pair has a pool of RAID-Z. The cycle is not compared: it takes twenty test runs at full size, and these series have
thirty.
Users begin with two minutes of settling at any size. At full size that is short where many buffers may be dirty: a pool
may have aged at a pace that was taken too early. No printed number is read here.
"""
import json
from typing import Any, NamedTuple

import pandas as pd

from study import project
from study.documents import priors
from study.ensembles import ensembles, kept
from study.ensembles.ensembles import AFTER, BEFORE
from study.errors import UserError
from study.experiments.allocator_2010 import order_entry
from study.experiments.allocator_2010 import order_entry_full_scale as full_scale
from study.experiments.allocator_2010.order_entry import outcome, with_values
from study.experiments.allocator_2010.order_entry_full_scale import WARM_S, WINDOW_S
from study.experiments.allocator_2010.order_entry_machine import Setup
from study.experiments.allocator_2010.order_entry_series import POOL_COLUMNS, TPS, Series, series
from study.experiments.allocator_2010.rules import new_rules, old_rules

CASES, SERIES = "full_scale/order_entry_draws.json", "full_scale/order_entry_draws.parquet"
POOL = "pool."                      # in front of what the allocator tells of a test run
N_DRAWS, SEEDS, SEED = 20, 3, 1     # the hypercube that they are of
N_RUNS, N_USERS, RECORD_KIB = 30, 64, 4
LAYOUTS = ("mirror", "stripe")      # metaslabs of RAID-Z have more blocks than `model.zfs.space.bitmaps.MAX_BLOCKS`
OF_SCALE = {"finer": 1, "group_scale": 1}       # conditions of a scale; at full size they are none

GAIN, REDUCTION, R_SQUARED, BEST, BLOCKS = COMPARED = (
    "throughput.gain", "variability.reduction", "io_size.r_squared", "best.r_squared", "aggregation.ratio")
LABELS = {GAIN: "gain (%)", REDUCTION: "less variability (%)", R_SQUARED: "R² of I/O size",
          BEST: "R² of the best statistic",
          BLOCKS: "records in a write, fastest over slowest test run"}


class Pairs(NamedTuple):
    """The same draws at both sizes, and the best guess: a row each, a column for each of COMPARED."""
    small: pd.DataFrame
    full: pd.DataFrame


# --- draws at full size -------------------------------------------------------------------------------------------------

def cases() -> list[dict]:
    """The draws of all that is not known, in the order in which they are simulated, but for pools of RAID-Z."""
    table = ensembles.cases(priors.read(order_entry.EXPERIMENT), N_DRAWS, SEEDS, SEED, ensembles.NUMBERS)
    return table[(table.part == "all") & table.layout.isin(LAYOUTS)].to_dict("records")


def made(case: dict) -> pd.DataFrame:
    """The series of one of `cases` at full size: rules, run, name, value, unit."""
    values, machine, tables = _values(case), _machine(case), []
    for variant, rules in ((BEFORE, old_rules()), (AFTER, new_rules(values["new_picker"], values["new_bonus"]))):
        of_rules = series(machine, rules, N_RUNS, case["seed"])
        pool = of_rules.pool.rename_axis("run").reset_index().melt("run", POOL_COLUMNS, "name")
        rows = pd.concat([of_rules.table, pool.assign(name=POOL + pool.name, unit="1")])
        tables.append(rows[["run", "name", "value", "unit"]].assign(rules=variant))
    return pd.concat(tables, ignore_index=True)


def _values(case: dict) -> dict:
    return {name: value for name, value in case.items() if name not in ("part", "seed")}


def write(drawn: list[dict], tables: list[pd.DataFrame]) -> None:
    """Keep these draws and their series."""
    project.write_atomically(project.DATA / CASES, json.dumps(drawn, indent=1) + "\n")
    rows = pd.concat([table.assign(draw=number) for number, table in enumerate(tables)], ignore_index=True)
    rows.to_parquet(project.DATA / SERIES, compression="zstd", index=False)


def read() -> tuple[list[dict], pd.DataFrame]:
    """The draws that are kept, and their series. UserError if the two files are not of the same draws."""
    drawn = json.loads(project.data_file(CASES).read_text(encoding="utf-8"))
    rows = pd.read_parquet(project.data_file(SERIES))
    n_runs = rows[rows.name == TPS].groupby(["draw", "rules"]).run.nunique()
    if len(n_runs) != 2 * len(drawn) or set(n_runs) != {N_RUNS}:
        raise UserError(f"data/{SERIES} has not {N_RUNS} test runs under both rules for each of the {len(drawn)} draws of "
                        f"data/{CASES}; restore both with: git checkout -- data")
    return drawn, rows


def _series(rows: pd.DataFrame) -> Series:
    of_pool = rows.name.str.startswith(POOL)
    pool = rows[of_pool].pivot(index="run", columns="name", values="value")
    return Series(rows.loc[~of_pool, ["run", "name", "value", "unit"]].reset_index(drop=True),
                  pool[[POOL + name for name in POOL_COLUMNS]].set_axis(POOL_COLUMNS, axis=1))


# --- beside the same draws to scale -------------------------------------------------------------------------------------

def pairs(cycle_runs: int, **fixed: Any) -> Pairs:
    """The kept draws at both sizes, and the best guess. `fixed`: of the series to scale, as in `order_entry.predict`. Users,
    record and number of test runs are those of the series at full size, whatever `fixed` says."""
    fixed |= {"n_users": N_USERS, "record_kib": RECORD_KIB}
    drawn, rows = read()
    known = priors.read(order_entry.EXPERIMENT)
    best = {"part": "central", "seed": full_scale.SEED, **known.central()}
    ensemble = kept.Ensemble("order-entry-pairs", order_entry.__name__, ensembles.parts_of(known))
    to_scale = kept.rows(ensemble, order_entry.of_case, [(case, fixed, N_RUNS, cycle_runs) for case in (*drawn, best)])
    full = [outcome(_machine(case), old, new, old) for case, (old, new) in zip(drawn, _both_rules(rows), strict=True)]
    old, new = (runs.first(N_RUNS) for _, runs in full_scale.read()[best["age"]].items())
    full.append(outcome(_machine(best), old, new, old))
    return Pairs(*(pd.DataFrame([{name: row[f"{AFTER}/{name}"] for name in COMPARED} for row in of_size])
                   for of_size in ([row for row, in to_scale], full)))


def _machine(case: dict) -> Setup:
    return with_values(_values(case) | OF_SCALE, n_users=N_USERS, record_kib=RECORD_KIB, scale=1, warm_s=WARM_S,
                       window_s=WINDOW_S)


def _both_rules(rows: pd.DataFrame) -> list[list[Series]]:
    """Of each draw its series under the old rules and under the new ones."""
    return [[_series(of_draw[of_draw.rules == variant]) for variant in (BEFORE, AFTER)]
            for _, of_draw in rows.groupby("draw")]


# --- for readers --------------------------------------------------------------------------------------------------------

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
