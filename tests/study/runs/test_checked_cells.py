"""What a person writes into a parameters cell in JupyterLab is held to the bounds that the runner holds it to."""
import ast
import json
import os
import subprocess
import sys

import pytest
from IPython.core.interactiveshell import InteractiveShell

from study.project import NOTEBOOKS
from study.runs import catalogue, checked_cells, notebook_file, parameters

BOOK = "90_model_vs_zfs"


@pytest.fixture
def shell(monkeypatch):
    monkeypatch.setenv(checked_cells.NOTEBOOK, f"notebooks/{BOOK}.ipynb")
    monkeypatch.delenv("STUDY_RUN", raising=False)
    made = InteractiveShell()
    checked_cells.load_ipython_extension(made)
    return made


def source_of_parameters(name):
    cell, = (cell for cell in notebook_file.cells(NOTEBOOKS / f"{name}.ipynb") if "parameters" in cell.tags)
    return cell.source


NO_SUCH_LINE = "parameter 'line_kib' is -5 KiB, which is none of 8, 16, 32, 64, 128; take one of these"


@pytest.mark.parametrize(("cell", "sentence"), [
    ("line_kib = -5", NO_SUCH_LINE), ("line_kib = -1 * 5", NO_SUCH_LINE), ("line_kib: int = -5", NO_SUCH_LINE),
    ("import math\nline_kib = -5", NO_SUCH_LINE), ("'a remark'\nline_kib = mine = -5", NO_SUCH_LINE),
    ("line_kib, mine = -5, 3", NO_SUCH_LINE), ("for line_kib in (32, -5): pass", NO_SUCH_LINE),
    ("reads_per_s = 0", "parameter 'reads_per_s' is 0.0 1/s, below the least of 1; give more"),
    ("seconds = 'long'", "parameter 'seconds' is 'long', which is not a number; give a number"),
    ("seconds = '60'", "parameter 'seconds' is '60', which is text; write it without quotes"),
    ("seconds = {}", "parameter 'seconds' is {}, which is not a number; give a number"),
])
def test_a_value_that_a_parameter_may_not_have_is_told_and_nothing_else_runs(shell, capsys, cell, sentence):
    assert shell.run_cell("line_kib = 64\nseconds = 60.0\nreads_per_s = 10.0").success
    shell.run_cell(cell)
    assert capsys.readouterr().err.strip() == sentence
    done = shell.run_cell("drawn = line_kib")
    assert str(done.error_before_exec).startswith(f"not run: {sentence}")
    assert "drawn" not in shell.user_ns


@pytest.mark.parametrize("cell", ["line_kib = 32", "line_kib = 32; print(line_kib)", "line_kib: int = 32",
                                  "line_kib, seconds = 32, 10.0", "line_kib = 2 * 16", "if True:\n    line_kib = 32"])
def test_a_mended_value_lets_cells_run_again(shell, cell):
    assert shell.run_cell("line_kib = -5").success
    assert not shell.run_cell("print(line_kib)").success
    assert shell.run_cell(cell).success
    assert shell.run_cell("drawn = line_kib").success
    assert shell.user_ns["drawn"] == 32


def test_another_parameter_mends_nothing(shell):
    assert shell.run_cell("line_kib = -5\nseconds = 60.0").success
    assert not shell.run_cell("seconds = 20.0").success
    assert not shell.run_cell("drawn = line_kib").success


def test_an_empty_cell_is_never_refused(shell):
    assert shell.run_cell("line_kib = -5").success
    assert shell.run_cell("").success
    assert shell.run_cell("# a remark").success


def test_what_is_wrong_is_told_once(shell, capsys):
    for cell in ("line_kib = -5", "", "line_kib = -5", "line_kib = 32", "line_kib = -5"):
        shell.run_cell(cell)
    assert capsys.readouterr().err.count(NO_SUCH_LINE) == 2


def test_names_of_ones_own_are_no_parameters(shell):
    for cell in ("mine = -5", source_of_parameters(BOOK) + "\nmine = 3", "line_kib = 32\nmine = 3"):
        assert shell.run_cell(cell).success
    assert shell.run_cell("mine").success


def test_a_name_in_the_place_of_a_parameter_is_refused(shell):
    source = source_of_parameters(BOOK)
    assert shell.run_cell(source).success
    done = shell.run_cell(source.replace("line_kib =", "lines_kib ="))
    assert str(done.error_before_exec) == "the notebook has no parameter 'lines_kib'; did you mean 'line_kib'?"


@pytest.mark.parametrize("name", catalogue.STUDY)
def test_the_parameters_cells_that_are_committed_run(name, monkeypatch):
    monkeypatch.setenv(checked_cells.NOTEBOOK, f"{name}.ipynb")
    shell = InteractiveShell()
    checked_cells.load_ipython_extension(shell)
    assert shell.run_cell(source_of_parameters(name)).success
    assert shell.ast_transformers


# Where "" asks for the nearest thing, the notebook puts in what that is.
FILLED_IN = {("11_your_runs", "outcome"), ("11_your_runs", "statistic")}


@pytest.mark.parametrize("name", catalogue.STUDY)
def test_no_later_cell_gives_a_parameter_another_value(name):
    """The sliders would begin at that one."""
    path, changed = NOTEBOOKS / f"{name}.ipynb", set()
    code = [cell for cell in notebook_file.cells(path) if cell.kind == "code" and "parameters" not in cell.tags]
    for statement in (statement for cell in code for statement in ast.parse(cell.source).body):
        if isinstance(statement, ast.Assign | ast.For):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            changed |= {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}
    assert {(name, parameter) for parameter in changed & set(parameters.of_cell(path))} <= FILLED_IN


def test_an_error_of_ours_has_the_notebooks_own_names(shell, capsys):
    shell.run_cell("from study.errors import UserError\nraise UserError('record_bytes is 3072; choose 4096')")
    assert "record_kib is 3; choose 4 KiB" in capsys.readouterr().out


def test_an_error_of_ours_is_its_sentence(shell, capsys):
    done = shell.run_cell("from study.errors import UserError\nraise UserError('scale is 3; give 2 or less')")
    assert not done.success
    assert capsys.readouterr().out.strip() == "scale is 3; give 2 or less"


TOO_LARGE = """
from study.experiments.vdev_cache_2007 import sequential_reads
sequential_reads.check(n_streams=16, record_kib=128, file_gib=64.0, n_leaves=1, line_kib=64, cache_mib=10, max_pending=35,
                       sorts=True, segments=16, reads_ahead=True, seconds=10.0)
"""
NO_BOUNDS = """
from study.runs import parameters, sliders
sliders._control("n", 1, parameters.Parameter(kind="int", help="a number"))
"""


@pytest.mark.parametrize(("cell", "end"), [(TOO_LARGE, "; choose smaller files or more disks"),
                                           (NO_BOUNDS, "or choices, in study/runs/catalogue.py")])
def test_what_the_simulator_refuses_is_its_sentence_too(shell, capsys, cell, end):
    assert isinstance(shell.run_cell(cell).error_in_exec, ValueError)
    line, = capsys.readouterr().out.strip().splitlines()
    assert line.endswith(end)


@pytest.mark.parametrize("cell", ["int('a')", "raise ValueError('mine')",
                                  "from model.zfs import eras\nexec(compile('int(\"a\")', eras.__file__, 'exec'))"])
def test_an_error_that_nobody_foresaw_keeps_the_way_there(shell, capsys, cell):
    assert not shell.run_cell(cell).success
    assert "Traceback" in capsys.readouterr().out


def test_kernels_of_other_notebooks_take_any_value(monkeypatch):
    monkeypatch.setenv(checked_cells.NOTEBOOK, "mine.ipynb")
    shell = InteractiveShell()
    checked_cells.load_ipython_extension(shell)
    assert shell.run_cell("line_kib = -5").success


def test_a_kernel_finds_the_settings_that_are_written(tmp_path):
    checked_cells.write_settings(tmp_path)
    code = ("import sys, json; sys.prefix = sys.argv[1]\n"
            "from ipykernel.kernelapp import IPKernelApp\n"
            "app = IPKernelApp(); app.init_config_files(); app.load_config_file()\n"
            "print(json.dumps(app.config.InteractiveShellApp.extensions))")
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True,
                          timeout=60, env=dict(os.environ, IPYTHONDIR=str(tmp_path / "own")))
    assert json.loads(done.stdout) == [checked_cells.__name__]
