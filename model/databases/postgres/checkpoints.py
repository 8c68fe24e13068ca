"""PostgreSQL's checkpoints: what was dirty when one began is written, spread over time, and made stable at the end.

 1. *When.* `checkpoint_timeout` after the last one began, or when the log has filled `checkpoint_segments` - 1 segments
    behind the one in which it began. None begins while one is going on, nor if nothing was logged since.
 2. *Beginning.* The place in the log is noted (REDO): from now on the first change of every page carries its image.
    All dirty buffers are marked; what becomes dirty later is none of this checkpoint's business.
 3. *Writing.* Marked buffers one after the other, from the clock's hand on (from 9.6 on in order of files and blocks).
    A buffer that somebody else has written has lost its mark. After each write, a nap of 200 ms (`bgwriter_delay`; 100
    ms from 9.2 on), if

        written / marked x checkpoint_completion_target  >=  time since it began / checkpoint_timeout
                                                   and  >=  log since it began / checkpoint_segments

    else on to the next one at once. So writes come in small bursts between naps, and, if the target cannot be met, without a
    pause.
 4. *End.* fsync of every file with writes since its last fsync; the checkpoint's record is logged and made stable;
    pg_control.

A file system that kept the writes in memory has to have them on disk when the fsyncs of rule 4 return. On ZFS those of the
last transaction groups go through the intent log.

Sources: bgwriter.c (BackgroundWriterMain, CheckpointWriteDelay, IsCheckpointOnSchedule), bufmgr.c (BufferSync), md.c
(mdsync), xlog.c (CreateCheckPoint, XLogCheckpointNeeded) of 8.3. Left out: commit log and subtransaction pages (2 bits
a transaction); checkpoint_flush_after of 9.6 and later.
"""

from model.databases.postgres import columns as pg
from model.databases.postgres import phases as phase
from model.databases.postgres import stats as stat
from model.databases.postgres.buffers import DIRTY, NEEDED, claim, written
from model.databases.postgres.wal import acquire_insert, flush
from model.databases.postgres.wal_segments import SEGMENT_PAYLOAD, recycle
from model.events.calendar import set_time
from model.events.servers import count, release_lock
from model.filesystems.calls import CONTROL, FSYNC, ask
from model.jit import kernel, part

RECORD_BYTES = 32 + 40  # of a checkpoint: header, and CheckPoint of pg_control.h in 8.3


# ---- beginning ----


@part
def rest(m, now, p):
    """Rule 1. True if one begins."""
    state = m.checkpoint
    due = state[pg.BEGAN_AT] + m.s.checkpoint_timeout_ns
    if not m.wal[pg.IS_REQUESTED] and now < due:
        set_time(m.calendar, p, due)
        return False
    m.wal[pg.IS_REQUESTED] = 0
    if m.wal[pg.INSERTED] == m.wal[pg.REDO]:
        state[pg.BEGAN_AT] = now
        set_time(m.calendar, p, now + m.s.checkpoint_timeout_ns)
        return False
    state[pg.BEGAN_AT], state[pg.BEGAN_LSN], state[pg.IS_BUSY] = now, m.wal[pg.INSERTED], 1
    return acquire_insert(m, p, phase.MARK)


@part
def mark(m, now, p):
    """Rule 2: a checkpoint begins, and all that is dirty is marked."""
    state, flags = m.checkpoint, m.buffers.flags
    m.wal[pg.REDO] = m.wal[pg.INSERTED]
    release_lock(m, now, pg.WAL_INSERT)
    n = 0
    for frame in range(1, len(flags)):
        if flags[frame] & DIRTY:
            flags[frame] |= NEEDED
            n += 1
    state[pg.TO_WRITE], state[pg.N_DONE], state[pg.N_PASSED] = n, 0, 0
    state[pg.PLACE] = -1 if m.s.is_sorted else m.buffers.clock[pg.HAND]
    m.process[p, pg.PHASE] = phase.SCAN


# ---- writing ----


@part
def _next_in_order(m):
    """By file and block."""
    state, frame_of = m.checkpoint, m.pages.frame_of
    while state[pg.PLACE] + 1 < len(frame_of):
        state[pg.PLACE] += 1
        frame = frame_of[state[pg.PLACE]]
        if frame and m.buffers.flags[frame] & NEEDED:
            return frame
    return 0


@part
def _next_of_the_clock(m):
    state, n_frames = m.checkpoint, len(m.buffers.flags) - 1
    while state[pg.N_PASSED] < n_frames:
        state[pg.N_PASSED] += 1
        state[pg.PLACE] = state[pg.PLACE] % n_frames + 1
        if m.buffers.flags[state[pg.PLACE]] & NEEDED:
            return state[pg.PLACE]
    return 0


@part
def scan(m, p):
    """On to the next buffer."""
    frame = 0
    if m.checkpoint[pg.N_DONE] < m.checkpoint[pg.TO_WRITE]:
        frame = _next_in_order(m) if m.s.is_sorted else _next_of_the_clock(m)
    if frame == 0:
        m.checkpoint[pg.FILE] = 0
        m.process[p, pg.PHASE] = phase.SYNC
        return
    claim(m, p, frame, phase.PAGE_WRITE)


@kernel
def is_on_schedule(m, now):
    """Rule 3: whether so much is written that the checkpointer may nap."""
    state = m.checkpoint
    progress = state[pg.N_DONE] / state[pg.TO_WRITE] * m.s.checkpoint_completion_target
    if progress < (m.wal[pg.INSERTED] - state[pg.BEGAN_LSN]) / SEGMENT_PAYLOAD / m.s.checkpoint_segments:
        return False
    return progress >= (now - state[pg.BEGAN_AT]) / m.s.checkpoint_timeout_ns


@part
def page_written(m, now, p):
    """A page of the checkpoint is written. True if the next one follows at once, false after a nap (rule 3)."""
    written(m, p)
    m.checkpoint[pg.N_DONE] += 1
    m.process[p, pg.PHASE] = phase.SCAN
    m.checkpoint[pg.IS_BUSY] = 1
    if m.checkpoint[pg.N_DONE] < m.checkpoint[pg.TO_WRITE] and is_on_schedule(m, now):
        m.checkpoint[pg.IS_BUSY] = 0
        count(m, stat.CHECKPOINT_NAPS, 1, now)
        set_time(m.calendar, p, now + m.s.checkpoint_nap_ns)
        return False
    return True


# ---- the end ----


@part
def sync(m, now, p):
    """Rule 4. True when all files are stable."""
    state, unsynced = m.checkpoint, m.unsynced
    while state[pg.FILE] < len(unsynced):
        file = state[pg.FILE]
        state[pg.FILE] += 1
        if unsynced[file]:
            unsynced[file] = 0
            count(m, stat.FSYNCS, 1, now)
            ask(m.calls, p, FSYNC, file, 0, 0)
            return False
    m.process[p, pg.PHASE], m.process[p, pg.THEN] = phase.INSERT, phase.RECORDED
    m.process[p, pg.LOG_BYTES] = RECORD_BYTES
    return True


@part
def recorded(m, p):
    """The record of the checkpoint is in the log, which is flushed up to it."""
    flush(m, p, m.process[p, pg.LSN], phase.CONTROL_WRITE)


@part
def control_write(m, p):
    """The control file, one page of 8 KiB, is written."""
    m.process[p, pg.PHASE] = phase.CHECKPOINT_DONE
    ask(m.calls, p, CONTROL, 0, 0, 8192)


@part
def checkpoint_done(m, now, p):
    """The checkpoint is over: old segments of the log are used again, and the checkpointer rests."""
    count(m, stat.CHECKPOINTS, 1, now)
    recycle(m)
    m.checkpoint[pg.IS_BUSY] = 0
    m.process[p, pg.PHASE] = phase.REST
