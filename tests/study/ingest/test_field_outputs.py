"""Outputs in the forms of forums, issues and pages: commands and text around them, parts left out, other systems' iostat."""

import pytest

from study.errors import UserError

# --- what stands around an output -------------------------------------------------------------------------------------

ZPOOL = """              capacity     operations     bandwidth
pool        alloc   free   read  write   read  write
----------  -----  -----  -----  -----  -----  -----
tank        2.00T  4.00T     12     34    56K     7M
  sda       2.00T  4.00T     12     34    56K     7M
----------  -----  -----  -----  -----  -----  -----
"""
IOSTAT = """Linux 5.4.0 (db) \t05/06/2024 \t_x86_64_\t(4 CPU)

Device            r/s     w/s     rkB/s     wkB/s   await  %util
vda             35.00    0.80    167.60     17.20    0.47   2.27

Device            r/s     w/s     rkB/s     wkB/s   await  %util
vda             45.00    1.80    267.60     27.20    1.47   3.27

"""
OTHERS = """me@nas:~$ zpool list
NAME   SIZE  ALLOC   FREE  CKPOINT  EXPANDSZ   FRAG    CAP  DEDUP    HEALTH  ALTROOT
tank  6.00T  2.00T  4.00T        -         -     0%    33%  1.00x    ONLINE  -
me@nas:~$ arcstat 1
    time  read  ddread  ddh%  dmread  dmh%  pread  ph%   size      c  avail
09:28:34     0       0     0       0     0      0    0    62G    62G   1.8G
"""


def of_reads(run):
    return run.sql("SELECT series, t, subject, value FROM observations WHERE run_id = $1 AND name = 'reads' ORDER BY ALL")


@pytest.mark.parametrize("above", ["", OTHERS, "Slow since the upgrade to 2.2, 12 disks:\n\n", "结果如下：\n"])
@pytest.mark.parametrize(
    "below", ["", "me@nas:~$ uname -r\n6.1.0-18\n", "\nCompression and dedup are off, ashift is 12.\n", "以上。\n"])
def test_text_and_other_commands_around_a_monitor_are_passed_over(bring, above, below):
    run = bring("zpool.txt", f"{above}me@nas:~$ zpool iostat -v tank 5\n{ZPOOL}{ZPOOL.replace(' 12 ', ' 20 ')}{below}")
    assert of_reads(run) == [
        ("zpool.vdevs", 5, "tank", 20), ("zpool.vdevs", 5, "tank/sda", 20),
        ("zpool.vdevs_since_import", 0, "tank", 12), ("zpool.vdevs_since_import", 0, "tank/sda", 12)]
    run = bring("iostat.txt", f"{above}me@nas:~$ iostat -x 5\n{IOSTAT}{below}")
    assert of_reads(run) == [("iostat.disks", 5, "vda", 45), ("iostat.disks_since_boot", 0, "vda", 35)]


@pytest.mark.parametrize("text", [f"{ZPOOL}The same pool, one disk less:\n{ZPOOL}", f"**SSD**\n{ZPOOL}**HDD**\n{ZPOOL}"])
def test_text_between_reports_of_a_monitor_is_refused(bring, text):
    with pytest.raises(UserError, match=r"stands between reports, which may be of two runs"):
        bring("zpool.txt", text)


def test_rows_below_another_command_are_not_left_out_unsaid(bring):
    rows = ZPOOL.splitlines(keepends=True)
    with pytest.raises(UserError, match=r"line 8 of zpool\.txt: it stands below another command"):
        bring("zpool.txt", "".join([*rows, "$ arcstat 1\n", rows[3]]))


def test_a_sentence_about_a_monitor_is_no_command_of_it(bring):
    """Else 100 would be the seconds between reports."""
    run = bring("zpool.txt", f"zpool iostat shows 100 MB/s here, and no more:\n{ZPOOL}{ZPOOL}")
    assert {t for _, t, *_ in of_reads(run)} == {0, 1}
    assert run.sql("SELECT count(*) FROM params WHERE run_id = $1 AND name LIKE '%command'") == [(0,)]


def test_a_command_of_a_document_has_a_name_to_be_filled_in(bring):
    run = bring("zpool.txt", f"❯ zpool iostat -vy <pool> 5 2\n{ZPOOL}{ZPOOL}")
    assert [row[:2] for row in of_reads(run)] == [("zpool.vdevs", 0)] * 2 + [("zpool.vdevs", 5)] * 2


@pytest.mark.parametrize("between", ["\t", "   "])
def test_zpool_iostat_without_headings_below_its_command(bring, between):
    """A page may have made blanks of the tabs of -H."""
    rows = "".join(between.join(("tank", "2000", "4000", str(reads), "7", "100", "200")) + "\n" for reads in (12, 20))
    run = bring("zpool.txt", f"root@nas:~# zpool iostat tank -pH 1 2\n{rows}root@nas:~# \n")
    assert of_reads(run) == [("zpool.vdevs", 1, "tank", 20), ("zpool.vdevs_since_import", 0, "tank", 12)]


def test_a_margin_of_a_tab_is_taken_off(bring):
    run = bring("iostat.txt", "".join(f"\t{line}\n" for line in f"root@nas:~# iostat -x 30\n{IOSTAT}".splitlines()))
    assert of_reads(run) == [("iostat.disks", 30, "vda", 45), ("iostat.disks_since_boot", 0, "vda", 35)]


def test_rows_above_the_first_heading_of_iostat_are_called_so(bring):
    row = "vda             35.00    0.80    167.60     17.20    0.47   2.27\n"
    with pytest.raises(UserError, match="it stands above the first heading, so the beginning is cut off"):
        bring("iostat.txt", f"{row}\n{IOSTAT}")


# --- pgbench and sysbench ---------------------------------------------------------------------------------------------

PGBENCH = """progress: 6.0 s, 200.0 tps, lat 4.900 ms stddev 1.100, 0 failed
progress: 12.0 s, 210.0 tps, lat 4.800 ms stddev 1.000, 0 failed
{0}progress: 594.0 s, 200.0 tps, lat 4.850 ms stddev 1.000, 0 failed
transaction type: multiple scripts
scaling factor: 5
number of clients: 1
number of threads: 1
duration: 600 s
number of transactions actually processed: 120000
number of failed transactions: 60 (0.050%)
latency average = 4.850 ms
tps = 200.100000 (without initial connection time)
SQL script 1: <builtin: simple update>
 - weight: 1 (targets 50.0% of total)
 - 60030 transactions (50.0% of total)
 - number of transactions actually processed: 60000 (tps = 100.050000)
 - number of failed transactions: 30 (0.050%)
 - latency average = 8.100 ms
SQL script 2: <builtin: select only>
 - weight: 1 (targets 50.0% of total)
 - 60030 transactions (50.0% of total)
 - number of transactions actually processed: 60000 (tps = 100.050000)
 - number of failed transactions: 30 (0.050%)
 - latency average = 1.600 ms
"""


def test_scripts_of_pgbench_19_have_those_that_ended_and_those_that_were_processed(bring):
    run = bring("run.txt", PGBENCH.format(""))
    names = ("ended", "processed", "tps", "failed")
    assert [run[f"pgbench.script_1.{name}"] for name in names] == [60030, 60000, 100.05, 30]
    assert (run["pgbench.processed"], run["pgbench.script_2.response.mean"]) == (120000, 1.6)


def test_lines_of_progress_that_are_left_out_are_missing_and_not_compared(bring):
    run = bring("run.txt", PGBENCH.format("...\n"))
    assert any(sentence.startswith("lines of progress for which `...` stands") for sentence in run.tool["missing"])
    whole = bring("whole.txt", PGBENCH.format(""))
    assert {check["name"] for check in whole.tool["checks"]} == {"transactions in lines of progress"}
    assert not run.tool["checks"]


def test_tries_of_postgres_pro(bring):
    text = PGBENCH.format("").replace("scaling factor", "transaction maximum tries number: 3\nscaling factor")
    run = bring("run.txt", text)
    assert run.sql("SELECT value FROM params WHERE run_id = $1 AND name = 'pgbench.max_tries'") == [('"3"',)]


BANNER = "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n\n"
PREPARED = f"$ sysbench oltp_read_only prepare\n{BANNER}Creating table 'sbtest1'...\nInserting 100 records into 'sbtest1'\n"
CLEANED = f"$ sysbench oltp_read_only cleanup\n{BANNER}Dropping table 'sbtest1'...\n"
SYSBENCH = BANNER + """Running the test with following options:
Number of threads: 4
Report intermediate results every 30 second(s)

[ 30s ] thds: 4 tps: 68.00 qps: 1360.00 (r/w/o: 960.00/270.00/130.00) lat (ms,95%): 383.33 err/s: 0.00 reconn/s: 0.00
[ 60s ] thds: 4 tps: 72.00 qps: 1440.00 (r/w/o: 1010.00/290.00/140.00) lat (ms,95%): 376.49 err/s: 0.00 reconn/s: 0.00
{0}[ 600s ] thds: 4 tps: 70.00 qps: 1400.00 (r/w/o: 980.00/280.00/140.00) lat (ms,95%): 549.52 err/s: 0.00 reconn/s: 0.00
SQL statistics:
    transactions:                        42000  (70.00 per sec.)
    queries:                             840000 (1400.00 per sec.)

General statistics:
    total time:                          600.0000s
    total number of events:              42000

Latency (ms):
         avg:                                   57.14
         sum:                              2399880.00

Threads fairness:
    events (avg/stddev):           10500.0000/7.19
    execution time (avg/stddev):   599.9700/0.00
"""


def test_prepare_and_cleanup_of_sysbench_around_a_run_change_nothing(bring):
    run = bring("run.txt", PREPARED + SYSBENCH.format("") + CLEANED)
    assert (run.report.status, run["sysbench.tps"], run["sysbench.events"]) == ("ok", 70, 42000)
    with pytest.raises(UserError, match="a second run begins in line"):
        bring("two.txt", SYSBENCH.format("") + CLEANED + SYSBENCH.format(""))
    for text in (PREPARED, CLEANED):
        with pytest.raises(UserError, match="which measure nothing"):
            bring("other.txt", text)


def test_intervals_of_sysbench_that_are_left_out_are_missing_and_not_compared(bring):
    run = bring("run.txt", SYSBENCH.format("...\n"))
    [series] = run.report.series
    assert (series["interval_s"], series["gaps"]) == (30, [[60, 600]])
    assert any(sentence.startswith("lines of intervals for which `...` stands") for sentence in run.tool["missing"])
    assert "transactions in lines of intervals" not in {check["name"] for check in run.tool["checks"]}


def test_output_of_a_second_tool_in_a_file_is_said_to_be_left_out(bring):
    run = bring("both.txt", SYSBENCH.format("") + IOSTAT)
    assert run.report.passed_over == [
        "both.txt: its output of iostat, beside that of sysbench; give each in a file of its own"]


OF_A_HOST = """job: (groupid=0, jobs=1): err= 0: pid=44: Thu Jun 12 12:38:19 2025
  write: IOPS=1000, BW=7.81MiB/s (8.19MB/s)(78.1MiB/10000msec); 0 zone resets
     issued rwts: total=0,10000,0,0 short=0,0,0,0 dropped=0,0,0,0
"""


@pytest.mark.parametrize(
    "text",
    [
        "hostname=a, be=0, 64-bit, os=Linux, arch=x86-64, fio=fio-3.36, flags=1\n" + OF_A_HOST,
        "<db-1> job: (g=0): rw=write, bs=(R) 8192B-8192B, (W) 8192B-8192B, (T) 8192B-8192B, ioengine=psync, iodepth=1\n"
        + OF_A_HOST,
        OF_A_HOST + OF_A_HOST.replace("job:", "All clients:").replace("pid=44", "pid=0"),
    ],
)
def test_fio_of_several_hosts_is_not_counted_twice(bring, text):
    assert bring("one.txt", OF_A_HOST)["fio.job.write.operations"] == 10000
    with pytest.raises(UserError, match="is of fio --client, which joins several hosts"):
        bring("fio.txt", text)


# --- iostat of Solaris, illumos, FreeBSD and macOS --------------------------------------------------------------------

TITLE = "                    extended device statistics\n"
SOLARIS = [
    f"""{TITLE}    r/s    w/s   kr/s   kw/s wait actv wsvc_t asvc_t  %w  %b s/w h/w trn tot device
    0.3    4.7   12.7   81.0  0.0  0.1    0.1    0.2   0   1   0   0   0   0 c0t0d0
    5.1   {writes}   40.9  701.3  0.0  0.9    0.0    9.7   0  42   1   0   2   3 nas:/export/home
""" for writes in ("88.0", "99.5")]
FREEBSD = [
    f"""{TITLE}device     r/s     w/s    kr/s    kw/s  ms/r  ms/w  ms/o  ms/t qlen  %b
ada0        12      40     512    1204   0.5   1.1   0.0   0.9    2  12
da1         11      {writes}     508    1203   0.6   1.2   3.0   1.0    0  33
""" for writes in (41, 82)]
FREEBSD_10 = [
    f"""{TITLE}device     r/s   w/s    kr/s    kw/s qlen svc_t  %b  us ni sy in id
ada0      12.1  40.3   512.0  1204.8    2   4.1  12   1  0  2  0 97
ada1      11.9  {writes}   508.1  1204.7    2   9.8  33
""" for writes in ("40.2", "81.2")]


def values_of(run, subject, series="iostat.disks"):
    return dict(run.sql(f"SELECT name, value FROM observations WHERE run_id = $1 AND series = '{series}' "
                        f"AND subject = '{subject}'"))


def test_iostat_of_solaris(bring):
    run = bring("iostat.txt", f"# iostat -xne 5\n{''.join(SOLARIS)}^C#\n")
    assert values_of(run, "nas:/export/home") == {
        "reads": 5.1, "writes": 99.5, "read_bandwidth": 40.9, "write_bandwidth": 701.3, "waiting": 0, "active": 0.9,
        "wait": 0, "service": 9.7, "waiting.share": 0, "busy": 42, "errors.soft": 1, "errors.hard": 0, "errors.transport": 2,
        "errors": 3}
    assert values_of(run, "c0t0d0", "iostat.disks_since_boot")["service"] == 0.2
    assert run.sql("SELECT DISTINCT series, t FROM observations WHERE run_id = $1 ORDER BY t") == [
        ("iostat.disks_since_boot", 0), ("iostat.disks", 5)]


def test_iostat_of_solaris_with_megabytes_commas_and_times(bring):
    dates = ("Fri Mar 19 12:00:00 CET 2010", "Fri Mar 19 12:00:30 CET 2010")
    text = "".join(f"{date}\n{report}" for date, report in zip(dates, SOLARIS, strict=True))
    run = bring("iostat.txt", text.replace(".", ",").replace("kr/s   kw/s", "Mr/s   Mw/s"), utc_offset="+01:00")
    assert run.report.series[0]["starts"].startswith("2010-03-19T11:00:00")
    assert run.sql("SELECT DISTINCT t, value, unit FROM observations WHERE run_id = $1 AND name = 'write_bandwidth' "
                   "AND series = 'iostat.disks' ORDER BY value") == [(30, 81, "MiB/s"), (30, 701.3, "MiB/s")]


def test_iostat_of_solaris_with_processors_above_each_table(bring):
    cpu = "     cpu\n us sy wt id\n  {0}  2  0 95\n"
    run = bring("iostat.txt", cpu.format(3) + SOLARIS[0] + cpu.format(4) + SOLARIS[1])
    assert values_of(run, "", "iostat.cpu") == {"cpu.user": 4, "cpu.system": 2, "cpu.iowait": 0, "cpu.idle": 95}


@pytest.mark.parametrize(("command", "seconds"), [("iostat -x -w 10 -c 3", 10), ("iostat -x -c 3", 1), ("iostat -x 5 3", 5)])
def test_iostat_of_freebsd(bring, command, seconds):
    run = bring("iostat.txt", f"% {command}\n{''.join(FREEBSD)}")
    assert values_of(run, "da1") == {
        "reads": 11, "writes": 82, "read_bandwidth": 508, "write_bandwidth": 1203, "read.response": 0.6,
        "write.response": 1.2, "other.response": 3, "response": 1, "queue": 0, "busy": 33}
    assert run.sql("SELECT DISTINCT t FROM observations WHERE run_id = $1 AND series = 'iostat.disks'") == [(seconds,)]


def test_iostat_of_old_freebsd_has_the_processors_behind_the_first_device(bring):
    run = bring("iostat.txt", "".join(FREEBSD_10))
    assert values_of(run, "ada1") == {
        "reads": 11.9, "writes": 81.2, "read_bandwidth": 508.1, "write_bandwidth": 1204.7, "queue": 2, "response": 9.8,
        "busy": 33}
    assert values_of(run, "", "iostat.cpu")["cpu.idle"] == 97


@pytest.mark.parametrize(
    ("text", "disk", "values", "cpu"),
    [
        ("       tty             ada0              da1             cpu\n"
         " tin  tout  KB/t tps  MB/s  KB/t tps  MB/s  us ni sy in id\n"
         "   0     5 23.71  13  0.30 24.11  12  0.28   1  0  1  0 98\n"
         "   0   231 32.00 120  3.75 16.00 118  1.84   4  0  6  0 90\n",
         "da1", {"request.size": 16, "requests": 118, "bandwidth": 1.84}, {"cpu.idle": 90, "terminal.written": 231}),
        ("              disk0       cpu    load average\n    KB/t  tps  MB/s  us sy id   1m   5m   15m\n"
         "   22.10   41  0.88   5  3 92  1.60 1.71 1.80\n    4.00  210  0.82  11  7 82  1.65 1.71 1.80\n",
         "disk0", {"request.size": 4, "requests": 210, "bandwidth": 0.82}, {"cpu.user": 11, "load.1m": 1.65}),
    ],
)
def test_short_tables_of_freebsd_and_macos(bring, text, disk, values, cpu):
    run = bring("iostat.txt", text)
    assert values_of(run, disk) == values
    assert values_of(run, "", "iostat.cpu").items() >= cpu.items()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (SOLARIS[0].replace(" 88.0", ""), "it is no device with 14 numbers"),
        (SOLARIS[0].replace("%w", "%q"), "has a column '%q'"),
        (f"{TITLE}device  r/i  w/i  kr/i  kw/i qlen   tsvc_t/i      sb/i\nada0 1 2 3 4 5 6 7\n", "is a heading of -I"),
        (f"{SOLARIS[0]} (truncated output)\n{SOLARIS[1]}", "it stands for lines that were left out"),
        (f"# iostat -xn 1\n{SOLARIS[0]}# iostat -xn 1\n{SOLARIS[1]}", "a second run begins in line"),
        ("tty ada0 cpu\ntin tout KB/t tps MB/s KB/t tps MB/s us ni sy in id\n0 5 23 13 0.3 24 12 0.2 1 0 1 0 98\n",
         "columns of other disks than the names above it"),
        (SOLARIS[0].rstrip(), "the last line of iostat.txt has no end"),
    ],
)
def test_iostat_of_other_systems_that_is_not_whole_says_why(bring, text, says):
    with pytest.raises(UserError, match=says):
        bring("iostat.txt", text)


SHORT = {  # the lines above the numbers, and a row
    "macOS": ("              disk0       cpu    load average\n    KB/t  tps  MB/s  us sy id   1m   5m   15m\n",
              "   20.00   {}  1.00   1  1 98  1.0  1.0  1.0\n"),
    "FreeBSD": ("       tty            ada0             ada1             cpu\n"
                " tin  tout  KB/t tps  MB/s   KB/t tps  MB/s  us ni sy in id\n",
                "   0     9 20.00  {}  0.99  20.00   7  0.14   1  0  1  0 98\n"),
    "two disks alone": ("          disk0           disk1\n    KB/t  tps  MB/s     KB/t  tps  MB/s\n",
                        "   20.00   {}  1.00    20.00   7  0.14\n"),
}


@pytest.mark.parametrize("system", SHORT)
def test_a_short_table_prints_its_heading_again_on_each_screen(bring, system):
    heading, row = SHORT[system]
    run = bring("iostat.txt", heading + row.format(50) + row.format(51) + heading + row.format(52))
    rates = run.sql("SELECT DISTINCT t, value FROM observations WHERE run_id = $1 AND name = 'requests' AND value >= 50 "
                    "ORDER BY t")
    assert rates == [(0, 50), (1, 51), (2, 52)]


@pytest.mark.parametrize("system", SHORT)
def test_rows_below_text_are_not_of_the_table_above_it(bring, system):
    """They may be of another run, or of another disk."""
    heading, row = SHORT[system]
    with pytest.raises(UserError, match=r"is no row of the heading above it"):
        bring("iostat.txt", heading + row.format(50) + "After I switched the SSD it was:\n" + row.format(60))
    with pytest.raises(UserError, match=r"stands between reports, which may be of two runs"):
        bring("iostat.txt", heading + row.format(50) + "After I switched the SSD it was:\n" + heading + row.format(60))


def test_devices_below_text_are_not_of_the_report_above_it(bring):
    lines = FREEBSD[0].splitlines(keepends=True)
    with pytest.raises(UserError, match=r"is no row of the heading above it"):
        bring("iostat.txt", "".join([*lines, "The other machine shows much less:\n", lines[-1]]))


def test_a_beginning_that_is_missing_is_told(bring):
    run = bring("iostat.txt", f"# iostat -xn 5 9\n{''.join(SOLARIS)}")
    assert any(warning.startswith("2 of 9 reports are here") for warning in run.tool["warnings"])


def test_a_name_of_many_words_is_no_text(bring):
    run = bring("iostat.txt", "".join(report.replace("nas:/export/home", "nas:/vol/My Big Share") for report in SOLARIS))
    assert len(run.sql("SELECT DISTINCT subject FROM observations WHERE run_id = $1 AND subject LIKE '%My Big Share'")) == 1


def test_what_stands_behind_c_in_a_group_of_options_is_the_count(bring):
    run = bring("iostat.txt", f"% iostat -xc 2\n{''.join(FREEBSD)}")
    assert {t for _, t, *_ in of_reads(run)} == {0, 1}
