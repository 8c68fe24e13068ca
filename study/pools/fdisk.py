"""What `fdisk -l` prints, in any language, and the other tables of fdisk and `sfdisk -l`.

`fdisk -l` came in five forms:

* since util-linux 2.25 or so: `Units: sectors of 1 * 512 = 512 bytes`, columns Device, Boot, Start, End, Sectors, Size, …;
* in 2.23 and 2.24, of GPT: columns #, Start, End, Size, Type, Name;
* in BusyBox: columns Device, Boot, StartCHS, EndCHS, StartLBA, EndLBA, Sectors, Size, Id, Type;
* before, with `-u`: `Units = sectors of 1 * 512 = 512 bytes`, columns Device, Boot, Start, End, Blocks, Id, System;
* before, without it: `Units = cylinders of 16065 * 512 = 8225280 bytes`. A partition ends with its last cylinder, so its
  blocks of 1 KiB say where it begins: the first of a disk at sector 63, mostly. A `+` behind them is half a block more.

Words are those of the user's language, so that none is read. A row is a name, a start, an end, and a length that fits both:
in sectors, or in blocks of 1 KiB. A line with a device alone goes on in the next.

A partition that only holds others (Extended) is left out: nothing is read or written through it. An old fdisk prints a GPT
as one partition of type `ee`, whose start says nothing of the partitions in it: that is refused.
"""
import re
from collections.abc import Iterator
from typing import NamedTuple

from study.pools.partition import IN_SECTORS, TRY, USUAL_SECTOR, Partition, numbered, sector_problem

CONTAINERS, PROTECTIVE = {"5", "f", "85"}, "ee"
LEFT_OUT = "left out"       # of a row: it has no partition, or none that is read or written through
DISK = re.compile(r"^\W*\w+ +(?P<device>[^\s(:]*[/.][^\s:]*) ?[:\uff1a] *\d")
UNITS = re.compile(r"\b(?P<n>\d+) [*\u00d7] ?(?P<sector>\d+)\b")
FROM_0 = re.compile(r"cylinders of \d+ bytes, blocks of 1024 bytes, counting from 0")
HEAD = re.compile(r"Device\s+(?:Boot\s+)?Start(?:CHS)?\s+End(?:CHS)?\s+\S")
ROW = re.compile(r"(?P<device>[^\s\d*#]\S*)\s+(?:\*\s+)?(?P<start>-?\d+)\s+(?P<end>\d+)\s+(?P<n>\d+)(?P<half>[+-]?)\s+"
                 r"(?P<rest>\S.*)")
OF_A_TABLE = re.compile(r"/\S+\s+(?:\*\s+)?-?\d")
EMPTY = re.compile(r"/\S+\s+0\s+-\s+0\b")
OFF_BORDER = re.compile(r"Partition (\d+) does not (?:start|end) on (?:a )?cylinder boundary")
CHS = re.compile(r"(?<=\s)\d+,\d+,\d+\s+\d+,\d+,\d+(?=\s)")
NUMBERED_HEAD = re.compile(r"#\s+\S+\s+\S+\s+\S+\s+\S+\s+\S+$")
NUMBERED = re.compile(r"(?P<number>\d+)\s+(?P<start>-?\d+)\s+\d+\s+[\d.,]+[KMGTP]?\s+\S")
DEVICE_ALONE = re.compile(r"/\S+(?:\s+\*)?")


class _Unit(NamedTuple):
    """What starts and ends of a table count."""
    sectors: int
    sector_bytes: int


class _Table(NamedTuple):
    """Where in the text we are."""
    device: str = ""
    unit: _Unit = _Unit(1, USUAL_SECTOR)
    is_open: bool = False           # rows may follow
    has_rows: bool = True           # since its head
    is_numbered: bool = False


def partitions_of(text: str) -> Iterator[Partition | str]:
    """Partitions, and what is wrong."""
    table, off_border = _Table(), tuple(OFF_BORDER.findall(text))
    cut = f"a table has no rows, so it is cut off; {TRY}"
    for line in _joined(text):
        if match := DISK.match(line):
            if not table.has_rows:
                yield cut
            table = _Table(match["device"])
        elif FROM_0.search(line):
            yield (f"{table.device or 'a disk'} is given in cylinders that count from 0, so that no start is in it; "
                   f"{IN_SECTORS}")
            return
        elif (match := UNITS.search(line)) and not ROW.match(line):
            unit = _Unit(int(match["n"]), int(match["sector"]))
            table = table._replace(unit=unit)
            if problem := sector_problem(unit.sector_bytes, table.device or "the disk"):
                yield problem
        elif (numbered_head := NUMBERED_HEAD.match(line)) or HEAD.search(line):
            table = table._replace(is_open=True, has_rows=False, is_numbered=bool(numbered_head))
        elif part := _of_line(line, table, off_border):
            table = table._replace(is_open=True, has_rows=True)
            if part != LEFT_OUT:
                yield part
        elif not line:
            table = table._replace(is_open=table.is_open and not table.has_rows)
    if not table.has_rows:
        yield cut


def _of_line(line: str, table: _Table, off_border: tuple[str, ...]) -> Partition | str | None:
    """The partition of a row, what is wrong with it, LEFT_OUT, or None where the line is no row."""
    if table.is_numbered:
        if match := NUMBERED.match(line):
            return Partition(numbered(table.device, match["number"]), int(match["start"]) * table.unit.sector_bytes,
                             table.unit.sector_bytes)
        return f"the line '{line[:60]}' is cut off or changed; {TRY}" if re.match(r"\d+\s+-?\d", line) else None
    row = ROW.match(CHS.sub("", line))
    if row and (fits := _fits(row, table.unit)) and (table.is_open or fits == "well"):
        return _of_row(row, table.unit, off_border)
    if EMPTY.match(line):
        return LEFT_OUT
    return f"the line '{line[:60]}' is cut off or changed; {TRY}" if table.is_open and OF_A_TABLE.match(line) else None


def _fits(row: re.Match, unit: _Unit) -> str:
    """Whether start, end and length of a row agree: "well", in cylinders also "about", else "": it is no row, or damaged."""
    length = int(row["end"]) - int(row["start"]) + 1
    half_kib = 2 * int(row["n"]) + (row["half"] == "+")
    if unit.sectors > 1:
        cylinder = unit.sectors * unit.sector_bytes
        fits_whole = (length - 1) * cylinder < half_kib * 512 <= length * cylinder
        return "well" if fits_whole or int(row["n"]) == length else "about" if length > 0 else ""
    return "well" if int(row["n"]) == length or half_kib * 512 == length * unit.sector_bytes else ""


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


def _type_of(rest: str) -> str:
    """The type of a partition in an MBR: hexadecimal, the first word behind a length, or the second behind the size in
    words; "" of a GPT."""
    words = rest.lower().split()
    return next((word for word in words[:2] if re.fullmatch(r"[0-9a-f]{1,2}", word)), "")


def _of_row(row: re.Match, unit: _Unit, off_border: tuple[str, ...]) -> Partition | str:
    name, start, end, kind = row["device"], int(row["start"]), int(row["end"]), _type_of(row["rest"])
    if kind in CONTAINERS:
        return LEFT_OUT
    if kind == PROTECTIVE:
        return f"{name} stands for a whole GPT, whose partitions this fdisk does not print; {IN_SECTORS}"
    if unit.sectors == 1:
        return Partition(name, start * unit.sector_bytes, unit.sector_bytes)
    n_sectors = (2 * int(row["n"]) + (row["half"] == "+")) * 512 // unit.sector_bytes
    first = end * unit.sectors - n_sectors
    counts_cylinders = int(row["n"]) == end - start + 1
    ends_apart = off_border and name.endswith(off_border)
    if counts_cylinders or ends_apart or not (start - 1) * unit.sectors <= first < start * unit.sectors:
        return (f"{name} is given in cylinders and does not end with one, so its start is not in it; print it with "
                "`fdisk -lu`")
    return Partition(name, first * unit.sector_bytes, unit.sector_bytes)
