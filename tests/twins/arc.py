"""The ARC once more, in plain Python with lists, and slowly: what `model.zfs.arc.arc` must do, decision by decision."""

ANON, MRU, MFU, MRU_GHOST, MFU_GHOST = range(5)


class Block:
    def __init__(self, key, is_metadata, n_bytes, is_indirect, is_prefetch):
        self.key, self.is_metadata, self.n_bytes = key, is_metadata, n_bytes
        self.is_indirect, self.is_prefetched = is_indirect, is_prefetch
        self.state, self.holds, self.tick, self.above, self.n_buffers = ANON, 1, 0, None, 1


class TwinOfArc:
    """Lists run from the oldest to the newest; sizes are counted anew whenever they are asked for."""

    def __init__(self, c, meta_limit, p):
        self.c, self.meta_limit, self.p, self.has_evicted = c, meta_limit, p, False
        self.blocks = {}
        self.lists = {(state, meta): [] for state in range(1, 5) for meta in range(2)}

    def n_bytes(self, *states):
        return sum(b.n_bytes * b.n_buffers for b in self.blocks.values() if b.state in states)

    def metadata(self):
        return sum(b.n_bytes for b in self.blocks.values() if b.is_metadata and b.state <= MFU)

    def evictable(self, state, meta):
        return sum(b.n_bytes for b in self.lists[state, meta])

    def size(self):
        return self.n_bytes(ANON, MRU, MFU)

    def set_state(self, block, state):
        if block.state != ANON and block.holds == 0:
            self.lists[block.state, block.is_metadata].remove(block)
        block.state = state
        if state != ANON and block.holds == 0:
            self.lists[state, block.is_metadata].append(block)

    def hold(self, block):
        if block.holds == 0 and block.state != ANON:
            self.lists[block.state, block.is_metadata].remove(block)
            block.is_prefetched = False
        block.holds += 1

    def release(self, block):
        block.holds -= 1
        if block.holds == 0 and block.state != ANON:
            self.lists[block.state, block.is_metadata].append(block)

    def hold_above(self, block, above):
        block.above = above
        if above is not None:
            self.hold(above)

    def release_above(self, block):
        if block.above is not None:
            above, block.above = block.above, None
            self.release(above)

    def drop(self, block):
        if block.holds == 0 and block.state != ANON:
            self.lists[block.state, block.is_metadata].remove(block)
        self.release_above(block)
        del self.blocks[block.key]

    def access(self, block, tick):
        if block.state == ANON:
            self.set_state(block, MRU)
        elif block.state == MRU and block.is_prefetched:
            block.is_prefetched = block.holds == 0
        elif block.state == MRU:
            if tick - block.tick <= 6:
                return
            self.set_state(block, MFU)
        elif block.state in (MRU_GHOST, MFU_GHOST):
            self.set_state(block, MRU if block.is_prefetched else MFU)
        block.tick = tick

    def evict(self, state, meta, n_bytes, tick, wanted):
        """Walks as ZFS does: who comes next is settled before the block at hand goes."""
        waiting, gone = self.lists[state, meta], 0
        block = waiting[0] if waiting else None
        while block is not None and gone < n_bytes:
            i = waiting.index(block)
            newer = waiting[i + 1] if i + 1 < len(waiting) else None
            other_size = wanted and block.n_bytes != wanted and newer is not None and newer.n_bytes == wanted
            too_young = (block.is_indirect or block.is_prefetched) and tick - block.tick < 100
            if not other_size and not too_young:
                gone += block.n_bytes
                self.has_evicted = True
                self.set_state(block, state + 2)
                self.release_above(block)
            block = newer

    def make_room(self, state, meta, n_bytes, tick):
        mru_ghost, mfu_ghost = self.n_bytes(MRU_GHOST), self.n_bytes(MFU_GHOST)
        if state == MRU_GHOST:
            self.p = min(self.c, self.p + n_bytes * max(1, mfu_ghost // mru_ghost))
        if state == MFU_GHOST:
            self.p = max(0, self.p - n_bytes * max(1, mru_ghost // mfu_ghost))
        if self.size() > self.c or (meta and self.metadata() >= self.meta_limit):
            if state in (ANON, MRU):
                takes_other = self.evictable(MFU, meta) > 0 and self.p > self.n_bytes(ANON, MRU)
                side = MFU if takes_other else MRU
            else:
                takes_other = self.evictable(MRU, meta) > 0 and self.c - self.p > self.n_bytes(MFU)
                side = MRU if takes_other else MFU
            self.evict(side, meta, n_bytes, tick, n_bytes)

    def raise_p(self, n_bytes):
        if self.size() < self.c and self.n_bytes(ANON, MRU) > self.p:
            self.p = min(self.c, self.p + n_bytes)

    def new_block(self, key, meta, n_bytes, is_indirect, is_prefetch, tick):
        self.make_room(ANON, meta, n_bytes, tick)
        block = self.blocks[key] = Block(key, meta, n_bytes, is_indirect, is_prefetch)
        self.raise_p(n_bytes)
        return block

    def revive(self, block, is_prefetch, tick):
        self.make_room(block.state, block.is_metadata, block.n_bytes, tick)
        self.hold(block)
        block.is_prefetched = is_prefetch
        self.access(block, tick)

    def forget_ghost(self, block):
        del self.blocks[block.key]

    def forget_ghosts(self, state, n_bytes):
        for meta in range(2):
            while n_bytes > 0 and self.lists[state, meta]:
                block = self.lists[state, meta].pop(0)
                n_bytes -= block.n_bytes
                self.forget_ghost(block)

    def adjust(self, tick):
        if self.size() + self.n_bytes(MRU_GHOST, MFU_GHOST) <= 2 * self.c:
            return
        for meta in range(2):
            self.evict(MRU, meta, self.n_bytes(ANON, MRU) - self.p, tick, 0)
        self.forget_ghosts(MRU_GHOST, self.n_bytes(ANON, MRU, MRU_GHOST) - self.c)
        for meta in range(2):
            self.evict(MFU, meta, self.size() - self.c, tick, 0)
        self.forget_ghosts(MFU_GHOST, self.size() + self.n_bytes(MRU_GHOST, MFU_GHOST) - 2 * self.c)


class TwinOfTextbook:
    """ARC as published: lists T1, T2, B1, B2, the oldest first. p moves by whole numbers, or with `fractions` by ratios: the
    paper leaves it open."""

    def __init__(self, c, fractions=False):
        self.c, self.p, self.fractions = c, 0, fractions
        self.t1, self.t2, self.b1, self.b2 = [], [], [], []

    def replace(self, key):
        if self.t1 and (len(self.t1) > self.p or (key in self.b2 and len(self.t1) == self.p)):
            self.b1.append(self.t1.pop(0))
        else:
            self.b2.append(self.t2.pop(0))

    def request(self, key):
        for cached in (self.t1, self.t2):
            if key in cached:
                cached.remove(key)
                self.t2.append(key)
                return True
        for ghosts, others, sign in ((self.b1, self.b2, 1), (self.b2, self.b1, -1)):
            if key in ghosts:
                ratio = len(others) / len(ghosts) if self.fractions else len(others) // len(ghosts)
                self.p = min(self.c, max(0, self.p + sign * max(1, ratio)))
                self.replace(key)
                ghosts.remove(key)
                self.t2.append(key)
                return False
        if len(self.t1) + len(self.b1) == self.c:
            if len(self.t1) < self.c:
                self.b1.pop(0)
                self.replace(key)
            else:
                self.t1.pop(0)
        elif len(self.t1 + self.t2 + self.b1 + self.b2) >= self.c:
            if len(self.t1 + self.t2 + self.b1 + self.b2) == 2 * self.c:
                self.b2.pop(0)
            self.replace(key)
        self.t1.append(key)
        return False
