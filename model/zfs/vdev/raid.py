"""A top-level vdev: which of its disks one read or write goes to, and where on them.

Space in a pool is given on top-level vdevs: single disks, mirrors or RAID-Z groups. An I/O of one becomes I/Os of its
children, all issued at once; it is complete when the last of them is. In English:

 1. *Single disk*: the same I/O, in whole sectors.
 2. *Mirror*: a write goes to all children, at the same offset. A read goes to one, which takes turns every 2 MiB of offset.
    It is the first for 0 to 2 MiB, the second for the next 2 MiB. Where the heads are does not matter, nor who is idle.
 3. *RAID-Z* numbers sectors across its disks: sector b is on disk b mod n, at place b div n. A block has a run of them.

        RAID-Z1 of 5 disks      disk 0   1   2   3   4        a block of 10 sectors, D0 to D9, which begins at sector 2:
                      place 0     .   .   P   D0  D3          it has sectors 2 to 15. Each P covers what follows it in
                      place 1     D6  D8  P   D1  D4          the order of sectors, up to the next P: the first one
                      place 2     D7  D9  P   D2  D5          D0, D3, D6 and D8
                      place 3     +   .   .   .   .           + is padding (4); the next block begins behind it

    In each row of the run, of n sectors, the first p hold parity and the others data. In the last row it is as many as are
    left. The data fills one *column* after the other from top to bottom, so a column is one I/O of one disk. So every block
    has parity of its own, and a write never has to read first. But a read wakes all disks that hold a bit of data.
 4. The run is rounded up to a multiple of p + 1 sectors, so that what is ever freed can hold the smallest block. That is one
    sector of data and p of parity. What is left over at the end is *padding*. Before build 121 it is never written. From
    then on it is written as I/Os of its own, if that lets the I/Os around it be joined (`model.zfs.vdev.queue`, rule 6).
    From OpenZFS 2.2 on a disk that has a column of the block writes both as one I/O. Only other disks have such optional
    ones.
 5. RAID-Z1 only: if bit 20 of the block's offset is set, parity and first column of data change places. It was meant to
    share out the parity, helps little, and has to stay for ever since it decides what is where.
 6. A read of RAID-Z reads no parity: the data columns only, the last one first. A write writes parity, then data, then
    padding.

Offsets count from behind the labels, on both sides. Those of the vdev are as the allocator gives them, those of a child are
without the 4 MiB in front of every disk.

In ZFS (vdev_mirror.c, vdev_raidz.c): `vdev_mirror_shift`, `vdev_raidz_asize`, `vdev_raidz_map_alloc`, `vdev_raidz_io_start`,
`vdev_raidz_map_alloc_write`; spec 2.1, 3.6; pull request 12333. Left out: degraded vdevs, hence parity that is read and
columns that are rebuilt; resilvering. So is the choice among several copies of a block (spec 2.1: on a pool of one vdev
always the first).
"""

from typing import NamedTuple

from model.jit import kernel
from model.zfs.vdev import child_columns as piece

SINGLE, MIRROR, RAIDZ = 0, 1, 2
KINDS = {"single": (SINGLE, 0), "mirror": (MIRROR, 0), "raidz1": (RAIDZ, 1), "raidz2": (RAIDZ, 2), "raidz3": (RAIDZ, 3)}
MIRROR_SHIFT = 21  # log2 of the B after which a mirror reads from the next child; spec 2.1
SWAP_BIT = 20  # of an offset; rule 5
MAX_CHILDREN = 255  # of a RAID-Z group; ZFS keeps the number of a column in 8 bits

# How padding is written; rule 4.
PADDING_NEVER = 0
PADDING_OPTIONAL = 1  # as an I/O of its own that need not be written
PADDING_WITH_COLUMNS = 2


class RaidzParams(NamedTuple):
    """The rules of a build; the default is that of 2005 to 2009."""

    padding: int = PADDING_NEVER
    max_parity: int = 2  # columns of it in a group; 3 from b120


class VdevParams(NamedTuple):
    """One top-level vdev; made by `vdev_params`."""

    kind: int = SINGLE
    n_children: int = 1
    n_parity: int = 0  # p, of RAID-Z
    ashift: int = 9  # log2 of the B of a sector


@kernel
def _sectors(vdev, n_bytes):
    return (n_bytes + (1 << vdev.ashift) - 1) >> vdev.ashift


@kernel
def _run_sectors(vdev, data):
    """Sectors of RAID-Z for so many of data: parity with them, padding not (rule 3)."""
    width = vdev.n_children - vdev.n_parity
    return data + vdev.n_parity * ((data + width - 1) // width)


@kernel
def _padded_sectors(vdev, run):
    """Rule 4."""
    return (run + vdev.n_parity) // (vdev.n_parity + 1) * (vdev.n_parity + 1)


@kernel
def asize(vdev, psize):
    """B that a block of `psize` B takes of the vdev."""
    n = _sectors(vdev, psize)
    if vdev.kind == RAIDZ:
        n = _padded_sectors(vdev, _run_sectors(vdev, n))
    return n << vdev.ashift


@kernel
def mirror_child(vdev, offset):
    """The child that a mirror reads from (rule 2)."""
    return (offset >> MIRROR_SHIFT) % vdev.n_children


@kernel
def _set_io(ios, i, child, offset, n_bytes, is_padding):
    ios[i, piece.CHILD], ios[i, piece.OFFSET] = child, offset
    ios[i, piece.BYTES], ios[i, piece.IS_PADDING] = n_bytes, is_padding


@kernel
def _set_run(vdev, ios, i, sector, n_sectors, is_padding):
    """An I/O of the disk that has `sector` of a RAID-Z group, from there down."""
    _set_io(ios, i, sector % vdev.n_children, sector // vdev.n_children << vdev.ashift, n_sectors << vdev.ashift,
            is_padding)


@kernel
def _column(vdev, ios, i, offset, run, column):
    """One column of the run of `run` sectors at `offset` (rules 3 and 5)."""
    first = column
    if vdev.n_parity == 1 and column < 2 and offset >> SWAP_BIT & 1:
        first = 1 - column
    n_sectors = (run - column + vdev.n_children - 1) // vdev.n_children
    _set_run(vdev, ios, i, (offset >> vdev.ashift) + first, n_sectors, 0)


@kernel
def read_ios(vdev, offset, psize, ios):
    """The I/Os of children by which a block is read, in order of issue: how many; they are in the table `ios`."""
    n = _sectors(vdev, psize)
    if vdev.kind != RAIDZ:
        child = mirror_child(vdev, offset) if vdev.kind == MIRROR else 0
        _set_io(ios, 0, child, offset, n << vdev.ashift, 0)
        return 1
    run = _run_sectors(vdev, n)
    n_columns = min(run, vdev.n_children)
    for i in range(n_columns - vdev.n_parity):
        _column(vdev, ios, i, offset, run, n_columns - 1 - i)
    return n_columns - vdev.n_parity


@kernel
def _io_that_ends_at(ios, n_ios, child, end):
    """The I/O of `child` up to `end`, or -1."""
    for i in range(n_ios):
        if ios[i, piece.CHILD] == child and ios[i, piece.OFFSET] + ios[i, piece.BYTES] == end:
            return i
    return -1


@kernel
def _add_padding(vdev, ios, n_ios, sector, padding):
    """A sector of padding: how many I/Os there are then."""
    io = -1
    if padding == PADDING_WITH_COLUMNS:
        io = _io_that_ends_at(ios, n_ios, sector % vdev.n_children, sector // vdev.n_children << vdev.ashift)
    if io >= 0:
        ios[io, piece.BYTES] += 1 << vdev.ashift
        return n_ios
    _set_run(vdev, ios, n_ios, sector, 1, 1)
    return n_ios + 1


@kernel
def write_ios(vdev, offset, psize, padding, ios):
    """The I/Os of children by which a block is written, in order of issue, as `read_ios`; `padding`: rule 4."""
    n = _sectors(vdev, psize)
    if vdev.kind != RAIDZ:
        for child in range(vdev.n_children):
            _set_io(ios, child, child, offset, n << vdev.ashift, 0)
        return vdev.n_children
    run = _run_sectors(vdev, n)
    n_ios = min(run, vdev.n_children)
    for column in range(n_ios):
        _column(vdev, ios, column, offset, run, column)
    if padding != PADDING_NEVER:
        for sector in range(run, _padded_sectors(vdev, run)):
            n_ios = _add_padding(vdev, ios, n_ios, (offset >> vdev.ashift) + sector, padding)
    return n_ios


def max_ios(vdev: VdevParams) -> int:
    """Rows that a table needs for one I/O of `vdev`."""
    return vdev.n_children + vdev.n_parity


def vdev_params(kind: str = "single", n_children: int = 1, ashift: int = 9) -> VdevParams:
    """The VdevParams of a vdev of `kind`, one of KINDS. Raises ValueError with one sentence if there is none such."""
    if kind not in KINDS:
        raise ValueError(f"kind of the vdev is {kind!r}, which is unknown; choose one of {', '.join(KINDS)}")
    code, n_parity = KINDS[kind]
    min_children, max_children = (1, 1) if code == SINGLE else (max(2, n_parity + 1), MAX_CHILDREN)
    for name, value, low, high in (("n_children", n_children, min_children, max_children), ("ashift", ashift, 9, 17)):
        if value != int(value) or not low <= value <= high:
            must = f"a whole number from {low} to {high}" if low < high else str(low)
            raise ValueError(f"{name} of a vdev of kind {kind} is {value}, but it must be {must}; "
                             "choose that or another kind")
    return VdevParams(code, int(n_children), n_parity, int(ashift))
