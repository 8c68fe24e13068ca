"""What the order entry will look up some blocks or events from now: named to the processor beforehand
(`model.jit.cpu_prefetch`).

Where a record lies, and in which group it was last dirtied, stands in tables of many MB, which are looked up at random.
Nothing here changes anything but time.
"""

from model.jit import kernel
from model.jit.cpu_prefetch import prefetch
from model.simulations.order_entry import columns as order
from model.simulations.order_entry.state import LATENCY
from model.simulations.order_entry.workload import WITHOUT_ABOVE, nth
from model.zfs.shared_numbers import TXG_SIZE

AHEAD = 8  # records: as long as a look into memory takes, or a little longer


@kernel
def rewritten(m, records, i):
    """The i-th of `records`, if there are so many, will be rewritten while the pool ages."""
    if i < len(records):
        prefetch(m.record_dirtied_in, records[i])
        if m.orders.logbias == LATENCY:
            prefetch(m.next_below[m.txg[order.OPEN] % TXG_SIZE], records[i])
        else:
            prefetch(m.record_at, records[i])


@kernel
def synced(m, slot, record):
    """The record of a LUN will be put by the sync of a group, and then the one behind it."""
    if record >= 0:
        prefetch(m.record_at, record)
        prefetch(m.next_below[slot], record)


@kernel
def above(m, slot, level, n):
    """The sync of a group will write the n-th of its indirect blocks of a level, if there are so many."""
    if n < m.n_dirty[slot, level]:
        block = m.dirty_indirect[slot, m.first_of[level] + n]
        prefetch(m.indirect_at, block)
        if level == 0 and m.orders.logbias == LATENCY:
            prefetch(m.record_at, m.first_below[slot, block])


@kernel
def committed(m, record):
    """A database writer has handed over a record, which a commit will put."""
    prefetch(m.record_at, record)
    prefetch(m.record_dirtied_in, record)


@kernel
def read_next(m, user):
    """A user has begun a read: what it will read next."""
    record = nth(m.orders, m.read_record, user, m.users[user, order.N_READ])
    if 0 <= record < WITHOUT_ABOVE:
        prefetch(m.record_at, record)
