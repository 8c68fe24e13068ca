"""An import is whole or not there; it survives the store, and the same twice adds nothing."""

import json
import shutil
from pathlib import Path

import pytest

from study.errors import UserError
from study.ingest import given_runs, imports, tables
from study.project import ROOT
from study.store import store
from support.imported_runs import FIXTURES

EXAMPLE = ROOT / "data" / "examples" / "run"
COUNTS = "SELECT (SELECT count(*) FROM observations), (SELECT count(*) FROM transactions), (SELECT count(*) FROM imports)"


def test_an_import_survives_the_store_and_comes_once(runs, study):
    """The command as it is used: once, twice, with the store deleted, and with the folder deleted."""
    first = study("ingest", EXAMPLE, "--label", "a run", "--json")
    [report] = json.loads(first.stdout)
    assert (report["added"], report["status"], report["label"]) == (True, "ok", "a run")
    counts = study("query", COUNTS, "--format", "csv").stdout
    assert "226" in counts
    [again] = json.loads(study("ingest", EXAMPLE, "--json").stdout)
    assert (again["added"], again["run_id"]) == (False, report["run_id"])
    store.path().unlink()
    assert study("query", COUNTS, "--format", "csv").stdout == counts
    other = study("ingest", EXAMPLE, "--label", "another")
    assert (other.returncode, other.stderr.count("\n")) == (2, 1)
    assert "imported already, as 'a run'" in other.stderr


@pytest.mark.slow
def test_a_run_is_not_beside_the_reading_of_an_older_version(runs, study, tmp_path):
    """It would count twice. `study status` names what an older version has read."""
    [report] = json.loads(study("ingest", EXAMPLE, "--label", "a run", "--json").stdout)
    assert "a run" not in study("status").stdout
    of_2026 = Path(report["folder"]).rename(Path(report["folder"]).parent / ("0" * 16))
    known = json.loads((of_2026 / "manifest.json").read_text())
    (of_2026 / "manifest.json").write_text(json.dumps(known | {"version": imports.VERSION - 1, "run_id": of_2026.name}))
    shutil.copytree(EXAMPLE, tmp_path / "copy")
    (tmp_path / "copy" / "pgbench.txt").rename(tmp_path / "copy" / "of-pgbench.txt")
    refused = study("ingest", tmp_path / "copy", "--label", "a run")
    assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)
    assert f"these files are there as 'a run', {imports.OLDER}; delete {of_2026} and" in refused.stderr
    assert f"import a run\n  {imports.OLDER}" in study("status").stdout
    shutil.rmtree(of_2026)
    assert json.loads(study("ingest", EXAMPLE, "--json").stdout)[0]["run_id"] == report["run_id"]


def test_what_is_refused_leaves_nothing(runs, study):
    done = study("ingest", FIXTURES / "pgbench" / "aborted")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--partial" in done.stderr
    assert not list(runs.rglob("manifest.json"))
    assert not list(runs.glob("imported/*"))


def test_of_several_runs_none_is_kept_if_one_is_refused(runs, study):
    done = study("ingest", EXAMPLE, FIXTURES / "pgbench" / "aborted")
    assert (done.returncode, done.stdout) == (2, "")
    assert not list(runs.rglob("manifest.json"))
    assert study("ingest", EXAMPLE).returncode == 0


def test_a_file_that_changed_in_the_folder_is_noticed(runs):
    [run] = given_runs.given([EXAMPLE])
    report = imports.imported(run, imports.Options())
    (report.folder / "metrics.parquet").write_bytes(b"PAR1")
    with pytest.raises(UserError, match="is damaged"):
        store.refresh()


def test_the_id_is_of_the_contents_and_not_of_names(runs, tmp_path):
    shutil.copytree(EXAMPLE, tmp_path / "copy")
    reports = [imports.imported(given_runs.given([path])[0], imports.Options()) for path in (EXAMPLE, tmp_path / "copy")]
    assert reports[0].run_id == reports[1].run_id
    (tmp_path / "copy" / "pgbench.txt").write_text((EXAMPLE / "pgbench.txt").read_text() + "\n")
    assert imports.imported(given_runs.given([tmp_path / "copy"])[0], imports.Options()).run_id != reports[0].run_id


def test_an_import_that_is_interrupted_leaves_nothing(runs, monkeypatch):
    """Stopped before the end, or killed: what a dead command left never counts, and goes with the next import."""

    def stopped(*_):
        raise KeyboardInterrupt

    [run] = given_runs.given([EXAMPLE])
    with monkeypatch.context() as patch:
        patch.setattr(tables, "write", stopped)
        with pytest.raises(KeyboardInterrupt):
            imports.imported(run, imports.Options())
    assert not list((runs / "imported").iterdir())
    dead = runs / "imported" / ".import-dead" / "draft"
    dead.mkdir(parents=True)
    (dead / "manifest.json").write_text('{"run_id": "draft", "origin": "imported"}')
    store.refresh()
    report = imports.imported(run, imports.Options())
    assert [path.name for path in (runs / "imported").iterdir()] == [report.run_id]


def test_logs_of_a_thread_that_is_missing_are_missed(runs, tmp_path):
    shutil.copytree(FIXTURES / "pgbench" / "threads", tmp_path / "run")
    next((tmp_path / "run").glob("*.1")).unlink()
    with pytest.raises(UserError, match="1 of 3 logs of threads are missing"):
        imports.imported(given_runs.given([tmp_path / "run"])[0], imports.Options())


def test_two_runs_in_one_folder_are_refused(runs):
    with pytest.raises(UserError, match="give each by itself"):
        imports.imported(given_runs.given([FIXTURES / "sysbench"])[0], imports.Options())


@pytest.mark.parametrize(
    ("options", "says"),
    [({"started": "yesterday"}, "--started is 'yesterday'"), ({"started": "2026-11-21T00:46:00"}, "no time with a zone")],
)
def test_times_that_are_none_are_refused(runs, options, says):
    with pytest.raises(UserError, match=says):
        imports.imported(given_runs.given([FIXTURES / "sysbench/cpu.txt"])[0], imports.Options(**options))


def test_a_start_that_is_given_puts_a_series_on_the_clock(bring):
    run = bring("sysbench/rate.txt", started="2026-11-21T01:00:00+01:00")
    assert run.report.series[0]["starts"] == "2026-11-21T00:00:00.000000"
    assert run.report.series[0]["uncertainty_s"] == 1
    assert run.sql("SELECT max(utc)::VARCHAR FROM observations WHERE run_id = $1") == [("2026-11-21 00:00:04",)]


def test_gaps_are_told(bring):
    lines = (FIXTURES / "sysbench/rate.txt").read_text().replace("\n[ 4s ]", "\n[ 9s ]").replace("4.0045s", "9.0045s")
    run = bring("gap.txt", lines.replace("(38.70 per", "(17.21 per"), partial=True)
    assert run.report.series[0]["gaps"] == [[3.0, 9.0]]


def test_what_is_not_known_is_said_in_a_sentence(runs, study, tmp_path):
    (tmp_path / "notes.txt").write_text("shopping list\n")
    done = study("ingest", tmp_path / "notes.txt")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "notes.txt is of no tool that is read here (pgbench, sysbench" in done.stderr


def test_the_page_on_your_runs_works_as_written(runs, study):
    """Its first command and each of its questions."""
    page = (ROOT / "docs" / "your-runs.md").read_text()
    assert study("ingest", EXAMPLE, "--label", "first").returncode == 0
    with store.open() as connection:
        for line in page.splitlines():
            if line.startswith("SELECT "):
                assert connection.execute(line).fetchall(), line
