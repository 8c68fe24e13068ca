"""ZFS as what a database keeps its files on: calls come in, and return when ZFS would let them.

                      READ                               WRITE                          FSYNC, O_DSYNC
                        |                                  |                                  |
              in core? (model.arc)            admitted? (throttle)                            |
                        | no                  the rest of the record in core?           model.zil_commit
        indirect blocks, top down,                         |                                  |
        then the record; L2ARC or pool        dirty in the open group ---> entry ---> log blocks, whole records
                        |                                  |              of the log           |
                        |                     transaction group: records, indirect blocks,    | then a flush of
                        |                     what stands above them, flush, uberblock, flush | every vdev written to
                        v                                  v                                   v
              leaves: vdev cache, vdev queue, disk or SSD; of the data vdevs, the log device, the cache device

A *store* answers a database by three kernels; so does any other kind of store.

    take_calls(store, calls, calendar, now)    everything in the outbox is begun; who is done at once gets its time
    next_time(store)                           ns of its next own event
    store_event(store, calendar, now)          that event

Files of a store: number 0 is the log, wherever the calls say WAL; file f of the calls, from 0 on, is number 1 + f; the last
one is the control file. What each is: see `new_store`.
"""

from model.jit import kernel
from model.zfs_files_machine import Group, Pool, Settings, Store, new_store

__all__ = ["Group", "Pool", "Settings", "Store", "new_store", "next_time", "store_event", "take_calls"]


@kernel
def take_calls(store, calls, calendar, now):
    raise NotImplementedError


@kernel
def next_time(store):
    raise NotImplementedError


@kernel
def store_event(store, calendar, now):
    raise NotImplementedError
