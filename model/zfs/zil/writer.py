"""A pass of the writer of the intent log: which entries go along, and into which blocks.

It walks the list of entries in order:

 1. *Relevant* are those of the writer's file, those of synchronous writes, and all that are not of writes. Others stay. (We
    note up to where they do: the next walk for the same file begins there, with the same outcome.)
 2. It stops at the first relevant entry that came after what the writer was asked for. But it goes on if the block in hand
    is begun and the entry still fits. So neighbours ride along for free.
 3. Entries whose transaction group has been synced are dropped.
 4. An entry that does not fit begins the next block; the one in hand is written. So is the last one, partly filled. An
    INDIRECT entry has the block of the file written, unless another entry had it written as it is now. If that was in this
    pass, nothing is logged. If it was in an earlier one, the log points to that.

Every pass that finds something writes at least one block; a block is never filled up by a later one. The committed sequence
is that of the first entry left, taken when the walk ends, not when the writes are done.

In ZFS: zil.c, `zil_commit_writer`, `zil_lwb_commit`, `zil_lwb_write_start`; dmu.c, `dmu_sync`; spec 6.3, 6.4.
"""

from model.jit import kernel, part
from model.structures.sentinels import NIL
from model.zfs.shared_numbers import TXG_SIZE
from model.zfs.zil import columns as intent
from model.zfs.zil.log import (
    IDLE,
    INDIRECT,
    MIN_BLOCK,
    OTHER,
    TRAILER,
    WRITING,
    device_of_next,
    last_block,
    listed_bytes,
    log_bytes,
    new_block,
    next_block_bytes,
    round_up,
)

LOG_BLOCK, FILE_BLOCK, FLUSH, CREATE = range(4)  # what the caller has to do: intent.TO_DO


@kernel
def put(zil, kind, n_bytes, target, which):
    """The simulation is told what to do for the log: `kind` with so many bytes for `target`."""
    row = zil.n_out[0]
    zil.outbox[row, intent.TO_DO], zil.outbox[row, intent.TO_DO_BYTES] = kind, n_bytes
    zil.outbox[row, intent.TO_DO_TARGET], zil.outbox[row, intent.TO_DO_WHICH] = target, which
    zil.n_out[0] += 1


@kernel
def _write_out(zil, params, settings, log, txg):
    """The block in hand is written, and the next one allocated."""
    slot = last_block(zil, log)
    n_bytes = zil.chain[log, slot, intent.BYTES]
    if params.slim:
        n_bytes = min(n_bytes, round_up(TRAILER + zil.chain[log, slot, intent.USED], MIN_BLOCK))
    after = new_block(zil, log, next_block_bytes(zil, params, log), device_of_next(zil, params, settings, log), txg)
    zil.held[log, txg % TXG_SIZE] += 1
    put(zil, LOG_BLOCK, n_bytes, slot, after)
    zil.logs[log, intent.IS_OPEN] = 0


@kernel
def _fits(zil, log, n_bytes):
    slot = last_block(zil, log)
    return zil.chain[log, slot, intent.USED] + n_bytes <= zil.chain[log, slot, intent.BYTES] - TRAILER


@kernel
def _cover(zil, log, entry):
    """The block of `entry` is being written: the same holds for what waits behind it, of the same block and group."""
    entries, later = zil.entries, zil.entries[entry, intent.FOLLOWING]
    while later != NIL:
        same = (entries[later, intent.FILE] == entries[entry, intent.FILE]
                and entries[later, intent.BLOCK] == entries[entry, intent.BLOCK])
        if same and entries[later, intent.WAY] == INDIRECT and entries[later, intent.TXG] == entries[entry, intent.TXG]:
            entries[later, intent.COVERED] = zil.logs[log, intent.PASS]
        later = entries[later, intent.FOLLOWING]


@part
def _log_entry(zil, params, settings, log, entry, txg):
    """Rule 4 of the walk."""
    entries, logs = zil.entries, zil.logs
    n_bytes = log_bytes(entries[entry, intent.WAY], entries[entry, intent.DATA])
    logs[log, intent.NOW_USED] += n_bytes
    if not _fits(zil, log, n_bytes):
        _write_out(zil, params, settings, log, txg)
    logs[log, intent.IS_OPEN] = 1
    if entries[entry, intent.WAY] == INDIRECT:
        if entries[entry, intent.COVERED] == logs[log, intent.PASS]:
            return
        if entries[entry, intent.COVERED] == 0:
            put(zil, FILE_BLOCK, entries[entry, intent.BLOCK_BYTES], entries[entry, intent.FILE],
                entries[entry, intent.BLOCK])
            zil.outbox[zil.n_out[0] - 1, intent.TO_DO_TXG] = entries[entry, intent.TXG]
            _cover(zil, log, entry)
    slot = last_block(zil, log)
    zil.chain[log, slot, intent.USED] += n_bytes
    zil.chain[log, slot, intent.MAX_TXG] = max(zil.chain[log, slot, intent.MAX_TXG], entries[entry, intent.TXG])


@kernel
def _is_relevant(zil, log, entry):
    """Rule 1 of the walk."""
    entries, file = zil.entries, zil.logs[log, intent.WRITER_FILE]
    return (file == 0 or entries[entry, intent.IS_SYNC] or entries[entry, intent.WAY] == OTHER
            or entries[entry, intent.FILE] == file)


@kernel
def _goes_along(zil, params, log, entry):
    """Rule 2 of the walk."""
    entries = zil.entries
    if entries[entry, intent.SEQUENCE] <= zil.logs[log, intent.WRITER_UP_TO]:
        return True
    n_bytes = listed_bytes(params, entries[entry, intent.WAY], entries[entry, intent.DATA])
    return zil.chain[log, last_block(zil, log), intent.USED] > 0 and _fits(zil, log, n_bytes)


@kernel
def unlink(zil, log, before, entry):
    """`entry`, which follows `before`, leaves the list of its log."""
    following = zil.entries[entry, intent.FOLLOWING]
    if before == NIL:
        zil.logs[log, intent.FIRST] = following
    else:
        zil.entries[before, intent.FOLLOWING] = following
    if zil.logs[log, intent.LAST] == entry:
        zil.logs[log, intent.LAST] = before
    if zil.logs[log, intent.SKIPPED] == entry:
        zil.logs[log, intent.SKIPPED] = before


@kernel
def give_back(zil, entry):
    """The place of `entry` is free for another."""
    zil.entries[entry, intent.FOLLOWING] = zil.free[0]
    zil.free[0] = entry


@kernel
def _skipped(zil, log):
    """The last entry before which all stay."""
    return zil.logs[log, intent.SKIPPED] if zil.logs[log, intent.SKIPPED_FOR] == zil.logs[log, intent.WRITER_FILE] else NIL


@part
def _walk(zil, params, settings, log, txg):
    before = _skipped(zil, log)
    entry = zil.entries[before, intent.FOLLOWING] if before != NIL else zil.logs[log, intent.FIRST]
    while entry != NIL:
        following = zil.entries[entry, intent.FOLLOWING]
        if not _is_relevant(zil, log, entry):
            before = entry
        elif not _goes_along(zil, params, log, entry):
            break
        else:
            n_bytes = listed_bytes(params, zil.entries[entry, intent.WAY], zil.entries[entry, intent.DATA])
            unlink(zil, log, before, entry)
            zil.logs[log, intent.LISTED] -= 0 if params.lists_late else n_bytes
            if zil.entries[entry, intent.TXG] > zil.logs[log, intent.SYNCED]:
                _log_entry(zil, params, settings, log, entry, txg)
            zil.logs[log, intent.LISTED] -= n_bytes if params.lists_late else 0
            give_back(zil, entry)
        entry = following
    zil.logs[log, intent.SKIPPED], zil.logs[log, intent.SKIPPED_FOR] = before, zil.logs[log, intent.WRITER_FILE]


@kernel
def become_writer(zil, log, task, file, up_to):
    """`task` is now the one that writes the log, for `file` and entries up to `up_to`."""
    logs = zil.logs
    logs[log, intent.WRITER], logs[log, intent.WRITER_FILE], logs[log, intent.WRITER_UP_TO] = task, file, up_to


@kernel
def make_pass(zil, params, settings, log, txg):
    """The writer does what needs no disk. If that was all, nobody is the writer any more."""
    logs = zil.logs
    logs[log, intent.PASS] += 1
    _walk(zil, params, settings, log, txg)
    if logs[log, intent.FIRST] != NIL:
        logs[log, intent.WILL_BE] = zil.entries[logs[log, intent.FIRST], intent.SEQUENCE] - (0 if params.strict else 1)
    else:
        logs[log, intent.WILL_BE] = logs[log, intent.NEWEST]
    if logs[log, intent.IS_OPEN]:
        _write_out(zil, params, settings, log, txg)
    logs[log, intent.BEFORE_USED], logs[log, intent.NOW_USED] = logs[log, intent.NOW_USED], 0
    logs[log, intent.N_PENDING] = zil.n_out[0]
    logs[log, intent.PHASE] = WRITING if zil.n_out[0] else IDLE
    if logs[log, intent.PHASE] == IDLE:
        logs[log, intent.COMMITTED] = logs[log, intent.WILL_BE]
