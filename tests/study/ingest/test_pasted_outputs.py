"""Outputs as people send them on, with a prompt, a quotation or a build's times around them: the same numbers come out."""

import pytest

from study.errors import UserError

PGBENCH = """starting vacuum...end.
progress: 1.0 s, 200.0 tps, lat 4.900 ms stddev 1.100
progress: 2.0 s, 210.0 tps, lat 4.800 ms stddev 1.000
progress: 3.0 s, 205.0 tps, lat 4.850 ms stddev 1.000
transaction type: <builtin: TPC-B (sort of)>
scaling factor: 5
query mode: simple
number of clients: 1
number of threads: 1
duration: 3 s
number of transactions actually processed: 615
latency average = 4.850 ms
tps = 205.100000 (without initial connection time)
"""
ZPOOL = """              capacity     operations     bandwidth
pool        alloc   free   read  write   read  write
----------  -----  -----  -----  -----  -----  -----
tank        2.76T  4.51T     12     34    56K     7M
  sda       2.76T  4.51T     12     34    56K     7M
----------  -----  -----  -----  -----  -----  -----
tank        2.76T  4.51T     20     40    60K     8M
  sda       2.76T  4.51T     20     40    60K     8M
----------  -----  -----  -----  -----  -----  -----
"""
BANNER = "Linux 5.15.0 (db) \t03/05/2024 \t_x86_64_\t(4 CPU)\n\n"
IOSTAT = """avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           7.40    0.00    2.42   83.37    0.00    6.80

Device            r/s     w/s     rkB/s     wkB/s   rrqm/s   wrqm/s  r_await w_await  %util
vda             35.00    0.80    167.60     17.20     6.90     3.50    0.47    1.62   2.27
vdb           5999.30    4.80 104433.60     84.00     0.00     8.30    6.54    1.31 100.00

"""


def before_each(text, shown):
    return "".join(f"{shown}{line}".rstrip() + "\n" for line in text.splitlines())


@pytest.mark.parametrize(
    "around",
    [
        lambda text: before_each(text, "> > "),
        lambda text: before_each(text, "[localhost] out: "),
        lambda text: before_each(text, "pgbench-1  | "),
        lambda text: before_each(text, "2024-03-05T06:07:08.1234567Z "),
        lambda text: before_each(text, "    "),
        lambda text: f"$ pgbench -c 1 -T 3 -P 1\n{text}$ \n",
        lambda text: f"```console\n{text}```\n",
        lambda text: text.replace("tps = ", "\x1b[1;32mtps = \x1b[0m").replace("\n", "\r\n"),
        lambda text: text.replace(" clients: ", " clients:\xa0"),
    ],
)
def test_what_stands_around_lines_of_pgbench_changes_nothing(bring, around):
    run = bring("sent.txt", around(PGBENCH))
    assert run.report.status == "ok"
    assert (run["pgbench.tps"], run["pgbench.processed"], run["pgbench.response.mean"]) == (205.1, 615, 4.85)
    assert run.sql("SELECT value FROM params WHERE run_id = $1 AND name = 'pgbench.clients'")[0][0].strip('"') == "1"
    assert run.sql("SELECT count(*) FROM observations WHERE run_id = $1 AND name = 'tps'") == [(3,)]


def test_a_few_lines_that_begin_alike_are_no_quotation(bring):
    """A prompt before some lines is one; what is not before nearly all was not put there around an output."""
    run = bring("sent.txt", "> a remark\n" + PGBENCH)
    assert run["pgbench.tps"] == 205.1


@pytest.mark.parametrize(
    ("prompt", "after"),
    [("root@nas:~# ", ""), ("[admin@nas ~]$ ", " | head -9"), ("❯ sudo ", " 2>&1 | tee x"), ("% timeout 60 ", ""),
     ("nas# LC_ALL=C ", " &"), ("", " > x; cat x")])
def test_the_command_of_zpool_iostat_says_interval_and_first_report(bring, prompt, after):
    run = bring("zpool.txt", f"{prompt}zpool iostat -vy tank 5 2{after}\n{ZPOOL}{prompt and 'root@nas:~# '}\n")
    assert run.report.status == "ok"
    assert run.sql("SELECT DISTINCT series, t FROM observations WHERE run_id = $1 ORDER BY t") == [
        ("zpool.vdevs", 0), ("zpool.vdevs", 5)]
    without = bring("other.txt", f"{prompt}zpool iostat -v tank 5{after}\n{ZPOOL}")
    assert any(warning.endswith("and the command has no -y") for warning in without.tool["warnings"])
    assert without.sql("SELECT DISTINCT series, t FROM observations WHERE run_id = $1 ORDER BY t") == [
        ("zpool.vdevs_since_import", 0), ("zpool.vdevs", 5)]


def test_the_command_of_zpool_iostat_above_a_histogram(bring):
    heading = "tank         sync_read    sync_write    async_read    async_write      scrub\n" \
              "req_size      ind    agg    ind    agg    ind    agg    ind    agg    ind    agg\n"
    rows = "512             0      0      0      0      0      0      0      0      0      0\n" \
           "4K              3      0      1      0      0      0      7      2      0      0\n"
    for option, series, of in (("-ry", "zpool.sizes", "operations/s"), ("-r", "zpool.sizes_since_import", "operations")):
        run = bring("zpool.txt", f"# zpool iostat {option} tank 10 1\n\n{heading}{rows}")
        assert run.sql("SELECT DISTINCT series, \"of\" FROM histograms WHERE run_id = $1") == [(series, of)]


@pytest.mark.parametrize(
    ("command", "times"), [("iostat -xk 5", {("iostat.disks_since_boot", 0), ("iostat.disks", 5)}),
                           ("iostat -dxy 2 2", {("iostat.disks", 0), ("iostat.disks", 2)}),
                           ("iostat -x", {("iostat.disks_since_boot", 0), ("iostat.disks", 1)})])
@pytest.mark.parametrize("banner", [BANNER, ""])
def test_the_command_of_iostat_says_interval_and_first_report(bring, command, times, banner):
    run = bring("iostat.txt", f"[root@db ~]# {command}\n{banner}{IOSTAT}{IOSTAT}^C\n[root@db ~]# \n")
    assert run.report.status == "ok"
    of_disks = run.sql("SELECT DISTINCT series, t FROM observations WHERE run_id = $1 AND series LIKE 'iostat.disks%'")
    assert set(of_disks) == times


@pytest.mark.parametrize(
    ("name", "text"),
    [("zpool.txt", f"$ zpool iostat -v 1\n{ZPOOL}$ zpool iostat -v 1\n{ZPOOL}"),
     ("iostat.txt", f"$ iostat -x 1\n{IOSTAT}$ iostat -x 1\n{IOSTAT}"), ("iostat.txt", 2 * (BANNER + IOSTAT))])
def test_a_second_command_is_a_second_run(bring, name, text):
    with pytest.raises(UserError, match="a second run begins in line"):
        bring(name, text)


def wrapped(text, width):
    """As a mail breaks lines: between words, none longer than `width`."""
    for line in text.splitlines():
        shown = ""
        for word in line.split():
            if len(shown) + len(word) >= width:
                yield shown
                shown = ""
            shown = f"{shown} {word}" if shown else word
        yield shown


@pytest.mark.parametrize(("width", "table"), [(40, IOSTAT[IOSTAT.index("Device"):]), (60, BANNER + IOSTAT + IOSTAT)])
def test_lines_of_iostat_that_a_mail_has_wrapped_are_whole_again(bring, width, table):
    def of(text):
        run = bring("iostat.txt", text)
        return run.sql("SELECT subject, name, value FROM observations WHERE run_id = $1 AND series LIKE 'iostat.disks%' "
                       "ORDER BY ALL")

    assert of("".join(f"> {line}\n" for line in wrapped(table, width))) == of(table)


def test_a_wrapped_line_of_iostat_that_is_cut_is_refused(bring):
    table = "\n".join(wrapped(IOSTAT[IOSTAT.index("Device"):], 40))
    with pytest.raises(UserError, match=r"line 5 of iostat\.txt: it is not whole: a device has 9 numbers"):
        bring("iostat.txt", table.rstrip().rpartition("\n")[0] + "\n")
    whole = "\n".join(wrapped(IOSTAT, 50))
    with pytest.raises(UserError, match=r"line 8 of iostat\.txt: it is not whole: a device has 9 numbers"):
        bring("iostat.txt", f"{whole.rstrip().rpartition(chr(10))[0]}\n\n{whole}\n")


SYSBENCH = "".join(
    f"[ {t:3d}s] threads: 8, tps: 1600.00, reads: 16000.00, writes: 0.00, response time: 6.21ms (95%), errors: 0.00, "
    "reconnects:  0.00\n" for t in range(2, 52, 2)) + """OLTP test statistics:
    queries performed:
        read:                            800000
        write:                           0
        other:                           160000
        total:                           960000
    transactions:                        80000  (1600.00 per sec.)
    read/write requests:                 800000 (16000.00 per sec.)
    other operations:                    160000 (3200.00 per sec.)

General statistics:
    total time:                          50.0000s
    total number of events:              80000
    total time taken by event execution: 400.0000s
    response time:
         min:                                  3.88ms
         avg:                                  5.00ms
         max:                                 13.83ms
         approx.  95 percentile:               5.93ms

Threads fairness:
    events (avg/stddev):           10000.0000/235.36
    execution time (avg/stddev):   50.0000/0.00
"""


def test_a_run_whose_beginning_is_cut_off_is_not_counted_as_whole(bring):
    """The first line that is left would stand for all that is missing."""
    assert bring("sysbench.txt", SYSBENCH).report.status == "ok"
    with pytest.raises(UserError, match=r"first line of an interval in s\.txt is of 46 s, and they are 2 s apart"):
        bring("s.txt", "".join(SYSBENCH.splitlines(keepends=True)[22:]))
    late = PGBENCH.replace("duration: 3 s", "duration: 6 s").replace("processed: 615", "processed: 1230")
    for was, is_at in ((3, 6), (2, 5), (1, 4)):
        late = late.replace(f"progress: {was}.0", f"progress: {is_at}.0")
    late = bring("late.txt", late)
    assert any("or its beginning is cut off" in warning for warning in late.tool["warnings"])
    assert not any(check["name"] == "transactions in lines of progress" for check in late.tool["checks"])
    later = PGBENCH.replace("progress: ", "progress: 60").replace("duration: 3 s", "duration: 603 s")
    with pytest.raises(UserError, match=r"first line of progress in p\.txt is of 601 s, and they are 1 s apart"):
        bring("p.txt", later.replace("processed: 615", "processed: 120600"))


FIO_3 = """rr: (g=0): rw=randrw, bs=(R) 8192B-8192B, (W) 8192B-8192B, (T) 8192B-8192B, ioengine=psync, iodepth=1
...
fio-3.16
Starting 2 processes
Jobs: 2 (f=2): [m(2)][100.0%][r=15.6MiB/s,w=7816KiB/s][r=2000,w=977 IOPS][eta 00m:00s]
rr: (groupid=0, jobs=2): err= 0: pid=4712: Thu Oct 28 02:49:02 2021
  read: IOPS=2000, BW=15.6MiB/s (16.4MB/s)(156MiB/10000msec)
    slat (nsec): min=200, max=28838, avg=330.64, stdev=296.17
    clat (usec): min=161, max=1221.2k, avg=681.81, stdev=474.25
     lat (usec): min=162, max=1221.2k, avg=685.02, stdev=474.40
    clat percentiles (usec):
     |  1.00th=[   314],  5.00th=[   424], 99.99th=[242222]
   bw (  KiB/s): min=   32, max= 1728, per=10.02%, avg=778.09, stdev=229.32, samples=1996
  write: IOPS=976, BW=7812KiB/s (8000kB/s)(76.3MiB/10000msec); 0 zone resets
    clat (msec): min=2, max=358, avg=10.67, stdev=14.59
    clat percentiles (msec):
     |  1.00th=[    3], 99.99th=[  359]
  lat (usec)   : 250=0.26%, 500=3.86%
  fsync/fdatasync/sync_file_range:
    sync (usec): min=90, max=9000, avg=1500.50, stdev=20.00
    sync percentiles (usec):
     | 99.00th=[ 2507]
     issued rwts: total=20004,9766,0,0 short=0,0,0,0 dropped=0,0,0,0

Run status group 0 (all jobs):
   READ: bw=15.6MiB/s (16.4MB/s), 15.6MiB/s-15.6MiB/s (16.4MB/s-16.4MB/s), io=156MiB (164MB), run=10000-10000msec

Disk stats (read/write):
  sdc: ios=2612/4112, merge=224/21, ticks=61956/77636, in_queue=137132, util=77.25%
"""
OF_NO_BANNER = FIO_3[FIO_3.index("rr: (groupid"):]
FIO_2 = """w: (g=0): rw=write, bs=256K-256K/256K-256K/256K-256K, ioengine=rbd, iodepth=1
fio-2.2.10
w: (groupid=0, jobs=1): err= 0: pid=4070481: Mon Mar 29 20:30:07 2021
  write: io=1024.0MB, bw=26214KB/s, iops=102, runt= 40000msec
    clat (msec): min=7, max=31, avg= 9.76, stdev= 2.02
    clat percentiles (usec):
     |  1.00th=[ 7712], 99.99th=[31360]
     issued    : total=r=0/w=4096/d=0, short=r=0/w=0/d=0, drop=r=0/w=0/d=0
"""


def test_fio_for_people_of_3(bring):
    run = bring("fio.txt", f"[root@db ~]# fio my.fio\n{FIO_3}[root@db ~]# \n")
    assert run.report.status == "ok"
    assert {name: run[f"fio.rr.{name}"] for name in (
        "read.operations", "read.iops", "read.bandwidth", "read.bytes", "read.elapsed", "read.submission.maximum",
        "read.completion.maximum", "read.completion.p99_99", "write.bandwidth", "write.completion.mean",
        "write.completion.p1", "sync.response.mean", "sync.response.p99")} == pytest.approx({
            "read.operations": 20004, "read.iops": 2000.4, "read.bandwidth": 15.6 * 2**20, "read.bytes": 156 * 2**20,
            "read.elapsed": 10, "read.submission.maximum": 0.028838, "read.completion.maximum": 1221.2,
            "read.completion.p99_99": 242.222, "write.bandwidth": 7812 * 1024, "write.completion.mean": 10.67,
            "write.completion.p1": 3, "sync.response.mean": 1.5005, "sync.response.p99": 2.507})
    assert (run["fio.disk_sdc.util"], run.tool["version"], run.tool["dialect"]) == (77.25, "3.16", "for people, 3.x")
    params = dict(run.sql("SELECT name, value FROM params WHERE run_id = $1"))
    assert {name: params[f"fio.rr.{name}"].strip('"') for name in ("rw", "ioengine", "iodepth", "jobs")} == {
        "rw": "randrw", "ioengine": "psync", "iodepth": "1", "jobs": "2"}


def test_fio_for_people_of_2_has_kilobytes_of_1024(bring):
    run = bring("fio.txt", FIO_2)
    assert (run["fio.w.write.bandwidth"], run["fio.w.write.bytes"], run["fio.w.write.iops"]) == (26214 * 1024, 2**30, 102.4)
    assert (run["fio.w.write.completion.mean"], run["fio.w.write.completion.p99_99"]) == (9.76, 31.36)


def test_of_reports_at_intervals_the_last_counts_and_jobs_of_a_name_are_told_apart(bring):
    again = FIO_2.replace("4096/d", "8192/d").replace("40000msec", "80000msec").replace("1024.0MB", "2048.0MB")
    run = bring("fio.txt", FIO_2 + again[again.index("w: (groupid"):])
    assert (run["fio.w.write.operations"], "fio.w-2.write.operations" in run) == (8192, False)
    other = FIO_2[FIO_2.index("w: (groupid"):].replace("4070481", "4070482")
    assert bring("two.txt", FIO_2 + other)["fio.w-2.write.operations"] == 4096


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (FIO_2[:FIO_2.index("     issued")], "has no line of I/Os issued, so its end is missing"),
        (FIO_2[:FIO_2.index("w: (groupid")], "has no result of a job"),
        (FIO_2 + FIO_2, "a second run begins in line 10"),
        (OF_NO_BANNER + OF_NO_BANNER.replace("4712", "4713"), "a second run ends in line"),
        (FIO_2.replace("  write: io", "  mixed: io"), "are reported together"),
        (FIO_2.replace("err= 0", "err= 5 (file:x.c:1, func=x, error=Input/output error)"), "job w ended with error 5"),
        (FIO_2.replace("iops=102", "iops=1020"), "operations per second of w, write"),
        (FIO_2.replace(", runt= 40000msec", ""), "it begins as I/Os of a job and does not go on so"),
    ],
)
def test_fio_for_people_that_is_not_whole_is_refused(bring, text, says):
    with pytest.raises(UserError, match=says):
        bring("fio.txt", text)
