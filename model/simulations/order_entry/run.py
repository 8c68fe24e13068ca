"""An order-entry database on an appliance, event by event: users, buffers, redo log, database writers, intent logs,
transaction groups, metaslabs, vdev queues, disks.

    users (model.simulations.order_entry.users) --- reads ------------------------------------------------> vdev queues,
    disks
      |  commit: redo to the log device                                                              ^
      |  changed blocks                                                                              |
    database writers -> intent logs (model.simulations.order_entry.writers) -> metaslabs: a place, now -> writes |
                                                                                                     |
    transaction groups (model.simulations.order_entry.txgs) ---- indirect blocks, redo records, a place each ----'

Nothing in here knows how long an I/O takes or how large it becomes. Places come from the allocator. I/Os side by side are
joined by the vdev queue while they wait in it. What that is worth comes out of the disks. How many transactions there are in
a second is what a closed loop of users makes of all this.

Sources of events, in the order in which equal times are served: the disks, the sync thread, the timer of the transaction
groups. Then the intent logs, the log writer, the database writers, the users.

Left out: the memory of the appliance as a cache of blocks. A share of the reads is answered from it; indirect blocks, 11 GB
above 350 GB of records, stay in it. Left out, too: reads of the redo logs, the database's own checkpoints and sorting of its
batches.
"""

from model.devices import drive_columns as queued
from model.events.calendar import NEVER, next_source, set_time
from model.events.queues import NOBODY
from model.jit import kernel, part
from model.simulations.order_entry import columns as order
from model.simulations.order_entry.placement import put_wanted
from model.simulations.order_entry.state import DONE, OUT_OF_SPACE
from model.simulations.order_entry.txgs import age, sync_event, sync_task, timer_event
from model.simulations.order_entry.users import become, block_read, user_event
from model.simulations.order_entry.writers import is_written, log_event, share_event, wake_writers, writer_event
from model.structures.sentinels import NIL
from model.zfs.metaslab.sync import sync_txg
from model.zfs.vdev.leaves import answered, disk_done, has_come, release_io, start_disk, to_queue
from model.zfs.vdev.queue import READ

# ---- disks ----


@part
def _send(m, leaves, now, leaf):
    """Hand the I/Os in the outbox to their queues, and start disks that have something to do and do not. (If there is a
    `leaf` with more to do, the outbox is empty.)"""
    sent, n = 0, leaves.n_out[0]
    while sent < n or leaf >= 0:
        if sent < n:
            m.arrived[leaves.outbox[sent]] = now
            leaf = to_queue(leaves, now, leaves.outbox[sent])
            sent += 1
        if leaf >= 0:
            set_time(m.calendar, leaf, start_disk(leaves, now, leaf))
        leaf = -1
    leaves.n_out[0] = 0


@part
def _count_unit(m, leaves, unit):
    is_read = leaves.queue.kind[unit] == READ
    m.tally[order.UNITS_READ if is_read else order.UNITS_WRITTEN] += 1
    m.tally[order.UNITS_READ_BYTES if is_read else order.UNITS_WRITTEN_BYTES] += leaves.queue.unit_bytes[unit]


@part
def _count_io(m, leaves, now, io):
    is_read = leaves.queue.kind[io] == READ
    m.tally[order.IOS_READ if is_read else order.IOS_WRITTEN] += 1
    m.tally[order.IOS_READ_NS if is_read else order.IOS_WRITTEN_NS] += now - m.arrived[io]


@part
def _answer(m, leaves, now, task):
    """All I/Os that `task` waited for are done."""
    n_users = m.orders.n_users
    if task < n_users:
        block_read(m, now, task)
    elif task == sync_task(m):
        set_time(m.calendar, m.sources.sync, min(m.calendar.time[m.sources.sync], now))
    else:
        is_written(m, leaves, now, task - n_users)


@part
def _disk_event(m, leaves, now, leaf):
    """A disk has served a unit: tell whoever waited. Returns `leaf` if there is more for it to do, else -1."""
    io, of_commit = disk_done(leaves, now, leaf), 0
    _count_unit(m, leaves, io)
    while io != NIL:
        _count_io(m, leaves, now, io)
        waiter = answered(leaves, now, leaf, io)
        task = waiter >> leaves.waiter_shift
        of_commit |= m.orders.n_users <= task < m.orders.n_users + m.orders.n_shares
        if has_come(leaves, waiter) != NOBODY:
            _answer(m, leaves, now, task)
        io = release_io(leaves, io)
    m.tally[order.UNITS_COMMITTED] += of_commit
    return leaf if leaves.drives.units[leaf, queued.N_COMMANDS] > 0 else -1


# ---- the loop ----


@part
def _event(m, leaves, source, now):
    """The event of `source`. Returns the leaf whose disk has more to do, or -1."""
    sources = m.sources
    if source < sources.sync:
        return _disk_event(m, leaves, now, source)
    if source == sources.sync:
        sync_event(m, leaves, now)
    elif source == sources.timer:
        timer_event(m, now)
    elif source < sources.log_writer:
        share_event(m, now, source - sources.shares)
    elif source == sources.log_writer:
        log_event(m, now)
    elif source < sources.users:
        writer_event(m, now, source - sources.writers)
    else:
        user_event(m, leaves, now, source - sources.users)
    wake_writers(m, now)
    return -1


@kernel
def run(m, leaves, space, now, until, ageing, ages):
    """The events from `now` until `until`; or, if `ages`, an ageing at `now`. Returns how it ended."""
    calendar, leaf = m.calendar, -1
    while True:
        if ages:
            if not age(m, ageing, now):
                return DONE
        else:
            source = next_source(calendar)
            if calendar.time[source] >= until:
                return DONE
            now = calendar.time[source]
            set_time(calendar, source, NEVER)
            leaf = _event(m, leaves, source, now)
        if not put_wanted(m, leaves, space, now, not ages):
            return OUT_OF_SPACE
        if m.txg[order.ENDED]:
            if sync_txg(space, m.txg[order.ENDED]) != 0:
                return OUT_OF_SPACE
            m.txg[order.ENDED] = 0
        _send(m, leaves, now, leaf)


@kernel
def count_until(m, now):
    """What users are doing is counted up to `now`."""
    for user in range(m.orders.n_users):
        become(m, now, user, m.users[user, order.DOING])
