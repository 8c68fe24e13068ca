"""Variants of what tools print: each comes to the numbers that it shows, or is refused by a sentence that says what it is.

Real ones are fixtures, and awk or the tool's own total is their golden number. The rest is typed from the sources of the
tools, as `fixtures/README.md` says.
"""

import re

import pytest

from study.errors import UserError
from support.awk import awk
from support.imported_runs import FIXTURES

# --- pgbench ----------------------------------------------------------------------------------------------------------

UP_TO_95 = """starting vacuum...end.
progress: 5.0 s, 1234.5 tps, lat 8.112 ms stddev 3.210, lag 0.345 ms
progress: 10.0 s, 1200.1 tps, lat 8.340 ms stddev 3.410, lag 0.401 ms
transaction type: TPC-B (sort of)
scaling factor: 100
query mode: simple
number of clients: 10
number of threads: 2
duration: 10 s
number of transactions actually processed: 12173
latency average: 8.225 ms
latency stddev: 3.320 ms
rate limit schedule lag: avg 0.373 (max 20.1) ms
tps = 1217.012000 (including connections establishing)
tps = 1217.300000 (excluding connections establishing)
statement latencies in milliseconds:
\t0.004683\t\\set nbranches 1 * :scale
\t12.315200\tUPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
"""


def test_statements_of_pgbench_up_to_95_have_tabs(bring):
    run = bring("old.txt", UP_TO_95)
    assert (run["pgbench.statement_1.response"], run["pgbench.statement_2.response"]) == (0.004683, 12.3152)
    assert (run["pgbench.response.mean"], run["pgbench.lag.maximum"], run["pgbench.tps"]) == (8.225, 20.1, 1217.3)
    assert (run.tool["load"], run.tool["dialect"], run.tool["rows_refused"]) == ("open", "up to 13", 0)


def test_a_statement_that_cannot_be_read_is_not_left_out(bring):
    with pytest.raises(UserError, match=r"line 18 of old\.txt: it begins as a response time of a statement"):
        bring("old.txt", UP_TO_95.replace("12.315200", "12,315200"))


def test_a_mean_that_pgbench_did_not_measure_is_no_smaller_than_that_of_the_log(bring):
    """Without -P and -R it divides time by transactions. Clients that wait for the last one count."""
    run = bring("pgbench/unmeasured")
    [mean] = awk("{s += $3} END {print s / NR / 1000}", *(FIXTURES / "pgbench/unmeasured").glob("pgbench_log*"))
    assert run["pgbench.log.response.mean"] == pytest.approx(mean, rel=1e-5)
    assert mean < run["pgbench.response.mean"] * 0.99
    assert all(check["agrees"] for check in run.tool["checks"])


def test_a_mean_below_that_of_the_log_is_refused(bring, tmp_path):
    for path in (FIXTURES / "pgbench/unmeasured").iterdir():
        text = path.read_text().replace("latency average = 4.204", "latency average = 3.204")
        (tmp_path / path.name).write_text(text)
    with pytest.raises(UserError, match=r"mean response time in the log: .* but pgbench printed 3\.204"):
        bring(tmp_path)


def test_an_error_of_pgbench_is_told(bring):
    text = 'pgbench (16.4)\npgbench: error: connection to server on socket "/s" failed: No such file or directory\n'
    with pytest.raises(UserError, match=r"pgbench stopped with an error, says line 2 of run.txt: connection to server"):
        bring("run.txt", text)


# --- sysbench ---------------------------------------------------------------------------------------------------------

FILEIO_OF_04 = """sysbench 0.4.12:  multi-threaded system evaluation benchmark

Running the test with following options:
Number of threads: 8

Doing random r/w test
Threads started!
Done.

Operations performed:  6002 Read, 3998 Write, 12801 Other = 22801 Total
Read 93.781Mb  Written 62.469Mb  Total transferred 156.25Mb  (9.1145Mb/sec)
  583.33 Requests/sec executed

Test execution summary:
    total time:                          17.1430s
    total number of events:              10000
    total time taken by event execution: 80.2340
    per-request statistics:
         min:                                  0.01ms
         avg:                                  8.02ms
         max:                                211.82ms
         approx.  95 percentile:              33.30ms

Threads fairness:
    events (avg/stddev):           1250.0000/69.31
    execution time (avg/stddev):   10.0292/0.45
"""


def test_fileio_of_sysbench_04(bring):
    run = bring("io.txt", FILEIO_OF_04)
    names = ("requests.read", "requests.write", "requests.other", "requests", "requests.rate", "read", "bandwidth")
    assert [run[f"sysbench.{name}"] for name in names] == [6002, 3998, 12801, 22801, 583.33, 93.781, 9.1145]
    gigabytes = bring("io.txt", FILEIO_OF_04.replace("transferred 156.25Mb", "transferred 1.5Gb"))
    assert gigabytes["sysbench.transferred"] == 1536


OF_05 = """sysbench 0.5:  multi-threaded system evaluation benchmark

Running the test with following options:
Number of threads: 8
Report intermediate results every 1 second(s)

Threads started!

[   1s] threads: 8, tps: 420.4, reads: 5886.3, writes: 1681.4, response time: 25.10ms (95%), errors: 0.00, reconnects:  0.00
[   2s] threads: 8, tps: 430.0, reads: 6020.1, writes: 1720.0, response time: 24.10ms (95%), errors: 1.00, reconnects:  0.00
OLTP test statistics:
    queries performed:
        read:                            11900
        write:                           3400
        other:                           1700
        total:                           17000
    transactions:                        850    (424.92 per sec.)
    read/write requests:                 15300  (7648.47 per sec.)
    ignored errors:                      1      (0.50 per sec.)
    reconnects:                          0      (0.00 per sec.)

General statistics:
    total time:                          2.0004s
    total number of events:              850
    total time taken by event execution: 13.2685s
    response time:
         min:                                  6.90ms
         avg:                                 15.61ms
         max:                                244.83ms
         approx.  95 percentile:              25.10ms

Threads fairness:
    events (avg/stddev):           106.2500/1.20
    execution time (avg/stddev):   1.9996/0.00
"""


def test_sysbench_05(bring):
    run = bring("run.txt", OF_05)
    names = ("tps", "errors", "response.mean", "response.p95", "queries.write")
    assert [run[f"sysbench.{name}"] for name in names] == [424.92, 1, 15.61, 25.1, 3400]
    assert dict(run.sql("SELECT name, value FROM observations WHERE run_id = $1 AND t = 2")) == {
        "threads": 8, "tps": 430, "reads": 6020.1, "writes": 1720, "errors": 1, "reconnects": 0, "response.p95": 24.1
    }  # fmt: skip
    assert all(check["agrees"] for check in run.tool["checks"])


def test_intervals_of_the_memory_test(bring):
    run = bring("sysbench/memory_intervals.txt")
    golden = awk('/^\\[ .*MiB.sec/ {print $4 + 0 ? $4 : $3}', FIXTURES / "sysbench/memory_intervals.txt")
    assert [value for (value,) in run.sql(
        "SELECT value FROM observations WHERE run_id = $1 AND name = 'bandwidth' ORDER BY t"
    )] == golden
    assert len(golden) == 2


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("[ 1s ] Checkpoint report:", "line 6 is a report of --report-checkpoints"),
        ("Creating files for the test...", "it is of `sysbench prepare` or `cleanup`"),
        ("Inserting 100000 records into 'sbtest1'", "it is of `sysbench prepare` or `cleanup`"),
    ],
)
def test_sysbench_that_is_of_no_whole_run_is_refused(bring, line, says):
    whole = FILEIO_OF_04.splitlines(keepends=True)
    text = [*whole[:5], line + "\n", *whole[5:]] if "Checkpoint" in line else [*whole[:2], line + "\n"]
    with pytest.raises(UserError, match=re.escape(says)):
        bring("io.txt", "".join(text))


# --- fio --------------------------------------------------------------------------------------------------------------


def test_logs_of_fio_that_count_from_1970(bring):
    """`log_unix_epoch=1`: the clock is that of the log, and two jobs with stamps of their own make no gaps."""
    run = bring("fio/epoch")
    logs = sorted((FIXTURES / "fio/epoch").glob("x_bw.*.log"))
    first, n, total = awk("{n++; s += $2; if (!m || $1 + 0 < m) m = $1 + 0} END {printf \"%.0f %d %.0f\", m, n, s}", *logs)
    [(count, sum_of, utc)] = run.sql("SELECT count(*), sum(value), epoch_ms(min(utc)) FROM observations WHERE run_id = $1")
    assert (count, sum_of, utc) == (n, total, first)
    [series] = run.report.series
    assert series["interval_s"] == pytest.approx(0.5, abs=0.002)
    assert (series["gaps"], series["uncertainty_s"]) == ([], 0.001)


def test_logs_of_two_clocks_are_refused(bring, tmp_path):
    for n, stamp in enumerate((1795766780477, 500)):
        (tmp_path / f"x_bw.{n + 1}.log").write_text(f"{stamp}, 66752, 0, 0, 0\n")
    with pytest.raises(UserError, match="some of its logs count from 1970"):
        bring(tmp_path)


def test_a_clock_of_fio_that_tells_no_time_of_day_gives_none(bring, tmp_path):
    text = (FIXTURES / "fio/epoch/o.json").read_text()
    (tmp_path / "o.json").write_text(text.replace('"log_unix_epoch"', '"log_alternate_epoch"'))
    (tmp_path / "x_bw.1.log").write_text("24739553, 79025, 0, 0, 0\n24740053, 79856, 0, 0, 0\n")
    run = bring(tmp_path)
    assert run.sql("SELECT t, utc FROM observations WHERE run_id = $1 ORDER BY t") == [(0.0, None), (0.5, None)]
    assert any("log_alternate_epoch" in sentence for sentence in run.tool["missing"])


def test_jobs_that_follow_each_other_in_one_log_are_told_apart(bring):
    run = bring("x_bw.log", "500, 1, 0, 0\n500, 2, 1, 0\n1000, 3, 0, 0\n500, 4, 0, 0\n500, 5, 1, 0\n1000, 6, 0, 0\n")
    rows = run.sql("SELECT subject, sum(value) FROM observations WHERE run_id = $1 GROUP BY 1 ORDER BY 1")
    assert rows == [("x.1/read", 4), ("x.1/write", 2), ("x.2/read", 10), ("x.2/write", 5)]


def test_terse_fio_of_version_5_and_of_several_jobs(bring):
    line = (FIXTURES / "fio/terse5.txt").read_text()
    words = line.split(";")
    run = bring("terse.txt", line * 2)
    assert [run[f"fio.rr.{name}"] for name in ("read.iops", "write.iops")] == [float(words[7]), float(words[54])]
    assert run["fio.rr-2.write.bytes"] == float(words[52]) * 1024
    assert all(check["agrees"] for check in run.tool["checks"])
    assert float(words[54]) == 8074


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("2;rr;0;0;139608;69769;8721;2001;0;0;0.0;\n", "terse output of version 2"),
        ('{"fio version" : "fio-3.33", "client_stats" : [{"jobname" : "rr"}]}', "fio --client"),
    ],
)
def test_fio_of_other_forms_is_refused(bring, text, says):
    with pytest.raises(UserError, match=says):
        bring("o.txt", text)


# --- iostat and zpool iostat ------------------------------------------------------------------------------------------


def test_iostat_without_x(bring):
    run = bring("iostat/plain.txt")
    golden = awk('$1 == "vda" {for (i = 2; i <= NF; i++) if (n) print $i; n++}', FIXTURES / "iostat/plain.txt")
    assert sorted(value for (value,) in run.sql(
        "SELECT value FROM observations WHERE run_id = $1 AND series = 'iostat.disks'"
    )) == sorted(golden)
    assert run.tool["dialect"] == "text, without -x"
    units = dict(run.sql("SELECT DISTINCT name, unit FROM observations WHERE run_id = $1"))
    assert (units["read_bandwidth"], units["read_amount"], units["requests"]) == ("KiB/s", "KiB", "1/s")


def _iostat(*times):
    table = "Device r/s w/s rkB/s wkB/s await %util\nsda 1 2 3 4 5 6\n"
    return "Linux 5.4 (db1)\t05/06/14\t_x86_64_\t(4 CPU)\n\n" + "".join(f"{shown}\n{table}\n" for shown in times)


@pytest.mark.parametrize(
    ("times", "utc"),
    [
        (("05/06/14 13:02:03", "05/06/14 13:02:04"), "2014-05-06T13:02:03"),  # C
        (("05/06/2014 01:02:03 PM", "05/06/2014 01:02:04 PM"), "2014-05-06T13:02:03"),  # en_US
        (("06.05.2014 13:02:03", "06.05.2014 13:02:04"), "2014-05-06T13:02:03"),  # de_DE
        (("26/05/2014 13:02:03", "26/05/2014 13:02:04"), "2014-05-26T13:02:03"),  # fr_FR, a day beyond 12
        (("2014-05-06 13:02:03", "2014-05-06 13:02:04"), "2014-05-06T13:02:03"),  # sv_SE
    ],
)
def test_times_of_iostat_in_other_locales(bring, times, utc):
    run = bring("iostat.txt", _iostat(*times), utc_offset="+00:00")
    assert run.report.series[0]["starts"].startswith(utc)


@pytest.mark.parametrize("shown", ["06/05/2014 13:02:03", "2014年05月26日 13時02分03秒"])
def test_a_time_of_iostat_that_may_be_two_is_refused(bring, shown):
    with pytest.raises(UserError, match=f"'{shown}' is a time .*whose order of day and month is not known"):
        bring("iostat.txt", _iostat(shown), utc_offset="+00:00")


def test_the_habit_that_orders_day_and_month_is_told(bring):
    def warns(day):
        run = bring("io.txt", _iostat(f"05/{day}/14 13:02:03"))
        return any("month before the day" in text for text in run.tool["warnings"])

    assert warns("06")
    assert not warns("26")


ZPOOL = """{0}
              capacity     operations     bandwidth
pool        alloc   free   read  write   read  write
----------  -----  -----  -----  -----  -----  -----
tank        2.76T  4.51T     12     34    56K     7M
{1}
tank        2.76T  4.51T     12     34    56K     7M
"""


@pytest.mark.parametrize(
    "times",
    [
        ("Mon Mar 15 13:48:44 UTC 2021", "Mon Mar 15 13:48:49 UTC 2021"),
        ("Mon 15 Mar 2021 01:48:44 PM UTC", "Mon 15 Mar 2021 01:48:49 PM UTC"),  # en_US
        ("Mon 15 Mar 13:48:44 GMT 2021", "Mon 15 Mar 13:48:49 GMT 2021"),  # en_GB
    ],
)
def test_dates_of_zpool_iostat_in_other_locales(bring, times):
    run = bring("zpool.txt", ZPOOL.format(*times))
    assert {shown["starts"] for shown in run.report.series} == {"2021-03-15T13:48:44.000000"}
    assert run.sql("SELECT DISTINCT t FROM observations WHERE run_id = $1 ORDER BY t") == [(0,), (5,)]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (ZPOOL.format("Mo 15. Mär 13:48:44 CET 2021", "Mo 15. Mär 13:48:49 CET 2021"), "of a language that is not read"),
        (ZPOOL.format("1615816124", "1615816129").replace("7M\n", "7M  4.0T  ATA\n"), "record without -c"),
    ],
)
def test_zpool_iostat_that_is_not_read_says_how_to_record(bring, text, says):
    with pytest.raises(UserError, match=says):
        bring("zpool.txt", text)


def test_zpool_iostat_of_2007_calls_its_space_used_and_avail(bring):
    text = ZPOOL.replace("{0}\n", "").replace("{1}\n", "").replace("alloc   free", " used  avail")
    run = bring("zpool.txt", text)
    assert dict(run.sql("SELECT name, value FROM observations WHERE run_id = $1 AND series = 'zpool.vdevs'")) == {
        "space.allocated": 2.76 * 2**40, "space.free": 4.51 * 2**40, "reads": 12, "writes": 34,
        "read_bandwidth": 56 * 2**10, "write_bandwidth": 7 * 2**20,
    }  # fmt: skip


# --- FileBench, and tools that are not read ---------------------------------------------------------------------------

OF_149 = """Filebench Version 1.4.9.1
13271: 6.149: Running...
13271: 66.155: Run took 60 seconds...
13271: 66.156: Per-Operation Breakdown
statfile1            15527ops      259ops/s   0.0mb/s      0.3ms/op      102us/op-cpu [0ms - 112ms]
deletefile1          15525ops      259ops/s   0.0mb/s      5.6ms/op      190us/op-cpu [0ms - 1180ms]
wrtfile1             31057ops      518ops/s  68.2mb/s     28.6ms/op      690us/op-cpu [0ms - 1180ms]
13271: 66.156: IO Summary: 62109 ops, 1035.1 ops/s, (259/518 r/w),  68.2mb/s,    430us cpu/op,  17.1ms latency
13271: 66.156: Shutting down processes
"""


def test_filebench_149(bring):
    run = bring("fb.txt", OF_149)
    names = ("filebench.rate", "filebench.bandwidth", "filebench.cpu", "filebench.response", "statfile1.operations")
    assert [run[name] for name in names] == [1035.1, 68.2, 430, 17.1, 15527]
    assert (run.tool["version"], run.tool["dialect"]) == ("1.4.9.1", "up to 1.4")
    assert all(check["agrees"] for check in run.tool["checks"])


NOT_READ = {
    "pgbench -i": "dropping old tables...\ncreating tables...\ndone in 0.33 s (drop tables 0.01 s).\n",
    "sysbench that did not start": "FATAL: --histogram cannot be used with --percentile=0\n",
    "iostat for people (-h or --pretty)": "     r/s     rkB/s Device\n  278.75      4.8M vda\n",
    "iostat without devices (-c)": "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n 1.0 0.0 0.0 0.0 0.0 99.0\n",
    "vmstat": "procs -----------memory---------- ---swap-- -----io----\n r  b   swpd   free\n",
    "sar -d": "Linux 6.1 (db1)\t11/26/26\t_x86_64_\t(2 CPU)\n\n08:07:01          DEV       tps     rkB/s\n",
    "sar, mpstat or pidstat of sysstat": "Linux 6.1 (db1)\t11/26/26\t_x86_64_\t(2 CPU)\n\n08:07:01     CPU    %usr\n",
    "bonnie++": "Version 2.00a       ------Sequential Output------ --Sequential Input-\nvm   64M  904k  49\n",
    "IOzone": "\tIozone: Performance Test of File I/O\n\t        Version $Revision: 3.489 $\n",
    "ioping": "4 KiB <<< /tmp (ext4 /dev/vda 252.0 GiB): request=1 time=113.0 us (warmup)\n",
    "dd": "16+0 records in\n16+0 records out\n16777216 bytes (17 MB) copied, 0.008 s, 2.1 GB/s\n",
    "HammerDB": "Vuser 1:TEST RESULT : System achieved 21029 NOPM from 46329 PostgreSQL TPM\n",
    "Jetstress": "<html><head><title>Microsoft Exchange Jetstress</title></head><body></body></html>\n",
    "YCSB": "[OVERALL], RunTime(ms), 10110\n[READ], Operations, 514\n",
    "tpcc-mysql": "*** ###easy### TPC-C Load Generator ***\n",
    "Vdbench": "Vdbench distribution: vdbench50407 Tue June 05  9:49:29 MDT 2018\n",
    "arcstat": "    time  read  miss  miss%  dmis  dm%\n10:11:12     0     0      0     0    0\n",
    "zpool status": "  pool: tank\n state: ONLINE\nconfig:\n",
    "pg_test_fsync": "        fdatasync                         329.207 ops/sec    3038 usecs/op\n",
    "zfs get": "NAME       PROPERTY    VALUE  SOURCE\ntank/data  recordsize  128K   default\n",
    "the kstat txgs of ZFS": "txg      birth            state ndirty       nread\n29078    48966493921213   C     0    0\n",
    "zpool list": "NAME   SIZE  ALLOC   FREE  CKPOINT\ntank  7.27T  2.76T  4.51T        -\n",
    "fio --write_iolog": "fio version 3 iolog\n0 /data add\n",
    "blkparse": "  8,0    1        1     0.000000000   697  Q   W 223490 + 8 [kjournald]\n",
}


@pytest.mark.parametrize("name", NOT_READ)
def test_what_is_not_read_is_called_by_its_name(bring, runs, name):
    with pytest.raises(UserError, match=f"^o.txt is output of {re.escape(name)}, which is not read here; "):
        bring("o.txt", NOT_READ[name])
    assert not list(runs.glob("imported/*"))


def test_an_empty_file_is_called_empty(bring):
    with pytest.raises(UserError, match=r"o.json is empty; a tool that is killed may leave it so"):
        bring("o.json", "")
