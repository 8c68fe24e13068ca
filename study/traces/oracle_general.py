"""oracleGeneral, the binary traces of libCacheSim: records of 24 bytes, little-endian, without a header.

    clock_time          uint32  s
    obj_id              uint64  a name, or a hash of one: no place on a device
    obj_size            uint32  B; libCacheSim leaves out what has 0
    next_access_vtime   int64   number of the next request for the same object, or -1, or 2^63 - 1

libCacheSim's own converter counts requests from 1 ("reference count starts with 1", traceConvOracleGeneral.cpp). It
subtracts places from the end, 0 of the last, from the number of records. Other converters count from 0. Which it is shows in
the records: the one before the number, or the one at it, is of the same object.

A record says neither read or write nor where on a device. The next access of each makes other files look wrong: it is later
than the record itself. Where it is later than the end, the file is the beginning of a longer one, and a note says so.
"""
from collections.abc import Iterator

import numpy as np

from study.errors import UserError
from study.traces.pieces import Pieces
from study.traces.requests import LARGEST_REQUEST, READ, Format, rows_of
from study.words import counted

RECORD = np.dtype([("clock_time", "<u4"), ("obj_id", "<u8"), ("obj_size", "<u4"), ("next_access_vtime", "<i8")])
NEVER = (-1, 2**63 - 1)
FORMAT = Format("oracleGeneral of libCacheSim", has_kind=False, has_place=False, resolution="1 s", notes=(
    "the format says neither read or write nor a place: each record is a read of an object",
    "each object counts as a block of one size, as it does in libCacheSim with --ignore-obj-size"))


def is_named_so(name: str) -> bool:
    """Whether a file's name says that it is oracleGeneral."""
    return "oraclegeneral" in name.lower()


def _counts_from(base: int, records: np.ndarray, at: np.ndarray) -> bool:
    """Whether a next request of these records, of number at - `base`, is among them and of the same object.

    Of a file that counts from 0 none is at number - 1, as nothing of the object lies between a record and its next.
    """
    following = records["next_access_vtime"]
    may_be = np.flatnonzero(~np.isin(following, NEVER) & (following - base > at) & (following - base <= at[-1]))
    target = following[may_be] - base - at[0]
    return bool((records["obj_id"][target] == records["obj_id"][may_be]).any())


def _end(last: int, n_records: int, base: int | None) -> list[str]:
    """A note, where `last`, the highest number of a next request, is beyond the end. `base`: None if no record tells."""
    if base is None and last == n_records:
        return [f"the file may be cut by a record. One of its {counted(n_records, 'record')} is wanted again in number "
                f"{last}, and no record tells whether numbers begin with 0 or 1"]
    from_1 = last + 1 - (1 if base is None else base)
    if from_1 <= n_records:
        return []
    return [f"it is the beginning of a longer trace: it has {counted(n_records, 'record')}, but an object is wanted again "
            f"in record {from_1}, counted from 1"]


def read(pieces: Pieces, notes: list[str]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(REQUEST[n], number of the record of each, from 0), piece by piece; what is to be known goes to `notes`. Raises
    UserError for what is no such file."""
    last, n_records, without_size, begins, base = 0, 0, 0, None, None
    for number, records in pieces.records(RECORD):
        at = number + np.arange(len(records))
        following = records["next_access_vtime"]
        is_never = np.isin(following, NEVER)
        wrong = np.flatnonzero(~is_never & (following <= at))
        if len(wrong):
            raise UserError(f"record {at[wrong[0]]} of {pieces.path} says that its object is next wanted in record "
                            f"{following[wrong[0]]}, which is not later; it is damaged, or not of {FORMAT.name}")
        large = np.flatnonzero(records["obj_size"] > LARGEST_REQUEST)
        if len(large):
            raise UserError(f"record {at[large[0]]} of {pieces.path} is of {records['obj_size'][large[0]]} bytes, but an "
                            f"object has {LARGEST_REQUEST} at most; the file is damaged, or not of {FORMAT.name}")
        last = max(last, int(following[~is_never].max(initial=0)))
        n_records = number + len(records)
        if base != 1 and _counts_from(1, records, at):
            base = 1
        elif base is None and _counts_from(0, records, at):
            base = 0
        kept = records["obj_size"] > 0
        without_size += int((~kept).sum())
        seconds = records["clock_time"].astype(np.int64)
        begins = int(seconds[0]) if begins is None else begins
        yield rows_of(time_ns=(seconds[kept] - begins) * 10**9, place=records["obj_id"][kept].view(np.int64),
                      n_bytes=records["obj_size"][kept].astype(np.int64), kind=READ, device=0), at[kept]
    notes.extend(_end(last, n_records, base))
    if without_size:
        notes.append(f"{counted(without_size, 'record')} of objects of 0 bytes left out, as libCacheSim does")
