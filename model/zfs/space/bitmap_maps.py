"""The maps of a pool for blocks of one size: the fast engine behind `model.zfs.space.free_map`.

What is free in a metaslab is kept in `model.zfs.space.bitmaps`, also while ZFS would have the map unloaded. What is freed
and no longer withheld is given to it at once. That is how it would be found on loading. Loading only sets cursors to 0.

What a txg allocates or frees of a metaslab, and what is withheld, are *lists* of rows of units in order of arrival. A
row that continues the last one is joined to it. Emptying one list into another is to link them.

Of the log of a metaslab only the length is known, in records. There is one for each row of blocks that do not touch, of at
most 32768 sectors. Where a list has several, they are counted in a bitmap of their own. All rows are entered, then each one
with nothing on its left begins a record, then all are taken out. When a log is written anew, what would be written is
counted in the free map.
"""

from typing import NamedTuple

import numpy as np

from model.jit import kernel
from model.structures.bits import ALL, count, lowest, zeros_above
from model.structures.sentinels import NONE
from model.zfs.space import cursor_columns as which
from model.zfs.space.bitmaps import FreeBlocks, bits_at, blocks_of, cursor_of, first_bit, flip
from model.zfs.space.free_runs import give as give_blocks
from model.zfs.space.free_runs import longest_units, look_ahead
from model.zfs.space.free_runs import take as take_blocks
from model.zfs.space.long_free_runs import look_closer
from model.zfs.space.status import ABSENT, FULL, OK, UNALIGNED

RUN_SECTORS_SHIFT = 15  # a record has at most 2^15 sectors
MAX_UNIT_SHIFT = 17  # so that a record is at least as long as a word has bits
# What is looked up together is one fetch of memory.
LIST = np.dtype([("n_units", np.int64), ("first", np.int32), ("last", np.int32)])
ROW = np.dtype([("start", np.int64), ("length", np.int32), ("following", np.int32)])
AHEAD = 6  # rows: named to the processor before they are given


class BlockMaps(NamedTuple):
    """Free maps, by metaslab; lists, by the numbers that `model.zfs.metaslab.state` gives to maps."""

    free: FreeBlocks
    first: np.ndarray  # [list]: its first row, or NONE
    last: np.ndarray  # [list]
    n_units: np.ndarray  # [list]
    start: np.ndarray  # [row]: unit of the vdev
    length: np.ndarray  # [row]: units
    following: np.ndarray  # [row]: in the same list, or NONE; of an unused one the next unused one
    unused: np.ndarray  # one: the first unused row, or NONE
    n_fresh: np.ndarray  # one: rows from here on were never used
    n_rewritten: np.ndarray  # [metaslab]: records of a log that was just written anew, or NONE
    bits: np.ndarray  # as long as the mask of a metaslab; 0 between uses


def new_block_maps(free, n_lists, max_rows):
    """`n_lists` lists of rows of the maps `free`, with room for `max_rows` rows in all."""
    if free.unit_shift > MAX_UNIT_SHIFT:
        raise ValueError(f"blocks are of {1 << free.unit_shift} B, but maps of a pool take at most {1 << MAX_UNIT_SHIFT} "
                         "(128 KiB); choose the exact engine")
    lists, rows = np.zeros(n_lists, LIST), np.zeros(max_rows, ROW)
    lists["first"] = lists["last"] = NONE
    return BlockMaps(
        free=free, first=lists["first"], last=lists["last"], n_units=lists["n_units"], start=rows["start"],
        length=rows["length"], following=rows["following"], unused=np.full(1, NONE, np.int64),
        n_fresh=np.zeros(1, np.int64), n_rewritten=np.full(len(free.n_free), NONE, np.int64),
        bits=np.zeros(free.mask_stride + 1, np.int64))


# ---- free maps, in B of the vdev ----


@kernel
def _units(maps, n_bytes):
    return n_bytes >> maps.free.unit_shift


@kernel
def _is_whole(maps, start, end):
    return (start | end) & ((1 << maps.free.unit_shift) - 1) == 0


@kernel
def _block(maps, m, unit):
    """The block of metaslab `m` that begins at a unit of the vdev."""
    return blocks_of(maps.free, unit - maps.free.first_unit[m])


@kernel
def take(maps, m, start, end):
    """What was free is allocated."""
    n = blocks_of(maps.free, _units(maps, end - start))
    if not _is_whole(maps, start, end) or n * maps.free.grain != _units(maps, end - start):
        return UNALIGNED
    return take_blocks(maps.free, m, _block(maps, m, _units(maps, start)), n)


@kernel
def give(maps, m, start, end):
    """What was allocated is free."""
    return give_blocks(maps.free, m, _block(maps, m, _units(maps, start)), blocks_of(maps.free, _units(maps, end - start)))


@kernel
def largest(maps, m):
    """B of the longest free segment."""
    return longest_units(maps.free, m) << maps.free.unit_shift


@kernel
def forget_cursors(maps, m):
    """Unload: cursors are lost."""
    for number in range(which.N_CURSORS):
        maps.free.cursors[cursor_of(m, number)] = 0


# ---- lists ----


@kernel
def space(maps, txg_map):
    """B in a list."""
    return maps.n_units[txg_map] << maps.free.unit_shift


@kernel
def _new_row(maps):
    """A row that is in no list, or NONE."""
    row = maps.unused[0]
    if row != NONE:
        maps.unused[0] = maps.following[row]
    elif maps.n_fresh[0] < len(maps.start):
        row = maps.n_fresh[0]
        maps.n_fresh[0] += 1
    return row


@kernel
def _append(maps, txg_map, unit, n):
    """Add units to a list."""
    last = maps.last[txg_map]
    maps.n_units[txg_map] += n
    if last != NONE and maps.start[last] + maps.length[last] == unit:
        maps.length[last] += n
        return OK
    row = _new_row(maps)
    if row == NONE:
        return FULL
    maps.start[row], maps.length[row], maps.following[row] = unit, n, NONE
    if last == NONE:
        maps.first[txg_map] = row
    else:
        maps.following[last] = row
    maps.last[txg_map] = row
    return OK


@kernel
def put(maps, txg_map, start, end):
    """Add B of the vdev to a list."""
    if not _is_whole(maps, start, end):
        return UNALIGNED
    return _append(maps, txg_map, _units(maps, start), _units(maps, end - start))


@kernel
def unput(maps, txg_map, start, end):
    """Take B of the vdev out of a list again; they were put there as one."""
    unit, n = _units(maps, start), _units(maps, end - start)
    row = maps.first[txg_map]
    while row != NONE:
        behind = maps.start[row] + maps.length[row] - unit - n
        if maps.start[row] <= unit and behind >= 0:
            maps.n_units[txg_map] -= n + behind
            maps.length[row] = unit - maps.start[row]
            return _append(maps, txg_map, unit + n, behind) if behind > 0 else OK
        row = maps.following[row]
    return ABSENT


@kernel
def clear(maps, txg_map):
    """Empty a list."""
    if maps.last[txg_map] != NONE:
        maps.following[maps.last[txg_map]] = maps.unused[0]
        maps.unused[0] = maps.first[txg_map]
    maps.first[txg_map] = maps.last[txg_map] = NONE
    maps.n_units[txg_map] = 0


@kernel
def move(maps, source, target):
    """Empty a list into another."""
    if maps.first[source] == NONE:
        return
    if maps.last[target] == NONE:
        maps.first[target] = maps.first[source]
    else:
        maps.following[maps.last[target]] = maps.first[source]
    maps.last[target] = maps.last[source]
    maps.n_units[target] += maps.n_units[source]
    maps.first[source] = maps.last[source] = NONE
    maps.n_units[source] = 0


@kernel
def _will_be_given(maps, m, row):
    """A row, or none, will be given to the free map soon. The one behind it."""
    if row == NONE:
        return NONE
    look_ahead(maps.free, m, _block(maps, m, maps.start[row]))
    return maps.following[row]


@kernel
def _is_given_next(maps, m, row):
    """It will be in a moment, so that what `look_ahead` asked for is there. The row behind it."""
    if row == NONE:
        return NONE
    look_closer(maps.free.long, m, _block(maps, m, maps.start[row]), blocks_of(maps.free, maps.length[row]))
    return maps.following[row]


@kernel
def look_ahead_to(maps, source, m):
    """A list will be emptied into the free map of metaslab `m` after another one: its first row will be given."""
    _will_be_given(maps, m, maps.first[source])


@kernel
def give_all(maps, source, m):
    """Empty a list into the free map of metaslab `m`. Returns a status."""
    status, row = OK, maps.first[source]
    later = soon = row
    for i in range(AHEAD):
        later = _will_be_given(maps, m, later)
        if i >= AHEAD // 2:
            soon = _is_given_next(maps, m, soon)
    while row != NONE and status == OK:
        later, soon = _will_be_given(maps, m, later), _is_given_next(maps, m, soon)
        if maps.length[row] > 0:
            status = give_blocks(maps.free, m, _block(maps, m, maps.start[row]), blocks_of(maps.free, maps.length[row]))
        row = maps.following[row]
    clear(maps, source)
    return status


# ---- lengths of logs ----


@kernel
def _flip_all(maps, m, txg_map, mask, first):
    """Enter the rows of a list into a row of words, in which block 0 of metaslab `m` is bit `first`, or take them out."""
    row = maps.first[txg_map]
    while row != NONE:
        flip(mask, first + _block(maps, m, maps.start[row]), blocks_of(maps.free, maps.length[row]))
        row = maps.following[row]


@kernel
def _ones_from(mask, at):
    """How many ones follow each other from bit `at` on."""
    n = 0
    while bits_at(mask, at + n) == ALL:
        n += 64
    return n + lowest(~bits_at(mask, at + n))


@kernel
def _max_units(maps, ashift):
    """Units of the longest record."""
    return 1 << (RUN_SECTORS_SHIFT + ashift - maps.free.unit_shift)


@kernel
def n_records(maps, m, txg_map, ashift):
    """Records for what is in a list of metaslab `m`, with the header; 0 if it is empty."""
    if maps.n_units[txg_map] == 0:
        return 0
    max_units, n, row = _max_units(maps, ashift), 1, maps.first[txg_map]
    if row == maps.last[txg_map]:  # as most are: a group frees little in each metaslab
        return 1 + (maps.n_units[txg_map] + max_units - 1) // max_units
    _flip_all(maps, m, txg_map, maps.bits, 64)
    while row != NONE:
        at = 64 + _block(maps, m, maps.start[row])
        if maps.length[row] > 0 and bits_at(maps.bits, at - 1) & 1 == 0:
            n += 1 if maps.n_units[txg_map] <= max_units else (
                _ones_from(maps.bits, at) * maps.free.grain + max_units - 1) // max_units
        row = maps.following[row]
    _flip_all(maps, m, txg_map, maps.bits, 64)
    return n


@kernel
def _allocated_records(fb, m, max_units):
    """(blocks that are not free in metaslab `m`, records of at most `most` units for them)."""
    n, n_found, row = 0, 0, 0  # row: blocks in a row that are allocated, up to here
    first = m * fb.mask_stride + 1
    for word in range((fb.n_blocks[m] + 63) >> 6):
        used = fb.mask[first + word]
        if (word + 1) << 6 > fb.n_blocks[m]:
            used &= ~(ALL << (fb.n_blocks[m] & 63))
        n_found += count(used)
        if used == ALL:
            n += row == 0
            row += 64
            continue
        n += count(used & ~(used << 1 | (row > 0)))
        if row > 0:
            n += ((row + lowest(~used)) * fb.grain - 1) // max_units
        row = zeros_above(~used)
    if row > 0:
        n += (row * fb.grain - 1) // max_units
    return n_found, n


@kernel
def rewrite(maps, m, txg_map, sources, ashift):
    """A log written anew: put into list `one` the number of blocks that are allocated, and remember how many records they
    are. Allocated is all that is in none of the `sources` nor free."""
    for source in sources:
        _flip_all(maps, m, source, maps.free.mask, first_bit(maps.free, m))
    n_blocks, n = _allocated_records(maps.free, m, _max_units(maps, ashift))
    for source in sources:
        _flip_all(maps, m, source, maps.free.mask, first_bit(maps.free, m))
    clear(maps, txg_map)
    maps.n_units[txg_map] = n_blocks * maps.free.grain
    maps.n_rewritten[m] = n + 1 if n_blocks > 0 else 0


@kernel
def append(maps, m, txg_map, ashift):
    """Empty a list into the log. Returns the number of records."""
    n = maps.n_rewritten[m]
    if n == NONE:
        n = n_records(maps, m, txg_map, ashift)
    maps.n_rewritten[m] = NONE
    clear(maps, txg_map)
    return n
