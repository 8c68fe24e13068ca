"""Text of other people's machines: any of the usual encodings and ends of lines, and never more than a line in memory.

UTF-8 with or without a byte order mark, UTF-16 with one. What is not text, or has a line without an end, is Damaged.
What a terminal, a mail, a page or a log of a build puts around lines is taken off.
"""

import codecs
import json
import math
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb

from study.ingest.reading import Damaged, Reading, Source

MAX_LINE = 2**16  # characters; the longest that any of the tools writes is some 15 000
MAX_JSON = 2**28  # B: fio's json+ of a hundred jobs is some 50 MB
LOCAL = "local time"  # how the source of a clock begins that has no zone
HEAD = 2**14  # characters that tell what a file is
MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
NUMBER = re.compile(r"[+-]?\d+(?:[.,]\d+)?(?:[eE][+-]?\d+)?")
COLOURS = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
OMISSION = re.compile(  # of whoever quotes
    r"[\[(<* ]*(?:\.{3,}|…|snip(?:ped)?|truncated(?: output)?|output truncated|\.{2,} ?[\w ]+ ?\.{2,})[\])>* ]*", re.I
)
OMITTED = "it stands for lines that were left out, so reports are missing; give the whole output"
SHORTENED = "{} for which `...` stands in the file; so they are not compared with the summary"
FENCE = re.compile(r"\s*(```|~~~)\s*\w*\s*")  # of Markdown
BEFORE = [  # what others write before each line of a tool
    re.compile(pattern)
    for pattern in (
        r"[>|](?: ?[>|])*(?: |$)",  # a quotation; the blanks of the columns stay
        r"\[[\w.@:-]{1,80}\] out:(?: |$)",  # Fabric
        r"[\w.-]{1,80} +\|(?: |$)",  # docker compose
        # Logs of a build, kubectl logs --timestamps, and those of a container's runtime.
        r"\[?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d)\]?(?: std(?:out|err) [FP])?(?: |$)",
        # Of a script, and of a logger, whose comma has three digits of a second behind it.
        r"\[?\d{4}[/-]\d\d[/-]\d\d[ T]\d\d:\d\d:\d\d(?:\.\d{1,9}|,\d{3}(?=[] |:,-]))?\]?(?:(?: [|:-]|:|,)?(?: |$))",
        r"\d\d:\d\d:\d\d [A-Z]{4,8} ?\| (?:\[std(?:out|err)\](?: |$))?",  # avocado, a runner of tests
        r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S{1,80} [^\s:\[]{1,80}(?:\[\d+\])?:(?: |$)",  # syslog, journalctl
        r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?: |$)",  # ts of moreutils
        r"\[?\d\d:\d\d:\d\d(?:\.\d{1,9}|,\d{3}(?=[] ]))?\]?(?: |$)",
    )
]
INTERVAL = re.compile(r"\d{1,6}(?:\.\d{1,6})?")
MOST = 0.9  # of lines that are not empty: so many begin alike where somebody wrote before them
PROMPT = r"(?:\[[^\]]{1,80}\][\w.@:~/-]{0,80}|[\w.@:~/+()-]{0,120})\s?[$#%>❯➜](?:\s|$)"
WITH = r"(?:\w+=\S+|sudo(?:\s+-u\s+\S+)?|time|nohup|timeout\s+\S+|stdbuf(?:\s+-\S+)+)"  # what may stand before a command
AFTER = re.compile(r"\s*\d?(?:[|>;]|&(?!\d))")  # and what behind it
PLACE = re.compile(r"<([\w-]+)>")  # of documents, where the reader puts a name
WATCH = re.compile(r"\s*Every \d+[.,]\d+s: (.*?)(?:\s\s.*|\s\S+: \w{3} \w{3} .*)")  # the first line of watch's screen
OF_SENTENCE = re.compile(
    r".*[,.:;!?]|is|are|was|shows?|says?|gives?|reports?|prints?|and|the|with|output|of|for|on|in", re.I
)
PROMPT_BEFORE = re.compile(rf"\s*{PROMPT}")
PROMPT_LINE = re.compile(rf"\s*(?:{PROMPT}.*|\^C.*)")


def encoding_of(path: Path) -> str:
    """The encoding of a file by its first two bytes: UTF-8 unless they are a mark."""
    with path.open("rb") as file:
        return MARKS.get(file.read(2), "utf-8-sig")


def head(path: Path) -> str:
    """The beginning, for a look at what it is; a zero byte if it is no text."""
    text = _beginning(path)
    clean = _cleaner(text)
    return "\n".join(map(clean, text.split("\n"))) if clean else text


def _beginning(path: Path) -> str:
    try:
        with path.open(encoding=encoding_of(path), errors="replace") as file:
            text = file.read(HEAD)
    except UnicodeError:
        return "\0"
    return "\0" if "\0" in text else text


def margin(path: Path) -> int:
    """Blanks or tabs in front of all lines, which are taken off."""
    return _around(_beginning(path))[1]


def _around(beginning: str) -> tuple[re.Pattern[str] | None, int]:
    """What stands before each line by the beginning of the file, and how many blanks follow it."""
    rows = [COLOURS.sub("", row) for row in beginning.split("\n") if row.strip() and not is_omission(row)]
    before = next((shape for shape in BEFORE if rows and sum(map(bool, map(shape.match, rows))) >= MOST * len(rows)), None)
    rows = [before.sub("", row, count=1) if before and before.match(row) else row for row in rows]
    margins = [row[:len(row) - len(row.lstrip(" \t"))] for row in rows if row.strip() and not is_prompt(row)]
    return before, next((n for n, column in enumerate(zip(*margins, strict=False)) if len(set(column)) > 1),
                        min(map(len, margins), default=0))


def _cleaner(beginning: str) -> Callable[[str], str] | None:
    """What takes off a line that others put around it, by the beginning of the file. None if they put nothing."""
    before, blanks = _around(beginning)
    if before is None and not blanks and not any(mark in beginning for mark in ("\x1b[", "\xa0", "```", "~~~")):
        return None

    def clean(line: str) -> str:
        line = COLOURS.sub("", line).replace("\xa0", " ")
        line = before.sub("", line, count=1) if before and before.match(line) else line
        line = line[blanks:] if not line[:blanks].strip() else line
        return "" if FENCE.fullmatch(line) else line

    return clean


def command_of(line: str, tool: str) -> list[str] | None:
    """The words after `tool`, such as "zpool iostat", in a line that is the command with or without a prompt before it."""
    shown = PLACE.sub(r"\1", WATCH.sub(r"\1", line[:500]).strip().strip("`"))
    match = re.fullmatch(rf"(?:{PROMPT}\s*)?(?:{WITH}\s+)*(?:\S*/)?{re.escape(tool)}(?:\s+(.*))?", shown)
    words = AFTER.split(match[1] or "")[0].split() if match else []
    has_mark = "`" in line or bool(PROMPT_BEFORE.match(line[:500])) or bool(WATCH.match(line[:500]))
    return words if match and (has_mark or not any(map(OF_SENTENCE.fullmatch, words))) else None


def is_omission(line: str) -> bool:
    """Whether a line says, as `...` or `(snip)` do, that whoever sent the output on has left out what stood there."""
    return bool(OMISSION.fullmatch(line.strip()[:40]))


def is_prompt(line: str) -> bool:
    """Whether a line is of a terminal's prompt, or of ^C, and of no tool."""
    return bool(PROMPT_LINE.fullmatch(line[:500]))


def is_command(line: str) -> bool:
    """Whether a line is a command behind a prompt."""
    match = PROMPT_BEFORE.match(line[:500])
    return bool(match and line[match.end():].strip())


def interval_of(words: list[str]) -> float | None:
    """Seconds between reports, of the words of a command that ends in `[interval [count]]`, or has devices behind that. None
    if it has none."""
    at = next((i for i, word in enumerate(words) if INTERVAL.fullmatch(word) and not _is_of_option(words, i)), None)
    return None if at is None else float(words[at]) or None


def _is_of_option(words: list[str], i: int) -> bool:
    """Whether a number stands behind an option that takes a value, and so is a name: `iostat -g 3 1`."""
    return i > 0 and words[i - 1] in ("-g", "-p", "-j", "--pretty")


def has_option(words: list[str], letter: str) -> bool:
    """Whether a command has the option of one letter, alone or among others."""
    return any(re.fullmatch(rf"-[A-Za-z]*{letter}[A-Za-z]*", word) for word in words)


def of_y(words: list[str]) -> str:
    """What is known of the option -y by a command's words, which are none where it is not in the file."""
    return "the command has no -y" if words else "nothing in the file tells whether -y was given"


def lines(path: Path, as_written: bool = False) -> Iterator[tuple[int, str]]:
    """Number, from 1, and text of each line, without its end and what others put around it. Raises Damaged.

    `as_written` keeps what stands around a line: times of a table are its own.
    """
    clean = None if as_written else _cleaner(_beginning(path))
    with path.open(encoding=encoding_of(path)) as file:
        number = 0
        while True:
            try:
                line = file.readline(MAX_LINE + 1)
            except UnicodeError:
                raise Damaged(f"{path.name} is not text after line {number}") from None
            if not line:
                return
            number += 1
            if len(line) > MAX_LINE:
                raise Damaged(f"line {number} of {path.name} has more than {MAX_LINE} characters")
            if "\0" in line:
                raise Damaged(f"line {number} of {path.name} holds a zero byte")
            yield number, clean(line.rstrip("\n")) if clean else line.rstrip("\n")


def ends_with_a_line(path: Path) -> bool:
    """Whether the last line has an end, as a tool that was not stopped leaves it. An empty file has none to end."""
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, size - 2))
        return not size or file.read().endswith((b"\n", b"\n\0"))  # the second in UTF-16


def note_a_cut(reading: Reading, source: Source) -> None:
    """A problem of the reading where the last line has no end."""
    if not ends_with_a_line(source.path):
        reading.problems.append(f"the last line of {source.name} has no end, so the file is cut off")


def whole(path: Path) -> str:
    """The text of a JSON file, bounded. Raises Damaged."""
    if (size := path.stat().st_size) > MAX_JSON:
        raise Damaged(f"{path.name} has {size} bytes, but a JSON file of {MAX_JSON} at most is read")
    try:
        return path.read_text(encoding=encoding_of(path))
    except UnicodeError:
        raise Damaged(f"{path.name} is not text") from None


def parsed(text: str, name: str) -> Any:
    """A JSON document. Raises Damaged."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Damaged(f"{name} is no whole JSON ({_short(error)})") from None


def _short(error: Exception) -> str:
    return str(error).splitlines()[0][:80] if str(error) else type(error).__name__


def database(scratch: Path) -> duckdb.DuckDBPyConnection:
    """An empty DuckDB in little memory, that says nothing on the terminal."""
    connection = duckdb.connect(config={"memory_limit": "1GB", "threads": 2, "temp_directory": str(scratch)})
    connection.execute("SET enable_progress_bar = false")
    return connection


def number(text: str) -> float:
    """With a point or a comma before the decimals. Raises ValueError, also for what no double holds."""
    if not NUMBER.fullmatch(text) or len(text) > 40:
        raise ValueError(f"'{text[:40]}' is no number")
    value = float(text.replace(",", "."))
    if math.isinf(value) or (not value and re.match(r"[^eE]*[1-9]", text)):
        raise ValueError(f"'{text[:40]}' is beyond what a number of 64 bits holds")
    return value


def epoch(text: str) -> tuple[float, bool] | None:
    """Seconds since 1970 of a time in ISO 8601, as in UTC where it has no zone, and whether it has. None if it is none."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    has_zone = moment.tzinfo is not None
    try:
        return (moment if has_zone else moment.replace(tzinfo=UTC)).timestamp(), has_zone
    except (OverflowError, ValueError):
        return None
