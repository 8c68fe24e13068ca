"""What an interrupted run had simulated of an ensemble, a file for each call. The next run of the same goes on from there.

    folder = folder_of(made_from)       of these calls, this code and these data
    (rows, pools), was_there = known_or_made(folder, 7, simulate)     of call 7: read, or simulated and kept
    done(folder)                        all are there, so that the files are no longer needed

A run is interrupted by a limit of time, by Ctrl-C, or with its machine. Files lie in the folder of runs, below FOLDER.
"""
import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from study.project import digest, runs_folder, write_atomically

FOLDER = ".interrupted"
ROWS, POOLS, SECONDS = "rows", "pools", "processor_s"
Content = tuple[list[dict[str, Any]], list[dict[str, Any]]]     # rows, and the pools that were noted with them


def folder_of(made_from: dict[str, str]) -> Path:
    """Where calls of an ensemble are kept that is made from all this."""
    return runs_folder() / FOLDER / digest([json.dumps(made_from, sort_keys=True).encode()])[:16]


def known_or_made(folder: Path, number: int, make: Callable[[], Content]) -> tuple[Content, bool]:
    """Rows and pools of call `number`, and whether they were there. A file that cannot be read counts as none."""
    path = folder / f"{number}.json"
    if (known := _read(path)) is not None:
        return (known[ROWS], known[POOLS]), True
    begin = time.thread_time()
    rows, pools = make()
    content = {ROWS: rows, POOLS: pools, SECONDS: time.thread_time() - begin}
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps(content, default=lambda number: number.item()))
    return (rows, pools), False


def seconds(folder: Path) -> float:
    """Processor time that the calls took which are there, s."""
    return sum(known[SECONDS] for path in folder.glob("*.json") if (known := _read(path)) is not None)


def count(folder: Path) -> int:
    """How many calls are there."""
    return sum(1 for _ in folder.glob("*.json"))


def done(folder: Path) -> None:
    """Remove what is no longer needed."""
    shutil.rmtree(folder, ignore_errors=True)


def _read(path: Path) -> dict[str, Any] | None:
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return known if isinstance(known, dict) and known.keys() == {ROWS, POOLS, SECONDS} else None
