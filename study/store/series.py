"""Series of benchmark runs: many runs one after another, each with its statistics.

Kept as one row a number: run, name, value, unit. A statistic that a run does not have (the response time of reads where none
was made) has no row. In a record each series is a file of its own; in the store all are the table `samples`.
"""
import json
import os
from pathlib import Path

import numpy as np
import pandas as pd

from study.errors import UserError
from study.runs.plan import NAME, SAMPLES, plan
from study.store import store

COLUMNS = ["run", "name", "value", "unit"]


def checked(series: str, frame: pd.DataFrame) -> pd.DataFrame:
    """`frame` as it is kept; UserError where it is no series."""
    if not NAME.fullmatch(series):
        raise UserError(f"series '{series}' is not of the form subject.variant in small letters, digits, - and _; rename it")
    if set(frame.columns) != set(COLUMNS) or not len(frame):
        raise UserError(f"series {series} has {len(frame)} rows of {', '.join(map(str, frame.columns)) or 'nothing'}; give "
                        f"rows of {', '.join(COLUMNS)}")
    kept = frame[COLUMNS].astype({"run": "int32", "name": str, "value": float, "unit": str})
    for wrong, what in ((~kept.name.map(lambda name: bool(NAME.fullmatch(name))), "a name that is not subject.quantity"),
                        (~np.isfinite(kept.value), "a value that is not finite (leave the row out)"),
                        (kept.unit.str.strip() == "", "no unit ('1' for a pure number)"),
                        (kept.duplicated(["run", "name"]), "a second value of one statistic")):
        if wrong.any():
            one = kept[wrong].iloc[0]
            raise UserError(f"series {series} has in run {one['run']}, {one['name']}: {what}; mend it there")
    if (kept.groupby("name").unit.nunique() > 1).any():
        raise UserError(f"series {series} gives a statistic in two units; take one unit for each")
    return kept


def wide(rows: pd.DataFrame) -> pd.DataFrame:
    """A series that is not in the store as `table` gives it."""
    found = rows.pivot(index="run", columns="name", values="value")
    found.attrs["units"] = dict(zip(rows.name, rows.unit, strict=True))
    return found


def write(folder: Path, series: str, frame: pd.DataFrame) -> None:
    """Keep a series in the record `folder`."""
    file = folder / SAMPLES / f"{series}.parquet"
    if file.exists():
        raise UserError(f"series {series} is recorded twice; give each its own name, once")
    file.parent.mkdir(exist_ok=True)
    checked(series, frame).to_parquet(file, index=False)


def run_of(source: str) -> str:
    """The run whose series are meant. `source` is a notebook: in a batch the very run that was made for it (`needs`),
    otherwise that of its defaults; or the label of a run that was imported or measured."""
    from study.runs import catalogue
    if source in (given := json.loads(os.environ.get("STUDY_NEEDS", "{}"))):
        return given[source]
    if (catalogue.NOTEBOOKS / f"{source}.ipynb").exists():
        return plan(catalogue.find(source)).run_id
    with store.open() as connection:
        found = [run_id for (run_id,) in connection.execute(
            "SELECT run_id FROM runs WHERE label = ? AND origin IN ('imported', 'measured')", [source]).fetchall()]
    if len(found) != 1:
        raise UserError(f"'{source}' is the label of {len(found) or 'no'} imported or measured runs and no notebook; see "
                        "them with: study query \"SELECT DISTINCT label FROM samples JOIN runs USING (run_id)\"")
    return found[0]


def parameters(source: str) -> dict:
    """What the run was given."""
    with store.open() as connection:
        rows = connection.execute("SELECT name, value FROM params WHERE run_id = ?", [run_of(source)]).fetchall()
    return {name: json.loads(value) for name, value in rows}


def names(source: str) -> list[str]:
    """The series that a source has."""
    with store.open() as connection:
        return [name for (name,) in connection.execute(
            "SELECT DISTINCT series FROM samples WHERE run_id = ? ORDER BY series", [run_of(source)]).fetchall()]


def table(source: str, series: str) -> pd.DataFrame:
    """A series as a table: a row a run, in the order of time, a column a statistic. `attrs["units"]`: its unit by name."""
    run_id = run_of(source)
    with store.open() as connection:
        rows = connection.sql("SELECT * FROM samples WHERE run_id = ? AND series = ?", params=[run_id, series])
        wide = rows.query("rows", "PIVOT (SELECT run, name, value FROM rows) ON name USING first(value) GROUP BY run "
                                  "ORDER BY run").df().set_index("run")
        units = dict(rows.select("name, unit").distinct().fetchall())
    if wide.empty:
        known = ", ".join(names(source)) or f"none: is it run? study run {source}"
        raise UserError(f"{source} has no series '{series}'; it has {known}")
    wide.attrs["units"] = units
    return wide
