"""The devices of a ZFS under a database as it begins: vdevs and leaves in the order of the groups, data, log, cache."""

import numpy as np

from model.devices.command_queue import new_drives
from model.devices.data_sheet import SheetParams, new_drive
from model.devices.ssd import SsdParams, SsdState, check_ssd, new_ssds
from model.events.streams import stream
from model.filesystems.zfs.state import N_SLOTS, Ssds
from model.zfs.vdev import child_columns as piece
from model.zfs.vdev import owner_columns as of_io
from model.zfs.vdev.leaves import new_leaves, new_recorder
from model.zfs.vdev.queue_classes import max_issued, new_class_queue
from model.zfs.vdev.raid import RAIDZ, max_ios


def _groups(pool):
    return [group for group in pool if group is not None]


def groups_of_leaves(pool):
    """(number of the group, Group) for every leaf."""
    return [(i, group) for i, group in enumerate(pool) if group is not None
            for _ in range(group.n_vdevs * group.vdev.n_children)]


def vdev_table(pool):
    """(the table, first vdev of each group and the end)."""
    rows, first, leaf = [], [], 0
    for number, group in enumerate(pool):
        first.append(len(rows))
        for _ in range(group.n_vdevs if group else 0):
            rows.append((*group.vdev, leaf, number, 0))
            leaf += group.vdev.n_children
    return np.array(rows, np.int64), np.array([*first, len(rows)], np.int64)


def _drive(pool, settings):
    """That of all disks of a pool."""
    sheets = {group.device for group in _groups(pool) if isinstance(group.device, SheetParams)}
    if len(sheets) > 1:
        raise ValueError(f"the disks of a pool are of {len(sheets)} data sheets, but only one can be simulated. Choose one, "
                         "or describe a log device as a device without an arm")
    return new_drive(sheets.pop() if sheets else SheetParams())._replace(is_volatile=int(settings.disk_cache_is_volatile))


def ssds_of(leaf_groups, queue_params):
    """State of all SSDs of the pool; `number` says which leaf is which of them, -1 for a disk."""
    devices = [(leaf, group.device) for leaf, (_, group) in enumerate(leaf_groups) if isinstance(group.device, SsdParams)]
    number = np.full(len(leaf_groups), -1)
    number[[leaf for leaf, _ in devices]] = np.arange(len(devices))
    params = np.array([check_ssd(device) for _, device in devices], np.int64).reshape(-1, len(SsdParams._fields))
    state = [new_ssds(device, 1) for _, device in devices]
    channels = np.zeros((len(devices), max([s.channels.shape[1] for s in state], default=1)), np.int64)
    units = np.concatenate([s.units for s in state]) if state else np.zeros((0, 5), np.int64)
    own = queue_params._replace(aggregation_bytes=queue_params.ssd_aggregation_bytes)
    return Ssds(queue_params=own, number=number, leaf=np.array([leaf for leaf, _ in devices], np.int64), params=params,
                state=SsdState(units, channels), units=np.zeros((len(devices), N_SLOTS), np.int64))


def _with_classes(leaves, build, n_leaves, n_ios):
    """The same with the vdev queues of OpenZFS."""
    queue = new_class_queue(build.queue, build.classes, n_leaves, n_ios)
    return leaves._replace(queue=queue, leaf_of=queue.own[:, of_io.LEAF], owner=queue.own[:, of_io.OWNER],
                           line_of=queue.own[:, of_io.LINE],
                           issued=np.zeros(max_issued(build.classes), np.int64))


def leaves_of(pool, build, settings, n_tasks, seed):
    """Vdev caches, vdev queues and disks of all leaves."""
    n, drive = len(groups_of_leaves(pool)), _drive(pool, settings)
    phase = (stream(seed, "spindles").random(n) * drive.disk.rev_ns).astype(np.int64)
    widest = max((group.vdev for group in _groups(pool)), key=lambda vdev: (vdev.kind == RAIDZ, vdev.n_children))
    leaves = new_leaves(n, build.cache, build.queue, drive, phase, settings.n_ios, n_tasks, new_recorder(), 0, widest)
    n_rows = max(max_ios(group.vdev) for group in _groups(pool))
    if build.classes.exist:
        leaves = _with_classes(leaves, build, n, settings.n_ios)
    return leaves._replace(drives=new_drives(drive, build.queue.max_pending + build.queue.min_pending + N_SLOTS,
                                             settings.n_ios + 1, phase),
                           children=np.zeros((n_rows, piece.N_COLUMNS), np.int64),
                           outbox=np.zeros(2 * settings.n_ios, np.int64))
