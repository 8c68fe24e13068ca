"""What the twins of both databases do alike: clients that are Python generators, in order of time, and servers with a queue.

A generator yields the time at which it goes on, or None if somebody will tell.
"""

import heapq
from collections import deque


class Server:
    def __init__(self, n):
        self.n, self.busy, self.queue = n, 0, deque()


class Clients:
    """A twin has `client`, the generator of one; `s`, settings; and what it shares among them."""

    def __init__(self, s):
        self.s, self.begun, self.now, self.events, self.done = s, 0, 0, [], []

    def run(self):
        clients = [self.client(p) for p in range(self.s.n_clients)]
        for p, client in enumerate(clients):
            self._go_on(p, client)
        while self.events and len(self.done) < self.s.n_transactions:
            self.now, p = heapq.heappop(self.events)
            self._go_on(p, clients[p])
        return self.done

    def _go_on(self, p, client):
        at = next(client, None)
        if at is not None:
            heapq.heappush(self.events, (at, p))

    def tell(self, p, after):
        heapq.heappush(self.events, (self.now + after, p))

    def use(self, p, server, ns):
        if server.busy < server.n:
            server.busy += 1
            yield self.now + ns
        else:
            server.queue.append((p, ns))
            yield None
        if server.queue:
            self.tell(*server.queue.popleft())
        else:
            server.busy -= 1
