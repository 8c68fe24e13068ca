"""An order-entry database on Oracle under a closed loop of users, event by event: what each process does at its time.

    think -> CPU -> blocks, one after the other, each changed as soon as it is there -> CPU -> commit -> think
                      |                                                                         |
                      a buffer (`buffers`), and a read of the file          log writer (`writers`)

It is the load of `model.simulations.order_entry.users`; but that stands in front of an appliance, with misses of the
database's buffers given as a number, for the allocator's sake. Here buffers are simulated, and files lie on any store of
`model.simulations.database_server`, so that record sizes, caches, log devices and pools of their own are switches.

A process goes on until it has to wait: for a server, a buffer, the storage. Equal times go to the process with the lower
number. `model.simulations.database_server` runs it on a store.

Left out: rows, locks of rows and of index blocks, undo (whose blocks are always in memory and written in order), inserts at
the ends of tables, everything that one user wants of another.
"""

from model.databases.oracle.buffers import change, has_come, is_taken, put, take_buffer, use
from model.databases.oracle.state import (
    BEGAN,
    BLOCK_BYTES,
    BLOCKS,
    BUSY_BLOCK,
    BUSY_WAITS,
    COMMIT,
    COMMITS,
    COMMITTED,
    COMPUTE,
    COMPUTED,
    DATA_FILE,
    FIRST_BLOCK,
    FREE,
    FREE_WAITS,
    LOADING,
    LOG_DONE,
    LOGGED,
    MADE,
    N_CHANGED,
    N_GETS,
    N_LISTED,
    PHASE,
    READ_DONE,
    READS,
    REDO,
    STEP,
    THINK,
)
from model.databases.oracle.writers import log_done, wake_writers, write_done, write_log
from model.events.calendar import set_time
from model.events.queues import join
from model.events.servers import CPUS, count, release, seize
from model.filesystems.calls import READ, ask
from model.jit import kernel, part

# ---- a transaction ----


@part
def begin(m, now, p):
    """After a thought; or nothing, if all transactions have begun."""
    if m.n_drawn[1] == m.s.n_transactions:
        return
    for i in range(m.draws.shape[1]):
        m.under_way[p, i] = m.draws[m.n_drawn[0], i]
    m.n_drawn[0] += 1
    m.n_drawn[1] += 1
    m.process[p, PHASE], m.process[p, STEP] = THINK, 0
    set_time(m.calendar, p, now + m.s.think_ns)


@kernel
def _compute(m, now, p, then):
    m.process[p, PHASE] = then
    seize(m, now, CPUS, m.s.n_cpus, p, m.s.cpu_ns // 2)


@kernel
def _wait_for_buffer(m, now, p):
    count(m, FREE_WAITS, 1, now)
    join(m.queue, m.after, FREE, p)


@kernel
def _read(m, now, p, block):
    """The block is to be read: whether there is a buffer for it. Its read has begun then, else `p` waits for a buffer."""
    n_listed = m.pool[N_LISTED]
    frame = take_buffer(m)
    if frame == 0:
        _wait_for_buffer(m, now, p)
    else:
        put(m, block, frame, LOADING)
        count(m, READS, 1, now)
        m.process[p, PHASE] = READ_DONE
        ask(m.calls, p, READ, DATA_FILE, block * BLOCK_BYTES, BLOCK_BYTES)
    if m.pool[N_LISTED] > n_listed:
        wake_writers(m, now)


@part
def blocks(m, now, p):
    """Get the blocks of the transaction, one after the other. True if all are there."""
    under_way, process = m.under_way, m.process
    while process[p, STEP] < under_way[p, N_GETS]:
        step = process[p, STEP]
        block, changes = under_way[p, FIRST_BLOCK + step], step < under_way[p, N_CHANGED]
        frame = m.frame_of[block]
        if frame == 0:
            _read(m, now, p, block)
            return False
        if is_taken(m, frame, changes):
            count(m, BUSY_WAITS, 1, now)
            join(m.queue, m.after, BUSY_BLOCK, p)
            return False
        use(m, now, frame)
        if changes:
            change(m, frame)
        process[p, STEP] += 1
    return True


@part
def commit(m, now, p):
    """Redo of the transaction, and a wait for the log writer. One without changes has none to wait for."""
    m.process[p, PHASE] = COMMITTED
    if m.under_way[p, N_CHANGED] == 0:
        set_time(m.calendar, p, now + m.s.handoff_ns)
        return
    m.log[MADE] += m.s.redo_bytes
    count(m, LOGGED, m.s.redo_bytes, now)
    m.process[p, REDO] = m.log[MADE]
    join(m.queue, m.after, COMMIT, p)
    wake_writers(m, now)
    write_log(m, now)


@part
def committed(m, now, p):
    n = m.counts[COMMITS]
    m.response_ns[n], m.ended_at[n] = now - m.process[p, BEGAN], now
    count(m, COMMITS, 1, now)
    begin(m, now, p)


# ---- what a process does next ----


@kernel
def _user(m, now, p, at):
    if at == THINK:
        m.process[p, BEGAN] = now
        _compute(m, now, p, COMPUTE)
        return
    if at == COMMITTED:
        committed(m, now, p)
        return
    if at == COMPUTED:
        release(m, now, CPUS)
        commit(m, now, p)
        return
    if at == COMPUTE:
        release(m, now, CPUS)
    elif at == READ_DONE:
        has_come(m, now, m.frame_of[m.under_way[p, FIRST_BLOCK + m.process[p, STEP]]])
    m.process[p, PHASE] = BLOCKS
    if blocks(m, now, p):
        _compute(m, now, p, COMPUTED)


@kernel
def step(m, now, p):
    """The event of process `p`: what it does until it has to wait."""
    at = m.process[p, PHASE]
    if p < m.s.n_users:
        _user(m, now, p, at)
    elif at == LOG_DONE:
        log_done(m, now)
    else:
        write_done(m, now, p)
