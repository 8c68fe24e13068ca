"""Random rewrites of records: the streams of allocations and frees that free space ages under.

First all records are written in order, so many in a transaction group. Then records are drawn at random, each with the same
chance, and written anew. What is rewritten goes to a new place, and its old one is freed in the same transaction group.

Beside them there can be a log of large records that are written one after the other, again and again in a ring.
"""

from typing import NamedTuple

import numpy as np

from model.events.streams import stream
from model.jit import kernel
from model.zfs.space.replay_exact import ALLOCATE, FREE, NEW_MAP, TXG_END, Operations


class Rewrites(NamedTuple):
    """What is written."""

    n_records: int
    n_txgs: int  # of rewriting
    per_txg: int  # records written in each
    log_per_txg: int = 0  # log records written in each
    log_records: int = 0  # in the ring
    record_bytes: int = 4096
    log_bytes: int = 2**17


class Writes(NamedTuple):
    """Writes in order, an element each. Records count from 0, those of the log follow."""

    record: np.ndarray
    txg: np.ndarray  # from 0
    n_bytes: np.ndarray


def records_of(work: Rewrites, seed: int) -> np.ndarray:
    """Which records each transaction group rewrites, (n_txgs, per_txg)."""
    return (stream(seed, "rewrites").random((work.n_txgs, work.per_txg)) * work.n_records).astype(np.int64)


def fill_txgs(work):
    """Transaction groups until all records are written."""
    return -(-work.n_records // work.per_txg)


def writes(work: Rewrites, seed: int) -> Writes:
    """The records' writes, and after those of each transaction group its log's."""
    first, n_txgs = fill_txgs(work), fill_txgs(work) + work.n_txgs
    record = np.concatenate([np.arange(work.n_records), records_of(work, seed).ravel()])
    in_txg = np.concatenate([np.arange(work.n_records) // work.per_txg,
                             first + np.repeat(np.arange(work.n_txgs), work.per_txg)])
    log = work.n_records + np.arange(n_txgs * work.log_per_txg) % max(1, work.log_records)
    log_txg = np.repeat(np.arange(n_txgs), work.log_per_txg)
    record, txg = np.concatenate([record, log]), np.concatenate([in_txg, log_txg])
    order = np.argsort(txg, kind="stable")
    return Writes(record[order], txg[order], np.where(record < work.n_records, work.record_bytes, work.log_bytes)[order])


@kernel
def _look_back(record, last, before):
    for i in range(len(record)):
        before[i] = last[record[i]]
        last[record[i]] = i


def replaced(record):
    """For each write the number of the one that wrote the same record before it, or -1."""
    last, before = np.full(record.max(initial=-1) + 1, -1), np.empty_like(record)
    _look_back(record, last, before)
    return before


@kernel
def _put(columns, row, kind, n_bytes, which):
    columns[0, row], columns[1, row], columns[2, row] = kind, n_bytes, which
    return row + 1


@kernel
def _line_up(done, before, columns):
    """Fill the columns of `rows`."""
    row, first, n = 0, 0, len(done.txg)
    for i in range(n):
        row = _put(columns, row, ALLOCATE, done.n_bytes[i], i)
        if i + 1 == n or done.txg[i + 1] != done.txg[i]:
            for j in range(first, i + 1):
                if before[j] >= 0:
                    row = _put(columns, row, FREE, done.n_bytes[j], before[j])
            row, first = _put(columns, row, TXG_END, 0, done.txg[i]), i + 1


def rows(done: Writes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(kind, B, which) of the stream: of each transaction group its allocations, their frees, its end. `which` numbers the
    allocation that is made or freed, or the transaction group, each of which has writes."""
    before = replaced(done.record)
    n_rows = len(before) + np.count_nonzero(before >= 0) + int(done.txg[-1]) + 1
    columns = np.empty((3, n_rows), np.int64)
    _line_up(done, before, columns)
    return tuple(columns)


def _behind(first, column):
    return np.concatenate([[first], column]).astype(np.int64)


def operations(work: Rewrites, map_bytes: int, seed: int) -> Operations:
    """The stream for one map: it begins with the map, and what is freed is free when the transaction group ends."""
    done = writes(work, seed)
    in_use = work.n_records * work.record_bytes + work.log_records * work.log_bytes
    at_once = work.per_txg * work.record_bytes + work.log_per_txg * work.log_bytes
    if work.n_records < 1 or in_use + at_once > map_bytes:
        raise ValueError(f"{work.n_records} records and a log are {in_use} B, and {at_once} B more until what they "
                         f"replace is free. Together they must be more than nothing and fit into {map_bytes} B; write less")
    kind, n_bytes, which = rows(done)
    return Operations(kind=_behind(NEW_MAP, kind), n_bytes=_behind(map_bytes, np.where(kind == ALLOCATE, n_bytes, 0)),
                      block=_behind(-1, which))
