"""Oracle's buffer cache: an LRU list, a write list, and a queue of dirty buffers in the order of their first change.

 1. *A block is used*: its buffer goes to the newest end of the LRU list, from the write list as well.
 2. *A block is read* into a buffer never used, or else into the oldest that is clean. A process that looks for one goes from
    the oldest on; dirty buffers that it meets go to the write list. After two fifths of all it gives up and waits for a
    write to end.
 3. *A change* puts a clean buffer at the newest end of the queue, with how much redo had been made.
 4. *While a block is read*, or written and wanted for a change, who wants it waits.

Sources: Oracle8i and 9i Database Concepts, Memory Architecture. They tell of the LRU and write list, of the search from the
least recently used end, of dirty buffers moved on the way. They tell of a threshold at which DBW0 is asked and the search
stops. That the threshold is 40 %: _db_block_max_scan_pct, whose value in 10g is printed so by many (mzph.cn/news/906385).
Left out: touch counts (a block used once is as young here as any), several lists of one cache. So are copies of blocks for
consistent reads, and full scans of tables.
"""

from model.databases.oracle import columns as ora
from model.databases.oracle import stats as stat
from model.databases.oracle.state import DIRTY, IN_WRITE, IS_LISTED, LOADING
from model.events.queues import NOBODY, leave
from model.events.servers import count, wake
from model.jit import kernel
from model.structures.lru import link_after, unlink


@kernel
def _leave_list(m, frame):
    """Take a buffer out of the LRU list, or the write list."""
    if m.buffers.flags[frame] & IS_LISTED:
        m.buffers.flags[frame] &= ~IS_LISTED
        m.pool[ora.N_LISTED] -= 1
    unlink(m.buffers.use, frame)


@kernel
def use(m, now, frame):
    """Rule 1: the buffer goes to the newest end of the LRU list."""
    count(m, stat.GETS, 1, now)
    _leave_list(m, frame)
    link_after(m.buffers.use, m.buffers.use.older[0], frame)


@kernel
def _to_write_list(m, frame):
    end = len(m.buffers.block) - 1
    unlink(m.buffers.use, frame)
    link_after(m.buffers.use, m.buffers.use.older[end], frame)
    m.buffers.flags[frame] |= IS_LISTED
    m.pool[ora.N_LISTED] += 1


@kernel
def take_buffer(m):
    """Rule 2: a buffer in no list, or 0."""
    buffers, n = m.buffers, len(m.buffers.block) - 2
    if m.pool[ora.N_USED] < n:
        m.pool[ora.N_USED] += 1
        return m.pool[ora.N_USED]
    frame = buffers.use.newer[0]
    for _ in range(2 * n // 5):
        if frame == 0:
            return 0
        newer = buffers.use.newer[frame]
        if buffers.flags[frame] == 0:
            unlink(buffers.use, frame)
            m.frame_of[buffers.block[frame]] = 0
            return frame
        if buffers.flags[frame] == DIRTY:
            _to_write_list(m, frame)
        frame = newer
    return 0


@kernel
def put(m, block, frame, flags):
    """`block` is in a buffer that was taken; the newest."""
    m.buffers.block[frame], m.buffers.flags[frame] = block, flags
    m.frame_of[block] = frame
    link_after(m.buffers.use, m.buffers.use.older[0], frame)


@kernel
def change(m, frame):
    """Rule 3: a clean buffer goes to the newest end of the queue."""
    buffers = m.buffers
    if not buffers.flags[frame] & DIRTY:
        buffers.flags[frame] |= DIRTY
        buffers.first_redo[frame] = m.log[ora.MADE]
        link_after(buffers.dirty, buffers.dirty.older[0], frame)
        m.pool[ora.N_DIRTY] += 1


@kernel
def clean(m, frame):
    """It is being written, or was: what is changed from now on is a first change again."""
    unlink(m.buffers.dirty, frame)
    m.buffers.flags[frame] &= ~DIRTY
    m.pool[ora.N_DIRTY] -= 1


@kernel
def is_taken(m, frame, changes):
    """Rule 4: whether who wants the block has to wait."""
    return m.buffers.flags[frame] & (LOADING | IN_WRITE if changes else LOADING) != 0


@kernel
def oldest_redo(m):
    """From where on the redo log is needed: the checkpoint position."""
    frame = m.buffers.dirty.newer[0]
    return m.log[ora.MADE] if frame == 0 else m.buffers.first_redo[frame]


@kernel
def wake_all(m, now, i):
    """All of queue `i` look again."""
    process = leave(m.queue, m.after, i)
    while process != NOBODY:
        wake(m, now, process)
        process = leave(m.queue, m.after, i)


@kernel
def has_come(m, now, frame):
    """The block in `frame` has been read: all that wait for a busy block wake, and one that waits for a free buffer."""
    m.buffers.flags[frame] &= ~LOADING
    wake_all(m, now, ora.BUSY_BLOCK)
    wake(m, now, leave(m.queue, m.after, ora.FREE))


@kernel
def is_written(m, now, frame):
    """A buffer of the write list is the next to be taken; one that a checkpoint wrote stays where it is."""
    flags = m.buffers.flags
    flags[frame] &= ~IN_WRITE
    if flags[frame] & IS_LISTED:
        _leave_list(m, frame)
        link_after(m.buffers.use, 0, frame)
    wake_all(m, now, ora.BUSY_BLOCK)
    wake(m, now, leave(m.queue, m.after, ora.FREE))
