"""Reads and writes of whole blocks of one size, at times of their own, through the ARC and its cache devices.

The rules are those of `model.zfs.arc.arc` and `model.zfs.arc.l2arc`, by the kernels that simulations call. Here is what a
simulation of a whole pool does about them, without the pool:

 1. *A read* is a demand. On a miss the block is there at once: nobody else asks for it while it is being read.
 2. *A write* overwrites a block, as `model.zfs.dmu.dbuf` does it. What is in core becomes anonymous, and what a ghost or a
    cache device has of it is worth nothing. Its transaction group is written at once, so it becomes MRU.
 3. *Every second* the ARC is adjusted, if there was a request since.
 4. *Cache devices* are fed when a round is due, and written to in no time. Rounds with nothing to write, and no request
    between them, are passed over: they change nothing.

Left out: how long a block stays anonymous (5 to 30 s in ZFS), indirect blocks and other metadata, prefetch.
"""

from model.events.clock import TICK_NS
from model.jit import kernel, part
from model.structures.sentinels import NIL, NOWHERE
from model.zfs.arc import l2_columns as l2_cache
from model.zfs.arc.arc import access, adjust, make_anonymous, new_block, revive, touch
from model.zfs.arc.l2arc import L2arc, L2arcParams, feed, l2_holds, new_l2arc, next_feed, written
from model.zfs.arc.lists import L2_CACHEABLE, drop, hold, in_core, release
from model.zfs.arc.textbook import request_textbook

ADJUST_TICKS = 100  # a second: arc_reclaim_thread

# Elements of the counts of a run.
(READS,  # count of reads
 READ_HITS,  # count of reads of blocks in core
 DEVICE_HITS,  # count of reads of blocks that a cache device held
 WRITES,  # count of writes
 ) = 0, 1, 2, 3
N_COUNTS = 4


@kernel
def _write(arc, params, key, n_bytes, marks, tick):
    """Rule 2."""
    node = int(arc.node_of[key])
    if in_core(arc, node):
        make_anonymous(arc, node)
        hold(arc, node)
    else:
        if node != NIL:
            drop(arc, node)
        node = new_block(arc, params, key, 0, n_bytes, marks, tick)
    access(arc, params, node, tick)
    release(arc, node)


@kernel
def _load(arc, params, key, n_bytes, marks, tick):
    """Rule 1, of a block that is not in core."""
    node = int(arc.node_of[key])
    if node != NIL:
        revive(arc, params, node, marks, tick)
    else:
        node = new_block(arc, params, key, 0, n_bytes, marks, tick)
        access(arc, params, node, tick)
    release(arc, node)


@kernel
def _keep_time(arc, params, next_adjust, tick):
    """Rule 3; `next_adjust`: one element, the tick."""
    if tick >= next_adjust[0]:
        adjust(arc, params, tick)
        next_adjust[0] = (tick // ADJUST_TICKS + 1) * ADJUST_TICKS


@kernel
def run_zfs(arc, params, next_adjust, keys, is_write, time_ns, n_bytes, counts):
    """Requests in order of time: `keys` (int32[n]), `is_write`, `time_ns` (int64[n]), for blocks of `n_bytes`. Adds to
    `counts`."""
    for i in range(len(keys)):
        key, tick = int(keys[i]), time_ns[i] // TICK_NS
        _keep_time(arc, params, next_adjust, tick)
        if is_write[i]:
            counts[WRITES] += 1
            _write(arc, params, key, n_bytes, 0, tick)
            continue
        counts[READS] += 1
        node = int(arc.node_of[key])
        if in_core(arc, node):
            counts[READ_HITS] += 1
            touch(arc, params, node, tick)
        else:
            _load(arc, params, key, n_bytes, 0, tick)


@kernel
def run_textbook(arc, params, keys, is_write, counts):
    """The same by the published rules, which know no time: a write is a reference as a read is, but not counted as one."""
    for i in range(len(keys)):
        is_hit = request_textbook(arc, params, int(keys[i]))
        if is_write[i]:
            counts[WRITES] += 1
        else:
            counts[READS] += 1
            counts[READ_HITS] += 1 if is_hit else 0


@part
def _feed_until(l2, l2_params, arc, now):
    """Rule 4."""
    while next_feed(l2) <= now:
        due = next_feed(l2)
        n = feed(l2, l2_params, arc, due)
        for _ in range(n):
            written(l2, l2_params, due)
        if n == 0 and next_feed(l2) <= now:
            l2.round[l2_cache.NEXT_AT] += (now - next_feed(l2)) // l2_params.feed_ns * l2_params.feed_ns
            if l2.round[l2_cache.NEXT_AT] <= now:
                l2.round[l2_cache.NEXT_AT] += l2_params.feed_ns


@kernel
def run_l2(arc, params, next_adjust, l2, l2_params, keys, is_write, time_ns, n_bytes, counts):
    """As `run_zfs`, with cache devices."""
    for i in range(len(keys)):
        key, tick = int(keys[i]), time_ns[i] // TICK_NS
        _keep_time(arc, params, next_adjust, tick)
        _feed_until(l2, l2_params, arc, time_ns[i])
        if is_write[i]:
            counts[WRITES] += 1
            _write(arc, params, key, n_bytes, L2_CACHEABLE, tick)
            continue
        counts[READS] += 1
        node = int(arc.node_of[key])
        if in_core(arc, node):
            counts[READ_HITS] += 1
            touch(arc, params, node, tick)
        else:
            device, _ = l2_holds(l2, l2_params, arc, key, 0)
            counts[DEVICE_HITS] += 1 if device != NOWHERE else 0
            _load(arc, params, key, n_bytes, L2_CACHEABLE, tick)


def new_cache_device(params: L2arcParams, device_bytes: int, block_bytes: int) -> L2arc:
    """Empty, for blocks of that size. Raises ValueError where the build has none, or the device is too small."""
    return new_l2arc(params, [device_bytes], block_bytes)
