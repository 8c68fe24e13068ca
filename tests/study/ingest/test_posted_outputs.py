"""Outputs as people have posted them: layouts of old releases, parts left out, several runs in one post, newer sysbench."""

import re

import pytest

from study.errors import UserError
from study.ingest.fio import normal

HEADING = """               capacity     operations    bandwidth
pool        alloc   free   read  write   read  write
----------  -----  -----  -----  -----  -----  -----
"""
MIRRORS = """tank         757G   635G      {0}     10    262  1.25K
  mirror     400G   300G      3      6    162  1.00K
    sdb         -      -      1      6  1.35K  1.77K
  mirror     357G   335G      {1}      4    100    256
    sdb         -      -      {1}      4  1.35K  1.77K
----------  -----  -----  -----  -----  -----  -----
"""
DISKS = "Device:         rrqm/s   wrqm/s     r/s     w/s    rMB/s    wMB/s avgrq-sz avgqu-sz   await  svctm  %util\n"


def of_disks(run):
    return run.sql("SELECT t, subject, value FROM observations WHERE run_id = $1 AND name = 'writes' ORDER BY t, subject")


def test_vdevs_of_one_name_are_of_one_report(bring):
    """Up to 0.8 zpool iostat -v gives mirrors of a pool one name. A report begins with a pool, not with a second mirror."""
    run = bring("zpool.txt", f"# zpool iostat -v tank 5\n{HEADING}{MIRRORS.format(5, 2)}{MIRRORS.format(50, 20)}")
    rows = run.sql("SELECT t, subject, value FROM observations WHERE run_id = $1 AND name = 'reads' ORDER BY t, subject")
    assert rows == [
        (t, f"tank{below}", reads)
        for t, pool, second in ((0, 5, 2), (5, 50, 20))
        for below, reads in (
            ("", pool), ("/mirror", 3), ("/mirror#2", second), ("/mirror#2/sdb", second), ("/mirror/sdb", 1)
        )
    ]
    assert not any("come and go" in warning for warning in run.tool["warnings"])


def test_a_vdev_that_was_asked_for_by_name_begins_each_report(bring):
    heading = HEADING.replace("pool ", "vdev ")
    rows = "".join(f"    sdb         -      -      {n}      6  1.35K  1.77K\n" for n in (1, 2))
    run = bring("zpool.txt", f"# zpool iostat -vy tank sdb 5\n{heading}{rows}")
    assert run.sql("SELECT t, subject, value FROM observations WHERE run_id = $1 AND name = 'reads' ORDER BY t") == [
        (0, "sdb", 1), (5, "sdb", 2)]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"zpool iostat 5\n…\n{HEADING}{MIRRORS}", "line 2 of zpool.txt: it stands for lines that were left out"),
        (f"1 second:\nzpool iostat -y 1\n{HEADING}{MIRRORS}", "'1 second:' is no line of zpool iostat; take off"),
        (f"{HEADING}{MIRRORS}tank  1K  2K  3  4  5  6{' ' * 90}tank  1K  2K  3  4  5  6\n", "2 rows stand in it side by"),
        (f"    sdd         -      -      2      6  1.82K  1.77K\n{HEADING}{MIRRORS}", "no pool stands above it"),
    ],
)
def test_zpool_iostat_that_is_not_whole_says_why(bring, text, says):
    with pytest.raises(UserError, match=says):
        bring("zpool.txt", text.format(1, 2))


def test_the_screen_of_watch_is_one_report(bring):
    screen = f"Every 1.0s: zpool iostat -v tank            nas: Sun Jul  5 10:11:12 2015\n\n{HEADING}{MIRRORS.format(5, 2)}"
    run = bring("zpool.txt", screen)
    assert run.report.series[0]["series"] == "zpool.vdevs_since_import"
    assert run.sql("SELECT value FROM params WHERE run_id = $1 AND name = 'zpool iostat.command'")[0][0].strip('"') == (
        "zpool iostat -v tank")


def test_a_name_on_a_line_of_its_own_belongs_to_the_numbers_below(bring):
    """So sysstat 10 and 11 print it with -h."""
    rows = "".join(f"{name}\n{'':18}0.25     0.05    3.90  {w}     0.14     4.54    60.41     0.65    4.11   2.30  36.53\n"
                   for name, w in (("sda", 154.66), ("sdb", 154.84)))
    run = bring("iostat.txt", f"# iostat -xmhy 5\n{DISKS}{rows}\n{DISKS}{rows}\n")
    assert of_disks(run) == [(0, "sda", 154.66), (0, "sdb", 154.84), (5, "sda", 154.66), (5, "sdb", 154.84)]


def test_a_version_of_fio_alone_is_no_output_of_fio():
    assert not normal.is_of_people("fio-3.28\n")
    assert normal.is_of_people("fio-3.28\n  read: IOPS=1, cut off")


def test_a_margin_is_taken_off_below_a_prompt_without_one(bring):
    rows = "".join(f"    {line}\n" for line in (HEADING + MIRRORS.format(5, 2)).splitlines())
    run = bring("zpool.txt", f"root@nas:~# zpool iostat -v tank 5\n{rows}")
    assert "tank/mirror#2" in {subject for subject, in run.sql("SELECT subject FROM observations WHERE run_id = $1")}


def test_a_device_that_comes_again_begins_a_report(bring):
    """As grep leaves them: one heading above rows of many reports."""
    row = "sda  0.25  0.05  3.90  {}  0.14  4.54  60.41  0.65  4.11  2.30  36.53\n"
    run = bring("iostat.txt", f"# iostat -xmy 2 sda\n{DISKS}{''.join(row.format(n) for n in (1, 2, 3))}")
    assert of_disks(run) == [(0, "sda", 1), (2, "sda", 2), (4, "sda", 3)]


def test_iostat_of_2005_has_no_steal_and_two_units(bring):
    text = """avg-cpu:  %user   %nice    %sys %iowait   %idle
            0.10    0.00   21.85   58.55   19.50

Device:    rrqm/s wrqm/s   r/s   w/s  rsec/s  wsec/s    rkB/s    wkB/s avgrq-sz avgqu-sz   await  svctm  %util
sdc        8276.90   0.00 267.10  0.30 68352.00    2.40 34176.00     1.20   255.90     1.95    7.29   3.74 100.02

"""
    run = bring("iostat.txt", f"`iostat -xky 10`\n{text}")
    values = run.sql("SELECT name, value, unit FROM observations WHERE run_id = $1 ORDER BY name")
    assert [row for row in values if "bandwidth" in row[0]] == [
        ("read_bandwidth", 34176, "KiB/s"), ("write_bandwidth", 1.2, "KiB/s")]
    assert [row[:2] for row in values if row[0].startswith("cpu")] == [
        ("cpu.idle", 19.5), ("cpu.iowait", 58.55), ("cpu.nice", 0), ("cpu.system", 21.85), ("cpu.user", 0.1)]


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ("(snip)\nsda 0 0 0 1 0 0 0 0 0 0 0\n", "it stands for lines that were left out"),
        ("sda 0 0 0 1 0 0 0 0 0 0 0\nKilled\nsdb 0 0 0 1 0 0 0 0 0 0 0\n", "the row of Killed before it is not whole"),
        ("sda 0 0 0 1 0.1k 0 0 0 0 0 5.6%\n", "its numbers have units, as --human prints them"),
    ],
)
def test_iostat_that_is_not_read_says_why(bring, rows, says):
    with pytest.raises(UserError, match=says):
        bring("iostat.txt", f"{DISKS}{rows}\n")
    with pytest.raises(UserError, match="'14:00:01' is a time without a date"):
        bring("other.txt", f"14:00:01\n{DISKS}sda 0 0 0 1 0 0 0 0 0 0 0\n")


def test_a_quotation_with_parts_left_out_is_one(bring):
    rows = f"> {DISKS}> sda 0 0 0 1 0 0 0 0 0 0 0\n"
    with pytest.raises(UserError, match="stands for lines that were left out"):
        bring("mail.txt", f"[...]\n{rows}[...]\n{rows}")


# --- sysbench 1.1 -----------------------------------------------------------------------------------------------------

OLTP = """SQL statistics:
    queries performed:
        read:                            4357
        write:                           0
        other:                           622
        total:                           4979
    transactions:                        311    (25.92 per sec.)
    queries:                             4979   (414.92 per sec.)
    ignored errors:                      0      (0.00 per sec.)
    reconnects:                          0      (0.00 per sec.)

Throughput:
    events/s (eps):                      25.9163
    time elapsed:                        12.0002s
    total number of events:              311

Latency (ms):
         min:                                    2.86
         avg:                                   38.50
         max:                                   91.11
         95th percentile:                       50.10
        999th percentile:                       88.63
         sum:                                11973.50

Threads fairness:
    events (avg/stddev):           311.0000/0.00
    execution time (avg/stddev):   11.9735/0.00
"""
FILES = """sysbench 1.1.0-df89d34 (using bundled LuaJIT 2.1.0-beta3)

Number of threads: 4
Doing random r/w test
Threads started!

Throughput:
         read:  IOPS=1857.00 29.02 MiB/s (30.43 MB/s)
         write: IOPS=1238.00 19.34 MiB/s (20.28 MB/s)
         fsync: IOPS=3968.59

Latency (ms):
         min:                                  0.00
         avg:                                  0.14
         max:                                 38.67
         95th percentile:                      0.40
         sum:                               9921.26
"""


def test_the_summary_of_sysbench_11(bring):
    run = bring("sysbench.txt", OLTP)
    names = ("elapsed", "events", "eps", "tps", "response.p95", "response.p99_9")
    assert [run[f"sysbench.{name}"] for name in names] == [12.0002, 311, 25.9163, 25.92, 50.1, 88.63]
    assert (run.tool["dialect"], run.tool["load"]) == ("1.1", "unknown")
    assert all(check["agrees"] for check in run.tool["checks"])


def test_files_of_sysbench_11_end_with_response_times(bring):
    run = bring("sysbench.txt", FILES)
    names = ("reads", "writes", "fsyncs", "read_bandwidth", "write_bandwidth")
    assert [run[f"sysbench.{name}"] for name in names] == [1857, 1238, 3968.59, 29.02, 19.34]
    assert run.tool["load"] == "closed"
    with pytest.raises(UserError, match="no end of its summary"):
        bring("cut.txt", FILES[: FILES.index("         sum")])


@pytest.mark.parametrize("text", [OLTP, FILES.partition("\n")[2], OLTP.replace("Throughput:\n    events/s", "x:\n    x")])
def test_two_summaries_of_sysbench_are_two_runs(bring, text):
    """Without a banner, too, the second is not passed over."""
    with pytest.raises(UserError, match="the summary of a second run stands in line"):
        bring("sysbench.txt", f"before\n{text}after\n{text}")


@pytest.mark.parametrize(
    "text",
    [
        "    12.7 |                          1\n\nFile operations:\n    reads/s:                      0.00\n",
        "[ 51.0s ] thds: 2 tps: 5.5 qps: 9.1 (r/w/o: 7.4/1.2/0.5) lat (ms,95%): 9.78 err/s: 0.00 reconn/s: 0.00\n",
    ],
)
def test_a_part_of_sysbench_is_called_so(bring, text):
    with pytest.raises(UserError, match="no end of its summary"):
        bring("sysbench.txt", text)
    assert bring("sysbench.txt", text, partial=True).tool["tool"] == "sysbench"


OLTP_OF_FILEBENCH = """Filebench Version 1.5-alpha3
1.121: Running...
61.130: Run took 60 seconds...
61.147: Per-Operation Breakdown
random-rate          0ops        0ops/s   0.0mb/s    0.000ms/op [0.000ms - 0.000ms]
shadow-post-dbwr     315000ops     5250ops/s   0.0mb/s   36.712ms/op [0.013ms - 312.173ms]
shadow-post-lg       315200ops     5253ops/s   0.0mb/s    0.012ms/op [0.000ms - 99.173ms]
shadowhog            315200ops     5253ops/s   0.0mb/s    0.690ms/op [0.110ms - 11.173ms]
shadowread           315230ops     5254ops/s  10.3mb/s    0.012ms/op [0.001ms - 99.173ms]
dbwr-aiowait         310ops        5ops/s   0.0mb/s    0.012ms/op [0.001ms - 99.173ms]
dbwr-hog             312ops        5ops/s   0.0mb/s    0.012ms/op [0.001ms - 99.173ms]
dbwrite-a            31200ops      520ops/s   1.0mb/s    0.012ms/op [0.001ms - 99.173ms]
lg-write             98ops        2ops/s   0.4mb/s    0.012ms/op [0.001ms - 99.173ms]
61.147: IO Summary: 346838 ops 5780.633 ops/s 5254/522 rd/wr  11.7mb/s   0.012ms/op
"""


def test_a_summary_of_filebench_leaves_out_what_is_no_io(bring):
    """Of 1.5, by stats.c: hogs, semaphores and limits of rates have rows of their own. Its oltp.f has all of these."""
    run = bring("fb.txt", OLTP_OF_FILEBENCH)
    assert (run["filebench.operations"], run["shadowhog.operations"]) == (346838, 315200)
    [check] = [check for check in run.tool["checks"] if check["name"] == "operations of the breakdown"]
    assert (check["counted"], check["agrees"]) == (346838, True)
    [warning] = [warning for warning in run.tool["warnings"] if "left out of the count" in warning]
    assert "count of operations: shadow-post-dbwr, shadow-post-lg, shadowhog, dbwr-hog. The summary" in warning


ROWS_OF_FILEBENCH = {line.split()[0]: line for line in OLTP_OF_FILEBENCH.splitlines() if "ms/op [" in line}


@pytest.mark.parametrize("name", ["shadowread", "dbwrite-a", "lg-write"])
def test_a_row_of_io_that_filebench_lost_is_missed(bring, name):
    """Its semaphore has as many operations, and moves no bytes."""
    with pytest.raises(UserError, match=r"(operations|bandwidth) of the breakdown"):
        bring("cut.txt", OLTP_OF_FILEBENCH.replace(f"{ROWS_OF_FILEBENCH[name]}\n", ""))


@pytest.mark.parametrize("name", list(ROWS_OF_FILEBENCH)[1:])
def test_a_digit_that_a_row_of_filebench_lost_is_missed(bring, name):
    """Of operations or of their rate, whether the summary counts them or not."""
    row = ROWS_OF_FILEBENCH[name]
    for shorter in (re.sub(r"\dops ", "ops ", row), re.sub(r"\dops/s", "ops/s", row)):
        with pytest.raises(UserError, match=r"by its rate|operations of the breakdown|begins as a row of the breakdown"):
            bring("cut.txt", OLTP_OF_FILEBENCH.replace(row, shorter))


@pytest.mark.parametrize("name", ["shadowread", "dbwrite-a", "lg-write"])
def test_a_bandwidth_that_a_row_of_filebench_lost_is_missed(bring, name):
    row = ROWS_OF_FILEBENCH[name]
    with pytest.raises(UserError, match="bandwidth of the breakdown"):
        bring("cut.txt", OLTP_OF_FILEBENCH.replace(row, re.sub(r"[\d.]+mb/s", "0.0mb/s", row)))


def test_a_summary_of_pgbench_below_a_title_has_a_margin(bring):
    """As an operator for clusters shows it."""
    lines = ("transaction type: <builtin: TPC-B (sort of)>", "scaling factor: 10", "query mode: simple",
             "number of clients: 10", "number of threads: 2", "number of transactions per client: 100",
             "number of transactions actually processed: 1000/1000", "latency average = 18.208 ms",
             "tps = 549.212000 (including connections establishing)",
             "tps = 551.212000 (excluding connections establishing)")
    for margin in ("\t", "    "):
        run = bring(f"{len(margin)}.txt", "Results for benchmark-db:\n" + "".join(f"{margin}{line}\n" for line in lines))
        assert (run["pgbench.processed"], run["pgbench.tps"], run["pgbench.response.mean"]) == (1000, 551.212, 18.208)
        assert run.tool["load"] == "closed"


def test_a_single_report_of_iostat_without_its_first_line_is_not_known_to_be_the_first(bring):
    run = bring("iostat.txt", f"`iostat -x -k 1`\n{DISKS}sda 0 0 0 1 0 0 0 0 0 0 0\n")
    assert any("the line of the system, above the first, is not there" in warning for warning in run.tool["warnings"])


TWO_LINES = "transactions:                        8446   (844.07 per sec.)\n{}:  135136 (13505.10 per sec.)\n"


@pytest.mark.parametrize("second", ["queries", "read/write requests"])
@pytest.mark.parametrize("before", ["", "    ", "> "])
def test_two_lines_of_a_summary_are_told_from_a_whole_one(bring, second, before):
    """Of sysbench 1.0 and 0.4, as people quote them: `grep per` and the like leave no banner."""
    text = "".join(f"{before}{line}\n" for line in TWO_LINES.format(second).splitlines())
    with pytest.raises(UserError, match=r"\(missing: total time, total number of events, execution time of a thread\)"):
        bring("sysbench.txt", text)
    run = bring("sysbench.txt", text, partial=True)
    assert (run["sysbench.transactions"], run["sysbench.tps"], run["sysbench.qps"]) == (8446, 844.07, 13505.1)
    assert any("queries by kind" in line for line in run.tool["missing"])
    with pytest.raises(UserError, match="a second run stands in line 3"):
        bring("twice.txt", text * 2)


def test_a_summary_without_its_margin_is_read(bring):
    indented, flush = (bring(name, text) for name, text in (
        ("a.txt", OLTP), ("b.txt", "\n".join(map(str.lstrip, OLTP.splitlines())))))
    assert dict(indented) == dict(flush)
    assert flush["sysbench.queries.read"] == 4357


@pytest.mark.parametrize("line", ["min: 1", "total time: 3s", "95th percentile: 7", "sum: 4", "events/s (eps): 5"])
def test_a_line_of_a_script_is_no_row_of_a_summary(bring, line):
    """Rows have a margin, and what has none beside them is of somebody else."""
    alone, below_a_script = bring("a.txt", OLTP), bring("b.txt", f"{line}\n{OLTP}")
    assert dict(below_a_script) == dict(alone)
    assert below_a_script.tool["dialect"] == alone.tool["dialect"]


def test_rows_of_several_margins_below_no_title_are_all_read(bring):
    """Without its titles a summary has a margin of four, and some rows have more."""
    rows = [line for line in OLTP.splitlines() if line.startswith("    ")]
    run = bring("a.txt", "\n".join([*rows, ""]), partial=True)
    assert (run["sysbench.queries.read"], run["sysbench.elapsed"]) == (4357, bring("b.txt", OLTP)["sysbench.elapsed"])


def test_response_times_alone_have_no_release(bring):
    text = OLTP[OLTP.index("Latency"): OLTP.index("        999th")]
    assert bring("sysbench.txt", text, partial=True).tool["dialect"] == ""


# --- fio, FileBench, pgbench ------------------------------------------------------------------------------------------


def test_sizes_of_fio_with_a_blank_or_without_bytes(bring):
    old = bring("old.txt", "a: (groupid=0, jobs=1): err= 0: pid=2114: Tue Jul 24 07:41:42 2012\n"
                           "  read : io=102120KB, bw=618740 B/s, iops=151 , runt=169006msec\n"
                           "     issued    : total=r=25530/w=0/d=0, short=r=0/w=0/d=0\n")
    assert (old["fio.a.read.bytes"], old["fio.a.read.bandwidth"]) == (102120 * 1024, 618740)
    clients = bring("clients.txt", "All clients: (groupid=0, jobs=16): err= 0: pid=0: Wed Jun  3 22:10:46 2020\n"
                                   "  read: IOPS=30.1k, BW=29.4Gi (31.6G)(8822GiB/300044msec)\n"
                                   "     issued rwts: total=9033728,0,0,0 short=0,0,0,0 dropped=0,0,0,0\n")
    assert clients["fio.all_clients.read.bandwidth"] == 29.4 * 2**30
    assert all(check["agrees"] for check in clients.tool["checks"])


def test_a_result_of_fio_without_its_job_is_called_fio(bring):
    with pytest.raises(UserError, match="has no result of a job"):
        bring("o.txt", "fio-2.14\n  ...\n  write: io=8192.9MB, bw=42249KB/s, iops=10562, runt=198569msec\n")


@pytest.mark.parametrize(
    "before", ["20:22:23 DEBUG| [stdout] ", "[2024-03-05T06:07:08.123Z] ", "Mar  5 06:07:08 db1 bench[4242]: "])
def test_what_a_runner_or_the_journal_writes_before_lines_is_taken_off(bring, before):
    lines = ("a: (groupid=0, jobs=1): err= 0: pid=5178: Wed May 12 11:01:45 2021",
             "  write: IOPS=19, BW=19.0MiB/s (19.9MB/s)(39.0MiB/2052msec); 0 zone resets",
             "     issued rwts: total=0,39,0,0 short=0,0,0,0 dropped=0,0,0,0")
    assert bring("o.txt", "".join(f"{before}{line}\n" for line in lines))["fio.a.write.operations"] == 39


def test_two_runs_of_filebench_are_no_intervals_of_one(bring):
    run = ("9.0: Run took {0} seconds...\n9.0: Per-Operation Breakdown\n"
           "closefile1           13804ops       46ops/s   0.0mb/s      0.0ms/op [0.00ms -  0.38ms]\n"
           "9.0: IO Summary: 13804 ops 46.010 ops/s 0/0 rd/wr   0.0mb/s   0.0ms/op\n")
    with pytest.raises(UserError, match="a second run took its time in line"):
        bring("fb.txt", run.format(300) + run.format(266))


def test_a_summary_of_pgbench_that_lost_its_lines_is_refused(bring):
    line = ("transaction type: <builtin: TPC-B (sort of)> number of clients: 10 number of transactions actually processed: "
            "10000/10000 tps = 85.184871 (including connections establishing)\n")
    with pytest.raises(UserError, match="so ends of lines are lost"):
        bring("page.txt", line)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("      tty             cpu\n tin  tout  us ni sy in id\n   0     5   1  0  1  0 98\n", "iostat without devices"),
        ("  r/s   w/s  Mr/s  Mw/s ractv wactv\n 66.3  32.4   0.4   0.4   0.0   0.0\n", "vfsstat"),
        ("Total DISK READ :       6.55 M/s | Total DISK WRITE :     508.57 K/s\n", "iotop"),
        ("fio Disk Speed Tests (Mixed R/W 50/50) (Partition /dev/vda3):\n", "a script around fio"),
        ("CPU BOGOMIPS:      57602.16\nFSYNCS/SECOND:     78.51\n", "pveperf"),
    ],
)
def test_tools_of_the_field_are_called_by_their_names(bring, text, name):
    with pytest.raises(UserError, match=f"^o.txt is output of {name}"):
        bring("o.txt", text)
