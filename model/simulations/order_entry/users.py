"""The order entry's users and the log writer of their database.

    think -> CPU -> read -> CPU -> read ... -> CPU -> change blocks -> commit -> think
               |       |                                  |               |
               |       |  a miss of the database's        |               the log writer writes the redo of all who wait,
               |       |  buffers: one after the other    |               one write at a time, to the log device
               |       from the memory of the appliance   a dirty buffer each; without room the user waits until
               n CPUs, first come, first served           database writers have written some

A transaction needs `cpu_ns` in equal parts, one before each read and one behind the last. A block that is dirty already is
not dirtied twice. Who commits while the log writer is writing is in its next write, with all who came meanwhile: group
commit by queueing, in Oracle as in the intent log. Without a log device the redo goes to log blocks of the main pool.
"""

from model.events.calendar import set_time
from model.events.clock import TICK_NS
from model.jit import kernel, part
from model.simulations.order_entry.cpu_prefetch import read_next
from model.simulations.order_entry.draws import N_DRAWS, WITHOUT_ABOVE, nth
from model.simulations.order_entry.placement import add_redo
from model.simulations.order_entry.room import has_room, sleeps
from model.simulations.order_entry.state import (
    BEGAN,
    CACHED,
    CHUNK_NS,
    COMMIT,
    COMMITTING,
    CPU,
    DIRTY,
    DIRTYINGS,
    DOING,
    GROUP_BYTES,
    LOG_BEGAN,
    LOG_BYTES,
    LOG_GROUP,
    LOG_NS,
    LOG_WRITES,
    N_BEGUN,
    N_DIRTIED,
    N_HELD,
    N_READ,
    N_RUNNING,
    POINTER_SHIFT,
    QUEUED,
    READ_BEGAN,
    READ_NS,
    READING,
    READS,
    READS_LEFT,
    REDO_WAITING,
    RESPONSE_NS,
    RUNNING,
    SHORT,
    SINCE,
    STAGE,
    THEN,
    THINKING,
    TO_DIRTY,
    TRANSACTIONS,
    WITHOUT_BUFFER,
    WRITING,
)
from model.zfs.vdev.leaves import ask

SECTOR = 512

# ---- rings ----


@kernel
def put(ring, ends, which, what):
    ring[ends[which, 0] & (len(ring) - 1)] = what
    ends[which, 0] += 1


@kernel
def take(ring, ends, which):
    ends[which, 1] += 1
    return ring[(ends[which, 1] - 1) & (len(ring) - 1)]


@kernel
def n_in(ends, which):
    return ends[which, 0] - ends[which, 1]


# ---- what a user does ----


@kernel
def become(m, now, user, doing):
    """`user` does something else from now on."""
    users = m.users
    m.doing_ns[users[user, DOING]] += now - users[user, SINCE]
    users[user, DOING], users[user, SINCE] = doing, now


@kernel
def _use_cpu(m, now, user):
    """The next part of its CPU time, when there is a CPU."""
    if m.counts[N_RUNNING] == m.orders.n_cpus:
        become(m, now, user, QUEUED)
        put(m.cpu_ring, m.ends, CPU, user)
        return
    m.counts[N_RUNNING] += 1
    become(m, now, user, RUNNING)
    set_time(m.calendar, m.sources.users + user, now + m.users[user, CHUNK_NS])


@part
def _leave_cpu(m, now):
    """Its CPU goes to whoever has waited longest."""
    m.counts[N_RUNNING] -= 1
    if n_in(m.ends, CPU):
        _use_cpu(m, now, take(m.cpu_ring, m.ends, CPU))


@part
def _begin(m, now, user):
    """A transaction begins."""
    users, i = m.users, m.users[user, N_BEGUN] & (N_DRAWS - 1)
    users[user, N_BEGUN] += 1
    users[user, BEGAN] = now
    users[user, READS_LEFT], users[user, TO_DIRTY] = m.n_reads[user, i], m.n_dirtied[user, i]
    users[user, CHUNK_NS] = m.orders.cpu_ns // (m.n_reads[user, i] + 1)


# ---- reads ----


@part
def _read(m, pool, now, user):
    """The next read of `user`."""
    users = m.users
    record = nth(m.orders, m.read_record, user, users[user, N_READ])
    users[user, N_READ] += 1
    read_next(m, user)
    users[user, READS_LEFT] -= 1
    users[user, READ_BEGAN] = now
    become(m, now, user, READING)
    if record < 0:
        m.tally[CACHED] += 1
        block_read(m, now, user)
    elif record >= WITHOUT_ABOVE:
        users[user, THEN] = record - WITHOUT_ABOVE + 1
        above = m.indirect_at[(record - WITHOUT_ABOVE) >> POINTER_SHIFT, 0]
        ask(pool, now, above, m.orders.indirect_bytes, 1, user)
    else:
        ask(pool, now, m.record_at[record], m.orders.record_bytes, 0, user)


@kernel
def block_read(m, now, user):
    """The appliance has what `user` reads, which still has to get there; or the block above it, and goes on."""
    set_time(m.calendar, m.sources.users + user, now if m.users[user, THEN] else now + m.orders.op_ns)


@part
def _go_on_reading(m, pool, now, user):
    """The block above is there: now the record, or the record is."""
    record = m.users[user, THEN] - 1
    if record >= 0:
        m.users[user, THEN] = 0
        ask(pool, now, m.record_at[record], m.orders.record_bytes, 0, user)
        return
    m.tally[READS] += 1
    m.tally[READ_NS] += now - m.users[user, READ_BEGAN]
    _use_cpu(m, now, user)


# ---- changes ----


@kernel
def dirty(m, now, user):
    """Change blocks and commit; or wait for buffers. True if it changed them."""
    n = m.users[user, TO_DIRTY]
    if m.counts[N_HELD] + n > m.orders.dirty_most:
        return False
    for _ in range(n):
        record = nth(m.orders, m.dirty_record, user, m.users[user, N_DIRTIED])
        m.users[user, N_DIRTIED] += 1
        if not m.is_dirty[record]:
            m.is_dirty[record] = 1
            m.counts[N_HELD] += 1
            put(m.dirty_ring, m.ends, DIRTY, record)
    m.tally[DIRTYINGS] += n
    _commit(m, now, user)
    return True


@kernel
def _commit(m, now, user):
    become(m, now, user, COMMITTING)
    put(m.commit_ring, m.ends, COMMIT, user)
    m.counts[REDO_WAITING] += m.orders.redo_bytes
    if m.counts[LOG_GROUP] == 0:
        write_log(m, now)


@part
def write_log(m, now):
    """The log writer writes what waits, if anything does and the open group takes it. Without a log device that is the
    business of the main pool."""
    if n_in(m.ends, COMMIT) == 0 or not has_room(m, now):
        return
    n_bytes = (m.counts[REDO_WAITING] + SECTOR - 1) // SECTOR * SECTOR
    m.counts[LOG_GROUP], m.counts[GROUP_BYTES] = n_in(m.ends, COMMIT), n_bytes
    m.counts[REDO_WAITING], m.counts[LOG_BEGAN] = 0, now
    add_redo(m, n_bytes)
    took = m.orders.op_ns + (TICK_NS if sleeps(m) else 0)
    if m.orders.has_slog:
        took += m.orders.slog_ns + n_bytes * 1_000_000_000 // m.orders.slog_rate
    else:
        m.shares[m.orders.n_shares, STAGE] = WRITING
    set_time(m.calendar, m.sources.log_writer, now + took)


@part
def log_written(m, now):
    """The redo is safe: those who waited have committed."""
    m.tally[LOG_WRITES] += 1
    m.tally[LOG_BYTES] += m.counts[GROUP_BYTES]
    m.tally[LOG_NS] += now - m.counts[LOG_BEGAN]
    for _ in range(m.counts[LOG_GROUP]):
        user = take(m.commit_ring, m.ends, COMMIT)
        m.tally[TRANSACTIONS] += 1
        m.tally[RESPONSE_NS] += now - m.users[user, BEGAN]
        become(m, now, user, THINKING)
        set_time(m.calendar, m.sources.users + user, now + m.think[user, m.users[user, N_BEGUN] & (N_DRAWS - 1)])
    m.counts[LOG_GROUP] = 0
    write_log(m, now)


@part
def user_event(m, pool, now, user):
    """A time of `user` is over."""
    doing = m.users[user, DOING]
    if doing == THINKING:
        _begin(m, now, user)
        _use_cpu(m, now, user)
    elif doing == READING:
        _go_on_reading(m, pool, now, user)
    else:
        _leave_cpu(m, now)
        if m.users[user, READS_LEFT] > 0:
            _read(m, pool, now, user)
        elif n_in(m.ends, SHORT) or not dirty(m, now, user):
            become(m, now, user, WITHOUT_BUFFER)
            put(m.short_ring, m.ends, SHORT, user)


@part
def buffers_free(m, now):
    """Buffers have been written: those who wait for some go on, in their order."""
    while n_in(m.ends, SHORT) and dirty(m, now, m.short_ring[m.ends[SHORT, 1] & (len(m.short_ring) - 1)]):
        m.ends[SHORT, 1] += 1
