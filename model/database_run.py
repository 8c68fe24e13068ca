"""A database and the files it is on, together: whoever's event is next goes on, at equal times the database.

A database has a calendar of its processes, `calls` (`model.file_calls`), its transactions `draws`, and its commits as the
first of its `counts`; a store three kernels (`model.zfs_files` names them). There is one loop, compiled for each pair that
is used.
"""

from typing import NamedTuple

import numpy as np

from model import innodb_run, innodb_start, postgres_run, postgres_start, ufs_calls, zfs_files
from model.calendar import NEVER, next_source, set_time
from model.file_calls import Device, serve
from model.innodb import PAGE_BYTES as INNODB_PAGE
from model.innodb import new_table
from model.innodb_machine import CHUNK_PAGES
from model.innodb_machine import Machine as Innodb
from model.jit import kernel, part
from model.postgres import FILE_SHIFT, FIRST_LEAF, FIRST_PAGE, N_LEAVES, N_PAGES, PAGE_BYTES, ROWS_PER_PAGE
from model.postgres_machine import SEGMENT_BYTES
from model.postgres_machine import Machine as Postgres
from model.ufs import Ufs

DONE, OUT_OF_DRAWS, STUCK = range(3)  # how a run ended
LONGEST_NS = 3_600_000_000_000  # ours: if nobody commits for so long, nobody ever will
COMMITS = 0  # of the counts of any database


class Both(NamedTuple):
    """One database and one store; all others are None."""

    postgres: Postgres | None = None
    innodb: Innodb | None = None
    zfs: zfs_files.Store | None = None
    ufs: Ufs | None = None
    device: Device | None = None  # of constant times


# ---- the loop ----


@part
def _loop(m, store, until, step, take_calls, next_time, store_event):
    """Until the database `m` has done what it is to do, or `until` (ns), or no transactions are left, or everybody waits for
    what never comes. Returns which."""
    calendar, n_seen, seen_at = m.calendar, np.int64(-1), np.int64(0)
    while m.counts[COMMITS] < m.s.n_transactions:
        p, then = next_source(calendar), next_time(store)
        now = calendar.time[p]
        if min(now, then) >= until:
            return DONE
        if m.counts[COMMITS] > n_seen:
            n_seen, seen_at = m.counts[COMMITS], min(now, then)
        elif min(now, then) > seen_at + LONGEST_NS:
            return STUCK
        if then < now:
            store_event(store, calendar, then)
        elif m.n_drawn[0] >= len(m.draws):
            return OUT_OF_DRAWS
        else:
            set_time(calendar, p, NEVER)
            step(m, now, p)
            take_calls(store, m.calls, calendar, now)
    return DONE


@kernel
def _never(device):
    return NEVER


@kernel
def _no_event(device, calendar, now):
    return


@kernel
def _postgres_on_zfs(m, pool, until):
    return _loop(m, pool, until, postgres_run.step, zfs_files.take_calls, zfs_files.next_time, zfs_files.store_event)


@kernel
def _postgres_on_two(m, store, until):
    return _loop(m, store, until, postgres_run.step, zfs_files.take_calls_of_two, zfs_files.next_time_of_two,
                 zfs_files.event_of_two)


@kernel
def _postgres_on_ufs(m, ufs, until):
    return _loop(m, ufs, until, postgres_run.step, ufs_calls.take_calls, ufs_calls.next_time, ufs_calls.store_event)


@kernel
def _postgres_on_device(m, device, until):
    return _loop(m, device, until, postgres_run.step, serve, _never, _no_event)


@kernel
def _innodb_on_zfs(m, pool, until):
    return _loop(m, pool, until, innodb_run.step, zfs_files.take_calls, zfs_files.next_time, zfs_files.store_event)


@kernel
def _innodb_on_two(m, store, until):
    return _loop(m, store, until, innodb_run.step, zfs_files.take_calls_of_two, zfs_files.next_time_of_two,
                 zfs_files.event_of_two)


@kernel
def _innodb_on_ufs(m, ufs, until):
    return _loop(m, ufs, until, innodb_run.step, ufs_calls.take_calls, ufs_calls.next_time, ufs_calls.store_event)


@kernel
def _innodb_on_device(m, device, until):
    return _loop(m, device, until, innodb_run.step, serve, _never, _no_event)


_POSTGRES = (_postgres_on_zfs, _postgres_on_two, _postgres_on_ufs, _postgres_on_device)
_INNODB = (_innodb_on_zfs, _innodb_on_two, _innodb_on_ufs, _innodb_on_device)


def run(both, until):
    """Until the database has done what it is to do, or `until` (ns), or no transactions are left. Returns which."""
    kernels, m = (_INNODB, both.innodb) if both.postgres is None else (_POSTGRES, both.postgres)
    if both.zfs is not None and both.zfs.log is None:
        return kernels[0](m, both.zfs.data, until)
    stores = (both.zfs, both.ufs, both.device)
    which = next(i for i, store in enumerate(stores) if store is not None)
    return kernels[1 + which](m, stores[which], until)


def _run_all(both, of_database, m, draws):
    how = run(both, m.s.duration_ns)
    while how == OUT_OF_DRAWS:
        of_database.more_draws(m, draws)
        how = run(both, m.s.duration_ns)
    if how == STUCK:
        raise ValueError(f"nobody has committed for an hour of the simulated time, after {m.counts[COMMITS]} transactions: "
                         "every process waits for what never comes; choose other settings, and report these")
    if both.zfs is not None:
        zfs_files.check_end(both.zfs)
    return of_database.result_of(m)


# ---- PostgreSQL ----


def _file_rows(first_page, n_pages, most):
    """Files of 1 GB each, as many as a table of `most` pages needs."""
    n_files = (most - 1 >> FILE_SHIFT) + 1
    per_file = 1 << FILE_SHIFT
    return {(first_page >> FILE_SHIFT) + i: (np.clip(n_pages - i * per_file, 0, per_file) * PAGE_BYTES,
                                             np.clip(most - i * per_file, 0, per_file) * PAGE_BYTES, PAGE_BYTES)
            for i in range(n_files)}


def postgres_files(database, s):
    """What a store has to know of a database of `model.postgres` under settings `s`: see `new_store` of model.zfs_files."""
    rows = {}
    for columns in database.relations:
        most = int(columns[N_PAGES] + s.n_transactions // columns[ROWS_PER_PAGE] + 2)
        rows |= _file_rows(int(columns[FIRST_PAGE]), int(columns[N_PAGES]), most)
        if columns[FIRST_LEAF] >= 0:
            rows |= _file_rows(int(columns[FIRST_LEAF]), int(columns[N_LEAVES]), int(columns[N_LEAVES]))
    empty = (0, PAGE_BYTES, PAGE_BYTES)
    n_segments = int(np.ceil(3 * s.checkpoint_segments)) + 4  # between the one before the last checkpoint and the last made
    ready = n_segments if s.ready_segments < 0 else min(n_segments, int(s.ready_segments))
    log = (ready * SEGMENT_BYTES, n_segments * SEGMENT_BYTES, PAGE_BYTES)
    return np.array([log, *(rows.get(file, empty) for file in range(database.n_files))], np.int64)


def n_processes_of(s):
    """Of PostgreSQL: the clients, the WAL writer, the checkpointer, the background writer."""
    return s.n_clients + 3


def simulate_postgres(database, s, both, seed=0):
    """Run the transactions of `database` on the store of `both`, which has no database: a Result of model.postgres_run."""
    m, draws = postgres_start.start(database, s, seed)
    return _run_all(both._replace(postgres=m), postgres_run, m, draws)


# ---- InnoDB ----


def innodb_files(test, s):
    """What a store has to know of a test of `model.sysbench` under settings `s`: log, table space, double-write area.
    All are made as long as they will ever be."""
    log, space = s.n_log_files * s.log_file_bytes, new_table(test.n_rows).n_pages * INNODB_PAGE
    area = CHUNK_PAGES * INNODB_PAGE
    return np.array([(n, n, INNODB_PAGE) for n in (log, space, area)], np.int64)


def innodb_processes(s):
    return s.n_clients + 4 + s.write_io_threads


def simulate_innodb(test, s, both, seed=0):
    """Run the transactions of `test` on the store of `both`, which has no database: a Result of model.innodb_run."""
    m, draws = innodb_start.start(test, s, seed)
    return _run_all(both._replace(innodb=m), innodb_run, m, draws)
