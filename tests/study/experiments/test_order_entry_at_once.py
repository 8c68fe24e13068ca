"""The three numbers of the post at once: by hand on made draws."""
import pandas as pd
import pytest

from study.experiments.allocator_2010 import order_entry_at_once
from study.experiments.allocator_2010.order_entry_at_once import GAIN, R_SQUARED, REDUCTION, SKEWNESS

# gain, reduction, R², skewness, factor of the farthest: 45 to 55 %, 65 to 75 % and 0.825 to 0.835 are printed the same
DRAWS = [(50.0, 70.0, 0.83, 0.1, 1.0), (210.0, 70.0, 0.83, 1.2, 3.1 / 1.55), (54.0, 40.0, 0.83, 0.0, 0.6 / 0.35),
         (50.0, 70.0, 0.5, 2.0, 0.825 / 0.5), (-42.0, 70.0, 0.83, 0.0, 1.45 / 0.58)]


@pytest.fixture
def results():
    table = pd.DataFrame(DRAWS, columns=[GAIN, REDUCTION, R_SQUARED, SKEWNESS, "expected"])
    return table.assign(part="all", fitted=False)


def test_the_farthest_number_counts_as_a_share_of_what_was_and_the_nearest_draw_is_first(results):
    off = order_entry_at_once.factors_off(results)
    assert off.max(axis=1).tolist() == pytest.approx(results.expected.tolist())
    table = order_entry_at_once.nearest_first(results, off)
    assert (table.index[0], table.farthest.is_monotonic_increasing) == (0, True)


def test_the_cycle_counts_from_what_was_told_on(results):
    assert order_entry_at_once.with_cycle(results) == 2
    numbers = order_entry_at_once.metrics(results, order_entry_at_once.factors_off(results)).set_index("name").value
    assert numbers.to_dict() == {"at-once.gain": 50.0, "at-once.reduction": 70.0, "at-once.r-squared": 0.83,
                                 "at-once.with-cycle": 2}
