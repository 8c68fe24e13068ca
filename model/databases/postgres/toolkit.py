"""A database and a transaction of no benchmark: so many rows read, so many changed, one added.

The load of 2008 came from a toolkit that was never published, "OLTP-ish". What a store sees of such a load is how many
pages a transaction touches and changes, and of how many it picks them. So this is the plainest one that has both:

    BEGIN   n x SELECT of a row by its key   n x UPDATE of a row by its key   INSERT into a history   COMMIT

Rows are picked uniformly and independently. There is a table, and an index, for each of the statements, all alike. So no two
statements of a transaction meet. Tables and indexes together are the *working set*. Rows are many enough for nobody to wait
for one; whatever waits, waits for pages, processors and the log. What an update does to pages and the log is that of
`model.databases.postgres.pgbench`.

Left out: that some rows are more popular than others, which makes the working set less sharp; range scans.
"""

from model.databases.postgres import columns as pg
from model.databases.postgres.pgbench import (
    ENTRY_BYTES,
    FILE_SHIFT,
    INSERT,
    LEAF_BYTES,
    NOTHING,
    PAGE_BYTES,
    READ,
    UPDATE,
    Database,
    Table,
    new_database,
    rows_in_page,
)

TABLE, INDEX, REST = 0, 1, 2
HISTORY_BYTES = 64  # of a row that is added, header and padding left out


def rows_of(n_bytes: float, row_bytes: int) -> int:
    """How many rows of `row_bytes` (columns) a table and its index of `n_bytes` hold."""
    per_page = rows_in_page(Table(1, row_bytes, 0, 0, 1))
    return max(1, int(n_bytes / PAGE_BYTES / (1 / per_page + 1 / (LEAF_BYTES // ENTRY_BYTES))))


def toolkit(working_bytes: int, n_reads: int, n_updates: int, row_bytes: int, cpu_ns: int, n_transactions: int,
            **how: int) -> Database:
    """The database, and its transaction of `cpu_ns` in equal parts; `how`: see `new_database`."""
    if n_reads < 0 or n_updates < 0 or n_reads + n_updates < 1:
        raise ValueError(f"a transaction reads {n_reads} rows and changes {n_updates}; let it touch one at least")
    if working_bytes < 2**20 or not 1 <= row_bytes <= 4000:
        raise ValueError(f"a working set of {working_bytes} B with rows of {row_bytes} B is none; choose 1 MiB or more, "
                         "and rows of 1 to 4000 B")
    n = n_reads + n_updates
    tables = [Table(rows_of(working_bytes / n, row_bytes), row_bytes, 0, 0, 1)] * n + [Table(0, HISTORY_BYTES, 0, 0, 0)]
    actions = [(NOTHING, 0), *((READ, i) for i in range(n_reads)), *((UPDATE, i) for i in range(n_reads, n)), (INSERT, n),
               (NOTHING, 0)]
    return new_database(tables, [(*action, int(cpu_ns) // len(actions)) for action in actions], n_transactions, **how)


def kinds_of_files(database: Database) -> list[int]:
    """Per file of the database: TABLE, INDEX, or REST, which is what only grows, and what is empty."""
    kinds = [REST] * database.n_files
    for columns in database.relations:
        table, leaves = columns[pg.FIRST_PAGE], columns[pg.FIRST_LEAF]
        if columns[pg.N_ROWS]:
            kinds[table >> FILE_SHIFT:(columns[pg.LAST_PAGE] >> FILE_SHIFT) + 1] = \
                [TABLE] * ((columns[pg.LAST_PAGE] >> FILE_SHIFT) - (table >> FILE_SHIFT) + 1)
        if leaves >= 0:
            n = (columns[pg.N_LEAVES] - 1 >> FILE_SHIFT) + 1
            kinds[leaves >> FILE_SHIFT:(leaves >> FILE_SHIFT) + n] = [INDEX] * n
    return kinds
