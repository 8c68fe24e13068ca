"""The files of one run of fio: one output with totals, and logs beside it."""

import re
from pathlib import Path

from study.ingest.fio import json_output, logs, normal, terse
from study.ingest.reading import NO_CLOCK, Reading, Source, refuse_several

TOOL = "fio"


def kind(name: str, head: str) -> str | None:
    """Which file of fio this is by its name and its beginning, or None."""
    if logs.HISTOGRAM.fullmatch(name) and (not head.strip() or re.match(r"\d+, \d+, ", head)):
        return "histogram"
    if logs.LOG.fullmatch(name) and (not head.strip() or logs.ROW.fullmatch(head.splitlines()[0].strip())):
        return "log"
    if '"fio version"' in head:
        return "json"
    if any(terse.LINE.match(line) or terse.OLD_LINE.match(line) for line in head.splitlines()):
        return "terse"
    if normal.is_of_people(head):
        return "normal"
    return "failed" if any(json_output.FAILED.fullmatch(line) for line in head.splitlines()[:5]) else None


def read(sources: list[Source], scratch: Path) -> Reading:
    """All that the output of one run says, with its logs. Damaged if there are several outputs."""
    reading = Reading(tool=TOOL)
    outputs = [source for source in sources if source.kind in ("json", "terse", "normal", "failed")]
    refuse_several(outputs)
    clock = NO_CLOCK
    for source in outputs:
        if source.kind == "json":
            clock = json_output.read(reading, source)
        elif source.kind == "terse":
            terse.read(reading, source)
        elif source.kind == "normal":
            normal.read(reading, source)
        else:
            reading.problems.append(f"{source.name} holds nothing but an error of fio")
    if not outputs:
        reading.missing.append("fio's JSON, which has the totals, the version and the time of the run")
    logs.read(reading, [source for source in sources if source.kind in ("log", "histogram")], clock)
    return reading
