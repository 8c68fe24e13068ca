"""UFS at work: the calls of a database, what the disks have done, fsflush. The rules stand in `model.filesystems.ufs.state`.

    take_calls(store, calls, calendar, now)     everything in the outbox is begun
    next_time(store)                            of the next own event
    store_event(store, calendar, now)           a disk or array has done an I/O, or fsflush looks

A process whose wait is over is *ready*. Whatever it does next is a request, and all requests become I/Os at one place
(`_work`) before the next process goes on. A call cannot begin if too much of its file is on its way, or all I/Os are in
use. It is *stalled* then, and looked at again whenever an I/O is done.
"""

from model.devices.command_queue import READ as READ_IO
from model.devices.command_queue import WRITE as WRITE_IO
from model.events.calendar import NEVER, next_source, set_time
from model.events.clock import SECOND_NS
from model.filesystems import columns as call
from model.filesystems.calls import CONTROL, EXTEND, FSYNC, READ, WAL_CREATE, WAL_SYNC, WAL_WRITE, WAL_WRITE_THROUGH, WRITE
from model.filesystems.ufs import columns as ufs
from model.filesystems.ufs import volume_columns as volume
from model.filesystems.ufs.page_cache import touch
from model.filesystems.ufs.requests import get_ready, is_in_core, issue, page_at, page_of, put_off, request, send_off
from model.filesystems.ufs.state import (
    BEGIN,
    BLOCKS_THEN_JOURNAL,
    JOURNAL,
    JOURNAL_BYTES,
    NEXT_BLOCK,
    OF_JOURNAL,
    RETURN,
    SYNC,
    SYNC_THEN_JOURNAL,
)
from model.filesystems.ufs.volumes import PAGE_BYTES, feed_units, one_done, release_io
from model.jit import kernel, part
from model.structures.sentinels import NONE

LOG = 0
SYNCS = FSYNC, WAL_SYNC, WAL_CREATE, CONTROL
RECORD_BYTES = 1024  # of a file system's log; a commit of a small transaction


# ---- calls ----


@kernel
def _is_direct(u, file):
    return u.s.log_directio if file == LOG else u.s.table_directio


@kernel
def _file_of(u, process):
    operation = u.call[process, call.OPERATION]
    if operation == CONTROL:
        return len(u.file) - 1
    return u.call[process, call.FILE] + 1 if operation in (READ, WRITE, EXTEND, FSYNC) else LOG


@part
def _may_begin(u, operation, file):
    if u.volumes.n[volume.N_FREE] < u.n_reserved or (u.file[file, ufs.SYNCER] != NONE and operation in SYNCS):
        return False
    if not u.s.throttles or operation not in (WRITE, EXTEND, WAL_WRITE):
        return True
    if u.file[file, ufs.UNDER_WAY_BYTES] > u.s.high_water:
        u.file[file, ufs.IS_THROTTLED] = 1
    elif u.file[file, ufs.UNDER_WAY_BYTES] < u.s.low_water:
        u.file[file, ufs.IS_THROTTLED] = 0
    return not u.file[file, ufs.IS_THROTTLED]


@part
def _write_direct(u, process, operation, file, offset, n_bytes):
    """Rule 6. A file of log is made of zeros by one short write after another."""
    if operation == WAL_CREATE:
        u.task[process, ufs.TODO], u.task[process, ufs.LEFT] = BLOCKS_THEN_JOURNAL, n_bytes
        get_ready(u, process)
        return
    u.task[process, ufs.TODO] = JOURNAL if operation == CONTROL else RETURN
    request(u, file, offset, n_bytes, WRITE_IO, process, 0)


@part
def _write_buffered(u, process, operation, file, begin, n_bytes):
    """Rules 2 and 5. InnoDB's log is written in parts of pages; what goes to disk are pages."""
    offset = page_at(begin)
    n_bytes = page_at(begin + n_bytes + PAGE_BYTES - 1) - offset
    u.task[process, ufs.AT] = offset
    for at in range(offset, offset + n_bytes, PAGE_BYTES):
        if operation == WAL_WRITE_THROUGH:
            touch(u.cache, page_of(u, file, at))
        else:
            put_off(u, file, at)
    if operation == WAL_WRITE_THROUGH:
        u.task[process, ufs.TODO], u.task[process, ufs.LEFT] = NEXT_BLOCK, n_bytes
    elif operation in (CONTROL, WAL_CREATE):
        u.task[process, ufs.TODO] = SYNC_THEN_JOURNAL
        send_off(u, file)
    get_ready(u, process)


@part
def _begin_call(u, process):
    operation, file = u.call[process, call.OPERATION], _file_of(u, process)
    if not _may_begin(u, operation, file):
        u.stalled[u.n[ufs.N_STALLED]] = process
        u.n[ufs.N_STALLED] += 1
        return
    offset, n_bytes = u.call[process, call.OFFSET] % u.file[file, ufs.N_BYTES], u.call[process, call.N_BYTES]
    u.task[process, ufs.FILE_OF_TASK], u.task[process, ufs.TODO], u.task[process, ufs.AT] = file, RETURN, offset
    if operation in (EXTEND, WAL_CREATE):
        u.file[file, ufs.GREW] = 1
    if operation == READ:
        if not _is_direct(u, file) and is_in_core(u, file, offset, n_bytes):
            get_ready(u, process)
        else:
            request(u, file, offset, n_bytes, READ_IO, process, 0)
    elif operation in (FSYNC, WAL_SYNC):
        u.task[process, ufs.TODO] = SYNC_THEN_JOURNAL if operation == FSYNC or u.file[file, ufs.GREW] else SYNC
        u.file[file, ufs.GREW] = 0
        send_off(u, file)
        get_ready(u, process)
    elif _is_direct(u, file):
        _write_direct(u, process, operation, file, offset, n_bytes)
    else:
        _write_buffered(u, process, operation, file, offset, n_bytes)


# ---- what a process does step by step ----


@part
def _sync(u, process, file):
    """Rule 4: all of the file has been sent off."""
    u.task[process, ufs.TODO] = JOURNAL if u.task[process, ufs.TODO] == SYNC_THEN_JOURNAL else RETURN
    u.file[file, ufs.FILE_EPOCH] += 1
    u.file[file, ufs.SYNC_LEFT] = u.file[file, ufs.UNDER_WAY]
    if u.file[file, ufs.SYNC_LEFT]:
        u.file[file, ufs.SYNCER] = process
    else:
        get_ready(u, process)


@part
def _next_block(u, process, file):
    """Rule 5."""
    request(u, file, u.task[process, ufs.AT], PAGE_BYTES, WRITE_IO, process, 0)
    u.task[process, ufs.AT] += PAGE_BYTES
    u.task[process, ufs.LEFT] -= PAGE_BYTES


@part
def _journal(u, process, file):
    """A commit of the file system's own log."""
    stripe = u.file[file, ufs.STRIPE]
    at = u.journal_at[stripe]
    u.journal_at[stripe] = (at + RECORD_BYTES) % JOURNAL_BYTES
    u.task[process, ufs.TODO] = RETURN
    request(u, file, at, RECORD_BYTES, WRITE_IO, process, OF_JOURNAL)


@part
def _go_on(u, calendar, now, process):
    """Nothing is awaited any more."""
    todo, file = u.task[process, ufs.TODO], u.task[process, ufs.FILE_OF_TASK]
    if todo == BEGIN:
        _begin_call(u, process)
    elif todo in (SYNC, SYNC_THEN_JOURNAL):
        _sync(u, process, file)
    elif todo in (NEXT_BLOCK, BLOCKS_THEN_JOURNAL) and u.task[process, ufs.LEFT] > 0:
        _next_block(u, process, file)
    elif todo in (BLOCKS_THEN_JOURNAL, JOURNAL):
        _journal(u, process, file)
    else:
        set_time(calendar, process, now + u.s.call_ns)


@part
def _work(u, calendar, now):
    """Requests become I/Os, then a process goes on, until there are neither; then units get what there is for them."""
    while u.n[ufs.N_REQUESTS] or u.n[ufs.N_READY]:
        for i in range(u.n[ufs.N_REQUESTS]):
            row = u.request
            issue(u, row[i, ufs.OF_FILE], row[i, ufs.PLACE], row[i, ufs.LENGTH], row[i, ufs.KIND], row[i, ufs.WAITER],
                  row[i, ufs.REQUEST_PAGE])
        u.n[ufs.N_REQUESTS] = 0
        if u.n[ufs.N_READY]:
            u.n[ufs.N_READY] -= 1
            _go_on(u, calendar, now, u.ready[u.n[ufs.N_READY]])
    feed_units(u.volumes, now)


# ---- the store ----


@kernel
def take_calls(u, calls, calendar, now):
    """Everything in the outbox is begun, by an event of the store's own at `now`."""
    for i in range(calls.n_out[0] - 1, -1, -1):
        process = calls.outbox[i]
        for column in range(u.call.shape[1]):
            u.call[process, column] = calls.row[process, column]
        u.task[process, ufs.TODO] = BEGIN
        get_ready(u, process)
    if calls.n_out[0]:
        set_time(u.volumes.calendar, u.volumes.n_disks + 1, now)
    calls.n_out[0] = 0


@kernel
def next_time(u):
    """When UFS does something next [ns]."""
    return u.volumes.calendar.time[next_source(u.volumes.calendar)]


@part
def _io_done(u, now, source):
    """The process that waited for it goes on first; after that, each stalled one tries again."""
    while u.n[ufs.N_STALLED]:
        u.n[ufs.N_STALLED] -= 1
        get_ready(u, u.stalled[u.n[ufs.N_STALLED]])
    io = one_done(u.volumes, now, source)
    process, file = u.volumes.io[io, volume.PROCESS], u.volumes.io[io, volume.FILE]
    if file != NONE:
        _async_done(u, io, file)
    else:
        u.task[process, ufs.AWAITED] -= 1
        if u.task[process, ufs.AWAITED] == 0:
            get_ready(u, process)
    release_io(u.volumes, io)


@part
def _async_done(u, io, file):
    first = u.volumes.io[io, volume.PAGE]
    for page in range(first, first + u.volumes.n_bytes[io] // PAGE_BYTES):
        u.cache.held[page] -= 1
    u.file[file, ufs.UNDER_WAY] -= 1
    u.file[file, ufs.UNDER_WAY_BYTES] -= u.volumes.n_bytes[io]
    if u.file[file, ufs.SYNCER] != NONE and u.volumes.io[io, volume.EPOCH] < u.file[file, ufs.FILE_EPOCH]:
        u.file[file, ufs.SYNC_LEFT] -= 1
        if u.file[file, ufs.SYNC_LEFT] == 0:
            get_ready(u, u.file[file, ufs.SYNCER])
            u.file[file, ufs.SYNCER] = NONE


@part
def _look(u, now):
    """Rule 7. A page's place in memory is taken to be its number."""
    u.n[ufs.N_LOOKS] += 1
    set_time(u.volumes.calendar, u.volumes.n_disks, now + SECOND_NS)
    for file in range(len(u.file)):
        page = page_of(u, file, u.file[file, ufs.RUN_AT])
        if page % u.s.autoup_s == u.n[ufs.N_LOOKS] % u.s.autoup_s and u.volumes.n[volume.N_FREE] >= u.n_reserved:
            send_off(u, file)


@kernel
def store_event(u, calendar, now):
    """The next event of UFS: a look of fsflush, or an I/O that a disk has done."""
    source = next_source(u.volumes.calendar)
    if source == u.volumes.n_disks:
        _look(u, now)
    elif source == u.volumes.n_disks + 1:
        set_time(u.volumes.calendar, source, NEVER)
    else:
        _io_done(u, now, source)
    _work(u, calendar, now)
