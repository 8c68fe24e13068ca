"""pgbench: what is read of a run is what the tool printed."""
import re

import pytest

from study.errors import UserError
from support.awk import awk
from support.imported_runs import FIXTURES

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
