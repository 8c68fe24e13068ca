"""Gang blocks: a block for which no free segment is long enough anywhere, in pieces (spec 2.11).

A *gang header* of 512 B holds three block pointers. The block is cut into up to three *members*. A member that finds no room
in one piece becomes a gang itself.

* To b98 (`HALVES`): the first member is to have half of the block. As long as members of that size would do for the rest,
  one is tried; where it finds no room, half as much. If they would not do any more, a share of the rest (by the pointers
  that are left) becomes a gang. Each copy of a member begins the search for room at the vdev of that copy of its header;
  headers have no hint.
* Later (`THIRDS`): each member gets its share of the rest, and is tried once. No hints, but for the headers of inner gangs:
  each copy begins at the vdev of that copy of the outermost header.

A header has one copy more than the block, up to three. If 512 B find no room, all is undone: NO_SPACE. (To b98 the system
panics.) Time and order of I/Os are not the business of this file.

Who writes blocks that can become gangs is `model.zfs.ageing.described`, for a user's own pool. In order entry and Exchange
none does. Their pools count in units of a record or so (`model.zfs.metaslab.new_pool`), in which there is no header of 512
B. What found no room first, in the oldest and fullest of their pools, was a log block. For such a one ZFS makes no gang, but
has the commit wait for a transaction group.

In ZFS: zio.c (`zio_write_allocate_gang_members`, later `zio_write_gang_block`).
"""

from typing import NamedTuple

import numpy as np

from model.devices.sectors import SECTOR_BYTES
from model.jit import kernel
from model.zfs.metaslab.metaslab_class import NO_HINT, allocate_from, set_hint, undo
from model.zfs.metaslab.state import HALVES, MAX_COPIES, NORMAL
from model.zfs.space.status import FULL, NO_SPACE, OK

HEADER_BYTES = 512  # SPA_GANGBLOCKSIZE
N_POINTERS = 3  # SPA_GBH_NBLKPTRS
MAX_DEPTH = 8  # 128 KiB in thirds, or less, of thirds ...
MAX_PIECES = 2**10  # pieces of 128 KiB in sectors, and headers
IS_MEMBER, IS_HEADER = 0, 1


class Gang(NamedTuple):
    """The pieces of one block in the order in which they were allocated: (n_pieces, 3 copies) arrays. Also the gangs that
    are not complete, outermost first."""

    n_pieces: np.ndarray  # one
    kind: np.ndarray  # (n_pieces,) IS_MEMBER or IS_HEADER
    psize: np.ndarray  # (n_pieces,)
    n_copies: np.ndarray  # (n_pieces,)
    vdev: np.ndarray
    offset: np.ndarray
    n_bytes: np.ndarray
    depth: np.ndarray  # one: gangs that are not complete
    rest: np.ndarray  # (depth,) B that have no member yet
    pointers: np.ndarray  # (depth,) that are left
    largest: np.ndarray  # (depth,) size of member that is tried (HALVES)
    header: np.ndarray  # (depth,) which piece it is


@kernel
def _round_up(n_bytes):
    return (n_bytes + SECTOR_BYTES - 1) // SECTOR_BYTES * SECTOR_BYTES


@kernel
def _keep(pool, gang, kind, psize, n_copies):
    """Note what was allocated just now."""
    i = gang.n_pieces[0]
    gang.kind[i], gang.psize[i], gang.n_copies[i] = kind, psize, n_copies
    for copy in range(n_copies):
        gang.vdev[i, copy], gang.offset[i, copy] = pool.dva_vdev[copy], pool.dva_offset[copy]
        gang.n_bytes[i, copy] = pool.dva_bytes[copy]
    gang.n_pieces[0] += 1


@kernel
def _hint_at(pool, gang, piece):
    """Each copy of what follows begins where that copy of the piece is."""
    for copy in range(gang.n_copies[piece]):
        pool.hint[copy] = gang.vdev[piece, copy]


@kernel
def _piece(pool, gang, txg, kind, psize, n_copies):
    """Allocate a piece; hints are in `pool.hint`."""
    if gang.n_pieces[0] == len(gang.kind):
        return FULL
    status = allocate_from(pool, NORMAL, txg, psize, n_copies, False)
    if status == OK:
        _keep(pool, gang, kind, psize, n_copies)
    return status


@kernel
def _open(pool, gang, txg, psize, n_copies):
    """Begin a gang for `psize` B."""
    set_hint(pool, NO_HINT)
    if pool.params.gang != HALVES and gang.depth[0] > 0:
        _hint_at(pool, gang, gang.header[0])
    status = _piece(pool, gang, txg, IS_HEADER, HEADER_BYTES, min(n_copies + 1, MAX_COPIES))
    if status == OK:
        i = gang.depth[0]
        gang.rest[i], gang.pointers[i], gang.largest[i] = psize, N_POINTERS, _round_up(psize // 2)
        gang.header[i] = gang.n_pieces[0] - 1
        gang.depth[0] += 1
    return status


@kernel
def _share(gang, i):
    """What a member has to take if the pointers that are left are to do."""
    return _round_up(gang.rest[i] // gang.pointers[i])


@kernel
def _halved_member(pool, gang, txg, n_copies, i):
    """(status, size) of the next member, in halves."""
    gang.largest[i] = min(gang.largest[i], gang.rest[i])
    _hint_at(pool, gang, gang.header[i])
    while gang.rest[i] <= gang.largest[i] * gang.pointers[i]:
        status = _piece(pool, gang, txg, IS_MEMBER, gang.largest[i], n_copies)
        if status != NO_SPACE or gang.largest[i] == SECTOR_BYTES:
            return status, gang.largest[i]
        gang.largest[i] = _round_up(gang.largest[i] // 2)
    return NO_SPACE, _share(gang, i)


@kernel
def _next_member(pool, gang, txg, n_copies):
    """Give the innermost gang its next member, or begin a gang in the place of it."""
    i = gang.depth[0] - 1
    if pool.params.gang == HALVES:
        status, psize = _halved_member(pool, gang, txg, n_copies, i)
    else:
        psize = _share(gang, i)
        set_hint(pool, NO_HINT)
        status = _piece(pool, gang, txg, IS_MEMBER, psize, n_copies)
    gang.rest[i] -= min(psize, gang.rest[i])
    gang.pointers[i] -= 1
    if status == NO_SPACE and psize > SECTOR_BYTES and gang.depth[0] < MAX_DEPTH:
        return _open(pool, gang, txg, psize, n_copies)
    return status


@kernel
def _undo_all(pool, gang, txg):
    for i in range(gang.n_pieces[0] - 1, -1, -1):
        for copy in range(gang.n_copies[i]):
            undo(pool, txg, gang.vdev[i, copy], gang.offset[i, copy], gang.n_bytes[i, copy])
    gang.n_pieces[0] = 0


@kernel
def allocate_or_gang(pool, gang, txg, psize, n_copies, hint_vdev):
    """A block in one piece, which is piece 0 of `gang`, or a gang. OK, NO_SPACE, or a failure of the model."""
    gang.n_pieces[0] = gang.depth[0] = 0
    set_hint(pool, hint_vdev)
    status = _piece(pool, gang, txg, IS_MEMBER, psize, n_copies)
    if status == NO_SPACE and psize > SECTOR_BYTES:
        status = _open(pool, gang, txg, psize, n_copies)
    while status == OK and gang.depth[0] > 0:
        i = gang.depth[0] - 1
        if gang.rest[i] == 0 or gang.pointers[i] == 0:
            gang.depth[0] -= 1
        else:
            status = _next_member(pool, gang, txg, n_copies)
    if status == NO_SPACE:
        _undo_all(pool, gang, txg)
    return status


def new_gang():
    """Room for the pieces of one block."""
    pieces, copies, depth = MAX_PIECES, (MAX_PIECES, MAX_COPIES), MAX_DEPTH
    return Gang(
        n_pieces=np.zeros(1, np.int64), kind=np.zeros(pieces, np.int64), psize=np.zeros(pieces, np.int64),
        n_copies=np.zeros(pieces, np.int64), vdev=np.zeros(copies, np.int64), offset=np.zeros(copies, np.int64),
        n_bytes=np.zeros(copies, np.int64), depth=np.zeros(1, np.int64), rest=np.zeros(depth, np.int64),
        pointers=np.zeros(depth, np.int64), largest=np.zeros(depth, np.int64), header=np.zeros(depth, np.int64))
