"""The order entry's transaction groups, and how its pool ages between runs.

The records are in place already when a group is synced. What a sync writes is what stands above them:

 1. every indirect block above a record that was rewritten, once, in two copies on two vdevs. That goes level by level from
    below, in the order in which they were first dirtied;
 2. the records of the redo logs that were filled, of 128 KiB each; the oldest ones are freed for them;
 3. when all is written, what was freed in the group comes back by the rules of the era (`model.zfs.metaslab.sync`).

A sync begins `timeout_ns` after the last one began, at once if that took longer, or when the open group has no more room
(`model.simulations.order_entry.txg_throttle`). Left out: dnodes, space maps, the uberblock and its flushes, which a group
writes once, however small it is. To scale they would weigh too much. Also left out: redo records are written again if a
group ends while they are being filled.

*Ageing* is all that the database does to the pool, with the disks and the clock left out. So many records are rewritten, by
commits of so many blocks, in groups of so many records. Redo goes to a log device or to log blocks. It begins and ends with
a sync.
"""

from typing import NamedTuple

import numpy as np

from model.events.calendar import set_time
from model.events.clock import MS
from model.jit import kernel, part
from model.simulations.order_entry import columns as order
from model.simulations.order_entry.cpu_prefetch import AHEAD, above, rewritten
from model.simulations.order_entry.log_blocks import want_log_of_records, want_log_of_redo
from model.simulations.order_entry.lun import go_below, note_dirty, want_below
from model.simulations.order_entry.placement import add_redo, mark, slot_of, want
from model.simulations.order_entry.state import (
    INDIRECT_BLOCK,
    LATENCY,
    OTHER_DATA,
    RECORD,
    REDO_BYTES,
    REDO_RECORD,
    SYNC_IOS,
    SYNCED_RECORD,
)
from model.simulations.order_entry.txg_throttle import look_again
from model.zfs.txg.throttle import group_written, open_group


class Ageing(NamedTuple):
    """What is to happen to the pool without disks and clock."""

    records: np.ndarray  # to be rewritten, in this order
    per_commit: int  # blocks
    per_txg: int  # records
    redo_bytes: int  # B of redo for each record
    per_redo: int  # records between two writes of redo to log blocks; 0: there is a log device
    n_other: int  # blocks of 128 KiB of other data to be written first, which then stay
    at: np.ndarray  # how far it is; see order.RECORDS_DONE


# ---- what a group writes ----


@kernel
def sync_task(m):
    """The number of the task that syncs groups."""
    return m.orders.n_users + m.orders.n_shares + 1


@kernel
def want_next(m):
    """The next block of the group that is being synced is wanted. False if there is none."""
    slot, n = slot_of(m.txg[order.SYNCING]), m.txg[order.CURSOR]
    if want_below(m, sync_task(m)):
        return True
    for level in range(m.n_dirty.shape[1]):
        if n < m.n_dirty[slot, level]:
            m.txg[order.CURSOR] += 1
            go_below(m)
            if level == len(m.first_of):
                want(m, REDO_RECORD, 0, m.orders.redo_record_bytes, sync_task(m))
            else:
                above(m, slot, level, n + 1)
                block = m.dirty_indirect[slot, m.first_of[level] + n]
                want(m, INDIRECT_BLOCK, block, m.orders.indirect_bytes, sync_task(m))
            return True
        n -= m.n_dirty[slot, level]
    return False


@kernel
def open_next(m):
    """The open group is quiesced."""
    m.txg[order.QUIESCED] = m.txg[order.OPEN]
    m.txg[order.OPEN] += 1
    slot = slot_of(m.txg[order.OPEN])
    for level in range(m.n_dirty.shape[1]):
        m.n_dirty[slot, level] = 0
    open_group(m.throttle, m.txg[order.OPEN])


@kernel
def hand_over(m):
    """The quiesced group is to be synced."""
    m.txg[order.SYNCING], m.txg[order.QUIESCED] = m.txg[order.QUIESCED], 0
    m.txg[order.CURSOR] = 0
    go_below(m)


@kernel
def end(m):
    """The group is on disk."""
    m.txg[order.ENDED] = m.txg[order.SYNCING]
    m.txg[order.SYNCING] = 0
    m.tally[order.TXGS] += 1


# ---- events ----


@part
def _begin_sync(m, now):
    """Of the quiesced group. The open one, if somebody waits for room, is quiesced in its place."""
    hand_over(m)
    m.txg[order.SYNC_BEGAN] = now
    set_time(m.calendar, m.sources.sync, now)
    if m.counts[order.ROOM_WANTED]:
        open_next(m)
    look_again(m, now)


@part
def timer_event(m, now):
    """The open group's time is over, or it is full."""
    if m.txg[order.QUIESCED] == 0:
        open_next(m)
        look_again(m, now)
    if m.txg[order.SYNCING] == 0:
        _begin_sync(m, now)


@part
def sync_event(m, leaves, now):
    """Write the next block, or end the group."""
    if m.txg[order.SYNCING] == 0:
        return
    if leaves.n_awaited[sync_task(m)] >= SYNC_IOS:
        set_time(m.calendar, m.sources.sync, now + MS)
    elif want_next(m):
        is_record = m.wanted[m.n_wanted[0] - 1, order.KIND] == SYNCED_RECORD
        set_time(m.calendar, m.sources.sync, now + (m.orders.sync_record_ns if is_record else m.orders.sync_block_ns))
    elif leaves.n_awaited[sync_task(m)] == 0:  # else the last I/O sets the time of another event
        m.tally[order.SYNC_NS] += now - m.txg[order.SYNC_BEGAN]
        group_written(m.throttle, m.orders.txg, m.txg[order.SYNCING], now - m.txg[order.SYNC_BEGAN], m.orders.max_limit)
        end(m)
        if m.txg[order.QUIESCED]:
            _begin_sync(m, now)
        else:
            set_time(m.calendar, m.sources.timer, max(now, m.txg[order.SYNC_BEGAN] + m.orders.txg.timeout_ns))


# ---- ageing ----


@kernel
def _is_dirty(m):
    """Whether the open group has anything to write."""
    n = 0
    for level in range(m.n_dirty.shape[1]):
        n += m.n_dirty[slot_of(m.txg[order.OPEN]), level]
    return n > 0


@part
def _write_other(m, ageing):
    ageing.at[order.OTHERS_DONE] += 1
    want(m, OTHER_DATA, 0, REDO_BYTES, 0)


@part
def _rewrite_next(m, ageing):
    i = ageing.at[order.RECORDS_DONE]
    ageing.at[order.RECORDS_DONE] += 1
    rewritten(m, ageing.records, i + AHEAD)
    add_redo(m, ageing.redo_bytes)
    if m.orders.logbias == LATENCY:
        note_dirty(m, ageing.records[i])
    else:
        mark(m, ageing.records[i])
        want(m, RECORD, ageing.records[i], m.orders.record_bytes, 0)
    if (m.orders.logbias != LATENCY or m.orders.has_slog == 0) and i % ageing.per_commit == ageing.per_commit - 1:
        want_log_of_records(m, i // ageing.per_commit % m.orders.n_shares, ageing.per_commit)
    if ageing.per_redo and i % ageing.per_redo == ageing.per_redo - 1:
        want_log_of_redo(m, ageing.per_redo * ageing.redo_bytes)


@part
def age(m, ageing, now):
    """The next step of the ageing. False if that is all."""
    if m.txg[order.SYNCING]:
        if not want_next(m):
            end(m)
    elif m.txg[order.QUIESCED]:
        hand_over(m)
    elif ageing.at[order.OTHERS_DONE] < ageing.n_other:
        _write_other(m, ageing)
        if ageing.at[order.OTHERS_DONE] % ageing.per_txg == 0 or ageing.at[order.OTHERS_DONE] == ageing.n_other:
            open_next(m)
    elif ageing.at[order.RECORDS_DONE] == len(ageing.records) and not _is_dirty(m):
        look_again(m, now)
        set_time(m.calendar, m.sources.timer, now + m.orders.txg.timeout_ns)
        return False
    elif ((ageing.at[order.RECORDS_DONE] % ageing.per_txg == 0 and _is_dirty(m))
          or ageing.at[order.RECORDS_DONE] == len(ageing.records)):
        open_next(m)
    else:
        _rewrite_next(m, ageing)
    return True
