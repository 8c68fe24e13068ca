"""What the machines of all databases have: servers with queues, wake-ups, counts by the second.

A machine `m` of a database has these fields: `s`, its settings, among them `handoff_ns` (until who is woken runs). It has
`calendar`, and `queue`, `after` and `busy`, see `model.events.queues`. `busy[i]` is how many servers of queue `i` are taken.
Further fields are `service_ns` per process; `counts` and `per_second` of what is counted; `calls`
(`model.filesystems.calls`). Queue CPUS is that of the processors, `s.n_cpus` of them.

A server keeps a process for all of its service; its event is then the end of it.

Threads of the file system want the same processors (`owed` of `model.filesystems.calls`). Those that are idle work for them.
Where none is, who asks for one lets them go first, for a scheduler's round at most. So no work is lost, and no process waits
while a processor is idle. Left out: which process it is that waits for them; that they stop for one another. Also left out:
they take turns with processes which find a processor idle at every one of their events.
"""

from model.events.calendar import set_time
from model.events.clock import MS, SECOND_NS
from model.events.queues import NOBODY, join, leave
from model.jit import kernel

CPUS = 0  # the queue of the processors
ROUND_NS = 3 * MS  # that one thread keeps a processor before another one: Linux, sched_min_granularity, 0.75 to 3 ms by then
AT_WORK = -1  # in place of `cpu_ns` of a call: a processor does it


@kernel
def count(m, kind, n, now):
    """`n` more of `kind`, in all and in this second."""
    m.counts[kind] += n
    second = now // SECOND_NS
    if second < m.per_second.shape[1]:
        m.per_second[kind, second] += n


@kernel
def wake(m, now, process):
    """Let `process`, if it is one, go on."""
    if process != NOBODY:
        set_time(m.calendar, process, now + m.s.handoff_ns)


@kernel
def _go_first(owed):
    """ns that threads of the file system take a processor for, before a process has it."""
    taken = min(owed[0], ROUND_NS)
    owed[0] -= taken
    return taken


@kernel
def seize(m, now, i, n_servers, process, service_ns):
    """`process` asks for one of the servers of queue `i`; its event is the end of its service. Where no processor is idle,
    threads of the file system go first."""
    m.service_ns[process] = service_ns
    if m.busy[i] < n_servers:
        m.busy[i] += 1
        set_time(m.calendar, process, now + service_ns)
    else:
        if i == CPUS:
            m.service_ns[process] += _go_first(m.calls.owed)
        join(m.queue, m.after, i, process)


@kernel
def release(m, now, i):
    """A server of queue `i` is free, and serves the process that has waited longest."""
    process = leave(m.queue, m.after, i)
    if process == NOBODY:
        m.busy[i] -= 1
    else:
        set_time(m.calendar, process, now + m.service_ns[process])


@kernel
def take_lock(m, i, process):
    """`process` wants lock `i`, a server kept until `release_lock`. True if it has it; else it goes on once it has."""
    if m.busy[i]:
        join(m.queue, m.after, i, process)
        return False
    m.busy[i] = 1
    return True


@kernel
def release_lock(m, now, i):
    """The next one has it, when it runs."""
    process = leave(m.queue, m.after, i)
    m.busy[i] = process != NOBODY
    wake(m, now, process)


@kernel
def _idle_work(owed, n_idle, now):
    """What idle processors have done since the last event."""
    owed[0] = max(0, owed[0] - n_idle * (now - owed[1]))
    owed[1] = now


@kernel
def is_back(m, now, process):
    """At the event of `process`: whether it goes on in the database. What the file system has to do for its call takes one
    of the server's processors first, behind others that want one."""
    cpu_ns = m.calls.cpu_ns
    _idle_work(m.calls.owed, m.s.n_cpus - m.busy[CPUS], now)
    if cpu_ns[process] > 0:
        needed, cpu_ns[process] = cpu_ns[process], AT_WORK
        seize(m, now, CPUS, m.s.n_cpus, process, needed)
        return False
    if cpu_ns[process] == AT_WORK:
        cpu_ns[process] = 0
        release(m, now, CPUS)
    return True


def typed(settings):
    """Settings of exactly the types that they are declared with: others would be compiled for anew."""
    kinds = type(settings).__annotations__.values()
    return type(settings)(*(kind(value) for kind, value in zip(kinds, settings, strict=True)))
