"""What the tests share: notebooks made on the spot, and a folder for their runs."""
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from study.commands import main as cli

KERNELSPEC = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}


@pytest.fixture
def runs(tmp_path, monkeypatch) -> Path:
    """An empty folder in the place of papermill_runs/."""
    folder = tmp_path / "runs"
    monkeypatch.setenv("STUDY_RUNS", str(folder))
    return folder


@pytest.fixture
def notebook(tmp_path):
    """Make a notebook: notebook("name", "cell", "cell", parameters="n = 3") -> path."""
    def make(name: str, *cells: str, parameters: str | None = "n = 3") -> Path:
        tagged = [] if parameters is None else [new_code_cell(parameters, metadata={"tags": ["parameters"]})]
        path = tmp_path / f"{name}.ipynb"
        nbformat.write(new_notebook(cells=tagged + [new_code_cell(cell) for cell in cells], metadata=KERNELSPEC), path)
        return path
    return make


@pytest.fixture
def study(runs, monkeypatch, capsys):
    """The command line: study("run", path) -> what a finished process would say."""
    for console in (cli.out, cli.err):
        monkeypatch.setattr(console, "width", 200)

    def call(*words) -> subprocess.CompletedProcess:
        monkeypatch.setattr(sys, "argv", ["study", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            cli.main()
        said = capsys.readouterr()
        return subprocess.CompletedProcess(words, left.value.code or 0, said.out, said.err)
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
