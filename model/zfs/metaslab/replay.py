"""A recorded stream of allocations, frees and ends of transaction groups through the allocator of a pool.

Rows are in order of time: allocations, frees of what an earlier row allocated, ends of txgs, and vdevs that are added. The
copies of a block are rows one after the other. An end of a txg closes the txg whose number it has. After each end, what the
allocator's state is like is noted.
"""

from typing import NamedTuple

import numpy as np

from model.jit import kernel, part
from model.structures.sentinels import NOWHERE
from model.zfs.metaslab.metaslab_class import add_vdev, allocate_from, asize, free
from model.zfs.metaslab.metaslab_group import NO_METASLAB
from model.zfs.metaslab.state import ABSENT, LOG, NO_VDEV, NORMAL, Metaslabs
from model.zfs.metaslab.sync import sync_txg
from model.zfs.space import free_map
from model.zfs.space.status import NO_SPACE, OK

ALLOCATE, FREE, END_OF_TXG, ADD_VDEV = 0, 1, 2, 5
N_FIRST = 4  # metaslabs of the group tree that are noted
NO_BLOCK = -1  # in place of a hint
NO_COLUMN = np.zeros(0, np.int64)  # of a column that no row needs


class Rows(NamedTuple):
    """What is done; (n_rows,) int64 arrays. Each of the optional ones is empty if no row has anything but the usual."""

    op: np.ndarray
    n_bytes: np.ndarray  # of the block (psize), whatever it takes of a vdev
    which: np.ndarray  # of a free: number of the allocation, from 0; of an end: of the txg; of what is added: of the vdev
    n_copies: np.ndarray  # of an allocation: 1 to 3 in the row of its first copy, 0 in those of the others
    first_txg: np.ndarray  # one: the number of the first txg
    hint: np.ndarray = NO_COLUMN  # optional: where the search begins, the allocation of that block's first copy, or NO_BLOCK
    avoids: np.ndarray = NO_COLUMN  # optional: 1, to begin behind the vdevs of that block
    of_log: np.ndarray = NO_COLUMN  # optional: 1, from the log class
    ahead: np.ndarray = NO_COLUMN  # optional: by how many txgs later than the open one the block belongs


class Decided(NamedTuple):
    """What the allocator made of it."""

    offset: np.ndarray  # (allocations,) B, or NOWHERE
    vdev: np.ndarray  # (allocations,) or NO_VDEV
    txg: np.ndarray  # (txgs,) number
    allocated: np.ndarray  # (txgs,) B in all metaslabs; deferred ones without
    n_loaded: np.ndarray  # (txgs,) metaslabs
    n_segments: np.ndarray  # (txgs,) free ones, of loaded metaslabs
    weight: np.ndarray  # (txgs, metaslabs)
    active: np.ndarray  # (txgs, metaslabs)
    first: np.ndarray  # (txgs, 4): the heaviest metaslabs of vdev 0, NO_METASLAB where there are none
    rotor: np.ndarray  # (txgs,) of the normal class
    used_aliquot: np.ndarray  # (txgs,) B, of the normal class
    in_pool: np.ndarray  # (txgs, vdevs) 1 if the vdev is
    vdev_allocated: np.ndarray  # (txgs, vdevs) B; deferred ones with them
    bias: np.ndarray  # (txgs, vdevs) B
    done: np.ndarray  # one: rows


@part
def _note_vdevs(pool, decided, i):
    decided.rotor[i], decided.used_aliquot[i] = pool.rotor[NORMAL], pool.used_aliquot[NORMAL]
    for vdev in range(len(pool.vdevs.asize)):
        decided.in_pool[i, vdev] = 0 if pool.vdevs.presence[vdev] == ABSENT else 1
        decided.vdev_allocated[i, vdev], decided.bias[i, vdev] = pool.vdevs.allocated[vdev], pool.vdevs.bias[vdev]


@part
def _note(pool, decided, i, txg):
    decided.txg[i] = txg
    for m in range(len(pool.weight)):
        decided.allocated[i] += pool.allocated[m]
        decided.weight[i, m], decided.active[i, m] = pool.weight[m], pool.active[m]
        if pool.loaded[m] == 1:
            decided.n_loaded[i] += 1
            decided.n_segments[i] += free_map.n_free_segments(pool, m)
    for rank in range(min(N_FIRST, pool.vdevs.n_ms[0])):
        decided.first[i, rank] = pool.order[rank]
    _note_vdevs(pool, decided, i)


@kernel
def _of_row(column, i, usual):
    """What an optional column has in row `i`."""
    return column[i] if len(column) > 0 else usual


@kernel
def _set_hints(pool, rows, decided, i):
    """The search for each copy begins where that copy of the other block is."""
    block = _of_row(rows.hint, i, NO_BLOCK)
    for copy in range(rows.n_copies[i]):
        pool.hint[copy] = NO_VDEV if block == NO_BLOCK else decided.vdev[block + copy]


@part
def _allocate(pool, rows, decided, i, n, txg):
    """The rows of one block, from row `i` and number `n` of allocations on."""
    n_copies = rows.n_copies[i]
    _set_hints(pool, rows, decided, i)
    which = LOG if _of_row(rows.of_log, i, 0) else NORMAL
    txg += _of_row(rows.ahead, i, 0)
    status = allocate_from(pool, which, txg, rows.n_bytes[i], n_copies, _of_row(rows.avoids, i, 0) == 1)
    if status == OK:
        for copy in range(n_copies):
            decided.offset[n + copy], decided.vdev[n + copy] = pool.dva_offset[copy], pool.dva_vdev[copy]
    return OK if status == NO_SPACE else status


@part
def _free(pool, rows, decided, i, txg):
    """A block that found no room is not freed."""
    block = rows.which[i]
    vdev = decided.vdev[block]
    if vdev == NO_VDEV:
        return OK
    return free(pool, txg, vdev, decided.offset[block], asize(pool, vdev, rows.n_bytes[i]))


@kernel
def run(pool, rows, decided):
    """Do what the rows say, up to the first that cannot be. Its status."""
    txg, n_allocated, n_txgs, status = rows.first_txg[0], 0, 0, OK
    for i in range(len(rows.op)):
        if rows.op[i] == ALLOCATE:
            if rows.n_copies[i] > 0:
                status = _allocate(pool, rows, decided, i, n_allocated, txg)
            n_allocated += rows.n_copies[i]
        elif rows.op[i] == FREE:
            status = _free(pool, rows, decided, i, txg)
        elif rows.op[i] == ADD_VDEV:
            add_vdev(pool, rows.which[i], txg)
        else:
            status = sync_txg(pool, txg)
            _note(pool, decided, n_txgs, txg)
            n_txgs += 1
            txg += 1
        if status != OK:
            return status
        decided.done[0] = i + 1
    return status


def decided_for(rows: Rows, pool: Metaslabs) -> Decided:
    """Room for what is decided."""
    n_txgs, n_allocations = int((rows.op == END_OF_TXG).sum()), int((rows.op == ALLOCATE).sum())
    per_txg = {name: np.zeros(n_txgs, np.int64) for name in
               ("txg", "allocated", "n_loaded", "n_segments", "rotor", "used_aliquot")}
    per_vdev = {name: np.zeros((n_txgs, len(pool.vdevs.asize)), np.int64) for name in ("in_pool", "vdev_allocated", "bias")}
    per_metaslab = {name: np.zeros((n_txgs, len(pool.weight)), np.int64) for name in ("weight", "active")}
    return Decided(
        offset=np.full(n_allocations, NOWHERE, np.int64), vdev=np.full(n_allocations, NO_VDEV, np.int64),
        **per_txg, **per_vdev, **per_metaslab, first=np.full((n_txgs, N_FIRST), NO_METASLAB, np.int64),
        done=np.zeros(1, np.int64))
