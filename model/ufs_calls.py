"""UFS at work: the calls of a database, what the disks have done, fsflush. The rules stand in `model.ufs`.

    take_calls(store, calls, calendar, now)     everything in the outbox is begun
    next_time(store)                            of the next own event
    store_event(store, calendar, now)           a disk or array has done an I/O, or fsflush looks

A call that cannot begin (too much of its file is on its way, or memory is full of pages that are) is *stalled* and
looked at again whenever an I/O is done.
"""

from model.calendar import next_source, set_time
from model.drive_queue import READ as READ_IO
from model.drive_queue import WRITE as WRITE_IO
from model.file_calls import (
    CONTROL,
    EXTEND,
    FSYNC,
    N_BYTES,
    OFFSET,
    OPERATION,
    READ,
    WAL_CREATE,
    WAL_SYNC,
    WAL_WRITE,
    WAL_WRITE_THROUGH,
    WRITE,
)
from model.file_calls import FILE as FILE_OF_CALL
from model.jit import kernel, part
from model.ufs import (
    AT,
    AWAITED,
    BASE,
    BLOCKS_THEN_JOURNAL,
    FILE_EPOCH,
    FIRST_PAGE,
    GROUP_SHARE,
    GREW,
    JOURNAL,
    JOURNAL_BYTES,
    LEFT,
    NEXT_BLOCK,
    RETURN,
    RUN_AT,
    RUN_BYTES,
    STRIPE,
    SYNC_LEFT,
    SYNCER,
    TODO,
    UNDER_WAY,
    UNDER_WAY_BYTES,
)
from model.ufs import N_BYTES as FILE_BYTES
from model.ufs_cache import touch
from model.ufs_volume import EPOCH, FILE, N_FREE, NONE, PAGE, PAGE_BYTES, PROCESS, SECOND_NS, issue, one_done, release_io

LOG = 0
RECORD_BYTES = 1024  # of a file system's log; a commit of a small transaction
FILE_OF_TASK = 4  # beside TODO and the others


# ---- places ----


@kernel
def _place(u, dense):
    """As `model.ufs.place_of`."""
    piece = u.s.piece_bytes
    return JOURNAL_BYTES + dense // piece * (GROUP_SHARE * piece) + dense % piece


@kernel
def _page(u, file, offset):
    return u.file[file, FIRST_PAGE] + offset // PAGE_BYTES


@kernel
def _is_direct(u, file):
    return u.s.log_directio if file == LOG else u.s.table_directio


@kernel
def _io(u, now, file, offset, n_bytes, kind, process, holds):
    """One request, in parts where a piece of the file ends: how many I/Os. `holds`: an asynchronous write of cached pages."""
    n = 0
    while n_bytes > 0:
        dense = u.file[file, BASE] + offset
        length = min(n_bytes, u.s.piece_bytes - dense % u.s.piece_bytes)
        n += issue(u.volumes, now, u.file[file, STRIPE], _place(u, dense), length, kind, file if holds else NONE, process,
                   u.file[file, FILE_EPOCH], _page(u, file, offset) if holds else 0)
        offset += length
        n_bytes -= length
    return n


@kernel
def _wait_for_io(u, now, process, file, offset, n_bytes, kind):
    u.task[process, AWAITED] = _io(u, now, file, offset, n_bytes, kind, process, False)


# ---- rule 2: writes that are put off ----


@kernel
def send_off(u, now, file):
    """The run that is put off goes to disk."""
    if u.file[file, RUN_BYTES]:
        n = _io(u, now, file, u.file[file, RUN_AT], u.file[file, RUN_BYTES], WRITE_IO, NONE, True)
        u.file[file, UNDER_WAY] += n
        u.file[file, UNDER_WAY_BYTES] += u.file[file, RUN_BYTES]
        u.file[file, RUN_BYTES] = 0


@kernel
def _put_off(u, now, file, offset):
    page = _page(u, file, offset)
    touch(u.cache, page)
    u.cache.held[page] += 1
    run, length = u.file[file, RUN_AT], u.file[file, RUN_BYTES]
    if length and (length >= u.s.cluster_bytes or run + length != offset):
        send_off(u, now, file)
    if not u.file[file, RUN_BYTES]:
        u.file[file, RUN_AT] = offset
    u.file[file, RUN_BYTES] += PAGE_BYTES


@kernel
def _write_buffered(u, now, file, offset, n_bytes):
    for at in range(offset, offset + n_bytes, PAGE_BYTES):
        _put_off(u, now, file, at)


# ---- rules 4 and 5: what a process does step by step ----


@kernel
def _journal(u, now, process, stripe):
    """A commit of the file system's own log."""
    at = u.journal_at[stripe]
    u.journal_at[stripe] = (at + RECORD_BYTES) % JOURNAL_BYTES
    u.task[process, TODO] = RETURN
    u.task[process, AWAITED] = issue(u.volumes, now, stripe, at, RECORD_BYTES, WRITE_IO, NONE, process, 0, 0)


@kernel
def _next_block(u, now, process):
    at, file = u.task[process, AT], u.task[process, FILE_OF_TASK]
    u.task[process, AT] += PAGE_BYTES
    u.task[process, LEFT] -= PAGE_BYTES
    _wait_for_io(u, now, process, file, at, PAGE_BYTES, WRITE_IO)


@kernel
def _go_on(u, calendar, now, process):
    """Nothing is awaited any more."""
    todo = u.task[process, TODO]
    if todo in (NEXT_BLOCK, BLOCKS_THEN_JOURNAL) and u.task[process, LEFT] > 0:
        _next_block(u, now, process)
    elif todo in (BLOCKS_THEN_JOURNAL, JOURNAL):
        _journal(u, now, process, u.file[u.task[process, FILE_OF_TASK], STRIPE])
    else:
        set_time(calendar, process, now + u.s.call_ns)


@kernel
def _block_by_block(u, calendar, now, process, offset, n_bytes, todo):
    u.task[process, TODO], u.task[process, AT], u.task[process, LEFT] = todo, offset, n_bytes
    _go_on(u, calendar, now, process)


@kernel
def _sync(u, calendar, now, process, file, todo):
    """Rule 4."""
    send_off(u, now, file)
    u.task[process, TODO] = todo
    u.file[file, FILE_EPOCH] += 1
    u.file[file, SYNC_LEFT] = u.file[file, UNDER_WAY]
    if u.file[file, SYNC_LEFT]:
        u.file[file, SYNCER] = process
    else:
        _go_on(u, calendar, now, process)


# ---- calls ----


@kernel
def _file_of(u, calls, process):
    operation = calls.row[process, OPERATION]
    if operation == CONTROL:
        return len(u.file) - 1
    return calls.row[process, FILE_OF_CALL] + 1 if operation in (READ, WRITE, EXTEND, FSYNC) else LOG


@kernel
def _may_begin(u, operation, file):
    if u.volumes.n[N_FREE] < u.n_reserved or u.file[file, SYNCER] != NONE and operation in (FSYNC, WAL_SYNC, CONTROL):
        return False
    is_write = operation in (WRITE, EXTEND, WAL_WRITE)
    return not (is_write and u.s.throttles and u.file[file, UNDER_WAY_BYTES] > u.s.high_water)


@part
def _write_call(u, calendar, now, process, operation, file, offset, n_bytes):
    if operation == EXTEND or operation == WAL_CREATE:
        u.file[file, GREW] = 1
    if operation == WAL_CREATE and _is_direct(u, file):
        _block_by_block(u, calendar, now, process, offset, n_bytes, BLOCKS_THEN_JOURNAL)
    elif operation == WAL_WRITE_THROUGH and not _is_direct(u, file):
        for at in range(offset, offset + n_bytes, PAGE_BYTES):
            touch(u.cache, _page(u, file, at))
        _block_by_block(u, calendar, now, process, offset, n_bytes, NEXT_BLOCK)
    elif _is_direct(u, file):
        u.task[process, TODO] = JOURNAL if operation == CONTROL else RETURN
        _wait_for_io(u, now, process, file, offset, n_bytes, WRITE_IO)
    else:
        _write_buffered(u, now, file, offset, n_bytes)
        if operation in (CONTROL, WAL_CREATE):
            _sync(u, calendar, now, process, file, JOURNAL)
        else:
            set_time(calendar, process, now + u.s.call_ns)


@kernel
def begin_call(u, calls, calendar, now, process):
    operation, file = calls.row[process, OPERATION], _file_of(u, calls, process)
    if not _may_begin(u, operation, file):
        u.stalled[u.n_stalled[0]] = process
        u.n_stalled[0] += 1
        return
    offset, n_bytes = calls.row[process, OFFSET] % u.file[file, FILE_BYTES], calls.row[process, N_BYTES]
    u.task[process, FILE_OF_TASK], u.task[process, TODO] = file, RETURN
    if operation == READ:
        if not _is_direct(u, file) and touch(u.cache, _page(u, file, offset)):
            set_time(calendar, process, now + u.s.call_ns)
        else:
            _wait_for_io(u, now, process, file, offset, n_bytes, READ_IO)
    elif operation == FSYNC or operation == WAL_SYNC:
        todo = JOURNAL if operation == FSYNC or u.file[file, GREW] else RETURN
        u.file[file, GREW] = 0
        _sync(u, calendar, now, process, file, todo)
    else:
        _write_call(u, calendar, now, process, operation, file, offset, n_bytes)


@kernel
def take_calls(u, calls, calendar, now):
    for i in range(calls.n_out[0]):
        begin_call(u, calls, calendar, now, calls.outbox[i])
    calls.n_out[0] = 0


# ---- events ----


@kernel
def next_time(u):
    return u.volumes.calendar.time[next_source(u.volumes.calendar)]


@part
def _async_done(u, calendar, now, io, file):
    for page in range(u.volumes.io[io, PAGE], u.volumes.io[io, PAGE] + u.volumes.n_bytes[io] // PAGE_BYTES):
        u.cache.held[page] -= 1
    u.file[file, UNDER_WAY] -= 1
    u.file[file, UNDER_WAY_BYTES] -= u.volumes.n_bytes[io]
    if u.file[file, SYNCER] != NONE and u.volumes.io[io, EPOCH] < u.file[file, FILE_EPOCH]:
        u.file[file, SYNC_LEFT] -= 1
        if u.file[file, SYNC_LEFT] == 0:
            process, u.file[file, SYNCER] = u.file[file, SYNCER], NONE
            _go_on(u, calendar, now, process)


@part
def _look(u, now):
    """Rule 7. A page's place in memory is taken to be its number."""
    u.n_looked[0] += 1
    set_time(u.volumes.calendar, u.volumes.n_disks, now + SECOND_NS)
    for file in range(len(u.file)):
        page = _page(u, file, u.file[file, RUN_AT])
        if page % u.s.autoup_s == u.n_looked[0] % u.s.autoup_s and u.volumes.n[N_FREE] >= u.n_reserved:
            send_off(u, now, file)


@part
def _begin_stalled(u, calls, calendar, now):
    n = u.n_stalled[0]
    u.n_stalled[0] = 0
    for i in range(n):
        begin_call(u, calls, calendar, now, u.stalled[i])


@kernel
def store_event(u, calls, calendar, now):
    source = next_source(u.volumes.calendar)
    if source == u.volumes.n_disks:
        _look(u, now)
        return
    io = one_done(u.volumes, now, source)
    process, file = u.volumes.io[io, PROCESS], u.volumes.io[io, FILE]
    release_io(u.volumes, io)
    if file != NONE:
        _async_done(u, calendar, now, io, file)
    elif process != NONE:
        u.task[process, AWAITED] -= 1
        if u.task[process, AWAITED] == 0:
            _go_on(u, calendar, now, process)
    if u.n_stalled[0]:
        _begin_stalled(u, calls, calendar, now)
