"""Why a measured rate differs from the predicted one: what was sampled besides takes the place of what the model has.

    table = prediction_gap.table(measured, "checkpoints", draws=2)

This is no prediction: it reads what was measured, and looks which mechanism brings the model nearest.

    other programs          the processors were not ours alone: the model's are slower by that share
    processor time          a transaction takes as much of it as was sampled, pgbench and the kernel included
    sync of the log         takes as long as PostgreSQL counted, instead of fio's write and flush
    all three
"""
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from model.databases.postgres import columns as pg
from study.errors import UserError
from study.machines import servers
from study.machines import simulate as machines
from study.measure import device, predicted, sets
from study.measure.device import Number
from study.measure.sets import Measured, Run

OTHERS, TIME, SYNC, ALL = "other programs", "processor time", "sync of the log", "all three"
DISTURBED, FULL = 0.05, 0.95        # shares of all processors: of other programs, of others and the database together
LEAST_SHARE = 0.01          # of the processors that are left to us at least


COLUMNS = ["mechanism", "in_model", "measured", "unit", "tps", "factor"]


class Sampled(NamedTuple):
    """Of a rung, means over its runs."""
    others: float           # share of all processors that other programs took
    ours: float             # share that server, clients and the sampling took
    transaction_us: float   # processor time of a transaction, ours
    sync_us: float          # of the log; NaN where there were none
    per_sync: float         # transactions
    wal_bytes: float        # of a transaction


def of_run(run: Run) -> Sampled:
    """What was sampled while a run was measured."""
    def mean(series: str, name: str) -> float:
        return sets.mean(run, series, name)
    tps, processors = run.totals["pgbench.tps"], int(run.params["machine.processors"])
    busy, ours = mean("processors", "user") + mean("processors", "system"), mean("processors", "ours")
    syncs, commits = mean("postgres", "wal_syncs"), mean("postgres", "commits")
    return Sampled(
        others=max(0.0, busy - ours), ours=ours, transaction_us=1e6 * ours * processors / tps,
        sync_us=1e6 * mean("postgres", "wal_sync_ms") / syncs if syncs > 0 else float("nan"),
        per_sync=commits / syncs if syncs > 0 else float("nan"), wal_bytes=mean("postgres", "wal_bytes") / commits)


def sampled(of: Measured) -> pd.DataFrame:
    """A row a rung, in the order of the ladder: the fields of Sampled."""
    rows = pd.DataFrame([{"rung": run.params["rung"], **of_run(run)._asdict()} for run in of.runs])
    return rows.groupby("rung").mean().reindex(sets.rates(of).rung)


def table(of: Measured, rung: str, draws: int) -> pd.DataFrame:
    """A row a mechanism, and one without. Columns: mechanism, in_model and measured of what it replaces, unit, tps (the
    middle of the draws), factor (measured rate over it). Raises UserError for a rung that is none. Empty where no output of
    fio tells the device."""
    scenarios = predicted.scenarios(of)
    if rung not in scenarios:
        raise UserError(f"rung is '{rung}', but those that are measured and predicted are {', '.join(scenarios)}; choose "
                        "one")
    if not of.fio:
        return pd.DataFrame(columns=COLUMNS)
    fitted = device.numbers(of)
    seen, machine = Sampled(**sampled(of).loc[rung].to_dict()), scenarios[rung]
    known = device.known_with(machines.known([machine]), fitted).central()
    model_us = _transaction_us(machine, known)
    left = max(LEAST_SHARE, 1 - seen.others)
    speed, sync = machine.host.cpu, fitted["write_ns"].middle + fitted["flush_ns"].middle
    slower = {OTHERS: left, TIME: model_us / seen.transaction_us, ALL: left * model_us / seen.transaction_us}
    flush = fitted if np.isnan(seen.sync_us) else fitted | {"flush_ns": _exactly(
        max(0.0, 1e3 * seen.sync_us - fitted["write_ns"].middle))}
    what: dict[str, tuple[float, float, str]] = {
        "as predicted": (float("nan"), float("nan"), ""), OTHERS: (0.0, 100 * seen.others, "% of the processors"),
        TIME: (model_us, seen.transaction_us, "us"), SYNC: (sync / 1e3, seen.sync_us, "us"),
        ALL: (float("nan"), float("nan"), "")}
    measured = sets.rates(of).set_index("rung").tps[rung]
    rows = []
    for name, (in_model, seen_here, unit) in what.items():
        changes: dict[str, Any] = {"host.cpu": min(100.0, speed * slower[name])} if name in slower else {}
        cells = predicted.simulated(of, draws, [rung], changes, flush if name in (SYNC, ALL) else fitted)
        tps = predicted.interval(cells[rung]).middle
        rows.append((name, in_model, seen_here, unit, tps, measured / tps))
    return pd.DataFrame(rows, columns=COLUMNS)


def _transaction_us(machine: predicted.Scenario, values: dict) -> float:
    """Processor time of a transaction in the model: of the server's backend, and pgbench's trips."""
    statements = servers.postgres_database(machine, values, 1).statements
    trips = len(statements) * values["trip_ns"] / servers.speed(machine, values)
    return float(statements[:, pg.CPU_NS].sum() + trips) / 1e3


def _exactly(value: float) -> Number:
    return Number(value, value, value, "counted by PostgreSQL")


def others_share(of: Measured) -> float:
    """Share of all processors that other programs took, a mean over all runs; NaN if nothing was sampled."""
    return float(np.mean([of_run(run).others for run in of.runs]))


def nearest(explained: pd.DataFrame) -> str:
    """The single mechanism that brings the model nearest to what was measured."""
    single = explained[explained.mechanism.isin([OTHERS, TIME, SYNC])]
    return str(single.mechanism.iloc[int(np.abs(np.log(single.factor)).to_numpy().argmin())])


def sentence(explained: pd.DataFrame, seen: pd.Series) -> str:
    """Which mechanism explains most; none where the processors were full and others had a part. `seen`: of the rung, a row
    of `sampled`. What others leave is then what the database took, and so the measured rate would explain itself."""
    if explained.empty:
        return "Nothing was predicted, so there is nothing to explain."
    if seen.others > DISTURBED and seen.others + seen.ours > FULL:
        return (f"Other programs took {seen.others:.0%} of the processors, and the database all the rest. So the row of "
                "other programs holds the measured rate itself, and times hold waiting for a processor. No mechanism is "
                "called nearest.")
    return f"Nearest by itself: {nearest(explained)}."
