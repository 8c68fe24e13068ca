"""A client of sysbench and its connection in InnoDB: statement after statement.

    wire -> slot -> CPU -> lock on the row -> room in the log -> pages, each changed as soon as it is there -> next statement
    COMMIT: log of the commit -> locks let go -> log made stable     (with a binary log of 5.6: `binlog`)

`innodb_thread_concurrency` = n lets n statements be inside at a time, those that wait for a page among them. Who waits for a
row is not counted, and comes back even if there are n others. (InnoDB lets them sleep and try again; here they queue.)

There is no thinking between transactions. Response time is from BEGIN to the return of COMMIT, repetitions after deadlocks
included, as sysbench counts it.
"""

from model.databases.innodb import columns as inno
from model.databases.innodb import phases as phase
from model.databases.innodb import stats as stat
from model.databases.innodb.binlog import prepare_group
from model.databases.innodb.buffer_pool import IN_WRITE, LOADING, change, load, loaded, n_to_flush, take_frame, use, want
from model.databases.innodb.checkpoints import check_room
from model.databases.innodb.flush import ALL, start_batch, wait_for
from model.databases.innodb.locks import DEADLOCK, WAITS, lock_row, unlock_all
from model.databases.innodb.redo_log import log_bytes, log_up_to
from model.databases.innodb.statements import prepare_pages
from model.databases.innodb.sysbench import NOTHING, READ
from model.databases.innodb.tables import LOG_COMMIT, LOG_PREPARE, is_entry_leaf
from model.events.calendar import set_time
from model.events.queues import NOBODY, join, leave
from model.events.servers import CPUS, count, release, release_lock, seize, take_lock
from model.jit import kernel, part

# ---- a transaction begins ----


@part
def begin(m, now, p):
    """Take the next ids that were drawn; or nothing, if all transactions have begun."""
    if m.n_drawn[1] == m.s.n_transactions:
        return
    t = m.n_drawn[0]
    m.n_drawn[0] += 1
    m.n_drawn[1] += 1
    for i in range(m.test.n_ids):
        m.ids[p, i] = m.draws[t, i]
    m.process[p, inno.CPU_FACTOR] = int(m.factors[t] * 2**20) if m.s.spread_cpu else 2**20
    m.process[p, inno.BEGAN] = now
    begin_again(m, now, p)


@kernel
def begin_again(m, now, p):
    """The transaction of `p` begins with its first statement."""
    m.process[p, inno.STATEMENT], m.process[p, inno.HAS_CHANGED] = 0, 0
    _send(m, now, p)


# ---- a statement ----


@kernel
def _send(m, now, p):
    m.process[p, inno.PHASE] = phase.WIRE
    set_time(m.calendar, p, now + m.s.wire_ns)


@part
def wire(m, p):
    """True if there is a slot."""
    m.process[p, inno.PHASE], m.process[p, inno.HAS_SLOT] = phase.SLOT, 1
    if m.s.thread_concurrency == 0:
        return True
    if m.busy[inno.SLOTS] < m.s.thread_concurrency:
        m.busy[inno.SLOTS] += 1
        return True
    join(m.queue, m.after, inno.SLOTS, p)
    return False


@kernel
def give_up_slot(m, now, p):
    """The statement of `p` leaves, and its slot goes to the one that has waited longest."""
    m.process[p, inno.HAS_SLOT] = 0
    if m.s.thread_concurrency == 0:
        return
    waiter = NOBODY
    if m.busy[inno.SLOTS] <= m.s.thread_concurrency:
        waiter = leave(m.queue, m.after, inno.SLOTS)
    if waiter == NOBODY:
        m.busy[inno.SLOTS] -= 1
    else:
        set_time(m.calendar, waiter, now + m.s.handoff_ns)


@part
def slot(m, now, p):
    """`p` has a slot, and asks for a processor."""
    cpu_ns = m.test.statements[m.process[p, inno.STATEMENT], inno.CPU_NS]
    m.process[p, inno.PHASE] = phase.COMPUTE
    seize(m, now, CPUS, m.s.n_cpus, p, cpu_ns * m.process[p, inno.CPU_FACTOR] >> 20)


@part
def compute(m, now, p):
    """The statement has had its processor. Its kind decides what it does next: a lock, pages, or nothing."""
    release(m, now, CPUS)
    kind = m.test.statements[m.process[p, inno.STATEMENT], inno.KIND]
    then = phase.STATEMENT_DONE if kind == NOTHING else phase.PREPARE_PAGES if kind == READ else phase.LOCK
    m.process[p, inno.PHASE] = then


@part
def lock(m, now, p):
    """True if `p` has the row."""
    row = m.ids[p, m.test.statements[m.process[p, inno.STATEMENT], inno.ID]]
    check_room(m, p, phase.PREPARE_PAGES)
    got = lock_row(m, now, p, row)
    if got == DEADLOCK:
        count(m, stat.DEADLOCKS, 1, now)
        unlock_all(m, now, p)
        give_up_slot(m, now, p)
        begin_again(m, now, p)
    elif got == WAITS:
        give_up_slot(m, now, p)
    return got < WAITS


@kernel
def come_back(m, p):
    """A client that waited for a row is inside again, limit or not."""
    if not m.process[p, inno.HAS_SLOT]:
        m.process[p, inno.HAS_SLOT] = 1
        m.busy[inno.SLOTS] += m.s.thread_concurrency > 0


# ---- pages ----


@part
def which_pages(m, p):
    """`p` has the row; the pages of its statement are looked up."""
    come_back(m, p)
    prepare_pages(m, p)


@kernel
def _bring(m, now, p, page):
    """`page` is not in memory. True if it is now."""
    frame = take_frame(m)
    if frame:
        return load(m, now, p, page, frame)
    count(m, stat.FRAME_WAITS, 1, now)
    start_batch(m, now, inno.LRU, n_to_flush(m), ALL)
    wait_for(m, p, inno.LRU)
    return False


@kernel
def _change(m, now, p, frame, n_bytes):
    began = m.log[inno.MADE]
    log_bytes(m, now, n_bytes)
    change(m, frame, began)


@kernel
def is_buffered(m, page, n_bytes):
    """Whether the change goes to the change buffer, since the page is not in memory."""
    return m.s.change_buffering and n_bytes > 0 and m.pages.frame_of[page] == 0 and is_entry_leaf(m.table, page)


@part
def access(m, now, p):
    """Use the pages of the statement, one after the other. True if all are done."""
    process = m.process
    while process[p, inno.STEP] < process[p, inno.N_TOUCHED]:
        step = process[p, inno.STEP]
        page, n_bytes = m.touched[p, step], m.changes[p, step]
        if is_buffered(m, page, n_bytes):
            log_bytes(m, now, n_bytes)
            process[p, inno.STEP] += 1
            continue
        if m.pages.frame_of[page] == 0 and not _bring(m, now, p, page):
            return False
        frame = m.pages.frame_of[page]
        if m.frames.flags[frame] & (LOADING | IN_WRITE if n_bytes else LOADING):
            want(m, now, p, page)
            return False
        use(m, now, frame)
        if n_bytes:
            _change(m, now, p, frame, n_bytes)
        process[p, inno.STEP] += 1
    process[p, inno.PHASE] = phase.STATEMENT_DONE
    return True


@part
def page_loaded(m, now, p):
    """The page is there; and if few can be replaced, `p` has to flush, or has the page cleaner do so. True if it goes on at
    once."""
    loaded(m, now, m.pages.frame_of[m.touched[p, m.process[p, inno.STEP]]])
    m.process[p, inno.PHASE] = phase.ACCESS
    n_pages = n_to_flush(m)
    if n_pages == 0 or not start_batch(m, now, inno.LRU, n_pages, ALL) or m.s.page_cleaner:
        return True
    wait_for(m, p, inno.LRU)
    return False


# ---- the end ----


@part
def statement_done(m, now, p):
    """On to the next statement, or to the commit. True if nothing comes between."""
    give_up_slot(m, now, p)
    if m.process[p, inno.STATEMENT] + 1 < len(m.test.statements):
        m.process[p, inno.STATEMENT] += 1
        _send(m, now, p)
        return False
    if not m.process[p, inno.HAS_CHANGED]:
        m.process[p, inno.PHASE] = phase.COMMITTED
    elif m.s.log_bin and m.s.shares_binlog:
        return prepare_group(m, now, p)
    elif m.s.log_bin:
        log_bytes(m, now, LOG_PREPARE)
        _log_of_commit(m, p, phase.PREPARED)
    else:
        m.process[p, inno.PHASE] = phase.COMMIT
    return True


@kernel
def _log_of_commit(m, p, then):
    if m.s.flush_log_at_trx_commit:
        log_up_to(m, p, m.log[inno.MADE], int(m.s.flush_log_at_trx_commit == 1), then)
    else:
        m.process[p, inno.PHASE] = then


@part
def prepared(m, p):
    """Take the lock that goes with the binary log. True if it is free."""
    m.process[p, inno.PHASE] = phase.COMMIT
    return take_lock(m, inno.BINLOG, p)


@part
def commit(m, now, p):
    """In memory; then the log."""
    log_bytes(m, now, LOG_COMMIT)
    unlock_all(m, now, p)
    if m.s.log_bin and m.s.flush_after_binlog:
        release_lock(m, now, inno.BINLOG)
    _log_of_commit(m, p, phase.COMMITTED)


@part
def committed(m, now, p):
    """COMMIT returns: response time and rate are counted, and the next transaction begins."""
    if m.s.log_bin and m.process[p, inno.HAS_CHANGED] and not (m.s.flush_after_binlog or m.s.shares_binlog):
        release_lock(m, now, inno.BINLOG)
    n = m.counts[stat.COMMITS]
    m.response_ns[n], m.ended_at[n] = now - m.process[p, inno.BEGAN], now
    count(m, stat.COMMITS, 1, now)
    begin(m, now, p)
