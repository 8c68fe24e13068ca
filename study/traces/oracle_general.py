"""oracleGeneral, the binary traces of libCacheSim: records of 24 bytes, little-endian, without a header.

    clock_time          uint32  s
    obj_id              uint64  a name, or a hash of one: no place on a device
    obj_size            uint32  B; libCacheSim leaves out what has 0
    next_access_vtime   int64   number of the next request for the same object, or -1, or 2^63 - 1

A record says neither read or write nor where on a device. The next access of each makes other files look wrong: it is later
than the record itself. Where it is later than the end, the file is the beginning of a longer one, and that is said.
"""
from collections.abc import Iterator

import numpy as np

from study.errors import UserError
from study.traces.pieces import Pieces
from study.traces.requests import LARGEST_REQUEST, READ, Format, rows_of

RECORD = np.dtype([("clock_time", "<u4"), ("obj_id", "<u8"), ("obj_size", "<u4"), ("next_access_vtime", "<i8")])
NEVER = (-1, 2**63 - 1)
FORMAT = Format("oracleGeneral of libCacheSim", has_kind=False, has_place=False, resolution="1 s", notes=(
    "the format says neither read or write nor a place: each record is a read of an object",
    "each object counts as a block of one size, as it does in libCacheSim with --ignore-obj-size"))


def is_named_so(name: str) -> bool:
    return "oraclegeneral" in name.lower()


def read(pieces: Pieces, notes: list[str]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(REQUEST[n], number of the record of each, from 0), piece by piece; what is to be known goes to `notes`. Raises
    UserError for what is no such file."""
    last, n_records, without_size, begins = 0, 0, 0, None
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
        kept = records["obj_size"] > 0
        without_size += int((~kept).sum())
        seconds = records["clock_time"].astype(np.int64)
        begins = int(seconds[0]) if begins is None else begins
        yield rows_of(time_ns=(seconds[kept] - begins) * 10**9, place=records["obj_id"][kept].view(np.int64),
                      n_bytes=records["obj_size"][kept].astype(np.int64), kind=READ, device=0), at[kept]
    if last > n_records:
        notes.append(f"it is the beginning of a longer trace: an object is wanted again in record {last}, but there are "
                     f"{n_records}")
    if without_size:
        notes.append(f"{without_size} records of objects of 0 bytes are left out, as libCacheSim does")
