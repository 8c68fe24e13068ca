"""Processors of the OLTP simulation: a naive twin, the mean wait of M/M/c, and what runs with few and with many show."""

import heapq

import numpy as np
import pytest

from laws.filebench_oltp import LAWS, MANY
from model.events.calendar import NEVER, next_source, set_time
from model.events.queues import NOBODY
from model.events.streams import stream
from model.simulations.filebench_oltp import columns as oltp
from model.simulations.filebench_oltp.filebench import Workload, hog_of_shadow_ns
from model.simulations.filebench_oltp.processors import (
    USED_BY_WAKES,
    go_on,
    kernel_work,
    release,
    seize,
    wake_in_vain,
)
from model.simulations.filebench_oltp.run import preallocated_core, simulate
from model.simulations.filebench_oltp.state import Room, Settings, new_machine, new_site
from model.simulations.filebench_oltp.threads import library_event
from model.simulations.rules import rules_of
from model.zfs.eras import era
from model.zfs.vdev.leaves import new_recorder

SECOND = 10**9
N_TAKERS = 3


def new_machine_at_rest(n_cpus):
    """A machine without anything under way. Its threads are 0 to 255, its takers N_TAKERS."""
    workload = Workload(file_bytes=2**24, n_writers=N_TAKERS - 1, n_shadows=256 - 2 * N_TAKERS, wake_ns=3)
    settings = Settings(n_leaves=1, n_cpus=n_cpus, memory_bytes=2**22)
    return new_machine(new_site(workload, 1), rules_of("onnv_70"), settings, 0, Room(10, 100, 100, 100), new_recorder())[0]


def next_thread(m):
    """(the thread whose event is next, its time)"""
    source = int(next_source(m.calendar))
    return source - m.sources.writers, int(m.calendar.time[source])


def strike_out(m, thread):
    """Its event."""
    set_time(m.calendar, m.sources.writers + thread, NEVER)


class Twin:
    """The same in plain Python, nanosecond by nanosecond."""

    def __init__(self, n_cpus, n_threads, wake_ns):
        self.now, self.wake_ns, self.waiting, self.woken = 0, wake_ns, [], []
        self.holder, self.kernel, self.left_at = [None] * n_cpus, [0] * n_cpus, [0] * n_cpus
        self.rest, self.awake_until = {}, [0] * N_TAKERS
        self.n_wakes = 0

    def tick(self):
        """One nanosecond. The threads whose stretches end with it."""
        ended = []
        for i, thread in enumerate(self.holder):
            if self.kernel[i]:
                self.kernel[i] -= 1
            elif thread is not None:
                self.rest[thread] -= 1
                if self.rest[thread] == 0:
                    ended.append(thread)
        self.now += 1
        return sorted(ended)

    def idle(self):
        return next((i for i, thread in enumerate(self.holder) if thread is None and not self.kernel[i]), None)

    def seize(self, thread, ns):
        self.rest[thread] = ns
        free = [i for i, holder in enumerate(self.holder) if holder is None]
        if free:
            self.holder[min(free, key=lambda i: (self.kernel[i], i))] = thread
        else:
            self.waiting.append(thread)

    def go_on(self, thread, ns):
        self.rest[thread] = ns

    def occupy(self, i, ns):
        self.kernel[i] += ns
        self.left_at[i] = self.now + self.kernel[i]

    def release(self, thread):
        i = self.holder.index(thread)
        self.holder[i] = None
        for taker in sorted(self.woken):
            self.occupy(i, self.wake_ns)
            self.awake_until[taker] = self.left_at[i]
            self.n_wakes += 1
        self.woken = []
        if self.waiting:
            self.holder[i] = self.waiting.pop(0)
        else:
            later = [k for k, holder in enumerate(self.holder)
                     if holder is not None and self.kernel[k] > self.kernel[i]]
            if later:
                k = max(later, key=lambda k: (self.kernel[k], -k))
                self.holder[i], self.holder[k] = self.holder[k], None

    def kernel_work(self, ns):
        i = self.idle()
        self.occupy(min(range(len(self.holder)), key=lambda i: (self.left_at[i], i)) if i is None else i, ns)

    def wake_in_vain(self, taker):
        if taker in self.woken or self.now < self.awake_until[taker]:
            return
        free = [i for i, holder in enumerate(self.holder) if holder is None]
        if not free:
            self.woken.append(taker)
        else:
            i = min(free, key=lambda i: (self.kernel[i], i))
            self.occupy(i, self.wake_ns)
            self.awake_until[taker] = self.left_at[i]
            self.n_wakes += 1


def orders(n_cpus, n_threads, seed):
    """What is to come: (time, what, number, ns) of the kernel and of posts; per thread the ns that it sleeps and computes,
    and whether it keeps its processor."""
    rng = stream(seed, f"{n_cpus} processors")
    others = sorted((int(rng.integers(1, 3000)), kind, int(rng.integers(N_TAKERS)), int(rng.integers(1, 20)))
                    for kind in ("kernel", "post") for _ in range(150))
    return others, rng.integers(1, 40, (n_threads, 400)), rng.random((n_threads, 400)) < 0.3


def of_twin(n_cpus, n_threads, seed):
    """(when each stretch ended, by whom; wakes)"""
    others, times, keeps = orders(n_cpus, n_threads, seed)
    twin, n, ends = Twin(n_cpus, n_threads, 3), [0] * n_threads, []
    asleep = [(1, thread) for thread in range(n_threads)]
    while twin.now < 3000:
        for thread in twin.tick():
            ends.append((twin.now, thread))
            n[thread] += 1
            if keeps[thread, n[thread]]:
                twin.go_on(thread, int(times[thread, n[thread]]))
            else:
                twin.release(thread)
                heapq.heappush(asleep, (twin.now + int(times[thread, n[thread]]), thread))
        while others and others[0][0] == twin.now:
            _, kind, taker, ns = others.pop(0)
            if kind == "kernel":
                twin.kernel_work(ns)
            else:
                twin.wake_in_vain(taker)
        while asleep and asleep[0][0] == twin.now:
            thread = heapq.heappop(asleep)[1]
            twin.seize(thread, int(times[thread, n[thread] + 200]))
    return ends, twin.n_wakes


def of_model(n_cpus, n_threads, seed):
    """The same."""
    others, times, keeps = orders(n_cpus, n_threads, seed)
    m, n, ends = new_machine_at_rest(n_cpus), [0] * n_threads, []
    asleep = [(1, thread) for thread in range(n_threads)]
    while True:
        thread, first = next_thread(m)
        now = min(first, others[0][0] if others else NEVER, asleep[0][0] if asleep else NEVER)
        if now > 3000:
            return ends, int(m.tally.wakes.sum())
        if first == now:
            ends.append((now, thread))
            n[thread] += 1
            strike_out(m, thread)
            if keeps[thread, n[thread]]:
                go_on(m, now, thread, int(times[thread, n[thread]]))
            else:
                release(m, now, thread)
                heapq.heappush(asleep, (now + int(times[thread, n[thread]]), thread))
        elif others and others[0][0] == now:
            _, kind, taker, ns = others.pop(0)
            if kind == "kernel":
                kernel_work(m, now, ns)
            else:
                wake_in_vain(m, now, taker)
        else:
            thread = heapq.heappop(asleep)[1]
            seize(m, now, thread, int(times[thread, n[thread] + 200]))


@pytest.mark.parametrize(("n_cpus", "n_threads"), [(1, 3), (2, 5), (4, 7), (4, 3)])
def test_processors_do_what_a_naive_twin_does(n_cpus, n_threads):
    ends, n_wakes = of_model(n_cpus, n_threads, 1)
    assert len(ends) > 50
    assert n_wakes > 20
    assert (ends, n_wakes) == of_twin(n_cpus, n_threads, 1)


@pytest.mark.slow
def test_the_mean_wait_of_customers_of_m_m_c_is_that_of_erlang():
    """Four processors, 75 % busy; 99.9 % limits of 20 batches."""
    n_cpus, n, service_ns = 4, 20_000, 10**6
    rng = stream(1, "M/M/4")
    arrivals = np.cumsum(rng.exponential(service_ns / n_cpus / 0.75, n)).astype(np.int64)
    services = rng.exponential(service_ns, n).astype(np.int64) + 1
    m, idle, at, waits, i = new_machine_at_rest(n_cpus), list(range(256)), {}, np.zeros(n), 0
    while i < n or at:
        thread, first = next_thread(m)
        if i < n and arrivals[i] < first:
            thread = idle.pop()
            at[thread] = i
            seize(m, int(arrivals[i]), thread, int(services[i]))
            i += 1
        else:
            customer = at.pop(thread)
            waits[customer] = first - services[customer] - arrivals[customer]
            strike_out(m, thread)
            release(m, first, thread)
            idle.append(thread)
    batches = waits[2000:].reshape(20, -1).mean(axis=1) / service_ns
    load = 3.0
    terms = [load**k / float(np.prod(range(1, k + 1))) for k in range(n_cpus)]
    last = load**n_cpus / float(np.prod(range(1, n_cpus + 1))) / (1 - load / n_cpus)
    expected = last / (sum(terms) + last) / (n_cpus - load)
    assert abs(batches.mean() - expected) < 3.88 * batches.std(ddof=1) / np.sqrt(20) < 0.5 * expected


# ---- whole runs ----


@pytest.fixture(scope="module")
def site():
    return new_site(Workload(file_bytes=2**27), 6)


def run(site, n_cpus, drawn_ns=(), settings=None, **of_workload):
    """4 s. `settings`: a dict; `drawn_ns`: services of disks."""
    site = site._replace(workload=site.workload._replace(**of_workload))
    of_all = {"sync_record_ns": 45_000} | (settings or {})
    return simulate(site, rules_of("onnv_70", drawn_ns=drawn_ns),
                    Settings(n_leaves=6, duration_ns=4 * SECOND, txg_ns=SECOND, n_cpus=n_cpus, **of_all))


def mean(x, operation, column):
    return x.operations[operation, column] / x.operations[operation, oltp.N_RETURNED]


def test_where_nobody_waits_an_operation_takes_its_cpu_time(site):
    """Without readings of /proc. Each post of a shadow that finds its taker asleep wakes it."""
    x = run(site, MANY)
    w = x.machine.workload
    for operation, cpu_ns in ((oltp.HOG, hog_of_shadow_ns(w)), (oltp.POST_LOG, w.post_ns),
                              (oltp.POST_WRITERS, w.n_writers * w.post_ns), (oltp.WRITE, w.handover_ns)):
        assert mean(x, operation, oltp.RESPONSE_NS) == cpu_ns
    assert not x.machine.processors.woken.any()
    assert x.machine.processors.used_ns[USED_BY_WAKES] > 0


def test_one_processor_makes_everybody_wait_and_has_no_idle_time_when_hogs_are_long(site):
    """Utilisation law: what it has done is all of its time."""
    x, free = run(site, 1, hog_ns=10_000_000), run(site, MANY, hog_ns=10_000_000)
    assert x.cpu_ns == pytest.approx(x.machine.settings.duration_ns, rel=0.01)
    assert x.reads_per_s < 1e9 / hog_of_shadow_ns(x.machine.workload)
    assert x.reads_per_s < free.reads_per_s
    assert x.response_ns.mean() > free.response_ns.mean()


@pytest.mark.parametrize("part", ["sync_record_ns", "write_done_ns", "read_done_ns"])
def test_a_transaction_group_takes_processors_from_those_that_compute(site, part):
    """On one processor: what its blocks and their interrupts cost delays hogs."""
    cheap, dear = (run(site, 1, settings={part: ns}, hog_ns=1_000_000) for ns in (0, 1_000_000))
    assert mean(dear, oltp.HOG, oltp.RESPONSE_NS) > 1.05 * mean(cheap, oltp.HOG, oltp.RESPONSE_NS)
    assert mean(cheap, oltp.HOG, oltp.RESPONSE_NS) >= 1_000_000


def test_nobody_waits_for_an_interrupt_where_there_are_processors_for_all(site):
    cheap, dear = (run(site, MANY, settings={"write_done_ns": ns}) for ns in (0, 1_000_000))
    assert (cheap.response_ns == dear.response_ns).all()
    assert dear.cpu_ns - cheap.cpu_ns == 1_000_000 * dear.counts["write_interrupts"] > 0


def test_one_thread_writes_the_groups_of_2007_and_several_those_of_onnv_79(site):
    """Work of one thread takes its time, from the end of the first open group on. The disks could do more."""
    work_ns, dear_ns, open_ns = {}, 10_000_000, SECOND
    for build in ("onnv_70", "onnv_79"):
        x = run(site, 4, settings={"issue": era(build).issue, "sync_record_ns": dear_ns, "write_done_ns": 0})
        work_ns[build] = (x.counts["records_written"] * dear_ns
                          + x.counts["indirect_written"] * x.machine.settings.sync_indirect_ns)
    time_ns = x.machine.settings.duration_ns - open_ns
    assert 0.9 * time_ns < work_ns["onnv_70"] <= time_ns + dear_ns
    assert 1.1 * time_ns < work_ns["onnv_79"] <= 4 * (time_ns + dear_ns)


def test_a_thread_of_the_library_keeps_its_processor_until_it_has_begun_all_writes():
    m, writer, other, left = new_machine_at_rest(1), 1, 100, []
    library = m.sources.library - m.sources.writers + writer
    m.threads.handed_over[writer], m.threads.in_stretch[writer] = 25, 10
    seize(m, 0, library, 1)
    seize(m, 0, other, 1)
    while m.processors.held[other] == NOBODY:
        thread, now = next_thread(m)
        assert thread == library
        strike_out(m, thread)
        library_event(m, now, writer)
        left.append(int(m.threads.handed_over[writer]))
    assert left == [15, 5, 0]


@pytest.mark.parametrize("n", [5, 15])
def test_the_library_counts_bursts_that_are_no_multiple_of_what_it_writes_at_a_time(site, n):
    """While it computes for some, more are handed over."""
    x = run(site, 4, writes_per_burst=n, writer_posts=10, writer_high_water=20, write_ns=500_000)
    assert x.counts["writes"] > 1000
    assert LAWS["processors_are_accounted_for"](x)
    assert LAWS["operations_fill_the_time"](x)


def test_a_taker_computes_less_where_posts_are_faster_than_it_can_look(site):
    """Faster disks, hence more posts a second: two processors are busier, and posts come before it has looked."""
    slow, fast = (run(site, 2, drawn_ns=np.full(16, ns), hog_ns=300_000) for ns in (8_000_000, 1_000_000))
    assert fast.reads_per_s > 5 * slow.reads_per_s
    assert mean(fast, oltp.BLOCK, oltp.CPU_NS) < 0.9 * mean(slow, oltp.BLOCK, oltp.CPU_NS)


def test_hardly_a_wake_is_lost_where_processors_are_mostly_idle(site):
    """Four processors, a fifth busy: a taker looks after nearly as many posts as one that always has a processor. Services
    of the disks differ, so that posts do not come together."""
    services_ns = stream(1, "services").integers(6_000_000, 10_000_000, 997)
    few, many = (run(site, n_cpus, drawn_ns=services_ns) for n_cpus in (4, MANY))
    assert few.cpu_ns < 0.25 * 4 * few.machine.settings.duration_ns
    assert mean(few, oltp.BLOCK, oltp.CPU_NS) == pytest.approx(mean(many, oltp.BLOCK, oltp.CPU_NS), rel=0.05)


def test_a_reader_pays_for_what_it_sends_for_and_the_kernel_for_the_rest(site):
    """Whoever waits for what another one reads sends for nothing; who reads an indirect block first sends twice."""
    x = run(site, 4, settings={"read_issue_ns": 1_000_000, "read_done_ns": 1_000})
    cpu_ns = x.operations[oltp.READ, oltp.CPU_NS] - x.counts["reads_done"] * (
        x.machine.workload.read_ns + x.machine.workload.proc_ns)
    sent = x.counts["data_reads"] + x.counts["metadata_reads"]
    assert cpu_ns % 1_000_000 == 0
    assert 0.5 * sent < cpu_ns // 1_000_000 <= sent
    assert x.counts["read_interrupts"] <= sent


def test_a_wait_for_writes_that_slept_has_a_wake_up(site):
    """The log writer always sleeps for its one write; database writers seldom, as half of theirs are done by then."""
    x, w = run(site, MANY), Workload()
    assert mean(x, oltp.LOG_AIO_WAIT, oltp.CPU_NS) == w.wake_ns + w.reap_ns + w.proc_ns
    assert mean(x, oltp.AIO_WAIT, oltp.CPU_NS) < w.wake_ns + w.writes_per_burst * w.reap_ns + w.proc_ns


def test_a_reader_that_never_slept_has_found_all_in_core():
    """From its first read on."""
    site, settings = new_site(Workload(file_bytes=2**23), 6), Settings(n_leaves=6, duration_ns=SECOND, memory_bytes=2**30)
    x = simulate(site, rules_of("onnv_70"), settings, core=preallocated_core(site, settings.memory_bytes))
    assert x.counts["read_hits"] == x.counts["reads_done"] > x.machine.workload.n_shadows


def test_a_hog_of_ten_times_the_turns_takes_ten_times_as_long():
    assert hog_of_shadow_ns(Workload(hog_thousands=200)) == 10 * hog_of_shadow_ns(Workload())
