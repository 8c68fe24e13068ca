"""A ZFS under a database as it begins: pools, file systems and files as they were loaded, everything at rest."""

from collections.abc import Sequence

import numpy as np

from model.events import ring
from model.events.calendar import NEVER, new_calendar, set_time
from model.events.clock import SECOND_NS
from model.events.queues import NOBODY
from model.events.streams import stream
from model.filesystems.zfs import columns as fs
from model.filesystems.zfs.cache_devices import ROOM_OF_ROUND, has_cache
from model.filesystems.zfs.file_layout import (
    blocks_of,
    core_bytes_of,
    empty_layout,
    indirect_cpu_ns,
    lay_out,
    number,
    of_file,
    psize_of,
    record_bytes_of,
    shorter,
)
from model.filesystems.zfs.new_devices import groups_of_leaves, leaves_of, ssds_of, vdev_table
from model.filesystems.zfs.placement import log_bytes, metaslab_bytes, new_places, usable_bytes
from model.filesystems.zfs.state import (
    DATA,
    DEVICE_COUNTS,
    N_AHEAD,
    N_GROUPS,
    N_ROWS,
    N_SLOTS,
    FileSettings,
    Pool,
    Sources,
    Store,
    Tally,
    Zfs,
)
from model.filesystems.zfs.stats import COUNTS
from model.jit import kernel
from model.structures.sentinels import NIL
from model.zfs.arc import columns as header
from model.zfs.arc.arc import ArcParams, adjust, arc_params, new_arc
from model.zfs.arc.l2arc import (
    HEADER_OF_COPY_BYTES,
    MIN_DEVICE_BYTES,
    L2arcParams,
    new_l2arc,
    next_feed,
    room_bytes,
    starts_with,
)
from model.zfs.arc.primarycache import ALL, METADATA_ONLY, NOTHING, is_kept, l2_mark
from model.zfs.dmu.after_loading import RECORDS_IN_A_SECOND, warm, write_new
from model.zfs.dmu.dirty import new_txgs
from model.zfs.dmu.layout import begin_of
from model.zfs.dmu.zfetch import max_fetches, new_zfetch
from model.zfs.dmu.zfetch import of_records as zfetch_of_records
from model.zfs.eras import Era
from model.zfs.metaslab.state import Metaslabs
from model.zfs.txg.throttle import DIRTY_DATA, max_limit_bytes, new_throttle
from model.zfs.txg.write_issue import time_between
from model.zfs.vdev.places import SINGLE_DISK
from model.zfs.vdev.queue_classes import new_class_state
from model.zfs.zil.log import ZilSettings, new_zil

SPARE_NODES = 2**10
CONTROL_FILE = (8192, 8192, 8192)
N_DRAWN = 4096  # numbers of chance, for who of those that wake up is first
MAX_WANTED = 2 * N_ROWS  # by one event, beyond what is for every leaf
LOG_BLOCKS = 2**19  # of an intent log, not yet freed


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
            write_new(arc, params, files, file, begin_of(files, file) + record, files.core_bytes[file], tick)
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


def _l2(pool, s, build, min_bytes):
    """Without cache devices one that nobody asks."""
    if pool.cache is None:
        return new_l2arc(L2arcParams(), [MIN_DEVICE_BYTES], 2**17, NEVER - 10**12)
    if pool.cache.vdev != SINGLE_DISK:
        raise ValueError("the cache devices are mirrors or RAID-Z groups, but ZFS takes none such; choose single devices")
    l2 = new_l2arc(build.l2arc, [pool.cache.device.disk_bytes] * pool.cache.n_vdevs, min_bytes)
    if len(l2.outbox) + ROOM_OF_ROUND > s.n_ios:
        raise ValueError(f"n_ios is {s.n_ios}, but a round of the cache devices may write {len(l2.outbox)} blocks. Choose "
                         f"larger records than {s.record_bytes} B, or {len(l2.outbox) + ROOM_OF_ROUND} or more for n_ios")
    return l2


def _tally(s):
    counts, of_devices = len(COUNTS), (N_GROUPS, len(DEVICE_COUNTS))
    return Tally(counts=np.zeros(counts, np.int64), per_second=np.zeros((counts, s.n_seconds), np.int64),
                 devices=np.zeros(of_devices, np.int64),
                 devices_per_second=np.zeros((*of_devices, s.n_seconds), np.int64), waits=np.zeros(3, np.int64))


def _processes(n_processes):
    process = np.zeros((n_processes, fs.N_PROCESS), np.int64)
    process[:, fs.JOINED_BEFORE] = NOBODY
    return process


def _full_stack(numbers):
    """All of them free; the last element says how many."""
    return np.append(np.array(numbers, np.int64), len(numbers))


def _machine(pool, s, build, tables, caches, n_processes, seed, space):
    """A Zfs. `caches`: (arc_params, arc, l2). `tables`: (files, of_file, layout, sizes, frontier of data vdevs, regions of
    new blocks there). `space`: what is free of the data vdevs, or None."""
    files, file_table, layout, sizes, frontier, regions = tables
    n_indirect, (vdevs, first_vdev), leaf_groups = files.n_blocks - files.n_records, vdev_table(pool), groups_of_leaves(pool)
    zil, zil_settings = _zil(pool, s, len(file_table), n_processes, len(vdevs), seed)
    n_logs, ssds, n_leaves = len(zil_settings), ssds_of(leaf_groups, build.queue), len(leaf_groups)
    first_ahead = n_processes + N_ROWS + n_logs
    n_tasks = first_ahead + N_AHEAD + 1  # see model.filesystems.zfs.tasks
    arc_params, arc, l2 = caches
    zfetch = zfetch_of_records(build.zfetch, s.record_bytes)
    sync = n_leaves + len(ssds.leaf) * N_SLOTS
    sources = Sources(
        slots=n_leaves, sync=sync, timer=sync + 1, reclaim=sync + 2, feed=sync + 3, rows=sync + 4, processes=sync + 5)
    of_vdev = [pool[row[fs.GROUP]] for row in vdevs]
    ends = [frontier[i] if i < len(frontier) else 2**22 for i in range(len(vdevs))]
    room = [usable_bytes(group.vdev, group.device.disk_bytes) for group in of_vdev]
    others = [min(s.region_bytes or metaslab_bytes(n), n // 16) for n in room]
    regions = [*regions, *others[len(regions):]]
    apart = [log_bytes(n) * build.zil.own_metaslab * int(row[fs.GROUP] == DATA) for row, n in zip(vdevs, room, strict=True)]
    places = new_places(vdevs, first_vdev, ends, room, regions, n_logs, apart, space, files.n_blocks)
    def numbers(*shape):
        return np.zeros(shape, np.int64)

    is_openzfs = build.txg.rule == DIRTY_DATA
    throttle = new_throttle(max_limit_bytes(s.memory_bytes, build.txg) if is_openzfs else build.txg.min_limit)
    of_indirect = indirect_cpu_ns(s, files.shift)
    return Zfs(
        s=s, files=files, of_file=file_table, indirect_ns=time_between(build.issue, s.cpus, 0, *of_indirect),
        indirect_cpu_ns=sum(of_indirect), layout=layout, early_in=numbers(files.n_records), l1_bytes=sizes.l1,
        n_rewritten=numbers(n_indirect), arc_params=arc_params, arc=arc, l2_params=build.l2arc, l2=l2,
        txg_params=build.txg, txgs=new_txgs(n_indirect, files.n_blocks + 8), throttle=throttle,
        max_dirty=max_limit_bytes(s.memory_bytes, build.txg), sync=numbers(fs.N_SYNC), waiting=numbers(n_processes + 1),
        zil_params=build.zil, zil_settings=zil_settings, zil=zil,
        rows=numbers(2 * len(zil.outbox), 2 + zil.outbox.shape[1]), row_ends=numbers(3), row_of=numbers(N_ROWS, 2),
        free_rows=_full_stack(range(n_processes, n_processes + N_ROWS)),
        group_of_leaf=np.array([number for number, _ in leaf_groups]),
        leaf_bytes=np.array([group.device.disk_bytes for _, group in leaf_groups], np.int64),
        leaves=leaves_of(pool, build, s, n_tasks, seed), ssds=ssds, places=places, entry_of=numbers(s.n_ios + 1),
        wanted=numbers(MAX_WANTED + 16 * n_leaves + len(l2.outbox), 6), n_wanted=numbers(1),
        to_start=numbers(n_leaves + 1), ready=numbers(1 << n_tasks.bit_length() + 1), n_ready=numbers(ring.N_ENDS),
        clock=numbers(1), process=_processes(n_processes), cpu_ns=numbers(n_processes), owed=numbers(2),
        joined=np.full(n_tasks, NOBODY), zfetch=new_zfetch(zfetch, len(file_table)), zfetch_params=zfetch,
        answer=numbers(max_fetches(zfetch), 2), fetches=numbers(n_processes, max_fetches(zfetch), 2),
        first_ahead=first_ahead, ahead=numbers(N_AHEAD), free_ahead=_full_stack(range(N_AHEAD)),
        calendar=new_calendar(sources.processes + n_processes), sources=sources, tally=_tally(s),
        class_params=build.classes, class_state=new_class_state(n_leaves), raidz=build.raidz)


def _blocks_of(files, numbers):
    """Records and indirect blocks of the files of these numbers."""
    return np.concatenate([blocks for blocks, _ in blocks_of(files, numbers)])


def _set_timers(m, own_files, reclaims):
    """`own_files`: numbers of the files on this pool; its cache devices take no others (spec 7.5)."""
    set_time(m.calendar, m.sources.timer, m.txg_params.timeout_ns)
    m.sync[fs.TIMED_TXG] = m.txgs.open_txg[0]
    if has_cache(m.places):
        set_time(m.calendar, m.sources.feed, next_feed(m.l2))
        nodes = m.arc.node_of[_blocks_of(m.files, own_files)]
        nodes = nodes[nodes != NIL]
        marks = np.array([l2_mark(m.s.secondarycache, is_metadata) for is_metadata in (0, 1)])
        m.arc.nodes[nodes, header.MARKS] |= marks[m.arc.nodes[nodes, header.IS_METADATA]].astype(np.int32)
    if reclaims:
        set_time(m.calendar, m.sources.reclaim, SECOND_NS)


# ---- the friendly face ----


def typed(values):
    """Whole numbers, as a kernel is compiled for."""
    return type(values)(*(int(value) for value in values))


_BOUNDS = {"record_bytes": (512, 2**24), "log_record_bytes": (512, 2**24), "compress_pct": (1, 100),
           "memory_bytes": (2**26, 2**44), "arc_max_bytes": (0, 2**44), "n_seconds": (0, 10**6),
           "n_entries": (64, 2**24), "n_ios": (2**13, 2**22),
           "region_bytes": (0, 2**44), "spread_pct": (0, 100), "scale_pct": (100, 10**6),
           "cpus": (1, 4096), "primarycache": (METADATA_ONLY, ALL),
           "secondarycache": (NOTHING, ALL)}


def check_settings(s: FileSettings) -> None:
    """Raise ValueError with one sentence unless there can be such file systems."""
    for name, value in s._asdict().items():
        low, high = _BOUNDS.get(name, (0, 10**9 if name.endswith(("_ns", "_ps")) else 1))
        if not low <= value <= high:
            raise ValueError(f"{name} of the file systems is {value}, but it must be from {low} to {high}; choose a value "
                             "in that range")
    if s.zil_disabled and s.sync_always:
        raise ValueError("sync_always and zil_disabled are both 1, but nothing is logged without an intent log; choose one")
    for name in ("record_bytes", "log_record_bytes"):
        if getattr(s, name) & (getattr(s, name) - 1):
            raise ValueError(f"{name} of the file systems is {getattr(s, name)}, but a record is a power of two; choose one "
                             "from 512 to 16777216")


def _cached(l2, s, build, files, existing, numbers, seed):
    """(records that cache devices hold, B of each in core): after hours a part of the files of these numbers, by chance."""
    if not (s.cache_is_warm and is_kept(s.primarycache, 0) and l2_mark(s.secondarycache, 0)):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    blocks = np.concatenate([files.first[file] + np.arange(existing[file]) for file in numbers if file > 0])
    sizes = np.concatenate([np.full(existing[file], files.core_bytes[file]) for file in numbers if file > 0])
    order = stream(seed, "what cache devices hold").permutation(len(blocks))
    n = int(np.searchsorted(np.cumsum(sizes[order]), room_bytes(l2, build.l2arc)))
    return blocks[order][:n], sizes[order][:n]


def _arc_of(s):
    return ArcParams(s.arc_max_bytes, s.arc_max_bytes // 4) if s.arc_max_bytes else arc_params(s.memory_bytes)


def new_store(files: np.ndarray, settings: FileSettings, build: Era, pool: Pool, n_processes: int, seed: int = 0,
              log_pool: Pool | None = None, ratios: Sequence[float] | None = None, space: Metaslabs | None = None,
              log_space: Metaslabs | None = None) -> Store:
    """A Store at rest at time 0.

    `files`: int64 [file, column]: B at the start, B at most, B of a page. Row 0 is the log (a ring: what lies behind its end
    begins at its front again). Row 1 + f is file f of the calls. `build`: of `model.zfs.eras.era`. `n_processes`: of the
    database. `ratios`: per file how many times shorter its records are on disk, where files differ; else the settings say.
    `space`, `log_space`: what is free of the data vdevs of each pool, for the run to change; None: nearly all of them.
    Raises ValueError with one sentence if something about it is impossible.
    """
    s = typed(settings)
    s = s._replace(own_log_system=1 if log_pool is not None else s.own_log_system)
    check_settings(s)
    if s.on_zvol:  # zvol.c: a transaction for each write
        build = build._replace(txg=build.txg._replace(joins_records=1))
    rows = np.vstack([np.array(files, np.int64).reshape(-1, 3), CONTROL_FILE])
    record_bytes = record_bytes_of(rows, s)
    psizes = np.array([psize_of(n, s.compress_pct) for n in record_bytes.tolist()])
    if ratios:
        psizes[:-1] = [shorter(n, ratio) for n, ratio in zip(record_bytes[:-1].tolist(), ratios, strict=True)]
    core_bytes = core_bytes_of(record_bytes, psizes, s.compressed_arc, pool.data.vdev.ashift)
    numbered = number(rows, record_bytes, core_bytes, s, build.indirect.shift)
    table = of_file(rows, record_bytes, psizes, s, build.issue, numbered)
    existing, layout = -(-rows[:, 0] // record_bytes), empty_layout(numbered)
    tables, first = (numbered, table, layout), [*range(1, len(rows)), *([0] if log_pool is None else [])]
    laid = lay_out(numbered, existing, table, layout, pool.data, first, seed, s)
    params = _arc_of(s)
    arc = new_arc(params, numbered.n_blocks, numbered.n_blocks + SPARE_NODES)
    min_block = min(int(core_bytes.min()), 8192)
    l2 = _l2(pool, s, build, min_block)
    cached = _cached(l2, s, build, numbered, existing, first, seed)
    left = params.c_bytes - len(cached[0]) * HEADER_OF_COPY_BYTES
    if s.is_warm and is_kept(s.primarycache, 0):
        _warm_records(arc, params._replace(c_bytes=max(params.c_bytes // 8, left)), numbered, existing)
    elif s.is_warm:
        warm(arc, params, numbered._replace(n_records_of=np.maximum(1, existing)))
    starts_with(l2, build.l2arc, arc, *cached, l2_mark(s.secondarycache, 0))
    data = _machine(pool, s, build, (*tables, *laid), (params, arc, l2), n_processes, seed, space)
    _set_timers(data, first, True)
    if log_pool is None:
        return Store(data)
    laid = lay_out(numbered, existing, table, layout, log_pool.data, [0], seed, s)
    log = _machine(log_pool, s, build, (*tables, *laid), (params, arc, _l2(log_pool, s, build, min_block)), n_processes,
                   seed + 1, log_space)
    _set_timers(log, [0], False)
    return Store(data, log)

