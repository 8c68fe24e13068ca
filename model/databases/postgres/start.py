"""How a run of PostgreSQL begins: tables as they were loaded, shared buffers, everybody in place.

It begins as if a checkpoint had just ended: every page's first change carries its image. (So it does in a real run,
unless the pages were changed since the last checkpoint already.) A run AT_WORK begins as a checkpoint begins. That has
to write what is dirty: `model.databases.postgres.at_work`.
"""

import numpy as np

from model.databases.postgres import columns as pg
from model.databases.postgres import phases as phase
from model.databases.postgres.at_work import work
from model.databases.postgres.client import begin
from model.databases.postgres.pgbench import Database
from model.databases.postgres.state import AT_WORK, Machine, Settings, check_settings, draws_of, new_machine
from model.events.calendar import set_time
from model.events.queues import NOBODY
from model.events.servers import typed
from model.events.streams import stream
from model.jit import kernel

ENOUGH = 2**40


@kernel
def begin_all(m):
    """All clients begin at time 0."""
    for p in range(m.s.n_clients):
        begin(m, 0, p)


# ---- the beginning ----


def _fill_pages(m):
    """Free slots of the pages as loaded, and where each table ends."""
    for i, columns in enumerate(m.database.relations):
        first, n = columns[pg.FIRST_PAGE], columns[pg.N_PAGES]
        m.pages.free[first:first + n] = columns[pg.FREE_SLOTS]
        m.tail[i, pg.ROWS] = columns[pg.ROWS_PER_PAGE] if columns[pg.N_ROWS] else 0
        m.tail[i, pg.PAGE], m.tail[i, pg.ON_DISK] = first + n - 1, first + n


def _warm(m):
    """Indexes and small tables first, then as many pages of the others as there are frames."""
    ranges = [(c[pg.FIRST_LEAF], c[pg.N_LEAVES]) for c in m.database.relations if c[pg.FIRST_LEAF] != NOBODY]
    ranges += sorted(((c[pg.FIRST_PAGE], c[pg.N_PAGES]) for c in m.database.relations), key=lambda pages: pages[1])
    pages = np.concatenate([first + np.arange(n) for first, n in ranges])[:len(m.buffers.page) - 1]
    n = len(pages)
    m.buffers.page[1:n + 1], m.buffers.usage[1:n + 1] = pages, 1
    m.pages.frame_of[pages] = np.arange(1, n + 1)
    m.buffers.clock[pg.N_USED] = n


def _begin_checkpoint(m):
    """At time 0."""
    checkpointer = m.s.n_clients + 1
    m.process[checkpointer, pg.PHASE], m.busy[pg.WAL_INSERT], m.checkpoint[pg.IS_BUSY] = phase.MARK, 1, 1
    set_time(m.calendar, checkpointer, 0)


def start(database: Database, s: Settings, seed: int = 0) -> tuple[Machine, np.random.Generator]:
    """A machine with everybody at the beginning, and the stream that its transactions are drawn from."""
    s = typed(s)
    check_settings(s, database)
    draws = draws_of(seed)
    m = new_machine(database, s, draws)
    _fill_pages(m)
    if s.is_warm:
        _warm(m)
    m.process[:, pg.WANTED] = NOBODY
    m.wal[pg.N_SEGMENTS] = s.ready_segments if s.ready_segments >= 0 else ENOUGH
    for i, (at, first) in enumerate(((phase.WAL_ROUND, s.wal_writer_delay_ns), (phase.REST, s.checkpoint_timeout_ns),
                                     (phase.CLEAN, s.bgwriter_delay_ns))):
        m.process[s.n_clients + i, pg.PHASE] = at
        set_time(m.calendar, s.n_clients + i, first)
    if s.is_warm == AT_WORK:
        work(m, stream(seed, "postgres transactions before"))
        _begin_checkpoint(m)
    begin_all(m)
    return m, draws
