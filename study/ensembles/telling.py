"""Which single fact would have told most of an effect, had it been printed.

    table = facts(known, draws, effect)     each condition and number that is not known, the most telling first
    sentence(table, names)

A fact tells as much of an effect as it explains of its variance among draws: ε² (T. Kelley, 1935), which is about 0 for what
has nothing to do with it. A number counts as known to a third of its range. Intervals are 5 to 95 % of a bootstrap over the
draws, so few draws give wide ones.
"""
from collections.abc import Mapping

import numpy as np
import pandas as pd
from scipy import stats

from study.documents.priors import Known

PARTS = 3               # of the range of a number: low, middle, high
ENOUGH = 50             # draws: of twenty any of forty facts may be the most telling one
RESAMPLES = 499
SEED = 1


def facts(known: Known, draws: pd.DataFrame, effect: pd.Series) -> pd.DataFrame:
    """what, share, low, high: of the variance of `effect` (a number for each of `draws`), and its interval. Nothing is told
    of fewer than ENOUGH draws."""
    groups = {switch.name: draws[switch.name].astype(str) for switch in known.switches}
    groups |= {prior.name: _part(draws[prior.name]) for prior in known.priors}
    values = effect[draws.index].to_numpy(float)
    rows = [(name, *_with_interval(pd.factorize(group)[0], values)) for name, group in groups.items()
            if len(draws) >= ENOUGH]
    table = pd.DataFrame(rows, columns=["what", "share", "low", "high"])
    return table.sort_values("share", ascending=False, kind="stable", ignore_index=True)


def _part(values: pd.Series) -> pd.Series:
    return PARTS * (values.rank(method="first") - 1) // len(values)


def _with_interval(group: np.ndarray, values: np.ndarray) -> tuple[float, float, float]:
    interval = stats.bootstrap((group, values), explained, paired=True, vectorized=False, n_resamples=RESAMPLES,
                               confidence_level=0.9, method="percentile", rng=SEED).confidence_interval
    return explained(group, values), float(interval.low), float(interval.high)


def explained(group: np.ndarray, values: np.ndarray) -> float:
    """ε²: which share of the variance of `values` their groups (numbers from 0) explain; 0 where they explain none."""
    group = group.astype(int)       # the bootstrap makes decimals of them
    counts = np.bincount(group)
    n_groups, total = np.count_nonzero(counts), values.var() * len(values)
    if n_groups in (1, len(values)) or total == 0:
        return 0.0
    means = np.bincount(group, values) / np.maximum(counts, 1)
    within = ((values - means[group]) ** 2).sum()
    return max(0.0, 1 - (within / (len(values) - n_groups)) / (total / (len(values) - 1)))


def sentence(table: pd.DataFrame, names: Mapping[str, str]) -> str:
    """The most telling fact, and which others may tell as much. `names`: in words, by name."""
    if table.empty:
        return f"Fewer than {ENOUGH} draws do not say which single fact would have told most."
    first = table.iloc[0]
    rivals = table[1:][table.high[1:] > first.low]
    others = ("No other comes near." if rivals.empty else
              f"As telling may be: {', '.join(names.get(name, name) for name in rivals.what)}.")
    return (f"The single fact that would have told most is {names.get(first.what, first.what)}: it explains "
            f"{100 * first.share:.0f} % ({100 * first.low:.0f} to {100 * first.high:.0f} %) of the variance. {others}")


def metrics(table: pd.DataFrame) -> pd.DataFrame:
    """For the run store, of the three most telling facts: name, value, unit."""
    return pd.DataFrame([(f"tells.{row.what}{end}", 100 * value, "%") for row in table.head(3).itertuples()
                         for end, value in (("", row.share), ("-low", row.low), ("-high", row.high))],
                        columns=["name", "value", "unit"])
