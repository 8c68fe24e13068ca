"""Where things lie, how they are written, and digests of them. Nothing is read outside the project's own folder,
but what `study scenario` asks of the machine."""
import contextlib
import fcntl
import hashlib
import json
import os
import secrets
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from study.errors import UserError

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "data"
NOTEBOOKS = ROOT / "notebooks"
PAPER = ROOT / "paper"
CACHE = ROOT / ".cache"
LOCK = ROOT / "requirements.lock"


def runs_folder() -> Path:
    """`papermill_runs/`, or what the environment variable STUDY_RUNS names (from the project's folder on)."""
    named = os.environ.get("STUDY_RUNS") or "papermill_runs"
    try:
        named.encode()
    except UnicodeEncodeError:
        raise UserError(f"STUDY_RUNS is {os.fsencode(named)!r}, which is not UTF-8, as names must be; name another "
                        "folder") from None
    return (ROOT / named).resolve()


def git_state() -> dict[str, str | bool | None] | None:
    """The commit that is checked out, and whether tracked files differ from it: None where git does not say in time."""
    def asked(*words: str) -> str | None:
        try:
            return subprocess.run(["git", "--no-optional-locks", "-C", str(ROOT), *words], check=True, capture_output=True,
                                  text=True, encoding="utf-8", errors="replace", timeout=20).stdout.strip()
        except (OSError, subprocess.SubprocessError):
            return None
    top, commit = asked("rev-parse", "--show-toplevel"), asked("rev-parse", "HEAD")
    if commit is None or Path(top or "").resolve() != ROOT:     # a repository around a copy of the project
        return None
    changes = asked("status", "--porcelain", "--untracked-files=no")
    return {"commit": commit, "dirty": None if changes is None else bool(changes)}


def data_file(name: str) -> Path:
    """The file `data/<name>`. In a batch run only what the notebook's entry in `study/runs/catalogue.py` declares is given
    out. Its digest is part of the run's identity, so an undeclared file would be a stale result waiting to happen."""
    refuse_undeclared(name)
    path = DATA / name
    if not path.exists():
        raise UserError(f"data/{name} is missing; restore it with: git checkout -- data")
    return path


def is_declared(name: str) -> bool:
    """Whether this process may read `data/<name>`: it is no batch run, or one that has declared it."""
    declared = os.environ.get("STUDY_READS")
    return declared is None or name in json.loads(declared)


def refuse_undeclared(name: str) -> None:
    """UserError if this process is a batch run that has not declared `data/<name>`."""
    if not is_declared(name):
        raise UserError(f"this notebook reads data/{name} without saying so; add it to `reads` in study/runs/catalogue.py")


def data_files(pattern: str) -> list[Path]:
    """All files `data/<pattern>` (`**` for folders below), sorted; each as `data_file` gives it."""
    names = [path.relative_to(DATA).as_posix() for path in sorted(DATA.glob(pattern)) if path.is_file()]
    if not names:
        raise UserError(f"no file matches data/{pattern}; restore it with: git checkout -- data, or mend the pattern")
    return [data_file(name) for name in names]


def digest(parts: Iterable[bytes]) -> str:
    """SHA-256 over length-prefixed parts, so that no two lists of parts meet in one digest."""
    state = hashlib.sha256()
    for part in parts:
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return state.hexdigest()


def digest_of_files(paths: Iterable[Path]) -> str:
    """Names (from the project's folder where they lie in it) and contents."""
    parts = []
    for path in paths:
        name = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
        parts += [name.as_posix().encode(), path.read_bytes()]
    return digest(parts)


def write_atomically(path: Path, content: str | bytes) -> None:
    """All of it or nothing: a temporary file beside `path`, synced, then renamed over it. A link stays, and what it leads to
    is written; into a device or a pipe it is written as it is."""
    content = content.encode() if isinstance(content, str) else content
    if _is_no_file(path):
        with open(path, "wb") as file:
            file.write(content)
        return
    path = Path(os.path.realpath(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        with open(temporary, "xb") as file:     # for whom it is to read, the umask says
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def refuse_unwritable(path: Path) -> None:
    """UserError or OSError now, before any work, if what comes out could not be written to `path`."""
    if path.is_dir():
        raise UserError(f"{path} is a folder; name a file")
    if _is_no_file(path):
        return
    folder = Path(os.path.realpath(path)).parent
    while not os.path.lexists(folder):      # folders are made when there is something to write
        folder = folder.parent
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except FileNotFoundError:
        raise UserError(f"{path} cannot be made, as nothing can be written in {folder}; choose another place") from None


def refuse_overwriting(path: Path, *inputs: Path | None) -> None:
    """UserError if what comes out would be written over one of the files that are read."""
    for source in inputs:
        if source is None or not path.exists() or not source.exists():
            continue
        if os.path.samefile(path, source) and not _is_no_file(path):
            raise UserError(f"{path} is read and would be written over; name another file with --out")


def _is_no_file(path: Path) -> bool:
    """Whether something is there that a file must not take the place of: a device, a pipe."""
    return path.exists() and not path.is_file()


@contextlib.contextmanager
def exclusively(path: Path) -> Iterator[None]:
    """Hold the lock file `path`. Waits for whoever holds it; the system lets go of it when a holder dies."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
