"""Processes that tests start: each is waited for with a limit, and is then killed with all that it has started."""
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import psutil

TESTS = Path(__file__).parents[1]       # modules of tests are named from here
ROOT = TESTS.parent
# where Python finds the project, what tests share, and the tests themselves, whose base names are unique
PATH = os.pathsep.join(map(str, (ROOT, TESTS, *sorted({path.parent for path in TESTS.rglob("test_*.py")}))))


def kill(process: subprocess.Popen) -> None:
    """The process, what it has started, and its group, if it leads one (a group outlives its leader)."""
    try:
        known = psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        known = []
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    for child in known:
        with contextlib.suppress(psutil.NoSuchProcess):
            child.kill()


def ended(process: subprocess.Popen, seconds: float) -> int:
    """Its exit code. It is killed when it has not ended after `seconds`; the code is then that of the signal."""
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        kill(process)
        return process.wait(10)


@contextlib.contextmanager
def started(words: Sequence, **options) -> Iterator[subprocess.Popen]:
    """A process in a group of its own. Whatever happens in between, nothing of it is left afterwards."""
    process = subprocess.Popen([str(word) for word in words], start_new_session=True, **options)
    try:
        yield process
    finally:
        kill(process)
        process.wait(10)
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe:
                pipe.close()


def run(words: Sequence, seconds: float = 300, **options) -> subprocess.CompletedProcess:
    """A process that has ended by itself within `seconds`, with what it said."""
    options = {"stdin": subprocess.DEVNULL, "text": True} | options
    with started(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options) as process:
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"not ended after {seconds} s: {words}") from None
        return subprocess.CompletedProcess(words, process.returncode, out, err)


def printed(words: Sequence, seconds: float = 600, **settings: str) -> str:
    """What Python prints of a script or a module, with `settings` in its environment."""
    done = run([sys.executable, *words], seconds, cwd=ROOT, env=os.environ | {"PYTHONPATH": PATH} | settings)
    assert done.returncode == 0, done.stderr
    return done.stdout


UNCOMPILED = ("NUMBA_DISABLE_JIT", "NUMBA_BOUNDSCHECK")     # without the compiler, and with every index checked


@cache
def _compiled(script: str) -> str:
    return printed(["-c", script])


def prints_the_same(script: str, setting: str) -> bool:
    """Whether a script prints the same under a setting of UNCOMPILED as compiled, and anything at all."""
    return _compiled(script) == printed(["-c", script], **{setting: "1"}) != ""


def interpreted(module: str, *arguments, seconds: float = 600) -> str:
    """What a module of the tests prints without the compiler: one function of the model can be replaced there."""
    return printed(["-m", module, *arguments], seconds, NUMBA_DISABLE_JIT="1")
