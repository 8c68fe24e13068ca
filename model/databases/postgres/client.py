"""A client of PostgreSQL and its backend: statement after statement.

    client thread -> CPU -> row lock -> pages -> log -> next statement ...  last one: commit record -> flush -> locks let go

There is no thinking between transactions: a client whose transaction has committed begins the next one. Response time
is from there to the commit, with the wait for the client's thread.

What an update does to its page and to the log stands in `model.databases.postgres.pgbench`, the rest in `buffers.py` and
`wal.py`.
"""

from model.databases.postgres import columns as pg
from model.databases.postgres import phases as phase
from model.databases.postgres import stats as stat
from model.databases.postgres.buffers import access, unpin_all
from model.databases.postgres.pgbench import INSERT, NOTHING, UPDATE, leaf_of_row, lock_row, page_of_row, unlock_row
from model.databases.postgres.state import ask_client, ask_cpu
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
        m.row[p, relation] = int(draws[t, relation] * m.database.relations[relation, pg.N_ROWS])
    m.process[p, pg.CPU_FACTOR] = int(draws[t, n_relations] * 2**20) if m.s.spread_cpu else 2**20
    m.process[p, pg.BEGAN], m.process[p, pg.STATEMENT], m.process[p, pg.IS_WRITER] = now, 0, 0
    m.process[p, pg.PHASE] = phase.TRIP
    ask_client(m, now, p)


@part
def trip(m, now, p):
    """The client's thread has sent the statement, and its backend asks for a processor."""
    release(m, now, pg.CLIENTS)
    m.process[p, pg.PHASE] = phase.COMPUTE
    ask_cpu(m, now, p)


@part
def compute(m, now, p):
    """The statement has had its processor, and wants its row next."""
    release(m, now, CPUS)
    m.process[p, pg.PHASE] = phase.LOCK


# ---- a statement ----


@part
def lock(m, p):
    """Wait for the row. True if it is free."""
    statement = m.process[p, pg.STATEMENT]
    columns = m.database.statements[statement]
    relation = columns[pg.RELATION]
    first = m.database.relations[relation, pg.FIRST_LOCK]
    m.process[p, pg.PHASE] = phase.PREPARE
    if columns[pg.ACTION] != UPDATE or first == NOBODY:
        return True
    m.held[p, statement] = first + m.row[p, relation]
    return lock_row(m.locks, m.after, m.held[p, statement], p)


@kernel
def _touch(m, p, page, image_bytes):
    """The statement works with `page`, and changes it if it says how large its image would be."""
    n = m.process[p, pg.N_TOUCHED]
    m.touched[p, n], m.changes[p, n] = page, image_bytes
    m.process[p, pg.N_TOUCHED] = n + 1


@kernel
def _page_at_the_end(m, relation):
    """The page for one more row at the end of its table."""
    tail = m.tail
    if tail[relation, pg.ROWS] == m.database.relations[relation, pg.ROWS_PER_PAGE]:
        tail[relation, pg.PAGE] += 1
        tail[relation, pg.ROWS] = 0
    tail[relation, pg.ROWS] += 1
    return tail[relation, pg.PAGE]


@kernel
def _update(m, now, p, relation, leaf):
    """Prune the row's page, if that is due; then the new version goes there, or to the end."""
    columns, pages = m.database.relations[relation], m.pages
    page = page_of_row(columns, m.row[p, relation])
    if pages.dead[page] and pages.free[page] <= columns[pg.PRUNE_BELOW]:
        pages.free[page] += pages.dead[page]
        pages.dead[page] = 0
        m.process[p, pg.LOG_BYTES] += columns[pg.CLEAN_BYTES]
    m.updated[p, m.process[p, pg.STATEMENT]] = page
    _touch(m, p, page, columns[pg.IMAGE_BYTES])
    if pages.free[page]:
        pages.free[page] -= 1
        m.process[p, pg.LOG_BYTES] += columns[pg.HOT_BYTES]
        count(m, stat.HOT, 1, now)
        return
    m.process[p, pg.LOG_BYTES] += columns[pg.MOVE_BYTES]
    count(m, stat.MOVED, 1, now)
    _touch(m, p, _page_at_the_end(m, relation), columns[pg.IMAGE_BYTES])
    if leaf != NOBODY:
        m.changes[p, 0] = m.database.leaf_image_bytes


@part
def prepare(m, now, p):
    """Which pages the statement needs, and what it will log."""
    statement = m.database.statements[m.process[p, pg.STATEMENT]]
    action, relation = statement[pg.ACTION], statement[pg.RELATION]
    m.process[p, pg.LOG_BYTES] = m.process[p, pg.N_TOUCHED] = m.process[p, pg.STEP] = 0
    m.process[p, pg.PHASE] = phase.ACCESS
    if action == NOTHING:
        return
    columns = m.database.relations[relation]
    leaf = NOBODY
    if columns[pg.FIRST_LEAF] != NOBODY:
        leaf = leaf_of_row(columns, m.row[p, relation])
        _touch(m, p, leaf, m.database.leaf_image_bytes if action == INSERT else 0)
    if action == INSERT:
        m.process[p, pg.LOG_BYTES] = columns[pg.INSERT_BYTES]
        _touch(m, p, _page_at_the_end(m, relation), columns[pg.IMAGE_BYTES])
        return
    if action == UPDATE:
        _update(m, now, p, relation, leaf)
    else:
        _touch(m, p, page_of_row(columns, m.row[p, relation]), 0)


@part
def work(m, p):
    """Get the pages; when all are here, log what was changed. True if that can go on."""
    if not access(m, p):
        return m.process[p, pg.PHASE] == phase.EVICT
    m.process[p, pg.PHASE] = phase.STATEMENT_DONE
    if m.process[p, pg.LOG_BYTES]:
        m.process[p, pg.IS_WRITER] = 1
        m.process[p, pg.PHASE], m.process[p, pg.THEN] = phase.INSERT, phase.STATEMENT_DONE
    return True


@part
def statement_done(m, now, p):
    """On to the next statement, or to the commit. True if nothing comes between."""
    unpin_all(m, p)
    if m.process[p, pg.STATEMENT] + 1 < len(m.database.statements):
        m.process[p, pg.STATEMENT] += 1
        m.process[p, pg.PHASE] = phase.TRIP
        ask_client(m, now, p)
        return False
    if m.process[p, pg.IS_WRITER]:
        m.process[p, pg.LOG_BYTES] = m.database.commit_bytes
        m.process[p, pg.PHASE], m.process[p, pg.THEN] = phase.INSERT, phase.COMMIT
    else:
        m.process[p, pg.PHASE] = phase.COMMITTED
    return True


# ---- commit ----


@part
def flush_commit_record(m, now, p):
    """The commit record is in the log, which is to be flushed to there. True if nothing is waited for before the flush."""
    if not m.s.synchronous_commit:
        m.wal[pg.ASYNCHRONOUS] = max(m.wal[pg.ASYNCHRONOUS], m.process[p, pg.LSN])
        m.process[p, pg.PHASE] = phase.COMMITTED
        return True
    flush(m, p, m.process[p, pg.LSN], phase.COMMITTED)
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
    n = m.counts[stat.COMMITS]
    m.response_ns[n], m.ended_at[n] = now - m.process[p, pg.BEGAN], now
    m.process[p, pg.IS_WRITER] = 0
    count(m, stat.COMMITS, 1, now)
    begin(m, now, p)
