"""A LUN (a zvol) with logbias=latency in place of data shares with logbias=throughput: a write is safe when it is in the
intent log, and the block goes to its place with the transaction group.

 1. A commit copies all blocks that came meanwhile into the log: to the log device, or, if there is none, into log blocks
    of up to 128 KiB of the main pool, which are flushed (spec 6.2, 6.6, middle line). A LUN with a write cache is one with a
    log device that takes no time.
 2. A block that was written is dirty in the open group, once, however often it is written. It has no new place yet.
 3. The sync of a group goes through its lowest indirect blocks in the order in which they were first dirtied; the dirty
    blocks below each get their new places, in the order in which they were first dirtied, then its own two copies do
    (spec 2.12). They are issued one after the other and wait in the vdev queues; what lies side by side is joined there.
 4. *Throttle* (spec 5.6, T3): a group takes no more blocks than groups, smoothed, write in `sync_target_ns`. A full one is
    synced at once, or, if another is being synced, whoever writes waits for that.
"""

from model.calendar import set_time
from model.jit import kernel, part
from model.order_entry_machine import (
    BELOW,
    CURSOR,
    IDLE,
    IS_FULL,
    LATENCY,
    LIMIT,
    N_DIRTY,
    N_WRITTEN,
    OPEN,
    PER_S,
    POINTER_SHIFT,
    STAGE,
    SYNC_BEGAN,
    SYNCED_RECORD,
    SYNCING,
)
from model.order_entry_places import mark, want

NO_RECORD = -1
SECOND = 1_000_000_000


@kernel
def note_dirty(m, record):
    """The open group is to write `record`."""
    txg, half, above = m.txg[OPEN], m.txg[OPEN] & 1, record >> POINTER_SHIFT
    if m.record_dirtied_in[record] == txg:
        return
    m.record_dirtied_in[record] = txg
    if m.dirtied_in[m.first_of[0] + above] == txg:
        m.next_below[half, m.last_below[half, above]] = record
    else:
        m.first_below[half, above] = record
    m.last_below[half, above] = record
    m.next_below[half, record] = NO_RECORD
    m.throttle[N_DIRTY] += 1
    mark(m, record)


@kernel
def go_below(m):
    """The dirty blocks below the indirect block at the cursor are next, if it is one of the lowest."""
    half = m.txg[SYNCING] & 1
    m.txg[BELOW] = NO_RECORD
    if m.orders.logbias == LATENCY and m.txg[CURSOR] < m.n_dirty[half, 0]:
        above = m.dirty_indirect[half, m.first_of[0] + m.txg[CURSOR]] - m.first_of[0]
        m.txg[BELOW] = m.first_below[half, above]


@kernel
def want_below(m, task):
    """The next of these blocks is wanted. False if there is none."""
    record = m.txg[BELOW]
    if record == NO_RECORD:
        return False
    m.txg[BELOW] = m.next_below[m.txg[SYNCING] & 1, record]
    m.throttle[N_WRITTEN] += 1
    want(m, SYNCED_RECORD, record, m.orders.record_bytes, task)
    return True


# ---- throttle ----


@kernel
def group_opens(m):
    """A group is empty; that before is to be synced."""
    m.throttle[N_DIRTY] = m.throttle[N_WRITTEN] = 0


@part
def is_full(m, now):
    """Whether the open group takes no more. It is synced as soon as that can be."""
    throttle = m.throttle
    if m.orders.logbias != LATENCY or throttle[N_DIRTY] < max(m.orders.least_limit, throttle[LIMIT]):
        return False
    throttle[IS_FULL] = 1
    if m.txg[SYNCING] == 0:
        set_time(m.calendar, m.sources.timer, now)
    return True


@part
def group_ends(m, now):
    """How many blocks groups take from now on; and those who waited for room look again."""
    throttle, took = m.throttle, max(1, now - m.txg[SYNC_BEGAN])
    if throttle[N_WRITTEN] > 0:
        per_s = throttle[N_WRITTEN] * SECOND // took
        throttle[PER_S] = per_s if throttle[PER_S] == 0 else (per_s + 3 * throttle[PER_S]) // 4
        throttle[LIMIT] = throttle[PER_S] * (m.orders.sync_target_ns // 1000) // (SECOND // 1000)
    if throttle[IS_FULL]:
        set_time(m.calendar, m.sources.timer, now)


@part
def has_room_again(m, now):
    """A new group is open: those who waited for room go on."""
    if m.throttle[IS_FULL]:
        m.throttle[IS_FULL] = 0
        for share in range(m.orders.n_shares):
            if m.shares[share, STAGE] == IDLE:
                set_time(m.calendar, m.sources.shares + share, now)
