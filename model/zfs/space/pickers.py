"""Pickers: which free segment of a metaslab a block is taken from (spec 2.8).

All but one rule begin where the last block of the same kind ended: at one of the 64 *cursors* of the metaslab. They
search for [cursor, cursor + size) in the map of free space. See `model.zfs.space.space_map` for what such a search
finds.

* *First fit* (the default to b108). Go upwards from what was found, or from the next segment above. Take the first one
  that has room when its start is rounded up to the alignment: the largest power of two that divides the size. Nothing:
  once more from the bottom. There is a cursor for each alignment.
* *Dynamic fit* (the default in b117 and b121, with 30 %; later 4 %). First fit without alignment, as long as a hole of 128
  KiB is left and the free share has not fallen below the percentage. Else it is *best fit*, the shortest segment that is
  long enough.
* *Cursor dynamic fit* (never the default). First fit without alignment inside an extent of 10 MiB that best fit took.
* *New dynamic fit* (the default in b141). Go on at the cursor of this magnitude if the segment there has room. Else
  open the shortest segment of at least 16 to 32 times the size, or the longest there is. An earlier version
  (NEW_DYNAMIC_FIT_C) has one cursor, and wants 10 MiB.

A picker moves its cursor and takes nothing out of the map. A segment found is taken at its start, save for alignment.
"""

from typing import NamedTuple

from model.jit import kernel
from model.structures.bits import zeros_above
from model.structures.sentinels import NIL, NOWHERE
from model.zfs.space import columns as bounds
from model.zfs.space import cursor_columns as which
from model.zfs.space.space_map import following, largest, overlapping, overlapping_or_next, smallest_of_at_least

FIRST_FIT, DYNAMIC_FIT, CURSOR_DYNAMIC_FIT, NEW_DYNAMIC_FIT_C, NEW_DYNAMIC_FIT = range(5)


class PickerParams(NamedTuple):
    """The rules of a build. Those of b103; see `model.zfs.eras` and `VARIANTS` for later ones."""

    picker: int = FIRST_FIT  # metaslab.c, zfs_metaslab_ops
    best_fit_below_pct: int = 30  # metaslab_df_free_pct: 30 in b117, 4 from hg 11146 on
    best_fit_hole_bytes: int = 2**17  # metaslab_df_alloc_threshold = SPA_MAXBLOCKSIZE
    clump_shift: int = 4  # metaslab_ndf_clump_shift
    min_alloc_bytes: int = 10 * 2**20  # metaslab_min_alloc_size = DMU_MAX_ACCESS
    extent_hole_bytes: int = 2**18  # 2 * SPA_MAXBLOCKSIZE: with no hole above this, no extent is wanted
    sound_hole_bytes: int = 10 * 2**20 * 10  # CDF, NDF to hg 12046: fragmented unless a hole is longer than this


# The variants of the recorded traces. From hg 12047 on a metaslab is sound with a hole of more than 10 MiB << 4.
VARIANTS = {
    "103_ff": PickerParams(picker=FIRST_FIT),
    "117_df": PickerParams(picker=DYNAMIC_FIT, best_fit_below_pct=30),
    "141_df": PickerParams(picker=DYNAMIC_FIT, best_fit_below_pct=4),
    "141_ndf": PickerParams(picker=NEW_DYNAMIC_FIT, best_fit_below_pct=4, sound_hole_bytes=10 * 2**20 << 4),
}


@kernel
def bit_number(power):
    """Number of the highest bit of a positive number; of its only one, if it is a power of two."""
    return 63 - zeros_above(power)


@kernel
def free_pct(maps, m):
    """Free share of the area of a map, in whole per cent, rounded down."""
    return maps.space[m] * 100 // maps.size_bytes[m]


@kernel
def wants_best_fit(maps, m, params, longest):
    """Dynamic fit: whether there is too little room for first fit, `longest` being the longest segment."""
    return longest < params.best_fit_hole_bytes or free_pct(maps, m) < params.best_fit_below_pct


@kernel
def _first_with_room(maps, m, node, n_bytes, alignment):
    """The aligned start of the first segment from `node` upwards that has room, or NOWHERE."""
    key = maps.trees.key
    while node != NIL:
        offset = (key[node, bounds.START] + alignment - 1) & -alignment
        if offset + n_bytes <= key[node, bounds.END]:
            maps.recent[m] = node
            return offset
        node = following(maps, node)
    return NOWHERE


@kernel
def _first_fit(maps, m, n_bytes, alignment, cursor):
    """From the cursor to the end, then once from the bottom."""
    cursors = maps.cursors
    while True:
        at = cursors[m, cursor]
        offset = _first_with_room(maps, m, overlapping_or_next(maps, m, at, at + n_bytes), n_bytes, alignment)
        if offset != NOWHERE:
            cursors[m, cursor] = offset + n_bytes
            return offset
        if at == 0:
            return NOWHERE
        cursors[m, cursor] = 0


@kernel
def _best_fit(maps, m, n_bytes):
    """Start of the shortest segment that has room, of equal ones the lowest; or NOWHERE."""
    node = smallest_of_at_least(maps, m, n_bytes)
    maps.recent[m] = node
    if node == NIL:
        return NOWHERE
    maps.by_size[m] += 1
    return maps.trees.key[node, bounds.START]


@kernel
def _dynamic_fit(maps, m, n_bytes, params):
    longest = largest(maps, m)
    if longest < n_bytes:
        return NOWHERE
    cursor = bit_number(n_bytes & -n_bytes)
    if wants_best_fit(maps, m, params, longest):
        offset = _best_fit(maps, m, n_bytes)
        maps.cursors[m, cursor] = offset + n_bytes
        return offset
    return _first_fit(maps, m, n_bytes, 1, cursor)


@kernel
def _cursor_dynamic_fit(maps, m, n_bytes, params):
    """First fit from the place in the extent, up to its end; then another extent.

    With no hole that is long enough nothing is looked for. An extent may be shorter than a block of more than 256 KiB
    (metaslab_cdf_alloc; the specification has blocks of 128 KiB at most, and does not say so).
    """
    cursors, longest = maps.cursors, largest(maps, m)
    if longest < n_bytes:
        return NOWHERE
    if cursors[m, which.IN_EXTENT] + n_bytes <= cursors[m, which.EXTENT_END]:
        return _first_fit(maps, m, n_bytes, 1, which.IN_EXTENT)
    wanted = min(params.min_alloc_bytes, longest) if longest > params.extent_hole_bytes else n_bytes
    offset = _best_fit(maps, m, wanted)
    cursors[m, which.IN_EXTENT] = cursors[m, which.EXTENT_END] = 0
    if offset != NOWHERE:
        cursors[m, which.IN_EXTENT], cursors[m, which.EXTENT_END] = offset + n_bytes, offset + wanted
    return offset


@kernel
def _go_on_or_open(maps, m, n_bytes, cursor, wanted, jump):
    """At the cursor, if the segment found there has room; else the shortest one of `wanted` bytes, if any. The cursor
    moves by what was asked for, or by `jump` where a segment was opened."""
    at, key = maps.cursors[m, cursor], maps.trees.key
    node = overlapping(maps, m, at, at + n_bytes)
    moves = n_bytes
    if node == NIL or key[node, bounds.START] + n_bytes > key[node, bounds.END]:
        node, moves = smallest_of_at_least(maps, m, wanted), jump
        maps.by_size[m] += 1 if node != NIL else 0
    if node == NIL:
        return NOWHERE
    maps.recent[m] = node
    maps.cursors[m, cursor] = key[node, bounds.START] + moves
    return key[node, bounds.START]


@kernel
def _new_dynamic_fit(maps, m, n_bytes, params):
    longest = largest(maps, m)
    if longest < n_bytes:
        return NOWHERE
    if params.picker == NEW_DYNAMIC_FIT:
        magnitude = bit_number(n_bytes)
        wanted = min(longest, 1 << (magnitude + 1 + params.clump_shift))
        return _go_on_or_open(maps, m, n_bytes, magnitude, wanted, n_bytes)
    wanted = min(params.min_alloc_bytes, longest) if longest > params.extent_hole_bytes else n_bytes
    return _go_on_or_open(maps, m, n_bytes, which.ONLY, wanted, wanted)


@kernel
def pick(maps, m, n_bytes, params):
    """Where in the free map `m` a block of that many bytes goes, or NOWHERE. Moves the cursor, takes nothing."""
    if params.picker == FIRST_FIT:
        alignment = n_bytes & -n_bytes
        return _first_fit(maps, m, n_bytes, alignment, bit_number(alignment))
    if params.picker == DYNAMIC_FIT:
        return _dynamic_fit(maps, m, n_bytes, params)
    if params.picker == CURSOR_DYNAMIC_FIT:
        return _cursor_dynamic_fit(maps, m, n_bytes, params)
    return _new_dynamic_fit(maps, m, n_bytes, params)


@kernel
def is_fragmented(maps, m, params):
    """Whether the picker calls a free map fragmented (spec 2.5), which in b141 ends its time as the primary one."""
    if params.picker == FIRST_FIT:
        return True
    longest = largest(maps, m)
    if params.picker == DYNAMIC_FIT:
        return wants_best_fit(maps, m, params, longest)
    return longest <= params.sound_hole_bytes
