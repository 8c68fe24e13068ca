"""Cache devices by `model.zfs.arc.l2arc` and by their twin, with the same user."""

from drivers.arc import EVICT, N_KEYS, Both
from model.events import calendar
from model.events.streams import stream
from model.zfs.arc import columns as header
from model.zfs.arc import l2_columns as l2_cache
from model.zfs.arc import l2arc
from model.zfs.arc import lists as arc_lists
from model.zfs.eras import era
from twins.l2arc import L2_ONLY, TwinOfL2

FEED, DONE = EVICT + 1, EVICT + 2  # moves beside those of `arc_machine`
TICK_NS = 10**7
UNIT = 1024


class Differs(AssertionError):
    """The model and its twin do not agree."""


def agree(mine, twins):
    if mine != twins:
        raise Differs(f"{mine} is not {twins}")


def may_cache(key):
    return key % 5 != 2


class BothL2(Both):
    """Small devices: the hand comes round after some rounds."""

    unit = UNIT

    def __init__(self, c, meta_limit, p, rules, n_devices=1, device_kib=200):
        self.rules, self.n_devices = rules, n_devices
        self.l2 = l2arc.new_l2arc(rules, [2**26] * n_devices, 4 * UNIT)
        self.end = l2arc.FRONT_BYTES + device_kib * UNIT
        self.l2.devices[:, l2_cache.END] = self.end
        self.n_came_back = self.n_alone = 0
        super().__init__(c, meta_limit, p)

    def new_twin(self, p):
        return TwinOfL2(self.params.c_bytes, self.params.meta_limit_bytes, p, self.rules, self.n_devices, l2arc.FRONT_BYTES,
                        self.end, may_cache)

    def read(self, key, is_prefetch):
        block = self.twin.blocks.get(key)
        self.n_came_back += block is not None and block.state == L2_ONLY
        super().read(key, is_prefetch)

    def move(self, kind, key, ticks):
        if kind == FEED and self.twin.writing == 0:
            self.tick += ticks
            l2arc.feed(self.l2, self.rules, self.arc, self.tick * TICK_NS)
            writes = self.l2.outbox[:self.l2.n_out[0]].tolist()
            agree([tuple(row) for row in writes], self.twin.feed(self.tick * TICK_NS))
        elif kind == DONE and self.twin.writing > 0:
            self.tick += ticks
            l2arc.written(self.l2, self.rules, self.tick * TICK_NS)
            self.twin.written(self.tick * TICK_NS)
        elif kind not in (FEED, DONE):
            super().move(kind, key, ticks)
        self.mark()

    def mark(self):
        """What may be cached: the user says so when a block comes in."""
        for key in filter(may_cache, range(N_KEYS)):
            if self.node(key):
                self.arc.nodes[self.node(key), header.MARKS] |= arc_lists.L2_CACHEABLE

    def check(self):
        super().check()
        twin, states = self.twin, self.arc.nodes[:, header.STATE]
        agree(int(arc_lists.total_bytes(self.arc)), twin.size())
        alone = {key for key in range(N_KEYS) if self.node(key) and states[self.node(key)] == L2_ONLY}
        self.n_alone = max(self.n_alone, len(alone))
        agree(alone, {key for key, block in twin.blocks.items() if block.state == L2_ONLY})
        agree(int(l2arc.next_feed(self.l2)), twin.next_at if twin.writing == 0 else calendar.NEVER)
        for key in range(N_KEYS):
            for is_prefetch in (0, 1):
                mine = l2arc.l2_holds(self.l2, self.rules, self.arc, key, is_prefetch)
                agree(mine, twin.holds(key, is_prefetch) or (-1, -1))


def rules_of(name):
    """Of a build, with small rounds."""
    rules = era(name).l2arc
    return rules._replace(write_max_bytes=30 * UNIT, boost_bytes=30 * UNIT * (rules.boost_bytes > 0))


BUILDS = ("onnv_79", "b103", "b141")


def long_run(seed, n=1500, check_every=1):
    """Reads of few keys with all else in between; the machine at its end. Raises `Differs`."""
    rng, rules = stream(seed, "l2arc"), rules_of(BUILDS[seed % 3])._replace(noprefetch=int(seed % 4 != 3))
    both = BothL2((100, 150, 200, 80)[seed % 4], 60, 75, rules, 1 + seed % 2)
    for kind, key in [(0, key) for key in range(8)] + [(FEED, 0)]:
        both.move(kind, key, 1)
        both.check()
    kinds = [0] * 12 + [1, 1, 2, 3, 3, 6, 7, FEED, FEED, DONE, DONE, DONE, DONE, DONE]
    draws = zip(rng.integers(len(kinds), size=n), rng.random(n), rng.integers(12, size=n), strict=True)
    for i, (kind, u, v) in enumerate(draws):
        key = int(N_KEYS * u * u) if v < 6 else int(N_KEYS * u)
        both.move(kinds[kind], key, int(v))
        if i % check_every == 0:
            both.check()
    return both
