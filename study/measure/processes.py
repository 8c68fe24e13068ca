"""Programs that end with us, as another user where we are root; and what ends a measurement at once.

    with processes.stoppable():         SIGINT, SIGTERM and SIGHUP are noted, and what waits raises Stopped
        processes.waited(processes.start(["pgbench", …], owner, folder), 1.0)
"""
import contextlib
import ctypes
import os
import pwd
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from study.errors import UserError

NOBODY = "nobody"
PR_SET_PDEATHSIG = 1            # linux/prctl.h
IPC_RMID = 0                    # linux/ipc.h
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PATIENCE_S = 30.0               # of a server that is to end
POLL_S, WATCH_S = 0.05, 0.5    # between two looks


class Stopped(Exception):
    """A signal asked for the end."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


class Owner(NamedTuple):
    """Whose processes and files they are; None, None: our own."""
    user: int | None
    group: int | None


def owner() -> Owner:
    """PostgreSQL refuses to run as root. Raises UserError if we are, and there is no user `nobody`."""
    if os.geteuid() != 0:
        return Owner(None, None)
    try:
        entry = pwd.getpwnam(NOBODY)
    except KeyError:
        raise UserError(f"PostgreSQL does not run as root, and there is no user {NOBODY}; run this as an ordinary "
                        "user") from None
    return Owner(entry.pw_uid, entry.pw_gid)


def give(path: Path, to: Owner) -> None:
    """A file or folder of ours."""
    if to.user is not None and to.group is not None:
        os.chown(path, to.user, to.group)


def start(words: Sequence[str], as_owner: Owner, folder: Path, out: IO[bytes] | int = subprocess.DEVNULL,
          errors: IO[bytes] | int = subprocess.STDOUT, given: IO[bytes] | int = subprocess.DEVNULL) -> subprocess.Popen:
    """In a session of its own, so that Ctrl-C is ours alone. It is told to quit when we end, however that comes."""
    return subprocess.Popen(words, cwd=folder, stdin=given, stdout=out, stderr=errors, env=_environment(folder),
                            start_new_session=True, preexec_fn=_prepared(as_owner))


def _environment(folder: Path) -> dict[str, str]:
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC", "HOME": str(folder),
            "PGTZ": "UTC", "PGAPPNAME": "study"}


def _prepared(as_owner: Owner) -> Callable[[], None]:
    library, us = ctypes.CDLL(None, use_errno=True), os.getpid()

    def prepare() -> None:
        if as_owner.user is not None and as_owner.group is not None:
            os.setgroups([])
            os.setgid(as_owner.group)
            os.setuid(as_owner.user)
        library.prctl(PR_SET_PDEATHSIG, signal.SIGQUIT)     # after the change of user, which would reset it
        if os.getppid() != us:
            os._exit(1)
    return prepare


def can(question: str, path: Path, as_owner: Owner) -> bool:
    """Whether the owner may use a path: `question` is -x or -w of test. Folders above it may be closed to others.
    Raises UserError if the path does not answer."""
    words = ["/bin/sh", "-c", f'test {question} "$0"', str(path.resolve())]
    answer = succeeds(start(words, as_owner, Path("/"), errors=subprocess.DEVNULL), PATIENCE_S)
    if answer is None:
        raise UserError(f"{path} does not answer within {PATIENCE_S:g} s; name a folder on another disk")
    return answer


def succeeds(process: subprocess.Popen, patience_s: float) -> bool | None:
    """Whether it ends with 0; None where it does not end in that time, and then it has been killed."""
    try:
        return process.wait(patience_s) == 0
    except subprocess.TimeoutExpired:
        process.kill()
        return None


def living_in(folder: Path) -> list[int]:
    """Ids of processes whose working directory is below a folder: of a private cluster all have it so."""
    living, below = [], str(folder.resolve())
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                place = os.readlink(entry / "cwd").removesuffix(" (deleted)")
                if place == below or place.startswith(f"{below}/"):
                    living.append(int(entry.name))
    return living


def end_all_in(folder: Path, patience_s: float = PATIENCE_S) -> None:
    """Wait until no process lives in our folder; those that stay are killed, by their ids."""
    deadline = time.monotonic() + patience_s
    while living_in(folder) and time.monotonic() < deadline:
        time.sleep(POLL_S)
    for process in living_in(folder):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    while living_in(folder) and time.monotonic() < deadline + PATIENCE_S:
        time.sleep(POLL_S)


def end(process: subprocess.Popen, number: int, patience_s: float = PATIENCE_S) -> None:
    """By a signal, and by SIGKILL if it does not help."""
    if process.poll() is None:
        process.send_signal(number)
        try:
            process.wait(patience_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(patience_s)


def remove_segment(number: int) -> None:
    """A System V segment that a killed server has left. There may be none any more."""
    ctypes.CDLL(None, use_errno=True).shmctl(number, IPC_RMID, None)


_stopped: list[int] = []        # the signals that have come


@contextlib.contextmanager
def stoppable() -> Iterator[None]:
    """SIGNALS are noted from here on, and `refuse_stopped` raises. A handler that raised might do so in the middle of
    anything, and be ignored there. So all that waits asks, and tidying up never does."""
    _stopped.clear()
    before = {number: signal.signal(number, lambda come, _: _stopped.append(come)) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _stopped.clear()


def refuse_stopped() -> None:
    """Raises Stopped, of the first signal, once one has come."""
    if _stopped:
        raise Stopped(_stopped[0])


def waited(process: subprocess.Popen, seconds: float) -> bool:
    """Wait for a process for so long at most; whether it has ended. Raises Stopped."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    refuse_stopped()
    return process.poll() is not None


def printed(process: subprocess.Popen) -> str:
    """All that a process prints until its end. Raises Stopped, and then it has been ended."""
    try:
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return str(process.communicate(timeout=WATCH_S)[0].decode("utf-8", "replace"))
            refuse_stopped()
    except BaseException:
        end(process, signal.SIGTERM)
        raise
