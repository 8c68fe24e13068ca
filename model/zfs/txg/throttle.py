"""When a transaction group ends, and who has to wait for the next one.

*2007.* A group is open for 5 s, unless somebody asks for the next one. Dirty data may reach half of the ARC: who wants to
write more waits for the next group, and asks for it.

*From 2008 on* a group is synced 30 s after the last sync began, or at once if somebody asks. A group takes no more than a
*limit* L of bytes. They are counted inflated: every block dirtied in the group at its full length, times 6 (three copies,
twice for RAID-Z or gangs). Records, indirect blocks and dnodes count alike. A transaction that would exceed the limit waits
for the next group, and asks for it. While one group is being synced and the next waits for that, who fills the open one
beyond 7/8 of L sleeps for a tick. After each sync L is what can be written in 5 s:

    T2    L = 5 s worth of this sync, if it took longer;  else, if L was reached, up to twice as much
    T3    L = 5 s x (B per s of this sync + 3 x what it was before) / 4
    both  L is 32 MiB at least, Lmax at most

T2 has a slip: *every* transaction is taken to be beyond 7/8.

*OpenZFS, from 2013 on.* A group is synced 5 s after the last sync began, or at once when 64 MiB are dirty. From 0.8 on the
latter is a fifth of what may be. All dirty data of the pool count, at their own length, until they are on disk. There may be
no more than D, a tenth of memory, at most 4 GiB. A transaction that would write while D is reached waits until some of it is
on disk. Who does so beyond 60 % of D is delayed, once, and not together with others, but each behind the last one:

    t = min(100 ms, 500 us x (dirty - 60 %) / (D - dirty));    until max(when its call began, when the last one goes on) + t

In OpenZFS: dmu_tx.c, `dmu_tx_delay`, `dmu_tx_wait`; dsl_pool.c, `dsl_pool_dirty_space`, `dsl_pool_need_dirty_delay`; txg.c,
`txg_kick`; manual page zfs(4), "ZFS TRANSACTION DELAY". Defaults there: zfs_dirty_data_max, zfs_dirty_data_sync_percent,
zfs_delay_min_dirty_percent, zfs_delay_scale, zfs_txg_timeout.

In ZFS: txg.c, `txg_sync_thread`, `txg_delay`; dsl_pool.c, `dsl_pool_tempreserve_space`, `dsl_pool_sync`; arc.c,
`arc_tempreserve_space`; spec 5.6. Left out: reservations of others that have not dirtied anything yet; dnodes, where
the caller does not count them; memory pressure; scrubs.

A machine to scale has smaller limits and times; what makes a group too small to count goes with the least limit.
"""

from typing import NamedTuple

import numpy as np

from model.events.clock import SECOND_NS
from model.jit import kernel
from model.zfs.shared_numbers import TXG_SIZE
from model.zfs.txg import columns as throttled

BY_MEMORY, T2, T3, DIRTY_DATA = range(4)  # what limits a group; the last: OpenZFS
GOES_ON, WAITS, SLEEPS = range(3)  # who wants to write
MIN_LIMIT = 2**25  # B, inflated; zfs_write_limit_min
TELLS = 8  # a group of less than 4 MiB, inflated, says nothing of the pool: the least limit over this
MAX_DELAY_NS = 100_000_000  # zfs_delay_max_ns


class TxgParams(NamedTuple):
    """The rules of a build; the defaults are those of 2007 (spec 5.6)."""

    timeout_ns: int = 5 * SECOND_NS  # txg_time, zfs_txg_timeout
    from_sync: int = 0  # 1: counted from the start of the last sync, 0: from when the group was opened
    rule: int = BY_MEMORY
    inflation: int = 6  # of counted bytes, T2 and T3
    sync_target_ns: int = 5 * SECOND_NS  # zfs_txg_synctime
    min_limit: int = MIN_LIMIT  # B, inflated, T2 and T3
    uberblock_vdevs: int = 1  # top-level vdevs that an uberblock goes to; 3 by onnv_85
    max_dirty_bytes: int = 2**32  # OpenZFS: D at most; and all that follows
    sync_pct: int = 20  # of D: a group is synced; zfs_dirty_data_sync_percent
    sync_bytes: int = 0  # or so much, unless it is 0; zfs_dirty_data_sync
    delay_pct: int = 60  # of D: writes are delayed
    delay_ns: int = 500_000  # at 80 % of D
    joins_records: int = 0  # 1: a call that writes several records is one transaction; OpenZFS 2.2


@kernel
def note_dirty(state, params, txg, n_bytes):
    """Blocks of `n_bytes` have been dirtied in the group for the first time."""
    state[throttled.DIRTY + txg % TXG_SIZE] += n_bytes * params.inflation


@kernel
def open_group(state, txg):
    """Group `txg` opens, with nothing dirty in it."""
    state[throttled.DIRTY + txg % TXG_SIZE] = 0


# ---- OpenZFS ----


@kernel
def dirty_bytes(state):
    """Of the pool."""
    return state[throttled.DIRTY] + state[throttled.DIRTY + 1] + state[throttled.DIRTY + 2] + state[throttled.DIRTY + 3]


@kernel
def note_clean(state, txg, n_bytes):
    """A block of a group is on disk. Whether who waits may go on."""
    was_full = dirty_bytes(state) >= state[throttled.LIMIT]
    state[throttled.DIRTY + txg % TXG_SIZE] = max(0, state[throttled.DIRTY + txg % TXG_SIZE] - n_bytes)
    return was_full and dirty_bytes(state) < state[throttled.LIMIT]


@kernel
def wants_sync(state, params):
    """So much is dirty that a group is to be synced."""
    if params.rule != DIRTY_DATA:
        return False
    if params.sync_bytes:
        return dirty_bytes(state) > params.sync_bytes
    return dirty_bytes(state) * 100 > state[throttled.LIMIT] * params.sync_pct


@kernel
def delayed_until(state, params, began, now):
    """When one may go on that wants to write now, in a call that began then; `now` if at once."""
    undelayed, dirty = state[throttled.LIMIT] // 100 * params.delay_pct, dirty_bytes(state)
    if dirty <= undelayed:
        return now
    delay = min(MAX_DELAY_NS, np.int64(params.delay_ns * ((dirty - undelayed) / (state[throttled.LIMIT] - dirty))))
    if now > began + delay:
        return now
    state[throttled.LAST_AWAKE] = max(began, state[throttled.LAST_AWAKE]) + delay
    return max(now, state[throttled.LAST_AWAKE])


@kernel
def _memory_is_full(n_bytes, anonymous_bytes, c_bytes):
    """The rule of the ARC, for one who wants to dirty `n_bytes`."""
    return n_bytes + anonymous_bytes > c_bytes // 2 and anonymous_bytes > c_bytes // 4


@kernel
def verdict(state, params, open_txg, others_wait, n_bytes, anonymous_bytes, c_bytes):
    """What becomes of a transaction of `n_bytes` at worst. `others_wait`: a group waits while another one is synced.
    (OpenZFS: SLEEPS until `delayed_until`, which may be now.)"""
    if _memory_is_full(n_bytes, anonymous_bytes, c_bytes):
        return WAITS
    if params.rule == BY_MEMORY:
        return GOES_ON
    if params.rule == DIRTY_DATA:
        return WAITS if dirty_bytes(state) >= state[throttled.LIMIT] else SLEEPS
    dirty, limit = state[throttled.DIRTY + open_txg % TXG_SIZE], state[throttled.LIMIT]
    if dirty > limit:
        return WAITS
    is_much = dirty > 0 if params.rule == T2 else dirty > limit - limit // 8
    return SLEEPS if is_much and others_wait else GOES_ON


@kernel
def group_written(state, params, txg, took_ns, max_limit):
    """The limit after a sync; `max_limit` is Lmax."""
    dirty, took, target = state[throttled.DIRTY + txg % TXG_SIZE], max(1, took_ns), params.sync_target_ns
    min_limit = params.min_limit
    if params.rule == T3 and dirty > min_limit // TELLS:
        rate = np.int64(dirty * (SECOND_NS / took))
        state[throttled.RATE] = rate if state[throttled.RATE] == 0 else rate // 4 + 3 * (state[throttled.RATE] // 4)
        state[throttled.LIMIT] = min(max_limit, max(min_limit, np.int64(state[throttled.RATE] * (target / SECOND_NS))))
    elif params.rule == T2 and took > target:
        state[throttled.LIMIT] = max(min_limit, np.int64(min(state[throttled.LIMIT], dirty) * (target / took)))
    elif params.rule == T2 and dirty >= state[throttled.LIMIT] and took // 8 < target // 8:
        state[throttled.LIMIT] = min(max_limit, np.int64(dirty * min(target / took, 2.0)))


def max_limit_bytes(memory_bytes: int, params: TxgParams) -> int:
    """Lmax: an eighth of memory, inflated; OpenZFS: D."""
    if params.rule == DIRTY_DATA:
        return min(params.max_dirty_bytes, memory_bytes // 10)
    return max(params.min_limit, params.inflation * (memory_bytes // 8))


def to_scale(params: TxgParams, k: float) -> TxgParams:
    """Of a machine whose groups are to be 1 / k: as often again, as much smaller."""
    return params._replace(timeout_ns=round(params.timeout_ns / k), sync_target_ns=round(params.sync_target_ns / k),
                           min_limit=max(1, round(params.min_limit / k)),
                           max_dirty_bytes=max(1, round(params.max_dirty_bytes / k)),
                           sync_bytes=round(params.sync_bytes / k))


def new_throttle(min_limit=MIN_LIMIT):
    """The state of a pool that has synced nothing: its limit is the smallest [B]."""
    state = np.zeros(throttled.N_STATE, np.int64)
    state[throttled.LIMIT] = min_limit
    return state
