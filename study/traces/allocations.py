"""The writes of a trace through the allocator: how many records lie side by side, and so go to a disk in a write.

A block that is written goes to a new place, in the order in which blocks were first written in their transaction group. What
it had before is freed with the group. Groups end by time alone, as the build has it. The pool is one disk, empty at first.
All blocks that the trace ever writes take a share `fill` of it.
"""
import time

import numpy as np
import pandas as pd

from model.structures.sentinels import NOWHERE
from model.zfs.ageing.described import n_units
from model.zfs.metaslab.new_pool import metaslab_shift
from model.zfs.metaslab.replay import ALLOCATE, END_OF_TXG, FREE, Rows
from model.zfs.metaslab.state import TopVdev
from study.errors import UserError
from study.pools.forecast_page import in_words
from study.replays.pool import ERA_OF, drive_by_variant
from study.traces.arcs import Blocks, blocks_of
from study.traces.requests import Trace, chunks
from study.traces.through import Through, need_place, need_time, rules, trims
from study.words import counted

MAX_WRITES = 2**24      # of blocks; the allocator takes them all at once, in 2 GB
MAX_GROUPS = 2**17
LAST = 0.1              # of the groups: what the allocator has come to


def through_allocator(trace: Trace, block_bytes: int, fill: float, era: str | None) -> Through:
    """By the rules of one build, or of each that differs. Raises UserError."""
    need_place(trace, "allocator")
    need_time(trace, "allocator")
    if not trace.format.has_kind:
        raise UserError(f"{trace.path} is {trace.format.name}, which does not say what is written; choose --through arc")
    if not 0 < fill <= 0.95:
        raise UserError(f"the fill is {fill:g}, but it must be more than 0 and at most 0.95; choose such a share")
    if block_bytes > 2**17:
        raise UserError(f"blocks have {block_bytes} bytes, but those of these builds have 131072 at most; choose a smaller "
                        "--block")
    variants = {name: variant for variant, name in ERA_OF.items() if era in (None, name)}
    if not variants:
        raise UserError(f"the era is {era}, but the allocator's rules differ in {', '.join(ERA_OF.values())}; choose one of "
                        "these, or none for all")
    keys, time_ns = _writes(trace, blocks_of(trace, block_bytes))
    vdev = _vdev(len(np.unique(keys)), block_bytes, fill)
    made, seconds = [], 0.0
    for name, variant in variants.items():
        rows, groups = _rows(trace, keys, time_ns, block_bytes, rules(name).txg.timeout_ns)
        start = time.process_time()
        driven = drive_by_variant(variant, rows, [vdev], "auto")
        seconds += time.process_time() - start
        made.append(_counted(name, driven.decided.offset, groups, block_bytes))
    notes = [f"{counted(len(keys), 'write')} of blocks of {in_words(block_bytes)}, to a disk of {in_words(vdev.asize)} that "
             f"is empty at first and {100 * fill:g} % full when each has been written (--fill). A group ends by time alone",
             *trims(trace)]
    return Through(mechanism="allocator", table=pd.DataFrame(made), notes=notes, seconds=seconds, runs=len(made))


def _writes(trace: Trace, touched: Blocks) -> tuple[np.ndarray, np.ndarray]:
    """(numbers of blocks, ns) of all writes, in order."""
    n = len(touched.rows) - touched.n_reads
    if not n:
        raise UserError(f"{trace.path} has no writes, so there is nothing to allocate; choose --through arc")
    if n > MAX_WRITES:
        raise UserError(f"{trace.path} has {n} writes of blocks, but the allocator takes {MAX_WRITES} at a time; choose a "
                        "larger --block, or cut the trace")
    parts = [rows[rows["is_write"] == 1] for rows in chunks(touched.rows)]
    return tuple(np.concatenate([part[name] for part in parts]).astype(np.int64) for name in ("key", "time_ns"))  # type: ignore[return-value]


def _vdev(n_blocks: int, block_bytes: int, fill: float) -> TopVdev:
    """A disk of whole metaslabs, of which the blocks take this share or a little less."""
    asize = int(n_blocks * block_bytes / fill) + 1
    shift = metaslab_shift(asize)
    return TopVdev(asize=-(-asize >> shift) << shift, ms_shift=shift)


def _rows(trace: Trace, keys: np.ndarray, time_ns: np.ndarray, block_bytes: int, timeout_ns: int) -> tuple[Rows, np.ndarray]:
    """(operations, group of each allocation, from 0)"""
    _, group = np.unique(time_ns // timeout_ns, return_inverse=True)
    if group[-1] >= MAX_GROUPS:
        raise UserError(f"{trace.path} has {group[-1] + 1} transaction groups, but the allocator takes {MAX_GROUPS} at a "
                        "time; cut the trace")
    _, first = np.unique(group * (keys.max() + 1) + keys, return_index=True)
    first.sort()
    keys, group = keys[first], group[first]
    before = np.full(len(keys), -1)
    order = np.argsort(keys, kind="stable")
    again = keys[order[1:]] == keys[order[:-1]]
    before[order[1:][again]] = order[:-1][again]
    at = np.arange(len(keys)) + np.cumsum(before >= 0) - (before >= 0) + group
    n_groups = int(group[-1]) + 1
    op = np.full(len(keys) + int((before >= 0).sum()) + n_groups, FREE)
    n_bytes, which, n_copies = np.full(len(op), block_bytes), np.zeros(len(op), np.int64), np.zeros(len(op), np.int64)
    op[at], n_copies[at] = ALLOCATE, 1
    which[at[before >= 0] + 1] = before[before >= 0]
    ends = np.append(at[np.flatnonzero(np.diff(group)) + 1] - 1, len(op) - 1)
    op[ends], n_bytes[ends], which[ends] = END_OF_TXG, 0, 1 + np.arange(n_groups)
    return Rows(op=op, n_bytes=n_bytes, which=which, n_copies=n_copies, first_txg=np.array([1])), group


def _counted(name: str, offset: np.ndarray, group: np.ndarray, block_bytes: int) -> dict:
    """Records in a write of up to so many bytes as the build's vdev queue joins, if a group waits as a whole."""
    max_bytes = rules(name).queue.aggregation_bytes
    placed = offset != NOWHERE
    late = group >= int((1 - LAST) * (group[-1] + 1))
    per_write = [_per_write(offset[mask], group[mask], block_bytes, max_bytes) for mask in (placed, placed & late)]
    return {"era": name, "allocations": len(offset), "groups": int(group[-1]) + 1, "records_per_write": per_write[0],
            "records_per_write_last": per_write[1], "bytes_per_write": per_write[0] * block_bytes,
            "refused": int((~placed).sum())}


def _per_write(offset: np.ndarray, group: np.ndarray, block_bytes: int, max_bytes: int) -> float:
    """Groups are as vdevs are: blocks of two never touch."""
    units = n_units(group, offset, block_bytes, max_bytes)
    return len(offset) / units if units else float("nan")
