"""Sequential readers, event by event: threads, zfetch, indirect blocks, vdev caches, queues, disks.

    thread -> the records of a read -> zfetch: what to prefetch -> the indirect blocks above each record, waited for
                 |                                                        |  small reads
                 |  large reads                                           v
                 +--------------------> vdev queue <-- lines -- vdev cache (on or off)
                                            v
                                          disk

Why does the vdev cache help readers whose data never go through it? Every 16 MiB of a file of 128 KiB records have an
indirect block. A thread that prefetches a record of the next 16 MiB first reads that block. It waits behind all the
prefetched records that were just sent to the same disk. If the line around it is in the vdev cache there is no wait. An
indirect block of such a file takes a few sectors, and dozens of them lie in one line
(`model.simulations.sequential_reads.layout`).

Sources of events, in the order in which equal times are served: the disks, then the threads.

Records that readers have had leave core when more than `arc_bytes` of others have been used since. Records that were
prefetched and not yet used come on top of that. An indirect block is held in core by the records below it, and leaves with
the last of them. A new one needs its room, as ZFS makes room for metadata from metadata (spec 7.2, 7.3).

Left out: CPUs as a resource (each thread has its own), while memory is one (`model.simulations.sequential_reads.events`). So
are the buses between disks and memory (each port of such a machine has 133 MB/s, more than a disk gives; physics 1.1). So
are checksums (off), access times (atime), and all other load.
"""

from typing import NamedTuple

import numpy as np

from model.devices import drive_columns as queued
from model.events.accounts import change_by
from model.events.calendar import NEVER, next_source, set_time, settle
from model.events.clock import SECOND_NS
from model.jit import kernel, part
from model.simulations.sequential_reads import columns as reader
from model.simulations.sequential_reads.events import disk_event, thread_event, turn_to
from model.simulations.sequential_reads.state import (
    ACTIVITIES,
    COPYING,
    DONE,
    ISSUING,
    KINDS,
    MIB,
    OUT_OF_IOS,
    OUT_OF_READS,
    Machine,
    Recorder,
    Rules,
    Settings,
    Site,
    check_disks,
    check_settings,
    new_machine,
)
from model.simulations.sequential_reads.state import new_recorder as new_activity_recorder
from model.structures.sentinels import NIL
from model.zfs.vdev.leaves import Leaves, busy_until, new_recorder, record_command, start_disk, to_queue
from model.zfs.vdev.leaves import Recorder as CacheRecorder

# ---- the loop ----


@part
def _shortage(tally, queue):
    """What there may be too little of for the next event, or DONE."""
    if tally.counts[reader.READS_DONE] == len(tally.response_ns):
        return OUT_OF_READS
    return OUT_OF_IOS if queue.free[0] == NIL else DONE


@kernel
def run(m, leaves):
    """From the time of the first event until `duration_ns`. Returns how it ended."""
    n_leaves = m.settings.n_leaves
    while True:
        source = next_source(m.calendar)
        now = m.calendar.time[source]
        if now >= m.settings.duration_ns:
            change_by(m.tally.under_way, m.settings.duration_ns, 0)
            for thread in range(len(m.threads)):
                turn_to(m.threads, m.tally.spent, m.recorder, m.settings.duration_ns, thread,
                        m.threads[thread, reader.ACTIVITY])
            return DONE
        status = _shortage(m.tally, leaves.queue)
        if status != DONE:
            return status
        m.calendar.time[source] = NEVER  # until `settle`
        leaf = -1
        if source < n_leaves:
            leaf = disk_event(m, leaves, now, source)
        else:
            io = thread_event(m, leaves, now, source - n_leaves)
            if io != NIL:
                m.tally.counts[reader.IOS] += 1
                leaf = to_queue(leaves, now, io)
        if leaf >= 0:
            ends = start_disk(leaves, now, leaf)
            set_time(m.calendar, leaf, ends)
            record_command(m.recorder, leaves, now, leaf, ends)
        settle(m.calendar, source)


# ---- the friendly face ----


class Result(NamedTuple):
    """A run of `duration_ns`. `machine` and `leaves` are its last state."""

    mib_per_s: float  # of all readers, in reads completed
    stream_mib_per_s: np.ndarray  # of each
    stream: np.ndarray  # of each read completed, in order of completion: whose
    response_ns: np.ndarray  # likewise: how long it took, copying included
    response_at: np.ndarray  # likewise: ns when it was completed
    spent_ns: dict  # activity: ns of each thread; see ACTIVITIES
    interrupt_ns: np.ndarray  # of each thread, counted with its copying
    cpu_ns_per_read: float  # of the threads: copying, issuing, completions; no interrupt or daemon beyond that
    counts: dict  # see reader.COUNTS
    mean_ns: dict  # kind: mean time from asking for a block until it came
    came: dict  # kind: blocks that have come
    outcomes: np.ndarray  # [data or metadata, outcome of the vdev cache]: reads
    busy_ns: np.ndarray  # per disk
    served_bytes: np.ndarray  # per disk
    n_served: np.ndarray  # per disk: units
    machine: Machine
    leaves: Leaves


def _result(m, leaves):
    tally, seconds, n_streams = m.tally, m.settings.duration_ns / SECOND_NS, m.readers.n_streams
    counts = dict(zip(reader.COUNTS, tally.counts.tolist(), strict=True))
    n = counts["reads_done"]
    per_stream = np.bincount(tally.stream[:n], minlength=n_streams) * m.readers.read_bytes / MIB / seconds
    cpu_ns = tally.spent[:, (COPYING, ISSUING)].sum() / max(1, n)
    mean_ns = {kind: float(tally.took[i] / max(1, tally.came[i])) for i, kind in enumerate(KINDS)}
    units = leaves.drives.units
    return Result(
        mib_per_s=float(n * m.readers.read_bytes / MIB / seconds), stream_mib_per_s=per_stream, stream=tally.stream[:n],
        response_ns=tally.response_ns[:n], response_at=tally.response_at[:n],
        spent_ns=dict(zip(ACTIVITIES, tally.spent.T, strict=True)), interrupt_ns=tally.interrupted,
        cpu_ns_per_read=float(cpu_ns), counts=counts,
        mean_ns=mean_ns, came=dict(zip(KINDS, tally.came.tolist(), strict=True)), outcomes=leaves.outcomes,
        busy_ns=busy_until(leaves.drives, m.settings.duration_ns), served_bytes=units[:, queued.SERVED_BYTES],
        n_served=units[:, queued.N_SERVED], machine=m, leaves=leaves)


def simulate(site: Site, rules: Rules, settings: Settings | None = None, seed: int = 0, recorder: Recorder | None = None,
             cache_recorder: CacheRecorder | None = None) -> Result:
    """Let the readers of `site` read under `rules`: a Result. What is recorded: see
    `model.simulations.sequential_reads.state.Recorder`, and `model.zfs.vdev.leaves.Recorder` for the vdev cache of a leaf.

    Raises ValueError if something about the machine is impossible.
    """
    settings = settings or Settings(n_leaves=site.n_leaves)
    check_settings(settings, site)
    check_disks(rules, site)
    recorder, cache_recorder = recorder or new_activity_recorder(), cache_recorder or new_recorder()
    n_reads, n_ios = first_room(site, rules, settings)
    while True:
        m, leaves = new_machine(site, rules, settings, seed, n_reads, n_ios, recorder, cache_recorder)
        for thread in range(site.readers.n_streams):
            set_time(m.calendar, settings.n_leaves + thread, 0)
        status = run(m, leaves)
        if status == DONE:
            return _result(m, leaves)
        n_reads, n_ios = n_reads * (2 if status == OUT_OF_READS else 1), n_ios * (2 if status == OUT_OF_IOS else 1)
        recorder.n[:] = 0
        cache_recorder.n[0] = 0


def first_room(site, rules, settings):
    """(reads, I/Os about at a time): a guess. Twice the blocks that zfetch may be ahead; 3000 reads of 1 MiB a second."""
    readers, seconds = site.readers, settings.duration_ns / SECOND_NS
    n_reads = 1000 + int(3000 * max(1, MIB // readers.read_bytes) * seconds)
    return n_reads, 64 + readers.n_streams * (64 + 3 * rules.zfetch.block_cap + readers.read_bytes // readers.record_bytes)
