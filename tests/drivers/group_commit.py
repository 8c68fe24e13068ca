"""Commits under a closed loop by PostgreSQL's log and by the intent log: who thinks for an exponential time, commits, and
waits for a flush or pass of a constant one."""

import heapq

from model.databases.postgres.pgbench import UPDATE, Table, new_database
from model.databases.postgres.state import Settings
from model.events.streams import stream
from model.simulations.database_server import on_device, simulate_postgres
from model.zfs.eras import era
from model.zfs.zil import commit as zil_commit
from model.zfs.zil import log as zil_log

QUIET = {"wal_writer_delay_ns": 10**15, "checkpoint_timeout_ns": 10**15, "bgwriter_delay_ns": 10**15,
         "wal_buffers_bytes": 2**24, "checkpoint_segments": 1e9, "shared_buffers_bytes": 2**26}
LAST, FIRST = (-1,), (0,)  # who of those that wait becomes the writer of the intent log


def postgres_commits(n, think, flush, n_commits, **conf):
    """(Seconds at which transactions of one update commit, flushes)."""
    s = Settings(n, n_commits, n_cpus=n, n_client_threads=n, spread_cpu=1, full_page_writes=0, **QUIET | conf)
    database = new_database([Table(10**5, 97, 0, 0, 0)], [(UPDATE, 0, round(think * 1e9))], n_commits, fillfactor=50)
    x = simulate_postgres(database, s, on_device(wal_ns=round(flush * 1e9)))
    return x.ended_at / 1e9, x.counts["flushes"]


def zil_commits(n, think, service, n_commits, drawn=LAST):
    """(Seconds at which writes of 8 KiB with O_DSYNC return, passes)."""
    params, of_pool = era("b141").zil, zil_log.ZilSettings()
    log = zil_log.new_zil(n_tasks=n, n_blocks=2 * n_commits, drawn=drawn)
    zil_log.new_block(log, 0, 4096, zil_log.MAIN, 1)
    thoughts = stream(5, "thoughts").exponential(think, n_commits + 2 * n).tolist()
    events = [(thoughts.pop(), 0, task) for task in range(n)]
    heapq.heapify(events)
    done, n_passes = [], 0
    while len(done) < n_commits:
        now, is_pass, slots_or_task = heapq.heappop(events)
        released = []
        if is_pass:
            for slot in slots_or_task:
                zil_commit.written(log, params, of_pool, 0, slot, 1)
            released = log.released[:log.n_released[0]].tolist()
        else:
            zil_log.record(log, params, of_pool, 0, 1, slots_or_task, 8192, 8192, zil_log.O_DSYNC, 1)
            released = [slots_or_task] if zil_commit.commit(log, params, of_pool, 0, 1, slots_or_task, 1) else []
        for task in released:
            heapq.heappush(events, (now + thoughts.pop(), 0, task))
            done.append(now)
        rows = log.outbox[:log.n_out[0], 2].tolist()
        if rows:
            n_passes += 1
            heapq.heappush(events, (now + service, 1, rows))
    return done, n_passes
