"""How the throughput of a series goes up and down, run by run: a slow fall, a collapse, a sudden return."""
import itertools

import numpy as np
import pandas as pd


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
    rows.append(("fall-over-rise", fall_over_rise(tps), "1"))
    return pd.DataFrame(rows, columns=["name", "value", "unit"])


def fall_over_rise(tps: np.ndarray) -> float:
    """How many runs a fall takes for each that a rise takes: 3 if throughput falls over three runs and is back after one,
    about 1 if ups and downs are alike. Falls and rises as in `cycle`; 0 unless there are two of each: once is no cycle."""
    turns = turning_points(tps, 0.25 * np.ptp(tps))
    falls, rises = ([b - a for a, b in itertools.pairwise(turns) if sign * (tps[b] - tps[a]) > 0] for sign in (-1, 1))
    return float(np.mean(falls) / np.mean(rises)) if min(len(falls), len(rises)) > 1 else 0.0
