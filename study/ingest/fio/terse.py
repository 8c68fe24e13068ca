"""Terse output of fio (`--minimal`): a line a job, with totals alone."""

import re

from study.ingest import text
from study.ingest.fio.units import KIB, PHANTOM, numbered
from study.ingest.reading import Damaged, Reading, Source, slug

LINE = re.compile(r"(3|4|5);fio-([^;]*);([^;]*);(\d+);(-?\d+);")
OLD_LINE = re.compile(r"2;[^;]*;\d+;-?\d+;\d+;")
FIRST = {  # places, from 0, of KiB, bandwidth, I/O rate and runtime; version 5 has six more numbers a direction
    "3": {"read": 5, "write": 46},
    "4": {"read": 5, "write": 46, "trim": 87},
    "5": {"read": 5, "write": 52, "trim": 99},
}


def read(reading: Reading, source: Source) -> None:
    """Only totals: KiB, bandwidth, I/O rate and runtime of each direction."""
    text.note_a_cut(reading, source)
    names: list[str] = []
    for n, line in text.lines(source.path):
        match = LINE.match(line)
        if OLD_LINE.match(line):
            raise Damaged("it is terse output of version 2, without a version of fio; record with --output-format=json+")
        if not match:
            reading.other_lines += 1
            continue
        words = line.split(";")
        reading.version, reading.dialect = match[2], f"terse {match[1]}"
        if int(match[4]) == PHANTOM or not match[3]:
            continue
        if int(match[5]):
            reading.problems.append(f"job {match[3]} ended with error {match[5]}")
        names.append(numbered(slug(match[3]), names))
        for direction, first in FIRST[match[1]].items():
            try:
                kib, bandwidth, iops, runtime = (text.number(word) for word in words[first : first + 4])
            except ValueError:
                reading.refuse(source.name, n, f"columns {first + 1} to {first + 4} are no four numbers")
                continue
            if runtime and kib:
                stem = f"fio.{names[-1]}.{direction}"
                for key, value, unit in (
                    ("bytes", kib * KIB, "B"),
                    ("bandwidth", bandwidth * KIB, "B/s"),
                    ("iops", iops, "1/s"),
                    ("elapsed", runtime / 1000, "s"),
                ):
                    reading.total(f"{stem}.{key}", value, unit)
                reading.check(
                    f"bandwidth of {names[-1]}, {direction}", kib / runtime * 1000, bandwidth, "KiB/s", 0.01 * bandwidth + 1
                )
        reading.rows += 1
    reading.warnings.append(
        "terse output has fewer numbers than JSON, and its columns depend on the version; prefer --output-format=json+"
    )
