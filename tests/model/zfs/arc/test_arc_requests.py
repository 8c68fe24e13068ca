"""Reads and writes of a trace through the ARC and its cache devices, against their twins, request by request."""
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.events.streams import stream
from model.zfs.arc import l2_columns as l2_cache
from model.zfs.arc import requests as arc_requests
from model.zfs.arc.arc import ArcParams, new_arc
from model.zfs.arc.l2arc import FRONT_BYTES, new_l2arc
from model.zfs.eras import era
from twins.arc import ANON, MFU, TwinOfArc, TwinOfTextbook
from twins.l2arc import TwinOfL2

BLOCK = 1024
TICK_NS = 10**7
N_KEYS = 40


class Twin:
    """A pool of whole blocks in plain Python: `model.zfs.arc.requests` in English, rule by rule."""

    def __init__(self, arc, with_device=False):
        self.arc, self.with_device, self.next_adjust, self.counts = arc, with_device, 0, [0] * arc_requests.N_COUNTS

    def load(self, key, tick):
        block = self.arc.blocks.get(key)
        if block is None:
            block = self.arc.new_block(key, 0, BLOCK, False, False, tick)
            self.arc.access(block, tick)
        else:
            self.arc.revive(block, False, tick)
        self.arc.release(block)

    def write(self, key, tick):
        block = self.arc.blocks.get(key)
        if block is not None and block.state <= MFU:
            self.arc.set_state(block, ANON)
            block.tick = 0
            self.arc.hold(block)
        else:
            if block is not None:
                self.arc.drop(block)
            block = self.arc.new_block(key, 0, BLOCK, False, False, tick)
        self.arc.access(block, tick)
        self.arc.release(block)

    def feed_until(self, now):
        while self.arc.next_at <= now:
            due = self.arc.next_at
            for _ in self.arc.feed(due):
                self.arc.written(due)

    def request(self, key, is_write, now):
        tick = now // TICK_NS
        if tick >= self.next_adjust:
            self.arc.adjust(tick)
            self.next_adjust = (tick // 100 + 1) * 100
        if self.with_device:
            self.feed_until(now)
        if is_write:
            self.counts[arc_requests.WRITES] += 1
            self.write(key, tick)
            return
        self.counts[arc_requests.READS] += 1
        block = self.arc.blocks.get(key)
        if block is not None and block.state <= MFU:
            self.counts[arc_requests.READ_HITS] += 1
            self.arc.hold(block)
            self.arc.access(block, tick)
            self.arc.release(block)
        else:
            self.counts[arc_requests.DEVICE_HITS] += self.with_device and self.arc.holds(key, False) is not None
            self.load(key, tick)


STORY = st.lists(st.tuples(st.integers(1, N_KEYS - 1), st.booleans(), st.sampled_from([0, 10**7, 8 * 10**7, 2 * 10**9])),
                 max_size=80)


def columns(story):
    keys, is_write, gaps = zip(*story, strict=True) if story else ((), (), ())
    return np.array(keys, np.int32), np.array(is_write, np.int32), np.cumsum(np.array(gaps, np.int64))


def random_story(seed, n=3000):
    rng = stream(seed, "story")
    keys = 1 + ((N_KEYS - 1) * rng.random(n) ** 2).astype(np.int64)
    return list(zip(keys.tolist(), (rng.random(n) < 0.3).tolist(), rng.choice([0, 10**6, 10**8], n).tolist(), strict=True))


def of_zfs(story, c):
    params, (keys, is_write, time_ns) = ArcParams(c * BLOCK, c * BLOCK // 4), columns(story)
    arc, counts = new_arc(params, N_KEYS, N_KEYS), np.zeros(arc_requests.N_COUNTS, np.int64)
    next_adjust = np.zeros(1, np.int64)
    half = len(keys) // 2       # pieces give what the whole gives
    for part in (slice(0, half), slice(half, None)):
        arc_requests.run_zfs(arc, params, next_adjust, keys[part], is_write[part], time_ns[part], BLOCK, counts)
    twin = Twin(TwinOfArc(params.c_bytes, params.meta_limit_bytes, params.c_bytes // 2))
    for key, wrote, now in zip(keys.tolist(), is_write.tolist(), time_ns.tolist(), strict=True):
        twin.request(key, wrote, now)
    return counts.tolist(), twin.counts


@settings(deadline=None)
@given(STORY, st.integers(1, 12))
def test_arc_of_zfs_is_its_twin(story, c):
    mine, twins = of_zfs(story, c)
    assert mine == twins


@pytest.mark.parametrize(("seed", "c"), [(1, 3), (2, 10), (3, 20)])
def test_arc_of_zfs_is_its_twin_for_long(seed, c):
    mine, twins = of_zfs(random_story(seed), c)
    assert mine == twins
    assert 0 < mine[arc_requests.READ_HITS] < mine[arc_requests.READS]


@settings(deadline=None)
@given(STORY, st.integers(1, 12))
def test_arc_as_published_is_its_twin(story, c):
    params, (keys, is_write, _) = ArcParams(c, c), columns(story)
    counts = np.zeros(arc_requests.N_COUNTS, np.int64)
    arc_requests.run_textbook(new_arc(params, N_KEYS, N_KEYS, 0), params, keys, is_write, counts)
    twin, expected = TwinOfTextbook(c), [0] * arc_requests.N_COUNTS
    for key, wrote in zip(keys.tolist(), is_write.tolist(), strict=True):
        is_hit = twin.request(key)
        expected[arc_requests.WRITES if wrote else arc_requests.READS] += 1
        expected[arc_requests.READ_HITS] += is_hit and not wrote
    assert counts.tolist() == expected


def of_device(story, c, build, blocks_of_device):
    rules = era(build).l2arc._replace(write_max_bytes=4 * BLOCK, boost_bytes=4 * BLOCK * (era(build).l2arc.boost_bytes > 0),
                                      delay_ns=0)
    params, (keys, is_write, time_ns) = ArcParams(c * BLOCK, c * BLOCK), columns(story)
    arc, counts = new_arc(params, N_KEYS, N_KEYS), np.zeros(arc_requests.N_COUNTS, np.int64)
    l2 = new_l2arc(rules, [2**26], BLOCK)
    end = FRONT_BYTES + blocks_of_device * BLOCK
    l2.devices[:, l2_cache.END] = end
    arc_requests.run_l2(arc, params, np.zeros(1, np.int64), l2, rules, keys, is_write, time_ns, BLOCK, counts)
    twin = Twin(TwinOfL2(params.c_bytes, params.meta_limit_bytes, params.c_bytes // 2, rules, 1, FRONT_BYTES, end,
                         lambda key: True), True)
    for key, wrote, now in zip(keys.tolist(), is_write.tolist(), time_ns.tolist(), strict=True):
        twin.request(key, wrote, now)
    return counts.tolist(), twin.counts


@settings(deadline=None)
@given(STORY, st.integers(2, 12), st.sampled_from(["onnv_79", "b103", "b141"]), st.integers(12, 60))
def test_cache_devices_are_their_twin(story, c, build, blocks_of_device):
    mine, twins = of_device(story, c, build, blocks_of_device)
    assert mine == twins


@pytest.mark.parametrize("build", ["onnv_79", "b103", "b141"])
def test_cache_devices_are_their_twin_for_long(build):
    mine, twins = of_device(random_story(4), 5, build, 30)
    assert mine == twins
    assert mine[arc_requests.DEVICE_HITS] > 0


def test_seven_months_between_requests_take_no_time():
    """A round a second would be 40 million."""
    rules, params = era("b141").l2arc, ArcParams(5 * BLOCK, 5 * BLOCK)
    l2, counts = new_l2arc(rules, [2**26], BLOCK), np.zeros(arc_requests.N_COUNTS, np.int64)
    keys, is_write = np.array([1, 2, 1], np.int32), np.zeros(3, np.int32)
    arc_requests.run_l2(new_arc(params, N_KEYS, N_KEYS), params, np.zeros(1, np.int64), l2, rules, keys, is_write,
                        np.array([0, 10**16, 2 * 10**16]), BLOCK, counts)
    assert counts[arc_requests.READS] == 3
    assert l2.counts[l2_cache.ROUNDS] < 20
