"""Where files lie that were written from start to end into an empty pool: records, indirect blocks and their copies.

Blocks are numbered: first the records of all files, file by file, then the indirect blocks of each file, level by level.
Files may be ranges of one object, as on a zvol. Then their records are numbered through all of it, and its indirect blocks
are theirs together.

The allocator of 2007, for a pool that only grows:

 1. The *rotor* stands at a leaf and gives it space until 512 KiB have been given; then it goes on to the next leaf. All
    that is given counts, second copies on another leaf too. The rotor goes on from the leaf that was given the last
    piece.
 2. An indirect block has a second copy, on the leaf after the one of the first.
 3. A leaf gives space in order of address, every piece aligned to the lowest set bit of its length. This is *first fit* with
    a cursor for every such alignment (spec 2.8, FF). Nothing is freed here, so what is free are the *holes* left by
    alignment and all behind the frontier. While every hole is shorter than the pieces asked for, first fit always ends
    behind the frontier, and this form is exact:

        place = frontier rounded up to the alignment; frontier = place + length

    With records of 8 KiB and L1s of 6 to 7.5 KiB the holes are at most 5 KiB. Behind an L2 (8.5 KiB) there may be one that
    an L1 fits into, which is not taken here: at most one L1 in 128. Larger records leave holes that L1s fit into. On RAID-Z
    so do sizes with parity that are a large power of two times an odd number. What then lies in them in ZFS lies behind the
    frontier here, and files take up to that much more room.
 4. In a transaction group children come before their parent: an indirect block lies right behind its last child.

    leaf 0   [R0 R1 ...              R63]
    leaf 1   [R64 ...         R127][L1]..[R128 ...              the second copy of that L1 is at the front of leaf 2's turn
    leaf 2   [L1]..[...

The leaves of the pool as the allocator sees it are its top-level vdevs (`model.zfs.vdev.raid`). A block takes `asize` of its
vdev, with parity and padding if that is RAID-Z; the aliquot is 512 KiB for each of its disks.

In ZFS: `metaslab_alloc_dva`, `metaslab_ff_alloc`, `dbuf_sync_list`; spec 2.1, 2.3, 2.8, 2.12. Left out: the bias towards
emptier leaves (all are equally full here), dnodes and space maps. So are the few dozen blocks that are rewritten where one
transaction group of the preallocation ends and the next begins. With a single leaf the second copy lies right behind the
first one; ZFS would put it an eighth of the disk away.

A pool may hold other data already (`first_byte`): all of it in front, without a hole, and equally long on every leaf.
"""

from typing import NamedTuple

import numpy as np

from model.events.streams import stream
from model.jit import kernel
from model.zfs.dmu.indirect import (
    FLETCHER2,
    POINTER_BYTES,
    REWRITTEN,
    ROOT_POINTERS_FILE,
    SEQUENTIAL,
    block_pointers,
    l2_psize,
    psize,
    tree,
)
from model.zfs.shared_numbers import POINTER_SHIFT
from model.zfs.vdev.places import BACK_BYTES, FRONT_BYTES, LEAF_SHIFT, SINGLE_DISK
from model.zfs.vdev.raid import RAIDZ, VdevParams, asize

FIRST_GRAIN = 2**20  # B, to which `first_byte` is rounded up
ALIQUOT_BYTES = 2**19  # B for each disk of a vdev; spec 2.2
MAX_LEVELS = 8
_SAMPLES = 16  # made-up L1s whose sizes stand for all
_STEPS = 128  # in which an L1 is rewritten to see its sizes


class Files(NamedTuple):
    """The numbering of blocks."""

    base: np.ndarray  # [file, level]: number of the first block; of a range, of its object
    first: np.ndarray  # of each file: the number of its first record, as a block
    n_levels: np.ndarray  # of each file, level 0 among them
    n_records_of: np.ndarray  # of each file; of a range, of its object
    record_bytes: np.ndarray  # of each file
    core_bytes: np.ndarray  # the same, of a record in core: less if the ARC holds it compressed
    n_records: int  # of all files: the number of the first indirect block
    n_blocks: int
    shift: int  # log2 of the pointers of an indirect block
    indirect_core_bytes: int  # of an indirect block in core


class Space(NamedTuple):
    """The state of the allocator."""

    aliquot_bytes: int
    vdev: VdevParams  # all alike
    frontier: np.ndarray  # per vdev: offset of a place
    rotor: np.ndarray  # one element: a vdev
    given: np.ndarray  # one element: B since the rotor came there


class Sizes(NamedTuple):
    """B on disk, asize."""

    record_bytes: int
    sequential_l1: np.ndarray  # samples of full L1s written from start to end, dealt out in turn
    l1: np.ndarray  # of a full L1 of which so many children have been rewritten; index 0 to all
    upper_l: int  # L2 and above


class Layout(NamedTuple):
    """Where each block of all files lies on disk, as arrays over blocks."""

    place: np.ndarray  # of each block's first copy: leaf << 48 | offset
    second: np.ndarray  # of each indirect block's second copy
    n_bytes: np.ndarray  # of each indirect block
    level: np.ndarray  # of each indirect block


@kernel
def level_block(files, file, record, level):
    """The number of the block of `level` above `record` of `file`."""
    return files.base[file, level] + (record >> (files.shift * level))


@kernel
def indirect_bytes(files):
    """B of an indirect block, not compressed."""
    return POINTER_BYTES << files.shift


@kernel
def begin_of(files, file):
    """The first record of a file, which is not 0 if it is a range of an object."""
    return files.first[file] - files.base[file, 0]


@kernel
def file_of(first, block):
    """The file of a record."""
    low, high = 0, len(first)
    while high - low > 1:
        middle = (low + high) // 2
        if first[middle] <= block:
            low = middle
        else:
            high = middle
    return low


@kernel
def _give(space, leaf, n_bytes):
    """Rules 1 and 3: space of the vdev `leaf` for a block of `n_bytes`; the place."""
    n_bytes = asize(space.vdev, n_bytes)
    alignment = n_bytes & -n_bytes
    offset = (space.frontier[leaf] + alignment - 1) & -alignment
    space.frontier[leaf] = offset + n_bytes
    space.given[0] += n_bytes
    if space.given[0] >= space.aliquot_bytes:
        space.rotor[0] = leaf + 1 if leaf + 1 < len(space.frontier) else 0
        space.given[0] = 0
    return leaf << LEAF_SHIFT | offset


@kernel
def allocate(space, n_bytes):
    """Space for the first copy of a block."""
    return _give(space, space.rotor[0], n_bytes)


@kernel
def allocate_copy(space, first, n_bytes):
    """Space for the second copy of a block whose first one is at `first`."""
    leaf = (first >> LEAF_SHIFT) + 1
    return _give(space, leaf if leaf < len(space.frontier) else 0, n_bytes)


@kernel
def _place_indirect(files, sizes, layout, space, block, level):
    i = block - files.n_records
    layout.level[i] = level
    layout.n_bytes[i] = sizes.sequential_l1[i % len(sizes.sequential_l1)] if level == 1 else sizes.upper_l
    layout.place[block] = allocate(space, layout.n_bytes[i])
    layout.second[i] = allocate_copy(space, layout.place[block], layout.n_bytes[i])


@kernel
def _is_last_child(record, n_records, level, shift):
    """Whether `record` is the last one below its block of `level`."""
    return record + 1 == n_records or (record + 1) & ((1 << (shift * level)) - 1) == 0


@kernel
def write_file(files, sizes, layout, space, file):
    """Write `n_records_of` records of `file`, from start to end. An indirect block that a range does not fill is written
    with it, and again with the next one."""
    begin = begin_of(files, file)
    n_records = begin + files.n_records_of[file]
    for record in range(begin, n_records):
        layout.place[files.base[file, 0] + record] = allocate(space, sizes.record_bytes)
        level = 1
        while level < files.n_levels[file] and _is_last_child(record, n_records, level, files.shift):
            _place_indirect(files, sizes, layout, space, level_block(files, file, record, level), level)
            level += 1


def number_blocks(n_records_of, record_bytes=8192, core_bytes=None, shift=POINTER_SHIFT, indirect_core_bytes=None,
                  root_pointers=ROOT_POINTERS_FILE):
    """The Files of files with so many records each, of `record_bytes` each (one number, or one for each file)."""
    trees = [tree(n, root_pointers, shift) for n in n_records_of]
    base = np.zeros((len(trees), MAX_LEVELS), np.int64)
    number = 0
    for file, levels in enumerate(trees):
        base[file, 0], number = number, number + levels[0]
    n_records = number
    for file, levels in enumerate(trees):
        for level, n in enumerate(levels[1:], 1):
            base[file, level], number = number, number + n
    return Files(
        base=base, first=base[:, 0].copy(), n_levels=np.array([len(levels) for levels in trees]),
        n_records_of=np.array(n_records_of, np.int64), record_bytes=np.full(len(trees), record_bytes, np.int64),
        core_bytes=np.full(len(trees), record_bytes if core_bytes is None else core_bytes, np.int64),
        n_records=n_records, n_blocks=number, shift=shift,
        indirect_core_bytes=indirect_core_bytes or POINTER_BYTES << shift)


def block_sizes(seed=0, record_bytes=8192, checksum=FLETCHER2, n_leaves=46, shift=POINTER_SHIFT):
    """Sizes from made-up indirect blocks, compressed: see `model.zfs.dmu.indirect`. An L1 of which k children have been
    rewritten has k pointers of one that was rewritten altogether. Of more than 128, sizes between are as the one before."""
    rng = stream(seed, "indirect blocks")
    shape = dict(record_bytes=record_bytes, n_vdevs=n_leaves, shift=shift)
    fresh = [block_pointers(SEQUENTIAL, checksum, rng, **shape) for _ in range(_SAMPLES)]
    mixed, old = fresh[0].copy(), block_pointers(REWRITTEN, checksum, rng, **shape)
    sizes, each = [psize(mixed.tobytes())], (1 << shift) // _STEPS
    for children in rng.random(1 << shift).argsort().reshape(_STEPS, each):
        mixed[children] = old[children]
        sizes += [sizes[-1]] * (each - 1) + [psize(mixed.tobytes())]
    upper = l2_psize(REWRITTEN, rng, **shape)
    return Sizes(record_bytes, np.array([psize(block.tobytes()) for block in fresh]), np.array(sizes), upper)


def _check_pool(n_leaves, first_byte, vdev):
    if not 1 <= n_leaves <= 2**14:
        raise ValueError(f"n_leaves is {n_leaves}, but a pool has 1 to 16384 disks; choose a number in that range")
    if first_byte != int(first_byte) or not 0 <= first_byte < 2 ** (LEAF_SHIFT - 1):
        raise ValueError(f"first_byte is {first_byte}, but it must be a whole number from 0 to 2^47 - 1; "
                         "choose one in that range")
    if n_leaves % vdev.n_children:
        raise ValueError(f"n_leaves is {n_leaves}, but each vdev of the pool has {vdev.n_children} disks; "
                         "choose a multiple of that")


def _spread(vdev):
    """Among how many disks the space of a vdev is dealt out, sector by sector."""
    return vdev.n_children if vdev.kind == RAIDZ else 1


def new_space(n_leaves, aliquot_bytes=ALIQUOT_BYTES, first_byte=0, vdev=SINGLE_DISK):
    """A pool, freshly imported, so that the rotor is at the last vdev. Other data takes the first `first_byte` B that each
    disk has behind its labels; 0: it is empty."""
    _check_pool(n_leaves, first_byte, vdev)
    n, taken = n_leaves // vdev.n_children, -(-int(first_byte) // FIRST_GRAIN) * FIRST_GRAIN * _spread(vdev)
    return Space(aliquot_bytes * vdev.n_children, vdev, np.full(n, FRONT_BYTES + taken), np.array([n - 1]),
                 np.zeros(1, np.int64))


def check_fits(space, disk_bytes):
    """Raise ValueError with one sentence if disks of `disk_bytes` are too small for what has been given of them."""
    row = _spread(space.vdev) << space.vdev.ashift
    end = FRONT_BYTES + (-(-(int(space.frontier.max()) - FRONT_BYTES) // row) << space.vdev.ashift)
    if end > disk_bytes - BACK_BYTES:
        raise ValueError(f"the files end at byte {end} of a disk of {disk_bytes} bytes, the last {BACK_BYTES} of which are "
                         "labels. Choose smaller files, more or larger disks, a smaller first_byte or a shorter run")


def lay_out(files, sizes, n_leaves, aliquot_bytes=ALIQUOT_BYTES, first_byte=0, vdev=SINGLE_DISK):
    """(Layout, Space afterwards) of all files, written one after the other into a pool: see `new_space`."""
    space = new_space(n_leaves, aliquot_bytes, first_byte, vdev)
    n_indirect = files.n_blocks - files.n_records
    layout = Layout(np.empty(files.n_blocks, np.int64), *(np.empty(n_indirect, np.int64) for _ in range(3)))
    for file in range(len(files.n_levels)):
        write_file(files, sizes, layout, space, file)
    return layout, space
