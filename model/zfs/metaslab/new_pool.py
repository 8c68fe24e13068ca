"""A new pool for the allocator: sizes of vdevs and metaslabs, whose turn comes first, and maps in which all is free.

    pool = new_pool([TopVdev(vdev_params("mirror", 2), 10**12)], era("b117").metaslab, FAST)

In ZFS: vdev.c (`vdev_open`, `vdev_metaslab_set_size`).
"""

from collections.abc import Sequence

import numpy as np

from model.zfs.metaslab.metaslab_class import add_vdev
from model.zfs.metaslab.state import (
    ABSENT,
    EXACT,
    FAST,
    LAST_DIRTY,
    MAX_COPIES,
    N_KINDS,
    NO_VDEV,
    NORMAL,
    NOT_DIRTY,
    SIZE_LESS_ONE,
    Counters,
    MetaslabParams,
    Metaslabs,
    TopVdev,
    Vdevs,
)
from model.zfs.shared_numbers import FIRST_TXG, TXG_SIZE
from model.zfs.space.bitmap_maps import new_block_maps
from model.zfs.space.bitmaps import grain_of
from model.zfs.space.free_runs import new_free_space
from model.zfs.space.pickers import DYNAMIC_FIT, FIRST_FIT, NEW_DYNAMIC_FIT
from model.zfs.space.space_map import new_space_maps
from model.zfs.space.space_map_log import new_log
from model.zfs.vdev.raid import RAIDZ, VdevParams

METASLABS_PER_VDEV = 200  # vdev_metaslab_set_size
SMALLEST_SHIFT = 17  # log2 of the B of the smallest metaslab: a block of 128 KiB has to fit
LABEL_UNIT_BYTES = 2**18  # a disk is used up to a multiple of this; vdev_open
LABELS_BYTES = 2**22 + 2**19  # in front of and behind the space of a disk; spec 2.1
UNIT_BYTES = 4096  # of the fast engine, where nothing else is said
SEGMENTS, BLOCK_RECORDS = 2**20, 512  # default room for segments; records in a block of a log

# ---- sizes ----


def disk_asize(disk_bytes: int) -> int:
    """B of a disk that are left for blocks (spec 2.1)."""
    return disk_bytes // LABEL_UNIT_BYTES * LABEL_UNIT_BYTES - LABELS_BYTES


def vdev_asize(vdev: VdevParams, disk_bytes: int) -> int:
    """B of space of a top-level vdev whose smallest disk has so many. RAID-Z counts parity as space."""
    return disk_asize(disk_bytes) * (vdev.n_children if vdev.kind == RAIDZ else 1)


def metaslab_shift(asize: int) -> int:
    """log2 of the B of a metaslab: the power of two that is just greater than 1/200 of the vdev."""
    return max(SMALLEST_SHIFT, (asize // METASLABS_PER_VDEV).bit_length())


def _check(vdevs, metaslab_bytes):
    if not vdevs:
        raise ValueError("the pool has 0 vdevs, but blocks need at least one to go to; give one")
    if all(top.metaslab_class != NORMAL or top.comes_later for top in vdevs):
        raise ValueError(f"all {len(vdevs)} vdevs of the pool are for the log or come later, but data needs at least one; "
                         "give one more")
    if metaslab_bytes is not None and (metaslab_bytes < 2**SMALLEST_SHIFT or metaslab_bytes & (metaslab_bytes - 1)):
        raise ValueError(f"metaslab size is {metaslab_bytes} B, but it must be a power of two of at least "
                         f"{2**SMALLEST_SHIFT} (128 KiB); choose one")


def _sizes(top, metaslab_bytes):
    """(asize, log2 of the B of a metaslab, metaslabs) of a TopVdev."""
    asize = top.asize or vdev_asize(top.vdev, top.disk_bytes)
    shift = top.ms_shift or (metaslab_shift(asize) if metaslab_bytes is None else metaslab_bytes.bit_length() - 1)
    if asize >> shift < 1:
        raise ValueError(f"a vdev has {asize} B of space, but a metaslab takes {1 << shift}; give it larger disks or the "
                         "pool smaller metaslabs")
    return asize, shift, asize >> shift


def _new_vdevs(vdevs, metaslab_bytes):
    n = len(vdevs)
    asize, shift, n_ms = np.array([_sizes(top, metaslab_bytes) for top in vdevs], np.int64).T.copy()
    params = {name: np.array([getattr(top.vdev, name) for top in vdevs], np.int64) for name in VdevParams._fields}
    return Vdevs(
        **params, asize=asize, metaslab_class=np.array([top.metaslab_class for top in vdevs], np.int64), ms_shift=shift,
        first_ms=np.cumsum(n_ms) - n_ms, n_ms=n_ms, presence=np.full(n, ABSENT, np.int64), following=np.arange(n),
        bias=np.zeros(n, np.int64), bonus_area=np.zeros(n, np.int64), allocated=np.zeros(n, np.int64),
        dirty=np.full((n, TXG_SIZE), LAST_DIRTY, np.int64))


# ---- a pool ----


def new_pool(vdevs: Sequence[TopVdev], params: MetaslabParams, engine: int = EXACT, unit_bytes: int = UNIT_BYTES,
             metaslab_bytes: int | None = None, max_segments: int = SEGMENTS, log_blocks: int | None = None) -> Metaslabs:
    """An empty pool as it is after its creation or import: nothing loaded. `vdevs` are TopVdevs.

    engine          EXACT, or FAST: the same for blocks whose sizes are all multiples of `unit_bytes`. For dynamic fit that
                    need not be a power of two
    metaslab_bytes  None: by the rule; or the B of every metaslab, a power of two
    max_segments    room for segments: of all loaded maps (exact engine only) and of all maps of txgs
    log_blocks      room for the logs, in blocks of 4 KiB (exact engine)
    """
    _check(vdevs, metaslab_bytes)
    made = _new_vdevs(vdevs, metaslab_bytes)
    vdev = np.repeat(np.arange(len(vdevs)), made.n_ms)
    n = len(vdev)
    start = (np.arange(n) - made.first_ms[vdev]) << made.ms_shift[vdev]
    nothing, of_copies = np.zeros((8, n), np.int64), np.zeros((3, MAX_COPIES), np.int64)
    log_blocks = 0 if engine == FAST else 2 * n + 4 * max_segments // BLOCK_RECORDS if log_blocks is None else log_blocks
    pool = Metaslabs(
        params=params, vdevs=made, vdev=vdev, start=start, weight=nothing[0], active=nothing[1], order=np.arange(n),
        rank=np.arange(n), loaded=nothing[2], has_object=nothing[3], allocated=nothing[4], syncing=nothing[5],
        deferred=nothing[6], prefetched=nothing[7], next_dirty=np.full((n, TXG_SIZE), NOT_DIRTY, np.int64),
        rotor=np.full(2, NO_VDEV, np.int64), used_aliquot=np.zeros(2, np.int64), class_allocated=np.zeros(2, np.int64),
        class_space=np.zeros(2, np.int64),
        log=new_log(n, log_blocks),
        maps=_space_maps(made, vdev, start, params, max_segments) if engine == EXACT else None,
        blocks=_block_maps(made, vdev, start, unit_bytes, params, max_segments) if engine == FAST else None,
        hint=np.full(MAX_COPIES, NO_VDEV, np.int64), dva_vdev=of_copies[0], dva_offset=of_copies[1],
        dva_bytes=of_copies[2], failure=np.zeros(1, np.int64),
        counters=Counters(**{name: np.zeros(1, np.int64) for name in Counters._fields}))
    for number, top in enumerate(vdevs):
        if not top.comes_later:
            add_vdev(pool, number, FIRST_TXG)
    return pool


def _space_maps(made, vdev, start, params, max_segments):
    maps = new_space_maps(N_KINDS * len(vdev), max_segments, len(vdev))
    maps.low[:] = np.tile(start, N_KINDS)
    maps.size_bytes[:] = np.tile(1 << made.ms_shift[vdev], N_KINDS)
    if params.picker.picker == FIRST_FIT and params.passivate_with == SIZE_LESS_ONE:
        maps.has_sizes[:] = 0
    return maps


def _block_maps(made, vdev, start, unit_bytes, params, max_segments):
    """Maps of blocks, in which all is free."""
    if grain_of(unit_bytes) > 1 and params.picker.picker not in (DYNAMIC_FIT, NEW_DYNAMIC_FIT):
        raise ValueError(f"blocks are of {unit_bytes} B, but what is no power of two is for dynamic fit and new dynamic fit "
                         "only. Choose smaller units, or the exact engine")
    free = new_free_space((1 << made.ms_shift[vdev]) // unit_bytes, unit_bytes)
    free.first_unit[:] = start >> free.unit_shift
    free.rest[:] = (1 << made.ms_shift[vdev]) % unit_bytes >> free.unit_shift
    return new_block_maps(free, N_KINDS * len(vdev), max_segments)
