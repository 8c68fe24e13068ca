"""Defects in the order entry, and the laws that must notice each. Run without the compiler: prints which did.

    NUMBA_DISABLE_JIT=1 PYTHONPATH=.:tests python -m defects.order_entry
"""

import json

import test_order_entry as tests
import test_order_entry_workload as tests_of_draws

from drivers import order_entry_pools
from model.simulations.order_entry import columns as order_columns
from model.simulations.order_entry import placement as order_entry_placement
from model.simulations.order_entry import series as order_entry_series
from model.simulations.order_entry import txgs as order_entry_txgs
from model.simulations.order_entry import users as order_entry_users
from model.simulations.order_entry import writers as order_entry_writers
from model.simulations.order_entry.workload import N_DRAWS
from model.zfs.txg import columns as throttled
from support.defects import defect

TINY = order_entry_pools.SMALL._replace(n_records=2**10, n_users=4, dirty_target=8, max_dirty=60, writes_per_batch=8,
                                        txg=order_entry_pools.SMALL.txg._replace(timeout_ns=order_entry_pools.SECOND // 32))
LAWS = {"users": tests.test_users_are_always_somewhere, "utilisation": tests.test_the_utilisation_law_holds_exactly,
        "little": tests.test_littles_law_holds_exactly_for_reads_and_transactions,
        "buffers": tests.test_buffers_held_are_dirty_or_being_written_and_no_more_than_there_are,
        "throttle": tests.test_an_open_group_counts_what_it_has_dirtied_six_times_over,
        "blocks": tests.test_no_block_is_lost_and_no_two_lie_on_each_other,
        "rounds": lambda *_: tests_of_draws.test_a_round_meets_other_records_than_those_before(tests_of_draws.all_rounds()),
        "restart": lambda *_: tests.test_groups_go_on_under_other_users_whatever_those_before_had_under_way()}


def frees_nothing(*_):
    return 0


def forgets_time(m, now, user, doing):
    m.users[user, order_columns.DOING], m.users[user, order_columns.SINCE] = doing, now


def forgets_second_copy(m, kind, which, copy, place, real=order_entry_placement._exchange):
    return real(m, kind, which, 0, place)


def loses_a_buffer(m, now, real=order_entry_writers.buffers_free):
    m.counts[order_columns.N_HELD] -= 1
    real(m, now)


def counts_twice(m, n, n_bytes, real=order_entry_placement.count_dirty):
    real(m, 2 * n, n_bytes)


def keeps_the_count(m, real=order_entry_txgs.open_next):
    before = m.throttle[throttled.DIRTY:].copy()
    real(m)
    m.throttle[throttled.DIRTY:] = before


def leaves_a_group_as_it_is(*args, real=order_entry_series.restart):
    with defect(order_entry_series, "_run", lambda *_: None):
        return real(*args)


def goes_round_again(_, drawn, user, n):
    return drawn[user, n & (N_DRAWS - 1)]


DEFECTS = {"goes to the same records again": (tests_of_draws, "nth", goes_round_again),
           "leaves a group as it is": (tests, "restart", leaves_a_group_as_it_is),
           "counts blocks twice": (order_entry_placement, "count_dirty", counts_twice),
           "keeps the count of four groups ago": (order_entry_txgs, "open_next", keeps_the_count),
           "none": (tests, "SMALL", TINY), "frees nothing": (order_entry_placement, "free", frees_nothing),
           "forgets time": (order_entry_users, "become", forgets_time),
           "forgets the second copy": (order_entry_placement, "_exchange", forgets_second_copy),
           "loses a buffer": (order_entry_writers, "buffers_free", loses_a_buffer)}


def broken_laws():
    tests.SMALL = TINY
    site = order_entry_pools.site_of(TINY)
    warm, long = order_entry_pools.SECOND // 8, order_entry_pools.SECOND // 4
    seen, broken = {"b117": (site, order_entry_pools.window(site, warm, long))}, []
    for name, law in LAWS.items():
        try:
            law(seen, "b117")
        except AssertionError:
            broken.append(name)
    return broken


if __name__ == "__main__":
    broken = {}
    for name, (module, attribute, by) in DEFECTS.items():
        with defect(module, attribute, by):
            broken[name] = broken_laws()
    print(json.dumps(broken))
