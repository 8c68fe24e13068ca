"""What sliders draw is whole: five digits, long names and ends of scales cut no title, key or mark."""
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from study import drawing
from study.figures import advice, exchange, ladders, vdev_cache
from study.figures import filebench_oltp as filebench_oltp_pictures
from study.figures import free_space as free_space_pictures
from study.figures import sequential_reads as sequential_reads_pictures
from study.figures import tiers as pictures
from study.runs import sliders
from support.pictures import edge_is_white

NOTE = "Two draws, 1500 transactions a run. The ladder above has 6 draws and up to 8000."


def oltp(seconds, rate):
    run = SimpleNamespace(per_second=np.full((3, seconds), rate / 3))
    return SimpleNamespace(items=lambda: (("before", run), ("after", run)),
                           machine=SimpleNamespace(settings=SimpleNamespace(duration_ns=seconds * 1e9)))


def reads(seconds, rate):
    return pd.DataFrame([(variant, t, rate) for variant in ("before", "after") for t in range(1, seconds + 1)],
                        columns=["variant", "t", "mib_per_s"])


def cache(limit):
    rule = SimpleNamespace(key="old", label="every small read fills (to onnv_69)")
    run = SimpleNamespace(rule=rule, time_s=np.arange(9.0), metadata_lines=np.full(9, limit // 2), limit=limit,
                          data_lines=np.full(9, limit - limit // 2), answered=1.0, kib_per_record=146.3)
    return [run, run]


def writes(blocks):
    return pd.DataFrame({"turnovers": [0.0, 1.0, 2.0] * 2, "rule": ["old rules"] * 3 + ["new rules"] * 3,
                         "blocks": [1.0, blocks, blocks] * 2})


def pool(kib):
    return pd.DataFrame([(era, percent, kib) for era in exchange.ERA_LOOK for percent in (20, 50, 80)],
                        columns=["era", "fragmentation", "kib"])


def ladder(rate):
    return pd.DataFrame({"rung": ["as it is", "a separate intent log on a fast SSD of the drawer", "records of 8 KiB"],
                         "low": rate / 1000, "tps": rate / 30, "high": rate})


def gains(low, high):
    return pd.DataFrame({"step": ["only metadata in the ARC", "records of 8 KiB, the page of the database"],
                         "low": [low, 1.0], "middle": [low, 2.0], "high": [high, 5.0], "is_safe": [False, True]})


CASES = [
    (lambda runs: filebench_oltp_pictures.throughput(runs, {"before": 123_456.0, "after": 234_567.0}), oltp(10, 234_567)),
    (lambda runs: filebench_oltp_pictures.throughput(runs, {"before": 1.0, "after": 1.0}), oltp(1, 1)),
    (sequential_reads_pictures.throughput, reads(120, 123_456.0)), (sequential_reads_pictures.throughput, reads(1, 1.0)),
    (vdev_cache.lines_over_time, cache(160)), (vdev_cache.lines_over_time, cache(0)),
    (vdev_cache.lines_over_time, cache(12_800)),
    (lambda table: free_space_pictures.over_time(table, [(8, np.inf), (1, 2)]), writes(32.0)),
    (lambda table: free_space_pictures.over_time(table, [(8, np.inf), (1, 2)]), writes(1.0)),
    (lambda table: exchange.pool_forecast(table, 128.0), pool(128.0)),
    (lambda table: exchange.pool_forecast(table, 128.0), pool(4.0)),
    (lambda table: ladders.rates(table, [50.0, 70.0, 5000.0], [1.0, 2e5, 2e5]),
     pd.DataFrame({"rung": [1, 2, 3], "rate": [1, 9, 123_456]})),
    (advice.ladder, ladder(1_234_567.0)), (advice.ladder, ladder(3.0)), (advice.gains, gains(-80.0, -75.0)),
    (advice.gains, gains(-1.0, 1900.0)),
]


@pytest.mark.slow
@pytest.mark.parametrize("width", drawing.WIDTHS_IN)
@pytest.mark.parametrize("note", ["", NOTE])
@pytest.mark.parametrize(("draw", "data"), CASES)
def test_nothing_is_cut(draw, data, note, width):
    assert edge_is_white(drawing.render(sliders._noted(draw, note), data, width=width, formats=("png",))["png"])


@pytest.mark.parametrize("table", [gains(-80.0, -75.0), gains(-1.0, 1900.0)])
def test_the_outermost_gain_keeps_clear_of_the_axis_and_each_colour_has_a_key(table):
    figure = advice.gains(table)
    axes, = figure.axes
    left, right, lowest, highest = axes.transScale.transform(
        [(x, 0) for x in (*axes.get_xlim(), table.low.min(), table.high.max())])[:, 0]
    assert min(lowest - left, right - highest) > 0.02 * (right - left)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["safe", "trades safety"]
    assert len(advice.gains(table[table.is_safe]).legends[0].get_texts()) == 1


def test_an_edge_that_cuts_is_seen():
    def draw():
        figure, axes = drawing.canvas()
        axes.set_title("a title far too long for the column of a paper, with numbers of five digits, 12345", loc="left")
        return figure
    assert not edge_is_white(drawing.render(draw, formats=("png",))["png"])


@pytest.mark.parametrize(("draw", "data"), [CASES[1], CASES[3]])
def test_a_run_of_one_second_leaves_a_mark(draw, data):
    axes, = draw(data).axes
    assert all(line.get_marker() == "o" for line in axes.lines)


@pytest.mark.parametrize(("draw", "data"), [CASES[1], CASES[3]])
def test_a_mark_of_one_second_keeps_clear_of_the_ends_of_its_axes(draw, data):
    """Time was from 0.96 to 1.04 s, and the upper end cut the mark in two."""
    axes, = draw(data).axes
    assert list(axes.get_xticks()) == [0, 1, 2]
    assert axes.get_xlim() == (0, 2)
    assert axes.get_ylim()[0] == 0
    assert axes.get_ylim()[1] > 1.05 * max(max(line.get_ydata()) for line in axes.lines)


@pytest.mark.parametrize("cheapest", [8.0, 230.0, 600.0])
def test_prices_have_ticks_where_the_cheapest_pools_are(cheapest):
    """Below 250 $ there was none."""
    pools = pd.DataFrame([(2, log, 0, gib, "a", 100.0 * gib, cheapest * gib**2 + 5000 * log, not log)
                          for log in (0, 1) for gib in (1, 4)],
                         columns=["disks", "log", "cache", "memory_gib", "disk", "tps", "cost", "best"])
    axes, = pictures.frontier(pools).axes
    ticks = [tick for tick in axes.get_xticks() if axes.get_xlim()[0] <= tick <= axes.get_xlim()[1]]
    assert len(ticks) >= 2
    assert min(ticks) < 3 * cheapest


@pytest.mark.parametrize(("draw", "data", "key"), [(*CASES[7], "published: good"), (*CASES[9], "the largest I/O"),
                                                   (*CASES[11], "longer runs")])
def test_lines_and_bands_have_a_key(draw, data, key):
    assert any(key in text.get_text() for text in draw(data).legends[0].get_texts())
