"""The allocator of a pool: where on its top-level vdevs the next block goes. What there is, and how large.

A pool's space is that of its *top-level vdevs* (`model.zfs.vdev.raid`). Each is cut into 100 to 200 *metaslabs* of one size,
a power of two. Who decides what:

    class       which vdev       metaslab_class.py  they take turns, one after half a MiB a disk        spec 2.3
      group     which metaslab   metaslab_group.py  the one that weighs most; it stays for a while      spec 2.4 to 2.6
        map     where in it      space/pickers.py   first fit, best fit or something between            spec 2.8
    txg         when freed space comes back, and what is written of it: sync.py                     spec 2.9, 2.10

A metaslab has a map of what is free, if it is *loaded*. It has maps of what was allocated and freed in each of the four open
transaction groups, and of what is freed but withheld (*deferred*). On disk it has a log of all that
(`model.zfs.space.space_map_log`), from which its map is made when it is loaded. Its number counts through all vdevs; so do
the numbers of maps.

The weight of a metaslab has two uppermost bits in ZFS: *primary*, where blocks go, and *secondary*, where further
copies go. They are kept apart here, as `active`.

`new_pool` (`model.zfs.metaslab.new_pool`) makes all that. Kernels change it: `allocate`, `free`
(`model.zfs.metaslab.metaslab_class`), `sync_txg` (`model.zfs.metaslab.sync`), and, for blocks that find no room in one
piece, `allocate_or_gang` (`model.zfs.metaslab.gang`). A vdev can be added later: `add_vdev`
(`model.zfs.metaslab.metaslab_class`).

In ZFS: metaslab.c, metaslab_impl.h; vdev.c (`vdev_metaslab_set_size`). Left out: vdevs that are broken, removed or grown;
errors in reading a log; races of several allocating threads (spec 2.4, step 2).
"""

from typing import NamedTuple

import numpy as np

from model.jit import kernel
from model.zfs.shared_numbers import TXG_SIZE
from model.zfs.space.bitmap_maps import BlockMaps
from model.zfs.space.pickers import PickerParams
from model.zfs.space.space_map import SpaceMaps
from model.zfs.space.space_map_log import Log
from model.zfs.vdev.raid import VdevParams

EXACT, FAST = 0, 1  # engines: maps of segments of any size; maps of blocks of one size
NORMAL, LOG = 0, 1  # classes; vdevs of the second hold nothing but the intent log
PASSIVE, SECONDARY, PRIMARY = 0, 1, 2  # what the two uppermost bits of a weight say
HAS_OBJECT, BONUS_AREA = 0, 1  # who gets the bonus: who was ever written to; who starts at or below the highest activated
FAILURE, FRAGMENTED = 0, 1  # until when a metaslab stays active: a request fails; or at the end of a txg it is in pieces
SIZE_LESS_ONE, LARGEST = 0, 1  # what weight is left to a metaslab in which a request failed
HALVES, THIRDS = 0, 1  # sizes of the members of a gang
ROOT_VDEV, OWN_CLASS = 0, 1  # whose use a vdev's is compared with when its turn begins
ABSENT, ADDED, OPEN = 0, 1, 2  # a vdev: not in the pool; added in the txg that is open; gives blocks
N_DEFERS = 2  # TXG_DEFER_SIZE
MAX_COPIES = 3  # SPA_DVAS_PER_BP
NO_VDEV = -1
NOT_DIRTY, LAST_DIRTY = -2, -1  # in a chain of metaslabs
ALLOC_MAPS, FREE_MAPS, DEFER_MAPS = 1, 1 + TXG_SIZE, 1 + 2 * TXG_SIZE  # in units of n_ms
N_KINDS = DEFER_MAPS + N_DEFERS


class MetaslabParams(NamedTuple):
    """The rules. The defaults are those of 2007 to early 2009."""

    picker: PickerParams = PickerParams()
    lba_weight: int = 1  # the outermost metaslab weighs twice as much as the innermost; spec 2.5
    bonus_scope: int = HAS_OBJECT
    bonus_multiplier: int = 2  # weight of who gets the bonus: x multiplier // divisor. hg 11146 wrote 150 / 100, which is
    bonus_divisor: int = 1  # 1 in C; 3 and 2 are what it describes
    primary_until: int = FAILURE
    passivate_with: int = SIZE_LESS_ONE
    defer_txgs: int = 0  # for how many txgs more what is freed is withheld: 0, or 2 from hg 10921 on
    prefetch_maps: int = 0  # metaslab_prefetch_limit: logs read ahead at the end of a txg, heaviest metaslabs first
    reassess: int = 0  # whether each txg weighs all metaslabs of the bonus area anew
    skips_unchanged: int = 0  # whether a metaslab without allocations and frees is not written (b141)
    aliquot_bytes: int = 2**19  # metaslab_aliquot: B a disk after which it is the next vdev's turn
    bias_divisor: int = 4  # an emptier vdev gets up to 1/4 more than its turn, a fuller one less; 0: no bias
    bias_against: int = ROOT_VDEV  # the root vdev counts the normal class only, also for a log vdev's turn; hg 10922
    ditto_shift: int = 3  # copies lie at least 1/8 of the vdev apart, where that can be
    gang: int = HALVES


class TopVdev(NamedTuple):
    """A top-level vdev to be made: its kind, the B of each of its disks, its class."""

    vdev: VdevParams = VdevParams()
    disk_bytes: int = 0  # of the smallest disk; 0 if `asize` is given
    asize: int = 0  # B of space in it, if that is known
    metaslab_class: int = NORMAL
    ms_shift: int = 0  # log2 of the B of a metaslab; 0: as for all vdevs of the pool
    comes_later: int = 0  # 1: it is not in the pool until `add_vdev`


class Vdevs(NamedTuple):
    """Top-level vdevs; (n_vdevs,) int64 arrays."""

    kind: np.ndarray  # these four are the VdevParams
    n_children: np.ndarray
    n_parity: np.ndarray
    ashift: np.ndarray
    asize: np.ndarray
    metaslab_class: np.ndarray
    ms_shift: np.ndarray  # log2 of the B of a metaslab
    first_ms: np.ndarray  # number of its first metaslab
    n_ms: np.ndarray
    presence: np.ndarray  # ABSENT, ADDED or OPEN
    following: np.ndarray  # in the ring of its class
    bias: np.ndarray  # B that it gets more than its aliquot
    bonus_area: np.ndarray  # offset at which the highest metaslab that was activated starts
    allocated: np.ndarray  # B, as of the last sync; deferred ones with them
    dirty: np.ndarray  # [vdev, txg mod 4]: the metaslab made dirty last; the others follow in Metaslabs.next_dirty


class Counters(NamedTuple):
    """What happened; one int64 each. Who wants them of a txg or of an allocation takes differences."""

    n_loads: np.ndarray
    load_blocks: np.ndarray  # blocks of 4 KiB of logs that allocations had to wait for
    prefetched_blocks: np.ndarray  # and those that were read ahead of them
    log_blocks: np.ndarray  # blocks of 4 KiB of logs that were written, in part or whole
    n_condensed: np.ndarray
    n_activated: np.ndarray
    n_unloads: np.ndarray


class Metaslabs(NamedTuple):
    """The allocator's state; arrays of int64. A metaslab's number is its place in the first ones."""

    params: MetaslabParams
    vdevs: Vdevs
    vdev: np.ndarray  # of which vdev it is
    start: np.ndarray  # offset in the vdev
    weight: np.ndarray  # without the two uppermost bits
    active: np.ndarray  # PASSIVE, SECONDARY or PRIMARY
    order: np.ndarray  # of each vdev, from its first metaslab's place on: its metaslabs by weight, heaviest first
    rank: np.ndarray  # where in `order` it is
    loaded: np.ndarray  # 1 if its free map is in core
    has_object: np.ndarray  # 1 if it has a log on disk
    allocated: np.ndarray  # B, as of the last sync
    syncing: np.ndarray  # the same as of the sync that goes on
    deferred: np.ndarray  # B withheld
    prefetched: np.ndarray  # 1 if its log was read ahead
    next_dirty: np.ndarray  # [metaslab, txg mod 4]
    rotor: np.ndarray  # [class]: the vdev whose turn it is
    used_aliquot: np.ndarray  # [class]: B of this turn
    class_allocated: np.ndarray  # [class]
    class_space: np.ndarray  # [class]
    log: Log
    maps: SpaceMaps | None  # of the exact engine
    blocks: BlockMaps | None  # of the fast engine
    hint: np.ndarray  # [copy]: vdev to begin with, or NO_VDEV
    dva_vdev: np.ndarray  # [copy]: what was allocated last
    dva_offset: np.ndarray
    dva_bytes: np.ndarray
    failure: np.ndarray  # one: status of the first thing that cannot be, or 0
    counters: Counters


# ---- maps by number ----


@kernel
def alloc_map(pool, m, txg):
    """The map of what was allocated of metaslab `m` in that txg."""
    return (ALLOC_MAPS + txg % TXG_SIZE) * len(pool.weight) + m


@kernel
def free_map(pool, m, txg):
    """The map of what was freed of it in that txg."""
    return (FREE_MAPS + txg % TXG_SIZE) * len(pool.weight) + m


@kernel
def defer_map(pool, m, txg):
    """The map of what that txg freed of it and is withheld."""
    return (DEFER_MAPS + txg % N_DEFERS) * len(pool.weight) + m


@kernel
def ms_bytes(pool, m):
    """Size of a metaslab."""
    return 1 << pool.vdevs.ms_shift[pool.vdev[m]]


@kernel
def metaslab_at(pool, vdev, offset):
    """The metaslab that has that offset of a vdev."""
    return pool.vdevs.first_ms[vdev] + (offset >> pool.vdevs.ms_shift[vdev])
