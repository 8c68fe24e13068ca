"""Which single fact tells most: against an analysis of variance by statsmodels, and where the answer is known."""
import numpy as np
import pandas as pd
import pytest
from test_ensembles import KNOWN, simulate

from study.ensembles import deciding_facts, ensembles
from study.ensembles.history_matching import Match


@pytest.fixture(scope="module")
def draws():
    return ensembles.unfitted(ensembles.run(ensembles.cases(KNOWN, 60, 2, 1), simulate))


@pytest.mark.parametrize("n_groups", [2, 3, 7])
def test_the_share_is_that_of_an_analysis_of_variance(n_groups):
    rng = np.random.default_rng(n_groups)
    group = rng.permutation(np.arange(50) % n_groups)
    values = group + rng.normal(size=50)
    import statsmodels.formula.api as smf  # takes seconds, in each worker
    twin = smf.ols("y ~ C(g)", pd.DataFrame({"y": values, "g": group})).fit().rsquared_adj
    assert deciding_facts.explained(group, values) == pytest.approx(twin)


def test_what_decides_explains_all_and_what_does_not_matter_nothing(draws):
    table = deciding_facts.facts(KNOWN, draws, draws.extra.astype(float)).set_index("what")
    assert (table.index[0], table.share["extra"], table.low["extra"]) == ("extra", pytest.approx(1), pytest.approx(1))
    others = table.drop(index="extra")
    assert (others.low < 0.02).all()
    assert (others.share < 0.2).all()


def test_a_number_counts_as_known_to_a_third_of_the_draws(draws):
    table = deciding_facts.facts(KNOWN, draws, draws.cost).set_index("what")
    assert 0.8 < table.share["cost"] < 0.95
    assert table.low["cost"] <= table.share["cost"] <= table.high["cost"]


def test_chance_is_no_fact():
    rng = np.random.default_rng(5)
    shares = [deciding_facts.explained(np.arange(60) % 3, rng.normal(size=60)) for _ in range(300)]
    assert np.mean(shares) < 0.03


def test_a_fact_that_the_level_has_settled_tells_no_more(draws):
    """Near are the draws without the extra one: among all draws it tells most, among those left something else does."""
    farthest = pd.Series(np.where(draws.extra == 0, 1.0, 3.0), draws.index)
    matched = Match(draws, pd.DataFrame(), pd.DataFrame(), farthest, farthest, pd.DataFrame())
    rows = deciding_facts.over_tolerances(KNOWN, matched, 10 * draws.extra + draws.cost, {"extra": "one more"})
    assert rows["most telling"].tolist()[0] == "one more"
    assert set(rows["most telling"][1:]) == {"cost"}
    assert set(rows.left[1:]) == {(draws.extra == 0).sum()}
    names = deciding_facts.metrics(rows).name.tolist()
    assert (names[0], names[-1]) == ("tells.all", "tells.within-5-percent")


def test_of_few_draws_or_none_nothing_is_told(draws):
    for n in (0, 2, 19):
        assert deciding_facts.facts(KNOWN, draws.head(n), draws.cost).empty
    few = draws.head(4)
    near = pd.Series(1.0, few.index)
    nothing = Match(few, pd.DataFrame(), pd.DataFrame(), near, near, pd.DataFrame())
    rows = deciding_facts.over_tolerances(KNOWN, nothing, draws.cost, {})
    assert rows.empty
    assert deciding_facts.metrics(rows).empty


def test_the_tree_asks_what_decides_first_and_holds_all_draws(draws):
    effect = 100.0 * draws.extra + 10.0 * (draws.cost > draws.cost.median())
    parts = deciding_facts.tree(KNOWN, draws, effect, {"extra": "one more"})
    assert parts.draws.sum() == len(draws)
    assert 2 <= len(parts) <= 4
    assert parts["draws with"].str.contains("one more").all()
    assert (parts.low.min(), parts.high.max()) == (effect.min(), effect.max())
    assert (parts.low <= parts.middle).all()
    assert (parts.middle <= parts.high).all()
    with_one_more = parts["draws with"].str.contains("one more: 1")
    assert parts[with_one_more].draws.sum() in (draws.extra.sum(), len(draws) - draws.extra.sum())


def test_parts_of_the_tree_are_those_that_their_words_describe(draws):
    parts = deciding_facts.tree(KNOWN, draws, 100.0 * draws.extra, {})
    assert parts.draws.tolist() == [(draws.extra == 0).sum(), (draws.extra == 1).sum()]
    assert parts.middle.tolist() == [0.0, 100.0]


def test_of_too_few_draws_no_tree_is_made(draws):
    few = draws.head(deciding_facts.ENOUGH - 1)
    assert deciding_facts.tree(KNOWN, few, few.cost, {}).empty
