"""The share of all blocks that the fast engine served."""
from types import SimpleNamespace

import numpy as np
import pytest

from study import engine_share

EXACT = SimpleNamespace(blocks=None)


@pytest.fixture(autouse=True)
def no_pools(monkeypatch):
    monkeypatch.setattr(engine_share, "_POOLS", {})


def fast(*n_ambiguous):
    """A pool of the fast engine, as far as it is looked at: such choices of each metaslab."""
    return SimpleNamespace(blocks=SimpleNamespace(free=SimpleNamespace(n_ambiguous=np.array(n_ambiguous))))


def found():
    return engine_share.metrics().value.tolist()


def test_what_a_tree_could_decide_is_not_served():
    engine_share.note(("one",), 100, fast(0, 0))
    assert found() == [100, 0, 100]
    engine_share.note(("other",), 300, fast(1, 3))
    assert found() == [400, 4, 99]
    assert "99.000000 %" in engine_share.sentence()


def test_a_pool_that_is_made_again_counts_once_and_one_of_the_other_engine_not_at_all():
    for _ in range(2):
        engine_share.note(("one",), 100, fast(1, 0))
    engine_share.note(("exact",), 100, EXACT)
    assert found() == [100, 1, 99]


def test_where_nothing_was_placed_numbers_are_finite():
    assert np.isfinite(found()).all()
