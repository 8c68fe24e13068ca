"""A LUN of an appliance, and requests to it: to a partition that begins at a border of its blocks, or some sectors behind.

    machine = appliance_lun.with_values(20.0, values, block_kib=8)      values of priors and switches, by their names
    appliance_lun.run(machine, True, seed)      misaligned; one run of `model.simulations.block_requests`
    appliance_lun.quantities(result, machine)

The LUN is a zvol of the simulation that all databases of the study run on; a scenario describes it
(`study.machines.simulate`). Its database is a stand-in: no database runs, and its 32 MB of buffers are all that is left
of it. What is simulated is a slice: four disks, their share of the LUN cut to `LUN_GIB`, spread as far as the whole would
be.
"""
from typing import Any, NamedTuple

import numpy as np

from model.events.clock import MS, SECOND_NS
from model.events.streams import stream
from model.filesystems.calls import READ, WRITE, WRITE_THROUGH
from model.simulations import block_requests
from model.simulations import request_columns as request
from model.simulations.block_requests import Result
from model.zfs.dmu import straddling
from study.machines import scenario
from study.machines import simulate as machines
from study.machines.scenario import Scenario

ERA = "b141"                    # of the appliance's software 2010.Q1: model/zfs/eras.py
N_DISKS, LUN_GIB = 4, 4
WARM_S = 10.0                   # what comes before does not count, or a quarter of a run that is shorter
N_REQUESTS, MORE = 150_000, 4   # of a run that takes no more, and how many times as many where it does
LOG_SHEET = "sas-ssd-slc-200"   # no device whose figures come from a document of the study
KIB, GIB = 2**10, 2**30
DATABASE, BACKUP = "database", "backup"
SMALLEST_ARC_MIB = 64


class Setup(NamedTuple):
    """A LUN or file, and the requests to it. Sizes in bytes."""
    block_bytes: int
    request_bytes: int
    start_bytes: int            # of the partition, misaligned
    load: str                   # DATABASE: at random; BACKUP: writes behind each other
    synchronous: bool
    read_share: float           # of a database's requests
    cached: float               # share of the LUN that the ARC has room for
    in_flight: int              # requests under way for each disk
    log_device: bool
    disk: str                   # a sheet of data/hardware
    layout: str
    lun_gib: float              # that the four disks hold
    on_zvol: bool               # False: a file of a share
    seconds: float
    values: tuple[tuple[str, Any], ...]     # of priors and sheets, sorted


def with_values(seconds: float, values: dict, block_kib: float = 8, on_zvol: bool = True) -> Setup:
    """The machine with these values of priors and switches."""
    machine = Setup(
        block_bytes=round(block_kib * KIB), request_bytes=int(values["request_kib"] * KIB),
        start_bytes=int(values["start_sectors"]) * straddling.SECTOR_BYTES, load=values["load"],
        synchronous=bool(values["synchronous"]), read_share=float(values["read_share"]), cached=float(values["cached"]),
        in_flight=round(values["in_flight"]), log_device=bool(values["log_device"]), disk=values["disk"],
        layout=values["layout"], lun_gib=float(values["lun_gib"]), on_zvol=on_zvol, seconds=seconds,
        values=tuple(sorted(values.items())))
    straddling.check_block(machine.block_bytes)
    straddling.check_request(machine.start_bytes, machine.request_bytes)
    return machine


def described(disk: str, layout: str, log_device: bool, block_bytes: int, on_zvol: bool, cached: float,
              lun_gib: float) -> Scenario:
    """The appliance, as files of data/scenarios have it."""
    sizes = {"kind": "zvol", "volblocksize_kib": block_bytes / KIB} if on_zvol else {
        "kind": "zfs", "record_kib": block_bytes // KIB}
    width = {"width": 2} if layout == "mirror" else {}
    pool: dict[str, Any] = {"data": {"sheet": disk, "count": N_DISKS, "layout": layout, **width}}
    if log_device:
        pool["log"] = {"sheet": LOG_SHEET, "count": 1}
    return scenario.of({
        "title": "an appliance of 2010", "host": {"cpus": 16, "memory_gib": 16, "system": "solaris"}, "pool": pool,
        "files": sizes | {"era": ERA, "warm": True, "to_scale": max(1.0, lun_gib / LUN_GIB),
                          "arc_max_mib": max(SMALLEST_ARC_MIB, cached * LUN_GIB * KIB)},
        "database": {"kind": "postgres", "conf": {"shared_buffers": "32MB"}}})


def requests(machine: Setup, is_misaligned: bool, seed: int, n: int = N_REQUESTS) -> np.ndarray:
    """int64 [request, (OPERATION, OFFSET, N_BYTES)]. Both partitions have the same requests, shifted. The first of more are
    those of fewer."""
    start = machine.start_bytes if is_misaligned else 0
    n_places = (LUN_GIB * GIB - machine.start_bytes) // machine.request_bytes
    where, kinds = (stream(seed, name).random(n) for name in ("places of requests", "kinds of requests"))
    table = np.empty((n, 3), np.int64)
    is_backup = machine.load == BACKUP
    place = np.arange(n) % n_places if is_backup else (where * n_places).astype(np.int64)
    reads = np.zeros(n, bool) if is_backup else kinds < machine.read_share
    table[:, request.OPERATION] = np.where(reads, READ, WRITE_THROUGH if machine.synchronous else WRITE)
    table[:, request.OFFSET] = start + place * machine.request_bytes
    table[:, request.N_BYTES] = machine.request_bytes
    return table


def run(machine: Setup, is_misaligned: bool, seed: int) -> Result:
    """One run, misaligned or not. It lasts as long as it should: where the requests do not, it is run with more."""
    n = N_REQUESTS
    while len((x := _run(machine, is_misaligned, seed, n)).table) == n:
        n *= MORE
    return x


def _run(machine: Setup, is_misaligned: bool, seed: int, n_requests: int) -> Result:
    appliance = described(machine.disk, machine.layout, machine.log_device, machine.block_bytes, machine.on_zvol,
                          machine.cached, machine.lun_gib)
    n_clients = machine.in_flight * N_DISKS
    files = block_requests.files_of(LUN_GIB * GIB, machine.block_bytes)
    store = machines.store(appliance, dict(machine.values), files, n_clients, seed).zfs
    assert store is not None
    clients = block_requests.Settings(n_clients, round(machine.seconds * SECOND_NS), appliance.host.cpus)
    return block_requests.simulate(requests(machine, is_misaligned, seed, n_requests), clients, store, LUN_GIB * GIB)


# --- what comes out -------------------------------------------------------------------------------------------------------

UNITS = {"requests.rate": "1/s", "requests.response": "ms", "requests.p99": "ms", "reads.response": "ms",
         "writes.response": "ms", "pool.reads": "1", "pool.reads_first": "1", "disk.reads": "1", "disk.writes": "1"}


def quantities(x: Result, machine: Setup) -> dict[str, float]:
    """Rate and response times after the warm-up. Then, for each request of the whole run, blocks read from the pool, those
    read first for a write, and I/Os of the disks."""
    since = min(WARM_S, x.seconds / 4) * SECOND_NS
    table = x.table[x.table[:, request.ENDED] >= since]
    response = (table[:, request.ENDED] - table[:, request.BEGAN]) / MS
    is_read, n = table[:, request.OPERATION] == READ, max(1, len(x.table))
    return {"requests.rate": len(table) / (x.seconds - since / SECOND_NS), "requests.response": _mean(response),
            "requests.p99": float(np.quantile(response, 0.99)) if len(response) else np.nan,
            "reads.response": _mean(response[is_read]), "writes.response": _mean(response[~is_read]),
            "pool.reads": x.counts["data_reads"] / n, "pool.reads_first": x.counts["read_first"] / n,
            "disk.reads": int(x.devices[0, 0]) / n, "disk.writes": int(x.devices[0, 2]) / n}


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else np.nan
