"""The state of a pool with dedup that is written to: settings, machine, and what it starts with.

Blocks of the table are numbered from 0: leaves of the duplicate object, then leaves of the unique one. The indirect blocks
above both follow, level by level. Then come those of files that are read. The number is the block's key in the ARC.
"""
from typing import NamedTuple

import numpy as np

from model.devices.ssd import SsdParams, SsdState, new_ssds
from model.events.calendar import Calendar, new_calendar
from model.events.clock import SECOND_NS
from model.events.queues import NOBODY
from model.events.streams import stream
from model.jit import kernel
from model.simulations.dedup_writes import columns as at
from model.zfs.arc import scalars as scalar
from model.zfs.arc.arc import ArcParams, access, greatest_c, new_arc, new_block
from model.zfs.arc.l2arc import L2arc, L2arcParams, new_l2arc, starts_with
from model.zfs.arc.lists import L2_CACHEABLE, Arc, release
from model.zfs.dedup.zap import INDIRECT_FANOUT
from model.zfs.txg.throttle import TxgParams, new_throttle
from model.zfs.vdev.leaves import new_leaves, new_recorder
from model.zfs.vdev.places import FRONT_BYTES, LEAF_SHIFT
from model.zfs.zil.log import Zil, ZilParams, ZilSettings, new_zil

IDLE, LOOKUPS, TABLE, WRITING = range(4)  # phases of a sync
DONE, OUT_OF_IOS, OUT_OF_CALLS, OUT_OF_LOG = range(4)  # how a run ended
BLOCK_BYTES = 4096  # of the table, in core
# Rows of Machine.threads from `Settings.threads` on, and sources of events in this order, behind the disks and the lookups.
(SYNC,  # index of the sync thread
 WRITER,  # index of the writer
 FEED,  # index of the cache device's feed
 EACH_SECOND,  # index of the clock of each second
 READER,  # index of the reader of files
 LOG,  # index of the intent log, whose chain begins when a group is on disk
 LOG_BLOCK_DONE,  # index of the first log block of a pass
 SECOND_LOG_BLOCK_DONE,  # index of its second log block
 ) = range(8)
N_OTHERS = 8
LOG_UNIT = 1  # the log device's number among SSDs; the cache device is 0
LARGEST_LOGGED = 2**15  # B of a synchronous write: zfs_immediate_write_sz; larger ones are INDIRECT
N_DRAWN = 2**20  # random numbers, used in turn
ARC_LEAST_BYTES = 2**26  # arc_c_min: 64 MiB


class Settings(NamedTuple):
    """A pool and what is asked of it. The defaults write 8 KiB blocks, each for the first time."""

    n_leaves: int = 8  # disks, striped
    has_dedup: int = 1
    n_duplicate: int = 0  # leaves of the table's duplicate object
    n_unique: int = 10_000  # likewise of the unique one
    found_share: float = 0.0  # of the blocks: the table has them, and no data are written
    second_share: float = 0.0  # of the blocks, among these: of which there was one, so that their entry moves from the
    #   unique object to the duplicate one; the others are in the duplicate object
    is_free: int = 0  # 1: blocks are freed in place of written; of those found one stays, or (second_share) none but one
    block_bytes: int = 8192
    gap_ns: int = 0  # from the begin of one call to that of the next; 0: a call after the other
    copy_ns: int = 8000  # of a call: 8 KiB from user space, at some 1 GB/s
    hash_ns: int = 53_000  # of a block: SHA-256 of 8 KiB at 155 MB/s, conditions 10.9
    threads: int = 8  # that look entries up at a time; see `model.zfs.txg.write_issue`
    leaf_disk_bytes: int = 4096  # of a table block on disk; less if LZJB helps
    arc: ArcParams = ArcParams(2**30, 2**28)
    max_limit: int = 2**32  # B, inflated: of a group at most
    first_limit: int = 0  # B, inflated: of the first group; 0: the least there is, as on a pool that was just imported
    l2_bytes: int = 0  # of a cache device; 0: there is none
    span_bytes: int = 2**38  # of each disk, where the table lies
    has_writer: int = 1  # 0: nobody writes
    is_sync: int = 0  # 1: each call returns when the intent log has it
    has_log_device: int = 0  # 1: an SSD has the intent log
    n_files: int = 0  # read one after the other, once
    file_blocks: int = 0  # of each of them
    shared_blocks: int = 0  # of these, from the first on: all files have the same, by dedup or as clones
    warm_ns: int = 10 * SECOND_NS  # before the rate is measured
    duration_ns: int = 30 * SECOND_NS


class Machine(NamedTuple):
    """All state of a pool with dedup, in arrays that kernels change in place."""

    settings: Settings
    calendar: Calendar  # disks, threads, the sync thread, the writer, the cache device's feed, each second
    arc: Arc
    l2_params: L2arcParams
    l2: L2arc
    ssd: SsdParams
    ssds: SsdState
    throttle: np.ndarray
    txg_params: TxgParams
    zil: Zil
    zil_params: ZilParams
    zil_settings: ZilSettings
    files: np.ndarray  # [file, column]: files that are read; see model.simulations.dedup_writes.columns
    levels: np.ndarray  # first block of each level of the table, and the end
    place: np.ndarray  # int64, per block: where its first copy lies
    dirtied: np.ndarray  # int32, per block: the group that dirtied it last
    reader: np.ndarray  # int32, per block: who waits for it, or NOBODY
    joined: np.ndarray  # per thread: who waited before it, for the same block
    threads: np.ndarray  # see model.simulations.dedup_writes.columns; all below too
    touched: np.ndarray  # leaves whose entries the group changes
    dirty: np.ndarray  # blocks that it has to write
    cursor: np.ndarray  # per disk: B, where the next block goes
    group: np.ndarray
    tally: np.ndarray
    response_ns: np.ndarray  # of each call
    by_second: np.ndarray  # blocks dealt with until each second
    uniform: np.ndarray  # random numbers in [0, 1)


@kernel
def source_of(m, other):
    """The source of events that is SYNC, WRITER, …"""
    return m.settings.n_leaves + m.settings.threads + other


# ---- the table ----


@kernel
def above(m, block):
    """The indirect block above a block of the table, or NOBODY at the top."""
    levels, level = m.levels, 0
    while block >= levels[level + 1]:
        level += 1
    if level + 2 == len(levels):
        return NOBODY
    return levels[level + 1] + (block - levels[level]) // INDIRECT_FANOUT


def levels_of(n_blocks: int) -> list[int]:
    """First block of each level, and the end."""
    first, ends = 0, [0, n_blocks]
    while ends[-1] - first > 1:
        above_it = -(-(ends[-1] - first) // INDIRECT_FANOUT)
        first = ends[-1]
        ends.append(first + above_it)
    return ends


@kernel
def _fill(arc, params, blocks, max_bytes):
    """Blocks come into core one after the other until so many bytes of metadata are there: how many."""
    for i in range(len(blocks)):
        if arc.scalars[scalar.META] + BLOCK_BYTES > max_bytes:
            return i
        node = new_block(arc, params, blocks[i], 1, BLOCK_BYTES, L2_CACHEABLE, 0)
        access(arc, params, node, 0)
        release(arc, node)
    return len(blocks)


def _warm(settings, arc, l2, l2_params, levels, seed):
    """Memory holds the indirect blocks and then leaves, as many as may be; a cache device leaves of the rest."""
    n_leaf_blocks = levels[1]
    leaves = stream(seed, "in core").permutation(n_leaf_blocks)
    order = np.concatenate([np.arange(n_leaf_blocks, levels[min(2, len(levels) - 1)]), leaves])
    n_in_core = _fill(arc, settings.arc, order, settings.arc.meta_limit_bytes)
    rest = order[n_in_core:].astype(np.int64)
    if settings.l2_bytes and len(rest):
        starts_with(l2, l2_params, arc, rest, np.full(len(rest), BLOCK_BYTES), L2_CACHEABLE)


def largest_arc_bytes(memory_bytes: int) -> int:
    """B of the ARC of a machine with so much memory."""
    return greatest_c(memory_bytes)


def check_settings(settings: Settings) -> None:
    """ValueError with one sentence unless there can be such a run."""
    bounds = {"n_leaves": (1, 256), "n_duplicate": (0, 2**24), "n_unique": (1, 2**24), "found_share": (0, 1),
              "second_share": (0, settings.found_share),
              "block_bytes": (512, 2**17), "gap_ns": (0, 10 * SECOND_NS), "copy_ns": (1, SECOND_NS),
              "hash_ns": (0, SECOND_NS), "threads": (1, 256), "leaf_disk_bytes": (512, BLOCK_BYTES),
              "first_limit": (0, settings.max_limit), "l2_bytes": (0, 2**40),
              "span_bytes": (2**20, 2**44), "warm_ns": (0, settings.duration_ns - 2 * SECOND_NS),
              "n_files": (0, 10_000), "file_blocks": (0, 2**24), "shared_blocks": (0, settings.file_blocks),
              "duration_ns": (2 * SECOND_NS, 10**6 * SECOND_NS)}
    for name, (low, high) in bounds.items():
        value = getattr(settings, name)
        if not low <= value <= high:
            raise ValueError(f"{name} is {value}, but it must be from {low} to {high}; choose one in that range")
    if settings.arc.c_bytes < ARC_LEAST_BYTES:
        raise ValueError(f"the ARC has {settings.arc.c_bytes} B, but {ARC_LEAST_BYTES} is the least that ZFS takes; give "
                         "more memory, or a table to a larger scale")
    if settings.found_share > 0 and not settings.n_duplicate:
        raise ValueError(f"a share of {settings.found_share:g} of the blocks is found, but the duplicate object has no "
                         "leaf; give it leaves")
    _check_kinds(settings)


def _check_kinds(settings):
    if settings.is_sync and settings.is_free:
        raise ValueError("is_sync and is_free are 1, but what is freed is in no intent log; choose one")
    if settings.is_sync and settings.block_bytes > LARGEST_LOGGED:
        raise ValueError(f"synchronous writes are of {settings.block_bytes} B, but those of more than {LARGEST_LOGGED} B "
                         "go to their place at once, which is not simulated here. Choose smaller blocks")


def _places(settings, seed, n_table):
    """Where each block of the table lies, and then each of the files that are read: int64, leaf and offset."""
    parts = [(stream(seed, "places"), n_table, BLOCK_BYTES),
             (stream(seed, "files"), file_blocks_of(settings), settings.block_bytes)]
    places = []
    for draws, n, unit in parts:
        disk_of = draws.integers(0, settings.n_leaves, n)
        offset = FRONT_BYTES + draws.integers(0, settings.span_bytes // unit, n) * unit
        places.append(disk_of << LEAF_SHIFT | offset)
    return np.concatenate(places)


def file_blocks_of(settings: Settings) -> int:
    """Different blocks of all files that are read."""
    own = settings.file_blocks - settings.shared_blocks
    return settings.n_files * own + settings.shared_blocks * (settings.n_files > 0)


def new_machine(settings, rules, build, ssd, seed, room):
    """(Machine, Leaves), everything at rest at time 0; `build` and `room` as in `model.simulations.dedup_writes.run`."""
    check_settings(settings)
    levels = levels_of(settings.n_duplicate + settings.n_unique)
    n_blocks, n_rows = levels[-1] + file_blocks_of(settings), settings.threads + N_OTHERS
    arc = new_arc(settings.arc, n_blocks, n_blocks + 16)
    l2 = new_l2arc(build.l2arc, [max(2**26, settings.l2_bytes)], BLOCK_BYTES)
    _warm(settings, arc, l2, build.l2arc, levels, seed)
    threads = np.zeros((n_rows, at.N_THREAD_COLUMNS), np.int64)
    threads[:, at.WAITS_FOR] = NOBODY
    group = np.zeros(at.N_GROUP, np.int64)
    group[at.OPEN], group[at.N_QUIESCED] = 1, -1
    phase_ns = (stream(seed, "spindles").random(settings.n_leaves) * rules.disk.disk.rev_ns).astype(np.int64)
    leaves = new_leaves(settings.n_leaves, rules.cache, rules.queue, rules.disk, phase_ns, room.ios, n_rows, new_recorder())
    return Machine(
        settings=settings, calendar=new_calendar(settings.n_leaves + n_rows), arc=arc, l2_params=build.l2arc, l2=l2, ssd=ssd,
        ssds=new_ssds(ssd, 2), throttle=new_throttle(settings.first_limit or build.txg.min_limit), txg_params=build.txg,
        zil=new_zil(n_entries=64, n_tasks=1, n_vdevs=1, n_blocks=room.log_blocks), zil_params=build.zil,
        zil_settings=ZilSettings(has_log_device=settings.has_log_device, no_cache_flush=1),
        files=np.zeros((max(1, settings.n_files), at.N_FILE_COLUMNS), np.int64), levels=np.array(levels),
        place=_places(settings, seed, levels[-1]), dirtied=np.zeros(n_blocks, np.int32),
        reader=np.full(n_blocks, NOBODY, np.int32), joined=np.full(n_rows, NOBODY), threads=threads,
        touched=np.zeros(2 * room.calls, np.int64), dirty=np.zeros(n_blocks, np.int64),
        cursor=np.full(settings.n_leaves, FRONT_BYTES + settings.span_bytes), group=group,
        tally=np.zeros(len(at.COUNTS), np.int64), response_ns=np.zeros(room.calls, np.int64),
        by_second=np.zeros(settings.duration_ns // SECOND_NS + 1, np.int64),
        uniform=stream(seed, "entries").random(N_DRAWN)), leaves
