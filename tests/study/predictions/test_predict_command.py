"""`study predict`: what it says, writes and refuses."""
import itertools
import json

import pytest
from conftest import one_sentence

from study.machines import devices as machine_devices
from study.machines import hardware, scenario, sheet_speed
from study.machines import simulate as machines
from study.machines import storage as scenario_storage
from study.predictions import bounds, predict
from support.two_disk_server import DISKS

# ---- on the command line ----


def test_a_wrong_scenario_exits_with_2(study, tmp_path):
    (tmp_path / "a.toml").write_text('[pool.data]\nsheet = "savvio-10k2"\ncount = 0\n[database]\nkind = "postgres"\n')
    assert "without a disk" in one_sentence(study("predict", tmp_path / "a.toml"))
    assert "is not there" in one_sentence(study("predict", tmp_path / "b.toml"))


def test_a_scenario_without_a_kind_says_what_is_taken_by_default():
    content = {"pool": {"data": {"sheet": "nvme-p4500"}}, "database": {"version": 16}}
    assert not any("MySQL" in line for line in predict.taken_by_default(content, scenario.of(content)))


def test_what_is_left_out_is_said_with_what_is_taken():
    content = {"pool": {"data": {"sheet": "savvio-10k2"}}, "host": {"cpus": 4}, "database": {"kind": "mariadb"}}
    of_database, host, files, pool, data, database, runs = predict.taken_by_default(content, scenario.of(content))
    assert of_database == (
        "database: mariadb is taken as the InnoDB of MySQL 5.7, with MariaDB's own sync_binlog = 0, "
        "innodb_log_file_size = 96M, innodb_log_files_in_group = 1, innodb_max_dirty_pages_pct = 90, "
        "innodb_lru_scan_depth = 1536, innodb_buffer_pool_instances = 1, innodb_change_buffering = none")
    assert "memory_gib = 8" in host
    assert 'system = "linux"' in host
    assert "cpus =" not in host
    assert 'era = "openzfs"' in files
    assert "to_scale" not in files
    assert pool == "pool: fill = 0"
    assert "count = 1" in data
    assert "sheet" not in data
    assert "rows = 10000000" in database
    assert "start" not in database
    assert "seconds" not in database
    assert runs == predict.RUNS


@pytest.mark.parametrize(("kind", "of_run"), [
    ("postgres", {"start": "at work", "interval_transactions": 1000}),
    ("innodb", {"start": "at work", "transactions_a_second": 100, "seconds": 12.5}),
    ("oracle", {"seconds": 30.0})])
def test_start_and_seconds_taken_by_default_are_those_of_the_run(kind, of_run):
    content = {"pool": {"data": {"sheet": "savvio-10k2"}}, "database": {"kind": kind}}
    machine = scenario.of(content)
    run = scenario.changed(machine, {f"database.{name}": value for name, value in of_run.items()})
    database = predict.taken_by_default(content, machine, run)[-1]
    assert database.startswith("database: ")
    for name in ("start", "seconds"):
        assert f"{name} = {predict.as_toml(of_run[name])}" in database if name in of_run else name not in database
    assert "warm" not in database
    given = content | {"database": content["database"] | {"seconds": 60}}
    assert "seconds" not in predict.taken_by_default(given, scenario.of(given), run)[-1]


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
