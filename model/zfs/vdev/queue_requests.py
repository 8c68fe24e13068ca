"""Requests at times of their own through the vdev queue of a leaf: what goes to its device together.

The decisions are those of `model.zfs.vdev.queue`, by the kernels that simulations call. What a queue can put together
depends on what waits, and so on how fast the device is. Here it is the simplest there is. It takes up to as many units as
the queue gives it, serves one after the other, and each takes the same time.

    requests --> queue --> units on the device, served in order of issue, `service_ns` each

There is room for so many I/Os at a time as the queue was made for. A request that finds none waits until there is, and is
counted as *held back*: the device is too slow for this trace.
"""

from typing import NamedTuple

import numpy as np

from model.events.clock import TICK_NS
from model.jit import kernel, part
from model.structures.sentinels import NIL
from model.zfs.vdev.queue import READ, VdevQueue, VdevQueueParams, arrive, complete, new_io, new_queue, release

LEAF = 0  # the only one
N_SIZES = 32  # an I/O of n bytes is counted at its power of two, rounded down
BEFORE, AFTER = 0, 1  # a request; a unit on the device

# Elements of Device.now.
(OLDEST,  # index, in the ring, of the unit that has been on the device longest
 N_UNITS,  # count of units on the device
 FREE_AT,  # ns: when the oldest unit is done
 HELD_BACK,  # count of requests that had to wait for room
 ) = 0, 1, 2, 3


class Device(NamedTuple):
    """A leaf's queue with its device, and counts of what went to it."""

    queue: VdevQueue
    ring: np.ndarray  # int64: units on the device, in order of issue
    issued: np.ndarray  # int64[ramp_rate]
    now: np.ndarray  # int64, see above
    counts: np.ndarray  # int64 [kind, BEFORE or AFTER, power of two of B]
    n_bytes: np.ndarray  # int64 [kind, BEFORE or AFTER]: B


@kernel
def _power_of(n_bytes):
    power = 0
    while n_bytes >> (power + 1) > 0:
        power += 1
    return power


@kernel
def _count(device, kind, when, n_bytes):
    device.counts[kind, when, _power_of(n_bytes)] += 1
    device.n_bytes[kind, when] += n_bytes


@kernel
def _start(device, unit, now, service_ns):
    """`unit` goes to the device."""
    if device.now[N_UNITS] == 0:
        device.now[FREE_AT] = now + service_ns
    device.ring[(device.now[OLDEST] + device.now[N_UNITS]) % len(device.ring)] = unit
    device.now[N_UNITS] += 1
    _count(device, int(device.queue.kind[unit]), AFTER, int(device.queue.unit_bytes[unit]))


@part
def _finish_oldest(device, params, service_ns):
    """The unit that has been on the device longest is done."""
    queue, now = device.queue, device.now[FREE_AT]
    io = device.ring[device.now[OLDEST]]
    device.now[OLDEST] = (device.now[OLDEST] + 1) % len(device.ring)
    device.now[N_UNITS] -= 1
    device.now[FREE_AT] = now + service_ns
    for i in range(complete(queue, params, LEAF, device.issued, now)):
        _start(device, device.issued[i], now, service_ns)
    while io != NIL:
        io = release(queue, io)


@kernel
def finish(device, params, service_ns, until):
    """All that is done by `until` (ns)."""
    while device.now[N_UNITS] > 0 and device.now[FREE_AT] <= until:
        _finish_oldest(device, params, service_ns)


@kernel
def run(device, params, service_ns, time_ns, kind, offset, n_bytes):
    """Requests in order of time; int64[n] each. All are taken to be what somebody waits for."""
    queue = device.queue
    for i in range(len(time_ns)):
        now = time_ns[i]
        finish(device, params, service_ns, now)
        priority = params.sync_read_priority if kind[i] == READ else params.sync_write_priority
        io = new_io(queue, params, kind[i], offset[i], n_bytes[i], now // TICK_NS, priority, 0)
        if io == NIL:
            device.now[HELD_BACK] += 1
        while io == NIL:
            now = max(now, device.now[FREE_AT])
            _finish_oldest(device, params, service_ns)
            io = new_io(queue, params, kind[i], offset[i], n_bytes[i], now // TICK_NS, priority, 0)
        _count(device, kind[i], BEFORE, n_bytes[i])
        unit = arrive(queue, params, LEAF, io, now)
        if unit != NIL:
            _start(device, unit, now, service_ns)


def new_device(params: VdevQueueParams, n_ios: int) -> Device:
    """Nothing waits. Raises ValueError for rules that cannot be."""
    queue, n_units = new_queue(params, 1, n_ios), max(params.min_pending, params.max_pending) + 1
    return Device(queue=queue, ring=np.zeros(n_units, np.int64), issued=np.zeros(params.ramp_rate, np.int64),
                  now=np.zeros(4, np.int64), counts=np.zeros((2, 2, N_SIZES), np.int64), n_bytes=np.zeros((2, 2), np.int64))
