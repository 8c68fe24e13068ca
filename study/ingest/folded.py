"""Lines of a table that a terminal of 80 columns, or a mail, has folded: joined again, by the words of the heading.

    folded.lines(source.path, Table(...))       as `text.lines`, each with the number of its first part

A terminal cuts at a column, also within a number. A mail cuts at a blank. Where the heading is whole nothing is joined.
Parts that come to another number of words than the heading stay as they are, and their importer refuses them.
"""

import itertools
import re
from collections import deque
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from study.ingest import text

MOST_PARTS = 6
WIDEST_GAP = 8  # characters: so many blanks at the end of a part may have been taken off
CELL = re.compile(r"-+|\d[\d.,]*[A-Za-z%]{0,3}")


class Table(NamedTuple):
    """How the headings of a tool's tables begin, and the words in them behind the first."""

    heading: re.Pattern[str]
    words: Collection[str]
    above: re.Pattern[str] | None = None  # of a line of titles above the heading


class _Fold(NamedTuple):
    width: int
    n_parts: int  # of the heading
    n_words: int


def lines(path: Path, table: Table) -> Iterator[tuple[int, str]]:
    """Number, from 1, and text of each line, or of the parts that make one. Raises Damaged."""
    source = text.lines(path)
    first = list(itertools.islice(source, 400))
    fold = _fold_of([line for _, line in first], table)
    given = itertools.chain(first, source)
    if fold is None:
        yield from given
        return
    waiting: deque[tuple[int, str]] = deque()
    while waiting or (waiting := deque(itertools.islice(given, 1))):
        waiting.extend(itertools.islice(given, max(0, MOST_PARTS + 1 - len(waiting))))
        number = waiting[0][0]
        made, n_parts = _joined([line for _, line in waiting], fold, table)
        for _ in range(n_parts):
            waiting.popleft()
        yield number, made


def _fold_of(rows: list[str], table: Table) -> _Fold | None:
    """How the first heading that is folded was; None if there is none."""
    for at, row in enumerate(rows):
        if not table.heading.match(row):
            continue
        width = max(len(other) for other in rows if len(row) <= len(other) <= len(row) + WIDEST_GAP)
        fold = None
        for n in range(1, MOST_PARTS + 1):
            parts = rows[at : at + n]
            if len(parts) < n or not all(map(str.strip, parts)):
                break
            words = next((made for made in _ways(parts, width) if set(made[1:]) <= set(table.words)), None)
            fold = _Fold(width, n, len(words)) if words else fold
        if fold is not None:
            return fold if fold.n_parts > 1 else None
    return None


def _ways(parts: list[str], width: int) -> Iterator[list[str]]:
    """The words of the parts as a terminal has cut them, and as a mail has."""
    yield "".join([*(part.ljust(width) for part in parts[:-1]), parts[-1]]).split()
    yield " ".join(parts).split()


def _joined(rows: list[str], fold: _Fold, table: Table) -> tuple[str, int]:
    """The line that begins with the first of these, and of how many parts it is made."""
    if table.above is not None and table.above.match(rows[0]):
        n = next((n for n, row in enumerate(rows) if n and table.heading.match(row)), 1)
        return " ".join(rows[:n]), n
    for n in range(1, min(MOST_PARTS, fold.n_parts + 1, len(rows)) + 1):
        parts = rows[:n]
        if not all(map(str.strip, parts)) or any(map(table.heading.match, parts[1:])):
            break
        if n < fold.n_parts and len(parts[-1]) >= fold.width:      # its last number may go on
            continue
        for made in _ways(parts, fold.width):
            if len(made) == fold.n_words and all(word in table.words or CELL.fullmatch(word) for word in made[1:]):
                indent = rows[0][: len(rows[0]) - len(rows[0].lstrip())]
                return (indent + " ".join(made) if n > 1 else rows[0]), n
    return rows[0], 1
