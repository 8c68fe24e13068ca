"""The ARC: against its naive twins, move by move, and against facts that the rules say."""

import pytest
from arc_twin import TwinOfArc, TwinOfTextbook
from hypothesis import given, settings
from hypothesis import strategies as st

from model import arc
from model.arc import ArcParams, arc_params, greatest_c, new_arc
from model.arc_textbook import request_textbook
from model.streams import stream

N_LEAVES, FAN_OUT = 60, 8
N_KEYS = N_LEAVES + -(-N_LEAVES // FAN_OUT)
READ, PREFETCH, WRITE, WRITTEN, HOLD, RELEASE, DROP, SECOND = range(8)


def key_above(key):
    return N_LEAVES + key // FAN_OUT if key < N_LEAVES else None


def kind_of(key):
    """(is metadata, B, is indirect): records of two sizes, and indirect blocks; some records are metadata."""
    if key >= N_LEAVES:
        return 1, 16, 1
    return int(key % 7 == 3), 4 if key % 3 else 12, 0


class Both:
    """The kernels and the twin, driven by the same user; after each move all that is known of both must agree."""

    def __init__(self, c, meta_limit, p):
        self.params = ArcParams(c, meta_limit)
        self.arc, self.twin = new_arc(self.params, N_KEYS, 500, p), TwinOfArc(c, meta_limit, p)
        self.tick, self.mine = 200, {}

    def node(self, key):
        return int(self.arc.node_of[key])

    def read(self, key, is_prefetch):
        """As a reader does: what is above first, held; a block on its way is accessed when it has come."""
        arc_, params, twin, tick = self.arc, self.params, self.twin, self.tick
        above = key_above(key)
        if above is not None:
            self.read(above, False)
        node, block = self.node(key), twin.blocks.get(key)
        meta, n_bytes, is_indirect = kind_of(key)
        if block is not None and block.state <= MFU:
            if block.holds == 0:
                arc.touch(arc_, params, node, tick)
                twin.hold(block)
                twin.access(block, tick)
                twin.release(block)
            elif block.state != ANON:
                arc.access(arc_, params, node, tick)
                twin.access(block, tick)
            return
        if block is None:
            marks = arc.INDIRECT * is_indirect | arc.PREFETCHED * is_prefetch
            node = arc.new_block(arc_, params, key, meta, n_bytes, marks, tick)
            block = twin.new_block(key, meta, n_bytes, is_indirect, is_prefetch, tick)
        else:
            arc.revive(arc_, params, node, arc.INDIRECT * is_indirect | arc.PREFETCHED * is_prefetch, tick)
            twin.revive(block, is_prefetch, tick)
        if above is not None and twin.blocks[above].state <= MFU:
            arc.hold_above(arc_, node, self.node(above))
            twin.hold_above(block, twin.blocks[above])
        arc.access(arc_, params, node, tick)
        twin.access(block, tick)
        arc.release(arc_, node)
        twin.release(block)

    def write(self, key):
        """Dirtied: held and anonymous. A second time: a second buffer."""
        self.read(key, False)
        node, block = self.node(key), self.twin.blocks[key]
        if block.state == ANON:
            arc.make_room(self.arc, self.params, 0, 0, block.n_bytes, self.tick)
            self.twin.make_room(ANON, 0, block.n_bytes, self.tick)
            arc.grow(self.arc, self.params, block.n_bytes, 0)
            block.n_buffers += 1
            self.twin.raise_p(block.n_bytes)
        else:
            arc.make_anonymous(self.arc, node)
            self.twin.set_state(block, ANON)
            block.tick = 0
        self.hold(key)

    def written(self, key):
        block = self.twin.blocks[key]
        if block.n_buffers > 1:
            arc.shrink(self.arc, block.n_bytes)
            block.n_buffers -= 1
        elif block.state == ANON:
            arc.access(self.arc, self.params, self.node(key), self.tick)
            self.twin.access(block, self.tick)
        self.release(key)

    def hold(self, key):
        arc.hold(self.arc, self.node(key))
        self.twin.hold(self.twin.blocks[key])
        self.mine[key] = self.mine.get(key, 0) + 1

    def release(self, key):
        arc.release(self.arc, self.node(key))
        self.twin.release(self.twin.blocks[key])
        self.mine[key] -= 1

    def move(self, kind, key, ticks):
        self.tick += ticks
        block = self.twin.blocks.get(key)
        if kind in (READ, PREFETCH):
            self.read(key, kind == PREFETCH)
        elif kind == WRITE and key < N_LEAVES and not kind_of(key)[0]:
            self.write(key)
        elif kind == WRITTEN and block is not None and block.state == ANON:
            self.written(key)
        elif kind == HOLD and block is not None and block.state in (MRU, MFU):
            self.hold(key)
        elif kind == RELEASE and self.mine.get(key, 0) > 0 and block.state != ANON:
            self.release(key)
        elif kind == DROP and block is not None and block.holds == 0:
            arc.drop(self.arc, self.node(key))
            self.twin.drop(block)
        elif kind == SECOND:
            arc.adjust(self.arc, self.params, self.tick)
            self.twin.adjust(self.tick)

    def check(self):
        a, twin = self.arc, self.twin
        assert int(a.scalars[arc.P]) == twin.p
        assert a.n_bytes.tolist() == [twin.n_bytes(state) for state in range(5)]
        assert int(a.scalars[arc.META]) == twin.metadata()
        assert {key for key in range(N_KEYS) if self.node(key)} == set(twin.blocks)
        for (state, meta), blocks in twin.lists.items():
            assert keys_on(a, 2 * state + meta) == [block.key for block in blocks]
            assert a.evictable[2 * state + meta] == sum(block.n_bytes for block in blocks)


ANON, MRU, MFU = arc.ANONYMOUS, arc.MRU, arc.MFU


def keys_on(a, end):
    """From the tail to the head."""
    keys, node = [], int(a.nodes[end, arc.NEWER])
    while node != end:
        keys.append(int(a.nodes[node, arc.KEY]))
        node = int(a.nodes[node, arc.NEWER])
    return keys


moves = st.lists(st.tuples(st.sampled_from([READ] * 8 + [PREFETCH, PREFETCH, WRITE, WRITE, WRITTEN, WRITTEN, HOLD, RELEASE,
                                                         RELEASE, DROP, SECOND, SECOND]),
                           st.integers(0, N_KEYS - 1), st.sampled_from([0, 0, 1, 6, 7, 40, 120])), max_size=250)


@settings(max_examples=150, deadline=None)
@given(moves, st.integers(20, 300), st.integers(0, 100), st.floats(0, 1))
def test_the_arc_of_zfs_agrees_with_its_twin_move_by_move(sequence, c, meta_limit, p):
    both = Both(c, meta_limit, int(p * c))
    for kind, key, ticks in sequence:
        both.move(kind, key, ticks)
        both.check()


@pytest.mark.parametrize("seed", range(4))
def test_long_random_sequences_agree_with_the_twin(seed):
    """Reads of few keys, so that ghosts are found, with the thread of every second."""
    rng = stream(seed, "arc")
    both = Both((148, 203, 252, 307)[seed], 40 + 48 * seed, 75)
    kinds = [READ] * 12 + [PREFETCH, WRITE, WRITTEN, WRITTEN, SECOND]
    states = set()
    for kind, u, v in zip(rng.integers(len(kinds), size=4000), rng.random(4000), rng.integers(12, size=4000), strict=True):
        key = int(N_KEYS * u * u) if v < 8 else int(N_KEYS * u)
        both.move(kinds[kind], key, int(v))
        states |= {state for state in range(5) if both.arc.n_bytes[state]}
        both.check()
    assert states == set(range(5))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 30), max_size=600), st.integers(1, 12))
def test_the_published_arc_agrees_with_its_twin_request_by_request(keys, c):
    a, twin, params = new_arc(ArcParams(c, c), 31, 40, 0), TwinOfTextbook(c), ArcParams(c, c)
    for key in keys:
        assert request_textbook(a, params, key) == twin.request(key)
        assert int(a.scalars[arc.P]) == twin.p
        lists = [keys_on(a, 2 * state) for state in (arc.MRU, arc.MFU, arc.MRU_GHOST, arc.MFU_GHOST)]
        assert lists == [twin.t1, twin.t2, twin.b1, twin.b2]


# ---- facts ----


def small(c=100, n_keys=200):
    params = ArcParams(c, c)
    return new_arc(params, n_keys, 2 * n_keys), params


def demand(a, params, key, tick):
    node = int(a.node_of[key])
    if node and a.nodes[node, arc.STATE] <= MFU:
        arc.touch(a, params, node, tick)
        return
    if node:
        arc.revive(a, params, node, 0, tick)
    else:
        node = arc.new_block(a, params, key, 0, 10, 0, tick)
        arc.access(a, params, node, tick)
    arc.release(a, node)


@pytest.mark.parametrize(("ticks", "state"), [(0, MRU), (6, MRU), (7, MFU)])
def test_a_second_use_promotes_only_after_more_than_six_ticks(ticks, state):
    a, params = small()
    demand(a, params, 0, 50)
    demand(a, params, 0, 50 + ticks)
    assert a.nodes[a.node_of[0], arc.STATE] == state


def test_a_prefetched_block_is_promoted_by_its_first_demand():
    a, params = small()
    node = arc.new_block(a, params, 0, 0, 10, arc.PREFETCHED, 50)
    arc.access(a, params, node, 50)
    arc.release(a, node)
    demand(a, params, 0, 60)
    assert a.nodes[node, arc.STATE] == MFU


def test_a_scan_leaves_alone_what_is_used_again():
    """Ten hot blocks' worth in MFU, then a scan ten times as long as the cache: half of c stays with them."""
    a, params = small()
    for tick in (0, 100):
        for key in range(5):
            demand(a, params, key, tick)
    for key in range(10, 110):
        demand(a, params, key, 200 + key)
    assert sorted(keys_on(a, 2 * MFU)) == list(range(5))


def test_size_stays_within_one_buffer_of_c_and_ghosts_within_c_more():
    a, params = small()
    keys = stream(0, "arc").integers(0, 200, size=3000)
    for i, key in enumerate(keys):
        demand(a, params, int(key), 10 * i)
        arc.adjust(a, params, 10 * i)
        assert arc.total_bytes(a) <= params.c_bytes + 10
        assert a.n_bytes.sum() <= 2 * params.c_bytes


def test_a_held_block_is_never_evicted():
    a, params = small(c=20)
    demand(a, params, 0, 0)
    arc.hold(a, int(a.node_of[0]))
    for key in range(1, 50):
        demand(a, params, key, 10 * key)
    assert a.nodes[a.node_of[0], arc.STATE] == MRU


GIB = 2**30


@pytest.mark.parametrize(("memory", "c"), [(16 * GIB, 15 * GIB), (4 * GIB, 3 * GIB), (2 * GIB, 3 * GIB // 2),
                                           (GIB // 2, 3 * GIB // 8), (GIB, 3 * GIB // 4)])
def test_the_greatest_size_of_some_machines(memory, c):
    """Spec 7.1: all but 1 GiB, or three quarters if that is more."""
    assert greatest_c(memory) == c
    assert arc_params(memory).meta_limit_bytes == c // 4
