"""What an importer hands over: numbers with their units, and how sure one may be of them.

    Total       a number of the whole run
    Series      numbers over time; the time of a point is the end of the interval that it is of
    Histogram   how many operations took how long
    Check       what was counted beside what the tool itself printed
    Refused     a line that should hold data and could not be read

Statistics say what may be done with a number. A rate, a count and a sum may be added up, a mean weighted. A percentile
may be neither added nor averaged.
"""

import math
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa

STATISTICS = ("count", "rate", "sum", "mean", "deviation", "percentile", "minimum", "maximum", "instant", "share")
OPEN, CLOSED, UNKNOWN = "open", "closed", "unknown"  # whether load arrives by itself, or waits for answers
MAX_S = 1e9  # s, 30 years: beyond this a time is none
MAX_REFUSED = 100  # lines that are named; all are counted
POINTS = pa.schema(
    [
        ("series", pa.string()),
        ("subject", pa.string()),
        ("t", pa.float64()),
        ("name", pa.string()),
        ("value", pa.float64()),
        ("unit", pa.string()),
        ("statistic", pa.string()),
    ]
)
BINS = pa.schema(
    [
        ("series", pa.string()),
        ("subject", pa.string()),
        ("t", pa.float64()),
        ("name", pa.string()),
        ("low", pa.float64()),
        ("high", pa.float64()),
        ("value", pa.float64()),
        ("unit", pa.string()),
        ("of", pa.string()),
    ]
)
TRANSACTIONS = pa.schema(
    [
        ("utc", pa.timestamp("us")),
        ("response_us", pa.int64()),
        ("client", pa.int64()),
        ("script", pa.string()),
        ("outcome", pa.string()),
        ("lag_us", pa.int64()),
        ("retries", pa.int64()),
    ]
)


class Damaged(Exception):
    """A file, or a part of it, cannot be what its tool wrote: a sentence without its beginning."""


class Quantity(NamedTuple):
    """What a column of numbers is of."""
    name: str
    unit: str  # "" where it has none
    statistic: str  # of STATISTICS


class Total(NamedTuple):
    """A number of the whole run."""
    name: str  # subject.quantity
    value: float
    unit: str


class Check(NamedTuple):
    """A number that the file prints, against the same counted from its rows."""
    name: str
    counted: float
    printed: float
    unit: str
    agrees: bool
    note: str = ""  # why the two may differ


class Refused(NamedTuple):
    """A line that was not read, and why."""
    file: str
    line: int  # from 1; 0 where a file has none
    reason: str


class Clock(NamedTuple):
    """When the seconds of a series begin."""

    starts: float | None  # s since 1970, UTC; None where nothing says it
    uncertainty_s: float  # s to either side
    source: str  # what says so


NO_CLOCK = Clock(None, math.inf, "the file has no time of day")


@dataclass
class Series:
    """Rows of the same quantities. A value that a row lacks is NaN, and is left out."""

    name: str
    quantities: Sequence[Quantity]
    clock: Clock = NO_CLOCK
    file: str = ""
    interval_s: float | None = None
    is_shortened: bool = False  # `...` stands for some of its rows, left out by whoever sent it on
    times: array = field(default_factory=lambda: array("d"))
    values: array = field(default_factory=lambda: array("d"))
    subjects: array = field(default_factory=lambda: array("q"))
    codes: dict[str, int] = field(default_factory=dict)

    def add(self, t: float, values: Sequence[float], subject: str = "") -> None:
        """A row at `t` [s]. Damaged if it has another number of columns, or a time that no run lasts."""
        if len(values) != len(self.quantities):
            raise Damaged(f"{len(values)} values for {len(self.quantities)} columns")
        if not abs(t) < MAX_S:
            raise Damaged(f"a time of {t:g} s, which no run lasts")
        self.times.append(t)
        self.values.extend(values)
        self.subjects.append(self.codes.setdefault(subject, len(self.codes)))

    def table(self) -> pa.Table:
        """A row a value."""
        width, n = len(self.quantities), len(self.times)
        values = np.frombuffer(self.values, np.float64).reshape(n, width) if n else np.empty((0, width))
        rows, columns = np.nonzero(np.isfinite(values))
        names = list(self.codes)
        parts = {
            "series": _repeated(np.zeros(len(rows), np.int32), [self.name]),
            "subject": _repeated(np.array(self.subjects, np.int32)[rows] if n else rows, names),
            "t": pa.array(np.array(self.times)[rows] if n else np.empty(0), pa.float64()),
            "name": _repeated(columns, [quantity.name for quantity in self.quantities]),
            "value": pa.array(values[rows, columns], pa.float64()),
            "unit": _repeated(columns, [quantity.unit for quantity in self.quantities]),
            "statistic": _repeated(columns, [quantity.statistic for quantity in self.quantities]),
        }
        return pa.table(parts).cast(POINTS)


def _repeated(codes: np.ndarray, names: Sequence[str]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(names, pa.string()))


class Bin(NamedTuple):
    """How much was counted from `low` up to `high`."""
    low: float
    high: float
    value: float


class Histogram(NamedTuple):
    """A histogram as a tool prints it, at one time."""
    series: str
    subject: str
    t: float  # s; NaN for the whole run
    name: str  # of the quantity
    unit: str  # of low and high
    of: str  # what is counted, and whether per second
    bins: Sequence[Bin]


@dataclass
class Reading:
    """All that one importer read of its files."""

    tool: str
    dialect: str = ""
    version: str = ""
    load: str = UNKNOWN
    params: dict[str, str | float | int | bool] = field(default_factory=dict)
    totals: list[Total] = field(default_factory=list)
    named: set[str] = field(default_factory=set)  # names of these
    series: list[Series] = field(default_factory=list)
    histograms: list[Histogram] = field(default_factory=list)
    transactions: list[Path] = field(default_factory=list)  # Parquet files with the columns of TRANSACTIONS
    checks: list[Check] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)  # the first MAX_REFUSED of them
    n_refused: int = 0
    problems: list[str] = field(default_factory=list)  # the run, or its recording, is not whole
    missing: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    rows: int = 0  # of data, that were read
    begins: float | None = None  # s since 1970, UTC: the first that is known of the run
    other_lines: int = 0  # that hold no data: banners, notices, blanks

    def total(self, name: str, value: float, unit: str) -> None:
        """Raises Damaged where there is one of that name."""
        if name in self.named:
            raise Damaged(f"its number {name} stands there twice")
        if math.isfinite(value):
            self.named.add(name)
            self.totals.append(Total(name, value, unit))

    def printed(self, subject: str) -> dict[str, float]:
        """Totals by their names without `subject` in front."""
        return {total.name.removeprefix(f"{subject}."): total.value for total in self.totals}

    def setting(self, name: str, default: float = 0.0) -> float:
        """A parameter as a number; 0 where it is none, `default` where the file does not have it."""
        try:
            return float(str(self.params.get(name, default)))
        except ValueError:
            return 0.0

    def refuse(self, file: str, line: int, reason: str) -> None:
        """A line that is not read is counted, and kept with its reason up to a limit."""
        self.n_refused += 1
        if len(self.refused) < MAX_REFUSED:
            self.refused.append(Refused(file, line, reason))

    def check(self, name: str, counted: float, printed: float, unit: str, tolerance: float, note: str = "") -> None:
        """`tolerance` is in the unit of the two numbers."""
        self.checks.append(Check(name, counted, printed, unit, abs(counted - printed) <= tolerance, note))


class Source(NamedTuple):
    """A file to be read, and as what."""

    path: Path
    name: str  # as the user knows it: below the folder that was given
    kind: str  # of the kinds of its importer


def refuse_several(outputs: Sequence[Source]) -> None:
    """Raises Damaged where a tool that writes one output a run has more."""
    if len(outputs) > 1:
        names = " and ".join(source.name for source in outputs)
        raise Damaged(f"{names} are outputs of {len(outputs)} runs; a run has one, so give each by itself")


class Importer(Protocol):
    """A module of this package."""

    TOOL: str

    def kind(self, name: str, head: str) -> str | None:
        """What a file is that begins with `head`, in a word; None if it is not of this tool."""

    def read(self, sources: list[Source], scratch: Path) -> Reading:
        """All files of one run. Large tables go to Parquet files in the folder `scratch`. Raises Damaged."""


def mean_of(values: Iterable[float]) -> float:
    """The mean of all finite values; NaN if there are none."""
    kept = [value for value in values if math.isfinite(value)]
    return sum(kept) / len(kept) if kept else math.nan


def slug(text: str) -> str:
    """A part of a name in the run store: lower case, and nothing but letters, digits, - and _."""
    made = "".join(letter if (letter.isascii() and letter.isalnum()) or letter in "-_" else "_" for letter in text.lower())
    return made.lstrip("-_") or "unnamed"
