"""A pool hands commands to the driver of a disk, which keeps them in order while the drive is busy."""
import numpy as np
import pytest

from model.devices import drive_columns as queued
from model.devices.data_sheet import SheetParams, new_drive
from model.events.streams import stream
from model.zfs.vdev.cache import VdevCacheParams
from model.zfs.vdev.leaves import disk_done, new_leaves, new_recorder, read_block, release_io, start_disk, to_queue
from model.zfs.vdev.queue import VdevQueueParams

pytestmark = pytest.mark.interpreted


def served(places, queue=None, **disk):
    """MiB at which reads begin that all come at once, in the order in which they are served."""
    leaves = new_leaves(1, VdevCacheParams(max_read_bytes=1), queue or VdevQueueParams(min_pending=35),
                    new_drive(SheetParams(**disk)), np.zeros(1, np.int64), 16, 16, new_recorder())
    for task, place in enumerate(places):
        _, io = read_block(leaves, 0, place * 2**20, 2**17, 0, task)
        to_queue(leaves, 0, io)
    now, order = 0, []
    while leaves.drives.units[0, queued.N_COMMANDS]:
        now = start_disk(leaves, now, 0)
        order.append(int(leaves.queue.offset[disk_done(leaves, now, 0)]) >> 20)
    return order


@pytest.mark.parametrize(("sorts", "order"), [(0, [50, 40, 30, 20]), (1, [50, 40, 20, 30])])
def test_what_waits_is_in_the_order_of_the_driver(sorts, order):
    """20 and 30 are below what waits first, 40."""
    assert served((50, 40, 30, 20), sorts=sorts) == order


@pytest.mark.parametrize(("came", "row"), [(55, [5, 30, 40, 55, 70, 10, 20]), (25, [5, 30, 40, 70, 10, 20, 25]),
                                           (15, [5, 30, 40, 70, 10, 15, 20]), (80, [5, 30, 40, 70, 80, 10, 20]),
                                           (1, [5, 30, 40, 70, 1, 10, 20])])
def test_nobody_goes_in_front_of_the_head(came, row):
    assert served((5, 30, 40, 70, 20, 10, came)) == row


def test_the_next_command_is_with_the_drive_before_the_queue_issues_more():
    """The queue holds back 10 until 5 is done. By then the drive has 30, so 40 is the head, and 10 is below it."""
    assert served((5, 30, 40, 10), VdevQueueParams(max_pending=3, min_pending=3)) == [5, 30, 40, 10]
    assert served((5, 30, 10), VdevQueueParams(max_pending=2, min_pending=2)) == [5, 30, 10]


# ---- theory: an open queue ----

SERVICE_NS, BATCHES = 8 * 10**6, 20


def responses(arrivals, drawn_ns):
    """Response times (ns) of reads at random places, in the order in which they come to one leaf, with drawn services."""
    n, ends, taken_ns = len(arrivals), None, np.zeros(len(arrivals), np.int64)
    leaves = new_leaves(1, VdevCacheParams(max_read_bytes=1), VdevQueueParams(aggregation_bytes=0),
                    new_drive(SheetParams(), drawn_ns), np.zeros(1, np.int64), 2**10, n, new_recorder())
    places = (stream(3, "places").random(n) * 2**20).astype(np.int64) * 8192
    for task, now in enumerate([*arrivals.tolist(), int(arrivals[-1]) + 10**13]):
        while ends is not None and ends <= now:
            io = disk_done(leaves, ends, 0)
            taken_ns[leaves.owner[io]] = ends - arrivals[leaves.owner[io]]
            release_io(leaves, io)
            ends = start_disk(leaves, ends, 0) if leaves.drives.units[0, queued.N_COMMANDS] else None
        if task < n:
            _, io = read_block(leaves, now, int(places[task]), 8192, 0, task)
            if to_queue(leaves, now, io) == 0:
                ends = start_disk(leaves, now, 0)
    return taken_ns


def agrees_with_mm1(load, drawn_ns, n=8_000):
    """Whether 1 / (mu - lambda) lies within 99.9 % confidence limits of the mean response time (batches; Student, 19)."""
    arrivals = np.cumsum(-np.log1p(-stream(1, "arrivals").random(n)) * SERVICE_NS / load).astype(np.int64)
    batches = responses(arrivals, drawn_ns)[n // 10:].reshape(BATCHES, -1).mean(axis=1)
    limit = 3.88 * batches.std(ddof=1) / np.sqrt(BATCHES)
    assert limit < 0.15 * batches.mean()
    return abs(batches.mean() - SERVICE_NS / (1 - load)) < limit


@pytest.mark.slow
def test_an_open_queue_with_exponential_services_is_mm1():
    assert agrees_with_mm1(0.5, (-np.log1p(-stream(5, "services").random(2**16)) * SERVICE_NS).astype(np.int64))


@pytest.mark.slow
def test_services_that_are_all_the_same_are_not_mm1():
    assert not agrees_with_mm1(0.5, np.full(16, SERVICE_NS))
