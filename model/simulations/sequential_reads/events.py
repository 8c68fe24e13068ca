"""The events of the run of sequential readers: what a thread and a disk do when it is their turn.

A thread goes through one read after the other, each in these stages (spec 4.2, 4.5, 5.2; `dmu_buf_hold_array_by_dnode`):

    HOLD    the next record of the read. The indirect blocks above it must be in core, and each that is not is read and
            waited for, from the top down. If the record itself is neither in core nor being read, its reading begins, with
            the priority of what somebody waits for. Then zfetch is shown the record, and answers what to prefetch.
    FETCH   the records that zfetch wants, one by one, before the next of the read is held. Each needs the indirect blocks
            above it just so: the thread *stalls* for a record that nobody waits for yet. Then its reading begins, with the
            priority of prefetch; it is not waited for.
    AWAIT   all records of the read are asked for: now they are waited for, together.
    COPY    to user space.
    FINISH  the read is done; the next one begins at once, at the end of the file that from its start.

A copy takes `copy_ns` for a MiB, or as long as memory needs if that is longer. Memory serves all copies under way at once,
and so needs `memory_ns` times their number. How many there are is counted when a copy begins.

Starting to read a record costs CPU time, as does copying, and the interrupt of each record that came from a disk. The
interrupt is counted with the copying. There are as many processors as readers, so that an interrupt takes time from one of
them. Here it takes it from the one whose record it was.
"""

from model.devices import drive_columns as queued
from model.events.accounts import change_by
from model.events.calendar import NEVER, set_time
from model.events.clock import TICK_NS
from model.events.queues import NOBODY
from model.jit import kernel, part
from model.simulations.sequential_reads import columns as reader
from model.simulations.sequential_reads import watch_columns as watched
from model.simulations.sequential_reads.state import (
    ABSENT,
    AWAIT,
    COPY,
    COPYING,
    DEMAND,
    FETCH,
    FINISH,
    FRESH,
    HOLD,
    IN_CORE,
    INDIRECT,
    ISSUING,
    MIB,
    PASSES,
    PREFETCH,
    READING,
    STALLED,
    WAITING,
)
from model.structures.lru import link_after, unlink
from model.structures.sentinels import NIL
from model.zfs.dmu import fetch_columns as to_fetch
from model.zfs.dmu.layout import level_block
from model.zfs.dmu.zfetch import read_block as show_block
from model.zfs.vdev.leaves import answered, disk_done, read_at, release_io

# ---- accounts ----


@kernel
def turn_to(threads, spent, recorder, now, thread, activity):
    """`thread` has done what it did until `now`, and turns to `activity`."""
    began = threads[thread, reader.SINCE]
    spent[thread, threads[thread, reader.ACTIVITY]] += now - began
    n = recorder.n[watched.ACTIVITIES]
    if recorder.thread == thread and now > began and n < len(recorder.activities):
        rows = recorder.activities
        rows[n, watched.BEGAN] = began
        rows[n, watched.ENDED] = now
        rows[n, watched.ACTIVITY] = threads[thread, reader.ACTIVITY]
        rows[n, watched.WAITED_FOR] = threads[thread, reader.WAITS_FOR]
        recorder.n[watched.ACTIVITIES] += 1
    threads[thread, reader.ACTIVITY], threads[thread, reader.SINCE] = activity, now


@kernel
def _record_call(recorder, file, record, prefetched, tick, rows, n_rows):
    n = recorder.n[watched.CALLS]
    if n < len(recorder.calls):
        calls, n_records = recorder.calls, 0
        for row in range(n_rows):
            n_records += rows[row, to_fetch.N_BLOCKS]
        calls[n, watched.FILE] = file
        calls[n, watched.RECORD] = record
        calls[n, watched.WAS_THERE] = prefetched
        calls[n, watched.TICK] = tick
        calls[n, watched.N_ASKED] = n_records
        recorder.n[watched.CALLS] += 1


# ---- core ----


@kernel
def _enter_below(core, files, file, record):
    """One more record of the ring is below each of the blocks above it."""
    for level in range(1, files.n_levels[file]):
        i = level_block(files, file, record, level) - files.n_records
        core.n_below[i] += 1
        if core.n_below[i] > 1:
            return


@kernel
def _leave_below(core, files, status, file, record, keeps_indirect):
    """One less; an indirect block that has none left is no longer held in core, and leaves it."""
    for level in range(1, files.n_levels[file]):
        block = level_block(files, file, record, level)
        core.n_below[block - files.n_records] -= 1
        if core.n_below[block - files.n_records] > 0:
            return
        if not keeps_indirect:
            status[block] = ABSENT


@kernel
def use(core, files, status, file, record):
    """A reader has had `record` of `file`: it becomes the last one to leave core."""
    block = files.base[file, 0] + record
    entry = block + 1
    if core.older[entry] >= 0:
        unlink(core, entry)
    else:
        core.n[0] += 1
        _enter_below(core, files, file, record)
    link_after(core, core.older[0], entry)
    status[block] = IN_CORE


@kernel
def evict(core, files, status, keeps_indirect):
    """The record that was used longest ago leaves core."""
    entry = core.newer[0]
    unlink(core, entry)
    core.older[entry] = -1
    core.n[0] -= 1
    status[entry - 1] = ABSENT
    n_per_file = files.n_records_of[0]
    _leave_below(core, files, status, (entry - 1) // n_per_file, (entry - 1) % n_per_file, keeps_indirect)


# ---- a thread: holding and prefetching ----


@kernel
def records_of(readers, offset):
    """(first record of the read at `offset`, first one behind it)."""
    return offset // readers.record_bytes, -(-(offset + readers.read_bytes) // readers.record_bytes)


@kernel
def _wanted(files, status, file, record):
    """The highest block absent among `record` of `file` and those above it, and its level; or NOBODY."""
    for level in range(files.n_levels[file] - 1, -1, -1):
        block = level_block(files, file, record, level)
        if status[block] == ABSENT:
            return block, level
    return NOBODY, 0


@part
def _ask(m, leaves, now, thread, block, kind):
    """Have `block` read: (whether it is there at once, I/O or NIL)."""
    place, n_bytes, priority = m.layout.place[block], m.readers.record_bytes, leaves.queue_params.sync_read_priority
    if kind == INDIRECT:
        i = block - m.files.n_records
        n_bytes = m.layout.n_bytes[i]
        if m.tally.copy_read[m.threads[thread, reader.N_WRAPS] % PASSES, i]:
            place = m.layout.second[i]
    elif kind == PREFETCH:
        priority = leaves.queue_params.async_read_priority
    m.status[block] = READING
    m.tally.asked_at[block], m.tally.asked_as[block] = now, kind
    change_by(m.tally.under_way, now, 1)
    return read_at(leaves, now, place, n_bytes, 1 if kind == INDIRECT else 0, block, priority)


@part
def _came(m, now, block):
    """`block` is in core."""
    is_indirect, kind = block >= m.files.n_records, m.tally.asked_as[block]
    m.status[block] = IN_CORE if is_indirect else FRESH
    m.tally.counts[reader.INDIRECT_CAME if is_indirect else reader.RECORDS_CAME] += 1
    m.tally.took[kind] += now - m.tally.asked_at[block]
    m.tally.came[kind] += 1
    change_by(m.tally.under_way, now, -1)


@part
def _show_zfetch(m, now, thread, record, prefetched):
    """zfetch of the thread's file sees `record`, and says what to fetch."""
    n_rows, tick, maxblkid = 0, now // TICK_NS, m.files.n_records_of[thread] - 1
    if m.readers.read_bytes <= m.zfetch_params.max_request_bytes:
        n_rows = show_block(m.zfetch, m.zfetch_params, thread, record, prefetched, tick, maxblkid, m.answer)
        _record_call(m.recorder, thread, record, prefetched, tick, m.answer, n_rows)
    for row in range(n_rows):
        m.fetches[thread, row, to_fetch.FIRST_BLOCK] = m.answer[row, to_fetch.FIRST_BLOCK]
        m.fetches[thread, row, to_fetch.N_BLOCKS] = m.answer[row, to_fetch.N_BLOCKS]
    m.threads[thread, reader.ROW], m.threads[thread, reader.N_ROWS], m.threads[thread, reader.FETCHED] = 0, n_rows, 0
    m.threads[thread, reader.STAGE] = FETCH


@kernel
def _next_fetch(threads, fetches, thread):
    """The next record to prefetch; or NOBODY, and the next one of the read is to be held."""
    row = threads[thread, reader.ROW]
    if row < threads[thread, reader.N_ROWS] and threads[thread, reader.FETCHED] == fetches[thread, row, to_fetch.N_BLOCKS]:
        row += 1
        threads[thread, reader.ROW], threads[thread, reader.FETCHED] = row, 0
    if row < threads[thread, reader.N_ROWS]:
        return fetches[thread, row, to_fetch.FIRST_BLOCK] + threads[thread, reader.FETCHED]
    threads[thread, reader.STAGE] = HOLD
    threads[thread, reader.RECORD] += 1
    return NOBODY


@kernel
def _next_held(threads, readers, thread):
    """The next record of the read; or NOBODY, and they are to be waited for."""
    if threads[thread, reader.RECORD] < records_of(readers, threads[thread, reader.OFFSET])[1]:
        return threads[thread, reader.RECORD]
    threads[thread, reader.STAGE] = AWAIT
    return NOBODY


@part
def _look(m, leaves, now, thread, stage):
    """HOLD or FETCH, one record or one block above it: (I/O or NIL, ns of CPU time until the thread goes on, or NEVER
    if it waits)."""
    is_held = stage == HOLD
    record = _next_held(m.threads, m.readers, thread) if is_held else _next_fetch(m.threads, m.fetches, thread)
    if record == NOBODY:
        return NIL, 0
    block, level = _wanted(m.files, m.status, thread, record)
    io, there, later = NIL, True, 0
    if block != NOBODY:
        kind = INDIRECT if level > 0 else DEMAND if is_held else PREFETCH
        there, io = _ask(m, leaves, now, thread, block, kind)
        if there:
            _came(m, now, block)
    if level > 0:
        if not there:
            turn_to(m.threads, m.tally.spent, m.recorder, now, thread, STALLED)
            m.threads[thread, reader.WAITS_FOR] = block
            later = NEVER
        return io, later
    if block != NOBODY and m.settings.issue_ns > 0:
        turn_to(m.threads, m.tally.spent, m.recorder, now, thread, ISSUING)
        later = m.settings.issue_ns
    if is_held:
        _show_zfetch(m, now, thread, record, 1 if block == NOBODY else 0)
    else:
        m.threads[thread, reader.FETCHED] += 1
    return io, later


# ---- a thread: waiting, copying, going on ----


@kernel
def _count_in(status, files, readers, file, offset, wanted):
    """Records of the read at `offset` whose status is `wanted`."""
    first, behind = records_of(readers, offset)
    n = 0
    for record in range(first, behind):
        n += status[files.base[file, 0] + record] == wanted
    return n


@part
def _await(m, now, thread):
    """Wait for the records of the read; NEVER, or 0 if they are all there."""
    m.threads[thread, reader.STAGE] = COPY
    missing = _count_in(m.status, m.files, m.readers, thread, m.threads[thread, reader.OFFSET], READING)
    m.threads[thread, reader.N_MISSING] = missing
    if missing == 0:
        return 0
    turn_to(m.threads, m.tally.spent, m.recorder, now, thread, WAITING)
    return NEVER


@kernel
def _n_copying(threads):
    """Threads that copy."""
    n = 0
    for thread in range(len(threads)):
        n += threads[thread, reader.ACTIVITY] == COPYING
    return n


@part
def _copy(m, now, thread):
    """ns that it takes."""
    settings = m.settings
    m.threads[thread, reader.STAGE] = FINISH
    n_fresh = _count_in(m.status, m.files, m.readers, thread, m.threads[thread, reader.OFFSET], FRESH)
    turn_to(m.threads, m.tally.spent, m.recorder, now, thread, COPYING)
    interrupt_ns = n_fresh * settings.complete_ns
    m.tally.interrupted[thread] += interrupt_ns
    return max(settings.copy_ns, _n_copying(m.threads) * settings.memory_ns) * m.readers.read_bytes // MIB + interrupt_ns


@part
def _finish(m, now, thread):
    """The read is done: its records are the last ones to leave core; on to the next read."""
    tally, threads, offset = m.tally, m.threads, m.threads[thread, reader.OFFSET]
    n = tally.counts[reader.READS_DONE]
    tally.stream[n], tally.response_ns[n], tally.response_at[n] = thread, now - threads[thread, reader.BEGAN], now
    tally.counts[reader.READS_DONE] += 1
    first, behind = records_of(m.readers, offset)
    for record in range(first, behind):
        tally.counts[reader.RECORDS_USED] += m.status[m.files.base[thread, 0] + record] == FRESH
        use(m.core, m.files, m.status, thread, record)
    while m.core.n[0] * m.readers.record_bytes > m.settings.arc_bytes and m.core.n[0] > behind - first:
        evict(m.core, m.files, m.status, m.settings.keeps_indirect)
        tally.counts[reader.EVICTED] += 1
    threads[thread, reader.OFFSET] += m.readers.read_bytes
    if threads[thread, reader.OFFSET] + m.readers.read_bytes > m.readers.file_bytes:
        threads[thread, reader.OFFSET] = 0
        threads[thread, reader.N_WRAPS] += 1
    threads[thread, reader.RECORD] = records_of(m.readers, threads[thread, reader.OFFSET])[0]
    threads[thread, reader.STAGE] = HOLD
    threads[thread, reader.BEGAN] = now


@part
def thread_event(m, leaves, now, thread):
    """All that `thread` does at once, until it needs time or has an I/O: that I/O, or NIL."""
    io, later = NIL, 0
    while io == NIL and later == 0:
        stage = m.threads[thread, reader.STAGE]
        if stage in (HOLD, FETCH):
            io, later = _look(m, leaves, now, thread, stage)
        elif stage == AWAIT:
            later = _await(m, now, thread)
        elif stage == COPY:
            later = _copy(m, now, thread)
        else:
            _finish(m, now, thread)
            later = -1
    if later < NEVER:
        set_time(m.calendar, m.settings.n_leaves + thread, now + max(0, later))
    return io


# ---- disks ----


@kernel
def _who_waits(threads, block):
    """The thread that is stalled for an indirect `block`."""
    thread = 0
    while threads[thread, reader.WAITS_FOR] != block:
        thread += 1
    return thread


@part
def _wake(m, now, thread):
    set_time(m.calendar, m.settings.n_leaves + thread, now)


@part
def _block_came(m, now, block):
    """A block has been read: let the thread go on that waits for it, and for nothing else."""
    _came(m, now, block)
    if block >= m.files.n_records:
        thread = _who_waits(m.threads, block)
        turn_to(m.threads, m.tally.spent, m.recorder, now, thread, ISSUING)
        m.threads[thread, reader.WAITS_FOR] = NOBODY
        _wake(m, now, thread)
        return
    n_per_file = m.files.n_records_of[0]
    thread, record = block // n_per_file, block % n_per_file
    first, behind = records_of(m.readers, m.threads[thread, reader.OFFSET])
    if m.threads[thread, reader.N_MISSING] > 0 and first <= record < behind:
        m.threads[thread, reader.N_MISSING] -= 1
        if m.threads[thread, reader.N_MISSING] == 0:
            _wake(m, now, thread)


@part
def disk_event(m, leaves, now, leaf):
    """A disk has served a unit: tell whoever waited. Returns `leaf` if there is more for it to do, else -1."""
    io = disk_done(leaves, now, leaf)
    while io != NIL:
        m.tally.counts[reader.IOS_DONE] += 1
        m.tally.counts[reader.BYTES_DONE] += leaves.queue.n_bytes[io]
        block = answered(leaves, now, leaf, io)
        while block != NOBODY:
            following = leaves.joined_before[block]
            _block_came(m, now, block)
            block = following
        io = release_io(leaves, io)
    return leaf if leaves.drives.units[leaf, queued.N_COMMANDS] > 0 else -1
