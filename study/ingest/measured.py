"""What `study measure` adds to the output of pgbench: the rung, settings, the machine, and samples of each second.

    measured.json       {"study measure": 1, "run": {…}, "series": {"disk": {"columns", "units", "rows"}}}

A row is epoch_s, subject, and a value for each column; null where there is none.
"""

import json
import math
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from study.ingest import text
from study.ingest.reading import CLOSED, Clock, Damaged, Quantity, Reading, Series, Source
from study.project import write_atomically

TOOL = "measure"
FILE = "measured.json"
VERSION = 1
HEAD = '"study measure"'
STATISTICS = {"1/s": "rate", "B/s": "rate", "1": "share"}
SAMPLE_S = 0.1  # a moment is taken within this of its time


Name = Annotated[str, Field(pattern="^[a-z][a-z_]{0,39}$")]


class _Series(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    columns: list[Name] = Field(min_length=1, max_length=100)
    units: list[str]
    rows: list[list[float | str | None]]


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    version: int = Field(alias="study measure", ge=1, le=VERSION)
    run: dict[str, Any]
    series: dict[Name, _Series]


def write(path: Path, run: dict[str, Any], series: dict[str, Any]) -> None:
    """The file of one run."""
    write_atomically(path, json.dumps({"study measure": VERSION, "run": run, "series": series}, indent=None) + "\n")


def kind(name: str, head: str) -> str | None:
    """"measured" for a file of `study measure` by its beginning, else None."""
    return "measured" if head.lstrip().startswith("{" + HEAD) else None


def read(sources: list[Source], scratch: Path) -> Reading:
    """All that `study measure` noted of one run. Damaged if there are several files."""
    if len(sources) > 1:
        raise Damaged(f"{' and '.join(source.name for source in sources)} are of {len(sources)} runs; give each by itself")
    [source] = sources
    reading = Reading(tool=TOOL, load=CLOSED)
    try:
        content = _File.model_validate(text.parsed(text.whole(source.path), source.name))
    except ValidationError as error:
        first = error.errors()[0]
        raise Damaged(f"{source.name} is not what study measure writes ({'.'.join(map(str, first['loc']))})") from None
    reading.version = str(content.version)
    reading.params = {name: value for name, value in flat(content.run)}
    for name, given in content.series.items():
        if given.rows:
            reading.series.append(_series(reading, source, name, given))
    return reading


def flat(values: dict[str, Any], before: str = "") -> list[tuple[str, str | float | int | bool]]:
    """Nested names joined by dots."""
    rows: list[tuple[str, str | float | int | bool]] = []
    for name, value in values.items():
        if isinstance(value, dict):
            rows += flat(value, f"{before}{name}.")
        else:
            rows.append((f"{before}{name}", value if isinstance(value, bool | int | float) else str(value)))
    return rows


def _series(reading: Reading, source: Source, name: str, given: _Series) -> Series:
    if len(given.units) != len(given.columns):
        raise Damaged(f"series {name} has {len(given.columns)} columns and {len(given.units)} units")
    quantities = [Quantity(column, unit, STATISTICS.get(unit, "instant"))
                  for column, unit in zip(given.columns, given.units, strict=True)]
    starts = math.nan
    made = Series(name=f"measure.{name}", quantities=quantities, file=source.name, interval_s=1.0)
    for n, row in enumerate(given.rows, start=1):
        if len(row) != len(given.columns) + 2 or not isinstance(row[0], float | int) or not isinstance(row[1], str):
            reading.refuse(source.name, n, f"row {n} of series {name} is no time, subject and {len(given.columns)} values")
            continue
        starts = row[0] if math.isnan(starts) else starts
        values = [math.nan if value is None or isinstance(value, str) else float(value) for value in row[2:]]
        made.add(row[0] - starts, values, row[1])
        reading.rows += 1
    if not math.isnan(starts):
        made.clock = Clock(starts, SAMPLE_S, "the clock of the machine that was measured")
    return made
