"""A sweep: its points are shared out to workers, and each row is written as it comes.

    with Workers(2, None) as workers:
        made = carry_out(sweep, workers, console=err)

Rows are written by the client alone, into a file of the sweep below `papermill_runs/sweeps/`. The same sweep goes on where
it was stopped: what has gone well is not done again. A worker that is killed loses nothing, as its point goes to another.
"""
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from study.project import digest, exclusively, runs_folder, write_atomically
from study.sweeps.cluster import Workers
from study.sweeps.tasks import Row, table

AHEAD = 3           # points that a worker has been given or will be next
FOLDER = "sweeps"


class Sweep(NamedTuple):
    """`points`: what varies at each, indexed by the key of the point. `arguments`: of each, what `task` is called with
    behind its key."""
    name: str
    task: Callable[..., Row]
    points: pd.DataFrame
    arguments: list[tuple]

    @property
    def file(self) -> Path:
        """Of its rows as they come: a JSON object a line."""
        same = digest([self.name.encode(), *(key.encode() for key in self.points.index)])[:16]
        return runs_folder() / FOLDER / self.name / f"{same}.jsonl"

    @property
    def table(self) -> Path:
        """Of all rows, once there are all."""
        return self.file.with_suffix(".parquet")


class Made(NamedTuple):
    """What a call did. `busy`: the share (%) of the workers' time that tasks took."""
    rows: list[Row]
    n_before: int           # rows that an earlier call had made
    seconds: float
    workers: int
    busy: float

    @property
    def failed(self) -> list[Row]:
        """Rows of points that did not go well."""
        return [row for row in self.rows if row.status != "ok"]


def done(sweep: Sweep) -> dict[str, Row]:
    """Rows of the sweep that went well, by the key of the point. A line that a kill has cut off does not count."""
    rows = {}
    for line in sweep.file.read_text().splitlines() if sweep.file.exists() else ():
        try:
            row = Row(**json.loads(line))
        except (ValueError, TypeError):
            continue
        if row.status == "ok":
            rows[row.point] = row
    return rows


def carry_out(sweep: Sweep, workers: Workers, console: Console) -> Made:
    """All points that have no row yet. At the end, if all went well, `Sweep.table` is written."""
    sweep.file.parent.mkdir(parents=True, exist_ok=True)
    with exclusively(runs_folder() / ".locks" / sweep.file.stem):
        before = done(sweep)
        waiting = [(point, given) for point, given in zip(sweep.points.index, sweep.arguments, strict=True)
                   if point not in before]
        made, seconds, n_workers = dict(before), 0.0, 0
        if waiting:
            n_workers = sum(workers.client.nthreads().values())
            start = time.perf_counter()
            with _progress(console) as progress:
                bar = progress.add_task(sweep.name, total=len(sweep.points), completed=len(before))
                for row in _rows(workers.client, sweep.task, waiting, n_workers):
                    _append(sweep.file, row)
                    made[row.point] = row
                    progress.advance(bar)
            seconds = time.perf_counter() - start
        rows = [made[point] for point in sweep.points.index if point in made]
        if all(row.status == "ok" for row in rows):
            write_atomically(sweep.table, table(sweep.points, rows).to_parquet())
    took = sum(row.seconds for row in rows if row.point not in before)
    return Made(rows, len(before), seconds, n_workers, 100 * took / max(seconds * n_workers, 1e-9))


def _rows(client: Any, task: Callable[..., Row], waiting: list[tuple[str, tuple]], n_workers: int) -> Iterator[Row]:
    """Rows as they come. An error of the task itself ends the sweep; a point whose worker dies again and again fails."""
    from distributed import KilledWorker, as_completed
    coming = iter(waiting)
    under_way = as_completed()
    points = {}

    def give_next() -> None:
        if (following := next(coming, None)) is not None:
            point, given = following
            future = client.submit(task, point, *given, pure=False)
            points[future.key] = point
            under_way.add(future)

    for _ in range(AHEAD * n_workers):
        give_next()
    for future in under_way:
        try:
            yield future.result()
        except KilledWorker:
            yield Row(points[future.key], "died", "its worker died again and again, perhaps for want of memory", 0.0, {})
        give_next()


def _append(file: Path, row: Row) -> None:
    line = json.dumps(row._asdict()) + "\n"
    with open(file, "a+b") as rows:
        if rows.tell() and _is_cut_off(rows):
            line = "\n" + line
        rows.write(line.encode())
        rows.flush()
        os.fsync(rows.fileno())


def _is_cut_off(rows: Any) -> bool:
    rows.seek(-1, os.SEEK_END)
    return bool(rows.read(1) != b"\n")


def _progress(console: Console) -> Progress:
    return Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
                    TextColumn("left"), TimeRemainingColumn(), console=console, transient=True,
                    disable=not console.is_terminal)
