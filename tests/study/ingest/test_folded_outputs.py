"""Tables that a terminal or a mail has folded come to the numbers of the whole ones, or are refused.

`fixtures/README.md` says what the whole ones are.
"""

import pytest

from study.ingest import imports, iostat
from study.ingest.reading import Damaged, Source
from study.ingest.zpool_iostat import importer as zpool_iostat
from support.imported_runs import FIXTURES

OUTPUTS = {
    "disks": iostat,
    "old-disks": iostat,
    "waits": zpool_iostat,
    "long-names": zpool_iostat,
    "histograms": zpool_iostat,
}
WIDTHS = range(60, 112, 2)


def by_terminal(text, width):
    """Cut at a column, also within a number."""
    rows = [[line[at : at + width] for at in range(0, max(1, len(line)), width)] for line in text.splitlines()]
    return [part for row in rows for part in row]


def by_terminal_and_trimmed(text, width):
    """And copied, without blanks at the ends of lines."""
    return [part.rstrip() for part in by_terminal(text, width)]


def by_mail(text, width):
    """Cut at a blank, which is gone."""
    made = []
    for line in text.splitlines():
        while len(line) > width and line[: line.rfind(" ", 0, width + 1)].strip():
            at = line.rfind(" ", 0, width + 1)
            made.append(line[:at].rstrip())
            line = line[at:].lstrip()
        made.append(line)
    return made


def numbers(module, text, tmp_path):
    """All that is read; None if it is refused."""
    path = tmp_path / "output.txt"
    path.write_text(text)
    kind = module.kind(path.name, text)
    try:
        reading = module.read([Source(path, path.name, kind)], tmp_path)
    except Damaged:
        return None
    return None if list(imports._objections(reading)) else (
        [(series.name, series.table().to_pylist()) for series in reading.series],
        [(histogram.subject, histogram.name, list(histogram.bins)) for histogram in reading.histograms],
    )


@pytest.mark.parametrize("name", OUTPUTS)
@pytest.mark.parametrize("fold", [by_terminal, by_terminal_and_trimmed, by_mail])
def test_a_folded_table_is_read_as_the_whole_one_or_refused(fold, name, tmp_path):
    module, text = OUTPUTS[name], (FIXTURES / f"folded/{name}.txt").read_text()
    whole = numbers(module, text, tmp_path)
    assert whole is not None
    made = {width: numbers(module, "\n".join(fold(text, width)) + "\n", tmp_path) for width in WIDTHS}
    assert all(read in (whole, None) for read in made.values())
    assert sum(read is None for read in made.values()) <= 1
    assert made[80] == made[72] == whole


@pytest.mark.parametrize("name", OUTPUTS)
def test_a_folded_table_that_is_cut_off_is_refused(name, tmp_path):
    module, text = OUTPUTS[name], (FIXTURES / f"folded/{name}.txt").read_text()
    rows = [row for row in by_terminal(text, 80) if row.strip("- ")]
    assert numbers(module, "\n".join(rows[:-1]) + "\n", tmp_path) is None
