"""The order entry on a pool as large as theirs: 350 GB in records of 4 KiB on disks of 1 TB, nothing to scale.

    order_entry_full_scale.simulate()    by age of the pool, a Comparison: old rules and new, best guesses, a day of runs
    order_entry_full_scale.read()        those that are kept in data/full_scale/

Simulating takes 45 minutes of processor time and 6 GB, so it is done once (`benchmarks/full_scale.py`) and
kept. Machine, rules and seed are those of `04_oltp_gain`; only the scale differs, of the pool and of transaction groups. One
pool is as old as by best guess, the other has never been rewritten, as after a database was loaded for a test.
"""
import itertools

import numpy as np
import pandas as pd

from study import project
from study.ensembles.correlation import of_series
from study.ensembles.ensembles import AFTER, BEFORE
from study.errors import UserError
from study.experiments.allocator_2010.order_entry import compare
from study.experiments.allocator_2010.order_entry import metrics as metrics_of_series
from study.experiments.allocator_2010.order_entry_cycle import cycle
from study.experiments.allocator_2010.order_entry_full_size import POOL, WARM_S, WINDOW_S, series_of
from study.experiments.allocator_2010.order_entry_machine import Setup, setup
from study.experiments.allocator_2010.order_entry_series import POOL_COLUMNS, TPS, Series
from study.experiments.protocol import Comparison

FILE = "full_scale/order_entry.csv"
COLUMNS = ["age", "rules", "run", "name", "value", "unit"]
IO_SIZE = "appliance.io_size"
NEVER_REWRITTEN = 0.0           # turnovers before the first run
N_RUNS, SEED = 48, 1            # a day


def machine() -> Setup:
    """The set-up at full size, by best guess."""
    return setup(n_users=64, record_kib=4, scale=1, group_scale=1, warm_s=WARM_S, window_s=WINDOW_S)


def simulate(n_runs: int = N_RUNS) -> dict[float, Comparison]:
    """`n_runs` test runs by old and by new rules, on a fresh and on an aged pool, by the age of the pool."""
    best = machine()
    return {age: compare(best._replace(age=age), n_runs, SEED) for age in (NEVER_REWRITTEN, best.age)}


def _rows(series: Series) -> pd.DataFrame:
    pool = series.pool.rename_axis("run").reset_index().melt("run", POOL_COLUMNS, "name")
    return pd.concat([series.table, pool.assign(name=POOL + pool.name, unit="1")])


def to_csv(full: dict[float, Comparison]) -> str:
    """Six digits of everything."""
    rows = pd.concat([_rows(series).assign(age=age, rules=rules)
                      for age, runs in full.items() for rules, series in runs.items()])
    return rows[COLUMNS].to_csv(index=False, float_format="%.6g", lineterminator="\n")


def _is_whole(rows: pd.DataFrame) -> bool:
    """Two ages, both rules, and throughput and all of the allocator's in each run of all four."""
    always = rows[rows.name.isin([TPS, *(POOL + name for name in POOL_COLUMNS)])]
    n_runs = always.groupby(["age", "rules", "name"]).run.nunique()
    return (set(always.rules), always.age.nunique()) == ({BEFORE, AFTER}, 2) and (
        len(n_runs) == 4 * (1 + len(POOL_COLUMNS)) and n_runs.nunique() == 1)


def read() -> dict[float, Comparison]:
    """What is kept, by age in turnovers."""
    rows = pd.read_csv(project.data_file(FILE))
    if list(rows.columns) != COLUMNS or not _is_whole(rows):
        raise UserError(f"data/{FILE} has not the same runs of two pools under both rules; restore it with: "
                        "git checkout -- data")
    return {age: Comparison(None, *(series_of(of_age[of_age.rules == rules]) for rules in (BEFORE, AFTER)))
            for age, of_age in rows.groupby("age")}


def _of_rules(rules: str, series: Series) -> pd.DataFrame:
    """Cycle, and how well the size of I/Os goes with throughput."""
    r2, (from_tps, to_tps, n_loads) = of_series(series.table, TPS, IO_SIZE), return_of(series)
    rows = [("first", series.tps[0], "1/s"), ("least", series.tps.min(), "1/s"), ("most", series.tps.max(), "1/s"),
            ("low.longest", longest_low(series.tps), "runs"),
            ("return.from", from_tps, "1/s"), ("return.to", to_tps, "1/s"), ("return.loads", n_loads, "1"),
            ("io-size.r2", r2["io_size.r_squared"], "1"), ("best.r2", r2["best.r_squared"], "1"),
            ("io-size.rank", r2["io_size.rank"], "1")]
    numbers = pd.concat([cycle(series.tps), pd.DataFrame(rows, columns=["name", "value", "unit"])])
    return numbers.assign(name=f"{rules}." + numbers.name)


def metrics(full: dict[float, Comparison]) -> pd.DataFrame:
    """For the run store: gain and variability, and cycle and correlation under both rules: name, value, unit."""
    tables = []
    for age, runs in full.items():
        numbers = pd.concat([metrics_of_series(runs), *(_of_rules(*of_rules) for of_rules in runs.items())])
        tables.append(numbers.assign(name=f"full.age-{age:g}." + numbers.name))
    return pd.concat(tables, ignore_index=True)


TABLE = {"tps": "mean (1/s)", "least": "least (1/s)", "most": "most (1/s)", "deviation": "standard deviation (% of mean)",
         "blocks-least": "records in a write, least", "blocks-most": "records in a write, most",
         "fall.runs": "runs of a fall", "rise.runs": "runs of a rise",
         "skewness": "skewness of changes (1.155: falls of three runs, returns of one)",
         "low.longest": "runs on end below the middle",
         "io-size.r2": "R² of I/O size", "io-size.rank": "rank of I/O size", "best.r2": "R² of the best statistic"}


def table(numbers: pd.DataFrame) -> pd.DataFrame:
    """Of `metrics`: a row for each of `TABLE`, and a column for each pool (turnovers before the first run) and rules."""
    names = rf"full\.age-(?P<turnovers>.*)\.(?P<rules>{BEFORE}|{AFTER})\.(?P<what>.*)"
    rows = numbers.join(numbers.name.str.extract(names)).dropna().replace({"rules": {BEFORE: "old", AFTER: "new"}})
    wide = rows.pivot(index="what", columns=["turnovers", "rules"], values="value")
    return wide.sort_index(axis=1, ascending=[True, False]).loc[list(TABLE)].rename(index=TABLE).rename_axis(index=None)


def return_of(series: Series) -> tuple[float, float, int]:
    """The largest step up from one run to the next. Gives transactions per second before it and after it, and how many space
    maps were loaded on the way."""
    i = int(np.diff(series.tps).argmax())
    return series.tps[i], series.tps[i + 1], int(np.diff(series.pool.n_loads)[i])


def longest_low(tps: np.ndarray) -> int:
    """Runs one after another that are below the middle of the range: the most there are of them."""
    low = tps < (tps.min() + tps.max()) / 2
    return max((len(list(stay)) for is_low, stay in itertools.groupby(low) if is_low), default=0)
