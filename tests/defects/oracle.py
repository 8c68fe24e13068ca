"""Laws of Oracle's buffers and writers, and deliberate defects that each must notice. Run without the compiler: prints what
failed.

    NUMBA_DISABLE_JIT=1 PYTHONPATH=.:tests python -m defects.oracle
"""

import json

import numpy as np

from model.databases.oracle import buffers, writers
from model.databases.oracle import columns as ora
from model.databases.oracle import start as oracle_start
from model.databases.oracle import stats as stat
from model.databases.oracle import step as oracle_step
from model.databases.oracle.state import Settings
from model.events import queue_columns as ends
from model.events.calendar import set_time
from model.events.clock import MS
from model.events.queues import NOBODY, leave
from model.events.servers import count
from model.simulations.database_server import on_device, simulate_oracle
from model.structures.lru import unlink
from support.defects import several

SMALL = Settings(6, 1500, n_cpus=4, cpu_ns=MS, n_blocks=4000, gets=6, changed_share=0.5, cache_bytes=1200 * 8192,
                 writes_per_writer=16, redo_bytes=2000, log_file_bytes=2**20, n_log_files=2)
FAST = {"read_ns": MS, "write_ns": 50_000, "fsync_ns": 100_000, "wal_ns": 2 * MS}
SLOW = FAST | {"write_ns": 60 * MS}     # database writers that the log has to wait for
DIRTY_ONES = SMALL._replace(cache_bytes=2**26, log_file_bytes=2**20, n_transactions=2500)     # nothing is replaced
WITHIN = 0.06
REPLACED = SMALL._replace(log_file_bytes=2**24, n_transactions=500)        # dirty buffers reach the end of the LRU list


# ---- theory ----


def chances(s):
    """Of each block, to be the next one that is wanted."""
    n_hot = int(s.hot_share * s.n_blocks)
    return np.concatenate([np.full(n_hot, s.hot_hits / n_hot),
                           np.full(s.n_blocks - n_hot, (1 - s.hot_hits) / (s.n_blocks - n_hot))])


def misses_of_lru(s):
    """Share of misses of an LRU cache whose blocks are wanted independently: a block is there if it was wanted within a time
    by which as many different ones are as there are buffers (H. Che, Y. Tung, Z. Wang, 2002)."""
    p, room, low, high = chances(s), s.cache_bytes // 8192, 1.0, 1e9
    while high > 1.0001 * low:
        t = (low * high) ** 0.5
        low, high = (t, high) if -np.expm1(-p * t).sum() < room else (low, t)
    return float(p @ np.exp(-p * low))


def writes_of_checkpoints(s):
    """Blocks written for a transaction if nothing is replaced: a block is written so many transactions after its first
    change as redo of 90 % of a log file holds; its next first change comes after 1 / rate of them."""
    rate = chances(s) * s.gets * s.changed_share
    redo = s.redo_bytes * (1 - _without_changes(s))
    return float((1 / (1 / rate + 0.9 * s.log_file_bytes / redo)).sum())


def _without_changes(s):
    """Share of the transactions that change nothing: of n blocks, 1 to 2 gets - 1, n x changed_share, rounded by chance."""
    n = np.arange(1, 2 * s.gets)
    return float(np.maximum(0, 1 - n * s.changed_share).mean())


# ---- laws ----


class Observer:
    """What is seen during a run."""

    def __init__(self):
        self.seen = {"lost": 0, "unsafe": 0, "overwritten": 0}

    def watching(self):
        took, ended, asked = oracle_step.take_buffer, oracle_step.committed, writers._ask_log

        def take(m):
            frame = took(m)
            self.seen["lost"] += bool(frame and m.buffers.flags[frame])
            return frame

        def commit(m, now, p):
            self.seen["unsafe"] += bool(m.under_way[p, ora.N_CHANGED] and m.process[p, ora.REDO] > m.log[ora.WRITTEN])
            ended(m, now, p)

        def ask(m, now):
            asked(m, now)
            is_over = m.log[ora.CALL_END] - buffers.oldest_redo(m) > m.s.n_log_files * m.s.log_file_bytes
            self.seen["overwritten"] += bool(is_over)

        return [(oracle_step, "take_buffer", take), (oracle_step, "committed", commit), (writers, "_ask_log", ask)]


def broken(law, s, device):
    """What a run says of a law: True if it is broken."""
    seer = Observer()
    with several(seer.watching()):
        run = simulate_oracle(s, on_device(**device), seed=1)
    each = {name: run.counts[name] / max(1, run.counts["commits"]) for name in run.counts}
    return {
        "no change is lost": lambda: seer.seen["lost"] > 0,
        "a commit is on disk": lambda: seer.seen["unsafe"] > 0,
        "redo that is needed is not written over": lambda: seer.seen["overwritten"] > 0,
        "misses": lambda: abs(each["reads"] / s.gets / misses_of_lru(s) - 1) > WITHIN,
        "writes": lambda: abs(each["block_writes"] / writes_of_checkpoints(s) - 1) > WITHIN,
    }[law]()


# ---- defects ----


def stays_where_it_is(m, now, frame):
    count(m, stat.GETS, 1, now)


def takes_the_oldest(m):
    if m.pool[ora.N_USED] < len(m.buffers.block) - 2:
        m.pool[ora.N_USED] += 1
        return m.pool[ora.N_USED]
    frame = m.buffers.use.newer[0]
    unlink(m.buffers.use, frame)
    m.frame_of[m.buffers.block[frame]] = 0
    return frame


def wakes_everybody(m, now):
    """When a write of the log is done, those who came meanwhile have committed, too."""
    m.log[ora.WRITTEN], m.log[ora.IS_WRITING] = m.log[ora.CALL_END], 0
    count(m, stat.FLUSHES, 1, now)
    while m.queue[ora.COMMIT, ends.FIRST] != NOBODY:
        set_time(m.calendar, leave(m.queue, m.after, ora.COMMIT), now)


def writes_at_once(m, now):
    """Whatever the ring of the log still holds."""
    if not m.log[ora.IS_WRITING] and m.queue[ora.COMMIT, ends.FIRST] != NOBODY:
        m.log[ora.IS_WRITING], m.log[ora.TARGET] = 1, writers._rounded(m.log[ora.MADE])
        m.log[ora.MADE] = m.log[ora.TARGET]
        writers._ask_log(m, now)


def writes_what_is_dirty(m):
    """However young."""
    return m.buffers.dirty.newer[0]


DEFECTS = {
    "a block that is used stays where it is": ("misses", SMALL, FAST, [(oracle_step, "use", stays_where_it_is),
                                                                      (oracle_start, "use", stays_where_it_is)]),
    "dirty buffers are replaced": ("no change is lost", REPLACED, FAST, [(oracle_step, "take_buffer", takes_the_oldest)]),
    "commits meanwhile are done, too": ("a commit is on disk", SMALL, FAST, [(oracle_step, "log_done", wakes_everybody)]),
    "the log is no ring": ("redo that is needed is not written over", SMALL, SLOW,
                           [(oracle_step, "write_log", writes_at_once), (writers, "write_log", writes_at_once)]),
    "all that is dirty is written": ("writes", DIRTY_ONES, FAST, [(writers, "_next_to_write", writes_what_is_dirty)]),
}


def main():
    failed = {}
    for name, (law, s, device, defects) in DEFECTS.items():
        with several(defects):
            noticed = broken(law, s, device)
        failed[name] = [broken(law, s, device), noticed]
    print(json.dumps(failed))


if __name__ == "__main__":
    main()
