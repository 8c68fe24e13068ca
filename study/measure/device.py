"""A device by what fio measured of it, and by nothing else: the fields of `model.devices.ssd.SsdParams`.

Jobs are known by their options, not by their names (`data/measured/device.fio` has all of them):

    read-one, write-one         randread or randwrite of 4 KiB, one at a time
    read-many, write-many       the same, MANY or more at a time
    flush                       randwrite, one at a time, with fdatasync=1
    read-sequence, write-sequence   read or write of 64 KiB or more

A number is the median of all outputs that are given, its range from the least to the most of them. One output has no range.
"""
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from study.documents.priors import Known, Prior
from study.errors import UserError
from study.measure.sets import Measured
from study.sizes import size_of

MANY, SMALL, LARGE = 8, 4096, 65536
SECOND_NS = 1e9
WRITES, READS = ("randwrite", "write"), ("randread", "read")
# The sheet whose form is taken: no write cache that a flush has to empty. None of its numbers is.
FORM = "cloud-gp3"


class Job(NamedTuple):
    name: str
    rw: str
    block: int
    depth: int
    syncs: bool


def jobs(params: dict[str, Any]) -> list[Job]:
    """Of the options that fio's JSON repeats; those of all jobs stand under `global`."""
    options: dict[str, dict[str, str]] = {}
    for name, value in params.items():
        job, _, option = name.partition(".")
        options.setdefault(job, {})[option] = str(value)
    shared = options.pop("global", {})
    made = []
    for name, own in options.items():
        told = shared | own
        if "rw" in told or "readwrite" in told:
            block = size_of(told.get("bs", told.get("blocksize", "4k")).split(",")[0], f"block of fio's job {name}")
            made.append(Job(name, told.get("rw", told.get("readwrite", "")), block, int(told.get("iodepth", 1)) * int(
                told.get("numjobs", 1)), told.get("fdatasync", told.get("fsync", "0")) == "1"))
    return made


class Number(NamedTuple):
    low: float
    middle: float
    high: float
    source: str


_NEEDED: dict[str, Callable[[Job], bool]] = {
    "read-one": lambda job: job.rw == "randread" and job.block == SMALL and job.depth == 1,
    "read-many": lambda job: job.rw == "randread" and job.block == SMALL and job.depth >= MANY,
    "write-one": lambda job: job.rw == "randwrite" and job.block == SMALL and job.depth == 1 and not job.syncs,
    "write-many": lambda job: job.rw == "randwrite" and job.block == SMALL and job.depth >= MANY and not job.syncs,
    "flush": lambda job: job.rw == "randwrite" and job.depth == 1 and job.syncs,
    "read-sequence": lambda job: job.rw == "read" and job.block >= LARGE,
    "write-sequence": lambda job: job.rw == "write" and job.block >= LARGE}


def numbers(of: Measured) -> dict[str, Number]:
    """Of each field, in the model's units: ns, B/s, 1/s. Raises UserError, naming all jobs that are missing."""
    if not of.fio:
        raise UserError(f"{of.name} has no output of fio, so its device is not known; measure it by "
                        "data/measured/device.fio and give the JSON by --fio")
    each = [_of_output(params, totals) for params, totals in of.fio]
    missing = [kind for kind in _NEEDED if not all(kind in found for found in each)]
    if missing:
        raise UserError(f"fio's output has no job like {', '.join(missing)}; data/measured/device.fio has all that "
                        "are needed")
    fields: dict[str, tuple[str, Callable[[dict[str, _Told]], float]]] = {
        "read_ns": ("response of read-one", lambda told: told["read-one"].response_ns),
        "write_ns": ("response of write-one", lambda told: told["write-one"].response_ns),
        "read_iops": ("rate of read-many", lambda told: told["read-many"].iops),
        "write_iops": ("rate of write-many", lambda told: told["write-many"].iops),
        "read_rate": ("bandwidth of read-sequence", lambda told: told["read-sequence"].bandwidth),
        "write_rate": ("bandwidth of write-sequence", lambda told: told["write-sequence"].bandwidth),
        "bus_rate": ("the larger bandwidth", lambda told: max(told["read-sequence"].bandwidth,
                                                              told["write-sequence"].bandwidth)),
        "flush_ns": ("time between writes of flush, less its write", lambda told: max(
            0.0, SECOND_NS / told["flush"].iops - told["flush"].response_ns)),
        "channels": ("depth of read-many", lambda told: told["read-many"].depth),
        "depth": ("depth of read-many", lambda told: told["read-many"].depth)}
    made = {}
    for field, (source, value) in fields.items():
        values = [value(told) for told in each]
        made[field] = Number(min(values), float(np.median(values)), max(values), source)
    return made


class _Told(NamedTuple):
    response_ns: float
    iops: float
    bandwidth: float
    depth: float


def _of_output(params: dict[str, Any], totals: dict[str, float]) -> dict[str, _Told]:
    found = {}
    for job in jobs(params):
        kind = next((kind for kind, fits in _NEEDED.items() if fits(job)), None)
        stem = f"fio.{job.name}.{'write' if job.rw in WRITES else 'read'}"
        if kind is not None and f"{stem}.iops" in totals:
            found[kind] = _Told(totals.get(f"{stem}.response.mean", 0.0) * 1e6, totals[f"{stem}.iops"],
                                totals[f"{stem}.bandwidth"], float(job.depth))
    return found


def known_with(known: Known, fitted: dict[str, Number]) -> Known:
    """What is not known of a scenario, with the device's numbers in place of those of the sheet."""
    others = tuple(prior for prior in known.priors if not prior.name.startswith(f"{FORM}."))
    own = tuple(Prior(name=f"{FORM}.{field}", of="device", experiments=(), source=f"fio: {number.source}", low=number.low,
                      central=number.middle, high=number.high, unit="", shape="uniform", condition=None)
                for field, number in fitted.items())
    return Known((*others, *own), known.switches)
