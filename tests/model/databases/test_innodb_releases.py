"""MySQL from 5.5 on: the page cleaner's rules, the change buffer, commits that share the binary log, sysbench 1.0, and a
pool as hours of work leave it."""

import json

import numpy as np
import pytest

from model.databases.innodb import columns as inno
from model.databases.innodb.binlog import events_bytes
from model.databases.innodb.buffer_pool import change, oldest_change
from model.databases.innodb.page_cleaner import n_to_clean
from model.databases.innodb.start import start
from model.databases.innodb.state import AT_WORK, MAX_HISTORY, WARM, Settings, log_limits, settings_of
from model.databases.innodb.sysbench import DELETE, INSERT, UPDATE_C, UPDATE_K, Cpu, draws_of, ids_of, oltp
from model.databases.innodb.tables import PAGE_BYTES, ROW_BYTES, is_entry_leaf, new_table, random_leaf_of
from model.events.clock import MS, SECOND_NS
from model.simulations.database_server import on_device, simulate_innodb
from study.errors import UserError
from study.machines import scenario, servers
from study.machines import simulate as machines
from support.processes import interpreted

CPU = Cpu(40_000, 15_000, 1_000, 100_000, 20_000)
WRITES = {"point_selects": 0, "ranges": (0, 0, 0, 0), "version": "1.0"}
DEVICE = {"read_ns": 100_000, "write_ns": 20_000, "wal_sync_ns": MS}


def run(n_rows=10**6, version="8.0", device=None, seed=0, test=None, **conf):
    chosen = {"n_clients": 1, "n_transactions": 300, "buffer_pool_bytes": 2**28, "start": WARM,
              "log_file_bytes": 2**26} | conf
    return simulate_innodb(oltp(n_rows, CPU, **WRITES | (test or {})), settings_of(version, **chosen),
                           on_device(**device or DEVICE), seed)


# ---- sysbench 1.0 ----


def test_from_0_5_on_what_is_deleted_is_not_updated_before():
    test = oltp(10**4, CPU, **WRITES)
    assert test.statements[1:-1, inno.KIND].tolist() == [UPDATE_K, UPDATE_C, DELETE, INSERT]
    assert test.statements[1:-1, inno.ID].tolist() == [0, 1, 2, 2]
    assert (oltp(10**4, CPU).k_is_random, test.k_is_random) == (0, 1)


def test_entries_of_rows_that_are_neighbours_lie_anywhere_and_each_insert_draws_anew():
    table = new_table(10**6, 1)
    leaves = np.array([random_leaf_of(table, row, n) for row in range(20_000) for n in (0, 1)]) - table.first_low
    assert (leaves.min(), leaves.max()) == (0, table.n_low - 1)
    counts = np.bincount(leaves, minlength=table.n_low)
    assert counts.var() == pytest.approx(counts.mean(), rel=0.25)
    assert abs(np.corrcoef(leaves[:-2:2], leaves[2::2])[0, 1]) < 0.03
    assert abs(np.corrcoef(leaves[::2], leaves[1::2])[0, 1]) < 0.03


def zipf(k):
    """Share of the first `k` of a million ids that are wanted as K^-0.8."""
    chances = np.arange(1.0, 1e6 + 1) ** -0.8
    return chances[:k].sum() / chances.sum()


@pytest.mark.parametrize(("distribution", "share", "part"), [("pareto", 0.2, 0.8), ("zipfian", 0.01, zipf(10**4)),
                                                            ("zipfian", 1e-6, zipf(1)), ("zipfian", 1e-3, zipf(1000))])
def test_skewed_ids_are_most_often_the_first_ones(distribution, share, part):
    ids = ids_of(oltp(10**6, CPU, distribution=distribution), 200_000, draws_of(1))
    assert ids.min() >= 1
    assert (ids <= share * 10**6).mean() == pytest.approx(part, abs=0.003)


def test_one_update_of_k_needs_two_pages_wherever_its_entry_is():
    x = run(n_transactions=2000, test={"non_index_updates": 0, "index_updates": 1})
    assert x.counts["accesses"] == pytest.approx(2000 * 6 + 1, abs=2001)  # and undo, once for a transaction


# ---- the change buffer ----


def entry_reads(change_buffering):
    """Reads of a pool that holds a twentieth of the pages."""
    x = run(8 * 10**6, n_transactions=3000, buffer_pool_bytes=2**24, change_buffering=change_buffering)
    return x.counts["reads"] / 3000, x.machine


def test_what_is_buffered_is_not_read():
    """Three leaves of the index on k a transaction, if nearly none is here, and pages of rows that they push out."""
    with_buffer, m = entry_reads(1)
    without, _ = entry_reads(0)
    assert 2.8 < without - with_buffer < 3.8
    assert is_entry_leaf(m.table, m.table.first_low)
    assert not is_entry_leaf(m.table, m.table.n_leaves - 1)
    assert not is_entry_leaf(m.table, m.table.first_undo)


# ---- the page cleaner ----


def with_dirty(n_dirty, log_between, **conf):
    """A machine whose dirty pages were first changed so many B of log apart; rates 0."""
    s = settings_of("8.4", n_clients=1, n_transactions=1, start=WARM, log_file_bytes=2**26, buffer_pool_bytes=2**26, **conf)
    m, _ = start(oltp(10**6, CPU, **WRITES), s)
    for frame in range(1, n_dirty + 1):
        change(m, frame, m.log[inno.MADE])
        m.log[inno.MADE] += log_between
    return m


@pytest.mark.parametrize(("n_dirty", "log_between"), [(100, 0), (2000, 0), (500, 10_000), (1000, 60_000), (1000, 100_000)])
def test_how_many_pages_are_flushed_is_what_dirty_pages_or_the_age_ask_for(n_dirty, log_between):
    m = with_dirty(n_dirty, log_between)
    limits, capacity, max_pages = log_limits(m.s), 10_000, 20_000
    age, dirty_pct = m.log[inno.MADE] - oldest_change(m), 100 * n_dirty / (len(m.frames.page) - 1)
    by_dirty = 100 * dirty_pct / 91 if dirty_pct >= 10 else 0
    by_age = max_pages / capacity * (100 * age / limits[0]) ** 1.5 / 7.5 if age >= limits[4] / 10 else 0
    assert n_to_clean(m) == min(max_pages, int(capacity * max(by_dirty, by_age) / 100 / 3))


def test_rates_of_thirty_seconds_count_a_third_each():
    m = with_dirty(100, 1000)
    m.history[inno.PAGES, :] = 600
    m.history[inno.REDO, :MAX_HISTORY // 2] = 2 * 50_000  # on average what fifty of the pages are
    assert n_to_clean(m) == (600 + 50) // 3


def test_without_a_mark_nothing_is_flushed_for_dirty_pages_below_the_limit():
    assert n_to_clean(with_dirty(2000, 0, max_dirty_pages_pct_lwm=0.0)) == 0
    assert n_to_clean(with_dirty(2000, 0, max_dirty_pages_pct_lwm=0.0, max_dirty_pages_pct=20.0)) == 3333


def test_the_cleaner_keeps_the_log_from_its_end():
    """A log of 16 MB filled several times: nobody has to wait, and the age is not where all is flushed."""
    x = run(n_clients=8, n_transactions=10**6, duration_ns=40 * SECOND_NS, log_file_bytes=2**23, version="8.4")
    m = x.machine
    assert m.log[inno.MADE] > 4 * 2**24
    assert x.counts["log_stalls"] == 0
    assert x.counts["list_writes"] > 0
    assert m.log[inno.MADE] - oldest_change(m) < m.limits[0]


# ---- the binary log ----


@pytest.mark.parametrize(("conf", "syncs"), [({"log_bin": 0}, 1), ({"sync_binlog": 1}, 2), ({"sync_binlog": 0}, 1),
                                             ({"sync_binlog": 10}, 1.1), ({"flush_log_at_trx_commit": 2}, 1)])
def test_one_client_waits_for_the_log_and_for_the_binary_log(conf, syncs):
    x = run(n_transactions=400, **conf)
    assert x.counts["flushes"] == pytest.approx(400 * syncs, abs=2)
    min_ms = syncs * DEVICE["wal_sync_ns"] / MS
    assert min_ms < x.response_ns.mean() / MS < min_ms + 1


def test_events_are_rows_before_and_after():
    test = oltp(10**4, CPU, **WRITES)
    assert events_bytes(test) == 200 + 2 * (100 + 2 * 190) + 2 * (100 + 190)
    assert ROW_BYTES * 0.9 < 190
    x, y = (run(n_transactions=500, log_bin=log_bin) for log_bin in (1, 0))
    assert x.counts["wal_bytes"] - y.counts["wal_bytes"] == pytest.approx(500 * events_bytes(test), rel=0.2)


@pytest.mark.parametrize("sync_binlog", [0, 1])
def test_commits_of_many_clients_share_their_syncs(sync_binlog):
    alone, crowded = (run(n_clients=n, n_transactions=300 * n, sync_binlog=sync_binlog, n_rows=10**6) for n in (1, 32))
    assert crowded.tps > 10 * alone.tps
    assert crowded.counts["flushes"] < 0.3 * crowded.counts["commits"]
    assert crowded.machine.log[inno.STABLE] >= crowded.machine.log[inno.MADE] - 32 * 1000


def test_two_groups_are_under_way_at_a_time():
    """One in each stage: with many clients a group takes one sync, not two."""
    x = run(n_clients=64, n_transactions=20_000, device=DEVICE | {"wal_sync_ns": 5 * MS})
    groups_a_second = x.counts["flushes"] / 2 / x.seconds
    assert groups_a_second == pytest.approx(1 / 0.005, rel=0.12)


# ---- a pool as hours leave it ----


def dirty_share(m):
    return m.pool[inno.N_DIRTY] / m.pool[inno.N_USED]


@pytest.mark.slow
@pytest.mark.parametrize(("version", "conf"), [
    ("8.4", {"io_capacity": 200}), ("8.4", {"io_capacity": 100, "io_capacity_max": 100, "max_dirty_pages_pct": 30.0}),
    ("5.4.2", {"io_capacity": 400, "log_file_bytes": 2**24}), ("5.4.0", {"max_dirty_pages_pct": 20.0})])
def test_it_begins_with_what_a_long_run_from_clean_pages_ends_with(version, conf):
    """As many dirty pages, at the rate of that run, as old the oldest; of a pool that turns over in many seconds."""
    both = {"n_clients": 4, "buffer_pool_bytes": 2**27, "log_bin": 0, "log_file_bytes": 2**26, **conf}
    fast = DEVICE | {"write_ns": 2000, "fsync_ns": 100_000}
    long = run(4 * 10**6, version, fast, n_transactions=10**6, duration_ns=100 * SECOND_NS, **both)
    at_work = both | {"start": AT_WORK, "transactions_a_second": int(long.tps), "n_transactions": 1}
    begun = start(oltp(4 * 10**6, CPU, **WRITES), settings_of(version, **at_work))[0]
    assert dirty_share(begun) == pytest.approx(dirty_share(long.machine), rel=0.15, abs=0.02)
    assert dirty_share(begun) > 0.03
    ages = [m.log[inno.MADE] - oldest_change(m) for m in (begun, long.machine)]
    assert ages[0] == pytest.approx(ages[1], rel=0.3)


def test_a_run_at_work_has_room_in_its_log_and_nothing_counted():
    s = Settings(2, 1, start=AT_WORK, transactions_a_second=500, buffer_pool_bytes=2**26, log_file_bytes=2**22,
                 n_log_files=2)
    m, _ = start(oltp(10**6, CPU), s)
    assert m.log[inno.MADE] == m.log[inno.STABLE]
    assert m.log[inno.MADE] - oldest_change(m) <= m.limits[0]
    assert not m.counts.any()
    dirty = m.frames.flags & 1 > 0
    assert dirty.sum() == m.pool[inno.N_DIRTY] > 0
    assert (m.pages.is_on_disk[m.frames.page[~dirty]][1:] == 1).all()
    assert m.pool[inno.N_USED] * PAGE_BYTES <= 2**26


def test_a_run_needs_to_know_how_fast_the_hours_before_were():
    with pytest.raises(ValueError, match="transactions_a_second is 0, but must be at least 1; choose"):
        run(start=AT_WORK)


# ---- releases ----


def test_releases_differ_where_the_manuals_say_so():
    of = {version: settings_of(version, 1, 1) for version in ("5.5", "5.6", "5.7", "8.0", "8.4")}
    assert [s.page_cleaner for s in of.values()] == [0, 1, 1, 1, 1]
    assert [s.change_buffering for s in of.values()] == [1, 1, 1, 1, 0]
    assert [s.flush_neighbors for s in of.values()] == [1, 1, 1, 0, 0]
    assert [s.log_bin for s in of.values()] == [0, 0, 0, 1, 1]
    assert [s.sync_binlog for s in of.values()] == [0, 0, 1, 1, 1]
    assert [s.io_capacity_max for s in of.values()] == [2000, 2000, 2000, 2000, 20_000]


@pytest.mark.parametrize(("asked", "expected"), [(200, 2000), (5000, 10_000)])
def test_the_greatest_io_capacity_follows_the_capacity(asked, expected):
    assert settings_of("8.0", 1, 1, io_capacity=asked).io_capacity_max == expected
    assert settings_of("8.0", 1, 1, io_capacity=asked, io_capacity_max=7777).io_capacity_max == 7777
    assert settings_of("8.0", 1, 1, buffer_pool_bytes=2**30).lru_scan_depth == 8 * settings_of("8.0", 1, 1).lru_scan_depth


@pytest.mark.slow
def test_defects_are_noticed():
    assert json.loads(interpreted("defects.innodb_releases")) == ["none"]


def scenario_of(**database):
    return scenario.of({"pool": {"data": {"sheet": "x25-e"}}, "database": {"kind": "innodb", "write_only": True} | database})


def test_a_release_costs_more_and_its_factor_is_drawn_for_those_that_are_not_of_the_slides():
    old, new = scenario_of(version="5.4.2"), scenario_of(version="8.0", sysbench="0.4")
    known = {machine.database.version: machines.known([machine], "sysbench") for machine in (old, new)}
    has = {version: "release_power" in unknowns.central() for version, unknowns in known.items()}
    assert has == {"5.4.2": False, "8.0": True}
    values = known["8.0"].central()
    cost = [servers.innodb_test(machine, values).statements[:, -1].sum() for machine in (old, new)]
    assert 1.5 < cost[1] / cost[0] < 2
    assert servers.innodb_test(new, values | {"release_power": 0.0}).statements.tolist() == servers.innodb_test(
        old, values).statements.tolist()


@pytest.mark.parametrize(("version", "program", "k_is_random"), [
    ("5.4.0", None, 0), ("5.5", None, 0), ("5.6", None, 1), ("8.4", None, 1), ("8.4", "0.4", 0), ("5.4.2", "1.0", 1)])
def test_which_sysbench_is_taken_goes_by_the_release_unless_it_is_said(version, program, k_is_random):
    machine = scenario_of(version=version, sysbench=program)
    assert servers.innodb_test(machine, machines.known([machine], "sysbench").central()).k_is_random == k_is_random


def test_at_work_and_the_rate_of_the_hours_before_go_together():
    with pytest.raises(UserError, match="go together"):
        scenario_of(start="at work")
