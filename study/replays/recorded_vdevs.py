"""Of which vdevs the pool of a recorded trace is made: by `pools.jsonl`, a line for each trace and variant.

A pool of a single vdev needs none, if it is empty in its first recorded state: that says how large it is.
"""
from pathlib import Path

import pandas as pd

from model.zfs.metaslab.new_pool import SMALLEST_SHIFT
from model.zfs.metaslab.state import LOG, NORMAL, TopVdev
from model.zfs.vdev.raid import VdevParams, vdev_params
from study.errors import UserError
from study.replays.alloc_trace import scenario_of
from study.replays.pool_states import read_txgs, txgs_beside
from study.replays.trace_file import json_object, read_lines, whole

FILE = "pools.jsonl"
MAX_METASLABS, LARGEST_POOL = 2**16, 2**53  # of a pool; B
LARGEST_SHIFT = 50
MAX_VDEVS = 2**10
MAX_ROWS = 2**40


def read_pools(path: Path) -> dict[tuple[str, str], tuple[TopVdev, ...]]:
    """The vdevs, in order of their numbers, by (trace, variant); none when there is no such file. Raises UserError."""
    return dict(read_lines(
        path, lambda entry: ((str(entry["trace"]), str(entry["variant"])), _vdevs(entry["vdevs"])), "a pool",
        "trace, variant and vdevs, each of asize, ms_shift, ms_count, ashift, children, parity and log"))


def read_rows(path: Path) -> dict[tuple[str, str], int]:
    """How many rows each trace has, by (trace, variant), where the file says so. Raises UserError."""
    named = read_lines(path, lambda entry: ((str(entry["trace"]), str(entry["variant"])),
                                            whole(entry, "rows", 0, MAX_ROWS) if "rows" in entry else None),
                       "a pool", "trace and variant, and a whole number of rows or none")
    return {name: n_rows for name, n_rows in named if n_rows is not None}


def _vdevs(entries: list) -> tuple[TopVdev, ...]:
    if not isinstance(entries, list) or not 1 <= len(entries) <= MAX_VDEVS:
        raise ValueError(f"vdevs must be a list of 1 to {MAX_VDEVS}")
    vdevs = tuple(map(_vdev, entries))
    n_metaslabs = sum(top.asize >> top.ms_shift for top in vdevs)
    if n_metaslabs > MAX_METASLABS or sum(top.asize for top in vdevs) > LARGEST_POOL:
        raise ValueError(f"the vdevs have {n_metaslabs} metaslabs, but the model takes {MAX_METASLABS}, and 2^53 B in all")
    return vdevs


def _vdev(entry: dict) -> TopVdev:
    json_object(entry)
    asize, shift = whole(entry, "asize", 1, LARGEST_POOL), whole(entry, "ms_shift", SMALLEST_SHIFT, LARGEST_SHIFT)
    if whole(entry, "ms_count", 1, MAX_METASLABS) != asize >> shift:
        raise ValueError(f"ms_count is {entry['ms_count']}, but {asize} B have {asize >> shift} metaslabs of 2^{shift} B")
    metaslab_class = LOG if whole(entry, "log", 0, 1) else NORMAL
    return TopVdev(_kind(entry), asize=asize, metaslab_class=metaslab_class, ms_shift=shift)


def _kind(entry: dict) -> VdevParams:
    """A vdev with parity is RAID-Z; without, several children are a mirror."""
    children, parity = whole(entry, "children", 0, 255), whole(entry, "parity", 0, 3)
    kind = f"raidz{parity}" if parity else "mirror" if children > 1 else "single"
    return vdev_params(kind, max(1, children), whole(entry, "ashift", 9, 17))


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


# ---- of a trace ----


def vdevs_in(txgs: pd.DataFrame) -> tuple[TopVdev, ...] | None:
    """The vdev of a pool of one that is empty in the first recorded state, from the weights of its first two metaslabs. The
    first weighs twice its size, the second less by one share."""
    if not len(txgs) or not {"w0", "w1"} <= set(txgs) or txgs["synced_alloc"][0].strip() != "0":
        return None
    weights = [txgs[name][0].strip() for name in ("w0", "w1")]
    if not all(weight.isdecimal() for weight in weights):
        return None
    first, second = map(int, weights)
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
        raise UserError(f"{path} is of a pool whose size is not known. There is neither a line for {variant} in {FILE} "
                        f"beside it, nor does a {scenario_of(path)}_{variant}_txg.csv begin with an empty one of two "
                        "metaslabs or more. Use study replay alloc with --metaslabs")
    return vdevs
