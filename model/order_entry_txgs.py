"""The order entry's transaction groups, and how its pool ages between runs.

The records are in place already when a group is synced. What a sync writes is what stands above them:

 1. every indirect block above a record that was rewritten, once, two copies of it on two vdevs, level by level from below, in
    the order in which they were first dirtied;
 2. the records of the redo logs that were filled, of 128 KiB each, where the oldest ones were, a place of their own for each;
 3. when all is written, what was freed in the group comes back by the rules of the era (`model.metaslab`).

A sync begins `txg_ns` after the last one began, or at once if that took longer (spec 5.6, T3). Left out: dnodes, space maps,
the uberblock and its flushes, which a group writes once, however small it is: to scale they would weigh too much; the write
throttle; that redo records are written again if a group ends while they are being filled.

*Ageing* is all that the database does to the pool with the disks and the clock left out: so many records rewritten by commits
of so many blocks, in groups of so many records.
"""

from model.calendar import set_time
from model.jit import kernel, part
from model.metaslab import allocate, sync_txg
from model.order_entry_machine import (
    COPIES,
    CURSOR,
    INDIRECT,
    OPEN,
    REDO_BYTES,
    REDO_PLACE,
    REDO_RECORDS,
    SYNC_BEGAN,
    SYNC_IOS,
    SYNC_NS,
    SYNCING,
    TXGS,
)
from model.order_entry_writers import free_at, place_of, rewrite, stall, write_log_block
from model.pool import write_for

NOTHING, FULL = -1, -2

# ---- what a group writes ----


@kernel
def _n_of_group(m, txg):
    """Blocks that the sync of `txg` writes."""
    n = 0
    for level in range(m.n_dirty.shape[1]):
        n += m.n_dirty[txg & 1, level]
    return n


@kernel
def _indirect_at(m, txg, n):
    """The n-th indirect block that the group writes, or NOTHING if it has no more."""
    for level in range(len(m.first_of)):
        if n < m.n_dirty[txg & 1, level]:
            return m.dirty_indirect[txg & 1, m.first_of[level] + n]
        n -= m.n_dirty[txg & 1, level]
    return NOTHING


@kernel
def _move_indirect(m, space, block):
    """New places for the copies of an indirect block."""
    if allocate(space, m.txg[SYNCING], m.orders.indirect_bytes, COPIES, -1) != 0:
        return FULL
    for copy in range(COPIES):
        free_in(m, space, m.indirect_at[block, copy], m.orders.indirect_bytes)
        m.indirect_at[block, copy] = place_of(space, copy)
    m.tally[INDIRECT] += 1
    return COPIES


@kernel
def free_in(m, space, place, n_bytes):
    """As `free_at`, in the group that is being synced."""
    opened = m.txg[OPEN]
    m.txg[OPEN] = m.txg[SYNCING]
    free_at(m, space, place, n_bytes)
    m.txg[OPEN] = opened


@kernel
def _move_redo(m, space):
    """A new place for the oldest record of the redo logs."""
    if allocate(space, m.txg[SYNCING], REDO_BYTES, 1, -1) != 0:
        return FULL
    i = m.txg[REDO_PLACE]
    free_in(m, space, m.redo_at[i], REDO_BYTES)
    m.redo_at[i] = place_of(space, 0)
    m.txg[REDO_PLACE] = (i + 1) % len(m.redo_at)
    m.tally[REDO_RECORDS] += 1
    return 1


@kernel
def _move_next(m, space):
    """The next block of the group that is being synced gets its places: (how many, B), or (FULL, 0)."""
    block = _indirect_at(m, m.txg[SYNCING], m.txg[CURSOR])
    m.txg[CURSOR] += 1
    if block == NOTHING:
        return _move_redo(m, space), REDO_BYTES
    return _move_indirect(m, space, block), m.orders.indirect_bytes


@kernel
def _open_next(m):
    """The open group is to be synced."""
    m.txg[SYNCING] = m.txg[OPEN]
    m.txg[OPEN] += 1
    m.txg[CURSOR] = 0
    for level in range(m.n_dirty.shape[1]):
        m.n_dirty[m.txg[OPEN] & 1, level] = 0


@kernel
def _end(m, space):
    """The group is on disk: what was freed in it comes back. False if that cannot be."""
    txg = m.txg[SYNCING]
    m.txg[SYNCING] = 0
    m.tally[TXGS] += 1
    return sync_txg(space, txg) == 0


# ---- events ----


@part
def timer_event(m, now):
    """It is time for a sync, if none is under way."""
    if m.txg[SYNCING]:
        return
    _open_next(m)
    m.txg[SYNC_BEGAN] = now
    set_time(m.calendar, m.sources.sync, now)
    set_time(m.calendar, m.sources.timer, now + m.orders.txg_ns)


@kernel
def sync_task(m):
    return m.orders.n_users + m.orders.n_shares


@part
def sync_event(m, pool, space, now):
    """Write the next block, or end the group. False if the pool is full."""
    if m.txg[SYNCING] == 0:
        return True
    if m.txg[CURSOR] < _n_of_group(m, m.txg[SYNCING]):
        if pool.n_awaited[sync_task(m)] >= SYNC_IOS:
            set_time(m.calendar, m.sources.sync, now + 1_000_000)
            return True
        n, n_bytes = _move_next(m, space)
        for copy in range(n):
            write_for(pool, now, place_of(space, copy), n_bytes, sync_task(m), pool.queue_params.async_write_priority)
        set_time(m.calendar, m.sources.sync, now + m.orders.sync_block_ns + stall(m, space))
        return n != FULL
    if pool.n_awaited[sync_task(m)] > 0:
        return True  # the last I/O sets the time of another event
    m.tally[SYNC_NS] += now - m.txg[SYNC_BEGAN]
    set_time(m.calendar, m.sources.timer, max(now, m.txg[SYNC_BEGAN] + m.orders.txg_ns))
    return _end(m, space)


# ---- ageing ----


@kernel
def settle(m, space):
    """End the group that is being synced and the open one, without disks. False if the pool is full."""
    for _ in range(2):
        if m.txg[SYNCING] == 0:
            _open_next(m)
        while m.txg[CURSOR] < _n_of_group(m, m.txg[SYNCING]):
            n, _ = _move_next(m, space)
            if n == FULL:
                return False
        if not _end(m, space):
            return False
    return True


@kernel
def age(m, space, records, per_commit, per_txg, redo_per_record):
    """Rewrite `records` (int64[n]), by commits of `per_commit` and in groups of `per_txg`, each record bringing so much of a
    record of the redo logs. False if the pool is full."""
    redo, n_shares = 0.0, m.orders.n_shares
    for i in range(len(records)):
        if not rewrite(m, space, records[i]):
            return False
        redo += redo_per_record
        if i % per_commit == per_commit - 1 and not write_log_block(m, space, i // per_commit % n_shares, per_commit):
            return False
        if i % per_txg == per_txg - 1:
            m.n_dirty[m.txg[OPEN] & 1, len(m.first_of)] += int(redo)
            redo -= int(redo)
            _open_next(m)
            while m.txg[CURSOR] < _n_of_group(m, m.txg[SYNCING]):
                n, _ = _move_next(m, space)
                if n == FULL:
                    return False
            if not _end(m, space):
                return False
    return True
