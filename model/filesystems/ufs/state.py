"""UFS of Solaris 10 under a database: which bytes lie where, what is kept in memory, what goes to disk when.

 1. *Pages and blocks* are of 8 KiB (on SPARC). A read of a page in core costs a copy; any other is an I/O of 8 KiB. A
    write of whole pages needs nothing read.
 2. *Buffered writes* return when they are copied. Each whole block that is written is to go to disk at once, but is put off
    in case its neighbour follows. Every file has one run of pages put off. A write that continues the run, and does not fill
    it (`cluster_bytes`, from maxcontig and maxphys), joins it. Any other sends the run off as one write and begins another.
    So random writes of a database are on their way to disk one write later, each as an I/O of its own. Hardly a page is ever
    dirty for long.
 3. *Throttle.* With `throttles` (ufs_WRITES), a writer waits if more than 16 MiB (ufs_HW) of its file are on their way.
    It waits until there are less than 8 (ufs_LW).
 4. *fsync* sends off what is put off, and waits for all of the file that is on its way. The changed inode goes to the file
    system's log, in order, 1 KiB, and is waited for. fdatasync of a file that did not grow needs no such log.
 5. *O_DSYNC.* A write is cut into blocks of 8 KiB, and each is written and waited for before the next is begun.
    Nothing is logged if the file does not grow: a recycled segment of PostgreSQL's log does not.
 6. *directio*: no cache; every read and write is an I/O, as long as it is (up to maxphys), and waited for. Writers
    that do not make a file longer do not wait for each other.
 7. *fsflush* looks at one part in `autoup` of memory every second, and sends off the dirty pages that it finds there. By
    rule 2 there are few.
 8. *Places.* A file goes on in the next cylinder group after `piece_bytes` (maxbpg blocks of 8 KiB). So files on a new
    file system lie in pieces, one in a group, one behind the other. Blocks are never moved.

Sources: usr/src/uts/common/fs/ufs/ufs_vnops.c (wrip: MAXBSIZE; ufs_putpage: i_delayoff, i_delaylen; ufs_write: ufs_WRITES,
ufs_check_rewrite), ufs_directio.c, ufs_subr.c (blkpref); Solaris Tunable Parameters Reference Manual (autoup,
tune_t_fsflushr, ufs_WRITES, maxphys). Left out: read-ahead, which only starts when a file is read in order; metadata but for
rule 4; the processor's time in the file system. Also left out: a page cannot be changed while it is on its way.

The kernels are in `model.filesystems.ufs.calls`.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from model.devices.command_queue import Drive
from model.devices.sectors import SECTOR_BYTES
from model.events.calendar import set_time
from model.events.clock import SECOND_NS
from model.filesystems.ufs import columns as ufs
from model.filesystems.ufs.page_cache import PageCache, fill, new_page_cache
from model.filesystems.ufs.volumes import PAGE_BYTES, Stripe, Volumes, check_stripes, new_volumes
from model.structures.sentinels import NONE

JOURNAL_BYTES = 2**26  # of a file system's log: 1 MB per GB, at most 64 MB
GROUP_SHARE = 3  # a group is so many times as long as a piece; 16 cylinders of 4 MB against 16 MB
LARGEST_CALL = 2**24  # B: a segment of the log that is made
N_RESERVED = 512  # I/Os that are free before a call begins, beside those of the largest write


# Values of TODO.
RETURN, BEGIN, NEXT_BLOCK, BLOCKS_THEN_JOURNAL, SYNC, SYNC_THEN_JOURNAL, JOURNAL = range(7)


OF_JOURNAL = -1  # ufs.REQUEST_PAGE of a write to the file system's own log


class UfsParams(NamedTuple):
    """A mounted file system (or several, mounted alike), and the system's settings."""

    memory_bytes: int = 2**30  # for pages of files; unused with directio
    log_directio: int = 0  # 1: of the file system that holds the database's log
    table_directio: int = 0
    throttles: int = 1  # ufs_WRITES
    high_water: int = 16 * 2**20  # ufs_HW, B
    low_water: int = 8 * 2**20  # ufs_LW
    cluster_bytes: int = 2**20  # the lesser of maxcontig and maxphys
    autoup_s: int = 30
    piece_bytes: int = 2**24  # maxbpg: 2048 blocks
    call_ns: int = 30_000  # of a call that needs no I/O: 8 KiB copied at some 400 MB/s, and the call itself
    starts_full: int = 1  # 1: the files have just been written, in order, and the last ones are in the cache


class Ufs(NamedTuple):
    """A store of the database: see `model.filesystems.ufs.calls`."""

    s: UfsParams
    volumes: Volumes
    cache: PageCache
    file: np.ndarray  # [file, column]; see ufs.BASE
    call: np.ndarray  # [process, column]: the last one, as in model.filesystems.calls
    task: np.ndarray  # [process, column]; see ufs.TODO
    journal_at: np.ndarray  # per volume: where its file system's log goes on
    request: np.ndarray  # [request, column]; see ufs.OF_FILE
    ready: np.ndarray  # processes that can go on
    stalled: np.ndarray  # processes whose call has to wait until it can begin
    n: np.ndarray  # see ufs.N_REQUESTS
    n_reserved: int


# ---- making one ----


def _lay_out(sizes, stripe_of, s):
    """Files one behind the other on their volumes, pages one behind the other: Ufs.file."""
    file = np.zeros((len(sizes), ufs.N_FILE), np.int64)
    ends, page = {}, 1
    for row, n_bytes, stripe in zip(file, sizes, stripe_of, strict=True):
        n_bytes = -(-int(n_bytes) // PAGE_BYTES) * PAGE_BYTES
        row[ufs.BASE], row[ufs.N_BYTES], row[ufs.STRIPE] = ends.get(stripe, 0), n_bytes, stripe
        row[ufs.FIRST_PAGE], row[ufs.SYNCER] = page, NONE
        ends[stripe] = ends.get(stripe, 0) + n_bytes
        page += n_bytes // PAGE_BYTES
    return file, page - 1, {stripe: place_of(end, s) for stripe, end in ends.items()}


def place_of(dense, s):
    """Rule 8: where byte `dense` of all that is on a volume lies."""
    return JOURNAL_BYTES + dense // s.piece_bytes * (GROUP_SHARE * s.piece_bytes) + dense % s.piece_bytes


def _device_bytes(device):
    return device.disk_bytes if hasattr(device, "disk_bytes") else int(device.disk.layout.n_blocks) * SECTOR_BYTES


def _check(s, stripes, stripe_of, ends):
    check_stripes(stripes)
    if s.cluster_bytes < PAGE_BYTES or s.piece_bytes % PAGE_BYTES or s.piece_bytes < s.cluster_bytes:
        raise ValueError(f"cluster_bytes is {s.cluster_bytes} where piece_bytes is {s.piece_bytes}; choose whole pages of "
                         f"{PAGE_BYTES} B, and no cluster longer than a piece")
    if s.autoup_s < 1 or s.call_ns < 0 or not 0 <= s.low_water <= s.high_water:
        raise ValueError(f"autoup_s {s.autoup_s}, call_ns {s.call_ns} and marks of {s.low_water} and {s.high_water} B "
                         "cannot be. Choose 1 s or more, 0 ns or more, and the low mark below the high one")
    if not set(stripe_of) <= set(range(len(stripes))):
        raise ValueError(f"a file is on volume {max(stripe_of)}, but there are {len(stripes)}; choose one of them for each")
    for stripe, end in ends.items():
        has = stripes[stripe].members * _device_bytes(stripes[stripe].device)
        if end > has:
            raise ValueError(f"files reach up to {end} B on a volume of {has} B; choose more or larger disks, or less data")


def new_ufs(files: Sequence[int], stripes: Sequence[Stripe], stripe_of: Sequence[int], n_processes: int, s: UfsParams,
            any_drive: Drive, phases_ns: np.ndarray, n_ios: int = 2**16, n_seconds: int = 0) -> Ufs:
    """`files`: B that each may grow to, number 0 the log, then the tables'; `stripe_of`: its volume for each, and for
    pg_control, which comes last. `stripes`: see `model.filesystems.ufs.volumes`."""
    s = UfsParams(*map(int, s))
    file, n_pages, ends = _lay_out([*files, PAGE_BYTES], stripe_of, s)
    _check(s, stripes, stripe_of, ends)
    n_reserved = N_RESERVED + 2 * LARGEST_CALL // min(s.cluster_bytes, *(stripe.interlace_bytes for stripe in stripes))
    volumes = new_volumes(stripes, any_drive, phases_ns, max(n_ios, 2 * n_reserved), n_seconds)
    cache = new_page_cache(s.memory_bytes // PAGE_BYTES, n_pages)
    if s.starts_full:
        fill(cache, n_pages)
    set_time(volumes.calendar, volumes.n_disks, SECOND_NS)
    zeros = np.zeros
    return Ufs(
        s=s, volumes=volumes, cache=cache, file=file, call=zeros((n_processes, 4), np.int64),
        task=zeros((n_processes, 5), np.int64), journal_at=zeros(len(stripes), np.int64),
        request=zeros((2 * n_processes + 2 * len(file) + 4096, 6), np.int64), ready=zeros(n_processes, np.int64),
        stalled=zeros(n_processes, np.int64), n=zeros(4, np.int64), n_reserved=n_reserved)
