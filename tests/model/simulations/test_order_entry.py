"""The order-entry simulation: laws of every window, a loop of one user in closed form, blocks that are neither lost nor
doubled, sampling against simulating all, both engines of the allocator, determinism, and what cannot be."""

import itertools
import json

import numpy as np
import pytest

from drivers.order_entry_pools import METASLAB_BYTES, N_METASLABS, SECOND, SHEET, SMALL, digest, site_of
from model.devices import drive_columns as queued
from model.devices.data_sheet import SheetParams
from model.simulations.order_entry import columns as order_columns
from model.simulations.order_entry.series import redo_of_a_record, restart, rewrite, settle, window
from model.simulations.order_entry.state import DOINGS, READING, REDO_BYTES, THINKING, check_orders, log_blocks_of
from model.zfs.eras import era
from model.zfs.shared_numbers import TXG_SIZE
from model.zfs.txg import columns as throttled
from model.zfs.vdev.places import FRONT_BYTES, LEAF_SHIFT, OFFSET_MASK
from model.zfs.vdev.raid import asize, vdev_params
from model.zfs.zil.log import SPLIT_BYTES
from support.processes import interpreted


@pytest.fixture(scope="module")
def seen():
    """Both sites behind three windows with ageing in between."""
    sites = {}
    for name in ("b117", "b141_df"):
        site = site_of(name=name)
        for number in range(3):
            last = window(site, SECOND // 2, 2 * SECOND)
            rewrite(site, 3000, last, 1, f"{number}")
        sites[name] = site, window(site, SECOND // 2, 2 * SECOND)
    return sites


BOTH = pytest.mark.parametrize("name", ["b117", "b141_df"])

# ---- laws ----


@BOTH
def test_users_are_always_somewhere(seen, name):
    _, last = seen[name]
    assert sum(last.doing_ns.values()) == SMALL.n_users * last.ns


@BOTH
def test_littles_law_holds_exactly_for_reads_and_transactions(seen, name):
    """From the beginning: the time that users spend reading is that of all reads, those under way among them."""
    site, _ = seen[name]
    m, now = site.machine, site.now[0]
    reading = m.users[:, order_columns.DOING] == READING
    assert m.doing_ns[READING] == m.tally[order_columns.READ_NS] + (now - m.users[reading, order_columns.READ_BEGAN]).sum()
    in_one = m.users[:, order_columns.DOING] != THINKING
    assert (m.doing_ns.sum() - m.doing_ns[THINKING]
            == m.tally[order_columns.RESPONSE_NS] + (now - m.users[in_one, order_columns.BEGAN]).sum())


@BOTH
def test_the_utilisation_law_holds_exactly(seen, name):
    site, last = seen[name]
    units, n = site.leaves.drives.units, len(last.busy_ns)
    rest = np.where(units[:, queued.N_COMMANDS] > 0, site.machine.calendar.time[:n] - site.now[0], 0)
    since = np.where(units[:, queued.N_COMMANDS] > 0, site.now[0] - units[:, queued.BUSY_SINCE], 0)
    busy = units[:, queued.BUSY_NS] + since
    assert (busy == units[:, queued.SERVICE_NS] - rest).all()
    assert (last.busy_ns <= last.ns).all()


@BOTH
def test_buffers_held_are_dirty_or_being_written_and_no_more_than_there_are(seen, name):
    m = seen[name][0].machine
    under_way = int(m.writers[:, 1].sum())
    assert m.counts[order_columns.N_HELD] == m.is_dirty.sum() + under_way <= SMALL.max_dirty


# ---- before anything is measured ----


def test_users_who_have_settled_leave_as_much_dirty_as_they_found():
    """Half of the database may be dirty: it gathers for a while, and a third of the changes meet a block that is dirty."""
    site = site_of(SMALL._replace(dirty_target=4000, max_dirty=8000))
    assert not settle(site, SECOND, 1, by_stock=True)
    assert site.machine.tally[order_columns.WRITES] == 0
    assert settle(site, SECOND, 200, by_stock=True)
    before = site.machine.counts[order_columns.N_HELD]
    seen = window(site, 0, 4 * SECOND).tally
    assert abs(site.machine.counts[order_columns.N_HELD] - before) < 0.15 * seen["writes"]
    assert seen["writes"] < 0.9 * seen["dirtyings"]
    assert not settle(site, SECOND, 3)


def pieces(site):
    """(vdev, offset, B) of all blocks that are to stay."""
    m, orders = site.machine, site.machine.orders
    sizes = ((m.record_at, orders.record_bytes), (m.indirect_at.ravel(), orders.indirect_bytes), (m.redo_at, REDO_BYTES))
    return [(place >> LEAF_SHIFT, (place & OFFSET_MASK) - FRONT_BYTES, asize(orders.vdev, n))
            for places, n in sizes for place in places.tolist()]


@BOTH
def test_no_block_is_lost_and_no_two_lie_on_each_other(seen, name):
    site = seen[name][0]
    rewrite(site, 100, window(site, 0, SECOND // 2), 1, "to the end of a group")
    areas = sorted(pieces(site))
    assert all(before[0] < after[0] or before[1] + before[2] <= after[1] for before, after in itertools.pairwise(areas))
    assert areas[0][1] >= 0
    assert max(offset + n for _, offset, n in areas) <= N_METASLABS * METASLAB_BYTES
    taken = int(site.space.class_allocated[0]) - int(site.space.deferred.sum())
    assert taken == sum(n for *_, n in areas)


# ---- closed forms ----


def test_one_user_waits_for_the_sum_of_the_parts():
    """With nothing else to be written, so that no disk is ever busy when a read comes."""
    service = 7_000_000
    orders = SMALL._replace(n_users=1, dirtied=0.0, cached=0.0, cpu_ns=0, reads=5.0, redo_bytes=0)
    site = site_of(orders, drawn_ns=[service])
    window(site, 0, 10 * SECOND)
    t = dict(zip(("transactions", "response", "reads"), site.machine.tally[:3].tolist(), strict=True))
    commit = orders.op_ns + orders.slog_ns
    drawn = site.machine.n_reads[0, :t["transactions"]]
    assert t["transactions"] > 100
    assert t["response"] == t["transactions"] * commit + drawn.sum() * (service + orders.op_ns)
    assert 0 <= t["reads"] - drawn.sum() <= 11


def test_processors_are_a_bound_that_many_users_reach():
    orders = SMALL._replace(n_users=64, n_cpus=2, cpu_ns=8_000_000, cached=1.0, dirtied=0.0, reads=2.0)
    last = window(site_of(orders), SECOND, 4 * SECOND)
    assert last.doing_ns["cpu"] == pytest.approx(2 * last.ns, rel=1e-3)
    assert last.tally["transactions"] * orders.cpu_ns == pytest.approx(2 * last.ns, rel=0.02)


def test_users_answered_from_memory_leave_the_disks_alone():
    last = window(site_of(SMALL._replace(cached=1.0, dirtied=0.0, redo_bytes=0)), 0, SECOND)
    assert last.tally["transactions"] > 0
    assert last.served.sum() == 0


# ---- mechanisms ----


def test_a_write_is_large_only_if_the_queue_joins_blocks_that_lie_side_by_side():
    whole = window(site_of(), SECOND, 2 * SECOND).tally
    queue = era("b117").queue._replace(aggregation_bytes=0)
    apart = window(site_of(queue=queue), SECOND, 2 * SECOND).tally
    assert apart["units_written"] == pytest.approx(apart["ios_written"], rel=0.01)
    assert whole["units_written"] < 0.5 * whole["ios_written"]
    assert whole["transactions"] > apart["transactions"]


def test_without_a_log_device_a_commit_waits_for_disks():
    with_slog, without = (window(site_of(SMALL._replace(has_slog=flag)), SECOND, 2 * SECOND).tally for flag in (1, 0))
    assert without["log_ns"] / without["log_writes"] > 5 * with_slog["log_ns"] / with_slog["log_writes"]


def test_reads_that_miss_the_block_above_read_twice():
    once, twice = (window(site_of(SMALL._replace(misses_indirect=share, cached=0.0, dirtied=0.0)), 0, 2 * SECOND).tally
                   for share in (0.0, 1.0))
    assert twice["ios_read"] / twice["reads"] == pytest.approx(2, rel=0.05)
    assert once["ios_read"] / once["reads"] == pytest.approx(1, rel=0.05)


def test_a_group_writes_what_stands_above_the_records_that_were_rewritten():
    t = window(site_of(), SECOND, 4 * SECOND).tally
    assert 12 <= t["txgs"] <= 17
    assert t["writes"] / 128 < t["indirect"] < 3 * t["writes"]
    assert t["redo_records"] == pytest.approx(t["log_bytes"] / REDO_BYTES, abs=2)


def test_nobody_waits_for_the_space_maps_that_were_loaded_while_the_pool_aged():
    site = site_of()
    rewrite(site, 20_000, window(site, 0, SECOND), 1, "ageing")
    before = int(site.space.counters.load_blocks[0])
    last = window(site, 0, SECOND)
    waited_for = int(site.space.counters.load_blocks[0]) - before
    assert before > 0
    assert last.tally["stall_ns"] == waited_for * SMALL.load_block_ns


def test_blocks_of_raidz_take_parity_and_stay_apart():
    orders = SMALL._replace(vdev=vdev_params("raidz2", 6), n_vdevs=1, n_records=2**12)
    site = site_of(orders, unit=512, sheet=SHEET._replace(disk_bytes=2**28))
    rewrite(site, 3000, window(site, 0, SECOND), 1, "ageing")
    areas = sorted(pieces(site))
    assert all(before[1] + before[2] <= after[1] for before, after in itertools.pairwise(areas))
    assert sorted({n for *_, n in areas}) == [12 * 512, 24 * 512, asize(orders.vdev, REDO_BYTES)]


# ---- the throttle, and sizes of log blocks ----


@BOTH
def test_an_open_group_counts_what_it_has_dirtied_six_times_over(seen, name):
    m = seen[name][0].machine
    txg, slot = m.txg[order_columns.OPEN], m.txg[order_columns.OPEN] % TXG_SIZE
    records, indirect = (m.record_dirtied_in == txg).sum(), (m.dirtied_in == txg).sum()
    dirty = records * SMALL.record_bytes + indirect * 2**14 + m.n_dirty[slot, -1] * REDO_BYTES
    assert m.throttle[throttled.DIRTY + slot] == 6 * dirty


def test_a_group_takes_no_more_than_its_limit_and_one_write():
    """Groups of shares of logbias=throughput, too: with a tenth of what they would take, there are more of them."""
    free, limit = window(site_of(), SECOND, 2 * SECOND).tally, 2_000_000
    site = site_of(SMALL._replace(txg=SMALL.txg._replace(min_limit=limit), max_limit=limit))
    for _ in range(10):
        last = window(site, 0, SECOND // 4).tally
        one_write = 6 * (SMALL.record_bytes + 3 * 2**14 + REDO_BYTES)
        assert site.machine.throttle[throttled.DIRTY + site.machine.txg[order_columns.OPEN] % TXG_SIZE] <= limit + one_write
    assert last["txgs"] > 2 * free["txgs"] / 8
    assert last["transactions"] < free["transactions"] / 8


def test_whoever_waits_for_room_goes_on_however_small_a_group_is():
    tiny = SMALL._replace(txg=SMALL.txg._replace(min_limit=1), max_limit=1, n_users=4)
    assert window(site_of(tiny), 0, 4 * SECOND).tally["transactions"] > 10


@pytest.mark.slow
def test_the_throttle_and_log_blocks_take_the_steps_of_the_specification():
    """Spec 6.4, the table: blocks of n records of 8 KiB; spec 5.6: who is admitted."""
    printed = json.loads(interpreted("drivers.order_entry_steps"))
    old, slim = printed["old"], printed["slim"]
    sizes = {"1": 12, "2": 20, "3": 28, "4": 36, "8": 68, "15": 124}
    large = {"1": 12, "2": 36, "3": 36, "4": 36, "8": 128, "15": 128}
    assert old == {n: [[1024 * size, 1024 * size]] for n, size in sizes.items()}
    assert slim == {n: [[1024 * large[n], 1024 * size]] for n, size in sizes.items()}
    assert sum(n for n, _ in printed["redo"]) > 400_000
    at_once, rounded_up, room = printed["of all users"]
    assert 50 * 338_221 / 2**16 <= at_once < rounded_up <= room
    assert printed["admitted"] == [[True, False], [True, False], [True, False], [True, True], [False, False], [False, False]]


@pytest.mark.parametrize(("writes", "log_writes"), [(1, 1000), (0, 3), (700, 900), (3000, 1)])
def test_a_mean_write_of_redo_has_room_for_its_log_blocks(writes, log_writes):
    """Also where the window that was measured has next to no writes."""
    orders = SMALL._replace(has_slog=0, n_users=50, redo_bytes=338_221)
    seen = {"writes": writes, "log_writes": log_writes, "log_bytes": log_writes * 50 * 338_221}
    per_redo = max(1, round(max(1, writes) / log_writes))
    n_bytes = per_redo * redo_of_a_record(orders, seen, per_redo)
    assert n_bytes // SPLIT_BYTES + 2 <= log_blocks_of(orders)


def test_redo_without_a_log_device_ages_the_pool_too():
    """Log blocks take places between records, and are free again."""
    without, with_one = (site_of(SMALL._replace(has_slog=flag)) for flag in (0, 1))
    measured = window(site_of(SMALL._replace(has_slog=0)), 0, SECOND)
    for site in (without, with_one):
        rewrite(site, 3000, measured, 1, "ageing")
    assert digest(without) != digest(with_one)
    assert without.space.class_allocated[0] == with_one.space.class_allocated[0]


# ---- sampling ----


def throughputs(name, window_s, run_s, n_runs, seed):
    site, rates = site_of(name=name, seed=seed), []
    for number in range(n_runs):
        last = window(site, SECOND // 2 if window_s < run_s else 0, int(window_s * SECOND))
        rates.append(last.tally["transactions"] / window_s)
        n = int(last.tally["writes"] * (run_s / window_s - 1))
        rewrite(site, n, last, seed, f"{number}")
    return np.array(rates)


@pytest.fixture(scope="module", params=["b117", "b141_df"])
def sampled_and_whole(request):
    """Throughputs of 8 runs of 20 s, of 4 s each and of all of it, under three seeds."""
    return [np.array([throughputs(request.param, window_s, 20, 8, seed) for seed in range(3)]) for window_s in (4, 20)]


@pytest.mark.slow
def test_windows_and_ageing_give_what_simulating_every_second_gives(sampled_and_whole):
    """The mean: within three standard errors."""
    sampled, whole = (rates.mean(axis=1) for rates in sampled_and_whole)
    error = np.sqrt((np.var(sampled, ddof=1) + np.var(whole, ddof=1)) / 3)
    assert abs(np.mean(sampled) - np.mean(whole)) < max(3 * error, 0.05 * np.mean(whole))


def test_windows_vary_from_run_to_run_as_whole_runs_do_and_by_the_chance_of_a_window(sampled_and_whole):
    """Variances between runs: that of windows is that of whole runs and what a fifth of a run adds, of users' draws. The two
    are estimated from 24 runs each, so that a factor of four between them would be noticed, and one of two not."""
    sampled, whole = ((rates.std(axis=1, ddof=1) / rates.mean(axis=1)).mean() for rates in sampled_and_whole)
    assert 0.5 * whole < sampled < 2 * whole + 0.02


# ---- engines, determinism ----


@pytest.mark.slow
def test_the_laws_notice_defects():
    broken = json.loads(interpreted("defects.order_entry"))
    assert broken.pop("none") == []
    assert len(broken) == 8
    assert all(broken.values()), broken


@pytest.mark.slow
def test_both_engines_of_the_allocator_put_every_block_in_the_same_place():
    pools = json.loads(interpreted("drivers.order_entry_pools"))
    for name in ("b117", "b141_df", "b141"):
        assert pools[f"{name} 0"] == pools[f"{name} 1"]
        assert pools[f"{name} 0"][1] > 0
    assert len({pool[0] for pool in pools.values()}) == 3


def test_the_same_seed_gives_the_same_bits_and_another_one_others():
    first, same, differing = (site_of(seed=seed) for seed in (1, 1, 2))
    tallies = [window(site, 0, SECOND).tally for site in (first, same, differing)]
    assert tallies[0] == tallies[1] != tallies[2]
    assert digest(first) == digest(same) != digest(differing)


def test_users_do_the_same_under_both_rules():
    old, new = (site_of(name=name).machine for name in ("b117", "b141_df"))
    assert (old.read_record == new.read_record).all()
    assert (old.dirty_record == new.dirty_record).all()


def test_other_users_find_the_same_database():
    site = site_of()
    last = window(site, 0, SECOND)
    rewrite(site, 0, last, 1, "end of the group")
    before = digest(site)
    again = restart(site, SMALL._replace(n_users=3), site.leaves.disk, era("b117").queue, 5)
    assert digest(again) == before
    assert sum(window(again, 0, SECOND).doing_ns.values()) == 3 * SECOND


def test_groups_go_on_under_other_users_whatever_those_before_had_under_way():
    site, period = site_of(SMALL), SMALL.txg.timeout_ns
    while site.machine.txg[order_columns.SYNCING] == 0:
        window(site, 0, period // 32)
    again = restart(site, SMALL, site.leaves.disk, era("b117").queue, 5)
    last = window(again, 0, 4 * period)
    assert last.tally["txgs"] >= 2
    test_no_block_is_lost_and_no_two_lie_on_each_other({"b117": (again, last)}, "b117")


# ---- what cannot be ----


@pytest.mark.parametrize(("changed", "words"), [
    ({"record_bytes": 4100}, "record_bytes of the order entry is 4100"), ({"n_vdevs": 0}, "n_vdevs of the order entry is 0"),
    ({"cached": 1.5}, "cached of the order entry is 1.5"), ({"max_dirty": 3}, "max_dirty is 3"),
    ({"n_users": 0}, "n_users of the order entry is 0")])
def test_a_machine_that_cannot_be_gets_one_sentence(changed, words):
    with pytest.raises(ValueError, match=words) as caught:
        check_orders(SMALL._replace(**changed))
    assert "choose" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_pool_that_fills_up_gets_one_sentence():
    with pytest.raises(ValueError, match="the pool fills up"):
        site_of(n_other=2 * N_METASLABS * METASLAB_BYTES // REDO_BYTES)


def test_too_many_places_to_remember_is_no_full_pool():
    with pytest.raises(ValueError, match="make the pool with more segments"):
        window(site_of(name="b141_df", max_segments=64), SECOND, 4 * SECOND)


def test_all_that_users_do_has_a_name():
    assert len(DOINGS) == 6
    assert isinstance(SHEET, SheetParams)
