"""The vdev queue of OpenZFS: against its naive twin, against laws, and with defects that must be noticed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.structures.sentinels import NIL
from model.zfs.eras import ERAS
from model.zfs.vdev.queue import READ, WRITE, new_io, release, take_dropped
from model.zfs.vdev.queue_aggregation import NODATA, OPTIONAL
from model.zfs.vdev.queue_classes import (
    ASYNC_READ,
    ASYNC_WRITE,
    N_CLASSES,
    SCRUB_CLASS,
    SYNC_READ,
    SYNC_WRITE,
    ClassParams,
    arrive_in_class,
    async_writes,
    check_classes,
    class_of,
    complete_in_class,
    max_issued,
    new_class_queue,
    new_class_state,
)
from twins.queue_classes import DEFECTS, TwinOfClassQueue

pytestmark = pytest.mark.interpreted

K = 1024
PARAMS = ERAS["openzfs"].queue._replace(aggregation_bytes=32 * K, read_gap_bytes=4 * K)
SMALL = ClassParams(1, (2, 1, 1, 1, 1), (3, 2, 2, 3, 3), 7, delay=2)  # limits that a short story reaches
EARLY, LATE = SMALL, SMALL._replace(takes_turns=1)
KINDS = {SYNC_READ: READ, SYNC_WRITE: WRITE, ASYNC_READ: READ, ASYNC_WRITE: WRITE, SCRUB_CLASS: READ}
LEAF, N_LEAVES = 1, 2  # of the leaf in these stories: the other one stays at rest


class Leaf:
    """The kernels, called as the twin is."""

    def __init__(self, classes, n_ios=512):
        self.classes, self.state = classes, new_class_state(N_LEAVES)
        self.queue = new_class_queue(PARAMS, classes, N_LEAVES, n_ios)
        self.issued, self.names, self.units = np.zeros(max_issued(classes), np.int64), {}, []

    def _unit(self, unit):
        io, members = unit, []
        while io != NIL:
            members.append(self.names[io])
            io = int(self.queue.next_member[io])
        self.units.append(unit)
        return members, class_of(self.queue, unit)

    def arrive(self, name, kind, offset, n_bytes, which, now, n_async_writes, marks=0):
        io = new_io(self.queue, PARAMS, kind, offset, n_bytes, now // 10**7, which, marks)
        self.names[io] = name
        unit = arrive_in_class(self.queue, PARAMS, self.classes, self.state, LEAF, io, now, n_async_writes)
        return [self._unit(int(unit))] if unit != NIL else []

    def complete(self, place, n_async_writes):
        unit = self.units.pop(place)
        n = complete_in_class(self.queue, PARAMS, self.classes, self.state, LEAF, unit, self.issued, n_async_writes)
        issued, io = self.issued[:n].tolist(), unit
        while io != NIL:
            io = release(self.queue, io)
        return [self._unit(unit) for unit in issued]


def issued_by_both(story, classes, defect=None):
    """What the leaf and the twin issue: two lists."""
    leaf, twin, running = Leaf(classes), TwinOfClassQueue(PARAMS, classes, defect), []
    ours, theirs, now = [], [], 0
    for name, (completes, which, place, n_bytes, later, n_async_writes) in enumerate(story):
        now += later * 2**28
        if completes and running:
            at = completes % len(running)
            twins = running.pop(at)
            mine, others = leaf.complete(at, n_async_writes), twin.complete(twins, n_async_writes)
        else:
            row = (name, KINDS[which], place * 4 * K, n_bytes, which, now, n_async_writes)
            mine, others = leaf.arrive(*row), twin.arrive(*row)
        running += [which for _, which in others]
        ours.append(mine)
        theirs.append(others)
        if mine != others:
            break
    return ours, theirs


events = st.tuples(st.sampled_from([0, 0, 0, 1, 2, 5]), st.sampled_from([0, 0, 1, 2, 3, 3, 3, 4, 4]), st.integers(0, 24),
                   st.sampled_from([4 * K, 4 * K, 8 * K]), st.sampled_from([0, 0, 0, 1]), st.sampled_from([1, 1, 2, 3]))


def stories(n=120, length=160):
    rng = np.random.default_rng(20261122)
    for i in range(n):
        draw = rng.integers(0, 2**30, (length, 6))
        often = [0, 0, 1, 2, 3, 3, 3, 4, 4] if i % 2 else [0, *[4] * 8]  # the latter: a scrub, and seldom anything else
        yield [([0, 0, 0, 1, 2, 5][a % 6], often[b % 9], int(c % 25), [4, 4, 8][d % 3] * K,
                [0, 0, 0, 1][e % 4], [1, 1, 2, 3][f % 4]) for a, b, c, d, e, f in draw.tolist()]


@pytest.mark.slow
@pytest.mark.parametrize("classes", [EARLY, LATE], ids=["2013", "since 2020"])
@settings(deadline=None, derandomize=True, max_examples=60)
@given(story=st.lists(events, max_size=80))
def test_decides_as_its_twin(classes, story):
    ours, theirs = issued_by_both(story, classes)
    assert ours == theirs


@pytest.mark.slow
@pytest.mark.parametrize("defect", DEFECTS)
def test_every_defect_is_noticed(defect):
    assert any(ours != theirs for story in stories() for ours, theirs in
               (issued_by_both(story, classes, defect) for classes in (EARLY, LATE)))


# ---- laws ----


def _full(classes, n_async_writes=10):
    """A leaf to which more of every class have come, far apart, than it may have on the device."""
    leaf = Leaf(classes)
    for i in range(40):
        for which in KINDS:
            leaf.arrive(5 * i + which, KINDS[which], (5 * i + which) * 2**20, 4 * K, which, 0, n_async_writes)
    return leaf


def _active(leaf):
    return leaf.queue.n_pending[LEAF * N_CLASSES:(LEAF + 1) * N_CLASSES].tolist()


@pytest.mark.parametrize("era", ["openzfs_2013", "openzfs_2017", "openzfs_2019", "openzfs_2021", "openzfs"])
def test_each_class_has_its_greatest_number_on_the_device(era):
    """zfs(4): 10 sync reads, 10 sync writes, 3 async reads, as many async writes as may be; a scrub beside others has what
    is left of its credit."""
    active = _active(_full(ERAS[era].classes, 7))
    assert active[:SCRUB_CLASS] == [10, 10, 3, 7]
    assert active[SCRUB_CLASS] == (1 if ERAS[era].classes.takes_turns else 2)


def test_no_more_than_max_active_are_on_the_device():
    classes = ERAS["openzfs"].classes._replace(max_active=24)
    assert sum(_active(_full(classes))) == 24


def test_least_numbers_come_before_order():
    """With few places, a class that lacks its least number has its turn before one that comes first."""
    leaf = Leaf(EARLY._replace(max_active=6))
    for i in range(8):
        leaf.arrive(i, READ, i * 2**20, 4 * K, SYNC_READ, 0, 3)
    for i in range(8, 16):
        leaf.arrive(i, WRITE, i * 2**20, 4 * K, ASYNC_WRITE, 0, 3)
    assert _active(leaf)[SYNC_READ] == 3
    assert _active(leaf)[ASYNC_WRITE] == 3


@pytest.mark.parametrize(("dirty_pct", "n"), [(0, 2), (29, 2), (30, 2), (45, 6), (60, 10), (61, 10), (100, 10)])
def test_async_writes_are_a_ramp(dirty_pct, n):
    """zfs(4), zfs_vdev_async_write_active_min_dirty_percent and its like."""
    assert async_writes(ERAS["openzfs"].classes, 2**32 // 100 * dirty_pct, 2**32 // 100 * 100) == n


def _write(leaf, name, offset, n_bytes=4 * K, marks=0):
    return leaf.arrive(name, WRITE, offset, n_bytes, ASYNC_WRITE, 0, 1, marks)


def test_padding_bridges_a_hole_and_is_written_with_what_is_around_it():
    leaf = Leaf(SMALL)
    assert _write(leaf, "first", 10**6) == [(["first"], ASYNC_WRITE)]
    assert _write(leaf, "left", 0) == _write(leaf, "padding", 4 * K, marks=OPTIONAL | NODATA) == []
    assert _write(leaf, "right", 8 * K) == []
    assert leaf.complete(0, 1) == [(["left", "padding", "right"], ASYNC_WRITE)]
    assert take_dropped(leaf.queue, LEAF * N_CLASSES) == NIL


def test_padding_left_alone_is_done_with_and_what_follows_goes_in_its_place():
    leaf = Leaf(SMALL)
    _write(leaf, "first", 10**6)
    assert _write(leaf, "padding", 2 * 10**6, marks=OPTIONAL | NODATA) == _write(leaf, "next", 3 * 10**6) == []
    assert leaf.complete(0, 1) == [(["next"], ASYNC_WRITE)]
    assert leaf.names[int(take_dropped(leaf.queue, LEAF * N_CLASSES))] == "padding"
    assert not leaf.queue.n_waiting.any()


def test_padding_does_not_count_for_the_length_of_a_unit_from_change_8005_on():
    for params, n_bytes_of_unit in ((PARAMS, 36 * K), (PARAMS._replace(bridges_beyond=0), 32 * K)):
        queue, state = new_class_queue(params, SMALL, 1, 8), new_class_state(1)
        arrive = [new_io(queue, params, WRITE, offset, n_bytes, 0, ASYNC_WRITE, marks) for offset, n_bytes, marks in
                  ((10**6, 4 * K, 0), (0, 32 * K, 0), (32 * K, 4 * K, OPTIONAL | NODATA), (36 * K, 4 * K, 0))]
        units = [arrive_in_class(queue, params, SMALL, state, 0, io, 0, 1) for io in arrive]
        issued = np.zeros(max_issued(SMALL), np.int64)
        assert units == [arrive[0], NIL, NIL, NIL]
        assert complete_in_class(queue, params, SMALL, state, 0, arrive[0], issued, 1) == 1
        assert issued[0] == arrive[1]
        assert queue.unit_bytes[arrive[1]] == n_bytes_of_unit


def test_a_pool_that_was_built_before_2013_has_no_classes():
    assert [name for name in ERAS if ERAS[name].classes.exist] == [name for name in ERAS if name.startswith("openzfs")]


@pytest.mark.parametrize("wrong", [ClassParams(1, min_per_class=(1, 1, 1)), ClassParams(1, max_per_class=(1, 1, 0, 1, 1)),
                                   ClassParams(1, max_active=5)])
def test_what_cannot_be_is_one_sentence(wrong):
    with pytest.raises(ValueError, match=r"^[^.]*; [^.]*$"):
        check_classes(wrong)
