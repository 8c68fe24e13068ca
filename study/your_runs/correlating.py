"""What goes with throughput within one run: the analysis of `05_io_size_correlation`, of intervals instead of test runs.

Only what another tool measured can explain the outcome. The outcome's own tool would say the same thing again.
"""
from typing import NamedTuple

import pandas as pd

from study.ensembles import correlation
from study.errors import UserError
from study.your_runs import autocorrelated, clock
from study.your_runs.autocorrelated import Estimate
from study.your_runs.quantities import chance, in_words, signed, unit_in_words

RANKED = 12         # statistics in the table


class Look(NamedTuple):
    """An analysis and the slope of its line; None where `reason` says why there is none."""
    analysis: correlation.Analysis | None
    slope: Estimate         # unit of the outcome over that of the statistic
    reason: str


def look(table: pd.DataFrame, outcome: str, statistic: str, seed: int) -> Look:
    """`table` is of `study.your_runs.clock`. Raises UserError where it has no such outcome, or none of that name."""
    if outcome not in table and (reason := clock.why_not(table, outcome)):
        return _none(reason, len(table))
    mine = clock.explaining(table, outcome)
    if len(mine.columns) == 1 or not statistic:
        return _none("no other tool recorded anything beside the benchmark", len(mine))
    if statistic not in mine:
        known = ", ".join(mine.columns.drop(outcome))
        return _none(f"the run has no '{statistic}' of another tool; it has {known}", len(mine))
    x, y = (mine[name].to_numpy(float) for name in (statistic, outcome))
    reason = autocorrelated.why_not(x, y)
    if reason:
        return _none(f"{statistic} and {outcome} {reason}", len(mine))
    try:
        return Look(correlation.analyse(mine, outcome, statistic, seed=seed), autocorrelated.line(x, y), "")
    except UserError as error:
        return _none(str(error), len(mine))


def _none(reason: str, n: int) -> Look:
    return Look(None, autocorrelated.no_estimate(reason, n), reason)


def _slope(analysis: correlation.Analysis, slope: Estimate) -> str:
    units = analysis.table.attrs["units"]
    unit, own = units.get(analysis.statistic, "1"), unit_in_words(analysis.outcome, units.get(analysis.outcome, "1"))
    more = f"{'One' if unit == '1' else f'1{unit_in_words(analysis.statistic, unit)}'} more"
    return f"{more} goes with {signed(slope.value)}{own} ({signed(slope.low)} to {signed(slope.high)})"


def ranked(seen: Look) -> pd.DataFrame:
    """What was looked at, best first, as it is read; empty where there is no analysis."""
    if seen.analysis is None:
        return pd.DataFrame(columns=["statistic", "R²"])
    rows = seen.analysis.ranked.head(RANKED)
    return pd.DataFrame({
        "statistic": rows.statistic, "R²": rows.r2.map("{:.2f}".format),
        "5 to 95 %": [f"{row.low:.2f} to {row.high:.2f}" for row in rows.itertuples()], "n_eff": rows.n_eff.map(in_words),
        **{name: rows[name].map(lambda p: "–" if p != p else chance(p).removeprefix("p = ").removeprefix("p "))
           for name in ("p_naive", "p_eff", "holm")}, "disguise": rows.disguise})


def verdict(seen: Look) -> str:
    """What is to be said of the statistic, in a sentence or two."""
    analysis = seen.analysis
    if analysis is None:
        return f"nothing is correlated: {seen.reason}"
    row, mine = analysis.row, analysis.ranked[analysis.ranked.disguise == ""]
    shown = "goes with" if row.holm < correlation.LEVEL else "is not shown to go with"
    slope = seen.slope
    left = slope.left < autocorrelated.LEVEL
    return (f"{analysis.statistic} {shown} {analysis.outcome}: R² = {row.r2:.2f} ({row.low:.2f} to {row.high:.2f}); "
            f"{len(analysis.table)} intervals tell as much as {in_words(row.n_eff, 2)} independent ones, "
            f"{chance(row.p_eff)}, and {chance(row.holm)} as one of {len(mine)} quantities. {_slope(analysis, slope)}"
            + "; residuals keep a pattern that the interval does not know" * left)
