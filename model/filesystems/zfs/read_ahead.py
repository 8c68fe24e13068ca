"""Reading ahead in the files of a database on ZFS: `model.zfs.dmu.zfetch`, called by whoever reads a record.

 1. A record that is read is shown to the zfetch of its file when the reading has begun, or when it was found in core. So is,
    in old builds, one that a writer must read first. Not shown: with `prefetch` 0 (zfs_prefetch_disable), records that are
    no power of two; from onnv_98 on those that primarycache leaves out.
 2. What zfetch wants is read without being waited for, with the priority of prefetch; what is in core, or was never written,
    is not. It comes into the ARC with a mark, and holds no indirect block (spec 7.2). A reader that wants it meanwhile waits
    for it as for any other, and the mark goes.
 3. Each such record needs the indirect blocks above it: the reader reads those that are not in core, one by one, and waits
    (spec 4.5). Ours: if its own record has to be read as well, it waits for that before the first of these.
 4. Its CPU time is the reader's. Nothing that is read ahead comes from a cache device, nor goes there unread (spec 7.5,
    `l2arc_noprefetch`).

The streams of a file are never forgotten, as its dnode stays in core. Ours: no more than N_AHEAD records are read ahead at a
time. None is while so many I/Os wait that the writing of a group has to stop (SPARE_IOS). Others are left out, though ZFS
looks at neither (spec 4.5).
"""

from model.events import ring
from model.events.clock import TICK_NS
from model.events.queues import NOBODY
from model.filesystems.calls import READ
from model.filesystems.zfs import columns as fs
from model.filesystems.zfs import stats as stat
from model.filesystems.zfs.devices import ios_left, read_block
from model.filesystems.zfs.state import SPARE_IOS, count, read_cpu_ns, work
from model.jit import kernel, part
from model.structures.sentinels import NIL, NOWHERE
from model.zfs.arc import columns as header
from model.zfs.arc.arc import new_block, revive
from model.zfs.arc.lists import PREFETCHED, in_core
from model.zfs.arc.primarycache import asks_prefetch, drop_unless_kept, is_kept
from model.zfs.dmu import fetch_columns as to_fetch
from model.zfs.dmu.dbuf import has_come
from model.zfs.dmu.layout import file_of, level_block
from model.zfs.dmu.zfetch import read_block as show_block

# ---- showing ----


@kernel
def _asks(s, params, operation, record_bytes):
    """Rule 1."""
    may = s.prefetch and (params.uncached_read or asks_prefetch(s.primarycache))
    return may and (operation == READ or params.rewrites_read) and record_bytes & (record_bytes - 1) == 0


@part
def show(m, now, p, number, there):
    """The piece of `p` is of this record; `there`: it is in core, or being read."""
    process, file = m.process, m.process[p, fs.FILE]
    if process[p, fs.IS_SHOWN] or not _asks(m.s, m.zfetch_params, process[p, fs.OPERATION], m.files.record_bytes[file]):
        return
    process[p, fs.IS_SHOWN], process[p, fs.ROW], process[p, fs.FETCHED] = 1, 0, 0
    last = m.files.n_records_of[file] - 1
    whose = m.of_file[file, fs.OBJECT]
    process[p, fs.N_FETCHES] = show_block(m.zfetch, m.zfetch_params, whose, number, there, now // TICK_NS, last, m.answer)
    for row in range(process[p, fs.N_FETCHES]):
        m.fetches[p, row, to_fetch.FIRST_BLOCK] = m.answer[row, to_fetch.FIRST_BLOCK]
        m.fetches[p, row, to_fetch.N_BLOCKS] = m.answer[row, to_fetch.N_BLOCKS]


# ---- reading ahead ----


@kernel
def absent_above(arc, files, file, number):
    """The highest level above a record of which the block is not in core, or still being read; or 0."""
    for level in range(files.n_levels[file] - 1, 0, -1):
        node = int(arc.node_of[level_block(files, file, number, level)])
        if not in_core(arc, node) or arc.nodes[node, header.READER]:
            return level
    return 0


@part
def _buffer(m, now, block, n_bytes):
    """Rule 2: the node, held."""
    node, tick = int(m.arc.node_of[block]), now // TICK_NS
    if node == NIL:
        return new_block(m.arc, m.arc_params, block, 0, n_bytes, PREFETCHED, tick)
    revive(m.arc, m.arc_params, node, m.arc.nodes[node, header.MARKS] | PREFETCHED, tick)
    return node


@part
def _read_one(m, now, p, file, number):
    """Rule 2."""
    block, last = level_block(m.files, file, number, 0), len(m.free_ahead) - 1
    place, node = m.layout.place[block], int(m.arc.node_of[block])
    if in_core(m.arc, node) or place == NOWHERE or m.free_ahead[last] == 0 or ios_left(m.leaves.queue, m.sync) < SPARE_IOS:
        return
    m.free_ahead[last] -= 1
    i = m.free_ahead[m.free_ahead[last]]
    m.ahead[i], task = block, m.first_ahead + i
    file = file_of(m.files.first, block)  # of a zvol it may be another one that lies there
    node = _buffer(m, now, block, m.files.core_bytes[file])
    m.arc.nodes[node, header.READER] = task + 1
    count(m.tally, stat.AHEAD, 1, now)
    there = read_block(m, now, place, m.of_file[file, fs.PSIZE], 0, task, m.leaves.queue_params.async_read_priority)
    cpu_ns = read_cpu_ns(m.s, m.leaves.n_awaited[task], m.of_file[file, fs.PSIZE], m.files.record_bytes[file])
    work(m.tally, m.cpu_ns, p, cpu_ns, now)
    if there:
        ahead_came(m, now, task)


@kernel
def wants_more(process, p):
    """Whether zfetch has asked for more than `p` has had read."""
    return process[p, fs.ROW] < process[p, fs.N_FETCHES]


@part
def read_ahead(m, now, p):
    """As far as all that is needed is in core: the record above which something is not, or NOBODY."""
    process, file = m.process, m.process[p, fs.FILE]
    while wants_more(process, p):
        row = process[p, fs.ROW]
        while process[p, fs.FETCHED] < m.fetches[p, row, to_fetch.N_BLOCKS]:
            number = m.fetches[p, row, to_fetch.FIRST_BLOCK] + process[p, fs.FETCHED]
            if absent_above(m.arc, m.files, file, number):
                return number
            _read_one(m, now, p, file, number)
            process[p, fs.FETCHED] += 1
        process[p, fs.ROW], process[p, fs.FETCHED] = row + 1, 0
    return NOBODY


# ---- what has come ----


@kernel
def wake_joined(joined, process, ready, n_ready, task, has_record):
    """All who waited for the block that `task` has read go on; `has_record`: they have it, as it does not stay."""
    waiting = joined[task]
    joined[task] = NOBODY
    while waiting != NOBODY:
        if has_record:
            process[waiting, fs.HAS_RECORD], process[waiting, fs.LEVEL] = 1, -1
        ring.put(ready, n_ready, waiting)
        waiting = process[waiting, fs.JOINED_BEFORE]


@part
def ahead_came(m, now, task):
    """A record that was read ahead is there."""
    i, last = task - m.first_ahead, len(m.free_ahead) - 1
    node = int(m.arc.node_of[m.ahead[i]])
    m.free_ahead[m.free_ahead[last]] = i
    m.free_ahead[last] += 1
    has_come(m, now, node, 1)
    drop_unless_kept(m.arc, node, m.s.primarycache, 0)
    wake_joined(m.joined, m.process, m.ready, m.n_ready, task, not is_kept(m.s.primarycache, 0))
