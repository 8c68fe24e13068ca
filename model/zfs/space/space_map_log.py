"""What of a metaslab is on disk: a log of allocations and frees, from which its free map is made again (spec 2.7.3, 2.10).

A log is a row of records of 8 bytes, in blocks of 4 KiB. A transaction group writes what it allocated, then what it
freed. Each, if there is any, is a header and a record for every run of at most 32768 sectors. Records come in the order
in which the tree gives its segments up (children first). Loading begins with one free segment as large as the metaslab,
and does what the records say, one by one.

    record   offset in the metaslab / sector << 16 | type << 15 | sectors - 1

In ZFS: space_map.c (`space_map_sync`, `space_map_load`), with the same record. Only as much as stands in `n_records` is
ever read, so what a sync that goes on has written does not count. The exact engine keeps records; the fast one counts.
"""

from typing import NamedTuple

import numpy as np

from model.jit import kernel, part
from model.structures.sentinels import NIL
from model.zfs.space import avl, space_map
from model.zfs.space.status import FULL, OK

RECORD_BYTES = 8
BLOCK_SHIFT = 12  # SPACE_MAP_BLOCKSHIFT: log2 of the B of a block
PLACE_SHIFT = BLOCK_SHIFT - 3  # log2 of the records in a block
ALLOC, FREE = 0, 1  # types of records
RUN_BITS, TYPE_BIT, OFFSET_SHIFT = 15, 15, 16
HEADER = -1  # in place of txg, pass and type, which nobody reads
NO_BLOCK = -1


class Log(NamedTuple):
    """The logs of all metaslabs."""

    n_records: np.ndarray  # (metaslab,) headers with them
    first_block: np.ndarray  # (metaslab,) or NO_BLOCK
    last_block: np.ndarray  # (metaslab,)
    records: np.ndarray  # (block, 512)
    following: np.ndarray  # (block,) of the same log, or NO_BLOCK; of an unused one the next unused one
    unused: np.ndarray  # one: the first unused block, or NO_BLOCK


@kernel
def n_blocks(log, m):
    """Blocks that a load has to read."""
    return (log.n_records[m] + (1 << PLACE_SHIFT) - 1) >> PLACE_SHIFT


@kernel
def _extend(log, m):
    """One more block for a log. FULL if there is none."""
    block = log.unused[0]
    if block == NO_BLOCK:
        return FULL
    log.unused[0] = log.following[block]
    log.following[block] = NO_BLOCK
    if log.n_records[m] == 0:
        log.first_block[m] = block
    else:
        log.following[log.last_block[m]] = block
    log.last_block[m] = block
    return OK


@kernel
def _write(log, m, record):
    place = log.n_records[m] & ((1 << PLACE_SHIFT) - 1)
    if place == 0 and _extend(log, m) == FULL:
        return FULL
    log.records[log.last_block[m], place] = record
    log.n_records[m] += 1
    return OK


@part
def _write_runs(log, m, kind, first, n):
    """Records for `n` sectors from sector `first` of the metaslab on."""
    status = OK
    while n > 0 and status == OK:
        run = min(n, 1 << RUN_BITS)
        status = _write(log, m, first << OFFSET_SHIFT | kind << TYPE_BIT | run - 1)
        first += run
        n -= run
    return status


@part
def append(log, maps, m, source, kind, ashift):
    """Empty map `source` into the log of metaslab `m`."""
    if maps.space[source] == 0:
        return OK
    status = _write(log, m, HEADER)
    node = avl.first_of_all(maps.trees, source)
    while node != NIL and status == OK:
        start, end = maps.start[node], maps.end[node]
        status = _write_runs(log, m, kind, (start - maps.low[m]) >> ashift, (end - start) >> ashift)
        node = avl.next_of_all(maps.trees, node)
    space_map.clear(maps, source)
    return status


@kernel
def truncate(log, m):
    """An empty log: its blocks are unused."""
    if log.n_records[m] > 0:
        log.following[log.last_block[m]] = log.unused[0]
        log.unused[0] = log.first_block[m]
        log.n_records[m] = 0


@kernel
def _apply(maps, m, record, ashift):
    start = maps.low[m] + (record >> OFFSET_SHIFT << ashift)
    end = start + (((record & ((1 << RUN_BITS) - 1)) + 1) << ashift)
    if record >> TYPE_BIT & 1 == FREE:
        return space_map.add(maps, m, start, end)
    return space_map.remove(maps, m, start, end)


@part
def replay(log, maps, m, ashift):
    """Do to the free map of metaslab `m` what its log says."""
    block, status = log.first_block[m], OK
    for i in range(log.n_records[m]):
        place = i & ((1 << PLACE_SHIFT) - 1)
        if place == 0 and i > 0:
            block = log.following[block]
        if log.records[block, place] != HEADER and status == OK:
            status = _apply(maps, m, log.records[block, place], ashift)
    return status


def new_log(n_metaslabs, n_blocks):
    """Empty logs, and room for so many blocks."""
    following = np.append(np.arange(1, n_blocks), NO_BLOCK)[:n_blocks]
    return Log(np.zeros(n_metaslabs, np.int64), np.zeros(n_metaslabs, np.int64), np.zeros(n_metaslabs, np.int64),
               np.zeros((n_blocks, 1 << PLACE_SHIFT), np.int64), following, np.array([0 if n_blocks else NO_BLOCK]))
