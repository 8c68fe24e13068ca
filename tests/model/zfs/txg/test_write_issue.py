"""Threads that make blocks ready for the disks: what the specification says of each build."""

import pytest

from model.zfs.eras import ERAS, era
from model.zfs.txg.write_issue import n_threads


@pytest.mark.parametrize(("name", "cpus", "of_data", "of_compressed"), [
    ("onnv_69", 16, 1, 8), ("onnv_69", 4, 1, 4), ("onnv_79", 16, 8, 8), ("b111", 4, 4, 4), ("b111", 64, 8, 8),
    ("b117", 64, 51, 51), ("b141", 8, 6, 6), ("b141", 1, 1, 1)])
def test_threads_of_a_build(name, cpus, of_data, of_compressed):
    issue = era(name).issue
    assert (n_threads(issue, cpus, False), n_threads(issue, cpus, True)) == (of_data, of_compressed)


@pytest.mark.parametrize("name", ERAS)
@pytest.mark.parametrize("is_compressed", [False, True])
def test_more_processors_are_never_fewer_threads_and_no_more_than_there_are(name, is_compressed):
    threads = [n_threads(era(name).issue, cpus, is_compressed) for cpus in range(1, 200)]
    assert threads == sorted(threads)
    assert all(1 <= n <= cpus for cpus, n in enumerate(threads, 1))
