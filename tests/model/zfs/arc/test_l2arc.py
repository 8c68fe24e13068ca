"""The L2ARC: against its naive twin, move by move, and against facts that the rules say."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.arc import N_KEYS, PREFETCH, READ, SECOND, WRITE, WRITTEN
from drivers.l2arc import BUILDS, DONE, FEED, BothL2, long_run, rules_of
from model.events.clock import SECOND_NS
from model.events.streams import stream
from model.zfs.arc import arc, l2arc
from model.zfs.arc import columns as header
from model.zfs.arc import l2_columns as l2_cache
from model.zfs.arc import lists as arc_lists
from model.zfs.arc import scalars as scalar
from model.zfs.arc.arc import ArcParams, new_arc
from model.zfs.arc.l2arc import FRONT_BYTES, feed, l2_holds, new_l2arc, next_feed, written
from model.zfs.eras import era
from support.processes import interpreted

pytestmark = pytest.mark.interpreted

KIB, MIB = 2**10, 2**20
moves = st.lists(st.tuples(st.sampled_from([READ] * 8 + [PREFETCH, WRITE, WRITTEN, SECOND, FEED, FEED] + [DONE] * 6),
                           st.integers(0, N_KEYS - 1), st.sampled_from([0, 1, 7, 40, 120])), max_size=120)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(moves, st.sampled_from(BUILDS), st.integers(20, 200), st.integers(1, 2), st.integers(100, 300))
def test_cache_devices_agree_with_their_twin_move_by_move(sequence, build, c, n_devices, device_kib):
    both = BothL2(c, 60, c // 2, rules_of(build), n_devices, device_kib)
    for kind, key, ticks in sequence:
        both.move(kind, key, ticks)
        both.check()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_long_runs_agree_with_the_twin(seed):
    """The hand comes round, blocks that are nowhere else are written over, and some come back."""
    both = long_run(seed, check_every=4)
    counts = dict(zip(l2arc.COUNTS, both.l2.counts.tolist(), strict=True))
    assert counts["overwritten"] > 5
    assert both.n_came_back > 5
    assert both.n_alone > 0


@pytest.mark.slow
def test_defects_are_noticed():
    """Run without the compiler, so that one function can be replaced."""
    assert json.loads(interpreted("defects.l2arc")) == ["none"]


# ---- facts ----

RECORD = 8 * KIB
CACHEABLE = arc_lists.L2_CACHEABLE


class Reader:
    """Reads records of 8 KiB through an ARC of `c_mib`, with one cache device, whose writes take no time."""

    def __init__(self, c_mib, n_keys, build="b141", device_mib=1024, **rules):
        self.params, self.rules = ArcParams(c_mib * MIB, c_mib * MIB // 4), era(build).l2arc._replace(**rules)
        self.arc = new_arc(self.params, n_keys, 2 * n_keys + 100)
        self.l2 = new_l2arc(self.rules, [device_mib * MIB], RECORD)
        self.from_pool = self.from_l2 = 0

    def read(self, key, tick, marks=CACHEABLE):
        node = int(self.arc.node_of[key])
        if arc_lists.in_core(self.arc, node):
            arc.touch(self.arc, self.params, node, tick)
            return
        on_l2 = l2_holds(self.l2, self.rules, self.arc, key, marks & arc_lists.PREFETCHED != 0)[0] >= 0
        self.from_l2, self.from_pool = self.from_l2 + on_l2, self.from_pool + (not on_l2)
        if node:
            arc.revive(self.arc, self.params, node, marks, tick)
        else:
            node = arc.new_block(self.arc, self.params, key, 0, RECORD, marks, tick)
            arc.access(self.arc, self.params, node, tick)
        arc.release(self.arc, node)

    def advance(self, seconds):
        """All rounds that are due until then."""
        while next_feed(self.l2) <= seconds * SECOND_NS:
            now = int(next_feed(self.l2))
            for _ in range(feed(self.l2, self.rules, self.arc, now)):
                written(self.l2, self.rules, now)

    def run(self, keys, per_second=1000):
        for i, key in enumerate(keys):
            self.read(int(key), i * 100 // per_second)
            if i % per_second == 0:
                arc.adjust(self.arc, self.params, i * 100 // per_second)
                self.advance(i / per_second)


def uniform(n_keys, n, seed=1):
    return stream(seed, "l2arc").integers(0, n_keys, n)


@pytest.mark.slow
def test_nothing_is_read_from_a_cache_device_if_all_fits_into_the_arc():
    """The device may hold every block: each is read from the pool once, and from core ever after."""
    x = Reader(c_mib=64, n_keys=4000)
    x.run(uniform(4000, 30_000))
    assert x.l2.counts[l2_cache.FED] > 3000
    assert x.from_l2 == 0
    assert x.from_pool <= 4000


@pytest.mark.slow
def test_reads_beyond_the_arc_come_from_the_device_once_it_is_warm():
    x = Reader(c_mib=64, n_keys=16_000)
    x.run(uniform(16_000, 60_000))
    cold = x.from_pool
    x.run(uniform(16_000, 10_000, 2))
    assert x.from_pool - cold < 0.05 * (10_000 * (1 - 64 / 125))


@pytest.mark.slow
@pytest.mark.parametrize(("build", "mib_a_second"), [("onnv_79", 8), ("b103", 8), ("b141", 40)])
def test_a_device_is_never_fed_faster_than_a_target_a_round(build, mib_a_second):
    """Of a warm ARC full of what was never fed: 8 MiB a second, and since b117 every 200 ms while there is enough."""
    x = Reader(c_mib=256, n_keys=40_000, build=build, delay_ns=0, headroom=100)
    for key in range(40_000):
        x.read(key, 0)
    x.advance(5)
    assert x.l2.counts[l2_cache.FED_BYTES] == pytest.approx(5 * mib_a_second * MIB, rel=0.25)
    assert x.l2.outbox[:x.l2.n_out[0], l2_cache.TO_WRITE].sum() <= 8 * MIB


@pytest.mark.parametrize(("build", "ends"), [("onnv_79", 180), ("b103", 0), ("b117", 0)])
def test_the_first_round_waits_three_minutes_in_the_first_builds(build, ends):
    assert next_feed(Reader(1, 10, build).l2) == ends * SECOND_NS


def test_a_cold_arc_is_fed_twice_as_fast_and_from_the_head():
    x = Reader(c_mib=64, n_keys=4000)
    for key in range(4000):
        x.read(key, 0)
    assert feed(x.l2, x.rules, x.arc, 0) == 2048
    assert arc_lists.in_core(x.arc, int(x.arc.node_of[3999]))
    assert l2_holds(x.l2, x.rules._replace(norw=0), x.arc, 0, 0) == (-1, -1)
    assert x.arc.nodes[x.arc.node_of[3999], header.IN_L2] == 1


def test_writes_stand_back_to_back_behind_the_labels():
    x = Reader(c_mib=64, n_keys=100)
    for key in range(100):
        x.read(key, 0)
    n = feed(x.l2, x.rules, x.arc, 0)
    assert x.l2.outbox[:n].tolist() == [[0, FRONT_BYTES + i * RECORD, RECORD] for i in range(100)]


def test_headroom_counts_what_was_fed_before():
    """The tail does not move and is on the device: the thread passes over two targets of it and finds nothing."""
    x = Reader(c_mib=64, n_keys=8100, boost_bytes=0, again_ns=0)
    for key in range(8000):
        x.read(key, 0)
    x.advance(10)
    assert x.l2.counts[l2_cache.FED] == 2048
    assert x.l2.counts[l2_cache.ROUNDS] == 11


def test_what_was_prefetched_and_never_used_is_not_fed_and_prefetches_read_from_the_pool():
    x = Reader(c_mib=64, n_keys=10)
    x.read(0, 0, CACHEABLE | arc_lists.PREFETCHED)
    x.read(1, 0)
    assert feed(x.l2, x.rules, x.arc, 0) == 1
    written(x.l2, x.rules, 0)
    x.read(0, 1)
    assert feed(x.l2, x.rules, x.arc, SECOND_NS) == 1
    written(x.l2, x.rules, SECOND_NS)
    assert l2_holds(x.l2, x.rules, x.arc, 0, 1) == (-1, -1)
    assert l2_holds(x.l2, x.rules, x.arc, 0, 0) == (0, FRONT_BYTES + RECORD)
    assert l2_holds(x.l2, x.rules._replace(noprefetch=0), x.arc, 0, 1)[0] == 0


@pytest.mark.parametrize(("norw", "device"), [(1, -1), (0, 0)])
def test_a_device_that_is_written_to_is_read_only_in_builds_before_norw(norw, device):
    x = Reader(c_mib=64, n_keys=10, norw=norw)
    x.read(0, 0)
    x.advance(0)
    x.read(1, 0)
    assert feed(x.l2, x.rules, x.arc, SECOND_NS) == 1
    assert l2arc.l2_busy(x.l2, 0)
    assert l2_holds(x.l2, x.rules, x.arc, 0, 0)[0] == device
    assert l2_holds(x.l2, x.rules, x.arc, 1, 0)[0] == -1


def test_a_rewritten_block_is_not_read_from_its_old_copy():
    x = Reader(c_mib=64, n_keys=10)
    x.read(0, 0)
    x.advance(0)
    node = int(x.arc.node_of[0])
    arc_lists.hold(x.arc, node)
    arc.make_anonymous(x.arc, node)
    assert l2_holds(x.l2, x.rules, x.arc, 0, 0)[0] == -1
    assert x.arc.scalars[scalar.L2_HEADERS] == 0


@pytest.mark.slow
def test_headers_of_a_large_device_take_memory_from_the_arc():
    """188 B for each block that only the device has, and what is in core gives way, if not at once: for each new buffer no
    more than its size is evicted."""
    x = Reader(c_mib=8, n_keys=60_000, headroom=100, device_mib=1024)
    x.run(uniform(60_000, 50_000))
    nodes = x.arc.nodes[:x.arc.scalars[scalar.N_NODES]]
    n_alone, n_on = int((nodes[:, header.STATE] == arc_lists.L2_ONLY).sum()), int((nodes[:, header.IN_L2] != 0).sum())
    headers = 168 * n_alone + 20 * n_on
    assert n_alone > 20_000
    assert x.arc.scalars[scalar.L2_HEADERS] == headers
    assert x.arc.n_bytes[:3].sum() < 8 * MIB - headers / 2


@pytest.mark.parametrize(("build", "device_bytes", "message"), [
    ("onnv_70", 2**30, "came with onnv_78; choose era"),
    ("b141", 2**26 - 1, "has 67108863 B, but ZFS takes none below 67108864; choose"),
])
def test_impossible_cache_devices_are_one_sentence(build, device_bytes, message):
    with pytest.raises(ValueError, match=message):
        new_l2arc(era(build).l2arc, [device_bytes], 8192)
