"""The allocator's maps: random rewrites of 4 KiB records in one metaslab, ns per allocation and free.

A metaslab is filled and aged by two turnovers of random rewrites, then rewritten further: each record gets a new place at
once, and the old places of a thousand are freed together, as in the recorded traces `rand4k`. Three engines do it from the
same state with the same records, and must put every record in the same place: bitmaps with summaries (*fast*), AVL trees in
arrays (*exact*), and two `SortedList`s of sortedcontainers, by offset and by length, in plain Python.

The real code, compiled with gcc -O2 without assertions, took what stands in C_NS on a shared two-core x86-64 machine, the
minimum of six runs, in a metaslab of 1 GiB (`data/traces/alloc/README.md`): another machine and another day, so an order
of magnitude and not a peer.
"""

import math
import time

import numpy as np
import pytest
from sortedcontainers import SortedList

from model.events.streams import stream
from model.jit import kernel
from model.jit.cpu_prefetch import prefetch
from model.zfs.eras import ERAS
from model.zfs.metaslab.state import TopVdev
from model.zfs.space import free_runs, pickers, space_map
from model.zfs.space.bitmap_pickers import pick_block
from model.zfs.space.bitmaps import new_free_blocks
from model.zfs.space.pickers import DYNAMIC_FIT, FIRST_FIT, VARIANTS
from study.pools.aged_pools import Recipe, make

UNIT, BATCH = 4096, 1000
AHEAD = 8  # records: what will be freed is named to the processor beforehand, as `model.zfs.space.bitmap_maps` does
RULES = {"first fit": "103_ff", "30 % rule": "117_df", "4 % rule": "141_df", "new dynamic fit": "141_ndf"}
USED_PCT = (50, 72, 90, 97)
C_NS = {"103_ff": (730, 750, 550, 470), "117_df": (1600, 510, 525, 550), "141_df": (1390, 1190, 890, 500),
        "141_ndf": (1990, 1870, 1120, 760)}


@kernel
def fill(fb, params, place):
    for record in range(len(place)):
        place[record] = pick_block(fb, 0, 1, params)
        free_runs.take(fb, 0, place[record], 1)


@kernel
def rewrite(fb, params, place, records, old):
    """Returns how often something could not be done."""
    wrong = 0
    for i in range(len(records)):
        prefetch(place, records[min(i + AHEAD, len(records) - 1)])
        block = pick_block(fb, 0, 1, params)
        wrong += free_runs.take(fb, 0, block, 1)
        old[i % BATCH] = place[records[i]]
        place[records[i]] = block
        if i % BATCH == BATCH - 1:
            for k in range(BATCH):
                free_runs.look_ahead(fb, 0, old[min(k + AHEAD, BATCH - 1)])
                wrong += free_runs.give(fb, 0, old[k], 1)
    return wrong


@kernel
def rewrite_exactly(maps, params, place, records, old):
    wrong = 0
    for i in range(len(records)):
        offset = pickers.pick(maps, 0, UNIT, params)
        wrong += space_map.remove(maps, 0, offset, offset + UNIT)
        old[i % BATCH] = place[records[i]]
        place[records[i]] = offset // UNIT
        if i % BATCH == BATCH - 1:
            for k in range(BATCH):
                wrong += space_map.add(maps, 0, old[k] * UNIT, (old[k] + 1) * UNIT)
    return wrong


# ---- sortedcontainers ----


class Lists:
    """Runs of free blocks by start and by length; ends by start."""

    def __init__(self, fb, params):
        self.n_blocks, self.params, self.n_free = int(fb.n_blocks[0]), params, int(fb.n_free[0])
        self.end = dict(runs_of(fb))
        self.by_start, self.by_length = SortedList(self.end), SortedList((end - at, at) for at, end in self.end.items())
        self.cursor = int(fb.cursors[12])

    def first_from(self, place):
        at = self.by_start.bisect_right(place)
        if at > 0 and self.end[self.by_start[at - 1]] > place:
            return self.by_start[at - 1]
        return self.by_start[at] if at < len(self.by_start) else None

    def pick(self):
        """For one block each rule finds something as long as anything is free."""
        longest = self.by_length[-1][0]
        if self.params.picker == FIRST_FIT or (
                self.params.picker == DYNAMIC_FIT and longest * UNIT >= self.params.best_fit_hole_bytes
                and self.n_free * 100 // self.n_blocks >= self.params.best_fit_below_pct):
            start = self.first_from(self.cursor)
            start = self.by_start[0] if start is None else start
        elif self.params.picker == DYNAMIC_FIT:
            start = self.by_length[0][1]
        else:
            start = self.first_from(self.cursor)
            if start is None or start > self.cursor:
                start = self.by_length[self.by_length.bisect_left((min(longest, 32), 0))][1]
        self.cursor = start + 1
        return start

    def drop(self, start):
        end = self.end.pop(start)
        self.by_start.remove(start)
        self.by_length.remove((end - start, start))
        return end

    def put(self, start, end):
        self.end[start] = end
        self.by_start.add(start)
        self.by_length.add((end - start, start))

    def take_first(self, start):
        end = self.drop(start)
        self.n_free -= 1
        if end > start + 1:
            self.put(start + 1, end)

    def give(self, block):
        start, end = block, block + 1
        if end in self.end:
            end = self.drop(end)
        at = self.by_start.bisect_left(block)
        if at > 0 and self.end[self.by_start[at - 1]] == block:
            start = self.by_start[at - 1]
            self.drop(start)
        self.n_free += 1
        self.put(start, end)


def rewrite_lists(lists, place, records):
    old = []
    for record in records:
        block = lists.pick()
        lists.take_first(block)
        old.append(place[record])
        place[record] = block
        if len(old) == BATCH:
            for old_block in old:
                lists.give(old_block)
            old = []


# ---- the same state in all three ----


def runs_of(fb):
    """(start, end) of each run, from the bits."""
    n_words = -(-int(fb.n_blocks[0]) // 64)
    bits = np.unpackbits(~fb.mask[1:1 + n_words].view(np.uint8), bitorder="little")
    edges = np.flatnonzero(np.diff(np.concatenate(([0], bits, [0]))))
    return edges.reshape(-1, 2).tolist()


def aged(n_blocks, used_pct, variant, turnovers=2.0):
    """(map, place of each record) of a metaslab that was filled and rewritten at random."""
    fb, params = new_free_blocks(n_blocks, UNIT), VARIANTS[variant]
    free_runs.give(fb, 0, 0, n_blocks)
    place, old = np.zeros(n_blocks * used_pct // 100, np.int32), np.zeros(BATCH, np.int64)
    fill(fb, params, place)
    assert rewrite(fb, params, place, records_for(place, "age", int(turnovers * len(place)) // BATCH * BATCH), old) == 0
    return fb, place


def records_for(place, name, n):
    return (stream(1, name).random(n) * len(place)).astype(np.int64)


def exact_of(fb, params):
    """The same map as trees."""
    maps = space_map.new_space_maps(1, int(fb.n_runs[0]) + 200_000, 1)
    maps.size_bytes[0], maps.has_sizes[0] = fb.n_blocks[0] * UNIT, params.picker != FIRST_FIT
    for start, end in runs_of(fb):
        space_map.add(maps, 0, start * UNIT, end * UNIT)
    maps.cursors[0] = fb.cursors[:64] * UNIT
    return maps


def best_ns(call, place, n, rounds):
    """The processor's time of the shortest of some rounds, of `n` other records each, per record."""
    seconds = []
    for i in range(rounds):
        records = records_for(place, f"round {i}", n)
        begin = time.process_time()
        call(records)
        seconds.append(time.process_time() - begin)
    return min(seconds) / n * 1e9


@pytest.mark.parametrize("used_pct", USED_PCT)
@pytest.mark.parametrize("gib", [1, 8])
@pytest.mark.parametrize("rule", RULES)
def bench_alloc(rule, gib, used_pct, report):
    variant = RULES[rule]
    params = VARIANTS[variant]
    fb, place = aged(gib * 2**30 // UNIT, used_pct, variant)
    lists, by_lists = Lists(fb, params), place.tolist()
    maps, exactly, old = exact_of(fb, params), place.copy(), np.zeros(BATCH, np.int64)
    rewrite_exactly(maps, params, exactly, np.zeros(0, np.int64), old)  # compiles
    n = 5 * BATCH
    slow = best_ns(lambda records: rewrite_lists(lists, by_lists, records), place, n, 2)
    exact = best_ns(lambda records: rewrite_exactly(maps, params, exactly, records, old), place, n, 2)
    for i in range(2):
        rewrite(fb, params, place, records_for(place, f"round {i}", n), old)
    assert by_lists == place.tolist() == exactly.tolist()
    fast = best_ns(lambda records: rewrite(fb, params, place, records, old), place, 200_000, 7)
    table = f"rewrites of 4 KiB in a metaslab of {gib} GiB: {rule}, {used_pct} % used"
    quoted = f"recorded of the C code: {C_NS[variant][USED_PCT.index(used_pct)]}" if gib == 1 else ""
    for name, ns, note in (("fast: bitmaps with summaries", fast, quoted), ("exact: AVL trees in arrays", exact, ""),
                           ("two SortedLists", slow, "")):
        report(table, "ns per operation", name, ns, base=name.startswith("fast"), note=note)


@pytest.mark.parametrize("era", ["b103", "b117", "b141_df", "b141"])
def bench_pool(era, report):
    """A whole pool: metaslabs, transaction groups and logs too. `study age` does it with 91 million records."""
    made = make(Recipe(rules=ERAS[era].metaslab, vdevs=(TopVdev(asize=20 * 10**9),) * 4, n_records=2_000_000, used_pct=85))
    n = 2_000_000 * 4 + (made.pool.class_allocated[0] - 2_000_000 * UNIT) // 2**17
    report("random rewrites in a pool of 4 disks of 20 GB, 85 % used", "ns per operation", era, made.seconds / n * 1e9,
           note=f"at last {made.contiguity[-10:].mean():.1f} records in a row; {made.pool.counters.n_loads[0]} maps loaded")


@pytest.mark.parametrize("used_pct", USED_PCT)
@pytest.mark.parametrize("rule", RULES)
def bench_growth(rule, used_pct, report):
    """From 2^18 to 2^24 blocks; the exponent is the slope of the logarithms."""
    params, shifts, ns = VARIANTS[RULES[rule]], (18, 20, 22, 24), []
    for shift in shifts:
        fb, place = aged(2**shift, used_pct, RULES[rule], turnovers=1.0 if shift < 24 else 0.5)
        old = np.zeros(BATCH, np.int64)
        ns.append(best_ns(lambda records: rewrite(fb, params, place, records, old), place, 200_000, 5))  # noqa: B023
    exponent = np.polyfit(np.array(shifts) * math.log(2), np.log(ns), 1)[0]
    report("rewrites of 4 KiB in a metaslab of 2^24 blocks", "ns per operation", f"{rule}, {used_pct} % used", ns[-1],
           note=f"2^18: {ns[0]:.0f}, 2^20: {ns[1]:.0f}, 2^22: {ns[2]:.0f}; grows as blocks^{exponent:.2f}")
