"""Files of a database as they lie on a ZFS before a run: how long their records are, and their spread over the disks.

Files are written one after the other into an empty pool (`model.zfs.dmu.layout`), so that data lie packed at the front of
each vdev. A pool in which a database has been at work for long has them further apart. A metaslab's weight is its free
space, twice as much at the front of the vdev as at its end (spec 2.5). New blocks go where the weight is greatest. Suppose
that is all that counts. Then every metaslab at share x of the vdev up to X is filled until (1 - full) (2 - x) is what it is
at X. Nothing lies there yet. A share d of the vdev that is in use lies in its first X:

    d = X - (2 - X) log(2 / (2 - X)), nearly X^2 / 4;      packed: X = d

Between both everything is possible: a metaslab keeps its turn while blocks fit into it. `spread_pct` says how far it is from
one (0) to the other (100), by logarithms. Data are moved apart in pieces of 16 MiB.

A pool to scale has as long a way from one end of its data to the other as the large one. (`scale_pct`: so many hundredths
of it is what it stands for.)

New blocks lie in what is between the end of packed data and X, and in as much as there are data at least. Everything that is
rewritten comes to lie there.
"""

from functools import lru_cache

import numpy as np

from model.devices.data_sheet import SheetParams
from model.devices.sectors import SECTOR_BYTES
from model.devices.ssd import SsdParams
from model.filesystems.zfs import columns as fs
from model.filesystems.zfs.placement import metaslab_bytes, usable_bytes
from model.structures.sentinels import NOWHERE
from model.zfs.dmu.indirect import INDIRECT_BYTES, POINTER_BYTES, ROOT_POINTERS_FILE, ROOT_POINTERS_ZVOL, n_blocks_at
from model.zfs.dmu.layout import Layout, block_sizes, check_fits, indirect_bytes, new_space, number_blocks, write_file
from model.zfs.shared_numbers import POINTER_SHIFT
from model.zfs.txg.write_issue import time_between
from model.zfs.vdev.places import FRONT_BYTES, LEAF_SHIFT, OFFSET_MASK

INDIRECT_PACKS = 2  # times shorter that an indirect block is, compressed, before it was ever written
PIECE_BYTES = 2**24  # of a vdev: what stays together when data are spread out


# ---- records ----


def psize_of(record_bytes, compress_pct):
    """B of a record on disk; compression counts if it saves an eighth (spec 5.1)."""
    return _kept(record_bytes, -(-(record_bytes * compress_pct // 100) // SECTOR_BYTES) * SECTOR_BYTES)


def _kept(record_bytes, packed):
    return packed if packed <= record_bytes - record_bytes // 8 else -(-record_bytes // SECTOR_BYTES) * SECTOR_BYTES


def shorter(record_bytes, ratio):
    """The same where a ratio was measured, of which ends of sectors are a part: the number of sectors that is nearest."""
    return _kept(record_bytes, max(1, round(record_bytes / ratio / SECTOR_BYTES)) * SECTOR_BYTES)


def record_bytes_of(rows, settings):
    """Per file. A file shorter than a record has one block, as long as it is; but not on a zvol."""
    systems = np.full(len(rows), settings.record_bytes)
    systems[0] = settings.log_record_bytes if settings.own_log_system else settings.record_bytes
    return systems if settings.on_zvol else np.minimum(systems, -(-rows[:, 1] // SECTOR_BYTES) * SECTOR_BYTES)


def core_bytes_of(record_bytes, psizes, is_compressed, ashift):
    """Per file, of a record in core: with a compressed ARC as on disk, up to the end of a sector of the vdev."""
    on_disk = -(-psizes // (1 << ashift)) << ashift
    return np.minimum(record_bytes, on_disk) if is_compressed else record_bytes


def sync_cpu_ns(s, record_bytes, psize):
    """CPU that a group needs for a record: (by one thread after the other, by many at once)."""
    packed = record_bytes if psize < record_bytes else 0
    return s.sync_serial_ns, s.sync_io_ns + (s.checksum_ps * psize + s.pack_ps * packed) // 1000


def objects_of(rows, s):
    """Per file the first file of its object: itself, or of a zvol that which lies at its front."""
    files = np.arange(len(rows))
    return np.where(files < s.own_log_system, 0, s.own_log_system) if s.on_zvol else files


def of_file(rows, record_bytes, psizes, s, issue, numbered):
    """A row for each file: the columns `fs` that its calls look up, int64 (files, N_OF_FILE)."""
    table = np.zeros((len(rows), fs.N_OF_FILE), np.int64)
    table[:, fs.RING_BYTES] = -(-rows[:, 1] // record_bytes) * record_bytes
    table[:, fs.PAGE], table[:, fs.PSIZE] = rows[:, 2], psizes
    table[0, fs.INTENT_LOG] = s.own_log_system
    table[:, fs.OBJECT], table[:, fs.BEGIN] = objects_of(rows, s), numbered.first - numbered.base[:, 0]
    for row, n_bytes, psize in zip(table, record_bytes.tolist(), psizes.tolist(), strict=True):
        cpu = sync_cpu_ns(s, n_bytes, psize)
        row[fs.OF_RECORD], row[fs.SYNC_CPU] = time_between(issue, s.cpus, psize < n_bytes, *cpu), sum(cpu)
    return table


def number(rows, record_bytes, core_bytes, s, shift=POINTER_SHIFT):
    """Files of a zvol lie in it one behind the other. Indirect blocks are in core as they are on disk, where the ARC is
    compressed: about half as long."""
    in_core = (POINTER_BYTES << shift) // (INDIRECT_PACKS if s.compressed_arc else 1)
    n_records = np.maximum(1, -(-rows[:, 1] // record_bytes))
    roots = ROOT_POINTERS_ZVOL if s.on_zvol else ROOT_POINTERS_FILE
    _, object_of = np.unique(objects_of(rows, s), return_inverse=True)
    of_objects = np.bincount(object_of, n_records).astype(np.int64)
    objects = number_blocks(of_objects.tolist(), shift=shift, indirect_core_bytes=in_core, root_pointers=roots)
    return objects._replace(
        base=objects.base[object_of], first=np.cumsum(n_records) - n_records, n_levels=objects.n_levels[object_of],
        n_records_of=of_objects[object_of], record_bytes=record_bytes, core_bytes=core_bytes)


def blocks_of(files, numbers):
    """(numbers, level) of the blocks of each level of the objects of these files."""
    seen = set()
    for file in numbers:
        if (base := int(files.base[file, 0])) not in seen:
            seen.add(base)
            for level in range(files.n_levels[file]):
                n_blocks = n_blocks_at(int(files.n_records_of[file]), level, files.shift)
                yield files.base[file, level] + np.arange(n_blocks), level


def indirect_cpu_ns(s, shift):
    """CPU that a group needs for an indirect block: (by one thread after the other, by many at once). Longer ones than
    those of 16 KiB have more to be compressed, and half as much to be summed."""
    more = (POINTER_BYTES << shift) - INDIRECT_BYTES
    serial = min(s.sync_serial_ns, s.sync_indirect_ns)
    return serial, s.sync_indirect_ns - serial + (s.pack_ps + s.checksum_ps // INDIRECT_PACKS) * more // 1000


def empty_layout(files):
    """Nothing has a place."""
    n = files.n_blocks - files.n_records
    level = np.zeros(n, np.int64)
    for blocks, k in blocks_of(files, range(len(files.n_levels))):
        if k > 0:
            level[blocks - files.n_records] = k
    on_disk = np.full(n, indirect_bytes(files) // INDIRECT_PACKS)
    return Layout(np.full(files.n_blocks, NOWHERE), np.full(n, NOWHERE), on_disk, level)


@lru_cache
def _sizes(seed, record_bytes, n_vdevs, shift):
    return block_sizes(seed, record_bytes, n_leaves=n_vdevs, shift=shift)


def lay_out(files, existing, of_file, layout, group, numbers, seed, s):
    """Write the files of these numbers, one after the other, into the data vdevs. Gives (Sizes, where each vdev is full up
    to, in which B behind that new blocks are placed)."""
    sizes = _sizes(seed, s.log_record_bytes if numbers == [0] else s.record_bytes, group.n_vdevs, files.shift)
    space = new_space(group.n_vdevs * group.vdev.n_children, vdev=group.vdev)
    as_loaded = files._replace(n_records_of=existing)
    for file in numbers:
        if existing[file]:
            write_file(as_loaded, sizes._replace(record_bytes=int(of_file[file, 2])), layout, space, file)
    if isinstance(group.device, SheetParams | SsdParams):
        check_fits(space, group.device.disk_bytes)
    room = usable_bytes(group.vdev, group.device.disk_bytes)
    used = np.maximum(1, space.frontier - FRONT_BYTES)
    spans = np.array([span_bytes(int(n), room, s.scale_pct / 100, s.spread_pct / 100) for n in used])
    _spread_out(layout, files, numbers, np.maximum(1.0, spans / used))
    min_bytes = s.region_bytes or metaslab_bytes(room)
    return sizes, space.frontier, np.maximum(np.maximum(used, spans - used), min_bytes)


# ---- how far apart ----


def share_by_weight(used):
    """X for d: the share of a vdev over which that share of it is spread, if only weights count."""
    low, high = 0.0, 1.0
    while high - low > 1e-9:
        x = (low + high) / 2
        low, high = (x, high) if x - (2 - x) * np.log(2 / (2 - x)) < used else (low, x)
    return max(used, high)


def span_bytes(used_bytes, room_bytes, scale, spread):
    """B of a vdev of `room_bytes` over which its data lie."""
    packed = min(1.0, used_bytes * scale / room_bytes)
    return int(room_bytes * packed * (share_by_weight(packed) / packed) ** spread)


def _spread_out(layout, files, numbers, factors):
    """Move the blocks of these files apart, on each vdev by its factor."""
    blocks = np.concatenate([blocks for blocks, _ in blocks_of(files, numbers)])
    layout.place[blocks] = _moved(layout.place[blocks], factors)
    above = blocks[blocks >= files.n_records] - files.n_records
    layout.second[above] = _moved(layout.second[above], factors)


def _moved(places, factors):
    vdevs, offsets = places >> LEAF_SHIFT, (places & OFFSET_MASK) - FRONT_BYTES
    pieces = offsets // PIECE_BYTES
    moved = FRONT_BYTES + (pieces * factors[vdevs]).astype(np.int64) * PIECE_BYTES + offsets % PIECE_BYTES
    return np.where(places == NOWHERE, NOWHERE, vdevs << LEAF_SHIFT | moved)
