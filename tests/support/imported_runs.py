"""Imports go into a folder of runs of the test's own, and from there into tables as the store has them, in memory."""

import contextlib
from pathlib import Path

import duckdb
import pytest

from study.ingest import given_runs, imports
from study.runs.folder import manifest
from study.store import contents, store

FIXTURES = Path(__file__).parents[1] / "study" / "ingest" / "fixtures"


@pytest.fixture(scope="session")
def tables():
    """The store's tables without claims and notebooks, which take a second to read."""
    with contextlib.closing(duckdb.connect()) as connection:
        store._migrate(connection)
        yield connection


class Brought(dict):
    """What came of an import: {name: value} of the whole run, its report, and SQL on the store's tables."""

    def __init__(self, report, connection):
        self.report, self.connection, [self.tool] = report, connection, report.tools
        source = f"imported/{report.run_id}"
        if connection.execute("SELECT 1 FROM runs WHERE source = ?", [source]).fetchall():
            contents.remove(connection, source)
        contents.ingest_import(connection, source, report.folder, manifest(report.folder))
        super().__init__(self.sql("SELECT name, value FROM metrics WHERE run_id = $1"))

    def sql(self, statement):
        return self.connection.execute(statement, [self.report.run_id]).fetchall()


@pytest.fixture
def bring(runs, tmp_path, tables):
    """Import what is at a path of the fixtures, or the text that is given, as a command would."""

    def brought(what, text=None, **options):
        path = FIXTURES / what
        if text is not None:
            path = tmp_path / "given" / what
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        chosen = imports.Options(**options)
        [run] = given_runs.given([path], chosen.label)
        return Brought(imports.imported(run, chosen), tables)

    return brought
