"""A recorded stream of allocations, frees and ends of transaction groups through the allocator of a pool of one vdev.

Rows are in order of time: allocations (the copies of a block are rows one after the other), frees of what an earlier row
allocated, and ends of txgs, each of which closes the txg whose number it has. After each end, what the allocator's state
is like is noted.
"""

from typing import NamedTuple

import numpy as np

from model.jit import kernel, part
from model.structures.sentinels import NOWHERE
from model.zfs.metaslab.metaslab_class import NO_HINT, allocate, free
from model.zfs.metaslab.metaslab_group import NO_METASLAB
from model.zfs.metaslab.sync import sync_txg
from model.zfs.space import free_map
from model.zfs.space.status import NO_SPACE, OK

ALLOCATE, FREE, END_OF_TXG = 0, 1, 2
FIRST_TXG = 4  # TXG_INITIAL
N_FIRST = 4  # metaslabs of the group tree that are noted


class Rows(NamedTuple):
    """What is done; (n_rows,) int64 arrays."""

    op: np.ndarray
    n_bytes: np.ndarray
    which: np.ndarray  # of a free: number of the allocation, from 0; of an end: number of the txg
    n_copies: np.ndarray  # of an allocation: 1 to 3 in the row of its first copy, 0 in those of the others
    first_txg: np.ndarray  # one: the number of the first txg


class Decided(NamedTuple):
    """What the allocator made of it."""

    offset: np.ndarray  # (allocations,) B, or NOWHERE
    txg: np.ndarray  # (txgs,) number
    allocated: np.ndarray  # (txgs,) B in all metaslabs; deferred ones without
    n_loaded: np.ndarray  # (txgs,) metaslabs
    n_segments: np.ndarray  # (txgs,) free ones, of loaded metaslabs
    weight: np.ndarray  # (txgs, metaslabs)
    active: np.ndarray  # (txgs, metaslabs)
    first: np.ndarray  # (txgs, 4): the heaviest metaslabs, NO_METASLAB where there are none
    done: np.ndarray  # one: rows


@part
def _note(pool, decided, i, txg):
    decided.txg[i] = txg
    for m in range(len(pool.weight)):
        decided.allocated[i] += pool.allocated[m]
        decided.weight[i, m], decided.active[i, m] = pool.weight[m], pool.active[m]
        if pool.loaded[m] == 1:
            decided.n_loaded[i] += 1
            decided.n_segments[i] += free_map.n_free_segments(pool, m)
    for rank in range(min(N_FIRST, len(pool.order))):
        decided.first[i, rank] = pool.order[rank]


@part
def _allocate(pool, offset, n, txg, n_bytes, n_copies):
    """The rows of one block, from number `n` of allocations on."""
    status = allocate(pool, txg, n_bytes, n_copies, NO_HINT)
    for copy in range(n_copies):
        offset[n + copy] = pool.dva_offset[copy] if status == OK else NOWHERE
    return OK if status == NO_SPACE else status


@kernel
def run(pool, rows, decided):
    """Do what the rows say, up to the first that cannot be. Its status."""
    txg, n_allocated, n_txgs, status = rows.first_txg[0], 0, 0, OK
    for i in range(len(rows.op)):
        if rows.op[i] == ALLOCATE:
            if rows.n_copies[i] > 0:
                status = _allocate(pool, decided.offset, n_allocated, txg, rows.n_bytes[i], rows.n_copies[i])
            n_allocated += rows.n_copies[i]
        elif rows.op[i] == FREE:
            offset = decided.offset[rows.which[i]]
            if offset != NOWHERE:
                status = free(pool, txg, 0, offset, rows.n_bytes[i])
        else:
            status = sync_txg(pool, txg)
            _note(pool, decided, n_txgs, txg)
            n_txgs += 1
            txg += 1
        if status != OK:
            return status
        decided.done[0] = i + 1
    return status


def decided_for(rows, n_metaslabs):
    """Room for what is decided."""
    n_txgs, n_allocations = int((rows.op == END_OF_TXG).sum()), int((rows.op == ALLOCATE).sum())
    return Decided(
        offset=np.full(n_allocations, NOWHERE, np.int64), txg=np.zeros(n_txgs, np.int64),
        allocated=np.zeros(n_txgs, np.int64), n_loaded=np.zeros(n_txgs, np.int64), n_segments=np.zeros(n_txgs, np.int64),
        weight=np.zeros((n_txgs, n_metaslabs), np.int64), active=np.zeros((n_txgs, n_metaslabs), np.int64),
        first=np.full((n_txgs, N_FIRST), NO_METASLAB, np.int64), done=np.zeros(1, np.int64))
