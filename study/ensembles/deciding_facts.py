"""Which single fact would have told most of an effect, had it been printed.

    table = facts(known, draws, effect)                     each condition and number, the most telling first
    rows = over_tolerances(known, matched, effect, NAMES)   the first two among the draws that each tolerance leaves
    parts = tree(known, draws, effect, NAMES)               the draws in four parts, by three questions at most

A fact tells as much of an effect as it explains of its variance among draws: ε² (T. Kelley, 1935), which is about 0 for what
has nothing to do with it. A number counts as known to a third of the draws, a condition exactly. Draws give all choices of a
condition alike odds. Shares of two facts must not be added: among draws that were chosen, facts go together. Intervals are 5
to 95 % of a bootstrap over the draws.
"""
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from study.documents import readable
from study.documents.priors import Known
from study.ensembles.history_matching import TOLERANCES, Match

PARTS = 3               # of the draws, by a number: low, middle, high
SWITCHES = 5            # choices of a condition at most; what has more values is a number
ENOUGH = 20             # draws: of fewer nothing is told
RESAMPLES = 499
SEED = 1
PARTS_OF_TREE, A_PART = 4, 5    # of the draws, by three questions; draws in one at least


def facts(known: Known, draws: pd.DataFrame, effect: pd.Series) -> pd.DataFrame:
    """what, share, low, high: of the variance of `effect` (a number for each of `draws`), and its interval. Nothing is told
    of fewer than ENOUGH draws."""
    groups = {switch.name: grouped(draws[switch.name], is_choice=True) for switch in known.switches}
    groups |= {prior.name: grouped(draws[prior.name], is_choice=False) for prior in known.priors}
    values = effect[draws.index].to_numpy(float)
    rows = [(name, *_with_interval(pd.factorize(group)[0], values)) for name, group in groups.items()
            if len(draws) >= ENOUGH]
    table = pd.DataFrame(rows, columns=["what", "share", "low", "high"])
    return table.sort_values("share", ascending=False, kind="stable", ignore_index=True)


def grouped(values: pd.Series, is_choice: bool | None = None) -> pd.Series:
    """The group of each draw: its choice, or the part of the draws by a number. Without `is_choice`, numbers of more
    than SWITCHES values are no choices."""
    if is_choice is None:
        is_choice = not pd.api.types.is_numeric_dtype(values) or values.nunique() <= SWITCHES
    return values.astype(str) if is_choice else PARTS * (values.rank(method="first") - 1) // len(values)


def _with_interval(group: np.ndarray, values: np.ndarray) -> tuple[float, float, float]:
    from scipy import stats  # takes a second to import, and most callers of this module need none
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


def over_tolerances(known: Known, matched: Match, effect: pd.Series, names: Mapping[str, str]) -> pd.DataFrame:
    """Of the draws left at each tolerance that leaves ENOUGH: the most telling fact, its share (%) and its interval, and
    the next one. `names`: in words, by name."""
    rows = []
    for tolerance in (np.inf, *reversed(TOLERANCES)):
        table = facts(known, left := matched.within(tolerance), effect)
        for first, second in zip(table.itertuples(), table[1:].itertuples(), strict=False):
            rows.append((tolerance, len(left), names.get(first.what, first.what), 100 * first.share, 100 * first.low,
                         100 * first.high, names.get(second.what, second.what), 100 * second.share))
            break
    return pd.DataFrame(rows, columns=["within a factor", "left", "most telling", "share (%)", "low", "high", "next",
                                       "its share (%)"])


def tree(known: Known, draws: pd.DataFrame, effect: pd.Series, names: Mapping[str, str]) -> pd.DataFrame:
    """The draws in parts, by questions of which each explains most of what those before it leave (a regression tree of
    scikit-learn). Columns: draws with, draws, low, middle, high (of the effect, least to most), the lowest first. `names`:
    in words, by name. Of fewer than ENOUGH draws nothing is told."""
    from sklearn.tree import DecisionTreeRegressor  # takes a second, and most callers of this module need none
    columns: dict[str, np.ndarray] = {prior.name: draws[prior.name].to_numpy(float) for prior in known.priors}
    columns |= {f"{switch.name}={choice}": (draws[switch.name] == choice).to_numpy(float)
                for switch in known.switches for choice in switch.choices}
    rows: list[tuple] = []
    if len(draws) >= ENOUGH:
        table, values = pd.DataFrame(columns), effect[draws.index].to_numpy(float)
        fitted = DecisionTreeRegressor(max_leaf_nodes=PARTS_OF_TREE, min_samples_leaf=A_PART, random_state=SEED).fit(
            table.to_numpy(), values)
        leaves = fitted.apply(table.to_numpy())
        for leaf, questions in _questions(fitted.tree_):
            of_leaf = values[leaves == leaf]
            words = [_in_words(table.columns[column], is_above, at, known, names) for column, is_above, at in questions]
            rows.append(("; ".join(words) or "any", len(of_leaf), of_leaf.min(), np.median(of_leaf), of_leaf.max()))
    table = pd.DataFrame(rows, columns=["draws with", "draws", "low", "middle", "high"])
    return table.sort_values("middle", kind="stable", ignore_index=True)


def _questions(of: Any, node: int = 0, asked: tuple = ()) -> list[tuple[int, tuple]]:
    """Each leaf of a tree, and what leads to it: (column, is above, at)."""
    if of.children_left[node] == of.children_right[node]:
        return [(node, asked)]
    column, at = int(of.feature[node]), float(of.threshold[node])
    return [leaf for child, is_above in ((of.children_left[node], False), (of.children_right[node], True))
            for leaf in _questions(of, child, (*asked, (column, is_above, at)))]


def _in_words(column: str, is_above: bool, at: float, known: Known, names: Mapping[str, str]) -> str:
    name, _, choice = column.partition("=")
    what = names.get(name, name.removesuffix("_ns").replace("_", " "))
    if choice:
        switch = next(switch for switch in known.switches if switch.name == name)
        others = [names.get(str(other), str(other)) for other in switch.choices if str(other) != choice]
        return f"{what}: {names.get(choice, choice) if is_above else ' or '.join(others)}"
    prior = next(prior for prior in known.priors if prior.name == name)
    return f"{what} {'above' if is_above else 'up to'} {readable.number(prior, at)}"


def metrics(rows: pd.DataFrame) -> pd.DataFrame:
    """For the run store, of `over_tolerances`: name, value, unit."""
    names = ["tells.all" if np.isinf(factor) else f"tells.within-{100 * (factor - 1):.0f}-percent"
             for factor in rows["within a factor"]]
    return pd.DataFrame({"name": names, "value": rows["share (%)"], "unit": "%"})
