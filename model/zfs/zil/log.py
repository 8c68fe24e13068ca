"""The intent log (ZIL) of a file system: what a synchronous write must wait for, besides its place in a transaction group.

Every write of a record, or of a piece of one, leaves an entry in core, synchronous or not. In English:

 1. How its data will come into the log is decided at once. INDIRECT: it is written where it belongs, the whole block of the
    file, and the log only points to it. COPIED: the data is in the entry already. NEED_COPY: it is fetched when the log is
    written. A piece is INDIRECT if it is larger than 32 KiB and the pool has no log device. Of later builds it is, whatever
    its size, if `logbias` is throughput. Otherwise it is COPIED if the file was opened for synchronous writes.
 2. A piece of more than 130696 B that carries its data becomes entries of 64 KiB.
 3. `commit` puts on disk all entries of a file up to its last one. One writer at a time does it (`model.zfs.zil.commit`).
 4. The log is a chain of blocks. A block is allocated when the one before it is written, because that one says where it is.
    So an empty block always waits at the end, and its size is a guess made one commit before:

        old    the bytes of the last commit, of this one and of the entries still waiting, whichever are most;
               rounded up to 4 KiB. All of the block is written, however little is used.
        slim   the least of 4, 12, 36 and 128 KiB that this commit would have fitted in. No less than the last sixteen
               of these choices. Of the block only what is used is written, rounded up to 4 KiB.

 5. The very first block has 4 KiB, and must be in a synced transaction group before it is written.
 6. A block goes to a log device if the pool has one. From the slim log on it does so only with `logbias` of latency. It does
    not while a commit is larger than 1 MiB and as much as 2 MiB still waits.
 7. A block is free again when the newest transaction group of its entries has been synced. The group in which the next
    block was allocated cannot be synced before the block that points to it is on disk.

 8. Of a zvol a piece is INDIRECT by another rule (`way_on_zvol`). A flush of it commits all that was written to it (`commit`
    of file 0).

Builds differ by the fields of ZilParams (spec 6; values in `model.zfs.eras`), machines and file systems by ZilSettings. Left
out: failures, a full log device, INDIRECT writes of a group that is being synced, builds before onnv_68.
"""

from typing import NamedTuple

import numpy as np

from model.events.queues import NOBODY
from model.jit import kernel
from model.structures.sentinels import NIL
from model.zfs.shared_numbers import TXG_SIZE
from model.zfs.zil import columns as intent

TRAILER = 184  # B of a log block that hold no entries; the header of the slim log is as large
ENTRY = 192  # B of the entry of a write, without data
MIN_BLOCK, MAX_BLOCK = 4096, 131_072  # B, of log blocks
MAX_DATA = MAX_BLOCK - TRAILER - ENTRY  # B of data in one entry
SPLIT_BYTES = 65_536  # rule 2
N_CHOICES = 16  # rule 4, slim

NOT_SYNC, O_DSYNC, O_SYNC = range(3)  # how a file was opened
INDIRECT, COPIED, NEED_COPY, OTHER = range(4)  # rule 1; OTHER: not of a write, pushed with any file
MAIN, SLOG = range(2)  # where a log block goes

BY_LENGTH, BY_BLOCK, BY_WRITE = range(3)  # rule 8

IDLE, CREATING, WRITING, FLUSHING = range(4)  # values of PHASE


class ZilParams(NamedTuple):
    """The rules of a build; the defaults are those of onnv_69 (spec 6.2 to 6.5)."""

    immediate_write_bytes: int = 32_768  # larger pieces are INDIRECT; zfs_immediate_write_sz
    copies_o_sync: int = 0  # 1: COPIED also for O_SYNC, not only for O_DSYNC; by b98
    counts_fetched: int = 0  # 1: data of NEED_COPY counts as waiting, and when one more is to fit; from onnv_85
    lists_late: int = 1  # 1: the entry being logged still counts as waiting; until it was counted with its data
    strict: int = 1  # 1: a task that waits for the very last entry makes a pass of its own; in b98, not by hg 11670
    has_logbias: int = 0  # from hg 10310
    slim: int = 0  # from hg 11670
    slog_limit_bytes: int = 0  # rule 6, 0: no limit; zil_slog_limit, from hg 11670
    on_zvol: int = 0  # rule 8: BY_LENGTH; BY_BLOCK by hg 10310; BY_WRITE from ZFS on Linux 0.7, change 7578
    own_metaslab: int = 0  # 1: without a log device blocks go to a metaslab set aside for them; OpenZFS 2.1, 2021


class ZilSettings(NamedTuple):
    """Of a pool, a file system and a machine."""

    has_log_device: int = 0
    throughput: int = 0  # 1: logbias is throughput
    disabled: int = 0  # 1: zil_disable; nothing is logged and nothing is safe before its transaction group is synced
    no_cache_flush: int = 0  # 1: zfs_nocacheflush; safe only if the disks' caches survive a power cut


class Zil(NamedTuple):
    """The logs of all file systems. Rows of `entries` are linked; entry 0 is none."""

    entries: np.ndarray  # [entry, column]; columns of this and all other tables: model.zfs.zil.columns
    logs: np.ndarray  # [log, column]
    chain: np.ndarray  # [log, slot, column]
    choices: np.ndarray  # [log, N_CHOICES]: rule 4, slim
    held: np.ndarray  # [log, group % TXG_SIZE]: blocks of that group to which nothing on disk points yet
    last_of_file: np.ndarray  # per file: its newest sequence, 0 for none
    waiting: np.ndarray  # [log, i, column], in order of arrival
    touched: np.ndarray  # [log, vdev]: 1 if this pass wrote to it
    outbox: np.ndarray  # [i, column]: what the caller has to do, in this order; see model.zfs.zil.commit
    released: np.ndarray  # tasks that may go on
    drawn: np.ndarray  # of those who wake up, who is first: the one in this place, modulo their number; used in turn
    n_out: np.ndarray  # one element, as all that follow
    n_released: np.ndarray
    n_drawn: np.ndarray
    free: np.ndarray  # the first entry that is not used


@kernel
def round_up(n_bytes, unit):
    """`n_bytes` as a whole number of `unit` [B]."""
    return (n_bytes + unit - 1) // unit * unit


@kernel
def way_of(params, settings, n_bytes, opened):
    """Rule 1 for a piece of `n_bytes`."""
    throughput = params.has_logbias and settings.throughput
    limit = 0 if throughput else params.immediate_write_bytes
    if n_bytes > limit and (throughput or not settings.has_log_device):
        return INDIRECT
    return COPIED if opened == O_DSYNC or (opened == O_SYNC and params.copies_o_sync) else NEED_COPY


@kernel
def way_on_zvol(params, settings, block_bytes, n_bytes, left_bytes, write_bytes, opened):
    """Rule 8 for a piece of `n_bytes` in a block of a zvol, of a write of `write_bytes`; `left_bytes`: with all behind it.

    BY_LENGTH   more than 32 KiB are left, log device or not
    BY_BLOCK    blocks are larger than 32 KiB, and the piece is all of one; without a log device
    BY_WRITE    blocks are larger than 32 KiB, and the write is as long as one at least; without a log device

    With logbias=throughput the log device does not count, blocks may be of any size, and for BY_WRITE so may the write. In
    ZFS: zvol.c, `zvol_log_write`. Ours: which of the first two came with which build between 2008 and 2009. Ours is also an
    entry for each block, though one of a write that carries its data spans all of its blocks from BY_BLOCK on.
    """
    throughput = params.has_logbias and settings.throughput
    is_large = throughput or (block_bytes > params.immediate_write_bytes and not settings.has_log_device)
    if params.on_zvol == BY_LENGTH:
        indirect = left_bytes > params.immediate_write_bytes
    elif params.on_zvol == BY_BLOCK:
        indirect = is_large and n_bytes == block_bytes
    else:
        indirect = is_large and (throughput or write_bytes >= block_bytes)
    if indirect:
        return INDIRECT
    return COPIED if opened != NOT_SYNC and params.on_zvol != BY_LENGTH else NEED_COPY


@kernel
def log_bytes(way, data):
    """B that an entry takes in a log block."""
    return ENTRY if way == INDIRECT else ENTRY + round_up(data, 8)


@kernel
def listed_bytes(params, way, data):
    """B that an entry counts for while it waits."""
    return ENTRY if way == NEED_COPY and not params.counts_fetched else log_bytes(way, data)


@kernel
def _append(zil, log, way, data):
    """A new entry at the end of the list, with the next sequence."""
    entry, logs = zil.free[0], zil.logs
    zil.free[0] = zil.entries[entry, intent.FOLLOWING]
    logs[log, intent.NEWEST] += 1
    if logs[log, intent.LAST] == NIL:
        logs[log, intent.FIRST] = entry
    else:
        zil.entries[logs[log, intent.LAST], intent.FOLLOWING] = entry
    logs[log, intent.LAST] = entry
    row = zil.entries
    row[entry, intent.SEQUENCE], row[entry, intent.WAY], row[entry, intent.DATA] = logs[log, intent.NEWEST], way, data
    row[entry, intent.COVERED], row[entry, intent.FOLLOWING] = 0, NIL
    return entry


@kernel
def max_entries(block_bytes):
    """That a piece of a block becomes (rule 2): two at least, whatever is in it, and two of something else."""
    return 2 + max(2, (block_bytes + SPLIT_BYTES - 1) // SPLIT_BYTES)


@kernel
def has_room(zil, n_entries):
    """Whether `n_entries` more can be made."""
    entry = zil.free[0]
    while n_entries > 0 and entry != NIL:
        entry = zil.entries[entry, intent.FOLLOWING]
        n_entries -= 1
    return n_entries == 0


@kernel
def record(zil, params, settings, log, file, block, block_bytes, n_bytes, opened, txg):
    """`n_bytes` of one block of a file are written in `txg`: the sequence of the last entry, or 0 if nothing is logged.
    There must be room for `max_entries` of the block."""
    return enter(zil, params, settings, log, file, block, block_bytes, n_bytes, way_of(params, settings, n_bytes, opened),
                 opened, txg)


@kernel
def enter(zil, params, settings, log, file, block, block_bytes, n_bytes, way, opened, txg):
    """The same, of which it is known how its data comes into the log."""
    if settings.disabled:
        return 0
    left = n_bytes
    while left > 0:
        data = min(left, SPLIT_BYTES) if way != INDIRECT and n_bytes > MAX_DATA else left
        entry = _append(zil, log, way, data)
        row = zil.entries
        row[entry, intent.TXG], row[entry, intent.FILE], row[entry, intent.IS_SYNC] = txg, file, opened != NOT_SYNC
        row[entry, intent.BLOCK], row[entry, intent.BLOCK_BYTES] = block, block_bytes
        zil.logs[log, intent.LISTED] += listed_bytes(params, way, data)
        left -= data
    zil.last_of_file[file] = zil.logs[log, intent.NEWEST]
    return zil.logs[log, intent.NEWEST]


@kernel
def record_other(zil, params, settings, log, n_bytes, txg):
    """Something else than a write was done that must come before whatever is committed next; `n_bytes` beyond the least."""
    if settings.disabled:
        return 0
    entry = _append(zil, log, OTHER, n_bytes)
    zil.entries[entry, intent.TXG], zil.entries[entry, intent.FILE], zil.entries[entry, intent.IS_SYNC] = txg, 0, 0
    zil.logs[log, intent.LISTED] += listed_bytes(params, OTHER, n_bytes)
    return zil.logs[log, intent.NEWEST]


@kernel
def _bucket(n_bytes):
    return 4096 if n_bytes <= 4096 else 12_288 if n_bytes <= 12_288 else 36_864 if n_bytes <= 36_864 else MAX_BLOCK


@kernel
def next_block_bytes(zil, params, log):
    """Rule 4: the size of the next block, a guess from those before [B]."""
    used = zil.logs[log, intent.NOW_USED] + TRAILER
    if not params.slim:
        used = max(used, zil.logs[log, intent.BEFORE_USED], zil.logs[log, intent.LISTED] + TRAILER)
        return min(round_up(used, MIN_BLOCK), MAX_BLOCK)
    rotor = zil.logs[log, intent.ROTOR]
    zil.choices[log, rotor] = _bucket(used)
    zil.logs[log, intent.ROTOR] = (rotor + 1) % N_CHOICES
    largest = np.int64(0)
    for i in range(N_CHOICES):
        largest = max(largest, zil.choices[log, i])
    return largest


@kernel
def device_of_next(zil, params, settings, log):
    """Rule 6: whether the next block goes to a log device or to the pool."""
    if not settings.has_log_device or not params.slog_limit_bytes:
        return SLOG if settings.has_log_device else MAIN
    small = (zil.logs[log, intent.NOW_USED] < params.slog_limit_bytes
             or zil.logs[log, intent.LISTED] < 2 * params.slog_limit_bytes)
    return SLOG if small and not settings.throughput else MAIN


@kernel
def new_block(zil, log, n_bytes, device, txg):
    """An empty block at the end of the chain: its slot."""
    slot = (zil.logs[log, intent.OLDEST_BLOCK] + zil.logs[log, intent.N_BLOCKS]) % zil.chain.shape[1]
    zil.logs[log, intent.N_BLOCKS] += 1
    chain = zil.chain
    zil.logs[log, intent.IS_FULL] |= zil.logs[log, intent.N_BLOCKS] > chain.shape[1]
    chain[log, slot, intent.BYTES], chain[log, slot, intent.DEVICE], chain[log, slot, intent.USED] = n_bytes, device, 0
    chain[log, slot, intent.MAX_TXG] = chain[log, slot, intent.BORN] = txg
    chain[log, slot, intent.IS_WRITTEN], chain[log, slot, intent.PLACE] = 0, -1
    return slot


@kernel
def last_block(zil, log):
    """The slot of the block that is written next."""
    return (zil.logs[log, intent.OLDEST_BLOCK] + zil.logs[log, intent.N_BLOCKS] - 1) % zil.chain.shape[1]


def new_zil(n_logs=1, n_files=1, n_entries=4096, n_tasks=256, n_vdevs=1, n_blocks=4096, drawn=(0,)):
    """Empty logs of `n_logs` file systems, no chain begun; files are numbered from 1, over all file systems. With `drawn` of
    0 alone the task that has waited longest is the next writer. With -1 it is the one that came last, with numbers of chance
    anyone."""
    counts = {"logs": n_logs, "files": n_files, "entries": n_entries, "tasks": n_tasks, "vdevs": n_vdevs}
    for name, value in counts.items():
        if value < 1:
            raise ValueError(f"an intent log for {value} {name} is none; choose at least 1")
    if n_blocks < 4:
        raise ValueError(f"an intent log with room for {n_blocks} blocks cannot be a chain; choose at least 4")
    if len(drawn) == 0:
        raise ValueError("an intent log with no number drawn has no next writer; give at least one, 0 for who came first")
    entries = np.zeros((n_entries + 1, intent.N_ENTRY_COLUMNS), np.int64)
    entries[1:-1, intent.FOLLOWING] = np.arange(2, n_entries + 1)
    logs = np.zeros((n_logs, intent.N_LOG_COLUMNS), np.int64)
    logs[:, intent.WRITER] = NOBODY
    return Zil(
        entries=entries, logs=logs, chain=np.zeros((n_logs, n_blocks, intent.N_CHAIN_COLUMNS), np.int64),
        choices=np.zeros((n_logs, N_CHOICES), np.int64), held=np.zeros((n_logs, TXG_SIZE), np.int64),
        last_of_file=np.zeros(n_files + 1, np.int64),
        waiting=np.zeros((n_logs, n_tasks, intent.N_WAITING_COLUMNS), np.int64),
        touched=np.zeros((n_logs, n_vdevs), np.int64),
        outbox=np.zeros((2 * n_entries + n_vdevs + 2, intent.N_OUTBOX_COLUMNS), np.int64),
        released=np.zeros(n_tasks, np.int64), drawn=np.array(drawn, np.int64), n_out=np.zeros(1, np.int64),
        n_released=np.zeros(1, np.int64), n_drawn=np.zeros(1, np.int64), free=np.ones(1, np.int64))
