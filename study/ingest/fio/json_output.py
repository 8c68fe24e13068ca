"""JSON and JSON+ of fio: totals of each job and direction, percentiles, bins, and when the run was."""

import itertools
import json
import math
import re
from typing import Any

from study.ingest import text
from study.ingest.fio.units import BITS, DIRECTIONS, KIB, OF_CLIENTS, PHANTOM, TOGETHER, numbered
from study.ingest.reading import CLOSED, NO_CLOCK, OPEN, Bin, Clock, Damaged, Histogram, Reading, Source, slug

DOCUMENT = re.compile(r"^[\s\[,]*(\{)", re.MULTILINE)     # where one begins, also in a list; not within a notice
NEXT = re.compile(r"[\s\[\],]*(\{)")         # where the next begins, right behind one
NAN = re.compile(r"(?<=: )-?nan\b")        # as C prints it, of what was not measured
ROUNDING_S = 2.0       # by which times of reports, each in whole s, may differ
FAILED = re.compile(r"fio: (?:pid=\d+, )?err=(?:\d+).*|fio: .*failed.*")


def read(reading: Reading, source: Source) -> Clock:
    """All numbers of the last report, and when its jobs began. Raises Damaged."""
    content = NAN.sub("NaN", text.whole(source.path))
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
    """The last JSON object, what stands before the first, and how many there are. Damaged if they are of several runs."""
    decoder, documents = json.JSONDecoder(), []
    match = DOCUMENT.search(content)
    if match is None:
        raise Damaged(f"{name} has no JSON")
    before = content[: match.start(1)].rstrip("[ \n")
    while match is not None:
        try:
            document, end = decoder.raw_decode(content, match.start(1))
        except (ValueError, RecursionError):
            raise Damaged(f"{name} is cut off or damaged: no whole JSON begins at character {match.start(1) + 1}") from None
        documents.append(document)
        match = NEXT.match(content, end) or DOCUMENT.search(content, end)
    if isinstance(documents[-1], dict) and "client_stats" in documents[-1]:
        raise Damaged(OF_CLIENTS.format(name))
    if not isinstance(documents[-1], dict) or "jobs" not in documents[-1]:
        raise Damaged(f"the last JSON of {name} has no jobs")
    for earlier, later in itertools.pairwise(documents):
        if not _is_continued(earlier, later):
            raise Damaged(f"{name} holds outputs of several runs, each a JSON of its own; give each run by itself")
    return documents[-1], before, len(documents)


def _is_continued(earlier: Any, later: Any) -> bool:
    """Whether the second is a later report of the same run, as --status-interval makes them: no job has another name or did
    less, and the time of day went on by as much as the time of the run."""
    try:
        pairs = list(zip(earlier["jobs"], later["jobs"], strict=False))
        return len(earlier["jobs"]) <= len(later["jobs"]) and _is_clock_of_one_run(earlier, later) and all(
            job.get("jobname") == again.get("jobname") and job.get("job_start", 0) in (0, again.get("job_start", 0))
            and all(job.get(direction, {}).get("total_ios", 0) <= again.get(direction, {}).get("total_ios", 0)
                    for direction in DIRECTIONS) for job, again in pairs)
    except (KeyError, TypeError, AttributeError):
        return True     # what is no report of fio is told when it is read


def _is_clock_of_one_run(earlier: dict[str, Any], later: dict[str, Any]) -> bool:
    """Whether `timestamp` and `elapsed` went on together. Without them only `job_start` tells."""
    times = [(float(report["timestamp"]), max(float(job["elapsed"]) for job in report["jobs"]))
             for report in (earlier, later) if "timestamp" in report and all("elapsed" in job for job in report["jobs"])
             and report["jobs"]]
    if len(times) < 2:
        return any(job.get("job_start") for job in earlier["jobs"])
    (began, ran), (at, has_run) = times
    return abs((at - began) - (has_run - ran)) <= ROUNDING_S


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
            "the load is closed: a job waits for one of its I/Os before it sends another. So a stall holds "
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
        names.append(numbered(slug(str(job["jobname"])), names))
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
    _times(reading, f"fio.{name}.sync.response", *_latency(job.get("sync", {}), "lat"))
    if "mixed" in job:
        reading.problems.append(TOGETHER.format(f"job {job['jobname']}"))
    elif not operations and not job.get("error"):
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
        sum(each.value for each in bins),
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
