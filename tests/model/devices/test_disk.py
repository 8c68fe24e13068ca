"""The disk: against its naive twin, against closed forms, and with defects that must be noticed."""
import math

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from drivers.small_disk import MS, REV, ZONES, served_by, small_disk
from model.devices import arm_columns as arm
from model.devices import layout_columns as laid
from model.devices.disk import check_request, service
from model.devices.disk_geometry import Zone, block_at, locate, make_layout, run_on_track
from model.devices.disk_mechanics import (
    latency,
    new_state,
    positioning_time,
    seek_curve,
    transfer,
)
from twins import disk as disk_twin

pytestmark = pytest.mark.interpreted


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


@pytest.mark.slow
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
