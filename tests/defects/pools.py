"""Defects in turns, metaslabs and syncs, and the first transaction group of a recorded pool in which each shows. Run without
the compiler: prints {defect: [how it shows, transaction groups before that]}. It shows as a DIFFERENCE from the recording or
as a REFUSAL, where the model itself says that something cannot be; or not at all, as NOTHING.

    NUMBA_DISABLE_JIT=1 PYTHONPATH=.:tests python -m defects.pools [FOLDER of recordings]
"""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from model.devices.sectors import SECTOR_BYTES
from model.zfs.eras import era
from model.zfs.metaslab import metaslab_class, metaslab_group, sync
from model.zfs.metaslab import replay as metaslab_replay
from model.zfs.metaslab.metaslab_group import NO_METASLAB, passivate
from model.zfs.metaslab.state import (
    BONUS_AREA,
    FAILURE,
    FRAGMENTED,
    LARGEST,
    NO_VDEV,
    PRIMARY,
    SIZE_LESS_ONE,
    alloc_map,
    defer_map,
)
from model.zfs.metaslab.state import free_map as map_of_frees
from model.zfs.space import avl, free_map, space_map, space_map_log
from model.zfs.space import tree_columns as branch
from model.zfs.space.avl import NIL
from model.zfs.space.pickers import NOWHERE
from model.zfs.vdev import raid
from study.project import DATA
from study.replays.alloc_trace import OFFSETS, OPERATIONS, read_places, read_trace
from study.replays.pool import ERA_OF, drive
from study.replays.pool_rows import rows_of
from study.replays.pool_states import after_txgs, compare_txgs, read_txgs, txgs_beside
from study.replays.recorded_vdevs import vdevs_of
from study.replays.trace_file import table_beside
from support.defects import several

TRACES = DATA / "traces" / "alloc_vdevs"
FF, DF30, DF4, NDF = ERA_OF
DIFFERENCE, REFUSAL, NOTHING = "difference", "refusal", "nothing"


class Noticed(Exception):
    """A defect shows."""


# ---- turns ----


def bias_of_each_block(pool, which, vdev, n_bytes, real=metaslab_class._count_turn):
    used, pool.used_aliquot[which] = pool.used_aliquot[which], 0
    real(pool, which, vdev, 0)
    pool.used_aliquot[which] = used
    real(pool, which, vdev, n_bytes)


def aliquot_of_a_single_disk(pool, which, vdev, n_bytes, real=metaslab_class._count_turn):
    n_children, pool.vdevs.n_children[vdev] = pool.vdevs.n_children[vdev], 1
    real(pool, which, vdev, n_bytes)
    pool.vdevs.n_children[vdev] = n_children


def what_is_over_counts_for_the_next(pool, which, vdev):
    aliquot = pool.params.aliquot_bytes * max(1, pool.vdevs.n_children[vdev])
    pool.rotor[which] = pool.vdevs.following[vdev]
    pool.used_aliquot[which] = max(0, pool.used_aliquot[which] - aliquot - pool.vdevs.bias[vdev])


def kept_after_a_failure(pool, which, vdev, real=metaslab_class._hand_on):
    aliquot = pool.params.aliquot_bytes * max(1, pool.vdevs.n_children[vdev])
    if pool.used_aliquot[which] >= aliquot + pool.vdevs.bias[vdev]:
        real(pool, which, vdev)


def copies_do_not_count(pool, which, txg, psize, copy, avoids, real=metaslab_class.allocate_copy):
    rotor, used = pool.rotor[which], pool.used_aliquot[which]
    status = real(pool, which, txg, psize, copy, avoids)
    if copy > 0:
        pool.rotor[which], pool.used_aliquot[which] = rotor, used
    return status


def no_hints(pool, which, copy, avoids, real=metaslab_class._first_vdev):
    pool.hint[:] = NO_VDEV
    return real(pool, which, copy, avoids)


def no_avoiding(pool, which, copy, avoids, real=metaslab_class._first_vdev):
    return real(pool, which, copy, False)


def copies_begin_at_the_rotor(pool, which, copy, avoids, real=metaslab_class._first_vdev):
    return real(pool, which, copy, avoids) if pool.hint[copy] != NO_VDEV else pool.rotor[which]


def hint_of_the_first_copy(pool, rows, decided, i, real=metaslab_replay._set_hints):
    real(pool, rows, decided, i)
    pool.hint[:] = pool.hint[0]


def one_metaslab_is_a_distance(pool, vdev, shift):
    distance = pool.vdevs.asize[vdev] >> shift
    return 0 if distance < 1 << pool.vdevs.ms_shift[vdev] else distance


def nothing_is_undone(pool, txg, vdev, offset, n_bytes):
    pass


def undone_at_the_end_of_the_txg(pool, txg, vdev, offset, n_bytes):
    metaslab_class.free(pool, txg, vdev, offset, n_bytes)


# ---- metaslabs ----


def no_half_more_for_an_unused_one(pool, vdev, m, distance, copy, real=metaslab_group._far_enough):
    return real(pool, vdev, m, distance if pool.allocated[m] else -(-2 * distance // 3), copy)


def as_far_is_not_far_enough(pool, vdev, m, distance, copy, real=metaslab_group._far_enough):
    return real(pool, vdev, m, distance + 1, copy)


def copies_are_primary(pool, vdev, copy):
    return PRIMARY


def a_secondary_one_is_not_stripped(pool, vdev, txg, n_bytes, distance, copy):
    wanted = metaslab_group._wanted(pool, vdev, copy)
    while (m := metaslab_group._choose(pool, vdev, wanted, n_bytes, distance, copy)) != NO_METASLAB:
        metaslab_group._activate(pool, m, wanted)
        offset = free_map.pick(pool, m, n_bytes)
        if offset != NOWHERE:
            metaslab_group._record(pool, m, txg, offset, n_bytes)
            return offset
        left = n_bytes - 1
        passivate(pool, m, min(left, free_map.largest(pool, m)) if pool.params.passivate_with == LARGEST else left)
    return NOWHERE


def bonus_area_of_the_last_one(pool, m, wanted, real=metaslab_group._activate):
    real(pool, m, wanted)
    pool.vdevs.bonus_area[pool.vdev[m]] = pool.start[m]


def deferred_space_is_free_when_loaded(pool, m):
    metaslab_group._count_load(pool, m)
    free_map.load(pool, m)
    pool.loaded[m] = 1


def cursors_survive(pool, m, real=metaslab_group.unload):
    cursors = pool.maps.cursors[m].copy()
    real(pool, m)
    pool.maps.cursors[m] = cursors


def number_decides_against(pool, a, b, real=metaslab_group._before):
    alike = pool.active[a] == pool.active[b] and pool.weight[a] == pool.weight[b]
    return a > b if alike else real(pool, a, b)


# ---- the end of a txg ----


def never_unloaded(pool, m, txg):
    return False


def unloaded_in_spite_of_later_txgs(pool, m, txg):
    return pool.loaded[m] == 1 and pool.active[m] == 0


def condensed_without_later_txgs(pool, m, txg, freed):
    nothing = free_map_of_nothing(pool, m, txg)
    free_map.start_over(pool, m, alloc_map(pool, m, txg), map_of_frees(pool, m, txg), freed,
                        (defer_map(pool, m, 0), defer_map(pool, m, 1)), (nothing, nothing))
    pool.syncing[m] = 0


def free_map_of_nothing(pool, m, txg):
    """A map that is empty when that txg is synced."""
    return alloc_map(pool, m, txg + 3)


def deferred_space_does_not_keep_dirty(pool, m, txg, real=sync._return_space):
    marks = sync.mark_dirty
    sync.mark_dirty = lambda *_: None
    try:
        return real(pool, m, txg)
    finally:
        sync.mark_dirty = marks


def moved_in_order(maps, source, target):
    node, segments = space_map.first(maps, source), []
    while node != NIL:
        segments.append((int(maps.start[node]), int(maps.end[node])))
        node = space_map.following(maps, node)
    space_map.clear(maps, source)
    return max([space_map.add(maps, target, *segment) for segment in segments], default=0)


IN_ORDER = SimpleNamespace(first_of_all=lambda trees, tree: avl.end(trees, tree, branch.LEFT),
                           next_of_all=lambda trees, node: avl.beside(trees, node, branch.RIGHT))


def deferred_space_is_not_allocated(pool, m, n_bytes):
    vdev = pool.vdev[m]
    pool.vdevs.allocated[vdev] = pool.allocated[vdev_range(pool, vdev)].sum() + pool.syncing[m] - pool.allocated[m]
    pool.class_allocated[:] = np.bincount(pool.vdevs.metaslab_class, pool.vdevs.allocated, minlength=2)


def vdev_range(pool, vdev):
    return slice(pool.vdevs.first_ms[vdev], pool.vdevs.first_ms[vdev] + pool.vdevs.n_ms[vdev])


# ---- RAID-Z ----


def no_rounding(vdev, run):
    return run


def parity_once(vdev, data):
    return data + vdev.n_parity


DEFECTS = {  # defect: (what is replaced by what, or which rules are others, where it is to show)
    "none": ([], ("mv3full", NDF)),
    "a turn is twice as long": ({"aliquot_bytes": 2**20}, ("mv2uneq", FF)),
    "no bias": ({"bias_divisor": 0}, ("mv2uneq", FF)),
    "bias is looked at with each block": ([(metaslab_class, "_count_turn", bias_of_each_block)], ("mv3full", FF)),
    "a turn is that of one disk": ([(metaslab_class, "_count_turn", aliquot_of_a_single_disk)], ("mv2raidz", FF)),
    "what is over counts for the next turn": ([(metaslab_class, "_hand_on", what_is_over_counts_for_the_next)],
                                              ("mv2uneq", FF)),
    "a turn is kept after a failure": ([(metaslab_class, "_hand_on", kept_after_a_failure)], ("mv3full", FF)),
    "copies do not count for the turn": ([(metaslab_class, "allocate_copy", copies_do_not_count)], ("mv3full", FF)),
    "hints are not followed": ([(metaslab_class, "_first_vdev", no_hints)], ("mv3full", FF)),
    "the vdev of the hint is not avoided": ([(metaslab_class, "_first_vdev", no_avoiding)], ("mv3full", FF)),
    "each copy begins at the rotor": ([(metaslab_class, "_first_vdev", copies_begin_at_the_rotor)], ("mv3full", FF)),
    "all copies have the hint of the first": ([(metaslab_replay, "_set_hints", hint_of_the_first_copy)], ("mv3full", FF)),
    "another first distance": ({"ditto_shift": 4}, ("mv2ditto", FF)),
    "a metaslab is distance enough": ([(metaslab_class, "_distance", one_metaslab_is_a_distance)], ("mv3full", FF)),
    "copies are not undone": ([(metaslab_class, "undo", nothing_is_undone)], ("mv3full", FF)),
    "copies are undone at the end of the txg": ([(metaslab_class, "undo", undone_at_the_end_of_the_txg)], ("mv3full", FF)),
    "no half of the distance more for an unused metaslab": (
        [(metaslab_group, "_far_enough", no_half_more_for_an_unused_one)], ("mv2ditto", FF)),
    "the distance itself is too little": ([(metaslab_group, "_far_enough", as_far_is_not_far_enough)], ("mv2ditto", FF)),
    "copies are primary": ([(metaslab_group, "_wanted", copies_are_primary)], ("mv2ditto", FF)),
    "a secondary metaslab is not stripped": (
        [(metaslab_class, "allocate_in_group", a_secondary_one_is_not_stripped)], ("mv3full", FF)),
    "inner metaslabs weigh as much as outer ones": ({"lba_weight": 0}, ("mv2uneq", FF)),
    "2008 has no bonus": ({"bonus_multiplier": 1}, ("mv2uneq", FF)),
    "2008 has the bonus of an area": ({"bonus_scope": BONUS_AREA}, ("mv2uneq", FF)),
    "2008 leaves a fragmented metaslab": ({"primary_until": FRAGMENTED}, ("mv2uneq", FF)),
    "2010 has a bonus": ({"bonus_multiplier": 2}, ("mv2uneq", NDF)),
    "2010 stays until a request fails": ({"primary_until": FAILURE}, ("mv2uneq", NDF)),
    "of equal metaslabs the last comes first": ([(metaslab_group, "_before", number_decides_against)], ("mv3full", NDF)),
    "the bonus area is that of the last one": ([(metaslab_group, "_activate", bonus_area_of_the_last_one)],
                                               ("mv3full", NDF)),
    "what is deferred is free when loaded": ([(metaslab_group, "_load", deferred_space_is_free_when_loaded)],
                                             ("mv3full", NDF)),
    "cursors survive": ([(sync, "unload", cursors_survive)], ("mv3full", NDF)),
    "2010 leaves size less one": ({"passivate_with": SIZE_LESS_ONE}, ("mv3full", NDF)),
    "2008 leaves the longest segment": ({"passivate_with": LARGEST}, ("mv3full", FF)),
    "nothing is unloaded": ([(sync, "_can_unload", never_unloaded)], ("mv3full", NDF)),
    "unloaded in spite of later txgs": ([(sync, "_can_unload", unloaded_in_spite_of_later_txgs)], ("mv2open", NDF)),
    "condensed without later txgs": ([(sync, "_condense", condensed_without_later_txgs)], ("mv2open", NDF)),
    "logs are never condensed": ([(sync, "CONDENSE_RECORDS", 2**40)], ("mv3full", NDF)),
    "logs are condensed late": ([(sync, "CONDENSE_RECORDS", 3)], ("mv3full", NDF)),
    "2010 writes what did not change": ({"skips_unchanged": 0}, ("mv3full", NDF)),
    "2008 reassesses": ({"reassess": 1}, ("mv2uneq", FF)),
    "2008 withholds what is freed": ({"defer_txgs": 2}, ("mv3full", FF)),
    "2010 gives what is freed at once": ({"defer_txgs": 0}, ("mv3full", NDF)),
    "no reassessment": ({"reassess": 0}, ("mv3full", NDF)),
    "deferred space does not keep a metaslab dirty": ([(sync, "_return_space", deferred_space_does_not_keep_dirty)],
                                                      ("mv3full", NDF)),
    "deferred space is not the vdev's": ([(sync, "_count_space", deferred_space_is_not_allocated)], ("mv3full", NDF)),
    "freed space is moved in order of offset": ([(space_map, "move", moved_in_order)], ("mv2ditto", FF)),
    "logs are written in order of offset": ([(space_map_log, "avl", IN_ORDER)], ("mv3full", NDF)),
    "RAID-Z does not round up": ([(raid, "_padded_sectors", no_rounding)], ("mv2raidz", FF)),
    "RAID-Z has parity once a block": ([(raid, "_run_sectors", parity_once)], ("mv2raidz", FF)),
}


# ---- looking ----


def operations(folder, scenario, variant):
    inside = folder / scenario
    return table_beside(inside, f"{scenario}__{variant}{OPERATIONS}") or table_beside(inside, f"{scenario}{OPERATIONS}")


class Watch:
    """Notes the state after each txg as the model does, and raises Noticed as soon as anything is not as recorded."""

    def __init__(self, folder, scenario, variant):
        path = operations(folder, scenario, variant)
        self.trace, self.vdevs = read_trace(path), vdevs_of(path, variant)
        n = int((self.trace.op == 0).sum())
        self.recorded = read_places(table_beside(path, f"{scenario}__{variant}{OFFSETS}"), n, len(self.vdevs))
        self.states = read_txgs(txgs_beside(path, variant))
        self.allocated = np.cumsum(self.trace.op == 0)[self.trace.op == 2]
        self.note, self.n_compared = metaslab_replay._note, 0

    def __call__(self, pool, decided, i, txg):
        self.note(pool, decided, i, txg)
        self.check_places(decided, self.allocated[i - 1] if i else 0, self.allocated[i], i)
        states = after_txgs(type(decided)(*(column[i:i + 1] if len(column) == len(decided.txg) else column
                                            for column in decided)), self.vdevs)
        if compare_txgs(self.states[i:i + 1].reset_index(drop=True), states):
            raise Noticed(i)
        self.n_compared = i + 1

    def check_places(self, decided, low, high, i):
        sectors = np.where(decided.offset[low:high] < 0, -1, decided.offset[low:high] // SECTOR_BYTES)
        where = slice(low, high)
        if (sectors != self.recorded.off512[where]).any() or (
                self.recorded.vdev is not None and (decided.vdev[where] != self.recorded.vdev[where]).any()):
            raise Noticed(i)


def how_it_shows(folder, scenario, variant, replaced):
    """(how the defect shows, transaction groups before that)."""
    watch, rules = Watch(folder, scenario, variant), era(ERA_OF[variant]).metaslab
    changed, functions = (replaced, []) if isinstance(replaced, dict) else ({}, replaced)
    with several([*functions, (metaslab_replay, "_note", watch)]):
        try:
            driven = drive(rules._replace(**changed), rows_of(watch.trace, len(watch.vdevs)), watch.vdevs)
            watch.check_places(driven.decided, 0, len(driven.decided.offset), len(watch.states))
        except Noticed as noticed:
            return DIFFERENCE, noticed.args[0]
        except RuntimeError:
            return REFUSAL, watch.n_compared
    return NOTHING, watch.n_compared


def main(folder):
    results = {}
    for name, (replaced, (scenario, variant)) in DEFECTS.items():
        if operations(folder, scenario, variant) is not None:
            results[name] = how_it_shows(folder, scenario, variant, replaced)
            print(name, results[name], file=sys.stderr, flush=True)
    print(json.dumps(results))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else TRACES)
