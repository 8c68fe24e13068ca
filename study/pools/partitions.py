"""Where the partitions of a disk begin, from what the tools print of its table: `sfdisk --json`, `parted -m`, `fdisk -l`.

    partitions.read(text)       a Partition for each; UserError, one sentence, with all that is wrong

Sources of the formats: sfdisk(8), fdisk(8) and libfdisk of util-linux; parted(8), `-m`. `fdisk -l` came in five forms:

* since util-linux 2.25 or so: `Units: sectors of 1 * 512 = 512 bytes`, columns Device, Boot, Start, End, Sectors, Size, …;
* in 2.23 and 2.24, of GPT: columns #, Start, End, Size, Type, Name;
* in BusyBox: columns Device, Boot, StartCHS, EndCHS, StartLBA, EndLBA, Sectors, Size, Id, Type;
* before, with `-u`: `Units = sectors of 1 * 512 = 512 bytes`, columns Device, Boot, Start, End, Blocks, Id, System;
* before, without it: `Units = cylinders of 16065 * 512 = 8225280 bytes`. A partition ends with its last cylinder, so its
  blocks of 1 KiB say where it begins: the first of a disk at sector 63, mostly. A `+` behind them is half a block more.

A line with a device alone goes on in the next. What stands before and behind, prompts and marks of quotation too, is passed
over. A partition that only holds others (Extended) is left out: nothing is read or written through it.
"""
import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from study.errors import UserError

USUAL_SECTOR = 512
SECTORS = (512, 1024, 2048, 4096)
CONTAINERS = {"5", "f", "85", "0x5", "0xf", "0x85"}
CONTAINER = re.compile(r"Extended$|W95 Ext'd|Linux extended$")
DISK = re.compile(r"Disk (?P<device>/\S+): ")
UNITS = re.compile(r"Units ?[:=] ?(?P<unit>sectors|cylinders) of (?P<n>\d+) \* (?P<sector>\d+)(?: = \d+)? bytes")
HEAD = re.compile(r"Device\s+(?:Boot\s+)?Start\s+End\s+(?P<third>Sectors|Blocks)\b")
ROW = re.compile(r"(?P<device>/\S+)\s+(?:\*\s+)?(?P<start>-?\d+)\s+(?P<end>\d+)\s+(?P<n>\d+)(?P<half>[+-]?)\s+"
                 r"(?P<rest>\S.*)")
OFF_BORDER = re.compile(r"Partition (\d+) does not (?:start|end) on (?:a )?cylinder boundary")
LBA_HEAD = re.compile(r"Device\s+Boot\s+StartCHS\s+EndCHS\s+StartLBA\s+EndLBA\s+(?P<third>Sectors)\b")
CHS = re.compile(r"(?<=\s)\d+,\d+,\d+\s+\d+,\d+,\d+(?=\s)")
NUMBERED_HEAD = re.compile(r"#\s+Start\s+End\s+Size\b")
NUMBERED = re.compile(r"(?P<number>\d+)\s+(?P<start>-?\d+)\s+\d+\s+[\d.]+[KMGTP]?\s+\S")
DEVICE_ALONE = re.compile(r"/\S+(?:\s+\*)?")
TOO_LONG = re.compile(r"\d{30,}")
QUOTED = re.compile(r"^(?:[>|]\s?)+")
EXACT = re.compile(r"(-?\d+)(s|B)")
TRY = "give what `sfdisk --json DISK`, `parted -m DISK unit s print` or `fdisk -l DISK` prints"


class Partition(NamedTuple):
    """`start_bytes`: from the beginning of its disk."""
    name: str
    start_bytes: int
    sector_bytes: int           # the unit of its table


def read(text: str) -> list[Partition]:
    """Of one disk or several, in order. UserError, one sentence, with all that is wrong about the text."""
    if number := TOO_LONG.search(text):
        raise UserError(f"a number in it has {len(number[0])} digits, more than any disk's; {TRY}")
    plain = "\n".join(QUOTED.sub("", line.rstrip("\r")) for line in text.lstrip("\ufeff").splitlines())
    partitions: list[Partition] = []
    wrong: list[str] = []
    for part in _parts(plain):
        if isinstance(part, str):
            wrong.append(part)
        else:
            partitions.append(part)
    if not partitions and not wrong:
        wrong.append(f"no partition is in it; {TRY}")
    for partition in partitions:
        if partition.start_bytes < 0:
            wrong.append(f"{partition.name} begins at {partition.start_bytes} B, but nothing lies in front of a disk; mend "
                         "its start")
    if wrong:
        raise UserError("; ".join(dict.fromkeys(wrong)))
    return partitions


def _parts(text: str) -> Iterator[Partition | str]:
    """Partitions, and what is wrong."""
    if re.search(r"^\s*(?:(?:BYT|CHS|CYL);|/\S+?:[\d.]+\w+:\w+:\d+:\d+:)", text, re.M):
        return _of_parted(text)
    if '"partitiontable"' in text or text.lstrip().startswith("{"):
        return _of_sfdisk(text)
    return _of_fdisk(text)


def _sector(n_bytes: int, name: str) -> str | None:
    return None if n_bytes in SECTORS else (f"sectors of {name} have {n_bytes} B, but they have {SECTORS[0]} to "
                                            f"{SECTORS[-1]}, a power of two; mend that line")


def _numbered(device: str, number: str) -> str:
    """The name of a partition: sda1, nvme0n1p1."""
    return f"{device}{'p' * device[-1:].isdigit()}{number}"


# --- sfdisk ---------------------------------------------------------------------------------------------------------------

def _whole(value: Any) -> int:
    """A whole number as JSON has it; TypeError for another value."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(value)
    return value


def _of_sfdisk(text: str) -> Iterator[Partition | str]:
    begin = text.find("{")
    try:
        content, _ = json.JSONDecoder().raw_decode(text[max(begin, 0):])
        tables: dict[str, Any] = content["partitiontable"]
        rows, device = tables.get("partitions", []), str(tables.get("device", "the disk"))
        sector = _whole(tables.get("sectorsize", USUAL_SECTOR))
        places = [(str(row["node"]), _whole(row["start"])) for row in rows
                  if str(row.get("type", "")).lower() not in CONTAINERS]
    except json.JSONDecodeError as error:
        yield f"it is no whole JSON (line {error.lineno}: {error.msg}), perhaps cut off; {TRY}"
        return
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        yield f"its JSON is not that of `sfdisk --json`, where each partition has node and start; {TRY}"
        return
    if tables.get("unit", "sectors") != "sectors":
        yield f"its unit is {tables['unit']}, but sfdisk gives sectors; {TRY}"
    if problem := _sector(sector, device):
        yield problem
    for name, start in places:
        yield Partition(name, start * sector, sector)


# --- parted ---------------------------------------------------------------------------------------------------------------

def _of_parted(text: str) -> Iterator[Partition | str]:
    """A line for the disk: path:end:transport:logical:physical:label:model:flags; then number:start:end:… for each
    partition, or 1:start:end:size:free for what is free."""
    device, sector = "", USUAL_SECTOR
    for line in (line.strip() for line in text.splitlines()):
        if re.match(r"/\S+?:", line):
            fields = line.split(":")
            device = fields[0]
            if len(fields) < 6 or not fields[3].isdigit():
                yield f"the line of {device} is cut off; {TRY}"
                continue
            sector = int(fields[3])
            if problem := _sector(sector, device):
                yield problem
        elif match := re.match(r"(\d+):(-?[\d.,]+)(\w*)", line):
            number, start, unit = match.groups()
            if ":free;" in line:
                continue
            if not line.endswith(";") or line.count(":") < 3:
                yield f"the line of partition {number} of {device or 'a disk'} is cut off; {TRY}"
                continue
            if not EXACT.fullmatch(start + unit):
                yield (f"partition {number} of {device or 'a disk'} begins at {start}{unit}, which is rounded; print it "
                       "with `parted -m DISK unit s print`")
                continue
            yield Partition(_numbered(device, number), int(start) * (sector if unit == "s" else 1), sector)


# --- fdisk ----------------------------------------------------------------------------------------------------------------

class _Unit(NamedTuple):
    """What Start and End of a table count."""
    sectors: int
    sector_bytes: int


def _of_fdisk(text: str) -> Iterator[Partition | str]:
    unit, third, device, is_numbered, open_head = _Unit(1, USUAL_SECTOR), "", "", False, False
    off_border = tuple(OFF_BORDER.findall(text))
    cut = f"a table has no rows, so it is cut off; {TRY}"
    for line in _joined(text):
        if match := DISK.search(line):
            if open_head:
                yield cut
            unit, third, device, is_numbered, open_head = _Unit(1, USUAL_SECTOR), "", match["device"], False, False
        elif match := UNITS.search(line):
            unit = _Unit(int(match["n"]) if match["unit"] == "cylinders" else 1, int(match["sector"]))
            if problem := _sector(unit.sector_bytes, device or "the disk"):
                yield problem
        elif match := HEAD.search(line) or LBA_HEAD.search(line):
            third, open_head = match["third"], True
        elif NUMBERED_HEAD.match(line):
            is_numbered = open_head = True
        elif is_numbered and (match := NUMBERED.match(line)):
            open_head = False
            yield Partition(_numbered(device, match["number"]), int(match["start"]) * unit.sector_bytes, unit.sector_bytes)
        elif third and (match := ROW.match(CHS.sub("", line))):
            open_head = False
            if not CONTAINER.search(match["rest"]):
                yield _of_row(match, unit, third, off_border)
        elif (third and line.startswith("/")) or (is_numbered and re.match(r"\d+\s+-?\d", line)):
            open_head = False
            yield f"the line '{line[:60]}' is cut off; {TRY}"
    if open_head:
        yield cut


def _joined(text: str) -> Iterator[str]:
    """Lines; one that has a device alone, because its name is long, with the next."""
    held = ""
    for line in (line.strip() for line in text.splitlines()):
        if DEVICE_ALONE.fullmatch(line) and not held:
            held = line
        else:
            yield f"{held} {line}" if held else line
            held = ""
    if held:
        yield held


def _of_row(row: re.Match, unit: _Unit, third: str, off_border: tuple[str, ...]) -> Partition | str:
    name, start, end = row["device"], int(row["start"]), int(row["end"])
    if unit.sectors == 1:
        return Partition(name, start * unit.sector_bytes, unit.sector_bytes)
    n_sectors = (2 * int(row["n"]) + (row["half"] == "+")) * 512 // unit.sector_bytes
    first = end * unit.sectors - n_sectors
    ends_apart = off_border and name.endswith(off_border)
    if third != "Blocks" or ends_apart or not (start - 1) * unit.sectors <= first < start * unit.sectors:
        return (f"{name} is given in cylinders and does not end with one, so its start is not in it; print it with "
                "`fdisk -lu`")
    return Partition(name, first * unit.sector_bytes, unit.sector_bytes)
