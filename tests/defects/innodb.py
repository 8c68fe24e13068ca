"""Defects in InnoDB's mechanisms, and the law that must notice each. Run without the compiler: prints what failed.

    NUMBA_DISABLE_JIT=1 PYTHONPATH=.:tests python -m defects.innodb
"""

import json

from model.databases.innodb import buffer_pool as pool
from model.databases.innodb import checkpoints, client, flush, locks
from model.databases.innodb import columns as inno
from model.databases.innodb import phases as phase
from model.databases.innodb import stats as stat
from model.databases.innodb import step as run
from model.databases.innodb.start import start
from model.databases.innodb.state import COLD, Settings
from model.databases.innodb.sysbench import Cpu, oltp
from model.databases.innodb.tables import AREA_PAGES, DOUBLEWRITE, PAGE_BYTES, TABLESPACE
from model.events.calendar import NEVER, next_source, set_time
from model.events.clock import MS, SECOND_NS
from model.filesystems.calls import FSYNC, WAL_WRITE, WRITE, new_device, serve
from support.defects import defect

N = 6
TEST = oltp(200_000, Cpu(2 * MS, 0, 0, 0, 0), point_selects=0, ranges=(0, 0, 0, 0), dist_res=50, dist_pct=0.02,
            dist_iter=1)
SETTINGS = Settings(N, 10**4, duration_ns=12 * SECOND_NS, n_cpus=2, buffer_pool_bytes=640 * PAGE_BYTES, start=COLD,
                    log_file_bytes=2**20, n_log_files=2, io_capacity=20, log_factor=2.0, write_io_threads=3)
DEVICE = {"read_ns": MS, "write_ns": 200_000, "fsync_ns": 5 * MS, "wal_sync_ns": 2 * MS}


class Observer:
    """What happens during a run, seen from outside: the laws that hold at every moment, and those broken."""

    def __init__(self, m):
        self.m, self.broken, self.moments = m, set(), 0
        self.pending = {}  # process: its call
        self.first, self.unsynced = {}, {}  # page: its first change that is in memory only; that is on disk, but not stable
        self.area, self.copies = {}, set()
        self.made_dirty, self.commit_lsn = 0, {}

    def check(self, law, holds):
        if not holds:
            self.broken.add(law)

    def call(self, p):
        m, (operation, file, offset, n_bytes) = self.m, self.m.calls.row[p].tolist()
        self.pending[p] = (operation, file, dict(self.unsynced))
        if operation == WRITE and file == DOUBLEWRITE:
            i = offset // PAGE_BYTES
            frames = m.chunk[p - N, i:i + n_bytes // PAGE_BYTES]
            self.check("log_before_data", (m.frames.last_lsn[frames] <= m.log[inno.STABLE]).all())
            if offset == 0:
                self.check("the_area_is_free_before_it_is_used", not self.unsynced)
                self.area, self.copies = set(), set()
            self.area |= set(m.frames.page[frames].tolist())
        elif operation == WRITE:
            self.check("pages_have_a_copy", not m.s.doublewrite or offset // PAGE_BYTES in self.copies)
        elif operation == WAL_WRITE and p == N + inno.CHECKPOINT and m.process[p, inno.PHASE] == phase.CHECKPOINT_SYNC:
            oldest = min([*self.first.values(), *self.unsynced.values(), int(m.log[inno.MADE])])
            self.check("checkpoints_keep_the_log_that_is_needed", m.log[inno.NEXT_CHECKPOINT] <= oldest)

    def returned(self, p):
        operation, file, unsynced = self.pending.pop(p, (None, None, None))
        if operation == WRITE and file == TABLESPACE:
            page = int(self.m.frames.page[self.m.process[p, inno.FRAME]])
            self.unsynced.setdefault(page, self.first.pop(page, 2**60))
        elif operation == FSYNC and file == TABLESPACE:
            for page in unsynced:
                self.unsynced.pop(page, None)
        elif operation == FSYNC:
            self.copies = self.area

    def change(self, m, frame, began):
        page = int(m.frames.page[frame])
        self.made_dirty += page not in self.first
        self.first.setdefault(page, int(began))
        self.check("pages_do_not_change_while_they_are_written", not m.frames.flags[frame] & pool.IN_WRITE)

    def gathered(self, m, p):
        for frame in m.chunk[p - N, :m.batch[p - N, inno.N_CHUNK]]:
            first = m.frames.page[frame] // AREA_PAGES * AREA_PAGES
            frames = m.pages.frame_of[first:first + AREA_PAGES]
            flags = m.frames.flags[frames[frames > 0]]
            self.check("neighbours_go_together", not (flags & (pool.DIRTY | pool.IN_WRITE) == pool.DIRTY).any())

    def moment(self):
        m = self.m
        self.check("the_log_is_not_written_over", m.log[inno.MADE] - m.log[inno.CHECKPOINT_AT] <= 2 * m.s.log_file_bytes)
        self.check("dirty", m.pool[inno.N_DIRTY] == len(self.first) == (m.frames.flags & pool.DIRTY != 0).sum())
        rows = [m.held[p, :m.process[p, inno.N_HELD]] for p in range(N)]
        self.check("rows_are_exclusive", all((m.holder[mine] == p + 1).all() for p, mine in enumerate(rows)))
        wanted = m.process[:N, inno.ROW]
        self.check("nobody_waits_for_a_free_row", (m.holder[wanted[wanted >= 0]] != 0).all())
        self.moments += 1
        if self.moments % 100 == 0:
            self.lists()

    def lists(self):
        m, frames, place = self.m, [], 0
        while m.frames.use.newer[place] != 0:
            place = int(m.frames.use.newer[place])
            frames.append(place)
        is_old = m.frames.flags[frames] & pool.IS_OLD != 0
        n, n_old = int(m.pool[inno.N_USED]), int(is_old.sum())
        self.check("list", len(set(frames)) == len(frames) == n)
        self.check("list", (m.pages.frame_of[m.frames.page[frames]] == frames).all())
        self.check("midpoint", n_old == m.pool[inno.N_OLD] and not is_old[n_old:].any())
        self.check("midpoint", n < pool.MIN_PAGES_FOR_OLD or abs(n_old - n * 3 // 8) <= pool.TOLERANCE + 1)

    def end(self):
        m = self.m
        in_flight = (m.process[:, inno.FRAME] > 0).sum()
        n_written = m.counts[stat.LIST_WRITES] + m.counts[stat.LRU_WRITES] - in_flight
        self.check("every_dirty_page_is_written_once", self.made_dirty == n_written + m.pool[inno.N_DIRTY])
        self.check("all_kinds_of_writing", m.counts[stat.LIST_WRITES] > 100 < m.counts[stat.LRU_WRITES])
        ages = m.s.duration_ns - m.process[:N, inno.BEGAN]
        self.check("everybody_goes_on", ages.max() < 2 * SECOND_NS and m.counts[stat.COMMITS] > 300)
        self.check("little", m.response_ns.sum() + ages.sum() == N * m.s.duration_ns)


def watch(seen):
    """Let `seen` see changes, commits and batches. Returns what it was before."""
    real = {"change": client.change, "commit": run.commit, "committed": run.committed, "gather": run.gather}

    def change(m, frame, began):
        seen.change(m, frame, began)
        real["change"](m, frame, began)

    def commit(m, now, p):
        real["commit"](m, now, p)
        seen.commit_lsn[p] = int(m.log[inno.MADE])

    def committed(m, now, p):
        seen.check("commits_are_durable", not m.process[p, inno.HAS_CHANGED] or seen.commit_lsn[p] <= m.log[inno.STABLE])
        real["committed"](m, now, p)

    def gather(m, now, p):
        gathered = real["gather"](m, now, p)
        seen.gathered(m, p)
        return gathered

    client.change, run.commit, run.committed, run.gather = change, commit, committed, gather
    return real


def observe(law=None, doublewrite=1):
    """Laws broken in a run, which ends when `law` is."""
    m, _ = start(TEST, SETTINGS._replace(doublewrite=doublewrite))
    seen, device = Observer(m), new_device(**DEVICE)
    real = watch(seen)
    while law not in seen.broken and m.calendar.time[next_source(m.calendar)] < SETTINGS.duration_ns:
        p = int(next_source(m.calendar))
        now = int(m.calendar.time[p])
        set_time(m.calendar, p, NEVER)
        seen.returned(p)
        run.step(m, now, p)
        for i in range(m.calls.n_out[0]):
            seen.call(int(m.calls.outbox[i]))
        serve(device, m.calls, m.calendar, now)
        seen.moment()
    client.change, run.commit, run.committed, run.gather = real.values()
    if law not in seen.broken:
        seen.end()
    return sorted(seen.broken)


# ---- defects ----


def does_not_wait(m, p, then):
    m.process[p, inno.PHASE] = then


def takes_written_for_stable(m, p, real=run.log_wanted):
    m.process[p, 6] = 0
    return real(m, p)


def goes_on_without_flush(m, p, lsn, must_be_stable, then):
    m.process[p, inno.PHASE] = then


def syncs_no_area(m, now, p, file, then, real=run.sync):
    if file == DOUBLEWRITE:
        m.process[p, inno.PHASE] = then
        return True
    return real(m, now, p, file, then)


def syncs_no_pages(m, now, p):
    m.process[p, inno.PHASE] = phase.CHUNK_DONE
    return True


def puts_the_newest_first(m, frame, began, real=pool.change):
    was_clean = not m.frames.flags[frame] & pool.DIRTY
    real(m, frame, began)
    if was_clean:
        pool.unlink(m.frames.dirty, frame)
        pool.link_after(m.frames.dirty, 0, frame)


def has_it_anyway(m, now, p, row):
    locks._hold(m, p, row)
    return locks.HAS


def adds_one_page(m, agent, first, n_pages, real=flush._add_area):
    n = int(m.batch[agent, inno.N_CHUNK])
    real(m, agent, first, n_pages)
    m.frames.flags[m.chunk[agent, n + 1:m.batch[agent, inno.N_CHUNK]]] &= ~pool.IN_WRITE
    m.batch[agent, inno.N_CHUNK] = n + 1


def finds_room(m, now, p):
    m.process[p, inno.PHASE] = m.process[p, inno.ROOM_THEN]
    return True


def forgets_who_wants(m, now, page):
    pass


def makes_the_midpoint_stay(m):
    if m.pool[inno.N_OLD] == 0:
        pool_real(m)


pool_real = pool._move_midpoint


def loses_a_page(m, frame, real=flush.clean):
    """A page that was written is off the list, but counts on."""
    real(m, frame)
    m.pool[inno.N_DIRTY] += 1


def syncs_nothing(m, now, p, file, then):
    m.process[p, inno.PHASE], m.process[p, inno.SYNCS] = then, m.pool[inno.N_WRITTEN]
    return True


DEFECTS = {
    "none": (run, "step", run.step, None),
    "a commit does not wait for its flush": (client, "_log_of_commit", does_not_wait, "commits_are_durable"),
    "written is taken for stable": (run, "log_wanted", takes_written_for_stable, "commits_are_durable"),
    "a page is written before its log": (flush, "log_up_to", goes_on_without_flush, "log_before_data"),
    "the area is not synced": (run, "sync", syncs_no_area, "pages_have_a_copy"),
    "the area is used again before its pages are stable": (run, "pages_written", syncs_no_pages,
                                                          "the_area_is_free_before_it_is_used"),
    "a checkpoint is where the log ends": (checkpoints, "oldest_change", lambda m: m.log[inno.MADE],
                                           "checkpoints_keep_the_log_that_is_needed"),
    "the list of dirty pages is upside down": (client, "change", puts_the_newest_first,
                                               "checkpoints_keep_the_log_that_is_needed"),
    "pages change while they are written": (client, "IN_WRITE", 0, "pages_do_not_change_while_they_are_written"),
    "a row can be had twice": (client, "lock_row", has_it_anyway, "rows_are_exclusive"),
    "a row let go is given to nobody": (locks, "_hand_over", lambda *a: None, "nobody_waits_for_a_free_row"),
    "neighbours stay": (flush, "_add_area", adds_one_page, "neighbours_go_together"),
    "nobody sees to room in the log": (run, "free_check", finds_room, "the_log_is_not_written_over"),
    "who wants a page is not told": (flush, "tell_who_wants", forgets_who_wants, "everybody_goes_on"),
    "the midpoint never moves": (pool, "_move_midpoint", makes_the_midpoint_stay, "midpoint"),
    "a written page counts as dirty": (flush, "clean", loses_a_page, "dirty"),
}
WITHOUT_AREA = {
    "none without the area": (run, "step", run.step, None),
    "a checkpoint syncs nothing": (checkpoints, "sync", syncs_nothing, "checkpoints_keep_the_log_that_is_needed"),
}


def main():
    failed = {}
    for name, (module, attribute, by, law) in (DEFECTS | WITHOUT_AREA).items():
        with defect(module, attribute, by):
            broken = observe(law, int(name in DEFECTS))
        failed[name] = [law, broken] if law else broken
    print(json.dumps(failed))


if __name__ == "__main__":
    main()
