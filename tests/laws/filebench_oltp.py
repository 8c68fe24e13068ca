"""Laws that every run of the OLTP simulation obeys, exactly; each is a function of a result that says whether it holds."""

from collections import Counter

import numpy as np

from laws.disks import utilisation
from model.events import accounts, ring
from model.events.calendar import NEVER
from model.events.queues import NOBODY
from model.simulations.filebench_oltp import columns as oltp
from model.simulations.filebench_oltp.filebench import Workload
from model.simulations.filebench_oltp.state import AIO_TASKS
from model.simulations.filebench_oltp.threads import LIBRARY_WRITES
from model.structures.sentinels import NIL
from model.zfs.arc import columns as header
from model.zfs.arc.lists import ANONYMOUS, MFU, total_bytes
from model.zfs.dmu import columns as dirtied
from model.zfs.dmu.dirty import WRITTEN
from model.zfs.shared_numbers import TXG_SIZE
from model.zfs.vdev import cache_replay
from model.zfs.vdev.cache_replay import COMPLETION, READ
from model.zfs.vdev.leaves import FOR_LINE, FOR_TXG

FREE = dict.fromkeys((name for name in Workload._fields if name.endswith("_ns")), 0)  # a workload that takes no CPU time
MANY = 256  # processors, so that nobody waits for one


def stages(x):
    """What each shadow is at, at the end."""
    m = x.machine
    return m.threads.stage[m.sources.shadows - m.sources.writers:]


def reading(x):
    """The shadows that are reading at the end: those that wait for blocks, and those that copy them."""
    has_begun = x.machine.threads.n_done[:x.machine.workload.n_shadows] > 0
    return np.flatnonzero(has_begun & np.isin(stages(x), (oltp.BEGINS, oltp.RETURNS)))


def little(x):
    """The integral of the number of reads under way is the sum of the times that they have been under way. Beside their
    responses that is the reading of /proc."""
    m = x.machine
    under_way = m.settings.duration_ns - m.tasks.rows[reading(x), oltp.BEGAN]
    proc_ns = 2 * m.workload.proc_ns * x.counts["reads_done"]
    return m.tally.under_way[accounts.AREA] == x.response_ns.sum() + proc_ns + under_way.sum()


def ios_about(x):
    """Numbers of the I/Os that have not completed: those taken that are not free."""
    queue, free = x.leaves.queue, set()
    io = int(queue.free[0])
    while io != NIL:
        free.add(io)
        io = int(queue.next_member[io])
    return set(range(1, queue.n_ios + 1)) - free


def chain(first, links):
    while first != NOBODY:
        yield int(first)
        first = links[first]


def waiters(x):
    """All that waits for an I/O, as a list."""
    leaves, waiting = x.leaves, []
    for io in ios_about(x):
        if leaves.owner[io] == FOR_LINE:
            leaf, line = leaves.leaf_of[io], leaves.queue.offset[io] >> leaves.cache_params.line_shift
            cache, n = leaves.cache, leaves.cache.n_nodes
            node = next(i for i in range(leaf * n, (leaf + 1) * n) if cache.key[i] == line and cache.filling[i])
            waiting += chain(leaves.waiting[node], leaves.joined_before)
        elif leaves.owner[io] != FOR_TXG:
            waiting.append(int(leaves.owner[io]))
    return waiting


def waiting_tasks(x):
    """Tasks that wait for an I/O or several, or for who waits for one, or are ready, or whose shadow copies what has come;
    as a list, to notice double ones."""
    leaves, tasks = x.leaves, x.machine.tasks
    of_task = Counter(waiter >> leaves.waiter_shift for waiter in waiters(x))
    first = [task for task, n in of_task.items() if n == leaves.n_awaited[task]]
    taken, put = tasks.n_ready[ring.TAKEN], tasks.n_ready[ring.PUT]
    ready = [int(tasks.ready[i & (len(tasks.ready) - 1)]) for i in range(taken, put)]
    before = tasks.rows[:, oltp.JOINED_BEFORE]
    copied = [int(i) for i in np.flatnonzero(stages(x) == oltp.RETURNS)]
    return first + ready + copied + [joiner for task in first for joiner in chain(tasks.rows[task, oltp.JOINED], before)]


def tasks_under_way(x):
    m = x.machine
    free = {int(t) for row, n in zip(m.tasks.free, m.tasks.n_free, strict=True) for t in row[:n]}
    first = m.workload.n_shadows
    of_writers = set(range(first, first + (m.workload.n_writers + 1) * AIO_TASKS)) - free
    return of_writers | {int(i) for i in reading(x)}


def conservation(x):
    """Every I/O has completed or is about; every operation has, or waits for just one thing that will come."""
    c, waiting, under_way = x.counts, waiting_tasks(x), tasks_under_way(x)
    n_begun = c["reads"] + c["writes"] + c["log_writes"]
    n_done = c["reads_done"] + c["writes_done"] + c["log_writes_done"]
    return (c["ios"] == c["ios_done"] + len(ios_about(x)) and sorted(waiting) == sorted(under_way)
            and n_begun == n_done + len(under_way))


def one_to_one(x):
    """As many writes as reads, but for the burst at the start and the posts on their way."""
    w = x.machine.workload
    return abs(x.counts["writes"] - x.counts["reads"]) <= w.n_writers * 100 + w.n_shadows


def processors_are_accounted_for(x):
    """A thread has a processor, or waits for one, or sleeps. Who waits does so as threads have all. All have computed for
    just as long as operations, the library's writes, the transaction groups and interrupts took, but for stretches that are
    not over. That is within the time that there is."""
    m, p, w = x.machine, x.machine.processors, x.machine.workload
    holders, queued = [int(thread) for thread in p.holder if thread != NOBODY], list(chain(p.queue[0, 0], p.after))
    times = m.calendar.time[m.sources.writers:m.sources.writers + len(p.held)]
    written = x.counts["writes"] + w.log_write_bytes // w.record_bytes * x.counts["log_writes"]
    groups = (x.counts["records_written"] * m.settings.sync_record_ns
              + x.counts["indirect_written"] * m.settings.sync_indirect_ns
              + x.counts["read_interrupts"] * m.settings.read_done_ns
              + x.counts["write_interrupts"] * m.settings.write_done_ns)
    sleepers = np.flatnonzero(m.threads.stage[:w.n_writers + 1] == oltp.IS_WOKEN)  # or they wait to look for the last time
    of_takers = (m.tally.wakes - m.tally.earlier_wakes).sum() - np.isin(queued, sleepers).sum()
    of_takers = of_takers * w.wake_ns + len(sleepers) * (w.post_ns + 2 * w.proc_ns)
    done = x.operations[:, oltp.CPU_NS].sum() + x.overhead_ns + written * w.write_ns + groups + of_takers
    at_most = (2 * 10**6 + LIBRARY_WRITES * w.write_ns) * len(holders)  # ns, of stretches that are not over
    return (sorted(holders) == np.flatnonzero(p.held != NOBODY).tolist() == np.flatnonzero(times != NEVER).tolist()
            and len(set(queued + holders)) == len(queued + holders)
            and (len(holders) == len(p.holder) or not (queued or p.woken.any()))
            and 0 <= x.cpu_ns - done <= at_most
            and x.cpu_ns - at_most <= m.settings.duration_ns * m.settings.n_cpus)


def who_computes_has_a_processor(x):
    """Or waits for one: nobody is forgotten. Threads of the library compute while they have writes."""
    m, p, w = x.machine, x.machine.processors, x.machine.workload
    library, first = m.sources.library - m.sources.writers, m.sources.shadows - m.sources.writers
    at_work = [*np.flatnonzero(np.isin(m.threads.stage[:w.n_writers + 1], (oltp.HANDS_OVER, oltp.HOGS, oltp.BLOCKS))),
               *library + np.flatnonzero(m.threads.handed_over),
               *first + np.flatnonzero(np.isin(stages(x), (oltp.RETURNS, oltp.COMPUTES, oltp.HAS_POSTED)))]
    return set(at_work) <= set(p.holder.tolist()) | set(chain(p.queue[0, 0], p.after))


def operations_fill_the_time(x):
    """Each thread is at one operation or another from the start to the end, and reads /proc before and behind it. Readers
    come after writers at the start, and may wait for their first processor."""
    m, w = x.machine, x.machine.workload
    first, is_reading = m.sources.shadows - m.sources.writers, reading(x)
    began = m.threads.began.copy()  # the operation under way
    began[first + is_reading] = m.tasks.rows[is_reading, oltp.BEGAN]
    spent = x.operations[:, oltp.RESPONSE_NS] + 2 * w.proc_ns * x.operations[:, oltp.N_RETURNED]
    of_writers = spent[oltp.WRITE:].sum() - began[:w.n_writers + 1].sum()
    of_shadows = spent[:oltp.WRITE].sum() - began[first:].sum()
    return of_writers == 0 and 0 <= -of_shadows <= w.n_shadows * 10**7


def each_command_interrupts_once(x):
    """What writes groups is no more commands than blocks on single disks, with two copies of indirect ones."""
    c, is_single = x.counts, x.leaves.vdev.n_children == 1
    n_copies = c["records_written"] + 2 * c["indirect_written"]
    return (c["read_interrupts"] + c["write_interrupts"] == x.n_served.sum()
            and (c["write_interrupts"] <= n_copies or not is_single))


def replays(x):
    """The vdev cache of the recorded leaf decides the same when it is asked the same without a simulation."""
    record = x.leaves.recorder
    n = record.n[0]
    stream = cache_replay.operations(*record.rows[:n, :5].T)
    decisions, _ = cache_replay.drive(x.leaves.cache_params, stream)
    decided = (stream.kind == READ) | (stream.kind == COMPLETION)
    assert n > 0
    return (decisions.outcome == record.rows[:n, 5])[decided].all()


def headers(x):
    """Of the ARC: the rows of all nodes in use, by node."""
    a = x.machine.arc
    return {int(node): a.nodes[node] for node in a.node_of[a.node_of != 0]}


def blocks_under_way(x):
    """Blocks that the groups not yet written hold: {block: groups}."""
    txgs, blocks = x.machine.txgs, {}
    for group in {int(txgs.open_txg[0]), int(txgs.quiesced[0]), int(txgs.syncing[0])} - {0}:
        quarter = group % TXG_SIZE
        first = quarter * txgs.room + 1
        for row in txgs.entries[first:first + txgs.quarters[quarter, dirtied.N_USED]]:
            if group != txgs.syncing[0] or row[dirtied.WRITING] != WRITTEN:
                blocks.setdefault(int(row[dirtied.BLOCK]), []).append(group)
    return blocks


def holds_are_accounted_for(x):
    """A block in core is held by those right below it in core, by who reads it, and by groups that it is dirty in."""
    rows = headers(x)
    holds = dict.fromkeys(rows, 0)
    for row in rows.values():
        holds[int(row[header.ABOVE])] = holds.get(int(row[header.ABOVE]), 0) + 1
    for block, groups in blocks_under_way(x).items():
        holds[int(x.machine.arc.node_of[block])] += len(groups)
    return all(row[header.HOLDS] == holds[node] + (row[header.READER] != 0) for node, row in rows.items())


def bytes_are_accounted_for(x):
    """What is counted in each state is what is there: second buffers of records dirty in two groups among it."""
    m, rows = x.machine, headers(x).values()
    n_bytes = [sum(int(row[header.N_BYTES]) for row in rows if row[header.STATE] == state) for state in range(5)]
    second = [len(groups) - 1 for block, groups in blocks_under_way(x).items() if block < m.files.n_records]
    n_bytes[ANONYMOUS] += sum(second) * m.workload.record_bytes
    return n_bytes == m.arc.n_bytes.tolist()


def only_dirty_blocks_are_anonymous(x):
    """Records that are dirty, indirect blocks on their way to disk, and what is read for the first time."""
    m, under_way = x.machine, blocks_under_way(x)
    for row in headers(x).values():
        is_dirty, is_record = int(row[header.KEY]) in under_way, row[header.KEY] < m.files.n_records
        if row[header.STATE] == ANONYMOUS and not row[header.READER] and not is_dirty:
            return False
        if is_record and is_dirty and row[header.STATE] != ANONYMOUS:
            return False
    return True


def core_is_no_larger_than_c(x):
    """But for what nobody could evict, as it is dirty, and a few blocks."""
    m = x.machine
    return total_bytes(m.arc) <= m.arc_params.c_bytes + 2**18 + m.arc.n_bytes[ANONYMOUS]


def what_is_in_core_holds_what_is_above(x):
    """Which so is in core: that an L1 is says all of those above it, up to the top of the file."""
    files, rows = x.machine.files, headers(x)
    tops = {int(files.base[file, n - 1]) for file, n in enumerate(files.n_levels.tolist())}
    return all(row[header.STATE] > MFU or int(row[header.KEY]) in tops
               or (row[header.ABOVE] and rows[int(row[header.ABOVE])][header.STATE] <= MFU) for row in rows.values())


LAWS = {law.__name__: law for law in (little, utilisation, conservation, one_to_one, replays, holds_are_accounted_for,
                                      bytes_are_accounted_for, only_dirty_blocks_are_anonymous, core_is_no_larger_than_c,
                                      processors_are_accounted_for, who_computes_has_a_processor, operations_fill_the_time,
                                      each_command_interrupts_once, what_is_in_core_holds_what_is_above)}


def mva(n_customers, think_s, demands_s):
    """Throughput (per second) of a closed network of one think station and queues, by mean value analysis."""
    n_waiting, throughput = np.zeros(len(demands_s)), 0.0
    for n in range(1, n_customers + 1):
        response = demands_s * (1 + n_waiting)
        throughput = n / (think_s + response.sum())
        n_waiting = throughput * response
    return throughput
