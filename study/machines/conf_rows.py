"""Settings in rows with a head, as servers show them: which column is what, and exports of such rows as CSV and JSON.

    conf_rows.of_csv("name,setting,unit\\nshared_buffers,16384,8kB\\n").values       {"shared_buffers": "131072kB"}
    conf_rows.of_json('[{"name": "shared_buffers", "setting": "16384", "unit": "8kB"}]')     the same

Both are None for another text, and their `is_of_server` is true below a head that a server writes. Names of columns:
pg_settings, psql's `current_setting(name)`, and SHOW VARIABLES.
"""
import csv
import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from study.words import counted

HEADS = {"name", "variable_name", "variable", "parameter", "option", "key"}
VALUES = {"setting", "value", "variable_value", "current_setting"}
OF_SERVERS = ({"name", "setting"}, {"variable_name"}, {"current_setting"})      # columns of heads that servers write
# Words for values beside those that a database has, or is to have.
FORMER = {"default", "defaults", "old", "current", "former", "previous", "before", "original"}
LATER = {"new", "tuned", "recommended", "proposed", "suggested", "optimized", "optimised", "after"}
SEPARATORS = ",;"
AROUND = re.compile(r"\s*(?:[-+|]+\s*$|\(?\d+ rows?\b|(?:mysql|MariaDB|\w+[=#]).*>)")     # rules, prompts, a count of rows
WITH_UNIT = re.compile(r"(\d*)(kB|MB|B|us|ms|s|min)")      # of pg_settings
HAS_UNIT = re.compile(r"(?P<value>-?\d+) (?P<unit>\d*(?:kB|MB|B|us|ms|s|min))")      # in the cell of the value


class Settings(NamedTuple):
    """`values` as they are written, by name. `is_of_server`: a server showed them, so that all names are genuine."""
    values: dict[str, str]
    is_of_server: bool


def is_head(words: Sequence[str]) -> bool:
    """Whether words in lower case name a column of names and another of values."""
    return bool(HEADS & set(words) and VALUES & set(words))


def is_of_server(words: Sequence[str]) -> bool:
    """Whether words in lower case are a head that a server writes, and no person."""
    return any(columns <= set(words) for columns in OF_SERVERS)


def refuse_several_values(head: Sequence[str]) -> None:
    """ValueError, a part of a sentence, for a head that leaves open which of its columns counts."""
    columns = [word for word in head if word]
    words = FORMER if len(columns) == 2 else LATER
    column = next((column for column in columns[1:] if words & set(re.findall(r"\w+", column))), None)
    if column:
        raise ValueError(f"is a table with the columns {', '.join(columns)}, so '{column}' leaves open which values count; "
                         "give two columns, name and value, with what the database has")


def of_cells(head: Sequence[str], cells: Sequence[str]) -> tuple[str, str]:
    """Name and value of a row, with its unit."""
    of = dict(zip(head, cells, strict=False))
    name, value = (next((of[key] for key in head if key in keys and key in of), "") for keys in (HEADS, VALUES))
    return name, with_unit(value, of.get("unit", ""))


def with_unit(value: str, unit: str) -> str:
    """As postgresql.conf has it: 16384 of 8kB are 131072kB."""
    if not unit and (written := HAS_UNIT.fullmatch(value)):
        value, unit = written["value"], written["unit"]
    match = WITH_UNIT.fullmatch(unit)
    return f"{int(value) * int(match[1] or 1)}{match[2]}" if match and value.isdigit() else value


def of_csv(text: str) -> Settings | None:
    """ValueError, a part of a sentence, for a row of another length than the head, or a quotation that does not end."""
    lines = [(n, line) for n, line in enumerate(text.splitlines(), start=1) if line.strip() and not AROUND.match(line)]
    for separator in SEPARATORS:
        rows = csv.reader([line for _, line in lines], delimiter=separator, strict=True)
        try:
            head = [cell.strip().lower() for cell in next(rows, [])]
        except csv.Error:
            continue
        if not is_head(head):
            continue
        refuse_several_values(head)
        settings = {}
        try:
            for row in rows:
                if len(row) != len(head):
                    raise ValueError(f"has {counted(len(row), 'value')} in line {lines[rows.line_num - 1][0]}, but "
                                     f"{len(head)} columns in its head; give the export whole")
                name, value = of_cells(head, [cell.strip() for cell in row])
                settings[name] = value
        except csv.Error as error:
            n = lines[rows.line_num - 1][0]
            raise ValueError(f"is no CSV from line {n} on ({error}); give the export whole") from None
        return Settings(settings, is_of_server(head)) if settings else None
    return None


def of_json(text: str) -> Settings | None:
    """ValueError as `refuse_several_values`."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return None
    lists = [content] if isinstance(content, list) else list(content.values()) if isinstance(content, dict) else []
    of_rows = [rows for rows in lists if isinstance(rows, list) and rows and all(map(_is_row, rows))]
    if len(of_rows) != 1:
        return None
    settings, is_shown = {}, True
    for row in of_rows[0]:
        of = {key.lower(): "" if value is None else _written(value) for key, value in row.items()}
        refuse_several_values(list(of))
        name, value = of_cells(list(of), list(of.values()))
        settings[name] = value
        is_shown = is_shown and is_of_server(list(of))
    return Settings(settings, is_shown)


def _is_row(row: Any) -> bool:
    return isinstance(row, dict) and is_head([key.lower() for key in row])


def _written(value: Any) -> str:
    return ("on" if value else "off") if isinstance(value, bool) else str(value)
