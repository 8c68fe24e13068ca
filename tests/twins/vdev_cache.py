"""The vdev cache a second time, as plainly as it can be said: a dictionary, and a sort whenever something is evicted.

Written from the specification, not from the kernels, and slow. `defect` breaks one rule on purpose: a test that cannot
tell a twin with a defect from the real thing would be worth nothing.
"""

from typing import NamedTuple

import numpy as np

HIT, MISS, JOINED, DONT_CACHE, TOO_LARGE, STRADDLES, MISSED_WRITE, NO_ENTRY, MAY_NOT_FILL = range(9)

DEFECTS = (
    "evicts when lines just fill the cache",
    "evicts the higher of two offsets used in one tick",
    "shuts out reads of exactly the largest size",
    "joins a fill that has missed a write",
    "evicts another line when the oldest is being filled",
    "completion is not a use of the line",
    "a hit is not a use of the line",
    "a write is a use of the line",
    "keeps a line that has missed a write",
    "a write marks only the first line it touches",
    "lets in reads that straddle two lines",
    "counts lines being filled as absent",
)


class TwinOfVdevCache:
    """One leaf. `lines` maps the offset of a line to [tick of last use, being filled, missed a write, by metadata]."""

    def __init__(self, params, defect=None):
        assert defect is None or defect in DEFECTS
        self.line = 2**params.line_shift
        self.cache_bytes, self.max_read, self.rule = params.cache_bytes, params.max_read_bytes, params.fill_rule
        self.defect = defect
        self.lines = {}
        self.hits = self.misses = self.delegations = 0

    def has(self, defect):
        assert defect in DEFECTS
        return self.defect == defect

    def read(self, tick, offset, size, is_metadata, dont_cache):
        """(outcome, line evicted or -1)"""
        start = offset - offset % self.line
        if dont_cache or (self.rule == 2 and not is_metadata):
            return DONT_CACHE, -1
        if size > self.max_read or (size == self.max_read and self.has("shuts out reads of exactly the largest size")):
            return TOO_LARGE, -1
        if offset + size > start + self.line and not self.has("lets in reads that straddle two lines"):
            return STRADDLES, -1
        if start not in self.lines:
            return self.inflate(tick, start, is_metadata)
        _, filling, missed, _ = self.lines[start]
        if missed and not self.has("joins a fill that has missed a write"):
            return MISSED_WRITE, -1
        if filling:
            self.delegations += 1
            return JOINED, -1
        self.hits += 1
        if not self.has("a hit is not a use of the line"):
            self.lines[start][0] = tick
        return HIT, -1

    def inflate(self, tick, start, is_metadata):
        if self.rule == 1 and not is_metadata:
            return MAY_NOT_FILL, -1
        if self.cache_bytes == 0:
            return NO_ENTRY, -1
        victim = -1
        if self.is_full():
            victim = self.oldest()
            if victim == -1:
                return NO_ENTRY, -1
            del self.lines[victim]
        self.lines[start] = [tick, True, False, bool(is_metadata)]
        self.misses += 1
        return MISS, victim

    def is_full(self):
        taken = len(self.lines)
        if self.has("counts lines being filled as absent"):
            taken = sum(not filling for _, filling, _, _ in self.lines.values())
        if self.has("evicts when lines just fill the cache"):
            return taken > 0 and taken * self.line >= self.cache_bytes
        return taken * self.line > self.cache_bytes

    def oldest(self):
        """The line to evict, or -1."""
        sign = -1 if self.has("evicts the higher of two offsets used in one tick") else 1
        by_age = sorted(self.lines, key=lambda start: (self.lines[start][0], sign * start))
        if self.has("evicts another line when the oldest is being filled"):
            by_age = [start for start in by_age if not self.lines[start][1]] or [by_age[0]]
        return -1 if self.lines[by_age[0]][1] else by_age[0]

    def write(self, tick, offset, size):
        for start in sorted(self.lines):
            if start < offset + size and offset < start + self.line:
                self.lines[start][2] |= self.lines[start][1]
                if self.has("a write is a use of the line"):
                    self.lines[start][0] = tick
                if self.has("a write marks only the first line it touches"):
                    return

    def fill_done(self, tick, start):
        """True when the line is thrown away."""
        line = self.lines[start]
        assert line[1], "no fill is under way there"
        line[1] = False
        if not self.has("completion is not a use of the line"):
            line[0] = tick
        if line[2] and not self.has("keeps a line that has missed a write"):
            del self.lines[start]
            return True
        line[2] = False
        return False


class Row(NamedTuple):
    """A row of a trace as data/traces/vdev_cache/README.md describes it, and what the cache holds after it."""

    tick: int
    op: int
    nocache: int
    size512: int
    off512: int
    res: int
    fill512: int
    evict512: int
    n_lines: int
    n_metadata_lines: int


def record(twin, requests, fill_ticks):
    """The trace of `requests` (rows of tick, op 0 or 1, offset, size, is_metadata, dont_cache; B), row by row, as the
    recorder of the real code wrote it: a fill completes before the first request that is late enough."""
    under_way = []

    def row(tick, op, nocache, size, offset, res, fill, evicted):
        places = [value // 512 if value >= 0 else -1 for value in (size, offset, fill, evicted)]
        by_metadata = sum(line[3] for line in twin.lines.values())
        return Row(tick, op, nocache, *places[:2], int(res), *places[2:], len(twin.lines), by_metadata)

    def completions(tick):
        while under_way and under_way[0][0] + fill_ticks <= tick:
            issued, start = under_way.pop(0)
            now = tick if fill_ticks else issued
            thrown_away = twin.fill_done(now, start)
            yield row(now, 2, 0, twin.line, start, thrown_away, -1, start if thrown_away else -1)

    for tick, op, offset, size, is_metadata, dont_cache in requests:
        yield from completions(tick)
        outcome, fill, evicted = 0, -1, -1
        if op == 0:
            outcome, evicted = twin.read(tick, offset, size, is_metadata, dont_cache)
        else:
            twin.write(tick, offset, size)
        if op == 0 and outcome == MISS:
            fill = offset - offset % twin.line
            under_way.append((tick, fill))
        yield row(tick, op, dont_cache, size, offset, outcome, fill, evicted)
        if fill_ticks == 0:
            yield from completions(tick)


def random_requests(rng, n, n_lines=400, per_tick=5, p_write=0.3, p_data=0.5, flagged=True):
    """Requests like those of the recorded traces: sizes around the largest admitted, `per_tick` in a tick on average,
    a few hot lines. `flagged`: reads of data carry DONT_CACHE."""
    ticks = np.cumsum(rng.poisson(1 / per_tick, n)) + 1
    hot = rng.integers(0, n_lines, 1 + n_lines // 10)
    line = np.where(rng.random(n) < 0.5, rng.choice(hot, n), rng.integers(0, n_lines, n))
    offset = line * 65536 + rng.choice([0, 512, 8192, 32768, 49152, 57344, 65024], n)
    size = rng.choice([512, 1024, 8192, 16384, 16896, 65536, 131072], n, p=[0.2, 0.1, 0.4, 0.2, 0.04, 0.03, 0.03])
    is_data = rng.random(n) < p_data
    op = rng.random(n) < p_write
    dont_cache = is_data & ~op & flagged
    return [tuple(int(value) for value in row)
            for row in zip(ticks, op, offset, size, ~is_data, dont_cache, strict=True)]


class TwinOfLru:
    """Plain LRU: a list, the oldest block first."""

    def __init__(self, n_frames):
        self.n_frames, self.blocks = n_frames, []

    def access(self, block):
        hit = block in self.blocks
        if hit:
            self.blocks.remove(block)
        elif len(self.blocks) == self.n_frames:
            self.blocks.pop(0)
        self.blocks.append(block)
        return hit
