"""A private PostgreSQL in a temporary folder, reached by a Unix socket alone, and nothing left of it afterwards.

    with cluster.private(programs, folder, wal_folder) as server:
        server.start({"shared_buffers": "1GB"})
        server.asked("SELECT 1")
        server.stop()

The temporary folder is locked while it is in use. One that a killed command has left is removed by the next, with that of
its log: WAL_PLACE names it.
"""
import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from study.errors import UserError
from study.measure import processes, programs
from study.measure.processes import Owner
from study.measure.programs import Programs

PREFIX = "study-measure-"
SOCKET_BYTES = 107              # of a path: sun_path of sys/un.h has 108, with a zero at its end
PORT = 5432                     # a part of the socket's name; no port is opened
USER, TABLES = "postgres", "postgres"
STARTING_S = 120.0
ALWAYS = {
    "listen_addresses": "", "port": PORT, "dynamic_shared_memory_type": "mmap", "logging_collector": "off",
    "max_connections": 300, "track_io_timing": "on", "track_wal_io_timing": "on"}
WAL_PLACE = "wal-folder"        # a file in the temporary folder: path of the log's
YOUNG_S = 10.0                  # of a folder that another command may be about to lock
LAST_WORDS = 300                # characters of a log


class Server:
    """A cluster that has been made, and runs or does not."""

    def __init__(self, of: Programs, folder: Path, as_owner: Owner, wal: Path | None) -> None:
        self.programs, self.folder, self.owner, self.wal = of, folder, as_owner, wal
        self.data, self.sockets, self.log = folder / "data", folder / "s", folder / "server.log"
        self.process: subprocess.Popen | None = None
        self.wal_is_apart = False

    def make(self) -> None:
        """A new cluster. Raises UserError if initdb fails."""
        self._run("initdb", "-D", str(self.data), "-U", USER, "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
        with (self.data / "postgresql.conf").open("a") as file:
            file.write("include = 'ladder.conf'\n")

    def start(self, settings: Mapping[str, object], wal_apart: bool = False) -> None:
        """Run it, with these settings. Raises UserError if it does not come up."""
        self._move_wal(wal_apart)
        chosen = {**ALWAYS, "unix_socket_directories": str(self.sockets), **settings}
        (self.data / "ladder.conf").write_text("".join(f"{name} = '{_quoted(value)}'\n" for name, value in chosen.items()))
        processes.give(self.data / "ladder.conf", self.owner)
        with self.log.open("ab") as log:
            words = [self.programs.path("postgres"), "-D", str(self.data)]
            self.process = processes.start(words, self.owner, self.data, log)
        deadline = time.monotonic() + STARTING_S
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise UserError(f"PostgreSQL does not start: {self.last_words()}; change the ladder's settings, or give the "
                                "machine more memory")
            processes.refuse_stopped()
            time.sleep(processes.POLL_S)

    def _answers(self) -> bool:
        asking = processes.start(self._psql("SELECT 1"), self.owner, self.folder, errors=subprocess.DEVNULL)
        return processes.succeeds(asking, processes.PATIENCE_S) is True

    def stop(self) -> None:
        """A fast shutdown, with a checkpoint; what remains after a while is killed."""
        if self.process is not None:
            processes.end(self.process, signal.SIGINT)
            processes.end_all_in(self.data)
            self.process = None

    def is_up(self) -> bool:
        """Whether the server's process runs."""
        return self.process is not None and self.process.poll() is None

    def refuse_dead(self) -> None:
        """Raises UserError if the server has ended by itself."""
        if not self.is_up():
            raise UserError(f"PostgreSQL ended in the middle of a run: {self.last_words()}; nothing of that run is kept")

    def asked(self, query: str) -> str:
        """What psql prints. Raises UserError where the server refuses."""
        return self._run("psql", *self._psql(query)[1:])

    def _psql(self, query: str) -> list[str]:
        return [self.programs.path("psql"), "-XAtqw", "-v", "ON_ERROR_STOP=1", *self.reached(), "-d", TABLES, "-c", query]

    def reached(self) -> list[str]:
        """Options of a client's."""
        return ["-h", str(self.sockets), "-p", str(PORT), "-U", USER]

    def _run(self, name: str, *words: str) -> str:
        process = processes.start([self.programs.path(name), *words], self.owner, self.folder, subprocess.PIPE,
                                  subprocess.STDOUT)
        shown = processes.printed(process)
        if process.returncode:
            raise UserError(f"{name} of PostgreSQL {self.programs.version} fails: {_short(shown)}; nothing was measured")
        return shown

    def tables_of(self, scale: int) -> str:
        """Name of the database that holds pgbench's tables of a scale."""
        return f"scale_{scale}"

    def fill(self, scale: int) -> None:
        """Make pgbench's tables of a scale, and write them out."""
        self.asked(f"CREATE DATABASE {self.tables_of(scale)}")
        self._run("pgbench", *self.reached(), "-i", "-q", "-s", str(scale), self.tables_of(scale))
        self.asked("CHECKPOINT")

    def settings(self) -> dict[str, str]:
        """All that are not as PostgreSQL comes, in their own units."""
        answer = self.asked("SELECT json_object_agg(name, current_setting(name)) FROM pg_settings "
                            "WHERE source NOT IN ('default', 'client', 'override') AND name NOT LIKE 'unix_socket%' "
                            "AND name NOT LIKE '%_file' AND name NOT LIKE '%directory%'")
        return json.loads(answer or "{}")

    def last_words(self) -> str:
        """The end of the server's log, or nothing."""
        return _short(self.log.read_text(errors="replace") if self.log.exists() else "")

    def _move_wal(self, apart: bool) -> None:
        """pg_wal into its own folder, or back: a link, as initdb's --waldir makes."""
        if apart == self.wal_is_apart or self.wal is None:
            return
        here, there = self.data / "pg_wal", self.wal / "pg_wal"
        if apart:
            shutil.move(here, there)
            here.symlink_to(there)
            if self.owner.user is not None:
                os.chown(here, self.owner.user, self.owner.group or -1, follow_symlinks=False)
                _give_all(there, self.owner)
        else:
            here.unlink()
            shutil.move(there, here)
            _give_all(here, self.owner)
        self.wal_is_apart = apart

    def end(self) -> None:
        """Nothing of it runs any more, whatever happened."""
        segment = _segment(self.data)
        if self.process is not None:
            processes.end(self.process, signal.SIGINT)
        processes.end_all_in(self.folder)
        if segment is not None:
            processes.remove_segment(segment)
        self.process = None


def _give_all(folder: Path, to: Owner) -> None:
    for path in [folder, *folder.rglob("*")]:
        processes.give(path, to)


def _quoted(value: object) -> str:
    return str(value).replace("'", "''")


def _short(text: str) -> str:
    """Its last lines, in one."""
    rows = [line.strip() for line in text.splitlines() if line.strip()]
    return " / ".join(rows[-3:])[-LAST_WORDS:] or "it says nothing"


def _segment(data: Path) -> int | None:
    """Id of the server's System V segment: line 7 of postmaster.pid has key and id."""
    try:
        return int((data / "postmaster.pid").read_text().splitlines()[6].split()[1])
    except (OSError, IndexError, ValueError):
        return None


@contextlib.contextmanager
def private(of: Programs, within: Path, wal_within: Path | None = None) -> Iterator[Server]:
    """A new cluster below `within`, its log below `wal_within` when asked. Nothing is left of it. Raises UserError."""
    as_owner = processes.owner()
    with _temporary(within, as_owner) as folder, contextlib.ExitStack() as stack:
        wal = stack.enter_context(_temporary(wal_within, as_owner)) if wal_within is not None else None
        if wal is not None:
            (folder / WAL_PLACE).write_text(str(wal))
        server = Server(_reachable(of, as_owner, folder), folder, as_owner, wal)
        server.sockets.mkdir(mode=0o700)
        processes.give(server.sockets, as_owner)
        socket = server.sockets / f".s.PGSQL.{PORT}"
        if len(os.fsencode(socket)) > SOCKET_BYTES:
            raise UserError(f"the socket {socket} has {len(os.fsencode(socket))} bytes, but the system takes {SOCKET_BYTES}"
                            "; choose a --dir with a shorter path")
        try:
            server.make()
            yield server
        finally:
            server.end()


def _reachable(of: Programs, as_owner: Owner, folder: Path) -> Programs:
    """The programs, or a copy of them in our folder where the owner may not reach them."""
    if processes.can("-x", of.folder / "postgres", as_owner):
        return of
    if of.root is None:
        raise UserError(f"{of.folder} is closed to the user {processes.NOBODY}, as whom PostgreSQL runs for root; name a "
                        "folder by --pg-bin that all may enter")
    for part in programs.parts_of(of):
        shutil.copytree(of.root / part, folder / "programs" / part)
    return of._replace(folder=folder / "programs" / of.folder.relative_to(of.root))


@contextlib.contextmanager
def _temporary(within: Path, as_owner: Owner) -> Iterator[Path]:
    """A folder of the owner's, locked; removed at the end, with what others have left."""
    if not within.is_dir():
        raise UserError(f"{within} is no folder; name one on the disk that is to be measured")
    remove_left(within)
    try:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=within.resolve()))
    except OSError as error:
        raise UserError(f"no folder can be made in {within} ({error.strerror}); name another") from None
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        processes.give(folder, as_owner)
        if not processes.can("-w", folder, as_owner):
            raise UserError(f"the user {processes.NOBODY} may not enter {within}; name a folder by --dir that all may "
                            "enter, such as /var/tmp")
        yield folder
    finally:
        os.close(lock)
        shutil.rmtree(folder, ignore_errors=True)


def remove_left(within: Path) -> list[Path]:
    """Folders of commands that were killed, and those of their logs: nobody holds their lock. The paths removed."""
    removed = []
    for folder in within.glob(f"{PREFIX}*"):
        wal, owner = _wal_of(folder), _owner_of(folder)
        if _remove(folder):
            removed.append(folder)
            if wal is not None and owner is not None and _owner_of(wal) == owner and _remove(wal):
                removed.append(wal)
    return removed


def _wal_of(folder: Path) -> Path | None:
    """Where the log of a temporary folder lies; None unless it is a temporary folder, too."""
    try:
        place = Path((folder / WAL_PLACE).read_text())
    except (OSError, ValueError):
        return None
    return place if place.is_absolute() and place.name.startswith(PREFIX) else None


def _owner_of(folder: Path) -> int | None:
    try:
        return folder.lstat().st_uid
    except (OSError, ValueError):
        return None


def _remove(folder: Path) -> bool:
    """Whether it was there, of no command that lives or has just begun, and is gone."""
    with contextlib.suppress(OSError):
        if time.time() - folder.stat().st_mtime < YOUNG_S:
            return False
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            processes.end_all_in(folder, patience_s=1.0)
            if (segment := _segment(folder / "data")) is not None:
                processes.remove_segment(segment)
            shutil.rmtree(folder, ignore_errors=True)
            return True
        finally:
            os.close(lock)
    return False
