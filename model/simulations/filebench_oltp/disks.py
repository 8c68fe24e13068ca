"""The OLTP run's disks: who is told, and what becomes of a block, when a disk has served a unit."""

from model.devices import drive_columns as queued
from model.events.calendar import set_time
from model.events.queues import NOBODY
from model.jit import part
from model.simulations.filebench_oltp import columns as oltp
from model.simulations.filebench_oltp.cpu_prefetch import unit_ends
from model.simulations.filebench_oltp.processors import kernel_work
from model.simulations.filebench_oltp.tasks import block_came
from model.structures.sentinels import NIL
from model.zfs.dmu.dbuf import copy_written
from model.zfs.vdev.leaves import FOR_TXG, answered, disk_done, has_come, release_io


@part
def _txg_write_done(m, now, io):
    """An I/O of a block of the syncing group is done. The last one of all wakes the sync thread."""
    entry = int(m.entry_of[io])
    copy_written(m, now, entry, 1)
    m.txgs.n_pending[0] -= 1
    if m.txgs.n_pending[0] == 0 and m.txgs.cursor[0] == NIL:
        set_time(m.calendar, m.sources.sync, now)


@part
def _interrupt(m, now, is_write):
    """A processor completes what a disk has served. Nobody waits for that: what the I/Os were for goes on at once."""
    m.tally.counts[oltp.WRITE_INTERRUPTS if is_write else oltp.READ_INTERRUPTS] += 1
    kernel_work(m, now, m.settings.write_done_ns if is_write else m.settings.read_done_ns)


@part
def disk_event(m, leaves, now, leaf):
    """A disk has served a unit: tell whoever waited. Returns `leaf` if there is more for it to do, else -1."""
    unit_ends(m, leaves, leaves.drives.commands[leaf, 0])
    io = disk_done(leaves, now, leaf)
    _interrupt(m, now, leaves.owner[io] == FOR_TXG)
    while io != NIL:
        m.tally.counts[oltp.IOS_DONE] += 1
        if leaves.owner[io] == FOR_TXG:
            _txg_write_done(m, now, io)
        waiter = answered(leaves, now, leaf, io)
        while waiter != NOBODY:
            following = leaves.joined_before[waiter]
            task = has_come(leaves, waiter)
            if task != NOBODY:
                block_came(m, now, task)
            waiter = following
        io = release_io(leaves, io)
    return leaf if leaves.drives.units[leaf, queued.N_COMMANDS] > 0 else -1
