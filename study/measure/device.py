"""A device by what fio measured of it, and by nothing else: the fields of `model.devices.ssd.SsdParams`.

Jobs are known by their options, not by their names (`data/measured/device.fio` has all of them):

    read-one, write-one         randread or randwrite of 4 KiB, one at a time
    read-many, write-many       the same, MANY or more at a time
    flush                       randwrite, one at a time, with fdatasync=1
    read-sequence, write-sequence   read or write of 64 KiB or more

All are direct and as fast as they can: what the page cache answers, or rate and thinktime hold back, is refused.

A number is the median of all outputs that are given, its range from the least to the most of them. One output has no range.
"""
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from study.documents import readable
from study.documents.priors import Known, Prior
from study.errors import UserError
from study.ingest import given_runs
from study.measure import sets
from study.measure.sets import Measured
from study.sizes import size_of

MANY, SMALL, LARGE = 8, 4096, 65536
MOST_DIGITS = 6
HELD_BACK = ("rate", "thinktime")   # options of a job that does not go as fast as it can begin so
SECOND_NS = 1e9
WRITES, READS = ("randwrite", "write"), ("randread", "read")
# The sheet whose form is taken: no write cache that a flush has to empty. None of its numbers is.
FORM = "cloud-gp3"


class Job(NamedTuple):
    """A job of fio as its output describes it."""
    name: str
    rw: str
    block: int
    depth: int
    syncs: bool
    options: dict[str, str]     # all options that hold for it


def jobs(params: dict[str, Any]) -> list[Job]:
    """Of the options that fio's JSON repeats; those of all jobs stand under `global`."""
    by_job: dict[str, dict[str, str]] = {}
    for name, value in params.items():
        job, _, option = name.partition(".")
        by_job.setdefault(job, {})[option] = str(value)
    shared = by_job.pop("global", {})
    made = []
    for name, own in by_job.items():
        options = shared | own
        if "rw" in options or "readwrite" in options:
            block = size_of(options.get("bs", options.get("blocksize", "4k")).split(",")[0], f"block of fio's job {name}")
            depth = _whole(name, options, "iodepth") * _whole(name, options, "numjobs")
            made.append(Job(name, options.get("rw", options.get("readwrite", "")), block, depth,
                            options.get("fdatasync", options.get("fsync", "0")) == "1", options))
    return made


def _whole(job: str, options: dict[str, str], option: str) -> int:
    text = options.get(option, "1")
    if not (text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS and int(text)):
        raise UserError(f"{option} of fio's job {job} is {text!r}; give a whole number from 1 to "
                        f"{10**MOST_DIGITS - 1}")
    return int(text)


class Number(NamedTuple):
    """A number from measurements: its middle and its range."""
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
    if unfit := list(dict.fromkeys(reason for params, totals in of.fio for reason in _unfit(params, totals))):
        raise UserError(f"fio's output does not tell the device: {'; '.join(unfit)}; run data/measured/device.fio as it is")
    each = [_of_output(params, totals) for params, totals in of.fio]
    missing = [kind for kind in _NEEDED if not all(kind in by_kind for by_kind in each)]
    if missing:
        raise UserError(f"fio's output has no job like {', '.join(missing)}; data/measured/device.fio has all that "
                        "are needed")
    fields: dict[str, tuple[str, Callable[[dict[str, _OfJob]], float]]] = {
        "read_ns": ("response of read-one", lambda by_kind: by_kind["read-one"].response_ns),
        "write_ns": ("response of write-one", lambda by_kind: by_kind["write-one"].response_ns),
        "read_iops": ("rate of read-many", lambda by_kind: by_kind["read-many"].iops),
        "write_iops": ("rate of write-many", lambda by_kind: by_kind["write-many"].iops),
        "read_rate": ("bandwidth of read-sequence", lambda by_kind: by_kind["read-sequence"].bandwidth),
        "write_rate": ("bandwidth of write-sequence", lambda by_kind: by_kind["write-sequence"].bandwidth),
        "bus_rate": ("the larger bandwidth", lambda by_kind: max(
            by_kind["read-sequence"].bandwidth, by_kind["write-sequence"].bandwidth)),
        "flush_ns": ("time between writes of flush, less its write", lambda by_kind: max(
            0.0, SECOND_NS / by_kind["flush"].iops - by_kind["flush"].response_ns)),
        "channels": ("depth of read-many", lambda by_kind: by_kind["read-many"].depth),
        "depth": ("depth of read-many", lambda by_kind: by_kind["read-many"].depth)}
    made = {}
    for field, (source, value) in fields.items():
        values = [value(by_kind) for by_kind in each]
        made[field] = Number(min(values), float(np.median(values)), max(values), source)
    return made


def table(of: Measured) -> pd.DataFrame:
    """For readers, in units that people use: field, low, middle, high, unit, fio's number. Empty without fio's output."""
    fitted = numbers(of) if of.fio else {}
    rows = [(field, number.low, number.middle, number.high, _unit_of(field), number.source)
            for field, number in fitted.items()]
    shown = pd.DataFrame(rows, columns=["field", "low", "middle", "high", "unit", "fio's number"])
    return readable.scaled(shown, ["middle", "low", "high"])


def _unit_of(field: str) -> str:
    return next((unit for ending, unit in readable.ENDINGS.items() if field.endswith(ending)), "1")


class _OfJob(NamedTuple):
    response_ns: float
    iops: float
    bandwidth: float
    depth: float


def _of_output(params: dict[str, Any], totals: dict[str, float]) -> dict[str, _OfJob]:
    by_kind = {}
    for kind, job in _needed(params, totals):
        stem = _stem(job)
        by_kind[kind] = _OfJob(totals.get(f"{stem}.response.mean", 0.0) * 1e6, totals[f"{stem}.iops"],
                            totals[f"{stem}.bandwidth"], float(job.depth))
    return by_kind


def _stem(job: Job) -> str:
    return f"fio.{job.name}.{'write' if job.rw in WRITES else 'read'}"


def _needed(params: dict[str, Any], totals: dict[str, float]) -> list[tuple[str, Job]]:
    """Jobs of a kind that is needed, if they have done something."""
    return [(kind, job) for job in jobs(params) for kind, fits in _NEEDED.items()
            if fits(job) and f"{_stem(job)}.iops" in totals]


def _unfit(params: dict[str, Any], totals: dict[str, float]) -> Iterator[str]:
    """Why jobs do not tell what the device can do, each as a clause."""
    needed = _needed(params, totals)
    cached = [job.name for _, job in needed if job.options.get("direct") != "1" and job.options.get("buffered") != "0"]
    if cached:
        yield f"direct=1 is lacking in {', '.join(cached)}, so the page cache answers"
    for _, job in needed:
        if held := [option for option in job.options if option.startswith(HELD_BACK)]:
            yield f"job {job.name} is held back by {', '.join(held)}"
        if f"{_stem(job).replace(job.name, f'{job.name}-2', 1)}.iops" in totals:
            yield (f"job {job.name} is there more than once, so its rate is of a part; give each its own name, and "
                   "numjobs only with group_reporting")
    for kind in _NEEDED:
        names = [job.name for other, job in needed if other == kind]
        if len(names) > 1:
            yield f"jobs {' and '.join(names)} are both {kind}"


def refuse_unfit(outputs: list[Path]) -> None:
    """UserError if one of these outputs of fio cannot be read, or does not tell all that is needed of the device."""
    for path in outputs:
        given_runs.given([path])
        if path.is_dir():
            raise UserError(f"--fio is {path}, a folder; name the JSON that fio wrote")
        try:
            numbers(sets.planned(path.name, [], [path]))
        except UserError as error:
            raise UserError(f"--fio is {path}: {error}") from None


def known_with(known: Known, fitted: dict[str, Number]) -> Known:
    """What is not known of a scenario, with the device's numbers in place of those of the sheet."""
    others = tuple(prior for prior in known.priors if not prior.name.startswith(f"{FORM}."))
    own = tuple(Prior(name=f"{FORM}.{field}", of="device", experiments=(), source=f"fio: {number.source}", low=number.low,
                      central=number.middle, high=number.high, unit="", shape="uniform", condition=None)
                for field, number in fitted.items())
    return Known((*others, *own), known.switches)
