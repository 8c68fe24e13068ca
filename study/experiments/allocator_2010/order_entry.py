"""The order-entry test of 2010: users of a database on an appliance, run after run, under the old rules of the allocator and
under the new ones.

    machine = order_entry_2010.setup(n_users=64, scale=128, …)        what a notebook's parameters stand for
    order_entry_2010.series(machine, rules, 24, seed)                 runs one after another on one pool, with all statistics
    order_entry_2010.compare(machine, 24, seed)                       the same under old and new rules
    order_entry_2010.predict(draws=4, seeds=3, seed=1, …)             the ensemble: see `study.ensembles.ensembles`

What else is asked of it is in `study.experiments.allocator_2010.order_entry_questions`.

Between runs the pool ages; in each, a window is simulated event by event: see `model.simulations.order_entry.series`. Only
the allocator differs between old and new: queue, disks, database and all that is drawn stay the same.
"""
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from model.devices.data_sheet import SheetParams
from model.events.clock import SECOND_NS
from model.events.streams import stream
from model.simulations.order_entry import columns as order_columns
from model.simulations.order_entry.series import Site, Window, begin, rewrite, settle, window
from model.simulations.order_entry.state import REDO_BYTES, Orders
from model.zfs.dmu.indirect import FLETCHER4, REWRITTEN, block_pointers, psize
from model.zfs.metaslab.state import MetaslabParams
from model.zfs.vdev.queue import VdevQueueParams
from model.zfs.vdev.raid import asize as asize_of
from study.documents import priors
from study.ensembles import correlation, ensembles, kept
from study.ensembles.effects import Effect
from study.ensembles.ensembles import AFTER, BEFORE, VARIANTS
from study.ensembles.processors import on_all_processors
from study.errors import UserError
from study.experiments.allocator_2010 import appliance
from study.experiments.allocator_2010.order_entry_cycle import skewness
from study.experiments.allocator_2010.rules import new_rules, old_rules
from study.experiments.protocol import Comparison
from study.memo import ByKey
from study.pools import engine_share

EXPERIMENT = "order_entry"
TPS, CV = "database.tps", "tps.cv"
CYCLE = "lutz-cycle"
DATABASE_BYTES = 350e9          # data and logs; the document
REDO_LOG_BYTES = 6 * 2**30      # of them, all redo logs together: three of 2 GiB, a usual size
PARTS_OF_AGE = 2.0              # turnovers that the pool ages at one measured pace
STEP_S, STEPS_TO_SETTLE = 1.0, 120    # in which users start: until writes and changes are in balance
WARM_S = 1.0                    # of a run, simulated before its window: queues and dirty buffers are as they were before it


class Setup(NamedTuple):
    """A machine to scale; see `model.simulations.order_entry.state`."""
    orders: Orders
    disk: SheetParams
    queue: VdevQueueParams
    scale: int
    metaslab_bytes: int
    n_metaslabs: int        # of a vdev
    n_other: int            # blocks of 128 KiB of other data
    pool_fill: float        # share that is taken before the first run: what was asked for, or what the database alone takes
    age: float              # turnovers before the first run
    run_s: float            # from the beginning of one run to that of the next, to scale
    warm_s: float
    window_s: float
    exact: bool = False     # whether free space is kept by the exact engine of the allocator instead of the fast one
    service_ns: int = 0     # of every I/O of a disk; 0: as the disk takes


# --- from parameters to a machine ---------------------------------------------------------------------------------------

def _check(scale: int, record: int, pool_fill: float) -> None:
    if scale < 1 or scale & (scale - 1):
        raise UserError(f"scale is {scale}, but metaslabs are powers of two; choose 1, 2, 4 and so on")
    if record % 512 or record & (record - 1) or not 512 <= record <= 2**17:
        raise UserError(f"a record has {record} B, but it must be a power of two from 512 B to 128 KiB; choose 8 KiB, say")
    if not 0 <= pool_fill <= 1:
        raise UserError(f"pool_fill is {pool_fill:g}, but no more than all of a pool can be taken; choose 0 to 1")


def _workload(values: dict, record: int, scale: int) -> dict:
    """Fields of Orders that the database decides; a number has the same type in every machine, for the compiler's sake. What
    is dirty is the share of the database that it was, so that as many changes meet a block that is dirty already."""
    outstanding, n_writers = round(values["writer_outstanding"]), int(values["n_writers"])
    dirtied = values["reads_per_transaction"] * values["writes_per_read"]
    stock = values["dirty_buffers"] * 4096 / record / scale
    return {
        "cpu_ns": round(values["cpu_ns"]), "reads": float(values["reads_per_transaction"]), "dirtied": float(dirtied),
        "redo_bytes": round(values["redo_bytes"]),
        "hot_share": appliance.HOT_SHARE, "hot_hits": float(values["hot_accesses"]),
        "dirty_target": int(stock / 2), "max_dirty": outstanding + int(stock + 2 * dirtied) + 1,
        "n_writers": n_writers, "writes_per_batch": max(1, outstanding // n_writers), "n_cpus": int(values["n_cpus"]),
        "record_bytes": record, "n_records": int((DATABASE_BYTES - REDO_LOG_BYTES) / record / scale),
        "n_redo_records": max(1, REDO_LOG_BYTES // REDO_BYTES // scale)}


def _appliance(values: dict, record: int, groups: int) -> dict:
    """Fields of Orders that the appliance decides."""
    return {
        "op_ns": round(values["op_ns"]), "cached": float(values["cache_hits"]), "has_slog": int(values["has_slog"]),
        "slog_ns": round(values["slog_ns"]), "slog_rate": round(values["slog_rate"]), "n_shares": round(values["n_shares"]),
        "indirect_bytes": _indirect_bytes(record),
        **appliance.kernel_of(values, groups)}


def _indirect_bytes(record: int) -> int:
    """B of an L1 whose records have been rewritten at random, compressed; in whole blocks of 4 KiB, which the fast engine of
    the allocator counts in."""
    pointers = block_pointers(REWRITTEN, FLETCHER4, stream(0, "indirect"), record_bytes=record, n_vdevs=11)
    return -(-psize(pointers.tobytes()) // 4096) * 4096


def with_values(values: dict, *, n_users: int, record_kib: float, scale: int, window_s: float,
                warm_s: float = WARM_S) -> Setup:
    """A machine with values of the priors and switches, to `scale`, or to a finer one by what is drawn; windows are as
    long at full scale, then, and transaction groups to a finer scale as well."""
    record = int(record_kib * 1024)
    _check(scale, record, values["pool_fill"])
    refinement = min(scale, values["finer"])
    scale, window_s, warm_s = scale // refinement, window_s * refinement, warm_s * refinement
    groups = max(1, min(scale, int(values["group_scale"]) // refinement))
    n_vdevs, vdev, full_metaslab, n_metaslabs = appliance.whole_pool(values["layout"], int(values["n_disks"]))
    metaslab_bytes = full_metaslab // scale
    orders = Orders(n_users=n_users, n_vdevs=n_vdevs, vdev=vdev, **_workload(values, record, scale),
                    **_appliance(values, record, groups))
    space, other_bytes = n_vdevs * n_metaslabs * metaslab_bytes, asize_of(vdev, REDO_BYTES)
    own = orders.n_records * asize_of(vdev, orders.record_bytes) + orders.n_redo_records * other_bytes
    n_other = max(0, int((values["pool_fill"] * space - own) / other_bytes))
    disk = appliance.one_disk(values, EXPERIMENT, vdev, n_metaslabs * metaslab_bytes)
    return Setup(
        orders=orders, disk=disk, queue=appliance.queue(values), scale=scale, metaslab_bytes=metaslab_bytes,
        n_metaslabs=n_metaslabs, n_other=n_other, pool_fill=(own + n_other * other_bytes) / space, age=values["age"],
        run_s=60 * values["run_minutes"] / scale, warm_s=warm_s, window_s=window_s)


def setup(*, n_users: int, record_kib: float, scale: int, window_s: float, warm_s: float = WARM_S, **changed: Any) -> Setup:
    """From a notebook's parameters; everything that is not `changed` is the best guess of the priors."""
    values = priors.read(EXPERIMENT).central()
    if unknown := set(changed) - set(values):
        raise UserError(f"{', '.join(sorted(unknown))} is no prior of {EXPERIMENT}; take one of {', '.join(values)}")
    return with_values(values | changed, n_users=n_users, record_kib=record_kib, scale=scale, warm_s=warm_s,
                       window_s=window_s)


SMALL = {"scale": 512, "group_scale": 128, "age": 0.5, "window_s": 2.0}   # for sliders, and to compare the engines
FROM_NOTEBOOK = ("n_users", "record_kib", "scale", "window_s", "n_disks", "pool_fill", "age")


def of_notebook(parameters: dict) -> Setup:
    """The machine of `04_oltp_gain` with these parameters. UserError if the database alone takes more of the pool."""
    machine = setup(**{name: parameters[name] for name in (*FROM_NOTEBOOK, "group_scale") if name in parameters})
    if machine.pool_fill > parameters["pool_fill"] + 0.001:
        raise UserError(f"pool_fill is {parameters['pool_fill']:g}, but the database alone takes {machine.pool_fill:.3f} of "
                        "this pool; choose at least that, or more disks")
    return machine._replace(exact=parameters["engine"] == "exact")


def record_asize(machine: Setup) -> int:
    """B that a record takes of a vdev."""
    return int(asize_of(machine.orders.vdev, machine.orders.record_bytes))


# --- a pool -------------------------------------------------------------------------------------------------------------

def measure(site: Site, machine: Setup) -> Window:
    """The window of a run: it ends with the run at the latest."""
    window_s = min(machine.window_s, machine.run_s - machine.warm_s)
    return window(site, int(machine.warm_s * SECOND_NS), int(window_s * SECOND_NS))


def aged(machine: Setup, rules: MetaslabParams, seed: int) -> Site:
    """A pool as it is before the first run: written, then rewritten `age` times, at the pace that it allows."""
    appliance.compiled(machine.exact)
    site = begin(machine.orders, appliance.drive(machine), machine.queue, appliance.space(machine, rules), seed,
                 machine.n_other)
    settled(site)
    parts = max(1, round(machine.age / PARTS_OF_AGE))
    for part in range(parts):
        n = int(machine.age * machine.orders.n_records / parts)
        rewrite(site, n, measure(site, machine), seed, f"rewritten before, {part}")
    return settled(site)


def settled(site: Site) -> Site:
    """After the start of users, or a leap in time."""
    settle(site, int(STEP_S * SECOND_NS), STEPS_TO_SETTLE)
    return site


def go_on(site: Site, machine: Setup, seen: Window, seed: int, name: str) -> None:
    """The rest of a run, after its window."""
    n = int(seen.tally["writes"] * SECOND_NS / seen.ns * machine.run_s) - seen.tally["writes"]
    rewrite(site, n, seen, seed, name)


def engines(machine: Setup, seed: int) -> pd.DataFrame:
    """For the run store: what the allocator's engine placed in a pool that is aged and measured once, old rules and new."""
    sites = [aged(machine, rules, seed) for rules in (old_rules(), new_rules())]
    for site in sites:
        measure(site, machine)
    n_aged = machine.orders.n_records + int(machine.age * machine.orders.n_records)
    return appliance.engine_metrics(sites, sum(n_aged + int(site.machine.tally[order_columns.WRITES]) for site in sites))


# --- runs ---------------------------------------------------------------------------------------------------------------

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
        return self.table[self.table.name == TPS].value.to_numpy()

    def first(self, n_runs: int) -> "Series":
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
    return _MADE.get(key, lambda: _made(*key, n_runs), lambda longest: len(longest.pool) >= n_runs).first(n_runs)


def _made(machine: Setup, rules: MetaslabParams, seed: int, n_runs: int) -> Series:
    site, rows, pool = aged(machine, rules, seed), [], []
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


Runs = Comparison[Setup, Series]


def run(machine: Setup, variant: str, n_runs: int, seed: int, rules: MetaslabParams | None = None) -> Series:
    """A series under the old rules, or under the new ones (or `rules`)."""
    return series(machine, old_rules() if variant == BEFORE else rules or new_rules(), n_runs, seed)


def compare(machine: Setup, n_runs: int, seed: int, rules: MetaslabParams | None = None) -> Runs:
    """Old rules, and new ones (or `rules`), under one seed, so that users do the same."""
    calls = [(machine, variant, n_runs, seed, rules) for variant in VARIANTS]
    return Comparison(machine, *on_all_processors(run, calls))


def cv(tps: np.ndarray) -> float:
    """Variability: the standard deviation over the mean."""
    return float(tps.std(ddof=1) / tps.mean())


def gain(before: np.ndarray, after: np.ndarray) -> float:
    return 100 * (after.mean() / before.mean() - 1)


def reduction(before: np.ndarray, after: np.ndarray) -> float:
    return 100 * (1 - cv(after) / cv(before))


# --- what comes out -----------------------------------------------------------------------------------------------------

def quantities(x: Series, machine: Setup) -> dict[str, float]:
    """Mean throughput (1/s), and its variability from run to run (1). Nothing is asked of `machine`."""
    return {TPS: x.tps.mean(), CV: cv(x.tps)}


def table(runs: Runs) -> pd.DataFrame:
    """Means over runs, and standard deviations in per cent of them, of all that was looked at."""
    columns: dict[str, pd.Series] = {}
    for variant, x in runs.items():
        wide = x.table.pivot(index="run", columns="name", values="value")
        columns |= {variant: wide.mean(), f"sd % {variant}": 100 * wide.std() / wide.mean()}
    shown = pd.DataFrame(columns)
    shown.insert(0, "unit", runs.before.table.drop_duplicates("name").set_index("name").unit)
    return shown


def metrics(runs: Runs) -> pd.DataFrame:
    """For the run store: means, variability, blocks in a write, of both series."""
    rows = [("series.gain", gain(runs.before.tps, runs.after.tps), "%"),
            ("series.reduction", reduction(runs.before.tps, runs.after.tps), "%")]
    for variant, x in runs.items():
        blocks = x.pool.blocks_per_write
        rows += [(f"{variant}.tps", x.tps.mean(), "1/s"), (f"{variant}.deviation", 100 * cv(x.tps), "%"),
                 (f"{variant}.blocks", blocks.mean(), "blocks"), (f"{variant}.blocks-least", blocks.min(), "blocks"),
                 (f"{variant}.blocks-most", blocks.max(), "blocks")]
    return pd.DataFrame(rows, columns=["name", "value", "unit"])


# --- the ensemble -------------------------------------------------------------------------------------------------------

LABELS = {
    ("n_heads", 8): "disks of four platters", ("layout", "stripe"): "disks by themselves",
    ("layout", "raidz1"): "single-parity RAID-Z", ("layout", "raidz2"): "double-parity RAID-Z",
    ("max_pending", 10): "10 I/Os on a disk", ("has_slog", 0): "no log device", ("slim_log", 1): "slim log",
    ("keeps_indirect", 0): "indirect blocks not all in memory", ("new_picker", "new dynamic fit"): "new dynamic fit",
    ("new_bonus", "as described"): "bonus of 1.5"}
GROUPS = {("group_scale", 16): "groups to 1:16"}
OF_SCALE = GROUPS | {("finer", 2): "pool and groups twice as large"}
EFFECT, REDUCTION = (Effect(of, kind, LABELS | OF_SCALE) for of, kind in ((TPS, "gain"), (CV, "loss")))


def of_case(case: dict, fixed: dict, n_runs: int, cycle_runs: int = 0) -> list[dict]:
    """What is added to a case: one row of old rules and new. A cycle is looked for in `cycle_runs` of the old rules, if
    these are more."""
    values = {name: case[name] for name in case if name not in ("part", "seed")}
    machine = with_values(values, **fixed)
    more = {} if machine.n_other else {"pool_fill": machine.pool_fill}     # the database alone takes more than was asked for
    rules = new_rules(values["new_picker"], values["new_bonus"])
    long = run(machine, BEFORE, max(n_runs, cycle_runs), case["seed"])
    runs = {BEFORE: long.first(n_runs), AFTER: run(machine, AFTER, n_runs, case["seed"], rules)}
    old, new = (x.tps for x in runs.values())
    seen = {variant: quantities(x, machine) for variant, x in runs.items()}
    changed = {"throughput.gain": gain(old, new), "variability.reduction": reduction(old, new)}
    changed |= correlation.of_series(runs[BEFORE].table, TPS, "appliance.io_size")
    changed |= {"oltp.gain": changed["throughput.gain"], "oltp.variability_reduction": changed["variability.reduction"],
                "cycle.skewness": skewness(long.tps)}
    return [more | {"fitted": False, "reached": True} | {
        f"{variant}/{name}": seen[variant][name] for name in (TPS, CV) for variant in VARIANTS} | {
        f"{AFTER}/{name}": value for name, value in changed.items()}]


def predict(draws: int, seeds: int, seed: int, n_runs: int, cycle_runs: int = 0, **fixed: Any) -> pd.DataFrame:
    """The ensemble over all that is not known, in the columns of `study.ensembles.ensembles.run`. Nothing is fitted: no
    throughput was published. `cycle_runs`: see `of_case`; `fixed`: users, record and scale, warm-up and window."""
    known = priors.read(EXPERIMENT)
    cases = ensembles.cases(known, draws, seeds, seed, ensembles.NUMBERS).to_dict("records")
    ensemble = kept.Ensemble("order-entry", __name__, ensembles.parts_of(known))
    rows = kept.rows(ensemble, of_case, [(case, fixed, n_runs, cycle_runs) for case in cases])
    return pd.DataFrame([case | row for case, (row,) in zip(cases, rows, strict=True)])


def not_modelled(quantity: str) -> str:
    """Why a quantity is not among those of the ensemble."""
    return f"runs of the order entry do not have {quantity}"


def verdict(scores: pd.DataFrame, claim: str) -> str:
    """One row of `claim_predictions.scores` in a sentence."""
    score = scores.set_index("claim").loc[claim]
    if claim == CYCLE:
        return (f"{score['grade']}: slow falls and sudden returns have a skewness of {score['published']:.2f} or more, "
                f"simulated {score['unfitted 5 %']:.2f} to {score['unfitted 95 %']:.2f}")
    return (f"{score['grade']}: published up to {score['published']:.0f} %, simulated {score['unfitted 5 %']:.0f} to "
            f"{score['unfitted 95 %']:.0f} %")
