"""PostgreSQL on UFS and ZFS, June 2008: all set-ups of the four posts, as scenarios, to scale.

    values = checkpoints_2008.known().central()
    test = checkpoints_2008.run("zfs-300s-15", values, scale=8, seed=1)
    test.tpm, test.written["data"], …           over the time of the test, real seconds
    checkpoints_2008.quantities(test)           {"write.burst": 52.0, …}, named as the published ones

*Scale.* What decides is how much of the working set is changed between checkpoints, and in a transaction group of ZFS. So a
test is simulated to a scale of 1 to `scale`. Working set, buffers, memory, caches of arrays, length of disks, log and times
between checkpoints, times and limits of groups are divided by it. Rates are what they are: transactions, I/Os, bytes a
second, seeks over the same share of a disk. Not divided: what a group costs however small it is, naps of the checkpointer,
what is on its way. `scale=1` simulates all of it.
"""
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from model.databases.postgres import columns as pg
from model.databases.postgres import state as postgres_state
from model.databases.postgres.pgbench import PAGE_BYTES
from study import memo
from study.documents import claims, priors, published
from study.documents.priors import Known
from study.ensembles import at_once, ensembles, history_matching, kept
from study.experiments.postgres_2008 import curves
from study.experiments.postgres_2008.curves import Run
from study.experiments.protocol import Drawn
from study.machines import scenario
from study.machines import simulate as machines
from study.machines import storage as scenario_storage
from study.machines.scenario import Scenario

EXPERIMENT = "checkpoints"
DOCUMENT = "vandenbogaard-2008"
DISK, ARRAY, SMALL_ARRAY = "fc-10k-146", "cached-array", "cached-array-256"
DISK_GIB = 136.0            # of 146.8 GB
MEMORY_GIB, BUFFERS_GIB, USERS, CORES = 48, 16, 128, 16     # data/published: shared.machine
SEGMENT_GIB = 2**-6             # 16 MB: a file of PostgreSQL's log
AUTOUP_S = 900
PAGES_WRITTEN = ("checkpoint_writes", "cleaner_writes", "backend_writes", "extensions")     # counts: who writes pages
HARDWARE = ("hardware/*.toml",)     # of data/, read for each run
MAX_TPS = 4000              # room for transactions
LONG_S, SHORT_S = 2700, 2100        # real seconds of the tests of 13 and 16 June; of those with checkpoints every 300 s


class Test(NamedTuple):
    """What is special about a set-up."""
    label: str
    files: dict
    pool: dict
    log_pool: dict | None = None
    timeout_s: int = 900
    target: float = 0.5
    seconds: int = LONG_S


CONDITIONS = {       # in words, what a choice of a switch is
    ("spread_cpu", 1): "processor times that vary", ("finer_scale", 2): "half the scale",
    ("interlace_kib", 64): "stripes of 64 KiB", ("interlace_kib", 16): "stripes of 16 KiB",
    ("full_page_writes", False): "no full pages in the log", ("wal_sync_method", "fdatasync"): "fdatasync",
    ("wal_buffers_kib", 64): "64 KiB of log buffers", ("ufs_write_cache", 1): "write cache of the disks under UFS",
    ("first_load_pct", 50): "half the working set in the first tests",
    ("log_files", "of creation"): "few log files at the start",
    ("zfs_era", "b89"): "build 89", ("zfs_era", "b103"): "build 103",
    ("array_obeys_flush", 0): "an array that ignores flushes"}


def _disks(count: int) -> dict:
    return {"data": {"sheet": DISK, "count": count}}


UFS, DIRECT = {"kind": "ufs"}, {"kind": "ufs", "directio": True}
MISTAKE, ZFS = {"kind": "zfs", "record_kib": 128}, {"kind": "zfs", "record_kib": 8}
NO_ZIL = ZFS | {"zil": False}
NINE, FIVE, FOUR = _disks(9), _disks(5), _disks(4)
LOG_ARRAY = NINE | {"log": {"sheet": ARRAY}}
ARRAYS, SMALL_ARRAYS = {"data": {"sheet": ARRAY, "count": 3}}, {"data": {"sheet": SMALL_ARRAY, "count": 4}}


def _short(label: str, files: dict, target: float, pool: dict = NINE) -> Test:
    return Test(label=label, files=files, pool=pool, log_pool=None, timeout_s=300, target=target, seconds=SHORT_S)


TESTS = {
    "seven-arrays": Test(label="seven arrays, UFS", files=DIRECT | {"apart": True}, pool=ARRAYS, log_pool=SMALL_ARRAYS),
    "ufs-nine-disks": Test(label="UFS, directio", files=DIRECT, pool=NINE),
    "zfs-nine-disks-128k": Test(label="ZFS, 128K", files=MISTAKE, pool=NINE),
    "ufs-data-five-disks": Test(label="4 + 5: UFS, directio", files=DIRECT, pool=FIVE, log_pool=FOUR),
    "zfs-data-five-disks-128k": Test(label="4 + 5: ZFS, 128K", files=MISTAKE, pool=FIVE, log_pool=FOUR),
    "ufs-900s": Test(label="UFS", files=UFS, pool=NINE),
    "zfs-900s": Test(label="ZFS, 8K", files=ZFS, pool=NINE),
    "ufs-300s-85": _short("UFS, 85 %", UFS, 0.85), "ufs-300s-15": _short("UFS, 15 %", UFS, 0.15),
    "zfs-300s-85": _short("ZFS, 85 %", ZFS, 0.85), "zfs-300s-15": _short("ZFS, 15 %", ZFS, 0.15),
    **{f"zfs-no-zil-{share}": _short(f"ZFS, no intent log, {share} %", NO_ZIL, share / 100)
       for share in (5, 15, 50, 85)},
    "zfs-log-array": _short("ZFS, log on an array, 15 %", ZFS, 0.15, LOG_ARRAY),
}


# --- from values to machines ----------------------------------------------------------------------------------------------

def known() -> Known:
    """Priors, and the ranges of all devices."""
    return machines.known([of_test(name, priors.read(EXPERIMENT).central(), 8) for name in TESTS], EXPERIMENT)


def of_test(name: str, values: dict, scale: int) -> Scenario:
    """The scenario of a test, to scale, with what `values` say of the settings that are not known."""
    test = TESTS[name]
    return scenario.of({
        "title": name, "host": {"cpus": CORES, "memory_gib": MEMORY_GIB / scale, "cpu": values["core_speed"],
                                "cpu_source": "UltraSPARC IV of 1.35 GHz: core_speed of the priors", "system": "solaris"},
        "files": _files(test.files, values, scale), "pool": _scaled(test.pool, scale),
        "log_pool": test.log_pool and _scaled(test.log_pool, scale),
        "database": {"kind": "postgres", "version": 8.3, "script": "toolkit", "clients": USERS, "threads": USERS,
                     "seconds": test.seconds / scale, "transactions": test.seconds * MAX_TPS // scale,
                     "start": "cold", "log_files": _log_files(test, values, scale),
                     "conf": _conf(test, values, scale)}}, name)


def working_gib(test: Test, values: dict) -> float:
    """Of the load of a test: on 18 June it was made larger."""
    return values["working_gib"] * (values["first_load_pct"] / 100 if test.timeout_s == 900 else 1)


def _log_files(test: Test, values: dict, scale: int) -> int | None:
    """What the backup of a freshly created database holds of its log: as much as the tables, if creating them was logged;
    None: as many files as there will ever be."""
    return max(1, round(working_gib(test, values) / SEGMENT_GIB / scale)) if values["log_files"] == "of creation" else None


def _files(files: dict, values: dict, scale: int) -> dict:
    """What the file systems are given. A backup was restored before each test, so files are in memory as far as they fit."""
    if files["kind"] == "ufs":
        return files | {"throttle": False, "autoup_s": max(1, AUTOUP_S // scale), "warm": not files.get("directio", False)}
    left_gib = MEMORY_GIB - BUFFERS_GIB - values["other_gib"]
    return files | {"era": values["zfs_era"], "arc_max_mib": left_gib * 1024 / scale, "warm": True}


def _scaled(pool: dict, scale: int) -> dict:
    """Disks as long as the scale leaves them. An array is as large as it is: it has no seeks in the model."""
    return {part: devices | ({"use_gib": DISK_GIB / scale} if devices["sheet"] == DISK else {})
            for part, devices in pool.items()}


def _conf(test: Test, values: dict, scale: int) -> dict:
    return {"shared_buffers": f"{BUFFERS_GIB * 2**20 // scale}kB", "wal_buffers": f"{int(values['wal_buffers_kib'])}kB",
            "checkpoint_timeout": f"{test.timeout_s}s", "checkpoint_completion_target": test.target,
            "checkpoint_segments": max(3, round(values["checkpoint_segments"] / scale)),
            "full_page_writes": bool(values["full_page_writes"]), "wal_sync_method": values["wal_sync_method"]}


def scaled_values(values: dict, scale: int) -> dict:
    """What is a length, a stock, or the time between checkpoints is divided; an array drains its cache at a flush or not."""
    of_arrays = {f"{name}.buffer_bytes": scenario_storage.sheet(name).params.buffer_bytes for name in (ARRAY, SMALL_ARRAY)}
    caches = {name: values.get(name, usual) / scale for name, usual in of_arrays.items()}
    memory = {name: values[name] / scale for name in ("working_gib", "other_gib")}
    return values | caches | memory | {"is_warm": 1, "time_scale": scale,
                                       f"{ARRAY}.is_volatile": values["array_obeys_flush"]}


# --- runs -----------------------------------------------------------------------------------------------------------------

def run(name: str, values: dict, scale: int, seed: int, target: float | None = None, cores: int = CORES,
        seconds: int | None = None) -> Run:
    """One test to scale; with another completion target, number of cores or length (real seconds), if one is given. What is
    the same machine as before is not run again."""
    machine, n = of_test(name, values, scale), (seconds or TESTS[name].seconds) // scale
    values = values | {"working_gib": working_gib(TESTS[name], values)}
    changes: dict[str, Any] = {"database.seconds": float(n), "host.cpus": cores}
    if target is not None:
        changes["database.conf"] = machine.database.conf | {"checkpoint_completion_target": target}
    changed = scenario.changed(machine, changes)
    return memo.by_values_read((EXPERIMENT, changed.model_dump_json(), seed), scaled_values(values, scale),
                          lambda asked: _recorded(name, scale, changed, machines.simulate(changed, asked, seed, n), n))


def _recorded(name: str, scale: int, machine: Scenario, done: machines.Outcome, n: int) -> Run:
    """What is kept of a run, of `n` seconds."""
    series = done.devices_per_second
    read_mb, written_mb, writes = (
        {group: rows[count][:n] / per for group, rows in series.items() if rows["writes"].any() or group == "data"}
        for count, per in (("read_bytes", 1e6), ("written_bytes", 1e6), ("writes", 1)))
    assert done.result is not None
    assert isinstance(done.result.machine, postgres_state.Machine)
    cpu_ns = done.result.machine.database.statements[:, pg.CPU_NS].sum()
    count = {name: values[:n].astype(float) for name, values in done.per_second.items()}
    pages = sum(count[name] for name in PAGES_WRITTEN)
    return Run(
        name=name, step_s=scale, tpm=60 * count["commits"], read_mb=read_mb, written_mb=written_mb, writes=writes,
        counts=done.counts, mean_ms=done.mean_ms, busy=done.tps * cpu_ns / 1e9 / machine.host.cpus,
        by_checkpointer=count["checkpoint_writes"], pages_mb=pages * PAGE_BYTES / 1e6,
        log_mb=count["wal_bytes"] / 1e6)


def run_all(names: Iterable[str], values: dict, scale: int, seed: int) -> dict[str, Run]:
    """Tests of one machine. They are kept (`study.ensembles.kept`)."""
    calls = [(name, values, scale, seed) for name in names]
    runs = kept.rows(kept.Ensemble("postgres-tests", __name__, None, HARDWARE), lambda *call: curves.rows(run(*call)), calls)
    return {name: curves.of_rows(rows) for (name, *_), rows in zip(calls, runs, strict=True)}


# --- the ensemble ---------------------------------------------------------------------------------------------------------

PREDICTED = ("ufs-nine-disks", "zfs-nine-disks-128k", "ufs-data-five-disks", "zfs-data-five-disks-128k", "seven-arrays",
             "zfs-300s-15", "zfs-no-zil", "zfs-log-array", "ufs-900s", "zfs-900s", "zfs-300s-85")
RATIOS = {      # what is published as a ratio -> of which, over which
    "zfs-nine-disks-128k/write.rate_divided_by": ("ufs-nine-disks/write.rate", "zfs-nine-disks-128k/write.rate"),
    "checkpoint-900s/database.throughput_over_ufs": ("zfs-900s/database.throughput", "ufs-900s/database.throughput"),
    "zfs-300s-85/database.throughput_over_15": ("zfs-300s-85/database.throughput", "zfs-300s-15/database.throughput")}
ENOUGH_S = {    # real seconds in the ensemble, of tests of which not all is needed. That is one checkpoint interval after
    # the first, four intervals of 300 s, the log's peak. (Whole seconds of machines to 1:128 reach beyond second 1800, too)
    "ufs-data-five-disks": 1800, "zfs-data-five-disks-128k": 1800, "ufs-900s": 1800, "zfs-900s": 1800,
    "zfs-no-zil": 1500, "zfs-log-array": 1920}
TARGETS = {"zfs-no-zil": "zfs-no-zil-15"}       # published of four completion targets together: the one that all others have


COARSER = 4             # the machine of a draw is so much smaller than the notebook's
FITTED = "working_gib"          # the working set: the one constant
FIT_RANGE_GIB = (4.0, 40.0)
STEADY = "seven-arrays"             # its throughput settled in the middle of the run
PHASES = "write.phases"         # as many of them as there are in a second of writes: falls as the working set grows


def quantities(test_run: Run) -> dict[str, float]:
    """What is compared of a test run: the measures of its curve of TPS."""
    return curves.of(test_run, TESTS[test_run.name].timeout_s)


def baseline() -> ensembles.Fit:
    """How long UFS writes at a checkpoint: the one published number that the constant is fitted on."""
    known_numbers = claims.baselines()
    phase = known_numbers[(known_numbers.run_id == f"{DOCUMENT}/ufs-nine-disks") & (known_numbers.name == "write.phase")]
    return ensembles.Fit(FITTED, *FIT_RANGE_GIB, PHASES, 1 / float(phase.value.iloc[0]))


def predict(scale: int, draws: int, seeds: int, seed: int) -> pd.DataFrame:
    """The ensemble (`study.ensembles.ensembles`) of the tests that claims are about; the working set is fitted on the UFS
    run."""
    of_draws = _drawn(scale)
    cases = ensembles.cases(of_draws.known, draws, seeds, seed, ensembles.NUMBERS)
    return _with_ratios(ensembles.run(cases, of_draws.simulate, baseline(), PREDICTED, of_draws.ensemble))


def drawn(scale: int, **others: Any) -> Drawn:
    """What a draw is made of, to the ensemble's scale: see `study.experiments.protocol`. Nothing is taken of `others`."""
    return _drawn(COARSER * scale)


def _drawn(scale: int) -> Drawn:
    def simulate(values: dict, seed: int, name: str) -> dict[str, float]:
        numbers = quantities(run(TARGETS.get(name, name), values, max(1, scale // int(values["finer_scale"])), seed,
                                 seconds=ENOUGH_S.get(name)))
        return numbers | {PHASES: 1 / max(numbers["write.phase"], 1.0)}

    def compared(draws: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
        both = _with_ratios(draws)
        at = f"{STEADY}/throughput.stable_from"     # of a run that never settles, the second is its end
        both[at] = both[at].where(both[at] < TESTS[STEADY].seconds - curves.LAST_S)
        return both, history_matching.printed(both, printed_runs)

    ensemble, printed_runs = kept.Ensemble("postgres-checkpoints", __name__, scale, HARDWARE), at_once.runs_of(DOCUMENT)
    return Drawn(known=known(), variants=PREDICTED, simulate=simulate, ensemble=ensemble, printed_runs=printed_runs,
                 compared=compared)


def _with_ratios(results: pd.DataFrame) -> pd.DataFrame:
    return results.assign(**{ratio: results[over] / results[under] for ratio, (over, under) in RATIOS.items()})


def why_not(quantity: str) -> str:
    """Why a published quantity has no simulated one."""
    return f"no curve of the model is read for {quantity}"


def verdict(scores: pd.DataFrame) -> str:
    """How many claims have which grade."""
    counts = scores.grade.value_counts()
    return ", ".join(f"{n} {grade}" for grade, n in counts.items()) + f", of {len(scores)} claims"


# --- for readers ----------------------------------------------------------------------------------------------------------

def published_numbers() -> dict[str, float]:
    """"run quantity" or "run quantity@second" -> what was printed, to be drawn beside the model's; nothing is computed from
    it."""
    numbers = {}
    for published_run in published.runs():
        document, _, name = published_run.run_id.partition("/")
        if document == DOCUMENT:
            for t, quantity, value, _ in published_run.metrics.itertuples(index=False):
                numbers[f"{name} {quantity}" + ("" if pd.isna(t) else f"@{t:g}")] = float(value)
    return numbers


def against(claim: str, value: float) -> str:
    """How a number stands to what a claim allows, for captions."""
    target = claims.targets().set_index("claim_id").loc[claim]
    return "as the post says" if target.low <= value <= target.high else "which contradicts the post"


def table(runs: dict[str, Run]) -> pd.DataFrame:
    """A row a test."""
    rows = []
    for name, test_run in runs.items():
        numbers = quantities(test_run)
        rows.append((TESTS[name].label, numbers["database.throughput"] / 1000, numbers["write.bandwidth"],
                     numbers["write.phase"], numbers["write.rate"], numbers["read.bandwidth"],
                     test_run.counts["checkpoints"]))
    return pd.DataFrame(rows, columns=["test", "1000 TPM", "writes (MB/s, phase)", "phase (s)", "writes (1/s)",
                                       "reads (MB/s)", "checkpoints done"])


def metrics(runs: dict[str, Run]) -> pd.DataFrame:
    """For the run store: name, value, unit."""
    units = {"throughput": "TPM", "stable_from": "s", "bandwidth": "MB/s", "phase": "s", "rate": "1/s", "burst": "s",
             "bandwidth_peak": "MB/s", "write_bandwidth@1800": "MB/s", "bandwidth@0": "MB/s", "bandwidth@1500": "KB/s",
             "bandwidth@2500": "KB/s", "fall": "s", "fall_line": "1", "fall_step": "1", "fall_line_over_step": "1"}
    return pd.DataFrame([(f"{name}.{key.replace('@', '-at-')}", value, units[key.split(".", 1)[1]])
                         for name, test_run in runs.items() for key, value in quantities(test_run).items()],
                        columns=["name", "value", "unit"])


def by_target(runs: dict[str, Run]) -> pd.DataFrame:
    """what, target (%), tpm, low: the mean, and below what it is for a tenth of the time."""
    rows = []
    for name, test_run in runs.items():
        test = TESTS[name]
        if test.timeout_s == 300 and "log" not in test.pool:
            later = curves.smooth(test_run.tpm, 10, test_run.step_s)[test_run.t >= curves.SETTLED_S]
            label = "UFS" if test.files["kind"] == "ufs" else "ZFS" if test.files.get("zil", True) else "ZFS, no intent log"
            rows.append((label, round(100 * test.target), later.mean(), np.quantile(later, 0.1)))
    return pd.DataFrame(rows, columns=["what", "target", "tpm", "low"]).sort_values(["what", "target"])
