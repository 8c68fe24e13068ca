"""A LUN of an appliance of 2010, aligned with the blocks of its volume and not: the load of a database, or of a backup.

    machine = lun.setup(request_kib=8, block_kib=8, …)      what a notebook's parameters stand for
    lun.run(machine, "after", seed)                         one run of `model.simulations.block_requests`
    lun.compare(machine, seed)                              aligned and misaligned, the same requests
    lun.predict(machine, draws=20, seeds=3, seed=1)         the ensemble: see `study.ensembles.ensembles`

*Before* the partition begins at a border of the volume's blocks, *after* some sectors behind one. The LUN is a zvol of the
simulation that all databases of the study run on; a scenario describes it (`study.machines.simulate`). Its database is a
stand-in: no database runs, and its 32 MB of buffers are all that is left of it.

What is simulated is a slice: four disks, their share of the LUN cut to `LUN_GIB`, spread as far as the whole would be.
"""
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from model.events.clock import MS, SECOND_NS
from model.events.streams import stream
from model.filesystems.calls import READ, WRITE, WRITE_THROUGH
from model.simulations import block_requests
from model.simulations import request_columns as request
from model.simulations.block_requests import Result
from model.zfs.dmu import straddling
from study.documents.priors import Known
from study.ensembles import effects, ensembles, kept
from study.ensembles.effects import Effect
from study.ensembles.ensembles import AFTER, BEFORE, VARIANTS
from study.ensembles.processors import on_all_processors
from study.errors import UserError
from study.experiments.protocol import Comparison, case_of, table_of
from study.machines import scenario, simulate
from study.machines.scenario import Scenario

EXPERIMENT, CLAIM, NOTEBOOK = "alignment", "alignment-loss", "14_lun_alignment"
ERA = "b141"                    # of the appliance's software 2010.Q1: model/zfs/eras.py
N_DISKS, LUN_GIB = 4, 4
WARM_S = 10.0                   # what comes before does not count, or a quarter of a run that is shorter
N_REQUESTS, MORE = 150_000, 4   # of a run that takes no more, and how many times as many where it does
LOG_SHEET = "sas-ssd-slc-200"   # no device whose figures come from a document of the study
KIB, GIB = 2**10, 2**30
DATABASE, BACKUP = "database", "backup"
SMALLEST_ARC_MIB = 64
SLOWDOWN = "misaligned.slowdown_high"


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


Runs = Comparison[Setup, Result]


# --- from parameters to a machine -----------------------------------------------------------------------------------------

def known() -> Known:
    """Priors of the experiment and of every device that is drawn."""
    both = [_scenario(disk, "mirror", True, 8 * KIB, True, 0.2, 100.0) for disk in ("sata-7k2-1tb", "sas-15k-300")]
    return simulate.known(both, EXPERIMENT)


def setup(*, seconds: float, block_kib: int = 8, on_zvol: bool = True, **chosen: Any) -> Setup:
    """From a notebook's parameters, named as in the priors; everything else is the best guess. UserError, one sentence, for
    a name that is none, or a machine that cannot be."""
    central = known().central()
    if unknown := set(chosen) - set(central):
        raise UserError(f"{', '.join(sorted(unknown))} is no prior of {EXPERIMENT}; take one of {', '.join(central)}")
    return with_values(seconds, central | chosen, block_kib, on_zvol)


def with_values(seconds: float, values: dict, block_kib: int = 8, on_zvol: bool = True) -> Setup:
    """The machine with these values of priors and switches."""
    machine = Setup(
        block_bytes=block_kib * KIB, request_bytes=int(values["request_kib"] * KIB),
        start_bytes=int(values["start_sectors"]) * straddling.SECTOR_BYTES, load=values["load"],
        synchronous=bool(values["synchronous"]), read_share=float(values["read_share"]), cached=float(values["cached"]),
        in_flight=round(values["in_flight"]), log_device=bool(values["log_device"]), disk=values["disk"],
        layout=values["layout"], lun_gib=float(values["lun_gib"]), on_zvol=on_zvol, seconds=seconds,
        values=tuple(sorted(values.items())))
    straddling.check_block(machine.block_bytes)
    straddling.check_request(machine.start_bytes, machine.request_bytes)
    return machine


def _scenario(disk: str, layout: str, log_device: bool, block_bytes: int, on_zvol: bool, cached: float,
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


def requests(machine: Setup, variant: str, seed: int, n: int = N_REQUESTS) -> np.ndarray:
    """int64 [request, (OPERATION, OFFSET, N_BYTES)]. Both variants have the same requests, shifted. The first of more are
    those of fewer."""
    start = machine.start_bytes if variant == AFTER else 0
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


def run(machine: Setup, variant: str, seed: int) -> Result:
    """One run, aligned (*before*) or not. It lasts as long as it should: where the requests do not, it is run with more."""
    n = N_REQUESTS
    while len((x := _run(machine, variant, seed, n)).table) == n:
        n *= MORE
    return x


def _run(machine: Setup, variant: str, seed: int, n_requests: int) -> Result:
    appliance = _scenario(machine.disk, machine.layout, machine.log_device, machine.block_bytes, machine.on_zvol,
                          machine.cached, machine.lun_gib)
    n_clients = machine.in_flight * N_DISKS
    files = block_requests.files_of(LUN_GIB * GIB, machine.block_bytes)
    store = simulate.store(appliance, dict(machine.values), files, n_clients, seed).zfs
    assert store is not None
    clients = block_requests.Settings(n_clients, round(machine.seconds * SECOND_NS), appliance.host.cpus)
    return block_requests.simulate(requests(machine, variant, seed, n_requests), clients, store, LUN_GIB * GIB)


def compare(machine: Setup, seed: int) -> Runs:
    """Both under one seed: the same requests, at shifted places."""
    return Comparison(machine, *on_all_processors(run, [(machine, variant, seed) for variant in VARIANTS]))


# --- what comes out -------------------------------------------------------------------------------------------------------

UNITS = {"requests.rate": "1/s", "requests.response": "ms", "requests.p99": "ms", "reads.response": "ms",
         "writes.response": "ms", "pool.reads": "1", "pool.reads_first": "1", "disk.reads": "1", "disk.writes": "1"}


def quantities(x: Result, machine: Setup) -> dict[str, float]:
    """Rate and response times after the warm-up; then, for each request of the whole run, blocks read from the pool, those
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


def table(runs: Runs) -> pd.DataFrame:
    """The quantities of both runs, for readers."""
    return table_of(runs, quantities, UNITS.__getitem__)


def slowdown(runs: Runs) -> float:
    """How many times fewer requests are done misaligned."""
    before, after = (quantities(x, runs.machine)["requests.rate"] for _, x in runs.items())
    return before / after


def metrics(runs: Runs) -> pd.DataFrame:
    """The same for the run store: name, value, unit."""
    rows = [(f"{variant}.{name}", value, UNITS[name]) for variant, x in runs.items()
            for name, value in quantities(x, runs.machine).items() if not np.isnan(value)]
    return pd.DataFrame([*rows, ("slowdown", slowdown(runs), "1")], columns=["name", "value", "unit"])


# --- the ensemble ---------------------------------------------------------------------------------------------------------

def predict(machine: Setup, draws: int, seeds: int, seed: int) -> pd.DataFrame:
    """The ensemble over all that is not known. Nothing is fitted, because no level was published; the claim is about the
    slowdown, so that stands beside each case."""
    def values_of(of: Setup, values: dict) -> Setup:
        return with_values(of.seconds, values)

    unknown = known()
    of = machine.seconds, ensembles.parts_of(unknown)
    results = ensembles.run(ensembles.cases(unknown, draws, seeds, seed, ensembles.NUMBERS),
                            case_of(machine, seed, None, values_of, run, quantities),
                            ensemble=kept.Ensemble("lun-alignment", __name__, of, ("hardware/*.toml",)))
    rate = EFFECT.quantity
    return results.assign(**{f"{AFTER}/{SLOWDOWN}": results[f"{BEFORE}/{rate}"] / results[f"{AFTER}/{rate}"]})


def conditions(results: pd.DataFrame) -> pd.DataFrame:
    """The slowdown under each choice of each condition, others at their best guess: label, slowdown, is_central."""
    table = effects.conditions(results, known(), EFFECT)
    return table.assign(slowdown=1 / (1 - table.effect / 100))[["label", "slowdown", "is_central"]]


EFFECT = Effect("requests.rate", "loss", {
    **{("request_kib", kib): f"requests of {kib} KiB" for kib in (4, 8, 16, 64)},
    ("load", BACKUP): "a stream of writes", ("load", DATABASE): "a database",
    ("synchronous", 0): "writes do not wait", ("synchronous", 1): "synchronous writes",
    ("log_device", 0): "no log device", ("log_device", 1): "a log device",
    ("disk", "sas-15k-300"): "disks of 15 000 rpm", ("disk", "sata-7k2-1tb"): "disks of 7200 rpm",
    ("layout", "mirror"): "mirrors", ("layout", "stripe"): "a stripe", ("layout", "raidz1"): "RAID-Z1",
    ("layout", "raidz2"): "RAID-Z2",
    ("start_sectors", 34): "begins at sector 34", ("start_sectors", 63): "begins at sector 63"})


def not_modelled(quantity: str) -> str:
    """Why a quantity is not among what is predicted."""
    return f"the simulation of a LUN has no {quantity}"


def verdict(scores: pd.DataFrame) -> str:
    """The row of the claim in a sentence."""
    score = scores.set_index("claim").loc[CLAIM]
    return (f"{score['grade']}: published up to {score['published']:.0f} times slower, simulated "
            f"{score['unfitted 5 %']:.1f} to {score['unfitted 95 %']:.1f} times")
