"""Which imports a label names, and what they are: part of what makes a run of a notebook that reads them.

A label names its own runs and those of labels below it: `mine` has the runs of `mine/defaults` and `mine/memory`.
"""
from duckdb import DuckDBPyConnection

from study.project import digest, runs_folder
from study.runs import inputs
from study.runs.folder import MANIFEST

THEIRS = "origin IN ('imported', 'measured')"


def of_label(connection: DuckDBPyConnection, label: str) -> list[str]:
    """Ids of the runs that a label names; none where it is of no run."""
    return [run_id for (run_id,) in connection.execute(
        f"SELECT run_id FROM runs WHERE (label = $1 OR starts_with(label, $1 || '/')) AND {THEIRS} ORDER BY run_id",
        [label]).fetchall()]


def of_run(run_id: str) -> str:
    """A digest of all that was kept of an import, its label included."""
    return digest([(runs_folder() / inputs.IMPORTED / run_id / MANIFEST).read_bytes()])
