"""The thread that looks after the ARC every second: `arc_reclaim_thread`."""

from model.events.calendar import set_time
from model.events.clock import SECOND_NS, TICK_NS
from model.jit import part
from model.zfs.arc.arc import adjust


@part
def reclaim_event(m, now):
    """It is woken at `now` (ns). `m` is any machine with an ARC, whose calendar has a source `reclaim`."""
    adjust(m.arc, m.arc_params, now // TICK_NS)
    set_time(m.calendar, m.sources.reclaim, now + SECOND_NS)
