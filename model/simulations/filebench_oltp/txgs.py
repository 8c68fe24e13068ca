"""The OLTP run's transaction groups: when one ends, and how its blocks are written, one after the other.

A group is open for `txg_ns`. Its blocks are check-summed, compressed and allocated in their order. In ZFS of 2007 the sync
thread does that alone, as records are not compressed; later several do (`model.zfs.txg.write_issue`). They are written as
they come. When the last I/O has completed, the next group that waits is synced (spec 5.6).
"""

from model.events.calendar import set_time
from model.jit import kernel, part
from model.simulations.filebench_oltp import columns as oltp
from model.simulations.filebench_oltp.cpu_prefetch import block_above, next_write
from model.simulations.filebench_oltp.processors import kernel_work
from model.structures.sentinels import NIL
from model.zfs.arc.arc import make_anonymous
from model.zfs.dmu import columns as dirtied
from model.zfs.dmu.dbuf import node_of_entry
from model.zfs.dmu.dirty import advance, hand_over, quiesce
from model.zfs.dmu.layout import allocate, allocate_copy
from model.zfs.vdev.leaves import write_block


@part
def _start_sync(m, now):
    if hand_over(m.txgs):
        m.tally.sync_began[0] = now
        set_time(m.calendar, m.sources.sync, now)


@part
def timer_event(m, now):
    """The open group has been open for its time."""
    if quiesce(m.txgs):
        set_time(m.calendar, m.sources.timer, now + m.settings.txg_ns)
        _start_sync(m, now)


@part
def _end_sync(m, now):
    """All of the group is written."""
    m.tally.counts[oltp.TXGS] += 1
    m.tally.counts[oltp.LONGEST_SYNC_NS] = max(m.tally.counts[oltp.LONGEST_SYNC_NS], now - m.tally.sync_began[0])
    m.txgs.syncing[0] = 0
    _start_sync(m, now)
    if m.txgs.overdue[0]:
        timer_event(m, now)


@part
def _bytes_now(m, entry):
    """B that the block of `entry` takes when it is written now. Its L1 hears of a record."""
    block = m.txgs.entries[entry, dirtied.BLOCK]
    if block < m.files.n_records:
        m.tally.counts[oltp.RECORDS_WRITTEN] += 1
        above = m.txgs.entries[entry, dirtied.ABOVE]
        block_above(m, above)
        m.tally.n_rewritten[m.txgs.entries[above, dirtied.BLOCK] - m.files.n_records] += 1
        return m.workload.record_bytes
    m.tally.counts[oltp.INDIRECT_WRITTEN] += 1
    i = block - m.files.n_records
    return m.sizes.l1[min(m.tally.n_rewritten[i], len(m.sizes.l1) - 1)] if m.layout.level[i] == 1 else m.sizes.upper_l


@part
def _write_copy(m, leaves, now, entry, place, n_bytes):
    n = write_block(leaves, now, place, n_bytes)
    for i in range(leaves.n_out[0] - n, leaves.n_out[0]):
        m.entry_of[leaves.outbox[i]] = entry
    m.txgs.entries[entry, dirtied.WRITING] += n
    m.txgs.n_pending[0] += n


@kernel
def _first_free(free):
    """Which of the threads that write a group is free first."""
    first = 0
    for i in range(1, len(free)):
        if free[i] < free[first]:
            first = i
    return first


@part
def sync_event(m, leaves, now):
    """Write the block at the cursor, and its second copy if it has one."""
    entry = m.txgs.cursor[0]
    if entry == NIL:
        if m.txgs.n_pending[0] == 0:
            _end_sync(m, now)
        return
    n_bytes, is_record = _bytes_now(m, entry), m.txgs.entries[entry, dirtied.BLOCK] < m.files.n_records
    place = allocate(m.space, n_bytes)
    _write_copy(m, leaves, now, entry, place, n_bytes)
    if not is_record:
        _write_copy(m, leaves, now, entry, allocate_copy(m.space, place, n_bytes), n_bytes)
        make_anonymous(m.arc, node_of_entry(m, entry))
    advance(m.txgs)
    next_write(m)
    m.sync_free[_first_free(m.sync_free)] = kernel_work(
        m, now, m.settings.sync_record_ns if is_record else m.settings.sync_indirect_ns)
    set_time(m.calendar, m.sources.sync, max(now, m.sync_free[_first_free(m.sync_free)]))
