"""What the run store is made of: published data, claims, and the records of runs and imports, each a source with a digest.

`store.py` keeps the file, and asks here what belongs in it, and for rows of one source at a time.
"""
import json
from collections.abc import Iterable
from pathlib import Path

import duckdb
from duckdb import DuckDBPyConnection

from study.errors import UserError
from study.project import data_file, data_files, digest, runs_folder
from study.runs.folder import FIGURES, MANIFEST, PREDICTIONS, SAMPLES, is_whole, lines, manifest

OF_IMPORTS = ("imports", "import_notes", "import_checks", "import_series", "observations", "histograms", "transactions")


def sources() -> Iterable[tuple[str, str]]:
    """Name and digest of everything that belongs in the store."""
    published = data_files("published/*.toml")
    yield "claims", digest([file.read_bytes() for file in (data_file("claims.toml"), *published)])    # values of targets
    for file in published:
        yield f"published/{file.stem}", digest([file.read_bytes()])
    for file in sorted(runs_folder().glob(f"*/*/{MANIFEST}")):
        if manifest(file.parent):
            yield f"{file.parent.parent.name}/{file.parent.name}", digest([file.read_bytes()])


def remove(connection: DuckDBPyConnection, source: str) -> None:
    """All rows of `source` leave the store."""
    for table in ("params", "metrics", "samples", "figures", "predictions", *OF_IMPORTS):
        connection.execute(f"DELETE FROM {table} WHERE run_id IN (SELECT run_id FROM runs WHERE source = ?)", [source])
    connection.execute("DELETE FROM runs WHERE source = ?", [source])
    if source == "claims":
        connection.execute("DELETE FROM claims")
    connection.execute("DELETE FROM ingested WHERE source = ?", [source])


def ingest(connection: DuckDBPyConnection, source: str) -> None:
    """All rows of `source` enter the store: claims, a published document, or a record."""
    if source == "claims":
        _ingest_claims(connection)
    elif source.startswith("published/"):
        _ingest_published(connection, source)
    else:
        _ingest_record(connection, source)


def _ingest_claims(connection: DuckDBPyConnection) -> None:
    from study.documents import claims
    connection.register("claim_rows", claims.rows())
    connection.execute("INSERT INTO claims BY NAME SELECT * FROM claim_rows")
    connection.unregister("claim_rows")


def _ingest_published(connection: DuckDBPyConnection, source: str) -> None:
    """All runs of a document at once: a statement takes longer than its rows."""
    import pandas as pd  # takes its time

    from study.documents import published
    if not (runs := published.read(data_file(f"{source}.toml"))):
        return
    _insert(connection, "runs", [
        {"run_id": run.run_id, "source": source, "origin": "published", "name": run.document, "label": run.label,
         "status": "ok"} for run in runs])
    _insert_params(connection, {run.run_id: run.conditions for run in runs})
    connection.register("published_metrics", pd.concat([run.metrics.assign(run_id=run.run_id) for run in runs]))
    connection.execute("INSERT INTO metrics BY NAME SELECT * REPLACE (CASE WHEN isnan(t) THEN NULL ELSE t END AS t) "
                       "FROM published_metrics")
    connection.unregister("published_metrics")


def _ingest_record(connection: DuckDBPyConnection, source: str) -> None:
    """A run of a notebook. Only a run that went well has metrics and figures."""
    folder = runs_folder() / source
    run = manifest(folder) or {}
    is_imported = run.get("origin") == "imported"
    try:
        (ingest_import if is_imported else _insert_record)(connection, source, folder, run)
    except (duckdb.Error, ValueError, KeyError, TypeError) as error:
        if is_imported:
            raise UserError(f"the import {folder} is damaged ({shortened(error)}); delete that folder and import again "
                            f"{', '.join(run.get('of_files', {})) or 'its files'}") from None
        raise UserError(f"the record {folder} is damaged ({shortened(error)}); delete that folder and run the same command "
                        "again: the run is repeated") from None


def _insert_record(connection: DuckDBPyConnection, source: str, folder: Path, run: dict) -> None:
    connection.execute("INSERT INTO runs VALUES (?, ?, 'simulated', ?, ?, ?, ?, ?, ?, ?)", [
        run["run_id"], source, run["notebook"], _label(run), run["status"], run["reason"], run["started"],
        run["seconds"], run.get("cpu_seconds")])
    _insert_params(connection, {run["run_id"]: run["parameters"]})
    if run["status"] == "ok":
        connection.execute("INSERT INTO metrics SELECT run_id, t, name, value, unit FROM read_parquet(?)",
                           [str(folder / "metrics.parquet")])
        for file in sorted((folder / SAMPLES).glob("*.parquet")):
            connection.execute("INSERT INTO samples SELECT ?, ?, run, name, value, unit FROM read_parquet(?)",
                               [run["run_id"], file.stem, str(file)])
        for figure in lines(folder / FIGURES):
            connection.execute("INSERT INTO figures VALUES (?, ?, ?, ?, ?)", [
                run["run_id"], figure["name"], figure["caption"], figure["drawn_by"], figure["digest"]])
        for prediction in lines(folder / PREDICTIONS):
            _insert(connection, "predictions", [{"run_id": run["run_id"], **prediction}])


def ingest_import(connection: DuckDBPyConnection, source: str, folder: Path, run: dict) -> None:
    """A run that `study ingest` kept, tables as the migration 010 says."""
    if not is_whole(folder):
        raise ValueError("a file is not as it was left")
    run_id = run["run_id"]
    clocks = [{**series, "run_id": run_id, "gaps": len(series["gaps"])} for series in run["series"]]
    _insert(connection, "runs", [{"run_id": run_id, "source": source, "origin": "imported", "name": run["name"],
                                  "label": run["label"], "status": run["status"], "reason": run["reason"],
                                  "started": run["started"]}])
    _insert_params(connection, {run_id: run["parameters"]})
    _insert(connection, "import_series", clocks)
    for tool in run["tools"]:
        key = {"run_id": run_id, "tool": tool["tool"]}
        _insert(connection, "imports", [key | {name: tool[name] for name in (
            "dialect", "version", "load", "rows_read", "rows_refused")}])
        _insert(connection, "import_checks", [key | check for check in tool["checks"]])
        notes = [{"kind": kind, "file": None, "line": None, "text": text} for kind, texts in (
            ("problem", "problems"), ("missing", "missing"), ("warning", "warnings")) for text in tool[texts]]
        notes += [{"kind": "refused", "file": line["file"], "line": line["line"], "text": line["reason"]}
                  for line in tool["refused"]]
        _insert(connection, "import_notes", [key | note for note in notes])
    connection.execute("INSERT INTO metrics SELECT ?, NULL, name, value, unit FROM read_parquet(?)",
                       [run_id, str(folder / "metrics.parquet")])
    connection.execute("""
        INSERT INTO observations
        SELECT ?, o.series, subject, t, starts + to_microseconds(CAST(round(t * 1e6) AS BIGINT)), name, value, unit,
               statistic
        FROM read_parquet(?) o JOIN import_series s ON s.series = o.series AND s.run_id = ?
        """, [run_id, str(folder / "observations.parquet"), run_id])
    connection.execute("INSERT INTO histograms SELECT ?, * FROM read_parquet(?)",
                       [run_id, str(folder / "histograms.parquet")])
    for file in sorted((folder / "transactions").glob("*.parquet")):
        connection.execute("INSERT INTO transactions SELECT ?, * FROM read_parquet(?)", [run_id, str(file)])
    for file in sorted((folder / SAMPLES).glob("*.parquet")):
        connection.execute("INSERT INTO samples SELECT ?, ?, run, name, value, unit FROM read_parquet(?)",
                           [run_id, file.stem, str(file)])


def _label(run: dict) -> str:
    return ", ".join(f"{name}={value}" for name, value in run["parameters"].items()) or run["notebook"]


def _insert_params(connection: DuckDBPyConnection, of_runs: dict[str, dict]) -> None:
    _insert(connection, "params", [{"run_id": run_id, "name": name, "value": json.dumps(value)}
                                   for run_id, values in of_runs.items() for name, value in values.items()])


def _insert(connection: DuckDBPyConnection, table: str, rows: list[dict]) -> None:
    """By one statement. All rows have the columns of the first."""
    if rows:
        marks = ", ".join([f"({', '.join('?' * len(rows[0]))})"] * len(rows))
        connection.execute(f"INSERT INTO {table} ({', '.join(rows[0])}) VALUES {marks}",
                           [value for row in rows for value in row.values()])


def shortened(error: Exception) -> str:
    """What an error says, on one line."""
    return " ".join(str(error).split())[:120]
