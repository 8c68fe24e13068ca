"""Laws that every run of the sequential readers obeys, exactly; each is a function of a result: whether it holds."""

import numpy as np

from laws.disks import utilisation
from model.devices import drive_columns as queued
from model.events import accounts
from model.events.queues import NOBODY
from model.simulations.sequential_reads import columns as reader
from model.simulations.sequential_reads import watch_columns as watched
from model.simulations.sequential_reads.state import ABSENT, FRESH, READING, STALLED
from model.structures.sentinels import NIL
from model.zfs.dmu.zfetch import max_fetches, new_zfetch, read_block
from model.zfs.vdev import recorder_columns as recorded
from model.zfs.vdev.cache import MISS
from model.zfs.vdev.leaves import FOR_LINE


def under_way(x):
    """Numbers of the blocks being read at the end."""
    return np.flatnonzero(x.machine.status == READING)


def little(x):
    """The integral of the number of blocks being read is the sum of the times that they have been."""
    tally, end = x.machine.tally, x.machine.settings.duration_ns
    return tally.under_way[accounts.AREA] == tally.took.sum() + (end - tally.asked_at[under_way(x)]).sum()


def time(x):
    """A thread copies, issues, waits or is stalled all the time, and is all the time in one of its reads."""
    m, end = x.machine, x.machine.settings.duration_ns
    in_reads = np.zeros(m.readers.n_streams, np.int64)
    np.add.at(in_reads, x.stream, x.response_ns)
    return (m.tally.spent.sum(axis=1) == end).all() and (in_reads + end - m.threads[:, reader.BEGAN] == end).all()


def timeline(x):
    """What was recorded of a thread follows without a gap, and adds up to what it spent."""
    recorder = x.machine.recorder
    rows = recorder.activities[:recorder.n[watched.ACTIVITIES]]
    assert 0 < len(rows) < len(recorder.activities)
    activity = rows[:, watched.ACTIVITY]
    spent = np.bincount(activity, rows[:, watched.ENDED] - rows[:, watched.BEGAN], 4).astype(np.int64)
    has_block = (rows[:, watched.WAITED_FOR] != NOBODY) == (activity == STALLED)
    adds_up = (spent == x.machine.tally.spent[recorder.thread]).all()
    return (rows[1:, watched.BEGAN] == rows[:-1, watched.ENDED]).all() and adds_up and has_block.all()


def commands(x):
    """What was recorded of a disk: it serves one after the other, and never has more than the queue lets it."""
    recorder = x.machine.recorder
    rows = recorder.commands[:recorder.n[recorded.COMMANDS]]
    assert 0 < len(rows) < len(recorder.commands)
    return ((rows[1:, recorded.BEGAN] >= rows[:-1, recorded.ENDS]).all() and (rows[:, recorded.AT_DRIVE] >= 1).all()
            and (rows[:, recorded.AT_DRIVE] <= x.leaves.queue_params.max_pending).all()
            and rows[:, recorded.BYTES].sum() == x.served_bytes[recorder.leaf])


def ios_about(x):
    """Numbers of the I/Os that have not completed: those taken that are not free."""
    queue, free = x.leaves.queue, set()
    io = int(queue.free[0])
    while io != NIL:
        free.add(io)
        io = int(queue.next_member[io])
    return set(range(1, queue.n_ios + 1)) - free


def waiting_blocks(x):
    """Blocks that an I/O will bring, as a list, to notice double ones."""
    leaves, blocks = x.leaves, []
    for io in ios_about(x):
        block = leaves.owner[io]
        if block == FOR_LINE:
            leaf, line = leaves.leaf_of[io], leaves.queue.offset[io] >> leaves.cache_params.line_shift
            cache, n = leaves.cache, leaves.cache.n_nodes
            node = next(i for i in range(leaf * n, (leaf + 1) * n) if cache.key[i] == line and cache.filling[i])
            block = leaves.waiting[node]
            while block != NOBODY:
                blocks.append(int(block))
                block = leaves.joined_before[block]
        else:
            blocks.append(int(block))
    return blocks


def conservation(x):
    """I/Os, blocks and bytes: all that was asked for has come or is about; all that came was used or lies ready."""
    m, c = x.machine, x.counts
    n_lines = x.outcomes[:, MISS].sum()
    in_service = sum(int(x.leaves.queue.unit_bytes[x.leaves.drives.commands[leaf, 0]])
                     for leaf in range(m.settings.n_leaves) if x.leaves.drives.units[leaf, queued.N_COMMANDS])
    beside_records = c["bytes_done"] - c["records_came"] * m.readers.record_bytes
    return (c["ios"] == c["ios_done"] + len(ios_about(x)) and sorted(waiting_blocks(x)) == sorted(under_way(x).tolist())
            and c["records_came"] == c["records_used"] + (m.status[:m.files.n_records] == FRESH).sum()
            and x.served_bytes.sum() == c["bytes_done"] + in_service
            and 0 < beside_records <= n_lines * 2**16 + c["indirect_came"] * 2**14
            and all(block == NOBODY or m.status[block] == READING for block in m.threads[:, reader.WAITS_FOR]))


def replays(x):
    """zfetch answers the same when it is asked the same without a simulation, and was shown every record in turn."""
    m, recorder = x.machine, x.machine.recorder
    calls = recorder.calls[:recorder.n[watched.CALLS]]
    assert 0 < len(calls) < len(recorder.calls)
    alone, out = new_zfetch(m.zfetch_params, m.readers.n_streams), np.zeros((max_fetches(m.zfetch_params), 2), np.int64)
    for file, record, prefetched, tick, n_asked in calls.tolist():
        n = read_block(alone, m.zfetch_params, file, record, prefetched, tick, int(m.files.n_records_of[file]) - 1, out)
        if out[:n, 1].sum() != n_asked:
            return False
    return all((np.diff(calls[calls[:, watched.FILE] == file, watched.RECORD]) % m.files.n_records_of[file] == 1).all()
               for file in range(m.readers.n_streams))


def fetched(x):
    """All that zfetch wanted has been asked for, but for what the thread is just about. (Only where nothing is evicted.)"""
    m, calls = x.machine, x.machine.recorder.calls[:x.machine.recorder.n[watched.CALLS]]
    alone, out = new_zfetch(m.zfetch_params, m.readers.n_streams), np.zeros((max_fetches(m.zfetch_params), 2), np.int64)
    wanted = [[] for _ in range(m.readers.n_streams)]
    for file, record, prefetched, tick, _ in calls.tolist():
        n = read_block(alone, m.zfetch_params, file, record, prefetched, tick, int(m.files.n_records_of[file]) - 1, out)
        wanted[file].append([i for first, n_records in out[:n].tolist() for i in range(first, first + n_records)])
    assert x.counts["evicted"] == 0
    return all(m.status[m.files.base[file, 0] + record] != ABSENT
               for file in range(m.readers.n_streams) for asked in wanted[file][:-1] for record in asked)


LAWS = {law.__name__: law for law in (little, time, timeline, utilisation, commands, conservation, replays, fetched)}
