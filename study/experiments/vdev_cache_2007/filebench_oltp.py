"""The OLTP test of 2007: ten files, 200 readers, ten writers on 46 disks, before and after only metadata filled the vdev
cache.

    machine = oltp_2007.setup(n_leaves=46, seconds=120.0, …)    what a notebook's parameters stand for
    oltp_2007.run(machine, "before", seed)                      one run of `model.simulations.filebench_oltp.run`
    oltp_2007.compare(machine, seed)                            both builds
    oltp_2007.predict(machine, draws=8, seeds=3, seed=1)        the ensemble: see `study.ensembles.ensembles`

Quantities are named as the published transcripts name them.
"""
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from model.devices.data_sheet import SheetParams
from model.simulations.filebench_oltp.filebench import Workload
from model.simulations.filebench_oltp.run import Result, preallocated_core, simulate
from model.simulations.filebench_oltp.state import Settings, Site, check_settings, check_space, new_site
from model.simulations.rules import rules_of
from model.zfs.arc.arc import Arc
from model.zfs.eras import era
from model.zfs.vdev import recorder_columns as recorded
from model.zfs.vdev.cache import FILL_ALL, FILL_METADATA, VdevCacheParams
from model.zfs.vdev.leaves import Recorder, new_recorder
from model.zfs.vdev.queue import VdevQueueParams
from study.documents import claims, priors, published
from study.ensembles import ensembles, history_matching, kept
from study.ensembles.effects import Effect
from study.ensembles.ensembles import AFTER, BEFORE, VARIANTS
from study.experiments.protocol import Comparison, Drawn, case_of, table_of
from study.experiments.vdev_cache_2007 import cache_lines, cpu_times
from study.experiments.vdev_cache_2007.disks import OF_2007, first_byte
from study.grades import claim_predictions
from study.machines import hardware

EXPERIMENT = "oltp"
PRINTED_RUNS = {BEFORE: "kustarz-2007/oltp-without-fix", AFTER: "kustarz-2007/oltp-with-fix"}
ERAS = {BEFORE: "onnv_69", AFTER: "onnv_70"}
FITTED = "overhead_ns"          # of a command of the drive: the one constant
FIT_RANGE_NS = (1e3, 20e6)
NCQ_DEPTH = 32                  # commands; SATA
KIB, MIB, GIB = 2**10, 2**20, 2**30
RECORDED_LEAF, RECORDED, RECORDED_COMMANDS = 7, 200_000, 100_000


class Setup(NamedTuple):
    """A machine and its workload. Of an era only what is given here is changed."""
    workload: Workload
    settings: Settings
    disk: SheetParams
    cache: VdevCacheParams      # but for the rule of who may fill, which is the era's
    queue: VdevQueueParams
    first_byte: int             # of each disk that the files may take
    is_preallocated: bool       # what writing the files has left in core is there at the start
    moves_whole_lines: bool = False     # a rule that never was: reads of records move whole lines, and leave nothing behind


Runs = Comparison[Setup, Result]


# --- from parameters to a machine ---------------------------------------------------------------------------------------

def setup(*, n_leaves: int, record_kib: int, file_gib: float, n_shadows: int, line_kib: int, cache_mib: int,
          max_pending: int, ncq: bool, window: int, start: str, seconds: float, disk: str = OF_2007) -> Setup:
    """From a notebook's parameters; everything else is the best guess of the priors, or stands in the sheet of another disk.
    ValueError, one sentence, for a machine that cannot be."""
    machine = Setup(
        workload=Workload(n_shadows=n_shadows, file_bytes=int(file_gib * GIB), record_bytes=record_kib * KIB),
        settings=Settings(n_leaves=n_leaves, duration_ns=int(seconds * 1e9)), disk=SheetParams(),
        cache=VdevCacheParams(line_shift=(line_kib * KIB).bit_length() - 1, cache_bytes=cache_mib * MIB),
        queue=VdevQueueParams(max_pending=max_pending, min_pending=min(max_pending, VdevQueueParams().min_pending)),
        first_byte=0, is_preallocated=False)
    machine = with_values(machine, priors.read(EXPERIMENT).central() | {"ncq": ncq, "window": window, "start": start})
    return machine if disk == OF_2007 else machine._replace(
        disk=hardware.other_disk(machine.disk, disk, ("depth", "window", "passes", "sorts")))


def with_values(machine: Setup, values: dict) -> Setup:
    """`machine` with values of the priors and switches."""
    queueing = {"depth": NCQ_DEPTH, "window": min(int(values["window"]), NCQ_DEPTH)} if values["ncq"] else {
        "depth": 1, "window": 1}
    parts = ensembles.apply(priors.read(EXPERIMENT), values, machine._asdict())
    parts["disk"] = parts["disk"]._replace(**queueing)
    parts["is_preallocated"] = values["start"] == "as preallocated"
    parts["first_byte"] = first_byte(parts["disk"], values["pool"])
    return Setup(**parts)


@lru_cache(maxsize=4)       # as many sizes of records as the slider has
def _site(workload: Workload, n_leaves: int, first_byte: int) -> Site:
    return new_site(workload, n_leaves, first_byte=first_byte)


@lru_cache(maxsize=4)       # likewise; three sizes of memory are drawn
def _core(workload: Workload, memory_bytes: int) -> Arc:
    return preallocated_core(_site(workload, 1, 0), memory_bytes)


def _files(machine: Setup) -> tuple[Site, Workload]:
    """(the files, the workload by which they are laid out)"""
    laid_out = Workload(record_bytes=machine.workload.record_bytes, file_bytes=machine.workload.file_bytes)
    return _site(laid_out, machine.settings.n_leaves, machine.first_byte)._replace(workload=machine.workload), laid_out


def _start(machine: Setup) -> tuple[Site, Arc | None]:
    """The files, and what is in core of them."""
    site, laid_out = _files(machine)
    return site, _core(laid_out, machine.settings.memory_bytes) if machine.is_preallocated else None


def check(draws: int = 0, seeds: int = 0, seed: int = 0, **values: Any) -> None:
    """ValueError, one sentence, for parameters of the notebook that are no machine, or whose files do not fit."""
    machine = setup(**values)
    site, _ = _files(machine)
    check_settings(machine.settings, site)
    check_space(site.space, rules_of(ERAS[BEFORE], machine.disk).disk)


def run(machine: Setup, variant: str, seed: int, recorder: Recorder | None = None) -> Result:
    """One run under the rules before the change or after it."""
    rules = rules_of(ERAS[variant], machine.disk)
    rules = rules._replace(cache=machine.cache._replace(fill_rule=rules.cache.fill_rule), queue=machine.queue,
                           moves_whole_lines=int(machine.moves_whole_lines))
    site, core = _start(machine)
    return simulate(site, rules, machine.settings._replace(issue=era(ERAS[variant]).issue), seed, recorder, core)


def compare(machine: Setup, seed: int) -> Runs:
    """Both builds under one seed, so that they meet the same reads; what one disk did is recorded."""
    leaf = min(RECORDED_LEAF, machine.settings.n_leaves - 1)
    _start(machine)  # once, for both
    with ThreadPoolExecutor(len(VARIANTS)) as pool:
        return Comparison(machine, *pool.map(
            lambda variant: run(machine, variant, seed, new_recorder(leaf, RECORDED, RECORDED_COMMANDS)), VARIANTS))


# --- what comes out -----------------------------------------------------------------------------------------------------

def quantities(x: Result, machine: Setup) -> dict[str, float]:
    """What the transcript prints and the model has: rates in 1/s, bandwidths in MiB/s, times in ms.

    FileBench counts a wait for asynchronous writes as an operation too. What never returned, in a run too short for it, has
    no times: nan.
    """
    seconds, workload = machine.settings.duration_ns / 1e9, machine.workload
    reads, writes, log = (x.counts[name] / seconds for name in ("reads_done", "writes_done", "log_writes_done"))
    wakes = writes / workload.writes_per_burst
    record, log_write = workload.record_bytes / MIB, workload.log_write_bytes / MIB
    p50_ns, p99_ns = np.quantile(x.response_ns, (0.5, 0.99))
    read_ms, of_operations = float(x.response_ns.mean()) / 1e6, cpu_times.of_operations(x)
    return {
        "summary.rate": reads + writes + log + wakes + log,
        "summary.cpu": cpu_times.summary_ns(x) / 1e3 / max(1.0, seconds * (reads + writes + log)),
        "summary.write_rate": writes + log,
        "summary.bandwidth": (reads + writes) * record + log * log_write, "summary.response": read_ms,
        "shadowread.rate": reads, "shadowread.bandwidth": reads * record, "shadowread.response": read_ms,
        "shadowread.p50": float(p50_ns) / 1e6, "shadowread.p99": float(p99_ns) / 1e6,
        "dbwrite-a.rate": writes, "dbwrite-a.bandwidth": writes * record,
        "dbwr-block.rate": wakes, "dbwr-aiowait.rate": wakes, "dbwr-hog.rate": wakes,
        "dbwr-block.response": of_operations["dbwr-block.response"],
        "shadowhog.rate": reads, "shadow-post-dbwr.rate": reads, "shadow-post-lg.rate": reads,
        "lg-write.rate": log, "lg-write.bandwidth": log * log_write, "lg-aiowait.rate": log, "lg-block.rate": log,
        "lg-block.response": of_operations["lg-block.response"],
        **{name: of_operations[name] for name in cpu_times.OF_PROCESSORS},
    }


def chosen_by(results: pd.DataFrame) -> pd.DataFrame:
    """An ensemble as draws are chosen from it: of what processors and threads make, with the rows of hogs alone."""
    return results.drop(columns=[f"{variant}/{name}" for variant in VARIANTS for name in cpu_times.OF_PROCESSORS
                                 if name not in cpu_times.OF_HOGS])


def _compared(draws: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """See `study.experiments.protocol.Drawn`."""
    return draws, history_matching.printed(chosen_by(draws), PRINTED_RUNS)


UNITS = {"rate": "1/s", "cpu": "us", "write_rate": "1/s", "bandwidth": "MiB/s", "response": "ms", "p50": "ms", "p99": "ms"}


def unit_of(name: str) -> str:
    """Of a quantity."""
    return UNITS[name.split(".")[-1]]


def table(runs: Runs) -> pd.DataFrame:
    """The quantities of both runs, for readers."""
    return table_of(runs, quantities, unit_of)


def metrics(runs: Runs) -> pd.DataFrame:
    """The same for the run store, and what the caches and disks did: name, value, unit."""
    rows = []
    for variant, x in runs.items():
        seconds = runs.machine.settings.duration_ns / 1e9
        rows += [(f"{variant}.{name}", value, unit_of(name))
                 for name, value in quantities(x, runs.machine).items()]
        rows += [(f"{variant}.disk.busy", 100 * x.busy_ns.mean() / runs.machine.settings.duration_ns, "%"),
                 (f"{variant}.disk.moved", x.served_bytes.sum() / seconds / MIB, "MiB/s"),
                 (f"{variant}.disk.commands", x.n_served.sum() / seconds, "1/s"),
                 (f"{variant}.reads.in-core", 100 * x.counts["read_hits"] / x.counts["reads_done"], "%"),
                 (f"{variant}.metadata.reads", x.counts["metadata_reads"], "reads"),
                 (f"{variant}.txgs.longest", x.counts["longest_sync_ns"] / 1e9, "s")]
    return pd.DataFrame(rows, columns=["name", "value", "unit"])


def responses_ms(runs: Runs) -> dict[str, np.ndarray]:
    """Response times of all reads [ms], before and after."""
    return {variant: x.response_ns / 1e6 for variant, x in runs.items()}


def lines_of_one_disk(runs: Runs) -> list[cache_lines.Lines]:
    """What the vdev cache of the recorded disk held, before and after."""
    rules = {FILL_ALL: cache_lines.RULES[0], FILL_METADATA: cache_lines.RULES[1]}
    return [cache_lines.of_recording(rules[rule], x.leaves.recorder.rows[:x.leaves.recorder.n[0]],
                                     runs.machine.cache._replace(fill_rule=rule))
            for rule, (_, x) in zip(rules, runs.items(), strict=True)]


def commands_of_one_disk(x: Result) -> np.ndarray:
    """What the recorded disk served: rows of `model.zfs.vdev.leaves.Recorder.commands`."""
    return x.leaves.recorder.commands[:x.leaves.recorder.n[recorded.COMMANDS]]


# --- what it is made of -------------------------------------------------------------------------------------------------

def steps(runs: Runs, seed: int) -> pd.DataFrame:
    """From the old rule to the new one: key, state, change (that leads to it), rate (operations per second)."""
    whole_lines = run(runs.machine._replace(moves_whole_lines=True), AFTER, seed)
    rows = [("before", "old rule", "", runs.before),
            ("not-kept", "whole lines, not kept", "data push out\nno metadata", whole_lines),
            ("after", "new rule", "shorter\ntransfers", runs.after)]
    return pd.DataFrame([(*row, quantities(x, runs.machine)["summary.rate"]) for *row, x in rows],
                        columns=["key", "state", "change", "rate"])


def shares(table: pd.DataFrame) -> pd.DataFrame:
    """What each of the two changes adds, in % of the old rate: name, value, unit."""
    rates = dict(zip(table.key, table.rate, strict=True))
    return pd.DataFrame([("steps.eviction", 100 * (rates["not-kept"] / rates["before"] - 1), "%"),
                         ("steps.transfer", 100 * (rates["after"] - rates["not-kept"]) / rates["before"], "%")],
                        columns=["name", "value", "unit"])


def simpler_models(machine: Setup) -> pd.DataFrame:
    """What simpler models make of the gain: key, what, effect (%). A read moves a line before and a record after the change;
    what is written is the same."""
    record, line = machine.workload.record_bytes, 1 << machine.cache.line_shift
    disk = machine.disk
    fixed_ns = disk.overhead_ns + disk.first_seek_ns + 30e9 / disk.rpm
    read_ns = {size: fixed_ns + size / disk.outer_sustained * 1e9 for size in (line, record)}
    return pd.DataFrame([
        ("bytes", "bytes moved", 100 * ((line + record) / (2 * record) - 1)),
        ("ios", "number of I/Os", 0.0),
        ("service", "time of a lone read", 100 * (read_ns[line] / read_ns[record] - 1))], columns=["key", "what", "effect"])


# --- the ensemble -------------------------------------------------------------------------------------------------------

def baseline() -> ensembles.Fit:
    """The constant fitted, and the one published number that it is fitted on."""
    known = claims.baselines()
    known = known[(known.claim_id == "oltp-rate") & (known.name == "summary.rate")]
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
    machine = machine._replace(disk=SheetParams())
    known = priors.read(EXPERIMENT)
    return Drawn(known=known, variants=VARIANTS, simulate=case_of(machine, seed, runs, with_values, run, quantities),
                 ensemble=kept.Ensemble("vdev-cache-oltp", __name__, (machine, ensembles.parts_of(known))),
                 printed_runs=PRINTED_RUNS, compared=_compared)


EFFECT = Effect("summary.rate", "gain", {
    ("ncq", False): "no NCQ", ("sorts", 0): "driver does not sort", ("start", "empty"): "memory empty at the start",
    ("memory_bytes", 8 * GIB): "8 GiB of memory", ("memory_bytes", 4 * GIB): "4 GiB of memory",
    ("pool", "half full"): "pool half full", ("hog_thousands", 200): "a hog of 200 000 turns"})
# What is not known, for figures.
NAMES = {"ncq": "command queueing", "sorts": "driver sorts", "start": "memory at the start", "memory_bytes": "memory",
         "0": "no", "1": "yes", "False": "no", "True": "yes", "outer_sustained": "rate of the outer tracks",
         "20": "20 000", "200": "200 000", str(16 * GIB): "16 GiB", str(8 * GIB): "8 GiB", str(4 * GIB): "4 GiB",
         "window": "commands chosen among", "passes": "commands that may pass one", "hog_thousands": "turns of the hog",
         "hog_ns": "processor, 20 000 turns", "read_ns": "processor, a read in core", "post_ns": "processor, a post",
         "wake_ns": "processor, a wake-up", "proc_ns": "processor, times from /proc",
         "handover_ns": "processor, a write handed over", "write_ns": "processor, a write",
         "reap_ns": "processor, a write reaped",
         "sync_record_ns": "processor, to write a record", "write_done_ns": "processor, a write completed",
         "sync_indirect_ns": "processor, an indirect block",
         "read_issue_ns": "processor, a read sent for", "read_done_ns": "processor, a read completed"}

def published_response_ms() -> dict[str, float]:
    """Mean response times of a read as published, to be drawn beside the model's; nothing is computed from them."""
    runs = {run.run_id: run.metrics for run in published.runs()}
    return {variant: float(runs[run].set_index("name").loc["shadowread.response", "value"])
            for variant, run in PRINTED_RUNS.items()}


def not_modelled(quantity: str) -> str:
    """Why a quantity of the transcript is not among `quantities`."""
    return f"the model has no {quantity}"


def verdict(scores: pd.DataFrame) -> str:
    """The row of the claim in a sentence."""
    return claim_predictions.verdict(scores, "oltp-gain")
