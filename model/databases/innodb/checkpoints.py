"""Room in InnoDB's log files: how old a change may be before its page is written, and checkpoints.

Two ages, in bytes of log: of the oldest change that is in memory only, and of the last checkpoint. A recovery would
begin there, and the files before it may be written over. The files hold

    capacity = 9/10 of all files;   margin = 9/10 of (capacity less 64 KiB a thread less 128 KiB)

 1. *Before a statement that changes anything*, and once a second by the master:
    the oldest change older than 7/8 of the margin: flush what is older (whoever notices does it, others go on).
    Older than 15/16: flush twice what is above that, and wait for the end (a sharp checkpoint).
    The checkpoint older than 31/32: make one. Older than the margin: make one and wait.
 2. *A checkpoint*: fsync of the table space, if pages were written since the last one. The log stable up to the oldest
    change. That place is noted in the first file of the log: a block of 512 B, made stable.

Sources: log0log.c of 5.1 (log_calc_max_ages, log_checkpoint_margin, log_checkpoint, LOG_POOL_PREFLUSH_RATIO_SYNC ...).
"""

from model.databases.innodb import columns as inno
from model.databases.innodb import phases as phase
from model.databases.innodb import stats as stat
from model.databases.innodb.buffer_pool import oldest_change
from model.databases.innodb.flush import ALL, start_batch, sync, table_space_is_synced, tell_who_waits, wait_for
from model.databases.innodb.redo_log import BLOCK, log_up_to
from model.databases.innodb.state import FDATASYNC, O_DSYNC
from model.databases.innodb.tables import TABLESPACE
from model.events.calendar import set_time
from model.events.servers import count
from model.filesystems.calls import WAL_SYNC, WAL_WRITE, WAL_WRITE_THROUGH, ask
from model.jit import kernel, part


@kernel
def check_room(m, p, then):
    """Let `p` see to rule 1; then its phase is `then`."""
    m.process[p, inno.PHASE], m.process[p, inno.ROOM_THEN] = phase.FREE_CHECK, then


@kernel
def _wait_for_batch(m, now, p, limit):
    """To wait for flushing, by whomever; then look again."""
    count(m, stat.LOG_STALLS, 1, now)
    start_batch(m, now, inno.LIST, ALL, limit)
    wait_for(m, p, inno.LIST)


@part
def free_check(m, now, p):
    """Rule 1. True if `p` goes on at once."""
    log, limits, then = m.log, m.limits, m.process[p, inno.ROOM_THEN]
    if log[inno.MADE] - log[inno.WRITTEN] > m.s.log_buffer_bytes // 2:
        log_up_to(m, p, log[inno.MADE], 0, phase.FREE_CHECK)
        return True
    oldest = oldest_change(m)
    age = log[inno.MADE] - oldest
    if age > limits[inno.WAIT_AGE]:
        _wait_for_batch(m, now, p, oldest + 2 * (age - limits[inno.WAIT_AGE]))
        return False
    if log[inno.MADE] - log[inno.CHECKPOINT_AT] > limits[inno.CHECKPOINT_AGE]:
        start_checkpoint(m, now)
        if log[inno.MADE] - log[inno.CHECKPOINT_AT] > limits[inno.MARGIN]:
            count(m, stat.LOG_STALLS, 1, now)
            wait_for(m, p, inno.CHECKPOINT)
            return False
    m.process[p, inno.PHASE] = then
    if age > limits[inno.FLUSH_AGE] and start_batch(m, now, inno.LIST, ALL, oldest + age - limits[inno.FLUSH_AGE]):
        wait_for(m, p, inno.LIST)
        return False
    return True


# ---- checkpoints ----


@kernel
def start_checkpoint(m, now):
    """Rule 2: a checkpoint begins, unless there is one under way."""
    if m.batch[inno.OF_CHECKPOINT, inno.RUNS]:
        return
    m.batch[inno.OF_CHECKPOINT, inno.RUNS] = 1
    p = m.s.n_clients + inno.CHECKPOINT
    m.process[p, inno.PHASE] = phase.CHECKPOINT_PAGES
    set_time(m.calendar, p, now)


@part
def checkpoint_pages(m, now, p):
    """True if there is nothing to be synced."""
    m.log[inno.NEXT_CHECKPOINT] = oldest_change(m)
    m.process[p, inno.PHASE] = phase.CHECKPOINT_LOG
    return m.pool[inno.N_STABLE] == m.pool[inno.N_WRITTEN] or sync(m, now, p, TABLESPACE, phase.CHECKPOINT_LOG)


@part
def checkpoint_log(m, p):
    """The table space is stable; the log is made stable up to the place of the checkpoint."""
    table_space_is_synced(m, p)
    log_up_to(m, p, m.log[inno.NEXT_CHECKPOINT], 1, phase.CHECKPOINT_WRITE)


@part
def checkpoint_write(m, p):
    """The place of the checkpoint goes into a block of 512 B of the first log file."""
    m.process[p, inno.PHASE] = phase.CHECKPOINT_SYNC
    ask(m.calls, p, WAL_WRITE_THROUGH if m.s.flush_method == O_DSYNC else WAL_WRITE, 0, 0, BLOCK)


@part
def checkpoint_sync(m, p):
    """True if there is nothing to wait for."""
    m.process[p, inno.PHASE] = phase.CHECKPOINT_DONE
    if m.s.flush_method == FDATASYNC:
        ask(m.calls, p, WAL_SYNC, 0, 0, 0)
        return False
    return True


@part
def checkpoint_done(m, now):
    """The log before its place may be written over, and those who wait for a checkpoint wake."""
    m.log[inno.CHECKPOINT_AT] = m.log[inno.NEXT_CHECKPOINT]
    m.batch[inno.OF_CHECKPOINT, inno.RUNS] = 0
    count(m, stat.CHECKPOINTS, 1, now)
    tell_who_waits(m, now, inno.CHECKPOINT)
