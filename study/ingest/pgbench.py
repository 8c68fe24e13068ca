"""pgbench of PostgreSQL 8.3 to 19: summary, `-P` progress, log of transactions (`-l`), log of intervals.

    summary, progress   lines of standard output and standard error, in one file or two
    log                 client transaction us script epoch_s epoch_us [lag us] [retries]; a file a thread
    aggregate           epoch_s n and sums over an interval; 6, 10 or 11 columns up to 14, 15 up to 18, 16 in 19

The time in a log is when the transaction ended. With `-R` its response time counts from when it was due.
The seventh column of a log is a lag or a count of retries; the summary or a line `pgbench …` tells which.
Format: doc/src/sgml/ref/pgbench.sgml and src/bin/pgbench/pgbench.c of PostgreSQL.
"""

import itertools
import re
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import duckdb

from study.ingest import text
from study.ingest.reading import CLOSED, OPEN, Check, Clock, Damaged, Quantity, Reading, Series, Source, slug

TOOL = "pgbench"
OUTCOMES = ("skipped", "failed", "serialization", "deadlock", "other")
LOG = re.compile(
    rf"\d{{1,9}} \d{{1,18}} (?:\d{{1,15}}|{'|'.join(OUTCOMES)}) \d{{1,9}} \d{{9,10}} \d{{1,6}}((?: \d{{1,15}}){{0,2}})"
)
AGGREGATE = re.compile(r"\d{9,10}(?: \d{1,30}){5,15}")
AGGREGATE_COLUMNS = {6: "up to 14", 10: "up to 14", 11: "up to 14", 15: "15 to 18", 16: "19"}
PROGRESS = re.compile(
    r"progress: (?P<t>[\d.]+) s, (?P<tps>[\d.]+) tps, lat (?P<lat>[\d.]+|NaN) ms stddev (?P<stddev>[\d.]+|NaN)"
    r"(?:, (?P<failed>\d+) failed)?(?:, lag (?P<lag>[\d.]+|NaN) ms)?(?:, (?P<skipped>\d+) skipped)?"
    r"(?:, (?P<retried>\d+) retried, (?P<retries>\d+) retries)?"
)
EPOCH = 10**8  # s: a time of progress beyond this is no time since the start
SUMMARY = "number of transactions actually processed"
BANNER = re.compile(r"pgbench \((\S+)[^)]*\)|pgbench \(PostgreSQL\) (\S+)")
COMMAND = re.compile(r"[$#>]?\s*(?:\S*/)?pgbench\s+-.*")
ABORTED = ("Run was aborted", "aborted in command")
AFTER_CONNECTING_S = (
    1.0  # the first transaction is less than this after the start of progress, unless connecting takes longer
)
NUMBER = r"(-?[\d.]+|NaN)"
FIELDS = [
    (re.compile(pattern), name, unit)
    for pattern, name, unit in (
        (rf"number of failed transactions: {NUMBER}", "failed", "transactions"),
        (rf"number of serialization failures: {NUMBER}", "serialization_failures", "transactions"),
        (rf"number of deadlock failures: {NUMBER}", "deadlock_failures", "transactions"),
        (rf"number of other failures: {NUMBER}", "other_failures", "transactions"),
        (rf"number of transactions retried: {NUMBER}", "retried", "transactions"),
        (rf"total number of retries: {NUMBER}", "retries", "retries"),
        (rf"number of transactions skipped: {NUMBER}", "skipped", "transactions"),
        (rf"number of transactions above the [\d.]+ ms latency limit: {NUMBER}", "above_limit", "transactions"),
        (rf"latency average[ =:]+{NUMBER} ms", "response.mean", "ms"),
        (rf"latency stddev[ =:]+{NUMBER} ms", "response.stddev", "ms"),
        (rf"initial connection time = {NUMBER} ms", "connecting", "ms"),
        (rf"average connection time = {NUMBER} ms", "connecting.mean", "ms"),
        (rf"rate limit schedule lag: avg {NUMBER}", "lag.mean", "ms"),
        (rf"rate limit schedule lag: avg [\d.]+ \(max {NUMBER}\)", "lag.maximum", "ms"),
        (rf"tps = {NUMBER} \((?:without initial connection time|excluding connections establishing)\)", "tps", "1/s"),
        (
            rf"tps = {NUMBER} \((?:including reconnection times|including connections establishing)\)",
            "tps.with_connecting",
            "1/s",
        ),
    )
]
SETTINGS = [
    (re.compile(pattern), name)
    for pattern, name in (
        (r"transaction type: (.*)", "transaction_type"),
        (r"scaling factor: (.*)", "scale"),
        (r"query mode: (.*)", "query_mode"),
        (r"number of clients: (.*)", "clients"),
        (r"number of threads: (.*)", "threads"),
        (r"maximum number of tries: (.*)", "max_tries"),
        (r"duration: (\d+) s", "duration_s"),
        (r"number of transactions per client: (.*)", "transactions_per_client"),
        (r"partition method: (.*)", "partition_method"),
        (r"partitions: (.*)", "partitions"),
    )
]
STATEMENTS = re.compile(r"(?: - )?statement latencies in milliseconds")
STATEMENT = re.compile(r"\s+([\d.]+)((?:\s+\d+){0,2})  (\S.*)")
SCRIPT = re.compile(r"SQL script (\d+): (.*)")
SHARE = re.compile(r" - (\d+) transactions? \(([\d.]+)% of total(?:, tps = ([\d.]+))?\)")
PASSED = re.compile(
    r"starting vacuum\.\.\.(end\.)?|pgbench: (warning|hint|note).*|\s*| - weight: .*|pghost: .*|"
    r"maximum try number: .*|number of transactions below .*|.*SQL script.*"
)


def kind(name: str, head: str) -> str | None:
    rows = [line for line in head.splitlines()[:50] if line.strip()]
    if rows and sum(bool(LOG.fullmatch(row)) for row in rows[:5]) * 2 > len(rows[:5]):
        return "log"
    if (
        rows
        and sum(bool(AGGREGATE.fullmatch(row)) for row in rows[:5]) * 2 > len(rows[:5])
        and (len(rows[0].split()) in AGGREGATE_COLUMNS)
    ):
        return "aggregate"
    if not rows and re.fullmatch(r".*\.\d+(\.\d+)?", name) and "log" in name:
        return "empty log"
    if SUMMARY in head or any(row.startswith("pgbench: error") or BANNER.match(row) for row in rows):
        return "text"
    if any(PROGRESS.match(row) for row in rows) and "tps, lat" in head:
        return "text"
    return "command" if len(rows) == 1 and COMMAND.fullmatch(rows[0]) else None


class _Columns(NamedTuple):
    """What a log holds beyond its sixth column, as summary and command say; None where they do not."""

    lag: bool | None
    retries: bool | None


def read(sources: list[Source], scratch: Path) -> Reading:
    reading = Reading(tool=TOOL)
    texts = [source for source in sources if source.kind in ("text", "command")]
    summaries = [source.name for source in texts if _text(reading, source)]
    if len(summaries) > 1:
        raise Damaged(
            f"{' and '.join(summaries)} are summaries of {len(summaries)} runs; a run has one, so give each by itself"
        )
    if not summaries:
        reading.missing.append("the summary of pgbench, with which counts and response times could be compared")
    logs = [source for source in sources if source.kind in ("log", "empty log")]
    aggregates = [source for source in sources if source.kind == "aggregate"]
    if logs and aggregates:
        logs = [source for source in logs if source.kind == "log"]
    of_lag = "lag.mean" in _totals(reading) or "rate" in reading.params
    limited = int(_number(reading.params.get("max_tries", 1))) != 1
    columns = _Columns(of_lag, limited) if summaries or "command" in reading.params else _Columns(None, None)
    _threads(reading, logs or aggregates)
    if logs:
        _transactions(reading, logs, columns, scratch)
    if aggregates:
        _intervals(reading, aggregates)
    _progress_against(reading)
    _load(
        reading,
        summaries,
        of_lag
        or any(
            series.name == "pgbench.progress" and "lag" in {quantity.name for quantity in series.quantities}
            for series in reading.series
        ),
    )
    return reading


def _totals(reading: Reading) -> dict[str, float]:
    return {total.name.removeprefix("pgbench."): total.value for total in reading.totals}


def _number(value: object) -> float:
    try:
        return float(str(value))
    except ValueError:
        return 0.0


# --- summary and progress ---------------------------------------------------------------------------------------------


def _text(reading: Reading, source: Source) -> bool:
    """Whether the file holds a summary."""
    progress: list[tuple[int, dict[str, str]]] = []
    script, n_statement, in_statements, is_summary = "", 0, False, False
    for n, line in text.lines(source.path):
        line = line.rstrip()
        if match := PROGRESS.fullmatch(line):
            progress.append((n, match.groupdict()))
            continue
        if line.startswith("progress: "):
            reading.refuse(source.name, n, "it begins as a line of progress and does not go on so")
            continue
        if line.startswith(SUMMARY):
            if is_summary:
                raise Damaged(f"{source.name} holds a second summary in line {n}; a run has one, so give each by itself")
            is_summary = True
        if any(word in line for word in ABORTED):
            reading.problems.append(f"the run was aborted, says line {n} of {source.name}")
        if match := SCRIPT.match(line):
            script, n_statement, in_statements = f"script_{match[1]}.", 0, False
            reading.params[f"script_{match[1]}"] = match[2]
        elif STATEMENTS.match(line):
            in_statements = True
        elif in_statements and (match := STATEMENT.fullmatch(line)):
            n_statement += 1
            name = f"{script}statement_{n_statement}"
            reading.total(f"pgbench.{name}.response", text.number(match[1]), "ms")
            reading.params[name] = match[3]
            reading.rows += 1
        else:
            _line(reading, source, n, line, script)
    if in_statements and not text.ends_with_a_line(source.path):
        reading.problems.append(f"the last line of {source.name} has no end, so the file is cut off")
    if progress:
        _progress(reading, source, progress)
    if is_summary:
        absent = [name for name in ("processed", "tps") if name not in _totals(reading)]
        if "tps" in absent and "tps.with_connecting" in _totals(reading):
            absent.remove("tps")
        if absent and not reading.problems:
            reading.problems.append(f"the summary in {source.name} has no {' and no '.join(absent)}, so it is cut off")
    return is_summary


def _line(reading: Reading, source: Source, n: int, line: str, script: str) -> None:
    line = line.removeprefix(" - ") if script else line
    if match := re.match(rf"{SUMMARY}: (\d+)(?:/(\d+))?", line):
        reading.total("pgbench.processed", float(match[1]), "transactions")
        if match[2]:
            reading.total("pgbench.planned", float(match[2]), "transactions")
        reading.rows += 1
        return
    if script and (match := SHARE.match(f" - {line}")):
        reading.total(f"pgbench.{script}processed", float(match[1]), "transactions")
        if match[3]:
            reading.total(f"pgbench.{script}tps", text.number(match[3]), "1/s")
        reading.rows += 1
        return
    if match := BANNER.match(line):
        reading.version = match[1] or match[2]
    elif COMMAND.fullmatch(line):
        _command(reading, line.strip())
    elif match := next((match for pattern, _ in SETTINGS if (match := pattern.fullmatch(line))), None):
        name = next(name for pattern, name in SETTINGS if pattern.fullmatch(line))
        reading.params[name] = match[1]
        reading.rows += 1
        return
    known = False
    for pattern, name, unit in FIELDS:
        if match := pattern.match(line):
            known = True
            if match[1] != "NaN":
                reading.total(f"pgbench.{script}{name}", text.number(match[1]), unit)
    if line.startswith("latency average") and "(including failures)" in line:
        reading.params["response_includes_failures"] = True
    reading.rows += known
    reading.other_lines += not known
    if not known and not PASSED.fullmatch(line) and re.match(r"(tps|latency|number of) ", line):
        reading.refuse(source.name, n, f"'{line[:60]}' is no line of a summary that is known")


def _command(reading: Reading, line: str) -> None:
    reading.params["command"] = line
    words = line.replace("=", " ").split()
    for options, name in (
        (("-R", "--rate"), "rate"),
        (("--sampling-rate",), "sampling_rate"),
        (("--max-tries",), "max_tries"),
    ):
        for option in options:
            if option in words[:-1]:
                reading.params[name] = words[words.index(option) + 1]


def _progress(reading: Reading, source: Source, rows: list[tuple[int, dict[str, str]]]) -> None:
    names = {
        "tps": Quantity("tps", "1/s", "rate"),
        "lat": Quantity("response.mean", "ms", "mean"),
        "stddev": Quantity("response.stddev", "ms", "deviation"),
        "failed": Quantity("failed", "transactions", "count"),
        "lag": Quantity("lag.mean", "ms", "mean"),
        "skipped": Quantity("skipped", "transactions", "count"),
        "retried": Quantity("retried", "transactions", "count"),
        "retries": Quantity("retries", "retries", "count"),
    }
    there = [name for name in names if any(row[name] is not None for _, row in rows)]
    times = [text.number(row["t"]) for _, row in rows]
    is_epoch = times[0] > EPOCH
    starts = times[0] if is_epoch else None
    clock = (
        Clock(starts, 0.001, "--progress-timestamp")
        if is_epoch
        else Clock(None, float("inf"), "progress counts from the start of the run")
    )
    series = Series(name="pgbench.progress", quantities=[names[name] for name in there], clock=clock, file=source.name)
    for (n, row), t in zip(rows, times, strict=True):
        if series.times and t - (starts or 0.0) <= series.times[-1]:
            reading.refuse(source.name, n, "its time is not after that of the line before")
            continue
        series.add(t - (starts or 0.0), [float(row[name]) if row[name] is not None else float("nan") for name in there])
        reading.rows += 1
    reading.series.append(series)


def _load(reading: Reading, summaries: list[str], has_lag: bool) -> None:
    of_version = re.match(r"\d+", reading.version)
    if of_version:
        major = int(of_version[0])
        reading.dialect = "up to 13" if major <= 13 else "14" if major == 14 else "15 to 18" if major <= 18 else "19"
    elif any(total.name == "pgbench.failed" for total in reading.totals):
        reading.dialect = reading.dialect or "15 or later"
    elif {"tps", "tps.with_connecting"} <= _totals(reading).keys():
        reading.dialect = reading.dialect or "up to 13"
    if has_lag or "rate" in reading.params:
        reading.load = OPEN
    elif summaries or "command" in reading.params:
        reading.load = CLOSED
        reading.warnings.append(
            "the load is closed: each client waits for its answer, so a stall holds back the requests that would have shown "
            "it, and response times beyond it are too few (coordinated omission)"
        )
    if reading.load == OPEN and _totals(reading).get("skipped"):
        reading.warnings.append("skipped transactions have no response time; the slowest are missing from it")


# --- logs of transactions ---------------------------------------------------------------------------------------------


def _threads(reading: Reading, logs: list[Source]) -> None:
    """pgbench_log.PID, .PID.1 … a thread each: whether all are there."""
    groups: dict[str, set[int]] = defaultdict(set)
    for source in logs:
        match = re.fullmatch(r"(.*\.\d+)\.(\d+)", source.name)
        groups[match[1] if match else source.name].add(int(match[2]) if match else 0)
    if len(groups) > 1:
        raise Damaged(
            f"logs of {len(groups)} runs stand beside each other ({', '.join(sorted(groups))}); give those of each "
            "by themselves"
        )
    for stem, there in groups.items():
        wanted = max(max(there) + 1, int(_number(reading.params.get("threads", 1))))
        absent = sorted(set(range(wanted)) - there)
        if absent:
            files = ", ".join(stem if n == 0 else f"{stem}.{n}" for n in absent[:5])
            reading.problems.append(f"{len(absent)} of {wanted} logs of threads are missing ({files})")


def _transactions(reading: Reading, logs: list[Source], columns: _Columns, scratch: Path) -> None:
    connection = text.database(scratch)
    for n, source in enumerate(logs):
        if not text.ends_with_a_line(source.path):
            reading.problems.append(f"the last line of {source.name} has no end, so the file is cut off")
        if source.kind == "empty log":
            continue
        made = scratch / f"transactions-{n}.parquet"
        width = next(len(line.split()) for _, line in text.lines(source.path) if LOG.fullmatch(line))
        path = source.path
        if not _copied(connection, path, width, columns, made):
            path = scratch / f"log-{n}.txt"
            _without_refused(reading, source, width, path)
            if not _copied(connection, path, width, columns, made):
                raise Damaged(f"{source.name} cannot be read as a log of {width} columns")
            path.unlink()
        reading.transactions.append(made)
        if width == 7 and columns.lag is None:
            reading.missing.append(
                f"what the seventh column of {source.name} is, lag or retries; a summary or a file with the "
                "command line beside it tells"
            )
    if reading.transactions:
        _compared(reading, connection)


def _copied(connection: duckdb.DuckDBPyConnection, path: Path, width: int, columns: _Columns, made: Path) -> bool:
    """Whether DuckDB could read all of it, and every row is sound."""
    extra = [f"x{n}" for n in range(width - 6)]
    types = {
        "client": "BIGINT",
        "n": "BIGINT",
        "took": "VARCHAR",
        "script": "BIGINT",
        "s": "BIGINT",
        "us": "BIGINT",
        **dict.fromkeys(extra, "BIGINT"),
    }
    lag, retries = "NULL", "NULL"
    if len(extra) == 2:
        lag, retries = extra
    elif extra and columns.lag != columns.retries:
        lag, retries = (extra[0], "NULL") if columns.lag else ("NULL", extra[0])
    with path.open("rb") as file:  # by its number, since DuckDB takes * and [ in a name for a pattern
        by_number = f"/proc/self/fd/{file.fileno()}"
        try:
            connection.execute(
                f"""
                COPY (SELECT make_timestamp(CASE WHEN us BETWEEN 0 AND 999999 THEN s * 1000000 + us END) AS utc,
                             TRY_CAST(took AS BIGINT) AS response_us, client,
                             CAST(script AS VARCHAR) AS script,
                             CASE WHEN TRY_CAST(took AS BIGINT) IS NULL THEN took ELSE 'ok' END AS outcome,
                             CAST({lag} AS BIGINT) AS lag_us, CAST({retries} AS BIGINT) AS retries
                      FROM read_csv(?, delim = ' ', header = false, columns = {types}, auto_detect = false, quote = '',
                                    escape = '', max_line_size = {text.MAX_LINE}, strict_mode = true))
                TO '{str(made).replace("'", "''")}' (FORMAT parquet)
                """,
                [by_number],
            )
            [(wrong,)] = connection.execute(
                f"""
                SELECT count(*) FROM read_parquet(?)
                WHERE utc IS NULL OR outcome NOT IN {("ok", *OUTCOMES)} OR response_us < 0 OR client < 0
                      OR lag_us < 0 OR retries < 0 OR utc < TIMESTAMP '1973-03-03' OR utc > TIMESTAMP '2286-11-21'
                """,
                [str(made)],
            ).fetchall()
        except duckdb.Error:
            return False
    return not wrong


def _without_refused(reading: Reading, source: Source, width: int, path: Path) -> None:
    with path.open("w") as kept:
        for n, line in text.lines(source.path):
            line = line.rstrip()
            match = LOG.fullmatch(line)
            if match and len(match[1].split()) == width - 6:
                kept.write(line + "\n")
            elif line:
                reading.refuse(source.name, n, f"it is no line of {width} columns of a log of transactions")


def _compared(reading: Reading, connection: duckdb.DuckDBPyConnection) -> None:
    files = [str(path) for path in reading.transactions]
    rows, done, failed, skipped, mean, first, longest = connection.execute(
        """
        SELECT count(*), count(*) FILTER (outcome = 'ok'), count(*) FILTER (outcome NOT IN ('ok', 'skipped')),
               count(*) FILTER (outcome = 'skipped'), avg(response_us) / 1e3,
               epoch(min(utc - to_microseconds(coalesce(response_us, 0)))), max(response_us) / 1e3
        FROM read_parquet(?)""",
        [files],
    ).fetchall()[0]
    reading.rows += rows
    totals, share = _totals(reading), _number(reading.params.get("sampling_rate", 1)) or 1.0
    for name, value, unit in (
        ("log.transactions", done, "transactions"),
        ("log.failed", failed, "transactions"),
        ("log.skipped", skipped, "transactions"),
        ("log.response.mean", mean, "ms"),
        ("log.response.maximum", longest, "ms"),
    ):
        if value is not None:
            reading.total(f"pgbench.{name}", float(value), unit)
    for share_of in (0.5, 0.9, 0.95, 0.99, 0.999):
        [(value,)] = connection.execute(
            "SELECT quantile_disc(response_us, ?) / 1e3 FROM read_parquet(?) WHERE outcome = 'ok'", [share_of, files]
        ).fetchall()
        if value is not None:
            reading.total(f"pgbench.log.response.p{slug(f'{share_of * 100:g}'.replace('.', '_'))}", value, "ms")
    if share != 1:
        reading.warnings.append(f"the log keeps a share of {share:g} of the transactions; counts are to be divided by it")
        if "processed" in totals:
            spread = 5 * (totals["processed"] * share * (1 - share)) ** 0.5
            reading.check(
                "transactions in the log, of a sample",
                done,
                totals["processed"] * share,
                "transactions",
                spread,
                "each is kept by chance; five deviations are allowed",
            )
    elif "processed" in totals:
        reading.check("transactions in the log", done, totals["processed"], "transactions", 0)
        if "failed" in totals:
            reading.check("failed transactions in the log", failed, totals["failed"], "transactions", 0)
        if "skipped" in totals:
            reading.check("skipped transactions in the log", skipped, totals["skipped"], "transactions", 0)
        if mean is not None and "response.mean" in totals and not reading.params.get("response_includes_failures"):
            reading.check(
                "mean response time in the log",
                mean,
                totals["response.mean"],
                "ms",
                0.0006 + 0.001 * totals["response.mean"],
                "the summary takes its own clock readings",
            )
    for series in reading.series:
        if series.name == "pgbench.progress" and series.clock.starts is None and first is not None:
            late = AFTER_CONNECTING_S + totals.get("connecting", 0.0) / 1000
            series.clock = Clock(first, late, "the first transaction of the log; connecting comes before it")
    reading.begins = first


# --- logs of intervals ------------------------------------------------------------------------------------------------


def _intervals(reading: Reading, sources: list[Source]) -> None:
    names = [
        "transactions",
        "response.sum",
        "response.sum_of_squares",
        "response.minimum",
        "response.maximum",
        "lag.sum",
        "lag.sum_of_squares",
        "lag.minimum",
        "lag.maximum",
        "skipped",
        "retried",
        "retries",
        "serialization_failures",
        "deadlock_failures",
        "other_failures",
    ]
    rows: list[tuple[float, str, list[float]]] = []
    widths = set()
    for thread, source in enumerate(sources):
        if not text.ends_with_a_line(source.path):
            reading.problems.append(f"the last line of {source.name} has no end, so the file is cut off")
        for n, line in text.lines(source.path):
            words = line.split()
            if words and AGGREGATE.fullmatch(line.rstrip()) and len(words) in AGGREGATE_COLUMNS:
                rows.append((float(words[0]), f"thread {thread}", [float(word) for word in words[1:]]))
                widths.add(len(words))
            elif words:
                reading.refuse(source.name, n, "it is no line of a log of intervals")
    if len(widths) > 1:
        raise Damaged(f"lines of {' and '.join(map(str, sorted(widths)))} columns stand in one log of intervals")
    if not rows:
        return
    reading.rows += len(rows)
    reading.dialect = AGGREGATE_COLUMNS[width := widths.pop()]
    starts = min(start for start, *_ in rows)
    steps = [later - start for (start, thread, _), (later, other, _) in itertools.pairwise(rows) if thread == other]
    interval = min((step for step in steps if step > 0), default=1.0)
    quantities = [Quantity(name, *_unit(name)) for name in names[: width - 1]]
    series = Series(
        name="pgbench.intervals",
        quantities=quantities,
        clock=Clock(starts, 1.0, "the log counts whole seconds since 1970"),
        file=sources[0].name,
        interval_s=interval,
    )
    for start, subject, values in sorted(rows):
        series.add(start - starts + interval, values, subject)
    reading.series.append(series)
    counted = sum(values[0] for *_, values in rows)
    reading.total("pgbench.intervals.transactions", counted, "transactions")
    if counted:
        reading.total("pgbench.intervals.response.mean", sum(values[1] for *_, values in rows) / counted / 1e3, "ms")
    reading.missing.append("percentiles: a log of intervals has sums, from which none can be had")
    if "processed" in (totals := _totals(reading)):
        printed = totals["processed"]
        duration = _number(reading.params.get("duration_s", 0)) or (printed / totals["tps"] if totals.get("tps") else 0)
        most_lost = printed * min(1.0, 2 * interval / duration) if duration else printed
        reading.checks.append(
            Check(
                "transactions in the intervals",
                counted,
                printed,
                "transactions",
                0 <= printed - counted <= most_lost,
                "pgbench does not write the last interval",
            )
        )


def _unit(name: str) -> tuple[str, str]:
    quantity = name.rpartition(".")[2]
    if quantity == "sum_of_squares":
        return "us2", "sum"
    if quantity in ("sum", "minimum", "maximum"):
        return "us", quantity
    return ("retries" if name == "retries" else "transactions"), "count"


def _progress_against(reading: Reading) -> None:
    """Transactions of all lines of progress, which may lack the last one, against the summary."""
    totals = _totals(reading)
    of_summary = totals.get("tps", totals.get("tps.with_connecting", 0.0))
    for series in reading.series:
        if series.name != "pgbench.progress" or not len(series.times):
            continue
        ends, rates = list(series.times), series.values[:: len(series.quantities)]
        spans = [later - earlier for earlier, later in itertools.pairwise(ends)]
        series.interval_s = min(spans, default=ends[0]) or None
        if "processed" not in totals or not of_summary or series.interval_s is None:
            continue
        counted = sum(rate * span for rate, span in zip(rates, [ends[0] or series.interval_s, *spans], strict=True))
        slack = 0.05 * len(ends) + 0.005 * totals["processed"] + 0.1 * of_summary
        lost = 2.0 * series.interval_s * of_summary + slack
        reading.checks.append(
            Check(
                "transactions in lines of progress",
                counted,
                totals["processed"],
                "transactions",
                -slack <= totals["processed"] - counted <= lost,
                "the line of the last interval may be missing",
            )
        )
