"""The allocator of a pool: sizes, turns, weights, copies, when space comes back, logs, gangs."""

import json

import pytest

from drivers.metaslab_stories import STORIES
from model.zfs.eras import ERAS
from model.zfs.metaslab.new_pool import disk_asize, metaslab_shift, new_pool, vdev_asize
from model.zfs.metaslab.state import LOG, TopVdev
from model.zfs.vdev.raid import vdev_params
from support.processes import interpreted

RULES = ERAS["b103"].metaslab


@pytest.fixture(scope="module")
def outcomes():
    """Each story told without the compiler, which would take longer than all of them."""
    return json.loads(interpreted("drivers.metaslab_stories"))


@pytest.mark.parametrize("name", STORIES)
def test_story(outcomes, name):
    assert outcomes[name] is None, outcomes[name]


@pytest.mark.parametrize(("disk_bytes", "shift", "count"), [
    (34 * 10**9, 28, 126), (73 * 10**9, 29, 135), (146 * 10**9, 30, 135), (250 * 10**9, 31, 116), (500 * 10**9, 32, 116),
    (1000 * 10**9, 33, 116)])
def test_metaslabs_of_whole_disks_are_those_of_the_specs_table(disk_bytes, shift, count):
    asize = disk_asize(disk_bytes)
    assert (metaslab_shift(asize), asize >> metaslab_shift(asize)) == (shift, count)


def test_a_metaslab_is_more_than_a_200th_and_no_more_than_a_100th_of_its_vdev():
    borders = [(200 << k) - less for k in range(17, 36) for less in (0, 1)]
    for asize in [*range(2**25, 2**27, 10**6 + 1), *borders]:
        shift = metaslab_shift(asize)
        assert asize // 200 < 1 << shift or shift == 17
        assert 1 << shift <= max(2**17, asize // 100)


def test_space_of_a_vdev_is_that_of_its_smallest_disk_and_of_raidz_of_all():
    disk = 73 * 10**9
    assert disk - disk_asize(disk) - 2**22 - 2**19 in range(2**18)
    assert vdev_asize(vdev_params("mirror", 3), disk) == disk_asize(disk)
    assert vdev_asize(vdev_params("raidz2", 6), disk) == 6 * disk_asize(disk)


@pytest.mark.parametrize(("vdevs", "metaslab_bytes", "says"), [
    ([], None, "the pool has 0 vdevs, but .*; give one"),
    ([TopVdev(asize=2**30, metaslab_class=LOG)], None, "all 1 vdevs of the pool are for the log .*; give one more"),
    ([TopVdev(asize=2**30)], 3 * 2**20, "metaslab size is 3145728 B, but it must be a power of two of at least 131072"),
    ([TopVdev(asize=2**30)], 2**16, "metaslab size is 65536 B, but it must be"),
    ([TopVdev(asize=2**16)], None, "a vdev has 65536 B of space, but a metaslab takes 131072; give it larger disks"),
])
def test_a_pool_that_cannot_be_is_one_sentence(vdevs, metaslab_bytes, says):
    with pytest.raises(ValueError, match=says):
        new_pool(vdevs, RULES, metaslab_bytes=metaslab_bytes)
