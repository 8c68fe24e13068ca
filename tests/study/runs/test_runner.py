"""One run, strictly: what is said of it is what happened."""
import functools
import hashlib
import json
import multiprocessing
import os
import shutil

import nbformat
import pandas as pd
import pytest

from model.jit import sources
from study import project
from study.errors import UserError
from study.runs import plan as plans
from study.runs.folder import manifest
from study.runs.plan import Limits, plan
from study.runs.runner import run

pytestmark = pytest.mark.slow      # kernels of Jupyter are started

RECORD = "from study.runs import record\nrecord.metric('answer.value', n, '1')"


def statuses(folder, name) -> list[str]:
    cells = nbformat.read(folder / f"{name}.ipynb", as_version=4).cells
    return [cell.metadata.papermill["status"] for cell in cells]


def test_a_run_leaves_notebook_parameters_metrics_and_a_manifest(runs, notebook):
    outcome = run(plan(notebook("good", RECORD), {"n": "7"}))
    assert outcome.status == "ok"
    folder = runs / "good" / outcome.plan.run_id
    assert json.loads((folder / "params.json").read_text()) == {"n": 7}
    table = pd.read_parquet(folder / "metrics.parquet")
    assert list(table.columns) == ["run_id", "t", "name", "value", "unit"]
    assert table.iloc[0][["name", "value", "unit"]].tolist() == ["answer.value", 7.0, "1"]
    written = manifest(folder)
    assert written["status"] == "ok"
    for name, digest in written["files"].items():
        content = (folder / name).read_bytes()
        assert digest == hashlib.sha256(len(content).to_bytes(8, "little") + content).hexdigest()


@pytest.mark.slow
def test_processor_time_is_that_of_the_kernel_and_its_children_and_no_sleep(runs, notebook):
    """Each of both works for a second; the second that the kernel sleeps counts for nothing."""
    work = "import time\nwhile time.process_time() < {}:\n    pass"
    child = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {work.format(1.0)!r}], check=True)"
    cells = [f"import time\nbegan = time.process_time()\n{work.format('began + 1')}", child, "import time\ntime.sleep(4)"]
    works, sleeps = (run(plan(notebook(name, "n", *chosen))).plan
                     for name, chosen in (("works", cells[:2]), ("sleeps", cells[2:])))
    busy, idle = manifest(works.folder), manifest(sleeps.folder)
    assert busy["cpu_seconds"] > 2
    assert idle["seconds"] > 4
    assert idle["cpu_seconds"] < idle["seconds"] - 2    # a kernel starts in one thread, so in no less than it works


def test_the_template_is_never_written(runs, notebook):
    path = notebook("template", RECORD)
    before = path.read_bytes()
    run(plan(path, {"n": 9}))
    assert path.read_bytes() == before


@pytest.mark.parametrize(("name", "cell", "status", "reason"), [
    ("killed", "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "died", "signal SIGKILL"),
    ("left", "import os\nos._exit(0)", "died", "exit code 0"),
    ("segfault", "import ctypes\nctypes.string_at(0)", "died", "signal SIGSEGV"),
    pytest.param("hung", "import time\ntime.sleep(600)", "timed out", "longer than 4 s; more with --cell-seconds",
                 marks=pytest.mark.slow),
    pytest.param("deaf", "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True:\n    time.sleep(1)",
                 "timed out", "4 s", marks=pytest.mark.slow),
    ("wrong", "1 / 0", "failed", "ZeroDivisionError"),
    ("exits", "raise SystemExit(3)", "failed", "SystemExit"),
    ("leaves", "import sys\nsys.exit(0)", "failed", "SystemExit in cell 3: the cells after it never ran"),
    ("quits", "raise SystemExit", "failed", "the cells after it never ran"),
    ("with_code", "exit(3)", "failed", "SystemExit in cell 3: 3"),
    ("no_magic", "%no_such_magic", "failed", "UsageError in cell 3: Line magic function `%no_such_magic` not found."),
    ("hog", "import numpy as np\nx = np.ones(10**10)", "failed", "MemoryError"),
])
def test_a_run_that_breaks_says_how_and_where(runs, notebook, name, cell, status, reason):
    """papermill's saved notebook says 'completed' of cells that never ran; ours must not."""
    outcome = run(plan(notebook(name, "m = n", cell, "print('never')")), Limits(cell_seconds=4, memory_bytes=6 * 10**9))
    assert (outcome.status, reason in outcome.reason, "cell 3" in outcome.reason) == (status, True, True)
    written = manifest(outcome.plan.folder)
    assert (written["status"], written["reason"], written["cell"]) == (status, outcome.reason, 3)
    executed = nbformat.read(outcome.plan.folder / f"{name}.ipynb", as_version=4)
    assert executed.metadata.papermill["exception"] is True
    after = [ran.metadata.papermill["status"] for ran in executed.cells if ran.source == "print('never')"]
    broken = [ran.metadata.papermill["status"] for ran in executed.cells if ran.source == cell]
    assert (broken, after) == (["failed"], ["pending"])


@pytest.mark.parametrize("cell", ["exit()", "quit(0)", "exit"])
def test_who_leaves_by_exit_is_told_what_never_ran(runs, notebook, cell, study):
    path = notebook("leaves", "m = n", cell, "m / 0")
    for _ in ("run", "done before"):
        done = study("run", path)
        assert done.returncode == 0
        assert "exit() in cell 3: the cells after it never ran" in done.stdout + done.stderr


@pytest.mark.parametrize("cell", ["exit()", "quit()", "import sys\nsys.exit(0)"])
def test_an_exit_behind_which_nothing_is_left_to_run_is_no_failure(runs, notebook, cell):
    outcome = run(plan(notebook("last", "m = n", cell)))
    assert (outcome.status, outcome.reason) == ("ok", None)
    executed = nbformat.read(outcome.plan.folder / "last.ipynb", as_version=4)
    assert {ran.metadata.papermill["status"] for ran in executed.cells} == {"completed"}


@pytest.mark.parametrize(("name", "cell", "code"), [
    ("full", "from model.simulations.order_entry.series import PoolFull\nraise PoolFull('1 of 1 B are taken')", 2),
    ("nothing", "from model.simulations.order_entry.series import CannotRun\nraise CannotRun('nothing was written')", 2),
    ("refused", "from study.errors import UserError\nraise UserError('0 disks make no vdev')", 2),
    ("broken", "raise ValueError('a defect')", 1), ("fine", "m = n", 0)])
def test_a_run_that_a_parameter_ended_ends_the_command_with_2(runs, notebook, name, cell, code):
    assert run(plan(notebook(name, "m = n", cell))).exit_code == code


def test_a_broken_run_is_repeated_and_a_good_one_is_not(runs, notebook, tmp_path):
    flag = tmp_path / "flag"
    path = notebook("flaky", f"open({str(flag)!r}, 'a').write('.')\nassert open({str(flag)!r}).read() != '.'")
    assert [run(plan(path)).status for _ in range(3)] == ["failed", "ok", "ok"]
    assert flag.read_text() == ".."


def test_a_folder_without_a_manifest_never_counts(runs, notebook):
    planned = plan(notebook("cut", RECORD))
    planned.folder.mkdir(parents=True)
    (planned.folder / "metrics.parquet").write_text("half a file")
    assert plans.done_before(planned) is None
    assert run(planned).status == "ok"


def test_a_number_recorded_twice_fails_the_run(runs, notebook):
    outcome = run(plan(notebook("twice", RECORD, RECORD.replace("n,", "n + 1,"))))
    assert (outcome.status, "answer.value is recorded twice" in outcome.reason) == ("failed", True)


def test_reading_undeclared_data_fails_the_run(runs, notebook, monkeypatch):
    """Its digest is not part of the run's identity, so the result would not notice when the file changes."""
    planned = plan(notebook("sly", "from study.project import data_file\ndata_file('claims.toml')"))
    declared = plans.Plan(planned.notebook, planned.parameters, ("traces/x",), planned.parts)
    outcome = run(declared)
    assert (outcome.status, "claims.toml without saying so" in outcome.reason) == ("failed", True)


def test_the_identity_covers_code_parameters_data_and_modules_but_not_prose(notebook, monkeypatch):
    path = notebook("same", RECORD)
    first = plan(path).run_id
    content = nbformat.read(path, as_version=4)
    content.cells.append(nbformat.v4.new_markdown_cell("Prose."))
    nbformat.write(content, path)
    assert plan(path).run_id == first
    assert plan(path, {"n": 3}).run_id == first
    different = {plan(path, {"n": 4}).run_id, plan(notebook("same", RECORD + "\n")).run_id}
    monkeypatch.setattr(plans.sources, "digest_once", lambda *names, but: "other")
    different.add(plan(path).run_id)
    assert first not in different
    assert len(different) == 3


class OneChanged(sources.Digests):
    """Sources as they are, but for one file that does something else."""
    changed = ""

    def of(self, path):
        does, names = super().of(path)
        return ("other" if self.changed and path.as_posix().endswith(self.changed) else does), names


@pytest.mark.parametrize(("changed", "repeated"), [
    # Machines of the reader's own can have Oracle, and so can those of the blind trials, whose error 01, 02, 04 and 06 tell.
    # 05 reads the record of 04.
    ("model/databases/oracle/step.py", {"01", "02", "04", "05", "06", "07", "08", "09", "10", "12", "14", "15", "91"}),
    ("model/simulations/sequential_reads/events.py", {"02"}),
    # Filled pools.
    ("model/zfs/metaslab/metaslab_group.py", {"01", "02", "03", "04", "05", "06", "07", "08", "09", "10", "12", "13", "14",
                                               "15", "90", "91"}),
    ("model/simulations/order_entry/log_blocks.py", {"03", "04", "05", "06"}),
    ("study/figures/ladders.py", {"07", "08"}),
    ("study/runs/guard.py", {"00", "01", "02", "03", "04", "05", "06", "07", "08", "09", "10", "11", "12", "13", "14",
                             "15", "90", "91"})])
def test_a_changed_source_repeats_the_notebooks_that_can_see_it(changed, repeated, monkeypatch):
    digests = OneChanged()
    monkeypatch.setattr(plans.sources, "digest_once", functools.partial(sources.digest, digests=digests))
    before = plans.all_plans()
    digests.changed = changed
    after = plans.all_plans()
    assert {old.name[:2] for old, new in zip(before, after, strict=True) if old.run_id != new.run_id} == repeated


@pytest.mark.parametrize(("book", "name"), [("90_model_vs_zfs", "traces/vdev_cache/mix_L2.parquet"),
                                            ("00_claims", "published/kustarz-2007.toml"), ("00_claims", "claims.toml")])
def test_the_identity_of_a_notebook_of_the_study_covers_what_it_reads(book, name, monkeypatch, tmp_path):
    """One byte of a trace, and the run is another."""
    data = tmp_path / "data"
    shutil.copytree(plans.DATA, data)
    for module in (plans, project):
        monkeypatch.setattr(module, "DATA", data)
        monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(plans.sources, "digest_once", lambda *names, but: "the same")
    first = plan(plans.NOTEBOOKS / f"{book}.ipynb").run_id
    with open(data / name, "ab") as file:
        file.write(b"x")
    assert plan(plans.NOTEBOOKS / f"{book}.ipynb").run_id != first


def test_a_pattern_that_matches_nothing_is_refused():
    with pytest.raises(UserError, match="no file matches data/nowhere"):
        project.data_files("nowhere/*")


def test_the_identity_of_an_own_notebook_covers_its_folder_and_the_modules_beside_it(notebook, tmp_path):
    path = notebook("own", "import helper")
    first = plan(path).run_id
    (tmp_path / "helper.py").write_text("x = 1")
    second = plan(path).run_id
    (tmp_path / "elsewhere").mkdir()
    shutil.copy(path, tmp_path / "elsewhere")
    assert len({first, second, plan(tmp_path / "elsewhere" / "own.ipynb").run_id}) == 3


@pytest.mark.parametrize("cell", [
    "import pandas\npandas.read_csv(project.DATA / 'claims.toml', sep='|')",
    "open(project.DATA / 'claims.toml')",
    "from study.store import store\nwith store.open():\n    pass",
])
def test_data_that_python_opens_must_be_declared(runs, notebook, cell):
    planned = plan(notebook("sneaky", f"from study import project\n{cell}"))
    outcome = run(plans.Plan(planned.notebook, planned.parameters, ("traces/x",), planned.parts))
    assert (outcome.status, "without saying so" in outcome.reason) == ("failed", True)


def test_a_module_that_the_user_put_on_the_path_stays_out(runs, notebook, tmp_path, monkeypatch):
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "intruder.py").write_text("x = 1")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "foreign"))
    outcome = run(plan(notebook("shielded", "import intruder")))
    assert (outcome.status, "intruder" in outcome.reason) == ("failed", True)


def test_a_notebook_that_names_no_language_runs(runs, notebook):
    path = notebook("plain", RECORD)
    content = nbformat.read(path, as_version=4)
    content.metadata = {}
    nbformat.write(content, path)
    assert run(plan(path)).status == "ok"


@pytest.mark.parametrize("name", ["metrics.parquet", "params.json"])
def test_a_damaged_record_does_not_count_and_is_made_again(runs, notebook, name):
    planned = run(plan(notebook("damaged", RECORD))).plan
    (planned.folder / name).write_bytes(b"garbage")
    assert plans.done_before(planned) is None
    assert run(planned).again
    (planned.folder / name).unlink()
    assert run(planned).again
    assert plans.done_before(planned)


def test_a_record_copied_to_another_name_does_not_count(runs, notebook):
    planned = run(plan(notebook("copied", RECORD))).plan
    shutil.copytree(planned.folder, planned.folder.parent / "other")
    assert manifest(planned.folder.parent / "other") is None


def test_user_start_up_files_stay_out(runs, notebook, tmp_path, monkeypatch):
    startup = tmp_path / "ipython" / "profile_default" / "startup"
    startup.mkdir(parents=True)
    (startup / "00.py").write_text("leaked = 1")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    assert run(plan(notebook("clean", "assert 'leaked' not in globals()"))).status == "ok"


def test_a_long_temporary_folder_does_not_break_the_sockets(runs, notebook, tmp_path, monkeypatch):
    long = tmp_path / ("x" * 100)
    long.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(long))
    assert run(plan(notebook("long", RECORD))).status == "ok"


def _in_a_daemon(path, answer):
    answer.put(run(plan(path)).status)


@pytest.mark.slow
def test_runs_work_inside_daemonic_workers(runs, notebook):
    """Dask's workers are daemons, which may not have children by multiprocessing."""
    context = multiprocessing.get_context("spawn")
    answer = context.Queue()
    worker = context.Process(target=_in_a_daemon, args=(notebook("daemon", RECORD), answer), daemon=True)
    worker.start()
    try:
        assert answer.get(timeout=120) == "ok"
        worker.join(10)
    finally:
        worker.kill()
        worker.join(10)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_an_unwritable_folder_is_one_sentence(runs, notebook):
    runs.mkdir()
    runs.chmod(0o500)
    with pytest.raises(UserError, match="cannot read or write at"):
        run(plan(notebook("locked", RECORD)))
