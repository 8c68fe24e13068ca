"""Where ZFS puts the blocks of a database: a pool that is nearly empty.

 1. The *rotor* stands at a top-level vdev and gives it space until 512 KiB for each of its disks have been given; then it
    goes on to the next vdev of the group (spec 2.2, 2.3).
 2. A vdev gives space in order of address, every piece aligned to the lowest set bit of its length. It begins where the
    files end, if they lie packed: log blocks, records that are written again, all alike, so that what is written at one
    time lies side by side. When a region is full (how long it is: `model.filesystems.zfs.file_layout`), it begins at
    its front again, where by then everything has been freed. (In ZFS what is not free is passed over; here it is taken
    to be free, as the pool is much larger than what is live of it. So blocks of spread files may lie under new ones.)
 3. Copies of one block go to the vdevs that follow; if there are not enough, to the same vdev an eighth of it further on
    (a *zone*; spec 2.3).
 4. A log block goes to the vdev after that of the block before it (spec 6.5).
 5. From OpenZFS 2.1 on a metaslab of each vdev of the main pool is set aside for log blocks: the emptiest when the pool is
    made or imported, of a new pool the first one, as here. So what a commit writes beside its log block lies elsewhere
    (a record with logbias=throughput, or of a long piece). So does what a group writes. A vdev below 32 GiB has none.
    (vdev.c, `vdev_metaslab_init`; pull request 11389)

What rule 4 does to commits that are flushed: on one disk a block lies behind the one before it; on several it lies
wherever that spindle happens to stand, half a revolution away on average. Blocks of the old log are written as long as
they are. So on one disk the next one comes too late for its sector and waits for a whole revolution: there more disks
are faster. The slim log gives 36 or 128 KiB and may write 8: then the next one is a fraction of a revolution away on
one disk. *More disks are slower* for small commits, by up to half a revolution each. A mirror waits for the later of
its spindles.
"""

import numpy as np

from model.filesystems.zfs import columns as fs
from model.filesystems.zfs.state import Places, vdev_of
from model.jit import kernel
from model.zfs.dmu.layout import ALIQUOT_BYTES
from model.zfs.vdev.places import BACK_BYTES, FRONT_BYTES, LEAF_SHIFT
from model.zfs.vdev.raid import RAIDZ, asize

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
def place(places, txg, group, n_bytes):
    """Rule 1: for the first copy of a block. `txg`: the open group, here and below."""
    vdev = places.rotor[group]
    where, given = _give(places, txg, vdev, 0, n_bytes)
    places.given[group] += given
    if places.given[group] >= ALIQUOT_BYTES * places.vdevs[vdev, fs.N_CHILDREN]:
        places.rotor[group], places.given[group] = _next_vdev(places, group, vdev), 0
    return where


@kernel
def place_of_copy(places, txg, group, first, copy, n_bytes):
    """Rule 3: for copy 1 or 2 of the block whose first one is at `first`."""
    begin, n = places.first_vdev[group], places.first_vdev[group + 1] - places.first_vdev[group]
    vdev = (first >> LEAF_SHIFT) - begin + copy
    return _give(places, txg, begin + vdev % n, copy // n, n_bytes)[0]


@kernel
def place_of_log_block(places, txg, group, log, n_bytes):
    """Rules 4 and 5."""
    last = places.log_vdev[log]
    is_there = places.first_vdev[group] <= last < places.first_vdev[group + 1]
    vdev = _next_vdev(places, group, last) if is_there else places.first_vdev[group]
    places.log_vdev[log] = vdev
    return _give(places, txg, vdev, LOG_ZONE if places.log_bytes[vdev] else 0, n_bytes)[0]


def metaslab_bytes(vdev_bytes):
    """The power of two above a two-hundredth."""
    return 1 << max(17, (vdev_bytes // METASLABS).bit_length())


def log_bytes(vdev_bytes):
    """Rule 5: B set aside for log blocks on a vdev of the main pool."""
    return metaslab_bytes(vdev_bytes) if vdev_bytes >= MIN_BYTES_FOR_LOG else 0


def usable_bytes(vdev, disk_bytes):
    """B that a vdev of such disks has."""
    of_disk = disk_bytes - FRONT_BYTES - BACK_BYTES
    return of_disk * (vdev.n_children if vdev.kind == RAIDZ else 1)


def new_places(vdevs, first_vdev, frontier, vdev_bytes, region_bytes, n_logs, log_bytes=0):
    """`frontier`: per vdev, where its files end, if they lie packed; `vdev_bytes`: per vdev, B that it has in all;
    `region_bytes`: per vdev, B in which new blocks are placed; `log_bytes`: B set aside for log blocks, 0 for none."""
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
        log_vdev=np.full(n_logs, -1))
