"""A plain LRU cache, and the two structures that every cache of this model is made of.

The policy: a fixed number of frames. A reference to a block that is in a frame is a hit, and the block becomes the one most
recently used. Any other reference is a miss. The block is loaded into a free frame or, when there is none, into the frame of
the block that was used longest ago.

Two structures over the same frames make that cheap. A **ring** links the frames in order of use, each to the next `older`
and the next `newer` one. A sentinel closes it, so that nothing is ever a special case:

    sentinel -> oldest -> ... -> newest -> sentinel        (`newer`; `older` points the other way)

A **hash table** finds the frame of a block: `first` holds the first frame of each chain, `chain` the next one.

The kernels of the ring and of the table take any state that has these fields; `model.zfs.vdev.cache` uses the same.
Frame 0 is never filled: it is the sentinel, and as an answer it means "none".
"""

from typing import NamedTuple

import numpy as np

from model.jit import kernel
from model.structures.sentinels import NIL

SENTINEL = 0  # the number of the place that closes the ring


class Lru(NamedTuple):
    """A cache of `len(key) - 1` frames. A frame's number is its place in the first four arrays."""

    key: np.ndarray  # block in the frame
    older: np.ndarray  # ring: the neighbour used before this one
    newer: np.ndarray  # ring: the neighbour used after this one
    chain: np.ndarray  # hash table: next frame in the same chain, or NIL
    first: np.ndarray  # hash table: first frame of each chain, or NIL; a power of two of them
    n_used: np.ndarray  # one element: frames filled so far


# ---- the ring ----


@kernel
def unlink(ring, entry):
    """Take `entry` out of the ring."""
    older, newer = ring.older[entry], ring.newer[entry]
    ring.newer[older] = newer
    ring.older[newer] = older


@kernel
def link_after(ring, place, entry):
    """Put `entry` into the ring as the next newer one after `place`."""
    newer = ring.newer[place]
    ring.older[entry] = place
    ring.newer[entry] = newer
    ring.newer[place] = entry
    ring.older[newer] = entry


# ---- the hash table ----


@kernel
def bucket_of(key, n_buckets):
    """The chain of `key` (0 or more) among `n_buckets` (a power of two): neighbours and even strides are scattered.

    Multiplies by 2^32 / golden ratio and takes bits from the middle and the top of the product. The key is folded to 31
    bits first, so that the product fits into 63 and compiled and interpreted code agree.
    """
    product = ((key ^ (key >> 31)) & 0x7FFFFFFF) * 2654435769
    return ((product >> 11) ^ (product >> 32)) & (n_buckets - 1)


@kernel
def find(table, bucket, key):
    """The entry of `key`, whose chain is `bucket`, or NIL."""
    entry = table.first[bucket]
    while entry != NIL and table.key[entry] != key:
        entry = table.chain[entry]
    return entry


@kernel
def enter(table, bucket, key, entry):
    """Make `entry` the one of `key`, which must not be in the table yet."""
    table.key[entry] = key
    table.chain[entry] = table.first[bucket]
    table.first[bucket] = entry


@kernel
def remove(table, bucket, entry):
    """Take `entry`, which must be there, out of its chain."""
    after = table.chain[entry]
    if table.first[bucket] == entry:
        table.first[bucket] = after
        return
    before = table.first[bucket]
    while table.chain[before] != entry:
        before = table.chain[before]
    table.chain[before] = after


def n_buckets_for(n_entries: int) -> int:
    """Chains for `n_entries` entries: the power of two that leaves at least half of them empty."""
    return 1 << max(1, int(n_entries).bit_length() + 1)


# ---- the cache ----


@kernel
def _take_frame(lru):
    """A frame to load into: one never used or, when all are, the oldest, emptied."""
    if lru.n_used[0] < len(lru.key) - 1:
        lru.n_used[0] += 1
        return lru.n_used[0]
    oldest = lru.newer[SENTINEL]
    unlink(lru, oldest)
    remove(lru, bucket_of(lru.key[oldest], len(lru.first)), oldest)
    return oldest


@kernel
def access(lru, block):
    """Reference `block` (0 or more); True on a hit. A miss loads it, evicting the oldest if all frames are full."""
    bucket = bucket_of(block, len(lru.first))
    frame = find(lru, bucket, block)
    hit = frame != NIL
    if hit:
        unlink(lru, frame)
    else:
        frame = _take_frame(lru)
        enter(lru, bucket, block, frame)
    link_after(lru, lru.older[SENTINEL], frame)
    return hit


@kernel
def misses(lru, blocks):
    """Reference all of `blocks` (int64[n]) in order; the number of misses."""
    n_misses = 0
    for block in blocks:
        if not access(lru, block):
            n_misses += 1
    return n_misses


def new_lru(n_frames: int) -> Lru:
    """An empty cache of `n_frames` frames (1 to 2^30)."""
    if not 1 <= n_frames <= 2**30:
        raise ValueError(f"n_frames is {n_frames}, but a cache has 1 to 2^30 frames; choose a number in that range")
    of_frame = {name: np.zeros(n_frames + 1, np.int64) for name in ("key", "older", "newer", "chain")}
    return Lru(**of_frame, first=np.zeros(n_buckets_for(n_frames), np.int64), n_used=np.zeros(1, np.int64))
