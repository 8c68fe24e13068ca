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


@pytest.mark.parametrize("prompt", ["root@nas:~# ", "[admin@nas ~]$ ", "❯ sudo ", "% ", "nas# LC_ALL=C ", ""])
def test_the_command_of_zpool_iostat_says_interval_and_first_report(bring, prompt):
    run = bring("zpool.txt", f"{prompt}zpool iostat -vy tank 5 2\n{ZPOOL}{prompt and 'root@nas:~# '}\n")
    assert run.report.status == "ok"
    assert run.sql("SELECT DISTINCT series, t FROM observations WHERE run_id = $1 ORDER BY t") == [
        ("zpool.vdevs", 0), ("zpool.vdevs", 5)]
    without = bring("other.txt", f"{prompt}zpool iostat -v tank 5 2\n{ZPOOL}")
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
def test_the_command_of_iostat_says_interval_and_first_report(bring, command, times):
    run = bring("iostat.txt", f"[root@db ~]# {command}\n{IOSTAT}{IOSTAT}^C\n[root@db ~]# \n")
    assert run.report.status == "ok"
    of_disks = run.sql("SELECT DISTINCT series, t FROM observations WHERE run_id = $1 AND series LIKE 'iostat.disks%'")
    assert set(of_disks) == times


@pytest.mark.parametrize(
    ("name", "text"),
    [("zpool.txt", f"$ zpool iostat -v 1\n{ZPOOL}$ zpool iostat -v 1\n{ZPOOL}"),
     ("iostat.txt", f"$ iostat -x 1\n{IOSTAT}$ iostat -x 1\n{IOSTAT}")])
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


@pytest.mark.parametrize("width", [40, 60])
def test_lines_of_iostat_that_a_mail_has_wrapped_are_whole_again(bring, width):
    def of(text):
        run = bring("iostat.txt", text)
        return run.sql("SELECT subject, name, value FROM observations WHERE run_id = $1 AND series LIKE 'iostat.disks%' "
                       "ORDER BY ALL")

    table = IOSTAT[IOSTAT.index("Device"):]
    assert of("".join(f"> {line}\n" for line in wrapped(table, width))) == of(table)


def test_a_wrapped_line_of_iostat_that_is_cut_is_refused(bring):
    table = "\n".join(wrapped(IOSTAT[IOSTAT.index("Device"):], 40))
    with pytest.raises(UserError, match="is not whole, so the file is cut off"):
        bring("iostat.txt", table.rstrip().rpartition("\n")[0] + "\n")


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
    later = PGBENCH.replace("progress: ", "progress: 60").replace("duration: 3 s", "duration: 603 s")
    with pytest.raises(UserError, match=r"first line of progress in p\.txt is of 601 s, and they are 1 s apart"):
        bring("p.txt", later.replace("processed: 615", "processed: 120600"))
