"""Driving the vdev queue of one leaf with a stream of events, recorded or made up.

The decisions are those of `model.zfs.vdev.queue`, the same kernels that a simulation of a whole pool calls. What the stream
says is when an I/O arrives, and which unit the device completes next. Units are numbered in the order in which they are
issued. `complete` is taken apart here, to see the order of what is issued and of what is dropped.
"""

from typing import NamedTuple

import numpy as np

from model.jit import kernel, part
from model.zfs.vdev.queue import (
    VdevQueue,
    VdevQueueParams,
    arrive,
    issue,
    leave_device,
    new_io,
    new_queue,
    release,
    take_dropped,
)
from model.zfs.vdev.queue_aggregation import NIL

ARRIVAL, COMPLETION, ISSUE, DROP = 0, 1, 2, 3  # the codes of the recorded traces; the last two are decisions
LEAF = 0  # the only one
NO_UNIT = -1


class Events(NamedTuple):
    """A stream in order of time; (n_events,) int64 arrays. Of a COMPLETION only `kind` and `unit` count."""

    kind: np.ndarray  # ARRIVAL or COMPLETION
    tick: np.ndarray
    io_kind: np.ndarray  # READ or WRITE
    offset: np.ndarray  # B
    n_bytes: np.ndarray
    priority: np.ndarray  # steps of deadline
    marks: np.ndarray
    unit: np.ndarray  # of a COMPLETION: which unit


class Decisions(NamedTuple):
    """What the queue did, in order; (n_decisions,) int64 arrays with room for all that can be."""

    event: np.ndarray  # in which event
    kind: np.ndarray  # ISSUE or DROP
    io_kind: np.ndarray  # READ or WRITE
    offset: np.ndarray  # B
    n_bytes: np.ndarray  # from start to end of the unit
    io: np.ndarray  # number of its first I/O, counted from 0 in order of arrival
    n_ios: np.ndarray  # of a unit; 0 of what is dropped
    unit: np.ndarray  # number of the unit, or NO_UNIT


class Leaf(NamedTuple):
    """A queue with the numbers of what is in it."""

    queue: VdevQueue
    arrival: np.ndarray  # (I/O of the queue,) its number in order of arrival
    first: np.ndarray  # (unit,) its first I/O in the queue while it is on the device, else NIL
    n_arrived: np.ndarray  # one element: I/Os that arrived
    n_issued: np.ndarray  # one element: units issued
    n_decided: np.ndarray  # one element: decisions so far


@kernel
def _decide(leaf, decisions, event, kind, io, n_bytes, n_ios, unit):
    queue, i = leaf.queue, leaf.n_decided[0]
    decisions.event[i], decisions.kind[i], decisions.io_kind[i] = event, kind, queue.kind[io]
    decisions.offset[i], decisions.n_bytes[i], decisions.io[i] = queue.offset[io], n_bytes, leaf.arrival[io]
    decisions.n_ios[i], decisions.unit[i] = n_ios, unit
    leaf.n_decided[0] += 1


@kernel
def _release_all(queue, io):
    """Give back the I/Os of a chain: how many."""
    n = 0
    while io != NIL:
        io = release(queue, io)
        n += 1
    return n


@kernel
def _n_members(queue, io):
    n = 0
    while io != NIL:
        n += 1
        io = queue.next_member[io]
    return n


@part
def _note_dropped(leaf, decisions, event):
    """What was dropped is a chain that begins with the last."""
    queue = leaf.queue
    io = take_dropped(queue, LEAF)
    for earlier in range(_n_members(queue, io) - 1, -1, -1):
        at = io
        for _ in range(earlier):
            at = queue.next_member[at]
        _decide(leaf, decisions, event, DROP, at, queue.n_bytes[at], 0, NO_UNIT)
    _release_all(queue, io)


@part
def _note_issued(leaf, decisions, event, first):
    queue, unit = leaf.queue, leaf.n_issued[0]
    _decide(leaf, decisions, event, ISSUE, first, queue.unit_bytes[first], _n_members(queue, first), unit)
    leaf.first[unit] = first
    leaf.n_issued[0] += 1


@part
def _note(leaf, decisions, event, first):
    """What came of asking for a unit."""
    _note_dropped(leaf, decisions, event)
    if first != NIL:
        _note_issued(leaf, decisions, event, first)


@part
def _arrive(leaf, params, events, decisions, i):
    """Whether there was room for the I/O."""
    queue = leaf.queue
    io = new_io(queue, params, events.io_kind[i], events.offset[i], events.n_bytes[i], events.tick[i], events.priority[i],
                events.marks[i])
    if io == NIL:
        return False
    leaf.arrival[io] = leaf.n_arrived[0]
    leaf.n_arrived[0] += 1
    _note(leaf, decisions, i, arrive(queue, params, LEAF, io, 0))
    return True


@part
def _complete(leaf, params, decisions, i, unit):
    """Whether the unit was on the device."""
    if unit < 0 or unit >= leaf.n_issued[0] or leaf.first[unit] == NIL:
        return False
    queue = leaf.queue
    limit = leave_device(queue, params, LEAF, 0)
    for _ in range(params.ramp_rate):
        first = issue(queue, params, LEAF, limit)
        _note(leaf, decisions, i, first)
        if first == NIL:
            break
    _release_all(queue, leaf.first[unit])
    leaf.first[unit] = NIL
    return True


@kernel
def run(leaf, params, events, decisions):
    """All events in order, up to the first that cannot be: how many."""
    for i in range(len(events.kind)):
        if events.kind[i] == ARRIVAL:
            possible = _arrive(leaf, params, events, decisions, i)
        else:
            possible = _complete(leaf, params, decisions, i, events.unit[i])
        if not possible:
            return i
    return len(events.kind)


def drive(params: VdevQueueParams, events: Events, n_ios: int) -> tuple[Decisions, int]:
    """The queue of one leaf, with room for so many I/Os at a time: (what it decided, events up to the first that cannot be).
    An event cannot be if it completes a unit that is not on the device, or if there is no room."""
    n = int((events.kind == ARRIVAL).sum())
    leaf = Leaf(queue=new_queue(params, 1, n_ios), arrival=np.zeros(n_ios + 1, np.int64),
                first=np.full(n + 1, NIL, np.int64), n_arrived=np.zeros(1, np.int64), n_issued=np.zeros(1, np.int64),
                n_decided=np.zeros(1, np.int64))
    decisions = Decisions(*np.zeros((len(Decisions._fields), n + 1), np.int64))
    done = run(leaf, params, events, decisions)
    return Decisions(*(column[:leaf.n_decided[0]] for column in decisions)), int(done)
