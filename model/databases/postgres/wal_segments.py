"""Files of PostgreSQL's log: 16 MB each, made of zeros once, then used again and again.

 1. *Who comes to a segment that does not exist* makes it, with the write lock held: 16 MB of zeros, and an fsync.
    Commits wait.
 2. *A full segment* asks for a checkpoint if it is `checkpoint_segments` - 1 behind the one in which the last
    checkpoint began.
 3. *When a checkpoint is done*, segments from before the last but one began get the names of segments to come. (From 11 on:
    from before this one began.) These are up to 2 x `checkpoint_segments` + 1 ahead.

So a server whose `checkpoint_segments` were just raised makes files until it has as many as it will ever need.
`ready_segments` of the settings says how many exist at the start; -1: as many as will be wanted. Sources: xlog.c
(XLogFileInit, XLogCheckpointNeeded, RemoveOldXlogFiles). Left out: the file that a checkpoint makes if the present one
is nearly full (PreallocXlogFiles).
"""

from model.databases.postgres import columns as pg
from model.databases.postgres.state import PAGES_PER_SEGMENT, PAYLOAD, SEGMENT_BYTES
from model.filesystems.calls import WAL_CREATE, ask
from model.jit import kernel

SEGMENT_PAYLOAD = PAGES_PER_SEGMENT * PAYLOAD


@kernel
def has_segment(m, p):
    """Whether the next byte of log has a file. If not, `p` makes it and has to look again."""
    segment = m.wal[pg.WRITTEN] // SEGMENT_PAYLOAD
    if segment < m.wal[pg.N_SEGMENTS]:
        return True
    m.wal[pg.N_SEGMENTS] = segment + 1
    ask(m.calls, p, WAL_CREATE, 0, segment * SEGMENT_BYTES, SEGMENT_BYTES)
    return False


@kernel
def has_written(m):
    """A call has returned. Rule 2."""
    m.wal[pg.WRITTEN] = m.wal[pg.CALL_END]
    if m.wal[pg.WRITTEN] % SEGMENT_PAYLOAD == 0:
        n = m.wal[pg.WRITTEN] // SEGMENT_PAYLOAD - 1 - m.wal[pg.REDO] // SEGMENT_PAYLOAD
        if n >= int(m.s.checkpoint_segments) - 1:
            m.wal[pg.IS_REQUESTED] = 1


@kernel
def recycle(m):
    """Rule 3: old segments get the names of segments to come."""
    wal = m.wal
    first_needed = wal[pg.REDO_BEFORE if m.s.keeps_two_checkpoints else pg.REDO] // SEGMENT_PAYLOAD
    max_segments = wal[pg.INSERTED] // SEGMENT_PAYLOAD + 2 * int(m.s.checkpoint_segments) + 2
    wal[pg.N_SEGMENTS] = max(wal[pg.N_SEGMENTS], min(max_segments, wal[pg.N_SEGMENTS] + first_needed - wal[pg.N_RECYCLED]))
    wal[pg.N_RECYCLED], wal[pg.REDO_BEFORE] = first_needed, wal[pg.REDO]
