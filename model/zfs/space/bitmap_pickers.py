"""Pickers over blocks of one size: `model.zfs.space.pickers` for the maps of `model.zfs.space.bitmaps`, the same rules (spec
2.8).

Both engines take the same decisions except where several segments overlap the place of the cursor. There the exact one
finds the one nearest to the root of its tree (spec 2.7.2). Here the lowest of them counts, and `n_ambiguous` says how
often that could have mattered. It cannot where all blocks of a map have one size.

Cursors count in the vdev, not in the metaslab. A cursor that was never set is at 0, and so before every metaslab but the
first.
"""

from model.jit import kernel, part
from model.structures.bits import below
from model.structures.sentinels import NOWHERE
from model.zfs.space import cursor_columns as which
from model.zfs.space.bitmaps import blocks_of, cursor_of, window
from model.zfs.space.free_runs import (
    is_free_below,
    longest,
    longest_units,
    next_run,
    run_length,
    run_start,
    shortest,
    shortest_of_units,
)
from model.zfs.space.pickers import CURSOR_DYNAMIC_FIT, DYNAMIC_FIT, FIRST_FIT, NEW_DYNAMIC_FIT, bit_number


@kernel
def _overlaps(fb, m, start, end):
    """Whether any of the blocks behind a run is free, or the rest behind them all."""
    if start < fb.n_blocks[m] < end and fb.rest[m] > 0:
        return True
    end = min(end, fb.n_blocks[m])
    while start < end:
        seen = window(fb, m, start)
        if seen & (below(end - start) if end - start < 64 else -1) != 0:
            return True
        start += 64
    return False


@kernel
def _is_free(fb, m, block):
    return 0 <= block < fb.n_blocks[m] and window(fb, m, block) & 1 != 0


@kernel
def _at_cursor(fb, m, cursor):
    """The block at a cursor, or one far below 0. The rest behind the last block belongs to the run that ends there, so it
    is that block."""
    units = max(fb.cursors[cursor] - fb.first_unit[m], -fb.n_blocks[m] * fb.grain)  # `blocks_of` is for no larger number
    block = blocks_of(fb, units)
    return block - (block == fb.n_blocks[m] and fb.rest[m] > 0 and _is_free(fb, m, block - 1))


@kernel
def _move(fb, m, cursor, block):
    fb.cursors[cursor] = fb.first_unit[m] + block * fb.grain


@kernel
def _aligned(start, alignment):
    return (start + alignment - 1) & -alignment


@part
def _first_with_room(fb, m, block, n, alignment):
    """Aligned start of the first run that has room, of those that begin at `block` or behind; or NOWHERE."""
    while True:
        start = next_run(fb, m, block, n)
        if start == NOWHERE:
            return NOWHERE
        offset = _aligned(start, alignment)
        if offset == start or offset + n <= start + run_length(fb, m, start):
            return offset
        block = start + 1


@kernel
def _first_from(fb, m, block, n, alignment):
    """First fit from a place on: the run across it is the first to be looked at."""
    if not _is_free(fb, m, block):
        return _first_with_room(fb, m, max(block, 0), n, alignment)
    start = run_start(fb, m, block)
    end = start + run_length(fb, m, start)
    offset = _aligned(start, alignment)
    if offset + n <= end:
        if start < block and end < block + n:
            fb.n_ambiguous[m] += _overlaps(fb, m, end, block + n)
        return offset
    return _first_with_room(fb, m, block + 1, n, alignment)


@part
def _first_fit(fb, m, n, alignment, cursor):
    """From the cursor to the end, then once from the bottom."""
    while True:
        offset = _first_from(fb, m, _at_cursor(fb, m, cursor), n, alignment)
        if offset != NOWHERE:
            _move(fb, m, cursor, offset + n)
            return offset
        if fb.cursors[cursor] == 0:
            return NOWHERE
        fb.cursors[cursor] = 0


@kernel
def wants_best_fit(fb, m, params):
    """Dynamic fit: whether there is too little room for first fit."""
    return (longest_units(fb, m) << fb.unit_shift < params.best_fit_hole_bytes
            or is_free_below(fb, m, params.best_fit_below_pct))


@kernel
def _best_fit(fb, m, n):
    offset = shortest(fb, m, n)
    fb.by_size[m] += offset != NOWHERE
    return offset


@kernel
def _dynamic_fit(fb, m, n, params, cursor):
    if longest(fb, m) < n:
        return NOWHERE
    if wants_best_fit(fb, m, params):
        offset = _best_fit(fb, m, n)
        _move(fb, m, cursor, offset + n)
        return offset
    return _first_fit(fb, m, n, 1, cursor)


@kernel
def _extent(fb, m, n, params):
    """Blocks to be found at once for a block of `n`: 10 MiB, where there is a hole of more than 256 KiB."""
    max_blocks = longest(fb, m)
    if max_blocks << fb.unit_shift <= params.extent_hole_bytes:
        return n
    return min(params.min_alloc_bytes >> fb.unit_shift, max_blocks)


@kernel
def _cursor_dynamic_fit(fb, m, n, params):
    """First fit from the place in the extent, up to its end; then another extent."""
    if longest(fb, m) < n:
        return NOWHERE
    in_extent, extent_end = cursor_of(m, which.IN_EXTENT), cursor_of(m, which.EXTENT_END)
    if fb.cursors[in_extent] + n <= fb.cursors[extent_end]:
        return _first_fit(fb, m, n, 1, in_extent)
    wanted = _extent(fb, m, n, params)
    offset = _best_fit(fb, m, wanted)
    fb.cursors[in_extent] = fb.cursors[extent_end] = 0
    if offset != NOWHERE:
        _move(fb, m, in_extent, offset + n)
        _move(fb, m, extent_end, offset + wanted)
    return offset


@kernel
def _run_at_probe(fb, m, block, n):
    """Start of the lowest run that overlaps `n` blocks from `block` on, or NOWHERE."""
    if _is_free(fb, m, block):
        return run_start(fb, m, block)
    start = next_run(fb, m, max(block, 0), 1)
    return start if start < block + n else NOWHERE


@kernel
def _is_ambiguous(fb, m, start, block, n):
    """The run at `start` is the lowest to overlap `n` blocks from `block` on: whether it is not the only one to do so,
    and either it or the last one has room."""
    length = run_length(fb, m, start)
    if start + length >= block + n or not _overlaps(fb, m, start + length, block + n):
        return False
    last = block + n - 1
    return length >= n or (_is_free(fb, m, last) and run_length(fb, m, run_start(fb, m, last)) >= n)


@part
def _go_on_or_open(fb, m, n, cursor, wanted, jump):
    """At the cursor, if the run found there has room; else the shortest one of `wanted` units. The cursor moves by the
    size, or by `jump` where a run was opened."""
    block = _at_cursor(fb, m, cursor)
    start = _run_at_probe(fb, m, block, n)
    if start != NOWHERE:
        fb.n_ambiguous[m] += _is_ambiguous(fb, m, start, block, n)
    moves = n
    if start == NOWHERE or run_length(fb, m, start) < n:
        start, moves = shortest_of_units(fb, m, wanted), jump
        fb.by_size[m] += start != NOWHERE
    if start != NOWHERE:
        _move(fb, m, cursor, start + moves)
    return start


@kernel
def _new_dynamic_fit(fb, m, n, params):
    if longest(fb, m) < n:
        return NOWHERE
    if params.picker == NEW_DYNAMIC_FIT:
        magnitude = bit_number(n * fb.grain) + fb.unit_shift
        wanted = min(longest_units(fb, m), 1 << (magnitude + 1 + params.clump_shift - fb.unit_shift))
        return _go_on_or_open(fb, m, n, cursor_of(m, magnitude), wanted, n)
    wanted = _extent(fb, m, n, params)
    return _go_on_or_open(fb, m, n, cursor_of(m, which.ONLY), wanted, wanted)


@kernel
def pick_block(fb, m, n, params):
    """Where in the map `m` a row of `n` blocks goes, or NOWHERE. Moves the cursor, takes nothing. Blocks of several units
    are for the two pickers with dynamic fit of which the builds were made (`model.zfs.metaslab.state` looks)."""
    if params.picker == FIRST_FIT:
        return _first_fit(fb, m, n, n & -n, cursor_of(m, bit_number(n & -n) + fb.unit_shift))
    if params.picker == DYNAMIC_FIT:
        units = n * fb.grain
        return _dynamic_fit(fb, m, n, params, cursor_of(m, bit_number(units & -units) + fb.unit_shift))
    if params.picker == CURSOR_DYNAMIC_FIT:
        return _cursor_dynamic_fit(fb, m, n, params)
    return _new_dynamic_fit(fb, m, n, params)


@kernel
def is_fragmented(fb, m, params):
    """Whether the picker calls a map fragmented (spec 2.5)."""
    if params.picker == FIRST_FIT:
        return True
    if params.picker == DYNAMIC_FIT:
        return wants_best_fit(fb, m, params)
    return longest_units(fb, m) << fb.unit_shift <= params.sound_hole_bytes
