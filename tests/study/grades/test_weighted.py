"""What odds of conditions do to a range: on draws whose outcome is their condition."""
import numpy as np
import pandas as pd
import pytest

from study.documents import claims, odds
from study.grades import claim_predictions, remaining_draws, weighted

CLAIM = "lutz-gain"


@pytest.fixture
def draws(monkeypatch):
    """200 draws, half of them of either choice; the claim's outcome is 0 to 1 with 'plain', 100 to 101 with 'odd'."""
    claim, = (claim for claim in claims.read() if claim.id == CLAIM)
    outcome = pd.Series(np.r_[np.linspace(0, 1, 100), np.linspace(100, 101, 100)])
    results = pd.DataFrame({"part": "all", "fitted": False, "mode": ["plain"] * 100 + ["odd"] * 100})
    monkeypatch.setattr(claim_predictions, "outcomes", lambda results, notebook: [(claim, outcome)])
    monkeypatch.setattr(remaining_draws, "draws_left", lambda draws, claim, outcome: outcome)
    return results


def table_with(monkeypatch, results, plain):
    monkeypatch.setattr(odds, "read", lambda experiment: {"mode": {"plain": plain, "odd": 1 - plain}})
    return weighted.table(results, "04_oltp_gain", "order_entry").iloc[0]


def test_equal_odds_change_nothing(monkeypatch, draws):
    row = table_with(monkeypatch, draws, 0.5)
    for end in ("low", "middle", "high", "place (%)"):
        assert row[f"weighted, {end}"] == pytest.approx(row[f"equal, {end}"])
    assert row["equal, place (%)"] == pytest.approx(50)     # 50 % are published, between both choices
    assert row["as good as"] == pytest.approx(200)


def test_an_unlikely_choice_leaves_the_range(monkeypatch, draws):
    row = table_with(monkeypatch, draws, 0.96)
    assert row["equal, high"] > 100 > 1 >= row["weighted, high"]
    assert row["weighted, place (%)"] == pytest.approx(96)
    assert row["as good as"] == pytest.approx(2 * 50 / (0.96 ** 2 + 0.04 ** 2))


def test_of_too_few_draws_nothing_is_said(monkeypatch, draws):
    row = table_with(monkeypatch, draws.assign(mode=["plain"] * 3 + ["odd"] * 197), 0.9999)
    assert row["as good as"] < weighted.ENOUGH
    assert np.isnan(row["weighted, middle"])
    assert weighted.sentence(pd.DataFrame([row]), CLAIM).endswith("Of so few nothing is said.")
    assert weighted.metrics(pd.DataFrame([row])).empty
