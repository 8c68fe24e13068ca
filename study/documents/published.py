"""Published measurements, `data/published/<document>.toml`, as runs with tidy metrics.

    for run in published.runs():
        run.run_id          # 'kustarz-2007/oltp-with-fix'
        run.metrics         # frame t [s], name, value, unit
        run.conditions      # machine, settings ... as printed, and `printed_step`

Numbers keep the digits they were printed with: `0.20` is a number known to the hundredth, `9e4` one known to the ten
thousand. `printed_step` in the conditions gives, for every metric, the unit of its last printed digit; the audit takes
its tolerances from there and nowhere else. Points of a series stand in it as `name@t`.
"""
import copy
import math
import re
import tomllib
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pandas as pd
from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from study import errors
from study.errors import UserError
from study.project import data_files

UNITS = ("1", "%", "op/s", "TPS", "TPM", "IOPS", "s", "ms", "us", "ns", "min", "B", "KB", "MB", "GB", "TB", "KB/s",
         "MB/s", "GHz", "rpm", "$/IOPS", "$/GB", "$/GB/month")
METRIC = re.compile(r"[a-z0-9][a-z0-9_-]*\.[a-z0-9_-]+")
RUN = re.compile(r"[a-z0-9][a-z0-9-]*")


class PublishedRun(NamedTuple):
    """A measurement as it was published: its conditions, and its numbers as rows."""
    run_id: str             # '<document>/<run>'
    document: str
    label: str
    conditions: dict        # JSON types; with `place` and `printed_step`
    metrics: pd.DataFrame   # t [s, NaN when the number is of the whole run], name, value, unit


def runs(paths: list[Path] | None = None) -> list[PublishedRun]:
    """All published runs, in the order of the documents. Raises UserError on the first entry that is not right."""
    return [run for path in paths or data_files("published/*.toml") for run in read(path)]


def read(path: Path) -> list[PublishedRun]:
    """The runs of one document. A caller may change them."""
    return [run._replace(metrics=run.metrics.copy(deep=False), conditions=copy.deepcopy(run.conditions))
            for run in _read(path.name, path.stem, path.read_text())]


@lru_cache(maxsize=16)
def _read(name: str, stem: str, text: str) -> tuple[PublishedRun, ...]:
    """The runs of this text. To check the five documents takes 40 ms, and each grade asks for them."""
    file = _checked(name, text)
    refuse_duplicates(name, "run", [run.id for run in file.run])
    if file.document.id != stem:
        raise UserError(f"{name}: document id '{file.document.id}' is not the file's name; call it '{stem}'")
    return tuple(_published(name, file, run) for run in file.run)


def parse(text: str) -> dict:
    """TOML with numbers as they were printed: every one a Decimal."""
    return tomllib.loads(text, parse_float=Decimal)


def step(number: Decimal | int) -> float:
    """Unit of the last printed digit: 1 for 80, 0.1 for 33.2, 0.01 for 0.20, 10000 for 9e4."""
    return float(Decimal(1).scaleb(_exponent(Decimal(number))))


def _exponent(number: Decimal) -> int:
    """Of a number that is finite."""
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int)
    return exponent


# --- the form of a file ----------------------------------------------------------------------------------------------

def _known_unit(unit: str) -> str:
    if unit not in UNITS:
        raise ValueError(f"unit '{unit}' is unknown; use one of {', '.join(UNITS)}")
    return unit


def _metric_name(name: str) -> str:
    if not METRIC.fullmatch(name):
        raise ValueError(f"metric name '{name}' is not of the form subject.quantity in small letters, digits, - and _")
    return name


def run_name(name: str) -> str:
    """The name of a run, which a ValueError refuses unless it is of small letters, digits and -."""
    if not RUN.fullmatch(name):
        raise ValueError(f"run id '{name}' is not made of small letters, digits and -")
    return name


Unit = Annotated[str, AfterValidator(_known_unit)]
Metric = Annotated[str, AfterValidator(_metric_name)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class _Document(_Strict):
    id: str
    author: str
    title: str
    date: str
    note: str = ""


class _Run(_Strict):
    id: Annotated[str, AfterValidator(run_name)]
    label: str
    place: str
    shared: str = ""                                # name of a [shared.…] table whose conditions hold here too
    conditions: dict[str, Any] = {}
    figures: list[tuple[Metric, Decimal, Unit]] = []
    series: list[tuple[Metric, Decimal, Decimal, Unit]] = []        # name, t [s], value, unit
    columns: list[tuple[str, Unit]] = []            # a table: one row per subject, one column per quantity
    rows: list[list[str | Decimal]] = []


class _File(_Strict):
    document: _Document
    shared: dict[str, dict[str, Any]] = {}
    run: list[_Run]


def _checked(name: str, text: str) -> _File:
    try:
        return _File.model_validate(parse(text))
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{name} is not TOML: {error}; mend that line") from None
    except ValidationError as error:
        raise UserError(explain(name, error)) from None


def explain(file: str, error: ValidationError) -> str:
    """The first complaint of pydantic as one sentence: file, entry, value, what is allowed."""
    first = error.errors()[0]
    entry = ".".join(str(part + 1 if isinstance(part, int) else part) for part in first["loc"])
    return f"{file}, entry {errors.of_value(entry, first)}"


def refuse_duplicates(file: str, kind: str, names: list) -> None:
    """A name that stands there twice is a UserError that says how often."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UserError(f"{file}: {kind} '{twice[0]}' stands there {names.count(twice[0])} times; give each a name of its "
                        "own")


# --- from a file's entry to a run --------------------------------------------------------------------------------------

def _published(file: str, whole: _File, run: _Run) -> PublishedRun:
    if run.shared and run.shared not in whole.shared:
        raise UserError(f"{file}, run '{run.id}': shared = '{run.shared}' is unknown; use one of "
                        f"{', '.join(whole.shared) or 'none, as the file has none'}")
    numbers: list[tuple[float | None, str, Decimal, str]] = [
        (None, name, value, unit) for name, value, unit in run.figures + _table(file, run)]
    numbers += [(float(t), name, value, unit) for name, t, value, unit in run.series]
    keys = [key(t, name) for t, name, _, _ in numbers]
    refuse_duplicates(f"{file}, run '{run.id}'", "metric", keys)
    steps = {name: step(value) for name, (_, _, value, _) in zip(keys, numbers, strict=True)}
    conditions = plain({**whole.shared.get(run.shared, {}), **run.conditions, "place": run.place, "printed_step": steps})
    return PublishedRun(f"{whole.document.id}/{run.id}", whole.document.id, run.label, conditions, _frame(numbers))


def _table(file: str, run: _Run) -> list[tuple[str, Decimal, str]]:
    """A table's cells as figures named <first cell of the row>.<column>."""
    cells = []
    for subject, *values in run.rows:
        if len(values) != len(run.columns) or not all(isinstance(value, Decimal | int) for value in values):
            raise UserError(f"{file}, run '{run.id}', row '{subject}' has {len(values)} values; it needs a number for each "
                            f"of the {len(run.columns)} columns")
        for (quantity, unit), value in zip(run.columns, values, strict=True):
            name = f"{subject}.{quantity}"
            if not METRIC.fullmatch(name):
                raise UserError(f"{file}, run '{run.id}': '{name}' is not of the form subject.quantity")
            cells.append((name, Decimal(value), unit))
    return cells


def key(t: float | None, name: str) -> str:
    """How a published number is named: with its time [s] if it has one."""
    return name if t is None else f"{name}@{t:g}"


def _frame(numbers: list[tuple]) -> pd.DataFrame:
    return pd.DataFrame({"t": np.array([math.nan if t is None else t for t, _, _, _ in numbers], float),
                         "name": [name for _, name, _, _ in numbers],
                         "value": np.array([float(value) for _, _, value, _ in numbers], float),
                         "unit": [unit for _, _, _, unit in numbers]})


def plain(value: Any) -> Any:
    """The same in JSON types: Decimals become int or float."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() and _exponent(value) >= 0 else float(value)
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, list | tuple) else value
