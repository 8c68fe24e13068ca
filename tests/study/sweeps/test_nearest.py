"""Waves towards printed numbers, on a simulation that is a formula."""
import numpy as np
import pandas as pd
import pytest

from model.events.streams import stream
from study.documents import priors
from study.documents.priors import Known, Prior, Switch
from study.ensembles.history_matching import factors
from study.sweeps import nearest

KNOWN = Known(
    tuple(Prior(name=name, of="x", experiments=(), source="made up", low=1.0, central=2.0, high=9.0, unit="1", shape="log")
          for name in ("a", "b", "c")),
    (Switch(name="mode", of="x", experiments=(), source="made up", choices=("plain", "double", "odd"), central="plain"),))
TRUTH = {"a": 2.0, "b": 5.0, "c": 3.0, "mode": "double"}


def simulated(draws):
    """Three numbers of four unknowns, above 0."""
    by_mode = draws["mode"].map({"plain": 1.0, "double": 2.0, "odd": 0.7}).to_numpy(float)
    a, b, c = (draws[name].to_numpy(float) for name in "abc")
    return pd.DataFrame({"before/rate": a * b, "before/time": b ** 2 / c + a, "after/rate": a * by_mode + c})


FACTS = simulated(pd.DataFrame([TRUTH])).T.reset_index().set_axis(["column", "printed"], axis=1).assign(
    low=lambda table: table.printed, high=lambda table: table.printed)


def off(draws):
    return factors(draws, FACTS).max(axis=1)


def made(shares):
    values = priors.at(KNOWN, shares)
    return pd.concat([values, simulated(values)], axis=1)


@pytest.mark.slow
def test_waves_come_nearer_than_as_many_draws_at_random():
    shares = priors.shares(KNOWN, 40, 1)
    draws = made(shares)
    for wave in range(3):
        more = nearest.following(KNOWN, shares, draws, FACTS, 10, stream(1, f"wave {wave}"))
        shares, draws = np.vstack([shares, more]), pd.concat([draws, made(more)], ignore_index=True)
    assert len(draws) == 70
    assert off(draws).min() < 1.05 < off(made(priors.shares(KNOWN, 70, 2))).min()


@pytest.mark.slow
def test_the_emulator_knows_how_sure_it_is():
    shares = priors.shares(KNOWN, 60, 1)
    draws = made(shares)
    emulator = nearest.fit(KNOWN, shares, draws[FACTS.column.tolist()])
    elsewhere = priors.shares(KNOWN, 200, 2)
    mean, deviation = emulator.expected(nearest.coordinates(KNOWN, elsewhere))
    away = np.abs(mean - np.log(made(elsewhere)[FACTS.column.tolist()].to_numpy())) / deviation
    assert np.quantile(away, 0.9) < 4           # Gaussian errors: 1.6


def test_draws_of_a_wave_are_apart():
    shares = priors.shares(KNOWN, 40, 1)
    more = nearest.coordinates(KNOWN, nearest.following(KNOWN, shares, made(shares), FACTS, 12, stream(1, "wave")))
    gaps = [np.abs(more[i] - more[j]).max() for i in range(12) for j in range(i)]
    assert min(gaps) > nearest.APART


@pytest.mark.parametrize("spoilt", [0.0, np.nan, np.inf])
def test_a_draw_without_a_usable_number_counts_as_far_from_it(spoilt):
    shares = priors.shares(KNOWN, 40, 1)
    draws = made(shares)
    draws.loc[:4, "after/rate"] = spoilt
    more = nearest.following(KNOWN, shares, draws, FACTS, 6, stream(1, "wave"))
    assert more.shape == (6, 4)
    assert ((more >= 0) & (more <= 1)).all()


def test_no_draw_is_looked_for_where_a_number_is_missing():
    """Draws with less than half of the first prior have no number after the change."""
    shares = priors.shares(KNOWN, 60, 1)
    draws = made(shares)
    draws.loc[shares[:, 0] < 0.5, "after/rate"] = np.nan
    more = nearest.following(KNOWN, shares, draws, FACTS, 12, stream(1, "wave"))
    assert (more[:, 0] >= 0.4).mean() > 0.7
