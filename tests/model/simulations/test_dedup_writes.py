"""Writes and frees with dedup: laws that any run keeps, and what a table larger than memory does."""
import numpy as np
import pytest

from model.devices.data_sheet import SheetParams
from model.devices.ssd import SsdParams
from model.events.clock import SECOND_NS
from model.simulations.dedup_writes.run import simulate
from model.simulations.dedup_writes.state import Settings, levels_of
from model.simulations.rules import rules_of
from model.zfs.arc.arc import ArcParams
from model.zfs.eras import era

LIMIT = 2**24       # B of metadata: 4096 leaves
BASE = Settings(n_leaves=4, n_unique=2000, arc=ArcParams(4 * LIMIT, LIMIT), max_limit=2**30, span_bytes=2**34,
                warm_ns=4 * SECOND_NS, duration_ns=12 * SECOND_NS)
RULES = rules_of("b141", SheetParams(disk_bytes=10**12, depth=32, window=8))


B141 = era("b141")
SSD = SsdParams(disk_bytes=2**35)


def run(seed=1, build=B141, **changed):
    return simulate(BASE._replace(**changed), RULES, build, SSD if changed.get("has_log_device") else None, seed=seed)


@pytest.fixture(scope="module")
def in_memory():
    return run()


@pytest.fixture(scope="module")
def beyond():
    return run(n_unique=16_000)


@pytest.mark.parametrize("changed", [
    {}, {"n_unique": 16_000}, {"n_duplicate": 1000, "found_share": 0.5},
    {"n_duplicate": 1000, "found_share": 0.5, "second_share": 0.3}, {"is_free": 1}, {"has_dedup": 0},
    {"n_unique": 16_000, "l2_bytes": 2**26}])
def test_nothing_is_lost_or_made(changed):
    done = run(**changed)
    n, dedup = done.counts, changed.get("has_dedup", 1)
    assert n["blocks"] <= n["calls"]
    assert n["lookups"] == dedup * n["blocks"]
    assert n["touched"] <= n["lookups"] + n["moved"]
    assert 3 * n["dirtied"] <= n["table_writes"]
    assert n["io_writes"] == n["table_writes"] + n["data_bytes"] // BASE.block_bytes
    assert (n["data_bytes"] == 0) == bool(changed.get("is_free"))
    assert np.all(np.diff(done.by_second) >= 0)
    assert np.all(done.response_ns >= BASE.copy_ns * (not changed.get("is_free")))


def test_equal_inputs_give_equal_runs(beyond):
    again = run(n_unique=16_000)
    assert again.counts == beyond.counts
    assert np.array_equal(again.response_ns, beyond.response_ns)


def test_a_table_in_memory_is_read_from_no_disk_and_costs_little(in_memory):
    assert in_memory.counts["disk_reads"] == 0
    assert in_memory.bytes_per_s > 0.5 * run(has_dedup=0).bytes_per_s


def test_a_table_beyond_memory_is_a_cliff(in_memory, beyond):
    """About a disk read a block, in place of none."""
    assert beyond.bytes_per_s < in_memory.bytes_per_s / 10
    assert 0.6 < beyond.counts["disk_reads"] / beyond.counts["lookups"] < 2.2
    assert beyond.response_ns.max() > in_memory.response_ns.max()


def test_a_cache_device_that_holds_the_table_takes_most_of_the_cliff_away(beyond):
    cached = run(n_unique=16_000, l2_bytes=2**28)
    assert cached.counts["l2_reads"] > cached.counts["disk_reads"]
    assert cached.bytes_per_s > 3 * beyond.bytes_per_s


def test_data_of_duplicates_are_not_written():
    done = run(n_duplicate=1000, found_share=1.0)
    assert done.counts["data_bytes"] == 0 < done.counts["table_writes"]
    half = run(n_duplicate=1000, found_share=0.5).counts
    assert half["data_bytes"] / BASE.block_bytes == pytest.approx(half["blocks"] / 2, rel=0.05)


def test_a_pool_with_duplicates_falls_deeper(beyond):
    """A new block is looked for in two objects, and a second one changes both."""
    half = run(n_unique=8000, n_duplicate=8000, found_share=0.5)
    moving = run(n_unique=8000, n_duplicate=8000, found_share=0.5, second_share=0.4)
    assert moving.blocks_per_s < half.blocks_per_s < beyond.blocks_per_s
    assert moving.counts["moved"] / moving.counts["lookups"] == pytest.approx(0.4, rel=0.1)
    assert half.counts["moved"] == 0


def test_who_writes_slower_than_the_pool_waits_for_nothing_and_who_writes_faster_waits_seconds():
    calm, pressed = run(n_unique=16_000, gap_ns=SECOND_NS // 20), run(n_unique=16_000, gap_ns=SECOND_NS // 20_000)
    assert np.percentile(calm.response_ns, 99) == BASE.copy_ns
    assert pressed.response_ns.max() > SECOND_NS


def test_more_threads_read_the_table_faster():
    rates = [run(n_unique=16_000, threads=threads).bytes_per_s for threads in (1, 4, 16)]
    assert rates == sorted(rates)


# ---- reads of files ----

FILES = {"has_writer": 0, "n_files": 2, "file_blocks": 400}


def test_the_second_of_two_files_is_read_from_memory_as_far_as_they_share_blocks():
    for shared in (0, 100, 400):
        done = run(shared_blocks=shared, **FILES)
        (hits, misses, first_ends), (again, read, _) = done.files.tolist()
        assert (hits, misses, again, read) == (0, 400, shared, 400 - shared)
        assert (done.counts["file_hits"], done.counts["file_reads"]) == (shared, 800 - shared)
        assert first_ends > 400 * SECOND_NS // 1000      # disks


def test_reads_ask_no_table():
    done = run(n_unique=16_000, shared_blocks=400, **FILES)
    assert (done.counts["hits"], done.counts["disk_reads"], done.counts["lookups"]) == (0, 0, 0)


def test_a_read_from_memory_waits_for_the_copy_alone_and_one_from_a_disk_for_its_checksum_too():
    done = run(shared_blocks=400, **FILES)
    (_, _, first), (_, _, second) = done.files.tolist()
    assert second - first == 400 * BASE.copy_ns
    of_100 = FILES | {"file_blocks": 100}
    checked, unchecked = (run(hash_ns=hash_ns, **of_100).files[0, 2] for hash_ns in (SECOND_NS // 50, 0))
    assert checked - unchecked > 100 * (SECOND_NS // 50 - RULES.disk.disk.rev_ns)


def test_files_larger_than_memory_are_read_again_from_disks():
    small = {"arc": ArcParams(2**26, 2**24), "duration_ns": 400 * SECOND_NS, "block_bytes": 2**17, **FILES}
    done = run(shared_blocks=1000, **small | {"file_blocks": 1000})
    assert done.files[1, 0] < 200      # of 125 MiB, 64 MiB fit, with the table's blocks
    assert run(shared_blocks=200, **small | {"file_blocks": 200}).files[1, 0] == 200


# ---- synchronous writes ----

@pytest.mark.parametrize("has_log_device", [0, 1])
def test_each_synchronous_call_has_its_log_block_and_waits_for_it(has_log_device):
    done = run(is_sync=1, has_log_device=has_log_device)
    n = done.counts
    assert n["calls"] > 300
    assert n["log_blocks"] - n["calls"] in (0, 1, 2)
    least = SSD.write_ns if has_log_device else SECOND_NS // 5000
    assert done.response_ns.min() >= BASE.copy_ns + least
    assert n["lookups"] == n["blocks"] <= n["calls"]
    assert n["io_writes"] == n["table_writes"] + n["data_bytes"] // BASE.block_bytes


def test_the_intent_log_does_not_ask_the_table():
    """A call that the pool keeps up with takes no longer with a table eight times as large as memory."""
    calm = {"is_sync": 1, "has_log_device": 1, "gap_ns": SECOND_NS // 20}
    small, large, without = (run(**calm, **changed).response_ns[1:] for changed in (
        {}, {"n_unique": 32_000}, {"has_dedup": 0}))
    assert len(small) > 200
    assert np.array_equal(small, without)
    assert np.array_equal(large, without)


def test_synchronous_calls_wait_for_the_throttle_when_the_table_takes_too_long():
    pressed = run(n_unique=32_000, is_sync=1, has_log_device=1, duration_ns=60 * SECOND_NS)
    before = run(is_sync=1, has_log_device=1, duration_ns=60 * SECOND_NS)
    assert pressed.response_ns[1:].max() > 3 * SECOND_NS
    assert np.median(pressed.response_ns) < 2 * np.median(before.response_ns)
    assert pressed.counts["calls"] < before.counts["calls"]
    opened = run(n_unique=32_000, is_sync=1, has_log_device=1, first_limit=BASE.max_limit)
    assert opened.response_ns[1:].max() < SECOND_NS < run(n_unique=32_000, is_sync=1, has_log_device=1).response_ns[1:].max()


def test_levels_of_a_table():
    assert levels_of(1) == [0, 1]
    assert levels_of(33) == [0, 33, 35, 36]


@pytest.mark.parametrize(("changed", "named"), [
    ({"n_unique": 0}, "n_unique is 0"), ({"found_share": 1.5}, "found_share is 1.5"), ({"threads": 0}, "threads is 0"),
    ({"arc": ArcParams(2**25, 2**23)}, "is the least that ZFS takes"), ({"found_share": 0.5}, "has no leaf"),
    ({"second_share": 0.1}, "second_share is 0.1"),
    ({"is_sync": 1, "is_free": 1}, "choose one"), ({"is_sync": 1, "block_bytes": 2**16}, "Choose smaller blocks"),
    ({"n_files": 1, "file_blocks": 4, "shared_blocks": 5}, "shared_blocks is 5")])
def test_impossible_machines_are_refused(changed, named):
    with pytest.raises(ValueError, match=named):
        run(**changed)
