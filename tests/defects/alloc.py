"""Defects in trees, maps and pickers, and the first recorded block that goes elsewhere under each. Run without the
compiler: prints {defect: [variant, allocation] or null}.

    NUMBA_DISABLE_JIT=1 PYTHONPATH=.:tests python -m defects.alloc
"""

import json
import sys

import numpy as np

from model.devices.sectors import SECTOR_BYTES
from model.structures.sentinels import NIL, NOWHERE
from model.zfs.space import avl, pickers, space_map, status
from model.zfs.space import columns as bounds
from model.zfs.space import tree_columns as branch
from model.zfs.space.pickers import VARIANTS
from model.zfs.space.replay_exact import ALLOCATE, FREE, NEW_MAP
from study.project import DATA
from study.replays.alloc_trace import read_places, read_trace

TRACES = DATA / "traces" / "alloc"


def double_about_balanced(trees, child, sign, real=avl._leans_back):
    return real(trees, child, sign) or (trees.link[child, branch.BALANCE] == 0 and has_both(trees, child))


def has_both(trees, node):
    return trees.link[node, branch.LEFT] != NIL and trees.link[node, branch.RIGHT] != NIL


def left_survives(maps, m, before, after, start, end, real=space_map._join):
    key = maps.trees.key
    if before != NIL and after != NIL and key[before, bounds.END] == start and key[after, bounds.START] == end:
        upper = key[after, bounds.END]
        space_map._leave_size(maps, m, before)
        space_map._leave_size(maps, m, after)
        avl.remove(maps.trees, m, after)
        space_map._give_back(maps, m, after)
        key[before, bounds.END] = upper
        return before
    return real(maps, m, before, after, start, end)


def cut_keeps_the_right(maps, m, node, start, end):
    low = maps.trees.key[node, bounds.START]
    lower = space_map._new_segment(maps, m, low, start)
    space_map._leave_size(maps, m, node)
    maps.trees.key[node, bounds.START] = end
    avl.insert(maps.trees, m, lower, *avl.place_beside(maps.trees, node, branch.LEFT))
    space_map._enter_size(maps, m, lower)
    space_map._enter_size(maps, m, node)
    return status.OK


def lowest_overlapping(maps, m, start, end):
    node = space_map.search(maps, m, start, end)[0]
    while node != NIL:
        below = avl.beside(maps.trees, node, branch.LEFT)
        if below == NIL or maps.trees.key[below, bounds.END] <= start:
            break
        node = below
    return node


def lowest_or_next(maps, m, start, end):
    return lowest_overlapping(maps, m, start, end) or space_map.search(maps, m, start, end)[4]


def believes_what_is_remembered(maps, m, start, end, real=pickers.overlapping_or_next):
    recent = maps.recent[m]
    return recent if recent != NIL and maps.trees.key[recent, bounds.START] >= start else real(maps, m, start, end)


def not_from_the_bottom(maps, m, n_bytes, alignment, cursor):
    at = maps.cursors[m, cursor]
    node = pickers.overlapping_or_next(maps, m, at, at + n_bytes)
    offset = pickers._first_with_room(maps, m, node, n_bytes, alignment)
    maps.cursors[m, cursor] = offset + n_bytes if offset != NOWHERE else 0
    return offset


def from_the_cursor(maps, m, node, n_bytes, alignment, real=pickers._first_with_room):
    if node != NIL:
        at = int(maps.cursors[m, pickers.bit_number(alignment)])
        offset = (max(at, int(maps.trees.key[node, bounds.START])) + alignment - 1) & -alignment
        if offset + n_bytes <= maps.trees.key[node, bounds.END]:
            return offset
    return real(maps, m, node, n_bytes, alignment)


def highest_of_equal(maps, m, length, real=space_map.smallest_of_at_least):
    node = real(maps, m, length)
    if node == NIL:
        return node
    n_room = len(maps.unused)
    size_node, length = node + n_room, maps.trees.key[node + n_room, 0]
    while (above := avl.beside(maps.trees, size_node, branch.RIGHT)) != NIL and maps.trees.key[above, 0] == length:
        size_node = above
    return size_node - n_room


def best_fit_leaves_the_cursor(maps, m, n_bytes, params, real=pickers._dynamic_fit):
    cursors, before = maps.cursors[m].copy(), maps.by_size[m]
    offset = real(maps, m, n_bytes, params)
    if maps.by_size[m] > before:
        maps.cursors[m] = cursors
    return offset


def looks_above(maps, m, start, end):
    return pickers.overlapping_or_next(maps, m, start, end)


def aligned(maps, m, n_bytes, alignment, cursor, real=pickers._first_fit):
    return real(maps, m, n_bytes, n_bytes & -n_bytes, cursor)


def at_most(maps, m, params, longest):
    return longest < params.best_fit_hole_bytes or pickers.free_pct(maps, m) <= params.best_fit_below_pct


def not_the_hole(maps, m, params, longest):
    return pickers.free_pct(maps, m) < params.best_fit_below_pct


def hole_of_exactly(maps, m, params, longest):
    return longest <= params.best_fit_hole_bytes or pickers.free_pct(maps, m) < params.best_fit_below_pct


def rounded_up(maps, m):
    return -(-maps.space[m] * 100 // maps.size_bytes[m])


def by_magnitude(power, real=pickers.bit_number):
    return real(power) // 2


def changed(variant, **params):
    return VARIANTS | {variant: VARIANTS[variant]._replace(**params)}


FF, DF30, DF4, NDF = VARIANTS
HERE = sys.modules[__name__]
DEFECTS = {  # defect: (module, what is replaced, by what, variants to try, trace)
    "none": (pickers, "NOWHERE", NOWHERE, (FF, NDF), "edge"),
    "takes the predecessor always": (avl, "_replaced_from", lambda trees, node: branch.LEFT, (FF, DF4, NDF), "edge"),
    "takes the successor always": (avl, "_replaced_from", lambda trees, node: branch.RIGHT, (FF, DF4, NDF), "edge"),
    "rotates twice about a balanced child": (avl, "_leans_back", double_about_balanced, (FF, DF4, NDF), "edge"),
    "the left one survives a merge": (space_map, "_join", left_survives, (FF, DF4, NDF), "edge"),
    "the right part of a cut keeps the node": (space_map, "_cut", cut_keeps_the_right, (FF, NDF, DF4), "edge"),
    "finds the lowest overlapping segment": (pickers, "overlapping_or_next", lowest_or_next, (FF, DF4), "edge"),
    "new dynamic fit finds the lowest": (pickers, "overlapping", lowest_overlapping, (NDF,), "edge"),
    "new dynamic fit looks above its cursor": (pickers, "overlapping", looks_above, (NDF,), "edge"),
    "believes what is remembered": (pickers, "overlapping_or_next", believes_what_is_remembered, (FF, DF4), "edge"),
    "does not begin again from the bottom": (pickers, "_first_fit", not_from_the_bottom, (FF,), "edge"),
    "aligns from the cursor": (pickers, "_first_with_room", from_the_cursor, (FF,), "edge"),
    "best fit takes the highest of equal ones": (pickers, "smallest_of_at_least", highest_of_equal, (DF30,), "edge"),
    "best fit leaves the cursor alone": (pickers, "_dynamic_fit", best_fit_leaves_the_cursor, (DF4, DF30), "edge"),
    "dynamic fit aligns": (pickers, "_first_fit", aligned, (DF4,), "mix2_occ92"),
    "the percentage itself is too little": (pickers, "wants_best_fit", at_most, (DF30,), "edge"),
    "the percentage is rounded up": (pickers, "free_pct", rounded_up, (DF30,), "edge"),
    "the longest hole is not looked at": (pickers, "wants_best_fit", not_the_hole, (DF4,), "edge"),
    "a hole of exactly 128 KiB is too short": (pickers, "wants_best_fit", hole_of_exactly, (DF4, DF30), "edge"),
    "two magnitudes share a cursor": (pickers, "bit_number", by_magnitude, (FF,), "edge"),
    "two magnitudes share a cursor of new dynamic fit": (pickers, "bit_number", by_magnitude, (NDF,), "edge"),
    "a clump of new dynamic fit is half as long": (HERE, "VARIANTS", changed(NDF, clump_shift=3), (NDF,), "edge"),
}


def first_elsewhere(variant, scenario):
    """Number of the first block that does not go where it is recorded, or None."""
    trace = read_trace(TRACES / f"{scenario}__{variant}__ops.parquet")
    recorded = read_places(TRACES / f"{scenario}__{variant}__off.parquet", int((trace.op == ALLOCATE).sum())).off512
    maps, sizes = space_map.new_space_maps(1, len(trace.op), 1), []
    for op, sectors, arg in zip(trace.op.tolist(), trace.size512.tolist(), trace.arg.tolist(), strict=True):
        if op == ALLOCATE:
            offset = int(pickers.pick(maps, 0, sectors * SECTOR_BYTES, VARIANTS[variant]))
            sizes.append(sectors)
            if (offset // SECTOR_BYTES if offset >= 0 else -1) != recorded[len(sizes) - 1]:
                return len(sizes) - 1
            if offset >= 0:
                space_map.remove(maps, 0, offset, offset + sectors * SECTOR_BYTES)
        elif op == FREE:
            space_map.add(maps, 0, int(recorded[arg]) * SECTOR_BYTES, int(recorded[arg] + sizes[arg]) * SECTOR_BYTES)
        elif op == NEW_MAP:
            space_map.clear(maps, 0)
            maps.size_bytes[0] = arg * SECTOR_BYTES
            space_map.add(maps, 0, 0, arg * SECTOR_BYTES)
    return None


def noticed(name):
    module, attribute, defect, variants, scenario = DEFECTS[name]
    real = getattr(module, attribute)
    setattr(module, attribute, defect)
    try:
        for variant in variants:
            block = first_elsewhere(variant, scenario)
            if block is not None:
                return [variant, block]
    finally:
        setattr(module, attribute, real)
    return None


def main():
    with np.errstate(over="raise"):
        print(json.dumps({name: noticed(name) for name in DEFECTS}))


if __name__ == "__main__":
    main()
