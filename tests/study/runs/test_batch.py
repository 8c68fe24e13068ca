"""Many runs at once: nothing collides, nothing is lost, nothing is left behind."""
import contextlib
import itertools
import json
import os
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest
from conftest import command, one_sentence
from hypothesis import given, settings
from hypothesis import strategies as st

from study.project import ROOT
from study.runs import batch, catalogue
from study.runs.batch import run_all
from study.runs.folder import manifest
from study.runs.kernels import kernel
from study.runs.plan import all_plans, plan
from support.processes import ended, run, started

pytestmark = pytest.mark.slow
SLOW = "import time\ntime.sleep(n)"


def wait_for(condition, seconds=60.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.1)


def kernels_of(batch: subprocess.Popen) -> list[psutil.Process]:
    below = psutil.Process(batch.pid).children(recursive=True)
    return [child for child in below if "study.runs.guard" in _command_of(child)]


def _command_of(process: psutil.Process) -> str:
    """Or nothing, where it has ended meanwhile, as git does that tells of the commit."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return " ".join(process.cmdline())
    return ""


def finished(runs: Path) -> Counter:
    return Counter(manifest(file.parent)["status"] for file in runs.glob("*/*/manifest.json"))


def test_kernels_have_no_socket_in_common_and_leave_none(tmp_path):
    """So they cannot meet, whatever their number. Whether they do is chance, and no test of it."""
    with contextlib.ExitStack() as several:
        made = [several.enter_context(kernel(tmp_path, {}, tmp_path / "log", None)) for _ in range(8)]
        folders = {Path(manager.connection_file).parent for manager in made}
        assert {manager.transport for manager in made} == {"ipc"}
        assert (len(folders), all(folder.is_dir() for folder in folders)) == (8, True)
    assert not any(folder.exists() for folder in folders)


def test_eight_kernels_at_once_start_answer_and_end(runs, notebook):
    """From eight threads of one process, each with an event loop of its own, which is closed: without `in_own_loop` some
    are left open."""
    path, count = notebook("trivial", "n + 1"), 9       # one thread has a second run
    outcomes = run_all([plan(path, {"n": number}) for number in range(count)], workers=8)
    assert Counter((outcome.status, outcome.reason) for outcome in outcomes) == {("ok", None): count}


def test_a_broken_run_does_not_stop_the_others(runs, notebook):
    outcomes = run_all([plan(notebook("bad", "1 / 0")), plan(notebook("worse", "import os\nos._exit(1)")),
                        plan(notebook("good", "n"))], workers=2)
    assert [outcome.status for outcome in outcomes] == ["failed", "died", "ok"]


def test_two_batches_at_once_share_the_work(runs, notebook, tmp_path):
    """The same four runs wanted by two processes: each is done once, both batches succeed, the store has them all."""
    flag = tmp_path / "flag"
    path = notebook("shared", f"open({str(flag)!r}, 'a').write(f'{{n}}\\n')")
    script = ("import sys; from pathlib import Path; sys.modules['rfc3987_syntax'] = None; "     # two seconds; see main.py
              "from study.commands.reproduction import run_plans; from study.runs.plan import *;"
              "from rich.console import Console;"
              f"o = run_plans([plan(Path({str(path)!r}), {{'n': i}}) for i in range(4)], 2, UNLIMITED, Console());"
              "sys.exit(any(x.status != 'ok' for x in o))")
    words, environment = [*command()[:1], "-c", script], dict(os.environ, STUDY_RUNS=str(runs))
    with started(words, env=environment) as first, started(words, env=environment) as second:
        assert [ended(batch, 300) for batch in (first, second)] == [0, 0]
    assert sorted(map(int, flag.read_text().split())) == list(range(4))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_batch_keeps_what_is_finished_and_leaves_no_kernel(runs, notebook, number):
    quick, slow = notebook("quick", "n"), notebook("slow", SLOW, parameters="n = 600")
    with started(command("run", quick, slow, "--workers", 1), env=dict(os.environ, STUDY_RUNS=str(runs)),
                 stderr=subprocess.PIPE, text=True) as batch:
        wait_for(lambda: finished(runs)["ok"] == 1 and kernels_of(batch))
        kernels = kernels_of(batch)
        batch.send_signal(number)
        assert ended(batch, 60) == 128 + number
        assert "1 of 2 runs are finished and kept" in batch.stderr.read()
        assert not [kernel for kernel in kernels if kernel.is_running()]
    assert finished(runs) == {"ok": 1, "interrupted": 1}


def test_kernels_do_not_outlive_a_batch_that_is_killed(runs, notebook):
    with started(command("run", notebook("slow", SLOW, parameters="n = 600")),
                 env=dict(os.environ, STUDY_RUNS=str(runs)), stderr=subprocess.DEVNULL) as batch:
        wait_for(lambda: kernels_of(batch))
        orphans = kernels_of(batch)
        batch.kill()
        assert ended(batch, 60) == -signal.SIGKILL
    wait_for(lambda: not [kernel for kernel in orphans if kernel.is_running() and kernel.status() != "zombie"])
    assert not finished(runs)


def test_a_rerun_does_only_what_is_missing(runs, notebook, tmp_path):
    flag = tmp_path / "flag"
    path = notebook("counted", f"open({str(flag)!r}, 'a').write(f'{{n}} ')")
    for count in (1, 3):
        run_all([plan(path, {"n": number}) for number in range(count)], workers=2)
    assert sorted(flag.read_text().split()) == ["0", "1", "2"]


@pytest.mark.parametrize("words", [["-p", "m=3"], ["-p", "n=abc"], ["-p", "n"], ["--params", "nowhere.yaml"]])
def test_wrong_parameters_are_refused_before_a_kernel_starts(study, runs, notebook, words):
    one_sentence(study("run", notebook("strict", "n"), *words))
    assert not list(runs.glob("strict/*"))


def test_a_full_disk_is_one_sentence_and_finished_runs_are_kept(study, runs, notebook):
    """A limit on the size of files stands in for the disk: writes fail in the same way, for any user."""
    good = notebook("good", "n")
    environment = dict(os.environ, STUDY_RUNS=str(runs))
    assert study("run", good).returncode == 0
    big = notebook("big", "print('x' * 10**6)", parameters="n = 1")
    limited = ["bash", "-c", 'ulimit -f 600; exec "$@"', "limited", *command("run", good, big)]
    done = run(limited, env=environment)
    assert "no space left" in one_sentence(done)
    assert finished(runs)["ok"] == 1
    assert study("run", good, big).returncode == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
def test_a_really_full_disk(tmp_path, notebook):
    disk = tmp_path / "disk"
    disk.mkdir()
    if run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", disk]).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        environment = dict(os.environ, STUDY_RUNS=str(disk / "runs"))
        done = run(command("run", notebook("big", "print('x' * 10**7)")), env=environment)
        assert "no space left" in one_sentence(done)
    finally:
        assert run(["umount", disk]).returncode == 0


def test_what_a_run_says_is_json_on_one_line_each(runs, notebook):
    path = notebook("lines", "from study.runs import record\nfor t in (0.5, 1):\n    record.metric('a.b', 2 * t, 's', t)")
    outcome, = run_all([plan(path)])
    recorded = [json.loads(line) for line in (outcome.plan.folder / "metrics.jsonl").read_text().splitlines()]
    assert recorded == [{"t": t, "name": "a.b", "value": 2 * t, "unit": "s"} for t in (0.5, 1.0)]


def test_nothing_is_written_outside_the_runs_folder(runs, notebook):
    before = run(["git", "status", "--porcelain"], cwd=ROOT).stdout
    run_all([plan(notebook("tidy", "n"))])
    assert run(["git", "status", "--porcelain"], cwd=ROOT).stdout == before


# ---- which run is next ----


class Job(NamedTuple):
    run_id: str
    minutes: float
    needs: tuple = ()


def schedule(jobs, workers):
    """{run_id: (begin, end)} of a batch whose runs take exactly as long as is said of them."""
    waiting, running, times, now = batch.by_urgency(jobs), {}, {}, 0
    while waiting or running:
        while len(running) < workers and (job := batch.next_of(waiting, running)):
            waiting.remove(job)
            running[job.run_id], times[job.run_id] = now + job.minutes, (now, now + job.minutes)
        now = min(running.values())
        running = {run_id: end for run_id, end in running.items() if end > now}
    return times


def longest_chain(job):
    return job.minutes + max(map(longest_chain, job.needs), default=0)


@st.composite
def graphs(draw):
    jobs = []
    for i, minutes in enumerate(draw(st.lists(st.integers(1, 20), min_size=1, max_size=9))):
        needs = draw(st.lists(st.sampled_from(jobs), max_size=2, unique_by=lambda job: job.run_id)) if jobs else []
        jobs.append(Job(str(i), minutes, tuple(needs)))
    return draw(st.permutations(jobs))


@settings(deadline=None, derandomize=True)
@given(graphs(), st.integers(1, 4))
def test_runs_begin_after_what_they_need_and_end_within_the_bound_of_list_scheduling(jobs, workers):
    """Graham 1966: no longer than all work shared by the workers, and what of the longest chain is not shared."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch, "_minutes", lambda job: job.minutes)
        times = schedule(jobs, workers)
    assert set(times) == {job.run_id for job in jobs}
    for job in jobs:
        assert all(times[needed.run_id][1] <= times[job.run_id][0] for needed in job.needs)
    chain = max(map(longest_chain, jobs))
    bound = sum(job.minutes for job in jobs) / workers + (1 - 1 / workers) * chain
    assert max(end for _, end in times.values()) <= bound + 1e-9


def shortest(lengths, workers):
    """Of all ways to divide independent runs among workers."""
    return min(max(sum(length for length, own in zip(lengths, who, strict=True) if own == worker)
                   for worker in range(workers)) for who in itertools.product(range(workers), repeat=len(lengths)))


@settings(deadline=None, derandomize=True)
@given(st.lists(st.integers(1, 20), min_size=1, max_size=6), st.integers(2, 3))
def test_runs_that_need_nothing_take_a_third_more_than_they_must_at_most(lengths, workers):
    """Graham 1969: longest first ends within 4/3 - 1/(3 m) of the best. In the order that they come in it may be 2 - 1/m."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch, "_minutes", lambda job: job.minutes)
        times = schedule([Job(str(i), minutes) for i, minutes in enumerate(lengths)], workers)
    assert max(end for _, end in times.values()) <= (4 / 3 - 1 / (3 * workers)) * shortest(lengths, workers) + 1e-9


def test_in_the_order_that_they_come_in_runs_may_take_longer(monkeypatch):
    """So the law above can fail."""
    monkeypatch.setattr(batch, "by_urgency", list)
    times = schedule([Job(str(i), minutes) for i, minutes in enumerate((1, 1, 2))], 2)
    assert max(end for _, end in times.values()) > (4 / 3 - 1 / 6) * shortest((1, 1, 2), 2)


def test_what_a_long_run_needs_is_as_urgent_as_the_two_together():
    short = Job("short", 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch, "_minutes", lambda job: job.minutes)
        order = batch.by_urgency([Job("middle", 5), Job("long", 9, (short,)), short])
    assert [job.run_id for job in order] == ["short", "long", "middle"]


def test_the_study_begins_with_its_longest_notebook():
    first = batch.by_urgency(all_plans())[0]
    assert catalogue.STUDY[first.name].minutes == max(notebook.minutes for notebook in catalogue.STUDY.values())
