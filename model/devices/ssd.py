"""A device without an arm: an SSD of 2009, or a disk array that answers from its battery-backed cache.

It is what a data sheet prints: two response times, two rates of small requests, two bandwidths. In English:

 1. A controller takes one request after the other. Each keeps it for one `read_iops`-th of a second, or for as long as its
    data takes over the bus, whichever is longer.
 2. A read then occupies a *channel* of the flash, of which there are several, for `read_ns`. So one reader at a time has
    the printed response time, and many have the printed rate, or channels / read_ns if that is less. Bytes beyond the
    first 4 KiB follow at the bandwidth.
 3. A write is reported after `write_ns` when it is in the cache, which must have room for it. The cache is *drained* to
    flash in order, at the bandwidth if a write begins where the last one ended. Otherwise it is drained by `write_iops` a
    second, with bytes beyond the first 4 KiB at `random_rate`. A drive that has been written all over collects garbage for
    every byte that lies scattered. Of 8 KiB it writes half as many as of 4; a new or trimmed one takes them at the
    bandwidth.
 4. Without a cache a write is reported when it has been drained.
 5. A flush waits until all is drained that was in the cache when it came, and takes `flush_ns` besides. If the cache
    survives a power cut (`is_volatile` 0) nothing has to be drained.

    now ----|controller|----- channel (read) ------|---- rest of the data ---->  done
                       |- cache (write) -|  reported      ... drained, later

Requests are served as they come, up to `depth` at a time, which is the caller's to hold back. So there is no event inside:
`service` says at once when a request will be done. What drains counts as a fluid: a half of its time, a half of its bytes.

Left out: garbage collection, but for what `write_iops` and `random_rate` of a full device have of it. So are reads that wait
for flash that is being written; trim; wear. For an array, only writes mean anything: its reads are those of disks.
"""

from typing import NamedTuple

import numpy as np

from model.devices import ssd_columns as flash
from model.events.clock import SECOND_NS
from model.jit import kernel

PAGE_BYTES = 4096  # what response times and rates of small requests are printed for


class SsdParams(NamedTuple):
    """Of one device. The defaults are no device: 100 us for everything, and nothing to be flushed."""

    disk_bytes: int = 32 * 10**9
    read_ns: int = 100_000  # response time of one read of 4 KiB
    write_ns: int = 100_000  # of one write, into the cache
    read_iops: int = 10_000  # reads of 4 KiB a second, many at a time
    write_iops: int = 10_000  # writes of 4 KiB a second, in the long run, at random places
    read_rate: int = 200_000_000  # B/s
    write_rate: int = 200_000_000  # B/s, one write behind the other
    bus_rate: int = 300_000_000  # B/s into the cache
    channels: int = 10  # reads that the flash does at a time
    depth: int = 32  # requests that the device takes at a time
    buffer_bytes: int = 2**24  # write cache; 0: none
    is_volatile: int = 0  # 1: what is in the cache is lost with the power, and has to be drained by a flush
    flush_ns: int = 0  # of a flush with nothing to be drained
    random_rate: int = 0  # B/s beyond the first 4 KiB of writes at random places; 0: as `write_rate`


class SsdState(NamedTuple):
    """Times in ns."""

    units: np.ndarray  # [device, column]: see model.devices.ssd_columns
    channels: np.ndarray  # [device, channel]: when it is free


@kernel
def cached_bytes(state, unit, now):
    """B in the write cache."""
    units = state.units
    if now >= units[unit, flash.DRAINED]:
        return np.int64(0)
    drained, since = units[unit, flash.DRAINED], units[unit, flash.SINCE]
    return units[unit, flash.CACHED] * (drained - now) // (drained - since)


@kernel
def _room_at(ssd, state, unit, now, n_bytes):
    """When the cache has room for `n_bytes`: `now`, or when enough has been drained."""
    units, room = state.units, max(0, ssd.buffer_bytes - n_bytes)
    if cached_bytes(state, unit, now) <= room:
        return now
    left = room * (units[unit, flash.DRAINED] - units[unit, flash.SINCE]) // units[unit, flash.CACHED]
    return max(now, units[unit, flash.DRAINED] - left)


@kernel
def drain_ns(ssd, state, unit, offset, n_bytes):
    """Rule 3: how long the flash is busy with a write."""
    if offset == state.units[unit, flash.LAST_END]:
        return n_bytes * SECOND_NS // ssd.write_rate
    return SECOND_NS // ssd.write_iops + max(0, n_bytes - PAGE_BYTES) * SECOND_NS // (ssd.random_rate or ssd.write_rate)


@kernel
def _take_controller(ssd, state, unit, now, n_bytes):
    """When the controller turns to a request."""
    begin = max(now, state.units[unit, flash.CONTROLLER])
    state.units[unit, flash.CONTROLLER] = begin + max(SECOND_NS // ssd.read_iops, n_bytes * SECOND_NS // ssd.bus_rate)
    return begin


@kernel
def read(ssd, state, unit, now, n_bytes):
    """When a read is done."""
    begin, channels, best = _take_controller(ssd, state, unit, now, n_bytes), state.channels, 0
    for channel in range(1, ssd.channels):
        if channels[unit, channel] < channels[unit, best]:
            best = channel
    begin = max(begin, channels[unit, best])
    channels[unit, best] = begin + ssd.read_ns
    done = begin + ssd.read_ns + max(0, n_bytes - PAGE_BYTES) * SECOND_NS // ssd.read_rate
    state.units[unit, flash.CONTROLLER] = max(state.units[unit, flash.CONTROLLER], done - ssd.read_ns)
    return done


@kernel
def write(ssd, state, unit, now, offset, n_bytes):
    """When a write is reported as done."""
    units = state.units
    if ssd.buffer_bytes:
        now = _room_at(ssd, state, unit, max(now, units[unit, flash.CONTROLLER]), n_bytes)
    begin = _take_controller(ssd, state, unit, now, n_bytes)
    cached = cached_bytes(state, unit, begin)
    units[unit, flash.DRAINED] = max(begin, units[unit, flash.DRAINED]) + drain_ns(ssd, state, unit, offset, n_bytes)
    units[unit, flash.SINCE], units[unit, flash.CACHED] = begin, cached + n_bytes
    units[unit, flash.LAST_END] = offset + n_bytes
    if not ssd.buffer_bytes:
        return max(units[unit, flash.DRAINED], begin + ssd.write_ns)
    return begin + ssd.write_ns + max(0, n_bytes - PAGE_BYTES) * SECOND_NS // ssd.bus_rate


@kernel
def service(ssd, state, unit, now, offset, n_bytes, is_write):
    """When a request that comes to the device at `now` is done. Requests come in order of time."""
    return write(ssd, state, unit, now, offset, n_bytes) if is_write else read(ssd, state, unit, now, n_bytes)


@kernel
def flush(ssd, state, unit, now):
    """When a flush is done: rule 5."""
    begin = max(now, state.units[unit, flash.CONTROLLER])
    if ssd.is_volatile:
        begin = max(begin, state.units[unit, flash.DRAINED])
    return begin + ssd.flush_ns


_MIN = {"disk_bytes": 10**6, "read_iops": 1, "write_iops": 1, "read_rate": 10**3, "write_rate": 10**3, "bus_rate": 10**3,
          "channels": 1, "depth": 1}
_MAX = {"disk_bytes": 10**15, "read_ns": SECOND_NS, "write_ns": SECOND_NS, "flush_ns": SECOND_NS, "read_iops": 10**8,
         "write_iops": 10**8, "channels": 1024, "depth": 1024, "buffer_bytes": 2**34, "is_volatile": 1}


def check_ssd(ssd: SsdParams) -> SsdParams:
    """The device itself, or ValueError with one sentence on what about it cannot be."""
    for name, value in ssd._asdict().items():
        low, high = _MIN.get(name, 0), _MAX.get(name, 10**11)
        if value != int(value) or not low <= value <= high:
            raise ValueError(f"{name} of a device is {value}, but it must be a whole number from {low} to {high}; "
                             "choose one in that range")
    if ssd.buffer_bytes > ssd.disk_bytes:
        raise ValueError(f"buffer_bytes of a device is {ssd.buffer_bytes}, more than the {ssd.disk_bytes} B it holds; "
                         "choose less")
    return ssd


def new_ssds(ssd, n_units):
    """`n_units` idle devices."""
    check_ssd(ssd)
    units = np.zeros((n_units, flash.N_COLUMNS), np.int64)
    units[:, flash.LAST_END] = -1
    return SsdState(units, np.zeros((n_units, ssd.channels), np.int64))
