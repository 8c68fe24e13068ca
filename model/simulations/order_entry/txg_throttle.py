"""Room in the order entry's open transaction group: who writes on, who sleeps first, and who waits for the next group.

The rules are those of `model.zfs.txg.throttle`. In the order entry:

 1. A commit of an intent log takes no more blocks than the open group does. The log writer begins a write only if there
    is room. A user who finds none waits; the group is quiesced in a moment, if no other one is quiesced already.
 2. A user who fills the last eighth while a quiesced group waits for the sync sleeps first: a tick, or until that is handed
    over.
 3. When the next group is open, or the quiesced one is handed over, whoever waits or sleeps looks again.
"""

from model.events import ring
from model.events.calendar import set_time
from model.jit import kernel, part
from model.simulations.order_entry import columns as order
from model.simulations.order_entry.state import IDLE
from model.zfs.txg.throttle import SLEEPS, WAITS, verdict


@kernel
def _verdict(m):
    """The memory of the appliance is no limit here."""
    return verdict(m.throttle, m.orders.txg, m.txg[order.OPEN], m.txg[order.QUIESCED] != 0, 0, 0, 0)


@kernel
def takes_more(m):
    """Whether the open group takes another write."""
    return _verdict(m) != WAITS


@kernel
def sleeps(m):
    """Rule 2: whether a user sleeps before it fills the last eighth."""
    return _verdict(m) == SLEEPS


@part
def has_room(m, now):
    """Rule 1: whether the open group has room for what a user wants to write."""
    if takes_more(m):
        return True
    m.counts[order.ROOM_WANTED] = 1
    if m.txg[order.QUIESCED] == 0:
        set_time(m.calendar, m.sources.timer, now)
    return False


@part
def look_again(m, now):
    """Rule 3: who waits or sleeps looks again."""
    m.counts[order.ROOM_WANTED] = 0
    for share in range(m.orders.n_shares):
        if m.shares[share, order.STAGE] == IDLE:
            set_time(m.calendar, m.sources.shares + share, now)
    if m.counts[order.LOG_GROUP] == 0 and ring.n_in(m.commit_ends) != 0:
        set_time(m.calendar, m.sources.log_writer, now)
