"""A run that begins AT_WORK: its buffers are those that a long run from clean ones ends with, and nothing is lost."""

import json

import numpy as np
import pytest

from drivers.postgres_at_work import (
    FRAMES,
    INTERVAL,
    PGBENCH_CPU_NS,
    after_long,
    begun,
    dirty_of_one_table,
    mean_state,
    pgbench_settings,
    state,
)
from model.databases.postgres import columns as pg
from model.databases.postgres.buffers import DIRTY
from model.databases.postgres.pgbench import PAGE_BYTES, pgbench
from model.databases.postgres.state import AT_WORK
from model.events.clock import MS
from model.simulations.database_server import on_device, simulate_postgres
from support.processes import interpreted

WRITES = ("backend_writes", "cleaner_writes", "checkpoint_writes")


def run(n, scale=20, fillfactor=50, seed=1, **conf):
    return simulate_postgres(pgbench(scale, n, PGBENCH_CPU_NS, fillfactor=fillfactor), pgbench_settings(n, **conf),
                             on_device(), seed)


def writes(x):
    return sum(x.counts[name] for name in WRITES)


def n_dirty(m):
    return int((m.buffers.flags[1:] & DIRTY > 0).sum())


@pytest.mark.slow
@pytest.mark.parametrize("conf", [{}, {"interval": 500}, {"interval": 200}, {"shared_buffers_bytes": 300 * PAGE_BYTES},
                                  {"interval": 400, "checkpoint_completion_target": 0.9}])
def test_it_begins_with_what_a_long_run_from_clean_buffers_ends_with(conf):
    """Frames that are dirty, that hold leaves, that hold dirty leaves."""
    begins, long = mean_state(begun, **conf), mean_state(after_long, **conf)
    assert begins == pytest.approx(long, abs=0.035)
    assert 0.1 < long[0] < 0.9


@pytest.mark.slow
def test_where_a_device_is_too_slow_for_checkpoints_it_begins_as_dirty_as_they_leave_it():
    """At 100 ms a write, ten pages a second get clean, and more get dirty."""
    begins, long = dirty_of_one_table(200, 150, 100, write_ns=100 * MS)
    assert begins == pytest.approx(long, abs=0.05)
    assert long > dirty_of_one_table(200, 150, 100)[1] + 0.2


def test_if_everything_has_room_what_an_interval_changes_is_dirty():
    """n (1 - (1 - 1/n)^W) of n pages of accounts, and three small ones, if a checkpoint writes at once. (One that takes its
    time writes what is changed meanwhile as well.)"""
    conf = {"shared_buffers_bytes": 12_000 * PAGE_BYTES, "checkpoint_completion_target": 0.0}
    n = int(begun(2, 0, **conf).database.relations[0, pg.N_PAGES])
    for interval in (1000, 4000):
        seen = np.mean([n_dirty(begun(2, seed, interval=interval, **conf)) for seed in range(5)])
        assert seen == pytest.approx(n * (1 - (1 - 1 / n) ** interval) + 3, rel=0.02)


@pytest.mark.parametrize("fillfactor", [50, 100])
@pytest.mark.parametrize("cleans", [0, 100])
def test_pages_that_get_dirty_are_written_or_are_dirty_still(cleans, fillfactor):
    """Conservation; but for those under way, one for each of the processes at most."""
    more = {"bgwriter_lru_maxpages": cleans, "bgwriter_delay_ns": 20 * MS, "is_warm": AT_WORK, "n_clients": 3}
    before = n_dirty(run(1, fillfactor=fillfactor, **more).machine)
    x = run(3 * INTERVAL, fillfactor=fillfactor, **more)
    lost = before + x.counts["dirtied"] - writes(x) - n_dirty(x.machine)
    assert before > FRAMES // 4
    assert -3 <= lost <= 6
    assert (x.counts["cleaner_writes"] > 0) == (cleans > 0)


def test_its_first_checkpoint_writes_what_a_later_one_writes_and_so_do_backends():
    """By interval: the first one is like those long after."""
    conf = {"interval": 300, "is_warm": AT_WORK}
    first = [run(298, seed=seed, **conf) for seed in range(12)]
    long = [run(298 * 12, seed=seed, **conf) for seed in range(3)]
    for name in ("checkpoint_writes", "backend_writes"):
        of_one = np.mean([x.counts[name] for x in long]) / 12
        assert np.mean([x.counts[name] for x in first]) == pytest.approx(of_one, rel=0.06)


def test_from_clean_buffers_a_short_run_writes_next_to_nothing():
    short, long = 400, 10 * INTERVAL
    rate = writes(run(long, is_warm=1)) / long
    assert writes(run(short, is_warm=1)) / short < 0.3 * rate
    assert writes(run(INTERVAL - 2, is_warm=AT_WORK)) / INTERVAL == pytest.approx(rate, rel=0.1)


def test_reads_alone_leave_nothing_dirty():
    database = pgbench(20, 1, (MS,), "select-only")
    m = simulate_postgres(database, pgbench_settings(1, is_warm=AT_WORK), on_device(), 1).machine
    assert n_dirty(m) == 0
    assert state(m)[1] == pytest.approx(0.5, abs=0.05)


@pytest.mark.slow
def test_defects_are_noticed():
    """Run without the compiler, so that one function can be replaced."""
    assert json.loads(interpreted("defects.postgres_at_work")) == ["none"]
