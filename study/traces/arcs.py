"""A trace through the ARC, of many sizes, and through cache devices: hit ratios, and the curve of an LRU beside them.

    through_arc(trace, 8192)                        LRU of every size, exactly; ARC as published; ARC of ZFS
    through_l2arc(trace, 8192, 2**30, [2**33])      an ARC of 1 GiB, and a cache device of 8 GiB

Requests become blocks of one size. Distinct blocks are numbered first; then each cache has its own pass over the numbers,
which wait on disk. Hit ratios are of reads. A write brings its block into the cache, and is no hit or miss.
"""
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from model.structures.numbering import Numbering, larger, new_numbering, number_all
from model.structures.stack_distances import count_distances, new_stack
from model.zfs.arc import requests as arc_requests
from model.zfs.arc.arc import ArcParams, new_arc
from model.zfs.arc.l2arc import COUNTS, MIN_DEVICE_BYTES, L2arcParams
from study.errors import UserError
from study.pools.forecast_page import in_words
from study.traces.requests import WRITE, Trace, blocks, chunks, spooled
from study.traces.through import Through, column, need_place, need_time, rules, trims, without_trims
from study.words import counted

BLOCK = np.dtype([("key", np.int32), ("is_write", np.int32), ("time_ns", np.int64)])
MAX_BLOCKS = 2**26      # distinct: 4 GiB of headers
MAX_SLOTS = 2**30       # of a cache device
OBJECT_BYTES = 4096     # of an object, in a model whose blocks have a size: any will do, as all have the same
SHARES = tuple(2.0**-power for power in range(6, -1, -1))   # of the distinct blocks: sizes, if none are given
DEVICE_SHARES = (0.25, 0.5, 1.0)    # the same, of cache devices
FEW_BLOCKS = 64         # an ARC of fewer is no default: a block more or less is percents of it
FIRST_ROOM = 2**16
BEYOND = "ARC of ZFS may exceed its size by a block: it evicts once it holds more than that"
MAX_POINTS = 400        # of the curve


class Blocks(NamedTuple):
    """What a trace touches, block by block."""

    rows: np.ndarray    # BLOCK[n], on disk
    n_distinct: int     # keys are 1 .. n_distinct
    n_reads: int


class Curve(NamedTuple):
    """Misses of reads against size; of ARCs nothing where there is no time, or no read."""

    block_bytes: int        # 0: objects
    sizes: np.ndarray       # blocks
    lru: np.ndarray         # miss ratio
    of_arcs: pd.DataFrame   # blocks, published, zfs: miss ratios


# ---- blocks ----


def blocks_of(trace: Trace, block_bytes: int) -> Blocks:
    """Raises UserError for too many."""
    numbering = [new_numbering(FIRST_ROOM)]
    rows = spooled(_numbered(trace, block_bytes, numbering), BLOCK)
    if not len(rows):
        raise UserError(f"{trace.path} has trims alone, which no cache holds; give a trace with reads or writes")
    return Blocks(rows, int(numbering[0].n[0]), sum(int((part["is_write"] == 0).sum()) for part in chunks(rows)))


def _numbered(trace: Trace, block_bytes: int, numbering: list[Numbering]) -> Iterator[np.ndarray]:
    """BLOCK[n], piece by piece; `numbering`: one element, a larger one when need be."""
    for kept in without_trims(trace):
        for rows, keys in blocks(kept, block_bytes if trace.format.has_place else 0):
            numbers, done = np.zeros(len(keys), np.int32), 0
            keys = np.ascontiguousarray(keys, np.int64)
            while (done := done + number_all(numbering[0], keys[done:], numbers[done:])) < len(keys):
                if numbering[0].n[0] >= MAX_BLOCKS:
                    raise UserError(f"{trace.path} touches more than {MAX_BLOCKS} blocks of {block_bytes} bytes, the most "
                                    "that is held here; choose a larger --block")
                numbering[0] = larger(numbering[0])
            of_blocks = np.zeros(len(keys), BLOCK)
            of_blocks["key"], of_blocks["is_write"] = numbers, rows["kind"] == WRITE
            of_blocks["time_ns"] = rows["time_ns"]
            yield of_blocks


def lru_hits(touched: Blocks) -> np.ndarray:
    """Hits of reads in an LRU cache of 0, 1, … n_distinct blocks, exactly."""
    stack, histogram = new_stack(touched.n_distinct), np.zeros(touched.n_distinct + 1, np.int64)
    for rows in chunks(touched.rows):
        count_distances(stack, column(rows, "key", np.int32), rows["is_write"] == 0, histogram)
    histogram[0] = 0
    return np.cumsum(histogram)


def arc_counts(touched: Blocks, n_blocks: int, block_bytes: int, published: bool) -> np.ndarray:
    """Counts of `model.zfs.arc.requests` of an ARC of so many blocks, as published or as ZFS has it."""
    unit, n_keys = 1 if published else block_bytes, touched.n_distinct + 1
    params = ArcParams(n_blocks * unit, n_blocks * unit // 4)
    arc = new_arc(params, n_keys, n_keys, 0) if published else new_arc(params, n_keys, n_keys)
    counts, next_adjust = np.zeros(arc_requests.N_COUNTS, np.int64), np.zeros(1, np.int64)
    for rows in chunks(touched.rows):
        keys, is_write = column(rows, "key", np.int32), column(rows, "is_write", np.int32)
        if published:
            arc_requests.run_textbook(arc, params, keys, is_write, counts)
        else:
            arc_requests.run_zfs(arc, params, next_adjust, keys, is_write, column(rows, "time_ns"), block_bytes, counts)
    return counts


# ---- ARC ----


def _sizes(touched: Blocks, given: list[int], block_bytes: int) -> list[int]:
    """In blocks. Raises UserError for one that holds none."""
    if not given:
        least = FEW_BLOCKS if touched.n_distinct >= FEW_BLOCKS else 1
        return sorted({max(least, round(share * touched.n_distinct)) for share in SHARES})
    unit = max(1, block_bytes)
    if min(given) < unit:
        raise UserError(f"a size of the ARC is {min(given)} bytes, but it must hold a block of {unit}; choose larger ones")
    return sorted({size // unit for size in given})


def _ratio(hits: int, reads: int) -> float:
    return hits / reads if reads else np.nan


def _compile(block_bytes: int) -> None:
    """So that no time is counted for it."""
    single_block = Blocks(np.array([(1, 0, 0), (1, 1, 0)], BLOCK), 1, 1)
    lru_hits(single_block)
    for published in (True, False):
        arc_counts(single_block, 1, block_bytes, published)


def through_arc(trace: Trace, block_bytes: int, sizes: list[int]) -> Through:
    """Sizes in B, of objects their number; none: shares of what is touched. Raises UserError."""
    unit = block_bytes if trace.format.has_place else OBJECT_BYTES
    _compile(unit)
    touched, has_time = blocks_of(trace, block_bytes), bool(trace.format.resolution)
    of_sizes = _sizes(touched, sizes, block_bytes if trace.format.has_place else 1)
    start, reads, rows = time.process_time(), touched.n_reads, []
    hits = lru_hits(touched)
    for n in of_sizes:
        published = arc_counts(touched, n, unit, True)
        of_zfs = arc_counts(touched, n, unit, False) if has_time else None
        rows.append((n, n / touched.n_distinct, _ratio(hits[min(n, touched.n_distinct)], reads),
                     _ratio(published[arc_requests.READ_HITS], reads),
                     np.nan if of_zfs is None else _ratio(of_zfs[arc_requests.READ_HITS], reads)))
    seconds = time.process_time() - start
    table = pd.DataFrame(rows, columns=["blocks", "share", "lru", "published", "zfs"])
    points = np.unique(np.geomspace(1, touched.n_distinct, MAX_POINTS).astype(np.int64))
    curve = Curve(block_bytes if trace.format.has_place else 0, points, 1 - hits[points] / max(1, reads),
                  pd.DataFrame({"blocks": table["blocks"], "published": 1 - table["published"], "zfs": 1 - table["zfs"]}))
    if trace.format.has_place:
        table.insert(1, "bytes", table["blocks"] * block_bytes)
    return Through(mechanism="arc", table=table, seconds=seconds,
                   notes=_arc_notes(trace, touched, block_bytes, has_time) + _of_sizes(min(of_sizes), has_time),
                   runs=1 + len(rows) * (1 + has_time), curve=curve if reads else None)


def _of_sizes(smallest: int, has_time: bool) -> list[str]:
    """What to know of sizes of which `smallest` is the least, in blocks."""
    notes = []
    if has_time:
        notes.append(BEYOND)
    if smallest < FEW_BLOCKS:
        notes.append(f"sizes of a few blocks tell little: below {FEW_BLOCKS} a block more or less changes the ratios")
    return notes


def _arc_notes(trace: Trace, touched: Blocks, block_bytes: int, has_time: bool) -> list[str]:
    of_blocks = (f"{counted(touched.n_distinct, 'block')} of {in_words(block_bytes)}" if trace.format.has_place else
                 counted(touched.n_distinct, "object"))
    notes = [f"{counted(len(touched.rows), 'reference')} to {of_blocks}, of which {counted(touched.n_reads, 'read')}; hit "
             "ratios are of reads", *trims(trace)]
    if not trace.format.has_kind:
        notes.append("reads and writes are not told apart")
    if not touched.n_reads:
        notes.append("there is no read, so there is no hit ratio")
    if not has_time:
        notes.append("ARC of ZFS is left out: it needs times, and the format has none. --rate says how many requests come a "
                     "second")
    elif trace.format.resolution == "1 s":
        notes.append("times are whole seconds. ZFS promotes a block that is used again after 60 ms or more, so uses within "
                     "a second count as one")
    return notes


# ---- L2ARC ----


def through_l2arc(trace: Trace, block_bytes: int, memory_bytes: int | None, sizes: list[int], era: str) -> Through:
    """An ARC of `memory_bytes` (None: a sixteenth of what is touched) with a cache device of each size. The ARC may exceed
    its size by a block, since it evicts once it holds more. The device does not. Raises UserError."""
    need_place(trace, "L2ARC")
    need_time(trace, "L2ARC")
    params = rules(era).l2arc
    touched = blocks_of(trace, block_bytes)
    memory = memory_bytes or max(1, touched.n_distinct // 16) * block_bytes
    _check_memory(memory, block_bytes)
    of_all = [int(share * touched.n_distinct * block_bytes) for share in DEVICE_SHARES]
    of_sizes = sorted(set(sizes or (max(MIN_DEVICE_BYTES, size) for size in of_all)))
    _check_devices(of_sizes, block_bytes)
    try:
        _l2_counts(Blocks(np.array([(1, 0, 0), (1, 1, 0)], BLOCK), 1, 1), block_bytes, memory, MIN_DEVICE_BYTES, params)
    except ValueError as error:
        raise UserError(str(error)) from error
    start, rows = time.process_time(), []
    for size in of_sizes:
        counts, of_device = _l2_counts(touched, block_bytes, memory, size, params)
        reads, hits, from_device = (int(counts[i]) for i in
                                    (arc_requests.READS, arc_requests.READ_HITS, arc_requests.DEVICE_HITS))
        rows.append((size, _ratio(hits, reads), _ratio(from_device, reads), _ratio(reads - hits - from_device, reads),
                     of_device["fed_bytes"], of_device["overwritten"]))
    seconds = time.process_time() - start
    table = pd.DataFrame(rows, columns=["bytes", "arc", "device", "pool", "fed_bytes", "overwritten"])
    notes = [f"an ARC of {in_words(memory)}, rules of {era}; {counted(touched.n_reads, 'read')} of "
             f"{counted(touched.n_distinct, 'block')} of {in_words(block_bytes)}; shares are of reads", *trims(trace),
             BEYOND, "the device is empty at first, and written to in no time"]
    return Through(mechanism="l2arc", table=table, notes=notes, seconds=seconds, runs=len(rows))


def _check_memory(memory: int, block_bytes: int) -> None:
    if memory < block_bytes:
        raise UserError(f"the ARC has {memory} bytes, but it must hold a block of {block_bytes}; choose a larger --memory")


def _check_devices(sizes: list[int], block_bytes: int) -> None:
    if min(sizes) < MIN_DEVICE_BYTES:
        raise UserError(f"a cache device has {min(sizes)} bytes, but ZFS takes none below {MIN_DEVICE_BYTES}; choose that "
                        "or more")
    if max(sizes) // block_bytes > MAX_SLOTS:
        raise UserError(f"a cache device has {max(sizes)} bytes, which are more than {MAX_SLOTS} blocks of {block_bytes}; "
                        "choose a smaller one, or a larger --block")


def _l2_counts(touched: Blocks, block_bytes: int, memory: int, size: int, l2_params: L2arcParams
               ) -> tuple[np.ndarray, dict[str, int]]:
    params = ArcParams(memory, memory // 4)
    arc = new_arc(params, touched.n_distinct + 1, touched.n_distinct + 1)
    l2 = arc_requests.new_cache_device(l2_params, size, block_bytes)
    counts, next_adjust = np.zeros(arc_requests.N_COUNTS, np.int64), np.zeros(1, np.int64)
    for rows in chunks(touched.rows):
        arc_requests.run_l2(arc, params, next_adjust, l2, l2_params, column(rows, "key", np.int32),
                            column(rows, "is_write", np.int32), column(rows, "time_ns"), block_bytes, counts)
    return counts, dict(zip(COUNTS, l2.counts.tolist(), strict=True))
