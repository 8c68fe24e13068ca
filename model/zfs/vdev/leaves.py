"""The leaves of a pool: vdev cache, vdev queue and disk (its driver, its own queue), one behind the other.

    read ---> vdev cache ---> vdev queue ---> disk           a hit ends in the cache; a read of a line that is being
                 | hit           ^                           filled waits there, and goes no further
                 v               |
    write ------ - --------------+---> disk ---> vdev cache  brings the line up to date once it is on the disk

A read belongs to a *task*, which waits for no more than one block at a time, and goes by its number. What comes from a vdev
of several disks is several I/Os (`model.zfs.vdev.raid`). Each goes through the cache and the queue of its leaf for itself;
the task has its block when it has all of them. Each of the I/Os that it may wait for is a *waiter*: number i of task t is t
<< waiter_shift | i. Of single disks and mirrors, where there is but one, waiters are tasks. The disks of vdev v of n
children are the leaves v n to v n + n - 1. What is to be sent to the queues stands in the *outbox*.

When the disk completes a unit, the queue first issues what is next. Then the members are told, in order of offset. Then the
disk begins anew. Left out: the padding that RAID-Z writes from build 121 on.

Clock ticks are those of the system, of 10 ms. What the vdev cache of one leaf is asked, and what it decides, can be
recorded, so that the same can be replayed by `model.zfs.vdev.cache_replay`. So can the commands that its disk serves.

*What was never built* is `moves_whole_lines`. A read of data that may not fill a line (change 6437054) then has the whole
line read all the same. It is thrown away. So what fills cost a disk can be told from what they are good for.
"""

from typing import NamedTuple

import numpy as np

from model.devices import drive_columns as queued
from model.devices.command_queue import Drive, Drives, finish, hand_over, new_drives, pause, send, start
from model.events.clock import TICK_NS
from model.events.queues import NOBODY
from model.jit import kernel, part
from model.structures.sentinels import NIL
from model.zfs.vdev import child_columns as piece
from model.zfs.vdev import owner_columns as of_io
from model.zfs.vdev import recorder_columns as recorded
from model.zfs.vdev.cache import (
    HIT,
    JOINED,
    MAY_NOT_FILL,
    MISS,
    OUTCOMES,
    VdevCache,
    VdevCacheParams,
    filled,
    line_offset_of,
    look,
    new_cache,
    write,
)
from model.zfs.vdev.places import FRONT_BYTES, LEAF_SHIFT, OFFSET_MASK, SINGLE_DISK
from model.zfs.vdev.queue import READ, WRITE, VdevQueue, VdevQueueParams, arrive, complete, new_io, new_queue, release
from model.zfs.vdev.raid import PADDING_NEVER, RAIDZ, VdevParams, max_ios, read_ios, write_ios

FOR_LINE, FOR_TXG = -2, -3  # owners of an I/O that are no tasks
COMPLETION = 2  # kind of a recorded operation, beside READ and WRITE


class Recorder(NamedTuple):
    """Operations of the vdev cache of one leaf and commands of its disk, until the arrays are full."""

    leaf: int  # which, or -1
    n: np.ndarray  # recorded so far: operations, commands
    rows: np.ndarray  # [n, column]: operations; see model.zfs.vdev.recorder_columns
    commands: np.ndarray  # [n, column]: commands; likewise; commands; likewise


class Leaves(NamedTuple):
    """All leaves of a pool: caches, queues and drives, in arrays that are common to them."""

    cache_params: VdevCacheParams
    cache: VdevCache
    queue_params: VdevQueueParams
    queue: VdevQueue
    disk: Drive
    drives: Drives
    leaf_of: np.ndarray  # per I/O
    owner: np.ndarray  # per I/O: a waiter, FOR_LINE or FOR_TXG
    line_of: np.ndarray  # per I/O of FOR_LINE: the node of the vdev cache that it fills
    waiting: np.ndarray  # per node of the vdev cache: the waiter that joined the fill last, or NOBODY
    joined_before: np.ndarray  # per waiter: who joined before it
    outcomes: np.ndarray  # [data or metadata, outcome]: reads
    issued: np.ndarray  # units issued by one completion
    recorder: Recorder
    moves_whole_lines: int  # 1: see the module text
    vdev: VdevParams  # all alike
    is_plain: int  # 1: a block is one I/O, just where it lies
    waiter_shift: int
    n_awaited: np.ndarray  # per task: I/Os that it waits for
    children: np.ndarray  # a table of I/Os; see model.zfs.vdev.child_columns
    outbox: np.ndarray  # I/Os to be given to `to_queue`, in this order
    n_out: np.ndarray  # one element: how many


@part
def _record(recorder, leaf, now, kind, offset, n_bytes, is_metadata, outcome):
    n, rows = recorder.n[recorded.OPERATIONS], recorder.rows
    if recorder.leaf != leaf or n >= len(rows):
        return
    rows[n, recorded.TICK], rows[n, recorded.KIND] = now // TICK_NS, kind
    rows[n, recorded.OFFSET], rows[n, recorded.BYTES] = offset, n_bytes
    rows[n, recorded.IS_METADATA], rows[n, recorded.OUTCOME] = is_metadata, outcome
    recorder.n[recorded.OPERATIONS] += 1


@part
def record_command(recorder, pool, now, leaf, ends):
    """The disk of a leaf has begun to serve a command. `recorder` is any that has `leaf`, `n` and `commands`."""
    n = recorder.n[recorded.COMMANDS]
    if recorder.leaf != leaf or n >= len(recorder.commands):
        return
    rows, unit, units = recorder.commands, pool.drives.commands[leaf, 0], pool.drives.units
    rows[n, recorded.BEGAN] = now
    rows[n, recorded.ENDS] = ends
    rows[n, recorded.OFFSET] = pool.queue.offset[unit]
    rows[n, recorded.BYTES] = pool.queue.unit_bytes[unit]
    rows[n, recorded.AT_DRIVE] = units[leaf, queued.N_COMMANDS] + units[leaf, queued.N_WAITING]
    rows[n, recorded.AT_QUEUE] = pool.queue.n_waiting[leaf]
    recorder.n[recorded.COMMANDS] += 1


@part
def leaf_io(pool, leaf, kind, offset, n_bytes, now, priority, owner):
    """The number of a new I/O of `n_bytes` at `offset` [B] of `leaf`, for `owner`. It is not queued yet."""
    io = new_io(pool.queue, pool.queue_params, kind, offset, n_bytes, now // TICK_NS, priority, 0)
    pool.leaf_of[io] = leaf
    pool.owner[io] = owner
    return io


@part
def read_leaf(pool, now, leaf, offset, n_bytes, is_metadata, waiter, own_priority):
    """As `read_at`, of a leaf."""
    params = pool.cache_params
    outcome, node, _ = look(pool.cache, params, leaf, now // TICK_NS, offset, n_bytes, is_metadata, 0)
    pool.outcomes[is_metadata, outcome] += 1
    _record(pool.recorder, leaf, now, READ, offset, n_bytes, is_metadata, outcome)
    if outcome == HIT:
        return True, NIL
    owner, priority = waiter, own_priority
    if outcome in (MISS, JOINED):
        pool.joined_before[waiter] = NOBODY if outcome == MISS else pool.waiting[node]
        pool.waiting[node] = waiter
        if outcome == JOINED:
            return False, NIL
        owner, priority = FOR_LINE, pool.queue_params.cache_fill_priority
    if outcome == MISS or (outcome == MAY_NOT_FILL and pool.moves_whole_lines):
        offset, n_bytes = line_offset_of(params, offset), 1 << params.line_shift
    io = leaf_io(pool, leaf, READ, offset, n_bytes, now, priority, owner)
    pool.line_of[io] = node
    return False, io


@part
def read_at(pool, now, place, n_bytes, is_metadata, task, own_priority):
    """`task` wants the block at `place`, in a pool of single disks. Gives (whether it has it at once, I/O to be given to
    `to_queue` or NIL). If it goes to the disk as it is, it has `own_priority`."""
    leaf, offset = place >> LEAF_SHIFT, place & OFFSET_MASK
    return read_leaf(pool, now, leaf, offset, n_bytes, is_metadata, task, own_priority)


@part
def read_block(pool, now, place, n_bytes, is_metadata, task):
    """`read_at` for what somebody waits for."""
    return read_at(pool, now, place, n_bytes, is_metadata, task, pool.queue_params.sync_read_priority)


@part
def put(pool, io):
    """`io` is to be sent."""
    pool.outbox[pool.n_out[0]] = io
    pool.n_out[0] += 1


@part
def _on_disk(pool, place, i):
    """(leaf, offset) of the I/O in row `i` of the table, of the block at `place`."""
    leaf = (place >> LEAF_SHIFT) * pool.vdev.n_children + pool.children[i, piece.CHILD]
    return leaf, pool.children[i, piece.OFFSET] + FRONT_BYTES


@kernel
def _ask_children(pool, now, place, n_bytes, is_metadata, task):
    """As `ask`, for a vdev of several disks."""
    n = read_ios(pool.vdev, (place & OFFSET_MASK) - FRONT_BYTES, n_bytes, pool.children)
    pool.n_awaited[task] = 0
    for i in range(n):
        leaf, offset = _on_disk(pool, place, i)
        waiter = task << pool.waiter_shift | i
        there, io = read_leaf(pool, now, leaf, offset, pool.children[i, piece.BYTES], is_metadata, waiter,
                               pool.queue_params.sync_read_priority)
        if io != NIL:
            put(pool, io)
        if not there:
            pool.n_awaited[task] += 1
    return pool.n_awaited[task] == 0


@part
def ask(pool, now, place, n_bytes, is_metadata, task):
    """`task` wants the block at `place`: whether it has it at once. What is to be sent is in the outbox."""
    if not pool.is_plain:
        return _ask_children(pool, now, place, n_bytes, is_metadata, task)
    pool.n_awaited[task] = 1
    there, io = read_block(pool, now, place, n_bytes, is_metadata, task)
    if io != NIL:
        put(pool, io)
    return there


@part
def has_come(pool, waiter):
    """One of the I/Os of a block is done: the task, if that was the last one that it waited for, or NOBODY."""
    task = waiter >> pool.waiter_shift
    pool.n_awaited[task] -= 1
    return task if pool.n_awaited[task] == 0 else NOBODY


@kernel
def _write_children(pool, now, place, n_bytes, owner, priority):
    n = write_ios(pool.vdev, (place & OFFSET_MASK) - FRONT_BYTES, n_bytes, PADDING_NEVER, pool.children)
    for i in range(n):
        leaf, offset = _on_disk(pool, place, i)
        put(pool, leaf_io(pool, leaf, WRITE, offset, pool.children[i, piece.BYTES], now, priority, owner))
    return n


@part
def _write(pool, now, place, n_bytes, owner, priority):
    if not pool.is_plain:
        return _write_children(pool, now, place, n_bytes, owner, priority)
    put(pool, leaf_io(pool, place >> LEAF_SHIFT, WRITE, place & OFFSET_MASK, n_bytes, now, priority, owner))
    return 1


@part
def write_block(pool, now, place, n_bytes):
    """A block of a transaction group is to be written at `place`: how many I/Os for that are now in the outbox."""
    return _write(pool, now, place, n_bytes, FOR_TXG, pool.queue_params.async_write_priority)


@kernel
def write_for(pool, now, place, n_bytes, task, priority):
    """As `write_block`; `task` waits for them too, beside all that it waits for already."""
    n = _write(pool, now, place, n_bytes, task << pool.waiter_shift, priority)
    pool.n_awaited[task] += n
    return n


@part
def to_queue(pool, now, io):
    """An I/O arrives at the queue of its leaf. Returns the leaf if its disk is to be started, else -1."""
    leaf = int(pool.leaf_of[io])
    unit = arrive(pool.queue, pool.queue_params, leaf, io, now)
    return leaf if unit != NIL and send(pool.disk, pool.drives, leaf, now, unit, pool.queue.offset) else -1


@part
def start_disk(pool, now, leaf):
    """The disk, which is not serving, begins with the next unit: ns when it will be done."""
    return start(pool.disk, pool.drives, leaf, now, pool.queue.offset, pool.queue.unit_bytes, pool.queue.kind)


@part
def bring_up_to_date(pool, now, leaf, unit):
    """The vdev cache hears of a unit that was served, if it is a write."""
    if pool.queue.kind[unit] == WRITE:
        offset, n_bytes = pool.queue.offset[unit], int(pool.queue.unit_bytes[unit])
        write(pool.cache, pool.cache_params, leaf, offset, n_bytes)
        _record(pool.recorder, leaf, now, WRITE, offset, n_bytes, 0, 0)


@part
def disk_done(pool, now, leaf):
    """The disk has served a unit, whose number is returned. What is issued next is with the disk already; then the
    vdev cache hears of it, if it is a write."""
    unit = finish(pool.drives, leaf)
    n_issued = complete(pool.queue, pool.queue_params, leaf, pool.issued, now)
    for i in range(n_issued):
        hand_over(pool.disk, pool.drives, leaf, pool.issued[i], pool.queue.offset)
    if pool.drives.units[leaf, queued.N_COMMANDS] == 0:
        pause(pool.drives, leaf, now)
    bring_up_to_date(pool, now, leaf, unit)
    return unit


@part
def answered(pool, now, leaf, io):
    """A member of a unit that was served: the first waiter that has what it wants, the others along `joined_before`; or
    NOBODY, for a write."""
    waiter = int(pool.owner[io])
    if waiter == FOR_TXG:
        return NOBODY
    if waiter != FOR_LINE:
        pool.joined_before[waiter] = NOBODY
        return waiter
    node = int(pool.line_of[io])
    waiter = pool.waiting[node]
    thrown_away = filled(pool.cache, leaf, now // TICK_NS, node)
    _record(pool.recorder, leaf, now, COMPLETION, pool.queue.offset[io], int(pool.queue.n_bytes[io]), 0, thrown_away)
    return waiter


@part
def release_io(pool, io):
    """Give back an I/O; the next member of its unit, or NIL."""
    return release(pool.queue, io)


def busy_until(drives, now):
    """Per disk: ns that it has worked until `now` (int64)."""
    units = drives.units
    return units[:, queued.BUSY_NS] + np.where(units[:, queued.N_COMMANDS] > 0, now - units[:, queued.BUSY_SINCE], 0)


def new_recorder(leaf: int = -1, n: int = 0, n_commands: int = 0) -> Recorder:
    """For `n` operations of the vdev cache of `leaf` and `n_commands` commands of its disk."""
    return Recorder(leaf=leaf, n=np.zeros(recorded.N_TABLES, np.int64),
                    rows=np.zeros((n, recorded.N_OPERATION_COLUMNS), np.int64),
                    commands=np.zeros((n_commands, recorded.N_COMMAND_COLUMNS), np.int64))


def new_leaves(n_leaves, cache_params, queue_params, disk, phase_ns, n_ios, n_tasks, recorder, moves_whole_lines=0,
               vdev=SINGLE_DISK):
    """Idle leaves, the children of vdevs of one kind, with `n_ios` I/Os to share among them."""
    cache = new_cache(cache_params, n_leaves)
    queue = new_queue(queue_params, n_leaves, n_ios)
    drives = new_drives(disk, max(queue_params.max_pending, queue_params.min_pending), n_ios + 1, phase_ns)
    n_rows, shift = max_ios(vdev), (vdev.n_children - 1).bit_length() if vdev.kind == RAIDZ else 0
    return Leaves(
        cache_params=cache_params, cache=cache, queue_params=queue_params, queue=queue, disk=disk, drives=drives,
        leaf_of=queue.own[:, of_io.LEAF], owner=queue.own[:, of_io.OWNER], line_of=queue.own[:, of_io.LINE],
        waiting=np.full(len(cache.key), NOBODY), joined_before=np.full(n_tasks << shift, NOBODY),
        outcomes=np.zeros((2, len(OUTCOMES)), np.int64), issued=np.zeros(queue_params.ramp_rate, np.int64),
        recorder=recorder, moves_whole_lines=moves_whole_lines, vdev=vdev, is_plain=int(vdev == SINGLE_DISK),
        waiter_shift=shift, n_awaited=np.zeros(n_tasks, np.int64),
        children=np.zeros((n_rows, piece.N_COLUMNS), np.int64), outbox=np.zeros(2 * n_rows, np.int64),
        n_out=np.zeros(1, np.int64))
