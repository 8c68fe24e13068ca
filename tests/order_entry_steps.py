"""Steps of the order entry, without the compiler: sizes of log blocks in the steady state, and limits of the throttle.

    NUMBA_DISABLE_JIT=1 python order_entry_steps.py
"""

import json

from order_entry_pools import SECOND, SMALL

from model.order_entry_logs import want_log_of_records, want_log_of_redo
from model.order_entry_machine import LATENCY, LIMIT, N_BYTES, N_WRITTEN, OPEN, QUIESCED, SYNC_BEGAN, SYNCING, new_machine
from model.order_entry_throttle import count_dirty, group_is_synced, has_room, sleeps
from model.zil import ZilParams

LUN = SMALL._replace(logbias=LATENCY, record_bytes=8192, has_slog=0)


def blocks(m):
    found = m.wanted[:m.n_wanted[0], [N_BYTES, N_WRITTEN]].tolist()
    m.n_wanted[0] = 0
    return found


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


def limits(per_syncs, least, most):
    """The limit after each of some syncs: so many B, inflated, in so many ns."""
    m = new_machine(SMALL._replace(least_limit=least, most_limit=most, sync_target_ns=5 * SECOND), 1)
    m.txg[SYNCING], found = 3, []
    for n_bytes, ns in per_syncs:
        m.inflated[3], m.txg[SYNC_BEGAN] = n_bytes, 7 * SECOND
        group_is_synced(m, 7 * SECOND + ns)
        found.append(int(m.throttle[LIMIT]))
    return found


def admitted(n_records, quiesced, most=10**6):
    """Whether a group of so many dirty records of 4 KiB takes more, and whether a write sleeps first."""
    m = new_machine(SMALL._replace(least_limit=most, most_limit=most), 1)
    m.txg[QUIESCED] = quiesced
    count_dirty(m, n_records, 0, 4096)
    assert m.inflated[m.txg[OPEN] % 4] == 6 * 4096 * n_records
    return [bool(has_room(m, 0)), bool(sleeps(m))]


if __name__ == "__main__":
    print(json.dumps({
        **{name: {n: log_blocks(slim, n) for n in (1, 2, 3, 4, 8, 15)} for slim, name in enumerate(("old", "slim"))},
        "redo": redo_blocks(400_000),
        "limits": limits([(40 * 10**6, SECOND), (80 * 10**6, SECOND), (10**6, 1000), (400 * 10**6, SECOND // 1000)],
                         2**25, 2**31),
        "admitted": [admitted(n, quiesced) for n in (30, 36, 41) for quiesced in (0, 1)]}))
