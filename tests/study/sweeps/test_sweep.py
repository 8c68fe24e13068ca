"""A sweep on a scheduler and two worker processes: the same bits as one process, and nothing is lost with a worker, or with
the client."""
import json
import os
import time

import pandas as pd
import psutil
import pytest
from conftest import command

from drivers import sweep_tasks
from study.console import err
from study.errors import UserError
from study.sweeps import waves
from study.sweeps.cluster import Workers
from study.sweeps.sweep import Sweep, carry_out, done
from study.sweeps.tasks import drawn_of
from support.processes import PATH, run, started

pytestmark = pytest.mark.slow
SEQREAD = "study.experiments.vdev_cache_2007.sequential_reads"
SMALL = {"n_streams": 2, "record_kib": 128, "file_gib": 1.0, "n_leaves": 2, "line_kib": 64, "cache_mib": 10,
         "max_pending": 35, "sorts": True, "segments": 16, "reads_ahead": True, "seconds": 1.0}


@pytest.fixture(scope="module")
def workers():
    """Two, which find the tasks of tests/drivers."""
    os.environ["PYTHONPATH"] = PATH
    with Workers(2, None) as both:
        yield both
    del os.environ["PYTHONPATH"]


def of_numbers(task, numbers, *given):
    points = pd.DataFrame({"number": numbers}, index=[f"point-{number}" for number in numbers])
    return Sweep("of-numbers", task, points, [(number, *given) for number in numbers])


def test_each_point_has_its_row_in_its_place(runs, workers):
    sweep = of_numbers(sweep_tasks.square, [5, 3, 4])
    made = carry_out(sweep, workers, err)
    assert [row.numbers["square"] for row in made.rows] == [25 / 3, 9 / 3, 16 / 3]
    assert pd.read_parquet(sweep.table)["square"].tolist() == [25 / 3, 9 / 3, 16 / 3]
    assert carry_out(sweep, workers, err).n_before == 3


def test_a_worker_that_is_killed_loses_nothing(runs, workers, tmp_path):
    made = carry_out(of_numbers(sweep_tasks.kills_its_worker_once, list(range(12)), str(tmp_path)), workers, err)
    assert (tmp_path / "killed").exists()
    assert [row.numbers["square"] for row in made.rows] == [number ** 2 / 3 for number in range(12)]


def test_a_point_that_kills_each_worker_fails_and_the_others_go_on(runs, workers):
    sweep = of_numbers(sweep_tasks.kills_its_worker, [1, 2, 3])
    made = carry_out(sweep, workers, err)
    assert [row.status for row in made.rows] == ["ok", "died", "ok"]
    assert not sweep.table.exists()


def test_what_failed_is_tried_again_and_nothing_else(runs, workers):
    failing = of_numbers(sweep_tasks.fails_for_two, [1, 2, 3])
    assert [row.status for row in carry_out(failing, workers, err).rows] == ["ok", "failed", "ok"]
    again = carry_out(failing._replace(task=sweep_tasks.square), workers, err)
    assert again.n_before == 2
    assert [row.status for row in again.rows] == ["ok"] * 3


def test_a_line_that_a_kill_has_cut_off_is_done_anew(runs, workers):
    sweep = of_numbers(sweep_tasks.square, [1, 2, 3])
    carry_out(sweep, workers, err)
    sweep.file.write_bytes(sweep.file.read_bytes()[:-5])
    assert len(done(sweep)) == 2
    assert carry_out(sweep, workers, err).n_before == 2
    assert len(done(sweep)) == 3


def test_two_processes_find_the_bits_that_one_finds(runs, workers):
    sweep = waves.of_draws("02", SEQREAD, SMALL, 4, 1)
    rows = carry_out(sweep, workers, err).rows
    drawn = drawn_of(SEQREAD, tuple(SMALL.items()))
    for row, (*_, values, seed) in zip(rows, sweep.arguments, strict=True):
        assert row.numbers == {f"{variant}/{name}": value for variant in drawn.variants
                               for name, value in drawn.simulate(values, seed, variant).items()}


def test_a_worker_with_other_code_refuses(runs, workers):
    sweep = waves.of_draws("02", SEQREAD, SMALL, 2, 1)
    other = sweep._replace(arguments=[(module, own, made_from | {"code": "0"}, values, seed)
                                      for module, own, made_from, values, seed in sweep.arguments])
    with pytest.raises(UserError, match="has other code, data or packages than the client"):
        carry_out(other, workers, err)


def test_a_client_that_is_killed_goes_on_where_it_was(runs, notebook, tmp_path):
    own = notebook("own", "import time; time.sleep(0.5)", "from study.runs import record; record.metric('a.b', n / 3, '1')",
                   parameters="n = 3")
    words = command("sweep", own, "--grid", "n=1,2,3", "--workers", "1")
    with started(words) as process:
        rows = wait_for_rows(runs, 1)
        process.kill()
        process.wait(10)
        children_end()
    before = rows.read_text().splitlines()[:1]
    again = run([*words, "--json"])
    assert again.returncode == 0, again.stderr
    assert rows.read_text().splitlines()[:1] == before
    result = json.loads(again.stdout)
    assert (result["points"], result["failed"]) == (3, 0)
    assert result["done_before"] >= 1
    assert pd.read_parquet(result["table"])["a.b"].tolist() == [n / 3 for n in range(1, 4)]


def wait_for_rows(runs, n):
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        for rows in runs.glob("sweeps/own/*.jsonl"):
            if len(rows.read_text().splitlines()) >= n:
                return rows
        time.sleep(0.05)
    raise AssertionError(f"there are no {n} rows within two minutes")


def children_end():
    """The workers of a killed client, and the kernels of theirs, end by themselves."""
    orphans = [child for child in psutil.process_iter(["cmdline", "ppid"])
               if "multiprocessing.spawn" in " ".join(child.info["cmdline"] or ()) and child.info["ppid"] == 1]
    assert psutil.wait_procs(orphans, 60)[1] == []
