"""Disk traces as they are published: which format a file has, and what of it a replay would need."""
import re
from pathlib import Path
from typing import NamedTuple

from study.errors import UserError

SEEN = 4096     # bytes at the beginning of a file
COLUMNS = ("op (R or W), block and count (of 512 B), service_us and gap_us. The last two are us from issue to completion, "
           "and of idle time until the next request")


class Format(NamedTuple):
    """A format of traces that `study replay disk` does not read."""

    name: str
    first_line: re.Pattern[str]
    service: str  # where its service times are; empty where it has none


MSR, FIO, BLKPARSE = "a trace of MSR Cambridge", "an iolog of fio", "text of blkparse"
FORMATS = (
    Format(MSR, re.compile(r"Timestamp,Hostname,|\d{15,20},[^,]+,\d+,(Read|Write),\d+,\d+,\d+"),
           "ResponseTime, of 100 ns"),
    Format(FIO, re.compile(r"fio version \d+ iolog"), ""),
    Format(BLKPARSE, re.compile(r"\s*\d+,\d+\s+\d+\s+\d+\s+\d+\.\d+\s+\d+\s+[A-Z]+\s+[A-Z]+\s"),
           "the time of C less that of D, of one request, in s"),
    Format("a trace of MQSim", re.compile(r"\d+ \d+ \d+ \d+ [01]$"), ""),
    Format("a trace of DiskSim", re.compile(r"\d+\.\d+ \d+ \d+ \d+ \d+$"), ""),
    Format("a trace of Alibaba's block storage", re.compile(r"(device_id,opcode,|\d+,[RW],\d+,\d+,\d{16}$)"), ""),
    Format("a trace of Tencent's block storage", re.compile(r"\d{10},\d+,\d+,[01],\d+$"), ""),
    Format("a trace of SPC (UMass)", re.compile(r"\d+,\d+,\d+,[rwRW],\d+\.\d+"), ""),
    Format("a trace of Systor '17",
           re.compile(r"Timestamp,Response,IOType,LUN,Offset,Size|\d{10}\.\d+,[\d.]*,[RW]?,\d+,\d+,\d+$"),
           "Response, in s"),
)


def format_of(first_line: str) -> Format | None:
    """Of FORMATS the one that a file has which begins with this line."""
    return next((format for format in FORMATS if format.first_line.match(first_line)), None)


def refuse(path: Path) -> None:
    """A UserError if the file is in one of FORMATS: what it is, and what a replay needs instead. A pipe is not looked
    into, as nothing of it may be read twice."""
    if not path.is_file():
        return
    with open(path, "rb") as file:
        begin = file.read(SEEN).decode("latin-1").lstrip("\r\n")
    first = begin.splitlines()[0] if begin else ""
    format = format_of(first)
    if format is None:
        return
    name, _, service = format
    through = " (caches and queue: study replay requests)" if name in (MSR, FIO, BLKPARSE) else ""
    if service:
        raise UserError(f"{path} is {name}, which is not read here{through}. Make a CSV of {COLUMNS}. Service times are "
                        f"{service}")
    raise UserError(f"{path} is {name}, which has no service times, so that nothing can be compared{through}. Give a trace "
                    f"that was measured, as a CSV of {COLUMNS}")
