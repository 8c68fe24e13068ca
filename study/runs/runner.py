"""One run of one notebook by papermill, strictly.

papermill's own record says "completed" of runs whose kernel was killed or hung. So what happened is decided here, from the
exception, the kernel's exit and the cell reached. It is put right in the executed notebook and written last, to the
manifest. A folder without a manifest is an unfinished run and never counts.
"""
import contextlib
import datetime
import json
import os
import platform
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path

import nbformat
import papermill
import pyarrow as pa
import pyarrow.parquet as pq
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from papermill.exceptions import PapermillExecutionError

from study import errors
from study.project import ROOT, digest, exclusively, git_state, runs_folder, write_atomically
from study.runs import guard, inputs, kernels, notebook_file, secrets
from study.runs.folder import MANIFEST, METRICS, PREDICTIONS, lines
from study.runs.plan import UNLIMITED, Limits, Outcome, Plan, done_before, is_own, not_run

OnCell = Callable[[int, int], None]     # is told the index of a cell that starts, and how many there are
Stopping = Callable[[], bool]           # whether the run is to end early
PACKAGES = ("numpy", "numba", "pandas", "duckdb", "statsmodels", "scipy", "matplotlib", "papermill")
MARKER = "papermill-error-cell-tag"     # of cells that papermill adds where something went wrong
METRICS_SCHEMA = pa.schema([("run_id", pa.string()), ("t", pa.float64()), ("name", pa.string()), ("value", pa.float64()),
                            ("unit", pa.string())])


def run(plan: Plan, limits: Limits = UNLIMITED, on_cell: OnCell = lambda cell, of: None,
        stopping: Stopping = lambda: False) -> Outcome:
    """Do the run unless it has been done. Two processes that want the same run take turns, and the second finds it
    done. Never raises for what happens in the notebook; raises UserError for a disk that is full or not writable."""
    try:
        with exclusively(runs_folder() / ".locks" / plan.run_id):
            return done_before(plan) or not_run(plan) or _run(plan, limits, on_cell, stopping)
    except OSError as error:
        raise errors.of_the_system(error) from error


def _run(plan: Plan, limits: Limits, on_cell: OnCell, stopping: Stopping) -> Outcome:
    shutil.rmtree(plan.folder, ignore_errors=True)
    (plan.folder / "figures").mkdir(parents=True)
    write_atomically(plan.folder / "params.json", json.dumps(plan.parameters, indent=1, sort_keys=True) + "\n")
    named, code_state = _named_inputs(plan), git_state()
    started = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
    clock = time.perf_counter()
    reached = [0]
    status, reason, cpu_seconds = _execute(plan, limits, reached, on_cell, stopping)
    seconds = time.perf_counter() - clock
    if status != "ok":
        _correct_notebook(plan.folder / f"{plan.name}.ipynb", reached[0])
    else:
        status, broken = _gather(plan)
        reason = broken or reason
    read = inputs.taken(plan.folder, plan.notebook.parent, named) if is_own(plan.notebook) else {}
    (plan.folder / inputs.SEEN).unlink(missing_ok=True)
    secrets.hide_in(plan.folder, plan.secrets)
    write_atomically(plan.folder / MANIFEST, json.dumps({
        "run_id": plan.run_id, "notebook": plan.name, "status": status, "reason": secrets.hidden(reason, plan.secrets),
        "cell": reached[0], "parameters": plan.parameters, "made_from": plan.parts,
        **({"file": str(plan.notebook), "inputs": read} if is_own(plan.notebook) else {}),
        **({"secrets": sorted(plan.secrets)} if plan.secrets else {}), "git": code_state,
        "started": started.isoformat(timespec="seconds"), "seconds": round(seconds, 3), "cpu_seconds": cpu_seconds,
        "python": platform.python_version(), "packages": {name: metadata.version(name) for name in PACKAGES},
        "host": {"system": platform.platform(), "machine": platform.machine(), "cpus": os.cpu_count()},
        "files": {path.relative_to(plan.folder).as_posix(): digest([path.read_bytes()])
                  for path in sorted(plan.folder.rglob("*")) if path.is_file()},
    }, indent=1) + "\n")
    return Outcome(plan, status, reason, seconds)


def _named_inputs(plan: Plan) -> dict[str, str]:
    """Files that the text of a notebook of the user's own names, before it can change them."""
    if not is_own(plan.notebook):
        return {}
    code = [cell.source for cell in notebook_file.cells(plan.notebook) if cell.kind == "code"]
    return inputs.named(plan.notebook.parent, code, plan.parameters)


def _execute(plan: Plan, limits: Limits, reached: list[int], on_cell: OnCell,
             stopping: Stopping) -> tuple[str, str | None, float | None]:
    """Status, reason, and the processor time of the kernel and all that it started."""
    notebook = _with_secrets(nbformat.read(plan.notebook, as_version=4), plan)

    def at_cell(index: int) -> None:
        reached[0] = index
        on_cell(index, len(notebook.cells))

    own = {"STUDY_OWN": str(plan.notebook.parent)} if is_own(plan.notebook) else {}
    environment = kernels.defined_environment(
        STUDY_RUN=str(plan.folder), STUDY_READS=json.dumps(plan.reads), **own,
        STUDY_NEEDS=json.dumps({needed.name: needed.run_id for needed in plan.needs}))
    log = plan.folder / "kernel.log"
    with kernels.kernel(plan.notebook.parent, environment, log, limits.memory_bytes, plan.secrets) as kernel, \
            _ending_after(limits.run_seconds, kernel) as too_long:
        ended = _ended(kernel, notebook, plan, limits, reached, at_cell, stopping)
        if too_long.is_set() and ended[0] != "ok":
            ended = "timed out", (f"the run took longer than {limits.run_seconds} s, in cell {reached[0]}; "
                                  "more with --run-seconds")
    return *ended, kernel.cpu_seconds


def _with_secrets(notebook: nbformat.NotebookNode, plan: Plan) -> nbformat.NotebookNode:
    """The notebook, with a cell behind its parameters that asks for the secret ones."""
    if plan.secrets:
        cell = nbformat.v4.new_code_cell("\n".join(map(secrets.line_for, plan.secrets)))
        behind = next(index for index, other in enumerate(notebook.cells) if "parameters" in other.metadata.get("tags", ()))
        notebook.cells.insert(behind + 1, cell)
    return notebook


@contextlib.contextmanager
def _ending_after(seconds: float | None, kernel: kernels.Kernel) -> Iterator[threading.Event]:
    """End the kernel when so much time has passed; the event says whether that was so."""
    passed = threading.Event()

    def end() -> None:
        passed.set()
        kernel.kill()

    timer = None if seconds is None else threading.Timer(seconds, end)
    if timer:
        timer.daemon = True
        timer.start()
    try:
        yield passed
    finally:
        if timer:
            timer.cancel()


def _ended(kernel: kernels.Kernel, notebook: nbformat.NotebookNode, plan: Plan, limits: Limits, reached: list[int],
           at_cell: Callable[[int], None], stopping: Stopping) -> tuple[str, str | None]:
    """Status and reason."""
    try:
        executed = kernels.in_own_loop(
            papermill.execute_notebook, notebook, str(plan.folder / f"{plan.name}.ipynb"),
            parameters=plan.parameters, engine_name="study", kernel_name="python3", language="python",
            progress_bar=False, kernel=kernel, cell_seconds=limits.cell_seconds, on_cell=at_cell,
            source=_named(plan.notebook), hide=lambda content: secrets.hidden(content, plan.secrets))
        return _quiet_end(executed, plan)
    except CellTimeoutError:
        return "timed out", f"cell {reached[0]} ran longer than {limits.cell_seconds} s; more with --cell-seconds"
    except PapermillExecutionError as error:
        executed = _without_marks(plan.folder / f"{plan.name}.ipynb")
        if not any(map(_has_broken, executed.cells)):
            nbformat.write(executed, plan.folder / f"{plan.name}.ipynb")
            return "ok", None
        name, message = _complaint(executed.cells[reached[0]], error)
        return "failed", f"{name} in cell {reached[0]}: {' '.join(message.split())[:300]}".removesuffix(": ")
    except (DeadKernelError, RuntimeError) as error:
        if stopping():
            return "interrupted", f"stopped in cell {reached[0]}"
        ended = kernel.ended_by()
        return "died", f"kernel ended by {ended} in cell {reached[0]}" if ended else f"kernel lost: {error}"
    except OSError:
        raise
    except Exception as error:      # whatever else papermill or nbclient make of a notebook
        return "failed", f"{type(error).__name__} in cell {reached[0]}: {' '.join(str(error).split())[:300]}"


def _named(notebook: Path) -> str:
    """A notebook's path, from the project's folder on where it lies in it."""
    return notebook.relative_to(ROOT).as_posix() if notebook.is_relative_to(ROOT) else str(notebook)


def _without_marks(path: Path) -> nbformat.NotebookNode:
    """An executed notebook without the cells by which papermill points at errors, also at those that were expected."""
    notebook = nbformat.read(path, as_version=4)
    notebook.cells = [cell for cell in notebook.cells if MARKER not in cell.metadata.get("tags", ())]
    return notebook


def _unexpected(cell: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """Errors of a cell that is not tagged `raises-exception`."""
    if "raises-exception" in cell.metadata.get("tags", ()):
        return []
    return [output for output in cell.get("outputs", ()) if output.output_type == "error"]


def _has_broken(cell: nbformat.NotebookNode) -> bool:
    """With an error, or without one in its outputs, as with a magic that is not there."""
    return bool(_unexpected(cell)) or cell.metadata.get("papermill", {}).get("exception") is True


def _complaint(cell: nbformat.NotebookNode, error: PapermillExecutionError) -> tuple[str, str]:
    """Name and message of what broke a cell. IPython only prints that of a magic that is not there."""
    printed = [line for output in cell.get("outputs", ()) if output.get("name") == "stderr"
               for line in output.text.splitlines() if line.startswith("UsageError: ")]
    if _unexpected(cell) or not printed:
        return error.ename, str(error.evalue)
    return "UsageError", printed[-1].removeprefix("UsageError: ")


def _quiet_end(executed: nbformat.NotebookNode, plan: Plan) -> tuple[str, str | None]:
    """papermill takes `sys.exit(0)` and `exit()` for success and leaves the cells behind it out. Who types `exit()` leaves
    on purpose: the run is ok, and it is said. `sys.exit(0)` is success only if no cell is left."""
    for index, cell in enumerate(executed.cells):
        for output in _unexpected(cell):
            never_ran = [behind for behind, other in enumerate(executed.cells[index + 1:], index + 1)
                         if other.cell_type == "code" and other.source.strip()]
            left = any(guard.LEFT in other.get("text", "") for other in cell.outputs)
            if never_ran and not left:
                return "failed", f"{output.ename} in cell {index}: the cells after it never ran"
            cell.metadata.papermill |= {"exception": False, "status": "completed"}
            executed.metadata.papermill["exception"] = None
            nbformat.write(executed, plan.folder / f"{plan.name}.ipynb")
            if never_ran:
                return "ok", f"exit() in cell {index}: the cells after it never ran"
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
    cells = [cell for cell in notebook.cells if MARKER not in cell.metadata.get("tags", [])]
    for index, cell in enumerate(cells):
        state = cell.metadata.setdefault("papermill", {})
        if index == reached:
            state |= {"exception": True, "status": "failed"}
        elif index > reached:
            state |= {"exception": None, "status": "pending"}
    nbformat.write(notebook, path)
