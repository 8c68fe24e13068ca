"""The L2ARC once more, in plain Python: where copies are is a dictionary, and who may be fed is looked for in lists."""

from twins.arc import ANON, MFU, MRU, TwinOfArc

L2_ONLY = 5
HEADER, MORE = 168, 20  # B of a header, and what a copy adds to it


class TwinOfL2(TwinOfArc):
    """An ARC with cache devices, all from `start` to `end`; times in ns."""

    def __init__(self, c, meta_limit, p, rules, n_devices, start, end, may_cache):
        super().__init__(c, meta_limit, p)
        self.rules, self.start, self.end, self.may_cache = rules, start, end, may_cache
        self.hands = [start] * n_devices
        self.copies, self.being_written = {}, set()
        self.device, self.writing, self.next_at = n_devices - 1, 0, rules.delay_ns

    def size(self):
        n_alone = sum(block.state == L2_ONLY for block in self.blocks.values())
        return super().size() + MORE * len(self.copies) + HEADER * n_alone

    # ---- what the ARC does otherwise ----

    def set_state(self, block, state):
        if state == ANON:
            self.copies.pop(block.key, None)
        super().set_state(block, state)

    def forget_ghost(self, block):
        if block.key in self.copies:
            block.state = L2_ONLY
        else:
            del self.blocks[block.key]

    def drop(self, block):
        if block.state == L2_ONLY:
            del self.blocks[block.key]
        else:
            super().drop(block)
        self.copies.pop(block.key, None)

    def revive(self, block, is_prefetch, tick):
        if block.state != L2_ONLY:
            super().revive(block, is_prefetch, tick)
            return
        self.make_room(L2_ONLY, block.is_metadata, block.n_bytes, tick)
        block.state, block.holds, block.is_prefetched, block.tick = MFU, 1, is_prefetch, tick

    # ---- the thread ----

    def is_cold(self):
        return self.rules.boost_bytes > 0 and not self.has_evicted

    def overwrite(self, target):
        hand = self.hands[self.device]
        until = self.end if hand >= self.end - 2 * target else hand + target
        for key, (device, address) in list(self.copies.items()):
            if device == self.device and hand <= address <= until:
                del self.copies[key]
                if self.blocks[key].state == L2_ONLY:
                    del self.blocks[key]

    def candidates(self, target):
        """Blocks in the order in which they are fed."""
        for lists in ((MFU, 1), (MRU, 1), (MFU, 0), (MRU, 0)):
            passed = 0
            for block in self.lists[lists][::-1] if self.is_cold() else self.lists[lists]:
                passed += block.n_bytes
                if passed > target * self.rules.headroom:
                    break
                unread = self.rules.noprefetch and block.is_prefetched
                if self.may_cache(block.key) and block.key not in self.copies and not unread:
                    yield block

    def feed(self, now):
        self.device = (self.device + 1) % len(self.hands)
        target = self.rules.write_max_bytes + self.is_cold() * self.rules.boost_bytes
        self.overwrite(target)
        writes, room = [], target
        for block in list(self.candidates(target)):
            room -= block.n_bytes
            if room < 0:
                break
            writes.append((self.device, self.hands[self.device], block.n_bytes))
            self.copies[block.key] = writes[-1][:2]
            self.hands[self.device] += block.n_bytes
            self.being_written.add(block.key)
        if writes and self.hands[self.device] >= self.end - target:
            self.hands[self.device] = self.start
        self.began, self.half_full = now, sum(write[2] for write in writes) > target // 2
        self.writing, self.next_at = len(writes), None
        if not writes:
            self.over(now)
        return writes

    def written(self, now):
        self.writing -= 1
        if self.writing == 0:
            self.over(now)

    def over(self, now):
        self.being_written.clear()
        if self.rules.again_ns:
            self.next_at = max(now, self.began + (self.rules.again_ns if self.half_full else self.rules.feed_ns))
        else:
            self.next_at = now + self.rules.feed_ns

    def holds(self, key, is_prefetch):
        """(device, address), or None."""
        if key not in self.copies or (is_prefetch and self.rules.noprefetch):
            return None
        is_busy = self.writing > 0 and self.device == self.copies[key][0]
        if is_busy and (self.rules.norw or key in self.being_written):
            return None
        return self.copies[key]
