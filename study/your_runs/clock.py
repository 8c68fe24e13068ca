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
NO_CLOCK = "the run has no series with a clock (study ingest with --started or --utc-offset gives one)"


def table(chosen: Chosen, run: str, interval_s: float = 0.0) -> pd.DataFrame:
    """Index: seconds since `attrs["begins"]` (UTC), at the end of each row. `attrs["units"]`: unit by name;
    `attrs["apart_s"]`: how far two series may be apart; `attrs["tools"]`: tool by name; `attrs["totals"]`: names of numbers
    of the whole run. `interval_s` 0: the longest of the series, in whole seconds. Without rows `attrs["reason"]` says why.
    Raises UserError for more than MAX_ROWS."""
    points = chosen.points[chosen.points.run == run]
    clocks = chosen.clocks[chosen.clocks.run == run].set_index("series")
    clocks = clocks[clocks.starts.notna() & clocks.index.isin(points.series)]
    totals = chosen.totals.name[chosen.totals.run == run].tolist()
    if clocks.empty:
        return _nothing(totals, NO_CLOCK)
    seconds = points.utc.astype("int64") / _ticks(points.utc)
    edges = _edges(seconds.groupby(points.series), clocks, run, interval_s)
    if len(edges) < 2:
        return _nothing(totals, "series of the run have no whole interval in common")
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
                  "apart_s": float(sum(sorted(clocks.uncertainty_s.fillna(0.0))[-2:])), "totals": totals, "reason": ""}
    return made


def _nothing(totals: list[str], reason: str) -> pd.DataFrame:
    made = pd.DataFrame(index=pd.Index([], dtype=float, name="run"))
    made.attrs = {"units": {}, "tools": {}, "begins": "", "interval_s": 1.0, "apart_s": 0.0, "totals": totals,
                  "reason": reason}
    return made


def sentence(table: pd.DataFrame, run: str) -> str:
    """What the table holds, or why it holds nothing."""
    if table.empty:
        return f"{run}: {table.attrs['reason']}. Numbers of whole runs are compared below"
    return (f"{run}: {len(table)} rows of {table.attrs['interval_s']:g} s from {table.attrs['begins']} UTC; clocks may be "
            f"{table.attrs['apart_s']:.1f} s apart")


def why_not(table: pd.DataFrame, outcome: str) -> str:
    """Why nothing over time can be said of an outcome that the run may have as a number of the whole run; else ""."""
    if table.empty:
        return str(table.attrs["reason"])
    return f"{outcome} is a number of the whole run, with no series" if outcome in table.attrs["totals"] else ""


def _ticks(utc: pd.Series) -> float:
    """Of its resolution, in a second."""
    return {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[np.datetime_data(utc.dtype)[0]]


def _edges(of_series: "pd.api.typing.SeriesGroupBy", clocks: pd.DataFrame, run: str, interval_s: float) -> np.ndarray:
    """Ends of rows, s since 1970: within what all series cover."""
    longest = float(clocks.interval_s.max())        # NaN where each series has one point
    step = interval_s or (float(np.ceil(longest - 0.01)) if longest == longest else 0.0) or 1.0
    begin = float(np.ceil((of_series.min() - clocks.interval_s.fillna(0.0)).max()))
    n = int((of_series.max().min() - begin) // step)
    if n > MAX_ROWS:
        raise UserError(f"the series of the run {run} have {n} intervals of {step:g} s in common. At most {MAX_ROWS} are "
                        "looked at. Choose another interval, or another run")
    return begin + step * np.arange(max(n, 0) + 1)


def _means(ends: np.ndarray, values: np.ndarray, interval: float, edges: np.ndarray) -> np.ndarray:
    """Of numbers that each hold from the one before (or for an interval, behind a gap) to its time: means between edges."""
    steps = np.diff(ends, prepend=ends[0] - interval)
    held = np.where(steps > GAP * interval, interval, steps) if interval else steps
    begins = ends - held
    knots = np.column_stack([begins, ends]).ravel()
    sums = [np.column_stack([np.cumsum(area) - area, np.cumsum(area)]).ravel() for area in (held, held * values)]
    covered, area = (np.diff(np.interp(edges, knots, running_sum)) for running_sum in sums)
    enough = covered >= COVERED * np.diff(edges)
    means = np.where(enough, area / np.where(enough, covered, 1.0), np.nan)
    if np.ptp(values) == 0:     # sums would leave a last digit that varies
        means[enough] = values[0]
    return means


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
