"""Logs of fio: bandwidth, I/O rate and response times as series, and histograms of response times.

Times are in ms since the job began. With `log_unix_epoch` they are since 1970. With `log_alternate_epoch` they are of any
clock of the system, and then count from the first row. Without `per_job_logs` jobs follow each other in one file.
"""

import itertools
import math
import re

from study.ingest import text
from study.ingest.fio.units import BITS, DIRECTIONS
from study.ingest.reading import Bin, Clock, Damaged, Histogram, Quantity, Reading, Series, Source

LOG = re.compile(r"(?:.*/)?(?P<stem>[^/]*?)_(?P<what>bw|iops|lat|clat|slat)(?:\.(?P<job>\d+))?\.log")
HISTOGRAM = re.compile(r"(?:.*/)?(?P<stem>[^/]*?)_clat_hist(?:\.(?P<job>\d+))?\.log")
ROW = re.compile(r"\d+(?:, ?\d+|, ?0x[0-9a-f]+){3,8}")
GROUPS_OF_BINS = 29  # of clat histograms: FIO_IO_U_PLAT_GROUP_NR
EPOCH_MS = 1e11  # a time beyond this is since 1970: as one since a start it would be three years
FROM_NS = (2, 99)  # the first version whose logs are in ns
LOGGED = {
    "bw": ("bandwidth", "KiB/s", "rate"),
    "iops": ("iops", "1/s", "rate"),
    "lat": ("response", "ns", "mean"),
    "clat": ("completion", "ns", "mean"),
    "slat": ("submission", "ns", "mean"),
}


def read(reading: Reading, sources: list[Source], clock: Clock) -> None:
    """Rows as series, and histograms. `clock` is when the jobs began. Raises Damaged."""
    first_ms, clock = _origin(reading, sources, clock)
    _rows(reading, [source for source in sources if source.kind == "log"], first_ms, clock)
    _histograms(reading, [source for source in sources if source.kind == "histogram"], first_ms)


def _origin(reading: Reading, sources: list[Source], clock: Clock) -> tuple[float, Clock]:
    """From which ms on times count, and when that was. Raises Damaged."""
    firsts = [float(match[0]) for source in sources for _, line in _first(source) if (match := re.match(r"\d{1,18}", line))]
    of_epoch = [first > EPOCH_MS for first in firsts]
    if any(of_epoch):
        if not all(of_epoch):
            raise Damaged("some of its logs count from 1970 and some from the start of a job; they are of two runs")
        return min(firsts), Clock(min(firsts) / 1000, 0.001, "times since 1970 in fio's logs (log_unix_epoch)")
    if firsts and any(name.endswith(".log_alternate_epoch") and value != "0" for name, value in reading.params.items()):
        reading.missing.append("the time of day of fio's logs: log_alternate_epoch chose a clock that does not tell it")
        return min(firsts), Clock(None, math.inf, "the clock that log_alternate_epoch names; times count from the first row")
    return 0.0, clock


def _first(source: Source) -> list[tuple[int, str]]:
    return list(itertools.islice(text.lines(source.path), 1))


def _rows(reading: Reading, sources: list[Source], first_ms: float, clock: Clock) -> None:
    """One series a quantity; subjects are job and direction. Without `log_avg_msec` a row is one I/O."""
    series: dict[str, Series] = {}
    of_ns = _is_of_ns(reading)
    for source in sources:
        match = LOG.fullmatch(source.name)
        assert match is not None
        if not source.path.stat().st_size:
            continue
        text.note_a_cut(reading, source)
        name, unit, statistic = LOGGED[match["what"]]
        made = series.setdefault(
            match["what"],
            Series(name=f"fio.{name}", quantities=[Quantity(name, unit if of_ns or unit != "ns" else "us", statistic)],
                   clock=clock, file=source.name),
        )
        width, job, last_ms = None, int(match["job"] or 1), [0.0] * len(DIRECTIONS)
        for n, line in text.lines(source.path):
            words = [word.strip() for word in line.split(",")]
            if not ROW.fullmatch(line.strip()) or int(words[2]) >= len(DIRECTIONS) or width not in (None, len(words)):
                reading.refuse(source.name, n, "it is no row of a log of fio")
                continue
            width, ms, direction = len(words), float(words[0]), int(words[2])
            if match["job"] is None and ms < last_ms[direction]:
                job, last_ms = job + 1, [0.0] * len(DIRECTIONS)
            last_ms[direction] = ms
            made.add((ms - first_ms) / 1000, [float(words[1])], f"{match['stem']}.{job}/{DIRECTIONS[direction]}")
            reading.rows += 1
        if match["job"] is None and job > 1:
            reading.warnings.append(f"{source.name} holds rows of {job} jobs in turn; time going back tells them apart")
    if any(LOGGED[what][1] == "ns" for what in series) and not reading.version:
        reading.missing.append(
            "the version of fio: response times in its logs are taken as ns, as from 3.0 on; before they were us"
        )
    reading.series += list(series.values())


def _is_of_ns(reading: Reading) -> bool:
    match = re.match(r"(\d+)\.(\d+)", reading.version)
    return match is None or (int(match[1]), int(match[2])) >= FROM_NS


def _histograms(reading: Reading, sources: list[Source], first_ms: float) -> None:
    """ms, direction, block size, and a count for each bin, 64 a power of two and the first ones of 1 ns."""
    for source in sources:
        match = HISTOGRAM.fullmatch(source.name)
        assert match is not None
        text.note_a_cut(reading, source)
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
                    t=(float(words[0]) - first_ms) / 1000,
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
