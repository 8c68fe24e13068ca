"""Laws of the vdev queue with what was never built: reserved places, and a limit that each disk sets."""
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivers.queue_rules import MS, RULES, K, ios, queue_of, quick, what_if
from drivers.queue_stories import Leaf, random_story, steps_seen
from model.zfs.eras import ERAS
from model.zfs.vdev import control_columns as window
from model.zfs.vdev.queue import (
    READ,
    WRITE,
)

pytestmark = pytest.mark.interpreted


# ---- laws of what was never built ----


@pytest.mark.slow
def test_no_era_has_what_was_never_built():
    assert not any(era.queue.reserved_slots or era.queue.dynamic_pending_ns for era in ERAS.values())


def of_priority(priority, story):
    return [(*io[:5], priority, io[6]) for io in story]


@quick
@given(st.lists(ios, max_size=60), what_if)
def test_reserved_places_do_not_matter_to_what_somebody_waits_for(story, params):
    story = of_priority(0, story)
    assert steps_seen(Leaf(params), story) == steps_seen(Leaf(params._replace(reserved_slots=0)), story)


@quick
@given(st.lists(ios, max_size=60), what_if)
def test_to_all_else_reserved_places_are_places_less(story, params):
    params = params._replace(dynamic_pending_ns=0, min_pending=1)
    fewer = params._replace(max_pending=params.max_pending - params.reserved_slots, reserved_slots=0)
    assert steps_seen(Leaf(params), of_priority(4, story)) == steps_seen(Leaf(fewer), of_priority(4, story))


@quick
@given(st.lists(ios, max_size=60), what_if)
def test_places_that_are_never_the_last_ones_left_change_nothing(story, params):
    params = params._replace(dynamic_pending_ns=0, max_pending=200)
    assert steps_seen(Leaf(params), story) == steps_seen(Leaf(params._replace(reserved_slots=0)), story)


@quick
@given(st.lists(ios, max_size=60), what_if)
def test_a_time_on_the_device_that_is_never_exceeded_changes_nothing(story, params):
    params = params._replace(dynamic_pending_ns=2**40)
    assert steps_seen(Leaf(params), story) == steps_seen(Leaf(params._replace(dynamic_pending_ns=0)), story)


@pytest.mark.parametrize("reserved", [1, 3, 6])
def test_units_that_nobody_waits_for_leave_the_reserved_places_alone(reserved):
    params = RULES["onnv_69"]._replace(max_pending=8, reserved_slots=reserved)
    story = random_story(15, 600, n_places=2000, p_padding=0)
    assert max(asynchronous_on_device(params, story)) == 8 - reserved


def asynchronous_on_device(params, story):
    """After each event: units on the device without a member that somebody waits for."""
    leaf, on_device = Leaf(params), []
    for name, (n_completions, *io) in enumerate(story):
        for _ in range(min(n_completions, len(on_device))):
            on_device = on_device[1:] + leaf.complete()
            yield sum(all(story[io][5] > 0 for io in unit) for unit in on_device)
        unit = leaf.arrive(leaf.io(name, *io))
        on_device += [unit] if unit else []
        yield sum(all(story[io][5] > 0 for io in unit) for unit in on_device)


def test_the_oldest_write_waits_while_reads_fill_the_places_and_goes_when_they_stop():
    """Without reserved places it goes at the next completion, as its deadline is long over."""
    for reserved in (1, 0):
        params = RULES["onnv_69"]._replace(max_pending=6, reserved_slots=reserved)
        leaf = queue_of(params, *((READ, place * 2**20, 8 * K, 0, 0) for place in range(10)))
        leaf.arrive(leaf.io("write", WRITE, 0, 8 * K, 0, 4, 0))
        for completion in range(100):
            for number in range(2):
                leaf.arrive(leaf.io(f"{completion} {number}", READ, (20 + number) * 2**20, 8 * K, 1000 + completion, 0, 0))
            issued = leaf.complete()
            if ["write"] in issued:
                break
        assert (completion == 99) == (reserved == 1)
        rest = itertools.chain(*(leaf.complete() for _ in range(300)))
        assert (["write"] in rest) == (reserved == 1)
        assert leaf.queue.n_waiting[0] == 0


@pytest.mark.slow
@pytest.mark.parametrize(("service_ms", "ends_at"), [(1, 35), (5, 20), (8, 12), (30, 4), (100, 4)])
def test_places_settle_where_littles_law_says(service_ms, ends_at):
    """One at a time, each in the same time, with always more to do: units are there for places times that time. So the
    places end where that is 100 ms, or one more; never below `min_pending` or above `max_pending`."""
    params = RULES["onnv_69"]._replace(dynamic_pending_ns=100 * MS)
    leaf = Leaf(params)
    for i in range(20):
        leaf.arrive(leaf.io(i, READ, i * 2**20, 8 * K, 0, 0, 0), 0)
    places = []
    for now in range(2000):
        for number in range(2):
            leaf.arrive(leaf.io((now, number), READ, number * 2**20, 8 * K, 0, 0, 0), (now + 1) * service_ms * MS)
        leaf.complete(now=(now + 1) * service_ms * MS)
        places.append(int(leaf.queue.control[0, window.PLACES]))
    assert set(places[-500:]) == ({ends_at} if ends_at in (4, 35) else {ends_at, ends_at + 1})
    assert all(abs(after - before) <= 1 for before, after in itertools.pairwise(places))


def test_a_leaf_with_little_to_do_keeps_its_places():
    """Nothing waits for a place, so none is added; and a short time on the device takes none away."""
    params = RULES["onnv_69"]._replace(dynamic_pending_ns=30 * MS, dynamic_window=4)
    leaf = Leaf(params)
    for i in range(400):  # a slow burst first
        leaf.arrive(leaf.io(i, READ, i % 50 * 2**20, 8 * K, 0, 0, 0), i * 5 * MS)
    now = 2000 * MS
    while leaf.queue.n_pending[0]:
        now += 9 * MS
        leaf.complete(now=now)
    before = int(leaf.queue.control[0, window.PLACES])
    assert before < 35
    for i in range(400):
        leaf.arrive(leaf.io(i, READ, 0, 8 * K, 0, 0, 0), now)
        leaf.complete(now=now + 9 * MS)
        now += 20 * MS
    assert leaf.queue.control[0, window.PLACES] == before
