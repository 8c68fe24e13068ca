"""What the dedup table costs: memory, writes and reads.

    memory(seed)                B of a table in core, as it grows
    found_shares()              of the blocks written, what the table has already: least, best guess, most
    batches()                   writes of data that one write of a table block stands for
    cliff(…)                    rates and response times over the size of the table, simulated
    of_2018(…)                  the same for the one published cliff whose conditions are printed

Machines are `study.machines.dedup_pool.DedupMachine`.
"""
import numpy as np
import pandas as pd

from model.events.clock import MS
from model.events.streams import stream
from model.zfs.dedup.table import ENTRY_IN_USE_BYTES, group, new_table
from model.zfs.dedup.zap import KEY_BITS, ZapParams, enter_all, new_zap, size_of
from study.documents import priors
from study.ensembles import kept
from study.machines.dedup_pool import DedupMachine, entry_bytes, simulated, sustained, with_duplicates

PUBLISHED_IN_CORE = (       # entries, B in core each: conditions 10.3 and 10.4, outputs of pools of 2012 to 2023
    (8193, 141, "1 GB written five times"), (0.70e6, 187, "openzfs 12255"), (29.3e6, 146, "openzfs 15361"),
    (70e6, 260, "openzfs 5904"), (240.6e6, 160, "openzfs 5182"))
UNITS = {"128K": 2**17, "8K": 2**13}
SAID = 200                  # B: the entry of the post
LIMIT = 2**28               # B of metadata in memory: 65 536 blocks of the table, at full size
FREED_S = 100.0             # a group that meets no limit takes 30 s
BASE = DedupMachine(unique_bytes=0, limit_bytes=LIMIT)
EXPERIMENT = "dedup-costs"   # of data/priors.toml
UNIQUE, MOST = "new blocks alone", "most duplicates"


# --- memory -----------------------------------------------------------------------------------------------------------

def memory(seed: int, most: int = 4_000_000) -> pd.DataFrame:
    """A table that grows: entries, and B of the table in core for each, as `zdb -DD` counts them."""
    params, draws, rows, n = ZapParams(), stream(seed, "keys"), [], 0
    zap = new_zap(params, most)
    for upto in np.geomspace(10_000, most, 60).astype(int).tolist():
        enter_all(zap, np.sort(draws.integers(0, 2**KEY_BITS, upto - n, dtype=np.int64)))
        n = upto
        rows.append((n, size_of(zap, params).zdb_in_core))
    return pd.DataFrame(rows, columns=["entries", "in_core"])


def definitions(grown: pd.DataFrame) -> pd.DataFrame:
    """What *an entry* may be, and what memory 20 TB of different data then ask for: what, B, GB at 128K, GB at 8K."""
    published = [b for _, b, _ in PUBLISHED_IN_CORE]
    rows = [("said in 2010", SAID), ("model: blocks of the table, on the average", grown.in_core.iloc[-20:].mean()),
            ("model, by its filling: 4096 B / (31 x ln 2)", entry_bytes()),
            ("published zdb -DD, least", min(published)), ("published zdb -DD, most", max(published)),
            ("an entry while a group uses it", ENTRY_IN_USE_BYTES)]
    return pd.DataFrame([(what, each, *(20e12 / unit * each / 1e9 for unit in UNITS.values())) for what, each in rows],
                        columns=["what", "B", *(f"GB for 20 TB at {unit}" for unit in UNITS)])


# --- writes -----------------------------------------------------------------------------------------------------------

def batches(seed: int, n_blocks: int = 20_000) -> pd.DataFrame:
    """A group of duplicates, in tables of several sizes. Columns: entries, blocks for each table block that is dirtied (of 4
    KiB, and of 16 KiB as the post has it)."""
    rows = []
    for n in np.geomspace(1000, 1_000_000, 13).astype(int).tolist():
        keys = stream(seed, f"{n} entries").integers(0, 2**KEY_BITS, n, dtype=np.int64)
        for shift in (12, 14):
            table = new_table(ZapParams(leaf_shift=shift), n)
            group(table, keys, 1)
            group(table, keys, 2)
            done = group(table, stream(seed, "again").choice(keys, n_blocks), 3)
            rows.append((n, 1 << shift, n_blocks / done.dirtied))
    return pd.DataFrame(rows, columns=["entries", "block", "blocks_per_write"])


# --- the cliff --------------------------------------------------------------------------------------------------------

def found_shares() -> tuple[float, float, float]:
    """Share of the blocks written that the table has already: least, best guess, most (data/priors.toml)."""
    prior = next(each for each in priors.read(EXPERIMENT).priors if each.name == "found_share")
    return prior.low, prior.central, prior.high


def with_table(times: float, found_share: float, base: DedupMachine = BASE) -> DedupMachine:
    """A machine whose table is `times` as large as what memory may hold of it, with its share of duplicates."""
    return with_duplicates(base._replace(unique_bytes=times * LIMIT), found_share)


def _rows(name: str, calls: list[tuple]) -> pd.DataFrame:
    """A row for each of `calls`, read where they are kept (`study.ensembles.kept`)."""
    ensemble = kept.Ensemble(name, __name__, (), ("hardware/*.toml",))
    return pd.DataFrame([row for rows in kept.rows(ensemble, _row, calls) for row in rows])


def _row(machine: DedupMachine, has_dedup: bool, seed: int, name: str, times: float) -> list[dict]:
    done = sustained(machine, has_dedup, seed)
    counts, looked_up = done.counts, max(1, done.counts["lookups"])
    return [{"what": name, "times": times, "mb_per_s": done.bytes_per_s / 1e6, "blocks_per_s": done.blocks_per_s,
             "p50_ms": float(np.percentile(done.response_ns, 50)) / MS, "most_ms": float(done.response_ns.max()) / MS,
             "reads_per_block": counts["disk_reads"] / looked_up, "busy": done.busy_share, "busiest": done.busiest_share}]


def cliff(times: list[float], n_disks: int, block_bytes: int, l2_share: float, seconds: float, seed: int) -> pd.DataFrame:
    """Writes as long as `sustained` has them, with tables of so many times what memory may hold. Columns begin with what,
    times, mb_per_s. It is done with the best guess of how many blocks are there already, with none of them, and with the
    most."""
    base = BASE._replace(n_disks=n_disks, block_bytes=block_bytes, seconds=seconds, warm_s=seconds / 3)
    _, middle, most = found_shares()
    calls = [(with_table(1.0, middle, base), False, seed, "without dedup", 1.0)]
    for n in times:
        large = with_table(n, middle, base)
        calls += [(large, True, seed, "with dedup", n),
                  (large._replace(l2_bytes=l2_share * n * LIMIT), True, seed, "and a cache device", n),
                  (with_table(n, 0.0, base), True, seed, UNIQUE, n), (with_table(n, most, base), True, seed, MOST, n)]
    return _rows("dedup-cliff", calls)


def paced(offered: list[float], times: float, n_disks: int, seconds: float, seed: int) -> pd.DataFrame:
    """Response times of calls that come at a pace (MB/s): what a call waits for the throttle."""
    base = with_table(times, found_shares()[1], BASE._replace(n_disks=n_disks, seconds=seconds, warm_s=seconds / 3))
    return _rows("dedup-paced", [(base._replace(offered=rate * 1e6), True, seed, "paced", rate) for rate in offered])


def deletion(file_gib: float, n_disks: int, seconds: float, seed: int) -> pd.DataFrame:
    """How long a file of 8K blocks takes to be freed at 25 000 blocks a second (study/machines/dedup_pool.py). The table is
    in memory or eight times as large. Look-ups are 64 at a time, as they are prefetched. A run has several groups of 30
    s."""
    seconds = max(seconds, FREED_S)
    rows = []
    for name, times in (("table in memory", 0.5), ("table eight times memory", 8.0)):
        machine = with_table(times, found_shares()[1], BASE._replace(
            n_disks=n_disks, is_free=True, threads=64, seconds=seconds, warm_s=seconds / 3))
        rate = simulated(machine, True, seed).blocks_per_s
        rows.append((name, rate, file_gib * 2**30 / 8192 / max(rate, 1e-9)))
    return pd.DataFrame(rows, columns=["what", "blocks freed a second", "s"])


def freed_metrics(freed: pd.DataFrame) -> pd.DataFrame:
    """For the run store: seconds for the file."""
    return pd.DataFrame([(f"freed.{row['what'].replace(' ', '-')}", row["s"], "s") for row in freed.to_dict("records")],
                        columns=["name", "value", "unit"])


def of_2018(n_disks: list[int], seconds: float, seed: int) -> pd.DataFrame:
    """The pool of openzfs pull request 5182 (conditions 10.7), by the conditions that are printed there. These are 240.6
    million entries of 160 B, 10 GB of metadata in memory, 14 GB on a cache device, blocks of 5.8 kB. How many disks it had,
    how many duplicates, and the rules of 2018, are not known here: the disks are those of the appliance."""
    machine = DedupMachine(unique_bytes=240.6e6 * 160, limit_bytes=10e9, l2_bytes=14e9, block_bytes=5800, seconds=seconds,
                           warm_s=seconds / 3)
    _, middle, most = found_shares()
    return _rows("dedup-2018", [(with_duplicates(machine._replace(n_disks=n), share), True, seed, f"{n} disks{words}", n)
                                for words, share in (("", middle), (f", {UNIQUE}", 0.0), (f", {MOST}", most))
                                for n in n_disks])


def metrics(name: str, rows: pd.DataFrame) -> pd.DataFrame:
    """For the run store: rates and longest calls, by what and times."""
    names = rows.what.str.replace(",", "").str.replace(" ", "-")
    return pd.DataFrame([(f"{name}.{what}.{row.times:g}.{quantity}", getattr(row, quantity), unit)
                         for what, row in zip(names, rows.itertuples(), strict=True)
                         for quantity, unit in (("mb_per_s", "MB/s"), ("most_ms", "ms"))],
                        columns=["name", "value", "unit"])
