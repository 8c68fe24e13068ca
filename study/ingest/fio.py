"""fio 2.0.10 to 3.42: JSON and JSON+, terse, and the logs of bandwidth, response time, I/O rate and histograms.

    json    text may stand before the first brace; of several documents (--status-interval) the last counts
    terse   `--minimal`, versions 3 to 5; response times in us
    log     NAME_bw.N.log and others: ms, value, direction, block size, and what later versions add

In `clat_ns` (from 2.99 on) times are in ns, in `clat` before it in us. `bw` is in KiB/s. `timestamp` is the end of the run.
`group_reporting` merges jobs into the first one and leaves a job without a name, which is passed over.
Formats: HOWTO.rst and stat.c of fio.
"""

import json
import math
import re
from pathlib import Path
from typing import Any

from study.ingest import text
from study.ingest.reading import (
    CLOSED,
    NO_CLOCK,
    OPEN,
    Bin,
    Clock,
    Damaged,
    Histogram,
    Quantity,
    Reading,
    Series,
    Source,
    slug,
)

TOOL = "fio"
LOG = re.compile(r"(?:.*/)?(?P<stem>[^/]*?)_(?P<what>bw|iops|lat|clat|slat)(?:\.(?P<job>\d+))?\.log")
HISTOGRAM = re.compile(r"(?:.*/)?(?P<stem>[^/]*?)_clat_hist(?:\.(?P<job>\d+))?\.log")
ROW = re.compile(r"\d+(?:, ?\d+|, ?0x[0-9a-f]+){3,8}")
DIRECTIONS = ("read", "write", "trim")
PHANTOM = 2**32 - 1  # group of the job that group_reporting leaves
TERSE = re.compile(r"(3|4|5);fio-([^;]*);([^;]*);(\d+);(-?\d+);")
FAILED = re.compile(r"fio: (?:pid=\d+, )?err=(?:\d+).*|fio: .*failed.*")
KIB = 1024
GROUPS_OF_BINS, BITS = 29, 6  # of clat histograms: FIO_IO_U_PLAT_GROUP_NR, FIO_IO_U_PLAT_BITS
FROM_NS = (2, 99)  # the first version whose logs are in ns


def kind(name: str, head: str) -> str | None:
    if HISTOGRAM.fullmatch(name) and (not head.strip() or re.match(r"\d+, \d+, ", head)):
        return "histogram"
    if LOG.fullmatch(name) and (not head.strip() or ROW.fullmatch(head.splitlines()[0].strip())):
        return "log"
    if '"fio version"' in head:
        return "json"
    if any(TERSE.match(line) for line in head.splitlines()):
        return "terse"
    return "failed" if any(FAILED.fullmatch(line) for line in head.splitlines()[:5]) else None


def read(sources: list[Source], scratch: Path) -> Reading:
    reading = Reading(tool=TOOL)
    outputs = [source for source in sources if source.kind in ("json", "terse", "failed")]
    if len(outputs) > 1:
        raise Damaged(
            f"{' and '.join(source.name for source in outputs)} are outputs of {len(outputs)} runs; a run has one, so "
            "give each by itself"
        )
    clock = NO_CLOCK
    for source in outputs:
        if source.kind == "json":
            clock = _json(reading, source)
        elif source.kind == "terse":
            _terse(reading, source)
        else:
            reading.problems.append(f"{source.name} holds nothing but an error of fio")
    if not outputs:
        reading.missing.append("fio's JSON, which has the totals, the version and the time of the run")
    _logs(reading, [source for source in sources if source.kind == "log"], clock)
    _histogram_logs(reading, [source for source in sources if source.kind == "histogram"], clock)
    return reading


# --- JSON -------------------------------------------------------------------------------------------------------------


def _json(reading: Reading, source: Source) -> Clock:
    content = text.whole(source.path)
    document, before, n_documents = _last_document(content, source.name)
    for line in before.splitlines():
        if FAILED.fullmatch(line.strip()):
            reading.problems.append(f"fio says in {source.name}: {line.strip()[:100]}")
        elif line.strip():
            reading.other_lines += 1
    if n_documents > 1:
        reading.warnings.append(
            f"{source.name} holds {n_documents} reports of one run, each from its start; the last is read"
        )
    try:
        reading.version = str(document["fio version"]).removeprefix("fio-")
        jobs = [job for job in document["jobs"] if job.get("jobname") and job.get("groupid") != PHANTOM]
        phantoms = len(document["jobs"]) - len(jobs)
        reading.dialect = _dialect(jobs, content)
        _options(reading, document, jobs, phantoms)
        names = _names_of_jobs(jobs)
        longest = 0.0
        for name, job in zip(names, jobs, strict=True):
            longest = max(longest, _job(reading, source, name, job))
        for disk in document.get("disk_util", []):
            for key, unit in (("read_ios", "requests"), ("write_ios", "requests"), ("util", "%")):
                if key in disk:
                    reading.total(f"fio.disk_{slug(str(disk['name']))}.{key}", float(disk[key]), unit)
        return _clock(document, jobs, longest)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise Damaged(f"{source.name} is not what fio writes ({type(error).__name__}: {str(error)[:40]})") from None


def _last_document(content: str, name: str) -> tuple[dict[str, Any], str, int]:
    """The last JSON object, what stands before the first, and how many there are."""
    decoder, place, documents, before = json.JSONDecoder(), content.find("{"), [], ""
    if place < 0:
        raise Damaged(f"{name} has no JSON")
    before = content[:place]
    while place >= 0:
        try:
            document, end = decoder.raw_decode(content, place)
        except (ValueError, RecursionError):
            raise Damaged(f"{name} is cut off or damaged: no whole JSON begins at character {place + 1}") from None
        documents.append(document)
        place = content.find("{", end)
    if not isinstance(documents[-1], dict) or "jobs" not in documents[-1]:
        raise Damaged(f"the last JSON of {name} has no jobs")
    return documents[-1], before, len(documents)


def _dialect(jobs: list[dict[str, Any]], content: str) -> str:
    has_bins = any("bins" in _latency(job.get(direction, {}), "clat")[0] for job in jobs for direction in DIRECTIONS)
    form = "json+" if has_bins else "json"
    unit = "ns" if '_ns"' in content else "us"
    return f"{form}, times in {unit}"


def _options(reading: Reading, document: dict[str, Any], jobs: list[dict[str, Any]], phantoms: int) -> None:
    options: dict[str, Any] = dict(document.get("global options", {}))
    for job in jobs:
        options |= job.get("job options", {})
        for name, value in job.get("job options", {}).items():
            reading.params[f"{slug(str(job['jobname']))}.{slug(str(name))}"] = str(value)
    for name, value in document.get("global options", {}).items():
        reading.params[f"global.{slug(str(name))}"] = str(value)
    paced = any(name.startswith("rate") and name not in ("rate_cycle", "ratemin") for name in options)
    poisson = str(options.get("rate_process", "")) == "poisson"
    reading.load = OPEN if paced and poisson else CLOSED
    if reading.load == CLOSED:
        reading.warnings.append(
            "the load is closed: a job waits for one of its I/Os before it sends another, so a stall holds "
            "back those that would have shown it (coordinated omission)"
        )
    if phantoms:
        reading.warnings.append(
            f"group_reporting merged jobs: {phantoms} without a name is passed over, and the options shown "
            "are those of the first job alone"
        )


def _names_of_jobs(jobs: list[dict[str, Any]]) -> list[str]:
    names: list[str] = []
    for job in jobs:
        name, n = slug(str(job["jobname"])), 2
        while name in names:
            name, n = f"{slug(str(job['jobname']))}-{n}", n + 1
        names.append(name)
    return names


def _latency(part: dict[str, Any], what: str) -> tuple[dict[str, Any], float]:
    """A section such as clat, and how many ns its unit has."""
    return (part[f"{what}_ns"], 1.0) if f"{what}_ns" in part else (part.get(what, {}), 1000.0)


def _job(reading: Reading, source: Source, name: str, job: dict[str, Any]) -> float:
    """Its totals; how long it ran, s."""
    if job.get("error"):
        reading.problems.append(f"job {job['jobname']} ended with error {job['error']}")
    longest, operations = 0.0, 0.0
    for direction in DIRECTIONS:
        part = job.get(direction, {})
        n = float(part.get("total_ios", 0) or 0)
        if not n:
            continue
        operations += n
        stem = f"fio.{name}.{direction}"
        runtime = float(part["runtime"]) / 1000
        longest = max(longest, runtime)
        moved = float(part["io_bytes"]) * (1 if _io_is_bytes(part) else KIB)
        bandwidth = float(part.get("bw_bytes", part["bw"] * KIB))
        for key, value, unit in (
            ("operations", n, "operations"),
            ("bytes", moved, "B"),
            ("bandwidth", bandwidth, "B/s"),
            ("iops", float(part["iops"]), "1/s"),
            ("elapsed", runtime, "s"),
        ):
            reading.total(f"{stem}.{key}", value, unit)
        reading.rows += 1
        if runtime:
            reading.check(
                f"bandwidth of {job['jobname']}, {direction}", moved / runtime, bandwidth, "B/s", 0.01 * bandwidth + KIB
            )
            reading.check(
                f"operations per second of {job['jobname']}, {direction}",
                n / runtime,
                float(part["iops"]),
                "1/s",
                0.01 * float(part["iops"]) + 0.01,
            )
        for what, shown in (("slat", "submission"), ("clat", "completion"), ("lat", "response")):
            section, scale = _latency(part, what)
            _times(reading, f"{stem}.{shown}", section, scale)
        section, scale = _latency(part, "clat")
        if section.get("N"):
            reading.check(
                f"completions measured of {job['jobname']}, {direction}",
                float(section["N"]),
                n,
                "operations",
                0.001 * n + float(part.get("short_ios", 0) or 0) + 1,
                "fio leaves out a few at its start and end",
            )
        if "bins" in section:
            _bins(reading, name, direction, section, scale)
    if not operations and not job.get("error"):
        reading.problems.append(f"job {job['jobname']} did no I/O")
    return longest


def _io_is_bytes(part: dict[str, Any]) -> bool:
    """Up to 2.x `io_bytes` held KiB."""
    if "io_kbytes" in part:
        return True
    bandwidth, runtime = float(part["bw"]) * KIB, float(part["runtime"]) / 1000
    return not runtime or float(part["io_bytes"]) > 32 * bandwidth * runtime / KIB


def _times(reading: Reading, stem: str, section: dict[str, Any], scale: float) -> None:
    if not section or not float(section.get("max", 0)):
        return
    for key, name in (("min", "minimum"), ("max", "maximum"), ("mean", "mean"), ("stddev", "stddev")):
        if key in section:
            reading.total(f"{stem}.{name}", float(section[key]) * scale / 1e6, "ms")
    for share, value in section.get("percentile", {}).items():
        percent = f"{float(share):g}".replace(".", "_")
        reading.total(f"{stem}.p{slug(percent)}", float(value) * scale / 1e6, "ms")


def _bins(reading: Reading, name: str, direction: str, section: dict[str, Any], scale: float) -> None:
    """Each value stands for a bin; its width is that of the group that it lies in: 64 bins for each power of two."""
    bins = []
    for value, count in sorted((float(value), float(count)) for value, count in section["bins"].items()):
        half = 0.5 if value < 2**BITS else 2.0 ** (math.floor(math.log2(value)) - BITS) / 2
        bins.append(Bin((value - half) * scale, (value + half) * scale, count))
    reading.histograms.append(
        Histogram(series="fio.completion", subject=f"{name}/{direction}", t=math.nan, name="completion", unit="ns",
                  of="operations", bins=bins)
    )
    reading.check(
        f"completions in the bins of {name}, {direction}",
        sum(one.value for one in bins),
        float(section["N"]),
        "operations",
        0,
    )


def _clock(document: dict[str, Any], jobs: list[dict[str, Any]], longest_s: float) -> Clock:
    starts = [float(job["job_start"]) / 1000 for job in jobs if "job_start" in job]
    if starts:
        return Clock(min(starts), 0.01, "job_start of fio")
    if "timestamp" not in document:
        return NO_CLOCK
    end = float(document.get("timestamp_ms", float(document["timestamp"]) * 1000)) / 1000
    return Clock(end - longest_s, 2.0, "fio's time of the end less the longest job; starting and ending take the rest")


# --- terse ------------------------------------------------------------------------------------------------------------


def _terse(reading: Reading, source: Source) -> None:
    """Only totals: read KiB, bandwidth, I/O rate and runtime stand in columns 6 to 9, writes in 47 to 50."""
    if not text.ends_with_a_line(source.path):
        reading.problems.append(f"the last line of {source.name} has no end, so the file is cut off")
    for n, line in text.lines(source.path):
        match = TERSE.match(line)
        if not match:
            reading.other_lines += 1
            continue
        words = line.split(";")
        reading.version, reading.dialect = match[2], f"terse {match[1]}"
        if int(match[4]) == PHANTOM or not match[3]:
            continue
        if int(match[5]):
            reading.problems.append(f"job {match[3]} ended with error {match[5]}")
        for direction, first in (("read", 5), ("write", 46)):
            try:
                kib, bandwidth, iops, runtime = (text.number(word) for word in words[first : first + 4])
            except ValueError:
                reading.refuse(source.name, n, f"columns {first + 1} to {first + 4} are no four numbers")
                continue
            if runtime and kib:
                stem = f"fio.{slug(match[3])}.{direction}"
                for key, value, unit in (
                    ("bytes", kib * KIB, "B"),
                    ("bandwidth", bandwidth * KIB, "B/s"),
                    ("iops", iops, "1/s"),
                    ("elapsed", runtime / 1000, "s"),
                ):
                    reading.total(f"{stem}.{key}", value, unit)
                reading.check(
                    f"bandwidth of {match[3]}, {direction}", kib / runtime * 1000, bandwidth, "KiB/s", 0.01 * bandwidth + 1
                )
        reading.rows += 1
    reading.warnings.append(
        "terse output has fewer numbers than JSON, and its columns depend on the version; prefer --output-format=json+"
    )


# --- logs -------------------------------------------------------------------------------------------------------------

LOGGED = {
    "bw": ("bandwidth", "KiB/s", "rate"),
    "iops": ("iops", "1/s", "rate"),
    "lat": ("response", "ns", "mean"),
    "clat": ("completion", "ns", "mean"),
    "slat": ("submission", "ns", "mean"),
}


def _logs(reading: Reading, sources: list[Source], clock: Clock) -> None:
    """One series a quantity; subjects are job and direction. Without `log_avg_msec` a row is one I/O."""
    series: dict[str, Series] = {}
    of_ns = _is_of_ns(reading)
    for source in sources:
        match = LOG.fullmatch(source.name)
        assert match is not None
        if not source.path.stat().st_size:
            continue
        if not text.ends_with_a_line(source.path):
            reading.problems.append(f"the last line of {source.name} has no end, so the file is cut off")
        name, unit, statistic = LOGGED[match["what"]]
        made = series.setdefault(
            match["what"],
            Series(name=f"fio.{name}", quantities=[Quantity(name, unit if of_ns or unit != "ns" else "us", statistic)],
                   clock=clock, file=source.name),
        )
        width = None
        for n, line in text.lines(source.path):
            words = [word.strip() for word in line.split(",")]
            if not ROW.fullmatch(line.strip()) or int(words[2]) >= len(DIRECTIONS) or width not in (None, len(words)):
                reading.refuse(source.name, n, "it is no row of a log of fio")
                continue
            width = len(words)
            made.add(
                float(words[0]) / 1000, [float(words[1])], f"{match['stem']}.{match['job'] or 1}/{DIRECTIONS[int(words[2])]}"
            )
            reading.rows += 1
    if any(unit == "ns" for what in series for unit in (LOGGED[what][1],)) and not reading.version:
        reading.missing.append(
            "the version of fio: response times in its logs are taken as ns, as from 3.0 on; before they were us"
        )
    reading.series += list(series.values())


def _is_of_ns(reading: Reading) -> bool:
    match = re.match(r"(\d+)\.(\d+)", reading.version)
    return match is None or (int(match[1]), int(match[2])) >= FROM_NS


def _histogram_logs(reading: Reading, sources: list[Source], clock: Clock) -> None:
    """ms, direction, block size, and a count for each bin, 64 a power of two and the first ones of 1 ns."""
    for source in sources:
        match = HISTOGRAM.fullmatch(source.name)
        assert match is not None
        if not text.ends_with_a_line(source.path):
            reading.problems.append(f"the last line of {source.name} has no end, so the file is cut off")
        width = None
        for n, line in text.lines(source.path):
            words = [word.strip() for word in line.split(",")]
            if (
                len(words) < 10
                or not all(word.isdigit() and len(word) < 20 for word in words)
                or width not in (None, len(words))
                or (int(words[1]) >= len(DIRECTIONS))
            ):
                reading.refuse(source.name, n, "it is no row of a histogram log of fio")
                continue
            width = len(words)
            coarseness = _coarseness(len(words) - 3)
            if coarseness is None:
                raise Damaged(f"{source.name} has {len(words) - 3} bins, which no version of fio writes")
            subject = f"{match['stem']}.{match['job'] or 1}/{DIRECTIONS[int(words[1])]}"
            bins = [Bin(*_bin(n_bin, coarseness), float(word)) for n_bin, word in enumerate(words[3:]) if word != "0"]
            reading.histograms.append(
                Histogram(
                    series="fio.completion_log",
                    subject=subject,
                    t=float(words[0]) / 1000,
                    name="completion",
                    unit="ns" if _is_of_ns(reading) else "us",
                    of="operations",
                    bins=bins,
                )
            )
            reading.rows += 1


def _coarseness(n_bins: int) -> int | None:
    """How often pairs of bins were merged, of 29 or 19 groups of 64."""
    for groups in (GROUPS_OF_BINS, 19):
        for times in range(7):
            if n_bins == (groups << BITS) >> times:
                return times
    return None


def _bin(n: int, coarseness: int) -> tuple[float, float]:
    first, last = n << coarseness, (n + 1) << coarseness
    return _edge(first), _edge(last)


def _edge(n: int) -> float:
    """Where bin n begins: to 128 each is of 1, then 64 for each power of two."""
    group, place = divmod(n, 1 << BITS)
    if group <= 1:
        return float(n)
    return float(((1 << BITS) + place) << (group - 1))
