"""How a run of InnoDB begins: what is in the buffer pool, everybody in place.

The table is on disk; unless at work, nothing is dirty and the last checkpoint is where the log ends. The pool (`start` of
the settings):

    cold        empty
    as loaded   the pages that `sysbench prepare` added last: the end of the table, and that of the index on k as its share
    warm        the pages that the test wants most: those next to the middle, all of them alike if ids are uniform
    at work     as hours of work leave them: `model.databases.innodb.at_work`, which begins with warm ones
"""

import numpy as np

from model.databases.innodb import at_work
from model.databases.innodb import columns as inno
from model.databases.innodb import phases as phase
from model.databases.innodb.buffer_pool import fill
from model.databases.innodb.client import begin
from model.databases.innodb.redo_log import FIRST_LSN
from model.databases.innodb.state import AS_LOADED, AT_WORK, COLD, Machine, Settings, new_machine
from model.databases.innodb.sysbench import Oltp, draws_of, wanted
from model.events.calendar import set_time
from model.events.clock import SECOND_NS
from model.events.streams import stream
from model.jit import kernel


@kernel
def begin_all(m):
    """All clients begin at time 0."""
    for p in range(m.s.n_clients):
        begin(m, 0, p)


@kernel
def fill_all(m, pages):
    """The buffer pool holds `pages`, the last of them as the newest."""
    for i in range(len(pages)):
        fill(m, pages[i])


def _pages_to_begin_with(m):
    """The most wanted last, as many as there are frames."""
    table, n_frames = m.table, len(m.frames.page) - 1
    place = np.concatenate([np.arange(table.n_leaves) / table.n_leaves, np.arange(table.n_low) / table.n_low])
    how_much = place if m.s.start == AS_LOADED else wanted(m.test, place)
    return np.argsort(how_much, kind="stable")[-n_frames:]


def start(test: Oltp, s: Settings, seed: int = 0) -> tuple[Machine, np.random.Generator]:
    """A machine with everybody at the beginning, and the stream that its transactions are drawn from."""
    draws = draws_of(seed)
    m = new_machine(test, s, draws)
    m.log[[inno.MADE, inno.WRITTEN, inno.STABLE, inno.CHECKPOINT_AT]] = FIRST_LSN
    if m.s.start != COLD:
        fill_all(m, _pages_to_begin_with(m))
    if m.s.start == AT_WORK:
        at_work.work(m, stream(seed, "sysbench transactions before the start"))
    m.process[m.s.n_clients, inno.PHASE] = phase.SECOND
    set_time(m.calendar, m.s.n_clients, SECOND_NS)
    begin_all(m)
    return m, draws
