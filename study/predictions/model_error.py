"""How far blind predictions have been off, as an interval about the next one: a declared calibration.

The intervals of `study.predictions.predict` are over what is not known of a machine. That a rule of ZFS is of another time,
that a drive ages, that a scenario leaves something out, is in none of them. So they are too narrow. How much such things
matter nobody can draw. But of the set-ups in `data/trials` it was seen: each of their rates was predicted before it was
opened, and was off by a factor. A new set-up is taken to be one more of the same kind:

    off, of a cell              larger of published / middle and middle / published, as predicted blind
    share of set-ups            each counts as one, its cells as equal parts of it: they are of one machine, and alike
    the factor                  the least that this share of all set-ups, and of one not yet seen, are within. Of n set-ups
                                and one that may be worse than all, LEVEL (n + 1) / n of those seen
    the interval                middle / factor to middle x factor, and never less than the mechanism's own

If the next set-up is drawn like the earlier ones, its rates lie within in LEVEL of cases at least. That holds whatever the
errors' distribution (split conformal prediction, V. Vovk et al., Algorithmic Learning in a Random World, 2005; of groups: R.
Dunn, L. Wasserman, A. Ramdas, 2018). It is not the model's merit, enters no grade and no other number, and is printed apart.
What was predicted with an earlier model counts in full. Set-ups of a few authors are hardly a sample of all. By the first
trial's factor 19 of the 27 rates of the second were held (70 %), by that of both all 19 of the third.
"""
from typing import NamedTuple

import numpy as np
import pandas as pd
from rich.console import Console

from study import console
from study.ensembles import intervals
from study.machines import hardware
from study.predictions import trial_scores, trials

LEVEL = 0.8     # of 5 set-ups, as many as the first trial had, no more than 5/6 can be promised


class Error(NamedTuple):
    """Within which factor blind predictions were, and of how many set-ups and rates that is."""
    factor: float
    n_setups: int
    n_cells: int


def offs(names: list[str]) -> list[np.ndarray]:
    """By set-up, the factor that each cell was off by, 1 or more."""
    tables = [trial_scores.compared({name: trials.blind(name)}) for name in names]
    return [np.exp(np.abs(np.log(table.factor.to_numpy()))) for table in tables]


def factor_of(cells_of: list[np.ndarray], level: float = LEVEL) -> float:
    """Of cells that were off by so much, by set-up; infinite if there are too few set-ups for that level."""
    factors = np.concatenate(cells_of)
    weights = np.concatenate([np.full(len(cells), 1 / len(cells)) for cells in cells_of]) / (len(cells_of) + 1)
    order = factors.argsort()
    reached = np.cumsum(weights[order]) >= level - 1e-9
    return float(factors[order][reached.argmax()]) if reached.any() else np.inf


def seen(names: list[str] | None = None) -> Error:
    """In these set-ups; in all that have been opened, if they are left out."""
    factors = offs(trials.opened() if names is None else names)
    return Error(factor_of(factors), len(factors), sum(map(len, factors)))


def widened(own: intervals.Interval, error: Error) -> intervals.Interval:
    """The mechanism's own interval, and what lies within the factor of its middle."""
    return intervals.Interval(min(own.low, own.middle / error.factor), own.middle, max(own.high, own.middle * error.factor))


def beyond_ranges_on_disks() -> float:
    """How far published rates lay beyond the mechanism's own 5 to 95 %, predicted blind, where data were on disks. It is a
    factor, by the root mean square of logarithms, and 1 within. Each set-up counts as one."""
    return _beyond(_on_disks(trial_scores.compared()))


def _on_disks(table: pd.DataFrame) -> pd.DataFrame:
    return table[[hardware.read(sheet_of_data(name)).kind == "disk" for name in table.setup]]


def _beyond(table: pd.DataFrame) -> float:
    beyond = np.log(np.maximum(np.maximum(table.published / table.high, table.low / table.published), 1.0))
    return float(np.exp(np.sqrt((beyond ** 2).groupby(table.setup).mean().mean())))


def beyond_ranges_of_effects() -> float:
    """The same of the ratios that set-ups with data on disks name: `study.grades.grading.OWN_ERROR`."""
    return _beyond(_on_disks(trial_scores.compared_ratios()))


def sheet_of_data(name: str) -> str:
    """Of a set-up: the sheet of the devices that data are on."""
    return next(iter(trials.read(name).cells.values())).pool.data.sheet


def within(table: pd.DataFrame, error: Error) -> int:
    """Of rows of `study.predictions.trial_scores.compared`, how many were published within their widened intervals."""
    wide = [widened(intervals.Interval(row.low, row.middle, row.high), error) for row in table.itertuples()]
    return sum(interval.low <= published <= interval.high
               for interval, published in zip(wide, table.published, strict=True))


def in_words(error: Error) -> str:
    """The model error in two sentences: how far off rates may be, and what that is from."""
    return (f"with the model error of earlier set-ups: within a factor of {error.factor:.2g} of the middle. It should hold "
            f"eight of ten new rates, as {error.n_setups} set-ups predicted blind ({error.n_cells} rates) say. It is a "
            "calibration, not the mechanism's own")


def as_quantity(own: intervals.Interval, error: Error) -> dict:
    """For a file, beside the mechanism's own quantities."""
    wide = widened(own, error)
    return {"tps_with_model_error": {"unit": "TPS", "low": wide.low, "middle": wide.middle, "high": wide.high,
                                     "factor": error.factor, "why": in_words(error)}}


def say(own: intervals.Interval, error: Error, out: Console) -> None:
    """For the terminal."""
    wide = widened(own, error)
    out.print(f"as it is {console.number(wide.low)} to {console.number(wide.high)} TPS, {in_words(error)}", soft_wrap=True)
