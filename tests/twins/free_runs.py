"""Free space as a plain list of truth values, and the pickers over it, in as few words as possible."""

import numpy as np

from model.zfs.space import free_runs, pickers, space_map
from model.zfs.space.bitmap_pickers import is_fragmented, pick_block
from model.zfs.space.bitmaps import new_free_blocks
from model.zfs.space.free_runs import (
    give,
    longest,
    longest_units,
    n_segments,
    next_run,
    run_length,
    run_start,
    shortest,
    take,
)
from model.zfs.space.pickers import CURSOR_DYNAMIC_FIT, DYNAMIC_FIT, FIRST_FIT, NEW_DYNAMIC_FIT, VARIANTS
from model.zfs.space.status import OK

KIB = 1024


class Twin:
    """One map; blocks are numbered in the vdev when cursors are meant, in the map otherwise."""

    def __init__(self, n_blocks, unit, params, first_unit=0):
        self.free, self.unit, self.params, self.first_unit = [False] * n_blocks, unit, params, first_unit
        self.cursors, self.n_ambiguous = [0] * 64, 0

    def runs(self):
        """(start, end) of each, in order."""
        pairs, start = [], None
        for block, is_free in enumerate([*self.free, False]):
            if is_free and start is None:
                start = block
            if not is_free and start is not None:
                pairs.append((start, block))
                start = None
        return pairs

    def longest(self):
        return max((end - start for start, end in self.runs()), default=0)

    def shortest(self, n):
        return min(((end - start, start) for start, end in self.runs() if end - start >= n), default=(0, -1))[1]

    def change(self, block, n, free):
        """Whether it could be done."""
        area = range(block, block + n)
        if any(not 0 <= b < len(self.free) or self.free[b] == free for b in area):
            return False
        for b in area:
            self.free[b] = free
        return True

    def overlapping(self, place, n):
        return [run for run in self.runs() if run[0] < place + n and run[1] > place]

    def first_fit(self, n, alignment, cursor):
        while True:
            at = self.cursors[cursor]
            place = at - self.first_unit
            overlapping = self.overlapping(place, n)
            for start, end in self.runs():
                offset = -(-start // alignment) * alignment
                if end > place and offset + n <= end:
                    self.n_ambiguous += start < place and len(overlapping) > 1 and (start, end) == overlapping[0]
                    self.cursors[cursor] = self.first_unit + offset + n
                    return offset
            if at == 0:
                return -1
            self.cursors[cursor] = 0

    def wants_best_fit(self):
        return (self.longest() * self.unit < 128 * KIB
                or sum(self.free) * 100 // len(self.free) < self.params.best_fit_below_pct)

    def extent(self, n):
        return min(10240 * KIB // self.unit, self.longest()) if self.longest() * self.unit > 256 * KIB else n

    def go_on_or_open(self, n, cursor, wanted, jump):
        place = self.cursors[cursor] - self.first_unit
        overlapping = self.overlapping(place, n)
        fitting = [start for start, end in overlapping if end - start >= n]
        self.n_ambiguous += len(overlapping) > 1 and len(fitting) > 0
        start, moves = self.shortest(wanted), jump
        if overlapping and overlapping[0][0] in fitting:
            start, moves = overlapping[0][0], n
        if start >= 0:
            self.cursors[cursor] = self.first_unit + start + moves
        return start

    def pick(self, n):
        rule = self.params.picker
        n_bytes = n * self.unit
        alignment = n & -n
        by_alignment = (alignment * self.unit).bit_length() - 1
        if rule == FIRST_FIT:
            return self.first_fit(n, alignment, by_alignment)
        if self.longest() < n:
            return -1
        if rule == CURSOR_DYNAMIC_FIT:
            if self.cursors[0] + n <= self.cursors[1]:
                return self.first_fit(n, 1, 0)
            wanted = self.extent(n)
            offset = self.shortest(wanted)
            fits = offset >= 0
            self.cursors[:2] = [fits * (self.first_unit + offset + n), fits * (self.first_unit + offset + wanted)]
            return offset
        if rule == DYNAMIC_FIT:
            if not self.wants_best_fit():
                return self.first_fit(n, 1, by_alignment)
            offset = self.shortest(n)
            self.cursors[by_alignment] = self.first_unit + offset + n
            return offset
        if rule == NEW_DYNAMIC_FIT:
            wanted = min(self.longest(), 2 ** (n_bytes.bit_length() + 4) // self.unit)
            return self.go_on_or_open(n, n_bytes.bit_length() - 1, wanted, n)
        return self.go_on_or_open(n, 0, self.extent(n), self.extent(n))


# ---- the twin beside the model ----


def both(n_blocks, params, first_unit=0, unit=4096, m=1):
    """Three maps of which the middle one is used, and its twin; all is free."""
    fb = new_free_blocks([64, n_blocks, n_blocks + 70], unit)
    fb.first_unit[:] = first_unit
    twin = Twin(n_blocks, unit, params, first_unit)
    assert give(fb, m, 0, n_blocks) == OK
    assert twin.change(0, n_blocks, True)
    return fb, twin


def same_space(fb, twin, m=1):
    """The map says of every block and every length what the twin says."""
    runs = twin.runs()
    assert (fb.n_free[m], fb.n_runs[m], longest(fb, m)) == (sum(twin.free), len(runs), twin.longest())
    for n in (1, 2, 7, 30, 31, 32, 33, 70, 128):
        assert shortest(fb, m, n) == twin.shortest(n)
        for block in range(0, len(twin.free), 37):
            assert next_run(fb, m, block, n) == next((s for s, e in runs if s >= block and e - s >= n), -1)
    for start, end in runs:
        assert run_length(fb, m, start) == end - start
        assert {run_start(fb, m, block) for block in {start, end - 1, (start + end) // 2}} == {start}
    for neighbour in (m - 1, m + 1):
        assert fb.n_free[neighbour] == fb.kinds[neighbour] == 0


def walk(fb, twin, steps, m=1):
    """Take the same steps in both; each must give the same answers."""
    for step, n, chance in steps:
        if step == "pick":
            offset = pick_block(fb, m, n, twin.params)
            assert (offset, fb.n_ambiguous[m]) == (twin.pick(n), twin.n_ambiguous)
            assert list(fb.cursors[64 * m:64 * m + 64]) == twin.cursors
            if offset >= 0:
                assert take(fb, m, offset, n) == OK
                assert twin.change(offset, n, False)
        else:
            block = chance % len(twin.free)
            call = give if step == "give" else take
            assert (call(fb, m, block, n) == OK) == twin.change(block, n, step == "give")


def far_apart(params, n_blocks, seed, unit=4096, n_steps=80):
    """A random walk in a map of which a little is free, in runs far apart. Each choice is the exact engine's, until one
    depends on a tree's shape."""
    rng, m = np.random.default_rng(seed), 0
    maps, fb = space_map.new_space_maps(1, 4 * n_steps + 60, 1), new_free_blocks(n_blocks, unit)
    maps.size_bytes[0] = n_blocks * unit
    ends = np.unique(np.append(rng.integers(1, n_blocks // 200, 30) * 200, n_blocks)).tolist()
    held = [(end - n, n) for end, n in zip(ends, rng.choice([1, 2, 31, 32, 33, 150], len(ends)).tolist(), strict=True)]
    for step in range(n_steps):
        n = int(rng.choice([1, 1, 2, 12, 40]))
        if held and (step < 25 or rng.random() < 0.5):
            at, n = held.pop(int(rng.integers(len(held))))
            assert give(fb, m, at, n) == space_map.add(maps, 0, at * unit, (at + n) * unit) == OK
        else:
            at = pick_block(fb, m, n, params)
            if fb.n_ambiguous[m]:
                return
            assert pickers.pick(maps, 0, n * unit, params) == (at * unit if at >= 0 else -1)
            if at >= 0:
                held.append((at, n))
                assert take(fb, m, at, n) == space_map.remove(maps, 0, at * unit, (at + n) * unit) == OK
        assert (longest(fb, m) * unit, fb.n_runs[m]) == (space_map.largest(maps, 0), maps.n_segments[0])
        assert pickers.is_fragmented(maps, 0, params) == is_fragmented(fb, m, params)


FAR = 17 * 2**21  # units; where no cursor that was never set can be divided as one that was
BY_THREES = [VARIANTS[name] for name in ("117_df", "141_df", "141_ndf")]


def threes_and_sectors(n_sectors, params, seed, first_unit=2**20, m=0):
    """A random walk in which maps of blocks of three sectors, with a rest behind the last one, say and do what maps of
    sectors do."""
    rng = np.random.default_rng(seed)
    coarse, fine = new_free_blocks(n_sectors // 3, 1536), new_free_blocks(n_sectors, 512)
    coarse.rest[:], coarse.first_unit[:], fine.first_unit[:] = n_sectors % 3, first_unit, first_unit
    assert give(coarse, m, 0, n_sectors // 3) == give(fine, m, 0, n_sectors) == OK
    placed, gives = [], rng.random(300) < rng.choice([0.2, 0.45, 0.5])
    for n, is_given in zip(rng.choice([4, 7, 4, 4, 1, 35], 300).tolist(), gives.tolist(), strict=True):
        if is_given and placed:
            at, n = placed.pop(int(rng.integers(len(placed))))
            assert give(coarse, m, at, n) == give(fine, m, 3 * at, 3 * n) == OK
        else:
            at, same = pick_block(coarse, m, n, params), pick_block(fine, m, 3 * n, params)
            assert same == (3 * at if at >= 0 else -1)
            if at >= 0:
                assert take(coarse, m, at, n) == take(fine, m, same, 3 * n) == OK
                placed.append((at, n))
        assert longest_units(coarse, m) == longest(fine, m)
        assert n_segments(coarse, m) == fine.n_runs[m]
        pct = fine.n_free[m] * 100 // fine.n_blocks[m]
        assert not free_runs.is_free_below(coarse, m, pct)
        assert free_runs.is_free_below(coarse, m, pct + 1)
        assert is_fragmented(coarse, m, params) == is_fragmented(fine, m, params)
        assert (coarse.cursors == fine.cursors).all()
        assert (coarse.n_ambiguous[m], coarse.by_size[m]) == (fine.n_ambiguous[m], fine.by_size[m])
