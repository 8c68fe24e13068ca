"""A database and the files it is on, together: whoever's event is next goes on, at equal times the database.

Which database and which store is settled when this is compiled (`model.jit.either`): of the fields of `Both` that are None
nothing is compiled. A database has a calendar of its processes and `calls` (`model.file_calls`); a store the three kernels
that `model.zfs_files` names.
"""

from typing import NamedTuple

import numpy as np

from model import innodb_run, innodb_start, ufs_calls, zfs_files
from model.calendar import NEVER, next_source, set_time
from model.file_calls import Device, serve
from model.innodb import PAGE_BYTES as INNODB_PAGE_BYTES
from model.innodb import new_table
from model.innodb_machine import CHUNK_PAGES
from model.innodb_machine import COMMITS as INNODB_COMMITS
from model.innodb_machine import Machine as Innodb
from model.jit import either, kernel
from model.postgres import FILE_SHIFT, FIRST_LEAF, FIRST_PAGE, N_LEAVES, N_PAGES, PAGE_BYTES, ROWS_PER_PAGE
from model.postgres_machine import COMMITS, SEGMENT_BYTES
from model.postgres_machine import Machine as Postgres
from model.postgres_run import has_draws, more_draws, result_of
from model.postgres_run import step as step_postgres
from model.postgres_start import start

DONE, OUT_OF_DRAWS = 0, 1  # how `run` ended


class Both(NamedTuple):
    """One database and one store; all others are None."""

    postgres: Postgres | None = None
    innodb: Innodb | None = None
    zfs: zfs_files.Store | None = None
    ufs: object | None = None
    device: Device | None = None  # of constant times


# ---- databases ----


@kernel
def _postgres_step(b, now, p):
    step_postgres(b.postgres, now, p)


@kernel
def _postgres_goes_on(b):
    return b.postgres.counts[COMMITS] < b.postgres.s.n_transactions


@kernel
def _postgres_has_draws(b):
    return has_draws(b.postgres)


@kernel
def _postgres_calendar(b):
    return b.postgres.calendar


@kernel
def _postgres_calls(b):
    return b.postgres.calls


@kernel
def _innodb_step(b, now, p):
    innodb_run.step(b.innodb, now, p)


@kernel
def _innodb_goes_on(b):
    return b.innodb.counts[INNODB_COMMITS] < b.innodb.s.n_transactions


@kernel
def _innodb_has_draws(b):
    return innodb_run.has_draws(b.innodb)


@kernel
def _innodb_calendar(b):
    return b.innodb.calendar


@kernel
def _innodb_calls(b):
    return b.innodb.calls


# ---- stores ----


@kernel
def _zfs_takes(b, calls, calendar, now):
    zfs_files.take_calls(b.zfs, calls, calendar, now)


@kernel
def _zfs_time(b):
    return zfs_files.next_time(b.zfs)


@kernel
def _zfs_event(b, calendar, now):
    zfs_files.store_event(b.zfs, calendar, now)


@kernel
def _ufs_takes(b, calls, calendar, now):
    ufs_calls.take_calls(b.ufs, calls, calendar, now)


@kernel
def _ufs_time(b):
    return ufs_calls.next_time(b.ufs)


@kernel
def _ufs_event(b, calendar, now):
    ufs_calls.store_event(b.ufs, calendar, now)


@kernel
def _device_takes(b, calls, calendar, now):
    serve(b.device, calls, calendar, now)


@kernel
def _device_time(b):
    return NEVER


@kernel
def _device_event(b, calendar, now):
    return


_step = either("innodb", _postgres_step, _innodb_step)
_goes_on = either("innodb", _postgres_goes_on, _innodb_goes_on)
_has_draws = either("innodb", _postgres_has_draws, _innodb_has_draws)
_calendar_of = either("innodb", _postgres_calendar, _innodb_calendar)
_calls_of = either("innodb", _postgres_calls, _innodb_calls)
_take_calls = either("zfs", either("ufs", _device_takes, _ufs_takes), _zfs_takes)
_next_time = either("zfs", either("ufs", _device_time, _ufs_time), _zfs_time)
_store_event = either("zfs", either("ufs", _device_event, _ufs_event), _zfs_event)


# ---- the loop ----


@kernel
def run(both, until):
    """Until the database has done what it is to do, or `until` (ns). Returns how it ended."""
    calendar, calls = _calendar_of(both), _calls_of(both)
    while _goes_on(both):
        p, then = next_source(calendar), _next_time(both)
        now = calendar.time[p]
        if min(now, then) >= until:
            return DONE
        if then < now:
            _store_event(both, calendar, then)
            continue
        if not _has_draws(both):
            return OUT_OF_DRAWS
        set_time(calendar, p, NEVER)
        _step(both, now, p)
        _take_calls(both, calls, calendar, now)
    return DONE


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
    m, draws = start(database, s, seed)
    both = both._replace(postgres=m)
    while run(both, m.s.duration_ns) == OUT_OF_DRAWS:
        more_draws(m, draws)
    if both.zfs is not None:
        zfs_files.check_end(both.zfs)
    return result_of(m)


# ---- InnoDB ----


def innodb_files(test, s):
    """What a store has to know of a test of `model.sysbench` under settings `s`: log, table space, double-write area.
    All are made as long as they will ever be."""
    log, space = s.n_log_files * s.log_file_bytes, new_table(test.n_rows).n_pages * INNODB_PAGE_BYTES
    area = CHUNK_PAGES * INNODB_PAGE_BYTES
    return np.array([(n, n, INNODB_PAGE_BYTES) for n in (log, space, area)], np.int64)


def innodb_processes(s):
    return s.n_clients + 4 + s.write_io_threads


def simulate_innodb(test, s, both, seed=0):
    """Run the transactions of `test` on the store of `both`, which has no database: a Result of model.innodb_run."""
    m, draws = innodb_start.start(test, s, seed)
    both = both._replace(innodb=m)
    while run(both, m.s.duration_ns) == OUT_OF_DRAWS:
        innodb_run.more_draws(m, draws)
    if both.zfs is not None:
        zfs_files.check_end(both.zfs)
    return innodb_run.result_of(m)
