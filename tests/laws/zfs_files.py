"""A made-up database on a store, in plain Python, and the laws of what the store does for it.

Run without the compiler. Each process makes one call after the other, drawn from a mix; then everything comes to rest.
"""

from collections import Counter, defaultdict
from typing import NamedTuple

import numpy as np

from model.devices import drive_columns as queued
from model.devices.command_queue import FLUSH
from model.events import accounts, servers
from model.events.calendar import NEVER, new_calendar, set_time
from model.events.queues import NOBODY, new_queues
from model.events.streams import stream
from model.filesystems.calls import FSYNC, READ, WAL_WRITE_THROUGH, WRITE, ask, new_calls
from model.filesystems.zfs import calls as zfs_calls
from model.filesystems.zfs import columns as fs
from model.filesystems.zfs import read_ahead, txg_sync
from model.filesystems.zfs import reads as zfs_reads
from model.filesystems.zfs import stats as stat
from model.filesystems.zfs import store as zfs_store
from model.filesystems.zfs.file_layout import indirect_cpu_ns
from model.filesystems.zfs.state import FileSettings, Pool, Store
from model.filesystems.zfs.stats import COUNTS
from model.simulations import database_server
from model.structures.sentinels import NIL
from model.zfs.arc import columns as header
from model.zfs.arc import scalars as scalar
from model.zfs.arc.lists import ANONYMOUS, MFU, MFU_GHOST
from model.zfs.dmu import layout
from model.zfs.dmu.layout import indirect_bytes
from model.zfs.dmu.recordsize import records_dirtied
from model.zfs.eras import era
from model.zfs.txg import columns as throttled
from model.zfs.txg.throttle import DIRTY_DATA, dirty_bytes

SECOND, PAGE = 10**9, 8192
SEGMENT = 2**21  # the whole log
SMALL = FileSettings(record_bytes=8192, memory_bytes=2**27, n_ios=2**13, n_entries=4096, log_record_bytes=8192)
MIXED = ((WAL_WRITE_THROUGH, 0.5), (READ, 0.25), (WRITE, 0.24), (FSYNC, 0.01))


class Transactions(NamedTuple):
    n_transactions: int
    n_cpus: int


class Call(NamedTuple):
    process: int
    operation: int
    began: int
    ended: int


class Database:
    """Processes that make `n` calls in all; after each it computes for `think_ns`."""

    def __init__(self, n_processes, n, mix, n_pages, seed, think_ns, in_order=False, n_cpus=64):
        self.calendar, self.calls = new_calendar(n_processes), new_calls(n_processes)
        self.counts, self.s = np.zeros(1, np.int64), Transactions(n, n_cpus)
        self.queue, self.after, self.busy = new_queues(1), np.full(n_processes, NOBODY), np.zeros(1, np.int64)
        self.service_ns = np.zeros(n_processes, np.int64)
        self.n_drawn, self.draws = np.zeros(1, np.int64), range(10**9)
        self.mix, self.n_pages, self.think_ns, self.random = mix, n_pages, think_ns, stream(seed, "calls")
        self.in_order, self.n_asked, self.asked = in_order, 0, Counter()
        self.log_at, self.under_way, self.thinks, self.history = 0, {}, set(), []
        for process in range(n_processes):
            set_time(self.calendar, process, process)

    def draw(self):
        u = self.random.random()
        for operation, share in self.mix:
            if u < share:
                return operation
            u -= share
        return self.mix[0][0]

    def ask_next(self, now, process):
        operation, page = self.draw(), int(self.random.random() * self.n_pages)
        offset = (self.n_asked if self.in_order else page) * PAGE
        self.n_asked += 1
        if operation == WAL_WRITE_THROUGH:
            offset, self.log_at = self.log_at, self.log_at + PAGE
        self.under_way[process] = operation, now
        self.asked[operation] += 1
        ask(self.calls, process, operation, 0, offset, 0 if operation == FSYNC else PAGE)

    def step(self, now, process):
        if process in self.under_way:
            self.history.append(Call(process, *self.under_way.pop(process), now))
            self.counts[0] += 1
            if self.think_ns:
                set_time(self.calendar, process, now + self.think_ns)
                return
        self.ask_next(now, process)


class Run(NamedTuple):
    m: object  # the Zfs
    history: list
    units: list  # (when, leaf, whether a flush, kind) of all that devices served
    dirtied: set  # (block, group)
    group_ends: list  # ns
    max_over: int  # B, inflated, by which a group was beyond its limit at most
    needless: int  # times that somebody slept after an event though no group waited for another one
    ended_as: int  # DONE, OUT_OF_DRAWS or STUCK
    left_dirty: int  # B of a group that count when it is on disk
    beyond: int  # records dirtied with more than 60 % of D dirty
    headers: int  # B of the ARC for what is on cache devices, at the start
    asked: Counter  # calls of each operation
    fetched: list  # (I/Os waited for, B on disk, B in full) of each block that was read
    settings: FileSettings

    @property
    def counts(self):
        return dict(zip(COUNTS, self.m.tally.counts.tolist(), strict=True))


class Watch:
    """What the laws want to know of the inside: kernels are replaced by ones that note who called."""

    def __init__(self):
        self.units, self.dirtied, self.ends, self.over, self.needless, self.replaced = [], set(), [], 0, 0, []
        self.fetched, self.left_dirty, self.beyond = [], 0, 0

    def __enter__(self):
        self.replace(zfs_store, "unit_done", self.unit_done)
        self.replace(zfs_calls, "dirty_record", self.dirty_record)
        self.replace(txg_sync, "group_synced", self.group_synced)
        self.replace(txg_sync, "_end_sync", self.end_sync)
        self.replace(zfs_store, "end_groups", self.end_groups)
        self.replace(zfs_reads, "read_block", self.read_block)
        self.replace(read_ahead, "read_block", self.read_block)
        self.replace(servers, "_idle_work", lambda *a: None)       # what is owed stays, to be counted
        return self

    def replace(self, module, name, by):
        real = getattr(module, name)
        self.replaced.append((module, name, real))
        setattr(module, name, lambda *a: by(real, *a))

    def __exit__(self, *_):
        for module, name, real in self.replaced:
            setattr(module, name, real)

    def unit_done(self, real, m, now, unit):
        queue = m.leaves.queue
        self.units.append((now, int(m.leaves.leaf_of[unit]), queue.offset[unit] == FLUSH, int(queue.kind[unit])))
        real(m, now, unit)

    def dirty_record(self, real, m, now, file, record):
        txg = int(m.txgs.open_txg[0])
        self.over = max(self.over, int(m.throttle[throttled.DIRTY + txg % 4] - m.throttle[throttled.LIMIT]))
        dirty = int(dirty_bytes(m.throttle))
        self.beyond += dirty * 100 > m.throttle[throttled.LIMIT] * m.txg_params.delay_pct
        done = real(m, now, file, record)
        if done:
            self.dirtied.add((int(m.files.base[file, 0]) + record, txg))
        return done

    def read_block(self, real, m, now, place, n_bytes, is_metadata, task, priority):
        there = real(m, now, place, n_bytes, is_metadata, task, priority)
        in_full = indirect_bytes(m.files) if is_metadata else m.s.record_bytes
        self.fetched.append((int(m.leaves.n_awaited[task]), n_bytes, in_full))
        return there

    def group_synced(self, real, *a):
        return real(*a)

    def end_groups(self, real, m, now):
        real(m, now)
        wakes = m.calendar.time[m.sources.processes:][:len(m.process)]
        asleep = bool((m.process[:, fs.HAS_SLEPT].astype(bool) & (wakes != NEVER)).any())
        self.needless += asleep and not (m.txgs.quiesced[0] and m.txgs.syncing[0])

    def end_sync(self, real, m, now):
        self.ends.append(now)
        self.left_dirty = max(self.left_dirty, int(m.throttle[throttled.DIRTY + int(m.txgs.syncing[0]) % 4]))
        real(m, now)


def come_to_rest(m, calendar, until):
    """Until nothing is dirty and nothing under way, or ten minutes later. The feed thread and timers go on for ever."""
    while zfs_store.next_time(m) < until or (m.sync[fs.IN_FLIGHT] and zfs_store.next_time(m) < until + 600 * SECOND):
        zfs_store.store_event(m, calendar, zfs_store.next_time(m))


def run(n=150, n_processes=4, mix=MIXED, n_pages=2000, seed=0, think_ns=0, name="b111", pool=None, rest_s=70,
        in_order=False, n_cpus=64, **changed):
    """A run of a made-up database on one pool."""
    s = SMALL._replace(**changed)
    files = [(SEGMENT, SEGMENT, PAGE), (n_pages * PAGE, n_pages * PAGE, PAGE)]
    m = zfs_store.new_store(files, s, era(name), pool or Pool(), n_processes, seed).data
    database = Database(n_processes, n, mix, n_pages, seed, think_ns, in_order, n_cpus)
    m = zfs_store.working_for(Store(m), database.calls).data
    headers = int(m.arc.scalars[scalar.L2_HEADERS])
    with Watch() as watch:
        how = database_server._loop(database, m, NEVER, lambda d, now, p: d.step(now, p), zfs_store.take_calls,
                                 zfs_store.next_time, zfs_store.store_event)
        ended = int(m.clock[0])
        come_to_rest(m, database.calendar, ended + rest_s * SECOND)
    return Run(
        m=m, history=database.history, units=watch.units, dirtied=watch.dirtied, group_ends=watch.ends,
        max_over=watch.over, needless=watch.needless, ended_as=how, left_dirty=watch.left_dirty, beyond=watch.beyond,
        headers=headers, asked=database.asked, fetched=watch.fetched, settings=s)


def sample_few_indirect_blocks():
    """For all runs of this process: sizes of indirect blocks are those of few samples, since LZJB is slow without the
    compiler. No law depends on them."""
    layout._SAMPLES, layout._STEPS = 2, 4


# ---- laws of every run ----


def every_call_returns(r):
    c = r.counts
    return c["calls"] == c["calls_done"] >= len(r.history) > 0 and r.m.tally.waits[accounts.N_NOW] == 0


def conserves_ios(r):
    """What goes out comes back, and devices have served it."""
    queue, free, io = r.m.leaves.queue, 0, int(r.m.leaves.queue.free[0])
    while io != NIL:
        free, io = free + 1, int(queue.next_member[io])
    served = int(r.m.leaves.drives.units[:, queued.N_SERVED].sum())
    counted = int(r.m.tally.devices[:, [stat.DEVICE_READS, stat.DEVICE_WRITES]].sum()) + r.counts["device_flushes"]
    return (r.counts["ios"] == r.counts["ios_done"] and r.m.sync[fs.IN_FLIGHT] == 0 and free == queue.n_ios
            and served == counted == len(r.units))


def littles_law(r):
    """The integral of the calls under way is the sum of their times, but for what a processor does when they have returned;
    who was under way when the count was reached, too. (Nobody waits for a processor here.)"""
    left = r.counts["calls"] - len(r.history)
    gap = int(r.m.tally.waits[accounts.AREA]) + r.counts["cpu_ns"] - sum(call.ended - call.began for call in r.history)
    return gap == 0 if left == 0 else gap >= 0 and gap <= left * 20 * SECOND


def commits_are_on_disk(r):
    """Between the beginning and the end of a commit something is written and then a cache flushed; or a group ends."""
    flushes = [when for when, _, is_flush, _ in r.units if is_flush]
    writes = [when for when, _, is_flush, kind in r.units if not is_flush and kind == 1]
    for call in r.history:
        if call.operation != WAL_WRITE_THROUGH:
            continue
        first = min((w for w in writes if w >= call.began), default=NEVER)
        is_synced = any(call.began <= end <= call.ended for end in r.group_ends)
        if not is_synced and not any(first <= flush <= call.ended for flush in flushes):
            return False
    return True


def groups_write_what_was_dirtied(r):
    """Each record once for each group that it was dirtied in, and as many bytes, but for what the log has written early."""
    c = r.counts
    size = {int(r.m.of_file[f, 2]) for f in range(2)}
    n_bytes = (c["records_written"] - c["records_written_early"]) * max(size)
    return c["records_written"] == len(r.dirtied) and c["record_bytes"] == n_bytes


def reads_are_hits_or_misses(r):
    """A reader reads its record from the pool once at most; who waited has read something, or waited for who did."""
    c = r.counts
    by_readers = c["data_reads"] - c["read_first"]
    waited_for = by_readers + c["l2_reads"] + c["metadata_reads"] + c["joined"]
    return 0 <= by_readers <= c["reads"] and 0 <= c["reads"] - c["read_hits"] <= waited_for


def the_log_saves_groups_work(r):
    """What it writes early, a group takes over, unless it was dirtied again."""
    c = r.counts
    return c["file_blocks"] >= c["records_written_early"] and (c["file_blocks"] == 0 or c["records_written_early"] > 0)


def the_arc_is_at_rest(r):
    """Nothing is dirty; bytes are those of the headers; who is held is held by those below."""
    arc, n_bytes, holds = r.m.arc, [0] * 5, defaultdict(int)
    nodes = [int(node) for node in arc.node_of if node]
    for node in nodes:
        if arc.nodes[node, header.STATE] <= MFU_GHOST:
            n_bytes[arc.nodes[node, header.STATE]] += int(arc.nodes[node, header.N_BYTES])
        if arc.nodes[node, header.STATE] <= MFU:
            holds[int(arc.nodes[node, header.ABOVE])] += 1
    return (n_bytes == arc.n_bytes.tolist() and n_bytes[ANONYMOUS] == 0
            and all(arc.nodes[node, header.HOLDS] == holds[node] for node in nodes))


def no_group_is_beyond_its_limit(r):
    """By more than what one piece may dirty."""
    levels = int(r.m.files.n_levels.max())
    if r.m.txg_params.rule == DIRTY_DATA:
        return True
    return r.max_over <= 6 * (r.settings.record_bytes + levels * 2**14)


def _cpu_ns(s, n_ios, n_bytes, in_full):
    unpacked = in_full if n_bytes < in_full else 0
    return s.miss_ns * n_ios + (s.checksum_ps * n_bytes + s.unpack_ps * unpacked) // 1000


def cpu_is_the_sum_of_its_parts(r):
    """Of calls: the call itself, for each record that it writes, each I/O that it waits for, each B that is checked and
    unpacked. Of groups and intent logs: each record that they write, and indirect block; of what the log has written the
    group has only the part that is one thread's."""
    s, c = r.settings, r.counts
    reads = sum(_cpu_ns(s, *fetched) for fetched in r.fetched)
    of_record = set(r.m.of_file[:2, fs.SYNC_CPU].tolist())
    of_groups = c["sync_cpu_ns"] - c["indirect_written"] * sum(indirect_cpu_ns(s, r.m.files.shift))
    pages = s.write_ns * max(1, PAGE // s.record_bytes)
    calls = s.read_ns * r.asked[READ] + pages * r.asked[WRITE]
    of_groups -= c["records_written_early"] * s.sync_serial_ns
    in_full = c["records_written"] - c["records_written_early"] + c["file_blocks"]
    return c["cpu_ns"] == calls + reads and len(of_record) == 1 and of_groups == in_full * of_record.pop()


def threads_of_groups_want_the_databases_processors(r):
    """For all that they do, where they share them, and else for nothing."""
    return r.m.owed[0] == r.counts["sync_cpu_ns"] * r.settings.shares_cpus


def nobody_sleeps_needlessly(r):
    """Only while one group is being synced and the next one waits for that; of OpenZFS who is delayed sleeps it out."""
    return r.needless == 0 or r.m.txg_params.rule == DIRTY_DATA


def what_is_on_disk_is_not_dirty(r):
    """OpenZFS: when a group is on disk, only the blocks that are the pool's own still count; at rest nothing does."""
    if r.m.txg_params.rule != DIRTY_DATA:
        return True
    return dirty_bytes(r.m.throttle) == 0 and r.left_dirty <= (2**14 + 6 * indirect_bytes(r.m.files)) * len(r.m.zil.logs)


def who_fills_the_pool_is_delayed(r):
    """OpenZFS: no dirty record beyond 60 % of what may be without a delay before it: at most one a process."""
    return r.m.txg_params.rule != DIRTY_DATA or r.beyond <= r.counts["sleeps"] + r.counts["waits"] + len(r.m.process)


LAWS = {law.__name__: law for law in (
    every_call_returns, conserves_ios, littles_law, commits_are_on_disk, groups_write_what_was_dirtied,
    reads_are_hits_or_misses, cpu_is_the_sum_of_its_parts, threads_of_groups_want_the_databases_processors,
    the_log_saves_groups_work, the_arc_is_at_rest, no_group_is_beyond_its_limit, nobody_sleeps_needlessly,
    what_is_on_disk_is_not_dirty, who_fills_the_pool_is_delayed)}


# ---- facts of some runs ----


def commit_periods(r):
    """ns from one return of a single client's commits to the next."""
    return np.diff([call.ended for call in r.history])


def per_group(r):
    """How many records of the table each group dirtied, and how many writes of it there were."""
    groups = defaultdict(int)
    for block, txg in r.dirtied:
        groups[txg] += block >= r.m.files.first[1]
    return dict(groups)


def expected_dirty(n_records, n_writes):
    return records_dirtied(n_records, n_writes)

