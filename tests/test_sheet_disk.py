"""Disks of a data sheet, against what the sheet says and closed forms; and the calendar, the semaphores beside them."""

import numpy as np
import pytest

from model.calendar import NEVER, new_calendar, next_source, set_time
from model.filebench import NOBODY, Workload, make_room, new_semaphores, post, take, wake_poster
from model.sheet_disk import (
    IDLE_SINCE,
    SheetParams,
    choose,
    new_disk,
    new_drives,
    positioning_ns,
    seek_ns,
    send,
    service_time,
    track_and_angle,
    transfer_ns,
)
from model.streams import stream

SHEET = SheetParams()
DISK = new_disk(SHEET)


def one_drive(phase_ns=0):
    return new_drives(1, 40, [phase_ns])


def test_the_mean_seek_between_uniform_tracks_is_that_of_the_sheet():
    n_tracks = int(DISK.zone_track[-1] + DISK.zone_track[1])
    tracks = (stream(1, "tracks").random((2, 40_000)) * n_tracks).astype(np.int64)
    mean = np.mean([seek_ns(DISK, a, b) for a, b in tracks.T.tolist()])
    assert mean == pytest.approx(SHEET.average_seek_ns, rel=0.01)


def test_the_mean_wait_for_a_sector_is_half_a_revolution():
    times = (stream(2, "times").random(20_000) * 10**12).astype(np.int64).tolist()
    waits = [positioning_ns(DISK, one_drive(), 0, now, 4096, False) for now in times[:5000]]
    assert np.mean(waits) == pytest.approx(DISK.rev_ns / 2, rel=0.03)
    assert min(waits) >= 0
    assert max(waits) < DISK.rev_ns


def test_a_long_transfer_has_the_sustained_rate_and_a_short_one_the_instantaneous():
    assert transfer_ns(DISK, 0, 10**8) == pytest.approx(1e17 / SHEET.outer_sustained, rel=0.002)
    assert transfer_ns(DISK, 0, 65536) == pytest.approx(65536e9 / SHEET.outer_rate, rel=0.002)
    last = int(DISK.zone_offset[-1]) - 10**6
    assert transfer_ns(DISK, last, 65536) == pytest.approx(65536e9 / SHEET.inner_rate, rel=0.002)


def test_the_head_is_where_the_platter_says_when_a_read_goes_on():
    """A read right behind another one, with no overhead, waits for nothing: phases are continuous over tracks."""
    disk = new_disk(SHEET._replace(overhead_ns=0))
    drives, now, offset = one_drive(12345), 0, 10**6
    now += service_time(disk, drives, 0, now, offset, 2**17, False)
    for _ in range(50):
        offset += 2**17
        took = service_time(disk, drives, 0, now, offset, 2**17, False)
        over = abs(track_and_angle(disk, offset)[0] - track_and_angle(disk, offset - 1)[0]) * disk.skew_ns
        extra = took - transfer_ns(disk, offset, 2**17) - over
        assert min(extra % disk.rev_ns, -extra % disk.rev_ns) < 200
        now += took


def test_ncq_takes_the_command_that_is_reached_first_and_without_it_the_first():
    for window in (1, 3, 32):
        disk, drives = new_disk(SHEET._replace(window=window)), one_drive()
        offset = np.array([0, 9 * 10**10, 3 * 10**11, 10**9, 2 * 10**9])
        kind = np.zeros(5, np.int64)
        for command in range(1, 5):
            send(drives, 0, 0, command)
        place = choose(disk, drives, 0, 10**6, offset, kind)
        waits = [positioning_ns(disk, drives, 0, 10**6 + disk.overhead_ns, int(offset[c]), False) for c in range(1, 5)]
        assert place == np.argmin(waits[:window])


def test_a_write_buffer_saves_the_revolution_between_writes_with_a_small_gap():
    took = []
    for gap in (65536, -1):
        disk, drives = new_disk(SHEET._replace(stream_gap_bytes=gap)), one_drive()
        now = service_time(disk, drives, 0, 0, 0, 14848, True)
        drives.units[0, IDLE_SINCE] = now  # the first has just ended
        took.append(service_time(disk, drives, 0, now, 16384, 14848, True))
    assert took[0] < 10**6 < DISK.rev_ns * 0.9 < took[1]


# ---- the calendar ----


def test_the_next_source_is_the_earliest_and_among_equals_the_first():
    rng, calendar = stream(3, "calendar"), new_calendar(37)
    for _ in range(2000):
        source = int(rng.random() * 37)
        set_time(calendar, source, NEVER if rng.random() < 0.2 else int(rng.random() * 50))
        assert next_source(calendar) == np.argmin(calendar.time)


# ---- the semaphores ----


def test_posters_sleep_without_room_and_go_on_in_the_order_they_came():
    semaphores = new_semaphores(Workload(n_shadows=4, n_writers=1, writer_posts=3, writer_high_water=2))
    assert not take(semaphores, 1)
    assert [post(semaphores, 1, poster) for poster in range(4)] == [(True, False), (True, False), (False, False),
                                                                    (False, False)]
    semaphores.asleep[1] = 0
    make_room(semaphores, 1)
    assert [wake_poster(semaphores, 1) for _ in range(3)] == [2, 3, NOBODY]
    assert take(semaphores, 1)
    assert semaphores.posts[1] == 1
    assert semaphores.room[1] == 2 + 3 - 4


def test_the_last_post_wanted_wakes_the_taker():
    semaphores = new_semaphores(Workload(n_shadows=4, n_writers=1, writer_posts=3, writer_high_water=9))
    assert not take(semaphores, 1)
    assert [post(semaphores, 1, 0)[1] for _ in range(4)] == [False, False, True, False]
    assert semaphores.posts[1] == 1
