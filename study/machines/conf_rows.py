"""Settings in rows with a head, as servers show them: which column is what, and exports of such rows as CSV and JSON.

    conf_rows.of_csv("name,setting,unit\\nshared_buffers,16384,8kB\\n")              {"shared_buffers": "131072kB"}
    conf_rows.of_json('[{"name": "shared_buffers", "setting": "16384", "unit": "8kB"}]')     the same

Both are None for another text. Names of columns: pg_settings, psql's `current_setting(name)`, and SHOW VARIABLES.
"""
import csv
import json
import re
from collections.abc import Sequence
from typing import Any

HEADS = {"name", "variable_name", "variable", "parameter", "option", "key"}
VALUES = {"setting", "value", "variable_value", "current_setting"}
SEPARATORS = ",;\t"
WITH_UNIT = re.compile(r"(\d*)(kB|MB|B|us|ms|s|min)")      # of pg_settings
HAS_UNIT = re.compile(r"(?P<value>-?\d+) (?P<unit>\d*(?:kB|MB|B|us|ms|s|min))")      # in the cell of the value


def is_head(words: Sequence[str]) -> bool:
    """Whether words in lower case name a column of names and another of values."""
    return bool(HEADS & set(words) and VALUES & set(words))


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


def of_csv(text: str) -> dict[str, str] | None:
    """By name. ValueError, a part of a sentence, for a row of another length than the head."""
    lines = text.strip().splitlines()
    for separator in SEPARATORS:
        rows = csv.reader(lines, delimiter=separator)
        head = [cell.strip().lower() for cell in next(rows, [])]
        if is_head(head):
            settings = {}
            for row in filter(None, rows):
                if len(row) != len(head):
                    raise ValueError(f"has {len(row)} values in line {rows.line_num}, but {len(head)} columns in its head; "
                                     "give the export whole")
                name, value = of_cells(head, [cell.strip() for cell in row])
                settings[name] = value
            return settings
    return None


def of_json(text: str) -> dict[str, str] | None:
    """By name."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return None
    lists = [content] if isinstance(content, list) else list(content.values()) if isinstance(content, dict) else []
    of_rows = [rows for rows in lists if isinstance(rows, list) and rows and all(map(_is_row, rows))]
    if len(of_rows) != 1:
        return None
    settings = {}
    for row in of_rows[0]:
        of = {key.lower(): "" if value is None else _written(value) for key, value in row.items()}
        name, value = of_cells(list(of), list(of.values()))
        settings[name] = value
    return settings


def _is_row(row: Any) -> bool:
    return isinstance(row, dict) and is_head([key.lower() for key in row])


def _written(value: Any) -> str:
    return ("on" if value else "off") if isinstance(value, bool) else str(value)
