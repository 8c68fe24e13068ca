"""A LUN in place of the data shares, and Exchange on it: laws that hold whatever the allocator does, and what the experiment
makes of its priors."""
import numpy as np
import pandas as pd
import pytest

from model.devices.data_sheet import new_drive
from model.simulations.order_entry.series import PoolFull, begin, restart, rewrite, window
from model.simulations.order_entry.state import LATENCY, THROUGHPUT, Orders
from model.simulations.order_entry.workload import draw_changes, draw_records
from model.zfs.eras import era
from model.zfs.metaslab.new_pool import new_pool
from model.zfs.metaslab.state import FAST, TopVdev
from model.zfs.space import bitmaps
from model.zfs.vdev.raid import vdev_params
from study.documents import claims, priors, published
from study.ensembles import ensembles, nearest_machine
from study.errors import UserError
from study.experiments.allocator_2010 import appliance, exchange, exchange_machine, order_entry_machine, order_entry_pool
from study.grades import claim_predictions
from study.memo import ByKey
from study.runs import catalogue

SECOND = 10**9
VDEV_BYTES = 2**30
DISK = appliance.disk(appliance.TERABYTE._replace(disk_bytes=VDEV_BYTES + 2**23, outer_sustained=95_000_000))
SMALL = Orders(
    n_users=8, cpu_ns=10**6, n_cpus=2**10, reads=4.0, dirtied=4.0, redo_bytes=4000, dirty_target=100, max_dirty=400,
    n_writers=1, writes_per_batch=8, n_shares=1, logbias=LATENCY, record_bytes=8192, indirect_bytes=8192,
    redo_record_bytes=8192, n_redo_records=200, n_records=2**15, n_vdevs=2,
    txg=Orders().txg._replace(timeout_ns=SECOND, sync_target_ns=SECOND),
    vdev=vdev_params("mirror", 2))


def site_of(orders, seed=1, max_segments=2**16):
    vdevs = [TopVdev(orders.vdev, asize=VDEV_BYTES)] * orders.n_vdevs
    space = new_pool(vdevs, era("b117").metaslab, FAST, 4096, 2**23, max_segments)
    return begin(orders, new_drive(DISK), era("b117").queue, space, seed)


def seen(orders, seconds=5, seed=1):
    site = site_of(orders, seed)
    return site, window(site, SECOND, seconds * SECOND)


def blocks_of(site):
    """Places of all that the LUN has on disk, as (vdev, offset in units of 8 KiB)."""
    m = site.machine
    return np.concatenate([m.record_at, m.indirect_at.ravel(), m.redo_at[m.redo_at >= 0]])


def test_no_two_blocks_are_at_one_place_however_long_it_runs():
    site, _ = seen(SMALL)
    rewrite(site, 20_000, window(site, 0, SECOND), 1, "more")
    places = blocks_of(site)
    assert len(np.unique(places)) == len(places)
    assert (places >= 0).all()


def rewritten(site):
    rewrite(site, 10_000, window(site, 0, SECOND), 1, "more")
    return site


def test_room_decides_nothing_but_whether_it_is_enough(monkeypatch):
    """Order entry at full size frees in millions of places within a group, and what is free lies in tens of millions."""
    roomy = rewritten(site_of(SMALL))
    n_runs = int(roomy.space.blocks.free.long.n_fresh[0])
    monkeypatch.setattr(bitmaps, "MAX_LONG", n_runs + 2)
    tight = rewritten(site_of(SMALL, max_segments=2**13))
    assert (blocks_of(roomy) == blocks_of(tight)).all()
    assert (roomy.machine.tally == tight.machine.tally).all()
    with pytest.raises(ValueError, match="make the pool with more segments"):
        rewritten(site_of(SMALL, max_segments=2**6))
    monkeypatch.setattr(bitmaps, "MAX_LONG", n_runs - 3)
    with pytest.raises(ValueError, match=f"more than {n_runs - 3} places of 32 blocks and more"):
        rewritten(site_of(SMALL))


def test_what_is_allocated_is_what_lies_there():
    site = site_of(SMALL)
    n = len(blocks_of(site))
    assert site.space.allocated.sum() == 8192 * n       # after a sync that froze nothing: b117 does not defer


def test_a_block_is_written_once_a_group_however_often_it_is_changed():
    """All users change few blocks: far fewer are written to their places than are committed to the log."""
    _, few = seen(SMALL._replace(hot_share=0.005, hot_hits=1.0))
    _, spread = seen(SMALL)
    copies = SMALL.vdev.n_children
    groups = few.tally["txgs"]
    n_hot = int(0.005 * SMALL.n_records)
    assert few.tally["blocks_committed"] > 3 * groups * n_hot
    others = few.tally["indirect"] * 2 + few.tally["redo_records"]
    assert few.tally["ios_written"] <= copies * (others + (groups + 1) * n_hot)
    assert spread.tally["ios_written"] > 2 * few.tally["ios_written"]


def test_only_what_was_changed_moves():
    """In a pool that was just filled, the others of a group's blocks stay where they were, one behind the other."""
    site, _ = seen(SMALL, seconds=2)
    m = site.machine
    n_moved = int((np.diff(m.record_at) != 8192).sum())
    assert 0 < n_moved < SMALL.n_records


def test_other_threads_find_the_same_lun():
    """Restarted amid a group, which is written first: nothing is lost, nothing lies on anything else, groups go on."""
    site, _ = seen(SMALL)
    again = restart(site, SMALL._replace(n_users=3), site.leaves.disk, era("b117").queue, 5)
    before = again.machine.record_at.copy()
    assert len(np.unique(blocks_of(again))) == len(blocks_of(again))
    assert again.space.allocated.sum() == 8192 * len(blocks_of(again))
    measured = window(again, 0, 5 * SECOND)
    assert sum(measured.doing_ns.values()) == 3 * 5 * SECOND
    assert measured.tally["txgs"] >= 2
    assert 0 < (again.machine.record_at != before).sum() <= measured.tally["writes"]


def test_littles_law_holds():
    """Users are somewhere all the time: their number is the rate of transactions times what one takes."""
    _, x = seen(SMALL, seconds=20)
    t = x.tally
    assert sum(x.doing_ns.values()) == SMALL.n_users * x.ns
    assert t["response_ns"] / x.ns == pytest.approx(SMALL.n_users, rel=0.05)


def test_a_slower_log_never_makes_a_lun_faster():
    rates = [seen(SMALL._replace(slog_ns=ns))[1].tally["transactions"] for ns in (0, 10**6, 10**7, 10**8)]
    assert rates[0] >= rates[2] > rates[3]


def test_without_a_log_device_blocks_are_written_twice():
    with_slog, without = (seen(SMALL._replace(has_slog=has))[1].tally for has in (1, 0))
    assert without["transactions"] < with_slog["transactions"]
    per_block = [t["units_written_bytes"] / max(1, t["blocks_committed"]) for t in (with_slog, without)]
    assert per_block[1] > per_block[0] + 2 * 8192 * 0.9      # both disks of the mirror get it once more


def test_the_throttle_keeps_groups_as_large_as_can_be_written_in_time():
    """With a shorter target groups are smaller, and there are more of them."""
    rules = (SMALL.txg._replace(timeout_ns=30 * SECOND, sync_target_ns=ns, min_limit=2**20)
             for ns in (SECOND // 20, SECOND))
    short, long = (seen(SMALL._replace(txg=txg), seconds=10)[1].tally for txg in rules)
    assert short["txgs"] > 2 * long["txgs"] > 0
    assert short["sync_ns"] / short["txgs"] < long["sync_ns"] / long["txgs"]


def test_a_lun_gathers_what_shares_scatter():
    """Groups of hundreds of blocks become larger I/Os than commits of a few."""
    lun, shares = (seen(SMALL._replace(logbias=bias))[1].tally for bias in (LATENCY, THROUGHPUT))
    size = [t["units_written_bytes"] / t["units_written"] for t in (lun, shares)]
    assert size[0] > 1.5 * size[1]


# --- the experiment -----------------------------------------------------------------------------------------------------

def test_all_draws_are_machines_that_can_be():
    known = priors.read("exchange")
    for values in [known.central(), *priors.draws(known, 30, 5).to_dict("records")]:
        machine = exchange.with_values(1.0, values)
        assert machine.orders.n_records >= 2**12
        assert 0 <= machine.orders.neighbours <= 0.5
        assert len(machine.rules) == 2
        assert machine.rules[0] != machine.rules[1]


def test_reads_and_changes_have_the_share_of_the_priors():
    orders = exchange.setup(seconds=1.0, read_share=0.5).orders
    pages = priors.read("exchange").central()["pages"]
    assert orders.reads == orders.dirtied == pages / 2
    old = exchange.setup(seconds=1.0, version=2003, read_share_2003=0.75).orders
    assert old.dirtied == pages / 4
    assert old.reads == pages     # what is changed has to be read as well
    across = exchange.setup(seconds=1.0, read_share=0.5, aligned=0).orders
    assert (across.dirtied, across.reads) == (pages, 2 * pages)


def test_a_slice_has_its_share_of_threads_and_log_device():
    of_22, of_44 = (exchange.setup(seconds=1.0, n_disks=n, threads=64.0).orders for n in (22, 44))
    assert of_22.n_users == round(64 * 2 / 11)
    assert of_44.n_users == round(64 * 2 / 22)
    assert of_22.slog_rate == pytest.approx(2 * of_44.slog_rate, rel=1e-6)


def test_a_share_of_the_changes_goes_to_the_next_page():
    orders = exchange.setup(seconds=1.0, pages_per_write=1.5).orders
    for shape in ((5, 2000), 10_000):       # of users, and of ageing
        records = draw_changes(orders, shape, 1, "some")
        assert (np.diff(records) == 1).mean() == pytest.approx(1 / 3, abs=0.02)
        assert records.max() < orders.n_records
    assert (draw_changes(orders._replace(neighbours=0.0), 1000, 1, "some") == draw_records(orders, 1000, 1, "some")).all()


@pytest.mark.parametrize(("chosen", "match"), [
    ({"pool_fill": 1.0}, "pool_fill is 1, but the share"), ({"n_disks": 1}, "1 disks make no vdev"),
    ({"colour": 3}, "colour is no prior of exchange"), ({"layout": "raid5"}, "layout is 'raid5'"),
    ({"pool_fill": 0.02}, "pool_fill is 0.02, but the least mail, 1 TB, takes more of this pool; choose 0.093"),
    ({"n_disks": 2}, "1 TB of mail does not go into 2 disks")])
def test_machines_that_cannot_be_get_one_sentence(chosen, match):
    with pytest.raises((UserError, ValueError), match=match):
        exchange.setup(seconds=1.0, **chosen)


@pytest.mark.parametrize("layout", ["mirror", "stripe", "raidz2"])
def test_there_is_a_terabyte_of_mail_at_least_however_little_of_the_pool_is_asked_for(layout):
    values = priors.read("exchange").central() | {"layout": layout, "n_disks": 22}
    smallest, more = (exchange.with_values(1.0, values | {"pool_fill": fill}) for fill in (0.011, 0.4))
    vdevs = appliance.vdevs(layout, 22).n
    blocks, of_more = (machine.orders.n_records + exchange_machine.LOG_RECORDS for machine in (smallest, more))
    assert blocks * exchange.BLOCK * smallest.scale * vdevs / smallest.orders.n_vdevs == pytest.approx(1e12, rel=1e-3)
    assert smallest.pool_fill == exchange_machine.min_fill(values)
    assert more.pool_fill == 0.4
    assert of_more / blocks == pytest.approx(0.4 / smallest.pool_fill, rel=1e-3)


def test_the_ensemble_says_what_was_simulated(monkeypatch):
    seen = []
    monkeypatch.setattr(exchange, "run", lambda machine, *_: seen.append(machine.pool_fill))
    monkeypatch.setattr(exchange, "quantities", lambda *_: {exchange.TRANSFERS: 1.0})
    results = exchange.predict(1.0, 8, 2, 1)
    assert all(case["pool_fill"] >= exchange_machine.min_fill(case) for case in results.to_dict("records"))
    assert set(results.pool_fill) == set(seen)


@pytest.fixture
def small(monkeypatch):
    """An experiment that is over soon."""
    monkeypatch.setattr(exchange_machine, "METASLAB", 2**22)
    monkeypatch.setattr(exchange, "WARM_S", 2.0)
    monkeypatch.setattr(exchange, "PACE_S", 5.0)
    monkeypatch.setattr(exchange, "_MADE", ByKey())


@pytest.fixture(scope="module")
def windows():
    """What was measured of small machines, for all tests that ask for it."""
    return ByKey()


@pytest.fixture
def once(small, windows, monkeypatch):
    """Tests that predict the same: pools are made and measured once for all of them."""
    monkeypatch.setattr(exchange, "_MADE", windows)


@pytest.mark.slow
def test_the_claims_of_the_notebook_are_predicted(once, monkeypatch):
    """And nonsense in every published figure changes no prediction: nothing of this experiment is a baseline."""
    results, honest = exchange.predict(2.0, 2, 2, 1), published.runs
    with monkeypatch.context() as patch:
        patch.setattr(published, "runs", lambda: [
            run._replace(metrics=run.metrics.assign(value=12345.678)) for run in honest()])
        assert claims.targets().set_index("claim_id").value["exchange-gain"] != 200
        patch.setattr(exchange, "_MADE", ByKey())       # or the pools are not made again
        pd.testing.assert_frame_equal(results, exchange.predict(2.0, 2, 2, 1))
    predictions = claim_predictions.predictions(results, "06_exchange")
    assert set(predictions) == {"exchange-gain"}
    ratio = ensembles.ratio(results, exchange.TRANSFERS)
    assert results["after/exchange.gain"].tolist() == pytest.approx((100 * (ratio - 1)).tolist())
    known = priors.read("exchange")
    labels = {(switch.name, choice) for switch in known.switches for choice in switch.choices if choice != switch.central}
    assert labels == set(exchange.EFFECT.labels)


def by_engine(metrics):
    return metrics.set_index("name").value.to_dict()


@pytest.mark.slow
def test_both_engines_put_every_block_in_the_same_place_and_the_fast_one_serves_all(small):
    """Of a mail store, and of the small pools of the order entry and of disks whose every I/O costs the same."""
    shop = {"n_users": 16, "record_kib": 4, "n_disks": 4, "pool_fill": 0.2, "age": 0.1, "scale": 1024, "window_s": 0.5}
    for make in (lambda engine: exchange.engines(exchange.setup(seconds=2.0, engine=engine), 1),
                 lambda engine: order_entry_pool.engines(order_entry_machine.of_notebook(shop | {"engine": engine}), 1)):
        fast, exact = (by_engine(make(engine)) for engine in ("fast", "exact"))
        assert fast["engines.places"] == exact["engines.places"]
        assert (fast["engines.fast-share"], exact["engines.fast-share"]) == (100, 0)
        assert fast["engines.placed"] == exact["engines.placed"] > 1000


def test_a_pool_that_ages_once_for_both_rules_is_as_one_that_ages_for_each(small, monkeypatch):
    made, aged = [], exchange._aged
    monkeypatch.setattr(exchange, "_aged", lambda *of: made.append(of) or aged(*of))
    machine = exchange.setup(seconds=2.0, history="old rules")
    both = exchange.compare(machine, 1)
    assert (len(made), len(exchange._AGED)) == (1, 0)
    monkeypatch.setattr(exchange, "_MADE", ByKey())
    alone = exchange.run(machine, exchange.AFTER, 1)
    assert len(made) == 2
    assert alone.tally == both.after.tally != both.before.tally
    assert (alone.busy_ns == both.after.busy_ns).all()


def test_the_same_rules_gain_nothing(small):
    machine = exchange.setup(seconds=2.0)
    old = machine.rules[0]
    runs = exchange.compare(machine._replace(rules=(old, old)), 1)
    assert exchange.gain(runs) == 0
    assert catalogue.STUDY["06_exchange"]


def test_the_map_ages_a_pool_for_each_fill_and_set_of_rules(small, monkeypatch):
    """Threads that find more of their reads at hand transfer more, on the same pool."""
    made, aged = [], exchange._aged
    monkeypatch.setattr(exchange, "_aged", lambda *of: made.append(of[0].orders.n_records) or aged(*of))
    gains = exchange.gain_map(2.0, [0.0, 0.6], [0.2, 0.4], [1])
    assert sorted(made) == sorted(2 * sorted(set(made)))
    assert len(set(made)) == 2
    assert gains.iloc[:, :3].to_numpy().tolist() == [[0.0, 0.2, 1], [0.6, 0.2, 1], [0.0, 0.4, 1], [0.6, 0.4, 1]]
    machine = exchange.setup(seconds=2.0, pool_fill=0.4)
    others = [machine._replace(orders=machine.orders._replace(cached=hits)) for hits in (0.0, 0.6)]
    old, new = ([exchange.quantities(seen, machine)[exchange.TRANSFERS] for seen in exchange._on_one_pool(
        machine, others, rules, 1)] for rules in machine.rules)
    assert old[1] > 1.2 * old[0]
    assert gains.gain[2:].tolist() == pytest.approx([100 * (b / a - 1) for a, b in zip(old, new, strict=True)])


@pytest.mark.slow
def test_a_point_of_the_map_does_not_depend_on_the_others(small):
    """Each finds the aged pool as it was, whoever was measured on it before."""
    alone = exchange.gain_map(2.0, [0.6], [0.2], [2])
    among = exchange.gain_map(2.0, [0.0, 0.9, 0.6], [0.4, 0.2], [1, 2])
    point = among[(among.cache_hits == 0.6) & (among.pool_fill == 0.2) & (among.seed == 2)]
    assert point.gain.tolist() == alone.gain.tolist()


@pytest.mark.slow
def test_a_draw_whose_pool_has_no_room_is_left_out_and_other_failures_are_not(once, monkeypatch):
    honest = exchange.run

    full = PoolFull("1 of 1 B are taken")

    def run(machine, variant, seed, error=full):
        if seed == 3:
            raise error
        return honest(machine, variant, seed)
    monkeypatch.setattr(exchange, "run", run)
    results = exchange.predict(2.0, 2, 2, 1)
    assert claim_predictions.n_draws(results) == 1
    assert results["after/exchange.gain"].notna().all()
    monkeypatch.setattr(exchange, "run", lambda *case: run(*case, error=ValueError("nothing was written")))
    with pytest.raises(ValueError, match="nothing was written"):
        exchange.predict(2.0, 2, 2, 1)


@pytest.mark.parametrize(("notebook", "fill_of"), [
    ("06_exchange", lambda values: exchange_machine.with_values(20.0, values).pool_fill),
    ("04_oltp_gain", lambda values: order_entry_machine.with_values(values, n_users=64, record_kib=4, scale=128,
                                                                    window_s=13.0).pool_fill)])
def test_the_machine_that_a_search_found_has_the_fill_that_is_simulated(notebook, fill_of):
    """A fill with too little mail counts as the least that there may be, and is printed so."""
    values = nearest_machine.read(notebook).values
    assert fill_of(values) == pytest.approx(values["pool_fill"], rel=0.01)
