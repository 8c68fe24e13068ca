"""Predictions of scenarios: laws that hold whatever the numbers, and what a prediction may read."""
import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from model.filesystems.zfs.devices import queue_params
from study import project
from study.documents import priors
from study.errors import UserError
from study.machines import devices as machine_devices
from study.machines import power_cut_risks, scenario
from study.machines import simulate as machines
from study.machines import storage as scenario_storage
from study.predictions import predict
from support.two_disk_server import DISKS, run

EXAMPLES = sorted((project.DATA / "scenarios").glob("*.toml"))


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
