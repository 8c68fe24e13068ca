"""When a transaction group takes no more: limits of three generations, by hand."""

import pytest

from model.zfs.eras import era
from model.zfs.txg import columns as throttled
from model.zfs.txg.throttle import (
    BY_MEMORY,
    DIRTY_DATA,
    GOES_ON,
    MIN_LIMIT,
    SLEEPS,
    T2,
    T3,
    WAITS,
    TxgParams,
    delayed_until,
    dirty_bytes,
    group_written,
    max_limit_bytes,
    new_throttle,
    note_clean,
    note_dirty,
    open_group,
    to_scale,
    verdict,
    wants_sync,
)

SECOND, GIB = 10**9, 2**30


def asks(state, params, n_bytes=8192, anonymous=0, others_wait=False, c=GIB):
    return verdict(state, params, 5, others_wait, n_bytes, anonymous, c)


def after_sync(params, dirty, seconds, limit=MIN_LIMIT, max_limit=10 * GIB):
    state = new_throttle()
    state[throttled.LIMIT], state[throttled.DIRTY + 1] = limit, dirty
    group_written(state, params, 5, seconds * SECOND, max_limit)
    return state


def test_about_230_random_rewrites_of_8_kib_fill_the_least_group():
    """Spec 5.6: 8 KiB and an L1 of 16 KiB, times 6, in 32 MiB."""
    state, params, n = new_throttle(), TxgParams(rule=T3), 0
    while asks(state, params) == GOES_ON:
        note_dirty(state, params, 5, 8192 + 2**14)
        n += 1
    assert n == pytest.approx(230, abs=5)
    assert asks(state, params) == WAITS
    open_group(state, 5)
    assert asks(state, params) == GOES_ON


def test_who_fills_the_last_eighth_sleeps_if_another_group_waits():
    state, params = new_throttle(), TxgParams(rule=T3)
    state[throttled.DIRTY + 1] = MIN_LIMIT - MIN_LIMIT // 16
    assert asks(state, params) == GOES_ON
    assert asks(state, params, others_wait=True) == SLEEPS
    state[throttled.DIRTY + 1] = MIN_LIMIT // 2
    assert asks(state, params, others_wait=True) == GOES_ON
    assert asks(state, params._replace(rule=T2), others_wait=True) == SLEEPS  # the slip


def test_in_2007_only_memory_limits_a_group():
    """Half of the ARC, with what is asked for; but a quarter is always allowed."""
    state, params = new_throttle(), TxgParams()
    state[throttled.DIRTY + 1] = 100 * GIB
    assert params.rule == BY_MEMORY
    assert asks(state, params, anonymous=GIB // 2 - 8192) == GOES_ON
    assert asks(state, params, anonymous=GIB // 2 - 8191) == WAITS
    assert asks(state, params, n_bytes=GIB, anonymous=GIB // 4) == GOES_ON


def test_the_limit_is_what_is_written_in_five_seconds_a_quarter_of_it_new():
    params = TxgParams(rule=T3)
    state = after_sync(params, 100 * 2**20, 2)
    assert state[throttled.LIMIT] == pytest.approx(5 * 50 * 2**20, rel=1e-6)
    state[throttled.DIRTY + 1] = 100 * 2**20
    group_written(state, params, 5, 10 * SECOND, 10 * GIB)
    assert state[throttled.LIMIT] == pytest.approx(5 * (10 + 3 * 50) / 4 * 2**20, rel=1e-6)


def test_a_group_too_small_to_count_leaves_the_limit_and_limits_have_bounds():
    params = TxgParams(rule=T3)
    assert after_sync(params, 2**22, 1, limit=2**30)[throttled.LIMIT] == 2**30
    assert after_sync(params, 2**23, 100)[throttled.LIMIT] == MIN_LIMIT
    assert after_sync(params, GIB, 1, max_limit=2 * GIB)[throttled.LIMIT] == 2 * GIB
    assert max_limit_bytes(8 * GIB, params) == 6 * GIB


def test_what_is_too_small_to_count_is_so_by_the_least_limit():
    """A machine to a scale of 32: more than 2^17 B in a second tell something, as more than 2^22 B do of a whole one."""
    small = TxgParams(rule=T3, min_limit=MIN_LIMIT // 32)
    assert after_sync(small, 2**17, 1, limit=2**30)[throttled.LIMIT] == 2**30
    assert after_sync(small, 2**18 + 1, 1, limit=2**30)[throttled.LIMIT] == 5 * (2**18 + 1)
    assert after_sync(small, 2**19, 100)[throttled.LIMIT] == MIN_LIMIT // 32


def test_t2_shrinks_to_what_took_five_seconds_and_at_most_doubles():
    params = TxgParams(rule=T2)
    assert after_sync(params, GIB, 10, limit=2 * GIB)[throttled.LIMIT] == GIB // 2
    assert after_sync(params, GIB, 1, limit=GIB)[throttled.LIMIT] == 2 * GIB
    assert after_sync(params, GIB, 1, limit=2 * GIB)[throttled.LIMIT] == 2 * GIB  # it was not reached


def test_eras_have_the_throttle_of_their_time():
    assert [era(name).txg.rule for name in ("onnv_79", "b89", "b103", "b111", "b141")] == [BY_MEMORY, T2, T3, T3, T3]
    assert [era(name).txg.timeout_ns // SECOND for name in ("onnv_79", "b89", "b111")] == [5, 30, 30]


# ---- OpenZFS ----

OPENZFS = era("openzfs").txg


def of_openzfs(dirty, limit=GIB):
    state = new_throttle(limit)
    state[throttled.DIRTY + 1] = dirty
    return state


@pytest.mark.parametrize(("memory", "limit"), [(8 * GIB, 8 * GIB // 10), (40 * GIB, 4 * GIB), (512 * GIB, 4 * GIB)])
def test_a_tenth_of_memory_may_be_dirty_and_4_gib_at_most(memory, limit):
    assert max_limit_bytes(memory, OPENZFS) == limit


@pytest.mark.parametrize(("share", "us"), [
    (0.5, 0), (0.6, 0), (0.7, 166.667), (0.8, 500), (0.9, 1500), (0.99, 19500), (0.9999, 1e5)])
def test_the_delay_is_that_of_the_manual_page(share, us):
    """zfs(4): 500 us x (dirty - min) / (max - dirty), 100 ms at most; 500 us at the middle of 60 to 100 %."""
    state = of_openzfs(round(share * GIB))
    assert delayed_until(state, OPENZFS, SECOND, SECOND) - SECOND == pytest.approx(us * 1000, rel=0.001, abs=1)


def test_who_has_been_at_it_for_as_long_is_not_delayed_and_others_are_one_behind_the_other():
    state = of_openzfs(GIB // 10 * 8)
    assert delayed_until(state, OPENZFS, 0, SECOND) == SECOND
    ends = [delayed_until(state, OPENZFS, SECOND, SECOND) - SECOND for _ in range(3)]
    assert ends == pytest.approx([500_000, 1_000_000, 1_500_000], rel=0.01)


def test_what_is_dirty_counts_once_until_it_is_on_disk_and_who_waits_goes_on_below_the_limit():
    state, params = new_throttle(10 * 8192), OPENZFS
    for i in range(10):
        assert asks(state, params) == SLEEPS
        assert wants_sync(state, params) == (i > 2)
        note_dirty(state, params, 4 + i % 2, 8192)
    assert asks(state, params) == WAITS
    assert note_clean(state, 4, 8192)
    assert not note_clean(state, 4, 8192)
    assert dirty_bytes(state) == 8 * 8192
    assert asks(state, params) == SLEEPS


@pytest.mark.parametrize("memory", [8 * GIB, 64 * GIB])
def test_before_2019_a_group_was_of_64_mib_however_much_may_be_dirty(memory):
    """zfs_dirty_data_sync; since then zfs_dirty_data_sync_percent, a fifth."""
    for name, max_bytes in (("openzfs_2013", 2**26), ("openzfs", max_limit_bytes(memory, OPENZFS) // 5)):
        params, state = era(name).txg, of_openzfs(0, max_limit_bytes(memory, OPENZFS))
        state[throttled.DIRTY + 1] = max_bytes
        assert not wants_sync(state, params)
        state[throttled.DIRTY + 1] = max_bytes + 8192
        assert wants_sync(state, params)


@pytest.mark.parametrize("name", ["onnv_69", "b89", "b141", "openzfs_2013", "openzfs"])
def test_groups_to_scale_come_more_often_and_are_smaller_by_as_much(name):
    params, small = era(name).txg, to_scale(era(name).txg, 4)
    assert small.timeout_ns * 4 == params.timeout_ns
    assert small.sync_target_ns * 4 == params.sync_target_ns
    assert max_limit_bytes(64 * GIB, small) == pytest.approx(max_limit_bytes(256 * GIB, params) / 4, rel=1e-9)
    assert small.sync_bytes * 4 == params.sync_bytes
    assert small.rule in (BY_MEMORY, T2, T3, DIRTY_DATA)


@pytest.mark.parametrize("name", ["onnv_79", "b89", "b103"])
@pytest.mark.parametrize("dirty_mib", [1, 40, 3000])
def test_a_machine_to_scale_that_writes_as_fast_has_limits_to_scale(name, dirty_mib):
    """A sixteenth of the data, of the time and of memory: a sixteenth of the limit, of what is open, of Lmax."""
    params = era(name).txg
    small = to_scale(params, 16)
    assert (small.timeout_ns, small.sync_target_ns) == (params.timeout_ns // 16, params.sync_target_ns // 16)
    assert max_limit_bytes(GIB // 16, small) == max_limit_bytes(GIB, params) // 16
    states = []
    for rules, k in ((params, 1), (small, 16)):
        state = new_throttle(rules.min_limit)
        for txg, seconds in ((5, 2), (6, 9), (7, 1)):
            state[throttled.DIRTY + txg % 4] = dirty_mib * 2**20 // k
            group_written(state, rules, txg, seconds * SECOND // k, max_limit_bytes(4 * GIB // k, rules))
        states.append(state)
    assert states[1][throttled.LIMIT] == pytest.approx(states[0][throttled.LIMIT] / 16, rel=1e-6)
