"""BenchBase, FileBench and sysbench: what is read of a run is what the tool printed."""
import json
import re

import pytest

from study.errors import UserError
from study.project import ROOT
from support.awk import awk
from support.imported_runs import FIXTURES

# --- sysbench ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["oltp", "rate", "fileio", "cpu", "memory"])
def test_sysbench_is_as_printed(bring, name):
    run, text = bring(f"sysbench/{name}.txt"), (FIXTURES / f"sysbench/{name}.txt").read_text()
    printed = {
        "events": r"total number of events: +(\d+)",
        "elapsed": r"total time: +([\d.]+)s",
        "response.mean": r"avg: +([\d.]+)",
        "response.maximum": r"max: +([\d.]+)",
        "transactions": r"transactions: +(\d+)",
        "queries.read": r"\bread: +(\d+)",
        "eps": r"events per second: +([\d.]+)",
        "operations": r"Total operations: (\d+)",
        "bandwidth": r"\(([\d.]+) MiB/sec",
        "reads": r"reads/s: +([\d.]+)",
        "tps": r"transactions: .*\(([\d.]+) per",
    }
    golden = {f"sysbench.{key}": float(match[1]) for key, pattern in printed.items() if (match := re.search(pattern, text))}
    assert {key: run[key] for key in run if key.removeprefix("sysbench.") in printed} == golden
    assert (run.tool["version"], run.tool["load"]) == ("1.0.20", "open" if name == "rate" else "closed")
    n_lines = len(set(re.findall(r"^\[ (\d+)s \]", text, re.M)))
    assert run.sql("SELECT count(DISTINCT t) FROM observations WHERE run_id = $1") == [(n_lines,)]


def test_the_histogram_of_sysbench_holds_every_event(bring):
    run = bring("sysbench/oltp.txt")
    counted = awk("$2 ~ /^\\|/ {n += $NF} END {print n}", FIXTURES / "sysbench/oltp.txt")
    assert run.sql("SELECT sum(value) FROM histograms WHERE run_id = $1") == [(counted[0],)]


FOUR = """sysbench 0.4.12:  multi-threaded system evaluation benchmark

Running the test with following options:
Number of threads: 8

Doing OLTP test.
Threads started!
Done.

OLTP test statistics:
    queries performed:
        read:                            140014
        write:                           50005
        other:                           20002
        total:                           210021
    transactions:                        10001  (1650.02 per sec.)
    deadlocks:                           0      (0.00 per sec.)
    read/write requests:                 190019 (31350.42 per sec.)
    other operations:                    20002  (3300.04 per sec.)

Test execution summary:
    total time:                          6.0612s
    total number of events:              10001
    total time taken by event execution: 48.4289
    per-request statistics:
         min:                                  2.03ms
         avg:                                  4.84ms
         max:                                 44.70ms
         approx.  95 percentile:               7.93ms

Threads fairness:
    events (avg/stddev):           1250.1250/20.88
    execution time (avg/stddev):   6.0536/0.00
"""


def test_the_style_of_2009(bring):
    run = bring("four.txt", FOUR)
    assert [
        run[f"sysbench.{name}"] for name in ("transactions", "tps", "queries.write", "response.mean", "response.p95")
    ] == [10001, 1650.02, 50005, 4.84, 7.93]
    assert all(check["agrees"] for check in run.tool["checks"])


# --- FileBench --------------------------------------------------------------------------------------------------------

OF_2007 = """1698: 345.776: Running...
1698: 466.858: Run took 120 seconds...
1698: 466.913: Per-Operation Breakdown
random-rate 0ops/s 0.0mb/s 0.0ms/op 0us/op-cpu
shadowread 4255ops/s 33.2mb/s 45.7ms/op 67us/op-cpu
dbwrite-a 4245ops/s 33.2mb/s 45.7ms/op 67us/op-cpu
lg-write 43ops/s 0.3mb/s 45.7ms/op 67us/op-cpu
limit 0ops/s 0.0mb/s 0.0ms/op 0us/op-cpu
limit 0ops/s 0.0mb/s 0.0ms/op 0us/op-cpu
1698: 466.913:
IO Summary: 1034439 ops 8543.3 ops/s, (4255/4245 r/w) 66.7mb/s, 188us cpu/op, 45.7ms latency
1698: 466.922: Shutting down processes
"""
OF_15 = """Filebench Version 1.5-alpha3
0.000: Allocated 177MB of shared memory
1.019: Running...
3.027: Per-Operation Breakdown
closefile2           33144ops    16539ops/s   0.0mb/s    0.001ms/op [0.000ms - 8.035ms]
appendlog            33144ops    16539ops/s  32.2mb/s    0.008ms/op [0.001ms - 12.058ms]\t[ 0 7 33137 ]
3.027: IO Summary: 66288 ops 33078.000 ops/s 0/16539 rd/wr  32.2mb/s 0.019ms/op
3.031: Run took 2 seconds...
"""


def test_filebench_of_2007(bring):
    run = bring("fb.txt", OF_2007)
    assert [
        run[name]
        for name in (
            "filebench.operations",
            "filebench.rate",
            "filebench.bandwidth",
            "filebench.cpu",
            "shadowread.response",
            "filebench.elapsed",
        )
    ] == [1034439, 8543.3, 66.7, 188, 45.7, 120]
    assert run.tool["dialect"] == "up to 1.4"
    with pytest.raises(UserError, match="bandwidth of the breakdown"):
        bring("cut.txt", "".join(line for line in OF_2007.splitlines(True) if "dbwrite-a" not in line))


def test_filebench_15_with_a_histogram(bring):
    run = bring("fb.txt", OF_15)
    assert (run.tool["version"], run.tool["dialect"]) == ("1.5-alpha3", "1.5")
    assert [run[name] for name in ("filebench.operations", "appendlog.operations", "appendlog.response")] == [
        66288,
        33144,
        0.008,
    ]
    assert run.sql("SELECT low, high, value FROM histograms WHERE run_id = $1 ORDER BY low") == [(2, 4, 7), (4, 8, 33137)]


def test_intervals_of_psrun_are_a_series_and_no_total(bring):
    block = OF_15[OF_15.index("3.027: Per") : OF_15.index("3.031")]
    run = bring("fb.txt", OF_15.replace(block, block + block.replace("3.027", "5.027")))
    assert "filebench.rate" not in run
    assert run.sql(
        "SELECT count(*) FROM observations WHERE run_id = $1 AND name = 'rate' AND series = 'filebench.intervals'"
    ) == [(2,)]


@pytest.mark.parametrize(
    "text",
    [
        "Filebench Version 1.5-alpha3\n1.0: Running...\n2.0: Run took 1 seconds...\n",
        OF_15.replace("3.031: Run", "3.030: NO VALID RESULTS! Filebench run terminated prematurely\n3.031: Run"),
    ],
)
def test_a_run_that_was_stopped_early_is_refused(bring, text):
    with pytest.raises(UserError, match="stopped early"):
        bring("fb.txt", text)


# --- BenchBase --------------------------------------------------------------------------------------------------------

RAW = (
    "Transaction Type Index,Transaction Name,Start Time (microseconds),Latency (microseconds),Worker Id (start number),"
    "Phase Id (index in config file)\n"
)
SAMPLES = (
    "Time (seconds),Requests,Throughput (requests/second),Minimum Latency (microseconds),25th Percentile Latency "
    "(microseconds),Median Latency (microseconds),Average Latency (microseconds),Maximum Latency (microseconds)\n"
)


def _benchbase(folder, state="EXIT", requests=4, extra=""):
    folder.mkdir(exist_ok=True)
    stem = folder / "ycsb_2026-11-21_01-00-42"
    rows = "".join(f"1,ReadRecord,1795222830.{n}49264,{1000 + n},0,1\n" for n in range(4))
    stem.with_suffix(".raw.csv").write_text(RAW + rows + extra)
    stem.with_suffix(".samples.csv").write_text(SAMPLES + "0,4,4.000,157,406,568,3312,35046\n1,0,0.000,-1,-1,-1,-1,-1\n")
    stem.with_suffix(".params.json").write_text("{}")
    stem.with_suffix(".summary.json").write_text(
        json.dumps(
            {
                "Start timestamp (milliseconds)": 1795222830524,
                "Elapsed Time (nanoseconds)": 1000000000,
                "DBMS Type": "SQLITE",
                "DBMS Version": None,
                "Benchmark Type": "ycsb",
                "Final State": state,
                "Measured Requests": requests,
                "scalefactor": "1",
                "Latency Distribution": {
                    "95th Percentile Latency (microseconds)": 1003,
                    "Average Latency (microseconds)": 1001,
                },
                "Throughput (requests/second)": 4.0,
                "Goodput (requests/second)": 4.1,
            }
        )
    )
    return folder


def test_a_folder_of_benchbase(bring, tmp_path):
    run = bring(_benchbase(tmp_path / "b"))
    assert run.sql("SELECT count(*), sum(response_us), min(utc)::VARCHAR FROM transactions WHERE run_id = $1") == [
        (4, 4006, "2026-11-21 01:00:30.050264")
    ]
    assert [run[f"benchbase.{name}"] for name in ("throughput", "goodput", "response.p95")] == [4.0, 4.1, 1.003]
    values = run.sql("SELECT t, name, value FROM observations WHERE run_id = $1 ORDER BY t, name")
    assert [value for *_, value in values if value < 0] == []
    assert (1.0, "response.mean", 3312.0) in values
    assert all(check["agrees"] for check in run.tool["checks"])


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"state": "ERROR"}, "state ERROR"),
        ({"requests": 5}, r"5 1/s were counted.*and 2 more"),
        ({"extra": "1,ReadRecord,17"}, "has no end"),
    ],
)
def test_benchbase_that_does_not_add_up_is_refused(bring, tmp_path, options, says):
    with pytest.raises(UserError, match=says):
        bring(_benchbase(tmp_path / "b", **options))


def test_windows_of_oltpbench(bring):
    text = (
        "time(sec), throughput(req/sec), avg_lat(ms), min_lat(ms), 25th_lat(ms), median_lat(ms), max_lat(ms), tp (req/s)"
        " scaled\n0,40.000,2.205,0.157,0.367,0.488,35.046,0.454\n5,41.000,2.1,0.1,0.3,0.4,30.0,0.4\n"
    )
    run = bring("oltpbench.res", text)
    assert run.sql("SELECT sum(value) FROM observations WHERE run_id = $1 AND name = 'throughput'") == [(81,)]
    assert run.sql("SELECT DISTINCT unit FROM observations WHERE run_id = $1 AND statistic = 'percentile'") == [("ms",)]
    assert run.tool["dialect"] == "OLTPBench"


# --- one clock --------------------------------------------------------------------------------------------------------


def test_the_example_is_on_one_clock(runs):
    from study.ingest import clocks, given_runs, imports

    [run] = given_runs.given([ROOT / "data" / "examples" / "run"])
    report = imports.imported(run, imports.Options())
    assert {tool["tool"] for tool in report.tools} == {"pgbench", "iostat"}
    together = clocks.alignment(report.series)
    first, *_ = awk('NR == 1 {printf "%.6f", $5 + $6 / 1e6 - $3 / 1e6}', *(ROOT / "data/examples/run").glob("pgbench_log*"))
    [progress] = [series for series in report.series if series["series"] == "pgbench.progress"]
    assert progress["starts"] == clocks.utc(first)
    assert progress["uncertainty_s"] == pytest.approx(1 + 0.013237)
    assert together["from"] < together["to"]
    assert together["uncertainty_s"] == pytest.approx(1 + 1.013237)
