"""Where a partition begins, what requests have, what blocks have: all at once, simulated and by closed forms.

    slowdowns(starts, sizes, machine, seed)         offset against request size, through the simulation
    ios(block_kib, cached, read_share)              the same by closed forms, at once
    what_is_cached(machine, shares, seed)           synchronous or not, and how much of the LUN is in memory
    blocks(machine, block_kib, seed)                volume block sizes
"""
from collections.abc import Sequence

import pandas as pd

from model.zfs.dmu import straddling
from study.ensembles.ensembles import AFTER, BEFORE, VARIANTS
from study.ensembles.processors import on_all_processors
from study.experiments.alignment_2010 import lun
from study.machines.appliance_lun import KIB, Setup, quantities

SECTORS = (0, 1, 4, 8, 16, 34, 63)      # starts, in sectors of 512 B: EFI labels begin at 34, tables of DOS at 63
SIZES_KIB = (4, 8, 16, 32, 64, 128)
SECTOR = straddling.SECTOR_BYTES


def _rates(machines: Sequence[Setup], variants: Sequence[str], seed: int) -> list[dict[str, float]]:
    """The quantities of each machine under a variant, on all processors."""
    runs = on_all_processors(lun.run, [(machine, variant, seed)
                                       for machine, variant in zip(machines, variants, strict=True)])
    return [quantities(x, machine) for x, machine in zip(runs, machines, strict=True)]


def slowdowns(machine: Setup, seed: int, starts: Sequence[int] = SECTORS,
              sizes_kib: Sequence[int] = SIZES_KIB) -> pd.DataFrame:
    """How many times fewer requests are done than from an aligned start: start_kib, request_kib, slowdown, response (ms),
    disk_ios (I/Os of the disks for each request). A start is in sectors; the first is the aligned one."""
    cases = [(start, size) for size in sizes_kib for start in starts]
    machines = [machine._replace(start_bytes=start * SECTOR, request_bytes=size * KIB) for start, size in cases]
    seen = _rates(machines, [AFTER] * len(cases), seed)
    aligned = {size: x["requests.rate"] for (start, size), x in zip(cases, seen, strict=True) if start == starts[0]}
    return pd.DataFrame([(start * SECTOR / KIB, size, aligned[size] / x["requests.rate"], x["requests.response"],
                          x["disk.reads"] + x["disk.writes"]) for (start, size), x in zip(cases, seen, strict=True)],
                        columns=["start_kib", "request_kib", "slowdown", "response", "disk_ios"])


def ios(block_kib: int, cached: float, read_share: float, starts: Sequence[int] = SECTORS,
        sizes_kib: Sequence[int] = SIZES_KIB) -> pd.DataFrame:
    """By closed forms, how many times more blocks are read and written than from an aligned start: start_kib, request_kib,
    slowdown. Small requests are looked at over a whole block."""
    rows = []
    for size in sizes_kib:
        of_starts = [_mean_ios(start * SECTOR, size * KIB, block_kib * KIB, cached, read_share) for start in starts]
        rows += [(start * SECTOR / KIB, size, n / of_starts[0] if of_starts[0] else 1.0)    # 0: all is in memory
                 for start, n in zip(starts, of_starts, strict=True)]
    return pd.DataFrame(rows, columns=["start_kib", "request_kib", "slowdown"])


def _mean_ios(start: int, n_bytes: int, block_bytes: int, cached: float, read_share: float) -> float:
    """Blocks read and written for a request at random, at the places that requests have in a block."""
    n = max(1, block_bytes // n_bytes)
    total = 0.0
    for i in range(n):
        for is_write, share in ((False, read_share), (True, 1 - read_share)):
            total += share * sum(straddling.expected_ios(start + i * n_bytes, n_bytes, block_bytes, is_write, cached))
    return total / n


def what_is_cached(machine: Setup, shares: Sequence[float], seed: int) -> pd.DataFrame:
    """Aligned and misaligned, synchronous and not, with these shares of the LUN in memory. Columns: writes, in_memory,
    slowdown, and of both variants the response time of a request (ms) and the I/Os of the disks for it."""
    cases = [(synchronous, share, variant) for synchronous in (True, False) for share in shares for variant in VARIANTS]
    machines = [machine._replace(synchronous=synchronous, cached=share) for synchronous, share, _ in cases]
    seen = dict(zip(cases, _rates(machines, [variant for *_, variant in cases], seed), strict=True))
    rows = []
    for synchronous in (True, False):
        for share in shares:
            before, after = (seen[synchronous, share, variant] for variant in (BEFORE, AFTER))
            rows.append({"writes": "synchronous" if synchronous else "not", "in_memory": share, **_both(before, after)})
    return pd.DataFrame(rows)


def blocks(machine: Setup, block_kib: Sequence[int], seed: int) -> pd.DataFrame:
    """The same for volume block sizes: block_kib, and as above."""
    machines = [machine._replace(block_bytes=size * KIB) for size in block_kib for _ in VARIANTS]
    seen = _rates(machines, list(VARIANTS) * len(block_kib), seed)
    return pd.DataFrame([{"block_kib": size} | _both(before, after)
                         for size, before, after in zip(block_kib, seen[::2], seen[1::2], strict=True)])


def _both(before: dict[str, float], after: dict[str, float]) -> dict[str, float]:
    row = {"slowdown": before["requests.rate"] / after["requests.rate"]}
    for name, x in (("aligned", before), ("misaligned", after)):
        row |= {f"{name}_ms": x["requests.response"], f"{name}_ios": x["disk.reads"] + x["disk.writes"]}
    return row


def metrics(table: pd.DataFrame, name: str, keys: Sequence[str]) -> pd.DataFrame:
    """The slowdowns of a table for the run store: name, value, unit."""
    return pd.DataFrame([(".".join([name, *(f"{row[key]:g}" if isinstance(row[key], int | float) else row[key]
                                            for key in keys), "slowdown"]), row["slowdown"], "1")
                         for row in table.to_dict("records")], columns=["name", "value", "unit"])
