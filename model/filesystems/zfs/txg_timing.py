"""When a transaction group of a ZFS under a database ends, and who goes on then.

A group ends when its time is over or somebody asks (IS_PUSHED); who waits for the next one goes on then
(`model.zfs.txg.throttle`). A process sleeps a tick if one group is being synced and the next waits for that. It wakes
up when it need not wait any longer.

The time of 2007 is that of a thread: it notes which group is open and sleeps. Then it asks for the next one unless it
is open by then, and waits for that before it sleeps again. So a group that somebody else has ended is followed by one
with less time.

In ZFS: txg.c, `txg_sync_thread`, `txg_quiesce_thread`, `txg_delay`, and `txg_timelimit_thread` of 2007; spec 5.6.
"""

from model.events import ring
from model.events.calendar import NEVER, set_time
from model.filesystems.zfs import columns as fs
from model.filesystems.zfs.state import FILES_STAGE, wake_waiting
from model.jit import part
from model.zfs.dmu.dirty import hand_over, quiesce
from model.zfs.txg import columns as throttled
from model.zfs.txg.throttle import DIRTY_DATA, open_group

NONE_TIMED = -1  # the timer of 2007 waits for the next group to open


@part
def _wake_sleepers(m):
    """No group waits for another one any more: who sleeps in the throttle goes on."""
    for p in range(len(m.process)):
        if m.process[p, fs.HAS_SLEPT] and m.calendar.time[m.sources.processes + p] != NEVER:
            set_time(m.calendar, m.sources.processes + p, NEVER)
            ring.put(m.ready, m.n_ready, p)


@part
def _start_sync(m, now):
    m.sync[fs.SYNC_STAGE], m.sync[fs.MOS_PASS] = FILES_STAGE, 0
    m.throttle[throttled.SYNC_BEGAN] = now
    if m.txg_params.from_sync:
        set_time(m.calendar, m.sources.timer, now + m.txg_params.timeout_ns)
    set_time(m.calendar, m.sources.sync, now)
    if m.txg_params.rule != DIRTY_DATA:
        _wake_sleepers(m)


@part
def _open_next(m, now):
    """A group is quiesced and another one open: who waited for that goes on."""
    open_group(m.throttle, m.txgs.open_txg[0])
    if m.sync[fs.TIMED_TXG] == NONE_TIMED:
        _time_group(m, now)
    wake_waiting(m)


@part
def end_groups(m, now):
    """After an event: the open group ends if somebody asked for that (IS_PUSHED), now or as soon as that can be."""
    if hand_over(m.txgs):
        _start_sync(m, now)
    if m.sync[fs.IS_PUSHED] and quiesce(m.txgs):
        _open_next(m, now)
    m.sync[fs.IS_PUSHED] = 0
    if hand_over(m.txgs):
        _start_sync(m, now)


@part
def _time_group(m, now):
    """The thread of 2007 sleeps."""
    m.sync[fs.TIMED_TXG] = m.txgs.open_txg[0]
    set_time(m.calendar, m.sources.timer, now + m.txg_params.timeout_ns)


@part
def timer_event(m, now):
    """Its time is over. (Counted from the last sync, a group that is being synced comes first.)"""
    if m.txg_params.from_sync and m.txgs.syncing[0] != 0:
        m.sync[fs.TIMER_IS_OVER] = 1
    elif m.txg_params.from_sync:
        m.sync[fs.IS_PUSHED] = 1
    elif m.txgs.open_txg[0] > m.sync[fs.TIMED_TXG]:
        _time_group(m, now)
    else:
        m.sync[fs.TIMED_TXG], m.sync[fs.IS_PUSHED] = NONE_TIMED, 1


