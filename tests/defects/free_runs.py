"""Defects in the maps of free blocks, and whether the twin notices each. Run without the compiler.

    NUMBA_DISABLE_JIT=1 PYTHONPATH=.:tests python -m defects.free_runs
"""

import numpy as np

from model.zfs.space import bitmap_pickers, bitmaps, free_runs, long_free_runs
from model.zfs.space.free_runs import take
from model.zfs.space.pickers import VARIANTS, PickerParams
from model.zfs.space.status import OK
from twins.free_runs import BY_THREES, FAR, both, far_apart, same_space, threes_and_sectors, walk


def keeps_the_bit(fb, m, kind, word):
    pass


def drops_the_bit(fb, m, start, length):
    free_runs.unmark(fb, m, length, start >> 6)


def drops_the_long_bit(fb, m, start):
    free_runs.unmark(fb, m, 0, start >> 6)


def sees_one_word(fb, m, block, real=bitmaps.window):
    return real(fb, m, block) & ~(free_runs.ALL << (64 - (block & 63)) if block & 63 else 0)


def starts_anew_in_each_word(fb, m, word, n, real=bitmaps.at_least):
    at = m * fb.mask_stride + 1 + word
    before, fb.mask[at - 1] = fb.mask[at - 1], 0
    word_of_run = real(fb, m, word, n)
    fb.mask[at - 1] = before
    return word_of_run


def looks_at_one_level(fb, m, word, n, real=bitmaps.next_word):
    reached = real(fb, m, word, n)
    return reached if reached >> 6 == word >> 6 else -1


def looks_at_the_first_top(fb, m, word, n, real=bitmaps.next_word):
    reached = real(fb, m, word, n)
    return reached if reached >> 18 == word >> 18 else -1


def unbounded_cursor(fb, m, cursor):
    block = bitmaps.blocks_of(fb, fb.cursors[cursor] - fb.first_unit[m])
    return block - (block == fb.n_blocks[m] and fb.rest[m] > 0 and bitmap_pickers._is_free(fb, m, block - 1))


DEFECTS = {
    "none": (free_runs, "NOWHERE", -1),
    "a summary keeps its bit": (bitmaps, "unmark", keeps_the_bit),
    "a summary loses the bit of another run": (free_runs, "_drop", drops_the_bit),
    "a summary loses the bit of another long run": (free_runs, "_drop_long", drops_the_long_bit),
    "a run ends with its word": (bitmaps, "window", sees_one_word),
    "a run begins in each word": (bitmaps, "at_least", starts_anew_in_each_word),
    "upper levels are not searched": (bitmaps, "next_word", looks_at_one_level),
    "further words of the uppermost summary are not searched": (bitmaps, "next_word", looks_at_the_first_top),
    "a class is gone with one word of the uppermost summary": (bitmaps, "_is_left", lambda fb, m, kind: False),
    "long runs are never put in order again": (long_free_runs, "_in_place", lambda long, run: True),
    "the loose run is forgotten": (long_free_runs, "_loose", lambda long, m: -1),
    "the loose run is never the shortest": (long_free_runs, "_less", lambda long, a, b: False),
    "starts of long runs are not looked up": (free_runs, "begins", lambda long, m, word: False),
    "nothing is aligned": (bitmap_pickers, "_aligned", lambda start, alignment: start),
    "ambiguity is not noticed": (bitmap_pickers, "_overlaps", lambda fb, m, start, end: False),
    "the cursor looks upward only": (bitmap_pickers, "run_start", lambda fb, m, block: block),
    "the rest behind the last block is forgotten": (free_runs, "_has_rest", lambda fb, m, length: False),
    "the last run has no rest": (free_runs, "shortest_of_units", lambda fb, m, units: free_runs.shortest(
        fb, m, bitmaps.blocks_of(fb, units + fb.grain - 1))),
    "the rest is no part of the free space": (
        free_runs, "is_free_below", lambda fb, m, pct: fb.n_free[m] * 100 < fb.n_blocks[m] * pct),
    "a cursor in the rest finds nothing": (bitmap_pickers, "_at_cursor", lambda fb, m, cursor: bitmaps.blocks_of(
        fb, fb.cursors[cursor] - fb.first_unit[m])),
    "a cursor never set is divided however far before its metaslab": (bitmap_pickers, "_at_cursor", unbounded_cursor),
    "best fit is never wanted": (bitmap_pickers, "wants_best_fit", lambda fb, m, params: False),
}


def agrees(params, seed):
    """A random walk of two kinds of blocks through a map of 9000 blocks, and of 700; whether the twin said the same."""
    rng = np.random.default_rng(seed)
    n_blocks = (700, 9000)[seed % 2]
    fb, twin = both(n_blocks, params, first_unit=(0, n_blocks, FAR)[seed % 3])
    for block in np.flatnonzero(rng.random(n_blocks) < (0.2, 0.5, 0.03)[seed % 3]):
        assert take(fb, 1, int(block), 1) == OK
        twin.free[block] = False
    steps = rng.choice(["pick", "pick", "give", "take"], 120)
    sizes = rng.choice([1, 1, 2, 3, 4, 8, 31, 32, 40], 120)
    chances = rng.integers(0, 2**20, 120)
    walk(fb, twin, [(str(step), int(n), int(c)) for step, n, c in zip(steps, sizes, chances, strict=True)])
    same_space(fb, twin)


def verdict(module, name, replaced):
    kept = getattr(module, name)
    users = [user for user in (bitmaps, free_runs, bitmap_pickers, long_free_runs) if getattr(user, name, None) is kept]
    for user in users:
        setattr(user, name, replaced)
    try:
        for seed in range(6):
            for params in (*VARIANTS.values(), PickerParams(3)):
                agrees(params, seed)
            if seed < 2:
                far_apart(VARIANTS["103_ff"], 5 * 2**23, seed)
                far_apart(VARIANTS["141_df"], 5 * 2**23, seed)
            for params in BY_THREES:
                threes_and_sectors(401 + seed, params, seed, (2**20, FAR)[seed % 2])
    except (AssertionError, IndexError, OverflowError):
        return "noticed"
    finally:
        for user in users:
            setattr(user, name, kept)
    return "passes"


if __name__ == "__main__":
    for name, replaced in DEFECTS.items():
        print(f"{name}: {verdict(*replaced)}")
