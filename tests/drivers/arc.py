"""The ARC's kernels and their twin, driven by the same user."""

from model.events.streams import stream
from model.zfs.arc import arc, textbook
from model.zfs.arc import columns as header
from model.zfs.arc import lists as arc_lists
from model.zfs.arc import scalars as scalar
from model.zfs.arc.arc import ArcParams, new_arc
from twins.arc import TwinOfArc, TwinOfTextbook

N_LEAVES, FAN_OUT = 60, 8
N_KEYS = N_LEAVES + -(-N_LEAVES // FAN_OUT)
READ, PREFETCH, WRITE, WRITTEN, HOLD, RELEASE, DROP, SECOND, BEGIN, BEGIN_AHEAD, COME, EVICT = range(12)


def key_above(key):
    return N_LEAVES + key // FAN_OUT if key < N_LEAVES else None


def kind_of(key):
    """(is metadata, B, is indirect): records of two sizes, and indirect blocks; some records are metadata."""
    if key >= N_LEAVES:
        return 1, 16, 1
    return int(key % 7 == 3), 4 if key % 3 else 12, 0


class Both:
    """The kernels and the twin, driven by the same user; after each move all that is known of both must agree."""

    unit = 1  # sizes are multiples of it

    def __init__(self, c, meta_limit, p):
        self.params = ArcParams(c * self.unit, meta_limit * self.unit)
        self.arc, self.twin = new_arc(self.params, N_KEYS, 500, p * self.unit), self.new_twin(p * self.unit)
        self.tick, self.mine, self.coming = 200, {}, set()

    def new_twin(self, p):
        return TwinOfArc(self.params.c_bytes, self.params.meta_limit_bytes, p)

    def node(self, key):
        return int(self.arc.node_of[key])

    def read(self, key, is_prefetch):
        """As a reader does, whose disk takes no time. Who finds a block that is on its way waits."""
        if self.begin(key, is_prefetch):
            self.come(key)

    def begin(self, key, is_prefetch):
        """What is above first. True if the block is not in core: it is on its way from now on, held by who reads it. Who
        prefetches what is in core takes no hold of it."""
        arc_, params, twin, tick = self.arc, self.params, self.twin, self.tick
        above = key_above(key)
        if above is not None:
            self.read(above, False)
        node, block = self.node(key), twin.blocks.get(key)
        meta, n_bytes, is_indirect = kind_of(key)
        n_bytes *= self.unit
        if block is not None and block.state <= MFU:
            if block.holds == 0 and not is_prefetch:
                arc.touch(arc_, params, node, tick)
                twin.hold(block)
                twin.access(block, tick)
                twin.release(block)
            elif block.state != ANON:
                arc.access(arc_, params, node, tick)
                twin.access(block, tick)
            return False
        if block is None:
            marks = arc_lists.INDIRECT * is_indirect | arc_lists.PREFETCHED * is_prefetch
            node = arc.new_block(arc_, params, key, meta, n_bytes, marks, tick)
            block = twin.new_block(key, meta, n_bytes, is_indirect, is_prefetch, tick)
        else:
            arc.revive(arc_, params, node, arc_lists.INDIRECT * is_indirect | arc_lists.PREFETCHED * is_prefetch, tick)
            twin.revive(block, is_prefetch, tick)
        if above is not None and twin.blocks[above].state <= MFU:
            arc_lists.hold_above(arc_, node, self.node(above))
            twin.hold_above(block, twin.blocks[above])
        return True

    def come(self, key):
        arc.access(self.arc, self.params, self.node(key), self.tick)
        self.twin.access(self.twin.blocks[key], self.tick)
        arc_lists.release(self.arc, self.node(key))
        self.twin.release(self.twin.blocks[key])

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
        arc_lists.hold(self.arc, self.node(key))
        self.twin.hold(self.twin.blocks[key])
        self.mine[key] = self.mine.get(key, 0) + 1

    def release(self, key):
        arc_lists.release(self.arc, self.node(key))
        self.twin.release(self.twin.blocks[key])
        self.mine[key] -= 1

    def drop(self, key):
        self.coming.discard(key)
        arc_lists.drop(self.arc, self.node(key))
        self.twin.drop(self.twin.blocks[key])

    def evict(self, key):
        block = self.twin.blocks[key]
        arc.evict_now(self.arc, self.node(key))
        self.twin.set_state(block, block.state + 2)
        self.twin.release_above(block)

    def move(self, kind, key, ticks):
        self.tick += ticks
        block, is_coming = self.twin.blocks.get(key), key in self.coming
        is_used = block is not None and block.state in (MRU, MFU)
        if kind in (READ, PREFETCH):
            self.read(key, kind == PREFETCH)
        elif kind in (BEGIN, BEGIN_AHEAD):
            if self.begin(key, kind == BEGIN_AHEAD):
                self.coming.add(key)
        elif kind == COME and is_coming:
            self.coming.remove(key)
            self.come(key)
        elif kind == WRITE and key < N_LEAVES and not kind_of(key)[0] and not is_coming:
            self.write(key)
        elif kind == WRITTEN and block is not None and block.state == ANON and not is_coming:
            self.written(key)
        elif kind == HOLD and (is_used or is_coming):
            self.hold(key)
        elif kind == RELEASE and self.mine.get(key, 0) > 0 and block.state != ANON:
            self.release(key)
        elif kind == EVICT and is_used and block.holds == 0:
            self.evict(key)
        elif kind == DROP and block is not None and block.holds == is_coming:
            self.drop(key)
        elif kind == SECOND:
            arc.adjust(self.arc, self.params, self.tick)
            self.twin.adjust(self.tick)

    def check(self):
        a, twin = self.arc, self.twin
        assert int(a.scalars[scalar.P]) == twin.p
        assert a.n_bytes.tolist() == [twin.n_bytes(state) for state in range(5)]
        assert int(a.scalars[scalar.META]) == twin.metadata()
        assert bool(a.scalars[scalar.HAS_EVICTED]) == twin.has_evicted
        assert {key for key in range(N_KEYS) if self.node(key)} == set(twin.blocks)
        for (state, meta), blocks in twin.lists.items():
            assert keys_on(a, 2 * state + meta) == [block.key for block in blocks]
            assert a.evictable[2 * state + meta] == sum(block.n_bytes for block in blocks)
        for key, block in twin.blocks.items():
            node = a.nodes[self.node(key)]
            assert node[header.HOLDS] == block.holds
            assert node[header.TICK] == block.tick
            assert bool(node[header.MARKS] & arc_lists.PREFETCHED) == block.is_prefetched


ANON, MRU, MFU = arc_lists.ANONYMOUS, arc_lists.MRU, arc_lists.MFU


def keys_on(a, end):
    """From the tail to the head."""
    keys, node = [], int(a.nodes[end, header.NEWER])
    while node != end:
        keys.append(int(a.nodes[node, header.KEY]))
        node = int(a.nodes[node, header.NEWER])
    return keys


# ---- long sequences ----

# c, limit of metadata, p at first: p meets its bounds exactly in the first and third, metadata its limit in the fifth, and p
# would exceed c in the last.
SIZES = ((148, 40, 76), (203, 88, 75), (252, 136, 76), (307, 184, 75), (480, 172, 478), (86, 60, 83))
# What is dirty, held or on its way is so for a short time: it cannot be evicted.
KINDS = [READ] * 16 + [PREFETCH, WRITE, HOLD, BEGIN, BEGIN_AHEAD, EVICT, DROP, SECOND] + [WRITTEN, RELEASE, COME] * 8
OF_TEXTBOOK = (1, 2, 7, 12, 15)  # c, blocks


def long_run(seed, n=4000):
    """Reads of few keys, so that ghosts are found, with all else in between. Returns which states there were."""
    rng, both, states = stream(seed, "arc"), Both(*SIZES[seed]), set()
    for kind, u, v in zip(rng.integers(len(KINDS), size=n), rng.random(n), rng.integers(12, size=n), strict=True):
        key = int(N_KEYS * u * u) if v < 8 else int(N_KEYS * u)
        both.move(KINDS[kind], key, int(v))
        states |= {state for state in range(5) if both.arc.n_bytes[state]}
        both.check()
    return states


def request_both(keys, c):
    """The published ARC and its twin, request by request, for keys below 31. Returns by how much p moved."""
    params, twin, steps = ArcParams(c, c), TwinOfTextbook(c), set()
    a = new_arc(params, 31, 40, 0)
    for key in keys:
        before = twin.p
        assert textbook.request_textbook(a, params, key) == twin.request(key)
        assert int(a.scalars[scalar.P]) == twin.p
        lists = [keys_on(a, 2 * state) for state in (MRU, MFU, arc_lists.MRU_GHOST, arc_lists.MFU_GHOST)]
        assert lists == [twin.t1, twin.t2, twin.b1, twin.b2]
        steps.add(twin.p - before)
    return steps


def long_requests(c):
    """Of few keys more often. Returns by how much p moved."""
    return request_both((31 * stream(c, "arc").random(600)**2).astype(int).tolist(), c)
