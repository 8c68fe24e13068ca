"""Steps of the order entry, without the compiler: sizes of log blocks in the steady state, and who finds room in a group.

    NUMBA_DISABLE_JIT=1 PYTHONPATH=.:tests python -m drivers.order_entry_steps
"""

import json

from drivers.order_entry_pools import SMALL
from model.simulations.order_entry import columns as order_columns
from model.simulations.order_entry.log_blocks import want_log_of_records, want_log_of_redo
from model.simulations.order_entry.placement import count_dirty
from model.simulations.order_entry.state import LATENCY, new_machine
from model.simulations.order_entry.txg_throttle import has_room, sleeps
from model.zfs.txg import columns as throttled
from model.zfs.zil.log import ZilParams

LUN = SMALL._replace(logbias=LATENCY, record_bytes=8192, has_slog=0)


def blocks(m):
    wanted = m.wanted[:m.n_wanted[0], [order_columns.N_BYTES, order_columns.N_WRITTEN]].tolist()
    m.n_wanted[0] = 0
    return wanted


def log_blocks(slim, n):
    """(B allocated, B written) of each block of a commit of `n` records of 8 KiB, after twenty such commits."""
    m = new_machine(LUN._replace(zil=ZilParams(slim=slim)), 1)
    for _ in range(20):
        blocks(m)
        want_log_of_records(m, 0, n)
    return blocks(m)


def redo_blocks(n_bytes):
    m = new_machine(SMALL._replace(has_slog=0), 1)
    want_log_of_redo(m, n_bytes)
    return blocks(m)


def of_all_users(n_users, redo_bytes):
    """Log blocks where all users commit at once, and of a mean write of redo that is rounded up; and what there is room for.
    Without the compiler one block too many is an error."""
    orders = SMALL._replace(has_slog=0, n_users=n_users, redo_bytes=redo_bytes)
    m = new_machine(orders, 1)
    n_blocks = []
    for n_bytes in (n_users * redo_bytes, 2 * n_users * redo_bytes):
        want_log_of_records(m, 0, orders.n_writers * orders.writes_per_batch)
        want_log_of_redo(m, n_bytes)
        n_blocks.append(len(blocks(m)))
    return [*n_blocks, len(m.wanted)]


def admitted(n_records, quiesced, limit=10**6):
    """Whether a group of so many dirty records of 4 KiB takes more, and whether a write sleeps first."""
    m = new_machine(SMALL._replace(txg=SMALL.txg._replace(min_limit=limit), max_limit=limit), 1)
    m.txg[order_columns.QUIESCED] = quiesced
    count_dirty(m, n_records, 4096)
    assert m.throttle[throttled.DIRTY + m.txg[order_columns.OPEN] % 4] == 6 * 4096 * n_records
    return [bool(has_room(m, 0)), bool(sleeps(m))]


if __name__ == "__main__":
    print(json.dumps({
        **{name: {n: log_blocks(slim, n) for n in (1, 2, 3, 4, 8, 15)} for slim, name in enumerate(("old", "slim"))},
        "redo": redo_blocks(400_000), "of all users": of_all_users(50, 338_221),
        "admitted": [admitted(n, quiesced) for n in (30, 36, 41) for quiesced in (0, 1)]}))
