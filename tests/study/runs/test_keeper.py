"""A kernel leaves nothing behind: no process, no folder, no port; and it gets what is defined and no more."""
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import nbformat
import psutil
import pytest
from conftest import command, one_sentence

from study.runs import secrets
from study.runs.folder import manifest
from study.runs.plan import Limits, plan
from study.runs.runner import run
from support import processes
from support.processes import ended, started

pytestmark = pytest.mark.slow      # kernels of Jupyter are started

MARK = "keeper-test-sleeper"
SLEEPER = f"[sys.executable, '-c', 'import time; time.sleep(600)', {MARK!r}]"
# A child of the kernel's session, one of a session of its own, and one whose parent has ended.
CHILDREN = f"""import os, subprocess, sys, time
subprocess.Popen({SLEEPER})
subprocess.Popen({SLEEPER}, start_new_session=True)
code = "import subprocess, sys; subprocess.Popen({SLEEPER}, start_new_session=True)"
subprocess.run([sys.executable, '-c', code], timeout=60)
"""


def sleepers(folder) -> list[psutil.Process]:
    """Of the notebook in this folder: a session of tests beside this one has its own."""
    processes = []
    for process in psutil.process_iter():
        try:
            if MARK in process.cmdline() and process.status() != "zombie" and process.cwd() == str(folder):
                processes.append(process)
        except psutil.Error:
            pass
    return processes


def wait_for(condition, seconds=60.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.1)


@pytest.fixture
def sockets(monkeypatch):
    """A short temporary folder of this test's own: what is in it are folders of sockets."""
    with tempfile.TemporaryDirectory(prefix="k", dir="/tmp") as folder:
        monkeypatch.setenv("TMPDIR", folder)
        monkeypatch.setattr("tempfile.tempdir", folder)
        yield Path(folder)


@pytest.mark.parametrize(("last", "status"), [("n", "ok"), ("1 / 0", "failed"), ("os.kill(os.getpid(), 9)", "died")])
def test_what_a_notebook_leaves_behind_ends_with_its_run(runs, notebook, tmp_path, sockets, last, status):
    outcome = run(plan(notebook("leaves", f"{CHILDREN}time.sleep(1)", f"import os\n{last}")))
    assert outcome.status == status, outcome.reason
    assert sleepers(tmp_path) == []
    assert list(sockets.iterdir()) == []


def test_a_batch_that_is_killed_leaves_no_process_and_no_folder(runs, notebook, tmp_path, sockets):
    path = notebook("slow", f"{CHILDREN}time.sleep(600)")
    with started(command("run", path), env=dict(os.environ, STUDY_RUNS=str(runs)), stderr=subprocess.DEVNULL) as batch:
        wait_for(lambda: len(sleepers(tmp_path)) == 3)
        assert list(sockets.iterdir())
        os.kill(batch.pid, signal.SIGKILL)      # it alone, and none of what it has started
        assert batch.wait(60) == -signal.SIGKILL
        wait_for(lambda: not sleepers(tmp_path) and not list(sockets.iterdir()))


def test_an_interrupted_batch_leaves_none_either(runs, notebook, tmp_path, sockets):
    path = notebook("slow", f"{CHILDREN}time.sleep(600)")
    with started(command("run", path), env=dict(os.environ, STUDY_RUNS=str(runs)), stderr=subprocess.DEVNULL) as batch:
        wait_for(lambda: len(sleepers(tmp_path)) == 3)
        batch.send_signal(signal.SIGINT)
        assert ended(batch, 60) == 128 + signal.SIGINT
    assert (sleepers(tmp_path), list(sockets.iterdir())) == ([], [])


PORTS = """import os, psutil, subprocess, sys
def listening():
    return [c.laddr for c in psutil.Process().net_connections("inet") if c.status == "LISTEN"]
assert listening() == [], listening()
import multiprocessing
child = multiprocessing.get_context("fork").Process(target=print, args=("from a child",))
child.start()
child.join(30)
"""


def test_a_kernel_listens_on_no_port_and_hears_its_children(runs, notebook):
    outcome = run(plan(notebook("ports", PORTS, "import time\ntime.sleep(1)")))
    assert outcome.status == "ok", outcome.reason
    assert "from a child" in (outcome.plan.folder / "ports.ipynb").read_text(encoding="utf-8")


def test_a_kernel_gets_the_defined_environment(runs, notebook, monkeypatch):
    monkeypatch.setenv("MY_SETTING", "1")
    monkeypatch.setenv("LANG", "tlh_KX.UTF-8")
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    cell = "import os\nprint(open('/proc/self/environ').read().replace(chr(0), os.linesep))"      # as it was started
    outcome = run(plan(notebook("env", cell)))
    cells = nbformat.read(outcome.plan.folder / "env.ipynb", as_version=4).cells
    seen = dict(line.split("=", 1) for line in cells[-1].outputs[0].text.split("\n") if "=" in line)
    assert "MY_SETTING" not in seen
    assert (seen["LANG"], seen["OMP_NUM_THREADS"], seen["HOME"]) == ("C.UTF-8", "1", os.environ["HOME"])
    documented = (Path(__file__).parents[3] / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert [name for name in seen if name not in documented and not name.startswith(("STUDY_", "JPY_"))] == []


def test_a_run_that_takes_too_long_is_ended(runs, notebook):
    outcome = run(plan(notebook("long", *["import time\ntime.sleep(1)"] * 60)), Limits(run_seconds=5))
    assert outcome.status == "timed out"
    assert "the run took longer than 5 s, in cell" in outcome.reason


def test_the_executed_notebook_names_its_origin_and_does_not_hold_it_twice(runs, notebook):
    path = notebook("origin", "n  # of which there is one")
    planned = run(plan(path)).plan
    executed = nbformat.read(planned.folder / "origin.ipynb", as_version=4)
    assert executed.metadata.papermill.input_path == str(path)
    assert json.dumps(executed).count("of which there is one") == 1


@pytest.mark.parametrize("umask", [0o077, 0o022])
def test_files_of_a_run_follow_the_umask(runs, notebook, umask):
    before = os.umask(umask)
    try:
        planned = run(plan(notebook("masked", "from study.runs import record\nrecord.metric('a.b', 1, '1')"))).plan
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in planned.folder.rglob("*") if path.is_file()}
    assert modes == dict.fromkeys(modes, 0o666 & ~umask)


# --- tags, locales, names -------------------------------------------------------------------------------------------------

def tagged(path, cell, *tags):
    content = nbformat.read(path, as_version=4)
    content.cells[cell].metadata["tags"] = list(tags)
    nbformat.write(content, path)
    return path


def test_an_error_that_is_expected_is_none(runs, notebook):
    path = tagged(notebook("expected", "int('x')", "print('after')"), 1, "raises-exception", "other")
    outcome = run(plan(path))
    assert (outcome.status, outcome.reason) == ("ok", None)
    text = (outcome.plan.folder / "expected.ipynb").read_text(encoding="utf-8")
    assert ("after" in text, "papermill-error-cell-tag" in text) == (True, False)


def test_an_error_beside_an_expected_one_is_named(runs, notebook):
    outcome = run(plan(tagged(notebook("both", "int('x')", "1 / 0", "print('never')"), 1, "raises-exception")))
    assert (outcome.status, "ZeroDivisionError in cell 3" in outcome.reason) == ("failed", True)


def test_text_is_utf_8_in_a_locale_of_iso_8859_1(notebook, tmp_path):
    made = shutil.which("localedef") and processes.run(
        ["localedef", "-i", "de_DE", "-f", "ISO-8859-1", tmp_path / "de_DE.ISO-8859-1"]).returncode == 0
    if not made:
        pytest.skip("the sources of locales are not installed")
    _in_locale(notebook, tmp_path, LC_ALL="de_DE.ISO-8859-1", LOCPATH=str(tmp_path))


def test_text_is_utf_8_in_a_locale_of_ascii(notebook, tmp_path):
    """Python takes C for UTF-8 unless it is told not to; then it is as with ISO-8859-1."""
    _in_locale(notebook, tmp_path, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")


def _in_locale(notebook, tmp_path, **settings):
    path = notebook("mäßig", "assert text == 'naïve – 数据'\nprint(text)", parameters="text = 'naïve – 数据'\ngröße = 1")
    runs = tmp_path / "rüns"
    done = processes.run(command("run", path, "-p", "größe=2"), env=os.environ | settings | {"STUDY_RUNS": str(runs)})
    assert done.returncode == 0, done.stderr
    known, = (manifest(file.parent) for file in runs.glob("*/*/manifest.json"))
    assert (known["notebook"], known["status"], known["parameters"]["größe"]) == ("mäßig", "ok", 2)


def test_a_folder_whose_name_is_no_utf_8_is_one_sentence(study, monkeypatch):
    monkeypatch.setenv("STUDY_RUNS", os.fsdecode(b"/tmp/r\xfcns"))
    assert "which is not UTF-8" in one_sentence(study("query", "SELECT 1"))


# --- secrets --------------------------------------------------------------------------------------------------------------

SECRET = 'very "secret"\\ wörd'
SHOWS = """import os, sys
from study.runs import record
assert len(token) == 19
print(token, repr(token))
print({"token": token}, file=sys.stderr)
os.system(f"printf %s '{token}' >&2")
os.write(2, token.encode())
record.metric("a.b", len(token), "1")
assert token not in str(os.environ)
"""


@pytest.mark.parametrize(("last", "status"), [("token", "ok"), ("raise ValueError(token)", "failed")])
def test_a_secret_reaches_the_notebook_and_nothing_that_is_written(study, runs, notebook, monkeypatch, last, status):
    monkeypatch.setenv("token", SECRET)
    path = notebook("secret", SHOWS, last, parameters="n = 1\ntoken = ''")
    done = study("run", path, "--secret", "token")
    outcome, = (manifest(file.parent) for file in runs.glob("*/*/manifest.json"))
    assert (outcome["status"], outcome["secrets"], outcome["parameters"]) == (status, ["token"], {"n": 1}), outcome["reason"]
    forms = {SECRET, json.dumps(SECRET)[1:-1], repr(SECRET)[1:-1], SECRET.split()[-1]}
    written = [file.read_bytes() for file in runs.rglob("*") if file.is_file()] + [(done.stdout + done.stderr).encode()]
    for form in {form.encode() for form in forms} | {json.dumps(json.dumps(SECRET)[1:-1])[1:-1].encode()}:
        assert not [content for content in written if form in content]
    if status == "ok":
        assert "done before" in study("run", path, "--secret", "token").stdout
        assert secrets.HIDDEN in next(runs.glob("*/*/secret.ipynb")).read_text(encoding="utf-8")


@pytest.mark.parametrize(("words", "value", "message"), [
    (["--secret", "token"], None, "set the environment variable token"),
    (["--secret", "token"], "short", "has 5 characters"), (["--secret", "other"], "long enough", "no parameter 'other'"),
    (["--secret", "n"], "long enough", "only text can be secret"),
    (["--secret", "token", "-p", "token=x"], "long enough", "is given and is secret")])
def test_a_secret_that_is_none_is_one_sentence(study, runs, notebook, monkeypatch, words, value, message):
    for name in ("token", "other", "n"):
        monkeypatch.delenv(name, raising=False)
        if value:
            monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stdin", None)
    assert message in one_sentence(study("run", notebook("secret", "n", parameters="n = 1\ntoken = ''"), *words))
    assert not list(runs.glob("secret/*"))
