"""The run store: one DuckDB file made of the records in `papermill_runs/` and of the published data. It holds nothing
of its own: delete it and the next command builds it anew. A store that is damaged is built anew too, and that is said.

`refresh` compares what is there with what was ingested. Where they differ it writes a new file beside the old one, in
one transaction, and renames it into place. So readers never wait for a writer, nor a writer for readers, and a crash
leaves the old store. Writers take turns by a lock file. A digest beside the store tells whether it is as it was left.

Where nothing may be written, the store is built for the one command that asks.
"""
import contextlib
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import duckdb
from duckdb import DuckDBPyConnection

from study import errors
from study.console import err
from study.errors import NOT_ALLOWED, UserError
from study.project import data_file, data_files, digest, exclusively, runs_folder, write_atomically
from study.runs.folder import FIGURES, MANIFEST, PREDICTIONS, SAMPLES, is_whole, lines, manifest

MIGRATIONS = Path(__file__).parent / "migrations"
OF_IMPORTS = ("imports", "import_notes", "import_checks", "import_series", "observations", "histograms", "transactions")
PATIENCE_S = 10.0       # for somebody who has the store open for writing
DAMAGED = "Corrupt database file"       # what DuckDB calls a block whose checksum is another


def path() -> Path:
    return runs_folder() / "store.duckdb"


@contextlib.contextmanager
def open() -> Iterator[DuckDBPyConnection]:
    """A read-only connection to the store, brought up to date first. It reads and writes no other file: DuckDB runs a COPY
    within an EXPLAIN ANALYZE or around a PIVOT also where the store is open for reading alone.

    Raises UserError when somebody else keeps it locked.
    """
    with _up_to_date() as file:
        connection = _connect(file, read_only=True)
        try:
            for setting in ("enable_progress_bar = false", "enable_external_access = false",
                            "disabled_filesystems = 'LocalFileSystem'"):     # without the last, files beside it are left
                connection.execute(f"SET {setting}")
            with _noticing_damage():
                yield connection
        finally:
            connection.close()


@contextlib.contextmanager
def _noticing_damage() -> Iterator[None]:
    try:
        yield
    except duckdb.Error as error:
        refuse_damaged(error)
        raise


def refuse_damaged(error: duckdb.Error) -> None:
    """A UserError if a block of the store does not add up. The store is not used again."""
    if DAMAGED in str(error):
        _mark().unlink(missing_ok=True)
        raise UserError(f"the run store {path()} is damaged ({_text(error)}); repeat the command: it is made anew from the "
                        "records, and nothing is lost") from None


@contextlib.contextmanager
def of_imports(folders: Iterable[Path]) -> Iterator[DuckDBPyConnection]:
    """Tables as the store has them, in memory, of imports in these folders and of nothing else."""
    with contextlib.closing(duckdb.connect()) as connection:
        _migrate(connection)
        for folder in folders:
            _insert_import(connection, str(folder), folder, manifest(folder) or {})
        yield connection


@contextlib.contextmanager
def _up_to_date() -> Iterator[Path]:
    """The file of the store: the one that is kept, or, where nothing may be written, one for this time alone."""
    try:
        _refresh()
    except OSError as error:
        if error.errno not in NOT_ALLOWED:
            raise errors.of_the_system(error) from error
    else:
        yield path()
        return
    with tempfile.TemporaryDirectory(prefix="study-store-") as folder:
        file = Path(folder) / path().name
        _fill(file, dict(_sources()))
        yield file


def refresh() -> bool:
    """Make the store mirror the records and published data; True if anything had to be written."""
    try:
        return _refresh()
    except OSError as error:
        raise errors.of_the_system(error) from error


def _refresh() -> bool:
    with exclusively(runs_folder() / ".locks" / "store"):
        wanted = dict(_sources())
        why_not = _why_not_usable() if path().exists() else None
        if why_not:
            err.print(f"the run store {why_not}; it is made anew from the records, and nothing is lost", soft_wrap=True)
        elif path().exists() and _holds(wanted):
            return False
        with _noticing_damage():
            _write(wanted, from_old=path().exists() and not why_not)
        return True


def _why_not_usable() -> str | None:
    """What is wrong with the file, as the end of a sentence that begins with the store."""
    if path().is_dir():
        raise UserError(f"{path()} is a folder, but the run store is a file; remove that folder, and the store is made anew")
    if not _mark().exists():
        return "has no digest beside it"
    if path().with_suffix(".duckdb.wal").exists() or _digest_of(path()) != _mark().read_text().strip():
        return "is not as it was left"
    try:
        with contextlib.closing(_connect(path(), read_only=True)) as connection:
            have, known = _version(connection), len(_migrations())
            _ingested(connection)
    except duckdb.Error as error:
        return f"cannot be read by DuckDB {duckdb.__version__} ({_text(error)})"
    return f"has had {have} migrations, and this version of the study knows {known}" if have > known else None


def _holds(wanted: dict[str, str]) -> bool:
    with contextlib.closing(_connect(path(), read_only=True)) as connection:
        return _version(connection) == len(_migrations()) and _ingested(connection) == wanted


def _mark() -> Path:
    """Holds the digest of the store's file."""
    return path().with_suffix(".sha256")


def _digest_of(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _write(wanted: dict[str, str], from_old: bool) -> None:
    for left in path().parent.glob(".store-*"):      # by a command that was killed: whoever writes is alone
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    with tempfile.TemporaryDirectory(prefix=".store-", dir=path().parent) as folder:
        draft = Path(folder) / path().name
        if from_old:
            shutil.copyfile(path(), draft)
        _fill(draft, wanted)
        write_atomically(_mark(), _digest_of(draft) + "\n")
        path().with_suffix(".duckdb.wal").unlink(missing_ok=True)
        os.replace(draft, path())


def _fill(file: Path, wanted: dict[str, str]) -> None:
    """Bring a file that nobody else knows up to date."""
    try:
        with contextlib.closing(_connect(file)) as connection:
            connection.execute("SET enable_progress_bar = false")
            _migrate(connection)
            connection.begin()
            known = _ingested(connection)
            for source in [source for source in known if wanted.get(source) != known[source]]:
                _remove(connection, source)
            for source in [source for source in wanted if known.get(source) != wanted[source]]:
                _ingest(connection, source)
                connection.execute("INSERT INTO ingested VALUES (?, ?)", [source, wanted[source]])
            connection.execute("DELETE FROM made_by")
            connection.execute("INSERT INTO made_by VALUES ('duckdb', ?)", [duckdb.__version__])
            connection.commit()
    except duckdb.IOException as error:
        raise UserError(f"cannot write the run store ({_text(error)}); the old store is as it was; free some space or "
                        "mend the folder, then repeat the command") from None


def _connect(file: Path, read_only: bool = False) -> DuckDBPyConnection:
    """Connect, waiting a while for a lock that another program holds. A file that is no store is a duckdb.Error."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return duckdb.connect(str(file), read_only=read_only)
        except RuntimeError as error:       # of which duckdb.Error is none
            raise duckdb.Error(str(error)) from None
        except duckdb.Error as error:
            if "Could not set lock" not in str(error):
                raise
            if time.monotonic() > deadline:
                raise UserError(f"{file} has been open for writing in another program for {PATIENCE_S:g} s; close it "
                                "there") from None
            time.sleep(0.1)


def _text(error: Exception) -> str:
    return " ".join(str(error).split())[:120]


# --- migrations -------------------------------------------------------------------------------------------------------

def _migrations() -> list[Path]:
    return sorted(MIGRATIONS.glob("[0-9][0-9][0-9]_*.sql"))


def _version(connection: DuckDBPyConnection) -> int:
    """How many migrations the file has had."""
    there = connection.execute("SELECT count(*) FROM duckdb_tables() WHERE table_name = 'migrations'").fetchall()[0][0]
    return connection.execute("SELECT count(*) FROM migrations").fetchall()[0][0] if there else 0


def _migrate(connection: DuckDBPyConnection) -> None:
    have = _version(connection)
    connection.begin()
    connection.execute("CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY, name VARCHAR NOT NULL)")
    for number, file in enumerate(_migrations()[have:], start=have + 1):
        connection.execute(file.read_text(encoding="utf-8"))
        connection.execute("INSERT INTO migrations VALUES (?, ?)", [number, file.stem])
    connection.commit()


# --- what the store is made of ----------------------------------------------------------------------------------------

def _sources() -> Iterable[tuple[str, str]]:
    """Name and digest of everything that belongs in the store."""
    published = data_files("published/*.toml")
    yield "claims", digest([file.read_bytes() for file in (data_file("claims.toml"), *published)])    # values of targets
    for file in published:
        yield f"published/{file.stem}", digest([file.read_bytes()])
    for file in sorted(runs_folder().glob(f"*/*/{MANIFEST}")):
        if manifest(file.parent):
            yield f"{file.parent.parent.name}/{file.parent.name}", digest([file.read_bytes()])


def _ingested(connection: DuckDBPyConnection) -> dict[str, str]:
    return dict(connection.execute("SELECT source, digest FROM ingested").fetchall()) if _version(connection) else {}


def _remove(connection: DuckDBPyConnection, source: str) -> None:
    for table in ("params", "metrics", "samples", "figures", "predictions", *OF_IMPORTS):
        connection.execute(f"DELETE FROM {table} WHERE run_id IN (SELECT run_id FROM runs WHERE source = ?)", [source])
    connection.execute("DELETE FROM runs WHERE source = ?", [source])
    if source == "claims":
        connection.execute("DELETE FROM claims")
    connection.execute("DELETE FROM ingested WHERE source = ?", [source])


def _ingest(connection: DuckDBPyConnection, source: str) -> None:
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
        (_insert_import if is_imported else _insert_record)(connection, source, folder, run)
    except (duckdb.Error, ValueError, KeyError, TypeError) as error:
        if is_imported:
            raise UserError(f"the import {folder} is damaged ({_text(error)}); delete that folder and import again "
                            f"{', '.join(run.get('of_files', {})) or 'its files'}") from None
        raise UserError(f"the record {folder} is damaged ({_text(error)}); delete that folder and run the same command "
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


def _insert_import(connection: DuckDBPyConnection, source: str, folder: Path, run: dict) -> None:
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
