"""History matching: on a machine whose answers are known, and on draws of which one is taken to be the truth."""
import numpy as np
import pandas as pd
import pytest
from test_ensembles import KNOWN, simulate

from study.documents import published
from study.ensembles import ensembles, history_matching
from study.ensembles.history_matching import chance, factors, moved, over_tolerances, printed
from study.figures import predictions as prediction_pictures

RUN = "kustarz-2007/oltp-without-fix"


@pytest.fixture(scope="module")
def results():
    return ensembles.run(ensembles.cases(KNOWN, 400, 2, 1), simulate)


@pytest.fixture(scope="module")
def draws(results):
    return ensembles.unfitted(results)


def of(value, step=1.0):
    return pd.DataFrame([("before/rate", value, value - step / 2, value + step / 2)],
                        columns=["column", "printed", "low", "high"])


def as_match(draws, farthest):
    return history_matching.Match(draws, of(1.0), of(1.0), farthest, farthest, pd.DataFrame())


def test_facts_are_printed_numbers_of_the_run_with_half_a_unit_of_their_last_digit():
    names = [f"before/{name}.rate" for name in ("summary", "shadowread", "nothing")]
    has = pd.DataFrame(columns=[*names, "after/summary.rate"])
    facts = printed(has, {"before": RUN}).set_index("column")
    assert list(facts.index) == ["before/summary.rate", "before/shadowread.rate"]
    assert facts.loc["before/summary.rate"].tolist() == pytest.approx([8543.3, 8543.25, 8543.35])
    assert facts.loc["before/shadowread.rate"].tolist() == pytest.approx([4255, 4254.5, 4255.5])


def test_what_would_be_printed_the_same_is_off_by_nothing():
    table = pd.DataFrame({"part": "all", "fitted": False, "before/rate": [99.6, 100.4, 110.55, 49.75, 0.0]})
    assert factors(table, of(100.0))["before/rate"].tolist() == pytest.approx([1, 1, 1.1, 2, np.inf])


def test_a_draw_taken_as_the_truth_is_left_and_what_is_left_is_like_it(draws):
    for truth in draws.index[:20]:
        value = float(draws["before/rate"][truth])
        farthest = factors(draws, of(value, 1e-9)).max(axis=1)
        left = draws[farthest <= 1.05]
        assert truth in left.index
        time = left.cost + left.extra       # all that the rate depends on, but for a thousandth
        assert time.between(1000 / value / 1.06, 1000 / value * 1.06).all()


def test_numbers_after_the_change_are_no_part_of_what_is_left(monkeypatch, results):
    """Nonsense in their place changes what comes nearest to all, and no prediction."""
    def printed_as(before, after):
        monkeypatch.setattr(published, "runs", lambda: [published.PublishedRun(
            f"a/{name}", "a", "", {"printed_step": {"rate": 1.0}},
            pd.DataFrame({"t": [np.nan], "name": ["rate"], "value": [value], "unit": ["1/s"]}))
            for name, value in (("before", before), ("after", after))])
        return history_matching.match(results, results["after/rate"] / results["before/rate"], "a/before", "a/after")
    matched, other = printed_as(400.0, 500.0), printed_as(400.0, 9e9)
    pd.testing.assert_frame_equal(matched.table, other.table)
    pd.testing.assert_frame_equal(matched.within(1.1), other.within(1.1))
    assert len(matched.before) == 1
    assert matched.of_all.min() < 1.05 < 1e6 < other.of_all.min()
    assert (matched.of_all >= matched.farthest).all()


def test_a_rate_that_only_one_choice_gives_leaves_that_choice(draws):
    """1000 over a cost of 1 to 4 is 600 and more only without the extra one, and the share of the change does not matter."""
    matched = as_match(draws, factors(draws, of(700.0)).max(axis=1))
    table = moved(KNOWN, matched, 1.1).set_index(["what", "value"])
    assert table.loc[("extra", "0"), "left"] == 100
    assert table.loc[("extra", "1"), "left"] == 0
    ranks = table[~table.is_choice].droplevel("value").left
    assert ranks["cost"] < 30
    assert abs(ranks["share"] - 50) < 1.5 * chance(len(draws), len(matched.within(1.1)))


def test_with_all_draws_left_nothing_has_moved(draws):
    table = moved(KNOWN, as_match(draws, pd.Series(1.0, draws.index)), np.inf)
    np.testing.assert_allclose(table.left, table.before)


def test_more_tolerance_leaves_more_and_of_few_draws_no_range_is_told(draws):
    effect = draws["after/rate"] / draws["before/rate"]
    table = over_tolerances(factors(draws, of(400.0)).max(axis=1), effect)
    assert table.left.is_monotonic_increasing
    assert table.left.iloc[-1] == len(draws)
    few = over_tolerances(pd.Series(9.0, draws.index).where(draws.index > draws.index[2], 1.0), effect)
    assert few.left.tolist() == [3] * len(history_matching.TOLERANCES) + [len(draws)]
    assert few.middle.isna().tolist() == [True] * len(history_matching.TOLERANCES) + [False]


def test_a_number_that_does_not_matter_moves_as_far_by_chance_one_time_in_twenty(draws):
    rng = np.random.default_rng(1)
    ranks = []
    for _ in range(400):
        chosen = pd.Series(2.0, draws.index)
        chosen[rng.choice(draws.index, 40, replace=False)] = 1.0
        ranks.append(moved(KNOWN, as_match(draws, chosen), 1.0).set_index("what").left["share"])
    assert 0.02 < (np.abs(np.array(ranks) - 50) > chance(len(draws), 40)).mean() < 0.09


def test_the_figure_has_a_row_for_every_choice_and_number(draws):
    table = moved(KNOWN, as_match(draws, pd.Series(range(400), draws.index)), 49)
    figure = prediction_pictures.what_is_left(table, chance(400, 50), {"extra": "one more", "cost": "a cost"})
    above, below = figure.axes
    assert [label.get_text() for label in above.get_yticklabels()] == ["one more: 0", "one more: 1"]
    assert [label.get_text() for label in below.get_yticklabels()] == ["a cost", "share"]


def test_the_nearest_draw_is_told_whole_and_how_far_it_is_off(draws):
    truth, effect = draws.index[7], 100 * (draws["after/rate"] / draws["before/rate"] - 1)
    farthest = factors(draws, of(float(draws["before/rate"][truth]), 1e-9)).max(axis=1)
    matched = as_match(draws, farthest)._replace(table=over_tolerances(farthest, effect))
    table = history_matching.nearest(KNOWN, draws, matched.of_all).set_index("what")
    assert table.value.to_dict() == {"extra": "yes" if draws.extra[truth] else "no", "cost": f"{draws.cost[truth]:.3g} ms",
                                     "share": f"{draws.share[truth]:.3g}"}
    numbers = history_matching.metrics(matched, "%", 1.4).set_index("name").value
    assert numbers["matched.nearest-of-all"] == 1
    assert numbers["matched.all-left"] == len(draws)
    assert numbers["matched.trials"] == 1.4
    assert numbers["matched.tightest"] == pytest.approx(5)
    assert numbers["matched.within-5-percent-lowest"] == effect[farthest <= 1.05].min()
    sentence = history_matching.sentence(matched, "%")
    assert sentence.startswith(f"Of 400 draws {len(matched.within(1.05))} show what was printed")


def test_of_too_few_draws_that_is_said(results):
    few = results[results.part == "all"].head(4).rename(columns=lambda name: name.replace("/rate", "/summary.rate"))
    effect = few["after/summary.rate"] / few["before/summary.rate"]
    matched = history_matching.match(few, effect, RUN, "kustarz-2007/oltp-with-fix")
    assert matched.tightest() == np.inf
    assert history_matching.sentence(matched, "%").startswith("Fewer than 10 of 4 draws show what was printed before")
    assert history_matching.closeness(matched.tightest()) == "however far they are off"
    assert len(moved(KNOWN, matched, matched.tightest())) == 4


def test_of_each_draw_taken_as_the_truth_the_effect_is_inside_but_for_the_least_and_the_largest():
    """All are within a tolerance of each other, so that each truth leaves all others: no better than chance."""
    draws = pd.DataFrame({"before/rate": 1000 * 1.001 ** np.arange(30)})
    effect = pd.Series(np.arange(30.0))
    matched = as_match(draws, effect)
    truths = history_matching.each_as_truth(matched, effect)
    assert truths.is_inside.tolist() == [False] + [True] * 28 + [False]
    numbers = history_matching.metrics_of_trust(truths, matched).set_index("name").value
    assert numbers["matched.truths-width"] == pytest.approx(100)
    far = draws.replace({"before/rate": {draws["before/rate"][7]: 1e6}})
    assert history_matching.each_as_truth(as_match(far, effect), effect).nearest[7] > 900


@pytest.mark.slow
def test_the_question_finds_the_effect_of_known_machines_in_less_than_chance_would_need(results, draws):
    """A defect shows: an effect that has nothing to do with the numbers is found in no narrower range."""
    draws = draws.head(120)
    effect = draws["after/rate"] / draws["before/rate"] + draws.cost        # of which the rate tells much
    matched = as_match(draws, pd.Series(1.0, draws.index))._replace(before=of(1.0, 1e-6), all=of(1.0, 1e-6))

    def inside_and_width(of_draws):
        truths = history_matching.each_as_truth(matched, of_draws)
        numbers = history_matching.metrics_of_trust(truths, matched).set_index("name").value
        return numbers["matched.truths-inside"], numbers["matched.truths-width"]
    inside, width = inside_and_width(effect)
    assert (inside > 85, width < 75) == (True, True)
    shuffled = pd.Series(np.random.default_rng(1).permutation(effect), effect.index)
    assert inside_and_width(shuffled)[1] > 90


def test_a_machine_of_another_kind_is_farther_from_all_than_they_are_from_each_other():
    draws = pd.DataFrame({"before/rate": np.linspace(100, 110, 30), "after/rate": np.linspace(100, 110, 30)})
    facts = pd.DataFrame([("before/rate", 100.0, 99.95, 100.05), ("after/rate", 150.0, 149.95, 150.05)],
                         columns=["column", "printed", "low", "high"])
    of_all = factors(draws, facts).max(axis=1)
    matched = history_matching.Match(draws, facts[:1], facts, of_all, of_all, pd.DataFrame())
    truths = history_matching.each_as_truth(matched, draws["after/rate"])
    assert (history_matching.metrics_of_trust(truths, matched).set_index("name").value["matched.truths-as-far"]) == 0
    assert "Of the 30 machines 0 are as far from all others" in history_matching.trust(truths, matched)
    runs = history_matching.each_run_left_out(matched, "rate").set_index("run")
    assert runs.outside["after"] == pytest.approx(149.95 / 105.17, abs=0.01)     # the nearest to 100 within 5 %
    assert runs.left["before"] == 30       # no draw is near to 150


def test_of_few_draws_nothing_is_said_of_machines_of_the_model():
    draws = pd.DataFrame({"before/rate": [100.0, 104.0]})
    matched = as_match(draws, pd.Series([1.0, 1.0]))
    truths = history_matching.each_as_truth(matched, pd.Series([1.0, 2.0]))
    assert history_matching.metrics_of_trust(truths, matched).empty
    assert history_matching.trust(truths, matched).startswith("2 draws are too few")


def test_a_number_that_a_draw_does_not_have_is_not_met():
    table = pd.DataFrame({"before/rate": [np.nan, 100.0]})
    assert factors(table, of(100.0))["before/rate"].tolist() == [np.inf, 1.0]
