"""A run of sliders kept as a record, which the run store takes in as it does those of a batch.

It stands beside the notebook's own runs, under a name of its own, as it is not a run of the whole notebook.
"""
import datetime
import json
import math
import platform
import re
from collections.abc import Callable
from importlib import metadata
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from study import errors
from study.project import digest, runs_folder, write_atomically
from study.runs import catalogue, record
from study.runs.folder import MANIFEST
from study.runs.parameters import Value
from study.runs.plan import plan
from study.runs.runner import METRICS_SCHEMA, PACKAGES

FIGURE = "try_it"


def keep(notebook: str, values: dict[str, Value], numbers: pd.DataFrame, draw: Callable, data: Any, seconds: float) -> str:
    """Write what was slid to, its numbers (name, value, unit) and its picture; the id of the run. Its parameters are those
    of the sliders alone. The same values with the same numbers are the same run."""
    name = f"{notebook}-try-it"
    rows = [(_metric(name), float(value), unit) for name, value, unit in numbers[["name", "value", "unit"]].itertuples(
        index=False) if math.isfinite(value)]
    parts = plan(catalogue.find(notebook)).parts | {
        "sliders": digest([json.dumps(values, sort_keys=True).encode()]),
        "numbers": digest([json.dumps(rows, sort_keys=True).encode()])}
    run_id = digest([name.encode(), json.dumps(parts, sort_keys=True).encode()])[:16]
    folder = runs_folder() / name / run_id
    try:
        (folder / "figures").mkdir(parents=True, exist_ok=True)
        (folder / record.FIGURES).unlink(missing_ok=True)
        record.write_figure(folder, FIGURE, draw, data, caption=f"Try it of {notebook}, with {_in_words(values)}.")
        table = [dict(zip(METRICS_SCHEMA.names, (run_id, None, *row), strict=True)) for row in rows]
        pq.write_table(pa.Table.from_pylist(table, schema=METRICS_SCHEMA), folder / "metrics.parquet")
        write_atomically(folder / MANIFEST, json.dumps({
            "run_id": run_id, "notebook": name, "status": "ok", "reason": None, "parameters": values, "made_from": parts,
            "started": datetime.datetime.now(datetime.UTC).replace(tzinfo=None).isoformat(timespec="seconds"),
            "seconds": round(seconds, 3), "python": platform.python_version(),
            "packages": {package: metadata.version(package) for package in PACKAGES},
            "files": {path.relative_to(folder).as_posix(): digest([path.read_bytes()])
                      for path in sorted(folder.rglob("*")) if path.is_file() and path.name != MANIFEST}}, indent=1) + "\n")
    except OSError as error:
        raise errors.of_the_system(error) from error
    return run_id


def _metric(name: str) -> str:
    """A name such as the run store has them."""
    return re.sub(r"[^a-z0-9._-]+", "-", name.lower())


def _in_words(values: dict[str, Value]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())
