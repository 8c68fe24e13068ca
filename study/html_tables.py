"""A long table below a cell: folded to its title, sorted by a click on a column's name, searched by a word.

    html_tables.table(priors.table(known), "What is not known")

It works without the network and without a kernel, in JupyterLab and on an exported page. The few lines of script stand in
the table itself.
"""
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import pandas as pd
from IPython.display import HTML

LEFT = "text-align: left; vertical-align: top; white-space: normal"
# `this` is the field to type into; the table is the next thing after it.
SEARCH = ("for (const row of this.nextElementSibling.tBodies[0].rows) "
          "row.hidden = !row.textContent.toLowerCase().includes(this.value.toLowerCase())")
# `this` is the name of a column. A second click turns the order round.
SORT = ("const body = this.closest('table').tBodies[0], at = this.cellIndex, down = this.dataset.up === '1'; "
        "const key = row => row.cells[at].dataset.key || row.cells[at].textContent; "
        "const order = (a, b) => key(a) - key(b) || key(a).localeCompare(key(b), undefined, {numeric: true}); "
        "for (const head of this.parentNode.cells) head.dataset.up = '0'; this.dataset.up = down ? '0' : '1'; "
        "body.append(...[...body.rows].sort((a, b) => down ? order(b, a) : order(a, b)))")


def table(frame: pd.DataFrame, title: str, digits: int = 2,
          keys: Mapping[str, Sequence[float | None]] | None = None) -> HTML:
    """`keys`: of a column whose texts do not say the order, such as 0.7 ms beside 62 µs, the numbers to sort by."""
    heads = "".join(f'<th style="{LEFT}; cursor: pointer" title="sort" onclick="{escape(SORT)}">{escape(str(name))}</th>'
                    for name in frame.columns)
    rows = "".join(_row(list(frame.columns), cells, n, digits, keys or {})
                   for n, cells in enumerate(frame.itertuples(index=False)))
    return HTML(f"<details><summary>{escape(title)} ({len(frame)} rows)</summary>"
                f'<input type="search" placeholder="search" aria-label="search" oninput="{escape(SEARCH)}">'
                f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></details>")


def _row(names: list, cells: Sequence, n: int, digits: int, keys: Mapping) -> str:
    return "<tr>" + "".join(_cell(cell, digits, keys[name][n] if name in keys else None)
                            for name, cell in zip(names, cells, strict=True)) + "</tr>"


def _cell(value: Any, digits: int, key: float | None) -> str:
    text = "–" if value != value else f"{value:z.{digits}f}" if isinstance(value, float) else str(value)
    data = "" if key is None else f' data-key="{key!r}"'
    return f'<td style="{LEFT}"{data}>{escape(text)}</td>'
