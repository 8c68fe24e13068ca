"""Pools of disks, a log SSD, a cache SSD and memory: what they do for a database, and what that costs.

    hybrids.run(["2009", "2026"], load, seed)       what every pool of the grid does
    hybrids.priced(runs, prices.read("2009"))       what it costs, and whether another beats it
    hybrids.served(runs, name, memory_gib)          from where its blocks came, and how much its disks had to do

The database is the order entry of `model.databases.oracle`, on ZFS with ARC, L2ARC and intent log
(`study.machines.simulate`). Its tables are the working set. It reads blocks, of which it changes a share. All is simulated
to a scale of 1 : SCALE. Tables, memory and cache device are so much smaller, and lie as far apart as the whole. Everything
begins warm. Left out: what a server costs, power, wear, mirrors.
"""
from collections.abc import Sequence
from typing import Any, NamedTuple

import pandas as pd

from study.ensembles import kept
from study.errors import UserError
from study.experiments.tiers_2009 import prices
from study.experiments.tiers_2009.prices import Point, Prices
from study.machines import scenario
from study.machines import simulate as machines
from study.machines.scenario import Scenario

SCALE = 8
DISKS, LOGS, CACHES, MEMORY_GIB = (2, 8, 24), (0, 1), (0, 1), (4, 16, 48)
GRID = tuple(Point(*each) for each in ((disks, log, cache, memory) for disks in DISKS for log in LOGS for cache in CACHES
                                       for memory in MEMORY_GIB))
DATABASE_GIB, SYSTEM_GIB = 1, 1     # of memory: the database's buffers, and all that is no cache
LEAST_ARC_MIB = 64
SECONDS_OF_A_YEAR = 365 * 86400


class Load(NamedTuple):
    """What the pool is for."""
    working_set_gib: float
    read_share: float           # of the blocks that a transaction wants
    users: int
    seconds: float              # of a run, of which the second half counts


def check(load: Load) -> Load:
    """The load itself; UserError, one sentence with all that is wrong."""
    wrong = [f"{name} is {value:g}, but it must be {words}" for name, value, holds, words in (
        ("working_set_gib", load.working_set_gib, 1 <= load.working_set_gib <= 512, "from 1 to 512"),
        ("read_share", load.read_share, 0 <= load.read_share <= 1, "from 0 to 1"),
        ("users", load.users, load.users >= 1, "1 or more"),
        ("seconds", load.seconds, load.seconds > 0, "more than 0")) if not holds]
    if wrong:
        raise UserError("; ".join(wrong))
    return load


def machine(list_of: Prices, point: Point, load: Load) -> Scenario:
    """One pool, to scale."""
    arc_mib = max(LEAST_ARC_MIB, (point.memory_gib - DATABASE_GIB - SYSTEM_GIB) * 1024 / SCALE)
    pool: dict[str, Any] = {"data": {"sheet": list_of.named(point.disk).sheet, "count": point.disks}}
    if point.log:
        pool["log"] = {"sheet": list_of.of("log").sheet, "count": point.log}
    if point.cache:
        cache = list_of.of("cache")
        held = prices.sheet(str(cache.sheet)).params.disk_bytes / 2**30
        pool["cache"] = {"sheet": cache.sheet, "count": point.cache, "use_gib": min(held, cache.gb * 1e9 / 2**30 / SCALE)}
    return scenario.of({
        "title": f"{point.disks} disks, {point.memory_gib:g} GiB", "pool": pool,
        "host": {"cpus": 16, "memory_gib": arc_mib / 1024 + DATABASE_GIB / SCALE + 2 * SYSTEM_GIB, "system": "solaris"},
        "files": {"kind": "zfs", "era": "b111", "record_kib": 8, "warm": True, "cache_warm": True, "to_scale": SCALE,
                  "arc_max_mib": arc_mib},
        "database": {"kind": "oracle", "gib": load.working_set_gib / SCALE, "clients": load.users, "seconds": load.seconds,
                     "conf": {"db_cache_size": f"{DATABASE_GIB * 1024 // SCALE}MB"}}})


def _run(appliance: Scenario, values: dict, seed: int, since: float) -> list[dict[str, float]]:
    outcome = machines.simulate(appliance, values, seed, since=since)
    disks, cache = outcome.devices["data"], outcome.devices.get("cache", {"reads": 0})
    return [{"tps": outcome.tps, "response": outcome.mean_ms, "seconds": outcome.seconds,
             "cache_reads": cache["reads"], "disk_reads": disks["reads"], "disk_writes": disks["writes"]}]


def run(names: Sequence[str], load: Load, seed: int, grid: tuple[Point, ...] = GRID) -> pd.DataFrame:
    """Every pool of the grid, of each kind of disk and the other devices of each of these files of prices, by best guess.
    Columns: prices, disks, log, cache, memory_gib, disk, tps, response (ms), and what was read and written in so many
    seconds. What devices cost does not matter yet."""
    lists = {name: prices.read(name) for name in names}
    cases = [(name, point._replace(disk=disk.name)) for name in names for disk in lists[name].disks() for point in grid]
    simulated = [machine(lists[name], point, check(load)) for name, point in cases]
    values = machines.known(simulated, "oracle").central() | {"changed_share": 1 - load.read_share}
    seen = kept.rows(kept.Ensemble("hybrid-pools", __name__, None, ("hardware/*.toml",)), _run,
                     [(each, values, seed, load.seconds / 2) for each in simulated])
    return pd.DataFrame([{"prices": name, **point._asdict(), **rows[0]}
                         for (name, point), rows in zip(cases, seen, strict=True)])


def priced(runs: pd.DataFrame, list_of: Prices) -> pd.DataFrame:
    """The same with `cost`, cost of a million transactions over the list's years (`per_million`), and `best`. That is where
    no other pool is both as cheap and faster, or cheaper and as fast."""
    costs = [prices.cost(list_of, Point(*row)) for row in runs[list(Point._fields)].itertuples(index=False)]
    table = runs.assign(cost=costs)
    table["per_million"] = 1e6 * table.cost / (table.tps * list_of.years * SECONDS_OF_A_YEAR)
    return table.assign(best=frontier(table.cost.tolist(), table.tps.tolist())).sort_values("cost").reset_index(drop=True)


def frontier(costs: list[float], rates: list[float]) -> list[bool]:
    """Which of the points no other one beats."""
    return [not any((cost <= costs[i] and rate > rates[i]) or (cost < costs[i] and rate >= rates[i])
                    for cost, rate in zip(costs, rates, strict=True)) for i in range(len(costs))]


def label(row: Any) -> str:
    """A pool in words."""
    parts = [f"{row.disks} {row.disk}", *["log"] * bool(row.log), *["cache"] * bool(row.cache)]
    return f"{' + '.join(parts)}, {row.memory_gib:g} GiB"


def served(runs: pd.DataFrame, name: str, memory_gib: float) -> pd.DataFrame:
    """For readers: of the pools of a file with so much memory tps. For each transaction there are reads of the cache SSD and
    of disks, and writes of disks. There are I/Os a second of each disk. The simulation is to scale; rates are as they
    are."""
    rows = runs[(runs.prices == name) & (runs.memory_gib == memory_gib)]
    n = rows.tps * rows.seconds
    return pd.DataFrame({"pool": [label(row) for row in rows.itertuples()], "tps": rows.tps,
                         "cache reads": rows.cache_reads / n, "disk reads": rows.disk_reads / n,
                         "disk writes": rows.disk_writes / n,
                         "I/Os a second of a disk": (rows.disk_reads + rows.disk_writes) / rows.seconds / rows.disks})


def metrics(table: pd.DataFrame, name: str) -> pd.DataFrame:
    """For the run store: name, value, unit."""
    units = {"tps": "TPS", "response": "ms", "cost": "$", "per_million": "$"}
    return pd.DataFrame([(f"{name}.{row['disk']}.{row['disks']}-{row['log']}-{row['cache']}-{row['memory_gib']}.{quantity}",
                          row[quantity], unit) for row in table.to_dict("records") for quantity, unit in units.items()],
                        columns=["name", "value", "unit"])
