"""The order entry's database writers, and the intent logs of the data shares.

    writer:  takes a batch of dirty blocks, first dirtied first;     issue - issue - issue ... all done: the next batch
             one every `wire_ns`; sleeps while few are dirty              \       \       \
    intent log of a share:                                             [ waiting ] -> commit -> [ waiting ] -> commit ...

A block is written with logbias=throughput: it is not copied into the log; `dmu_sync` gives it its new place in the main pool
*now* and writes it there, and a record in a log block, in the main pool too, says where. In English (spec 6.3, 6.4, 6.6):

 1. A share has one commit under way. All blocks that came meanwhile are in the next one.
 2. A commit gives each of its blocks a place, one after the other, and writes them with the priority of synchronous writes;
    then the log block, on the next vdev. Blocks that get places side by side may become one I/O in the vdev queue, if they
    wait there; nothing else makes I/Os large.
 3. When all are written, the caches of the disks that were written to are flushed. When that is done, the writers hear of
    it, and the buffers are free.
 4. The place that a record had before, and the log block, are freed in the same transaction group.

A flush is over when what the disk's cache holds at that moment is on the platter. Left out: log blocks are given a place one
commit ahead; a commit of more than 680 blocks would need a second one.
"""

from model.calendar import NEVER, set_time
from model.disk_mechanics import DIRTY as DIRTY_UNTIL
from model.jit import kernel, part
from model.layout import FRONT_BYTES, LEAF_SHIFT, OFFSET_MASK
from model.metaslab import allocate, free
from model.order_entry_machine import (
    BLOCKS_COMMITTED,
    COMMITS,
    DIRTY,
    FINISHED,
    FLUSHING,
    IDLE,
    ISSUED,
    LOG_VDEV,
    N_HELD,
    N_PUT,
    OPEN,
    POINTER_SHIFT,
    RECORD,
    STAGE,
    STALL_NS,
    STALLED_UNTIL,
    STALLS,
    STARTED,
    WRITE_NS,
    WRITER,
    WRITES,
    WRITING,
)
from model.order_entry_users import buffers_free, n_in, take
from model.pool import write_for
from model.vdev_map import asize

LOG_RECORD, LOG_TRAILER, LOG_UNIT = 192, 184, 4096  # B: of a write that goes elsewhere, of a block; spec 6.1, 6.4

# ---- places ----


@kernel
def free_at(m, space, place, n_bytes):
    """What lies at `place` is free, from the open group on."""
    if place >= 0:
        free(space, m.txg[OPEN], place >> LEAF_SHIFT, (place & OFFSET_MASK) - FRONT_BYTES, asize(m.orders.vdev, n_bytes))


@kernel
def place_of(space, copy):
    """Where `allocate` has put a copy."""
    return space.dva_vdev[copy] << LEAF_SHIFT | space.dva_offset[copy] + FRONT_BYTES


@kernel
def _mark(m, record):
    """Indirect blocks above `record` that the open group dirties here."""
    txg, block, quarter = m.txg[OPEN], record, m.txg[OPEN] & 1
    for level in range(len(m.first_of)):
        block >>= POINTER_SHIFT
        i = m.first_of[level] + block
        if m.dirtied_in[i] == txg:
            return
        m.dirtied_in[i] = txg
        m.dirty_indirect[quarter, m.first_of[level] + m.n_dirty[quarter, level]] = i
        m.n_dirty[quarter, level] += 1


@kernel
def rewrite(m, space, record):
    """A new place for `record`, and the old one is free. False if the pool is full."""
    if allocate(space, m.txg[OPEN], m.orders.record_bytes, 1, -1) != 0:
        return False
    free_at(m, space, m.record_at[record], m.orders.record_bytes)
    m.record_at[record] = place_of(space, 0)
    _mark(m, record)
    return True


@kernel
def log_bytes(n_blocks):
    """Of a log block that says where so many records are."""
    return (n_blocks * LOG_RECORD + LOG_TRAILER + LOG_UNIT - 1) // LOG_UNIT * LOG_UNIT


@kernel
def write_log_block(m, space, share, n_blocks):
    """A log block gets a place, which is free again in the same group. False if the pool is full."""
    hint = (m.shares[share, LOG_VDEV] + 1) % m.orders.n_vdevs
    if allocate(space, m.txg[OPEN], log_bytes(n_blocks), 1, hint) != 0:
        return False
    m.shares[share, LOG_VDEV] = space.dva_vdev[0]
    free_at(m, space, place_of(space, 0), log_bytes(n_blocks))
    return True


# ---- database writers ----


@kernel
def _to_write(m):
    """Dirty blocks that no writer has in its batch yet, beyond those that may stay."""
    n = n_in(m.ends, DIRTY) - m.orders.dirty_target
    for writer in range(m.orders.n_writers):
        n -= m.writers[writer, 0]
    return n


@kernel
def _is_idle(m, writer):
    return m.writers[writer, 0] == 0 and m.writers[writer, 1] == 0


@part
def writer_event(m, now, writer):
    """Issue the next block of the batch; or take a new batch, if there is enough that is dirty."""
    writers, orders = m.writers, m.orders
    if _is_idle(m, writer):
        writers[writer, 0] = max(0, min(_to_write(m), orders.writes_per_batch))
    if writers[writer, 0] == 0:
        return
    record = take(m.dirty_ring, m.ends, DIRTY)
    m.is_dirty[record] = 0
    writers[writer, 0] -= 1
    writers[writer, 1] += 1
    _to_log(m, now, record, writer)
    if writers[writer, 0] > 0:
        set_time(m.calendar, m.sources.writers + writer, now + orders.wire_ns)


@kernel
def _to_log(m, now, record, writer):
    """A block reaches the intent log of its share."""
    share = record * m.orders.n_shares // m.orders.n_records
    i = m.shares[share, N_PUT] & (m.pending.shape[1] - 1)
    m.pending[share, i, RECORD], m.pending[share, i, WRITER], m.pending[share, i, ISSUED] = record, writer, now
    m.shares[share, N_PUT] += 1
    if m.shares[share, STAGE] == IDLE:
        m.shares[share, STAGE] = WRITING
        set_time(m.calendar, m.sources.shares + share, now)


@part
def wake_writers(m, now):
    """Those that sleep look whether enough is dirty now."""
    if n_in(m.ends, DIRTY) <= m.orders.dirty_target or _to_write(m) <= 0:
        return
    for writer in range(m.orders.n_writers):
        source = m.sources.writers + writer
        if _is_idle(m, writer) and m.calendar.time[source] == NEVER:
            set_time(m.calendar, source, now)


# ---- commits ----


@kernel
def _write(m, pool, now, share, place, n_bytes):
    """Write a block of a commit."""
    before = pool.n_out[0]
    write_for(pool, now, place, n_bytes, m.orders.n_users + share, pool.queue_params.sync_write_priority)
    for i in range(before, pool.n_out[0]):
        m.touched[share, pool.leaf_of[pool.outbox[i]]] = 1


@kernel
def stall(m, space):
    """Time that the last allocation has waited for a space map."""
    took = space.load_blocks[0] * m.orders.load_block_ns
    if took > 0:
        m.tally[STALLS] += 1
        m.tally[STALL_NS] += took
    return took


@part
def _commit(m, pool, space, now, share):
    """Begin a commit of all that waits. False if the pool is full."""
    shares, waited, size = m.shares, 0, m.pending.shape[1]
    n = shares[share, N_PUT] - shares[share, FINISHED]
    for leaf in range(m.touched.shape[1]):
        m.touched[share, leaf] = 0
    for i in range(shares[share, FINISHED], shares[share, N_PUT]):
        record = m.pending[share, i & (size - 1), RECORD]
        if not rewrite(m, space, record):
            return False
        waited += stall(m, space)
        _write(m, pool, now, share, m.record_at[record], m.orders.record_bytes)
    if not write_log_block(m, space, share, n):
        return False
    waited += stall(m, space)
    _write(m, pool, now, share, place_of(space, 0), log_bytes(n))
    shares[share, STARTED], shares[share, STALLED_UNTIL] = shares[share, N_PUT], now + waited
    m.tally[COMMITS] += 1
    m.tally[BLOCKS_COMMITTED] += n
    return True


@kernel
def flushed_at(m, pool, now, share):
    """When the caches of all disks that the commit has written to are flushed."""
    ends, segments = now + m.orders.flush_ns, pool.drives.state.segments
    for leaf in range(m.touched.shape[1]):
        if m.touched[share, leaf]:
            for segment in range(segments.shape[1]):
                ends = max(ends, segments[leaf, segment, DIRTY_UNTIL] + m.orders.flush_ns)
    return max(ends, m.shares[share, STALLED_UNTIL])


@part
def is_written(m, pool, now, share):
    """All blocks of a commit have been written: flush."""
    m.shares[share, STAGE] = FLUSHING
    set_time(m.calendar, m.sources.shares + share, flushed_at(m, pool, now, share))


@part
def _committed(m, now, share):
    """The writers hear of their blocks; those that have no more under way can go on."""
    shares, size = m.shares, m.pending.shape[1]
    for i in range(shares[share, FINISHED], shares[share, STARTED]):
        writer = m.pending[share, i & (size - 1), WRITER]
        m.writers[writer, 1] -= 1
        m.tally[WRITES] += 1
        m.tally[WRITE_NS] += now + m.orders.nfs_ns - m.pending[share, i & (size - 1), ISSUED]
        m.counts[N_HELD] -= 1
        if _is_idle(m, writer):
            set_time(m.calendar, m.sources.writers + writer, now + m.orders.nfs_ns)
    shares[share, FINISHED] = shares[share, STARTED]
    buffers_free(m, now)


@part
def share_event(m, pool, space, now, share):
    """A commit begins, or has been flushed. False if the pool is full."""
    if m.shares[share, STAGE] == FLUSHING:
        _committed(m, now, share)
        m.shares[share, STAGE] = IDLE
    if m.shares[share, N_PUT] == m.shares[share, FINISHED]:
        return True
    m.shares[share, STAGE] = WRITING
    return _commit(m, pool, space, now, share)
