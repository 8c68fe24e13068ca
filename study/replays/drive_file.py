"""The description of a drive (DRIVE.json, SEEK.csv) as a disk of the model.

The format is DiskSim's, as JSON: `drive` is the electronics, `mechanics` the platters. Times are in ms, sizes in blocks
of 512 B. Where a drive gives no bus speed (0), `DEFAULT_BUS_MS` stands in: fast SCSI, 10 MB/s.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from model.devices import layout_columns as laid
from model.devices.data_sheet import SheetParams, plain_electronics, platters
from model.devices.disk_geometry import Zone, make_layout
from model.devices.disk_mechanics import Disk, check_disk, seek_curve
from study import tables as table_file
from study.errors import UserError

DEFAULT_BUS_MS = 0.0512  # per block of 512 B: fast SCSI, 10 MB/s
GATHER_BLOCKS = 10  # blocks in the buffer before a drive with extra write disconnects goes to the platter
LARGEST = 10**9  # of any number that describes a drive: in ns, too, it is within 64 bits
MAX_CYLINDERS = 10**7  # of a drive: the seek curve has a point for each, and the densest drives have less than a million
MAX_SEGMENTS = 2**12  # of the buffer, which is looked through for each request; drives have 1 to 64
MAX_SURFACES = 2**10
SHEET_ZONES = 16  # zones between the longest and the shortest track of a data sheet
SHEET_COMMAND_MS = 0.3  # command overhead where none is printed; drives of the 1990s: 0.1 to 1 ms


def read_drive(path: str | Path) -> dict[str, Any]:
    """The description at `path` as a dictionary."""
    try:
        description = json.loads(Path(path).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UserError(f"cannot read the drive {path} ({error.strerror}); give the path of a DRIVE.json") from None
    except ValueError as error:
        raise UserError(f"the drive {path} is no JSON ({error}); give a DRIVE.json") from None
    for part in ("drive", "mechanics"):
        field(description, part, dict)
    return description


def field(part: object, name: str, kind: type | None = None) -> Any:
    """`part[name]` as a number (or `kind`), or one sentence about what is missing."""
    if not isinstance(part, dict) or name not in part:
        raise UserError(f"the description of the drive has no field '{name}'; add it to the file that --disk names")
    value = part[name]
    if kind is not None:
        if not isinstance(value, kind):
            raise UserError(f"the drive's '{name}' is {value!r}; give a {kind.__name__}")
    elif isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) <= LARGEST:
        raise UserError(f"the drive's '{name}' is {value!r}; give a number of at most 10^9")
    return value


def whole(part: object, name: str, highest: int = LARGEST) -> int:
    """`part[name]`, which counts something: 3 or 3.0, up to `most`."""
    value = field(part, name)
    if value % 1 or not 0 <= value <= highest:
        raise UserError(f"the drive's '{name}' is {value}; give a whole number from 0 to {highest}")
    return int(value)


def _ns(ms: float) -> int:
    return round(ms * 1e6)


def read_seek_table(path: str | Path) -> tuple[np.ndarray, np.ndarray]:
    """(cylinders, ms) of a measured seek curve, rising in cylinders."""
    table = table_file.read(path, "the seek curve", "give a CSV with columns cylinders, ms")
    if not {"cylinders", "ms"} <= set(table) or len(table) < 2:
        raise UserError(f"the seek curve {path} has {len(table)} rows of {', '.join(map(str, table))}; give two or more of "
                        "cylinders, ms")
    if twice := table_file.twice(list(table), ("cylinders", "ms")):
        raise UserError(f"the seek curve {path} has several columns of the name {twice}; leave one of them")
    wrong = ~(table[["cylinders", "ms"]].apply(pd.to_numeric, errors="coerce").abs() <= LARGEST).all(axis=1)
    if wrong.any():
        row = int(wrong.argmax())
        raise UserError(f"row {row + 1} of the seek curve {path} is {table['cylinders'][row]},{table['ms'][row]}; give two "
                        "numbers of at most 10^9")
    distance, ms = (pd.to_numeric(table[name]).to_numpy(float) for name in ("cylinders", "ms"))
    if not (np.diff(distance) > 0).all() or distance[0] < 1 or not (ms >= 0).all():
        raise UserError(f"the seek curve {path} does not rise in cylinders from 1, or has a negative time; mend the table")
    return distance, ms


def _table_curve(cylinders: np.ndarray, table: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Interpolated in the measured table; its last two points go on in a straight line."""
    distance, ms = table
    curve = np.interp(cylinders, distance, ms)
    beyond = cylinders > distance[-1]
    slope = (ms[-1] - ms[-2]) / (distance[-1] - distance[-2])
    curve[beyond] = ms[-1] + slope * (cylinders[beyond] - distance[-1])
    return curve


def _formula_curve(cylinders: np.ndarray, mechanics: dict[str, Any], first_ten: bool) -> np.ndarray:
    """Square root up to a distance, straight beyond it; single-cylinder seeks, or the first ten, apart."""
    values = field(mechanics, "HPL seek equation values", list)
    if len(values) != 6:
        raise UserError(f"the drive's seek equation has {len(values)} values; give six: d, a, b, c, e, s")
    bound, a, b, c, e, single = values
    curve = np.where(cylinders < bound, a + b * np.sqrt(cylinders), c + e * cylinders)
    if first_ten:
        ten = np.array(field(mechanics, "First ten seek times", list), float)[:max(0, len(cylinders) - 1)]
        curve[1:1 + len(ten)] = ten
    elif single != -1 and len(curve) > 1:
        curve[1] = field(mechanics, "Single cylinder seek time")
    return curve


def _line_curve(cylinders: np.ndarray, single: float, average: float, full: float) -> np.ndarray:
    """Straight from one cylinder to a third of the stroke, and from there to its end."""
    last = len(cylinders) - 1
    return np.interp(cylinders, [1, max(1.001, last / 3), max(1.002, last)], [single, average, full])


def seek_table_ns(mechanics: dict[str, Any], n_cylinders: int, table: tuple[np.ndarray, np.ndarray] | None) -> np.ndarray:
    """(n_cylinders,) int64 ns over distance, from the measured `table` or from the formula the drive names."""
    kind = field(mechanics, "Seek type", str)
    cylinders = np.arange(n_cylinders, dtype=float)
    points = [field(mechanics, f"{name} seek time") if f"{name} seek time" in mechanics else None
              for name in ("Single cylinder", "Average", "Full strobe")]
    if table is not None:
        curve = _table_curve(cylinders, table)
    elif kind in ("hpl", "hplplus10"):
        curve = _formula_curve(cylinders, mechanics, kind == "hplplus10")
    elif kind == "extracted":
        raise UserError("the drive's seek curve is a table of its own; give it with --seek SEEK.csv")
    elif kind == "constant":
        curve = np.full(n_cylinders, float(field(mechanics, "Average seek time")))
    elif None in points:
        raise UserError(f"a '{kind}' seek curve needs single cylinder, average and full strobe seek times; add them")
    elif kind == "linear":
        curve = _line_curve(cylinders, *points)  # type: ignore[arg-type]  # None among them was refused above
    elif kind == "curve":
        return seek_curve(n_cylinders, *(_ns(point) for point in points))  # type: ignore[arg-type]  # likewise
    else:
        raise UserError(f"the drive's seek type '{kind}' is unknown; "
                        "give constant, linear, curve, hpl, hplplus10 or extracted")
    curve[0] = 0.0
    return np.rint(curve * 1e6).astype(np.int64)


def _numbers(zone: dict[str, Any], name: str) -> list[float]:
    """The list `name` of a zone, which most have none of."""
    values = field(zone, name, list) if name in zone else []
    if not all(isinstance(value, (int, float)) and abs(value) <= LARGEST and value % 1 == 0 for value in values):
        raise UserError(f"the drive's '{name}' of a zone are {str(values)[:60]}; give whole numbers of at most 10^9")
    return values


def _zone(zone: object) -> Zone:
    if not isinstance(zone, dict):
        raise UserError(f"the drive's 'Zones' hold {str(zone)[:60]!r}; give a section for each zone")
    defects = _numbers(zone, "defects")
    return Zone(first_cylinder=whole(zone, "First cylinder number"), last_cylinder=whole(zone, "Last cylinder number"),
                sectors=whole(zone, "Blocks per track"), track_skew=field(zone, "Skew for track switch"),
                cylinder_skew=field(zone, "Skew for cylinder switch"), offset=field(zone, "Offset of first block"),
                empty=whole(zone, "Empty space at zone front"), spares=whole(zone, "Number of spares"),
                slips=tuple(_numbers(zone, "slips")), remaps=tuple(zip(defects[::2], defects[1::2], strict=False)))


def _electronics(drive: dict[str, Any]) -> dict[str, Any]:
    """The fields of `Disk` that describe command handling, bus and buffer."""
    def number(name: str) -> float:
        return field(drive, name)

    def count(name: str, highest: int = LARGEST) -> int:
        return whole(drive, name, highest)
    if drive.get("Time scale for overheads", 1) != 1:
        raise UserError(f"the drive's 'Time scale for overheads' is {drive['Time scale for overheads']!r}, but only 1 is "
                        "modelled; give 1, and the overheads multiplied by it")
    command = [[_ns(number(f"{kind} over. after {last}")) for last in ("read", "write")]
               for kind in ("Read hit", "Read miss", "Write hit", "Write miss")]
    extra = count("Extra write disconnect")
    segments = count("Number of buffer segments", MAX_SEGMENTS) if count("Enable caching in buffer") else 0
    for_writes = min(max(1, count("Maximum number of write segments")), segments)
    return {
        "write_seek_min_ns": _ns(number("Minimum seek delay")),
        "command_ns": np.array(command, np.int64) + _ns(number("Per-request overhead time")),
        "idle_hit_ns": 0,
        "data_ready_ns": _ns(number("Data preparation overhead")),
        "reconnect_ns": _ns(number("First reselect overhead")),
        "done_ns": np.array([_ns(number("Read completion overhead")), _ns(number("Write completion overhead"))], np.int64),
        "bus_ns": _ns(number("Bulk sector transfer time") or DEFAULT_BUS_MS),
        "holds_bus": count("Never disconnect"),
        "watermark": float(number("High (read) water mark")),
        "write_gather": GATHER_BLOCKS if extra else 1,
        "read_on_arrival": count("Immediate buffer read"),
        "write_on_arrival": count("Immediate buffer write"),
        "ahead": count("Buffer continuous read"),
        "ahead_blocks": count("Maximum read-ahead (blks)") or count("Segment size (in blks)"),
        "ahead_on_hit": count("Read-ahead on idle hit"),
        "ahead_after_sequence": 0,
        "ahead_stops_at_once": count("Stop prefetch in sector"),
        "almost_hits": count("Allow almost read hits"),
        "keeps_read": int(count("Read-ahead over requested") == 0),
        "hits_written": count("Allow read hits on write data"),
        "buffers_writes": int(count("Fast write level") > 0),
        "joins_writes": count("Combine seq writes"),
        "segments": segments,
        "write_segments": for_writes,
        "own_write_segments": int(count("Use separate write segment") and for_writes < segments),
        "segment_blocks": count("Segment size (in blks)"),
        "passes": SheetParams().passes,
    }


def _rev_ns(mechanics: dict[str, Any]) -> int:
    rpm = field(mechanics, "Rotation speed (in rpms)")
    if rpm <= 0:
        raise UserError(f"the drive turns at {rpm} rpm; give a speed above 0")
    return round(60e9 / rpm)


def _checked(make: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    try:
        return make(*args, **kwargs)
    except (ValueError, TypeError) as error:
        raise UserError(f"the drive cannot be: {error}") from None  # of the model: already a sentence
    except OverflowError:
        raise UserError("the drive has more blocks than 64 bits count; give fewer surfaces, cylinders or blocks per "
                        "track") from None


def specified_disk(description: dict[str, Any], table: tuple[np.ndarray, np.ndarray] | None = None) -> Disk:
    """The drive exactly as described; `table` is its measured seek curve (cylinders, ms) if it has one."""
    mechanics = field(description, "mechanics", dict)
    plan, mechanical = field(mechanics, "Layout Model", dict), field(mechanics, "Mechanical Model", dict)
    layout = _checked(make_layout, [_zone(zone) for zone in field(plan, "Zones", list)],
                      whole(mechanics, "Number of data surfaces", MAX_SURFACES), whole(plan, "Sparing scheme used"),
                      whole(plan, "Rangesize for sparing"), whole(plan, "LBN-to-PBN mapping scheme"))
    cylinders = max(layout.n_cylinders, whole(mechanics, "Number of cylinders"))
    if cylinders > MAX_CYLINDERS:
        raise UserError(f"the drive has {cylinders} cylinders; give at most 10^7, in 'Number of cylinders' and in its zones")
    disk = Disk(layout=layout, rev_ns=_rev_ns(mechanical), seek_ns=_checked(seek_table_ns, mechanical, cylinders, table),
                head_switch_ns=_ns(field(mechanical, "Head switch time")),
                write_settle_ns=_ns(field(mechanical, "Add. write settling delay")),
                **_electronics(field(description, "drive", dict)))
    return _checked(check_disk, disk)


def mean_seek_ns(seek_ns: np.ndarray) -> float:
    """Mean of a seek table over two independent, uniformly distributed cylinders that differ."""
    n = len(seek_ns)
    return float(2 * (n - np.arange(n)) @ seek_ns / (n * (n - 1)))


def data_sheet_disk(specified: Disk) -> Disk:
    """The drive as its data sheet has it: what follows from a few printed numbers, and `SHEET_COMMAND_MS`.

    Kept: rotation speed, seek over one cylinder, on average and over all, capacity, heads, longest and shortest track. Kept,
    too: size of the buffer and its segments, whether writes are buffered and reads continued, bus. All else is a guess: skew
    and head switch as long as a one-cylinder seek, no settling, one command overhead, read-ahead that fills a segment. The
    disk is made by the functions of `model.devices.data_sheet` that make the disks of the simulations.
    """
    layout, rev_ns = specified.layout, specified.rev_ns
    single, average, full = int(specified.seek_ns[1]), int(mean_seek_ns(specified.seek_ns)), int(specified.seek_ns[-1])
    longest, shortest = layout.zones[:-1, laid.SECTORS].max(), layout.zones[:-1, laid.SECTORS].min()
    sectors = np.rint(np.linspace(longest, shortest, SHEET_ZONES)).astype(int)
    of_platters = _checked(platters, layout.n_blocks, layout.heads, sectors, rev_ns, (single, average, full),
                           (single, single), single)
    of_electronics = plain_electronics(_ns(SHEET_COMMAND_MS), specified.ahead, specified.segment_blocks)
    return check_disk(specified._replace(**of_platters, **of_electronics, write_settle_ns=0))
