"""Figures of Exchange show the tables they are given."""
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from study import drawing
from study.drawing import render
from study.figures.exchange import gain_map, pool_forecast, steps

STEPS = pd.DataFrame([("old", "old rules", 0.0, 10.0), ("threshold", "best fit later", 12.0, 20.0),
                      ("primary", "given up when fragmented", -8.0, 12.0)], columns=["key", "label", "gain", "write_kib"])
GAINS = pd.DataFrame([(0.0, 0.3, 1, 5.0), (0.9, 0.3, 1, 40.0), (0.0, 0.8, 1, -3.0), (0.9, 0.8, 1, 250.0)],
                     columns=["cache_hits", "pool_fill", "seed", "gain"])
POOL = pd.DataFrame([(era, percent, 128 / (1 + percent)) for era in ("b117", "b141_df") for percent in (5, 50, 95)],
                    columns=["era", "fragmentation", "kib"])


def test_a_bar_for_each_step_and_its_write():
    axes = steps(STEPS).axes[0]
    assert [bar.get_width() for bar in axes.patches] == STEPS.gain.tolist()
    assert [text.get_text() for text in axes.get_yticklabels()] == STEPS.label.tolist()
    assert [text.get_text() for text in axes.texts] == ["10 KiB", "20 KiB", "12 KiB"]


def test_each_cell_of_the_map_says_its_gain():
    axes, bar = gain_map(GAINS, 200.0, ("hits", "fill")).axes
    assert sorted(text.get_text() for text in axes.texts) == sorted(["+5", "+40", "-3", "+250"])
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("hits", "fill")
    assert bar.lines[-1].get_ydata()[0] == 200.0


def test_a_line_for_each_set_of_rules():
    axes = pool_forecast(POOL, 128.0).axes[0]
    assert [line.get_label() for line in axes.lines[:2]] == ["dynamic fit, 30 % (b117)", "dynamic fit, 4 %"]
    assert axes.lines[-1].get_ydata()[0] == 128.0


@pytest.mark.parametrize(("draw", "data"), [(steps, (STEPS,)), (gain_map, (GAINS, 200.0, ("a", "b"))),
                                            (pool_forecast, (POOL, 128.0))])
def test_figures_come_out_the_same(draw, data):
    first, second = (render(draw, *data, formats=("svg",))["svg"] for _ in range(2))
    assert first == second


def test_fonts_stay_legible():
    source = (Path(drawing.__file__).parent / "figures/exchange.py").read_text(encoding="utf-8")
    assert all(float(size) >= 7 for size in re.findall(r"fontsize=([\d.]+)", source))
    assert np.isfinite(GAINS.gain).all()
