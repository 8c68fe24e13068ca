"""Partition tables as other tools print them than fdisk: a function for each, of the whole text.

    of_dump(text)       `sfdisk -d`: NAME : start= 63, size= 208782, Id=83
    of_print(text)      `parted DISK unit s print`, for people: number, start, end, size, each with its unit
    of_gdisk(text)      `gdisk -l`, `sgdisk -p`: number, start and end in sectors, size, code of four digits
    of_gpart(text)      `gpart show` of FreeBSD: start, length, number or name, type, (size)
    of_prtvtoc(text)    `prtvtoc` of Solaris: slice, tag, flags, first sector, count, last sector

Each gives partitions, and what is wrong. Words are not read, as parted has them in the user's language.

`gpart show` tells no size of sectors: it follows from the number of them and the size behind. What lies in a slice (BSD)
counts from its start. On x86 so do the slices of a Solaris VTOC: it has slice 8 for booting, and that is refused.
"""
import re
from collections.abc import Iterator

from study.pools.partition import IN_SECTORS, SECTORS, USUAL_SECTOR, Partition, numbered, sector_problem
from study.sizes import size_of

DUMPED = re.compile(r"^(?P<name>\S+) *: *start= *(?P<start>-?\d+), *size= *(?P<size>\d+)(?:, *(?:Id|type)= *(?P<type>\w+))?")
SECTOR_SIZE = re.compile(r"^sector-size: *(\d+)$")
CONTAINERS, PROTECTIVE, EMPTY = {"5", "f", "85"}, "ee", "0"
DISK = re.compile(r"^\W*\w+ +(?P<device>[^\s(:]*[/.][^\s:]*) ?[:\uff1a] *\d")
TWO_SECTORS = re.compile(r"[:\uff1a] *(\d+) ?B?/(\d+) ?(?:B|bytes)")
LOGICAL_SECTOR = re.compile(r"Logical sector size: (\d+) bytes")
PRINTED = re.compile(r"^(\d+) +(-?[\d.,]+)([a-zA-Z]+) +[\d.,]+[a-zA-Z]+ +[\d.,]+[a-zA-Z]+(?: |$)")
EXTENDED = re.compile(r" extended(?: |$)")      # parted does not translate it
DISK_OF_GDISK = re.compile(r"^Disk (?P<device>\S+): \d+ sectors")
OF_GDISK = re.compile(r"^(\d+) +(\d+) +(\d+) +[\d.]+ (?:bytes|[KMGTP]iB) +[0-9A-F]{4}\b")
GPART_DISK = re.compile(r"^=> +(\d+) +(\d+) +(\S+) +(GPT|MBR|BSD|EBR|VTOC8|APM|LDM\S*|PC98) +\(([\d.]+[KMGTPkmgt]?)\)")
OF_GPART = re.compile(r"^(\d+) +(\d+) +([\w.-]+) +(\S.*?) +\([\d.]+[KMGTPkmgt]?B?\)$")
VTOC_DISK = re.compile(r"^\* +(/\S+?)(?:s\d+)? partition map")
VTOC_SECTOR = re.compile(r"^\* +(\d+) bytes/sector")
SLICE = re.compile(r"^(\d+) +(\d+) +(\d\d) +(\d+) +(\d+) +(\d+)(?: |$)")
BACKUP, BOOT_SLICE = "5", "8"       # the tag of a slice that is all of the disk; the slice that x86 boots from


def _lines(text: str) -> Iterator[str]:
    for line in text.splitlines():
        yield " ".join(line.split())


def of_dump(text: str) -> Iterator[Partition | str]:
    """Of `sfdisk -d`."""
    sector = next((int(match[1]) for line in _lines(text) if (match := SECTOR_SIZE.match(line))), USUAL_SECTOR)
    rows = [match for line in _lines(text) if (match := DUMPED.match(line))]
    if rows and (problem := sector_problem(sector, rows[0]["name"])):
        yield problem
    for row in rows:
        kind = (row["type"] or "").lower()
        if kind == PROTECTIVE:
            yield f"{row['name']} stands for a whole GPT, whose partitions this sfdisk does not print; {IN_SECTORS}"
        elif kind not in CONTAINERS and int(row["size"]):
            yield Partition(row["name"], int(row["start"]) * sector, sector)


def of_print(text: str) -> Iterator[Partition | str]:
    """Of `parted DISK print`; what is rounded is wrong."""
    device, sector = "", USUAL_SECTOR
    for line in _lines(text):
        if match := TWO_SECTORS.search(line):
            sector = int(match[1])
            if problem := sector_problem(sector, device or "the disk"):
                yield problem
        elif match := DISK.match(line):
            device, sector = match["device"], USUAL_SECTOR
        elif match := PRINTED.match(line):
            number, start, unit = match.groups()
            if EXTENDED.search(line):
                continue
            if unit not in ("s", "B") or not start.lstrip("-").isdigit():
                yield f"partition {number} of {device or 'a disk'} begins at {start}{unit}, which is rounded; {IN_SECTORS}"
                continue
            yield Partition(numbered(device, number), int(start) * (sector if unit == "s" else 1), sector)


def of_gdisk(text: str) -> Iterator[Partition | str]:
    """Of `gdisk -l` and `sgdisk -p`."""
    device, sector = "", USUAL_SECTOR
    for line in _lines(text):
        if match := LOGICAL_SECTOR.search(line) or TWO_SECTORS.search(line):
            sector = int(match[1])
            if problem := sector_problem(sector, device or "the disk"):
                yield problem
        elif match := DISK_OF_GDISK.match(line) or DISK.match(line):
            device, sector = match["device"], USUAL_SECTOR
        elif match := OF_GDISK.match(line):
            yield Partition(numbered(device, match[1]), int(match[2]) * sector, sector)


def of_gpart(text: str) -> Iterator[Partition | str]:
    """Of `gpart show`, also with -l or -p."""
    starts: dict[str, int] = {}
    device, scheme, sector, begins = "", "", USUAL_SECTOR, 0
    for line in _lines(text):
        if match := GPART_DISK.match(line):
            device, scheme, sector = match[3], match[4], _sector_of(int(match[2]), match[5])
            begins = starts.get(device, 0)
            if scheme in ("BSD", "EBR") and device not in starts:
                yield f"{device} lies in a slice whose start is not in it; give what `gpart show` prints of the whole disk"
                device = ""
        elif device and (match := OF_GPART.match(line)) and match[3] != "-":
            name = match[3] if not match[3].isdigit() else _name_of(device, scheme, int(match[3]))
            starts[name] = begins + int(match[1]) * sector
            if match[4].split()[0] not in ("ebr", "freebsd"):           # which only hold others
                yield Partition(name, starts[name], sector)


def _sector_of(n_sectors: int, printed: str) -> int:
    """B of a sector, with which so many come nearest to the size that is printed."""
    size = size_of(printed, "size of a disk")
    return min(SECTORS, key=lambda sector: abs(n_sectors * sector - size))


def _name_of(device: str, scheme: str, number: int) -> str:
    """As FreeBSD names it: ada0p1, ada0s1, ada0s1a."""
    return device + {"GPT": f"p{number}", "BSD": chr(ord("a") + number - 1)}.get(scheme, f"s{number}")


def of_prtvtoc(text: str) -> Iterator[Partition | str]:
    """Of `prtvtoc`."""
    device, sector, is_vtoc = "", USUAL_SECTOR, False
    for line in _lines(text):
        if match := VTOC_DISK.match(line):
            device, sector, is_vtoc = match[1], USUAL_SECTOR, False
        elif match := VTOC_SECTOR.match(line):
            sector = int(match[1])
        elif "sectors/cylinder" in line:
            is_vtoc = True
        elif device and (match := SLICE.match(line)) and int(match[6]) == int(match[4]) + int(match[5]) - 1:
            if is_vtoc and match[1] == BOOT_SLICE:
                yield (f"slices of {device} count from the start of its fdisk partition, which prtvtoc does not print; add "
                       "what `fdisk -W - DISK` calls Rsect yourself, or give what `parted -m DISK unit s print` prints")
            elif match[2] != BACKUP:
                yield Partition(f"{device}s{match[1]}", int(match[4]) * sector, sector)
