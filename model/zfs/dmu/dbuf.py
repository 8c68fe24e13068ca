"""Blocks of files in core: how the tree above a record, its reads and its transaction groups use the ARC.

 1. A block that is read gets its buffer when the reading begins. It holds the indirect block above it from then on, and
    is accessed and let go when it has come. A task that finds it in core and held does not disturb the ARC. An indirect
    block is held by those below it, a record by a transaction group; else to find it counts as an access.
 2. A record that is dirtied is anonymous, and held, until it is written: then it is accessed. What had been in core loses
    its identity, a ghost vanishes. Dirtied again in a later group before it is written, it has a second buffer, which
    is given back when the older one is written. In ZFS that one stays evictable until the next group frees it.
 3. An indirect block is held from when it is dirtied until it is written, and anonymous while it is being written.
 4. With primarycache=metadata a record is evicted with its last hold (`model.zfs.arc.primarycache`): here, when it has been
    written.

`m` is any machine with `files`, `arc`, `arc_params` and `txgs`.

In ZFS: dbuf.c, `dbuf_hold_impl`, `dbuf_dirty`, `dbuf_write`, `dbuf_write_done`, `dbuf_rele`; spec 5.2, 7.2, 7.4.
"""

from model.events.clock import TICK_NS
from model.jit import kernel, part
from model.structures.sentinels import NIL
from model.zfs.arc import columns as header
from model.zfs.arc.arc import access, evict_now, grow, make_anonymous, make_room, new_block, revive, shrink, touch
from model.zfs.arc.lists import ANONYMOUS, INDIRECT, drop, hold, hold_above, in_core, release
from model.zfs.dmu import columns as dirtied
from model.zfs.dmu.dirty import WRITTEN, dirty
from model.zfs.dmu.layout import level_block


@part
def _above(m, file, record, level):
    """The node of the block above the one of `level`, or NIL."""
    if level + 1 >= m.files.n_levels[file]:
        return NIL
    above = int(m.arc.node_of[level_block(m.files, file, record, level + 1)])
    return above if in_core(m.arc, above) else NIL


@part
def buffer_for(m, now, file, record, level):
    """The node, held, of the block of `level` above `record`, which is not in core."""
    block, tick = level_block(m.files, file, record, level), now // TICK_NS
    node = int(m.arc.node_of[block])
    if node != NIL:
        revive(m.arc, m.arc_params, node, m.arc.nodes[node, header.MARKS], tick)
    else:
        n_bytes = m.files.indirect_core_bytes if level > 0 else m.files.core_bytes[file]
        is_metadata, marks = (1, INDIRECT) if level > 0 else (0, 0)
        node = new_block(m.arc, m.arc_params, block, is_metadata, n_bytes, marks, tick)
    hold_above(m.arc, node, _above(m, file, record, level))
    return node


@part
def has_come(m, now, node, stays):
    """`node`, which was read, is in core from now on, or not at all."""
    m.arc.nodes[node, header.READER] = 0
    if not stays:
        drop(m.arc, node)
        return
    access(m.arc, m.arc_params, node, now // TICK_NS)
    release(m.arc, node)


@part
def _touch(m, now, node):
    touch(m.arc, m.arc_params, node, now // TICK_NS)


@kernel
def find(m, now, node):
    """A demand finds `node` in core."""
    if m.arc.nodes[node, header.HOLDS] == 0:
        _touch(m, now, node)


@part
def _hold_tree(m, file, record):
    """Indirect blocks that the open group dirties here."""
    for level in range(1, m.files.n_levels[file]):
        block = level_block(m.files, file, record, level)
        if m.txgs.dirtied_in[block - m.files.n_records] == m.txgs.open_txg[0]:
            return
        hold(m.arc, int(m.arc.node_of[block]))


@part
def _dirty_buffer(m, now, file, record, node):
    """The node of a record that is clean in the open group, with a buffer for it, held once more."""
    arc, params, n_bytes = m.arc, m.arc_params, m.files.core_bytes[file]
    if not in_core(arc, node):
        if node != NIL:
            drop(arc, node)
        node = new_block(arc, params, level_block(m.files, file, record, 0), 0, n_bytes, 0, now // TICK_NS)
        hold_above(arc, node, _above(m, file, record, 0))
        return node
    if arc.nodes[node, header.DIRTIED]:
        make_room(arc, params, ANONYMOUS, 0, n_bytes, now // TICK_NS)
        grow(arc, params, n_bytes, 0)
    else:
        make_anonymous(arc, node)
    hold(arc, node)
    return node


@part
def _note_nodes(entries, nodes, entry, node):
    """While they are at hand: the nodes of a record's entry and of the one above."""
    entries[entry, dirtied.NODE] = node
    if entries[entry, dirtied.ABOVE] != NIL:
        entries[entries[entry, dirtied.ABOVE], dirtied.NODE] = nodes[node, header.ABOVE]


@part
def dirty_record(m, now, file, record):
    """A record is overwritten altogether. False if somebody is reading it just now."""
    node, open_txg = int(m.arc.node_of[level_block(m.files, file, record, 0)]), m.txgs.open_txg[0]
    is_here = in_core(m.arc, node)
    if is_here and m.arc.nodes[node, header.READER]:
        return False
    if not is_here or m.arc.nodes[node, header.DIRTIED] != open_txg:
        node = _dirty_buffer(m, now, file, record, node)
        m.arc.nodes[node, header.DIRTIED] = open_txg
        _hold_tree(m, file, record)
        _note_nodes(m.txgs.entries, m.arc.nodes, dirty(m.txgs, m.files, file, record), node)
    return True


@kernel
def node_of_entry(m, entry):
    """The node of the block of `entry`, looked up once: it is held until the block is written."""
    entries = m.txgs.entries
    if entries[entry, dirtied.NODE] == NIL:
        entries[entry, dirtied.NODE] = int(m.arc.node_of[entries[entry, dirtied.BLOCK]])
    return entries[entry, dirtied.NODE]


@part
def copy_written(m, now, entry, keeps_records):
    """One of the copies of the block of `entry` is on disk; after the last one the block is clean."""
    entries, arc = m.txgs.entries, m.arc
    entries[entry, dirtied.WRITING] -= 1
    if entries[entry, dirtied.WRITING] > 0:
        return
    entries[entry, dirtied.WRITING] = WRITTEN
    node = node_of_entry(m, entry)
    is_record = entries[entry, dirtied.BLOCK] < m.files.n_records
    if is_record and arc.nodes[node, header.DIRTIED] != m.txgs.syncing[0]:
        shrink(arc, int(arc.nodes[node, header.N_BYTES]))
    else:
        arc.nodes[node, header.DIRTIED] = 0
        access(arc, m.arc_params, node, now // TICK_NS)
    release(arc, node)
    if is_record and not keeps_records and arc.nodes[node, header.HOLDS] == 0:
        evict_now(arc, node)
