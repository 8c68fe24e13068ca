"""A short table below a cell, open; a long one is folded by `study.html_tables`.

    steps.pipe(short_tables.shown, digits=1)
"""
from numbers import Number

import pandas as pd
from pandas.io.formats.style import Styler

LEFT = "text-align: left"


def shown(frame: pd.DataFrame, digits: int = 2, none: str = "–", thousands: str | None = None) -> Styler:
    """Words to the left, numbers to the right with so many digits, `none` where there is nothing, or an empty text. Rows
    that are only numbered go without their numbers."""
    is_numbered = pd.api.types.is_integer_dtype(frame.index.dtype)
    frame = frame.replace("", None)
    frame = frame.reset_index(drop=True) if is_numbered else frame
    words = [name for name in frame if not _has_numbers(frame[name])]
    heads = [f"th.col{frame.columns.get_loc(name)}" for name in words]
    styled = frame.map(_without_minus_zero, digits=digits).style.format(precision=digits, na_rep=none, thousands=thousands)
    styled.set_table_styles([{"selector": head, "props": LEFT} for head in ("th.row_heading", *heads)])
    styled.set_properties(subset=words, **{"text-align": "left"})
    return styled.hide(axis="index") if is_numbered else styled


def _without_minus_zero(value: object, digits: int) -> object:
    return 0.0 if isinstance(value, float) and abs(value) < 0.5 * 10.0**-digits else value


def _has_numbers(column: pd.Series) -> bool:
    """And nothing else, but for gaps."""
    values = column.dropna()
    return len(values) > 0 and all(isinstance(value, Number) and not isinstance(value, bool) for value in values)
