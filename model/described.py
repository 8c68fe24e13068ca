"""A pool that is not new: metaslabs in which some of the space is allocated already, and what writes to them become.

*Claimed* is what lies there: it goes into the log of the metaslab as if one transaction group had allocated it, so that the
free map is made of it when the metaslab is loaded. Then groups of blocks of one size are allocated and synced, by
`model.metaslab_trace`; nothing is freed meanwhile. In the vdev queue of one disk, blocks that lie side by side and wait
together become one I/O, of up to 128 KiB (spec 3.5): that is all that makes writes large, and `n_units` counts them for a
group that waits as a whole.
"""

import numpy as np

from model import free_map
from model.free_map import ALLOC
from model.jit import kernel
from model.metaslab import alloc_map
from model.metaslab_group import weigh

AGGREGATION_BYTES = 2**17  # zfs_vdev_aggregation_limit


@kernel
def _count(pool, m, n_bytes):
    """So much of the metaslab is allocated, and was synced."""
    vdev = pool.vdev[m]
    pool.allocated[m] += n_bytes
    pool.syncing[m] += n_bytes
    pool.has_object[m] = 1
    pool.vdevs.allocated[vdev] += n_bytes
    pool.class_allocated[pool.vdevs.metaslab_class[vdev]] += n_bytes


@kernel
def count_bytes(pool, n_bytes):
    """Say how much of each metaslab is allocated, but not where; -1: nothing was ever written to it. None may be loaded."""
    for m in range(len(n_bytes)):
        if n_bytes[m] >= 0:
            _count(pool, m, n_bytes[m])
            weigh(pool, m)


@kernel
def claim(pool, m, segments):
    """Write the allocated [start, end) of a metaslab, offsets in the vdev, (n, 2), into its log. OK or what cannot be."""
    one = alloc_map(pool, m, 0)
    for i in range(len(segments)):
        free_map.note(pool, free_map.put(pool, one, segments[i, 0], segments[i, 1]))
    free_map.append(pool, m, one, ALLOC)
    return pool.failure[0]


def n_units(vdevs, offsets, n_bytes):
    """I/Os that blocks of `n_bytes` become which all wait together."""
    order = np.lexsort((offsets, vdevs))
    vdevs, offsets = vdevs[order], offsets[order]
    begins = np.ones(len(offsets), bool)
    begins[1:] = (vdevs[1:] != vdevs[:-1]) | (offsets[1:] != offsets[:-1] + n_bytes)
    rows = np.diff(np.append(np.flatnonzero(begins), len(offsets)))
    return int(np.ceil(rows / max(1, AGGREGATION_BYTES // n_bytes)).sum())
