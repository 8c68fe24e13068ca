"""The run store: one DuckDB file made of the records in `papermill_runs/` and of the published data. It holds nothing
of its own: delete it and the next command builds it anew. A store that is damaged is built anew too, and that is said.

`refresh` compares what is there with what was ingested. Where they differ it writes a new file beside the old one, in
one transaction, and renames it into place. So readers never wait for a writer, nor a writer for readers, and a crash
leaves the old store. Writers take turns by a lock file. A digest beside the store tells whether it is as it was left.

Where nothing may be written, the store is built for the one command that asks.
"""
import contextlib
import hashlib
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
from study.project import exclusively, runs_folder, write_atomically
from study.runs.folder import manifest
from study.store import contents
from study.store.contents import shortened

MIGRATIONS = Path(__file__).parent / "migrations"
PATIENCE_S = 10.0       # for somebody who has the store open for writing
DAMAGED = "Corrupt database file"       # what DuckDB calls a block whose checksum is another


def path() -> Path:
    """Where the run store is."""
    return runs_folder() / "store.duckdb"


@contextlib.contextmanager
def open() -> Iterator[DuckDBPyConnection]:
    """A read-only connection to the store, brought up to date first. It reads and writes no other file. DuckDB runs a COPY
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
        raise UserError(f"the run store {path()} is damaged ({shortened(error)}); repeat the command: it is made anew from "
                        "the records, and nothing is lost") from None


@contextlib.contextmanager
def of_imports(folders: Iterable[Path]) -> Iterator[DuckDBPyConnection]:
    """Tables as the store has them, in memory, of imports in these folders and of nothing else."""
    with contextlib.closing(duckdb.connect()) as connection:
        _migrate(connection)
        for folder in folders:
            contents.ingest_import(connection, str(folder), folder, manifest(folder) or {})
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
        _fill(file, dict(contents.sources()))
        yield file


def refresh() -> bool:
    """Make the store mirror the records and published data; True if anything had to be written."""
    try:
        return _refresh()
    except OSError as error:
        raise errors.of_the_system(error) from error


def _refresh() -> bool:
    with exclusively(runs_folder() / ".locks" / "store"):
        wanted = dict(contents.sources())
        why_not = _why_not_usable() if path().exists() else None
        if why_not:
            err.print(f"the run store {why_not}; it is made anew from the records, and nothing is lost", soft_wrap=True)
        elif path().exists() and _holds(wanted):
            return False
        with _noticing_damage():
            _write(wanted, from_old=path().exists() and not why_not)
        return True


def damage() -> str | None:
    """A sentence about a store that the next command would make anew; None if it is as it was left, or not there."""
    if not path().exists():
        return None
    try:
        with exclusively(runs_folder() / ".locks" / "store"):
            why_not = _why_not_usable()
    except OSError as error:
        if error.errno not in NOT_ALLOWED:
            raise
        why_not = _why_not_usable()     # where nobody may write, nobody has to be waited for
    return f"the run store {why_not}; the next command that reads it makes it anew, and nothing is lost" if why_not else None


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
        return f"cannot be read by DuckDB {duckdb.__version__} ({shortened(error)})"
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
                contents.remove(connection, source)
            for source in [source for source in wanted if known.get(source) != wanted[source]]:
                contents.ingest(connection, source)
                connection.execute("INSERT INTO ingested VALUES (?, ?)", [source, wanted[source]])
            connection.execute("DELETE FROM made_by")
            connection.execute("INSERT INTO made_by VALUES ('duckdb', ?)", [duckdb.__version__])
            connection.commit()
    except duckdb.IOException as error:
        raise UserError(f"cannot write the run store ({shortened(error)}); the old store is as it was; free some space or "
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


def _ingested(connection: DuckDBPyConnection) -> dict[str, str]:
    return dict(connection.execute("SELECT source, digest FROM ingested").fetchall()) if _version(connection) else {}
