"""A test that is marked as interpreted passes, fails and is skipped as it does in the process without the compiler."""
import os
import sys

import pytest

from support.processes import PATH, run

FILE = """
import numba
import pytest

pytestmark = pytest.mark.interpreted

def test_kernels_are_python():
    assert numba.config.DISABLE_JIT

@pytest.mark.parametrize("number", [1, 2])
def test_the_number_is_1(number):
    assert number == 1

def test_of_another_machine():
    pytest.skip("there is none")
"""


@pytest.mark.slow
def test_what_comes_of_a_test_there_comes_of_it_here(tmp_path):
    (tmp_path / "test_three.py").write_text(FILE)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "NUMBA_DISABLE"))}
    done = run([sys.executable, "-m", "pytest", "-rs", "-c", os.devnull, tmp_path / "test_three.py"], cwd=tmp_path,
               env=kept | {"PYTHONPATH": PATH, "PYTEST_PLUGINS": "support.interpreted_tests"})
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed, 2 passed, 1 skipped" in done.stdout
    assert "assert 2 == 1" in done.stdout
    assert "there is none" in done.stdout
