"""Values of priors and conditions as people write them: 16 GiB, 11 ms, 24 segments; yes or no.

    readable.number(prior, 8.5e6)           "8.5 ms", of one in ns
    readable.ends(prior)                    ("8.46 to 8.98 ms", "8.72 ms"): all in one unit
    readable.choice(switch, 17179869184)    "16 GiB", of one whose name ends in _bytes
    table.pipe(readable.scaled, ["before", "after"])        3.3 MB/s in place of 3302604.8 B/s
"""
from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING

import pandas as pd

if TYPE_CHECKING:
    from study.documents.priors import Prior, Switch

# Larger units of those in `data/priors.toml` and in sheets, how much larger, and from how many of them on they are used.
LARGER = {"ns": (("s", 1e9, 0.1), ("ms", 1e6, 0.1), ("µs", 1e3, 0.1)),
          "B/s": (("GB/s", 1e9, 1), ("MB/s", 1e6, 1), ("kB/s", 1e3, 1)),
          "B": (("GB", 1e9, 1), ("MB", 1e6, 1), ("kB", 1e3, 1)), "ps/B": (("ns/B", 1e3, 0.1),)}
BINARY = (("GiB", 2**30, 1), ("MiB", 2**20, 1), ("KiB", 2**10, 1))
# Units of fields of device sheets, by how their names end.
ENDINGS = {"_ns": "ns", "_bytes": "B", "_rate": "B/s", "_sustained": "B/s", "_iops": "IOPS"}
LONG = 10_000       # from here on thousands are set apart


def number(prior: "Prior", value: float) -> str:
    """In the largest unit in which it is not too small."""
    unit, size = _unit(prior, (value,), value)
    return f"{_digits(value, size, prior)} {unit}".removesuffix(" 1")


def ends(prior: "Prior") -> tuple[str, str]:
    """Range, and central value, in the unit of the latter."""
    unit, size = _unit(prior, (prior.low, prior.central, prior.high), prior.central)
    low, central, high = (_digits(value, size, prior, digits=4) for value in (prior.low, prior.central, prior.high))
    return f"{low} to {high} {unit}".removesuffix(" 1"), f"{central} {unit}".removesuffix(" 1")


def choice(switch: "Switch", value: object) -> str:
    """A choice of a condition. Those that are 0 or 1 are no or yes."""
    if set(switch.choices) <= {0, 1} and value in (0, 1):
        return "yes" if value else "no"
    if isinstance(value, Real) and (n_bytes := _bytes(switch.name, float(value))) is not None:
        unit, size = _largest(BINARY, "B", n_bytes)
        return f"{n_bytes / size:g} {unit}"
    if switch.name.endswith(("_pct", "_percent")):
        return f"{value} %"
    return str(value)


def scaled(frame: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """A table whose rows have a `unit`, with the numbers in `columns` in the largest unit in which the first is not too
    small."""
    rows = zip(frame["unit"], frame[columns[0]], strict=True)
    units = [_largest(LARGER.get(unit, ()), unit, value) for unit, value in rows]
    sizes = pd.Series([size for _, size in units], frame.index)
    return frame.assign(unit=[unit for unit, _ in units], **{name: frame[name] / sizes for name in columns})


def _bytes(name: str, value: float) -> float | None:
    """Of what a name says is a size; else None."""
    return value * 2**10 if name.endswith("_kib") else value if name.endswith(("_bytes", "_size")) else None


def _unit(prior: "Prior", values: Sequence[float], of: float) -> tuple[str, float]:
    """Name and size. Bytes that are whole KiB are of those."""
    unit = prior.unit or next((unit for ending, unit in ENDINGS.items() if prior.name.endswith(ending)), "1")
    is_binary = unit == "B" and all(value % 2**10 == 0 for value in values)
    return _largest(BINARY if is_binary else LARGER.get(unit, ()), unit, of)


def _largest(units: Sequence[tuple[str, float, float]], smallest: str, value: float) -> tuple[str, float]:
    return next(((unit, size) for unit, size, least in units if abs(value) >= least * size), (smallest, 1.0))


def _digits(value: float, size: float, prior: "Prior", digits: int = 3) -> str:
    """Significant ones, and never an exponent. What the sheet of a device has is whole in the model."""
    scaled = value / size
    if (size == 1.0 and not prior.unit) or abs(scaled) >= 10 ** digits:
        return f"{scaled:,.0f}" if abs(scaled) >= LONG else f"{scaled:.0f}"
    return f"{scaled:.{digits}g}"
