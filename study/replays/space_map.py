"""Recorded decisions of the real allocator against the model's, block by block: one space map (level 1).

The operations of a trace go to `model.zfs.space.replay_exact`, which places blocks with the kernels that simulations call,
and every offset is compared. Traces of a pool of metaslabs (level 2) are replayed by `study.replays.pool`.
"""
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from model.devices.sectors import SECTOR_BYTES
from model.zfs.metaslab.replay import ADD_VDEV
from model.zfs.space import replay_exact, replay_fast
from model.zfs.space.bitmaps import MAX_BLOCKS
from model.zfs.space.pickers import VARIANTS
from model.zfs.space.replay_exact import ALLOCATE, FREE, NEW_MAP, Operations
from study.errors import UserError
from study.replays.alloc_trace import (
    AMBIGUOUS,
    AllocReplay,
    Places,
    Trace,
    check_engine,
    check_freed,
    check_variant,
    compare,
    compared,
    read_places,
    read_trace,
    recorded_with,
    refuse_rows,
    write_places,
)
from study.replays.trace_file import read_columns

NOTHING = Operations(*np.zeros((3, 0), np.int64))


def _operations(trace: Trace) -> Operations:
    """As the model wants it."""
    allocates = trace.op == ALLOCATE
    n_bytes = np.where(allocates, trace.size512, np.where(trace.op == NEW_MAP, trace.arg, 0)) * SECTOR_BYTES
    block = np.where(allocates, np.cumsum(allocates) - 1, np.where(trace.op == FREE, trace.arg, -1))
    return Operations(trace.op, n_bytes, block)


def _check_maps(trace: Trace) -> None:
    """A trace of one space map begins with a map, and its sizes are whole units of it."""
    first = np.flatnonzero((trace.op == ALLOCATE) | (trace.op == NEW_MAP))
    if not len(first) or trace.op[first[0]] != NEW_MAP:
        raise UserError(f"{trace.path} has no new map (op 4) before its first allocation, but a trace of one space map "
                        "begins with one. For a trace of many metaslabs give --pools, or --metaslabs and --metaslab-size")
    refuse_rows(trace, trace.op == ADD_VDEV, f"adds vdev {{arg}} (op {ADD_VDEV}), but one map has no vdevs",
                "give --pools for a trace of a pool")
    maps = np.flatnonzero(trace.op == NEW_MAP)
    units = 1 << (trace.size512[maps] - 9)
    unit = units[np.maximum(np.searchsorted(maps, np.arange(len(trace.op)), "right") - 1, 0)]
    sectors = np.where(trace.op == ALLOCATE, trace.size512, np.where(trace.op == NEW_MAP, trace.arg, 0))
    bad = np.flatnonzero(sectors % unit)
    if len(bad):
        raise UserError(f"{trace.path}: row {bad[0]} has a size of {sectors[bad[0]]} sectors, which is no multiple "
                        f"of the map's unit of {unit[bad[0]]}; mend the row or the map")


def replay_map(path: Path | str, variant: str, expect: Path | str | None = None, to: Path | str | None = None,
               engine: str = "exact") -> AllocReplay:
    """Run the trace of one space map at `path` through the model under the rules of `variant`.

    expect  the recorded offsets, each of which is compared; None: nothing is
    to      a file for the model's offsets
    """
    check_variant(variant)
    check_engine(engine)
    trace = read_trace(path)
    _check_maps(trace)
    recorded = read_places(expect, int((trace.op == ALLOCATE).sum())) if expect is not None else None
    return _replayed(trace, variant, recorded, to, engine)


def _driven(variant: str, operations: Operations, engine: str) -> tuple:
    """(engine that was used, blocks, summary, seconds). `auto` is fast, unless blocks are too small for it or a choice
    depended on the shape of a tree."""
    if engine == "auto":
        if replay_fast.fits(operations):
            driven = _driven(variant, operations, "fast")
            if driven[2].n_ambiguous == 0:
                return driven
        return _driven(variant, operations, "exact")
    if engine == "fast" and not replay_fast.fits(operations):
        raise UserError(f"the largest map has more than {MAX_BLOCKS} blocks of {replay_fast.unit_of(operations)} B, the "
                        "most that the fast engine takes; choose exact or auto")
    drive = {"exact": replay_exact.drive, "fast": replay_fast.drive}[engine]
    drive(VARIANTS[variant], NOTHING)  # compiles
    start = time.process_time()
    blocks, summary = drive(VARIANTS[variant], operations)
    return engine, blocks, summary, time.process_time() - start


def _replayed(trace: Trace, variant: str, recorded: Places | None, to: Path | str | None, engine: str) -> AllocReplay:
    engine, blocks, summary, seconds = _driven(variant, _operations(trace), engine)
    places = Places(np.where(blocks.offset < 0, -1, blocks.offset // SECTOR_BYTES))
    differences, first = (None, None) if recorded is None else compare(trace, places, recorded)
    check_freed(trace, places, first, ambiguous=summary.n_ambiguous if engine == "fast" else 0)
    if to is not None:
        write_places(to, places)
    counts = {"refused": summary.n_refused, "placed by the tree of sizes": summary.by_size,
              "segments free at the end": summary.n_segments}
    if engine == "fast":
        counts[AMBIGUOUS] = summary.n_ambiguous
    return AllocReplay(
        path=trace.path, variant=variant, engine=engine, rows=len(trace.op), allocations=len(places.off512),
        differences=differences, first=first, seconds=seconds, summary=counts,
        columns=compared(places, recorded))


# ---- folders ----


def is_of_one_map(path: Path) -> bool:
    """Whether the operations at `path` are of one map: those of a pool begin none."""
    try:
        return NEW_MAP in read_columns(path, ("op",), "an operation is made of")["op"]
    except UserError:
        return True  # to be read by `replay_map`, which says what is wrong


def replays_of(path: Path) -> Iterator[AllocReplay]:
    """The trace of one space map at `path` under every variant of which offsets are recorded."""
    for variant, offsets in recorded_with(path):
        yield replay_map(path, variant, offsets)
