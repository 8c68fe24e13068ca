"""A trace through the vdev cache, and through the vdev queue: what reads find in lines, what goes to a disk together.

Each device of the trace is a leaf with a cache, or a queue, of its own. No format but a recording says which reads are of
metadata. So the vdev cache is that of the builds to onnv_69, in which every read that is let in may fill. A recording of
the vdev cache goes to `study.replays.vdev_cache`, as in `study verify`: its fills end when they did, and every decision is
compared.
"""
import time
from collections.abc import Iterator

import numpy as np
import pandas as pd

from model.devices.sectors import SECTOR_BYTES
from model.zfs.vdev import cache_replay, queue_requests
from model.zfs.vdev.cache import (
    FILL_ALL,
    HIT,
    JOINED,
    MISS,
    OUTCOMES,
    VdevCache,
    VdevCacheParams,
    new_cache,
)
from model.zfs.vdev.queue import VdevQueueParams
from model.zfs.vdev.queue_replay import ARRIVAL, ISSUE
from study.errors import UserError
from study.pools.forecast_page import in_words
from study.replays import trace_file, vdev_cache, vdev_queue
from study.replays.trace_file import stem_of
from study.traces.requests import READ, WRITE, Trace
from study.traces.through import Through, column, need_place, need_time, rules, trims, without_trims
from study.words import counted

FILL_TICKS = 1              # of 10 ms, that a fill takes where the trace does not say: about a disk's seek and half a turn
STATS = "stats.jsonl"       # beside a recording
MAX_SERVICE_US = 1e7        # ten seconds
ROOM = 2**16                # I/Os in a queue at a time
DEFAULT_ERA = "b141"        # of the queue


def _by_device(rows: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """(number of a device, its rows)"""
    devices = np.unique(rows["device"])
    for device in devices:
        yield int(device), rows[rows["device"] == device] if len(devices) > 1 else rows


# ---- vdev cache ----


def _line_bytes(params: VdevCacheParams) -> int:
    return 1 << params.line_shift


def through_vdev_cache(trace: Trace, sizes: list[int], era: str | None) -> Through:
    """A cache of each size in front of each device. Raises UserError."""
    need_place(trace, "vdev cache")
    need_time(trace, "vdev cache")
    if trace.format.recording == "vdev cache":
        return _recorded(trace, sizes, era)
    name = era or vdev_cache.PLAIN_BUILD
    params = rules(name).cache
    if params.fill_rule != FILL_ALL:
        raise UserError(f"by the rules of {name} only metadata fills a line, but {trace.format.name} does not say which "
                        f"reads are of metadata; choose --era {vdev_cache.PLAIN_BUILD}")
    nothing = cache_replay.operations([0], READ, [0], [512])
    for size in sizes or [params.cache_bytes]:
        try:
            cache_replay.drive(params._replace(cache_bytes=size), nothing, FILL_TICKS)      # compiles, too
        except ValueError as error:
            raise UserError(str(error)) from error
    start = time.process_time()
    rows = [_of_size(trace, params._replace(cache_bytes=size)) for size in sorted(set(sizes)) or [params.cache_bytes]]
    seconds = time.process_time() - start
    notes = [f"rules of {name}: reads of up to {in_words(params.max_read_bytes)} look into lines of "
             f"{in_words(_line_bytes(params))}. A fill is taken to end in the next tick of 10 ms", *trims(trace)]
    return Through(mechanism="vdev-cache", table=_table(rows), notes=notes, seconds=seconds, runs=len(rows))


def _of_size(trace: Trace, params: VdevCacheParams) -> tuple:
    """(size, reads by outcome, B that reads want, B that reads take from the disk)"""
    leaves: dict[int, tuple[VdevCache, cache_replay.Fills]] = {}
    outcomes, wanted, taken = np.zeros(len(OUTCOMES), np.int64), 0, 0
    for rows in without_trims(trace):
        for device, own in _by_device(rows):
            cache, fills = leaves.setdefault(device, (new_cache(params), cache_replay.new_fills(params)))
            stream = cache_replay.operations(column(own, "time_ns") // 10**7, column(own, "kind"), column(own, "place"),
                                             column(own, "n_bytes"))
            decisions = cache_replay.new_decisions(len(own))
            cache_replay.run(cache, params, fills, FILL_TICKS, stream, decisions)
            is_read = own["kind"] == READ
            n, wants, takes = _counted(decisions.outcome[is_read], own["n_bytes"][is_read], _line_bytes(params))
            outcomes, wanted, taken = outcomes + n, wanted + wants, taken + takes
    return params.cache_bytes, outcomes, wanted, taken


def _counted(outcome: np.ndarray, n_bytes: np.ndarray, line: int) -> tuple[np.ndarray, int, int]:
    passes = ~np.isin(outcome, (HIT, MISS, JOINED))
    return (np.bincount(outcome, minlength=len(OUTCOMES)), int(n_bytes.sum()),
            int(n_bytes[passes].sum()) + line * int((outcome == MISS).sum()))


def _table(rows: list[tuple]) -> pd.DataFrame:
    """Shares of reads; a read that joins a fill moves nothing."""
    made = []
    for size, outcomes, wanted, taken in rows:
        reads = int(outcomes.sum())
        made.append({"bytes": size, "reads": reads, "found": (outcomes[HIT] + outcomes[JOINED]) / reads if reads else np.nan,
                     "wanted_bytes": wanted, "taken_bytes": taken,
                     **{name: int(n) for name, n in zip(OUTCOMES, outcomes, strict=True)}})
    return pd.DataFrame(made)


def _recorded(trace: Trace, sizes: list[int], era: str | None) -> Through:
    """By the replay that `study verify` makes of it. What reads take from the disk is not asked of a recording."""
    known = vdev_cache.read_stats(trace.path.parent / STATS).get(stem_of(trace.path), vdev_cache.Recorded({}))
    own = known.sizes.get("cache_bytes", VdevCacheParams().cache_bytes)
    if set(sizes) - {own}:
        raise UserError(f"{trace.path} was recorded of a cache of {own} bytes, and its fills end as they did there; leave "
                        "--sizes away")
    replay = vdev_cache.replay_vdev_cache(trace.path, **known.sizes, era=era or known.era)
    wanted = int(trace.requests["n_bytes"][trace.requests["kind"] == READ].sum())
    table = _table([(own, replay.pairs.sum(0), wanted, 0)]).drop(columns="taken_bytes")
    return Through(mechanism="vdev-cache", table=table, notes=[vdev_cache.sentence(replay)], seconds=replay.seconds,
                   runs=1, differs=replay.differences > 0)


# ---- vdev queue ----


def through_queue(trace: Trace, service_us: float, era: str | None) -> Through:
    """What the queue of each device puts together, if each unit takes so long. Raises UserError."""
    need_place(trace, "vdev queue")
    need_time(trace, "vdev queue")
    if trace.format.recording == "vdev queue":
        return _recorded_queue(trace, era)
    name = era or DEFAULT_ERA
    of_build = rules(name)
    if of_build.classes.exist:
        raise UserError(f"by the rules of {name} the vdev queue has classes, which a trace does not name; choose an era up "
                        "to b141")
    if not 0 < service_us <= MAX_SERVICE_US:
        raise UserError(f"the service time is {service_us:g} us, but it must be more than 0 and at most {MAX_SERVICE_US:g}; "
                        "choose such a time")
    params, service_ns = of_build.queue, max(1, round(service_us * 1000))
    _drive(trace._replace(requests=trace.requests[:1]), params, service_ns)     # compiles
    start = time.process_time()
    devices = _drive(trace, params, service_ns)
    seconds = time.process_time() - start
    count, n_bytes = (sum(getattr(device, name) for device in devices) for name in ("counts", "n_bytes"))
    held_back = sum(int(device.now[queue_requests.HELD_BACK]) for device in devices)
    notes = [f"rules of {name}; a device is taken to answer a unit every {service_us:g} us, one after the other "
             "(--service-us). All requests are taken to be waited for; a vdev cache would come before", *trims(trace)]
    if held_back:
        notes.append(f"{counted(held_back, 'request')} of {int(count[:, 0].sum())} found {ROOM} waiting and came later: the "
                     "device is too slow for this trace, so more waits than would")
    return Through(mechanism="queue", table=_sizes_table(count, n_bytes), notes=notes, seconds=seconds, runs=1)


def _recorded_queue(trace: Trace, era: str | None) -> Through:
    """By the replay that `study verify` makes of it: units are those recorded, which are the model's where none differs."""
    replay, columns = vdev_queue.replay_queue(trace.path, era), vdev_queue.read_queue_trace(trace.path)
    count, n_bytes = (np.zeros(shape, np.int64) for shape in ((2, 2, queue_requests.N_SIZES), (2, 2)))
    for when, op in ((queue_requests.BEFORE, ARRIVAL), (queue_requests.AFTER, ISSUE)):
        for kind in (READ, WRITE):
            sizes = columns["size512"][(columns["op"] == op) & (columns["kind"] == kind)] * SECTOR_BYTES
            count[kind, when] = np.bincount(np.log2(sizes).astype(np.int64), minlength=queue_requests.N_SIZES)
            n_bytes[kind, when] = sizes.sum()
    return Through(mechanism="queue", table=_sizes_table(count, n_bytes), notes=[trace_file.sentence(replay)],
                   seconds=replay.seconds, runs=1, differs=replay.differences > 0)


def _drive(trace: Trace, params: VdevQueueParams, service_ns: int) -> list[queue_requests.Device]:
    devices: dict[int, queue_requests.Device] = {}
    for rows in without_trims(trace):
        for number, own in _by_device(rows):
            device = devices.setdefault(number, queue_requests.new_device(params, ROOM))
            queue_requests.run(device, params, service_ns, *(column(own, name) for name in
                                                             ("time_ns", "kind", "place", "n_bytes")))
    for device in devices.values():
        queue_requests.finish(device, params, service_ns, np.iinfo(np.int64).max)
    return list(devices.values())


def _sizes_table(count: np.ndarray, n_bytes: np.ndarray) -> pd.DataFrame:
    """A row for each kind: requests, units, their mean sizes, and how many there are of each power of two."""
    made = []
    for kind, name in ((READ, "read"), (WRITE, "write")):
        before, after = count[kind, queue_requests.BEFORE], count[kind, queue_requests.AFTER]
        if before.sum():
            made.append({"kind": name, "requests": int(before.sum()), "units": int(after.sum()),
                         "requests_per_unit": before.sum() / after.sum(),
                         "request_bytes": n_bytes[kind, queue_requests.BEFORE] / before.sum(),
                         "unit_bytes": n_bytes[kind, queue_requests.AFTER] / after.sum(),
                         "requests_by_size": _by_size(before), "units_by_size": _by_size(after)})
    return pd.DataFrame(made)


def _by_size(counts: np.ndarray) -> dict[str, int]:
    """{at least so many B: how many, of less than twice as many}"""
    return {str(1 << power): int(n) for power, n in enumerate(counts) if n}
