"""Captions begin with a message that is made of what the figure draws."""
import pandas as pd
import pytest

from study.ensembles import correlation
from study.figures import captions
from support.correlated_series import SIZE, TPS, series

TABLE = pd.DataFrame([("best guess", 21.6, True), ("no NCQ", 12.2, False), ("pool half full", -0.4, False)],
                     columns=["label", "effect", "is_central"])
RANGES = pd.DataFrame([("a lone read", 15.0, 15.0), ("unfitted", 0.0, 25.0), ("fitted", 8.0, 18.0)],
                      columns=["what", "low", "high"])


def test_single_changes_stand_beside_best_guess_and_published():
    assert captions.single_changes(TABLE, 23.2, "gain") == (
        "The gain is 22 % by best guess, and 23 % was published. With one condition changed it is 0 to 12 %.")


@pytest.mark.parametrize(("published", "words"), [
    (20.0, "lies within the range of 'unfitted'. It lies outside that of 'fitted'."),
    (10.0, "lies within the range of 'unfitted' and of 'fitted'."),
    (30.0, "lies outside the range of 'unfitted' and of 'fitted'."), (25.0, "within the range of 'unfitted'. It")])
def test_ranges_hold_what_was_published_or_do_not(published, words):
    assert words in captions.against(RANGES, published)


@pytest.mark.parametrize(("off", "words"), [
    ([1.0, 1.4, 1.8], "2 of 3 printed numbers come out within a factor of 1.4 "), ([1.2], "The printed number comes out "),
    ([1.5], "The printed number does not come out ")])
def test_numbers_of_the_nearest_machine_are_counted(off, words):
    assert captions.nearest(pd.DataFrame({"off by": off}), 1.4).startswith(words)


def draws(before, after, fitted=False):
    return pd.DataFrame({"part": "all", "fitted": fitted, "before/summary.rate": before, "after/summary.rate": after})


def test_only_unfitted_draws_with_the_published_rate_tell_how_much_they_gain():
    results = pd.concat([draws([100.0, 105.0, 120.0], [110.0, 126.0, 240.0]), draws([100.0], [150.0], fitted=True)])
    assert captions.slow_enough(results, 100.0).endswith("gain 20 % at most.")
    assert captions.slow_enough(results, 500.0).startswith("No unfitted draw")


def test_a_statistic_has_its_place_among_those_that_could_explain_the_outcome():
    table = series()
    assert captions.place(correlation.analyse(table, TPS, SIZE)) == (
        "By R² 'size of I/Os' is number 1 of 7 statistics that could explain 'transactions'.")
    assert captions.place(correlation.analyse(table, TPS, "wait.w0")).startswith("By R² 'wait.w0' is number ")
    assert "number 1 " not in captions.place(correlation.analyse(table, TPS, "wait.w0"))
