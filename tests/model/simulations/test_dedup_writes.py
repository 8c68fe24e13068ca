"""Writes and frees with dedup: laws that any run keeps, and what a table larger than memory does."""
import numpy as np
import pytest

from model.devices.data_sheet import SheetParams
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


TXG = era("b141").txg


def run(seed=1, txg=TXG, **changed):
    return simulate(BASE._replace(**changed), RULES, txg, l2_params=era("b141").l2arc, seed=seed)


@pytest.fixture(scope="module")
def in_memory():
    return run()


@pytest.fixture(scope="module")
def beyond():
    return run(n_unique=16_000)


@pytest.mark.parametrize("changed", [
    {}, {"n_unique": 16_000}, {"n_duplicate": 1000, "found_share": 0.5}, {"is_free": 1}, {"has_dedup": 0},
    {"n_unique": 16_000, "l2_bytes": 2**26}])
def test_nothing_is_lost_or_made(changed):
    done = run(**changed)
    n, dedup = done.counts, changed.get("has_dedup", 1)
    assert n["blocks"] <= n["calls"]
    assert n["lookups"] == dedup * n["blocks"]
    assert n["touched"] <= n["lookups"]
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


def test_who_writes_slower_than_the_pool_waits_for_nothing_and_who_writes_faster_waits_seconds():
    calm, pressed = run(n_unique=16_000, gap_ns=SECOND_NS // 20), run(n_unique=16_000, gap_ns=SECOND_NS // 20_000)
    assert np.percentile(calm.response_ns, 99) == BASE.copy_ns
    assert pressed.response_ns.max() > SECOND_NS


def test_more_threads_read_the_table_faster():
    rates = [run(n_unique=16_000, threads=threads).bytes_per_s for threads in (1, 4, 16)]
    assert rates == sorted(rates)


def test_levels_of_a_table():
    assert levels_of(1) == [0, 1]
    assert levels_of(33) == [0, 33, 35, 36]


@pytest.mark.parametrize(("changed", "named"), [
    ({"n_unique": 0}, "n_unique is 0"), ({"found_share": 1.5}, "found_share is 1.5"), ({"threads": 0}, "threads is 0"),
    ({"arc": ArcParams(2**25, 2**23)}, "is the least that ZFS takes"), ({"found_share": 0.5}, "has no leaf")])
def test_impossible_machines_are_refused(changed, named):
    with pytest.raises(ValueError, match=named):
        run(**changed)
