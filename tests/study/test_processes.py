"""No process that a test starts is waited for without a limit, and none is left."""
import ast
import sys
import time

import psutil
import pytest

from study.project import ROOT
from support.processes import TESTS, ended, run, started

# It does not listen to SIGTERM, and has a child in a session of its own, as JupyterLab has kernels.
DEAF = """
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
print(child.pid, flush=True)
time.sleep(600)
"""


def is_gone(pid):
    """Soon: who has adopted it has yet to hear of its end."""
    deadline = time.monotonic() + 10
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != "zombie":
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return True


def test_what_does_not_end_is_killed_with_what_it_has_started():
    with started([sys.executable, "-c", DEAF], stdout=-1, text=True) as process:
        child = int(process.stdout.readline())
        process.terminate()
        assert ended(process, 0.5) == -9
        assert is_gone(child)


def test_nothing_is_left_when_a_test_fails_before_it_waits():
    def fails():
        with started([sys.executable, "-c", DEAF], stdout=-1, text=True) as process:
            seen.extend((process, int(process.stdout.readline())))
            raise KeyError

    seen = []
    with pytest.raises(KeyError):
        fails()
    assert seen[0].returncode == -9
    assert is_gone(seen[1])


def test_a_pipe_that_a_child_holds_open_is_not_waited_for():
    began = time.monotonic()
    with pytest.raises(AssertionError, match=r"not ended after 2 s"):
        run([sys.executable, "-c", DEAF], seconds=2)
    assert time.monotonic() - began < 30


def waits_for_ever(tree):
    """Calls that start a process and wait for it, or wait for one, and name no limit."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        call = ast.unparse(node.func)
        has_limit = any(word.arg == "timeout" for word in node.keywords)
        if call.startswith("subprocess.") and node.func.attr in {"run", "call", "check_call", "check_output"}:
            if not has_limit:
                yield call
        elif node.func.attr in {"wait", "communicate", "join"} and not node.args and not has_limit:
            yield call


def test_every_test_has_a_limit(request):
    assert 0 < float(request.config.getini("timeout")) <= 900


def test_nothing_waits_without_a_limit():
    for path in (*TESTS.rglob("*.py"), *(ROOT / "study").rglob("*.py")):
        assert list(waits_for_ever(ast.parse(path.read_text()))) == [], path


@pytest.mark.parametrize("code", ["subprocess.run(['x'])", "one.wait()", "one.communicate()", "one.join()"])
def test_a_wait_without_a_limit_is_noticed(code):
    assert list(waits_for_ever(ast.parse(code)))
