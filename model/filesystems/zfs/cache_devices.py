"""The cache devices of a ZFS under a database: rounds of the feed thread, and reads of what is there
(`model.zfs.arc.l2arc`).

What may be fed is marked so when it gets a buffer. A round's writes are wanted at once, as one task; the round is over with
the last of them. A pool without cache devices has a feed thread that never wakes. Ours: a round waits while so much is under
way that there is no room for its writes.
"""

from model.events.calendar import set_time
from model.filesystems.zfs import stats as stat
from model.filesystems.zfs.devices import ios_left
from model.filesystems.zfs.state import CACHE, count
from model.filesystems.zfs.vdev_writes import BLOCK, want
from model.jit import kernel, part
from model.structures.sentinels import NOWHERE
from model.zfs.arc import columns as header
from model.zfs.arc import l2_columns as l2_cache
from model.zfs.arc.l2arc import feed, l2_holds, next_feed, written
from model.zfs.arc.primarycache import l2_mark
from model.zfs.vdev.places import LEAF_SHIFT

AGAIN_NS = 100_000_000
ROOM_OF_ROUND = 1024  # I/Os that a round leaves to others


@kernel
def has_cache(places):
    """Whether the pool has cache devices."""
    return places.first_vdev[CACHE] < places.first_vdev[CACHE + 1]


@kernel
def may_be_fed(arc, places, secondarycache, node):
    """`node` has got a buffer."""
    if has_cache(places):
        arc.nodes[node, header.MARKS] |= l2_mark(secondarycache, arc.nodes[node, header.IS_METADATA])


@kernel
def place_on_cache(l2, params, arc, places, block):
    """Where a block that is not in core is read from, if a cache device has it; else NOWHERE."""
    if not has_cache(places):
        return NOWHERE
    device, offset = l2_holds(l2, params, arc, block, 0)
    return NOWHERE if device == NOWHERE else (places.first_vdev[CACHE] + device) << LEAF_SHIFT | offset


@kernel
def count_cache_read(arc, tally, node, now):
    """B to be read: blocks are kept there as they are in core."""
    count(tally, stat.L2_READS, 1, now)
    return int(arc.nodes[node, header.N_BYTES])


@part
def feed_event(m, now):
    """A round begins, unless the pool has too much under way."""
    if ios_left(m.leaves.queue, m.sync) < len(m.l2.outbox) + ROOM_OF_ROUND:
        set_time(m.calendar, m.sources.feed, now + AGAIN_NS)
        return
    out, task, priority = m.l2.outbox, len(m.leaves.n_awaited) - 1, m.leaves.queue_params.async_write_priority
    m.leaves.n_awaited[task] = 0
    for i in range(feed(m.l2, m.l2_params, m.arc, now)):
        vdev, offset = m.places.first_vdev[CACHE] + out[i, l2_cache.TO_DEVICE], out[i, l2_cache.TO_ADDRESS]
        want(m.wanted, m.n_wanted, BLOCK, vdev << LEAF_SHIFT | offset, out[i, l2_cache.TO_WRITE], task, priority, 0)
    set_time(m.calendar, m.sources.feed, next_feed(m.l2))


@part
def round_is_over(m, now):
    """All its writes are done."""
    for _ in range(m.l2.n_out[0]):
        written(m.l2, m.l2_params, now)
    set_time(m.calendar, m.sources.feed, next_feed(m.l2))
