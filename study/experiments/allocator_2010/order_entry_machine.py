"""The machine of the order-entry test of 2010, to scale: users, database, appliance and pool, from parameters and priors."""
from typing import Any, NamedTuple

from model.devices.data_sheet import SheetParams
from model.events.streams import stream
from model.simulations.order_entry.state import REDO_BYTES, Orders
from model.zfs.dmu.indirect import FLETCHER4, REWRITTEN, block_pointers, psize
from model.zfs.vdev.queue import VdevQueueParams
from model.zfs.vdev.raid import asize as asize_of
from study.documents import priors
from study.errors import UserError
from study.experiments.allocator_2010 import appliance

EXPERIMENT = "order_entry"
DATABASE_BYTES = 350e9          # data and logs; the document
REDO_LOG_BYTES = 6 * 2**30      # of them, all redo logs together: three of 2 GiB, a usual size
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
    """A machine with values of the priors and switches, to `scale`, or to a finer one by what is drawn. Then windows are as
    long at full scale, and transaction groups are to a finer scale as well."""
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
