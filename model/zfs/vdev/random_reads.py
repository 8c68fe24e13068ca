"""What the programs above ask of the storage below.

So far one workload: **random reads of a database through a cold ARC**, as one leaf sees them. The database is a file of
fixed-size records that fills the leaf. To read a record ZFS needs the record's level-1 indirect block (L1). It holds 128
block pointers of 128 B and is stored compressed (spec 5.1, 5.2). The first read of any record under an L1 reads the L1 from
disk first, a read of metadata. Later ones find it in the ARC, which never has to let go of one. The records themselves are
never read twice soon enough to be found there: every read of a record reaches the leaf.

Where an L1 lies decides what a read of 64 KiB around it brings along:

    L1_BEHIND_RECORDS   right behind the last of its 128 records: how a sequential load lays it out (spec 2.12)
    L1_APART            all L1s packed one after the other, behind all records

Left out: the levels above (one L2 for 128 L1s), and the time between the read of an L1 and that of its record. That is about
one service time: both carry the tick in which the program asked.
"""

import math
from typing import NamedTuple

import numpy as np

from model.devices.sectors import SECTOR_BYTES
from model.events.clock import SECOND_NS
from model.jit import kernel
from model.zfs.vdev import cache_replay
from model.zfs.vdev.cache import VdevCacheParams
from model.zfs.vdev.cache_replay import READ

LABEL_START_BYTES = 4 * 2**20  # labels and boot area in front of the data on every leaf; spec 1.3
RECORDS_PER_L1 = 128  # block pointers in a 16 KiB indirect block; spec 5.1

L1_BEHIND_RECORDS, L1_APART = 0, 1
L1_PLACES = ("L1_BEHIND_RECORDS", "L1_APART")


class RecordReads(NamedTuple):
    """A database of records on one leaf, and how it is read."""

    n_records: int  # on this leaf
    record_bytes: int = 8192  # B, the recordsize; 8 KiB is the usual block of a database
    l1_bytes: int = 7168  # B, an L1 as compressed on disk; 6.0 to 7.5 KiB when full, spec 5.1
    l1_place: int = L1_BEHIND_RECORDS  # or L1_APART
    reads_per_s: float = 100.0  # reads of records that reach this leaf; arrivals are Poisson
    hz: int = 100  # ticks per second; spec, conventions


class Reads(NamedTuple):
    """Reads of one leaf in order of time, an element of each array per read."""

    tick: np.ndarray
    offset: np.ndarray  # B from the start of the device
    n_bytes: np.ndarray
    is_metadata: np.ndarray  # 1 for an L1, 0 for a record


# ---- where things lie ----


@kernel
def l1_stored_bytes(params):
    """An L1 on disk: whole sectors."""
    return -(-params.l1_bytes // SECTOR_BYTES) * SECTOR_BYTES


@kernel
def record_offset(params, record):
    """Where `record` starts."""
    offset = LABEL_START_BYTES + record * params.record_bytes
    if params.l1_place == L1_BEHIND_RECORDS:
        offset += record // RECORDS_PER_L1 * l1_stored_bytes(params)
    return offset


@kernel
def l1_offset(params, l1):
    """Where the L1 of records 128 * l1 and following starts. The last one may have fewer records in front of it."""
    if params.l1_place == L1_APART:
        return LABEL_START_BYTES + params.n_records * params.record_bytes + l1 * l1_stored_bytes(params)
    last_child = min((l1 + 1) * RECORDS_PER_L1, params.n_records) - 1
    return record_offset(params, last_child) + params.record_bytes


# ---- who reads what when ----


@kernel
def _ns_to_next(rate_per_s, uniform):
    """Time to the next of Poisson arrivals, ns, rounded: from here on everything is exact."""
    return round(-math.log1p(-uniform) * 1e9 / rate_per_s)


@kernel
def _put(reads, n, tick, offset, n_bytes, is_metadata):
    reads.tick[n] = tick
    reads.offset[n] = offset
    reads.n_bytes[n] = n_bytes
    reads.is_metadata[n] = is_metadata
    return n + 1


@kernel
def _fill_reads(params, arrivals, choices, l1_in_arc, reads):
    """Write all reads; how many. `arrivals` and `choices` are uniform in [0, 1), one each per read of a record."""
    n, now_ns, tick_ns = 0, 0, SECOND_NS // params.hz
    for i in range(len(arrivals)):
        now_ns += _ns_to_next(params.reads_per_s, arrivals[i])
        tick = now_ns // tick_ns
        record = int(choices[i] * params.n_records)
        l1 = record // RECORDS_PER_L1
        if not l1_in_arc[l1]:
            l1_in_arc[l1] = 1
            n = _put(reads, n, tick, l1_offset(params, l1), l1_stored_bytes(params), 1)
        n = _put(reads, n, tick, record_offset(params, record), params.record_bytes, 0)
    return n


def check_record_reads(params):
    """Raise ValueError with one sentence unless every value makes sense."""
    bounds = {"n_records": (1, 2**40), "record_bytes": (512, 131072), "l1_bytes": (512, 16384),
              "l1_place": (L1_BEHIND_RECORDS, L1_APART), "reads_per_s": (1e-3, 1e7), "hz": (1, 10**6)}
    for name, (low, high) in bounds.items():
        value = getattr(params, name)
        if not low <= value <= high or (name != "reads_per_s" and value != int(value)):
            raise ValueError(f"{name} of the record reads is {value}, but it must be from {low} to {high}, and whole "
                             "unless it is a rate. Choose one in that range")
    if params.record_bytes & (params.record_bytes - 1):
        raise ValueError(f"record_bytes of the record reads is {params.record_bytes}, but it must be a power of two; "
                         "choose one from 512 to 131072")


def random_record_reads(params: RecordReads, arrivals: np.ndarray, choices: np.ndarray) -> Reads:
    """Reads that reach the leaf: a `Reads` of as many elements as there are.

    arrivals, choices   uniform numbers in [0, 1), one each per read of a record, for when and for which
    """
    check_record_reads(params)
    if len(arrivals) != len(choices):
        raise ValueError(f"there are {len(arrivals)} numbers for arrivals and {len(choices)} for choices, but each "
                         "read of a record needs one of both; pass equally many")
    n_l1 = -(-params.n_records // RECORDS_PER_L1)
    max_reads = len(arrivals) + min(len(arrivals), n_l1)
    reads = Reads(*(np.zeros(max_reads, np.int64) for _ in Reads._fields))
    params = params._replace(reads_per_s=float(params.reads_per_s))
    n = _fill_reads(params, np.array(arrivals, float), np.array(choices, float), np.zeros(n_l1, np.uint8), reads)
    return Reads(*(column[:n].copy() for column in reads))


# ---- what the vdev cache makes of it ----


class Residency(NamedTuple):
    """What became of each read, and what the cache held right after it."""

    outcome: np.ndarray  # see model.zfs.vdev.cache
    n_metadata_lines: np.ndarray  # lines made by a read of metadata
    n_data_lines: np.ndarray  # lines made by a read of data


def resident_over_time(cache_params: VdevCacheParams, reads: Reads, fill_ticks: int) -> Residency:
    """`reads` through an empty vdev cache whose fills take `fill_ticks` ticks: a `Residency`."""
    stream = cache_replay.operations(reads.tick, READ, reads.offset, reads.n_bytes, reads.is_metadata)
    decisions, _ = cache_replay.drive(cache_params, stream, fill_ticks)
    return Residency(decisions.outcome, decisions.n_metadata_lines, decisions.n_lines - decisions.n_metadata_lines)
