"""A database and the files it is on, together: whoever's event is next goes on, at equal times the database.

A database has a calendar of its processes, `calls` (`model.filesystems.calls`), its transactions `draws`, and its commits as
the first of its `counts`. It goes on by its `step`. A store answers by three kernels (`model.filesystems.zfs.store` names
them). There is one loop, compiled for each pair that is used.

The run ends when `n_transactions` have committed, or at `duration_ns`.
"""

from typing import NamedTuple

import numpy as np

from model.databases.innodb import binlog, sysbench
from model.databases.innodb import start as innodb_start
from model.databases.innodb import state as innodb_state
from model.databases.innodb import step as innodb_step
from model.databases.innodb.tables import PAGE_BYTES as INNODB_PAGE
from model.databases.innodb.tables import new_table
from model.databases.oracle import start as oracle_start
from model.databases.oracle import state as oracle_state
from model.databases.oracle import step as oracle_step
from model.databases.postgres import columns as pg
from model.databases.postgres import start as postgres_start
from model.databases.postgres import state as postgres_state
from model.databases.postgres import step as postgres_step
from model.databases.postgres.pgbench import FILE_SHIFT, PAGE_BYTES
from model.events.calendar import NEVER, next_source, set_time
from model.events.servers import is_back
from model.filesystems import calls as file_calls
from model.filesystems.calls import Device, new_device
from model.filesystems.ufs import calls as ufs_calls
from model.filesystems.ufs.state import Ufs
from model.filesystems.zfs import store as zfs_store
from model.jit import either, kernel, part

DONE, OUT_OF_DRAWS, STUCK = range(3)  # how a run ended
LONGEST_NS = 3_600_000_000_000  # ours: if nobody commits for so long, nobody ever will
COMMITS = 0  # of the counts of any database


class Both(NamedTuple):
    """One database and one store; all others are None."""

    postgres: postgres_state.Machine | None = None
    innodb: innodb_state.Machine | None = None
    oracle: oracle_state.Machine | None = None
    zfs: zfs_store.Store | None = None
    ufs: Ufs | None = None
    device: Device | None = None  # of constant times


class Result(NamedTuple):
    """A run. `machine` is the last state of the database."""

    tps: float
    seconds: float
    response_ns: np.ndarray  # in order of commit
    ended_at: np.ndarray  # ns
    counts: dict  # see COUNTS of the database
    per_second: np.ndarray  # [count, second]
    machine: postgres_state.Machine | innodb_state.Machine | oracle_state.Machine


# ---- the loop ----
# Kernels are handed over by the names of their modules: else Numba would keep no compiled code.


@part
def _loop(m, store, until, step, take_calls, next_time, store_event):
    """Until the database `m` has done what it is to do, or `until` (ns); or until no transactions are left or everybody
    waits for what never comes. Returns which."""
    calendar, n_seen, seen_at = m.calendar, np.int64(-1), np.int64(0)
    while m.counts[COMMITS] < m.s.n_transactions:
        p, then = next_source(calendar), next_time(store)
        now = calendar.time[p]
        earliest = min(now, then)
        if earliest == NEVER:
            return STUCK
        if earliest >= until:
            return DONE
        if m.counts[COMMITS] > n_seen:
            n_seen, seen_at = m.counts[COMMITS], earliest
        elif earliest > seen_at + LONGEST_NS:
            return STUCK
        if then < now:
            store_event(store, calendar, then)
        elif m.n_drawn[0] >= len(m.draws):
            return OUT_OF_DRAWS
        else:
            set_time(calendar, p, NEVER)
            if is_back(m, now, p):
                step(m, now, p)
                take_calls(store, m.calls, calendar, now)
    return DONE


@kernel
def _on_a_pool(zfs, m, until, step):
    return _loop(m, zfs.data, until, step, zfs_store.take_calls, zfs_store.next_time, zfs_store.store_event)


@kernel
def _on_two_pools(zfs, m, until, step):
    return _loop(m, zfs, until, step, zfs_store.take_calls_of_two, zfs_store.next_time_of_two, zfs_store.event_of_two)


_on_pools = either("log", _on_a_pool, _on_two_pools)


@kernel
def _on_zfs(both, m, until, step):
    return _on_pools(both.zfs, m, until, step)


@kernel
def _on_ufs(both, m, until, step):
    return _loop(m, both.ufs, until, step, ufs_calls.take_calls, ufs_calls.next_time, ufs_calls.store_event)


@kernel
def _on_device(both, m, until, step):
    return _loop(m, both.device, until, step, file_calls.serve, file_calls.never, file_calls.no_event)


_on_files = either("ufs", _on_zfs, _on_ufs)
_on_store = either("device", _on_files, _on_device)


@kernel
def _postgres(both, until):
    return _on_store(both, both.postgres, until, postgres_step.step)


@kernel
def _innodb(both, until):
    return _on_store(both, both.innodb, until, innodb_step.step)


@kernel
def _oracle(both, until):
    return _on_store(both, both.oracle, until, oracle_step.step)


_of_two = either("innodb", _postgres, _innodb)
_database = either("oracle", _of_two, _oracle)


@kernel
def run(both, until):
    """Until the database has done what it is to do, or `until` (ns), or no transactions are left. Returns which."""
    return _database(both, until)


def _run_all(both, m, draw_more):
    both = both._replace(zfs=zfs_store.working_for(both.zfs, m.calls))
    while (how := run(both, m.s.duration_ns)) == OUT_OF_DRAWS:
        draw_more()
        m.n_drawn[0] = 0
    if how == STUCK:
        raise ValueError(f"nobody has committed for an hour of the simulated time, after {m.counts[COMMITS]} transactions: "
                         "every process waits for what never comes. Choose other settings, and report these")
    if both.zfs is not None:
        zfs_store.check_end(both.zfs)
    kinds = ((both.postgres, postgres_state), (both.innodb, innodb_state), (both.oracle, oracle_state))
    return _result_of(m, next(kind.COUNTS for machine, kind in kinds if machine is not None))


def _result_of(m, names):
    n = int(m.counts[COMMITS])
    ended = int(m.ended_at[n - 1]) if n == m.s.n_transactions else m.s.duration_ns
    return Result(tps=n / ended * 1e9, seconds=ended / 1e9, response_ns=m.response_ns[:n], ended_at=m.ended_at[:n],
                  counts=dict(zip(names, m.counts.tolist(), strict=True)), per_second=m.per_second, machine=m)


def on_device(**times: int) -> Both:
    """A store that takes constant times: those of `new_device` of model.filesystems.calls."""
    return Both(device=new_device(**times))


# ---- PostgreSQL ----


def _file_rows(first_page, n_pages, max_pages):
    """Files of 1 GB each, as many as a table of `max_pages` pages needs."""
    n_files = (max_pages - 1 >> FILE_SHIFT) + 1
    per_file = 1 << FILE_SHIFT
    return {(first_page >> FILE_SHIFT) + i: (np.clip(n_pages - i * per_file, 0, per_file) * PAGE_BYTES,
                                             np.clip(max_pages - i * per_file, 0, per_file) * PAGE_BYTES, PAGE_BYTES)
            for i in range(n_files)}


def postgres_files(database: postgres_state.Database, s: postgres_state.Settings) -> np.ndarray:
    """What a store has to know of a database of `model.databases.postgres.pgbench` under settings `s`: see `new_store` of
    model.filesystems.zfs.store."""
    rows: dict[int, tuple] = {}
    for columns in database.relations:
        max_pages = int(columns[pg.N_PAGES] + s.n_transactions // columns[pg.ROWS_PER_PAGE] + 2)
        rows |= _file_rows(int(columns[pg.FIRST_PAGE]), int(columns[pg.N_PAGES]), max_pages)
        if columns[pg.FIRST_LEAF] >= 0:
            rows |= _file_rows(int(columns[pg.FIRST_LEAF]), int(columns[pg.N_LEAVES]), int(columns[pg.N_LEAVES]))
    empty = (0, PAGE_BYTES, PAGE_BYTES)
    n_segments = int(np.ceil(3 * s.checkpoint_segments)) + 4  # between the one before the last checkpoint and the last made
    ready = n_segments if s.ready_segments < 0 else min(n_segments, int(s.ready_segments))
    log = (ready * postgres_state.SEGMENT_BYTES, n_segments * postgres_state.SEGMENT_BYTES, PAGE_BYTES)
    return np.array([log, *(rows.get(file, empty) for file in range(database.n_files))], np.int64)


def n_processes_of(s: postgres_state.Settings) -> int:
    """Of PostgreSQL: the clients, the WAL writer, the checkpointer, the background writer."""
    return s.n_clients + 3


def simulate_postgres(database: postgres_state.Database, s: postgres_state.Settings, both: Both | None = None,
                      seed: int = 0) -> Result:
    """Run the transactions of `database` under settings `s` on the store of `both`, which has no database: a Result. By
    default it is a store that takes no time."""
    m, draws = postgres_start.start(database, s, seed)
    return _run_all((both or on_device())._replace(postgres=m), m, lambda: postgres_state.draw(m.draws, draws))


# ---- InnoDB ----


def innodb_files(test: innodb_state.Oltp, s: innodb_state.Settings) -> np.ndarray:
    """What a store has to know of a test of `model.databases.innodb.sysbench` under settings `s`: log, table space,
    double-write area. All are made as long as they will ever be, but for the binary log behind the log."""
    log, space = s.n_log_files * s.log_file_bytes, new_table(test.n_rows, test.k_is_random).n_pages * INNODB_PAGE
    area = innodb_state.CHUNK_PAGES * INNODB_PAGE
    files = np.array([(n, n, INNODB_PAGE) for n in (log, space, area)], np.int64)
    files[0, 1] += binlog.FILE_BYTES if s.log_bin and s.shares_binlog else 0
    return files


def innodb_processes(s: innodb_state.Settings) -> int:
    """How many processes InnoDB has: clients, four threads, and its write threads."""
    return s.n_clients + 4 + s.write_io_threads


def simulate_innodb(test: innodb_state.Oltp, s: innodb_state.Settings, both: Both | None = None,
                    seed: int = 0) -> Result:
    """Run the transactions of `test` (`model.databases.innodb.sysbench.oltp`) under settings `s` on the store of `both`,
    which has no database: a Result. By default it is a store that takes no time."""
    m, draws = innodb_start.start(test, s, seed)
    return _run_all((both or on_device())._replace(innodb=m), m, lambda: sysbench.draw(m.test, m.draws, m.factors, draws))


# ---- Oracle ----


def oracle_files(s: oracle_state.Settings) -> np.ndarray:
    """What a store has to know of an instance under settings `s`: log, tables, both as long as they will ever be."""
    log, tables = s.n_log_files * s.log_file_bytes, s.n_blocks * oracle_state.BLOCK_BYTES
    return np.array([(n, n, oracle_state.BLOCK_BYTES) for n in (log, tables)], np.int64)


def simulate_oracle(s: oracle_state.Settings, both: Both | None = None, seed: int = 0) -> Result:
    """Run transactions under settings `s` on the store of `both`, which has no database (by default a store that takes no
    time): a Result."""
    m, draws = oracle_start.start(s, seed)
    return _run_all((both or on_device())._replace(oracle=m), m, lambda: oracle_state.draw(m.s, m.draws, draws))
