"""The OLTP run's tasks: an operation under way looks for its blocks from the top of the tree down, and waits for each.

Tasks that can go on stand in a ring, first come, first served. A task that wants a block that is being read waits for its
reader.
"""

from model.events import ring
from model.events.clock import SECOND_NS
from model.events.queues import NOBODY
from model.jit import kernel, part
from model.simulations.filebench_oltp import columns as oltp
from model.simulations.filebench_oltp.cpu_prefetch import line_at, next_read
from model.simulations.filebench_oltp.filebench import LOG_WRITER
from model.simulations.filebench_oltp.processors import computes, go_on, release, seize
from model.zfs.arc import columns as header
from model.zfs.arc.lists import in_core
from model.zfs.dmu.dbuf import buffer_for, dirty_record, find, has_come
from model.zfs.dmu.indirect import POINTERS
from model.zfs.dmu.layout import level_block
from model.zfs.vdev.leaves import ask


@part
def begin(tasks, files, now, task, file, record, n_records):
    """`task` begins with an operation on `n_records` records of `file`, from the top of its tree."""
    tasks.rows[task, oltp.FILE] = file
    tasks.rows[task, oltp.RECORD] = record
    tasks.rows[task, oltp.N_RECORDS] = n_records
    tasks.rows[task, oltp.LEVEL] = files.n_levels[file] - 1
    tasks.rows[task, oltp.BEGAN] = now
    tasks.rows[task, oltp.N_ISSUED] = 0
    ring.put(tasks.ready, tasks.n_ready, task)


# ---- blocks ----


@part
def _join(tasks, task, reader):
    """`task` waits for the block that `reader` reads."""
    tasks.rows[task, oltp.JOINED_BEFORE] = tasks.rows[reader, oltp.JOINED]
    tasks.rows[reader, oltp.JOINED] = task


@part
def block_came(m, now, task):
    """The block that `task` read is there: it goes on, and all that waited for it."""
    tasks, level = m.tasks, m.tasks.rows[task, oltp.LEVEL]
    has_come(m, now, tasks.node[task], level > 0 or m.settings.keeps_records)
    tasks.rows[task, oltp.LEVEL] -= 1
    waiting = tasks.rows[task, oltp.JOINED]
    tasks.rows[task, oltp.JOINED] = NOBODY
    ring.put(tasks.ready, tasks.n_ready, task)
    while waiting != NOBODY:
        ring.put(tasks.ready, tasks.n_ready, waiting)
        waiting = tasks.rows[waiting, oltp.JOINED_BEFORE]


@part
def _where(layout, copy_read, n_records, record_bytes, block):
    """(place, B) of a block to be read."""
    if block < n_records:
        return layout.place[block], record_bytes
    i = block - n_records
    return layout.second[i] if copy_read[i] else layout.place[block], layout.n_bytes[i]


@part
def _fetch(m, leaves, now, task, block):
    """Read `block` from the pool: whether it is there at once."""
    level = m.tasks.rows[task, oltp.LEVEL]
    place, n_bytes = _where(m.layout, m.tally.copy_read, m.files.n_records, m.workload.record_bytes, block)
    line_at(leaves, place)
    node = buffer_for(m, now, m.tasks.rows[task, oltp.FILE], m.tasks.rows[task, oltp.RECORD], level)
    m.tally.counts[oltp.METADATA_READS if level > 0 else oltp.DATA_READS] += 1
    there = ask(leaves, now, place, n_bytes, 1 if level > 0 else 0, task)
    if there:
        has_come(m, now, node, level > 0 or m.settings.keeps_records)
    else:
        m.tasks.rows[task, oltp.N_ISSUED] += 1
        m.arc.nodes[node, header.READER] = task + 1
        m.tasks.node[task] = node
    return there


@kernel
def _level_to_look_at(m, file, record, level):
    """At `level`, or below it at the L1: if that is in core, all above it is, and is held, so that to find it does
    nothing."""
    return 1 if in_core(m.arc, int(m.arc.node_of[level_block(m.files, file, record, 1)])) else level


@part
def look(m, leaves, now, task):
    """Go down the tree as far as blocks are in core: whether `task` has got all it needs."""
    tasks, file, record = m.tasks, m.tasks.rows[task, oltp.FILE], m.tasks.rows[task, oltp.RECORD]
    lowest = 0 if tasks.rows[task, oltp.WRITER] == NOBODY else 1
    if tasks.rows[task, oltp.LEVEL] > 1:
        tasks.rows[task, oltp.LEVEL] = _level_to_look_at(m, file, record, tasks.rows[task, oltp.LEVEL])
    while tasks.rows[task, oltp.LEVEL] >= lowest:
        block = level_block(m.files, file, record, tasks.rows[task, oltp.LEVEL])
        node = int(m.arc.node_of[block])
        if not in_core(m.arc, node):
            if not _fetch(m, leaves, now, task, block):
                return False
        elif m.arc.nodes[node, header.READER]:
            _join(tasks, task, int(m.arc.nodes[node, header.READER]) - 1)
            return False
        else:
            find(m, now, node)
        tasks.rows[task, oltp.LEVEL] -= 1
    return True


# ---- ends ----


@part
def read_came(m, now, task):
    """The record is there: the shadow copies it when it has a processor. It has one if it has not slept. What it took to
    send for blocks is counted here, too."""
    thread = m.sources.shadows - m.sources.writers + task
    copy_ns = m.workload.read_ns + 2 * m.workload.proc_ns
    m.threads.stage[thread] = oltp.RETURNS
    if computes(m, thread):
        m.threads.was_in_core[task] = 1
        next_read(m, task)
        go_on(m, now, thread, copy_ns)
    else:
        m.threads.was_in_core[task] = 0
        seize(m, now, thread, copy_ns + m.tasks.rows[task, oltp.N_ISSUED] * m.settings.read_issue_ns)


@part
def sleeps(m, now, task):
    """The record is not there, nor what leads to it: the shadow leaves its processor, if it has one."""
    thread = m.sources.shadows - m.sources.writers + task
    if computes(m, thread):
        release(m, now, thread)


@part
def _look_again(m, task):
    m.tasks.rows[task, oltp.LEVEL] = m.files.n_levels[m.tasks.rows[task, oltp.FILE]] - 1


@part
def _dirty_records(m, now, task):
    """True if all are dirtied; else `task` waits for whoever reads one of them, or looks for the next indirect block."""
    rows = m.tasks.rows
    while rows[task, oltp.N_RECORDS] > 0:
        file, record = rows[task, oltp.FILE], rows[task, oltp.RECORD]
        if not dirty_record(m, now, file, record):
            node = m.arc.node_of[level_block(m.files, file, record, 0)]
            _look_again(m, task)
            _join(m.tasks, task, int(m.arc.nodes[node, header.READER]) - 1)
            return False
        rows[task, oltp.RECORD] += 1
        rows[task, oltp.N_RECORDS] -= 1
        if rows[task, oltp.N_RECORDS] > 0 and rows[task, oltp.RECORD] % POINTERS == 0:
            _look_again(m, task)
            ring.put(m.tasks.ready, m.tasks.n_ready, task)
            return False
    return True


@part
def finish_write(m, now, task):
    """Dirty the records; if that is done, the write is completed."""
    tasks, writer = m.tasks, m.tasks.rows[task, oltp.WRITER]
    if not _dirty_records(m, now, task):
        return
    is_log = writer == LOG_WRITER
    m.tally.counts[oltp.LOG_WRITES_DONE if is_log else oltp.WRITES_DONE] += 1
    m.tally.per_second[oltp.LOG_WRITES_IN if is_log else oltp.WRITES_IN, now // SECOND_NS] += 1
    tasks.free[writer, tasks.n_free[writer]] = task
    tasks.n_free[writer] += 1
    m.threads.completed[writer] += 1
    if 0 < m.threads.reaping[writer] <= m.threads.completed[writer]:
        n, m.threads.reaping[writer] = m.threads.reaping[writer], 0
        m.threads.stage[writer] = oltp.IS_WOKEN_TO_REAP
        seize(m, now, writer, m.workload.wake_ns + n * m.workload.reap_ns + 2 * m.workload.proc_ns)
