"""The transactions of PostgreSQL a second time, as plainly as they can be said: one Python generator per client.

Everything is in memory, the ring of the log is never full and there is no checkpoint: what is left are the client
threads, the CPUs, the locks on rows and the flush that commits share. Written from the rules in
`model.databases.postgres.pgbench` and `model.databases.postgres.wal`, not from the kernels. A generator yields the time at
which it goes on, or None if somebody will tell.
"""

from collections import deque

import numpy as np

from model.databases.postgres import columns as pg
from model.databases.postgres.pgbench import INSERT, UPDATE
from model.databases.postgres.state import draws_of
from twins.clients import Clients, Server


class Twin(Clients):
    def __init__(self, database, s, wal_ns, seed):
        super().__init__(s)
        self.db, self.wal_ns = database, wal_ns
        self.draws = draws_of(seed).random((4096, len(database.relations) + 1))
        self.threads, self.cpus = Server(s.n_client_threads), Server(s.n_cpus)
        self.rows, self.waiters = {}, {}
        self.log = self.stable = 0
        self.writing, self.flush_queue = False, deque()
        self.in_writing_transaction, self.waits_for_row = set(), set()

    def lock(self, p, key):
        if key in self.rows:
            self.waiters.setdefault(key, deque()).append(p)
            self.waits_for_row.add(p)
            yield None
            self.waits_for_row.remove(p)
        self.rows[key] = p

    def unlock(self, key):
        if self.waiters.get(key):
            self.rows[key] = self.waiters[key].popleft()
            self.tell(self.rows[key], self.s.handoff_ns)
        else:
            del self.rows[key]

    def siblings(self, p):
        return len(self.in_writing_transaction - self.waits_for_row - {p}) >= self.s.commit_siblings

    def flush(self, p, place):
        slept = False
        while self.stable < place:
            if self.writing:
                self.flush_queue.append(p)
                yield None
                if self.s.wakes_all:
                    continue
            self.writing = True
            if self.stable < place:
                if self.s.leader_delays and self.s.commit_delay_ns and not slept and self.siblings(p):
                    slept = True
                    yield self.now + self.s.commit_delay_ns
                target = self.log
                yield self.now + self.wal_ns
                self.stable = target
            self.let_go()

    def let_go(self):
        if self.s.wakes_all or not self.flush_queue:
            self.writing = False
        for _ in range(len(self.flush_queue) if self.s.wakes_all else min(1, len(self.flush_queue))):
            self.tell(self.flush_queue.popleft(), self.s.handoff_ns)

    def client(self, p):
        while self.begun < self.s.n_transactions:
            draw, began, held, writes = self.draws[self.begun], self.now, [], False
            self.begun += 1
            factor = int(-np.log1p(-draw[-1]) * 2**20) if self.s.spread_cpu else 2**20
            for action, relation, cpu_ns in self.db.statements.tolist():
                yield from self.use(p, self.threads, self.s.trip_ns)
                yield from self.use(p, self.cpus, cpu_ns * factor >> 20)
                columns = self.db.relations[relation]
                if action == UPDATE and columns[pg.FIRST_LOCK] >= 0:
                    held.append((relation, int(draw[relation] * columns[pg.N_ROWS])))
                    yield from self.lock(p, held[-1])
                if action in (UPDATE, INSERT):
                    self.log += 1
                    writes = True
                    self.in_writing_transaction.add(p)
            if writes:
                self.log += 1
                if self.s.synchronous_commit:
                    place = self.log
                    if self.s.commit_delay_ns and not self.s.leader_delays and self.siblings(p):
                        yield self.now + self.s.commit_delay_ns
                    yield from self.flush(p, place)
            for key in held:
                self.unlock(key)
            self.in_writing_transaction.discard(p)
            self.done.append((self.now, self.now - began))
