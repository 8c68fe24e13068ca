"""The write throttle of transaction groups, b103 to b141: how much a group takes, and who waits (spec 5.6, T3).

Three groups are about: one open, at most one *quiesced*, one being synced. In English:

 1. What a group is to write is counted when it is dirtied for the first time in the group: a record and each indirect block
    above it, at its full logical size, six times over, because as many B may be reserved for it on disk.
 2. A group takes no more than a *limit* of these B. Then it is quiesced and the next one is open; if another one is quiesced
    already, whoever writes waits until that is handed over to the sync.
 3. Above seven eighths of the limit, while a quiesced group waits for the one that is being synced, a write first sleeps for
    a tick; no longer than until the quiesced one is handed over.
 4. At the end of a sync: how many of these B a second it took, smoothed (a fourth of this, three fourths of before), times
    five seconds, are the limit from then on; at least 32 MB, at most as many as an eighth of the memory has, six times over.
    Syncs of less than 4 MB say nothing.

Left out: reservations of writes under way (a thousandth of a limit), dnodes, what the ARC itself would refuse.
"""

from model.calendar import set_time
from model.indirect import INDIRECT_BYTES
from model.jit import kernel, part
from model.order_entry_machine import (
    COMMIT,
    IDLE,
    INFLATION,
    LIMIT,
    LOG_GROUP,
    OPEN,
    PER_S,
    QUIESCED,
    SLOTS,
    STAGE,
    SYNC_BEGAN,
    SYNCING,
    WAITS,
)

MICROSECOND = 1000
TICK_NS = 10_000_000  # at hz = 100
TELLS = 8  # a sync of less than the least limit over this says nothing: 4 of 32 MB


@kernel
def slot_of(txg):
    return txg % SLOTS


@kernel
def count_dirty(m, n_records, n_indirect, record_bytes):
    """Rule 1, for the open group."""
    m.inflated[slot_of(m.txg[OPEN])] += INFLATION * (n_records * record_bytes + n_indirect * INDIRECT_BYTES)


@kernel
def takes_more(m):
    """Whether the open group takes another write."""
    return m.inflated[slot_of(m.txg[OPEN])] < m.throttle[LIMIT]


@part
def has_room(m, now):
    """Rule 2. A group that has none is quiesced in a moment, if it can be."""
    if takes_more(m):
        return True
    m.throttle[WAITS] = 1
    if m.txg[QUIESCED] == 0:
        set_time(m.calendar, m.sources.timer, now)
    return False


@kernel
def sleeps(m):
    """Rule 3."""
    return m.txg[QUIESCED] != 0 and 8 * m.inflated[slot_of(m.txg[OPEN])] > 7 * m.throttle[LIMIT]


@part
def group_is_synced(m, now):
    """Rule 4."""
    throttle, orders, took = m.throttle, m.orders, (now - m.txg[SYNC_BEGAN]) // MICROSECOND
    written = m.inflated[slot_of(m.txg[SYNCING])]
    if TELLS * written <= orders.least_limit or took == 0:
        return
    per_s = written * 1_000_000 // took
    throttle[PER_S] = per_s if throttle[PER_S] == 0 else (per_s + 3 * throttle[PER_S]) // 4
    limit = throttle[PER_S] * (orders.sync_target_ns // MICROSECOND) // 1_000_000
    throttle[LIMIT] = min(orders.most_limit, max(orders.least_limit, limit))


@part
def look_again(m, now):
    """Whoever waits for room, or sleeps, looks again."""
    m.throttle[WAITS] = 0
    for share in range(m.orders.n_shares):
        if m.shares[share, STAGE] == IDLE:
            set_time(m.calendar, m.sources.shares + share, now)
    if m.counts[LOG_GROUP] == 0 and m.ends[COMMIT, 0] != m.ends[COMMIT, 1]:
        set_time(m.calendar, m.sources.log_writer, now)
