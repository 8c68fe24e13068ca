"""What the allocator of a pool does, story by story; run without the compiler (see test_metaslab.py).

    NUMBA_DISABLE_JIT=1 PYTHONPATH=.:tests python -m drivers.metaslab_stories        prints {story: null, or what went wrong}
"""

import itertools
import json
import traceback

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from model.zfs.eras import ERAS
from model.zfs.metaslab import sync
from model.zfs.metaslab.gang import IS_HEADER, allocate_or_gang, new_gang
from model.zfs.metaslab.metaslab_class import NO_HINT, _bias, add_vdev, allocate, allocate_log, asize, free, undo
from model.zfs.metaslab.metaslab_group import passivate, plain_weight, set_weight, weigh, weigh_all
from model.zfs.metaslab.new_pool import new_pool
from model.zfs.metaslab.state import EXACT, FAST, LOG, NORMAL, PASSIVE, PRIMARY, SECONDARY, TopVdev, alloc_map, defer_map
from model.zfs.metaslab.sync import sync_txg
from model.zfs.space import free_map, space_map
from model.zfs.space.status import ABSENT, FULL, NO_SPACE, OK, OVERLAP
from model.zfs.vdev.raid import vdev_params

quick = settings(deadline=None, derandomize=True, max_examples=60)
KIB, MIB, GIB = 2**10, 2**20, 2**30
A, B, D, D_DF = (ERAS[name].metaslab for name in ("b103", "b117", "b141", "b141_df"))
ERA_RULES = (A, B, D, D_DF)
BLOCK = 4 * KIB
STORIES = {}


def story(function):
    STORIES[function.__name__] = function
    return function


def pool_of(rules, *n_metaslabs, ms=128 * KIB, engine=EXACT, **others):
    """Single disks of so many metaslabs each."""
    return new_pool([TopVdev(asize=n * ms) for n in n_metaslabs], rules, engine, metaslab_bytes=ms,
                    **{"max_segments": 4000, "log_blocks": 400} | others)


def dvas(pool, n=1):
    return [(int(pool.dva_vdev[i]), int(pool.dva_offset[i]), int(pool.dva_bytes[i])) for i in range(n)]


def place(pool, txg, psize=BLOCK, n_copies=1, hint=NO_HINT):
    """The DVAs of a new block, or None."""
    status = allocate(pool, txg, psize, n_copies, hint)
    assert status in (OK, NO_SPACE), status
    return dvas(pool, n_copies) if status == OK else None


def fill(pool, txg, psize=BLOCK):
    """Blocks until no more fit."""
    blocks = []
    while (block := place(pool, txg, psize)) is not None:
        blocks += block
    return blocks


def space_of(pool):
    """What every map holds: B, or units of the fast engine."""
    if pool.maps is not None:
        return pool.maps.space.tolist()
    return pool.blocks.free.n_free.tolist() + pool.blocks.n_units.tolist()


def runs_of(pool, txg, n_blocks, psize):
    """[vdev, blocks in a row] of so many blocks."""
    runs = []
    for _ in range(n_blocks):
        vdev = place(pool, txg, psize)[0][0]
        if runs and runs[-1][0] == vdev:
            runs[-1][1] += 1
        else:
            runs.append([vdev, 1])
    return runs


# ---- turns (spec 2.2, 2.3) ----


@story
def a_fresh_pool_begins_with_its_last_vdev_and_goes_round():
    """128 KiB blocks, 512 KiB a disk and turn: four blocks a vdev, eight of a mirror of two."""
    pool = pool_of(A, 32, 32, 32)
    assert runs_of(pool, 4, 16, 128 * KIB) == [[2, 4], [0, 4], [1, 4], [2, 4]]
    mirror = TopVdev(vdev_params("mirror", 2), asize=64 * 128 * KIB)
    pool = new_pool([mirror, mirror], A, metaslab_bytes=128 * KIB, max_segments=4000, log_blocks=400)
    assert runs_of(pool, 4, 24, 128 * KIB) == [[1, 8], [0, 8], [1, 8]]


@story
def copies_count_for_the_turn_and_hand_it_on_behind_the_vdev_that_was_used():
    """Each block of two copies is 256 KiB of the turn of 512 KiB."""
    pool = pool_of(A, 32, 32, 32)
    first = [place(pool, 4, 128 * KIB, 2) for _ in range(3)]
    assert [[vdev for vdev, _, _ in block] for block in first] == [[2, 0], [2, 0], [1, 2]]


@story
def an_emptier_vdev_gets_up_to_a_quarter_more():
    """bias = (share of the class - share of the vdev, in 1/1024) x aliquot / 4096, toward zero; spec 2.3.1."""
    pool = pool_of(D, 8, 8)
    size = 8 * 128 * KIB
    for allocated in ((0, size), (size, 0), (size // 2, size // 2), (12345, 999), (0, 1), (777_777, 3)):
        pool.vdevs.allocated[:] = allocated
        pool.class_allocated[NORMAL] = sum(allocated)
        share = sum(allocated) * 1024 // (2 * size + 1)
        for vdev in (0, 1):
            exact = (share - allocated[vdev] * 1024 // (size + 1)) * 2**19 / 4096
            assert _bias(pool, vdev, 2**19) == int(exact)
            assert abs(exact) <= 2**19 / 4
    pool.vdevs.allocated[:] = 3, 2000  # the class has 0, vdev 1 has 1/1024 of its space: a share of -1, rounded to 0
    pool.class_allocated[NORMAL] = 0
    assert _bias(pool, 1, 1000) == 0
    pool.vdevs.allocated[:] = 0, size // 2
    assert _bias(pool, 1, 2**19) == -(511 * 2**19 // 4096)


@story
def to_hg_10921_a_log_vdev_is_compared_with_the_normal_class():
    """Two log vdevs, the normal class half full, theirs a quarter: to b117 each has a bias by that half, later by the
    quarter."""
    size = 8 * 128 * KIB
    for rules, share in ((A, 1024 * 4 * size // (8 * size + 1)), (B, 1024 * 4 * size // (8 * size + 1)),
                         (D, 1024 * (size // 2) // (2 * size + 1)), (D_DF, 1024 * (size // 2) // (2 * size + 1))):
        logs = [TopVdev(asize=size, metaslab_class=LOG)] * 2
        pool = new_pool([TopVdev(asize=8 * size), *logs], rules, metaslab_bytes=128 * KIB, max_segments=4000, log_blocks=400)
        pool.vdevs.allocated[:] = 4 * size, size // 2, 0
        pool.class_allocated[:] = 4 * size, size // 2
        for vdev in (1, 2):
            own = 1024 * pool.vdevs.allocated[vdev] // (size + 1)
            assert _bias(pool, vdev, 2**19) == int((share - own) * 2**19 / 4096)
        assert _bias(pool, 0, 2**19) == 0


@story
def a_vdev_that_is_added_has_its_turn_next_and_room_only_when_the_txg_is_synced():
    for rules in ERA_RULES:
        vdevs = [*[TopVdev(asize=4 * MIB)] * 2, TopVdev(asize=4 * MIB, comes_later=1)]
        pool = new_pool(vdevs, rules, metaslab_bytes=128 * KIB, max_segments=4000, log_blocks=400)
        space = pool.class_space.copy()
        assert {vdev for vdev, _ in runs_of(pool, 4, 12, 128 * KIB)} == {0, 1}
        sync_txg(pool, 4)
        add_vdev(pool, 2, 5)
        assert pool.rotor[NORMAL] == 2
        assert {vdev for vdev, _ in runs_of(pool, 5, 12, 128 * KIB)} == {0, 1}
        assert place(pool, 5, BLOCK, 1, 2)[0][0] != 2
        assert (pool.class_space == space).all()
        sync_txg(pool, 5)
        assert pool.class_space[NORMAL] == space[NORMAL] + 4 * MIB
        assert {vdev for vdev, _ in runs_of(pool, 6, 12, 128 * KIB)} == {0, 1, 2}


@story
def a_vdev_that_is_added_in_the_txg_of_creation_has_room_at_once():
    vdevs = [TopVdev(asize=4 * MIB), TopVdev(asize=4 * MIB, comes_later=1)]
    pool = new_pool(vdevs, A, metaslab_bytes=128 * KIB, max_segments=4000, log_blocks=400)
    assert runs_of(pool, 4, 6, 128 * KIB) == [[0, 6]]
    add_vdev(pool, 1, 4)
    assert runs_of(pool, 4, 8, 128 * KIB) == [[1, 2], [0, 4], [1, 2]]
    assert pool.class_space[NORMAL] == 8 * MIB
    sync_txg(pool, 4)
    assert pool.class_space[NORMAL] == 8 * MIB


@story
def a_vdev_is_added_behind_the_rotor():
    """Of a ring 0 -> 1 -> 2 with the rotor at 2, to which 3 is added: 2 -> 3 -> 0."""
    pool = new_pool([*[TopVdev(asize=MIB)] * 3, TopVdev(asize=MIB, comes_later=1)], A, metaslab_bytes=128 * KIB,
                    max_segments=4000, log_blocks=400)
    assert pool.vdevs.following.tolist() == [1, 2, 0, 3]
    add_vdev(pool, 3, 4)
    assert pool.vdevs.following.tolist() == [1, 2, 3, 0]


@story
def turns_are_longer_on_the_emptier_vdev():
    pool = pool_of(A, 40, 40)
    for _ in range(200):  # of BLOCK, on vdev 0 only
        assert place(pool, 4, BLOCK, 1, 0)[0][0] == 0
    sync_txg(pool, 4)
    turns = runs_of(pool, 5, 600, BLOCK)[1:-1]
    assert all(n > 128 for vdev, n in turns if vdev == 1)
    assert all(n < 128 for vdev, n in turns if vdev == 0)


@story
def a_hint_is_followed_and_avoided_in_the_log():
    pool = new_pool([*[TopVdev(asize=4 * MIB)] * 3, TopVdev(asize=MIB, metaslab_class=LOG)], A, metaslab_bytes=128 * KIB,
                    max_segments=4000, log_blocks=400)
    assert place(pool, 4, BLOCK, 1, 1)[0][0] == 1
    assert allocate_log(pool, 4, BLOCK, 1, False) == OK
    assert dvas(pool)[0][0] == 2
    assert allocate_log(pool, 4, BLOCK, 2, True) == OK
    assert dvas(pool)[0][0] == 3
    while allocate_log(pool, 4, BLOCK, 3, True) == OK and dvas(pool)[0][0] == 3:
        pass
    assert dvas(pool)[0][0] in (0, 1, 2)  # the log class is full
    assert place(pool, 4, BLOCK, 1, 3)[0][0] != 3  # data never goes there


# ---- copies ----


@story
def copies_go_to_different_vdevs_or_lie_an_eighth_apart():
    assert [vdev for vdev, _, _ in place(pool_of(A, 32, 32, 32), 4, BLOCK, 3)] == [2, 0, 1]
    for rules in ERA_RULES:
        pool = pool_of(rules, 64)
        for _ in range(40):
            offsets = [offset for _, offset, _ in place(pool, 4, BLOCK, 3)]
            apart = [abs(a // (128 * KIB) - b // (128 * KIB)) for a, b in itertools.pairwise(offsets)]
            assert min(apart) >= 12  # 3/16 of 64: nothing was synced yet, so each was never used
        sync_txg(pool, 4)
        assert sorted(set(pool.active.tolist())) == [0, SECONDARY, PRIMARY] or rules in (D, D_DF)


@story
def the_distance_is_halved_until_the_copies_fit():
    """Eight metaslabs: 1/8 of the vdev is one of them, which counts as no distance at all. Of 32 where only two have room,
    and are not 4 (6, since they are empty) but 3 apart, these two are found when 2 (3) are enough."""
    pool = pool_of(A, 8)
    assert len({offset // (128 * KIB) for _, offset, _ in place(pool, 4, BLOCK, 3)}) == 1
    pool = pool_of(A, 32)
    blocks = fill(pool, 4, 64 * KIB)
    for vdev, offset, n_bytes in blocks:
        if offset // (128 * KIB) in (10, 13):
            free(pool, 4, vdev, offset, n_bytes)
    sync_txg(pool, 4)
    assert [{offset // (128 * KIB) for _, offset, _ in place(pool, 5, 64 * KIB, 2)} for _ in range(2)] == [{10, 13}] * 2


# ---- weights (spec 2.5) ----


@story
def weights_are_those_of_the_specs_examples():
    """4 GiB metaslabs, 116 of them: in units of 4 GiB."""
    for rules, half_full in ((A, 2.0), (B, 2.0), (D, 1.0)):
        pool = new_pool([TopVdev(asize=116 * 4 * GIB)], rules, metaslab_bytes=4 * GIB, max_segments=1000, log_blocks=10)
        fresh = [plain_weight(pool, m) / (4 * GIB) for m in (0, 58, 115)]
        np.testing.assert_allclose(fresh, [2.0, 1.5, 1.0086], atol=5e-5)
        pool.allocated[0], pool.has_object[0] = 2 * GIB, 1
        assert plain_weight(pool, 0) / (4 * GIB) == half_full


@story
def the_bonus_as_coded_is_none_and_as_described_a_half():
    coded, described = (pool_of(rules, 100) for rules in (D, D._replace(bonus_multiplier=3, bonus_divisor=2)))
    for pool in (coded, described):
        pool.vdevs.bonus_area[0] = pool.start[10]
    without = pool_of(D._replace(bonus_multiplier=1), 100)
    for m in range(100):
        assert plain_weight(coded, m) == plain_weight(without, m)
        assert plain_weight(described, m) == plain_weight(without, m) * (3 if m <= 10 else 2) // 2


@story
def the_metaslabs_of_an_imported_pool_are_wholly_in_order():
    """Moved to their places one by one, the first would stay in front of the second, which is heavier."""
    for rules in ERA_RULES:
        pool = pool_of(rules, 4)
        pool.allocated[:] = [600_000, 400_000, 100_000, 900_000]
        weigh_all(pool)
        for m in (0, 3):
            set_weight(pool, m, pool.weight[m], PRIMARY)
        assert pool.order.tolist() == [0, 3, 2, 1]
        pool.active[:] = PASSIVE
        weigh_all(pool)
        assert pool.order.tolist() == [2, 1, 0, 3]


@story
def the_heaviest_comes_first_and_active_ones_before_all_others():
    for rules in ERA_RULES:
        pool = pool_of(rules, 30)
        rng = np.random.default_rng(5)
        blocks, txg = [], 4
        for _ in range(8):
            for _ in range(60):
                blocks += place(pool, txg, BLOCK, 1 + int(rng.integers(2)))
            for _ in range(30):
                free(pool, txg, *blocks.pop(int(rng.integers(len(blocks)))))
            sync_txg(pool, txg)
            weights = [int(pool.weight[m]) | int(pool.active[m]) << 62 for m in range(30)]
            assert pool.order.tolist() == sorted(range(30), key=lambda m: (-weights[m], m))
            assert [pool.order[rank] for rank in pool.rank] == list(range(30))
            for m in range(30):
                weigh(pool, m)
            moved = [array.tolist() for array in (pool.weight, pool.active, pool.order, pool.rank)]
            pool.order[:], pool.rank[:] = range(30), range(30)
            weigh_all(pool)  # sorts them
            assert moved == [array.tolist() for array in (pool.weight, pool.active, pool.order, pool.rank)]
            txg += 1


@story
def a_metaslab_in_which_a_request_failed_is_left_with_less():
    """One byte less than was asked for, or its longest free segment; until it is weighed again."""
    lefts = ((A, 64 * KIB - 1), (B, 64 * KIB - 1), (D, 4 * KIB), (D_DF, 4 * KIB))
    for (rules, left), engine in itertools.product(lefts, (EXACT, FAST)):
        pool = pool_of(rules, 2, engine=engine)
        for m in (0, 1):  # 32 blocks each, of which every second one is undone: 64 KiB free, in pieces of one block
            blocks = [place(pool, 4)[0] for _ in range(32)]
            assert {offset // (128 * KIB) for _, offset, _ in blocks} == {m}
            for block in blocks[::2]:
                undo(pool, 4, *block)
            if m == 0:
                assert place(pool, 4, 64 * KIB)[0][1] == 128 * KIB
                assert (pool.weight[0], pool.active[0]) == (left, 0)
                assert pool.active[1] == PRIMARY
                undo(pool, 4, *dvas(pool)[0])
        sync_txg(pool, 4)
        assert pool.weight[0] == plain_weight(pool, 0) > left


@story
def the_bonus_area_reaches_up_to_the_highest_metaslab_that_was_activated_and_counts_at_the_end_of_a_txg():
    described = D._replace(bonus_multiplier=3, bonus_divisor=2)
    for rules, raised in ((described, True), (described._replace(reassess=0), False)):
        pool = pool_of(rules, 16)
        before = pool.weight.copy()
        place(pool, 4, BLOCK, 3)
        highest = pool.start.tolist().index(pool.vdevs.bonus_area[0])
        assert 15 > highest == max(offset for _, offset, _ in dvas(pool, 3)) // (128 * KIB) > 1
        passivate(pool, 15, BLOCK)
        sync_txg(pool, 4)
        assert pool.weight[15] == BLOCK
        untouched = [m for m in range(1, highest) if pool.allocated[m] == 0]
        assert untouched
        assert all((pool.weight[m] == before[m] * 3 // 2) == raised for m in untouched)


# ---- when space comes back (spec 2.9) ----


@story
def freed_space_returns_one_or_three_txgs_later():
    for rules, first in ((A, 1), (B, 1), (D, 3), (D_DF, 3)):
        pool = pool_of(rules, 4)
        blocks = fill(pool, 4)
        assert len(blocks) == 4 * 32
        sync_txg(pool, 4)
        assert place(pool, 5) is None
        freed = blocks[17]
        free(pool, 5, *freed)
        for later in range(4):
            if later < first:
                assert place(pool, 5 + later) is None, (first, later)
            else:
                assert place(pool, 5 + later) == [freed]
                break
            sync_txg(pool, 5 + later)


@story
def what_is_deferred_is_withheld_from_a_map_that_is_loaded():
    """Unloaded by force: the log says it is free, the pool may not give it yet."""
    pool = pool_of(D, 1)
    blocks = fill(pool, 4)
    sync_txg(pool, 4)
    free(pool, 5, *blocks[3])
    sync_txg(pool, 5)
    free(pool, 6, *blocks[9])
    sync_txg(pool, 6)
    assert pool.loaded[0] == 0
    assert pool.deferred[0] == 2 * BLOCK
    assert place(pool, 7) is None  # it weighs two blocks, so it is loaded
    assert pool.loaded[0] == 1
    assert pool.maps.space[0] == 0
    sync_txg(pool, 7)
    assert place(pool, 8) == [blocks[3]]


# ---- undo, failures ----


@story
def a_block_has_all_of_its_copies_or_none():
    """Two vdevs with room for two blocks each. The third block is the first of vdev 0, which has room for one copy more."""
    for engine in (EXACT, FAST):
        pool = pool_of(A, 1, 1, engine=engine)
        assert [place(pool, 4, 64 * KIB)[0][0] for _ in range(3)] == [1, 1, 0]
        before = space_of(pool)
        assert place(pool, 4, 64 * KIB, 2) is None
        assert space_of(pool) == before
        assert place(pool, 4, 64 * KIB) is None  # where a request has failed, the next one in the txg is not even tried
        sync_txg(pool, 4)
        assert place(pool, 5, 64 * KIB) == [(0, 64 * KIB, 64 * KIB)]
        assert place(pool, 5, 64 * KIB) is None


@story
def statuses_say_what_cannot_be():
    pool = pool_of(A, 4)
    (block,) = place(pool, 4)
    assert free(pool, 5, *block) == OK
    assert free(pool, 5, *block) == OVERLAP
    assert pool.failure[0] == OK
    undo(pool, 4, 0, 40 * KIB, BLOCK)
    assert pool.failure[0] == ABSENT
    assert sync_txg(pool, 4) == ABSENT
    pool = pool_of(A, 4, max_segments=8)
    blocks = [place(pool, 4)[0] for _ in range(60)]
    statuses = [free(pool, 4, *block) for block in blocks[::2]]
    assert statuses == sorted(statuses), statuses
    assert set(statuses) == {OK, FULL}
    pool = pool_of(A, 4, log_blocks=1)
    for txg in range(4, 400):
        place(pool, txg, 512)
        if sync_txg(pool, txg) != OK:
            assert pool.failure[0] == FULL
            break
    else:
        raise AssertionError("a log without end in one block")


# ---- logs and loading ----


def map_of(pool, m):
    """Free segments of a loaded metaslab."""
    segments, node = [], space_map.first(pool.maps, m)
    while node:
        segments.append((int(pool.maps.start[node]), int(pool.maps.end[node])))
        node = space_map.following(pool.maps, node)
    return segments


operations = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 10**6)), min_size=20, max_size=150)


@story
@quick
@given(st.sampled_from(ERA_RULES), operations)
def a_map_made_of_its_log_is_the_map_that_was_forgotten(rules, steps):
    """Blocks of 512 B to 16 KiB; after every sync each log is what is allocated, and no longer than it may be."""
    pool, blocks, txg = pool_of(rules, 3, ms=128 * KIB), [], 4
    for kind, choice in steps:
        if kind < 5:
            blocks += place(pool, txg, 512 * (1 + choice % 32)) or []
        elif kind < 9 and blocks:
            free(pool, txg, *blocks.pop(choice % len(blocks)))
        else:
            assert sync_txg(pool, txg) == OK
            txg += 1
            for m in np.flatnonzero(pool.loaded):
                kept = map_of(pool, m)
                free_map.unload(pool, m)
                free_map.load(pool, m)
                for defers in range(rules.defer_txgs):
                    free_map.withhold(pool, (9 + defers) * 3 + m, m)
                assert map_of(pool, m) == kept


@story
def a_log_grows_by_headers_and_runs_and_is_condensed():
    pool = pool_of(A, 1, ms=64 * MIB)
    blocks = [place(pool, 4)[0] for _ in range(40)]
    sync_txg(pool, 4)
    assert pool.log.n_records[0] == 2  # one header, one run
    for block in blocks[::2]:
        free(pool, 5, *block)
    sync_txg(pool, 5)
    assert pool.log.n_records[0] == 1 + 20  # there were 2 for 1 free segment: it is written anew, allocations only
    for block in blocks[1:5:2]:
        free(pool, 6, *block)
    sync_txg(pool, 6)
    assert pool.log.n_records[0] == 21 + 1 + 2
    assert pool.counters.n_condensed[0] == 1
    pool = pool_of(A, 1, ms=64 * MIB)
    place(pool, 4, 40 * MIB)
    sync_txg(pool, 4)
    assert pool.log.n_records[0] == 1 + 3  # a record has at most 32768 sectors, 16 MiB


@story
def a_log_is_condensed_by_the_place_of_deferred_maps_whatever_the_txg():
    """The order in which they are taken out gives the tree its shape, and that gives the log its order."""
    @quick
    @given(st.lists(st.integers(0, 2), min_size=32, max_size=32))
    def condensed(sectors):
        logs = []
        for txg in (6, 7):
            pool = pool_of(D, 1)
            space_map.clear(pool.maps, 0)
            for at, where in enumerate(sectors):
                if where < 2:
                    space_map.add(pool.maps, defer_map(pool, 0, where), 2 * at * 512, (2 * at + 1) * 512)
            sync._condense(pool, 0, txg, alloc_map(pool, 0, txg + 3))
            free_map.append(pool, 0, alloc_map(pool, 0, txg))
            logs.append(pool.log.records[pool.log.first_block[0], :pool.log.n_records[0]].tolist())
        assert logs[0] == logs[1]
    condensed()


@story
def before_hg_10921_a_metaslab_is_written_though_nothing_changed():
    """An undone block leaves it dirty. Its first log makes it one that was ever written to, which is worth a bonus."""
    for rules, written in ((A, 1), (B, 1), (D, 0), (D_DF, 0)):
        pool = pool_of(rules, 4)
        before = pool.weight.copy()
        undo(pool, 4, *place(pool, 4)[0])
        sync_txg(pool, 4)
        assert pool.has_object.tolist() == [written, 0, 0, 0]
        assert pool.weight[0] == (1 + written) * before[0]
        assert pool.log.n_records[0] == 0


@story
def loading_forgets_cursors_and_waits_for_the_log_unless_that_was_read_ahead():
    for rules, waits in ((A, True), (D, False), (D._replace(prefetch_maps=0), True)):
        pool = pool_of(rules, 2)
        blocks = fill(pool, 4)
        sync_txg(pool, 4)
        for txg in range(5, 9):
            if txg == 5:
                for block in blocks[:32:2]:
                    free(pool, txg, *block)
            sync_txg(pool, txg)
        pool.maps.cursors[:] = 77 * 512
        loads, waited = pool.counters.n_loads[0], pool.counters.load_blocks[0]
        if pool.loaded[0]:
            continue
        assert place(pool, 9) is not None
        assert pool.counters.n_loads[0] == loads + 1
        assert (pool.counters.load_blocks[0] > waited) == waits


# ---- space is conserved ----


@story
@quick
@given(st.sampled_from(ERA_RULES), st.booleans(), operations)
def space_is_conserved_and_never_given_twice(rules, one_size, steps):
    """Two vdevs, copies, undone blocks, against sets of sectors: allocated, freed but not back, free."""
    pool, txg = pool_of(rules, 5, 4), 4
    blocks, waiting, used = [], [], set()

    def sectors(dva):
        return {(dva[0], at) for at in range(dva[1], dva[1] + dva[2], 512)}

    for kind, choice in steps:
        psize = BLOCK if one_size else 512 * (1 + choice % 40)
        if kind < 5:
            block = place(pool, txg, psize, 1 + choice % 7 // 3) or []
            for dva in block:
                assert not sectors(dva) & used
                used |= sectors(dva)
            if kind == 0:
                for dva in block:
                    undo(pool, txg, *dva)
                    used -= sectors(dva)
            else:
                blocks += block
        elif kind < 8 and blocks:
            dva = blocks.pop(choice % len(blocks))
            assert free(pool, txg, *dva) == OK
            waiting.append((txg + rules.defer_txgs, dva))
        else:
            assert sync_txg(pool, txg) == OK
            for back in [dva for when, dva in waiting if when <= txg]:
                used -= sectors(back)
            waiting = [(when, dva) for when, dva in waiting if when > txg]
            txg += 1
            check_space(pool, blocks, waiting, used)


def check_space(pool, blocks, waiting, used):
    """After a sync: what each metaslab says it has allocated, deferred and, if it is loaded, free."""
    live, withheld = np.zeros(9, np.int64), np.zeros(9, np.int64)
    for held, of in ((live, blocks), (withheld, [dva for _, dva in waiting])):
        for vdev, offset, n_bytes in of:
            held[(0, 5)[vdev] + offset // (128 * KIB)] += n_bytes
    assert (pool.allocated == live).all()
    assert (pool.deferred == withheld).all()
    loaded = pool.loaded == 1
    assert (pool.maps.space[:9] + live + withheld == 128 * KIB)[loaded].all()
    assert pool.vdevs.allocated.sum() == pool.class_allocated[NORMAL] == len(used) * 512


@story
@quick
@given(st.sampled_from(ERA_RULES), operations)
def both_engines_do_the_same(rules, steps):
    """Blocks of one size, and of twice and three times that: offsets, weights, logs."""
    pools = [pool_of(rules, 5, 4, engine=engine, unit_bytes=BLOCK) for engine in (EXACT, FAST)]
    blocks, txg = [], 4
    for kind, choice in steps:
        if kind < 6:
            placed = [place(pool, txg, BLOCK, 1 + choice % 7 // 3) for pool in pools]
            assert placed[0] == placed[1]
            blocks += placed[0] or []
        elif kind < 8 and blocks:
            dva = blocks.pop(choice % len(blocks))
            assert [free(pool, txg, *dva) for pool in pools] == [OK, OK]
        else:
            assert [sync_txg(pool, txg) for pool in pools] == [OK, OK]
            txg += 1
        for name in ("weight", "active", "order", "loaded", "allocated", "deferred"):
            assert (getattr(pools[0], name) == getattr(pools[1], name)).all(), name
        assert (pools[0].log.n_records == pools[1].log.n_records).all()
        assert [*pools[0].counters] == [*pools[1].counters]


# ---- RAID-Z, gangs ----


@story
def sizes_in_the_pool_are_those_of_the_vdev():
    kinds = {"single": 1, "mirror": 3, "raidz1": 5, "raidz2": 7, "raidz3": 9}
    pool = new_pool([TopVdev(vdev_params(kind, n), asize=4 * MIB) for kind, n in kinds.items()], A, metaslab_bytes=MIB,
                    max_segments=1000, log_blocks=10)
    for psize in (512, 4096, 8192, 131072):
        data = psize // 512
        for vdev, (kind, n) in enumerate(kinds.items()):
            parity = int(kind[-1]) if kind.startswith("raidz") else 0
            rows = -(-data // (n - parity))
            total = data + parity * rows if parity else data
            total += -total % (parity + 1)
            assert asize(pool, vdev, psize) == total * 512
            assert place(pool, 4, psize, 1, vdev)[0] [::2] == (vdev, total * 512)


@story
def gangs_cover_the_block_and_leave_nothing_behind_if_they_cannot():
    for name in ("onnv_69", "b103", "b141"):
        pool, gang = pool_of(ERAS[name].metaslab, 8, 8), new_gang()
        blocks = fill(pool, 4)
        for block in blocks[::2]:
            free(pool, 4, *block)
        for txg in (4, 5, 6, 7):
            sync_txg(pool, txg)
        assert allocate(pool, 8, 2 * BLOCK, 1, NO_HINT) == NO_SPACE
        assert allocate_or_gang(pool, gang, 8, 128 * KIB, 1, NO_HINT) == OK
        n = gang.n_pieces[0]
        headers = gang.kind[:n] == IS_HEADER
        assert gang.psize[:n][~headers].sum() == 128 * KIB
        assert (gang.n_copies[:n][headers] == 2).all()
        assert headers.sum() * 3 >= n - 1
        assert (gang.psize[:n] <= BLOCK).all()
        areas = sorted((int(gang.vdev[i, copy]), int(gang.offset[i, copy]), int(gang.n_bytes[i, copy]))
                       for i in range(n) for copy in range(gang.n_copies[i]))
        assert all(before[0] != after[0] or before[1] + before[2] <= after[1] for before, after in itertools.pairwise(areas))
        assert allocate_or_gang(pool, gang, 8, BLOCK, 1, NO_HINT) == OK
        assert gang.n_pieces[0] == 1
        while allocate_or_gang(pool, gang, 8, 128 * KIB, 1, NO_HINT) == OK:
            pass
        space = pool.maps.space.copy()
        assert allocate_or_gang(pool, gang, 8, 128 * KIB, 1, NO_HINT) == NO_SPACE
        assert gang.n_pieces[0] == 0
        assert (pool.maps.space == space).all()


@story
def a_gang_of_more_pieces_than_there_is_room_for_is_full():
    pool, gang = pool_of(ERAS["b103"].metaslab, 8, 8), new_gang()
    for block in fill(pool, 4)[::2]:
        undo(pool, 4, *block)
    sync_txg(pool, 4)
    short = gang._replace(**{name: getattr(gang, name)[:5] for name in
                             ("kind", "psize", "n_copies", "vdev", "offset", "n_bytes")})
    assert allocate_or_gang(pool, short, 5, 128 * KIB, 1, NO_HINT) == FULL
    assert short.n_pieces[0] == 5


@story
def members_are_halves_of_the_block_or_thirds():
    sizes = {}
    for name in ("onnv_69", "b103"):
        pool, gang = pool_of(ERAS[name].metaslab, 8), new_gang()
        blocks = fill(pool, 4, 64 * KIB)
        for block in blocks[::3]:
            undo(pool, 4, *block)
        sync_txg(pool, 4)
        assert allocate_or_gang(pool, gang, 5, 128 * KIB, 1, NO_HINT) == OK
        sizes[name] = gang.psize[:gang.n_pieces[0]].tolist()
    thirds = [512, 44032, 43520, 43520]
    assert sizes["b103"] == thirds
    assert sum(thirds[1:]) == 128 * KIB
    assert sizes["onnv_69"] == [512, 64 * KIB, 64 * KIB]


@story
def copies_of_members_and_inner_headers_follow_those_of_a_header():
    """On vdevs that take turns at every block and have holes everywhere, whatever has a hint is where the hint says."""
    for name in ("onnv_69", "b103"):
        pool, gang = pool_of(ERAS[name].metaslab._replace(aliquot_bytes=512), 8, 8, 8), new_gang()
        for block in fill(pool, 4)[::2]:
            undo(pool, 4, *block)
        sync_txg(pool, 4)
        assert allocate_or_gang(pool, gang, 5, 16 * BLOCK, 2, NO_HINT) == OK
        n = gang.n_pieces[0]
        is_header, copies = gang.kind[:n] == IS_HEADER, gang.vdev[:n, :2]
        assert is_header.sum() > 1
        assert not (copies[:, 0] == copies[:, 1]).any()
        if name == "b103":
            assert (copies[is_header] == copies[0]).all()
        else:
            around = np.maximum.accumulate(np.where(is_header, np.arange(n), 0))
            assert (copies[~is_header] == copies[around][~is_header]).all()
            assert len(np.unique(copies[is_header], axis=0)) > 1


def outcome(tell):
    try:
        tell()
    except Exception:
        return traceback.format_exc(limit=-3)
    return None


if __name__ == "__main__":
    print(json.dumps({name: outcome(tell) for name, tell in STORIES.items()}))
