"""The three ladders of 2009, rung by rung, under every reading of the words that describe them.

    rungs(PGBENCH, central(PGBENCH))                 a list of scenarios (`study.machines.scenario`)
    climb(PGBENCH, length, seed)                     a run of each rung: likeliest reading, best guesses
    predict(PGBENCH, length, draws, seeds, seed)     the ensemble (`study.ensembles.ensembles`): its variants are the rungs
    questions.py                                     every rung under every reading, and what would tell readings apart

What a rung could be is in `study.experiments.ladders_2009.readings`, which was committed before any rung was simulated. A
rung differs from the one before it in hardware and switches. The values of priors are those of the machine, drawn once for a
whole ladder.

Every run is as long as the slides say (`Ladder.base`): 300 s of sysbench, 100 000 transactions of pgbench.

Fitted is one constant, on the first rung. Of the ladders that write it is the time that a command costs a disk. Of the one
that only reads it is the CPU time of a query, since its data fit in memory.
"""
import itertools
import math
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from model.devices.data_sheet import SheetParams
from study import memo
from study.documents import claims, priors, published
from study.documents.priors import Known, Prior
from study.ensembles import ensembles, kept
from study.ensembles.processors import on_all_processors
from study.errors import UserError
from study.experiments.ladders_2009.readings import (
    DISK,
    ONE_SSD,
    OTHER_DISK,
    Choice,
    Ladder,
    Switch,
    central,
    changes,
    readings,
)
from study.grades import remaining_draws
from study.machines import scenario
from study.machines import simulate as machines
from study.machines import storage as scenario_storage
from study.machines.scenario import Scenario
from study.machines.simulate import Outcome
from study.machines.storage import Devices

STANDING = ("disks", "devices")     # first parts of paths that hold for whatever disks or devices there are
RATE = "transactions.rate"          # as data/published has it
COMMAND = "overhead_ns"             # of both disks: a field of their sheets
FIT_RANGE_NS = {COMMAND: (10_000.0, 20e6), "statement_cpu_ns": (5_000.0, 2e6)}
FITTED = {"pgbench": COMMAND, "sysbench-rw": COMMAND, "sysbench-ro": "statement_cpu_ns"}
EXPERIMENT = {"pgbench": "pgbench", "sysbench-rw": "sysbench", "sysbench-ro": "sysbench"}
READS = ("hardware/*.toml",)
SHARES = 1001                       # of transactions, from none to all, at which times of response are kept
LENGTH = {"pgbench": "database.transactions", "sysbench-rw": "database.seconds", "sysbench-ro": "database.seconds"}


# --- from readings to machines ------------------------------------------------------------------------------------------

def rungs(ladder: Ladder, reading: dict[str, str], changed: dict | None = None) -> list[Scenario]:
    """A scenario for each rung; `changed`: paths and values that differ from the slides' machine at all of them."""
    machine, scenarios = scenario.of(ladder.base | {"title": ladder.name}), []
    standing: dict[str, Any] = {}
    for sets in changes(ladder, reading):
        standing |= {path: value for path, value in sets.items() if path.split(".")[0] in STANDING}
        machine = scenario.changed(machine, {path: value for path, value in sets.items() if path not in standing})
        scenarios.append(scenario.changed(_with_standing(machine, standing), changed or {}))
    return scenarios


def _with_standing(machine: Scenario, standing: dict) -> Scenario:
    """The scenario with what holds for all its disks, or for all devices that data or a log are on."""
    sets = {}
    for path, devices in _devices(machine).items():
        for name, value in standing.items():
            kind, _, field = name.partition(".")
            if kind == "devices" or scenario_storage.sheet(devices.sheet).kind == "disk":
                sets[f"{path}.{field}"] = value
    return scenario.changed(machine, sets)


def _devices(machine: Scenario) -> dict[str, Devices]:
    """By their path; but for cache devices, which nothing has to survive on."""
    own = machine.log_pool.data if machine.log_pool else None
    places = {"pool.data": machine.pool.data, "pool.log": machine.pool.log, "log_pool.data": own}
    return {path: devices for path, devices in places.items() if devices is not None}


# --- what is not known --------------------------------------------------------------------------------------------------

_KNOWN = memo.ByKey()       # of each ladder: all its readings are looked through for their devices


def known(ladder: Ladder) -> Known:
    """Priors of the database, its files and all devices; the switches of the readings among the switches."""
    return _KNOWN.get(repr(ladder), lambda: _known(ladder))


def _known(ladder: Ladder) -> Known:
    every = [machine for reading in (*readings(ladder), *_asides(ladder)) for machine in rungs(ladder, reading)]
    different = list({machine.model_dump_json(): machine for machine in every}.values())
    all_known = machines.known(different, EXPERIMENT[ladder.name])
    of_sheets = {f"{sheet}.{COMMAND}" for sheet in (DISK, OTHER_DISK)}
    others = (prior for prior in all_known.priors if prior.name not in of_sheets)
    switches = tuple(switch for switch in all_known.switches if switch.name != "is_warm")     # a reading says that
    return Known((*others, _command()), (*switches, *map(_switch, ladder.switches)))


def _command() -> Prior:
    """Of both disks: the range that the sheet of one gives."""
    sheet = scenario_storage.sheet(DISK)
    low, high = sheet.ranges[COMMAND]
    assert isinstance(sheet.params, SheetParams)
    return Prior(name=COMMAND, of="device", experiments=(), low=low, central=sheet.params.overhead_ns, high=high, unit="ns",
                 shape="uniform", source=dict(zip(sheet.table.name, sheet.table.source, strict=True))[COMMAND])


def _asides(ladder: Ladder) -> list[dict]:
    """The likeliest reading with one choice that is not multiplied."""
    return [central(ladder) | {switch.name: choice.name}
            for switch in ladder.switches if switch.aside for choice in switch.choices]


def _switch(switch: Switch) -> priors.Switch:
    def words(choice: Choice) -> str:
        return f"{choice.name}: {choice.reason}"
    return priors.Switch(name=switch.name, of="reading", experiments=(), central=switch.central,
                         choices=tuple(choice.name for choice in switch.choices),
                         source=f"\"{switch.words}\". " + " ".join(map(words, switch.choices)))


# --- runs ---------------------------------------------------------------------------------------------------------------

class Responses(NamedTuple):
    """What the run of a rung is shown by: transactions per second, and their times of response in ms."""
    tps: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    curve_ms: np.ndarray        # at shares of SHARES of all transactions


ONCE = tuple(name for name in Responses._fields if name != "curve_ms")


class Climb(NamedTuple):
    """A run of each rung."""
    ladder: Ladder
    outcomes: tuple[Responses, ...]


def climb(ladder: Ladder, length: float, seed: int) -> Climb:
    """The likeliest reading, best guesses; `length`: transactions of pgbench in all, seconds of sysbench. Runs are kept
    (`study.ensembles.kept`)."""
    values = _for_machine(known(ladder).central())
    calls = [(machine, values, seed) for machine in rungs(ladder, central(ladder), {LENGTH[ladder.name]: length})]
    runs = kept.rows(kept.Ensemble(f"{ladder.name}-climb", __name__, SHARES, READS), _responses, calls)
    return Climb(ladder, tuple(Responses(curve_ms=np.array([row["curve_ms"] for row in rows]),
                                         **{name: rows[0][name] for name in ONCE}) for rows in runs))


def _responses(machine: Scenario, values: dict, seed: int) -> list[kept.Row]:
    """A row for each point of the curve. What a run has once stands in the first."""
    outcome = _counted(machines.simulate(machine, values, seed))
    assert outcome.result is not None
    curve = np.quantile(outcome.result.response_ns / 1e6, np.linspace(0, 1, SHARES))
    first, *others = [{"curve_ms": float(ms)} for ms in curve]
    return [{name: float(getattr(outcome, name)) for name in ONCE} | first, *others]


def _for_machine(values: dict) -> dict:
    """Values by the names that `study.machines.simulate` has for them."""
    return values | {f"{sheet}.{COMMAND}": values[COMMAND] for sheet in (DISK, OTHER_DISK)}


def _counted(x: Outcome) -> Outcome:
    """A run that has statistics."""
    if math.isnan(x.p50_ms):
        raise UserError(f"no transaction ends within {x.seconds:g} s, so none has a time of response; choose longer runs")
    return x


def quantities(x: Outcome) -> dict[str, float]:
    """What somebody could have measured: transactions per second, their times in ms, bytes of the database's log for one. Of
    each group of devices it is reads, writes and bytes per second."""
    _counted(x)
    numbers = {RATE: x.tps, "response.mean": x.mean_ms, "response.p50": x.p50_ms, "response.p95": x.p95_ms,
               "response.p99": x.p99_ms, "log.bytes": x.wal_bytes}
    return numbers | {f"{group}.{name}": value / x.seconds for group, all_of in x.devices.items()
                      for name, value in all_of.items()}


def measured(machine: Scenario, values: dict, seed: int) -> dict[str, float]:
    """`quantities` of a run. Rungs of different readings are often the same machine: it is run once."""
    return memo.by_values_read(("ladders", machine.model_dump_json(), seed), _for_machine(values),
                          lambda asked: quantities(machines.simulate(machine, asked, seed)))


# --- the ensemble -------------------------------------------------------------------------------------------------------

def baseline(ladder: Ladder) -> ensembles.Fit:
    """The constant fitted, and the one published number that it is fitted on: the first rung."""
    numbers = claims.baselines()
    first = numbers[numbers.claim_id == ladder.rungs[0].run]
    constant = FITTED[ladder.name]
    return ensembles.Fit(constant, *FIT_RANGE_NS[constant], RATE, float(first.value.iloc[0]))


def predict(ladder: Ladder, length: float, draws: int, seeds: int, seed: int, near: int = 0) -> pd.DataFrame:
    """The ensemble over all that is not known, readings among it; columns `<rung>/<quantity>`. Of `near` more draws only
    those are simulated whole that show the first rung, by `remaining_draws.TOLERANCE`. No figure to be predicted is read."""
    names = [rung.run for rung in ladder.rungs]
    asked = {switch.name for switch in ladder.switches}

    def simulate_case(values: dict, case_seed: int, variant: str) -> dict[str, float]:
        reading = {name: values[name] for name in asked}
        machine = rungs(ladder, reading, {LENGTH[ladder.name]: length})[names.index(variant)]
        return measured(machine, {name: value for name, value in values.items() if name not in asked}, case_seed)

    cases, fit = ensembles.cases(known(ladder), draws, seeds, seed), baseline(ladder)
    ensemble = kept.Ensemble(ladder.name, __name__, length, READS)
    if not near:
        return ensembles.run(cases, simulate_case, fit, tuple(names), ensemble)
    first = ensembles.Baseline(RATE, fit.baseline / remaining_draws.TOLERANCE, fit.baseline * remaining_draws.TOLERANCE)
    cases = pd.concat([cases, ensembles.near(known(ladder), near, seed)], ignore_index=True)
    return ensembles.run(cases, simulate_case, fit, tuple(names), ensemble, first)


# --- for readers --------------------------------------------------------------------------------------------------------

def published_rates(ladder: Ladder) -> list[float]:
    """Transactions per second of each rung, to be drawn beside the model's; nothing is computed from them."""
    runs = {run.run_id.partition("/")[2]: run.metrics for run in published.runs()}
    return [float(runs[rung.run].set_index("name").loc[RATE, "value"]) for rung in ladder.rungs]


def iops_of_slides() -> dict[str, float]:
    """I/Os per second of the price table of slide 6."""
    table = next(run.metrics for run in published.runs() if run.run_id == "rajadurai-2009/price-table")
    return {row["name"].removesuffix(".iops"): row.value for _, row in table.iterrows() if row["name"].endswith(".iops")}


def dumb(ladder: Ladder) -> list[float]:
    """What each rung does to the one before by the price table of the slides, if transactions follow the I/Os of the devices
    named. Disks count, a cache or a log of flash makes its I/Os flash's, and software does nothing."""
    iops = iops_of_slides()
    disk, read, write = iops["performance-hdd"], iops["ssd-read"], iops["ssd-write"]
    by_words = {"pgbench": (disk, 2 * disk, 2 * disk, write, write, write),
                "sysbench-rw": (disk, 2 * disk, 2 * disk, write, write), "sysbench-ro": (disk, 2 * disk, read, read, read)}
    rates = by_words[ladder.name]
    return [after / before for before, after in itertools.pairwise(rates)]


def table(x: Climb) -> pd.DataFrame:
    """Of each rung: words, transactions per second, times of response (ms)."""
    rows = [(rung.words, outcome.tps, outcome.p50_ms, outcome.p95_ms, outcome.p99_ms)
            for rung, outcome in zip(x.ladder.rungs, x.outcomes, strict=True)]
    return pd.DataFrame(rows, columns=["rung", "transactions/s", "median (ms)", "95 % (ms)", "99 % (ms)"])


def metrics(x: Climb, ladder: str) -> pd.DataFrame:
    """For the run store: name, value, unit."""
    rows = [(f"{ladder}.rung-{i}.{name}", value, unit) for i, outcome in enumerate(x.outcomes, 1)
            for name, value, unit in (("rate", outcome.tps, "1/s"), ("p50", outcome.p50_ms, "ms"),
                                      ("p95", outcome.p95_ms, "ms"), ("p99", outcome.p99_ms, "ms"))]
    return pd.DataFrame(rows, columns=["name", "value", "unit"])


def not_modelled(quantity: str) -> str:
    """Why a published quantity has no simulated one."""
    return f"{quantity} is nothing that a run gives"


# --- a machine of one's own -----------------------------------------------------------------------------------------------

def tried(ladder: Ladder, length: float, seed: int, *, disks: int, log_device: bool, honest: bool, clients: int,
          rows: int) -> pd.DataFrame:
    """The likeliest reading on other hardware: rung, rate. `disks` from the second rung on. `log_device`: an SSD as separate
    intent log wherever data are on disks. `rows`: the scale of pgbench, or rows of sysbench."""
    size = "scale" if ladder.name == "pgbench" else "rows"
    common = {LENGTH[ladder.name]: length, "database.clients": clients, f"database.{size}": rows,
              "files.nocacheflush": not honest}
    machines_of = []
    for i, machine in enumerate(rungs(ladder, central(ladder), common)):
        on_disks = machine.pool.data.sheet == DISK
        more = {"pool.data.count": disks} if on_disks and i else {}
        machines_of.append(scenario.changed(machine, more | ({"pool.log": ONE_SSD} if on_disks and log_device else {})))
    values = known(ladder).central()
    results = on_all_processors(measured, [(machine, values, seed) for machine in machines_of])
    return pd.DataFrame({"rung": range(1, len(results) + 1), "rate": [result[RATE] for result in results]})
