"""What a database asks of its files: system calls, one at a time per process.

Every process (a backend, the WAL writer, the checkpointer, the background writer) waits for its call to return before
it does anything else. So a process has one row here, and who keeps the files, ZFS, UFS or a device of constant times,
does this:

    after each event of the database: for every process in `outbox`, read its row, and empty the outbox.
    When the call of a process returns, at once or much later: `set_time(calendar, process, when)`.
    What a processor of the server has to do for the call is added to `cpu_ns`. It takes a processor when the call has
    returned (`model.events.servers`, `is_back`). What its own threads have to do for nobody's call is added to `owed`:
    processors that are idle do it.

The calls. READ and WRITE are of one page of a table: a write goes to the file system, which may keep it in memory. EXTEND is
the write that makes a table a page longer. FSYNC makes everything written to a file so far stable. The log is written in
order, from OFFSET on. That is done by WAL_WRITE, followed by a WAL_SYNC when it must be stable. Or it is done by
WAL_WRITE_THROUGH, which is stable when it returns (`wal_sync_method` = open_datasync: O_DSYNC, PostgreSQL's own choice on
Solaris). Log is always written in whole pages: a page that was written when it was half full is written again. WAL_CREATE
makes a file of log: 16 MB of zeros, and an fsync. CONTROL is the 8 KiB of pg_control, written and made stable. WRITE_THROUGH
is a WRITE that is stable when it returns (a data file opened with O_DSYNC, as Oracle's are).
"""

from typing import NamedTuple

import numpy as np

from model.events.calendar import NEVER, set_time
from model.filesystems import columns as call
from model.jit import kernel

READ, WRITE, EXTEND, FSYNC, WAL_WRITE, WAL_WRITE_THROUGH, WAL_SYNC, WAL_CREATE, CONTROL, WRITE_THROUGH = range(10)
N_OPERATIONS = 10


class Calls(NamedTuple):
    """The system call of each process: at most one at a time."""

    row: np.ndarray  # [process, column]
    outbox: np.ndarray  # processes whose calls nobody has seen yet
    n_out: np.ndarray  # one element
    cpu_ns: np.ndarray  # per process: what is to be done for its call by a processor; or AT_WORK
    owed: np.ndarray  # ns of processors that the file system's threads need; when that was reckoned


class Device(NamedTuple):
    """Storage of constant times. `one_at_a_time`: calls of one group queue for each other, as for a single disk."""

    time_ns: np.ndarray  # per operation
    group: np.ndarray  # per operation: whom it queues with, or -1: nobody
    free_at: np.ndarray  # per group: ns


@kernel
def ask(calls, process, operation, file, offset, n_bytes):
    """`process` calls the file system with `n_bytes` at `offset` [B] of `file`, and sleeps until it returns."""
    row = calls.row
    row[process, call.OPERATION], row[process, call.FILE] = operation, file
    row[process, call.OFFSET], row[process, call.N_BYTES] = offset, n_bytes
    calls.outbox[calls.n_out[0]] = process
    calls.n_out[0] += 1


@kernel
def serve(device, calls, calendar, now):
    """Let every call return in its time."""
    for i in range(calls.n_out[0]):
        process = calls.outbox[i]
        operation = calls.row[process, call.OPERATION]
        group, begin = device.group[operation], now
        if group >= 0:
            begin = max(now, device.free_at[group])
            device.free_at[group] = begin + device.time_ns[operation]
        set_time(calendar, process, begin + device.time_ns[operation])
    calls.n_out[0] = 0


@kernel
def never(device):
    """A device has no events of its own."""
    return NEVER


@kernel
def no_event(device, calendar, now):
    """Nothing: this device has no time of its own."""
    return


def new_calls(n_processes):
    """Room for one call of each process; none is under way."""
    return Calls(np.zeros((n_processes, 4), np.int64), np.zeros(n_processes, np.int64), np.zeros(1, np.int64),
                 np.zeros(n_processes, np.int64), np.zeros(2, np.int64))


def new_device(read_ns=0, write_ns=0, fsync_ns=0, wal_ns=0, wal_sync_ns=0, wal_create_ns=0, queues=()):
    """Constant times. `queues`: groups of operations that wait for each other."""
    times = np.zeros(N_OPERATIONS, np.int64)
    times[[READ, WRITE, EXTEND, FSYNC, CONTROL]] = read_ns, write_ns, write_ns, fsync_ns, fsync_ns
    times[WRITE_THROUGH] = write_ns + fsync_ns
    times[[WAL_WRITE, WAL_WRITE_THROUGH, WAL_SYNC, WAL_CREATE]] = write_ns, wal_ns, wal_sync_ns, wal_create_ns
    if times.min() < 0:
        raise ValueError(f"a call takes {times.min()} ns, but nothing returns before it is made; give times of 0 or more")
    group = np.full(N_OPERATIONS, -1)
    for i, operations in enumerate(queues):
        group[list(operations)] = i
    return Device(times, group, np.zeros(max(1, len(queues)), np.int64))
