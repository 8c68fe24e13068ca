"""ZFS as what a database keeps its files on: calls come in, and return when ZFS would let them.

                      READ                               WRITE                          FSYNC, O_DSYNC
                        |                                  |                                  |
              in core? (model.zfs.arc.arc)               the rest of the record in core?      model.zfs.zil.commit
                        | no                     admitted? (model.zfs.txg.throttle)                   |
        indirect blocks, top down,                         |                                  |
        then the record; L2ARC or pool        dirty in the open group ---> entry ---> log blocks, whole records
                        |                                  |              of the log           |
                        |                     transaction group: records, indirect blocks,    | then a flush of
                        |                     what stands above them, flush, uberblock, flush | every vdev written to
                        v                                  v                                   v
              leaves: vdev cache, vdev queue, disk or SSD; of the data vdevs, the log device, the cache device

A *store* answers a database by three kernels; so does any other kind of store (`model.simulations.database_server`). These
are of one pool; those for two, one of them for the log, do the same.

    take_calls(m, calls, calendar, now)    everything in the outbox is begun
    next_time(m)                           ns of its next own event; `now` while somebody can go on
    store_event(m, calendar, now)          that event: who is done gets its time in the database's `calendar`

Files of a store: number 0 is the log, wherever the calls say WAL. File f of the calls, from 0 on, is number 1 + f; the last
one is the control file. What each is: see `new_store`.

What a processor has to do for a call is its caller's to wait for, on the database's processors (`working_for`,
`model.events.servers`). What is done for a transaction group is done by threads of ZFS, which want these as well, or have
others (`shares_cpus`).

Left out: a commit's own CPU time is time only; access times of files, snapshots, scrubs, failures.
"""

from model.events import ring
from model.events.calendar import NEVER, next_source, set_time
from model.filesystems import columns as call
from model.filesystems.calls import WAL_CREATE, WAL_SYNC, WAL_WRITE, WAL_WRITE_THROUGH
from model.filesystems.zfs import columns as fs
from model.filesystems.zfs.cache_devices import feed_event, round_is_over
from model.filesystems.zfs.calls import begin, go_on
from model.filesystems.zfs.devices import disk_is_done, issue_all, slot_is_done, unit_done
from model.filesystems.zfs.intent_logs import begin_rows, chain_goes_on, row_done, take_rows
from model.filesystems.zfs.new_store import new_store
from model.filesystems.zfs.read_ahead import ahead_came
from model.filesystems.zfs.state import FileSettings, Group, Pool, Store
from model.filesystems.zfs.tasks import AHEAD, LOG_ROW, PROCESS, ROUND, kind_of, log_of_chain
from model.filesystems.zfs.txg_sync import sync_event
from model.filesystems.zfs.txg_timing import end_groups, timer_event
from model.jit import kernel, part
from model.structures.sentinels import NIL
from model.zfs.arc.reclaim import reclaim_event
from model.zfs.zil import columns as intent

__all__ = ["FileSettings", "Group", "Pool", "Store", "new_store", "next_time", "store_event", "take_calls", "working_for"]

# ---- one pool ----


@part
def _task_goes_on(m, db_calendar, now):
    """The task that has been ready for longest."""
    task = ring.take(m.ready, m.n_ready)
    kind = kind_of(m, task)
    if kind == PROCESS:
        go_on(m, db_calendar, now, task)
    elif kind == LOG_ROW:
        row_done(m, now, task)
    elif kind == AHEAD:
        ahead_came(m, now, task)
    elif kind == ROUND:
        round_is_over(m, now)
    else:
        chain_goes_on(m, log_of_chain(m, task))


@part
def _source_event(m, now, source):
    """What the source of an event in the calendar does."""
    sources, unit = m.sources, NIL
    if source < sources.slots:
        unit = disk_is_done(m, now, source)
    elif source < sources.sync:
        unit = slot_is_done(m, source)
    elif source == sources.sync:
        sync_event(m, now)
    elif source == sources.timer:
        timer_event(m, now)
    elif source == sources.reclaim:
        reclaim_event(m, now)
    elif source == sources.feed:
        feed_event(m, now)
    elif source >= sources.processes:
        ring.put(m.ready, m.n_ready, source - sources.processes)
    if unit != NIL:
        unit_done(m, now, unit)


@kernel
def _time_of(n_ready, clock, calendar):
    """Of the next event; now, if a task can go on."""
    return clock[0] if ring.n_in(n_ready) != 0 else calendar.time[next_source(calendar)]


@part
def next_time(m):
    """When the store does something next [ns]: now, if a task can go on."""
    return _time_of(m.n_ready, m.clock, m.calendar)


@part
def store_event(m, calendar, now):
    """The next event: a task goes on, or a device, a timer or the sync is due. All I/Os of it are then issued."""
    m.clock[0] = now
    if ring.n_in(m.n_ready) != 0:
        _task_goes_on(m, calendar, now)
    else:
        source = next_source(m.calendar)
        set_time(m.calendar, source, NEVER)
        _source_event(m, now, source)
    if m.sync[fs.LOG_CALLED]:
        take_rows(m, calendar, now)
    begin_rows(m, now)
    end_groups(m, now)
    issue_all(m, now)


@part
def take_calls(m, calls, calendar, now):
    """All new calls of the database begin."""
    for i in range(calls.n_out[0]):
        m.clock[0] = now
        begin(m, now, calls.outbox[i], calls.row)
    calls.n_out[0] = 0


# ---- two pools ----


@kernel
def _is_of_log(operation):
    return operation in (WAL_WRITE, WAL_WRITE_THROUGH, WAL_SYNC, WAL_CREATE)


@part
def take_calls_of_two(store, calls, calendar, now):
    """All new calls of the database begin, those of its log in the pool of the log."""
    for i in range(calls.n_out[0]):
        p = calls.outbox[i]
        if _is_of_log(calls.row[p, call.OPERATION]):
            store.log.clock[0] = now
            begin(store.log, now, p, calls.row)
        else:
            store.data.clock[0] = now
            begin(store.data, now, p, calls.row)
    calls.n_out[0] = 0


@part
def next_time_of_two(store):
    """When either of the two pools does something next [ns]."""
    return min(next_time(store.data), next_time(store.log))


@part
def event_of_two(store, calendar, now):
    """The next event of the two pools; at equal times it is that of the data."""
    if next_time(store.data) <= next_time(store.log):
        store_event(store.data, calendar, now)
    else:
        store_event(store.log, calendar, now)


def working_for(store, calls):
    """The store, whose CPU times are those of these `calls` (`model.filesystems.calls`) from now on."""
    return store and Store(*(m and m._replace(cpu_ns=calls.cpu_ns, owed=calls.owed) for m in store))


def check_end(store):
    """Raise ValueError with one sentence if the store had too little room, so that the run means nothing."""
    for m in store:
        if m is not None and m.zil.logs[:, intent.IS_FULL].any():
            raise ValueError(f"the intent log had more than {m.zil.chain.shape[1]} blocks that no group had freed yet; "
                             "choose fewer commits a second")
        if m is not None and m.places.n_gangs[0]:
            raise ValueError("no free segment of the pool was long enough for a block. ZFS would cut it up (gang blocks), "
                             "which is not simulated here; choose less fill or fragmentation, or smaller records")
        if m is not None and m.places.space is not None and m.places.space.failure[0]:
            raise ValueError(f"the allocator's maps had too little room (status {m.places.space.failure[0]}); choose a "
                             "shorter run, and report these settings")
