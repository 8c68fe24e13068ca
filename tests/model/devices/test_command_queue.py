"""Commands that wait for a disk: the elevator against its twin, the drive's choice against `positioning_time`."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.devices import drive_columns as queued
from model.devices import overhead_columns as overhead
from model.devices.cache_flush import write_out
from model.devices.command_queue import (
    FLUSH,
    READ,
    WRITE,
    Drive,
    check_drive,
    choose,
    finish,
    hand_over,
    new_drives,
    pause,
    send,
    start,
)
from model.devices.data_sheet import SheetParams, new_drive
from model.devices.disk import advance
from model.devices.disk_mechanics import positioning_time
from model.events.streams import stream

pytestmark = pytest.mark.interpreted

SHEET = SheetParams()
N = 64  # commands of a test


def idle(phase_ns=0, **changed):
    drive = new_drive(SHEET._replace(**changed))
    return drive, new_drives(drive, N, N, [phase_ns])


def scattered(seed, share=0.02):
    """(offset, bytes, kind) of N commands in the first part of the disk."""
    rng = stream(seed, "commands")
    offset = (rng.random(N) * share * SHEET.disk_bytes).astype(np.int64) // 512 * 512
    return offset, np.full(N, 8192), (rng.random(N) < 0.5).astype(np.int64)


def serve_all(drive, drives, offset, n_bytes, kind, first=0):
    """Order in which commands are served that all come at time 0, and when the last is done."""
    now, order = 0, []
    for command in range(first, N):
        send(drive, drives, 0, 0, command, offset)
    for _ in range(first, N):
        now = start(drive, drives, 0, now, offset, n_bytes, kind)
        order.append(int(finish(drives, 0)))
    pause(drives, 0, now)
    return order, now


# ---- the driver ----


class Elevator:
    """The twin: two lists that are what the words say. The second becomes the first when that is empty."""

    def __init__(self, defect=None):
        self.first, self.second, self.defect = [], [], defect

    def put(self, offset, command):
        if not self.first:
            self.first, self.second = self.second, []
        passed = self.first and offset < self.first[0][0] and self.defect != "never looks back"
        run = self.second if passed else self.first
        run.append((offset, command))
        run.sort(key=lambda entry: entry[0])  # stable: equal ones in order of arrival
        if self.defect == "first come":
            run.sort(key=lambda entry: entry[1])

    def take(self):
        if not self.first:
            self.first, self.second = self.second, []
        return self.first.pop(0)[1] if self.first else None


def replay(steps, offset, twin):
    """Commands that the drive gets, and those that the twin would give it; a step puts (True) or takes one."""
    drive, drives = idle()
    put, got, expected = 1, [], []
    hand_over(drive, drives, 0, 0, offset)  # in the drive, so that all others wait
    for puts in steps:
        if puts and put < N:
            hand_over(drive, drives, 0, put, offset)
            twin.put(offset[put], put)
            put += 1
        elif drives.units[0, queued.N_WAITING]:
            finish(drives, 0)
            got.append(int(drives.commands[0, 0]))
            expected.append(twin.take())
    return got, expected


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.lists(st.booleans(), max_size=60), st.lists(st.integers(0, 12), min_size=N, max_size=N))
def test_the_list_is_a_one_way_elevator(steps, places):
    got, expected = replay(steps + [False] * N, np.array(places) * 512, Elevator())
    assert got == expected


@pytest.mark.parametrize("defect", ["never looks back", "first come"])
def test_a_defect_of_the_elevator_shows(defect):
    rng = stream(4, "steps")
    steps, offset = (rng.random(100) < 0.6).tolist(), (rng.random(N) * 100).astype(np.int64) * 512
    assert replay(steps, offset, Elevator())[0] == replay(steps, offset, Elevator())[1]
    got, expected = replay(steps, offset, Elevator(defect))
    assert got != expected


def test_without_sorting_the_first_comes_first():
    offset, n_bytes, kind = scattered(1)
    assert serve_all(*idle(sorts=0), offset, n_bytes, kind)[0] == list(range(N))
    in_order, _ = serve_all(*idle(sorts=1), offset, n_bytes, kind)
    assert in_order[0] == 0
    runs = np.diff(offset[in_order[1:]])
    assert (runs < 0).sum() == 1  # one run from the first that waited, and one of what it had passed


def test_the_drive_holds_no_more_than_its_depth():
    offset, n_bytes, kind = scattered(2)
    for depth in (1, 4, 32):
        drive, drives = idle(depth=depth, window=1)
        for command in range(40):
            assert send(drive, drives, 0, 0, command, offset) == (command == 0)
        assert drives.units[0, [queued.N_COMMANDS, queued.N_WAITING]].tolist() == [depth, 40 - depth]
        start(drive, drives, 0, 0, offset, n_bytes, kind)
        finish(drives, 0)
        assert drives.units[0, [queued.N_COMMANDS, queued.N_WAITING]].tolist() == [depth, 39 - depth]


# ---- the drive ----


@pytest.mark.parametrize("window", [1, 2, 9, 32])
@pytest.mark.parametrize("buffers", [0, 1])
@pytest.mark.parametrize("share", [1e-5, 0.02, 0.9])
def test_the_drive_takes_what_positioning_time_finds_nearest(window, buffers, share):
    """Of the window's commands, at every step of a run; reads and writes, with the arm free and with it busy."""
    offset, n_bytes, kind = scattered(3, share)
    drive, drives = idle(123_456, depth=32, window=window, buffers_writes=buffers, passes=1000)
    for command in range(40):
        send(drive, drives, 0, 0, command, offset)
    now = 5_000_000
    for _ in range(40):
        advance(drive.disk, drives.state, 0, now)
        held = drives.commands[0, :min(window, drives.units[0, queued.N_COMMANDS])].tolist()
        costs = [positioning_time(drive.disk, drives.state, 0, now, offset[c] // 512, kind[c] == WRITE) for c in held]
        assert choose(drive, drives, 0, now, offset, kind) == np.argmin(costs)
        now = start(drive, drives, 0, now, offset, n_bytes, kind)
        finish(drives, 0)


def beside_a_stream(passes, after, n=1500):
    """How many writes of an endless stream are served before a read that comes after so many; and its wait in ns."""
    drive, drives = idle(depth=32, window=32, passes=passes)
    offset, n_bytes, kind = np.zeros(N, np.int64), np.full(N, 131072), np.ones(N, np.int64)
    n_bytes[0], kind[0], offset[0] = 8192, READ, 3 * 10**11 // 512 * 512
    sent, now, came = 0, 0, 0
    for served in range(n):
        while drives.units[0, queued.N_COMMANDS] < (31 if served < after else 32):
            command = 0 if served == after and drives.units[0, queued.N_COMMANDS] == 31 else 1 + sent % (N - 1)
            came = now if command == 0 else came
            offset[command] = sent * 131072 if command else offset[0]
            sent += command > 0
            send(drive, drives, 0, now, command, offset)
        now = start(drive, drives, 0, now, offset, n_bytes, kind)
        if finish(drives, 0) == 0:
            return served - after, now - came
    return n, now - came


@pytest.mark.slow
@pytest.mark.parametrize("passes", [0, 8, 64])
@pytest.mark.parametrize("after", [0, 500])
def test_a_read_beside_an_endless_stream_of_buffered_writes_is_served(passes, after):
    """After those that came before it, and `passes` others; each costs the arm 128 KiB at most, at the sustained rate."""
    served, wait = beside_a_stream(passes, after)
    assert served <= 31 + passes
    assert wait < (31 + passes) * 131072 * 10**9 / SHEET.outer_sustained + 100_000_000
    assert served >= passes  # a stream is nearer, as long as it may pass
    assert beside_a_stream(10**6, after)[0] == 1500  # without a bound it waits for ever


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.sampled_from([0, 1, 5, 20]), st.sampled_from([0, 1]))
def test_no_command_is_passed_over_by_more_later_ones_than_it_may_be(seed, passes, buffers):
    offset, n_bytes, kind = scattered(seed)
    order, _ = serve_all(*idle(depth=32, window=32, sorts=0, passes=passes, buffers_writes=buffers), offset, n_bytes, kind)
    passed = [sum(later > command for later in order[:place]) for place, command in enumerate(order)]
    assert max(passed) <= passes
    assert passes == 0 or max(passed) > 0


def test_choosing_among_more_serves_a_backlog_sooner():
    offset, n_bytes, kind = scattered(5)
    ends = [serve_all(*idle(depth=32, window=window, sorts=0), offset, n_bytes, kind * 0)[1] for window in (1, 4, 32)]
    assert ends[0] > 1.15 * ends[1] > 1.3 * ends[2]
    sweep = serve_all(*idle(sorts=1), offset, n_bytes, kind * 0)[1]
    assert sweep < 0.9 * ends[0]


def test_a_command_is_worked_on_while_the_arm_is_busy():
    """The nearest write behind a write in the buffer is the one that the arm meets next, overhead or not."""
    drive, drives = idle(depth=4, window=4)
    offset, n_bytes, kind = np.array([0, 10**8, 16384, 2 * 10**8]), np.full(4, 14848), np.ones(4, np.int64)
    send(drive, drives, 0, 0, 0, offset)
    now = start(drive, drives, 0, 0, offset, n_bytes, kind)
    for command in range(1, 4):
        send(drive, drives, 0, now, command, offset)
    finish(drives, 0)
    start(drive, drives, 0, now, offset, n_bytes, kind)
    assert drives.commands[0, 0] == 2


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000), st.sampled_from([(1, 1, 0), (1, 1, 1), (32, 1, 1), (32, 5, 0), (32, 32, 1)]), st.integers(0, 1))
def test_every_command_is_served_once_and_busy_is_the_sum_of_services(seed, waits, buffers):
    depth, window, sorts = waits
    drive, drives = idle(depth=depth, window=window, sorts=sorts, buffers_writes=buffers)
    order, end = serve_all(drive, drives, *scattered(seed))
    assert sorted(order) == list(range(N))
    assert drives.units[0, queued.N_SERVED] == N
    assert drives.units[0, queued.BUSY_NS] == drives.units[0, queued.SERVICE_NS] == end


def test_drawn_services_replace_all_mechanics():
    drive = new_drive(SHEET._replace(depth=32, window=32), [5, 7, 11])
    drives = new_drives(drive, N, N, [0])
    order, end = serve_all(drive, drives, *scattered(1), first=N - 4)
    assert order == list(range(N - 4, N))
    assert end == 5 + 7 + 11 + 5


def test_waiting_that_cannot_be_is_one_sentence():
    disk = new_drive(SHEET).disk
    none = np.zeros(0, np.int64)
    for waits, message in (((4, 5, 1), "window of a disk is 5 where its depth is 4"), ((0, 0, 1), "window of a disk is 0"),
                           ((1, 1, 3), "sorts of a disk is 3")):
        with pytest.raises(ValueError, match=message + ".*[;.] [Cc]hoose"):
            check_drive(Drive(disk, *waits, none))


def test_overhead_is_that_of_the_sheet():
    assert new_drive(SHEET._replace(overhead_ns=77)).disk.command_ns[overhead.READ_MISS, 0] == 77


# ---- flushes ----


@pytest.mark.parametrize("how", [{}, {"depth": 32, "window": 32}])
def test_nothing_passes_a_flush_and_it_passes_nothing(how):
    """Neither in the driver's list nor in the drive; what came before it, and what came after it, may change places."""
    drive, drives = idle(**how)
    offset, n_bytes, kind = scattered(3)
    offset[[20, 40]], n_bytes[[20, 40]], kind[[20, 40]] = FLUSH, 0, READ
    order, _ = serve_all(drive, drives, offset, n_bytes, kind)
    assert order.index(20) == 20
    assert order.index(40) == 40
    assert set(order[:20]) == set(range(20))
    assert set(order[21:40]) == set(range(21, 40))
    assert order != sorted(order)


@pytest.mark.parametrize("is_volatile", [0, 1])
def test_a_flush_ends_when_the_buffer_is_on_the_platter_if_that_can_be_lost(is_volatile):
    drive, drives = idle()
    drive = drive._replace(is_volatile=is_volatile)
    offset, n_bytes, kind = np.array([10**9, FLUSH] + [0] * (N - 2)), np.array([8192, 0] + [0] * (N - 2)), np.full(N, WRITE)
    for command in (0, 1):
        send(drive, drives, 0, 0, command, offset)
    reported = start(drive, drives, 0, 0, offset, n_bytes, kind)
    on_platter = write_out(drive.disk, drives.state, 0, reported)
    finish(drives, 0)
    done = start(drive, drives, 0, reported, offset, n_bytes, kind)
    assert on_platter > reported
    assert done == (on_platter if is_volatile else reported) + SHEET.overhead_ns
