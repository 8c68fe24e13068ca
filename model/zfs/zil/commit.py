"""Commits to the intent log: one writer at a time, who takes along whoever waits.

    task ---> commit ---> nobody writes: it is the writer, and makes a *pass*
                 |
                 '------> somebody does: it waits. When that pass is over all who wait wake up. Whose entries are on disk
                          goes on; the first of the others to get the lock is the next writer.

So commits are grouped by nothing but waiting; there is no timer. What a pass takes along: `model.zfs.zil.writer`. When all
its writes are done, a cache flush goes to every vdev that had one of them; then the pass is over.

Which task is first matters much. A writer takes what came before it, and of what came after it no more than fits into the
block in hand. The size of that block is a memory of former commits. If it is always the one who has waited longest, blocks
hardly grow and there are hardly any groups. If it is the one who came last, it takes everybody's. On several processors all
who wake up race for one lock, so by rights it is anyone: `drawn`.

With the *strict* rule of 2007 who waits for the very last entry of all is not let go, although it is on disk. It makes a
pass of its own, which finds nothing. This makes the next block smaller, because the last commit now had no bytes.

For the caller, who has the disks. After each of these calls, what is in `outbox`, rows 0 to n_out - 1, is to be done at
once. Who is in `released` goes on.

    commit(zil, params, settings, log, file, task, txg)      True: go on at once. `txg` is the open group, here and below
    written(zil, params, settings, log, slot, txg)           a row of the outbox is done; its slot, or -1 if not a LOG_BLOCK
    group_synced(zil, params, log, txg)                      after each sync: how many of the oldest blocks are free, and
    forget(zil, log, n_blocks)                               when their places have been given back; then
    resume(zil, params, settings, log, txg)                  in case that the chain is being created
    may_sync(zil, log, txg)                                  before the uberblock of a group: rule 7 of model.zfs.zil.log

    LOG_BLOCK      write B bytes of the block in this slot. The next slot, which has no place yet, is to be allocated, behind
                   the block of this one. How is said by the columns BYTES and DEVICE of its row of the chain
    FILE_BLOCK     write B bytes, this block of this file, somewhere; the transaction group of its entry (column 4) will not
                   write it again
    FLUSH          flush the caches of this vdev
    CREATE         allocate the block in this slot; call `resume` when its transaction group has been synced

`touch` says which vdev a write went to. In ZFS: zil.c, `zil_commit`, `zil_create`, `zil_flush_vdevs`, `zil_itx_clean`,
`zil_sync`; spec 6.3 to 6.5.
"""

from model.events.queues import NOBODY
from model.jit import kernel, part
from model.structures.sentinels import NIL
from model.zfs.shared_numbers import TXG_SIZE
from model.zfs.zil import columns as intent
from model.zfs.zil.log import (
    CREATING,
    FLUSHING,
    IDLE,
    MIN_BLOCK,
    WRITING,
    device_of_next,
    last_block,
    listed_bytes,
    new_block,
)
from model.zfs.zil.writer import CREATE, FLUSH, become_writer, give_back, make_pass, put, unlink


@kernel
def _release(zil, task):
    zil.released[zil.n_released[0]] = task
    zil.n_released[0] += 1


@kernel
def touch(zil, log, vdev):
    """A write of the present pass went to this top-level vdev."""
    zil.touched[log, vdev] = 1


@kernel
def _let_go(zil, params, log):
    """Release, in order, all who need wait no longer."""
    logs, waiting, n_left = zil.logs, zil.waiting, 0
    for i in range(logs[log, intent.N_WAITING]):
        if waiting[log, i, intent.UP_TO] < logs[log, intent.COMMITTED] + (0 if params.strict else 1):
            _release(zil, waiting[log, i, intent.TASK])
        else:
            for column in range(intent.N_WAITING_COLUMNS):
                waiting[log, n_left, column] = waiting[log, i, column]
            n_left += 1
    logs[log, intent.N_WAITING] = n_left


@kernel
def _take_next(zil, log):
    """One of those who wait becomes the writer."""
    waiting, n = zil.waiting, zil.logs[log, intent.N_WAITING]
    chosen = zil.drawn[zil.n_drawn[0] % len(zil.drawn)] % n
    zil.n_drawn[0] += 1
    become_writer(zil, log, waiting[log, chosen, intent.TASK], waiting[log, chosen, intent.OF_FILE],
                  waiting[log, chosen, intent.UP_TO])
    zil.logs[log, intent.N_WAITING] = n - 1
    for i in range(chosen, n - 1):
        for column in range(intent.N_WAITING_COLUMNS):
            waiting[log, i, column] = waiting[log, i + 1, column]


@part
def _clean(zil, params, log):
    """Entries at the front whose group has been synced are dropped; not while somebody writes."""
    entry = zil.logs[log, intent.FIRST]
    while entry != NIL and zil.entries[entry, intent.TXG] <= zil.logs[log, intent.SYNCED]:
        zil.logs[log, intent.LISTED] -= listed_bytes(params, zil.entries[entry, intent.WAY], zil.entries[entry, intent.DATA])
        unlink(zil, log, NIL, entry)
        give_back(zil, entry)
        entry = zil.logs[log, intent.FIRST]


@kernel
def _pass_is_over(zil, params, settings, log, txg):
    """The writer goes on, and so do all whose entries are on disk; then passes of those who wait, until one writes."""
    logs = zil.logs
    logs[log, intent.COMMITTED], logs[log, intent.PHASE] = logs[log, intent.WILL_BE], IDLE
    _release(zil, logs[log, intent.WRITER])
    _clean(zil, params, log)
    _let_go(zil, params, log)
    while logs[log, intent.N_WAITING] > 0 and logs[log, intent.PHASE] == IDLE:
        _take_next(zil, log)
        make_pass(zil, params, settings, log, txg)
        if logs[log, intent.PHASE] == IDLE:
            _release(zil, logs[log, intent.WRITER])
            _let_go(zil, params, log)
    if logs[log, intent.PHASE] == IDLE:
        logs[log, intent.WRITER] = NOBODY


@kernel
def commit(zil, params, settings, log, file, task, txg):
    """`task` wants all that was written to `file` (0: to any) on disk. True if it may go on at once."""
    zil.n_out[0] = zil.n_released[0] = 0
    logs = zil.logs
    up_to = zil.last_of_file[file] if file else logs[log, intent.NEWEST]
    if settings.disabled or up_to == 0:
        return True
    if logs[log, intent.PHASE] != IDLE:
        i = logs[log, intent.N_WAITING]
        zil.waiting[log, i, intent.TASK], zil.waiting[log, i, intent.OF_FILE] = task, file
        zil.waiting[log, i, intent.UP_TO] = up_to
        logs[log, intent.N_WAITING] += 1
        return False
    if logs[log, intent.N_BLOCKS] == 0:
        if logs[log, intent.FIRST] == NIL:
            return True
        put(zil, CREATE, 0, new_block(zil, log, MIN_BLOCK, device_of_next(zil, params, settings, log), txg), 0)
        logs[log, intent.PHASE] = CREATING
        become_writer(zil, log, task, file, up_to)
        return False
    become_writer(zil, log, task, file, up_to)
    make_pass(zil, params, settings, log, txg)
    return logs[log, intent.PHASE] == IDLE


@kernel
def resume(zil, params, settings, log, txg):
    """Begin the chain if its first block has been synced; otherwise nothing happens."""
    zil.n_out[0] = zil.n_released[0] = 0
    logs = zil.logs
    if logs[log, intent.PHASE] != CREATING or zil.chain[log, last_block(zil, log), intent.BORN] > logs[log, intent.SYNCED]:
        return
    make_pass(zil, params, settings, log, txg)
    if logs[log, intent.PHASE] == IDLE:
        _pass_is_over(zil, params, settings, log, txg)


@kernel
def written(zil, params, settings, log, slot, txg):
    """A row of the outbox is done: the log block in `slot`, or with -1 another one."""
    zil.n_out[0] = zil.n_released[0] = 0
    logs, chain = zil.logs, zil.chain
    if slot >= 0:
        chain[log, slot, intent.IS_WRITTEN] = 1
        zil.held[log, chain[log, (slot + 1) % chain.shape[1], intent.BORN] % TXG_SIZE] -= 1
    logs[log, intent.N_PENDING] -= 1
    if logs[log, intent.N_PENDING] > 0:
        return
    if logs[log, intent.PHASE] == WRITING:
        for vdev in range(zil.touched.shape[1]):
            if zil.touched[log, vdev] and not settings.no_cache_flush:
                put(zil, FLUSH, 0, vdev, 0)
            zil.touched[log, vdev] = 0
    if zil.n_out[0]:
        logs[log, intent.PHASE], logs[log, intent.N_PENDING] = FLUSHING, zil.n_out[0]
    else:
        _pass_is_over(zil, params, settings, log, txg)


@kernel
def may_sync(zil, log, txg):
    """Whether nothing of this log keeps the group from being synced."""
    return zil.held[log, txg % TXG_SIZE] == 0


@kernel
def group_synced(zil, params, log, txg):
    """The group has been synced: how many of the oldest blocks of the chain are free now."""
    logs, n_free = zil.logs, 0
    logs[log, intent.SYNCED] = txg
    if logs[log, intent.PHASE] == IDLE:
        _clean(zil, params, log)
    slot = logs[log, intent.OLDEST_BLOCK]
    while (n_free < logs[log, intent.N_BLOCKS] and zil.chain[log, slot, intent.IS_WRITTEN]
           and zil.chain[log, slot, intent.MAX_TXG] <= txg):
        n_free += 1
        slot = (slot + 1) % zil.chain.shape[1]
    return n_free


@kernel
def forget(zil, log, n_blocks):
    """The oldest blocks, which the caller has freed, leave the chain."""
    zil.logs[log, intent.OLDEST_BLOCK] = (zil.logs[log, intent.OLDEST_BLOCK] + n_blocks) % zil.chain.shape[1]
    zil.logs[log, intent.N_BLOCKS] -= n_blocks
