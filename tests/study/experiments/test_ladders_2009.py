"""The ladders of 2009: every reading is a machine that can be, and no rung has a constant of its own."""
import itertools
import math

import pandas as pd
import pytest

from study import memo
from study.documents import claims, published
from study.errors import UserError
from study.experiments.ladders_2009 import questions as ladder_questions
from study.experiments.ladders_2009 import readings as ladder_readings
from study.experiments.ladders_2009 import rungs as ladders_2009
from study.experiments.ladders_2009.readings import LADDERS
from study.experiments.ladders_2009.rungs import rungs
from study.grades import claim_predictions
from study.machines import scenario
from study.machines import storage as scenario_storage
from study.machines.simulate import Outcome

# What a step of a ladder may change: hardware, properties of ZFS, settings of the database. Nothing else of a machine.
MAY_CHANGE = ("pool.", "log_pool", "database.conf.", "files.record_kib", "files.log_record_kib", "files.primarycache",
              "files.prefetch", "files.nocacheflush", "files.warm", "database.start")
ALL = [pytest.param(ladder, reading, id=f"{name}-{i}") for name, ladder in LADDERS.items()
       for i, reading in enumerate(ladder_readings.readings(ladder)) if i % 7 == 0]


@pytest.mark.parametrize(("ladder", "reading"), ALL)
def test_neighbouring_rungs_differ_in_switches_and_hardware_only(ladder, reading):
    machines = rungs(ladder, reading)
    for before, after in itertools.pairwise(machines):
        assert [path for path in scenario.differences(before, after) if not path.startswith(MAY_CHANGE)] == []


@pytest.mark.parametrize("ladder", LADDERS.values(), ids=LADDERS)
def test_what_a_choice_sets_stays_set(ladder):
    """No setting of the database or of ZFS holds for a rung and not for those after it."""
    for reading in ladder_readings.readings(ladder)[::11]:
        seen = {}
        for sets, machine in zip(ladder_readings.changes(ladder, reading), rungs(ladder, reading), strict=True):
            seen |= {path: value for path, value in sets.items() if path.startswith(("database.", "files."))}
            assert seen.items() <= scenario.fields(machine).items()


@pytest.mark.parametrize("ladder", LADDERS.values(), ids=LADDERS)
def test_the_likeliest_choice_is_a_choice_and_all_have_reasons(ladder):
    for switch in ladder.switches:
        names = [choice.name for choice in switch.choices]
        assert switch.central in names
        assert len(set(names)) == len(names) > 1
        assert switch.words
        assert all(len(choice.reason) > 10 for choice in switch.choices if choice.name != "honest")


def test_readings_are_all_combinations_and_all_different():
    for ladder in LADDERS.values():
        readings = [tuple(reading.items()) for reading in ladder_readings.readings(ladder)]
        assert len(set(readings)) == len(readings)
        assert tuple(ladder_readings.central(ladder).items()) in readings


@pytest.mark.parametrize("ladder", [LADDERS["sysbench-rw"], LADDERS["sysbench-ro"]], ids=lambda ladder: ladder.name)
@pytest.mark.parametrize(("memory", "expected"), [
    ("loaded just before", [None] * 5), ("after a reboot", ["cold"] * 5),
    ("each after the other", ["cold", "cold", "warm", "warm", "warm"])])
def test_a_reboot_empties_all_memory_and_a_run_warms_all(ladder, memory, expected):
    """The ARC and the database's buffers alike; what loading leaves in the latter is drawn."""
    machines = rungs(ladder, ladder_readings.central(ladder) | {"memory": memory})
    assert [machine.database.start for machine in machines] == expected
    assert [machine.files.warm for machine in machines] == [start != "cold" for start in expected]


def test_a_run_without_a_transaction_gets_one_sentence():
    nothing = Outcome(**dict.fromkeys(Outcome._fields) | {"tps": 0.0, "seconds": 1.0, "p50_ms": float("nan")})
    with pytest.raises(UserError, match="no transaction ends within 1 s"):
        ladders_2009.quantities(nothing)


def test_the_devices_are_those_of_the_slide():
    """Three disks and three SSDs at most, at every rung of every reading."""
    for ladder in LADDERS.values():
        for reading in ladder_readings.readings(ladder)[::5]:
            for machine in rungs(ladder, reading):
                used = [devices for pool in (machine.pool, machine.log_pool) if pool
                        for devices in (pool.data, pool.log, pool.cache) if devices]
                for kind in ("disk", "ssd"):
                    assert sum(devices.count for devices in used if scenario_storage.sheet(devices.sheet).kind == kind) <= 3


def test_a_battery_is_behind_every_device_that_something_must_survive_on():
    ladder = LADDERS["pgbench"]
    for machine in rungs(ladder, ladder_readings.central(ladder) | {"flush": "battery", "drive": "savvio-10k1"}):
        assert machine.pool.data.battery
        assert (machine.log_pool is None or machine.log_pool.data.battery)
        assert machine.pool.data.sheet in ("savvio-10k1", "x25-e")


# --- the same values at every rung --------------------------------------------------------------------------------------

def fake(seen):
    """A machine that takes longer for what it has more of, and keeps what it was given."""
    def simulate(machine, values, seed, n_seconds=0):
        seen.append((machine, dict(values), seed))      # so all are asked for
        cost = 1e-6 * values["overhead_ns"] / machine.pool.data.count + 0.5 * (machine.pool.cache is None)
        cost += 0.2 * ("shared_buffers" not in machine.database.conf)
        numbers = dict.fromkeys(Outcome._fields) | {
            "tps": 1e3 / cost, "seconds": 10.0, "wal_bytes": 100.0, "devices": {"data": {"reads": 5.0}},
            **dict.fromkeys(("mean_ms", "p50_ms", "p95_ms", "p99_ms"), cost)}
        return Outcome(**numbers)
    return simulate


@pytest.fixture
def seen(monkeypatch):
    memo.forget()
    calls = []
    monkeypatch.setattr(ladders_2009.machines, "simulate", fake(calls))
    yield calls
    memo.forget()


@pytest.fixture
def results(seen):
    return ladders_2009.predict(LADDERS["pgbench"], 100, draws=3, seeds=2, seed=1)


@pytest.mark.slow
def test_every_rung_of_a_case_has_the_same_values(results, seen):
    """Fitted or not: what differs between rungs is the scenario."""
    by_values = {}
    for machine, values, seed in seen:
        by_values.setdefault((tuple(sorted(values.items())), seed), set()).add(machine.model_dump_json())
    six = [machines for machines in by_values.values() if len(machines) >= 4]
    assert len(six) >= len(results[results.part == "all"]) / 2
    assert all(values["savvio-10k2.overhead_ns"] == values["savvio-10k1.overhead_ns"] for _, values, _ in seen)


@pytest.mark.slow
def test_rungs_are_predicted_under_the_names_of_the_published_runs(results):
    assert [column for column in results if column.endswith("/transactions.rate")] == [
        f"pgbench-{i}/transactions.rate" for i in range(1, 7)]
    predicted = claim_predictions.predictions(results, "07_pgbench_ladder")
    assert list(predicted) == [f"pgbench-{i}" for i in range(2, 7)]
    central = results[(results.part == "central") & ~results.fitted].iloc[0]
    assert central["pgbench-2/transactions.rate"] > central["pgbench-1/transactions.rate"]


@pytest.mark.slow
def test_only_the_first_rung_is_fitted(results):
    for ladder in LADDERS.values():
        fit = ladders_2009.baseline(ladder)
        assert fit.baseline == ladders_2009.published_rates(ladder)[0]
        assert fit.low < fit.high


@pytest.mark.slow
def test_questions_of_readings(seen):
    ladder = LADDERS["pgbench"]
    every = ladder_questions.of_all_readings(ladder, 100, draws=2, seed=1)
    assert len(every) == len(ladder_readings.readings(ladder)) * 6 * 2
    assert len({(machine.model_dump_json(), tuple(sorted(values.items()))) for machine, values, _ in seen}) == len(seen)
    intervals = ladder_questions.intervals(every)
    first = intervals[intervals.reading == 0].middle.tolist()
    table = ladder_questions.summary(ladder, every, first)
    assert (table["gives rungs"][0], table.possible[0]) == ("1, 2, 3, 4, 5, 6", True)
    table = ladder_questions.summary(ladder, every, [*first[:2], 0.0, *first[3:]])
    assert (table["gives rungs"][0], table.possible[0]) == ("1, 2, 4, 5, 6", False)
    assert len(table) == len(ladder_readings.readings(ladder))
    value_of = ladder_questions.findings(ladder, every, first).set_index("name").value
    assert (value_of[f"{ladder.name}.readings"], value_of[f"{ladder.name}.most-held"]) == (len(table), 6)
    assert not table[table.tuning == "asynchronous commits"]["survives power cut"].any()
    sixth = intervals[intervals.rung == 5].middle.tolist()
    shares = ladder_questions.shares(ladder, every, [1.0, 1.0, 1.0, 1.0, 1.0, sixth[0]])
    assert shares[[0, 1, 2, 3, 4]].to_numpy().max() == 0
    assert shares[5].max() > 0


def test_what_tells_readings_apart():
    """Two readings, two draws: the rates overlap, the reads do not."""
    every = pd.DataFrame([(0, 0, 0, 10.0, 1.0), (0, 0, 1, 20.0, 2.0), (1, 0, 0, 15.0, 8.0), (1, 0, 1, 25.0, 9.0)],
                         columns=["reading", "rung", "draw", "transactions.rate", "data.reads"])
    table = ladder_questions.tell_apart(every)
    assert table["quantity"].tolist() == ["data.reads", "transactions.rate"]
    assert table["pairs told apart (%)"].tolist() == [100, 0]


def test_a_ratio_to_nothing_is_no_number():
    every = pd.DataFrame([(0, 0, 0, 0.0), (0, 0, 1, 0.0), (1, 0, 0, 8.0), (1, 0, 1, 9.0)],
                         columns=["reading", "rung", "draw", "data.reads"])
    (row,) = ladder_questions.tell_apart(every).itertuples()
    assert math.isnan(row.between)
    assert 1.0 < row.within < 1.2


def test_order_is_that_of_all_rungs():
    rising = pd.DataFrame([(r, j, k, rate) for r, rates in ((0, (1, 2, 3)), (1, (1, 3, 2))) for k in range(2)
                           for j, rate in enumerate(rates)], columns=["reading", "rung", "draw", "transactions.rate"])
    assert ladder_questions.in_order(rising).tolist() == [1, 0]


@pytest.mark.slow
def test_nonsense_in_every_figure_to_be_predicted_changes_no_prediction(results, monkeypatch):
    honest = published.runs
    baselines = {(row.run_id, row.name) for row in claims.baselines().itertuples(index=False)}

    def nonsense():
        return [run._replace(metrics=run.metrics.assign(value=run.metrics["value"].where(
            [(run.run_id, name) in baselines for name in run.metrics["name"]], 12345.678))) for run in honest()]
    monkeypatch.setattr(published, "runs", nonsense)
    assert ladders_2009.published_rates(LADDERS["pgbench"])[1:] == [12345.678] * 5
    memo.forget()
    pd.testing.assert_frame_equal(results, ladders_2009.predict(LADDERS["pgbench"], 100, draws=3, seeds=2, seed=1))
