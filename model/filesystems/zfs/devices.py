"""The devices of a ZFS under a database: disks and devices without an arm, behind vdev cache and vdev queue
(`model.zfs.vdev.leaves`), and flushes.

    wanted: a block to be written   --> I/Os --> vdev queue --> unit --.
            a piece of a label                                         +--> disk: its driver, its own queue; one at a time
            a flush of a vdev       --> commands ----------------------'    device without an arm: `depth` at a time

What an event wants is done when it is over (`issue_all`). I/Os for the children of the vdev go to their queues, and disks
begin that have something to do. A device without an arm says at once when a unit will be done (`model.devices.ssd`). So each
unit that it has under way has an event of its own: a *slot*; what it does not take waits. A flush of a disk is a command
that nothing passes (`model.devices.command_queue`).

What waits for I/Os is a task (`model.zfs.vdev.leaves`): see `model.filesystems.zfs.tasks`. I/Os of the
transaction group, its flushes among them, are counted in `txgs.n_pending`.
"""

from model.devices import drive_columns as queued
from model.devices.command_queue import FLUSH, finish, pause, send
from model.devices.ssd import SsdParams, service
from model.devices.ssd import flush as flush_ssd
from model.events import ring
from model.events.calendar import set_time
from model.events.queues import NOBODY
from model.filesystems.zfs import columns as fs
from model.filesystems.zfs import stats as stat
from model.filesystems.zfs.state import N_SLOTS, SPARE_IOS, count, count_device, vdev_of, wake_waiting
from model.filesystems.zfs.vdev_writes import make_ios, to_outbox
from model.jit import kernel, part
from model.structures.sentinels import NIL
from model.zfs.arc.primarycache import is_kept
from model.zfs.dmu import columns as dirtied
from model.zfs.dmu.dbuf import copy_written
from model.zfs.dmu.dirty import WRITTEN
from model.zfs.dmu.layout import file_of, indirect_bytes
from model.zfs.txg import columns as throttled
from model.zfs.txg.throttle import DIRTY_DATA, dirty_bytes, note_clean
from model.zfs.vdev import child_columns as piece
from model.zfs.vdev.leaves import FOR_TXG, answered, bring_up_to_date, has_come, read_leaf, release_io, start_disk
from model.zfs.vdev.places import FRONT_BYTES, LEAF_SHIFT, OFFSET_MASK
from model.zfs.vdev.queue import WRITE, arrive, complete, take_dropped
from model.zfs.vdev.queue_classes import N_CLASSES, arrive_in_class, async_writes, complete_in_class
from model.zfs.vdev.raid import read_ios

_OF_SSD = SsdParams(*range(len(SsdParams._fields)))  # columns of Ssds.params: one for each field

# ---- reads ----


@part
def read_block(m, now, place, n_bytes, is_metadata, task, priority):
    """`task` wants the block at `place`: whether it has it at once."""
    leaves, vdev = m.leaves, place >> LEAF_SHIFT
    n = read_ios(vdev_of(m.places.vdevs, vdev), (place & OFFSET_MASK) - FRONT_BYTES, n_bytes, leaves.children)
    leaves.n_awaited[task] = 0
    for i in range(n):
        leaf = m.places.vdevs[vdev, fs.FIRST_LEAF] + leaves.children[i, piece.CHILD]
        there, io = read_leaf(leaves, now, leaf, leaves.children[i, piece.OFFSET] + FRONT_BYTES,
                              leaves.children[i, piece.BYTES], is_metadata, task << leaves.waiter_shift | i, priority)
        if io != NIL:
            m.sync[fs.IN_FLIGHT] += 1
            to_outbox(leaves.outbox, leaves.n_out, io)
        if not there:
            leaves.n_awaited[task] += 1
    return leaves.n_awaited[task] == 0


@kernel
def ios_left(queue, sync):
    """How many more there may be."""
    return queue.n_ios - sync[fs.IN_FLIGHT]


# ---- an I/O is done ----


@part
def is_clean(m, block):
    """A block of the group is on disk, or was, as the intent log had written it."""
    is_record = block < m.files.n_records
    n_bytes = m.files.record_bytes[file_of(m.files.first, block)] if is_record else indirect_bytes(m.files)
    if note_clean(m.throttle, m.txgs.syncing[0], n_bytes):
        wake_waiting(m)


@part
def _txg_io_done(m, now, io):
    """The last one of all wakes the sync thread."""
    entry = m.entry_of[io]
    if entry != NIL:
        copy_written(m, now, entry, is_kept(m.s.primarycache, 0))
        if m.txg_params.rule == DIRTY_DATA and m.txgs.entries[entry, dirtied.WRITING] == WRITTEN:
            is_clean(m, m.txgs.entries[entry, dirtied.BLOCK])
    m.txgs.n_pending[0] -= 1
    if m.txgs.n_pending[0] == 0 and m.txgs.cursor[0] == NIL:
        set_time(m.calendar, m.sources.sync, now)


@part
def _tell(m, waiter):
    """The tasks that joined the same line of the vdev cache are told with the first one."""
    leaves = m.leaves
    while waiter != NOBODY:
        following = leaves.joined_before[waiter]
        task = has_come(leaves, waiter)
        if task != NOBODY:
            ring.put(m.ready, m.n_ready, task)
        waiter = following


@part
def _io_done(m, now, leaf, io):
    """Tell whoever waited for an I/O, and give it back: the next member of its unit, or NIL."""
    count(m.tally, stat.IOS_DONE, int(m.leaves.queue.offset[io] != FLUSH), now)
    if m.leaves.owner[io] == FOR_TXG:
        _txg_io_done(m, now, io)
    _tell(m, answered(m.leaves, now, leaf, io))
    m.sync[fs.IN_FLIGHT] -= 1
    return release_io(m.leaves, io)


@part
def _let_go(m, now, leaf):
    """Padding that was left alone is done with, unwritten."""
    io = take_dropped(m.leaves.queue, leaf * N_CLASSES if m.class_params.exist else leaf)
    while io != NIL:
        io = _io_done(m, now, leaf, io)


# ---- to the devices ----


@kernel
def _ssd(params, i):
    return SsdParams(
        disk_bytes=params[i, _OF_SSD.disk_bytes], read_ns=params[i, _OF_SSD.read_ns],
        write_ns=params[i, _OF_SSD.write_ns], read_iops=params[i, _OF_SSD.read_iops],
        write_iops=params[i, _OF_SSD.write_iops], read_rate=params[i, _OF_SSD.read_rate],
        write_rate=params[i, _OF_SSD.write_rate], bus_rate=params[i, _OF_SSD.bus_rate],
        channels=params[i, _OF_SSD.channels], depth=params[i, _OF_SSD.depth],
        buffer_bytes=params[i, _OF_SSD.buffer_bytes], is_volatile=params[i, _OF_SSD.is_volatile],
        flush_ns=params[i, _OF_SSD.flush_ns], random_rate=params[i, _OF_SSD.random_rate])


@kernel
def _take_slot(units, i, unit):
    slot = 0
    while units[i, slot] != NIL:
        slot += 1
    units[i, slot] = unit
    return slot


@kernel
def _ssd_done(ssds, queue, i, now, unit):
    """When a device without an arm will have done a unit that it takes now."""
    ssd = _ssd(ssds.params, i)
    if queue.offset[unit] == FLUSH:
        return flush_ssd(ssd, ssds.state, i, now)
    return service(ssd, ssds.state, i, now, queue.offset[unit], int(queue.unit_bytes[unit]), queue.kind[unit] == WRITE)


@part
def _start_ssd(m, now, leaf, unit):
    """Device without an arm: it takes the unit, or the unit waits for its turn."""
    units, i = m.leaves.drives.units, m.ssds.number[leaf]
    if units[leaf, queued.N_COMMANDS] >= min(_ssd(m.ssds.params, i).depth, N_SLOTS):
        m.leaves.drives.waiting[leaf, units[leaf, queued.N_WAITING]] = unit
        units[leaf, queued.N_WAITING] += 1
        return
    units[leaf, queued.N_COMMANDS] += 1
    done = _ssd_done(m.ssds, m.leaves.queue, i, now, unit)
    set_time(m.calendar, m.sources.slots + i * N_SLOTS + _take_slot(m.ssds.units, i, unit), done)


@kernel
def _to_start(disks, leaf):
    n = len(disks) - 1
    disks[disks[n]] = leaf
    disks[n] += 1


@kernel
def queue_params(m, leaf):
    """Parameters of the vdev queue of `leaf`: those for SSDs, or those for disks."""
    return m.ssds.queue_params if m.ssds.number[leaf] >= 0 else m.leaves.queue_params


@part
def _async_writes(m):
    """How many a vdev may have under way."""
    return async_writes(m.class_params, dirty_bytes(m.throttle), m.throttle[throttled.LIMIT])


@part
def _arrive(m, now, leaf, io):
    """At the vdev queue: what it issues, or NIL."""
    queue, params = m.leaves.queue, queue_params(m, leaf)
    if m.class_params.exist:
        return arrive_in_class(queue, params, m.class_params, m.class_state, leaf, io, now, _async_writes(m))
    return arrive(queue, params, leaf, io, now)


@part
def _complete(m, now, leaf, unit):
    """The vdev queue hears of a unit: how many it issues."""
    queue, params, issued = m.leaves.queue, queue_params(m, leaf), m.leaves.issued
    if m.class_params.exist:
        return complete_in_class(queue, params, m.class_params, m.class_state, leaf, unit, issued, _async_writes(m))
    return complete(queue, params, leaf, issued, now)


@part
def _send_one(m, now, outgoing):
    """An I/O goes to the vdev queue of its leaf, and what that issues, or a unit, to the device."""
    leaves, io = m.leaves, abs(outgoing)
    leaf, unit = int(leaves.leaf_of[io]), io
    if outgoing > 0:
        count(m.tally, stat.IOS, 1, now)
        unit = _arrive(m, now, leaf, io)
        _let_go(m, now, leaf)
    if unit != NIL and m.ssds.number[leaf] >= 0:
        _start_ssd(m, now, leaf, unit)
    elif unit != NIL and send(leaves.disk, leaves.drives, leaf, now, unit, leaves.queue.offset):
        _to_start(m.to_start, leaf)


@part
def issue_all(m, now):
    """All that this event wanted and issued goes on its way, and disks begin that have something to do and do not."""
    make_ios(m, now)
    for i in range(m.leaves.n_out[0]):
        _send_one(m, now, m.leaves.outbox[i])
    m.leaves.n_out[0] = 0
    last = len(m.to_start) - 1
    for i in range(m.to_start[last]):
        set_time(m.calendar, m.to_start[i], start_disk(m.leaves, now, m.to_start[i]))
    m.to_start[last] = 0


# ---- from the devices ----


@part
def disk_is_done(m, now, leaf):
    """The unit that a disk has served. If it has more to do it begins."""
    unit = finish(m.leaves.drives, leaf)
    if m.leaves.drives.units[leaf, queued.N_COMMANDS] > 0:
        _to_start(m.to_start, leaf)
    else:
        pause(m.leaves.drives, leaf, now)
    return unit


@part
def slot_is_done(m, source):
    """The unit that a device without an arm has served, and next the one that has waited for this longest."""
    i, slot = (source - m.sources.slots) // N_SLOTS, (source - m.sources.slots) % N_SLOTS
    unit, leaf, drives = m.ssds.units[i, slot], m.ssds.leaf[i], m.leaves.drives
    m.ssds.units[i, slot] = NIL
    drives.units[leaf, queued.N_COMMANDS] -= 1
    drives.units[leaf, queued.N_SERVED] += 1
    if drives.units[leaf, queued.N_WAITING] > 0:
        to_outbox(m.leaves.outbox, m.leaves.n_out, -drives.waiting[leaf, 0])
        drives.units[leaf, queued.N_WAITING] -= 1
        for place in range(drives.units[leaf, queued.N_WAITING]):
            drives.waiting[leaf, place] = drives.waiting[leaf, place + 1]
    return unit


@part
def _issue_next(m, now, leaf, unit):
    """The vdev queue hears of a unit, and issues others."""
    leaves, queue = m.leaves, m.leaves.queue
    if queue.offset[unit] == FLUSH:
        count(m.tally, stat.DEVICE_FLUSHES, 1, now)
        return
    count_device(m.tally, m.group_of_leaf[leaf], queue.kind[unit], queue.unit_bytes[unit], now)
    for i in range(_complete(m, now, leaf, unit)):
        to_outbox(leaves.outbox, leaves.n_out, -leaves.issued[i])
    _let_go(m, now, leaf)
    bring_up_to_date(leaves, now, leaf, unit)


@part
def unit_done(m, now, unit):
    """A device has served a unit: tell whoever waited. Tasks that have all they need are ready."""
    leaves, io = m.leaves, unit
    leaf = int(leaves.leaf_of[unit])
    _issue_next(m, now, leaf, unit)
    while io != NIL:
        io = _io_done(m, now, leaf, io)
    if m.sync[fs.IS_STALLED] and ios_left(leaves.queue, m.sync) > SPARE_IOS:
        m.sync[fs.IS_STALLED] = 0
        set_time(m.calendar, m.sources.sync, now)
