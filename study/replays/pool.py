"""Recorded decisions of the real allocator against the model's: a pool of metaslabs (level 2), of one vdev or several.

Beside where each block went, a recording can have the state of the pool after each transaction group (a CSV): bytes
allocated as of the last sync, loaded metaslabs, free segments in them, a hash of all weights; then the four heaviest
metaslabs, or of several vdevs whose turn it is, how far, and how full and how favoured each one is. The operations go to
`model.zfs.metaslab.replay`, that is to the kernels that simulations call.
"""
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from model.zfs.eras import era
from model.zfs.metaslab import replay as metaslab_trace
from model.zfs.metaslab.new_pool import BLOCK_RECORDS, SMALLEST_SHIFT, new_pool
from model.zfs.metaslab.replay import (
    ADD_OPEN_VDEV,
    ADD_VDEV,
    ALLOCATE,
    END_OF_TXG,
    FIRST_TXG,
    FREE,
    N_FIRST,
    NO_BLOCK,
    Decided,
    Rows,
)
from model.zfs.metaslab.state import EXACT, FAST, MetaslabParams, Metaslabs, TopVdev
from model.zfs.space.bitmaps import MAX_BLOCKS
from model.zfs.space.replay_exact import NEW_MAP
from model.zfs.vdev.raid import asize
from study import tables as table_file
from study.errors import UserError
from study.replays.alloc_trace import (
    AMBIGUOUS,
    SUFFIX,
    AllocReplay,
    Places,
    Trace,
    check_engine,
    check_freed,
    check_variant,
    compare,
    read_places,
    read_trace,
    recorded_with,
    refuse_rows,
    write_places,
)
from study.replays.recorded_vdevs import FILE, LARGEST_POOL, MAX_METASLABS, read_pools
from study.replays.trace_file import SECTOR

ERA_OF = {"103_ff": "b103", "117_df": "b117", "141_df": "b141_df", "141_ndf": "b141"}
MOST_BLOCKS = 2**32  # of a pool in the fast engine, which then takes 2 GiB
MAX_COPIES = 3
HASH_START, HASH_PRIME = 1469598103934665603, 1099511628211  # as the recordings have it: not the start of standard FNV-1a
HASH, PER_TXG = "fnv64_weights", ("synced_alloc", "n_loaded", "loaded_free_segs")
NOT_SAID = ""  # of a vdev that is not in the pool yet


# ---- operations ----


def _copies(trace: Trace) -> np.ndarray:
    """Copies of the block that begins in a row; 0 in other rows. The copies of a block are rows one after the other."""
    allocates, d = trace.op == ALLOCATE, trace.asked.get("d")
    copies = allocates.astype(np.int64)
    if d is None:
        return copies
    copies[allocates & (d != 0)] = 0
    for copy in range(1, MAX_COPIES):
        rows = np.flatnonzero(allocates & (d == copy))
        before = np.maximum(rows - 1, 0)
        bad = rows[(rows == 0) | ~allocates[before] | (d[before] != copy - 1)
                   | (trace.size512[before] != trace.size512[rows])]
        if len(bad):
            raise UserError(f"{trace.path}: row {bad[0]} is copy {copy} of a block, but the row before is not copy "
                            f"{copy - 1} of the same size; keep the rows of a block together")
        np.add.at(copies, rows - copy, 1)
    bad = np.flatnonzero(allocates & ((d < 0) | (d >= MAX_COPIES)))
    if len(bad):
        raise UserError(f"{trace.path}: row {bad[0]} is copy {d[bad[0]]} of a block, but copies are 0 to "
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


def _check_vdevs(trace: Trace, n_vdevs: int) -> None:
    """Each vdev is added once at most, and one at least is there from the beginning."""
    added = trace.op == ADD_VDEV
    refuse_rows(trace, added & ((trace.arg < 0) | (trace.arg >= n_vdevs)),
                f"adds vdev {{arg}}, but those of the pool are 0 to {n_vdevs - 1}", "mend the row")
    rows = np.flatnonzero(added)
    _, first = np.unique(trace.arg[rows], return_index=True)
    again = added.copy()
    again[rows[first]] = False
    refuse_rows(trace, again, "adds vdev {arg} a second time", "add each once")


def _check_hints(trace: Trace, copies: np.ndarray) -> None:
    """A hint is the first copy of an earlier block that has as many copies, or more."""
    if "hint" not in trace.asked:
        return
    allocates = trace.op == ALLOCATE
    copies_of, hints = copies[allocates], trace.asked["hint"][allocates]
    number = np.arange(len(hints))
    wrong = (copies_of > 0) & (hints != NO_BLOCK)
    wrong &= (hints >= number) | (copies_of[np.clip(hints, 0, number)] < copies_of)
    bad = np.zeros(len(trace.op), bool)
    bad[allocates] = wrong
    refuse_rows(trace, bad, "has a hint that is no earlier block of as many copies",
                "name the first copy of such a block, or -1")


def _check_txg_of_frees(trace: Trace) -> None:
    """A block that was allocated ahead is freed in its own txg or later."""
    if "ahead" not in trace.asked:
        return
    txg = np.cumsum(trace.op == END_OF_TXG)
    allocates, frees = trace.op == ALLOCATE, trace.op == FREE
    belongs_to = (txg + trace.asked["ahead"])[allocates]
    bad = np.zeros(len(trace.op), bool)
    bad[frees] = belongs_to[trace.arg[frees]] > txg[frees]
    refuse_rows(trace, bad, "frees allocation {arg}, which belongs to a later txg", "free it in its own txg or later")


def _gave_at_once(trace: Trace, txgs: pd.DataFrame) -> bool:
    """Whether a vdev that was added has blocks already after the txg in which it was. In ZFS its space comes with the end of
    that txg; whoever recorded can have made it as when a pool is created, and then it comes at once."""
    closed = np.cumsum(trace.op == END_OF_TXG)
    rows = np.flatnonzero(trace.op == ADD_VDEV)
    states = [txgs.get(f"alloc{vdev}", pd.Series(dtype=str))[closed[row]:].head(1)
              for row, vdev in zip(rows, trace.arg[rows], strict=True)]
    return any((state.str.strip() != "0").any() for state in states)


def rows_of(trace: Trace, n_vdevs: int = 1) -> Rows:
    """As the model wants it."""
    copies = _copies(trace)
    _check_txgs(trace)
    _check_vdevs(trace, n_vdevs)
    _check_hints(trace, copies)
    _check_txg_of_frees(trace)
    kept = (trace.op <= END_OF_TXG) | (trace.op == ADD_VDEV)
    ends = trace.arg[trace.op == END_OF_TXG]
    asked = {field: trace.asked[name][kept] for field, name in
             (("hint", "hint"), ("avoids", "avoid"), ("of_log", "log"), ("ahead", "ahead")) if name in trace.asked}
    return Rows(trace.op[kept], trace.size512[kept] * SECTOR, trace.arg[kept], copies[kept],
                ends[:1] if len(ends) else np.array([FIRST_TXG]), **asked)


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


def alike(metaslabs: int, metaslab_bytes: int) -> tuple[TopVdev, ...]:
    """A pool of one disk of so many metaslabs of that size. Raises UserError."""
    if metaslab_bytes < 2**SMALLEST_SHIFT or metaslab_bytes & (metaslab_bytes - 1):
        raise UserError(f"metaslab size is {metaslab_bytes} B, but it must be a power of two of at least "
                        f"{2**SMALLEST_SHIFT} (128 KiB); choose one")
    if not 1 <= metaslabs <= MAX_METASLABS or metaslabs * metaslab_bytes > LARGEST_POOL:
        mend = "give 1 or more" if metaslabs < 1 else "give fewer or smaller ones"
        raise UserError(f"the pool has {metaslabs} metaslabs of {metaslab_bytes} B, but the model takes 1 to "
                        f"{MAX_METASLABS} and 2^53 B in all; {mend}")
    return (TopVdev(asize=metaslabs * metaslab_bytes, ms_shift=metaslab_bytes.bit_length() - 1),)


def _n_metaslabs(vdevs: Sequence[TopVdev]) -> int:
    return sum(top.asize >> top.ms_shift for top in vdevs)


def _unit_of(rows: Rows, vdevs: Sequence[TopVdev]) -> int:
    """B of which all that blocks take of their vdevs is a multiple, a power of two."""
    sizes = np.unique(rows.n_bytes[rows.op == ALLOCATE])
    taken = np.array([asize(top.vdev, int(size)) for top in vdevs for size in sizes], np.int64)
    together = int(np.bitwise_or.reduce(taken, initial=0)) or SECTOR
    return together & -together


def _described(vdevs: Sequence[TopVdev]) -> str:
    """A pool in words."""
    n, sizes = _n_metaslabs(vdevs), sorted({1 << top.ms_shift for top in vdevs})
    return f"{n} metaslabs of {' or '.join(map(str, sizes))} B"


def drive(rules: MetaslabParams, rows: Rows, vdevs: Sequence[TopVdev], engine: int = EXACT) -> Driven:
    """The operations in a pool of these vdevs, each with its `ms_shift`; those that the rows add come later."""
    added = set(rows.which[(rows.op == ADD_VDEV) | (rows.op == ADD_OPEN_VDEV)].tolist())
    vdevs = [top._replace(comes_later=int(number in added)) for number, top in enumerate(vdevs)]
    n_txgs, n_metaslabs = int((rows.op == END_OF_TXG).sum()), _n_metaslabs(vdevs)
    headers = 2 * n_txgs * n_metaslabs + (sum(top.asize for top in vdevs) >> 24)
    try:
        pool = new_pool(vdevs, rules, engine, _unit_of(rows, vdevs), max_segments=len(rows.op) + 4 * n_metaslabs + 16,
                        log_blocks=2 * n_metaslabs + 1 + (2 * len(rows.op) + headers) // BLOCK_RECORDS)
    except ValueError as error:
        raise UserError(str(error)) from error
    nothing = rows._replace(**{name: getattr(rows, name)[:0] for name in ("op", "n_bytes", "which", "n_copies")})
    metaslab_trace.run(pool, nothing, metaslab_trace.decided_for(nothing, pool))  # compiles
    decided = metaslab_trace.decided_for(rows, pool)
    start = time.process_time()
    status = metaslab_trace.run(pool, rows, decided)
    seconds = time.process_time() - start
    if status:  # a defect: there is room for each row, and no row does what cannot be
        raise RuntimeError(f"row {decided.done[0]} of the trace: the allocator says {status}")
    return Driven("fast" if engine == FAST else "exact", pool, decided, seconds)


def _driven(variant: str, rows: Rows, vdevs: Sequence[TopVdev], engine: str) -> Driven:
    """With that engine; `auto` is fast where that gives the same."""
    unit, rules = _unit_of(rows, vdevs), era(ERA_OF[variant]).metaslab
    shifts = [top.ms_shift for top in vdevs]
    fits = (1 << max(shifts) <= MAX_BLOCKS * unit and unit <= min(2**17, 1 << min(shifts))
            and sum(top.asize for top in vdevs) <= MOST_BLOCKS * unit)
    if engine == "fast" and not fits:
        raise UserError(f"{_described(vdevs)} have blocks of {unit} B, but the fast engine takes 1 "
                        f"to {MAX_BLOCKS} blocks of at most 128 KiB in each and {MOST_BLOCKS} in all; choose exact or auto")
    if engine == "fast" or (engine == "auto" and fits):
        driven = drive(rules, rows, vdevs, FAST)
        if engine == "fast" or driven.ambiguous == 0:
            return driven
    return drive(rules, rows, vdevs, EXACT)


# ---- after each transaction group ----


def full_weights(decided: Decided) -> np.ndarray:
    """Weights as ZFS has them, uint64[txg, metaslab]: the two uppermost bits say who is active."""
    return decided.weight.astype(np.uint64) | decided.active.astype(np.uint64) << np.uint64(62)


def weights_hash(weights: np.ndarray, counts: np.ndarray | None = None) -> np.ndarray:
    """FNV-1a over the little-endian bytes of each row, with the start value of the recordings; uint64[txg]. Of each row
    only those weights that count (bool[txg, metaslab]; None: all)."""
    octets = np.ascontiguousarray(weights.astype("<u8")).view(np.uint8).reshape(len(weights), -1)
    value = np.full(len(weights), HASH_START, np.uint64)
    for place, column in enumerate(octets.T):
        following = (value ^ column) * np.uint64(HASH_PRIME)
        value = following if counts is None else np.where(counts[:, place // 8], following, value)
    return value


def after_txgs(decided: Decided, vdevs: Sequence[TopVdev]) -> pd.DataFrame:
    """The model's state after each txg, with the columns of the recordings."""
    weights, in_pool = full_weights(decided), decided.in_pool == 1
    columns: dict[str, np.ndarray | list[str]] = {"txg": decided.txg}
    columns |= dict(zip(PER_TXG, (decided.allocated, decided.n_loaded, decided.n_segments), strict=True))
    counts = None if in_pool.all() else np.repeat(in_pool, [top.asize >> top.ms_shift for top in vdevs], axis=1)
    columns[HASH] = [f"{value:016x}" for value in weights_hash(weights, counts)]
    if len(vdevs) == 1:
        columns |= _heaviest(decided, weights)
    columns |= {"rotor": decided.rotor, "aliquot_used": decided.used_aliquot}
    states = pd.DataFrame(columns).astype(str)
    for vdev in range(len(vdevs)):
        for name, values in (("alloc", decided.vdev_allocated), ("bias", decided.bias)):
            states[f"{name}{vdev}"] = np.where(in_pool[:, vdev], values[:, vdev].astype(str), NOT_SAID)
    return states


def _heaviest(decided: Decided, weights: np.ndarray) -> dict[str, np.ndarray]:
    columns = {}
    for i in range(min(N_FIRST, weights.shape[1])):
        columns[f"ms{i}"] = decided.first[:, i]
        columns[f"w{i}"] = weights[np.arange(len(weights)), decided.first[:, i]]
    return columns


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
    sentences = []
    for name in (column for column in replayed if column in recorded):
        was, now = recorded[name].str.strip().to_numpy(), replayed[name].to_numpy()
        bad = np.flatnonzero((was != now) & (now != NOT_SAID))
        if len(bad):
            row = bad[0]
            sentences.append(f"{name} differs after {len(bad)} of {len(recorded)} transaction groups; after txg "
                             f"{replayed['txg'][row]} it is {was[row]} in the recording and {now[row]} in the model")
    return tuple(sentences)


# ---- replays ----


def replay_pool(path: Path | str, variant: str, vdevs: Sequence[TopVdev], expect: Path | str | None = None,
                expect_txg: Path | str | None = None, to: Path | str | None = None, engine: str = "exact") -> AllocReplay:
    """Run the trace of a pool at `path` through the model under the rules of `variant`.

    vdevs       of which the pool is made, each with its `ms_shift` (`alike`, `study.replays.recorded_vdevs`)
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
    if txgs is not None and _gave_at_once(trace, txgs):
        rows = rows._replace(op=np.where(rows.op == ADD_VDEV, ADD_OPEN_VDEV, rows.op))
    driven = _driven(variant, rows, vdevs, engine)
    places = _places(driven.decided, vdevs)
    differences, first = (None, None) if recorded is None else compare(trace, places, recorded)
    check_freed(trace, places, first, f"give the pool more than {_described(vdevs)}, or mend the row", driven.ambiguous or 0)
    if to is not None:
        write_places(to, places)
    others = () if txgs is None else compare_txgs(txgs, after_txgs(driven.decided, vdevs))
    return AllocReplay(
        path=trace.path, variant=variant, engine=driven.engine, rows=len(trace.op), allocations=len(places.off512),
        differences=differences, first=first, seconds=driven.seconds,
        summary=_summary(driven, places, txgs is not None and not others), others=others)


def _places(decided: Decided, vdevs: Sequence[TopVdev]) -> Places:
    sectors = np.where(decided.offset < 0, -1, decided.offset // SECTOR)
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


# ---- folders ----


def scenario_of(path: Path) -> str:
    """Name of the scenario whose operations are at `path`."""
    return path.name.removesuffix(SUFFIX).partition("__")[0]


def txgs_beside(path: Path, variant: str) -> Path | None:
    """The states after each txg that stand beside the operations at `path`, if they do."""
    file = path.with_name(f"{scenario_of(path)}_{variant}_txg.csv")
    return file if file.exists() else None


def vdevs_in(txgs: pd.DataFrame) -> tuple[TopVdev, ...] | None:
    """The vdev of a pool of one that is empty in the first recorded state, from the weights of its first two metaslabs:
    the first weighs twice its size, the second less by one share."""
    if not len(txgs) or not {"w0", "w1"} <= set(txgs) or txgs["synced_alloc"][0] != "0":
        return None
    first, second = int(txgs["w0"][0]), int(txgs["w1"][0])
    if not second < first:
        return None
    size, share = first // 2, first - second
    metaslabs = size // share
    return alike(metaslabs, size) if size // metaslabs == share else None


def recorded_vdevs(path: Path, variant: str, pools: Path | None = None) -> tuple[TopVdev, ...] | None:
    """The vdevs of the trace at `path` by the file `pools`, or by that beside it."""
    return read_pools(pools or path.with_name(FILE)).get((scenario_of(path), variant))


def vdevs_of(path: Path, variant: str) -> tuple[TopVdev, ...]:
    """The vdevs of a recorded pool. Raises UserError if nothing beside the trace says them."""
    vdevs, states = recorded_vdevs(path, variant), txgs_beside(path, variant)
    if vdevs is None and states is not None:
        vdevs = vdevs_in(read_txgs(states))
    if vdevs is None:
        raise UserError(f"{path} is of a pool, but there is neither a line for {variant} in {FILE} beside it, nor does a "
                        f"{scenario_of(path)}_{variant}_txg.csv begin with an empty one of two metaslabs or more, so its "
                        "size is not known; use study replay alloc with --metaslabs")
    return vdevs


def replays_of(path: Path, engine: str = "exact") -> Iterator[AllocReplay]:
    """The trace of a pool at `path` under every variant of which offsets are recorded."""
    for variant, offsets in recorded_with(path):
        yield replay_pool(path, variant, vdevs_of(path, variant), offsets, txgs_beside(path, variant), engine=engine)
