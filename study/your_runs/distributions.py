"""How long requests took: percentiles and tails of whole runs, from each request or from the tool's own histogram.

A percentile of a run is taken from all of its requests. It is never an average of percentiles. It has a number only if
`BEYOND` requests or more took longer. From a histogram it is known to lie between the ends of one bin.
"""
import pandas as pd
from duckdb import DuckDBPyConnection

SHARES = (0.5, 0.9, 0.95, 0.99, 0.999)
BEYOND = 10             # requests that took longer than a percentile that is shown
TAIL_POINTS = 200       # of a curve
TO_MS = "CASE unit WHEN 's' THEN 1e3 WHEN 'ms' THEN 1.0 WHEN 'us' THEN 1e-3 WHEN 'ns' THEN 1e-6 END"


def responses(connection: DuckDBPyConnection) -> pd.DataFrame:
    """Of the runs in the table `chosen`: run, of, share, requests, low, high (ms; NULL where too few took longer). `low` and
    `high` are the same where each request was recorded."""
    return connection.execute(f"""
        WITH shares AS (SELECT unnest({list(SHARES)}) AS share),
        each AS (
            SELECT run, 'transactions' AS of, count(*) AS requests,
                   quantile_disc(response_us, {list(SHARES)}) AS ends
            FROM chosen JOIN transactions USING (run_id) WHERE outcome = 'ok' GROUP BY run),
        bins AS (
            SELECT run, concat_ws(' ', series, subject, h.name) AS of, low * {TO_MS} AS low, high * {TO_MS} AS high,
                   sum(value) OVER (PARTITION BY run, series, subject, h.name ORDER BY low, high) AS up_to,
                   sum(value) OVER (PARTITION BY run, series, subject, h.name) AS requests
            FROM chosen JOIN histograms h USING (run_id) WHERE t IS NULL AND {TO_MS} IS NOT NULL),
        all_of_them AS (
            SELECT run, of, share, requests, ends[list_position({list(SHARES)}, share)] / 1e3 AS low, low AS high
            FROM each, shares
            UNION ALL
            SELECT run, of, share, first(requests), min(low) FILTER (up_to >= share * requests),
                   min(high) FILTER (up_to >= share * requests)
            FROM bins, shares WHERE requests > 0 GROUP BY run, of, share)
        SELECT run, of, share, CAST(requests AS BIGINT) AS requests,
               CASE WHEN requests * (1 - share) >= {BEYOND} THEN low END AS low,
               CASE WHEN requests * (1 - share) >= {BEYOND} THEN high END AS high
        FROM all_of_them ORDER BY run, of, share""").df()


def tails(connection: DuckDBPyConnection) -> pd.DataFrame:
    """Which share of requests took longer: run, response (ms), longer. A curve has TAIL_POINTS points, more at its end."""
    return connection.execute(f"""
        WITH ranked AS (
            SELECT run, response_us / 1e3 AS response,
                   row_number() OVER (PARTITION BY run ORDER BY response_us) AS place, count(*) OVER (PARTITION BY run) AS n
            FROM chosen JOIN transactions USING (run_id) WHERE outcome = 'ok')
        SELECT run, max(response) AS response, min(1 - (place - 1) / n) AS longer FROM ranked
        GROUP BY run, floor({TAIL_POINTS} * ln(1.0 * n / (n - place + 1)) / ln(n + 1.0)) ORDER BY run, response""").df()


def shown(table: pd.DataFrame) -> pd.DataFrame:
    """A row a distribution, a column a percentile, in ms; '–' where too few requests took longer."""
    if table.empty:
        return pd.DataFrame(columns=["run", "of", "requests"])
    names = table.share.map(lambda share: f"p{100 * share:g}")
    texts = [_between(row.low, row.high) for row in table.itertuples()]
    return table.assign(name=names, text=texts).pivot(index=["run", "of", "requests"], columns="name", values="text")[
        [f"p{100 * share:g}" for share in SHARES]].reset_index().rename_axis(columns=None)


def _between(low: float, high: float) -> str:
    if low != low:
        return "–"
    return f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"
