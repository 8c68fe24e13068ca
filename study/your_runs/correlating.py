"""What goes with throughput within one run: the analysis of `05_io_size_correlation`, of intervals instead of test runs.

Only what another tool measured can explain the outcome. The outcome's own tool would say the same thing again.
"""
from typing import NamedTuple

import pandas as pd

from study.ensembles import correlation
from study.your_runs import autocorrelated, clock
from study.your_runs.autocorrelated import Estimate


class Look(NamedTuple):
    """An analysis and the slope of its line; None where `reason` says why there is none."""
    analysis: correlation.Analysis | None
    slope: Estimate         # unit of the outcome over that of the statistic
    reason: str


def look(table: pd.DataFrame, outcome: str, statistic: str, seed: int) -> Look:
    """`table` is of `study.your_runs.clock`. Raises UserError where it has no such outcome, or none of that name."""
    mine = clock.explaining(table, outcome)
    if len(mine.columns) == 1:
        return _none("no other tool recorded anything beside the benchmark", len(mine))
    if statistic not in mine:
        known = ", ".join(mine.columns.drop(outcome))
        return _none(f"the run has no '{statistic}' of another tool; it has {known}", len(mine))
    x, y = (mine[name].to_numpy(float) for name in (statistic, outcome))
    reason = autocorrelated.why_not(x, y)
    if reason:
        return _none(f"{statistic} and {outcome} {reason}", len(mine))
    return Look(correlation.analyse(mine, outcome, statistic, seed=seed), autocorrelated.line(x, y), "")


def _none(reason: str, n: int) -> Look:
    return Look(None, autocorrelated.no_estimate(reason, n), reason)


def verdict(seen: Look) -> str:
    """What is to be said of the statistic, in a sentence or two."""
    analysis = seen.analysis
    if analysis is None:
        return f"nothing is correlated: {seen.reason}"
    row, mine = analysis.row, analysis.ranked[analysis.ranked.disguise == ""]
    shown = "goes with" if row.holm < correlation.LEVEL else "is not shown to go with"
    slope = seen.slope
    return (f"{analysis.statistic} {shown} {analysis.outcome}: R² = {row.r2:.2f} ({row.low:.2f} to {row.high:.2f}); "
            f"{len(analysis.table)} intervals tell as much as {row.n_eff:.0f} independent ones, p = {row.p_eff:.2g}, or "
            f"{row.holm:.2g} as one of {len(mine)} quantities. The slope is {slope.value:.3g} ({slope.low:.3g} to "
            f"{slope.high:.3g})" + ("; residuals keep a pattern that the interval does not know"
                                    if slope.left < autocorrelated.LEVEL else ""))
