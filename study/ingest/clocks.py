"""When series happened: clocks in UTC, with what the user says where files do not, and what series have in common."""

import math
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pandas as pd

from study.errors import UserError
from study.ingest import text
from study.ingest.reading import Clock, Series

SINCE = "_since_"  # in the names of series that are of long before the run
GAP = 1.5  # intervals


def in_utc(clock: Clock, started: str | None, utc_offset: str | None) -> Clock:
    """A clock of a file in UTC. `started` and `utc_offset` are as in `study.ingest.imports.Options`. Raises UserError."""
    if clock.starts is not None and clock.source.startswith(text.LOCAL):
        if utc_offset is None:
            return Clock(None, math.inf, f"{clock.source}; --utc-offset gives the zone")
        return Clock(
            clock.starts - offset_s(utc_offset),
            clock.uncertainty_s,
            f"{clock.source}, taken as UTC{utc_offset}",
        )
    if clock.starts is None and started is not None:
        moment, resolution = started_s(started)
        return Clock(moment, resolution, "--started")
    return clock


def offset_s(offset: str) -> float:
    """Seconds of +02:00. Raises UserError."""
    seen = text.epoch(f"1970-01-01T00:00:00{offset}")
    if seen is None or not seen[1]:
        raise UserError(f"--utc-offset is '{offset}', which is no offset; write it like +02:00")
    return -seen[0]


def started_s(moment: str) -> tuple[float, float]:
    """Seconds since 1970 and to either side what is not told. Raises UserError."""
    seen = text.epoch(moment)
    if seen is None or not seen[1]:
        raise UserError(f"--started is '{moment}', which is no time with a zone; write it like 2026-11-21T00:46:00Z")
    return seen[0], 60.0 if moment.count(":") == 1 else 1.0


def utc(seconds: float) -> str:
    """ISO 8601 to the microsecond, without a zone, as the store has it."""
    return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None).isoformat(timespec="microseconds")


def of_series(tool: str, series: Series) -> dict[str, Any]:
    """When a series was, in the names of a manifest: its clock, its interval, its first and last point and its gaps, s."""
    times = np.unique(np.array(series.times))
    steps = np.diff(times)
    interval = series.interval_s or _interval_s(np.array(series.times), np.array(series.subjects))
    wide = np.flatnonzero(steps > GAP * interval) if interval else np.empty(0, int)
    known = series.clock.starts is not None
    return {
        "series": series.name,
        "tool": tool,
        "starts": utc(series.clock.starts) if series.clock.starts is not None else None,
        "uncertainty_s": series.clock.uncertainty_s if known else None,
        "clock": series.clock.source,
        "interval_s": interval,
        "first_s": float(times[0]) if len(times) else None,
        "last_s": float(times[-1]) if len(times) else None,
        "points": len(times),
        "gaps": [[float(times[n]), float(times[n + 1])] for n in wide],
    }


def _interval_s(times: np.ndarray, subjects: np.ndarray) -> float | None:
    """The median step of the subject whose steps are shortest. Subjects may have been recorded at times of their own."""
    of_subjects = [np.diff(np.unique(times[subjects == subject])) for subject in np.unique(subjects)]
    return min((float(np.median(steps)) for steps in of_subjects if len(steps)), default=None)


def alignment(series: list[dict[str, Any]]) -> dict[str, Any]:
    """What all series with a clock have in common: from when to when, UTC, and how far two of them may be apart, s."""
    known = [shown for shown in series if shown["starts"] and shown["points"] and SINCE not in shown["series"]]
    frame = pd.DataFrame(
        [
            {
                "begin": datetime.fromisoformat(shown["starts"]).replace(tzinfo=UTC).timestamp() + shown["first_s"],
                "end": datetime.fromisoformat(shown["starts"]).replace(tzinfo=UTC).timestamp() + shown["last_s"],
                "uncertainty": shown["uncertainty_s"],
            }
            for shown in known
        ]
    )
    without = [shown["series"] for shown in series if not shown["starts"]]
    if frame.empty:
        return {"from": None, "to": None, "uncertainty_s": None, "without_clock": without}
    begin, end = frame["begin"].max(), frame["end"].min()
    apart = sum(sorted(frame["uncertainty"])[-2:])
    return {
        "from": utc(begin) if end >= begin else None,
        "to": utc(end) if end >= begin else None,
        "uncertainty_s": float(apart),
        "without_clock": without,
    }
