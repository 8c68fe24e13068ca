"""The devices of a ZFS under a database: disks behind vdev cache and vdev queue (`model.pool`), devices without an arm
behind the same two, and flushes.

    outbox: an I/O            --> vdev queue --> unit --.
            a unit, issued by a completion -------------+--> disk: its driver, its own queue; served one at a time
            a flush, which no vdev queue sees ----------'    device without an arm: `depth` at a time, the others wait

A device without an arm says at once when a unit will be done (`model.ssd`), so each unit that it has under way has an event
of its own: a *slot*. A flush of a disk is a command that nothing passes (`model.drive_queue`).

Whoever waits for I/Os is a task (`model.pool`): process p of the database is task p, rows of the intent logs follow. I/Os of
the transaction group, its flushes among them, are counted in `txgs.n_pending`.
"""

from model.calendar import set_time
from model.dbuf import copy_written
from model.drive_queue import FLUSH, N_COMMANDS, N_SERVED, N_WAITING, finish, pause, send
from model.jit import kernel, part
from model.layout import FRONT_BYTES, LEAF_SHIFT, OFFSET_MASK
from model.pool import FOR_TXG, NOBODY, answered, bring_up_to_date, has_come, leaf_io, read_leaf, release_io, start_disk
from model.ssd import SsdParams, service
from model.ssd import flush as flush_ssd
from model.vdev_map import BYTES, CHILD, OFFSET, read_ios, write_ios
from model.vdev_queue import NONE, READ, WRITE, arrive, complete
from model.zfs_files_machine import (
    DEVICE_FLUSHES,
    FIRST_LEAF,
    IN_FLIGHT,
    IOS,
    IOS_DONE,
    IS_STALLED,
    N_CHILDREN,
    N_SLOTS,
    SPARE_IOS,
    count,
    count_device,
    make_ready,
    vdev_of,
)

# ---- blocks ----


@kernel
def _to_outbox(m, what):
    """An I/O; or, negative, a unit."""
    m.leaves.outbox[m.leaves.n_out[0]] = what
    m.leaves.n_out[0] += 1


@kernel
def read_block(m, now, place, n_bytes, is_metadata, task):
    """`task` wants the block at `place`: whether it has it at once."""
    leaves, vdev = m.leaves, place >> LEAF_SHIFT
    n = read_ios(vdev_of(m, vdev), (place & OFFSET_MASK) - FRONT_BYTES, n_bytes, leaves.children)
    leaves.n_awaited[task] = 0
    for i in range(n):
        leaf, offset = m.vdevs[vdev, FIRST_LEAF] + leaves.children[i, CHILD], leaves.children[i, OFFSET] + FRONT_BYTES
        there, io = read_leaf(leaves, now, leaf, offset, leaves.children[i, BYTES], is_metadata,
                              task << leaves.waiter_shift | i, leaves.queue_params.sync_read_priority)
        if io != NONE:
            m.sync[IN_FLIGHT] += 1
            _to_outbox(m, io)
        if not there:
            leaves.n_awaited[task] += 1
    return leaves.n_awaited[task] == 0


@kernel
def write_block(m, now, place, n_bytes, owner, priority, entry):
    """The block at `place` is written: by how many I/Os. `entry`: of the transaction group, or NONE."""
    leaves, vdev = m.leaves, place >> LEAF_SHIFT
    n = write_ios(vdev_of(m, vdev), (place & OFFSET_MASK) - FRONT_BYTES, n_bytes, 0, leaves.children)
    for i in range(n):
        leaf, offset = m.vdevs[vdev, FIRST_LEAF] + leaves.children[i, CHILD], leaves.children[i, OFFSET] + FRONT_BYTES
        io = leaf_io(leaves, leaf, WRITE, offset, leaves.children[i, BYTES], now, priority, owner)
        m.entry_of[io] = entry
        m.sync[IN_FLIGHT] += 1
        _to_outbox(m, io)
    return n


@kernel
def write_leaf(m, now, leaf, offset, n_bytes):
    """Of a transaction group: a piece of a label."""
    io = leaf_io(m.leaves, leaf, WRITE, offset, n_bytes, now, m.leaves.queue_params.sync_write_priority, FOR_TXG)
    m.entry_of[io] = NONE
    m.sync[IN_FLIGHT] += 1
    _to_outbox(m, io)


@kernel
def flush_vdev(m, now, vdev, owner):
    """The caches of all devices of a vdev are flushed: by how many commands."""
    leaves, n = m.leaves, m.vdevs[vdev, N_CHILDREN]
    for child in range(n):
        io = leaf_io(leaves, m.vdevs[vdev, FIRST_LEAF] + child, READ, FLUSH, 0, now, 0, owner)
        leaves.queue.next_member[io], leaves.queue.unit_bytes[io], m.entry_of[io] = NONE, 0, NONE
        m.sync[IN_FLIGHT] += 1
        _to_outbox(m, -io)
    return n


@kernel
def ios_left(m):
    """How many more there may be."""
    return m.leaves.queue.n_ios - m.sync[IN_FLIGHT]


# ---- to the devices ----


@kernel
def _ssd(params, i):
    return SsdParams(params[i, 0], params[i, 1], params[i, 2], params[i, 3], params[i, 4], params[i, 5], params[i, 6],
                     params[i, 7], params[i, 8], params[i, 9], params[i, 10], params[i, 11], params[i, 12])


@kernel
def _free_slot(m, i):
    slot = 0
    while m.ssds.units[i, slot] != NONE:
        slot += 1
    return slot


@part
def _start_ssd(m, now, leaf, unit):
    """Device without an arm: it takes the unit, or the unit waits for its turn."""
    queue, units, i = m.leaves.queue, m.leaves.drives.units, m.ssds.number[leaf]
    ssd = _ssd(m.ssds.params, i)
    if units[leaf, N_COMMANDS] >= min(ssd.depth, N_SLOTS):
        m.leaves.drives.waiting[leaf, units[leaf, N_WAITING]] = unit
        units[leaf, N_WAITING] += 1
        return
    units[leaf, N_COMMANDS] += 1
    if queue.offset[unit] == FLUSH:
        done = flush_ssd(ssd, m.ssds.state, i, now)
    else:
        done = service(ssd, m.ssds.state, i, now, queue.offset[unit], queue.unit_bytes[unit], queue.kind[unit] == WRITE)
    slot = _free_slot(m, i)
    m.ssds.units[i, slot] = unit
    set_time(m.calendar, m.sources.slots + i * N_SLOTS + slot, done)


@part
def _hand_over(m, now, leaf, unit):
    if m.ssds.number[leaf] >= 0:
        _start_ssd(m, now, leaf, unit)
    elif send(m.leaves.disk, m.leaves.drives, leaf, now, unit, m.leaves.queue.offset):
        to_start(m, leaf)


@kernel
def to_start(m, leaf):
    n = len(m.to_start) - 1
    m.to_start[m.to_start[n]] = leaf
    m.to_start[n] += 1


@part
def send_all(m, now):
    """What is in the outbox goes on its way, and disks begin that have something to do and do not."""
    leaves, n = m.leaves, m.leaves.n_out[0]
    for i in range(n):
        io = leaves.outbox[i]
        if io > 0:
            count(m, IOS, 1, now)
            unit, leaf = arrive(leaves.queue, leaves.queue_params, leaves.leaf_of[io], io, now), leaves.leaf_of[io]
        else:
            unit, leaf = -io, leaves.leaf_of[-io]
        if unit != NONE:
            _hand_over(m, now, leaf, unit)
    leaves.n_out[0] = 0
    last = len(m.to_start) - 1
    for i in range(m.to_start[last]):
        set_time(m.calendar, m.to_start[i], start_disk(leaves, now, m.to_start[i]))
    m.to_start[last] = 0


# ---- from the devices ----


@kernel
def disk_is_done(m, now, leaf):
    """The unit that a disk has served. If it has more to do it begins."""
    unit = finish(m.leaves.drives, leaf)
    if m.leaves.drives.units[leaf, N_COMMANDS] > 0:
        to_start(m, leaf)
    else:
        pause(m.leaves.drives, leaf, now)
    return unit


@kernel
def slot_is_done(m, source):
    """The unit that a device without an arm has served, and next the one that has waited for this longest."""
    i, slot = (source - m.sources.slots) // N_SLOTS, (source - m.sources.slots) % N_SLOTS
    unit, leaf, drives = m.ssds.units[i, slot], m.ssds.leaf[i], m.leaves.drives
    m.ssds.units[i, slot] = NONE
    drives.units[leaf, N_COMMANDS] -= 1
    drives.units[leaf, N_SERVED] += 1
    if drives.units[leaf, N_WAITING] > 0:
        _to_outbox(m, -drives.waiting[leaf, 0])
        drives.units[leaf, N_WAITING] -= 1
        for place in range(drives.units[leaf, N_WAITING]):
            drives.waiting[leaf, place] = drives.waiting[leaf, place + 1]
    return unit


@part
def _issue_next(m, now, leaf, unit):
    """The vdev queue hears of a unit, and issues others."""
    leaves, queue = m.leaves, m.leaves.queue
    if queue.offset[unit] == FLUSH:
        count(m, DEVICE_FLUSHES, 1, now)
        return
    count_device(m, leaf, queue.kind[unit], queue.unit_bytes[unit], now)
    for i in range(complete(queue, leaves.queue_params, leaf, leaves.issued, now)):
        _to_outbox(m, -leaves.issued[i])
    bring_up_to_date(leaves, now, leaf, unit)


@kernel
def _txg_io_done(m, now, io):
    """The last one of all wakes the sync thread."""
    if m.entry_of[io] != NONE:
        copy_written(m, now, m.entry_of[io], m.s.keeps_records)
    m.txgs.n_pending[0] -= 1
    if m.txgs.n_pending[0] == 0 and m.txgs.cursor[0] == NONE:
        set_time(m.calendar, m.sources.sync, now)


@part
def unit_done(m, now, unit):
    """A device has served a unit: tell whoever waited. Tasks that have all they need are ready."""
    leaves, io = m.leaves, unit
    leaf = leaves.leaf_of[unit]
    _issue_next(m, now, leaf, unit)
    while io != NONE:
        count(m, IOS_DONE, int(leaves.queue.offset[io] != FLUSH), now)
        if leaves.owner[io] == FOR_TXG:
            _txg_io_done(m, now, io)
        waiter = answered(leaves, now, leaf, io)
        while waiter != NOBODY:
            following = leaves.joined_before[waiter]
            task = has_come(leaves, waiter)
            if task != NOBODY:
                make_ready(m, task)
            waiter = following
        m.sync[IN_FLIGHT] -= 1
        io = release_io(leaves, io)
    if m.sync[IS_STALLED] and ios_left(m) > SPARE_IOS:
        m.sync[IS_STALLED] = 0
        set_time(m.calendar, m.sources.sync, now)
