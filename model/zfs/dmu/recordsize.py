"""Records larger than writes: what has to be read first, and how much more is written than was asked for.

A file is kept in records of one size. A write is cut into pieces at their borders. In English (spec 5.2, 5.3):

 1. A piece that covers its record needs nothing of the old one. Any other piece needs the record in core, and it is read if
    it is not there. The writer reads the whole of it, and waits.
 2. A record that was written to is *dirty*, stays in core, and is written whole with its transaction group, once, however
    many pieces came. What is dirtied again in a later group is written again.
 3. A write that is not aligned to records may touch two where one would do.

So with few writes to each record in a group nearly every write of 8 KiB makes 128 KiB be written. With many, hardly more is
written than is asked for. W independent writes to n records dirty n (1 - (1 - 1/n)^W) of them in a group. With l = W / n:

    amplification = B written / B asked = (record / write) (1 - exp(-l)) / l

which for 8 KiB in 128 KiB is 16 (1 - exp(-l)) / l, and for n pages a record n (1 - exp(-l)) / l.

Records have 128 KiB at most, until large blocks came (feature large_blocks, illumos change 5027 of 2014; ZFS on Linux
0.6.5). Then it is 16 MiB, though a parameter, zfs_max_recordsize, stood at 1 MiB until OpenZFS 2.2 (pull request 13302).

Left out: compression, indirect blocks (`model.zfs.dmu.dirty`), what the log does with the same data (`model.zfs.zil.log`).
When a record leaves core is the caller's to say (`in_core`).
"""

import math
from typing import NamedTuple

import numpy as np

from model.jit import kernel
from model.zfs.dmu import recordsize_columns as counted


class RecordParams(NamedTuple):
    """The rules of a build; the default is that of 2005 to 2014."""

    max_bytes: int = 2**17  # of a record; SPA_MAXBLOCKSIZE
    stay_compressed: int = 0  # 1: in core, too, unless a parameter says otherwise; OpenZFS 0.7, FreeBSD 12


class Records(NamedTuple):
    """A file."""

    record_bytes: int
    in_core: np.ndarray  # per record: 1 if it is
    dirtied_in: np.ndarray  # per record: the last group in which it was dirtied, 0 for none
    counts: np.ndarray  # see model.zfs.dmu.recordsize_columns


@kernel
def first_record(records, offset):
    """The number of the record that byte `offset` of a file is in."""
    return offset // records.record_bytes


@kernel
def last_record(records, offset, n_bytes):
    """The number of the record that the last of `n_bytes` from `offset` on is in."""
    return (offset + n_bytes - 1) // records.record_bytes


@kernel
def is_covered(records, record, offset, n_bytes):
    """Whether a write leaves nothing of a record that it touches."""
    begin = record * records.record_bytes
    return offset <= begin and begin + records.record_bytes <= offset + n_bytes


@kernel
def must_be_read(records, record, offset, n_bytes):
    """Rule 1: whether a write needs a record that is not in core. The caller reads it before `dirty`."""
    return not records.in_core[record] and not is_covered(records, record, offset, n_bytes)


@kernel
def dirty(records, record, txg):
    """Rule 2: a record, which is in core or covered, is written to. True if that makes one more to be written by `txg`."""
    records.in_core[record] = 1
    if records.dirtied_in[record] == txg:
        return False
    records.dirtied_in[record] = txg
    records.counts[counted.DIRTIED] += 1
    return True


@kernel
def overwrite(records, offset, n_bytes, txg):
    """A whole write, by somebody for whom reading takes no time: counts only."""
    records.counts[counted.ASKED_BYTES] += n_bytes
    for record in range(first_record(records, offset), last_record(records, offset, n_bytes) + 1):
        if must_be_read(records, record, offset, n_bytes):
            records.counts[counted.READ_FIRST] += 1
        dirty(records, record, txg)


@kernel
def overwrite_all(records, offsets, n_bytes, per_txg):
    """Writes of `n_bytes` at `offsets`, `per_txg` in each group; the first group is number 1."""
    for i in range(len(offsets)):
        overwrite(records, offsets[i], n_bytes, 1 + i // per_txg)


def counted_amplification(records):
    """B written by transaction groups for each that was asked for."""
    return records.counts[counted.DIRTIED] * records.record_bytes / records.counts[counted.ASKED_BYTES]


def records_dirtied(n_records, n_writes):
    """How many of `n_records` are touched by independent, uniform writes to one record each, on average."""
    return -n_records * math.expm1(n_writes * math.log1p(-1 / n_records)) if n_records > 1 else float(n_writes > 0)


def amplification(record_bytes, write_bytes, per_record):
    """B written for each asked for, with `per_record` writes to a record and transaction group on average."""
    if not 0 < write_bytes <= record_bytes or per_record < 0:
        raise ValueError(f"{per_record} writes of {write_bytes} B to a record of {record_bytes} B have no amplification; "
                         "choose 0 or more writes, none larger than a record")
    return record_bytes / write_bytes * (-math.expm1(-per_record) / per_record if per_record else 1.0)


def new_records(n_records, record_bytes, in_core=0):
    """A clean file; all of it in core or none."""
    if n_records < 1 or record_bytes < 512 or record_bytes & (record_bytes - 1):
        raise ValueError(f"a file of {n_records} records of {record_bytes} B cannot be; choose at least one record, of a "
                         "power of two of at least 512 B")
    return Records(record_bytes, np.full(n_records, in_core, np.int64), np.zeros(n_records, np.int64),
                   np.zeros(counted.N_COUNTS, np.int64))
