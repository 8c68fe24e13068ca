"""Defects in commits that share the binary log and in a pool as hours leave it, and whether a law notices each. Run without
the compiler: prints which were not noticed.

    NUMBA_DISABLE_JIT=1 PYTHONPATH=.:tests python -m defects.innodb_releases
"""

import json

from model.databases.innodb import at_work, binlog, client
from model.databases.innodb import columns as inno
from model.databases.innodb import phases as phase
from model.databases.innodb import stats as stat
from model.databases.innodb import step as run
from model.databases.innodb.buffer_pool import oldest_change
from model.databases.innodb.start import start
from model.databases.innodb.state import AT_WORK, settings_of
from model.databases.innodb.sysbench import Cpu, oltp
from model.events.clock import MS
from model.simulations.database_server import on_device, simulate_innodb
from support.defects import defect, unnoticed

TEST = oltp(20_000, Cpu(MS, 0, 0, 0, 0), point_selects=0, ranges=(0, 0, 0, 0), version="1.0")
CONF = {"buffer_pool_bytes": 2**24, "log_file_bytes": 2**22, "n_clients": 4}
SYNC_NS = 5 * MS


def commits_break_a_law():
    """Every transaction waits for two syncs, one after the other, and its redo is stable when it has committed."""
    broken = False
    real = client.committed

    def committed(m, now, p):
        nonlocal broken
        broken |= m.process[p, inno.LSN] > m.log[inno.STABLE]
        broken |= now - m.process[p, 8] < 4 * MS + 2 * SYNC_NS
        real(m, now, p)

    with defect(run, "committed", committed):
        x = simulate_innodb(TEST, settings_of("8.0", n_transactions=60, **CONF), on_device(wal_sync_ns=SYNC_NS))
    alone = simulate_innodb(TEST, settings_of("8.0", n_transactions=20, **CONF | {"n_clients": 1}),
                            on_device(wal_sync_ns=SYNC_NS))
    return broken or x.counts["flushes"] > 1.8 * x.counts["commits"] or alone.counts["flushes"] != 40


def past_breaks_a_law():
    """The log is not filled, dirty pages are counted, and no more are dirty than may be."""
    conf = CONF | {"log_file_bytes": 2**20, "start": AT_WORK, "transactions_a_second": 200, "n_transactions": 1}
    for version, more in (("5.4.0", {}), ("8.4", {"io_capacity": 100, "max_dirty_pages_pct_lwm": 5.0})):
        m, _ = start(TEST, settings_of(version, **conf | more))
        is_dirty = m.frames.flags & 1 > 0
        if m.log[inno.MADE] - oldest_change(m) > m.limits[0] or m.log[inno.MADE] < 2**20 or is_dirty.sum() != m.pool[1]:
            return True
        if not is_dirty.any() or (version == "8.4" and m.history[1].sum() == 0):
            return True
    return False


def notices():
    try:
        return commits_break_a_law() or past_breaks_a_law()
    except ValueError:
        return True


def commits_at_once(m, now, p):
    m.process[p, inno.PHASE] = phase.GROUP_SYNCED
    m.counts[stat.FLUSHES] += 1
    return True


def leads_without_redo(m, p, lsn, must_be_stable, then):
    m.process[p, inno.PHASE] = then


def leaves_no_page_dirty(m, page, n_bytes, real=at_work._visit):
    real(m, page, 0)


def forgets_members(m, p):
    m.process[p, inno.LEADER] = p
    m.process[p, inno.PHASE] = phase.GROUP_WRITES


DEFECTS = {
    "none": (run, "lead", run.lead),
    "the binary log is not synced": (run, "sync_events", commits_at_once),
    "the redo of a group is not made stable": (binlog, "log_up_to", leads_without_redo),
    "who waits for the flush stage is no member": (run, "lead", forgets_members),
    "a change leaves no page dirty": (at_work, "_visit", leaves_no_page_dirty),
    "old changes stay": (at_work, "_keep_age", lambda m: None),
    "no second passes": (at_work, "_flush_of_second", lambda m: None),
}


def main():
    print(json.dumps(unnoticed(DEFECTS, lambda _: notices())))


if __name__ == "__main__":
    main()
