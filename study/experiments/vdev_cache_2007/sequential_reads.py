"""The sequential test of 2007: four readers of four files on 46 disks, with the vdev cache and without it.

    machine = seqread_2007.setup(n_leaves=46, seconds=120.0, …)     what a notebook's parameters stand for
    seqread_2007.run(machine, "before", seed)                       one run of `model.simulations.sequential_reads.run`
    seqread_2007.compare(machine, seed)                             with the cache, and without
    seqread_2007.predict(machine, draws=8, seeds=3, seed=1)         the ensemble: see `study.ensembles.ensembles`

*Before* is the cache as it is by default, *after* is `zfs_vdev_cache_max = 1`, which switches it off; the build is the same.
Quantities are named as the published transcripts name them. There the files are written in the order 4, 3, 2, 1, so that
stream 4 reads the file that was laid out first.
"""
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from model.devices.data_sheet import SheetParams
from model.simulations.sequential_reads import watch_columns as watched
from model.simulations.sequential_reads.run import Result, simulate
from model.simulations.sequential_reads.state import (
    ACTIVITIES,
    COPYING,
    ISSUING,
    STALLED,
    WAITING,
    Readers,
    Recorder,
    Settings,
    Site,
    check_disks,
    check_settings,
    new_recorder,
    new_site,
    rules_of,
)
from model.zfs.vdev.cache import MISS, VdevCacheParams
from model.zfs.vdev.queue import VdevQueueParams
from study.documents import claims, priors
from study.ensembles import ensembles, kept
from study.ensembles.effects import Effect
from study.ensembles.ensembles import AFTER, BEFORE, VARIANTS
from study.experiments.protocol import Comparison, Drawn, case_of, table_of
from study.experiments.vdev_cache_2007.disks import OF_2007, first_byte
from study.experiments.vdev_cache_2007.timeline import Timeline
from study.grades import claim_predictions
from study.machines import hardware

EXPERIMENT = "seqread"
BUILD = "onnv_70"
PRINTED_RUNS = {BEFORE: "kustarz-2007/seqread-cache-on", AFTER: "kustarz-2007/seqread-cache-off"}
CACHE_OFF_BYTES = 1             # zfs_vdev_cache_max: larger reads bypass the cache
FITTED = "copy_ns"              # CPU time to copy a MiB to the reader: the one constant
FIT_RANGE_NS = (50e3, 20e6)
INDIRECT_POINTERS = 128         # in an indirect block of 16 KiB
KIB, MIB, GIB = 2**10, 2**20, 2**30
RECORDED_LEAF, RECORDED = 7, 200_000
LABELS_OF = {BEFORE: "vdev cache on", AFTER: "vdev cache off"}


class Setup(NamedTuple):
    """A machine and its readers. Of the build only what is given here is changed."""
    readers: Readers
    settings: Settings
    disk: SheetParams
    cache: VdevCacheParams      # but for the rule of who may fill, which is the build's
    queue: VdevQueueParams
    first_byte: int             # of each disk that the files may take


Runs = Comparison[Setup, Result]


# --- from parameters to a machine ---------------------------------------------------------------------------------------

def setup(*, n_streams: int, record_kib: int, file_gib: float, n_leaves: int, line_kib: int, cache_mib: int,
          max_pending: int, sorts: bool, segments: int, reads_ahead: bool, seconds: float, pool: str = "new",
          disk: str = OF_2007) -> Setup:
    """From a notebook's parameters; everything else is the best guess of the priors, or stands in the sheet of another disk.
    ValueError, one sentence, for a machine that cannot be.

    Drives take one command at a time, as in the document. With NCQ a drive serves first what it has read ahead. That is left
    out of `model.devices.command_queue`, so the model has nothing to say of sequential readers with NCQ.
    """
    machine = Setup(
        Readers(n_streams=n_streams, record_bytes=record_kib * KIB),
        Settings(n_leaves=n_leaves, duration_ns=int(seconds * 1e9)),
        SheetParams(depth=1, window=1, reads_ahead=int(reads_ahead)),
        VdevCacheParams(line_shift=(line_kib * KIB).bit_length() - 1, cache_bytes=cache_mib * MIB),
        VdevQueueParams(max_pending=max_pending, min_pending=min(max_pending, VdevQueueParams().min_pending)), 0)
    machine = with_values(machine, priors.read(EXPERIMENT).central() | {
        "file_gib": file_gib, "sorts": int(sorts), "segments": segments, "pool": pool})
    return machine if disk == OF_2007 else machine._replace(
        disk=hardware.other_disk(machine.disk, disk, ("depth", "window", "passes", "sorts", "segments", "reads_ahead")))


def with_values(machine: Setup, values: dict) -> Setup:
    """`machine` with values of the priors and switches."""
    parts = ensembles.apply(priors.read(EXPERIMENT), values, machine._asdict())
    parts["readers"] = parts["readers"]._replace(file_bytes=int(values["file_gib"] * GIB))
    parts["first_byte"] = first_byte(parts["disk"], values["pool"])
    return Setup(**parts)


_site = lru_cache(maxsize=3)(new_site)


def _start(machine: Setup) -> Site:
    """The files."""
    return _site(machine.readers, machine.settings.n_leaves, first_byte=machine.first_byte)


def check(draws: int = 0, seeds: int = 0, seed: int = 0, **values: Any) -> None:
    """ValueError, one sentence, for parameters of the notebook that are no machine, or whose files, or the largest that can
    be drawn, do not fit."""
    machine = setup(**values)
    check_settings(machine.settings, _start(machine))
    check_disks(rules_of(BUILD, machine.disk), _start(machine))
    if draws:
        known = priors.read(EXPERIMENT)
        largest = next(prior.high for prior in known.priors if prior.name == "file_gib")
        drawn = with_values(machine._replace(disk=SheetParams()),
                            known.central() | {"file_gib": largest, "pool": "half full"})
        try:
            check_disks(rules_of(BUILD, drawn.disk), _start(drawn))
        except ValueError as error:
            raise ValueError(f"of what is drawn, files of {largest:g} GiB on half-full disks: {error}") from None


def run(machine: Setup, variant: str, seed: int, recorder: Recorder | None = None) -> Result:
    """One run, with the cache (*before*) or without it."""
    rules = rules_of(BUILD, machine.disk)
    cache = machine.cache._replace(fill_rule=rules.cache.fill_rule)
    if variant == AFTER:
        cache = cache._replace(max_read_bytes=CACHE_OFF_BYTES)
    return simulate(_start(machine), rules._replace(cache=cache, queue=machine.queue), machine.settings, seed, recorder)


def compare(machine: Setup, seed: int) -> Runs:
    """Both under one seed; what the first reader and one disk did is recorded."""
    leaf = min(RECORDED_LEAF, machine.settings.n_leaves - 1)
    _start(machine)  # once, for both
    with ThreadPoolExecutor(len(VARIANTS)) as pool:
        return Comparison(machine, *pool.map(
            lambda variant: run(machine, variant, seed, new_recorder(0, leaf, RECORDED)), VARIANTS))


# --- what comes out -----------------------------------------------------------------------------------------------------

def quantities(x: Result, machine: Setup) -> dict[str, float]:
    """What the transcript prints and the model has: reads per second, MiB/s, times in ms, CPU time of a read in us. That of
    a stream is its thread's; that of the summary is of all processors, so that interrupts are in it."""
    n_streams, seconds = machine.readers.n_streams, machine.settings.duration_ns / 1e9
    cpu_ns = x.spent_ns[ACTIVITIES[COPYING]] + x.spent_ns[ACTIVITIES[ISSUING]]
    numbers = _of_reads("summary", x.response_ns, float(cpu_ns.sum()), machine, seconds)
    for thread in range(n_streams):
        of_thread = float(cpu_ns[thread] - x.interrupt_ns[thread])
        numbers |= _of_reads(f"seqread{n_streams - thread}", x.response_ns[x.stream == thread], of_thread, machine, seconds)
    return numbers


def _of_reads(name: str, response_ns: np.ndarray, cpu_ns: float, machine: Setup, seconds: float) -> dict[str, float]:
    rate = len(response_ns) / seconds
    return {f"{name}.rate": rate, f"{name}.bandwidth": rate * machine.readers.read_bytes / MIB,
            f"{name}.response": float(response_ns.mean()) / 1e6 if len(response_ns) else 1e3 * seconds,
            f"{name}.cpu": cpu_ns / 1e3 / max(1, len(response_ns))}


UNITS = {"rate": "1/s", "bandwidth": "MiB/s", "response": "ms", "cpu": "us"}


def unit_of(name: str) -> str:
    """Of a quantity."""
    return UNITS[name.split(".")[-1]]


def table(runs: Runs) -> pd.DataFrame:
    """The quantities of both runs, for readers."""
    return table_of(runs, quantities, unit_of)


def metrics(runs: Runs) -> pd.DataFrame:
    """The same for the run store, and what readers and disks did: name, value, unit."""
    rows = []
    for variant, x in runs.items():
        duration_ns = runs.machine.settings.duration_ns
        rows += [(f"{variant}.{name}", value, unit_of(name))
                 for name, value in quantities(x, runs.machine).items()]
        rows += [(f"{variant}.{name}", value, "ms") for name, value in _ms_per_read(x).items()]
        rows += [(f"{variant}.disk.busy", 100 * x.busy_ns.mean() / duration_ns, "%"),
                 (f"{variant}.disk.moved", x.served_bytes.sum() / duration_ns * 1e9 / MIB, "MiB/s"),
                 (f"{variant}.disk.commands", x.n_served.sum() / duration_ns * 1e9, "1/s"),
                 (f"{variant}.indirect.asked", x.counts["indirect_came"], "blocks"),
                 (f"{variant}.indirect.read", _disk_reads(x), "reads"),
                 (f"{variant}.indirect.time", x.mean_ns["indirect"] / 1e6, "ms")]
    rows.append(("loss", EFFECT.percent(runs.after.mib_per_s / runs.before.mib_per_s), "%"))
    return pd.DataFrame(rows, columns=["name", "value", "unit"])


def _disk_reads(x: Result) -> int:
    """Reads of indirect blocks, or of lines around them, that went to a disk."""
    large = x.machine.readers.record_bytes
    return int(x.counts["ios_done"] - x.counts["records_came"]) if large > x.leaves.cache_params.max_read_bytes else int(
        x.outcomes[1, MISS])


def throughput(runs: Runs) -> pd.DataFrame:
    """What is read in each second: variant, t (s), mib_per_s."""
    seconds = max(1, round(runs.machine.settings.duration_ns / 1e9))
    frames = []
    for variant, x in runs.items():
        n = np.bincount(np.minimum(x.response_at // 10**9, seconds - 1), minlength=seconds)
        frames.append(pd.DataFrame({"variant": variant, "t": np.arange(seconds) + 1,
                                    "mib_per_s": n * runs.machine.readers.read_bytes / MIB}))
    return pd.concat(frames)


def timelines(runs: Runs) -> list[Timeline]:
    """What the first reader did."""
    per_copy = runs.machine.readers.read_bytes / MIB
    recorders = {variant: x.machine.recorder for variant, x in runs.items()}
    return [Timeline(LABELS_OF[variant], recorder.activities[:recorder.n[watched.ACTIVITIES]], per_copy)
            for variant, recorder in recorders.items()]


def commands_of_one_disk(x: Result) -> np.ndarray:
    """Rows of `model.simulations.sequential_reads.state.Recorder.commands`."""
    return x.machine.recorder.commands[:x.machine.recorder.n[watched.COMMANDS]]


# --- what it is made of -------------------------------------------------------------------------------------------------

ACTIVITY_NAMES = {COPYING: "copying", ISSUING: "issuing", WAITING: "waiting", STALLED: "stalled"}


def _ms_per_read(x: Result) -> dict[str, float]:
    """What a reader's time for one read goes to."""
    reads = max(1, x.counts["reads_done"])
    return {f"reader.{name}": float(spent.sum()) / reads / 1e6
            for name, spent in zip(ACTIVITY_NAMES.values(), x.spent_ns.values(), strict=True)}


def steps(runs: Runs, seed: int) -> pd.DataFrame:
    """With the cache, without it, and both once more with all indirect blocks in memory from start to end. Columns: key,
    step, mib_per_s, and ms of each activity for a read."""
    machine = runs.machine
    warm = machine._replace(settings=machine.settings._replace(warm_indirect=1, keeps_indirect=1))
    rows = [("on", "cache on", runs.before), ("off", "cache off", runs.after),
            ("warm-on", "cache on, indirect\nblocks in memory", run(warm, BEFORE, seed)),
            ("warm-off", "cache off, indirect\nblocks in memory", run(warm, AFTER, seed))]
    return pd.DataFrame([{"key": key, "step": step, "mib_per_s": x.mib_per_s, **_ms_per_read(x)} for key, step, x in rows])


def shares(table: pd.DataFrame) -> pd.DataFrame:
    """What the stalls cost with and without the cache, and what is left of the loss without any: name, value, unit."""
    rate = dict(zip(table.key, table.mib_per_s, strict=True))

    def lost(less: str, more: str) -> float:
        return 100 * (1 - rate[less] / rate[more])

    return pd.DataFrame([("steps.loss", lost("off", "on"), "%"), ("steps.stalls.on", lost("on", "warm-on"), "%"),
                         ("steps.stalls.off", lost("off", "warm-off"), "%"),
                         ("steps.without-stalls", lost("warm-off", "warm-on"), "%")], columns=["name", "value", "unit"])


def simpler_models(runs: Runs) -> pd.DataFrame:
    """What simpler models make of the loss: key, what, effect (%). All are about the records below one indirect block, 16
    MiB if they are large. The reader's processor time is that of the run with the cache."""
    machine, x = runs.machine, runs.before
    records = INDIRECT_POINTERS
    n_bytes = records * machine.readers.record_bytes
    asked, fetched = x.counts["indirect_came"], _disk_reads(x)
    per_line, line, block = max(1, asked) / max(1, fetched), 1 << machine.cache.line_shift, x.machine.layout.n_bytes.mean()
    cpu_ns = n_bytes / machine.readers.read_bytes * x.cpu_ns_per_read
    lone_ns = machine.disk.overhead_ns + machine.disk.first_seek_ns + 30e9 / machine.disk.rpm
    return pd.DataFrame([
        ("bytes", "bytes moved", 100 * (1 - (n_bytes + line / per_line) / (n_bytes + block))),
        ("ios", "number of I/Os", 100 * (1 - (records + 1 / per_line) / (records + 1))),
        ("lone", "one lone read per block", 100 * (1 - (cpu_ns + lone_ns / per_line) / (cpu_ns + lone_ns)))],
        columns=["key", "what", "effect"])


# --- the ensemble -------------------------------------------------------------------------------------------------------

def baseline() -> ensembles.Fit:
    """The constant fitted, and the one published number that it is fitted on."""
    known = claims.baselines()
    known = known[(known.claim_id == "seqread-loss") & (known.name == "summary.rate")]
    return ensembles.Fit(FITTED, *FIT_RANGE_NS, "summary.rate", float(known.value.iloc[0]))


def predict(machine: Setup, draws: int, seeds: int, seed: int, runs: Runs | None = None) -> pd.DataFrame:
    """The ensemble over all that is not known: see `study.ensembles.ensembles.run`. No figure to be predicted is read.
    `runs` were made under `seed` and are not repeated. The disk is the one of the priors."""
    of_draws = _drawn(machine, seed, runs)
    cases = ensembles.cases(of_draws.known, draws, seeds, seed, ensembles.NUMBERS)
    return ensembles.run(cases, of_draws.simulate, baseline(), ensemble=of_draws.ensemble)


def drawn(**parameters: Any) -> Drawn:
    """What a draw is made of: see `study.experiments.protocol`. Parameters are those of `setup`."""
    return _drawn(setup(**parameters))


def _drawn(machine: Setup, seed: int = 0, runs: Runs | None = None) -> Drawn:
    machine = machine._replace(disk=SheetParams(depth=1, window=1, reads_ahead=machine.disk.reads_ahead))
    known = priors.read(EXPERIMENT)
    return Drawn(known=known, variants=VARIANTS, simulate=case_of(machine, seed, runs, with_values, run, quantities),
                 ensemble=kept.Ensemble("vdev-cache-seqread", __name__, (machine, ensembles.parts_of(known))),
                 printed_runs=PRINTED_RUNS)


EFFECT = Effect("summary.rate", "loss", {
    ("sorts", 0): "driver does not sort",
    ("keeps_indirect", 1): "indirect blocks stay", ("pool", "half full"): "pool half full"})
# What is not known, for figures.
NAMES = {"sorts": "driver sorts", "keeps_indirect": "indirect blocks stay", "0": "no", "1": "yes",
         "file_gib": "size of a file", "outer_sustained": "rate of the outer tracks", "segments": "segments of the buffer"}


def not_modelled(quantity: str) -> str:
    """Why a quantity of the transcript is not among `quantities`."""
    return f"{quantity} is nothing that a run gives"


def verdict(scores: pd.DataFrame) -> str:
    """The row of the claim in a sentence."""
    return claim_predictions.verdict(scores, "seqread-loss")
