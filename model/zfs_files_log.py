"""The intent logs of a ZFS under a database: what `model.zil_commit` wants done, and on which devices.

    commit, written, resume --> outbox --> rows, a ring --> a task each, up to 1024 at a time --> I/Os --> written

A LOG_BLOCK goes to a log device if it was allocated there, else to the main pool; when it is written, the next one gets its
place. A FILE_BLOCK is a record that is written now, to a new place: its transaction group takes it over unless it is dirtied
again (`early_in`). A FLUSH goes to all devices of a vdev. Who is released goes on at once. CREATE asks for the next
transaction group, and the chain begins when that is on disk.
"""

from model.arc_lists import DIRTIED
from model.calendar import set_time
from model.jit import kernel, part
from model.layout import LEAF_SHIFT
from model.zfs_files_devices import flush_vdev, ios_left, write_block
from model.zfs_files_groups import push
from model.zfs_files_machine import (
    BEGAN,
    CALLS_DONE,
    COMMIT_NS,
    DATA,
    FILE_BLOCK_BYTES,
    FILE_BLOCKS,
    FLUSHES,
    LOG,
    LOG_BLOCKS,
    LOG_BYTES,
    LOG_STAGE,
    PSIZE,
    SPARE_IOS,
    SYNC_STAGE,
    count,
    count_calls,
    settings_of,
)
from model.zfs_files_places import place, place_of_log_block
from model.zil import BYTES, DEVICE, PLACE, SLOG
from model.zil_commit import resume, touch, written
from model.zil_pass import CREATE, FILE_BLOCK, LOG_BLOCK

NO_SLOT = -1


@kernel
def _give_place(m, log, slot):
    """A log block gets its place."""
    chain = m.zil.chain
    group = LOG if chain[log, slot, DEVICE] == SLOG else DATA
    chain[log, slot, PLACE] = place_of_log_block(m, group, log, chain[log, slot, BYTES])


@kernel
def _write(m, now, log, where, n_bytes, task, priority):
    """For a commit; `task` waits."""
    touch(m.zil, log, where >> LEAF_SHIFT)
    m.leaves.n_awaited[task] = write_block(m, now, where, n_bytes, task << m.leaves.waiter_shift, priority, 0)


@kernel
def _write_early(m, now, log, file, block, task):
    """FILE_BLOCK."""
    n_bytes, node = m.of_file[file, PSIZE], m.arc.node_of[block]
    where = place(m, DATA, n_bytes)
    m.layout.place[block] = where
    m.early_in[block] = m.arc.nodes[node, DIRTIED]
    count(m, FILE_BLOCKS, 1, now)
    count(m, FILE_BLOCK_BYTES, n_bytes, now)
    _write(m, now, log, where, n_bytes, task, m.leaves.queue_params.sync_write_priority)


@part
def _begin_row(m, now, task, i):
    """Do what row `i` of the ring wants, as `task`."""
    rows, chain = m.rows, m.zil.chain
    log, kind, n_bytes, what, which = rows[i, 0], rows[i, 1], rows[i, 2], rows[i, 3], rows[i, 4]
    row = task - len(m.process)
    m.row_of[row, 0], m.row_of[row, 1] = log, what if kind == LOG_BLOCK else NO_SLOT
    if kind == LOG_BLOCK:
        _give_place(m, log, which)
        count(m, LOG_BLOCKS, 1, now)
        count(m, LOG_BYTES, n_bytes, now)
        _write(m, now, log, chain[log, what, PLACE], n_bytes, task, m.leaves.queue_params.log_write_priority)
    elif kind == FILE_BLOCK:
        _write_early(m, now, log, what - 1, which, task)
    else:
        count(m, FLUSHES, 1, now)
        m.leaves.n_awaited[task] = flush_vdev(m, now, what, task << m.leaves.waiter_shift)


@part
def begin_rows(m, now):
    """As many as there are tasks and I/Os for."""
    ends, last = m.row_ends, len(m.free_rows) - 1
    while ends[1] < ends[0] and m.free_rows[last] > 0 and ios_left(m) > SPARE_IOS // 2:
        m.free_rows[last] -= 1
        _begin_row(m, now, m.free_rows[m.free_rows[last]], ends[1] % len(m.rows))
        ends[1] += 1


@kernel
def take_rows(m, db_calendar, now, log):
    """After a call of the intent log: what it wants is put into the ring, and who is released goes on."""
    zil, ends = m.zil, m.row_ends
    for i in range(zil.n_out[0]):
        if zil.outbox[i, 0] == CREATE:
            _give_place(m, log, zil.outbox[i, 2])
            push(m, now)
        else:
            row = ends[0] % len(m.rows)
            m.rows[row, 0] = log
            for column in range(4):
                m.rows[row, 1 + column] = zil.outbox[i, column]
            ends[0] += 1
    for i in range(zil.n_released[0]):
        returns(m, db_calendar, now, zil.released[i])
    zil.n_out[0] = zil.n_released[0] = 0


@kernel
def returns(m, db_calendar, now, process):
    """The commit that a call ends with is done, and so is the call."""
    count(m, CALLS_DONE, 1, now)
    m.tally.counts[COMMIT_NS] += now - m.process[process, BEGAN]
    count_calls(m, now, -1)
    set_time(db_calendar, process, now)


@part
def row_done(m, db_calendar, now, task):
    """All I/Os of a row are done."""
    row, last = task - len(m.process), len(m.free_rows) - 1
    log, slot = m.row_of[row, 0], m.row_of[row, 1]
    m.free_rows[m.free_rows[last]] = task
    m.free_rows[last] += 1
    written(m.zil, m.zil_params, settings_of(m, log), log, slot, m.txgs.open_txg[0])
    if m.sync[SYNC_STAGE] == LOG_STAGE:
        set_time(m.calendar, m.sources.sync, now)
    take_rows(m, db_calendar, now, log)


@part
def chain_goes_on(m, db_calendar, now, log):
    """A group has been synced: a chain that waited for its first block begins. (Tasks behind those of rows: the logs.)"""
    resume(m.zil, m.zil_params, settings_of(m, log), log, m.txgs.open_txg[0])
    take_rows(m, db_calendar, now, log)
