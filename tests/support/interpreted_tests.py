"""Tests that need no compiler: their kernels run as Python, which takes less time than to compile them.

    pytestmark = pytest.mark.interpreted        # of a file; or a test is marked

Such tests of a file run in a process of their own, without `conftest.py`. There kernels are Python. What came of each is
what comes of it here.
"""
import functools
import json
import os
import sys
import tempfile
from pathlib import Path

import numba
import pytest

from support.processes import PATH, ROOT, run

OUTCOMES = "STUDY_OUTCOMES"     # in the environment of that process: the file to which it writes them


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    if numba.config.DISABLE_JIT or not pyfuncitem.get_closest_marker("interpreted"):
        return None
    options = pyfuncitem.config.option
    outcomes, printed = without_compiler(pyfuncitem.path, options.markexpr, options.keyword)
    outcome, text = outcomes.get(within_file(pyfuncitem.nodeid), ("failed", printed))
    if outcome != "passed":
        {"skipped": pytest.skip}.get(outcome, functools.partial(pytest.fail, pytrace=False))(text)
    return True


@functools.cache
def without_compiler(path, marks, words):
    """{test: (outcome, text of its failure)} of those of a file that `marks` and `words` choose, and what pytest printed."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_XDIST", "PYTEST_ADDOPTS"))}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "outcomes"
        done = run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--noconftest", "-p", __name__, path,
                    "-m", f"interpreted and ({marks or 'interpreted'})", "-k", words], 800, cwd=ROOT,
                   env=kept | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": PATH, OUTCOMES: str(file)})
        rows = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    return {test: (outcome, text) for test, outcome, text in rows}, done.stdout + done.stderr


def within_file(nodeid):
    return nodeid.partition("::")[2]


def pytest_runtest_logreport(report):
    if OUTCOMES in os.environ and (report.when == "call" or not report.passed):
        with open(os.environ[OUTCOMES], "a") as file:
            file.write(json.dumps([within_file(report.nodeid), report.outcome, report.longreprtext]) + "\n")
