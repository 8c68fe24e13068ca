"""The order entry's users and the log writer of their database.

    think -> CPU -> read -> CPU -> read ... -> CPU -> change blocks -> commit -> think
               |       |                                  |               |
               |       |  a miss of the database's        |               the log writer writes the redo of all who wait,
               |       |  buffers: one after the other    |               one write at a time, to the log device
               |       from the memory of the appliance   a dirty buffer each; without room the user waits until
               n CPUs, first come, first served           database writers have written some

A transaction needs `cpu_ns` in equal parts, one before each read and one behind the last. A block that is dirty already is
not dirtied twice. A user who commits while the log writer is writing is in its next write, with all who came meanwhile. This
is group commit by queueing, in Oracle as in the intent log. Without a log device the redo goes to log blocks of the main
pool.
"""

from model.devices.sectors import SECTOR_BYTES
from model.events import ring
from model.events.calendar import set_time
from model.events.clock import SECOND_NS, TICK_NS
from model.jit import kernel, part
from model.simulations.order_entry import columns as order
from model.simulations.order_entry.cpu_prefetch import read_next
from model.simulations.order_entry.placement import add_redo
from model.simulations.order_entry.state import COMMITTING, QUEUED, READING, RUNNING, THINKING, WITHOUT_BUFFER, WRITING
from model.simulations.order_entry.txg_throttle import has_room, sleeps
from model.simulations.order_entry.workload import N_DRAWS, WITHOUT_ABOVE, nth
from model.zfs.shared_numbers import POINTER_SHIFT
from model.zfs.vdev.leaves import ask

# ---- what a user does ----


@kernel
def become(m, now, user, doing):
    """`user` does something else from now on."""
    users = m.users
    m.doing_ns[users[user, order.DOING]] += now - users[user, order.SINCE]
    users[user, order.DOING], users[user, order.SINCE] = doing, now


@kernel
def _use_cpu(m, now, user):
    """The next part of its CPU time, when there is a CPU."""
    if m.counts[order.N_RUNNING] == m.orders.n_cpus:
        become(m, now, user, QUEUED)
        ring.put(m.cpu_ring, m.cpu_ends, user)
        return
    m.counts[order.N_RUNNING] += 1
    become(m, now, user, RUNNING)
    set_time(m.calendar, m.sources.users + user, now + m.users[user, order.CHUNK_NS])


@part
def _leave_cpu(m, now):
    """Its CPU goes to whoever has waited longest."""
    m.counts[order.N_RUNNING] -= 1
    if ring.n_in(m.cpu_ends):
        _use_cpu(m, now, ring.take(m.cpu_ring, m.cpu_ends))


@part
def _begin(m, now, user):
    """A transaction begins."""
    users, i = m.users, m.users[user, order.N_BEGUN] & (N_DRAWS - 1)
    users[user, order.N_BEGUN] += 1
    users[user, order.BEGAN] = now
    users[user, order.READS_LEFT], users[user, order.TO_DIRTY] = m.n_reads[user, i], m.n_dirtied[user, i]
    users[user, order.CHUNK_NS] = m.orders.cpu_ns // (m.n_reads[user, i] + 1)


# ---- reads ----


@part
def _read(m, leaves, now, user):
    """The next read of `user`."""
    users = m.users
    record = nth(m.orders, m.read_record, user, users[user, order.N_READ])
    users[user, order.N_READ] += 1
    read_next(m, user)
    users[user, order.READS_LEFT] -= 1
    users[user, order.READ_BEGAN] = now
    become(m, now, user, READING)
    if record < 0:
        m.tally[order.CACHED] += 1
        block_read(m, now, user)
    elif record >= WITHOUT_ABOVE:
        users[user, order.THEN] = record - WITHOUT_ABOVE + 1
        above = m.indirect_at[(record - WITHOUT_ABOVE) >> POINTER_SHIFT, 0]
        ask(leaves, now, above, m.orders.indirect_bytes, 1, user)
    else:
        ask(leaves, now, m.record_at[record], m.orders.record_bytes, 0, user)


@kernel
def block_read(m, now, user):
    """The appliance has what `user` reads, which still has to get there; or the block above it, and goes on."""
    set_time(m.calendar, m.sources.users + user, now if m.users[user, order.THEN] else now + m.orders.op_ns)


@part
def _go_on_reading(m, leaves, now, user):
    """The block above is there: now the record, or the record is."""
    record = m.users[user, order.THEN] - 1
    if record >= 0:
        m.users[user, order.THEN] = 0
        ask(leaves, now, m.record_at[record], m.orders.record_bytes, 0, user)
        return
    m.tally[order.READS] += 1
    m.tally[order.READ_NS] += now - m.users[user, order.READ_BEGAN]
    _use_cpu(m, now, user)


# ---- changes ----


@kernel
def dirty(m, now, user):
    """Change blocks and commit; or wait for buffers. True if it changed them."""
    n = m.users[user, order.TO_DIRTY]
    if m.counts[order.N_HELD] + n > m.orders.max_dirty:
        return False
    for _ in range(n):
        record = nth(m.orders, m.dirty_record, user, m.users[user, order.N_DIRTIED])
        m.users[user, order.N_DIRTIED] += 1
        if not m.is_dirty[record]:
            m.is_dirty[record] = 1
            m.counts[order.N_HELD] += 1
            ring.put(m.dirty_ring, m.dirty_ends, record)
    m.tally[order.DIRTYINGS] += n
    _commit(m, now, user)
    return True


@kernel
def _commit(m, now, user):
    become(m, now, user, COMMITTING)
    ring.put(m.commit_ring, m.commit_ends, user)
    m.counts[order.REDO_WAITING] += m.orders.redo_bytes
    if m.counts[order.LOG_GROUP] == 0:
        write_log(m, now)


@part
def write_log(m, now):
    """The log writer writes what waits, if anything does and the open group takes it. Without a log device that is the
    business of the main pool."""
    if ring.n_in(m.commit_ends) == 0 or not has_room(m, now):
        return
    n_bytes = (m.counts[order.REDO_WAITING] + SECTOR_BYTES - 1) // SECTOR_BYTES * SECTOR_BYTES
    m.counts[order.LOG_GROUP], m.counts[order.GROUP_BYTES] = ring.n_in(m.commit_ends), n_bytes
    m.counts[order.REDO_WAITING], m.counts[order.LOG_BEGAN] = 0, now
    add_redo(m, n_bytes)
    took = m.orders.op_ns + (TICK_NS if sleeps(m) else 0)
    if m.orders.has_slog:
        took += m.orders.slog_ns + n_bytes * SECOND_NS // m.orders.slog_rate
    else:
        m.shares[m.orders.n_shares, order.STAGE] = WRITING
    set_time(m.calendar, m.sources.log_writer, now + took)


@part
def log_written(m, now):
    """The redo is safe: those who waited have committed."""
    m.tally[order.LOG_WRITES] += 1
    m.tally[order.LOG_BYTES] += m.counts[order.GROUP_BYTES]
    m.tally[order.LOG_NS] += now - m.counts[order.LOG_BEGAN]
    for _ in range(m.counts[order.LOG_GROUP]):
        user = ring.take(m.commit_ring, m.commit_ends)
        m.tally[order.TRANSACTIONS] += 1
        m.tally[order.RESPONSE_NS] += now - m.users[user, order.BEGAN]
        become(m, now, user, THINKING)
        set_time(m.calendar, m.sources.users + user, now + m.think[user, m.users[user, order.N_BEGUN] & (N_DRAWS - 1)])
    m.counts[order.LOG_GROUP] = 0
    write_log(m, now)


@part
def user_event(m, leaves, now, user):
    """A time of `user` is over."""
    doing = m.users[user, order.DOING]
    if doing == THINKING:
        _begin(m, now, user)
        _use_cpu(m, now, user)
    elif doing == READING:
        _go_on_reading(m, leaves, now, user)
    else:
        _leave_cpu(m, now)
        if m.users[user, order.READS_LEFT] > 0:
            _read(m, leaves, now, user)
        elif ring.n_in(m.short_ends) or not dirty(m, now, user):
            become(m, now, user, WITHOUT_BUFFER)
            ring.put(m.short_ring, m.short_ends, user)


@part
def buffers_free(m, now):
    """Buffers have been written: those who wait for some go on, in their order."""
    while ring.n_in(m.short_ends) and dirty(m, now, ring.first(m.short_ring, m.short_ends)):
        ring.take(m.short_ring, m.short_ends)
