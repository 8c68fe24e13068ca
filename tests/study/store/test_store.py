"""The run store mirrors records and published data, whatever happens to it."""
import errno
import os
import subprocess
import tempfile
import time
from pathlib import Path

import duckdb
import numpy as np
import pytest
from conftest import command, one_sentence

from study.runs.plan import plan
from study.runs.runner import run
from study.store import store
from support.processes import started

pytestmark = pytest.mark.slow      # kernels of Jupyter are started

RECORD = "from study.runs import record\nrecord.metric('answer.value', n, '1')"


@pytest.fixture
def one_run(runs, made_once):
    return made_once("one", {"n": 3}, RECORD)


def dump(connection) -> dict[str, list]:
    """All rows of all tables, in an order of their own."""
    tables = [name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()]
    return {name: sorted(map(repr, connection.execute(f"SELECT * FROM {name}").fetchall())) for name in tables}


def test_published_and_simulated_runs_stand_in_the_same_tables(one_run):
    with store.open() as connection:
        origins = dict(connection.execute("SELECT origin, count(*) FROM runs GROUP BY origin").fetchall())
        value, = connection.execute("SELECT value FROM metrics WHERE run_id = ?", [one_run.run_id]).fetchone()
    assert origins["simulated"] == 1
    assert origins["published"] > 20
    assert value == 3.0


def test_it_can_be_deleted_and_rebuilt_without_loss(one_run):
    with store.open() as connection:
        before = dump(connection)
    store.path().unlink()
    with store.open() as connection:
        assert dump(connection) == before


def test_refreshing_twice_writes_once(one_run):
    assert store.refresh()
    stamp = store.path().stat().st_mtime_ns
    assert not store.refresh()
    assert store.path().stat().st_mtime_ns == stamp


def test_a_record_that_is_gone_leaves_the_store(one_run):
    store.refresh()
    (one_run.folder / "manifest.json").unlink()
    with store.open() as connection:
        assert connection.execute("SELECT count(*) FROM runs WHERE origin = 'simulated'").fetchone() == (0,)
        assert connection.execute("SELECT count(*) FROM metrics WHERE run_id = ?", [one_run.run_id]).fetchone() == (0,)


def test_a_record_that_changed_replaces_its_rows(one_run):
    store.refresh()
    file = one_run.folder / "manifest.json"
    file.write_text(file.read_text().replace('"status": "ok"', '"status": "failed"'))
    with store.open() as connection:
        assert connection.execute("SELECT status FROM runs WHERE run_id = ?", [one_run.run_id]).fetchall() == [("failed",)]


def test_readers_do_not_wait_for_a_writer_nor_a_writer_for_readers(one_run, notebook):
    with store.open() as reader:
        assert run(plan(notebook("two", RECORD))).status == "ok"
        started = time.monotonic()
        assert store.refresh()
        assert time.monotonic() - started < store.PATIENCE_S
        assert reader.execute("SELECT count(*) FROM runs WHERE origin = 'simulated'").fetchone() == (1,)


def test_a_store_of_an_older_schema_is_migrated_and_one_of_a_newer_made_anew(one_run, monkeypatch, tmp_path, capsys):
    store.refresh()
    later = tmp_path / "migrations"
    later.mkdir()
    for file in store.MIGRATIONS.glob("*.sql"):
        (later / file.name).write_text(file.read_text())
    (later / "999_later.sql").write_text("ALTER TABLE runs ADD COLUMN later VARCHAR DEFAULT 'yes'")
    with monkeypatch.context() as newer:
        newer.setattr(store, "MIGRATIONS", later)
        with store.open() as connection:
            assert connection.execute("SELECT DISTINCT later FROM runs").fetchall() == [("yes",)]
    assert store.refresh()      # a later version has been here: its file is not ours to read
    assert "migrations, and this version of the study knows" in capsys.readouterr().err


def _garbage(content):
    return b"this is not a database" * 1000


def _cut(content):
    return content[:len(content) // 3]


def _flipped(content):
    return bytes(255 - byte if 100 < place < 5000 else byte for place, byte in enumerate(content))


def _one_bit(content):
    place = len(content) * 2 // 3
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1:]


VERBS = (("query", "SELECT count(*) AS n FROM runs WHERE origin = 'simulated'", "--format", "csv"), ("claims",),
         ("trace", "nothing"), ("export",), ("check", "paper"), ("diff", "a", "b"))


@pytest.mark.parametrize("damage", [_garbage, _cut, _flipped, _one_bit])
def test_a_damaged_store_is_made_anew_and_that_is_said(one_run, study, damage):
    store.refresh()
    with store.open() as connection:
        before = dump(connection)
    store.path().write_bytes(damage(store.path().read_bytes()))
    done = study(*VERBS[0])
    assert (done.returncode, done.stdout) == (0, "n\n1\n")
    assert done.stderr == "the run store is not as it was left; it is made anew from the records, and nothing is lost\n"
    with store.open() as connection:
        assert dump(connection) == before
    assert study(*VERBS[0]).stderr == ""


def test_status_names_a_damaged_store_and_leaves_it(one_run, study):
    store.refresh()
    assert study("status").stderr == ""
    store.path().write_bytes(damaged := _one_bit(store.path().read_bytes()))
    done = study("status")
    assert done.returncode == 0
    assert done.stderr == ("the run store is not as it was left; the next command that reads it makes it anew, and nothing "
                           "is lost\n")
    assert store.path().read_bytes() == damaged


@pytest.mark.parametrize("words", VERBS[1:], ids=lambda words: words[0])
def test_a_damaged_store_is_the_same_to_every_verb(one_run, study, words):
    store.refresh()
    whole = study(*words)
    store.path().write_bytes(_one_bit(store.path().read_bytes()))
    done = study(*words)
    assert (done.returncode, done.stdout) == (whole.returncode, whole.stdout)
    with store.open() as connection:
        assert connection.execute("SELECT count(*) FROM runs WHERE origin = 'simulated'").fetchone() == (1,)


@pytest.mark.parametrize("words", VERBS[:2], ids=lambda words: words[0])
def test_a_block_that_does_not_add_up_below_a_digest_that_does_is_no_traceback(one_run, study, words):
    store.refresh()
    whole, random = study(*words), np.random.default_rng(len(words))
    content = np.frombuffer(store.path().read_bytes(), np.uint8).copy()
    content[random.integers(3 * 4096, len(content), 400)] ^= 255      # behind the heads of the file
    store.path().write_bytes(content.tobytes())
    store._mark().write_text(store._digest_of(store.path()) + "\n")
    done = study(*words)
    assert (done.returncode, "the run store" in done.stderr) in ((2, True), (whole.returncode, True)), done.stderr
    assert "Traceback" not in done.stderr
    again = study(*words)
    assert (again.returncode, again.stdout) == (whole.returncode, whole.stdout)


def test_a_folder_in_the_place_of_the_store_is_one_sentence(one_run, study):
    store.path().unlink(missing_ok=True)
    store.path().mkdir()
    done = study("claims")
    assert done.returncode == 2
    assert "store.duckdb is a folder, but the run store is a file; remove that folder" in done.stderr


def test_drafts_of_commands_that_were_killed_are_in_nobodys_way(one_run):
    for name in (f".store-{os.getpid()}.duckdb", ".store-abc"):
        store.path().parent.mkdir(exist_ok=True)
        (store.path().parent / name).write_bytes(b"half a store")
    assert store.refresh()
    assert not list(store.path().parent.glob(".store-*"))


def test_the_store_says_which_duckdb_made_it(one_run):
    with store.open() as connection:
        assert connection.execute("SELECT * FROM made_by").fetchall() == [("duckdb", duckdb.__version__)]


def test_where_nothing_may_be_written_what_only_reads_answers_all_the_same(one_run, study, monkeypatch):
    def refused(path):
        raise PermissionError(errno.EROFS, "Read-only file system", str(path))

    monkeypatch.setattr(store, "exclusively", refused)
    done = study(*VERBS[0])
    assert (done.returncode, done.stdout, done.stderr) == (0, "n\n1\n", "")
    assert study("claims", "pgbench-1").returncode == 0
    assert not store.path().exists()
    assert not list(Path(tempfile.gettempdir()).glob("study-store-*"))


def test_a_folder_where_even_root_may_not_write_is_enough_to_read(study, monkeypatch):
    monkeypatch.setenv("STUDY_RUNS", "/sys/study-runs")
    assert study("query", "SELECT count(*) > 0 AS some FROM runs", "--format", "csv").stdout == "some\nTrue\n"


@pytest.mark.parametrize("query", ["", ";", "SELECT nonsense"])
def test_a_query_that_is_none_is_one_sentence(one_run, study, query):
    one_sentence(study("query", query))


def test_a_damaged_record_is_one_sentence(one_run, study):
    (one_run.folder / "metrics.parquet").write_bytes(b"PAR1 and then nothing")
    assert "is damaged" in one_sentence(study("query", "SELECT 1"))


def test_a_store_locked_by_another_program_is_waited_for(one_run):
    store.refresh()
    script = f"import duckdb, time; c = duckdb.connect({str(store.path())!r}); print('open', flush=True); time.sleep(2)"
    with started([command()[0], "-c", script], stdout=subprocess.PIPE, text=True) as other:
        other.stdout.readline()
        with store.open() as connection:
            assert connection.execute("SELECT count(*) FROM runs").fetchone()[0] > 0


def test_a_query_that_fails_is_one_sentence(runs, study):
    assert "the query fails" in one_sentence(study("query", "SELECT nonsense FROM runs"))
