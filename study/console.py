"""Where the command line speaks: results on standard output, all else on standard error.

What is printed is text as it is: `[bold]` and `:x:` in a value are no marks of Rich's.
"""
from rich.console import Console
from rich.table import Table

out = Console(highlight=False, markup=False, emoji=False)
err = Console(stderr=True, highlight=False, markup=False, emoji=False)


def table(*columns: str) -> Table:
    """A plain table. In a narrow terminal long cells go on in the next line; nothing is cut off."""
    made = Table(box=None, pad_edge=False)
    for name in columns:
        made.add_column(name, overflow="fold")
    return made


def number(value: float) -> str:
    """To four digits; whole from a thousand on."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
