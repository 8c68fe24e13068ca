"""A LUN (a zvol) with logbias=latency in place of data shares with logbias=throughput. A write is safe when it is in the
intent log, and the block goes to its place with the transaction group.

 1. A commit copies all blocks that came meanwhile into the log. They go to the log device, or, if there is none, into log
    blocks of up to 128 KiB of the main pool. Those are flushed (spec 6.2, 6.6, middle line). A LUN with a write cache is one
    with a log device that takes no time.
 2. A block that was written is dirty in the open group, once, however often it is written. It has no new place yet.
 3. The sync of a group goes through its lowest indirect blocks in the order in which they were first dirtied. The dirty
    blocks below each get their new places, in the order in which these were first dirtied. Then its own two copies do
    (spec 2.12). They are issued one after the other and wait in the vdev queues. What lies side by side is joined there.

How much a group takes is the business of `model.zfs.txg.throttle`.
"""

from model.jit import kernel
from model.simulations.order_entry import columns as order
from model.simulations.order_entry.cpu_prefetch import synced
from model.simulations.order_entry.placement import mark, slot_of, want
from model.simulations.order_entry.state import LATENCY, SYNCED_RECORD
from model.zfs.shared_numbers import POINTER_SHIFT

NO_RECORD = -1


@kernel
def note_dirty(m, record):
    """The open group is to write `record`."""
    txg, slot, above = m.txg[order.OPEN], slot_of(m.txg[order.OPEN]), record >> POINTER_SHIFT
    if m.record_dirtied_in[record] == txg:
        return
    if m.dirtied_in[m.first_of[0] + above] == txg:
        m.next_below[slot, m.last_below[slot, above]] = record
    else:
        m.first_below[slot, above] = record
    m.last_below[slot, above] = record
    m.next_below[slot, record] = NO_RECORD
    mark(m, record)


@kernel
def go_below(m):
    """The dirty blocks below the indirect block at the cursor are next, if it is one of the lowest."""
    slot = slot_of(m.txg[order.SYNCING])
    m.txg[order.BELOW] = NO_RECORD
    if m.orders.logbias == LATENCY and m.txg[order.CURSOR] < m.n_dirty[slot, 0]:
        above = m.dirty_indirect[slot, m.first_of[0] + m.txg[order.CURSOR]] - m.first_of[0]
        m.txg[order.BELOW] = m.first_below[slot, above]


@kernel
def want_below(m, task):
    """The next of these blocks is wanted. False if there is none."""
    record = m.txg[order.BELOW]
    if record == NO_RECORD:
        return False
    slot = slot_of(m.txg[order.SYNCING])
    m.txg[order.BELOW] = m.next_below[slot, record]
    synced(m, slot, m.txg[order.BELOW])
    want(m, SYNCED_RECORD, record, m.orders.record_bytes, task)
    return True
