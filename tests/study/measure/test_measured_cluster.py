"""What a killed command leaves, and programs that do not answer, without a server."""
import contextlib
import fcntl
import os
import subprocess
from pathlib import Path

import pytest

from study.errors import UserError
from study.measure import cluster, processes, sampling
from study.measure.cluster import Server
from study.measure.processes import Owner
from study.measure.programs import Programs

OURS = Owner(None, None)
LONG_AGO = (0, 0)


def left(within, name, wal=None):
    """A folder that a killed command has left, with the place of its log."""
    folder = within / f"{cluster.PREFIX}{name}"
    folder.mkdir(parents=True)
    if wal is not None:
        (folder / cluster.WAL_PLACE).write_text(str(wal))
    os.utime(folder, LONG_AGO)
    return folder


def test_the_folder_of_the_log_is_removed_with_that_of_the_data(tmp_path):
    wal = left(tmp_path / "log", "log")
    data = left(tmp_path / "data", "data", wal)
    assert cluster.remove_left(tmp_path / "data") == [data, wal]
    assert not data.exists()
    assert not wal.exists()


def test_a_log_that_is_in_use_or_no_temporary_folder_stays(tmp_path):
    (tmp_path / "mine").mkdir()
    used = left(tmp_path / "log", "used")
    to_mine, to_link = left(tmp_path / "data", "a", tmp_path / "mine"), tmp_path / f"{cluster.PREFIX}link"
    to_link.symlink_to(tmp_path / "mine")
    lock = os.open(used, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    others = [left(tmp_path / "data", "b", used), left(tmp_path / "data", "c", to_link)]
    os.utime(tmp_path / "mine", LONG_AGO)
    assert set(cluster.remove_left(tmp_path / "data")) == {to_mine, *others}
    os.close(lock)
    assert used.exists()
    assert (tmp_path / "mine").exists()


def test_a_cluster_writes_down_where_its_log_is(tmp_path, monkeypatch):
    """Seen from initdb, which fails here."""
    seen = []

    def make(server):
        seen.extend([Path((server.folder / cluster.WAL_PLACE).read_text()), server.wal])
        raise UserError("no initdb")
    monkeypatch.setattr(Server, "make", make)
    monkeypatch.setattr(cluster, "SOCKET_BYTES", 4096)      # no socket is made, and the path of a test is long
    monkeypatch.setattr(processes, "owner", lambda: OURS)
    monkeypatch.setattr(processes, "can", lambda *_: True)
    (tmp_path / "data").mkdir()
    (tmp_path / "log").mkdir()
    with contextlib.suppress(UserError), cluster.private(Programs(tmp_path, 18, "18.0", None), tmp_path / "data",
                                                         tmp_path / "log"):
        pass
    assert len(set(seen)) == 1
    assert seen[0].parent == tmp_path / "log"
    assert not seen[0].exists()


def hanging(monkeypatch):
    """All that is started sleeps, and nobody waits for it."""
    begun = []

    def start(*_, **__):
        begun.append(subprocess.Popen(["sleep", "600"]))
        return begun[-1]
    monkeypatch.setattr(processes, "start", start)
    monkeypatch.setattr(processes, "PATIENCE_S", 0.01)
    return begun


def test_a_psql_that_hangs_is_no_answer_and_is_ended(tmp_path, monkeypatch):
    begun = hanging(monkeypatch)
    assert Server(Programs(tmp_path, 18, "18.0", None), tmp_path, OURS, None)._answers() is False
    assert begun[0].wait(60) < 0


def test_a_path_that_hangs_is_said_in_a_sentence(tmp_path, monkeypatch):
    begun = hanging(monkeypatch)
    with pytest.raises(UserError, match=r"does not answer within 0\.01 s; name a folder on another disk"):
        processes.can("-w", tmp_path, OURS)
    assert begun[0].wait(60) < 0


def test_syncs_of_new_segments_are_not_counted_with_those_of_the_log():
    assert "object = 'wal' AND context = 'normal'" in " ".join(sampling.query(18).split())
    assert "context" not in sampling.query(17)
