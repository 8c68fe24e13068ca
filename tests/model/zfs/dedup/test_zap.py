"""ZAP leaves that fill and split: a naive twin, and laws of any table."""
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laws.dedup import shape
from model.zfs.dedup import zap_columns as leaf_of
from model.zfs.dedup.zap import (
    KEY_BITS,
    ZapParams,
    enter_all,
    leaf_chunks,
    leaf_entries,
    leaf_for,
    new_zap,
    remove,
    size_of,
    slot_of,
)
from twins import ddt as twin

SMALL = ZapParams(leaf_shift=9, entry_chunks=5)      # 3 entries a leaf: it splits soon
KEYS = st.lists(st.integers(0, 2**12 - 1).map(lambda bits: bits << KEY_BITS - 12), max_size=80)


def filled(keys, params=SMALL, n_entries=2000):
    zap = new_zap(params, n_entries)
    assert enter_all(zap, np.array(keys, np.int64)) == len(keys)
    return zap


def random_keys(n, seed=1):
    return np.random.default_rng(seed).integers(0, 2**63, n, dtype=np.int64)


@settings(deadline=None)
@given(KEYS)
def test_leaves_are_those_of_the_naive_twin(keys):
    leaves = {"": {}}
    for key in dict.fromkeys(keys):
        twin.enter(leaves, key, 1, leaf_entries(SMALL))
    assert shape(filled(keys)) == twin.shape(leaves)


@settings(deadline=None)
@given(KEYS, st.randoms())
def test_leaves_do_not_depend_on_the_order_of_keys(keys, random):
    shuffled = list(keys)
    random.shuffle(shuffled)
    assert shape(filled(keys)) == shape(filled(shuffled))


@settings(deadline=None)
@given(KEYS)
def test_what_was_entered_is_found_as_often_and_nothing_else(keys):
    zap = filled(keys)
    for key in keys:
        leaf = leaf_for(zap, key)
        assert zap.references[leaf, slot_of(zap, leaf, key)] == keys.count(key)
    assert zap.scalars[leaf_of.IN_ALL] == len(set(keys))
    absent = 1      # all others end in zeros
    assert slot_of(zap, leaf_for(zap, absent), absent) < 0


def test_an_emptied_table_stays_as_large_as_it_was():
    keys = random_keys(1500)
    zap = filled(keys)
    before = size_of(zap, SMALL)
    for key in keys.tolist():
        leaf = leaf_for(zap, key)
        remove(zap, leaf, slot_of(zap, leaf, key))
    assert size_of(zap, SMALL)._replace(entries=before.entries) == before
    assert size_of(zap, SMALL).entries == 0


def test_a_leaf_of_4_kib_has_158_chunks_and_holds_31_entries_of_five_and_39_of_four():
    assert leaf_chunks(12) == 158
    assert (leaf_entries(ZapParams()), leaf_entries(ZapParams(entry_chunks=4))) == (31, 39)


def test_grown_tables_take_what_published_ones_take():
    """130 B just before a split, 260 just after; published tables of millions show 141 to 260 (conditions 10.3)."""
    params, per_entry = ZapParams(), []
    zap = new_zap(params, 400_000)
    for seed in range(20):
        enter_all(zap, random_keys(20_000, seed))
        per_entry.append(size_of(zap, params).zdb_in_core)
    assert 132 < min(per_entry) < max(per_entry) < 265
    assert np.mean(per_entry) == pytest.approx(4096 / (31 * math.log(2)), rel=0.06)


def test_a_table_that_was_counted_has_as_many_entries_a_leaf():
    """20 000 entries in 86 leaves of 32 KiB (openzfs issue 3732): chance and 5 chunks give about as many."""
    zap = filled(random_keys(20_000), ZapParams(leaf_shift=15), 20_000)
    assert zap.scalars[leaf_of.N_LEAVES] == pytest.approx(86, rel=0.5)


def test_leaves_are_as_many_as_theory_has():
    """A prefix of d bits is split if more keys than a leaf holds begin with it; their number is nearly Poisson."""
    n, capacity = 50_000, leaf_entries(ZapParams())
    expected, at_depth = 1.0, 0
    while at_depth < 20:
        mean = n / 2**at_depth
        fits = sum(math.exp(-mean + k * math.log(mean) - math.lgamma(k + 1)) for k in range(capacity + 1))
        expected += 2**at_depth * (1 - fits)
        at_depth += 1
    leaves = [filled(random_keys(n, seed), ZapParams(), n).scalars[leaf_of.N_LEAVES] for seed in range(5)]
    assert np.mean(leaves) == pytest.approx(expected, rel=0.01)


def test_keys_that_all_begin_alike_run_out_of_room_and_say_so():
    zap = new_zap(SMALL, 100)
    keys = np.arange(50, dtype=np.int64)
    assert 0 < enter_all(zap, keys) < 50
    assert KEY_BITS == 63


@pytest.mark.parametrize(("params", "n_entries", "named"), [
    (ZapParams(), 0, "n_entries is 0"), (ZapParams(), 2**31 + 1, "n_entries is"), (ZapParams(leaf_shift=9, entry_chunks=10),
                                                                                    10, "must hold 2")])
def test_impossible_tables_are_refused(params, n_entries, named):
    with pytest.raises(ValueError, match=named):
        new_zap(params, n_entries)
