"""Scenarios: what cannot be is one sentence; what can be is changed, compared and written by its fields."""
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.databases.innodb import columns as inno
from model.databases.postgres import columns as pg
from study.errors import UserError
from study.machines import conf, not_simulated, power_cut_risks, scenario, servers
from study.machines import simulate as machines
from study.machines import storage as scenario_storage
from study.predictions import predict
from support.plain_disk import DISK

POSTGRES = scenario.of(DISK | {"database": {"kind": "postgres"}})
INNODB = scenario.of(DISK | {"database": {"kind": "innodb"}})

IMPOSSIBLE = [
    ("pool.data.count", 0, "without a disk"),
    ("pool.data.sheet", "no-such-disk", "no sheet 'no-such-disk'"),
    ("pool.data", {"sheet": "savvio-10k2", "layout": "raidz1"}, "raidz1 of 1 device"),
    ("pool.data", {"sheet": "savvio-10k2", "layout": "mirror"}, "mirror of 1 device"),
    ("pool.data", {"sheet": "savvio-10k2", "layout": "raidz2", "count": 7, "width": 3}, "not divided"),
    ("pool.data", {"sheet": "savvio-10k2", "layout": "raidz3", "count": 5}, "third parity"),
    ("pool.cache", {"sheet": "x25-e", "use_gib": 64}, "holds 29.8 GiB"),
    ("pool.cache", {"sheet": "x25-e", "count": 2, "layout": "mirror"}, "which ZFS does not do"),
    ("pool.log", {"sheet": "x25-e", "count": 3, "layout": "raidz1"}, "which ZFS does not do"),
    ("pool.data.count", 10**9, "1024 devices"),
    ("database.clients", 0, "clients is 0"),
    ("database.clients", 10**9, "clients is 1000000000"),
    ("database.clients", True, "clients is true, which is neither"),
    ("database.threads", False, "threads is false, which is neither"),
    ("pool.data.count", True, "count is true, which is neither"),
    ("host.memory_gib", True, "memory_gib is true, which is neither"),
    ("pool.data.sheet", True, "sheet is true, which is neither"),
    ("database.threads", 0, "threads is 0"),
    ("database.transactions", 10**12, "transactions is 1000000000000"),
    ("database.scale", 0, "scale is 0"),
    ("database.version", 7.4, "from 8.3 to 18"),
    ("database.conf", {"shared_buffers": "16GB"}, "more than the memory of 8 GiB"),
    ("database.conf", {"shared_bufers": "1GB"}, "that is simulated; did you mean 'shared_buffers'?"),
    ("database.conf", {"shared_buffers": "much"}, "which is no size"),
    ("database.conf", {"checkpoint_timeout": "5s"}, "from 30 s to 86400 s"),
    ("database.conf", {"full_page_writes": "perhaps"}, "neither on nor off"),
    ("database.conf", {"max_wal_size": "1GB"}, "PostgreSQL 8.3 has no such setting"),
    ("files.record_kib", 12, "a power of two"),
    ("files.record_kib", 0, "a power of two"),
    ("files.record_kib", 256, "128 KiB at most with era b111; choose less, or a release with large blocks"),
    ("files.log_record_kib", 1024, "log_record_kib is 1024, but a record has 128 KiB at most"),
    ("files.record_kib", 2**15, "no ZFS has records of more than 16384 KiB"),
    ("files.era", "b999", "builds known are"),
    ("files.logbias", "throughput", "has no logbias"),
    ("files.primarycache", "none", "primarycache"),
    ("files.secondarycache", "metadata", "secondarycache"),
    ("files.arc_max_mib", 10_000, "more than the memory"),
    ("files.colour", "red", "nothing that a scenario has"),
    ("files.kind", "ext4", "ext4 is not simulated; nearest is kind = \"zfs\""),
    ("files", {"kind": "zvol", "volblocksize_kib": 12}, "volblocksize_kib is 12, but a block of a zvol is a power of two"),
    ("files", {"kind": "zvol", "volblocksize_kib": 0.25}, "a power of two, of 0.5 to 128 KiB with era b111"),
    ("files", {"kind": "zvol", "volblocksize_kib": 256}, "a power of two, of 0.5 to 128 KiB with era b111"),
    ("files", {"kind": "zvol", "volblocksize_kib": True}, "neither a number nor a name"),
    ("files", {"kind": "zvol", "log_volblocksize_kib": 3}, "log_volblocksize_kib is 3, but a block of a zvol"),
    ("files", {"kind": "zvol", "record_kib": 8}, "record_kib is 8, but kind is zvol; all files of a zvol lie in blocks of"),
    ("files", {"volblocksize_kib": 8}, "a file system has record_kib, so leave it out or write kind = \"zvol\""),
    ("files", {"kind": "zvol", "volblocksize": "8K"}, "is called volblocksize_kib here, in KiB"),
    ("files.zvol", True, "files.zvol is a kind here; write kind = \"zvol\""),
    ("files.kind", "hfs", "files has the unknown kind 'hfs'; choose"),
    ("files.dedup", "on", "files.dedup is not simulated; leave it out"),
    ("files.sync", "always", "sync is always, but era b111 has no such property"),
    ("files.sync", "sometimes", "must be 'standard', 'always' or 'disabled'"),
    ("files", {"era": "b141", "sync": "always", "zil": False}, "nothing is logged without an intent log"),
    ("pool.special", {"sheet": "savvio-10k2"}, "pool.special is a special vdev, which"),
    ("pool.fill", 0.8, "fill is 0.8, but fragmentation is left out"),
    ("pool.fill", 1.2, "fill is 1.2, but it must be less than 1"),
    ("pool.fragmentation", 40, "but nothing is in the pool; give fill"),
    ("pool.capacity", 80, "is called fill here, in [pool]"),
    ("files.fill", 0.8, "it belongs to [pool]"),
    ("database.script", {"reads": 1, "rereads": 1}, "only 0 rows are updated"),
    ("database.script", {}, "has 0 statements"),
    ("database.script", {"reads": 1000}, "database.script.reads is 1000, but it must be 100 or less"),
    ("database.script", {"deletes": 1}, "nearest are updates, one for each"),
    ("database.script", "tpcb", "or give the counts of its statements"),
    ("pool.ashift", 12, "it belongs to [pool.data]"),
    ("files.zfs_txg_timeout", 5, "is a parameter of ZFS's module that cannot be set here"),
    ("database.tables", 10, "is called rows here"),
    ("database.kind", "sqlite", "sqlite is not simulated; choose postgres"),
    ("database", {"kind": "mariadb", "version": "5.1"}, "MariaDB is simulated from 5.5 on"),
    ("database", {"kind": "mariadb", "version": "new"}, "no version of MariaDB"),
    ("database.conf", {"wal_segment_size": "64MB", "shared_bufers": "1GB"},
     "'wal_segment_size' that is simulated; segments have 16 MB here; nor 'shared_bufers'"),
    ("database.version", "16", "version is '16', which is text; give a number, without quotes and unit"),
    ("files.record_kib", "8", "record_kib is '8', which is text; give a number, without quotes and unit"),
    ("database.transactions", "1e5", "transactions is '1e5', which is text; give a number, without quotes and unit"),
    ("host.cpus", 0, "host.cpus is 0"),
    ("host.memory_gib", 0, "host.memory_gib is 0"),
    ("host.memory_gib", 0.01, "host.memory_gib is 0.01"),
]


@pytest.mark.parametrize(("era", "max_kib"), [("b89", 128), ("b141", 128), ("openzfs_2013", 128), ("openzfs_2017", 16384),
                                           ("openzfs_2021", 16384), ("openzfs", 16384)])
def test_records_are_as_large_as_the_build_has_them(era, max_kib):
    """Large blocks came with ZFS on Linux 0.6.5, after 0.6.3 (`openzfs_2013`)."""
    assert scenario.changed(POSTGRES, {"files.era": era, "files.record_kib": max_kib}).files.record_kib == max_kib
    with pytest.raises(UserError, match="record_kib is"):
        scenario.changed(POSTGRES, {"files.era": era, "files.record_kib": 2 * max_kib})


@pytest.mark.parametrize(("path", "value", "complaint"), IMPOSSIBLE)
def test_what_cannot_be_is_one_sentence(path, value, complaint):
    with pytest.raises(UserError) as caught:
        scenario.changed(POSTGRES, {path: value})
    sentence = str(caught.value)
    assert complaint in sentence
    assert "\n" not in sentence
    assert sentence.count(". ") == 0


@pytest.mark.parametrize(("path", "value", "complaint"), [
    ("database.clients", 0, "clients is 0"), ("database.rows", 0, "rows is 0"),
    ("database", {"kind": "innodb", "read_only": True, "write_only": True}, "nothing is left of a transaction"),
    ("database.conf", {"innodb_buffer_pool_size": "9G"}, "more than the memory"),
    ("database.conf", {"innodb_flush_log_at_trx_commit": 3}, "the choices are 0, 1, 2")])
def test_what_cannot_be_of_innodb_is_one_sentence(path, value, complaint):
    with pytest.raises(UserError, match=complaint):
        scenario.changed(INNODB, {path: value})


def test_a_transaction_reads_then_writes_and_either_half_can_be_asked_for_alone():
    def statements(**changes):
        machine = scenario.changed(INNODB, {f"database.{name}": value for name, value in changes.items()})
        values = machines.known([machine], "sysbench").central()
        return servers.innodb_test(machine, values).statements[1:-1, inno.KIND].tolist()
    reads, writes = statements(read_only=True), statements(write_only=True)
    assert reads
    assert writes
    assert reads + writes == statements()


@pytest.mark.parametrize(("name", "counts"), [
    ("select-only", {"reads": 1}), ("simple-update", {"updates": 1, "rereads": 1, "inserts": 1}),
    ("tpc-b", {"updates": 1, "rereads": 1, "tellers": 1, "branches": 1, "inserts": 1})])
def test_a_script_of_pgbenchs_own_counts_is_pgbenchs_own_transaction(name, counts):
    values = machines.known([POSTGRES]).central()
    own, counted = (servers.postgres_database(scenario.changed(POSTGRES, {"database.script": script}), values, 1000)
                    for script in (name, counts))
    assert [np.array_equal(*pair) for pair in zip(own, counted, strict=True)] == [True] * len(own)


def test_an_own_script_reads_as_much_of_the_accounts_as_they_are():
    values = machines.known([POSTGRES]).central()
    script = {"database.script": {"reads": 5, "updates": 2, "inserts": 1}}
    own = servers.postgres_database(scenario.changed(POSTGRES, script), values, 1000)
    accounts = own.relations[:7, pg.N_ROWS]
    assert accounts.sum() == 100_000 * POSTGRES.postgres.scale
    assert accounts.max() - accounts.min() <= 1
    assert len(own.statements) == 2 + 5 + 2 + 1


def test_ufs_has_no_log_device():
    with pytest.raises(UserError, match="are ZFS's"):
        scenario.changed(POSTGRES, {"files": {"kind": "ufs"}, "pool.log": {"sheet": "x25-e"}})


def test_a_volume_under_ufs_is_no_mirror():
    with pytest.raises(UserError, match="as a stripe only"):
        scenario.changed(POSTGRES, {"files": {"kind": "ufs"},
                                    "pool.data": {"sheet": "x25-e", "count": 2, "layout": "mirror"}})


@pytest.mark.parametrize(("changes", "complaint"), [({"files": {"kind": "ufs"}}, "June 2008 only"),
                                                    ({"database.script": "toolkit"}, "choose tpc-b")])
def test_what_has_no_range_outside_of_its_study_is_one_sentence(changes, complaint):
    machine = scenario.changed(POSTGRES, changes | {"database.transactions": 10})
    with pytest.raises(UserError, match=complaint):
        machines.simulate(machine, machines.known([machine]).central(), 1)


def test_all_words_that_are_unknown_are_named_at_once_and_none_by_a_word_that_means_something_else():
    with pytest.raises(UserError) as caught:
        scenario.of(DISK | {"pool": DISK["pool"] | {"special": {}, "capacity": 50}, "files": {"dedup": "on"},
                            "database": {"kind": "postgres"}})
    assert all(word in str(caught.value) for word in ("pool.special", "pool.capacity", "files.dedup"))
    assert "did you mean" not in str(caught.value)


def test_wrong_values_and_settings_are_named_together():
    with pytest.raises(UserError) as caught:
        scenario.of({"pool": {"data": {"sheet": "savvio-10k2"}, "fill": 0.7}, "files": {"kind": "ext4"},
                     "database": {"script": "mine.sql", "conf": {"wal_segment_size": "64MB"}}})
    assert all(word in str(caught.value) for word in
               ("fragmentation is left out", "ext4", "mine.sql", "[database.script]", "wal_segment_size"))


@pytest.mark.parametrize(("database", "version"), [
    ({"kind": "mysql", "version": "8.0"}, "8.0"), ({"kind": "mariadb"}, "5.7"),
    ({"kind": "mariadb", "version": 10.2}, "5.7"), ({"kind": "mariadb", "version": "10.10"}, "5.7"),
    ({"kind": "mariadb", "version": "10.11.4"}, "5.7"), ({"kind": "mariadb", "version": "10.1"}, "5.6"),
    ({"kind": "mariadb", "version": 5.5}, "5.5"), ({"kind": "mariadb", "version": 11}, "5.7")])
def test_mariadb_is_the_innodb_that_it_has(database, version):
    taken = scenario.of(DISK | {"database": database}).database
    assert (taken.kind, taken.version) == ("innodb", version)


@pytest.mark.parametrize(("version", "settings", "expected"), [
    ("10.4", {}, {"log_file_bytes": 48 * 2**20, "n_log_files": 2, "change_buffering": 1, "sync_binlog": 0}),
    ("10.6", {}, {"log_file_bytes": 48 * 2**20, "n_log_files": 2, "change_buffering": 0, "max_dirty_pages_pct": 90}),
    ("10.6", {"innodb-log-file-size": "1G", "innodb_log_files_in_group": 4},
     {"log_file_bytes": 2**29, "n_log_files": 2, "sync_binlog": 0}),
    ("10.6", {"innodb_change_buffering": "all", "sync_binlog": 1}, {"change_buffering": 1, "sync_binlog": 1}),
    ("11.4", {"innodb_change_buffering": "all"}, {"change_buffering": 0}),
    ("10.4", {"innodb_buffer_pool_size": "4G"}, {"lru_scan_depth": 8 * 1024}),      # eight instances of 1024 pages
    ("10.5", {"innodb_buffer_pool_size": "4G"}, {"lru_scan_depth": 1536}),          # a single one
    ("10.6", {"innodb_buffer_pool_size": "4G", "innodb_buffer_pool_instances": 4, "innodb_lru_scan_depth": 500},
     {"lru_scan_depth": 500})])
def test_mariadb_has_its_own_defaults_and_one_log_file(version, settings, expected):
    machine = scenario.of(DISK | {"database": {"kind": "mariadb", "version": version, "conf": settings}})
    made = servers.innodb_settings(machine, machines.known([machine], "sysbench").central(), 100)
    assert {name: getattr(made, name) for name in expected} == expected


def test_instances_of_a_large_buffer_pool_clean_their_lists_each():
    settings = {"innodb_buffer_pool_size": "4G", "innodb_buffer_pool_instances": 4}
    machine = scenario.of(DISK | {"database": {"kind": "mysql", "version": "8.0", "conf": settings}})
    made = servers.innodb_settings(machine, machines.known([machine], "sysbench").central(), 100)
    assert made.lru_scan_depth == 4 * 1024


@pytest.mark.parametrize(("version", "system", "era"), [
    ("10.1", "linux", "openzfs_2013"), ("10.6.12", "linux", "openzfs_2021"), ("10.11", "linux", "openzfs_2021"),
    (11.4, "linux", "openzfs"), (None, "linux", "openzfs"), ("10.6", "freebsd", "openzfs_2019"),
    ("5.5", "linux", "openzfs_2013"), ("10.6", "solaris", "b111")])
def test_the_zfs_of_mariadb_is_of_its_own_time_and_not_of_that_mysql(version, system, era):
    database = {"kind": "mariadb"} | ({"version": version} if version else {})
    content = DISK | {"host": {"system": system}, "database": database}
    machine = scenario.of(content)
    assert machine.files.era == era
    assert f"the likeliest for mariadb{f' {version}' if version else ''} on {system}" in predict.era_taken(content, machine)


@pytest.mark.parametrize(("database", "word"), [
    ({"kind": "mariadb", "version": 10.1}, 'write version = "10.1" or version = "10.10"'),
    ({"kind": "postgres", "version": 9.7}, "choose 9.6 or 10"), ({"kind": "postgres", "version": 8.5}, "choose 8.4 or 9.0"),
    ({"kind": "postgres", "clients": 200, "conf": {"max_connections": "100"}}, "max_connections is 100"),
    ({"kind": "innodb", "clients": 200, "conf": {"max_connections": 151}}, "max_connections is 151"),
    ({"kind": "postgres", "version": 16, "conf": {"max_wal_size": "1MB"}}, "must be from 32MB;"),
    ({"kind": "postgres", "conf": {"wal_buffers": "4GB"}}, "must be from 32kB to 2GB;")])
def test_what_no_server_is_or_takes_is_refused_with_what_to_write(database, word):
    with pytest.raises(UserError) as caught:
        scenario.of(DISK | {"database": database})
    assert word in str(caught.value)


@pytest.mark.parametrize(("sync", "disabled", "always"), [("standard", 0, 0), ("disabled", 1, 0), ("always", 0, 1)])
def test_sync_is_said_as_zfs_says_it(sync, disabled, always):
    machine = scenario.changed(POSTGRES, {"files.era": "b141", "files.sync": sync})
    settings = machines.zfs_settings(machine, machines.known([machine]).central())
    assert (settings.zil_disabled, settings.sync_always) == (disabled, always)


@pytest.mark.parametrize(("clients", "n_ios"), [(8, machines.IOS), (10_000, machines.IOS // 2 + 80_000)])
def test_each_client_may_read_from_every_disk_of_raid_z_at_once(clients, n_ios):
    machine = scenario.changed(POSTGRES, {"database.clients": clients, "pool.data": {
        "sheet": "savvio-10k2", "layout": "raidz2", "count": 8}})
    assert machines.zfs_settings(machine, machines.known([machine]).central()).n_ios == n_ios


def test_sync_disabled_is_what_zil_disable_was():
    values = machines.known([POSTGRES]).central()
    by_property, by_tunable = (scenario.changed(POSTGRES, change) for change in
                               ({"files.sync": "disabled"}, {"files.zil": False}))
    assert machines.zfs_settings(by_property, values) == machines.zfs_settings(by_tunable, values)


@pytest.mark.parametrize(("keys", "bytes_of_tables", "bytes_of_log", "own"), [
    ({}, 8192, 8192, 0), ({"era": "openzfs"}, 16_384, 16_384, 0), ({"volblocksize_kib": 0.5}, 512, 512, 0),
    ({"volblocksize_kib": 64, "log_volblocksize_kib": 4}, 65_536, 4096, 1)])
def test_a_zvol_has_blocks_as_its_release_makes_them_or_as_it_is_said(keys, bytes_of_tables, bytes_of_log, own):
    machine = scenario.of(DISK | {"files": {"kind": "zvol"} | keys, "database": {"kind": "postgres"}})
    settings = machines.zfs_settings(machine, machines.known([machine]).central())
    assert (settings.on_zvol, settings.own_log_system) == (1, own)
    assert (settings.record_bytes, settings.log_record_bytes) == (bytes_of_tables, bytes_of_log)


def test_a_zvol_is_changed_and_compared_by_its_own_keys():
    zvol = scenario.of(DISK | {"files": {"kind": "zvol"}, "database": {"kind": "postgres"}})
    wider = scenario.changed(zvol, {"files.volblocksize_kib": 32})
    assert scenario.differences(zvol, wider) == {"files.volblocksize_kib": (8, 32)}
    with pytest.raises(UserError, match="files: record_kib is 8, but kind is zvol"):
        scenario.changed(zvol, {"files.record_kib": 8})


def test_a_guest_can_write_half_a_page_whatever_the_block_of_its_zvol():
    torn = {"files": {"kind": "zvol", "volblocksize_kib": 8}, "database": {"kind": "postgres", "version": 8.3,
                                                                           "conf": {"full_page_writes": False}}}
    assert any("pages can be torn" in danger for danger in power_cut_risks.dangers(scenario.of(DISK | torn)))


def test_a_scenario_of_ours_is_found_by_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert scenario.read(scenario.named(Path("nvme-mirror"))).title
    (tmp_path / "nvme-mirror").write_text("")
    assert scenario.named(Path("nvme-mirror")) == Path("nvme-mirror")
    with pytest.raises(UserError, match="did you mean 'nvme-mirror'"):
        scenario.toml(Path("nvme-miror"))


def test_a_file_that_is_none_is_one_sentence(tmp_path):
    (tmp_path / "a.toml").write_text("[host\n")
    for name in ("a.toml", "b.toml"):
        with pytest.raises(UserError):
            scenario.read(tmp_path / name)


def test_a_change_is_what_differs():
    changes = {"files.record_kib": 8, "pool.data.count": 2, "database.conf.full_page_writes": False}
    machine = scenario.changed(POSTGRES, changes)
    differences = scenario.differences(POSTGRES, machine)
    assert {path: after for path, (_, after) in differences.items()} == changes
    assert scenario.differences(machine, machine) == {}


def test_a_part_can_be_taken_away():
    with_log = scenario.changed(POSTGRES, {"pool.log.sheet": "x25-e"})
    assert scenario.changed(with_log, {"pool.log": None}) == POSTGRES


def test_capacity_is_that_of_the_layout():
    disk_bytes = scenario_storage.sheet("savvio-10k2").params.disk_bytes
    for layout, count, width, disks in (("stripe", 6, None, 6), ("mirror", 6, 2, 3), ("mirror", 3, None, 1),
                                        ("raidz1", 6, 3, 4), ("raidz2", 6, None, 4), ("raidz3", 8, 4, 2)):
        devices = scenario_storage.Devices(sheet="savvio-10k2", layout=layout, count=count, width=width)
        assert devices.usable_bytes == disks * disk_bytes


@given(st.integers(1, 2**40), st.sampled_from(["B", "kB", "MB", "GB"]))
def test_sizes_are_powers_of_1024(number, unit):
    assert conf.size(f"{number}{unit}") == number * 1024 ** ["B", "kB", "MB", "GB"].index(unit)


@pytest.mark.parametrize(("database", "host", "era", "compresses"), [
    ({"kind": "postgres"}, {}, "b111", False),
    ({"kind": "postgres", "version": 9.2}, {"system": "linux"}, "openzfs_2013", False),
    ({"kind": "postgres", "version": 9.6}, {}, "openzfs_2013", False),
    ({"kind": "postgres", "version": 9.6}, {"system": "solaris"}, "b111", False),
    ({"kind": "postgres", "version": 11}, {}, "openzfs_2017", True),
    ({"version": 16}, {}, "openzfs", True),
    ({"kind": "innodb"}, {}, "b111", False),
    ({"kind": "innodb", "version": "5.4.2"}, {}, "b111", False),
    ({"kind": "innodb", "version": "8.0"}, {}, "openzfs_2021", True),
    ({"kind": "oracle"}, {}, "b111", False),
    ({"kind": "postgres", "version": 12}, {"system": "freebsd"}, "openzfs_2017", True),
    ({"kind": "postgres", "version": 14}, {"system": "freebsd"}, "openzfs_2019", True),
    ({"kind": "innodb", "version": "8.4"}, {"system": "freebsd"}, "openzfs", True),
])
def test_an_era_that_is_left_out_is_of_the_databases_time(database, host, era, compresses):
    for files in ({}, {"files": {"record_kib": 8}}):
        machine = scenario.of(DISK | files | {"database": database, "host": host})
        assert (machine.files.era, machine.files.holds_compressed) == (era, compresses)
        assert scenario.of(machine.model_dump()) == machine


@pytest.mark.parametrize("compressed", [None, True, False])
def test_records_are_held_compressed_as_it_is_said_or_by_the_era_whenever_that_is_changed(compressed):
    for era, compresses in (("b141", False), ("openzfs", True)):
        machine = scenario.changed(scenario.changed(POSTGRES, {"files.compressed_arc": compressed}), {"files.era": era})
        assert machine.files.holds_compressed == (compresses if compressed is None else compressed)


@pytest.mark.parametrize(("database", "system"), [
    ({"kind": "innodb"}, "solaris"), ({"kind": "innodb", "version": "5.6"}, "linux"), ({"version": 9.4}, "linux"),
    ({"version": 9.2}, "solaris"), ({"kind": "oracle"}, "solaris"),
])
def test_a_system_that_is_left_out_has_the_file_system_that_is_taken(database, system):
    machine = scenario.of(DISK | {"database": {"kind": "postgres"} | database})
    assert servers.system(machine) == system
    assert machine.files.era.startswith("openzfs") == (system == "linux")


def test_an_era_that_is_given_stays():
    assert scenario.of(DISK | {"files": {"era": "b141"}, "database": {"version": 16}}).files.era == "b141"


@pytest.mark.parametrize(("entry", "word", "nearest"), [
    ("layout", "raid10", "write mirror with width = 2"), ("layout", "draid2:4d:8c", "dRAID is not simulated"),
    ("primarycache", "none", "nearest is metadata")])
def test_a_value_that_is_known_and_not_simulated_has_what_comes_nearest(entry, word, nearest):
    assert nearest in not_simulated.of_value(entry, word)


def test_all_values_that_are_wrong_are_told_at_once():
    with pytest.raises(ValueError, match=r"fsync is 'maybe'.*; shared_buffers is 'x'"):
        conf.check("postgres", {"fsync": "maybe", "shared_buffers": "x"})
