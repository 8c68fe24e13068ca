"""InnoDB's master thread: what it does every second and every tenth.

 1. *Every second*: the log is made stable up to its end; room in it is seen to (`model.databases.innodb.checkpoints`). Then,
    if more than `innodb_max_dirty_pages_pct` of the pages are dirty, a batch of `innodb_io_capacity` (until 5.1: 100) pages
    is flushed, oldest changes first. The next round begins without sleep. Else, with `innodb_adaptive_flushing`, as many
    pages as rule 3 says.
 2. *Every tenth round*: if in these ten there were less I/Os than two seconds' capacity, a batch of the capacity. Then
    another one, of the capacity if more than 70 % of the pages are dirty, else of a tenth of it. Then a checkpoint.
 3. *Adaptive flushing* (plugin 1.0.4) wants all pages that are dirty flushed in the time in which the log would fill:

        dirty pages x log made in a second / capacity of the log  -  pages flushed from the LRU list in a second

    with the rates of the last 20 seconds, and at most the capacity.
 4. *From 5.6 on* pages are flushed by the page cleaner (`model.databases.innodb.page_cleaner`), whose round is the master's
    here.

Source: srv0srv.c of 5.1 and of the plugin (srv_master_thread), buf0flu.c (buf_flush_get_desired_flush_rate). Left out: the
insert buffer and purge (see `model.databases.innodb.tables`), and the background loop of a server at rest.
"""

from model.databases.innodb import columns as inno
from model.databases.innodb import phases as phase
from model.databases.innodb import stats as stat
from model.databases.innodb.checkpoints import check_room, start_checkpoint
from model.databases.innodb.flush import ALL, start_batch, wait_for
from model.databases.innodb.page_cleaner import begin_old, n_to_clean
from model.databases.innodb.redo_log import log_up_to
from model.databases.innodb.state import HISTORY, MAX_HISTORY
from model.events.calendar import set_time
from model.events.clock import SECOND_NS
from model.jit import kernel, part

MANY_DIRTY_PCT = 70


@kernel
def dirty_pct(m):
    """Dirty pages as a share of all buffers [%]."""
    return 100.0 * m.pool[inno.N_DIRTY] / (len(m.frames.page) - 1)


@kernel
def _n_ios(m):
    return m.counts[stat.WAL_CALLS] + m.counts[stat.READS] + m.counts[stat.LIST_WRITES] + m.counts[stat.LRU_WRITES]


@kernel
def _flush(m, now, p, n_pages, then):
    """A batch of the oldest changes; True if `p` goes on at once."""
    m.process[p, inno.PHASE] = then
    if n_pages <= 0:
        return True
    start_batch(m, now, inno.LIST, n_pages, ALL)
    wait_for(m, p, inno.LIST)
    return False


# ---- every second ----


@part
def second(m, now, p):
    """A round begins: the log is made stable up to its end."""
    m.process[p, inno.BEGAN] = now
    if now - m.log[inno.REMEMBERED_AT] >= SECOND_NS:
        m.log[inno.REMEMBERED_AT] = now
        remember(m)
    log_up_to(m, p, m.log[inno.MADE], 1, phase.ROOM_OF_SECOND)


@part
def room_of_second(m, p):
    """Room in the log is seen to, and after it the dirty pages."""
    check_room(m, p, phase.DIRTY_PAGES)


@kernel
def remember(m):
    """What a second has brought, in the place of what was 20 or 30 seconds ago. These are pages from the LRU list, or, for
    the page cleaner, from the list of dirty ones."""
    i = m.log[inno.SECONDS] % (MAX_HISTORY if m.s.page_cleaner else HISTORY)
    n_pages = m.counts[stat.LIST_WRITES] if m.s.page_cleaner else m.counts[stat.LRU_WRITES]
    m.history[inno.REDO, i] = m.log[inno.MADE] - m.log[inno.AT_LAST_SECOND]
    m.history[inno.PAGES, i] = n_pages - m.pool[inno.LAST_WRITES]
    m.log[inno.AT_LAST_SECOND], m.pool[inno.LAST_WRITES] = m.log[inno.MADE], n_pages
    m.log[inno.SECONDS] += 1


@kernel
def _mean(m, row):
    n = 0
    for i in range(HISTORY):
        n += m.history[row, i]
    return n / HISTORY


@kernel
def n_adaptive(m):
    """Rule 3: how many pages adaptive flushing wants flushed in this second."""
    n_bytes = _mean(m, inno.REDO) + m.log[inno.MADE] - m.log[inno.AT_LAST_SECOND]
    wanted = m.pool[inno.N_DIRTY] * n_bytes / m.limits[inno.CAPACITY]
    flushed = _mean(m, inno.PAGES) + m.counts[stat.LRU_WRITES] - m.pool[inno.LAST_WRITES]
    return min(m.s.io_capacity, int(max(0.0, wanted - flushed)))


@part
def dirty_pages(m, now, p):
    """Rule 1, or 4. THEN says whether the next round begins without sleep."""
    if m.s.page_cleaner:
        begin_old(m, now)
        return _flush(m, now, p, n_to_clean(m), phase.END_OF_SECOND)
    has_many = dirty_pct(m) > m.s.max_dirty_pages_pct
    n_pages = 0
    if has_many:
        n_pages = m.s.io_capacity
    elif m.s.adaptive_flushing:
        n_pages = n_adaptive(m)
    m.process[p, inno.THEN] = has_many or n_pages == m.s.io_capacity
    return _flush(m, now, p, n_pages, phase.END_OF_SECOND)


@part
def end_of_second(m, now, p):
    """True if the next round begins at once."""
    m.pool[inno.TURN] += 1
    if m.pool[inno.TURN] == m.s.checkpoint_rounds:
        m.process[p, inno.PHASE] = phase.MAKE_CHECKPOINT if m.s.page_cleaner else phase.TENTH_SECOND
        return True
    m.process[p, inno.PHASE] = phase.SECOND
    if m.s.page_cleaner:
        set_time(m.calendar, p, max(now, m.process[p, inno.BEGAN] + SECOND_NS))
        return False
    if m.process[p, inno.THEN]:
        return True
    set_time(m.calendar, p, now + SECOND_NS)
    return False


# ---- every tenth ----


@part
def tenth_second(m, now, p):
    """Rule 2: what every tenth round flushes beyond the others."""
    n_ios = _n_ios(m)
    is_quiet = n_ios - m.pool[inno.IOS_BEFORE] < 2 * m.s.io_capacity
    return _flush(m, now, p, m.s.io_capacity if is_quiet else 0, phase.OLD_PAGES)


@part
def old_pages(m, now, p):
    """Rule 2: a batch of the capacity if more than 70 % of the pages are dirty, else of a tenth of it."""
    n_pages = m.s.io_capacity if dirty_pct(m) > MANY_DIRTY_PCT else m.s.io_capacity // 10
    return _flush(m, now, p, n_pages, phase.MAKE_CHECKPOINT)


@part
def make_checkpoint(m, now, p):
    """Rule 2: a checkpoint, which the master waits for."""
    m.process[p, inno.PHASE] = phase.END_OF_TEN
    start_checkpoint(m, now)
    wait_for(m, p, inno.CHECKPOINT)


@part
def end_of_ten(m, now, p):
    """Ten rounds are over: their counts start again, and the next round begins a second later."""
    m.pool[inno.TURN], m.pool[inno.IOS_BEFORE] = 0, _n_ios(m)
    m.process[p, inno.PHASE] = phase.SECOND
    set_time(m.calendar, p, max(now, m.process[p, inno.BEGAN] + SECOND_NS) if m.s.page_cleaner else now + SECOND_NS)
