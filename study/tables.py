"""A table that a user names: a CSV, plain or compressed (PACKED), or a Parquet file.

What does not change a CSV's meaning is accepted: blanks around commas, comments (from # to the end of a line), blank lines.
So are a comma at the end of every row, and ends of lines and the byte order mark of another system. So are columns in
another order, and more columns than are asked for. So are semicolons or tabs in the place of commas, except from a pipe.
"""
import csv
import lzma
import tarfile
import warnings
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from study.errors import UserError

CUT_OFF = (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, tarfile.TarError)   # besides OSError, ValueError
MAGIC = b"PAR1"     # a Parquet file begins with these
OTHER_SEPARATORS = ";\t"
NEVER = "\x1f"      # separates units for machines; no column of a CSV
LINES_AT_ONCE = 100_000
PACKED = (".gz", ".bz2", ".xz", ".zip", ".zst", ".lz4")
BY_ARROW = (".zst", ".lz4")     # compressed in a way for which pandas wants further packages


def is_parquet(path: Path | str) -> bool:
    """Whether the file begins as a Parquet file does; a pipe, of which nothing may be read twice, is none."""
    if not Path(path).is_file():
        return False
    with open(path, "rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def read(path: Path | str, name: str, give: str, text: bool = False, rows: int | None = None) -> pd.DataFrame:
    """The table at `path`, as `text` if told so, and of a CSV no more than `rows`. A UserError says why there is none, of
    what (`name`), what to `give`."""
    try:
        if is_parquet(path):
            table = pq.read_table(path).to_pandas(ignore_metadata=True)
            return table.astype(str) if text else table
        return _csv(path, text, rows)
    except UnicodeDecodeError:
        reason = "it is not text"
    except pd.errors.EmptyDataError:
        reason = "it is empty"
    except pd.errors.ParserWarning:
        reason = "its lines have more values than its header has names"
    except CUT_OFF as error:
        reason = f"compressed, and cut off or damaged: {_sentence(error)}"
    except (ImportError, RuntimeError):     # an encrypted zip is the latter
        reason = "compressed in a way that is not read here; unpack it"
    except (OSError, ValueError, pa.ArrowException) as error:
        reason = getattr(error, "strerror", None) or _sentence(error)
    raise UserError(f"cannot read {name} {path} ({reason}); {give}")


def twice(names: list[str], wanted: Sequence[str]) -> str | None:
    """The first of `wanted` that several columns are called, if any; pandas calls the second of a CSV `name.1`."""
    return next((name for name in wanted if names.count(name) > 1 or f"{name}.1" in names), None)


def separator_of(names: Sequence[str]) -> str:
    """The separator of a CSV, of whose header these are the parts between commas."""
    return next((separator for separator in OTHER_SEPARATORS if len(names) == 1 and separator in names[0]), ",")


def _csv(path: Path | str, text: bool, rows: int | None) -> pd.DataFrame:
    """By the separator that the header has."""
    try:
        table = _separated_by(",", path, text, rows)
        names = list(table.columns)
    except pd.errors.ParserWarning:     # as it is where numbers have decimal commas
        if not Path(path).is_file():
            raise
        table, names = None, list(_separated_by(",", path, text, rows=0).columns)
    separator = separator_of(names) if Path(path).is_file() else ","
    if separator != ",":
        return _separated_by(separator, path, text, rows)
    if table is None:
        raise pd.errors.ParserWarning
    return table


def _separated_by(separator: str, path: Path | str, text: bool, rows: int | None) -> pd.DataFrame:
    """Without `index_col=False` pandas takes the first column for an index where lines are longer than the header."""
    options: dict[str, Any] = {"dtype": str, "keep_default_na": False} if text else {}
    options |= {"sep": separator, "encoding": "utf-8-sig", "skipinitialspace": True, "comment": "#"}
    if rows is None and Path(path).is_file():
        _refuse_blanks_of_some_rows(path, options)
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        table = pd.read_csv(_file(path), index_col=False, nrows=rows, **options)
    return table.rename(columns=str.strip)


def _file(path: Path | str) -> Any:
    return pa.input_stream(path) if Path(path).suffix in BY_ARROW else path


def _refuse_blanks_of_some_rows(path: Path | str, options: dict[str, Any]) -> None:
    """A ParserWarning for a blank behind the last column that not all rows have. Of `1,5,` in decimal commas another value
    is missing. Pandas passes over the blank if the first row has it, and refuses it if only a later one does."""
    first = pd.read_csv(_file(path), nrows=1, **options)
    if isinstance(first.index, pd.RangeIndex):      # else its first value was taken for an index
        return
    rows = [has_blank for lines in _lines(path) for has_blank in
            lines.str.endswith((options["sep"], f'{options["sep"]}""'))]
    if not all(rows[1:]):
        raise pd.errors.ParserWarning


def _lines(path: Path | str) -> Iterator[pd.Series]:
    """The lines without comments, blank lines apart, some at a time."""
    one_column = {"sep": NEVER, "header": None, "names": ["line"], "usecols": [0], "dtype": str, "keep_default_na": False,
                  "quoting": csv.QUOTE_NONE, "comment": "#", "encoding": "utf-8-sig"}
    with pd.read_csv(_file(path), chunksize=LINES_AT_ONCE, **one_column) as parts:
        for part in parts:
            lines = part["line"].str.strip(" ")
            yield lines[lines != ""]


def _sentence(error: Exception) -> str:
    """The first sentence of what pandas or a library says."""
    first = str(error).splitlines()[0].removeprefix("Error tokenizing data. C error: ")
    return first.split(". ")[0].rstrip(".")
