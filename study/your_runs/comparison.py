"""Two labels beside each other: by how much one is faster, how sure that is, and how large beside the scatter.

A label names its runs and those of labels below it. Runs of a label are repeats. Of three or more of each a run counts as
one value (Welch's t). So what differs from run to run is in the interval.
Of fewer runs the values within the runs are all there is: `study.your_runs.autocorrelated.difference`, which knows that
neighbouring values resemble each other. It says nothing of runs that were not made, and the sentence says so. Newey-West
errors and bootstraps of blocks were tried there. Their intervals held the truth in half to four fifths of trials.

The effect size is Hedges' g: the difference over the pooled standard deviation, less its bias in small samples.
"""
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy import stats

from study.errors import UserError
from study.words import counted
from study.your_runs import autocorrelated
from study.your_runs.chosen import Chosen, is_below
from study.your_runs.quantities import in_words, signed, unit_in_words

RUNS = 3                # of each label: from so many on a run counts as one value
FIRST_RUNG, BASE_RUNG = "defaults", "checkpoints"       # of `study.measure.ladder`
ONE_LABEL = "runs of two labels are wanted, none below the other; choose these by a SELECT of run_id"


class Comparison(NamedTuple):
    """`after` against `before`; NaN where `reason` says why nothing can be compared."""
    before: str
    after: str
    means: tuple[float, float]      # in the unit of the quantity
    by: float                       # after less before
    low: float                      # 95 %
    high: float
    effect: float                   # Hedges' g
    n: tuple[int, int]              # runs of each
    of_runs: bool                   # a run counts as one value
    values: tuple[list[float], list[float]]     # mean of each run
    unit: str
    reason: str
    quantity: str = ""


def labels(chosen: Chosen, before: str, after: str, having: Iterable[str] = ()) -> tuple[str, str]:
    """The two that are compared; "" stands for those that began first and second, and stays where there is none. Of a
    measured ladder it stands for the rung that changes nothing and the one that all single changes start from. Labels whose
    runs are among those `having` the quantity go before others. Raises UserError where a name is unknown."""
    known = list(dict.fromkeys([*chosen.runs.label[chosen.runs.run.isin(list(having))], *chosen.runs.label]))
    for name in (before, after):
        if name and not any(is_below(label, name) for label in known):
            raise UserError(f"'{name}' is no label of the runs that are looked at; take one of {', '.join(known)}")
    if not before and not after and (rungs := _of_ladder(known)):
        return rungs
    rest = [label for label in known if not any(name and is_below(label, name) for name in (before, after))]
    first = before or (rest.pop(0) if rest else "")
    return first, after or (rest.pop(0) if rest else "")


def _of_ladder(known: list[str]) -> tuple[str, str] | None:
    ladders = dict.fromkeys(label.partition(f"/{FIRST_RUNG}")[0] for label in known if f"/{FIRST_RUNG}" in label)
    for name in ladders:
        first, base = f"{name}/{FIRST_RUNG}", f"{name}/{BASE_RUNG}"
        if any(is_below(label, base) for label in known):
            return first, base
    return None


def taken(compared: Comparison, before: str, after: str, n_labels: int) -> str:
    """Which two labels were taken, and by what rule, in a sentence. `before` and `after` are what was asked for."""
    if "" in (compared.before, compared.after):
        return "No two labels were taken."
    if before and after:
        why = "as asked"
    elif compared.before.endswith(f"/{FIRST_RUNG}") and compared.after.endswith(f"/{BASE_RUNG}") and not (before or after):
        why = "the rung that changes nothing and the one that all single changes start from"
    else:
        why = "those that began first, of what was not asked for"
    return (f"Compared are {compared.before} and {compared.after}, of {counted(n_labels, 'label')}: {why}. The parameters "
            "before and after name others.")


def compare(chosen: Chosen, quantity: str, before: str, after: str) -> Comparison:
    """Of a quantity over time, `series.name`, or of a number of whole runs."""
    if quantity in set(chosen.totals.name) and not (chosen.points.series + "." + chosen.points.name == quantity).any():
        return _of_whole_runs(chosen, quantity, before, after)
    if without := [series for series in set(chosen.clocks.series) - set(chosen.points.series)
                   if quantity.startswith(f"{series}.")]:
        return _nothing(before, after, f"{without[0]} has no clock (study ingest with --started or --utc-offset gives one)")
    series, name = _split(chosen, quantity)
    points = chosen.points[(chosen.points.series == series) & (chosen.points.name == name)]
    of_runs = {run: part.value.to_numpy() for run, part in points.groupby("run")}
    before, after = labels(chosen, before, after, of_runs)
    if "" in (before, after) or is_below(after, before) or is_below(before, after):
        return _nothing(before, after, ONE_LABEL)
    sides = [[of_runs[run] for run, own in zip(chosen.runs.run, chosen.runs.label, strict=True)
              if is_below(own, label) and run in of_runs] for label in (before, after)]
    means = tuple([float(values.mean()) for values in side] for side in sides)
    base = _nothing(before, after, "")._replace(n=(len(sides[0]), len(sides[1])), values=(means[0], means[1]),
                                                unit=points.unit.iloc[0], quantity=quantity)
    for label, side in zip((before, after), sides, strict=True):
        if not side:
            return base._replace(reason=f"no run of '{label}' has {quantity}")
    base = base._replace(means=(float(np.mean(means[0])), float(np.mean(means[1]))))
    if min(base.n) >= RUNS:
        return _by_runs(base)
    gaps = chosen.clocks[(chosen.clocks.series == series) & chosen.clocks.run.isin(of_runs)].gaps
    return base._replace(reason=f"{series} has gaps") if gaps.any() else _within(base, sides)


def _of_whole_runs(chosen: Chosen, quantity: str, before: str, after: str) -> Comparison:
    """Of a number that a tool prints of a run: a run is one value, so three of each label are wanted."""
    rows = chosen.totals[chosen.totals.name == quantity]
    of_runs = dict(zip(rows.run, rows.value, strict=True))
    before, after = labels(chosen, before, after, of_runs)
    if "" in (before, after) or is_below(after, before) or is_below(before, after):
        return _nothing(before, after, ONE_LABEL)
    sides = tuple([float(of_runs[run]) for run, own in zip(chosen.runs.run, chosen.runs.label, strict=True)
                   if is_below(own, label) and run in of_runs] for label in (before, after))
    base = _nothing(before, after, "")._replace(n=(len(sides[0]), len(sides[1])), values=(sides[0], sides[1]),
                                                unit=rows.unit.iloc[0], quantity=quantity)
    if min(base.n) < RUNS:
        return base._replace(reason=f"{quantity} is a number of the whole run, and {RUNS} runs of each label are needed; "
                             f"there are {base.n[0]} and {base.n[1]}")
    return _by_runs(base._replace(means=(float(np.mean(sides[0])), float(np.mean(sides[1])))))


def _nothing(before: str, after: str, reason: str) -> Comparison:
    return Comparison(before=before, after=after, means=(np.nan, np.nan), by=np.nan, low=np.nan, high=np.nan, effect=np.nan,
                      n=(0, 0), of_runs=False, values=([], []), unit="1", reason=reason)


def _split(chosen: Chosen, quantity: str) -> tuple[str, str]:
    for series in sorted(chosen.points.series.unique(), key=len, reverse=True):
        if quantity.startswith(f"{series}."):
            name = quantity.removeprefix(f"{series}.")
            rows = chosen.points[(chosen.points.series == series) & (chosen.points.name == name)]
            if len(rows) and rows.subject.nunique() == 1:
                return series, name
    raise UserError(f"'{quantity}' is no quantity over time of these runs, or one of several devices; take another")


def _by_runs(base: Comparison) -> Comparison:
    first, second = (np.array(side) for side in base.values)
    if min(np.ptp(first), np.ptp(second)) == 0:
        return base._replace(reason="all runs of a label have the same mean")
    welch = stats.ttest_ind(second, first, equal_var=False)
    low, high = welch.confidence_interval(1 - autocorrelated.LEVEL)
    by = float(second.mean() - first.mean())
    return base._replace(by=by, low=float(low), high=float(high), effect=_hedges(first, second), of_runs=True)


def _within(base: Comparison, sides: list[list[np.ndarray]]) -> Comparison:
    first, second = sides[0][0], sides[1][0]
    compared = autocorrelated.difference(first, second)
    if compared.reason:
        return base._replace(reason=compared.reason)
    return base._replace(means=(float(first.mean()), float(second.mean())), by=compared.value, low=compared.low,
                         high=compared.high, effect=_hedges(first, second))


def _hedges(first: np.ndarray, second: np.ndarray) -> float:
    n, m = len(first), len(second)
    pooled = np.sqrt(((n - 1) * first.var(ddof=1) + (m - 1) * second.var(ddof=1)) / (n + m - 2))
    return float((second.mean() - first.mean()) / pooled * (1 - 3 / (4 * (n + m) - 9)))


def verdict(compared: Comparison) -> str:
    """What the comparison says, in a sentence or two."""
    if compared.reason:
        return f"nothing is compared: {compared.reason}"
    shown = "differs from" if compared.low > 0 or compared.high < 0 else "is not shown to differ from"
    share = 100 / compared.means[0] if compared.means[0] else np.nan
    unit = unit_in_words(compared.quantity, compared.unit)
    words = (f"{compared.after} {shown} {compared.before} by {signed(compared.by)}{unit} ({signed(compared.low)} to "
             f"{signed(compared.high)}), or {signed(share * compared.by, 2)} % ({signed(share * compared.low, 2)} to "
             f"{signed(share * compared.high, 2)} %), from {in_words(compared.means[0])} to {in_words(compared.means[1])}; "
             f"Hedges' g = {in_words(compared.effect, 2)}")
    of = f"{counted(compared.n[0], 'run')} and {compared.n[1]}"
    if compared.of_runs:
        return f"{words}. A run counts as one value: {of}"
    return f"{words}. It is of the first run of each label, of {of}, so it says nothing of how runs differ"
