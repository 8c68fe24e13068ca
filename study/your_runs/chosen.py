"""Which runs are looked at, and what their imports say of themselves.

    chosen.read("shipped")                                  the small set in data/examples/series
    chosen.read("mine")                                     all imported or measured runs of a label, and of labels below
                                                            it: mine/defaults, mine/memory, as a measured ladder has them
    chosen.read("SELECT run_id FROM runs WHERE …")          what a question to the store gives
"""
import contextlib
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import duckdb
import pandas as pd
from duckdb import DuckDBPyConnection

from study.errors import UserError
from study.ingest import given_runs, imports
from study.project import DATA, data_files
from study.store import identity, store
from study.your_runs import distributions, quantities

SHIPPED = "shipped"
EXAMPLES = "examples/series"        # below data/: a folder a label, in it a folder a run
QUESTION = re.compile(r"\s*(select|with|from)\b", re.I)
MAX_RUNS = 200
READ = ("rate", "mean", "share", "instant")     # statistics that may be averaged over time; percentiles may not
OUTCOMES = ("pgbench.progress.tps", "sysbench.intervals.tps", "sysbench.intervals.eps", "benchbase.samples.throughput",
            "benchbase.results.throughput", "filebench.intervals.rate", "fio.all.iops", "fio.all.bandwidth",
            "sysbench.intervals.bandwidth", "sysbench.intervals.reads", "sysbench.intervals.writes")
            # over time: transactions a second, or what comes nearest; the first counts
OF_WHOLE_RUNS = ("pgbench.tps", "pgbench.tps.with_connecting", "sysbench.tps", "sysbench.eps", "benchbase.throughput",
                 "filebench.rate")        # the same of runs that have no series
OF_RUNS = "SELECT *, row_number() OVER (PARTITION BY label ORDER BY started, run_id) AS number FROM runs"


class Chosen(NamedTuple):
    """Runs and what is known of them, a frame each; all have `run`, the label and number of a run."""
    runs: pd.DataFrame          # run, run_id, label, name, status, reason, started; the label that began first is first
    tools: pd.DataFrame         # run, tool, version, dialect, load, rows_read, rows_refused, checks, agree
    notes: pd.DataFrame         # run, tool, kind, text
    clocks: pd.DataFrame        # run, series, tool, starts, uncertainty_s, interval_s, points, gaps
    points: pd.DataFrame        # run, series, subject, utc, name, value, unit: of series with a clock
    totals: pd.DataFrame        # run, name, value, unit: of the whole run
    responses: pd.DataFrame     # `study.your_runs.distributions`
    tails: pd.DataFrame


def read(source: str) -> Chosen:
    """Raises UserError where `source` gives no run."""
    with _connection(source) as connection:
        ids = _ids(connection, source)
        connection.execute("CREATE TEMP TABLE chosen AS SELECT label || ' ' || number AS run, * "
                           f"FROM ({OF_RUNS} WHERE list_contains(?, run_id))", [ids])
        asked = {name: connection.execute(statement).df() for name, statement in STATEMENTS.items()}
        points, asked["clocks"] = quantities.with_sums(asked["points"], asked["clocks"])
        asked["points"] = quantities.readable(quantities.with_derived(points))
        return Chosen(**asked, responses=distributions.responses(connection), tails=distributions.tails(connection))


STATEMENTS = {
    "runs": """
        SELECT run, run_id, label, name, status, reason, started FROM chosen
        ORDER BY min(started) OVER (PARTITION BY label) NULLS LAST, label, number""",
    "tools": """
        SELECT run, tool, version, dialect, load, rows_read, rows_refused, count(c.name) AS checks,
               count(*) FILTER (c.agrees) AS agree
        FROM chosen JOIN imports USING (run_id) LEFT JOIN import_checks c USING (run_id, tool)
        GROUP BY ALL ORDER BY run, tool""",
    "notes": """
        SELECT run, tool, kind, text FROM chosen JOIN import_notes USING (run_id) WHERE kind <> 'refused'
        ORDER BY run, tool, kind, text""",
    "clocks": """
        SELECT run, series, tool, s.starts, uncertainty_s, interval_s, points, gaps
        FROM chosen JOIN import_series s USING (run_id) WHERE NOT contains(series, '_since_') ORDER BY run, series""",
    "points": f"""
        SELECT run, series, subject, utc, o.name, value, unit FROM chosen JOIN observations o USING (run_id)
        WHERE utc IS NOT NULL AND NOT contains(series, '_since_') AND list_contains({list(READ)!r}, statistic)
        ORDER BY run, series, subject, o.name, utc""",
    "totals": """
        SELECT run, m.name, value, unit FROM chosen JOIN metrics m USING (run_id) WHERE t IS NULL ORDER BY run, m.name""",
}


@contextlib.contextmanager
def _connection(source: str) -> Iterator[DuckDBPyConnection]:
    if source != SHIPPED:
        with store.open() as connection:
            yield connection
        return
    folders = sorted({file.parent for file in data_files(f"{EXAMPLES}/*/*/*")})
    with tempfile.TemporaryDirectory(prefix="study-shipped-") as home, \
            store.of_imports(_imported(folder, Path(home)) for folder in folders) as connection:
        yield connection


def _imported(folder: Path, home: Path) -> Path:
    """A run of data/examples/series, imported as `study ingest` would. Its label is the name of the folder above."""
    label = folder.relative_to(DATA / EXAMPLES).parts[0]
    [run] = given_runs.given([folder], label)
    return imports.imported(run, imports.Options(label), home).folder


def _ids(connection: DuckDBPyConnection, source: str) -> list[str]:
    theirs = "origin IN ('imported', 'measured')"
    if source == SHIPPED:
        ids = [run_id for (run_id,) in connection.execute("SELECT run_id FROM runs").fetchall()]
    elif QUESTION.match(source):
        ids = _asked(connection, source)
        known = {run_id for (run_id,) in connection.execute(f"SELECT run_id FROM runs WHERE {theirs}").fetchall()}
        if strange := [run_id for run_id in ids if run_id not in known]:
            raise UserError(f"the query gives '{strange[0]}', which is no run_id of an imported or measured run; select "
                            "run_id from runs where origin = 'imported'")
    else:
        ids = identity.of_label(connection, source)
    if not ids and Path(source).exists():
        raise UserError(f"'{source}' is a file or a folder, and no label; import it (study ingest {source} --label mine) "
                        "and take 'mine'")
    if not ids:
        raise UserError(f"no run is chosen by '{source}'. Give a label of the store, a SELECT of run_id, or '{SHIPPED}'. "
                        "See labels with: study query \"SELECT label FROM runs WHERE origin = 'imported'\"")
    if len(ids) > MAX_RUNS:
        raise UserError(f"'{source}' chooses {len(ids)} runs, but at most {MAX_RUNS} are looked at; choose fewer")
    return ids


def _asked(connection: DuckDBPyConnection, question: str) -> list[str]:
    try:
        rows = connection.execute(question).fetchall()
    except duckdb.Error as error:
        raise UserError(f"the query cannot be answered ({str(error).splitlines()[0][:120]}); mend it") from None
    if rows and len(rows[0]) != 1:
        raise UserError(f"the query gives {len(rows[0])} columns, but one is wanted; select run_id alone")
    return list(dict.fromkeys(str(run_id) for (run_id,) in rows))


def imports_read(source: str, **others: object) -> list[str]:
    """What a run of notebook 11 takes from the store, for its identity: each run by its name and contents."""
    if source == SHIPPED:
        return []
    with store.open() as connection:
        ids = _ids(connection, source)
        names = connection.execute(f"SELECT label || ' ' || number, run_id FROM ({OF_RUNS}) WHERE list_contains(?, run_id)",
                                   [ids]).fetchall()
    return [f"{name}: {identity.of_run(run_id)}" for name, run_id in sorted(names)]


def is_below(label: str, name: str) -> bool:
    """Whether a run with that label is meant by a name: its own, or one that it lies below."""
    return label == name or label.startswith(f"{name}/")


def outcome_of(chosen: Chosen, outcome: str) -> str:
    """That quantity, or for "" the first of `OUTCOMES` that a run has, or else of `OF_WHOLE_RUNS`. Raises UserError where
    none has one."""
    if outcome:
        return outcome
    there = set((chosen.points.series + "." + chosen.points.name).unique()) | set(chosen.totals.name)
    if known := [name for name in (*OUTCOMES, *OF_WHOLE_RUNS) if name in there]:
        return known[0]
    raise UserError(f"name the outcome, one of {', '.join(sorted(there)[:20]) or 'none'}; these runs have no "
                    f"{', '.join((*OUTCOMES, *OF_WHOLE_RUNS))}")


def having(chosen: Chosen, outcome: str) -> set[str]:
    """The runs that have that quantity, over time or as a number of the whole run."""
    over_time = chosen.points.run[chosen.points.series + "." + chosen.points.name == outcome]
    return {*over_time, *chosen.totals.run[chosen.totals.name == outcome]}


def run_of(chosen: Chosen, run: str, outcome: str = "") -> str:
    """The run of that name (label and number), or the first of a label; "" is the first of all. Of a label, or of all, a
    run that has the outcome goes before others. Raises UserError."""
    names = chosen.runs.run.tolist()
    if run in names:
        return run
    mine = chosen.runs.run[chosen.runs.label.map(lambda label: not run or is_below(label, run))].tolist()
    if not mine:
        raise UserError(f"'{run}' is none of the runs that are looked at; take one of {', '.join(names[:20])}")
    there = having(chosen, outcome)
    return next((name for name in mine if name in there), mine[0])


def labels(chosen: Chosen, outcome: str) -> pd.DataFrame:
    """How many runs each label has: label, runs, whole (of these), with the outcome (of these)."""
    there = having(chosen, outcome)
    rows = chosen.runs.assign(whole=chosen.runs.status == imports.OK, outcome=chosen.runs.run.isin(there))
    return rows.groupby("label", sort=False).agg(
        runs=("run", "size"), whole=("whole", "sum"), outcome=("outcome", "sum")).reset_index().rename(
        columns={"outcome": f"with {outcome}"})


def missing(chosen: Chosen) -> pd.DataFrame:
    """What each import lacks or warns of, and in how many runs: tool, kind, text, runs."""
    return chosen.notes.groupby(["tool", "kind", "text"], as_index=False).run.nunique().rename(columns={"run": "runs"})
