"""Notebook 11 on a run of each tool: its outcome is one that the importer stored. What cannot be said has a reason."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from study import drawing
from study.errors import UserError
from study.figures import your_runs as pictures
from study.ingest import given_runs, imports
from study.measure import ladder
from study.your_runs import change_points, chosen, clock, comparison, correlating, lags, quantities
from support import zpool_text
from support.imported_runs import FIXTURES

STARTED = "2026-11-21T00:46:00Z"
BLOCK = """{at}: Per-Operation Breakdown
read1    {n}ops    {rate}ops/s  32.2mb/s    0.001ms/op [0.000ms - 8.035ms]
{at}: IO Summary: {n} ops {rate}.000 ops/s {rate}/0 rd/wr  32.2mb/s 0.019ms/op
"""


def filebench(*rates):
    blocks = "".join(BLOCK.format(at=f"{3 + 2 * n}.0", n=2 * rate, rate=rate) for n, rate in enumerate(rates))
    took = 2 * len(rates)
    return f"Filebench Version 1.5-alpha3\n1.0: Running...\n{blocks}{1 + took}.1: Run took {took} seconds...\n"


def benchbase():
    head = "Time (seconds),Requests,Throughput (requests/second),Average Latency (microseconds)\n"
    summary = {"Benchmark Type": "ycsb", "Final State": "EXIT", "Start timestamp (milliseconds)": 1795222830524,
               "Throughput (requests/second)": 42.0, "Latency Distribution": {"Average Latency (microseconds)": 900}}
    return {"b.samples.csv": head + "".join(f"{n},{40 + n},{40 + n}.000,900\n" for n in range(5)),
            "b.summary.json": json.dumps(summary)}


def zpool():
    reports = [{"tank": [10, 20, 5, 100 + n, 40960, 8192 * (100 + n)]} for n in range(4)]
    stamps = [1795766353 + n for n in range(4)]
    line = "progress: {}.500 s, {}.0 tps, lat 5.0 ms stddev 1.0, 0 failed\n"
    lines = "".join(line.format(stamp, 200 + n) for n, stamp in enumerate(stamps))
    return {"run.txt": lines, "zpool.txt": zpool_text.table("2.2", "", reports, stamps)}


GIVEN = {       # what is imported, and the outcome that it has
    "pgbench": (zpool, "pgbench.progress.tps"),
    "fio": ("fio/epoch", "fio.all.iops"),
    "sysbench": ("sysbench/oltp.txt", "sysbench.intervals.tps"),
    "sysbench-fileio": ("sysbench/fileio.txt", "sysbench.intervals.reads"),
    "sysbench-memory": ("sysbench/memory_intervals.txt", "sysbench.intervals.bandwidth"),
    "sysbench-cpu": ("sysbench/cpu.txt", "sysbench.intervals.eps"),
    "filebench-psrun": (lambda: {"fb.txt": filebench(100, 110, 120)}, "filebench.intervals.rate"),
    "filebench": (lambda: {"fb.txt": filebench(100)}, "filebench.rate"),
    "benchbase": (benchbase, "benchbase.samples.throughput"),
}


def brought(tmp_path, what, label):
    path = FIXTURES / what if isinstance(what, str) else tmp_path / label.replace("/", "-")
    if not isinstance(what, str):
        path.mkdir()
        for name, text in what().items():
            (path / name).write_text(text)
    [run] = given_runs.given([path], label)
    return imports.imported(run, imports.Options(label, started=STARTED))


def test_runs_without_a_known_rate_say_first_what_may_be_the_outcome():
    points = pd.DataFrame({"series": ["csv.mine"], "name": ["wait"]})
    own = SimpleNamespace(points=points, totals=pd.DataFrame({"name": ["io.size"]}))
    with pytest.raises(UserError, match=r"^name the outcome, one of csv\.mine\.wait, io\.size; these runs have no "):
        chosen.outcome_of(own, "")


def test_a_series_without_a_clock_is_compared_with_nothing_and_says_why():
    of_points, of_totals = ["run", "series", "subject", "name", "value", "unit"], ["run", "name", "value", "unit"]
    own = SimpleNamespace(points=pd.DataFrame(columns=of_points), totals=pd.DataFrame(columns=of_totals),
                          clocks=pd.DataFrame({"run": ["mine 1"], "series": ["csv.mine"]}))
    assert comparison.compare(own, "csv.mine.wait", "", "").reason.startswith("csv.mine has no clock (study ingest with ")


@pytest.mark.parametrize("name", GIVEN)
def test_the_outcome_of_each_tool_is_one_that_it_stored(runs, tmp_path, name):
    what, outcome = GIVEN[name]
    if name == "fio":
        path = tmp_path / "fio"
        path.mkdir()
        for file in (FIXTURES / "fio/epoch").iterdir():
            (path / file.name).write_bytes(file.read_bytes())
            (path / file.name.replace("_bw", "_iops")).write_bytes(file.read_bytes())
        [run] = given_runs.given([path], name)
        imports.imported(run, imports.Options(name))
    else:
        brought(tmp_path, what, name)
    looked_at = chosen.read(name)
    assert chosen.outcome_of(looked_at, "") == outcome
    [row] = chosen.labels(looked_at, outcome).to_dict("records")
    assert row[f"with {outcome}"] == 1
    table = clock.table(looked_at, chosen.run_of(looked_at, "", outcome))
    assert (outcome in table) == (name != "filebench")      # which has no interval
    for verdict in (correlating.verdict(correlating.look(table, outcome, "", 1)),
                    lags.verdict(lags.of_table(table, "", outcome, 5, 1), 1.0, 1.0),
                    change_points.verdict(change_points.of_table(table, outcome, 1), 1.0)):
        assert verdict.startswith(("nothing is correlated", "no lag is looked for", "no change is looked for"))
        assert "nan" not in verdict
    assert clock.sentence(table, name).startswith(name)


def test_all_jobs_of_fio_add_up(runs, tmp_path):
    path = tmp_path / "fio"
    path.mkdir()
    for n, shift in ((1, 0), (2, 4)):
        rows = [f"{500 * k + shift}, {10 * n + k}, {way}, 0\n" for k in range(1, 5) for way in (0, 1) if (k, way) != (2, 1)]
        (path / f"x_iops.{n}.log").write_text("".join(rows))
    [run] = given_runs.given([path], "jobs")
    imports.imported(run, imports.Options("jobs", started=STARTED))
    points = chosen.read("jobs").points
    sums = points[points.series == "fio.all"].value.tolist()
    assert sums == [2 * (11 + 21), 12 + 22, 2 * (13 + 23), 2 * (14 + 24)]


def test_numbers_of_whole_runs_are_compared_run_by_run(runs, tmp_path):
    rates = {"old": (100, 102, 104), "new": (130, 133, 139)}
    for label, each in rates.items():
        for n, rate in enumerate(each):
            brought(tmp_path, lambda rate=rate: {f"fb-{rate}.txt": filebench(rate)}, f"fb/{label}")
            (tmp_path / f"fb-{label}").rename(tmp_path / f"{label}-{n}")
    looked_at = chosen.read("fb")
    compared = comparison.compare(looked_at, "filebench.rate", "fb/old", "fb/new")
    assert (sorted(compared.values[0]), sorted(compared.values[1])) == ([100, 102, 104], [130, 133, 139])
    assert compared.by == pytest.approx(134 - 102)
    assert compared.low < 32 < compared.high
    assert "operations a second" in comparison.verdict(compared)
    assert drawing.render(pictures.two_labels, compared, "filebench.rate", formats=("png",))["png"]
    fewer = looked_at._replace(totals=looked_at.totals[looked_at.totals.run != "fb/old 1"])
    assert "3 runs of each label are needed; there are 2 and 3" in comparison.compare(fewer, "filebench.rate", "fb/old",
                                                                                      "fb/new").reason


def test_of_a_ladder_the_first_rung_and_the_base_are_taken(runs, tmp_path):
    rungs = ladder.rungs(ladder.QUICK, 2**33, with_wal=False)
    assert (rungs[0].name, ladder.BASE) == (comparison.FIRST_RUNG, comparison.BASE_RUNG)
    assert rungs[0].against == ""
    for n, name in enumerate(("more-clients", "checkpoints", "defaults")):       # in random order
        brought(tmp_path, lambda n=n: {f"{n}.txt": filebench(100 + n, 120, 130)}, f"mine/{name}")
    looked_at = chosen.read("mine")
    compared = comparison.compare(looked_at, "filebench.intervals.rate", "", "")
    assert (compared.before, compared.after) == ("mine/defaults", "mine/checkpoints")
    sentence = comparison.taken(compared, "", "", 3)
    assert sentence.startswith("Compared are mine/defaults and mine/checkpoints, of 3 labels: the rung that changes nothing")
    other = comparison.compare(looked_at, "filebench.intervals.rate", "mine/more-clients", "")
    assert other.before == "mine/more-clients"
    assert "of what was not asked for" in comparison.taken(other, "mine/more-clients", "", 3)
    assert ": as asked." in comparison.taken(compared, "mine/defaults", "mine/checkpoints", 3)


@pytest.mark.parametrize(("name", "unit", "shown"), [
    ("pgbench.progress.tps", "1/s", "pgbench.progress.tps (transactions a second)"),
    ("fio.all.iops", "1/s", "fio.all.iops (operations a second)"),
    ("benchbase.samples.throughput", "1/s", "benchbase.samples.throughput (requests a second)"),
    ("iostat.disks.writes", "1/s", "iostat.disks.writes (a second)"),
    ("iostat.disks.queue", "1", "iostat.disks.queue")])
def test_an_axis_has_its_unit_in_words(name, unit, shown):
    assert quantities.with_unit(name, unit) == shown


def test_every_mark_of_lags_and_labels_has_a_key():
    scan = lags.scan(np.arange(60.0) % 7, np.arange(60.0) % 5, 5, 1)
    keys = {text.get_text() for legend in pictures.lags(scan, 1.0, 1.0).legends for text in legend.get_texts()}
    assert keys == {"at this lag", "clocks do not tell this from 0", "largest of all by chance, 1 in 20"}
    compared = comparison._nothing("a", "b", "")._replace(values=([1.0, 2, 3], [2.0, 3, 4]), by=1.0, low=-1.0, high=3.0)
    figure = pictures.two_labels(compared, "x.tps")
    keys = {text.get_text() for legend in figure.legends for text in legend.get_texts()}
    assert keys == {"a run", "mean of the runs", "difference", "95 % of the difference", "none"}
    above, below = figure.axes
    assert below.get_xlabel().startswith("b less a")
    assert not above.get_shared_x_axes().joined(above, below)
