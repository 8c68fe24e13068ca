"""Who writes: a call takes its place in the open group, and if it is synchronous it waits for the intent log besides.

    asynchronous   throttle --> open group --> returns
    synchronous    throttle --> open group --> entry of the intent log --> log block written --> returns

The intent log is that of `model.zfs.zil`. Nobody asks the dedup table before a log block is written. A block of data is
looked up when its group is synced, and not before. zil.c writes log blocks without dedup; zio.c, `zio_ddt_write`, is in the
pipeline of a group. So the table delays a synchronous call by what it does to the disks, and by the throttle, and by nothing
else.

Left out: flushes, as of disks with their write cache off and a log device that survives a power cut. Writes of more than
32 KiB go to their place at once; `check_settings` refuses them.
"""
from model.devices.ssd import service
from model.events.calendar import set_time
from model.events.clock import TICK_NS
from model.jit import kernel, part
from model.simulations.dedup_writes import columns as at
from model.simulations.dedup_writes.groups import end_if_written, quiesce
from model.simulations.dedup_writes.state import LOG_BLOCK_DONE, LOG_UNIT, WRITER, source_of
from model.simulations.dedup_writes.table_io import next_place, send
from model.zfs.txg import columns as throttled
from model.zfs.txg.throttle import GOES_ON, SLEEPS, note_dirty, verdict
from model.zfs.vdev.leaves import write_for
from model.zfs.zil import columns as intent
from model.zfs.zil.commit import commit, resume, written
from model.zfs.zil.log import O_DSYNC, SLOG, record
from model.zfs.zil.writer import LOG_BLOCK

FREED_BYTES = 128  # dirtied by a freed block: its pointer in an indirect block
FILE = 1  # of the intent log's numbers


# ---- the intent log ----


@part
def _write_log_block(m, leaves, now, i, slot, n_bytes):
    """The log block in `slot`, which is number `i` of a pass."""
    m.group[at.LOG_SLOT + i] = slot
    m.tally[at.LOG_BLOCKS] += 1
    if m.zil.chain[0, slot, intent.DEVICE] == SLOG:
        address = m.group[at.LOG_AT] % m.ssd.disk_bytes
        m.group[at.LOG_AT] += n_bytes
        done = service(m.ssd, m.ssds, LOG_UNIT, now, address, n_bytes, 1)
        set_time(m.calendar, source_of(m, LOG_BLOCK_DONE + i), done)
        return
    write_for(leaves, now, next_place(m, n_bytes), n_bytes, m.settings.threads + LOG_BLOCK_DONE + i,
              leaves.queue_params.log_write_priority)
    leaves.n_out[0] = 0
    send(m, leaves, now, leaves.outbox[0])


@part
def _serve_log(m, leaves, now):
    """What the intent log wants is done; a call that it lets go returns."""
    zil = m.zil
    for i in range(zil.n_out[0]):
        if zil.outbox[i, intent.TO_DO] == LOG_BLOCK:
            _write_log_block(m, leaves, now, i, zil.outbox[i, intent.TO_DO_TARGET], zil.outbox[i, intent.TO_DO_BYTES])
        else:  # CREATE: the chain begins when the group is on disk
            m.group[at.IS_PUSHED] = 1
    if zil.n_released[0]:
        _call_done(m, now, now)
    zil.n_out[0] = zil.n_released[0] = 0
    _push(m, now)


@kernel
def _push(m, now):
    """The group that the chain waits for is to be synced as soon as may be."""
    if m.group[at.IS_PUSHED] and m.group[at.N_QUIESCED] < 0:
        m.group[at.IS_PUSHED] = 0
        quiesce(m, now)


@part
def log_block_event(m, leaves, now, i):
    """Log block number `i` of a pass is on disk, or on the log device."""
    written(m.zil, m.zil_params, m.zil_settings, 0, m.group[at.LOG_SLOT + i], m.group[at.OPEN])
    _serve_log(m, leaves, now)
    end_if_written(m, now)


@part
def log_event(m, leaves, now):
    """A group is on disk: a chain that waited for that begins."""
    resume(m.zil, m.zil_params, m.zil_settings, 0, m.group[at.OPEN])
    _serve_log(m, leaves, now)


# ---- calls ----


@kernel
def _call_done(m, now, done):
    """The call returns at `done`, and the next one begins then or at its time."""
    group, s = m.group, m.settings
    m.response_ns[m.tally[at.CALLS]] = done - group[at.DUE]
    m.tally[at.CALLS] += 1
    group[at.DUE] = group[at.DUE] + s.gap_ns if s.gap_ns else done
    group[at.COMMITS] = 0
    set_time(m.calendar, source_of(m, WRITER), max(done, group[at.DUE]))


@kernel
def _commit(m, leaves, now):
    if commit(m.zil, m.zil_params, m.zil_settings, 0, FILE, 0, m.group[at.OPEN]):
        _call_done(m, now, now)
    else:
        _serve_log(m, leaves, now)


@part
def writer_event(m, leaves, now):
    """A call wants to write (or to free) a block; or it has written, and wants it stable."""
    group, s, source = m.group, m.settings, source_of(m, WRITER)
    if group[at.COMMITS]:
        _commit(m, leaves, now)
        return
    n_bytes = FREED_BYTES if s.is_free else s.block_bytes
    if group[at.N_QUIESCED] < 0 and now - m.throttle[throttled.SYNC_BEGAN] >= m.txg_params.timeout_ns and group[at.N_OPEN]:
        quiesce(m, now)
    outcome = verdict(m.throttle, m.txg_params, group[at.OPEN], group[at.N_QUIESCED] >= 0, n_bytes, 0, s.arc.c_bytes)
    if outcome == SLEEPS:
        set_time(m.calendar, source, now + TICK_NS)
        return
    if outcome != GOES_ON:
        if group[at.N_QUIESCED] < 0:
            quiesce(m, now)
            set_time(m.calendar, source, now)
        else:
            group[at.IS_WAITING] = 1
        return
    note_dirty(m.throttle, m.txg_params, group[at.OPEN], n_bytes)
    group[at.N_OPEN] += 1
    if not s.is_sync:
        _call_done(m, now, now + s.copy_ns)
        return
    record(m.zil, m.zil_params, m.zil_settings, 0, FILE, m.tally[at.CALLS], n_bytes, n_bytes, O_DSYNC, group[at.OPEN])
    group[at.COMMITS] = 1
    set_time(m.calendar, source, now + s.copy_ns)
