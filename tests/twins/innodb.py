"""InnoDB's transactions, buffer pool and log a second time, as plainly as they can be said. Written from the rules in the
docstrings, not from the kernels.

`Twin`: everything is in memory, no second ever passes: what is left are CPUs, slots, rows, deadlocks, the binary log and the
flush that commits share.
`reads_of_a_midpoint_list`: what a buffer pool reads, as a Python list.
`end_of_record`: the place in the log where a record ends, byte by byte.
"""

from collections import deque

import numpy as np

from model.databases.innodb.sysbench import NOTHING, READ, draw, draws_of
from twins.clients import Clients, Server


def end_of_record(place, n_bytes):
    for _ in range(n_bytes):
        place += 1
        if place % 512 == 508:
            place += 16
    return place


def reads_of_a_midpoint_list(pages, n_frames, share):
    """Newest first; the old part is what `old` names."""
    order, old, moved_at, n_replaced, reads = [], [], {}, 0, 0

    def set_old():
        wanted = len(order) * 3 // 8
        while len(old) < wanted - 20:
            old.insert(0, order[len(order) - len(old) - 1])
        while len(old) > wanted + 20:
            old.pop(0)

    for page in pages:
        if page not in moved_at:
            reads += 1
            if len(order) == n_frames:
                victim = order.pop()
                old.remove(victim)
                del moved_at[victim]
                n_replaced += 1
            if len(order) + 1 < 512 or not old:
                order.insert(0, page)
            else:
                order.insert(order.index(old[0]) + 1, page)
                old.insert(1, page)
            moved_at[page] = 0
            if len(order) >= 512:
                set_old()
        if n_replaced >= moved_at[page] + 1 + int(len(order) * share):
            order.remove(page)
            if page in old:
                old.remove(page)
            order.insert(0, page)
            moved_at[page] = n_replaced
            if len(order) >= 512:
                set_old()
    return reads


class Deadlock(Exception):
    pass


class Twin(Clients):
    def __init__(self, test, s, write_ns, sync_ns, seed):
        super().__init__(s)
        self.test, self.write_ns, self.sync_ns = test, write_ns, sync_ns
        self.ids, self.factors = np.zeros((4096, test.n_ids), np.int64), np.zeros(4096)
        draw(test, self.ids, self.factors, draws_of(seed))
        self.cpus, self.slots = Server(s.n_cpus), Server(s.thread_concurrency or 10**9)
        self.holder, self.waiting, self.row_queues = {}, {}, {}
        self.made = self.written = self.stable = 0
        self.is_writing, self.log_waiters = False, []
        self.binlog = Server(1)
        self.n_deadlocks = 0

    def enter(self, p):
        if self.slots.busy < self.slots.n:
            self.slots.busy += 1
        else:
            self.slots.queue.append(p)
            yield None

    def leave(self):
        if self.slots.queue and self.slots.busy <= self.slots.n:
            self.tell(self.slots.queue.popleft(), self.s.handoff_ns)
        else:
            self.slots.busy -= 1

    def lock(self, p, row, mine):
        if self.holder.get(row) == p:
            return
        if row not in self.holder:
            self.holder[row] = p
            mine.append(row)
            return
        holder = self.holder[row]
        while holder != p and holder in self.waiting:
            holder = self.holder[self.waiting[holder][0]]
        if holder == p:
            raise Deadlock
        self.waiting[p] = (row, mine)
        self.row_queues.setdefault(row, deque()).append(p)
        self.leave()
        yield None
        self.slots.busy += 1

    def unlock(self, mine):
        for row in mine:
            del self.holder[row]
            if self.row_queues.get(row):
                heir = self.row_queues[row].popleft()
                theirs = self.waiting.pop(heir)[1]
                self.holder[row] = heir
                theirs.append(row)
                self.tell(heir, self.s.handoff_ns)

    def make_stable(self, p, place, must_be_stable):
        while place > (self.stable if must_be_stable else self.written):
            if self.is_writing:
                self.log_waiters.append(p)
                yield None
                continue
            self.is_writing, target = True, self.made
            if target > self.written:
                yield self.now + self.write_ns
                self.written = target
            if must_be_stable:
                yield self.now + self.sync_ns
                self.stable = self.written
            self.is_writing = False
            for waiter in self.log_waiters:
                self.tell(waiter, self.s.handoff_ns)
            self.log_waiters = []

    # ---- a client ----

    def client(self, p):
        while self.begun < self.s.n_transactions:
            ids, factor = self.ids[self.begun], self.factors[self.begun]
            factor = int(factor * 2**20) if self.s.spread_cpu else 2**20
            self.begun += 1
            began, mine = self.now, []
            while True:
                try:
                    yield from self.transaction(p, ids, factor, mine)
                    break
                except Deadlock:
                    self.n_deadlocks += 1
                    self.unlock(mine)
                    mine.clear()
                    self.leave()
            self.done.append((self.now, self.now - began))

    def transaction(self, p, ids, factor, mine):
        has_changed = False
        for kind, i, _, cpu_ns in self.test.statements.tolist():
            yield self.now + self.s.wire_ns
            yield from self.enter(p)
            yield from self.use(p, self.cpus, cpu_ns * factor >> 20)
            if kind not in (NOTHING, READ):
                yield from self.lock(p, ids[i], mine)
                has_changed = True
                self.made += 1
            self.leave()
        if has_changed:
            yield from self.commit(p, mine)

    def commit(self, p, mine):
        level = self.s.flush_log_at_trx_commit
        if self.s.log_bin:
            self.made += 1
            if level:
                yield from self.make_stable(p, self.made, level == 1)
            if self.binlog.busy:
                self.binlog.queue.append(p)
                yield None
            self.binlog.busy = 1
        self.made += 1
        place = self.made
        self.unlock(mine)
        if self.s.log_bin and self.s.flush_after_binlog:
            self.release_binlog()
        if level:
            yield from self.make_stable(p, place, level == 1)
        if self.s.log_bin and not self.s.flush_after_binlog:
            self.release_binlog()

    def release_binlog(self):
        self.binlog.busy = 0
        if self.binlog.queue:
            self.binlog.busy = 1
            self.tell(self.binlog.queue.popleft(), self.s.handoff_ns)

