"""The log of intervals of pgbench (`--aggregate-interval`): sums over an interval, a row for each thread and interval."""

import itertools
import re

from study.ingest import text
from study.ingest.reading import Check, Clock, Damaged, Quantity, Reading, Series, Source

ROW = re.compile(r"\d{9,10}(?: \d{1,30}){5,15}")
RELEASES = {6: "up to 14", 10: "up to 14", 11: "up to 14", 15: "15 to 18", 16: "19"}
NAMES = [  # of the columns behind the time
    "transactions",
    "response.sum",
    "response.sum_of_squares",
    "response.minimum",
    "response.maximum",
    "lag.sum",
    "lag.sum_of_squares",
    "lag.minimum",
    "lag.maximum",
    "skipped",
    "retried",
    "retries",
    "serialization_failures",
    "deadlock_failures",
    "other_failures",
]


def read(reading: Reading, sources: list[Source]) -> None:
    """All logs, one a thread, as a series, and their sum beside the summary. Raises Damaged."""
    rows = _rows(reading, sources)
    if not rows:
        return
    reading.rows += len(rows)
    reading.dialect = RELEASES[width := 1 + len(rows[0][2])]
    starts = min(start for start, *_ in rows)
    steps = [later - start for (start, thread, _), (later, other, _) in itertools.pairwise(rows) if thread == other]
    interval = min((step for step in steps if step > 0), default=1.0)
    quantities = [Quantity(name, *_unit(name)) for name in NAMES[: width - 1]]
    series = Series(
        name="pgbench.intervals",
        quantities=quantities,
        clock=Clock(starts, 1.0, "the log counts whole seconds since 1970"),
        file=sources[0].name,
        interval_s=interval,
    )
    for start, subject, values in sorted(rows):
        series.add(start - starts + interval, values, subject)
    reading.series.append(series)
    counted = sum(values[0] for *_, values in rows)
    reading.total("pgbench.intervals.transactions", counted, "transactions")
    if counted:
        reading.total("pgbench.intervals.response.mean", sum(values[1] for *_, values in rows) / counted / 1e3, "ms")
    reading.missing.append("percentiles: a log of intervals has sums, from which none can be had")
    _check_sum(reading, counted, interval)


def _rows(reading: Reading, sources: list[Source]) -> list[tuple[float, str, list[float]]]:
    """Rows of all threads: s since 1970, thread, values. All have as many. Raises Damaged."""
    rows: list[tuple[float, str, list[float]]] = []
    widths = set()
    for thread, source in enumerate(sources):
        text.note_a_cut(reading, source)
        for n, line in text.lines(source.path):
            words = line.split()
            if words and ROW.fullmatch(line.rstrip()) and len(words) in RELEASES:
                rows.append((float(words[0]), f"thread {thread}", [float(word) for word in words[1:]]))
                widths.add(len(words))
            elif words:
                reading.refuse(source.name, n, "it is no line of a log of intervals")
    if len(widths) > 1:
        raise Damaged(f"lines of {' and '.join(map(str, sorted(widths)))} columns stand in one log of intervals")
    return rows


def _check_sum(reading: Reading, counted: float, interval_s: float) -> None:
    """Transactions of all intervals beside those of the summary, which also has those of the last interval."""
    if "processed" in (totals := reading.printed("pgbench")):
        printed = totals["processed"]
        duration = reading.setting("duration_s") or (printed / totals["tps"] if totals.get("tps") else 0)
        max_lost = printed * min(1.0, 2 * interval_s / duration) if duration else printed
        reading.checks.append(
            Check(
                "transactions in the intervals",
                counted,
                printed,
                "transactions",
                0 <= printed - counted <= max_lost,
                "pgbench does not write the last interval",
            )
        )


def _unit(name: str) -> tuple[str, str]:
    quantity = name.rpartition(".")[2]
    if quantity == "sum_of_squares":
        return "us2", "sum"
    if quantity in ("sum", "minimum", "maximum"):
        return "us", quantity
    return ("retries" if name == "retries" else "transactions"), "count"
