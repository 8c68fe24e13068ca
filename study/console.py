"""Where the command line speaks: results on standard output, all else on standard error.

What is printed is text as it is: `[bold]` and `:x:` in a value are no marks of Rich's.
"""
import contextlib
from collections.abc import Callable, Iterator, Mapping

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

out = Console(highlight=False, markup=False, emoji=False)
err = Console(stderr=True, highlight=False, markup=False, emoji=False)


def table(*columns: str, whole: str = "") -> Table:
    """A plain table. In a narrow terminal long cells go on in the next line; nothing is cut off. Names in the column
    `whole`, which one may want to copy, stay in one piece from 80 columns on."""
    made = Table(box=None, pad_edge=False)
    for name in columns:
        made.add_column(name, overflow="fold", no_wrap=name == whole and out.width >= 80)
    return made


def page(entries: Mapping[str, str]) -> Table:
    """Names with what there is to say of each beside it; what is long goes on in the next line."""
    made = Table(box=None, pad_edge=False, show_header=False)
    for _ in ("name", "text"):
        made.add_column(overflow="fold")
    for name, text in entries.items():
        made.add_row(name, text)
    return made


@contextlib.contextmanager
def counting(label: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on the terminal while something is counted: `tell(done, of)`; each 0 begins another one. Nothing in a pipe."""
    with Progress(TextColumn(label), BarColumn(), TextColumn("{task.completed} of {task.total}"), TimeElapsedColumn(),
                  console=err, transient=True, disable=not err.is_terminal) as progress:
        def tell(done: int, of: int) -> None:
            if not done:
                progress.add_task(label, total=of)
            progress.update(progress.task_ids[-1], completed=done)
        yield tell


@contextlib.contextmanager
def doing(label: str) -> Iterator[None]:
    """How long something has taken so far, on the terminal. Nothing in a pipe."""
    with Progress(TextColumn(label), TimeElapsedColumn(), console=err, transient=True,
                  disable=not err.is_terminal) as progress:
        progress.add_task(label, total=None)
        yield


def number(value: float) -> str:
    """To four digits; whole from a thousand on."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
