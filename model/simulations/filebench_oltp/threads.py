"""The OLTP run's threads: shadows that read, compute and post, writers that hand over writes, take posts and reap.

What each does in turn: `model.simulations.filebench_oltp.filebench`. Each operation is a stretch on a processor
(`model.simulations.filebench_oltp.processors`), from one reading of /proc to the next; its event is the end of it. A thread
keeps its processor until it sleeps. A thread that sleeps has no event in the calendar. Who wakes it asks for a processor.

The hog of a shadow and its post to the log writer are one stretch. What delays it is shared between the two by CPU time.
"""

from model.events.accounts import change_by
from model.events.clock import SECOND_NS
from model.events.queues import NOBODY
from model.jit import kernel, part
from model.simulations.filebench_oltp import columns as oltp
from model.simulations.filebench_oltp.cpu_prefetch import next_read_begins, write_begins, write_comes, write_is_next
from model.simulations.filebench_oltp.filebench import (
    LOG_WRITER,
    hog_of_shadow_ns,
    hog_of_writer_ns,
    make_room,
    post,
    take,
    wake_poster,
)
from model.simulations.filebench_oltp.processors import OVERHEAD, go_on, release, seize, wake_for_good, wake_in_vain
from model.simulations.filebench_oltp.tasks import begin

LIBRARY_WRITES = 10  # at a time, of the 100 that are handed over together: stretches shorter than a millisecond


@kernel
def returned(m, operation, n, response_ns, cpu_ns):
    """`n` operations have returned, after `response_ns` and with `cpu_ns` of CPU time in all, without readings of /proc."""
    row, proc_ns = m.tally.operations[operation], n * m.workload.proc_ns
    row[oltp.N_RETURNED] += n
    row[oltp.RESPONSE_NS] += response_ns
    row[oltp.CPU_NS] += cpu_ns + proc_ns
    m.processors.used_ns[OVERHEAD] += proc_ns


@kernel
def with_proc(m, n, ns):
    """ns of CPU time of `n` operations that take `ns` together, with both readings of /proc around each."""
    return ns + 2 * n * m.workload.proc_ns


# ---- shadows ----


@part
def _begin_read(m, now, shadow):
    n = m.threads.n_done[shadow]
    m.threads.n_done[shadow] += 1
    m.tally.counts[oltp.READS] += 1
    change_by(m.tally.under_way, now, 1)
    begin(m.tasks, m.files, now, shadow, n % m.workload.n_files, m.threads.shadow_records[shadow, n], 1)


@part
def _read_returns(m, now, shadow):
    """It is counted."""
    n, response_ns = m.tally.counts[oltp.READS_DONE], now - m.tasks.rows[shadow, oltp.BEGAN] - 2 * m.workload.proc_ns
    was_in_core = m.threads.was_in_core[shadow]
    m.tally.response_ns[n] = response_ns
    m.tally.response_at[n] = now
    m.tally.counts[oltp.READS_DONE] += 1
    m.tally.counts[oltp.READ_HITS] += was_in_core
    m.tally.per_second[oltp.READS_IN, now // SECOND_NS] += 1
    change_by(m.tally.under_way, now, -1)
    issue_ns = m.tasks.rows[shadow, oltp.N_ISSUED] * m.settings.read_issue_ns
    returned(m, oltp.READ, 1, response_ns, m.workload.read_ns + issue_ns)
    next_read_begins(m, shadow)


@part
def _has_computed(m, now, began):
    """The hog, and the post to the log writer."""
    hog_ns, post_ns = hog_of_shadow_ns(m.workload), m.workload.post_ns
    late_ns = now - began - with_proc(m, 2, hog_ns + post_ns)
    late_post_ns = late_ns * post_ns // max(1, hog_ns + post_ns)
    returned(m, oltp.HOG, 1, hog_ns + late_ns - late_post_ns, hog_ns)
    returned(m, oltp.POST_LOG, 1, post_ns + late_post_ns, post_ns)


@part
def _post_to_all(m, now, shadow, thread):
    """From where it stopped. True if all posts are made; else it sleeps."""
    threads = m.threads
    while threads.next_taker[shadow] <= m.workload.n_writers:
        taker = threads.next_taker[shadow]
        posted, is_enough = post(m.semaphores, taker, shadow)
        if is_enough:
            wake_for_good(m, now, taker)
        elif m.semaphores.asleep[taker]:
            wake_in_vain(m, now, taker)
        if not posted:
            release(m, now, thread)
            return False
        threads.next_taker[shadow] += 1
    return True


@kernel
def _has_slept(m, now, shadow, thread):
    """In a post, for want of room, and has tried again."""
    was_log = m.threads.next_taker[shadow] == LOG_WRITER + 1
    m.tally.operations[oltp.POST_LOG if was_log else oltp.POST_WRITERS, oltp.CPU_NS] += m.workload.post_ns
    if was_log:
        m.tally.operations[oltp.POST_LOG, oltp.RESPONSE_NS] += now - m.threads.began[thread]
        m.threads.began[thread] = now


@part
def shadow_event(m, now, shadow):
    """The end of a stretch: what it was, and the next one."""
    threads, thread = m.threads, m.sources.shadows - m.sources.writers + shadow
    stage, began = threads.stage[thread], threads.began[thread]
    if stage == oltp.RETURNS:
        _read_returns(m, now, shadow)
        threads.stage[thread], threads.began[thread] = oltp.COMPUTES, now
        go_on(m, now, thread, with_proc(m, 2, hog_of_shadow_ns(m.workload) + m.workload.post_ns))
        return
    if stage == oltp.COMPUTES:
        _has_computed(m, now, began)
        threads.stage[thread], threads.began[thread], threads.next_taker[shadow] = oltp.POSTS, now, LOG_WRITER
    elif stage == oltp.POSTS:
        _has_slept(m, now, shadow, thread)
    elif stage == oltp.HAS_POSTED:
        posts_ns = m.workload.n_writers * m.workload.post_ns
        returned(m, oltp.POST_WRITERS, 1, now - began - with_proc(m, 1, 0), posts_ns)
    if stage in (oltp.BEGINS, oltp.HAS_POSTED):
        threads.stage[thread] = oltp.BEGINS
        _begin_read(m, now, shadow)
    elif _post_to_all(m, now, shadow, thread):
        threads.stage[thread] = oltp.HAS_POSTED
        go_on(m, now, thread, with_proc(m, 1, m.workload.n_writers * m.workload.post_ns))


# ---- writers ----


@kernel
def _n_writes(workload, writer):
    """Of a burst: the log writer makes one."""
    return 1 if writer == LOG_WRITER else workload.writes_per_burst


@kernel
def _next_in_library(threads, writer):
    """How many writes a thread of the library makes next. They are noted, as more may be handed over meanwhile."""
    threads.in_stretch[writer] = 1 if writer == LOG_WRITER else min(LIBRARY_WRITES, threads.handed_over[writer])
    return threads.in_stretch[writer]


@kernel
def _library_ns(m, writer, n):
    """CPU time of `n` writes."""
    n_records = m.workload.log_write_bytes // m.workload.record_bytes if writer == LOG_WRITER else 1
    return n * n_records * m.workload.write_ns


@kernel
def hand_over_ns(m, writer):
    """CPU time of a burst of the writer."""
    n = _n_writes(m.workload, writer)
    return with_proc(m, n, n * m.workload.handover_ns)


@part
def _hand_over(m, now, writer):
    """Its writes are with the library, whose thread begins with them when it has a processor."""
    threads, n = m.threads, _n_writes(m.workload, writer)
    response_ns = now - threads.began[writer] - with_proc(m, n, 0)
    returned(m, oltp.LOG_WRITE if writer == LOG_WRITER else oltp.WRITE, n, response_ns, n * m.workload.handover_ns)
    is_idle = threads.handed_over[writer] == 0
    threads.outstanding[writer] += n
    threads.handed_over[writer] += n
    if is_idle:
        thread = m.sources.library - m.sources.writers + writer
        seize(m, now, thread, _library_ns(m, writer, _next_in_library(threads, writer)))


@part
def library_event(m, now, writer):
    """A thread of the library begins the writes of its stretch. It keeps its processor until it has begun all that `writer`
    has handed over."""
    threads, tasks, is_log = m.threads, m.tasks, writer == LOG_WRITER
    thread, end = m.sources.library - m.sources.writers + writer, m.workload.n_shadows + writer
    n_writes = threads.in_stretch[writer]
    for _ in range(n_writes):
        n = threads.n_done[end]
        threads.n_done[end] += 1
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
        for n in range(threads.n_done[end] - n_writes, threads.n_done[end]):
            write_begins(m, n % m.workload.n_files, threads.writer_records[writer - 1, n])
        for n in range(threads.n_done[end] - n_writes, threads.n_done[end]):
            write_is_next(m, n % m.workload.n_files, threads.writer_records[writer - 1, n])
    m.tally.counts[oltp.LOG_WRITES if is_log else oltp.WRITES] += n_writes
    threads.handed_over[writer] -= n_writes
    if threads.handed_over[writer] > 0:
        go_on(m, now, thread, _library_ns(m, writer, _next_in_library(threads, writer)))
    else:
        release(m, now, thread)


@kernel
def _n_reaped(threads, writer):
    """Half of the writes outstanding."""
    return max(1, threads.outstanding[writer] // 2)


@kernel
def reap_ns(m, writer):
    """CPU time to reap them."""
    return with_proc(m, 1, _n_reaped(m.threads, writer) * m.workload.reap_ns)


@part
def _wait_for_writes(m, now, writer):
    """Half of the writes outstanding must be completed."""
    m.threads.stage[writer], m.threads.began[writer] = oltp.REAPS, now
    if m.threads.completed[writer] < _n_reaped(m.threads, writer):
        m.threads.reaping[writer] = _n_reaped(m.threads, writer)
        release(m, now, writer)
    else:
        go_on(m, now, writer, reap_ns(m, writer))


@part
def _has_reaped(m, now, writer):
    threads, n = m.threads, _n_reaped(m.threads, writer)
    response_ns = now - threads.began[writer] - with_proc(m, 1, 0)
    cpu_ns = n * m.workload.reap_ns + (m.workload.wake_ns if threads.stage[writer] == oltp.IS_WOKEN_TO_REAP else 0)
    returned(m, oltp.LOG_AIO_WAIT if writer == LOG_WRITER else oltp.AIO_WAIT, 1, response_ns, cpu_ns)
    threads.completed[writer] -= n
    threads.outstanding[writer] -= n


@part
def _begins_to_block(m, now, writer):
    m.threads.stage[writer], m.threads.began[writer] = oltp.BLOCKS, now
    go_on(m, now, writer, with_proc(m, 1, m.workload.post_ns))


@part
def _take(m, now, writer):
    """Make room for posters, then take posts. True if they are there; else the writer sleeps until they are."""
    make_room(m.semaphores, writer)
    poster = wake_poster(m.semaphores, writer)
    while poster != NOBODY:
        m.threads.next_taker[poster] += 1
        seize(m, now, m.sources.shadows - m.sources.writers + poster, m.workload.post_ns)
        poster = wake_poster(m.semaphores, writer)
    return take(m.semaphores, writer)


@part
def _has_taken(m, now, writer):
    """Its posts. The log writer begins anew; the others wait for writes."""
    is_log = writer == LOG_WRITER
    response_ns = now - m.threads.began[writer] - with_proc(m, 1, 0)
    wakes_ns = (m.tally.wakes[writer] - m.tally.earlier_wakes[writer]) * m.workload.wake_ns
    m.tally.earlier_wakes[writer] = m.tally.wakes[writer]
    returned(m, oltp.LOG_BLOCK if is_log else oltp.BLOCK, 1, response_ns, m.workload.post_ns + wakes_ns)
    if is_log:
        _begins_to_write(m, now, writer)
    else:
        _wait_for_writes(m, now, writer)


@part
def _begins_to_write(m, now, writer):
    m.threads.stage[writer], m.threads.began[writer] = oltp.HANDS_OVER, now
    go_on(m, now, writer, hand_over_ns(m, writer))


@part
def writer_event(m, now, writer):
    """The end of a stretch: what it was, and the next one."""
    threads, stage = m.threads, m.threads.stage[writer]
    if stage == oltp.HANDS_OVER:
        _hand_over(m, now, writer)
        if writer == LOG_WRITER:
            _wait_for_writes(m, now, writer)
        else:
            threads.stage[writer], threads.began[writer] = oltp.HOGS, now
            go_on(m, now, writer, with_proc(m, 1, hog_of_writer_ns(m.workload)))
    elif stage == oltp.HOGS:
        returned(m, oltp.WRITER_HOG, 1, now - threads.began[writer] - with_proc(m, 1, 0), hog_of_writer_ns(m.workload))
        _begins_to_block(m, now, writer)
    elif stage == oltp.BLOCKS:
        if _take(m, now, writer):
            _has_taken(m, now, writer)
        else:
            threads.stage[writer] = oltp.IS_WOKEN
            release(m, now, writer)
    elif stage == oltp.IS_WOKEN:
        _has_taken(m, now, writer)
    else:
        _has_reaped(m, now, writer)
        if writer == LOG_WRITER:
            _begins_to_block(m, now, writer)
        else:
            _begins_to_write(m, now, writer)
