"""Files that a notebook of the user's own reads: part of what its run is made of.

Which files these are is seen while it runs. A file counts when Python opens it to read, or when text in the notebook, a
shell line or a parameter names it. The latter also covers what DuckDB and Arrow open by name in code of their own. A file
that the run itself opens to write is a result and no input. Files of the system, of this project and of hidden folders do
not count.

The names in a folder count where Python lists it, and the names that a pattern in the text has. A new file is then another
input. So do those in a folder that the text names, and in the folders below it. A listed folder is named with a slash at its
end, a pattern as it is written. These names are looked at when the run has ended, since the run may have added some. What
another program adds while the run is under way counts as seen. A pattern that nothing matches yet is no input.

The run store counts by the imports in it, all of them: what a question to it reads cannot be told. Simulated runs do not
count, since each run adds itself to them.
"""
import functools
import hashlib
import itertools
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from importlib.util import source_from_cache
from pathlib import Path
from typing import Any

from study.project import CACHE, DATA, ROOT, digest, runs_folder
from study.runs.folder import MANIFEST

SEEN = "inputs.jsonl"       # in the folder of a run that is under way
OF_THE_SYSTEM = ("/proc", "/sys", "/dev", "/etc", "/usr", "/lib", "/lib64", "/run", "/opt", "/nix", "/var/lib", "/var/cache")
QUOTED = re.compile(r"""['"]([^'"\n]+)(?=['"])""")     # also what stands in quotes within quotes
SHELL = re.compile(r"^\s*(?:[\w, ]+=\s*)?[!%](.*)")      # a line for the shell, or a magic
BETWEEN_WORDS = re.compile(r"""[\s;|<>&()'"]+""")
PATTERN = re.compile(r"\w.*[*?[]|[*?[].*\w")
STORE = "imports in the run store"   # stands for them among names of files
IMPORTED, LOCK_OF_STORE = "imported", ".locks/store"   # below the folder of runs; whoever reads the store opens its lock
MAX_IN_A_FOLDER = 1000      # files of a folder that the notebook names
TOO_MANY = "more files than are looked at"      # stands for the digest of such a folder, which none ever equals
WRITES = os.O_WRONLY | os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_TRUNC


def of_file(path: Path) -> str:
    """SHA-256 of a file's content; nothing where there is no file that can be read."""
    try:
        stat = path.stat()
        return _of_content(path, stat.st_size, stat.st_mtime_ns, stat.st_ino)
    except OSError:
        return ""


@functools.lru_cache(4096)
def _of_content(path: Path, *version: int) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def today(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """Digests of the files `names`, each named from `folder` on."""
    return {name: _today(folder, name) for name in names}


def _today(folder: Path, name: str) -> str:
    if name == STORE:
        return of_imports()
    if name.endswith(os.sep):
        return of_listing(folder / name)
    path = folder / name
    return of_names(map(str, _files(folder, name))) if _is_pattern(name) and not path.is_file() else of_file(path)


def of_listing(place: Path) -> str:
    """A digest of the names in a folder, but for hidden and compiled files; nothing where there is no such folder."""
    try:
        return of_names(name for name in os.listdir(place) if not name.startswith((".", "__pycache__")))
    except OSError:
        return ""


def of_names(names: Iterable[str]) -> str:
    """A digest of some names, in whatever order they come."""
    return digest([json.dumps(sorted(names)).encode()])


def of_imports() -> str:
    """A digest of all imports in the run store."""
    kept = sorted((runs_folder() / IMPORTED).glob(f"*/{MANIFEST}"))
    return digest([json.dumps([[path.parent.name, of_file(path)] for path in kept]).encode()])


def counts(path: str, folder: Path) -> bool:
    """Whether a file (by its absolute path) can be an input of a notebook in `folder`."""
    ours = (sys.prefix, CACHE, DATA, ROOT / "model", ROOT / "study", runs_folder(), os.environ.get("NUMBA_CACHE_DIR"))
    if any(place and _lies_in(path, place) for place in ours):
        return False
    if _lies_in(path, folder):
        return not any(part.startswith(".") for part in Path(path).relative_to(folder).parts[:-1])
    return not any(_lies_in(path, place) for place in (*OF_THE_SYSTEM, sys.base_prefix)) \
        and not any(part.startswith(".") for part in Path(path).parts)


def _lies_in(path: str, folder: str | Path) -> bool:
    return path.startswith(f"{folder}{os.sep}")


# --- named in the text ----------------------------------------------------------------------------------------------------

def named(folder: Path, code: Iterable[str], values: Any) -> dict[str, str]:
    """Digests of the files that text in quotes or a parameter names, also by a pattern (`*.csv`) or by their folder. A run
    that so names more than `MAX_IN_A_FOLDER` files is never taken for done."""
    texts = {text for cell in code for text in (*QUOTED.findall(cell), *_shell_words(cell))} | set(_texts(values))
    paths = {os.path.abspath(path) for text in texts for path in _files(folder, text)}
    patterns = sorted(text for text in texts if _is_pattern(text) and any(path.is_file() for path in _files(folder, text)))
    names = sorted(os.path.relpath(path, folder) for path in paths
                   if path == os.path.abspath(folder) or counts(path, folder))
    listings = sorted({os.path.relpath(place, folder) + os.sep for text in texts for place in _folders(folder, text)})
    return today(folder, [*names, *patterns, *listings]) | {name: TOO_MANY for name in names if (folder / name).is_dir()}


def _shell_words(cell: str) -> Iterator[str]:
    """Words of lines that go to the shell or to a magic, and of a cell that does as a whole."""
    lines = cell.splitlines()
    for line in lines:
        if of_shell := ([line] if cell.startswith("%%") else SHELL.findall(line)):
            yield from filter(None, BETWEEN_WORDS.split(of_shell[0]))


def _texts(values: Any) -> Iterator[str]:
    if isinstance(values, str):
        yield values
    elif isinstance(values, dict | list):
        for value in values.values() if isinstance(values, dict) else values:
            yield from _texts(value)


def _files(folder: Path, text: str) -> list[Path]:
    try:
        place = folder / text
        if place.is_file():
            return [place]
        if place.is_dir() and _lies_in(os.path.abspath(place), folder):
            return _or_too_many(_below(place), place)
        if _is_pattern(text):
            return _or_too_many((path for path in folder.glob(text) if path.is_file()), _fixed_part(folder, text))
    except (OSError, ValueError, NotImplementedError):      # of text that is no path
        pass
    return []


def _folders(folder: Path, text: str) -> list[str]:
    """The folder that a text names, and those below it, but for hidden ones. What reads it whole may list it unseen."""
    try:
        place = os.path.abspath(folder / text)
        if not _lies_in(place, folder) or not os.path.isdir(place):
            return []
        return [name for name, _ in itertools.islice(_walk(place), MAX_IN_A_FOLDER)]
    except (OSError, ValueError):      # of text that is no path
        return []


def _is_pattern(text: str) -> bool:
    return bool(PATTERN.search(text)) and not os.path.isabs(text)


def _fixed_part(folder: Path, pattern: str) -> Path:
    """The folder that all files of a pattern lie below."""
    return folder.joinpath(*itertools.takewhile(lambda part: not re.search(r"[*?[]", part), Path(pattern).parts))


def _or_too_many(files: Iterator[Path], place: Path) -> list[Path]:
    """The files, or the folder that they are in if they are more than `MAX_IN_A_FOLDER`."""
    first = list(itertools.islice(files, MAX_IN_A_FOLDER + 1))
    return first if len(first) <= MAX_IN_A_FOLDER else [place]


def _below(place: Path) -> Iterator[Path]:
    """The files in a folder and those below it, but for hidden ones."""
    for folder, files in _walk(place):
        yield from (Path(folder, name) for name in files)


def _walk(place: str | Path) -> Iterator[tuple[str, list[str]]]:
    """A folder and those below it, but for hidden ones, each with its files."""
    for folder, folders, files in os.walk(place):
        folders[:] = [name for name in folders if not name.startswith((".", "__pycache__"))]
        yield folder, files


# --- seen while the notebook runs -----------------------------------------------------------------------------------------

def note(path: str, flags: int, run: Path, folder: Path) -> None:
    """Note in the run's folder that a file is about to be opened. Compiled modules stand for their source."""
    if os.sep + "__pycache__" + os.sep in path:
        if flags & WRITES or not path.endswith(".pyc"):
            return
        path = source_from_cache(path)
    if path == str(runs_folder() / LOCK_OF_STORE):
        _note(run, STORE, of_imports())
    elif counts(path, folder) and (flags & WRITES or os.path.isfile(path)):
        _note(run, os.path.relpath(path, folder), None if flags & WRITES else of_file(Path(path)))


def note_listing(path: str, run: Path, folder: Path) -> None:
    """Note in the run's folder that a folder, at or below the notebook's, is about to be listed."""
    if (path == str(folder) or _lies_in(path, folder)) and counts(os.path.join(path, "any"), folder):
        _note(run, os.path.relpath(path, folder) + os.sep, of_listing(Path(path)))


def _note(run: Path, name: str, value: str | None) -> None:
    handle = os.open(run / SEEN, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    try:
        os.write(handle, (json.dumps({"name": name, "digest": value}) + "\n").encode())
    finally:
        os.close(handle)


def taken(run: Path, folder: Path, named_before: dict[str, str]) -> dict[str, str]:
    """The inputs of a run that has ended: what it read, and what the text names and the run left as it was."""
    seen = [json.loads(line) for line in (run / SEEN).read_text(encoding="utf-8").splitlines()] \
        if (run / SEEN).exists() else []
    written = {row["name"] for row in seen if row["digest"] is None}
    read: dict[str, str] = {}
    for row in seen:
        if row["digest"] or (row["digest"] is not None and _is_of_names(row["name"])):
            read.setdefault(row["name"], row["digest"])
    left = {name: value for name, value in named_before.items()
            if _is_of_names(name) or value in (_today(folder, name), TOO_MANY)}
    both = {**left, **read}
    names = today(folder, [name for name in both if _is_of_names(name)])    # with what the run wrote
    return {name: value for name, value in sorted({**both, **names}.items())
            if name not in written and (name == STORE or _is_of_names(name) or (folder / name).exists())}


def _is_of_names(name: str) -> bool:
    """Whether an input is the names in a folder, or those of a pattern."""
    return name.endswith(os.sep) or _is_pattern(name)
