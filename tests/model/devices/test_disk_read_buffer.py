"""The buffer of a disk: what is read ahead, and what a write in it does to that."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.small_disk import MS, REV, served_by, small_disk
from model.devices import arm_columns as arm
from model.devices import segment_columns as cached
from model.devices.disk import _segment_of, advance, service
from model.devices.disk_mechanics import (
    AHEAD_BLOCKS,
    AHEAD_NEXT_TRACK,
    FROM_AHEAD,
    FROM_BUFFER,
    FROM_PLATTER,
    PARTLY,
    TO_BUFFER,
    TO_PLATTER,
    new_state,
)

pytestmark = pytest.mark.interpreted


# ---- buffer ----

BUFFERED = {"segments": 3, "buffers_writes": 1, "write_segments": 3}


@pytest.mark.slow
def test_what_was_read_ahead_costs_command_and_bus():
    disk = small_disk(**BUFFERED)
    asked = [(10 * MS, 20, 4, 0), (40 * MS, 24, 4, 0), (41 * MS, 28, 40, 0)]
    (_, second, _), state = served_by(disk, asked)
    assert second - 40 * MS == 10_000 + 5000 + 1000 + 4 * 6000 + 3000  # hit, nothing read ahead any more, prepare, bus, done
    assert state.units[0, arm.SERVED] == PARTLY


def test_a_stream_meets_its_read_ahead_and_loses_no_revolution():
    disk = small_disk(**BUFFERED, almost_hits=1, command_ns=np.full((4, 2), 1000))
    now, state, ends = 10 * MS, new_state(disk, [0]), []
    for block in range(0, 88, 4):
        now = service(disk, state, 0, now, block, 4, 0)
        ends.append(now)
        assert state.units[0, arm.SERVED] in ((FROM_PLATTER,) if block == 0 else (FROM_AHEAD, FROM_BUFFER, PARTLY))
    four_tracks_later = np.diff(ends)[1:].sum()
    assert four_tracks_later < 21 * 4 * REV / 12 + 4 * REV  # with a lost revolution per request it would be 21 of them


def test_a_buffered_write_is_reported_before_it_is_on_the_platter():
    disk = small_disk(**BUFFERED)
    (written, through), state = served_by(disk, [(10 * MS, 100, 4, 1), (10 * MS + 200_000, 20, 4, 0)])
    assert written - 10 * MS == 50_000 + 1000 + 4 * 6000 + 4000
    alone = served_by(disk, [(10 * MS + 200_000, 20, 4, 0)])[0][0]
    assert through > alone  # the read had to wait for the arm
    assert served_by(disk._replace(buffers_writes=0), [(10 * MS, 100, 4, 1)])[0][0] > written
    assert state.units[0, arm.SERVED] == FROM_PLATTER


def test_a_write_larger_than_a_segment_waits_for_the_platter():
    disk = small_disk(**BUFFERED, ahead_blocks=4)
    _, state = served_by(disk, [(10 * MS, 0, 49, 1)])
    assert state.units[0, arm.SERVED] == TO_PLATTER
    _, state = served_by(disk, [(10 * MS, 0, 48, 1)])
    assert state.units[0, arm.SERVED] == TO_BUFFER


@pytest.mark.parametrize(("segments", "segment_blocks", "count"), [(1, 16, 4), (3, 8, 4), (2, 8, 8), (4, 12, 6)])
def test_a_stream_of_writes_is_no_faster_than_the_platter_once_the_buffer_is_full(segments, segment_blocks, count):
    """What has been reported and is not on the platter yet is no more than the buffer holds, and not much less."""
    disk = small_disk(segments=segments, write_segments=segments, segment_blocks=segment_blocks, buffers_writes=1,
                      command_ns=np.full((4, 2), 1000))
    now, state, in_buffer = 10 * MS, new_state(disk, [0]), segments * segment_blocks
    written = []  # (blocks up to here, when they are on the platter)
    for block in range(0, 192, count):
        now = service(disk, state, 0, now, block, count, 1)
        written.append((block + count, state.units[0, arm.FREE]))
        on_platter = max((blocks for blocks, when in written if when <= now), default=0)
        assert block + count - on_platter <= in_buffer + count
    lost = state.units[0, arm.FREE] - 10 * MS - 96 * REV // 12 - 96 * REV // 8
    assert lost < 192 // count * REV / 2  # with a revolution for each write it would be twice that


def test_a_write_waits_for_a_clean_segment():
    disk = small_disk(**BUFFERED, joins_writes=0)
    asked = [(10 * MS + i, 13 * i, 2, 1) for i in range(4)]
    finished, _ = served_by(disk, asked)
    took = np.array(finished) - [now for now, *_ in asked]
    assert took[:3].max() < 1 * MS
    assert took[3] > took[:3].max()


def test_written_data_replaces_what_was_read():
    disk = small_disk(**BUFFERED, keeps_read=1, hits_written=0)
    _, state = served_by(disk, [(10 * MS, 20, 4, 0), (30 * MS, 21, 1, 1), (60 * MS, 20, 4, 0)])
    assert state.units[0, arm.SERVED] == FROM_PLATTER
    _, state = served_by(disk, [(10 * MS, 20, 4, 0), (30 * MS, 91, 1, 1), (60 * MS, 20, 4, 0)])
    assert state.units[0, arm.SERVED] == FROM_BUFFER


def test_the_least_recently_used_segment_is_given_up():
    disk = small_disk(**BUFFERED, keeps_read=1, ahead=0)
    visits = [0, 40, 80, 0, 120]  # three segments: the fourth read is a hit, so that the fifth takes the place of 40
    asked = [(10 * MS * (i + 1), block, 4, 0) for i, block in enumerate(visits)]
    for block, served in ((0, FROM_BUFFER), (80, FROM_BUFFER), (40, FROM_PLATTER)):
        _, state = served_by(disk, [*asked, (100 * MS, block, 4, 0)])
        assert state.units[0, arm.SERVED] == served


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 100), st.integers(1, 8), st.lists(st.integers(1, 3 * MS), min_size=2, max_size=8),
       st.sampled_from([1, 2, 3, 4]), st.integers(0, 150))
def test_read_ahead_does_not_care_how_often_it_is_looked_at(block, count, pauses, ahead, following):
    disk = small_disk(**BUFFERED, ahead=ahead)
    (now,), often = served_by(disk, [(10 * MS, block, count, 0)])
    _, once = served_by(disk, [(10 * MS, block, count, 0)])
    for pause in pauses:
        now += pause
        advance(disk, often, 0, now)
    advance(disk, once, 0, now)
    assert (often.segments == once.segments).all()
    ends = [service(disk, state, 0, now, following, 4, 0) for state in (often, once)]
    assert abs(ends[0] - ends[1]) <= 100  # ns of rounding


def test_read_ahead_stops_at_its_limit():
    for ahead, limit in ((0, 4), (1, 12), (2, 24), (AHEAD_BLOCKS, 44), (AHEAD_NEXT_TRACK, 12)):
        disk = small_disk(**BUFFERED, ahead=ahead)
        (now,), state = served_by(disk, [(10 * MS, 0, 4, 0)])
        advance(disk, state, 0, now + 100 * MS)
        assert state.segments[0, :, 1].max() == limit


def test_disks_of_one_state_do_not_disturb_each_other():
    disk = small_disk(**BUFFERED)
    asked = [(10 * MS, 20, 4, 0), (14 * MS, 100, 4, 1), (30 * MS, 24, 4, 0)]
    alone, _ = served_by(disk, asked)
    state = new_state(disk, [500_000, 0, 700_000])
    together = []
    for now, block, count, is_write in asked:
        service(disk, state, 0, now, (block * 7) % 180, count, 1 - is_write)
        together.append(service(disk, state, 1, now, block, count, is_write))
    assert together == alone


def furthest(disk, state, block):
    """The segment to read `block` from, or -1: of all that hold it the one that reaches furthest, of these the first."""
    ahead, holding = state.units[0, arm.AHEAD_SEGMENT], []
    for segment, row in enumerate(state.segments[0]):
        first, last, is_written = row[[cached.FIRST, cached.LAST, cached.WRITTEN]].tolist()
        is_next = disk.almost_hits and block == last and segment == ahead
        if (first <= block < last or is_next) and (disk.hits_written or not is_written):
            holding.append((-last, segment))
    return min(holding, default=(0, -1))[1]


@pytest.mark.parametrize("almost_hits", [0, 1])
@pytest.mark.parametrize("hits_written", [0, 1])
def test_a_block_is_read_from_the_segment_that_reaches_furthest(almost_hits, hits_written):
    disk = small_disk(segments=6, almost_hits=almost_hits, hits_written=hits_written)
    rng, state, chosen = np.random.default_rng(7), new_state(disk, [0]), []
    for block in rng.integers(0, 14, 200).tolist():
        state.buffer[0, cached.FIRST] = rng.integers(0, 12, 6)
        state.buffer[0, cached.LAST] = state.buffer[0, cached.FIRST] + rng.integers(0, 4, 6)
        state.buffer[0, cached.WRITTEN] = rng.integers(0, 2, 6)
        state.units[0, arm.AHEAD_SEGMENT] = rng.integers(-1, 6)
        chosen.append(furthest(disk, state, block))
        assert _segment_of(disk, state, 0, block) == chosen[-1]
    assert set(chosen) == set(range(-1, 6))
