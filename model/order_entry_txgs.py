"""The order entry's transaction groups, and how its pool ages between runs.

The records are in place already when a group is synced. What a sync writes is what stands above them:

 1. every indirect block above a record that was rewritten, once, in two copies on two vdevs, level by level from below, in
    the order in which they were first dirtied;
 2. the records of the redo logs that were filled, of 128 KiB each; the oldest ones are freed for them;
 3. when all is written, what was freed in the group comes back by the rules of the era (`model.metaslab_txg`).

A sync begins `txg_ns` after the last one began, or at once if that took longer (spec 5.6, T3). Left out: dnodes, space maps,
the uberblock and its flushes, which a group writes once, however small it is: to scale they would weigh too much; the write
throttle; that redo records are written again if a group ends while they are being filled.

*Ageing* is all that the database does to the pool, with the disks and the clock left out: so many records rewritten, by
commits of so many blocks, in groups of so many records. It begins and ends with a sync.
"""

from typing import NamedTuple

import numpy as np

from model.calendar import set_time
from model.jit import kernel, part
from model.order_entry_lun import go_below, group_ends, group_opens, has_room_again, note_dirty, want_below
from model.order_entry_machine import (
    CURSOR,
    ENDED,
    INDIRECT_BLOCK,
    LATENCY,
    LOG_BLOCK,
    OPEN,
    OTHER_DATA,
    RECORD,
    REDO_BYTES,
    REDO_RECORD,
    SYNC_BEGAN,
    SYNC_IOS,
    SYNC_NS,
    SYNCED_RECORD,
    SYNCING,
    TXGS,
    WHAT,
)
from model.order_entry_places import add_redo, want
from model.order_entry_writers import LOG_RECORD, log_bytes, want_log_blocks

MILLISECOND = 1_000_000


class Ageing(NamedTuple):
    """What is to happen to the pool without disks and clock."""

    records: np.ndarray  # to be rewritten, in this order
    per_commit: int  # blocks
    per_txg: int  # records
    redo_bytes: int  # B of redo for each record
    n_other: int  # blocks of 128 KiB of other data to be written first, which then stay
    at: np.ndarray  # how many records, and how many of the others, are done


# ---- what a group writes ----


@kernel
def sync_task(m):
    return m.orders.n_users + m.orders.n_shares + 1


@kernel
def want_next(m):
    """The next block of the group that is being synced is wanted. False if there is none."""
    half, n = m.txg[SYNCING] & 1, m.txg[CURSOR]
    if want_below(m, sync_task(m)):
        return True
    for level in range(m.n_dirty.shape[1]):
        if n < m.n_dirty[half, level]:
            m.txg[CURSOR] += 1
            go_below(m)
            if level == len(m.first_of):
                want(m, REDO_RECORD, 0, m.orders.redo_record_bytes, sync_task(m))
            else:
                block = m.dirty_indirect[half, m.first_of[level] + n]
                want(m, INDIRECT_BLOCK, block, m.orders.indirect_bytes, sync_task(m))
            return True
        n -= m.n_dirty[half, level]
    return False


@kernel
def open_next(m):
    """The open group is to be synced."""
    m.txg[SYNCING] = m.txg[OPEN]
    m.txg[OPEN] += 1
    m.txg[CURSOR] = 0
    for level in range(m.n_dirty.shape[1]):
        m.n_dirty[m.txg[OPEN] & 1, level] = 0
    group_opens(m)
    go_below(m)


@kernel
def end(m):
    """The group is on disk."""
    m.txg[ENDED] = m.txg[SYNCING]
    m.txg[SYNCING] = 0
    m.tally[TXGS] += 1


# ---- events ----


@part
def timer_event(m, now):
    """It is time for a sync, if none is under way."""
    if m.txg[SYNCING] == 0:
        open_next(m)
        m.txg[SYNC_BEGAN] = now
        set_time(m.calendar, m.sources.sync, now)
        has_room_again(m, now)


@part
def sync_event(m, pool, now):
    """Write the next block, or end the group."""
    if m.txg[SYNCING] == 0:
        return
    if pool.n_awaited[sync_task(m)] >= SYNC_IOS:
        set_time(m.calendar, m.sources.sync, now + MILLISECOND)
    elif want_next(m):
        is_record = m.wanted[m.n_wanted[0] - 1, WHAT] == SYNCED_RECORD
        set_time(m.calendar, m.sources.sync, now + (m.orders.sync_record_ns if is_record else m.orders.sync_block_ns))
    elif pool.n_awaited[sync_task(m)] == 0:  # else the last I/O sets the time of another event
        m.tally[SYNC_NS] += now - m.txg[SYNC_BEGAN]
        set_time(m.calendar, m.sources.timer, max(now, m.txg[SYNC_BEGAN] + m.orders.txg_ns))
        group_ends(m, now)
        end(m)


# ---- ageing ----


@kernel
def _is_dirty(m):
    """Whether the open group has anything to write."""
    n = 0
    for level in range(m.n_dirty.shape[1]):
        n += m.n_dirty[m.txg[OPEN] & 1, level]
    return n > 0


@part
def _write_other(m, ageing):
    ageing.at[1] += 1
    want(m, OTHER_DATA, 0, REDO_BYTES, 0)


@part
def _rewrite_next(m, ageing):
    i = ageing.at[0]
    ageing.at[0] += 1
    add_redo(m, ageing.redo_bytes)
    is_lun, share = m.orders.logbias == LATENCY, i // ageing.per_commit % m.orders.n_shares
    if is_lun:
        note_dirty(m, ageing.records[i])
    else:
        want(m, RECORD, ageing.records[i], m.orders.record_bytes, 0)
    if i % ageing.per_commit == ageing.per_commit - 1:
        if not is_lun:
            want(m, LOG_BLOCK, share, log_bytes(ageing.per_commit * LOG_RECORD), 0)
        elif m.orders.has_slog == 0:
            want_log_blocks(m, share, ageing.per_commit * (m.orders.record_bytes + LOG_RECORD))


@part
def age(m, ageing, now):
    """The next step of the ageing. False if that is all."""
    if m.txg[SYNCING]:
        if not want_next(m):
            end(m)
    elif ageing.at[1] < ageing.n_other:
        _write_other(m, ageing)
        if ageing.at[1] % ageing.per_txg == 0 or ageing.at[1] == ageing.n_other:
            open_next(m)
    elif ageing.at[0] == len(ageing.records) and not _is_dirty(m):
        set_time(m.calendar, m.sources.timer, now + m.orders.txg_ns)
        return False
    elif (ageing.at[0] % ageing.per_txg == 0 and _is_dirty(m)) or ageing.at[0] == len(ageing.records):
        open_next(m)
    else:
        _rewrite_next(m, ageing)
    return True
