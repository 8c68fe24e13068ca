"""Oracle's log writer and database writers.

    log writer        all redo that there is, in one write that is stable when it returns. Who commits meanwhile waits for
                      the next one: group commit by queueing
    database writer   a batch: buffers of the write list, then those whose first change lies too far back. Each goes by a
                      write that is stable when it returns. When all have returned, the next batch

 1. *Too far back*: the checkpoint position is to be no further behind the end of the redo than 90 % of one log file.
 2. *The log is a ring*. Redo is not written over any that the checkpoint position still needs. The log writer waits for the
    database writers ("checkpoint not complete"), and those who commit wait for it.
 3. A block whose redo is not on disk yet is not written before it. Here redo comes with the commit, so a block which is
    written may be ahead of it by one write of the log. Left out.
 4. Files are opened with O_DSYNC, data and log alike: on ZFS each write is a commit of the intent log.

Sources: Oracle Database Concepts, Process Architecture (what LGWR and DBWn do, group commit). Performance Tuning Guide, 10g
and 11g, Instance Recovery (90 % of the smallest log file); on O_DSYNC: R. Bourbonnais's posts on ZFS and Oracle, and truss
of any instance with filesystemio_options = none or asynch. Left out: archiving, FAST_START_MTTR_TARGET, log writes that a
third of the log buffer or three seconds ask for. Also left out: the checkpoint position waits for writes under way (here it
goes on as they begin).
"""

from model.databases.oracle import columns as ora
from model.databases.oracle import phases as phase
from model.databases.oracle import stats as stat
from model.databases.oracle.buffers import clean, is_written, oldest_redo
from model.databases.oracle.state import BLOCK_BYTES, DATA_FILE, IN_WRITE, REDO_BLOCK
from model.events import queue_columns as ends
from model.events.calendar import set_time
from model.events.queues import NOBODY, leave
from model.events.servers import count
from model.filesystems.calls import WAL_WRITE_THROUGH, WRITE_THROUGH, ask
from model.jit import kernel, part

# ---- the log writer ----


@kernel
def _rounded(n_bytes):
    return -(-n_bytes // REDO_BLOCK) * REDO_BLOCK


@kernel
def write_log(m, now):
    """Rule 2; nothing if it is at it, or nobody waits."""
    log, s = m.log, m.s
    if log[ora.IS_WRITING] or m.queue[ora.COMMIT, ends.FIRST] == NOBODY:
        return
    if log[ora.MADE] - oldest_redo(m) > (s.n_log_files - 1) * s.log_file_bytes:
        count(m, stat.LOG_FULL, 1, now)
        return
    log[ora.IS_WRITING], log[ora.TARGET] = 1, _rounded(log[ora.MADE])
    log[ora.MADE] = log[ora.TARGET]
    _ask_log(m, now)


@kernel
def _ask_log(m, now):
    """A write of the log ends at the end of a file."""
    log, size = m.log, m.s.log_file_bytes
    first = log[ora.WRITTEN]
    log[ora.CALL_END] = min(log[ora.TARGET], (first // size + 1) * size)
    count(m, stat.WAL_CALLS, 1, now)
    count(m, stat.WAL_BYTES, log[ora.CALL_END] - first, now)
    count(m, stat.CHECKPOINTS, int(log[ora.CALL_END] % size == 0), now)
    m.process[m.s.n_users, ora.PHASE] = phase.LOG_DONE
    ask(m.calls, m.s.n_users, WAL_WRITE_THROUGH, 0, first % (size * m.s.n_log_files), log[ora.CALL_END] - first)


@part
def log_done(m, now):
    """The redo is safe: those who waited for it have committed."""
    log = m.log
    log[ora.WRITTEN] = log[ora.CALL_END]
    if log[ora.WRITTEN] < log[ora.TARGET]:
        _ask_log(m, now)
        return
    log[ora.IS_WRITING] = 0
    count(m, stat.FLUSHES, 1, now)
    user = m.queue[ora.COMMIT, ends.FIRST]
    while user != NOBODY and m.process[user, ora.REDO] <= log[ora.WRITTEN]:
        leave(m.queue, m.after, ora.COMMIT)
        set_time(m.calendar, user, now + m.s.handoff_ns)
        user = m.queue[ora.COMMIT, ends.FIRST]
    write_log(m, now)


# ---- the database writers ----


@kernel
def _next_to_write(m):
    """A buffer, or 0."""
    buffers, end = m.buffers, len(m.buffers.block) - 1
    if m.pool[ora.N_LISTED]:
        frame = buffers.use.newer[end]
        while frame != end:
            if not buffers.flags[frame] & IN_WRITE:
                return frame
            frame = buffers.use.newer[frame]
    frame = buffers.dirty.newer[0]
    if frame and m.log[ora.MADE] - buffers.first_redo[frame] > m.s.log_file_bytes * 9 // 10:
        return frame
    return 0


@kernel
def _write(m, now, process, frame):
    clean(m, frame)
    m.buffers.flags[frame] |= IN_WRITE
    m.process[process, ora.FRAME], m.process[process, ora.PHASE] = frame, phase.WRITE_DONE
    count(m, stat.BLOCK_WRITES, 1, now)
    ask(m.calls, process, WRITE_THROUGH, DATA_FILE, m.buffers.block[frame] * BLOCK_BYTES, BLOCK_BYTES)


@kernel
def _begin_batch(m, now, writer):
    first = m.s.n_users + 1 + writer * m.s.writes_per_writer
    for i in range(m.s.writes_per_writer):
        frame = _next_to_write(m)
        if frame == 0:
            return
        m.writers[writer, ora.N_OUT] += 1
        _write(m, now, first + i, frame)


@kernel
def wake_writers(m, now):
    """Those that are idle look whether there is something to write."""
    for writer in range(m.s.n_writers):
        if m.writers[writer, ora.N_OUT] == 0:
            _begin_batch(m, now, writer)


@part
def write_done(m, now, process):
    """A write has returned: its buffer can be taken, idle writers look for more, and the log writer for room."""
    writer = (process - m.s.n_users - 1) // m.s.writes_per_writer
    is_written(m, now, m.process[process, ora.FRAME])
    m.writers[writer, ora.N_OUT] -= 1
    wake_writers(m, now)
    write_log(m, now)
