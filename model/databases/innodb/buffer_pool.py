"""InnoDB's buffer pool: an LRU list with a midpoint, and the list of dirty pages.

    newest  [ young: 5/8 of the list ... | ... old: 3/8 ]  oldest, next to be replaced
                                         ^ where a page that is read comes in

 1. *A page is read* into a frame never used, or else into that of an old page. That is the oldest among the last 133 that is
    clean and not being read or written. It comes in at the midpoint. If there is none such, a batch is flushed from the end
    of the list, and one looks again.
 2. *A page is used*: it is made young, so goes to the newest end, if enough frames were replaced since it last was. Enough
    is 1/1024 of the pool (later 5/32). So the first use of a page after it was read makes it young.
 3. *After a read*: if fewer than 69 of the last 133 can be replaced, the reader flushes from the list's end until 186 can
    be. It waits (unless somebody is at it).
 4. *A change* puts a clean page at the newest end of the list of dirty ones, with the place in the log where it began.
    So that list is in order of these places, and its oldest says from where on the log is needed.
 5. *While a page is written* it can be read, but not changed: a client that wants to change it waits until its write has
    returned. A client that wants a page that another one is reading waits too.

The midpoint moves when the old part differs from 3/8 by more than 20; with fewer than 512 pages there is none.

Sources, of 5.1: buf0lru.c (buf_LRU_search_and_free_block, buf_LRU_add_block_low, BUF_LRU_OLD_TOLERANCE), buf0buf.ic
(buf_page_peek_if_too_old), buf0flu.c (buf_flush_LRU_recommendation). Also buf0flu.h (BUF_FLUSH_FREE_BLOCK_MARGIN = 5 + 64,
and a quarter of that + 100), buf0lru.h (BUF_LRU_FREE_SEARCH_LEN = 5 + 2 x 64). Left out: old_blocks_time.
"""

from model.databases.innodb import columns as inno
from model.databases.innodb import phases as phase
from model.databases.innodb import stats as stat
from model.databases.innodb.tables import PAGE_BYTES, TABLESPACE
from model.events.queues import NOBODY
from model.events.servers import count, wake
from model.filesystems.calls import READ, ask
from model.jit import kernel, part
from model.structures.lru import link_after, unlink

DIRTY, LOADING, IN_WRITE, IS_OLD = 1, 2, 4, 8  # flags of a frame
SEARCH = 5 + 2 * 64
MARGIN = 5 + 64
EXTRA = MARGIN // 4 + 100
MIN_PAGES_FOR_OLD, TOLERANCE = 512, 20


# ---- the LRU list ----


@kernel
def _move_midpoint(m):
    pool, frames = m.pool, m.frames
    wanted = pool[inno.N_USED] * 3 // 8
    while pool[inno.N_OLD] < wanted - TOLERANCE:
        pool[inno.OLD_HEAD] = frames.use.newer[pool[inno.OLD_HEAD]]
        frames.flags[pool[inno.OLD_HEAD]] |= IS_OLD
        pool[inno.N_OLD] += 1
    while pool[inno.N_OLD] > wanted + TOLERANCE:
        frames.flags[pool[inno.OLD_HEAD]] &= ~IS_OLD
        pool[inno.OLD_HEAD] = frames.use.older[pool[inno.OLD_HEAD]]
        pool[inno.N_OLD] -= 1


@kernel
def _take_out(m, frame):
    pool, frames = m.pool, m.frames
    if frame == pool[inno.OLD_HEAD]:
        pool[inno.OLD_HEAD] = frames.use.older[frame]
    if frames.flags[frame] & IS_OLD:
        pool[inno.N_OLD] -= 1
        frames.flags[frame] &= ~IS_OLD
    unlink(frames.use, frame)


@kernel
def _put_old(m, newer, frame):
    """On the older side of `newer`, among the old ones."""
    link_after(m.frames.use, m.frames.use.older[newer], frame)
    m.frames.flags[frame] |= IS_OLD
    m.pool[inno.N_OLD] += 1


@kernel
def make_young(m, frame):
    """The page in `frame` becomes the newest of the LRU list."""
    _take_out(m, frame)
    link_after(m.frames.use, m.frames.use.older[0], frame)
    m.frames.moved_at[frame] = m.pool[inno.N_REPLACED]
    if m.pool[inno.N_USED] >= MIN_PAGES_FOR_OLD:
        _move_midpoint(m)


@kernel
def make_oldest(m, frame):
    """Next to be replaced."""
    _take_out(m, frame)
    link_after(m.frames.use, 0, frame)
    if m.pool[inno.N_USED] >= MIN_PAGES_FOR_OLD:
        m.frames.flags[frame] |= IS_OLD
        m.pool[inno.N_OLD] += 1
        if m.pool[inno.OLD_HEAD] == 0:
            m.pool[inno.OLD_HEAD] = frame
        _move_midpoint(m)


@kernel
def _put_in(m, frame):
    """At the midpoint."""
    if m.pool[inno.N_USED] < MIN_PAGES_FOR_OLD:
        link_after(m.frames.use, m.frames.use.older[0], frame)
        return
    if m.pool[inno.OLD_HEAD] == 0:
        link_after(m.frames.use, m.frames.use.older[0], frame)
    else:
        _put_old(m, m.pool[inno.OLD_HEAD], frame)
    _move_midpoint(m)


@kernel
def use(m, now, frame):
    """Rule 2: the page in `frame` is used, and made young where that is due."""
    count(m, stat.ACCESSES, 1, now)
    if m.pool[inno.N_REPLACED] >= m.frames.moved_at[frame] + 1 + int(m.pool[inno.N_USED] * m.s.young_again):
        make_young(m, frame)


# ---- a page comes in ----


@kernel
def can_be_replaced(m, frame):
    """Whether the page in `frame` is clean, and neither read nor written just now."""
    return m.frames.flags[frame] & (DIRTY | LOADING | IN_WRITE) == 0


@kernel
def take_frame(m):
    """Rule 1: a frame that is in no list, or 0."""
    pool, newer = m.pool, m.frames.use.newer
    if pool[inno.N_USED] < len(m.frames.page) - 1:
        pool[inno.N_USED] += 1
        return pool[inno.N_USED]
    frame = newer[0]
    for _ in range(SEARCH):
        if frame == 0:
            return 0
        if can_be_replaced(m, frame):
            _take_out(m, frame)
            m.pages.frame_of[m.frames.page[frame]] = 0
            pool[inno.N_REPLACED] += 1
            return frame
        frame = newer[frame]
    return 0


@kernel
def place(m, page, frame):
    """Let `page` be in `frame`, at the midpoint."""
    frames = m.frames
    frames.page[frame], m.pages.frame_of[page] = page, frame
    frames.moved_at[frame] = 0
    frames.flags[frame] = 0
    _put_in(m, frame)


@kernel
def load(m, now, p, page, frame):
    """Let `page` be in `frame`. True if it need not be read."""
    place(m, page, frame)
    if not m.pages.is_on_disk[page]:
        count(m, stat.PAGES_MADE, 1, now)
        return True
    m.frames.flags[frame] |= LOADING
    count(m, stat.READS, 1, now)
    m.process[p, inno.PHASE] = phase.LOADED
    ask(m.calls, p, READ, TABLESPACE, page * PAGE_BYTES, PAGE_BYTES)
    return False


@kernel
def n_to_flush(m):
    """Rule 3: how many pages a reader flushes from the end of the list."""
    n = len(m.frames.page) - 1 - m.pool[inno.N_USED]
    frame = m.frames.use.newer[0]
    for _ in range(SEARCH):
        if n >= MARGIN or frame == 0:
            return 0
        n += can_be_replaced(m, frame)
        frame = m.frames.use.newer[frame]
    return MARGIN + EXTRA - n


# ---- waiting for a page ----


@kernel
def want(m, now, p, page):
    """Rule 5: `p` waits for who reads or writes the page."""
    m.process[p, inno.WANTED] = page
    m.pool[inno.N_WANTING] += 1
    count(m, stat.PAGE_WAITS, 1, now)


@kernel
def tell_who_wants(m, now, page):
    """Every client that waits for `page` wakes."""
    if m.pool[inno.N_WANTING] == 0:
        return
    for waiter in range(m.s.n_clients):
        if m.process[waiter, inno.WANTED] == page:
            m.process[waiter, inno.WANTED] = NOBODY
            m.pool[inno.N_WANTING] -= 1
            wake(m, now, waiter)


# ---- dirty pages ----


@kernel
def change(m, frame, began):
    """Rule 4. What is logged for it stands from `began` to the end of the log."""
    frames = m.frames
    if not frames.flags[frame] & DIRTY:
        frames.flags[frame] |= DIRTY
        frames.first_lsn[frame] = began
        link_after(frames.dirty, frames.dirty.older[0], frame)
        m.pool[inno.N_DIRTY] += 1
    frames.last_lsn[frame] = m.log[inno.MADE]


@kernel
def clean(m, frame):
    """The page in `frame` leaves the list of dirty pages."""
    unlink(m.frames.dirty, frame)
    m.frames.flags[frame] &= ~(DIRTY | IN_WRITE)
    m.pool[inno.N_DIRTY] -= 1


@kernel
def oldest_change(m):
    """From where on the log is needed."""
    frame = m.frames.dirty.newer[0]
    return m.log[inno.MADE] if frame == 0 else m.frames.first_lsn[frame]


@part
def loaded(m, now, frame):
    """The page in `frame` has been read, and those who want it wake."""
    m.frames.flags[frame] &= ~LOADING
    tell_who_wants(m, now, m.frames.page[frame])


@part
def fill(m, page):
    """At the beginning of a run: `page` is the newest."""
    frame = take_frame(m)
    m.frames.page[frame], m.pages.frame_of[page] = page, frame
    link_after(m.frames.use, m.frames.use.older[0], frame)
    if m.pool[inno.N_USED] >= MIN_PAGES_FOR_OLD:
        _move_midpoint(m)
