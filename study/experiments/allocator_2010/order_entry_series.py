"""Runs of the order-entry test, one after another on one pool, with all statistics that were looked at in 2009.

    series(machine, rules, 24, seed)        runs on a pool that was aged before the first of them
    all_series("order-entry-steps", calls)  the same for each call, kept in `data/ensembles`

A pool is aged and measured once, however many questions a notebook asks of it.
"""
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from model.events.clock import SECOND_NS
from model.simulations.order_entry import columns as order_columns
from model.simulations.order_entry.series import Site, Window
from model.simulations.order_entry.state import Orders
from model.zfs.metaslab.state import MetaslabParams
from study.ensembles import kept
from study.experiments.allocator_2010.order_entry_machine import Setup, record_asize
from study.experiments.allocator_2010.order_entry_pool import TO_SCALE, Settling, aged, go_on, measure
from study.memo import ByKey
from study.pools import engine_share

TPS = "database.tps"


def statistics(seen: Window, orders: Orders) -> list[tuple]:
    """(name, value, unit) of what was looked at in 2009, and the model has. A mean over nothing has no row."""
    t, s = seen.tally, seen.ns / SECOND_NS
    per_s = {"database.tps": "transactions", "database.misses": "reads", "nfs.reads": "reads", "nfs.data_writes": "writes",
             "nfs.log_writes": "log_writes", "disk.reads": "units_read", "disk.writes": "units_written"}
    rows = [(name, t[key] / s, "1/s") for name, key in per_s.items()]
    record = orders.record_bytes
    bytes_per_s = {"nfs.read_bytes": t["reads"] * record, "nfs.write_bytes": t["writes"] * record + t["log_bytes"],
                   "disk.read_bytes": t["units_read_bytes"], "disk.write_bytes": t["units_written_bytes"]}
    rows += [(name, value / s, "B/s") for name, value in bytes_per_s.items()]
    n_units, moved = t["units_read"] + t["units_written"], t["units_read_bytes"] + t["units_written_bytes"]
    means = [("appliance.io_size", moved, n_units, "B"),
             ("appliance.read_size", t["units_read_bytes"], t["units_read"], "B"),
             ("appliance.write_size", t["units_written_bytes"], t["units_written"], "B"),
             ("transaction.response", t["response_ns"] / 1e6, t["transactions"], "ms"),
             ("os.read_time", t["read_ns"] / 1e6, t["reads"], "ms"),
             ("os.write_time", t["write_ns"] / 1e6, t["writes"], "ms"),
             ("os.log_write_time", t["log_ns"] / 1e6, t["log_writes"], "ms"),
             ("disk.read_time", t["ios_read_ns"] / 1e6, t["ios_read"], "ms"),
             ("disk.write_time", t["ios_written_ns"] / 1e6, t["ios_written"], "ms"),
             ("disk.service_time", seen.service_ns.sum() / 1e6, int(seen.served.sum()), "ms"),
             ("database.misses_per_transaction", t["reads"], t["transactions"], "1")]
    rows += [(name, total / n, unit) for name, total, n, unit in means if n]
    rows.append(("disk.utilisation", 100 * float(seen.busy_ns.mean()) / seen.ns, "%"))
    users_ns = orders.n_users * seen.ns
    waits = {"wait.read": "read", "wait.log_sync": "log_sync", "wait.free_buffer": "free_buffer", "wait.cpu": "cpu_queue"}
    rows += [(name, 100 * seen.doing_ns[key] / users_ns, "%") for name, key in waits.items()]
    return [*rows, ("database.cpu", 100 * seen.doing_ns["cpu"] / orders.n_cpus / seen.ns, "%")]


class Series(NamedTuple):
    """Runs one after another on one pool."""
    table: pd.DataFrame     # run, name, value, unit: what was looked at
    pool: pd.DataFrame      # a row a run: blocks per write, loads, share of the metaslabs that are loaded, …

    @property
    def tps(self) -> np.ndarray:
        """Transactions per second of each run."""
        return self.table[self.table.name == TPS].value.to_numpy()

    def first(self, n_runs: int) -> "Series":
        """The first `n_runs` runs alone."""
        return Series(self.table[self.table.run < n_runs], self.pool.iloc[:n_runs])


def _pool_row(site: Site, seen: Window, orders: Orders) -> tuple:
    """Of the allocator: nothing that was looked at then."""
    copies = orders.vdev.n_children if orders.vdev.n_parity == 0 else 1
    t = seen.tally
    return (copies * t["blocks_committed"] / max(1, t["units_committed"]), t["indirect"] / max(1, t["writes"]),
            int((site.space.active == 2).sum()), int(site.space.counters.n_loads[0]), t["stall_ns"] / seen.ns,
            t["blocks_committed"] / max(1, t["commits"]))


POOL_COLUMNS = ["blocks_per_write", "indirect_per_record", "n_primary", "n_loads", "stalled", "blocks_per_commit"]


_MADE = ByKey()      # the longest series so far of a machine, rules and seed


def series(machine: Setup, rules: MetaslabParams, n_runs: int, seed: int, service_ns: int = 0) -> Series:
    """`n_runs` identical runs; with `service_ns`, on disks that take so long for every I/O, wherever it is. They are the
    first runs of a longer series, too, so a notebook ages and measures a pool once, however many questions it asks."""
    key = machine._replace(service_ns=service_ns), rules, seed
    return _MADE.get(key, lambda: made(*key, n_runs), lambda longest: len(longest.pool) >= n_runs).first(n_runs)


def made(machine: Setup, rules: MetaslabParams, seed: int, n_runs: int, settling: Settling = TO_SCALE) -> Series:
    """The same, made anew: of a pool that settles by `settling`."""
    site, rows, pool = aged(machine, rules, seed, settling), [], []
    for number in range(n_runs):
        seen = measure(site, machine)
        rows += [(number, *row) for row in statistics(seen, machine.orders)]
        pool.append(_pool_row(site, seen, machine.orders))
        go_on(site, machine, seen, seed, f"run {number}")
    n_placed = int(site.machine.tally[order_columns.PLACED])
    engine_share.note((machine, rules, seed), n_placed, site.space, record_asize(machine))
    return Series(pd.DataFrame(rows, columns=["run", "name", "value", "unit"]), pd.DataFrame(pool, columns=POOL_COLUMNS))


def all_series(name: str, calls: list[tuple]) -> list[Series]:
    """`series` of each call, kept as the ensemble `name`. Of what was looked at in a run throughput alone is kept."""
    return [_of_rows(rows) for rows in kept.rows(kept.Ensemble(name, __name__, None), _as_rows, calls)]


def _as_rows(*call: Any) -> list[dict]:
    runs = series(*call)
    return [{TPS: tps, **of_pool} for tps, of_pool in zip(runs.tps.tolist(), runs.pool.to_dict("records"), strict=True)]


def _of_rows(rows: list[dict]) -> Series:
    frame = pd.DataFrame(rows)
    table = pd.DataFrame({"run": range(len(frame)), "name": TPS, "value": frame[TPS], "unit": "1/s"})
    return Series(table, frame[POOL_COLUMNS])


def cv(tps: np.ndarray) -> float:
    """Variability: the standard deviation over the mean."""
    return float(tps.std(ddof=1) / tps.mean())


def gain(before: np.ndarray, after: np.ndarray) -> float:
    """How much more the runs of `after` did on average than those of `before` [%]."""
    return 100 * (after.mean() / before.mean() - 1)


def reduction(before: np.ndarray, after: np.ndarray) -> float:
    """By how much the coefficient of variation is smaller in `after` than in `before` [%]."""
    return 100 * (1 - cv(after) / cv(before))
