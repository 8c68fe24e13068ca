"""What the disk model made of measured drives: `data/disk_replays.toml`, as `study replay disk` printed it.

The traces are not part of the project, so their replay cannot be run here. Its results are committed instead, with a digest
of the code that they were made by. Where that has changed since, they may have.
"""
import ast
import hashlib
import io
import tokenize
import tomllib
from collections.abc import Iterator

import pandas as pd

from study.project import ROOT, data_file

CODE = ("model/devices/data_sheet.py", "model/devices/disk.py", "model/devices/disk_buffer.py",
        "model/devices/disk_geometry.py", "model/devices/disk_mechanics.py",
        "study/replays/drive_file.py", "study/replays/disk.py")

VERSIONS = {"specified": "from the drive's description", "estimated": "+ constants from the first half",
            "data_sheet": "from a data sheet alone"}


def read() -> pd.DataFrame:
    """A row per drive and version: drive, year, rpm, version, demerit_percent (whole trace), second_half_percent,
    mean_error_percent (second half), disksim_percent."""
    drives = tomllib.loads(data_file("disk_replays.toml").read_text())["drive"]
    return pd.DataFrame([{"id": drive["id"], "drive": drive["name"], "year": drive["year"], "rpm": drive["rpm"],
                          "version": version, **drive[version], "disksim_percent": drive["disksim_percent"]}
                         for drive in drives for version in VERSIONS])


def code() -> str:
    """A digest of the code that replays a trace, the same under every Python. Comments, docstrings, layout, imports and the
    types of functions do not count, so that a file may move."""
    return hashlib.sha256("\n".join(_bare((ROOT / path).read_text()) for path in CODE).encode()).hexdigest()[:16]


def _bare(source: str) -> str:
    """Source text without comments, docstrings, imports, types of functions and white space."""
    lines = source.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    content = [line.encode() for line in lines]     # a syntax tree counts columns in bytes
    for node in ast.walk(ast.parse(source)):
        for first, begin, last, end in _without_effect(node, content):
            rest = content[last - 1][end:]
            content[first - 1] = content[first - 1][:begin].ljust(begin)
            content[first:last] = [b""] * (last - first)
            content[last - 1] = content[last - 1].ljust(end) + rest
    return "".join(b"".join(content).decode().split())


def _without_effect(node: ast.AST, lines: list[bytes]) -> Iterator[tuple[int, int, int, int]]:
    """Of a node, what changes nothing that the code does: first line and column, last line and column."""
    if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
        yield _place(node.body[0])
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield _place(node)
    if isinstance(node, ast.arg) and node.annotation is not None:
        yield node.lineno, node.col_offset + len(node.arg.encode()), *_place(node.annotation)[2:]
    if isinstance(node, ast.FunctionDef) and node.returns is not None:
        first, begin, last, end = _place(node.returns)
        yield first, lines[first - 1].rindex(b"->", 0, begin), last, end


def _place(node: ast.stmt | ast.expr) -> tuple[int, int, int, int]:
    """First line and column, last line and column."""
    return node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or node.col_offset


def metrics(table: pd.DataFrame) -> pd.DataFrame:
    """Median and worst demerit of the second halves, by version: name, value, unit."""
    halves = table.groupby("version", sort=False)["second_half_percent"]
    rows = [(f"disk.{version.replace('_', '-')}-{which}", value, "%") for version, group in halves
            for which, value in (("median", group.median()), ("worst", group.max()))]
    return pd.DataFrame(rows, columns=["name", "value", "unit"])
