"""Series of benchmark runs: many runs one after another, each with its statistics.

Kept as one row a number: run, name, value, unit. A statistic that a run does not have (the response time of reads where none
was made) has no row. In a record each series is a file of its own; in the store all are the table `samples`.
"""
import json
import os

import pandas as pd

from study.errors import UserError
from study.runs.plan import plan
from study.store import identity, store


def run_of(source: str) -> str:
    """The run whose series are meant. `source` is a notebook: in a batch the very run that was made for it (`needs`),
    otherwise that of its defaults. Or it is the label of a run that was imported or measured."""
    from study.runs import catalogue
    if source in (given := json.loads(os.environ.get("STUDY_NEEDS", "{}"))):
        return given[source]
    if (catalogue.NOTEBOOKS / f"{source}.ipynb").exists():
        return plan(catalogue.find(source)).run_id
    with store.open() as connection:
        run_ids = identity.of_label(connection, source)
    if len(run_ids) != 1:
        raise UserError(f"'{source}' is the label of {len(run_ids) or 'no'} imported or measured runs and no notebook. See "
                        "them with: study query \"SELECT DISTINCT label FROM samples JOIN runs USING (run_id)\"")
    return run_ids[0]


def imports_read(source: str, **others: object) -> list[str]:
    """What a run of notebook 05 takes from the store, for its identity. Runs of notebooks it `needs` are known otherwise."""
    from study.runs import catalogue
    return [] if (catalogue.NOTEBOOKS / f"{source}.ipynb").exists() else [identity.of_run(run_of(source))]


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
        pivot = rows.query("rows", "PIVOT (SELECT run, name, value FROM rows) ON name USING first(value) GROUP BY run "
                                   "ORDER BY run")
        assert pivot is not None        # None is of a statement that has no result
        wide = pivot.df().set_index("run")
        units = dict(rows.select("name, unit").distinct().fetchall())
    if wide.empty:
        if not (known := names(source)):
            raise UserError(f"no run of {source} is current, and its series '{series}' is wanted; in a terminal: study run "
                            f"{source} (a run in JupyterLab is not recorded)")
        raise UserError(f"{source} has no series '{series}'; it has {', '.join(known)}")
    wide.attrs["units"] = units
    return wide
