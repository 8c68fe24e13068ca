"""The blocks of one request are read at once.

A read begins the reads of all its blocks, and waits for all of them (dmu.c, `dmu_buf_hold_array_by_dnode`).

A write to a zvol begins those of its first and its last block, where it covers these in part. It waits for both (dmu_tx.c,
`dmu_tx_count_write`).

A write to a file is split at records, with a transaction for each (zfs_vnops.c, `zfs_write`).

The calls of `model.filesystems.zfs.calls` take a request block by block. Here what lies behind the first block is read by
tasks of its own, as soon as the indirect blocks above it are in core. These are waited for one by one (dbuf.c,
`dbuf_findbp`). The call waits for such a read when it comes there. zfetch sees a block when the call does. Left out: cache
devices.
"""

from typing import NamedTuple

import numpy as np

from model.events.queues import NOBODY
from model.filesystems.calls import READ
from model.filesystems.zfs import columns as fs
from model.filesystems.zfs import stats as stat
from model.filesystems.zfs.devices import ios_left, issue_all, read_block
from model.filesystems.zfs.read_ahead import absent_above, ahead_came
from model.filesystems.zfs.reads import record_of
from model.filesystems.zfs.state import SPARE_IOS, count, read_cpu_ns, work
from model.jit import kernel, part
from model.structures.sentinels import NOWHERE
from model.zfs.arc import columns as header
from model.zfs.arc.lists import PREFETCHED, in_core
from model.zfs.dmu.dbuf import buffer_for
from model.zfs.dmu.layout import level_block


class Rest(NamedTuple):
    """Of the requests under way, what is to be read behind the first block and is not yet."""

    first: np.ndarray  # per process: a record, or NOBODY
    last: np.ndarray  # per process: a record
    n_waiting: np.ndarray  # one element: processes that have such records


def new_rest(n_processes: int) -> Rest:
    """Room for the blocks that each process still waits for; none waits."""
    return Rest(np.full(n_processes, NOBODY), np.zeros(n_processes, np.int64), np.zeros(1, np.int64))


@kernel
def _set(rest, p, first):
    rest.n_waiting[0] += int(first != NOBODY) - int(rest.first[p] != NOBODY)
    rest.first[p] = first


@part
def _wanted(m, rest, p):
    """Process `p` has made its call: which records behind the first one it reads."""
    process, file = m.process, m.process[p, fs.FILE]
    first, n_bytes = record_of(process, m.of_file, m.files.record_bytes, p), m.files.record_bytes[file]
    last = m.of_file[file, fs.BEGIN] + (process[p, fs.END] - 1) // n_bytes
    rest.last[p] = last
    if process[p, fs.OPERATION] == READ:
        _set(rest, p, first + 1 if last > first else NOBODY)
    else:
        _set(rest, p, last if m.s.on_zvol and last > first and process[p, fs.END] % n_bytes else NOBODY)


@part
def _begun(m, now, p, number):
    """Whether the record is in core, or its reading has begun; if not, something above it is not there."""
    file = m.process[p, fs.FILE]
    block, last = level_block(m.files, file, number, 0), len(m.free_ahead) - 1
    if in_core(m.arc, int(m.arc.node_of[block])) or m.layout.place[block] == NOWHERE:
        return True
    if absent_above(m.arc, m.files, file, number) or not m.free_ahead[last] or ios_left(m.leaves.queue, m.sync) < SPARE_IOS:
        return False
    m.free_ahead[last] -= 1
    i = m.free_ahead[m.free_ahead[last]]
    m.ahead[i], task, n_bytes = block, m.first_ahead + i, m.of_file[file, fs.PSIZE]
    node = buffer_for(m, now, file, number, 0)
    m.arc.nodes[node, header.MARKS] |= PREFETCHED  # until the call comes there: to be wanted once is once, and not twice
    m.arc.nodes[node, header.READER] = task + 1
    count(m.tally, stat.DATA_READS, 1, now)
    count(m.tally, stat.READ_FIRST, int(m.process[p, fs.OPERATION] != READ), now)
    m.process[p, fs.HAS_WAITED] = 1
    there = read_block(m, now, m.layout.place[block], n_bytes, 0, task, m.leaves.queue_params.sync_read_priority)
    work(m.tally, m.cpu_ns, p, read_cpu_ns(m.s, m.leaves.n_awaited[task], n_bytes, m.files.record_bytes[file]), now)
    if there:
        ahead_came(m, now, task)
    return True


@part
def _go_on(m, rest, now, p):
    number = max(rest.first[p], record_of(m.process, m.of_file, m.files.record_bytes, p))
    while number <= rest.last[p] and _begun(m, now, p, number):
        number += 1
    _set(rest, p, number if number <= rest.last[p] else NOBODY)


@part
def begin_rest(m, rest, now, p):
    """Process `p` has made a call: what can be read of it is begun."""
    _wanted(m, rest, p)
    if rest.first[p] != NOBODY:
        m.clock[0] = now
        _go_on(m, rest, now, p)
        issue_all(m, now)


@part
def go_on(m, rest, now):
    """Something has come: what could not be read before may be now."""
    for p in range(len(rest.first)):
        if rest.first[p] != NOBODY:
            _go_on(m, rest, now, p)
    issue_all(m, now)
