"""Space maps against sets of units, and what ZFS is particular about: who survives a merge, where a cut is put."""

from hypothesis import given, settings
from hypothesis import strategies as st

from model.structures.sentinels import NIL
from model.zfs.space import space_map
from model.zfs.space import tree_columns as branch
from model.zfs.space.space_map import add, clear, move, new_space_maps, remove
from model.zfs.space.status import ABSENT, FULL, OK, OVERLAP
from twins import space_map as twin

quick = settings(deadline=None, derandomize=True, max_examples=60)
AREA = 48
FREE, OTHER, WITHOUT_SIZES = 0, 2, 3  # maps; 0 and 1 are free maps

areas = st.tuples(st.integers(0, AREA - 1), st.integers(1, 9)).map(lambda area: (area[0], min(sum(area), AREA)))


def new_maps(max_segments=AREA):
    return new_space_maps(4, max_segments, 2)


def listed(maps, m):
    node, segments = space_map.first(maps, m), []
    while node != NIL:
        segments.append((int(maps.start[node]), int(maps.end[node])))
        node = space_map.following(maps, node)
    return segments


def shape(maps, node):
    link = maps.trees.link
    if node == NIL:
        return None
    return int(maps.start[node]), shape(maps, link[node, branch.LEFT]), shape(maps, link[node, branch.RIGHT])


def by_size(maps, m):
    """Segments of the tree of sizes, as (length, start), in its order."""
    trees, n_room = maps.trees, len(maps.unused)

    def walk(node):
        if node == NIL:
            return []
        assert tuple(trees.key[node, :2]) == (maps.end[node - n_room] - maps.start[node - n_room], maps.start[node - n_room])
        left, right = trees.link[node, branch.LEFT], trees.link[node, branch.RIGHT]
        return [*walk(left), tuple(trees.key[node, :2].tolist()), *walk(right)]
    return walk(trees.root[len(maps.space) + m])


def filled(*segments, m=FREE, maps=None):
    maps = maps or new_maps()
    for segment in segments:
        assert add(maps, m, *segment) == OK
    return maps


def check(maps, units, m=FREE):
    runs = twin.segments(units)
    assert listed(maps, m) == runs
    assert (maps.space[m], maps.n_segments[m]) == (len(units), len(runs))
    if maps.has_sizes[m]:
        assert by_size(maps, m) == sorted((end - start, start) for start, end in runs)
        assert space_map.largest(maps, m) == max((end - start for start, end in runs), default=0)


@quick
@given(st.lists(st.tuples(st.booleans(), areas), max_size=80), st.sampled_from((FREE, WITHOUT_SIZES)))
def test_a_map_is_the_set_of_units_that_were_added_and_not_removed(changes, m):
    maps, units = new_maps(), set()
    for adds, area in changes:
        area_units = set(range(*area))
        held = area_units <= units
        assert space_map.holds(maps, m, *area) == held
        if adds:
            assert add(maps, m, *area) == (OVERLAP if area_units & units else OK)
            units |= set() if area_units & units else area_units
        else:
            assert remove(maps, m, *area) == (OK if held else ABSENT)
            units -= area_units if held else set()
        check(maps, units, m)
        assert maps.n_unused[0] + maps.n_segments.sum() == len(maps.unused)


def apart(candidates):
    """Those that overlap none before them."""
    taken = set()
    for area in candidates:
        if not taken & set(range(*area)):
            taken |= set(range(*area))
            yield area


@quick
@given(st.lists(areas, max_size=40), st.integers(0, 20))
def test_a_move_adds_in_post_order_and_leaves_nothing_behind(candidates, n):
    segments = list(apart(candidates))
    maps, by_hand = filled(*segments[:n]), filled(*segments[:n])
    filled(*segments[n:], m=OTHER, maps=maps)
    ends = dict(listed(maps, OTHER))
    filled(*((start, ends[start]) for start in twin.post_order(shape(maps, maps.trees.root[OTHER]))), maps=by_hand)
    assert move(maps, OTHER, FREE) == OK
    assert shape(maps, maps.trees.root[FREE]) == shape(by_hand, by_hand.trees.root[FREE])
    check(maps, {unit for segment in segments for unit in range(*segment)})
    check(maps, set(), OTHER)


def test_a_move_of_what_is_there_already_says_so():
    maps = filled((0, 4), m=OTHER)
    filled((2, 3), maps=maps)
    assert move(maps, OTHER, FREE) == OVERLAP


def root_of(maps, m=FREE):
    root = maps.trees.root[m]
    return int(root), (int(maps.start[root]), int(maps.end[root]))


def test_with_neighbours_on_both_sides_the_right_one_survives():
    maps = filled((0, 4), (8, 12))
    left, right = (int(space_map.overlapping(maps, FREE, at, at + 1)) for at in (0, 8))
    add(maps, FREE, 4, 8)
    assert root_of(maps) == (right, (0, 12))
    assert right != left


def test_with_one_neighbour_that_one_grows():
    maps = filled((4, 8))
    only = root_of(maps)[0]
    add(maps, FREE, 8, 10)
    add(maps, FREE, 2, 4)
    assert root_of(maps) == (only, (2, 10))


def test_what_is_left_of_a_cut_keeps_its_place_and_the_rest_is_put_next_to_it():
    """20 is on the right of what is cut, so the rest hangs on the left of 12, the lowest there; a rotation lifts 12."""
    maps = filled((4, 10), (0, 2), (20, 24), (12, 14))
    node = root_of(maps)[0]
    assert remove(maps, FREE, 5, 6) == OK
    assert root_of(maps) == (node, (4, 5))
    assert shape(maps, node) == (4, (0, None, None), (12, (6, None, None), (20, None, None)))


def test_a_search_finds_the_overlapping_segment_nearest_to_the_root():
    """All three overlap; 8 was there first and is on top."""
    maps = filled((8, 10), (4, 6), (12, 14))
    assert maps.start[space_map.overlapping(maps, FREE, 5, 13)] == 8
    assert maps.start[space_map.overlapping(maps, FREE, 5, 7)] == 4
    assert space_map.overlapping(maps, FREE, 6, 8) == NIL
    assert maps.start[space_map.overlapping_or_next(maps, FREE, 6, 8)] == 8
    assert space_map.overlapping_or_next(maps, FREE, 14, 20) == NIL


@quick
@given(st.lists(st.tuples(st.sampled_from(("add", "remove", "look")), areas), max_size=60))
def test_what_is_remembered_saves_searches_and_changes_none(changes):
    remembering, forgetful = new_maps(), new_maps()
    for change, area in changes:
        forgetful.recent[:] = NIL
        nodes = [space_map.overlapping_or_next(maps, FREE, *area) if change == "look"
                 else {"add": add, "remove": remove}[change](maps, FREE, *area) for maps in (remembering, forgetful)]
        assert nodes[0] == nodes[1]
        if change == "look" and nodes[0] != NIL:
            remembering.recent[FREE] = nodes[0]
        assert shape(remembering, remembering.trees.root[FREE]) == shape(forgetful, forgetful.trees.root[FREE])


def test_the_shortest_segment_that_is_long_enough_is_the_lowest_of_its_length():
    maps = filled((30, 34), (0, 2), (10, 14), (20, 28))
    starts = [int(maps.start[space_map.smallest_of_at_least(maps, FREE, n)]) for n in (1, 3, 4, 5, 8)]
    assert starts == [0, 10, 10, 20, 20]
    assert space_map.smallest_of_at_least(maps, FREE, 9) == NIL


def test_without_a_node_to_spare_a_map_stays_as_it_is():
    maps = filled((0, 10), (20, 30), maps=new_maps(max_segments=2))
    assert add(maps, FREE, 12, 14) == FULL
    assert remove(maps, FREE, 4, 6) == FULL
    check(maps, {*range(10), *range(20, 30)})
    assert add(maps, FREE, 10, 20) == OK
    assert remove(maps, FREE, 4, 6) == OK


def test_an_emptied_map_has_no_cursors_and_gives_its_nodes_back():
    maps = filled((0, 4), (8, 12), (16, 20))
    filled((0, 4), m=1, maps=maps)
    maps.cursors[:] = 7
    clear(maps, FREE)
    check(maps, set())
    check(maps, set(range(4)), 1)
    assert maps.n_unused[0] == AREA - 1
    assert not maps.cursors[FREE].any()
    assert maps.cursors[1].all()
    filled((0, AREA), maps=maps)
    check(maps, set(range(AREA)))
