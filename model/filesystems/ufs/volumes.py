"""Volumes under UFS: stripes of Solaris Volume Manager over disks or arrays, and the driver of each.

    address on a volume  ->  interlace 0 on member 0, 1 on member 1, ... round robin  ->  an I/O of one member

 1. A request is cut at every end of an interlace, and each piece is an I/O of its own. Who asked waits for all of them.
 2. A disk is given up to `depth` commands (`model.devices.command_queue`). What is more waits in its driver, sorted as
    `disksort` does if `sorts`, else in order of arrival. There is nothing between: no queue of a vdev, no priorities, no
    joining of neighbours. Whatever clustering there is, the file system has done (`model.filesystems.ufs.state`).
 3. An array with a battery-backed cache (`model.devices.ssd`) takes up to `depth` I/Os at a time, the others wait in order.
 4. Nobody flushes a write cache. So disks should have none (`buffers_writes` 0), which is how disks of Fibre Channel come.

Where UFS does not limit what is under way (`ufs_WRITES` = 0), tens of thousands of writes may wait in a driver. The one-way
elevator of `model.devices.command_queue`, rule 3, is therefore kept here as two heaps, the run that is being served and the
next one. A test holds it to the list that it replaces. (A heap is made of `left` and `right` per I/O, a skew heap. To merge
two, walk down the right sides, smaller first, and swap the two sides of everything on the way.)

Sources: Solaris Volume Manager Administration Guide, "RAID-0 (Stripe) Volumes" (default interlace 512 KB in Solaris 10);
sd.c, sd_add_buf_to_waitq. Left out: contention on the loop that all disks share.
"""

from typing import NamedTuple

import numpy as np

from model.devices import drive_columns as queued
from model.devices.command_queue import READ, WRITE, Drive, Drives, finish, new_drives, pause, send, start
from model.devices.ssd import SsdParams, SsdState, check_ssd, new_ssds, service
from model.events.calendar import NEVER, Calendar, new_calendar, set_time
from model.events.clock import SECOND_NS
from model.filesystems.ufs import volume_columns as volume
from model.jit import kernel, part
from model.structures.sentinels import NONE

PAGE_BYTES = 8192  # of Solaris on SPARC, and a block of UFS


COUNTS = ("reads", "read_bytes", "writes", "write_bytes")  # of each stripe and second, when they are done: see volume.READS


class Volumes(NamedTuple):
    """Units are numbered: the disks, then the arrays."""

    n_disks: int
    drive: Drive
    drives: Drives
    arrays: tuple  # SsdParams of two kinds
    array_state: SsdState
    array_kind: np.ndarray  # per array: which of the two
    stripe: np.ndarray  # [stripe, column]; see volume.FIRST
    calendar: Calendar  # sources: a disk each; two of the file system; the places of arrays
    io: np.ndarray  # [I/O, column]; see volume.UNIT
    offset: np.ndarray  # per I/O, on its unit
    n_bytes: np.ndarray
    kind: np.ndarray
    free: np.ndarray  # numbers of I/Os that nobody uses
    n: np.ndarray  # see volume.N_FREE
    to_feed: np.ndarray  # units
    is_to_feed: np.ndarray  # per unit
    left: np.ndarray  # heaps, per I/O
    right: np.ndarray
    root: np.ndarray  # [unit, volume.RUN or volume.NEXT_RUN]: the first to be served, or NONE
    in_place: np.ndarray  # per place of an array: I/O
    places: np.ndarray  # [array, i]: places that nobody uses
    n_busy: np.ndarray  # per array: I/Os that it has
    per_second: np.ndarray  # [stripe, count, second]


# ---- the driver ----


@kernel
def _comes_first(v, a, b):
    """Whether I/O `a` stands before `b` in the list of their driver."""
    if v.drive.sorts and v.io[a, volume.UNIT] < v.n_disks and v.offset[a] != v.offset[b]:
        return v.offset[a] < v.offset[b]
    return v.io[a, volume.SEQUENCE] < v.io[b, volume.SEQUENCE]


@kernel
def _merge(v, a, b):
    """Two heaps become one: its root."""
    if a == NONE or b == NONE:
        return b if a == NONE else a
    if _comes_first(v, b, a):
        a, b = b, a
    root = a
    while True:
        rest = v.right[a]
        v.right[a] = v.left[a]
        if rest == NONE:
            v.left[a] = b
            return root
        if _comes_first(v, b, rest):
            rest, b = b, rest
        v.left[a] = rest
        a = rest


@kernel
def wait_in_driver(v, unit, io):
    """Rule 3 of `model.devices.command_queue`: behind the head of the list, or in the run after it."""
    v.left[io] = v.right[io] = NONE
    head = v.root[unit, volume.RUN]
    is_behind = head != NONE and v.drive.sorts != 0 and unit < v.n_disks and v.offset[io] < v.offset[head]
    run = volume.NEXT_RUN if is_behind else volume.RUN
    v.root[unit, run] = _merge(v, v.root[unit, run], io)


@kernel
def next_in_driver(v, unit):
    """The head of the list, which is taken, or NONE."""
    io = v.root[unit, volume.RUN]
    if io == NONE:
        return NONE
    v.root[unit, volume.RUN] = _merge(v, v.left[io], v.right[io])
    if v.root[unit, volume.RUN] == NONE:
        v.root[unit, volume.RUN], v.root[unit, volume.NEXT_RUN] = v.root[unit, volume.NEXT_RUN], NONE
    return io


# ---- units ----


@part
def _feed_array(v, now, unit):
    """Give an array what it has places for."""
    array = unit - v.n_disks
    ssd = v.arrays[v.array_kind[array]]
    while v.root[unit, volume.RUN] != NONE and v.n_busy[array] < ssd.depth:
        io, place = next_in_driver(v, unit), v.places[array, v.n_busy[array]]
        v.n_busy[array] += 1
        v.in_place[place] = io
        done = service(ssd, v.array_state, array, now, v.offset[io], v.n_bytes[io], v.kind[io] == WRITE)
        set_time(v.calendar, v.n_disks + 2 + place, done)


@part
def _feed_disk(v, now, unit):
    """Give a disk what it has room for, and let it begin if it does nothing."""
    while v.root[unit, volume.RUN] != NONE and v.drives.units[unit, queued.N_COMMANDS] < v.drive.depth:
        send(v.drive, v.drives, unit, now, next_in_driver(v, unit), v.offset)
    if v.drives.units[unit, queued.N_COMMANDS] == 0:
        pause(v.drives, unit, now)
    elif v.calendar.time[unit] == NEVER:
        set_time(v.calendar, unit, start(v.drive, v.drives, unit, now, v.offset, v.n_bytes, v.kind))


@part
def feed_units(v, now):
    """All units that have been given I/Os, or have done one."""
    for i in range(v.n[volume.N_TO_FEED]):
        unit = v.to_feed[i]
        v.is_to_feed[unit] = 0
        if unit < v.n_disks:
            _feed_disk(v, now, unit)
        else:
            _feed_array(v, now, unit)
    v.n[volume.N_TO_FEED] = 0


@kernel
def _must_feed(v, unit):
    if not v.is_to_feed[unit]:
        v.is_to_feed[unit] = 1
        v.to_feed[v.n[volume.N_TO_FEED]] = unit
        v.n[volume.N_TO_FEED] += 1


@part
def new_io(v, stripe, unit, offset, n_bytes, kind):
    """An I/O is with its driver: its number."""
    v.n[volume.N_FREE] -= 1
    io = v.free[v.n[volume.N_FREE]]
    v.offset[io], v.n_bytes[io], v.kind[io] = offset, n_bytes, kind
    v.io[io, volume.UNIT], v.io[io, volume.STRIPE], v.io[io, volume.SEQUENCE] = unit, stripe, v.n[volume.N_BEGUN]
    v.n[volume.N_BEGUN] += 1
    wait_in_driver(v, unit, io)
    _must_feed(v, unit)
    return io


@kernel
def member_of(v, stripe, address):
    """(unit, offset, B up to the end of the interlace) at an address of a volume."""
    interlace = v.stripe[stripe, volume.INTERLACE]
    row, within = address // interlace, address % interlace
    members = v.stripe[stripe, volume.MEMBERS]
    return v.stripe[stripe, volume.FIRST] + row % members, row // members * interlace + within, interlace - within


@part
def _array_done(v, place):
    io = v.in_place[place]
    array = v.io[io, volume.UNIT] - v.n_disks
    v.n_busy[array] -= 1
    v.places[array, v.n_busy[array]] = place
    return io


@part
def one_done(v, now, source):
    """The event of a disk, or of a place of an array: the I/O that is done. Its number has to be released."""
    set_time(v.calendar, source, NEVER)
    io = finish(v.drives, source) if source < v.n_disks else _array_done(v, source - v.n_disks - 2)
    _must_feed(v, v.io[io, volume.UNIT])
    second = now // SECOND_NS
    if second < v.per_second.shape[2]:
        is_read, stripe = v.kind[io] == READ, v.io[io, volume.STRIPE]
        v.per_second[stripe, volume.READS if is_read else volume.WRITES, second] += 1
        v.per_second[stripe, volume.READ_BYTES if is_read else volume.WRITE_BYTES, second] += v.n_bytes[io]
    return io


@kernel
def release_io(v, io):
    """The place of `io` is free for another."""
    v.free[v.n[volume.N_FREE]] = io
    v.n[volume.N_FREE] += 1


# ---- making them ----


class Stripe(NamedTuple):
    """A volume of members of one kind."""

    device: Drive | SsdParams
    members: int
    interlace_bytes: int = 2**19  # SVM's default


def check_stripes(stripes):
    """(kinds of arrays, disks), or ValueError with one sentence."""
    for stripe in stripes:
        if stripe.members < 1 or stripe.interlace_bytes < PAGE_BYTES or stripe.interlace_bytes % PAGE_BYTES:
            raise ValueError(f"a stripe of {stripe.members} members with an interlace of {stripe.interlace_bytes} B cannot "
                             "be; choose one member or more and a multiple of 8192 B")
    kinds = [*dict.fromkeys(stripe.device for stripe in stripes if isinstance(stripe.device, SsdParams))]
    disks = [stripe.device for stripe in stripes if isinstance(stripe.device, Drive)]
    if len(kinds) > 2 or any(disk is not disks[0] for disk in disks):
        raise ValueError(f"the volumes are of {len(kinds)} kinds of arrays and {len({id(disk) for disk in disks})} of "
                         "disks; choose at most two and one")
    return kinds or [SsdParams()], disks


def new_volumes(stripes, any_drive, phases_ns, n_ios, n_seconds):
    """Idle. `any_drive` stands for the disks if there are none; `phases_ns`: of the spindles, at least one each."""
    kinds, disks = check_stripes(stripes)
    drive = disks[0] if disks else any_drive
    rows, n_disks, array_kind = [(0, 0, 0)] * len(stripes), 0, []
    for of_disks in (True, False):
        for i, stripe in enumerate(stripes):
            if isinstance(stripe.device, Drive) == of_disks:
                rows[i] = (n_disks + len(array_kind), stripe.members, stripe.interlace_bytes)
                n_disks += stripe.members if of_disks else 0
                array_kind += [] if of_disks else [kinds.index(stripe.device)] * stripe.members
    kinds = tuple(check_ssd(SsdParams(*map(int, kinds[min(i, len(kinds) - 1)]))) for i in range(2))
    n_arrays, depth = max(1, len(array_kind)), max(array.depth for array in kinds)
    channels = new_ssds(max(kinds, key=lambda array: array.channels), n_arrays)
    zeros = np.zeros
    return Volumes(
        n_disks=n_disks, drive=drive,
        drives=new_drives(drive, drive.depth + 1, n_ios, np.asarray(phases_ns[:max(1, n_disks)], np.int64)),
        arrays=kinds, array_state=channels, array_kind=np.array(array_kind or [0], np.int64),
        stripe=np.array(rows, np.int64), calendar=new_calendar(n_disks + 2 + n_arrays * depth),
        io=zeros((n_ios, 7), np.int64), offset=zeros(n_ios, np.int64), n_bytes=zeros(n_ios, np.int64),
        kind=zeros(n_ios, np.int64), free=np.arange(n_ios)[::-1].copy(), n=np.array([n_ios, 0, 0]),
        to_feed=zeros(n_disks + n_arrays, np.int64), is_to_feed=zeros(n_disks + n_arrays, np.int64),
        left=np.full(n_ios, NONE), right=np.full(n_ios, NONE), root=np.full((n_disks + n_arrays, 2), NONE),
        in_place=zeros(n_arrays * depth, np.int64), places=np.arange(n_arrays * depth).reshape(n_arrays, depth),
        n_busy=zeros(n_arrays, np.int64), per_second=zeros((len(stripes), len(COUNTS), n_seconds), np.int64))
