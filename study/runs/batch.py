"""Many runs, a few at a time, with progress; Ctrl-C or SIGTERM leaves finished runs intact and no kernel behind.

Whenever a processor is free, of the runs that need nothing which is still to end the most urgent one begins. That is the one
from which on most time is needed, by itself and by those that need it. So a batch does not end with one long run by itself.
"""
import concurrent.futures
import contextlib
import dataclasses
import os
import signal
import threading
from collections.abc import Container, Iterable, Iterator

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from study.console import err
from study.runs import catalogue, kernels
from study.runs.notebook_names import in_own_names
from study.runs.plan import UNLIMITED, Limits, Outcome, Plan, done_before
from study.runs.runner import run


class Interrupted(Exception):
    """A signal asked to stop; carries the outcomes so far."""

    def __init__(self, signum: int, outcomes: list[Outcome]):
        super().__init__(signal.Signals(signum).name)
        self.signum, self.outcomes = signum, outcomes


def run_all(plans: Iterable[Plan], workers: int | None = None, limits: Limits = UNLIMITED,
            console: Console | None = None) -> list[Outcome]:
    """Run all plans, `workers` at a time (default: one per processor), in threads: the work is in the kernels. What others
    need runs before them, what takes long before what does not.

    Outcomes come in the order of the plans. A run that fails does not stop the others. Raises Interrupted.
    """
    plans = list(plans)
    console = console or err
    stopped: list[int] = []
    workers = workers or os.cpu_count() or 1
    with _signals(stopped), _progress(console) as progress, concurrent.futures.ThreadPoolExecutor(workers) as pool:
        waiting = by_urgency(plans)
        futures: dict[str, concurrent.futures.Future] = {}
        running: dict[str, concurrent.futures.Future] = {}
        try:
            while waiting or running:
                while len(running) < workers and (plan := next_of(waiting, running)):
                    waiting.remove(plan)
                    futures[plan.run_id] = running[plan.run_id] = pool.submit(
                        _run_in_turn, plan, limits, progress, console, stopped)
                concurrent.futures.wait(running.values(), timeout=0.2, return_when="FIRST_COMPLETED")   # signals are heard
                running = {run_id: future for run_id, future in running.items() if not future.done()}
                if stopped:
                    kernels.kill_all()
        finally:
            for future in futures.values():
                future.cancel()
    outcomes = [futures[plan.run_id].result() for plan in plans if plan.run_id in futures]
    if stopped:
        raise Interrupted(stopped[0], outcomes)
    return outcomes


def by_urgency(plans: list[Plan]) -> list[Plan]:
    """The most urgent first; of equals, the one that came first."""
    minutes = {plan.run_id: _minutes(plan) for plan in plans}
    urgency = dict(minutes)
    for plan in sorted(plans, key=_depth, reverse=True):        # who needs others before those
        for needed in plan.needs:
            if needed.run_id in urgency:
                urgency[needed.run_id] = max(urgency[needed.run_id], minutes[needed.run_id] + urgency[plan.run_id])
    return sorted(plans, key=lambda plan: -urgency[plan.run_id])


def _minutes(plan: Plan) -> float:
    return (catalogue.entry(plan.notebook) or catalogue.Notebook()).minutes


def _depth(plan: Plan) -> int:
    return 1 + max(map(_depth, plan.needs), default=0)


def next_of(waiting: list[Plan], running: Container[str]) -> Plan | None:
    """The first of `waiting` that needs nothing which still waits or runs."""
    ahead = {plan.run_id for plan in waiting}
    return next((plan for plan in waiting
                 if not any(needed.run_id in ahead or needed.run_id in running for needed in plan.needs)), None)


def _run_in_turn(plan: Plan, limits: Limits, progress: Progress, console: Console, stopped: list[int]) -> Outcome:
    if stopped:
        return Outcome(plan, "interrupted", "not started")
    task = None if done_before(plan) else progress.add_task(plan.name, total=None)

    def on_cell(cell: int, of: int) -> None:
        if task is not None:
            progress.update(task, completed=cell, total=of)

    try:
        outcome = run(plan, limits, on_cell, lambda: bool(stopped))
    finally:
        if task is not None:
            progress.remove_task(task)
    if outcome.status != "ok":
        if outcome.reason and catalogue.entry(plan.notebook):
            outcome = dataclasses.replace(outcome, reason=in_own_names(outcome.reason, plan.parameters))
        where = "" if outcome.status == "not run" else f"; see {plan.folder}"
        message = Text.assemble((f"{plan.name}: {outcome.status}", "red"), f" ({outcome.reason}){where}")
        console.print(message, soft_wrap=True)
    elif outcome.again:
        left = f"; {outcome.reason}" if outcome.reason else ""
        console.print(f"{plan.name}: done in {outcome.seconds:.1f} s{left}", soft_wrap=True)
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
