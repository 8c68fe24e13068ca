"""Where the command line speaks: results on standard output, all else on standard error.

What is printed is text as it is: `[bold]` and `:x:` in a value are no marks of Rich's.
"""
import contextlib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Column, Table

out = Console(highlight=False, markup=False, emoji=False)
err = Console(stderr=True, highlight=False, markup=False, emoji=False)
GAP = 2     # columns of the terminal between two of a table


class Fitting(Table):
    """A table that gives way to the terminal. Heads wrap first, then cells, between words. Where words would have to be cut,
    each row is a block of names and values."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        widths = _widths(self.columns, options.max_width)
        if widths is None:
            yield from self._blocks()
            return
        for column, width in zip(self.columns, widths, strict=True):
            column.width = width
        yield from super().__rich_console__(console, options)

    def _blocks(self) -> Iterator[RenderableType]:
        names = [str(column.header) for column in self.columns]
        for row in zip(*(column.cells for column in self.columns), strict=True):
            yield str(row[0])
            yield page({f"  {name}": str(cell) for name, cell in zip(names[1:], row[1:], strict=True) if cell})


def _widths(columns: Sequence[Column], room: int) -> list[int] | None:
    """A width for each column, at which no word is cut; None where there is no room for that."""
    room -= GAP * (len(columns) - 1)
    widths = [_widest(column, str.splitlines, str.splitlines) for column in columns]
    for of_cell in (str.splitlines, str.split):
        least = [width if column.no_wrap else _widest(column, str.split, of_cell)
                 for column, width in zip(columns, widths, strict=True)]
        if sum(least) <= room:
            while sum(widths) > room:
                can_give = [place for place, width in enumerate(widths) if width > least[place]]
                widths[max(can_give, key=widths.__getitem__)] -= 1
            return widths
    return None


def _widest(column: Column, of_head: Callable[[str], list[str]], of_cell: Callable[[str], list[str]]) -> int:
    parts = [*of_head(str(column.header)), *itertools.chain.from_iterable(of_cell(str(cell)) for cell in column.cells)]
    return max(map(cell_len, parts), default=1)


def table(*columns: str, whole: str = "") -> Table:
    """A plain table, which fits the terminal. Names in the column `whole`, which one may want to copy, stay in one piece."""
    made = Fitting(box=None, pad_edge=False)
    for name in columns:
        made.add_column(name, overflow="fold", no_wrap=name == whole)
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
    """A bar on the terminal while something is counted, the time passed, and that to come: `tell(done, of)`; each 0 begins
    another one. Nothing in a pipe."""
    with Progress(TextColumn(label), BarColumn(), TextColumn("{task.completed} of {task.total}"), TimeElapsedColumn(),
                  TextColumn("to come"), TimeRemainingColumn(), console=err, transient=True,
                  disable=not err.is_terminal) as progress:
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
