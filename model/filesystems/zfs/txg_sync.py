"""Transaction groups of a ZFS under a database: when one ends, and what is written, in stages.

 1. *Files.* Records and the indirect blocks above them, one after the other as threads get them ready
    (`model.zfs.txg.write_issue`), children before their parent (`model.zfs.dmu.dirty`). Indirect blocks in two copies. What
    the intent log has written already, and nobody has dirtied since, is only taken over, which costs the sync thread alone.
    Then the dnode block, and the six levels of the meta-dnode above it (five where indirect blocks are of 128 KiB). Then the
    root of each file system, in two copies. Wait for all.
 2. *MOS*, three times: dnodes of data sets and space maps, space maps of the metaslabs that were taken from, root; three
    copies. Wait each time.
 3. Wait until no log block that this group gave a place is unwritten (`may_sync`).
 4. *Flush* every vdev that was given space in the group; wait. *Uberblock*: four labels of every device of one vdev, or
    three; wait. Flush these; wait. Then the group is on disk.

When a group ends: `model.filesystems.zfs.txg_timing`.

In ZFS: spa.c, `spa_sync`; spec 5.3 to 5.6. Sizes of the pool's own blocks: spec 5.1 and 5.3; their number does not grow with
what is written, but for space maps. Left out: frees, deferred frees, in-place rewriting by later passes (new places
instead). Which vdevs get the uberblock is not drawn, they are the first ones.
"""

from model.events import ring
from model.events.calendar import NEVER, set_time
from model.filesystems.zfs import columns as fs
from model.filesystems.zfs import stats as stat
from model.filesystems.zfs.devices import ios_left, is_clean
from model.filesystems.zfs.placement import end_group, free_log_block, free_old, free_other, note_new, place, place_of_copy
from model.filesystems.zfs.state import (
    DATA,
    DONE_STAGE,
    FILES_STAGE,
    FLUSH_STAGE,
    LOG_STAGE,
    MOS_STAGE,
    SECOND_FLUSH_STAGE,
    SPARE_IOS,
    UBERBLOCK_STAGE,
    count,
    wake_waiting,
)
from model.filesystems.zfs.tasks import chain_task
from model.filesystems.zfs.vdev_writes import BLOCK as BLOCK_WANTED
from model.filesystems.zfs.vdev_writes import LABEL as LABEL_WANTED
from model.filesystems.zfs.vdev_writes import VDEV_FLUSH, want
from model.jit import kernel, part
from model.structures.sentinels import NIL
from model.zfs.arc.arc import make_anonymous
from model.zfs.arc.primarycache import is_kept
from model.zfs.dmu import columns as dirtied
from model.zfs.dmu.dbuf import copy_written
from model.zfs.dmu.dirty import advance
from model.zfs.dmu.indirect import meta_dnode_levels
from model.zfs.dmu.layout import file_of
from model.zfs.txg import columns as throttled
from model.zfs.txg.throttle import DIRTY_DATA, T2, T3, group_written, open_group, wants_sync
from model.zfs.vdev.leaves import FOR_TXG
from model.zfs.vdev.places import LEAF_SHIFT
from model.zfs.zil import columns as intent
from model.zfs.zil.commit import forget, group_synced, may_sync

FILE_COPIES, MOS_COPIES, MOS_PASSES = 2, 3, 3  # spec 5.4, 5.5
DNODE_BLOCK, ONE_POINTER, SPACE_MAP = 1536, 1024, 4096  # B on disk: spec 5.1 (a few dnodes; one pointer); spec 5.3. One
#   pointer among zeros is as long by LZJB in 16 KiB as by LZ4, OpenZFS's for metadata, in 128 KiB. LZJB takes 2 B for 66
#   of them, LZ4 1 B for 255.
METASLABS_TOUCHED = 2  # per vdev: one gives, one gets back
LABEL, RING, UBERBLOCK = 2**18, 2**17, 1024  # B: a label, where uberblocks begin in it, one of them
N_UBERBLOCKS = RING // UBERBLOCK


# ---- what it writes ----


@part
def _write_record(m, now, entry, block):
    file = file_of(m.files.first, block)
    n_bytes = m.of_file[file, fs.PSIZE]
    count(m.tally, stat.RECORDS, 1, now)
    if m.txgs.entries[entry, dirtied.ABOVE] != NIL:
        m.n_rewritten[m.txgs.entries[m.txgs.entries[entry, dirtied.ABOVE], dirtied.BLOCK] - m.files.n_records] += 1
    if m.early_in[block] == m.txgs.syncing[0]:
        count(m.tally, stat.EARLY, 1, now)
        m.txgs.entries[entry, dirtied.WRITING] = 1
        copy_written(m, now, entry, is_kept(m.s.primarycache, 0))
        if m.txg_params.rule == DIRTY_DATA:
            is_clean(m, block)
        return
    free_old(m.places, m.txgs.open_txg[0], block, m.layout.place[block], n_bytes)
    where = place(m.places, m.txgs.open_txg[0], m.txgs.syncing[0], DATA, n_bytes)
    note_new(m.places, block)
    m.layout.place[block] = where
    count(m.tally, stat.RECORD_BYTES, n_bytes, now)
    _want_copy(m.wanted, m.n_wanted, m.leaves.queue_params, where, n_bytes, entry)


@kernel
def _want_copy(wanted, n_wanted, queue_params, where, n_bytes, entry):
    want(wanted, n_wanted, BLOCK_WANTED, where, n_bytes, FOR_TXG, queue_params.async_write_priority, entry)


@part
def _write_indirect(m, now, entry, block):
    i = block - m.files.n_records
    n_bytes = m.l1_bytes[min(m.n_rewritten[i], len(m.l1_bytes) - 1)] if m.layout.level[i] == 1 else m.layout.n_bytes[i]
    free_old(m.places, m.txgs.open_txg[0], block, m.layout.place[block], m.layout.n_bytes[i])
    free_old(m.places, m.txgs.open_txg[0], block, m.layout.second[i], m.layout.n_bytes[i])
    first = place(m.places, m.txgs.open_txg[0], m.txgs.syncing[0], DATA, n_bytes)
    second = place_of_copy(m.places, m.txgs.open_txg[0], m.txgs.syncing[0], DATA, first, 1, n_bytes)
    note_new(m.places, block)
    m.layout.place[block], m.layout.second[i], m.layout.n_bytes[i] = first, second, n_bytes
    count(m.tally, stat.INDIRECT, 1, now)
    count(m.tally, stat.INDIRECT_WRITTEN_BYTES, FILE_COPIES * n_bytes, now)
    _want_copy(m.wanted, m.n_wanted, m.leaves.queue_params, first, n_bytes, entry)
    _want_copy(m.wanted, m.n_wanted, m.leaves.queue_params, second, n_bytes, entry)
    make_anonymous(m.arc, int(m.arc.node_of[block]))


@part
def _write_pool_blocks(m, now, n_blocks, n_bytes, copies):
    """The pool's own."""
    for _ in range(n_blocks):
        first = place(m.places, m.txgs.open_txg[0], m.txgs.syncing[0], DATA, n_bytes)
        for copy in range(copies):
            where = first
            if copy:
                where = place_of_copy(m.places, m.txgs.open_txg[0], m.txgs.syncing[0], DATA, first, copy, n_bytes)
            free_other(m.places, m.txgs.open_txg[0], where, n_bytes)
            _want_copy(m.wanted, m.n_wanted, m.leaves.queue_params, where, n_bytes, NIL)
    count(m.tally, stat.POOL_BLOCKS, n_blocks, now)
    count(m.tally, stat.POOL_BYTES, n_blocks * copies * n_bytes, now)


@part
def _write_next(m, now):
    """The block at the cursor."""
    entry = m.txgs.cursor[0]
    block = m.txgs.entries[entry, dirtied.BLOCK]
    if block < m.files.n_records:
        file, is_early = file_of(m.files.first, block), m.early_in[block] == m.txgs.syncing[0]
        _write_record(m, now, entry, block)
        cost = m.s.sync_serial_ns if is_early else m.of_file[file, fs.OF_RECORD]
        cpu_ns = m.s.sync_serial_ns if is_early else m.of_file[file, fs.SYNC_CPU]
    else:
        _write_indirect(m, now, entry, block)
        cost, cpu_ns = m.indirect_ns, m.indirect_cpu_ns
    count(m.tally, stat.SYNC_CPU_NS, cpu_ns, now)
    m.owed[0] += cpu_ns * m.s.shares_cpus
    advance(m.txgs)
    if m.txgs.cursor[0] == NIL:
        for _ in range(m.zil.logs.shape[0]):
            _write_pool_blocks(m, now, 1, DNODE_BLOCK, FILE_COPIES)
            _write_pool_blocks(m, now, meta_dnode_levels(m.files.shift) + 1, ONE_POINTER, FILE_COPIES)
    set_time(m.calendar, m.sources.sync, now + cost)


@kernel
def _is_touched(vdevs, syncing, vdev):
    return vdevs[vdev, fs.TOUCHED_IN] >= syncing[0]


@part
def _write_mos(m, now):
    _write_pool_blocks(m, now, 2, DNODE_BLOCK, MOS_COPIES)
    _write_pool_blocks(m, now, 2, ONE_POINTER, MOS_COPIES)
    for vdev in range(len(m.places.vdevs)):
        if _is_touched(m.places.vdevs, m.txgs.syncing, vdev):
            _write_pool_blocks(m, now, METASLABS_TOUCHED, SPACE_MAP, MOS_COPIES)


@part
def _write_uberblock(m):
    slot = m.txgs.syncing[0] % N_UBERBLOCKS * UBERBLOCK + RING
    for vdev in range(_uberblock_vdevs(m)):
        for child in range(m.places.vdevs[vdev, fs.N_CHILDREN]):
            leaf = m.places.vdevs[vdev, fs.FIRST_LEAF] + child
            end = m.leaf_bytes[leaf] // LABEL * LABEL
            for label in range(4):
                begin = label * LABEL if label < 2 else end - (4 - label) * LABEL
                want(m.wanted, m.n_wanted, LABEL_WANTED, leaf << LEAF_SHIFT | begin + slot, UBERBLOCK, FOR_TXG,
                     m.leaves.queue_params.sync_write_priority, NIL)


@part
def _uberblock_vdevs(m):
    return min(m.txg_params.uberblock_vdevs, m.places.first_vdev[1])


@part
def _flush(m, n_vdevs, only_touched):
    """The first `n_vdevs` vdevs, or those of them that were given space in this group."""
    for vdev in range(n_vdevs):
        if not m.s.no_cache_flush and (_is_touched(m.places.vdevs, m.txgs.syncing, vdev) or not only_touched):
            want(m.wanted, m.n_wanted, VDEV_FLUSH, vdev, 0, FOR_TXG, 0, NIL)


# ---- stages ----


@kernel
def _may_end(zil, syncing):
    """Stage 3."""
    may = True
    for log in range(zil.logs.shape[0]):
        may &= may_sync(zil, log, syncing[0])
    return may


@part
def _next_stage(m, now):
    """All of a stage is on disk: the next one begins."""
    stage = m.sync[fs.SYNC_STAGE]
    if stage == FILES_STAGE or (stage == MOS_STAGE and m.sync[fs.MOS_PASS] < MOS_PASSES):
        m.sync[fs.SYNC_STAGE] = MOS_STAGE
        m.sync[fs.MOS_PASS] += 1
        _write_mos(m, now)
        return
    if stage == MOS_STAGE:
        if m.txg_params.rule == T3:
            _count_sync(m, now)
        m.sync[fs.SYNC_STAGE] = LOG_STAGE
    elif stage == LOG_STAGE and _may_end(m.zil, m.txgs.syncing):
        m.sync[fs.SYNC_STAGE] = FLUSH_STAGE
        _flush(m, len(m.places.vdevs), 1)
    elif stage == FLUSH_STAGE:
        m.sync[fs.SYNC_STAGE] = UBERBLOCK_STAGE
        _write_uberblock(m)
    elif stage == UBERBLOCK_STAGE:
        m.sync[fs.SYNC_STAGE] = SECOND_FLUSH_STAGE
        _flush(m, _uberblock_vdevs(m), 0)
    elif stage == SECOND_FLUSH_STAGE:
        m.sync[fs.SYNC_STAGE] = DONE_STAGE
        _end_sync(m, now)


@part
def _count_sync(m, now):
    """How long it took sets the limit: T3 counts up to the MOS, T2 all of it."""
    group_written(m.throttle, m.txg_params, m.txgs.syncing[0], now - m.throttle[throttled.SYNC_BEGAN], m.max_dirty)


@part
def _free_log_blocks(m, log, n_blocks):
    """The oldest ones of a chain."""
    chain, oldest = m.zil.chain, m.zil.logs[log, intent.OLDEST_BLOCK]
    for i in range(n_blocks):
        slot = (oldest + i) % chain.shape[1]
        free_log_block(m.places, m.txgs.open_txg[0], chain[log, slot, intent.PLACE], chain[log, slot, intent.BYTES])


@part
def _end_sync(m, now):
    """The group is on disk."""
    txg = m.txgs.syncing[0]
    if m.txg_params.rule == T2:
        _count_sync(m, now)
    count(m.tally, stat.TXGS, 1, now)
    count(m.tally, stat.SYNC_NS, now - m.throttle[throttled.SYNC_BEGAN], now)
    end_group(m.places, txg)
    for log in range(m.zil.logs.shape[0]):
        n_free = group_synced(m.zil, m.zil_params, log, txg)
        _free_log_blocks(m, log, n_free)
        forget(m.zil, log, n_free)
        ring.put(m.ready, m.n_ready, chain_task(m, log))
    m.txgs.syncing[0] = 0
    is_overdue = m.txgs.overdue[0] != 0 or (m.sync[fs.TIMER_IS_OVER] != 0 and m.txgs.quiesced[0] == 0)
    m.sync[fs.TIMER_IS_OVER] = 0
    if m.txg_params.rule == DIRTY_DATA:
        open_group(m.throttle, txg)  # nothing of it is dirty any more
        wake_waiting(m)
    m.sync[fs.IS_PUSHED] |= is_overdue or (wants_sync(m.throttle, m.txg_params) and m.txgs.quiesced[0] == 0)


@part
def sync_event(m, now):
    """Write the block at the cursor, or go on to the next stage if all is on disk."""
    if m.txgs.syncing[0] == 0:
        return
    if m.txgs.cursor[0] != NIL:
        if ios_left(m.leaves.queue, m.sync) < SPARE_IOS:
            m.sync[fs.IS_STALLED] = 1
            return
        _write_next(m, now)
    elif m.txgs.n_pending[0] == 0:
        _next_stage(m, now)
        if m.n_wanted[0] == 0 and m.sync[fs.SYNC_STAGE] != DONE_STAGE:
            is_waiting = m.sync[fs.SYNC_STAGE] == LOG_STAGE and not _may_end(m.zil, m.txgs.syncing)
            set_time(m.calendar, m.sources.sync, NEVER if is_waiting else now)

