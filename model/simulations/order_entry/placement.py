"""Where the blocks of the order entry are put: the one door to the allocator.

What has to be written is *wanted*: records and log blocks by commits, indirect blocks and redo records by transaction
groups. At the end of each event all that is wanted gets a place, in that order, one block after the other. Where it lay
before is freed in the same transaction group, as many B as it takes now, for all vdevs are alike. Then it is on its way to
the disks. A commit or a group hears of its writes as its task (`model.zfs.vdev.leaves`). A log block is good for one
transaction group only, and is freed in it.
"""

from model.events.calendar import set_time
from model.jit import kernel, part
from model.simulations.order_entry import columns as order
from model.simulations.order_entry.state import INDIRECT_BLOCK, LOG_BLOCK, OTHER_DATA, RECORD, REDO_RECORD, SYNCED_RECORD
from model.zfs.dmu.indirect import INDIRECT_BYTES
from model.zfs.metaslab.metaslab_class import NO_HINT, allocate, allocate_log, free
from model.zfs.shared_numbers import COPIES, POINTER_SHIFT, TXG_SIZE
from model.zfs.txg.throttle import note_dirty
from model.zfs.vdev.leaves import write_for
from model.zfs.vdev.places import FRONT_BYTES, LEAF_SHIFT, OFFSET_MASK


@kernel
def slot_of(txg):
    """Which of the TXG_SIZE places group `txg` has."""
    return txg % TXG_SIZE


@kernel
def count_dirty(m, n, n_bytes):
    """The open group has dirtied `n` more blocks of so many B: what `model.zfs.txg.throttle` goes by."""
    note_dirty(m.throttle, m.orders.txg, m.txg[order.OPEN], n * n_bytes)


@kernel
def want(m, kind, which, n_bytes, task):
    """A block of `n_bytes` is to be put somewhere; `task` waits until it is written."""
    n = m.n_wanted[0]
    m.wanted[n, order.KIND] = kind
    m.wanted[n, order.WHICH] = which
    m.wanted[n, order.N_BYTES] = n_bytes
    m.wanted[n, order.TASK] = task
    m.wanted[n, order.N_WRITTEN] = n_bytes
    m.n_wanted[0] += 1


@kernel
def add_redo(m, n_bytes):
    """The redo logs grow: records that are full now are written by the open group."""
    record = m.orders.redo_record_bytes
    full = (m.counts[order.REDO_AT] + n_bytes) // record - m.counts[order.REDO_AT] // record
    m.counts[order.REDO_AT] += n_bytes
    m.n_dirty[slot_of(m.txg[order.OPEN]), len(m.first_of)] += full
    count_dirty(m, full, record)


@part
def mark(m, record):
    """The open group dirties `record`, and, above it, what it has not dirtied yet."""
    txg, block, slot = m.txg[order.OPEN], record, slot_of(m.txg[order.OPEN])
    count_dirty(m, m.record_dirtied_in[record] != txg, m.orders.record_bytes)
    m.record_dirtied_in[record] = txg
    for level in range(len(m.first_of)):
        block >>= POINTER_SHIFT
        i = m.first_of[level] + block
        if m.dirtied_in[i] == txg:
            return
        m.dirtied_in[i] = txg
        m.dirty_indirect[slot, m.first_of[level] + m.n_dirty[slot, level]] = i
        m.n_dirty[slot, level] += 1
        count_dirty(m, 1, INDIRECT_BYTES)


@part
def _exchange(m, kind, which, copy, place):
    """Note where a copy is put: where it was, or -1."""
    old = place
    if kind in (RECORD, SYNCED_RECORD):
        old = m.record_at[which]
        m.record_at[which] = place
    elif kind == INDIRECT_BLOCK:
        old = m.indirect_at[which, copy]
        m.indirect_at[which, copy] = place
    elif kind == REDO_RECORD:
        old = m.redo_at[m.txg[order.REDO_PLACE]]
        m.redo_at[m.txg[order.REDO_PLACE]] = place
        m.txg[order.REDO_PLACE] = (m.txg[order.REDO_PLACE] + 1) % len(m.redo_at)
        m.tally[order.REDO_RECORDS] += 1
    elif kind == OTHER_DATA:
        old = -1
    else:
        m.shares[which, order.LOG_VDEV] = place >> LEAF_SHIFT
    return old


@part
def _write(m, leaves, now, place, n_bytes, task):
    """Write a block. If it is of a commit, that knows which disks it has to flush."""
    share, before = task - m.orders.n_users, leaves.n_out[0]
    is_sync = share > m.orders.n_shares
    queue = leaves.queue_params
    write_for(leaves, now, place, n_bytes, task, queue.async_write_priority if is_sync else queue.sync_write_priority)
    for i in range(before, leaves.n_out[0]):
        if not is_sync:
            m.touched[share, leaves.leaf_of[leaves.outbox[i]]] = 1


@part
def _stall(m, space, now):
    """The one that wanted these blocks had to wait for space maps."""
    n = space.counters.load_blocks[0] - m.counts[order.LOADED]
    if n == 0:
        return
    took, share = n * m.orders.load_block_ns, m.wanted[0, order.TASK] - m.orders.n_users
    m.tally[order.STALLS] += 1
    m.tally[order.STALL_NS] += took
    if share <= m.orders.n_shares:
        m.shares[share, order.STALLED_UNTIL] = now + took
    else:
        set_time(m.calendar, m.sources.sync, m.calendar.time[m.sources.sync] + took)


@kernel
def _allocate(m, space, kind, which, txg, n_bytes, n_copies):
    """A log device is a time and a rate here: log blocks that go to the pool have no class of their own."""
    if kind == LOG_BLOCK:
        return allocate_log(space, txg, n_bytes, m.shares[which, order.LOG_VDEV], False)
    return allocate(space, txg, n_bytes, n_copies, NO_HINT)


@part
def put_wanted(m, leaves, space, now, writes):
    """All that is wanted gets its place and, if `writes`, is written. False if the pool is full."""
    for i in range(m.n_wanted[0]):
        kind, which = m.wanted[i, order.KIND], m.wanted[i, order.WHICH]
        n_bytes, task = m.wanted[i, order.N_BYTES], m.wanted[i, order.TASK]
        txg = m.txg[order.OPEN] if kind <= OTHER_DATA else m.txg[order.SYNCING]
        n_copies = COPIES if kind == INDIRECT_BLOCK else 1
        if _allocate(m, space, kind, which, txg, n_bytes, n_copies) != 0:
            return False
        m.tally[order.INDIRECT] += kind == INDIRECT_BLOCK
        m.tally[order.PLACED] += n_copies
        for copy in range(n_copies):
            place = space.dva_vdev[copy] << LEAF_SHIFT | (space.dva_offset[copy] + FRONT_BYTES)
            old = _exchange(m, kind, which, copy, place)
            if old >= 0:
                free(space, txg, old >> LEAF_SHIFT, (old & OFFSET_MASK) - FRONT_BYTES, space.dva_bytes[copy])
            if writes:
                _write(m, leaves, now, place, m.wanted[i, order.N_WRITTEN], task)
    if m.n_wanted[0] and writes:
        _stall(m, space, now)
    m.counts[order.LOADED] = space.counters.load_blocks[0]
    m.n_wanted[0] = 0
    return True
