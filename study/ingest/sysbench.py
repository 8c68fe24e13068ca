"""sysbench 0.4, 0.5, 1.0 and 1.1: summary, lines of `--report-interval`, histogram; oltp, fileio, cpu, memory and others.

Its percentiles come from a histogram whose bins grow by 2 %, so they are coarse. Its files have no time of day.
Format: src/sysbench.c, src/lua/internal/sysbench.sql.lua and src/tests of sysbench.
"""

import itertools
import math
import re
from pathlib import Path

from study.ingest import text
from study.ingest.reading import (
    CLOSED,
    OPEN,
    UNKNOWN,
    Bin,
    Damaged,
    Histogram,
    Quantity,
    Reading,
    Series,
    Source,
    refuse_several,
    slug,
)

TOOL = "sysbench"
BANNER = re.compile(r"sysbench v?\s*(\d+\.\d+(?:\.\d+)?)\b.*")
INTERVAL = re.compile(r"\[\s*(\d+(?:\.\d+)?)s\s*\] (.*)")
N = r"([\d.]+|-?nan|inf)"
RATE = re.compile(r"Target transaction rate: ([\d.]+)/sec")
PERCENTILE = re.compile(r"(?:lat|latency) \(ms, ?([\d.]+)%\): ([\d.]+)")
NO_PERCENTILE = "0"  # of --percentile=0: `(ms,0%): 0.00` in intervals and `0th percentile: 0.00` are no response times
COMMAS = re.compile(r"\d,\d")  # sysbench prints points in every locale
OLD = re.compile(
    rf"threads: (?P<threads>\d+), tps: {N.replace('(', '(?P<tps>', 1)}, reads(?:/s)?: (?P<reads>[\d.]+), "
    r"writes(?:/s)?: (?P<writes>[\d.]+), response time: (?P<lat>[\d.]+)ms \((?P<share>[\d.]+)%\)"
    r"(?:, errors: (?P<errors>[\d.]+), reconnects:\s+(?P<reconnects>[\d.]+))?.*"
)
PARTS = {
    "thds": ("threads", "threads", "instant"),
    "tps": ("tps", "1/s", "rate"),
    "qps": ("qps", "1/s", "rate"),
    "eps": ("eps", "1/s", "rate"),
    "err/s": ("errors", "1/s", "rate"),
    "reconn/s": ("reconnects", "1/s", "rate"),
    "reads": ("reads", "MiB/s", "rate"),
    "writes": ("writes", "MiB/s", "rate"),
    "fsyncs": ("fsyncs", "1/s", "rate"),
}
HISTOGRAM = re.compile(r"\s*([\d.]+) \|\**\s*(\d+)")
ROWS = [
    (re.compile(pattern), name, unit)
    for pattern, name, unit in (
        (r"\s+read:\s+(\d+)", "queries.read", "queries"),
        (r"\s+write:\s+(\d+)", "queries.write", "queries"),
        (r"\s+other:\s+(\d+)", "queries.other", "queries"),
        (r"\s+total:\s+(\d+)", "queries", "queries"),
        (r"\s+transactions:\s+(\d+)\s+\(", "transactions", "transactions"),
        (rf"\s+transactions:\s+\d+\s+\({N} per sec\.\)", "tps", "1/s"),
        (rf"\s+(?:queries|read/write requests):\s+\d+\s+\({N} per sec\.\)", "qps", "1/s"),
        (r"\s+(?:ignored errors|deadlocks):\s+(\d+)\s+\(", "errors", "errors"),
        (r"\s+reconnects:\s+(\d+)\s+\(", "reconnects", "1"),
        (r"\s+(?:total time|time elapsed):\s+([\d.]+)s", "elapsed", "s"),
        (r"\s+total number of events:\s+(\d+)", "events", "events"),
        (r"\s+total time taken by event execution:\s+([\d.]+)", "response.sum", "s"),
        (r"\s+min:\s+([\d.]+)(?:ms)?", "response.minimum", "ms"),
        (r"\s+avg:\s+([\d.]+)(?:ms)?", "response.mean", "ms"),
        (r"\s+max:\s+([\d.]+)(?:ms)?", "response.maximum", "ms"),
        (r"\s+sum:\s+([\d.]+)", "response.sum", "ms"),
        (r"\s+(?:events per second|events/s \(eps\)):\s+([\d.]+)", "eps", "1/s"),
        (r"\s+read:\s+IOPS=([\d.]+)", "reads", "1/s"),
        (r"\s+write:\s+IOPS=([\d.]+)", "writes", "1/s"),
        (r"\s+fsync:\s+IOPS=([\d.]+)", "fsyncs", "1/s"),
        (r"\s+read:\s+IOPS=[\d.]+ ([\d.]+) MiB/s", "read_bandwidth", "MiB/s"),
        (r"\s+write:\s+IOPS=[\d.]+ ([\d.]+) MiB/s", "write_bandwidth", "MiB/s"),
        (r"(?:Total operations|Operations performed): (\d+)", "operations", "operations"),
        (rf"(?:Total operations|Operations performed): \d+ \(\s*{N} (?:per second|ops/sec)\)", "operations.rate", "1/s"),
        (rf"{N} Mi?B transferred \({N} Mi?B/sec\)", "transferred", "MiB"),
        (r"Operations performed:\s+(\d+) Read", "requests.read", "requests"),
        (r"Operations performed:\s+\d+ Read, (\d+) Write", "requests.write", "requests"),
        (r"Operations performed:\s+\d+ Read, \d+ Write, (\d+) Other", "requests.other", "requests"),
        (r"Operations performed:.* = (\d+) Total", "requests", "requests"),
        (rf"\s*{N} Requests/sec executed", "requests.rate", "1/s"),
        (r"\s+reads/s:\s+([\d.]+)", "reads", "1/s"),
        (r"\s+writes/s:\s+([\d.]+)", "writes", "1/s"),
        (r"\s+fsyncs/s:\s+([\d.]+)", "fsyncs", "1/s"),
        (r"\s+read, MiB/s:\s+([\d.]+)", "read_bandwidth", "MiB/s"),
        (r"\s+written, MiB/s:\s+([\d.]+)", "write_bandwidth", "MiB/s"),
        (r"\s*events \(avg/stddev\):\s+([\d.]+)/", "events_of_a_thread.mean", "events"),
        (r"\s*events \(avg/stddev\):\s+[\d.]+/([\d.]+)", "events_of_a_thread.stddev", "events"),
    )
]
OLD_SIZES = {"b": 1.0, "Kb": 1024.0, "Mb": 1024.0**2, "Gb": 1024.0**3, "Tb": 1024.0**4}  # B, as 0.4 writes them
OLD_TRANSFER = re.compile(
    r"Read ([\d.]+)([KMGT]?b)\s+Written ([\d.]+)([KMGT]?b)\s+Total transferred ([\d.]+)([KMGT]?b)\s+"
    r"\(([\d.]+)([KMGT]?b)/sec\)"
)
OF_PERCENTILE = re.compile(r"\s+(?:approx\.\s+)?(\d+)(?:th)? percentile:\s+([\d.]+)(?:ms)?")
RUNNING = re.compile(r"Running the test.*")
SETTING = [
    (re.compile(r"Number of threads: (\d+)"), "threads"),
    (RATE, "rate"),
    (RUNNING, ""),
    (re.compile(r"Doing (.*) test"), "test"),
    (re.compile(r"Report intermediate results every (\d+) second\(s\)"), "report_interval_s"),
]
LONGEST = 500  # characters of a line of an interval
OF_11 = re.compile(r"\s+(?:events/s \(eps\):\s+|fsync:\s+IOPS=)[\d.]+")  # from 1.1 on, below Throughput
SUM = "sysbench.response.sum"
ONCE = {"elapsed", "events", "transactions", "fsyncs", "requests", "transferred"}  # two of them are of two runs
SUMMARIES = ("OLTP test statistics:", "SQL statistics:", "General statistics:", "File operations:", "Threads fairness:")
LAST = re.compile(r"\s+execution time \(avg/stddev\): +\d+\.\d{4}/\d+\.\d\d")  # the last line of all
# Lines of a summary that stand alone where the rest was left out.
ALONE = re.compile(rf"\s*(?:(?:transactions|queries|read/write requests):\s+\d+\s+\({N} per sec\.\)|"
                   r"(?:reads|writes|fsyncs)/s:\s+[\d.]+|(?:approx\.\s+)?\d+(?:th)? percentile:\s+[\d.]+(?:ms)?)\s*")
ENDS = {"elapsed": "total time", "events": "total number of events", "ends": "execution time of a thread"}
FATAL = re.compile(r"FATAL: .*")
CHECKPOINT = re.compile(r"\[\s*\d+s\s*\] Checkpoint report:")
PREPARING = re.compile(r"Creating (?:files for the test|table )|Inserting \d+ records |Removing test files|Dropping table ")


def kind(name: str, head: str) -> str | None:
    """"text" for an output of sysbench by its beginning, else None."""
    if any(BANNER.fullmatch(line.strip()) for line in head.splitlines()[:200]):
        return "text"
    rows = [line for line in head.splitlines() if line.strip()]
    is_interval = any(
        (match := INTERVAL.match(row)) and re.match(r"(thds|threads|reads|queue length)\b", match[2]) for row in rows
    )
    is_summary = any(row.strip() in SUMMARIES or OF_11.match(f" {row}") or ALONE.fullmatch(row) for row in rows)
    return "text" if is_interval or is_summary else None


def read(sources: list[Source], scratch: Path) -> Reading:
    """All that the output of one run says. Damaged if there are several."""
    refuse_several(sources)
    reading, source = Reading(tool=TOOL), sources[0]
    points: list[tuple[int, float, dict[str, tuple[float, str, str]]]] = []
    bins: list[tuple[float, float]] = []
    seen: set[str] = set()
    prepared, is_shortened, again = False, False, 0  # line of a second banner
    is_flush = _is_flush(source)
    for n, line in text.lines(source.path):
        line = line.rstrip()
        if match := BANNER.fullmatch(line.strip()):
            again = n if seen or points else 0  # `--version` and `prepare` stand above a run, `cleanup` below it
            reading.version = match[1]
        elif again and (RUNNING.match(line) or INTERVAL.fullmatch(line) or _is_row(line)):
            raise Damaged(f"a second run begins in line {again}; give each run by itself")
        elif FATAL.match(line):
            reading.problems.append(f"sysbench stopped with an error in line {n}: {line[:80]}")
        elif PREPARING.match(line):
            prepared = True
            reading.other_lines += 1
        elif points and "elapsed" not in seen and text.is_omission(line):
            is_shortened = True
            reading.other_lines += 1
        elif CHECKPOINT.fullmatch(line):
            raise Damaged(
                f"line {n} is a report of --report-checkpoints. Each of them, the last too, is of the time since the one "
                "before, so none is of the run. Record with --report-interval"
            )
        elif match := INTERVAL.fullmatch(line):
            _interval(reading, source, n, float(match[1]), match[2], points)
        elif line.lstrip().startswith("[") and not text.is_prompt(line):
            reading.refuse(source.name, n, "it begins as a line of an interval and does not go on so")
        elif match := HISTOGRAM.fullmatch(line):
            bins.append((text.number(match[1]), float(match[2])))
            reading.rows += 1
        else:
            _line(reading, source, n, f" {line}" if is_flush and _is_row(f" {line}") else line, seen)
    if prepared and not seen and not points:
        raise Damaged("it is of `sysbench prepare` or `cleanup`, which measure nothing; give that of `sysbench run`")
    _finish(reading, source, points, bins, seen, is_shortened)
    return reading


def _is_row(line: str) -> bool:
    """Whether a line is of a summary, and has a margin."""
    return line[:1].isspace() and any(pattern.match(line) for pattern in (OF_PERCENTILE, LAST, *(row[0] for row in ROWS)))


def _is_flush(source: Source) -> bool:
    """Whether whoever sent the output on has taken the margin off its rows. A line without one beside rows that have it is
    of somebody else, such as a script."""
    return text.margin(source.path) > 0 or not any(_is_row(line) for _, line in text.lines(source.path))


def _line(reading: Reading, source: Source, n: int, line: str, seen: set[str]) -> None:
    if COMMAS.search(line) and _is_row(line):
        reading.refuse(source.name, n, "its numbers have commas, but sysbench prints points")
        return
    known = False
    for pattern, name in SETTING:
        if match := pattern.fullmatch(line):
            known = True
            if name:
                reading.params[name] = match[1]
    for pattern, name, unit in ROWS:
        if match := pattern.match(line):
            known = True
            if name in seen & ONCE:
                raise Damaged(f"the summary of a second run stands in line {n} of {source.name}; give each run by itself")
            if name not in seen:
                seen.add(name)
                reading.total(f"sysbench.{name}", float(match[1]), unit)
                if name == "transferred":
                    reading.total("sysbench.bandwidth", float(match[2]), "MiB/s")
    if match := OLD_TRANSFER.fullmatch(line):
        known = True
        for name, place in (("read", 1), ("written", 3), ("transferred", 5), ("bandwidth", 7)):
            amount = float(match[place]) * OLD_SIZES[match[place + 1]] / OLD_SIZES["Mb"]
            reading.total(f"sysbench.{name}", amount, "MiB/s" if name == "bandwidth" else "MiB")
    if match := OF_PERCENTILE.match(line):
        known = True
        if match[1] != NO_PERCENTILE:
            reading.total(f"sysbench.response.p{_percentile(match[1])}", float(match[2]), "ms")
    if LAST.fullmatch(line):
        seen.add("ends")
    if OF_11.match(line):
        seen.add("1.1")
    reading.rows += known
    reading.other_lines += not known


def _interval(
    reading: Reading,
    source: Source,
    n: int,
    t: float,
    rest: str,
    points: list[tuple[int, float, dict[str, tuple[float, str, str]]]],
) -> None:
    values: dict[str, tuple[float, str, str]] = {}
    if match := re.fullmatch(r"queue length: (\d+), concurrency: (\d+)", rest):
        values = {
            "queue_length": (float(match[1]), "events", "instant"),
            "concurrency": (float(match[2]), "events", "instant"),
        }
    elif match := re.fullmatch(r"([\d.]+) MiB/sec.*", rest):
        values = {"bandwidth": (float(match[1]), "MiB/s", "rate")}
    elif match := OLD.fullmatch(rest):
        for name, unit, statistic in (
            ("threads", "threads", "instant"),
            ("tps", "1/s", "rate"),
            ("reads", "1/s", "rate"),
            ("writes", "1/s", "rate"),
            ("errors", "1/s", "rate"),
            ("reconnects", "1/s", "rate"),
        ):
            if match[name] is not None:
                values[name] = (float(match[name]), unit, statistic)
        values[f"response.p{_share(match['share'])}"] = (float(match["lat"]), "ms", "percentile")
    else:
        for name, value in () if len(rest) >= LONGEST else re.findall(rf"(\S+):? {N}(?=/s| |$)", rest.replace(":", "")):
            if name in PARTS:
                values[PARTS[name][0]] = (float(value), *PARTS[name][1:])
        if match := re.search(r"\(r/w/o: ([\d.]+)/([\d.]+)/([\d.]+)\)", rest):
            for part, value in zip(("reads", "writes", "others"), match.groups(), strict=True):
                values[f"queries.{part}"] = (float(value), "1/s", "rate")
        if (match := PERCENTILE.search(rest)) and match[1] != NO_PERCENTILE:
            values[f"response.p{_share(match[1])}"] = (float(match[2]), "ms", "percentile")
        whole = len(rest) < LONGEST and re.fullmatch(
            r"thds: .* reconn/s:? [\d.]+|thds: \d+ eps: .*\): [\d.]+|reads: .*\): [\d.]+", rest
        )
        if not values or not whole:
            reading.refuse(source.name, n, "it is no whole line of an interval")
            return
    reading.rows += 1
    if points and points[-1][1] == t:
        points[-1][2].update(values)
    elif points and points[-1][1] > t:
        reading.refuse(source.name, n, "its time is before that of the line before")
    else:
        points.append((n, t, values))


def _percentile(shown: str) -> str:
    """Some builds print several, and write 99.9 as 999th."""
    return shown if int(shown) <= 100 else f"{shown[:2]}_{shown[2:]}"


def _share(text_of: str) -> str:
    return slug(f"{float(text_of):g}".replace(".", "_"))


def _finish(
    reading: Reading,
    source: Source,
    points: list[tuple[int, float, dict[str, tuple[float, str, str]]]],
    bins: list[tuple[float, float]],
    seen: set[str],
    is_shortened: bool,
) -> None:
    totals = {total.name.removeprefix("sysbench."): total.value for total in reading.totals}
    if points:
        names = {
            name: Quantity(name, unit, statistic) for *_, values in points for name, (_, unit, statistic) in values.items()
        }
        series = Series(name="sysbench.intervals", quantities=list(names.values()), file=source.name,
                        interval_s=reading.setting("report_interval_s") or None, is_shortened=is_shortened)
        if is_shortened:
            reading.missing.append(text.SHORTENED.format("lines of intervals"))
        for _, t, values in points:
            series.add(t, [values[name][0] if name in values else math.nan for name in names])
        reading.series.append(series)
        _note_a_missing_head(reading, source, [t for _, t, _ in points])
        if "tps" in names and "transactions" in totals and "elapsed" in totals and not is_shortened:
            ends = [0.0, *(t for _, t, _ in points)]
            counted = sum(
                values["tps"][0] * (end - begin)
                for (_, end, values), begin in zip(points, ends, strict=False)
                if "tps" in values
            )
            left = max(totals["elapsed"] - ends[-1], 0.0) + 0.05 * ends[-1]
            reading.check(
                "transactions in lines of intervals",
                counted,
                totals["transactions"],
                "transactions",
                max(left * totals.get("tps", 0.0), 1.0) + 0.02 * totals["transactions"],
                "the run goes on for a moment after the last line",
            )
    if "transactions" in totals and "queries.read" not in totals:
        reading.missing.append("queries by kind: the lines above that of transactions are cut off")
    _histogram(reading, bins, totals)
    _sums(reading, totals)
    if not (seen >= {"elapsed", "events", "ends"} or seen >= {"1.1", "fsyncs", "response.sum"}):
        lacks = ", ".join(line for name, line in ENDS.items() if name not in seen)
        reading.problems.append(
            f"{source.name} has no end of its summary (missing: {lacks}), so the run did not end or the file is cut off"
        )
    of_version = "1.1" if "1.1" in seen else "1.0" if "ms" in {t.unit for t in reading.totals if t.name == SUM} else ""
    of_version = of_version or ("0.4" if "response.p95" in totals and "qps" not in totals and "ends" in seen else "")
    reading.dialect = reading.version[:3] or of_version
    has_settings = bool("threads" in reading.params or reading.version)
    reading.load = OPEN if "rate" in reading.params else CLOSED if has_settings else UNKNOWN
    if reading.load == UNKNOWN:
        reading.missing.append("whether a rate was given (--rate): the settings, which sysbench prints first, are cut off")
    if reading.load == CLOSED:
        reading.warnings.append(
            "the load is closed: a stall holds back the requests that would have shown it (coordinated omission)"
        )
    reading.missing.append("the time of day; --started gives it")


def _note_a_missing_head(reading: Reading, source: Source, times: list[float]) -> None:
    """sysbench prints at every interval, whatever it waits for, so the first line is at the end of the first one."""
    apart = min((later - earlier for earlier, later in itertools.pairwise(times)), default=0.0)
    if apart and times[0] > 1.5 * apart:
        reading.problems.append(
            f"the first line of an interval in {source.name} is of {times[0]:g} s, and they are {apart:g} s apart, so its "
            "beginning is cut off"
        )


def _histogram(reading: Reading, bins: list[tuple[float, float]], totals: dict[str, float]) -> None:
    if not bins:
        return
    made = [Bin(bins[n - 1][0] if n else 0.0, value, count) for n, (value, count) in enumerate(bins)]
    reading.histograms.append(
        Histogram(series="sysbench.response", subject="", t=math.nan, name="response", unit="ms", of="events", bins=made)
    )
    if "events" in totals:
        reading.check("events in the histogram", sum(count for _, count in bins), totals["events"], "events", 0)


def _sums(reading: Reading, totals: dict[str, float]) -> None:
    parts = [totals.get(f"queries.{part}") for part in ("read", "write", "other")]
    if None not in parts and "queries" in totals:
        reading.check("queries by kind", sum(part for part in parts if part is not None), totals["queries"], "queries", 0)
    if totals.get("elapsed") and "transactions" in totals and "tps" in totals:
        reading.check(
            "transactions per second",
            totals["transactions"] / totals["elapsed"],
            totals["tps"],
            "1/s",
            0.01 * totals["tps"] + 0.01,
            "sysbench divides by a time that it measures elsewhere",
        )
    if totals.get("events") and "response.sum" in totals and "response.mean" in totals:
        unit = next(total.unit for total in reading.totals if total.name == "sysbench.response.sum")
        mean = totals["response.sum"] * (1000 if unit == "s" else 1) / totals["events"]
        reading.check("mean response time", mean, totals["response.mean"], "ms", 0.006 + 0.005 * totals["response.mean"])
