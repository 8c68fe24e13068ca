"""What real tools printed comes into the store as it stands there. Golden numbers are made by awk, or are the tool's own."""

import json
import re

import pytest

from study.errors import UserError
from study.ingest import mapped_csv
from study.project import ROOT
from support import zpool_text
from support.awk import awk

FIXTURES = ROOT / "tests" / "study" / "ingest" / "fixtures"


# --- pgbench ----------------------------------------------------------------------------------------------------------

SUMS = (
    "{if ($3 ~ /^[0-9]+$/) {n++; s += $3; if ($3 > m) m = $3; l += $7} else other++} "
    'END {printf "%d %.0f %d %d %.0f", n, s, m, other, l}'
)


@pytest.mark.parametrize(
    ("name", "lag"),
    [
        ("plain", True),
        ("threads", False),
        ("limit", True),
        ("retries", False),
        ("tries_limit", True),
        ("prepared", True),
        ("sampled", False),
    ],
)
def test_transactions_of_all_threads_are_those_of_the_logs(bring, name, lag):
    run = bring(f"pgbench/{name}")
    n, total, longest, other, lags = awk(SUMS, *(FIXTURES / "pgbench" / name).glob("pgbench_log*"))
    assert (
        run.sql(
            """SELECT count(*) FILTER (outcome = 'ok'), sum(response_us), max(response_us), count(*) FILTER (outcome != 'ok')
                      FROM transactions WHERE run_id = $1"""
        )
        == [(n, total, longest, other)]
    )
    [(counted,)] = run.sql("SELECT sum(lag_us) FILTER (outcome = 'ok') FROM transactions WHERE run_id = $1")
    assert counted == (lags if lag else None)
    assert all(check["agrees"] for check in run.tool["checks"])
    assert run.tool["rows_refused"] == 0


@pytest.mark.parametrize("name", ["plain", "threads", "limit", "connect", "sampled", "retries"])
def test_the_summary_is_as_printed(bring, name):
    run, text = bring(f"pgbench/{name}"), (FIXTURES / "pgbench" / name / "run.txt").read_text()
    printed = {
        "pgbench.processed": r"actually processed: (\d+)",
        "pgbench.response.mean": r"^latency average = ([\d.]+)",
        "pgbench.lag.maximum": r"schedule lag: .*max ([\d.]+)",
        "pgbench.retries": r"^total number of retries: (\d+)",
        "pgbench.tps": r"^tps = ([\d.]+) \(without",
        "pgbench.tps.with_connecting": r"^tps = ([\d.]+) \(including",
    }
    golden = {key: float(match[1]) for key, pattern in printed.items() if (match := re.search(pattern, text, re.M))}
    assert {key: run[key] for key in printed if key in run} == golden
    assert (run.tool["version"], run.tool["dialect"]) == ("15.20", "15 to 18")


def test_load_is_open_with_a_rate_and_closed_without(bring):
    assert bring("pgbench/plain").tool["load"] == "open"
    closed = bring("pgbench/threads").tool
    assert closed["load"] == "closed"
    assert any("coordinated omission" in warning for warning in closed["warnings"])


def test_scripts_and_statements_keep_their_names(bring):
    run = bring("pgbench/retries")
    assert (run["pgbench.script_1.processed"], run["pgbench.script_2.processed"]) == (58, 98)
    assert run["pgbench.script_1.statement_2.response"] == 0.280
    assert (
        "pgbench.script_1.statement_2",
        '"UPDATE pgbench_branches SET bbalance = bbalance + 1 WHERE bid = 1;"',
    ) in run.sql("SELECT name, value FROM params WHERE run_id = $1")
    assert (
        run.sql("SELECT sum(retries) FROM transactions WHERE run_id = $1 AND outcome = 'ok'")[0][0]
        == awk("$3 ~ /^[0-9]+$/ {n += $7} END {print n}", *(FIXTURES / "pgbench" / "retries").glob("pgbench_log*"))[0]
    )


def test_a_lag_in_progress_alone_tells_that_the_load_was_open(bring):
    line = "progress: 1.0 s, 264.0 tps, lat 1.990 ms stddev 1.653, 0 failed{}\n"
    assert bring("progress.txt", line.format(", lag 0.233 ms")).tool["load"] == "open"
    assert bring("progress.txt", line.format("")).tool["load"] == "unknown"


@pytest.mark.parametrize("name", ["aggregate", "aggregate_rate"])
def test_intervals_are_sums_and_lack_the_last_one(bring, name):
    run = bring(f"pgbench/{name}")
    n, total, longest = awk(
        '{n += $2; s += $3; if ($6 > m) m = $6} END {printf "%d %.0f %d", n, s, m}',
        *(FIXTURES / "pgbench" / name).glob("pgbench_log*"),
    )
    values = dict(run.sql("""SELECT name, CASE WHEN name = 'response.maximum' THEN max(value) ELSE sum(value) END
                             FROM observations WHERE run_id = $1 AND series = 'pgbench.intervals' GROUP BY name"""))
    assert (values["transactions"], values["response.sum"], values["response.maximum"]) == (n, total, longest)
    assert run.tool["checks"][0]["counted"] == n < run.tool["checks"][0]["printed"]
    assert not run.sql("SELECT 1 FROM observations WHERE run_id = $1 AND statistic = 'percentile'")


OLD = """transaction type: TPC-B (sort of)
scaling factor: 10
query mode: simple
number of clients: 10
number of threads: 1
number of transactions per client: 1000
number of transactions actually processed: 10000/10000
latency average = 15.844 ms
latency stddev = 2.715 ms
tps = 618.764555 (including connections establishing)
tps = 622.977698 (excluding connections establishing)
statement latencies in milliseconds:
        0.002  \\set aid random(1, 100000 * :scale)
        0.326  UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
"""


def test_a_summary_of_13_or_before(bring):
    run = bring("old.txt", OLD)
    assert (run["pgbench.tps"], run["pgbench.tps.with_connecting"]) == (622.977698, 618.764555)
    assert run["pgbench.statement_2.response"] == 0.326
    assert run.tool["dialect"] == "up to 13"


def test_a_summary_of_14_has_no_failures(bring):
    text = (FIXTURES / "pgbench/plain/run.txt").read_text().replace("15.20 (Debian 15.20-0+deb12u1)", "14.9")
    text = re.sub(r"number of failed.*\n|maximum number of tries.*\n", "", text).replace(", 0 failed", "")
    text = re.sub(r"(?m)^statement latencies in milliseconds.*", "statement latencies in milliseconds:", text)
    text = re.sub(r"(?m)^( +[\d.]+) +0  ", r"\1  ", text)
    run = bring("fourteen.txt", text)
    assert (run.tool["dialect"], run["pgbench.tps"], "pgbench.failed" in run) == ("14", 114.650935, False)
    assert run["pgbench.statement_11.response"] == 0.145


@pytest.mark.parametrize(
    ("columns", "dialect"), [(6, "up to 14"), (10, "up to 14"), (11, "up to 14"), (15, "15 to 18"), (16, "19")]
)
def test_logs_of_intervals_of_each_release(bring, columns, dialect):
    rows = "".join(f"{1345828501 + n} {' '.join(str(5 + column) for column in range(columns - 1))}\n" for n in range(4))
    run = bring("pgbench_log.7", rows)
    assert run.tool["dialect"] == dialect
    assert run.sql("SELECT count(*) FROM observations WHERE run_id = $1") == [(4 * (columns - 1),)]
    assert run.sql("SELECT min(utc) FROM observations WHERE run_id = $1")[0][0].isoformat() == "2012-08-24T17:15:02"


def test_a_seventh_column_is_not_guessed(bring):
    rows = (FIXTURES / "pgbench/plain").glob("pgbench_log*")
    run = bring("pgbench_log.5", next(rows).read_text())
    assert run.sql("SELECT count(lag_us), count(retries) FROM transactions WHERE run_id = $1") == [(0, 0)]
    assert any("seventh column" in sentence for sentence in run.tool["missing"])


def test_an_aborted_run_is_refused_or_marked(bring, runs):
    with pytest.raises(UserError, match="the run was aborted"):
        bring("pgbench/aborted")
    assert not list(runs.glob("imported/*/manifest.json"))
    run = bring("pgbench/aborted", partial=True)
    [(status, reason)] = run.sql("SELECT status, reason FROM runs WHERE run_id = $1")
    assert status == "partial"
    assert "aborted" in reason


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


# --- fio --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "jobs"),
    [
        ("one", ["rr"]),
        ("plus.json", ["read it"]),
        ("grouped.json", ["rr"]),
        ("leading.json", ["rr"]),
        ("status.json", ["rr"]),
    ],
)
def test_fio_is_as_printed(bring, name, jobs):
    run = bring(f"fio/{name}")
    text = (FIXTURES / "fio" / (f"{name}/one.json" if name == "one" else name)).read_text()
    golden, _ = json.JSONDecoder().raw_decode(text[text.rindex("\n{") + 1 if "\n{" in text else 0 :])
    assert [job for job in {job["jobname"] for job in golden["jobs"]} if job] == jobs
    for direction in ("read", "write"):
        part = golden["jobs"][0][direction]
        key = f"fio.{jobs[0].replace(' ', '_')}.{direction}"
        if not part["total_ios"]:
            assert f"{key}.iops" not in run
            continue
        assert [run[f"{key}.{name}"] for name in ("operations", "bytes", "bandwidth", "iops")] == [
            part["total_ios"],
            part["io_bytes"],
            part["bw_bytes"],
            part["iops"],
        ]
        assert run[f"{key}.completion.p99"] == pytest.approx(part["clat_ns"]["percentile"]["99.000000"] / 1e6)
        assert run[f"{key}.completion.p99_9"] == pytest.approx(part["clat_ns"]["percentile"]["99.900000"] / 1e6)


def test_fio_for_people_is_its_json_rounded(bring):
    """One run of fio 3.33, printed in both ways: reads, a mix in a group, and a log that is synced."""
    people, numbers = bring("fio/people.txt"), bring("fio/people.json")
    names = "SELECT name, value FROM metrics WHERE run_id = $1"
    printed, exact = dict(people.sql(names)), dict(numbers.sql(names))
    assert printed.keys() == exact.keys()
    assert {"fio.rr.read.response.p99_9", "fio.mix.write.completion.p50", "fio.log.sync.response.p99"} <= exact.keys()
    last_digit = {name: 1e-3 if ".completion." in name or ".response." in name else 0.0 for name in exact}   # ms
    for name, value in exact.items():
        assert printed[name] == pytest.approx(value, rel=0.006, abs=1.01 * last_digit[name]), name


def test_logs_of_fio_have_their_units_and_a_clock(bring):
    run = bring("fio/one")
    sums = {
        name: awk("-F,{n++; s += $2} END {print n, s}".removeprefix("-F,"), FIXTURES / f"fio/one/rr_{what}.1.log")
        for what, name in (("bw", "bandwidth"), ("iops", "iops"), ("clat", "completion"), ("lat", "response"))
    }
    rows = run.sql(
        """SELECT name, count(*), sum(value), any_value(unit) FROM observations WHERE run_id = $1 GROUP BY name"""
    )
    assert {name: [n, total] for name, n, total, _ in rows} == {name: pytest.approx(pair) for name, pair in sums.items()}
    assert {name: unit for name, *_, unit in rows} == {
        "bandwidth": "KiB/s",
        "iops": "1/s",
        "completion": "ns",
        "response": "ns",
    }
    golden = json.loads((FIXTURES / "fio/one/one.json").read_text())
    [starts] = {series["starts"] for series in run.report.series}
    assert starts.startswith("2026-11-26T21:32:17")
    assert golden["timestamp"] - 1795728737 == 2


def test_bins_of_fio_hold_the_percentiles_that_it_printed(bring):
    """The bins of json+ against fio's own percentiles: each lies in the bin where that share of operations is reached."""
    run = bring("fio/plus.json")
    bins = run.sql("SELECT low, high, value FROM histograms WHERE run_id = $1 AND subject = 'read_it/read' ORDER BY low")
    n, seen = sum(value for *_, value in bins), 0
    wanted = {0.5: run["fio.read_it.read.completion.p50"], 0.99: run["fio.read_it.read.completion.p99"]}
    for low, high, value in bins:
        for share, printed in wanted.items():
            if seen < share * n <= seen + value:
                assert low <= printed * 1e6 <= high
        seen += value
    assert n == 601


def test_histogram_logs_of_fio_hold_every_operation_so_far(bring):
    run = bring("fio/one")
    golden = awk("{for (i = 4; i <= NF; i++) n += $i} END {print n}", FIXTURES / "fio/one/rr_clat_hist.1.log")
    assert run.sql("SELECT sum(value) FROM histograms WHERE run_id = $1") == [(golden[0],)]
    [(least, most)] = run.sql("SELECT min(low), max(high) FROM histograms WHERE run_id = $1")
    part = json.loads((FIXTURES / "fio/one/one.json").read_text())["jobs"][0]["read"]["clat_ns"]
    assert part["min"] * 0.9 <= least
    assert most <= part["max"] * 1.1


def test_a_failed_job_of_fio_is_refused(bring):
    with pytest.raises(UserError, match=r"job bad did no I/O|ended with error"):
        bring("fio/failed.json")


TWO_15 = {
    "fio version": "fio-2.15",
    "timestamp": 1473437411,
    "jobs": [
        {
            "jobname": "a",
            "groupid": 0,
            "error": 0,
            "job options": {"rw": "randread"},
            "read": {
                "io_bytes": 409600,
                "bw": 102400,
                "iops": 25600.0,
                "runtime": 4000,
                "total_ios": 102400,
                "slat": {"min": 0, "max": 0},
                "clat": {
                    "min": 54,
                    "max": 135676,
                    "mean": 2892.5,
                    "stddev": 1.0,
                    "percentile": {"1.000000": 56, "99.000000": 9000},
                },
                "lat": {"min": 54, "max": 135676, "mean": 2893.0, "stddev": 1.0},
            },
            "write": {"total_ios": 0},
        }
    ],
}


def test_fio_2_has_us_and_kib(bring):
    run = bring("old.json", json.dumps(TWO_15))
    assert [run[f"fio.a.read.{name}"] for name in ("bytes", "completion.mean", "completion.p99")] == [
        409600 * 1024,
        2.8925,
        9.0,
    ]
    assert run.tool["dialect"] == "json, times in us"
    assert all(check["agrees"] for check in run.tool["checks"])


def test_terse_fio_has_the_totals(bring):
    run = bring("fio/terse.txt")
    words = (FIXTURES / "fio/terse.txt").read_text().split(";")
    assert [run[f"fio.rr.read.{name}"] for name in ("bytes", "iops")] == [float(words[5]) * 1024, float(words[7])]


# --- zpool iostat -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("release", ["0.7", "0.8", "2.2"])
@pytest.mark.parametrize("options", ["", "l", "q", "lq"])
@pytest.mark.parametrize("bare", [False, True])
def test_zpool_iostat_of_each_release(bring, release, options, bare):
    """Every layout, with and without a header; each value is its place, so that a wrong column shows."""
    n = zpool_text.width(release, options)
    values = [[1000 * report + place + 1 for place in range(n)] for report in range(3)]
    if bare and n == 16:  # nothing but a dash or a zero tells the two layouts of 16 numbers
        values[1][-1] = None if "l" in options else 0
    text = zpool_text.table(release, options, [{"tank": row} for row in values], [1795221912 + n for n in range(3)], bare)
    run = bring("zpool.txt", text)
    there = [[value for value in row if value is not None] for row in values]
    for series, chosen in (("zpool.vdevs_since_import", there[:1]), ("zpool.vdevs", there[1:])):
        rows = run.sql(f"SELECT value, unit FROM observations WHERE run_id = $1 AND series = '{series}' ORDER BY t, value")
        assert sorted(value for value, _ in rows) == sorted(value for row in chosen for value in row)
    last = dict(run.sql("SELECT name, value FROM observations WHERE run_id = $1 AND t = 2"))
    assert (last["space.allocated"], last["writes"], last["write_bandwidth"]) == (2001, 2004, 2006)
    if "l" in options:
        assert last["scrub.wait"] == 2015
        assert ("trim.wait" in last, "rebuild.wait" in last) == (release != "0.7", release == "2.2")
    if "q" in options:
        assert last["sync_read.pending"] == 2000 + n - zpool_text.QUEUES[release] + 1
    assert {shown["starts"] for shown in run.report.series} == {"2026-11-21T00:45:12.000000"}


def test_hierarchy_and_sections_of_a_pool(bring):
    rows = {
        "tank": [10, 20, 1, 2, 3, 4],
        "  mirror": [10, 20, 1, 2, 3, 4],
        "    sda": [0, 0, 1, 1, 1, 2],
        "logs": [None] * 6,
        "  nvme0n1": [5, 5, 0, 9, 0, 9],
        "cache": [None] * 6,
        "  nvme0n2": [6, 6, 7, 0, 7, 0],
        "rpool": [1, 2, 3, 4, 5, 6],
    }
    run = bring("zpool.txt", zpool_text.table("2.2", "", [rows, rows]))
    subjects = dict(
        run.sql("SELECT subject, count(*) FROM observations WHERE run_id = $1 AND series = 'zpool.vdevs' GROUP BY 1")
    )
    assert subjects == {
        "tank": 6,
        "tank/mirror": 6,
        "tank/mirror/sda": 4,
        "tank/logs/nvme0n1": 6,
        "tank/cache/nvme0n2": 6,
        "rpool": 6,
    }


PRINTED = """Mon Mar 15 13:48:44 MST 2021
                capacity     operations     bandwidth    total_wait     disk_wait    syncq_wait    asyncq_wait  scrub   trim
pool          alloc   free   read  write   read  write   read  write   read  write   read  write   read  write   wait   wait
------------  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----
pool2         2.76T  4.51T  9.56K  62.5K  82.0M   926M  269us    1ms  258us  131us    6us    1us  163us    1ms  452us    2ms
  mirror       564G   924G  1.91K  12.9K  16.4M   188M  302us    1ms  290us  126us    6us    1us  211us    1ms    1ms    2ms
    pool2-1       -      -    979  6.42K  8.23M  94.1M  302us    1ms  290us  127us    6us    1us  212us    1ms    2ms    2ms
"""


def test_human_numbers_are_of_1024_and_ns(bring):
    run = bring("zpool.txt", PRINTED)
    values = dict(run.sql("SELECT name, value FROM observations WHERE run_id = $1 AND subject = 'pool2'"))
    assert [
        values[name] for name in ("space.allocated", "reads", "write_bandwidth", "read.wait", "write.wait", "trim.wait")
    ] == [2.76 * 1024**4, 9.56 * 1024, 926 * 1024**2, 269e3, 1e6, 2e6]
    assert any("without -p" in warning for warning in run.tool["warnings"])
    [series] = run.report.series
    assert series["starts"] is None
    assert "MST" in series["clock"]


def test_a_zone_that_the_user_gives_sets_the_clock(bring):
    run = bring("zpool.txt", PRINTED, utc_offset="-07:00")
    assert run.report.series[0]["starts"] == "2021-03-15T20:48:44.000000"


@pytest.mark.parametrize("release", ["0.7", "0.8", "2.2"])
@pytest.mark.parametrize("bare", [False, True])
def test_histograms_of_waits(bring, release, bare):
    n = zpool_text.WAITS[release]
    rows = [
        ((2 ** (place + 1) - 1) if bare else label, [place + 1] * n)
        for place, label in enumerate(["1ns", "3ns", "7ns", "15ns", "31ns", "63ns"])
    ]
    text = zpool_text.waits(release, "tank", rows, bare) + zpool_text.waits(release, "tank", rows, bare)
    run = bring("w.txt", text)
    assert run.sql("SELECT count(*), sum(value) FROM histograms WHERE run_id = $1 AND series = 'zpool.waits'") == [
        (6 * n, 21 * n)
    ]
    assert run.sql("""SELECT DISTINCT low, high FROM histograms WHERE run_id = $1 AND value = 3 AND name = 'read.wait'
                      ORDER BY low""") == [(4, 8)]
    assert run.sql('SELECT DISTINCT series, "of" FROM histograms WHERE run_id = $1 ORDER BY 1') == [
        ("zpool.waits", "operations/s"),
        ("zpool.waits_since_import", "operations"),
    ]


# --- iostat -----------------------------------------------------------------------------------------------------------

GENERATIONS = {
    "text, up to 11.5.6": "Device: rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await r_await w_await svctm %util",
    "text, 11.5.7 to 12.1.1": (
        "Device r/s w/s rkB/s wkB/s rrqm/s wrqm/s %rrqm %wrqm r_await w_await aqu-sz rareq-sz wareq-sz svctm %util"
    ),
    "text, 12.1.2 or later": (
        "Device r/s rkB/s rrqm/s %rrqm r_await rareq-sz w/s wkB/s wrqm/s %wrqm w_await wareq-sz d/s dkB/s "
        "drqm/s %drqm d_await dareq-sz aqu-sz %util"
    ),
    "text, 12.3.1 or later": (
        "Device r/s rkB/s rrqm/s %rrqm r_await rareq-sz w/s wkB/s wrqm/s %wrqm w_await wareq-sz d/s dkB/s "
        "drqm/s %drqm d_await dareq-sz f/s f_await aqu-sz %util"
    ),
}


@pytest.mark.parametrize("dialect", GENERATIONS)
@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_iostat_of_each_generation(bring, dialect, decimal, end):
    columns = GENERATIONS[dialect].split()[1:]
    reports = "".join(
        f"{GENERATIONS[dialect]}\n{device}  " + "  ".join(f"{10 * n + place}.25" for place in range(len(columns))) + "\n\n"
        for n in (1, 2, 3)
        for device in ["sda"]
    )
    text = ("Linux 6.1.0-18-amd64 (db1)\t11/21/26\t_x86_64_\t(2 CPU)\n\n" + reports).replace(".25", f"{decimal}25")
    run = bring("iostat.txt", text.replace("\n", end))
    values = dict(run.sql("SELECT name, value FROM observations WHERE run_id = $1 AND t = 2"))
    golden = {"reads": "r/s", "write_bandwidth": "wkB/s", "busy": "%util", "read.response": "r_await"}
    assert {name: values[name] for name in golden} == {
        name: 30.25 + columns.index(column) for name, column in golden.items()
    }
    assert run.tool["dialect"] == dialect


@pytest.mark.parametrize("name", ["mega", "boot", "local_time", "short"])
def test_iostat_is_as_printed(bring, name):
    run = bring(f"iostat/{name}.txt")
    last = awk(
        '$1 == "vda" {for (i = 2; i <= NF; i++) line = line " " $i; last = line; line = ""} END {print last}',
        FIXTURES / f"iostat/{name}.txt",
    )
    assert sorted(value for (value,) in run.sql("""
        SELECT value FROM observations WHERE run_id = $1 AND series = 'iostat.disks'
        AND t = (SELECT max(t) FROM observations WHERE run_id = $1)""")) == sorted(last)
    units = {unit for (unit,) in run.sql("SELECT unit FROM observations WHERE run_id = $1 AND name LIKE '%bandwidth'")}
    assert units == ({"MiB/s"} if name == "mega" else {"KiB/s"})


def test_iostat_in_json_is_what_it_says(bring):
    run = bring("iostat/whole.json")
    golden = json.loads((FIXTURES / "iostat/whole.json").read_text())["sysstat"]["hosts"][0]["statistics"]
    rows = run.sql(
        "SELECT name, value FROM observations WHERE run_id = $1 AND series = 'iostat.disks' AND name = 'writes' ORDER BY t"
    )
    assert [value for _, value in rows] == [report["disk"][0]["w/s"] for report in golden[1:]]
    assert golden[0]["timestamp"].startswith(run.report.series[0]["starts"][:19])


def test_json_that_sigterm_cut_is_refused_or_marked(bring):
    with pytest.raises(UserError, match="stop it by SIGINT"):
        bring("iostat/cut.json")
    run = bring("iostat/cut.json", partial=True)
    text = (FIXTURES / "iostat/cut.json").read_text()
    assert run.tool["rows_read"] == text.count('"disk_device": "vda"')


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


# --- CSV --------------------------------------------------------------------------------------------------------------

MAPPING = """kind = "{kind}"
series = "mine"
time = {{ column = "when", unit = "iso" }}
[columns]
"TPS; total" = {{ name = "database.tps", unit = "1/s", statistic = "rate" }}
"io" = {{ name = "io.size", unit = "KiB" }}
"""
CSV = 'when,TPS; total,io,notes\n2026-11-21T00:00:00Z,100.5,8,"\'); DROP TABLE runs; --"\n2026-11-21T00:00:10Z,,9,x\n'


@pytest.mark.parametrize("kind", ["series", "runs"])
def test_a_csv_with_a_mapping(bring, tmp_path, kind):
    (tmp_path / "m.toml").write_text(MAPPING.format(kind=kind))
    run = bring("mine.csv", CSV, mapping=mapped_csv.mapping(tmp_path / "m.toml"))
    assert run.sql("SELECT name, value, unit FROM observations WHERE run_id = $1 ORDER BY t, name") == [
        ("database.tps", 100.5, "1/s"),
        ("io.size", 8, "KiB"),
        ("io.size", 9, "KiB"),
    ]
    n_samples = run.sql("SELECT count(*) FROM samples WHERE run_id = $1 AND series = 'mine'")
    assert n_samples == [(3 if kind == "runs" else 0,)]
    assert any("notes" in sentence for sentence in run.tool["missing"])
    assert run.report.series[0]["starts"] == ("2026-11-21T00:00:00.000000" if kind == "series" else None)


def test_a_csv_of_a_spreadsheet_has_semicolons_and_decimal_commas(bring, tmp_path):
    (tmp_path / "m.toml").write_text(MAPPING.format(kind="series").replace("TPS; total", "TPS"))
    text = "when;TPS;io\n2026-11-21T00:00:00Z;100,5;8,25\n2026-11-21T00:00:10Z;99,75;9\n"
    run = bring("mine.csv", text, mapping=mapped_csv.mapping(tmp_path / "m.toml"))
    values = run.sql("SELECT value FROM observations WHERE run_id = $1 ORDER BY t, name")
    assert values == [(100.5,), (8.25,), (99.75,), (9,)]


OF_SECONDS = MAPPING.format(kind="series").replace("TPS; total", "x").replace('unit = "iso"', 'unit = "s"')
HOSTS = "when,host,TPS; total,io\n" + "".join(
    f"2026-11-21T00:00:0{t}Z,{host},{tps},8\n" for t in range(3) for host, tps in (("a", 100), ("b", 900))
)


def test_rows_of_one_time_are_told_apart_by_a_subject(bring, tmp_path):
    """Without it a rate would be a mean of both hosts."""
    (tmp_path / "m.toml").write_text(MAPPING.format(kind="series"))
    with pytest.raises(UserError, match=r"3 rows with the time of an earlier one, the first in line 3. Name .* zone"):
        bring("hosts.csv", HOSTS, mapping=mapped_csv.mapping(tmp_path / "m.toml"))
    (tmp_path / "m.toml").write_text(MAPPING.format(kind="series").replace("[columns]", 'subject = "host"\n[columns]'))
    run = bring("hosts.csv", HOSTS, mapping=mapped_csv.mapping(tmp_path / "m.toml"))
    rates = run.sql(
        "SELECT subject, sum(value) FROM observations WHERE run_id = $1 AND name = 'database.tps' GROUP BY ALL ORDER BY ALL"
    )
    assert rates == [("a", 300), ("b", 2700)]


def test_rows_of_one_time_may_have_other_quantities(bring, tmp_path):
    (tmp_path / "m.toml").write_text(MAPPING.format(kind="series"))
    text = "when,TPS; total,io\n2026-11-21T00:00:00Z,100,\n2026-11-21T00:00:00Z,,8\n"
    run = bring("mine.csv", text, mapping=mapped_csv.mapping(tmp_path / "m.toml"))
    assert run.sql("SELECT sum(value) FROM observations WHERE run_id = $1") == [(108,)]


def test_a_csv_with_the_newest_row_first_begins_with_its_oldest(bring, tmp_path):
    (tmp_path / "m.toml").write_text(MAPPING.format(kind="series"))
    head, *rows = CSV.splitlines()
    run = bring("mine.csv", "\n".join([head, *reversed(rows), ""]), mapping=mapped_csv.mapping(tmp_path / "m.toml"))
    assert run.report.series[0]["starts"] == "2026-11-21T00:00:00.000000"
    assert run.sql("SELECT DISTINCT t FROM observations WHERE run_id = $1 ORDER BY t") == [(0,), (10,)]


@pytest.mark.parametrize(("last", "reason"), [("2026-11-21", "2 values fewer"), ("2026-11-21T00:00:20Z,9", "1 value fewer")])
def test_a_csv_that_is_cut_off_within_a_row_is_refused(bring, tmp_path, last, reason):
    """A blank value is none; one that is cut off may be a smaller number."""
    (tmp_path / "m.toml").write_text(MAPPING.format(kind="series"))
    text = "when,TPS; total,io\n2026-11-21T00:00:00Z,100,8\n2026-11-21T00:00:10Z,,\n"
    with pytest.raises(UserError, match=f"the first line 4 of mine.csv: {reason} than the header has names"):
        bring("mine.csv", text + last, mapping=mapped_csv.mapping(tmp_path / "m.toml"))
    run = bring("mine.csv", text + "2026-11-21T00:00:20Z,9,1", mapping=mapped_csv.mapping(tmp_path / "m.toml"))
    assert any("last line of mine.csv has no end" in sentence for sentence in run.tool["warnings"])


@pytest.mark.parametrize("last", ["1,2,5,", "1,2,5,8", "1,2,5,8,"])
@pytest.mark.parametrize("before", ["", "0,1,4\n"])
def test_decimal_commas_between_commas_are_refused(bring, tmp_path, before, last):
    """`2,5` and a blank are no 2 and 5."""
    (tmp_path / "m.toml").write_text(OF_SECONDS)
    with pytest.raises(UserError, match=r"1 row with more values than its header has names, the first in line \d; where"):
        bring("mine.csv", f"when,x,io\n{before}{last}\n", mapping=mapped_csv.mapping(tmp_path / "m.toml"))


def test_what_does_not_change_the_meaning_of_a_csv_is_accepted(bring, tmp_path):
    """Commas at all ends, comments, blank lines, quoted commas and ends of lines."""
    (tmp_path / "m.toml").write_text(OF_SECONDS)
    text = ('# a night, with a comma\n\nwhen, x,io,note,\n0,"2,5",4,"a # b, c",\n  \n1,3, 5,"two\nlines",  # late, again\n'
            "# end\n2,4,6,,\n")
    run = bring("mine.csv", text, mapping=mapped_csv.mapping(tmp_path / "m.toml"))
    values = run.sql("SELECT value FROM observations WHERE run_id = $1 ORDER BY t, name")
    assert values == [(2.5,), (4,), (3,), (5,), (4,), (6,)]
    with pytest.raises(UserError, match=r"the first line 9 of mine.csv: 'many' is no number"):
        bring("mine.csv", text.replace("2,4,6", "2,4,many"), mapping=mapped_csv.mapping(tmp_path / "m.toml"))


def test_a_quotation_mark_without_another_is_refused(bring, tmp_path):
    (tmp_path / "m.toml").write_text(OF_SECONDS)
    with pytest.raises(UserError, match="EOF inside string"):
        bring("mine.csv", 'when,x,io\n0,1,"2\n1,2,3\n', mapping=mapped_csv.mapping(tmp_path / "m.toml"))


def test_all_columns_that_a_csv_lacks_are_named(bring, tmp_path):
    (tmp_path / "m.toml").write_text(MAPPING.format(kind="series"))
    with pytest.raises(UserError, match=r"has no column 'TPS; total' and no 'when'; it has time, rate, io: name these"):
        bring("mine.csv", "time,rate,io\n1,2,3\n", mapping=mapped_csv.mapping(tmp_path / "m.toml"))


def test_a_mapping_is_checked_whole(tmp_path):
    (tmp_path / "m.toml").write_text('kind = "other"\nseries = "A B"\nmore = 1\n[columns]\n')
    with pytest.raises(UserError, match=r"kind is 'other'.*series is 'A B'.*columns.*more"):
        mapped_csv.mapping(tmp_path / "m.toml")


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


SIZES = """bckpool       sync_read    sync_write    async_read    async_write      scrub         trim
req_size      ind    agg    ind    agg    ind    agg    ind    agg    ind    agg    ind    agg
----------  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----
512             0      0      0      0      0      0      0      0      0      0      0      0
4K              0      0      0      0      0      0  2.13K      0      0      0      0      0
8K              0      7      0      0      0      0     40      0      0      0      0      0
------------------------------------------------------------------------------------------
"""


def test_histograms_of_request_sizes_have_their_lower_ends(bring):
    run = bring("r.txt", SIZES + SIZES.replace("2.13K", "  600"))
    assert run.sql(
        "SELECT series, name, low, high, value, unit FROM histograms WHERE run_id = $1 ORDER BY series DESC, low, name"
    ) == [
        ("zpool.sizes_since_import", "async_write.individual", 4096, 8192, 2.13 * 1024, "B"),
        ("zpool.sizes_since_import", "async_write.individual", 8192, 16384, 40, "B"),
        ("zpool.sizes_since_import", "sync_read.aggregated", 8192, 16384, 7, "B"),
        ("zpool.sizes", "async_write.individual", 4096, 8192, 600, "B"),
        ("zpool.sizes", "async_write.individual", 8192, 16384, 40, "B"),
        ("zpool.sizes", "sync_read.aggregated", 8192, 16384, 7, "B"),
    ]


def test_a_label_of_8us_covers_4_to_8(bring):
    rows = [(f"{n}ns", [0] * 10) for n in (1, 3, 7)] + [("8us", [5] * 10)]
    run = bring("w.txt", zpool_text.waits("0.8", "tank", rows))
    assert run.sql("SELECT DISTINCT low, high FROM histograms WHERE run_id = $1") == [(4096, 8192)]
