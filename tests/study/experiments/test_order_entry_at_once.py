"""The three numbers of the post at once: by hand on made draws."""
import pandas as pd
import pytest

from study.experiments.allocator_2010 import order_entry_at_once as at_once
from study.experiments.allocator_2010.order_entry_at_once import GAIN, R_SQUARED, REDUCTION, SKEWNESS

# gain, reduction, R², skewness, factor of the farthest: 45 to 55 %, 65 to 75 % and 0.825 to 0.835 are printed the same
DRAWS = [(50.0, 70.0, 0.83, 0.1, 1.0), (210.0, 70.0, 0.83, 1.2, 3.1 / 1.55), (54.0, 40.0, 0.83, 0.0, 0.6 / 0.35),
         (50.0, 70.0, 0.5, 2.0, 0.825 / 0.5), (-42.0, 70.0, 0.83, 0.0, 1.45 / 0.58)]


@pytest.fixture
def results():
    table = pd.DataFrame(DRAWS, columns=[GAIN, REDUCTION, R_SQUARED, SKEWNESS, "expected"])
    return table.assign(part="all", fitted=False)


def test_the_farthest_number_counts_as_a_share_of_what_was_and_the_nearest_draw_is_first(results):
    table = at_once.all_at_once(results)
    assert table.farthest.tolist() == pytest.approx(sorted(results.expected))
    assert table.index[0] == 0
    assert table.loc[results.index].farthest.tolist() == pytest.approx(results.expected.tolist())


def test_the_cycle_counts_from_what_was_told_on(results):
    table = at_once.all_at_once(results)
    assert at_once.metrics(table).set_index("name").value["at-once.with-cycle"] == 2
    assert "is in 2 of them" in at_once.sentence(table)
    assert "is in none of them" in at_once.sentence(table[table[SKEWNESS] < 1])
