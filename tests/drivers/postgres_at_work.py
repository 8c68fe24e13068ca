"""Shared buffers as a run begins that is AT_WORK, and as a long run from clean ones leaves them: what they hold and what of
it is dirty, at the moment in which a checkpoint begins. One client, a device that takes no time."""

import numpy as np

from drivers.checkpoint_volume import database, settings
from model.databases.postgres import columns as pg
from model.databases.postgres.buffers import DIRTY
from model.databases.postgres.pgbench import PAGE_BYTES, pgbench
from model.databases.postgres.start import start
from model.databases.postgres.state import AT_WORK, Settings
from model.events.clock import MS
from model.simulations.database_server import on_device, simulate_postgres

PGBENCH_CPU_NS = (MS,) * 7
FRAMES, INTERVAL, TRANSACTION_NS = 1500, 2000, 7 * MS


def pgbench_settings(n, interval=INTERVAL, **conf):
    """A checkpoint every so many transactions."""
    return Settings(1, n, n_cpus=1, wal_writer_delay_ns=10**15, bgwriter_delay_ns=10**15, wal_buffers_bytes=2**24,
                    checkpoint_segments=1e9, shared_buffers_bytes=FRAMES * PAGE_BYTES, checkpoint_timeout_ns=interval *
                    TRANSACTION_NS, checkpoint_completion_target=0.5, interval_transactions=interval, is_sorted=1,
                    checkpoint_nap_ns=10 * MS)._replace(**conf)


def begun(scale, seed, **conf):
    return start(pgbench(scale, 1, PGBENCH_CPU_NS, fillfactor=50), pgbench_settings(1, is_warm=AT_WORK, **conf), seed)[0]


def after_long(scale, seed, n_intervals=8, **conf):
    """Just before the checkpoint that ends the last of them; every update finds room in its page."""
    n = n_intervals * conf.get("interval", INTERVAL) - 2
    x = simulate_postgres(pgbench(scale, n, PGBENCH_CPU_NS, fillfactor=50), pgbench_settings(n, **conf), on_device(), seed)
    return x.machine


def state(m):
    """Shares of frames: dirty; with leaves; dirty leaves. (Usage goes up and down with the turns of the clock.)"""
    relation, buffers = m.database.relations[0], m.buffers
    leaf, is_dirty = buffers.page[1:] - relation[pg.FIRST_LEAF], (buffers.flags[1:] & DIRTY) > 0
    is_leaf = (leaf >= 0) & (leaf < relation[pg.N_LEAVES])
    return np.array([is_dirty.mean(), is_leaf.mean(), (is_leaf & is_dirty).mean()])


def mean_state(make, seeds=range(6), **how):
    return np.mean([state(make(20, seed, **how)) for seed in seeds], axis=0)


# ---- small enough to run without the compiler: updates of one table ----


def dirty_of_one_table(n_pages=120, n_frames=60, interval=100, seeds=range(12), write_ns=0):
    """(as a run begins, as a checkpoint of a long one finds them): mean share of dirty frames. A write that takes time slows
    checkpoints down, and a run begins with the pace that the long ones came to."""
    s = settings(6 * interval - 1, n_frames, interval // 100)._replace(interval_transactions=interval)
    tables = database(n_pages, s.n_transactions)
    long = [simulate_postgres(tables, s, on_device(write_ns=write_ns), seed) for seed in seeds]
    pace = np.mean([x.counts["checkpoint_writes"] / x.counts["commits"] for x in long]) if write_ns else 0.0
    begun_so = s._replace(n_transactions=1, is_warm=AT_WORK, checkpoint_pace=float(pace))
    begins = [start(database(n_pages, 1), begun_so, seed)[0] for seed in seeds]
    return tuple(float(np.mean([m.buffers.flags[1:] & DIRTY for m in machines]))
                 for machines in (begins, [x.machine for x in long]))
