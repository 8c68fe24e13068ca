"""InnoDB's tables as sysbench makes them: pages, B-trees, and the bytes of redo that each change costs.

**Pages** of 16 KiB: 38 B of file header, 56 of page header, 26 for the smallest and greatest record, 8 of trailer. Then come
records, and a directory of 2 B for every fourth of them. Rows that come in order of the key fill a page to 15/16.

**The clustered index** is the table. A record is 5 B of header, id 4, transaction 6, roll pointer 7, k 4, c 120, pad 60.
That makes 206 B, 73 to a page. **The index on k** has records of 13 B (header, k, id), 1128 to a page. When all k are 0 it
is in the order of id. A row's entry moves when k changes: the old one is marked as deleted, a new one inserted. It goes to k
= 1 and more, where pages are made as entries come (two thirds full, as pages are that split). (Approximation: there entries
are in the order of id, whatever k.) With sysbench 1.0 k is random, and so is the leaf of an entry. An update of k leaves it
where it is (k + 1 is next to it), and an INSERT draws it anew. What is above the leaves is a few hundred pages that never
leave memory.

**Undo** of a transaction goes to a page that the next one of that client uses on, until it is three quarters full. Then it
goes to a page that purge has freed, one of 2048. Undo pages are made, not read.

**Redo** is logged per mini-transaction. A record is type, space and page (5 B), the index as recovery needs it (4 B and
2 B a field), places and data:

    update in place    5 + 16 + 1 + 13 (transaction, roll pointer) + 2 + 2, and 2 + length of each column changed
    undo of it         5 + 2 + 19 (header, transaction, roll pointer) + 6 (key), and 2 + length of each old column.
                       14 more if an indexed column changes
    delete mark        5 + 3 in a secondary index; 5 + 16 + 17 in the clustered one
    insert, secondary  5 + 8 + 6 + 13
    transaction        an undo log begun (80 B), ended and put into the history list (130)

An INSERT of an id that was just deleted is an update of the record with the delete mark.

Left out. *The insert buffer* before 5.5: it takes inserts only, and sysbench 0.4's are in memory. They go to pages that the
same transaction has just visited for the old entry, or to few pages that always are. From 5.5 to 8.3 it takes all changes of
leaves that are not in memory (`change_buffering`): they are not read. Left out is that they are merged later, when they are
read or by the master. The master merges a twentieth of `innodb_io_capacity` pages a second, until half of a quarter of the
pool is full of such changes. *Purge*, but for the room in undo pages: it comes at least every 10 s to pages that were just
changed. *Read-ahead*: the linear kind wants 24 pages of an area of 64 (later 56) used in order, and a range has three. The
random kind (until 5.4.1) wants 13 pages of an area among those made young last, an eighth of the list. While the pool fills
nothing is made young. Once it is full the most wanted pages are made young so often that others leave that eighth within
some hundred reads. It would read the middle of the table once.

Sources (InnoDB of MySQL 5.1, read for facts): page0page.h, rem0rec.h, dict0dict.ic (dict_index_get_space_reserve: 1/16),
btr0cur.c and trx0rec.c (what is logged). Also mtr0log.c (how an index is described), trx0undo.h (3/4), row0ins.c
(row_ins_clust_index_entry_by_modify).
"""

from typing import NamedTuple

from model.jit import kernel

PAGE_BYTES = 16384  # UNIV_PAGE_SIZE
AREA_PAGES = 64  # an extent of 1 MB
ROOM = PAGE_BYTES * 15 // 16 - 128  # B of a page for records and directory, when rows come in order
ROW_BYTES = 5 + 4 + 6 + 7 + 4 + 120 + 60
ENTRY_BYTES = 5 + 4 + 4
NODE_BYTES = 5 + 4 + 4 + 4  # of a page above the leaves: key of a secondary index, and child

TABLESPACE, DOUBLEWRITE = 0, 1  # files of the calls; the log is apart

UPDATE_IN_PLACE = 5 + 16 + 1 + 13 + 2 + 2
UNDO = 5 + 2 + 19 + 6
UNDO_OF_KEYS = 14
CLUSTERED_MARK, SECONDARY_MARK, SECONDARY_INSERT = 5 + 16 + 17, 5 + 3, 5 + 8 + 6 + 13
K, C, PAD = 2 + 4, 2 + 120, 2 + 60

# Bytes of redo for the clustered record with its undo. Those of the secondary index: SECONDARY_MARK, SECONDARY_INSERT.
LOG_UPDATE_K = UPDATE_IN_PLACE + K + UNDO + K + UNDO_OF_KEYS
LOG_UPDATE_C = UPDATE_IN_PLACE + C + UNDO + C
LOG_DELETE = CLUSTERED_MARK + UNDO + UNDO_OF_KEYS
LOG_INSERT = UPDATE_IN_PLACE + K + PAD + UNDO + K + PAD + UNDO_OF_KEYS
LOG_BEGIN, LOG_COMMIT, LOG_PREPARE = 80, 130, 40

UNDO_BYTES = 500  # of a transaction of sysbench: four records of 45 to 150 B, a header
UNDO_PAGE_BYTES = PAGE_BYTES * 3 // 4
N_UNDO_PAGES = 2048


class Table(NamedTuple):
    """Where its pages are in the table space, and how many rows and entries they hold."""

    n_rows: int
    rows_per_leaf: int
    n_leaves: int
    entries_per_leaf: int  # of the index on k
    first_low: int  # leaves of entries with k = 0
    n_low: int
    first_high: int  # of entries with k > 0
    n_high: int
    entries_per_high: int
    first_undo: int
    n_pages: int
    n_inner: int  # above the leaves of both
    height: int  # levels of the clustered index


def per_page(record_bytes):
    """Records, with half a byte of directory each."""
    return 2 * ROOM // (2 * record_bytes + 1)


def levels_above(n_leaves):
    """Pages of each level above."""
    n, levels = n_leaves, []
    while n > 1:
        n = -(-n // per_page(NODE_BYTES))
        levels.append(n)
    return levels


def new_table(n_rows: int, k_is_random: int = 0) -> Table:
    """The table of `n_rows` rows that sysbench makes: where each kind of page begins, and how many rows a page has."""
    rows, entries = per_page(ROW_BYTES), per_page(ENTRY_BYTES)
    n_leaves, n_low = -(-n_rows // rows), -(-n_rows // entries)
    per_high = entries * 2 // 3
    n_high = 0 if k_is_random else n_rows // per_high + 2
    first_undo = n_leaves + n_low + n_high
    above = levels_above(n_leaves)
    return Table(
        n_rows=n_rows, rows_per_leaf=rows, n_leaves=n_leaves, entries_per_leaf=entries, first_low=n_leaves,
        n_low=n_low, first_high=n_leaves + n_low, n_high=n_high, entries_per_high=per_high, first_undo=first_undo,
        n_pages=first_undo + N_UNDO_PAGES, n_inner=sum(above) + sum(levels_above(n_low)), height=1 + len(above))


@kernel
def leaf_of(table, row):
    """The number of the leaf page that has `row`."""
    return row // table.rows_per_leaf


@kernel
def low_leaf_of(table, row):
    """The number of the leaf of the index on k that has the entry of `row`, while its k is 0."""
    return table.first_low + row // table.entries_per_leaf


@kernel
def random_leaf_of(table, row, n_times):
    """Where the entry of `row` is after `n_times` INSERTs of it, if k is random: a leaf that a hash of both gives."""
    bits = int(row) * 2654435761 + int(n_times) * 2246822519 & 0x7FFFFFFFFFFF
    bits = (bits ^ bits >> 15) * 40503 & 0x7FFFFFFF
    return table.first_low + (bits * table.n_low >> 31)


@kernel
def is_entry_leaf(table, page):
    """Whether it is a leaf of the index on k."""
    return table.first_low <= page < table.first_undo


@kernel
def high_leaf_of(table, row, n_entries):
    """Where the entry of `row` is among `n_entries` with k > 0."""
    n_leaves = min(table.n_high, 1 + n_entries // table.entries_per_high)
    return table.first_high + row * n_leaves // table.n_rows
