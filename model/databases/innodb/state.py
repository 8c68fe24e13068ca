"""InnoDB as it runs: its settings by version of MySQL, its processes, and everything they share.

Processes are numbered. First come the clients' connections, 0 to n - 1, then the master thread. Then who flushes from the
list of dirty pages, who flushes from the end of the LRU list, who makes checkpoints. Last are the write threads. In InnoDB
the three in the middle are no threads. A user's thread or the master does that work itself, and only one at a time can do
each. Here it asks, and waits for the end, which comes to the same.

CPUs are shared by clients and server, first come, first served; a statement keeps its CPU for all its computing.

Defaults of the settings by version (manuals and work logs of MySQL):

                                  5.0, 5.1    5.4.0        5.4.2        5.5
    innodb_buffer_pool_size       8 MB        1 GB         1 GB         128 MB    5.4.0: work log 4980
    innodb_log_file_size x n      5 MB x 2    128 MB x 3   128 MB x 3   5 MB x 2  likewise; changes of 5.4.2
    innodb_log_buffer_size        1 MB        16 MB        16 MB        8 MB      likewise
    innodb_max_dirty_pages_pct    90          75           75           75        likewise
    innodb_io_capacity            (100)       200          200          200       likewise; a constant before
    innodb_write_io_threads       1           8            4            4         likewise; manual of 5.5
    innodb_thread_concurrency     8           0            0            0         work log 4965
    innodb_adaptive_flushing      -           -            on           on        plugin 1.0.4
    pages made young again after  1/1024 of the pool was replaced;      5/32 of it: plugin 1.0.5, buf0buf.ic

                                  5.6         5.7          8.0          8.4
    innodb_log_file_size x n      48 MB x 2   48 MB x 2    48 MB x 2    50 MB x 2 8.4: innodb_redo_log_capacity, 100 MB
    innodb_log_buffer_size        8 MB        16 MB        16 MB        64 MB
    innodb_max_dirty_pages_pct    75          75           90           90
       ..._lwm                    0           0            10           10
    innodb_io_capacity, _max      200, 2000   200, 2000    200, 2000    10000, 20000
    innodb_flush_neighbors        1           1            0            0
    innodb_change_buffering       all         all          all          none
    log_bin; sync_binlog          off; 0      off; 1       on; 1        on; 1
    checkpoints every             7 s         7 s          1 s          1 s       srv0srv.cc; log0chkp.cc
    pages are flushed by the page cleaner (`model.databases.innodb.page_cleaner`). Commits share syncs of the binary log.

Of 5.6 and later, the manuals' chapters on InnoDB's startup options. 5.4.0 is 5.1 with patches by Google, 5.4.2 has the
plugin 1.0.4. Values of 5.4.2 that are not in its changes are 5.5's. On Solaris there is no O_DIRECT: the file system's
directio does that. Until 5.7 there is no binary log by default (`log_bin`).
"""

from typing import NamedTuple

import numpy as np

from model.databases.innodb import columns as inno
from model.databases.innodb.stats import COUNTS
from model.databases.innodb.sysbench import DRAWN_AT_A_TIME, Oltp, draw
from model.databases.innodb.tables import N_UNDO_PAGES, PAGE_BYTES, Table, new_table
from model.events.calendar import NEVER, Calendar, new_calendar
from model.events.queues import NOBODY, new_queues
from model.events.servers import typed
from model.filesystems.calls import Calls, new_calls

FDATASYNC, O_DSYNC, NO_SYNC = 0, 1, 2  # innodb_flush_method: the default (fsync); the log written through; nosync
COLD, WARM, AS_LOADED, AT_WORK = 0, 1, 2, 3  # how the buffer pool begins


CHUNK_PAGES = 128  # the double-write area: two extents


HISTORY = 20  # seconds that adaptive flushing remembers: BUF_FLUSH_STAT_N_INTERVAL
MAX_HISTORY = 30  # the page cleaner: innodb_flushing_avg_loops


class Settings(NamedTuple):
    """The test, and my.cnf; defaults are those of MySQL 5.4.0."""

    n_clients: int
    n_transactions: int
    duration_ns: int = NEVER
    n_cpus: int = 8
    wire_ns: int = 0  # of a statement and its answer, without a CPU
    spread_cpu: int = 0  # 1: CPU times of a transaction are multiplied by an exponential draw of mean 1
    handoff_ns: int = 0  # until who is woken runs
    start: int = AS_LOADED
    n_seconds: int = 0  # to be recorded one by one
    buffer_pool_bytes: int = 2**30
    log_file_bytes: int = 2**27
    n_log_files: int = 3
    log_buffer_bytes: int = 2**24
    flush_log_at_trx_commit: int = 1
    flush_method: int = FDATASYNC
    doublewrite: int = 1
    max_dirty_pages_pct: float = 75.0
    io_capacity: int = 200
    write_io_threads: int = 8
    thread_concurrency: int = 0  # 0: no limit
    adaptive_flushing: int = 0
    young_again: float = 1 / 1024  # share of the pool
    log_bin: int = 0
    flush_after_binlog: int = 0  # 1: the commit is made stable after the next one may write the binary log (plugin 1.0.4)
    log_factor: float = 1.0  # bytes logged, relative to what model.databases.innodb.tables adds up
    page_cleaner: int = 0  # 5.6: a thread of its own flushes, by rules of its own
    io_capacity_max: int = 2000
    lru_scan_depth: int = 1024  # of all instances of the pool together
    adaptive_flushing_lwm: float = 10.0  # % of the log's capacity
    max_dirty_pages_pct_lwm: float = 0.0  # 0: none
    flush_neighbors: int = 1
    change_buffering: int = 0  # 1: leaves of the index on k that are not in memory are not read to be changed
    checkpoint_rounds: int = 10  # of the master, or of the page cleaner
    shares_binlog: int = 0  # 5.6: commits that come together share the writes and syncs of the binary log
    sync_binlog: int = 0  # every so many groups
    transactions_a_second: int = 0  # AT_WORK: before the start


PLUGIN = {"adaptive_flushing": 1, "write_io_threads": 4, "flush_after_binlog": 1}
OLD = {"buffer_pool_bytes": 2**23, "log_file_bytes": 5 * 2**20, "n_log_files": 2, "log_buffer_bytes": 2**20,
       "max_dirty_pages_pct": 90.0, "io_capacity": 100, "write_io_threads": 1, "thread_concurrency": 8}
OF_5_5 = PLUGIN | {"buffer_pool_bytes": 2**27, "log_file_bytes": 5 * 2**20, "n_log_files": 2, "log_buffer_bytes": 2**23,
                   "young_again": 5 / 32, "change_buffering": 1}
OF_5_6 = OF_5_5 | {"log_file_bytes": 48 * 2**20, "page_cleaner": 1, "checkpoint_rounds": 7, "shares_binlog": 1}
OF_5_7 = OF_5_6 | {"log_buffer_bytes": 2**24, "sync_binlog": 1}
OF_8_0 = OF_5_7 | {"max_dirty_pages_pct": 90.0, "max_dirty_pages_pct_lwm": 10.0, "flush_neighbors": 0,
                   "checkpoint_rounds": 1, "log_bin": 1}
OF_8_4 = OF_8_0 | {"log_file_bytes": 50 * 2**20, "log_buffer_bytes": 2**26, "io_capacity": 10_000,
                   "io_capacity_max": 20_000, "change_buffering": 0}
VERSIONS: dict[str, dict] = {
    "5.0": OLD, "5.1": OLD, "5.4.0": {}, "5.4.2": PLUGIN, "5.5": OF_5_5, "5.6": OF_5_6, "5.7": OF_5_7, "8.0": OF_8_0,
    "8.4": OF_8_4}
INSTANCE_DEPTH, INSTANCES, MIN_BYTES_FOR_INSTANCES = 1024, 8, 2**30  # innodb_lru_scan_depth; of pools of 1 GiB and more


def settings_of(version: str, n_clients: int, n_transactions: int, **conf: float) -> Settings:
    """Settings of a `version` of MySQL (see VERSIONS), with `conf` changed."""
    if version not in VERSIONS:
        raise ValueError(f"version is {version}, but MySQL is modelled as {', '.join(VERSIONS)}; choose one of these")
    chosen = VERSIONS[version] | conf
    if "io_capacity" in conf and "io_capacity_max" not in conf:
        chosen["io_capacity_max"] = max(2 * conf["io_capacity"], 2000)
    is_large = chosen.get("buffer_pool_bytes", 0) >= MIN_BYTES_FOR_INSTANCES
    chosen.setdefault("lru_scan_depth", INSTANCE_DEPTH * (INSTANCES if is_large else 1))
    return Settings(n_clients=n_clients, n_transactions=n_transactions, **chosen)


class Ring(NamedTuple):
    """Frames in order; frame 0 closes it. See model.structures.lru."""

    older: np.ndarray
    newer: np.ndarray


class Pages(NamedTuple):
    """Every page of the table space, in memory or not."""

    frame_of: np.ndarray  # 0: none
    is_on_disk: np.ndarray


class Frames(NamedTuple):
    """The buffer pool. Frame 0 is never filled."""

    page: np.ndarray
    flags: np.ndarray  # see model.databases.innodb.buffer_pool
    first_lsn: np.ndarray  # of the first change since it was clean
    last_lsn: np.ndarray
    moved_at: np.ndarray  # N_REPLACED when it was last made young
    use: Ring  # the LRU list
    dirty: Ring  # the flush list


class Machine(NamedTuple):
    """All state of a running InnoDB: its settings, its test, and arrays that kernels change in place."""

    s: Settings
    test: Oltp
    table: Table
    calendar: Calendar
    process: np.ndarray  # [process, column]; see inno.PHASE and the others
    after: np.ndarray  # see model.events.queues
    queue: np.ndarray
    busy: np.ndarray
    service_ns: np.ndarray
    calls: Calls
    log: np.ndarray  # see inno.MADE and the others
    limits: np.ndarray  # see inno.FLUSH_AGE: ages at which dirty pages and checkpoints are asked for
    pages: Pages
    frames: Frames
    pool: np.ndarray  # see inno.N_USED and the others
    batch: np.ndarray  # [LIST or LRU, column]
    chunk: np.ndarray  # [LIST or LRU, frames of pages that are flushed together]
    touched: np.ndarray  # [process, step]: pages of its statement
    changes: np.ndarray  # [process, step]: B of redo if it is changed, else 0
    holder: np.ndarray  # per row: process + 1, or 0
    has_k: np.ndarray  # per row: whether its entry is among those with k > 0
    held: np.ndarray  # [process, ...]: rows
    ids: np.ndarray  # [process, id]
    history: np.ndarray  # [redo or pages, second]: see model.databases.innodb.master, model.databases.innodb.page_cleaner
    draws: np.ndarray  # [transaction, id]
    factors: np.ndarray  # [transaction]
    n_drawn: np.ndarray  # [of these, of all]: begun
    counts: np.ndarray  # see stats.COUNTS
    per_second: np.ndarray  # [count, second]
    response_ns: np.ndarray
    ended_at: np.ndarray


def log_limits(s):
    """Ages, in B of log: dirty pages are flushed from the first on, and waited for from the second on. A checkpoint is made
    from the third on, and waited for from the fourth on. log_calc_max_ages of log0log.c."""
    capacity = s.n_log_files * (s.log_file_bytes - 2048)
    capacity -= capacity // 10
    room = 4 * PAGE_BYTES * (10 + s.thread_concurrency) + 8 * PAGE_BYTES
    margin = capacity - room
    margin -= margin // 10
    return np.array([margin - margin // 8, margin - margin // 16, margin - margin // 32, margin, capacity], np.int64)


def n_frames_of(s, table):
    """Frames for leaves: what stands above them has its own, which are never given up."""
    return s.buffer_pool_bytes // PAGE_BYTES - table.n_inner


def check_settings(s: Settings, test: Oltp) -> None:
    """Refuses settings that cannot be run: a ValueError names the first one, its value and its bound."""
    for name, min_value in (("n_clients", 1), ("n_transactions", 1), ("n_cpus", 1), ("duration_ns", 1), ("wire_ns", 0),
                            ("handoff_ns", 0), ("n_log_files", 2), ("transactions_a_second", int(s.start == AT_WORK)),
                            ("log_buffer_bytes", 2**18), ("io_capacity", 10), ("write_io_threads", 1),
                            ("thread_concurrency", 0), ("log_file_bytes", 2**20)):
        if getattr(s, name) < min_value:
            raise ValueError(f"{name} is {getattr(s, name)}, but must be at least {min_value}; choose that or more")
    for name, choices in (("flush_log_at_trx_commit", (0, 1, 2)), ("flush_method", (FDATASYNC, O_DSYNC, NO_SYNC)),
                          ("start", (COLD, WARM, AS_LOADED, AT_WORK)), ("doublewrite", (0, 1)), ("log_bin", (0, 1))):
        if getattr(s, name) not in choices:
            raise ValueError(f"{name} is {getattr(s, name)}, but can be {', '.join(map(str, choices))}; choose one of these")
    if s.n_clients > DRAWN_AT_A_TIME:
        raise ValueError(f"n_clients is {s.n_clients}, but no more than {DRAWN_AT_A_TIME} can begin at once; choose that or "
                         "less")
    if not 0 < s.max_dirty_pages_pct <= 100:
        raise ValueError(f"max_dirty_pages_pct is {s.max_dirty_pages_pct}, but is a percentage; choose 1 to 100")
    n_frames = n_frames_of(s, new_table(test.n_rows, test.k_is_random))
    if n_frames < 512 + 8 * s.n_clients:
        raise ValueError(f"buffer_pool_bytes is {s.buffer_pool_bytes} B, but {s.n_clients} clients need "
                         f"{512 + 8 * s.n_clients} pages of 16 KiB beside those of the index; choose a larger one")
    if 4 * PAGE_BYTES * (10 + s.thread_concurrency + s.n_clients) > s.log_file_bytes * s.n_log_files // 2:
        raise ValueError(f"log_file_bytes is {s.log_file_bytes} B, but {s.n_clients} clients need more for changes under "
                         "way; choose larger files of log")
    if s.wire_ns == 0 and test.statements[:, inno.CPU_NS].sum() == 0:
        raise ValueError("a transaction takes no time at all, neither wire_ns nor CPU; let one of them be more than 0")


def new_frames(n):
    """A buffer pool of `n` frames, frame 0 among them, with nothing in it."""
    use, dirty = (Ring(older=np.zeros(n, np.int64), newer=np.zeros(n, np.int64)) for _ in range(2))
    return Frames(page=np.zeros(n, np.int64), flags=np.zeros(n, np.int8), first_lsn=np.zeros(n, np.int64),
                  last_lsn=np.zeros(n, np.int64), moved_at=np.zeros(n, np.int64), use=use, dirty=dirty)


def new_machine(test: Oltp, s: Settings, seed_stream: np.random.Generator) -> Machine:
    """Everybody at rest, nothing in memory."""
    s = typed(s)
    check_settings(s, test)
    table = new_table(test.n_rows, test.k_is_random)
    n, zeros = s.n_clients + 4 + s.write_io_threads, np.zeros
    n_touched = max(6, int(test.statements[:, inno.N_ROWS].max()) // table.rows_per_leaf + 2)
    draws, factors = zeros((DRAWN_AT_A_TIME, test.n_ids), np.int64), zeros(DRAWN_AT_A_TIME)
    draw(test, draws, factors, seed_stream)
    is_on_disk = np.ones(table.n_pages, np.int8)
    is_on_disk[table.first_high:] = 0
    m = Machine(
        s=s, test=test, table=table, calendar=new_calendar(n), process=zeros((n, inno.N_PROCESS), np.int64),
        after=np.full(n, NOBODY), queue=new_queues(inno.N_QUEUES), busy=zeros(inno.N_QUEUES, np.int64),
        service_ns=zeros(n, np.int64), calls=new_calls(n), log=zeros(16, np.int64), limits=log_limits(s),
        pages=Pages(zeros(table.n_pages, np.int32), is_on_disk), frames=new_frames(n_frames_of(s, table) + 1),
        pool=zeros(16, np.int64), batch=zeros((3, 8), np.int64), chunk=zeros((3, CHUNK_PAGES), np.int64),
        touched=zeros((s.n_clients, n_touched), np.int64), changes=zeros((s.n_clients, n_touched), np.int64),
        holder=zeros(test.n_rows, np.int32), has_k=zeros(test.n_rows, np.int8),
        held=zeros((s.n_clients, len(test.statements)), np.int64), ids=zeros((s.n_clients, test.n_ids), np.int64),
        history=zeros((2, MAX_HISTORY), np.int64), draws=draws, factors=factors, n_drawn=zeros(2, np.int64),
        counts=zeros(len(COUNTS), np.int64), per_second=zeros((len(COUNTS), s.n_seconds), np.int64),
        response_ns=zeros(s.n_transactions, np.int64), ended_at=zeros(s.n_transactions, np.int64))
    m.process[:, [inno.WANTED, inno.ROW, inno.UNDO_PAGE, inno.LEADER]] = NOBODY
    m.pool[inno.NEXT_UNDO] = N_UNDO_PAGES - 1
    return m


