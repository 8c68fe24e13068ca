"""A file of any length in pieces, plain or compressed: whole lines of text, or whole records of bytes.

What cannot be read, is cut off, or has a line without an end is a UserError that names the line. A piece is all that is ever
in memory.
"""
import codecs
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from study import given_files
from study.errors import UserError

PIECE = 2**24       # B
HEAD = 2**14        # B that tell what a file is
MAX_LINE = 2**16    # B; no tool writes a line of a tenth of that
MAX_BYTES = 2**44   # B of a file
MAGICS = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd", b"\x04\x22\x4d\x18": "lz4"}
NOT_UNPACKED = {b"\xfd7zXZ\x00": "xz", b"PK\x03\x04": "zip", b"7z\xbc\xaf": "7z"}
WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class Pieces:
    """An open file. A pipe will do, as nothing is read twice."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if path.is_dir():
            raise UserError(f"{path} is a folder; name the file of a trace")
        given_files.refuse_endless(path, MAX_BYTES)
        self.raw = open(path, "rb")  # noqa: SIM115 - `close` closes it
        try:
            self.file = self._unpacked()
            self.left = self.head = self.read(HEAD)
        except UserError:
            self.close()
            raise

    def _unpacked(self) -> BinaryIO | pa.NativeFile:
        magic = self.raw.peek(8)[:8]
        for begin, name in NOT_UNPACKED.items():
            if magic.startswith(begin):
                raise UserError(f"{self.path} is packed by {name}, which is not read here; unpack it, or pack it by gzip or "
                                "zstd")
        packed = next((name for begin, name in MAGICS.items() if magic.startswith(begin)), None)
        return pa.CompressedInputStream(pa.PythonFile(self.raw, mode="r"), packed) if packed else self.raw

    def read(self, n_bytes: int) -> bytes:
        """The next so many bytes; fewer at the end only."""
        parts, missing = [], n_bytes
        try:
            while missing and (part := self.file.read(missing)):
                parts.append(part)
                missing -= len(part)
        except (OSError, pa.ArrowException, EOFError) as error:
            reason = str(error).splitlines()[0].rstrip(".") if str(error) else "no reason is given"
            raise UserError(f"{self.path} cannot be read to its end ({reason}); it is cut off or damaged, so copy it "
                            "again") from error
        return b"".join(parts)

    def first_line(self) -> str:
        """The first that is not empty. Raises UserError for text that is not of one byte a letter."""
        if self.head.startswith(WIDE):
            raise UserError(f"{self.path} is text in UTF-16, which no tool writes that records traces; make UTF-8 of it: "
                            "iconv -f UTF-16 -t UTF-8")
        text = self.head.decode("utf-8-sig", "replace").lstrip("\r\n")
        return text.splitlines()[0] if text else ""

    def lines(self) -> Iterator[tuple[int, pa.Array]]:
        """(number of the first, from 1; lines without their ends), piece by piece. Raises UserError."""
        number, rest = 1, self.left.removeprefix(codecs.BOM_UTF8)
        while True:
            more = self.read(PIECE)
            data = rest + more
            end = data.rfind(b"\n") + 1
            rest = data[end:]
            if len(rest) > MAX_LINE:
                n = data.count(b"\n")
                raise UserError(f"line {number + n} of {self.path} has more than {MAX_LINE} bytes, which no tool writes; "
                                "it is no trace of requests, or damaged")
            if end:
                lines = self._split(data[:end], number)
                yield number, lines
                number += len(lines)
            if not more:
                break
        if rest:
            raise UserError(f"{self.path} ends within line {number} ({shown(rest)}), which has no end of line; the file is "
                            "cut off, so copy it again, or remove that line")

    def _split(self, data: bytes, number: int) -> pa.Array:
        """Lines that all have an end."""
        ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))
        offsets = np.concatenate(([0], ends + 1)).astype(np.int32)
        longest = int(np.diff(offsets).argmax())
        if offsets[longest + 1] - offsets[longest] > MAX_LINE:
            raise UserError(f"line {number + longest} of {self.path} has more than {MAX_LINE} bytes, which no tool writes; "
                            "it is no trace of requests, or damaged")
        return pa.StringArray.from_buffers(len(ends), pa.py_buffer(offsets), pa.py_buffer(data))

    def records(self, record: np.dtype) -> Iterator[tuple[int, np.ndarray]]:
        """(number of the first, from 0; records), piece by piece. Raises UserError where the last one is cut."""
        number, rest = 0, self.left
        while True:
            more = self.read(PIECE)
            data = rest + more
            n = len(data) // record.itemsize
            rest = data[n * record.itemsize:]
            if n:
                yield number, np.frombuffer(data, record, n)
                number += n
            if not more:
                break
        if rest:
            raise UserError(f"{self.path} ends within record {number}, {len(rest)} of {record.itemsize} bytes; the file is "
                            "cut off, so copy it again")

    def close(self) -> None:
        """The file is closed."""
        self.raw.close()


def shown(line: bytes | str) -> str:
    """A line of somebody's file as a part of a sentence: short, and without what a terminal would obey."""
    text = line.decode("utf-8", "replace") if isinstance(line, bytes) else line
    text = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text[:200].strip())
    return f"'{text[:60]}'"


