"""What a mechanism of the model made of a trace. There is a table for readers, what is to be known of it, and the time it
took."""
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from model.zfs.eras import Era
from model.zfs.eras import era as era_of
from study.errors import UserError
from study.traces.requests import TRIM, Trace, chunks
from study.words import counted


class Through(NamedTuple):
    """A trace through one mechanism."""

    mechanism: str
    table: pd.DataFrame
    notes: list[str]
    seconds: float      # of a processor in the model, once compiled; all rows of the table together
    runs: int           # of the whole trace that these were
    curve: Any = None   # of a picture, where there is one
    differs: bool = False   # the model decides otherwise than was recorded


def rules(name: str) -> Era:
    """Of a build. Raises UserError."""
    try:
        return era_of(name)
    except ValueError as error:
        raise UserError(str(error)) from error


def need_place(trace: Trace, mechanism: str) -> None:
    """A UserError where the format has objects."""
    if not trace.format.has_place:
        raise UserError(f"{trace.path} is {trace.format.name}, which names objects and no places on a device, but the "
                        f"{mechanism} needs places; choose --through arc")


def need_time(trace: Trace, mechanism: str) -> None:
    """A UserError where the format has no times."""
    if not trace.format.resolution:
        raise UserError(f"{trace.path} is {trace.format.name}, which has no times, but the {mechanism} needs them; say how "
                        "many requests come a second by --rate, or choose --through arc")


def trims(trace: Trace) -> list[str]:
    """A note of those that are left out."""
    n = sum(int((rows["kind"] == TRIM).sum()) for rows in chunks(trace.requests))
    return [f"{counted(n, 'trim')} left out: nothing here is freed by them"] if n else []


def without_trims(trace: Trace) -> Iterator[np.ndarray]:
    """Requests of a trace in chunks, without those that trim."""
    for rows in chunks(trace.requests):
        yield rows[rows["kind"] != TRIM]


def column(rows: np.ndarray, name: str, dtype: type = np.int64) -> np.ndarray:
    """One by itself, as kernels want it."""
    return np.ascontiguousarray(rows[name], dtype)
