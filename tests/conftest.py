"""What the tests share: their order, notebooks made on the spot, and a folder for their runs."""
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import settings

from study.commands import main as cli
from support import file_costs

cli.without_grammars()      # before anything imports nbformat
import nbformat  # noqa: E402
from nbformat.v4 import new_code_cell, new_notebook  # noqa: E402

from study.documents import audit  # noqa: E402
from study.runs.plan import plan  # noqa: E402
from study.runs.runner import run  # noqa: E402
from study.store import store  # noqa: E402

pytest_plugins = ["support.imported_runs", "support.interpreted_tests"]
settings.register_profile("untimed", deadline=None)       # no test fails because a machine is busy
settings.load_profile("untimed")
KERNELSPEC = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}


def pytest_collection_modifyitems(items):
    """The longest files come first. Each goes to the worker that has done the ones before (`--dist loadfile`)."""
    slow = Counter(item.path for item in items if item.get_closest_marker("slow"))

    def place(item):
        return -file_costs.seconds(item.path.stem.removeprefix("test_"), slow[item.path])
    items.sort(key=place)


@pytest.fixture
def runs(tmp_path, monkeypatch, request) -> Path:
    """An empty folder in the place of papermill_runs/. Only in tests of the store itself are published data read for it."""
    folder = tmp_path / "runs"
    monkeypatch.setenv("STUDY_RUNS", str(folder))
    if request.path.parent.name != "store":
        monkeypatch.setattr(store, "_fill", filled_by_copy)
    return folder


_PUBLISHED: dict[tuple, bytes] = {}


def filled_by_copy(file: Path, wanted: dict[str, str], fill=store._fill) -> None:
    """A store with all that is wanted. Many tests have a new one, and the same published data are in all of them. These are
    read once, for such digests and migrations."""
    published = {source: digest for source, digest in wanted.items()
                 if source == "claims" or source.startswith("published/")}
    if not file.exists():
        key = *published.items(), *(path.read_bytes() for path in store._migrations())
        if key in _PUBLISHED:
            file.write_bytes(_PUBLISHED[key])
        else:
            fill(file, published)
            _PUBLISHED[key] = file.read_bytes()
    if published != wanted:
        fill(file, wanted)


@pytest.fixture
def notebook(tmp_path):
    """Make a notebook: notebook("name", "cell", "cell", parameters="n = 3") -> path."""
    def make(name: str, *cells: str, parameters: str | None = "n = 3") -> Path:
        return write_notebook(tmp_path / f"{name}.ipynb", parameters, cells)
    return make


def write_notebook(path: Path, parameters: str | None, cells) -> Path:
    tagged = [] if parameters is None else [new_code_cell(parameters, metadata={"tags": ["parameters"]})]
    nbformat.write(new_notebook(cells=tagged + [new_code_cell(cell) for cell in cells], metadata=KERNELSPEC), path)
    return path


@pytest.fixture(scope="module")
def made_once(tmp_path_factory):
    """A notebook run once for all tests of a file: made_once("name", {"n": 2}, "cell", "cell") -> the run's plan. Its folder
    is that of the test at hand, which has a copy of the record to itself (`plan.folder` follows STUDY_RUNS)."""
    shelf, plans = tmp_path_factory.mktemp("once"), {}

    def make(name: str, parameters: dict, *cells: str):
        key = name, str(parameters), cells
        if key not in plans:
            path = write_notebook(shelf / f"{name}.ipynb", "n = 3", cells)
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("STUDY_RUNS", str(shelf / "runs"))
                outcome = run(plan(path, parameters))
                assert outcome.status == "ok"
                plans[key] = outcome.plan, outcome.plan.folder
        planned, folder = plans[key]
        shutil.copytree(folder, planned.folder)
        return planned
    return make


_AUDITS: dict[tuple, pd.DataFrame] = {}


def audited_once(connection, only: str | None = None, run_audit=audit.run) -> pd.DataFrame:
    """The audit of what a run store holds of published data. It takes a second, and depends on nothing else."""
    key = only, *connection.execute("SELECT source, digest FROM ingested "
                                    "WHERE source = 'claims' OR source LIKE 'published/%' ORDER BY ALL").fetchall()
    if key not in _AUDITS:
        _AUDITS[key] = run_audit(connection, only)
    return _AUDITS[key].copy()


@pytest.fixture
def study(runs, monkeypatch, capsys, request):
    """The command line: study("run", path) -> what a finished process would say."""
    for console in (cli.out, cli.err):
        monkeypatch.setattr(console, "width", 200)
    if request.path.parent.name != "store":     # there the audit is who reads blocks that are damaged
        monkeypatch.setattr(audit, "run", audited_once)

    def call(*words) -> subprocess.CompletedProcess:
        monkeypatch.setattr(sys, "argv", ["study", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            cli.main()
        printed = capsys.readouterr()
        return subprocess.CompletedProcess(words, left.value.code or 0, printed.out, printed.err)
    return call


def command(*words) -> list[str]:
    """The command line for a process of its own."""
    return [sys.executable, "-c", "from study.commands.main import main; main()", *map(str, words)]


def one_sentence(done: subprocess.CompletedProcess) -> str:
    """What a user's mistake must look like: exit 2, one line on stderr, no traceback. Returns the line."""
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stderr.startswith("study: ")
    assert done.stderr.count("\n") == 1
    return done.stderr
