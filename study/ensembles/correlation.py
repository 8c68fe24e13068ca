"""Which statistic of a series of benchmark runs explains its throughput? What an analyst does in a spreadsheet, with what
the spreadsheet leaves out.

*Runs are a series.* Neighbours resemble each other, so that n runs tell less than n independent ones. Two series that have
nothing to do with each other correlate by chance with a variance of 1/n_eff instead of 1/n, where (Bartlett 1946)

    n / n_eff = 1 + 2 * sum over lags k of (1 - k/n) * acf_x(k) * acf_y(k)

over the full autocorrelation of both. The verdict is a t test with n_eff in the place of n. Of pairs of independent AR(1)
series with phi = 0.9 it calls about one in twenty correlated at the 5 % level, whatever n. A regression with Newey-West
(HAC) errors is shown beside it. It calls about 36, 36, 27 and 17 % of them so at n = 30, 60, 200 and 1000. A regression that
takes runs for independent calls 42 to 51 % so (`tests/study/ensembles/test_correlation.py`).

*Many were looked at.* The largest of many correlations is large by chance. `holm` corrects the p values above for that,
whatever statistics have to do with each other. `p_max` asks how often the largest would be as large if throughput were a
surrogate: a series with the same autocorrelation and random phases. It sees what statistics share, but is too kind to slow
series. Among twenty with phi = 0.9 it finds one in 17, 12 and 7 % of trials (n = 30, 60, 120) where there is none.

*R² is uncertain too.* Its interval is a bootstrap of blocks of neighbouring runs. Of series of 40 to 80 runs with phi =
0.8 its 5 to 95 % hold the true R² in about 80 % of trials. Of independent runs they hold it in 85 to 90 %.

*Some are throughput in other clothes*: see `study.documents.disguises`. That they correlate explains nothing: they are
ranked apart.
"""
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from model.events.streams import stream
from study.documents.disguises import disguises
from study.ensembles.intervals import Interval, interval
from study.errors import UserError

if TYPE_CHECKING:       # statsmodels takes seconds to import, and most who import this module need none of it
    from statsmodels.regression.linear_model import RegressionResultsWrapper

LEVEL = 0.05
MIN_RUNS = 8
SURROGATES = 999
RESAMPLES = 1000
GAPS, SAME = "missing in a run", "the same in all runs"     # why a statistic is left out


# --- one statistic ------------------------------------------------------------------------------------------------------

def n_effective(x: np.ndarray, y: np.ndarray) -> float:
    """How many independent pairs tell as much as these about whether they correlate; n at most."""
    from statsmodels.tsa.stattools import acf
    n = len(x)
    products = (acf(x, nlags=n - 1, fft=True) * acf(y, nlags=n - 1, fft=True))[1:]
    inflation = 1 + 2 * np.sum((1 - np.arange(1, n) / n) * products)
    return float(n / max(inflation, 1.0))


def p_value(r: float, n: float) -> float:
    """Two-sided, of a correlation among n independent pairs; 1 where they are too few to tell."""
    if n <= 2:
        return 1.0
    from scipy import stats
    return float(2 * stats.t.sf(abs(r) * np.sqrt((n - 2) / max(1 - r * r, 1e-300)), n - 2))


def newey_west_lags(n: int) -> int:
    """Newey and West's (1994) rule of thumb."""
    return int(4 * (n / 100) ** (2 / 9))


def regression(x: np.ndarray, y: np.ndarray) -> "RegressionResultsWrapper":
    """Least squares of y on x: statsmodels' results."""
    from statsmodels.regression.linear_model import OLS
    from statsmodels.tools import add_constant
    return OLS(y, add_constant(x)).fit()


def p_hac(x: np.ndarray, y: np.ndarray) -> float:
    """Of the slope, with Newey-West errors."""
    robust = regression(x, y).get_robustcov_results("HAC", maxlags=newey_west_lags(len(x)), use_t=True)
    return float(robust.pvalues[1])


# --- all statistics -----------------------------------------------------------------------------------------------------

def wide(rows: pd.DataFrame) -> pd.DataFrame:
    """A series that is not in the store as `study.store.series.table` gives it."""
    table = rows.pivot(index="run", columns="name", values="value")
    table.attrs["units"] = dict(zip(rows.name, rows.unit, strict=True))
    return table


class Left(NamedTuple):
    """A series that can be analysed, and why some statistics are not in it."""
    table: pd.DataFrame
    out: dict[str, str]


def usable(table: pd.DataFrame, outcome: str, n_runs: int = 0) -> Left:
    """The first `n_runs` of a series (0: all), without statistics that are missing in a run or are the same in all."""
    if outcome not in table:
        raise UserError(f"the series has no statistic '{outcome}'; it has {', '.join(table.columns)}")
    kept = table.head(n_runs) if n_runs else table
    gaps, same = kept.isna().any(), kept.max() - kept.min() <= 1e-9 * kept.abs().max()
    if len(kept) < MIN_RUNS or gaps[outcome] or same[outcome]:
        raise UserError(f"the series has {len(kept)} runs with {kept[outcome].nunique()} different values of {outcome}; "
                        f"correlate {MIN_RUNS} runs or more, each with a value, not all the same")
    out = {name: GAPS if gaps[name] else SAME for name in kept if gaps[name] or same[name]}
    return Left(kept.drop(columns=list(out)), out)


def ranking(table: pd.DataFrame, outcome: str, seed: int) -> pd.DataFrame:
    """Every statistic by R² with `outcome`, best first. Columns: statistic, unit, disguise (why it is none of its own), r,
    r2, n_eff, p_naive, p_eff, p_hac. `holm` and `p_max` are taken among the statistics that could explain something."""
    from statsmodels.stats.multitest import multipletests
    units, y, why = table.attrs.get("units", {}), table[outcome].to_numpy(float), disguises(table, outcome)
    rows = []
    for name in table.columns.drop(outcome):
        x = table[name].to_numpy(float)
        r, n_eff = float(np.corrcoef(x, y)[0, 1]), n_effective(x, y)
        p_values = p_value(r, len(x)), p_value(r, n_eff), p_hac(x, y)
        rows.append((name, units.get(name, "1"), why[name], r, r * r, n_eff, *p_values))
    ranks = pd.DataFrame(rows, columns=["statistic", "unit", "disguise", "r", "r2", "n_eff", "p_naive", "p_eff", "p_hac"])
    mine = ranks.disguise == ""
    if mine.any():
        ranks.loc[mine, "holm"] = multipletests(ranks.p_eff[mine], method="holm")[1]
        ranks.loc[mine, "p_max"] = p_of_largest(table[ranks.statistic[mine].tolist()].to_numpy(float), y, seed)
    return ranks.sort_values("r2", ascending=False, kind="stable", ignore_index=True)


def surrogates(y: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """n series with the spectrum of y, and so its (circular) autocorrelation, but random phases."""
    spectrum = np.fft.rfft(y - y.mean())
    turned = np.exp(2j * np.pi * rng.random((n, len(spectrum))))
    if len(y) % 2 == 0:
        turned[:, -1] = np.sign(turned[:, -1].real)         # the highest frequency has no phase but a sign
    return np.fft.irfft(spectrum * turned, len(y), axis=1)


def p_of_largest(x: np.ndarray, y: np.ndarray, seed: int) -> np.ndarray:
    """For each column of x: how often the largest |r| of all columns with a surrogate of y reaches its |r| with y."""
    columns = _standard(x.T)
    by_chance = np.abs(_standard(surrogates(y, SURROGATES, stream(seed, "surrogates"))) @ columns.T).max(axis=1)
    observed = np.abs(columns @ _standard(y))
    return (1 + (by_chance[:, None] >= observed).sum(axis=0)) / (1 + SURROGATES)


def _standard(series: np.ndarray) -> np.ndarray:
    """Centred, of length 1, along the last axis: products are then correlations."""
    centred = series - series.mean(axis=-1, keepdims=True)
    length = np.sqrt((centred**2).sum(axis=-1, keepdims=True))
    return centred / np.where(length > 0, length, 1)


# --- intervals ----------------------------------------------------------------------------------------------------------

def block_runs(table: pd.DataFrame, outcome: str, statistic: str) -> int:
    """Runs in a block: twice what stands for one independent run, a quarter of the series at most."""
    n = len(table)
    n_eff = n_effective(table[statistic].to_numpy(float), table[outcome].to_numpy(float))
    return int(np.clip(np.ceil(2 * n / n_eff), 1, max(n // 4, 1)))


def resampled(table: pd.DataFrame, outcome: str, block: int, seed: int) -> pd.DataFrame:
    """R² of every statistic (columns) in each of many series made of blocks of runs (Politis and Romano's circular block
    bootstrap). `block` neighbours stay together, and the statistics of a run too."""
    n, names = len(table), table.columns.drop(outcome)
    if not 1 <= block <= n:
        raise UserError(f"a block of {block} runs does not fit a series of {n}; take 1 to {n}")
    starts = stream(seed, "blocks").integers(n, size=(RESAMPLES, -(-n // block), 1))
    runs = ((starts + np.arange(block)) % n).reshape(RESAMPLES, -1)[:, :n]
    y = _standard(table[outcome].to_numpy(float)[runs])
    return pd.DataFrame({name: (_standard(table[name].to_numpy(float)[runs]) * y).sum(axis=1) ** 2 for name in names})


def with_intervals(ranked: pd.DataFrame, draws: pd.DataFrame) -> pd.DataFrame:
    """`ranked` with low and high of R² (5 to 95 %), and best. That is in which share of the resampled series a statistic is
    the first among those that could explain something."""
    ends = pd.DataFrame([interval(draws[name]) for name in ranked.statistic], columns=Interval._fields)
    mine = ranked.statistic[ranked.disguise == ""].tolist()
    best = draws[mine].idxmax(axis=1).value_counts(normalize=True) if mine else pd.Series(dtype=float)
    shares = ranked.statistic.map(best).fillna(0.0).where(ranked.disguise == "")
    return ranked.assign(low=ends.low, high=ends.high, best=shares)


def best_of_many(ranked: pd.DataFrame, draws: pd.DataFrame) -> Interval:
    """R² of whichever statistic is the best in each resampled series, among those that could explain something. That is what
    is published when the best is looked for."""
    return interval(draws[ranked.statistic[ranked.disguise == ""].tolist()].max(axis=1))


# --- the regression -----------------------------------------------------------------------------------------------------

def diagnostics(fit: "RegressionResultsWrapper") -> pd.DataFrame:
    """What the residuals say against the regression: test, value, p, and what a small p would mean."""
    from scipy import stats
    from statsmodels.stats.diagnostic import het_breuschpagan
    from statsmodels.stats.stattools import durbin_watson
    residuals = fit.resid
    watson = durbin_watson(residuals)
    breusch, p_breusch, *_ = het_breuschpagan(residuals, fit.model.exog)
    shapiro = stats.shapiro(residuals)
    return pd.DataFrame([("Durbin-Watson", watson, np.nan, "far from 2: residuals of neighbouring runs resemble each other"),
                         ("Breusch-Pagan", breusch, p_breusch, "the scatter changes with the statistic"),
                         ("Shapiro-Wilk", shapiro.statistic, shapiro.pvalue, "residuals are not normal")],
                        columns=["test", "value", "p", "if small"])


def influence(fit: "RegressionResultsWrapper") -> pd.DataFrame:
    """Each run's residual (studentised), hat value, Cook's distance and DFFITS; `marked` where 4/n or 2 sqrt(p/n), the usual
    bounds of the latter two, are passed."""
    summary, n = fit.get_influence().summary_frame(), int(fit.nobs)
    kept = summary.rename(columns={"student_resid": "residual", "hat_diag": "hat", "cooks_d": "cook"})
    kept = kept[["residual", "hat", "cook", "dffits"]]
    return kept.assign(marked=(kept.cook > 4 / n) & (kept.dffits.abs() > 2 * np.sqrt(2 / n))).reset_index(drop=True)


def without_marked(x: np.ndarray, y: np.ndarray) -> float:
    """R² without the runs that the regression leans on."""
    kept = ~influence(regression(x, y)).marked.to_numpy()
    return float(np.corrcoef(x[kept], y[kept])[0, 1] ** 2)


# --- all of it ----------------------------------------------------------------------------------------------------------

class Analysis(NamedTuple):
    """A series, and what is to be said of it."""
    table: pd.DataFrame
    out: dict[str, str]         # statistics left out, and why
    outcome: str
    statistic: str              # the one that the regression is of
    ranked: pd.DataFrame        # `with_intervals`
    best: Interval              # `best_of_many`
    block: int                  # runs in a block of the bootstrap
    fit: Any                    # `regression`
    influence: pd.DataFrame

    @property
    def row(self) -> pd.Series:
        """The row of the statistic."""
        return self.ranked.set_index("statistic").loc[self.statistic]


def analyse(table: pd.DataFrame, outcome: str, statistic: str, n_runs: int = 0, block: int = 0, seed: int = 1) -> Analysis:
    """Everything above, of the first `n_runs` (0: all) and with a bootstrap of so many runs a block (0: by `block_runs`)."""
    left = usable(table, outcome, n_runs)
    own = [name for name, why in disguises(left.table, outcome).items() if not why]
    if statistic not in own:
        raise UserError(f"'{statistic}' is no statistic of the series that could explain {outcome}; take one of "
                        f"{', '.join(own)}")
    block = block or block_runs(left.table, outcome, statistic)
    ranked, draws = ranking(left.table, outcome, seed), resampled(left.table, outcome, block, seed)
    fit = regression(left.table[statistic].to_numpy(float), left.table[outcome].to_numpy(float))
    return Analysis(table=left.table, out=left.out, outcome=outcome, statistic=statistic,
                    ranked=with_intervals(ranked, draws), best=best_of_many(ranked, draws), block=block, fit=fit,
                    influence=influence(fit))


def metrics(analysis: Analysis) -> pd.DataFrame:
    """For the run store: R² of every statistic, what is to be said of the one, and the best of many: name, value, unit."""
    rank, is_own = analysis.row, analysis.ranked.disguise == ""
    rows = [(f"r2.{row.statistic}", row.r2, "1") for row in analysis.ranked.itertuples()]
    rows += [("series.runs", len(analysis.table), "runs"), ("series.statistics", len(analysis.ranked), "1"),
             ("series.could-explain", int(is_own.sum()), "1"), ("series.block", analysis.block, "runs"),
             ("one.rank", int((analysis.ranked[is_own].r2 > rank.r2).sum()) + 1, "1"),
             ("one.n-effective", rank.n_eff, "runs"), ("one.best-share", rank.best, "1"),
             ("one.influential", int(analysis.influence.marked.sum()), "runs"),
             *((f"one.{name}", rank[name.replace("-", "_")], "1") for name in (
                 "r", "r2", "p-naive", "p-hac", "p-eff", "holm", "p-max")),
             ("one.r2-low", rank.low, "1"), ("one.r2-high", rank.high, "1"),
             *((f"best.r2-{end}", value, "1") for end, value in analysis.best._asdict().items())]
    rows += [(f"residuals.{row.test.lower()}", row.value, "1") for row in diagnostics(analysis.fit).itertuples()]
    return pd.DataFrame(rows, columns=["name", "value", "unit"])


def of_series(rows: pd.DataFrame, outcome: str, statistic: str) -> dict[str, float]:
    """For an ensemble, of one series (rows of run, name, value, unit). Gives R² of the statistic, of the best that could
    explain the outcome, and the statistic's place among these. One that is the same in all runs explains nothing."""
    table, out = usable(wide(rows), outcome)
    r2 = table.corr()[outcome] ** 2
    own = r2[[name for name, why in disguises(table, outcome).items() if not why]]
    r2 = own.get(statistic, 0.0 if out.get(statistic) == SAME else np.nan)
    return {"io_size.r_squared": float(r2), "best.r_squared": float(own.max()),
            "io_size.rank": float((own > r2).sum() + 1) if r2 == r2 else np.nan}


def larger_r2(analysis: Analysis) -> str:
    """Which statistics that could explain the outcome have a larger R² than the one asked for, in a sentence."""
    mine = analysis.ranked[analysis.ranked.disguise == ""]
    larger = mine[mine.r2 > analysis.row.r2]
    names = ", ".join(f"{row.statistic} ({row.r2:.2f})" for row in larger.itertuples())
    return f"statistics with a larger R² than {analysis.statistic} ({analysis.row.r2:.2f}): {names or 'none'}"


def verdict(analysis: Analysis) -> str:
    """What is to be said of the statistic, in a sentence."""
    mine = analysis.ranked[analysis.ranked.disguise == ""].reset_index(drop=True)
    place = int(mine.index[mine.statistic == analysis.statistic][0])
    rank, first = mine.loc[place], mine.loc[0]
    shown = "goes with" if rank.holm < LEVEL else "is not shown to go with"
    words = (f"{analysis.statistic} {shown} {analysis.outcome}: R² = {rank.r2:.2f} ({rank.low:.2f} to {rank.high:.2f}). "
             f"{len(analysis.table)} runs tell as much as {rank.n_eff:.0f} independent ones: p = {rank.p_eff:.2g}, or "
             f"{rank.holm:.2g} as one of {len(mine)} statistics looked at (HAC would say {rank.p_hac:.1g})")
    if place == 0:
        return f"{words}; it is the best of them"
    return f"{words}. It is number {place + 1}, the best is {first.statistic} with {first.r2:.2f}"
