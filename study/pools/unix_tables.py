"""Partition tables as other tools print them than fdisk: a function for each, of the whole text.

    of_dump(text)           `sfdisk -d`: NAME : start= 63, size= 208782, Id=83
    of_print(text)          `parted DISK unit s print`, for people: number, start, end, size, each with its unit
    of_gdisk(text)          `gdisk -l`, `sgdisk -p`: number, start and end in sectors, size, code of four digits
    of_gpart(text)          `gpart show` of FreeBSD: start, length, number or name, type, (size)
    of_gpart_list(text)     `gpart list` of FreeBSD: a line for each fact of a partition, offsets in bytes
    of_parted_util(text)    `partedUtil getptbl` of ESXi: number, start and end in sectors, type, attribute
    of_prtvtoc(text)        `prtvtoc` of Solaris: slice, tag, flags, first sector, count, last sector

Each gives partitions, and what is wrong. A row that is cut or does not agree with itself is refused, not left out.
Words are not read, as parted has them in the user's language.

`gpart show` tells no size of sectors: it follows from the number of them and the size behind. What lies in a slice (BSD)
counts from its start. On x86 so do the slices of a Solaris VTOC: it has slice 8 for booting, and that is refused.
"""
import re
from collections.abc import Iterator

from study.pools.partition import (
    IN_SECTORS,
    SECTORS,
    USUAL_SECTOR,
    Partition,
    changed_row,
    lines_of,
    numbered,
    sector_by_gpt,
    sector_problem,
)
from study.sizes import size_of

DUMPED = re.compile(r"^(?P<name>\S+) *: *start= *(?P<start>-?\d+), *size= *(?P<size>\d+)(?:, *(?:Id|type)= *(?P<type>\w+))?")
OF_DUMP = re.compile(r"^(?:unit: sectors$|# partition table of )")
DAMAGED_DUMP = re.compile(r"\b(?:start|size)=|^\S+ :(?: |$)")
FIRST_LBA = re.compile(r"^first-lba: *(\d+)$")
SECTOR_SIZE = re.compile(r"^sector-size: *(\d+)$")
CONTAINERS, PROTECTIVE, EMPTY = {"5", "f", "85"}, "ee", "0"
DISK = re.compile(r"^\W*\w+ +(?P<device>[^\s(:]*[/.][^\s:]*) ?[:\uff1a] *\d")
TWO_SECTORS = re.compile(r"[:\uff1a] *(\d+) ?B?/(\d+) ?(?:B|bytes)")
LOGICAL_SECTOR = re.compile(r"Logical sector size: (\d+) bytes")
OF_PARTED = re.compile(r"[:\uff1a] *\d+ ?B/\d+ ?B")
PARTED_LABEL = re.compile(r"[:\uff1a] *(aix|amiga|bsd|dvh|gpt|loop|mac|msdos|pc98|sun|atari)$")
PRINTED = re.compile(r"^(\d+) +(-?[\d.,]+)([a-zA-Z]+) +([\d.,]+)[a-zA-Z]+ +([\d.,]+)[a-zA-Z]+(?: |$)")
PRINTED_FREE = re.compile(r"^(?:[\d.,]+[a-zA-Z]+ +){3}")
EXTENDED = re.compile(r"^\d+(?: +\S+){3} extended(?: |$)")      # the column of types, which parted does not translate
WITH_TYPES = ("msdos", "")
DISK_OF_GDISK = re.compile(r"^Disk (?P<device>\S+): \d+ sectors")
USABLE = re.compile(r"First usable sector is (\d+), last usable sector is (\d+)")
FREE = re.compile(r"Total free space is (\d+) sectors")
GDISK_HEAD = re.compile(r"^Number +Start \(sector\)")
OF_GDISK = re.compile(r"^(\d+) +(\d+) +(\d+) +([\d.]+) (bytes|[KMGTP]iB) +[0-9A-F]{4}(?: |$)")
ROUNDED = 0.11      # of the last digit that gdisk prints, one behind the point
GPART_DISK = re.compile(r"^=> +(\d+) +(\d+) +(\S+) +(GPT|MBR|BSD|EBR|VTOC8|APM|LDM\S*|PC98) +\(([\d.]+[KMGTPkmgt]?)\)")
OF_GPART = re.compile(r"^(\d+) +(\d+) +([\w.-]+) +(\S.*?) +\([\d.]+[KMGTPkmgt]?B?\)$")
LIST_FACT = re.compile(r"^(?:\d+\. )?(Geom name|scheme|Name|Sectorsize|offset|type): (\S+)$")
LIST_PART = re.compile(r"^(Providers|Consumers):$")
PARTED_UTIL = re.compile(r"partedUtil getptbl [\"']?([^\s\"']+)")
PARTED_UTIL_LABEL = re.compile(r"^(?:gpt|msdos)$")
PARTED_UTIL_DISK = re.compile(r"^\d+ \d+ \d+ (\d+)$")
OF_PARTED_UTIL = re.compile(r"^(\d+) (\d+) (\d+) (?:[0-9A-F]{32} \S+|(\d+)) \d+$")
DOS_CONTAINERS = {"5", "15", "133"}
VTOC_DISK = re.compile(r"^\* +(/\S+?)(?:s\d+)? partition map")
VTOC_SECTOR = re.compile(r"^\* +(\d+) bytes/sector")
SLICE = re.compile(r"^(\d+) +(\d+) +(\d\d) +(\d+) +(\d+) +(\d+)(?: |$)")
BACKUP, BOOT_SLICE = "5", "8"       # the tag of a slice that is all of the disk; the slice that x86 boots from


def of_dump(text: str) -> Iterator[Partition | str]:
    """Of `sfdisk -d`, whose starts and sizes are in sectors."""
    lines = list(lines_of(text))
    rows = [match for line in lines if (match := DUMPED.match(line))]
    if not rows and not any(map(OF_DUMP.match, lines)):
        return
    yield from (changed_row(line) for line in lines if DAMAGED_DUMP.search(line) and not DUMPED.match(line))
    sector_bytes = next((int(match[1]) for line in lines if (match := SECTOR_SIZE.match(line))), None)
    first = next((int(match[1]) for line in lines if (match := FIRST_LBA.match(line))), 0)
    sector = sector_bytes or sector_by_gpt(first) or USUAL_SECTOR
    if rows and (problem := sector_problem(sector if sector_bytes is None else sector_bytes, rows[0]["name"])):
        yield problem
    for row in rows:
        kind = (row["type"] or "").lower()
        if not kind and any(each["type"] for each in rows):
            yield changed_row(row[0])
            continue
        if kind == PROTECTIVE:
            yield f"{row['name']} stands for a whole GPT, whose partitions this sfdisk does not print; {IN_SECTORS}"
        elif kind not in CONTAINERS and int(row["size"]):
            yield Partition(row["name"], int(row["start"]) * sector, sector,
                            is_assumed=sector_bytes is None and sector_by_gpt(first) is None)


def of_print(text: str) -> Iterator[Partition | str]:
    """Of `parted DISK print`; what is rounded is wrong."""
    device, sector, is_parted, label = "", USUAL_SECTOR, False, ""
    for line in lines_of(text):
        if match := TWO_SECTORS.search(line):
            sector, is_parted = int(match[1]), bool(OF_PARTED.search(line))
            if problem := sector_problem(sector, device or "the disk"):
                yield problem
        elif match := DISK.match(line):
            device, sector, is_parted, label = match["device"], USUAL_SECTOR, False, ""
        elif match := PARTED_LABEL.search(line):
            label = match[1]
        elif match := PRINTED.match(line):
            number, start, unit, end, size = match.groups()
            if label in WITH_TYPES and EXTENDED.search(line):
                continue
            if unit not in ("s", "B") or not start.lstrip("-").isdigit():
                yield f"partition {number} of {device or 'a disk'} begins at {start}{unit}, which is rounded; {IN_SECTORS}"
            elif not end.isdigit() or not size.isdigit() or int(end) - int(start) + 1 != int(size):
                yield changed_row(line)
            else:
                yield Partition(numbered(device, number), int(start) * (sector if unit == "s" else 1), sector)
        elif is_parted and line[:1].isdigit() and not PRINTED_FREE.match(line):
            yield changed_row(line)


def of_gdisk(text: str) -> Iterator[Partition | str]:
    """Of `gdisk -l` and `sgdisk -p`. Partitions and free sectors add up to those that its head calls usable."""
    device, sector, is_open, usable, left = "", USUAL_SECTOR, False, 0, 0
    for line in [*lines_of(text), "Disk end: 0 sectors"]:
        if match := LOGICAL_SECTOR.search(line) or TWO_SECTORS.search(line):
            sector = int(match[1])
            if problem := sector_problem(sector, device or "the disk"):
                yield problem
        elif match := DISK_OF_GDISK.match(line) or DISK.match(line):
            if usable and left:
                yield (f"the rows of {device or 'a disk'} and its free space are {usable - left} sectors, but its head says "
                       f"{usable}, so that some are missing. Give what gdisk prints unchanged")
            device, sector, is_open, usable, left = match["device"], USUAL_SECTOR, False, 0, 0
        elif match := USABLE.match(line):
            usable = int(match[2]) - int(match[1]) + 1
            left += usable
        elif match := FREE.match(line):
            left -= int(match[1])
        elif GDISK_HEAD.match(line):
            is_open = True
        elif (match := OF_GDISK.match(line)) and _has_size(match, sector):
            yield Partition(numbered(device, match[1]), int(match[2]) * sector, sector)
            left -= int(match[3]) - int(match[2]) + 1
        elif match or (is_open and line[:1].isdigit()):
            yield changed_row(line)
        elif line:
            is_open = False


def _has_size(row: re.Match, sector: int) -> bool:
    """Whether start and end of gdisk's row are as far apart as it prints."""
    unit = 1 if row[5] == "bytes" else size_of(f"1{row[5][0]}", "unit")
    return abs((int(row[3]) - int(row[2]) + 1) * sector / unit - float(row[4])) <= ROUNDED


def tells_its_end(text: str) -> bool:
    """Whether the tool printed a count that rows which are missing would not meet: gpart does, and gdisk with its head."""
    lines = list(lines_of(text))
    return any(map(GPART_DISK.match, lines)) or (any(map(USABLE.match, lines)) and any(map(FREE.match, lines)))


def of_gpart(text: str) -> Iterator[Partition | str]:
    """Of `gpart show`, also with -l or -p."""
    starts: dict[str, int] = {}
    device, scheme, sector, begins, place, end = "", "", USUAL_SECTOR, 0, 0, 0
    for line in [*lines_of(text), ""]:
        if match := GPART_DISK.match(line):
            yield from _missing(device, place, end)
            device, scheme, sector = match[3], match[4], _sector_of(int(match[2]), match[5])
            place, end = int(match[1]), int(match[1]) + int(match[2])
            begins = starts.get(device, 0)
            if scheme in ("BSD", "EBR") and device not in starts:
                yield f"{device} lies in a slice whose start is not in it; give what `gpart show` prints of the whole disk"
                device = ""
        elif line.startswith("=>"):
            yield changed_row(line)
        elif device and (match := OF_GPART.match(line)):
            if int(match[1]) != place:
                yield changed_row(line)
            place = int(match[1]) + int(match[2])
            if match[3] == "-":
                continue
            name = match[3] if not match[3].isdigit() else _name_of(device, scheme, int(match[3]))
            starts[name] = begins + int(match[1]) * sector
            if match[4].split()[0] not in ("ebr", "freebsd"):           # which only hold others
                yield Partition(name, starts[name], sector)
        elif device and line[:1].isdigit():
            yield changed_row(line)
            device = ""
        elif not line:
            yield from _missing(device, place, end)
            device = ""


def of_gpart_list(text: str) -> Iterator[Partition | str]:
    """Of `gpart list`: what stands below *Providers* has a name, the size of its sectors, an offset and a type, in this
    order. An offset counts from the start of what is listed, which is a disk or a slice."""
    starts: dict[str, int] = {}
    geom, scheme, name, sector, offset = "", "", "", 0, None
    is_open = False
    for line in [*lines_of(text), "Consumers:"]:
        fact, part = LIST_FACT.match(line), LIST_PART.match(line)
        if name and (part or (fact and fact[1] in ("Geom name", "Name"))):
            yield (f"{name} has no line of its offset or of its type, so it is cut off; give what `gpart list` prints "
                   "unchanged")
            name = ""
        if part:
            is_open = part[1] == "Providers" and bool(geom)
        elif fact and fact[1] == "Geom name":
            geom, scheme, is_open = fact[2], "", False
        elif fact and fact[1] == "scheme":
            scheme = fact[2]
            if scheme in ("BSD", "EBR") and geom not in starts:
                yield f"{geom} lies in a slice whose start is not in it; give what `gpart list` prints of the whole disk"
                geom = ""
        elif fact and is_open and fact[1] == "Name":
            name, sector, offset = fact[2], 0, None
        elif fact and name and fact[1] == "Sectorsize":
            sector = int(fact[2]) if fact[2].isdigit() else 0
        elif fact and name and fact[1] == "offset" and fact[2].isdigit():
            offset = int(fact[2])
        elif fact and name and fact[1] == "type" and offset is not None:
            starts[name] = starts.get(geom, 0) + offset
            if problem := sector_problem(sector, name):
                yield problem
            if fact[2] not in ("ebr", "freebsd"):           # which only hold others
                yield Partition(name, starts[name], sector)
            name = ""


def of_parted_util(text: str) -> Iterator[Partition | str]:
    """Of `partedUtil getptbl`, which does not print the size of sectors."""
    device, above, end = "", "", 0
    for line in lines_of(text):
        if match := PARTED_UTIL.search(line):
            device, end = match[1], 0
        elif PARTED_UTIL_LABEL.match(above) and (match := PARTED_UTIL_DISK.match(line)):
            end = int(match[1])
        elif end and (match := OF_PARTED_UTIL.match(line)) and int(match[2]) <= int(match[3]) < end:
            if match[4] not in DOS_CONTAINERS:
                yield Partition(f"{device or 'the disk'}:{match[1]}", int(match[2]) * USUAL_SECTOR, USUAL_SECTOR,
                                is_assumed=True)
        elif end and line[:1].isdigit():
            yield changed_row(line)
        elif line:
            end = 0
        above = line


def _missing(device: str, place: int, end: int) -> Iterator[str]:
    """What is wrong where rows of a disk, with those that are free, do not reach its end."""
    if device and place != end:
        yield (f"the rows of {device} reach sector {place}, but its head says {end}, so that some are missing; give what "
               "`gpart show` prints unchanged")


def _sector_of(n_sectors: int, printed: str) -> int:
    """B of a sector, with which so many come nearest to the size that is printed."""
    size = size_of(printed, "size of a disk")
    return min(SECTORS, key=lambda sector: abs(n_sectors * sector - size))


def _name_of(device: str, scheme: str, number: int) -> str:
    """As FreeBSD names it: ada0p1, ada0s1, ada0s1a."""
    return device + {"GPT": f"p{number}", "BSD": chr(ord("a") + number - 1)}.get(scheme, f"s{number}")


def of_prtvtoc(text: str) -> Iterator[Partition | str]:
    """Of `prtvtoc`: slices of a Solaris VTOC, without the one that is all of the disk."""
    device, sector, is_vtoc = "", USUAL_SECTOR, False
    for line in lines_of(text):
        if match := VTOC_DISK.match(line):
            device, sector, is_vtoc = match[1], USUAL_SECTOR, False
        elif match := VTOC_SECTOR.match(line):
            sector = int(match[1])
        elif "sectors/cylinder" in line:
            is_vtoc = True
        elif device and (match := SLICE.match(line)) and int(match[6]) == int(match[4]) + int(match[5]) - 1:
            if is_vtoc and match[1] == BOOT_SLICE:
                yield (f"slices of {device} count from the start of its fdisk partition, which prtvtoc does not print. Add "
                       "what `fdisk -W - DISK` calls Rsect yourself, or give what `parted -m DISK unit s print` prints")
            elif match[2] != BACKUP:
                yield Partition(f"{device}s{match[1]}", int(match[4]) * sector, sector)
        elif device and line[:1].isdigit():
            yield changed_row(line)
        elif line and not line.startswith("*"):
            device = ""
