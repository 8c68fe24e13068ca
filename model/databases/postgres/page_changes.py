"""Which pages pgbench changes, for those who want nothing else of it. Each transaction changes an account, any, and a row at
the end of the history. (Tellers and branches are a handful of pages; indexes change where a row does not find room at
home.)"""
import math

import numpy as np

from model.databases.postgres.pgbench import ACCOUNTS_TABLE, HISTORY_TABLE, pgbench_tables, rows_in_page


def changed_pages(n_pages: int, uniform: np.ndarray) -> np.ndarray:
    """Pages of a database of `n_pages` that transactions change, one for each of `uniform` (in [0, 1)). The history comes
    last, and takes half of the pages at most."""
    accounts, history = (rows_in_page(pgbench_tables(1)[table]) for table in (ACCOUNTS_TABLE, HISTORY_TABLE))
    n_history = min(n_pages // 2, math.ceil(len(uniform) / history))
    of_accounts = (uniform * (n_pages - n_history) * accounts).astype(np.int64) // accounts
    return np.unique(np.concatenate([of_accounts, np.arange(n_pages - n_history, n_pages)]))
