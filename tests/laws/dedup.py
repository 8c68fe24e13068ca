"""Laws of the dedup table and of writes with it, and its naive twin. Run without the compiler (`defects.dedup`).

    table(n)        random writes and frees against the twin: what each was, what it probed, leaves, sizes
    of_writes()     a run with both objects in memory: what is probed for each block, and what is written for each leaf
    of_memory()     a run with a table beyond memory: metadata stay within their limit
"""
from typing import NamedTuple

from laws.zfs_files import SECOND
from model.devices.data_sheet import SheetParams
from model.devices.ssd import SsdParams
from model.events.clock import MS
from model.events.streams import stream
from model.simulations.dedup_writes import run as running
from model.simulations.dedup_writes.state import BLOCK_BYTES, Settings, above, new_machine
from model.simulations.rules import rules_of
from model.zfs.arc import scalars as scalar
from model.zfs.arc.arc import ArcParams
from model.zfs.dedup import table as tables
from model.zfs.dedup import zap as zaps
from model.zfs.dedup import zap_columns as leaf_of
from model.zfs.eras import era
from twins.ddt import NaiveTable
from twins.ddt import shape as twin_shape

SMALL = zaps.ZapParams(leaf_shift=9, entry_chunks=5)      # three entries a leaf: it splits soon
SPREAD = 2**63 // 50      # keys that differ in their first bits
COPIES = 3              # of what lies in the meta object set: spec 8
LIMIT = 2**24
BASE = Settings(n_leaves=4, n_unique=2000, arc=ArcParams(4 * LIMIT, LIMIT), max_limit=2**30, span_bytes=2**34,
                gap_ns=10 * MS, warm_ns=0, duration_ns=2 * SECOND)
RULES = rules_of("b141", SheetParams(disk_bytes=10**12, depth=32, window=8))
BUILD = era("b141")
BUILD = BUILD._replace(txg=BUILD.txg._replace(timeout_ns=300 * MS))


class Broken(Exception):
    """A law does not hold."""


def _holds(is_true, law):
    if not is_true:
        raise Broken(law)


def shape(zap):
    """Prefix and keys of each leaf, from the pointer table."""
    bits, leaves = int(zap.scalars[leaf_of.BITS]), {}
    for i in range(1 << bits):
        leaf = int(zap.pointers[i])
        depth, n = int(zap.leaves[leaf, leaf_of.DEPTH]), int(zap.leaves[leaf, leaf_of.N_ENTRIES])
        keys = set(zap.keys[leaf, :n].tolist())
        _holds(leaves.setdefault(f"{i:0{bits}b}"[:depth] if depth else "", keys) == keys, "a prefix has one leaf")
    return leaves


# --- the table ------------------------------------------------------------------------------------------------------------

def table(n_calls=400):
    """Random calls, one a group; then all that is left is freed."""
    made, naive = tables.new_table(SMALL, 2000), NaiveTable(zaps.leaf_entries(SMALL))
    random = stream(1, "calls")
    calls = [(bool(random.random() < 0.4), int(random.integers(0, 40))) for _ in range(n_calls)]
    for txg, (is_free, number) in enumerate(calls, start=1):
        key = number * SPREAD
        before = {name: twin_shape(leaves) for name, leaves in (("duplicate", naive.duplicate), ("unique", naive.unique))}
        done = tables.group(made, stream(1, "none").integers(0, 1, 1) + key, txg, is_free)
        outcome = naive.free(key) if is_free else naive.write(key)
        _holds(outcome == "again freed" or getattr(done, outcome) == 1, f"{outcome} is what became of it")
        _holds(done.probes == (1 if outcome.startswith(("again", "back")) else 2), "a new block is looked for everywhere")
        _holds(shape(made.duplicate) == twin_shape(naive.duplicate), "leaves of duplicates are the twin's")
        _holds(shape(made.unique) == twin_shape(naive.unique), "leaves of uniques are the twin's")
        changed = sum(len(twin_shape(leaves).keys() - before[name].keys())
                      for name, leaves in (("duplicate", naive.duplicate), ("unique", naive.unique)))
        _holds(done.dirtied <= 2 + changed, "leaves that are changed are dirty, and no others")
        _holds(done.dirtied >= (outcome != "absent"), "a change makes a leaf dirty")
    _holds(tables.references(made) == sum(naive.entries().values()), "references are the twin's")
    for zap in made:
        size = zaps.size_of(zap, SMALL)
        blocks = (size.leaf_bytes + size.pointer_bytes + size.indirect_bytes)
        _holds(size.disk_bytes == COPIES * blocks, "all is there three times")
        _holds(size.leaf_bytes == int(zap.scalars[leaf_of.N_LEAVES]) * 512, "a leaf takes its block")


# --- writes ---------------------------------------------------------------------------------------------------------------

class End(NamedTuple):
    """Where a run ended."""
    counts: dict
    meta_bytes: int
    held: int           # blocks of the table that the group under way holds
    threads: int
    is_path_dirty: bool     # what is above a leaf was changed by the same group, or a later one


def end_of(**changed):
    """A run, and what its memory holds then."""
    settings = BASE._replace(**changed)
    m, leaves = new_machine(settings, RULES, BUILD, SsdParams(), 1, running.Room(log_blocks=64))
    running._begin(m)
    _holds(running.run(m, leaves) == running.DONE, "a run ends")
    done = running._result(m, leaves)
    above_it = {leaf: above(m, leaf) for leaf in range(int(m.levels[1]))}
    return End(done.counts, int(m.arc.scalars[scalar.META]), int(m.group[running.at.N_DIRTY]), len(m.threads),
               all(m.dirtied[block] >= m.dirtied[leaf] for leaf, block in above_it.items()))


def of_writes():
    """Objects of duplicates and of uniques, both in memory."""
    for share, second, is_free in ((0.0, 0.0, 0), (1.0, 0.0, 0), (1.0, 1.0, 0), (1.0, 1.0, 1)):
        end = end_of(n_duplicate=500, n_unique=500, found_share=share, second_share=second, is_free=is_free)
        is_in_one = share and (is_free or not second)
        n, probed = end.counts, 2 if is_in_one else 4   # an indirect block and a leaf, in one object or in both
        _holds(n["blocks"] > 100, "blocks are written")
        wanted = probed * n["lookups"] + 2 * n["touched"]
        _holds(0 <= n["hits"] - wanted <= 4 * end.threads, "a new block is looked for in both objects, a known one in one")
        _holds(n["table_writes"] >= COPIES * n["dirtied"] > 0, "a leaf is written in three copies")
        _holds(n["io_writes"] == n["table_writes"] + n["data_bytes"] // BASE.block_bytes, "what is counted is written")
        _holds((n["data_bytes"] == 0) == bool(share), "data of duplicates are not written, and others are")
        _holds(n["moved"] == second * n["lookups"], "entries of second blocks move, and no others")
        _holds(n["touched"] <= n["lookups"] + n["moved"], "an entry that moves is of two leaves")
        _holds(n["touched"] > 1.5 * n["moved"], "an entry that moves changes the leaf that it leaves and the one it enters")
        _holds(end.is_path_dirty, "what is above a leaf is written, too")


def of_memory():
    """A table beyond memory: blocks that are read go where others were."""
    end = end_of(n_unique=16_000, gap_ns=MS)
    _holds(end.counts["disk_reads"] > 50, "the table is read")
    _holds(end.meta_bytes <= LIMIT + BLOCK_BYTES * (end.threads + end.held), "metadata stay within their limit")


def all_of():
    table()
    of_writes()
    of_memory()
