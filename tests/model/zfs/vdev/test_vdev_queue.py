"""The vdev queue: against its naive twin, against laws, and with defects that must be noticed."""
import itertools
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivers.queue_rules import ALL_RULES, MS, RULES, WHAT_IF, K, ios, queue_of, quick, rules, what_if
from drivers.queue_stories import PADDING, Leaf, Twin, padded_writes, random_story, steps, steps_seen
from model.structures.sentinels import NIL
from model.zfs.vdev import control_columns as window
from model.zfs.vdev.queue import (
    NODATA,
    READ,
    SCRUB,
    WRITE,
    VdevQueueParams,
    issue,
    new_io,
    new_queue,
    release,
)
from twins.queue import DEFECTS

pytestmark = pytest.mark.interpreted


@quick
@given(st.lists(ios, max_size=60), rules)
def test_kernels_issue_as_the_naive_twin(story, params):
    assert steps_seen(Leaf(params), story) == steps_seen(Twin(params), story)


@quick
@given(st.lists(ios, max_size=60), what_if)
def test_kernels_issue_as_the_naive_twin_with_what_was_never_built(story, params):
    leaf, twin = Leaf(params), Twin(params)
    assert steps_seen(leaf, story) == steps_seen(twin, story)
    assert leaf.queue.control[0, window.PLACES] == (twin.places or params.max_pending)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(RULES))
@pytest.mark.parametrize("n_places", [40, 300, 10**6])
def test_kernels_issue_as_the_naive_twin_on_long_stories(name, n_places):
    story = random_story(2, 700, n_places)
    assert steps_seen(Leaf(RULES[name]), story) == steps_seen(Twin(RULES[name]), story)


@pytest.mark.parametrize("params", [RULES["b141"], WHAT_IF])
def test_leaves_do_not_know_of_each_other(params):
    """Three leaves in one state, driven by turns, issue as three twins."""
    queue = new_queue(params, 3, 2000)
    stories = [random_story(seed, 200, n_places=60) for seed in range(3)]
    leaves = [steps_seen_by_turns(Leaf(params, queue=queue, leaf=leaf), story) for leaf, story in enumerate(stories)]
    together = list(zip(*leaves, strict=False))
    for leaf, story in enumerate(stories):
        alone = steps_seen(Twin(params), story)
        assert [step[leaf] for step in together] == alone[:len(together)]
    assert len(together) >= 200


def steps_seen_by_turns(leaf, story):
    for units, unit, pending, waiting, dropped in steps(leaf, story):
        yield units, unit, int(pending), int(waiting), list(dropped)


# ---- a test of the tests: each defect must show ----


def busy_story(seed, n, times):
    """A random story with so many times more completions: all but nothing waits."""
    return [(times * n_completions, *io) for n_completions, *io in random_story(seed, n)]


# Some rules matter only in some stories: where units come out a sector too long, or end in padding; or with knobs
# turned so low that more wait than are pending.
STORIES = (
    (RULES["b141"], random_story(5, 500)),
    (RULES["b117"], random_story(5, 500, n_places=60)),
    (RULES["b141"]._replace(aggregation_bytes=64 * K - 512, max_pending=2), random_story(5, 300)),
    (RULES["b141"]._replace(aggregation_bytes=8 * K), padded_writes(5, 400)),
    # and what was never built
    (RULES["b141"]._replace(max_pending=6, reserved_slots=3, aggregation_bytes=0), random_story(5, 300)),
    (RULES["onnv_69"]._replace(max_pending=8, reserved_slots=1, min_pending=1, time_shift=2), busy_story(6, 300, 2)),
    (RULES["onnv_69"]._replace(max_pending=4, reserved_slots=2, min_pending=4), random_story(5, 300)),
    (RULES["onnv_69"]._replace(dynamic_pending_ns=80 * MS, dynamic_window=4, max_pending=7, aggregation_bytes=0),
     random_story(6, 500)),
    (RULES["onnv_69"]._replace(dynamic_pending_ns=800 * MS, dynamic_window=2, max_pending=3, min_pending=2),
     random_story(6, 300)),
    (RULES["onnv_69"]._replace(dynamic_pending_ns=80 * MS, dynamic_window=3, max_pending=8, min_pending=1,
                               aggregation_bytes=0), busy_story(6, 500, 3)),
    (RULES["onnv_69"]._replace(dynamic_pending_ns=60 * MS, dynamic_window=3, max_pending=7, reserved_slots=5),
     random_story(6, 500)),
)


@cache
def seen_by_the_kernels(n):
    """Of the story `n`, once for all defects."""
    params, story = STORIES[n]
    return steps_seen(Leaf(params), story)


@pytest.mark.slow
@pytest.mark.parametrize("defect", DEFECTS)
def test_a_defect_of_the_rule_shows_against_the_kernels(defect):
    twins = (steps_seen(Twin(params, defect), story) for params, story in STORIES)
    assert any(seen != seen_by_the_kernels(n) for n, seen in enumerate(twins))


@pytest.mark.slow
@pytest.mark.parametrize(("params", "story"), STORIES)
def test_the_twin_without_a_defect_agrees_in_these_stories(params, story):
    assert steps_seen(Twin(params), story) == steps_seen(Leaf(params), story)


# ---- laws ----


@pytest.mark.parametrize("name", sorted(ALL_RULES))
def test_every_io_is_issued_once_or_dropped_as_padding(name):
    story = random_story(11, 600)
    leaf = Leaf(ALL_RULES[name])
    issued = [io for units, unit, *_ in steps(leaf, story) for io in itertools.chain(*units, unit or [])]
    assert sorted(issued + leaf.dropped) == list(range(len(story)))
    assert all(story[io][-1] & NODATA for io in leaf.dropped)
    assert leaf.queue.n_waiting[0] == leaf.queue.n_pending[0] == 0


@pytest.mark.parametrize("name", sorted(ALL_RULES))
def test_pending_never_exceeds_the_limits(name):
    params = ALL_RULES[name]
    pending = 0
    for units, unit, after, _, _ in steps(Leaf(params), random_story(12, 600)):
        assert after <= params.max_pending
        assert unit is None or after <= params.min_pending
        assert len(units) == 0 or after <= pending + 3 * params.ramp_rate
        pending = after


@pytest.mark.parametrize("name", sorted(RULES))
def test_bytes_in_are_bytes_out_with_gaps_apart(name):
    """A unit is as long as its members and its gaps; only reads from b117 on have gaps."""
    params = RULES[name]
    story = [(*io[:-1], 0) for io in random_story(13, 600)]
    leaf = Leaf(params)
    gaps = 0
    for units, unit, *_ in steps(leaf, story):
        for members in [*units, *([unit] if unit else [])]:
            kind, offset, n_bytes = zip(*(story[io][1:4] for io in members), strict=True)
            span = offset[-1] + n_bytes[-1] - offset[0]
            assert len(set(kind)) == 1
            assert len(members) == 1 or span <= params.aggregation_bytes
            assert span - sum(n_bytes) == 0 or kind[0] == READ
            gaps += span - sum(n_bytes)
    assert leaf.gap_bytes == gaps
    assert (gaps > 0) == (params.read_gap_bytes > 0)


def test_an_older_deadline_is_never_passed_by_a_younger_one():
    """Except in company: what is issued has a member of the earliest deadline, at the lowest offset of it."""
    params = RULES["onnv_69"]
    story = random_story(14, 600, p_padding=0)
    deadline = [(io[4] >> 6) + io[5] for io in story]
    waiting = set()
    for name, (units, unit, *_) in enumerate(steps(Leaf(params), story)):
        for members in units:
            assert min(waiting, key=lambda io: (deadline[io], story[io][2])) in members
            waiting -= set(members)
        waiting |= {name} if name < len(story) else set()
        if unit:
            assert min(waiting, key=lambda io: (deadline[io], story[io][2])) in unit
            waiting -= set(unit)
    assert not waiting


def test_arrivals_keep_four_on_the_device_and_completions_ramp_up_to_35():
    """Spec 3.4: from 4 in flight with a deep queue, k completions give 4 + k, until 35."""
    params = RULES["onnv_69"]
    leaf = Leaf(params)
    pending = []
    for i in range(200):
        leaf.arrive(leaf.io(i, READ, i * 2**20, 8 * K, 0, 0, 0))
        pending.append(int(leaf.queue.n_pending[0]))
    assert pending[:6] == [1, 2, 3, 4, 4, 4]
    assert pending[-1] == 4
    for k in range(1, 60):
        leaf.complete()
        assert leaf.queue.n_pending[0] == min(4 + k, 35)


def test_what_arrives_may_issue_another():
    leaf = queue_of(RULES["onnv_69"], (READ, 3 * 2**20, 8 * K, 0, 0))
    leaf.queue.n_pending[0] -= 1
    assert leaf.arrive(leaf.io(1, READ, 5 * 2**20, 8 * K, 0, 0, 0)) == [0]


def test_one_step_of_priority_is_worth_640_ms():
    """A prefetch of tick 0 sorts ahead of a demand read of tick 448, not of one of tick 384, if it lies higher."""
    for tick, first in ((383, "demand"), (384, "demand"), (447, "demand"), (448, "prefetch")):
        leaf = queue_of(RULES["onnv_69"])
        leaf.arrive(leaf.io("prefetch", READ, 2**30, 8 * K, 0, 6, 0))
        leaf.arrive(leaf.io("demand", READ, 0, 8 * K, tick, 0, 0))
        assert leaf.complete()[0] == [first]


def test_the_sweep_starts_again_at_the_lowest_offset():
    leaf = queue_of(RULES["onnv_69"], *((READ, place * 2**20, 8 * K, 0, 0) for place in (5, 3, 9)))
    assert leaf.complete() == [[1], [0]]
    leaf.arrive(leaf.io("low", READ, 2**20, 8 * K, 0, 0, 0))
    assert leaf.complete() == [["low"], [2]]


def test_the_head_takes_those_in_front_first():
    """Spec 3.5: of eight 32 KiB neighbours, with the head in the middle, the head and the three before it."""
    eight = [(READ, place * 32 * K, 32 * K, 0 if place == 4 else 6, 0) for place in range(8)]
    assert queue_of(RULES["onnv_69"], *eight).complete()[0] == [1, 2, 3, 4]


def test_two_line_fills_merge_and_with_a_gap_do_not_fit():
    """Spec 3.7."""
    def fills(gap):
        return queue_of(RULES["b117"], (READ, 0, 64 * K, 0, 0), (READ, 64 * K + gap, 64 * K, 0, 0)).complete()[0]
    assert fills(0) == [0, 1]
    assert fills(512) == [0]


@pytest.mark.parametrize(("name", "gap", "together"), [
    ("onnv_69", 0, True), ("onnv_69", 512, False), ("b117", 32 * K, True), ("b117", 32 * K + 512, False)])
def test_reads_bridge_gaps_of_32_kib_from_b117_on(name, gap, together):
    leaf = queue_of(RULES[name], (READ, 0, 8 * K, 0, 0), (READ, 8 * K + gap, 8 * K, 6, 0))
    assert leaf.complete()[0] == ([0, 1] if together else [0])


def test_writes_bridge_holes_only_over_padding():
    write, padding, beyond = (WRITE, 0, 8 * K, 4, 0), (WRITE, 8 * K, 512, 4, PADDING), (WRITE, 8 * K + 512, 8 * K, 4, 0)
    assert queue_of(RULES["b141"], write, beyond).complete() == [[0], [1]]
    assert queue_of(RULES["b141"], write, padding, beyond).complete() == [[0, 1, 2]]
    alone = queue_of(RULES["b141"], write, padding)
    assert alone.complete() == [[0]]
    assert alone.state == (4, 0, [1])


def test_a_unit_stretches_to_what_did_not_fit():
    """A full unit keeps its padding at the end if the next write follows within 4 KiB."""
    full, padding = (WRITE, 0, 127 * K, 4, 0), (WRITE, 127 * K, 1 * K, 4, PADDING)
    def then(offset, marks):
        return queue_of(RULES["b141"], full, padding, (WRITE, offset, 8 * K, 4, marks)).complete()[0]
    assert then(128 * K, 0) == [0, 1]
    assert then(128 * K, PADDING) == [0]
    assert then(128 * K + 512, 0) == [0]


def test_scrub_and_ordinary_reads_part_from_b105_on():
    two = (READ, 0, 8 * K, 0, 0), (READ, 8 * K, 8 * K, 20, SCRUB)
    assert queue_of(RULES["b103"], *two).complete() == [[0, 1]]
    assert queue_of(RULES["b117"], *two).complete() == [[0], [1]]


def test_a_full_table_gives_no_io():
    params = VdevQueueParams()
    queue = new_queue(params, 1, 3)
    numbers = [new_io(queue, params, READ, 0, 512, 0, 0, 0) for _ in range(4)]
    assert numbers == [1, 2, 3, NIL]
    release(queue, 2)
    assert new_io(queue, params, READ, 0, 512, 0, 0, 0) == 2


def test_the_last_places_are_for_what_somebody_waits_for():
    """Six on the device, of eight: the oldest is the write, but the fill of b141 goes, and then nothing."""
    params = RULES["b141"]._replace(max_pending=8, reserved_slots=2, min_pending=7)
    leaf = Leaf(params)
    for i in range(7):
        leaf.arrive(leaf.io(i, READ, 2**40 + i * 2**30, 8 * K, 0, 0, 0))
    for name, kind, tick, priority in (("write", WRITE, 0, 4), ("prefetch", READ, 0, 6), ("later", READ, 6400, 0),
                                       ("fill", READ, 640, 1)):
        assert leaf.arrive(leaf.io(name, kind, len(leaf.names) * 2**20, 8 * K, tick, priority, 0)) is None
    assert leaf.complete() == [["fill"], ["later"]]
    assert leaf.complete() == leaf.complete() == []
    assert leaf.complete() == [["write"]]
    assert leaf.complete() == [["prefetch"]]


def test_what_goes_in_a_reserved_place_takes_any_along():
    params = RULES["onnv_69"]._replace(max_pending=5, reserved_slots=4)
    leaf = queue_of(params, (READ, 0, 8 * K, 6, 0), (READ, 8 * K, 8 * K, 0, 0), (WRITE, 16 * K, 8 * K, 4, 0))
    assert leaf.complete() == [[0, 1]]


def test_an_empty_queue_issues_nothing():
    params = VdevQueueParams()
    assert issue(new_queue(params, 2, 3), params, 1, 35) == NIL


# ---- bad values ----


@pytest.mark.parametrize("bad", [{"max_pending": 0}, {"min_pending": -1}, {"ramp_rate": 0}, {"time_shift": -1},
                                 {"aggregation_bytes": -1}, {"read_gap_bytes": 0.5}, {"agreeing_marks": 256},
                                 {"scrub_priority": -1}, {"reserved_slots": 35},
                                 {"reserved_slots": -1}, {"dynamic_pending_ns": -1}, {"dynamic_window": 0}])
def test_bad_parameters_are_one_sentence(bad):
    (name, value), = bad.items()
    with pytest.raises(ValueError, match=f"{name} of the vdev queue is {value}, but .*; choose"):
        new_queue(VdevQueueParams(**bad), 1, 1)


@pytest.mark.parametrize(("name", "value"), [("n_leaves", 0), ("n_ios", 0), ("n_ios", 2**24 + 1), ("n_leaves", 1.5)])
def test_bad_sizes_are_one_sentence(name, value):
    with pytest.raises(ValueError, match=f"{name} is {value}, but .*; choose"):
        new_queue(VdevQueueParams(), **({"n_leaves": 1, "n_ios": 1} | {name: value}))
