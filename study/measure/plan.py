"""What will be run, in which order, how long that takes, and how much disk and memory it needs: before anything starts.

Runs are in random order within each repeat, so that a machine that grows slower by and by favours no rung.
"""
import os
import shutil
from pathlib import Path
from typing import NamedTuple

from model.events.streams import stream
from study.errors import UserError
from study.machines import conf
from study.measure import provenance
from study.measure.ladder import GIB, MIB, Rung, Sizes

SCALE_BYTES = 16 * MIB              # tables and indexes of pgbench for each -s
GROWTH = 2.0                        # of the tables by updates, at most
LOG_BYTES = 48                      # a line of pgbench's log of transactions, rounded up
MOST_TPS = 10_000                   # that a processor is taken to do at most, for the size of logs
DEFAULT_LOG = GIB                   # max_wal_size as PostgreSQL comes
LOG_GROWTH = 1.5                    # max_wal_size is no hard limit: documentation of PostgreSQL
CLUSTER_BYTES = 100 * MIB           # a new cluster, and a copy of the programs
LEFT_FREE = 0.05                    # of the disk, so that others have room
BACKEND_BYTES = 10 * MIB
FILL_S = 0.25                       # to fill the tables for each -s, measured on the machine of data/measured
RESTART_S, MAKE_S, KEEP_S = 1.5, 3.0, 0.6   # likewise: a restart and a checkpoint; a cluster; an import


class Run(NamedTuple):
    """One run of a rung, and when it comes."""
    rung: Rung
    repeat: int         # from 1
    order: int          # from 1: when it comes


class Plan(NamedTuple):
    """All runs in their order, and what they need of time, disk and memory."""
    runs: list[Run]
    sizes: Sizes
    seed: int
    seconds: float      # estimated, of all
    disk_bytes: int     # that the cluster may take
    wal_bytes: int      # of these, in the folder of the log when that is apart; else 0
    memory_bytes: int


def of(rungs: list[Rung], sizes: Sizes, seed: int) -> Plan:
    """The runs in their order, and what they need."""
    draw = stream(seed, "order of the ladder")
    runs: list[Run] = []
    for repeat in range(1, sizes.repeats + 1):
        for place in draw.permutation(len(rungs)):
            runs.append(Run(rungs[place], repeat, len(runs) + 1))
    scales = sorted({rung.scale for rung in rungs})
    log = round(LOG_GROWTH * max(_log_bytes(rung) for rung in rungs))
    n_lines = MOST_TPS * len(os.sched_getaffinity(0)) * sizes.seconds
    tables = round(GROWTH * SCALE_BYTES * sum(scales))
    return Plan(
        runs=runs, sizes=sizes, seed=seed,
        seconds=MAKE_S + FILL_S * sum(scales) + len(runs) * (sizes.seconds + sizes.warm_up_s + RESTART_S + KEEP_S),
        disk_bytes=CLUSTER_BYTES + tables + log + LOG_BYTES * n_lines,
        wal_bytes=log if any(rung.wal_apart for rung in rungs) else 0,
        memory_bytes=max(_buffer_bytes(rung) + rung.clients * BACKEND_BYTES for rung in rungs) + 256 * MIB)


def _log_bytes(rung: Rung) -> int:
    return int(conf.size(rung.settings.get("max_wal_size", str(DEFAULT_LOG))))


def _buffer_bytes(rung: Rung) -> int:
    return int(conf.size(rung.settings.get("shared_buffers", "128MB")))


def refuse_too_large(plan: Plan, folder: Path, wal_folder: Path | None) -> None:
    """UserError, with figures, if a disk or the memory has no room for the plan."""
    needs = [("--dir", folder, plan.disk_bytes)] + ([("--wal-dir", wal_folder, plan.wal_bytes)] if wal_folder else [])
    for option, place, needed in needs:
        try:
            space = shutil.disk_usage(place)
        except OSError as error:
            raise UserError(f"{option} is {place}, which cannot be looked at ({error.strerror}); name a folder") from None
        kept = round(LEFT_FREE * space.total)
        if space.free - kept < needed:
            raise UserError(f"the ladder may take {needed / GIB:.2f} GiB in {place}, but {space.free / GIB:.2f} GiB are "
                            f"free and {kept / GIB:.2f} of these stay free. Choose a smaller --scale, or another {option}")
    if (free := provenance.free_memory_bytes()) < plan.memory_bytes:
        raise UserError(f"the ladder takes up to {plan.memory_bytes / GIB:.2f} GiB of memory, but {free / GIB:.2f} GiB are "
                        "free; choose fewer --clients, or end what takes the memory")
