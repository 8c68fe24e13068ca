"""Partition tables as Windows prints them: a function for each, of the whole text.

    of_wmic(text)           `wmic partition get BlockSize, Name, StartingOffset`: columns in the order of their names
    of_get_partition(text)  `Get-Partition` of PowerShell: number, letter, offset in bytes, size, type
    of_diskpart(text)       `detail partition` of diskpart; `list partition` rounds its offsets, and that is refused

Each gives partitions, and what is wrong. Words are those of an English Windows. Sectors of 512 B are assumed where their
size is not told. Sources of the formats: Win32_DiskPartition, Get-Partition and diskpart at learn.microsoft.com.
"""
import re
from collections.abc import Iterator

from study.pools.partition import USUAL_SECTOR, Partition, changed_row, lines_of

IN_BYTES = "give what `wmic partition get BlockSize, Name, StartingOffset` prints"
WMIC_HEAD = re.compile(r"^(?=.*\bName\b)(?=.*\bStartingOffset\b)[A-Z]\w+(?: [A-Z]\w+)+$")
WMIC_NAME = r"Disk #\d+, Partition #\d+"
WMIC_COLUMNS = {"Name": f"(?P<name>{WMIC_NAME})", "StartingOffset": r"(?P<start>\d+)", "BlockSize": r"(?P<sector>\d+)",
                "Type": r"\S.*", "Description": r"\S.*", "DeviceID": WMIC_NAME, "Caption": WMIC_NAME}
POWERSHELL_HEAD = re.compile(r"^PartitionNumber DriveLetter Offset Size Type$")
DISK_PATH = re.compile(r"^DiskPath: ?(\S+)")
OF_POWERSHELL = re.compile(r"^(?P<number>\d+) (?:(?P<letter>[A-Z]) )?(?P<start>\d+) [\d.,]+ [KMGT]?B \S")
LIST_HEAD = re.compile(r"^Partition ### Type Size Offset$")
LISTED = re.compile(r"^\*? ?(Partition \d+) \S.* \d+ [KMGT]?B (\d+) ([KMGT]?B)$")
DETAIL = re.compile(r"^Partition (\d+)$")
OFFSET = re.compile(r"^Offset in Bytes ?: (\d+)$")


def of_wmic(text: str) -> Iterator[Partition | str]:
    """Of `wmic partition get`, with any columns that have name and start."""
    row, has_rows = None, True
    for line in lines_of(text):
        if WMIC_HEAD.match(line):
            row, has_rows = re.compile(" ".join(WMIC_COLUMNS.get(column, r"\S+") for column in line.split()) + "$"), False
        elif row is not None and (match := row.match(line)):
            sector, has_rows = int(match.groupdict().get("sector") or 0), True
            yield Partition(match["name"], int(match["start"]), sector or USUAL_SECTOR, is_assumed=not sector)
        elif row is not None and re.search(WMIC_NAME.replace(r", Partition #\d+", ""), line):
            yield changed_row(line)
    if not has_rows:
        yield f"a table of wmic has no rows, so it is cut off; {IN_BYTES}"


def of_get_partition(text: str) -> Iterator[Partition | str]:
    """Of `Get-Partition`, of one disk or several."""
    disk, n_disks, is_open = "", 0, False
    for line in lines_of(text):
        if match := DISK_PATH.match(line):
            disk, is_open = match[1], False
        elif POWERSHELL_HEAD.match(line):
            n_disks, is_open = n_disks + 1, True
        elif is_open and (match := OF_POWERSHELL.match(line)):
            name = f"{disk or f'disk {n_disks}'}, partition {match['number']}" + (
                f" ({match['letter']}:)" if match["letter"] else "")
            yield Partition(name, int(match["start"]), USUAL_SECTOR, is_assumed=True)
        elif is_open and line[:1].isdigit():
            yield changed_row(line)


def of_diskpart(text: str) -> Iterator[Partition | str]:
    """Of `detail partition`, each with its `Offset in Bytes`; what `list partition` prints is wrong."""
    number, is_list = "", False
    for line in lines_of(text):
        if LIST_HEAD.match(line):
            is_list = True
        elif is_list and (match := LISTED.match(line)):
            yield f"{match[1]} begins at {match[2]} {match[3]}, which is rounded; {IN_BYTES}"
        elif match := DETAIL.match(line):
            number = match[1]
        elif number and (match := OFFSET.match(line)):
            yield Partition(f"Partition {number}", int(match[1]), USUAL_SECTOR, is_assumed=True)
            number = ""
