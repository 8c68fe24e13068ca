"""Disks as a data sheet describes them: seek curve, spindle, zones, and which command goes next.

    command   a fixed overhead
    seek      a + b sqrt(share of the stroke) for another cylinder, a head switch for another track of the same one,
              and a settling time in front of a write
    rotation  until the first sector comes round; spindles turn all the time, each with a phase of its own
    transfer  at the rate of the zone; from one track to the next the *skew* passes, just what the head switch takes

The drive holds the commands sent to it in order of arrival and looks at the first `window` of them: 1 is a drive without
NCQ, which serves in order; 32 one that takes the command whose first sector can be reached soonest; less than that a
drive whose queueing is poor. With `stream_gap_bytes` the write buffer is on: a write that is at hand when another ends
a little in front of it is written in the same sweep, without overhead and without waiting for a revolution.

The skew follows from the two rates of the sheet: a revolution's worth of bytes passes at the instantaneous rate, and at
the sustained rate a revolution and a skew. The seek curve follows from the average seek: over two independent uniform
places the mean of sqrt(distance) is 8/15 of that of the full stroke.

Left out: reading ahead, writes that are reported before they are on the platter and what flushing them costs, defects.
`drawn_ns`, if not empty, replaces all mechanics by service times drawn elsewhere: for checks against theory.
"""

import math
from typing import NamedTuple

import numpy as np

from model.jit import kernel

READ, WRITE = 0, 1
SECOND_NS = 10**9
NOT_WRITING = -1

# Columns of Drives.units, a row for each disk.
PHASE_NS = 0
TRACK = 1  # under the head
WRITE_END = 2  # B behind the last write, or NOT_WRITING after a read
IDLE_SINCE = 3  # ns when the last command ended
N_COMMANDS = 4  # held, the one being served among them
BUSY_SINCE = 5  # ns when the disk began to work without a pause
BUSY_NS = 6  # time spent working, up to the last pause
SERVICE_NS = 7  # sum of the service times of what has been served
N_SERVED = 8
SERVED_BYTES = 9
N_COLUMNS = 10


class SheetParams(NamedTuple):
    """A 7200 rpm SATA drive of 500 GB, of 2005 (physics 1.1)."""

    disk_bytes: int = 500 * 10**9  # B; data sheet
    rpm: int = 7200  # data sheet
    average_seek_ns: int = 8_500_000  # data sheet, read
    first_seek_ns: int = 800_000  # to the next cylinder; not found, typical
    write_settle_ns: int = 700_000  # average write seek less average read seek; typical
    overhead_ns: int = 300_000  # of a command; data sheet random read less its seek and latency: 0.2 to 0.5 ms
    outer_rate: int = 76_300_000  # B/s, instantaneous, zone 0; data sheet
    outer_sustained: int = 64_800_000  # B/s; data sheet
    inner_rate: int = 36_500_000  # B/s, instantaneous, last zone; data sheet
    n_zones: int = 30  # data sheet; the rates in between are taken to fall evenly
    n_heads: int = 10  # typical of the capacity
    window: int = 1  # commands that the drive chooses among
    stream_gap_bytes: int = 65536  # B between two writes of one sweep at most; -1: write buffer off


class SheetDisk(NamedTuple):
    """What follows from the sheet, for all disks."""

    rev_ns: int
    first_seek_ns: int
    seek_root_ns: float  # ns per root of a cylinder
    skew_ns: int
    write_settle_ns: int
    overhead_ns: int
    n_heads: int
    window: int
    stream_gap_bytes: int
    zone_offset: np.ndarray  # B where each zone begins, and the end of the disk
    zone_track: np.ndarray  # number of its first track, a multiple of the heads
    track_bytes: np.ndarray  # of each zone
    drawn_ns: np.ndarray  # service times to use in turn; empty: mechanics


class Drives(NamedTuple):
    """Where the disks are."""

    units: np.ndarray  # [disk, column]; see PHASE_NS and the others
    commands: np.ndarray  # [disk, place]: in order of arrival, the one being served first
    n_drawn: np.ndarray  # one element


@kernel
def _zone_of(disk, offset):
    zone = 0
    while offset >= disk.zone_offset[zone + 1] and zone + 1 < len(disk.track_bytes):
        zone += 1
    return zone


@kernel
def track_and_angle(disk, offset):
    """(track, ns of a revolution at which its byte `offset` passes, B per track)."""
    zone = _zone_of(disk, offset)
    n_bytes = disk.track_bytes[zone]
    within = offset - disk.zone_offset[zone]
    track = disk.zone_track[zone] + within // n_bytes
    return track, (track * disk.skew_ns + within % n_bytes * disk.rev_ns // n_bytes) % disk.rev_ns, n_bytes


@kernel
def seek_ns(disk, track, target):
    """From one track to another."""
    distance = abs(target // disk.n_heads - track // disk.n_heads)
    if distance == 0:
        return 0 if target == track else disk.skew_ns
    return disk.first_seek_ns + int(disk.seek_root_ns * math.sqrt(distance))


@kernel
def positioning_ns(disk, drives, unit, now, offset, is_write):
    """From `now` until the byte `offset` is under the head."""
    target, angle, _ = track_and_angle(disk, offset)
    seek = seek_ns(disk, drives.units[unit, TRACK], target) + (disk.write_settle_ns if is_write else 0)
    return seek + (angle - now - seek - drives.units[unit, PHASE_NS]) % disk.rev_ns


@kernel
def transfer_ns(disk, offset, n_bytes):
    track, _, track_bytes = track_and_angle(disk, offset)
    last, _, _ = track_and_angle(disk, offset + n_bytes - 1)
    return n_bytes * disk.rev_ns // track_bytes + (last - track) * disk.skew_ns


@kernel
def _streams(disk, drives, unit, now, offset, is_write):
    """Whether a write goes on where the last one ended, a moment ago."""
    end, just_now = drives.units[unit, WRITE_END], drives.units[unit, IDLE_SINCE] == now
    return is_write and just_now and end >= 0 and 0 <= offset - end <= disk.stream_gap_bytes


@kernel
def service_time(disk, drives, unit, now, offset, n_bytes, is_write):
    """Serve a command from `now` on: ns that it takes. The arm is left where it ends."""
    if len(disk.drawn_ns) > 0:
        drives.n_drawn[0] += 1
        return disk.drawn_ns[(drives.n_drawn[0] - 1) % len(disk.drawn_ns)]
    if _streams(disk, drives, unit, now, offset, is_write):
        took = transfer_ns(disk, drives.units[unit, WRITE_END], offset + n_bytes - drives.units[unit, WRITE_END])
    else:
        ready = now + disk.overhead_ns
        took = disk.overhead_ns + positioning_ns(disk, drives, unit, ready, offset, is_write)
        took += transfer_ns(disk, offset, n_bytes)
    drives.units[unit, TRACK], _, _ = track_and_angle(disk, offset + n_bytes - 1)
    drives.units[unit, WRITE_END] = offset + n_bytes if is_write else NOT_WRITING
    return took


@kernel
def choose(disk, drives, unit, now, offset, kind):
    """The place, among the commands of `unit`, of the one to serve next. `offset` and `kind` are per command."""
    best, least = 0, -1
    if disk.window == 1:
        return best
    for place in range(min(disk.window, drives.units[unit, N_COMMANDS])):
        command = drives.commands[unit, place]
        is_write = kind[command] == WRITE
        wait = 0
        if not _streams(disk, drives, unit, now, offset[command], is_write):
            wait = positioning_ns(disk, drives, unit, now + disk.overhead_ns, offset[command], is_write)
        if least < 0 or wait < least:
            best, least = place, wait
    return best


@kernel
def send(drives, unit, now, command):
    """Hand a command to the drive. True if it had none: `start` it."""
    drives.commands[unit, drives.units[unit, N_COMMANDS]] = command
    drives.units[unit, N_COMMANDS] += 1
    if drives.units[unit, N_COMMANDS] == 1:
        drives.units[unit, BUSY_SINCE] = now
        return True
    return False


@kernel
def start(disk, drives, unit, now, offset, n_bytes, kind):
    """Begin to serve the next command, of which there is one: ns when it will be done. Arguments are per command."""
    place = choose(disk, drives, unit, now, offset, kind)
    command = drives.commands[unit, place]
    for i in range(place, 0, -1):
        drives.commands[unit, i] = drives.commands[unit, i - 1]
    drives.commands[unit, 0] = command
    took = service_time(disk, drives, unit, now, offset[command], n_bytes[command], kind[command] == WRITE)
    drives.units[unit, SERVICE_NS] += took
    drives.units[unit, SERVED_BYTES] += n_bytes[command]
    return now + took


@kernel
def finish(drives, unit, now):
    """The command being served is done: its number."""
    command = drives.commands[unit, 0]
    drives.units[unit, N_COMMANDS] -= 1
    for i in range(drives.units[unit, N_COMMANDS]):
        drives.commands[unit, i] = drives.commands[unit, i + 1]
    drives.units[unit, N_SERVED] += 1
    drives.units[unit, IDLE_SINCE] = now
    return command


@kernel
def pause(drives, unit, now):
    """The drive has nothing left to do."""
    drives.units[unit, BUSY_NS] += now - drives.units[unit, BUSY_SINCE]


# ---- making them ----


def check_params(params):
    """Raise ValueError with one sentence unless there can be such a disk."""
    least = {"disk_bytes": 10**6, "rpm": 1, "average_seek_ns": 0, "first_seek_ns": 0, "write_settle_ns": 0,
             "overhead_ns": 0, "outer_rate": 1, "outer_sustained": 1, "inner_rate": 1, "n_zones": 1, "n_heads": 1,
             "window": 1, "stream_gap_bytes": -1}
    most = {"average_seek_ns": SECOND_NS, "n_zones": 1000, "outer_sustained": params.outer_rate,
            "inner_rate": params.outer_rate, "first_seek_ns": params.average_seek_ns}
    for name, value in params._asdict().items():
        if value != int(value) or not least[name] <= value <= most.get(name, 2**62):
            raise ValueError(f"{name} of a disk is {value}, but it must be a whole number from {least[name]} to "
                             f"{most.get(name, 'any')}; choose one in that range")


def new_disk(params, drawn_ns=()):
    """The SheetDisk of a data sheet. Zones hold equally many cylinders each."""
    check_params(params)
    rev_ns = 60 * SECOND_NS // params.rpm
    rates = np.linspace(params.outer_rate, params.inner_rate, params.n_zones)
    track_bytes = np.maximum(512, (rates * rev_ns / SECOND_NS).astype(np.int64) // 512 * 512)
    n_cylinders = max(1, -(-params.disk_bytes // int(track_bytes.sum() * params.n_heads)))  # per zone
    zone_bytes = track_bytes * params.n_heads * n_cylinders
    zone_track = np.arange(params.n_zones) * n_cylinders * params.n_heads
    full_stroke_ns = (params.average_seek_ns - params.first_seek_ns) * 15 / 8
    root_ns = full_stroke_ns / math.sqrt(max(1, n_cylinders * params.n_zones))
    skew_ns = rev_ns * params.outer_rate // params.outer_sustained - rev_ns
    return SheetDisk(rev_ns, params.first_seek_ns, root_ns, skew_ns, params.write_settle_ns, params.overhead_ns,
                     params.n_heads, params.window, params.stream_gap_bytes,
                     np.concatenate(([0], np.cumsum(zone_bytes))), zone_track, track_bytes,
                     np.array(drawn_ns, np.int64))


def new_drives(n_disks, max_commands, phase_ns):
    """Idle drives, arms on track 0."""
    units = np.zeros((n_disks, N_COLUMNS), np.int64)
    units[:, PHASE_NS] = phase_ns
    units[:, WRITE_END] = NOT_WRITING
    units[:, IDLE_SINCE] = -1
    return Drives(units, np.zeros((n_disks, max_commands), np.int64), np.zeros(1, np.int64))
