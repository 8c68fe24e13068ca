"""Figures are files that come out the same, with fonts that travel."""
import io
import itertools
import re
from pathlib import Path
from types import SimpleNamespace

import matplotlib
import numpy as np
import pandas as pd
import pytest
from PIL import Image

from study import drawing
from study.drawing import STYLE, canvas, ratio_ticks, render
from study.figures import correlation as correlation_pictures
from study.figures import ladders, order_entry
from study.figures import predictions as prediction_pictures


def line(data, scale=1.0):
    figure, axes = canvas()
    axes.plot(data, scale * data, label="a line")
    axes.set_xlabel("time (s)")
    axes.legend()
    return figure


@pytest.mark.slow
@pytest.mark.parametrize("form", drawing.FORMATS)
def test_the_same_data_give_the_same_bytes(form):
    first, second = (render(line, np.arange(5.0), formats=(form,))[form] for _ in range(2))
    assert first == second
    assert first != render(line, np.arange(5.0), formats=(form,), scale=2.0)[form]


def test_what_two_runs_drew_alike_is_the_same_picture(tmp_path):
    files = [tmp_path / name for name in ("a.png", "b.png", "other.png")]
    for file, made_by, scale in zip(files, ("run a", "run b", "run a"), (1.0, 1.0, 2.0), strict=True):
        file.write_bytes(render(line, np.arange(5.0), formats=("png",), made_by=made_by, scale=scale)["png"])
    assert files[0].read_bytes() != files[1].read_bytes()
    assert drawing.same_pixels(files[0], files[1])
    assert not drawing.same_pixels(files[0], files[2])


def test_pdf_embeds_truetype_fonts_and_no_date():
    pdf = render(line, np.arange(5.0), formats=("pdf",))["pdf"]
    assert b"/Type3" not in pdf
    assert b"CreationDate" not in pdf


def test_widths_are_those_of_column_and_page():
    for width, inches in drawing.WIDTHS_IN.items():
        svg = render(line, np.arange(5.0), width=width, formats=("svg",))["svg"].decode()
        assert f'width="{inches * 72:g}pt"' in svg


def size_of(png):
    return Image.open(io.BytesIO(png)).size


def test_a_picture_on_a_screen_is_that_of_a_page_and_a_map_grows_with_its_width():
    def drawn(is_map):
        figure, axes = drawing.canvas(aspect=0.9, is_map=is_map)
        axes.imshow(np.eye(9))
        return figure
    plain, a_map = (size_of(drawing.on_screen(drawn, is_map)) for is_map in (False, True))
    assert plain == size_of(render(drawn, False, width="page", formats=("png",))["png"])
    assert plain[0] == a_map[0] == drawing.SCREEN_PX
    assert a_map[1] == pytest.approx(0.9 * a_map[0], abs=1)
    for width in drawing.WIDTHS_IN:     # what is exported
        assert len({size_of(render(drawn, is_map, width=width, formats=("png",))["png"]) for is_map in (False, True)}) == 1


def test_fonts_stay_legible_at_column_width(monkeypatch):
    """No text of any figure of the study is smaller than 7 pt when it is as wide as a column."""
    for path in [Path(drawing.__file__), *Path(drawing.__file__).parent.glob("figures/*.py")]:
        sizes = re.findall(r"(?:font|label)size=([\d.]+)", path.read_text())
        assert all(float(size) >= 7 for size in sizes), path
    assert min(size for name, size in drawing.STYLE.items() if name.endswith("size")) >= 7


def test_drawing_leaves_no_trace_in_matplotlibs_settings():
    before = dict(matplotlib.rcParams)
    render(line, np.arange(3.0), formats=("png",))
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize(("low", "high", "ticks"), [
    (0.3, 11, [0.5, 1, 2, 5, 10]), (0.9, 1.1, [0.9, 1, 1.1]), (0.01, 139, [0.01, 0.1, 1, 10, 100]),
    (0.1, 10, [0.1, 0.2, 0.5, 1, 2, 5, 10])])
def test_ticks_of_ratios_are_round_and_few(low, high, ticks):
    _, axes = canvas()
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    ratio_ticks(axes.xaxis)
    assert axes.get_xticks().tolist() == pytest.approx(ticks)
    assert [label.get_text() for label in axes.get_xticklabels()] == [f"{tick:g}" for tick in ticks]
    assert not len(axes.get_xticks(minor=True))
    assert axes.get_xlim() == pytest.approx((low, high))


@pytest.mark.slow
@pytest.mark.parametrize("low", [0.011, 0.21, 0.55, 0.9, 1.05, 2.1, 5.1, 0.999])
@pytest.mark.parametrize("wide", [1.05, 1.2, 1.727, 1.81, 2.33, 4.7, 9, 45, 99, 101, 1e4])
def test_ticks_of_ratios_are_two_or_more_and_do_not_touch(low, wide):
    figure, axes = canvas()
    axes.set_xscale("log")
    axes.set_xlim(low, low * wide)
    ratio_ticks(axes.xaxis)
    figure.draw_without_rendering()
    places = [label.get_window_extent() for label in axes.get_xticklabels()]
    assert len(places) >= 2
    assert all(left.x1 < right.x0 for left, right in itertools.pairwise(places))


@pytest.mark.parametrize(("low", "high", "n_rungs"), [
    (480.0, 5000.0, 5), (60.0, 4000.0, 6), (900.0, 1100.0, 5), (30.0, 900.0, 6), (140.0, 5000.0, 5)])
def test_each_panel_of_readings_has_two_labels_that_do_not_touch(low, high, n_rungs):
    rows = [(i, rung, *np.multiply(rate, (0.99, 1, 1.01))) for i, rate in enumerate((low, high)) for rung in range(n_rungs)]
    table = pd.DataFrame(rows, columns=["reading", "rung", "low", "middle", "high"])
    with matplotlib.rc_context(STYLE):
        figure = ladders.every_reading(table, ["a", "b"], [low] * n_rungs, "legend")
        figure.draw_without_rendering()
        places = [[label.get_window_extent() for label in axes.get_xticklabels()] for axes in figure.axes]
    assert all(len(labels) >= 2 for labels in places)
    assert all(left.x1 < right.x0 for labels in places for left, right in itertools.pairwise(labels))


def test_an_outlier_does_not_squeeze_the_response_times_of_the_others():
    times = np.concatenate([np.linspace(5.0, 20.0, 9_999), [1e6]])
    axes, = ladders.response_cdf([("first", times), ("second", 2 * times)]).axes
    low, high = axes.get_xlim()
    assert 4.0 * 0.9 < low < 5.1
    assert 40.0 <= high < 60.0
    assert axes.get_ylim()[1] > 1.0        # the end of a curve is not cut


def test_intervals_have_a_key_for_each_mark():
    table = pd.DataFrame({"what": ["a", "b"], "low": [1.0, 2.0], "middle": [2.0, 3.0], "high": [3.0, 4.0]})
    key, = prediction_pictures.intervals(table, 2.5, "gain (%)").legends
    assert [text.get_text() for text in key.get_texts()] == ["published", "5 to 95 %", "middle"]


def test_no_number_of_a_machine_lies_off_the_axis():
    table = pd.DataFrame({"number": ["a/rate", "b/rate", "c/rate"], "printed": [10.0, 10.0, 0.0], "least": [1.0, 20.0, 0.0],
                          "mean": [2.0, 25.0, 0.0], "most": [3.0, 40.0, 0.0]})
    axes, = prediction_pictures.nearest(table, {"a/rate": "first"}, 1.4).axes
    low, high = axes.get_xlim()
    assert low < 0.1 < 4.0 < high
    assert [label.get_text() for label in axes.get_yticklabels()] == ["first", "b\nrate"]    # a printed 0 has no ratio


def test_a_mark_beyond_the_axes_stands_at_their_edge_with_its_numbers():
    falls, gains = [80.0, 70, 75, 78, 60, 82, -142, -53, 66], [50.0, 60, 90, 80, 70, 65, 19, -11, 509]
    results = pd.DataFrame({"part": "all", "after/throughput.gain": gains, "after/variability.reduction": falls})
    axes, = order_entry.draws(results, (50.0, 70.0)).axes
    x, y = axes.lines[0].get_data()
    foot = axes.get_ylim()[0]
    assert all(shown == fall if fall > 0 else foot < shown < foot + 10 for shown, fall in zip(y, falls, strict=True))
    assert x[-1] == max(x) < 509
    assert {text.get_text() for text in axes.texts} == {"↓ −11, −53", "↓ 19, −142", "→ 509, 66"}


def test_names_of_two_series_do_not_touch():
    table = pd.DataFrame({"database.tps": [1.0, 2, 3], "appliance.io_size": [3.0, 1, 2]})
    table.attrs["units"] = {"database.tps": "1/s", "appliance.io_size": "B"}
    analysis = SimpleNamespace(table=table, outcome="database.tps", statistic="appliance.io_size",
                               row=SimpleNamespace(n_eff=3))
    figure = correlation_pictures.over_runs(analysis)
    figure.draw_without_rendering()
    above, below = (axes.get_tightbbox() for axes in figure.axes)      # with all their words
    assert above.y0 > below.y1 > below.y0 >= 0
    assert min(above.x0, below.x0) >= 0
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["transactions a second", "size of I/Os (B)"]
