"""Many runs, a few at a time, with progress; Ctrl-C or SIGTERM leaves finished runs intact and no kernel behind."""
import concurrent.futures
import contextlib
import os
import signal
import threading
from collections.abc import Iterable, Iterator

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from study import kernels
from study.plan import UNLIMITED, Limits, Outcome, Plan, done_before
from study.runner import run


class Interrupted(Exception):
    """A signal asked to stop; carries the outcomes so far."""

    def __init__(self, signum: int, outcomes: list[Outcome]):
        super().__init__(signal.Signals(signum).name)
        self.signum, self.outcomes = signum, outcomes


def run_all(plans: Iterable[Plan], workers: int | None = None, limits: Limits = UNLIMITED,
            console: Console | None = None) -> list[Outcome]:
    """Run all plans, `workers` at a time (default: one per processor), in threads: the work is in the kernels. What others
    need runs before them.

    Outcomes come in the order of the plans. A run that fails does not stop the others. Raises Interrupted.
    """
    plans = list(plans)
    console = console or Console(stderr=True)
    stopped: list[int] = []
    with _signals(stopped), _progress(console) as progress, \
            concurrent.futures.ThreadPoolExecutor(workers or os.cpu_count()) as pool:
        waiting, futures = list(plans), {}
        try:
            while waiting or not all(future.done() for future in futures.values()):
                for plan in _ready(waiting, futures):
                    waiting.remove(plan)
                    futures[plan.run_id] = pool.submit(_one, plan, limits, progress, console, stopped)
                running = [future for future in futures.values() if not future.done()]
                concurrent.futures.wait(running, timeout=0.2, return_when="FIRST_COMPLETED")    # signals are heard
                if stopped:
                    kernels.kill_all()
        finally:
            for future in futures.values():
                future.cancel()
    outcomes = [futures[plan.run_id].result() for plan in plans if plan.run_id in futures]
    if stopped:
        raise Interrupted(stopped[0], outcomes)
    return outcomes


def _ready(waiting: list[Plan], futures: dict[str, concurrent.futures.Future]) -> list[Plan]:
    """Those of the plans that need nothing which is still to end."""
    busy = {plan.run_id for plan in waiting} | {run_id for run_id, future in futures.items() if not future.done()}
    return [plan for plan in waiting if not busy & {needed.run_id for needed in plan.needs}]


def _one(plan, limits, progress, console, stopped) -> Outcome:
    if stopped:
        return Outcome(plan, "interrupted", "not started")
    task = None if done_before(plan) else progress.add_task(plan.name, total=None)

    def on_cell(cell, of):
        progress.update(task, completed=cell, total=of)

    try:
        outcome = run(plan, limits, on_cell if task is not None else lambda cell, of: None, lambda: bool(stopped))
    finally:
        if task is not None:
            progress.remove_task(task)
    if outcome.status != "ok":
        where = "" if outcome.status == "not run" else f"; see {plan.folder}"
        console.print(f"[red]{plan.name}: {outcome.status}[/] ({outcome.reason}){where}", soft_wrap=True)
    elif outcome.again:
        console.print(f"{plan.name}: done in {outcome.seconds:.1f} s", soft_wrap=True)
    return outcome


def _progress(console: Console) -> Progress:
    return Progress(TextColumn("{task.description}"), BarColumn(), TextColumn("cell {task.completed} of {task.total}"),
                    TimeElapsedColumn(), console=console, transient=True, disable=not console.is_terminal)


@contextlib.contextmanager
def _signals(stopped: list[int]) -> Iterator[None]:
    """Note SIGINT and SIGTERM in `stopped` instead of dying of them. Outside the main thread they can't be caught."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, lambda number, frame: stopped.append(number))
              for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
