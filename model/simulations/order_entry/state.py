"""What the order-entry simulation is made of: parameters, state, and how a machine is put together.

`Orders` holds what an experiment chooses of users, database, appliance and pool. `Machine` is all state of it but the disks
(`model.zfs.vdev.leaves`) and free space (`model.zfs.metaslab.state`). The events are in `model.simulations.order_entry.run`
and its chapters.

*Scale.* The pool of the test held terabytes. It is simulated to a scale of 1 to s, where s is how much larger a metaslab is.
Everything that is a length on disk is divided by s: metaslabs, database, redo logs, cylinders of a disk. So are the times
and stocks in which a given share of it is rewritten (time between runs; dirty buffers). By less so are the times of
transaction groups and what they take. What one I/O is and costs is not scaled. That is records, block sizes, tracks and
rates, the seek over a given share of the stroke, caches, queues, users. At s = 1 nothing is scaled.
"""

from typing import NamedTuple

import numpy as np

from model.devices.command_queue import Drive
from model.events import ring
from model.events.calendar import Calendar, new_calendar, set_time
from model.events.streams import stream
from model.simulations.order_entry import columns as order
from model.simulations.order_entry.workload import draws
from model.zfs.dmu.indirect import tree
from model.zfs.shared_numbers import COPIES, POINTER_SHIFT, TXG_SIZE
from model.zfs.txg import columns as throttled
from model.zfs.txg.throttle import T3, TxgParams, new_throttle
from model.zfs.vdev.cache import BYPASS_DATA, VdevCacheParams
from model.zfs.vdev.leaves import Leaves, new_leaves, new_recorder
from model.zfs.vdev.queue import VdevQueueParams
from model.zfs.vdev.raid import VdevParams, max_ios
from model.zfs.zil.log import MIN_BLOCK, SPLIT_BYTES, Zil, ZilParams, new_zil

# What a user does.
THINKING, QUEUED, RUNNING, READING, WITHOUT_BUFFER, COMMITTING = range(6)
DOINGS = ("think", "cpu_queue", "cpu", "read", "free_buffer", "log_sync")

# How a run ended.
DONE, OUT_OF_SPACE = 0, 1

# What the intent log of a share does, and a database writer.
IDLE, WRITING, FLUSHING = 0, 1, 2


# What wants a place.
RECORD, LOG_BLOCK, OTHER_DATA, INDIRECT_BLOCK, REDO_RECORD, SYNCED_RECORD = range(6)

THROUGHPUT, LATENCY = 0, 1  # logbias

SYNC_IOS = 2**13  # I/Os that the sync thread has under way at most, or a few more
MIN_LOG_BLOCKS, MAX_LOG_BLOCKS = 64, 2**20  # there is room for, in one write of redo: see `log_blocks_of`
REDO_BYTES = 2**17  # in which redo is counted: the record of the log shares, as in the document


class Orders(NamedTuple):
    """One machine and its load. Lengths on disk, and times that go with them, are to scale (see above)."""

    n_users: int = 64  # of the long series, as in the document
    think_ns: int = 0  # mean, exponential
    cpu_ns: int = 4_000_000  # of a transaction, in equal parts before, between and after its reads
    n_cpus: int = 8  # of the database server
    reads: float = 6.0  # buffer misses of a transaction, mean; drawn from 0 to twice that
    dirtied: float = 3.0  # blocks that a transaction changes, mean; likewise
    redo_bytes: int = 6000  # B that a transaction writes to the redo log
    hot_share: float = 0.2  # of the records, in a piece,
    hot_hits: float = 0.5  # that get this share of all reads and changes
    neighbours: float = 0.0  # share of the changes that go to the record behind the one before
    dirty_target: int = 500  # blocks; database writers sleep below
    max_dirty: int = 2000  # blocks; a user that wants more waits: no free buffers
    n_writers: int = 2  # processes of the database that write
    writes_per_batch: int = 64  # blocks that each has under way at most, all done before the next
    wire_ns: int = 30_000  # between two writes of a writer
    op_ns: int = 300_000  # network, server and client, of one read or write
    cached: float = 0.3  # share of the reads that the appliance answers from memory
    misses_indirect: float = 0.0  # of the other reads, share for which the block above the record is not in memory either
    has_slog: int = 1  # 0: the redo goes to log blocks of the main pool
    slog_ns: int = 250_000  # a write to the log device, whatever its size
    slog_rate: int = 160_000_000  # B/s, besides
    n_shares: int = 2  # of data files: each has an intent log of its own
    logbias: int = THROUGHPUT  # of the data; with LATENCY it is a LUN, see model.simulations.order_entry.lun
    sync_record_ns: int = 15_000  # LUN: CPU of a group for a block, some 40 us on the two to four processors that share it
    txg: TxgParams = TxgParams(timeout_ns=500_000_000, from_sync=1, rule=T3)  # of b103 to b141; spec 5.6
    max_limit: int = 6 * 2**33  # B, inflated, that a group takes at most: of an eighth of 64 GiB of memory
    sync_block_ns: int = 80_000  # CPU for an indirect block: LZJB of 16 KiB, two copies
    flush_ns: int = 300_000  # a cache flush, besides what is still to be written
    load_block_ns: int = 500_000  # 4 KiB of a space map that is being loaded: read and sorted in
    record_bytes: int = 4096  # of the data shares, as in the document
    indirect_bytes: int = 8192  # B on disk: 7 to 7.5 KiB by LZJB, in whole records; spec 5.1
    n_records: int = 2**17  # of the database
    redo_record_bytes: int = REDO_BYTES  # of the shares or LUNs of the redo logs
    n_redo_records: int = 64  # of these, written round and round
    n_vdevs: int = 4
    vdev: VdevParams = VdevParams()
    zil: ZilParams = ZilParams()  # of log blocks: how large they are


class Sources(NamedTuple):
    """Numbers of the sources of events, or of the first of several; disks have theirs."""

    sync: int
    timer: int
    shares: int
    log_writer: int
    writers: int
    users: int


def sources_of(orders, n_leaves):
    """Numbers of the sources of events: disks first, then the sync, a timer, shares, writers and users."""
    n, log_writer = n_leaves, n_leaves + 2 + orders.n_shares
    return Sources(sync=n, timer=n + 1, shares=n + 2, log_writer=log_writer, writers=log_writer + 1,
                   users=log_writer + 1 + orders.n_writers)


class Machine(NamedTuple):
    """All state of the order entry on its pool, in arrays that kernels change in place."""

    orders: Orders
    users: np.ndarray  # [user, column]; see order.DOING
    doing_ns: np.ndarray  # per doing: time that users have spent so
    calendar: Calendar
    sources: Sources
    tally: np.ndarray  # see order.TALLY
    # rings, and their ends: model.events.ring
    cpu_ring: np.ndarray  # users that wait for a CPU
    cpu_ends: np.ndarray
    short_ring: np.ndarray  # users without a buffer
    short_ends: np.ndarray
    dirty_ring: np.ndarray  # records, in the order in which they were dirtied
    dirty_ends: np.ndarray
    commit_ring: np.ndarray  # users that wait for the log writer
    commit_ends: np.ndarray
    counts: np.ndarray  # see order.N_RUNNING
    writers: np.ndarray  # [writer, column]; see order.TO_ISSUE
    pending: np.ndarray  # [share, place, column]: blocks that wait for the intent log, a ring; see
    #   order.PENDING_RECORD
    shares: np.ndarray  # [share, column]; see order.STAGE. The last row is that of the redo logs, if they have no log device
    touched: np.ndarray  # [share, leaf]: 1 if the commit under way writes there
    is_dirty: np.ndarray  # uint8 per record: in the dirty ring
    # where everything lies: vdev << LEAF_SHIFT | B, labels included
    record_at: np.ndarray
    indirect_at: np.ndarray  # [L1s, then L2s, then above; copy]
    redo_at: np.ndarray
    wanted: np.ndarray  # [i, column]: blocks that are to get a place; see order.KIND
    n_wanted: np.ndarray  # one element
    # transaction groups
    txg: np.ndarray  # see order.OPEN
    dirtied_in: np.ndarray  # per indirect block: the last group in which it was dirtied
    dirty_indirect: np.ndarray  # [slot of group, i]: in the order of being dirtied, level by level
    n_dirty: np.ndarray  # [slot of group, level], and the redo records last
    first_of: np.ndarray  # per level: its first indirect block
    record_dirtied_in: np.ndarray  # per record: the last group in which it was dirtied
    throttle: np.ndarray  # see model.zfs.txg.throttle
    # a LUN's dirty blocks, in chains below each of the lowest indirect blocks
    first_below: np.ndarray  # [slot of group, indirect block]
    last_below: np.ndarray
    next_below: np.ndarray  # [slot of group, record]
    # intent logs: of the shares, and that of the redo logs last
    zil: Zil
    # draws
    read_record: np.ndarray  # [user, i]: -1 for what the appliance has in memory; WITHOUT_ABOVE more without the L1 above
    dirty_record: np.ndarray
    n_reads: np.ndarray
    n_dirtied: np.ndarray
    think: np.ndarray  # ns
    # I/Os
    arrived: np.ndarray  # per I/O: ns


_SHARES = ("hot_share", "hot_hits", "neighbours", "cached", "misses_indirect")
_WHOLE = {"n_users": (1, 2**14), "n_cpus": (1, 2**14), "dirty_target": (0, 2**24), "max_dirty": (1, 2**24),
          "n_writers": (1, 256), "writes_per_batch": (1, 4096), "n_shares": (1, 256), "record_bytes": (512, 2**17),
          "indirect_bytes": (512, 2**17), "n_records": (128, 2**32), "n_redo_records": (1, 2**24), "n_vdevs": (1, 2**10),
          "redo_bytes": (0, 2**30), "slog_rate": (1, 10**12),
          "has_slog": (0, 1), "logbias": (0, 1),
          "redo_record_bytes": (512, 2**17)}


def check_orders(orders):
    """Raise ValueError with one sentence unless there can be such a machine."""
    for name, value in orders._asdict().items():
        if name in ("vdev", "zil", "txg"):
            continue
        low, high = _WHOLE.get(name, (0, 1 if name in _SHARES else 1000 if name in ("reads", "dirtied") else 10**12))
        if not low <= value <= high or (name in _WHOLE and value != int(value)):
            raise ValueError(f"{name} of the order entry is {value}, but it must be from {low} to {high}; choose a value "
                             "in that range")
    for name, low, high in (("timeout_ns", 10**6, 10**12), ("sync_target_ns", 10**6, 10**12), ("min_limit", 1, 2**40)):
        if not low <= (value := getattr(orders.txg, name)) <= high:
            raise ValueError(f"{name} of the order entry's groups is {value}, but it must be from {low} to {high}; choose a "
                             "value in that range")
    if orders.record_bytes % 512:
        raise ValueError(f"record_bytes of the order entry is {orders.record_bytes}, but a record is whole sectors of 512; "
                         "choose a multiple of 512")
    if log_blocks_of(orders) > MAX_LOG_BLOCKS:
        raise ValueError(f"{orders.n_users} users with {orders.redo_bytes} B of redo each may write {log_blocks_of(orders)} "
                         f"log blocks at once, but {MAX_LOG_BLOCKS} is the most. Choose fewer users or less redo")
    if 2 * orders.dirtied > orders.max_dirty:
        raise ValueError(f"max_dirty is {orders.max_dirty}, but one transaction may change {2 * orders.dirtied:g} blocks; "
                         "choose at least that")


def _numbers(*shape):
    return np.zeros(shape, np.int64)


def _power_above(n):
    return 1 << max(1, int(n).bit_length())


def levels_of(n_records):
    """(first indirect block of each level, how many there are in all)."""
    counts = tree(n_records)[1:]
    return np.cumsum([0, *counts[:-1]]), sum(counts)


def log_blocks_of(orders):
    """Log blocks that one write of redo needs at most: all users may wait for it, and each entry of SPLIT_BYTES may begin a
    block. A mean size of such writes, by which a pool ages, is twice as much at most (`series.rewrite`)."""
    n_entries = 2 * int(orders.n_users) * int(orders.redo_bytes) // SPLIT_BYTES
    return MIN_LOG_BLOCKS + (0 if orders.has_slog else n_entries)


def n_ios_of(orders):
    """I/Os that can be about: a read of each user, what writers and intent logs, and the sync thread, may have under way."""
    blocks = orders.n_writers * orders.writes_per_batch + orders.n_shares + log_blocks_of(orders)
    return (orders.n_users + blocks + COPIES) * max_ios(orders.vdev) + SYNC_IOS


def leaves_of(orders: Orders, drive: Drive, queue: VdevQueueParams, seed: int) -> Leaves:
    """The disks of the pool, at rest, without vdev cache for data."""
    n_leaves = orders.n_vdevs * orders.vdev.n_children
    phase = (stream(seed, "spindles").random(n_leaves) * drive.disk.rev_ns).astype(np.int64)
    cache = VdevCacheParams(fill_rule=BYPASS_DATA, cache_bytes=0)
    n_tasks = orders.n_users + orders.n_shares + 2
    leaves = new_leaves(n_leaves, cache, queue, drive, phase, n_ios_of(orders), n_tasks, new_recorder(), 0, orders.vdev)
    return leaves._replace(outbox=np.zeros(n_ios_of(orders), np.int64))


def nowhere(orders):
    """(record_at, indirect_at, redo_at) of a database that is yet to be written."""
    _, n_indirect = levels_of(orders.n_records)
    return tuple(np.full(shape, -1) for shape in (orders.n_records, (n_indirect, COPIES), orders.n_redo_records))


def _chains(orders):
    """(first_below, last_below, next_below); next to nothing unless there is a LUN."""
    n_records = orders.n_records if orders.logbias == LATENCY else 0
    n_lowest = (n_records >> POINTER_SHIFT) + 1
    return *np.zeros((2, TXG_SIZE, n_lowest), np.int64), np.zeros((TXG_SIZE, n_records), np.int64)


def new_machine(orders: Orders, seed: int, before: Machine | None = None) -> Machine:
    """A Machine at rest at time 0. Its database is yet to be written, or that of the machine `before`."""
    check_orders(orders)
    n_leaves = orders.n_vdevs * orders.vdev.n_children
    first, n_indirect = levels_of(orders.n_records)
    sources = sources_of(orders, n_leaves)
    n_blocks = _power_above(orders.n_writers * orders.writes_per_batch)
    record_at, indirect_at, redo_at = nowhere(orders) if before is None else (before.record_at, before.indirect_at,
                                                                              before.redo_at)
    first_below, last_below, next_below = _chains(orders)
    read_record, dirty_record, n_reads, n_dirtied, think = draws(orders, seed)
    m = Machine(
        orders=orders, users=_numbers(orders.n_users, order.N_USER_COLUMNS), doing_ns=_numbers(len(DOINGS)),
        calendar=new_calendar(sources.users + orders.n_users), sources=sources, tally=_numbers(len(order.TALLY)),
        cpu_ring=_numbers(_power_above(orders.n_users)), cpu_ends=_numbers(ring.N_ENDS),
        short_ring=_numbers(_power_above(orders.n_users)), short_ends=_numbers(ring.N_ENDS),
        dirty_ring=_numbers(_power_above(orders.max_dirty + int(2 * orders.dirtied) + 1)), dirty_ends=_numbers(ring.N_ENDS),
        commit_ring=_numbers(_power_above(orders.n_users)), commit_ends=_numbers(ring.N_ENDS),
        counts=_numbers(order.N_COUNTS), writers=_numbers(orders.n_writers, order.N_WRITER_COLUMNS),
        pending=_numbers(orders.n_shares, n_blocks, order.N_PENDING_COLUMNS),
        shares=_numbers(orders.n_shares + 1, order.N_SHARE_COLUMNS), touched=_numbers(orders.n_shares + 1, n_leaves),
        is_dirty=np.zeros(orders.n_records, np.uint8), record_at=record_at, indirect_at=indirect_at, redo_at=redo_at,
        wanted=_numbers(n_blocks + log_blocks_of(orders), order.N_WANTED_COLUMNS), n_wanted=_numbers(1),
        txg=_numbers(order.N_TXG_ELEMENTS), dirtied_in=_numbers(n_indirect), dirty_indirect=_numbers(TXG_SIZE, n_indirect),
        n_dirty=_numbers(TXG_SIZE, len(first) + 1),
        first_of=first, record_dirtied_in=_numbers(orders.n_records), throttle=new_throttle(orders.txg.min_limit),
        first_below=first_below, last_below=last_below, next_below=next_below,
        zil=new_zil(orders.n_shares + 1, n_entries=1, n_tasks=1, n_blocks=4), read_record=read_record,
        dirty_record=dirty_record, n_reads=n_reads, n_dirtied=n_dirtied, think=think, arrived=_numbers(n_ios_of(orders) + 1))
    m.txg[order.OPEN], m.shares[:, order.IN_HAND] = 1, MIN_BLOCK
    if before is not None:
        m.txg[:] = before.txg
        m.counts[order.LOADED], m.counts[order.REDO_AT] = before.counts[order.LOADED], before.counts[order.REDO_AT]
        m.throttle[:throttled.DIRTY] = before.throttle[:throttled.DIRTY]
    start_users(m)
    return m


def start_users(m):
    """Everything begins at 0."""
    for user in range(m.orders.n_users):
        set_time(m.calendar, m.sources.users + user, 0)
    set_time(m.calendar, m.sources.timer, m.orders.txg.timeout_ns)

