"""`study predict`: what a scenario would do, with intervals over all that is not known of it.

    prediction = predict.interval(machine, draws=24, seeds=1)
    prediction.table                 quantity, unit, 5 %, 50 %, 95 %
    predict.compare([machine, other], draws=24)         a row per scenario, draw and seed, under common draws

Every draw is one Latin hypercube row of the priors of data/priors.toml and of the ranges of all device sheets. How long a
run is: `study.machines.run_length`. No published result of any ladder is read here or by what is called from here.
"""
import json
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from rich.console import Console

from model.jit import sources
from model.zfs import eras
from study import console, memo
from study.documents import priors
from study.ensembles import intervals, kept
from study.ensembles.processors import on_all_processors
from study.errors import UserError
from study.machines import conf, not_simulated, pool_fill, run_length, settings_without_effect
from study.machines import simulate as machines
from study.machines.power_cut_risks import dangers
from study.machines.scenario import Scenario
from study.machines.storage import Zvol
from study.project import digest, write_atomically

DRAWS, SEEDS = 24, 1
READS = ("hardware/*.toml",)
EXPERIMENTS = {"postgres": "predict", "innodb": "sysbench", "oracle": "oracle"}
UNITS = {"tps": "TPS", "response_mean": "ms", "response_p50": "ms", "response_p95": "ms", "response_p99": "ms",
         "wal_per_transaction": "B", "transactions_per_flush": "1", "checkpoints": "1"}
READABLE = {"checkpoints": "checkpoints that ended in it"}        # on the terminal; in the part of the run that is counted
PER_SECOND = {"reads": (1, "IO/s"), "writes": (1, "IO/s"), "read_bytes": (1e6, "MB/s"), "written_bytes": (1e6, "MB/s")}


class Prediction(NamedTuple):
    """What a scenario would do: intervals, and the runs that they are of."""
    scenario: Scenario
    table: pd.DataFrame         # quantity, unit, low, middle, high
    runs: pd.DataFrame          # a row per draw and seed
    why: str                    # how long runs are, and why
    notes: tuple[str, ...]
    run: Scenario               # what is run in the scenario's place

    @property
    def tps(self) -> intervals.Interval:
        """The interval of transactions per second."""
        return intervals.interval(self.runs.tps)


def interval(machine: Scenario, draws: int = DRAWS, seeds: int = SEEDS, experiment: str | None = None) -> Prediction:
    """What a machine would do, over `draws` of all that is not known of it, with `seeds` runs each."""
    runs, lengths = compare_with_lengths([machine], draws, seeds, experiment)
    return Prediction(machine, table(runs), runs, lengths[0].why, notes(machine), lengths[0].scenario)


def compare(scenarios: list[Scenario], draws: int = DRAWS, seeds: int = SEEDS, experiment: str | None = None,
            budget: run_length.Budget = run_length.BUDGET, known: priors.Known | None = None,
            smaller_by: float | None = None, kept_as: str | None = None,
            only: Collection[int] | None = None, expected: Sequence[float] | None = None) -> pd.DataFrame:
    """`scenario` (its place in the list), `draw`, `seed`, `is_whole` (whether a run holds a whole interval between
    checkpoints), and a column per quantity. `budget`: transactions of a run. `known`: of more scenarios than these, so that
    runs of several calls have common draws. `smaller_by`: see `alike`. `kept_as`: name of the kept ensemble that the runs
    are read from (`study.ensembles.kept`). `only`: of these draws, if not of all. `expected`: TPS of each draw, where known
    about."""
    runs, lengths = compare_with_lengths(scenarios, draws, seeds, experiment, budget, known, smaller_by, kept_as, only,
                                         expected)
    return runs.assign(is_whole=[lengths[place].is_whole for place in runs.scenario])


def compare_with_lengths(scenarios: list[Scenario], draws: int, seeds: int, experiment: str | None,
                         budget: run_length.Budget = run_length.BUDGET, known: priors.Known | None = None,
                         smaller_by: float | None = None, kept_as: str | None = None,
                         only: Collection[int] | None = None, expected: Sequence[float] | None = None,
                         ) -> tuple[pd.DataFrame, list[run_length.Length]]:
    """The same, and how long each scenario is run."""
    if draws < 2 or seeds < 1:
        raise UserError(f"{draws} draws and {seeds} seeds make no interval; give 2 draws and a seed at least")
    known = known or machines.known(scenarios, experiment or EXPERIMENTS[scenarios[0].database.kind])
    lengths = _lengths(scenarios, known.central(), budget, smaller_by)
    rows = priors.draws(known, draws, seed=1).to_dict("records")
    calls = [(i, length if expected is None else run_length.long_enough(length, expected[draw]), draw, rows[draw],
              1 + draw + seed * draws) for i, length in enumerate(lengths) for draw in range(draws) for seed in range(seeds)]
    asked = range(draws) if only is None else only
    if kept_as is None:
        return pd.DataFrame(on_all_processors(_row, [call for call in calls if call[2] in asked])), lengths
    ensemble = kept.Ensemble(kept_as, __name__, None, READS)
    rows_of_calls = kept.rows(ensemble, lambda *call: [_row(*call)], calls)
    return pd.DataFrame([row for rows in rows_of_calls for row in rows if row["draw"] in asked]), lengths


def alike(scenarios: list[Scenario], values: dict, budget: run_length.Budget = run_length.BUDGET) -> float | None:
    """How many times smaller the tables of all are made that are compared: as the one that needs it most, if all allow
    that. A machine that is smaller is not as fast, so that of two of different sizes nothing follows. 1: none is made
    smaller, nor one of several steps that is compared with them later. None: `run_length`'s rule 4 is PostgreSQL's alone."""
    if scenarios[0].database.kind != "postgres":
        return None
    largest = max(length.k for length in _lengths(scenarios, values, budget))
    return max(1.0, min(run_length.scaling(machine, largest) for machine in scenarios))


def _lengths(scenarios: list[Scenario], values: dict, budget: run_length.Budget,
             smaller_by: float | None = None) -> list[run_length.Length]:
    return on_all_processors(
        lambda machine: run_length.of(machines.checked(machine), values, budget=budget, smaller_by=smaller_by),
        [(machine,) for machine in scenarios])


def _row(place: int, length: run_length.Length, draw: int, values: dict, seed: int) -> dict:
    """Of a run; one of the same machine and the same values is remembered."""
    machine = length.scenario.model_dump_json()
    made = memo.by_values_read(("prediction", machine, length.since, length.min_seconds, seed), values,
                               lambda asked: quantities(run_length.outcome(length, asked, seed)))
    return {"scenario": place, "draw": draw, "seed": seed} | made


def quantities(outcome: machines.Outcome) -> dict[str, float]:
    """What is predicted: see UNITS and PER_SECOND; of devices, per group."""
    counts, flushes = outcome.counts, outcome.counts["flushes"] or float("nan")
    values = {"tps": outcome.tps, "response_mean": outcome.mean_ms, "response_p50": outcome.p50_ms,
             "response_p95": outcome.p95_ms, "response_p99": outcome.p99_ms, "wal_per_transaction": outcome.wal_bytes,
             "transactions_per_flush": counts["commits"] / flushes, "checkpoints": counts["checkpoints"]}
    for group, numbers in outcome.devices.items():
        values |= {f"{group}: {quantity}": numbers[quantity] / unit / outcome.seconds
                   for quantity, (unit, _) in PER_SECOND.items()}
    return values


def table(runs: pd.DataFrame) -> pd.DataFrame:
    """5, 50 and 95 % of every quantity."""
    rows = []
    for name in runs.dropna(axis=1, how="all").columns.drop(["scenario", "draw", "seed", "is_whole"], errors="ignore"):
        unit = UNITS.get(name) or PER_SECOND[name.rsplit(": ")[1]][1]
        rows.append((name.replace("_", " "), unit, *intervals.interval(runs[name].fillna(0))))
    return pd.DataFrame(rows, columns=["quantity", "unit", "low", "middle", "high"])


CALIBRATED, OWN = "tps, as blind trials calibrate it", "tps, the mechanism's own"


def named(quantities: pd.DataFrame, calibrated: intervals.Interval | None = None) -> pd.DataFrame:
    """`table` as a reader sees it: the rate with the error of earlier predictions first, if it is given, and whose the other
    one is."""
    names = READABLE | ({"tps": OWN} if calibrated else {})
    shown = quantities.assign(quantity=quantities.quantity.map(lambda name: names.get(name, name)))
    if calibrated is None:
        return shown
    first = pd.DataFrame([(CALIBRATED, UNITS["tps"], *calibrated)], columns=shown.columns)
    return pd.concat([first, shown], ignore_index=True)


_OF_A_RUN = {"start", "seconds"}        # of a database's entries
RUNS = ("runs: how long they are, and how they begin, follows from a short one. Long ones begin as hours of work leave the "
        "database, unless start says otherwise.")


def taken_by_default(content: dict, machine: Scenario, run: Scenario | None = None) -> tuple[str, ...]:
    """What a scenario (`content`, as it is in its file) leaves out, and what is taken instead: a line for each section.
    `run`: what is run in its place, whose start and seconds are the true ones. Where it is not known yet, `RUNS` says so."""
    sections = {"host": machine.host, "files": machine.files, "pool": machine.pool, "pool.data": machine.pool.data,
                "database": machine.database}
    asked = content.get("database", {}).get("kind")
    lines = [f"database: {asked} is taken as the InnoDB of MySQL {getattr(machine.database, 'version', None) or '5.4'}"
             f"{_own_of_mariadb(content.get('database', {}), machine)}"] * (asked in ("mariadb", "mysql"))
    for name, section in sections.items():
        given = content
        for part in name.split("."):
            given = given.get(part, {})
        values = section.model_dump() | ({"system": machines.system(machine)} if name == "host" else {})
        if name == "database":
            values |= {field: getattr(run.database, field) if run else None for field in _OF_A_RUN & values.keys()}
        taken = [f"{field} = {as_toml(value)}" for field, value in values.items()
                 if field not in given and field not in SET_BY_PROGRAM and value not in (None, "")
                 and not isinstance(value, dict)]
        lines += [f"{name}: {', '.join(taken)}"] * bool(taken)
    return (*lines, RUNS) if run is None else tuple(lines)


def _own_of_mariadb(database: dict, machine: Scenario) -> str:
    """Which settings are neither the file's nor that MySQL's, but MariaDB's; "" if none is."""
    if database.get("kind") != "mariadb":
        return ""
    own = not_simulated.own_defaults(not_simulated.mariadb_version(database))
    taken = [f"{name} = {value}" for name, value in own.items() if machine.database.conf.get(name) == value]
    return f", with MariaDB's own {', '.join(taken)}" if taken else ""


SET_BY_PROGRAM = {"to_scale", "groups_to_scale", "checkpoint_pace", "interval_transactions", "transactions_a_second",
                  "cpu_source"}


def as_toml(value: object) -> str:
    """A value as TOML writes it."""
    if isinstance(value, str):
        return f'"{value}"'
    return f"{value:g}" if isinstance(value, float) else str(value).lower()


def era_taken(content: dict, machine: Scenario) -> str:
    """Which build of ZFS is taken where a scenario (`content`, as it is in its file) names none; else nothing."""
    if machine.files.kind == "ufs" or "era" in content.get("files", {}):
        return ""
    of_mariadb = content["database"] if content["database"].get("kind") == "mariadb" else {}
    version = of_mariadb.get("version") if of_mariadb else getattr(machine.database, "version", None)
    words = [f"{version:g}" if isinstance(version, float) else f"{version}"] * bool(version)
    when = " ".join([of_mariadb.get("kind", machine.database.kind), *words])
    return (f"era is left out: {machine.files.era} is taken, the likeliest for {when} on {machines.system(machine)}; to "
            "choose, set era in [files]")


GUEST = ("The guest on the zvol is not simulated: its journal and metadata add writes and flushes, and it takes processor "
         "time. Nor is its page cache: calls reach the zvol at once, and the ARC alone holds what the database does not.")


def notes(machine: Scenario) -> tuple[str, ...]:
    """What a reader must know: safety that is traded, settings without effect, rules of another time."""
    lines = list(dangers(machine)) + [GUEST] * isinstance(machine.files, Zvol)
    kind = machine.database.kind
    reasons = {name: conf.unfelt(kind, name) for name in machine.database.conf}
    lines += [f"{', '.join(_counted(name, machine) for name in reasons if reasons[name] == why)}: {why}"
              for why in dict.fromkeys(filter(None, reasons.values()))]
    if "innodb_redo_log_capacity" in machine.database.conf:
        lines.append("innodb_redo_log_capacity is taken as two log files of half of it")
    elif str(machine.database.conf.get("innodb_log_files_in_group")) == "1":
        lines.append("the single log file is taken as two of half its size")
    if machine.database.kind == "innodb" and machine.database.version is None:
        lines.append("the version of MySQL is left out: 5.4 of 2009 is taken, with sysbench 0.4 and no binary log. Newer "
                     "ones take up to twice the processor time for a write.")
    lines += [pool_fill.note(name, pool, eras.era(machine.zfs.era)) for name, pool in
              (("pool", machine.pool), ("log_pool", machine.log_pool)) if pool is not None and pool.fill]
    if machine.files.kind != "ufs" and machines.system(machine) != "solaris":
        if machine.files.era.startswith("openzfs"):
            lines.append(f"OpenZFS is taken as era {machine.files.era}: build b141 without the vdev cache, but with the "
                         "write throttle and queues of that time. Its real prefetch and space maps are younger.")
        else:
            lines.append(f"ZFS of build {machine.files.era} is taken without the vdev cache on {machines.system(machine)}; "
                         'system = "solaris" has it')
    return tuple(lines)


def _counted(name: str, machine: Scenario) -> str:
    """A setting, or how many it stands for."""
    return f"{machine.database.conf[name]} {name}" if name == settings_without_effect.OTHERS else name


def as_json(prediction: Prediction, others: dict | None = None) -> str:
    """What can be committed before anyone measures: the scenario, the intervals, and what they were made by; and what the
    caller has to say besides."""
    keys = prediction.scenario.model_dump(mode="json")
    if prediction.scenario.files.kind != "ufs":
        keys["files"]["compressed_arc"] = prediction.scenario.files.holds_compressed
    return json.dumps({
        "scenario": keys,
        "digest_of_scenario": digest([prediction.scenario.model_dump_json().encode()]),
        "model": sources.digest_once("model"), "study": sources.digest_once("study"),
        "draws": len(prediction.runs), "run": prediction.why, "notes": list(prediction.notes),
        "quantities": {row.quantity: {"unit": row.unit, "low": row.low, "middle": row.middle, "high": row.high}
                       for row in prediction.table.itertuples()}} | (others or {}), indent=2) + "\n"


def write(prediction: Prediction, path: Path, others: dict | None = None) -> None:
    """The prediction goes to `path` as JSON, whole or not at all."""
    write_atomically(path, as_json(prediction, others))


def say(prediction: Prediction, out: Console, calibrated: intervals.Interval | None = None) -> None:
    """For the terminal; the rate with the error of earlier predictions first, if it is given."""
    shown = console.table("quantity", "5 %", "50 %", "95 %", "unit")
    for row in named(prediction.table, calibrated).itertuples():
        shown.add_row(row.quantity, *map(console.number, (row.low, row.middle, row.high)), row.unit)
    out.print(prediction.scenario.title, soft_wrap=True)
    out.print(shown)
    out.print(f"{len(prediction.runs)} runs; each is {prediction.why}", soft_wrap=True)
    for note in prediction.notes:
        out.print(f"- {note}", soft_wrap=True)
