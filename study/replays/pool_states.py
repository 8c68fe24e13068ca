"""The state of a recorded pool after each transaction group (a CSV) against the model's.

It has bytes allocated as of the last sync, loaded metaslabs, free segments in them, a hash of all weights. Then it has the
four heaviest metaslabs. Or it has, of several vdevs, whose turn it is, how far, and how full and how favoured each one is.
"""
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from model.zfs.metaslab.replay import N_FIRST, Decided
from model.zfs.metaslab.state import TopVdev
from study import tables as table_file
from study.errors import UserError
from study.replays.alloc_trace import scenario_of
from study.replays.trace_file import table_beside

HASH_START, HASH_PRIME = 1469598103934665603, 1099511628211  # as the recordings have it: not the start of standard FNV-1a
HASH, PER_TXG = "fnv64_weights", ("synced_alloc", "n_loaded", "loaded_free_segs")
STATES = "_txg"  # at the end of the name of a table
NOT_SAID = ""  # of a vdev that is not in the pool yet


def full_weights(decided: Decided) -> np.ndarray:
    """Weights as ZFS has them, uint64[txg, metaslab]: the two uppermost bits say who is active."""
    return decided.weight.astype(np.uint64) | decided.active.astype(np.uint64) << np.uint64(62)


def weights_hash(weights: np.ndarray, counts: np.ndarray | None = None) -> np.ndarray:
    """FNV-1a over the little-endian bytes of each row, with the start value of the recordings; uint64[txg]. Of each row
    only those weights that count (bool[txg, metaslab]; None: all)."""
    octets = np.ascontiguousarray(weights.astype("<u8")).view(np.uint8).reshape(len(weights), 8 * weights.shape[1])
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


# ---- folders ----


def txgs_beside(path: Path, variant: str) -> Path | None:
    """The states after each txg that stand beside the operations at `path`, if they do."""
    return table_beside(path, f"{scenario_of(path)}_{variant}{STATES}")
