"""InnoDB's buffer pool as hours of work leave it: what a run begins with that is shorter than it takes to turn over.

As `model.databases.postgres.at_work` does for PostgreSQL: transactions are drawn and visit their pages as in a run, with
neither time nor I/O. A page that is not here takes the frame of the oldest clean one; who changes a page makes it dirty, and
logs. Flushing follows the engine's own rules, but what it writes is clean at once:

 1. *LRU list.* Where none of the last pages can be replaced, the batch that a user would flush there. And every second, by
    the page cleaner, the dirty ones among the last.
 2. *Every second*, which is so many transactions (`transactions_a_second`): what the page cleaner takes from the list of
    dirty pages. Before 5.6, what the master does (`model.databases.innodb.master`).
 3. *Age.* No change is older than that from which on whoever notices flushes (`model.databases.innodb.checkpoints`).

So how many pages are dirty, and how old the oldest change is, is what these rules come to at the rate of the machine. It
ends with the log stable and a checkpoint just made. `POOL_TURNS` times as many transactions as there are frames, and as many
as make a log of the age of rule 3. At most they are `MAX_TRANSACTIONS`. A log of several GB is not filled by so many. So
where nothing but its length bounds the age, that is younger here.
"""

from model.databases.innodb import columns as inno
from model.databases.innodb import stats as stat
from model.databases.innodb.buffer_pool import (
    DIRTY,
    EXTRA,
    MARGIN,
    change,
    clean,
    make_oldest,
    oldest_change,
    place,
    take_frame,
    use,
)
from model.databases.innodb.client import is_buffered
from model.databases.innodb.master import MANY_DIRTY_PCT, dirty_pct, n_adaptive, remember
from model.databases.innodb.page_cleaner import n_old_to_clean, n_to_clean
from model.databases.innodb.redo_log import after
from model.databases.innodb.statements import prepare_pages
from model.databases.innodb.sysbench import DRAWN_AT_A_TIME, NOTHING, ids_of
from model.databases.innodb.tables import AREA_PAGES, LOG_COMMIT
from model.jit import kernel

POOL_TURNS = 4
MAX_TRANSACTIONS = 2**21


# ---- flushing ----


@kernel
def _write_out(m, frame, is_old):
    """The page, and dirty ones of its area (`model.databases.innodb.flush`); those of the LRU list are the next to be
    replaced then. How many."""
    n_pages, n = AREA_PAGES if m.s.flush_neighbors else 1, 0
    first = m.frames.page[frame] // n_pages * n_pages
    for page in range(first, min(first + n_pages, len(m.pages.frame_of))):
        neighbour = m.pages.frame_of[page]
        if neighbour != 0 and m.frames.flags[neighbour] & DIRTY:
            clean(m, neighbour)
            m.pages.is_on_disk[page] = 1
            if is_old:
                make_oldest(m, neighbour)
            n += 1
    return n


@kernel
def _flush_oldest_pages(m, n_pages):
    """Rule 1."""
    frame = m.frames.use.newer[0]
    while frame != 0 and n_pages > 0:
        newer = m.frames.use.newer[frame]
        if m.frames.flags[frame] & DIRTY:
            n = _write_out(m, frame, True)
            m.counts[stat.LRU_WRITES] += n
            n_pages -= n
        frame = newer


@kernel
def _flush_oldest_changes(m, n_pages):
    frame = m.frames.dirty.newer[0]
    while frame != 0 and n_pages > 0:
        n = _write_out(m, frame, False)
        m.counts[stat.LIST_WRITES] += n
        n_pages -= n
        frame = m.frames.dirty.newer[0]


@kernel
def _keep_age(m):
    """Rule 3."""
    while m.log[inno.MADE] - oldest_change(m) > m.limits[inno.FLUSH_AGE]:
        _flush_oldest_changes(m, 1)


@kernel
def _rounds_of_master(m):
    """Of a second: one, or up to ten while there is much to do, and the tenth round's own
    (`model.databases.innodb.master`)."""
    for _ in range(10):
        has_many = dirty_pct(m) > m.s.max_dirty_pages_pct
        n_pages = m.s.io_capacity if has_many else n_adaptive(m) if m.s.adaptive_flushing else 0
        _flush_oldest_changes(m, n_pages)
        if n_pages < m.s.io_capacity:
            break
    if m.log[inno.SECONDS] % 10 == 0:
        _flush_oldest_changes(m, m.s.io_capacity if dirty_pct(m) > MANY_DIRTY_PCT else m.s.io_capacity // 10)


@kernel
def _flush_of_second(m):
    """Rule 2."""
    remember(m)
    if m.s.page_cleaner:
        _flush_oldest_pages(m, n_old_to_clean(m))
        _flush_oldest_changes(m, n_to_clean(m))
    else:
        _rounds_of_master(m)


# ---- transactions ----


@kernel
def _visit(m, page, n_bytes):
    if m.pages.frame_of[page] == 0:
        frame = take_frame(m)
        if frame == 0:
            _flush_oldest_pages(m, MARGIN + EXTRA)
            frame = take_frame(m)
        place(m, page, frame)
    frame = m.pages.frame_of[page]
    use(m, 0, frame)
    if n_bytes:
        began = m.log[inno.MADE]
        m.log[inno.MADE] = after(began, int(n_bytes * m.s.log_factor))
        change(m, frame, began)


@kernel
def _transaction(m, p):
    m.process[p, inno.HAS_CHANGED] = 0
    for i in range(len(m.test.statements)):
        if m.test.statements[i, inno.KIND] == NOTHING:
            continue
        m.process[p, inno.STATEMENT] = i
        prepare_pages(m, p)
        for step in range(m.process[p, inno.N_TOUCHED]):
            page, n_bytes = m.touched[p, step], m.changes[p, step]
            if is_buffered(m, page, n_bytes):
                m.log[inno.MADE] = after(m.log[inno.MADE], int(n_bytes * m.s.log_factor))
            else:
                _visit(m, page, n_bytes)
    if m.process[p, inno.HAS_CHANGED]:
        m.log[inno.MADE] = after(m.log[inno.MADE], int(LOG_COMMIT * m.s.log_factor))
    _keep_age(m)


@kernel
def _replay(m, ids, done):
    """Transactions of these `ids`, after `done` others."""
    for t in range(len(ids)):
        p = (done + t) % m.s.n_clients
        for i in range(m.test.n_ids):
            m.ids[p, i] = ids[t, i]
        _transaction(m, p)
        if (done + t + 1) % m.s.transactions_a_second == 0:
            _flush_of_second(m)


def work(m, drawn):
    """The pool becomes that of a machine at work; `drawn`: the stream of the transactions before."""
    n_frames = len(m.frames.page) - 1
    began, done, min_done = m.log[inno.MADE], 0, POOL_TURNS * n_frames + int(drawn.integers(n_frames))
    while done < MAX_TRANSACTIONS and (done < min_done or 0 < m.log[inno.MADE] - began < m.limits[inno.FLUSH_AGE]):
        _replay(m, ids_of(m.test, DRAWN_AT_A_TIME * m.test.n_ids, drawn).reshape(DRAWN_AT_A_TIME, -1) - 1, done)
        done += DRAWN_AT_A_TIME
    m.log[[inno.WRITTEN, inno.STABLE]] = m.log[inno.MADE]
    m.log[inno.CHECKPOINT_AT] = oldest_change(m)
    m.pool[inno.N_STABLE] = m.pool[inno.N_WRITTEN]
    m.log[inno.AT_LAST_SECOND], m.pool[inno.LAST_WRITES] = m.log[inno.MADE], 0
    m.counts[:] = 0
