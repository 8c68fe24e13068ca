"""Shared buffers as hours of work leave them: what a run begins with that is shorter than they take to turn over.

Transactions are drawn and visit their pages as in a run, with neither time nor I/O. The clock takes frames, who changes a
page makes it dirty, whoever loses its frame is written. Every `interval_transactions` a checkpoint begins. What is dirty
then gets clean, one frame after the other, over `checkpoint_completion_target` of the transactions up to the next one. A
checkpointer that cannot keep up with that writes no more than `checkpoint_pace` pages a transaction. It begins the next
checkpoint when it is through with this one; what stays dirty is left to who needs the frame. Which pages are here and dirty,
and how often each has been used, follows from the pattern of access and the clock's sweep. The run begins with a checkpoint:
its pages are written while it goes on. That is where this ends too, unless checkpoints are behind. Then it ends anywhere in
one, and the pages that are left of that are the next one's.

`BUFFER_TURNS` times as many transactions as there are frames in use turn pages over where they miss. Where they hardly miss,
nearly all pages are here. Up to one turn more, so that the hand is anywhere. Tables stay as they were loaded: rows
grow no new versions. Left out: the background writer, which cleans the frames just ahead of the clock, and finds them
within seconds; pins.
"""

import numpy as np

from model.databases.postgres import columns as pg
from model.databases.postgres.buffers import MAX_USAGE, NEEDED, take
from model.databases.postgres.pgbench import INSERT, NOTHING, UPDATE, leaf_of_row, page_of_row
from model.databases.postgres.wal import DIRTY
from model.events.queues import NOBODY
from model.jit import kernel

BUFFER_TURNS = 4
MAX_TRANSACTIONS = 2**23
REPLAYED_AT_A_TIME = 2**16  # transactions


@kernel
def _visit(m, page, is_changed):
    """A statement works with `page`."""
    buffers, frame = m.buffers, m.pages.frame_of[page]
    if frame == 0:
        frame = take(buffers)
        if m.pages.frame_of[buffers.page[frame]] == frame:
            m.pages.frame_of[buffers.page[frame]] = 0
        buffers.page[frame], m.pages.frame_of[page] = page, frame
        buffers.usage[frame], buffers.flags[frame] = 1, 0
    elif buffers.usage[frame] < MAX_USAGE:
        buffers.usage[frame] += 1
    if is_changed:
        buffers.flags[frame] |= DIRTY


@kernel
def _visit_all(m, rows):
    """The pages of one transaction, `rows` as parts of the tables: as `model.databases.postgres.client` finds them."""
    for statement in m.database.statements:
        action, relation = statement[pg.ACTION], statement[pg.RELATION]
        if action == NOTHING:
            continue
        columns = m.database.relations[relation]
        row = int(rows[relation] * columns[pg.N_ROWS])
        page = page_of_row(columns, row) if action != INSERT else m.tail[relation, pg.PAGE]
        is_moved = action == UPDATE and m.pages.free[page] == 0
        if columns[pg.FIRST_LEAF] != NOBODY:
            _visit(m, leaf_of_row(columns, row), is_moved or action == INSERT)
        _visit(m, page, action in (UPDATE, INSERT))
        if is_moved:
            _visit(m, m.tail[relation, pg.PAGE], True)


@kernel
def _mark(flags):
    """A checkpoint begins."""
    for frame in range(len(flags)):
        if flags[frame] & DIRTY:
            flags[frame] |= NEEDED


@kernel
def _write_up_to(flags, state, end, pace):
    """It has written what it wants of the frames up to there, as far as it keeps up."""
    while state[pg.AT_FRAME] < end:
        if flags[state[pg.AT_FRAME]] & NEEDED:
            if pace > 0 and state[pg.N_CLEANED] + 1 > pace * state[pg.SINCE]:
                return
            flags[state[pg.AT_FRAME]] = 0
            state[pg.N_CLEANED] += 1
        state[pg.AT_FRAME] += 1


@kernel
def _replay(m, rows, interval, state):
    """Transactions of these `rows`."""
    flags = m.buffers.flags
    for t in range(len(rows)):
        if state[pg.SINCE] >= interval and state[pg.AT_FRAME] == len(flags):
            _mark(flags)
            state[pg.AT_FRAME] = state[pg.SINCE] = state[pg.N_CLEANED] = 0
        _visit_all(m, rows[t])
        state[pg.SINCE] += 1
        share = min(1.0, state[pg.SINCE] / max(1.0, interval * m.s.checkpoint_completion_target))
        _write_up_to(flags, state, int(share * len(flags)), m.s.checkpoint_pace)


def work(m, drawn):
    """Buffers that hold something become those of a machine at work; `drawn`: the stream of the transactions before."""
    used = int(m.buffers.clock[pg.N_USED])
    n = min(BUFFER_TURNS * used + int(drawn.integers(used)), MAX_TRANSACTIONS)
    interval = m.s.interval_transactions or 2 * MAX_TRANSACTIONS
    state = np.array([len(m.buffers.flags), -n % interval or interval, 0], np.int64)
    for left in range(n, 0, -REPLAYED_AT_A_TIME):
        rows = drawn.random((min(REPLAYED_AT_A_TIME, left), len(m.database.relations)))
        _replay(m, rows, interval, state)
    m.buffers.flags[(m.buffers.flags & NEEDED) > 0] = DIRTY
    m.buffers.clock[pg.N_TAKEN] = 0
