"""Lines of zpool iostat: times of reports, words between blanks or tabs, and numbers with a unit behind them."""

import itertools
import math
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import NamedTuple

from study.ingest import folded, text
from study.ingest.around import Around
from study.ingest.reading import NO_CLOCK, Clock, Damaged, Reading, Source

BYTES = {"": 1, "B": 1} | {unit: 1024**power for power, unit in enumerate("KMGTPE", start=1)}
NANOSECONDS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
MIN_VALUES = 5  # so many numbers has any row of a report or a histogram
MAX_DIGITS = 25  # with the unit
VALUE = re.compile(r"(\d+(?:[.,]\d+)?)(ns|us|ms|s|[KMGTPE]?B?)")
TABLE = folded.Table(
    heading=re.compile(r"\s*(?:pool|vdev)\s+alloc\b|(?:latency|req_size)\s"),
    words=["alloc", "free", "read", "write", "wait", "pend", "activ", "ind", "agg", "scrub", "trim", "rebuild"],
    above=re.compile(r"\s*capacity\b|\S+\s+(?:total_wait|sync_read)\b"),
)
HEADINGS = ("capacity", "pool", "vdev", "latency", "req_size")
DASHES = re.compile(r"(?=.*---)[- ]+")
EPOCH = re.compile(r"\d{9,10}")
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
ANY_DATE = re.compile(r"[^\d\s].*\b\d{1,2}:\d{2}:\d{2}\b.*|.*\b\d{1,2}:\d{2}:\d{2}\b.* \d{4}")  # in any language
DATES = [  # how -T d writes a time in the locales C, en_GB and en_US
    re.compile(pattern)
    for pattern in (
        r"[A-Z][a-z]+ (?P<month>[A-Z][a-z]{2}) +(?P<day>\d{1,2}) +(?P<time>\d{1,2}:\d{2}:\d{2})(?: (?P<half>AM|PM))?"
        r"(?: (?P<zone>[A-Z]{1,5}|[+-]\d{2,4}))? (?P<year>\d{4})",
        r"[A-Z][a-z]+ +(?P<day>\d{1,2}) (?P<month>[A-Z][a-z]{2}) (?P<time>\d{1,2}:\d{2}:\d{2})(?: (?P<half>AM|PM))?"
        r"(?: (?P<zone>[A-Z]{1,5}|[+-]\d{2,4}))? (?P<year>\d{4})",
        r"[A-Z][a-z]+ +(?P<day>\d{1,2}) (?P<month>[A-Z][a-z]{2}) (?P<year>\d{4}) (?P<time>\d{1,2}:\d{2}:\d{2})"
        r"(?: (?P<half>AM|PM))?(?: (?P<zone>[A-Z]{1,5}|[+-]\d{2,4}))?",
    )
]


class Cell(NamedTuple):
    """A number as it was shown. A dash is NaN."""

    value: float  # B, ns, or a count
    is_raw: bool  # a whole number without a unit


def _cell(word: str) -> Cell:
    """The number that a word shows. Raises ValueError."""
    if word == "-":
        return Cell(math.nan, True)
    match = VALUE.fullmatch(word)
    if not match or len(word) > MAX_DIGITS:
        raise ValueError(f"'{word[:30]}' is no number of zpool iostat")
    amount = text.number(match[1])
    unit = match[2].rstrip("B") if len(match[2]) > 1 else match[2]
    return Cell(amount * (NANOSECONDS | BYTES)[unit], not match[2])


def is_value(word: str) -> bool:
    """Whether a word is a number with or without a unit, or - for none."""
    return word == "-" or bool(VALUE.fullmatch(word))


def is_time(line: str) -> bool:
    """Whether a line is the time of a report: seconds since 1970, or a date."""
    return bool(EPOCH.fullmatch(line)) or date(line) is not None


def date(line: str) -> tuple[float, str] | None:
    """Seconds since 1970 of a time of -T d, as if it were UTC, and its zone. None if it is none."""
    match = next((match for pattern in DATES if (match := pattern.fullmatch(line.strip()))), None)
    if match is None or match["month"] not in MONTHS:
        return None
    clock = f"{match['time']} {match['half']}" if match["half"] else match["time"]
    form = "%Y %m %d %I:%M:%S %p" if match["half"] else "%Y %m %d %H:%M:%S"
    try:
        moment = datetime.strptime(f"{match['year']} {MONTHS.index(match['month']) + 1} {match['day']} {clock}", form)
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC).timestamp(), match["zone"] or ""


def is_heading(line: str) -> bool:
    """Whether a line is one of those above a table or a histogram."""
    words = line.split()
    return words[0] in HEADINGS or bool({"total_wait", "sync_read"} & set(words[:2]))


def is_row(line: str) -> bool:
    """Whether a line may be a time, a rule below a heading, or a row."""
    words, shown = line.split(), line.strip()
    return (len(words) > MIN_VALUES and all(map(is_value, words[1:]))) or any(
        pattern.fullmatch(shown) for pattern in (DASHES, EPOCH, ANY_DATE)
    )


class Line(NamedTuple):
    """A line with data or a heading."""

    n: int
    shown: str
    words: list[str]
    report: int  # how many times of reports stand before it
    at: float | None  # the last of them, s since 1970


class Lines:
    """The lines of a file, and the times of its reports."""

    def __init__(self, reading: Reading, source: Source) -> None:
        self.reading, self.source, self.has_zone, self.zones = reading, source, True, set[str]()
        self.command: list[str] | None = None  # its words, where it stands above

    def _moment(self, line: str) -> float | None:
        """Seconds since 1970 if the line is a time."""
        shown = line.strip()
        if EPOCH.fullmatch(shown):
            return float(shown)
        if (seen := date(shown)) is not None:
            self.zones.add(seen[1])
            self.has_zone = self.has_zone and seen[1] in ("UTC", "GMT")
            return seen[0]
        return None

    def lines(self) -> Iterator[Line]:
        """Lines of the file that are no times of reports, without empty ones. Raises Damaged."""
        report, at, has_data = 0, None, False
        around = Around(self.reading, self.source, "zpool iostat", is_heading, is_row)
        for n, line in folded.lines(self.source.path, TABLE):
            if not line.strip() or around.passes_over(n, line):
                continue
            if (command := text.command_of(line, "zpool iostat")) is not None:
                if has_data:
                    raise Damaged(f"a second run begins in line {n} of {self.source.name}; give each run by itself")
                self.command = command
                self.reading.params["command"] = " ".join(["zpool iostat", *command])
                continue
            if text.is_prompt(line):
                self.reading.other_lines += 1
                continue
            has_data = has_data or sum(map(is_value, line.split())) >= MIN_VALUES
            if (moment := self._moment(line)) is not None:
                report, at = report + 1, moment
                continue
            if ANY_DATE.fullmatch(line.strip()):
                raise Damaged(
                    f"line {n} of {self.source.name} is a time, '{line.strip()[:40]}', of a language that is not read here; "
                    "record with LC_ALL=C and -T u"
                )
            yield Line(n, line, line.split("\t") if "\t" in line.strip("\t") else line.split(), report, at)

    def n_numbers(self, line: Line) -> int | None:
        """How many numbers stand below a heading; None for another line."""
        return len(line.words) - 1 if TABLE.heading.match(line.shown) else None

    def cells(self, line: Line, words: list[str]) -> list[Cell] | None:
        """The numbers that words of a line show. None, and the line is refused, if one of them shows none."""
        try:
            return [_cell(word) for word in words]
        except ValueError as error:
            self.refuse(line, str(error))
            return None

    def refuse(self, line: Line, reason: str) -> None:
        """A line that is not read is noted with its reason."""
        self.reading.refuse(self.source.name, line.n, reason)

    def of_interval(self) -> bool:
        """Whether the first report, too, is of an interval, as the command with -y says."""
        return text.has_option(self.command or [], "y")

    def clock(self, stamps: list[float | None]) -> tuple[list[float], Clock]:
        """Seconds from the first of `stamps`, the times of all reports, and what says when that was. Raises Damaged."""
        known = [at for at in stamps if at is not None]
        if not known and (interval := text.interval_of(self.command or [])) is not None:
            self.reading.missing.append(
                f"times of the reports in {self.source.name}; they are {interval:g} s apart, as the command says"
            )
            return [interval * n for n in range(len(stamps))], NO_CLOCK
        if len(known) != len(stamps) or not known:
            self.reading.missing.append(
                f"times of the reports in {self.source.name}, and with them the interval; they are numbered, "
                "and a second is assumed between two; record with -T u"
            )
            return [float(n) for n in range(len(stamps))], NO_CLOCK
        if any(later < earlier for earlier, later in itertools.pairwise(known)):
            raise Damaged(f"times of {self.source.name} do not go forward")
        if not self.zones:
            source = "-T u, whole seconds since 1970"
        elif self.has_zone:
            source = "-T d, whole seconds in UTC"
        else:
            source = f"{text.LOCAL} of -T d, zone {', '.join(sorted(self.zones)) or 'not given'}, which names no offset"
        return [at - known[0] for at in known], Clock(known[0], 1.0, source)
