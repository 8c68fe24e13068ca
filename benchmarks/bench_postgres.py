"""PostgreSQL under pgbench: what a run of 100 000 transactions takes, by what it has to do.

Storage is a device of constant times, so this is the database alone.
"""

import time

import pytest

from model.databases.postgres.pgbench import pgbench
from model.databases.postgres.start import start
from model.databases.postgres.state import Settings
from model.events.clock import MS
from model.simulations.database_server import on_device, simulate_postgres

N = 100_000
TARGET_S = 1.0
CPU_NS = (10_000, 60_000, 30_000, 40_000, 40_000, 40_000, 20_000)
CASES = {
    "10 clients, scale 10, all in memory": (10, {"shared_buffers_bytes": 2**28, "checkpoint_segments": 64.0}),
    "... checkpoints by 3 segments of log": (10, {"shared_buffers_bytes": 2**28}),
    "... and a fifth of the pages in memory": (10, {"shared_buffers_bytes": 2**25}),
    "128 clients, scale 1000, 16 GB": (1000, {"n_clients": 128, "n_client_threads": 128, "shared_buffers_bytes": 2**34,
                                              "checkpoint_segments": 256.0}),
}


@pytest.mark.benchmark(timer=time.process_time)     # the target is the processor's time: others may be at work
@pytest.mark.parametrize("name", CASES)
def bench_rung(name, benchmark, report):
    scale, conf = CASES[name]
    s = Settings(**{"n_clients": 10, "n_transactions": N, "trip_ns": 28_000} | conf)
    database = pgbench(scale, N, CPU_NS)
    device = on_device(read_ns=5 * MS, write_ns=20_000, fsync_ns=5 * MS, wal_ns=4 * MS)
    simulate_postgres(database, s, device)
    run = benchmark.pedantic(simulate_postgres, (database, s, device), rounds=3)
    assert run.counts["commits"] == N
    median_s = benchmark.stats.stats.median
    report("pgbench, 100 000 transactions", "ms", name, median_s * 1e3, base=name == next(iter(CASES)))
    assert median_s < TARGET_S


def bench_start(per_operation):
    """A machine is made anew for every run."""
    database, s = pgbench(10, N, CPU_NS), Settings(10, N)
    per_operation("the beginning of a run", "scale 10, 32 MB", 1, lambda: (database, s), start)
