"""Runs of free blocks: what the maps of `model.zfs.space.bitmaps` say of them, and how they change.

How far a run reaches is counted in the 64 blocks on either side of a place. Of a long run, what
`model.zfs.space.long_free_runs` keeps says it. Blocks that become free join the runs on both sides; blocks that are
taken leave a run on either side, or none.
"""

import numpy as np

from model.jit import kernel, part
from model.jit.cpu_prefetch import prefetch
from model.structures.bits import ALL, above, lowest, zeros_above
from model.structures.sentinels import NONE, NOWHERE
from model.zfs.space import long_free_runs
from model.zfs.space.bitmaps import (
    all_are,
    at_least,
    blocks_of,
    exactly,
    first_bit,
    flip,
    last_before,
    lowest_word,
    mark,
    new_free_blocks,
    next_word,
    unmark,
    window,
)
from model.zfs.space.long_free_runs import (
    LONG,
    beginning_at,
    begins,
    ending_at,
    forget,
    is_full,
    last_to_begin,
    longest_long,
    remember,
    resize,
    shortest_long,
)
from model.zfs.space.status import ABSENT, FULL, OK, OVERLAP

# ---- how far a run reaches ----


@kernel
def run_length(fb, m, start):
    """Length of the run that begins at `start`; 0 if that block is not free."""
    length = lowest(~window(fb, m, start))
    return length if length < LONG else np.int64(fb.long.length[beginning_at(fb.long, m, start)])


@kernel
def _length_before(fb, m, end):
    """Length of the run that ends before block `end`; 0 if the block before is not free."""
    length = zeros_above(~window(fb, m, end - 64))
    return length if length < LONG else np.int64(fb.long.length[ending_at(fb.long, m, end)])


@kernel
def run_start(fb, m, block):
    """Where the run begins that has `block`, which is free."""
    length = zeros_above(~window(fb, m, block - 63))
    return block + 1 - length if length <= LONG else np.int64(fb.long.start[_long_run_with(fb, m, block)])


@kernel
def _long_run_with(fb, m, block):
    """The long run that has `block`: the last one to begin at or before it."""
    run = last_to_begin(fb.long, m, block >> 6, block)
    return run if run != NONE else last_to_begin(fb.long, m, last_before(fb, m, 0, block >> 6), block)


# ---- what is kept of a run ----


@kernel
def _drop(fb, m, start, length):
    """The short run at `start` is gone from the mask."""
    if exactly(fb, m, start >> 6, length) == 0:
        unmark(fb, m, length, start >> 6)


@kernel
def _drop_long(fb, m, start):
    """No long run begins at `start` any more."""
    if not begins(fb.long, m, start >> 6):
        unmark(fb, m, 0, start >> 6)


@kernel
def _put(fb, m, start, length):
    """A run has come to be."""
    if length < LONG:
        mark(fb, m, length, start >> 6)
    else:
        remember(fb.long, m, start, start + length)
        mark(fb, m, 0, start >> 6)


@kernel
def _resize_long(fb, m, run, start, end):
    """A long run now reaches from `start` to `end` and is still long."""
    before = np.int64(fb.long.start[run])
    resize(fb.long, m, run, start, end)
    if before >> 6 != start >> 6:
        _drop_long(fb, m, before)
        mark(fb, m, 0, start >> 6)


@kernel
def _remove(fb, m, start, length):
    """A run is gone from the mask, or is now part of another."""
    if length < LONG:
        _drop(fb, m, start, length)
    else:
        forget(fb.long, m, beginning_at(fb.long, m, start))
        _drop_long(fb, m, start)


# ---- maps that are free from the beginning ----


def new_free_space(n_blocks, unit_bytes):
    """As `bitmaps.new_free_blocks`, but all is free. Of a map that nothing was put into hardly any memory is written."""
    fb = new_free_blocks(n_blocks, unit_bytes, taken=False)
    fb.n_free[:] = fb.n_blocks
    fb.n_runs[:] = 1
    _put_all(fb)
    return fb


@kernel
def _put_all(fb):
    for m in range(len(fb.n_blocks)):
        _put(fb, m, 0, fb.n_blocks[m])


# ---- changes; each returns a status, FULL when there are more long runs than there is room for ----


@kernel
def look_ahead(fb, m, block):
    """Something will soon be taken or given there: the processor is to fetch it (`model.jit.cpu_prefetch`)."""
    prefetch(fb.mask, m * fb.mask_stride + 1 + (block >> 6))
    for kind in range(0, 32, 8):
        prefetch(fb.words, 32 * (m * fb.word_stride + (block >> 12)) + kind)
    long_free_runs.look_ahead(fb.long, m, block)


@kernel
def give(fb, m, block, n):
    """`n` blocks from `block` on become free. Returns a status."""
    if block < 0 or block + n > fb.n_blocks[m] or not all_are(fb, m, block, n, 0):
        return OVERLAP
    if is_full(fb.long):
        return FULL
    before, after = _length_before(fb, m, block), run_length(fb, m, block + n)
    flip(fb.mask, first_bit(fb, m) + block, n)
    fb.n_free[m] += n
    fb.n_runs[m] += 1 - min(before, 1) - min(after, 1)
    start, end = block - before, block + n + after
    if before >= LONG:
        if after > 0:
            _remove(fb, m, block + n, after)
        _resize_long(fb, m, ending_at(fb.long, m, block), start, end)
        return OK
    if before > 0:
        _drop(fb, m, start, before)
    if after >= LONG:
        _resize_long(fb, m, beginning_at(fb.long, m, block + n), start, end)
        return OK
    if after > 0:
        _drop(fb, m, block + n, after)
    _put(fb, m, start, end - start)
    return OK


@kernel
def take(fb, m, block, n):
    """`n` blocks from `block` on, all free, are free no more. Returns a status."""
    if block < 0 or block + n > fb.n_blocks[m] or not all_are(fb, m, block, n, ALL):
        return ABSENT
    if is_full(fb.long):
        return FULL
    start = run_start(fb, m, block)
    length = run_length(fb, m, start)
    before, after = block - start, start + length - block - n
    flip(fb.mask, first_bit(fb, m) + block, n)
    fb.n_free[m] -= n
    fb.n_runs[m] += min(before, 1) + min(after, 1) - 1
    if after >= LONG:  # of a long run the longer part keeps its place in the order, if it can
        _resize_long(fb, m, beginning_at(fb.long, m, start), block + n, block + n + after)
        if before > 0:
            _put(fb, m, start, before)
    elif before >= LONG:
        _resize_long(fb, m, beginning_at(fb.long, m, start), start, block)
        if after > 0:
            _put(fb, m, block + n, after)
    else:
        _remove(fb, m, start, length)
        if before > 0:
            _put(fb, m, start, before)
        if after > 0:
            _put(fb, m, block + n, after)
    return OK


# ---- searches ----


@kernel
def longest(fb, m):
    """Blocks of the longest run; 0 if nothing is free."""
    kinds = fb.kinds[m]
    return longest_long(fb.long, m) if kinds & 1 else max(0, 63 - zeros_above(kinds))


@part
def _ends_the_map(fb, m, length):
    """Whether a run of so many blocks ends with the last one; of no length: whether that is not free. Seldom called."""
    return _length_before(fb, m, fb.n_blocks[m]) == length


@kernel
def _has_rest(fb, m, length):
    """Whether what is free behind the last block makes a run of `length` longer, or is one by itself (0)."""
    return fb.rest[m] > 0 and _ends_the_map(fb, m, length)


@kernel
def longest_units(fb, m):
    """Units of the longest segment."""
    length = longest(fb, m)
    return length * fb.grain + (fb.rest[m] if _has_rest(fb, m, length) else 0)


@kernel
def n_segments(fb, m):
    """Free segments."""
    return fb.n_runs[m] + _has_rest(fb, m, 0)


@kernel
def is_free_below(fb, m, pct):
    """Whether less than so many per cent of the units are free."""
    return (fb.n_free[m] * fb.grain + fb.rest[m]) * 100 < (fb.n_blocks[m] * fb.grain + fb.rest[m]) * pct


@kernel
def shortest(fb, m, n):
    """Start of the shortest run of at least `n` blocks, of equal ones the lowest; NOWHERE if there is none."""
    kinds = fb.kinds[m] & above(n - 1) if n < LONG else 0
    if kinds == 0:
        return shortest_long(fb.long, m, n)
    kind = lowest(kinds)
    word = lowest_word(fb, m, kind)
    return word << 6 | lowest(exactly(fb, m, word, kind))


@kernel
def shortest_of_units(fb, m, units):
    """The same for the shortest run that has so many units; the last run has the rest besides."""
    n = blocks_of(fb, units + fb.grain - 1)
    if n > 1 and (n - 1) * fb.grain + fb.rest[m] >= units and _has_rest(fb, m, n - 1):
        return fb.n_blocks[m] - n + 1
    return shortest(fb, m, n)


@kernel
def next_run(fb, m, block, n):
    """Start of the first run of at least `n` blocks that begins at or after `block` (0 or more), or NOWHERE."""
    word = block >> 6
    starts = at_least(fb, m, word, min(n, LONG)) & ALL << (block & 63)
    while True:
        if starts == 0:
            word = next_word(fb, m, word, n)
            if word == NOWHERE:
                return NOWHERE
            starts = at_least(fb, m, word, min(n, LONG))
        start = word << 6 | lowest(starts)
        if n <= LONG or run_length(fb, m, start) >= n:
            return start
        starts &= above(lowest(starts))
