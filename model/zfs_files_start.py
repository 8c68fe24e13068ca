"""A ZFS under a database as it begins: pools, file systems and files as they were loaded, everything at rest."""

from functools import lru_cache

import numpy as np

from model.arc import ArcParams, adjust, arc_params, new_arc
from model.arc_lists import IS_METADATA, MARKS, NONE
from model.calendar import NEVER, new_calendar, set_time
from model.data_sheet import SheetParams
from model.indirect import tree
from model.jit import kernel
from model.l2arc import LEAST_DEVICE_BYTES, L2arcParams, new_l2arc, next_feed
from model.layout import SINGLE_DISK, Layout, block_sizes, check_fits, new_space, number_blocks, write_file
from model.oltp_core import warm, write_new
from model.pool import NOBODY
from model.primarycache import ALL, METADATA_ONLY, NOTHING, is_kept, l2_mark
from model.ssd import SsdParams
from model.streams import stream
from model.throttle import most_bytes, new_throttle
from model.txg import new_txgs
from model.write_issue import n_threads
from model.zfetch import max_fetches, new_zfetch
from model.zfs_files_hardware import groups_of_leaves, leaves_of, ssds_of, vdev_table
from model.zfs_files_l2 import ROOM_OF_ROUND, has_cache
from model.zfs_files_machine import (
    COUNTS,
    DEVICE_COUNTS,
    JOINED_BEFORE,
    N_AHEAD,
    N_GROUPS,
    N_PROCESS,
    N_ROWS,
    N_SLOTS,
    N_SYNC,
    NOWHERE,
    SECOND_NS,
    TIMED_TXG,
    Sources,
    Store,
    Tally,
    Zfs,
)
from model.zfs_files_places import new_places, usable_bytes
from model.zil import ZilSettings, new_zil

SPARE_NODES = 2**10
SECTOR = 512
CONTROL_FILE = (8192, 8192, 8192)
N_DRAWN = 4096  # numbers of chance, for who of those that wake up is first
MOST_WANTED = 2 * N_ROWS  # by one event, beyond what is for every leaf
LOG_BLOCKS = 2**19  # of an intent log, not yet freed
RECORDS_IN_A_SECOND = 2**15
INDIRECT_ON_DISK = 8192  # B: of what was never written; is replaced when it is


# ---- files ----


def psize_of(record_bytes, compress_pct):
    """B of a record on disk; compression counts if it saves an eighth (spec 5.1)."""
    packed = -(-(record_bytes * compress_pct // 100) // SECTOR) * SECTOR
    return packed if packed <= record_bytes - record_bytes // 8 else -(-record_bytes // SECTOR) * SECTOR


def record_bytes_of(rows, settings):
    """Per file. A file shorter than a record has one block, as long as it is."""
    systems = np.full(len(rows), settings.record_bytes)
    systems[0] = settings.log_record_bytes if settings.own_log_system else settings.record_bytes
    return np.minimum(systems, -(-rows[:, 1] // SECTOR) * SECTOR)


def _of_file(rows, record_bytes, settings):
    table = np.zeros((len(rows), 4), np.int64)
    whole = -(-rows[:, 1] // record_bytes) * record_bytes
    psizes = [psize_of(int(n), settings.compress_pct) for n in record_bytes]
    table[:] = np.column_stack([whole, rows[:, 2], psizes, np.zeros(len(rows), np.int64)])
    table[0, 3] = settings.own_log_system
    return table


def _number(rows, record_bytes):
    return number_blocks([max(1, int(n)) for n in -(-rows[:, 1] // record_bytes)], record_bytes)


def _empty_layout(files):
    """Nothing has a place."""
    n = files.n_blocks - files.n_records
    level = np.zeros(n, np.int64)
    for file in range(len(files.n_levels)):
        for k, n_blocks in enumerate(tree(int(files.n_records_of[file]))[1:], 1):
            first = files.base[file, k] - files.n_records
            level[first:first + n_blocks] = k
    return Layout(np.full(files.n_blocks, NOWHERE), np.full(n, NOWHERE), np.full(n, INDIRECT_ON_DISK), level)


@lru_cache
def _sizes(seed, record_bytes, n_vdevs):
    return block_sizes(seed, record_bytes, n_leaves=n_vdevs)


def _lay_out(files, existing, of_file, layout, group, numbers, seed, record_bytes):
    """Write the files of these numbers, one after the other, into the data vdevs; (Sizes, where each vdev is full up to)."""
    sizes = _sizes(seed, record_bytes, group.n_vdevs)
    space = new_space(group.n_vdevs * group.vdev.n_children, vdev=group.vdev)
    as_loaded = files._replace(n_records_of=existing)
    for file in numbers:
        if existing[file]:
            write_file(as_loaded, sizes._replace(record_bytes=int(of_file[file, 2])), layout, space, file)
    if isinstance(group.device, SheetParams | SsdParams):
        check_fits(space, group.device.disk_bytes)
    return sizes, space.frontier


@kernel
def _warm_records(arc, params, files, existing):
    """What loading has left in core: the log's files, then the tables. Ticks end with 0."""
    to_come = np.int64(0)
    for file in range(len(existing)):
        to_come += existing[file]
    for file in range(len(existing)):
        for record in range(existing[file]):
            to_come -= 1
            tick = -(to_come * params.lifespan_ticks // RECORDS_IN_A_SECOND)
            write_new(arc, params, files, file, record, files.record_bytes[file], tick)
            if to_come % RECORDS_IN_A_SECOND == 0:
                adjust(arc, params, tick)


# ---- one pool ----


def _zil(pool, settings, n_files, n_processes, n_vdevs, seed):
    """(Zil, settings of each log)."""
    n_logs = 1 + settings.own_log_system
    biases = (settings.logbias_throughput, settings.log_logbias_throughput)[:n_logs]
    rows = [ZilSettings(int(pool.log is not None), bias, settings.zil_disabled, settings.no_cache_flush) for bias in biases]
    drawn = (stream(seed, "who writes the log next").random(N_DRAWN) * 2**30).astype(np.int64)
    return new_zil(n_logs, n_files, settings.n_entries, n_processes, n_vdevs, LOG_BLOCKS, drawn), np.array(rows, np.int64)


def _l2(pool, s, build):
    """Without cache devices one that nobody asks."""
    if pool.cache is None:
        return new_l2arc(L2arcParams(), [LEAST_DEVICE_BYTES], 2**17, NEVER - 10**12)
    if pool.cache.vdev != SINGLE_DISK:
        raise ValueError("the cache devices are mirrors or RAID-Z groups, but ZFS takes none such; choose single devices")
    l2 = new_l2arc(build.l2arc, [pool.cache.device.disk_bytes] * pool.cache.n_vdevs, min(s.record_bytes, 8192))
    if len(l2.outbox) + ROOM_OF_ROUND > s.n_ios:
        raise ValueError(f"n_ios is {s.n_ios}, but a round of the cache devices may write {len(l2.outbox)} blocks; choose "
                         f"larger records than {s.record_bytes} B, or {len(l2.outbox) + ROOM_OF_ROUND} or more for n_ios")
    return l2


def _tally(s):
    zeros = np.zeros
    return Tally(zeros(len(COUNTS), np.int64), zeros((len(COUNTS), s.n_seconds), np.int64),
                 zeros((N_GROUPS, len(DEVICE_COUNTS)), np.int64), zeros((N_GROUPS, len(DEVICE_COUNTS), s.n_seconds),
                 np.int64), zeros(3, np.int64))


def _processes(n_processes):
    process = np.zeros((n_processes, N_PROCESS), np.int64)
    process[:, JOINED_BEFORE] = NOBODY
    return process


def _full_stack(numbers):
    """All of them free; the last element says how many."""
    return np.append(np.array(numbers, np.int64), len(numbers))


def _machine(pool, s, build, tables, shared, n_processes, seed):
    """A Zfs. `tables`: (files, of_file, layout, sizes, frontier of its data vdevs); `shared`: (arc_params, arc)."""
    files, of_file, layout, sizes, frontier = tables
    n_indirect, (vdevs, first_vdev), leaf_groups = files.n_blocks - files.n_records, vdev_table(pool), groups_of_leaves(pool)
    zil, zil_settings = _zil(pool, s, len(of_file), n_processes, len(vdevs), seed)
    n_logs, ssds, n_leaves = len(zil_settings), ssds_of(leaf_groups), len(leaf_groups)
    first_ahead = n_processes + N_ROWS + n_logs
    n_tasks = first_ahead + N_AHEAD + 1  # the last one: the feed thread of the L2ARC
    l2 = _l2(pool, s, build)
    sync = n_leaves + len(ssds.leaf) * N_SLOTS
    sources = Sources(n_leaves, sync, sync + 1, sync + 2, sync + 3, sync + 4)
    of_vdev = [pool[row[5]] for row in vdevs]
    ends = [frontier[i] if i < len(frontier) else 2**22 for i in range(len(vdevs))]
    room = [usable_bytes(group.vdev, group.device.disk_bytes) for group in of_vdev]
    places = new_places(vdevs, first_vdev, ends, room, s.region_bytes, n_logs)
    def numbers(*shape):
        return np.zeros(shape, np.int64)

    return Zfs(
        s, files, of_file, layout, numbers(files.n_records), sizes.l1, numbers(n_indirect), *shared, build.l2arc, l2,
        build.txg,
        new_txgs(n_indirect, files.n_blocks + 8), new_throttle(), most_bytes(s.memory_bytes, build.txg),
        numbers(N_SYNC),
        numbers(n_processes + 1), build.zil, zil_settings, zil, numbers(2 * len(zil.outbox), 1 + zil.outbox.shape[1]),
        numbers(2), numbers(N_ROWS, 2), _full_stack(range(n_processes, n_processes + N_ROWS)),
        np.array([number for number, _ in leaf_groups]),
        np.array([group.device.disk_bytes for _, group in leaf_groups], np.int64),
        leaves_of(pool, build, s, n_tasks, seed), ssds, places, numbers(s.n_ios + 1),
        numbers(MOST_WANTED + 16 * n_leaves + len(l2.outbox), 6),
        numbers(1), numbers(n_leaves + 1), numbers(1 << n_tasks.bit_length() + 1), numbers(2), numbers(1),
        _processes(n_processes), np.full(n_tasks, NOBODY), new_zfetch(build.zfetch, len(of_file)), build.zfetch,
        numbers(max_fetches(build.zfetch), 2), numbers(n_processes, max_fetches(build.zfetch), 2), first_ahead,
        numbers(N_AHEAD), _full_stack(range(N_AHEAD)), new_calendar(sources.processes + n_processes), sources, _tally(s))


def _blocks_of(files, numbers):
    """Records and indirect blocks of the files of these numbers."""
    return np.concatenate([files.base[file, level] + np.arange(n_blocks) for file in numbers
                           for level, n_blocks in enumerate(tree(int(files.n_records_of[file])))])


def _set_timers(m, own_files, reclaims):
    """`own_files`: numbers of the files on this pool; its cache devices take no others (spec 7.5)."""
    set_time(m.calendar, m.sources.timer, m.txg_params.timeout_ns)
    m.sync[TIMED_TXG] = m.txgs.open_txg[0]
    if has_cache(m.places):
        set_time(m.calendar, m.sources.feed, next_feed(m.l2))
        nodes = m.arc.node_of[_blocks_of(m.files, own_files)]
        nodes = nodes[nodes != NONE]
        marks = np.array([l2_mark(m.s.secondarycache, is_metadata) for is_metadata in (0, 1)])
        m.arc.nodes[nodes, MARKS] |= marks[m.arc.nodes[nodes, IS_METADATA]].astype(np.int32)
    if reclaims:
        set_time(m.calendar, m.sources.reclaim, SECOND_NS)


# ---- the friendly face ----


def typed(values):
    """Whole numbers, as a kernel is compiled for."""
    return type(values)(*(int(value) for value in values))


_BOUNDS = {"record_bytes": (512, 2**17), "log_record_bytes": (512, 2**17), "compress_pct": (1, 100),
           "memory_bytes": (2**26, 2**44), "arc_max_bytes": (0, 2**44), "n_seconds": (0, 10**6),
           "n_entries": (64, 2**24), "n_ios": (2**13, 2**22),
           "region_bytes": (0, 2**44), "cpus": (1, 4096), "primarycache": (METADATA_ONLY, ALL),
           "secondarycache": (NOTHING, ALL)}


def check_settings(s):
    """Raise ValueError with one sentence unless there can be such file systems."""
    for name, value in s._asdict().items():
        low, high = _BOUNDS.get(name, (0, 10**9 if name.endswith("_ns") else 1))
        if not low <= value <= high:
            raise ValueError(f"{name} of the file systems is {value}, but it must be from {low} to {high}; choose a value "
                             "in that range")
    for name in ("record_bytes", "log_record_bytes"):
        if getattr(s, name) & (getattr(s, name) - 1):
            raise ValueError(f"{name} of the file systems is {getattr(s, name)}, but a record is a power of two; choose one "
                             "from 512 to 131072")


def _spread(s, issue):
    """CPU times of a group, divided among its threads."""
    of_record = n_threads(issue, s.cpus, psize_of(s.record_bytes, s.compress_pct) < s.record_bytes)
    return s._replace(sync_record_ns=s.sync_record_ns // of_record,
                      sync_indirect_ns=s.sync_indirect_ns // n_threads(issue, s.cpus, 0))


def _arc_of(s):
    return ArcParams(s.arc_max_bytes, s.arc_max_bytes // 4) if s.arc_max_bytes else arc_params(s.memory_bytes)


def new_store(files, settings, build, pool, n_processes, seed=0, log_pool=None):
    """A Store at rest at time 0.

    `files`: int64 [file, column]: B at the start, B at most, B of a page; row 0 is the log (a ring: what lies behind its end
    begins at its front again), row 1 + f is file f of the calls. `build`: of `model.eras.era`. `n_processes`: of the
    database. Raises ValueError with one sentence if something about it is impossible.
    """
    s = typed(settings)
    s = s._replace(own_log_system=1 if log_pool is not None else s.own_log_system)
    check_settings(s)
    s = _spread(s, build.issue)
    rows = np.vstack([np.array(files, np.int64).reshape(-1, 3), CONTROL_FILE])
    record_bytes = record_bytes_of(rows, s)
    numbered, of_file = _number(rows, record_bytes), _of_file(rows, record_bytes, s)
    existing, layout = -(-rows[:, 0] // record_bytes), _empty_layout(numbered)
    tables, first = (numbered, of_file, layout), [*range(1, len(rows)), *([0] if log_pool is None else [])]
    laid = _lay_out(numbered, existing, of_file, layout, pool.data, first, seed, s.record_bytes)
    params = _arc_of(s)
    arc = new_arc(params, numbered.n_blocks, numbered.n_blocks + SPARE_NODES)
    if s.is_warm and is_kept(s.primarycache, 0):
        _warm_records(arc, params, numbered, existing)
    elif s.is_warm:
        warm(arc, params, numbered._replace(n_records_of=np.maximum(1, existing)))
    data = _machine(pool, s, build, (*tables, *laid), (params, arc), n_processes, seed)
    _set_timers(data, first, True)
    if log_pool is None:
        return Store(data)
    laid = _lay_out(numbered, existing, of_file, layout, log_pool.data, [0], seed, s.log_record_bytes)
    log = _machine(log_pool, s, build, (*tables, *laid), (params, arc), n_processes, seed + 1)
    _set_timers(log, [0], False)
    return Store(data, log)

