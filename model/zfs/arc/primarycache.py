"""The properties primarycache and secondarycache: what the ARC and cache devices may keep of a file system's blocks.

 1. Each is all, metadata or none. Metadata are indirect blocks and the blocks of metadata objects; a file's records are not.
 2. A block that primarycache leaves out is read into the ARC all the same, and found there as long as anybody holds it. Who
    comes while it is being read shares the read. With its last hold its data goes at once, and it becomes a ghost. So each
    read of a piece of a record reads the record, and a ghost that is found again still moves p.
 3. File-level prefetch is not asked for such blocks. What is dirty stays until it is written.
 4. secondarycache says what may be fed to a cache device. It is fed from the ARC's lists, so what primarycache leaves out
    never gets there, whatever secondarycache says.

In ZFS: `DBUF_IS_CACHEABLE`, `DBUF_IS_L2CACHEABLE`, `dbuf_rele`, `dbuf_read`, `arc_buf_evict`; spec 7.4. Since onnv_98 or a
little earlier; before, everything is kept.
"""

from model.jit import kernel
from model.zfs.arc import columns as header
from model.zfs.arc.arc import evict_now
from model.zfs.arc.lists import L2_CACHEABLE, MFU, MRU

NOTHING, METADATA_ONLY, ALL = 0, 1, 2
POLICIES = {"none": NOTHING, "metadata": METADATA_ONLY, "all": ALL}


@kernel
def is_kept(policy, is_metadata):
    """Rule 1: whether blocks of this type stay under the property's value."""
    return policy == ALL or (policy == METADATA_ONLY and bool(is_metadata))


@kernel
def asks_prefetch(primarycache):
    """Rule 3, for a file's records."""
    return primarycache == ALL


@kernel
def l2_mark(secondarycache, is_metadata):
    """The mark of a new or revived block of a pool that has cache devices: rule 4."""
    return L2_CACHEABLE if is_kept(secondarycache, is_metadata) else 0


@kernel
def drop_unless_kept(arc, node, primarycache, is_metadata):
    """Rule 2, for a block that somebody has released."""
    is_listed = arc.nodes[node, header.HOLDS] == 0 and MRU <= arc.nodes[node, header.STATE] <= MFU
    if is_listed and not is_kept(primarycache, is_metadata):
        evict_now(arc, node)


def policy(value: str) -> int:
    """The value of a property, by its name."""
    if value not in POLICIES:
        raise ValueError(f"the cache property is {value!r}, but ZFS knows {', '.join(POLICIES)}; choose one of these")
    return POLICIES[value]
