"""The dedup table: an entry for each block that was written with dedup, in one of two ZAP objects, by its references.

    a block is written   probe *duplicate*, then *unique*; whatever is not found has cost two probes
        in duplicate     one reference more                                    one leaf is dirty
        in unique        moves to duplicate, with two references               two leaves are dirty
        nowhere          enters unique, and its data are written               one leaf is dirty, two where it splits
    a block is freed     one reference less; with one left it moves back to unique; with none it goes, and its data are
                         free

Leaves are dirtied once in a transaction group, however many of their entries it touches.

In ZFS: ddt.c, `ddt_lookup`, `ddt_sync_entry`; zio.c, `zio_ddt_write`, `zio_ddt_free`; spec 8. Left out: ditto copies (off
unless `dedupditto` is set), and verification.
"""
from typing import NamedTuple

import numpy as np

from model.jit import kernel
from model.structures.sentinels import NOWHERE
from model.zfs.dedup import group_columns as counted
from model.zfs.dedup import zap_columns as leaf_of
from model.zfs.dedup.zap import Zap, ZapParams, ZapSize, enter, leaf_for, new_zap, remove, size_of, slot_of

CHECKSUM_BITS = 256  # SHA-256
ENTRY_IN_USE_BYTES = 376  # ddt_entry, from its first use in a group to the group's end; counted in spec 8


class Table(NamedTuple):
    """Entries of both classes."""

    duplicate: Zap  # two references or more
    unique: Zap


@kernel
def _dirty(zap, leaf, txg, counts):
    if zap.leaves[leaf, leaf_of.DIRTIED] != txg:
        zap.leaves[leaf, leaf_of.DIRTIED] = txg
        counts[counted.DIRTIED] += 1


@kernel
def _enter(zap, key, references, txg, counts):
    """A key that is not there enters: its leaf is dirty, and all that came of its splits; False if there is no room."""
    n_leaves = zap.scalars[leaf_of.N_LEAVES]
    _dirty(zap, leaf_for(zap, key), txg, counts)
    if enter(zap, key, references) == NOWHERE:
        return False
    for new in range(n_leaves, zap.scalars[leaf_of.N_LEAVES]):
        _dirty(zap, new, txg, counts)
    return True


@kernel
def _move(source, leaf, slot, target, references, txg, counts):
    """An entry changes its class; False if there is no room."""
    key = source.keys[leaf, slot]
    remove(source, leaf, slot)
    _dirty(source, leaf, txg, counts)
    return _enter(target, key, references, txg, counts)


@kernel
def write(table, key, txg, counts):
    """A block is written; False if the table has no room."""
    duplicate, unique = table.duplicate, table.unique
    leaf = leaf_for(duplicate, key)
    slot = slot_of(duplicate, leaf, key)
    counts[counted.PROBES] += 1
    if slot != NOWHERE:
        duplicate.references[leaf, slot] += 1
        counts[counted.AGAIN] += 1
        _dirty(duplicate, leaf, txg, counts)
        return True
    leaf = leaf_for(unique, key)
    slot = slot_of(unique, leaf, key)
    counts[counted.PROBES] += 1
    if slot != NOWHERE:
        counts[counted.SECOND] += 1
        return _move(unique, leaf, slot, duplicate, 2, txg, counts)
    counts[counted.NEW] += 1
    return _enter(unique, key, 1, txg, counts)


@kernel
def free(table, key, txg, counts):
    """A block that points to `key` is freed; False if the table has no room."""
    duplicate, unique = table.duplicate, table.unique
    leaf = leaf_for(duplicate, key)
    slot = slot_of(duplicate, leaf, key)
    counts[counted.PROBES] += 1
    if slot != NOWHERE:
        duplicate.references[leaf, slot] -= 1
        if duplicate.references[leaf, slot] == 1:
            counts[counted.BACK] += 1
            return _move(duplicate, leaf, slot, unique, 1, txg, counts)
        _dirty(duplicate, leaf, txg, counts)
        return True
    leaf = leaf_for(unique, key)
    slot = slot_of(unique, leaf, key)
    counts[counted.PROBES] += 1
    if slot == NOWHERE:
        counts[counted.ABSENT] += 1
        return True
    counts[counted.LAST] += 1
    remove(unique, leaf, slot)
    _dirty(unique, leaf, txg, counts)
    return True


@kernel
def do_all(table, keys, is_free, txg, counts):
    """Each key of a group in turn is written (or freed): how many before room ran out."""
    for i in range(len(keys)):
        if not (free(table, keys[i], txg, counts) if is_free else write(table, keys[i], txg, counts)):
            return i
    return len(keys)


# ---- the friendly face ----


class Group(NamedTuple):
    """What a group did: counts of blocks, and of leaves."""

    new: int  # written, not known before: data are written
    second: int  # of which there was one
    again: int  # of which there were more
    absent: int  # freed, but not in the table
    last: int  # freed, and nothing points there any more
    back: int  # freed, and one is left
    dirtied: int  # leaves that the group has to write
    probes: int  # lookups in an object


def group(table: Table, keys: np.ndarray, txg: int, is_free: bool = False) -> Group:
    """A transaction group (its number from 1) writes these keys (int64, 0 to 2^63 - 1), or frees them."""
    counts = np.zeros(len(counted.COUNTS), np.int64)
    if do_all(table, keys, int(is_free), txg, counts) < len(keys):
        raise ValueError(f"the table has no room for the keys of group {txg}; make it larger, or give keys whose bits are "
                         "random")
    return Group(*counts.tolist())


def new_table(params: ZapParams, n_entries: int) -> Table:
    """An empty table, with room for so many entries in each class."""
    return Table(new_zap(params, n_entries), new_zap(params, n_entries))


def sizes(table: Table, params: ZapParams) -> tuple[ZapSize, ZapSize]:
    """Of duplicate and unique."""
    return size_of(table.duplicate, params), size_of(table.unique, params)


def ratio(table: Table) -> float:
    """Blocks that point to entries, over entries: the ratio that `zpool list` prints, if all blocks have one size."""
    n_entries = sum(int(zap.scalars[leaf_of.IN_ALL]) for zap in table)
    return references(table) / n_entries if n_entries else 1.0


def references(table: Table) -> int:
    """Blocks that point to entries."""
    total = 0
    for zap in table:
        used = np.arange(zap.keys.shape[1]) < zap.leaves[:zap.scalars[leaf_of.N_LEAVES], leaf_of.N_ENTRIES, None]
        total += int(zap.references[:len(used)][used].sum())
    return total
