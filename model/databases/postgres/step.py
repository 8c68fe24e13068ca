"""PostgreSQL under a closed loop of clients, event by event: what each process does when its time comes.

A process goes on until it has to wait: for a server, a lock, the storage or the clock. Equal times go to the process
with the lower number. A run begins as if a checkpoint had just ended: every page's first change carries its image.
`model.simulations.database_server` runs it on a store.
"""

from model.databases.postgres import columns as pg
from model.databases.postgres import phases as phase
from model.databases.postgres import stats as stat
from model.databases.postgres.buffers import (
    clean,
    clean_scan,
    clean_written,
    evict,
    loaded,
    victim_written,
    write_page,
)
from model.databases.postgres.checkpoints import (
    checkpoint_done,
    control_write,
    mark,
    page_written,
    recorded,
    rest,
    scan,
    sync,
)
from model.databases.postgres.client import (
    committed,
    compute,
    flush_commit_record,
    lock,
    prepare,
    statement_done,
    trip,
    work,
)
from model.databases.postgres.wal import (
    acquire_insert,
    begin_copy,
    copy,
    fill,
    fill_held,
    fill_written,
    flush_held,
    flush_write,
    flush_written,
    flushed,
    wal_round,
    wal_round_done,
    want_flush,
)
from model.events.calendar import set_time
from model.jit import kernel, part

# ---- what a process does next ----


@part
def _client(m, now, p, at):
    """True if it can go on at once."""
    if at == phase.TRIP:
        trip(m, now, p)
        return False
    if at == phase.COMPUTE:
        compute(m, now, p)
    elif at == phase.LOCK:
        return lock(m, p)
    elif at == phase.PREPARE:
        prepare(m, now, p)
    elif at == phase.ACCESS:
        return work(m, p)
    elif at == phase.STATEMENT_DONE:
        return statement_done(m, now, p)
    elif at == phase.COMMIT:
        return flush_commit_record(m, now, p)
    elif at == phase.COMMITTED:
        committed(m, now, p)
        return False
    elif at == phase.EVICT:
        return evict(m, now, p)
    elif at == phase.VICTIM_WRITE:
        write_page(m, now, p, stat.BACKEND_WRITES, phase.VICTIM_WRITTEN)
        return False
    elif at == phase.VICTIM_WRITTEN:
        return victim_written(m, now, p)
    else:
        loaded(m, now, p)
    return True


@part
def _log(m, now, p, at):
    if at == phase.INSERT:
        return acquire_insert(m, p, phase.COPY_BEGIN)
    if at == phase.COPY_BEGIN:
        begin_copy(m, now, p)
    elif at == phase.COPY:
        copy(m, now, p)
    elif at == phase.FILL:
        return fill(m, p)
    elif at == phase.FILL_HELD:
        return fill_held(m, now, p)
    elif at == phase.FILL_WRITTEN:
        fill_written(m, now, p)
    elif at == phase.FLUSH:
        return want_flush(m, p)
    elif at == phase.FLUSH_HELD:
        return flush_held(m, now, p)
    elif at == phase.FLUSH_WRITE:
        return flush_write(m, now, p)
    elif at == phase.FLUSH_WRITTEN:
        flush_written(m, now, p)
    else:
        flushed(m, now, p)
    return True


@part
def _checkpointer(m, now, p, at):
    if at == phase.REST:
        return rest(m, now, p)
    if at == phase.MARK:
        mark(m, now, p)
    elif at == phase.SCAN:
        scan(m, p)
    elif at == phase.PAGE_WRITE:
        write_page(m, now, p, stat.CHECKPOINT_WRITES, phase.PAGE_WRITTEN)
        return False
    elif at == phase.PAGE_WRITTEN:
        return page_written(m, now, p)
    elif at == phase.SYNC:
        return sync(m, now, p)
    elif at == phase.RECORDED:
        recorded(m, p)
    elif at == phase.CONTROL_WRITE:
        control_write(m, p)
        return False
    else:
        checkpoint_done(m, now, p)
    return True


@part
def _writers(m, now, p, at):
    """The WAL writer and the background writer."""
    if at == phase.WAL_ROUND:
        wal_round(m, p)
    elif at == phase.WAL_ROUND_DONE:
        wal_round_done(m, now, p)
        return False
    elif at == phase.CLEAN:
        if m.s.one_writer and m.checkpoint[pg.IS_BUSY]:
            set_time(m.calendar, p, now + m.s.bgwriter_delay_ns)
            return False
        clean(m, p)
    elif at == phase.CLEAN_SCAN:
        return clean_scan(m, now, p)
    elif at == phase.CLEAN_WRITE:
        write_page(m, now, p, stat.CLEANER_WRITES, phase.CLEAN_WRITTEN)
        return False
    else:
        clean_written(m, p)
    return True


@kernel
def step(m, now, p):
    """The event of process `p`: what it does until it has to wait."""
    goes_on = True
    while goes_on:
        at = m.process[p, pg.PHASE]
        if at < phase.INSERT:
            goes_on = _client(m, now, p, at)
        elif at < phase.WAL_ROUND:
            goes_on = _log(m, now, p, at)
        elif phase.REST <= at < phase.CLEAN:
            goes_on = _checkpointer(m, now, p, at)
        else:
            goes_on = _writers(m, now, p, at)
    checkpointer = m.s.n_clients + 1
    if m.wal[pg.IS_REQUESTED] and m.process[checkpointer, pg.PHASE] == phase.REST:
        set_time(m.calendar, checkpointer, now)
