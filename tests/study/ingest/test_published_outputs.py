"""Outputs of pgbench, sysbench and fio in shapes that are common on public pages. All numbers are invented."""

import json

import pytest

from study.errors import UserError
from study.ingest import text
from study.runs.folder import manifest


@pytest.mark.parametrize(("shown", "value"), [("1e-300", 1e-300), ("0e-400", 0), ("-0,5", -0.5), ("1E3", 1000)])
def test_a_number_is_what_it_says(shown, value):
    assert text.number(shown) == value


@pytest.mark.parametrize("shown", ["1e-400", "-2.5e-999", "1e400"])
def test_a_number_that_would_become_0_or_infinite_is_refused(shown):
    with pytest.raises(ValueError, match="beyond what a number"):
        text.number(shown)


# --- pgbench ----------------------------------------------------------------------------------------------------------

RETRIES = """transaction type: <builtin: TPC-B (sort of)>
scaling factor: 1
query mode: simple
number of clients: 10
number of threads: 1
maximum number of tries: 10
number of transactions per client: 1000
number of transactions actually processed: 7000/10000
number of failed transactions: 3000 (30.000%)
number of transactions retried: 8000 (80.000%)
total number of retries: 45000
latency average = 17.000 ms
latency stddev = 13.000 ms
initial connection time = 45.000 ms
tps = 186.500000 (without initial connection time)
statement latencies in milliseconds, failures and retries:
         0.006           0           0  \\set aid random(1, 100000 * :scale)
         1.098         320        3762  UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
"""
STATEMENTS = ["\\set aid random(1, 100000 * :scale)",
              "UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;"]


def statements(run):
    return [manifest(run.report.folder)["parameters"][f"pgbench.statement_{n}"] for n in (1, 2)]


@pytest.mark.parametrize("of_a_page", [
    lambda text: text,
    lambda text: "\n".join(line.strip() for line in text.splitlines()) + "\n",              # margins are lost
    lambda text: "\n".join(" ".join(line.split()) for line in text.splitlines()) + "\n",    # and all blanks but one
])
def test_statements_of_pgbench_are_read_where_a_page_has_lost_their_blanks(bring, of_a_page):
    run = bring("run.txt", of_a_page(RETRIES))
    assert (run["pgbench.statement_1.response"], run["pgbench.statement_2.response"]) == (0.006, 1.098)
    assert statements(run) == STATEMENTS
    assert run.tool["rows_refused"] == 0


def test_the_heading_says_how_many_counts_stand_beside_a_statement(bring):
    """A text that begins with a number keeps it."""
    text = RETRIES.replace(", failures and retries:", " and failures:").replace("0           0  \\set", "0  0 \\set")
    assert statements(bring("run.txt", text))[0].startswith("0 \\set")


def test_a_rate_of_pgbench_with_commas_is_named_and_not_said_to_be_missing(bring):
    with pytest.raises(UserError, match=r"line 15 of run\.txt: 'tps = 1,186\.5 .* is no line of a summary"):
        bring("run.txt", RETRIES.replace("tps = 186.500000", "tps = 1,186.5"))


# --- sysbench ---------------------------------------------------------------------------------------------------------

SYSBENCH = """sysbench 1.0.20 (using bundled LuaJIT 2.1.0-beta2)

Running the test with following options:
Number of threads: 4
Report intermediate results every 1 second(s)

Threads started!

[ 1s ] thds: 4 tps: 500.00 qps: 10000.00 (r/w/o: 7000.00/2000.00/1000.00) lat (ms,95%): 9.91 err/s: 0.00 reconn/s: 0.00
[ 2s ] thds: 4 tps: 510.00 qps: 10200.00 (r/w/o: 7140.00/2040.00/1020.00) lat (ms,95%): 9.73 err/s: 0.00 reconn/s: 0.00
SQL statistics:
    queries performed:
        read:                            14140
        write:                           4040
        other:                           2020
        total:                           20200
    transactions:                        1010   (504.90 per sec.)
    queries:                             20200  (10098.00 per sec.)
    ignored errors:                      0      (0.00 per sec.)
    reconnects:                          0      (0.00 per sec.)

General statistics:
    total time:                          2.0004s
    total number of events:              1010

Latency (ms):
         min:                                    4.09
         avg:                                    7.90
         max:                                   31.01
         95th percentile:                        9.91
         sum:                                 7979.00

Threads fairness:
    events (avg/stddev):           252.5000/3.11
    execution time (avg/stddev):   1.9947/0.00
"""


@pytest.mark.parametrize("total", ["percentile stats:               disabled", "0th percentile:               0.00"])
def test_no_percentile_of_sysbench_is_no_response_time_of_0(bring, total):
    """--percentile=0 turns them off, and lines of intervals print 0.00. So does the summary of some builds."""
    text = SYSBENCH.replace("(ms,95%): 9.91", "(ms,0%): 0.00").replace("(ms,95%): 9.73", "(ms,0%): 0.00")
    text = text.replace("95th percentile:                        9.91", total)
    run = bring("run.txt", text)
    assert not [name for name in run if "response.p" in name]
    assert not run.sql("SELECT name FROM observations WHERE run_id = $1 AND statistic = 'percentile'")


def test_decimal_commas_in_a_summary_of_sysbench_are_not_cut_at_the_comma(bring):
    text = SYSBENCH.replace("9.91", "9,91").replace("4.09", "4,09")
    with pytest.raises(UserError, match="cannot be read"):
        bring("run.txt", text)
    run = bring("run.txt", text, partial=True)
    assert "sysbench.response.minimum" not in run
    assert any("commas" in refused["reason"] for refused in run.tool["refused"])


@pytest.mark.parametrize("stamp", [
    "10:01:02 ", "[10:01:02.123] ", "2023-05-06 10:01:02 ", "2023-05-06 10:01:02,123 - ", "[2023-05-06 10:01:02] ",
    "2023-05-06 10:01:02 | ", "2023/05/06 10:01:02 ", "May  6 10:01:02 ", "2023-05-06T10:01:02.123456789Z stdout F ",
    "2023-05-06T10:01:02+02:00 ",
])
def test_a_time_before_each_line_is_taken_off(bring, stamp):
    run = bring("run.txt", "".join(f"{stamp}{line}".rstrip() + "\n" for line in SYSBENCH.splitlines()))
    assert (run["sysbench.tps"], run["sysbench.response.p95"]) == (504.9, 9.91)
    assert run.tool["rows_refused"] == 0


# --- fio --------------------------------------------------------------------------------------------------------------

FIO = """{name}: (g={group}): rw={rw}, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=2
"""
RESULT = """{name}: (groupid={group}, jobs=1): err= 0: pid=123{group}: Tue Mar  5 10:00:00 2024
  {rw}: IOPS=1000, BW=4000KiB/s (4096kB/s)(39.1MiB/10000msec)
    clat (usec): min=560, max=1503, avg=900.21, stdev=90.20
     issued rwts: total={issued},0,0 short=0,0,0,0 dropped=0,0,0,0
"""
STATUS = """
Run status group {group} (all jobs):
  {rw}: bw=4000KiB/s (4096kB/s), 4000KiB/s-4000KiB/s (4096kB/s-4096kB/s), io=39.1MiB (41.0MB), run=10000-10000msec
"""
OF_READ = {"name": "a", "group": 0, "rw": "read", "issued": "10000,0"}
OF_WRITE = {"name": "b", "group": 1, "rw": "write", "issued": "0,10000"}
STARTED = FIO.format(**OF_READ) + FIO.format(**OF_WRITE) + "fio-3.36\nStarting 2 processes\n"
STATUSES = STATUS.format(group=0, rw=" READ") + STATUS.format(group=1, rw="WRITE")


def test_groups_of_fio_have_the_bytes_of_their_jobs(bring):
    run = bring("run.txt", STARTED + RESULT.format(**OF_READ) + RESULT.format(**OF_WRITE) + STATUSES)
    assert (run["fio.a.read.operations"], run["fio.b.write.operations"]) == (10000, 10000)
    assert {check["name"] for check in run.tool["checks"]} >= {"bytes of group 0, read", "bytes of group 1, write"}


@pytest.mark.parametrize(("text", "complaint"), [
    (STARTED + RESULT.format(**OF_READ) + STATUSES, "no result of jobs of group 1"),
    (STARTED + RESULT.format(**OF_READ), "no result of jobs of group 1"),
    (STARTED + RESULT.format(**OF_READ) + RESULT.format(**OF_WRITE) + STATUSES.replace("io=39.1MiB", "io=78.2MiB"),
     "bytes of group 0, read"),
    (STATUSES, "the status of groups alone"),
])
def test_a_job_of_fio_that_is_missing_is_noticed(bring, text, complaint):
    with pytest.raises(UserError, match=complaint):
        bring("run.txt", text)


def of_json(name="j", n=10000, start=1_700_000_000_000, before="", at=None, elapsed=None):
    read = {"io_bytes": n * 4096, "io_kbytes": n * 4, "bw_bytes": n * 409.6, "bw": n * 0.4, "iops": n / 10, "runtime": 10000,
            "total_ios": n, "clat_ns": {"min": 900, "max": 89000, "mean": 19000.5, "stddev": 100.0, "N": n}}
    job = {"jobname": name, "groupid": 0, "error": 0, "read": read}
    job |= ({} if start is None else {"job_start": start}) | ({} if elapsed is None else {"elapsed": elapsed})
    times = {} if at is None else {"timestamp": at}
    return before + json.dumps({"fio version": "fio-3.35", **times, "jobs": [job]}, indent=2) + "\n"


@pytest.mark.parametrize("text", [
    of_json("a") + of_json("b"),
    of_json(start=1_700_000_000_000) + of_json(start=1_700_000_100_000),
    of_json(n=10000) + of_json(n=9000),
    f"[{of_json('a')},{of_json('b')}]",
    f"[{of_json('a').strip()}, {of_json('b').strip()}]",
    of_json("a").strip() + of_json("b"),
    f"[{of_json('a').strip()}][{of_json('b').strip()}]",
    of_json(n=9000, start=None, at=1_700_000_010, elapsed=11) + of_json(start=None, at=1_700_000_100, elapsed=11),
    of_json(n=9000, start=None, at=1_700_000_010, elapsed=11) + of_json(start=None, at=1_700_000_014, elapsed=12),
    of_json(n=9000, start=None) + of_json(start=None),
])
def test_json_of_several_runs_of_fio_is_not_that_of_the_last(bring, text):
    with pytest.raises(UserError, match="outputs of several runs"):
        bring("run.json", text)


def test_json_of_later_reports_counts_once_and_a_notice_may_have_braces(bring):
    run = bring("run.json", of_json(n=9000) + of_json(before="fio: a notice {with braces}\n"))
    assert run["fio.j.read.operations"] == 10000


def test_reports_without_job_start_are_of_one_run_if_their_clocks_go_on_together(bring):
    run = bring("run.json", of_json(n=9000, start=None, at=1_700_000_010, elapsed=11)
                + of_json(start=None, at=1_700_000_015, elapsed=17))
    assert run["fio.j.read.operations"] == 10000


def test_what_fio_did_not_measure_is_left_out_of_its_json(bring):
    run = bring("run.json", of_json().replace('"stddev": 100.0', '"stddev": -nan'))
    assert run["fio.j.read.completion.maximum"] == 0.089
    assert "fio.j.read.completion.stddev" not in run


# --- FileBench --------------------------------------------------------------------------------------------------------

def test_filebench_says_that_the_loss_of_a_row_without_bytes_may_not_be_seen(bring):
    rows = "".join(f"{name:20} {ops}ops {ops // 10}ops/s   {mb}mb/s      0.0ms/op       10us/op-cpu [0ms - 1ms]\n"
                   for name, ops, mb in (("closefile1", 1000, "0.0"), ("readfile1", 1000, "0.8")))
    text = f"""10.000: Running...
20.000: Run took 10 seconds...
20.000: Per-Operation Breakdown
{rows}20.000: IO Summary:  2000 ops 200.000 ops/s 100/0 rd/wr   0.8mb/s   0.0ms/op
"""
    warnings = bring("run.txt", text).tool["warnings"]
    assert any("closefile1" in warning and "may not be seen" in warning for warning in warnings)
    assert not any("readfile1" in warning for warning in warnings)
