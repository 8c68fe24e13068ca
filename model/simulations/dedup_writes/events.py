"""What a lookup, the sync thread, a disk and the writer do when it is their turn.

A transaction group is synced in three phases.

    LOOKUPS   threads take its blocks in turn: check-sum, then a probe of the duplicate object, then of the unique one. Each
              probe needs an indirect block and a leaf in core. The thread waits for what must be read, from the cache
              device or from a disk. A block that is found is no more than a reference; the data of others are written.
    TABLE     one thread changes all entries that were touched. Their leaves are in core, or are read once more.
    WRITING   each leaf that was changed is written, with the indirect blocks above it, in three copies.

Meanwhile the next group fills. Who writes into it meets the throttle (`model.zfs.txg.throttle`).
"""
from model.devices import drive_columns as queued
from model.devices.ssd import service
from model.events.calendar import set_time
from model.events.clock import TICK_NS
from model.events.queues import NOBODY
from model.jit import kernel, part
from model.simulations.dedup_writes import columns as at
from model.simulations.dedup_writes.state import BLOCK_BYTES, IDLE, LOOKUPS, N_DRAWN, TABLE, WRITING, above
from model.structures.sentinels import NIL, NOWHERE
from model.zfs.arc import columns as header
from model.zfs.arc import l2_columns as l2_cache
from model.zfs.arc.arc import access, make_anonymous, new_block, revive, touch
from model.zfs.arc.l2arc import feed, l2_holds, next_feed, written
from model.zfs.arc.lists import ANONYMOUS, L2_CACHEABLE, MFU, hold, release
from model.zfs.dedup.zap import COPIES
from model.zfs.txg import columns as throttled
from model.zfs.txg.throttle import GOES_ON, SLEEPS, group_written, note_dirty, open_group, verdict
from model.zfs.vdev.leaves import answered, disk_done, read_block, release_io, start_disk, to_queue, write_block
from model.zfs.vdev.places import LEAF_SHIFT

ALIQUOT_BYTES = 2**19  # to one disk before the next: metaslab_aliquot
FREED_BYTES = 128  # dirtied by a freed block: its pointer in an indirect block
AT_ONCE = 64  # blocks of the table sent in one event


@kernel
def draw(m):
    m.group[at.DRAWN] += 1
    return m.uniform[m.group[at.DRAWN] % N_DRAWN]


# ---- I/O ----


@kernel
def _send(m, leaves, now, io):
    leaf = to_queue(leaves, now, io)
    if leaf >= 0:
        set_time(m.calendar, leaf, start_disk(leaves, now, leaf))


@kernel
def write_next(m, leaves, now, n_bytes):
    """Where disks are being written to: the place that the block gets."""
    group, leaf = m.group, m.group[at.CURSOR_LEAF]
    place = leaf << LEAF_SHIFT | m.cursor[leaf]
    m.cursor[leaf] += n_bytes
    group[at.ON_LEAF] += n_bytes
    if group[at.ON_LEAF] >= ALIQUOT_BYTES:
        group[at.CURSOR_LEAF], group[at.ON_LEAF] = (leaf + 1) % m.settings.n_leaves, 0
    write_block(leaves, now, place, n_bytes)
    leaves.n_out[0] = 0
    group[at.N_PENDING] += 1
    m.tally[at.IO_WRITES] += 1
    _send(m, leaves, now, leaves.outbox[0])
    return place


@part
def _begin_reading(m, leaves, now, block, node, thread):
    tick, params = now // TICK_NS, m.settings.arc
    device, address = NOWHERE, NOWHERE
    if m.settings.l2_bytes:
        device, address = l2_holds(m.l2, m.l2_params, m.arc, block, 0)
    if node == NIL:
        new_block(m.arc, params, block, 1, BLOCK_BYTES, L2_CACHEABLE, tick)
    else:
        revive(m.arc, params, node, L2_CACHEABLE, tick)
    if device != NOWHERE:
        m.tally[at.L2_READS] += 1
        done = service(m.ssd, m.ssds, 0, now, address, BLOCK_BYTES, 0)
        set_time(m.calendar, m.settings.n_leaves + thread, done)
        return
    m.tally[at.DISK_READS] += 1
    _, io = read_block(leaves, now, m.place[block], m.settings.leaf_disk_bytes, 0, thread)
    _send(m, leaves, now, io)


@part
def request(m, leaves, now, block, thread):
    """Whether a block of the table is in core; if not, the thread waits for it."""
    node = int(m.arc.node_of[block])
    is_read = m.reader[block] != NOBODY
    if not is_read and node != NIL and m.arc.nodes[node, header.STATE] <= MFU:
        m.tally[at.HITS] += 1
        if m.arc.nodes[node, header.HOLDS] == 0:
            touch(m.arc, m.settings.arc, node, now // TICK_NS)
        return True
    m.threads[thread, at.WAITS_FOR] = block
    m.joined[thread] = m.reader[block]
    m.reader[block] = thread
    if not is_read:
        _begin_reading(m, leaves, now, block, node, thread)
    return False


@part
def came(m, now, block):
    """A block is in core: all who waited for it go on."""
    node, thread = int(m.arc.node_of[block]), int(m.reader[block])
    if m.arc.nodes[node, header.STATE] == ANONYMOUS:
        access(m.arc, m.settings.arc, node, now // TICK_NS)
    release(m.arc, node)
    m.reader[block] = NOBODY
    while thread != NOBODY:
        m.threads[thread, at.WAITS_FOR] = NOBODY
        set_time(m.calendar, m.settings.n_leaves + thread, now)
        thread = m.joined[thread]


@kernel
def disk_event(m, leaves, now, leaf):
    io = disk_done(leaves, now, leaf)
    while io != NIL:
        thread = answered(leaves, now, leaf, io)
        if thread == NOBODY:
            m.group[at.N_PENDING] -= 1
        else:
            came(m, now, m.threads[thread, at.WAITS_FOR])
        io = release_io(leaves, io)
    if leaves.drives.units[leaf, queued.N_COMMANDS] > 0:
        set_time(m.calendar, leaf, start_disk(leaves, now, leaf))
    if m.group[at.N_PENDING] == 0 and m.group[at.PHASE] == WRITING and m.group[at.NEXT_WRITTEN] == m.group[at.N_DIRTY]:
        end_sync(m, now)


# ---- groups ----


@part
def begin_sync(m, now):
    group = m.group
    group[at.SYNCING], group[at.N_SYNCING] = group[at.OPEN] - 1, group[at.N_QUIESCED]
    group[at.N_QUIESCED], group[at.PHASE] = -1, LOOKUPS
    group[at.NEXT_BLOCK] = group[at.N_UNDER_WAY] = group[at.N_TOUCHED] = group[at.NEXT_TOUCHED] = 0
    group[at.N_DIRTY] = group[at.NEXT_WRITTEN] = 0
    m.throttle[throttled.SYNC_BEGAN] = now
    for thread in range(m.settings.threads):
        take_block(m, now, thread)
    if group[at.N_UNDER_WAY] == 0:
        turn_to_table(m, now)


@kernel
def quiesce(m, now):
    """The open group takes no more, and the next one opens."""
    group = m.group
    group[at.N_QUIESCED], group[at.N_OPEN] = group[at.N_OPEN], 0
    group[at.OPEN] += 1
    open_group(m.throttle, group[at.OPEN])
    if group[at.PHASE] == IDLE:
        begin_sync(m, now)


@part
def end_sync(m, now):
    group, tick = m.group, now // TICK_NS
    group_written(m.throttle, m.txg_params, group[at.SYNCING], now - m.throttle[throttled.SYNC_BEGAN], m.settings.max_limit)
    for i in range(group[at.N_DIRTY]):
        node = int(m.arc.node_of[m.dirty[i]])
        if m.dirty[i] < m.levels[min(2, len(m.levels) - 1)]:
            access(m.arc, m.settings.arc, node, tick)
            release(m.arc, node)
    m.tally[at.GROUPS] += 1
    m.tally[at.DIRTIED] += group[at.N_DIRTY]
    group[at.PHASE] = IDLE
    if group[at.N_QUIESCED] >= 0:
        begin_sync(m, now)
    if group[at.IS_WAITING]:
        group[at.IS_WAITING] = 0
        set_time(m.calendar, m.settings.n_leaves + m.settings.threads + 1, now)


@kernel
def turn_to_table(m, now):
    m.group[at.PHASE] = TABLE
    m.threads[m.settings.threads, at.STEP] = 0
    set_time(m.calendar, m.settings.n_leaves + m.settings.threads, now)


# ---- lookups ----


@kernel
def take_block(m, now, thread):
    """The thread turns to the next block of the group, if there is one; its check-sum first."""
    group, s = m.group, m.settings
    m.threads[thread, at.WAITS_FOR] = NOBODY
    if group[at.NEXT_BLOCK] == group[at.N_SYNCING]:
        return
    group[at.NEXT_BLOCK] += 1
    group[at.N_UNDER_WAY] += 1
    m.threads[thread, at.STEP] = 0 if s.n_duplicate else 2
    m.threads[thread, at.FOUND] = 1 if draw(m) < s.found_share else 0
    n_there = s.n_duplicate if s.n_duplicate else s.n_unique
    m.threads[thread, at.LEAF] = int(draw(m) * n_there)
    set_time(m.calendar, s.n_leaves + thread, now + (0 if s.is_free else s.hash_ns))


@kernel
def _looked_up(m, leaves, now, thread):
    """The lookup of a block is done."""
    group, s = m.group, m.settings
    if s.has_dedup:
        m.touched[group[at.N_TOUCHED]] = m.threads[thread, at.LEAF]
        group[at.N_TOUCHED] += 1
        m.tally[at.LOOKUPS] += 1
    if not s.is_free and not (s.has_dedup and m.threads[thread, at.FOUND]):
        write_next(m, leaves, now, s.block_bytes)
        m.tally[at.DATA_BYTES] += s.block_bytes
    m.tally[at.BLOCKS] += 1
    group[at.N_UNDER_WAY] -= 1
    take_block(m, now, thread)
    if group[at.N_UNDER_WAY] == 0:
        turn_to_table(m, now)


@part
def lookup_event(m, leaves, now, thread):
    """A thread goes on with its lookup as far as it gets."""
    threads, s = m.threads, m.settings
    if threads[thread, at.WAITS_FOR] != NOBODY:      # from the cache device
        came(m, now, threads[thread, at.WAITS_FOR])
        return
    while s.has_dedup and threads[thread, at.STEP] < 4:
        if threads[thread, at.STEP] == 2 and s.n_duplicate:
            if threads[thread, at.FOUND]:
                break
            threads[thread, at.LEAF] = int(draw(m) * s.n_unique)
        in_unique, is_leaf = threads[thread, at.STEP] >= 2, threads[thread, at.STEP] & 1
        leaf = threads[thread, at.LEAF] % s.n_unique + s.n_duplicate if in_unique else threads[thread, at.LEAF]
        block = leaf if is_leaf else above(m, leaf)
        if block != NOBODY and not request(m, leaves, now, block, thread):
            return
        threads[thread, at.STEP] += 1
    if threads[thread, at.STEP] == 4:
        threads[thread, at.LEAF] = threads[thread, at.LEAF] % s.n_unique + s.n_duplicate
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
        set_time(m.calendar, m.settings.n_leaves + m.settings.threads, now)
    elif group[at.N_PENDING] == 0:
        end_sync(m, now)


@part
def sync_event(m, leaves, now):
    """The sync thread changes entry after entry, and then has the blocks written."""
    group, thread, threads = m.group, m.settings.threads, m.threads
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


# ---- the writer, the cache device ----


@part
def writer_event(m, now):
    """A call wants to write (or to free) a block."""
    group, s, source = m.group, m.settings, m.settings.n_leaves + m.settings.threads + 1
    n_bytes = FREED_BYTES if s.is_free else s.block_bytes
    if group[at.N_QUIESCED] < 0 and now - m.throttle[throttled.SYNC_BEGAN] >= m.txg_params.timeout_ns and group[at.N_OPEN]:
        quiesce(m, now)
    outcome = verdict(m.throttle, m.txg_params, group[at.OPEN], group[at.N_QUIESCED] >= 0, n_bytes, 0, s.arc.c_bytes)
    if outcome == SLEEPS:
        set_time(m.calendar, source, now + TICK_NS)
        return
    if outcome != GOES_ON:
        if group[at.N_QUIESCED] < 0:
            quiesce(m, now)
            set_time(m.calendar, source, now)
        else:
            group[at.IS_WAITING] = 1
        return
    note_dirty(m.throttle, m.txg_params, group[at.OPEN], n_bytes)
    group[at.N_OPEN] += 1
    done = now + s.copy_ns
    m.response_ns[m.tally[at.CALLS]] = done - group[at.DUE]
    m.tally[at.CALLS] += 1
    group[at.DUE] = group[at.DUE] + s.gap_ns if s.gap_ns else done
    set_time(m.calendar, source, max(done, group[at.DUE]))


@part
def feed_event(m, now):
    """A round of the cache device begins, or its writes are done."""
    if m.group[at.N_FEEDING]:
        for _ in range(m.group[at.N_FEEDING]):
            written(m.l2, m.l2_params, now)
        m.group[at.N_FEEDING] = 0
        set_time(m.calendar, m.settings.n_leaves + m.settings.threads + 2, next_feed(m.l2))
        return
    n, done = feed(m.l2, m.l2_params, m.arc, now), now
    for i in range(n):
        done = service(m.ssd, m.ssds, 0, now, m.l2.outbox[i, l2_cache.TO_ADDRESS], m.l2.outbox[i, l2_cache.TO_WRITE], 1)
    m.group[at.N_FEEDING] = n
    set_time(m.calendar, m.settings.n_leaves + m.settings.threads + 2, done if n else next_feed(m.l2))
