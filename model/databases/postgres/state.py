"""PostgreSQL as it runs: its settings by version, its processes, and everything they share.

Processes are numbered: the clients with their backends, 0 to n - 1; the WAL writer; the checkpointer; the background writer.
(Until 9.1 the last two are one process: while it writes a checkpoint and is behind, nobody cleans.) Each is in one PHASE,
which says what it does when its time comes. It has at most one event ahead of it in the calendar.

Two kinds of resources are shared: CPUs of the server, and threads of the client program. pgbench before 9.0 has one thread,
which serves all its clients in turn. Both serve first come, first served; a statement keeps its CPU for all its computing.

Defaults and changes of the settings are from PostgreSQL's documentation of "Write Ahead Log" and "Resource Consumption", and
from the release notes. 9.1 has automatic wal_buffers. 9.2 has a checkpointer apart, and all who wait for a flush wake at
once. In 9.3 the leader of a group waits commit_delay, and shared_buffers are 128 MB. 9.5 has max_wal_size, new records and
wal_compression. 9.6 writes checkpoints in order of files and blocks. 11 measures checkpoints from one checkpoint; 14 has a
completion target of 0.9. 17 and 18 are as 16: what they read ahead without waiting, and how they vacuum, pgbench does not
feel. 18 has check-sums of pages by default, so it logs pages whose hint bits change. But those of pgbench are updated at the
same visit.

What follows is not told apart. None of it moves rates or log by a tenth where commits wait for a disk or a drive. Processor
time: 16.2 is at most a fifth off 9.0 in point queries and writes (M. Callaghan, "Perf regressions in Postgres from 9.0 to
16", February 2024). WAL insertion by one at a time until 9.3, as a time of its own. ProcArrayLock taken by each commit until
9.5: where all is in memory it costs 30 % at 64 clients, and more beyond (A. Kapila, "Improved Writes in PostgreSQL for
9.6"). sync_file_range from 9.6 on, which ZFS does not have. How files of the log are made (`wal_init_zero`, `wal_recycle` of
12).
"""

from typing import Any, NamedTuple

import numpy as np

from model.databases.postgres import columns as pg
from model.databases.postgres.pgbench import FORMAT_8_3, FORMAT_9_5, PAGE_BYTES, Database, Locks, new_locks
from model.databases.postgres.stats import COUNTS
from model.events.calendar import NEVER, Calendar, new_calendar
from model.events.clock import MS, SECOND_NS
from model.events.queues import NOBODY, new_queues
from model.events.servers import CPUS, seize
from model.events.streams import stream
from model.filesystems.calls import Calls, new_calls
from model.jit import kernel

SEGMENT_BYTES = 2**24  # XLOG_SEG_SIZE

OPEN_DATASYNC, FDATASYNC, NO_FSYNC = 0, 1, 2  # wal_sync_method; fsync = off


PAYLOAD = PAGE_BYTES - 24  # B of records in a page of log
PAGES_PER_SEGMENT = SEGMENT_BYTES // PAGE_BYTES


DRAWS = 4096  # transactions drawn at a time
AT_WORK = 2  # a value of Settings.is_warm


class Settings(NamedTuple):
    """The test, and postgresql.conf; defaults are those of 8.3 on Solaris."""

    n_clients: int
    n_transactions: int
    duration_ns: int = NEVER
    n_client_threads: int = 1
    n_cpus: int = 8
    trip_ns: int = 0  # of a client thread, for one statement and its answer
    spread_cpu: int = 0  # 1: CPU times of a transaction are multiplied by an exponential draw of mean 1
    handoff_ns: int = 0  # until who is woken runs
    is_warm: int = 1  # shared buffers are full of pages at the start; AT_WORK: as hours of work leave them
    interval_transactions: int = 0  # AT_WORK: between checkpoints, before the start; 0: no checkpoint for long
    checkpoint_pace: float = 0.0  # AT_WORK: pages a transaction that a checkpoint came to then, at most; 0: all in time
    n_seconds: int = 0  # to be recorded one by one
    shared_buffers_bytes: int = 32 * 2**20
    wal_buffers_bytes: int = 64 * 2**10
    wal_sync_method: int = OPEN_DATASYNC
    full_page_writes: int = 1
    synchronous_commit: int = 1
    commit_delay_ns: int = 0
    commit_siblings: int = 5
    leader_delays: int = 0  # 9.3: commit_delay is slept by who flushes, with the lock
    wakes_all: int = 0  # 9.2: all who wait for a flush look again when it is done
    wal_writer_delay_ns: int = 200 * MS
    checkpoint_timeout_ns: int = 300 * SECOND_NS
    checkpoint_segments: float = 3.0  # from 9.5 on: of max_wal_size, see `segments_of`
    checkpoint_completion_target: float = 0.5
    checkpoint_nap_ns: int = 200 * MS  # bgwriter_delay; from 9.2 on 100 ms
    keeps_two_checkpoints: int = 1  # until 10
    ready_segments: int = -1
    is_sorted: int = 0
    one_writer: int = 1
    bgwriter_delay_ns: int = 200 * MS
    bgwriter_lru_maxpages: int = 100
    bgwriter_lru_multiplier: float = 2.0


def segments_of(version, max_wal_size_bytes, completion_target):
    """Segments between checkpoints (9.5: measured from the last but one): as many as the maximum allows."""
    return max(1.0, max_wal_size_bytes / SEGMENT_BYTES / ((1 if version >= 11 else 2) + completion_target))


def settings_of(version: float, n_clients: int, n_transactions: int, max_wal_size_bytes: int = 2**30,
                **conf: float) -> Settings:
    """Settings of a `version` from 8.3 to 18 (8.3, 8.4, 9.0 ... 9.6, 10, 11 ...), with `conf` changed."""
    if not 8.3 <= version < 19:
        raise ValueError(f"version is {version}, but PostgreSQL is modelled from 8.3 to 18; choose one of these")
    chosen: dict[str, Any] = {"shared_buffers_bytes": (128 if version >= 9.3 else 32) * 2**20} | conf
    target = chosen.setdefault("checkpoint_completion_target", 0.9 if version >= 14 else 0.5)
    if version >= 9.1:
        chosen.setdefault("wal_buffers_bytes", min(max(chosen["shared_buffers_bytes"] // 32, 64 * 2**10), SEGMENT_BYTES))
    if version >= 9.2:
        chosen |= {"one_writer": 0, "wakes_all": 1, "checkpoint_nap_ns": 100 * MS}
    if version >= 9.5:
        chosen.setdefault("checkpoint_segments", segments_of(version, max_wal_size_bytes, target))
    return Settings(n_clients=n_clients, n_transactions=n_transactions, leader_delays=int(version >= 9.3),
                    is_sorted=int(version >= 9.6), keeps_two_checkpoints=int(version < 11), **chosen)


def format_of(version: float) -> int:
    """The format of log records in this version of PostgreSQL: FORMAT_9_5 from 9.5 on."""
    return FORMAT_9_5 if version >= 9.5 else FORMAT_8_3


class Pages(NamedTuple):
    """Every page of the database, in memory or not."""

    frame_of: np.ndarray  # 0: none
    lsn: np.ndarray  # up to where the log must be stable before the page is written
    free: np.ndarray  # slots for new versions of rows
    dead: np.ndarray  # slots of versions that can be pruned


class Buffers(NamedTuple):
    """Shared buffers. Frame 0 is never filled."""

    page: np.ndarray
    usage: np.ndarray
    flags: np.ndarray
    pins: np.ndarray
    clock: np.ndarray  # see pg.HAND and the others


class Machine(NamedTuple):
    """All state of a running PostgreSQL: its settings, its database, and arrays that kernels change in place."""

    s: Settings
    database: Database
    calendar: Calendar
    process: np.ndarray  # [process, column]; see pg.PHASE and the others
    after: np.ndarray  # per process: who is next in the queue it waits in
    queue: np.ndarray  # [queue, first or last]
    busy: np.ndarray  # per queue: servers, or 1 if the lock is held
    service_ns: np.ndarray  # per process
    locks: Locks
    calls: Calls
    wal: np.ndarray  # see pg.INSERTED and the others
    pages: Pages
    buffers: Buffers
    tail: np.ndarray  # [relation, column]; see pg.ROWS
    checkpoint: np.ndarray  # see pg.BEGAN_AT and the others
    cleaner: np.ndarray  # see pg.SMOOTHED_TAKEN and the others
    unsynced: np.ndarray  # per file: pages written since its last fsync
    touched: np.ndarray  # [process, step]: pages of its statement
    changes: np.ndarray  # [process, step]: IMAGE bytes if it is changed, else 0
    held: np.ndarray  # [process, statement]: lock, or NOBODY
    updated: np.ndarray  # [process, statement]: page with an old version, or NOBODY
    row: np.ndarray  # [process, relation]
    draws: np.ndarray  # [transaction, relation and one more]
    n_drawn: np.ndarray  # [of these, of all]: begun
    counts: np.ndarray  # see stats.COUNTS
    per_second: np.ndarray  # [count, second]
    response_ns: np.ndarray
    ended_at: np.ndarray


# ---- service ----


@kernel
def ask_client(m, now, process):
    """Hand the statement to a thread of the client program."""
    seize(m, now, pg.CLIENTS, m.s.n_client_threads, process, m.s.trip_ns)


@kernel
def ask_cpu(m, now, process):
    """The backend `process` asks for a processor, for as long as its statement computes."""
    cpu_ns = m.database.statements[m.process[process, pg.STATEMENT], pg.CPU_NS]
    seize(m, now, CPUS, m.s.n_cpus, process, cpu_ns * m.process[process, pg.CPU_FACTOR] >> 20)


# ---- making one ----


def check_settings(s: Settings, database: Database) -> None:
    """Refuses settings that cannot be run: a ValueError names the first one, its value and its bound."""
    n_frames = s.shared_buffers_bytes // PAGE_BYTES
    for name, min_value in (("n_clients", 1), ("n_transactions", 1), ("n_cpus", 1), ("n_client_threads", 1),
                            ("duration_ns", 1), ("checkpoint_timeout_ns", SECOND_NS), ("checkpoint_segments", 1),
                            ("wal_writer_delay_ns", MS), ("wal_buffers_bytes", 4 * PAGE_BYTES),
                            ("bgwriter_delay_ns", MS), ("checkpoint_nap_ns", MS), ("trip_ns", 0), ("handoff_ns", 0),
                            ("commit_delay_ns", 0), ("interval_transactions", 0), ("checkpoint_pace", 0)):
        if getattr(s, name) < min_value:
            raise ValueError(f"{name} is {getattr(s, name)}, but must be at least {min_value}; choose that or more")
    if n_frames < 16 * s.n_clients:
        raise ValueError(f"shared_buffers_bytes is {s.shared_buffers_bytes} B, but {s.n_clients} clients need 16 pages "
                         f"each; choose {16 * s.n_clients * PAGE_BYTES} B or more")
    if not 0 <= s.checkpoint_completion_target <= 1:
        raise ValueError(f"checkpoint_completion_target is {s.checkpoint_completion_target}, but is a part of the time "
                         "between checkpoints; choose 0 to 1")
    if s.trip_ns == 0 and database.statements[:, pg.CPU_NS].sum() == 0:
        raise ValueError("a transaction takes no time at all, neither trip_ns nor CPU; let one of them be more than 0")


def draw(draws, seed_stream):
    """Rows, as a part of the table, and the factor of the CPU times, for the transactions to come."""
    seed_stream.random(out=draws)
    draws[:, -1] = -np.log1p(-draws[:, -1])


def draws_of(seed):
    """The stream that the rows of all transactions are drawn from."""
    return stream(seed, "postgres transactions")


def new_pages(database):
    """All pages of the database's files, 2^17 a file of 1 GiB; none is in memory."""
    n = database.n_files << 17
    return Pages(frame_of=np.zeros(n, np.int32), lsn=np.zeros(n, np.int64), free=np.zeros(n, np.int16),
                 dead=np.zeros(n, np.int16))


def new_machine(database: Database, s: Settings, seed_stream: np.random.Generator) -> Machine:
    """A server at rest before its first transaction: nothing in its buffers, an empty log."""
    n, n_relations = s.n_clients, len(database.relations)
    frames, statements = s.shared_buffers_bytes // PAGE_BYTES + 1, max(1, len(database.statements))
    draws = np.empty((DRAWS, n_relations + 1))
    draw(draws, seed_stream)
    zeros = np.zeros
    return Machine(
        s=s, database=database, calendar=new_calendar(n + 3), process=zeros((n + 3, pg.N_PROCESS), np.int64),
        after=np.full(n + 3, NOBODY), queue=new_queues(pg.N_QUEUES), busy=zeros(pg.N_QUEUES, np.int64),
        service_ns=zeros(n + 3, np.int64), locks=new_locks(max(1, database.n_locks)), calls=new_calls(n + 3),
        wal=zeros(16, np.int64), pages=new_pages(database),
        buffers=Buffers(
            page=zeros(frames, np.int64), usage=zeros(frames, np.int8), flags=zeros(frames, np.int8),
            pins=zeros(frames, np.int16), clock=zeros(8, np.int64)),
        tail=zeros((n_relations, 3), np.int64), checkpoint=zeros(16, np.int64), cleaner=zeros(16),
        unsynced=zeros(database.n_files, np.int64), touched=zeros((n, 6), np.int64), changes=zeros((n, 6), np.int64),
        held=np.full((n, statements), NOBODY), updated=np.full((n, statements), NOBODY),
        row=zeros((n, n_relations), np.int64), draws=draws, n_drawn=zeros(2, np.int64),
        counts=zeros(len(COUNTS), np.int64), per_second=zeros((len(COUNTS), s.n_seconds), np.int64),
        response_ns=zeros(s.n_transactions, np.int64), ended_at=zeros(s.n_transactions, np.int64))
