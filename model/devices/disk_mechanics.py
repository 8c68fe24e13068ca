"""Arm and spindle: what it takes to bring a block under the head, and to pass it.

The spindle never stops: at time t, in nanoseconds, it stands at (t + phase) modulo the time of a revolution. A visit to
a block is therefore three terms, of which only the first is the drive's to shorten:

    seek       from a table over the distance in cylinders, at least a head switch where the head changes. The
               settling of a write is added, which must not start a hair beside the track
    latency    until the block's angle comes round
    transfer   the sectors themselves. At the end of a track the next one is reached by the same three terms, and skew makes
               its latency short

All times are integers; only the angle of a sector is a fraction of a revolution, and is rounded to nanoseconds before
it is compared. All disks of a simulation share one `Disk` if they are alike; what differs is their row of the state.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from model.devices import arm_columns as arm
from model.devices import layout_columns as laid
from model.devices import overhead_columns as overhead
from model.devices import segment_columns as cached
from model.devices.disk_geometry import Layout, locate, run_on_track, stand
from model.jit import kernel
from model.jit.lent_memory import in_lines

# values of SERVED: how the last request was served
FROM_AHEAD, FROM_BUFFER, PARTLY, FROM_PLATTER, TO_BUFFER, TO_PLATTER = range(6)
# values of Disk.ahead
AHEAD_NONE, AHEAD_TRACK, AHEAD_CYLINDER, AHEAD_BLOCKS, AHEAD_NEXT_TRACK = range(5)

LATE_NS = 1000  # a head that is this late still gets its sector: rounding must not cost a revolution


class Disk(NamedTuple):
    """What a disk is. Flags are 0 or 1. Sources of the values: a measured drive's description, or its data sheet."""

    layout: Layout
    rev_ns: int  # one revolution
    seek_ns: np.ndarray  # (cylinders,) int64: over distance in cylinders; 0 at 0
    head_switch_ns: int  # other head, same cylinder
    write_settle_ns: int  # added to every movement before a write; a measured one may be negative
    write_seek_min_ns: int  # from the command until a write can be on track
    command_ns: np.ndarray  # (kinds, 2) int64: command to first action, of each kind after a read and after a write; for
    #   the kinds see model.devices.overhead_columns
    idle_hit_ns: int  # more of it, for a read hit that finds no read-ahead under way
    data_ready_ns: int  # preparing a transfer to the host
    reconnect_ns: int  # taking the bus again; only where it was given up
    done_ns: np.ndarray  # (2,) int64: reporting completion, READ_DONE of a read and WRITE_DONE of a write
    bus_ns: int  # one block over the bus
    holds_bus: int  # never gives up the bus during a command
    watermark: float  # part of a read that must be in the buffer before its transfer starts
    write_gather: int  # blocks of a write that must be in the buffer before they go to the platter
    read_on_arrival: int  # starts with whatever block of the request comes first
    write_on_arrival: int
    ahead: int  # reads on after a read: not, to the end of the track, of the cylinder, ahead_blocks, of the next track
    ahead_blocks: int  # at most so many
    ahead_on_hit: int  # also after a read that was in the buffer
    ahead_after_sequence: int  # only after a read that continues the one before
    ahead_stops_at_once: int  # in the middle of a sector
    almost_hits: int  # the very next block of a running read-ahead counts as a hit
    keeps_read: int  # what the host has read stays in the segment
    hits_written: int  # reads are served from written data
    buffers_writes: int  # reports a write once it is in the buffer
    joins_writes: int  # a write that continues one still in the buffer goes to its segment
    segments: int  # of the buffer; 0: no buffer
    write_segments: int  # of these for writes
    own_write_segments: int  # and for nothing else
    segment_blocks: int
    passes: int  # by how many later ones a command, or a run in the buffer, is passed over at most


class DiskState(NamedTuple):
    """Where the disks are. Times in ns."""

    units: np.ndarray  # (disks, column) int64: see model.devices.arm_columns
    buffer: np.ndarray  # (disks, column, segments) int64, so that a search of segments goes along a row: see
    #   model.devices.segment_columns

    @property
    def segments(self):
        """The buffer with a row for each segment: (disks, segments, column)."""
        return self.buffer.swapaxes(1, 2)


def new_state(disk: Disk, phases_ns: Sequence[int] | np.ndarray) -> DiskState:
    """State of as many disks as there are `phases_ns`: arms at cylinder 0, buffers empty, spindles as given."""
    units = np.zeros((len(phases_ns), arm.N_COLUMNS), np.int64)
    units[:, arm.PHASE] = phases_ns
    units[:, arm.EXPECTED] = units[:, arm.AHEAD_SEGMENT] = units[:, arm.PIECE_SEGMENT] = -1
    buffer = in_lines((len(phases_ns), cached.N_COLUMNS, max(2, disk.segments)), np.int64)
    buffer[:, cached.USED] = buffer[:, cached.RUN_BLOCK] = -1
    return DiskState(units, buffer)


@kernel
def seek_time(disk, state, unit, cylinder, head, is_write):
    """Time to move the arm to a cylinder and head."""
    ns = disk.seek_ns[abs(cylinder - state.units[unit, arm.AT_CYLINDER])]
    if head != state.units[unit, arm.AT_HEAD]:
        ns = max(ns, disk.head_switch_ns)
    return max(0, ns + disk.write_settle_ns) if is_write and ns > 0 else ns


@kernel
def rotation(disk, state, unit, now):
    """How far the spindle is past the index, in ns of its revolution."""
    return (now + state.units[unit, arm.PHASE]) % disk.rev_ns


@kernel
def find(disk, block):
    """(zone, place, cylinder, head, angle in ns of a revolution from the index) of `block`."""
    zone, place = locate(disk.layout, block)
    cylinder, head, turned = stand(disk.layout, zone, place)
    return zone, place, cylinder, head, np.int64(turned * disk.rev_ns + 0.5)


@kernel
def latency(disk, state, unit, now, its_angle):
    """Time until the angle `its_angle` (ns) comes under the head."""
    wait = (its_angle - now - state.units[unit, arm.PHASE]) % disk.rev_ns
    return 0 if wait > disk.rev_ns - LATE_NS else wait


@kernel
def wait_for(rev_ns, turned, seek, its_angle):
    """Latency of a sector after a seek that begins when the spindle is `turned` ns past the index: as `latency` does."""
    wait = its_angle - turned - seek
    while wait < 0:
        wait += rev_ns
    return wait if wait <= rev_ns - LATE_NS else 0


@kernel
def approach(disk, state, unit, now, earliest, block, is_write):
    """Go for `block` at `now`, but not onto its sector before `earliest`:
    (zone, place, cylinder, head, time on the track, time at the block)."""
    zone, place, cylinder, head, its_angle = find(disk, block)
    there = max(earliest, now + seek_time(disk, state, unit, cylinder, head, is_write))
    return zone, place, cylinder, head, there, there + latency(disk, state, unit, there, its_angle)


@kernel
def pass_on_track(disk, there, start, zone, span, is_write):
    """Let `span` sectors of one track pass a head that is on it at `there`, the first of them at `start`. Gives (when they
    begin, when all have passed)."""
    end = start + span * disk.rev_ns // disk.layout.zones[zone, laid.SECTORS]
    on_arrival = disk.write_on_arrival if is_write else disk.read_on_arrival
    if on_arrival and start - there > disk.rev_ns - (end - start):  # the head came down inside the run
        return there, there + disk.rev_ns
    return start, end


@kernel
def transfer(disk, state, unit, now, earliest, block, count, is_write, mark):
    """Pass `count` blocks under the head, from `now`: (time when the first `mark` have passed, time when all have)."""
    passed, marked = 0, now
    while passed < count:
        zone, place, cylinder, head, there, start = approach(disk, state, unit, now, earliest, block + passed, is_write)
        run, span = run_on_track(disk.layout, zone, block + passed, place, count - passed)
        start, now = pass_on_track(disk, there, start, zone, span, is_write)
        if passed < mark <= passed + run:
            marked = min(now, start + (mark - passed) * disk.rev_ns // disk.layout.zones[zone, laid.SECTORS])
        state.units[unit, arm.AT_CYLINDER], state.units[unit, arm.AT_HEAD] = cylinder, head
        passed += run
    return marked, now


@kernel
def positioning_time(disk, state, unit, now, block, is_write):
    """Time from `now` until `block` is under the head, if the arm goes for it as soon as it is free.

    A drive works on a command while its arm is still busy with the last one, as `service` has it.
    """
    command = disk.command_ns[overhead.WRITE_THROUGH if is_write else overhead.READ_MISS, state.units[unit, arm.WROTE]]
    ready = max(now + command, state.units[unit, arm.FREE])
    return approach(disk, state, unit, ready, 0, block, is_write)[5] - now


def seek_curve(n_cylinders: int, single_ns: int, average_ns: int, full_ns: int) -> np.ndarray:
    """Seek times over 0 … n_cylinders − 1 cylinders through three points of a data sheet, in integer ns.

    a + b·√(d − 1) + c·(d − 1) with the given time for one cylinder and for all. Its mean over two independent, uniformly
    distributed cylinders that differ is the given one. The closed form behind the mean: distance d has probability 2(n − d)
    / (n(n − 1)). Raises ValueError where no rising curve passes through the points.
    """
    if n_cylinders < 2 or not 0 <= single_ns <= average_ns <= full_ns:
        raise ValueError(f"seeks of {single_ns}, {average_ns} and {full_ns} ns over {n_cylinders} cylinders are no curve; "
                         "give single ≤ average ≤ full stroke, none negative, and at least two cylinders")
    steps = np.arange(n_cylinders - 1.0)
    weight = 2 * (n_cylinders - 1 - steps) / (n_cylinders * (n_cylinders - 1))
    root = np.sqrt(steps)
    rises = np.array([[weight @ root, weight @ steps], [root[-1], steps[-1]]])
    if n_cylinders == 2:
        b, c = 0.0, 0.0
    elif n_cylinders == 3:
        b, c = float(full_ns - single_ns), 0.0
    else:
        b, c = np.linalg.solve(rises, [average_ns - single_ns, full_ns - single_ns])
    curve = np.concatenate(([0.0], single_ns + b * root + c * steps))
    return np.maximum.accumulate(np.rint(np.maximum(curve, 0))).astype(np.int64)


def check_disk(disk: Disk) -> Disk:
    """The disk itself, or ValueError with one sentence on what about it cannot be."""
    if disk.rev_ns < 1:
        raise ValueError(f"a revolution takes {disk.rev_ns} ns; give a rotation speed above 0")
    if disk.seek_ns.size < disk.layout.n_cylinders or disk.seek_ns[0] != 0 or disk.seek_ns.min() < 0:
        raise ValueError(f"seek times of {disk.seek_ns.size} distances from {disk.seek_ns.min()} ns on do not fit "
                         f"{disk.layout.n_cylinders} cylinders. Give one of 0 ns or more per distance, 0 for distance 0")
    times = ("head_switch_ns", "write_seek_min_ns", "idle_hit_ns", "data_ready_ns", "reconnect_ns", "bus_ns", "segments",
             "segment_blocks", "ahead_blocks", "passes")
    for name in times:
        if getattr(disk, name) < 0:
            raise ValueError(f"{name} is {getattr(disk, name)}; give 0 or more")
    if disk.command_ns.min() < 0 or disk.done_ns.min() < 0:
        raise ValueError(f"a command takes {min(disk.command_ns.min(), disk.done_ns.min())} ns; give 0 or more")
    if disk.segments and (disk.segment_blocks < 1 or not 0 < disk.write_segments <= disk.segments
                          or (disk.own_write_segments and disk.write_segments == disk.segments)):
        raise ValueError(f"{disk.segments} segments of {disk.segment_blocks} blocks with {disk.write_segments} for writes "
                         "cannot be shared. Give both reads and writes at least one segment of at least one block")
    if disk.ahead not in range(5):
        raise ValueError(f"read-ahead scheme {disk.ahead} is unknown; give 0 to 4")
    return disk
