"""Recorded traces of the allocator: their columns, what cannot be in them, and how a replay is compared.

`<scenario>__ops` holds operations in order of time (the format: `data/traces/alloc/README.md`), and
`<scenario>__<variant>__off` where the code of that build put each block. Either is a Parquet file or a CSV.
`study.replays.space_map` replays those of one space map, `study.replays.pool` those of many metaslabs, on one vdev or
several.
"""
import io
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from model.devices.sectors import SECTOR_BYTES
from model.zfs.metaslab.replay import ADD_VDEV, NO_BLOCK
from model.zfs.shared_numbers import TXG_SIZE
from model.zfs.space.pickers import VARIANTS
from model.zfs.space.replay_exact import ALLOCATE, FREE, NEW_MAP
from study.errors import UserError
from study.project import write_atomically
from study.replays.trace_file import LARGEST, Difference, check_bounds, read_columns, stem_of, table_beside, where
from study.words import counted

COLUMNS = ("op", "size512", "arg")
ASKED = ("d", "hint", "avoid", "log", "ahead")  # what a block of a pool may ask for, beside its size
OPERATIONS, OFFSETS = "__ops", "__off"  # at the end of the names of tables
ENGINES = ("exact", "fast", "auto")
AMBIGUOUS = "choices in which the engines may differ"
LARGEST_BYTES = 2**53  # of a map: a hundred times that is counted in 64 bits
MAX_AHEAD = TXG_SIZE - 2  # txgs that are open at a time, but one


class Trace(NamedTuple):
    """Operations of a file, checked; int64[rows]."""
    path: Path
    op: np.ndarray
    size512: np.ndarray
    arg: np.ndarray
    asked: dict[str, np.ndarray]  # those of ASKED that the file has


class Places(NamedTuple):
    """Where blocks are, an element per allocation."""
    off512: np.ndarray  # sectors, -1 for nowhere
    vdev: np.ndarray | None = None  # -1 for none; None where it is not said


class AllocReplay(NamedTuple):
    """A trace replayed."""
    path: Path
    variant: str
    engine: str
    rows: int
    allocations: int
    differences: int | None  # allocations that went elsewhere; None: nothing was recorded to compare with
    first: Difference | None
    seconds: float  # of a processor in the model, once compiled
    summary: dict[str, int]  # what there is to say of the end
    others: tuple[str, ...] = ()  # differences in what else was compared, a sentence each
    columns: tuple[str, ...] = ()  # of each allocation, compared
    states: tuple[str, ...] = ()  # columns of the state after each transaction group, compared

    @property
    def differs(self) -> bool:
        """Whether any decision of the model was another than the recorded one."""
        return bool(self.differences or self.others)


# ---- reading ----


def check_variant(variant: str) -> None:
    """A variant that was never recorded is a UserError."""
    if variant not in VARIANTS:
        raise UserError(f"variant is {variant!r}, but the recorded ones are {', '.join(VARIANTS)}; choose one of these")


def check_engine(engine: str) -> None:
    """An engine that there is not is a UserError."""
    if engine not in ENGINES:
        raise UserError(f"engine is {engine!r}, but there are {', '.join(ENGINES)}; choose one of these")


def read_trace(path: Path | str) -> Trace:
    """The operations at `path`. Raises UserError."""
    path = Path(path)
    columns = read_columns(path, COLUMNS, "an operation is made of", optional=ASKED)
    trace = Trace(path, op=columns.pop("op"), size512=columns.pop("size512"), arg=columns.pop("arg"), asked=columns)
    _check_values(trace)
    _check_asked(trace)
    _check_frees(trace)
    return trace


def refuse_rows(trace: Trace, bad: np.ndarray, complaint: str, mend: str) -> None:
    """A UserError for the first row in `bad`, a mask."""
    rows = np.flatnonzero(bad)
    if len(rows):
        row = rows[0]
        values = {"row": row, "op": trace.op[row], "size512": trace.size512[row], "arg": trace.arg[row]}
        raise UserError(f"{trace.path}: row {row} {complaint.format(**values)}; {mend}")


def _check_values(trace: Trace) -> None:
    op, size, arg = trace.op, trace.size512, trace.arg
    refuse_rows(trace, (op < 0) | (op > ADD_VDEV), f"has op {{op}}, but it must be from 0 to {ADD_VDEV}",
                "mend or remove the row")
    refuse_rows(trace, (op == ALLOCATE) & ((size < 1) | (size > LARGEST // SECTOR_BYTES)),
                f"allocates {{size512}} sectors of 512 B, but a block has 1 to {LARGEST // SECTOR_BYTES}",
                "mend or remove the row")
    refuse_rows(trace, (op == NEW_MAP) & ((size < 9) | (size > 40)),
                "begins a map of units of 2^{size512} B, but a unit is from 2^9 to 2^40 B", "mend the row")
    refuse_rows(trace, (op == NEW_MAP) & ((arg < 1) | (arg > LARGEST_BYTES // SECTOR_BYTES)),
                f"begins a map of {{arg}} sectors, but a map has 1 to {LARGEST_BYTES // SECTOR_BYTES}", "mend the row")


def _check_asked(trace: Trace) -> None:
    allocates = trace.op == ALLOCATE
    bounds = (("hint", NO_BLOCK, LARGEST), ("avoid", 0, 1), ("log", 0, 1), ("ahead", 0, MAX_AHEAD))
    check_bounds(trace.path, trace.asked, [(*bound, allocates) for bound in bounds if bound[0] in trace.asked])


def _check_frees(trace: Trace) -> None:
    """Every free must be of an allocation before it, under the present map, that was not freed yet, and of all of it."""
    frees = trace.op == FREE
    seen = np.cumsum(trace.op == ALLOCATE)
    refuse_rows(trace, frees & ((trace.arg < 0) | (trace.arg >= seen)),
                "frees allocation {arg}, but there was none of that number before it", "keep every row of the trace")
    current = np.maximum.accumulate(np.where(trace.op == NEW_MAP, seen, 0))
    refuse_rows(trace, frees & (trace.arg < current),
                "frees allocation {arg}, which was made in a map before the present one", "mend or remove the row")
    rows = np.flatnonzero(frees)
    again = np.zeros(len(trace.op), bool)
    order = np.argsort(trace.arg[rows], kind="stable")
    freed = trace.arg[rows][order]
    again[rows[order[1:]][freed[1:] == freed[:-1]]] = True
    refuse_rows(trace, again, "frees allocation {arg} a second time", "free each once")
    _check_freed_sizes(trace, rows)


def _check_freed_sizes(trace: Trace, rows: np.ndarray) -> None:
    """The frees in `rows` are of whole blocks: what ZFS frees is named by place and size."""
    allocated = trace.size512[trace.op == ALLOCATE][trace.arg[rows]]
    bad = np.flatnonzero(trace.size512[rows] != allocated)
    if len(bad):
        row, size = rows[bad[0]], allocated[bad[0]]
        raise UserError(f"{trace.path}: row {row} frees {trace.size512[row] * SECTOR_BYTES} B of allocation "
                        f"{trace.arg[row]}, which is of {size * SECTOR_BYTES} B; free all of a block at once: "
                        f"size512 {size}")


def read_places(path: Path | str, allocations: int, n_vdevs: int = 1) -> Places:
    """Where each block was put when the trace was recorded. Raises UserError."""
    path = Path(path)
    needed = ("off512", "vdev") if n_vdevs > 1 else ("off512",)
    columns = read_columns(path, needed, "a replay compares", optional=("vdev",) if n_vdevs == 1 else ())
    if len(columns["off512"]) != allocations:
        raise UserError(f"{path} has {len(columns['off512'])} offsets, but the trace has {allocations} allocations; give "
                        "the offsets of this trace and variant")
    return Places(**columns)


def write_places(path: Path | str, places: Places) -> None:
    """As the recorded ones are: int32 where that is enough, and vdevs where there are several."""
    kind = np.int32 if places.off512.max(initial=0) < 2**31 else np.int64
    columns = {"off512": places.off512.astype(kind)}
    if places.vdev is not None:
        columns["vdev"] = places.vdev.astype(np.int8 if places.vdev.max(initial=0) < 2**7 else np.int32)
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    write_atomically(Path(path), buffer.getvalue())


def scenario_of(path: Path) -> str:
    """Name of the scenario whose operations are at `path`."""
    return stem_of(path).partition("__")[0]


def recorded_with(path: Path) -> list[tuple[str, Path]]:
    """(variant, offsets) that stand beside the operations at `path`."""
    scenario, _, own = stem_of(path).removesuffix(OPERATIONS).partition("__")
    files = [(variant, table_beside(path, f"{scenario}__{variant}{OFFSETS}")) for variant in ([own] if own else VARIANTS)]
    return [(variant, file) for variant, file in files if file is not None]


# ---- comparing ----


def compared(replayed: Places, recorded: Places | None) -> tuple[str, ...]:
    """The columns that both have."""
    if recorded is None:
        return ()
    return ("off512",) if recorded.vdev is None or replayed.vdev is None else ("off512", "vdev")


def compare(trace: Trace, replayed: Places, recorded: Places) -> tuple[int, Difference | None]:
    """(blocks that went elsewhere, the first of them)."""
    pairs = {name: (getattr(recorded, name), getattr(replayed, name)) for name in compared(replayed, recorded)}
    differ = np.flatnonzero(np.logical_or.reduce([was != now for was, now in pairs.values()]))
    if not len(differ):
        return 0, None
    block = differ[0]
    row = int(np.flatnonzero(trace.op == ALLOCATE)[block])
    name, (was, now) = next((name, pair) for name, pair in pairs.items() if pair[0][block] != pair[1][block])
    return len(differ), Difference(row, name, int(was[block]), int(now[block]))


def check_freed(trace: Trace, replayed: Places, first: Difference | None, mend: str = "mend or remove the row",
                ambiguous: int = 0) -> None:
    """A UserError, with what to do, when the trace frees a block that found no place, and nothing differed until then.
    After `ambiguous` choices, which depended on the shape of a tree, the fast engine may have gone astray itself."""
    frees = trace.op == FREE
    refused = np.zeros(len(trace.op), bool)
    refused[frees] = replayed.off512[trace.arg[frees]] == -1
    if first is not None:
        refused[first.row:] = False
    if ambiguous:
        refuse_rows(trace, refused, "frees allocation {arg}, for which the fast engine found no space, but "
                    f"{ambiguous} of its choices depend on the shape of a tree", "use --engine exact or auto")
    refuse_rows(trace, refused, "frees allocation {arg}, which found no space and was never made", mend)


def sentence(replay: AllocReplay) -> str:
    """What a replay gave, for the terminal."""
    name = f"{replay.path} ({replay.variant}, {replay.engine})"
    speed = f"{replay.seconds / replay.rows * 1e9:.0f} ns a row"
    summary = ", ".join(f"{value} {quantity}" for quantity, value in replay.summary.items())
    allocations, rows = counted(replay.allocations, "allocation"), counted(replay.rows, "row")
    if replay.differences is None:
        head = f"{name}: {allocations} in {rows} ({speed}; {summary}); nothing to compare with"
    else:
        head = (f"{name}: {counted(replay.differences, 'difference')} in {allocations} of {rows} by "
                f"{', '.join(replay.columns)}")
        head += f" ({speed}; {summary})" if replay.first is None else f"; {where(replay.first)}"
    states = (f"compared after each transaction group: {', '.join(replay.states)}",) if replay.states else ()
    return "; ".join((head, *states, *replay.others))
