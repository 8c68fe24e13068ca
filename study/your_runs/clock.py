"""Series of different tools of one run on one clock: a row an interval, a column a quantity.

A number of a tool is of the interval that ends at its time. A row here holds the mean over its own interval, each number
weighted by how much of it lies in there. Where less than half of a row is covered the value is missing. Nothing is
filled in.
"""
import re

import numpy as np
import pandas as pd

from study.errors import UserError
from study.ingest.reading import slug
from study.your_runs.chosen import Chosen

COVERED = 0.5
GAP = 1.5       # intervals: a longer step is a gap, as in `study.ingest.imports`
MAX_ROWS = 100_000


def table(chosen: Chosen, run: str, interval_s: float = 0.0) -> pd.DataFrame:
    """Index: seconds since `attrs["begins"]` (UTC), at the end of each row. `attrs["units"]`: unit by name;
    `attrs["apart_s"]`: how far two series may be apart; `attrs["tools"]`: tool by name. `interval_s` 0: the longest of the
    series, in whole seconds. Raises UserError where no series has a clock."""
    points = chosen.points[chosen.points.run == run]
    clocks = chosen.clocks[chosen.clocks.run == run].set_index("series")
    clocks = clocks[clocks.starts.notna() & clocks.index.isin(points.series)]
    if clocks.empty:
        raise UserError(f"no series of the run {run} has a clock; import it with --started, or with times in its files")
    seconds = points.utc.astype("int64") / _ticks(points.utc)
    edges = _edges(seconds.groupby(points.series), clocks, run, interval_s)
    columns, units, tools = {}, {}, {}
    for (series, subject, name), part in points.assign(seconds=seconds).groupby(["series", "subject", "name"], sort=True):
        several = points.subject[points.series == series].nunique() > 1
        full = f"{series}.{slug(subject)}.{name}" if several else f"{series}.{name}"
        step = clocks.interval_s[series]
        columns[full] = _means(part.seconds.to_numpy(), part.value.to_numpy(), float(step) if step == step else 0.0, edges)
        units[full], tools[full] = part.unit.iloc[0] or "1", clocks.tool[series]
    made = pd.DataFrame(columns, index=pd.Index(edges[1:] - edges[0], name="run"))
    made.attrs = {"units": units, "tools": tools, "begins": str(pd.Timestamp(edges[0], unit="s")),
                  "interval_s": float(edges[1] - edges[0]),
                  "apart_s": float(sum(sorted(clocks.uncertainty_s.fillna(0.0))[-2:]))}
    return made


def _ticks(utc: pd.Series) -> float:
    """Of its resolution, in a second."""
    return {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[np.datetime_data(utc.dtype)[0]]


def _edges(of_series: "pd.api.typing.SeriesGroupBy", clocks: pd.DataFrame, run: str, interval_s: float) -> np.ndarray:
    """Ends of rows, s since 1970: within what all series cover."""
    step = interval_s or float(np.ceil(clocks.interval_s.max() - 0.01)) or 1.0
    begin = float(np.ceil((of_series.min() - clocks.interval_s.fillna(0.0)).max()))
    n = int((of_series.max().min() - begin) // step)
    if not 1 <= n <= MAX_ROWS:
        raise UserError(f"the series of the run {run} have {max(n, 0)} intervals of {step:g} s in common, but 1 to "
                        f"{MAX_ROWS} are looked at; choose another interval, or another run")
    return begin + step * np.arange(n + 1)


def _means(ends: np.ndarray, values: np.ndarray, interval: float, edges: np.ndarray) -> np.ndarray:
    """Of numbers that each hold from the one before (or for an interval, behind a gap) to its time: means between edges."""
    steps = np.diff(ends, prepend=ends[0] - interval)
    held = np.where(steps > GAP * interval, interval, steps) if interval else steps
    begins = ends - held
    knots = np.column_stack([begins, ends]).ravel()
    sums = [np.column_stack([np.cumsum(area) - area, np.cumsum(area)]).ravel() for area in (held, held * values)]
    covered, area = (np.diff(np.interp(edges, knots, running_sum)) for running_sum in sums)
    enough = covered >= COVERED * np.diff(edges)
    return np.where(enough, area / np.where(enough, covered, 1.0), np.nan)


def explaining(table: pd.DataFrame, outcome: str) -> pd.DataFrame:
    """The outcome, and what other tools measured meanwhile: numbers of the outcome's own tool are the outcome again."""
    if outcome not in table:
        raise UserError(f"the run has no series '{outcome}'; it has {', '.join(table.columns)}")
    tools = table.attrs["tools"]
    kept = table[[outcome, *(name for name in table if tools[name] != tools[outcome])]].rename(columns=_as_a_share)
    kept.attrs = table.attrs | {"units": {_as_a_share(name): unit for name, unit in table.attrs["units"].items()}}
    return kept


def _as_a_share(name: str) -> str:
    """The share of time that a device is busy, by the name under which `study.documents.disguises` knows it."""
    return re.sub(r"\.busy$", ".utilisation", name)
