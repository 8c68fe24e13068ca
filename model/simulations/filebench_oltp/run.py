"""The OLTP run, event by event: shadows and writers, indirect blocks, transaction groups, vdev caches, queues, disks.

    shadow -> read of a record                                             posts -> writers -> writes of records
                 |  the blocks above it that are not in core, top down,                 |  likewise, L1 and above
                 |  one after the other; then the record                                v
                 v                                                              dirty in core, until every 5 s
               pool (vdev cache, vdev queue, disk)  <---  records, and all blocks above  ---  the transaction group

Sources of events, in the order in which equal times are served: disks; the sync thread; the timer of transaction groups;
that of the ARC. Then writers, the log writer first; threads of the library that write for them; shadows. All that follows at
once, in no time, is done before the next event. Tasks that can go on stand in a ring, first come, first served.

What is in core is kept by the ARC (`model.zfs.dmu.dbuf`, `model.zfs.dmu.after_loading`). A task that wants a block that is
being read waits for that reading. Freed space is not used again, so that the transaction groups go on where the files end.
With a few GB written into a pool of terabytes, first fit would hardly come back to it either.

Threads compute on processors and wait for them (`model.simulations.filebench_oltp.processors`).

Left out: the writes of a transaction group beyond the files' own blocks (dnodes, space maps, uberblock, cache flush). So are
throttling of writers, and access times (atime) of files.
"""

from typing import NamedTuple

import numpy as np

from model.devices import drive_columns as queued
from model.devices.sectors import SECTOR_SHIFT
from model.events import ring
from model.events.accounts import change_by
from model.events.calendar import NEVER, next_source, set_time, settle
from model.events.clock import SECOND_NS
from model.events.queues import NOBODY
from model.jit import kernel, part
from model.simulations.filebench_oltp import columns as oltp
from model.simulations.filebench_oltp.cpu_prefetch import unit_starts
from model.simulations.filebench_oltp.disks import disk_event
from model.simulations.filebench_oltp.filebench import LOG_WRITER
from model.simulations.filebench_oltp.processors import OVERHEAD, seize
from model.simulations.filebench_oltp.state import (
    DONE,
    OUT_OF_DRAWS,
    OUT_OF_ENTRIES,
    OUT_OF_IOS,
    OUT_OF_NODES,
    OUT_OF_SPACE,
    SCARCE,
    Machine,
    Settings,
    Site,
    check_settings,
    check_space,
    first_room,
    new_machine,
)
from model.simulations.filebench_oltp.tasks import finish_write, look, read_came, sleeps
from model.simulations.filebench_oltp.threads import (
    LIBRARY_WRITES,
    hand_over_ns,
    library_event,
    shadow_event,
    writer_event,
)
from model.simulations.filebench_oltp.txgs import sync_event, timer_event
from model.simulations.rules import Rules
from model.structures.sentinels import NIL
from model.zfs.arc.arc import Arc, arc_params, new_arc
from model.zfs.arc.lists import has_nodes, total_bytes
from model.zfs.arc.reclaim import reclaim_event
from model.zfs.dmu.after_loading import preallocate, warm
from model.zfs.dmu.dirty import has_room
from model.zfs.dmu.layout import MAX_LEVELS
from model.zfs.vdev.leaves import Leaves, Recorder, busy_until, new_recorder, record_command, start_disk, to_queue
from model.zfs.vdev.places import BACK_BYTES

# ---- the loop ----


@part
def _send(m, leaves, now, leaf):
    """Hand the I/Os in the outbox to their queues, and start disks that have something to do and do not. (If there is a
    `leaf` with more to do, the outbox is empty.)"""
    sent, n = 0, leaves.n_out[0]
    while sent < n or leaf >= 0:
        if sent < n:
            m.tally.counts[oltp.IOS] += 1
            leaf = to_queue(leaves, now, leaves.outbox[sent])
            sent += 1
        if leaf >= 0:
            ends = start_disk(leaves, now, leaf)
            set_time(m.calendar, leaf, ends)
            unit_starts(m, leaves, leaves.drives.commands[leaf, 0])
            record_command(leaves.recorder, leaves, now, leaf, ends)
        leaf = -1
    leaves.n_out[0] = 0


@part
def _has_ios(queue, n):
    """Whether `n` I/Os are free."""
    io = queue.free[0]
    while n > 1 and io != NIL:
        io = queue.next_member[io]
        n -= 1
    return io != NIL


@kernel
def _shortage(txgs, queue, arc, n_dirtied, n_sent):
    """What there may be too little of for the next event, or DONE."""
    if not _has_ios(queue, n_sent):
        return OUT_OF_IOS
    if not has_room(txgs, n_dirtied):
        return OUT_OF_ENTRIES
    return DONE if has_nodes(arc, n_dirtied) else OUT_OF_NODES


@part
def _draws_left(sources, workload, threads, source):
    """Whether the thread at `source` can draw as often as it may at its next event."""
    if source >= sources.shadows:
        return threads.n_done[source - sources.shadows] < threads.shadow_records.shape[1]
    if source < sources.library:
        return True
    writer = source - sources.library
    n = threads.n_done[workload.n_shadows + writer] + LIBRARY_WRITES
    return n < len(threads.log_records) if writer == LOG_WRITER else n < threads.writer_records.shape[1]


@part
def _is_past_the_end(leaves):
    """Whether a write in the outbox does not fit on its disk."""
    end, is_past = (leaves.disk.disk.layout.n_blocks << SECTOR_SHIFT) - BACK_BYTES, False
    for i in range(leaves.n_out[0]):
        io = leaves.outbox[i]
        is_past |= leaves.queue.offset[io] + leaves.queue.n_bytes[io] > end
    return is_past and len(leaves.disk.drawn_ns) == 0


@kernel
def run(m, leaves):
    """From the time of the first event until `duration_ns`. Returns how it ended."""
    tasks, calendar, sources = m.tasks, m.calendar, m.sources
    n_dirtied = m.workload.log_write_bytes // m.workload.record_bytes + MAX_LEVELS  # by one event, at most
    now = calendar.time[next_source(calendar)]
    while True:
        leaf = source = -1
        is_task = ring.n_in(tasks.n_ready) != 0
        if not is_task:
            source = next_source(calendar)
        if not 0 <= source < sources.sync:  # disks take nothing
            status = _shortage(m.txgs, leaves.queue, m.arc, n_dirtied, len(leaves.outbox))
            if status != DONE:
                return status
        if is_task:
            task = ring.take(tasks.ready, tasks.n_ready)
            has_all = look(m, leaves, now, task)
            if tasks.rows[task, oltp.WRITER] != NOBODY:
                if has_all:
                    finish_write(m, now, task)
            elif has_all:
                read_came(m, now, task)
            else:
                sleeps(m, now, task)
        else:
            if calendar.time[source] >= m.settings.duration_ns:
                change_by(m.tally.under_way, m.settings.duration_ns, 0)
                return DONE
            if source >= sources.writers and not _draws_left(sources, m.workload, m.threads, source):
                return OUT_OF_DRAWS
            now = calendar.time[source]
            calendar.time[source] = NEVER  # until `settle`
            if source < sources.sync:
                leaf = disk_event(m, leaves, now, source)
            elif source == sources.sync:
                sync_event(m, leaves, now)
                if _is_past_the_end(leaves):
                    return OUT_OF_SPACE
            elif source == sources.timer:
                timer_event(m, now)
            elif source == sources.reclaim:
                reclaim_event(m, now)
            elif source < sources.library:
                writer_event(m, now, source - sources.writers)
            elif source < sources.shadows:
                library_event(m, now, source - sources.library)
            else:
                shadow_event(m, now, source - sources.shadows)
        if leaf >= 0 or leaves.n_out[0] > 0:
            _send(m, leaves, now, leaf)
        settle(calendar, source)


# ---- the friendly face ----


class Result(NamedTuple):
    """A run of `duration_ns`. `machine` and `leaves` are its last state."""

    operations_per_s: float  # reads and writes, those of the log among them
    reads_per_s: float
    response_ns: np.ndarray  # of the reads completed, in order of completion
    response_at: np.ndarray  # ns: when
    counts: dict  # see oltp.COUNTS
    outcomes: np.ndarray  # [data or metadata, outcome of the vdev cache]: reads
    busy_ns: np.ndarray  # per disk
    served_bytes: np.ndarray  # per disk
    n_served: np.ndarray  # per disk: units
    per_second: np.ndarray  # [row, second]: operations completed; see oltp.READS_IN
    core_bytes: int
    operations: np.ndarray  # [operation, column] of FileBench: see oltp.OPERATIONS, oltp.N_RETURNED
    cpu_ns: int  # of all processors
    overhead_ns: int  # of it what FileBench does itself, outside of any operation
    machine: Machine
    leaves: Leaves


def preallocated_core(site: Site, memory_bytes: int) -> Arc:
    """What writing the files of `site` leaves in the ARC of a machine with so much memory: an Arc for `simulate` to start
    from. No run changes it, so many can share it."""
    params, record_bytes = arc_params(memory_bytes), site.workload.record_bytes
    n_nodes = min(site.files.n_blocks, 3 * params.c_bytes // (2 * record_bytes) + 2**12)
    core = new_arc(params, site.files.n_blocks, n_nodes)
    preallocate(core, params, site.files, record_bytes)
    return core


@kernel
def _set_calendar(m):
    """Threads want a processor at 0, writers first; the first transaction group ends after its time."""
    for writer in range(m.workload.n_writers + 1):
        if m.workload.n_shadows > 0 or writer != LOG_WRITER:
            seize(m, 0, writer, hand_over_ns(m, writer))
    for shadow in range(m.workload.n_shadows):
        seize(m, 0, m.sources.shadows - m.sources.writers + shadow, 0)
    set_time(m.calendar, m.sources.timer, m.settings.txg_ns)
    set_time(m.calendar, m.sources.reclaim, SECOND_NS)


def start_threads(m: Machine) -> None:
    """Set the calendar, and what is in core at the start. (Of kernels that Python calls each is handed the whole state.)"""
    _set_calendar(m)
    if m.settings.warm_indirect:
        warm(m.arc, m.arc_params, m.files)


def _result(m, leaves):
    tally, seconds = m.tally, m.settings.duration_ns / SECOND_NS
    counts = dict(zip(oltp.COUNTS, tally.counts.tolist(), strict=True))
    n = counts["reads_done"]
    done = n + counts["writes_done"] + counts["log_writes_done"]
    units = leaves.drives.units
    return Result(
        operations_per_s=done / seconds, reads_per_s=n / seconds, response_ns=tally.response_ns[:n],
        response_at=tally.response_at[:n], counts=counts, outcomes=leaves.outcomes,
        busy_ns=busy_until(leaves.drives, m.settings.duration_ns), served_bytes=units[:, queued.SERVED_BYTES],
        n_served=units[:, queued.N_SERVED], per_second=tally.per_second, core_bytes=int(total_bytes(m.arc)),
        operations=tally.operations, cpu_ns=int(m.processors.used_ns[:OVERHEAD].sum()),
        overhead_ns=int(m.processors.used_ns[OVERHEAD]), machine=m, leaves=leaves)


def simulate(site: Site, rules: Rules, settings: Settings | None = None, seed: int = 0, recorder: Recorder | None = None,
             core: Arc | None = None) -> Result:
    """Run the workload of `site` under `rules`: a Result. `core` is what is in core at the start (`preallocated_core`);
    None: nothing.

    Raises ValueError if something about the machine is impossible.
    """
    settings = settings or Settings(n_leaves=site.n_leaves)
    check_settings(settings, site)
    room = first_room(settings)
    while True:
        m, leaves = new_machine(site, rules, settings, seed, room, recorder or new_recorder(), core)
        start_threads(m)
        status = run(m, leaves)
        if status == DONE:
            return _result(m, leaves)
        if status == OUT_OF_SPACE:
            check_space(m.space, rules.disk)
            raise ValueError("the run writes behind the end of its disks; choose larger disks or a shorter run")
        scarce = SCARCE[status]
        room = room._replace(**{scarce: 2 * getattr(room, scarce)})
        if recorder is not None:
            recorder.n[:] = 0
