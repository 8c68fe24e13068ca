"""Transaction groups: one fills, one waits, one is synced; and the intent log keeps the last from ending, if it must."""
from model.events.calendar import set_time
from model.events.clock import TICK_NS
from model.events.queues import NOBODY
from model.jit import kernel, part
from model.simulations.dedup_writes import columns as at
from model.simulations.dedup_writes.columns import AGAIN, NEW, SECOND
from model.simulations.dedup_writes.state import IDLE, LOG, LOOKUPS, SYNC, TABLE, WRITER, WRITING, source_of
from model.simulations.dedup_writes.table_io import draw
from model.zfs.arc.arc import access
from model.zfs.arc.lists import release
from model.zfs.txg import columns as throttled
from model.zfs.txg.throttle import group_written, open_group
from model.zfs.zil.commit import forget, group_synced, may_sync


@kernel
def turn_to_table(m, now):
    """The data of the group are written; its blocks of the table follow."""
    m.group[at.PHASE] = TABLE
    m.threads[m.settings.threads + SYNC, at.STEP] = 0
    set_time(m.calendar, source_of(m, SYNC), now)


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
    share = draw(m)
    m.threads[thread, at.FOUND] = NEW if share >= s.found_share else SECOND if share < s.second_share else AGAIN
    n_there = s.n_duplicate if s.n_duplicate else s.n_unique
    m.threads[thread, at.LEAF] = int(draw(m) * n_there)
    set_time(m.calendar, s.n_leaves + thread, now + (0 if s.is_free else s.hash_ns))


@part
def begin_sync(m, now):
    """The sync of the group that has quiesced begins: each thread takes a first block of it."""
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
    """The group is on disk: its blocks of the table can be evicted, and what waited for it goes on."""
    group, tick = m.group, now // TICK_NS
    group_written(m.throttle, m.txg_params, group[at.SYNCING], now - m.throttle[throttled.SYNC_BEGAN], m.settings.max_limit)
    for i in range(group[at.N_DIRTY]):
        node = int(m.arc.node_of[m.dirty[i]])
        if m.dirty[i] < m.levels[min(2, len(m.levels) - 1)]:
            access(m.arc, m.settings.arc, node, tick)
            release(m.arc, node)
    if m.settings.is_sync:
        forget(m.zil, 0, group_synced(m.zil, m.zil_params, 0, group[at.SYNCING]))
        set_time(m.calendar, source_of(m, LOG), now)
    m.tally[at.GROUPS] += 1
    m.tally[at.DIRTIED] += group[at.N_DIRTY]
    group[at.PHASE] = IDLE
    if group[at.N_QUIESCED] >= 0:
        begin_sync(m, now)
    if group[at.IS_WAITING]:
        group[at.IS_WAITING] = 0
        set_time(m.calendar, source_of(m, WRITER), now)


@kernel
def end_if_written(m, now):
    """The sync ends when all is on disk, the blocks of the intent log among it that this group allocated."""
    group = m.group
    is_written = group[at.PHASE] == WRITING and group[at.N_PENDING] == 0 and group[at.NEXT_WRITTEN] == group[at.N_DIRTY]
    if is_written and (not m.settings.is_sync or may_sync(m.zil, 0, group[at.SYNCING])):
        end_sync(m, now)
