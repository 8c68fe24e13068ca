"""Many runs at once: nothing collides, nothing is lost, nothing is left behind."""
import json
import os
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest
from conftest import command, one_sentence

from study.batch import run_all
from study.plan import manifest, plan
from study.project import ROOT

STRESS = os.environ.get("CI") == "true"     # three times two hundred kernels there, forty elsewhere
SLOW = "import time\ntime.sleep(n)"


def wait_for(condition, seconds=60.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.1)


def kernels_of(process: psutil.Process) -> list[psutil.Process]:
    return [child for child in process.children(recursive=True) if "study.guard" in " ".join(child.cmdline())]


def finished(runs: Path) -> Counter:
    return Counter(manifest(file.parent)["status"] for file in runs.glob("*/*/manifest.json"))


@pytest.mark.parametrize("attempt", range(3 if STRESS else 1))
def test_many_kernels_at_once_do_not_collide(runs, notebook, attempt):
    path = notebook("trivial", "n + 1")
    count = 200 if STRESS else 40
    outcomes = run_all([plan(path, {"n": 1000 * attempt + number}) for number in range(count)], workers=8)
    assert Counter((outcome.status, outcome.reason) for outcome in outcomes) == {("ok", None): count}


def test_a_broken_run_does_not_stop_the_others(runs, notebook):
    outcomes = run_all([plan(notebook("bad", "1 / 0")), plan(notebook("worse", "import os\nos._exit(1)")),
                        plan(notebook("good", "n"))], workers=2)
    assert [outcome.status for outcome in outcomes] == ["failed", "died", "ok"]


def test_two_batches_at_once_share_the_work(runs, notebook, tmp_path):
    """The same ten runs wanted by two processes: each is done once, both batches succeed, the store has them all."""
    flag = tmp_path / "flag"
    path = notebook("shared", f"open({str(flag)!r}, 'a').write(f'{{n}}\\n')")
    script = ("import sys; from pathlib import Path; from study.reproduction import run_plans; from study.plan import *;"
              "from rich.console import Console;"
              f"o = run_plans([plan(Path({str(path)!r}), {{'n': i}}) for i in range(10)], 2, UNLIMITED, Console());"
              "sys.exit(any(x.status != 'ok' for x in o))")
    batches = [subprocess.Popen([*command()[:1], "-c", script], env=dict(os.environ, STUDY_RUNS=str(runs)))
               for _ in range(2)]
    assert [batch.wait(300) for batch in batches] == [0, 0]
    assert sorted(map(int, flag.read_text().split())) == list(range(10))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_batch_keeps_what_is_finished_and_leaves_no_kernel(runs, notebook, number):
    quick, slow = notebook("quick", "n"), notebook("slow", SLOW, parameters="n = 600")
    batch = psutil.Popen(command("run", quick, slow, "--workers", 1), env=dict(os.environ, STUDY_RUNS=str(runs)),
                         stderr=subprocess.PIPE, text=True)
    wait_for(lambda: finished(runs)["ok"] == 1 and kernels_of(batch))
    started = kernels_of(batch)
    batch.send_signal(number)
    assert batch.wait(60) == 128 + number
    with batch.stderr as said:
        assert "1 of 2 runs are finished and kept" in said.read()
    assert not [kernel for kernel in started if kernel.is_running()]
    assert finished(runs) == {"ok": 1, "interrupted": 1}


def test_kernels_do_not_outlive_a_batch_that_is_killed(runs, notebook):
    batch = psutil.Popen(command("run", notebook("slow", SLOW, parameters="n = 600")),
                         env=dict(os.environ, STUDY_RUNS=str(runs)), stderr=subprocess.DEVNULL)
    wait_for(lambda: kernels_of(batch))
    orphans = kernels_of(batch)
    batch.kill()
    batch.wait()
    wait_for(lambda: not [kernel for kernel in orphans if kernel.is_running() and kernel.status() != "zombie"])
    assert not finished(runs)


def test_a_rerun_does_only_what_is_missing(runs, notebook, tmp_path):
    flag = tmp_path / "flag"
    path = notebook("counted", f"open({str(flag)!r}, 'a').write(f'{{n}} ')")
    for count in (2, 5):
        run_all([plan(path, {"n": number}) for number in range(count)], workers=2)
    assert sorted(flag.read_text().split()) == ["0", "1", "2", "3", "4"]


@pytest.mark.parametrize("words", [["-p", "m=3"], ["-p", "n=abc"], ["-p", "n"], ["--params", "nowhere.yaml"]])
def test_wrong_parameters_are_refused_before_a_kernel_starts(study, runs, notebook, words):
    one_sentence(study("run", notebook("strict", "n"), *words))
    assert not list(runs.glob("strict/*"))


def test_a_full_disk_is_one_sentence_and_finished_runs_are_kept(runs, notebook):
    """A limit on the size of files stands in for the disk: writes fail in the same way, for any user."""
    good = notebook("good", "n")
    environment = dict(os.environ, STUDY_RUNS=str(runs))
    assert subprocess.run(command("run", good), env=environment, capture_output=True).returncode == 0
    big = notebook("big", "print('x' * 10**6)", parameters="n = 1")
    limited = ["bash", "-c", 'ulimit -f 600; exec "$@"', "limited", *command("run", good, big)]
    done = subprocess.run(limited, env=environment, capture_output=True, text=True)
    assert "no space left" in one_sentence(done)
    assert finished(runs)["ok"] == 1
    assert subprocess.run(command("run", good, big), env=environment, capture_output=True).returncode == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
def test_a_really_full_disk(tmp_path, notebook):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", disk]).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        environment = dict(os.environ, STUDY_RUNS=str(disk / "runs"))
        done = subprocess.run(command("run", notebook("big", "print('x' * 10**7)")), env=environment, capture_output=True,
                              text=True)
        assert "no space left" in one_sentence(done)
    finally:
        subprocess.run(["umount", disk], check=True)


def test_what_a_run_says_is_json_on_one_line_each(runs, notebook):
    path = notebook("lines", "from study import record\nfor t in (0.5, 1):\n    record.metric('a.b', 2 * t, 's', t)")
    outcome, = run_all([plan(path)])
    said = [json.loads(line) for line in (outcome.plan.folder / "metrics.jsonl").read_text().splitlines()]
    assert said == [{"t": t, "name": "a.b", "value": 2 * t, "unit": "s"} for t in (0.5, 1.0)]


def test_nothing_is_written_outside_the_runs_folder(runs, notebook):
    before = subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, text=True).stdout
    run_all([plan(notebook("tidy", "n"))])
    assert subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, text=True).stdout == before
