"""MySQL's binary log from 5.6 on: those who commit at the same time share its writes and syncs.

    statements done -> prepared -> flush stage: redo stable, binary log written -> sync stage: binary log stable -> committed

 1. A client that finds nobody in the flush stage leads: all who come until it is free again are its group with the next
    leader.
 2. *Flush stage.* The redo log is made stable up to its end if innodb_flush_log_at_trx_commit is 1 (2: written). So all that
    the group has prepared is. Then the group's events are written to the binary log in one call.
 3. *Sync stage*, after which the next group may be in the flush stage: every `sync_binlog` groups an fsync.
 4. All of the group are committed in memory, which logs a little more redo, and let their locks go. That redo is not waited
    for: a recovery finds in the binary log what was committed.

**Events** of a transaction, in rows (the default from 5.7.7 on): GTID, BEGIN and COMMIT 200 B. For every statement a map of
the table and headers, 100 B, and rows. Of an update these are both versions, of a DELETE or an INSERT one.

The binary log lies behind the redo log, in the same file of the calls, and begins again after 1 GiB (max_binlog_size). So
`log_record_kib` of a scenario is of both.

Sources: binlog.cc of 5.7 (MYSQL_BIN_LOG::ordered_commit, process_flush_stage_queue), manual, "Binary Logging Options";
log_event.h. Left out: that groups which wait for the sync stage become one (binlog_group_commit_sync_delay); statements in
place of rows.
"""

from model.databases.innodb import columns as inno
from model.databases.innodb import phases as phase
from model.databases.innodb import stats as stat
from model.databases.innodb.locks import unlock_all
from model.databases.innodb.redo_log import log_bytes, log_up_to
from model.databases.innodb.state import NO_SYNC
from model.databases.innodb.sysbench import DELETE, INSERT, UPDATE_C, UPDATE_K
from model.databases.innodb.tables import LOG_COMMIT, LOG_PREPARE
from model.events.calendar import set_time
from model.events.queues import NOBODY, leave
from model.events.servers import count, release_lock, take_lock
from model.filesystems.calls import WAL_SYNC, WAL_WRITE, ask
from model.jit import kernel, part

TRANSACTION, STATEMENT, ROW = 200, 100, 190  # B of events
FILE_BYTES = 2**30


@kernel
def events_bytes(test):
    """Of a transaction."""
    n = TRANSACTION
    for i in range(len(test.statements)):
        kind = test.statements[i, inno.KIND]
        if kind in (UPDATE_K, UPDATE_C):
            n += STATEMENT + 2 * ROW
        elif kind in (DELETE, INSERT):
            n += STATEMENT + ROW
    return n


@part
def prepare_group(m, now, p):
    """Prepared. True if `p` leads a group now (rule 1)."""
    log_bytes(m, now, LOG_PREPARE)
    m.process[p, inno.PHASE] = phase.GROUP_LEADS
    return take_lock(m, inno.BINLOG, p)


@part
def lead(m, p):
    """Rule 2: the flush stage is free, and all who wait for it are of the group of `p`."""
    m.process[p, inno.LEADER] = p
    member = leave(m.queue, m.after, inno.BINLOG)
    while member != NOBODY:
        m.process[member, inno.LEADER], m.process[member, inno.PHASE] = p, phase.IN_GROUP
        member = leave(m.queue, m.after, inno.BINLOG)
    if m.s.flush_log_at_trx_commit:
        log_up_to(m, p, m.log[inno.MADE], int(m.s.flush_log_at_trx_commit == 1), phase.GROUP_WRITES)
    else:
        m.process[p, inno.PHASE] = phase.GROUP_WRITES


@part
def write_events(m, now, p):
    """The leader `p` writes the events of its group in one call, which ends where the file ends."""
    n = 0
    for member in range(m.s.n_clients):
        n += m.process[member, inno.LEADER] == p
    n_bytes, begin = n * events_bytes(m.test), m.log[inno.BINLOG_END] % FILE_BYTES
    n_bytes = min(n_bytes, FILE_BYTES - begin)
    m.log[inno.BINLOG_END] += n_bytes
    m.log[inno.N_GROUPS] += 1
    m.process[p, inno.PHASE] = phase.GROUP_WRITTEN
    count(m, stat.WAL_CALLS, 1, now)
    count(m, stat.WAL_BYTES, n_bytes, now)
    ask(m.calls, p, WAL_WRITE, 0, m.s.log_file_bytes * m.s.n_log_files + begin, n_bytes)


@part
def events_written(m, now, p):
    """On to the sync stage. True if it is free."""
    m.process[p, inno.PHASE] = phase.GROUP_SYNCS
    is_free = take_lock(m, inno.BINLOG_SYNC, p)
    release_lock(m, now, inno.BINLOG)
    return is_free


@part
def sync_events(m, now, p):
    """Rule 3. True if nothing is to be synced."""
    m.process[p, inno.PHASE] = phase.GROUP_SYNCED
    if m.s.sync_binlog == 0 or m.log[inno.N_GROUPS] % m.s.sync_binlog or m.s.flush_method == NO_SYNC:
        return True
    count(m, stat.FLUSHES, 1, now)
    ask(m.calls, p, WAL_SYNC, 0, 0, 0)
    return False


@part
def group_synced(m, now, p):
    """Rule 4: the group of the leader `p` is committed in memory."""
    release_lock(m, now, inno.BINLOG_SYNC)
    for member in range(m.s.n_clients):
        if m.process[member, inno.LEADER] == p:
            m.process[member, inno.LEADER] = NOBODY
            log_bytes(m, now, LOG_COMMIT)
            unlock_all(m, now, member)
            m.process[member, inno.PHASE] = phase.COMMITTED
            if member != p:
                set_time(m.calendar, member, now + m.s.handoff_ns)
