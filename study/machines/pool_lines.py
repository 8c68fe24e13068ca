"""Lines of a scenario about pools and the drives in them: see `this_machine`."""
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from study.errors import UserError
from study.machines import nearest_sheet, tool_output
from study.machines.storage import GIB, PARITY, sheet
from study.machines.tool_output import Disk, Space, Vdev

KIB = 2**10
SMALLER = 0.97                      # of the sheet's capacity, below which use_gib is written
DRAID = re.compile(r"draid([123]):(\d+)d:(\d+)c:(\d+)s")
RAID = {"raid1": ("mirror", None), "raid10": ("mirror", 2), "raid5": ("raidz1", None), "raid6": ("raidz2", None)}


class Seen(NamedTuple):
    """What the tools of a system printed, and which of them did not."""
    texts: dict[str, str]           # name of a tool or a file -> what it printed
    missing: dict[str, str]         # name -> why nothing came of it


class Line(NamedTuple):
    """A line of a scenario, with where it came from."""
    section: str
    key: str                        # "": a comment alone
    value: Any
    why: str                        # where it came from, or that it is a guess


class Place(NamedTuple):
    """Where a database's files lie."""
    pool: str                       # "" without ZFS
    dataset: str
    properties: dict[str, str]


def of_pool(section: str, seen: Seen, pools: dict[str, list[Vdev]], disks: list[Disk], place: Place,
          settings: dict[str, str]) -> list[Line]:
    """Lines about the pool in which `place` lies, its devices and how full it is."""
    if place.pool not in pools:
        return _without_zfs(section, disks, settings.get("data_directory", ""))
    vdevs, made = pools[place.pool], []
    for role in ("data", "log", "cache"):
        alike = [vdev for vdev in vdevs if vdev.role == role and vdev.devices]
        made += _devices(f"{section}.{role}", alike, disks, f"zpool status {place.pool}") if alike else []
    for role in ("special", "dedup", "spare"):
        if n := sum(vdev.role == role for vdev in vdevs):
            made.append(Line(f"{section}.data", "", None, f"seen, not simulated: {n} {role} in {place.pool}"))
    space = tool_output.space(seen.texts.get("zpool list", "")).get(place.pool)
    return [*_fill(section, space), *made] if space else made


def _fill(section: str, space: Space) -> list[Line]:
    """How full a pool is, and its fragmentation; both or none are simulated."""
    fill = round(space.allocated_bytes / space.bytes, 2)
    if fill and space.fragmentation_pct is not None:
        return [Line(section, "fill", fill, "zpool list: ALLOC of SIZE; leave both out for a new pool"),
                Line(section, "fragmentation", space.fragmentation_pct, "zpool list: FRAG")]
    return [Line(section, "", None, f"seen, not simulated: {100 * fill:g} % of the pool are allocated; zpool list shows no "
                                    "FRAG")] if fill else []


def _devices(section: str, vdevs: list[Vdev], disks: list[Disk], source: str) -> list[Line]:
    """The commonest shape of vdevs, and the commonest drive, stand for all."""
    (kind, width), n = Counter((vdev.kind, len(vdev.devices)) for vdev in vdevs).most_common(1)[0]
    names = [name for vdev in vdevs for name in vdev.devices]
    others, seen = len(vdevs) - n, f"{source}: {n} x {kind}" + f" of {width}" * (width > 1)
    layout, width, groups = _nearest(kind, width)
    held = section.rsplit(".", 1)[-1]
    if (held, layout) == ("cache", "mirror") or (held == "log" and layout in PARITY):
        layout, width = "stripe", 1
    made = _drives(section, names, disks)
    made.append(Line(section, "count", width * n * groups, seen))
    why = source if layout == kind or kind == "disk" else (
        f"{source} says {kind}, which is not simulated; nearest is {n * groups} x {layout}" + f" of {width}" * (width > 1))
    made.append(Line(section, "layout", layout, why))
    made += [Line(section, "width", width, why)] * (layout != "stripe")
    return made + [Line(section, "", None, f"seen, not simulated: {others} more vdevs of another shape")] * bool(others)


def _nearest(kind: str, width: int) -> tuple[str, int, int]:
    """Layout, width and number of the vdevs that are simulated for one of so many devices. dRAID has the I/Os of so many
    groups as its devices without spares make, rounded down: zpoolconcepts(7)."""
    if match := DRAID.fullmatch(kind):
        parity, data, children, spares = map(int, match.groups())
        return f"raidz{parity}", data + parity, max(1, (children - spares) // (data + parity))
    return {"disk": "stripe", "indirect": "stripe"}.get(kind) or kind.partition(":")[0].replace("draid", "raidz"), width, 1


def _drives(section: str, names: list[str], disks: list[Disk]) -> list[Line]:
    """Sheet, capacity and sector of what is behind these names."""
    seen = [(name, disk) for name in names if (disk := tool_output.disk_of(name, disks))]
    if not seen:
        kind = "nvme" if re.search(r"nvme|nvd|nda", names[0]) else "other"
        return [Line(section, "sheet", nearest_sheet.SERVER[kind],
                     f"a guess: which drive {names[0].rsplit('/', 1)[-1]} is was not seen")]
    model = Counter(disk.model for _, disk in seen).most_common(1)[0][0]
    name, disk = next((name, disk) for name, disk in seen if disk.model == model)
    others = sorted({disk.model or "no name" for _, disk in seen} - {model})
    made = _drive(section, disk, tool_output.bytes_of(name, disk))
    return made + [Line(section, "", None, f"seen, not simulated: other drives among these: {', '.join(others)}")] * bool(
        others)


def _drive(section: str, disk: Disk, n_bytes: int) -> list[Line]:
    name, why = nearest_sheet.of(disk)
    whole = sheet(name).params.disk_bytes
    made = [Line(section, "sheet", name, f"a guess: nearest to '{disk.model or 'no model name'}' of lsblk, {why}")]
    if n_bytes < SMALLER * whole:
        made.append(Line(section, "use_gib", round(n_bytes / GIB, 2), "lsblk: size"))
    elif n_bytes * SMALLER > whole:
        made.append(Line(section, "", None, f"seen, not simulated: {n_bytes / 1e9:.0f} GB; the sheet's drive has "
                                            f"{whole / 1e9:.0f} GB"))
    return made + [Line(section, "ashift", 12, "a guess: lsblk says sectors of 4 KiB")] * (disk.sector_bytes >= 4 * KIB)


def disk_below(folder: str, disks: list[Disk]) -> list[tuple[Disk, str]]:
    """The disks under the file system that holds the folder, and what makes them one: part, raid1, lvm."""
    mounts = above(folder or "/", {place for disk in disks for place in disk.mounts})
    place = max(mounts, key=len, default="")
    return [(disk, disk.mounts[place]) for disk in disks if place in disk.mounts]


def _without_zfs(section: str, disks: list[Disk], folder: str) -> list[Line]:
    """The disks that hold the database, or else the system, as a pool of ZFS."""
    if not disks:
        raise UserError("no disk is to be seen below the database; copy a scenario of data/scenarios and change it by hand")
    below = disk_below(folder, disks)
    (disk, kind), n = below[0] if below else (max(disks, key=lambda disk: disk.bytes), "disk"), len(below) or 1
    layout, width = RAID.get(kind, ("stripe", None)) if n > 1 else ("stripe", None)
    source = f"lsblk: {'below ' + (folder or '/') if below else 'the largest disk, a guess'}"
    return [*_drive(f"{section}.data", disk, disk.bytes), Line(f"{section}.data", "count", n, source),
            *[Line(f"{section}.data", "layout", layout, f"lsblk: {kind}, taken as ZFS would do it")] * (n > 1),
            *[Line(f"{section}.data", "width", width, f"lsblk: {kind}")] * bool(width and n % width == 0)]


def above(folder: str, places: Iterable[str]) -> list[str]:
    """Those that a folder lies below."""
    return [place for place in places if f"{folder}/".startswith(f"{place.rstrip('/')}/")]
