"""The log of transactions of pgbench (`-l`): a row a transaction, read by DuckDB, beside the counts of the summary."""

import re
from pathlib import Path
from typing import NamedTuple

import duckdb

from study.ingest import text
from study.ingest.pgbench import progress
from study.ingest.reading import Check, Clock, Damaged, Reading, Source, slug

OUTCOMES = ("skipped", "failed", "serialization", "deadlock", "other")
ROW = re.compile(
    rf"\d{{1,9}} \d{{1,18}} (?:\d{{1,15}}|{'|'.join(OUTCOMES)}) \d{{1,9}} \d{{9,10}} \d{{1,6}}((?: \d{{1,15}}){{0,2}})"
)
AFTER_CONNECTING_S = 1.0  # from the start of progress to the first transaction at most, besides connecting


class Columns(NamedTuple):
    """What a log holds beyond its sixth column, as summary and command say; None where they do not."""

    lag: bool | None
    retries: bool | None


def read(reading: Reading, logs: list[Source], columns: Columns, scratch: Path) -> None:
    """All logs, one a thread, as Parquet in `scratch`, beside the counts of the summary. Raises Damaged."""
    connection = text.database(scratch)
    for n, source in enumerate(logs):
        text.note_a_cut(reading, source)
        if source.kind == "empty log":
            continue
        made = scratch / f"transactions-{n}.parquet"
        width = next(len(line.split()) for _, line in text.lines(source.path) if ROW.fullmatch(line))
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


def _copied(connection: duckdb.DuckDBPyConnection, path: Path, width: int, columns: Columns, made: Path) -> bool:
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
            match = ROW.fullmatch(line)
            if match and len(match[1].split()) == width - 6:
                kept.write(line + "\n")
            elif line:
                reading.refuse(source.name, n, f"it is no line of {width} columns of a log of transactions")


def _of_means(mean: float, totals: dict[str, float]) -> Check:
    """Mean response time, ms, of the log beside that of the summary. Without `-P`, `-R` and `--latency-limit` pgbench
    measures none: it prints time times clients over transactions and no deviation, so clients that wait at the end count."""
    printed, name = totals["response.mean"], "mean response time in the log"
    slack = 0.0006 + 0.001 * printed
    if "response.stddev" in totals:
        return Check(name, mean, printed, "ms", abs(mean - printed) <= slack, "the summary takes its own clock readings")
    note = "the summary divides the time of the run by its transactions, so its mean is no smaller"
    return Check(name, mean, printed, "ms", mean <= printed + slack, note)


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
    totals, share = reading.printed("pgbench"), reading.setting("sampling_rate", 1) or 1.0
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
            reading.checks.append(_of_means(mean, totals))
    for series in reading.series:
        if series.name == progress.SERIES and series.clock.starts is None and first is not None:
            late = AFTER_CONNECTING_S + totals.get("connecting", 0.0) / 1000
            series.clock = Clock(first, late, "the first transaction of the log; connecting comes before it")
    reading.begins = first
