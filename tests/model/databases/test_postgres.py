"""PostgreSQL under pgbench: against its naive twin and against closed forms. Group commit by itself: `test_group_commit`."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.databases.postgres import columns as pg
from model.databases.postgres.buffers import DIRTY
from model.databases.postgres.pgbench import (
    ACCOUNTS_TABLE,
    BRANCHES_TABLE,
    FORMAT_9_5,
    HISTORY_TABLE,
    READ,
    TELLERS_TABLE,
    UPDATE,
    Table,
    commit_record_bytes,
    new_database,
    pgbench,
    records_9_5,
    row_bytes,
)
from model.databases.postgres.state import FDATASYNC, NO_FSYNC, Settings, draws_of, settings_of
from model.events.clock import MS, SECOND_NS
from model.events.servers import typed
from model.simulations.database_server import on_device
from model.simulations.database_server import simulate_postgres as simulate
from support.processes import interpreted
from twins.postgres import Twin

CPU_NS = (5_000, 40_000, 20_000, 25_000, 25_000, 25_000, 15_000)
QUIET = {"wal_writer_delay_ns": 10**15, "checkpoint_timeout_ns": 10**15, "bgwriter_delay_ns": 10**15,
         "wal_buffers_bytes": 2**24, "checkpoint_segments": 1e9, "shared_buffers_bytes": 2**26}
examples = settings(deadline=None, derandomize=True, max_examples=60)


def one_table(n_rows, n_transactions, action=UPDATE, cpu_ns=100_000, fillfactor=50):
    """Nothing but one statement on one table, of whose rows 30 fit into a half of a page."""
    return new_database([Table(n_rows, 97, 0, 0, 0)], [(action, 0, cpu_ns)], n_transactions, fillfactor=fillfactor)


def pages_drawn(database, n, seed=0):
    """The pages of the first n transactions of `one_table` (n < 4096)."""
    rows = (draws_of(seed).random((4096, 2))[:n, 0] * database.relations[0, pg.N_ROWS]).astype(int)
    return rows // database.relations[0, pg.ROWS_PER_PAGE]


# ---- tables and records ----


def test_tables_have_the_sizes_that_pgbench_is_known_for():
    """pg_class of a fresh database of scale 10: accounts 16394 pages; 61, 185 and 226 rows a page; 2733 leaves."""
    relations = pgbench(10, 1, CPU_NS).relations
    tables = [ACCOUNTS_TABLE, TELLERS_TABLE, BRANCHES_TABLE, HISTORY_TABLE]
    assert relations[tables, pg.ROWS_PER_PAGE].tolist() == [61, 185, 226, 157]
    assert relations[ACCOUNTS_TABLE, pg.N_PAGES] == 16394
    assert relations[ACCOUNTS_TABLE, pg.N_LEAVES] == 2733


def test_records_of_later_versions_have_the_sizes_that_pg_waldump_shows():
    """Of pgbench's tables: HOT_UPDATE 74, INSERT of history 79, COMMIT 34, padded to 8 B; an index entry 64."""
    accounts, history = 24 + 97, 24 + 24
    assert records_9_5(accounts).hot == 80
    assert records_9_5(history).insert == 80
    assert commit_record_bytes(FORMAT_9_5) == 40
    assert records_9_5(accounts).move - 64 == 176


# ---- locks and group commit ----


@examples
@given(st.data())
def test_transactions_commit_when_those_of_the_naive_twin_do(data):
    pick = lambda *values: data.draw(st.sampled_from(values))  # noqa: E731
    n = data.draw(st.integers(1, 60))
    s = typed(Settings(
        data.draw(st.integers(1, 9)), n, trip_ns=pick(0, 7_000, 30_000), n_cpus=data.draw(st.integers(1, 4)),
        n_client_threads=data.draw(st.integers(1, 3)), handoff_ns=pick(0, 3_000), spread_cpu=pick(0, 1),
        synchronous_commit=pick(1, 1, 0), commit_delay_ns=pick(0, 0, 300_000), commit_siblings=pick(0, 1, 3),
        leader_delays=pick(0, 1), wakes_all=pick(0, 1), full_page_writes=0, **QUIET))
    database, wal_ns, seed = pgbench(pick(1, 2, 3), n, CPU_NS), pick(0, 100_000, 1_000_000), pick(1, 2, 3)
    x = simulate(database, s, on_device(wal_ns=wal_ns), seed)
    assert list(zip(x.ended_at.tolist(), x.response_ns.tolist(), strict=True)) == Twin(database, s, wal_ns, seed).run()


def test_with_one_branch_transactions_commit_one_after_the_other():
    """From the branch's update to the commit there are two trips, two bursts of CPU and a flush; nobody overlaps."""
    s = Settings(12, 3000, n_cpus=12, n_client_threads=12, trip_ns=10_000, full_page_writes=0, **QUIET)
    x = simulate(pgbench(1, 3000, CPU_NS), s, on_device(wal_ns=500_000))
    assert 1 / x.tps == pytest.approx((2 * 10_000 + CPU_NS[5] + CPU_NS[6] + 500_000) * 1e-9, rel=0.01)
    assert x.counts["flushes"] == 3000


def test_more_branches_make_larger_groups():
    """With s branches a flush cannot commit more than s transactions."""
    sizes = []
    for scale in (1, 3, 10, 100):
        s = Settings(20, 4000, n_cpus=20, n_client_threads=20, full_page_writes=0, **QUIET | {"shared_buffers_bytes": 2**28})
        x = simulate(pgbench(scale, 4000, CPU_NS), s, on_device(wal_ns=2 * MS))
        sizes.append(4000 / x.counts["flushes"])
        assert sizes[-1] <= scale
    assert sizes == sorted(sizes)


@pytest.mark.parametrize(("n_cpus", "trip_ns", "bound"), [(2, 0, 2e9 / sum(CPU_NS)), (50, 30_000, 1e9 / (7 * 30_000))])
def test_without_a_flush_the_busiest_of_cpus_and_client_thread_sets_the_pace(n_cpus, trip_ns, bound):
    s = Settings(40, 6000, n_cpus=n_cpus, trip_ns=trip_ns, synchronous_commit=0, full_page_writes=0,
                 **QUIET | {"shared_buffers_bytes": 2**28})
    x = simulate(pgbench(100, 6000, CPU_NS), s, on_device(wal_ns=5 * MS))
    assert 0.97 * bound < x.tps <= bound * 1.0001


@pytest.mark.parametrize("leader_delays", [0, 1])
def test_commit_delay_trades_flushes_for_response_time(leader_delays):
    def flushes(delay_ns, siblings):
        s = Settings(10, 3000, n_cpus=10, n_client_threads=10, commit_delay_ns=delay_ns, commit_siblings=siblings,
                     leader_delays=leader_delays, full_page_writes=0, **QUIET)
        return simulate(pgbench(10, 3000, CPU_NS), s, on_device(wal_ns=100_000)).counts["flushes"]
    assert flushes(2 * MS, 1) < 0.7 * flushes(0, 1)
    assert flushes(2 * MS, 10) == flushes(0, 1)


# ---- pages, images and checkpoints ----


def distinct(m, n):
    """How many of m pages are among n drawn at random."""
    return m * (1 - (1 - 1 / m) ** n)


@pytest.mark.parametrize("n", [100, 1000, 4000])
def test_what_is_dirty_and_what_is_logged_follow_from_the_distinct_pages(n):
    """Pages that were changed carry one image each; all else is a record of the update and one of the commit."""
    database = one_table(30_000, n)
    relation = database.relations[0]
    x = simulate(database, Settings(5, n, **QUIET))
    pages = pages_drawn(database, n)
    n_dirty = int((x.machine.buffers.flags & DIRTY != 0).sum())
    assert n_dirty == x.counts["images"] == len(np.unique(pages))
    assert n_dirty == pytest.approx(distinct(relation[pg.N_PAGES], n), rel=0.05)
    assert x.counts["log_bytes"] == n * (relation[pg.HOT_BYTES] + database.commit_bytes) + n_dirty * relation[pg.IMAGE_BYTES]


def test_a_checkpoint_writes_what_was_dirty_when_it_began():
    """Against the closed form, and to the page: between two checkpoints every distinct page once."""
    n = 4000
    database = one_table(30_000, n, cpu_ns=10 * MS)
    s = Settings(1, n, **QUIET | {"checkpoint_timeout_ns": 10 * SECOND_NS, "checkpoint_segments": 1e9})
    x = simulate(database, s, on_device())
    n_before = int(np.searchsorted(x.ended_at, 10 * SECOND_NS, "right"))
    first = simulate(database, s._replace(duration_ns=19 * SECOND_NS), on_device())
    assert first.counts["checkpoint_writes"] == len(np.unique(pages_drawn(database, n_before)))
    expected = distinct(database.relations[0, pg.N_PAGES], n_before)
    assert first.counts["checkpoint_writes"] == pytest.approx(expected, rel=0.05)


def test_right_after_a_checkpoint_a_transaction_logs_many_times_what_it_does_long_after():
    """Right after: nearly every account's page is new to the log. Long after: the records of changes, nothing else."""
    database = pgbench(1, 60_000, CPU_NS)
    accounts, tellers, branches, history = database.relations
    early, late, later = (simulate(database._replace(), Settings(8, n, **QUIET)).counts["log_bytes"]
                          for n in (50, 50_000, 60_000))
    updates = accounts[pg.HOT_BYTES] + tellers[pg.HOT_BYTES] + branches[pg.HOT_BYTES]
    min_bytes = updates + history[pg.INSERT_BYTES] + database.commit_bytes
    clean = accounts[pg.CLEAN_BYTES]
    assert min_bytes < (later - late) / 10_000 < min_bytes + 1.1 * clean
    assert early / 50 > 8000 + min_bytes
    without = simulate(database, Settings(8, 50, full_page_writes=0, **QUIET)).counts["log_bytes"]
    assert without / 50 < min_bytes + database.relations[0, pg.MOVE_BYTES]


def test_a_page_loaded_full_takes_one_update_elsewhere_and_the_next_ones_at_home():
    """One client: moved updates are the distinct account pages, and a page of tellers that is full once in a while."""
    x = simulate(pgbench(1, 20_000, CPU_NS), Settings(1, 20_000, **QUIET))
    assert x.counts["hot_updates"] + x.counts["moved_updates"] == 60_000
    assert x.counts["moved_updates"] == pytest.approx(distinct(1640, 20_000), rel=0.01)


def test_a_page_is_pruned_when_less_than_a_tenth_of_it_is_free():
    """One page with 31 slots for new versions: when 6 are left, all that is dead is pruned, so once in 25 updates."""
    n = 1000
    database = one_table(30, n)
    relation = database.relations[0]
    assert (relation[pg.FREE_SLOTS], relation[pg.PRUNE_BELOW]) == (31, 6)
    x = simulate(database, Settings(1, n, full_page_writes=0, **QUIET))
    assert x.counts["hot_updates"] == n
    n_cleaned = (x.counts["log_bytes"] - n * (relation[pg.HOT_BYTES] + database.commit_bytes)) / relation[pg.CLEAN_BYTES]
    assert n_cleaned == (n - 1) // (31 - 6)


def test_who_only_reads_logs_nothing_and_waits_for_no_flush():
    x = simulate(pgbench(1, 1000, (50_000,), "select-only"), Settings(1, 1000, **QUIET), on_device(wal_ns=10**12))
    assert x.counts["log_bytes"] == x.counts["flushes"] == 0
    assert x.response_ns.tolist() == [50_000] * 1000


def test_checkpoint_writes_are_spread_over_the_target():
    """Naps of 200 ms between small bursts, until target x timeout; then fsyncs."""
    s = Settings(1, 10**5, duration_ns=40 * SECOND_NS, n_seconds=40,
                 **QUIET | {"checkpoint_timeout_ns": 20 * SECOND_NS, "checkpoint_completion_target": 0.5})
    x = simulate(one_table(60_000, 10**5, cpu_ns=5 * MS), s, on_device())
    writes = x.per_second[9]
    assert writes[:20].sum() == 0
    assert writes[31:].sum() == 0
    assert writes[20:30].min() > 0.8 * writes[20:30].mean()
    burst = simulate(one_table(60_000, 10**5, cpu_ns=5 * MS), s._replace(checkpoint_completion_target=0.0), on_device())
    assert burst.per_second[9][20] == burst.counts["checkpoint_writes"] == writes.sum()


def test_log_alone_makes_checkpoints_when_its_segments_are_full():
    """A checkpoint a (segments - 1) x 16 MB of log, or a little more; never by time here."""
    s = Settings(8, 30_000, **QUIET | {"checkpoint_segments": 4.0, "checkpoint_completion_target": 0.1})
    x = simulate(pgbench(1, 30_000, CPU_NS), s, on_device(wal_ns=10_000))
    n_segments = x.counts["log_bytes"] / 2**24
    assert n_segments / 4 - 1 <= x.counts["checkpoints"] <= n_segments / 3


def test_a_log_that_has_no_files_yet_makes_them_and_then_uses_them_again():
    """The documentation of 8.3: normally (2 + target) x segments + 1 files, at most 3 x segments + 1."""
    def seconds(ready):
        s = Settings(8, 60_000, **QUIET | {"checkpoint_segments": 4.0, "checkpoint_completion_target": 0.1,
                                           "ready_segments": ready})
        x = simulate(pgbench(5, 60_000, CPU_NS), s, on_device(wal_ns=10_000, wal_create_ns=10 * SECOND_NS))
        return x.seconds, x.counts["log_bytes"] / 2**24
    (shortest, n_segments), (longer, _), (longest, _) = seconds(-1), seconds(5), seconds(1)
    assert n_segments > 15
    n_made = round((longest - shortest) / 10)
    assert 2.1 * 4 + 1 <= 1 + n_made <= 3 * 4 + 1
    assert longer - shortest == pytest.approx(10 * (n_made - 4), abs=1)


def test_a_small_ring_makes_inserters_write():
    def full(ring_bytes):
        s = Settings(8, 500, **QUIET | {"wal_buffers_bytes": ring_bytes})
        return simulate(pgbench(10, 500, CPU_NS), s, on_device(wal_ns=MS)).counts["buffer_full"]
    assert full(2**16) > 100
    assert full(2**24) == 0


@pytest.mark.parametrize("method", [FDATASYNC, NO_FSYNC])
def test_who_does_not_write_through_syncs_after_writing_or_not_at_all(method):
    s = Settings(1, 100, wal_sync_method=method, full_page_writes=0, **QUIET)
    x = simulate(one_table(10**4, 100, cpu_ns=MS), s, on_device(write_ns=100_000, wal_ns=10**12, wal_sync_ns=3 * MS))
    each = MS + 100_000 + (3 * MS if method == FDATASYNC else 0)
    assert x.response_ns.tolist() == [each] * 100


def misses_of_a_clock(pages, n_frames):
    """The naive twin of the clock sweep: frames as a list of [page, usage]."""
    frames, hand, misses = [], -1, 0
    for page in pages:
        hits = [frame for frame in frames if frame[0] == page]
        if hits:
            hits[0][1] = min(5, hits[0][1] + 1)
            continue
        misses += 1
        if len(frames) < n_frames:
            frames.append([page, 1])
            continue
        while True:
            hand = (hand + 1) % n_frames
            if frames[hand][1] == 0:
                break
            frames[hand][1] -= 1
        frames[hand] = [page, 1]
    return misses


@pytest.mark.parametrize("n_frames", [16, 40, 90])
def test_shared_buffers_miss_what_a_naive_clock_misses(n_frames):
    database = one_table(3000, 3000, action=READ, fillfactor=100)
    s = Settings(1, 3000, is_warm=0, **QUIET | {"shared_buffers_bytes": n_frames * 8192})
    assert simulate(database, s).counts["reads"] == misses_of_a_clock(pages_drawn(database, 3000).tolist(), n_frames)


def test_the_background_writer_saves_backends_from_writing():
    def writes(maxpages):
        s = Settings(4, 3000, shared_buffers_bytes=2**22, bgwriter_lru_maxpages=maxpages, bgwriter_delay_ns=20 * MS)
        counts = simulate(pgbench(10, 3000, CPU_NS), s, on_device(read_ns=MS, wal_ns=MS)).counts
        return counts["cleaner_writes"], counts["backend_writes"]
    none, alone = writes(0)
    cleaner, helped = writes(1000)
    assert none == 0
    assert cleaner > helped
    assert helped < 0.5 * alone


# ---- laws ----


def test_littles_law_holds_exactly():
    """Nobody thinks between transactions: response times and the ages of those under way fill all the time there is."""
    s = Settings(7, 10**5, duration_ns=3 * SECOND_NS, trip_ns=20_000, n_cpus=3, shared_buffers_bytes=2**22)
    x = simulate(pgbench(2, 10**5, CPU_NS), s, on_device(read_ns=2 * MS, write_ns=10_000, wal_ns=MS))
    ages = s.duration_ns - x.machine.process[:7, 10]
    assert x.response_ns.sum() + ages.sum() == 7 * s.duration_ns


@pytest.mark.slow
def test_defects_are_noticed_by_the_laws():
    failed = json.loads(interpreted("defects.postgres"))
    assert failed.pop("none") == []
    for defect, (law, laws) in failed.items():
        assert law in laws, f"{defect}: {laws}"


# ---- settings ----


def test_versions_differ_where_the_release_notes_say_so():
    old, new = settings_of(8.3, 10, 100), settings_of(16, 10, 100)
    assert (old.shared_buffers_bytes, old.wal_buffers_bytes, old.checkpoint_segments) == (2**25, 2**16, 3.0)
    assert (new.shared_buffers_bytes, new.wal_buffers_bytes) == (2**27, 2**22)
    assert new.checkpoint_segments == pytest.approx(64 / 1.9)
    assert settings_of(10, 1, 1).checkpoint_segments == pytest.approx(64 / 2.5)
    assert (old.one_writer, old.wakes_all, old.is_sorted, old.leader_delays) == (1, 0, 0, 0)
    assert (new.one_writer, new.wakes_all, new.is_sorted, new.leader_delays) == (0, 1, 1, 1)
    assert new.checkpoint_completion_target == 0.9


def run_one(n_clients=1, cpu_ns=CPU_NS, **conf):
    return simulate(pgbench(1, 1, cpu_ns), Settings(n_clients, 1, **conf))


@pytest.mark.parametrize(("call", "message"), [
    (lambda: settings_of(7.4, 1, 1), "version is 7.4, but .* from 8.3 to 18; choose"),
    (lambda: pgbench(0, 1, CPU_NS), "scale is 0, but .*; choose 1"),
    (lambda: pgbench(1, 1, CPU_NS, "tpc-c"), "script is tpc-c, but .*; choose"),
    (lambda: pgbench(1, 1, (1, 2)), "there are 2 CPU times, but .* 7 statements; give"),
    (lambda: run_one(0), "n_clients is 0, but .*; choose"),
    (lambda: run_one(99, shared_buffers_bytes=2**20), "shared_buffers_bytes is .* 16 pages each; choose"),
    (lambda: run_one(checkpoint_completion_target=1.5), "target is 1.5, but .*; choose 0"),
    (lambda: run_one(cpu_ns=(0,) * 7), "takes no time at all, .*; let one"),
    (lambda: run_one(wal_buffers_bytes=8192), "wal_buffers_bytes is 8192, but .*; choose"),
    (lambda: on_device(read_ns=-1), "takes -1 ns, but .*; give"),
])
def test_bad_values_are_one_sentence(call, message):
    with pytest.raises(ValueError, match=message) as refusal:
        call()
    assert "\n" not in str(refusal.value)
    assert str(refusal.value).count(". ") == 0


def test_a_row_has_its_padded_header_and_its_columns():
    assert row_bytes(Table(1, 97, 0, 0, 0)) == 121
    assert row_bytes(Table(1, 12, 1, 0, 0)) == 36
