"""The project's own files agree with each other."""
import ast
import os
import re
import shlex
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml

import set_up
from study.project import ROOT, refuse_unwritable, write_atomically
from support import file_costs
from support.processes import run

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
LOCKS = sorted(ROOT.glob("requirements*.lock"))


def test_conda_users_get_the_same_direct_dependencies():
    listed = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    conda = [item for item in listed if isinstance(item, str)] + [item for entry in listed if isinstance(entry, dict)
                                                                  for item in entry["pip"]]
    wanted = PROJECT["dependencies"] + PROJECT["optional-dependencies"]["test"]
    assert set(conda) - {"pip"} == {*wanted, f"python{PROJECT['requires-python']}"}


def test_locks_pin_every_direct_dependency_by_hash():
    pinned = {re.match(r"[\w-]+", line)[0] for line in (ROOT / "requirements.lock").read_text().splitlines() if "==" in line}
    wanted = PROJECT["dependencies"] + PROJECT["optional-dependencies"]["test"]
    assert {re.match(r"[\w-]+", item)[0].lower() for item in wanted} <= pinned
    for lock in LOCKS:
        entries = re.split(r"\n(?=\S)", lock.read_text())
        assert all("--hash=sha256:" in entry for entry in entries if "==" in entry)


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_locks_name_no_address(lock):
    assert "://" not in lock.read_text()


def test_packages_have_their_files_that_are_not_python():
    """An installation that is no link to the tree gets those alone that pyproject.toml names."""
    patterns = PYPROJECT["tool"]["setuptools"]["package-data"]
    for package in ("model", "study"):
        folder, other = ROOT / package, (".py", ".pyc", ".md", ".nbi", ".nbc")      # sources, words, and what is compiled
        named = {path for pattern in patterns.get(package, []) for path in folder.glob(pattern) if path.is_file()}
        assert named == {path for path in folder.rglob("*") if path.is_file() and path.suffix not in other}


def test_files_of_tests_with_a_cost_exist():
    """Those that the order of tests goes by (`conftest.py`)."""
    names = {path.stem.removeprefix("test_") for path in (ROOT / "tests").rglob("test_*.py")}
    assert set(file_costs.SECONDS) <= names
    assert file_costs.seconds("nothing", 3) == 1.5


def _imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").split(".")[0]


def test_imports_go_from_notebooks_to_study_to_model_and_never_back():
    for path in (ROOT / "model").rglob("*.py"):
        of_numba = {"numba", "llvmlite"} if path.name == "pipeline.py" else {"numba"}     # what Numba compiles with
        outside = set(_imports(path)) - set(sys.stdlib_module_names) - {"model", "numpy"} - of_numba
        assert not outside, f"{path.name} imports {outside}"
    for path in (ROOT / "study").rglob("*.py"):
        assert "notebooks" not in set(_imports(path))


def test_the_model_draws_no_numbers_of_its_own_and_reads_no_clock():
    """jit/ is the exception: it digests the sources for the compile cache, before anything runs."""
    for path in (ROOT / "model").rglob("*.py"):
        forbidden = {"random", "time", "datetime"} | (set() if path.parent.name == "jit" else {"os", "pathlib", "io"})
        assert not set(_imports(path)) & forbidden, path.name
        assert "np.random.seed" not in path.read_text()
        assert not re.search(r"(?<!\w)print\(", path.read_text()), path.name


@pytest.mark.parametrize(("broken", "advice"), [
    ("sys.modules['ensurepip'] = None", "apt-get install python3-venv"),
    ("sys.version_info = (3, 9, 2); os.environ['PATH'] = ''", "install Python 3.11 or newer"),
])
def test_a_machine_that_lacks_something_is_told_what_to_install(broken, advice):
    script = f"import os, sys, runpy; {broken}; runpy.run_path('set_up.py', run_name='__main__')"
    done = run([sys.executable, "-c", script], cwd=ROOT)
    assert done.returncode == 2
    assert advice in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_hook_and_the_filter_strip_the_same():
    assert HOOKS["nbstripout"]["entry"].replace('"', "'") == set_up.STRIP


def test_set_up_that_is_stopped_says_so_in_one_sentence():
    script = ("import hashlib, runpy\n"
              "def stopped(*words): raise KeyboardInterrupt\n"
              "hashlib.sha256 = stopped\n"
              "runpy.run_path('set_up.py', run_name='__main__')")
    done = run([sys.executable, "-c", script], cwd=ROOT)
    message = "\nset-up: stopped; run the same command again, it goes on where it can\n"
    assert (done.returncode, done.stderr) == (130, message)


@pytest.mark.parametrize(("umask", "mode"), [(0o077, 0o600), (0o022, 0o644), (0o002, 0o664)])
def test_who_may_read_what_is_written_the_umask_says(tmp_path, umask, mode):
    before = os.umask(umask)
    try:
        write_atomically(tmp_path / "file", "text")
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == mode


HOOKS = {hook["id"]: hook for repo in yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
         for hook in repo["hooks"]}


def test_hooks_run_what_is_installed_and_fetch_nothing():
    wanted = PROJECT["optional-dependencies"]["test"]
    for hook in HOOKS.values():
        program = shlex.split(hook["entry"])[0]
        assert hook["language"] == "system"
        assert program == ".venv/bin/python" or any(item.startswith(program.removeprefix(".venv/bin/")) for item in wanted)


@pytest.mark.parametrize(("subject", "code"), [("é" * 72, 0), ("x" * 73, 1)])
def test_a_long_subject_of_a_commit_is_refused(tmp_path, subject, code):
    (tmp_path / "message").write_text(f"{subject}\n\n{'x' * 100}\n", encoding="utf-8")
    _, *words = shlex.split(HOOKS["subject"]["entry"])
    done = run([sys.executable, *words, tmp_path / "message"])
    assert done.returncode == code, done.stderr


def test_the_code_is_tidy():
    done = run([sys.executable, "-m", "ruff", "check", "--quiet", ROOT])
    assert done.returncode == 0, done.stdout


def test_a_pipe_and_a_device_are_written_into_and_stay(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    refuse_unwritable(pipe)
    with ThreadPoolExecutor(1) as other:
        read = other.submit(pipe.read_bytes)
        write_atomically(pipe, "some")
        assert read.result(10) == b"some"
    link = tmp_path / "nothing"         # not the device itself: with a defect root would replace it
    link.symlink_to("/dev/null")
    refuse_unwritable(link)
    write_atomically(link, "some")
    assert (pipe.is_fifo(), link.is_symlink(), Path("/dev/null").is_char_device()) == (True, True, True)
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("is_there", [True, False])
def test_a_link_stays_and_what_it_leads_to_is_written(tmp_path, is_there):
    target, link = tmp_path / "below" / "target", tmp_path / "link"
    if is_there:
        target.parent.mkdir()
        target.write_text("before")
    link.symlink_to("below/target")
    refuse_unwritable(link)
    write_atomically(link, "after")
    assert (link.is_symlink(), target.read_text()) == (True, "after")
