"""Runs as a user gives them: a folder is one, and files that are given beside each other are another."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from study.errors import UserError
from study.given_files import refuse_endless

MAX_BYTES = 2**36  # of a file: a log of ten million transactions is 400 MB
MAX_FILES = 10_000  # of a folder


class Given(NamedTuple):
    """A run as it was given: files, with the names that the user knows them by."""

    label: str
    files: list[tuple[Path, str]]
    passed_over: list[str]


def given(paths: Sequence[Path], label: str | None = None) -> list[Given]:
    """The runs that paths name. Raises UserError."""
    folders = [path for path in paths if path.is_dir()]
    files = [path for path in paths if not path.is_dir()]
    for path in files:
        if not path.exists():
            raise UserError(f"{path} is not there; check the path")
        refuse_endless(path, MAX_BYTES)
        if not path.is_file():
            raise UserError(f"{path} is no plain file, so it cannot be read twice; write it to a file first")
    runs = [Given(label or folder.resolve().name, *_below(folder)) for folder in folders]
    if files:
        runs.append(Given(label or files[0].stem, _named(files), []))
    if label and len(runs) > 1:
        raise UserError(f"--label names one run, but {len(runs)} were given (each folder is one); import them one by one")
    return runs


def _named(files: Sequence[Path]) -> list[tuple[Path, str]]:
    """By their names alone, where these differ."""
    names = [path.name for path in files]
    return [(path, path.name if names.count(path.name) == 1 else str(path)) for path in dict.fromkeys(files)]


def _below(folder: Path) -> tuple[list[tuple[Path, str]], list[str]]:
    """Files of a folder and of those below it; links and hidden files are passed over."""
    files, passed_over = [], []
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and not Path(parent, name).is_symlink())
        for name in sorted(names):
            path = Path(parent, name)
            shown = path.relative_to(folder).as_posix()
            if path.is_symlink() or not path.is_file():
                passed_over.append(f"{shown}: a link or no plain file")
            elif not name.startswith("."):
                refuse_endless(path, MAX_BYTES)
                files.append((path, shown))
        if len(files) > MAX_FILES:
            raise UserError(f"{folder} has more than {MAX_FILES} files; give the folder of one run")
    if not files:
        raise UserError(f"{folder} has no files to import; check the path")
    return files, passed_over
