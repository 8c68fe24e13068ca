"""Blocks on their way: what a thread wants from memory, from the cache device or from a disk, and what a group writes.

Reads of the table and of files meet in one ARC. The key of a block there is its number: of a block of a file that is where
it lies, and not whose it is. So two files that share a block share its buffer (arc.c, `buf_hash_find` by DVA and physical
birth). Every pointer to a block of the table has the same two (ddt.c, `ddt_bp_fill`).
"""
from model.devices.ssd import service
from model.events.calendar import set_time
from model.events.clock import TICK_NS
from model.events.queues import NOBODY
from model.jit import kernel, part
from model.simulations.dedup_writes import columns as at
from model.simulations.dedup_writes.state import BLOCK_BYTES, N_DRAWN
from model.structures.sentinels import NIL, NOWHERE
from model.zfs.arc import columns as header
from model.zfs.arc.arc import access, new_block, revive, touch
from model.zfs.arc.l2arc import l2_holds
from model.zfs.arc.lists import ANONYMOUS, L2_CACHEABLE, MFU, release
from model.zfs.vdev.leaves import read_block, start_disk, to_queue, write_block
from model.zfs.vdev.places import LEAF_SHIFT

ALIQUOT_BYTES = 2**19  # to one disk before the next: metaslab_aliquot


@kernel
def draw(m):
    """The next of the uniform numbers, 0 to 1, that were drawn before the run; they come round again."""
    m.group[at.DRAWN] += 1
    return m.uniform[m.group[at.DRAWN] % N_DRAWN]


@kernel
def send(m, leaves, now, io):
    """`io` goes to the queue of its leaf, whose disk starts if it is idle."""
    leaf = to_queue(leaves, now, io)
    if leaf >= 0:
        set_time(m.calendar, leaf, start_disk(leaves, now, leaf))


@kernel
def next_place(m, n_bytes):
    """Where disks are being written to: the place that a block gets."""
    group, leaf = m.group, m.group[at.CURSOR_LEAF]
    place = leaf << LEAF_SHIFT | m.cursor[leaf]
    m.cursor[leaf] += n_bytes
    group[at.ON_LEAF] += n_bytes
    if group[at.ON_LEAF] >= ALIQUOT_BYTES:
        group[at.CURSOR_LEAF], group[at.ON_LEAF] = (leaf + 1) % m.settings.n_leaves, 0
    return place


@kernel
def write_next(m, leaves, now, n_bytes):
    """A block of the group is written: its place."""
    place = next_place(m, n_bytes)
    write_block(leaves, now, place, n_bytes)
    leaves.n_out[0] = 0
    m.group[at.N_PENDING] += 1
    m.tally[at.IO_WRITES] += 1
    send(m, leaves, now, leaves.outbox[0])
    return place


@kernel
def is_of_table(m, block):
    """Whether `block` is of the dedup table, indirect blocks included; else it is of the file."""
    return block < m.levels[len(m.levels) - 1]


@part
def _take_buffer(m, block, node, tick):
    is_table = is_of_table(m, block)
    marks = L2_CACHEABLE if is_table else 0
    if node == NIL:
        new_block(m.arc, m.settings.arc, block, int(is_table), BLOCK_BYTES if is_table else m.settings.block_bytes, marks,
                  tick)
    else:
        revive(m.arc, m.settings.arc, node, marks, tick)


@part
def _begin_reading(m, leaves, now, block, node, thread):
    device, address = NOWHERE, NOWHERE
    is_table = is_of_table(m, block)
    if m.settings.l2_bytes:
        device, address = l2_holds(m.l2, m.l2_params, m.arc, block, 0)
    _take_buffer(m, block, node, now // TICK_NS)
    if device != NOWHERE:
        m.tally[at.L2_READS] += 1
        done = service(m.ssd, m.ssds, 0, now, address, BLOCK_BYTES, 0)
        set_time(m.calendar, m.settings.n_leaves + thread, done)
        return
    m.tally[at.DISK_READS if is_table else at.FILE_READS] += 1
    n_bytes = m.settings.leaf_disk_bytes if is_table else m.settings.block_bytes
    _, io = read_block(leaves, now, m.place[block], n_bytes, 0, thread)
    send(m, leaves, now, io)


@part
def request(m, leaves, now, block, thread):
    """Whether a block is in core; if not, the thread waits for it."""
    node = int(m.arc.node_of[block])
    is_read = m.reader[block] != NOBODY
    if not is_read and node != NIL and m.arc.nodes[node, header.STATE] <= MFU:
        m.tally[at.HITS if is_of_table(m, block) else at.FILE_HITS] += 1
        if m.arc.nodes[node, header.HOLDS] == 0:
            touch(m.arc, m.settings.arc, node, now // TICK_NS)
        return True
    m.threads[thread, at.WAITS_FOR] = block
    m.joined[thread] = m.reader[block]
    m.reader[block] = thread
    if not is_read:
        _begin_reading(m, leaves, now, block, node, thread)
    return False


@part
def came(m, now, block):
    """A block is in core: all who waited for it go on."""
    node, thread = int(m.arc.node_of[block]), int(m.reader[block])
    if m.arc.nodes[node, header.STATE] == ANONYMOUS:
        access(m.arc, m.settings.arc, node, now // TICK_NS)
    release(m.arc, node)
    m.reader[block] = NOBODY
    while thread != NOBODY:
        m.threads[thread, at.WAITS_FOR] = NOBODY
        set_time(m.calendar, m.settings.n_leaves + thread, now)
        thread = m.joined[thread]
