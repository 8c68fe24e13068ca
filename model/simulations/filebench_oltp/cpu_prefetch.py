"""What the OLTP run will look up some events from now: named to the processor beforehand (`model.jit.cpu_prefetch`).

To get to a block's header takes two steps, its number and then its node. To take it off its list takes a third one, to its
neighbours there. Each is named when the one before must have arrived. Nothing here changes anything but time.
"""

from model.jit import kernel, part
from model.jit.cpu_prefetch import prefetch
from model.structures.lru import bucket_of
from model.structures.sentinels import NIL
from model.zfs.arc import columns as header
from model.zfs.dmu import columns as dirtied
from model.zfs.dmu.layout import level_block
from model.zfs.vdev.leaves import FOR_LINE, FOR_TXG
from model.zfs.vdev.places import LEAF_SHIFT, OFFSET_MASK


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
def header_of(m, file, record):
    """If the record has one."""
    prefetch(m.arc.nodes, int(m.arc.node_of[level_block(m.files, file, record, 0)]))


@kernel
def _neighbours(m, file, record, level):
    """A header, if there is one and it is on a list, will be taken off it."""
    nodes, node = m.arc.nodes, int(m.arc.node_of[level_block(m.files, file, record, level)])
    if nodes[node, header.HOLDS] == 0:
        prefetch(nodes, int(nodes[node, header.OLDER]))
        prefetch(nodes, int(nodes[node, header.NEWER]))


@part
def next_read(m, shadow):
    """A shadow's read is there, or found: headers of what it will read next."""
    n, n_files, records = m.threads.n_done[shadow], m.workload.n_files, m.threads.shadow_records
    if n < records.shape[1]:
        header_above(m, n % n_files, records[shadow, n])
        header_of(m, n % n_files, records[shadow, n])
        prefetch(m.layout.place, level_block(m.files, n % n_files, records[shadow, n], 0))


@part
def next_read_begins(m, shadow):
    """It will soon, and the headers are at hand."""
    n, n_files, records = m.threads.n_done[shadow], m.workload.n_files, m.threads.shadow_records
    if n < records.shape[1]:
        _neighbours(m, n % n_files, records[shadow, n], 1)


@part
def read_after_next(m, shadow):
    """A shadow's read goes to its disk: where what it will read then is found."""
    n, n_files, records = m.threads.n_done[shadow], m.workload.n_files, m.threads.shadow_records
    if n < records.shape[1]:
        numbers_of(m, n % n_files, records[shadow, n])
        prefetch(m.layout.place, level_block(m.files, n % n_files, records[shadow, n], 0))


@part
def line_at(leaves, place):
    """The vdev cache will be asked for what lies there."""
    cache, line = leaves.cache, (place & OFFSET_MASK) >> leaves.cache_params.line_shift
    prefetch(cache.first, (place >> LEAF_SHIFT) * cache.n_buckets + bucket_of(line, cache.n_buckets))


@part
def write_comes(m, file, record):
    """A record will be dirtied, and the block above it."""
    numbers_of(m, file, record)
    prefetch(m.txgs.entry_of, level_block(m.files, file, record, 1) - m.files.n_records)


@part
def write_begins(m, file, record):
    """It will be soon."""
    header_above(m, file, record)
    header_of(m, file, record)
    prefetch(m.txgs.entries, m.txgs.entry_of[level_block(m.files, file, record, 1) - m.files.n_records])


@kernel
def write_is_next(m, file, record):
    """The headers are at hand."""
    _neighbours(m, file, record, 1)
    _neighbours(m, file, record, 0)


@part
def next_write(m):
    """The sync thread will write the entry at its cursor. From an L1 it goes on to the first record below the next one."""
    entries, entry = m.txgs.entries, m.txgs.cursor[0]
    block, following = entries[entry, dirtied.BLOCK], entries[entry, dirtied.FOLLOWING]
    if block < m.files.n_records:
        prefetch(entries, following)
        prefetch(entries, entries[entry, dirtied.ABOVE])
    else:
        prefetch(m.arc.nodes, entries[entry, dirtied.NODE])
        prefetch(entries, entries[following, dirtied.FIRST])


@part
def block_above(m, above):
    """The sync thread has come to a record below the entry `above`."""
    entries = m.txgs.entries
    prefetch(m.arc.nodes, entries[above, dirtied.NODE])
    prefetch(m.layout.level, entries[above, dirtied.BLOCK] - m.files.n_records)
    prefetch(entries, entries[above, dirtied.FOLLOWING])


@kernel
def _who_waits(leaves, io):
    """The waiter for a read that came last."""
    owner = int(leaves.owner[io])
    return leaves.waiting[leaves.line_of[io]] if owner == FOR_LINE else owner


@part
def unit_starts(m, leaves, unit):
    """A disk begins to serve a unit: the entries that its members write, and the next reads of who waits for it."""
    io = unit
    while io != NIL:
        if leaves.owner[io] == FOR_TXG:
            prefetch(m.txgs.entries, m.entry_of[io])
        else:
            task = _who_waits(leaves, io) >> leaves.waiter_shift
            if task < m.workload.n_shadows:
                read_after_next(m, task)
        io = leaves.queue.next_member[io]


@part
def unit_ends(m, leaves, unit):
    """A disk has served a unit: headers of blocks that its members write, or read for who waits, and what he reads next."""
    io = unit
    while io != NIL:
        if leaves.owner[io] == FOR_TXG:
            prefetch(m.arc.nodes, m.txgs.entries[m.entry_of[io], dirtied.NODE])
        else:
            task = _who_waits(leaves, io) >> leaves.waiter_shift
            prefetch(m.arc.nodes, m.tasks.node[task])
            if task < m.workload.n_shadows:
                next_read(m, task)
        io = leaves.queue.next_member[io]
