"""Bitmaps with summaries against a plain list of truth values."""

import resource

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from defects.free_runs import DEFECTS
from model.jit import kernel
from model.structures import bits as bits_of_words
from model.structures.bits import above, below, bit, count, lowest, shift_right, zeros_above
from model.structures.skip_lists import new_order
from model.zfs.eras import era
from model.zfs.metaslab.new_pool import new_pool
from model.zfs.metaslab.state import FAST, TopVdev
from model.zfs.space import pickers, replay_exact, replay_fast, space_map
from model.zfs.space.bitmap_pickers import is_fragmented, pick_block
from model.zfs.space.bitmaps import MAX_BLOCKS, MAX_LONG, blocks_of, new_free_blocks
from model.zfs.space.free_runs import give, longest, new_free_space, next_run, run_length, run_start, take
from model.zfs.space.long_free_runs import _levels, new_long_runs
from model.zfs.space.pickers import VARIANTS, PickerParams
from model.zfs.space.replay_exact import ALLOCATE, FREE, NEW_MAP, Operations
from model.zfs.space.status import FULL, OK
from support.processes import interpreted
from twins.free_runs import BY_THREES, FAR, both, far_apart, same_space, threes_and_sectors, walk

pytestmark = pytest.mark.interpreted

RULES = [*VARIANTS.values(), PickerParams(2), PickerParams(3)]
quick = settings(deadline=None, derandomize=True, max_examples=30)

sizes = st.one_of(st.integers(1, 5), st.sampled_from([8, 24, 31, 32, 33, 63, 64, 65, 100]))
steps = st.lists(st.tuples(st.sampled_from(["pick", "pick", "give", "give", "take"]), sizes, st.integers(0, 2**20)),
                 min_size=10, max_size=120)


@pytest.mark.slow
@pytest.mark.parametrize("params", RULES, ids=lambda params: f"{params.picker}-{params.best_fit_below_pct}")
@pytest.mark.parametrize("first_unit", [0, *(pytest.param(unit, marks=pytest.mark.slow) for unit in (4096, FAR, 2**40))])
@settings(quick, max_examples=15)
@given(st.integers(100, 700), st.integers(0, 100), steps)
def test_free_blocks_are_a_list_of_truth_values(params, first_unit, n_blocks, used_pct, steps):
    fb, twin = both(n_blocks, params, first_unit)
    for block in range(n_blocks):
        if block * 7919 % 100 < used_pct:
            assert take(fb, 1, block, 1) == OK
            twin.free[block] = False
    walk(fb, twin, steps)
    same_space(fb, twin)


@pytest.mark.slow
def test_laws_notice_defects():
    """Each deliberate defect is noticed, and the model as it is passes."""
    noticed = interpreted("defects.free_runs").splitlines()
    assert noticed == [f"{name}: {'passes' if name == 'none' else 'noticed'}" for name in DEFECTS]


# ---- blocks of three sectors ----


@pytest.mark.slow
@pytest.mark.parametrize("params", BY_THREES, ids=lambda params: f"{params.picker}-{params.best_fit_below_pct}")
@settings(quick, max_examples=15)
@given(st.integers(300, 2000), st.integers(0, 2**30), st.sampled_from([2**20, FAR, 2**40]))
def test_blocks_of_three_sectors_go_where_sectors_by_threes_would(params, n_sectors, seed, first_unit):
    threes_and_sectors(n_sectors, params, seed, first_unit)


def test_a_thousand_million_units_are_divided_as_they_should_be():
    for grain, n_blocks in ((1, 64), (3, 64), (5, 64), (127, 64), (127, 2**24), (15, 2**27), (3, 2**27)):
        fb = new_free_blocks(n_blocks, 512 * grain)
        for blocks in (0, 1, 7, max(n_blocks, 2**24) - 1):
            assert blocks_of(fb, blocks * grain) == blocks_of(fb, blocks * grain + grain - 1) == blocks
            assert blocks_of(fb, -1 - blocks) < 0


def test_other_pickers_take_no_blocks_of_three_sectors():
    with pytest.raises(ValueError, match="blocks are of 1536 B") as caught:
        new_pool([TopVdev(asize=2**26)], era("b103").metaslab, FAST, 1536, 2**21)
    assert "Choose" in str(caught.value)


# ---- against the exact engine ----


def exact_and_fast(n_blocks, unit):
    maps, fb = space_map.new_space_maps(1, 4 * n_blocks, 1), new_free_blocks(n_blocks, unit)
    maps.size_bytes[0] = n_blocks * unit
    assert space_map.add(maps, 0, 0, n_blocks * unit) == OK
    assert give(fb, 0, 0, n_blocks) == OK
    return maps, fb


@pytest.mark.slow
@pytest.mark.parametrize("params", RULES, ids=lambda params: f"{params.picker}-{params.best_fit_below_pct}")
@settings(quick, max_examples=15)
@given(st.integers(1, 40), st.integers(20, 95), st.booleans(), st.integers(0, 2**30))
def test_both_engines_take_the_same_decisions(params, n, used_pct, mixed, seed):
    """With blocks of one size always; with blocks of mixed sizes until the first choice that depends on a tree's shape."""
    maps, fb = exact_and_fast(2000, 4096)
    rng, held = np.random.default_rng(seed), []
    for _ in range(300):
        k = int(rng.integers(1, n + 1)) if mixed else n
        if maps.space[0] > 4096 * 2000 * (100 - used_pct) // 100:
            block = pick_block(fb, 0, k, params)
            if fb.n_ambiguous[0]:
                assert mixed
                return
            assert (block * 4096 if block >= 0 else -1) == pickers.pick(maps, 0, k * 4096, params)
            if block >= 0:
                held.append((block, k))
                assert take(fb, 0, block, k) == space_map.remove(maps, 0, block * 4096, (block + k) * 4096) == OK
        for _ in range(min(len(held), int(rng.integers(0, 4)))):
            block, k = held.pop(int(rng.integers(len(held))))
            assert give(fb, 0, block, k) == space_map.add(maps, 0, block * 4096, (block + k) * 4096) == OK
        assert pickers.is_fragmented(maps, 0, params) == is_fragmented(fb, 0, params)
        assert (longest(fb, 0) * 4096, fb.n_runs[0]) == (space_map.largest(maps, 0), maps.n_segments[0])


# ---- large maps, and their borders ----


@pytest.mark.parametrize("params", RULES, ids=lambda params: f"{params.picker}-{params.best_fit_below_pct}")
@settings(quick, max_examples=12)
@given(st.sampled_from([2**24, 2**24 + 1, 5 * 2**23, 2**26, MAX_BLOCKS]), st.integers(0, 2**30), st.booleans())
def test_both_engines_take_the_same_decisions_in_the_largest_maps(params, n_blocks, seed, by_threes):
    far_apart(params, n_blocks, seed, 1536 if by_threes and params in BY_THREES else 4096)


@pytest.mark.parametrize(("n_blocks", "unit"), [(2**12, 4096), (100, 512), (2**18 + 1, 1536)])
def test_what_is_free_from_the_beginning_is_what_all_of_it_given_back_is(n_blocks, unit):
    given_back, from_the_beginning = new_free_blocks([n_blocks, 70], unit), new_free_space([n_blocks, 70], unit)
    assert give(given_back, 0, 0, n_blocks) == give(given_back, 1, 0, 70) == OK
    for field in ("mask", "words", "groups", "tops", "kinds", "n_free", "n_runs"):
        assert (getattr(given_back, field) == getattr(from_the_beginning, field)).all()


def test_a_map_that_nothing_was_put_into_takes_next_to_no_memory():
    """Of 2^33 blocks, a bit each and two and a half for what is kept of runs: 3.5 GiB."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    fb = new_free_space([2**25] * 256, 1024)
    assert take(fb, 255, 2**24, 12) == OK
    assert (fb.n_runs == [1] * 255 + [2]).all()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < before + 2**18


@pytest.mark.parametrize("n_blocks", [2**12, 2**18, 2**18 + 1, 2**20 + 4097, 2**24, 5 * 2**24 + 1])
def test_the_next_run_is_found_through_all_levels(n_blocks):
    """Few runs far apart; after each is taken the next one must be found, and the one before from behind it."""
    fb = new_free_blocks(n_blocks)
    rng = np.random.default_rng(1)
    starts = np.unique(np.append(rng.integers(0, n_blocks // 200, 40) * 200, n_blocks - 1))
    lengths = np.minimum(rng.choice([1, 2, 31, 32, 33, 150], len(starts)), n_blocks - starts)
    for start, n in zip(starts, lengths, strict=True):
        assert give(fb, 0, int(start), int(n)) == OK
    for n in (1, 2, 31, 32, 33, 151):
        fitting = starts[lengths >= n]
        for block in [*starts, *(starts[:-1] + 1), n_blocks]:
            assert next_run(fb, 0, int(block), n) == min(fitting[fitting >= block], default=-1)
    while fb.kinds[0]:
        start = int(next_run(fb, 0, 0, 1))
        assert start == starts[0]
        assert run_start(fb, 0, int(starts[0] + lengths[0] - 1)) == start
        assert take(fb, 0, start, int(run_length(fb, 0, start))) == OK
        starts, lengths = starts[1:], lengths[1:]
    assert len(starts) == fb.n_free[0] == fb.n_runs[0] == longest(fb, 0) == 0
    assert not any(array.any() for array in (~fb.mask, fb.words, fb.groups, fb.tops, fb.long.at_start))


def test_a_large_map_taken_block_by_block_is_one_run_that_shrinks():
    """First fit in a fresh map: the long run keeps its number to the end."""
    fb = new_free_blocks(2**13)
    assert give(fb, 0, 0, 2**13) == OK
    for block in range(2**13):
        assert fb.long.n_fresh[0] == 1
        assert pick_block(fb, 0, 1, VARIANTS["103_ff"]) == block
        assert take(fb, 0, block, 1) == OK
    assert pick_block(fb, 0, 1, VARIANTS["103_ff"]) == -1


@pytest.mark.parametrize(("call", "block", "n"), [(give, 3, 2), (give, 0, 100), (give, -1, 1), (give, 99, 2), (give, 4, 1),
                                                  (take, 3, 2), (take, 99, 2), (take, -1, 1), (take, 0, 1), (take, 4, 70)])
def test_what_is_not_there_is_refused_and_changes_nothing(call, block, n):
    fb = new_free_blocks(100)
    assert give(fb, 0, 4, 64) == OK
    before = [array.copy() for array in fb if isinstance(array, np.ndarray)]
    assert call(fb, 0, block, n) != OK
    assert all((array == old).all() for array, old in
               zip((array for array in fb if isinstance(array, np.ndarray)), before, strict=True))


@pytest.mark.parametrize("max_long", [1000, 2**16])
def test_runs_have_levels_as_items_of_other_lists_do(max_long):
    """By lot, a quarter as many on each further level; so a search takes a few steps for every factor of four."""
    long = new_long_runs(2, 10, max_long)
    items = np.zeros((2, max_long + 2), np.int64)
    levels, links = np.zeros(max_long + 2, np.int8), np.zeros((2, len(long.order.after), max_long + 2), np.int32)
    new_order(*items, max_long, levels, links)
    assert [_levels(long, np.int64(run)) for run in range(max_long)] == levels[:max_long].tolist()
    assert 0.2 < (levels > 1).mean() < 0.3


def test_levels_of_the_last_runs_there_can_be():
    long = new_long_runs(1, 10, MAX_LONG)
    highest = len(long.order.after)
    for run in range(MAX_LONG - 100, MAX_LONG):
        lot = (run * 0x9E3779B97F4A7C15) % 2**64 >> 32
        assert _levels(long, np.int64(run)) == 1 + sum(lot < 2**(32 - 2 * level) for level in range(1, highest))


def test_more_long_runs_than_there_is_room_for():
    fb = new_free_blocks(1000, max_long=2)
    assert [give(fb, 0, 100 * i, 40) for i in range(3)] == [OK, OK, FULL]


@pytest.mark.parametrize(("n_blocks", "unit", "named"), [(0, 4096, "0 blocks"), (2**27 + 1, 4096, "134217729 blocks"),
                                                         (100, 3000, "3000"), (100, 256, "256"),
                                                         (2**24 + 1, 512 * 127, "127 units")])
def test_impossible_maps_are_refused(n_blocks, unit, named):
    with pytest.raises(ValueError, match=named):
        new_free_blocks(n_blocks, unit)


# ---- words ----


@given(st.integers(-(2**63), 2**63 - 1), st.integers(0, 63))
@settings(deadline=None, derandomize=True)
def test_instructions_on_words(word, n):
    """Compiled and plain; a word is 64 bits, and its number is their sum less 2^64 if the uppermost is set."""
    bits = [word >> i & 1 for i in range(64)]
    value = word & 2**64 - 1
    failure = int(words_report(word, n, out := np.zeros(7, np.int64)))
    assert failure == 0
    assert list(out) == [
        signed(value >> n), bits.index(1) if word else 64, bits[::-1].index(1) if word else 64, sum(bits),
        signed(1 << n), signed(2**n - 1), signed(2**64 - 2 ** (n + 1))]
    assert [int(x) for x in (bits_of_words._plain_shift_right(word, n), bits_of_words._plain_lowest(word),
                             bits_of_words._plain_zeros_above(word), bits_of_words._plain_count(word))] == list(out[:4])


def signed(value):
    value &= 2**64 - 1
    return value - 2**64 if value >> 63 else value


@kernel
def words_report(word, n, out):
    out[0], out[1], out[2], out[3] = shift_right(word, n), lowest(word), zeros_above(word), count(word)
    out[4], out[5], out[6] = bit(n), below(n), above(n)
    return 0


# ---- a stream of operations ----


@pytest.mark.parametrize("params", RULES[:4], ids=lambda params: f"{params.picker}-{params.best_fit_below_pct}")
def test_a_stream_goes_the_same_way_through_both_engines(params):
    """Two maps one after the other, blocks of 8 KiB, the second map too small for all of them."""
    rng, kind, n_bytes, block, held = np.random.default_rng(3), [NEW_MAP], [2**22], [-1], []
    for i in range(3000):
        if i == 1500:
            kind, n_bytes, block, held = [*kind, NEW_MAP], [*n_bytes, 2**21 + 8192], [*block, -1], []
        frees = len(held) > 100 and rng.random() < 0.4
        kind.append(FREE if frees else ALLOCATE)
        n_bytes.append(0 if frees else 8192)
        held += [] if frees else [kind.count(ALLOCATE) - 1]
        block.append(held.pop(int(rng.integers(100))) if frees else held[-1])
    operations = Operations(*(np.array(column) for column in (kind, n_bytes, block)))
    (fast, summary), (exact, wanted) = replay_fast.drive(params, operations), replay_exact.drive(params, operations)
    assert (replay_fast.unit_of(operations), summary.n_ambiguous) == (8192, 0)
    assert all((a == b).all() for a, b in zip(fast, exact, strict=True))
    assert summary[:4] == wanted[:4]
    assert summary.n_refused > 0
