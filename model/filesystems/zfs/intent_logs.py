"""The intent logs of a ZFS under a database: what `model.zfs.zil.commit` wants done, and on which devices.

    commit, written, resume --> outbox --> rows, a ring --> a task each, up to 1024 at a time --> I/Os --> written
                                               | not before the processor is through with them

A LOG_BLOCK goes to a log device if it was allocated there, else to the main pool. When it is written, the next one gets its
place. A FILE_BLOCK is a record that is written now, to a new place. The transaction group of its entry takes it over, unless
it is dirtied again in that group (`early_in`). The writer of the log makes its I/O, one record after the other, as the sync
thread does for a group. Then threads compress and sum it, which costs as much here as there (zil.c, `zil_commit`;
zfs_vnops.c, `zfs_get_data`; dmu.c, `dmu_sync`; times: see `model.zfs.txg.write_issue`). A FLUSH goes to all devices of a
vdev. A released process goes on at once. CREATE asks for the next transaction group, and the chain begins when that is on
disk.
"""

from model.events.accounts import change_by
from model.events.calendar import set_time
from model.filesystems.zfs import columns as fs
from model.filesystems.zfs import stats as stat
from model.filesystems.zfs.devices import ios_left
from model.filesystems.zfs.placement import free_old, note_new, place, place_of_log_block
from model.filesystems.zfs.state import DATA, LOG, LOG_STAGE, SPARE_IOS, count, settings_of
from model.filesystems.zfs.vdev_writes import BLOCK, VDEV_FLUSH, want
from model.jit import kernel, part
from model.zfs.vdev.places import LEAF_SHIFT
from model.zfs.zil import columns as intent
from model.zfs.zil.commit import resume, touch, written
from model.zfs.zil.log import SLOG
from model.zfs.zil.writer import CREATE, FILE_BLOCK, LOG_BLOCK

NO_SLOT = -1


@kernel
def _give_place(chain, places, txg, log, slot):
    """A log block gets its place."""
    group = LOG if chain[log, slot, intent.DEVICE] == SLOG else DATA
    chain[log, slot, intent.PLACE] = place_of_log_block(places, txg, group, log, chain[log, slot, intent.BYTES])


@part
def _write_early(m, now, log, file, block, txg, task):
    """FILE_BLOCK."""
    n_bytes = m.of_file[file, fs.PSIZE]
    open_txg = m.txgs.open_txg[0]
    free_old(m.places, open_txg, block, m.layout.place[block], n_bytes)
    where = place(m.places, open_txg, open_txg, DATA, n_bytes)
    note_new(m.places, block)
    m.layout.place[block] = where
    m.early_in[block] = txg
    count(m.tally, stat.FILE_BLOCKS, 1, now)
    count(m.tally, stat.FILE_BLOCK_BYTES, n_bytes, now)
    touch(m.zil, log, where >> LEAF_SHIFT)
    want(m.wanted, m.n_wanted, BLOCK, where, n_bytes, task, m.leaves.queue_params.sync_write_priority, 0)


@part
def _write_log_block(m, now, log, slot, following, n_bytes, task):
    """LOG_BLOCK."""
    _give_place(m.zil.chain, m.places, m.txgs.open_txg[0], log, following)
    count(m.tally, stat.LOG_BLOCKS, 1, now)
    count(m.tally, stat.LOG_BYTES, n_bytes, now)
    where = m.zil.chain[log, slot, intent.PLACE]
    touch(m.zil, log, where >> LEAF_SHIFT)
    want(m.wanted, m.n_wanted, BLOCK, where, n_bytes, task, m.leaves.queue_params.log_write_priority, 0)


@part
def _begin_row(m, now, task, i):
    """Do what row `i` of the ring wants, as `task`."""
    rows, row = m.rows, task - len(m.process)
    log, kind, n_bytes = rows[i, fs.LOG_OF_ROW], rows[i, fs.KIND_OF_ROW], rows[i, fs.BYTES_OF_ROW]
    target, which = rows[i, fs.TARGET_OF_ROW], rows[i, fs.WHICH_OF_ROW]
    m.row_of[row, fs.LOG_OF_TASK], m.row_of[row, fs.SLOT_OF_TASK] = log, target if kind == LOG_BLOCK else NO_SLOT
    m.leaves.n_awaited[task] = 0
    if kind == LOG_BLOCK:
        _write_log_block(m, now, log, target, which, n_bytes, task)
    elif kind == FILE_BLOCK:
        _write_early(m, now, log, target - 1, which, rows[i, fs.OF_TXG], task)
    else:
        count(m.tally, stat.FLUSHES, 1, now)
        want(m.wanted, m.n_wanted, VDEV_FLUSH, target, 0, task, 0, 0)


@part
def begin_rows(m, now):
    """As many as there are tasks and I/Os for."""
    ends, last = m.row_ends, len(m.free_rows) - 1
    room = (ios_left(m.leaves.queue, m.sync) - SPARE_IOS // 2) // len(m.leaves.children)
    while ends[fs.N_TAKEN] < ends[fs.N_PUT] and m.free_rows[last] > 0 and room > 0:
        ready_at = m.rows[ends[fs.N_TAKEN] % len(m.rows), fs.READY_AT]
        if ready_at > now:
            set_time(m.calendar, m.sources.rows, ready_at)
            return
        m.free_rows[last] -= 1
        _begin_row(m, now, m.free_rows[m.free_rows[last]], ends[fs.N_TAKEN] % len(m.rows))
        ends[fs.N_TAKEN] += 1
        room -= 1


@part
def _row_ready(m, now, i):
    """When a processor is through with row `i` of the outbox."""
    begin = max(now, m.row_ends[fs.READY])
    if m.zil.outbox[i, intent.TO_DO] != FILE_BLOCK:
        return begin
    cpu_ns = m.of_file[m.zil.outbox[i, intent.TO_DO_TARGET] - 1, fs.SYNC_CPU]
    count(m.tally, stat.SYNC_CPU_NS, cpu_ns, now)
    m.owed[0] += cpu_ns * m.s.shares_cpus
    m.row_ends[fs.READY] = begin + m.s.sync_serial_ns
    return begin + cpu_ns


@kernel
def _add_row(rows, ends, log, outbox, i, ready_at):
    row = ends[fs.N_PUT] % len(rows)
    rows[row, fs.READY_AT] = ready_at
    rows[row, fs.LOG_OF_ROW] = log
    for column in range(outbox.shape[1]):
        rows[row, fs.KIND_OF_ROW + column] = outbox[i, column]
    ends[fs.N_PUT] += 1


@part
def take_rows(m, db_calendar, now):
    """After a call of an intent log: what it wants is put into the ring, and who is released goes on."""
    zil, log = m.zil, m.sync[fs.LOG_CALLED] - 1
    m.sync[fs.LOG_CALLED] = 0
    for i in range(zil.n_out[0]):
        if zil.outbox[i, intent.TO_DO] == CREATE:
            _give_place(zil.chain, m.places, m.txgs.open_txg[0], log, zil.outbox[i, intent.TO_DO_TARGET])
            m.sync[fs.IS_PUSHED] = 1
        else:
            _add_row(m.rows, m.row_ends, log, zil.outbox, i, _row_ready(m, now, i))
    for i in range(zil.n_released[0]):
        returns(m.tally, m.process, db_calendar, now, zil.released[i])
    zil.n_out[0] = zil.n_released[0] = 0


@kernel
def returns(tally, processes, db_calendar, now, process):
    """The commit that a call ends with is done, and so is the call."""
    count(tally, stat.CALLS_DONE, 1, now)
    tally.counts[stat.COMMIT_NS] += now - processes[process, fs.BEGAN]
    change_by(tally.waits, now, -1)
    set_time(db_calendar, process, now)


@part
def row_done(m, now, task):
    """All I/Os of a row are done."""
    row, last = task - len(m.process), len(m.free_rows) - 1
    log, slot = m.row_of[row, fs.LOG_OF_TASK], m.row_of[row, fs.SLOT_OF_TASK]
    m.free_rows[m.free_rows[last]] = task
    m.free_rows[last] += 1
    written(m.zil, m.zil_params, settings_of(m.zil_settings, log), log, slot, m.txgs.open_txg[0])
    m.sync[fs.LOG_CALLED] = 1 + log
    if m.sync[fs.SYNC_STAGE] == LOG_STAGE:
        set_time(m.calendar, m.sources.sync, now)


@part
def chain_goes_on(m, log):
    """A group has been synced: a chain that waited for its first block begins. (Its task: `model.filesystems.zfs.tasks`.)"""
    resume(m.zil, m.zil_params, settings_of(m.zil_settings, log), log, m.txgs.open_txg[0])
    m.sync[fs.LOG_CALLED] = 1 + log
