"""An Oracle instance as it runs: its settings, its processes, and everything they share.

Processes are numbered: the users' server processes, 0 to n - 1; the log writer; then those of the database writers. Each of
these has as many as it has writes under way at most. Each of the many waits for one write. (Asynchronous writes are threads
that do just that, where a file system has none of its own.)

CPUs are shared, first come, first served. A block is 8 KiB, the default of db_block_size; others are not simulated.
"""

from typing import NamedTuple

import numpy as np

from model.databases.oracle import columns as ora
from model.databases.oracle.stats import COUNTS
from model.events.calendar import NEVER, Calendar, new_calendar
from model.events.queues import NOBODY, new_queues
from model.events.servers import typed
from model.filesystems.calls import Calls, new_calls

BLOCK_BYTES = 8192
REDO_BLOCK = 512  # the log is written in whole ones
ROWS_OF_DRAWS = 4096  # transactions drawn at a time
DATA_FILE = 0


# Flags of a buffer.
DIRTY, LOADING, IN_WRITE, IS_LISTED = 1, 2, 4, 8  # the last: on the write list


class Settings(NamedTuple):
    """The load, and init.ora."""

    n_users: int
    n_transactions: int
    duration_ns: int = NEVER
    n_cpus: int = 8
    handoff_ns: int = 0  # until who is woken runs
    n_seconds: int = 0  # to be recorded one by one
    n_blocks: int = 2**17  # of the tables
    think_ns: int = 0  # of a user, between transactions
    cpu_ns: int = 800_000  # of a transaction, half before its blocks and half behind
    gets: int = 15  # blocks that a transaction wants besides those that are always in memory, mean; 1 to 2 gets - 1
    changed_share: float = 0.5  # of these, changed
    hot_share: float = 0.2  # of the tables, in a piece,
    hot_hits: float = 0.65  # that get this share of all
    redo_bytes: int = 6000  # of a transaction
    cache_bytes: int = 2**30  # db_cache_size
    n_writers: int = 1  # db_writer_processes
    writes_per_writer: int = 128  # under way at most
    log_file_bytes: int = 2**28  # of the redo log, of which there are
    n_log_files: int = 3


class Ring(NamedTuple):
    """Buffers in order; 0 closes it. See model.structures.lru."""

    older: np.ndarray
    newer: np.ndarray


class Buffers(NamedTuple):
    """The buffer cache. Number 0 is never filled. The last one closes the write list, which shares its links with the LRU
    list: a buffer is in one of the two."""

    block: np.ndarray
    flags: np.ndarray
    first_redo: np.ndarray  # B of redo made when it was first changed since it was clean
    use: Ring
    dirty: Ring  # in the order of first_redo: the checkpoint queue


class Machine(NamedTuple):
    """All state of a running Oracle instance: its settings, and arrays that kernels change in place."""

    s: Settings
    calendar: Calendar
    process: np.ndarray  # [process, column]; see ora.PHASE and the others
    after: np.ndarray  # see model.events.queues
    queue: np.ndarray
    busy: np.ndarray
    service_ns: np.ndarray
    calls: Calls
    log: np.ndarray  # see ora.MADE and the others
    writers: np.ndarray  # [writer, column]
    frame_of: np.ndarray  # per block: its buffer, or 0
    buffers: Buffers
    pool: np.ndarray  # see ora.N_USED
    draws: np.ndarray  # [transaction, column]; see ora.N_GETS
    under_way: np.ndarray  # [user, column]: the same, of what it is at
    n_drawn: np.ndarray  # [of these, of all]: begun
    counts: np.ndarray  # see stats.COUNTS
    per_second: np.ndarray  # [count, second]
    response_ns: np.ndarray
    ended_at: np.ndarray


_BOUNDS = {"n_users": (1, 10**4), "n_transactions": (1, 2**40), "duration_ns": (1, NEVER), "n_cpus": (1, 2**14),
           "n_blocks": (1024, 2**31), "gets": (1, 1000), "changed_share": (0, 1), "hot_share": (0, 1), "hot_hits": (0, 1),
           "n_writers": (1, 100), "writes_per_writer": (1, 4096), "log_file_bytes": (2**20, 2**40),
           "n_log_files": (2, 255)}


def check_settings(s: Settings) -> None:
    """Raise ValueError with one sentence unless there can be such an instance."""
    for name, value in s._asdict().items():
        low, high = _BOUNDS.get(name, (0, NEVER))
        if not low <= value <= high:
            raise ValueError(f"{name} is {value}, but must be from {low} to {high}; choose a value in that range")
    if n_buffers_of(s) < (min_buffers := 64 + 4 * s.gets + s.n_users + s.n_writers * s.writes_per_writer):
        raise ValueError(f"cache_bytes is {s.cache_bytes} B, but {s.n_users} users and the database writers need "
                         f"{min_buffers} buffers of {BLOCK_BYTES} B; choose a larger one")
    if s.cpu_ns + s.think_ns + s.handoff_ns == 0:
        raise ValueError("a transaction takes no time at all, neither cpu_ns nor think_ns; let one of them be more than 0")


def n_buffers_of(s):
    """How many blocks the buffer cache holds."""
    return s.cache_bytes // BLOCK_BYTES


def n_processes_of(s: Settings) -> int:
    """How many processes there are: users, the log writer, and a process for each write under way."""
    return s.n_users + 1 + s.n_writers * s.writes_per_writer


def _buffers(n):
    use, dirty = (Ring(older=np.zeros(n + 2, np.int64), newer=np.zeros(n + 2, np.int64)) for _ in range(2))
    use.older[n + 1] = use.newer[n + 1] = n + 1
    return Buffers(block=np.zeros(n + 2, np.int64), flags=np.zeros(n + 2, np.int8), first_redo=np.zeros(n + 2, np.int64),
                   use=use, dirty=dirty)


def draw(s, table, stream):
    """Transactions to come: of `table`, [transaction, column]. Blocks are hot or cold, as in the order entry of
    `model.simulations.order_entry.workload`; the first of a transaction's are those that it changes."""
    n = len(table)
    table[:, ora.N_GETS] = 1 + (stream.random(n) * (2 * s.gets - 1)).astype(np.int64)
    table[:, ora.N_CHANGED] = (table[:, ora.N_GETS] * s.changed_share + stream.random(n)).astype(np.int64)
    n_hot = max(1, int(s.hot_share * s.n_blocks))
    shape = n, table.shape[1] - ora.FIRST_BLOCK
    is_hot, where = stream.random(shape) < s.hot_hits, stream.random(shape)
    cold = np.minimum(n_hot + (where * (s.n_blocks - n_hot)).astype(np.int64), s.n_blocks - 1)
    table[:, ora.FIRST_BLOCK:] = np.where(is_hot, (where * n_hot).astype(np.int64), cold)


def new_machine(s: Settings, stream: np.random.Generator) -> Machine:
    """Everybody at rest, nothing in memory."""
    s = typed(s)
    check_settings(s)
    n, zeros, n_columns = n_processes_of(s), np.zeros, ora.FIRST_BLOCK + 2 * s.gets
    draws = zeros((ROWS_OF_DRAWS, n_columns), np.int64)
    draw(s, draws, stream)
    return Machine(
        s=s, calendar=new_calendar(n), process=zeros((n, ora.N_PROCESS), np.int64), after=np.full(n, NOBODY),
        queue=new_queues(ora.N_QUEUES), busy=zeros(ora.N_QUEUES, np.int64), service_ns=zeros(n, np.int64),
        calls=new_calls(n),
        log=zeros(5, np.int64), writers=zeros((s.n_writers, 1), np.int64), frame_of=zeros(s.n_blocks, np.int32),
        buffers=_buffers(n_buffers_of(s)), pool=zeros(3, np.int64), draws=draws,
        under_way=zeros((s.n_users, n_columns), np.int64), n_drawn=zeros(2, np.int64),
        counts=zeros(len(COUNTS), np.int64), per_second=zeros((len(COUNTS), s.n_seconds), np.int64),
        response_ns=zeros(s.n_transactions, np.int64), ended_at=zeros(s.n_transactions, np.int64))
