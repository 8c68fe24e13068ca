"""When did a series change its level? PELT of the library `ruptures`, on a series whose past is taken out.

Neighbouring values resemble each other, and a method that takes them for independent sees changes everywhere. So a
first-order autoregression is taken out first. Its phi must not take a change of level for a slow series. So it comes from
medians of differences (Chakar and others, Bernoulli 23, 2017):

    phi = (median |y[t+2] - y[t]| / median |y[t+1] - y[t]|)^2 - 1

Series without a change are simulated, 499 of them, and treated as the real one is, the estimate of phi included. What the
best cut of all but 5 % of these gains is the penalty of a change. Their phi is that of the whole series, which a change
makes larger and never smaller. So of white noise with n = 60 a step of 4 deviations is seen in 69 % of trials, with
phi = 0.9 in 26 %. Where nothing changes one is seen in 2 to 4 %.
"""
import itertools
from typing import NamedTuple

import numpy as np
import pandas as pd
import ruptures
from scipy.signal import lfilter
from statsmodels.regression.linear_model import burg

from model.events.streams import stream
from study.your_runs import clock
from study.your_runs.autocorrelated import LEVEL, MIN_POINTS, difference, why_not
from study.your_runs.quantities import signed, unit_in_words

SIMULATED = 499
MIN_PART = MIN_POINTS       # values between two changes: fewer have no interval
MAX_POINTS = 300            # longer series are averaged in blocks first, so that a search takes a second
MAX_PHI = 0.97
NORMAL_QUARTILE = 0.6745    # median of the absolute value of a standard normal number


class Changes(NamedTuple):
    """Changes of level of a series: a row each, none where `reason` says why nothing is looked for."""
    table: pd.DataFrame     # place (values before it), by (its unit), low, high (95 %), reason
    levels: np.ndarray      # of each value: the mean of its part
    phi: float
    block: int              # values that were averaged into one
    reason: str


def changes(y: np.ndarray, seed: int) -> Changes:
    """Of values at equal steps, in any unit."""
    columns = ["place", "by", "low", "high", "reason"]
    reason = why_not(y)
    if not reason and len(y) < 2 * MIN_PART:
        reason = f"have {len(y)} values; {2 * MIN_PART} or more are needed for a change"
    if reason:
        return Changes(pd.DataFrame(columns=columns), np.full(len(y), np.nan), np.nan, 1, reason)
    block = -(-len(y) // MAX_POINTS)
    whole = len(y) // block * block
    short = y[:whole].reshape(-1, block).mean(axis=1)
    phi = slowness(short)
    cuts = ruptures.Pelt(model="l2", min_size=MIN_PART, jump=1).fit(_independent(short[None])[0][:, None]).predict(
        pen=_penalty(_as_one_level(short), len(short), seed))
    places = [0, *(cut * block for cut in cuts[:-1]), len(y)]
    parts = [y[begin:end] for begin, end in itertools.pairwise(places)]
    rows = []
    for place, (before, after) in zip(places[1:], itertools.pairwise(parts), strict=False):
        step = difference(before, after)
        by = float(after.mean() - before.mean()) if step.reason else step.value
        rows.append((place, by, step.low, step.high, step.reason))
    levels = np.concatenate([np.full(len(part), part.mean()) for part in parts])
    return Changes(pd.DataFrame(rows, columns=columns), levels, phi, block, "")


def of_table(table: pd.DataFrame, name: str, seed: int) -> Changes:
    """Of a column of `study.your_runs.clock`; one that is not there is a reason."""
    if name in table:
        return changes(table[name].to_numpy(), seed)
    reason = clock.why_not(table, name) or f"the run has no {name}"
    return changes(np.empty(0), seed)._replace(reason=f"give no change: {reason}")


def slowness(y: np.ndarray) -> float:
    """phi of an AR(1) series that may change its level, 0 to MAX_PHI."""
    return float(_slowness(y[None])[0])


def _as_one_level(y: np.ndarray) -> float:
    """phi of a series if nothing changed: Burg's, with Kendall's correction. A change makes it larger, never smaller."""
    [phi], _ = burg(y, order=1, demean=True)
    return float(np.clip(phi + (1 + 4 * phi) / len(y), 0.0, MAX_PHI))


def _slowness(rows: np.ndarray) -> np.ndarray:
    near, far = (np.median(np.abs(rows[:, step:] - rows[:, :-step]), axis=1) for step in (1, 2))
    return np.clip((far / np.maximum(near, 1e-300)) ** 2 - 1, 0.0, MAX_PHI)


def _independent(rows: np.ndarray) -> np.ndarray:
    """Each row without its past, over the deviation of its noise. The first value, which has no past, is the second's."""
    phi = _slowness(rows)[:, None]
    noise = rows[:, 1:] - phi * rows[:, :-1]
    steps = np.median(np.abs(np.diff(noise, axis=1)), axis=1, keepdims=True)
    deviation = np.maximum(steps / np.sqrt(2) / NORMAL_QUARTILE, 1e-300)
    scaled = noise / deviation
    return np.concatenate([scaled[:, :1], scaled], axis=1)


def _penalty(phi: float, n: int, seed: int) -> float:
    """What the best cut of a series of n values without a change gains at most, in 95 % of simulated ones."""
    noise = stream(seed, "series without a change").standard_normal((SIMULATED, n))
    noise[:, 1:] *= np.sqrt(1 - phi**2)
    rows = _independent(lfilter([1.0], [1.0, -phi], noise, axis=1))
    sums = np.cumsum(rows - rows.mean(axis=1, keepdims=True), axis=1)[:, MIN_PART - 1:n - MIN_PART]
    before = np.arange(MIN_PART, n - MIN_PART + 1)
    gain = (sums**2 * n / (before * (n - before))).max(axis=1)
    return float(np.quantile(gain, 1 - LEVEL))


def verdict(changed: Changes, step_s: float, name: str = "", unit: str = "1") -> str:
    """What was seen of a quantity, in a sentence; `step_s` is the interval of a value, in s."""
    if changed.reason:
        return f"no change is looked for: the series {changed.reason}"
    averaged = f" (means of {changed.block} values each)" if changed.block > 1 else ""
    if changed.table.empty:
        return f"no change of level is shown in {len(changed.levels)} intervals{averaged}; phi = {changed.phi:.2f}"
    words = unit_in_words(name, unit)
    times = ", ".join(f"{row.place * step_s:g} s ({signed(row.by)}{words})" for row in changed.table.itertuples())
    return f"the level changes at {times}{averaged}; phi = {changed.phi:.2f}"
