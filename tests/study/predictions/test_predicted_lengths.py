"""How long a predicted run is, and what of it is measured."""
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.events.streams import stream
from model.zfs import eras
from study import memo
from study.machines import run_length, scenario
from study.machines import simulate as machines
from support.two_disk_server import DISKS, run

NOTHING = machines.Outcome(**dict.fromkeys(machines.Outcome._fields))


# ---- how long a run is ----


@given(st.integers(1, 200), st.floats(1.0, 8.0))
def test_a_smaller_machine_has_the_same_shares(scale, k):
    machine = scenario.changed(DISKS, {"database.scale": 100 * scale, "database.conf.checkpoint_segments": 100,
                                       "pool.data.count": 60})
    small = run_length.smaller(machine, k)
    for path in ("database.scale", "database.conf.checkpoint_segments"):
        before, after = scenario.fields(machine)[path], scenario.fields(small)[path]
        assert after == pytest.approx(before / k, abs=0.5)


def test_cache_devices_of_both_pools_are_smaller():
    pool = {"data": {"sheet": "x25-e", "count": 2}, "cache": {"sheet": "x25-e"}}
    machine = scenario.changed(DISKS, {"pool": pool, "log_pool": pool})
    small = run_length.smaller(machine, 4)
    for before, after in ((machine.pool, small.pool), (machine.log_pool, small.log_pool)):
        assert after.cache.device_bytes == pytest.approx(before.cache.device_bytes / 4, rel=1e-6)
        assert after.data == before.data


def test_transactions_between_checkpoints_are_as_many_as_urns_and_balls_say():
    """Naive twin: balls into urns, an image for each urn hit first."""
    pages, image, rest, draws = machines.PAGES_OF_A_BRANCH, 8192, 500, stream(1, "urns")
    hit, log, n = np.zeros(pages, bool), 0.0, 0
    while log < 2**24:
        page = int(draws.random() * pages)
        log += rest + (0 if hit[page] else image)
        hit[page] = True
        n += 1
    pilot = run({})._replace(wal_bytes=rest + image, counts={"commits": 1000, "images": 1000})
    assert run_length.transactions_in(2**24, 1, pilot) == pytest.approx(n, rel=0.1)


def test_a_run_is_as_long_as_the_scenario_says():
    assert run_length.of(DISKS, {}).scenario is DISKS


def test_very_large_tables_keep_an_interval_that_would_become_too_short():
    large = scenario.changed(DISKS, {"database.transactions": None, "database.scale": 40_000, "pool.data.count": 24})
    too_large = 40_000 / run_length.MAX_SCALE
    length = run_length._of_intervals(large, (300, None), 100.0, run_length.Budget(50_000), too_large)
    assert length.scenario.database.scale == run_length.MAX_SCALE
    assert length.scenario.files.to_scale == length.scenario.files.groups_to_scale == too_large
    assert "half of 500 s" in length.why


@given(st.sampled_from([*eras.ERAS]), st.floats(10, 300_000), st.integers(20, 3000), st.sampled_from([60, 300, 1800]),
       st.sampled_from([None, 20_000, 2_000_000]))
def test_what_is_measured_holds_several_groups_and_is_bounded(era, tps, scale, seconds, n):
    """Groups and tables to a scale: three groups at least, as many before; and no more transactions than are to be had."""
    machine = scenario.changed(DISKS, {"database.transactions": None, "files.era": era, "database.scale": scale,
                                       "pool.data.count": 24})
    length = run_length._of_intervals(machine, (seconds, n), tps, run_length.BUDGET, 1.0)
    database, files = length.scenario.database, length.scenario.files
    total = database.seconds or database.transactions / tps
    assert total / 2 >= 0.999 * run_length.GROUPS * run_length.group_seconds(machine) / files.groups_to_scale
    assert run_length.group_seconds(machine) / files.groups_to_scale >= 0.999 * min(
        run_length.MIN_GROUP, run_length.group_seconds(machine) / run_length.MAX_FACTOR)
    assert total * tps <= 1.01 * max(run_length.MAX_TRANSACTIONS, 2 * run_length.BUDGET.transactions, 2 * (n or 0),
                                     2 * run_length.GROUPS * run_length.MIN_GROUP * tps)


def test_a_test_of_hours_is_a_server_at_work():
    """Neither two hours event by event, nor the first seconds of them."""
    values = machines.known([DISKS]).central()
    of = [scenario.changed(DISKS, {"database.transactions": None, "database.seconds": seconds}) for seconds in (20, 7200)]
    short, long = (run_length.of(machine, values) for machine in of)
    assert short.scenario.database.seconds == 20
    assert short.since == 0
    assert long.since != 0
    assert (long.scenario.database.seconds or 0) * 1000 + (long.scenario.database.transactions or 0) < 10**6


def test_hours_of_sysbench_are_the_second_half_of_a_shorter_run():
    machine = scenario.of({"files": {"era": "b141", "record_kib": 16}, "pool": {"data": {"sheet": "x25-e"}}, "database": {
        "kind": "innodb", "rows": 20_000, "clients": 4, "seconds": 7200, "conf": {"innodb_buffer_pool_size": "64MB"}}})
    values = machines.known([machine], "sysbench").central()
    length = run_length.of(machine, values)
    assert length.scenario.database.seconds == pytest.approx(2 * length.since)
    assert length.since < 3600
    assert length.since >= 0.999 * run_length.GROUPS * 30 / length.scenario.files.groups_to_scale
    short = length._replace(scenario=scenario.changed(machine, {"database.seconds": 2}), since=1)
    assert run_length.outcome(short, values, 1).tps > 0


def a_thousand(min_seconds=0.0):
    """A run of a thousand transactions, of which the second half counts."""
    return run_length.Length(scenario=scenario.changed(DISKS, {"database.transactions": 1000}), since=machines.HALF, why="",
                             min_seconds=min_seconds)


def test_a_draw_that_is_faster_than_the_best_guess_is_run_again_as_much_longer():
    length = a_thousand()
    values = machines.known([DISKS]).central()
    short = run_length.outcome(length, values, 1)
    longer = run_length.outcome(length._replace(min_seconds=1.5 * short.seconds), values, 1)
    assert longer.seconds >= 1.4 * short.seconds
    assert run_length.outcome(length._replace(min_seconds=0.5 * short.seconds), values, 1).tps == short.tps


def test_a_draw_whose_rate_is_known_is_run_as_long_at_once():
    length = a_thousand(15)
    lengths = {tps: run_length.long_enough(length, tps).scenario.database.transactions for tps in (20, 100, 1000)}
    assert lengths == {20: 1000, 100: 3300, 1000: 4000}      # a tenth more than 30 s, and four times at most
    seconds = run_length.Length(scenario=DISKS, since=5.0, why="", min_seconds=15)
    assert run_length.long_enough(seconds, 1000) is seconds


def test_a_run_made_long_enough_grows_no_more_than_any_other(monkeypatch):
    """Four times in all, however fast its draw is."""
    seen = []
    monkeypatch.setattr(machines, "simulate", lambda run, *given, **named: seen.append(run) or SimpleNamespace(seconds=0.1))
    length = a_thousand(15)
    for asked in (length, run_length.long_enough(length, 100), run_length.long_enough(length, 1000)):
        run_length.outcome(asked, {}, 1)
    assert [run.database.transactions for run in seen] == [1000, 4000, 3300, 4000, 4000]


def test_how_fast_a_machine_is_at_work_is_asked_of_two_groups():
    """A short run finds an empty store; groups of 30 s slow a machine down that has filled it."""
    fast = scenario.changed(DISKS, {"database.transactions": None, "files.zil": False, "files.record_kib": 128,
                                    "database.scale": 100, "database.clients": 16, "files.arc_max_mib": 512})
    values = machines.known([fast]).central()
    pilot = machines.simulate(scenario.changed(fast, {"database.transactions": run_length.PILOT}), values, 1)
    assert run_length.at_work(fast, 1.0, pilot.tps, None, values, 1)[0] < pilot.tps


@pytest.mark.parametrize(("n", "interval"), [(5000, 2500), (None, 300 * 10_000 // 2)])
def test_buffers_are_as_after_the_transactions_between_checkpoints(monkeypatch, n, interval):
    """Log ends that time, after so many; or five minutes do. The machine is to a scale of 1 to 2."""
    runs = []
    monkeypatch.setattr(memo, "_RUNS", {})
    monkeypatch.setattr(machines, "simulate", lambda machine, *_, since: runs.append(machine) or NOTHING._replace(
        tps=100.0, counts={"commits": 10, "checkpoint_writes": 5, "checkpoint_naps": 1}))
    run_length.at_work(scenario.changed(DISKS, {"database.transactions": None}), 2.0, 10_000.0, n, {}, 1)
    assert [machine.database.interval_transactions for machine in runs] == [interval]
    assert [machine.database.checkpoint_pace for machine in runs] == [0]


def test_a_checkpoint_that_never_naps_does_not_keep_up(monkeypatch):
    """Then it is asked again, of buffers that such a pace leaves, until two answers agree, or three times."""
    writes, runs = iter((5, 3, 3.2, 9)), []
    monkeypatch.setattr(memo, "_RUNS", {})
    monkeypatch.setattr(machines, "simulate", lambda machine, *_, since: runs.append(machine) or NOTHING._replace(
        tps=100.0, counts={"commits": 10, "checkpoint_writes": next(writes), "checkpoint_naps": 0}))
    pace = run_length.at_work(scenario.changed(DISKS, {"database.transactions": None}), 2.0, 10_000.0, 5000, {}, 1)
    assert pace == (100.0, 0.32)
    assert [machine.database.checkpoint_pace for machine in runs] == [0, 0.5, 0.3]


def test_what_is_counted_from_within_a_second_counts_in_part():
    counts = np.array([[4, 8, 16, 32]])
    assert machines.since_second(counts, 0).tolist() == [60]
    assert machines.since_second(counts, 1.25).tolist() == [8 * 0.75 + 16 + 32]
    assert machines.since_second(counts, 2).tolist() == [48]
