"""A ZAP object that holds entries of the dedup table: blocks of entries (*leaves*) found by the first bits of a key.

    key   0110 1…            pointer table of 2^bits pointers         leaves
          '--' bits ----->   00 --> A   01 --> B   10 --> C           A: prefix 00   B: prefix 01
                                                   11 --> C           C: prefix 1, one bit short of `bits`

 1. *Lookup.* The first bits of the key choose a pointer, and that a leaf. The key is looked for there and nowhere else.
 2. *Room.* A leaf of 4 KiB has 158 chunks of 24 bytes. An entry takes one for itself, two for its key of 40 bytes, and one
    or two for its value: 5 in all (or 4). So a leaf holds 31 entries (or 39).
 3. *Split.* A new entry that finds its leaf full splits it: those whose next bit is 1 move to a new leaf. If all are on
    one side, that splits again. A leaf that already uses all bits of the pointer table doubles the table first.
 4. *Removal* gives back the chunks. A leaf never goes, and two never join: an emptied table stays as large as it was.

Keys are checksums, so the first bits are as good as random. Which leaves there are then depends on which keys were
entered, and not on their order.

In ZFS: zap.c, `zap_add`, `zap_expand_leaf`, `zap_grow_ptrtbl`; zap_leaf.c, `zap_entry_create`, `zap_leaf_split`; ddt_zap.c;
spec 8. Left out: what a key is made of (here 63 bits), leaves that pack values of several sizes, LZJB of the leaves.
"""
from typing import NamedTuple

import numpy as np

from model.jit import kernel
from model.jit.lent_memory import empty
from model.structures.sentinels import NOWHERE
from model.zfs.dedup import zap_columns as leaf_of

KEY_BITS = 63  # of a key here; a checksum has 256
CHUNK_BYTES = 24  # ZAP_LEAF_CHUNKSIZE
POINTER_BYTES = 8  # of the pointer table
INDIRECT_FANOUT = 32  # block pointers of 128 B in an indirect block of 4 KiB
COPIES = 3  # of what lies in the meta object set
SPARE_BITS = 5  # pointer table: how much finer than one pointer a leaf it can become


class ZapParams(NamedTuple):
    """Sizes; the defaults are those of the first release (spec 8)."""

    leaf_shift: int = 12  # ddt_zap_leaf_blockshift: leaves of 4 KiB; 15 from OpenZFS 2.2 on
    entry_chunks: int = 5  # 24 B each; conditions 10.2: 5 in a table that was counted; 4 where a value fits in 21 B


class Zap(NamedTuple):
    """Arrays that start empty; only what is used is ever touched."""

    pointers: np.ndarray  # int32, per prefix of `bits` bits: its leaf
    keys: np.ndarray  # int64 [leaf, slot]
    references: np.ndarray  # int32 [leaf, slot]: how many blocks point to it
    leaves: np.ndarray  # int32 [leaf, column]; see model.zfs.dedup.zap_columns
    scalars: np.ndarray  # likewise


def leaf_chunks(leaf_shift: int) -> int:
    """Chunks in a leaf of 2^leaf_shift bytes: what its header (two chunks) and its hash table leave."""
    return ((1 << leaf_shift) - 2 * (1 << leaf_shift - 5)) // CHUNK_BYTES - 2


def leaf_entries(params: ZapParams) -> int:
    """Entries that fit in a leaf."""
    return leaf_chunks(params.leaf_shift) // params.entry_chunks


# ---- lookup ----


@kernel
def leaf_for(zap, key):
    """Rule 1: the leaf in which `key` is, if it is anywhere."""
    return int(zap.pointers[key >> (KEY_BITS - zap.scalars[leaf_of.BITS])])


@kernel
def slot_of(zap, leaf, key):
    """Its slot there, or NOWHERE."""
    for slot in range(zap.leaves[leaf, leaf_of.N_ENTRIES]):
        if zap.keys[leaf, slot] == key:
            return slot
    return NOWHERE


# ---- change ----


@kernel
def _double(zap):
    """Rule 3: the pointer table gets one more bit; False if it has no room for that."""
    n = 1 << zap.scalars[leaf_of.BITS]
    if 2 * n > len(zap.pointers):
        return False
    for i in range(n - 1, -1, -1):
        zap.pointers[2 * i] = zap.pointers[2 * i + 1] = zap.pointers[i]
    zap.scalars[leaf_of.BITS] += 1
    return True


@kernel
def _move_ones(zap, leaf, new, bit):
    """Entries of `leaf` whose `bit` is 1 go to `new`."""
    n_kept, n_moved = 0, 0
    for slot in range(zap.leaves[leaf, leaf_of.N_ENTRIES]):
        key, references = zap.keys[leaf, slot], zap.references[leaf, slot]
        if key >> bit & 1:
            zap.keys[new, n_moved], zap.references[new, n_moved] = key, references
            n_moved += 1
        else:
            zap.keys[leaf, n_kept], zap.references[leaf, n_kept] = key, references
            n_kept += 1
    zap.leaves[leaf, leaf_of.N_ENTRIES], zap.leaves[new, leaf_of.N_ENTRIES] = n_kept, n_moved


@kernel
def _split(zap, leaf, key):
    """Rule 3, of the leaf that `key` belongs to; False if there is no room left."""
    depth, new = int(zap.leaves[leaf, leaf_of.DEPTH]), int(zap.scalars[leaf_of.N_LEAVES])
    if new == len(zap.leaves) or (depth == zap.scalars[leaf_of.BITS] and not _double(zap)):
        return False
    _move_ones(zap, leaf, new, KEY_BITS - 1 - depth)
    spread = int(zap.scalars[leaf_of.BITS]) - depth - 1
    first = ((key >> (KEY_BITS - depth) << 1) + 1) << spread
    for i in range(first, first + (1 << spread)):
        zap.pointers[i] = new
    zap.leaves[leaf, leaf_of.DEPTH] = zap.leaves[new, leaf_of.DEPTH] = depth + 1
    zap.scalars[leaf_of.N_LEAVES] += 1
    return True


@kernel
def enter(zap, key, references):
    """A key that is not there: the leaf that it is in now, or NOWHERE if there was no room."""
    leaf = leaf_for(zap, key)
    while zap.leaves[leaf, leaf_of.N_ENTRIES] == zap.keys.shape[1]:
        if not _split(zap, leaf, key):
            return NOWHERE
        leaf = leaf_for(zap, key)
    slot = zap.leaves[leaf, leaf_of.N_ENTRIES]
    zap.keys[leaf, slot], zap.references[leaf, slot] = key, references
    zap.leaves[leaf, leaf_of.N_ENTRIES] += 1
    zap.scalars[leaf_of.IN_ALL] += 1
    return leaf


@kernel
def remove(zap, leaf, slot):
    """Rule 4: the entry in `slot` of `leaf` gives back its chunks."""
    last = zap.leaves[leaf, leaf_of.N_ENTRIES] - 1
    zap.keys[leaf, slot], zap.references[leaf, slot] = zap.keys[leaf, last], zap.references[leaf, last]
    zap.leaves[leaf, leaf_of.N_ENTRIES] = last
    zap.scalars[leaf_of.IN_ALL] -= 1


@kernel
def enter_all(zap, keys):
    """Enter each key, or count one more reference to it: how many were dealt with before room ran out."""
    for i in range(len(keys)):
        leaf = leaf_for(zap, keys[i])
        slot = slot_of(zap, leaf, keys[i])
        if slot != NOWHERE:
            zap.references[leaf, slot] += 1
        elif enter(zap, keys[i], 1) == NOWHERE:
            return i
    return len(keys)


# ---- making one ----


def new_zap(params: ZapParams, n_entries: int) -> Zap:
    """An empty object with room for `n_entries` keys whose bits are random (1 to 2^31)."""
    if not 1 <= n_entries <= 2**31:
        raise ValueError(f"n_entries is {n_entries}, but a table here has room for 1 to 2^31; choose a number in that range")
    capacity = leaf_entries(params)
    if capacity < 2:
        raise ValueError(f"a leaf of 2^{params.leaf_shift} B holds {capacity} entries of {params.entry_chunks} chunks, but "
                         "it must hold 2; choose larger leaves")
    n_leaves = 64 + int(n_entries / capacity * 1.7)     # filled to 0.59 at worst, on the average of many leaves
    bits = SPARE_BITS + max(1, (n_entries // capacity).bit_length())
    zap = Zap(pointers=empty(1 << bits, np.int32), keys=empty((n_leaves, capacity), np.int64),
              references=empty((n_leaves, capacity), np.int32),
              leaves=np.zeros((n_leaves, leaf_of.N_COLUMNS), np.int32), scalars=np.zeros(leaf_of.N_SCALARS, np.int64))
    zap.pointers[0], zap.scalars[leaf_of.N_LEAVES] = 0, 1
    return zap


class ZapSize(NamedTuple):
    """Bytes, and entries that they are for."""

    entries: int
    leaf_bytes: int  # leaves
    pointer_bytes: int  # blocks of the pointer table
    indirect_bytes: int  # blocks of pointers to both: levels of 32
    disk_bytes: int  # all of it in three copies, none compressed

    @property
    def zdb_in_core(self) -> float:
        """B for an entry as `zdb -DD` counts them: filled blocks of the object, uncompressed, without indirect blocks."""
        return (self.leaf_bytes + self.pointer_bytes) / max(1, self.entries)


def indirect_blocks(n_blocks: int) -> int:
    """Blocks of 32 pointers above `n_blocks`, all levels."""
    total = 0
    while n_blocks > 1:
        n_blocks = -(-n_blocks // INDIRECT_FANOUT)
        total += n_blocks
    return total


def size_of(zap: Zap, params: ZapParams) -> ZapSize:
    """How large an object is."""
    block, n_leaves = 1 << params.leaf_shift, int(zap.scalars[leaf_of.N_LEAVES])
    n_pointers = -(-(POINTER_BYTES << int(zap.scalars[leaf_of.BITS])) // block)
    n_indirect = indirect_blocks(n_leaves + n_pointers)
    return ZapSize(entries=int(zap.scalars[leaf_of.IN_ALL]), leaf_bytes=block * n_leaves, pointer_bytes=block * n_pointers,
                   indirect_bytes=block * n_indirect, disk_bytes=COPIES * block * (n_leaves + n_pointers + n_indirect))
