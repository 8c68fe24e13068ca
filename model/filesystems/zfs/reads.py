"""What a piece of a call needs in core, and how it is read: rule 1 of `model.filesystems.zfs.calls`.

From the top of the tree down (spec 5.2): an indirect block that is not in core is read, and waited for. So is the record, by
a reader. By a writer it is only if the piece does not cover it and it was ever written (`model.zfs.dmu.recordsize`, rule 1).
A process that wants what is being read waits for that. With primarycache=metadata a record is there for those who wait for
it, and gone (`model.zfs.arc.primarycache`). With each record that is read others may be read ahead:
`model.filesystems.zfs.read_ahead`.

What a processor does for who reads a block: something for each I/O, the check-sum of what came, and its decompression. Who
waits for another reader's has none of it. Where the ARC holds records compressed (OpenZFS 0.7), who finds one there
decompresses it again. Left out is the cache of decompressed ones (dbuf cache, a 32nd of the ARC).
"""

from model.events.queues import NOBODY
from model.filesystems.calls import (
    READ,
    WAL_CREATE,
)
from model.filesystems.zfs import columns as fs
from model.filesystems.zfs import stats as stat
from model.filesystems.zfs.cache_devices import count_cache_read, may_be_fed, place_on_cache
from model.filesystems.zfs.devices import read_block
from model.filesystems.zfs.read_ahead import absent_above, read_ahead, show, wake_joined, wants_more
from model.filesystems.zfs.state import LOOKS, READING, count, read_cpu_ns, work
from model.jit import kernel, part
from model.structures.sentinels import NOWHERE
from model.zfs.arc import columns as header
from model.zfs.arc.lists import PREFETCHED, in_core
from model.zfs.arc.primarycache import drop_unless_kept, is_kept
from model.zfs.dmu.dbuf import buffer_for, find
from model.zfs.dmu.dbuf import has_come as buffer_has_come
from model.zfs.dmu.layout import indirect_bytes, level_block


@kernel
def _offset(process, of_file, p):
    """In the file: a log begins at its front again."""
    return process[p, fs.AT] % of_file[process[p, fs.FILE], fs.RING_BYTES]


@kernel
def record_of(process, of_file, record_bytes, p):
    """The number of the record that the call of `p` is at, counted over all files."""
    file = process[p, fs.FILE]
    return of_file[file, fs.BEGIN] + _offset(process, of_file, p) // record_bytes[file]


@kernel
def piece_bytes(process, of_file, record_bytes, p):
    """How many bytes of the call of `p` lie in the record that it is at."""
    file, at = process[p, fs.FILE], _offset(process, of_file, p)
    n_bytes = min(process[p, fs.END] - process[p, fs.AT], record_bytes[file] - at % record_bytes[file])
    return min(n_bytes, of_file[file, fs.PAGE]) if process[p, fs.OPERATION] == WAL_CREATE else n_bytes


@part
def next_piece(m, p):
    """The call of `p` goes on to its next record, whose blocks are looked up from the top of the tree."""
    m.process[p, fs.LEVEL], m.process[p, fs.HAS_RECORD] = m.files.n_levels[m.process[p, fs.FILE]] - 1, 0
    m.process[p, fs.IS_SHOWN] = m.process[p, fs.ROW] = m.process[p, fs.N_FETCHES] = 0


@part
def _lowest(m, p, file, number):
    """The level down to which blocks must be in core."""
    if m.process[p, fs.OPERATION] == READ:
        return 0
    block = level_block(m.files, file, number, 0)
    is_new = m.layout.place[block] == NOWHERE and not in_core(m.arc, int(m.arc.node_of[block]))
    is_covered = piece_bytes(m.process, m.of_file, m.files.record_bytes, p) == m.files.record_bytes[file]
    return 1 if m.process[p, fs.HAS_RECORD] or is_new or is_covered else 0


@kernel
def join(process, joined, arc, p, node):
    """`p` waits for the block of `node`, which another task reads; so that it is not only read ahead any more."""
    reader = arc.nodes[node, header.READER] - 1
    process[p, fs.JOINED_BEFORE], process[p, fs.HAS_WAITED] = joined[reader], 1
    joined[reader] = p
    arc.nodes[node, header.MARKS] &= ~PREFETCHED


@part
def _where(m, block, file):
    """(place, B) of a block to be read. Of two copies on two vdevs it is one or the other, by its number."""
    if block < m.files.n_records:
        return m.layout.place[block], m.of_file[file, fs.PSIZE]
    i = block - m.files.n_records
    takes_second = m.places.first_vdev[1] > 1 and block & 1
    return m.layout.second[i] if takes_second else m.layout.place[block], m.layout.n_bytes[i]


@part
def _fetch(m, now, p, file, number, level):
    """Read the block of `level` above a record: whether it is there at once."""
    block = level_block(m.files, file, number, level)
    on_cache = place_on_cache(m.l2, m.l2_params, m.arc, m.places, block)
    node = buffer_for(m, now, file, number, level)
    may_be_fed(m.arc, m.places, m.s.secondarycache, node)
    place, n_bytes = _where(m, block, file)
    there = True
    if on_cache != NOWHERE:
        place, n_bytes = on_cache, count_cache_read(m.arc, m.tally, node, now)
    elif place != NOWHERE:
        count(m.tally, stat.METADATA_READS if level > 0 else stat.DATA_READS, 1, now)
        if level == 0 and m.process[p, fs.OPERATION] != READ:
            count(m.tally, stat.READ_FIRST, 1, now)
    if place != NOWHERE:
        there = read_block(m, now, place, n_bytes, 1 if level > 0 else 0, p, m.leaves.queue_params.sync_read_priority)
        in_full = indirect_bytes(m.files) if level > 0 else m.files.record_bytes[file]
        work(m.tally, m.cpu_ns, p, read_cpu_ns(m.s, m.leaves.n_awaited[p], n_bytes, in_full), now)
    if there:
        _has(m, now, p, node, level)
    else:
        m.arc.nodes[node, header.READER], m.process[p, fs.HAS_WAITED], m.process[p, fs.STAGE] = p + 1, 1, READING
    return there


@part
def _has(m, now, p, node, level):
    """`p` has the block that it read. An indirect block, be it above another record, takes away no record that it had."""
    buffer_has_come(m, now, node, 1)
    drop_unless_kept(m.arc, node, m.s.primarycache, level > 0)
    m.process[p, fs.HAS_RECORD] |= level == 0


@part
def block_came(m, now, p):
    """The block that `p` read is there: it goes on, and all that waited for it."""
    process, level = m.process, m.process[p, fs.LEVEL]
    above_other = process[p, fs.ABOVE_OTHER]
    number = above_other - 1 if above_other else record_of(m.process, m.of_file, m.files.record_bytes, p)
    node = int(m.arc.node_of[level_block(m.files, process[p, fs.FILE], number, level)])
    _has(m, now, p, node, level)
    process[p, fs.LEVEL] = -1 if above_other else level - 1
    process[p, fs.STAGE], process[p, fs.ABOVE_OTHER] = LOOKS, 0
    wake_joined(m.joined, process, m.ready, m.n_ready, p, level == 0 and not is_kept(m.s.primarycache, 0))


@part
def look(m, now, p):
    """Whether `p` has got all that its piece needs."""
    process, file, number = m.process, m.process[p, fs.FILE], record_of(m.process, m.of_file, m.files.record_bytes, p)
    lowest = _lowest(m, p, file, number)
    while process[p, fs.LEVEL] >= lowest:
        level = process[p, fs.LEVEL]
        node = int(m.arc.node_of[level_block(m.files, file, number, level)])
        is_found = in_core(m.arc, node)
        has_come = not is_found and _fetch(m, now, p, file, number, level)
        if level == 0:
            show(m, now, p, number, is_found)
            if wants_more(process, p):
                read_ahead(m, now, p)
        if is_found and m.arc.nodes[node, header.READER]:
            count(m.tally, stat.SHARED, 1, now)
            join(m.process, m.joined, m.arc, p, node)
            return False
        if is_found:
            find(m, now, node)
            if level == 0 and m.files.core_bytes[file] < m.files.record_bytes[file]:
                work(m.tally, m.cpu_ns, p, m.s.unpack_ps * m.files.record_bytes[file] // 1000, now)
            may_be_fed(m.arc, m.places, m.s.secondarycache, node)
        elif not has_come:
            return False
        process[p, fs.LEVEL] -= 1
    return True


@part
def reads_ahead(m, now, p):
    """Whether all that zfetch wanted with the piece of `p` is on its way. If not, `p` waits for a block above some of it."""
    number = read_ahead(m, now, p)
    while number != NOBODY:
        file, level = m.process[p, fs.FILE], absent_above(m.arc, m.files, m.process[p, fs.FILE], number)
        node = int(m.arc.node_of[level_block(m.files, file, number, level)])
        m.process[p, fs.ABOVE_OTHER] = number + 1
        m.process[p, fs.LEVEL] = level
        if in_core(m.arc, node):
            m.process[p, fs.ABOVE_OTHER], m.process[p, fs.LEVEL] = 0, -1
            join(m.process, m.joined, m.arc, p, node)
            return False
        if not _fetch(m, now, p, file, number, level):
            return False
        m.process[p, fs.ABOVE_OTHER], m.process[p, fs.LEVEL] = 0, -1
        number = read_ahead(m, now, p)
    return True
