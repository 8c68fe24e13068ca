"""Figures of sequential readers show what was recorded."""
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from model.simulations.sequential_reads.state import COPYING, ISSUING, STALLED, WAITING
from study import drawing
from study.drawing import render
from study.experiments.vdev_cache_2007.timeline import Timeline
from study.figures.sequential_reads import one_disk, stall_timeline, throughput, time_budget

MS = 10**6
ROWS = np.array([[0, 10 * MS, COPYING, -1], [10 * MS, 12 * MS, ISSUING, -1], [12 * MS, 40 * MS, STALLED, 77],
                 [40 * MS, 60 * MS, WAITING, -1], [60 * MS, 90 * MS, COPYING, -1], [90 * MS, 400 * MS, STALLED, 78]])


def test_a_window_of_a_timeline_is_cut_counted_and_drawn():
    figure = stall_timeline([Timeline("on", ROWS), Timeline("off", ROWS[:2])], 0.005, 0.1)
    on, off = figure.axes
    assert on.get_title(loc="left") == "on\n2 MiB copied, 2 stalls, 43 % of the time"     # 28 and 15 of 100 ms
    assert off.get_title(loc="left") == "off\n1 MiB copied, 0 stalls, 0 % of the time"
    drawn = sum(np.ptp(path.vertices[:, 0]) for bars in on.collections for path in bars.get_paths())
    assert drawn == pytest.approx(100)
    assert on.get_xlim() == (0, 100)


def test_a_window_of_a_disk_shows_its_commands():
    commands = np.array([[i * MS, (i + 1) * MS, i * 2**20, 2**17 if i % 3 else 1536, 1 + i % 4, i % 2] for i in range(90)])
    figure = one_disk(commands, 0.01, 0.05)
    above, below = figure.axes
    assert sum(len(points.get_offsets()) for points in above.collections) == 50
    assert (below.lines[0].get_ydata() == commands[10:60, 4]).all()


def test_figures_come_out_the_same_and_legible():
    first, second = (render(stall_timeline, [Timeline("on", ROWS)], start_s=0.0, formats=("svg",))["svg"] for _ in range(2))
    assert first == second
    source = (Path(drawing.__file__).parent / "figures/sequential_reads.py").read_text(encoding="utf-8")
    assert all(float(size) >= 7 for size in re.findall(r"fontsize=([\d.]+)", source))


def test_a_bar_is_as_long_as_a_read():
    table = pd.DataFrame({"step": ["on", "off"], "mib_per_s": [2000.0, 1500.0], "reader.copying": [1.0, 1.0],
                          "reader.issuing": [0.2, 0.2], "reader.waiting": [0.8, 0.0], "reader.stalled": [0.0, 1.5]})
    axes, = time_budget(table).axes
    ends = {round(bar.get_y(), 3): max(part.get_x() + part.get_width() for part in axes.patches
                                       if part.get_y() == bar.get_y()) for bar in axes.patches}
    assert sorted(ends.values()) == pytest.approx([2.0, 2.7])
    assert [text.get_text() for text in axes.texts] == ["2000 MiB/s", "1500 MiB/s"]


def test_the_seconds_stand_on_the_figure():
    table = pd.DataFrame({"variant": ["before"] * 3 + ["after"] * 3, "t": [1, 2, 3] * 2,
                          "mib_per_s": [100.0] * 3 + [75.0] * 3})
    axes, = throughput(table).axes
    assert axes.get_title(loc="left") == "a run of 3 s: -25.0 % without the cache"
