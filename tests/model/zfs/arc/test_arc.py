"""The ARC: against its naive twins, move by move, and against facts that the rules say."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.arc import (
    BEGIN,
    BEGIN_AHEAD,
    COME,
    DROP,
    EVICT,
    HOLD,
    MFU,
    MRU,
    N_KEYS,
    OF_TEXTBOOK,
    PREFETCH,
    READ,
    RELEASE,
    SECOND,
    SIZES,
    WRITE,
    WRITTEN,
    Both,
    keys_on,
    long_requests,
    long_run,
    request_both,
)
from model.events.streams import stream
from model.zfs.arc import arc
from model.zfs.arc import columns as header
from model.zfs.arc import lists as arc_lists
from model.zfs.arc.arc import ArcParams, arc_params, greatest_c, new_arc
from support.processes import interpreted

moves = st.lists(st.tuples(st.sampled_from([READ] * 8 + [PREFETCH, PREFETCH, WRITE, WRITE, WRITTEN, WRITTEN, HOLD, RELEASE,
                                                         RELEASE, DROP, SECOND, SECOND, BEGIN, BEGIN_AHEAD, COME, COME,
                                                         EVICT]),
                           st.integers(0, N_KEYS - 1), st.sampled_from([0, 0, 1, 6, 7, 40, 120])), max_size=250)


@settings(max_examples=150, deadline=None)
@given(moves, st.integers(20, 300), st.integers(0, 100), st.floats(0, 1))
def test_the_arc_of_zfs_agrees_with_its_twin_move_by_move(sequence, c, meta_limit, p):
    both = Both(c, meta_limit, int(p * c))
    for kind, key, ticks in sequence:
        both.move(kind, key, ticks)
        both.check()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(len(SIZES)))
def test_long_random_sequences_agree_with_the_twin(seed):
    assert long_run(seed) == set(range(5))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 30), max_size=600), st.integers(1, 12))
def test_the_published_arc_agrees_with_its_twin_request_by_request(keys, c):
    request_both(keys, c)


def test_long_requests_move_p_of_the_published_arc_by_more_than_one_both_ways():
    steps = set().union(*(long_requests(c) for c in OF_TEXTBOOK))
    assert min(steps) < -1
    assert max(steps) > 1


@pytest.mark.slow
@pytest.mark.parametrize("of", ["defects.arc", "defects.arc_textbook"])
def test_defects_are_noticed(of):
    """Run without the compiler, so that one function can be replaced."""
    assert json.loads(interpreted(of)) == ["none"]


# ---- facts ----


def small(c=100, n_keys=200):
    params = ArcParams(c, c)
    return new_arc(params, n_keys, 2 * n_keys), params


def demand(a, params, key, tick):
    node = int(a.node_of[key])
    if node and a.nodes[node, header.STATE] <= MFU:
        arc.touch(a, params, node, tick)
        return
    if node:
        arc.revive(a, params, node, 0, tick)
    else:
        node = arc.new_block(a, params, key, 0, 10, 0, tick)
        arc.access(a, params, node, tick)
    arc_lists.release(a, node)


@pytest.mark.parametrize(("ticks", "state"), [(0, MRU), (6, MRU), (7, MFU)])
def test_a_second_use_promotes_only_after_more_than_six_ticks(ticks, state):
    a, params = small()
    demand(a, params, 0, 50)
    demand(a, params, 0, 50 + ticks)
    assert a.nodes[a.node_of[0], header.STATE] == state


def test_a_prefetched_block_is_promoted_by_its_first_demand():
    a, params = small()
    node = arc.new_block(a, params, 0, 0, 10, arc_lists.PREFETCHED, 50)
    arc.access(a, params, node, 50)
    arc_lists.release(a, node)
    demand(a, params, 0, 60)
    assert a.nodes[node, header.STATE] == MFU


def test_a_scan_leaves_alone_what_is_used_again():
    """Ten hot blocks' worth in MFU, then a scan ten times as long as the cache: half of c stays with them."""
    a, params = small()
    for tick in (0, 100):
        for key in range(5):
            demand(a, params, key, tick)
    for key in range(10, 110):
        demand(a, params, key, 200 + key)
    assert sorted(keys_on(a, 2 * MFU)) == list(range(5))


def test_size_stays_within_one_buffer_of_c_and_ghosts_within_c_more():
    a, params = small()
    keys = stream(0, "arc").integers(0, 200, size=3000)
    for i, key in enumerate(keys):
        demand(a, params, int(key), 10 * i)
        arc.adjust(a, params, 10 * i)
        assert arc_lists.total_bytes(a) <= params.c_bytes + 10
        assert a.n_bytes.sum() <= 2 * params.c_bytes


def test_a_held_block_is_never_evicted():
    a, params = small(c=20)
    demand(a, params, 0, 0)
    arc_lists.hold(a, int(a.node_of[0]))
    for key in range(1, 50):
        demand(a, params, key, 10 * key)
    assert a.nodes[a.node_of[0], header.STATE] == MRU


GIB = 2**30


@pytest.mark.parametrize(("memory", "c"), [(16 * GIB, 15 * GIB), (4 * GIB, 3 * GIB), (2 * GIB, 3 * GIB // 2),
                                           (GIB // 2, 3 * GIB // 8), (GIB, 3 * GIB // 4)])
def test_the_greatest_size_of_some_machines(memory, c):
    """Spec 7.1: all but 1 GiB, or three quarters if that is more."""
    assert greatest_c(memory) == c
    assert arc_params(memory).meta_limit_bytes == c // 4
