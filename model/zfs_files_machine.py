"""What a ZFS under a database is made of: its settings, its devices, and all its state."""

from typing import NamedTuple

from model.calendar import NEVER
from model.data_sheet import SheetParams
from model.layout import SINGLE_DISK
from model.ssd import SsdParams
from model.vdev_map import VdevParams


class Group(NamedTuple):
    """Top-level vdevs that are alike: single devices, mirrors or RAID-Z groups, of disks or of devices without an arm."""

    device: SheetParams | SsdParams = SheetParams()  # all disks of one machine are of one data sheet
    n_vdevs: int = 1
    vdev: VdevParams = SINGLE_DISK  # of model.vdev_map: vdev_params("mirror", 2)


class Pool(NamedTuple):
    data: Group = Group()
    log: Group | None = None  # separate log devices
    cache: Group | None = None  # cache devices, L2ARC


class Settings(NamedTuple):
    """Of the file systems, the machine and what CPUs need. CPU times: ranges in data/priors.toml, none from a run."""

    record_bytes: int = 131_072  # of the data's file system
    log_record_bytes: int = 131_072  # of the log's file system, if it has one of its own
    own_log_system: int = 0  # 1: the log is in a file system of its own, with an intent log of its own
    compress_pct: int = 100  # what compression leaves of a record, %; kept if it saves an eighth
    keeps_records: int = 1  # 0: primarycache=metadata
    to_l2: int = 1  # 0: secondarycache=none
    logbias_throughput: int = 0  # of the data's file system
    log_logbias_throughput: int = 0  # of the log's
    zil_disabled: int = 0  # zil_disable; for all file systems, as it was
    no_cache_flush: int = 0  # zfs_nocacheflush
    prefetch: int = 1  # 0: zfs_prefetch_disable
    memory_bytes: int = 8 * 2**30  # B, physical
    arc_max_bytes: int = 0  # zfs_arc_max; 0: as much as ZFS takes by itself
    is_warm: int = 0  # 1: all files are in core at the start, as far as they fit
    disk_cache_is_volatile: int = 1  # 1: a flush of a disk writes what is in its buffer
    read_ns: int = 20_000  # CPU of a read() of a page that is in core
    write_ns: int = 40_000  # CPU of a write() of a page: transaction, copy, entry of the log
    commit_ns: int = 20_000  # CPU of a commit, before its first I/O
    sync_record_ns: int = 15_000  # CPU of a group for 8 KiB of a record: check-sum, allocation, I/O
    sync_indirect_ns: int = 80_000  # for an indirect block, which is compressed
    n_seconds: int = 0  # to be recorded one by one
    region_share: int = 200  # blocks are placed one behind the other in so much of a disk (one part in), then round again
    duration_ns: int = NEVER


class Store(NamedTuple):
    """One pool, or two: `log` is a pool of its own for file 0. Both share the ARC."""

    data: object
    log: object = None


def new_store(files, settings, build, pool, n_processes, seed=0, log_pool=None):
    """A Store at rest at time 0.

    `files`: int64 [file, column]: B at the start, B at most, B of a page; row 0 is the log (a ring: what lies behind its end
    begins at its front again), row 1 + f is file f of the calls. `build`: of `model.eras.era`. `n_processes`: of the
    database. Raises ValueError with one sentence if something about it is impossible.
    """
    raise NotImplementedError
