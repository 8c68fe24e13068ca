"""How InnoDB writes dirty pages: in batches, twice.

 1. *A batch* is of one of two kinds, and of each kind only one is under way. From the list of dirty pages: the oldest
    changes first, up to a number of pages, or all changes before a place in the log. From the LRU list: the oldest pages
    that are dirty, up to a number.
 2. *Neighbours.* With a page all dirty ones of its area of 64 pages are written (`innodb_flush_neighbors`).
 3. *Log first.* The log is made stable up to the last change of the pages.
 4. *Twice* (`innodb_doublewrite`): up to 128 pages are collected. They go to an area of their own. Up to 64 of them go in
    one write of up to 1 MiB, the rest in another. An fsync follows. Then the pages go to their places, by the write threads
    (`innodb_write_io_threads`), one page each at a time; when all are there, fsync again. Only then the area is free.
 5. *Without the area* pages are written likewise, but with no fsync: the next checkpoint does that.
 6. *A page of the LRU list* that was written is the next to be replaced.

Sources: buf0flu.c of 5.1 (buf_flush_batch, buf_flush_try_neighbors, buf_flush_buffered_writes), trx0sys.h
(TRX_SYS_DOUBLEWRITE_BLOCK_SIZE = 64). The area lies in the system table space; here it is a file of its own. With
`innodb_doublewrite` = 0 it is taken to exist (it was switched off after the table space had been made; else 5.1 syncs after
every page). Left out: that write threads join neighbouring pages into one call.
"""

from model.databases.innodb import columns as inno
from model.databases.innodb import phases as phase
from model.databases.innodb import stats as stat
from model.databases.innodb.buffer_pool import DIRTY, IN_WRITE, clean, make_oldest, tell_who_wants
from model.databases.innodb.redo_log import log_up_to
from model.databases.innodb.state import CHUNK_PAGES, NO_SYNC
from model.databases.innodb.tables import AREA_PAGES, DOUBLEWRITE, PAGE_BYTES, TABLESPACE
from model.events.calendar import NEVER, set_time
from model.events.clock import MS
from model.events.queues import NOBODY, join, leave
from model.events.servers import count, wake
from model.filesystems.calls import FSYNC, WRITE, ask
from model.jit import kernel, part

ALL = NEVER  # pages, or places in the log
RETRY_NS = 10 * MS  # until one looks again whose batch found nothing, for all was being written already


# ---- asking for a batch ----


@kernel
def start_batch(m, now, agent, n_pages, limit):
    """Let a batch begin, unless one of its kind is under way. Whether it does."""
    batch = m.batch
    if batch[agent, inno.RUNS]:
        return False
    batch[agent, inno.RUNS], batch[agent, inno.HAS_FOUND] = 1, 0
    batch[agent, inno.LEFT], batch[agent, inno.LIMIT] = n_pages, limit
    process = m.s.n_clients + agent
    m.process[process, inno.PHASE] = phase.GATHER
    set_time(m.calendar, process, now)
    return True


@kernel
def wait_for(m, p, agent):
    """`p` goes on when what `agent` is doing is done."""
    join(m.queue, m.after, inno.AGENT_QUEUE + agent, p)


@kernel
def tell_who_waits(m, now, agent):
    """All processes wake that wait for what `agent` does."""
    process = leave(m.queue, m.after, inno.AGENT_QUEUE + agent)
    while process != NOBODY:
        wake(m, now, process)
        process = leave(m.queue, m.after, inno.AGENT_QUEUE + agent)


# ---- which pages ----


@kernel
def _is_wanted(m, frame):
    return frame != 0 and m.frames.flags[frame] & (DIRTY | IN_WRITE) == DIRTY


@kernel
def _n_in_area(m, first, n_pages):
    n = 0
    for page in range(first, min(first + n_pages, len(m.pages.frame_of))):
        n += _is_wanted(m, m.pages.frame_of[page])
    return n


@kernel
def _add_area(m, agent, first, n_pages):
    batch = m.batch
    for page in range(first, min(first + n_pages, len(m.pages.frame_of))):
        frame = m.pages.frame_of[page]
        if _is_wanted(m, frame):
            m.frames.flags[frame] |= IN_WRITE
            m.chunk[agent, batch[agent, inno.N_CHUNK]] = frame
            batch[agent, inno.N_CHUNK] += 1
            batch[agent, inno.LEFT] -= 1


@kernel
def _add(m, agent, frame):
    """Rule 2. False if the area's pages are more than there is room for."""
    n_pages = AREA_PAGES if m.s.flush_neighbors else 1
    first = m.frames.page[frame] // n_pages * n_pages
    if m.batch[agent, inno.N_CHUNK] + _n_in_area(m, first, n_pages) > CHUNK_PAGES:
        return False
    _add_area(m, agent, first, n_pages)
    return True


@kernel
def _collect_oldest_changes(m):
    newer, batch = m.frames.dirty.newer, m.batch
    frame, has_room, limit = newer[0], True, batch[inno.LIST, inno.LIMIT]
    while frame != 0 and has_room and batch[inno.LIST, inno.LEFT] > 0 and m.frames.first_lsn[frame] < limit:
        if _is_wanted(m, frame):
            has_room = _add(m, inno.LIST, frame)
        frame = newer[frame]


@kernel
def _collect_oldest_pages(m):
    newer, batch = m.frames.use.newer, m.batch
    frame, has_room = newer[0], True
    while frame != 0 and has_room and batch[inno.LRU, inno.LEFT] > 0:
        if _is_wanted(m, frame):
            has_room = _add(m, inno.LRU, frame)
        frame = newer[frame]


@part
def gather(m, now, p):
    """Rules 1 to 3. True if there is anything to be written."""
    agent = p - m.s.n_clients
    m.batch[agent, inno.N_CHUNK] = m.batch[agent, inno.NEXT] = m.batch[agent, inno.N_DONE] = 0
    if agent == inno.LIST:
        _collect_oldest_changes(m)
    else:
        _collect_oldest_pages(m)
    if m.batch[agent, inno.N_CHUNK] == 0:
        m.batch[agent, inno.RUNS] = 0
        tell_who_waits(m, now if m.batch[agent, inno.HAS_FOUND] else now + RETRY_NS, agent)
        return False
    m.batch[agent, inno.HAS_FOUND] = 1
    lsn = 0
    for i in range(m.batch[agent, inno.N_CHUNK]):
        lsn = max(lsn, m.frames.last_lsn[m.chunk[agent, i]])
    log_up_to(m, p, lsn, 1, phase.AREA_WRITE)
    return True


# ---- the area ----


@part
def area_write(m, now, p):
    """Rule 4. True if `p` goes on: there is no area."""
    if not m.s.doublewrite:
        m.process[p, inno.PHASE] = phase.AREA_STABLE
        return True
    if m.busy[inno.AREA] and m.busy[inno.AREA] != p:
        join(m.queue, m.after, inno.AREA, p)
        return False
    m.busy[inno.AREA] = p
    m.process[p, inno.PHASE] = phase.AREA_WRITE_SECOND
    _write_area(m, now, p, 0, min(AREA_PAGES, m.batch[p - m.s.n_clients, inno.N_CHUNK]))
    return False


@kernel
def _write_area(m, now, p, first, n_pages):
    count(m, stat.AREA_CALLS, 1, now)
    count(m, stat.AREA_WRITES, n_pages, now)
    ask(m.calls, p, WRITE, DOUBLEWRITE, first * PAGE_BYTES, n_pages * PAGE_BYTES)


@part
def area_write_second(m, now, p):
    """True if there is no second half."""
    m.process[p, inno.PHASE] = phase.AREA_SYNC
    n_pages = m.batch[p - m.s.n_clients, inno.N_CHUNK] - AREA_PAGES
    if n_pages <= 0:
        return True
    _write_area(m, now, p, AREA_PAGES, n_pages)
    return False


@kernel
def sync(m, now, p, file, then):
    """True if that is done at once: `nosync`."""
    m.process[p, inno.PHASE], m.process[p, inno.SYNCS] = then, m.pool[inno.N_WRITTEN]
    if m.s.flush_method == NO_SYNC:
        return True
    count(m, stat.FSYNCS, 1, now)
    ask(m.calls, p, FSYNC, file, 0, 0)
    return False


@kernel
def _release_area(m, now, p):
    if m.busy[inno.AREA] == p:
        waiter = leave(m.queue, m.after, inno.AREA)
        m.busy[inno.AREA] = 0 if waiter == NOBODY else waiter
        wake(m, now, waiter)


# ---- pages ----


@kernel
def _write_next(m, now, writer):
    """Give a write thread the next page of any batch that has one; or let it rest."""
    for agent in range(inno.LIST, inno.LRU + 1):
        if m.batch[agent, inno.IS_WRITING] and m.batch[agent, inno.NEXT] < m.batch[agent, inno.N_CHUNK]:
            frame = m.chunk[agent, m.batch[agent, inno.NEXT]]
            m.batch[agent, inno.NEXT] += 1
            m.process[writer, inno.FRAME], m.process[writer, inno.AGENT] = frame, agent
            m.process[writer, inno.PHASE] = phase.PAGE_WRITTEN
            count(m, stat.LIST_WRITES if agent == inno.LIST else stat.LRU_WRITES, 1, now)
            ask(m.calls, writer, WRITE, TABLESPACE, m.frames.page[frame] * PAGE_BYTES, PAGE_BYTES)
            return


@part
def area_stable(m, now, p):
    """Wake the write threads."""
    m.batch[p - m.s.n_clients, inno.IS_WRITING] = 1
    m.process[p, inno.PHASE] = phase.PAGES_WRITTEN
    for writer in range(m.s.n_clients + 4, len(m.process)):
        if m.process[writer, inno.FRAME] == 0:
            _write_next(m, now, writer)


@part
def page_written(m, now, writer):
    """Rules 4 and 6: the page of `writer` is clean; the last of a chunk wakes the agent. The writer takes another."""
    frame, agent = m.process[writer, inno.FRAME], m.process[writer, inno.AGENT]
    page = m.frames.page[frame]
    clean(m, frame)
    m.pages.is_on_disk[page] = 1
    m.pool[inno.N_WRITTEN] += 1
    if agent == inno.LRU:
        make_oldest(m, frame)
    tell_who_wants(m, now, page)
    m.process[writer, inno.FRAME] = 0
    m.batch[agent, inno.N_DONE] += 1
    if m.batch[agent, inno.N_DONE] == m.batch[agent, inno.N_CHUNK]:
        m.batch[agent, inno.IS_WRITING] = 0
        set_time(m.calendar, m.s.n_clients + agent, now)
    _write_next(m, now, writer)


@part
def pages_written(m, now, p):
    """All are there. True if they need no fsync now."""
    if not m.s.doublewrite:
        m.process[p, inno.PHASE] = phase.CHUNK_DONE
        return True
    return sync(m, now, p, TABLESPACE, phase.CHUNK_DONE)


@kernel
def table_space_is_synced(m, p):
    """What had been written when the sync began is stable."""
    m.pool[inno.N_STABLE] = max(m.pool[inno.N_STABLE], m.process[p, inno.SYNCS])


@part
def chunk_done(m, now, p):
    """All pages of the chunk are written: the doublewrite area is free, and the next pages are gathered."""
    if m.s.doublewrite:
        table_space_is_synced(m, p)
    _release_area(m, now, p)
    m.process[p, inno.PHASE] = phase.GATHER
