"""PostgreSQL 8.3 under pgbench: the tables, the transaction, and the bytes of log that each change costs.

**The transaction** of pgbench (TPC-B like) is seven round trips of one client:

    BEGIN   UPDATE accounts   SELECT accounts   UPDATE tellers   UPDATE branches   INSERT history   END
                                                |-- lock on 1 of 10 s rows -----------------------------|
                                                                  |-- lock on 1 of s rows -------------|

with s branches, 10 s tellers and 100 000 s accounts; account, teller and branch are drawn uniformly and independently.
A row that was updated stays locked until its transaction has committed, flush and all; waiters get it in order of
arrival. (Collisions on one account are left out: there are too many accounts.)

**Own scripts** are counts of such statements (`Counts`). Each picks an account of its own: the accounts are as many tables
as there are such statements, together as large. So a page is touched as often as in one table, and no two statements of a
transaction meet. A reread is of the account that was just changed.

**Pages.** 8 KiB, a header of 24 B, then rows. A row has a header, columns, padding to 8 B and a line pointer of 4 B. A
page has the number `file * 2^17 + block`: PostgreSQL splits a table into files of 1 GB. An index is its leaves here;
what is above them is a few pages that never leave memory.

**Updates** write a new version of the row. If its page has a free slot it goes there (heap-only, HOT: the index is not
touched). If not, it goes to the last page of the table, and the index gets an entry. When the transaction has committed the
old version is dead. The next to visit the page prunes it, if less than 10 % of the page is free, and its slot is free again.
So a page that was loaded full takes one update elsewhere, and the next ones at home. (Approximation: a row that moved is
still looked for where it was; with 61 rows a page this concerns one in 61.)

**Log.** Each change is a record: a header, what identifies the place, the row; padded to 8 B. The first change of a
page after a checkpoint carries an image of the page but for the hole between line pointers and rows
(`full_page_writes`). A page that was just added to its table needs none.

Sources (PostgreSQL, read for facts): contrib/pgbench/pgbench.c; htup.h (8.3: xl_heap_*), xlog.h, xlog_internal.h,
bufpage.h, nbtree.h, pruneheap.c (heap_page_prune_opt: 10 %); for 9.5 and later xlogrecord.h, heapam_xlog.h.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from model.databases.postgres import columns as pg
from model.events.queues import NOBODY, join, leave, new_queues
from model.jit import kernel

PAGE_BYTES = 8192  # BLCKSZ
PAGE_HEADER = 24  # PageHeaderData of 8.3 and later, without line pointers
LINE_POINTER = 4
FILE_SHIFT = 17  # RELSEG_SIZE: pages in a file of 1 GB
PRUNE_BYTES = PAGE_BYTES // 10  # a page with less space than this is pruned

LEAF_BYTES = PAGE_BYTES - PAGE_HEADER - 16 - PRUNE_BYTES  # for entries when an index is built: fillfactor 90, 16 of its own
ENTRY_BYTES = 16 + LINE_POINTER  # of an int4 key: a header of 8, the key, padding
INDEX_HOLE = PRUNE_BYTES

FORMAT_8_3, FORMAT_9_5 = 0, 1  # of records: until 9.4; from 9.5 on

# What a statement does.
NOTHING, READ, UPDATE, INSERT = 0, 1, 2, 3


# pgbench
BRANCHES, TELLERS, ACCOUNTS = 1, 10, 100_000  # rows per unit of scale
ACCOUNTS_TABLE, TELLERS_TABLE, BRANCHES_TABLE, HISTORY_TABLE = 0, 1, 2, 3


class Table(NamedTuple):
    """A table as it is created."""

    n_rows: int
    data_bytes: int  # of the columns of a row
    has_nulls: int
    is_locked: int  # rows are few enough to wait for each other
    has_index: int


class Database(NamedTuple):
    """Tables and what a transaction does with them."""

    relations: np.ndarray  # int64 [relation, column]; see N_ROWS and the others
    statements: np.ndarray  # int64 [statement, column]; see ACTION and the others
    n_locks: int
    n_files: int
    commit_bytes: int
    leaf_image_bytes: int


class Counts(NamedTuple):
    """An own script: statements of a transaction, by kind."""

    reads: int = 0  # SELECT of an account by its key
    updates: int = 0  # UPDATE of one
    rereads: int = 0  # SELECT of one that was just updated
    tellers: int = 0  # UPDATE of one of 10 s rows, for which transactions wait; 0 or 1
    branches: int = 0  # of one of s rows, likewise
    inserts: int = 0  # INSERT into history

    @property
    def is_bare(self):
        """A single SELECT, which needs no BEGIN."""
        return self == Counts(reads=1)

    @property
    def n_accounts(self):
        """Statements that pick an account of their own."""
        return self.updates + self.reads


def check_counts(counts: Counts) -> None:
    """Raise ValueError, one sentence, unless there is such a script."""
    if not any(counts):
        raise ValueError("an own script has 0 statements, but a transaction has one at least; give reads or updates")
    if counts.rereads > counts.updates:
        raise ValueError(f"rereads is {counts.rereads}, but only {counts.updates} rows are updated; give no more than "
                         "updates, and the others as reads")


def aligned(n_bytes):
    """`n_bytes` as a multiple of 8, as rows lie in pages."""
    return (n_bytes + 7) // 8 * 8  # MAXALIGN on 64 bits; also on SPARC with 32


# ---- rows and pages ----


def row_bytes(table):
    """A row without padding: 23 B of header, a byte of null bits if there are nulls, both padded, and the columns."""
    return aligned(23 + table.has_nulls) + table.data_bytes


def slot_bytes(table):
    """What a row of `table` takes in a page, with its line pointer [B]."""
    return aligned(row_bytes(table)) + LINE_POINTER


def rows_in_page(table, fillfactor=100):
    """How many rows of `table` a page of 8 KiB has after loading, at this `fillfactor` [%]."""
    return (PAGE_BYTES - PAGE_HEADER - PAGE_BYTES * (100 - fillfactor) // 100) // slot_bytes(table)


def pgbench_tables(scale):
    """filler is char(84) of blanks in accounts (1 B of length before it), null in the others."""
    return (Table(ACCOUNTS * scale, 4 + 4 + 4 + 1 + 84, 0, 0, 1), Table(TELLERS * scale, 4 + 4 + 4, 1, 1, 0),
            Table(BRANCHES * scale, 4 + 4, 1, 1, 0), Table(0, 4 * 4 + 8, 1, 0, 0))


# ---- records ----


class Records(NamedTuple):
    """Bytes of the records about a table."""

    hot: int
    move: int  # an update that goes to another page, with its index entry
    clean: int
    insert: int  # without an index entry
    leaf: int


def records_8_3(row):
    """Header of 26 B, padded. A place is 12 B of file and 6 of row, an update names two rows; 5 B of the row's header."""
    header, place, body = 32, 18, 5 + row - 23
    hot = aligned(header + place + 6 + body)
    leaf = aligned(header + place + 16)
    return Records(hot, hot + leaf, aligned(header + 20 + 2 * 2), aligned(header + place + body), leaf)


def records_9_5(row):
    """Header of 24 B; a block is 20 B, or 8 if it is of the same file, data have 2 B in front. An update within a page
    leaves out what both versions begin and end with. It has 4 B of lengths, and of the row its header, 1 B and the 4 that
    changed."""
    header, block, body = 24, 20, 5 + row - 23
    hot = aligned(header + block + 2 + 14 + 4 + 5 + 1 + 4)
    leaf = aligned(header + block + 2 + 2 + 16)
    return Records(hot, aligned(header + block + 8 + 2 + 14 + body) + leaf, aligned(header + block + 2 + 8 + 2 * 2),
                   aligned(header + block + 2 + 3 + body), leaf)


def commit_record_bytes(record_format):
    """8.3: a time of 8 B and two counts; 9.5: the time, and 2 B in front."""
    return aligned(32 + 16) if record_format == FORMAT_8_3 else aligned(24 + 2 + 8)


def image_record_bytes(record_format, hole_bytes, image_pct=100):
    """What an image adds to a record. `image_pct` is what compression leaves of it (wal_compression, from 9.5 on)."""
    return (20 if record_format == FORMAT_8_3 else 5) + (PAGE_BYTES - hole_bytes) * image_pct // 100


def _hole_bytes(free_bytes):
    """Between line pointers and rows, on average: an updated page with much space fills up until it is pruned."""
    return free_bytes if free_bytes <= PRUNE_BYTES else (free_bytes + PRUNE_BYTES) // 2


# ---- a database ----


def _pages_to_add(table, n_rows):
    """For so many rows, at most, that need a place at the end."""
    return n_rows // rows_in_page(table) + 2


def new_database(tables, statements, n_transactions, record_format=FORMAT_8_3, fillfactor=100, image_pct=100):
    """Tables side by side, with room for what `n_transactions` can add. `statements`: (action, relation, CPU in ns) each."""
    relations = np.zeros((len(tables), pg.N_RELATION), np.int64)
    n_locks = n_files = 0
    adding = [relation for action, relation, _ in statements if action in (UPDATE, INSERT)]
    for number, (relation, table) in enumerate(zip(relations, tables, strict=True)):
        n_added = n_transactions * max(1, adding.count(number))
        per_page = rows_in_page(table, fillfactor)
        n_pages = max(1, -(-table.n_rows // per_page))
        on_page = min(per_page, max(1, table.n_rows))
        free = PAGE_BYTES - PAGE_HEADER - on_page * slot_bytes(table)
        relation[pg.N_ROWS], relation[pg.ROWS_PER_PAGE] = table.n_rows, per_page
        relation[pg.FIRST_PAGE], relation[pg.N_PAGES] = n_files << FILE_SHIFT, n_pages
        relation[pg.FREE_SLOTS], relation[pg.PRUNE_BELOW] = free // slot_bytes(table), PRUNE_BYTES // slot_bytes(table)
        n_files += (n_pages + _pages_to_add(table, n_added) >> FILE_SHIFT) + 1
        relation[pg.LAST_PAGE] = (n_files << FILE_SHIFT) - 1
        relation[pg.FIRST_LEAF], relation[pg.FIRST_LOCK] = -1, -1
        if table.has_index:
            relation[pg.FIRST_LEAF] = n_files << FILE_SHIFT
            relation[pg.N_LEAVES] = -(-table.n_rows // (LEAF_BYTES // ENTRY_BYTES))
            n_files += (relation[pg.N_LEAVES] >> FILE_SHIFT) + 1
        if table.is_locked:
            relation[pg.FIRST_LOCK] = n_locks
            n_locks += table.n_rows
        row = row_bytes(table)
        records = records_8_3(row) if record_format == FORMAT_8_3 else records_9_5(row)
        relation[pg.HOT_BYTES], relation[pg.MOVE_BYTES], relation[pg.CLEAN_BYTES] = records.hot, records.move, records.clean
        relation[pg.INSERT_BYTES] = records.insert + records.leaf * table.has_index
        relation[pg.IMAGE_BYTES] = image_record_bytes(record_format, _hole_bytes(free), image_pct)
    return Database(relations, np.array(statements, np.int64).reshape(-1, 3), n_locks, int(n_files),
                    commit_record_bytes(record_format), image_record_bytes(record_format, INDEX_HOLE, image_pct))


SCRIPTS = {
    "tpc-b": ((NOTHING, 0), (UPDATE, 0), (READ, 0), (UPDATE, 1), (UPDATE, 2), (INSERT, 3), (NOTHING, 0)),
    "simple-update": ((NOTHING, 0), (UPDATE, 0), (READ, 0), (INSERT, 3), (NOTHING, 0)),  # pgbench -N
    "select-only": ((READ, 0),),  # pgbench -S
}


def _counted(counts):
    """What each statement does: (action, relation), with as many tables of accounts as there are statements for them."""
    n = max(1, counts.n_accounts)
    actions = []
    for i in range(counts.updates):
        actions += [(UPDATE, i)] + [(READ, i)] * (i < counts.rereads)
    actions += [(READ, i) for i in range(counts.updates, counts.n_accounts)]
    actions += [(UPDATE, n)] * counts.tellers + [(UPDATE, n + 1)] * counts.branches + [(INSERT, n + 2)] * counts.inserts
    return actions if counts.is_bare else [(NOTHING, 0), *actions, (NOTHING, 0)]


def _tables(scale, n_accounts):
    """Those of pgbench; of the accounts so many, of the same size in all."""
    accounts, *others = pgbench_tables(scale)
    rows, more = divmod(accounts.n_rows, n_accounts)
    return (*(accounts._replace(n_rows=rows + (i < more)) for i in range(n_accounts)), *others)


def pgbench(scale: int, n_transactions: int, cpu_ns: Sequence[int], script: str | Counts = "tpc-b",
            **how: int) -> Database:
    """The database of `pgbench -i -s scale` and its transaction; `cpu_ns` of a backend for each statement; `how`: see
    `new_database`."""
    if scale < 1:
        raise ValueError(f"scale is {scale}, but pgbench has at least one branch; choose 1 or more")
    if isinstance(script, Counts):
        check_counts(script)
    elif script not in SCRIPTS:
        raise ValueError(f"script is {script}, but pgbench has {', '.join(SCRIPTS)}; choose one of these")
    actions = _counted(script) if isinstance(script, Counts) else SCRIPTS[script]
    if len(cpu_ns) != len(actions):
        raise ValueError(f"there are {len(cpu_ns)} CPU times, but the transaction has {len(actions)} statements; give one "
                         "for each")
    statements = [(*action, ns) for action, ns in zip(actions, cpu_ns, strict=True)]
    tables = _tables(scale, max(1, script.n_accounts)) if isinstance(script, Counts) else pgbench_tables(scale)
    return new_database(tables, statements, n_transactions, **how)


# ---- rows ----


@kernel
def page_of_row(relation, row):
    """The number of the heap page that has `row`, counted over all relations."""
    return relation[pg.FIRST_PAGE] + row // relation[pg.ROWS_PER_PAGE]


@kernel
def leaf_of_row(relation, row):
    """The number of the index leaf that has `row`, counted over all relations."""
    return relation[pg.FIRST_LEAF] + row * relation[pg.N_LEAVES] // relation[pg.N_ROWS]


# ---- locks on rows ----


class Locks(NamedTuple):
    """One lock per row of the tables that are locked."""

    holder: np.ndarray
    queue: np.ndarray  # [lock, first or last]


@kernel
def lock_row(locks, after, lock, process):
    """True if `process` has the lock now; else it waits."""
    if locks.holder[lock] == NOBODY:
        locks.holder[lock] = process
        return True
    join(locks.queue, after, lock, process)
    return False


@kernel
def unlock_row(locks, after, lock):
    """The client that has the lock from now on, or NOBODY."""
    locks.holder[lock] = leave(locks.queue, after, lock)
    return locks.holder[lock]


def new_locks(n_locks):
    """Locks on `n_locks` rows, all free, with a queue each."""
    return Locks(np.full(n_locks, NOBODY), new_queues(n_locks))
