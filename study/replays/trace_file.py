"""What all recorded traces have in common: files of whole numbers, units, and how a difference is told."""
import json
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from model.zfs.eras import ERAS
from study import tables as table_file
from study.errors import UserError
from study.words import counted

LARGEST = 2**53  # of ticks and sectors: keeps every sum and product within 64 bits
STORES = (".parquet", ".csv", ".tsv", *(f".csv{packed}" for packed in table_file.PACKED))  # ends of the name of a table
STORED = re.compile(rf"(?:{'|'.join(map(re.escape, STORES))})$", re.IGNORECASE)
NUMBER_OF_BUILD = re.compile(r"(?:onnv_?|b)?(\d+)")


class Difference(NamedTuple):
    """The first place where model and trace disagree."""

    row: int  # 0 is the first row of the file
    column: str
    recorded: int
    replayed: int


class Comparison(NamedTuple):
    """A file of decisions compared with the model's."""

    path: Path
    decisions: str  # which ones, of which build
    rows: int
    differences: int
    first: Difference | None
    seconds: float  # of a processor in the model, once compiled
    columns: tuple[str, ...]  # that were compared
    note: str = ""  # what else is to be known of it


def sentence(comparison: Comparison) -> str:
    """What a comparison gave, for the terminal."""
    speed = f"{comparison.seconds / comparison.rows * 1e9:.0f} ns a row"
    text = (f"{comparison.path}: {counted(comparison.differences, 'difference')} in {counted(comparison.rows, 'row')} by "
            f"{', '.join(comparison.columns)} ({comparison.decisions}, {speed})")
    return "; ".join(filter(None, (text, where(comparison.first), comparison.note)))


def where(first: Difference | None) -> str:
    """Where the first difference is, as a part of a sentence; nothing if there is none."""
    if first is None:
        return ""
    return (f"the first in row {first.row}: {first.column} is {first.recorded} in the recording and {first.replayed} in the "
            "model")


def build_in(name: str) -> str | None:
    """The era of the build whose number a word is: onnv_69 of `onnv69`, `onnv_69` or `69`; None if there is none."""
    number = NUMBER_OF_BUILD.fullmatch(name)
    return next((build for build in ERAS if number and build in (f"onnv_{number[1]}", f"b{number[1]}")), None)


# ---- tables ----


def is_table(path: Path) -> bool:
    """Whether a name is that of a Parquet file, or of a CSV, plain or compressed."""
    return STORED.search(path.name) is not None


def stem_of(path: Path) -> str:
    """The name of a table without what says how it is stored: `mix_L2` of `mix_L2.csv.gz`."""
    return STORED.sub("", path.name)


def table_beside(path: Path, stem: str) -> Path | None:
    """The table of that name in the folder of `path`, however it is stored."""
    return next((file for ending in STORES if (file := path.with_name(f"{stem}{ending}")).exists()), None)


def columns_of(path: Path) -> list[str]:
    """Names of the columns of a table. Raises UserError if it cannot be read."""
    if _is_parquet(path):
        return _parquet(path)[0]
    return list(map(str, table_file.read(path, "the table", "copy it again", rows=0)))


def integers(path: Path, table: pd.DataFrame, name: str) -> np.ndarray:
    """Column `name` as int64, or a UserError that names the first row without a whole number."""
    column = table[name]
    kind = column.dtype.kind
    values = (column if kind in "biuf" else pd.to_numeric(column.astype(str), errors="coerce")).to_numpy()
    whole = values == np.floor(values) if values.dtype.kind == "f" else True
    bad = np.flatnonzero(~(whole & (values >= -LARGEST) & (values <= LARGEST)))
    if len(bad):
        row, value = bad[0], column.iloc[bad[0]]
        if value is None or value != value:
            raise UserError(f"{path}: row {row} has no value in column {name}, but every row needs one; complete the trace")
        raise UserError(f"{path}: row {row} has {str(value)[:40]} in column {name}, but must hold a whole number of at most "
                        "2^53; mend the row")
    return values.astype(np.int64)


Bounds = tuple[str, int, int, Any]  # column, lowest, highest, mask of rows (or True)


def check_bounds(path: Path, columns: dict[str, np.ndarray], bounds: Sequence[Bounds]) -> None:
    """A UserError for the first row of each column that no trace can have."""
    for name, low, high, rows in bounds:
        values = columns[name]
        bad = np.flatnonzero(((values < low) | (values > high)) & rows)
        if len(bad):
            raise UserError(f"{path}: row {bad[0]} has {values[bad[0]]} in column {name}, but it must be from {low} to "
                            f"{high}; mend or remove the row")


def check_time(path: Path, tick: np.ndarray) -> None:
    """A UserError where time goes back."""
    back = np.flatnonzero(np.diff(tick) < 0) + 1
    if len(back):
        raise UserError(f"{path}: row {back[0]} has tick {tick[back[0]]} after tick {tick[back[0] - 1]}, but ticks never go "
                        "back; sort the trace by time")


def read_table(path: Path, needed: Sequence[str], why: str, optional: Sequence[str] = ()) -> pd.DataFrame:
    """The columns `needed` of a Parquet file or a CSV, and those of `optional` that it has. Raises UserError, which says
    `why` they are needed."""
    if not path.exists() or path.is_dir():
        raise UserError(f"{path} is {'a folder' if path.is_dir() else 'not there'}; name the file of a trace")
    names, select = _parquet(path) if _is_parquet(path) else _csv(path, needed)
    missing = [name for name in needed if name not in names]
    if missing:
        raise UserError(f"{path} has no column {', '.join(missing)} (it has {', '.join(names)}), but {why} "
                        f"{', '.join(needed)}; record them too")
    wanted = [*needed, *(name for name in optional if name in names)]
    if twice := table_file.twice(names, wanted):
        raise UserError(f"{path} has several columns of the name {twice}; leave one of them")
    table = select(wanted)
    if not len(table):
        raise UserError(f"{path} has 0 rows, but a trace has at least one; copy it again")
    return table


def read_columns(path: Path, needed: Sequence[str], why: str, optional: Sequence[str] = ()) -> dict[str, np.ndarray]:
    """The same as whole numbers, each column int64[rows]."""
    table = read_table(path, needed, why, optional)
    return {name: integers(path, table, name) for name in table}


def _is_parquet(path: Path) -> bool:
    return path.suffix.lower() == ".parquet" or table_file.is_parquet(path)


def _csv(path: Path, needed: Sequence[str]) -> tuple[list[str], Callable]:
    """(names of columns, what gives some of them)"""
    table = table_file.read(path, "the trace", f"give a Parquet file or a CSV of {', '.join(needed)}")
    return list(map(str, table)), table.__getitem__


def _parquet(path: Path) -> tuple[list[str], Callable]:
    """The same of a Parquet file, of which no more is read than is asked for."""
    try:
        file = pq.ParquetFile(path)
        names = file.schema_arrow.names
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        raise _unreadable(path, error) from error

    def select(names: Sequence[str]) -> pd.DataFrame:
        try:
            return file.read(columns=list(names)).to_pandas(ignore_metadata=True)
        except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
            raise _unreadable(path, error) from error
    return names, select


def _unreadable(path: Path, error: Exception) -> UserError:
    reason = "".join(filter(str.isprintable, str(error).splitlines()[0])).rstrip(".")
    return UserError(f"{path} cannot be read as a Parquet file ({reason}); it is truncated or of another kind, so copy "
                     "it again")


# ---- files of JSON lines, which say how traces were recorded ----


def read_lines(path: Path, parse: Callable[[dict], Any], subject: str, form: str) -> list:
    """What `parse` makes of each line that is not empty; none if there is no such file. A UserError says which line does not
    describe `subject`, and what `form` it has to have."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines() if path.exists() else []
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path} cannot be read ({error}); mend it or remove it") from error
    parsed = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                parsed.append(parse(json_object(json.loads(line))))
            except (ValueError, KeyError, TypeError) as error:
                raise UserError(f"{path}: line {number} does not describe {subject} ({error!r}); it must be a JSON object "
                                f"with {form}") from error
    return parsed


def json_object(value: Any) -> dict:
    """`value`, if it is an object of JSON; else a TypeError."""
    if not isinstance(value, dict):
        raise TypeError(f"{value!r} is no object")
    return value


def whole(entry: dict, name: str, low: int, high: int) -> int:
    """`entry[name]`, a whole number within these bounds. Raises ValueError, which says what is wrong."""
    value = entry.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value != int(value):
        raise ValueError(f"{name} is {value!r}, but must be a whole number")
    if not low <= value <= high:
        raise ValueError(f"{name} is {value}, but must be from {low} to {high}")
    return int(value)
