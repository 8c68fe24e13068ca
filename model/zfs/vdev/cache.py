"""The vdev cache, exactly: the 64 KiB track buffer in front of every leaf vdev.

A small read that misses is inflated to a whole aligned *line*, which stays for later reads. In English:

 1. A read is let in unless it carries DONT_CACHE, is larger than `max_read_bytes`, or crosses the end of a line.
 2. Its line is there: the read is answered from it (a *hit*) and the line counts as used in this tick. While the line is
    still being filled the read waits for the fill instead (it *joins*; ZFS counts a delegation). If a write has meanwhile
    gone past the line, the read goes to the disk by itself.
 3. Its line is absent: a new one is made and a read of the whole line, the *fill*, goes to the disk (a *miss*).
 4. When the lines already there take more than `cache_bytes`, the least recently used one is evicted first: the one
    with the smallest (tick, offset). If just that one is still being filled nothing is evicted and nothing is cached.
    As the test precedes the insertion, 161 lines of 64 KiB live in 10 MiB, not 160.
 5. When a fill completes, the line counts as used in that tick; if it missed a write it is thrown away at once.
 6. A write never makes, moves or evicts a line. It brings lines that are there up to date; one that is still being
    filled is marked as having missed a write.

Who may fill changed with the builds of ZFS, and that is the whole of the story told in this project:

    FILL_ALL       to onnv_69     every read that is let in fills its line, an 8 KiB read of a database record too
    FILL_METADATA  onnv_70 to 78  change 6437054: reads of data still hit and join, but never make a line
    BYPASS_DATA    onnv_79 on     a logical read of data marks itself DONT_CACHE: it never looks into the cache

`max_read_bytes` = 1 (the tunable `zfs_vdev_cache_max`) shuts every read out; `cache_bytes` = 0 lets them look, in vain.

In ZFS (vdev_cache.c): rules 1 to 3 are `vdev_cache_read`, rule 4 `vdev_cache_allocate`, rule 5 `vdev_cache_fill` with
`vdev_cache_hit`, rule 6 `vdev_cache_write`. Left out: the bytes themselves, and fills that fail (no disk here does).

One state serves any number of leaves, each with a ring in order of (tick, offset) and a hash table of its own
(`model.structures.lru`). A leaf's first node is the sentinel of its ring; with tick and line below all others it also ends
every search for a place. Offsets are bytes from the start of the leaf device, ticks are those of the system clock (10 ms).
"""

from typing import NamedTuple

import numpy as np

from model.jit import kernel
from model.jit.lent_memory import in_lines
from model.structures.lru import bucket_of, enter, find, link_after, n_buckets_for, remove, unlink
from model.structures.sentinels import NIL

# Fill rules.
FILL_ALL, FILL_METADATA, BYPASS_DATA = 0, 1, 2
FILL_RULES = ("FILL_ALL", "FILL_METADATA", "BYPASS_DATA")

# What became of a read. The first two columns go no further than the cache; all others go on to the vdev queue as
# they are. 0 to 7 are the codes of the recorded traces.
HIT = 0  # answered from a line
MISS = 1  # the read of a whole line goes to the disk instead
JOINED = 2  # waits for a fill under way
DONT_CACHE = 3  # told not to look
TOO_LARGE = 4  # larger than max_read_bytes
STRADDLES = 5  # in more than one line
MISSED_WRITE = 6  # the line being filled has missed a write
NO_ENTRY = 7  # nothing to evict, or no cache at all
MAY_NOT_FILL = 8  # a read of data, and only metadata fills
OUTCOMES = ("hit", "miss", "joined", "DONT_CACHE", "too large", "straddles", "missed write", "no entry", "may not fill")

# A line's row: two of them are a line of a processor's cache.
LINE = np.dtype([("key", np.int64), ("used", np.int64), ("older", np.int32), ("newer", np.int32), ("chain", np.int32),
                 ("filling", np.int8), ("missed_write", np.int8), ("for_metadata", np.int8), ("", np.int8)])

_ADMITTED = -1
NOT_FILLING = -1  # answer of fill_done: no such fill was under way
_BEFORE_ALL = np.iinfo(np.int64).min
MAX_NODES = 2**28


class VdevCacheParams(NamedTuple):
    """The tunables, with the values of every build from onnv_53 to the cache's removal (spec 1.2)."""

    line_shift: int = 16  # log2 of the line in bytes; zfs_vdev_cache_bshift
    cache_bytes: int = 10 * 2**20  # B per leaf; zfs_vdev_cache_size
    max_read_bytes: int = 2**14  # B, largest read let in, inclusive; zfs_vdev_cache_max
    fill_rule: int = FILL_ALL  # which build, see above; spec 1.6 and 1.7


class VdevCache(NamedTuple):
    """The caches of all leaves. A node holds a line; nodes, chains and counters of a leaf lie side by side."""

    n_nodes: int  # per leaf, with the sentinel
    n_buckets: int  # per leaf
    # per node: ring, hash table (model.structures.lru), line; columns of rows of `LINE`
    key: np.ndarray  # line number, offset >> line_shift
    older: np.ndarray
    newer: np.ndarray
    chain: np.ndarray  # also links the free nodes
    used: np.ndarray  # tick of last use
    filling: np.ndarray  # 1 while the fill is under way
    missed_write: np.ndarray  # 1 when a write has gone past the fill
    for_metadata: np.ndarray  # 1 when a read of metadata made the line
    # per chain
    first: np.ndarray
    # per leaf
    free: np.ndarray  # first free node, or NIL
    n_lines: np.ndarray  # resident lines, those being filled among them
    n_metadata_lines: np.ndarray  # of them: made by a read of metadata
    hits: np.ndarray  # counters as ZFS keeps them (spec 1.9)
    misses: np.ndarray
    delegations: np.ndarray


# ---- lines ----


@kernel
def _bucket(cache, leaf, line):
    return leaf * cache.n_buckets + bucket_of(line, cache.n_buckets)


@kernel
def _find_line(cache, leaf, line):
    """The node of `line`, or NIL."""
    return find(cache, _bucket(cache, leaf, line), line)


@kernel
def _link_by_age(cache, leaf, node):
    """Put `node` into the ring at its place in order of (tick, line): a few steps from the newest end."""
    tick, line = cache.used[node], cache.key[node]
    place = cache.older[leaf * cache.n_nodes]
    while cache.used[place] > tick or (cache.used[place] == tick and cache.key[place] > line):
        place = cache.older[place]
    link_after(cache, place, node)


@kernel
def _touch(cache, leaf, node, tick):
    """The line of `node` is used in `tick`."""
    if cache.used[node] != tick:
        unlink(cache, node)
        cache.used[node] = tick
        _link_by_age(cache, leaf, node)


@kernel
def _make_line(cache, leaf, line, tick, is_metadata):
    """A line about to be filled, in a free node (there is one), which is returned."""
    node = cache.free[leaf]
    cache.free[leaf] = cache.chain[node]
    cache.used[node] = tick
    cache.filling[node] = 1
    cache.missed_write[node] = 0
    cache.for_metadata[node] = is_metadata
    enter(cache, _bucket(cache, leaf, line), line, node)
    _link_by_age(cache, leaf, node)
    cache.n_lines[leaf] += 1
    cache.n_metadata_lines[leaf] += cache.for_metadata[node]
    return node


@kernel
def _evict(cache, leaf, node):
    unlink(cache, node)
    remove(cache, _bucket(cache, leaf, cache.key[node]), node)
    cache.n_lines[leaf] -= 1
    cache.n_metadata_lines[leaf] -= cache.for_metadata[node]
    cache.chain[node] = cache.free[leaf]
    cache.free[leaf] = node


# ---- what the leaf calls ----


@kernel
def _admit(params, offset, n_bytes, is_metadata, dont_cache):
    """Rule 1: _ADMITTED, or why the read is not let in."""
    if dont_cache or (params.fill_rule == BYPASS_DATA and not is_metadata):
        return DONT_CACHE
    if n_bytes > params.max_read_bytes:
        return TOO_LARGE
    if offset >> params.line_shift != (offset + n_bytes - 1) >> params.line_shift:
        return STRADDLES
    return _ADMITTED


@kernel
def _use(cache, leaf, node, tick):
    """Rule 2: a read finds its line in `node`."""
    if cache.missed_write[node]:
        return MISSED_WRITE
    if cache.filling[node]:
        cache.delegations[leaf] += 1
        return JOINED
    cache.hits[leaf] += 1
    _touch(cache, leaf, node, tick)
    return HIT


@kernel
def _inflate(cache, params, leaf, tick, line, is_metadata):
    """Rules 3 and 4: (outcome, node of the new line or NIL, number of the line evicted or -1) of a read whose line is
    absent."""
    evicted = -1
    if params.fill_rule == FILL_METADATA and not is_metadata:
        return MAY_NOT_FILL, NIL, evicted
    if params.cache_bytes == 0:
        return NO_ENTRY, NIL, evicted
    if cache.n_lines[leaf] << params.line_shift > params.cache_bytes:
        oldest = cache.newer[leaf * cache.n_nodes]
        if cache.filling[oldest]:
            return NO_ENTRY, NIL, evicted
        evicted = cache.key[oldest]
        _evict(cache, leaf, oldest)
    node = _make_line(cache, leaf, line, tick, is_metadata)
    cache.misses[leaf] += 1
    return MISS, node, evicted


@kernel
def look(cache, params, leaf, tick, offset, n_bytes, is_metadata, dont_cache):
    """As `read`: (outcome, node of the line or NIL, number of the line evicted or -1)."""
    outcome, line = _admit(params, offset, n_bytes, is_metadata, dont_cache), offset >> params.line_shift
    if outcome != _ADMITTED:
        return outcome, NIL, -1
    node = _find_line(cache, leaf, line)
    if node != NIL:
        return _use(cache, leaf, node, tick), node, -1
    return _inflate(cache, params, leaf, tick, line, is_metadata)


@kernel
def read(cache, params, leaf, tick, offset, n_bytes, is_metadata, dont_cache):
    """A read of `n_bytes` (1 or more) at `offset` of `leaf` in `tick`; ticks never go back.

    Returns (outcome, offset of its line, offset of the line evicted for it or -1). After a MISS the caller reads the
    whole line from the disk and calls `fill_done`; the read itself and those that JOINED are answered then.
    """
    outcome, _, evicted = look(cache, params, leaf, tick, offset, n_bytes, is_metadata, dont_cache)
    return outcome, line_offset_of(params, offset), evicted << params.line_shift if evicted >= 0 else -1


@kernel
def line_offset_of(params, offset):
    """Where the line begins that `offset` is in."""
    return offset >> params.line_shift << params.line_shift


@kernel
def filled(cache, leaf, tick, node):
    """Rule 5, of the line of `node`, which was being filled: 1 if it was thrown away, else 0."""
    cache.filling[node] = 0
    if cache.missed_write[node]:
        _evict(cache, leaf, node)
        return 1
    _touch(cache, leaf, node, tick)
    return 0


@kernel
def fill_done(cache, params, leaf, tick, line_offset):
    """Rule 5: the fill of the line at `line_offset` completes in `tick`.

    Returns 0, or 1 when the line was thrown away because it missed a write, or NOT_FILLING.
    """
    line = line_offset >> params.line_shift
    node = _find_line(cache, leaf, line)
    if node == NIL or not cache.filling[node] or line << params.line_shift != line_offset:
        return NOT_FILLING
    return filled(cache, leaf, tick, node)


@kernel
def write(cache, params, leaf, offset, n_bytes):
    """Rule 6: a write of `n_bytes` (1 or more) at `offset` of `leaf` has reached the disk."""
    last = (offset + n_bytes - 1) >> params.line_shift
    for line in range(offset >> params.line_shift, last + 1):
        node = _find_line(cache, leaf, line)
        if node != NIL and cache.filling[node]:
            cache.missed_write[node] = 1


# ---- making one ----


def line_bytes(params):
    """Bytes of a line of the vdev cache."""
    return 1 << params.line_shift


def max_lines(params):
    """Lines that one leaf can hold: one more than fit, because the test comes before the insertion."""
    return params.cache_bytes // line_bytes(params) + 1 if params.cache_bytes else 0


def check_params(params):
    """Raise ValueError with one sentence unless every value makes sense."""
    bounds = {"line_shift": (9, 30), "cache_bytes": (0, 2**40), "max_read_bytes": (0, 2**40),
              "fill_rule": (FILL_ALL, BYPASS_DATA)}
    for name, (low, high) in bounds.items():
        value = getattr(params, name)
        if value != int(value) or not low <= value <= high:
            raise ValueError(f"{name} of the vdev cache is {value}, but it must be a whole number from {low} to {high};"
                             " choose one in that range")


def new_cache(params: VdevCacheParams, n_leaves: int = 1) -> VdevCache:
    """Empty caches for leaves 0 .. n_leaves - 1."""
    check_params(params)
    n_nodes = max_lines(params) + 1
    if not 1 <= n_leaves <= MAX_NODES // n_nodes:
        raise ValueError(f"n_leaves is {n_leaves}, but with {n_nodes - 1} lines each there can be 1 to "
                         f"{MAX_NODES // n_nodes} leaves; choose fewer leaves, a smaller cache or longer lines")
    n_buckets = n_buckets_for(n_nodes)
    per_node = n_leaves * n_nodes
    sentinels = np.arange(0, per_node, n_nodes)
    nodes = in_lines((max(2, per_node),), LINE)  # of a single row NumPy would not see that its columns are apart
    nodes["key"] = nodes["used"] = _BEFORE_ALL
    nodes["older"][sentinels] = nodes["newer"][sentinels] = sentinels
    nodes["chain"] = np.arange(1, len(nodes) + 1)  # all nodes are free: each links to the next of its leaf
    nodes["chain"][sentinels + n_nodes - 1] = NIL
    free = sentinels + 1 if n_nodes > 1 else np.zeros(n_leaves, np.int64)
    counters = {name: np.zeros(n_leaves, np.int64)
                for name in ("n_lines", "n_metadata_lines", "hits", "misses", "delegations")}
    columns = {name: nodes[name]
               for name in ("key", "older", "newer", "chain", "used", "filling", "missed_write", "for_metadata")}
    return VdevCache(
        n_nodes=n_nodes, n_buckets=n_buckets, **columns, first=np.zeros(n_leaves * n_buckets, np.int32),
        free=free.astype(np.int32), **counters)
