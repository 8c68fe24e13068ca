"""Text that records requests, a line each: iologs of fio, what blkparse prints, the CSVs of MSR Cambridge.

Each format is two patterns: of a line with a request, and of every other line that its tool writes. A line that is neither
is a UserError: the file is damaged, or of a release that is not known here. Lines go through Arrow, a piece at a time.

    fio         fio(1), "TRACE FILE FORMAT", and fio 3.33: v2 has no times but waits, in us; times of v3 are us (measured:
                lines of a job with thinktime=20000 are 20 000 apart)
    blkparse    blkparse(1), "OUTPUT DESCRIPTION AND FORMATTING", its default format, and blkparse 1.2.0
    MSR         the README of "MSR Cambridge Traces", SNIA IOTTA: Timestamp in 100 ns since 1601, ResponseTime likewise
"""
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from study.errors import UserError
from study.replays import public_formats
from study.traces.pieces import Pieces, shown
from study.traces.requests import READ, TRIM, WRITE, Format, named, rows_of
from study.traces.text_columns import Piece, ReaderMemory, Rows, codes_of, devices_of, only, since_first, sized, whole
from study.words import counted

SECTOR_BYTES = 512
LONGEST_NUMBER = 2**62
MAX_FILES = 2**20   # that a job of fio holds open: chosen, as names are kept in memory
EVENTS = "QGIDCMFSB"        # of blkparse, that have a place and a size
HEADER = r"(?s)^\s*(?P<device>\d+,\d+)\s+\d+\s+\d+\s+(?P<seconds>\d+)\.(?P<ns>\d{9})\s+\d+\s+"
PLAIN_HEADER = re.sub(r"\?P<\w+>", "?:", HEADER)


class TextFormat(NamedTuple):
    """How a format of text is read: patterns of its lines, and what becomes of them."""
    format: Format
    request: str        # pattern of a line with a request; its groups are columns
    other: str          # of a line with none
    rows: Callable[[str, Piece, ReaderMemory], Rows]
    ends: Callable[[str, ReaderMemory], list[str]]              # notes; raises UserError
    note: Callable[[str, pa.Array, ReaderMemory], None]     # keeps what other lines say; raises UserError


# ---- fio ----

FIO_KINDS = {"read": READ, "write": WRITE, "trim": TRIM}


def _fio(path: str, piece: Piece, memory: ReaderMemory) -> Rows:
    kind = codes_of(piece.columns["action"], FIO_KINDS)
    if "time" in piece.columns:
        time = since_first(memory, whole(path, piece, "time", 0, LONGEST_NUMBER // 1000, "a time of")) * 1000
    else:
        is_wait = pc.equal(piece.columns["action"], "wait").to_numpy(zero_copy_only=False)
        waits = np.zeros(len(kind), np.int64)
        waits[is_wait] = whole(path, only(piece, is_wait), "place", 0, 10**15, "a wait of")
        time = (memory.counts.get("waited_us", 0) + np.cumsum(waits)) * 1000
        memory.counts["waits"] = memory.counts.get("waits", 0) + int(is_wait.sum())
        memory.counts["waited_us"] = memory.counts.get("waited_us", 0) + int(waits.sum())
        if memory.counts["waited_us"] > LONGEST_NUMBER // 1000:
            raise UserError(f"{path} waits {memory.counts['waited_us']} us in all by line {piece.lines[-1]}, which no trace "
                            "does; mend its waits")
    mask = kind >= 0
    memory.counts["syncs"] = memory.counts.get("syncs", 0) + int((~mask).sum())
    piece, kind = only(piece, mask), kind[mask]
    place, n_bytes = sized(path, piece, kind)
    return rows_of(time_ns=time[mask], place=place, n_bytes=n_bytes, kind=kind,
                   device=devices_of(path, piece, piece.columns["device"], memory)), piece.lines




def _fio_files(path: str, lines: pa.Array, memory: ReaderMemory) -> None:
    """Which files are open, or will be. Raises UserError for too many."""
    for line in pc.extract_regex(lines, FIO_FILE).drop_null().to_pylist():
        if line["action"] == "close":
            memory.unclosed.pop(line["file"], None)
        else:
            memory.unclosed[line["file"]] = None
    if len(memory.unclosed) > MAX_FILES:
        raise UserError(f"{path} adds {len(memory.unclosed)} files without closing them, but a job has {MAX_FILES} at most; "
                        "the file is damaged, or no iolog")


def _fio_ends(path: str, memory: ReaderMemory) -> list[str]:
    """fio closes its files when a job ends."""
    if not memory.unclosed:
        return []
    return [f"no close of {named([shown(name)[1:-1] for name in memory.unclosed])}: fio was stopped, or the file is cut"]


FIO_FILE = r"^(?:\d+ )?(?P<file>\S+) (?P<action>add|open|close)\s*$"
FIO_OTHER = (r"^\s*$|^{time}\S+ (?:add|open|close)\s*$|^{time}\S+ (?:sync|datasync|sync_file_range)\s*$|"
             r"^fio version {version} iolog\s*$")
FIO_REQUEST = r"{time}(?P<device>\S+) (?P<action>{actions}) (?P<place>-?\d+) (?P<length>-?\d+)\s*$"
ACTIONS = "read|write|trim|sync|datasync|sync_file_range"
FIO_NOTE = "fio writes a log per job, of what it issued: one log is one job"

# ---- blkparse ----

LETTERS = {"R": READ, "W": WRITE, "D": TRIM, "E": TRIM}


def _kinds(rwbs: pa.Array) -> np.ndarray:
    """Of the letters of a request: F in front is a flush before it, then comes what is done."""
    coded = pc.dictionary_encode(rwbs)
    kinds = np.array([LETTERS.get(word.removeprefix("F")[:1], -1) for word in coded.dictionary.to_pylist()], np.int64)
    return kinds[coded.indices.to_numpy(zero_copy_only=False)]


def _blkparse(event: str) -> Callable[[str, Piece, ReaderMemory], Rows]:
    def rows(path: str, piece: Piece, memory: ReaderMemory) -> Rows:
        for count in pc.value_counts(piece.columns["action"]).to_pylist():
            memory.counts[count["values"]] = memory.counts.get(count["values"], 0) + count["counts"]
        piece = only(piece, pc.equal(piece.columns["action"], event).to_numpy(zero_copy_only=False))
        kind = _kinds(piece.columns["rwbs"])
        piece, kind = only(piece, kind >= 0), kind[kind >= 0]
        seconds = whole(path, piece, "seconds", 0, 2**32, "a time of")
        time = seconds * 10**9 + whole(path, piece, "ns", 0, 10**9, "nanoseconds of")
        place, n_bytes = sized(path, piece, kind, SECTOR_BYTES)
        return rows_of(time_ns=since_first(memory, time), place=place, n_bytes=n_bytes, kind=kind,
                       device=devices_of(path, piece, piece.columns["device"], memory)), piece.lines
    return rows


def _blkparse_ends(event: str) -> Callable[[str, ReaderMemory], list[str]]:
    def ends(path: str, memory: ReaderMemory) -> list[str]:
        seen = {letter: n for letter, n in memory.counts.items() if letter in EVENTS}
        if not seen.get(event):
            others = ", ".join(f"{letter} ({n})" for letter, n in sorted(seen.items())) or "none"
            raise UserError(f"{path} has no event {event} with a place and a size, but {others}; choose one of these by "
                            "--event")
        return _of_summary(memory, sum(seen.values()) + memory.counts["others"])
    return ends


def _of_summary(memory: ReaderMemory, n_lines: int) -> list[str]:
    """What blkparse prints at the end, beside what was read."""
    if not memory.counts["summaries"]:
        return ["blkparse's summary is missing at the end, so nobody can tell whether lines are missing"]
    notes = []
    if n_lines != memory.counts["entries"]:
        notes.append(f"{counted(n_lines, 'event')} were read, but blkparse counted {memory.counts['entries']}: lines are "
                     "missing, or were filtered")
    if memory.counts["skips"]:
        notes.append(f"blktrace lost events {memory.counts['skips']} times (Skips), so requests are missing")
    return notes


ENTRIES, SKIPS = r"^Events \(.*\): (?P<n>[\d.,' ]+) entries", r"^Skips: (?P<n>[\d.,' ]+) forward"
SUMMARY = (r"CPU\d+ \(|Total \(|\s*(?:PC )?(?:Reads?|Writes?) |\s*IO unplugs|\s*(?:Allocation|Dispatch|Completion) wait|"
           r"Throughput \(|Events \(|Skips: |Input file .* added")
BLKPARSE_REQUEST = HEADER + rf"(?P<action>[{EVENTS}])\s+(?P<rwbs>[A-Z]+)\s+(?P<place>-?\d+) \+ (?P<length>-?\d+)(?: .*|\s*)$"
BLKPARSE_OTHER = (rf"^\s*$|^(?:{SUMMARY})|{PLAIN_HEADER}(?:(?:P|U|UT|T|m|A|X|R)\s+\S.*|"
                  rf"[{EVENTS}]\s+[A-Z]+\s+(?:\[.*|\(.*|\d+ \(.*|\d+ \[.*))$")

COUNTED = {"others": PLAIN_HEADER + r"\S", "entries": ENTRIES, "summaries": r"^Events \(", "skips": SKIPS}


def _count(path: str, lines: pa.Array, memory: ReaderMemory) -> None:
    """Lines of each pattern of COUNTED; where it has a group `n`, the sum of these numbers."""
    for name, pattern in COUNTED.items():
        matching = lines.filter(pc.match_substring_regex(lines, pattern))
        n = len(matching)
        if "?P<n>" in pattern:
            n = sum(int(re.sub(r"\D", "", row["n"])) for row in pc.extract_regex(matching, pattern).to_pylist())
        memory.counts[name] = memory.counts.get(name, 0) + n


# ---- MSR Cambridge ----

MSR_REQUEST = (r"^\s*(?P<time>-?\d+),(?P<host>[^,]*),(?P<disk>\d+),(?P<action>(?i:read|write)),(?P<place>-?\d+),"
               r"(?P<length>-?\d+),-?\d+\s*$")


def _msr(path: str, piece: Piece, memory: ReaderMemory) -> Rows:
    kind = codes_of(pc.utf8_lower(piece.columns["action"]), FIO_KINDS)
    time = since_first(memory, whole(path, piece, "time", 0, LONGEST_NUMBER, "a time of"))
    far = np.flatnonzero(np.abs(time) > LONGEST_NUMBER // 100)
    if len(far):
        raise UserError(f"line {piece.lines[far[0]]} of {path} is {time[far[0]] / 1e7:.0f} s from the first, which no trace "
                        "is; mend or remove the line")
    place, n_bytes = sized(path, piece, kind)
    names = pc.binary_join_element_wise(piece.columns["host"], piece.columns["disk"], "_")
    return rows_of(time_ns=time * 100, place=place, n_bytes=n_bytes, kind=kind,
                   device=devices_of(path, piece, names, memory)), piece.lines


# ---- all ----


def _msr_ends(path: str, memory: ReaderMemory) -> list[str]:
    return ["nothing in the format tells whether lines are missing at its end"]


def _says_nothing(path: str, lines: pa.Array, memory: ReaderMemory) -> None:
    """Lines that tell nothing."""


def text_format(name: str, event: str) -> TextFormat:
    """By the name that `public_formats` gives it, or for an iolog its first line; `event`: of blkparse."""
    if name == public_formats.MSR:
        return TextFormat(Format(name, resolution="100 ns"), MSR_REQUEST,
                          r"^\s*$|^Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\s*$", _msr, _msr_ends,
                          _says_nothing)
    if name == public_formats.BLKPARSE:
        return TextFormat(Format(f"{name}, its events {event}", resolution="1 ns"), BLKPARSE_REQUEST, BLKPARSE_OTHER,
                          _blkparse(event), _blkparse_ends(event), _count)
    version = int(name[-1])
    time = r"(?P<time>-?\d+) " if version == 3 else ""
    return TextFormat(
        Format(f"an iolog of fio, version {version}", resolution="1 us" if version == 3 else "", notes=(FIO_NOTE,)),
        "^" + FIO_REQUEST.format(time=time, actions=ACTIONS + ("|wait" if version == 2 else "")),
        FIO_OTHER.format(time=r"\d+ " if version == 3 else "", version=version), _fio, _fio_ends,
        _fio_files)


def read_lines(pieces: Pieces, text: TextFormat, memory: ReaderMemory) -> Iterator[Rows]:
    """Piece by piece. Raises UserError at the first line that cannot be."""
    path = str(pieces.path)
    names = list(re.compile(text.request).groupindex)
    for number, lines in pieces.lines():
        parts = pc.extract_regex(lines, text.request)
        is_request = parts.is_valid().to_numpy(zero_copy_only=False)
        others = lines.filter(pa.array(~is_request))
        wrong = np.flatnonzero(~pc.match_substring_regex(others, text.other).to_numpy(zero_copy_only=False))
        if len(wrong):
            line = int(np.flatnonzero(~is_request)[wrong[0]])
            content = lines.slice(line, 1).cast(pa.binary())[0].as_py()
            raise UserError(f"line {number + line} of {path} is {shown(content)}, which is no line of {text.format.name}; "
                            "mend or remove it")
        text.note(path, others, memory)
        kept = parts.filter(pa.array(is_request))
        piece = Piece({name: kept.field(name) for name in names}, np.flatnonzero(is_request) + number)
        if len(piece.lines):
            yield text.rows(path, piece, memory)
