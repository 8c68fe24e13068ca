"""Free space in blocks of one size: bitmaps with summaries, the fast twin of `model.zfs.space.space_map`.

A *map* is the free space of one metaslab, one bit a block: 1 where it is taken. A *run* is a maximal row of free blocks.
Pickers ask for the first run from a place on that has n blocks. They also ask for the shortest run that has n blocks, the
lowest among equals. The bitmap answers neither in time; trees of runs do, but cost a walk through memory for every change.
So:

* Runs of 1 to 31 blocks are of the *class* of their length. Longer ones are of the class *long*
  (`model.zfs.space.long_free_runs` keeps those in exact order). For each class a second bitmap has one bit for each
  word of 64 blocks: whether a run of that class begins in it. A third has one bit for each word of the second, a fourth
  one for each word of the third. Of the fourth a map of up to 2^24 blocks has one word, a larger one up to eight. A word
  for each map says which classes there are. The lowest run of a class is four counts of trailing zeros away.
* The words of all 32 classes for the same place stand beside each other, so that a change touches few cache lines.
* Nothing is kept of a run but its bits. How far it reaches is counted in the 64 blocks on either side. Whether a word still
  has another run of some class is computed from the word and its successor by shifts.

Per block this is 1 bit of map, half a bit of summaries and 2 bits of tables of long runs. A map of 2^24 blocks takes 7 MB.
Only memory that was ever written counts. A map that was free from the beginning is zeros that nobody wrote. So it takes next
to none until something is put into it (`model.jit.untouched_memory`).

A run that crosses words belongs to the word of its start. Words of ones stand between maps, so that nothing is free
beyond an end. Blocks are numbered from 0 in each map. A word is an int64 (`model.structures.bits`).

A block may be of any number of sectors: double-parity RAID-Z takes space in threes. It has `grain` *units*, each of a power
of two of bytes. A metaslab, of a power of two itself, is then no whole number of blocks. The `rest` behind the last one is
always free, and belongs to the run before it, if there is one. Cursors count in units of the vdev.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from model.jit import kernel
from model.jit.untouched_memory import zeros
from model.structures.bits import ALL, above, below, bit, lowest, shift_right, zeros_above
from model.structures.sentinels import NOWHERE
from model.zfs.space import cursor_columns as which
from model.zfs.space.long_free_runs import LONG, LongRuns, new_long_runs

MAX_BLOCKS = 2**27  # a map: four levels of 6 bits, eight words of the uppermost: RAID-Z of a dozen disks of 1 TB has 2^26
MAX_LONG = 2**27  # long runs kept at a time, at most: a database of 350 GB in records of 4 KiB is in 2^26.3 places
MAX_GRAIN = 127
MAX_UNITS = 2**31  # a map: blocks, as a power of two, times units in each
INVERSE_BITS = 62  # of units times an inverse: `blocks_of` is exact, and within 63 bits, for as many units as MAX_UNITS


class FreeBlocks(NamedTuple):
    """Maps over one store; see the module docstring."""

    unit_shift: int  # a unit has 2^unit_shift bytes
    grain: int  # and a block so many units, an odd number
    inverse: int  # 2^inverse_shift / grain, rounded up: see `blocks_of`
    inverse_shift: int
    mask_stride: int  # words of `mask` from map to map
    word_stride: int  # rows of `words` from map to map
    group_stride: int  # rows of `groups` from map to map
    top_stride: int  # rows of `tops` from map to map
    mask: np.ndarray  # bit: the block is taken, or is none
    words: np.ndarray  # 32 words a row, one for each class; bit: a run begins in that word of the mask
    groups: np.ndarray  # likewise; bit: that word of `words` is not 0
    tops: np.ndarray  # likewise; bit: that word of `groups` is not 0
    kinds: np.ndarray  # [map]; bit: some word of `tops` is not 0
    n_blocks: np.ndarray  # [map], free or not
    n_free: np.ndarray  # [map] of them
    n_runs: np.ndarray  # [map]
    n_ambiguous: np.ndarray  # [map] choices in which the exact rule depends on the shape of a tree
    by_size: np.ndarray  # [map] choices of the shortest run
    first_unit: np.ndarray  # [map]: where it begins in its vdev
    rest: np.ndarray  # [map]: units behind the last block
    cursors: np.ndarray  # [cursor_of], in units of the vdev
    long: LongRuns


def new_free_blocks(n_blocks: int | Sequence[int] | np.ndarray, unit_bytes: int = 4096, max_long: int | None = None,
                    taken: bool = True) -> FreeBlocks:
    """A map for each number in `n_blocks` (or one), of so many blocks of `unit_bytes`, in which nothing is free. Without
    `taken` no bit is set for a block: for who enters all of each map as one run (`free_runs.new_free_space`)."""
    n_blocks = np.atleast_1d(np.asarray(n_blocks, np.int64)).copy()
    _check(n_blocks, unit_bytes)
    n_maps, n_words = len(n_blocks), -(-int(n_blocks.max()) // 64)
    n_rows, grain = n_words // 64 + 1, grain_of(unit_bytes)
    n_groups = n_rows // 64 + 1
    n_tops = n_words // 2**18 + 1
    if max_long is None:
        max_long = min(MAX_LONG, int((n_blocks // (LONG + 1)).sum()) + n_maps + 1)
    words, groups, tops = (zeros(32 * n_maps * n, np.int64) for n in (n_rows, n_groups, n_tops))
    of_map = {name: np.zeros(n_maps, np.int64)
              for name in ("kinds", "n_free", "n_runs", "n_ambiguous", "by_size", "first_unit", "rest")}
    inverse_shift = INVERSE_BITS - max(24, _bits_of(n_blocks))
    return FreeBlocks(
        unit_shift=(unit_bytes // grain).bit_length() - 1, grain=grain, inverse=-(-(1 << inverse_shift) // grain),
        inverse_shift=inverse_shift, mask_stride=n_words + 2, word_stride=n_rows, group_stride=n_groups, top_stride=n_tops,
        mask=_mask(n_blocks, n_words + 2, taken), words=words, groups=groups, tops=tops, n_blocks=n_blocks,
        cursors=np.zeros(which.N_CURSORS * n_maps, np.int64), long=new_long_runs(n_maps, 2 * n_words + 2, max_long),
        **of_map)


def _mask(n_blocks, stride, taken):
    """Bits of maps in which all is taken, or none; with what is around them."""
    if taken:
        return np.full(len(n_blocks) * stride + 1, ALL)
    mask = zeros(len(n_blocks) * stride + 1, np.int64)
    mask[::stride] = mask[stride - 1::stride] = ALL
    for m, n in enumerate(n_blocks.tolist()):
        mask[m * stride + 1 + n // 64:(m + 1) * stride] = ALL
        mask[m * stride + 1 + n // 64] <<= n % 64
    return mask


def _bits_of(n_blocks):
    """Bits of the number of a block of the largest map."""
    return (int(n_blocks.max()) - 1).bit_length()


def _check(n_blocks, unit_bytes):
    if n_blocks.min() < 1 or n_blocks.max() > MAX_BLOCKS:
        bad = n_blocks[(n_blocks < 1) | (n_blocks > MAX_BLOCKS)][0]
        raise ValueError(f"a map has {bad} blocks, but it must be from 1 to {MAX_BLOCKS}; use blocks of another size")
    if unit_bytes < 512 or unit_bytes % 512 or grain_of(unit_bytes) > MAX_GRAIN:
        raise ValueError(f"unit_bytes is {unit_bytes}, but it must be a power of two from 512 on, or an odd number up to "
                         f"{MAX_GRAIN} times that. Use the size of a block")
    if grain_of(unit_bytes) << _bits_of(n_blocks) > MAX_UNITS:
        raise ValueError(f"a map has {n_blocks.max()} blocks of {grain_of(unit_bytes)} units, but it may have {MAX_UNITS} "
                         "units; use larger units")


def grain_of(unit_bytes):
    """The odd part of a number."""
    return unit_bytes // (unit_bytes & -unit_bytes)


@kernel
def blocks_of(fb, units):
    """How many blocks there are in so many units, the rest left out; of a negative number something negative."""
    return np.int64(units) * fb.inverse >> fb.inverse_shift


# ---- the bitmap ----


@kernel
def bits_at(mask, at):
    """The 64 bits of a row of words from bit `at` on."""
    word, shift = at >> 6, at & 63
    return shift_right(mask[word], shift) | (mask[word + 1] << 1) << (63 - shift)


@kernel
def first_bit(fb, m):
    """Number in `mask` of the bit of block 0."""
    return 64 * (m * fb.mask_stride + 1)


@kernel
def cursor_of(m, number):
    """Index in `cursors` of a cursor of map `m`."""
    return m * which.N_CURSORS + number


@kernel
def window(fb, m, block):
    """The 64 blocks from `block` on, a bit for each that is free; `block` may be down to 64 before the first."""
    return ~bits_at(fb.mask, first_bit(fb, m) + block)


@kernel
def all_are(fb, m, block, n, free):
    """Whether all of `n` blocks from `block` on are free (free = -1), or none is (free = 0)."""
    while n > 0:
        seen = window(fb, m, block) ^ free
        if n < 64:
            seen &= below(n)
        if seen != 0:
            return False
        block += 64
        n -= 64
    return True


@kernel
def flip(mask, at, n):
    """Change `n` bits of a row of words from bit `at` on."""
    while n > 0:
        shift = at & 63
        here = min(n, 64 - shift)
        mask[at >> 6] ^= shift_right(ALL, 64 - here) << shift
        at += here
        n -= here


# ---- which runs begin in a word ----


@kernel
def at_least(fb, m, word, n):
    """Bits of the blocks in a word at which a run of `n` or more begins; 1 <= n <= 32."""
    at = m * fb.mask_stride + 1 + word
    low, high = ~fb.mask[at], ~fb.mask[at + 1]
    starts = low & (fb.mask[at] << 1 | shift_right(fb.mask[at - 1], 63))
    done = 1
    while done < n and low & starts:
        step = min(done, n - done)
        low &= shift_right(low, step) | high << (64 - step)
        high &= shift_right(high, step)
        done += step
    return low & starts


@kernel
def exactly(fb, m, word, n):
    """Bits of the blocks in a word at which a run of `n` begins; 1 <= n < 32."""
    marks = at_least(fb, m, word, n)
    if marks == 0:
        return marks
    at = m * fb.mask_stride + 1 + word
    return marks & (shift_right(fb.mask[at], n) | fb.mask[at + 1] << (64 - n))


# ---- summaries; row 0 of each place is the class LONG, the others are classes of exact length ----


@kernel
def mark(fb, m, kind, word):
    """A run of the class `kind` begins in `word`."""
    row = (m * fb.word_stride + (word >> 6)) * 32 + kind
    before = fb.words[row]
    fb.words[row] = before | bit(word & 63)
    if before == 0:
        row = (m * fb.group_stride + (word >> 12)) * 32 + kind
        before = fb.groups[row]
        fb.groups[row] = before | bit(word >> 6 & 63)
        if before == 0:
            fb.tops[(m * fb.top_stride + (word >> 18)) * 32 + kind] |= bit(word >> 12 & 63)
            fb.kinds[m] |= bit(kind)


@kernel
def unmark(fb, m, kind, word):
    """No run of the class `kind` begins in `word` any more."""
    row = (m * fb.word_stride + (word >> 6)) * 32 + kind
    fb.words[row] &= ~bit(word & 63)
    if fb.words[row] == 0:
        row = (m * fb.group_stride + (word >> 12)) * 32 + kind
        fb.groups[row] &= ~bit(word >> 6 & 63)
        if fb.groups[row] == 0:
            row = (m * fb.top_stride + (word >> 18)) * 32 + kind
            fb.tops[row] &= ~bit(word >> 12 & 63)
            if fb.tops[row] == 0 and not _is_left(fb, m, kind):
                fb.kinds[m] &= ~bit(kind)


@kernel
def _is_left(fb, m, kind):
    """Whether a run of that class is anywhere in a map."""
    marks = fb.tops[m * fb.top_stride * 32 + kind]
    for top in range(1, fb.top_stride):
        marks |= fb.tops[(m * fb.top_stride + top) * 32 + kind]
    return marks != 0


@kernel
def lowest_word(fb, m, kind):
    """The first word in which a run of that class begins; there is one."""
    top, marks = 0, fb.tops[m * fb.top_stride * 32 + kind]
    while marks == 0:
        top += 1
        marks = fb.tops[(m * fb.top_stride + top) * 32 + kind]
    group = top << 6 | lowest(marks)
    row = group << 6 | lowest(fb.groups[(m * fb.group_stride + group) * 32 + kind])
    return row << 6 | lowest(fb.words[(m * fb.word_stride + row) * 32 + kind])


@kernel
def last_before(fb, m, kind, word):
    """The last word before `word` in which a run of that class begins; there is one."""
    row = word >> 6
    marks = fb.words[(m * fb.word_stride + row) * 32 + kind] & below(word & 63)
    if marks == 0:
        group = row >> 6
        marks = fb.groups[(m * fb.group_stride + group) * 32 + kind] & below(row & 63)
        if marks == 0:
            top = group >> 6
            marks = fb.tops[(m * fb.top_stride + top) * 32 + kind] & below(group & 63)
            while marks == 0:
                top -= 1
                marks = fb.tops[(m * fb.top_stride + top) * 32 + kind]
            group = top << 6 | 63 - zeros_above(marks)
            marks = fb.groups[(m * fb.group_stride + group) * 32 + kind]
        row = group << 6 | 63 - zeros_above(marks)
        marks = fb.words[(m * fb.word_stride + row) * 32 + kind]
    return row << 6 | 63 - zeros_above(marks)


@kernel
def _any_kind(summary, row, n):
    """Bits of a row that are set for any class of runs that may have `n` blocks."""
    marks = summary[32 * row]
    for kind in range(n, 32):
        marks |= summary[32 * row + kind]
    return marks


@kernel
def next_word(fb, m, word, n):
    """The first word behind `word` in which a run begins that may have `n` blocks, or NOWHERE."""
    row, group = word >> 6, word >> 12
    marks = _any_kind(fb.words, m * fb.word_stride + row, n) & above(word & 63)
    if marks == 0:
        marks = _any_kind(fb.groups, m * fb.group_stride + group, n) & above(row & 63)
        if marks == 0:
            top = group >> 6
            marks = _any_kind(fb.tops, m * fb.top_stride + top, n) & above(group & 63)
            while marks == 0:
                top += 1
                if top == fb.top_stride:
                    return NOWHERE
                marks = _any_kind(fb.tops, m * fb.top_stride + top, n)
            group = top << 6 | lowest(marks)
            marks = _any_kind(fb.groups, m * fb.group_stride + group, n)
        row = group << 6 | lowest(marks)
        marks = _any_kind(fb.words, m * fb.word_stride + row, n)
    return row << 6 | lowest(marks)
