"""Quantities of a reader's own runs, in units that are read: sizes of operations, units by scale, numbers in sentences.

A rate of bytes over a rate of operations is the mean size of an operation. It is what the analysis of 2010 derived.
"""
import math

import numpy as np
import pandas as pd

from study.documents.disguises import disguise

# Series, above, below, the name of their ratio and its unit. iostat prints sizes itself.
RATIOS = (
    ("zpool.vdevs", "read_bandwidth", "reads", "read_size", "B"),
    ("zpool.vdevs", "write_bandwidth", "writes", "write_size", "B"),
    ("measure.disk", "read_bytes", "reads", "read_size", "B"),
    ("measure.disk", "written_bytes", "writes", "write_size", "B"),
    ("measure.postgres", "wal_bytes", "commits", "wal_of_a_commit", "B"),
    ("measure.postgres", "commits", "wal_syncs", "commits_of_a_sync", "1"),
    ("measure.postgres", "wal_sync_ms", "wal_syncs", "wal_sync_time", "s"),     # seconds a second over syncs a second
)
SCALES = {"B/s": ("MiB/s", 2.0**20), "KiB/s": ("MiB/s", 2.0**10), "kB/s": ("MB/s", 1e3), "B": ("KiB", 2.0**10),
          "ns": ("ms", 1e6), "us": ("ms", 1e3), "s": ("ms", 1e-3)}
SPACE = ("GiB", 2.0**30)        # of what is allocated or free
SIZES = ("write.size", "write_size", "read.size", "read_size", "size")     # what the claim of 2010 was about, best first
WORDS = {"1/s": "a second", "MiB/s": "MiB a second", "MB/s": "MB a second", "%": "%", "1": ""}
OF_RATES = ((".tps", "transactions"), (".eps", "events"), (".throughput", "requests"), (".goodput", "requests"),
            (".rate", "operations"), (".iops", "operations"))     # what is counted, by how the name of a rate ends
JOBS = ("fio.iops", "fio.bandwidth")        # series of single jobs and directions, whose sum is the rate of the run
ALL_JOBS = "fio.all"
SHORTEST_S = 0.1        # s, of an interval: in a log of single operations there is none


def with_derived(points: pd.DataFrame) -> pd.DataFrame:
    """`points` of `study.your_runs.chosen` with ratios of what was recorded at the same time. Where nothing was done there
    is no ratio."""
    keys = ["run", "series", "subject", "utc"]
    made = [points]
    for series, above, below, name, unit in RATIOS:
        mine = points[points.series == series]
        both = mine[mine.name == above].merge(mine[mine.name == below], on=keys, suffixes=("", "_below"))
        both = both[both.value_below > 0]
        made.append(both.assign(name=name, unit=unit, value=both.value / both.value_below)[points.columns])
    order = ["run", "series", "subject", "name", "utc"]
    return pd.concat(made, ignore_index=True).sort_values(order, kind="stable", ignore_index=True)


def with_sums(points: pd.DataFrame, clocks: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Both with a series ALL_JOBS: the rates of all jobs and directions in the same interval, added up. Where a job did
    nothing it has no row, and adds nothing."""
    made, known = [points], [clocks]
    steps = clocks[clocks.series.isin(JOBS) & (clocks.interval_s >= SHORTEST_S)].set_index(["run", "series"]).interval_s
    for (run, series), step in steps.items():
        mine = points[(points.run == run) & (points.series == series)]
        if mine.empty:
            continue
        since = mine.utc - mine.utc.min()
        place = (since / pd.Timedelta(seconds=step)).round()
        sums = mine.groupby(place).agg(value=("value", "sum"), utc=("utc", "max"))
        first = mine.iloc[0]
        made.append(sums.assign(run=run, series=ALL_JOBS, subject="", name=first["name"], unit=first.unit)[points.columns])
        if not any(((part.run == run) & (part.series == ALL_JOBS)).any() for part in known):
            row = clocks[(clocks.run == run) & (clocks.series == series)]
            known.append(row.assign(series=ALL_JOBS))
    return pd.concat(made, ignore_index=True), pd.concat(known, ignore_index=True)


def readable(points: pd.DataFrame) -> pd.DataFrame:
    """The same in the units of `SCALES`."""
    is_space = (points.unit == "B") & points.name.str.startswith("space.")
    scaled = [SPACE if space else SCALES.get(unit, (unit, 1.0)) for space, unit in zip(is_space, points.unit, strict=True)]
    return points.assign(unit=pd.Series([unit for unit, _ in scaled], points.index, dtype=object),
                         value=points.value / np.array([scale for _, scale in scaled], float))


def statistic_of(table: pd.DataFrame, outcome: str, statistic: str) -> str:
    """That column, or for "" the size of an I/O that another tool recorded, in most rows; else the first column that could
    explain it. "" stays where there is none. `table` is of `study.your_runs.clock`."""
    tools, units = table.attrs["tools"], table.attrs["units"]
    others = [name for name in table if outcome in table and tools[name] != tools[outcome] and table[name].std() > 0
              and not disguise(name, units[name])]
    if statistic or not others:
        return statistic
    sized = [(-int(table[name].notna().sum()), place, name) for name in others
             for place, ending in enumerate(SIZES) if name.endswith(f".{ending}")]
    return min(sized, key=lambda row: (row[0], row[1]))[2] if sized else others[0]


def in_words(value: float, digits: int = 3) -> str:
    """To so many digits, without a power of ten: 2,290; 0.0123; −4.5."""
    if not math.isfinite(value):
        return "no number"
    if value == 0:
        return "0"
    decimals = digits - 1 - math.floor(math.log10(abs(value)))
    rounded = round(value, decimals)
    decimals = digits - 1 - math.floor(math.log10(abs(rounded)))
    return f"{rounded:,.{min(max(decimals, 0), 12)}f}".replace("-", "−")


def signed(value: float, digits: int = 3) -> str:
    """With its sign, also where it is more."""
    return ("+" if value > 0 else "") + in_words(value, digits)


def unit_in_words(name: str, unit: str) -> str:
    """What stands behind a number of that quantity, with a blank before it; "" of a plain number."""
    counted = next((what for ending, what in OF_RATES if unit == "1/s" and name.endswith(ending)), "")
    words = " ".join(filter(None, [counted, WORDS.get(unit, unit)]))
    return f" {words}" if words else ""


def with_unit(name: str, unit: str) -> str:
    """A quantity as an axis has it: pgbench.progress.tps (transactions a second)."""
    words = unit_in_words(name, unit).strip()
    return f"{name} ({words})" if words else name


def chance(p: float) -> str:
    """A p value: p = 0.03; p < 0.001."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"
