"""The outputs of one run of zpool iostat: which they are, a table or histograms of waits or of sizes."""

import re
from pathlib import Path

from study.ingest import text
from study.ingest.reading import Reading, Source, refuse_several
from study.ingest.zpool_iostat import histograms, table
from study.ingest.zpool_iostat.layouts import LAYOUTS, OF_SIZES, OF_WAITS
from study.ingest.zpool_iostat.report_lines import is_time, is_value

TOOL = "zpool iostat"


def kind(name: str, head: str) -> str | None:
    """Which output of zpool iostat this is by its beginning, or None."""
    rows = [line for line in head.splitlines() if line.strip()]
    for row in rows[:60]:
        words = row.split()
        if words[:1] == ["capacity"] or words[1:3] == ["alloc", "free"]:
            return "table"
        if ("total_wait" in words[:2] and len(words) >= 4) or (words[:1] == ["latency"] and "read" in words):
            return "waits"
        if words[:1] == ["req_size"] or ("sync_read" in words[:2] and "async_write" in words):
            return "sizes"
    commands = [command for row in rows if (command := text.command_of(row, TOOL)) is not None]
    rows = [row for row in rows if not text.is_prompt(row) and text.command_of(row, TOOL) is None]
    has_blanks = any(text.has_option(command, "H") for command in commands)  # a page may have made them of tabs
    of_table = [row for row in rows if "\t" in row or (has_blanks and not is_time(row))]
    tabs = [row.split("\t") if "\t" in row else row.split() for row in of_table]
    if not tabs or any(len(row) != len(tabs[0]) for row in tabs):
        return None
    others = [row for row in rows if row not in of_table]
    if len(tabs[0]) - 1 in LAYOUTS and all(is_value(word) for row in tabs[:5] for word in row[1:]):
        return "table" if all(is_time(row) for row in others) else None
    bare = [re.fullmatch(r"\d+", row[0]) for row in tabs]
    if all(bare) and len(tabs) >= 5 and others:
        labels = [int(row[0]) for row in tabs[:5]]
        if all((label + 1) & label == 0 for label in labels) and len(tabs[0]) - 1 in OF_WAITS.values():
            return "waits"
        return (
            "sizes" if len(tabs[0]) - 1 in OF_SIZES.values() and all(label & (label - 1) == 0 for label in labels) else None
        )
    return None


def read(sources: list[Source], scratch: Path) -> Reading:
    """All that zpool iostat printed. Damaged if there are several outputs of a kind."""
    reading = Reading(tool=TOOL)
    kinds = [source.kind for source in sources]
    if len(set(kinds)) != len(kinds):
        refuse_several(sources)
    for source in sources:
        text.note_a_cut(reading, source)
        (table if source.kind == "table" else histograms).read(reading, source)
    reading.missing.append("totals of its own: zpool iostat prints none, so nothing can be compared")
    return reading
