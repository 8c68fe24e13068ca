"""First sentences of captions: what a figure shows, made of what it draws.

    single_changes(table, published, "gain")    of `study.figures.predictions.conditions`
    against(table, published)                   of `study.figures.predictions.intervals`
    nearest(table, trusted)                     of `study.figures.predictions.nearest`
    slow_enough(results, baseline)              of `study.figures.filebench_oltp.levels`
    place(analysis)                             of `study.figures.correlation.ranking`

A caption begins with the message and then says what each mark is. A notebook that is run with other parameters has another
message, so no number of it stands in the notebook.
"""
import pandas as pd

from study.ensembles.correlation import Analysis
from study.figures import in_words

NEAR = 0.1      # of the published rate


def number(value: float) -> str:
    """In whole numbers, with a minus sign."""
    return f"{round(value):d}".replace("-", "−")


def single_changes(table: pd.DataFrame, published: float, what: str) -> str:
    """An effect in per cent by best guess, and what single changes make of it (columns effect, is_central)."""
    changed, best = table.effect[~table.is_central], table.effect[table.is_central].iloc[0]
    return (f"The {what} is {number(best)} % by best guess, and {number(published)} % was published. "
            f"With one condition changed it is {number(changed.min())} to {number(changed.max())} %.")


def against(table: pd.DataFrame, published: float) -> str:
    """Which ranges hold what was published (columns what, low, high); a row without a range is not counted."""
    ranges = table[table.low < table.high]
    inside = ranges.low.le(published) & ranges.high.ge(published)
    held, missed = (_listed(ranges.what[rows]) for rows in (inside, ~inside))
    if not held:
        return f"What was published lies outside the range of {missed}."
    return f"What was published lies within the range of {held}." + (f" It lies outside that of {missed}." if missed else "")


def nearest(table: pd.DataFrame, trusted: float) -> str:
    """How many printed numbers the nearest machine has (`study.ensembles.nearest_machine.beside`). `trusted`: a factor."""
    met = int((table["off by"] <= trusted).sum())
    counted = f"{met} of {len(table)} printed numbers come" if len(table) > 1 else (
        "The printed number comes" if met else "The printed number does not come")
    return f"{counted} out within a factor of {trusted:.2g} on this machine, rounding allowed."


def slow_enough(results: pd.DataFrame, baseline: float) -> str:
    """What unfitted draws gain whose rate before the change is near the published one (columns as in an ensemble)."""
    drawn = results[(results.part == "all") & ~results.fitted]
    near = drawn[(drawn["before/summary.rate"] / baseline - 1).abs() <= NEAR]
    if near.empty:
        return "No unfitted draw has the published rate before the change to a tenth."
    most = (100 * (near["after/summary.rate"] / near["before/summary.rate"] - 1)).max()
    return f"Unfitted draws with the published rate before the change, to a tenth, gain {number(most)} % at most."


def place(analysis: Analysis) -> str:
    """Where the statistic stands among those that could explain the outcome."""
    own = analysis.ranked.statistic[analysis.ranked.disguise == ""].tolist()
    statistic, outcome = in_words.named([analysis.statistic, analysis.outcome], in_words.STATISTICS)
    return (f"By R² '{statistic}' is number {own.index(analysis.statistic) + 1} of {len(own)} statistics that could explain "
            f"'{outcome}'.")


def _listed(names: pd.Series) -> str:
    return " and of ".join(f"'{name}'" for name in names)
