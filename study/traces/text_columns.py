"""Columns of text as numbers that are held to their bounds, and what a reader of text keeps from piece to piece."""
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from study.errors import UserError
from study.traces.requests import LARGEST_PLACE, LARGEST_REQUEST, MAX_DEVICES, TRIM


class Piece(NamedTuple):
    """Requests of some lines."""

    columns: dict[str, pa.Array]
    lines: np.ndarray       # number of the line of each


class ReaderMemory(NamedTuple):
    """What a reader keeps from piece to piece, and says at the end."""

    devices: dict[str, int]
    counts: dict[str, int]      # of what was left out, and of what tells whether the file is whole
    first: list[int]            # one element, once there is one: the first time, in units of the format
    unclosed: dict[str, None]   # files that were added or opened, in order, and not closed since


Rows = tuple[np.ndarray, np.ndarray]     # REQUEST[n], number of the line of each


def whole(path: str, piece: Piece, name: str, low: int, high: int, what: str) -> np.ndarray:
    """A column as int64. Raises UserError for the first line with less than `low` or more than `high`."""
    text = piece.columns[name]
    about = pc.cast(text, pa.float64()).to_numpy(zero_copy_only=False)
    wrong = np.flatnonzero(~((about >= low) & (about <= high)))
    if len(wrong):
        at = int(wrong[0])
        raise UserError(f"line {piece.lines[at]} of {path} has {what} {text[at].as_py()[:40]}, but it must be from {low} to "
                        f"{high}; mend or remove the line")
    return pc.cast(text, pa.int64()).to_numpy(zero_copy_only=False)


def devices_of(path: str, piece: Piece, names: pa.Array, memory: ReaderMemory) -> np.ndarray:
    """Numbers of devices. Raises UserError for too many."""
    coded = pc.dictionary_encode(names)
    for name in coded.dictionary.to_pylist():
        if memory.devices.setdefault(name, len(memory.devices)) == MAX_DEVICES:
            raise UserError(f"{path} has more than {MAX_DEVICES} devices or files, of which '{name[:40]}' is the next; "
                            "split the trace")
    numbers = np.array([memory.devices[name] for name in coded.dictionary.to_pylist()], np.int64)
    return numbers[coded.indices.to_numpy(zero_copy_only=False)]


def sized(path: str, piece: Piece, kind: np.ndarray, unit: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """(B from the beginning, B) of requests. Raises UserError. A trim may be of a whole device."""
    place = whole(path, piece, "place", 0, LARGEST_PLACE // unit, "an offset of") * unit
    n_bytes = whole(path, piece, "length", 0, LARGEST_PLACE // unit, "a length of") * unit
    has_wrong_size = (kind != TRIM) & ((n_bytes < 1) | (n_bytes > LARGEST_REQUEST))
    wrong = np.flatnonzero(has_wrong_size | (place + n_bytes > LARGEST_PLACE))
    if len(wrong):
        at = int(wrong[0])
        raise UserError(f"line {piece.lines[at]} of {path} has a request of {n_bytes[at]} bytes at {place[at]}, but they "
                        f"have 1 to {LARGEST_REQUEST} and end by {LARGEST_PLACE}. Mend or remove the line")
    return place, n_bytes


def since_first(memory: ReaderMemory, time: np.ndarray) -> np.ndarray:
    """Times from the first of the file on, in units of the format."""
    if not memory.first and len(time):
        memory.first.append(int(time[0]))
    return time - memory.first[0] if memory.first else time


def only(piece: Piece, mask: np.ndarray) -> Piece:
    """The requests where `mask` is true."""
    return Piece({name: column.filter(pa.array(mask)) for name, column in piece.columns.items()}, piece.lines[mask])


def codes_of(words: pa.Array, codes: dict[str, int]) -> np.ndarray:
    """-1 for what is in none."""
    coded = pc.dictionary_encode(words)
    values = np.array([codes.get(word, -1) for word in coded.dictionary.to_pylist()], np.int64)
    return values[coded.indices.to_numpy(zero_copy_only=False)]
