"""Defects in the dedup table, and in writes with it; its laws and its twin must notice each. Run without the compiler:
prints which were not noticed.

    NUMBA_DISABLE_JIT=1 PYTHONPATH=.:tests python -m defects.dedup
"""
import json

from laws import dedup
from model.simulations.dedup_writes import columns as at
from model.simulations.dedup_writes import events, table_io
from model.simulations.dedup_writes import run as running
from model.zfs.dedup import group_columns as counted
from model.zfs.dedup import table as tables
from model.zfs.dedup import zap as zaps
from model.zfs.dedup import zap_columns as leaf_of
from support.defects import unnoticed


def enters_a_full_leaf(zap, key, references):
    """Over its last entry."""
    leaf = zaps.leaf_for(zap, key)
    slot = min(int(zap.leaves[leaf, leaf_of.N_ENTRIES]), zap.keys.shape[1] - 1)
    zap.keys[leaf, slot], zap.references[leaf, slot] = key, references
    zap.leaves[leaf, leaf_of.N_ENTRIES] = slot + 1
    zap.scalars[leaf_of.IN_ALL] += 1
    return leaf


def leaves_the_ones_behind(zap, leaf, new, bit, real=zaps._move_ones):
    n = zap.leaves[leaf, leaf_of.N_ENTRIES]
    real(zap, leaf, new, bit)
    zap.leaves[leaf, leaf_of.N_ENTRIES] = min(n, zap.leaves[leaf, leaf_of.N_ENTRIES] + 1)


def probes_duplicates_alone(table, key, txg, counts, real=tables.write):
    is_there = tables.slot_of(table.duplicate, tables.leaf_for(table.duplicate, key), key) >= 0
    done = real(table, key, txg, counts)
    counts[counted.PROBES] -= not is_there
    return done


def frees_at_one_reference(table, key, txg, counts, real=tables.free):
    """What has one reference left is gone."""
    duplicate = table.duplicate
    leaf = tables.leaf_for(duplicate, key)
    slot = tables.slot_of(duplicate, leaf, key)
    if slot < 0 or duplicate.references[leaf, slot] > 2:
        return real(table, key, txg, counts)
    counts[counted.PROBES] += 1
    counts[counted.BACK] += 1
    tables.remove(duplicate, leaf, slot)
    tables._dirty(duplicate, leaf, txg, counts)
    return True


def moves_a_copy(source, leaf, slot, target, references, txg, counts):
    tables._dirty(source, leaf, txg, counts)
    return tables._enter(target, source.keys[leaf, slot], references, txg, counts)


def dirties_for_each_entry(zap, leaf, txg, counts):
    counts[counted.DIRTIED] += 3


def ends_after_one_object(m, leaves, now, thread, real=events.lookup_event):
    """A lookup that found nothing among duplicates is done."""
    if m.threads[thread, at.STEP] == 0 and m.settings.n_duplicate and not m.threads[thread, at.FOUND]:
        m.threads[thread, at.STEP] = 2
    real(m, leaves, now, thread)


def keeps_no_limit(arc, params, *arguments, real=table_io.new_block):
    return real(arc, params._replace(meta_limit_bytes=2**60), *arguments)


def dirties_the_leaf_alone(m, block):
    group = m.group
    if m.dirtied[block] != group[at.SYNCING]:
        m.dirtied[block], m.dirty[group[at.N_DIRTY]] = group[at.SYNCING], block
        group[at.N_DIRTY] += 1
        node = int(m.arc.node_of[block])
        events.hold(m.arc, node)
        events.make_anonymous(m.arc, node)


def moves_within_a_leaf(m, leaves, now, thread, real=events._looked_up):
    """The entry of a second block stays in its object."""
    if m.threads[thread, at.FOUND] == at.SECOND:
        m.threads[thread, at.FOUND] = at.AGAIN
    real(m, leaves, now, thread)


def writes_duplicates(m, leaves, now, thread, real=events._looked_up):
    m.threads[thread, at.FOUND] = 0
    real(m, leaves, now, thread)


DEFECTS = {
    "none": (zaps, "COPIES", zaps.COPIES),
    "a leaf is never split": (tables, "enter", enters_a_full_leaf),
    "a full leaf takes no more": (zaps, "_split", lambda *a: False),
    "entries stay when a leaf splits": (zaps, "_move_ones", leaves_the_ones_behind),
    "a table is counted once on disk": (zaps, "COPIES", 1),
    "a leaf is written once": (events, "COPIES", 1),
    "uniques are not asked, of the table": (tables, "write", probes_duplicates_alone),
    "uniques are asked alone, in a run": (running, "lookup_event", ends_after_one_object),
    "an entry is freed at one reference": (tables, "free", frees_at_one_reference),
    "an entry moves and stays": (tables, "_move", moves_a_copy),
    "a leaf is dirty more than once": (tables, "_dirty", dirties_for_each_entry),
    "metadata have no limit": (table_io, "new_block", keeps_no_limit),
    "what is above a leaf is not written": (events, "_make_dirty", dirties_the_leaf_alone),
    "entries of second blocks stay": (events, "_looked_up", moves_within_a_leaf),
    "data of duplicates are written": (events, "_looked_up", writes_duplicates),
}


def is_noticed():
    try:
        dedup.all_of()
    except (dedup.Broken, ValueError):
        return True
    return False


def main():
    print(json.dumps(unnoticed(DEFECTS, lambda _: is_noticed())))


if __name__ == "__main__":
    main()
