"""Writes (or frees) with dedup, event by event: throttle, transaction groups, the table in the ARC, cache device, disks.

    writer --throttle--> open group --> group being synced: lookups --> table --> writes
                |                           |  reads of leaves             |
                v                           v                              v
           intent log                ARC --> cache device --> vdev queues, disks <-- log blocks
                                      ^
    reader of files ------------------'

Sources of events, in the order in which equal times are served: disks, threads of lookup, the sync thread, the writer. Then
the cache device's feed, the clock of each second (ARC), the reader, the intent log.

The table is as large as it is: leaves that split meanwhile are a matter of `model.zfs.dedup`, and a run is short. Which
leaf a block's entry is in is drawn evenly, since check-sums are.

Left out: data that are written in the ARC. Metadata and data have lists of their own, and metadata a limit of its own. Data
that are read are there. Indirect blocks two levels and more above the leaves (a thousandth of the table) are in core. Left
out, too: indirect blocks of the data; labels; processor time other than check-sums; the pointer table, which is in core.
"""
from typing import NamedTuple

import numpy as np

from model.devices.ssd import SsdParams
from model.events.calendar import NEVER, next_source, set_time
from model.events.clock import SECOND_NS, TICK_NS
from model.jit import kernel
from model.simulations.dedup_writes import columns as at
from model.simulations.dedup_writes.events import AT_ONCE, disk_event, feed_event, lookup_event, sync_event
from model.simulations.dedup_writes.reader import reader_event
from model.simulations.dedup_writes.state import (
    DONE,
    EACH_SECOND,
    FEED,
    LOG,
    LOG_BLOCK_DONE,
    OUT_OF_CALLS,
    OUT_OF_IOS,
    OUT_OF_LOG,
    READER,
    SYNC,
    WRITER,
    Settings,
    new_machine,
    source_of,
)
from model.simulations.dedup_writes.writer import log_block_event, log_event, writer_event
from model.simulations.rules import Rules
from model.zfs.arc.arc import adjust
from model.zfs.arc.l2arc import next_feed
from model.zfs.dedup.zap import COPIES
from model.zfs.eras import Era
from model.zfs.vdev.leaves import busy_until
from model.zfs.zil import columns as intent


@kernel
def _shortage(m, n_ios):
    if m.tally[at.CALLS] == len(m.response_ns):
        return OUT_OF_CALLS
    if m.zil.logs[0, intent.N_BLOCKS] >= m.zil.chain.shape[1] - 2:
        return OUT_OF_LOG
    return OUT_OF_IOS if m.group[at.N_PENDING] + len(m.threads) + (COPIES + 1) * AT_ONCE > n_ios else DONE


@kernel
def _other_event(m, leaves, now, other):
    if other == SYNC:
        sync_event(m, leaves, now)
    elif other == WRITER:
        writer_event(m, leaves, now)
    elif other == FEED:
        feed_event(m, now)
    else:
        m.by_second[now // SECOND_NS] = m.tally[at.BLOCKS]
        adjust(m.arc, m.settings.arc, now // TICK_NS)
        set_time(m.calendar, source_of(m, EACH_SECOND), now + SECOND_NS)


@kernel
def _reader_or_log(m, leaves, now, other):
    if other == READER:
        reader_event(m, leaves, now)
        return
    if other == LOG:
        log_event(m, leaves, now)
        return
    log_block_event(m, leaves, now, other - LOG_BLOCK_DONE)


@kernel
def run(m, leaves):
    """From time 0 until `duration_ns`. Returns how it ended."""
    s = m.settings
    while True:
        source = next_source(m.calendar)
        now = m.calendar.time[source]
        if now >= s.duration_ns:
            return DONE
        status = _shortage(m, leaves.queue.n_ios)
        if status != DONE:
            return status
        set_time(m.calendar, source, NEVER)
        if source < s.n_leaves:
            disk_event(m, leaves, now, source)
        elif source < s.n_leaves + s.threads:
            lookup_event(m, leaves, now, source - s.n_leaves)
        elif source < s.n_leaves + s.threads + READER:
            _other_event(m, leaves, now, source - s.n_leaves - s.threads)
        else:
            _reader_or_log(m, leaves, now, source - s.n_leaves - s.threads)


# ---- the friendly face ----


class Room(NamedTuple):
    """What a run has room for; it is made again with more where that is too little."""

    ios: int = 2**14
    calls: int = 2**16
    log_blocks: int = 2**12


class Result(NamedTuple):
    """A run of `duration_ns`; rates are from `warm_ns` on."""

    blocks_per_s: float  # whose lookups are done
    bytes_per_s: float  # of these blocks, found or not
    response_ns: np.ndarray  # of each call
    by_second: np.ndarray  # blocks dealt with until each second
    counts: dict  # see at.COUNTS; of all of the run
    busy_share: float  # of the disks' time
    busiest_share: float  # of that of the disk that was busy most
    files: np.ndarray  # [file, (hits, misses, ns when the last block had come)]


def simulate(settings: Settings, rules: Rules, build: Era, ssd: SsdParams | None = None, seed: int = 0) -> Result:
    """Write (or free), and read, for `duration_ns`. Raises ValueError if something about the machine is impossible."""
    room = Room()
    while True:
        m, leaves = new_machine(settings, rules, build, ssd or SsdParams(), seed, room)
        _begin(m)
        status = run(m, leaves)
        if status == DONE:
            return _result(m, leaves)
        room = Room(room.ios * (4 if status == OUT_OF_IOS else 1), room.calls * (8 if status == OUT_OF_CALLS else 1),
                    room.log_blocks * (8 if status == OUT_OF_LOG else 1))


def _begin(m):
    s = m.settings
    set_time(m.calendar, source_of(m, EACH_SECOND), SECOND_NS)
    if s.has_writer:
        set_time(m.calendar, source_of(m, WRITER), 0)
    if s.l2_bytes:
        set_time(m.calendar, source_of(m, FEED), next_feed(m.l2))
    if s.n_files and s.file_blocks:
        set_time(m.calendar, source_of(m, READER), 0)


def _result(m, leaves):
    s, counts = m.settings, dict(zip(at.COUNTS, m.tally.tolist(), strict=True))
    first, last = s.warm_ns // SECOND_NS, (s.duration_ns - 1) // SECOND_NS
    rate = float(m.by_second[last] - m.by_second[first]) / (last - first)
    busy_ns = busy_until(leaves.drives, s.duration_ns)
    return Result(blocks_per_s=rate, bytes_per_s=rate * s.block_bytes, response_ns=m.response_ns[:counts["calls"]],
                  by_second=m.by_second[:last + 1], counts=counts, busy_share=float(busy_ns.mean() / s.duration_ns),
                  busiest_share=float(busy_ns.max() / s.duration_ns),
                  files=m.files[:s.n_files])
