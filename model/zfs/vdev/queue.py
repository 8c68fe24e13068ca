"""The vdev queue: which I/O of a leaf goes to its device next, how many at a time, and in what company.

Every read or write of a leaf that the vdev cache did not answer waits here. In English:

 1. An I/O has a *deadline*: the 640 ms in which it came, counted from the start of the system, plus its priority. That is 0
    for what somebody waits for, 4 for the writes of a transaction group, 6 for prefetch, 20 for a scrub. One step of
    priority is worth 640 ms. To b98 it counts from the creation of the I/O. Here an I/O comes in the tick of its creation.
 2. The *head* is the I/O with the earliest deadline; among equal deadlines the one with the lowest offset, wherever the last
    one was. So a sweep starts again at the bottom whenever something lower arrives. Then by arrival.
 3. When an I/O arrives, one is issued if fewer than `min_pending` are on the device: the head, which need not be the
    one that arrived.
 4. When the device completes something, up to `ramp_rate` are issued, as long as fewer than `max_pending` are on it.
    So the device never has more than 4 of a burst at first, then one more for each completion, up to 35.
 5. What goes to the device as one *unit*, the head and which of its neighbours: rules 5 and 6,
    `model.zfs.vdev.queue_aggregation`.

Rules 7 and 8, which no ZFS had, are those of `model.zfs.vdev.queue_proposals`.

How the builds differ is data: the fields of VdevQueueParams here, their values in `model.zfs.eras`.

In ZFS (vdev_queue.c): rules 3 and 4 are `vdev_queue_io` and `vdev_queue_io_done`, the others up to 6
`vdev_queue_io_to_issue`; spec 3. Padding inside a unit is written, as zeros, and counts as bytes on the device. Left
out: I/Os that carry DONT_QUEUE (cache flushes) and never come here; failures.

I/Os are numbers into flat arrays, taken with `new_io` and given back with `release`. Those that wait are in two orders
(`model.structures.skip_lists`): by deadline and offset, and by offset, reads and writes apart. What somebody waits for is in
a third one, for rule 7, as in the first. A unit goes by the number of its first member, from which `next_member` leads
through all. So an event loop does this:

    io = new_io(queue, params, ...)            unit = arrive(queue, params, leaf, io, now)     start `unit` on the device
    the device completes `unit`:               n = complete(queue, params, leaf, issued, now)  start issued[0 .. n - 1]
    then, io from `unit` on, until NIL:       tell who waits for io                           io = release(queue, io)

`now` is in ns and matters to rule 8 only.
"""

from typing import NamedTuple

import numpy as np

from model.jit import kernel
from model.jit.lent_memory import in_lines
from model.structures.sentinels import NIL
from model.structures.skip_lists import Order, insert, n_levels_for, new_order, remove
from model.zfs.vdev import control_columns as window
from model.zfs.vdev import owner_columns as of_io
from model.zfs.vdev.queue_aggregation import (
    ALL_MARKS,
    DONT_AGGREGATE,
    INHERITED,
    NODATA,
    OPTIONAL,
    READ,
    REPAIR,
    RESILVER,
    SCRUB,
    SCRUB_THREAD,
    SELF_HEAL,
    WRITE,
    collect,
    join,
)
from model.zfs.vdev.queue_proposals import count_time, places, regulate

WAITED_FOR = 256  # somebody waits for it: ours, for rule 7, and only set if places are reserved

MAX_IOS = 2**24
# An I/O is a row, and that is a line of a processor's cache: whoever asks for one thing of it will ask for others. Links of
# further levels stand in further rows, which few have. The last field is the user's (`model.zfs.vdev.leaves`).
IO = np.dtype([("offset", np.int64), ("deadline", np.int64), ("n_bytes", np.int32), ("unit_bytes", np.int32),
               ("next_member", np.int32), ("marks", np.int16), ("kind", np.int8), ("n_levels", np.int8),
               ("by_deadline", np.int32, 2), ("by_offset", np.int32, 2), ("own", np.int32, of_io.N_COLUMNS)])


class VdevQueueParams(NamedTuple):
    """The rules of a build; the defaults are those of 2007, onnv_62 to onnv_77 (spec 3.1, 3.2)."""

    min_pending: int = 4  # units on the device up to which an arrival issues; zfs_vdev_min_pending
    max_pending: int = 35  # units on the device at most; zfs_vdev_max_pending, 10 from hg 10801 on
    ramp_rate: int = 2  # units issued per completion at most; zfs_vdev_ramp_rate
    time_shift: int = 6  # log2 of the ticks that share a deadline; zfs_vdev_time_shift
    aggregation_bytes: int = 2**17  # B from start to end of a unit at most, gaps included; zfs_vdev_aggregation_limit
    ssd_aggregation_bytes: int = 2**17  # the same of a device without an arm; zfs_vdev_aggregation_limit_non_rotating
    read_gap_bytes: int = 0  # B between two reads of a unit at most; zfs_vdev_read_gap_limit, 32768 by b117
    write_gap_bytes: int = 0  # B, how far a unit stretches; zfs_vdev_write_gap_limit, 4096 from hg 10105 on
    bridges_beyond: int = 0  # 1: optional I/Os join a unit although it gets longer than `aggregation_bytes`; change 8005
    agreeing_marks: int = 0  # marks that all members share: none, DONT_AGGREGATE in b103, INHERITED by b108; spec 3.5
    # What was never built; 0 is off.
    reserved_slots: int = 0  # of the units on the device, for what somebody waits for; rule 7
    dynamic_pending_ns: int = 0  # ns that units are on the device on average at most; rule 8
    dynamic_window: int = 16  # completions over which that is averaged: at 75 a second, five steps a second
    # What the I/Os that arrive look like. Who makes the I/Os reads these; the queue does not, but for rule 7.
    sync_read_priority: int = 0  # steps of deadline, as all below: demand reads; zio_priority_table
    sync_write_priority: int = 0  # labels, uberblocks
    log_write_priority: int = 0  # ZIL blocks
    cache_fill_priority: int = 0  # lines of the vdev cache; 1 from hg 11146 on
    ddt_prefetch_priority: int = 2  # dedup table; b141
    async_write_priority: int = 4  # transaction groups, L2ARC
    async_read_priority: int = 6  # zfetch
    resilver_priority: int = 10
    scrub_priority: int = 20


class VdevQueue(NamedTuple):
    """The queues of all leaves. Arrays per I/O are columns of rows of `IO`; behind those of I/Os come ends of the orders."""

    n_ios: int  # I/Os that can be about at a time, numbered from 1
    # per I/O
    kind: np.ndarray  # READ or WRITE
    offset: np.ndarray  # B from the start of the leaf device
    n_bytes: np.ndarray
    deadline: np.ndarray  # rule 1
    marks: np.ndarray
    next_member: np.ndarray  # the next I/O of the same unit, or NIL; also links the free ones
    unit_bytes: np.ndarray  # of the first member: B from start to end of the unit
    by_deadline: Order  # those waiting, all of a leaf; then by offset, then by arrival
    by_offset: Order  # those waiting, reads and writes apart; then by arrival
    waited_for: Order  # as by_deadline, only of what is marked WAITED_FOR; by_deadline itself if there can be none
    own: np.ndarray  # [I/O, column]: the user's; see model.zfs.vdev.owner_columns
    # per leaf
    n_waiting: np.ndarray
    n_pending: np.ndarray  # units on the device
    dropped: np.ndarray  # the last padding left alone and so done with, a chain along next_member; or NIL
    control: np.ndarray  # [leaf, column]; see model.zfs.vdev.control_columns
    # one element
    free: np.ndarray  # the first I/O not about, or NIL


# ---- the orders ----


@kernel
def _end_by_deadline(queue, leaf):
    return queue.n_ios + 1 + 3 * leaf


@kernel
def _end_by_offset(queue, leaf, kind):
    return queue.n_ios + 2 + 3 * leaf + kind


@kernel
def _enter(queue, leaf, io):
    insert(queue.by_deadline, _end_by_deadline(queue, leaf), io)
    insert(queue.by_offset, _end_by_offset(queue, leaf, int(queue.kind[io])), io)
    if queue.marks[io] & WAITED_FOR:
        insert(queue.waited_for, _end_by_deadline(queue, leaf), io)
    queue.n_waiting[leaf] += 1


@kernel
def _leave(queue, leaf, io):
    remove(queue.by_deadline, io)
    remove(queue.by_offset, io)
    if queue.marks[io] & WAITED_FOR:
        remove(queue.waited_for, io)
    queue.n_waiting[leaf] -= 1


# ---- issuing ----


@kernel
def _head(queue, params, leaf):
    """What is to go next of those waiting, of which there is one; or NIL."""
    end = _end_by_deadline(queue, leaf)
    head = queue.by_deadline.after[0, end]
    if params.reserved_slots == 0 or queue.marks[head] & WAITED_FOR:
        return head
    if queue.n_pending[leaf] < max(1, places(queue, params, leaf) - params.reserved_slots):
        return head
    head = queue.waited_for.after[0, end]
    return head if head != end else NIL


@kernel
def _send(queue, leaf, first, last):
    """Move what waits from `first` to `last` to the device, as one unit."""
    join(queue, first, last)
    io = first
    while io != NIL:
        _leave(queue, leaf, io)
        io = queue.next_member[io]
    queue.n_pending[leaf] += 1


@kernel
def _drop(queue, leaf, io):
    """Padding that was left alone is done with, and never sees the device."""
    _leave(queue, leaf, io)
    queue.next_member[io] = queue.dropped[leaf]
    queue.dropped[leaf] = io


# ---- what the leaf calls ----


@kernel
def issue(queue, params, leaf, limit):
    """Issue the head if it waits and fewer than `limit` units are pending: the unit, to be started, or NIL.

    A unit lies at `offset[unit]`, is `unit_bytes[unit]` long and of `kind[unit]`; `next_member` leads through its I/Os.
    """
    while queue.n_waiting[leaf] > 0 and queue.n_pending[leaf] < limit:
        head = _head(queue, params, leaf)
        if head == NIL:
            return NIL
        first, last = collect(queue, params, head)
        if first != last or not queue.marks[first] & NODATA:
            _send(queue, leaf, first, last)
            return first
        _drop(queue, leaf, first)
    return NIL


@kernel
def arrive(queue, params, leaf, io, now):
    """Rule 3: `io` arrives. Returns the unit that is issued, or NIL."""
    count_time(queue, params, leaf, now)
    _enter(queue, leaf, io)
    return issue(queue, params, leaf, params.min_pending)


@kernel
def leave_device(queue, params, leaf, now):
    """A unit is on the device no longer. Returns up to how many may be on it now."""
    if params.dynamic_pending_ns > 0:
        count_time(queue, params, leaf, now)
        regulate(queue, params, leaf)
    queue.n_pending[leaf] -= 1
    return places(queue, params, leaf)


@kernel
def complete(queue, params, leaf, issued, now):
    """Rule 4: the device has completed a unit. Writes what is issued to `issued` (int64[ramp_rate]); returns how many.

    This comes before anybody hears of the completion; so what that leads to arrives at a queue already issued from.
    """
    limit = leave_device(queue, params, leaf, now)
    for n in range(params.ramp_rate):
        issued[n] = issue(queue, params, leaf, limit)
        if issued[n] == NIL:
            return n
    return params.ramp_rate


@kernel
def take_dropped(queue, leaf):
    """The padding done with since the last call, a chain along `next_member`, or NIL; only RAID-Z need ask."""
    first = queue.dropped[leaf]
    queue.dropped[leaf] = NIL
    return first


@kernel
def new_io(queue, params, kind, offset, n_bytes, tick, priority, marks):
    """An I/O of `n_bytes` (1 or more) at `offset`, to be handed to `arrive`; NIL if all are taken.

    `tick` is that of its arrival; `priority` one of those in `params`.
    """
    io = queue.free[0]
    if io != NIL:
        queue.free[0] = queue.next_member[io]
        queue.kind[io] = kind
        queue.offset[io] = offset
        queue.n_bytes[io] = n_bytes
        queue.deadline[io] = (tick >> params.time_shift) + priority
        queue.marks[io] = marks
        if params.reserved_slots > 0 and priority <= params.cache_fill_priority:  # the last of those; spec 3.2
            queue.marks[io] |= WAITED_FOR
    return io


@kernel
def release(queue, io):
    """Give back an I/O that is done with: its number may come again. Returns the next member of its unit, or NIL."""
    after = int(queue.next_member[io])
    queue.next_member[io] = queue.free[0]
    queue.free[0] = io
    return after


# ---- making one ----

_BOUNDS = {"min_pending": (1, 2**20), "max_pending": (1, 2**20), "ramp_rate": (1, 2**10), "time_shift": (0, 40),
           "agreeing_marks": (0, ALL_MARKS), "bridges_beyond": (0, 1), "dynamic_window": (1, 2**20)}
_UP_TO_2_40 = (0, 2**40)  # B, and ns: 18 minutes
_PRIORITY = (0, 2**20)


def check_params(params):
    """Raise ValueError with one sentence unless every value makes sense."""
    bounds = _BOUNDS | {"reserved_slots": (0, max(0, params.max_pending - 1))}
    for name, value in params._asdict().items():
        low, high = bounds.get(name) or (_PRIORITY if name.endswith("_priority") else _UP_TO_2_40)
        if value != int(value) or not low <= value <= high:
            raise ValueError(f"{name} of the vdev queue is {value}, but it must be a whole number from {low} to {high};"
                             " choose one in that range")


def new_queue(params, n_leaves, n_ios):
    """Empty queues for leaves 0 .. n_leaves - 1, with `n_ios` I/Os to share, waiting or on the devices."""
    check_params(params)
    for name, value in (("n_leaves", n_leaves), ("n_ios", n_ios)):
        if value != int(value) or not 1 <= value <= MAX_IOS:
            raise ValueError(f"{name} is {value}, but the vdev queues need 1 to 2^24 of them; choose a number in that"
                             " range")
    n_places = n_ios + 1 + 3 * n_leaves
    rows = in_lines((n_levels_for(n_ios + 1), n_places), IO, np.zeros)
    io = rows[0]
    io["next_member"][:n_ios] = np.arange(1, n_ios + 1)  # all but 0 are free: each links to the next
    by_deadline, by_offset = (new_order(io[key], io["offset"], n_ios + 1, io["n_levels"], np.moveaxis(rows[links], -1, 0))
                              for key, links in (("deadline", "by_deadline"), ("offset", "by_offset")))
    waited_for = by_deadline
    if params.reserved_slots:
        links = np.moveaxis(np.zeros_like(rows)["by_deadline"], -1, 0)
        waited_for = new_order(io["deadline"], io["offset"], n_ios + 1, io["n_levels"], links)
    control = np.zeros((n_leaves, window.N_COLUMNS), np.int64)
    control[:, window.PLACES] = params.max_pending
    per_io = {name: io[name] for name in
              ("kind", "offset", "n_bytes", "deadline", "marks", "next_member", "unit_bytes", "own")}
    per_leaf = {name: np.zeros(n_leaves, np.int64) for name in ("n_waiting", "n_pending", "dropped")}
    return VdevQueue(n_ios=n_ios, **per_io, by_deadline=by_deadline, by_offset=by_offset, waited_for=waited_for, **per_leaf,
                     control=control, free=np.ones(1, np.int64))


__all__ = ["DONT_AGGREGATE", "INHERITED", "OPTIONAL", "READ", "REPAIR", "RESILVER", "SCRUB", "SCRUB_THREAD", "SELF_HEAL",
           "WRITE"]  # what an I/O is, and its marks, are the queue's as much as its units'
