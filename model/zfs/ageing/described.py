"""A pool that is not new: metaslabs in which some of the space is allocated already, and what writes to them become.

*Claimed* is what lies there: it goes into the log of the metaslab as if one transaction group had allocated it. So the free
map is made of it when the metaslab is loaded. Then groups of blocks of one size are allocated and synced, by
`model.zfs.metaslab.replay`; nothing is freed meanwhile. In the vdev queue of one disk, blocks that lie side by side and wait
together become one I/O. Its size is up to the limit of the era (spec 3.5). That is all that makes writes large. `n_units`
counts them for a group that waits as a whole. Where no free segment is long enough any more, blocks become gangs
(`model.zfs.metaslab.gang`), and their pieces are what is counted.
"""

from typing import NamedTuple

import numpy as np

from model.jit import kernel
from model.zfs.metaslab.gang import Gang, allocate_or_gang, new_gang
from model.zfs.metaslab.metaslab_class import NO_HINT
from model.zfs.metaslab.metaslab_group import weigh_all
from model.zfs.metaslab.state import Metaslabs, alloc_map
from model.zfs.metaslab.sync import sync_txg
from model.zfs.space import free_map
from model.zfs.space.status import OK, note


@kernel
def _count(space, m, n_bytes):
    """So much of the metaslab is allocated, and was synced."""
    vdev = space.vdev[m]
    space.allocated[m] += n_bytes
    space.syncing[m] += n_bytes
    space.has_object[m] = 1
    space.vdevs.allocated[vdev] += n_bytes
    space.class_allocated[space.vdevs.metaslab_class[vdev]] += n_bytes


@kernel
def _count_each(space, n_bytes):
    for m in range(len(n_bytes)):
        if n_bytes[m] >= 0:
            _count(space, m, n_bytes[m])


def count_bytes(space: Metaslabs, n_bytes: np.ndarray) -> None:
    """Say how much of each metaslab is allocated, but not where; -1: nothing was ever written to it. None may be loaded."""
    _count_each(space, n_bytes)
    weigh_all(space)


@kernel
def claim(space, m, segments):
    """Write the allocated [start, end) of a metaslab, offsets in the vdev, (n, 2), into its log. OK or what cannot be."""
    allocated = alloc_map(space, m, 0)
    for i in range(len(segments)):
        note(space, free_map.put(space, allocated, segments[i, 0], segments[i, 1]))
    free_map.append(space, m, allocated)
    return space.failure[0]


class Pieces(NamedTuple):
    """What was written of blocks that may be gangs: members, headers, and all copies of these."""

    group: np.ndarray  # (n,) of each piece: which transaction group, from 0
    offset: np.ndarray  # (n,) in its vdev
    n_bytes: np.ndarray  # (n,) of its vdev
    n: np.ndarray  # one: pieces
    n_gangs: np.ndarray  # one: blocks that became gangs
    gang: Gang  # the last block


def new_pieces(n_blocks: int, psize: int) -> Pieces:
    """Room for so many blocks of `psize` B; memory that is never used takes none."""
    max_pieces = n_blocks * (1 + 3 * (psize >> 9))  # a gang of a sector for each member, and headers in two copies
    group, offset, n_bytes = np.zeros((3, max_pieces), np.int64)
    return Pieces(group=group, offset=offset, n_bytes=n_bytes, n=np.zeros(1, np.int64), n_gangs=np.zeros(1, np.int64),
                  gang=new_gang())


@kernel
def _keep(pieces, group):
    """The pieces of the last block."""
    gang = pieces.gang
    pieces.n_gangs[0] += gang.n_pieces[0] > 1
    for i in range(gang.n_pieces[0]):
        for copy in range(gang.n_copies[i]):
            n = pieces.n[0]
            pieces.group[n], pieces.offset[n], pieces.n_bytes[n] = group, gang.offset[i, copy], gang.n_bytes[i, copy]
            pieces.n[0] += 1


@kernel
def write_in_pieces(space, pieces, txg, n_txgs, n_blocks, psize):
    """`n_blocks` of `psize` B in each of so many transaction groups from `txg` on, as gangs where they have to be. OK,
    NO_SPACE, or what cannot be."""
    for group in range(n_txgs):
        for _ in range(n_blocks):
            status = allocate_or_gang(space, pieces.gang, txg + group, psize, 1, NO_HINT)
            if status != OK:
                return status
            _keep(pieces, group)
        status = sync_txg(space, txg + group)
        if status != OK:
            return status
    return OK


def n_units_of_pieces(offset: np.ndarray, n_bytes: np.ndarray, max_bytes: int) -> tuple[int, int]:
    """(I/Os of at most `max_bytes` that pieces of one vdev become which all wait together, those of them that hold one
    piece alone)."""
    order = np.argsort(offset)
    offset, n_bytes = offset[order], n_bytes[order]
    first = np.flatnonzero(np.append(True, offset[1:] != offset[:-1] + n_bytes[:-1]))
    in_row, row_bytes = np.diff(np.append(first, len(offset))), np.add.reduceat(n_bytes, first)
    return int(np.ceil(row_bytes / max_bytes).sum()), int((in_row == 1).sum())


def n_units(vdevs: np.ndarray, offsets: np.ndarray, n_bytes: int, max_bytes: int) -> int:
    """I/Os of at most `max_bytes` that blocks of `n_bytes` become which all wait together."""
    order = np.lexsort((offsets, vdevs))
    vdevs, offsets = vdevs[order], offsets[order]
    begins = np.ones(len(offsets), bool)
    begins[1:] = (vdevs[1:] != vdevs[:-1]) | (offsets[1:] != offsets[:-1] + n_bytes)
    rows = np.diff(np.append(np.flatnonzero(begins), len(offsets)))
    return int(np.ceil(rows / max(1, max_bytes // n_bytes)).sum())
