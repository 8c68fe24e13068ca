"""What the OLTP run will look up some events from now: named to the processor beforehand (`model.prefetch`).

To get to a block's header takes two steps, its number and then its node, and each is named when the one before must have
arrived. Nothing here changes anything but time.
"""

from model.jit import part
from model.layout import level_block
from model.oltp_machine import FILE, LEVEL, RECORD
from model.pool import FOR_TXG
from model.prefetch import prefetch
from model.txg import ABOVE, BLOCK, FOLLOWING
from model.vdev_queue import NONE


@part
def numbers_of(m, file, record):
    """A record will be looked for, and the block above it."""
    prefetch(m.arc.node_of, level_block(m.files, file, record, 0))
    prefetch(m.arc.node_of, level_block(m.files, file, record, 1))


@part
def header_above(m, file, record):
    """It will be soon."""
    prefetch(m.arc.nodes, int(m.arc.node_of[level_block(m.files, file, record, 1)]))


@part
def next_read(m, shadow):
    """A shadow has done its read: what it will read next."""
    n = m.threads.n_done[shadow]
    if n < m.threads.shadow_records.shape[1]:
        file, record = n % m.workload.n_files, m.threads.shadow_records[shadow, n]
        numbers_of(m, file, record)
        prefetch(m.layout.place, level_block(m.files, file, record, 0))


@part
def read_begins(m, shadow):
    """A shadow will read when it has posted."""
    n = m.threads.n_done[shadow]
    header_above(m, n % m.workload.n_files, m.threads.shadow_records[shadow, n])


@part
def write_begins(m, file, record):
    """A record will be dirtied, and the block above it."""
    header_above(m, file, record)
    i = level_block(m.files, file, record, 1) - m.files.n_records
    prefetch(m.txgs.dirtied_in, i)
    prefetch(m.txgs.entry_of, i)


@part
def next_write(m):
    """The sync thread will write the entry at its cursor."""
    entries, entry = m.txgs.entries, m.txgs.cursor[0]
    block = entries[entry, BLOCK]
    prefetch(entries, entries[entry, FOLLOWING])
    if block < m.files.n_records:
        prefetch(entries, entries[entry, ABOVE])
    else:
        prefetch(m.arc.nodes, int(m.arc.node_of[block]))


@part
def block_above(m, block):
    """The sync thread has come to a record below the indirect `block`."""
    prefetch(m.arc.node_of, block)
    prefetch(m.layout.level, block - m.files.n_records)


@part
def unit_starts(m, pool, unit):
    """A disk begins to serve a unit: the entries that its members write."""
    io = unit
    while io != NONE:
        if pool.owner[io] == FOR_TXG:
            prefetch(m.txgs.entries, m.entry_of[io])
        io = pool.queue.next_member[io]


@part
def _block_of(m, pool, io):
    """The block that an I/O writes, or reads for who waits; of a line, just any."""
    owner, rows = pool.owner[io], m.tasks.rows
    if owner == FOR_TXG:
        return m.txgs.entries[m.entry_of[io], BLOCK]
    if owner < 0:
        return 0
    task = owner >> pool.waiter_shift
    return level_block(m.files, rows[task, FILE], rows[task, RECORD], rows[task, LEVEL])


@part
def unit_ends(m, pool, unit):
    """A disk has served a unit."""
    io = unit
    while io != NONE:
        prefetch(m.arc.node_of, _block_of(m, pool, io))
        io = pool.queue.next_member[io]


@part
def members_hear(m, pool, unit):
    """What waits for its members will hear of it."""
    io = unit
    while io != NONE:
        prefetch(m.arc.nodes, int(m.arc.node_of[_block_of(m, pool, io)]))
        io = pool.queue.next_member[io]
