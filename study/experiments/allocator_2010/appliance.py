"""What order entry and Exchange have in common: the disks and the pool of a Sun Storage 7000 of 2009 and 2010.

    disk = appliance_2010.disk(SheetParams(**drawn))     with the rates that follow from the one that is drawn
    vdevs = appliance_2010.vdevs("raidz2", 22)           top-level vdevs of that many disks
    rules = appliance_2010.scaled_rules(rules, 128)      on metaslabs that are so many times smaller than theirs

Nothing of this was published for the tests; what is drawn stands in `data/priors.toml`.
"""
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple, Protocol
from zlib import crc32

import numpy as np
import pandas as pd

from model.devices.command_queue import Drive
from model.devices.data_sheet import SheetParams, new_drive
from model.simulations.order_entry.series import Site, begin, window
from model.simulations.order_entry.state import Orders, leaves_of, new_machine
from model.zfs.eras import era
from model.zfs.metaslab.new_pool import metaslab_shift, new_pool, vdev_asize
from model.zfs.metaslab.state import EXACT, FAST, MetaslabParams, Metaslabs, TopVdev
from model.zfs.txg.throttle import max_limit_bytes, to_scale
from model.zfs.vdev.places import BACK_BYTES, FRONT_BYTES
from model.zfs.vdev.queue import VdevQueueParams
from model.zfs.vdev.raid import VdevParams, vdev_params
from model.zfs.zil.log import ZilParams
from study import project
from study.documents import priors
from study.ensembles import ensembles
from study.errors import UserError
from study.experiments.allocator_2010.rules import OLD

HOT_SHARE = 0.2     # "the hottest fifth" of the priors
SUSTAINED, INSTANT, INNERMOST = 64.8, 76.3, 36.5    # MB/s of the maker's 500 GB drive (data sheet, p. 31): the proportions
TERABYTE = SheetParams(
    disk_bytes=10**12,              # J4400: 24 disks of 1 TB
    buffer_bytes=32 * 2**20,        # Hitachi 7K1000, Seagate ES.2 (Computerworld, 2007)
    bus_rate=300_000_000,           # SATA, 3 Gbit/s, behind a SAS expander
    depth=32,                       # SATA NCQ
)


class Vdevs(NamedTuple):
    """Top-level vdevs, all alike."""
    n: int
    n_children: int
    n_parity: int       # 0: a mirror, or a single disk if it has one child


LAYOUTS = {             # children, parity; widths of RAID-Z as near to these as the disks allow
    "stripe": (1, 0), "mirror": (2, 0), "raidz1": (4, 1), "raidz2": (11, 2),
}


def kernel_of(values: dict, scale: int) -> dict:
    """Fields of Orders that the appliance's software decides. On a machine to a scale times of transaction groups, and so
    limits, are smaller as well, by `scale`. It should be that of the pool. Then a group has as large a share of a metaslab
    as it had, and as many indirect blocks for each record. But it has too few blocks, then, for what one writer has under
    way, and for the I/Os of several vdevs. So it is less, a quarter or so: see `group_scale` in `data/priors.toml`."""
    txg = era(OLD).txg
    return {"zil": ZilParams(slim=int(values["slim_log"])),
            "sync_block_ns": round(values["sync_block_ns"]), "load_block_ns": round(values["load_block_ns"]),
            "flush_ns": round(values["flush_ns"]), "wire_ns": round(values["wire_ns"]),
            "misses_indirect": 0.0 if values["keeps_indirect"] else float(values["indirect_misses"]),
            "txg": to_scale(txg, scale), "max_limit": max_limit_bytes(int(values["memory_gib"] * 2**30), txg) // scale}


def disk(drawn: SheetParams) -> SheetParams:
    """`drawn` with the rates that follow from its sustained rate at the rim, and a window within its depth."""
    outer = round(drawn.outer_sustained * INSTANT / SUSTAINED)
    return drawn._replace(outer_rate=outer, inner_rate=round(outer * INNERMOST / INSTANT),
                          window=min(drawn.window, drawn.depth))


def one_disk(values: dict, experiment: str, vdev: VdevParams, vdev_bytes: int) -> SheetParams:
    """A disk of a vdev of so many B, with what is drawn of it."""
    drawn = disk(ensembles.apply(priors.read(experiment), values, {"disk": TERABYTE})["disk"])
    on_disk = vdev_bytes // (vdev.n_children if vdev.n_parity else 1)
    return drawn._replace(disk_bytes=on_disk + FRONT_BYTES + BACK_BYTES + 2**20)


def queue(values: dict) -> VdevQueueParams:
    """The vdev queue, under old rules and new."""
    return era(OLD).queue._replace(max_pending=int(values["max_pending"]))


class Setup(Protocol):
    """A machine of either experiment: what of it is used here."""
    @property
    def orders(self) -> Orders: ...
    @property
    def disk(self) -> SheetParams: ...
    @property
    def queue(self) -> VdevQueueParams: ...
    @property
    def scale(self) -> int: ...
    @property
    def metaslab_bytes(self) -> int: ...
    @property
    def n_metaslabs(self) -> int: ...
    @property
    def exact(self) -> bool: ...
    @property
    def service_ns(self) -> int: ...


def drive(machine: Setup) -> Drive:
    """The drive of a set-up, of fixed service time if that is given."""
    return _drive(machine.disk, machine.service_ns)


@lru_cache(maxsize=2)
def compiled(exact: bool) -> None:
    """Have the simulation compiled, on next to nothing: by one process at a time, so that a second one finds it done."""
    orders = Orders(n_users=1, n_records=2**10, n_vdevs=1)
    sheet = TERABYTE._replace(disk_bytes=2**28 + FRONT_BYTES + BACK_BYTES + 2**20)
    pool = new_pool([TopVdev(asize=2**28)], era(OLD).metaslab, EXACT if exact else FAST, 4096, 2**21, 2**12)
    with project.exclusively(project.CACHE / "order_entry.lock"):
        window(begin(orders, new_drive(sheet), era(OLD).queue, pool, 1), 0, 10**6)


@lru_cache(maxsize=4)
def _drive(sheet: SheetParams, service_ns: int) -> Drive:
    return new_drive(sheet, [service_ns] if service_ns else ())


def space(machine: Setup, rules: MetaslabParams) -> Metaslabs:
    """Free space, by the fast engine of the allocator; `machine.exact` asks for the other one. RAID-Z takes sectors in
    multiples of one more than its parity (spec of `model.zfs.vdev.raid`, rule 4)."""
    orders = machine.orders
    top_vdevs = [TopVdev(orders.vdev, asize=machine.n_metaslabs * machine.metaslab_bytes)] * orders.n_vdevs
    unit = 512 * (orders.vdev.n_parity + 1) if orders.vdev.n_parity or orders.record_bytes % 4096 else 4096
    engine, segments = (EXACT, 2**21) if machine.exact else (FAST, max(2**19, 2**26 // machine.scale))
    return new_pool(top_vdevs, scaled_rules(rules, machine.scale), engine, unit, machine.metaslab_bytes, segments)


def _arrays(state: tuple) -> Iterator[np.ndarray]:
    """All arrays in NamedTuples in NamedTuples."""
    for value in state:
        if isinstance(value, np.ndarray):
            yield value
        elif isinstance(value, tuple):
            yield from _arrays(value)


def copied(site: Site, machine: Setup, rules: MetaslabParams, seed: int) -> Site:
    """A pool once more, to go on with in two ways: a new one, made as `site` was, with what stands in its arrays. (Some
    arrays are columns of the same rows, so that copies of them would not do.)"""
    copy = Site(new_machine(machine.orders, seed), leaves_of(machine.orders, drive(machine), machine.queue, seed),
                space(machine, rules), np.zeros(1, np.int64))
    for array, kept in zip(_arrays(copy), _arrays(site), strict=True):
        if array is not kept:     # what all have in common is only read
            array[...] = kept
    return copy


def engine_metrics(sites: list, n_placed: int) -> pd.DataFrame:
    """For the run store: records placed in these pools. Then the share of them that the fast engine placed by an unambiguous
    choice (0 if it did not run). There the exact rule depends on nothing but the free space. Last is a number made of where
    everything lies, which is the same under both engines."""
    is_fast = all(site.space.blocks is not None for site in sites)
    n_fast = n_placed - sum(int(site.space.blocks.free.n_ambiguous.sum()) for site in sites) if is_fast else 0
    places = crc32(b"".join(array.tobytes() for site in sites for array in (
        site.machine.record_at, site.machine.indirect_at, site.machine.redo_at)))
    return pd.DataFrame([("engines.placed", n_placed, "records"), ("engines.fast-share", 100 * n_fast / n_placed, "%"),
                         ("engines.places", places, "1")], columns=["name", "value", "unit"])


def vdevs(layout: str, n_disks: int) -> Vdevs:
    """As many vdevs of `layout` as `n_disks` give; disks that are left over are spares."""
    if layout not in LAYOUTS:
        raise UserError(f"layout is '{layout}', but pools are known as {', '.join(LAYOUTS)}; take one of these")
    n_disks, (width, n_parity) = int(n_disks), LAYOUTS[layout]
    min_disks = width if n_parity == 0 else n_parity + 2
    if n_disks < min_disks:
        raise UserError(f"{n_disks} disks make no vdev ({layout}); take {min_disks} at least")
    width = min(width, n_disks)
    return Vdevs(n_disks // width, width, n_parity)


def vdev_of(raid: Vdevs) -> VdevParams:
    """One of them."""
    kind = f"raidz{raid.n_parity}" if raid.n_parity else "mirror" if raid.n_children > 1 else "single"
    return vdev_params(kind, raid.n_children)


def whole_pool(layout: str, n_disks: int) -> tuple[int, VdevParams, int, int]:
    """Of disks of a terabyte: vdevs, one of them, B of a metaslab, metaslabs of a vdev. Raises as `vdevs`."""
    raid = vdevs(layout, n_disks)
    vdev = vdev_of(raid)
    asize = vdev_asize(vdev, TERABYTE.disk_bytes)
    shift = metaslab_shift(asize)
    return raid.n, vdev, 1 << shift, asize >> shift


def scaled_rules(rules: MetaslabParams, scale: int) -> MetaslabParams:
    """Rules in which a length that is a share of a metaslab is divided by `scale`; what is as long as some blocks stays."""
    return rules._replace(picker=rules.picker._replace(sound_hole_bytes=max(1, rules.picker.sound_hole_bytes // scale)))
