"""An order-entry database on Oracle under a closed loop of users, event by event: what each process does at its time.

    think -> CPU -> blocks, one after the other, each changed as soon as it is there -> CPU -> commit -> think
                      |                                                                         |
                      a buffer (`buffers`), and a read of the file          log writer (`writers`)

It is the load of `model.simulations.order_entry.users`. But that stands in front of an appliance, for the allocator's sake,
with misses of the database's buffers given as a number. Here buffers are simulated, and files lie on any store of
`model.simulations.database_server`. So record sizes, caches, log devices and pools of their own are switches.

A process goes on until it has to wait: for a server, a buffer, the storage. Equal times go to the process with the lower
number. `model.simulations.database_server` runs it on a store.

Left out: rows, locks of rows and of index blocks, undo (whose blocks are always in memory and written in order). So are
inserts at the ends of tables, everything that one user wants of another.
"""

from model.databases.oracle import columns as ora
from model.databases.oracle import phases as phase
from model.databases.oracle import stats as stat
from model.databases.oracle.buffers import change, has_come, is_taken, put, take_buffer, use
from model.databases.oracle.state import BLOCK_BYTES, DATA_FILE, LOADING
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
    m.process[p, ora.PHASE], m.process[p, ora.STEP] = phase.THINK, 0
    set_time(m.calendar, p, now + m.s.think_ns)


@kernel
def _compute(m, now, p, then):
    m.process[p, ora.PHASE] = then
    seize(m, now, CPUS, m.s.n_cpus, p, m.s.cpu_ns // 2)


@kernel
def _wait_for_buffer(m, now, p):
    count(m, stat.FREE_WAITS, 1, now)
    join(m.queue, m.after, ora.FREE, p)


@kernel
def _read(m, now, p, block):
    """The block is to be read: whether there is a buffer for it. Its read has begun then, else `p` waits for a buffer."""
    n_listed = m.pool[ora.N_LISTED]
    frame = take_buffer(m)
    if frame == 0:
        _wait_for_buffer(m, now, p)
    else:
        put(m, block, frame, LOADING)
        count(m, stat.READS, 1, now)
        m.process[p, ora.PHASE] = phase.READ_DONE
        ask(m.calls, p, READ, DATA_FILE, block * BLOCK_BYTES, BLOCK_BYTES)
    if m.pool[ora.N_LISTED] > n_listed:
        wake_writers(m, now)


@part
def blocks(m, now, p):
    """Get the blocks of the transaction, one after the other. True if all are there."""
    under_way, process = m.under_way, m.process
    while process[p, ora.STEP] < under_way[p, ora.N_GETS]:
        step = process[p, ora.STEP]
        block, changes = under_way[p, ora.FIRST_BLOCK + step], step < under_way[p, ora.N_CHANGED]
        frame = m.frame_of[block]
        if frame == 0:
            _read(m, now, p, block)
            return False
        if is_taken(m, frame, changes):
            count(m, stat.BUSY_WAITS, 1, now)
            join(m.queue, m.after, ora.BUSY_BLOCK, p)
            return False
        use(m, now, frame)
        if changes:
            change(m, frame)
        process[p, ora.STEP] += 1
    return True


@part
def commit(m, now, p):
    """Redo of the transaction, and a wait for the log writer. One without changes has none to wait for."""
    m.process[p, ora.PHASE] = phase.COMMITTED
    if m.under_way[p, ora.N_CHANGED] == 0:
        set_time(m.calendar, p, now + m.s.handoff_ns)
        return
    m.log[ora.MADE] += m.s.redo_bytes
    count(m, stat.LOGGED, m.s.redo_bytes, now)
    m.process[p, ora.REDO] = m.log[ora.MADE]
    join(m.queue, m.after, ora.COMMIT, p)
    wake_writers(m, now)
    write_log(m, now)


@part
def committed(m, now, p):
    """COMMIT returns: response time and rate are counted, and the next transaction begins."""
    n = m.counts[stat.COMMITS]
    m.response_ns[n], m.ended_at[n] = now - m.process[p, ora.BEGAN], now
    count(m, stat.COMMITS, 1, now)
    begin(m, now, p)


# ---- what a process does next ----


@kernel
def _user(m, now, p, at):
    if at == phase.THINK:
        m.process[p, ora.BEGAN] = now
        _compute(m, now, p, phase.COMPUTE)
        return
    if at == phase.COMMITTED:
        committed(m, now, p)
        return
    if at == phase.COMPUTED:
        release(m, now, CPUS)
        commit(m, now, p)
        return
    if at == phase.COMPUTE:
        release(m, now, CPUS)
    elif at == phase.READ_DONE:
        has_come(m, now, m.frame_of[m.under_way[p, ora.FIRST_BLOCK + m.process[p, ora.STEP]]])
    m.process[p, ora.PHASE] = phase.BLOCKS
    if blocks(m, now, p):
        _compute(m, now, p, phase.COMPUTED)


@kernel
def step(m, now, p):
    """The event of process `p`: what it does until it has to wait."""
    at = m.process[p, ora.PHASE]
    if p < m.s.n_users:
        _user(m, now, p, at)
    elif at == phase.LOG_DONE:
        log_done(m, now)
    else:
        write_done(m, now, p)
