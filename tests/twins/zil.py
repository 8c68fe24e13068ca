"""The intent log once more, from the spec (section 6) and not from the model: lists, dictionaries and no kernels.

It also is the machine: `write`, `commit`, `complete`, `sync` happen one after the other, and `seen` is what it did.
"""

import math
from dataclasses import dataclass, field


@dataclass
class Entry:
    sequence: int
    txg: int
    file: int
    way: str
    data: int
    block: int
    block_bytes: int
    sync: bool
    written_in: int = 0


@dataclass
class Block:
    size: int
    device: str
    born: int
    used: int = 0
    newest: int = 0
    on_disk: bool = False


@dataclass
class Twin:
    params: object
    settings: object
    drawn: object  # iterator
    entries: list = field(default_factory=list)
    chain: list = field(default_factory=list)  # all blocks ever; `freed` of them are gone
    freed: int = 0
    newest: int = 0
    of_file: dict = field(default_factory=dict)
    writer: tuple | None = None
    creating: bool = False
    flushing: bool = False
    pending: int = 0
    waiting: list = field(default_factory=list)  # (task, file, sequence)
    committed: int = 0
    promised: int = 0
    used: int = 0
    used_before: int = 0
    choices: list = field(default_factory=list)
    synced: int = 0
    passes: int = 0
    touched: set = field(default_factory=set)
    on_disk: set = field(default_factory=set)  # sequences
    in_flight: set = field(default_factory=set)
    dropped: set = field(default_factory=set)
    logged: list = field(default_factory=list)  # sequences, in the order in which they came into the log

    def way(self, size, opened):
        params, settings = self.params, self.settings
        if params.has_logbias and settings.throughput:
            return "indirect"
        if size > params.immediate_write_bytes and not settings.has_log_device:
            return "indirect"
        return "copied" if opened == 1 or (opened == 2 and params.copies_o_sync) else "fetched"

    def write(self, file, block, block_bytes, size, opened, txg):
        if self.settings.disabled:
            return 0
        way = self.way(size, opened)
        sizes = [size]
        if way != "indirect" and size > 130_696:
            sizes = [65_536] * (size // 65_536) + ([size % 65_536] if size % 65_536 else [])
        for part in sizes:
            self.newest += 1
            self.entries.append(Entry(self.newest, txg, file, way, part, block, block_bytes, opened > 0))
        self.of_file[file] = self.newest
        return self.newest

    def record_other(self, size, txg):
        if self.settings.disabled:
            return 0
        self.newest += 1
        self.entries.append(Entry(self.newest, txg, 0, "other", size, 0, 0, False))
        return self.newest

    @staticmethod
    def in_log(entry):
        return 192 if entry.way == "indirect" else 192 + 8 * math.ceil(entry.data / 8)

    def in_list(self, entry):
        return 192 if entry.way == "fetched" and not self.params.counts_fetched else self.in_log(entry)

    def next_size(self, also=0):
        """`also`: bytes still counted as waiting although their entry has left the list."""
        now = self.used + 184
        if self.params.slim:
            self.choices = [*self.choices, min(z for z in (4096, 12288, 36864, 131072) if z >= min(now, 131072))][-16:]
            return max(self.choices)
        waiting = also + sum(map(self.in_list, self.entries)) + 184
        return min(131072, 4096 * math.ceil(max(now, self.used_before, waiting) / 4096))

    def device(self, also=0):
        if not self.settings.has_log_device:
            return "main"
        limit = self.params.slog_limit_bytes
        waiting = also + sum(map(self.in_list, self.entries))
        if limit and (self.settings.throughput or (self.used >= limit and waiting >= 2 * limit)):
            return "main"
        return "slog"

    def close_block(self, rows, txg, also=0):
        block = self.chain[-1]
        size = block.size
        if self.params.slim:
            size = min(size, 4096 * math.ceil((184 + block.used) / 4096))
        self.chain.append(Block(self.next_size(also), self.device(also), txg, newest=txg))
        rows.append(("log", size, len(self.chain) - 2))

    def make_pass(self, txg):
        """Returns rows of writes."""
        _, file, up_to = self.writer
        rows, left, begun, stopped = [], [], False, False
        queue, self.passes, self.in_flight = self.entries, self.passes + 1, set()
        while queue:
            entry, queue = queue[0], queue[1:]
            block = self.chain[-1]
            relevant = not stopped and (
                file == 0 or entry.sync or entry.file == file or entry.way == "other")
            if relevant and entry.sequence > up_to and (
                    block.used == 0 or block.used + self.in_list(entry) > block.size - 184):
                stopped, relevant = True, False
            if not relevant:
                left.append(entry)
                continue
            self.entries = left + queue
            if entry.txg <= self.synced:
                self.dropped.add(entry.sequence)
                continue
            also = self.in_list(entry) if self.params.lists_late else 0
            size = self.in_log(entry)
            self.used += size
            if block.used + size > block.size - 184:
                self.close_block(rows, txg, also)
            begun = True
            self.in_flight.add(entry.sequence)
            self.logged.append(entry.sequence)
            if entry.way == "indirect":
                if entry.written_in == self.passes:
                    continue
                if not entry.written_in:
                    rows.append(("file", entry.block_bytes, (entry.file, entry.block, entry.txg)))
                    for later in queue:
                        if later.way == "indirect" and all(
                                getattr(later, name) == getattr(entry, name) for name in ("file", "block", "txg")):
                            later.written_in = self.passes
            self.chain[-1].used += size
            self.chain[-1].newest = max(self.chain[-1].newest, entry.txg)
        self.entries = left
        first = left[0].sequence if left else None
        self.promised = self.newest if first is None else first if self.params.strict else first - 1
        if begun:
            self.close_block(rows, txg)
        self.used_before, self.used = self.used, 0
        self.pending = len(rows)
        if not rows:
            self.committed = self.promised
        return rows

    def let_go(self):
        done = [w for w in self.waiting if (w[2] < self.committed if self.params.strict else w[2] <= self.committed)]
        self.waiting = [w for w in self.waiting if w not in done]
        return [w[0] for w in done]

    def commit(self, file, task, txg):
        """(goes on at once, rows)."""
        up_to = self.of_file.get(file, 0) if file else self.newest
        if self.settings.disabled or up_to == 0:
            return True, []
        if self.writer is not None:
            self.waiting.append((task, file, up_to))
            return False, []
        if not self.chain:
            if not self.entries:
                return True, []
            self.chain.append(Block(4096, self.device(), txg, newest=txg))
            self.writer, self.creating = (task, file, up_to), True
            return False, [("create", 0, 0)]
        self.writer = (task, file, up_to)
        rows = self.make_pass(txg)
        if not rows:
            self.writer = None
        return not rows, rows

    def finish(self, txg):
        self.committed = self.promised
        released, rows = [self.writer[0]], []
        self.writer = None
        self.clean()
        released += self.let_go()
        while self.waiting and not rows:
            self.writer = self.waiting.pop(next(self.drawn) % len(self.waiting))
            rows = self.make_pass(txg)
            if not rows:
                released.append(self.writer[0])
                self.writer = None
                released += self.let_go()
        return released, rows

    def complete(self, row, vdev, txg):
        """A row is done; it went to `vdev`. (released, rows)."""
        if row[0] == "log":
            self.chain[row[2]].on_disk = True
        if row[0] != "flush":
            self.touched.add(vdev)
        self.pending -= 1
        if self.pending:
            return [], []
        if not self.flushing and not self.settings.no_cache_flush:
            rows = [("flush", 0, vdev) for vdev in sorted(self.touched)]
            self.flushing, self.touched, self.pending = True, set(), len(rows)
            return [], rows
        self.flushing, self.touched = False, set()
        self.on_disk |= self.in_flight
        return self.finish(txg)

    def clean(self):
        while self.entries and self.entries[0].txg <= self.synced:
            self.dropped.add(self.entries.pop(0).sequence)

    def sync(self, txg):
        """(blocks freed, released, rows)."""
        self.synced = txg
        if self.writer is None:
            self.clean()
        n = 0
        for block in self.chain[self.freed:]:
            if not block.on_disk or block.newest > txg:
                break
            n += 1
        self.freed += n
        if not self.creating or self.chain[0].born > txg:
            return n, [], []
        self.creating = False
        rows = self.make_pass(self.synced + 1)
        if rows:
            return n, [], rows
        released, rows = self.finish(self.synced + 1)
        return n, released, rows

    def may_sync(self, txg):
        return all(block.on_disk for block, after in zip(self.chain, self.chain[1:], strict=False) if after.born == txg)
