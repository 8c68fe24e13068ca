"""UFS written a second time, from the rules on top of `model.filesystems.ufs.state` alone: calls are generators that yield
what they wait for.

Disks serve in order of arrival, one command at a time, in times given. Whoever can go on does so in this order: who
waited for what is just done, then calls that were held back.
"""
import heapq
from collections import Counter, OrderedDict, deque
from itertools import count

from model.filesystems.calls import CONTROL, EXTEND, FSYNC, READ, WAL_CREATE, WAL_SYNC, WAL_WRITE, WAL_WRITE_THROUGH, WRITE

BLOCK = 8192
AGAIN = "again"     # look again when an I/O is done


class Twin:
    def __init__(self, sizes, members, interlace, s, drawn_ns):
        self.s, self.members, self.interlace, self.drawn = s, members, interlace, drawn_ns
        self.sizes = [-(-n // BLOCK) * BLOCK for n in (*sizes, BLOCK)]
        self.base = [sum(self.sizes[:i]) for i in range(len(self.sizes))]
        self.cache, self.held, self.runs = OrderedDict(), Counter(), {}
        self.under_way, self.grew, self.throttled, self.in_sync = {}, set(), set(), set()
        self.queues = [deque() for _ in range(members)]
        self.numbers, self.n_drawn, self.journal_at = count(), 0, 0
        self.time, self.ends, self.to_start, self.waiting, self.again = 0, [], [], {}, []
        self.returned, self.n_looks, self.served = [], 0, []
        if s.starts_full:
            for page in range(1, sum(self.sizes) // BLOCK + 1):
                self.use(page)

    # --- memory

    def page(self, file, at):
        return 1 + (self.base[file] + at) // BLOCK

    def use(self, page):
        here = page in self.cache
        if not here and len(self.cache) * BLOCK + BLOCK > self.s.memory_bytes:
            for candidate in list(self.cache):
                if not self.held[candidate]:
                    del self.cache[candidate]
                    break
                self.cache.move_to_end(candidate)
            else:
                return False
        self.cache[page] = True
        self.cache.move_to_end(page)
        return here

    # --- disks

    def io(self, place, n_bytes, kind):
        """Pieces of a request by interlace: their numbers."""
        numbers = set()
        while n_bytes:
            row, within = divmod(place, self.interlace)
            length, number = min(n_bytes, self.interlace - within), next(self.numbers)
            self.queues[row % self.members].append((number, kind, length))
            if row % self.members not in self.to_start:
                self.to_start.append(row % self.members)
            numbers.add(number)
            place, n_bytes = place + length, n_bytes - length
        return numbers

    def file_io(self, file, at, n_bytes, kind):
        numbers, piece = set(), self.s.piece_bytes
        while n_bytes:
            dense = self.base[file] + at
            length = min(piece - dense % piece, n_bytes)
            numbers |= self.io(2**26 + dense // piece * 3 * piece + dense % piece, length, kind)
            at, n_bytes = at + length, n_bytes - length
        return numbers

    def start_idle(self):
        for unit in self.to_start:
            queue = self.queues[unit]
            if queue and not any(unit == busy for _, busy in self.ends):
                heapq.heappush(self.ends, (self.time + self.drawn[self.n_drawn % len(self.drawn)], unit))
                self.n_drawn += 1
        self.to_start = []

    # --- calls

    def send_off(self, file):
        if file in self.runs:
            at, n = self.runs.pop(file)
            pages = list(range(self.page(file, at), self.page(file, at) + n // BLOCK))
            for number in sorted(self.file_io(file, at, n, "write")):
                length = next(length for queue in self.queues for queued, _, length in queue if queued == number) // BLOCK
                self.under_way[number] = (file, pages[:length])
                pages = pages[length:]

    def put_off(self, file, at):
        self.use(self.page(file, at))
        self.held[self.page(file, at)] += 1
        first, n = self.runs.get(file, (at, 0))
        if n and (first + n != at or n >= self.s.cluster_bytes):
            self.send_off(file)
            first, n = at, 0
        self.runs[file] = first, n + BLOCK

    def of_file(self, file):
        return {number for number, (own, _) in self.under_way.items() if own == file}

    def may_write(self, file):
        n_bytes = sum(len(pages) * BLOCK for own, pages in self.under_way.values() if own == file)
        if n_bytes > self.s.high_water:
            self.throttled.add(file)
        elif n_bytes < self.s.low_water:
            self.throttled.discard(file)
        return not self.s.throttles or file not in self.throttled

    def sync(self, file, logs):
        self.send_off(file)
        self.in_sync.add(file)
        yield self.of_file(file)
        self.in_sync.discard(file)
        if logs:
            yield from self.journal()

    def journal(self):
        at, self.journal_at = self.journal_at, (self.journal_at + 1024) % 2**26
        yield self.io(at, 1024, "write")

    def blocks(self, file, at, n_bytes):
        for block in range(at, at + n_bytes, BLOCK):
            yield self.file_io(file, block, BLOCK, "write")

    def call(self, operation, file, at, n_bytes):
        file = {True: file + 1, False: 0}[operation in (READ, WRITE, EXTEND, FSYNC)] if operation != CONTROL \
            else len(self.sizes) - 1
        at %= self.sizes[file]
        direct = self.s.log_directio if file == 0 else self.s.table_directio
        syncs = operation in (FSYNC, WAL_SYNC, CONTROL, WAL_CREATE)
        while (operation in (WRITE, EXTEND, WAL_WRITE) and not self.may_write(file)) or (syncs and file in self.in_sync):
            yield AGAIN
        if operation in (EXTEND, WAL_CREATE):
            self.grew.add(file)
        if operation == READ:
            if direct or not self.use(self.page(file, at)):
                yield self.file_io(file, at, n_bytes, "read")
        elif operation in (FSYNC, WAL_SYNC):
            logs = operation == FSYNC or file in self.grew
            self.grew.discard(file)
            yield from self.sync(file, logs)
        elif direct:
            if operation == WAL_CREATE:
                yield from self.blocks(file, at, n_bytes)
            else:
                yield self.file_io(file, at, n_bytes, "write")
            if operation in (WAL_CREATE, CONTROL):
                yield from self.journal()
        elif operation == WAL_WRITE_THROUGH:
            for block in range(at, at + n_bytes, BLOCK):
                self.use(self.page(file, block))
            yield from self.blocks(file, at, n_bytes)
        else:
            for block in range(at, at + n_bytes, BLOCK):
                self.put_off(file, block)
            if operation in (CONTROL, WAL_CREATE):
                yield from self.sync(file, True)

    # --- time

    def step(self, process, call):
        for wait in call:
            if wait == AGAIN:
                self.again.append((process, call))
                return
            if wait:
                self.waiting[process] = (call, set(wait))
                return
        self.returned.append((self.time + self.s.call_ns, process))

    def begin(self, now, process, row):
        self.time = now
        self.step(process, self.call(*row))
        self.start_idle()

    def next_time(self):
        return self.ends[0][0] if self.ends else 2**62

    def event(self):
        self.time, unit = heapq.heappop(self.ends)
        number, kind, n_bytes = self.queues[unit].popleft()
        self.served.append((kind, n_bytes))
        self.to_start.append(unit)
        for page in self.under_way.pop(number, (0, []))[1]:
            self.held[page] -= 1
        ready = []
        for process, (_, numbers) in list(self.waiting.items()):
            numbers.discard(number)
            if not numbers:
                ready.append((process, self.waiting.pop(process)[0]))
        again, self.again = self.again, []
        for process, call in ready + again:
            self.step(process, call)
        self.start_idle()
