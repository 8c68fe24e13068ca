"""The write buffer of a disk: against its naive twin, by laws, and with defects that must be noticed."""
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.small_disk import MS, REV, ZONES, small_disk
from model.devices import arm_columns as arm
from model.devices import segment_columns as cached
from model.devices.cache_flush import write_out
from model.devices.disk import advance, service
from model.devices.disk_mechanics import new_state, transfer
from twins import disk_buffer as twin

PLAIN = {"buffers_writes": 1, "ahead": 0, "keeps_read": 0, "hits_written": 0, "segments": 3, "write_segments": 3,
         "segment_blocks": 8, "passes": 3}
requests = st.lists(st.tuples(st.integers(0, 3 * MS), st.integers(0, 183), st.integers(1, 8), st.sampled_from([0, 1, 1, 1])),
                    min_size=1, max_size=14)


def in_turn(gaps, disk):
    """(requests, each after the one before is done; when each is done; the state after them)."""
    now, state, asked, finished = 10 * MS, new_state(disk, [0]), [], []
    for gap, block, count, is_write in gaps:
        asked.append((now, block, count, is_write))
        finished.append(service(disk, state, 0, *asked[-1]))
        now = finished[-1] + gap
    return asked, finished, state


def flushed(disk, state, finished):
    end = max(finished) + 1000
    advance(disk, state, 0, end)
    return write_out(disk, state, 0, end)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(requests, st.sampled_from([1, 2, 3]))
def test_a_buffered_disk_is_its_twin_sector_by_sector(gaps, segments):
    disk = small_disk(**PLAIN | {"segments": segments, "write_segments": segments})
    asked, finished, state = in_turn(gaps, disk)
    expected, expected_end, _ = twin.serve(disk, ZONES, asked)
    assert np.allclose(finished, expected, atol=100, rtol=0)
    assert abs(flushed(disk, state, finished) - expected_end) <= 100


@pytest.mark.parametrize("defect", twin.DEFECTS)
def test_a_defect_of_the_buffer_shows(defect):
    rng, disk = np.random.default_rng(5), small_disk(**PLAIN)
    gaps = [(int(rng.integers(0, 200_000)), int(rng.integers(0, 60)) * 3, int(rng.integers(1, 9)), int(rng.random() < 0.7))
            for _ in range(60)]
    gaps += [(0, block, 4, 1) for block in range(0, 60, 4)]
    asked, finished, _ = in_turn(gaps, disk)
    assert np.allclose(finished, twin.serve(disk, ZONES, asked)[0], atol=100, rtol=0)
    assert not np.allclose(finished, twin.serve(disk, ZONES, asked, defect)[0], atol=100, rtol=0)


def n_clean(segments):
    """How many segments hold blocks, and none that is to be written."""
    return ((segments[:, cached.UNWRITTEN] == 0) & (segments[:, cached.FIRST] < segments[:, cached.LAST])).sum()


def runs_of(state):
    """Blocks that are only in the buffer, a list for each run."""
    return [list(range(row[cached.LAST] - row[cached.UNWRITTEN], row[cached.LAST])) for row in state.segments[0].tolist()]


def piece_of(state):
    """Blocks that are being written."""
    segment = state.units[0, arm.PIECE_SEGMENT]
    return set(runs_of(state)[segment][:state.units[0, arm.PIECE_BLOCKS]]) if segment >= 0 else set()


@settings(max_examples=200, deadline=None)
@given(requests, st.sampled_from([1, 3]), st.sampled_from([0, 4]))
def test_what_is_reported_is_in_the_buffer_until_it_is_written(gaps, write_segments, ahead):
    """No block is lost, none is there twice, and runs take no more room than they may."""
    disk = small_disk(**PLAIN | {"write_segments": write_segments, "ahead": ahead, "hits_written": 1, "keeps_read": 1})
    state, now = new_state(disk, [0]), 10 * MS
    for gap, block, count, is_write in gaps:
        now = service(disk, state, 0, now, block, count, is_write)
        held = set().union(*runs_of(state))
        assert not is_write or set(range(block, block + count)) <= held
        assert sum(map(len, runs_of(state))) == len(held)
        for step in range(now, now + gap, REV // 16):  # shorter than any piece
            before, piece = set().union(*runs_of(state)), piece_of(state)
            advance(disk, state, 0, step)
            assert before - set().union(*runs_of(state)) in (set(), piece)
        taken = sum(-(-len(run) // disk.segment_blocks) for run in runs_of(state))
        assert state.units[0, arm.TAKEN] == taken <= disk.write_segments
        segments = state.segments[0]
        assert (segments[:, cached.FIRST] <= segments[:, cached.LAST] - segments[:, cached.UNWRITTEN]).all()
        assert n_clean(segments) + taken <= disk.segments
        now += gap
    done = write_out(disk, state, 0, now)
    assert done >= state.units[0, arm.FREE] or done == now
    assert not set().union(*runs_of(state))


def streamed(disk, n_blocks, count):
    """(how much was in the buffer when a writer first waited, when all is on the platter) of one stream of writes."""
    now, state, quick, held = 0, new_state(disk, [0]), None, 0
    for block in range(0, n_blocks, count):
        done = service(disk, state, 0, now, block, count, 1)
        quick = quick or done - now
        if not held and done - now > quick + int(disk.command_ns.max()):
            held = sum(map(len, runs_of(state)))
        now = done
    return held, write_out(disk, state, 0, now)


def fast_disk(**changed):
    """Its bus and its electronics take no time, nearly."""
    return small_disk(**PLAIN | {"segment_blocks": 16, "bus_ns": 1000, "command_ns": np.full((4, 2), 1000)} | changed)


@pytest.mark.parametrize("segments", [2, 3, 5])
@pytest.mark.parametrize("count", [2, 4, 16])
def test_a_stream_fills_the_buffer_before_its_writer_waits(segments, count):
    disk = fast_disk(segments=segments, write_segments=segments)
    held, _ = streamed(disk, 192 - 192 % count, count)
    room = segments * disk.segment_blocks
    assert room - 12 - count <= held <= room  # a track that has been written goes at once


@pytest.mark.parametrize("count", [2, 4, 16])
def test_a_stream_takes_as_long_as_the_arm_does(count):
    disk = fast_disk()
    _, end = streamed(disk, 176, count)
    state = new_state(disk, [0])
    alone = transfer(disk, state, 0, 0, 0, 0, 176, True, 1)[1]
    assert alone <= end < alone + REV


def test_a_read_waits_for_no_more_than_the_piece_that_is_being_written():
    """However much there is to be written; and then it is written when the read is done."""
    disk = fast_disk(segments=5, write_segments=5)
    waits = []
    for n_runs in (1, 5):
        state, now = new_state(disk, [0]), 0
        for i in range(n_runs):
            now = service(disk, state, 0, now, 35 * i, 12, 1)
        waits.append(service(disk, state, 0, now, 30, 1, 0) - now)
        assert state.units[0, arm.TAKEN] == n_runs
        advance(disk, state, 0, state.units[0, arm.IDLE] + 100 * MS)
        assert state.units[0, arm.TAKEN] == 0
    piece = 1_500_000 + 100_000 + REV + REV  # a seek, settling, latency and a track
    assert max(waits) < piece + 1_500_000 + REV + REV // 4


def test_no_run_is_passed_over_without_end():
    """One far away, beside writes that are always nearer to the arm."""
    far, took = 180, {}
    for passes in (3, 10**6):
        disk = fast_disk(segments=4, write_segments=4, passes=passes)
        state, now, n = new_state(disk, [0]), 0, 0
        now = service(disk, state, 0, now, 0, 2, 1)
        now = service(disk, state, 0, now, far, 2, 1)
        while n < 200 and any(far in run for run in runs_of(state)):
            now = service(disk, state, 0, now, 4 * (n * 5 % 11), 2, 1)
            n += 1
        took[passes] = n
    assert took[3] <= 3 + 2 * 4 + 4
    assert took[10**6] > 3 * took[3]


def test_writing_a_block_anew_spares_the_arm():
    disk = fast_disk()
    state, now = new_state(disk, [0]), 0
    now = service(disk, state, 0, now, 100, 2, 1)  # keeps the arm meanwhile
    for _ in range(20):
        now = service(disk, state, 0, now, 0, 4, 1)
    assert state.units[0, arm.TAKEN] == 2
    assert write_out(disk, state, 0, now) < 4 * REV


def test_what_is_written_takes_the_room_of_what_was_read():
    disk = fast_disk(keeps_read=1, hits_written=1)
    state, now = new_state(disk, [0]), 0
    for block in (0, 40):
        now = service(disk, state, 0, now, block, 12, 0)
    n_read = (state.segments[0, :, cached.FIRST] < state.segments[0, :, cached.LAST]).sum()
    for block in range(100, 148, 12):
        now = service(disk, state, 0, now, block, 12, 1)
    assert n_read == 2
    assert n_clean(state.segments[0]) + state.units[0, arm.TAKEN] <= disk.segments
    assert n_clean(state.segments[0]) <= 1
