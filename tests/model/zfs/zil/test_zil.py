"""The intent log, against a twin written from the spec, closed forms, and laws that hold whatever comes. Group commit by
itself: `test_group_commit`."""

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.zil import Machine
from model.events.streams import stream
from model.zfs.eras import ERAS, era
from model.zfs.zil import columns as intent
from model.zfs.zil import log as zil_log
from model.zfs.zil.commit import commit, written
from model.zfs.zil.log import ZilParams, ZilSettings
from support.processes import interpreted

KiB = 1024
ERA_NAMES = sorted(ERAS)

writes = st.tuples(st.just("write"), st.integers(1, 3), st.integers(0, 2), st.just(128 * KiB),
                   st.sampled_from([1, 100, 8 * KiB, 32 * KiB, 32 * KiB + 1, 128 * KiB]), st.integers(0, 2))
others = st.tuples(st.just("record_other"), st.integers(0, 100))
commits = st.tuples(st.just("commit"), st.integers(0, 3), st.integers(0, 5))
completions = st.tuples(st.just("complete"), st.integers(0, 5), st.integers(0, 2))
operations = st.one_of(writes, writes, commits, commits, others, completions, completions, st.just(("sync",)))
scripts = st.lists(operations, max_size=50)
all_settings = st.builds(ZilSettings, *[st.integers(0, 1)] * 2, st.sampled_from([0] * 9 + [1]), st.integers(0, 1))


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.sampled_from(ERA_NAMES), all_settings, st.sampled_from([(0,), (-1,), (3, 1, 4, 1, 5)]), scripts)
def test_model_and_twin_agree_and_keep_what_they_promise(name, of_pool, drawn, script):
    """The machine compares every answer, and checks that nobody goes on before its entries are on disk."""
    machine = Machine(era(name).zil, of_pool, drawn)
    for operation, *arguments in script:
        getattr(machine, operation)(*arguments)
    machine.drain()
    logged = machine.twin.logged
    assert len(set(logged)) == len(logged)
    assert not set(logged) & machine.twin.dropped
    left = {entry.sequence for entry in machine.twin.entries}
    assert set(logged) | machine.twin.dropped | left == set(range(1, machine.twin.newest + 1))
    assert not machine.zil.logs[1, intent.IS_FULL]


PLAIN = ZilSettings()


def grouped(params, n, of_pool=PLAIN, rounds=25, n_bytes=8 * KiB):
    """Blocks of the last of many commits of `n` writes each: [(B allocated, B written)]."""
    log = zil_log.new_zil(n_entries=200, n_blocks=256)
    blocks = []
    for txg in range(1, rounds + 1):
        for i in range(n):
            zil_log.record(log, params, of_pool, 0, 1, i, n_bytes, n_bytes, zil_log.O_DSYNC, txg)
        assert not commit(log, params, of_pool, 0, 1, 0, txg)
        if txg == 1:
            log.logs[0, intent.PHASE], log.logs[0, intent.WRITER] = zil_log.IDLE, zil_log.NOBODY  # the chain is there
            commit(log, params, of_pool, 0, 1, 0, txg)
        rows = log.outbox[:log.n_out[0]].tolist()
        blocks.append([(int(log.chain[0, row[2], intent.BYTES]), row[1]) for row in rows])
        for row in rows:
            written(log, params, of_pool, 0, row[2], txg)
        assert log.released[:log.n_released[0]].tolist() == [0]
    return blocks


SIZES = [(1, 12, 12, 12), (2, 20, 36, 20), (3, 28, 36, 28), (4, 36, 36, 36), (8, 68, 128, 68), (15, 124, 128, 124)]


@pytest.mark.parametrize(("n", "old", "allocated", "transferred"), SIZES)
def test_blocks_of_grouped_writes_of_8_kib_have_the_sizes_of_spec_6_4(n, old, allocated, transferred):
    assert grouped(era("onnv_69").zil, n)[-1] == [(old * KiB, old * KiB)]
    assert grouped(era("b141").zil, n)[-1] == [(allocated * KiB, transferred * KiB)]


def test_the_first_block_of_all_is_small_and_nearly_empty():
    assert grouped(era("onnv_69").zil, 1)[0] == [(4 * KiB, 4 * KiB), (12 * KiB, 12 * KiB)]


def test_pointing_costs_one_small_block_for_twenty_writes():
    """Spec 6.6: with logbias of throughput 192 B an entry, after the block of the file."""
    params, of_pool = era("b141").zil, ZilSettings(throughput=1, has_log_device=1)
    log = zil_log.new_zil(n_entries=200)
    for i in range(20):
        zil_log.record(log, params, of_pool, 0, 1, i, 128 * KiB, 8 * KiB, zil_log.O_DSYNC, 1)
    slot = zil_log.new_block(log, 0, 4 * KiB, zil_log.MAIN, 1)
    commit(log, params, of_pool, 0, 1, 0, 1)
    rows = log.outbox[:log.n_out[0]].tolist()
    assert rows[:20] == [[1, 128 * KiB, 1, i, 1] for i in range(20)]
    assert [row[:4] for row in rows[20:]] == [[0, 4 * KiB, slot, slot + 1]]
    assert log.chain[0, slot + 1, intent.DEVICE] == zil_log.MAIN


@pytest.mark.parametrize(("name", "n_bytes", "opened", "of_pool", "way"), [
    ("onnv_69", 32768, zil_log.O_DSYNC, ZilSettings(), zil_log.COPIED),
    ("onnv_69", 32768, zil_log.O_SYNC, ZilSettings(), zil_log.NEED_COPY),
    ("b103", 32768, zil_log.O_SYNC, ZilSettings(), zil_log.COPIED),
    ("b103", 32768, zil_log.NOT_SYNC, ZilSettings(), zil_log.NEED_COPY),
    ("b103", 32769, zil_log.O_DSYNC, ZilSettings(), zil_log.INDIRECT),
    ("b103", 32769, zil_log.O_DSYNC, ZilSettings(has_log_device=1), zil_log.COPIED),
    ("b103", 8192, zil_log.O_DSYNC, ZilSettings(throughput=1), zil_log.COPIED),
    ("b141", 8192, zil_log.O_DSYNC, ZilSettings(throughput=1), zil_log.INDIRECT),
    ("b141", 8192, zil_log.O_DSYNC, ZilSettings(throughput=1, has_log_device=1), zil_log.INDIRECT),
    ("b141", 131072, zil_log.O_DSYNC, ZilSettings(has_log_device=1), zil_log.COPIED),
])
def test_how_data_comes_into_the_log_is_spec_6_2(name, n_bytes, opened, of_pool, way):
    assert zil_log.way_of(era(name).zil, of_pool, n_bytes, opened) == way


def ways_on_zvol(name, settings, block, offset, n_bytes):
    """Which pieces of a write to a zvol are written where they belong: a naive walk along its bytes, for each build as its
    `zvol_log_write` goes."""
    ways, at, end, whole = [], offset, offset + n_bytes, n_bytes
    has_slog, throughput = settings.has_log_device, settings.throughput
    while at < end:
        piece, left = min(block - at % block, end - at), end - at
        if name == "b103":
            ways.append(left > 32768)
        elif name == "b141":
            is_whole = at % block == 0 and left >= block
            ways.append(is_whole and (block > 0 if throughput else block > 32768 and not has_slog))
        else:
            ways.append(bool(throughput or (not has_slog and whole >= block > 32768)))
        at += piece
    return ways


@pytest.mark.parametrize("name", ["b103", "b141", "openzfs"])
@pytest.mark.parametrize("has_slog", [0, 1])
@pytest.mark.parametrize("throughput", [0, 1])
def test_what_a_zvol_logs_is_as_a_walk_along_its_bytes_says(name, has_slog, throughput):
    of_pool, params = ZilSettings(has_log_device=has_slog, throughput=throughput), era(name).zil
    for block in (4096, 8192, 32768, 65536, 131072):
        for offset, n_bytes in ((0, 8192), (4096, 8192), (0, block), (0, 2 * block), (0, 3 * block + 8192), (8192, block)):
            ways, at = [], offset
            while at < offset + n_bytes:
                piece = min(block - at % block, offset + n_bytes - at)
                way = zil_log.way_on_zvol(params, of_pool, block, piece, offset + n_bytes - at, n_bytes, zil_log.NOT_SYNC)
                ways.append(way == zil_log.INDIRECT)
                assert way in (zil_log.INDIRECT, zil_log.NEED_COPY)
                at += piece
            assert ways == ways_on_zvol(name, of_pool, block, offset, n_bytes)


@pytest.mark.parametrize(("name", "way"), [("b103", zil_log.NEED_COPY), ("b141", zil_log.COPIED),
                                           ("openzfs", zil_log.COPIED)])
def test_a_write_that_is_synchronous_is_copied_at_once_since_2009(name, way):
    assert zil_log.way_on_zvol(era(name).zil, PLAIN, 8192, 8192, 8192, 8192, zil_log.O_DSYNC) == way


def test_too_much_data_for_one_block_becomes_entries_of_64_kib():
    log, of_pool = zil_log.new_zil(), ZilSettings(has_log_device=1)
    assert zil_log.record(log, ZilParams(), of_pool, 0, 1, 0, 2**17, zil_log.MAX_DATA, zil_log.O_DSYNC, 1) == 1
    assert zil_log.record(log, ZilParams(), of_pool, 0, 1, 0, 2**17, 2**17, zil_log.O_DSYNC, 1) == 3


def test_room_is_counted_in_entries():
    log = zil_log.new_zil(n_entries=3)
    assert zil_log.has_room(log, 3)
    zil_log.record(log, ZilParams(), PLAIN, 0, 1, 0, 8192, 8192, zil_log.O_DSYNC, 1)
    assert zil_log.has_room(log, 2)
    assert not zil_log.has_room(log, 3)


def groups(params, n_clients, n_passes, drawn, n_bytes=8 * KiB):
    """How many of `n_clients`, who write again as soon as they may, each of the passes lets go."""
    log, of_pool = zil_log.new_zil(n_entries=400, n_tasks=100, n_blocks=4096, drawn=drawn), PLAIN
    zil_log.new_block(log, 0, 4 * KiB, zil_log.MAIN, 1)
    sizes, rows, idle = [], [], list(range(n_clients))
    for _ in range(n_passes):
        for task in idle:
            zil_log.record(log, params, of_pool, 0, 1, task, n_bytes, n_bytes, zil_log.O_DSYNC, 1)
            at_once = commit(log, params, of_pool, 0, 1, task, 1)
            assert not at_once
            rows += log.outbox[:log.n_out[0], 2].tolist()
        for i, slot in enumerate(rows):
            written(log, params, of_pool, 0, slot, 1)
            assert i == len(rows) - 1 or log.n_released[0] == 0
        rows, idle = log.outbox[:log.n_out[0], 2].tolist(), log.released[:log.n_released[0]].tolist()
        sizes.append(len(idle))
    return sizes


LAST, FIRST = (-1,), (0,)
ANYONE = stream(1, "who wakes up first").integers(0, 2**40, 499)


@pytest.mark.parametrize("name", ["onnv_69", "b103", "b141"])
@pytest.mark.parametrize("n", [1, 2, 3, 7, 20])
def test_two_successive_groups_are_all_clients(name, n):
    """Whoever is let go writes again at once, and is in the next pass but one: g(k) + g(k + 1) = N, if a writer takes all
    who wait. So the mean group is N/2, however long a pass takes, and one client is alone."""
    sizes = groups(era(name).zil, n, 60, LAST)
    assert all(a + b == max(n, 2) for a, b in pairwise(sizes[5:]))


def test_whoever_is_first_to_wake_makes_the_groups():
    """A writer takes whom it came after, and others only as the block in hand has room."""
    for name, share in (("onnv_69", 0.85), ("b141", 0.99)):
        rules = era(name).zil
        assert share * 6 < np.mean(groups(rules, 12, 250, ANYONE)[50:]) <= 6
    assert set(groups(era("b141").zil, 12, 100, FIRST)) == {1}
    assert 1 < np.mean(groups(era("onnv_69").zil, 12, 100, FIRST)[50:]) < 6


@pytest.mark.slow
def test_defects_are_noticed():
    """Run without the compiler, so that one function can be replaced."""
    assert json.loads(interpreted("defects.zil")) == ["none"]


@pytest.mark.parametrize(("sizes", "message"), [
    ({"n_entries": 0}, "for 0 entries is none"),
    ({"n_blocks": 3}, "for 3 blocks cannot"),
    ({"drawn": ()}, "no number drawn"),
])
def test_an_impossible_log_is_one_sentence(sizes, message):
    with pytest.raises(ValueError, match=message + ".*; (choose|give)"):
        zil_log.new_zil(**sizes)
