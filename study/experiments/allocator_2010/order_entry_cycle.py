"""How the throughput of a series goes up and down, run by run: a slow fall, a collapse, a sudden return.

The document has *slow degradation over several runs, followed by a sudden return*. `skewness` is how that is graded. A test
holds that it is found in such a series with noise, and neither in noise nor where falls and returns are alike.
"""
import itertools

import numpy as np
import pandas as pd

EVEN = 1e-9     # changes that differ by less than this part of the throughput are equal


def turning_points(tps: np.ndarray, min_change: float) -> list[int]:
    """Where a series turns: between neighbours of these it goes up or down by `min_change` at least."""
    turns = [0]
    for i in range(1, len(tps)):
        change = tps[i] - tps[turns[-1]]
        so_far = tps[turns[-1]] - tps[turns[-2]] if len(turns) > 1 else 0.0
        if change * so_far > 0:
            turns[-1] = i
        elif abs(change) >= min_change:
            turns.append(i)
    return turns


def cycle(tps: np.ndarray) -> pd.DataFrame:
    """How throughput goes up and down: name, value, unit. Falls and rises are those of a quarter of the range at least. Slow
    falls and sudden returns: a fall takes more runs than a rise."""
    turns = turning_points(tps, 0.25 * np.ptp(tps))
    steps = [(b - a, tps[b] - tps[a]) for a, b in itertools.pairwise(turns)]
    rows: list[tuple[str, float, str]] = []
    for name, sign in (("fall", -1), ("rise", 1)):
        one_way = [(n, sign * change) for n, change in steps if sign * change > 0]
        rows.append((f"{name}s", len(one_way), "1"))
        if one_way:
            rows += [(f"{name}.runs", float(np.mean([n for n, _ in one_way])), "runs"),
                     (f"{name}.size", 100 * float(np.mean([change for _, change in one_way])) / tps.mean(), "%")]
        rows.append((f"{name}.in-one-run", 100 * float((sign * np.diff(tps)).max()) / tps.mean(), "%"))
    rows.append(("skewness", skewness(tps), "1"))
    return pd.DataFrame(rows, columns=["name", "value", "unit"])


def skewness(tps: np.ndarray) -> float:
    """Skewness of the changes from run to run, in that half of the series which has less of it: once is no cycle.

    Above 0 throughput falls slowly and returns at once, at 0 both are alike, below 0 it collapses and recovers slowly.
    `of_falls` says how much slow falls have. Changes that are all equal have none, 0, as has whatever is symmetric."""
    return min(_skewness(np.diff(half)) for half in np.array_split(tps, 2))


def _skewness(changes: np.ndarray) -> float:
    if len(changes) == 0 or np.ptp(changes) <= EVEN * np.abs(changes).max():
        return 0.0
    from scipy import stats  # takes a second to import, and most callers of this module need none
    return float(stats.skew(changes))


def of_falls(n_runs: int) -> float:
    """The skewness where throughput falls by equal steps over so many runs and returns in one, again and again. Of a change
    that comes once in n + 1 it is (1 - 2 p) / sqrt(p (1 - p)) with p = 1 / (n + 1)."""
    return (n_runs - 1) / n_runs**0.5
