"""The calls of a database on ZFS: how far each process is with its own, and what it waits for.

A call is cut into *pieces* at the borders of records (16 MB of zeros for the log into pages, as the database writes them).
For each piece:

 1. *Look* for what the piece needs, and read what is not in core: `model.filesystems.zfs.reads`.
 2. A writer is *admitted* to the open group (`model.zfs.txg.throttle`), or sleeps, or waits for the next group. It
    sleeps until the clock's next tick, or less if no group waits for another one any more; then it looks again.
    (OpenZFS: it is delayed, or waits until less is dirty.)
 3. The record is dirtied, and an entry of the intent log made; one more for a new file of the database's log. With the
    first record of a group the dnodes of the file systems are dirty, too, and all above them. The throttle counts them (spec
    5.6).

Each record that a call writes is a transaction of its own, which is admitted, or delayed, for itself. From OpenZFS 2.2 on
one that rewrites several is admitted as a whole (pull request 14964). That spares little of what they cost a processor. A
thread that did nothing else wrote 78 800 blocks of 8 KiB a second one by one. In larger transactions it wrote 98 100 (pull
request 10099). In ZFS: zfs_vnops.c, `zfs_write`.

After the last piece a reader returns, with `read_ns` of CPU to come. So does a writer, with `write_ns` for each record,
unless the call ends with a commit. A commit waits for the intent log (`model.zfs.zil.commit`) and returns when that
says so.
With sync=always every call that writes ends with one (zfs_vnops.c, `zfs_write`: `os_sync == ZFS_SYNC_ALWAYS`).
So does every read there; it finds its file committed, and is left out.

On a zvol files are ranges of it, and who writes to it, a guest, tells it nothing of files. A flush commits all that was
written to it (zvol.c: `zvol_strategy`, `zvol_write`; object `ZVOL_OBJ`). A write that is to be stable when it returns is a
write and a flush. A write is one transaction, whatever it covers. There is no entry for a new file. Ours: each file begins
with a block of its own, and calls are handed on as they come. No guest joins them, holds them back or adds its own.
"""

from model.events import ring
from model.events.accounts import change_by
from model.events.calendar import set_time
from model.events.clock import TICK_NS
from model.filesystems import columns as call
from model.filesystems.calls import CONTROL, FSYNC, READ, WAL_CREATE, WAL_SYNC, WAL_WRITE, WAL_WRITE_THROUGH, WRITE_THROUGH
from model.filesystems.zfs import columns as fs
from model.filesystems.zfs import stats as stat
from model.filesystems.zfs.cache_devices import may_be_fed
from model.filesystems.zfs.intent_logs import returns
from model.filesystems.zfs.read_ahead import wants_more
from model.filesystems.zfs.reads import block_came, join, look, next_piece, piece_bytes, reads_ahead, record_of
from model.filesystems.zfs.state import COMMITS, IN_COMMIT, LOOKS, READING, count, settings_of, work
from model.jit import kernel, part
from model.zfs.arc.lists import ANONYMOUS
from model.zfs.dmu import columns as dirtied
from model.zfs.dmu.dbuf import dirty_record
from model.zfs.dmu.indirect import meta_dnode_levels
from model.zfs.dmu.layout import indirect_bytes, level_block
from model.zfs.shared_numbers import TXG_SIZE
from model.zfs.txg.throttle import DIRTY_DATA, GOES_ON, delayed_until, note_dirty, verdict, wants_sync
from model.zfs.txg.throttle import SLEEPS as TO_SLEEP
from model.zfs.txg.throttle import WAITS as TO_WAIT
from model.zfs.zil.commit import commit
from model.zfs.zil.log import NOT_SYNC, O_DSYNC, enter, has_room, max_entries, record_other, way_of, way_on_zvol

DNODE_BLOCK_BYTES = 2**14  # of a file system's files (spec 5.1)

# ---- a call begins ----


@kernel
def file_number(n_files, operation, file):
    """The store's number of a file: 0 the log, 1 + f the files of the calls, the last one that of CONTROL."""
    if operation in (WAL_WRITE, WAL_WRITE_THROUGH, WAL_SYNC, WAL_CREATE):
        return 0
    return n_files - 1 if operation == CONTROL else 1 + file


@kernel
def _commit_ns(s):
    """What a commit costs before its first I/O; nothing without an intent log: `zil_commit` returns at once then."""
    return 0 if s.zil_disabled else s.commit_ns


@part
def begin(m, now, p, row):
    """Process `p` makes the call in its row."""
    process, operation = m.process, row[p, call.OPERATION]
    process[p, fs.OPERATION], process[p, fs.FILE] = operation, file_number(len(m.of_file), operation, row[p, call.FILE])
    process[p, fs.AT], process[p, fs.END] = row[p, call.OFFSET], row[p, call.OFFSET] + row[p, call.N_BYTES]
    process[p, fs.N_ASKED] = row[p, call.N_BYTES]
    process[p, fs.BEGAN], process[p, fs.HAS_WAITED], process[p, fs.HAS_SLEPT] = now, 0, 0
    process[p, fs.TX_BEGAN], process[p, fs.N_WRITTEN] = now, 0
    process[p, fs.STAGE] = LOOKS
    next_piece(m, p)
    count(m.tally, stat.CALLS, 1, now)
    change_by(m.tally.waits, now, 1)
    if operation == READ:
        count(m.tally, stat.READS, 1, now)
    if operation in (FSYNC, WAL_SYNC):
        process[p, fs.STAGE] = COMMITS
        set_time(m.calendar, m.sources.processes + p, now + _commit_ns(m.s))
    else:
        ring.put(m.ready, m.n_ready, p)


# ---- rule 2 ----


@part
def _is_admitted(m, now, p):
    file = m.process[p, fs.FILE]
    at_worst = m.files.record_bytes[file] + indirect_bytes(m.files) * m.files.n_levels[file]
    others_wait = m.txgs.quiesced[0] != 0 and m.txgs.syncing[0] != 0 and not m.process[p, fs.HAS_SLEPT]
    in_full = m.arc.n_bytes[ANONYMOUS] * m.files.record_bytes[file] // m.files.core_bytes[file]
    decision = verdict(m.throttle, m.txg_params, m.txgs.open_txg[0], others_wait, at_worst, in_full, m.arc_params.c_bytes)
    if not has_room(m.zil, max_entries(m.files.record_bytes[file])):
        decision = TO_WAIT
    until = (now // TICK_NS + 1) * TICK_NS
    if m.txg_params.rule == DIRTY_DATA and decision == TO_SLEEP:
        # Once a transaction.
        has_been = m.process[p, fs.HAS_SLEPT] or (m.txg_params.joins_records and m.process[p, fs.N_WRITTEN])
        until = now if has_been else delayed_until(m.throttle, m.txg_params, m.process[p, fs.TX_BEGAN], now)
        decision = TO_SLEEP if until > now else GOES_ON
    if decision == GOES_ON:
        m.process[p, fs.HAS_SLEPT] = 0
        return True
    m.process[p, fs.LEVEL] = m.files.n_levels[file] - 1
    if decision == TO_SLEEP:
        count(m.tally, stat.SLEEPS, 1, now)
        m.process[p, fs.HAS_SLEPT] = 1
        set_time(m.calendar, m.sources.processes + p, until)
        return False
    count(m.tally, stat.WAITS, 1, now)
    m.process[p, fs.HAS_SLEPT] = 0
    last = len(m.waiting) - 1
    m.waiting[m.waiting[last]] = p
    m.waiting[last] += 1
    if m.txg_params.rule != DIRTY_DATA or (m.txgs.syncing[0] == 0 and m.txgs.quiesced[0] == 0):
        m.sync[fs.IS_PUSHED] = 1
    return False


# ---- rule 3 ----


@kernel
def _is_opened_so(operation):
    """Whether the call's file is opened with O_DSYNC."""
    return operation in (WAL_WRITE_THROUGH, WRITE_THROUGH)


@part
def _way(m, p, log, n_bytes, opened):
    """How the data of a piece come into the intent log."""
    settings, file = settings_of(m.zil_settings, log), m.process[p, fs.FILE]
    if not m.s.on_zvol:
        return way_of(m.zil_params, settings, n_bytes, opened)
    left, asked = m.process[p, fs.END] - m.process[p, fs.AT], m.process[p, fs.N_ASKED]
    if m.process[p, fs.OPERATION] == WAL_CREATE:
        left = asked = m.of_file[file, fs.PAGE]
    return way_on_zvol(m.zil_params, settings, m.files.record_bytes[file], n_bytes, left, asked, opened)


@kernel
def _opened(s, operation):
    """How the call's file is opened, as the intent log has it."""
    return O_DSYNC if (s.sync_always if s.on_zvol else _is_opened_so(operation)) else NOT_SYNC


@part
def _dirty(m, now, p):
    """The record of a piece is dirtied. False if `p` has to wait for who is reading it."""
    file, number, txg = m.process[p, fs.FILE], record_of(m.process, m.of_file, m.files.record_bytes, p), m.txgs.open_txg[0]
    block, before = level_block(m.files, file, number, 0), m.txgs.quarters[txg % TXG_SIZE, dirtied.N_USED]
    if not dirty_record(m, now, file, number):
        join(m.process, m.joined, m.arc, p, int(m.arc.node_of[block]))
        next_piece(m, p)
        return False
    n_new = m.txgs.quarters[txg % TXG_SIZE, dirtied.N_USED] - before
    if n_new > 0:
        n_above = n_new - 1 + (len(m.zil.logs) * meta_dnode_levels(m.files.shift) if before == 0 else 0)
        dnodes = len(m.zil.logs) * DNODE_BLOCK_BYTES if before == 0 else 0
        note_dirty(m.throttle, m.txg_params, txg, m.files.record_bytes[file] + dnodes + n_above * indirect_bytes(m.files))
        if wants_sync(m.throttle, m.txg_params) and m.txgs.syncing[0] == 0 and m.txgs.quiesced[0] == 0:
            m.sync[fs.IS_PUSHED] = 1
    may_be_fed(m.arc, m.places, m.s.secondarycache, int(m.arc.node_of[block]))
    if m.early_in[block] == txg:
        m.early_in[block] = 0
    count(m.tally, stat.PIECES, 1, now)
    log, opened = m.of_file[file, fs.INTENT_LOG], _opened(m.s, m.process[p, fs.OPERATION])
    n_bytes = piece_bytes(m.process, m.of_file, m.files.record_bytes, p)
    if m.process[p, fs.OPERATION] == WAL_CREATE and m.process[p, fs.N_WRITTEN] == 0 and not m.s.on_zvol:
        record_other(m.zil, m.zil_params, settings_of(m.zil_settings, log), log, 0, txg)
    enter(m.zil, m.zil_params, settings_of(m.zil_settings, log), log, 1 + file, block, m.files.record_bytes[file], n_bytes,
          _way(m, p, log, n_bytes, opened), opened, txg)
    return True


# ---- a call goes on ----


@part
def _commit(m, db_calendar, now, p):
    m.process[p, fs.STAGE] = IN_COMMIT
    file = m.process[p, fs.FILE]
    log, whose = m.of_file[file, fs.INTENT_LOG], 0 if m.s.on_zvol else 1 + file
    count(m.tally, stat.COMMITTED, 1, now)
    at_once = commit(m.zil, m.zil_params, settings_of(m.zil_settings, log), log, whose, p, m.txgs.open_txg[0])
    m.sync[fs.LOG_CALLED] = 1 + log
    if at_once:
        returns(m.tally, m.process, db_calendar, now, p)


@part
def _return(m, db_calendar, now, p, cpu_ns):
    count(m.tally, stat.CALLS_DONE, 1, now)
    change_by(m.tally.waits, now, -1)
    if m.process[p, fs.OPERATION] == READ:
        count(m.tally, stat.READ_HITS, 1 - m.process[p, fs.HAS_WAITED], now)
        m.tally.counts[stat.READ_NS] += now - m.process[p, fs.BEGAN]
    work(m.tally, m.cpu_ns, p, cpu_ns, now)
    set_time(db_calendar, p, now)


@kernel
def _is_through(s, operation):
    """Whether the call ends with a commit."""
    return s.sync_always != 0 or operation in (WAL_WRITE_THROUGH, WAL_CREATE, CONTROL, WRITE_THROUGH)


@part
def _piece_done(m, db_calendar, now, p):
    """The next piece, or the end."""
    process, operation = m.process, m.process[p, fs.OPERATION]
    process[p, fs.AT] += piece_bytes(m.process, m.of_file, m.files.record_bytes, p)
    process[p, fs.N_WRITTEN] += operation != READ
    if not m.txg_params.joins_records:
        process[p, fs.TX_BEGAN] = now
    if process[p, fs.AT] < process[p, fs.END]:
        next_piece(m, p)
        ring.put(m.ready, m.n_ready, p)
    elif operation == READ:
        _return(m, db_calendar, now, p, m.s.read_ns)
    elif _is_through(m.s, operation):
        process[p, fs.STAGE] = COMMITS
        set_time(m.calendar, m.sources.processes + p, now + m.s.write_ns * process[p, fs.N_WRITTEN] + _commit_ns(m.s))
    else:
        _return(m, db_calendar, now, p, m.s.write_ns * process[p, fs.N_WRITTEN])


@part
def go_on(m, db_calendar, now, p):
    """`p`, which can go on, does so as far as it gets."""
    if m.process[p, fs.STAGE] == COMMITS:
        _commit(m, db_calendar, now, p)
        return
    if m.process[p, fs.STAGE] == READING:
        block_came(m, now, p)
    if not look(m, now, p) or (wants_more(m.process, p) and not reads_ahead(m, now, p)):
        return
    if m.process[p, fs.OPERATION] != READ and not (_is_admitted(m, now, p) and _dirty(m, now, p)):
        return
    _piece_done(m, db_calendar, now, p)

