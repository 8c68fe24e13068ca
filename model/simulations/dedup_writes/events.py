"""What a lookup, the sync thread, a disk and the cache device do when it is their turn.

A transaction group is synced in three phases.

    LOOKUPS   threads take its blocks in turn: check-sum, then a probe of the duplicate object, then of the unique one. Each
              probe needs an indirect block and a leaf in core. The thread waits for what must be read, from the cache
              device or from a disk. A block that is found is no more than a reference; the data of others are written.
              The second block of its kind is found among uniques, and its entry moves: a leaf of both objects changes.
              (Of blocks that are freed: the last but one is found among duplicates, and its entry moves back.)
    TABLE     one thread changes all entries that were touched. Their leaves are in core, or are read once more.
    WRITING   each leaf that was changed is written, with the indirect blocks above it, in three copies.

Meanwhile the next group fills. Who writes into it meets the throttle (`model.zfs.txg.throttle`).
"""
from model.devices import drive_columns as queued
from model.devices.ssd import service
from model.events.calendar import set_time
from model.events.queues import NOBODY
from model.jit import kernel, part
from model.simulations.dedup_writes import columns as at
from model.simulations.dedup_writes.columns import AGAIN, SECOND
from model.simulations.dedup_writes.groups import end_if_written, take_block, turn_to_table
from model.simulations.dedup_writes.state import FEED, LOG_BLOCK_DONE, SYNC, WRITING, above, source_of
from model.simulations.dedup_writes.table_io import came, draw, request, write_next
from model.structures.sentinels import NIL
from model.zfs.arc import l2_columns as l2_cache
from model.zfs.arc.arc import make_anonymous
from model.zfs.arc.l2arc import feed, next_feed, written
from model.zfs.arc.lists import hold
from model.zfs.dedup.zap import COPIES
from model.zfs.vdev.leaves import answered, disk_done, release_io, start_disk

AT_ONCE = 64  # blocks of the table sent in one event


@kernel
def disk_event(m, leaves, now, leaf):
    """A disk has done its command: whoever waits for its I/Os goes on, and the next command starts."""
    io = disk_done(leaves, now, leaf)
    while io != NIL:
        thread = answered(leaves, now, leaf, io)
        if thread == NOBODY:
            m.group[at.N_PENDING] -= 1
        elif thread >= m.settings.threads + LOG_BLOCK_DONE:
            set_time(m.calendar, m.settings.n_leaves + thread, now)
        else:
            came(m, now, m.threads[thread, at.WAITS_FOR])
        io = release_io(leaves, io)
    if leaves.drives.units[leaf, queued.N_COMMANDS] > 0:
        set_time(m.calendar, leaf, start_disk(leaves, now, leaf))
    end_if_written(m, now)


# ---- lookups ----


@kernel
def _looked_up(m, leaves, now, thread):
    """The lookup of a block is done."""
    group, s = m.group, m.settings
    if s.has_dedup:
        m.touched[group[at.N_TOUCHED]] = m.threads[thread, at.LEAF]
        group[at.N_TOUCHED] += 1
        m.tally[at.LOOKUPS] += 1
        if m.threads[thread, at.FOUND] == SECOND:
            m.touched[group[at.N_TOUCHED]] = m.threads[thread, at.OTHER_LEAF]
            group[at.N_TOUCHED] += 1
            m.tally[at.MOVED] += 1
    if not s.is_free and not (s.has_dedup and m.threads[thread, at.FOUND]):
        write_next(m, leaves, now, s.block_bytes)
        m.tally[at.DATA_BYTES] += s.block_bytes
    m.tally[at.BLOCKS] += 1
    group[at.N_UNDER_WAY] -= 1
    take_block(m, now, thread)
    if group[at.N_UNDER_WAY] == 0:
        turn_to_table(m, now)


@kernel
def _is_found_there(s, entry):
    """Whether the duplicate object has the entry: of a block that is freed also the last one but one."""
    return entry == AGAIN or (s.is_free and entry == SECOND)


@part
def lookup_event(m, leaves, now, thread):
    """A thread goes on with its lookup as far as it gets."""
    threads, s = m.threads, m.settings
    if threads[thread, at.WAITS_FOR] != NOBODY:      # from the cache device
        came(m, now, threads[thread, at.WAITS_FOR])
        return
    while s.has_dedup and threads[thread, at.STEP] < 4:
        in_unique, is_leaf = threads[thread, at.STEP] >= 2, threads[thread, at.STEP] & 1
        leaf = threads[thread, at.LEAF] % s.n_unique + s.n_duplicate if in_unique else threads[thread, at.LEAF]
        block = leaf if is_leaf else above(m, leaf)
        if block != NOBODY and not request(m, leaves, now, block, thread):
            return
        threads[thread, at.STEP] += 1
        if threads[thread, at.STEP] == 2:
            if _is_found_there(s, threads[thread, at.FOUND]):
                break
            threads[thread, at.OTHER_LEAF], threads[thread, at.LEAF] = threads[thread, at.LEAF], int(draw(m) * s.n_unique)
    if threads[thread, at.STEP] == 4:
        threads[thread, at.LEAF] = threads[thread, at.LEAF] % s.n_unique + s.n_duplicate
    elif s.has_dedup and threads[thread, at.FOUND] == SECOND:
        threads[thread, at.OTHER_LEAF] = int(draw(m) * s.n_unique) + s.n_duplicate
    _looked_up(m, leaves, now, thread)


# ---- the sync thread ----


@kernel
def _make_dirty(m, block):
    """A block of the table is changed by the group, and so are all above it."""
    group = m.group
    while block != NOBODY and m.dirtied[block] != group[at.SYNCING]:
        m.dirtied[block] = group[at.SYNCING]
        m.dirty[group[at.N_DIRTY]] = block
        group[at.N_DIRTY] += 1
        if block < m.levels[min(2, len(m.levels) - 1)]:
            node = int(m.arc.node_of[block])
            hold(m.arc, node)
            make_anonymous(m.arc, node)
        block = above(m, block)


@part
def _write_table(m, leaves, now):
    """Some of the dirty blocks are sent, in three copies each; the first is where the block is read from."""
    group = m.group
    until = min(group[at.N_DIRTY], group[at.NEXT_WRITTEN] + AT_ONCE)
    for i in range(group[at.NEXT_WRITTEN], until):
        block = m.dirty[i]
        m.place[block] = write_next(m, leaves, now, m.settings.leaf_disk_bytes)
        for _ in range(COPIES - 1):
            write_next(m, leaves, now, m.settings.leaf_disk_bytes)
        m.tally[at.TABLE_WRITES] += COPIES
    group[at.NEXT_WRITTEN] = until
    if until < group[at.N_DIRTY]:
        set_time(m.calendar, source_of(m, SYNC), now)
    else:
        end_if_written(m, now)


@part
def sync_event(m, leaves, now):
    """The sync thread changes entry after entry, and then has the blocks written."""
    group, thread, threads = m.group, m.settings.threads + SYNC, m.threads
    if threads[thread, at.WAITS_FOR] != NOBODY:
        came(m, now, threads[thread, at.WAITS_FOR])
        return
    while group[at.NEXT_TOUCHED] < group[at.N_TOUCHED]:
        leaf = m.touched[group[at.NEXT_TOUCHED]]
        indirect = above(m, leaf)
        if indirect != NOBODY and not request(m, leaves, now, indirect, thread):
            return
        if not request(m, leaves, now, leaf, thread):
            return
        _make_dirty(m, leaf)
        m.tally[at.TOUCHED] += 1
        group[at.NEXT_TOUCHED] += 1
    group[at.PHASE] = WRITING
    _write_table(m, leaves, now)


# ---- the cache device ----


@part
def feed_event(m, now):
    """A round of the cache device begins, or its writes are done."""
    if m.group[at.N_FEEDING]:
        for _ in range(m.group[at.N_FEEDING]):
            written(m.l2, m.l2_params, now)
        m.group[at.N_FEEDING] = 0
        set_time(m.calendar, source_of(m, FEED), next_feed(m.l2))
        return
    n, done = feed(m.l2, m.l2_params, m.arc, now), now
    for i in range(n):
        done = service(m.ssd, m.ssds, 0, now, m.l2.outbox[i, l2_cache.TO_ADDRESS], m.l2.outbox[i, l2_cache.TO_WRITE], 1)
    m.group[at.N_FEEDING] = n
    set_time(m.calendar, source_of(m, FEED), done if n else next_feed(m.l2))
