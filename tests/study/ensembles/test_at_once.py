"""Everything at once: two numbers that exclude each other are found, and what one draw has together."""
import numpy as np
import pandas as pd
import pytest

from study.documents import published
from study.ensembles import at_once

# b and c: a draw has either; a: any draw has it
OFF = pd.DataFrame({"x/a": [1.0, 1.1, 1.2], "x/b": [1.0, 3.0, 2.0], "y/c": [4.0, 1.0, 1.5]})


def test_the_pair_that_comes_together_least_is_first():
    table = at_once.pairs(OFF)
    assert table.iloc[0].tolist() == ["x/b", "y/c", 2.0]
    assert set(table.factor) == {2.0, 1.0, 1.1}
    assert len(table) == 3


def test_all_is_never_nearer_than_a_pair_and_a_pair_than_one_alone():
    rng = np.random.default_rng(3)
    for _ in range(20):
        numbers = at_once.metrics(pd.DataFrame(1 + rng.random((9, 5)), columns=[f"x/{name}" for name in "abcde"]))
        values = numbers.set_index("name").value
        assert values["at-once.all"] >= values["at-once.pair"] >= values["at-once.alone"] >= 1


def test_it_is_told_in_words():
    words = at_once.sentence(OFF)
    assert words.startswith("One of 3 draws comes nearest. It shows all 3 printed numbers within a factor of 2.00. ")
    assert "Its farthest number is b of x." in words
    assert "each number has a draw within a factor of 1.00. The farthest of these is a of x." in words
    assert "come together least: b of x and c of y. No draw has both within a factor of less than 2.00" in words
    assert at_once.table(OFF)["nearest to all"].tolist() == [1.2, 2.0, 1.5]


def test_a_draw_that_shows_what_was_printed_is_off_by_nothing(monkeypatch):
    monkeypatch.setattr(published, "runs", lambda: [published.PublishedRun(
        f"{document}/run", document, "", {"printed_step": {"rate": 10.0}},
        pd.DataFrame({"t": [np.nan], "name": ["rate"], "value": [value], "unit": ["1/s"]}))
        for document, value in (("a", 50.0), ("another", 9e9))])
    results = pd.DataFrame({"part": "all", "fitted": [False, False, True], "run/rate": [46.0, 110.0, 50.0]})
    off = at_once.of_document(results, "a")
    assert list(off) == ["run/rate"]
    assert off["run/rate"].tolist() == pytest.approx([1.0, 2.0])


def test_a_number_is_inferred_from_the_draws_that_have_the_others(monkeypatch):
    """Of thirty draws ten have what was printed of a; they, and none of the others, have 5 to 14 of b."""
    near = np.arange(30) < 10
    draws = pd.DataFrame({"run/a": np.where(near, 50.0, 500.0), "run/b": np.where(near, 5.0 + np.arange(30), 90.0)})
    for b, outside, can_tell_a in ((8.0, 1.0, True), (28.0, 27.5 / 14, False)):
        monkeypatch.setattr(published, "runs", lambda b=b: [published.PublishedRun(
            "x/run", "x", "", {"printed_step": {"a": 1.0, "b": 1.0}},
            pd.DataFrame({"t": [np.nan] * 2, "name": ["a", "b"], "value": [50.0, b], "unit": ["1/s"] * 2}))])
        table = at_once.each_left_out(draws, "x").set_index("number")
        assert table.loc["b of run", ["left", "lowest", "highest"]].tolist() == [10, 5.0, 14.0]
        assert table.outside["b of run"] == pytest.approx(outside)
        assert (table.left["a of run"] > 0) is np.True_ if can_tell_a else np.isnan(table.outside["a of run"])
        words = at_once.sentence_of_left_out(table.reset_index())
        assert f"From all others {1 + can_tell_a} of 2 numbers can be inferred." in words
        assert ("b of run, by a factor of 1.96" in words) is (b == 28.0)


def test_what_is_inferred_of_nothing_is_not_inside():
    table = pd.DataFrame({"number": ["a"], "printed": 1.0, "left": 0, "lowest": np.nan, "highest": np.nan,
                          "outside": np.nan})
    assert at_once.sentence_of_left_out(table).startswith("None of 1 numbers")
    assert at_once.metrics_of_left_out(table).value.tolist() == [0, 0]
