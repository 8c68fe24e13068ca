"""What the disk model made of measured drives: `data/disk_replays.toml`, as `study replay disk` printed it.

The traces are not part of the project, so their replay cannot be run here; its results are committed instead, with a digest
of the code that they were made by. Where that has changed since, they may have.
"""
import ast
import hashlib
import tomllib

import pandas as pd

from study.project import ROOT, data_file

CODE = ("model/data_sheet.py", "model/disk.py", "model/disk_buffer.py", "model/disk_layout.py", "model/disk_mechanics.py",
        "study/drive_file.py", "study/replay_disk.py")

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
    """A digest of the code that replays a trace, but for comments, docstrings and layout."""
    trees = [ast.parse((ROOT / path).read_text()) for path in CODE]
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return hashlib.sha256("\n".join(map(ast.unparse, trees)).encode()).hexdigest()[:16]


def metrics(table: pd.DataFrame) -> pd.DataFrame:
    """Median and worst demerit of the second halves, by version: name, value, unit."""
    halves = table.groupby("version", sort=False)["second_half_percent"]
    rows = [(f"disk.{version.replace('_', '-')}-{which}", value, "%") for version, group in halves
            for which, value in (("median", group.median()), ("worst", group.max()))]
    return pd.DataFrame(rows, columns=["name", "value", "unit"])
