"""Statistics of the reader's own runs are wrong as often as they say, for series that resemble their own past."""
import numpy as np
import pytest
from scipy import stats

from study.ensembles import correlation
from study.your_runs import autocorrelated, change_points, lags
from support.correlated_series import ar1

SEEDS = range(1000)


@pytest.mark.parametrize("n", [60, 200, 1000])
def test_independent_series_are_called_correlated_one_time_in_twenty(n):
    called = 0
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        x, y = ar1(rng, n), ar1(rng, n)
        called += correlation.p_value(np.corrcoef(x, y)[0, 1], correlation.n_effective(x, y)) < correlation.LEVEL
    assert 0.03 <= called / len(SEEDS) <= 0.07


def _slow(rng, n):
    return ar1(rng, n)


def _white(rng, n):
    return rng.standard_normal(n)


def _trend(rng, n):
    return np.linspace(-1.0, 1.0, n)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "of_x"), [
    (200, _slow), (200, _white), (200, _trend), pytest.param(1000, _slow, marks=pytest.mark.slow)])
def test_a_planted_slope_is_inside_its_interval_nineteen_times_in_twenty(n, of_x):
    held = 0
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        x = of_x(rng, n)
        estimate = autocorrelated.line(x, 2 * x + ar1(rng, n))
        held += estimate.low <= 2 <= estimate.high
    assert 0.93 <= held / len(SEEDS) <= 0.97


def test_a_difference_of_nothing_is_inside_its_interval():
    """Means of two stretches that do not follow each other."""
    held = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        estimate = autocorrelated.difference(7 + ar1(rng, 90), 7 + ar1(rng, 90))
        held += estimate.low <= 0 <= estimate.high
    assert 0.91 <= held / 300 <= 0.99


@pytest.mark.slow
@pytest.mark.parametrize(("n", "trials"), [(60, 1000), (200, 400)])
def test_a_lag_is_seen_where_there_is_none_one_time_in_twenty(monkeypatch, n, trials):
    monkeypatch.setattr(lags, "ORDERS", 199)
    seen = 0
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        seen += lags.scan(ar1(rng, n), ar1(rng, n), 10, seed).best.p <= lags.LEVEL
    assert 0.03 <= seen / trials <= 0.07


@pytest.mark.slow
@pytest.mark.parametrize("phi", [0.0, 0.9])
def test_a_series_without_a_change_keeps_its_level(phi):
    seen = sum(len(change_points.changes(ar1(np.random.default_rng(seed), 60, phi), 1).table) > 0 for seed in range(200))
    assert seen / 200 <= 0.07


def test_without_a_past_the_interval_is_the_textbooks():
    """Of white noise phi is near zero, and the interval that of least squares."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal(2000)
    y = 1.5 * x + rng.standard_normal(2000)
    estimate, textbook = autocorrelated.line(x, y), stats.linregress(x, y)
    assert estimate.value == pytest.approx(textbook.slope, abs=0.1 * textbook.stderr)
    assert (estimate.high - estimate.low) / 2 == pytest.approx(1.96 * textbook.stderr, rel=0.03)
    assert abs(estimate.phi) < 0.06
    assert estimate.left > 0.01


def test_an_estimate_moves_with_its_units():
    rng = np.random.default_rng(4)
    x, y = ar1(rng, 80), ar1(rng, 80)
    first, scaled = autocorrelated.line(x, y), autocorrelated.line(1000 * x + 5, 3 * y - 7)
    for end in ("value", "low", "high"):
        assert getattr(scaled, end) == pytest.approx(0.003 * getattr(first, end), rel=1e-6, abs=1e-9)
    level, moved = autocorrelated.mean(y), autocorrelated.mean(2 * y + 100)
    assert (moved.low, moved.high) == pytest.approx((2 * level.low + 100, 2 * level.high + 100))


def test_a_pattern_that_one_phi_does_not_have_is_told():
    rng = np.random.default_rng(5)
    x = rng.standard_normal(300)
    wave = np.sin(2 * np.pi * np.arange(300) / 6)
    assert autocorrelated.line(x, x + 3 * wave + rng.standard_normal(300)).left < 1e-6
