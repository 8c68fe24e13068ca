"""Which single fact tells most: against an analysis of variance by statsmodels, and where the answer is known."""
import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from test_ensembles import KNOWN, simulate

from study.ensembles import ensembles, telling


@pytest.fixture(scope="module")
def draws():
    return ensembles.unfitted(ensembles.run(ensembles.cases(KNOWN, 60, 2, 1), simulate))


@pytest.mark.parametrize("n_groups", [2, 3, 7])
def test_the_share_is_that_of_an_analysis_of_variance(n_groups):
    rng = np.random.default_rng(n_groups)
    group = rng.permutation(np.arange(50) % n_groups)
    values = group + rng.normal(size=50)
    twin = smf.ols("y ~ C(g)", pd.DataFrame({"y": values, "g": group})).fit().rsquared_adj
    assert telling.explained(group, values) == pytest.approx(twin)


def test_what_decides_explains_all_and_what_does_not_matter_nothing(draws):
    table = telling.facts(KNOWN, draws, draws.extra.astype(float)).set_index("what")
    assert table.share["extra"] == pytest.approx(1)
    others = table.drop(index="extra")
    assert (others.low < 0.02).all()
    assert (others.share < 0.2).all()
    assert table.index[0] == "extra"
    words = telling.sentence(table.reset_index(), {"extra": "one more"})
    assert words.startswith("The single fact that would have told most is one more: it explains 100 % (100 to 100 %)")
    assert words.endswith("No other comes near.")


def test_a_number_counts_as_known_to_a_third_of_its_range(draws):
    table = telling.facts(KNOWN, draws, draws.cost).set_index("what")
    assert 0.8 < table.share["cost"] < 0.95
    assert table.low["cost"] <= table.share["cost"] <= table.high["cost"]


def test_chance_is_no_fact(draws):
    rng = np.random.default_rng(5)
    shares = [telling.explained(np.arange(60) % 3, rng.normal(size=60)) for _ in range(300)]
    assert np.mean(shares) < 0.03


def test_of_few_draws_or_none_nothing_is_told(draws):
    for n in (0, 2, 49):
        table = telling.facts(KNOWN, draws.head(n), draws.cost)
        assert table.empty
        assert telling.metrics(table).empty
        assert telling.sentence(table, {}).startswith("Fewer than 50 draws do not say")
    assert len(telling.metrics(telling.facts(KNOWN, draws.head(50), draws.cost))) == 9
