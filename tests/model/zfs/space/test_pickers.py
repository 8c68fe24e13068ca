"""Pickers: the worked vectors of the specification, and laws that hold of every choice."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.structures.sentinels import NOWHERE
from model.zfs.space import pickers
from model.zfs.space.pickers import (
    CURSOR_DYNAMIC_FIT,
    DYNAMIC_FIT,
    FIRST_FIT,
    NEW_DYNAMIC_FIT,
    NEW_DYNAMIC_FIT_C,
    VARIANTS,
    PickerParams,
    is_fragmented,
    pick,
)
from model.zfs.space.space_map import add, clear, largest, new_space_maps, remove
from model.zfs.space.status import OK

quick = settings(deadline=None, derandomize=True, max_examples=60)
KIB, MIB = 2**10, 2**20
ALWAYS_FIRST = PickerParams(DYNAMIC_FIT, best_fit_below_pct=0, best_fit_hole_bytes=0)
ALWAYS_BEST = PickerParams(DYNAMIC_FIT, best_fit_below_pct=101)
NDF, NDF_C, CDF = (PickerParams(picker) for picker in (NEW_DYNAMIC_FIT, NEW_DYNAMIC_FIT_C, CURSOR_DYNAMIC_FIT))
ALL = [PickerParams(FIRST_FIT), ALWAYS_FIRST, ALWAYS_BEST, CDF, NDF_C, NDF]


def free_map(*segments, area=MIB, unit=KIB):
    maps = new_space_maps(1, 4096, 1)
    maps.size_bytes[0] = area
    for start, end in segments:
        assert add(maps, 0, int(start * unit), int(end * unit)) == OK
    return maps


def allocate(maps, n_bytes, params):
    offset = pick(maps, 0, int(n_bytes), params)
    if offset != NOWHERE:
        assert remove(maps, 0, offset, offset + int(n_bytes)) == OK
    return offset


# ---- the vectors of spec 2.8 ----

REQUESTS_KIB = (8, 16, 8, 12, 128, 4, 8, None, 8, 24, 0.5)  # None: the first 8 KiB are freed
SECTORS = {
    "first fit": (PickerParams(FIRST_FIT), [0, 32, 16, 64, 256, 88, 96, 112, 128, 0]),
    "dynamic fit": (ALWAYS_FIRST, [0, 16, 48, 64, 88, 344, 352, 368, 384, 0]),
    "new dynamic fit": (NDF, [0, 16, 48, 64, 88, 344, 352, 368, 384, 0]),
}


@pytest.mark.parametrize("name", SECTORS)
def test_first_vector(name):
    params, expected = SECTORS[name]
    maps, sectors = free_map((0, 1024)), []
    for request in REQUESTS_KIB:
        if request is None:
            add(maps, 0, 0, 8 * KIB)
        else:
            sectors.append(allocate(maps, request * KIB, params) // 512)
    assert sectors == expected


@pytest.mark.parametrize(("params", "second"), [(PickerParams(FIRST_FIT), 16), (ALWAYS_FIRST, 16), (ALWAYS_BEST, 16),
                                                (NDF, 64)])
def test_second_vector(params, second):
    maps = free_map((0, 8), (16, 48), (64, 320), (400, 1024))
    assert [allocate(maps, 8 * KIB, params) // KIB for _ in range(2)] == [0, second]


# ---- laws ----

holes = st.lists(st.tuples(st.integers(1, 40), st.integers(1, 80)), min_size=1, max_size=20)
requests = st.lists(st.tuples(st.integers(1, 64), st.booleans()), max_size=40)


def with_holes(gaps):
    """A free map of 512 B units: gap, hole, gap, hole ..."""
    at, segments = 0, []
    for gap, hole in gaps:
        segments.append((at + gap, at + gap + hole))
        at += gap + hole
    return free_map(*segments, area=at * 512, unit=512)


@quick
@given(holes, requests, st.sampled_from(ALL))
def test_blocks_lie_in_free_space_and_are_refused_only_when_no_hole_has_room(gaps, wanted, params):
    maps, held = with_holes(gaps), []
    for sectors, frees in wanted:
        longest, before = largest(maps, 0), maps.space[0]
        offset = allocate(maps, sectors * 512, params)  # asserts that the space is free
        if offset == NOWHERE:
            assert longest < 2 * sectors * 512 if params.picker == FIRST_FIT else longest < sectors * 512
            assert maps.space[0] == before
        else:
            held.append((offset, offset + sectors * 512))
            assert params.picker != FIRST_FIT or offset % (sectors * 512 & -(sectors * 512)) == 0
        if frees and held:
            assert add(maps, 0, *held.pop(len(held) // 2)) == OK


@quick
@given(holes, st.integers(1, 64))
def test_best_fit_leaves_the_least(gaps, sectors):
    maps = with_holes(gaps)
    fitting = [hole for _, hole in gaps if hole >= sectors]
    offset = allocate(maps, sectors * 512, ALWAYS_BEST)
    assert (offset == NOWHERE) == (not fitting)
    if fitting:
        ends = {sum(map(sum, gaps[:i])) + gap: hole for i, (gap, hole) in enumerate(gaps)}
        assert ends[offset // 512] == min(fitting)


@quick
@given(holes, st.lists(st.integers(1, 64), max_size=30))
def test_first_fit_goes_up_until_nothing_above_has_room(gaps, wanted):
    """Of one size, without frees: offsets rise, and only fall back when everything above is too short."""
    maps, last = with_holes(gaps), -1
    for _ in wanted:
        offset = allocate(maps, wanted[0] * 512, ALWAYS_FIRST)
        assert offset == NOWHERE or offset > last
        last = max(last, offset)


@pytest.mark.parametrize(("percent", "is_best"), [(30, False), (29.99, True), (29, True), (31, False)])
def test_the_free_share_is_compared_in_whole_per_cent(percent, is_best):
    free = int(10_000 * percent / 100)
    maps = free_map((0, free), area=10_000 * 512, unit=512)
    assert pickers.free_pct(maps, 0) == int(percent)
    assert pickers.wants_best_fit(maps, 0, VARIANTS["117_df"], largest(maps, 0)) == is_best


@pytest.mark.parametrize("hole", [127.5, 128])
def test_best_fit_begins_when_no_hole_of_128_kib_is_left(hole):
    """The 8 KiB hole above the cursor fits best; first fit takes the long one below it."""
    maps = free_map((0, hole), (512, 520))
    allocate(maps, 0.5 * KIB, ALWAYS_FIRST)
    add(maps, 0, 0, 512)
    maps.cursors[0, 13] = 0
    assert pick(maps, 0, 8 * KIB, VARIANTS["141_df"]) == (0 if hole == 128 else 512 * KIB)


def test_sizes_share_a_cursor_by_alignment_in_first_fit_and_by_magnitude_in_new_dynamic_fit():
    for params, cursors in ((PickerParams(FIRST_FIT), {13: 24}), (NDF, {14: 24})):
        maps = free_map((0, 1024))
        allocate(maps, 24 * KIB, params)
        assert {i: at // KIB for i, at in enumerate(maps.cursors[0].tolist()) if at} == cursors


def test_a_cursor_begins_anew_when_nothing_above_has_room():
    maps = free_map((0, 64), (100, 108))
    maps.cursors[0, 14] = 100 * KIB
    assert allocate(maps, 16 * KIB, ALWAYS_FIRST) == 0
    assert maps.cursors[0, 14] == 16 * KIB


def test_first_fit_aligns_from_the_start_of_the_segment_and_may_go_below_the_cursor():
    maps = free_map((0, 64))
    maps.cursors[0, 13] = 40 * KIB
    assert allocate(maps, 8 * KIB, PickerParams(FIRST_FIT)) == 0


def test_cursor_dynamic_fit_takes_an_extent_of_10_mib_and_fills_it():
    maps = free_map((0, 5), (20, 30), (40, 45), unit=MIB, area=50 * MIB)
    assert [allocate(maps, 128 * KIB, CDF) // KIB for _ in range(3)] == [20 * 1024, 20 * 1024 + 128, 20 * 1024 + 256]
    assert maps.cursors[0, :2].tolist() == [20 * MIB + 384 * KIB, 30 * MIB]


def test_cursor_dynamic_fit_takes_no_extent_when_holes_are_short():
    maps = free_map((0, 256), (300, 308))
    assert allocate(maps, 8 * KIB, CDF) == 300 * KIB
    assert maps.cursors[0, :2].tolist() == [308 * KIB, 308 * KIB]


def test_cursor_dynamic_fit_gives_no_hole_that_is_too_short():
    """Its extent would be the longest hole, were it shorter than the block."""
    maps = free_map((0, 300), (400, 640))
    assert allocate(maps, 512 * KIB, CDF) == NOWHERE
    assert maps.cursors[0, :2].tolist() == [0, 0]
    assert allocate(maps, 300 * KIB, CDF) == 0


def test_the_earlier_new_dynamic_fit_lets_its_cursor_jump_by_what_it_looked_for():
    """Its next search begins 10 MiB on, in the same hole, and takes the start of it."""
    maps = free_map((1, 6), (20, 40), unit=MIB, area=50 * MIB)
    assert allocate(maps, 8 * KIB, NDF_C) == 20 * MIB
    assert maps.cursors[0, 0] == 30 * MIB
    assert allocate(maps, 8 * KIB, NDF_C) == 20 * MIB + 8 * KIB
    assert maps.cursors[0, 0] == 20 * MIB + 16 * KIB


def test_new_dynamic_fit_opens_the_shortest_hole_of_16_to_32_times_the_size_or_the_longest():
    maps = free_map((16, 64), (100, 355), (400, 656))
    assert allocate(maps, 8 * KIB, NDF) == 400 * KIB  # 256 KiB and no less
    clear(maps, 0)
    add(maps, 0, 16 * KIB, 64 * KIB)
    add(maps, 0, 100 * KIB, 355 * KIB)
    assert allocate(maps, 8 * KIB, NDF) == 100 * KIB


@pytest.mark.parametrize(("variant", "hole_mib", "fragmented"), [
    ("103_ff", 1024, True), ("117_df", 400, False), ("117_df", 300, True), ("141_df", 41, False), ("141_df", 40, True),
    ("141_ndf", 160, True), ("141_ndf", 161, False)])
def test_what_each_picker_calls_fragmented(variant, hole_mib, fragmented):
    maps = free_map((0, hole_mib), unit=MIB, area=1024 * MIB)
    assert is_fragmented(maps, 0, VARIANTS[variant]) == fragmented


@pytest.mark.parametrize("params", [CDF, NDF_C])
def test_the_others_are_fragmented_without_a_hole_of_more_than_100_mib(params):
    for hole_mib, fragmented in ((100, True), (101, False)):
        assert is_fragmented(free_map((0, hole_mib), unit=MIB, area=1024 * MIB), 0, params) == fragmented


def test_without_a_hole_of_128_kib_dynamic_fit_calls_a_map_fragmented():
    assert is_fragmented(free_map(*((256 * i, 256 * i + 127) for i in range(4))), 0, VARIANTS["141_df"])
