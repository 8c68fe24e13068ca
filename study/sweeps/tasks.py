"""What a worker does: one run of a notebook, or one draw of its experiment. It returns numbers and keeps nothing.

Each task is told by which identity the client knows it. A worker with other code, other data or another Python finds
another one, and refuses.
"""
import os
import shutil
import threading
import time
from functools import cache, lru_cache
from importlib import import_module
from typing import Any, NamedTuple

import pandas as pd

from study.ensembles import kept
from study.errors import UserError
from study.experiments.protocol import Drawn
from study.runs import catalogue
from study.runs.folder import METRICS, lines
from study.runs.plan import Limits, Plan, plan

OTHER = "has other code, data or packages than the client; bring both to the same commit"


class Row(NamedTuple):
    """Of one point: how it went, and its numbers by name."""
    point: str
    status: str                 # 'ok', or as `study.runs.plan.Outcome` has it
    reason: str | None
    seconds: float
    numbers: dict[str, float]


def run_notebook(point: str, notebook: str, parameters: dict[str, Any], limits: Limits) -> Row:
    """A run of a notebook in a folder of the worker's own, which is removed. Numbers are the metrics that it records; those
    of a series are left out."""
    from study.runs.runner import run  # brings papermill along
    start = time.perf_counter()
    with _LOCK:
        _own_runs()
    planned = plan(catalogue.find(notebook), parameters)
    if planned.run_id != point:
        raise UserError(f"a worker on {os.uname().nodename} {OTHER}")
    outcome = run(planned, limits)
    metrics = metrics_of(planned) if outcome.status == "ok" else {}
    shutil.rmtree(planned.folder, ignore_errors=True)
    return Row(point, outcome.status, outcome.reason, time.perf_counter() - start, metrics)


def metrics_of(planned: Plan) -> dict[str, float]:
    """What a run has recorded, but for series."""
    return {row["name"]: row["value"] for row in lines(planned.folder / METRICS) if row.get("t") is None}


_LOCK = threading.Lock()


@cache
def _own_runs() -> str:
    """A run store of this worker, in its own folder, which Dask removes."""
    from distributed import get_worker

    from study.store import store
    os.environ["STUDY_RUNS"] = folder = os.path.join(get_worker().local_directory, "runs")
    store.refresh()
    return folder


def simulate_draw(point: str, module: str, parameters: dict[str, Any], made_from: dict[str, str], values: dict[str, Any],
                  seed: int) -> Row:
    """A draw of an experiment: the quantities of all its variants, as `study.ensembles.ensembles.run` names them."""
    start = time.perf_counter()
    drawn = drawn_of(module, tuple(parameters.items()))
    if made_from_of(drawn) != made_from:
        raise UserError(f"a worker on {os.uname().nodename} {OTHER}")
    numbers = {f"{variant}/{name}": float(value) for variant in drawn.variants
               for name, value in drawn.simulate(values, seed, variant).items()}
    return Row(point, "ok", None, time.perf_counter() - start, numbers)


def made_from_of(drawn: Drawn) -> dict[str, str]:
    """Digests of code and data that a draw depends on, as they are here."""
    return kept.today(drawn.ensemble.maker, drawn.ensemble.reads)


@lru_cache(maxsize=4)
def drawn_of(module: str, parameters: tuple[tuple[str, Any], ...]) -> Drawn:
    """What draws of an experiment are, with these parameters of its notebook."""
    return import_module(module).drawn(**dict(parameters))


def table(points: pd.DataFrame, rows: list[Row]) -> pd.DataFrame:
    """A row for each point, in their order: its values, `status`, and numbers. `points` are indexed by their keys."""
    of_rows = pd.DataFrame([{"status": row.status, **row.numbers} for row in rows], index=[row.point for row in rows])
    return points.join(of_rows)
