"""Which pages a statement of sysbench needs, and what it logs for each that it changes.

Undo goes first in a transaction, then the clustered index, then that on k: see `model.databases.innodb.tables`. A range
takes all leaves from its first row to its last.
"""

from model.databases.innodb import columns as inno
from model.databases.innodb import phases as phase
from model.databases.innodb.sysbench import DELETE, READ, UPDATE_C, UPDATE_K
from model.databases.innodb.tables import (
    LOG_BEGIN,
    LOG_DELETE,
    LOG_INSERT,
    LOG_UPDATE_C,
    LOG_UPDATE_K,
    N_UNDO_PAGES,
    SECONDARY_INSERT,
    SECONDARY_MARK,
    UNDO_BYTES,
    UNDO_PAGE_BYTES,
    high_leaf_of,
    leaf_of,
    low_leaf_of,
    random_leaf_of,
)
from model.events.queues import NOBODY
from model.jit import kernel, part


@kernel
def _touch(m, p, page, n_bytes):
    """The statement works with `page`, and changes it if it logs anything."""
    n = m.process[p, inno.N_TOUCHED]
    m.touched[p, n], m.changes[p, n] = page, n_bytes
    m.process[p, inno.N_TOUCHED] = n + 1


@kernel
def _undo_page(m, p):
    """The client's; the next free one when it is three quarters full."""
    used = m.process[p, inno.UNDO_USED] + UNDO_BYTES
    if m.process[p, inno.UNDO_PAGE] == NOBODY or used > UNDO_PAGE_BYTES:
        m.pool[inno.NEXT_UNDO] = (m.pool[inno.NEXT_UNDO] + 1) % N_UNDO_PAGES
        m.process[p, inno.UNDO_PAGE], used = m.table.first_undo + m.pool[inno.NEXT_UNDO], UNDO_BYTES
    m.process[p, inno.UNDO_USED] = used
    return m.process[p, inno.UNDO_PAGE]


@kernel
def _move_entry(m, p, row):
    """k + 1: the old entry is marked, a new one inserted among those with k > 0, or beside it if k is random."""
    table, pool = m.table, m.pool
    if m.test.k_is_random:
        _touch(m, p, random_leaf_of(table, row, m.has_k[row]), SECONDARY_MARK + SECONDARY_INSERT)
        return
    if m.has_k[row]:
        _touch(m, p, high_leaf_of(table, row, pool[inno.HIGH_ENTRIES]), SECONDARY_MARK + SECONDARY_INSERT)
        return
    m.has_k[row] = 1
    pool[inno.HIGH_ENTRIES] += 1
    _touch(m, p, low_leaf_of(table, row), SECONDARY_MARK)
    _touch(m, p, high_leaf_of(table, row, pool[inno.HIGH_ENTRIES]), SECONDARY_INSERT)


@kernel
def _mark_entry(m, p, row):
    if m.test.k_is_random:
        _touch(m, p, random_leaf_of(m.table, row, m.has_k[row]), SECONDARY_MARK)
    elif m.has_k[row]:
        _touch(m, p, high_leaf_of(m.table, row, m.pool[inno.HIGH_ENTRIES]), SECONDARY_MARK)
    else:
        _touch(m, p, low_leaf_of(m.table, row), SECONDARY_MARK)


@part
def _write(m, p, kind, row):
    """Undo goes first in a transaction; then the clustered index, then that on k."""
    if not m.process[p, inno.HAS_CHANGED]:
        m.process[p, inno.HAS_CHANGED] = 1
        _touch(m, p, _undo_page(m, p), LOG_BEGIN)
    leaf = leaf_of(m.table, row)
    if kind == UPDATE_K:
        _touch(m, p, leaf, LOG_UPDATE_K)
        _move_entry(m, p, row)
    elif kind == UPDATE_C:
        _touch(m, p, leaf, LOG_UPDATE_C)
    elif kind == DELETE:
        _touch(m, p, leaf, LOG_DELETE)
        _mark_entry(m, p, row)
        if not m.test.k_is_random:
            m.pool[inno.HIGH_ENTRIES] -= m.has_k[row]
            m.has_k[row] = 0
    elif m.test.k_is_random:
        m.has_k[row] = (int(m.has_k[row]) + 1) % 128
        _touch(m, p, leaf, LOG_INSERT)
        _touch(m, p, random_leaf_of(m.table, row, m.has_k[row]), SECONDARY_INSERT)
    else:
        _touch(m, p, leaf, LOG_INSERT)
        _touch(m, p, low_leaf_of(m.table, row), SECONDARY_MARK)


@part
def prepare_pages(m, p):
    """Which pages the statement needs, and what it will log for each."""
    statement = m.test.statements[m.process[p, inno.STATEMENT]]
    row = m.ids[p, statement[inno.ID]]
    m.process[p, inno.N_TOUCHED] = m.process[p, inno.STEP] = 0
    m.process[p, inno.PHASE] = phase.ACCESS
    if statement[inno.KIND] != READ:
        _write(m, p, statement[inno.KIND], row)
        return
    row = max(0, min(row, m.table.n_rows - statement[inno.N_ROWS]))
    for leaf in range(leaf_of(m.table, row), leaf_of(m.table, row + statement[inno.N_ROWS] - 1) + 1):
        _touch(m, p, leaf, 0)
