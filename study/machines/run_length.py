"""How long a run is that is to stand for a server at work, and how a large one is made small enough.

PostgreSQL's year is the interval between checkpoints. After each, pages go into the log whole at their first change. What
one interval has made dirty is written during the next. So

 1. A scenario that says how many transactions, or seconds, is run like that, from a checkpoint on. But where its seconds are
    more than `MAX_TRANSACTIONS`, it is run as if it did not say so, but was at work all the time.
 2. Else a short run says how many transactions fit in an interval. Two intervals are run, and the second is measured. Where
    log ends an interval before time does, it is so many transactions, however long they take.
 3. What is measured holds `GROUPS` transaction groups, and as many have been before, or the writes of the first ones would
    not be in it. Those of most eras come every 30 s. A short run knows nothing of that, and is up to twenty times as fast as
    a long one. So a second one of two groups says how fast the machine is at work.
 4. If two intervals are more than its budget of transactions, the machine is made smaller by a factor k, 8 at most. Smaller
    are tables, buffers, ARC, cache devices, the interval in seconds and in log, and transaction groups in seconds and in
    bytes. Rates and shares stay as they are, and how far a disk's arm has to go. But what comes once in a checkpoint or a
    group weighs k times as much. k leaves ten branches a client, 64 MiB of ARC, and half a minute between checkpoints;
    scripts that touch no branches allow 32.
 5. If that is not enough, the second half of an interval's beginning is measured, of a budget of transactions and `GROUPS`
    groups at least. What comes late in an interval is seen too seldom, and its images of pages too often. In a machine at
    work shared buffers have turned over long ago, and a checkpoint is being written; a run of seconds would see neither. So
    under rules 2 to 7 buffers begin as hours leave them (`model.databases.postgres.at_work`), unless they begin cold. So
    does InnoDB's pool where a run is shorter than the scenario says (`model.databases.innodb.at_work`), at the rate of a
    short one that begins so itself. Where a checkpoint on ZFS never naps, as disks are slower than its schedule, hours leave
    more dirty than the schedule says. The second run of rule 3 counts how many pages it came to for a transaction, in
    `PILOT` transactions at least. It is repeated with buffers that such a pace leaves. Tables that are compared are made
    smaller alike (`alike`). Between machines of two sizes no difference is one of a step.
 6. If rule 3 alone takes more than `Budget.of_groups`, groups are made smaller than tables are, down to a quarter of a
    second. A record meets fewer writes in a group then, so that more is written for each transaction.
 7. Tables of more than scale `MAX_SCALE` are made smaller in any case, with all that rule 4 names. But the interval is kept,
    as in rule 5, where it would be shorter than half a minute. Buffers are then as dirty at the start as those of the whole
    machine, but what a checkpoint writes of them takes the whole interval. That is a k-th of the writes, for each second.
"""
import math
from typing import NamedTuple

from model.databases.postgres import state as postgres_state
from model.databases.postgres.pgbench import PAGE_BYTES
from model.databases.postgres.state import SEGMENT_BYTES
from model.events import clock
from study import memo
from study.machines import servers
from study.machines import simulate as machines
from study.machines.database import Postgres
from study.machines.scenario import Scenario, changed
from study.machines.storage import GIB

MAX_TRANSACTIONS = 400_000      # of a run whose transaction groups want more than its budget
PILOT = 3_000
GROUPS = 3                      # that are measured at least
COSTS = {"innodb": 2, "oracle": 16}     # times as much to simulate as a transaction of pgbench: InnoDB's measured processor
                                # time (data/ledger.toml); Oracle's by count, fifteen blocks, half of them changed
PILOT_SECONDS = 5               # of those
PACES, SAME_PACE = 3, 0.2       # looks at what a checkpoint comes to, unless two agree to a fifth
ROUNDS = 3                      # of InnoDB's page cleaner, one a second, that are measured at least
LONGER, MARGIN = 4, 1.1         # times, of a draw that is faster; and as much more than wanted
MIN_GROUP = 0.25                # s: what comes once in a group is some milliseconds
BRANCHES = 10                   # for a client, that scaling leaves
MAX_SCALE = 3000                # 45 GB of tables: some gigabyte of the simulation
MAX_FACTOR = 8.0                # scaling
MAX_WITHOUT = 32.0              # of scripts that touch no branches
MIN_TIMEOUT = 30                # s, PostgreSQL's least checkpoint_timeout
MIN_SECONDS = 12                # of a run without groups: UFS, select-only
MIN_LOG = 300                   # B of a transaction without images
MIN_BUFFERS = 2**22
MIN_CACHE = 2**27                # B of a cache device


class Budget(NamedTuple):
    """How many transactions a run has at most."""
    transactions: int = 200_000
    of_groups: int = MAX_TRANSACTIONS       # if groups want more than that: rules 3 and 6


BUDGET = Budget()


class Length(NamedTuple):
    """What is run in the scenario's place, from which second on it counts, and why, in words."""
    scenario: Scenario
    since: float            # or machines.HALF: the second by which half of the transactions are done
    why: str
    min_seconds: float = 0.0    # s that are measured at least
    k: float = 1.0              # times smaller than the scenario
    is_whole: bool = True       # it holds all that comes once in an interval, not its beginning alone
    longest: float = 0.0        # transactions that it may be made longer to; 0: `LONGER` times its own


def outcome(length: Length, values: dict, seed: int) -> machines.Outcome:
    """The run, of a draw. A run of so many transactions is over too soon if the draw is faster than the best guess. It
    is then run again, as much longer, `LONGER` times at most (rule 3)."""
    first = machines.simulate(length.scenario, values, seed, since=length.since)
    if length.since != machines.HALF or first.seconds >= length.min_seconds:
        return first
    n = length.scenario.postgres.transactions or 0
    wanted = round(min(length.longest or LONGER * n, MARGIN * length.min_seconds / max(first.seconds, 1e-3) * n))
    if wanted <= n:
        return first
    return machines.simulate(changed(length.scenario, {"database.transactions": wanted}), values, seed, since=length.since)


def long_enough(length: Length, tps: float) -> Length:
    """The same for a draw that is known to be as fast as `tps`, or nearly. It then need not be run twice (rule 3)."""
    n = length.scenario.postgres.transactions or 0 if length.since == machines.HALF else 0
    wanted = round(min(LONGER * n, MARGIN * 2 * length.min_seconds * tps))
    if wanted <= n:
        return length
    return length._replace(scenario=changed(length.scenario, {"database.transactions": wanted}), longest=LONGER * n)


def of(machine: Scenario, values: dict, seed: int = 1, budget: Budget = BUDGET, smaller_by: float | None = None) -> Length:
    """`smaller_by`: how many times, if others are to be compared with it (`study.predictions.predict.alike`)."""
    server = machine.database
    if server.kind != "postgres":
        return _of_seconds(machine, values, seed)
    too_large = max(1.0, server.scale / MAX_SCALE)
    manageable = smaller(machine, too_large, keeps_interval=True)
    as_given = Length(scenario=manageable, since=0,
                      why=f"as long as the scenario says, from a checkpoint on{_size(too_large)}")
    if server.transactions:
        return as_given
    machine, manageable = (changed(each, {"database.seconds": None}) for each in (machine, manageable))
    pilot = _short_run(changed(manageable, {"database.transactions": PILOT}), values, seed)
    if server.seconds and server.seconds * pilot.tps <= MAX_TRANSACTIONS:
        return as_given
    if server.only_reads:
        return Length(scenario=changed(manageable, {"database.transactions": budget.transactions}), since=0,
                      why=f"{budget.transactions} transactions{_size(too_large)}")
    seconds, n = interval(machine, values, pilot)
    k = max(too_large, smaller_by or scaling(machine, 2 * seconds * pilot.tps / budget.transactions))
    tps, pace = at_work(machine, k, pilot.tps, n, values, seed, budget.of_groups)
    if n is not None:       # at the rate of a server at work, time may end an interval that log ends in a short run
        seconds, n = (n / tps, n) if n / tps < _timeout(machine) else (_timeout(machine), None)
    return _of_intervals(machine, (seconds, n), tps, budget, too_large, pace, smaller_by)


def _of_seconds(machine: Scenario, values: dict, seed: int) -> Length:
    """InnoDB, Oracle: as long as the scenario says; of a long run as many groups, or transactions, as rules 3, 6 say;
    of InnoDB `ROUNDS` of the page cleaner, with a pool as hours of work leave it (rule 5)."""
    assert machine.database.kind != "postgres"
    asked_s = machine.database.seconds
    pilot = changed(machine, {"database.seconds": min(asked_s, PILOT_SECONDS)})
    tps = machines.simulate(pilot, values, seed).tps
    if not tps or 2 * _seconds_to_measure(machine, tps)[0] >= asked_s:
        return Length(scenario=machine, since=0, why="as long as the scenario says")
    if machine.database.kind == "innodb" and machine.database.start != "cold":
        tps = max(1.0, machines.simulate(_worked_innodb(pilot, tps), values, seed).tps)
    length, scale = _seconds_to_measure(machine, tps)
    run = changed(machine, {"database.seconds": 2 * length} | ({"files.groups_to_scale": scale} if scale > 1 else {}))
    return Length(scenario=_worked_innodb(run, tps), since=length,
                  why=f"the second half of {2 * length:.3g} s{_size_of_groups(1.0, scale)}")


def _seconds_to_measure(machine: Scenario, tps: float) -> tuple[float, float]:
    """At that rate, and the scale of groups."""
    costs, min_transactions = COSTS[machine.database.kind], ROUNDS if machine.database.kind == "innodb" else 0
    scale = groups_scale(machine, 1.0, tps * costs)
    return max(GROUPS * group_seconds(machine) / scale, MAX_TRANSACTIONS / costs / tps / 2, min_transactions), scale


def _worked_innodb(machine: Scenario, tps: float) -> Scenario:
    """With a pool as hours at `tps` leave it, if it is not to begin cold."""
    if machine.database.kind != "innodb" or machine.database.start == "cold":
        return machine
    return changed(machine, {"database.start": "at work", "database.transactions_a_second": max(1, round(tps))})


def at_work(machine: Scenario, k: float, tps: float, n: float | None, values: dict, seed: int,
            max_transactions: int = MAX_TRANSACTIONS) -> tuple[float, float]:
    """Rules 3 and 5: transactions a second in the second of two groups, of the machine made smaller by `k`. Then how many
    pages a checkpoint writes for each, if it does not keep up; else 0. `n`: transactions between checkpoints, if log ends
    that time."""
    scale, pace = groups_scale(machine, k, tps, max_transactions), 0.0
    seconds = max(2 * group_seconds(machine) / scale, PILOT / tps)
    if not group_seconds(machine):
        return tps, pace
    for _ in range(PACES):
        short = changed(smaller(machine, k, scale), {"database.seconds": seconds})
        run = _worked(short, (n or _timeout(machine) * tps) / k, pace)
        outcome = _short_run(run, values, seed, since=seconds / 2)
        tps, before, pace = max(1.0, outcome.tps), pace, _pace(outcome.counts, pace)
        if abs(pace - before) <= SAME_PACE * pace:
            break
    return tps, pace


def _short_run(machine: Scenario, values: dict, seed: int, since: float = 0) -> machines.Outcome:
    """Rates and counts alone, remembered: machines that are compared are looked at several times."""
    return memo.by_values_read(
        ("short run", machine.model_dump_json(), seed, since), values,
        lambda asked: machines.simulate(machine, asked, seed, since=since)._replace(
            result=None, per_second={}, devices_per_second={}))


def _pace(counts: dict, before: float) -> float:
    """Pages a transaction that a checkpoint writes: 0 if it always kept up, that is, if it napped."""
    if not before and (counts["checkpoint_naps"] or not counts["checkpoint_writes"]):
        return 0.0
    return counts["checkpoint_writes"] / max(1, counts["commits"])


def group_seconds(machine: Scenario) -> float:
    """Between transaction groups, if nobody asks for the next one; 0 if there are none."""
    return machines.eras.era(machine.files.era).txg.timeout_ns / clock.SECOND_NS if machine.files.kind != "ufs" else 0.0


def groups_scale(machine: Scenario, k: float, tps: float, max_transactions: int = MAX_TRANSACTIONS) -> float:
    """Rule 6: as that of tables, `k`, or more if a run would be too long."""
    seconds = group_seconds(machine)
    return max(k, min(2 * GROUPS * seconds * tps / max_transactions, seconds / MIN_GROUP))


def _of_intervals(machine: Scenario, each: tuple[float, float | None], tps: float, budget: Budget, too_large: float,
                  pace: float = 0.0, smaller_by: float | None = None) -> Length:
    """Rules 2 to 7: `each` interval between checkpoints."""
    seconds, n = each
    k = max(too_large, smaller_by or scaling(machine, 2 * seconds * tps / budget.transactions))
    scale = groups_scale(machine, k, tps, budget.of_groups)
    min_seconds = GROUPS * group_seconds(machine) / scale or MIN_SECONDS / 2
    keeps = _timeout(machine) / k < MIN_TIMEOUT
    run, size = smaller(machine, k, scale, keeps), _size(k) + _size_of_groups(k, scale)
    run = _worked(run, seconds * tps / k, pace)
    if seconds * tps <= budget.transactions * k and n is not None and not keeps:
        total = round(max(2 * n / k, 2 * min_seconds * tps))
        return Length(scenario=changed(run, {"database.transactions": total}), since=machines.HALF,
                      why=f"the second half of {total} transactions, two intervals between checkpoints{size}",
                      min_seconds=min_seconds, k=k)
    if seconds * tps <= budget.transactions * k and not keeps:
        length = max(min_seconds, seconds / k)
        return Length(scenario=changed(run, {"database.seconds": 2 * length}), since=length,
                      why=f"the second of two intervals between checkpoints, of {seconds:.0f} s{size}", k=k)
    length = max(min_seconds, budget.transactions / tps / 2)
    return Length(scenario=changed(run, {"database.seconds": 2 * length}), since=length,
                  why=f"the second half of {2 * length:.3g} s of an interval of {seconds:.0f} s between checkpoints{size}",
                  k=k, is_whole=False)


def _worked(machine: Scenario, n: float, pace: float) -> Scenario:
    """With shared buffers as after hours, if they are not to begin cold; `n` transactions are between checkpoints, which
    came to `pace` pages for each."""
    if machine.postgres.start == "cold":
        return machine
    return changed(machine, {"database.start": "at work", "database.interval_transactions": max(1, round(n)),
                         "database.checkpoint_pace": pace})


def _size_of_groups(k: float, scale: float) -> str:
    return f", transaction groups {scale:.3g} times shorter" if scale > 1.001 * k else ""


def _size(k: float) -> str:
    return f"; tables and memory are {k:.3g} times smaller" if k > 1 else ""


def interval(machine: Scenario, values: dict, pilot: machines.Outcome) -> tuple[float, float | None]:
    """Seconds between checkpoints, by time or by log; if by log, its transactions as well."""
    settings = servers.postgres_settings(machine, values, 1)
    distance = settings.checkpoint_segments * SEGMENT_BYTES
    n, timeout = transactions_in(distance, machine.postgres.scale, pilot), settings.checkpoint_timeout_ns / clock.SECOND_NS
    return (n / pilot.tps, n) if n / pilot.tps < timeout else (timeout, None)


def transactions_in(distance: float, scale: int, pilot: machines.Outcome) -> float:
    """Transactions whose log is `distance` B. Pages are hit at random, so that their images become rarer. Of P pages, n
    transactions log P (1 - exp(-a n / P)) images, where a transaction of the pilot logged a."""
    pages, commits = machines.PAGES_OF_A_BRANCH * scale, pilot.counts["commits"]
    images = max(pilot.counts["images"], 1e-9) / commits
    image_bytes = min(PAGE_BYTES, pilot.wal_bytes / images)
    rest = max(pilot.wal_bytes - images * image_bytes, MIN_LOG)
    low, high = 1.0, distance / MIN_LOG
    while high > 1.01 * low:
        n = (low * high) ** 0.5
        log = rest * n + image_bytes * pages * -math.expm1(-images * n / pages)
        low, high = (n, high) if log < distance else (low, n)
    return low


def scaling(machine: Scenario, wanted: float) -> float:
    """Rule 3: `wanted`, or as much of it as goes; 1: as it is."""
    server = machine.postgres
    buffers = servers.buffer_bytes(machine)
    max_factor = min(*_max_factors(server), buffers / max(MIN_BUFFERS, 2**18 * server.clients),
                     machines.arc_max_bytes(machine) / 2**26 if machine.files.kind != "ufs" else MAX_FACTOR,
                     _timeout(machine) / MIN_TIMEOUT)
    return max(1.0, min(wanted, max_factor))


def _max_factors(server: Postgres) -> tuple[float, float]:
    """Of scripts without branches, of which none is short, as much as all else allows."""
    if server.has_branches:
        return MAX_FACTOR, server.scale / (BRANCHES * server.clients)
    return MAX_WITHOUT, server.scale


def _timeout(machine: Scenario) -> float:
    """Of checkpoints, in s."""
    return servers.postgres_settings(machine, _ANY, 1).checkpoint_timeout_ns / clock.SECOND_NS


def smaller(machine: Scenario, k: float, groups: float | None = None, keeps_interval: bool = False) -> Scenario:
    """Tables, buffers, ARC and cache divided by `k`, and the interval between checkpoints, unless it is kept; transaction
    groups by `groups`, or by k."""
    if k <= 1 and (groups or 1) <= 1:
        return machine
    if machine.files.kind != "ufs":
        machine = changed(machine, {"files.to_scale": machine.files.to_scale * k, "files.groups_to_scale": groups or k})
    if k <= 1:
        return machine
    settings = servers.postgres_settings(machine, _ANY, 1)
    changes = {"database.scale": max(1, round(machine.postgres.scale / k)),
               "database.conf.shared_buffers": f"{int(servers.buffer_bytes(machine) / k) // 1024}kB"}
    if not keeps_interval:
        changes["database.conf.checkpoint_timeout"] = f"{settings.checkpoint_timeout_ns / k / 1e6:.0f}ms"
        changes |= _less_log(machine, settings, k)
    if machine.files.kind != "ufs":
        changes["files.arc_max_mib"] = machines.arc_max_bytes(machine) / k / 2**20
    for path, pool in (("pool", machine.pool), ("log_pool", machine.log_pool)):
        if pool is not None and pool.cache is not None:
            changes[f"{path}.cache.use_gib"] = max(MIN_CACHE, pool.cache.device_bytes / k) / GIB
    return changed(machine, changes)


def _less_log(machine: Scenario, settings: postgres_state.Settings, k: float) -> dict:
    if machine.postgres.version < 9.5:
        return {"database.conf.checkpoint_segments": max(1, round(settings.checkpoint_segments / k))}
    max_wal_bytes = servers.conf.check("postgres", machine.postgres.conf).get("max_wal_size", GIB)
    return {"database.conf.max_wal_size": f"{max(32, int(max_wal_bytes / k) >> 20)}MB"}


_ANY = {"trip_ns": 0, "handoff_ns": 0, "spread_cpu": 0, "cpu_speed": 1}
