"""All files of one run of pgbench: which they are, whether they belong together, and which release and load they are of."""

import re
from collections import defaultdict
from pathlib import Path

from study.ingest.pgbench import aggregate_log, progress, summary, transaction_log
from study.ingest.reading import CLOSED, OPEN, Damaged, Reading, Source

TOOL = "pgbench"


def kind(name: str, head: str) -> str | None:
    """Which file of pgbench this is by its name and its beginning, or None."""
    rows = [line for line in head.splitlines()[:50] if line.strip()]
    if rows and sum(bool(transaction_log.ROW.fullmatch(row)) for row in rows[:5]) * 2 > len(rows[:5]):
        return "log"
    if (
        rows
        and sum(bool(aggregate_log.ROW.fullmatch(row)) for row in rows[:5]) * 2 > len(rows[:5])
        and (len(rows[0].split()) in aggregate_log.RELEASES)
    ):
        return "aggregate"
    if not rows and re.fullmatch(r".*\.\d+(\.\d+)?", name) and "log" in name:
        return "empty log"
    if summary.PROCESSED in head or any(row.startswith("pgbench: error") or summary.BANNER.match(row) for row in rows):
        return "text"
    if any(progress.LINE.match(row) for row in rows) and "tps, lat" in head:
        return "text"
    return "command" if len(rows) == 1 and summary.COMMAND.fullmatch(rows[0]) else None


def read(sources: list[Source], scratch: Path) -> Reading:
    """All that the files of one run say. Damaged if they are of several runs."""
    reading = Reading(tool=TOOL)
    texts = [source for source in sources if source.kind in ("text", "command")]
    summaries = [source.name for source in texts if summary.read(reading, source)]
    if len(summaries) > 1:
        raise Damaged(
            f"{' and '.join(summaries)} are summaries of {len(summaries)} runs; a run has one, so give each by itself"
        )
    if not summaries:
        reading.missing.append("the summary of pgbench, with which counts and response times could be compared")
    logs = [source for source in sources if source.kind in ("log", "empty log")]
    aggregates = [source for source in sources if source.kind == "aggregate"]
    if logs and aggregates:
        logs = [source for source in logs if source.kind == "log"]
    of_lag = "lag.mean" in reading.printed("pgbench") or "rate" in reading.params
    limited = int(reading.setting("max_tries", 1)) != 1
    is_known = bool(summaries) or "command" in reading.params
    columns = transaction_log.Columns(of_lag, limited) if is_known else transaction_log.Columns(None, None)
    _threads(reading, logs or aggregates)
    if logs:
        transaction_log.read(reading, logs, columns, scratch)
    if aggregates:
        aggregate_log.read(reading, aggregates)
    progress.compare(reading)
    _dialect(reading)
    _load(reading, of_lag or _has_lag(reading), is_known)
    return reading


def _threads(reading: Reading, logs: list[Source]) -> None:
    """pgbench_log.PID, .PID.1 … a thread each: whether all are there."""
    groups: dict[str, set[int]] = defaultdict(set)
    for source in logs:
        match = re.fullmatch(r"(.*\.\d+)\.(\d+)", source.name)
        groups[match[1] if match else source.name].add(int(match[2]) if match else 0)
    if len(groups) > 1:
        raise Damaged(
            f"logs of {len(groups)} runs stand beside each other ({', '.join(sorted(groups))}); give those of each "
            "by themselves"
        )
    for stem, there in groups.items():
        wanted = max(max(there) + 1, int(reading.setting("threads", 1)))
        absent = sorted(set(range(wanted)) - there)
        if absent:
            files = ", ".join(stem if n == 0 else f"{stem}.{n}" for n in absent[:5])
            reading.problems.append(f"{len(absent)} of {wanted} logs of threads are missing ({files})")


def _dialect(reading: Reading) -> None:
    """Which releases write so. Without a version the numbers of the summary tell."""
    of_version = re.match(r"\d+", reading.version)
    printed = reading.printed(TOOL).keys()
    if of_version:
        major = int(of_version[0])
        reading.dialect = "up to 13" if major <= 13 else "14" if major == 14 else "15 to 18" if major <= 18 else "19"
    elif "failed" in printed:
        reading.dialect = reading.dialect or "15 or later"
    elif {"tps", "tps.with_connecting"} <= printed:
        reading.dialect = reading.dialect or "up to 13"


def _has_lag(reading: Reading) -> bool:
    """Whether lines of progress show how late transactions began, as they do at a given rate."""
    return any("lag.mean" in {quantity.name for quantity in series.quantities}
               for series in reading.series if series.name == progress.SERIES)


def _load(reading: Reading, is_open: bool, is_known: bool) -> None:
    """Whether transactions arrive by themselves (`-R`) or a client waits for each, and what that hides."""
    if is_open:
        reading.load = OPEN
    elif is_known:
        reading.load = CLOSED
        reading.warnings.append(
            "the load is closed: each client waits for its answer. So a stall holds back the requests that would have shown "
            "it, and response times beyond it are too few (coordinated omission)"
        )
    if reading.load == OPEN and reading.printed(TOOL).get("skipped"):
        reading.warnings.append("skipped transactions have no response time; the slowest are missing from it")
