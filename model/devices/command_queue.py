"""Where commands wait for a disk: in the host's disk driver, and in the drive.

    send -> [ the driver's list ] -> [ the drive: up to `depth` commands ] -> served, one at a time, by `model.devices.disk`
              sorted, or in order       looks at the first `window` of them

1. The drive holds up to `depth` commands: 1 without NCQ, 32 with it. What it does not take waits in the driver.
2. The driver gives the drive the head of its list whenever there is room. That is when a command arrives, and when one is
   done, before whoever waits for that command hears of it.
3. With `sorts`, the list is a one-way elevator, `disksort`. A command at or behind the head of the list, in ascending order
   of blocks, joins the run that begins there. Any other, which the elevator has passed, joins the second run behind it.
   After the last command of the first run the second begins. Without `sorts`, the list is in order of arrival.
4. When the drive is to begin another command, it looks at the first `window` of those it holds, in order of arrival. It
   takes the one whose first sector can be reached soonest: `positioning_time` of `model.devices.disk_mechanics`. A
   window of 1 serves in order; one smaller than the depth is poor queueing. An arm that still writes what is in the
   buffer is busy, and the choice reckons with it.
5. No command in the drive is passed over by more than `passes` others: then it is served, the oldest of these first. So a
   read waits for those that came before it and for `passes` more, however long the stream of writes beside it. Without that,
   a stream is always nearest to the arm that writes it. `passes` 0 is first come, first served, a large one the shortest
   access time first. The literature has such continua, and prefers them to either end (Jacobson and Wilkes, HPL-CSP-91-7,
   1991). Their best ages commands by time instead. No maker prints its own.

6. A *flush* (`offset` FLUSH) is a barrier: the driver lets nothing pass it. The drive serves it when all that came before it
   has been served, and then what came after it. It lasts until the buffer is on the platter (`model.devices.cache_flush`).
   With a cache that survives a power cut nothing need be written.

Rule 3 is the driver `sd` of Solaris, function sd_add_buf_to_waitq (usr/src/uts/common/io/scsi/targets/sd.c); it sorts
unless `un_f_disksort_disabled` is set. That SATA disks of 2007 were sorted is from knowledge of the driver,
hence the switch. ZFS keeps up to 35 commands at a disk: without NCQ, 34 of them are in this list.

To compare 32 commands costs little. Where a command's first sector lies, and its angle, are looked up once, when it is first
among them. As no seek takes more than a few revolutions, no division is left (`wait_for`).

Left out: a drive that serves a command first because its blocks are in the buffer already, or because they find room there.
Also left out: it takes data from the host while its arm is at another command. `drawn_ns`, if not empty, replaces all
mechanics by service times drawn elsewhere, for checks against theory. That a flush is no less than a barrier for the
driver's list is our reading: `sd` sorts by block, and a flush has none.
"""

from typing import NamedTuple

import numpy as np

from model.devices import arm_columns as arm
from model.devices import drive_columns as queued
from model.devices import overhead_columns as overhead
from model.devices.cache_flush import flush
from model.devices.disk import advance, serve
from model.devices.disk_mechanics import Disk, DiskState, find, new_state, rotation, seek_time, wait_for
from model.devices.sectors import SECTOR_BYTES, SECTOR_SHIFT
from model.jit import kernel, part

READ, WRITE = 0, 1
FLUSH = -1  # offset of a command that flushes the write cache

UNKNOWN = -1  # a cylinder that has not been looked up


class Drive(NamedTuple):
    """All disks alike, and how commands wait for them."""

    disk: Disk
    depth: int  # commands that the drive holds
    window: int  # among how many of them it chooses
    sorts: int  # 1: the driver sorts what the drive has not taken
    drawn_ns: np.ndarray  # service times to use in turn; empty: mechanics
    is_volatile: int = 1  # 0: what is in the buffer survives a power cut


class Drives(NamedTuple):
    """Where the disks are, and what waits for them. Commands go by number."""

    units: np.ndarray  # [disk, column]: see model.devices.drive_columns
    commands: np.ndarray  # [disk, place]: in the drive, in order of arrival, but the one being served first
    waiting: np.ndarray  # [disk, place]: in the driver, in the order in which the drive will get them
    first: np.ndarray  # [command, column], of those in a drive: see model.devices.drive_columns
    state: DiskState
    n_drawn: np.ndarray  # one element


# ---- the driver ----


@kernel
def place_in_list(drives, unit, command, offset):
    """Where the elevator puts a command among those waiting. `offset` is per command."""
    waiting, n, own = drives.waiting, drives.units[unit, queued.N_WAITING], offset[command]
    begin = drives.units[unit, queued.BARRIER]
    if own == FLUSH or n == begin:
        return n
    place = begin + 1
    if own < offset[waiting[unit, begin]]:  # passed: behind the first run
        while place < n and offset[waiting[unit, place]] >= offset[waiting[unit, place - 1]]:
            place += 1
        while place < n and offset[waiting[unit, place]] <= own:
            place += 1
        return place
    while place < n and offset[waiting[unit, place - 1]] <= offset[waiting[unit, place]] <= own:
        place += 1
    return place


@part
def _wait(drive, drives, unit, command, offset):
    n = drives.units[unit, queued.N_WAITING]
    place = place_in_list(drives, unit, command, offset) if drive.sorts else n
    for i in range(n, place, -1):
        drives.waiting[unit, i] = drives.waiting[unit, i - 1]
    drives.waiting[unit, place] = command
    drives.units[unit, queued.N_WAITING] = n + 1
    if offset[command] == FLUSH:
        drives.units[unit, queued.BARRIER] = n + 1


@kernel
def _to_drive(drives, unit, command):
    """The drive takes a command."""
    drives.first[command, queued.ITS_CYLINDER], drives.first[command, queued.PASSED] = UNKNOWN, 0
    drives.commands[unit, drives.units[unit, queued.N_COMMANDS]] = command
    drives.units[unit, queued.N_COMMANDS] += 1


@kernel
def hand_over(drive, drives, unit, command, offset):
    """Give a command to the driver, which passes it on if the drive has room. `offset` is per command."""
    if drives.units[unit, queued.N_COMMANDS] < drive.depth:  # then nothing waits
        _to_drive(drives, unit, command)
    else:
        _wait(drive, drives, unit, command, offset)


@kernel
def send(drive, drives, unit, now, command, offset):
    """As `hand_over`. True if the drive had none: `start` it."""
    is_idle = drives.units[unit, queued.N_COMMANDS] == 0
    hand_over(drive, drives, unit, command, offset)
    if is_idle:
        drives.units[unit, queued.BUSY_SINCE] = now
    return is_idle


# ---- the drive ----


@kernel
def _find_first(disk, first, command, offset):
    """Look up where the first sector of a command lies."""
    _, _, cylinder, head, its_angle = find(disk, offset >> SECTOR_SHIFT)
    first[command, queued.ITS_CYLINDER], first[command, queued.ITS_HEAD] = cylinder, head
    first[command, queued.ITS_ANGLE] = its_angle


@kernel
def cost(disk, state, unit, turned, first, command, is_write):
    """Time until the first sector of a command is reached by an arm that begins when the spindle is at `turned`."""
    cylinder, head = first[command, queued.ITS_CYLINDER], first[command, queued.ITS_HEAD]
    seek = seek_time(disk, state, unit, cylinder, head, is_write)
    return seek + wait_for(disk.rev_ns, turned, seek, first[command, queued.ITS_ANGLE])


@part
def choose(drive, drives, unit, now, offset, kind):
    """The place, among the commands in the drive, of the one to serve next. `offset` and `kind` are per command."""
    disk, state, best, reached_first = drive.disk, drives.state, 0, -1
    n = min(drive.window, drives.units[unit, queued.N_COMMANDS])
    if n <= 1 or len(drive.drawn_ns) > 0 or drives.first[drives.commands[unit, 0], queued.PASSED] >= drive.disk.passes:
        return best  # no other has been passed over more often than the oldest
    wrote, free = state.units[unit, arm.WROTE], state.units[unit, arm.FREE]
    to_read = max(now + disk.command_ns[overhead.READ_MISS, wrote], free)  # when the arm can go
    to_write = max(now + disk.command_ns[overhead.WRITE_THROUGH, wrote], free)
    read_turned, write_turned = rotation(disk, state, unit, to_read), rotation(disk, state, unit, to_write)
    for place in range(n):
        command = drives.commands[unit, place]
        if offset[command] == FLUSH:  # what came after it waits for it
            break
        is_write = kind[command] == WRITE
        if drives.first[command, queued.ITS_CYLINDER] == UNKNOWN:
            _find_first(disk, drives.first, command, offset[command])
        reached = to_write if is_write else to_read
        reached += cost(disk, state, unit, write_turned if is_write else read_turned, drives.first, command, is_write)
        if reached_first < 0 or reached < reached_first:
            best, reached_first = place, reached
    return best


@part
def _serve(drive, drives, unit, now, offset, n_bytes, is_write):
    """Serve a command from `now` on: when it is done."""
    if len(drive.drawn_ns) > 0:
        drives.n_drawn[0] += 1
        return now + drive.drawn_ns[(drives.n_drawn[0] - 1) % len(drive.drawn_ns)]
    if offset == FLUSH:
        return flush(drive.disk, drives.state, unit, now, drive.is_volatile)
    block = offset >> SECTOR_SHIFT
    count = max(1, ((offset + n_bytes + SECTOR_BYTES - 1) >> SECTOR_SHIFT) - block)
    return serve(drive.disk, drives.state, unit, now, block, count, is_write)


@kernel
def start(drive, drives, unit, now, offset, n_bytes, kind):
    """Begin to serve the next command, of which there is one: ns when it will be done. Arguments are per command."""
    if len(drive.drawn_ns) == 0:
        advance(drive.disk, drives.state, unit, now)
    place = choose(drive, drives, unit, now, offset, kind)
    command = drives.commands[unit, place]
    for i in range(place, 0, -1):
        drives.commands[unit, i] = drives.commands[unit, i - 1]
        drives.first[drives.commands[unit, i], queued.PASSED] += 1
    drives.commands[unit, 0] = command
    done = _serve(drive, drives, unit, now, offset[command], n_bytes[command], kind[command] == WRITE)
    drives.units[unit, queued.SERVICE_NS] += done - now
    drives.units[unit, queued.SERVED_BYTES] += n_bytes[command]
    return done


@kernel
def finish(drives, unit):
    """The command being served is done: its number. The driver gives the drive the next that waits."""
    units, commands, waiting = drives.units, drives.commands, drives.waiting
    done = commands[unit, 0]
    units[unit, queued.N_COMMANDS] -= 1
    for i in range(units[unit, queued.N_COMMANDS]):
        commands[unit, i] = commands[unit, i + 1]
    units[unit, queued.N_SERVED] += 1
    if units[unit, queued.N_WAITING] > 0:
        command = waiting[unit, 0]
        units[unit, queued.N_WAITING] -= 1
        units[unit, queued.BARRIER] = max(0, units[unit, queued.BARRIER] - 1)
        for i in range(units[unit, queued.N_WAITING]):
            waiting[unit, i] = waiting[unit, i + 1]
        _to_drive(drives, unit, command)
    return done


@kernel
def pause(drives, unit, now):
    """The drive has nothing left to serve."""
    drives.units[unit, queued.BUSY_NS] += now - drives.units[unit, queued.BUSY_SINCE]


# ---- making them ----


def check_drive(drive):
    """The drive itself, or ValueError with one sentence on how commands cannot wait."""
    if not 1 <= drive.window <= drive.depth:
        raise ValueError(f"window of a disk is {drive.window} where its depth is {drive.depth}. "
                         "Choose a depth of at least 1 and a window from 1 to the depth")
    if drive.sorts not in (0, 1):
        raise ValueError(f"sorts of a disk is {drive.sorts}, but the driver sorts or does not; choose 1 or 0")
    return drive


def new_drives(drive, max_commands, n_numbers, phase_ns):
    """Idle drives, arms at cylinder 0; each with at most `max_commands` at a time, of numbers below `n_numbers`."""
    n_disks = len(phase_ns)
    places = np.zeros((2, n_disks, max_commands), np.int64)
    return Drives(units=np.zeros((n_disks, queued.N_COLUMNS), np.int64), commands=places[0], waiting=places[1],
                  first=np.zeros((n_numbers, queued.N_FIRST_COLUMNS), np.int64), state=new_state(drive.disk, phase_ns),
                  n_drawn=np.zeros(1, np.int64))
