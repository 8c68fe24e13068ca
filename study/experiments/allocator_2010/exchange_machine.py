"""The machine on which Exchange ran (`study.experiments.allocator_2010.exchange`): from parameters and priors to a slice."""
from typing import Any, NamedTuple

from model.devices.data_sheet import SheetParams
from model.simulations.order_entry.state import LATENCY, Orders
from model.zfs.metaslab.state import MetaslabParams
from model.zfs.vdev.queue import VdevQueueParams
from model.zfs.vdev.raid import VdevParams
from model.zfs.vdev.raid import asize as asize_of
from study.documents import priors
from study.errors import UserError
from study.experiments.allocator_2010 import appliance
from study.experiments.allocator_2010 import rules as order_entry_rules

EXPERIMENT = "exchange"
BLOCK = 8192                        # B; the LUN's, and the pages of Exchange 2007
METASLAB = 2**26                    # B; of the slice
SLICE = {"stripe": 4, "mirror": 2, "raidz1": 1, "raidz2": 1}    # top-level vdevs that are simulated: four disks at least
LOG_RECORDS = 2000                  # blocks that the transaction logs go round in
MIN_MAIL = 10**12                  # B in the whole machine, logs included; cache_hits of the priors is for 1 to 10 TB


class Setup(NamedTuple):
    """A slice of a machine, and its LUN."""
    orders: Orders
    disk: SheetParams
    queue: VdevQueueParams
    scale: int
    metaslab_bytes: int
    n_metaslabs: int            # of a vdev
    pool_fill: float            # share that is taken: what was asked for, or what MIN_MAIL takes
    age: float                  # turnovers
    since_update: float         # turnovers between a change of the software and the measurement
    rules: tuple[MetaslabParams, ...]   # old, new
    ages_under_old: bool
    seconds: float
    exact: bool = False         # the exact engine of the allocator instead of the fast one; both give the same
    service_ns: int = 0         # of every I/O of a disk; 0: as the disk takes


def setup(*, seconds: float, engine: str = "fast", metaslab_bytes: int = 0, **chosen: Any) -> Setup:
    """From a notebook's parameters, named as in the priors; everything else is the best guess, or the fill of
    MIN_MAIL if that is more. UserError or ValueError, one sentence, for a machine that cannot be."""
    values = priors.read(EXPERIMENT).central()
    if unknown := set(chosen) - set(values):
        raise UserError(f"{', '.join(sorted(unknown))} is no prior of {EXPERIMENT}; take one of {', '.join(values)}")
    machine = with_values(seconds, values | chosen, metaslab_bytes)
    if "pool_fill" in chosen and machine.pool_fill > chosen["pool_fill"]:
        raise UserError(f"pool_fill is {chosen['pool_fill']:g}, but the least mail, {MIN_MAIL / 1e12:g} TB, takes more of "
                        f"this pool; choose {machine.pool_fill + 0.0005:.3f} or more, or more disks")
    return machine._replace(exact=engine == "exact")


def with_values(seconds: float, values: dict, metaslab_bytes: int = 0) -> Setup:
    """The slice of a machine with these values of priors and switches; metaslabs of so many B, or those of METASLAB. A fill
    at which there were less than MIN_MAIL is the one at which there is as much."""
    if not 0 < values["pool_fill"] < 1:
        raise UserError(f"pool_fill is {values['pool_fill']:g}, but the share that is allocated is above 0 and below 1; "
                        "choose one that is")
    pool_fill = max(values["pool_fill"], min_fill(values))
    if pool_fill >= 1:
        raise UserError(f"{MIN_MAIL / 1e12:g} TB of mail does not go into {values['n_disks']:g} disks "
                        f"({values['layout']}); take more of them")
    all_vdevs, vdev, full_metaslab, n_metaslabs = appliance.whole_pool(values["layout"], values["n_disks"])
    n_vdevs, metaslab = min(all_vdevs, SLICE[values["layout"]]), metaslab_bytes or METASLAB
    scale, n_bytes = full_metaslab // metaslab, n_vdevs * n_metaslabs * metaslab
    orders = Orders(
        **_load(values, n_vdevs / all_vdevs), **_appliance(values, n_vdevs / all_vdevs),
        n_vdevs=n_vdevs, vdev=vdev, n_records=_n_records(pool_fill * n_bytes, vdev))
    disk = appliance.one_disk(values, EXPERIMENT, vdev, n_metaslabs * metaslab)
    return Setup(
        orders=orders, disk=disk, queue=appliance.queue(values), scale=scale, metaslab_bytes=metaslab,
        n_metaslabs=n_metaslabs, pool_fill=pool_fill, age=values["age"], since_update=values["since_update"],
        rules=(order_entry_rules.old_rules(), order_entry_rules.new_rules(values["new_picker"], values["new_bonus"])),
        ages_under_old=values["history"] == "old rules", seconds=seconds)


def min_fill(values: dict) -> float:
    """Share of the pool with these values that MIN_MAIL takes, transaction logs included."""
    n_vdevs, vdev, metaslab, n_metaslabs = appliance.whole_pool(values["layout"], values["n_disks"])
    return float(MIN_MAIL / BLOCK * _with_above(vdev) / (n_vdevs * n_metaslabs * metaslab))


def _with_above(vdev: VdevParams) -> float:
    """B that a block of the LUN takes of a vdev, with its share of the indirect blocks."""
    return asize_of(vdev, BLOCK) * (1 + 2 / 128)


def _n_records(n_bytes: float, vdev: VdevParams) -> int:
    """Blocks of the LUN that fill so much, with what lies above them and the transaction logs."""
    return max(2**12, int(n_bytes / _with_above(vdev)) - LOG_RECORDS)


def _load(values: dict, part: float) -> dict:
    """What threads read, change and log; see `data/priors.toml` for the names."""
    is_2007, aligned = values["version"] == 2007, values["aligned"]
    read_share = values["read_share" if is_2007 else "read_share_2003"]
    blocks = (1 if aligned else 2) if is_2007 else (1 if aligned else 1.5)      # that a page lies on
    pages = values["pages"]
    changed = pages * (1 - read_share) * blocks
    half = not (is_2007 and aligned)        # pages are no whole blocks: what is changed has to be read by the appliance
    n_users = max(1, round(values["threads"] * part))
    dirty = int(values["dirty_pages"] / values["group_scale"] * n_users + 4 * changed)
    return {
        "n_users": n_users, "cpu_ns": round(pages * values["page_cpu_ns"]), "n_cpus": 2**14,
        "reads": float(pages * read_share * blocks + half * changed), "dirtied": float(changed),
        "redo_bytes": round(pages * values["log_per_transfer"] * values["log_bytes"]),
        "hot_share": appliance.HOT_SHARE, "hot_hits": values["hot_accesses"],
        "neighbours": 1 - 1 / values["pages_per_write"], "cached": values["cache_hits"],
        "dirty_target": dirty // 2, "max_dirty": dirty, "n_writers": 1,
        "writes_per_batch": min(4096, max(1, round(values["writer_outstanding"] * part)))}


def _appliance(values: dict, part: float) -> dict:
    """A LUN with a write cache is one with a log device that takes no time."""
    cached = int(values["write_cache"])
    return {
        "logbias": LATENCY, "op_ns": round(values["op_ns"]), "has_slog": int(values["has_slog"]) or cached,
        "slog_ns": 0 if cached else round(values["slog_ns"]),
        "slog_rate": 10**12 if cached else round(values["slog_rate"] * part),
        "n_shares": 1,
        **appliance.kernel_of(values, int(values["group_scale"])),
        "record_bytes": BLOCK, "indirect_bytes": BLOCK, "redo_record_bytes": BLOCK, "n_redo_records": LOG_RECORDS}
