"""`study measure pgbench` on a real server: it measures, and leaves nothing, however it ends."""
import contextlib
import json
import os
import shutil
import signal
import tempfile
import time
from pathlib import Path

import pytest
from conftest import command

from study.errors import UserError
from study.measure import processes, programs
from support.processes import ended, run, started

pytestmark = pytest.mark.slow
SHORT = ("--rung", "defaults", "--scale", "1", "--clients", "2", "--seconds", "2", "--warm-up", "0", "--repeats", "1")
SECONDS = 120


def binaries():
    """Options that name PostgreSQL's programs: the package's or the system's; None if there are none."""
    with contextlib.suppress(UserError):
        programs.packaged(18)
        return ("--release", "18")
    for folder in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True):
        with contextlib.suppress(UserError):
            programs.named(folder)
            return ("--pg-bin", folder)
    return None


BINARIES = binaries()
needs_programs = pytest.mark.skipif(BINARIES is None, reason="no programs of PostgreSQL; make ready-measure installs them")


@pytest.fixture
def place():
    """A folder that the user nobody may enter, too."""
    folder = Path(tempfile.mkdtemp(prefix="study-test-", dir="/var/tmp"))
    folder.chmod(0o755)
    yield folder
    assert not list(folder.iterdir())
    assert not processes.living_in(folder)
    shutil.rmtree(folder)


def words(place, *more):
    return command("measure", "pgbench", *BINARIES, "--dir", place, *SHORT, *more)


@needs_programs
def test_a_rung_becomes_a_run_of_the_store_and_agrees_with_pgbench(runs, place, tmp_path):
    """With its log in another folder, as JSON."""
    done = run(words(place, "--label", "mine", "--wal-dir", place, "--files", tmp_path / "files", "--json"), SECONDS)
    assert done.returncode == 0, done.stderr
    [finished] = json.loads(done.stdout)["runs"]
    asked = run(command("query", "SELECT label, status, (SELECT count(*) FROM transactions), (SELECT bool_and(agrees) FROM "
                                 "import_checks), (SELECT count(DISTINCT series) FROM import_series) FROM runs "
                                 "WHERE label LIKE 'mine/%'", "--format", "csv"), SECONDS).stdout.splitlines()[1]
    label, status, transactions, agrees, n_series = asked.split(",")
    assert (label, status, agrees.lower(), n_series) == ("mine/defaults", "ok", "true", "4")
    assert int(transactions) == pytest.approx(2 * finished["tps"], rel=0.2)
    assert sorted(path.name for path in (tmp_path / "files" / "defaults-1").iterdir()) == ["measured.json", "pgbench.txt"]
    again = run(words(place, "--label", "mine"), SECONDS)
    assert (again.returncode, again.stderr.count("\n")) == (2, 1)
    assert "'mine' is in the store already" in again.stderr


def under_way(place):
    """The server's process id, as soon as pgbench runs on it."""
    for _ in range(600):
        with contextlib.suppress(IndexError, OSError, ValueError):
            [pid_file] = place.glob("study-measure-*/data/postmaster.pid")
            if list(place.glob("study-measure-*/run-*/pgbench.txt")):
                return int(pid_file.read_text().splitlines()[0])
        time.sleep(0.1)
    raise AssertionError("pgbench does not begin")


@needs_programs
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_and_nothing_is_left(runs, place, number):
    with started(words(place, "--seconds", "60")) as process:
        under_way(place)
        os.kill(process.pid, number)
        assert ended(process, SECONDS) == 128 + number


@needs_programs
def test_a_server_that_is_killed_is_told_and_nothing_is_left(runs, place):
    with started(words(place, "--seconds", "60")) as process:
        os.kill(under_way(place), signal.SIGKILL)
        assert ended(process, SECONDS) == 2
