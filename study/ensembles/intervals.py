"""Intervals over the cases of an ensemble: 5 %, the middle, 95 %."""
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

TAIL = 0.05             # on either side of an interval


class Interval(NamedTuple):
    """The 5 %, 50 % and 95 % points of a distribution."""
    low: float
    middle: float
    high: float


def interval(values: Iterable[float]) -> Interval:
    """Of values of any unit, over cases: their 5 %, 50 % and 95 % quantiles."""
    return Interval(*(float(end) for end in np.quantile(np.asarray(list(values), float), (TAIL, 0.5, 1 - TAIL))))
