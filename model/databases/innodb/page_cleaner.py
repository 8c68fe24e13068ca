"""InnoDB's page cleaner, from 5.6 on: how many pages are flushed every second, and which.

 1. *From the end of the LRU list*, if any page has been replaced since the last time: of the last `innodb_lru_scan_depth`
    pages the dirty ones. Each instance of the pool does so.
 2. *From the list of dirty pages* the oldest changes, a third of the sum of

        what is due     innodb_io_capacity x the larger percentage of rules 3 and 4
        the rate        pages flushed from that list in a second
        what log wants  dirty pages whose first change is no younger than the oldest, and the log made in a second

    and innodb_io_capacity_max at most; rates are those of the last 30 seconds.
 3. *Dirty pages*, % of the pool: from innodb_max_dirty_pages_pct_lwm on their share of innodb_max_dirty_pages_pct; without
    such a mark nothing up to that, and then 100.
 4. *Age of the oldest change*: nothing below innodb_adaptive_flushing_lwm, 10 % of the log's capacity. Above, with a the age
    in % of that from which on all is flushed (`model.databases.innodb.checkpoints`): io_capacity_max / io_capacity x a^1.5 /
    7.5.
 5. It takes a second, or as long as the flushing takes. Every `checkpoint_rounds` seconds there is a checkpoint.

A user who finds few pages that can be replaced asks for a batch, and goes on unless there is none at all.

Sources: buf0flu.cc of 5.6, 5.7 and 8.0 (af_get_pct_for_lsn, af_get_pct_for_dirty, page_cleaner_flush_pages_recommendation,
Adaptive_flush), srv0srv.cc (SRV_MASTER_CHECKPOINT_INTERVAL). Rates are there halves of the last thirty seconds and of all
before. Left out: several cleaners, who share a round (5.7), and the lists of instances, of which there is one here. So is
that from 8.0 on the log is written by threads of its own.
"""

from model.databases.innodb import columns as inno
from model.databases.innodb.buffer_pool import DIRTY, IN_WRITE, oldest_change
from model.databases.innodb.flush import ALL, start_batch
from model.databases.innodb.state import MAX_HISTORY
from model.jit import kernel


@kernel
def _pct_for_dirty(m):
    """Rule 3."""
    pct = 100.0 * m.pool[inno.N_DIRTY] / (len(m.frames.page) - 1)
    if m.s.max_dirty_pages_pct_lwm == 0:
        return 100.0 if pct >= m.s.max_dirty_pages_pct else 0.0
    return 100.0 * pct / (m.s.max_dirty_pages_pct + 1) if pct >= m.s.max_dirty_pages_pct_lwm else 0.0


@kernel
def _pct_for_age(m):
    """Rule 4."""
    age = m.log[inno.MADE] - oldest_change(m)
    if age < m.s.adaptive_flushing_lwm / 100 * m.limits[inno.CAPACITY]:
        return 0.0
    if age < m.limits[inno.FLUSH_AGE] and not m.s.adaptive_flushing:
        return 0.0
    part = 100.0 * age / m.limits[inno.FLUSH_AGE]
    return m.s.io_capacity_max / m.s.io_capacity * part * part**0.5 / 7.5


@kernel
def rate(m, row):
    """In a second."""
    n = 0
    for i in range(MAX_HISTORY):
        n += m.history[row, i]
    return n // MAX_HISTORY


@kernel
def _pages_for_log(m, n_bytes):
    """Dirty pages whose first change lies less than `n_bytes` of log behind the oldest."""
    frame, limit, n = m.frames.dirty.newer[0], oldest_change(m) + n_bytes, 0
    while frame != 0 and m.frames.first_lsn[frame] < limit and n < m.s.io_capacity_max:
        n += 1
        frame = m.frames.dirty.newer[frame]
    return n


@kernel
def n_to_clean(m):
    """Rule 2: how many of the oldest changes are flushed in this second."""
    pct = max(_pct_for_dirty(m), _pct_for_age(m))
    n_pages = m.s.io_capacity * pct / 100 + rate(m, inno.PAGES) + _pages_for_log(m, rate(m, inno.REDO))
    return min(m.s.io_capacity_max, int(n_pages / 3))


@kernel
def n_old_to_clean(m):
    """Rule 1: how many pages are flushed from the end of the LRU list."""
    if m.pool[inno.N_REPLACED] == m.pool[inno.LAST_REPLACED]:
        return 0
    m.pool[inno.LAST_REPLACED] = m.pool[inno.N_REPLACED]
    frame, n = m.frames.use.newer[0], 0
    for _ in range(m.s.lru_scan_depth):
        if frame == 0:
            break
        n += m.frames.flags[frame] & (DIRTY | IN_WRITE) == DIRTY
        frame = m.frames.use.newer[frame]
    return n


@kernel
def begin_old(m, now):
    """Rule 1: nobody waits for it."""
    n_pages = n_old_to_clean(m)
    if n_pages:
        start_batch(m, now, inno.LRU, n_pages, ALL)
