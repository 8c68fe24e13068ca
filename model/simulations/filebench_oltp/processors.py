"""The OLTP run's processors: who computes, who waits for a processor, and who takes one from whom.

    seize(m, now, thread, ns)   `thread` wants a processor for so long; its event is the end of it
    go_on(m, now, thread, ns)   it has one, and needs it for so long more
    release(m, now, thread)     it sleeps: the next one has the processor

A thread takes a processor that no other thread has, else it waits: first come, first served. Nobody takes it away but the
kernel (`kernel_work`): the thread that writes a transaction group, interrupts, and threads that complete I/Os. These are of
the system's class, above threads of processes (spa.c of 2007: maxclsyspri, eight threads for each kind of I/O). They take
an idle processor, else the one that was taken longest ago. Whoever has it goes on behind them, or elsewhere when a thread
leaves a processor.

A taker that a post wakes in vain needs a processor for a moment (`wake_in_vain`). If threads have all, it has the next one
that a thread leaves. Until then further posts wake nobody (sem.c: they broadcast, and nobody sleeps there). The taker pays
for all of a wake-up. In Solaris who posts pays for a part of it.

Stretches are shorter than a slice of Solaris (20 ms or more, ts_dptbl). So no thread is stopped at the end of one. Left out:
priorities among threads of processes; caches that a moved thread finds cold; that the sync thread is below interrupts. So is
that a taker which gets its posts while it looks for them has a processor already.
"""

from typing import NamedTuple

import numpy as np

from model.events.calendar import set_time
from model.events.queues import NOBODY, join, leave, new_queues
from model.jit import kernel, part

# Elements of Processors.used_ns.
(USED_BY_THREADS,  # ns of threads of processes, in all that they have begun
 USED_BY_KERNEL,  # ns of threads of the kernel
 USED_BY_WAKES,  # ns of takers that were woken in vain
 OVERHEAD,  # ns: one reading of /proc for each operation, which USED_BY_THREADS has too
 ) = 0, 1, 2, 3


class Processors(NamedTuple):
    """State of the processors. A thread is the number of its source, less that of the first writer."""

    holder: np.ndarray  # per processor: the thread that has it, or NOBODY
    kernel_until: np.ndarray  # ns, per processor: until when the kernel, or who was woken in vain, has it
    held: np.ndarray  # per thread: its processor, or NOBODY
    wants_ns: np.ndarray  # per thread that waits for one: how long
    queue: np.ndarray  # the queue of those that wait (model.events.queues)
    after: np.ndarray  # per thread: who waits behind it
    woken: np.ndarray  # per taker: 1 if it was woken in vain and waits for a processor
    n_woken: np.ndarray  # one element: how many are
    awake_until: np.ndarray  # ns, per taker: until when it looks at its posts in vain
    used_ns: np.ndarray  # by all that has begun; see USED_BY_THREADS. Overhead is part of what threads used


def new_processors(n_cpus, n_threads, n_takers):
    """All idle."""
    return Processors(
        holder=np.full(n_cpus, NOBODY), kernel_until=np.zeros(n_cpus, np.int64),
        held=np.full(n_threads, NOBODY), wants_ns=np.zeros(n_threads, np.int64), queue=new_queues(1),
        after=np.full(n_threads, NOBODY), woken=np.zeros(n_takers, np.int64), n_woken=np.zeros(1, np.int64),
        awake_until=np.zeros(n_takers, np.int64), used_ns=np.zeros(4, np.int64))


@kernel
def _idle(p, now):
    """A processor that does nothing, or NOBODY."""
    for i in range(len(p.holder)):
        if p.holder[i] == NOBODY and p.kernel_until[i] <= now:
            return i
    return NOBODY


@kernel
def _without_holder(p):
    """Of the processors that only the kernel has, the one that it leaves first, or NOBODY."""
    best = NOBODY
    for i in range(len(p.holder)):
        if p.holder[i] == NOBODY and (best == NOBODY or p.kernel_until[i] < p.kernel_until[best]):
            best = i
    return best


@kernel
def _free(p, now):
    """A processor that no thread has, an idle one if there is one; or NOBODY."""
    i = _idle(p, now)
    return _without_holder(p) if i == NOBODY else i


@kernel
def _taken_longest_ago(p):
    """The processor that the kernel has left before all others, or leaves before them."""
    first = 0
    for i in range(1, len(p.holder)):
        if p.kernel_until[i] < p.kernel_until[first]:
            first = i
    return first


@kernel
def _start(m, i, begins, thread, ns):
    p = m.processors
    p.holder[i] = thread
    p.held[thread] = i
    set_time(m.calendar, m.sources.writers + thread, begins + ns)


@part
def seize(m, now, thread, ns):
    """`thread` wants a processor for `ns`, and has none."""
    p = m.processors
    i = _free(p, now)
    if i == NOBODY:
        p.wants_ns[thread] = ns
        join(p.queue, p.after, 0, thread)
    else:
        p.used_ns[USED_BY_THREADS] += ns
        _start(m, i, max(now, p.kernel_until[i]), thread, ns)


@kernel
def go_on(m, now, thread, ns):
    """`thread` has a processor, and keeps it for `ns` more."""
    p = m.processors
    p.used_ns[USED_BY_THREADS] += ns
    set_time(m.calendar, m.sources.writers + thread, now + ns)


@kernel
def computes(m, thread):
    """Whether `thread` has a processor."""
    return m.processors.held[thread] != NOBODY


@kernel
def _those_woken(m, now, i):
    """Takers that were woken in vain look at their posts on processor `i`."""
    p = m.processors
    until = max(now, p.kernel_until[i])
    for taker in range(len(p.woken)):
        if p.woken[taker]:
            p.woken[taker] = 0
            until += m.workload.wake_ns
            p.awake_until[taker] = until
            m.tally.wakes[taker] += 1
            p.used_ns[USED_BY_WAKES] += m.workload.wake_ns
    p.kernel_until[i] = until
    p.n_woken[0] = 0


@kernel
def _move_here(m, now, i):
    """Of the threads that wait behind the kernel elsewhere, the one that would wait longest goes on, on processor `i`.
    When it is the kernel that leaves a processor, none does."""
    p, here = m.processors, max(now, m.processors.kernel_until[i])
    best = NOBODY
    for k in range(len(p.holder)):
        if p.holder[k] != NOBODY and p.kernel_until[k] > here:
            best, here = k, p.kernel_until[k]
    if best != NOBODY:
        thread = p.holder[best]
        ns = m.calendar.time[m.sources.writers + thread] - p.kernel_until[best]
        p.holder[best] = NOBODY
        _start(m, i, max(now, p.kernel_until[i]), thread, ns)


@part
def release(m, now, thread):
    """`thread` leaves its processor: who was woken in vain looks, then who has waited longest has it."""
    p, i = m.processors, m.processors.held[thread]
    p.held[thread] = NOBODY
    p.holder[i] = NOBODY
    if p.n_woken[0]:
        _those_woken(m, now, i)
    following = leave(p.queue, p.after, 0)
    if following != NOBODY:
        p.used_ns[USED_BY_THREADS] += p.wants_ns[following]
        _start(m, i, max(now, p.kernel_until[i]), following, p.wants_ns[following])
    else:
        _move_here(m, now, i)


@kernel
def kernel_work(m, now, ns):
    """A thread of the kernel computes for `ns`. Returns when it is done, in ns. Whoever has its processor goes on behind it,
    even if another one is idle sooner: see `_move_here`."""
    p = m.processors
    p.used_ns[USED_BY_KERNEL] += ns
    i = _idle(p, now)
    if i == NOBODY:
        i = _taken_longest_ago(p)
    p.kernel_until[i] = max(now, p.kernel_until[i]) + ns
    if p.holder[i] != NOBODY:
        source = m.sources.writers + p.holder[i]
        set_time(m.calendar, source, m.calendar.time[source] + ns)
    return p.kernel_until[i]


@kernel
def wake_in_vain(m, now, taker):
    """A post wakes `taker`, which finds too few."""
    p = m.processors
    if p.woken[taker] or now < p.awake_until[taker]:
        return
    i = _free(p, now)
    if i == NOBODY:
        p.woken[taker] = 1
        p.n_woken[0] += 1
    else:
        p.kernel_until[i] = p.awake_until[taker] = max(now, p.kernel_until[i]) + m.workload.wake_ns
        m.tally.wakes[taker] += 1
        p.used_ns[USED_BY_WAKES] += m.workload.wake_ns


@kernel
def wake_for_good(m, now, taker):
    """The posts of `taker` are there: it goes on when it has a processor."""
    p = m.processors
    if p.woken[taker]:
        p.woken[taker] = 0
        p.n_woken[0] -= 1
    m.tally.wakes[taker] += 1
    seize(m, now, taker, m.workload.wake_ns)
