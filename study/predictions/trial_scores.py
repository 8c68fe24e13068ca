"""How a trial is graded, whatever its numbers: blind predictions (`study.predictions.trials`) beside what was published.

    cells, ratios = compared(), compared_ratios()       a row for each, with its interval and whether it was met
    score(cells)            how many of them are met, and how far off they are
    directions(ratios)      of how many ratios the direction is foretold
    verdict(cells, ratios)  all of it in words

A rate or a ratio is *met* if what was published lies within 5 to 95 % of its draws. Few draws span less than nine tenths: of
n, 0.9 (n - 1) / (n + 1) on average. A model that knows all that it does not know is held to that (`expected_within`).
Intervals are *wide enough* if no fewer are met than such a model would have met in 95 of 100 trials. That takes all cells
for independent, which they are not; else they are *too narrow*. How far off predictions are is said by factors between
published and middle, in either direction. Half of them are below `off`, all below `worst`. `bias` below 1 means that they
are too high. A ratio has a *direction* if it is published `CLEAR` or more away from 1. It is foretold if the middle is in
that direction by `FORETOLD` at least.
"""
from typing import NamedTuple

import numpy as np
import pandas as pd

from study.ensembles import intervals
from study.predictions.trials import blind, interval, opened, published, read

CLEAR, FORETOLD = 1.1, 1.05     # of ratios


def compared(predictions: dict[str, dict] | None = None) -> pd.DataFrame:
    """A row per cell: set-up, cell, published, the interval, published over the middle, whether it lies within.
    `predictions`: by set-up; what was predicted blind if it is left out."""
    predictions = predictions or {name: blind(name) for name in opened()}
    rows = [(name, cell, published(name)["tps"][cell], *interval(cells, cell)) for name, cells in predictions.items()
            for cell in cells]
    return _judged(pd.DataFrame(rows, columns=["setup", "what", "published", "low", "middle", "high"]))


def compared_ratios() -> pd.DataFrame:
    """The same of the ratios that each set-up names, draw by draw."""
    rows = []
    for name in opened():
        cells, tps = blind(name), published(name)["tps"]
        for ratio, of, to in read(name).ratios:
            if of in cells and to in cells:
                draws = pd.Series(cells[of]["draws"]["tps"]) / pd.Series(cells[to]["draws"]["tps"])
                rows.append((name, ratio, tps[of] / tps[to], *intervals.interval(draws)))
    return _judged(pd.DataFrame(rows, columns=["setup", "what", "published", "low", "middle", "high"]))


def _judged(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(factor=table.published / table.middle, within=table.published.between(table.low, table.high))


class Score(NamedTuple):
    """How many of `n` rates lay within their intervals, and by which factors they were off."""
    n: int
    within: int
    off: float              # median over rows of the factor between published and middle, whichever is larger
    worst: float
    bias: float             # geometric mean of published over middle: below 1 where predictions are too high


def score(table: pd.DataFrame) -> Score:
    """How well rates were foretold: how many within their intervals, and factors off."""
    logs = np.log(table.factor)
    return Score(len(table), int(table.within.sum()), float(np.exp(logs.abs().median())), float(np.exp(logs.abs().max())),
                 float(np.exp(logs.mean())))


def expected_within(n_draws: float) -> float:
    """Of results that are drawn like the predictions, the part that lies within 5 to 95 % of so many of these. (Quantiles of
    a sample, interpolated, are (n - 1) q + 1 of its n + 1 gaps from its end, on average.)"""
    return 0.9 * (n_draws - 1) / (n_draws + 1)


def fewest_within(n_draws: list[int]) -> int:
    """So many at least are met in 95 of 100 trials, of a prediction of so many draws each, if intervals are wide enough."""
    from scipy.stats import binom  # takes a second to import, and most callers of this module need none
    return int(binom.ppf(0.05, len(n_draws), np.mean([expected_within(n) for n in n_draws])))


def width_grade(cells: pd.DataFrame) -> str:
    """"wide enough" or "too narrow": see above."""
    n_draws = [len(blind(row.setup)[row.what]["draws"]["tps"]) for row in cells.itertuples()]
    return "wide enough" if int(cells.within.sum()) >= fewest_within(n_draws) else "too narrow"


def directions(table: pd.DataFrame) -> tuple[int, int]:
    """Of the ratios that have a direction: how many, and of how many it is foretold."""
    clear = table[np.log(table.published).abs() >= np.log(CLEAR)]
    along = np.log(clear.middle) * np.sign(np.log(clear.published))
    return len(clear), int((along >= np.log(FORETOLD)).sum())


def metrics(table: pd.DataFrame, quantity: str) -> pd.DataFrame:
    """Each row's middle as a result, by a name of small letters."""
    names = [f"{row.setup}.{row.what}".lower().translate(str.maketrans("/ ,=", "----")) for row in table.itertuples()]
    return pd.DataFrame({"name": names, "value": table.middle.to_numpy(), "unit": quantity})


def lie(n: int) -> str:
    """1 lies, 2 lie."""
    return f"{n} {'lies' if n == 1 else 'lie'}"


def verdict(cells: pd.DataFrame, ratios: pd.DataFrame) -> str:
    """In words, from the numbers."""
    rates, sides = score(cells), score(ratios)
    clear, foretold = directions(ratios)
    side = "too high" if rates.bias < 1 else "too low"
    return (f"Of {rates.n} rates that were predicted before their results were opened, {lie(rates.within)} within their "
            f"intervals. Half are off by a factor of {rates.off:.2f} or more, the worst by {rates.worst:.1f}. On average "
            f"predictions are {side} by {max(rates.bias, 1 / rates.bias):.2f}. Of {sides.n} ratios of two variants "
            f"{lie(sides.within)} within; half are off by {sides.off:.2f} or more. Where the published ratio is a tenth or "
            f"more away from 1, the direction is foretold in {foretold} of {clear}.")
