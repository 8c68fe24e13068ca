"""What a ZFS under a database wants written or flushed when an event is over, as I/Os for the children of vdevs.

    BLOCK         of a transaction group or of an intent log, at a place   parity and padding of RAID-Z with it
    VDEV_FLUSH    of all devices of a vdev                                 commands, which no vdev queue sees
    LABEL         a piece of a label, on one device

Padding goes to the vdev queue as I/Os that need not be written (`model.zfs.vdev.queue_aggregation`, rule 6), and is waited
for like all else.
"""

from model.devices.command_queue import FLUSH
from model.filesystems.zfs import columns as fs
from model.filesystems.zfs.state import vdev_of
from model.jit import kernel, part
from model.structures.sentinels import NIL
from model.zfs.dmu import columns as dirtied
from model.zfs.vdev import child_columns as piece
from model.zfs.vdev.leaves import FOR_TXG, leaf_io
from model.zfs.vdev.places import FRONT_BYTES, LEAF_SHIFT, OFFSET_MASK
from model.zfs.vdev.queue import READ, WRITE
from model.zfs.vdev.queue_aggregation import NODATA, OPTIONAL
from model.zfs.vdev.raid import write_ios

BLOCK, VDEV_FLUSH, LABEL = range(3)  # values of column KIND_WANTED of Zfs.wanted


@kernel
def want(wanted, n_wanted, kind, where, n_bytes, owner, priority, entry):
    """An I/O or a flush is wanted, and made when the event is over."""
    i = n_wanted[0]
    wanted[i, fs.KIND_WANTED], wanted[i, fs.WHERE], wanted[i, fs.LENGTH] = kind, where, n_bytes
    wanted[i, fs.OWNER], wanted[i, fs.PRIORITY], wanted[i, fs.ENTRY] = owner, priority, entry
    n_wanted[0] += 1


@kernel
def to_outbox(outbox, n_out, io):
    """An I/O; or, negative, a unit."""
    outbox[n_out[0]] = io
    n_out[0] += 1


@kernel
def _list_children(children, vdevs, padding, kind, where, n_bytes):
    """What is wanted, as I/Os of leaves in the table: how many."""
    if kind == BLOCK:
        vdev = vdev_of(vdevs, where >> LEAF_SHIFT)
        return write_ios(vdev, (where & OFFSET_MASK) - FRONT_BYTES, n_bytes, padding, children)
    n = vdevs[where, fs.N_CHILDREN] if kind == VDEV_FLUSH else 1
    for i in range(n):
        children[i, piece.CHILD], children[i, piece.BYTES], children[i, piece.IS_PADDING] = i, n_bytes, 0
        children[i, piece.OFFSET] = FLUSH - FRONT_BYTES if kind == VDEV_FLUSH else (where & OFFSET_MASK) - FRONT_BYTES
    return n


@kernel
def _first_leaf(vdevs, kind, where):
    if kind == LABEL:
        return where >> LEAF_SHIFT
    return vdevs[where if kind == VDEV_FLUSH else where >> LEAF_SHIFT, fs.FIRST_LEAF]


@part
def _make_ios_of(m, now, i):
    """Row `i` of what is wanted."""
    wanted, leaves = m.wanted, m.leaves
    kind, owner, children = wanted[i, fs.KIND_WANTED], wanted[i, fs.OWNER], leaves.children
    n = _list_children(children, m.places.vdevs, m.raidz.padding, kind, wanted[i, fs.WHERE], wanted[i, fs.LENGTH])
    first = _first_leaf(m.places.vdevs, kind, wanted[i, fs.WHERE])
    for child in range(n):
        io = leaf_io(leaves, first + children[child, piece.CHILD], READ if kind == VDEV_FLUSH else WRITE,
                     children[child, piece.OFFSET] + FRONT_BYTES, children[child, piece.BYTES], now, wanted[i, fs.PRIORITY],
                     owner if owner == FOR_TXG else owner << leaves.waiter_shift)
        m.entry_of[io] = wanted[i, fs.ENTRY]
        if children[child, piece.IS_PADDING]:
            leaves.queue.marks[io] = OPTIONAL | NODATA
        if kind == VDEV_FLUSH:
            leaves.queue.next_member[io], leaves.queue.unit_bytes[io] = NIL, 0
        to_outbox(leaves.outbox, leaves.n_out, -io if kind == VDEV_FLUSH else io)
    m.sync[fs.IN_FLIGHT] += n
    if owner == FOR_TXG:
        m.txgs.n_pending[0] += n
        m.txgs.entries[wanted[i, fs.ENTRY], dirtied.WRITING] += n
    else:
        leaves.n_awaited[owner] += n


@part
def make_ios(m, now):
    """Of all that this event wanted; they go to the outbox."""
    for i in range(m.n_wanted[0]):
        _make_ios_of(m, now, i)
    m.n_wanted[0] = 0
