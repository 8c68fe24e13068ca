"""Operations of a recorded pool as the allocator of the model takes them: what cannot be in them, and copies together."""
import numpy as np

from model.devices.sectors import SECTOR_BYTES
from model.zfs.metaslab.replay import ADD_VDEV, ALLOCATE, END_OF_TXG, FREE, NO_BLOCK, Rows
from model.zfs.metaslab.state import MAX_COPIES
from model.zfs.shared_numbers import FIRST_TXG
from model.zfs.space.replay_exact import NEW_MAP
from study.errors import UserError
from study.replays.alloc_trace import Trace, refuse_rows


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
                            f"{copy - 1} of the same size. Keep the rows of a block together")
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
    return Rows(op=trace.op[kept], n_bytes=trace.size512[kept] * SECTOR_BYTES, which=trace.arg[kept], n_copies=copies[kept],
                first_txg=ends[:1] if len(ends) else np.array([FIRST_TXG]), **asked)
