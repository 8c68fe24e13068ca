"""The disk: against its naive twin, against closed forms, and with defects that must be noticed."""
import math

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from model.devices import arm_columns as arm
from model.devices import layout_columns as laid
from model.devices.disk import advance, check_request, service
from model.devices.disk_geometry import Zone, block_at, locate, make_layout, run_on_track
from model.devices.disk_mechanics import (
    AHEAD_BLOCKS,
    AHEAD_NEXT_TRACK,
    FROM_AHEAD,
    FROM_BUFFER,
    FROM_PLATTER,
    PARTLY,
    TO_BUFFER,
    TO_PLATTER,
    Disk,
    check_disk,
    latency,
    new_state,
    positioning_time,
    seek_curve,
    transfer,
)
from twins import disk as disk_twin

pytestmark = pytest.mark.interpreted

REV = 2_400_000  # ns; divides by every number of sectors used here
MS = 1_000_000
ZONES = (Zone(0, 3, 12, track_skew=3, cylinder_skew=5, offset=1), Zone(4, 9, 8, track_skew=2, cylinder_skew=4, offset=3))


def small_disk(zones=ZONES, heads=2, **changed):
    """Two zones of ten cylinders; no buffer unless asked for."""
    layout = make_layout(list(zones), heads)
    fields = {
        "layout": layout, "rev_ns": REV, "seek_ns": seek_curve(layout.n_cylinders, 400_000, 800_000, 1_500_000),
        "head_switch_ns": 300_000, "write_settle_ns": 100_000, "write_seek_min_ns": 50_000,
        "command_ns": np.array([[10, 20], [30, 40], [50, 60], [70, 80]]) * 1000, "idle_hit_ns": 5000, "data_ready_ns": 1000,
        "reconnect_ns": 2000, "done_ns": np.array([3000, 4000]), "bus_ns": 6000, "holds_bus": 0, "watermark": 0.0,
        "write_gather": 1, "read_on_arrival": 0, "write_on_arrival": 0, "ahead": AHEAD_BLOCKS, "ahead_blocks": 40,
        "ahead_on_hit": 0, "ahead_after_sequence": 0, "ahead_stops_at_once": 1, "almost_hits": 0, "keeps_read": 0,
        "hits_written": 1, "buffers_writes": 0, "joins_writes": 1, "segments": 0, "write_segments": 1,
        "own_write_segments": 0, "segment_blocks": 48, "passes": 64}
    return check_disk(Disk(**(fields | changed)))


def served_by(disk, requests):
    """Finishing times of (now, block, count, is_write) and the state after them."""
    state = new_state(disk, [0])
    return [service(disk, state, 0, *request) for request in requests], state


# ---- layout ----

@st.composite
def layouts(draw):
    """(zones, heads, scheme, cylinders per range): any scheme of sparing with slips and remaps that fit."""
    scheme, heads, per_range = draw(st.integers(0, 10)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    zones, first = [], draw(st.integers(0, 2))
    for _ in range(draw(st.integers(1, 3))):
        cylinders, sectors = draw(st.integers(2, 5)), draw(st.integers(3, 8))
        size = cylinders * heads * (1 if scheme == 1 else sectors)
        spares = draw(st.integers(0, 2)) if scheme not in (0, 7) else 0
        slips = draw(st.lists(st.integers(0, size - 1), max_size=3, unique=True))
        empty = draw(st.integers(0, 4))
        zones.append(Zone(first, first + cylinders - 1, sectors, empty=empty, spares=spares, slips=tuple(slips)))
        first += cylinders + draw(st.integers(0, 1))
    return tuple(zones), heads, scheme, per_range


def layout_or_assume(zones, heads, scheme, per_range):
    try:
        return make_layout(list(zones), heads, scheme, per_range)
    except ValueError:
        assume(False)


def with_remap(plan, draw_from):
    """The plan with one data place of its first zone remapped to a place without data, if there is one."""
    zones, heads, scheme, per_range = plan
    data = [place for zone, place in disk_twin.places(*plan) if zone == 0]
    grain = zones[0].sectors if scheme == 1 else 1
    size = (zones[0].last_cylinder - zones[0].first_cylinder + 1) * heads * zones[0].sectors
    bare = sorted({p // grain for p in range(size)} - {p // grain for p in data} - set(zones[0].slips))
    if not bare or not data:
        return plan
    pair = (data[draw_from % len(data)] // grain, bare[draw_from % len(bare)])
    return (zones[0]._replace(remaps=(pair,)), *zones[1:]), heads, scheme, per_range


@settings(max_examples=300, deadline=None)
@given(layouts(), st.integers(0, 1000))
@example(((Zone(0, 2, 4, spares=1, slips=(2, 9)),), 2, 5, 1), 3)
@example(((Zone(0, 4, 4, spares=2, slips=(30,)),), 2, 8, 3), 1)
def test_blocks_and_places_are_a_bijection_and_the_twins(plan, pick):
    layout_or_assume(*plan)
    plan = with_remap(plan, pick)
    layout = make_layout(list(plan[0]), *plan[1:])
    expected = disk_twin.places(*plan)
    assert [locate(layout, block) for block in range(layout.n_blocks)] == expected
    block_of = {at: block for block, at in enumerate(expected)}
    for zone, described in enumerate(plan[0]):
        for place in range((described.last_cylinder - described.first_cylinder + 1) * plan[1] * described.sectors):
            assert block_at(layout, zone, place) == block_of.get((zone, place), -1)


@settings(max_examples=200, deadline=None)
@given(layouts(), st.integers(0, 1000), st.integers(0, 1000), st.integers(1, 12))
def test_a_run_is_what_passes_the_head_in_order(plan, pick, start, limit):
    layout_or_assume(*plan)
    plan = with_remap(plan, pick)
    layout, at = make_layout(list(plan[0]), *plan[1:]), disk_twin.places(*plan)
    block = start % layout.n_blocks
    zone, place = at[block]
    run, span = run_on_track(layout, zone, block, place, limit)
    sectors = layout.zones[zone, laid.SECTORS]
    passed = [p for z, p in at[block:block + run]]
    assert 1 <= run <= limit
    assert passed == sorted(passed)
    assert passed[-1] - place + 1 == span
    assert passed[-1] // sectors == place // sectors
    assert {z for z, _ in at[block:block + run]} == {zone}


@pytest.mark.parametrize("defect", ["forgets slips", "forgets spares", "forgets remaps"])
def test_a_defect_of_the_layout_shows(defect):
    plan = with_remap(((Zone(0, 2, 4, spares=1, slips=(2,)), Zone(3, 4, 3, spares=1)), 2, 2, 1), 5)
    layout = make_layout(list(plan[0]), *plan[1:])
    assert [locate(layout, b) for b in range(layout.n_blocks)] == disk_twin.places(*plan)
    assert [locate(layout, b) for b in range(layout.n_blocks)] != disk_twin.places(*plan, defect)


# ---- arm and spindle ----

requests = st.lists(st.tuples(st.integers(0, 6 * MS), st.integers(0, 185), st.integers(1, 7), st.integers(0, 1)),
                    min_size=1, max_size=6)


def in_turn(gaps):
    """Requests with times far enough apart that the disk is free, and some that are not."""
    now, result = 10 * MS, []
    for gap, block, count, is_write in gaps:
        result.append((now, block, count, is_write))
        now += gap + 20 * MS * (gap % 2)
    return result


@settings(max_examples=200, deadline=None)
@given(requests)
def test_service_is_the_twins_sector_by_sector(gaps):
    disk, asked = small_disk(), in_turn(gaps)
    finished, _ = served_by(disk, asked)
    assert np.allclose(finished, disk_twin.serve(disk, ZONES, asked), atol=100, rtol=0)


@pytest.mark.parametrize("defect", ["forgets skew", "settles reads", "never switches heads", "stops the spindle",
                                    "keeps the arm"])
def test_a_defect_of_the_arm_shows(defect):
    asked = [(i * 30 * MS + 7 * i * i, 17 * i % 180, 1 + i % 9, i % 2) for i in range(1, 60)]
    finished, _ = served_by(small_disk(), asked)
    assert not np.allclose(finished, disk_twin.serve(small_disk(), ZONES, asked, defect), atol=100, rtol=0)


def mean_seek(seek_ns):
    """Mean over all ordered pairs of cylinders that differ."""
    n = len(seek_ns)
    return sum(seek_ns[abs(a - b)] for a in range(n) for b in range(n)) / (n * (n - 1))


@pytest.mark.parametrize("n", [4, 10, 150])
def test_the_mean_random_seek_is_the_data_sheets(n):
    curve = seek_curve(n, 400_000, 800_000, 1_500_000)
    assert curve[[0, 1, -1]].tolist() == [0, 400_000, 1_500_000]
    assert (np.diff(curve) >= 0).all()
    assert mean_seek(curve) == pytest.approx(800_000, abs=1)
    assert mean_seek(curve + 5000 * (np.arange(n) > 1)) != pytest.approx(800_000, abs=1)  # a curve that is off shows


def rotational_latencies(disk, n=4000):
    state, rng = new_state(disk, [0]), np.random.default_rng(7)
    return np.array([latency(disk, state, 0, int(now), disk.rev_ns // 4) for now in rng.integers(0, 10**12, n)])


def is_half_a_revolution(waits):
    """Within 3.3 standard errors of a uniform distribution, in mean and in variance."""
    return (abs(waits.mean() - REV / 2) < 3.3 * REV / math.sqrt(12 * len(waits))
            and abs(waits.var() / (REV**2 / 12) - 1) < 3.3 * math.sqrt(0.8 / len(waits)))


def test_random_requests_wait_half_a_revolution():
    waits = rotational_latencies(small_disk())
    assert waits.min() >= 0
    assert waits.max() < REV
    assert is_half_a_revolution(waits)
    assert not is_half_a_revolution(rotational_latencies(small_disk(rev_ns=REV * 9 // 10)))


def sequential_time(disk, zone, cylinders):
    """Time to pass whole cylinders of a zone, from the moment its first sector comes under the head."""
    state = new_state(disk, [0])
    zones = disk.layout.zones
    first, last = zones[zone, laid.BLOCK], zones[zone + 1, laid.BLOCK]
    state.units[0, arm.AT_CYLINDER] = zones[zone, laid.CYLINDER]
    count = int((last - first) * cylinders // (zones[zone + 1, laid.CYLINDER] - zones[zone, laid.CYLINDER]))
    start = positioning_time(disk, state, 0, 0, first, 0)
    return transfer(disk, state, 0, 0, 0, first, count, False, 1)[1] - start


@pytest.mark.parametrize("zone", [0, 1])
@pytest.mark.parametrize("cylinders", [1, 3])
def test_sequential_reading_runs_at_the_media_rate_of_its_zone(zone, cylinders):
    disk, described, heads = small_disk(command_ns=np.zeros((4, 2), np.int64)), ZONES[zone], 2
    skews = cylinders * (heads - 1) * described.track_skew + (cylinders - 1) * described.cylinder_skew
    expected = cylinders * heads * REV + skews * REV // described.sectors
    assert sequential_time(disk, zone, cylinders) == pytest.approx(expected, abs=50)
    late = disk._replace(head_switch_ns=int(described.track_skew * REV / described.sectors) + 2000)  # the skew is too short
    assert sequential_time(late, zone, cylinders) == pytest.approx(expected + cylinders * REV, abs=50)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10 * MS), st.integers(0, 170), st.integers(1, 20), st.integers(0, 1), st.sampled_from([0, 3]))
def test_service_time_is_positive_and_grows_with_count(now, block, count, is_write, segments):
    disk = small_disk(segments=segments, buffers_writes=int(segments > 0))
    took = [served_by(disk, [(now, block, n, is_write)])[0][0] - now for n in range(1, count + 1)]
    assert took[0] > 0
    assert (np.diff(took) >= 0).all()


def test_the_disk_with_the_nearest_block_is_reached_first():
    """What a choice among queued requests rests on: the cost that `positioning_time` names is what `service` then takes."""
    disk = small_disk(reconnect_ns=0, data_ready_ns=0, bus_ns=0, done_ns=np.zeros(2, np.int64))
    for block in range(0, 180, 7):
        (before,), state = served_by(disk, [(5 * MS, 50, 3, 0)])
        now = before + 123_456
        cost = positioning_time(disk, state, 0, now, block, 0)
        sector = REV // disk.layout.zones[locate(disk.layout, block)[0], laid.SECTORS]
        assert service(disk, state, 0, now, block, 1, 0) == now + cost + sector


# ---- buffer ----

BUFFERED = {"segments": 3, "buffers_writes": 1, "write_segments": 3}


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


# ---- impossible disks ----

@pytest.mark.parametrize(("changed", "message"), [
    ({"rev_ns": 0}, "rotation speed above 0"),
    ({"seek_ns": np.full(10, -1)}, "seek times"),
    ({"seek_ns": np.zeros(3, np.int64)}, "do not fit 10 cylinders"),
    ({"bus_ns": -1}, "bus_ns is -1"),
    ({"segments": 1, "own_write_segments": 1}, "cannot be shared"),
    ({"ahead": 7}, "read-ahead scheme 7"),
])
def test_an_impossible_disk_is_one_sentence(changed, message):
    with pytest.raises(ValueError, match=message):
        small_disk(**changed)


@pytest.mark.parametrize(("zones", "heads", "scheme", "message"), [
    ([], 2, 0, "holds nothing"),
    ([Zone(0, 3, 12)], 0, 0, "0 heads"),
    ([Zone(0, 3, 0)], 2, 0, "0 sectors per track"),
    ([Zone(0, -1, 12)], 2, 0, "at least one cylinder"),
    ([Zone(0, 3, 12), Zone(3, 5, 12)], 2, 0, "outside in"),
    ([Zone(0, 3, 12, spares=24)], 2, 2, "leave at least one"),
    ([Zone(0, 3, 12, slips=(96,))], 2, 7, "places are 0 to 95"),
    ([Zone(0, 3, 12, spares=1, slips=(0, 1))], 2, 3, "slips 2 defects where 1"),
    ([Zone(0, 3, 12, empty=96)], 2, 0, "holds 0 blocks"),
    ([Zone(0, 3, 12)], 2, 11, "scheme 11"),
    ([Zone(0, 3, 12, spares=1, remaps=((3, 7),))], 2, 3, "a block already"),
])
def test_an_impossible_layout_is_one_sentence(zones, heads, scheme, message):
    with pytest.raises(ValueError, match=message):
        make_layout(zones, heads, scheme)


@pytest.mark.parametrize("points", [(-1, 5, 9), (5, 4, 9), (5, 9, 8)])
def test_an_impossible_seek_curve_is_one_sentence(points):
    with pytest.raises(ValueError, match="no curve"):
        seek_curve(10, *points)


@pytest.mark.parametrize(("block", "count", "message"), [(0, 0, "0 blocks"), (-1, 1, "not on a disk"), (191, 2, "0 to 191")])
def test_an_impossible_request_is_one_sentence(block, count, message):
    disk = small_disk()
    assert disk.layout.n_blocks == 192
    with pytest.raises(ValueError, match=message):
        check_request(disk, block, count)
