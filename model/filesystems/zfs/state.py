"""What a ZFS under a database is made of: its settings, its devices, and all its state.

A `Zfs` is one pool with its file systems. A `Store` has one, or two if the database's log is on a pool of its own. These
share the ARC and the numbering of blocks.
"""

from typing import NamedTuple

import numpy as np

from model.devices.data_sheet import SheetParams
from model.devices.ssd import SsdParams, SsdState
from model.events import ring
from model.events.calendar import Calendar
from model.events.clock import SECOND_NS
from model.filesystems.zfs import columns as fs
from model.filesystems.zfs import stats as stat
from model.jit import kernel, part
from model.zfs.arc.arc import Arc, ArcParams
from model.zfs.arc.l2arc import L2arc, L2arcParams
from model.zfs.arc.primarycache import ALL
from model.zfs.dmu.dirty import Txgs
from model.zfs.dmu.layout import Files, Layout
from model.zfs.dmu.zfetch import Zfetch, ZfetchParams
from model.zfs.metaslab.state import Metaslabs
from model.zfs.txg.throttle import TxgParams
from model.zfs.vdev.leaves import Leaves
from model.zfs.vdev.places import SINGLE_DISK
from model.zfs.vdev.queue import WRITE, VdevQueueParams
from model.zfs.vdev.queue_classes import ClassParams
from model.zfs.vdev.raid import RaidzParams, VdevParams
from model.zfs.zil.log import Zil, ZilParams, ZilSettings

DATA, LOG, CACHE = range(3)  # groups of vdevs
N_GROUPS = 3


LOOKS, READING, COMMITS, IN_COMMIT = range(4)  # values of STAGE

# Values of SYNC_STAGE.
FILES_STAGE, MOS_STAGE, LOG_STAGE, FLUSH_STAGE, UBERBLOCK_STAGE, SECOND_FLUSH_STAGE, DONE_STAGE = range(7)

DEVICE_COUNTS = ("reads", "read_bytes", "writes", "written_bytes")  # units that devices served, for each group

N_SLOTS = 64  # units and flushes that a device without an arm has under way at most
N_ROWS = 1024  # rows of an intent log that are being done at a time
N_AHEAD = 2048  # records that are being read ahead at a time
SPARE_IOS = 4096  # that the sync thread leaves to others
_OF_ZIL = ZilSettings(*range(len(ZilSettings._fields)))  # columns of Zfs.zil_settings: one for each field


class Group(NamedTuple):
    """Top-level vdevs that are alike: single devices, mirrors or RAID-Z groups, of disks or of devices without an arm."""

    device: SheetParams | SsdParams = SheetParams()  # all disks of one machine are of one data sheet
    n_vdevs: int = 1
    vdev: VdevParams = SINGLE_DISK  # of model.zfs.vdev.raid: vdev_params("mirror", 2)


class Pool(NamedTuple):
    """The devices of a pool by what they are for: data, log, cache."""

    data: Group = Group()
    log: Group | None = None  # separate log devices
    cache: Group | None = None  # cache devices, L2ARC


class FileSettings(NamedTuple):
    """Of the file systems, the machine and what CPUs need. CPU times: ranges in data/priors.toml, none from a run."""

    record_bytes: int = 131_072  # of the data's file system
    log_record_bytes: int = 131_072  # of the log's file system, if it has one of its own
    own_log_system: int = 0  # 1: the log is in a file system of its own, with an intent log of its own
    on_zvol: int = 0  # 1: file systems are zvols, files ranges of them, and records their blocks
    compress_pct: int = 100  # what compression leaves of a record, %; kept if it saves an eighth
    primarycache: int = ALL  # or METADATA_ONLY, of model.zfs.arc.primarycache; nothing else is modelled
    secondarycache: int = ALL  # or METADATA_ONLY, NOTHING
    logbias_throughput: int = 0  # of the data's file system
    log_logbias_throughput: int = 0  # of the log's
    zil_disabled: int = 0  # zil_disable, sync=disabled; for all file systems, as it was
    sync_always: int = 0  # sync=always; for all file systems
    no_cache_flush: int = 0  # zfs_nocacheflush
    cpus: int = 1  # processors that threads of a group are at work on: model.zfs.txg.write_issue
    prefetch: int = 1  # 0: zfs_prefetch_disable
    memory_bytes: int = 8 * 2**30  # B, physical
    arc_max_bytes: int = 0  # zfs_arc_max; 0: as much as ZFS takes by itself
    is_warm: int = 1  # 1: the ARC holds what loading has left in it, log and tables; 0: nothing
    disk_cache_is_volatile: int = 1  # 1: a flush of a disk writes what is in its buffer
    read_ns: int = 20_000  # CPU of a read() of a page that is in core
    write_ns: int = 40_000  # CPU of a write() for each record of it: transaction, copy, entry of the log
    commit_ns: int = 20_000  # of a commit, before its first I/O: CPU, and threads that its I/Os wait for
    miss_ns: int = 40_000  # CPU of each I/O that a read needs: zio, driver, interrupt, sleep and wake-up
    checksum_ps: int = 300  # per B on disk, read or written; ps
    unpack_ps: int = 1000  # per B that is decompressed
    pack_ps: int = 3000  # per B that is compressed
    compressed_arc: int = 0  # 1: records are in core as they are on disk, and decompressed by each who reads them
    sync_serial_ns: int = 5_000  # CPU of a group for a record, by one thread after the other: see model.zfs.txg.write_issue
    sync_io_ns: int = 20_000  # by many at once: zio, I/O and interrupt, free of the old block
    sync_indirect_ns: int = 80_000  # for an indirect block of 16 KiB, which is compressed
    shares_cpus: int = 0  # 1: threads of a group want the database's processors; 0: they have others
    n_seconds: int = 0  # to be recorded one by one
    region_bytes: int = 0  # of each vdev in which new blocks are placed in order, again and again, at least; 0: a metaslab
    spread_pct: int = 0  # how far apart data lie, from packed to as far as weights of metaslabs put them; see
    #   model.filesystems.zfs.file_layout
    scale_pct: int = 100  # the pool stands for one with so many hundredths of its data
    cache_is_warm: int = 0  # 1: cache devices hold of the files what goes on them; 0: nothing
    n_entries: int = 2**18  # of the intent logs: pieces written in the groups that are not yet on disk; ours: who comes
    #   when there are more waits for the next group
    n_ios: int = 2**14  # I/Os at a time


class Sources(NamedTuple):
    """Numbers of the sources of events, or of the first of several; disks have theirs."""

    slots: int  # of devices without an arm: N_SLOTS each
    sync: int
    timer: int
    reclaim: int
    feed: int  # of the L2ARC
    rows: int  # of the intent logs: one that is not ready yet
    processes: int


class Ssds(NamedTuple):
    """Devices without an arm."""

    queue_params: VdevQueueParams  # of their vdev queues
    number: np.ndarray  # per leaf: which, or -1
    leaf: np.ndarray  # per device
    params: np.ndarray  # [device, field of SsdParams]; see devices.py
    state: SsdState
    units: np.ndarray  # [device, slot]: the unit that is under way, or 0


class Places(NamedTuple):
    """Where the next blocks go: see model.filesystems.zfs.placement."""

    vdevs: np.ndarray  # [vdev, column]; see fs.KIND
    first_vdev: np.ndarray  # per group, and the end
    frontier: np.ndarray  # [vdev, zone]: B of the vdev
    first: np.ndarray  # [vdev, zone]: where the region begins
    region_bytes: np.ndarray  # per vdev
    log_bytes: np.ndarray  # per vdev: set aside for log blocks, or 0
    rotor: np.ndarray  # per group: a vdev
    given: np.ndarray  # per group: B since the rotor came there
    log_vdev: np.ndarray  # per intent log: the vdev of its newest block
    space: Metaslabs | None  # what is free of the data vdevs; None: nearly all
    n_gangs: np.ndarray  # one element: blocks that no free segment was long enough for
    is_new: np.ndarray  # per block of a file: 1 if it was given its place in this run


class Tally(NamedTuple):
    """What a run counts: calls, I/Os of devices, and how many calls are under way."""

    counts: np.ndarray  # see stats.COUNTS
    per_second: np.ndarray  # [count, second]
    devices: np.ndarray  # [group, DEVICE_COUNTS]; see stats.DEVICE_READS
    devices_per_second: np.ndarray  # [group, DEVICE_COUNTS, second]
    waits: np.ndarray  # calls under way: an account (model.events.accounts)


class Zfs(NamedTuple):
    """One pool, its file systems and what is under way in it."""

    s: FileSettings
    files: Files
    of_file: np.ndarray  # int64 [file, column]; see fs.RING_BYTES
    indirect_ns: int  # of an indirect block in a group: till the next one
    indirect_cpu_ns: int  # of all processors
    layout: Layout
    early_in: np.ndarray  # per record: the group for which the intent log has written it already, or 0
    l1_bytes: np.ndarray  # of an L1 of which so many children have been rewritten
    n_rewritten: np.ndarray  # per indirect block: children rewritten
    arc_params: ArcParams
    arc: Arc
    l2_params: L2arcParams
    l2: L2arc
    txg_params: TxgParams
    txgs: Txgs
    throttle: np.ndarray  # see model.zfs.txg.throttle
    max_dirty: int  # Lmax of model.zfs.txg.throttle
    sync: np.ndarray  # see fs.SYNC_STAGE
    waiting: np.ndarray  # processes that wait for the next group; the last element: how many
    zil_params: ZilParams
    zil_settings: np.ndarray  # [intent log, field of ZilSettings]
    zil: Zil
    rows: np.ndarray  # [i, column]: what the intent logs want done, a ring; see fs.LOG_OF_ROW
    row_ends: np.ndarray  # see fs.N_PUT
    row_of: np.ndarray  # [task of a row, column]; see fs.LOG_OF_TASK
    free_rows: np.ndarray  # tasks of rows not in use; the last element: how many
    group_of_leaf: np.ndarray
    leaf_bytes: np.ndarray
    leaves: Leaves
    ssds: Ssds
    places: Places
    entry_of: np.ndarray  # per I/O of a group: the entry that it writes, or 0
    wanted: np.ndarray  # [i, column]: what is to be written or flushed when this event is over; see vdev_writes.py
    n_wanted: np.ndarray  # one element
    to_start: np.ndarray  # disks that are to begin a command; the last element: how many
    ready: np.ndarray  # tasks that can go on: a ring (model.events.ring)
    n_ready: np.ndarray  # its ends
    clock: np.ndarray  # ns
    process: np.ndarray  # [process, column]; see fs.OPERATION
    cpu_ns: np.ndarray  # per process: see model.filesystems.calls
    owed: np.ndarray  # the same
    joined: np.ndarray  # per task: the process that joined last in waiting for what it reads, or NOBODY
    zfetch: Zfetch
    zfetch_params: ZfetchParams
    answer: np.ndarray  # of zfetch
    fetches: np.ndarray  # [process, row, column]: what zfetch wants; see model/zfs/dmu/fetch_columns.py
    first_ahead: int  # the first task that reads ahead
    ahead: np.ndarray  # per such task: the block
    free_ahead: np.ndarray  # those that read nothing; the last element: how many
    calendar: Calendar
    sources: Sources
    tally: Tally
    class_params: ClassParams
    class_state: np.ndarray  # of the vdev queues, if they have classes; [leaf, column]: see model.zfs.vdev.queue_classes
    raidz: RaidzParams


class Store(NamedTuple):
    """One pool, or two: `log` is a pool of its own for file 0. Both share the ARC."""

    data: Zfs
    log: Zfs | None = None


# ---- kernels for all chapters ----


@kernel
def count(tally, kind, n, now):
    """`n` more of `kind`, in all and in this second."""
    tally.counts[kind] += n
    second = now // SECOND_NS
    if second < tally.per_second.shape[1]:
        tally.per_second[kind, second] += n


@kernel
def count_device(tally, group, kind, n_bytes, now):
    """A device of a group has served a unit; `kind` is READ or WRITE."""
    second = now // SECOND_NS
    units = stat.DEVICE_WRITES if kind == WRITE else stat.DEVICE_READS
    size = stat.DEVICE_WRITTEN_BYTES if kind == WRITE else stat.DEVICE_READ_BYTES
    tally.devices[group, units] += 1
    tally.devices[group, size] += n_bytes
    if second < tally.devices_per_second.shape[2]:
        tally.devices_per_second[group, units, second] += 1
        tally.devices_per_second[group, size, second] += n_bytes


@kernel
def work(tally, cpu_ns, p, n_ns, now):
    """A processor has `n_ns` to do for the call of `p`."""
    cpu_ns[p] += n_ns
    count(tally, stat.CPU_NS, n_ns, now)


@kernel
def read_cpu_ns(s, n_ios, n_bytes, in_full):
    """CPU of a block of `n_bytes` on disk that comes by so many I/Os."""
    unpacked = in_full if n_bytes < in_full else 0
    return s.miss_ns * n_ios + (s.checksum_ps * n_bytes + s.unpack_ps * unpacked) // 1000


@part
def wake_waiting(m):
    """A process that waits for the next group, or until less is dirty, looks again."""
    last = len(m.waiting) - 1
    for i in range(m.waiting[last]):
        ring.put(m.ready, m.n_ready, m.waiting[i])
    m.waiting[last] = 0


@kernel
def settings_of(rows, log):
    """Settings of the intent log `log`, out of its row."""
    return ZilSettings(
        has_log_device=rows[log, _OF_ZIL.has_log_device], throughput=rows[log, _OF_ZIL.throughput],
        disabled=rows[log, _OF_ZIL.disabled], no_cache_flush=rows[log, _OF_ZIL.no_cache_flush])


@kernel
def vdev_of(vdevs, vdev):
    """Parameters of the vdev `vdev`, out of its row."""
    return VdevParams(kind=vdevs[vdev, fs.KIND], n_children=vdevs[vdev, fs.N_CHILDREN], n_parity=vdevs[vdev, fs.N_PARITY],
                      ashift=vdevs[vdev, fs.ASHIFT])
