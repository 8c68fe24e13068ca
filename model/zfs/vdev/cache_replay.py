"""Driving the vdev cache of one leaf with a stream of operations, recorded or made up.

The decisions are those of `model.zfs.vdev.cache`, the same kernels that a simulation of a whole pool calls. What is added
is when a fill completes, as there is no disk:

* RECORDED: when the stream says so, by an operation COMPLETION;
* a number of ticks. A fill issued in tick t completes just before the first read or write of tick t + `fill_ticks` or later,
  several in order of issue. With 0 it completes right after the read that issued it. COMPLETIONs in the stream then change
  nothing: what the model completes there is noted, and can be compared.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from model.jit import kernel
from model.structures.sentinels import NOWHERE
from model.zfs.vdev.cache import MISS, VdevCache, VdevCacheParams, fill_done, max_lines, new_cache, read, write

READ, WRITE, COMPLETION = 0, 1, 2  # what an operation is; the codes of the recorded traces
RECORDED = -1
LEAF = 0  # the only one
NO_POINTER = 2  # how a read came to the leaf, in recorded traces: without any block pointer (a label)
DATA_TYPES = (19, 23, 25, 26)  # plain file, zvol, other uint8[], other uint64[]; table `dmu_ot`


class Operations(NamedTuple):
    """A stream in order of time, an element of each array per operation; see `operations`."""

    tick: np.ndarray
    kind: np.ndarray  # READ, WRITE or COMPLETION
    offset: np.ndarray  # B from the start of the device; of a COMPLETION: of the line
    n_bytes: np.ndarray
    is_metadata: np.ndarray  # 1 for a read of metadata
    dont_cache: np.ndarray  # 1 for a read that carries DONT_CACHE


class Decisions(NamedTuple):
    """What the model did, an element per operation."""

    outcome: np.ndarray  # of a READ: see model.zfs.vdev.cache; of a COMPLETION: 1 if the line was thrown away; else 0
    fill: np.ndarray  # offset of the line that a MISS fills, or NOWHERE
    evicted: np.ndarray  # offset of the line evicted for it, or thrown away by a COMPLETION, or NOWHERE
    completed: np.ndarray  # COMPLETION: offset of the line whose fill completed here, or NOWHERE
    unannounced: np.ndarray  # fills that the model completed before this operation with no COMPLETION in the stream
    n_lines: np.ndarray  # lines resident after the operation
    n_metadata_lines: np.ndarray  # of them: made by a read of metadata


class Fills(NamedTuple):
    """Fills under way in order of issue: a ring buffer as large as the cache has lines."""

    offset: np.ndarray
    tick: np.ndarray  # of issue
    issued: np.ndarray  # one element: fills ever issued
    done: np.ndarray  # one element: of them completed


@kernel
def _issue(fills, offset, tick):
    slot = fills.issued[0] % len(fills.offset)
    fills.offset[slot] = offset
    fills.tick[slot] = tick
    fills.issued[0] += 1


@kernel
def _is_due(fills, fill_ticks, tick):
    """Whether the oldest fill under way has completed by `tick`."""
    if fills.done[0] == fills.issued[0]:
        return False
    return fills.tick[fills.done[0] % len(fills.tick)] + fill_ticks <= tick


@kernel
def _complete_oldest(cache, params, fills, fill_ticks, tick):
    """Complete the oldest fill under way before an operation of `tick`: (offset, 1 if its line was thrown away)."""
    slot = fills.done[0] % len(fills.offset)
    fills.done[0] += 1
    now = tick if fill_ticks > 0 else fills.tick[slot]
    return fills.offset[slot], fill_done(cache, params, LEAF, now, fills.offset[slot])


@kernel
def _completion(cache, params, fills, fill_ticks, tick, offset):
    """A COMPLETION of the stream: (offset completed or NOWHERE, 1 if its line was thrown away)."""
    if fill_ticks == RECORDED:
        thrown_away = fill_done(cache, params, LEAF, tick, offset)
        return (offset, thrown_away) if thrown_away >= 0 else (NOWHERE, 0)
    if _is_due(fills, fill_ticks, tick):
        return _complete_oldest(cache, params, fills, fill_ticks, tick)
    return NOWHERE, 0


@kernel
def _complete_due(cache, params, fills, fill_ticks, tick):
    """Complete all that is due before an operation of `tick`; how many."""
    n = 0
    while fill_ticks != RECORDED and _is_due(fills, fill_ticks, tick):
        _complete_oldest(cache, params, fills, fill_ticks, tick)
        n += 1
    return n


@kernel
def _read(cache, params, fills, fill_ticks, operations, decisions, i):
    tick = operations.tick[i]
    outcome, line_offset, evicted = read(cache, params, LEAF, tick, operations.offset[i], operations.n_bytes[i],
                                         operations.is_metadata[i], operations.dont_cache[i])
    decisions.outcome[i] = outcome
    if outcome == MISS:
        decisions.fill[i] = line_offset
        decisions.evicted[i] = evicted
        if fill_ticks != RECORDED:
            _issue(fills, line_offset, tick)


@kernel
def run(cache, params, fills, fill_ticks, operations, decisions):
    """All `operations` in order; writes `decisions`."""
    for i in range(len(operations.tick)):
        tick, kind = operations.tick[i], operations.kind[i]
        if kind == COMPLETION:
            completed, thrown_away = _completion(cache, params, fills, fill_ticks, tick, operations.offset[i])
            decisions.completed[i] = completed
            decisions.outcome[i] = thrown_away
            decisions.evicted[i] = completed if thrown_away else NOWHERE
        else:
            decisions.unannounced[i] = _complete_due(cache, params, fills, fill_ticks, tick)
            if kind == READ:
                _read(cache, params, fills, fill_ticks, operations, decisions, i)
            else:
                write(cache, params, LEAF, operations.offset[i], operations.n_bytes[i])
        decisions.n_lines[i] = cache.n_lines[LEAF]
        decisions.n_metadata_lines[i] = cache.n_metadata_lines[LEAF]
    if fill_ticks == 0:
        _complete_due(cache, params, fills, fill_ticks, operations.tick[-1])


def is_metadata(level: np.ndarray, object_type: np.ndarray, has_pointer: np.ndarray) -> np.ndarray:
    """1 for reads that onnv_70 marks as metadata, by their block pointer; columns of RAID-Z inherit it (spec 1.6)."""
    return np.where(has_pointer & ((level > 0) | ~np.isin(object_type, DATA_TYPES)), 1, 0)


def _column(values, n):
    """`values` (one for all or one each) as an own array of n int64, the one type that the kernels are compiled for."""
    return np.array(np.broadcast_to(values, n), dtype=np.int64)


Values = Sequence[int] | np.ndarray | int


def operations(tick: Sequence[int] | np.ndarray, kind: Values, offset: Values, n_bytes: Values, is_metadata: Values = 1,
               dont_cache: Values = 0) -> Operations:
    """Operations from anything like arrays; single values stand for all. Raises ValueError with the first bad one."""
    n = len(tick)
    stream = Operations(tick=_column(tick, n), kind=_column(kind, n), offset=_column(offset, n), n_bytes=_column(n_bytes, n),
                        is_metadata=_column(is_metadata, n), dont_cache=_column(dont_cache, n))
    bad = {"tick": np.flatnonzero(np.diff(stream.tick, prepend=stream.tick[:1]) < 0),
           "kind": np.flatnonzero((stream.kind < READ) | (stream.kind > COMPLETION)),
           "offset": np.flatnonzero(stream.offset < 0),
           "n_bytes": np.flatnonzero(stream.n_bytes <= 0)}
    rules = {"tick": "not go back", "kind": "be 0, 1 or 2", "offset": "be 0 or more", "n_bytes": "be 1 or more"}
    for name, places in bad.items():
        if len(places):
            value = getattr(stream, name)[places[0]]
            raise ValueError(f"{name} of operation {places[0]} is {value}, but must {rules[name]}; mend the stream")
    return stream


def new_fills(params: VdevCacheParams) -> Fills:
    """Room for all fills that may be under way at once, one for each line."""
    n = max(1, max_lines(params))
    return Fills(np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64))


def new_decisions(n: int) -> Decisions:
    """Room for what becomes of `n` operations, arrays of int64 (n,)."""
    nowhere, zeros = (lambda: np.full(n, NOWHERE, np.int64)), (lambda: np.zeros(n, np.int64))
    return Decisions(
        outcome=zeros(), fill=nowhere(), evicted=nowhere(), completed=nowhere(), unannounced=zeros(), n_lines=zeros(),
        n_metadata_lines=zeros())


def drive(params: VdevCacheParams, stream: Operations, fill_ticks: int = RECORDED) -> tuple[Decisions, VdevCache]:
    """The vdev cache of one leaf under `stream`: (Decisions, VdevCache as it is afterwards)."""
    if fill_ticks < RECORDED:
        raise ValueError(f"fill_ticks is {fill_ticks}, but a fill takes 0 ticks or more; choose such a number, or -1 "
                         "to take completions from the stream")
    cache, decisions = new_cache(params), new_decisions(len(stream.tick))
    if len(stream.tick):
        run(cache, params, new_fills(params), fill_ticks, stream, decisions)
    return decisions, cache


