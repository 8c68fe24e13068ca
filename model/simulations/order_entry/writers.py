"""The order entry's database writers, and the intent logs of the data shares.

    writer     takes a batch of dirty blocks, first dirtied first; issues one every `wire_ns`; when all are done, the next
                      |        |        |
    intent log     [ they wait ] -> commit -> [ those that came meanwhile wait ] -> commit -> ...

A block is written with logbias=throughput. It is not copied into the log: `dmu_sync` gives it its new place in the main pool
*now* and writes it there. A record in a log block, in the main pool too, says where. In English (spec 6.3, 6.4, 6.6):

 1. A share has one commit under way. All blocks that came meanwhile are in the next one.
 2. A commit gives each of its blocks a place, one after the other, and writes them with the priority of synchronous writes.
    Then it writes the log block, on the next vdev. Blocks that get places side by side may become one I/O in the vdev queue,
    if they wait there; nothing else makes I/Os large.
 3. When all are written, the caches of the disks that were written to are flushed. When that is done, the writers hear of
    it, and the buffers are free.
 4. The place that a record had before, and the log block, are freed in the same transaction group.

A flush is over when what the disk's cache holds at that moment is on the platter. A commit takes no more blocks than the
open transaction group does; where that is nearly full, they may have to sleep first
(`model.simulations.order_entry.txg_throttle`).
"""

from model.devices.cache_flush import write_out
from model.events import ring
from model.events.calendar import NEVER, set_time
from model.events.clock import SECOND_NS, TICK_NS
from model.jit import kernel, part
from model.simulations.order_entry import columns as order
from model.simulations.order_entry.cpu_prefetch import committed
from model.simulations.order_entry.log_blocks import want_log_of_records, want_log_of_redo
from model.simulations.order_entry.lun import note_dirty
from model.simulations.order_entry.placement import mark, want
from model.simulations.order_entry.state import FLUSHING, IDLE, LATENCY, RECORD, WRITING
from model.simulations.order_entry.txg_throttle import has_room, sleeps, takes_more
from model.simulations.order_entry.users import buffers_free, log_written, write_log
from model.zfs.zil.log import COPIED, log_bytes

# ---- database writers ----


@kernel
def _to_write(m):
    """Dirty blocks that no writer has in its batch yet, beyond those that may stay."""
    n = ring.n_in(m.dirty_ends) - m.orders.dirty_target
    for writer in range(m.orders.n_writers):
        n -= m.writers[writer, order.TO_ISSUE]
    return n


@kernel
def _is_idle(m, writer):
    return m.writers[writer, order.TO_ISSUE] == 0 and m.writers[writer, order.UNDER_WAY] == 0


@part
def writer_event(m, now, writer):
    """Issue the next block of the batch; or take a new batch, if there is enough that is dirty."""
    writers, orders = m.writers, m.orders
    if _is_idle(m, writer):
        writers[writer, order.TO_ISSUE] = max(0, min(_to_write(m), orders.writes_per_batch))
    if writers[writer, order.TO_ISSUE] == 0:
        return
    record = ring.take(m.dirty_ring, m.dirty_ends)
    m.is_dirty[record] = 0
    writers[writer, order.TO_ISSUE] -= 1
    writers[writer, order.UNDER_WAY] += 1
    _to_log(m, now, record, writer)
    if writers[writer, order.TO_ISSUE] > 0:
        set_time(m.calendar, m.sources.writers + writer, now + orders.wire_ns)


@kernel
def _to_log(m, now, record, writer):
    """A block reaches the intent log of its share."""
    committed(m, record)
    share = record * m.orders.n_shares // m.orders.n_records
    i = m.shares[share, order.N_PUT] & (m.pending.shape[1] - 1)
    m.pending[share, i, order.PENDING_RECORD] = record
    m.pending[share, i, order.WRITER] = writer
    m.pending[share, i, order.ISSUED] = now
    m.shares[share, order.N_PUT] += 1
    if m.shares[share, order.STAGE] == IDLE:
        m.shares[share, order.STAGE] = WRITING
        set_time(m.calendar, m.sources.shares + share, now)


@part
def wake_writers(m, now):
    """Those that sleep look whether enough is dirty now."""
    if ring.n_in(m.dirty_ends) <= m.orders.dirty_target or _to_write(m) <= 0:
        return
    for writer in range(m.orders.n_writers):
        source = m.sources.writers + writer
        if _is_idle(m, writer) and m.calendar.time[source] == NEVER:
            set_time(m.calendar, source, now)


# ---- commits ----


@kernel
def _begin_commit(m, share):
    for leaf in range(m.touched.shape[1]):
        m.touched[share, leaf] = 0


@part
def _take_pending(m, share):
    """A commit takes what waits, in its order, as long as the open group does: how many blocks."""
    shares, size = m.shares, m.pending.shape[1]
    while shares[share, order.STARTED] < shares[share, order.N_PUT] and takes_more(m):
        record = m.pending[share, shares[share, order.STARTED] & (size - 1), order.PENDING_RECORD]
        shares[share, order.STARTED] += 1
        if m.orders.logbias == LATENCY:
            note_dirty(m, record)
        else:
            mark(m, record)
            want(m, RECORD, record, m.orders.record_bytes, m.orders.n_users + share)
    return shares[share, order.STARTED] - shares[share, order.FINISHED]


@part
def _to_log_device(m, now, share, n):
    """A commit of a LUN that has one."""
    m.shares[share, order.STAGE] = FLUSHING
    n_bytes = n * log_bytes(COPIED, m.orders.record_bytes)
    took = m.orders.slog_ns + n_bytes * SECOND_NS // m.orders.slog_rate
    set_time(m.calendar, m.sources.shares + share, now + took)


@part
def _commit(m, now, share):
    """Begin a commit of all that waits and has room."""
    _begin_commit(m, share)
    m.shares[share, order.STAGE] = WRITING
    n = _take_pending(m, share)
    m.tally[order.COMMITS] += 1
    m.tally[order.BLOCKS_COMMITTED] += n
    if m.orders.logbias == LATENCY and m.orders.has_slog:
        _to_log_device(m, now, share, n)
    else:
        want_log_of_records(m, share, n)
    if m.shares[share, order.STARTED] < m.shares[share, order.N_PUT]:
        has_room(m, now)


@kernel
def flushed_at(m, leaves, now, share):
    """When the caches of all disks that the commit has written to are flushed."""
    ends = now + m.orders.flush_ns
    for leaf in range(m.touched.shape[1]):
        if m.touched[share, leaf]:
            ends = max(ends, write_out(leaves.disk.disk, leaves.drives.state, leaf, now) + m.orders.flush_ns)
    return max(ends, m.shares[share, order.STALLED_UNTIL])


@part
def is_written(m, leaves, now, share):
    """All blocks of a commit have been written: flush."""
    m.shares[share, order.STAGE] = FLUSHING
    set_time(m.calendar, m.sources.shares + share, flushed_at(m, leaves, now, share))


@part
def _committed(m, now, share):
    """The writers hear of their blocks; those that have no more under way can go on."""
    shares, size = m.shares, m.pending.shape[1]
    for i in range(shares[share, order.FINISHED], shares[share, order.STARTED]):
        writer = m.pending[share, i & (size - 1), order.WRITER]
        m.writers[writer, order.UNDER_WAY] -= 1
        m.tally[order.WRITES] += 1
        m.tally[order.WRITE_NS] += now + m.orders.op_ns - m.pending[share, i & (size - 1), order.ISSUED]
        m.counts[order.N_HELD] -= 1
        if _is_idle(m, writer):
            set_time(m.calendar, m.sources.writers + writer, now + m.orders.op_ns)
    shares[share, order.FINISHED] = shares[share, order.STARTED]
    buffers_free(m, now)


@part
def share_event(m, now, share):
    """A commit begins, or has been flushed."""
    shares = m.shares
    if shares[share, order.STAGE] == FLUSHING:
        _committed(m, now, share)
    shares[share, order.STAGE] = IDLE
    if shares[share, order.N_PUT] == shares[share, order.FINISHED] or not has_room(m, now):
        return
    came = m.pending[share, shares[share, order.FINISHED] & (m.pending.shape[1] - 1), order.ISSUED]
    if sleeps(m) and came + TICK_NS > now:
        set_time(m.calendar, m.sources.shares + share, came + TICK_NS)
    else:
        _commit(m, now, share)


# ---- the redo logs without a log device ----


@part
def log_event(m, now):
    """The log writer's write is done; or, without a log device, is to begin; or there may be room for one again."""
    share = m.orders.n_shares
    if m.counts[order.LOG_GROUP] == 0:
        write_log(m, now)
    elif m.shares[share, order.STAGE] == WRITING:
        _begin_commit(m, share)
        want_log_of_redo(m, m.counts[order.GROUP_BYTES])
    else:
        m.shares[share, order.STAGE] = IDLE
        log_written(m, now)
