"""The table of `docs/traces.md` that lists what the recordings do not show, which tests hold against the defects."""

from typing import NamedTuple

from study.project import ROOT

PAGE, HEADING = ROOT / "docs" / "traces.md", "## What the recordings do not show"


class NotShown(NamedTuple):
    """A row."""
    mechanism: str
    defect: str
    test: str  # tells it


def table():
    section = PAGE.read_text().split(f"{HEADING}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [NotShown(*(cell.strip(" `") for cell in line.strip("|").split("|"))) for line in lines[2:]]


def not_shown(mechanism):
    """Defects of a mechanism that no recording tells."""
    return {row.defect for row in table() if row.mechanism == mechanism}
