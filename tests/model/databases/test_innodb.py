"""InnoDB under sysbench: against its naive twin, against queueing theory and against closed forms."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.databases.innodb import columns as inno
from model.databases.innodb.redo_log import after
from model.databases.innodb.start import start
from model.databases.innodb.state import (
    AS_LOADED,
    COLD,
    NO_SYNC,
    O_DSYNC,
    WARM,
    Settings,
    log_limits,
    n_frames_of,
    settings_of,
)
from model.databases.innodb.stats import COUNTS
from model.databases.innodb.sysbench import DELETE, INSERT, READ, UPDATE_C, UPDATE_K, Cpu, draws_of, ids_of, oltp
from model.databases.innodb.tables import (
    LOG_BEGIN,
    LOG_COMMIT,
    LOG_DELETE,
    LOG_INSERT,
    LOG_PREPARE,
    LOG_UPDATE_C,
    LOG_UPDATE_K,
    PAGE_BYTES,
    SECONDARY_INSERT,
    SECONDARY_MARK,
    leaf_of,
    new_table,
)
from model.events.clock import MS, SECOND_NS
from model.events.servers import typed
from model.simulations.database_server import innodb_files, innodb_processes, on_device
from model.simulations.database_server import simulate_innodb as simulate
from support.processes import interpreted
from support.queueing_theory import repairman_with_batches
from twins.innodb import Twin, end_of_record, reads_of_a_midpoint_list

CPU = Cpu(40_000, 15_000, 1_000, 100_000, 20_000)
POINTS = {"ranges": (0, 0, 0, 0), "read_only": True}
NEVER_FULL = {"buffer_pool_bytes": 2**28, "start": WARM}
examples = settings(deadline=None, derandomize=True, max_examples=60)


def run(n_rows=10**5, cpu=CPU, test=None, device=None, seed=0, **s):
    """A run of so many `n_transactions`, by default of one client."""
    chosen = NEVER_FULL | {"n_clients": 1, "n_transactions": 200} | s
    return simulate(oltp(n_rows, cpu, **(test or {})), Settings(**chosen), on_device(**(device or {})), seed)


def cpu_ns(test):
    return int(test.statements[:, -1].sum())


# ---- sysbench ----


def test_a_transaction_has_14_reads_and_5_writes_as_sysbench_reports():
    kinds = oltp(10**4, CPU).statements[:, inno.KIND].tolist()
    assert (kinds.count(READ), kinds.count(UPDATE_K), kinds.count(UPDATE_C), kinds.count(DELETE), kinds.count(INSERT)) == (
        14, 2, 1, 1, 1)
    assert oltp(10**4, CPU, read_only=True).statements[:, inno.KIND].tolist() == [0, *[READ] * 14, 0]


def test_update_delete_and_insert_are_of_one_row_and_all_others_of_rows_of_their_own():
    ids = oltp(10**4, CPU).statements[1:-1, inno.ID].tolist()
    assert ids == [*range(17), 16, 16]


def gaussian_share(low, high):
    """Of ids drawn as gaussian: between these parts of the table."""
    sigma = 1 / 12
    return (math.erf((high - 0.5) / sigma / 2**0.5) - math.erf((low - 0.5) / sigma / 2**0.5)) / 2


@pytest.mark.parametrize(("res", "pct"), [(75, 1), (50, 1), (75, 5), (90, 0.2), (0, 1)])
def test_special_sends_a_share_of_the_ids_to_a_few_rows_in_the_middle(res, pct):
    n, n_rows = 200_000, 10**6
    ids = ids_of(oltp(n_rows, CPU, dist_res=res, dist_pct=pct), n, draws_of(5)) / n_rows
    low, high = 0.5 - pct / 200, 0.5 + pct / 200
    outer = 1 / (100 // (100 - res))
    expected = 1 - outer + outer * gaussian_share(low, high)
    noise = 4 * (expected * (1 - expected) / n) ** 0.5 + 1e-5
    assert ((low <= ids) & (ids < high)).mean() == pytest.approx(expected, abs=noise)
    beyond = outer * (1 - gaussian_share(0.4, 0.6))
    assert (abs(ids - 0.5) > 0.1).mean() == pytest.approx(beyond, rel=0.03)


def test_gaussian_and_uniform_have_their_moments():
    for distribution, sigma in (("gaussian", 1 / 12), ("uniform", 1 / 12**0.5)):
        ids = ids_of(oltp(10**5, CPU, distribution=distribution), 100_000, draws_of(1)) / 10**5
        assert ids.mean() == pytest.approx(0.5, abs=0.005)
        assert ids.std() == pytest.approx(sigma, rel=0.01)


# ---- tables and log ----


def test_ten_million_rows_are_two_gigabytes_in_a_tree_of_three_levels():
    """206 B a row; 1 / (15/16 of what a page holds) more."""
    table = new_table(10**7)
    assert table.rows_per_leaf == 73
    assert table.height == 3
    assert 1.03 < table.n_leaves * PAGE_BYTES / (10**7 * 206) < 1.10
    assert table.n_inner < 0.01 * table.n_leaves


@examples
@given(st.integers(0, 3000), st.integers(0, 3000))
def test_a_record_ends_where_it_does_byte_by_byte(block_byte, n_bytes):
    place = 512 * 7 + 12 + block_byte % 496
    assert after(place, n_bytes) == end_of_record(place, n_bytes)


def redo_of_a_transaction(log_bin=0):
    """An update of k marks one entry and inserts another; the delete marks one, the insert takes a mark away."""
    clustered = 2 * LOG_UPDATE_K + LOG_UPDATE_C + LOG_DELETE + LOG_INSERT
    return clustered + LOG_BEGIN + LOG_COMMIT + LOG_PREPARE * log_bin + 4 * SECONDARY_MARK + 2 * SECONDARY_INSERT


@pytest.mark.slow
@pytest.mark.parametrize("log_bin", [0, 1])
def test_each_transaction_logs_the_same_and_commits_write_whole_blocks(log_bin):
    x = run(n_transactions=300, log_bin=log_bin)
    assert x.counts["log_bytes"] == 300 * redo_of_a_transaction(log_bin)
    assert x.counts["wal_bytes"] % 512 == 0
    n_blocks = x.counts["log_bytes"] / 496
    assert n_blocks <= x.counts["wal_bytes"] / 512 <= n_blocks + 2 * x.counts["wal_calls"]


@pytest.mark.slow
def test_who_only_reads_logs_nothing_and_waits_for_no_flush():
    x = run(test={"read_only": True}, device={"wal_sync_ns": 10**12, "write_ns": 10**12})
    assert x.counts["log_bytes"] == x.counts["flushes"] == 0
    assert set(x.response_ns.tolist()) == {cpu_ns(x.machine.test)}


@pytest.mark.parametrize(("conf", "waits_ns"), [
    ({}, 30_000 + 4 * MS), ({"flush_log_at_trx_commit": 2}, 30_000), ({"flush_log_at_trx_commit": 0}, 0),
    ({"flush_method": O_DSYNC}, 3 * MS), ({"flush_method": NO_SYNC}, 30_000), ({"log_bin": 1}, 2 * (30_000 + 4 * MS))])
def test_a_commit_waits_for_what_its_durability_asks_for(conf, waits_ns):
    """One client; no second passes."""
    x = run(n_transactions=50, device={"write_ns": 30_000, "wal_ns": 3 * MS, "wal_sync_ns": 4 * MS}, **conf)
    assert set(x.response_ns.tolist()) == {cpu_ns(x.machine.test) + waits_ns}


def test_what_is_not_flushed_at_commit_is_flushed_once_a_second():
    x = run(n_transactions=2000, flush_log_at_trx_commit=0)
    assert x.counts["flushes"] == int(x.seconds)


# ---- clients, locks and group commit ----


@examples
@given(st.data())
def test_transactions_commit_when_those_of_the_naive_twin_do(data):
    pick = lambda *values: data.draw(st.sampled_from(values))  # noqa: E731
    test = oltp(pick(110, 150, 1000, 100_000), Cpu(*[pick(0.0, 3000.0, 8000.0) for _ in range(5)]),
                point_selects=pick(0, 2), ranges=(0, 0, 1, 0), distribution=pick("special", "uniform"))
    s = typed(Settings(
        data.draw(st.integers(1, 9)), data.draw(st.integers(1, 40)), wire_ns=pick(500, 1000, 7000),
        n_cpus=data.draw(st.integers(1, 4)), handoff_ns=pick(0, 3000), spread_cpu=pick(0, 1),
        thread_concurrency=pick(0, 1, 3), flush_log_at_trx_commit=pick(1, 1, 2, 0), log_bin=pick(0, 0, 1),
        flush_after_binlog=pick(0, 1), **NEVER_FULL))
    write_ns, sync_ns, seed = pick(0, 20_000), pick(0, 100_000, 500_000), pick(1, 2, 3)
    twin = Twin(test, s, write_ns, sync_ns, seed)
    x = simulate(test, s, on_device(write_ns=write_ns, wal_sync_ns=sync_ns), seed)
    assert list(zip(x.ended_at.tolist(), x.response_ns.tolist(), strict=True)) == twin.run()
    assert x.counts["deadlocks"] == twin.n_deadlocks


def test_few_rows_make_deadlocks_and_many_make_none():
    runs = [run(n_rows, n_clients=20, n_cpus=20, n_transactions=3000, test={"distribution": "uniform"}).counts
            for n_rows in (101, 1000, 10**5)]
    waits, deadlocks = ([counts[kind] for counts in runs] for kind in ("lock_waits", "deadlocks"))
    assert waits[0] > waits[1] > waits[2]
    assert deadlocks[0] > 10 * deadlocks[1] >= 10 * deadlocks[2] == 0


@pytest.mark.parametrize(("n", "flush_us"), [(1, 1000), (4, 3000), (10, 500), (16, 4000)])
def test_group_commit_is_the_machine_repairman_with_batches(n, flush_us):
    """Transactions of exponential CPU time, a CPU for each: they think; then they share flushes."""
    x = run(10**6, n_clients=n, n_cpus=n, n_transactions=20_000, spread_cpu=1, device={"wal_sync_ns": flush_us * 1000})
    think = cpu_ns(x.machine.test) * 1e-9
    assert x.tps == pytest.approx(repairman_with_batches(n, think, flush_us * 1e-6)[0], rel=0.02)


@pytest.mark.parametrize("flush_after_binlog", [0, 1])
def test_with_a_binary_log_one_transaction_at_a_time_commits_until_the_plugin(flush_after_binlog):
    x = run(10**6, n_clients=30, n_cpus=30, n_transactions=3000, log_bin=1, flush_after_binlog=flush_after_binlog,
            device={"wal_sync_ns": 2 * MS})
    assert (x.tps < 500) == (not flush_after_binlog)
    assert (x.counts["flushes"] > 3000) == (not flush_after_binlog)


@pytest.mark.parametrize(("n_clients", "n_cpus"), [(1, 4), (3, 4), (8, 4), (40, 4)])
def test_throughput_keeps_the_asymptotic_bounds_and_comes_near(n_clients, n_cpus):
    """min(n / D, CPUs / D), Little's law for the response times."""
    x = run(10**6, n_clients=n_clients, n_cpus=n_cpus, n_transactions=4000, test={"read_only": True})
    bound = min(n_clients, n_cpus) / (cpu_ns(x.machine.test) * 1e-9)
    assert 0.97 * bound < x.tps <= 1.0001 * bound
    assert x.tps * x.response_ns.mean() * 1e-9 == pytest.approx(n_clients, rel=0.01)


def test_thread_concurrency_bounds_who_is_inside():
    """One inside at a time: one CPU's worth, though BEGIN and COMMIT queue for it too."""
    x = run(10**6, n_clients=10, n_cpus=8, thread_concurrency=1, n_transactions=1000, test={"read_only": True})
    assert x.tps == pytest.approx(1e9 / cpu_ns(x.machine.test), rel=0.01)


def test_littles_law_holds_exactly():
    x = run(10**5, n_clients=7, n_cpus=3, n_transactions=10**5, duration_ns=4 * SECOND_NS, wire_ns=5000, start=COLD,
            buffer_pool_bytes=2**24, device={"read_ns": 2 * MS, "write_ns": 20_000, "fsync_ns": 4 * MS, "wal_sync_ns": MS})
    ages = x.machine.s.duration_ns - x.machine.process[:7, inno.BEGAN]
    assert x.response_ns.sum() + ages.sum() == 7 * x.machine.s.duration_ns


# ---- buffer pool ----


@pytest.mark.parametrize(("young_again", "n_transactions"), [(1 / 1024, 2000), (5 / 32, 2000), (0.9, 3000)])
def test_the_pool_reads_what_a_naive_list_with_a_midpoint_reads(young_again, n_transactions):
    test, s = {**POINTS, "distribution": "gaussian"}, {"buffer_pool_bytes": 560 * PAGE_BYTES, "start": COLD}
    x = run(10**5, test=test, n_transactions=n_transactions, young_again=young_again, **s)
    ids = ids_of(x.machine.test, 4096 * 10, draws_of(0))[:10 * n_transactions] - 1
    pages = [leaf_of(x.machine.table, row) for row in ids.tolist()]
    assert x.counts["reads"] == reads_of_a_midpoint_list(pages, n_frames_of(x.machine.s, x.machine.table), young_again)


def che(weights, n_frames):
    """The hit rate of LRU under independent references."""
    low, high = 0.0, 1e9
    for _ in range(100):
        t = (low + high) / 2
        low, high = (t, high) if (1 - np.exp(-weights * t)).sum() < n_frames else (low, t)
    return (weights * (1 - np.exp(-weights * t))).sum()


@pytest.mark.parametrize(("distribution", "n_frames"), [("uniform", 1500), ("gaussian", 1500), ("special", 1000),
                                                        ("special", 3000)])
def test_the_hit_rate_of_independent_references_is_ches(distribution, n_frames):
    test = oltp(5 * 10**5, CPU, distribution=distribution, **POINTS)
    table = new_table(test.n_rows)
    frames = np.bincount((ids_of(test, 1_000_000, draws_of(9)) - 1) // table.rows_per_leaf, minlength=table.n_leaves)
    s = Settings(8, 8000, buffer_pool_bytes=(n_frames + table.n_inner) * PAGE_BYTES, start=WARM, n_seconds=0)
    early, late = simulate(test, s._replace(n_transactions=4000)).counts, simulate(test, s).counts
    misses = (late["reads"] - early["reads"]) / (late["accesses"] - early["accesses"])
    assert 1 - misses == pytest.approx(che(frames / frames.sum(), n_frames), abs=0.01)


def test_a_pool_begins_cold_as_loaded_or_warm():
    reads = {}
    for begin in (COLD, AS_LOADED, WARM):
        x = run(10**6, test=POINTS, buffer_pool_bytes=2**26, start=begin)
        reads[begin] = x.counts["reads"]
    assert reads[WARM] < 0.5 * reads[COLD]
    assert 0.9 * reads[COLD] < reads[AS_LOADED] <= reads[COLD]
    assert run(10**5, start=WARM).counts["reads"] == 0


# ---- writing ----

TIGHT = {"n_clients": 12, "n_transactions": 4000, "buffer_pool_bytes": 2**24, "start": COLD}
DISK = {"read_ns": MS, "write_ns": 20_000, "fsync_ns": 3 * MS, "wal_sync_ns": 200_000}


@pytest.mark.parametrize("doublewrite", [0, 1])
def test_every_page_is_written_twice_or_once(doublewrite):
    counts = run(10**6, doublewrite=doublewrite, device=DISK, **TIGHT).counts
    n_pages = counts["list_writes"] + counts["lru_writes"]
    assert n_pages > 1000
    assert counts["area_pages"] - n_pages in range(256) if doublewrite else counts["area_pages"] == 0
    assert (counts["fsyncs"] > 10) == bool(doublewrite)


def test_the_area_and_its_pages_are_synced_once_a_chunk():
    counts = run(10**6, device=DISK, **TIGHT).counts
    chunks = counts["area_pages"] / 128
    assert 2 * chunks <= counts["fsyncs"] <= 2 * counts["area_calls"] + counts["checkpoints"]


def test_a_larger_pool_writes_less():
    """Pages that are changed again before they are written are written once."""
    writes = []
    for buffer_pool_bytes in (2**24, 2**25, 2**27):
        counts = run(10**6, device=DISK, **TIGHT | {"buffer_pool_bytes": buffer_pool_bytes}).counts
        writes.append(counts["list_writes"] + counts["lru_writes"])
    assert writes == sorted(writes, reverse=True)
    assert writes[0] > 10 * writes[2]


def test_a_small_log_makes_dirty_pages_go_and_clients_wait():
    counts = [run(10**6, n_clients=12, n_transactions=20_000, device=DISK, log_file_bytes=size, n_log_files=2).counts
              for size in (3 * 2**20, 2**23, 2**26)]
    writes, stalls = [c["list_writes"] for c in counts], [c["log_stalls"] for c in counts]
    assert writes[0] > 1.2 * writes[1] > 1.2 * writes[2]
    assert stalls[0] > 0 == stalls[2]


def test_limits_of_the_log_are_those_of_the_source():
    """Two files of 5 MB, eight threads: 10 MB less headers, less a tenth, less 18 x 64 + 128 KiB, less a tenth."""
    flush, wait, checkpoint, margin, capacity = log_limits(settings_of("5.1", 1, 1)).tolist()
    assert capacity == pytest.approx(0.9 * 2 * (5 * 2**20 - 2048), abs=1)
    assert margin == pytest.approx(0.9 * (capacity - 18 * 65536 - 131072), abs=1)
    assert (flush / margin, wait / margin, checkpoint / margin) == pytest.approx((7 / 8, 15 / 16, 31 / 32), abs=1e-5)


def test_dirty_pages_stay_at_their_limit():
    """Or above it, by what becomes dirty while the master sleeps a second: 100 pages of 8192 here."""
    share = []
    for pct in (5.0, 20.0):
        x = run(10**6, Cpu(2 * MS, 0, 0, 0, 0), {"distribution": "uniform"}, n_transactions=2000, max_dirty_pages_pct=pct,
                buffer_pool_bytes=2**27, io_capacity=100)
        share.append(100 * x.machine.pool[inno.N_DIRTY] / (len(x.machine.frames.page) - 1))
    assert share[0] == pytest.approx(5, abs=2.5)
    assert share[1] == pytest.approx(20, abs=2.5)


def test_every_ten_seconds_a_little_is_flushed_and_a_checkpoint_made():
    """A server with less to do than its capacity: a batch of it, and a tenth; with neighbours, a few more."""
    test = {"distribution": "uniform"}
    x = run(10**6, Cpu(10 * MS, 0, 0, 0, 0), test, n_transactions=10**4, duration_ns=42 * SECOND_NS, n_seconds=42)
    writes, checkpoints = (x.per_second[COUNTS.index(kind)] for kind in ("list_writes", "checkpoints"))
    assert np.flatnonzero(writes).tolist() == np.flatnonzero(checkpoints).tolist() == [10, 20, 30, 40]
    assert all(220 <= n <= 220 + 2 * 64 for n in writes[[20, 30, 40]])


def test_adaptive_flushing_turns_over_the_dirty_pages_as_the_log_does():
    """In the steady state, in the time in which the log would fill."""
    conf = {"n_clients": 12, "n_transactions": 10**6, "duration_ns": 60 * SECOND_NS, "n_seconds": 60, "n_log_files": 3,
            "log_file_bytes": 2**25, "io_capacity": 2000, "device": DISK | {"wal_sync_ns": 2 * MS}}
    x = run(10**6, adaptive_flushing=1, **conf)
    writes, redo = (x.per_second[COUNTS.index(kind)][40:].mean() for kind in ("list_writes", "log_bytes"))
    turnover = x.machine.pool[inno.N_DIRTY] / writes
    assert turnover == pytest.approx(x.machine.limits[4] / (2 * redo), rel=0.35)
    assert run(10**6, **conf).counts["log_stalls"] >= x.counts["log_stalls"] == 0


def test_a_run_is_determined_by_its_seed():
    first, again, differing = (run(10**6, device=DISK, seed=seed, **TIGHT) for seed in (3, 3, 4))
    assert first.ended_at.tolist() == again.ended_at.tolist()
    assert first.counts == again.counts != differing.counts


def test_a_store_is_told_of_all_processes_and_of_files_as_long_as_they_ever_are():
    test, s = oltp(10**5, CPU), Settings(6, 300, **NEVER_FULL, log_file_bytes=2**20, n_log_files=3)
    m, _ = start(test, s)
    assert innodb_processes(s) == len(m.process)
    assert innodb_files(test, s)[:, 0].tolist() == [3 * 2**20, m.table.n_pages * PAGE_BYTES, 128 * PAGE_BYTES]


@pytest.mark.slow
def test_defects_are_noticed_by_the_laws():
    failed = json.loads(interpreted("defects.innodb"))
    assert failed.pop("none") == failed.pop("none without the area") == []
    for defect, (law, laws) in failed.items():
        assert law in laws, f"{defect}: {laws}"


# ---- settings ----


def test_versions_differ_where_the_manuals_say_so():
    old, beta, plugin, later = (settings_of(version, 1, 1) for version in ("5.1", "5.4.0", "5.4.2", "5.5"))
    assert (old.buffer_pool_bytes, old.n_log_files, old.log_file_bytes, old.thread_concurrency) == (2**23, 2, 5 * 2**20, 8)
    assert (beta.buffer_pool_bytes, beta.n_log_files, beta.log_file_bytes, beta.thread_concurrency) == (2**30, 3, 2**27, 0)
    assert (old.max_dirty_pages_pct, beta.max_dirty_pages_pct, old.io_capacity, beta.io_capacity) == (90, 75, 100, 200)
    assert (beta.adaptive_flushing, plugin.adaptive_flushing, later.adaptive_flushing) == (0, 1, 1)
    assert later.buffer_pool_bytes == 2**27


@pytest.mark.parametrize(("call", "message"), [
    (lambda: settings_of("4.1", 1, 1), "version is 4.1, but .* modelled as 5.0, .*; choose"),
    (lambda: oltp(50, CPU), "n_rows is 50, but .*; choose 101"),
    (lambda: oltp(1000, CPU, distribution="normal"), "distribution is normal, but .*; choose"),
    (lambda: oltp(1000, CPU, dist_res=100), "100, 1, 12, but must be .*; choose"),
    (lambda: run(n_clients=0), "n_clients is 0, but .*; choose"),
    (lambda: run(n_clients=4097), "n_clients is 4097, but no more than 4096 .*; choose"),
    (lambda: run(n_clients=99, buffer_pool_bytes=2**23), "buffer_pool_bytes is .* 16 KiB .*; choose"),
    (lambda: run(n_clients=500, log_file_bytes=5 * 2**20, n_log_files=2), "log_file_bytes is .*; choose"),
    (lambda: run(flush_log_at_trx_commit=3), "flush_log_at_trx_commit is 3, but can be 0, 1, 2; choose"),
    (lambda: run(max_dirty_pages_pct=101), "max_dirty_pages_pct is 101.0, but .*; choose"),
    (lambda: run(cpu=Cpu(0, 0, 0, 0, 0)), "takes no time at all, .*; let one"),
])
def test_bad_values_are_one_sentence(call, message):
    with pytest.raises(ValueError, match=message) as refusal:
        call()
    assert "\n" not in str(refusal.value)
    assert str(refusal.value).count(". ") == 0
