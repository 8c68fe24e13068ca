"""Ageing of a pool: one large file of records, written from its start to its end and then rewritten at random.

Time, disks and the cache are left out. The free space ages only by which records each transaction group writes, and by the
order in which they are put. In a group each record is put once, however often it was written. Records whose pointers stand
in the same indirect block are put together, in the order in which they were first written. The indirect block itself, if
`indirect_bytes` is not 0, follows behind the last of them, in two copies (spec 2.12). Where a record lay before is freed in
the same group.

    space = new_pool(...)                                    # model.zfs.metaslab.state; blocks are multiples of its unit
    file = new_file(space, n_records, 4096, 50_000)
    seen = list(occupy(space, file, FIRST_TXG, n_bytes))  # other data, which stays
    seen += fill(space, file, FIRST_TXG + len(seen), 50_000)
    seen += rewrite(space, file, FIRST_TXG + len(seen), 50_000, n_writes, stream(seed, "ageing"))

Each of the last three is a generator that gives the contiguity of a transaction group when that is written.

*Contiguity* is the number of records that were put in a group for each row of touching ones among them. Such a row could be
written with one I/O, had the I/O no limit.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from model.jit import kernel
from model.structures.sentinels import NONE
from model.zfs.metaslab.metaslab_class import NO_HINT, allocate, asize, free
from model.zfs.metaslab.state import Metaslabs
from model.zfs.metaslab.sync import sync_txg
from model.zfs.shared_numbers import COPIES, POINTER_SHIFT
from model.zfs.space.status import NO_SPACE, OK

NOT_PLACED = 0  # places are numbers of units, from 1


class File(NamedTuple):
    """Where the records of a file are, and what the open transaction group has of it."""

    record_bytes: int
    indirect_bytes: int  # physical size of an indirect block; 0: they are left out
    unit_shift: int
    first_unit: np.ndarray  # [vdev], and one behind the last: units are counted through all of them
    place: np.ndarray  # [record]: unit in which it begins + 1, or NOT_PLACED
    indirect_place: np.ndarray  # [copy * indirect blocks + number]: likewise
    seen: np.ndarray  # [indirect block]: txg << 32 | its number in the group
    block: np.ndarray  # [number in the group]: indirect block
    first: np.ndarray  # [number in the group]: place in `record` of the first one below it
    last: np.ndarray
    record: np.ndarray  # records that were written
    following: np.ndarray  # the next one below the same indirect block, or NONE
    wanted: np.ndarray  # what the group puts, in order
    put: np.ndarray  # units in which the records of the last group begin
    n_put: np.ndarray  # one: how many


def new_file(space: Metaslabs, n_records: int, record_bytes: int, max_writes: int, indirect_bytes: int = 0) -> File:
    """A file of which nothing is written yet; a group writes at most `max_writes` records."""
    unit_shift = 9 if space.blocks is None else int(space.blocks.free.unit_shift)
    vdevs = space.vdevs
    units = (vdevs.n_ms << vdevs.ms_shift) >> unit_shift
    _check(n_records, record_bytes, max_writes, int(units.sum()), unit_shift)
    n_blocks = (n_records - 1 >> POINTER_SHIFT) + 1
    block, first, last, record, following = (np.zeros(max_writes, np.int64) for _ in range(5))
    return File(
        record_bytes=record_bytes, indirect_bytes=indirect_bytes, unit_shift=unit_shift,
        first_unit=np.append(0, np.cumsum(units)), place=np.zeros(n_records, np.uint32),
        indirect_place=np.zeros(COPIES * n_blocks, np.uint32), seen=np.zeros(n_blocks, np.int64), block=block,
        first=first, last=last, record=record, following=following, wanted=np.zeros(2 * max_writes, np.int64),
        put=np.zeros(max_writes, np.int64), n_put=np.zeros(1, np.int64))


def _check(n_records, record_bytes, max_writes, n_units, unit_shift):
    if n_records < 1 or max_writes < 1:
        raise ValueError(f"the file has {n_records} records, of which a group writes {max_writes}, but both must be 1 or "
                         "more; give at least 1")
    if record_bytes < 512 or record_bytes % 512:
        raise ValueError(f"record_bytes is {record_bytes}, but it must be a multiple of 512 from 512 on; use that")
    if n_records * record_bytes >> unit_shift > n_units:
        raise ValueError(f"{n_records} records of {record_bytes} B are more than the {n_units << unit_shift} B of the pool; "
                         "use fewer or larger disks")
    if n_units >= 2**32 - 1:
        raise ValueError(f"the pool has {n_units} units of {1 << unit_shift} B, but at most 2^32 - 2 can be numbered; use "
                         "larger units or fewer disks")


# ---- which records a group has, below which indirect blocks ----


@kernel
def _is_below(file, record, at):
    """Whether a record is in the chain that begins at `at`."""
    while at != NONE:
        if file.record[at] == record:
            return True
        at = file.following[at]
    return False


@kernel
def _gather(file, txg, written):
    """Sort what was written by indirect block, in order of first touch. Returns how many of these there are."""
    n, n_blocks = 0, 0
    for i in range(len(written)):
        record = written[i]
        block = record >> POINTER_SHIFT
        number = file.seen[block] & 0xFFFFFFFF
        if file.seen[block] >> 32 != txg:
            number = n_blocks
            file.seen[block] = txg << 32 | number
            file.block[number], file.first[number] = block, n
            n_blocks += 1
        elif _is_below(file, record, file.first[number]):
            continue
        else:
            file.following[file.last[number]] = n
        file.record[n], file.following[n], file.last[number] = record, NONE, n
        n += 1
    return n_blocks


@kernel
def _want(file, n_blocks):
    """Line up what has to be put: the records below each indirect block, then the block itself. Returns how many."""
    n = 0
    for number in range(n_blocks):
        at = file.first[number]
        while at != NONE:
            file.wanted[n] = file.record[at]
            n += 1
            at = file.following[at]
        if file.indirect_bytes > 0:
            file.wanted[n] = -1 - file.block[number]
            n += 1
    return n


# ---- putting them; a number below 0 in `wanted` is -1 less an indirect block ----


@kernel
def vdev_of(file, unit):
    """The vdev that has a unit."""
    vdev = 0
    while file.first_unit[vdev + 1] <= unit:
        vdev += 1
    return vdev


@kernel
def _places(file, wanted):
    """(array, index, step from copy to copy) of the places of a record or indirect block."""
    if wanted >= 0:
        return file.place, wanted, 0
    return file.indirect_place, -1 - wanted, len(file.seen)


@kernel
def _free_old(space, file, txg, wanted, psize, n_copies):
    """Free where the copies of a record or indirect block were."""
    places, at, step = _places(file, wanted)
    for copy in range(n_copies):
        unit = np.int64(places[at + copy * step]) - 1
        if unit != NOT_PLACED - 1:
            vdev = vdev_of(file, unit)
            offset = (unit - file.first_unit[vdev]) << file.unit_shift
            status = free(space, txg, vdev, offset, asize(space, vdev, psize))
            if status != OK:
                return status
    return OK


@kernel
def _note_new(space, file, wanted, n_copies):
    """Note where they are now: what was just allocated."""
    places, at, step = _places(file, wanted)
    for copy in range(n_copies):
        unit = file.first_unit[space.dva_vdev[copy]] + (space.dva_offset[copy] >> file.unit_shift)
        places[at + copy * step] = unit + 1
        if wanted >= 0:
            file.put[file.n_put[0]] = unit
            file.n_put[0] += 1


@kernel
def write_txg(space, file, txg, written, n_other, other_bytes):
    """A group that writes these records, then `n_other` blocks that stay; and its sync. OK, NO_SPACE, or a failure of the
    model."""
    file.n_put[0], status = 0, OK
    n = _want(file, _gather(file, txg, written))
    for i in range(n + n_other):
        psize, n_copies = other_bytes, 1
        if i < n:
            psize, n_copies = (file.record_bytes, 1) if file.wanted[i] >= 0 else (file.indirect_bytes, COPIES)
            status = _free_old(space, file, txg, file.wanted[i], psize, n_copies)
        if status == OK:
            status = allocate(space, txg, psize, n_copies, NO_HINT)
        if status != OK:
            return status
        if i < n:
            _note_new(space, file, file.wanted[i], n_copies)
    return sync_txg(space, txg)


# ---- many groups ----


def contiguity(file: File) -> float:
    """Records of the last group for each row of touching ones, by where they begin."""
    units = np.sort(file.put[:int(file.n_put[0])])
    step = max(1, file.record_bytes >> file.unit_shift)
    return len(units) / (1 + np.count_nonzero(np.diff(units) != step))


def _check_done(space, txg, status):
    if status == NO_SPACE:
        used, all_of_it = int(space.class_allocated[0]), int(space.class_space[0])
        raise ValueError(f"the pool fills up in txg {txg}: {used} of {all_of_it} B are taken and the next block finds no "
                         "room. Use fewer records or more disks")
    if status != OK:
        raise ValueError(f"the model stops in txg {txg} with status {status} (see model/zfs/space/status.py). Give the pool "
                         "more room for segments, or blocks that are multiples of its unit")


def _written(space, file, txg, records):
    _check_done(space, txg, write_txg(space, file, txg, records, 0, 0))
    return contiguity(file)


def occupy(space: Metaslabs, file: File, txg: int, n_bytes: int, psize: int = 2**17,
           blocks_per_txg: int = 2**13) -> Iterator[float]:
    """Write other data that is never freed, in blocks of `psize` B, from transaction group `txg` on; gives 0 for each."""
    n_blocks = n_bytes // psize
    for first in range(0, n_blocks, blocks_per_txg):
        n = min(blocks_per_txg, n_blocks - first)
        _check_done(space, txg, write_txg(space, file, txg, np.zeros(0, np.int64), n, psize))
        yield 0.0
        txg += 1


def fill(space: Metaslabs, file: File, txg: int, writes_per_txg: int) -> Iterator[float]:
    """Write all records from first to last, from transaction group `txg` on; gives the contiguity of each."""
    for first in range(0, len(file.place), writes_per_txg):
        yield _written(space, file, txg, np.arange(first, min(first + writes_per_txg, len(file.place))))
        txg += 1


def rewrite(space: Metaslabs, file: File, txg: int, writes_per_txg: int, n_writes: int,
            draws: np.random.Generator) -> Iterator[float]:
    """Write records at random, `n_writes` in all, from transaction group `txg` on; gives the contiguity of each."""
    for first in range(0, n_writes, writes_per_txg):
        uniform = draws.random(min(writes_per_txg, n_writes - first))
        yield _written(space, file, txg, (uniform * len(file.place)).astype(np.int64))
        txg += 1
