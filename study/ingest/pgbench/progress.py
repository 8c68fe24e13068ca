"""Lines of progress of pgbench (`-P`): a series, and its transactions beside those of the summary."""

import itertools
import re

from study.ingest import text
from study.ingest.reading import Check, Clock, Quantity, Reading, Series, Source

LINE = re.compile(
    r"progress: (?P<t>[\d.]+) s, (?P<tps>[\d.]+) tps, lat (?P<lat>[\d.]+|NaN) ms stddev (?P<stddev>[\d.]+|NaN)"
    r"(?:, (?P<failed>\d+) failed)?(?:, lag (?P<lag>[\d.]+|NaN) ms)?(?:, (?P<skipped>\d+) skipped)?"
    r"(?:, (?P<retried>\d+) retried, (?P<retries>\d+) retries)?"
)
SERIES = "pgbench.progress"
LATE, TOO_LATE = 1.5, 5.0  # intervals: the first line may come late where clients connect for long, but not so late
EPOCH = 10**8  # s: a time of progress beyond this is no time since the start


def keep(reading: Reading, source: Source, rows: list[tuple[int, dict[str, str]]], is_shortened: bool) -> None:
    """The series of these lines: of each its number and the groups of LINE. `is_shortened`: `...` stands between them."""
    names = {
        "tps": Quantity("tps", "1/s", "rate"),
        "lat": Quantity("response.mean", "ms", "mean"),
        "stddev": Quantity("response.stddev", "ms", "deviation"),
        "failed": Quantity("failed", "transactions", "count"),
        "lag": Quantity("lag.mean", "ms", "mean"),
        "skipped": Quantity("skipped", "transactions", "count"),
        "retried": Quantity("retried", "transactions", "count"),
        "retries": Quantity("retries", "retries", "count"),
    }
    there = [name for name in names if any(row[name] is not None for _, row in rows)]
    times = [text.number(row["t"]) for _, row in rows]
    is_epoch = times[0] > EPOCH
    starts = times[0] if is_epoch else None
    clock = (
        Clock(starts, 0.001, "--progress-timestamp")
        if is_epoch
        else Clock(None, float("inf"), "progress counts from the start of the run")
    )
    series = Series(name=SERIES, quantities=[names[name] for name in there], clock=clock, file=source.name,
                    is_shortened=is_shortened)
    if is_shortened:
        reading.missing.append(text.SHORTENED.format("lines of progress"))
    for (n, row), t in zip(rows, times, strict=True):
        if series.times and t - (starts or 0.0) <= series.times[-1]:
            reading.refuse(source.name, n, "its time is not after that of the line before")
            continue
        series.add(t - (starts or 0.0), [float(row[name]) if row[name] is not None else float("nan") for name in there])
        reading.rows += 1
    reading.series.append(series)


def compare(reading: Reading) -> None:
    """Transactions of all lines of progress, which may lack the last one, against the summary."""
    totals = reading.printed("pgbench")
    of_summary = totals.get("tps", totals.get("tps.with_connecting", 0.0))
    for series in reading.series:
        if series.name != SERIES or not len(series.times):
            continue
        ends, rates = list(series.times), series.values[:: len(series.quantities)]
        spans = [later - earlier for earlier, later in itertools.pairwise(ends)]
        series.interval_s = min(spans, default=ends[0]) or None
        if len(spans) > 1 and ends[0] > TOO_LATE * max(spans):
            reading.problems.append(
                f"the first line of progress in {series.file} is of {ends[0]:g} s, and they are {max(spans):g} s apart at "
                "most, so its beginning is cut off"
            )
            continue
        if len(spans) > 1 and ends[0] > LATE * max(spans):
            reading.warnings.append(
                f"the first line of progress in {series.file} is of {ends[0]:g} s, and they are {max(spans):g} s apart at "
                "most. Clients connected for long, or its beginning is cut off. Its transactions are not compared"
            )
            continue
        if "processed" not in totals or not of_summary or series.interval_s is None or series.is_shortened:
            continue
        counted = sum(rate * span for rate, span in zip(rates, [ends[0] or series.interval_s, *spans], strict=True))
        slack = 0.05 * len(ends) + 0.005 * totals["processed"] + 0.1 * of_summary
        lost = 2.0 * series.interval_s * of_summary + slack
        reading.checks.append(
            Check(
                "transactions in lines of progress",
                counted,
                totals["processed"],
                "transactions",
                -slack <= totals["processed"] - counted <= lost,
                "the line of the last interval may be missing",
            )
        )
