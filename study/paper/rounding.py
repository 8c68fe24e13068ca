"""Numbers as text: exact, and rounded to what their interval deserves.

A number with an interval is `x-low`, `x-middle` or `x-high` of one notebook, or an `x` beside them. Its last digit is the
largest power of ten that is no more than a tenth of the interval's width. So rounding moves an end by a twentieth of it
at most. Of a number without an interval nothing is known of its digits: whole ones stay, others keep three.
"""
import math
import re
from collections.abc import Mapping
from decimal import ROUND_HALF_EVEN, Decimal

ENDS = re.compile(r"(?P<stem>.+)[-.](?:low|middle|high)")
DIGITS = 3      # of a number without an interval
THIN = "\u2009"
MINUS = "−"
SMALL = Decimal("0.0001")      # what is less has a power of ten
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def rounded(values: Mapping[str, float]) -> dict[str, str]:
    """Every number by its name, as text."""
    return {name: text(value, _place(name, value, values)) for name, value in values.items()}


def text(value: float, place: int | None = None) -> str:
    """A number for readers: a true minus, thousands set apart from five digits on, a power of ten where it is very small.
    `place`: the power of ten of its last digit; None leaves all digits."""
    number = Decimal(repr(value))
    if place is not None:
        number = number.quantize(Decimal(1).scaleb(place), ROUND_HALF_EVEN)
    exponent = number.adjusted() if 0 < abs(number) < SMALL else 0
    shown = format(abs(number).scaleb(-exponent), ",f" if abs(number) >= 10_000 else "f").replace(",", THIN)
    shown += f"×10{str(exponent).translate(RAISED)}" if exponent else ""
    return MINUS + shown if number < 0 else shown


def _place(name: str, value: float, values: Mapping[str, float]) -> int | None:
    """The power of ten of the last digit that is shown; None where all are."""
    ends = ENDS.fullmatch(name)
    width = _width(ends["stem"] if ends else name, values)
    if width > 0:
        return math.floor(math.log10(width / 10))
    if isinstance(value, int) or value == int(value):
        return None
    return math.floor(math.log10(abs(value))) - DIGITS + 1


def _width(stem: str, values: Mapping[str, float]) -> float:
    """Of the interval of a quantity; 0 where there is none."""
    return max(values.get(f"{stem}{mark}high", 0) - values.get(f"{stem}{mark}low", 0)
               if {f"{stem}{mark}low", f"{stem}{mark}high"} <= values.keys() else 0 for mark in "-.")
