"""The ARC's kernels and their twin, driven by the same user."""

from arc_twin import TwinOfArc

from model import arc, arc_lists
from model.arc import ArcParams, new_arc

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

    unit = 1  # sizes are multiples of it

    def __init__(self, c, meta_limit, p):
        self.params = ArcParams(c * self.unit, meta_limit * self.unit)
        self.arc, self.twin = new_arc(self.params, N_KEYS, 500, p * self.unit), self.new_twin(p * self.unit)
        self.tick, self.mine = 200, {}

    def new_twin(self, p):
        return TwinOfArc(self.params.c_bytes, self.params.meta_limit_bytes, p)

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
        n_bytes *= self.unit
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
            marks = arc_lists.INDIRECT * is_indirect | arc_lists.PREFETCHED * is_prefetch
            node = arc.new_block(arc_, params, key, meta, n_bytes, marks, tick)
            block = twin.new_block(key, meta, n_bytes, is_indirect, is_prefetch, tick)
        else:
            arc.revive(arc_, params, node, arc_lists.INDIRECT * is_indirect | arc_lists.PREFETCHED * is_prefetch, tick)
            twin.revive(block, is_prefetch, tick)
        if above is not None and twin.blocks[above].state <= MFU:
            arc_lists.hold_above(arc_, node, self.node(above))
            twin.hold_above(block, twin.blocks[above])
        arc.access(arc_, params, node, tick)
        twin.access(block, tick)
        arc_lists.release(arc_, node)
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
        arc_lists.hold(self.arc, self.node(key))
        self.twin.hold(self.twin.blocks[key])
        self.mine[key] = self.mine.get(key, 0) + 1

    def release(self, key):
        arc_lists.release(self.arc, self.node(key))
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
            arc_lists.drop(self.arc, self.node(key))
            self.twin.drop(block)
        elif kind == SECOND:
            arc.adjust(self.arc, self.params, self.tick)
            self.twin.adjust(self.tick)

    def check(self):
        a, twin = self.arc, self.twin
        assert int(a.scalars[arc_lists.P]) == twin.p
        assert a.n_bytes.tolist() == [twin.n_bytes(state) for state in range(5)]
        assert int(a.scalars[arc_lists.META]) == twin.metadata()
        assert {key for key in range(N_KEYS) if self.node(key)} == set(twin.blocks)
        for (state, meta), blocks in twin.lists.items():
            assert keys_on(a, 2 * state + meta) == [block.key for block in blocks]
            assert a.evictable[2 * state + meta] == sum(block.n_bytes for block in blocks)


ANON, MRU, MFU = arc_lists.ANONYMOUS, arc_lists.MRU, arc_lists.MFU


def keys_on(a, end):
    """From the tail to the head."""
    keys, node = [], int(a.nodes[end, arc_lists.NEWER])
    while node != end:
        keys.append(int(a.nodes[node, arc_lists.KEY]))
        node = int(a.nodes[node, arc_lists.NEWER])
    return keys
