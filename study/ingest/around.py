"""What stands around an output in a post or a transcript: text of whoever sent it on, and output of other commands.

Above the first row and below the last one such lines are passed over. Between two reports they are refused, since what
stands on both sides may be of two runs, or of two machines.
"""

import re
from collections.abc import Callable
from itertools import islice

from study.ingest import text
from study.ingest.reading import Reading, Source

NUMBER = re.compile(r"[-+]?\d[\d.,:]*[A-Za-z%]{0,3}|-+")
FEWEST = 3  # words of a text beside its numbers; a row has a name
LOOKED_AT = 400  # lines in which the command of a tool is looked for


def is_prose(line: str) -> bool:
    """Whether a line has more words than a row of a monitor, or ends as a sentence or a title does."""
    words = line.split()
    others = [word for word in words if not NUMBER.fullmatch(word)]
    if not words or text.is_omission(line):
        return False
    is_title = not words[0].isascii() or words[-1][-1] in ":.!?*" or words[0].startswith(("#", "*"))
    return len(others) >= FEWEST or (len(others) == len(words) and (len(words) > 1 or is_title))


class Around:
    """Decides line by line, in their order."""

    def __init__(self, reading: Reading, source: Source, tool: str, is_heading: Callable[[str], bool],
                 is_row: Callable[[str], bool] | None = None) -> None:
        """`is_heading`: whether a line can be of no other tool. `is_row`: whether it may be one of this tool."""
        self.reading, self.source, self.tool = reading, source, tool
        self.is_heading, self.is_row = is_heading, is_row or is_heading
        self.first = self._first()
        self.has_rows, self.is_elsewhere = False, False
        self.below: tuple[int, str] | None = None  # the first text below the last row

    def _first(self) -> int:
        """Where the tool's command stands below those of others, and no row above it; else the first line."""
        is_below = False
        for n, line in islice(text.lines(self.source.path), LOOKED_AT):
            if not line.strip():
                continue
            if text.command_of(line, self.tool) is not None:
                return n if is_below else 1
            if self.is_heading(line) or (not is_below and self.is_row(line)):
                return 1
            is_below = is_below or text.is_command(line)
        return 1

    def takes_back(self, n: int) -> None:
        """Line `n` was no text: it belongs to the heading below it, as names of disks do."""
        if self.below is not None and self.below[0] == n:
            self.below = None

    def passes_over(self, n: int, line: str) -> bool:
        """Whether a line is none of the tool's. A row below text refuses that text."""
        if n < self.first:
            self.reading.other_lines += 1
            return True
        if text.command_of(line, self.tool) is not None:
            self.is_elsewhere = False
            return False
        if text.is_command(line):
            self.is_elsewhere = True
            return False
        if self.is_heading(line) or self.is_row(line):
            if self.is_elsewhere and not self.is_heading(line):
                why = f"it stands below another command; give output of {self.tool} alone"
                self.reading.refuse(self.source.name, n, why)
                return True
            if self.below is not None:
                number, shown = self.below
                self.reading.refuse(
                    self.source.name,
                    number,
                    f"'{shown.strip()[:40]}' is no line of {self.tool} and stands between reports, which may be of two "
                    "runs; give each by itself",
                )
            self.has_rows, self.is_elsewhere, self.below = True, False, None
            return False
        if not (self.is_elsewhere or is_prose(line)):
            return False
        if self.has_rows:
            self.below = self.below or (n, line)
        self.reading.other_lines += 1
        return True
