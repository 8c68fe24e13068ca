"""The published ARC against libcachesim's, and what ZFS's rules make of the same traces.

libcachesim's misses are recorded in `arc_traces`; if the package is there, they are counted again. It differs from ours in
one thing: it moves p by the ratio of the ghosts' numbers, ours (as ZFS) by its whole part. What else is between ZFS and the
paper is said test by test.
"""

import importlib.util

import pytest

from drivers.arc_traces import MISSES, N, keys, libcachesim_misses
from model.structures.lru import misses, new_lru
from model.zfs.arc import scalars as scalar
from model.zfs.arc.arc import ArcParams, new_arc
from model.zfs.arc.lists import MRU
from model.zfs.arc.replay import misses_textbook, misses_zfs
from twins.arc import TwinOfTextbook

RECORD = 8192
AT_ONCE = {"promote_ticks": -1}


def published(name, c):
    params = ArcParams(c, c)
    return misses_textbook(new_arc(params, 12_000, 24_000, 0), params, keys(name))


def zfs(name, c, requests_per_tick=1, adjust_ticks=100, **rules):
    params = ArcParams(c * RECORD, c * RECORD, **rules)
    return misses_zfs(new_arc(params, 12_000, 24_000), params, keys(name), RECORD, requests_per_tick,
                      adjust_ticks)


def lru(name, c):
    return misses(new_lru(c), keys(name))


@pytest.mark.parametrize(("name", "c"), [case for case in MISSES if case[1] < 1000])
def test_libcachesim_is_the_naive_twin_with_fractions_to_the_miss(name, c):
    twin = TwinOfTextbook(c, fractions=True)
    assert sum(not twin.request(key) for key in keys(name).tolist()) == MISSES[name, c]


@pytest.mark.skipif(importlib.util.find_spec("libcachesim") is None, reason="libcachesim comes with the benchmarks")
@pytest.mark.parametrize(("name", "c"), MISSES)
def test_what_is_recorded_of_libcachesim_is_what_it_says(name, c):
    assert libcachesim_misses(keys(name), c) == MISSES[name, c]


@pytest.mark.parametrize(("name", "c"), MISSES)
def test_whole_numbers_instead_of_fractions_change_less_than_four_misses_in_a_thousand(name, c):
    assert abs(published(name, c) - MISSES[name, c]) < 0.004 * N


def test_zfs_keeps_ghosts_of_a_loop_that_the_paper_forgets():
    """Published: once MRU is full of what was used once, what leaves it leaves no ghost. ZFS forgets a ghost only if all
    with ghosts is more than 2c: a loop of 1200 through 1000 is found again."""
    assert published("loop", 1000) == lru("loop", 1000) == N
    assert zfs("loop", 1000) < 0.96 * N


def test_while_a_cache_fills_zfs_raises_p_to_what_mru_is_and_a_skewed_trace_pays_for_it():
    """Nothing has been evicted after 2000 requests, so that nothing is a ghost: the published p is still 0. ZFS's is as
    large as MRU was at most, three quarters of c."""
    of_zfs, published_ = (ArcParams(1000 * unit, 1000 * unit) for unit in (RECORD, 1))
    a, b, first = new_arc(of_zfs, 12_000, 24_000, 0), new_arc(published_, 12_000, 24_000, 0), keys("zipf")[:2000]
    misses_zfs(a, of_zfs, first, RECORD, 1, 100)
    misses_textbook(b, published_, first)
    assert not a.scalars[scalar.HAS_EVICTED]
    assert b.scalars[scalar.P] == 0
    assert 0.7 * of_zfs.c_bytes < a.n_bytes[MRU] <= a.scalars[scalar.P] < 0.8 * of_zfs.c_bytes
    assert 1.04 * MISSES["zipf", 1000] < zfs("zipf", 1000) < 1.05 * MISSES["zipf", 1000]


@pytest.mark.parametrize("name", ["zipf", "mixed"])
@pytest.mark.parametrize("c", [30, 300])
def test_slow_requests_leave_zfs_where_the_paper_is(name, c):
    """At 100 requests a second, and with no rule of 60 ms, what is left is p, sizes and the second's thread."""
    assert zfs(name, c, **AT_ONCE) == pytest.approx(published(name, c), rel=0.015)
    assert zfs(name, c) < lru(name, c) < 1.2 * zfs(name, c)


@pytest.mark.parametrize("name", ["zipf", "mixed"])
def test_a_small_cache_that_is_trimmed_once_a_second_is_nearly_an_lru(name):
    """10 000 requests a second, 30 blocks. Until the thread comes, ghosts are not forgotten, many times c of them; so nearly
    all that comes back is a ghost and goes to MFU, which is an LRU of all. A thread for each tick gives ARC back."""
    slow, fast = zfs(name, 30), zfs(name, 30, requests_per_tick=100)
    assert fast - slow > 0.5 * (lru(name, 30) - slow)
    assert zfs(name, 30, requests_per_tick=100, adjust_ticks=1) == pytest.approx(slow, rel=0.01)
    assert zfs(name, 30, adjust_ticks=10_000) == pytest.approx(fast, rel=0.01)


def test_second_uses_within_60_ms_count_for_nothing_and_a_cache_that_is_turned_over_in_that_time_suffers():
    """Requests that are skewed, with a loop between them: 1000 blocks, 10 000 requests a second, half of them hits."""
    assert zfs("mixed", 1000, requests_per_tick=100) > 1.03 * zfs("mixed", 1000, requests_per_tick=100, **AT_ONCE)
    assert zfs("mixed", 1000, requests_per_tick=100) > lru("mixed", 1000)
