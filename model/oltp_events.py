"""The events of the OLTP run: what a task, a thread, the sync thread and a disk do when it is their turn.

Handlers get the `Machine` (and the `Pool`, if they need it), do all that follows at once, and leave in the calendar what
follows later. I/Os that they make are returned, and handed to the queues by the loop in `model.oltp`.
"""



from model.calendar import set_time
from model.drive_queue import N_COMMANDS
from model.filebench import LOG_WRITER, make_room, post, take, wake_poster
from model.indirect import INDIRECT_BYTES
from model.jit import part
from model.layout import allocate, allocate_copy, level_block
from model.oltp_machine import (
    BEGAN,
    DATA_READS,
    FILE,
    INDIRECT_WRITTEN,
    IOS_DONE,
    ISSUE,
    JOINED,
    JOINED_BEFORE,
    LEVEL,
    LOG_WRITES,
    LOG_WRITES_DONE,
    LONGEST_SYNC_NS,
    METADATA_READS,
    N_RECORDS,
    READ_HITS,
    READS,
    READS_DONE,
    REAP,
    RECORD,
    RECORDS_WRITTEN,
    TAKE,
    TXGS,
    WRITER,
    WRITES,
    WRITES_DONE,
)
from model.pool import (
    FOR_TXG,
    NOBODY,
    answered,
    disk_done,
    read_block,
    release_io,
    write_block,
)
from model.txg import ABOVE, BLOCK, advance, dirty, hand_over, quiesce
from model.vdev_queue import NONE

SECOND_NS = 10**9


# ---- tasks ----


@part
def _make_ready(tasks, task):
    tasks.ready[tasks.n_ready[0] & (len(tasks.ready) - 1)] = task
    tasks.n_ready[0] += 1


@part
def next_ready(tasks):
    task = tasks.ready[tasks.n_ready[1] & (len(tasks.ready) - 1)]
    tasks.n_ready[1] += 1
    return task


@part
def count_reads(tally, now, change):
    """Reads under way become `change` more."""
    tally.area[0] += tally.n_in_read[0] * (now - tally.area_at[0])
    tally.area_at[0] = now
    tally.n_in_read[0] += change


@part
def _begin(tasks, files, now, task, file, record, n_records):
    tasks.rows[task, FILE] = file
    tasks.rows[task, RECORD] = record
    tasks.rows[task, N_RECORDS] = n_records
    tasks.rows[task, LEVEL] = files.n_levels[file] - 1
    tasks.rows[task, BEGAN] = now
    _make_ready(tasks, task)


@part
def _enter_core(status, core_bytes, block, n_bytes):
    """`block` is in core from now on, clean."""
    status[block] = -1
    core_bytes[0] += n_bytes


@part
def _block_came(m, task):
    """The block that `task` read is there: it goes on, and all that waited for it."""
    tasks, level = m.tasks, m.tasks.rows[task, LEVEL]
    block = level_block(m.files, tasks.rows[task, FILE], tasks.rows[task, RECORD], level)
    if level > 0 or m.settings.keeps_records:
        _enter_core(m.status, m.tally.core_bytes, block, INDIRECT_BYTES if level > 0 else m.workload.record_bytes)
    else:
        m.status[block] = 0
        tasks.rows[task, LEVEL] = -1
    waiting = tasks.rows[task, JOINED]
    tasks.rows[task, JOINED] = NOBODY
    _make_ready(tasks, task)
    while waiting != NOBODY:
        _make_ready(tasks, waiting)
        waiting = tasks.rows[waiting, JOINED_BEFORE]


@part
def _where(layout, copy_read, n_records, record_bytes, block):
    """(place, B) of a block to be read."""
    if block < n_records:
        return layout.place[block], record_bytes
    i = block - n_records
    return layout.second[i] if copy_read[i] else layout.place[block], layout.n_bytes[i]


@part
def look(m, pool, now, task):
    """Go down the tree as far as blocks are in core: (whether `task` has got all it needs, I/O or NONE)."""
    tasks, file, record = m.tasks, m.tasks.rows[task, FILE], m.tasks.rows[task, RECORD]
    lowest = 0 if tasks.rows[task, WRITER] == NOBODY else 1
    while tasks.rows[task, LEVEL] >= lowest:
        level = tasks.rows[task, LEVEL]
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
            tasks.rows[task, JOINED_BEFORE] = tasks.rows[reader, JOINED]
            tasks.rows[reader, JOINED] = task
            return False, NONE
        tasks.rows[task, LEVEL] -= 1
    return True, NONE


@part
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


@part
def finish_read(m, now, task):
    n, began = m.tally.counts[READS_DONE], m.tasks.rows[task, BEGAN]
    m.tally.response_ns[n] = now - began
    m.tally.response_at[n] = now
    m.tally.counts[READS_DONE] += 1
    m.tally.counts[READ_HITS] += now == began
    m.tally.per_second[0, now // SECOND_NS] += 1
    count_reads(m.tally, now, -1)
    m.threads.next_taker[task] = 0
    set_time(m.calendar, m.sources.shadows + task, now + m.workload.shadow_cpu_ns)


@part
def finish_write(m, now, task):
    """Dirty the records, or wait for whoever reads one of them."""
    tasks, writer = m.tasks, m.tasks.rows[task, WRITER]
    while tasks.rows[task, N_RECORDS] > 0:
        if not _dirty(m, tasks.rows[task, FILE], tasks.rows[task, RECORD]):
            reader = m.status[level_block(m.files, tasks.rows[task, FILE], tasks.rows[task, RECORD], 0)] - 1
            tasks.rows[task, JOINED_BEFORE] = tasks.rows[reader, JOINED]
            tasks.rows[reader, JOINED] = task
            return
        tasks.rows[task, RECORD] += 1
        tasks.rows[task, N_RECORDS] -= 1
    kind = LOG_WRITES_DONE if writer == LOG_WRITER else WRITES_DONE
    m.tally.counts[kind] += 1
    m.tally.per_second[kind - READS_DONE, now // SECOND_NS] += 1
    tasks.free[writer, tasks.n_free[writer]] = task
    tasks.n_free[writer] += 1
    m.threads.completed[writer] += 1
    if 0 < m.threads.reaping[writer] <= m.threads.completed[writer]:
        set_time(m.calendar, m.sources.writers + writer, now)


# ---- threads ----


@part
def shadow_event(m, now, shadow):
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
    count_reads(m.tally, now, 1)
    _begin(m.tasks, m.files, now, shadow, n % m.workload.n_files, threads.shadow_records[shadow, n], 1)


@part
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
        tasks.rows[task, WRITER] = writer
        if is_log:
            per_write = m.workload.log_write_bytes // m.workload.record_bytes
            _begin(m.tasks, m.files, now, task, m.workload.n_files, threads.log_records[n], per_write)
        else:
            _begin(m.tasks, m.files, now, task, n % m.workload.n_files, threads.writer_records[writer - 1, n], 1)
    threads.outstanding[writer] += n_writes
    m.tally.counts[LOG_WRITES if is_log else WRITES] += n_writes


@part
def _take(m, now, writer):
    """Make room for posters, then take posts. True if they are there; else the writer sleeps until they are."""
    make_room(m.semaphores, writer)
    poster = wake_poster(m.semaphores, writer)
    while poster != NOBODY:
        m.threads.next_taker[poster] += 1
        set_time(m.calendar, m.sources.shadows + poster, now)
        poster = wake_poster(m.semaphores, writer)
    return take(m.semaphores, writer)


@part
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


@part
def writer_event(m, now, writer):
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


@part
def _start_sync(m, now):
    if hand_over(m.txgs):
        m.tally.sync_began[0] = now
        set_time(m.calendar, m.sources.sync, now)


@part
def timer_event(m, now):
    """The open group has been open for its time."""
    if quiesce(m.txgs):
        set_time(m.calendar, m.sources.timer, now + m.settings.txg_ns)
        _start_sync(m, now)


@part
def _end_sync(m, now):
    """All of the group is written."""
    m.tally.counts[TXGS] += 1
    m.tally.counts[LONGEST_SYNC_NS] = max(m.tally.counts[LONGEST_SYNC_NS], now - m.tally.sync_began[0])
    m.txgs.syncing[0] = 0
    _start_sync(m, now)
    if m.txgs.overdue[0]:
        timer_event(m, now)


@part
def _bytes_now(m, entry):
    """B that the block of `entry` takes when it is written now. Its L1 hears of a record."""
    block = m.txgs.entries[entry, BLOCK]
    if block < m.files.n_records:
        m.tally.counts[RECORDS_WRITTEN] += 1
        m.tally.n_rewritten[m.txgs.entries[m.txgs.entries[entry, ABOVE], BLOCK] - m.files.n_records] += 1
        return m.workload.record_bytes
    m.tally.counts[INDIRECT_WRITTEN] += 1
    i = block - m.files.n_records
    return m.sizes.l1[min(m.tally.n_rewritten[i], len(m.sizes.l1) - 1)] if m.layout.level[i] == 1 else m.sizes.upper_l


@part
def sync_event(m, pool, now):
    """Write the block at the cursor: its I/O, and that of its second copy or NONE."""
    entry, second = m.txgs.cursor[0], NONE
    if entry == NONE:
        if m.txgs.n_pending[0] == 0:
            _end_sync(m, now)
        return NONE, second
    n_bytes, is_record = _bytes_now(m, entry), m.txgs.entries[entry, BLOCK] < m.files.n_records
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


# ---- disks ----


@part
def disk_event(m, pool, now, leaf):
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
    return leaf if pool.drives.units[leaf, N_COMMANDS] > 0 else -1
