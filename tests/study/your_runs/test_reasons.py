"""Series of which nothing can be said give a reason and no number; what is there is seen where it is."""
import numpy as np
import pytest

from study.errors import UserError
from study.your_runs import autocorrelated, change_points, lags
from support.correlated_series import ar1

RNG = np.random.default_rng(1)
GOOD = ar1(RNG, 100)
WITH_NAN, WITH_INF = GOOD.copy(), GOOD.copy()
WITH_NAN[[7, 50]] = np.nan
WITH_INF[3] = np.inf
BAD = [(WITH_NAN, "lack 2 of 100 values, the first at place 8"), (WITH_INF, "lack 1 of 100 values, the first at place 4"),
       (np.full(100, 3.0), "hold one that is the same all the time"),
       (3 + 1e-13 * GOOD, "hold one that is the same all the time"), (GOOD[:19], "have 19 values; 20 or more"),
       (np.zeros(0), "have 0 values; 20 or more")]


@pytest.mark.parametrize(("values", "words"), BAD)
def test_a_series_of_which_nothing_can_be_said_gives_a_reason(values, words):
    other = GOOD[:len(values)]
    for estimate in (autocorrelated.line(values, other), autocorrelated.line(other, values), autocorrelated.mean(values)):
        assert words in estimate.reason
        assert np.isnan([estimate.value, estimate.low, estimate.high]).all()
    scan = lags.scan(values, other, 3, 1)
    assert words in scan.reason
    assert scan.table.empty
    assert "no lag is looked for" in lags.verdict(scan, 1.0, 1.0)
    changed = change_points.changes(values, 1)
    assert words in changed.reason
    assert changed.table.empty
    assert "no change is looked for" in change_points.verdict(changed, 1.0)


def test_a_gap_is_named():
    times = np.concatenate([np.arange(10.0), np.arange(14.0, 104.0)])
    assert "a gap from 9 to 14 s" in autocorrelated.why_not(GOOD, times=times, interval=1.0)
    assert autocorrelated.why_not(GOOD, times=np.arange(100.0), interval=1.0) == ""


def test_series_of_two_lengths_are_not_beside_each_other():
    assert "have 100, 99 values" in autocorrelated.line(GOOD, GOOD[1:]).reason


def test_of_two_stretches_the_bad_one_is_named():
    assert autocorrelated.difference(GOOD, GOOD[:5]).reason.startswith("after: have 5 values")


def test_lags_that_a_series_is_too_short_for_are_a_reason_and_no_lag_is_an_error():
    assert "lags up to 26 intervals need 104" in lags.scan(GOOD, GOOD, 26, 1).reason
    with pytest.raises(UserError, match="max_lag is 0; take 1"):
        lags.scan(GOOD, GOOD, 0, 1)


@pytest.mark.parametrize("lag", [-4, 0, 4])
def test_a_lag_that_is_there_is_seen_where_it_is(lag):
    rng = np.random.default_rng(2)
    base = ar1(rng, 220, 0.7)
    x, y = base[10:210], base[10 - lag:210 - lag] + 0.5 * rng.standard_normal(200)
    estimate = lags.scan(x, y, 10, 1)
    assert estimate.best.lag == lag
    assert estimate.best.p == 1 / (1 + lags.ORDERS)
    assert (estimate.table.p[estimate.table.r.abs() > estimate.bound] <= lags.LEVEL).all()
    sentence = lags.verdict(estimate, 2.0, 1.0)
    assert f"at {2 * lag:+g} s" in sentence
    assert ("which comes first is not known" in sentence) == (lag == 0)


def test_the_longest_lag_asks_for_longer_ones():
    rng = np.random.default_rng(6)
    base = rng.standard_normal(220)
    assert "look further" in lags.verdict(lags.scan(base[10:210], base[2:202], 8, 1), 1.0, 0.0)


def test_two_moments_far_out_do_not_make_a_lag():
    x, y = np.random.default_rng(7).standard_normal((2, 90))
    x[20], y[30] = 900.0, 900.0
    assert lags.scan(x, y, 12, 1).best.p > lags.LEVEL


@pytest.mark.parametrize("n", [120, 900])
def test_a_change_of_level_is_seen_where_it_is(n):
    """Longer series are averaged in blocks, and the place is in values of the series itself."""
    y = np.random.default_rng(8).standard_normal(n)
    y[n // 2:] += 6
    estimate = change_points.changes(y, 1)
    [row] = estimate.table.itertuples()
    assert estimate.block == -(-n // change_points.MAX_POINTS)
    assert abs(row.place - n // 2) <= estimate.block
    assert row.low < 6 < row.high
    assert estimate.levels[0] < estimate.levels[-1] - 5
    assert "the level changes at" in change_points.verdict(estimate, 1.0)


def test_what_comes_of_chance_has_a_seed():
    assert lags.scan(GOOD, GOOD[::-1], 5, 3).table.equals(lags.scan(GOOD, GOOD[::-1], 5, 3).table)
    assert change_points.changes(GOOD, 3).levels.tolist() == change_points.changes(GOOD, 3).levels.tolist()
