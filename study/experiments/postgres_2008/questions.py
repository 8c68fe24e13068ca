"""What the tests of June 2008 would have to be for what was published to come out: experiments, none of which is scored.

    few_log_files(values, scale, seed)      UFS with directio, when it has to make files for its log
    memory(values, scale, seed)             what ZFS reads, by tables and files of the log, against the ARC
    loads(values, scale, seed)              what was published, and what comes out under some loads
    checkpointer(values, scale, seed)       who the process waits for that writes a checkpoint

An experiment changes a condition by hand, outside of its range in `data/priors.toml` too. So it shows what a mechanism does,
and says nothing about how likely that is. Each is a run to scale (`study.experiments.postgres_2008.setups`).
"""
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from study.ensembles import kept
from study.ensembles.processors import on_all_processors
from study.experiments.postgres_2008 import setups as checkpoints
from study.experiments.postgres_2008.curves import SETTLED_S, Run, smooth
from study.experiments.postgres_2008.setups import BUFFERS_GIB, CORES, MEMORY_GIB, SEGMENT_GIB, TESTS, quantities

MISTAKE, UFS, ARRAYS = "zfs-nine-disks-128k", "ufs-nine-disks", "seven-arrays"
ZFS, NO_ZIL, LOG_ARRAY = "zfs-300s-15", "zfs-no-zil-15", "zfs-log-array"
TABLES_GIB, SEGMENTS = (6, 10, 14, 18, 22), (150, 300, 600)

LOADS: dict[str, tuple[str, dict]] = {           # in the run store's words: label, what is changed
    "central": ("best guess", {}),
    "half": ("half the tables on 13 June", {"first_load_pct": 50}),
    "few-changes": ("12 GiB, one row changed, twice the CPU, less log",
                    {"working_gib": 12, "n_updates": 1, "statement_factor": 4, "checkpoint_segments": 300}),
    "large": ("32 GiB", {"working_gib": 32}),
    "new-log": ("log of creation", {"log_files": "of creation"}),
}


class Column(NamedTuple):
    """A column of a table: which quantity of which test, in which unit."""
    test: str
    quantity: str
    label: str
    unit: str
    of: float = 1       # what is shown is over this


TPM = "database.throughput"
COLUMNS = (
    Column(UFS, "read.bandwidth@1500", "UFS reads at 1500 s (KB/s)", "KB/s"),
    Column(MISTAKE, "read.bandwidth", "ZFS reads (MB/s)", "MB/s"),
    Column(UFS, "write.bandwidth", "UFS writes (MB/s)", "MB/s"),
    Column(UFS, "write.phase", "UFS phase (s)", "s"),
    Column(MISTAKE, "write.bandwidth", "ZFS 128K writes (MB/s)", "MB/s"),
    Column(MISTAKE, "write.phase", "ZFS 128K phase (s)", "s"),
    Column(ARRAYS, TPM, "arrays (1000 TPM)", "TPM", 1000),
    Column(ZFS, TPM, "ZFS 8K (1000 TPM)", "TPM", 1000),
    Column(ZFS, "write.bandwidth_peak", "burst (MB/s)", "MB/s"),
    Column(LOG_ARRAY, "log.write_bandwidth@1800", "log at 1800 s (MB/s)", "MB/s"),
    Column(LOG_ARRAY, "log.write_bandwidth_peak", "log, most after 600 s (MB/s)", "MB/s"),
    Column(NO_ZIL, TPM, "no intent log (1000 TPM)", "TPM", 1000),
    Column(NO_ZIL, "busy", "its processors busy (%)", "1", 0.01))


def few_log_files(values: dict, scale: int, seed: int) -> Run:
    """UFS with directio and half the tables, restored with the log of its creation only."""
    return checkpoints.run(UFS, values | {"first_load_pct": 50, "log_files": "of creation"}, scale, seed)


def memory(values: dict, scale: int, seed: int) -> pd.DataFrame:
    """A row a run: tables_gib, log_gib, reads_mb (MB/s, mean of the test), of_arc (tables and log over what the ARC has)."""
    arc_gib = MEMORY_GIB - BUFFERS_GIB - values["other_gib"]
    cases = [{"working_gib": tables, "checkpoint_segments": segments} for tables in TABLES_GIB for segments in SEGMENTS]
    reads = kept.rows(kept.Ensemble("postgres-memory", __name__, None, checkpoints.HARDWARE), _reads,
                      [(MISTAKE, values | case, scale, seed) for case in cases])
    rows = [(case["working_gib"], log_gib(case["checkpoint_segments"], scale), row["reads_mb"])
            for case, (row,) in zip(cases, reads, strict=True)]
    results = pd.DataFrame(rows, columns=["tables_gib", "log_gib", "reads_mb"])
    return results.assign(of_arc=(results.tables_gib + results.log_gib) / arc_gib)


def _reads(*call: Any) -> list[kept.Row]:
    return [{"reads_mb": float(checkpoints.run(*call).read_mb["data"].mean())}]


def log_gib(segments: int, scale: int) -> float:
    """All the files of a log that there will ever be (`model.simulations.database_server`), times the scale of the run."""
    return (3 * max(3, round(segments / scale)) + 4) * SEGMENT_GIB * scale


def fits(results: pd.DataFrame) -> tuple[float, float]:
    """Of `memory`: most that is read (MB/s) where tables and log fit into the ARC, least where they do not."""
    inside = results.of_arc < 1
    return float(results.reads_mb[inside].max()), float(results.reads_mb[~inside].min())


def loads(values: dict, scale: int, seed: int) -> pd.DataFrame:
    """What was published, and what comes out under each of LOADS: a row each, a column for each of COLUMNS, in its unit."""
    printed, tests = checkpoints.published_numbers(), list(dict.fromkeys(column.test for column in COLUMNS))
    calls = [(test, values | changes, scale, seed) for _, changes in LOADS.values() for test in tests]
    runs = iter(kept.rows(kept.Ensemble("postgres-loads", __name__, None, checkpoints.HARDWARE), _numbers, calls))
    rows = {"published": {column: printed.get(f"{column.test} {column.quantity}") for column in COLUMNS}}
    for name in LOADS:
        numbers = {test: next(runs)[0] for test in tests}
        rows[name] = {column: numbers[column.test][column.quantity] for column in COLUMNS}
    return pd.DataFrame(rows).T.astype(float)


def _numbers(*call: Any) -> list[kept.Row]:
    run = checkpoints.run(*call)
    log = run.written_mb.get("log", run.written_mb["data"])
    max_log_mb = smooth(log, 10, run.step_s)[run.t >= SETTLED_S].max()
    return [quantities(run) | {"busy": run.busy, "log.write_bandwidth_peak": float(max_log_mb)}]


def checkpointer(values: dict, scale: int, seed: int) -> pd.DataFrame:
    """Two tests with 16 processors and with four times as many. Gives how many pages a second the checkpointer writes, in
    the middle second of those in which it writes, and how many checkpoints end."""
    calls = [(test, values, scale, seed, None, cores) for test in (NO_ZIL, ZFS) for cores in (CORES, 4 * CORES)]
    runs, rows = on_all_processors(checkpoints.run, calls), []
    for (test, *_, cores), run in zip(calls, runs, strict=True):
        at_work = run.by_checkpointer[run.by_checkpointer > 0]
        rows.append((TESTS[test].label, cores, 100 * run.busy, quantities(run)[TPM] / 1000, float(np.median(at_work)),
                     run.counts["checkpoints"]))
    return pd.DataFrame(rows, columns=["test", "processors", "busy (%)", "1000 TPM", "checkpointer (pages/s)",
                                       "checkpoints ended"])


def table(results: pd.DataFrame) -> pd.DataFrame:
    """`loads` for readers: loads side by side."""
    shown = pd.DataFrame({column.label: results[column] / column.of for column in COLUMNS})
    return shown.rename(index={name: label for name, (label, _) in LOADS.items()}).T


def metrics(results: pd.DataFrame) -> pd.DataFrame:
    """`loads` for the run store: name, value, unit."""
    rows = [(f"load-{name}.{column.test}.{column.quantity}".replace("@", "-at-"), results.loc[name, column], column.unit)
            for name in LOADS for column in COLUMNS]
    return pd.DataFrame(rows, columns=["name", "value", "unit"])
