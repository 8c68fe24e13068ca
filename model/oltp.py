"""The OLTP run, event by event: shadows and writers, indirect blocks, transaction groups, vdev caches, queues, disks.

    shadow -> read of a record                                             posts -> writers -> writes of records
                 |  the blocks above it that are not in core, top down,                 |  likewise, L1 and above
                 |  one after the other; then the record                                v
                 v                                                              dirty in core, until every 5 s
               pool (vdev cache, vdev queue, disk)  <---  records, and all blocks above  ---  the transaction group

Sources of events, in the order in which equal times are served: the disks, the sync thread, the timer of the transaction
groups, the writers (the log writer first), the shadows. All that follows at once, in no time, is done before the next
event: tasks that can go on stand in a ring, first come, first served.

What is in core stays there: records that were read or written, and indirect blocks. More than `arc_bytes` of it ends
the run with a status of its own, as then ZFS would have begun to evict. Who wants a block that is being read waits for
that reading. Freed space is not used again, so that the transaction groups go on where the files end; with a few GB
written into a pool of terabytes, first fit would hardly come back to it either.

Left out: the CPUs as a resource (threads never wait for one), the writes of a transaction group beyond the files'
own blocks (dnodes, space maps, uberblock, cache flush), throttling of writers, access times (atime) of files.
"""

from typing import NamedTuple

import numpy as np

from model.calendar import NEVER, next_source, set_time
from model.filebench import LOG_WRITER, make_room, post, take, wake_poster
from model.indirect import INDIRECT_BYTES
from model.jit import kernel
from model.layout import MAX_LEVELS, allocate, allocate_copy, level_block
from model.oltp_machine import (
    COUNTS,
    DATA_READS,
    DONE,
    INDIRECT_WRITTEN,
    IOS,
    IOS_DONE,
    ISSUE,
    LOG_WRITES,
    LOG_WRITES_DONE,
    LONGEST_SYNC_NS,
    METADATA_READS,
    OUT_OF_CORE,
    OUT_OF_DRAWS,
    OUT_OF_ENTRIES,
    OUT_OF_IOS,
    READ_HITS,
    READS,
    READS_DONE,
    REAP,
    RECORDS_WRITTEN,
    TAKE,
    TXGS,
    WRITES,
    WRITES_DONE,
    Machine,
    Room,
    Settings,
    check_settings,
    first_room,
    new_machine,
)
from model.pool import (
    FOR_TXG,
    NOBODY,
    Pool,
    answered,
    disk_done,
    new_recorder,
    read_block,
    release_io,
    start_disk,
    to_queue,
    write_block,
)
from model.txg import advance, dirty, hand_over, has_room, quiesce
from model.vdev_queue import NONE

SECOND_NS = 10**9


# ---- tasks ----


@kernel
def _make_ready(tasks, task):
    tasks.ready[tasks.n_ready[0] & (len(tasks.ready) - 1)] = task
    tasks.n_ready[0] += 1


@kernel
def _next_ready(tasks):
    task = tasks.ready[tasks.n_ready[1] & (len(tasks.ready) - 1)]
    tasks.n_ready[1] += 1
    return task


@kernel
def _count_reads(tally, now, change):
    """Reads under way become `change` more."""
    tally.area[0] += tally.n_in_read[0] * (now - tally.area_at[0])
    tally.area_at[0] = now
    tally.n_in_read[0] += change


@kernel
def _begin(tasks, files, now, task, file, record, n_records):
    tasks.file[task] = file
    tasks.record[task] = record
    tasks.n_records[task] = n_records
    tasks.level[task] = files.n_levels[file] - 1
    tasks.began[task] = now
    _make_ready(tasks, task)


@kernel
def _enter_core(status, core_bytes, block, n_bytes):
    """`block` is in core from now on, clean."""
    status[block] = -1
    core_bytes[0] += n_bytes


@kernel
def _block_came(m, task):
    """The block that `task` read is there: it goes on, and all that waited for it."""
    tasks, level = m.tasks, m.tasks.level[task]
    block = level_block(m.files, tasks.file[task], tasks.record[task], level)
    if level > 0 or m.settings.keeps_records:
        _enter_core(m.status, m.tally.core_bytes, block, INDIRECT_BYTES if level > 0 else m.workload.record_bytes)
    else:
        m.status[block] = 0
        tasks.level[task] = -1
    waiting = tasks.joined[task]
    tasks.joined[task] = NOBODY
    _make_ready(tasks, task)
    while waiting != NOBODY:
        _make_ready(tasks, waiting)
        waiting = tasks.joined_before[waiting]


@kernel
def _where(layout, copy_read, n_records, record_bytes, block):
    """(place, B) of a block to be read."""
    if block < n_records:
        return layout.place[block], record_bytes
    i = block - n_records
    return layout.second[i] if copy_read[i] else layout.place[block], layout.n_bytes[i]


@kernel
def _look(m, pool, now, task):
    """Go down the tree as far as blocks are in core: (whether `task` has got all it needs, I/O or NONE)."""
    tasks, file, record = m.tasks, m.tasks.file[task], m.tasks.record[task]
    lowest = 0 if tasks.writer[task] == NOBODY else 1
    while tasks.level[task] >= lowest:
        level = tasks.level[task]
        block = level_block(m.files, file, record, level)
        if m.status[block] == 0:
            place, n_bytes = _where(m.layout, m.tally.copy_read, m.files.n_records, m.workload.record_bytes, block)
            m.tally.counts[METADATA_READS if level > 0 else DATA_READS] += 1
            there, io = read_block(pool, now, place, n_bytes, 1 if level > 0 else 0, task)
            if not there:
                m.status[block] = task + 1
                return False, io
            _enter_core(m.status, m.tally.core_bytes, block, INDIRECT_BYTES if level > 0 else m.workload.record_bytes)
        if m.status[block] > 0:
            reader = m.status[block] - 1
            tasks.joined_before[task] = tasks.joined[reader]
            tasks.joined[reader] = task
            return False, NONE
        tasks.level[task] -= 1
    return True, NONE


@kernel
def _dirty(m, file, record):
    """A record is overwritten altogether. False if somebody is reading it just now."""
    block = level_block(m.files, file, record, 0)
    if m.status[block] > 0:
        return False
    if m.status[block] == 0:
        _enter_core(m.status, m.tally.core_bytes, block, m.workload.record_bytes)
    if m.status[block] != -1 - m.txgs.open_txg[0]:
        m.status[block] = -1 - m.txgs.open_txg[0]
        dirty(m.txgs, m.files, file, record)
    return True


@kernel
def _finish_read(m, now, task):
    n, began = m.tally.counts[READS_DONE], m.tasks.began[task]
    m.tally.response_ns[n] = now - began
    m.tally.response_at[n] = now
    m.tally.counts[READS_DONE] += 1
    m.tally.counts[READ_HITS] += now == began
    m.tally.per_second[0, now // SECOND_NS] += 1
    _count_reads(m.tally, now, -1)
    m.threads.next_taker[task] = 0
    set_time(m.calendar, m.sources.shadows + task, now + m.workload.shadow_cpu_ns)


@kernel
def _finish_write(m, now, task):
    """Dirty the records, or wait for whoever reads one of them."""
    tasks, writer = m.tasks, m.tasks.writer[task]
    while tasks.n_records[task] > 0:
        if not _dirty(m, tasks.file[task], tasks.record[task]):
            reader = m.status[level_block(m.files, tasks.file[task], tasks.record[task], 0)] - 1
            tasks.joined_before[task] = tasks.joined[reader]
            tasks.joined[reader] = task
            return
        tasks.record[task] += 1
        tasks.n_records[task] -= 1
    kind = LOG_WRITES_DONE if writer == LOG_WRITER else WRITES_DONE
    m.tally.counts[kind] += 1
    m.tally.per_second[kind - READS_DONE, now // SECOND_NS] += 1
    tasks.free[writer, tasks.n_free[writer]] = task
    tasks.n_free[writer] += 1
    m.threads.completed[writer] += 1
    if 0 < m.threads.reaping[writer] <= m.threads.completed[writer]:
        set_time(m.calendar, m.sources.writers + writer, now)


@kernel
def _go_on(m, pool, now, task):
    """A task that can: as far as it gets. Returns an I/O for the pool, or NONE."""
    has_all, io = _look(m, pool, now, task)
    if has_all:
        if m.tasks.writer[task] == NOBODY:
            _finish_read(m, now, task)
        else:
            _finish_write(m, now, task)
    return io


# ---- threads ----


@kernel
def _shadow(m, now, shadow):
    """Post to all takers, from where it stopped; then read the next record."""
    threads = m.threads
    while 0 <= threads.next_taker[shadow] <= m.workload.n_writers:
        taker = threads.next_taker[shadow]
        posted, wakes = post(m.semaphores, taker, shadow)
        if wakes:
            set_time(m.calendar, m.sources.writers + taker, now)
        if not posted:
            return
        threads.next_taker[shadow] += 1
    n = threads.n_done[shadow]
    threads.n_done[shadow] += 1
    m.tally.counts[READS] += 1
    _count_reads(m.tally, now, 1)
    _begin(m.tasks, m.files, now, shadow, n % m.workload.n_files, threads.shadow_records[shadow, n], 1)


@kernel
def _issue_writes(m, now, writer):
    """A burst of a database writer, or the one write of the log writer."""
    threads, tasks = m.threads, m.tasks
    is_log = writer == LOG_WRITER
    n_writes = 1 if is_log else m.workload.writes_per_burst
    for _ in range(n_writes):
        n = threads.n_done[m.workload.n_shadows + writer]
        threads.n_done[m.workload.n_shadows + writer] += 1
        tasks.n_free[writer] -= 1
        task = tasks.free[writer, tasks.n_free[writer]]
        tasks.writer[task] = writer
        if is_log:
            per_write = m.workload.log_write_bytes // m.workload.record_bytes
            _begin(m.tasks, m.files, now, task, m.workload.n_files, threads.log_records[n], per_write)
        else:
            _begin(m.tasks, m.files, now, task, n % m.workload.n_files, threads.writer_records[writer - 1, n], 1)
    threads.outstanding[writer] += n_writes
    m.tally.counts[LOG_WRITES if is_log else WRITES] += n_writes


@kernel
def _take(m, now, writer):
    """Make room for posters, then take posts. True if they are there; else the writer sleeps until they are."""
    make_room(m.semaphores, writer)
    poster = wake_poster(m.semaphores, writer)
    while poster != NOBODY:
        m.threads.next_taker[poster] += 1
        set_time(m.calendar, m.sources.shadows + poster, now)
        poster = wake_poster(m.semaphores, writer)
    return take(m.semaphores, writer)


@kernel
def _reap(threads, writer):
    """Wait for half of the writes outstanding: True if they are completed; else the writer sleeps until they are."""
    n = max(1, threads.outstanding[writer] // 2)
    if threads.completed[writer] < n:
        threads.reaping[writer] = n
        return False
    threads.reaping[writer] = 0
    threads.completed[writer] -= n
    threads.outstanding[writer] -= n
    return True


@kernel
def _writer(m, now, writer):
    """One step: ISSUE, TAKE, REAP and over again; the log writer reaps before it takes."""
    is_log = writer == LOG_WRITER
    stage, goes_on, later = m.threads.stage[writer], True, 0
    if stage == ISSUE:
        _issue_writes(m, now, writer)
        following, later = (REAP, 0) if is_log else (TAKE, m.workload.writer_cpu_ns)
    elif stage == TAKE:
        goes_on = _take(m, now, writer)
        following = ISSUE if is_log else REAP
    else:
        goes_on = _reap(m.threads, writer)
        following = (TAKE if is_log else ISSUE) if goes_on else REAP
    m.threads.stage[writer] = following
    if goes_on:
        set_time(m.calendar, m.sources.writers + writer, now + later)


# ---- transaction groups ----


@kernel
def _start_sync(m, now):
    if hand_over(m.txgs):
        m.tally.sync_began[0] = now
        set_time(m.calendar, m.sources.sync, now)


@kernel
def _timer(m, now):
    """The open group has been open for its time."""
    if quiesce(m.txgs):
        set_time(m.calendar, m.sources.timer, now + m.settings.txg_ns)
        _start_sync(m, now)


@kernel
def _end_sync(m, now):
    """All of the group is written."""
    m.tally.counts[TXGS] += 1
    m.tally.counts[LONGEST_SYNC_NS] = max(m.tally.counts[LONGEST_SYNC_NS], now - m.tally.sync_began[0])
    m.txgs.syncing[0] = 0
    _start_sync(m, now)
    if m.txgs.overdue[0]:
        _timer(m, now)


@kernel
def _bytes_now(m, entry):
    """B that the block of `entry` takes when it is written now. Its L1 hears of a record."""
    block = m.txgs.block[entry]
    if block < m.files.n_records:
        m.tally.counts[RECORDS_WRITTEN] += 1
        m.tally.n_rewritten[m.txgs.block[m.txgs.above[entry]] - m.files.n_records] += 1
        return m.workload.record_bytes
    m.tally.counts[INDIRECT_WRITTEN] += 1
    i = block - m.files.n_records
    return m.sizes.l1[min(m.tally.n_rewritten[i], len(m.sizes.l1) - 1)] if m.layout.level[i] == 1 else m.sizes.upper_l


@kernel
def _sync(m, pool, now):
    """Write the block at the cursor: its I/O, and that of its second copy or NONE."""
    entry, second = m.txgs.cursor[0], NONE
    if entry == NONE:
        if m.txgs.n_pending[0] == 0:
            _end_sync(m, now)
        return NONE, second
    n_bytes, is_record = _bytes_now(m, entry), m.txgs.block[entry] < m.files.n_records
    place = allocate(m.space, n_bytes)
    first = write_block(pool, now, place, n_bytes)
    m.txgs.n_pending[0] += 1
    if not is_record:
        second = write_block(pool, now, allocate_copy(m.space, place, n_bytes), n_bytes)
        m.txgs.n_pending[0] += 1
    advance(m.txgs)
    cost = m.settings.sync_record_ns if is_record else m.settings.sync_indirect_ns
    set_time(m.calendar, m.sources.sync, now + cost)
    return first, second


# ---- the loop ----


@kernel
def _disk(m, pool, now, leaf):
    """A disk has served a unit: tell whoever waited. Returns `leaf` if there is more for it to do, else -1."""
    io = disk_done(pool, now, leaf)
    while io != NONE:
        m.tally.counts[IOS_DONE] += 1
        if pool.owner[io] == FOR_TXG:
            m.txgs.n_pending[0] -= 1
            if m.txgs.n_pending[0] == 0 and m.txgs.cursor[0] == NONE:
                set_time(m.calendar, m.sources.sync, now)
        task = answered(pool, now, leaf, io)
        while task != NOBODY:
            following = pool.joined_before[task]
            _block_came(m, task)
            task = following
        io = release_io(pool, io)
    return leaf if pool.drives.n_commands[leaf] > 0 else -1


@kernel
def _event(m, pool, now, source):
    """What happens at `source`: (I/O, second I/O, disk to be started or -1)."""
    set_time(m.calendar, source, NEVER)
    io, second, leaf = NONE, NONE, -1
    if source < m.settings.n_leaves:
        leaf = _disk(m, pool, now, source)
    elif source == m.sources.sync:
        io, second = _sync(m, pool, now)
    elif source == m.sources.timer:
        _timer(m, now)
    elif source <= m.sources.writers + m.workload.n_writers:
        _writer(m, now, source - m.sources.writers)
    else:
        _shadow(m, now, source - m.sources.shadows)
    return io, second, leaf


@kernel
def _send(calendar, counts, pool, now, io, second, leaf):
    """Hand I/Os to their queues, and start disks that have something to do and do not."""
    while io != NONE or leaf >= 0:
        if io != NONE:
            counts[IOS] += 1
            leaf = to_queue(pool, now, io)
            io, second = second, NONE
        if leaf >= 0:
            set_time(calendar, leaf, start_disk(pool, now, leaf))
        leaf = -1


@kernel
def _shortage(txgs, queue, n_dirtied, core_bytes, arc_bytes):
    """What there may be too little of for the next event, or DONE."""
    if queue.free[0] == NONE or queue.next_member[queue.free[0]] == NONE:
        return OUT_OF_IOS
    if not has_room(txgs, n_dirtied):
        return OUT_OF_ENTRIES
    return OUT_OF_CORE if core_bytes[0] > arc_bytes else DONE


@kernel
def _draws_left(sources, workload, threads, source):
    """Whether the thread at `source`, if it is one, can draw as often as it may at its next event."""
    if source >= sources.shadows:
        return threads.n_done[source - sources.shadows] < threads.shadow_records.shape[1]
    writer = source - sources.writers
    if writer < 0:
        return True
    n = threads.n_done[workload.n_shadows + writer] + workload.writes_per_burst
    return n < len(threads.log_records) if writer == LOG_WRITER else n < threads.writer_records.shape[1]


@kernel
def run(m, pool):
    """From the time of the first event until `duration_ns`. Returns how it ended."""
    tasks = m.tasks
    n_dirtied = m.workload.log_write_bytes // m.workload.record_bytes + MAX_LEVELS  # by one event, at most
    now = m.calendar.time[next_source(m.calendar)]
    while True:
        status = _shortage(m.txgs, pool.queue, n_dirtied, m.tally.core_bytes, m.settings.arc_bytes)
        if status != DONE:
            return status
        if tasks.n_ready[0] != tasks.n_ready[1]:
            io, second, leaf = _go_on(m, pool, now, _next_ready(tasks)), NONE, -1
        else:
            source = next_source(m.calendar)
            if m.calendar.time[source] >= m.settings.duration_ns:
                _count_reads(m.tally, m.settings.duration_ns, 0)
                return DONE
            if not _draws_left(m.sources, m.workload, m.threads, source):
                return OUT_OF_DRAWS
            now = m.calendar.time[source]
            io, second, leaf = _event(m, pool, now, source)
        _send(m.calendar, m.tally.counts, pool, now, io, second, leaf)


# ---- the friendly face ----


class Result(NamedTuple):
    """A run of `duration_ns`. `machine` and `pool` are its last state."""

    operations_per_s: float  # reads and writes, those of the log among them
    reads_per_s: float
    response_ns: np.ndarray  # of the reads completed, in order of completion
    response_at: np.ndarray  # ns: when
    counts: dict  # see COUNTS
    outcomes: np.ndarray  # [data or metadata, outcome of the vdev cache]: reads
    busy_ns: np.ndarray  # per disk
    served_bytes: np.ndarray  # per disk
    n_served: np.ndarray  # per disk: units
    per_second: np.ndarray  # [reads, writes, log writes][second]: completed
    core_bytes: int
    machine: Machine
    pool: Pool


def start_threads(m):
    """Set the calendar: threads begin at 0; the first transaction group ends after its time."""
    for writer in range(m.workload.n_writers + 1):
        if m.workload.n_shadows or writer != LOG_WRITER:
            set_time(m.calendar, m.sources.writers + writer, 0)
    for shadow in range(m.workload.n_shadows):
        set_time(m.calendar, m.sources.shadows + shadow, 0)
    set_time(m.calendar, m.sources.timer, m.settings.txg_ns)


def busy_until(drives, now):
    """Per disk: ns that it has worked until `now` (int64)."""
    return drives.busy_ns + np.where(drives.n_commands > 0, now - drives.busy_since, 0)


def _result(m, pool):
    tally, seconds = m.tally, m.settings.duration_ns / SECOND_NS
    counts = dict(zip(COUNTS, tally.counts.tolist(), strict=True))
    n = counts["reads_done"]
    done = n + counts["writes_done"] + counts["log_writes_done"]
    drives = pool.drives
    return Result(done / seconds, n / seconds, tally.response_ns[:n], tally.response_at[:n], counts, pool.outcomes,
                  busy_until(drives, m.settings.duration_ns), drives.served_bytes, drives.n_served, tally.per_second,
                  int(tally.core_bytes[0]), m, pool)


def simulate(site, rules, settings=None, seed=0, recorder=None):
    """Run the workload of `site` under `rules`: a Result.

    Raises ValueError if more comes into core than fits, or something about the machine is impossible.
    """
    settings = settings or Settings(n_leaves=site.n_leaves)
    check_settings(settings, site)
    room = first_room(settings)
    while True:
        m, pool = new_machine(site, rules, settings, seed, room, recorder or new_recorder())
        start_threads(m)
        status = run(m, pool)
        if status == DONE:
            return _result(m, pool)
        if status == OUT_OF_CORE:
            raise ValueError(f"more than {settings.arc_bytes} B have come into core, and eviction is not modelled; "
                             "choose a shorter run, a larger arc_bytes or a slower disk")
        room = Room(*(n * (2 if i == status - OUT_OF_DRAWS else 1) for i, n in enumerate(room)))
        if recorder is not None:
            recorder.n[0] = 0
