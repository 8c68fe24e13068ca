"""Recorded decisions of the real allocator against the model's: a pool of metaslabs (level 2).

Beside where each block went, a recording can have the state of the pool after each transaction group (a CSV): bytes
allocated as of the last sync, loaded metaslabs, free segments in them, a hash of all weights, and the four heaviest
metaslabs. The operations go to `model.zfs.metaslab.replay`, that is to the kernels that simulations call.
"""
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from model.zfs.eras import era
from model.zfs.metaslab import replay as metaslab_trace
from model.zfs.metaslab.new_pool import BLOCK_RECORDS, new_pool
from model.zfs.metaslab.replay import ALLOCATE, END_OF_TXG, FIRST_TXG, N_FIRST, Decided, Rows
from model.zfs.metaslab.state import EXACT, FAST, MetaslabParams, TopVdev
from model.zfs.space.bitmaps import MAX_BLOCKS
from model.zfs.space.replay_exact import NEW_MAP
from study import tables as table_file
from study.errors import UserError
from study.replays.alloc_trace import (
    AMBIGUOUS,
    ENGINES,
    SECTOR,
    AllocReplay,
    Trace,
    check_freed,
    check_variant,
    compare,
    read_offsets,
    read_trace,
    write_offsets,
)
from study.replays.space_map import recorded_with

ERA_OF = {"103_ff": "b103", "117_df": "b117", "141_df": "b141_df", "141_ndf": "b141"}
MAX_METASLABS, MAX_BYTES = 2**16, 2**53  # of a pool
MOST_BLOCKS = 2**32  # of a pool in the fast engine, which then takes 2 GiB
MAX_COPIES = 3
HASH_START, HASH_PRIME = 1469598103934665603, 1099511628211  # as the recordings have it: not the start of standard FNV-1a
HASH, PER_TXG = "fnv64_weights", ("synced_alloc", "n_loaded", "loaded_free_segs")


# ---- operations ----


def _copies(trace: Trace) -> np.ndarray:
    """Copies of the block that begins in a row; 0 in other rows. The copies of a block are rows one after the other."""
    allocates = trace.op == ALLOCATE
    copies = allocates.astype(np.int64)
    if trace.d is None:
        return copies
    copies[allocates & (trace.d != 0)] = 0
    for d in range(1, MAX_COPIES):
        rows = np.flatnonzero(allocates & (trace.d == d))
        before = np.maximum(rows - 1, 0)
        bad = rows[(rows == 0) | ~allocates[before] | (trace.d[before] != d - 1)
                   | (trace.size512[before] != trace.size512[rows])]
        if len(bad):
            raise UserError(f"{trace.path}: row {bad[0]} is copy {d} of a block, but the row before is not copy {d - 1} of "
                            "the same size; keep them together")
        np.add.at(copies, rows - d, 1)
    bad = np.flatnonzero(allocates & ((trace.d < 0) | (trace.d >= MAX_COPIES)))
    if len(bad):
        raise UserError(f"{trace.path}: row {bad[0]} is copy {trace.d[bad[0]]} of a block, but copies are 0 to "
                        f"{MAX_COPIES - 1}; mend the row")
    return copies


def _check_txgs(trace: Trace) -> None:
    """A pool makes its own maps, and closes its txgs one after the other."""
    maps = np.flatnonzero(trace.op == NEW_MAP)
    if len(maps):
        raise UserError(f"{trace.path}: row {maps[0]} begins a new map (op 4), but a pool has those of its metaslabs; "
                        "replay a trace of one map without --metaslabs")
    ends = np.flatnonzero(trace.op == END_OF_TXG)
    expected = (trace.arg[ends[0]] if len(ends) else FIRST_TXG) + np.arange(len(ends))
    bad = ends[(trace.arg[ends] != expected) | (expected < 1)]
    if len(bad):
        row = bad[0]
        must = expected[np.searchsorted(ends, row)]
        raise UserError(f"{trace.path}: row {row} closes txg {trace.arg[row]}, but the next one is {max(must, 1)}; put the "
                        "rows in order of time and keep them all")


def rows_of(trace: Trace) -> Rows:
    """As the model wants it."""
    _check_txgs(trace)
    kept = trace.op <= END_OF_TXG
    ends = trace.arg[trace.op == END_OF_TXG]
    return Rows(trace.op[kept], trace.size512[kept] * SECTOR, trace.arg[kept], _copies(trace)[kept],
                ends[:1] if len(ends) else np.array([FIRST_TXG]))


# ---- the model ----


def _unit_of(rows: Rows) -> int:
    """B of which all blocks are multiples, a power of two."""
    together = int(np.bitwise_or.reduce(rows.n_bytes[rows.op == ALLOCATE], initial=0)) or SECTOR
    return together & -together


def _check_size(metaslabs: int, metaslab_bytes: int) -> None:
    if not 1 <= metaslabs <= MAX_METASLABS or metaslabs * metaslab_bytes > MAX_BYTES:
        mend = "give 1 or more" if metaslabs < 1 else "give fewer or smaller ones"
        raise UserError(f"the pool has {metaslabs} metaslabs of {metaslab_bytes} B, but the model takes 1 to "
                        f"{MAX_METASLABS} and 2^53 B in all; {mend}")


def drive(rules: MetaslabParams, rows: Rows, metaslabs: int, metaslab_bytes: int, engine: int = EXACT) -> tuple:
    """(pool, what it decided, seconds) of a pool of one vdev"""
    n_txgs = int((rows.op == END_OF_TXG).sum())
    headers = 2 * n_txgs * metaslabs + (metaslabs * metaslab_bytes >> 24)
    try:
        pool = new_pool([TopVdev(asize=metaslabs * metaslab_bytes)], rules, engine, _unit_of(rows), metaslab_bytes,
                        max_segments=len(rows.op) + 4 * metaslabs + 16,
                        log_blocks=2 * metaslabs + 1 + (2 * len(rows.op) + headers) // BLOCK_RECORDS)
    except ValueError as error:
        raise UserError(str(error)) from error
    nothing = rows._replace(op=rows.op[:0], n_bytes=rows.n_bytes[:0], which=rows.which[:0], n_copies=rows.n_copies[:0])
    metaslab_trace.run(pool, nothing, metaslab_trace.decided_for(nothing, metaslabs))  # compiles
    decided = metaslab_trace.decided_for(rows, metaslabs)
    start = time.perf_counter()
    status = metaslab_trace.run(pool, rows, decided)
    seconds = time.perf_counter() - start
    if status:  # a defect: there is room for each row, and no row does what cannot be
        raise RuntimeError(f"row {decided.done[0]} of the trace: the allocator says {status}")
    return pool, decided, seconds


def _drive(variant: str, rows: Rows, metaslabs: int, metaslab_bytes: int, engine: str) -> tuple:
    """(engine that was used, pool, what it decided, seconds); `auto` is fast where that gives the same."""
    unit, rules = _unit_of(rows), era(ERA_OF[variant]).metaslab
    fits = (metaslab_bytes <= MAX_BLOCKS * unit and unit <= min(2**17, metaslab_bytes)
            and metaslabs * metaslab_bytes <= MOST_BLOCKS * unit)
    if engine == "fast" and not fits:
        raise UserError(f"{metaslabs} metaslabs of {metaslab_bytes} B have blocks of {unit} B, but the fast engine takes "
                        f"{MAX_BLOCKS} of up to 128 KiB, and {MOST_BLOCKS} in all; choose exact or auto")
    if engine == "fast" or (engine == "auto" and fits):
        found = drive(rules, rows, metaslabs, metaslab_bytes, FAST)
        if engine == "fast" or found[0].blocks.free.n_ambiguous.sum() == 0:
            return "fast", *found
    return "exact", *drive(rules, rows, metaslabs, metaslab_bytes, EXACT)


# ---- after each transaction group ----


def full_weights(decided: Decided) -> np.ndarray:
    """Weights as ZFS has them, uint64[txg, metaslab]: the two uppermost bits say who is active."""
    return decided.weight.astype(np.uint64) | decided.active.astype(np.uint64) << np.uint64(62)


def weights_hash(weights: np.ndarray) -> np.ndarray:
    """FNV-1a over the little-endian bytes of each row, with the start value of the recordings; uint64[txg]."""
    octets = np.ascontiguousarray(weights.astype("<u8")).view(np.uint8).reshape(len(weights), -1)
    found = np.full(len(weights), HASH_START, np.uint64)
    for column in octets.T:
        found = (found ^ column) * np.uint64(HASH_PRIME)
    return found


def after_txgs(decided: Decided) -> pd.DataFrame:
    """The model's state after each txg, with the columns of the recordings."""
    weights = full_weights(decided)
    columns: dict[str, np.ndarray | list[str]] = {"txg": decided.txg}
    columns |= dict(zip(PER_TXG, (decided.allocated, decided.n_loaded, decided.n_segments), strict=True))
    columns[HASH] = [f"{one:016x}" for one in weights_hash(weights)]
    for i in range(min(N_FIRST, weights.shape[1])):
        columns[f"ms{i}"] = decided.first[:, i]
        columns[f"w{i}"] = weights[np.arange(len(weights)), decided.first[:, i]]
    return pd.DataFrame(columns).astype(str)


def read_txgs(path: Path | str) -> pd.DataFrame:
    """The recorded states, as text. Raises UserError."""
    table = table_file.read(path, "the recorded states", "copy that CSV again", text=True)
    missing = [name for name in ("txg", *PER_TXG, HASH) if name not in table]
    if missing:
        raise UserError(f"{path} has no column {', '.join(missing)}, but states of a pool are compared by them; give the "
                        "CSV of this trace and variant")
    return table


def compare_txgs(recorded: pd.DataFrame, replayed: pd.DataFrame) -> tuple[str, ...]:
    """A sentence for each column that differs."""
    if len(recorded) != len(replayed):
        return (f"the recording has {len(recorded)} transaction groups and the trace closes {len(replayed)}",)
    found = []
    for name in (column for column in replayed if column in recorded):
        bad = np.flatnonzero(recorded[name].str.strip().to_numpy() != replayed[name].to_numpy())
        if len(bad):
            row = bad[0]
            found.append(f"{name} differs after {len(bad)} of {len(recorded)} transaction groups; after txg "
                         f"{replayed['txg'][row]} it is {recorded[name][row]} in the recording and {replayed[name][row]} "
                         "in the model")
    return tuple(found)


# ---- replays ----


def replay_pool(path: Path | str, variant: str, metaslabs: int, metaslab_bytes: int, expect: Path | str | None = None,
                expect_txg: Path | str | None = None, to: Path | str | None = None, engine: str = "exact") -> AllocReplay:
    """Run the trace of a pool at `path` through the model under the rules of `variant`.

    expect      the recorded offsets, each of which is compared; None: nothing is
    expect_txg  the recorded states after each transaction group; None: nothing is compared
    to          a file for the model's offsets
    """
    check_variant(variant)
    _check_size(metaslabs, metaslab_bytes)
    if engine not in ENGINES:
        raise UserError(f"engine is {engine!r}, but there are {', '.join(ENGINES)}; choose one of these")
    trace = read_trace(path)
    rows = rows_of(trace)
    recorded = read_offsets(expect, int((trace.op == ALLOCATE).sum())) if expect is not None else None
    txgs = read_txgs(expect_txg) if expect_txg is not None else None
    engine, pool, decided, seconds = _drive(variant, rows, metaslabs, metaslab_bytes, engine)
    sectors = np.where(decided.offset < 0, -1, decided.offset // SECTOR)
    differences, first = (None, None) if recorded is None else compare(trace, sectors, recorded)
    mend = f"give the pool more than {metaslabs} metaslabs of {metaslab_bytes} B, or mend the row"
    ambiguous = int(pool.blocks.free.n_ambiguous.sum()) if engine == "fast" else 0
    check_freed(trace, sectors, first, mend, ambiguous)
    if to is not None:
        write_offsets(to, sectors)
    others = () if txgs is None else compare_txgs(txgs, after_txgs(decided))
    found = _found(pool, decided, sectors, txgs is not None and not others)
    if engine == "fast":
        found[AMBIGUOUS] = ambiguous
    return AllocReplay(
        path=trace.path, variant=variant, engine=engine, rows=len(trace.op), allocations=len(sectors),
        differences=differences, first=first, seconds=seconds, found=found, others=others)


def _found(pool, decided: Decided, sectors: np.ndarray, all_agree: bool) -> dict[str, int]:
    found = {"refused": int((sectors == -1).sum()), "loads": int(pool.counters.n_loads[0]),
             "4 KiB blocks of logs waited for": int(pool.counters.load_blocks[0])}
    if all_agree:
        found[f"differences after {len(decided.txg)} transaction groups"] = 0
    return found


def txgs_beside(path: Path, variant: str) -> Path | None:
    """The states after each txg that stand beside the operations at `path`, if they do."""
    scenario = path.name.partition("__")[0]
    file = path.with_name(f"{scenario}_{variant}_txg.csv")
    return file if file.exists() else None


def size_in(txgs: pd.DataFrame) -> tuple[int, int] | None:
    """(metaslabs, B of each) of a pool that is empty in the first recorded state, from the weights of its first two: the
    first weighs twice its size, the second less by one share."""
    if not len(txgs) or not {"w0", "w1"} <= set(txgs) or txgs["synced_alloc"][0] != "0":
        return None
    first, second = int(txgs["w0"][0]), int(txgs["w1"][0])
    if not second < first:
        return None
    size, share = first // 2, first - second
    metaslabs = size // share
    return (metaslabs, size) if size // metaslabs == share else None


def replays_of(path: Path) -> Iterator[AllocReplay]:
    """The trace of a pool at `path` under every variant of which offsets are recorded."""
    for variant, offsets in recorded_with(path):
        states = txgs_beside(path, variant)
        size = size_in(read_txgs(states)) if states is not None else None
        if size is None:
            raise UserError(f"{path} is of a pool, but no {path.name.partition('__')[0]}_{variant}_txg.csv beside it begins "
                            "with an empty pool, to tell its size; use study replay alloc with --metaslabs")
        yield replay_pool(path, variant, *size, offsets, states)
