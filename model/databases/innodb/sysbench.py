"""sysbench OLTP, 0.4 and 1.0: its table, which rows a transaction wants, its statements and what they cost in CPU.

**The table** `sbtest`: id (primary key), k (int, indexed, 0 in all rows), c char(120), pad char(60); `oltp-table-size` rows.

**The transaction** (test mode complex, defaults), every statement a round trip of one client:

    BEGIN
    10 x  SELECT c WHERE id = ?                                              point
     1 x  SELECT c WHERE id BETWEEN ? AND ? + 99                             range
     1 x  SELECT SUM(k) WHERE id BETWEEN ...                                 sum
     1 x  SELECT c WHERE id BETWEEN ... ORDER BY c                           order
     1 x  SELECT DISTINCT c WHERE id BETWEEN ? AND ? + 100 ORDER BY c        distinct
     1 x  UPDATE SET k = k + 1 WHERE id = ?                                  not if oltp-read-only
     1 x  UPDATE SET c = ? WHERE id = ?                                      likewise
     1 x  UPDATE SET k = k + 1, DELETE, INSERT (with k = 0) of one more id   likewise: 14 reads, 5 writes
    COMMIT

**From 0.5 on** (`version` 1.0) k is drawn for every row as its id would be, when the table is loaded and for each INSERT.
What is deleted is not updated before: 4 writes. The index on k is made after the load. So where a row's entry is has nothing
to do with its id: statements that move an entry visit a page anywhere in that index.

**Which rows** (`oltp-dist-type`), of n, each id drawn by itself:

* uniform: each alike.
* gaussian: the mean of `oltp-dist-iter` = 12 uniform ids, so a standard deviation of n / 12 around the middle.
* special: with `oltp-dist-res` = 75, three out of four are uniform over `oltp-dist-pct` = 1 % of the ids in the middle, the
  fourth is as in gaussian. (In general one out of 100 // (100 - res) is gaussian.)
* pareto: n u^a with a = log h / log (1 - h), u uniform, `rand-pareto-h` h = 0.2: 80 % of draws are among a fifth of the ids.
* zipfian: n u^(1 / (1 - s)), `rand-zipfian-exp` s = 0.8: Zipf's law for many ids (an approximation of its sum by an
integral).

A range that would leave the table begins `oltp-range-size` = 100 rows before its end.

**CPU** of a statement: the client's part and mysqld's, which share the host's processors; rows; sorting; changes of index
records. BEGIN and COMMIT open no table: half the server's part. DISTINCT fills a temporary table and sorts it: two sorts.

Sources, read for facts: sysbench 0.4, tests/oltp/sb_oltp.c (get_request_complex, rnd_func_*); 1.0, src/lua/oltp_common.lua
(create_table, execute_delete_inserts), src/sb_rand.c (sb_rand_pareto).
"""

import math
from typing import NamedTuple

import numpy as np

from model.events.streams import stream

# What a statement does to the table.
NOTHING, READ, UPDATE_K, UPDATE_C, DELETE, INSERT = range(6)
CHANGES = {NOTHING: 0, READ: 0, UPDATE_K: 3, UPDATE_C: 1, DELETE: 2, INSERT: 2}  # index records

DISTRIBUTIONS = ("special", "gaussian", "uniform", "pareto", "zipfian")
VERSIONS = ("0.4", "1.0")
PARETO_H, ZIPFIAN_EXP = 0.2, 0.8
ZIPFIAN_HEAD = 1000  # ids whose chances are summed one by one
DRAWN_AT_A_TIME = 4096  # transactions


class Cpu(NamedTuple):
    """CPU times, ns."""

    statement: float  # mysqld, whatever the statement
    client: float  # sysbench, likewise
    row: float  # each row of a range
    sort: float  # of a range by c
    change: float  # of one index record


class Oltp(NamedTuple):
    """The test."""

    statements: np.ndarray  # int64 [statement, column]
    n_rows: int
    n_ids: int  # per transaction
    distribution: int  # of DISTRIBUTIONS
    dist_iter: int
    dist_pct: float
    dist_res: int
    k_is_random: int  # 1: entries of the index on k lie anywhere, whatever the id


def _reads(point_selects, range_size, ranges):
    """(kind, rows, sorts)"""
    simple, sums, order, distinct = ranges
    return ([(READ, 1, 0)] * point_selects + [(READ, range_size, 0)] * (simple + sums) + [(READ, range_size, 1)] * order
            + [(READ, range_size + 1, 2)] * distinct)


def _writes(index_updates, non_index_updates):
    return [(UPDATE_K, 1, 0)] * index_updates + [(UPDATE_C, 1, 0)] * non_index_updates


def _cpu_ns(cpu, kind, n_rows, sorts):
    share = 0.5 if kind == NOTHING else 1
    return round(cpu.client + share * cpu.statement + (n_rows if n_rows > 1 else 0) * cpu.row + sorts * cpu.sort
                 + CHANGES[kind] * cpu.change)


def oltp(n_rows: int, cpu: Cpu, read_only: bool = False, distribution: str = "special", point_selects: int = 10,
         ranges: tuple[int, ...] = (1, 1, 1, 1), range_size: int = 100, index_updates: int = 1, non_index_updates: int = 1,
         dist_iter: int = 12, dist_pct: int = 1, dist_res: int = 75, version: str = "0.4") -> Oltp:
    """The test of `sysbench --test=oltp --oltp-table-size=n_rows`; other options by their names. `cpu`: see Cpu."""
    if version not in VERSIONS:
        raise ValueError(f"version is {version}, but sysbench is modelled as {', '.join(VERSIONS)}; choose one of these")
    if n_rows < range_size + 1:
        raise ValueError(f"n_rows is {n_rows}, but a range has {range_size} and one more; choose {range_size + 1} or more")
    if distribution not in DISTRIBUTIONS:
        raise ValueError(f"distribution is {distribution}, but sysbench has {', '.join(DISTRIBUTIONS)}; choose one of these")
    if not (0 <= dist_res < 100 and 0 <= dist_pct <= 100 and dist_iter >= 1):
        raise ValueError(f"dist_res, dist_pct, dist_iter are {dist_res}, {dist_pct}, {dist_iter}, but must be below 100, "
                         "at most 100 and at least 1; choose such")
    actions = [(NOTHING, 0, 0), *_reads(point_selects, range_size, ranges)]
    ids = [0, *range(len(actions) - 1)]
    if not read_only:
        actions += _writes(index_updates, non_index_updates)
        last = (UPDATE_K, DELETE, INSERT)[version != "0.4":]
        ids = [0, *range(len(actions) - 1)] + [len(actions) - 1] * len(last)
        actions += [(kind, 1, 0) for kind in last]
    actions.append((NOTHING, 0, 0))
    rows = [(kind, i, n, _cpu_ns(cpu, kind, n, sorts)) for (kind, n, sorts), i in zip(actions, [*ids, 0], strict=True)]
    return Oltp(
        statements=np.array(rows, np.int64), n_rows=n_rows, n_ids=max(ids) + 1,
        distribution=DISTRIBUTIONS.index(distribution), dist_iter=dist_iter, dist_pct=float(dist_pct),
        dist_res=dist_res, k_is_random=int(version != "0.4"))


# ---- ids ----


def _gaussian(test, n, draws):
    """The mean of ids, rounded down."""
    return (1 + (draws.random((n, test.dist_iter)) * test.n_rows).astype(np.int64)).sum(1) // test.dist_iter


def _uniform(test, n, draws):
    return 1 + (draws.random(n) * test.n_rows).astype(np.int64)


def _special(test, n, draws):
    n_hot = max(1, int(test.n_rows * test.dist_pct) // 100)
    range_size = test.n_rows * (100 // (100 - test.dist_res))
    ids = 1 + (draws.random(n) * range_size).astype(np.int64)
    is_gaussian = ids <= test.n_rows
    ids = ids % n_hot + test.n_rows // 2 - int(test.n_rows * test.dist_pct) // 200
    ids[is_gaussian] = _gaussian(test, int(is_gaussian.sum()), draws)
    return ids


def _pareto(test, n, draws):
    return 1 + (draws.random(n) ** (math.log(PARETO_H) / math.log1p(-PARETO_H)) * test.n_rows).astype(np.int64)


def _zipfian(test, n, draws):
    """Zipf: id K with a chance that goes with K^-s. The first ids one by one; behind them, where neighbours hardly differ,
    its sum is an integral."""
    power = 1 - ZIPFIAN_EXP
    n_head = min(test.n_rows, ZIPFIAN_HEAD)
    head = np.cumsum(np.arange(1, n_head + 1) ** -ZIPFIAN_EXP)
    before = (n_head + 0.5)**power
    tail = ((test.n_rows + 0.5)**power - before) / power
    at = draws.random(n) * (head[-1] + tail)
    behind = np.rint((np.maximum(at - head[-1], 0) * power + before) ** (1 / power)).astype(np.int64)
    return np.where(at < head[-1], 1 + np.searchsorted(head, at, side="right"), behind)


def ids_of(test, n, draws):
    """`n` ids, 1 to n_rows."""
    return np.clip((_special, _gaussian, _uniform, _pareto, _zipfian)[test.distribution](test, n, draws), 1, test.n_rows)


def wanted(test, place):
    """How much parts of the table are wanted, as a number that grows with it; `place`: where they are, 0 to 1."""
    return -place if DISTRIBUTIONS[test.distribution] in ("pareto", "zipfian") else -abs(place - 0.5)


def draw(test, ids, cpu_factors, draws):
    """The ids of the transactions to come, counted from 0, and factors of their CPU times."""
    ids[:] = ids_of(test, ids.size, draws).reshape(ids.shape) - 1
    cpu_factors[:] = draws.standard_exponential(len(cpu_factors))


def draws_of(seed):
    """The stream that the rows of all transactions are drawn from."""
    return stream(seed, "sysbench transactions")
