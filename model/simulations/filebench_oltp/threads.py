"""The OLTP run's threads: shadows that read and post, writers that write, take posts and reap.

What each does in turn: `model.simulations.filebench_oltp.filebench`. A thread that sleeps has no event in the calendar; who
wakes it sets one.
"""

from model.events.accounts import change_by
from model.events.calendar import set_time
from model.events.queues import NOBODY
from model.jit import part
from model.simulations.filebench_oltp import columns as oltp
from model.simulations.filebench_oltp.cpu_prefetch import write_begins, write_comes, write_is_next
from model.simulations.filebench_oltp.filebench import LOG_WRITER, make_room, post, take, wake_poster
from model.simulations.filebench_oltp.state import ISSUE, REAP, TAKE
from model.simulations.filebench_oltp.tasks import begin


@part
def shadow_event(m, now, shadow):
    """Post to all takers, from where it stopped; then read the next record."""
    threads = m.threads
    while 0 <= threads.next_taker[shadow] <= m.workload.n_writers:
        taker = threads.next_taker[shadow]
        posted, wakes = post(m.semaphores, taker, shadow)
        if wakes:
            set_time(m.calendar, m.sources.writers + taker, now)
        if not posted:
            return
        threads.next_taker[shadow] += 1
    n = threads.n_done[shadow]
    threads.n_done[shadow] += 1
    m.tally.counts[oltp.READS] += 1
    change_by(m.tally.under_way, now, 1)
    begin(m.tasks, m.files, now, shadow, n % m.workload.n_files, threads.shadow_records[shadow, n], 1)


@part
def _issue_writes(m, now, writer):
    """A burst of a database writer, or the one write of the log writer."""
    threads, tasks = m.threads, m.tasks
    is_log = writer == LOG_WRITER
    n_writes = 1 if is_log else m.workload.writes_per_burst
    for _ in range(n_writes):
        n = threads.n_done[m.workload.n_shadows + writer]
        threads.n_done[m.workload.n_shadows + writer] += 1
        tasks.n_free[writer] -= 1
        task = tasks.free[writer, tasks.n_free[writer]]
        tasks.rows[task, oltp.WRITER] = writer
        if is_log:
            per_write = m.workload.log_write_bytes // m.workload.record_bytes
            begin(m.tasks, m.files, now, task, m.workload.n_files, threads.log_records[n], per_write)
        else:
            begin(m.tasks, m.files, now, task, n % m.workload.n_files, threads.writer_records[writer - 1, n], 1)
            write_comes(m, n % m.workload.n_files, threads.writer_records[writer - 1, n])
    if not is_log:
        end = threads.n_done[m.workload.n_shadows + writer]
        for n in range(end - n_writes, end):
            write_begins(m, n % m.workload.n_files, threads.writer_records[writer - 1, n])
        for n in range(end - n_writes, end):
            write_is_next(m, n % m.workload.n_files, threads.writer_records[writer - 1, n])
    threads.outstanding[writer] += n_writes
    m.tally.counts[oltp.LOG_WRITES if is_log else oltp.WRITES] += n_writes


@part
def _take(m, now, writer):
    """Make room for posters, then take posts. True if they are there; else the writer sleeps until they are."""
    make_room(m.semaphores, writer)
    poster = wake_poster(m.semaphores, writer)
    while poster != NOBODY:
        m.threads.next_taker[poster] += 1
        set_time(m.calendar, m.sources.shadows + poster, now)
        poster = wake_poster(m.semaphores, writer)
    return take(m.semaphores, writer)


@part
def _reap(threads, writer):
    """Wait for half of the writes outstanding: True if they are completed; else the writer sleeps until they are."""
    n = max(1, threads.outstanding[writer] // 2)
    if threads.completed[writer] < n:
        threads.reaping[writer] = n
        return False
    threads.reaping[writer] = 0
    threads.completed[writer] -= n
    threads.outstanding[writer] -= n
    return True


@part
def writer_event(m, now, writer):
    """One step: ISSUE, TAKE, REAP and over again; the log writer reaps before it takes."""
    is_log = writer == LOG_WRITER
    stage, goes_on, later = m.threads.stage[writer], True, 0
    if stage == ISSUE:
        _issue_writes(m, now, writer)
        following, later = (REAP, 0) if is_log else (TAKE, m.workload.writer_cpu_ns)
    elif stage == TAKE:
        goes_on = _take(m, now, writer)
        following = ISSUE if is_log else REAP
    else:
        goes_on = _reap(m.threads, writer)
        following = (TAKE if is_log else ISSUE) if goes_on else REAP
    m.threads.stage[writer] = following
    if goes_on:
        set_time(m.calendar, m.sources.writers + writer, now + later)
