"""How a run of Oracle begins: with buffers as hours of work leave them, and everybody in place.

Transactions of the same kind as those to come go through the buffers with storage and clock left out. They are as many as
fill them some times over. Dirty buffers become clean where the checkpoint position would be too far back, or where they are
replaced.
"""

from model.databases.oracle import columns as ora
from model.databases.oracle.buffers import change, clean, put, take_buffer, use
from model.databases.oracle.state import IS_LISTED, REDO_BLOCK, ROWS_OF_DRAWS, draw, new_machine
from model.databases.oracle.step import begin
from model.events.streams import stream
from model.jit import kernel
from model.structures.lru import link_after, unlink

TIMES = 4  # that buffers are filled
MAX_BLOCKS = 20_000_000  # blocks; more would take seconds


@kernel
def _clean_all_listed(m):
    """What would be on the write list is clean, and the next to be taken."""
    buffers, end = m.buffers, len(m.buffers.block) - 1
    while m.pool[ora.N_LISTED]:
        frame = buffers.use.older[end]
        clean(m, frame)
        unlink(buffers.use, frame)
        buffers.flags[frame] &= ~IS_LISTED
        m.pool[ora.N_LISTED] -= 1
        link_after(buffers.use, 0, frame)


@kernel
def _get(m, block, changes):
    frame = m.frame_of[block]
    while frame == 0:
        frame = take_buffer(m)
        _clean_all_listed(m)
        if frame:
            put(m, block, frame, 0)
    use(m, 0, frame)
    if changes:
        change(m, frame)


@kernel
def work(m, draws):
    """These transactions, in no time."""
    buffers, limit = m.buffers, m.s.log_file_bytes * 9 // 10
    for t in range(len(draws)):
        for i in range(draws[t, ora.N_GETS]):
            _get(m, draws[t, ora.FIRST_BLOCK + i], i < draws[t, ora.N_CHANGED])
        m.log[ora.MADE] += m.s.redo_bytes
        frame = buffers.dirty.newer[0]
        while frame and m.log[ora.MADE] - buffers.first_redo[frame] > limit:
            clean(m, frame)
            frame = buffers.dirty.newer[0]


@kernel
def begin_all(m):
    """All users begin at time 0."""
    for p in range(m.s.n_users):
        begin(m, 0, p)


def start(s, seed=0):
    """A machine with everybody at the beginning, and the stream that its transactions are drawn from."""
    drawn, before = stream(seed, "oracle transactions"), stream(seed, "oracle transactions before")
    m = new_machine(s, drawn)
    table = m.draws.copy()
    n_blocks = min(MAX_BLOCKS, TIMES * (len(m.buffers.block) - 2), max(TIMES * m.s.n_blocks, ROWS_OF_DRAWS))
    for _ in range(-(-n_blocks // (ROWS_OF_DRAWS * m.s.gets))):
        draw(m.s, table, before)
        work(m, table)
    m.log[ora.MADE] = -(-m.log[ora.MADE] // REDO_BLOCK) * REDO_BLOCK
    m.log[ora.WRITTEN] = m.log[ora.TARGET] = m.log[ora.MADE]
    m.counts[:] = 0
    m.per_second[:] = 0
    begin_all(m)
    return m, drawn
