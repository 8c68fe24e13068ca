"""Predictions of scenarios: laws that hold whatever the numbers, and what a prediction may read."""
import itertools
import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from conftest import one_sentence
from hypothesis import given
from hypothesis import strategies as st

from model.events.streams import stream
from model.filesystems.zfs.devices import queue_params
from model.zfs import eras
from study import memo, project
from study.documents import priors
from study.errors import UserError
from study.machines import devices as machine_devices
from study.machines import hardware, power_cut_risks, run_length, scenario, sheet_speed
from study.machines import simulate as machines
from study.machines import storage as scenario_storage
from study.predictions import bounds, predict

NOTHING = machines.Outcome(**dict.fromkeys(machines.Outcome._fields))
DISKS = scenario.of({
    "host": {"memory_gib": 4}, "files": {"era": "b141", "record_kib": 8},
    "pool": {"data": {"sheet": "savvio-10k2", "count": 2}},
    "database": {"kind": "postgres", "scale": 20, "clients": 8, "transactions": 3000, "conf": {
        "shared_buffers": "64MB", "checkpoint_segments": 8, "wal_buffers": "1MB"}}})
EXAMPLES = sorted((project.DATA / "scenarios").glob("*.toml"))


def run(changes, base=DISKS, seed=1):
    machine = scenario.changed(base, changes)
    return machines.simulate(machine, machines.known([machine]).central(), seed)


# ---- examples and machines ----


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_is_a_machine_that_can_be_built(path):
    machine = scenario.read(path)
    assert machine.title
    known = machines.known([machine], predict.EXPERIMENTS[machine.database.kind])
    for values in priors.draws(known, 6, 1).to_dict("records"):
        machines.zfs_settings(machine, values)
        for part in machine_devices.devices_of(machines.checked(machine)):
            machine_devices.of_device(part, values)


def test_a_prediction_on_a_zvol_says_that_its_guest_is_left_out():
    zvol = DISKS.model_copy(update={"files": scenario_storage.Zvol(era="b141")})
    assert predict.GUEST in predict.notes(zvol)
    assert predict.GUEST not in predict.notes(DISKS)
    assert json.loads(zvol.model_dump_json())["files"]["volblocksize_kib"] == 8


def test_on_a_zvol_wider_blocks_make_more_be_written_and_without_commits_nobody_waits():
    content = DISKS.model_dump()
    files = {"kind": "zvol", "era": "openzfs"}        # groups every 5 s
    bases = [scenario.of(content | {"files": files | keys}) for keys in (
        {"volblocksize_kib": 8}, {"volblocksize_kib": 64}, {"volblocksize_kib": 8, "sync": "disabled"})]
    small, wide, disabled = (run({"database.transactions": 8000}, base=base) for base in bases)
    assert small.result.counts["commits"] == wide.result.counts["commits"]
    assert wide.devices["data"]["written_bytes"] > 1.1 * small.devices["data"]["written_bytes"]
    assert disabled.tps > 2 * small.tps


def test_a_fill_without_the_database_in_it_is_one_sentence():
    with pytest.raises(UserError, match="give the fill with the database in it"):
        run({"database.scale": 1000, "pool.fill": 0.01, "pool.fragmentation": 5})


def test_no_fill_is_the_pool_as_ever():
    assert run({"pool.fill": 0.0}).result.response_ns.tolist() == run({}).result.response_ns.tolist()


@pytest.mark.parametrize("seed", [1, 2])
def test_no_write_waits_with_sync_disabled_and_every_write_with_always(seed):
    """On devices without an arm: at which angle a log block finds a disk is chance, and can weigh more."""
    disabled, standard, always = (run({"pool.data.sheet": "x25-e", "files.sync": sync, "database.scale": 5}, seed=seed)
                                  for sync in ("disabled", "standard", "always"))
    assert disabled.tps > standard.tps >= always.tps
    assert disabled.mean_ms < standard.mean_ms <= always.mean_ms
    assert always.devices["data"]["writes"] >= standard.devices["data"]["writes"] > 0


def test_on_several_disks_the_angle_of_their_spindles_decides_and_on_one_there_is_none():
    """3000 transactions write little to their tables, so that both settings commit almost alike."""
    of_two, of_one = ([run({"files.sync": "always", "pool.data.count": n}, seed=seed).tps
                       / run({"files.sync": "standard", "pool.data.count": n}, seed=seed).tps for seed in (1, 2)]
                      for n in (2, 1))
    assert of_two[0] < 0.9 < 1.1 < of_two[1]
    assert of_one == pytest.approx([1, 1], abs=0.05)


def test_commits_wait_for_no_disk_with_sync_disabled():
    disabled, standard = (run({"files.sync": sync}) for sync in ("disabled", "standard"))
    assert disabled.tps > standard.tps


def test_an_own_script_changes_as_many_rows_as_it_says():
    counts = run({"database.script": {"reads": 5, "updates": 2, "inserts": 3}, "database.transactions": 1000}).counts
    assert counts["hot_updates"] + counts["moved_updates"] == 2 * counts["commits"]


def test_a_database_that_does_not_fit_is_one_sentence():
    with pytest.raises(UserError, match="but the disks hold"):
        run({"database.scale": 100_000})


def test_a_log_of_innodb_that_does_not_fit_is_one_sentence():
    apart = scenario.changed(DISKS, {"log_pool": {"data": {"sheet": "x25-e"}}})
    machines.fits(apart, 2**33, 2**33)
    for machine, log_bytes, refusal in ((DISKS, 10**13, "the database takes"), (apart, 10**11, "the database's log takes")):
        with pytest.raises(UserError, match=f"^{refusal} .* but the disks hold"):
            machines.fits(machine, 2**33, log_bytes)


def test_a_unit_is_as_long_as_its_device_takes():
    """1 MiB from OpenZFS 0.8 on, of a disk; 128 KiB of a device without an arm, also beside disks."""
    mixed = scenario.changed(DISKS, {"files.era": "openzfs_2019", "pool.log": {"sheet": "x25-e"}})
    values = machines.known([mixed]).central()
    zfs = machines.store(mixed, values, np.array([[2**24, 2**24, 8192], [2**30, 2**30, 8192]]), 1, 1).zfs.data
    longest = {(int(ssd) >= 0, queue_params(zfs, leaf).aggregation_bytes) for leaf, ssd in enumerate(zfs.ssds.number)}
    assert longest == {(False, 2**20), (True, 2**17)}


def test_sheets_give_priors_with_their_sources():
    known = machines.known([DISKS])
    priors_by_name = {prior.name: prior for prior in known.priors if prior.of == "device"}
    assert {"savvio-10k2.window", "savvio-10k2.overhead_ns"} <= set(priors_by_name)
    assert all(prior.source and prior.low <= prior.central <= prior.high for prior in priors_by_name.values())


def test_a_faster_processor_takes_less_time():
    values = machines.known([DISKS]).central()
    slow, fast = (machines.zfs_settings(scenario.changed(DISKS, {"host.cpu": cpu}), values) for cpu in (1.0, 4.0))
    assert slow.write_ns == 4 * fast.write_ns


def test_buffers_take_memory_from_the_arc():
    sizes = [machines.arc_max_bytes(scenario.changed(DISKS, {"database.conf.shared_buffers": size}))
             for size in ("64MB", "1GB", "2GB")]
    assert sizes[0] > sizes[1] > sizes[2]


def test_a_battery_is_behind_the_disks_only_if_it_is_behind_all_of_them():
    values = machines.known([DISKS]).central()
    log = {"sheet": "x25-e", "battery": True}
    of = [machines.zfs_settings(scenario.changed(DISKS, changes), values).disk_cache_is_volatile for changes in (
        {"pool.log": log}, {"pool.data.battery": True},
        {"pool.data.battery": True, "log_pool.data": {"sheet": "savvio-10k2"}})]
    assert of == [1, 0, 1]


# ---- laws ----


def test_more_disks_read_faster():
    """From tables that are not in memory. (Commits alone need not be faster: each waits for one disk.)"""
    cold = {"database.script": "select-only", "files.warm": False, "files.arc_max_mib": 64}
    single, four = (run(cold | {"pool.data.count": n}).tps for n in (1, 4))
    assert four > 1.5 * single


def test_an_honest_flush_is_not_faster_than_none():
    honest, none = (run({"files.nocacheflush": nocacheflush}).tps for nocacheflush in (False, True))
    assert honest < none


def test_a_commit_without_the_intent_log_is_faster():
    assert run({"files.zil": False}).tps > 1.2 * run({}).tps


def test_log_falls_with_the_distance_between_checkpoints():
    near, far = (run({"database.conf.checkpoint_segments": n, "database.scale": 2, "database.transactions": 8000}).wal_bytes
                 for n in (1, 64))
    assert near > 1.05 * far


def test_without_images_of_pages_there_is_less_log():
    assert run({"database.conf.full_page_writes": False}).wal_bytes < 0.5 * run({}).wal_bytes


def test_compressed_images_make_less_log():
    plain = scenario.of(DISKS.model_dump() | {"database": DISKS.database.model_dump() | {"version": 15, "conf": {}}})
    assert run({"database.conf.wal_compression": "lz4"}, plain).wal_bytes < 0.5 * run({}, plain).wal_bytes


def test_a_mirror_writes_everything_twice():
    stripe, mirror = (run({"pool.data": {"sheet": "savvio-10k2", "count": 2, "layout": layout}}).devices["data"]
                      for layout in ("stripe", "mirror"))
    assert mirror["written_bytes"] == pytest.approx(2 * stripe["written_bytes"], rel=0.2)


def test_larger_records_write_more_for_a_transaction_and_are_no_faster():
    """Up to the largest that there are; pages of 8 KiB are changed at random. (Small ones differ by chance.)"""
    outcomes = [run({"files.era": "openzfs", "files.record_kib": kib, "pool.data": {"sheet": "sata-ssd-s4500", "count": 2}})
                for kib in (8, 128, 1024, 16384)]
    written = [outcome.devices["data"]["written_bytes"] for outcome in outcomes]
    assert written == sorted(written)
    assert written[2] > 4 * written[1]
    assert outcomes[0].tps > 0.98 * outcomes[1].tps
    assert outcomes[1].tps > 1.5 * outcomes[2].tps > 3 * outcomes[3].tps


def test_who_misses_reads_a_whole_record_however_large():
    """Tables that are not in memory, by one client."""
    cold = {"files.era": "openzfs", "database.script": "select-only", "files.warm": False, "database.start": "cold",
            "database.clients": 1, "database.transactions": 300, "database.scale": 200, "files.prefetch": False}
    for kib in (128, 1024):
        data = run(cold | {"files.record_kib": kib}).devices["data"]
        assert data["read_bytes"] / data["reads"] == pytest.approx(kib * 1024, rel=0.15)


def test_the_same_seed_gives_the_same_bits():
    first, second = run({}), run({})
    assert (first.result.ended_at == second.result.ended_at).all()
    assert (run({}, seed=2).result.ended_at != first.result.ended_at).any()


# ---- intervals ----


def test_a_prediction_is_an_interval_of_every_quantity():
    predicted = predict.interval(scenario.changed(DISKS, {"database.transactions": 500}), draws=3)
    assert {"tps", "response p99", "wal per transaction", "data: writes"} <= set(predicted.table.quantity)
    assert (predicted.table.low <= predicted.table.middle).all()
    assert (predicted.table.middle <= predicted.table.high).all()
    assert json.loads(predict.as_json(predicted))["quantities"]["tps"]["unit"] == "TPS"


def test_a_prediction_reads_nothing_that_was_published(monkeypatch):
    """Of data/ it may read priors and sheets; a published rung is out of its reach, whatever stands there."""
    machine = scenario.changed(DISKS, {"database.transactions": 300})
    free = predict.interval(machine, draws=2).table
    scenario_storage.sheet.cache_clear()
    monkeypatch.setenv("STUDY_READS", json.dumps(["priors.toml", "hardware/savvio-10k2.toml"]))
    assert predict.interval(machine, draws=2).table.equals(free)


@pytest.mark.parametrize(("system", "files", "database", "taken", "of"), [
    (None, {}, {"version": 15}, "openzfs_2021", "postgres 15 on linux"),
    ("freebsd", {}, {"version": 15}, "openzfs_2021", "postgres 15 on freebsd"),
    (None, {}, {"version": 12}, "openzfs_2019", "postgres 12 on linux"),
    ("freebsd", {}, {"version": 12}, "openzfs_2017", "postgres 12 on freebsd"),
    (None, {}, {}, "b111", "postgres 8.3 on solaris"), ("linux", {}, {}, "openzfs_2013", "postgres 8.3 on linux"),
    (None, {}, {"kind": "innodb", "version": "8.0"}, "openzfs_2021", "innodb 8.0 on linux"),
    (None, {}, {"kind": "innodb"}, "b111", "innodb on solaris"), (None, {}, {"kind": "oracle"}, "b111", "oracle on solaris"),
    (None, {"era": "openzfs_2021"}, {}, None, ""), (None, {"era": "b111"}, {}, None, ""),
    (None, {"kind": "ufs"}, {}, None, "")])
def test_which_era_is_taken_is_said_where_none_is_given(system, files, database, taken, of):
    content = {"pool": {"data": {"sheet": "savvio-10k2"}}, "files": files, "database": {"kind": "postgres"} | database,
               "host": {"system": system} if system else {}}
    sentence = predict.era_taken(content, scenario.of(content))
    assert f"{taken} is taken, the likeliest for {of};" in sentence if taken else sentence == ""


@pytest.mark.parametrize(("kind", "of_the_model", "message"), [
    ("postgres", "shared_buffers_bytes is 1, but 9 clients need more", "shared_buffers is 1, but 9 clients need more"),
    ("innodb", "log_file_bytes is 7 and n_clients 300", "innodb_log_file_size is 7 and clients 300"),
    ("oracle", "cache_bytes is 4 and log_file_bytes 5", "db_cache_size is 4 and redo_log_size 5")])
def test_settings_that_cannot_be_are_named_as_in_the_scenario(kind, of_the_model, message, monkeypatch):
    def refuse(*_):
        raise ValueError(of_the_model)
    monkeypatch.setitem(machines._RUNS, kind, refuse)
    machine = scenario.of({"pool": {"data": {"sheet": "savvio-10k2", "count": 2}}, "database": {"kind": kind}})
    with pytest.raises(UserError, match=f"^the scenario: {message}$"):
        machines.simulate(machine, {}, 1)


def test_a_run_without_a_flush_has_no_transactions_per_flush():
    device = {"data": dict.fromkeys(predict.PER_SECOND, 1)}
    names = ("tps", "seconds", "mean_ms", "p50_ms", "p95_ms", "p99_ms", "wal_bytes")
    runs = [predict.quantities(SimpleNamespace(counts={"commits": 100, "flushes": n, "checkpoints": 0}, devices=device,
                                               **dict.fromkeys(names, 1.0))) for n in (0, 0, 4)]
    rows = [{"scenario": 0, "draw": i, "seed": 0} | run for i, run in enumerate(runs)]
    assert "transactions per flush" not in set(predict.table(pd.DataFrame(rows[:2])).quantity)
    shown = predict.table(pd.DataFrame(rows[2:])).set_index("quantity")
    assert shown.middle["transactions per flush"] == 25


def test_one_draw_is_no_interval():
    with pytest.raises(UserError, match="make no interval"):
        predict.interval(DISKS, draws=1)


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


# ---- dangers ----


@pytest.mark.parametrize(("changes", "word"), [
    ({"files.zil": False}, "intent log"), ({"files.nocacheflush": True}, "nocacheflush"),
    ({"database.conf.synchronous_commit": "off"}, "loses the commits"), ({"database.conf.fsync": "off"}, "does not start"),
    ({"database.conf.full_page_writes": "off", "files.record_kib": 4}, "can be torn")])
def test_what_trades_safety_is_said(changes, word):
    warnings = power_cut_risks.dangers(scenario.changed(DISKS, changes))
    assert any(word in warning and warning.startswith(("DANGER", "RISK")) for warning in warnings)


def test_what_is_safe_raises_no_alarm():
    assert power_cut_risks.dangers(DISKS) == ()
    behind_battery = scenario.changed(DISKS, {"files.nocacheflush": True, "pool.data.battery": True})
    assert power_cut_risks.dangers(behind_battery) == ()
    whole = power_cut_risks.dangers(scenario.changed(DISKS, {"database.conf.full_page_writes": "off"}))
    assert all(warning.startswith("NOTE") for warning in whole)


# ---- on the command line ----


def test_a_wrong_scenario_exits_with_2(study, tmp_path):
    (tmp_path / "a.toml").write_text('[pool.data]\nsheet = "savvio-10k2"\ncount = 0\n[database]\nkind = "postgres"\n')
    assert "without a disk" in one_sentence(study("predict", tmp_path / "a.toml"))
    assert "is not there" in one_sentence(study("predict", tmp_path / "b.toml"))


def test_what_is_left_out_is_said_with_what_is_taken():
    content = {"pool": {"data": {"sheet": "savvio-10k2"}}, "host": {"cpus": 4}, "database": {"kind": "mariadb"}}
    of_database, host, files, pool, data, database = predict.taken_by_default(content, scenario.of(content))
    assert of_database == (
        "database: mariadb is taken as the InnoDB of MySQL 5.7, with MariaDB's own sync_binlog = 0, "
        "innodb_log_file_size = 96M, innodb_log_files_in_group = 1, innodb_max_dirty_pages_pct = 90, "
        "innodb_change_buffering = none")
    assert "memory_gib = 8" in host
    assert 'system = "linux"' in host
    assert "cpus =" not in host
    assert 'era = "openzfs"' in files
    assert "to_scale" not in files
    assert pool == "pool: fill = 0"
    assert "count = 1" in data
    assert "sheet" not in data
    assert "rows = 10000000" in database


@pytest.mark.parametrize(("changes", "first"), [
    ({"database.clients": 1}, bounds.COMMITS),
    ({"files.zil": False, "host.cpus": 1, "database.script": "select-only"}, "processors")])
def test_what_a_machine_is_bound_by_is_what_saves_most(changes, first):
    shares = bounds.of(scenario.changed(DISKS, changes), "predict")
    assert shares[0].of == first
    assert all(0 <= part.share <= 1 for part in shares)
    assert f"bound by: {first} {shares[0].share:.0%}" in bounds.sentence(shares)


def test_a_machine_that_nothing_makes_faster_says_so():
    assert "nothing" in bounds.sentence([bounds.Share("processors", 0.04)])


@pytest.mark.parametrize("name", ["savvio-10k2", "x25-e", "nvme-p4500"])
def test_a_device_that_is_twice_as_fast_is_one(name):
    values = machines.known([scenario.changed(DISKS, {"pool.data.sheet": name})]).central()
    devices = scenario_storage.Devices(sheet=name)
    slow, fast = (machine_devices.of_device(devices, each) for each in (values, values | sheet_speed.faster(name, values)))
    hardware.sheet_disk(fast) if isinstance(fast, hardware.SheetParams) else hardware.check_ssd(fast)
    for field in set(sheet_speed.RATES) & set(slow._fields) - {"random_rate"}:
        assert getattr(fast, field) == pytest.approx(2 * getattr(slow, field), abs=2)
    for field in set(sheet_speed.TIMES) & set(slow._fields):
        assert getattr(fast, field) == pytest.approx(getattr(slow, field) / 2, abs=1)


def test_a_prediction_is_printed_and_written(study, tmp_path):
    (tmp_path / "a.toml").write_text('title = "mine"\n[files]\nrecord_kib = 8\n[pool.data]\nsheet = "x25-e"\n'
                                     '[database]\nkind = "postgres"\nclients = 2\ntransactions = 200\n')
    done = study("predict", tmp_path / "a.toml", "--draws", 2, "--out", tmp_path / "a.json")
    assert done.returncode == 0, done.stderr
    assert "wal per transaction" in done.stdout
    rows = [line for line in done.stdout.splitlines() if line.startswith("tps, ")]
    assert [row[:len(name)] for row, name in zip(rows, (predict.CALIBRATED, predict.OWN), strict=True)] == [
        predict.CALIBRATED, predict.OWN]
    assert "bound by: " in done.stdout
    assert "taken by default:\n  host: cpus = " in done.stdout
    assert json.loads((tmp_path / "a.json").read_text())["bound_by"]
    assert json.loads((tmp_path / "a.json").read_text())["scenario"]["title"] == "mine"


def test_an_innodb_run_has_room_for_more_transactions_than_it_makes():
    """A short one for any machine; a long one as much as has a place in memory."""
    assert machines.innodb_room(1.5) == 300_000
    assert machines.innodb_room(300) == 6_000_000
    assert all(machines.innodb_room(a) <= machines.innodb_room(b) for a, b in itertools.pairwise((0.5, 5, 6, 50, 53, 900)))
