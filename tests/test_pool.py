"""A pool hands commands to the driver of a disk, which keeps them in order while the drive is busy."""
import numpy as np
import pytest

from model.data_sheet import SheetParams, new_drive
from model.drive_queue import N_COMMANDS
from model.pool import disk_done, new_pool, new_recorder, read_block, start_disk, to_queue
from model.vdev_cache import VdevCacheParams
from model.vdev_queue import VdevQueueParams


def served(places, queue=None, **disk):
    """MiB at which reads begin that all come at once, in the order in which they are served."""
    pool = new_pool(1, VdevCacheParams(max_read_bytes=1), queue or VdevQueueParams(min_pending=35),
                    new_drive(SheetParams(**disk)), np.zeros(1, np.int64), 16, 16, new_recorder())
    for task, place in enumerate(places):
        _, io = read_block(pool, 0, place * 2**20, 2**17, 0, task)
        to_queue(pool, 0, io)
    now, order = 0, []
    while pool.drives.units[0, N_COMMANDS]:
        now = start_disk(pool, now, 0)
        order.append(int(pool.queue.offset[disk_done(pool, now, 0)]) >> 20)
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
