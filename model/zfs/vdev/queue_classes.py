"""The vdev queue of OpenZFS: classes of I/Os, each with a least and a greatest number that may be on the device.

It came with the write throttle of August 2013 (illumos 4045) in place of deadlines and `max_pending`
(`model.zfs.vdev.queue`). In English:

 1. An I/O is of a *class*. Their order is: sync read (somebody waits for it), sync write (intent log, labels), async read
    (prefetch), async write (transaction groups, L2ARC), scrub.
 2. What is to go next is of the first class in which something waits, with fewer on the device than its least number.
    Since November 2020 the look begins behind the class that had its turn last, before that with the first one.
 3. If there is none, of the first class, in order, with fewer than its greatest number on the device. No more than
    `max_active` of all classes are.
 4. Of sync reads and writes the one that came first goes next. Of the others the nearest one behind the end of what the
    queue issued last, or, if none is, the one with the lowest offset. This is a sweep. Since November 2020 only what came in
    the same 0.54 s as the oldest one takes part, so that nothing waits for ever.
 5. It takes its neighbours along, of whatever class, as before: rule 5 of `model.zfs.vdev.queue_aggregation`. All of it
    counts as of the class that had the turn.
 6. How many async writes there may be goes with what is dirty of what the pool may have dirty (D of
    `model.zfs.txg.throttle`):

        greatest |            o------
                 |          /
                 |        /             the ramp is from 30 % of D to 60 %
           least |------o
                 +------+-----+------   dirty

 7. Since November 2020 a scrub has its least number only. While others are on the device no more than `credit` of its
    I/Os go until one of those is done. This does not hold once `delay` have been done since the last other one.
 8. When an I/O arrives one unit at most is issued; when one is done, as many as these rules allow.

In OpenZFS: vdev_queue.c, `vdev_queue_class_to_issue`, `vdev_queue_max_async_writes`, `vdev_queue_io_to_issue`; pull request
11166 (November 2020); manual page zfs(4), "ZFS I/O SCHEDULER". Left out: removal, initialising, TRIM and rebuild; that all
writes go at once when the pool has a task for a group (`spa_has_pending_synctask`).

The I/Os are those of a `VdevQueue`, of which each leaf has N_CLASSES places. Lists by deadline are the classes, and that by
offset of the first place holds all. `new_io` leaves the class where else the deadline is (`time_shift` of 40).
"""

from typing import NamedTuple

import numpy as np

from model.jit import kernel
from model.structures.sentinels import NIL
from model.structures.skip_lists import insert, remove
from model.zfs.vdev import class_columns as turn
from model.zfs.vdev.queue import new_queue
from model.zfs.vdev.queue_aggregation import NODATA, collect, end_of, join

SYNC_READ, SYNC_WRITE, ASYNC_READ, ASYNC_WRITE, SCRUB_CLASS = range(5)
N_CLASSES = 5
CLASS_SHIFT = 9  # of VdevQueue.marks: the class, above all marks
NO_CLASS = -1
WINDOW_SHIFT = 29  # log2 of the ns of rule 4


class ClassParams(NamedTuple):
    """The rules of a build; the defaults are those of August 2013, but that there are classes."""

    exist: int = 0
    min_per_class: tuple = (10, 10, 1, 1, 1)  # per class: zfs_vdev_sync_read_min_active, ...; async write 2 from 0.7 on
    max_per_class: tuple = (10, 10, 3, 10, 2)  # ..._max_active
    max_active: int = 1000  # zfs_vdev_max_active
    ramp_from_pct: int = 30  # zfs_vdev_async_write_active_min_dirty_percent
    ramp_to_pct: int = 60  # zfs_vdev_async_write_active_max_dirty_percent
    takes_turns: int = 0  # 1: rules 2, 4 and 7 as they are since pull request 11166
    delay: int = 5  # zfs_vdev_nia_delay
    credit: int = 5  # zfs_vdev_nia_credit


@kernel
def async_writes(classes, dirty, max_dirty):
    """Rule 6: how many there may be with so many B dirty of `max_dirty`."""
    low, high = classes.min_per_class[ASYNC_WRITE], classes.max_per_class[ASYNC_WRITE]
    begin, end = max_dirty * classes.ramp_from_pct // 100, max_dirty * classes.ramp_to_pct // 100
    if dirty > end:
        return high
    return low if dirty < begin else low + (dirty - begin) * (high - low) // max(1, end - begin)


# ---- lists ----


@kernel
def class_of(queue, io):
    """The class of an I/O in the vdev queue."""
    return int(queue.marks[io]) >> CLASS_SHIFT


@kernel
def _end_of_class(queue, leaf, which):
    return queue.n_ios + 1 + 3 * (leaf * N_CLASSES + which)


@kernel
def _is_fifo(which):
    return which in (SYNC_READ, SYNC_WRITE)


@kernel
def _enter(queue, classes, state, leaf, io, now):
    which = int(queue.deadline[io])
    queue.marks[io] |= which << CLASS_SHIFT
    state[leaf, turn.ARRIVED] += 1
    in_window = now >> WINDOW_SHIFT if classes.takes_turns else 0
    queue.deadline[io] = state[leaf, turn.ARRIVED] if _is_fifo(which) else in_window
    insert(queue.by_deadline, _end_of_class(queue, leaf, which), io)
    insert(queue.by_offset, _end_of_class(queue, leaf, 0) + 1 + int(queue.kind[io]), io)
    queue.n_waiting[leaf * N_CLASSES + which] += 1


@kernel
def _leave(queue, leaf, io):
    remove(queue.by_deadline, io)
    remove(queue.by_offset, io)
    queue.n_waiting[leaf * N_CLASSES + class_of(queue, io)] -= 1


@kernel
def _first_from(order, end, key, tie):
    """The first thing in a list that is not less than that."""
    place = end
    for level in range(order.n_levels[end] - 1, -1, -1):
        after = order.after[level, place]
        while order.key[after] < key or (order.key[after] == key and order.tie[after] < tie):
            place = after
            after = order.after[level, place]
    return order.after[0, place]


# ---- whose turn it is ----


@kernel
def _min_active(classes, state, leaf, which):
    n_min = classes.min_per_class[which]
    if which == SCRUB_CLASS and classes.takes_turns and state[leaf, turn.OTHERS] > 0:
        return min(state[leaf, turn.CREDIT], n_min)
    return n_min


@kernel
def _max_active(classes, state, leaf, which, n_async_writes):
    if which == ASYNC_WRITE:
        return n_async_writes
    if (which == SCRUB_CLASS and classes.takes_turns
            and (state[leaf, turn.OTHERS] > 0 or state[leaf, turn.CREDIT] < classes.delay)):
        return _min_active(classes, state, leaf, which)  # rule 7: it has not got the device to itself
    return classes.max_per_class[which]


@kernel
def _n_active(queue, leaf):
    n = queue.n_pending[leaf * N_CLASSES]
    for which in range(1, N_CLASSES):
        n += queue.n_pending[leaf * N_CLASSES + which]
    return n


@kernel
def class_to_issue(queue, classes, state, leaf, n_async_writes):
    """Rules 2 and 3; or NO_CLASS."""
    first = leaf * N_CLASSES
    if _n_active(queue, leaf) >= classes.max_active:
        return NO_CLASS
    begin = state[leaf, turn.LAST_CLASS] + 1 if classes.takes_turns else 0
    for i in range(N_CLASSES):
        which = (begin + i) % N_CLASSES
        if queue.n_waiting[first + which] > 0 and queue.n_pending[first + which] < _min_active(classes, state, leaf, which):
            return which
    for which in range(N_CLASSES):
        n_max = _max_active(classes, state, leaf, which, n_async_writes)
        if queue.n_waiting[first + which] > 0 and queue.n_pending[first + which] < n_max:
            return which
    return NO_CLASS


@kernel
def _head(queue, state, leaf, which):
    """Rule 4."""
    end = _end_of_class(queue, leaf, which)
    head = queue.by_deadline.after[0, end]
    if _is_fifo(which) or queue.offset[head] >= state[leaf, turn.LAST_END]:
        return head
    following = _first_from(queue.by_deadline, end, queue.deadline[head], state[leaf, turn.LAST_END])
    return following if following != end and queue.deadline[following] == queue.deadline[head] else head


# ---- issuing ----


@kernel
def _count_sent(state, leaf, which):
    if which != SCRUB_CLASS:
        state[leaf, turn.OTHERS] += 1
        if state[leaf, turn.OTHERS] == 1:
            state[leaf, turn.CREDIT] = 1
    elif state[leaf, turn.OTHERS] > 0:
        state[leaf, turn.CREDIT] -= 1


@kernel
def _count_done(classes, state, leaf, which):
    if which != SCRUB_CLASS:
        state[leaf, turn.OTHERS] -= 1
        state[leaf, turn.CREDIT] = classes.credit if state[leaf, turn.OTHERS] else 0
    elif state[leaf, turn.OTHERS] == 0:
        state[leaf, turn.CREDIT] += 1


@kernel
def _send(queue, state, leaf, which, first, last):
    """Move what waits from `first` to `last` to the device, as one unit of a class."""
    join(queue, first, last)
    io = first
    while io != NIL:
        _leave(queue, leaf, io)
        io = queue.next_member[io]
    queue.marks[first] = queue.marks[first] & ((1 << CLASS_SHIFT) - 1) | which << CLASS_SHIFT
    queue.n_pending[leaf * N_CLASSES + which] += 1
    _count_sent(state, leaf, which)
    state[leaf, turn.LAST_CLASS], state[leaf, turn.LAST_END] = which, end_of(queue, last)


@kernel
def _drop(queue, state, leaf, which, io):
    """Padding that was left alone is done with, and never sees the device; but its class has had its turn."""
    _leave(queue, leaf, io)
    queue.next_member[io] = queue.dropped[leaf * N_CLASSES]
    queue.dropped[leaf * N_CLASSES] = io
    state[leaf, turn.LAST_CLASS] = which


@kernel
def issue_of_class(queue, params, classes, state, leaf, n_async_writes):
    """The unit whose turn it is, to be started, or NIL."""
    which = class_to_issue(queue, classes, state, leaf, n_async_writes)
    if which == NO_CLASS:
        return NIL
    first, last = collect(queue, params, _head(queue, state, leaf, which))
    while first == last and queue.marks[first] & NODATA:
        _drop(queue, state, leaf, which, first)
        which = class_to_issue(queue, classes, state, leaf, n_async_writes)
        if which == NO_CLASS:
            return NIL
        first, last = collect(queue, params, _head(queue, state, leaf, which))
    _send(queue, state, leaf, which, first, last)
    return first


# ---- what the leaf calls ----


@kernel
def arrive_in_class(queue, params, classes, state, leaf, io, now, n_async_writes):
    """Rule 8: `io` arrives. Returns the unit that is issued, or NIL. Padding done with: `take_dropped`."""
    _enter(queue, classes, state, leaf, io, now)
    return issue_of_class(queue, params, classes, state, leaf, n_async_writes)


@kernel
def complete_in_class(queue, params, classes, state, leaf, unit, issued, n_async_writes):
    """Rule 8: the device has completed a unit. Writes what is issued to `issued` (`max_issued`); returns how many."""
    which, n = class_of(queue, unit), 0
    queue.n_pending[leaf * N_CLASSES + which] -= 1
    _count_done(classes, state, leaf, which)
    while n < len(issued):
        issued[n] = issue_of_class(queue, params, classes, state, leaf, n_async_writes)
        if issued[n] == NIL:
            break
        n += 1
    return n


# ---- making one ----


def max_issued(classes):
    """Units of a leaf on the device at a time."""
    return min(classes.max_active, sum(map(max, classes.min_per_class, classes.max_per_class)))


def check_classes(classes):
    """Raise ValueError with one sentence unless every value makes sense."""
    for name, values in (("min_per_class", classes.min_per_class), ("max_per_class", classes.max_per_class)):
        if len(values) != N_CLASSES or min(values) < 1:
            raise ValueError(f"{name} of the classes of the vdev queue is {values}, but it must be {N_CLASSES} numbers from "
                             "1 on; give one for each class")
    if sum(classes.min_per_class) > classes.max_active:
        raise ValueError(f"max_active of the vdev queue is {classes.max_active}, less than the "
                         f"{sum(classes.min_per_class)} that its classes have at least; choose more")


def new_class_queue(params, classes, n_leaves, n_ios):
    """Empty queues for leaves 0 .. n_leaves - 1, with `n_ios` I/Os to share."""
    check_classes(classes)
    return new_queue(params, n_leaves * N_CLASSES, n_ios)


def new_class_state(n_leaves):
    """Of leaves at rest."""
    state = np.zeros((n_leaves, turn.N_STATE), np.int64)
    state[:, turn.LAST_CLASS] = N_CLASSES - 1
    return state
