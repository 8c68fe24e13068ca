"""Defects in PostgreSQL's mechanisms, and the law that must notice each. Run without the compiler: prints what failed.

    NUMBA_DISABLE_JIT=1 PYTHONPATH=.:tests python -m defects.postgres
"""

import json
from collections import Counter

from model.databases.postgres import buffers as postgres_buffers
from model.databases.postgres import checkpoints, client, wal
from model.databases.postgres import columns as pg
from model.databases.postgres import phases as phase
from model.databases.postgres import stats as stat
from model.databases.postgres import step as postgres_step
from model.databases.postgres.pgbench import pgbench
from model.databases.postgres.start import start
from model.databases.postgres.state import PAYLOAD, Settings
from model.databases.postgres.stats import COUNTS
from model.events.calendar import NEVER, next_source, set_time
from model.events.clock import MS, SECOND_NS
from model.events.queues import NOBODY
from model.filesystems.calls import CONTROL, EXTEND, FSYNC, WRITE, new_device, serve
from support.defects import defect

CPU_NS = (200_000,) * 7
SETTINGS = Settings(6, 10**4, duration_ns=2_200 * MS, n_cpus=2, trip_ns=100_000, shared_buffers_bytes=130 * 8192,
                    checkpoint_timeout_ns=SECOND_NS, checkpoint_segments=1e6, checkpoint_nap_ns=10 * MS,
                    bgwriter_delay_ns=10 * MS, wal_writer_delay_ns=40 * MS)


class Observer:
    """What happens during a run, seen from outside: the laws that hold at every moment, and those broken."""

    def __init__(self, m):
        self.m, self.broken = m, set()
        self.epoch, self.imaged, self.n_images, self.new = 0, set(), 0, set()
        self.unsynced = set()

    def check(self, law, holds):
        if not holds:
            self.broken.add(law)

    def call(self, now, p):
        m, (operation, file, offset, _) = self.m, self.m.calls.row[p].tolist()
        page = (file << 17) + offset // 8192
        if operation == WRITE:
            self.check("log_before_data", m.process[p, pg.LSN] <= m.wal[pg.STABLE])
            if p == m.s.n_clients + 1:
                self.unsynced.add(file)
                done, elapsed = m.checkpoint[pg.N_DONE] - 1, now - m.checkpoint[pg.BEGAN_AT]
                in_time = done / m.checkpoint[pg.TO_WRITE] * 0.5 * SECOND_NS
                self.check("writes_are_spread", in_time <= elapsed)
        elif operation == EXTEND:
            self.new.add((page, self.epoch))
        elif operation == FSYNC:
            self.unsynced.discard(file)
        elif operation == CONTROL:
            self.check("checkpoints_are_stable", not self.unsynced)
            self.check("checkpoints_are_complete", not (m.buffers.flags & postgres_buffers.NEEDED).any())

    def first_changes(self, p):
        m = self.m
        n = m.process[p, pg.N_TOUCHED]
        for page, image in zip(m.touched[p, :n].tolist(), m.changes[p, :n].tolist(), strict=True):
            if image and (page, self.epoch) not in self.imaged | self.new:
                self.imaged.add((page, self.epoch))
                self.n_images += 1

    def moment(self):
        m, n = self.m, self.m.s.n_clients
        phases = m.process[:n, pg.PHASE]
        granted = Counter(m.held[(m.held != NOBODY) & (phases != phase.PREPARE)[:, None]].tolist())
        self.check("rows_are_exclusive", not granted or max(granted.values()) == 1)
        queued = m.locks.queue[:, 0] != NOBODY
        self.check("nobody_waits_for_a_free_row", (m.locks.holder[queued] != NOBODY).all())
        inserted, written, stable = m.wal[:3]
        ring = m.s.wal_buffers_bytes // 8192
        self.check("ring", stable <= written <= inserted <= (written // PAYLOAD + ring) * PAYLOAD)
        self.check("pages_in_frames", (m.pages.frame_of[m.buffers.page[m.pages.frame_of[m.buffers.page] > 0]] > 0).all())
        pinned = m.process[:n, pg.STEP].sum() + (m.process[:, pg.FRAME] > 0).sum()
        self.check("pins", m.buffers.pins.sum() == pinned)


def conserved(m):
    """Slots of rows, bytes of log, time of clients."""
    n = m.s.n_clients
    slots = (m.database.relations[:, pg.FREE_SLOTS] * m.database.relations[:, pg.N_PAGES]).sum()
    in_flight = (m.updated != NOBODY).sum()
    now = int(m.pages.free.sum() + m.pages.dead.sum())
    yield "slots", now == slots + m.counts[stat.MOVED] - in_flight and m.counts[stat.HOT] > m.counts[stat.MOVED]
    yield "log", m.counts[stat.LOGGED] - m.process[:n, pg.LEFT].sum() <= m.wal[pg.INSERTED] <= m.counts[stat.LOGGED] + 500
    ages = m.s.duration_ns - m.process[:n, 10]
    yield "little", m.response_ns.sum() + ages.sum() == n * m.s.duration_ns


def observe(database, law=None):
    """Laws broken in a run, which ends when `law` is."""
    m, _ = start(database, SETTINGS)
    seen, device = Observer(m), new_device(read_ns=MS, write_ns=20_000, fsync_ns=5 * MS, wal_ns=2 * MS)
    while law not in seen.broken and m.calendar.time[next_source(m.calendar)] < SETTINGS.duration_ns:
        p = next_source(m.calendar)
        now = int(m.calendar.time[p])
        set_time(m.calendar, p, NEVER)
        steps(m, now, p, seen)
        for i in range(m.calls.n_out[0]):
            seen.call(now, m.calls.outbox[i])
        serve(device, m.calls, m.calendar, now)
        seen.moment()
    seen.check("images", seen.n_images == m.counts[COUNTS.index("images")])
    for law, holds in conserved(m):
        seen.check(law, holds)
    return sorted(seen.broken)


def steps(m, now, p, seen):
    """`run.step`, with an eye on three phases."""
    real_copy, real_mark, real_committed = postgres_step.begin_copy, postgres_step.mark, postgres_step.committed

    def begin_copy(m, now, p):
        if p < m.s.n_clients:
            seen.first_changes(p)
        real_copy(m, now, p)

    def mark(m, now, p):
        seen.epoch += 1
        real_mark(m, now, p)

    def committed(m, now, p):
        seen.check("commits_are_durable", m.process[p, pg.LSN] <= m.wal[pg.STABLE])
        real_committed(m, now, p)

    postgres_step.begin_copy, postgres_step.mark, postgres_step.committed = begin_copy, mark, committed
    try:
        postgres_step.step(m, now, p)
    finally:
        postgres_step.begin_copy, postgres_step.mark, postgres_step.committed = real_copy, real_mark, real_committed


# ---- defects ----


def forgets_the_wait(m, p):
    m.process[p, pg.PHASE] = m.process[p, 1]
    return True


def goes_on_without_flush(m, p, lsn, then):
    m.process[p, pg.PHASE], m.process[p, pg.LSN] = then, lsn


def marks_without_redo(m, now, p, real=postgres_step.mark):
    redo = int(m.wal[pg.REDO])
    real(m, now, p)
    m.wal[pg.REDO] = redo


def skips_one(m, real=checkpoints._next_of_the_clock):
    m.checkpoint[pg.N_DONE] += 1
    real(m)
    return real(m)


def forgets_a_file(m, now, p, real=postgres_step.sync):
    m.unsynced[m.unsynced.argmax()] = 0
    return real(m, now, p)


def unpins_all_but_one(m, p, real=client.unpin_all):
    m.process[p, 11] = max(0, m.process[p, 11] - 1)
    real(m, p)


def forgets_the_dead(m, now, p, real=postgres_step.committed):
    m.updated[p] = NOBODY
    real(m, now, p)


def loses_a_turn(locks, after, lock):
    locks.holder[lock] = NOBODY
    return NOBODY


DEFECTS = {
    "none": (postgres_step, "step", postgres_step.step, None),
    "a row can be had twice": (client, "lock_row", lambda *a: True, "rows_are_exclusive"),
    "a row let go is given to nobody": (client, "unlock_row", loses_a_turn, "nobody_waits_for_a_free_row"),
    "a commit does not wait for its flush": (postgres_step, "want_flush", forgets_the_wait, "commits_are_durable"),
    "a page is written before its log": (postgres_buffers, "flush", goes_on_without_flush, "log_before_data"),
    "a checkpoint does not move the place of images": (postgres_step, "mark", marks_without_redo, "images"),
    "a checkpoint passes over every other buffer": (checkpoints, "_next_of_the_clock", skips_one,
                                                    "checkpoints_are_complete"),
    "a file is not synced": (postgres_step, "sync", forgets_a_file, "checkpoints_are_stable"),
    "a checkpoint never naps": (checkpoints, "is_on_schedule", lambda *a: False, "writes_are_spread"),
    "a pin is not taken back": (client, "unpin_all", unpins_all_but_one, "pins"),
    "what was replaced is never free again": (postgres_step, "committed", forgets_the_dead, "slots"),
    "the ring is a page larger than it is": (wal, "ring_end", lambda m, real=wal.ring_end: real(m) + PAYLOAD, "ring"),
}


def main():
    database, failed = pgbench(1, 10**4, CPU_NS), {}
    for name, (module, attribute, by, law) in DEFECTS.items():
        with defect(module, attribute, by):
            broken = observe(database, law)
        failed[name] = [law, broken] if law else broken
    print(json.dumps(failed))


if __name__ == "__main__":
    main()
