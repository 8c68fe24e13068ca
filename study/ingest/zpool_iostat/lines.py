"""Lines of zpool iostat: times of reports, words between blanks or tabs, and numbers with a unit behind them."""

import itertools
import math
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import NamedTuple

from study.ingest import text
from study.ingest.reading import NO_CLOCK, Clock, Damaged, Reading, Source

BYTES = {"": 1, "B": 1} | {unit: 1024**power for power, unit in enumerate("KMGTPE", start=1)}
NANOSECONDS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
MAX_DIGITS = 25  # with the unit
VALUE = re.compile(r"(\d+(?:[.,]\d+)?)(ns|us|ms|s|[KMGTPE]?B?)")
DASHES = re.compile(r"(?=.*---)[- ]+")
EPOCH = re.compile(r"\d{9,10}")
DATE = re.compile(
    r"[A-Z][a-z]{2} [A-Z][a-z]{2} +\d{1,2} +\d{1,2}:\d{2}:\d{2} (?:(?:AM|PM) )?(?:([A-Z]{1,5}|[+-]\d{2}) )?\d{4}"
)


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
    return word == "-" or bool(VALUE.fullmatch(word))


def is_time(line: str) -> bool:
    return bool(EPOCH.fullmatch(line) or DATE.fullmatch(line))


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

    def _moment(self, line: str) -> float | None:
        """Seconds since 1970 if the line is a time."""
        shown = line.strip()
        if EPOCH.fullmatch(shown):
            return float(shown)
        if match := DATE.fullmatch(shown):
            zone = match[1] or ""
            self.zones.add(zone)
            self.has_zone = self.has_zone and zone in ("UTC", "GMT")
            words = [word for word in shown.split() if word != zone]
            form = "%a %b %d %I:%M:%S %p %Y" if words[-2] in ("AM", "PM") else "%a %b %d %H:%M:%S %Y"
            try:
                return datetime.strptime(" ".join(words), form).replace(tzinfo=UTC).timestamp()
            except ValueError:
                return None
        return None

    def lines(self) -> Iterator[Line]:
        """Lines of the file that are no times of reports, without empty ones. Raises Damaged."""
        report, at = 0, None
        for n, line in text.lines(self.source.path):
            if not line.strip():
                continue
            if (moment := self._moment(line)) is not None:
                report, at = report + 1, moment
                continue
            yield Line(n, line, line.split("\t") if "\t" in line.strip("\t") else line.split(), report, at)

    def cells(self, line: Line, words: list[str]) -> list[Cell] | None:
        """The numbers that words of a line show. None, and the line is refused, if one of them shows none."""
        try:
            return [_cell(word) for word in words]
        except ValueError as error:
            self.refuse(line, str(error))
            return None

    def refuse(self, line: Line, reason: str) -> None:
        self.reading.refuse(self.source.name, line.n, reason)

    def clock(self, stamps: list[float | None]) -> tuple[list[float], Clock]:
        """Seconds from the first of `stamps`, the times of all reports, and what says when that was. Raises Damaged."""
        known = [at for at in stamps if at is not None]
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
