"""`pools.jsonl`: of which vdevs the pools of recorded traces are made, a line for each trace and variant."""
from pathlib import Path

from model.zfs.metaslab.new_pool import SMALLEST_SHIFT
from model.zfs.metaslab.state import LOG, NORMAL, TopVdev
from model.zfs.vdev.raid import VdevParams, vdev_params
from study.replays.trace_file import json_object, read_lines, whole

FILE = "pools.jsonl"
MAX_METASLABS, LARGEST_POOL = 2**16, 2**53  # of a pool; B
LARGEST_SHIFT = 50
MAX_VDEVS = 2**10


def read_pools(path: Path) -> dict[tuple[str, str], tuple[TopVdev, ...]]:
    """The vdevs, in order of their numbers, by (trace, variant); none when there is no such file. Raises UserError."""
    return dict(read_lines(
        path, lambda entry: ((str(entry["trace"]), str(entry["variant"])), _vdevs(entry["vdevs"])), "a pool",
        "trace, variant and vdevs, each of asize, ms_shift, ms_count, ashift, children, parity and log"))


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
