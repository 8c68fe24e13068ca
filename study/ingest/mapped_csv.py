"""A CSV of the user's own, with a TOML file that says what its columns are.

    kind = "runs"                   # a row a benchmark run; or "series": a row a moment
    series = "my-runs"
    time = { column = "when", unit = "iso" }        # iso, epoch_s, epoch_ms, or s; of a series
    [columns]
    "tps" = { name = "database.tps", unit = "1/s", statistic = "rate" }

Columns that are not named are left out, and that is said. A `subject` column names what a row is of, such as a device.
"""

import csv
import itertools
import math
import re
import tomllib
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from study import errors
from study import tables as table_file
from study.errors import UserError
from study.given_files import TEXT, refuse_endless
from study.ingest import text
from study.ingest.reading import NO_CLOCK, STATISTICS, Clock, Damaged, Quantity, Reading, Series, Source
from study.runs.folder import NAME
from study.words import counted

TOOL = "CSV"
GIVE = "give a CSV with a header, and a row a line"
BEFORE_COMMENT = re.compile(r'(?:[^"#]|"[^"]*")*(?=#)')


class Column(BaseModel):
    """A column of numbers: its name, its unit, and which statistic it is."""
    model_config = ConfigDict(extra="forbid")
    name: str = Field(pattern=f"^{NAME.pattern}$")
    unit: str = Field(min_length=1)
    statistic: Literal[STATISTICS] = "mean"  # type: ignore[valid-type]


class Time(BaseModel):
    """The column of times, and how they are written."""
    model_config = ConfigDict(extra="forbid")
    column: str
    unit: Literal["iso", "epoch_s", "epoch_ms", "s"] = "iso"


class Mapping(BaseModel):
    """What the TOML file holds."""

    model_config = ConfigDict(extra="forbid")
    kind: Literal["runs", "series"]
    series: str = Field(pattern=f"^{NAME.pattern}$")
    time: Time | None = None
    subject: str | None = None
    load: Literal["open", "closed", "unknown"] = "unknown"
    columns: dict[str, Column] = Field(min_length=1)


def mapping(path: Path) -> Mapping:
    """The file, checked. Raises UserError with all that is wrong."""
    refuse_endless(path, TEXT)
    try:
        made = Mapping.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read {path} as TOML ({error}); mend it, or see docs/your-runs.md for an example") from None
    except ValidationError as error:
        complaints = [errors.of_value(".".join(map(str, wrong["loc"])), wrong) for wrong in error.errors()]
        raise UserError(f"{path}: {'; '.join(complaints)}") from None
    if made.kind == "series" and made.time is None:
        raise UserError(f"{path}: time is missing; a series needs the column of its time")
    names = [column.name for column in made.columns.values()]
    if len(set(names)) < len(names):
        raise UserError(f"{path}: two columns have the same name; give each its own")
    return made


def read(source: Source, given: Mapping) -> Reading:
    """The file as the mapping says: a series. Times of runs are their numbers. Raises Damaged."""
    numbers, short = _lines_of_rows(source)  # not text, or a line without an end, before anything reads it whole
    wanted = [*given.columns, *([given.time.column] if given.time else []), *([given.subject] if given.subject else [])]
    frame = _frame(source, len(numbers), wanted)
    reading = Reading(tool=TOOL, dialect=given.kind, load=given.load)
    if left_out := [str(name) for name in frame.columns if name not in wanted]:
        reading.missing.append(f"columns that the mapping does not name: {', '.join(left_out)}")
    rows = _rows(reading, source, given, frame, numbers, short)
    if not text.ends_with_a_line(source.path):  # many spreadsheets leave it so
        reading.warnings.append(f"the last line of {source.name} has no end; make sure that the file is not cut off")
    quantities = [Quantity(*column.__dict__.values()) for column in given.columns.values()]
    series = Series(name=f"csv.{given.series}", quantities=quantities, clock=NO_CLOCK, file=source.name)
    starts = 0.0
    if rows and given.time is not None and given.kind == "series" and given.time.unit != "s":
        starts = min(t for t, *_ in rows)  # the newest may stand first
        has_zone = given.time.unit != "iso" or _has_zone(str(frame[given.time.column].iloc[0]))
        source_of = f"the column {given.time.column}"
        series.clock = Clock(starts, 1.0, source_of if has_zone else f"{text.LOCAL} of {source_of}")
    for t, values, subject in rows:
        series.add(t - starts, values, subject)
    reading.rows = len(rows)
    reading.series.append(series)
    return reading


def _frame(source: Source, n_rows: int, wanted: list[str]) -> pd.DataFrame:
    """All columns as text. Raises Damaged if it has not so many rows, or lacks columns that are wanted."""
    try:
        frame = table_file.read(source.path, "the CSV", GIVE, text=True)
    except UserError as error:
        raise Damaged(str(error)) from None
    if len(frame) != n_rows:
        raise Damaged(f"{source.name} has {counted(n_rows, 'row')} by its lines and {len(frame)} by its values; "
                      "take out comments and what stands around the rows")
    if absent := [f"'{name}'" for name in wanted if name not in frame.columns]:
        raise Damaged(f"{source.name} has no column {' and no '.join(absent)}; it has "
                      f"{', '.join(map(str, frame.columns))[:200]}: name these in the mapping")
    return frame


def _rows(reading: Reading, source: Source, given: Mapping, frame: pd.DataFrame, numbers: array,
          short: dict[int, int]) -> list[tuple[float, list[float], str]]:
    """Time (s, or its number), values and subject of each row. A row that cannot be read is refused. Rows of the same time
    and subject are a problem. `numbers` and `short`: of `_lines_of_rows`."""
    rows: list[tuple[float, list[float], str]] = []
    moments: set[tuple[float, str, int]] = set()  # time, subject, column
    twice: list[int] = []  # lines
    times, subjects = (
        frame[name] if name else itertools.repeat("", len(frame))
        for name in (given.time.column if given.time else None, given.subject)
    )
    cells = zip(*(frame[name] for name in given.columns), strict=True)
    for nth, (n, shown, subject, row) in enumerate(zip(numbers, times, subjects, cells, strict=True)):
        if n in short:
            reading.refuse(source.name, n, f"{counted(short[n], 'value')} fewer than the header has names")
            continue
        try:
            t = (
                float(nth)
                if given.time is None or given.kind == "runs"
                else _time(shown, given.time.unit)
            )
            values = [text.number(cell.strip()) if cell.strip() else math.nan for cell in row]
        except ValueError as error:
            reading.refuse(source.name, n, str(error))
            continue
        mine = {(t, subject, column) for column, value in enumerate(values) if not math.isnan(value)}
        if mine & moments:
            twice.append(n)
        moments |= mine
        rows.append((t, values, subject))
    if twice:
        reading.problems.append(
            f"{source.name} has {counted(len(twice), 'row')} with the time of an earlier one, the first in line {twice[0]}. "
            "Name the column that tells them apart as subject in the mapping. If there is none, give times in finer steps, "
            "or with their zone (in autumn an hour comes twice)"
        )
    return rows


def _lines_of_rows(source: Source) -> tuple[array, dict[int, int]]:
    """In which line each row below the header ends, and how many values those that are short lack. Raises Damaged."""
    numbers, short, long = array("q"), {}, []
    reader = csv.reader(_bare_lines(source), skipinitialspace=True)
    try:
        separator = table_file.separator_of(next((row for row in reader if row), []))
        reader = csv.reader(_bare_lines(source), delimiter=separator, skipinitialspace=True)
        width = len(next((row for row in reader if row), []))
        for row in reader:
            if not row:
                continue
            numbers.append(reader.line_num)
            if len(row) < width:
                short[reader.line_num] = width - len(row)
            elif len(row) > width:
                long.append(reader.line_num)
    except csv.Error as error:
        raise Damaged(f"{source.name} is no CSV from line {reader.line_num} on ({error}); {GIVE}") from None
    if long:
        raise Damaged(f"{source.name} has {counted(len(long), 'row')} with more values than its header has names, the first "
                      f"in line {long[0]}; where numbers have decimal commas, put semicolons between columns")
    return numbers, short


def _bare_lines(source: Source) -> Iterator[str]:
    """Lines without comments, and blank ones empty."""
    opened = ""  # the mark of a quoted value that goes on in the next line
    for _, line in text.lines(source.path, as_written=True):
        if "#" in line and (match := BEFORE_COMMENT.match(opened + line)):
            line = match[0].removeprefix(opened)
        if line.count('"') % 2:
            opened = "" if opened else '"'
        yield line if line.strip(" ") else ""


def _has_zone(shown: str) -> bool:
    moment = text.epoch(shown)
    return moment is not None and moment[1]


def _time(shown: str, unit: str) -> float:
    """Raises ValueError."""
    if unit == "iso":
        moment = text.epoch(shown)
        if moment is None:
            raise ValueError(f"'{shown[:40]}' is no time in ISO 8601")
        return moment[0]
    return text.number(shown.strip()) * (0.001 if unit == "epoch_ms" else 1.0)


def samples(reading: Reading) -> pd.DataFrame:
    """Rows of runs as the store's table `samples` has them: columns run, name, value, unit."""
    table = reading.series[0].table().to_pandas()
    return pd.DataFrame(
        {"run": table["t"].astype(int), "name": table["name"], "value": table["value"], "unit": table["unit"]}
    )
