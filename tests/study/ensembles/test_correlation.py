"""Correlating series: closed forms, calibration on series that have nothing to do with each other, power where they have."""
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from study import drawing
from study.documents import disguises
from study.ensembles import correlation
from study.errors import UserError
from study.figures import correlation as correlation_pictures
from study.runs import record
from support.correlated_series import SIZE, TPS, ar1, related, series


def test_statistics_with_a_larger_r2_are_named_in_the_series_looked_at():
    """Not of what follows from throughput: server.cpu and os.reads go with it best of all."""
    table = series()
    assert correlation.larger_r2(correlation.analyse(table, TPS, SIZE)).endswith("): none")
    table["appliance.better"] = table[TPS] + np.arange(40)
    sentence = correlation.larger_r2(correlation.analyse(table, TPS, SIZE))
    assert sentence.startswith("statistics with a larger R² than appliance.io_size (0.")
    assert sentence.split(": ")[1].startswith("appliance.better (0.")
    assert "," not in sentence


# --- closed forms ---------------------------------------------------------------------------------------------------------

@given(st.integers(0, 10**6), st.integers(8, 80))
@settings(max_examples=30, deadline=None)
def test_r2_of_a_line_is_the_square_of_r(seed, n):
    x, y = np.random.default_rng(seed).standard_normal((2, n))
    assert correlation.regression(x, y).rsquared == pytest.approx(stats.pearsonr(x, y).statistic ** 2)


@given(st.floats(-0.99, 0.99), st.integers(3, 500))
@settings(max_examples=50, deadline=None)
def test_independent_runs_get_the_textbooks_p(r, n):
    """With n for n_eff it is the t test of Pearson's r; scipy has it by way of the beta distribution."""
    beta = stats.beta(n / 2 - 1, n / 2 - 1, loc=-1, scale=2)
    assert correlation.p_value(r, n) == pytest.approx(2 * beta.sf(abs(r)), rel=1e-6)


def test_fewer_runs_never_make_a_correlation_surer():
    values = [correlation.p_value(0.6, n) for n in (1, 2, 3, 5, 10, 50, 1000)]
    assert values[:2] == [1, 1]
    assert values == sorted(values, reverse=True)


def test_white_noise_counts_in_full():
    rng = np.random.default_rng(1)
    counted = [correlation.n_effective(*rng.standard_normal((2, 200))) for _ in range(50)]
    assert max(counted) == 200
    assert np.mean(counted) > 190


@pytest.mark.parametrize("phi", [0.5, 0.9])
def test_two_ar1_series_count_as_theory_has_it(phi):
    """n (1 - phi²) / (1 + phi²)"""
    rng, n = np.random.default_rng(2), 5000
    counted = np.mean([correlation.n_effective(ar1(rng, n, phi), ar1(rng, n, phi)) for _ in range(10)])
    assert counted == pytest.approx(n * (1 - phi**2) / (1 + phi**2), rel=0.08)


def test_the_variance_of_a_correlation_by_chance_is_one_over_n_eff():
    rng, n, phi = np.random.default_rng(3), 300, 0.8
    r = [np.corrcoef(ar1(rng, n, phi), ar1(rng, n, phi))[0, 1] for _ in range(1000)]
    assert 1 / np.var(r) == pytest.approx(n * (1 - phi**2) / (1 + phi**2), rel=0.15)


@given(st.integers(0, 10**6), st.floats(0.1, 100), st.floats(-1e3, 1e3))
@settings(max_examples=20, deadline=None)
def test_units_do_not_matter(seed, scale, offset):
    x, y = related(np.random.default_rng(seed), 40, 0.5)
    assert correlation.n_effective(scale * x + offset, y) == pytest.approx(correlation.n_effective(x, y), rel=1e-6)
    assert correlation.p_hac(scale * x + offset, y) == pytest.approx(correlation.p_hac(x, y), rel=1e-5)


def test_newey_west_without_lags_is_the_heteroscedastic_variance():
    """HAC with no lags is White's; statsmodels has both, so the call is right if they meet."""
    import statsmodels.api as sm  # takes seconds, in each worker
    x, y = np.random.default_rng(4).standard_normal((2, 30))
    fit = correlation.regression(x, y)
    none = fit.get_robustcov_results("HAC", maxlags=0, use_t=True).bse
    assert none == pytest.approx(sm.OLS(y, sm.add_constant(x)).fit(cov_type="HC0").bse)
    assert [correlation.newey_west_lags(n) for n in (30, 100, 1000)] == [3, 4, 6]


# --- calibration ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("n", "trials", "min_of_hac"), [(30, 400, 0.28), (60, 400, 0.28), (200, 300, 0.2)])
def test_series_with_nothing_in_common_are_called_correlated_as_often_as_promised(n, trials, min_of_hac):
    """One in twenty by the effective sample size; several times as often by HAC, and more often still by runs counted."""
    rng, called = np.random.default_rng(n), np.zeros(3)
    for _ in range(trials):
        x, y = ar1(rng, n), ar1(rng, n)
        r = np.corrcoef(x, y)[0, 1]
        by = (correlation.p_value(r, correlation.n_effective(x, y)), correlation.p_hac(x, y), correlation.p_value(r, n))
        called += np.array(by) < correlation.LEVEL
    effective, hac, naive = called / trials
    assert 0.01 < effective < 0.08
    assert min_of_hac < hac < naive


@pytest.mark.parametrize(("r2", "min_share"), [(0.5, 0.7), (0.8, 0.95)])
def test_a_relation_that_is_there_is_found(r2, min_share):
    rng, trials = np.random.default_rng(6), 100
    n_found = sum(correlation.p_value(np.corrcoef(x, y)[0, 1], correlation.n_effective(x, y)) < correlation.LEVEL
                  for x, y in (related(rng, 60, r2) for _ in range(trials)))
    assert n_found >= min_share * trials


@pytest.mark.slow
def test_many_independent_runs_are_forgiven_one_time_in_twenty():
    """Both corrections, over a family of twenty statistics of independent runs."""
    rng, trials, largest, holm = np.random.default_rng(7), 100, 0, 0
    for trial in range(trials):
        x, y = rng.standard_normal((30, 20)), rng.standard_normal(30)
        largest += correlation.p_of_largest(x, y, trial).min() < correlation.LEVEL
        p = [stats.pearsonr(column, y).pvalue for column in x.T]
        holm += min(p) * 20 < correlation.LEVEL
    assert largest / trials < 0.12
    assert holm / trials < 0.12


def test_the_interval_holds_the_truth_about_as_often_as_stated():
    rng, trials, held = np.random.default_rng(8), 100, 0
    for trial in range(trials):
        x, y = related(rng, 60, 0.6)
        table = pd.DataFrame({TPS: y, SIZE: x})
        low, _, high = correlation.interval(
            correlation.resampled(table, TPS, correlation.block_runs(table, TPS, SIZE), trial)[SIZE])
        held += low <= 0.6 <= high
    assert 0.68 <= held / trials <= 0.95


# --- surrogates and blocks ------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("n", [31, 32])
def test_a_surrogate_has_the_spectrum_and_nothing_else(n):
    rng = np.random.default_rng(9)
    y = ar1(rng, n)
    made = correlation.surrogates(y, 200, rng)
    wanted = np.abs(np.fft.rfft(y - y.mean()))
    assert np.abs(np.fft.rfft(made)) == pytest.approx(np.broadcast_to(wanted, (200, len(wanted))), abs=1e-9)
    assert np.abs(np.corrcoef(y, made)[0, 1:]).mean() < 0.6


def test_blocks_keep_neighbours_and_the_statistics_of_a_run_together():
    """Throughput itself has R² = 1 in every resampled series, and a block as long as the series keeps R²."""
    table = series()
    table["copy.tps"] = 2 * table[TPS]
    assert (correlation.resampled(table, TPS, 4, 1)["copy.tps"] > 1 - 1e-12).all()
    whole = correlation.resampled(table, TPS, len(table), 1)
    assert whole[SIZE].to_numpy() == pytest.approx(np.corrcoef(table[SIZE], table[TPS])[0, 1] ** 2)


def test_the_best_of_many_is_never_below_any_of_them():
    table = series(n_others=10)
    ranked, draws = correlation.ranking(table, TPS, 1), correlation.resampled(table, TPS, 5, 1)
    best, ranked = correlation.best_of_many(ranked, draws), correlation.with_intervals(ranked, draws)
    for row in ranked[ranked.disguise == ""].itertuples():
        assert best.low >= row.low
        assert best.high >= row.high
    assert ranked.best.sum() == pytest.approx(1)


# --- the ranking ----------------------------------------------------------------------------------------------------------

def test_statistics_are_ranked_and_those_in_disguise_set_apart():
    ranked = correlation.ranking(series(), TPS, 1).set_index("statistic")
    assert ranked.r2.is_monotonic_decreasing
    assert ranked.index[0] == "os.reads"
    assert ranked.r2["os.reads"] == pytest.approx(1)
    assert set(ranked.index[ranked.disguise != ""]) == {"os.reads", "server.cpu"}
    assert ranked.holm.isna().equals(ranked.disguise != "")
    assert ranked.holm[SIZE] < correlation.LEVEL
    assert ranked.p_max.min() == 1 / (1 + correlation.SURROGATES)
    assert (ranked.holm.dropna() >= ranked.p_eff[ranked.holm.notna()]).all()
    assert (ranked.drop(index=[SIZE, "os.reads", "server.cpu"]).holm > correlation.LEVEL).all()


@pytest.mark.parametrize(("name", "unit", "is_one"), [
    ("nfs.writes", "1/s", True), ("disk.written", "B/s", True), ("server.cpu", "%", True), ("server.cpu-user", "%", True),
    ("transaction.response", "ms", True), ("appliance.io_size", "B", False), ("os.write_time", "ms", False),
    ("disk.utilisation", "%", True), ("buffer.misses", "1", False), ("wait.cpu", "%", True), ("wait.read", "ms", False),
    ("pool.full", "%", False), ("database.misses_per_transaction", "1", False)])
def test_what_is_throughput_in_other_clothes(name, unit, is_one):
    assert bool(disguises.disguise(name, unit)) is is_one


@pytest.mark.parametrize(("spread", "is_one"), [(0.01, True), (0.2, False)])
def test_a_response_time_is_none_of_its_own_where_the_queue_is_always_full(spread, is_one):
    """Little: number = rate × time. With 128 writes always under way the time follows from the rate."""
    table, rng = series(), np.random.default_rng(12)
    number = 128 * (1 + spread * rng.standard_normal(len(table)))
    table["nfs.data_writes"] = 4 * table[TPS]
    table["os.write_time"] = 1e3 * number / table["nfs.data_writes"]
    table.attrs["units"] |= {"nfs.data_writes": "1/s", "os.write_time": "ms"}
    why = disguises.disguises(table, TPS)["os.write_time"]
    assert bool(why) is is_one
    if is_one:
        assert "about 128 are always under way" in why
    assert disguises.under_way(table, TPS)["mean"].tolist() == pytest.approx([number.mean()])


def test_the_order_of_runs_matters_to_the_verdict_and_to_nothing_else():
    table = series()
    shuffled = table.sample(frac=1, random_state=1)
    shuffled.attrs = table.attrs
    in_order, shuffled_row = (correlation.ranking(runs, TPS, 1).set_index("statistic").loc[SIZE]
                              for runs in (table, shuffled))
    assert in_order.r2 == pytest.approx(shuffled_row.r2)
    assert in_order.n_eff < shuffled_row.n_eff


def test_statistics_that_cannot_be_correlated_are_left_out_by_name():
    table = series().assign(constant=3.0)
    table["gap"] = table[SIZE].where(table.index != 5)
    left = correlation.usable(table, TPS)
    assert left.out == {"constant": "the same in all runs", "gap": "missing in a run"}
    assert set(left.table) == set(series())
    assert left.table.attrs == table.attrs
    assert len(correlation.usable(table, TPS, 20).table) == 20


@pytest.mark.parametrize(("table", "outcome", "words"), [
    (series(), "no.such", "no statistic 'no.such'"),
    (series().head(7), TPS, "7 runs"),
    (series().assign(**{TPS: 5.0}), TPS, "1 different values")])
def test_a_series_that_cannot_be_correlated_is_one_sentence(table, outcome, words):
    with pytest.raises(UserError, match=words):
        correlation.usable(table, outcome)


@pytest.mark.parametrize("block", [0, 41])
def test_a_block_that_does_not_fit_is_one_sentence(block):
    with pytest.raises(UserError, match=f"a block of {block} runs"):
        correlation.resampled(series(), TPS, block, 1)


def test_the_same_seed_gives_the_same_numbers():
    table = series()
    first, again = (correlation.ranking(table, TPS, 5) for _ in range(2))
    assert first.equals(again)
    assert correlation.resampled(table, TPS, 3, 5).equals(correlation.resampled(table, TPS, 3, 5))


# --- the regression -------------------------------------------------------------------------------------------------------

def test_a_run_that_bends_the_line_is_marked():
    rng = np.random.default_rng(10)
    x = rng.standard_normal(40)
    y = x + 0.3 * rng.standard_normal(40)
    assert not correlation.influence(correlation.regression(x, y)).marked.all()
    x[7], y[7] = 6.0, -6.0
    assert correlation.influence(correlation.regression(x, y)).marked[7]
    assert correlation.without_marked(x, y) > 0.8 > np.corrcoef(x, y)[0, 1] ** 2


def test_diagnostics_see_what_they_are_for():
    rng, n = np.random.default_rng(11), 300
    x = rng.uniform(0, 1, n)
    tests = {name: correlation.diagnostics(correlation.regression(x, y)).set_index("test") for name, y in {
        "good": x + rng.standard_normal(n), "slow": x + ar1(rng, n), "wider": x + 5 * x * rng.standard_normal(n),
        "skewed": x + rng.exponential(1, n)}.items()}
    assert abs(tests["good"].value["Durbin-Watson"] - 2) < 0.3
    assert tests["slow"].value["Durbin-Watson"] < 1
    assert tests["wider"].p["Breusch-Pagan"] < 0.001 < tests["good"].p["Breusch-Pagan"]
    assert tests["skewed"].p["Shapiro-Wilk"] < 0.001 < tests["good"].p["Shapiro-Wilk"]


def test_the_verdict_is_a_sentence_that_says_what_was_found():
    sentence = correlation.verdict(correlation.analyse(series(), TPS, SIZE))
    assert f"{SIZE} goes with {TPS}: R² = " in sentence
    assert "40 runs tell as much as" in sentence
    assert "one of 7 statistics" in sentence
    assert sentence.endswith("it is the best of them")
    sentence = correlation.verdict(correlation.analyse(series(), TPS, "wait.w0"))
    assert "is not shown to go with" in sentence
    assert f"the best is {SIZE}" in sentence


def test_one_series_of_an_ensemble_is_what_an_analysis_says_of_it():
    table = series()
    rows = table.rename_axis("run").reset_index().melt("run", var_name="name").assign(
        unit=lambda frame: frame.name.map(lambda name: table.attrs["units"].get(name, "1")))
    for statistic, rank in ((SIZE, 1), ("wait.w0", None)):
        analysis, brief = correlation.analyse(table, TPS, statistic), correlation.of_series(rows, TPS, statistic)
        own = analysis.ranked[analysis.ranked.disguise == ""]
        assert brief["io_size.r_squared"] == pytest.approx(analysis.row.r2)
        assert brief["best.r_squared"] == pytest.approx(own.r2.max())
        assert brief["io_size.rank"] == (rank or own.statistic.tolist().index(statistic) + 1)
    rows.loc[rows.name == SIZE, "value"] = 4096.0
    assert correlation.of_series(rows, TPS, SIZE)["io_size.r_squared"] == 0
    gone = correlation.of_series(rows[(rows.name != SIZE) | (rows.run > 3)], TPS, SIZE)
    assert np.isnan([gone["io_size.r_squared"], gone["io_size.rank"]]).all()
    assert gone["best.r_squared"] > 0


def test_an_analysis_is_of_the_runs_and_blocks_asked_for():
    analysis = correlation.analyse(series(), TPS, SIZE, n_runs=20, block=3)
    assert (len(analysis.table), analysis.block, len(analysis.influence)) == (20, 3, 20)
    assert analysis.row.r2 == pytest.approx(analysis.fit.rsquared)
    with pytest.raises(UserError, match=r"'os\.reads' is no statistic of the series that could explain"):
        correlation.analyse(series(), TPS, "os.reads")


def test_what_is_recorded_has_a_name_once_and_is_finite():
    table = correlation.metrics(correlation.analyse(series(), TPS, SIZE))
    assert table.name.is_unique
    assert table.name.map(lambda name: bool(record.NAME.fullmatch(name))).all()
    assert np.isfinite(table.value.astype(float)).all()
    numbers = table.set_index("name").value
    assert numbers["one.rank"] == 1
    assert numbers["series.could-explain"] == 7
    assert numbers["best.r2-low"] >= numbers["one.r2-low"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ranking", "scatter", "over_runs", "residuals"])
def test_figures_are_drawn_of_an_analysis(name):
    data = [correlation.analyse(series(), TPS, SIZE)] + ([0.5] if name == "ranking" else [])
    assert drawing.render(getattr(correlation_pictures, name), *data, formats=("png",))["png"]
