"""The share of all blocks that the fast engine served."""
from types import SimpleNamespace

import numpy as np
import pytest

from study.pools import engine_share
from support.defects import unnoticed

EXACT = SimpleNamespace(blocks=None)
UNIT = 4096


@pytest.fixture(autouse=True)
def no_pools(monkeypatch):
    monkeypatch.setattr(engine_share, "_POOLS", {})


def fast(*n_ambiguous):
    """A pool of the fast engine, as far as it is looked at: such choices of each metaslab."""
    free = SimpleNamespace(n_ambiguous=np.array(n_ambiguous), grain=1, unit_shift=12)
    return SimpleNamespace(blocks=SimpleNamespace(free=free))


def numbers(name="all"):
    table = engine_share.metrics().set_index("name").value
    return [table[f"engines.{name}-{count}"] for count in ("placed", "ambiguous", "fast-share")]


def test_what_a_tree_could_decide_is_not_served():
    engine_share.note(("one",), 100, fast(0, 0), UNIT)
    assert numbers() == [100, 0, 100]
    engine_share.note(("other",), 300, fast(1, 3), UNIT)
    assert numbers() == [400, 4, 99]
    assert "99.000000 %" in engine_share.sentence()


def test_a_pool_that_is_made_again_counts_once_and_one_of_the_other_engine_not_at_all():
    for _ in range(2):
        engine_share.note(("one",), 100, fast(1, 0), UNIT)
    engine_share.note(("exact",), 100, EXACT, UNIT)
    assert numbers() == [100, 1, 99]


def test_pools_in_which_a_record_takes_several_units_are_counted_apart():
    engine_share.note(("mirror",), 100, fast(2), UNIT)
    assert numbers("several") == [0, 0, 100]
    engine_share.note(("raidz",), 300, fast(6), 3 * UNIT)
    assert numbers("several") == [300, 6, 98]
    assert "2 of 100 blocks that it did not serve were larger ones" in engine_share.sentence()
    assert "98.000000 % of 300 blocks" in engine_share.sentence()


def test_where_nothing_was_placed_numbers_are_finite():
    assert np.isfinite(numbers()).all()
    assert engine_share.sentence() == "The fast engine placed nothing"


def test_a_sentence_tells_of_no_share_that_is_zero():
    engine_share.note(("one",), 1, fast(0), UNIT)
    assert engine_share.sentence() == "The fast engine served 100.000000 % of 1 block in 1 pool"
    engine_share.note(("raidz",), 300, fast(6), 3 * UNIT)
    sentence = engine_share.sentence()
    assert "in 2 pools. The others are 6 choices that" in sentence
    assert "it served all records. Where a record takes several units" in sentence
    assert " 0 " not in sentence


def counts_every_time(of, n_placed, pool, n_bytes, real=engine_share.note):
    real((*of, len(engine_share._POOLS)), n_placed, pool, n_bytes)


def serves_the_exact_engine_s(of, n_placed, pool, n_bytes, real=engine_share.note):
    real(of, n_placed, pool if pool.blocks else fast(0), n_bytes)


def takes_each_record_for_a_unit(of, n_placed, pool, n_bytes, real=engine_share.note):
    real(of, n_placed, pool, UNIT)


def sees_one_metaslab(of, n_placed, pool, n_bytes, real=engine_share.note):
    real(of, n_placed, fast(*pool.blocks.free.n_ambiguous[:1]) if pool.blocks else pool, n_bytes)


DEFECTS = {defect.__name__: (engine_share, "note", defect)
           for defect in (counts_every_time, serves_the_exact_engine_s, takes_each_record_for_a_unit, sees_one_metaslab)}
LAWS = (test_what_a_tree_could_decide_is_not_served, test_pools_in_which_a_record_takes_several_units_are_counted_apart,
        test_a_pool_that_is_made_again_counts_once_and_one_of_the_other_engine_not_at_all)


def breaks_a_law(module):
    for law in LAWS:
        module._POOLS.clear()
        try:
            law()
        except AssertionError:
            return True
    return False


def test_the_laws_notice_defects():
    assert not breaks_a_law(engine_share)
    assert unnoticed(DEFECTS, breaks_a_law) == []
