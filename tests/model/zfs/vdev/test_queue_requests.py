"""Requests at times of their own through the vdev queue, against its twin before a device in plain Python."""
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.zfs.eras import era
from model.zfs.vdev import queue_requests
from model.zfs.vdev.queue import READ, WRITE
from model.zfs.vdev.queue_requests import AFTER, BEFORE, HELD_BACK
from twins.queue import TwinOfVdevQueue

SECTOR, MS, ALWAYS = 512, 10**6, np.iinfo(np.int64).max
STORY = st.lists(st.tuples(st.integers(0, 12 * MS), st.sampled_from([READ, WRITE]), st.integers(0, 300), st.integers(1, 40)),
                 max_size=60)


def through(story, build, service_ns, n_ios=1000):
    params = era(build).queue
    device = queue_requests.new_device(params, n_ios)
    time_ns = np.cumsum(np.array([gap for gap, *_ in story], np.int64))
    kind, place, n = np.array(story, np.int64).reshape(-1, 4)[:, 1:].T.copy()
    half = len(time_ns) // 2
    for part in (slice(0, half), slice(half, None)):
        queue_requests.run(device, params, service_ns, time_ns[part], kind[part], place[part] * 8 * SECTOR, n[part] * SECTOR)
    queue_requests.finish(device, params, service_ns, ALWAYS)
    return device


def by_twin(story, build, service_ns):
    """{(kind, BEFORE or AFTER): sizes in B, in order}"""
    twin, on_device, free_at, now = TwinOfVdevQueue(era(build).queue), [], 0, 0
    sizes = {(kind, when): [] for kind in (READ, WRITE) for when in (BEFORE, AFTER)}

    def start(unit, at):
        nonlocal free_at
        free_at = free_at if on_device else at + service_ns
        on_device.append(unit)
        sizes[unit[0].kind, AFTER].append(max(io.end for io in unit) - unit[0].offset)

    def finish(until):
        nonlocal free_at
        while on_device and free_at <= until:
            at = free_at
            on_device.pop(0)
            free_at += service_ns
            for unit in twin.complete():
                start(unit, at)

    for name, (gap, kind, place, n) in enumerate(story):
        now += gap
        finish(now)
        sizes[kind, BEFORE].append(n * SECTOR)
        unit = twin.arrive(twin.io(name, kind, place * 8 * SECTOR, n * SECTOR, now // 10**7, 0, 0))
        if unit:
            start(unit, now)
    finish(ALWAYS)
    return sizes


@settings(deadline=None)
@given(STORY, st.sampled_from(["onnv_69", "b103", "b117", "b141"]), st.sampled_from([1, MS, 7 * MS, 60 * MS]))
def test_units_are_those_of_the_twin(story, build, service_ns):
    device = through(story, build, service_ns)
    for (kind, when), sizes in by_twin(story, build, service_ns).items():
        assert device.n_bytes[kind, when] == sum(sizes)
        powers = np.bincount([size.bit_length() - 1 for size in sizes], minlength=queue_requests.N_SIZES)
        assert device.counts[kind, when].tolist() == powers.tolist()


def neighbours(gap_ns, n=100):
    return [(gap_ns, READ, 2 * i, 16) for i in range(n)]


def test_an_idle_device_gets_each_request_by_itself():
    device = through(neighbours(2 * MS), "b141", MS)
    assert device.counts[READ, AFTER].sum() == device.counts[READ, BEFORE].sum() == 100


def test_what_waits_and_touches_goes_together_up_to_128_kib():
    device = through(neighbours(0, 1004), "onnv_69", MS)
    assert device.counts[READ, AFTER, 17] == (1004 - 4) // 16
    assert device.n_bytes[READ, AFTER] == device.n_bytes[READ, BEFORE]


@pytest.mark.parametrize("n_ios", [1, 5, 50])
def test_requests_that_find_no_room_are_held_back_and_none_is_lost(n_ios):
    device = through([(0, READ, 100 * i, 16) for i in range(200)], "b141", MS, n_ios)
    assert device.now[HELD_BACK] == 200 - n_ios
    assert device.n_bytes[READ, AFTER] == device.n_bytes[READ, BEFORE] == 200 * 8192
