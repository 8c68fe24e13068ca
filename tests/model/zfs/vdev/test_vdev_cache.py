"""The vdev cache: against its naive twin, against laws, and with defects that must be noticed."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.events.streams import stream
from model.zfs.eras import era
from model.zfs.vdev import cache_replay
from model.zfs.vdev.cache import (
    BYPASS_DATA,
    DONT_CACHE,
    FILL_ALL,
    FILL_METADATA,
    HIT,
    JOINED,
    MAY_NOT_FILL,
    MISS,
    MISSED_WRITE,
    NO_ENTRY,
    NOT_FILLING,
    TOO_LARGE,
    VdevCacheParams,
    fill_done,
    max_lines,
    new_cache,
    read,
    write,
)
from model.zfs.vdev.cache_replay import READ, RECORDED
from study.project import DATA
from study.replays.vdev_cache import read_stats, read_vdev_cache_trace
from support.not_shown import not_shown
from twins.vdev_cache import DEFECTS, TwinOfVdevCache, random_requests, record

LINE = 65536
RULES = (FILL_ALL, FILL_METADATA, BYPASS_DATA)
TRACES = [(folder, name, entry) for folder in (DATA / "traces" / "vdev_cache", DATA / "traces" / "vdev_cache_2007")
          for name, entry in read_stats(folder / "stats.jsonl").items()]

quick = settings(deadline=None, derandomize=True, max_examples=60)

requests = st.lists(
    st.tuples(
        st.sampled_from([0, 0, 0, 1, 2, 5]),  # ticks since the last one
        st.sampled_from([0, 0, 0, 1]),  # read or write
        st.integers(0, 6),  # line
        st.sampled_from([0, 512, 8192, 49152, 57344, 65024]),  # place in the line
        st.sampled_from([512, 8192, 16384, 16896, 131072]),
        st.booleans(),
        st.sampled_from([False, False, False, True]),
    ),
    max_size=60,
)
small_caches = st.builds(
    VdevCacheParams,
    line_shift=st.sampled_from([16, 16, 15, 17]),
    cache_bytes=st.sampled_from([0, 1, LINE - 1, LINE, 2 * LINE, 3 * LINE + 5]),
    max_read_bytes=st.sampled_from([16384, 16384, 16384, 1, 8192, 131072]),
    fill_rule=st.sampled_from(RULES),
)


def in_time(drawn):
    """Requests as the twin wants them: absolute ticks, offsets of the device."""
    tick, rows = 0, []
    for later, op, line, place, size, is_metadata, dont_cache in drawn:
        tick += later
        rows.append((tick, op, line * LINE + place, size, int(is_metadata), int(dont_cache)))
    return rows


def as_operations(rows):
    columns = np.array(rows, dtype=np.int64).reshape(len(rows), 6).T
    return cache_replay.operations(*columns)


def decided(params, rows, fill_ticks):
    """What the kernels decide about requests: rows of outcome, fill, evicted, lines, lines by metadata."""
    decisions, _ = cache_replay.drive(params, as_operations(rows), fill_ticks)
    return list(zip(decisions.outcome.tolist(), (decisions.fill // 512).tolist(), (decisions.evicted // 512).tolist(),
                    decisions.n_lines.tolist(), decisions.n_metadata_lines.tolist(), strict=True))


def told_by(twin, rows, fill_ticks):
    """What a twin decides about the same; with fills of 0 ticks the counts precede the completion, which is no loss."""
    return ((row.res, row.fill512, row.evict512, row.n_lines, row.n_metadata_lines)
            for row in record(twin, rows, fill_ticks) if row.op != 2)


def run_at_random(params, seed=1, n=3000, fill_ticks=2, **kinds):
    rows = random_requests(stream(seed, "requests"), n, **kinds)
    return cache_replay.drive(params, as_operations(rows), fill_ticks)


# ---- the twin ----


@quick
@given(requests, small_caches, st.integers(0, 5))
def test_kernels_decide_as_the_naive_twin(drawn, params, fill_ticks):
    rows = in_time(drawn)
    assert decided(params, rows, fill_ticks) == list(told_by(TwinOfVdevCache(params), rows, fill_ticks))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("cache_bytes", "fill_ticks"), [(10 * 2**20, 0), (10 * 2**20, 1), (2**20, 20), (0, 1)])
def test_kernels_decide_as_the_naive_twin_on_long_streams(rule, cache_bytes, fill_ticks):
    params = VdevCacheParams(cache_bytes=cache_bytes, fill_rule=rule)
    rows = random_requests(stream(3, "requests"), 4000, n_lines=60 if cache_bytes == 2**20 else 400, flagged=False)
    assert decided(params, rows, fill_ticks) == list(told_by(TwinOfVdevCache(params), rows, fill_ticks))


@quick
@given(requests, small_caches, st.randoms(use_true_random=False))
def test_leaves_do_not_know_of_each_other(drawn, params, random):
    """Three leaves in one state, driven by turns, decide as three twins; fills complete in any order."""
    cache, twins = new_cache(params, n_leaves=3), [TwinOfVdevCache(params) for _ in range(3)]
    under_way = []
    for tick, op, offset, size, is_metadata, dont_cache in in_time(drawn):
        leaf = random.randrange(3)
        if op:
            write(cache, params, leaf, offset, size)
            twins[leaf].write(tick, offset, size)
        else:
            outcome, line, evicted = read(cache, params, leaf, tick, offset, size, is_metadata, dont_cache)
            assert (outcome, evicted) == twins[leaf].read(tick, offset, size, is_metadata, dont_cache)
            assert line == offset - offset % twins[leaf].line
            under_way += [(leaf, line)] if outcome == MISS else []
        if under_way and random.random() < 0.5:
            leaf, line = under_way.pop(random.randrange(len(under_way)))
            assert fill_done(cache, params, leaf, tick, line) == twins[leaf].fill_done(tick, line)
    for leaf, twin in enumerate(twins):
        counted = (cache.hits[leaf], cache.misses[leaf], cache.delegations[leaf], cache.n_lines[leaf])
        assert counted == (twin.hits, twin.misses, twin.delegations, len(twin.lines))


# ---- a test of the tests: each defect must show ----


def recorded_traces():
    """(requests, parameters, fill ticks, recorded decisions) of every trace in the project."""
    for folder, name, entry in TRACES:
        columns = read_vdev_cache_trace(folder / f"{name}.parquet")
        columns.setdefault("metadata", np.ones_like(columns["op"]))
        wanted = columns["op"] != 2
        tick, op, nocache, size, off, metadata, res, fill, evict = (columns[key][wanted].tolist() for key in (
            "tick", "op", "nocache", "size512", "off512", "metadata", "res", "fill512", "evict512"))
        rows = [(*row[:2], row[2] * 512, row[3] * 512, row[4], row[5])
                for row in zip(tick, op, off, size, metadata, nocache, strict=True)]
        params = era(entry.era or "onnv_69").cache._replace(**entry.sizes)
        yield rows, params, entry.fill_ticks, zip(res, fill, evict, strict=True)


def noticed_by_a_recorded_trace(defect):
    return any(twin[:3] != recorded
               for rows, params, fill_ticks, decisions in recorded_traces()
               for twin, recorded in zip(told_by(TwinOfVdevCache(params, defect), rows, fill_ticks), decisions,
                                         strict=True))


def noticed_by_the_kernels(defect):
    params = VdevCacheParams(cache_bytes=2**20)
    rows = random_requests(stream(5, "requests"), 4000, n_lines=60)
    return list(told_by(TwinOfVdevCache(params, defect), rows, 20)) != decided(params, rows, 20)


@pytest.mark.slow
def test_the_twin_decides_as_the_recorded_code():
    assert not noticed_by_a_recorded_trace(None)


@pytest.mark.slow
def test_what_no_recording_tells_is_listed():
    """It needs a cache so small that its lines are still being filled when they are evicted."""
    listed = not_shown("vdev cache")
    assert listed == {"evicts another line when the oldest is being filled"}
    assert not any(noticed_by_a_recorded_trace(defect) for defect in listed)


@pytest.mark.slow
@pytest.mark.parametrize("defect", sorted(set(DEFECTS) - not_shown("vdev cache")))
def test_a_defect_of_the_rule_shows_in_the_recorded_traces(defect):
    assert noticed_by_a_recorded_trace(defect)


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_defect_of_the_rule_shows_against_the_kernels(defect):
    assert noticed_by_the_kernels(defect)


# ---- laws ----


@pytest.mark.parametrize("cache_bytes", [1, LINE - 1, LINE, 16 * LINE, 10 * 2**20, 10 * 2**20 + LINE - 1])
def test_one_line_more_than_fits_lives_in_the_cache(cache_bytes):
    params = VdevCacheParams(cache_bytes=cache_bytes)
    decisions, cache = run_at_random(params, n=6000, fill_ticks=0, n_lines=4000)
    assert decisions.n_lines.max() == cache_bytes // LINE + 1 == max_lines(params)
    assert cache.n_lines[0] == max_lines(params)


def test_161_lines_live_in_10_mib():
    assert max_lines(VdevCacheParams()) == 161


@pytest.mark.parametrize("rule", RULES)
def test_lines_are_in_order_of_use_and_can_all_be_found(rule):
    params = VdevCacheParams(cache_bytes=40 * LINE, fill_rule=rule)
    _, cache = run_at_random(params, fill_ticks=3)
    ring, node = [], cache.newer[0]
    while node:
        ring.append((cache.used[node], cache.key[node]))
        node = cache.newer[node]
    assert len(ring) == cache.n_lines[0] == 41
    assert ring == sorted(ring)
    chains = [list(chain_from(cache, first)) for first in cache.first]
    assert sorted(itertools.chain(*chains)) == sorted(key for _, key in ring)


def chain_from(cache, node):
    while node:
        yield cache.key[node]
        node = cache.chain[node]


@quick
@given(requests, st.integers(0, 7 * LINE), st.integers(1, 3 * LINE))
def test_a_write_moves_makes_and_evicts_nothing(drawn, offset, size):
    params = VdevCacheParams(cache_bytes=3 * LINE)
    _, cache = cache_replay.drive(params, as_operations(in_time(drawn)), 5)
    before = [np.copy(values) for values in cache]
    write(cache, params, 0, offset, size)
    for name, old, new in zip(cache._fields, before, cache, strict=True):
        if name != "missed_write":
            assert np.array_equal(old, new), name


@pytest.mark.parametrize("rule", RULES)
def test_every_read_is_counted_once(rule):
    decisions, cache = run_at_random(VdevCacheParams(fill_rule=rule), p_write=0.0, flagged=False)
    count = np.bincount(decisions.outcome, minlength=9)
    assert [cache.hits[0], cache.misses[0], cache.delegations[0]] == [count[HIT], count[MISS], count[JOINED]]
    assert cache.hits[0] + cache.misses[0] + cache.delegations[0] + count[DONT_CACHE:].sum() == 3000
    assert (decisions.fill >= 0).sum() == cache.misses[0]
    assert (decisions.evicted >= 0).sum() == cache.misses[0] - cache.n_lines[0]


@pytest.mark.parametrize("off", [{"max_read_bytes": 1}, {"max_read_bytes": 511}, {"cache_bytes": 0}])
def test_switched_off_it_does_nothing(off):
    decisions, cache = run_at_random(VdevCacheParams(**off), p_write=0.0, flagged=False)
    assert not np.isin(decisions.outcome, (HIT, MISS, JOINED)).any()
    assert (cache.hits[0], cache.misses[0], cache.delegations[0], decisions.n_lines.max()) == (0, 0, 0, 0)


@pytest.mark.parametrize("rule", [FILL_METADATA, BYPASS_DATA])
def test_data_makes_no_line_from_onnv_70_on(rule):
    decisions, _ = run_at_random(VdevCacheParams(fill_rule=rule), flagged=False)
    assert decisions.n_lines.max() == 161
    assert np.array_equal(decisions.n_lines, decisions.n_metadata_lines)


def test_data_makes_lines_to_onnv_69():
    decisions, _ = run_at_random(VdevCacheParams(fill_rule=FILL_ALL), flagged=False)
    assert (decisions.n_lines - decisions.n_metadata_lines).max() > 50


# ---- what the builds differ in, said as examples ----


def outcomes(params, *reads, fill_ticks=1):
    """Outcomes of reads given as (tick, offset, size, is_metadata)."""
    rows = [(tick, READ, offset, size, is_metadata, 0) for tick, offset, size, is_metadata in reads]
    return [outcome for outcome, *_ in decided(params, rows, fill_ticks)]


@pytest.mark.parametrize(("rule", "expected"), [
    (FILL_ALL, [MISS, MISS, JOINED, HIT, HIT]),
    (FILL_METADATA, [MAY_NOT_FILL, MISS, JOINED, HIT, MAY_NOT_FILL]),
    (BYPASS_DATA, [DONT_CACHE, MISS, DONT_CACHE, DONT_CACHE, DONT_CACHE]),
])
def test_data_in_the_three_states(rule, expected):
    """Data; metadata elsewhere; data beside the metadata, while it is filled and after; the first data again."""
    data, metadata, beside = (1, 0, 8192, 0), (1, LINE, 8192, 1), (1, LINE + 8192, 8192, 0)
    later = (3, *beside[1:]), (3, *data[1:])
    assert outcomes(VdevCacheParams(fill_rule=rule), data, metadata, beside, *later) == expected


def test_16_kib_are_let_in_and_a_sector_more_is_not():
    assert outcomes(VdevCacheParams(), (1, 0, 16384, 1), (1, LINE, 16896, 1)) == [MISS, TOO_LARGE]


def test_a_line_that_missed_a_write_serves_nobody_and_is_thrown_away():
    params, cache = VdevCacheParams(), new_cache(VdevCacheParams())
    assert read(cache, params, 0, 1, 0, 512, 1, 0) == (MISS, 0, -1)
    write(cache, params, 0, LINE - 512, 1024)
    assert read(cache, params, 0, 1, 0, 512, 1, 0) == (MISSED_WRITE, 0, -1)
    assert fill_done(cache, params, 0, 2, 0) == 1
    assert fill_done(cache, params, 0, 2, 0) == NOT_FILLING
    assert read(cache, params, 0, 2, 0, 512, 1, 0) == (MISS, 0, -1)


def test_nothing_is_cached_while_the_oldest_line_is_being_filled():
    params, cache = VdevCacheParams(cache_bytes=LINE), new_cache(VdevCacheParams(cache_bytes=LINE))
    for line, outcome in enumerate([MISS, MISS, NO_ENTRY]):
        assert read(cache, params, 0, 1, line * LINE, 512, 1, 0)[0] == outcome
    fill_done(cache, params, 0, 1, LINE)  # the higher offset: the oldest of the tick is still being filled
    assert read(cache, params, 0, 1, 2 * LINE, 512, 1, 0) == (NO_ENTRY, 2 * LINE, -1)
    fill_done(cache, params, 0, 1, 0)
    assert read(cache, params, 0, 1, 2 * LINE, 512, 1, 0) == (MISS, 2 * LINE, 0)


def test_fills_that_complete_before_the_same_read_are_used_in_the_same_tick():
    """Issued in ticks 1 and 2, done by 5, noticed in 10: a tie, so the lower offset goes, though it came later."""
    rows = [(1, READ, LINE, 512, 1, 0), (2, READ, 0, 512, 1, 0), (10, READ, 2 * LINE, 512, 1, 0)]
    assert [evicted for _, _, evicted, *_ in decided(VdevCacheParams(cache_bytes=LINE), rows, 3)] == [-1, -1, 0]


# ---- bad values ----


@pytest.mark.parametrize("bad", [{"line_shift": 8}, {"line_shift": 31}, {"cache_bytes": -1}, {"max_read_bytes": -1},
                                 {"fill_rule": 3}, {"cache_bytes": 0.5}])
def test_bad_parameters_are_one_sentence(bad):
    (name, value), = bad.items()
    with pytest.raises(ValueError, match=f"{name} of the vdev cache is {value}, but .*; choose"):
        new_cache(VdevCacheParams(**bad))


@pytest.mark.parametrize("n_leaves", [0, -1, 10**9])
def test_bad_number_of_leaves_is_one_sentence(n_leaves):
    with pytest.raises(ValueError, match=f"n_leaves is {n_leaves}, but .*; choose"):
        new_cache(VdevCacheParams(), n_leaves)


@pytest.mark.parametrize(("name", "column", "message"), [
    ("tick", [2, 1], "tick of operation 1 is 1"), ("kind", [0, 3], "kind of operation 1 is 3"),
    ("offset", [0, -1], "offset of operation 1 is -1"), ("n_bytes", [0, 1], "n_bytes of operation 0 is 0"),
])
def test_a_bad_operation_is_named(name, column, message):
    good = {"tick": [1, 1], "kind": 0, "offset": 0, "n_bytes": 512}
    with pytest.raises(ValueError, match=message):
        cache_replay.operations(**(good | {name: column}))


def test_a_fill_cannot_take_less_than_no_time():
    with pytest.raises(ValueError, match="fill_ticks is -2"):
        cache_replay.drive(VdevCacheParams(), as_operations([(1, 0, 0, 512, 1, 0)]), RECORDED - 1)
