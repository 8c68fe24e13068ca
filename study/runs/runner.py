"""One run of one notebook by papermill, strictly.

papermill's own record says "completed" of runs whose kernel was killed or hung, so what happened is decided here, from
the exception, the kernel's exit and the cell reached; it is put right in the executed notebook and written last, to the
manifest. A folder without a manifest is an unfinished run and never counts.
"""
import datetime
import json
import os
import platform
import shutil
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import nbformat
import papermill
import pyarrow as pa
import pyarrow.parquet as pq
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from papermill.exceptions import PapermillExecutionError

from study import errors
from study.project import digest, exclusively, runs_folder, write_atomically
from study.runs import kernels
from study.runs.folder import MANIFEST, METRICS, PREDICTIONS, lines
from study.runs.plan import UNLIMITED, Limits, Outcome, Plan, done_before, not_run

PACKAGES = ("numpy", "numba", "pandas", "duckdb", "statsmodels", "scipy", "matplotlib", "papermill")
METRICS_SCHEMA = pa.schema([("run_id", pa.string()), ("t", pa.float64()), ("name", pa.string()), ("value", pa.float64()),
                            ("unit", pa.string())])


def run(plan: Plan, limits: Limits = UNLIMITED, on_cell: Callable[[int, int], None] = lambda cell, of: None,
        stopping: Callable[[], bool] = lambda: False) -> Outcome:
    """Do the run unless it has been done. Two processes that want the same run take turns, and the second finds it
    done. Never raises for what happens in the notebook; raises UserError for a disk that is full or not writable."""
    try:
        with exclusively(runs_folder() / ".locks" / plan.run_id):
            return done_before(plan) or not_run(plan) or _run(plan, limits, on_cell, stopping)
    except OSError as error:
        raise errors.of_the_system(error) from error


def _run(plan, limits, on_cell, stopping) -> Outcome:
    shutil.rmtree(plan.folder, ignore_errors=True)
    (plan.folder / "figures").mkdir(parents=True)
    write_atomically(plan.folder / "params.json", json.dumps(plan.parameters, indent=1, sort_keys=True) + "\n")
    started = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
    clock = time.perf_counter()
    reached = [0]
    status, reason, cpu_seconds = _execute(plan, limits, reached, on_cell, stopping)
    seconds = time.perf_counter() - clock
    if status != "ok":
        _correct_notebook(plan.folder / f"{plan.name}.ipynb", reached[0])
    else:
        status, reason = _gather(plan)
    write_atomically(plan.folder / MANIFEST, json.dumps({
        "run_id": plan.run_id, "notebook": plan.name, "status": status, "reason": reason, "cell": reached[0],
        "parameters": plan.parameters, "made_from": plan.parts,
        "started": started.isoformat(timespec="seconds"), "seconds": round(seconds, 3), "cpu_seconds": cpu_seconds,
        "python": platform.python_version(), "packages": {name: metadata.version(name) for name in PACKAGES},
        "host": {"system": platform.platform(), "machine": platform.machine(), "cpus": os.cpu_count()},
        "files": {path.relative_to(plan.folder).as_posix(): digest([path.read_bytes()])
                  for path in sorted(plan.folder.rglob("*")) if path.is_file()},
    }, indent=1) + "\n")
    return Outcome(plan, status, reason, seconds)


def _execute(plan, limits, reached, on_cell, stopping) -> tuple[str, str | None, float | None]:
    """Status, reason, and the kernel's processor time if it did not end by itself."""
    notebook = nbformat.read(plan.notebook, as_version=4)

    def at_cell(index):
        reached[0] = index
        on_cell(index, len(notebook.cells))

    environment = kernels.clean_environment(STUDY_RUN=str(plan.folder), STUDY_READS=json.dumps(plan.reads),
                                            STUDY_NEEDS=json.dumps({needed.name: needed.run_id for needed in plan.needs}))
    with kernels.kernel(plan.notebook.parent, environment, plan.folder / "kernel.log", limits.memory_bytes) as kernel:
        return *_ended(kernel, notebook, plan, limits, reached, at_cell, stopping), kernel.cpu_seconds


def _ended(kernel, notebook, plan, limits, reached, at_cell, stopping) -> tuple[str, str | None]:
    """Status and reason."""
    try:
        executed = kernels.in_own_loop(
            papermill.execute_notebook, notebook, str(plan.folder / f"{plan.name}.ipynb"),
            parameters=plan.parameters, engine_name="study", kernel_name="python3", language="python",
            progress_bar=False, kernel=kernel, cell_seconds=limits.cell_seconds, on_cell=at_cell)
        return _quiet_end(executed)
    except CellTimeoutError:
        return "timed out", f"cell {reached[0]} ran longer than {limits.cell_seconds} s"
    except PapermillExecutionError as error:
        message = " ".join(str(error.evalue).split())[:300]
        return "failed", f"{error.ename} in cell {reached[0]}: {message}"
    except (DeadKernelError, RuntimeError) as error:
        if stopping():
            return "interrupted", f"stopped in cell {reached[0]}"
        ended = kernel.ended_by()
        return "died", f"kernel ended by {ended} in cell {reached[0]}" if ended else f"kernel lost: {error}"
    except OSError:
        raise
    except Exception as error:      # whatever else papermill or nbclient make of a notebook
        return "failed", f"{type(error).__name__} in cell {reached[0]}: {' '.join(str(error).split())[:300]}"


def _quiet_end(executed: nbformat.NotebookNode) -> tuple[str, str | None]:
    """papermill takes `sys.exit(0)` for success and leaves the cells behind it out; it is none."""
    for index, cell in enumerate(executed.cells):
        for output in cell.get("outputs", ()):
            if output.output_type == "error" and "raises-exception" not in cell.metadata.get("tags", ()):
                return "failed", f"{output.ename} in cell {index}: the cells after it never ran"
    return "ok", None


def _gather(plan: Plan) -> tuple[str, str | None]:
    """Turn what the notebook recorded into metrics.parquet."""
    recorded = lines(plan.folder / METRICS)
    whole = [row["name"] for row in recorded if row["t"] is None]
    predicted = [row["claim_id"] for row in lines(plan.folder / PREDICTIONS)]
    for kind, names in (("metric", whole), ("prediction of", predicted)):
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            return "failed", f"{kind} {twice[0]} is recorded twice; give each its own name, once"
    table = pa.Table.from_pylist([{"run_id": plan.run_id, **row} for row in recorded], schema=METRICS_SCHEMA)
    pq.write_table(table, plan.folder / "metrics.parquet")
    return "ok", None


def _correct_notebook(path: Path, reached: int) -> None:
    """Say in the executed notebook what papermill leaves out: which cell broke, and that later ones never ran. The
    injected parameters cell shifts nothing: `reached` counts the executed notebook's cells."""
    if not path.exists():
        return
    notebook = nbformat.read(path, as_version=4)
    notebook.metadata.setdefault("papermill", {})["exception"] = True
    cells = [cell for cell in notebook.cells if "papermill-error-cell-tag" not in cell.metadata.get("tags", [])]
    for index, cell in enumerate(cells):
        state = cell.metadata.setdefault("papermill", {})
        if index == reached:
            state |= {"exception": True, "status": "failed"}
        elif index > reached:
            state |= {"exception": None, "status": "pending"}
    nbformat.write(notebook, path)
