"""Priors, draws, cases, fits: on a machine whose answers are known in closed form."""
import numpy as np
import pandas as pd
import pytest

from study.documents import priors
from study.documents.priors import Known, Prior, Switch
from study.ensembles import ensembles, intervals, processors
from study.errors import UserError
from study.runs import progress

COST = Prior(name="cost", of="machine", experiments=("test",), source="a test", low=1, central=2, high=4, unit="ms",
             shape="log")
SHARE = Prior(name="share", of="machine", experiments=("test",), source="a test", low=0, central=0.2, high=0.5, unit="1",
              shape="uniform")
EXTRA = Switch(name="extra", of="machine", experiments=("test",), source="a test", choices=(0, 1), central=0)
KNOWN = Known((COST, SHARE), (EXTRA,))


def simulate(values, seed, variant):
    """A rate: 1000 over the cost, which the change lowers by `share`; a seed turns it by a thousandth at most."""
    cost = values["cost"] * (1 - values["share"] * (variant == "after")) + values["extra"]
    return {"rate": 1000 / cost * (1 + np.sin(seed) / 1000)}


@pytest.fixture(scope="module")
def results():
    fit = ensembles.Fit("cost", 0.01, 100, "rate", 400.0)
    return ensembles.run(ensembles.cases(KNOWN, 20, 3, 1), simulate, fit)


def test_of_the_numbers_alone_there_may_be_fewer_draws():
    table = ensembles.cases(KNOWN, 20, 3, 1, 0.4)
    assert (table.part == "all").sum() == 20
    assert (table.part == "parameter").sum() == 8
    fewer, all_of_them = (ensembles.cases(KNOWN, n, 3, 1) for n in (8, 20))
    for part, same in (("parameter", fewer), ("all", all_of_them)):
        assert table[table.part == part].to_dict("records") == same[same.part == part].to_dict("records")


@pytest.mark.parametrize(("low", "central", "high", "others"), [(1, 1, 3, [3]), (1, 2, 2.4, [1]), (1, 2, 9, [1, 8])])
def test_a_whole_condition_is_not_changed_to_what_it_is(low, central, high, others):
    """An end of its range, rounded, may be the best guess: then that is no case of its own."""
    prior = Prior(name="disks", of="machine", experiments=("test",), source="a test", low=low, central=central, high=high,
                  unit="1", shape="whole", condition="disks")
    assert ensembles.others(prior) == others
    table = ensembles.cases(Known((prior,), ()), 2, 2, 1)
    assert table[table.part == "structure"].disks.tolist() == others


def test_every_part_has_its_cases(results):
    assert dict(results.part.value_counts()) == {"central": 2, "seed": 2, "parameter": 20, "structure": 1, "all": 40}
    structure = results[results.part == "structure"].iloc[0]
    assert (structure.cost, structure.share, structure.extra) == (2, 0.2, 1)
    assert set(results[results.part == "parameter"].extra) == {0}
    assert set(results[results.part == "all"].extra) == {0, 1}


def test_a_range_that_could_have_been_printed_is_a_condition():
    """It keeps its best guess where numbers are drawn, and is changed by itself to either end of its range."""
    known = Known((COST, SHARE.model_copy(update={"condition": "share"})), (EXTRA,))
    table, before = ensembles.cases(known, 20, 3, 1), ensembles.cases(KNOWN, 20, 3, 1)
    assert set(table[table.part == "parameter"].share) == {SHARE.central}
    pd.testing.assert_series_equal(table[table.part == "parameter"].cost, before[before.part == "parameter"].cost)
    pd.testing.assert_frame_equal(table[table.part == "all"].reset_index(drop=True),
                                  before[before.part == "all"].reset_index(drop=True))
    changed = [ensembles.changed(case, known) for case in table[table.part == "structure"].to_dict("records")]
    assert [[(factor.name, value) for factor, value in case] for case in changed] == [
        [("extra", 1)], [("share", pytest.approx(0.025))], [("share", pytest.approx(0.475))]]


def test_a_draw_near_the_baseline_is_simulated_whole_and_another_one_is_not():
    """As many variants are run as that takes, and each whole draw has what it has in an ensemble of its own."""
    baseline, called = ensembles.Baseline("rate", 300, 450), []

    def noted(values, seed, variant):
        called.append(variant)
        return simulate(values, seed, variant)

    table = pd.concat([ensembles.cases(KNOWN, 4, 2, 1), ensembles.near(KNOWN, 40, 1)], ignore_index=True)
    n_others = (table.part != ensembles.NEAR).sum()
    results = ensembles.run(table, noted, baseline=baseline)
    drawn = ensembles.unfitted(results, ensembles.NEAR)
    is_whole = drawn["after/rate"].notna()
    assert 5 < is_whole.sum() < 35
    pd.testing.assert_series_equal(is_whole, drawn["before/rate"].between(300, 450), check_names=False)
    assert len(called) == 2 * n_others + 40 + is_whole.sum()
    assert set(drawn.seed).isdisjoint(table.seed[table.part != ensembles.NEAR])
    first = drawn[is_whole].iloc[0]
    assert first["after/rate"] == simulate(first[["cost", "share", "extra"]].to_dict(), first.seed, "after")["rate"]


def test_of_many_draws_only_the_first_are_fitted(monkeypatch):
    monkeypatch.setattr(ensembles, "FITTED_DRAWS", 3)
    results = ensembles.run(ensembles.cases(KNOWN, 8, 2, 1), simulate, ensembles.Fit("cost", 0.01, 100, "rate", 400.0))
    fitted, drawn = results[results.fitted & (results.part == "all")], ensembles.unfitted(results)
    assert fitted.seed.tolist() == drawn.seed.tolist()[:3]


def test_draws_fill_every_share_of_every_range():
    drawn = priors.draws(KNOWN, 50, 7)
    for prior, low, high, scale in ((COST, 1, 4, np.log), (SHARE, 0, 0.5, np.asarray)):
        shares = (scale(drawn[prior.name].to_numpy()) - scale(low)) / (scale(high) - scale(low))
        assert sorted(np.floor(shares * 50).astype(int)) == list(range(50))
    assert abs((drawn.extra == 1).sum() - 25) <= 1
    pd.testing.assert_frame_equal(drawn, priors.draws(KNOWN, 50, 7))
    assert not drawn.equals(priors.draws(KNOWN, 50, 8))


def test_a_fitted_case_meets_the_baseline_and_keeps_everything_else(results):
    fitted = ensembles.fitted(results)
    assert len(fitted) == 20
    np.testing.assert_allclose(fitted["before/rate"], 400, rtol=ensembles.CLOSE)
    np.testing.assert_allclose(fitted["cost"], 2.5 - fitted["extra"], rtol=0.01)
    same = ["share", "extra", "seed"]
    assert fitted[same].to_numpy().tolist() == ensembles.unfitted(results)[same].to_numpy().tolist()


def tried(time_of, baseline=400.0, n_draws=6):
    """(constants that fits tried after each case's own, results): the time of an operation is `time_of(cost)`."""
    constants = []

    def simulate_and_note(values, seed, variant):
        constants.append(values["cost"])
        return {"rate": 1000 / time_of(values["cost"])}
    cases = ensembles.cases(KNOWN, n_draws, 2, 1)
    results = ensembles.run(cases, simulate_and_note, ensembles.Fit("cost", 0.01, 100, "rate", baseline), ("before",))
    return len(constants) - len(cases), results


def test_from_the_second_case_on_a_straight_line_takes_one_run():
    """Of seven cases; the first one steps from 2 to 4 and back."""
    n_tried, results = tried(lambda cost: 4 + cost, baseline=100.0)
    assert results[results.fitted].reached.all()
    assert n_tried == 2 + 6


@pytest.mark.parametrize("time_of", [
    lambda cost: max(2.2, cost),                        # flat, then a line
    lambda cost: 2.5 + max(0.0, cost - 0.2) / 1000,     # all but flat
    lambda cost: 2.0 + (cost > 0.5) * 0.51 + (cost > 7) * 3,      # stairs
    lambda cost: 0.4 * cost ** 2, lambda cost: cost ** 0.25 * 2])
def test_curves_of_all_shapes_are_met(time_of):
    n_tried, results = tried(time_of)
    assert results[results.fitted].reached.all()
    assert n_tried <= 7 * 12


def test_a_baseline_out_of_reach_is_said_to_be_so():
    fit = ensembles.Fit("cost", 1, 4, "rate", 5000.0)
    results = ensembles.run(ensembles.cases(KNOWN, 2, 2, 1), simulate, fit)
    assert not results[results.fitted].reached.any()
    assert ensembles.fitted(results).empty
    assert set(results[results.fitted].cost) == {1}
    assert results[results.fitted]["before/rate"].notna().all()
    assert results[results.fitted]["after/rate"].isna().all()


def test_what_an_interval_is_made_of(results):
    widths = ensembles.widths(results, "rate").set_index("part")
    assert widths.loc["seed", "low"] == pytest.approx(1.25)             # common random numbers
    assert widths.loc["seed", "high"] == pytest.approx(1.25)
    assert widths.loc["parameter", "low"] < 1.1
    assert widths.loc["parameter", "high"] > 1.7
    assert widths.loc["structure", "low"] == pytest.approx(3 / 2.6)     # 2 + 1 over 1.6 + 1
    low, middle, high = intervals.interval(range(101))
    assert (low, middle, high) == (5, 50, 95)


def test_values_go_where_the_priors_say():
    from typing import NamedTuple

    class Machine(NamedTuple):
        cost: int = 0
        share: float = 0.0
        extra: int = 5
        other: int = 7
    changed = ensembles.apply(KNOWN, {"cost": 2.6, "share": 0.25, "extra": True}, {"machine": Machine(), "else": None})
    assert changed == {"machine": Machine(3, 0.25, 1, 7), "else": None}


@pytest.mark.parametrize(("change", "word"), [
    ({"low": 3}, "order"), ({"high": 1}, "order"), ({"low": 0}, "above 0"), ({"source": " "}, "source"),
    ({"shape": "normal"}, "log")])
def test_a_prior_without_range_or_source_is_refused(change, word):
    with pytest.raises(ValueError, match=word):
        Prior.model_validate(COST.model_dump() | change)


def test_a_switch_stands_on_one_of_its_choices():
    with pytest.raises(ValueError, match="none of 0, 1"):
        Switch.model_validate(EXTRA.model_dump() | {"central": 2})


def test_too_few_draws_and_unknown_experiments_are_one_sentence():
    with pytest.raises(UserError, match="1 draws and 3 seeds make no interval"):
        ensembles.cases(KNOWN, 1, 3, 1)
    with pytest.raises(UserError, match="no prior of an experiment 'weather'"):
        priors.read("weather")


def test_of_what_is_known_in_sum_only_the_rest_is_drawn():
    """Low to high are the sum's, for draws and for best guesses."""
    rest = Prior(name="rest", of="machine", experiments=("test",), source="a test", low=10, central=11, high=12, unit="ms",
                 shape="uniform", less="cost")
    known = Known((COST, rest), ())
    drawn = priors.draws(known, 50, 1)
    assert (drawn.cost + drawn.rest).between(10, 12).all()
    assert (drawn.cost + drawn.rest).max() > 11.9
    assert known.central() == {"cost": 2, "rest": 9}


def test_whoever_listens_hears_of_each_call():
    heard = []
    with progress.telling(lambda done, of: heard.append((done, of))):
        assert processors.on_all_processors(lambda x: -x, [(1,), (2,), (3,)]) == [-1, -2, -3]
    assert heard == [(0, 3), (1, 3), (2, 3), (3, 3)]
    processors.on_all_processors(lambda x: -x, [(1,)])
    assert len(heard) == 4
