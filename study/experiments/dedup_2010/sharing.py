"""What shared blocks are worth, and what the table does to those who wait: reads, synchronous writes, clones.

    reads(…)           two files that are the same are read one after the other: from where, how fast
    synchronous(…)     calls that wait for the intent log, at several rates, with and without dedup
    copies(…)          copies of an image by writing them, by dedup and by cloning: time, bytes stored, time to delete one

A clone is a copy of pointers (a clone of a snapshot, in 2010). It has no table: what is changed later is written as
anything is, and what is freed asks nobody. Machines are `study.machines.dedup_pool.DedupMachine`.
"""
import numpy as np
import pandas as pd

from model.events.clock import MS
from study.experiments.dedup_2010.table_costs import BASE, FREED_S, LIMIT, found_shares, with_table
from study.machines.dedup_pool import DedupMachine, simulated, sustained

IN_MEMORY, BEYOND = 0.5, 4.0        # size of the table, in what memory may hold of it
PLAIN, DEDUP, CLONE = "not shared", "dedup", "clone"
CONDITIONS = (("without dedup", False, 1.0, False), ("table in memory", True, IN_MEMORY, False),
              (f"table {BEYOND:g} times memory", True, BEYOND, False),
              (f"{BEYOND:g} times, throttle open", True, BEYOND, True))
SMALL_LIMIT = 2**24                 # B of metadata; an ARC of 64 MiB, the least there is: what counts are parts of it
SLOW_MS = 100.0                     # a call that takes longer waits for the throttle, and not for a device: ours
OF_COPIES = (("write_s", "s"), ("stored_gib", "GiB"), ("delete_s", "s"))
CHANGED = 0.02                      # of a copy's blocks, as in `study.experiments.dedup_2010.contents`


# --- reads ------------------------------------------------------------------------------------------------------------

def reads(parts: list[float], n_disks: int, seed: int) -> pd.DataFrame:
    """Two equal files of 8K blocks, each such a part of the ARC. Columns: how they share; part; in_memory, the share of the
    second file's blocks; first_ms and second_ms, for a block of each."""
    rows = []
    for how in (PLAIN, DEDUP, CLONE):
        for part in parts:
            n = round(part * 4 * SMALL_LIMIT / BASE.block_bytes)
            machine = BASE._replace(
                limit_bytes=SMALL_LIMIT, unique_bytes=SMALL_LIMIT if how == DEDUP else 1, n_disks=n_disks, n_files=2,
                file_blocks=n, shared_blocks=0 if how == PLAIN else n, has_writer=False, seconds=0.1 * n + 10, warm_s=0.0)
            (_, _, first), (hits, misses, second) = simulated(machine, how == DEDUP, seed).files.tolist()
            rows.append((how, part, hits / (hits + misses), first / n / MS, (second - first) / n / MS))
    return pd.DataFrame(rows, columns=["how", "part", "in_memory", "first_ms", "second_ms"])


# --- synchronous writes -----------------------------------------------------------------------------------------------

def synchronous(offered: list[float], n_disks: int, seconds: float, seed: int) -> pd.DataFrame:
    """8K calls that wait for an intent log on an SSD, and come at a pace (MB/s). Columns: what, offered, ms of half and of
    99 % of them, the longest, and when the first took more than SLOW_MS. That is in s, and none if it did not come."""
    rows = []
    for what, has_dedup, times, was_fast in CONDITIONS:
        for rate in offered:
            machine = with_table(times, found_shares()[1], BASE._replace(
                n_disks=n_disks, offered=rate * 1e6, is_sync=True, has_log_device=True, was_fast=was_fast,
                seconds=seconds, warm_s=seconds / 3))
            waits, first = synchronous_waits(machine, has_dedup, seed)
            rows.append((what, rate, *np.percentile(waits[:-1], (50, 99)), waits.max(), first))
    return pd.DataFrame(rows, columns=["what", "offered", "p50_ms", "p99_ms", "most_ms", "first_slow_s"])


def synchronous_waits(machine: DedupMachine, has_dedup: bool, seed: int) -> tuple[np.ndarray, float]:
    """What calls of a machine with `offered` take, ms, at last of one that has not ended. Also when the first takes more
    than SLOW_MS, s, nan if none does. The first call begins the chain and does not count."""
    response = simulated(machine, has_dedup, seed).response_ns / MS
    gap_ms = 1e3 * machine.block_bytes / machine.offered
    waits = np.append(response, max(0.0, 1e3 * machine.seconds - len(response) * gap_ms))[1:]
    slow = np.flatnonzero(waits > SLOW_MS)
    return waits, (slow[0] + 1) * gap_ms / 1e3 if len(slow) else np.nan


# --- copies -----------------------------------------------------------------------------------------------------------

def copies(image_gib: float, n_copies: int, n_disks: int, seconds: float, seed: int) -> pd.DataFrame:
    """`n_copies` of an image, each then changed in CHANGED of its 8K blocks. Columns: how, times (the table, in what memory
    may hold), s to write all, GiB stored, s to delete one of them.

    With dedup every block is written, and found unless it is changed; the first copy's are the second of their kind. With
    clones only changed blocks are written.
    Who deletes a copy frees all of its blocks with dedup, and without; of a clone those that are its own.
    """
    n_blocks, rows = image_gib * 2**30 / BASE.block_bytes, []
    for how, times in ((PLAIN, 1.0), (DEDUP, IN_MEMORY), (DEDUP, BEYOND), (CLONE, 1.0)):
        has_dedup, own = how == DEDUP, 1.0 if how == PLAIN else CHANGED
        half = times * LIMIT / 2        # of the table: an object each for blocks of several owners, and of one
        machine = BASE._replace(unique_bytes=half, duplicate_bytes=half if has_dedup else 0.0, n_disks=n_disks,
                                found_share=1 - CHANGED if has_dedup else 0.0,
                                second_share=(1 - CHANGED) / n_copies if has_dedup else 0.0,
                                seconds=seconds, warm_s=seconds / 3)
        written = n_blocks * (CHANGED if how == CLONE else 1.0)
        rate = sustained(machine, has_dedup, seed).blocks_per_s
        freeing = simulated(machine._replace(second_share=0.0, is_free=True, threads=64,
                                             seconds=max(seconds, FREED_S), warm_s=FREED_S / 3),
                            has_dedup, seed).blocks_per_s
        rows.append((how, times if has_dedup else np.nan, n_copies * written / rate,
                     image_gib * (1 + n_copies * own), written / freeing))
    return pd.DataFrame(rows, columns=["how", "times", "write_s", "stored_gib", "delete_s"])


# --- for the run store -----------------------------------------------------------------------------------------------

def _name(what: str) -> str:
    return what.replace(",", "").replace(" ", "-")


def metrics(read: pd.DataFrame, synced: pd.DataFrame, copied: pd.DataFrame) -> pd.DataFrame:
    """For the run store: name, value, unit."""
    rows = [(f"reads.{_name(row.how)}.{row.part:g}.in-memory", row.in_memory, "1") for row in read.itertuples()]
    rows += [(f"synchronous.{_name(row.what)}.{row.offered:g}.{quantity}", getattr(row, f"{quantity}_ms"), "ms")
             for row in synced.itertuples() for quantity in ("p50", "most")]
    rows += [(f"copies.{_name(row.how)}{'' if np.isnan(row.times) else f'.{row.times:g}'}.{quantity.replace('_', '-')}",
              getattr(row, quantity), unit)
             for row in copied.itertuples() for quantity, unit in OF_COPIES]
    return pd.DataFrame(rows, columns=["name", "value", "unit"])
