"""The calls of a database on ZFS: how far each process is with its own, and what it waits for.

A call is cut into *pieces* at the borders of records (16 MB of zeros for the log into pages, as the database writes them).
For each piece:

 1. *Look* from the top of the tree down (spec 5.2): an indirect block that is not in core is read, and waited for. So is the
    record, by a reader; by a writer only if the piece does not cover it and it was ever written (`model.recordsize`, rule
    1). Who wants what is being read waits for that. With primarycache=metadata a record is there for those who wait for it,
    and gone (`model.primarycache`).
 2. A writer is *admitted* to the open group (`model.throttle`), or sleeps until the clock's next tick, or less if no group
    waits for another one any more, or waits for the next group; then it looks again.
 3. The record is dirtied, and an entry of the intent log made. With the first record of a group the dnodes of the file
    systems are dirty, too, and all above them; the throttle counts them (spec 5.6).

After the last piece a reader returns, `read_ns` later, and so does a writer, `write_ns` a piece later, unless the call ends
with a commit. A commit waits for the intent log (`model.zil_commit`) and returns when that says so.
"""

from model.arc_lists import ANONYMOUS, READER, in_core
from model.calendar import set_time
from model.dbuf import buffer_for, dirty_record, find
from model.dbuf import has_come as buffer_has_come
from model.file_calls import (
    CONTROL,
    FSYNC,
    N_BYTES,
    READ,
    WAL_CREATE,
    WAL_SYNC,
    WAL_WRITE,
    WAL_WRITE_THROUGH,
)
from model.file_calls import FILE as CALL_FILE
from model.file_calls import OFFSET as CALL_OFFSET
from model.file_calls import OPERATION as CALL_OPERATION
from model.indirect import INDIRECT_BYTES
from model.jit import kernel, part
from model.layout import level_block
from model.pool import NOBODY
from model.primarycache import drop_unless_kept, is_kept
from model.throttle import GOES_ON, note_dirty, verdict
from model.throttle import SLEEPS as TO_SLEEP
from model.throttle import WAITS as TO_WAIT
from model.txg import N_USED, QUARTERS
from model.zfs_files_devices import read_block
from model.zfs_files_l2 import count_cache_read, may_be_fed, place_on_cache
from model.zfs_files_log import returns
from model.zfs_files_machine import (
    AT,
    BEGAN,
    CALLS,
    CALLS_DONE,
    COMMITS,
    COMMITTED,
    DATA_READS,
    END,
    FILE,
    HAS_RECORD,
    HAS_SLEPT,
    HAS_WAITED,
    IN_COMMIT,
    INTENT_LOG,
    IS_PUSHED,
    JOINED,
    JOINED_BEFORE,
    LEVEL,
    LOG_CALLED,
    LOOKS,
    METADATA_READS,
    NOWHERE,
    OPERATION,
    PAGE,
    PIECES,
    PSIZE,
    READ_FIRST,
    READ_HITS,
    READ_NS,
    READING,
    READS,
    RING_BYTES,
    SHARED,
    SLEEPS,
    STAGE,
    TICK_NS,
    WAITS,
    count,
    count_calls,
    make_ready,
    settings_of,
)
from model.zil import NOT_SYNC, O_DSYNC, has_room, record
from model.zil_commit import commit

MOST_ENTRIES = 4  # that one piece makes
DNODE_TREE_BLOCKS = 7  # of 16 KiB: that of the dnodes of a file system's files, and those above it (spec 5.1)

# ---- a call begins ----


@kernel
def file_number(n_files, operation, file):
    """The store's number of a file: 0 the log, 1 + f the files of the calls, the last one that of CONTROL."""
    if operation in (WAL_WRITE, WAL_WRITE_THROUGH, WAL_SYNC, WAL_CREATE):
        return 0
    return n_files - 1 if operation == CONTROL else 1 + file


@part
def begin(m, now, p, row):
    """Process `p` makes the call in its row."""
    process, operation = m.process, row[p, CALL_OPERATION]
    process[p, OPERATION], process[p, FILE] = operation, file_number(len(m.of_file), operation, row[p, CALL_FILE])
    process[p, AT], process[p, END] = row[p, CALL_OFFSET], row[p, CALL_OFFSET] + row[p, N_BYTES]
    process[p, BEGAN], process[p, HAS_WAITED], process[p, HAS_SLEPT] = now, 0, 0
    process[p, STAGE] = LOOKS
    _next_piece(m, p)
    count(m.tally, CALLS, 1, now)
    count_calls(m.tally, now, 1)
    if operation == READ:
        count(m.tally, READS, 1, now)
    if operation in (FSYNC, WAL_SYNC):
        process[p, STAGE] = COMMITS
        set_time(m.calendar, m.sources.processes + p, now + m.s.commit_ns)
    else:
        make_ready(m.ready, m.n_ready, p)


@part
def _next_piece(m, p):
    m.process[p, LEVEL], m.process[p, HAS_RECORD] = m.files.n_levels[m.process[p, FILE]] - 1, 0


@kernel
def _offset(process, of_file, p):
    """In the file: a log begins at its front again."""
    return process[p, AT] % of_file[process[p, FILE], RING_BYTES]


@kernel
def _record(process, of_file, record_bytes, p):
    return _offset(process, of_file, p) // record_bytes[process[p, FILE]]


@kernel
def _piece_bytes(process, of_file, record_bytes, p):
    file, at = process[p, FILE], _offset(process, of_file, p)
    n_bytes = min(process[p, END] - process[p, AT], record_bytes[file] - at % record_bytes[file])
    return min(n_bytes, of_file[file, PAGE]) if process[p, OPERATION] == WAL_CREATE else n_bytes


# ---- rule 1 ----


@part
def _lowest(m, p, file, number):
    """The level down to which blocks must be in core."""
    if m.process[p, OPERATION] == READ:
        return 0
    block = level_block(m.files, file, number, 0)
    is_new = m.layout.place[block] == NOWHERE and not in_core(m.arc, int(m.arc.node_of[block]))
    is_covered = _piece_bytes(m.process, m.of_file, m.files.record_bytes, p) == m.files.record_bytes[file]
    return 1 if m.process[p, HAS_RECORD] or is_new or is_covered else 0


@kernel
def _join(process, p, reader):
    """`p` waits for the block that `reader` reads."""
    process[p, JOINED_BEFORE], process[p, HAS_WAITED] = process[reader, JOINED], 1
    process[reader, JOINED] = p


@part
def _where(m, block, file):
    """(place, B) of a block to be read. Of two copies on two vdevs it is one or the other, by its number."""
    if block < m.files.n_records:
        return m.layout.place[block], m.of_file[file, PSIZE]
    i = block - m.files.n_records
    takes_second = m.places.first_vdev[1] > 1 and block & 1
    return m.layout.second[i] if takes_second else m.layout.place[block], m.layout.n_bytes[i]


@part
def _fetch(m, now, p, file, number, level):
    """Read the block of `level` above a record: whether it is there at once."""
    block = level_block(m.files, file, number, level)
    on_cache = place_on_cache(m.l2, m.l2_params, m.arc, m.places, block)
    node = buffer_for(m, now, file, number, level)
    may_be_fed(m.arc, m.places, m.s.secondarycache, node)
    place, n_bytes = _where(m, block, file)
    there = True
    if on_cache != NOWHERE:
        place, n_bytes = on_cache, count_cache_read(m.arc, m.tally, node, now)
    elif place != NOWHERE:
        count(m.tally, METADATA_READS if level > 0 else DATA_READS, 1, now)
        if level == 0 and m.process[p, OPERATION] != READ:
            count(m.tally, READ_FIRST, 1, now)
    if place != NOWHERE:
        there = read_block(m, now, place, n_bytes, 1 if level > 0 else 0, p)
    if there:
        _has(m, now, p, node, level)
    else:
        m.arc.nodes[node, READER], m.process[p, HAS_WAITED], m.process[p, STAGE] = p + 1, 1, READING
    return there


@part
def _has(m, now, p, node, level):
    """`p` has the block that it read."""
    buffer_has_come(m, now, node, 1)
    drop_unless_kept(m.arc, node, m.s.primarycache, level > 0)
    m.process[p, HAS_RECORD] = level == 0


@part
def _block_came(m, now, p):
    """The block that `p` read is there: it goes on, and all that waited for it."""
    process, level = m.process, m.process[p, LEVEL]
    number = _record(m.process, m.of_file, m.files.record_bytes, p)
    node = int(m.arc.node_of[level_block(m.files, process[p, FILE], number, level)])
    _has(m, now, p, node, level)
    process[p, LEVEL] -= 1
    process[p, STAGE] = LOOKS
    waiting = process[p, JOINED]
    process[p, JOINED] = NOBODY
    while waiting != NOBODY:
        if level == 0 and not is_kept(m.s.primarycache, 0):
            process[waiting, HAS_RECORD], process[waiting, LEVEL] = 1, -1
        make_ready(m.ready, m.n_ready, waiting)
        waiting = process[waiting, JOINED_BEFORE]


@part
def _look(m, now, p):
    """Whether `p` has got all that its piece needs."""
    process, file, number = m.process, m.process[p, FILE], _record(m.process, m.of_file, m.files.record_bytes, p)
    lowest = _lowest(m, p, file, number)
    while process[p, LEVEL] >= lowest:
        node = int(m.arc.node_of[level_block(m.files, file, number, process[p, LEVEL])])
        if not in_core(m.arc, node):
            if not _fetch(m, now, p, file, number, process[p, LEVEL]):
                return False
        elif m.arc.nodes[node, READER]:
            count(m.tally, SHARED, 1, now)
            _join(m.process, p, m.arc.nodes[node, READER] - 1)
            return False
        else:
            find(m, now, node)
        process[p, LEVEL] -= 1
    return True


# ---- rule 2 ----


@part
def _is_admitted(m, now, p):
    file = m.process[p, FILE]
    at_worst = m.files.record_bytes[file] + INDIRECT_BYTES * m.files.n_levels[file]
    others_wait = m.txgs.quiesced[0] != 0 and m.txgs.syncing[0] != 0 and not m.process[p, HAS_SLEPT]
    found = verdict(m.throttle, m.txg_params, m.txgs.open_txg[0], others_wait, at_worst, m.arc.n_bytes[ANONYMOUS],
                    m.arc_params.c_bytes)
    if not has_room(m.zil, MOST_ENTRIES):
        found = TO_WAIT
    if found == GOES_ON:
        m.process[p, HAS_SLEPT] = 0
        return True
    m.process[p, LEVEL] = m.files.n_levels[file] - 1
    if found == TO_SLEEP:
        count(m.tally, SLEEPS, 1, now)
        m.process[p, HAS_SLEPT] = 1
        set_time(m.calendar, m.sources.processes + p, (now // TICK_NS + 1) * TICK_NS)
        return False
    count(m.tally, WAITS, 1, now)
    m.process[p, HAS_SLEPT] = 0
    last = len(m.waiting) - 1
    m.waiting[m.waiting[last]] = p
    m.waiting[last] += 1
    m.sync[IS_PUSHED] = 1
    return False


# ---- rule 3 ----


@part
def _dirty(m, now, p):
    """The record of a piece is dirtied. False if `p` has to wait for who is reading it."""
    file, number, txg = m.process[p, FILE], _record(m.process, m.of_file, m.files.record_bytes, p), m.txgs.open_txg[0]
    block, before = level_block(m.files, file, number, 0), m.txgs.quarters[txg % QUARTERS, N_USED]
    if not dirty_record(m, now, file, number):
        _join(m.process, p, m.arc.nodes[m.arc.node_of[block], READER] - 1)
        _next_piece(m, p)
        return False
    n_new = m.txgs.quarters[txg % QUARTERS, N_USED] - before
    if n_new > 0:
        n_above = n_new - 1 + (len(m.zil.logs) * DNODE_TREE_BLOCKS if before == 0 else 0)
        note_dirty(m.throttle, m.txg_params, txg, m.files.record_bytes[file] + n_above * INDIRECT_BYTES)
    may_be_fed(m.arc, m.places, m.s.secondarycache, int(m.arc.node_of[block]))
    if m.early_in[block] == txg:
        m.early_in[block] = 0
    count(m.tally, PIECES, 1, now)
    log, opened = m.of_file[file, INTENT_LOG], O_DSYNC if m.process[p, OPERATION] == WAL_WRITE_THROUGH else NOT_SYNC
    n_bytes = _piece_bytes(m.process, m.of_file, m.files.record_bytes, p)
    record(m.zil, m.zil_params, settings_of(m.zil_settings, log), log, 1 + file, block, m.files.record_bytes[file], n_bytes,
           opened, txg)
    return True


# ---- a call goes on ----


@part
def _commit(m, db_calendar, now, p):
    m.process[p, STAGE] = IN_COMMIT
    file = m.process[p, FILE]
    log = m.of_file[file, INTENT_LOG]
    count(m.tally, COMMITTED, 1, now)
    at_once = commit(m.zil, m.zil_params, settings_of(m.zil_settings, log), log, 1 + file, p, m.txgs.open_txg[0])
    m.sync[LOG_CALLED] = 1 + log
    if at_once:
        returns(m.tally, m.process, db_calendar, now, p)


@part
def _return(m, db_calendar, now, p, cpu_ns):
    count(m.tally, CALLS_DONE, 1, now)
    count_calls(m.tally, now, -1)
    if m.process[p, OPERATION] == READ:
        count(m.tally, READ_HITS, 1 - m.process[p, HAS_WAITED], now)
        m.tally.counts[READ_NS] += now - m.process[p, BEGAN]
    set_time(db_calendar, p, now + cpu_ns)


@kernel
def _is_through(operation):
    return operation in (WAL_WRITE_THROUGH, WAL_CREATE, CONTROL)


@part
def _piece_done(m, db_calendar, now, p):
    """The next piece, or the end."""
    process, operation = m.process, m.process[p, OPERATION]
    process[p, AT] += _piece_bytes(m.process, m.of_file, m.files.record_bytes, p)
    if process[p, AT] < process[p, END]:
        _next_piece(m, p)
        make_ready(m.ready, m.n_ready, p)
    elif operation == READ:
        _return(m, db_calendar, now, p, m.s.read_ns)
    elif _is_through(operation):
        process[p, STAGE] = COMMITS
        set_time(m.calendar, m.sources.processes + p, now + m.s.write_ns + m.s.commit_ns)
    else:
        _return(m, db_calendar, now, p, m.s.write_ns)


@part
def go_on(m, db_calendar, now, p):
    """`p`, which can go on, does so as far as it gets."""
    if m.process[p, STAGE] == COMMITS:
        _commit(m, db_calendar, now, p)
        return
    if m.process[p, STAGE] == READING:
        _block_came(m, now, p)
    if not _look(m, now, p):
        return
    if m.process[p, OPERATION] != READ and not (_is_admitted(m, now, p) and _dirty(m, now, p)):
        return
    _piece_done(m, db_calendar, now, p)

