"""A client of PostgreSQL and its backend: statement after statement.

    client thread -> CPU -> row lock -> pages -> log -> next statement ...  last one: commit record -> flush -> locks let go

There is no thinking between transactions: a client whose transaction has committed begins the next one. Response time
is from there to the commit, with the wait for the client's thread.

What an update does to its page and to the log stands in `model.databases.postgres.pgbench`, the rest in `postgres_buffers`
and `postgres_wal`.
"""

from model.databases.postgres import phases as phase
from model.databases.postgres.buffers import PAGE, ROWS, access, unpin_all
from model.databases.postgres.pgbench import (
    ACTION,
    CLEAN_BYTES,
    FIRST_LEAF,
    FIRST_LOCK,
    HOT_BYTES,
    IMAGE_BYTES,
    INSERT,
    INSERT_BYTES,
    MOVE_BYTES,
    N_ROWS,
    NOTHING,
    PRUNE_BELOW,
    RELATION,
    ROWS_PER_PAGE,
    UPDATE,
    leaf_of_row,
    lock_row,
    page_of_row,
    unlock_row,
)
from model.databases.postgres.state import (
    ASYNCHRONOUS,
    BEGAN,
    CLIENTS,
    COMMITS,
    CPU_FACTOR,
    HOT,
    IS_WRITER,
    LOG_BYTES,
    LSN,
    MOVED,
    N_TOUCHED,
    PHASE,
    STATEMENT,
    STEP,
    THEN,
    ask_client,
    ask_cpu,
)
from model.databases.postgres.wal import delays, flush
from model.events.calendar import set_time
from model.events.queues import NOBODY
from model.events.servers import CPUS, count, release, wake
from model.jit import kernel, part

# ---- a transaction begins ----


@part
def begin(m, now, p):
    """Draw its rows and hand its first statement to the client's thread; or nothing, if all have begun."""
    if m.n_drawn[1] == m.s.n_transactions:
        return
    draws, t = m.draws, m.n_drawn[0]
    m.n_drawn[0] += 1
    m.n_drawn[1] += 1
    n_relations = len(m.database.relations)
    for relation in range(n_relations):
        m.row[p, relation] = int(draws[t, relation] * m.database.relations[relation, N_ROWS])
    m.process[p, CPU_FACTOR] = int(draws[t, n_relations] * 2**20) if m.s.spread_cpu else 2**20
    m.process[p, BEGAN], m.process[p, STATEMENT], m.process[p, IS_WRITER] = now, 0, 0
    m.process[p, PHASE] = phase.TRIP
    ask_client(m, now, p)


@part
def trip(m, now, p):
    release(m, now, CLIENTS)
    m.process[p, PHASE] = phase.COMPUTE
    ask_cpu(m, now, p)


@part
def compute(m, now, p):
    release(m, now, CPUS)
    m.process[p, PHASE] = phase.LOCK


# ---- a statement ----


@part
def lock(m, p):
    """Wait for the row. True if it is free."""
    statement = m.process[p, STATEMENT]
    columns = m.database.statements[statement]
    relation = columns[RELATION]
    first = m.database.relations[relation, FIRST_LOCK]
    m.process[p, PHASE] = phase.PREPARE
    if columns[ACTION] != UPDATE or first == NOBODY:
        return True
    m.held[p, statement] = first + m.row[p, relation]
    return lock_row(m.locks, m.after, m.held[p, statement], p)


@kernel
def _touch(m, p, page, image_bytes):
    """The statement works with `page`, and changes it if it says how large its image would be."""
    n = m.process[p, N_TOUCHED]
    m.touched[p, n], m.changes[p, n] = page, image_bytes
    m.process[p, N_TOUCHED] = n + 1


@kernel
def _page_at_the_end(m, relation):
    """The page for one more row at the end of its table."""
    tail = m.tail
    if tail[relation, ROWS] == m.database.relations[relation, ROWS_PER_PAGE]:
        tail[relation, PAGE] += 1
        tail[relation, ROWS] = 0
    tail[relation, ROWS] += 1
    return tail[relation, PAGE]


@kernel
def _update(m, now, p, relation, leaf):
    """Prune the row's page, if that is due; then the new version goes there, or to the end."""
    columns, pages = m.database.relations[relation], m.pages
    page = page_of_row(columns, m.row[p, relation])
    if pages.dead[page] and pages.free[page] <= columns[PRUNE_BELOW]:
        pages.free[page] += pages.dead[page]
        pages.dead[page] = 0
        m.process[p, LOG_BYTES] += columns[CLEAN_BYTES]
    m.updated[p, m.process[p, STATEMENT]] = page
    _touch(m, p, page, columns[IMAGE_BYTES])
    if pages.free[page]:
        pages.free[page] -= 1
        m.process[p, LOG_BYTES] += columns[HOT_BYTES]
        count(m, HOT, 1, now)
        return
    m.process[p, LOG_BYTES] += columns[MOVE_BYTES]
    count(m, MOVED, 1, now)
    _touch(m, p, _page_at_the_end(m, relation), columns[IMAGE_BYTES])
    if leaf != NOBODY:
        m.changes[p, 0] = m.database.leaf_image_bytes


@part
def prepare(m, now, p):
    """Which pages the statement needs, and what it will log."""
    statement = m.database.statements[m.process[p, STATEMENT]]
    action, relation = statement[ACTION], statement[RELATION]
    m.process[p, LOG_BYTES] = m.process[p, N_TOUCHED] = m.process[p, STEP] = 0
    m.process[p, PHASE] = phase.ACCESS
    if action == NOTHING:
        return
    columns = m.database.relations[relation]
    leaf = NOBODY
    if columns[FIRST_LEAF] != NOBODY:
        leaf = leaf_of_row(columns, m.row[p, relation])
        _touch(m, p, leaf, m.database.leaf_image_bytes if action == INSERT else 0)
    if action == INSERT:
        m.process[p, LOG_BYTES] = columns[INSERT_BYTES]
        _touch(m, p, _page_at_the_end(m, relation), columns[IMAGE_BYTES])
        return
    if action == UPDATE:
        _update(m, now, p, relation, leaf)
    else:
        _touch(m, p, page_of_row(columns, m.row[p, relation]), 0)


@part
def work(m, p):
    """Get the pages; when all are here, log what was changed. True if that can go on."""
    if not access(m, p):
        return m.process[p, PHASE] == phase.EVICT
    m.process[p, PHASE] = phase.STATEMENT_DONE
    if m.process[p, LOG_BYTES]:
        m.process[p, IS_WRITER] = 1
        m.process[p, PHASE], m.process[p, THEN] = phase.INSERT, phase.STATEMENT_DONE
    return True


@part
def statement_done(m, now, p):
    """On to the next statement, or to the commit. True if nothing comes between."""
    unpin_all(m, p)
    if m.process[p, STATEMENT] + 1 < len(m.database.statements):
        m.process[p, STATEMENT] += 1
        m.process[p, PHASE] = phase.TRIP
        ask_client(m, now, p)
        return False
    if m.process[p, IS_WRITER]:
        m.process[p, LOG_BYTES] = m.database.commit_bytes
        m.process[p, PHASE], m.process[p, THEN] = phase.INSERT, phase.COMMIT
    else:
        m.process[p, PHASE] = phase.COMMITTED
    return True


# ---- commit ----


@part
def commit(m, now, p):
    """The commit record is in the log. True if nothing is waited for before the flush."""
    if not m.s.synchronous_commit:
        m.wal[ASYNCHRONOUS] = max(m.wal[ASYNCHRONOUS], m.process[p, LSN])
        m.process[p, PHASE] = phase.COMMITTED
        return True
    flush(m, p, m.process[p, LSN], phase.COMMITTED)
    if m.s.leader_delays or not delays(m, p):
        return True
    set_time(m.calendar, p, now + m.s.commit_delay_ns)
    return False


@part
def committed(m, now, p):
    """Let go of the rows; what was replaced is dead; begin again."""
    for statement in range(len(m.database.statements)):
        if m.held[p, statement] != NOBODY:
            wake(m, now, unlock_row(m.locks, m.after, m.held[p, statement]))
            m.held[p, statement] = NOBODY
        if m.updated[p, statement] != NOBODY:
            m.pages.dead[m.updated[p, statement]] += 1
            m.updated[p, statement] = NOBODY
    n = m.counts[COMMITS]
    m.response_ns[n], m.ended_at[n] = now - m.process[p, BEGAN], now
    m.process[p, IS_WRITER] = 0
    count(m, COMMITS, 1, now)
    begin(m, now, p)
