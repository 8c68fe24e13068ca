"""Terse output of fio (`--minimal`): a line a job, with totals alone."""

import re

from study.ingest import text
from study.ingest.fio.units import KIB, PHANTOM
from study.ingest.reading import Reading, Source, slug

LINE = re.compile(r"(3|4|5);fio-([^;]*);([^;]*);(\d+);(-?\d+);")


def read(reading: Reading, source: Source) -> None:
    """Only totals: read KiB, bandwidth, I/O rate and runtime stand in columns 6 to 9, writes in 47 to 50."""
    text.note_a_cut(reading, source)
    for n, line in text.lines(source.path):
        match = LINE.match(line)
        if not match:
            reading.other_lines += 1
            continue
        words = line.split(";")
        reading.version, reading.dialect = match[2], f"terse {match[1]}"
        if int(match[4]) == PHANTOM or not match[3]:
            continue
        if int(match[5]):
            reading.problems.append(f"job {match[3]} ended with error {match[5]}")
        for direction, first in (("read", 5), ("write", 46)):
            try:
                kib, bandwidth, iops, runtime = (text.number(word) for word in words[first : first + 4])
            except ValueError:
                reading.refuse(source.name, n, f"columns {first + 1} to {first + 4} are no four numbers")
                continue
            if runtime and kib:
                stem = f"fio.{slug(match[3])}.{direction}"
                for key, value, unit in (
                    ("bytes", kib * KIB, "B"),
                    ("bandwidth", bandwidth * KIB, "B/s"),
                    ("iops", iops, "1/s"),
                    ("elapsed", runtime / 1000, "s"),
                ):
                    reading.total(f"{stem}.{key}", value, unit)
                reading.check(
                    f"bandwidth of {match[3]}, {direction}", kib / runtime * 1000, bandwidth, "KiB/s", 0.01 * bandwidth + 1
                )
        reading.rows += 1
    reading.warnings.append(
        "terse output has fewer numbers than JSON, and its columns depend on the version; prefer --output-format=json+"
    )
