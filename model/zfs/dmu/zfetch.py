"""File-level prefetch, exactly: how zfetch follows the readers of a file and what it reads ahead of them.

Every read of a record, one at a time, is shown to the zfetch of its file, which knows up to eight *streams*. A stream has a
*window* of blocks that were read, from `start` on, `length` long, and a `stride` from one window to the next. It has the
block `ahead` up to which it has prefetched, a `cap`, the strides that it may be ahead, and a `direction`. In English:

 1. The streams are asked one after the other, the youngest first, which of them expects block b:
      it lies in the window: it was expected, and nothing happens (from hg 10474 on only if it was prefetched as well).
      It follows the window: the window grows by b, to 256 blocks at most; the reader goes forward.
      It precedes the window: likewise, and the reader goes backward.
      It lies one stride on, or back: the window moves there (only where a stride is longer than its window).
 2. If b was expected and yet not prefetched, the stream is no good: it is deleted, and b is nobody's. But a window of
    one block had nothing prefetched for it: one that grows from there is good.
 3. A good stream doubles its cap, to 256 at most, and prefetches up to that many strides ahead. At each stride it prefetches
    as many blocks as its window has. It is used in this tick.
 4. If nobody expects b, two streams may be in line with it: one starts at b - 2n, another at b - n. They become one of
    stride n, now at b, which prefetches as in 3.
 5. Else b starts a stream. It does so in place of the first one idle for 3 seconds, or as one more if the file has less than
    its share. The share is a stream for each 256 blocks, at least 1 and at most 8. Else nothing happens: no room.

A long sequential read from block 0 on thus prefetches 2 blocks when it reads block 1, then 3, 2 times 4, 3 times 5, ...
and is 260 blocks ahead after nine; from then on bursts of up to 256 blocks, all at once.

In ZFS (dmu_zfetch.c): rules 1 and 2 are `dmu_zfetch_find`, 3 `dmu_zfetch_dofetch`, 4 `dmu_zfetch_colinear`, 5
`dmu_zfetch` with `dmu_zfetch_stream_reclaim` and `dmu_zfetch_stream_insert`; spec 4. What a prefetched block costs is
not said here: the caller reads it, after its indirect block, for which the reader waits (spec 4.5). ZFS calculates
without signs; where that matters, below the start of the file, it is said. Left out: two readers in zfetch at the same
instant, whom ZFS keeps apart with locks that it may fail to get.

One state serves any number of files. A file's streams have fixed places; `by_age` lists the places, youngest stream
first, the free ones behind.
"""

from typing import NamedTuple

import numpy as np

from model.jit import kernel
from model.zfs.dmu import fetch_columns as to_fetch

FORWARD, BACKWARD = 1, -1
MAX_FILES = 2**24

# What a stream makes of a block; rule 1.
_NOT_MINE, _COVERED, _GOOD, _BROKEN = 0, 1, 2, 3


class ZfetchParams(NamedTuple):
    """The rules of a build; the defaults are those of onnv_53 to hg 10473 (spec 4.1)."""

    max_streams: int = 8  # per file; zfetch_max_streams
    block_cap: int = 256  # blocks in a window, strides ahead, and blocks of file per stream; zfetch_block_cap
    min_idle_s: int = 2  # s, a stream idle for longer, in whole seconds, may be replaced; zfetch_min_sec_reap
    hz: int = 100  # ticks per second; spec, conventions
    max_distance_bytes: int = 0  # B, what is ahead of a stream at most; 0: blocks alone count; zfetch_max_distance, 2015
    covered_if_missed: int = 1  # 1: in the window means expected, prefetched or not; 0 from hg 10474 on; spec 4.4
    # When the caller is to call at all; never read here.
    max_request_bytes: int = 2**20  # B, a larger request is not shown to zfetch; zfetch_array_rd_sz
    rewrites_read: int = 1  # 1: the read before a partial rewrite is shown, to onnv_85; 0 by onnv_89; spec 4.2
    uncached_read: int = 1  # 1: reads of what may not be cached are shown; 0 from onnv_98 on; spec 4.2


class Zfetch(NamedTuple):
    """The streams of all files. Blocks are numbers of records in the file."""

    n_places: int  # per file
    # per place: a stream
    start: np.ndarray  # first block of the window
    length: np.ndarray  # blocks in it
    stride: np.ndarray  # blocks
    ahead: np.ndarray  # block up to which it has prefetched
    cap: np.ndarray  # strides
    direction: np.ndarray  # FORWARD or BACKWARD
    used: np.ndarray  # tick
    by_age: np.ndarray  # places from 0 to n_places - 1, youngest stream first
    # per file
    n_streams: np.ndarray


# ---- the list of streams ----


@kernel
def _stream_at(zfetch, file, rank):
    """The stream of `file` at `rank`, 0 being the youngest."""
    first = file * zfetch.n_places
    return first + zfetch.by_age[first + rank]


@kernel
def _delete(zfetch, file, rank):
    """The place of the stream at `rank` becomes free."""
    zfetch.n_streams[file] -= 1
    first = file * zfetch.n_places
    place = zfetch.by_age[first + rank]
    for i in range(first + rank, first + zfetch.n_streams[file]):
        zfetch.by_age[i] = zfetch.by_age[i + 1]
    zfetch.by_age[first + zfetch.n_streams[file]] = place


@kernel
def _prepend(zfetch, file):
    """A free place (there is one) becomes that of the youngest stream, which is returned."""
    first = file * zfetch.n_places
    place = zfetch.by_age[first + zfetch.n_streams[file]]
    for i in range(first + zfetch.n_streams[file], first, -1):
        zfetch.by_age[i] = zfetch.by_age[i - 1]
    zfetch.by_age[first] = place
    zfetch.n_streams[file] += 1
    return first + place


# ---- rules 1 and 2: which stream expects the block ----


@kernel
def _grow_forward(zfetch, params, stream):
    zfetch.length[stream] += 1
    excess = max(0, zfetch.length[stream] - params.block_cap)
    zfetch.start[stream] += excess
    zfetch.length[stream] -= excess
    zfetch.direction[stream] = FORWARD


@kernel
def _grow_backward(zfetch, params, stream):
    zfetch.start[stream] -= 1
    zfetch.length[stream] += 1
    excess = max(0, zfetch.length[stream] - params.block_cap)
    zfetch.ahead[stream] = max(0, zfetch.ahead[stream] - 1 - excess)
    zfetch.length[stream] -= excess
    zfetch.direction[stream] = BACKWARD


@kernel
def _stride_backward(zfetch, stream):
    stride = zfetch.stride[stream]
    zfetch.start[stream] = max(0, zfetch.start[stream] - stride)
    zfetch.ahead[stream] = max(0, zfetch.ahead[stream] - 2 * stride)
    zfetch.direction[stream] = BACKWARD


@kernel
def _offer(zfetch, params, stream, block, prefetched):
    """Show `block` to `stream`: what it makes of it. If it is its own, window and direction follow the reader."""
    past_start, length, stride = block - zfetch.start[stream], zfetch.length[stream], zfetch.stride[stream]
    if 0 <= past_start < length and (prefetched or params.covered_if_missed):
        return _COVERED
    beside = past_start in (-1, length)
    if past_start == length:
        _grow_forward(zfetch, params, stream)
    elif past_start == -1:
        _grow_backward(zfetch, params, stream)
    elif length == stride:
        return _NOT_MINE
    elif 0 <= past_start - stride < length:
        zfetch.start[stream] += stride
        zfetch.direction[stream] = FORWARD
    elif 0 <= past_start + stride < length:
        _stride_backward(zfetch, stream)
    else:
        return _NOT_MINE
    return _GOOD if prefetched or (beside and length == 1) else _BROKEN


# ---- rule 3: prefetching ----


@kernel
def _fetch(block, n_blocks, maxblkid, out, n):
    """Ask for `n_blocks` from `block` on, as element `n` of `out`. Returns how many there are: 0 behind the end of the
    file. Where the end is near all that is left is taken, and that may be one more than was wanted."""
    if block > maxblkid:
        return 0
    if block + n_blocks + 1 > maxblkid:
        n_blocks = maxblkid - block + 1
    out[n, to_fetch.FIRST_BLOCK] = block
    out[n, to_fetch.N_BLOCKS] = n_blocks
    return n_blocks


@kernel
def _prefetch(zfetch, params, stream, now_tick, maxblkid, out):
    """Bring `stream` as far ahead as its cap allows. Returns how many elements of `out` were written."""
    start, length = zfetch.start[stream], zfetch.length[stream]
    stride = max(zfetch.stride[stream], length)
    cap = min(params.block_cap, 2 * zfetch.cap[stream])
    ahead = max(zfetch.ahead[stream], start + stride)
    limit = start + length + cap * stride // length
    n = 0
    while ahead < limit:
        block = start + zfetch.direction[stream] * (ahead - start)
        if block < -length:
            break
        n_found = _fetch(max(0, block), length, maxblkid, out, n)
        n += n_found > 0
        ahead += stride
        if n_found < length:
            break
    zfetch.stride[stream], zfetch.cap[stream], zfetch.ahead[stream] = stride, cap, ahead
    zfetch.used[stream] = now_tick
    return n


# ---- rule 4: two streams in line with the block ----


@kernel
def _is_solid(zfetch, stream):
    """Whether the windows of `stream` follow each other without a gap."""
    return zfetch.length[stream] == zfetch.stride[stream]


@kernel
def _are_in_line(start, other_start, block):
    """Whether, of two streams that start at these blocks, the one nearer to `block` lies half way between."""
    step, way = other_start - start, block - start
    return way in (2 * step, -step)


@kernel
def _partner(zfetch, file, rank, block):
    """The rank of the youngest of the older streams that is in line with the one at `rank` and with `block`; or -1."""
    stream = _stream_at(zfetch, file, rank)
    if _is_solid(zfetch, stream):
        for other_rank in range(rank + 1, zfetch.n_streams[file]):
            partner = _stream_at(zfetch, file, other_rank)
            if _are_in_line(zfetch.start[stream], zfetch.start[partner], block) and _is_solid(zfetch, partner):
                return other_rank
    return -1


@kernel
def _merge(zfetch, file, stream, other_rank, block):
    """`stream` takes another one in, and goes on from `block`, in whose direction both lie."""
    other_start = zfetch.start[_stream_at(zfetch, file, other_rank)]
    stride = abs(other_start - zfetch.start[stream])
    _delete(zfetch, file, other_rank)
    zfetch.start[stream] = block
    zfetch.direction[stream] = FORWARD if block >= other_start else BACKWARD
    zfetch.stride[stream] = stride
    zfetch.ahead[stream] = block + stride


@kernel
def _join(zfetch, file, block):
    """Merge the first two streams in line with `block`. Returns what became of them, or -1 if there are none."""
    for rank in range(zfetch.n_streams[file] - 1):
        other_rank = _partner(zfetch, file, rank, block)
        if other_rank >= 0:
            stream = _stream_at(zfetch, file, rank)
            _merge(zfetch, file, stream, other_rank, block)
            return stream
    return -1


# ---- rule 5: a new stream ----


@kernel
def _make_room(zfetch, params, file, now_tick, maxblkid):
    """Whether there is room for one more stream; a stream that is idle for long is deleted for it."""
    for rank in range(zfetch.n_streams[file]):
        idle_ticks = now_tick - zfetch.used[_stream_at(zfetch, file, rank)]
        if idle_ticks >= (params.min_idle_s + 1) * params.hz:
            _delete(zfetch, file, rank)
            return True
    share = maxblkid // params.block_cap
    return zfetch.n_streams[file] < max(1, min(params.max_streams, share))


@kernel
def _is_newborn_at(zfetch, stream, block):
    return (zfetch.start[stream] == block and zfetch.ahead[stream] == block + 1 and zfetch.direction[stream] == FORWARD
            and zfetch.length[stream] == zfetch.stride[stream] == zfetch.cap[stream] == 1)


@kernel
def _start(zfetch, file, block, now_tick):
    """A stream from `block` on, unless there is one just like it."""
    for rank in range(zfetch.n_streams[file]):
        if _is_newborn_at(zfetch, _stream_at(zfetch, file, rank), block):
            return
    stream = _prepend(zfetch, file)
    zfetch.start[stream] = block
    zfetch.length[stream] = zfetch.stride[stream] = zfetch.cap[stream] = 1
    zfetch.ahead[stream] = block + 1
    zfetch.direction[stream] = FORWARD
    zfetch.used[stream] = now_tick


# ---- what a read calls ----


@kernel
def read_block(zfetch, params, file, block, prefetched, now_tick, maxblkid, out):
    """A read of `block` of `file`, whose last block is `maxblkid`, in tick `now_tick`.

    `prefetched`: the block is cached, or its read is under way already (spec 4.2). Writes what to prefetch into `out`
    (int64[max_fetches(params), 2]; see model.zfs.dmu.fetch_columns), in order, and returns how many rows that is.
    """
    verdict, rank = _NOT_MINE, 0
    while verdict == _NOT_MINE and rank < zfetch.n_streams[file]:
        verdict = _offer(zfetch, params, _stream_at(zfetch, file, rank), block, prefetched)
        rank += 1
    if verdict == _COVERED:
        return 0
    stream = _stream_at(zfetch, file, rank - 1) if verdict == _GOOD else -1
    if verdict == _BROKEN:
        _delete(zfetch, file, rank - 1)
    if stream < 0:
        stream = _join(zfetch, file, block)
    if stream >= 0:
        return _prefetch(zfetch, params, stream, now_tick, maxblkid, out)
    if _make_room(zfetch, params, file, now_tick, maxblkid):
        _start(zfetch, file, block, now_tick)
    return 0


@kernel
def forget(zfetch, file):
    """The dnode of `file` leaves memory, and its streams with it."""
    zfetch.n_streams[file] = 0


# ---- making one ----

_BOUNDS = {"max_streams": (1, 64), "block_cap": (1, 2**16), "min_idle_s": (0, 2**20), "hz": (1, 10**6),
           "max_request_bytes": (0, 2**40), "max_distance_bytes": (0, 2**40)}
_SWITCH = (0, 1)


def check_params(params):
    """Raise ValueError with one sentence unless every value makes sense."""
    for name, value in params._asdict().items():
        low, high = _BOUNDS.get(name, _SWITCH)
        if value != int(value) or not low <= value <= high:
            raise ValueError(f"{name} of zfetch is {value}, but it must be a whole number from {low} to {high};"
                             " choose one in that range")


def of_records(params, record_bytes):
    """The same for a file of such records: `max_distance_bytes` in blocks, one at least."""
    if not params.max_distance_bytes:
        return params
    return params._replace(block_cap=max(1, min(params.block_cap, params.max_distance_bytes // record_bytes)))


def max_fetches(params):
    """Rows that one call of `read_block` writes at most: one for each stride that a stream may be ahead."""
    return params.block_cap


def new_zfetch(params, n_files):
    """No streams yet, for files 0 .. n_files - 1."""
    check_params(params)
    if n_files != int(n_files) or not 1 <= n_files <= MAX_FILES:
        raise ValueError(f"n_files is {n_files}, but zfetch needs 1 to 2^24 files; choose a number in that range")
    n_places, n = params.max_streams, n_files * params.max_streams
    return Zfetch(
        n_places=n_places, start=np.zeros(n, np.int64), length=np.zeros(n, np.int64), stride=np.zeros(n, np.int64),
        ahead=np.zeros(n, np.int64), cap=np.zeros(n, np.int64), direction=np.zeros(n, np.int64), used=np.zeros(n, np.int64),
        by_age=np.tile(np.arange(n_places), n_files), n_streams=np.zeros(n_files, np.int64))
