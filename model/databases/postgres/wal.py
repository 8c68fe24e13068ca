"""PostgreSQL's log: a ring of pages in memory, one who writes at a time, and commits that share a flush.

 1. *Insert.* The holder of the insert lock copies its record behind the last one. A page of the ring can be used again once
    the page that it held has been written. If the next one has not, the inserter writes it, that one page and no more, with
    the insert lock held. Everybody else who has something to log waits.
 2. *Flush up to a place.* If the log is stable that far, nothing. Else wait for the write lock, and look again:
    whoever had it may have done the work. A client that still has to, writes and flushes all that has been inserted by
    now. If somebody is just inserting, it writes all full pages, and its own record. So those who arrive during a flush
    wait, the first of them flushes for all, and the others find it done: group commit.
 3. *Write calls* are of whole pages that follow each other in the ring and in the segment file: the end of either
    divides a write.
 4. *A waiting client* is woken one after the other in order of arrival, each by the one before (until 9.1). From 9.2 on all
    wake at once.
 5. `commit_delay`: a committer first sleeps, if at least `commit_siblings` others are in transactions that have logged
    something and are not waiting for a lock. From 9.3 on only who flushes does, with the write lock.
 6. *The WAL writer*, every `wal_writer_delay`: writes and flushes the full pages (as far as one call gets). If these are
    stable, it does so with the log up to the last asynchronous commit. So such a commit is stable after three rounds at
    most.

Places are counted in bytes of records. Of every 8 KiB of file 24 are the page's header (16, and 8 for the rest of the record
that it begins with). Sources: xlog.c (XLogInsert, AdvanceXLInsertBuffer, XLogWrite, XLogFlush, XLogBackgroundFlush), xact.c
(RecordTransactionCommit), of 8.3 and 8.4; rule 4: LWLockAcquireOrWait in 9.2. Left out: records that begin on a new page
because their header would not fit.
"""

from model.databases.postgres import columns as pg
from model.databases.postgres import phases as phase
from model.databases.postgres import stats as stat
from model.databases.postgres.pgbench import PAGE_BYTES
from model.databases.postgres.state import FDATASYNC, NO_FSYNC, OPEN_DATASYNC, PAGES_PER_SEGMENT, PAYLOAD
from model.databases.postgres.wal_segments import has_segment, has_written
from model.events.calendar import set_time
from model.events.queues import NOBODY, leave
from model.events.servers import count, release_lock, take_lock, wake
from model.filesystems.calls import WAL_SYNC, WAL_WRITE, WAL_WRITE_THROUGH, ask
from model.jit import kernel, part

DIRTY = 1  # in Buffers.flags: see model.databases.postgres.buffers


# ---- the two locks ----


@kernel
def acquire_insert(m, p, held):
    """The phase of `p` is `held` when it has the lock. True if that is now."""
    m.process[p, pg.PHASE] = held
    return take_lock(m, pg.WAL_INSERT, p)


@kernel
def _acquire_write(m, p, held):
    m.process[p, pg.PHASE] = held
    return take_lock(m, pg.WAL_WRITE_LOCK, p)


@kernel
def _release_write(m, now):
    """Rule 4."""
    process = leave(m.queue, m.after, pg.WAL_WRITE_LOCK)
    m.busy[pg.WAL_WRITE_LOCK] = process != NOBODY and not m.s.wakes_all
    wake(m, now, process)
    while m.s.wakes_all and process != NOBODY:
        m.process[process, pg.PHASE] -= 1  # it has to ask again
        process = leave(m.queue, m.after, pg.WAL_WRITE_LOCK)
        wake(m, now, process)


# ---- inserting ----


@kernel
def ring_end(m):
    """Up to where there is room in the ring."""
    return (m.wal[pg.WRITTEN] // PAYLOAD + m.s.wal_buffers_bytes // PAGE_BYTES) * PAYLOAD


@kernel
def _make_dirty(m, now, page):
    frame = m.pages.frame_of[page]
    count(m, stat.DIRTIED, 1 - (m.buffers.flags[frame] & DIRTY), now)
    m.buffers.flags[frame] |= DIRTY


@part
def begin_copy(m, now, p):
    """The insert lock is held: only now is it known which pages need an image."""
    n_bytes = m.process[p, pg.LOG_BYTES]
    for step in range(m.process[p, pg.N_TOUCHED]):
        page = m.touched[p, step]
        if m.changes[p, step]:
            _make_dirty(m, now, page)
            if m.s.full_page_writes and m.pages.lsn[page] <= m.wal[pg.REDO]:
                n_bytes += m.changes[p, step]
                count(m, stat.IMAGES, 1, now)
    m.process[p, pg.LEFT] = n_bytes
    m.process[p, pg.PHASE] = phase.COPY
    count(m, stat.LOGGED, n_bytes, now)


@part
def copy(m, now, p):
    """Rule 1: `p` copies its record into the ring of pages."""
    n_bytes = min(m.process[p, pg.LEFT], ring_end(m) - m.wal[pg.INSERTED])
    m.wal[pg.INSERTED] += n_bytes
    m.process[p, pg.LEFT] -= n_bytes
    if m.process[p, pg.LEFT]:
        count(m, stat.BUFFER_FULL, 1, now)
        m.process[p, pg.PHASE] = phase.FILL
        return
    m.process[p, pg.LSN] = m.wal[pg.INSERTED]
    for step in range(m.process[p, pg.N_TOUCHED]):
        page = m.touched[p, step]
        if m.changes[p, step]:
            m.pages.lsn[page] = m.wal[pg.INSERTED]
            _make_dirty(m, now, page)
    release_lock(m, now, pg.WAL_INSERT)
    m.process[p, pg.PHASE] = m.process[p, pg.THEN]


@kernel
def _write(m, now, p, target):
    """Rule 3: one call, towards `target`."""
    n_ring = m.s.wal_buffers_bytes // PAGE_BYTES
    first = m.wal[pg.WRITTEN] // PAYLOAD
    end_of_segment = (first // PAGES_PER_SEGMENT + 1) * PAGES_PER_SEGMENT
    end = min((target - 1) // PAYLOAD + 1, (first // n_ring + 1) * n_ring, end_of_segment)
    m.wal[pg.CALL_END] = min(target, end * PAYLOAD)
    n_bytes = (end - first) * PAGE_BYTES
    count(m, stat.WAL_CALLS, 1, now)
    count(m, stat.WAL_BYTES, n_bytes, now)
    operation = WAL_WRITE_THROUGH if m.s.wal_sync_method == OPEN_DATASYNC else WAL_WRITE
    ask(m.calls, p, operation, 0, first * PAGE_BYTES, n_bytes)


@part
def fill(m, p):
    """Rule 1: no page of the ring is free. True if one is by now, or if `p` has the write lock to write one."""
    if ring_end(m) > m.wal[pg.INSERTED]:
        m.process[p, pg.PHASE] = phase.COPY
        return True
    return _acquire_write(m, p, phase.FILL_HELD)


@part
def fill_held(m, now, p):
    """Rule 1, with the write lock: `p` writes one page. True if that is no longer needed."""
    if ring_end(m) > m.wal[pg.INSERTED]:
        _release_write(m, now)
        m.process[p, pg.PHASE] = phase.COPY
        return True
    if has_segment(m, p):
        _write(m, now, p, (m.wal[pg.WRITTEN] // PAYLOAD + 1) * PAYLOAD)
        m.process[p, pg.PHASE] = phase.FILL_WRITTEN
    return False


@part
def fill_written(m, now, p):
    """One page of the ring is free again, and `p` copies on."""
    has_written(m)
    _release_write(m, now)
    m.process[p, pg.PHASE] = phase.COPY


# ---- flushing ----


@kernel
def flush(m, p, lsn, then):
    """Let `p` wait until the log is stable up to `lsn`; then its phase is `then`."""
    m.process[p, pg.PHASE], m.process[p, pg.LSN], m.process[p, pg.THEN] = phase.FLUSH, lsn, then


@part
def want_flush(m, p):
    """Rule 2: true if the log is stable as far as `p` wants, or if `p` has the write lock at once."""
    if m.process[p, pg.LSN] <= m.wal[pg.STABLE]:
        m.process[p, pg.PHASE] = m.process[p, pg.THEN]
        return True
    return _acquire_write(m, p, phase.FLUSH_HELD)


@kernel
def _n_siblings(m, p):
    """Others whose transactions have logged something, and who do not wait for a row."""
    n = 0
    for sibling in range(m.s.n_clients):
        if sibling != p and m.process[sibling, pg.IS_WRITER] and m.process[sibling, pg.PHASE] != phase.PREPARE:
            n += 1
    return n


@kernel
def delays(m, p):
    """Rule 5: whether `p` sleeps `commit_delay` before it flushes."""
    return m.s.commit_delay_ns > 0 and m.s.wal_sync_method != NO_FSYNC and _n_siblings(m, p) >= m.s.commit_siblings


@part
def flush_held(m, now, p):
    """Rule 2: the write lock is held. FRAME counts whether its holder has slept."""
    lsn = m.process[p, pg.LSN]
    if lsn <= m.wal[pg.STABLE]:
        _release_write(m, now)
        m.process[p, pg.PHASE] = m.process[p, pg.THEN]
        return True
    is_commit = m.process[p, pg.THEN] == phase.COMMITTED
    if is_commit and m.s.leader_delays and not m.process[p, pg.FRAME] and delays(m, p):
        m.process[p, pg.FRAME] = 1
        set_time(m.calendar, p, now + m.s.commit_delay_ns)
        return False
    if is_commit:
        m.process[p, pg.FRAME] = 0
    if p == m.s.n_clients:
        m.wal[pg.TARGET] = lsn
    elif m.busy[pg.WAL_INSERT]:
        m.wal[pg.TARGET] = max(lsn, m.wal[pg.INSERTED] // PAYLOAD * PAYLOAD)
    else:
        m.wal[pg.TARGET] = m.wal[pg.INSERTED]
    m.process[p, pg.PHASE] = phase.FLUSH_WRITE
    return True


@part
def flush_write(m, now, p):
    """Rules 2 and 3: `p` writes on up to its target, then flushes. True if there is nothing to wait for."""
    if m.wal[pg.WRITTEN] < m.wal[pg.TARGET]:
        if has_segment(m, p):
            _write(m, now, p, m.wal[pg.TARGET])
            m.process[p, pg.PHASE] = phase.FLUSH_WRITTEN
        return False
    m.process[p, pg.PHASE] = phase.FLUSHED
    if m.s.wal_sync_method != FDATASYNC:
        return True
    ask(m.calls, p, WAL_SYNC, 0, 0, 0)
    return False


@part
def flush_written(m, now, p):
    """A write call has returned; a flush of several calls goes on with the next."""
    has_written(m)
    if p == m.s.n_clients and m.wal[pg.TARGET] % PAYLOAD == 0:
        m.wal[pg.TARGET] = m.wal[pg.WRITTEN]  # rule 6: as far as one call gets
    m.process[p, pg.PHASE] = phase.FLUSH_WRITE


@part
def flushed(m, now, p):
    """The log is stable as far as it was written, and the write lock goes to those who wait."""
    count(m, stat.FLUSHES, 1, now)
    m.wal[pg.STABLE] = m.wal[pg.WRITTEN]
    _release_write(m, now)
    m.process[p, pg.PHASE] = m.process[p, pg.THEN]


# ---- the WAL writer ----


@part
def wal_round(m, p):
    """Rule 6: a round of the WAL writer."""
    place = m.wal[pg.INSERTED] // PAYLOAD * PAYLOAD
    if place <= m.wal[pg.STABLE]:
        place = m.wal[pg.ASYNCHRONOUS]
    flush(m, p, place, phase.WAL_ROUND_DONE)


@part
def wal_round_done(m, now, p):
    """The WAL writer sleeps for `wal_writer_delay`."""
    m.process[p, pg.PHASE] = phase.WAL_ROUND
    set_time(m.calendar, p, now + m.s.wal_writer_delay_ns)


