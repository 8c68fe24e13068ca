"""PostgreSQL under pgbench on ZFS: what a run of 100 000 transactions takes, by what it is kept on.

A run is a database and its file system together, in one loop, on simulated disks.
"""

import time

import pytest

from model.databases.postgres.pgbench import pgbench
from model.databases.postgres.state import Settings
from model.devices.ssd import SsdParams
from model.filesystems.zfs.store import FileSettings, Group, Pool, new_store
from model.simulations.database_server import Both, n_processes_of, postgres_files, simulate_postgres
from model.zfs.eras import era

N = 100_000
TARGET_S = 1.0
CPU_NS = (10_000, 60_000, 30_000, 40_000, 40_000, 40_000, 20_000)
SSD = Group(SsdParams(is_volatile=1, flush_ns=50_000))
CASES = {
    "one disk, records of 128 KiB": (Pool(), {}),
    "... of 8 KiB": (Pool(), {"record_bytes": 8192}),
    "... and a log device": (Pool(Group(), SSD), {"record_bytes": 8192}),
    "... and no intent log": (Pool(), {"record_bytes": 8192, "zil_disabled": 1}),
    "an SSD": (Pool(SSD), {"record_bytes": 8192}),
}


def new_place(database, s, pool, conf):
    return Both(zfs=new_store(postgres_files(database, s), FileSettings(**conf), era("b111"), pool, n_processes_of(s)))


@pytest.mark.benchmark(timer=time.process_time)     # the target is the processor's time: others may be at work
@pytest.mark.parametrize("name", CASES)
def bench_rung(name, benchmark, report):
    pool, conf = CASES[name]
    database = pgbench(10, N, CPU_NS)
    s = Settings(n_clients=10, n_transactions=N, trip_ns=28_000, shared_buffers_bytes=2**28)
    simulate_postgres(database, s, new_place(database, s, pool, conf))
    run = benchmark.pedantic(simulate_postgres, setup=lambda: ((database, s, new_place(database, s, pool, conf)), {}),
                             rounds=3)
    assert run.counts["commits"] == N
    median_s = benchmark.stats.stats.median
    report("pgbench on ZFS, 100 000 transactions", "ms", name, median_s * 1e3, base=name == next(iter(CASES)))
    assert median_s < TARGET_S


def bench_start(per_operation):
    """A store is made anew for every run."""
    database, s = pgbench(10, N, CPU_NS), Settings(10, N)
    per_operation("the beginning of a store", "scale 10, 8 KiB", 1, lambda: (database, s, Pool(), {"record_bytes": 8192}),
                  new_place)
