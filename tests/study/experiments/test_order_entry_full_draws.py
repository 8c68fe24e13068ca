"""Draws at full size, beside the same draws to scale."""
import json

import pytest

from study import project
from study.ensembles.ensembles import AFTER, BEFORE
from study.errors import UserError
from study.experiments.allocator_2010 import order_entry_full_draws as full_draws
from study.experiments.allocator_2010 import order_entry_full_scale as full_scale
from study.experiments.allocator_2010.order_entry_series import TPS

FIXED = dict(n_users=64, record_kib=4, scale=128, window_s=13.0)


def test_what_is_kept_are_the_first_draws_of_the_hypercube():
    drawn, rows = full_draws.read()
    assert json.loads(json.dumps(full_draws.cases()[:len(drawn)])) == drawn
    assert sorted(rows.draw.unique()) == list(range(len(drawn)))
    assert set(rows.rules) == {BEFORE, AFTER}
    assert (rows[rows.name == TPS].value > 0).all()


def test_draws_that_do_not_belong_to_their_series_are_refused(tmp_path, monkeypatch):
    drawn, rows = full_draws.read()
    (tmp_path / "full_scale").mkdir()
    monkeypatch.setattr(project, "DATA", tmp_path)
    (tmp_path / full_draws.CASES).write_text(json.dumps(drawn))
    rows[rows.draw > 0].to_parquet(tmp_path / full_draws.SERIES)
    with pytest.raises(UserError, match=r"has not 30 test runs under both rules .*; restore both"):
        full_draws.read()


@pytest.mark.slow
def test_pairs_are_of_the_same_users_and_records_whatever_a_notebook_asks_for():
    both = full_draws.pairs(60, **FIXED)
    other = full_draws.pairs(60, **FIXED | {"n_users": 16, "record_kib": 8})
    assert other.small.equals(both.small)
    assert other.full.equals(both.full)


@pytest.mark.slow
def test_the_gain_of_a_pair_is_that_of_its_series():
    _, rows = full_draws.read()
    both = full_draws.pairs(60, **FIXED)
    means = rows[rows.name == TPS].groupby(["draw", "rules"]).value.mean().unstack()
    gains = 100 * (means[AFTER] / means[BEFORE] - 1)
    assert both.full[full_draws.GAIN].tolist()[:-1] == pytest.approx(gains.tolist())
    day = full_scale.read()[1.5]
    first = [runs.tps[:full_draws.N_RUNS].mean() for _, runs in day.items()]
    assert both.full[full_draws.GAIN].iloc[-1] == pytest.approx(100 * (first[1] / first[0] - 1))
