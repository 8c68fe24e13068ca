"""What fio prints for people (`--output-format=normal`, which is the default): of each job its I/Os, rates and times.

    2.x     write: io=1024.0MB, bw=26099KB/s, iops=101, runt= 40177msec         KB is 1024 B
    3.x     write: IOPS=490, BW=7842KiB/s (8030kB/s)(766MiB/100054msec)

Numbers are rounded to three or four digits, but for counts of I/Os and runtimes. So rates are made of these.
With `--status-interval` a job comes again under its process id, each time from its start, and the last counts.
Format: show_thread_status_normal in stat.c of fio.
"""

import re
from dataclasses import dataclass, field

from study.ingest import text
from study.ingest.fio.units import DIRECTIONS, OF_CLIENTS, TOGETHER, numbered
from study.ingest.reading import Damaged, Reading, Source, slug

BEGINS = re.compile(r"\s*(?:read|write|trim)\s*: (?:IOPS=|io=)")
BANNER = re.compile(r"fio-(\d\S*)")
STARTED = re.compile(r"\s*(?P<name>\S.*?): \(g=(?P<group>\d+)\): (?P<options>rw=.*)")
JOB = re.compile(
    r"\s*(?P<name>\S.*?): \(groupid=(?P<group>\d+), jobs=(?P<jobs>\d+)\): err= ?(?P<error>\d+)\b.*?: pid=(?P<pid>-?\d+).*"
)
NUMBER = r"[\d.]+(?:e[+-]?\d+)?"
SIZE = rf"{NUMBER}(?: ?[KMGTPkmgtp]?i?B|[KMGTP]i?)?"
NEW = re.compile(
    rf"\s*(?P<direction>read|write|trim)\s*: IOPS=(?P<iops>{NUMBER}[kMG]?), BW=(?P<bw>{SIZE})(?:/s)? \([^)]*\)\s*"
    rf"\((?P<moved>{SIZE})/(?P<ms>\d+)msec\).*"
)
OLD = re.compile(
    rf"\s*(?P<direction>read|write|trim)\s*: io=(?P<moved>{SIZE}), bw=(?P<bw>{SIZE})/s, iops=(?P<iops>{NUMBER}[kKMG]?)\s*, "
    r"runt=\s*(?P<ms>\d+)msec.*"
)
TIMES = re.compile(
    r"\s*(?P<what>slat|clat|lat|sync)\s*\((?P<unit>nsec|usec|msec|sec)\)\s*: min=\s*(?P<minimum>[\d.]+[kKMG]?), "
    r"max=\s*(?P<maximum>[\d.]+[kKMG]?), avg=\s*(?P<mean>[\d.]+[kKMG]?), stdev=\s*(?P<stddev>[\d.]+[kKMG]?)\s*"
)
OF_PERCENTILES = re.compile(r"\s*(?P<what>slat|clat|lat|sync) percentiles \((?P<unit>nsec|usec|msec|sec)\)\s*:.*")
PERCENTILE = re.compile(r"([\d.]+)th=\[\s*(\d+)\]")
SYNC = re.compile(r"\s*fsync/fdatasync/sync_file_range:\s*")
STATUS = re.compile(r"\s*Run status group (?P<group>\d+) \(.*")
OF_GROUP = re.compile(
    rf"\s*(?P<direction>READ|WRITE|TRIM): (?:bw=.*, )?io=(?P<moved>{SIZE})(?: \([^)]*\))?, (?P<old>aggrb=)?.*"
)
OF_HOSTS = re.compile(r"hostname=\S+, be=\d+, .*|<[^<>\s]+> \S+: \(g=\d+\): rw=.*")
ALL = "All clients"  # the sum of jobs of all hosts
MIXED = re.compile(r"\s*mixed\s*: (?:IOPS=|io=).*")
ISSUED = re.compile(r"\s*issued\s*(?:rwts?|rwt)?\s*: total=(?:r=(\d+)/w=(\d+)(?:/[td]=(\d+))?|(\d+),(\d+),(\d+)).*")
DISK = re.compile(r"\s*(?P<name>\S+): ios=(?P<read_ios>\d+)/(?P<write_ios>\d+),.* util=(?P<util>[\d.]+)%.*")
OPTIONS = re.compile(r"(rw|bs|ioengine|iodepth)=(.*?)(?:, (?=\w+=)|$)")
NAMES = {"slat": "submission", "clat": "completion", "lat": "response", "sync": "response"}
MS = {"nsec": 1e-6, "usec": 1e-3, "msec": 1.0, "sec": 1e3}
TENS = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}
POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5}


@dataclass
class Job:
    """A block of the output."""

    name: str
    group: str
    error: int
    rates: dict[str, re.Match[str]] = field(default_factory=dict)  # by direction
    times: dict[str, float] = field(default_factory=dict)  # ms, by direction.quantity.statistic
    issued: dict[str, float] = field(default_factory=dict)  # I/Os by direction


def is_of_people(head: str) -> bool:
    """Whether a beginning is of this form."""
    rows = [line.rstrip() for line in head.splitlines()]
    if any(shape.fullmatch(row) for row in rows for shape in (JOB, STARTED, NEW, OLD, STATUS)):
        return True
    return any(map(BANNER.fullmatch, rows)) and any(map(BEGINS.match, rows))    # the version alone is no output


def read(reading: Reading, source: Source) -> None:
    """All totals of the last report of each job. Raises Damaged."""
    jobs: dict[tuple[str, str], Job] = {}
    job: Job | None = None
    direction, percentiles, unit, again, group = "", "", 1.0, False, ""
    started: set[str] = set()       # groups
    moved: dict[tuple[str, str], float] = {}       # B, as printed of a group and direction
    ended: list[str] = []
    for n, line in text.lines(source.path):
        line = line.rstrip()
        if match := BANNER.fullmatch(line.strip()):
            if reading.version:
                raise Damaged(f"a second run begins in line {n} of {source.name}; give each run by itself")
            reading.version = match[1]
        elif OF_HOSTS.fullmatch(line):
            raise Damaged(OF_CLIENTS.format(source.name))
        elif match := STATUS.fullmatch(line):
            group, job = match["group"], None
            if group in ended and not again:
                raise Damaged(f"a second run ends in line {n} of {source.name}; give each run by itself")
            ended.append(group)
        elif group and (match := OF_GROUP.fullmatch(line)):
            moved[group, match["direction"].lower()] = _bytes(match["moved"], match["old"] is not None)
        elif job is not None and MIXED.fullmatch(line):
            reading.problems.append(TOGETHER.format(f"job {job.name}"))
        elif match := STARTED.fullmatch(line):
            started.add(match["group"])
            for name, value in OPTIONS.findall(match["options"]):
                reading.params[f"{slug(match['name'])}.{name}"] = value
        elif match := JOB.fullmatch(line):
            of_job = match["name"], match["pid"]
            if jobs and ALL in (match["name"], *(name for name, _ in jobs)):
                raise Damaged(OF_CLIENTS.format(source.name))
            again = again or of_job in jobs
            jobs[of_job] = job = Job(match["name"], match["group"], int(match["error"]))
            direction = percentiles = ""
            reading.params[f"{slug(match['name'])}.jobs"] = match["jobs"]
        elif job is not None and (match := NEW.fullmatch(line) or OLD.fullmatch(line)):
            direction = match["direction"]
            job.rates[direction] = match
            reading.rows += 1
        elif job is not None and SYNC.fullmatch(line):
            direction = "sync"
        elif job is not None and direction and (match := TIMES.fullmatch(line)):
            for statistic in ("minimum", "maximum", "mean", "stddev"):
                job.times[f"{direction}.{NAMES[match['what']]}.{statistic}"] = _tens(match[statistic]) * MS[match["unit"]]
        elif job is not None and direction and (match := OF_PERCENTILES.fullmatch(line)):
            percentiles, unit = f"{direction}.{NAMES[match['what']]}", MS[match["unit"]]
        elif job is not None and percentiles and line.lstrip().startswith("|"):
            for share, value in PERCENTILE.findall(line):
                job.times[f"{percentiles}.p{slug(f'{float(share):g}'.replace('.', '_'))}"] = float(value) * unit
        elif job is not None and (match := ISSUED.fullmatch(line)):
            counts = match.groups()[:3] if match[1] else match.groups()[3:]
            job.issued = {name: float(count) for name, count in zip(DIRECTIONS, counts, strict=True) if count}
        elif job is not None and BEGINS.match(line):
            reading.refuse(source.name, n, "it begins as I/Os of a job and does not go on so")
        elif match := DISK.fullmatch(line):
            for key, of_disk in (("read_ios", "requests"), ("write_ios", "requests"), ("util", "%")):
                reading.total(f"fio.disk_{slug(match['name'])}.{key}", float(match[key]), of_disk)
        else:
            reading.other_lines += 1
    _keep(reading, source, list(jobs.values()), bool(ended))
    if jobs:
        _compare_groups(reading, source, list(jobs.values()), started | set(ended), moved)
    if jobs and not ended:
        reading.missing.append("the status of groups, with which jobs could be compared; fio prints it at its end")
    if again:
        reading.warnings.append(f"{source.name} holds several reports of one run, each from its start; the last is read")


def _compare_groups(reading: Reading, source: Source, jobs: list[Job], groups: set[str],
                    moved: dict[tuple[str, str], float]) -> None:
    """Whether a job of each group is there, and whether all jobs of a group moved what it did."""
    if absent := sorted(groups - {job.group for job in jobs}, key=int):
        reading.problems.append(f"{source.name} has no result of jobs of group {', '.join(absent)}, so a part is missing")
    for (group, direction), printed in moved.items():
        parts = [_bytes(match["moved"], match.re == OLD) for job in jobs if job.group == group
                 if (match := job.rates.get(direction))]
        if group not in absent:
            reading.check(f"bytes of group {group}, {direction}", sum(parts), printed, "B",
                          0.01 * printed + 1024 * len(parts), "all are rounded")


def _keep(reading: Reading, source: Source, jobs: list[Job], has_status: bool) -> None:
    names: list[str] = []
    forms = {match.re for job in jobs for match in job.rates.values()}
    reading.dialect = f"for people, {'2.x' if forms == {OLD} else '3.x'}"
    reading.missing.append("the time of day; --started gives it")
    reading.warnings.append("output for people is rounded to three or four digits; prefer --output-format=json+")
    if not jobs:
        reading.problems.append(
            f"{source.name} has the status of groups alone, without results of jobs; give all that fio printed" if has_status
            else f"{source.name} has no result of a job, so the run did not end or the file is cut off")
    for job in jobs:
        name = numbered(slug(job.name), names)
        names.append(name)
        if job.error:
            reading.problems.append(f"job {job.name} ended with error {job.error}")
        elif not job.rates and not reading.refused and TOGETHER.format(f"job {job.name}") not in reading.problems:
            reading.problems.append(f"job {job.name} did no I/O")
        elif not job.issued:
            reading.problems.append(f"job {job.name} has no line of I/Os issued, so its end is missing")
        for direction, match in job.rates.items():
            _direction(reading, job, name, direction, match)
        for what, value in job.times.items():
            reading.total(f"fio.{name}.{what}", value, "ms")


def _direction(reading: Reading, job: Job, name: str, direction: str, match: re.Match[str]) -> None:
    seconds, is_old = float(match["ms"]) / 1000, match.re == OLD
    moved, bandwidth, iops = _bytes(match["moved"], is_old), _bytes(match["bw"], is_old), _tens(match["iops"])
    n = job.issued.get(direction)
    totals = [("bytes", moved, "B"), ("bandwidth", bandwidth, "B/s"), ("elapsed", seconds, "s")]
    totals.append(("iops", n / seconds if n is not None and seconds else iops, "1/s"))
    for key, value, unit in totals + ([("operations", n, "operations")] if n is not None else []):
        reading.total(f"fio.{name}.{direction}.{key}", value, unit)
    if seconds:
        reading.check(
            f"bandwidth of {job.name}, {direction}", moved / seconds, bandwidth, "B/s", 0.01 * bandwidth + 1024,
            "both are rounded",
        )
        if n is not None:
            reading.check(
                f"operations per second of {job.name}, {direction}", n / seconds, iops, "1/s", 0.01 * iops + 1,
                "fio rounds what it prints",
            )


def _tens(written: str) -> float:
    """A count or a time, with k, M or G for powers of 1000 behind it."""
    return text.number(written.rstrip("kKMG")) * TENS.get(written[-1], 1.0)


def _bytes(written: str, is_old: bool) -> float:
    """A size. Up to 2.x KB is 1024 B; from 3 on it is KiB, and kB is 1000 B."""
    match = re.fullmatch(rf"({NUMBER}) ?([KMGTPkmgtp]?)(i?)B?", written)
    assert match is not None
    return float(match[1]) * (1024 if is_old or match[3] else 1000) ** POWERS[(match[2] or "").upper()]
