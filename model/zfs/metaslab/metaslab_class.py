"""A class of vdevs: whose turn it is; copies; frees (spec 2.3).

 1. The vdevs of a class stand in a ring. The *rotor* is the one whose turn it is. It is handed on when the vdev has given
    its *aliquot*, half a MiB for each of its disks. A *bias* is up to a quarter more if the vdev is emptier than the class,
    or less if it is fuller. How full they are is looked at when a turn begins. Up to hg 10921 a log vdev is compared with
    the normal class.
 2. The first copy of a block begins at the rotor, a further one at the vdev behind that of the copy before. A block may
    have a hint instead: a vdev to begin with (or the one behind it).
 3. A vdev that has no room: the one behind it is tried, and the rotor moves on, too.
 4. Copies on one vdev keep a distance of 1/8 of it. If that leaves no room on any vdev, of 1/16, and so on.
 5. Whatever was allocated counts for the turn of the class, wherever it went, and can end it. The rotor then stands behind
    the vdev that was used.
 6. A block has all of its copies or none. Those that were found are undone, that is, free at once.
 7. To free is to note it in the txg; `model.zfs.metaslab.sync` says when the space comes back.
 8. A vdev that is added stands behind the rotor, and becomes it. It has no room until the txg in which it was added is
    synced. In the txg in which the pool is created it has room at once.

In ZFS: metaslab.c (`metaslab_alloc`, `metaslab_alloc_dva`, `metaslab_free_dva`; `metaslab_class_add`, later
`metaslab_group_activate`; `metaslab_init`), vdev.c (`vdev_space_update`: what the root vdev counts).
"""

from model.jit import kernel, part
from model.structures.sentinels import NOWHERE
from model.zfs.metaslab.metaslab_group import allocate_in_group, mark_dirty, open_vdev
from model.zfs.metaslab.state import ADDED, LOG, MAX_COPIES, NO_VDEV, NORMAL, ROOT_VDEV, alloc_map, metaslab_at
from model.zfs.metaslab.state import free_map as map_of_frees
from model.zfs.shared_numbers import FIRST_TXG
from model.zfs.space import free_map
from model.zfs.space.status import NO_SPACE, OK, note
from model.zfs.vdev.raid import VdevParams
from model.zfs.vdev.raid import asize as asize_of

NO_HINT = NO_VDEV
SHARE_BITS = 10  # how full is counted in 1/1024


@kernel
def asize(pool, vdev, psize):
    """B that `psize` B take of a vdev."""
    vdevs = pool.vdevs
    return asize_of(VdevParams(vdevs.kind[vdev], vdevs.n_children[vdev], vdevs.n_parity[vdev], vdevs.ashift[vdev]), psize)


@kernel
def _toward_zero(dividend, divisor):
    """The quotient as C has it."""
    return dividend // divisor if dividend >= 0 else -(-dividend // divisor)


@part
def _bias(pool, vdev, aliquot):
    """B more than the aliquot for a vdev whose turn begins (rule 1)."""
    if pool.params.bias_divisor == 0:
        return 0
    vdevs, which = pool.vdevs, NORMAL
    if pool.params.bias_against != ROOT_VDEV:
        which = vdevs.metaslab_class[vdev]
    of_vdev = (vdevs.allocated[vdev] << SHARE_BITS) // ((vdevs.n_ms[vdev] << vdevs.ms_shift[vdev]) + 1)
    of_class = (pool.class_allocated[which] << SHARE_BITS) // (pool.class_space[which] + 1)
    return _toward_zero((of_class - of_vdev) * aliquot, pool.params.bias_divisor << SHARE_BITS)


@kernel
def _hand_on(pool, which, vdev):
    """It is the turn of the vdev behind."""
    pool.rotor[which] = pool.vdevs.following[vdev]
    pool.used_aliquot[which] = 0


@part
def _count_turn(pool, which, vdev, n_bytes):
    aliquot = pool.params.aliquot_bytes * max(1, pool.vdevs.n_children[vdev])
    if pool.used_aliquot[which] == 0:
        pool.vdevs.bias[vdev] = _bias(pool, vdev, aliquot)
    pool.used_aliquot[which] += n_bytes
    if pool.used_aliquot[which] >= aliquot + pool.vdevs.bias[vdev]:
        _hand_on(pool, which, vdev)


@part
def _first_vdev(pool, which, copy, avoids):
    """Rule 2."""
    vdev = pool.hint[copy]
    if vdev != NO_VDEV and avoids:
        vdev = pool.vdevs.following[vdev]
    elif vdev == NO_VDEV and copy > 0:
        vdev = pool.vdevs.following[pool.dva_vdev[copy - 1]]
    if vdev == NO_VDEV or pool.vdevs.metaslab_class[vdev] != which:
        return pool.rotor[which]
    return vdev


@kernel
def _distance(pool, vdev, shift):
    """How far copies on a vdev have to be apart: a share of it, unless that is less than two metaslabs."""
    distance = pool.vdevs.asize[vdev] >> shift
    return 0 if distance <= 1 << pool.vdevs.ms_shift[vdev] else distance


@kernel
def _set_dva(pool, copy, vdev, offset, n_bytes):
    pool.dva_vdev[copy], pool.dva_offset[copy], pool.dva_bytes[copy] = vdev, offset, n_bytes


@part
def allocate_copy(pool, which, txg, psize, copy, avoids):
    """One DVA; those of the earlier copies are in the pool."""
    begin = _first_vdev(pool, which, copy, avoids)
    shift, any_distance = pool.params.ditto_shift, True
    while any_distance and pool.failure[0] == OK:
        any_distance, vdev, tried_all = False, begin, False
        while not tried_all:
            distance = _distance(pool, vdev, shift)
            any_distance = any_distance or distance > 0
            n_bytes = asize(pool, vdev, psize)
            offset = allocate_in_group(pool, vdev, txg, n_bytes, distance, copy)
            if offset != NOWHERE:
                _count_turn(pool, which, vdev, n_bytes)
                _set_dva(pool, copy, vdev, offset, n_bytes)
                return OK
            _hand_on(pool, which, vdev)
            vdev = pool.vdevs.following[vdev]
            tried_all = vdev == begin
        shift += 1
    return NO_SPACE


@kernel
def undo(pool, txg, vdev, offset, n_bytes):
    """Free at once what was allocated in the same txg."""
    m = metaslab_at(pool, vdev, offset)
    note(pool, free_map.unput(pool, alloc_map(pool, m, txg), offset, offset + n_bytes))
    note(pool, free_map.give(pool, m, offset, offset + n_bytes))


@kernel
def allocate_from(pool, which, txg, psize, n_copies, avoids):
    """Copies of a block from a class of vdevs; hints are in `pool.hint`. OK, NO_SPACE, or what `pool.failure` says."""
    if pool.rotor[which] == NO_VDEV:
        return NO_SPACE
    for copy in range(n_copies):
        if allocate_copy(pool, which, txg, psize, copy, avoids) != OK:
            for earlier in range(copy - 1, -1, -1):
                undo(pool, txg, pool.dva_vdev[earlier], pool.dva_offset[earlier], pool.dva_bytes[earlier])
            return NO_SPACE if pool.failure[0] == OK else pool.failure[0]
    return pool.failure[0]


@kernel
def set_hint(pool, vdev):
    """Begin the search for each copy at that vdev; NO_HINT ends that."""
    for copy in range(MAX_COPIES):
        pool.hint[copy] = vdev


@part
def allocate(pool, txg, psize, n_copies, hint_vdev):
    """`n_copies` of a block of `psize` B, in that txg. OK: they are in pool.dva_vdev, pool.dva_offset, pool.dva_bytes;
    NO_SPACE: nothing was allocated; anything else is a failure of the model."""
    set_hint(pool, hint_vdev)
    return allocate_from(pool, NORMAL, txg, psize, n_copies, False)


@kernel
def allocate_log(pool, txg, psize, hint_vdev, uses_slog):
    """A block of the intent log: of the log class, if there is one that is not full and `uses_slog`, else of the normal one.
    It is not on the vdev of the block before, which is the hint, but on the one behind it (spec 6.5)."""
    set_hint(pool, hint_vdev)
    if uses_slog:
        status = allocate_from(pool, LOG, txg, psize, 1, True)
        if status != NO_SPACE:
            return status
    return allocate_from(pool, NORMAL, txg, psize, 1, True)


@kernel
def free(pool, txg, vdev, offset, n_bytes):
    """Free `n_bytes` (asize) that were allocated at an offset of a vdev. OVERLAP if that txg freed them already."""
    m = metaslab_at(pool, vdev, offset)
    freed = map_of_frees(pool, m, txg)
    if free_map.space(pool, freed) == 0:
        mark_dirty(pool, m, txg)
    return free_map.put(pool, freed, offset, offset + n_bytes)


@kernel
def add_vdev(pool, vdev, txg):
    """Rule 8; `txg` is the open one."""
    which, vdevs = pool.vdevs.metaslab_class[vdev], pool.vdevs
    rotor = pool.rotor[which]
    if rotor != NO_VDEV:
        vdevs.following[vdev] = vdevs.following[rotor]
        vdevs.following[rotor] = vdev
    pool.rotor[which] = vdev
    vdevs.presence[vdev] = ADDED
    if txg <= FIRST_TXG:
        open_vdev(pool, vdev)
