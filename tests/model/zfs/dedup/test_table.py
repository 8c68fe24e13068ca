"""The dedup table: a naive twin, and laws of writing and freeing."""
import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laws.dedup import shape
from model.zfs.dedup import zap_columns as leaf_of
from model.zfs.dedup.table import group, new_table, ratio, references
from model.zfs.dedup.zap import ZapParams, leaf_entries
from support.processes import interpreted
from twins.ddt import NaiveTable
from twins.ddt import shape as twin_shape

SMALL = ZapParams(leaf_shift=9, entry_chunks=5)
SPREAD = 2**63 // 50      # keys that differ in their first bits
CALLS = st.lists(st.tuples(st.booleans(), st.integers(0, 40)), max_size=120)


def keys_of(numbers):
    return np.array(numbers, np.int64) * SPREAD


@settings(deadline=None)
@given(CALLS)
def test_the_table_is_that_of_the_naive_twin(calls):
    table, naive, total = new_table(SMALL, 2000), NaiveTable(leaf_entries(SMALL)), Counter()
    for txg, (is_free, number) in enumerate(calls, start=1):
        done = group(table, keys_of([number]), txg, is_free)
        outcome = naive.free(number * SPREAD) if is_free else naive.write(number * SPREAD)
        assert outcome == "again freed" or getattr(done, outcome) == 1
        assert done.probes == (1 if outcome.startswith(("again", "back")) else 2)
        total[outcome] += 1
    assert shape(table.duplicate) == twin_shape(naive.duplicate)
    assert shape(table.unique) == twin_shape(naive.unique)
    assert references(table) == sum(naive.entries().values())


@settings(deadline=None)
@given(st.lists(st.integers(0, 40), min_size=1, max_size=80))
def test_ratio_is_blocks_over_different_blocks(numbers):
    table = new_table(SMALL, 2000)
    group(table, keys_of(numbers), 1)
    assert ratio(table) == pytest.approx(len(numbers) / len(set(numbers)))


@settings(deadline=None)
@given(st.lists(st.integers(0, 40), max_size=80), st.randoms())
def test_freeing_all_that_was_written_empties_the_table_and_it_stays_large(numbers, random):
    table = new_table(SMALL, 2000)
    group(table, keys_of(numbers), 1)
    n_leaves = [int(zap.scalars[leaf_of.N_LEAVES]) for zap in table]
    random.shuffle(numbers)
    done = group(table, keys_of(numbers), 2, is_free=True)
    assert (references(table), done.absent) == (0, 0)
    assert done.last == len(set(numbers))
    assert all(zap.scalars[leaf_of.N_LEAVES] >= n for zap, n in zip(table, n_leaves, strict=True))


@settings(deadline=None)
@given(st.lists(st.integers(0, 40), min_size=1, max_size=80))
def test_a_leaf_is_dirtied_once_in_a_group(numbers):
    table = new_table(SMALL, 2000)
    done = group(table, keys_of(numbers), 1)
    assert 1 <= done.dirtied <= sum(int(zap.scalars[leaf_of.N_LEAVES]) for zap in table)
    again = group(table, keys_of(numbers[:1]), 2)
    assert 1 <= again.dirtied <= 2 + (again.second and 3)


def test_a_large_group_of_duplicates_dirties_few_leaves_of_a_small_table():
    """The case of the post of 2010: one write of a table block in place of tens of writes of data."""
    params, keys = ZapParams(), np.random.default_rng(1).integers(0, 2**63, 5000, dtype=np.int64)
    table = new_table(params, 5000)
    group(table, keys, 1)
    group(table, keys, 2)
    third = group(table, keys, 3)
    assert third.again == 5000
    assert third.again / third.dirtied == pytest.approx(0.69 * 31, rel=0.15)


def test_no_room_is_one_sentence():
    table = new_table(SMALL, 100)
    with pytest.raises(ValueError, match="no room for the keys of group 7"):
        group(table, np.arange(50, dtype=np.int64), 7)


@pytest.mark.slow
def test_defects_are_noticed():
    """Each is broken on purpose; laws and twin must notice (`laws.dedup`)."""
    assert json.loads(interpreted("defects.dedup")) == ["none"]
