"""The default output of zpool iostat, with `-v`, `-l` and `-q` together or not: a row for each pool and vdev."""

import itertools
import math
from typing import NamedTuple

from study.ingest import text
from study.ingest.reading import Clock, Damaged, Quantity, Reading, Series, Source
from study.ingest.zpool_iostat.layouts import BASE, EITHER, LAYOUTS, OLD_QUEUES
from study.ingest.zpool_iostat.report_lines import DASHES, Line, Lines, is_value

TITLES = ("logs", "cache", "special", "dedup", "spares")


class Block(NamedTuple):
    """What stands between two times, or two headers."""

    at: float | None
    rows: dict[str, list[float]]


def read(reading: Reading, source: Source) -> None:
    """A series of all pools and vdevs, and the first report apart. Raises Damaged."""
    lines = Lines(reading, source)
    blocks, header, is_raw = _blocks(lines)
    if not blocks:
        return
    width = len(next(iter(blocks[0].rows.values())))
    release, names = OLD_QUEUES if width == EITHER and _is_of_queues(source, header, blocks) else LAYOUTS[width]
    reading.dialect = ", ".join(filter(None, [reading.dialect, f"{release}, {'-p' if is_raw else 'human numbers'}"]))
    if not is_raw:
        reading.warnings.append(
            f"{source.name} was recorded without -p: numbers are rounded down to two or three digits, times to whole units"
        )
    if len(blocks) > 1 and len(blocks[-1].rows) < len(blocks[-2].rows):
        lost = sorted(set(blocks[-2].rows) - set(blocks[-1].rows))
        reading.problems.append(
            f"the last report of {source.name} lacks {lost[0] if lost else 'rows'}, so the file is cut off or a pool is gone"
        )
    elif len({frozenset(block.rows) for block in blocks}) > 1:
        reading.warnings.append(f"pools or vdevs come and go in {source.name}")
    stamps, clock = lines.clock([block.at for block in blocks])
    n_whole = 0 if lines.of_interval() else 1
    _series(reading, source, blocks, n_whole, stamps, clock, [Quantity(name, *_unit(name)) for name in names])


def _blocks(lines: Lines) -> tuple[list[Block], str, bool]:
    """The reports that have rows, the headings, and whether all numbers are raw ones. Lines that do not fit are refused."""
    reading, blocks, names = lines.reading, list[Block](), _Names()
    report, width, expected, is_raw, header = 0, None, None, True, ""
    for line in lines.lines():
        name, *values = line.words
        if text.is_omission(line.shown):
            lines.refuse(line, text.OMITTED)
            continue
        if line.report != report:
            report = line.report
            blocks.append(Block(line.at, {}))
        if _is_heading(line):
            expected = lines.n_numbers(line) or expected
            reading.other_lines += 1
            names.section, header = "", f"{header} {line.shown}"
        elif len(values) not in LAYOUTS:
            lines.refuse(line, _why_not(line, width))
        elif expected is not None and len(values) != expected:
            lines.refuse(line, f"it has {len(values)} numbers, and the heading above it {expected}")
        elif width is not None and len(values) != width:
            lines.refuse(line, f"it has {len(values)} numbers, and lines before it {width}")
        elif name in TITLES and all(value == "-" for value in values):
            names.section = name
            reading.other_lines += 1
        elif (cells := lines.cells(line, values)) is not None:
            width = len(values)
            is_raw = is_raw and all(cell.is_raw for cell in cells)
            if not blocks and _indent(line) and "vdev" not in header.split():
                raise Damaged(
                    f"line {line.n} of {lines.source.name} is of a vdev, and no pool stands above it, so the beginning is "
                    "cut off"
                )
            _add_row(blocks, names, line, [cell.value for cell in cells])
            reading.rows += 1
    return [block for block in blocks if block.rows], header, is_raw


def _why_not(line: Line, width: int | None) -> str:
    """Why a line has numbers of no layout, and what the user does."""
    if not any(map(is_value, line.words[1:])):
        return f"'{line.shown.strip()[:40]}' is no line of zpool iostat; take off what it did not print"
    if width is not None and len(line.words) % (width + 1) == 0:
        return f"{len(line.words) // (width + 1)} rows stand in it side by side; put each on a line of its own"
    known = ", ".join(map(str, sorted(LAYOUTS)))
    return f"it has {len(line.words) - 1} numbers, but a line of zpool iostat has {known}; record without -c"


def _is_heading(line: Line) -> bool:
    words = line.words
    return bool(DASHES.fullmatch(line.shown)) or words[1:3] == ["alloc", "free"] or words[0] in ("capacity", "pool", "vdev")


class _Names:
    """Names of rows by how far they are indented: pool/section/vdev/leaf."""

    def __init__(self) -> None:
        self.root, self.section, self.path = "", "", list[tuple[int, str]]()

    def number(self, suffix: str) -> None:
        """Put behind the name of the last row, for what stands below it: up to 0.8 all mirrors of a pool have one name."""
        self.path[-1] = (self.path[-1][0], self.path[-1][1] + suffix)

    def is_outermost(self) -> bool:
        """Whether the last row stands below no other: a pool, or a vdev that was asked for by its name."""
        return len(self.path) == 1

    def of(self, line: Line) -> str:
        name, indent = line.words[0], _indent(line)
        if indent == 0:
            self.section, self.root = "", name
        self.path = [*((deep, part) for deep, part in self.path if deep < indent), (indent, name)]
        below = [part for deep, part in self.path if deep > 0]
        return "/".join(filter(None, [self.root, self.section, *below])) if indent else name


def _indent(line: Line) -> int:
    return len(line.shown) - len(line.shown.lstrip(" "))


def _add_row(blocks: list[Block], names: _Names, line: Line, values: list[float]) -> None:
    """To the last block. Where there are no times, a pool that comes again begins another block."""
    name = names.of(line)
    if not blocks or (line.at is None and names.is_outermost() and name in blocks[-1].rows):
        blocks.append(Block(None, {}))
    rows = blocks[-1].rows
    if name in rows:
        suffix = next(f"#{n}" for n in itertools.count(2) if f"{name}#{n}" not in rows)
        name += suffix
        names.number(suffix)
    if _indent(line) and values[0] == values[1] == 0:  # how -p prints that a leaf has no space of its own
        values[:2] = [math.nan, math.nan]
    rows[name] = values


def _is_of_queues(source: Source, header: str, blocks: list[Block]) -> bool:
    """Of what has 16 numbers: a request that is not there is a 0, a wait that is not there is a dash."""
    if header:
        return (
            "total_wait" not in header
            and "read  write   wait" not in header
            and ("pend" in header or "syncq_read" in header)
        )
    extra = [value for block in blocks for values in block.rows.values() for value in values[len(BASE) :]]
    dashes, zeros = any(map(math.isnan, extra)), 0.0 in extra
    if dashes == zeros:
        raise Damaged(
            f"{source.name} has {EITHER} numbers a line and no header, and they may be -q of 0.7 or -l of 0.8 to 2.1; "
            "record without -H"
        )
    return zeros


def _series(
    reading: Reading,
    source: Source,
    blocks: list[Block],
    n_whole: int,
    stamps: list[float],
    clock: Clock,
    quantities: list[Quantity],
) -> None:
    """`n_whole`: how many reports, 0 or 1, are of the time since the pool was imported."""
    if n_whole:
        reading.warnings.append(
            f"the first report of {source.name} is kept apart: without -y it is of the time since the pool was "
            f"imported, and {text.of_y(str(reading.params.get('command', '')).split())}"
        )
    whole = Series(name="zpool.vdevs_since_import", quantities=quantities, clock=clock, file=source.name)
    series = Series(name="zpool.vdevs", quantities=quantities, clock=clock, file=source.name)
    for n, (t, block) in enumerate(zip(stamps, blocks, strict=True)):
        for vdev, values in block.rows.items():
            (series if n >= n_whole else whole).add(t, values, vdev)
    reading.series += [made for made in (whole, series) if len(made.times)]


def _unit(name: str) -> tuple[str, str]:
    part = name.rpartition(".")[2]
    if part in ("allocated", "free"):
        return "B", "instant"
    if part in ("pending", "active"):
        return "requests", "instant"
    if part.endswith("wait"):
        return "ns", "mean"
    return ("B/s" if part.endswith("bandwidth") else "1/s"), "rate"
