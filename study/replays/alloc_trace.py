"""Recorded traces of the allocator: their columns, what cannot be in them, and how a replay is compared.

`<scenario>__ops.parquet` holds operations in order of time (the format: `data/traces/alloc/README.md`), and
`<scenario>__<variant>__off.parquet` where the code of that build put each block. `study.replays.space_map` replays those of
one space map, `study.replays.pool` those of many metaslabs.
"""
import io
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from model.zfs.space.pickers import VARIANTS
from model.zfs.space.replay_exact import ALLOCATE, FREE, NEW_MAP
from study.errors import UserError
from study.project import write_atomically
from study.replays.vdev_cache import LARGEST, SECTOR, Difference, integers, read_table

COLUMNS = ("op", "size512", "arg")
ENGINES = ("exact", "fast", "auto")
AMBIGUOUS = "choices in which the engines may differ"
LARGEST_BYTES = 2**53  # of a map: a hundred times that is counted in 64 bits


class Trace(NamedTuple):
    """Operations of a file, checked; int64[rows]."""
    path: Path
    op: np.ndarray
    size512: np.ndarray
    arg: np.ndarray
    d: np.ndarray | None  # which copy of a block this is, where the file says


class AllocReplay(NamedTuple):
    """A trace replayed."""
    path: Path
    variant: str
    engine: str
    rows: int
    allocations: int
    differences: int | None  # allocations that went elsewhere; None: nothing was recorded to compare with
    first: Difference | None
    seconds: float  # in the model, once compiled
    found: dict[str, int]  # what there is to say of the end
    others: tuple[str, ...] = ()  # differences in what else was compared, a sentence each

    @property
    def differs(self) -> bool:
        return bool(self.differences or self.others)


# ---- reading ----


def check_variant(variant: str) -> None:
    if variant not in VARIANTS:
        raise UserError(f"variant is {variant!r}, but the recorded ones are {', '.join(VARIANTS)}; choose one of these")


def read_trace(path: Path | str) -> Trace:
    """The operations at `path`. Raises UserError."""
    path = Path(path)
    table = read_table(path, COLUMNS, "an operation is made of", optional=("d",))
    columns = {name: integers(path, table, name) for name in table}
    trace = Trace(path, columns["op"], columns["size512"], columns["arg"], columns.get("d"))
    _check_values(trace)
    _check_frees(trace)
    return trace


def _bad(trace: Trace, bad: np.ndarray, what: str, mend: str) -> None:
    """A UserError for the first row in `bad`, a mask."""
    rows = np.flatnonzero(bad)
    if len(rows):
        row = rows[0]
        values = {"row": row, "op": trace.op[row], "size512": trace.size512[row], "arg": trace.arg[row]}
        raise UserError(f"{trace.path}: row {row} {what.format(**values)}; {mend}")


def _check_values(trace: Trace) -> None:
    op, size, arg = trace.op, trace.size512, trace.arg
    _bad(trace, (op < 0) | (op > NEW_MAP), "has op {op}, but it must be from 0 to 4", "mend or remove the row")
    _bad(trace, (op == ALLOCATE) & ((size < 1) | (size > LARGEST // SECTOR)),
         f"allocates {{size512}} sectors of 512 B, but a block has 1 to {LARGEST // SECTOR}", "mend or remove the row")
    _bad(trace, (op == NEW_MAP) & ((size < 9) | (size > 40)),
         "begins a map of units of 2^{size512} B, but a unit is from 2^9 to 2^40 B", "mend the row")
    _bad(trace, (op == NEW_MAP) & ((arg < 1) | (arg > LARGEST_BYTES // SECTOR)),
         f"begins a map of {{arg}} sectors, but a map has 1 to {LARGEST_BYTES // SECTOR}", "mend the row")


def _check_frees(trace: Trace) -> None:
    """Every free must be of an allocation before it, under the present map, that was not freed yet, and of all of it."""
    frees = trace.op == FREE
    seen = np.cumsum(trace.op == ALLOCATE)
    _bad(trace, frees & ((trace.arg < 0) | (trace.arg >= seen)),
         "frees allocation {arg}, but there was none of that number before it", "keep every row of the trace")
    current = np.maximum.accumulate(np.where(trace.op == NEW_MAP, seen, 0))
    _bad(trace, frees & (trace.arg < current),
         "frees allocation {arg}, which was made in a map before the present one", "mend or remove the row")
    rows = np.flatnonzero(frees)
    again = np.zeros(len(trace.op), bool)
    order = np.argsort(trace.arg[rows], kind="stable")
    freed = trace.arg[rows][order]
    again[rows[order[1:]][freed[1:] == freed[:-1]]] = True
    _bad(trace, again, "frees allocation {arg} a second time", "free each once")
    _check_freed_sizes(trace, rows)


def _check_freed_sizes(trace: Trace, rows: np.ndarray) -> None:
    """The frees in `rows` are of whole blocks: what ZFS frees is named by place and size."""
    allocated = trace.size512[trace.op == ALLOCATE][trace.arg[rows]]
    bad = np.flatnonzero(trace.size512[rows] != allocated)
    if len(bad):
        row, size = rows[bad[0]], allocated[bad[0]]
        raise UserError(f"{trace.path}: row {row} frees {trace.size512[row] * SECTOR} B of allocation {trace.arg[row]}, "
                        f"which is of {size * SECTOR} B; free all of a block at once: size512 {size}")


def read_offsets(path: Path | str, allocations: int) -> np.ndarray:
    """Where each block was put when the trace was recorded, in sectors; -1 for nowhere. Raises UserError."""
    path = Path(path)
    offsets = integers(path, read_table(path, ("off512",), "a replay compares"), "off512")
    if len(offsets) != allocations:
        raise UserError(f"{path} has {len(offsets)} offsets, but the trace has {allocations} allocations; give the "
                        "offsets of this trace and variant")
    return offsets


def write_offsets(path: Path | str, sectors: np.ndarray) -> None:
    """As the recorded ones are: int32 where that is enough."""
    kind = np.int32 if sectors.max(initial=0) < 2**31 else np.int64
    buffer = io.BytesIO()
    pq.write_table(pa.table({"off512": sectors.astype(kind)}), buffer)
    write_atomically(Path(path), buffer.getvalue())


# ---- comparing ----


def compare(trace: Trace, replayed: np.ndarray, recorded: np.ndarray) -> tuple[int, Difference | None]:
    """(blocks that went elsewhere, the first of them); both in sectors, an element per allocation."""
    differ = np.flatnonzero(replayed != recorded)
    if not len(differ):
        return 0, None
    block = differ[0]
    row = int(np.flatnonzero(trace.op == ALLOCATE)[block])
    return len(differ), Difference(row, "off512", int(recorded[block]), int(replayed[block]))


def check_freed(trace: Trace, replayed: np.ndarray, first: Difference | None, mend: str = "mend or remove the row",
                ambiguous: int = 0) -> None:
    """A UserError, with what to do, when the trace frees a block that found no place, and nothing differed until then.
    After `ambiguous` choices, which depended on the shape of a tree, the fast engine may have gone astray itself."""
    frees = trace.op == FREE
    refused = np.zeros(len(trace.op), bool)
    refused[frees] = replayed[trace.arg[frees]] == -1
    if first is not None:
        refused[first.row:] = False
    if ambiguous:
        _bad(trace, refused, "frees allocation {arg}, for which the fast engine found no space, but "
             f"{ambiguous} of its choices depend on the shape of a tree", "use --engine exact or auto")
    _bad(trace, refused, "frees allocation {arg}, which found no space and was never made", mend)


def sentence(one: AllocReplay) -> str:
    """What a replay found, for the terminal."""
    name = f"{one.path} ({one.variant}, {one.engine})"
    speed = f"{one.seconds / one.rows * 1e9:.0f} ns a row"
    found = ", ".join(f"{value} {what}" for what, value in one.found.items())
    if one.differences is None:
        head = f"{name}: {one.allocations} allocations in {one.rows} rows ({speed}; {found}); nothing to compare with"
    elif one.first is None:
        head = f"{name}: 0 differences in {one.allocations} allocations of {one.rows} rows ({speed}; {found})"
    else:
        head = (f"{name}: {one.differences} differences in {one.allocations} allocations of {one.rows} rows; the first in "
                f"row {one.first.row}: {one.first.column} is {one.first.recorded} in the recording and "
                f"{one.first.replayed} in the model")
    return "; ".join((head, *one.others))
