"""Requests for blocks of a LUN or of a file, of clients that have nothing else to do, on a ZFS.

    a client:   request ---> store (`model.filesystems.zfs.store`) ---> response ---> the next request of the table

No database is simulated. Requests are a table made before, taken in its order by whichever client is free. So offset, size
and kind of each are free, and a partition that begins at an odd sector is a table whose offsets all do. What a request needs
of blocks, caches, transaction groups, intent log, disks and processors is the store's own affair. One thing is not: which
blocks of a request are read at once (`model.simulations.blocks_at_once`).

The run ends at `duration_ns`, or when the table is done. Left out: the network, and the clients' own caches.
"""

from typing import NamedTuple

import numpy as np

from model.events.calendar import NEVER, Calendar, new_calendar, next_source, set_time
from model.events.queues import NOBODY, new_queues
from model.events.servers import is_back, typed
from model.filesystems.calls import Calls, ask, new_calls
from model.filesystems.zfs import store as zfs_store
from model.filesystems.zfs.stats import COUNTS
from model.jit import kernel, part
from model.simulations import request_columns as request
from model.simulations.blocks_at_once import Rest, begin_rest, go_on, new_rest

FILE = 0  # of the calls: the LUN, or the file


class Settings(NamedTuple):
    """The clients, and the server's processors."""

    n_clients: int  # requests under way at a time
    duration_ns: int
    n_cpus: int = 8
    handoff_ns: int = 0  # until who is woken runs


class Machine(NamedTuple):
    """All state of clients that read and write blocks, in arrays that kernels change in place."""

    s: Settings
    calendar: Calendar
    table: np.ndarray  # [request, column]; see request.OPERATION and the others
    under_way: np.ndarray  # per client: 1 + its request, or 0
    n_taken: np.ndarray  # one element
    n_done: np.ndarray  # one element
    after: np.ndarray  # see model.events.queues
    queue: np.ndarray
    busy: np.ndarray
    service_ns: np.ndarray
    calls: Calls
    rest: Rest


class Result(NamedTuple):
    """A run. `table` is that of the requests, as far as they were done; see `model.simulations.request_columns`."""

    seconds: float
    table: np.ndarray
    counts: dict  # of the store: see model.filesystems.zfs.stats
    devices: np.ndarray  # [group, DEVICE_COUNTS] of the store's data, log and cache devices


@part
def _step(m, now, p):
    """The request of client `p` is done; it begins the next one, if there is any."""
    table, done = m.table, m.under_way[p] - 1
    if done >= 0:
        table[done, request.ENDED] = now
        m.n_done[0] += 1
    i = m.n_taken[0]
    m.under_way[p] = 0
    if i < len(table):
        m.n_taken[0] += 1
        m.under_way[p] = 1 + i
        table[i, request.BEGAN] = now
        ask(m.calls, p, table[i, request.OPERATION], FILE, table[i, request.OFFSET], table[i, request.N_BYTES])


@kernel
def _run(zfs, m, until):
    """Until all requests are done, or `until` (ns)."""
    calendar = m.calendar
    while m.n_done[0] < len(m.table):
        p, then = next_source(calendar), zfs_store.next_time(zfs)
        now = calendar.time[p]
        if min(now, then) >= until:
            return
        if then < now:
            zfs_store.store_event(zfs, calendar, then)
            if m.rest.n_waiting[0]:
                go_on(zfs, m.rest, then)
        else:
            set_time(calendar, p, NEVER)
            if is_back(m, now, p):
                _step(m, now, p)
                has_asked = m.calls.n_out[0] > 0
                zfs_store.take_calls(zfs, m.calls, calendar, now)
                if has_asked:
                    begin_rest(zfs, m.rest, now, p)


def _machine(s, table):
    n = s.n_clients
    calendar = new_calendar(n)
    for p in range(n):
        set_time(calendar, p, 0)
    return Machine(s=s, calendar=calendar, table=table, under_way=np.zeros(n, np.int64), n_taken=np.zeros(1, np.int64),
                   n_done=np.zeros(1, np.int64), after=np.full(n, NOBODY), queue=new_queues(1), busy=np.zeros(1, np.int64),
                   service_ns=np.zeros(n, np.int64), calls=new_calls(n), rest=new_rest(n))


def check(s: Settings, table: np.ndarray, file_bytes: int) -> None:
    """ValueError, one sentence, for clients or requests that cannot be. `table`: [request, OPERATION, OFFSET, N_BYTES]."""
    for name, value, low in (("n_clients", s.n_clients, 1), ("duration_ns", s.duration_ns, 1), ("n_cpus", s.n_cpus, 1)):
        if value < low:
            raise ValueError(f"{name} is {value}, but it must be {low} or more; choose such a number")
    if not len(table):
        raise ValueError("there are no requests; give one at least")
    offset, n_bytes = table[:, request.OFFSET], table[:, request.N_BYTES]
    if offset.min() < 0 or n_bytes.min() < 1 or (offset + n_bytes).max() > file_bytes:
        raise ValueError(f"requests lie from {offset.min()} to {(offset + n_bytes).max()} B, but the file is from 0 to "
                         f"{file_bytes} B; choose others")


def files_of(n_bytes: int, block_bytes: int) -> np.ndarray:
    """What a store has to know: a log that nobody writes, and the LUN or file, which has been written as a whole."""
    return np.array([(block_bytes, block_bytes, block_bytes), (n_bytes, n_bytes, block_bytes)], np.int64)


def simulate(requests: np.ndarray, s: Settings, store: zfs_store.Store, file_bytes: int) -> Result:
    """Run the requests, int64 [request, OPERATION, OFFSET, N_BYTES], on a store of `files_of(file_bytes, …)`."""
    s = typed(s)
    check(s, requests, file_bytes)
    table = np.zeros((len(requests), request.N_COLUMNS), np.int64)
    table[:, :request.BEGAN], table[:, request.ENDED] = requests, NEVER
    m = _machine(s, table)
    store = zfs_store.working_for(store, m.calls)
    _run(store.data, m, s.duration_ns)
    zfs_store.check_end(store)
    done = table[table[:, request.ENDED] < NEVER]
    ended = int(done[:, request.ENDED].max()) if len(done) == len(table) else s.duration_ns
    tally = store.data.tally
    return Result(seconds=ended / 1e9, table=done, counts=dict(zip(COUNTS, tally.counts.tolist(), strict=True)),
                  devices=tally.devices)
