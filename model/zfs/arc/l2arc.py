"""The L2ARC: blocks that the ARC may soon evict are copied to cache devices, ahead of time, by a thread that never hurries.

    evicted by the ARC <-- tail  o o o o o o o o  head      (each of the four lists)
                                 |_headroom_|
                                   | fed, one write each, back to back
                                   v
    device   |....written long ago....|#evicted ahead#|....|
                                      ^ hand -->                then from the start again

 1. *Rounds.* One device each, in turn. Its target is 8 MB, and as much again ("boost", since b103) until the ARC has evicted
    anything. A round ends with its last write. The next one comes a second later. By b108 it comes a second after this one
    began, or 200 ms if it wrote more than half of its target. Up to b98 the first round comes after three minutes.
 2. *Eviction by the hand.* First all copies are given up that begin within a target of bytes behind the hand. If the
    hand is within two targets of the end, all up to the end are given up. A header that was there for the copy alone
    goes too.
 3. *Which blocks.* Lists in this order: metadata of MFU, of MRU, data of MFU, of MRU. Each is read from the tail (builds
    with a boost: from the head, until the ARC has evicted anything). A list goes on while the bytes passed, fed or not, are
    no more than target x headroom (4; by b108 2). Fed is what may be cached (`L2_CACHEABLE`), is on no cache device yet, and
    was not prefetched and never used (`noprefetch`). A block that would exceed the target ends the round. Held blocks are on
    no list, so pinned indirect blocks are never fed.
 4. *The hand* wraps round when it is within a target of the end.
 5. *Reads.* What is on a cache device and not in core is read from there, once its round is over. By b108 nothing is read
    from a device while it is written to (`norw`). A prefetch never is (`noprefetch`). The copy stays where it is.
 6. *At the start* devices are empty, as after a reboot (before OpenZFS 2.0) or when they have just been added. Or they hold
    what hours have put there (`starts_with`). At 8 MB a second that is some 30 GB an hour.
 7. *Headers* of what is there cost memory of the ARC's: `model.zfs.arc.lists`.

A slot is a place in a device's ring of copies, the oldest first. The copy in it is good while its header says so (`IN_L2`):
who dirties or drops a block (`model.zfs.arc.arc`) need not look for the slot. The user of this calls `feed` at `next_feed`,
issues what is in `outbox`, and calls `written` for each write that is done.

In ZFS: `l2arc_feed_thread`, `l2arc_evict`, `l2arc_write_buffers`, `l2arc_write_interval`, `arc_read`; spec 7.5. There a cold
ARC is one that has never been short of memory; here, one that has never evicted. Left out: failed writes, devices that come
and go, reads under way of what the hand writes over.
"""

from typing import NamedTuple

import numpy as np

from model.events.calendar import NEVER
from model.events.clock import SECOND_NS
from model.jit import kernel
from model.structures.sentinels import NIL, NOWHERE
from model.zfs.arc import columns as header
from model.zfs.arc import l2_columns as l2_cache
from model.zfs.arc import scalars as scalar
from model.zfs.arc.lists import (
    HEADER_BYTES,
    L2_CACHEABLE,
    L2_HEADER_BYTES,
    L2_ONLY,
    MFU,
    MRU,
    PREFETCHED,
    forget,
    lose_l2,
    take_node,
)

HEADER_OF_COPY_BYTES = HEADER_BYTES + L2_HEADER_BYTES  # of a block that is nowhere else
FRONT_BYTES, BACK_BYTES = 2**22, 2**19  # of a device, not used: labels, boot area
MIN_DEVICE_BYTES = 2**26  # SPA_MINDEVSIZE

COUNTS = ("rounds", "fed", "fed_bytes", "overwritten", "hits", "busy")  # names of the elements of L2arc.counts


class L2arcParams(NamedTuple):
    """The columns of the table in spec 7.5; defaults are those of onnv_78."""

    exists: int = 1  # 0: builds before onnv_78
    write_max_bytes: int = 2**23  # l2arc_write_max
    boost_bytes: int = 0  # l2arc_write_boost; with it comes feeding from the head
    headroom: int = 4  # l2arc_headroom, targets
    delay_ns: int = 180 * SECOND_NS  # before the first round
    feed_ns: int = SECOND_NS  # l2arc_feed_secs
    again_ns: int = 0  # l2arc_feed_min_ms if there is l2arc_feed_again; 0: a second after the end of each round
    noprefetch: int = 1
    norw: int = 0


class L2arc(NamedTuple):
    """Cache devices. Slots of device d: d x capacity and on."""

    devices: np.ndarray  # int64 [device, column]; see model.zfs.arc.l2_columns
    node: np.ndarray  # int32, per slot: whose copy it is, or was
    address: np.ndarray  # int64, per slot: B
    round: np.ndarray  # of the round under way, or the last one; likewise
    counts: np.ndarray  # likewise; names: COUNTS
    outbox: np.ndarray  # int64 [write, column]: writes of the round just begun; likewise
    n_out: np.ndarray  # of them


@kernel
def _capacity(l2):
    return len(l2.node) // len(l2.devices)


@kernel
def _slot(l2, device, ordinal):
    capacity = _capacity(l2)
    return device * capacity + ordinal % capacity


@kernel
def target_bytes(arc, params):
    """B that a round may write now."""
    is_cold = params.boost_bytes > 0 and arc.scalars[scalar.HAS_EVICTED] == 0
    return params.write_max_bytes + (params.boost_bytes if is_cold else 0)


# ---- eviction by the hand ----


@kernel
def _give_up(l2, arc, slot):
    """The copy in `slot` is written over."""
    node = int(l2.node[slot])
    if arc.nodes[node, header.IN_L2] != slot + 1:
        return
    l2.counts[l2_cache.OVERWRITTEN] += 1
    if arc.nodes[node, header.STATE] == L2_ONLY:
        forget(arc, node)
    else:
        lose_l2(arc, node)


@kernel
def _evict_ahead(l2, arc, device, target):
    """Rule 2."""
    row = l2.devices
    hand, end = row[device, l2_cache.HAND], row[device, l2_cache.END]
    until = end if hand >= end - 2 * target else hand + target
    while row[device, l2_cache.OLDEST] < row[device, l2_cache.NEXT]:
        slot = _slot(l2, device, row[device, l2_cache.OLDEST])
        if not hand <= l2.address[slot] <= until:
            return
        _give_up(l2, arc, slot)
        row[device, l2_cache.OLDEST] += 1


# ---- feeding ----


@kernel
def _is_eligible(arc, params, node):
    marks = arc.nodes[node, header.MARKS]
    is_unread = params.noprefetch and marks & PREFETCHED != 0
    return marks & L2_CACHEABLE != 0 and arc.nodes[node, header.IN_L2] == NIL and not is_unread


@kernel
def _copy(l2, arc, device, node):
    """`node` is written at the hand."""
    row, n_bytes, out = l2.devices, int(arc.nodes[node, header.N_BYTES]), l2.n_out[0]
    slot = _slot(l2, device, row[device, l2_cache.NEXT])
    l2.node[slot], l2.address[slot] = node, row[device, l2_cache.HAND]
    arc.nodes[node, header.IN_L2] = slot + 1
    arc.scalars[scalar.L2_HEADERS] += L2_HEADER_BYTES
    l2.outbox[out, l2_cache.TO_DEVICE], l2.outbox[out, l2_cache.TO_ADDRESS] = device, row[device, l2_cache.HAND]
    l2.outbox[out, l2_cache.TO_WRITE] = n_bytes
    l2.n_out[0] += 1
    l2.round[l2_cache.WROTE] += n_bytes
    row[device, l2_cache.HAND] += n_bytes
    row[device, l2_cache.NEXT] += 1


@kernel
def _has_slot(l2, device):
    n_copies = l2.devices[device, l2_cache.NEXT] - l2.devices[device, l2_cache.OLDEST]
    return n_copies < _capacity(l2) and l2.n_out[0] < len(l2.outbox)


@kernel
def _walk(l2, arc, params, device, end, target, towards):
    """Rule 3, for the list of `end`, in the direction of the column `towards`; False if the round is over."""
    nodes, passed = arc.nodes, 0
    node = int(nodes[end, towards])
    while node != end:
        passed += int(nodes[node, header.N_BYTES])
        if passed > target * params.headroom:
            return True
        if _is_eligible(arc, params, node):
            if l2.round[l2_cache.WROTE] + nodes[node, header.N_BYTES] > target or not _has_slot(l2, device):
                return False
            _copy(l2, arc, device, node)
        node = int(nodes[node, towards])
    return True


@kernel
def _feed_from_lists(l2, arc, params, device, target):
    is_cold = params.boost_bytes > 0 and arc.scalars[scalar.HAS_EVICTED] == 0
    for turn in range(4):
        end = 2 * (MRU if turn & 1 else MFU) + (1 if turn < 2 else 0)
        if not _walk(l2, arc, params, device, end, target, header.OLDER if is_cold else header.NEWER):
            return


@kernel
def _end_round(l2, params, now):
    """Rule 1: when the next one begins."""
    of = l2.round
    if params.again_ns == 0:
        of[l2_cache.NEXT_AT] = now + params.feed_ns
        return
    is_busy = of[l2_cache.WROTE] > of[l2_cache.TARGET] // 2
    of[l2_cache.NEXT_AT] = max(now, of[l2_cache.BEGAN] + (params.again_ns if is_busy else params.feed_ns))


@kernel
def feed(l2, params, arc, now):
    """Begin a round, which `next_feed` said is due: how many writes there are in `outbox`."""
    of, row = l2.round, l2.devices
    device, target = (of[l2_cache.DEVICE] + 1) % len(row), target_bytes(arc, params)
    of[l2_cache.DEVICE], of[l2_cache.BEGAN], of[l2_cache.NEXT_AT] = device, now, NEVER
    of[l2_cache.TARGET], of[l2_cache.WROTE] = target, 0
    l2.n_out[0] = 0
    _evict_ahead(l2, arc, device, target)
    row[device, l2_cache.ROUND] = row[device, l2_cache.NEXT]
    _feed_from_lists(l2, arc, params, device, target)
    if l2.n_out[0] > 0 and row[device, l2_cache.HAND] >= row[device, l2_cache.END] - target:
        row[device, l2_cache.HAND] = row[device, l2_cache.START]
    row[device, l2_cache.WRITING] = l2.n_out[0]
    l2.counts[l2_cache.ROUNDS] += 1
    l2.counts[l2_cache.FED] += l2.n_out[0]
    l2.counts[l2_cache.FED_BYTES] += of[l2_cache.WROTE]
    if l2.n_out[0] == 0:
        _end_round(l2, params, now)
    return l2.n_out[0]


@kernel
def written(l2, params, now):
    """One of the round's writes is done."""
    device = l2.round[l2_cache.DEVICE]
    l2.devices[device, l2_cache.WRITING] -= 1
    if l2.devices[device, l2_cache.WRITING] == 0:
        _end_round(l2, params, now)


@kernel
def next_feed(l2):
    """When `feed` is due, ns; NEVER while a round's writes are under way."""
    return l2.round[l2_cache.NEXT_AT]


# ---- reading ----


@kernel
def l2_busy(l2, device):
    """Whether `device` is being written to by a round."""
    return l2.devices[device, l2_cache.WRITING] > 0


@kernel
def _is_being_written(l2, device, slot):
    row, capacity = l2.devices, _capacity(l2)
    newer = (slot - row[device, l2_cache.ROUND]) % capacity < row[device, l2_cache.NEXT] - row[device, l2_cache.ROUND]
    return row[device, l2_cache.WRITING] > 0 and newer


@kernel
def l2_holds(l2, params, arc, block, is_prefetch):
    """(device, B from its beginning) where `block`, which is not in core, is read from, counted as a hit. NOWHERE twice: it
    is read from the pool."""
    node = int(arc.node_of[block])
    if node == NIL or arc.nodes[node, header.IN_L2] == NIL or (is_prefetch and params.noprefetch):
        return NOWHERE, NOWHERE
    slot = int(arc.nodes[node, header.IN_L2]) - 1
    device = slot // _capacity(l2)
    if (params.norw and l2_busy(l2, device)) or _is_being_written(l2, device, slot):
        l2.counts[l2_cache.BUSY] += 1
        return NOWHERE, NOWHERE
    l2.counts[l2_cache.HITS] += 1
    return device, int(l2.address[slot])


# ---- what is there at the start ----


@kernel
def _write_block(l2, arc, device, key, n_bytes, marks):
    """A copy at the hand, of a block that may be in core; its header is there for the copy's sake if it is not."""
    row, nodes, node = l2.devices, arc.nodes, int(arc.node_of[key])
    if node == NIL:
        node = take_node(arc)
        nodes[node, header.KEY], nodes[node, header.STATE], nodes[node, header.HOLDS] = key, L2_ONLY, 0
        nodes[node, header.IS_METADATA], nodes[node, header.N_BYTES], nodes[node, header.MARKS] = 0, n_bytes, marks
        nodes[node, header.TICK] = nodes[node, header.ABOVE] = nodes[node, header.READER] = nodes[node, header.DIRTIED] = 0
        arc.node_of[key] = node
        arc.scalars[scalar.L2_HEADERS] += HEADER_BYTES
    slot = _slot(l2, device, row[device, l2_cache.NEXT])
    l2.node[slot], l2.address[slot] = node, row[device, l2_cache.HAND]
    nodes[node, header.IN_L2] = slot + 1
    arc.scalars[scalar.L2_HEADERS] += L2_HEADER_BYTES
    row[device, l2_cache.HAND] += n_bytes
    row[device, l2_cache.NEXT] += 1


@kernel
def starts_with(l2, params, arc, keys, core_bytes, marks):
    """The devices, empty so far, hold these blocks, of `core_bytes` each, in turn, until they are full: how many. Of a cache
    that has been at work for hours: which blocks these are, and in which order, is for the caller to say."""
    for i in range(len(keys)):
        device, n_bytes = i % len(l2.devices), core_bytes[i]
        row = l2.devices
        if row[device, l2_cache.HAND] + n_bytes > row[device, l2_cache.END] - params.write_max_bytes:
            for each in range(len(l2.devices)):
                row[each, l2_cache.HAND] = row[each, l2_cache.START]
            return i
        _write_block(l2, arc, device, keys[i], n_bytes, marks)
    return len(keys)


def room_bytes(l2, params):
    """B of copies that `starts_with` puts on the devices."""
    return int((l2.devices[:, l2_cache.END] - l2.devices[:, l2_cache.START] - params.write_max_bytes).clip(0).sum())


# ---- making one ----


def new_l2arc(params, device_bytes, min_block_bytes, now=0):
    """Empty cache devices, of so many bytes each, for blocks of no less than `min_block_bytes`."""
    if not params.exists:
        raise ValueError("a cache device needs a build with an L2ARC, which came with onnv_78; choose era onnv_79 or later")
    for n_bytes in device_bytes:
        if n_bytes < MIN_DEVICE_BYTES:
            raise ValueError(f"a cache device has {n_bytes} B, but ZFS takes none below {MIN_DEVICE_BYTES}; choose that "
                             "or more")
    devices = np.zeros((len(device_bytes), l2_cache.N_DEVICE_COLUMNS), np.int64)
    devices[:, l2_cache.HAND] = devices[:, l2_cache.START] = FRONT_BYTES
    devices[:, l2_cache.END] = np.array(device_bytes) - BACK_BYTES
    capacity = max(device_bytes) // min_block_bytes + 1
    max_blocks = (params.write_max_bytes + params.boost_bytes) // min_block_bytes + 1
    feeding = np.zeros(l2_cache.N_ROUND, np.int64)
    feeding[l2_cache.DEVICE], feeding[l2_cache.NEXT_AT] = len(devices) - 1, now + params.delay_ns
    return L2arc(
        devices=devices, node=np.zeros(len(devices) * capacity, np.int32),
        address=np.zeros(len(devices) * capacity, np.int64),
        round=feeding, counts=np.zeros(len(COUNTS), np.int64),
        outbox=np.zeros((max_blocks, l2_cache.N_OUTBOX_COLUMNS), np.int64), n_out=np.zeros(1, np.int64))
