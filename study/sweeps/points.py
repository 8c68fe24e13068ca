"""The points of a sweep: what a notebook's parameters are to be at each, checked before anything runs.

    over(path, {"window_s": 5.0}, [grid("fill=0.5,0.7")], [between("age=1:10")], samples=20, seeds=2, seed=1)

gives a plan (`study.runs.plan`) for each point: every value of a grid, with every sample of a Latin hypercube over the
ranges, with every seed.
"""
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from model.events.streams import stream
from study import errors
from study.errors import UserError
from study.runs import catalogue, parameters
from study.runs.plan import Plan, plan
from study.runs.scalars import Plain, number

SEED = "seed"
MAX_POINTS = 100_000


class Axis(NamedTuple):
    """A parameter, and the values that it takes."""
    name: str
    values: tuple[Any, ...]


class Range(NamedTuple):
    """From low to high; of a logarithmic one the logarithm is spread evenly."""
    name: str
    low: float
    high: float
    is_log: bool


def grid(text: str) -> Axis:
    """`NAME=VALUE,VALUE,…`"""
    name, equals, values = text.partition("=")
    parts = tuple(Plain(part.strip()) for part in values.split(","))
    if not (name and equals and all(parts)):
        raise UserError(f"--grid {text} is not NAME=VALUE,VALUE; write for example --grid n_leaves=8,16,46")
    if len(set(parts)) < len(parts):
        raise UserError(f"--grid {text} has a value twice; give each once")
    return Axis(name, parts)


def between(text: str) -> Range:
    """`NAME=LOW:HIGH`, or `NAME=LOW:HIGH:log`."""
    name, equals, values = text.partition("=")
    *ends, last = [part.strip() for part in values.split(":")]
    is_log = last == "log"
    low, high = ([number(end) for end in (ends if is_log else [*ends, last])] + [None, None])[:2]
    if not (name and equals) or low is None or high is None or len(ends) != 1 + is_log:
        raise UserError(f"--between {text} is not NAME=LOW:HIGH; write for example --between file_gib=1:20, or 1:20:log")
    if not low < high or (is_log and low <= 0):
        raise UserError(f"--between {text} is no range; give the lower end first" + ", above 0" * is_log)
    return Range(name, float(low), float(high), is_log)


def over(notebook: Path, fixed: Mapping[str, Any], grids: Sequence[Axis], ranges: Sequence[Range], samples: int,
         seeds: int, seed: int) -> list[Plan]:
    """A plan for each point, grids first. Raises UserError for a name or a value that the notebook does not take."""
    known = _parameters(notebook)
    swept = [*(axis.name for axis in grids), *(span.name for span in ranges), *[SEED] * (seeds > 1)]
    _refuse_doubled([*(name for name in fixed if name != SEED or seeds == 1), *swept])
    for name in swept:
        if name not in known:
            raise UserError(f"{notebook.stem} has no parameter '{name}'; {errors.meant(name, known, 'see study params')}")
    if ranges and samples < 1:
        raise UserError("--between needs --samples, the number of points in the ranges")
    if samples and not ranges:
        raise UserError("--samples needs --between, the ranges to take them from")
    axes = [*grids, *([_seeds(notebook, fixed, seeds)] if seeds > 1 else [])]
    sampled = _sampled(ranges, known, samples, seed) if ranges else [{}]
    n_points = len(sampled) * math.prod(len(axis.values) for axis in axes)
    if n_points > MAX_POINTS:
        raise UserError(f"the sweep has {n_points} points, more than {MAX_POINTS}; give fewer")
    combined = itertools.product(sampled, *([(axis.name, value) for value in axis.values] for axis in axes))
    return [plan(notebook, {**fixed, **values, **dict(pairs)}) for values, *pairs in combined]


def _parameters(notebook: Path) -> dict[str, parameters.Parameter]:
    listed = catalogue.entry(notebook)
    return {name: parameter
            for name, (_, parameter) in parameters.schema(notebook, listed.parameters if listed else None).items()}


def _seeds(notebook: Path, fixed: Mapping[str, Any], n: int) -> Axis:
    """The seed that is given, or the notebook's own, and those that follow it."""
    listed = catalogue.entry(notebook)
    first = parameters.resolve(notebook, listed.parameters if listed else None, fixed)[SEED]
    if not isinstance(first, int):
        raise UserError(f"the seed of {notebook.stem} is {first!r}, no whole number; leave --seeds out")
    return Axis(SEED, tuple(range(first, first + n)))


def _refuse_doubled(names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise UserError(f"'{name}' is given twice; give it by one of -p, --grid, --between and --seeds")
        seen.add(name)


def _sampled(ranges: Sequence[Range], known: Mapping[str, parameters.Parameter], samples: int, seed: int) -> list[dict]:
    from scipy.stats import qmc  # takes a second to import, and most sweeps sample nothing
    shares = qmc.LatinHypercube(len(ranges), rng=stream(seed, "sweep")).random(samples)
    return [{axis.name: _at(axis, share, known[axis.name].kind) for axis, share in zip(ranges, row, strict=True)}
            for row in shares]


def _at(axis: Range, share: float, kind: str) -> float | int:
    value = axis.low * (axis.high / axis.low) ** share if axis.is_log else axis.low + share * (axis.high - axis.low)
    return round(value) if kind == "int" else float(f"{value:.12g}")
