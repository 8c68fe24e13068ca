"""Where the partitions of a disk begin, from what the tools print of its table.

    partitions.read(text)       a Partition for each; UserError, one sentence, with all that is wrong

`sfdisk --json` and `parted -m` are read here, `fdisk -l` in `fdisk`, and what other tools print in `unix_tables` and
`windows_tables`. Sources of the formats: sfdisk(8), fdisk(8) and libfdisk of util-linux; parted(8); sgdisk(8); gpart(8);
prtvtoc(1M).

What stands before and behind, prompts and marks of quotation too, is passed over. A partition that only holds others
(Extended) is left out: nothing is read or written through it.
"""
import json
import re
from collections.abc import Iterator
from typing import Any

from study.errors import UserError
from study.pools import fdisk, pasted, unix_tables, windows_tables
from study.pools.partition import TRY, USUAL_SECTOR, Partition, numbered, sector_by_gpt, sector_problem

CONTAINERS = {"5", "f", "85", "0x5", "0xf", "0x85"}
# Tables of other tools by their heads, and what to give instead.
NOT_READ = (
    (r"#: +TYPE NAME +SIZE +IDENTIFIER$", "`diskutil list`", "give what `gdisk -l DISK` prints"),
    (r"Part +Tag +Flag +(?:Cylinders|First Sector)\b", "`format` of Solaris", "give what `prtvtoc DISK` prints"),
    (r"(?:GPT|MBR|BSD|EBR|VTOC8|APM) \d+$", "`gpart backup`", "give what `gpart show DISK` prints"),
    (r"NAME\b.* (?:MAJ:MIN|SIZE|FSTYPE|TYPE)\b", "`lsblk`", TRY),
    (r"Slot +Start +End +Length +Description$", "`mmls`", TRY),
)
TOO_LONG = re.compile(r"\d{30,}")
EXACT = re.compile(r"(-?\d+)(s|B)")


def read(text: str) -> list[Partition]:
    """Of one disk or several, in order. UserError, one sentence, with all that is wrong about the text."""
    if number := TOO_LONG.search(text):
        raise UserError(f"a number in it has {len(number[0])} digits, more than any disk's; {TRY}")
    partitions: list[Partition] = []
    wrong: list[str] = []
    for part in _parts(pasted.plain(text)):
        if isinstance(part, str):
            wrong.append(part)
        else:
            partitions.append(part)
    if not partitions and not wrong:
        wrong.append(_not_read(text))
    for partition in partitions:
        if partition.start_bytes < 0:
            wrong.append(f"{partition.name} begins at {partition.start_bytes} B, but nothing lies in front of a disk; mend "
                         "its start")
    if wrong:
        raise UserError("; ".join(dict.fromkeys(wrong)))
    return partitions


def _not_read(text: str) -> str:
    """What is wrong with a text without a partition: whose it is, if that can be told."""
    for head, tool, remedy in NOT_READ:
        if re.search(rf"^\s*{head}", pasted.plain(text), re.M):
            return f"it is what {tool} prints, which is not read here; {remedy}"
    return f"no partition is in it; {TRY}"


def tells_its_end(text: str) -> bool:
    """Whether a table that ends between two rows would be noticed: JSON has an end, and some tools print a count."""
    plain = pasted.plain(text)
    return '"partitiontable"' in plain or plain.lstrip().startswith("{") or unix_tables.tells_its_end(plain)


def _parts(text: str) -> Iterator[Partition | str]:
    """Partitions, and what is wrong."""
    if re.search(r"^\s*(?:(?:BYT|CHS|CYL);|/\S+?:[\d.]+\w+:\w+:\d+:\d+:)", text, re.M):
        return _of_parted(text)
    if '"partitiontable"' in text or text.lstrip().startswith("{"):
        return _of_sfdisk(text)
    return _of_tables(text)


def _of_tables(text: str) -> Iterator[Partition | str]:
    """Of all tools that print for people, each partition once."""
    yield from dict.fromkeys(part for read_table in TABLES for part in read_table(text))


TABLES = (fdisk.partitions_of, unix_tables.of_dump, unix_tables.of_print, unix_tables.of_gdisk, unix_tables.of_gpart,
          unix_tables.of_gpart_list, unix_tables.of_parted_util, unix_tables.of_prtvtoc, windows_tables.of_wmic,
          windows_tables.of_get_partition, windows_tables.of_diskpart)


# --- sfdisk ---------------------------------------------------------------------------------------------------------------

def _whole(value: Any) -> int:
    """A whole number as JSON has it; TypeError for another value."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(value)
    return value


def _of_sfdisk(text: str) -> Iterator[Partition | str]:
    """Of one disk or several, one after the other; what stands between is passed over."""
    begin, end = max(text.find("{"), 0), 0
    while begin >= 0:
        try:
            content, end = json.JSONDecoder().raw_decode(text, begin)
        except (json.JSONDecodeError, RecursionError) as error:
            what = f"line {error.lineno}: {error.msg}" if isinstance(error, json.JSONDecodeError) else "too deep"
            yield f"it is no whole JSON ({what}), perhaps cut off; {TRY}"
            return
        yield from _of_json(content)
        begin = text.find("{", end)
    if '"node"' in text[end:] or '"partitiontable"' in text[end:]:
        yield f"something of a table stands behind its JSON, so it is cut or changed; {TRY}"


def _of_json(content: Any) -> Iterator[Partition | str]:
    try:
        tables: dict[str, Any] = content["partitiontable"]
        rows, device = tables.get("partitions", []), str(tables.get("device", "the disk"))
        by_gpt = sector_by_gpt(_whole(tables.get("firstlba", 0)))
        sector = _whole(tables.get("sectorsize", by_gpt or USUAL_SECTOR))
        places = [(str(row["node"]), _whole(row["start"])) for row in rows
                  if str(row.get("type", "")).lower() not in CONTAINERS]
    except (KeyError, TypeError, ValueError, AttributeError):
        yield f"its JSON is not that of `sfdisk --json`, where each partition has node and start; {TRY}"
        return
    if tables.get("unit", "sectors") != "sectors":
        yield f"its unit is {tables['unit']}, but sfdisk gives sectors; {TRY}"
    if problem := sector_problem(sector, device):
        yield problem
    for name, start in places:
        yield Partition(name, start * sector, sector, is_assumed="sectorsize" not in tables and by_gpt is None)


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
            if problem := sector_problem(sector, device):
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
            yield Partition(numbered(device, number), int(start) * (sector if unit == "s" else 1), sector)
