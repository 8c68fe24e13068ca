"""Who reads: files one after the other, each from its first block to its last, one block at a time.

The first `shared_blocks` of every file are the same blocks on disk, as dedup or a clone leaves them. Their pointers say
where they lie, so that a read asks no table. A block that comes from a disk is check-summed; one in the ARC is not.

Left out: prefetch (blocks that dedup found lie wherever they were written first), and data on the cache device.
"""
from model.events.calendar import set_time
from model.jit import kernel, part
from model.simulations.dedup_writes import columns as at
from model.simulations.dedup_writes.state import READER, source_of
from model.simulations.dedup_writes.table_io import request


@kernel
def block_of(m, file, i):
    """The number, in the ARC, of block `i` of a file."""
    s, first = m.settings, m.levels[len(m.levels) - 1]
    return first + i if i < s.shared_blocks else first + file * (s.file_blocks - s.shared_blocks) + i


@kernel
def _next_block(m, column, done):
    file = m.group[at.READS_FILE]
    m.files[file, column] += 1
    m.files[file, at.ENDED] = done
    m.group[at.READS_BLOCK] += 1
    m.group[at.READ_COMES] = 0
    if m.group[at.READS_BLOCK] == m.settings.file_blocks:
        m.group[at.READS_FILE] += 1
        m.group[at.READS_BLOCK] = 0
    if m.group[at.READS_FILE] < m.settings.n_files:
        set_time(m.calendar, source_of(m, READER), done)


@part
def reader_event(m, leaves, now):
    """The next block is wanted; or it has come from a disk."""
    s, thread = m.settings, m.settings.threads + READER
    if m.group[at.READ_COMES]:
        _next_block(m, at.FROM_DISK, now + s.hash_ns + s.copy_ns)
    elif request(m, leaves, now, block_of(m, m.group[at.READS_FILE], m.group[at.READS_BLOCK]), thread):
        _next_block(m, at.FROM_CORE, now + s.copy_ns)
    else:
        m.group[at.READ_COMES] = 1
