"""Recorded decisions of the real allocator against the model's: a pool of metaslabs (level 2), of one vdev or several.

The operations go to `model.zfs.metaslab.replay`, that is to the kernels that simulations call. Where each block went is
compared, and the state of the pool after each transaction group where a recording has it (`study.replays.pool_states`).
"""
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from model.devices.sectors import SECTOR_BYTES
from model.zfs.eras import era
from model.zfs.metaslab import replay as metaslab_replay
from model.zfs.metaslab.new_pool import BLOCK_RECORDS, new_pool
from model.zfs.metaslab.replay import ADD_VDEV, ALLOCATE, END_OF_TXG, Decided, Rows
from model.zfs.metaslab.state import EXACT, FAST, MetaslabParams, Metaslabs, TopVdev
from model.zfs.space.bitmaps import MAX_BLOCKS
from model.zfs.vdev.raid import asize
from study.errors import UserError
from study.replays.alloc_trace import (
    AMBIGUOUS,
    AllocReplay,
    Places,
    check_engine,
    check_freed,
    check_variant,
    compare,
    compared,
    read_places,
    read_trace,
    recorded_with,
    write_places,
)
from study.replays.pool_rows import rows_of
from study.replays.pool_states import after_txgs, compare_txgs, read_txgs, txgs_beside
from study.replays.recorded_vdevs import vdevs_of

ERA_OF = {"103_ff": "b103", "117_df": "b117", "141_df": "b141_df", "141_ndf": "b141"}
MAX_BLOCKS_OF_POOL = 2**32  # of a pool in the fast engine, which then takes 2 GiB
MAX_BLOCK_BYTES = 2**17     # of a block in the fast engine


# ---- the model ----


class Driven(NamedTuple):
    """A trace in the model."""
    engine: str
    pool: Metaslabs
    decided: Decided
    seconds: float

    @property
    def ambiguous(self) -> int | None:
        """Choices in which the engines may differ; None of the exact one."""
        return None if self.pool.blocks is None else int(self.pool.blocks.free.n_ambiguous.sum())


def _n_metaslabs(vdevs: Sequence[TopVdev]) -> int:
    return sum(top.asize >> top.ms_shift for top in vdevs)


def _unit_of(rows: Rows, vdevs: Sequence[TopVdev]) -> int:
    """B of which all that blocks take of their vdevs is a multiple, a power of two."""
    sizes = np.unique(rows.n_bytes[rows.op == ALLOCATE])
    taken = np.array([asize(top.vdev, int(size)) for top in vdevs for size in sizes], np.int64)
    together = int(np.bitwise_or.reduce(taken, initial=0)) or SECTOR_BYTES
    return together & -together


def _described(vdevs: Sequence[TopVdev]) -> str:
    """A pool in words."""
    n, sizes = _n_metaslabs(vdevs), sorted({1 << top.ms_shift for top in vdevs})
    return f"{n} metaslabs of {' or '.join(map(str, sizes))} B"


def drive(rules: MetaslabParams, rows: Rows, vdevs: Sequence[TopVdev], engine: int = EXACT) -> Driven:
    """The operations in a pool of these vdevs, each with its `ms_shift`; those that the rows add come later."""
    added = set(rows.which[rows.op == ADD_VDEV].tolist())
    vdevs = [top._replace(comes_later=int(number in added)) for number, top in enumerate(vdevs)]
    n_txgs, n_metaslabs = int((rows.op == END_OF_TXG).sum()), _n_metaslabs(vdevs)
    headers = 2 * n_txgs * n_metaslabs + (sum(top.asize for top in vdevs) >> 24)
    try:
        pool = new_pool(vdevs, rules, engine, _unit_of(rows, vdevs), max_segments=len(rows.op) + 4 * n_metaslabs + 16,
                        log_blocks=2 * n_metaslabs + 1 + (2 * len(rows.op) + headers) // BLOCK_RECORDS)
    except ValueError as error:
        raise UserError(str(error)) from error
    nothing = rows._replace(**{name: getattr(rows, name)[:0] for name in ("op", "n_bytes", "which", "n_copies")})
    metaslab_replay.run(pool, nothing, metaslab_replay.decided_for(nothing, pool))  # compiles
    decided = metaslab_replay.decided_for(rows, pool)
    start = time.process_time()
    status = metaslab_replay.run(pool, rows, decided)
    seconds = time.process_time() - start
    if status:  # a defect: there is room for each row, and no row does what cannot be
        raise RuntimeError(f"row {decided.done[0]} of the trace: the allocator says {status}")
    return Driven("fast" if engine == FAST else "exact", pool, decided, seconds)


def _unfit_for_fast(vdevs: Sequence[TopVdev], unit: int) -> str:
    """Which bound of the fast engine a pool with blocks of `unit` B breaks, in half a sentence; "" if none."""
    sizes, n_bytes = [1 << top.ms_shift for top in vdevs], sum(top.asize for top in vdevs)
    if unit > min(MAX_BLOCK_BYTES, *sizes):
        return f"have blocks of {unit} B, but the fast engine takes at most {min(MAX_BLOCK_BYTES, *sizes)} B here"
    for n_blocks, most, where in ((max(sizes) // unit, MAX_BLOCKS, "each"), (n_bytes // unit, MAX_BLOCKS_OF_POOL, "all")):
        if n_blocks > most:
            return f"have {n_blocks} blocks of {unit} B in {where}, but the fast engine takes at most {most}"
    return ""


def drive_by_variant(variant: str, rows: Rows, vdevs: Sequence[TopVdev], engine: str) -> Driven:
    """With that engine; `auto` is fast where that gives the same."""
    unit, rules = _unit_of(rows, vdevs), era(ERA_OF[variant]).metaslab
    unfit = _unfit_for_fast(vdevs, unit)
    if engine == "fast" and unfit:
        raise UserError(f"{_described(vdevs)} {unfit}; choose exact or auto")
    if engine == "fast" or (engine == "auto" and not unfit):
        driven = drive(rules, rows, vdevs, FAST)
        if engine == "fast" or driven.ambiguous == 0:
            return driven
    return drive(rules, rows, vdevs, EXACT)


# ---- replays ----


def replay_pool(path: Path | str, variant: str, vdevs: Sequence[TopVdev], expect: Path | str | None = None,
                expect_txg: Path | str | None = None, to: Path | str | None = None, engine: str = "exact") -> AllocReplay:
    """Run the trace of a pool at `path` through the model under the rules of `variant`.

    vdevs       of which the pool is made, each with its `ms_shift` (`study.replays.recorded_vdevs`)
    expect      the recorded offsets, each of which is compared; None: nothing is
    expect_txg  the recorded states after each transaction group; None: nothing is compared
    to          a file for the model's offsets
    """
    check_variant(variant)
    check_engine(engine)
    trace = read_trace(path)
    rows = rows_of(trace, len(vdevs))
    recorded = None if expect is None else read_places(expect, int((trace.op == ALLOCATE).sum()), len(vdevs))
    txgs = read_txgs(expect_txg) if expect_txg is not None else None
    driven = drive_by_variant(variant, rows, vdevs, engine)
    places = _places(driven.decided, vdevs)
    differences, first = (None, None) if recorded is None else compare(trace, places, recorded)
    check_freed(trace, places, first, f"give the pool more than {_described(vdevs)}, or mend the row", driven.ambiguous or 0)
    if to is not None:
        write_places(to, places)
    states = after_txgs(driven.decided, vdevs)
    others = () if txgs is None else compare_txgs(txgs, states)
    return AllocReplay(
        path=trace.path, variant=variant, engine=driven.engine, rows=len(trace.op), allocations=len(places.off512),
        differences=differences, first=first, seconds=driven.seconds,
        summary=_summary(driven, places, txgs is not None and not others), others=others,
        columns=compared(places, recorded), states=() if txgs is None else tuple(name for name in states if name in txgs))


def _places(decided: Decided, vdevs: Sequence[TopVdev]) -> Places:
    sectors = np.where(decided.offset < 0, -1, decided.offset // SECTOR_BYTES)
    return Places(sectors, decided.vdev if len(vdevs) > 1 else None)


def _summary(driven: Driven, places: Places, all_agree: bool) -> dict[str, int]:
    counters = driven.pool.counters
    summary = {"refused": int((places.off512 == -1).sum()), "loads": int(counters.n_loads[0]),
               "4 KiB blocks of logs waited for": int(counters.load_blocks[0])}
    if all_agree:
        summary[f"differences after {len(driven.decided.txg)} transaction groups"] = 0
    if driven.ambiguous is not None:
        summary[AMBIGUOUS] = driven.ambiguous
    return summary


def replays_of(path: Path, engine: str = "exact") -> Iterator[AllocReplay]:
    """The trace of a pool at `path` under every variant of which offsets are recorded."""
    for variant, offsets in recorded_with(path):
        yield replay_pool(path, variant, vdevs_of(path, variant), offsets, txgs_beside(path, variant), engine=engine)
