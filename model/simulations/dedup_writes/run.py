"""Writes (or frees) with dedup, event by event: throttle, transaction groups, the table in the ARC, cache device, disks.

    writer --throttle--> open group --> group being synced: lookups --> table --> writes
                                            |  reads of leaves             |
                                            v                              v
                                     ARC --> cache device --> vdev queues, disks

Sources of events, in the order in which equal times are served: disks, threads of lookup, the sync thread, the writer, the
cache device's feed, the clock of each second (ARC).

The table is as large as it is: leaves that split meanwhile are a matter of `model.zfs.dedup`, and a run is short. Which
leaf a block's entry is in is drawn evenly, since check-sums are.

Left out: data in the ARC (metadata and data have lists of their own, and metadata a limit of its own); indirect blocks two
levels and more above the leaves (a thousandth of the table) are in core; indirect blocks of the data; labels; processor
time other than check-sums; the pointer table, which is in core; reads by others.
"""
from typing import NamedTuple

import numpy as np

from model.devices.ssd import SsdParams
from model.events.calendar import NEVER, next_source, set_time
from model.events.clock import SECOND_NS, TICK_NS
from model.jit import kernel
from model.simulations.dedup_writes import columns as at
from model.simulations.dedup_writes.events import (
    AT_ONCE,
    disk_event,
    feed_event,
    lookup_event,
    sync_event,
    writer_event,
)
from model.simulations.dedup_writes.state import DONE, OUT_OF_CALLS, OUT_OF_IOS, Settings, new_machine
from model.simulations.rules import Rules
from model.zfs.arc.arc import adjust
from model.zfs.arc.l2arc import L2arcParams, next_feed
from model.zfs.dedup.zap import COPIES
from model.zfs.txg.throttle import TxgParams
from model.zfs.vdev.leaves import busy_until


@kernel
def _shortage(m, n_ios):
    if m.tally[at.CALLS] == len(m.response_ns):
        return OUT_OF_CALLS
    return OUT_OF_IOS if m.group[at.N_PENDING] + len(m.threads) + (COPIES + 1) * AT_ONCE > n_ios else DONE


@kernel
def run(m, leaves):
    """From time 0 until `duration_ns`. Returns how it ended."""
    s = m.settings
    sync, writer, feeder = s.n_leaves + s.threads, s.n_leaves + s.threads + 1, s.n_leaves + s.threads + 2
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
        elif source < sync:
            lookup_event(m, leaves, now, source - s.n_leaves)
        elif source == sync:
            sync_event(m, leaves, now)
        elif source == writer:
            writer_event(m, now)
        elif source == feeder:
            feed_event(m, now)
        else:
            m.by_second[now // SECOND_NS] = m.tally[at.BLOCKS]
            adjust(m.arc, s.arc, now // TICK_NS)
            set_time(m.calendar, source, now + SECOND_NS)


# ---- the friendly face ----


class Result(NamedTuple):
    """A run of `duration_ns`; rates are from `warm_ns` on."""

    blocks_per_s: float  # whose lookups are done
    bytes_per_s: float  # of these blocks, found or not
    response_ns: np.ndarray  # of each call
    by_second: np.ndarray  # blocks dealt with until each second
    counts: dict  # see at.COUNTS; of all of the run
    busy_share: float  # of the disks' time


def simulate(settings: Settings, rules: Rules, txg_params: TxgParams, ssd: SsdParams | None = None,
             l2_params: L2arcParams | None = None, seed: int = 0) -> Result:
    """Write (or free) for `duration_ns`. Raises ValueError if something about the machine is impossible."""
    n_ios, n_calls = 2**14, 2**16
    while True:
        m, leaves = new_machine(settings, rules, ssd or SsdParams(), txg_params, l2_params or L2arcParams(), seed, n_ios,
                                n_calls)
        set_time(m.calendar, settings.n_leaves + settings.threads + 1, 0)
        set_time(m.calendar, settings.n_leaves + settings.threads + 3, SECOND_NS)
        if settings.l2_bytes:
            set_time(m.calendar, settings.n_leaves + settings.threads + 2, next_feed(m.l2))
        status = run(m, leaves)
        if status == DONE:
            return _result(m, leaves)
        n_ios, n_calls = n_ios * (4 if status == OUT_OF_IOS else 1), n_calls * (8 if status == OUT_OF_CALLS else 1)


def _result(m, leaves):
    s, counts = m.settings, dict(zip(at.COUNTS, m.tally.tolist(), strict=True))
    first, last = s.warm_ns // SECOND_NS, (s.duration_ns - 1) // SECOND_NS
    rate = float(m.by_second[last] - m.by_second[first]) / (last - first)
    busy_ns = busy_until(leaves.drives, s.duration_ns)
    return Result(blocks_per_s=rate, bytes_per_s=rate * s.block_bytes, response_ns=m.response_ns[:counts["calls"]],
                  by_second=m.by_second[:last + 1], counts=counts, busy_share=float(busy_ns.mean() / s.duration_ns))
