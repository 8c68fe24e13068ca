"""Ordered lists against sorted lists."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.structures.skip_lists import insert, new_order, remove

quick = settings(deadline=None, derandomize=True, max_examples=80)


@quick
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3), st.booleans()), max_size=80))
def test_an_ordered_list_is_a_sorted_list(rows):
    """Insert, now and then take the middle one out: equal keys stay in order of insertion, at every level."""
    key, tie = np.zeros(102, np.int64), np.zeros(102, np.int64)
    order, plain = new_order(key, tie, first_end=100), []
    for item, (k, t, take_out) in enumerate(rows):
        key[item], tie[item] = k, t
        insert(order, 100, item)
        plain.append(item)
        plain.sort(key=lambda item: (key[item], tie[item]))
        if take_out:
            remove(order, plain.pop(len(plain) // 2))
        for level in range(len(order.after)):
            tall = [item for item in plain if order.n_levels[item] > level]
            assert list(walk(order.after[level], 100)) == tall
            assert list(walk(order.before[level], 100)) == tall[::-1]
    assert list(walk(order.after[0], 101)) == []


def walk(links, end):
    item = links[end]
    while item != end:
        yield int(item)
        item = links[item]


def test_a_quarter_of_all_things_reach_each_further_level():
    n = 2**14
    order = new_order(np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64), first_end=n)
    reach = [(order.n_levels[:n] > level).mean() for level in range(5)]
    assert reach == pytest.approx([1, 1 / 4, 1 / 16, 1 / 64, 1 / 256], rel=0.05)
