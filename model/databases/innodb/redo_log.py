"""InnoDB's redo log: a buffer, files that are written in a circle, and flushes that committers share.

 1. *Places* in the log are bytes of its files: blocks of 512 B, of which 12 are a header and 4 a trailer.
 2. *Log up to a place.* If that is written (and stable, if it must be), nothing. Else, if somebody is writing, wait until
    that is done and look again: all who wait are woken at once. Else write all there is by now. That is from the beginning
    of the block in which the last write ended, to the end of the block in which the log ends. Then make it stable. So those
    who come during a flush share the next one: group commit.
 3. *Commit* wants its log stable (`innodb_flush_log_at_trx_commit` = 1), written (2), or nothing (0). In any case the
    master thread makes all of it stable once a second.
 4. *With a binary log* (`log_bin`) there are two phases: "prepared" is logged and made stable as in rule 2. Then a lock is
    held through the write of the binary log (to memory: `sync_binlog` = 0) and the commit. Until the plugin 1.0.4 it is held
    while the commit is made stable: one transaction at a time, no group commit.
 5. *Room.* The files hold a certain age of changes that are nowhere else. Before a statement that changes anything: if
    more than half of the buffer is not written, write it; and see `model.databases.innodb.checkpoints`.
 6. *A write call* ends at the end of a file. `innodb_flush_method`: fsync after writing (default, on Solaris too), or
    the log opened with O_SYNC (`O_DSYNC`), or no sync at all (`nosync`).

Sources: log0log.c of 5.1 (log_write_up_to, log_group_write_buf, log_check_margins), trx0trx.c (trx_commit_off_kernel),
ha_innodb.cc (innobase_xa_prepare, innobase_commit; prepare_commit_mutex). Left out: the header of 2 KiB of each file, but
for the capacity.
"""

from model.databases.innodb import columns as inno
from model.databases.innodb import phases as phase
from model.databases.innodb import stats as stat
from model.databases.innodb.state import FDATASYNC, O_DSYNC
from model.events.queues import NOBODY, leave
from model.events.servers import count, take_lock, wake
from model.filesystems.calls import WAL_SYNC, WAL_WRITE, WAL_WRITE_THROUGH, ask
from model.jit import kernel, part

BLOCK, HEADER, TRAILER = 512, 12, 4
PAYLOAD = BLOCK - HEADER - TRAILER
FIRST_LSN = 16 * BLOCK + HEADER  # LOG_START_LSN, and the header of the first block


@kernel
def after(place, n_bytes):
    """Where a record of `n_bytes` ends that begins at `place`. Rule 1."""
    room = BLOCK - TRAILER - place % BLOCK
    if n_bytes < room:
        return place + n_bytes
    n_bytes -= room
    return place + room + TRAILER + HEADER + n_bytes // PAYLOAD * BLOCK + n_bytes % PAYLOAD


@kernel
def log_bytes(m, now, n_bytes):
    """Log a record."""
    n_bytes = int(n_bytes * m.s.log_factor)
    m.log[inno.MADE] = after(m.log[inno.MADE], n_bytes)
    count(m, stat.LOGGED, n_bytes, now)


@kernel
def log_up_to(m, p, lsn, must_be_stable, then):
    """Let `p` wait until the log is written up to `lsn`; then its phase is `then`."""
    m.process[p, inno.PHASE], m.process[p, inno.THEN] = phase.LOG_WANTED, then
    m.process[p, inno.LSN], m.process[p, inno.MUST_BE_STABLE] = lsn, must_be_stable


@part
def log_wanted(m, p):
    """Rule 2. True if `p` goes on."""
    place = m.log[inno.STABLE] if m.process[p, inno.MUST_BE_STABLE] else m.log[inno.WRITTEN]
    if m.process[p, inno.LSN] <= place:
        m.process[p, inno.PHASE] = m.process[p, inno.THEN]
        return True
    if not take_lock(m, inno.LOG_QUEUE, p):
        return False
    m.log[inno.TARGET] = m.log[inno.MADE]
    m.process[p, inno.PHASE] = phase.LOG_HELD
    return True


@part
def log_held(m, now, p):
    """Write on, or make stable what is written. Rule 6."""
    log = m.log
    if log[inno.WRITTEN] < log[inno.TARGET]:
        first, last = log[inno.WRITTEN] // BLOCK * BLOCK, -(-log[inno.TARGET] // BLOCK) * BLOCK
        end = min(last, (first // m.s.log_file_bytes + 1) * m.s.log_file_bytes)
        log[inno.CALL_END] = min(log[inno.TARGET], end)
        m.process[p, inno.PHASE] = phase.LOG_WRITTEN
        count(m, stat.WAL_CALLS, 1, now)
        count(m, stat.WAL_BYTES, end - first, now)
        operation = WAL_WRITE_THROUGH if m.s.flush_method == O_DSYNC else WAL_WRITE
        ask(m.calls, p, operation, 0, first % (m.s.log_file_bytes * m.s.n_log_files), end - first)
        return False
    m.process[p, inno.PHASE] = phase.LOG_SYNCED
    if m.process[p, inno.MUST_BE_STABLE] and m.s.flush_method == FDATASYNC:
        ask(m.calls, p, WAL_SYNC, 0, 0, 0)
        return False
    return True


@part
def log_written(m, p):
    """The log is written as far as the call went; `p`, which holds the log, looks again."""
    m.log[inno.WRITTEN] = m.log[inno.CALL_END]
    m.process[p, inno.PHASE] = phase.LOG_HELD


@part
def log_synced(m, now, p):
    """Let everybody look again."""
    if m.process[p, inno.MUST_BE_STABLE] or m.s.flush_method == O_DSYNC:
        m.log[inno.STABLE] = m.log[inno.WRITTEN]
        count(m, stat.FLUSHES, 1, now)
    m.busy[inno.LOG_QUEUE] = 0
    waiter = leave(m.queue, m.after, inno.LOG_QUEUE)
    while waiter != NOBODY:
        wake(m, now, waiter)
        waiter = leave(m.queue, m.after, inno.LOG_QUEUE)
    m.process[p, inno.PHASE] = m.process[p, inno.THEN]
