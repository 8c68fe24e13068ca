"""InnoDB under a closed loop of clients, event by event: what each process does when its time comes.

A process goes on until it has to wait: for a server, a lock, the storage or the clock. Equal times go to the process with
the lower number. `model.simulations.database_server` runs it on a store.
"""

from model.databases.innodb import columns as inno
from model.databases.innodb import phases as phase
from model.databases.innodb.binlog import events_written, group_synced, lead, sync_events, write_events
from model.databases.innodb.checkpoints import (
    checkpoint_done,
    checkpoint_log,
    checkpoint_pages,
    checkpoint_sync,
    checkpoint_write,
    free_check,
)
from model.databases.innodb.client import (
    access,
    commit,
    committed,
    compute,
    lock,
    page_loaded,
    prepared,
    slot,
    statement_done,
    which_pages,
    wire,
)
from model.databases.innodb.flush import (
    area_stable,
    area_write,
    area_write_second,
    chunk_done,
    gather,
    page_written,
    pages_written,
    sync,
)
from model.databases.innodb.master import (
    dirty_pages,
    end_of_second,
    end_of_ten,
    make_checkpoint,
    old_pages,
    room_of_second,
    second,
    tenth_second,
)
from model.databases.innodb.redo_log import log_held, log_synced, log_wanted, log_written
from model.databases.innodb.tables import DOUBLEWRITE
from model.jit import kernel, part

# ---- what a process does next ----


@part
def _client(m, now, p, at):
    """True if it can go on at once."""
    if at == phase.WIRE:
        return wire(m, p)
    if at == phase.SLOT:
        slot(m, now, p)
        return False
    if at == phase.COMPUTE:
        compute(m, now, p)
    elif at == phase.LOCK:
        return lock(m, now, p)
    elif at == phase.PREPARE_PAGES:
        which_pages(m, p)
    elif at == phase.ACCESS:
        return access(m, now, p)
    elif at == phase.LOADED:
        return page_loaded(m, now, p)
    elif at == phase.STATEMENT_DONE:
        return statement_done(m, now, p)
    elif at == phase.COMMIT:
        commit(m, now, p)
    elif at == phase.PREPARED:
        return prepared(m, p)
    else:
        committed(m, now, p)
        return False
    return True


@part
def _group(m, now, p, at):
    """The leader of those who commit together."""
    if at == phase.GROUP_LEADS:
        lead(m, p)
    elif at == phase.GROUP_WRITES:
        write_events(m, now, p)
        return False
    elif at == phase.GROUP_WRITTEN:
        return events_written(m, now, p)
    elif at == phase.GROUP_SYNCS:
        return sync_events(m, now, p)
    else:
        group_synced(m, now, p)
    return True


@part
def _log(m, now, p, at):
    if at == phase.FREE_CHECK:
        return free_check(m, now, p)
    if at == phase.LOG_WANTED:
        return log_wanted(m, p)
    if at == phase.LOG_HELD:
        return log_held(m, now, p)
    if at == phase.LOG_WRITTEN:
        log_written(m, p)
    else:
        log_synced(m, now, p)
    return True


@part
def _master(m, now, p, at):
    if at == phase.SECOND:
        second(m, now, p)
    elif at == phase.ROOM_OF_SECOND:
        room_of_second(m, p)
    elif at == phase.DIRTY_PAGES:
        return dirty_pages(m, now, p)
    elif at == phase.END_OF_SECOND:
        return end_of_second(m, now, p)
    elif at == phase.TENTH_SECOND:
        return tenth_second(m, now, p)
    elif at == phase.OLD_PAGES:
        return old_pages(m, now, p)
    elif at == phase.MAKE_CHECKPOINT:
        make_checkpoint(m, now, p)
        return False
    else:
        end_of_ten(m, now, p)
        return False
    return True


@part
def _batch(m, now, p, at):
    if at == phase.GATHER:
        return gather(m, now, p)
    if at == phase.AREA_WRITE:
        return area_write(m, now, p)
    if at == phase.AREA_WRITE_SECOND:
        return area_write_second(m, now, p)
    if at == phase.AREA_SYNC:
        return sync(m, now, p, DOUBLEWRITE, phase.AREA_STABLE)
    if at == phase.AREA_STABLE:
        area_stable(m, now, p)
        return False
    if at == phase.PAGES_WRITTEN:
        return pages_written(m, now, p)
    chunk_done(m, now, p)
    return True


@part
def _others(m, now, p, at):
    """A write thread, or who makes a checkpoint."""
    if at == phase.PAGE_WRITTEN:
        page_written(m, now, p)
        return False
    if at == phase.CHECKPOINT_PAGES:
        return checkpoint_pages(m, now, p)
    if at == phase.CHECKPOINT_LOG:
        checkpoint_log(m, p)
        return True
    if at == phase.CHECKPOINT_WRITE:
        checkpoint_write(m, p)
        return False
    if at == phase.CHECKPOINT_SYNC:
        return checkpoint_sync(m, p)
    checkpoint_done(m, now)
    return False


@kernel
def step(m, now, p):
    """The event of process `p`: what it does until it has to wait."""
    goes_on = True
    while goes_on:
        at = m.process[p, inno.PHASE]
        if at < phase.GROUP_LEADS:
            goes_on = _client(m, now, p, at)
        elif at < phase.FREE_CHECK:
            goes_on = _group(m, now, p, at)
        elif at < phase.SECOND:
            goes_on = _log(m, now, p, at)
        elif at < phase.GATHER:
            goes_on = _master(m, now, p, at)
        elif at < phase.PAGE_WRITTEN:
            goes_on = _batch(m, now, p, at)
        else:
            goes_on = _others(m, now, p, at)
