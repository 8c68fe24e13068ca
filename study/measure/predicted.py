"""A measured ladder predicted: a scenario for each rung, the device by fio, and nothing that was measured of the database.

    scenarios = predicted.scenarios(measured)
    cells = predicted.simulated(measured, draws=8)
    table = predicted.compared(measured, cells)

How it is described, whatever comes out. Processors, memory and the guess at their speed are those of the machine. The file
system is not simulated: ZFS with records of 8 KiB stands for it, all of it in memory at the start. A rung with its log on
another device than the tables is not predicted, since fio has measured one. Settings that the model does not know are left
out: `left_out` says which.
"""
import json
from typing import Any

import numpy as np
import pandas as pd

from study.ensembles import intervals
from study.errors import UserError
from study.grades import grading
from study.machines import conf, run_length, scenario
from study.machines import simulate as machines
from study.machines.scenario import Scenario
from study.measure import device, sets
from study.measure.sets import Measured, Run, rates
from study.predictions import predict, trial_scores
from study.project import DATA, data_file, write_atomically
from study.words import counted

FILE = "blind.json"
DRAWS = 8
BUDGET = run_length.Budget(20_000)
RECORD_KIB = 8              # the database's page, as `study.machines.not_simulated` advises for ext4 and others
NOTHING = intervals.Interval(np.nan, np.nan, np.nan)
LEAST_RUNS = 3              # of a rung: of fewer nobody knows how far they spread
CHOSEN = "chosen."          # settings of a rung, in its parameters
WITHOUT_FIO = ("left out, as no output of fio tells the device. Run data/measured/device.fio, then measure the ladder again "
               "with its JSON by --fio, under another label")
NOT_PREDICTED = "not predicted"
KEPT = ("tps", "response_mean", "wal_per_transaction", "transactions_per_flush")


def base(of: Measured) -> Scenario:
    """The machine, with PostgreSQL as it comes."""
    machine, first = of.machine, of.first
    return scenario.of({
        "title": of.name,
        "host": {"cpus": int(machine["processors"]), "memory_gib": float(machine["memory_gib"]), "system": "linux",
                 "cpu": float(machine["cpu_guess"])},
        "files": {"kind": "zfs", "era": "openzfs", "record_kib": RECORD_KIB, "warm": True},
        "pool": {"data": {"sheet": device.FORM, "ashift": 12}},
        "database": {"kind": "postgres", "version": float(str(first["version"]).split(".")[0]), "scale": 1, "clients": 1}})


def scenarios(of: Measured) -> dict[str, Scenario]:
    """By rung; without those whose log lies on another device."""
    machine = base(of)
    return {run.params["rung"]: _of_rung(machine, run) for run in reversed(of.runs)
            if not (run.params["wal_apart"] and of.machine.get("log.device_is") != "the same")}


def not_predicted(of: Measured) -> str:
    """Which measured rung is not predicted, and why, in a sentence; "" where all are."""
    lost = [name for name in rates(of).rung if name not in scenarios(of)]
    if not lost:
        return ""
    device_of = of.machine.get("log.filesystem", "no known file system")
    return (f"Measured and not predicted: {', '.join(lost)}. Its log lies on another device than the tables ({device_of}), "
            "and fio measured that of the tables. TPS: "
            + ", ".join(f"{row.tps:,.0f}" for row in rates(of).itertuples() if row.rung in lost) + ".")


def _of_rung(machine: Scenario, run: Run) -> Scenario:
    params = run.params
    changes: dict[str, Any] = {f"database.conf.{name}": value for name, value in _chosen(params).items()
                               if name in conf.POSTGRES}
    return scenario.changed(machine, changes | {
        "title": params["rung"], "database.scale": int(params["scale"]), "database.clients": int(params["clients"]),
        "database.threads": int(params["threads"])})


def _chosen(params: dict[str, Any]) -> dict[str, str]:
    return {name.removeprefix(CHOSEN): str(value) for name, value in params.items() if name.startswith(CHOSEN)}


def left_out(of: Measured) -> list[str]:
    """Settings of rungs that the model does not know."""
    return sorted({name for run in of.runs for name in _chosen(run.params) if name not in conf.POSTGRES})


def simulated(of: Measured, draws: int, rungs: list[str] | None = None, changes: dict[str, Any] | None = None,
              fitted: dict[str, device.Number] | None = None) -> dict:
    """Of each rung each quantity of every draw, and how long a run was. `changes`: of all scenarios; `fitted`: the device,
    if it is not to be fio's."""
    chosen = {name: scenario.changed(machine, changes or {}) for name, machine in scenarios(of).items()
              if rungs is None or name in rungs}
    cases = list(chosen.values())
    known = device.known_with(machines.known(cases), fitted or device.numbers(of))
    runs, lengths = predict.compare_with_lengths(cases, draws, 1, None, BUDGET, known)
    return {name: {"run": lengths[place].why, "draws": {
        quantity: [float(f"{value:.5g}") for value in runs[runs.scenario == place].sort_values("draw")[quantity]]
        for quantity in KEPT}} for place, name in enumerate(chosen)}


def commit(of: Measured, draws: int = DRAWS) -> None:
    """Write blind.json into the folder of a set. Raises UserError where there is one already."""
    path = DATA / "measured" / of.name / FILE
    if path.exists():
        raise UserError(f"{path.relative_to(DATA)} is there already; a second prediction would not be blind")
    write_atomically(path, json.dumps({"n_draws": draws, "cells": simulated(of, draws)}, indent=1) + "\n")


def blind(name: str) -> dict:
    """What was committed of a set before it was measured."""
    return json.loads(data_file(f"measured/{name}/{FILE}").read_text())["cells"]


def of(measured: Measured, draws: int) -> tuple[dict, str]:
    """Cells of a set, and how they came: as they were committed before it was measured, or simulated now, from the same
    inputs. Without an output of fio there are none."""
    if measured.name in sets.names():
        return blind(measured.name), "committed before it was measured"
    if not measured.fio:
        return {}, WITHOUT_FIO
    return simulated(measured, draws), "simulated now, from fio's output and the machine alone"


def n_draws(cells: dict) -> int:
    """Draws of each rung; 0 where none is predicted."""
    return len(next(iter(cells.values()))["draws"]["tps"]) if cells else 0


def interval(cell: dict, quantity: str = "tps") -> intervals.Interval:
    """Over the draws of a rung."""
    return intervals.interval(cell["draws"][quantity])


def compared(of: Measured, cells: dict) -> pd.DataFrame:
    """A row a rung: rung, change, measured, its extremes, low, middle, high, factor (measured over middle), within. Where
    none was predicted, low to factor are NaN."""
    table = rates(of)
    ends = [interval(cells[name]) if name in cells else NOTHING for name in table.rung]
    made = pd.DataFrame({"rung": table.rung, "change": table.change, "measured": table.tps, "measured_low": table.low,
                         "measured_high": table.high, "low": [end.low for end in ends],
                         "middle": [end.middle for end in ends], "high": [end.high for end in ends]})
    return _judged(made)


def compared_steps(of: Measured, cells: dict) -> pd.DataFrame:
    """The same of each rung over the one that it changes, if that was measured, draw by draw. n: runs of the rung that has
    fewer."""
    table, rows = rates(of).set_index("rung"), []
    for name, row in table.iterrows():
        if row.against in table.index:
            against = table.loc[row.against]
            rows.append((name, row.change, min(row.n, against.n), row.tps / against.tps, row.low / against.high,
                         row.high / against.low, *_ratio(cells, str(name), row.against)))
    return _judged(pd.DataFrame(rows, columns=["rung", "change", "n", "measured", "measured_low", "measured_high", "low",
                                               "middle", "high"]))


def _ratio(cells: dict, name: str, against: str) -> intervals.Interval:
    if name not in cells or against not in cells:
        return NOTHING
    return intervals.interval(pd.Series(cells[name]["draws"]["tps"]) / pd.Series(cells[against]["draws"]["tps"]))


def graded(table: pd.DataFrame, draws: int, no_effect: float | None = None) -> list[str]:
    """Of each row of `compared` or `compared_steps`, by the rule of claims, the middle of its runs. Their range would be met
    the more easily, the more they spread."""
    return [NOT_PREDICTED if np.isnan(row.middle) else
            grading.grade((row.measured, row.measured), (row.low, row.high), no_effect=no_effect, draws=draws)
            for row in table.itertuples()]


def directions(steps: pd.DataFrame) -> tuple[int, int]:
    """Of the steps whose runs, LEAST_RUNS or more, all lie clearly on one side of 1. How many are they, and of how many is
    that side foretold?"""
    clear = trial_scores.CLEAR
    sides = np.where(steps.measured_low >= clear, 1, np.where(steps.measured_high <= 1 / clear, -1, 0))
    sides = np.where(steps.n >= LEAST_RUNS, sides, 0)
    along = np.log(steps.middle.to_numpy()) * sides
    return int((sides != 0).sum()), int((along >= np.log(trial_scores.FORETOLD)).sum())


def between(measured: Measured, cells: dict, seen: pd.DataFrame) -> pd.DataFrame:
    """What lies between settings and rate, predicted (the middle) and measured: log of a transaction, transactions a sync.
    `seen`: see `study.measure.prediction_gap.sampled`."""
    rungs = [name for name in rates(measured).rung if name in cells]
    return pd.DataFrame({
        "rung": rungs,
        "log predicted, B": [interval(cells[name], "wal_per_transaction").middle for name in rungs],
        "log measured, B": seen.loc[rungs, "wal_bytes"].to_numpy(),
        "a sync predicted, 1": [interval(cells[name], "transactions_per_flush").middle for name in rungs],
        "a sync measured, 1": seen.loc[rungs, "per_sync"].to_numpy()})


def verdict(table: pd.DataFrame, steps: pd.DataFrame) -> str:
    """In words, from the numbers. What was not predicted takes no part."""
    table, steps = table[table.middle.notna()], steps[steps.middle.notna()]
    if table.empty:
        return f"The ladder was measured. Its prediction was {WITHOUT_FIO}."
    score, (clear, foretold) = trial_scores.score(table), directions(steps)
    side = "too high" if score.bias < 1 else "too low"
    n_few = int((steps.n < LEAST_RUNS).sum())
    few = f" Of {n_few} nobody can say, since a rung has fewer than {LEAST_RUNS} runs." if n_few else ""
    return (f"Of {score.n} measured rates {trial_scores.lie(score.within)} within their intervals. Predictions are {side}, "
            f"by a factor of {max(score.bias, 1 / score.bias):.1f} in the geometric mean and of {score.worst:.1f} at worst. "
            f"Of {counted(len(steps), 'step')} {clear} are clear in all runs, and {foretold} of these were foretold.{few}")


def _judged(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(factor=table.measured / table.middle, within=table.measured.between(table.low, table.high))
