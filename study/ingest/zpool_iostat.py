"""zpool iostat of OpenZFS 0.7 to 2.4: the default, `-v -l -q` together, `-w`, `-r`; human or `-p`, `-H`, `-T u`, `-T d`.

    default     alloc free, operations and bandwidth of reads and writes
    -l          0.7: 9 columns more; from 0.8 trim, from 2.2 rebuild beside scrub
    -q          10, 12 or 14 more: pending and active requests at the end of the interval
    -w, -r      histograms of waits and of request sizes; a first report of counts since the pool was imported, then rates

Fields are split at blanks, and their number tells the layout. `-w` labels are upper ends of a bucket, `-r` labels lower
ones. Human numbers are rounded down to a unit, so `-p` is better. The first report is kept as a series of its own.
Format: cmd/zpool/zpool_main.c of OpenZFS.
"""

import itertools
import math
import re
from pathlib import Path
from typing import NamedTuple

from study.ingest import text
from study.ingest.reading import NO_CLOCK, Bin, Clock, Damaged, Histogram, Quantity, Reading, Series, Source

TOOL = "zpool iostat"
BASE = ["space.allocated", "space.free", "reads", "writes", "read_bandwidth", "write_bandwidth"]
WAITS = [
    "read.wait",
    "write.wait",
    "read.disk_wait",
    "write.disk_wait",
    "read.sync_queue_wait",
    "write.sync_queue_wait",
    "read.async_queue_wait",
    "write.async_queue_wait",
    "scrub.wait",
    "trim.wait",
    "rebuild.wait",
]
QUEUES = [
    f"{queue}.{state}"
    for queue in ("sync_read", "sync_write", "async_read", "async_write", "scrub", "trim", "rebuild")
    for state in ("pending", "active")
]
OF_WAITS, OF_QUEUES = {"0.7": 9, "0.8 to 2.1": 10, "2.2 or later": 11}, {"0.7": 10, "0.8 to 2.1": 12, "2.2 or later": 14}
OF_SIZES = {"0.7": 10, "0.8 to 2.1": 12, "2.2 or later": 14}
LAYOUTS = {
    len(BASE) + (n_waits if waits else 0) + (n_queues if queues else 0): (
        release,
        BASE + (WAITS[:n_waits] if waits else []) + (QUEUES[:n_queues] if queues else []),
    )
    for release, n_waits, n_queues in ((release, OF_WAITS[release], OF_QUEUES[release]) for release in OF_WAITS)
    for waits in (False, True)
    for queues in (False, True)
    if waits or queues
}
LAYOUTS[len(BASE)] = ("any", BASE)
EITHER = 16  # numbers: -q of 0.7, or -l of 0.8 to 2.1
OLD_QUEUES = ("0.7", BASE + QUEUES[: OF_QUEUES["0.7"]])
BYTES = {"": 1, "B": 1} | {unit: 1024**power for power, unit in enumerate("KMGTPE", start=1)}
SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
VALUE = re.compile(r"(\d+(?:[.,]\d+)?)(ns|us|ms|s|[KMGTPE]?B?)")
DASHES = re.compile(r"(?=.*---)[- ]+")
TITLES = ("logs", "cache", "special", "dedup", "spares")
EPOCH = re.compile(r"\d{9,10}")
DATE = re.compile(
    r"[A-Z][a-z]{2} [A-Z][a-z]{2} +\d{1,2} +\d{1,2}:\d{2}:\d{2} (?:(?:AM|PM) )?(?:([A-Z]{1,5}|[+-]\d{2}) )?\d{4}"
)


def kind(name: str, head: str) -> str | None:
    rows = [line for line in head.splitlines() if line.strip()]
    for row in rows[:60]:
        words = row.split()
        if words[:1] == ["capacity"] or words[1:3] == ["alloc", "free"]:
            return "table"
        if ("total_wait" in words[:2] and len(words) >= 4) or (words[:1] == ["latency"] and "read" in words):
            return "waits"
        if words[:1] == ["req_size"] or ("sync_read" in words[:2] and "async_write" in words):
            return "sizes"
    tabs = [row.split("\t") for row in rows if "\t" in row]
    if not tabs or any(len(row) != len(tabs[0]) for row in tabs):
        return None
    others = [row for row in rows if "\t" not in row]
    if len(tabs[0]) - 1 in LAYOUTS and all(_is_value(word) for row in tabs[:5] for word in row[1:]):
        return "table" if all(EPOCH.fullmatch(row) or DATE.fullmatch(row) for row in others) else None
    bare = [re.fullmatch(r"\d+", row[0]) for row in tabs]
    if all(bare) and len(tabs) >= 5 and others:
        labels = [int(row[0]) for row in tabs[:5]]
        if all((label + 1) & label == 0 for label in labels) and len(tabs[0]) - 1 in OF_WAITS.values():
            return "waits"
        return (
            "sizes" if len(tabs[0]) - 1 in OF_SIZES.values() and all(label & (label - 1) == 0 for label in labels) else None
        )
    return None


def _is_value(word: str) -> bool:
    return word == "-" or bool(VALUE.fullmatch(word))


class Cell(NamedTuple):
    value: float
    is_raw: bool  # a whole number without a unit


def _cell(word: str) -> Cell:
    """Raises ValueError."""
    if word == "-":
        return Cell(math.nan, True)
    match = VALUE.fullmatch(word)
    if not match or len(word) > 25:
        raise ValueError(f"'{word[:30]}' is no number of zpool iostat")
    amount = text.number(match[1])
    scale = (
        SECONDS[match[2]] * 1e9 if match[2] in SECONDS else BYTES[match[2].rstrip("B") if len(match[2]) > 1 else match[2]]
    )
    return Cell(amount * scale, not match[2])


class Block(NamedTuple):
    """What stands between two times, or two headers."""

    at: float | None
    rows: dict[str, list[float]]


def read(sources: list[Source], scratch: Path) -> Reading:
    reading = Reading(tool=TOOL)
    kinds = [source.kind for source in sources]
    if len(set(kinds)) != len(kinds):
        raise Damaged(
            f"{' and '.join(source.name for source in sources)} are outputs of {len(sources)} runs; a run has one, so "
            "give each by itself"
        )
    for source in sources:
        if not text.ends_with_a_line(source.path):
            reading.problems.append(f"the last line of {source.name} has no end, so the file is cut off")
        (_table if source.kind == "table" else _histograms)(reading, source)
    reading.missing.append("totals of its own: zpool iostat prints none, so nothing can be compared")
    return reading


# --- times ------------------------------------------------------------------------------------------------------------


class _Times:
    """Times of reports as they come."""

    def __init__(self, reading: Reading, source: Source) -> None:
        self.reading, self.source, self.has_zone, self.zones = reading, source, True, set[str]()

    def of(self, line: str) -> float | None:
        """Seconds since 1970 if the line is a time."""
        shown = line.strip()
        if EPOCH.fullmatch(shown):
            return float(shown)
        if match := DATE.fullmatch(shown):
            from datetime import UTC, datetime

            zone = match[1] or ""
            self.zones.add(zone)
            self.has_zone = self.has_zone and zone in ("UTC", "GMT")
            words = [word for word in shown.split() if word != zone]
            form = "%a %b %d %I:%M:%S %p %Y" if words[-2] in ("AM", "PM") else "%a %b %d %H:%M:%S %Y"
            try:
                return datetime.strptime(" ".join(words), form).replace(tzinfo=UTC).timestamp()
            except ValueError:
                return None
        return None

    def clock(self, stamps: list[float | None]) -> tuple[list[float], Clock]:
        known = [at for at in stamps if at is not None]
        if len(known) != len(stamps) or not known:
            self.reading.missing.append(
                f"times of the reports in {self.source.name}, and with them the interval; they are numbered, "
                "and a second is assumed between two; record with -T u"
            )
            return [float(n) for n in range(len(stamps))], NO_CLOCK
        if any(later < earlier for earlier, later in itertools.pairwise(known)):
            raise Damaged(f"times of {self.source.name} do not go forward")
        if not self.zones:
            said = "-T u, whole seconds since 1970"
        elif self.has_zone:
            said = "-T d, whole seconds in UTC"
        else:
            said = f"{text.LOCAL} of -T d, zone {', '.join(sorted(self.zones)) or 'not given'}, which names no offset"
        return [at - known[0] for at in known], Clock(known[0], 1.0, said)


# --- default, -v, -l, -q ----------------------------------------------------------------------------------------------


def _table(reading: Reading, source: Source) -> None:
    blocks: list[Block] = []
    times = _Times(reading, source)
    at: float | None = None
    path: list[tuple[int, str]] = []
    section, width, is_raw, root, header = "", None, True, "", ""
    for n, line in text.lines(source.path):
        words = line.split("\t") if "\t" in line.strip("\t") else line.split()
        if not line.strip():
            continue
        if (moment := times.of(line)) is not None:
            at = moment
            blocks.append(Block(at, {}))
            continue
        if (
            DASHES.fullmatch(line)
            or words[0] == "capacity"
            or words[1:3] == ["alloc", "free"]
            or words[0] in ("pool", "vdev")
        ):
            reading.other_lines += 1
            section, header = "", header + line
            continue
        values = words[1:]
        if len(values) not in LAYOUTS:
            reading.refuse(
                source.name,
                n,
                f"it has {len(values)} numbers, but a line of zpool iostat has {', '.join(map(str, sorted(LAYOUTS)))}",
            )
            continue
        if width is not None and len(values) != width:
            reading.refuse(source.name, n, f"it has {len(values)} numbers, and lines before it {width}")
            continue
        if words[0] in TITLES and all(value == "-" for value in values):
            section = words[0]
            reading.other_lines += 1
            continue
        try:
            cells = [_cell(value) for value in values]
        except ValueError as error:
            reading.refuse(source.name, n, str(error))
            continue
        width = len(values)
        is_raw = is_raw and all(cell.is_raw for cell in cells)
        indent = len(line) - len(line.lstrip(" "))
        if indent == 0:
            section, root = "", words[0]
        path = [*((deep, part) for deep, part in path if deep < indent), (indent, words[0])]
        below = [part for deep, part in path if deep > 0]
        name = "/".join([root, *([section] if section else []), *below]) if indent else words[0]
        if not blocks or (at is None and name in blocks[-1].rows):
            blocks.append(Block(None, {}))
        if name in blocks[-1].rows:
            name = _numbered(name, blocks[-1].rows)
        blocks[-1].rows[name] = [cell.value for cell in cells]
        if indent and cells[0].value == cells[1].value == 0:  # how -p prints that a leaf has no space of its own
            blocks[-1].rows[name][:2] = [math.nan, math.nan]
        reading.rows += 1
    blocks = [block for block in blocks if block.rows]
    if width is None or not blocks:
        return
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
    stamps, clock = times.clock([block.at for block in blocks])
    _series(reading, source, blocks, stamps, clock, [Quantity(name, *_unit(name)) for name in names])


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


def _numbered(name: str, rows: dict[str, list[float]]) -> str:
    n = 2
    while f"{name}#{n}" in rows:
        n += 1
    return f"{name}#{n}"


def _series(
    reading: Reading, source: Source, blocks: list[Block], stamps: list[float], clock: Clock, quantities: list[Quantity]
) -> None:
    reading.warnings.append(
        f"the first report of {source.name} is kept apart: without -y it is of the time since the pool was "
        "imported, and nothing in the file tells whether -y was given"
    )
    whole = Series(name="zpool.vdevs_since_import", quantities=quantities, clock=clock, file=source.name)
    series = Series(name="zpool.vdevs", quantities=quantities, clock=clock, file=source.name)
    for n, (t, block) in enumerate(zip(stamps, blocks, strict=True)):
        for vdev, values in block.rows.items():
            (series if n else whole).add(t, values, vdev)
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


# --- -w and -r --------------------------------------------------------------------------------------------------------


def _histograms(reading: Reading, source: Source) -> None:
    of_waits = source.kind == "waits"
    times = _Times(reading, source)
    at: float | None = None
    vdev, width, is_raw = "", None, True
    blocks: list[tuple[float | None, str, list[tuple[float, list[float]]]]] = []
    for n, line in text.lines(source.path):
        words = line.split("\t") if "\t" in line.strip("\t") else line.split()
        if not line.strip():
            continue
        if (moment := times.of(line)) is not None:
            at = moment
            continue
        if DASHES.fullmatch(line) or words[0] in ("latency", "req_size"):
            reading.other_lines += 1
            continue
        if "total_wait" in words or "sync_read" in words:
            vdev = "" if words[0] in ("total_wait", "sync_read") else words[0]
            blocks.append((at, vdev, []))
            reading.other_lines += 1
            continue
        if len(words) == 1:
            vdev = words[0]
            blocks.append((at, vdev, []))
            continue
        try:
            cells = [_cell(word) for word in words]
        except ValueError as error:
            reading.refuse(source.name, n, str(error))
            continue
        known = OF_WAITS if of_waits else OF_SIZES
        if len(cells) - 1 not in known.values() or width not in (None, len(cells)):
            reading.refuse(
                source.name,
                n,
                f"it has {len(cells) - 1} numbers; such a line has {', '.join(map(str, known.values()))}, "
                "all of a file as many",
            )
            continue
        if not blocks:
            raise Damaged(f"line {n} of {source.name} is a bucket before any pool is named")
        width = len(cells)
        is_raw = is_raw and all(cell.is_raw for cell in cells[1:])
        blocks[-1][2].append((cells[0].value, [cell.value for cell in cells[1:]]))
        reading.rows += 1
    _bins(reading, source, [block for block in blocks if block[2]], of_waits, width, is_raw, times)


def _bins(
    reading: Reading,
    source: Source,
    blocks: list[tuple[float | None, str, list[tuple[float, list[float]]]]],
    of_waits: bool,
    width: int | None,
    is_raw: bool,
    times: _Times,
) -> None:
    if width is None:
        return
    known = OF_WAITS if of_waits else OF_SIZES
    release = next(release for release, n in known.items() if n == width - 1)
    option = "-w" if of_waits else "-r"
    reading.dialect = ", ".join(
        filter(None, [reading.dialect, f"{option} of {release}, {'-p' if is_raw else 'human numbers'}"])
    )
    if len({len(rows) for _, _, rows in blocks}) > 1:
        reading.problems.append(
            f"histograms of {source.name} have {min(len(rows) for _, _, rows in blocks)} to "
            f"{max(len(rows) for _, _, rows in blocks)} buckets, so the file is cut off"
        )
    reports = _numbers_of_reports([vdev for _, vdev, _ in blocks])
    stamps = [
        next((at for (at, *_), report in zip(blocks, reports, strict=True) if report == n), None)
        for n in range(max(reports) + 1)
    ]
    seconds, _ = times.clock(stamps)
    names = (
        WAITS[: width - 1]
        if of_waits
        else [
            f"{queue}.{kind}"
            for queue in ("sync_read", "sync_write", "async_read", "async_write", "scrub", "trim", "rebuild")
            for kind in ("individual", "aggregated")
        ]
    )
    for (_, vdev, rows), report in zip(blocks, reports, strict=True):
        counted = "operations" if report == 0 else "operations/s"
        name = "zpool.waits" if of_waits else "zpool.sizes"
        for column in range(width - 1):
            bins = [Bin(*_ends(label, of_waits), values[column]) for label, values in rows if values[column]]
            if bins:
                reading.histograms.append(
                    Histogram(
                        series=name + ("_since_import" if report == 0 else ""),
                        subject=vdev,
                        t=seconds[report],
                        name=names[column],
                        unit="ns" if of_waits else "B",
                        of=counted,
                        bins=bins,
                    )
                )
    reading.warnings.append(
        f"the first report of {source.name} is taken for counts since the pool was imported, as it is without "
        "-y; later ones are rates"
    )


def _numbers_of_reports(vdevs: list[str]) -> list[int]:
    """From 0: a vdev that comes again begins another report."""
    numbers, seen, report = [], set[str](), 0
    for vdev in vdevs:
        if vdev in seen:
            seen, report = set(), report + 1
        seen.add(vdev)
        numbers.append(report)
    return numbers


def _ends(label: float, of_waits: bool) -> tuple[float, float]:
    """Raw labels of waits are 2^n - 1; human ones are rounded down from that to a unit."""
    if not of_waits:
        return label, 2 * label
    upper = 2.0 ** round(math.log2(label + 1)) if label > 0 else 1.0
    return upper / 2, upper
