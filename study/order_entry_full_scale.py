"""The order entry on a pool as large as theirs: 350 GB in records of 4 KiB on disks of 1 TB, nothing to scale.

    order_entry_full_scale.simulate()    a Comparison: old rules and new, best guesses, a day of runs
    order_entry_full_scale.read()        the one that is kept in data/full_scale/

Simulating takes half an hour of processor time and 6 GB, so it is done once (`benchmarks/full_scale.py`) and kept.
Machine, rules and seed are those of `04_oltp_gain`; only the scale differs, of the pool and of transaction groups.
"""
import numpy as np
import pandas as pd

from study import project
from study.correlation import of_series
from study.ensembles import AFTER, BEFORE
from study.errors import UserError
from study.order_entry_2010 import POOL_COLUMNS, Comparison, Series, Setup, compare, setup
from study.order_entry_questions import TPS, cycle, metrics_of_series

FILE = "full_scale/order_entry.csv"
COLUMNS = ["rules", "run", "name", "value", "unit"]
IO_SIZE = "appliance.io_size"
POOL = "pool."                  # in front of what the allocator tells of a run, which nobody looked at then
N_RUNS, SEED = 48, 1            # a day
WARM_S, WINDOW_S = 128.0, 1664.0    # of each run of 30 minutes: as `04_oltp_gain` has it to scale


def machine() -> Setup:
    return setup(n_users=64, record_kib=4, scale=1, group_scale=1, warm_s=WARM_S, window_s=WINDOW_S)


def simulate(n_runs: int = N_RUNS) -> Comparison:
    return compare(machine(), n_runs, SEED)


def _rows(one: Series) -> pd.DataFrame:
    pool = one.pool.rename_axis("run").reset_index().melt("run", POOL_COLUMNS, "name")
    return pd.concat([one.table, pool.assign(name=POOL + pool.name, unit="1")])


def to_csv(runs: Comparison) -> str:
    """Six digits of everything."""
    rows = pd.concat([_rows(one).assign(rules=rules) for rules, one in runs.items()])
    return rows[COLUMNS].to_csv(index=False, float_format="%.6g", lineterminator="\n")


def _series(rows: pd.DataFrame) -> Series:
    of_pool = rows.name.str.startswith(POOL)
    pool = rows[of_pool].pivot(index="run", columns="name", values="value")
    return Series(rows.loc[~of_pool, ["run", "name", "value", "unit"]].reset_index(drop=True),
                  pool[[POOL + name for name in POOL_COLUMNS]].set_axis(POOL_COLUMNS, axis=1))


def read() -> Comparison:
    """What is kept."""
    rows = pd.read_csv(project.data_file(FILE))
    if list(rows.columns) != COLUMNS or set(rows.rules) != {BEFORE, AFTER}:
        raise UserError(f"data/{FILE} is no pair of series; restore it with: git checkout -- data")
    return Comparison(*(_series(rows[rows.rules == rules]) for rules in (BEFORE, AFTER)))


def _of_rules(rules: str, one: Series) -> pd.DataFrame:
    """Cycle, and how well the size of I/Os goes with throughput."""
    r2, (from_tps, to_tps, n_loads) = of_series(one.table, TPS, IO_SIZE), return_of(one)
    rows = [("first", one.tps[0], "1/s"), ("least", one.tps.min(), "1/s"), ("most", one.tps.max(), "1/s"),
            ("return.from", from_tps, "1/s"), ("return.to", to_tps, "1/s"), ("return.loads", n_loads, "1"),
            ("io-size.r2", r2["io_size.r_squared"], "1"), ("best.r2", r2["best.r_squared"], "1"),
            ("io-size.rank", r2["io_size.rank"], "1")]
    found = pd.concat([cycle(one.tps), pd.DataFrame(rows, columns=["name", "value", "unit"])])
    return found.assign(name=f"{rules}." + found.name)


def metrics(full: Comparison) -> pd.DataFrame:
    """For the run store: gain and variability, and cycle and correlation under both rules: name, value, unit."""
    found = pd.concat([metrics_of_series(full), *(_of_rules(*one) for one in full.items())], ignore_index=True)
    return found.assign(name="full." + found.name)


def return_of(one: Series) -> tuple[float, float, int]:
    """The largest step up from one run to the next: transactions per second before it and after it, and how many space maps
    were loaded on the way."""
    i = int(np.diff(one.tps).argmax())
    return one.tps[i], one.tps[i + 1], int(np.diff(one.pool.n_loads)[i])
