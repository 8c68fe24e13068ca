"""What a fast I/O costs: prices, latencies from data sheets, pools of several kinds."""
import matplotlib.figure
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from study.documents import published
from study.errors import UserError
from study.experiments.tiers_2009 import devices, hybrids, prices
from study.experiments.tiers_2009.prices import Point
from study.figures import tiers as pictures

LOAD = hybrids.Load(working_set_gib=8, read_share=0.8, users=16, seconds=1.0)
NUMBERS = st.floats(1, 1000)


def test_the_file_of_2009_is_the_slides_table_and_its_two_prices_differ():
    run = next(run for run in published.runs() if run.run_id == "rajadurai-2009/price-table")
    numbers = dict(zip(run.metrics.name, run.metrics.value, strict=True))
    of_slides = [each for each in prices.read("2009").technology if each.name in devices.TECHNOLOGIES]
    assert len(of_slides) == 5
    for each in of_slides:
        for mine, theirs in (("gb", "capacity"), ("iops", "iops"), ("price_per_iops", "price_per_iops"),
                             ("price_per_gb", "price_per_gb")):
            assert getattr(each, mine) == numbers[f"{each.name}.{theirs}"]
    disk = prices.read("2009").of("disk").prices()
    assert disk == {prices.BY_CAPACITY: pytest.approx(390), prices.BY_IOS: pytest.approx(760)}


@pytest.mark.parametrize("name", prices.names())
def test_every_file_prices_a_pool_and_more_of_anything_costs_more(name):
    list_of, least = prices.read(name), Point(1, 0, 0, 1.0)
    for more in (least._replace(disks=2), least._replace(log=1), least._replace(cache=1), least._replace(memory_gib=2.0)):
        assert prices.cost(list_of, more) > prices.cost(list_of, least) > 0


def test_what_is_wrong_with_a_file_is_told_at_once(monkeypatch, tmp_path):
    bad = tmp_path / "bad.toml"
    bad.write_text('title = "x"\ncurrency = "$"\nyears = 0\n'
                   '[[technology]]\nname = "a"\nrole = "disk"\ngb = -1\nsource = "s"\n')
    monkeypatch.setattr(prices, "data_file", lambda name: bad)
    monkeypatch.setattr(prices, "names", lambda: ["bad"])
    with pytest.raises(UserError) as caught:
        prices.read("bad")
    assert all(word in str(caught.value) for word in ("years is 0", "gb is -1"))
    with pytest.raises(UserError, match="there is no file '1999'"):
        prices.read("1999")


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=12))
@settings(max_examples=80, deadline=None)
def test_the_frontier_is_what_nobody_beats(points):
    costs, rates = map(list, zip(*points, strict=True))
    best = hybrids.frontier(costs, rates)
    assert any(best)
    for i, (cost, rate) in enumerate(points):
        beaten = [(c, r) for c, r in points if c <= cost and r >= rate and (c, r) != (cost, rate)]
        assert best[i] == (not beaten)


def test_more_memory_or_a_log_device_is_no_slower_and_other_prices_move_costs_alone():
    grid = (Point(2, 0, 0, 4), Point(2, 0, 0, 16), Point(2, 1, 0, 16))
    both = hybrids.run(["2009"], LOAD, 1, grid)
    assert all(of_disk.tps.is_monotonic_increasing for _, of_disk in both.groupby("disk"))
    runs = both[both.disk == "performance-hdd"]
    list_of = prices.read("2009")
    mine, cheaper = hybrids.priced(runs, list_of), hybrids.priced(runs, list_of.with_costs(memory=1.0))
    assert sorted(mine.tps) == sorted(cheaper.tps)
    assert cheaper.cost.sum() < mine.cost.sum()
    assert (mine.per_million * mine.tps * 3 * 365 * 86400 / 1e6).tolist() == pytest.approx(mine.cost.tolist())


def test_pools_are_of_each_kind_of_disk_at_its_cheapest_and_other_prices_are_of_the_faster_one():
    list_of = prices.read("2009")
    assert [each.name for each in list_of.disks()] == ["sata-1tb", "performance-hdd"]
    assert list_of.named("") == list_of.of("disk") == list_of.named("performance-hdd")
    capacity = Point(2, 0, 0, 4.0, "sata-1tb")
    assert prices.cost(list_of, capacity) < prices.cost(list_of, capacity._replace(disk=""))
    dearer = list_of.with_costs(disk=2.6)
    assert prices.cost(dearer, capacity) == prices.cost(list_of, capacity)
    assert prices.cost(dearer, capacity._replace(disk="")) == pytest.approx(
        prices.cost(list_of, capacity._replace(disk="")) + 2 * 390)


def test_a_cache_device_takes_reads_from_disks_and_leaves_them_the_writes():
    runs = hybrids.run(["2009"], LOAD, 1, (Point(2, 1, 0, 4), Point(2, 1, 1, 4)))
    of_both = hybrids.served(runs[runs.disk == "performance-hdd"], "2009", 4)
    assert of_both["cache reads"].tolist()[0] == 0 < of_both["cache reads"].tolist()[1]
    assert of_both["disk reads"].tolist()[1] < of_both["disk reads"].tolist()[0]
    assert (of_both["I/Os a second of a disk"] > 0).all()


def test_a_load_that_cannot_be_is_one_sentence():
    with pytest.raises(UserError) as caught:
        hybrids.check(hybrids.Load(0, 1.5, 0, -1))
    assert all(word in str(caught.value) for word in ("working_set_gib is 0", "read_share is 1.5", "users is 0",
                                                      "seconds is -1"))


def test_latencies_are_those_of_the_sheets_and_of_nothing_printed():
    values = devices.known().central()
    alone = devices.response_us("sata-7k2-1tb", values)
    assert alone == pytest.approx((0.3 + 8.5 + 60e3 / 7200 / 2) * 1e3, rel=0.01)
    assert devices.response_us("sata-7k2-1tb", values | {"under_way": 4}) == pytest.approx(4 * alone, rel=0.02)
    assert devices.response_us("x25-e", values) == pytest.approx(75 + values["miss_ns"] / 1e3)
    write_us = devices.quantities(values)["ssd-write.response"] - values["miss_ns"] / 1e3
    four_us = devices.write_us("x25-e", values | {"under_way": 4, "miss_ns": 0})
    assert write_us == pytest.approx(four_us / 4 * values["under_way"])


def test_littles_law_of_the_printed_table():
    table = devices.printed().set_index("technology")
    assert table.under_way["capacity-hdd"] == pytest.approx(3)
    assert table.times_dram["dram"] == 1


def test_figures_are_drawn():
    table = pd.DataFrame([(2, 0, 0, 4, "slow", 50.0, 1000.0, True), (2, 1, 1, 16, "fast", 900.0, 2000.0, True)],
                         columns=["disks", "log", "cache", "memory_gib", "disk", "tps", "cost", "best"])
    of_table = prices.table(prices.read("2009"))
    scale = pd.DataFrame([("a", 10.0, 5.0, 20.0)], columns=["technology", "printed", "low", "high"])
    for figure in (pictures.frontier(table), pictures.scale(scale),
                   pictures.two_prices(of_table, prices.BY_CAPACITY, prices.BY_IOS)):
        assert isinstance(figure, matplotlib.figure.Figure)
