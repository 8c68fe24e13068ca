"""BenchBase, and OLTPBench before it: the files that one run leaves.

    NAME.raw.csv        a row a transaction; its start is in s since 1970, whatever the header says, its response time in us
    NAME.samples.csv    windows of a second, us
    NAME.results.csv    windows of `-s` seconds, ms, columns in another order
    NAME.summary.json   totals and percentiles; params, metrics and config beside it are not read

OLTPBench has .csv, .samples, .res and .summary. An empty window has -1 or -0.001, which is no number.
Formats: ResultWriter.java, StatisticsSummary of BenchBase.
"""

import itertools
import math
import re
from pathlib import Path

import duckdb

from study.ingest import text
from study.ingest.reading import UNKNOWN, Clock, Damaged, Quantity, Reading, Series, Source, slug

TOOL = "BenchBase"
RAW = re.compile(
    r"transaction type (?:index|\(index in config file\)),.*start time \(microseconds\), ?latency \(microseconds\).*", re.I
)
WINDOWS = re.compile(r"time ?\(seconds\),.*throughput.*|time\(sec\), ?throughput\(req/sec\),.*", re.I)
QUANTITIES = (
    ("throughput", "throughput", "1/s", "rate"),
    ("requests", "requests", "requests", "count"),
    ("minimum", "response.minimum", "", "minimum"),
    ("min_lat", "response.minimum", "", "minimum"),
    ("average", "response.mean", "", "mean"),
    ("avg_lat", "response.mean", "", "mean"),
    ("median", "response.p50", "", "percentile"),
    ("maximum", "response.maximum", "", "maximum"),
    ("max_lat", "response.maximum", "", "maximum"),
)
OF_SUMMARY = {
    "start timestamp (milliseconds)": "start_ms",
    "current timestamp (milliseconds)": "end_ms",
    "elapsed time (nanoseconds)": "elapsed_ns",
    "measured requests": "requests",
    "final state": "state",
    "throughput (requests/second)": "throughput",
    "goodput (requests/second)": "goodput",
    "dbms version": "dbms_version",
    "dbms type": "dbms",
    "benchmark type": "benchmark",
}
FORMAT = (
    r"CAST(split_part(started, '.', 1) AS BIGINT) * 1000000 + "
    r"CAST(rpad(left(split_part(started, '.', 2), 6), 6, '0') AS BIGINT)"
)


def kind(name: str, head: str) -> str | None:
    """Which file of BenchBase this is by its name and its beginning, or None."""
    first = head.lstrip("\ufeff").splitlines()[0].strip() if head.strip() else ""
    if RAW.fullmatch(first):
        return "raw"
    if WINDOWS.fullmatch(first):
        of_one = re.search(r"\.results\.[^.]+\.csv$", name)
        return "windows of a transaction" if of_one else "samples" if "microseconds" in first.lower() else "results"
    if re.match(r"\s*\{", head) and "Benchmark Type" in head and "Latency Distribution" in head:
        return "summary"
    return "other" if re.search(r"\.(params|metrics)\.json$|\.(config\.xml|expconfig|params|metrics)$", name) else None


def read(sources: list[Source], scratch: Path) -> Reading:
    """All that the files of one run say. Damaged if they are of two runs."""
    reading = Reading(tool=TOOL)
    of_kind: dict[str, Source] = {}
    for source in sources:
        if source.kind in ("other", "windows of a transaction"):
            continue
        if source.kind in of_kind:
            raise Damaged(f"{of_kind[source.kind].name} and {source.name} are of two runs; give each by itself")
        of_kind[source.kind] = source
    if left_out := [source.name for source in sources if source.kind in ("other", "windows of a transaction")]:
        reading.warnings.append(f"not read: {', '.join(left_out)}; the file of all transactions has them by kind")
    summary = _summary(reading, of_kind["summary"]) if "summary" in of_kind else {}
    if not summary:
        reading.missing.append("the summary, with which counts and response times could be compared")
    begins = None
    if "raw" in of_kind:
        begins = _raw(reading, of_kind["raw"], scratch, summary)
    start = begins if begins is not None else summary.get("start_ms", math.nan) / 1000
    clock = (
        Clock(start, 0.001, "the first transaction, with which windows begin")
        if begins is not None
        else (
            Clock(start, 1.0, "the start in the summary; windows begin with the first transaction after it")
            if math.isfinite(start)
            else Clock(None, math.inf, "windows count from the first transaction")
        )
    )
    for which in ("samples", "results"):
        if which in of_kind:
            _windows(reading, of_kind[which], clock, summary)
    reading.dialect = (
        "OLTPBench" if any(source.name.endswith((".res", ".summary", ".samples")) for source in sources) else "BenchBase"
    )
    return reading


def _summary(reading: Reading, source: Source) -> dict[str, float]:
    content = text.parsed(text.whole(source.path), source.name)
    known: dict[str, float] = {}
    try:
        for key, value in content.items():
            name = OF_SUMMARY.get(key.lower())
            if name in ("state", "dbms", "dbms_version", "benchmark") or (
                name is None and isinstance(value, str | int | float)
            ):
                reading.params[slug(name or key)] = "" if value is None else str(value)
            elif name is not None and value is not None:
                known[name] = float(value)
        for key, value in content["Latency Distribution"].items():
            name = _of_distribution(key)
            known[name] = float(value) / 1000
            if float(value) >= 0:
                reading.total(f"benchbase.{name}", known[name], "ms")
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise Damaged(f"{source.name} is no summary of BenchBase ({type(error).__name__}: {str(error)[:40]})") from None
    for name, scale, unit in (
        ("throughput", 1, "1/s"),
        ("goodput", 1, "1/s"),
        ("requests", 1, "requests"),
        ("elapsed_ns", 1e-9, "s"),
    ):
        if name in known:
            reading.total(f"benchbase.{name.removesuffix('_ns')}", known[name] * scale, unit)
    reading.rows += len(known)
    state = str(reading.params.get("state", ""))
    if state and state != "EXIT":
        reading.problems.append(f"the run ended in the state {state}, says {source.name}")
    if not state:
        reading.missing.append("whether the run ended well: summaries say so from December 2023 on")
    if known.get("elapsed_ns") and "requests" in known and "throughput" in known:
        reading.check(
            "requests per second",
            known["requests"] / (known["elapsed_ns"] / 1e9),
            known["throughput"],
            "1/s",
            0.02 * known["throughput"] + 0.01,
        )
    reading.load = UNKNOWN
    reading.missing.append("whether load was open or closed: the rate in the configuration tells; unlimited is closed")
    return known


def _of_distribution(key: str) -> str:
    if match := re.match(r"(\d+)th Percentile", key):
        return f"response.p{match[1]}"
    word = key.split()[0].lower()
    return f"response.{ {'average': 'mean', 'median': 'p50'}.get(word, slug(word)) }".replace(" ", "")


def _raw(reading: Reading, source: Source, scratch: Path, summary: dict[str, float]) -> float | None:
    text.note_a_cut(reading, source)
    names = _columns_of_raw(source)
    made, clean = scratch / "benchbase.parquet", scratch / "benchbase.csv"
    kept = _keep_transactions(reading, source, names, clean)
    if not kept:
        return None
    connection = text.database(scratch)
    _to_parquet(connection, names, clean, made)
    clean.unlink()
    reading.transactions.append(made)
    mean, begins = connection.execute(
        """
        SELECT avg(response_us) / 1e3, epoch(min(utc - to_microseconds(response_us))) FROM read_parquet(?)""",
        [str(made)],
    ).fetchall()[0]
    reading.rows += kept
    reading.begins = begins
    reading.total("benchbase.log.transactions", kept, "transactions")
    reading.total("benchbase.log.response.mean", mean, "ms")
    if "requests" in summary:
        reading.check("transactions in the log", kept, summary["requests"], "requests", 0)
    if "response.mean" in summary:
        reading.check(
            "mean response time in the log", mean, summary["response.mean"], "ms", 0.0011, "the summary has whole us"
        )
    if "response.p95" in summary:
        [(value,)] = connection.execute(
            "SELECT quantile_disc(response_us, 0.95) / 1e3 FROM read_parquet(?)", [str(made)]
        ).fetchall()
        reading.total("benchbase.log.response.p95", value, "ms")
    return begins


def _columns_of_raw(source: Source) -> list[str]:
    """Names of the columns of a file of transactions, by their count. Raises Damaged."""
    [(_, header), *_] = _first(source.path)
    width = len(header.split(","))
    names = (
        ["type", "transaction", "started", "took", "client", "phase"]
        if width == 6
        else ["type", "started", "took", "client", "phase"][:width]
    )
    if width not in (3, 4, 5, 6):
        raise Damaged(f"{source.name} has {width} columns, but a file of transactions has 3 to 6")
    return names


def _keep_transactions(reading: Reading, source: Source, names: list[str], clean: Path) -> int:
    """Rows that are whole are written to `clean`: how many. The others are refused."""
    row = re.compile(
        ",".join({"transaction": r"[^,]*", "started": r" ?\d{9,10}\.\d{1,6}"}.get(name, r" ?\d{1,15}") for name in names)
    )
    kept = 0
    with clean.open("w", encoding="utf-8") as file:
        for n, line in text.lines(source.path):
            line = line.rstrip()
            if n == 1 or not line:
                continue
            if row.fullmatch(line):
                file.write(line.replace(" ", "") if "transaction" not in names else line)
                file.write("\n")
                kept += 1
            else:
                reading.refuse(source.name, n, f"it is no transaction of {len(names)} columns")
    return kept


def _to_parquet(connection: duckdb.DuckDBPyConnection, names: list[str], clean: Path, made: Path) -> None:
    """The rows of `clean`, in the columns of TRANSACTIONS."""
    types = {name: "VARCHAR" if name in ("transaction", "started") else "BIGINT" for name in names}
    connection.execute(
        f"""
        COPY (SELECT make_timestamp({FORMAT} + took) AS utc, took AS response_us,
                     {'client' if 'client' in names else '0'}::BIGINT AS client,
                     CAST({'transaction' if 'transaction' in names else 'type'} AS VARCHAR) AS script, 'ok' AS outcome,
                     CAST(NULL AS BIGINT) AS lag_us, CAST(NULL AS BIGINT) AS retries
              FROM read_csv(?, delim = ',', header = false, columns = {types}, auto_detect = false, quote = '', escape = ''))
        TO '{str(made).replace("'", "''")}' (FORMAT parquet)""",
        [str(clean)],
    )


def _first(path: Path) -> list[tuple[int, str]]:
    for found_line in text.lines(path):
        return [found_line]
    raise Damaged(f"{path.name} is empty")


def _windows(reading: Reading, source: Source, clock: Clock, summary: dict[str, float]) -> None:
    text.note_a_cut(reading, source)
    quantities: list[Quantity] = []
    columns: list[int] = []
    rows: list[tuple[float, list[float]]] = []
    width = 0
    for n, line in text.lines(source.path):
        words = [word.strip() for word in line.lstrip("\ufeff").split(",")]
        if n == 1:
            columns, quantities = _columns(words)
            width = len(words)
        elif line.strip():
            try:
                values = list(map(text.number, words))
                if len(values) != width or values[0] < 0:
                    raise ValueError
            except ValueError:
                reading.refuse(source.name, n, f"it is no window of {width} numbers")
                continue
            rows.append((values[0], [math.nan if values[place] < 0 else values[place] for place in columns]))
    if not rows:
        reading.problems.append(f"{source.name} has no windows")
        return
    steps = [later - earlier for (earlier, _), (later, _) in itertools.pairwise(rows) if later > earlier]
    step = min(steps, default=1.0)
    series = Series(name=f"benchbase.{source.kind}", quantities=quantities, clock=clock, file=source.name, interval_s=step)
    for t, values in rows:
        series.add(t + step, values)
    reading.rows += len(rows)
    reading.series.append(series)
    names = [quantity.name for quantity in quantities]
    if "requests" in names and "requests" in summary:
        place = names.index("requests")
        reading.check(
            "requests in the windows",
            sum(values[place] for _, values in rows if math.isfinite(values[place])),
            summary["requests"],
            "requests",
            0,
        )


def _columns(words: list[str]) -> tuple[list[int], list[Quantity]]:
    places, quantities = [], []
    for place, word in enumerate(words[1:], start=1):
        low = word.lower()
        unit = "us" if "microsecond" in low else "ms"
        if "scaled" in low:  # a thousand over the average in us, no measurement
            continue
        if match := re.match(r"(\d+)th", low):
            quantity = Quantity(f"response.p{match[1]}", unit, "percentile")
        else:
            known = next(
                ((name, shown, statistic) for start, name, shown, statistic in QUANTITIES if low.startswith(start)), None
            )
            if known is None:
                raise Damaged(f"a column '{word[:40]}' is none of BenchBase's windows")
            quantity = Quantity(known[0], known[1] or unit, known[2])
        places.append(place)
        quantities.append(quantity)
    return places, quantities
