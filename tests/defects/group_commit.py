"""Defects of group commit that the theory must notice. Run without the compiler: prints which it did not notice.

    NUMBA_DISABLE_JIT=1 PYTHONPATH=.:tests python -m defects.group_commit
"""

import json

from drivers import group_commit
from drivers.group_commit import FIRST, postgres_commits, zil_commits
from model.databases.postgres import columns as pg
from model.databases.postgres import step as postgres_step
from model.databases.postgres import wal
from model.zfs.zil import columns as intent
from model.zfs.zil import commit as zil_commit
from support.defects import unnoticed
from support.queueing_theory import rate_limits, repairman_with_batches

N, THINK, SERVICE = 8, 2e-3, 1e-3


# ---- PostgreSQL ----


def flushes_for_itself_alone(m, now, p, real=postgres_step.flush_held):
    goes_on = real(m, now, p)
    m.wal[pg.TARGET] = min(m.wal[pg.TARGET], m.process[p, pg.LSN])
    return goes_on


def lets_go_who_came_meanwhile(m, now, p, real=postgres_step.flushed):
    real(m, now, p)
    m.wal[pg.STABLE] = m.wal[pg.INSERTED]


def does_not_wait(m, p):
    m.process[p, pg.PHASE] = m.process[p, pg.THEN]
    return True


def sleeps_first(m, p):
    return True


# ---- the intent log ----


def takes_along_who_came_meanwhile(log_, params, settings, log, txg, real=zil_commit._pass_is_over):
    log_.logs[log, intent.WILL_BE] = log_.logs[log, intent.NEWEST]
    real(log_, params, settings, log, txg)


def lets_go_at_once(log_, params, log):
    for task in log_.waiting[log, :log_.logs[log, intent.N_WAITING], intent.TASK]:
        zil_commit._release(log_, task)
    log_.logs[log, intent.N_WAITING] = 0


DEFECTS = {
    "none of PostgreSQL": (postgres_step, "step", postgres_step.step),
    "each flushes for itself alone": (postgres_step, "flush_held", flushes_for_itself_alone),
    "who comes during a flush is let go by it": (postgres_step, "flushed", lets_go_who_came_meanwhile),
    "nobody waits for a flush": (postgres_step, "want_flush", does_not_wait),
    "everybody sleeps before a flush": (wal, "delays", sleeps_first),
    "none of the intent log": (zil_commit, "NOBODY", zil_commit.NOBODY),
    "who comes during a pass is let go by it": (zil_commit, "_pass_is_over", takes_along_who_came_meanwhile),
    "who waits is let go at the next pass": (zil_commit, "_let_go", lets_go_at_once),
    "who waits longest is the next writer": (group_commit, "LAST", FIRST),
}


def is_noticed(of_zil):
    if of_zil:
        times = zil_commits(N, THINK, SERVICE, 3000, group_commit.LAST)[0]
    else:
        times = postgres_commits(N, THINK, SERVICE, 4000, commit_delay_ns=500_000, commit_siblings=1000, leader_delays=1)[0]
    low, high = rate_limits(times)
    return not low <= repairman_with_batches(N, THINK, SERVICE)[0] <= high


def main():
    print(json.dumps(unnoticed(DEFECTS, lambda module: is_noticed(module in (zil_commit, group_commit)))))


if __name__ == "__main__":
    main()
