"""Where ZFS puts the blocks of a database.

In a pool that is nearly empty:

 1. The *rotor* stands at a top-level vdev and gives it space until 512 KiB for each of its disks have been given. Then it
    goes on to the next vdev of the group (spec 2.2, 2.3).
 2. A vdev gives space in order of address, every piece aligned to the lowest set bit of its length. It begins where the
    files end, if they lie packed. Log blocks and records that are written again are all alike, so that what is written at
    one time lies side by side. When a region is full (how long it is: `model.filesystems.zfs.file_layout`), it begins at its
    front again, where by then everything has been freed. (In ZFS what is not free is passed over. Here it is taken to be
    free, as the pool is much larger than what is live of it. So blocks of spread files may lie under new ones.)
 3. Copies of one block go to the vdevs that follow. If there are not enough, they go to the same vdev an eighth of it
    further on (a *zone*; spec 2.3).
 4. A log block goes to the vdev after that of the block before it (spec 6.5).
 5. From OpenZFS 2.1 on a metaslab of each vdev of the main pool is set aside for log blocks. It is the emptiest when the
    pool is made or imported, of a new pool the first one, as here. So what a commit writes beside its log block lies
    elsewhere (a record with logbias=throughput, or of a long piece). So does what a group writes. A vdev below 32 GiB has
    none. (vdev.c, `vdev_metaslab_init`; pull request 11389)

What rule 4 does to commits that are flushed: on one disk a block lies behind the one before it. On several it lies wherever
that spindle happens to stand, half a revolution away on average. Blocks of the old log are written as long as they are. So
on one disk the next one comes too late for its sector and waits for a whole revolution: there more disks are faster. The
slim log gives 36 or 128 KiB and may write 8. Then the next one is a fraction of a revolution away on one disk. *More disks
are slower* for small commits, by up to half a revolution each. A mirror waits for the later of its spindles.

Where the data vdevs of a pool are filled (`Places.space`), the allocator itself picks in their free space
(`model.zfs.metaslab`). Then these rules stand for rules 1 to 4:

 6. What the sync thread writes is allocated in the group that is synced, all else in the open one.
 7. What this run wrote and replaces is freed in the open group. So are blocks of the pool, which every group writes anew, at
    once; and log blocks when they leave their chain. What lay in the pool before stays: nobody knows what it lay between.
 8. A block that no free segment is long enough for would be a gang. It is counted, and such a run is not taken
    (`model.filesystems.zfs.store.check_end`).

The metaslab of rule 5 stays empty but for the log, since nothing else was ever put there.
"""

import numpy as np

from model.filesystems.zfs import columns as fs
from model.filesystems.zfs.state import DATA, Places, vdev_of
from model.jit import either, kernel, part
from model.zfs.dmu.layout import ALIQUOT_BYTES
from model.zfs.metaslab.metaslab_class import NO_HINT, allocate, allocate_copy, allocate_log, free
from model.zfs.metaslab.metaslab_class import asize as asize_in
from model.zfs.metaslab.state import NORMAL
from model.zfs.metaslab.sync import sync_txg
from model.zfs.space.status import OK
from model.zfs.vdev.places import BACK_BYTES, FRONT_BYTES, LEAF_SHIFT, OFFSET_MASK
from model.zfs.vdev.raid import RAIDZ, VdevParams, asize

N_ZONES = 3
LOG_ZONE = 3  # rule 5
DISTANCE_SHIFT = 3  # zones are an eighth of a vdev apart
METASLABS = 200  # spec 2.1
MIN_BYTES_FOR_LOG = 64 * 2**29  # B, of a vdev: 64 metaslabs (zfs_embedded_slog_min_ms), of 512 MiB or more in OpenZFS


@kernel
def _give(places, txg, vdev, zone, n_bytes):
    """Rule 2: (place, B given)."""
    n_bytes = asize(vdev_of(places.vdevs, vdev), n_bytes)
    alignment = n_bytes & -n_bytes
    offset = (places.frontier[vdev, zone] + alignment - 1) & -alignment
    room = places.log_bytes[vdev] if zone == LOG_ZONE else places.region_bytes[vdev]
    if offset + n_bytes > places.first[vdev, zone] + room:
        offset = (places.first[vdev, zone] + alignment - 1) & -alignment
    places.frontier[vdev, zone] = offset + n_bytes
    places.vdevs[vdev, fs.TOUCHED_IN] = txg
    return vdev << LEAF_SHIFT | offset, n_bytes


@kernel
def _next_vdev(places, group, vdev):
    return vdev + 1 if vdev + 1 < places.first_vdev[group + 1] else places.first_vdev[group]


@kernel
def _place_in_order(places, open_txg, txg, group, n_bytes):
    """Rule 1."""
    vdev = places.rotor[group]
    where, given = _give(places, open_txg, vdev, 0, n_bytes)
    places.given[group] += given
    if places.given[group] >= ALIQUOT_BYTES * places.vdevs[vdev, fs.N_CHILDREN]:
        places.rotor[group], places.given[group] = _next_vdev(places, group, vdev), 0
    return where


@kernel
def _copy_in_order(places, open_txg, txg, group, first, copy, n_bytes):
    """Rule 3."""
    begin, n = places.first_vdev[group], places.first_vdev[group + 1] - places.first_vdev[group]
    vdev = (first >> LEAF_SHIFT) - begin + copy
    return _give(places, open_txg, begin + vdev % n, copy // n, n_bytes)[0]


@kernel
def _log_block_in_order(places, open_txg, group, log, n_bytes):
    """Rules 4 and 5."""
    last = places.log_vdev[log]
    is_there = places.first_vdev[group] <= last < places.first_vdev[group + 1]
    vdev = _next_vdev(places, group, last) if is_there else places.first_vdev[group]
    places.log_vdev[log] = vdev
    return _give(places, open_txg, vdev, LOG_ZONE if places.log_bytes[vdev] else 0, n_bytes)[0]


# ---- rules 6 to 8 ----


@kernel
def _given(places, open_txg, copy):
    """Where the allocator has put that copy."""
    vdev = places.space.dva_vdev[copy]
    places.vdevs[vdev, fs.TOUCHED_IN] = open_txg
    return vdev << LEAF_SHIFT | (places.space.dva_offset[copy] + FRONT_BYTES)


@part
def _place_in_space(places, open_txg, txg, group, n_bytes):
    if group != DATA or places.n_gangs[0]:
        return _place_in_order(places, open_txg, txg, group, n_bytes)
    if allocate(places.space, txg, n_bytes, 1, NO_HINT) != OK:
        places.n_gangs[0] += 1
        return _place_in_order(places, open_txg, txg, group, n_bytes)
    return _given(places, open_txg, 0)


@part
def _copy_in_space(places, open_txg, txg, group, first, copy, n_bytes):
    if group != DATA or places.n_gangs[0]:
        return _copy_in_order(places, open_txg, txg, group, first, copy, n_bytes)
    if allocate_copy(places.space, NORMAL, txg, n_bytes, copy, False) != OK:
        places.n_gangs[0] += 1
        return _copy_in_order(places, open_txg, txg, group, first, copy, n_bytes)
    return _given(places, open_txg, copy)


@kernel
def _is_in_space(places, group):
    """Whether log blocks of the group are between other blocks."""
    return group == DATA and places.log_bytes[0] == 0 and places.n_gangs[0] == 0


@part
def _log_block_in_space(places, open_txg, group, log, n_bytes):
    if not _is_in_space(places, group):
        return _log_block_in_order(places, open_txg, group, log, n_bytes)
    last = places.log_vdev[log]
    hint = last if last < places.first_vdev[DATA + 1] else NO_HINT
    if allocate_log(places.space, open_txg, n_bytes, hint, False) != OK:
        places.n_gangs[0] += 1
        return _log_block_in_order(places, open_txg, group, log, n_bytes)
    places.log_vdev[log] = places.space.dva_vdev[0]
    return _given(places, open_txg, 0)


@part
def _free(places, open_txg, where, n_bytes):
    vdev = where >> LEAF_SHIFT
    if places.n_gangs[0] == 0:
        free(places.space, open_txg, vdev, (where & OFFSET_MASK) - FRONT_BYTES, asize_in(places.space, vdev, n_bytes))


@part
def _free_old_of_space(places, open_txg, block, where, n_bytes):
    if places.is_new[block]:
        _free(places, open_txg, where, n_bytes)


@kernel
def _is_new_in_space(places, block):
    places.is_new[block] = 1


@part
def _free_log_block_of_space(places, open_txg, where, n_bytes):
    if where >> LEAF_SHIFT < places.first_vdev[DATA + 1] and _is_in_space(places, DATA):
        _free(places, open_txg, where, n_bytes)


@part
def _end_in_space(places, txg):
    sync_txg(places.space, txg)


# ---- in a pool that is nearly empty nothing is noted ----


@kernel
def _no_free(places, open_txg, where, n_bytes):
    return


@kernel
def _no_free_of_block(places, open_txg, block, where, n_bytes):
    return


@kernel
def _not_noted(places, number):
    return


# ---- what others call ----

# (places, open group, group that it belongs to, group of vdevs, B): the place of the first copy of a block
place = either("space", _place_in_order, _place_in_space)
# (…, place of the first copy, number of this one, B): of copy 1 or 2, right after the copy before
place_of_copy = either("space", _copy_in_order, _copy_in_space)
# (places, open group, group of vdevs, intent log, B)
place_of_log_block = either("space", _log_block_in_order, _log_block_in_space)
# (places, open group, block, where it lay, B): of a block of a file that gets a new place
free_old = either("space", _no_free_of_block, _free_old_of_space)
# (places, block): it has been given its place in this run
note_new = either("space", _not_noted, _is_new_in_space)
# (places, open group, where, B): of a block that belongs to no file
free_other = either("space", _no_free, _free)
free_log_block = either("space", _no_free, _free_log_block_of_space)
# (places, group): it is on disk
end_group = either("space", _not_noted, _end_in_space)


def metaslab_bytes(vdev_bytes):
    """The power of two above a two-hundredth."""
    return 1 << max(17, (vdev_bytes // METASLABS).bit_length())


def log_bytes(vdev_bytes: int) -> int:
    """Rule 5: B set aside for log blocks on a vdev of the main pool."""
    return metaslab_bytes(vdev_bytes) if vdev_bytes >= MIN_BYTES_FOR_LOG else 0


def usable_bytes(vdev: VdevParams, disk_bytes: int) -> int:
    """B that a vdev of such disks has."""
    of_disk = disk_bytes - FRONT_BYTES - BACK_BYTES
    return of_disk * (vdev.n_children if vdev.kind == RAIDZ else 1)


def new_places(vdevs, first_vdev, frontier, vdev_bytes, region_bytes, n_logs, log_bytes=0, space=None, n_blocks=0):
    """`frontier`: per vdev, where its files end, if they lie packed. `vdev_bytes`: per vdev, B that it has in all.
    `region_bytes`: per vdev, B in which new blocks are placed. `log_bytes`: B set aside for log blocks, 0 for none. `space`:
    of the data vdevs, if they are filled, for `n_blocks` of files."""
    distance, n_groups = np.array(vdev_bytes, np.int64) >> DISTANCE_SHIFT, len(first_vdev) - 1
    log_bytes = np.zeros(len(frontier), np.int64) + log_bytes
    first = np.maximum(frontier, FRONT_BYTES + log_bytes)[:, None] + np.arange(N_ZONES) * distance[:, None]
    room = np.array(vdev_bytes, np.int64)
    region = np.clip(region_bytes, 0, np.maximum(room // 16, room - first[:, -1]))
    first = np.maximum(FRONT_BYTES, np.minimum(first, (room - region)[:, None]))
    first = np.column_stack((first, np.full(len(room), FRONT_BYTES)))
    return Places(
        vdevs=vdevs, first_vdev=first_vdev, frontier=first.copy(), first=first, region_bytes=region,
        log_bytes=log_bytes, rotor=first_vdev[:n_groups].copy(), given=np.zeros(n_groups, np.int64),
        log_vdev=np.full(n_logs, -1), space=space, n_gangs=np.zeros(1, np.int64),
        is_new=np.zeros(n_blocks if space else 0, np.uint8))
