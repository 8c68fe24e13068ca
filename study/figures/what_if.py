"""The figure of two change requests of 2007 that were never built: rules 7 and 8 of `model.zfs.vdev.queue`."""
import itertools
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Annotation

from study.drawing import BLUE, GREEN, GREY, ORANGE, canvas

Side = tuple[float, float, Literal["left", "right", "center"], Literal["center", "bottom", "top"]]
LOOKS: tuple[dict[str, Any], ...] = (
         {"color": BLUE, "marker": "o", "ms": 3, "lw": 0.8},
         {"color": ORANGE, "marker": "s", "ms": 4, "ls": ""},
         {"color": GREEN, "marker": "^", "ms": 4.5, "ls": ""})
# Where a label may stand: (x, y, horizontal, vertical alignment), near its point or, with a line to it, further off.
SIDES: tuple[Side, ...] = (
         (1, 0, "left", "center"), (-1, 0, "right", "center"), (0, 1, "center", "bottom"), (0, -1, "center", "top"),
         (0.8, 0.8, "left", "bottom"), (-0.8, 0.8, "right", "bottom"), (0.8, -0.8, "left", "top"),
         (-0.8, -0.8, "right", "top"))
DISTANCES_PT = (4.0, 12.0, 20.0, 30.0)
LEADER = {"arrowstyle": "-", "lw": 0.4, "color": GREY, "shrinkA": 0, "shrinkB": 1}
MARK_PX = 3


def _overlap(first: np.ndarray, second: np.ndarray) -> float:
    """Area that two boxes (x0, y0, x1, y1) share."""
    width, height = np.minimum(first[2:], second[2:]) - np.maximum(first[:2], second[:2])
    return max(width, 0) * max(height, 0)


def _squares(points: np.ndarray, half: float) -> list[np.ndarray]:
    return [np.concatenate((point - half, point + half)) for point in points]


def _write(axes: Axes, setting: str, point: tuple[float, float], colour: str, distance: float, side: Side) -> Annotation:
    """A setting at a place beside its point."""
    x, y, horizontal, vertical = side
    text = axes.annotate(setting, point, (distance * x, distance * y),
                         textcoords="offset points", ha=horizontal, va=vertical, fontsize=7, color=colour)
    text.set_in_layout(False)
    return text


def _label(figure: Figure, axes: Axes, table: pd.DataFrame, line: np.ndarray, colours: dict[str, str]) -> None:
    """Write every setting beside its point, at the first place where it hides least. `line` is what to keep clear of."""
    figure.draw_without_rendering()          # from here on, data have their place on the paper
    along = np.linspace(0, len(line) - 1, 20 * len(line))
    path = np.column_stack([np.interp(along, range(len(line)), values) for values in line.T])
    points = axes.transData.transform(table[["operations_per_s", "p99_ms"]].to_numpy())
    taken = _squares(points, MARK_PX) + _squares(axes.transData.transform(path), 1)
    frame = np.array(axes.get_window_extent().extents)
    for row, point in zip(table.itertuples(), points, strict=True):
        places: list[tuple[int, int, float, Side, list[np.ndarray]]] = []
        at = row.operations_per_s, row.p99_ms
        for distance, side in itertools.product(DISTANCES_PT, SIDES):
            text = _write(axes, row.setting, at, colours[row.rule], distance, side)
            box = np.array(text.get_window_extent().extents)
            text.remove()
            end = point + distance * np.array(side[:2]) * figure.dpi / 72
            leader = _squares(np.linspace(point, end, 12)[3:], 1) if distance > DISTANCES_PT[0] else []
            hidden = float(np.prod(box[2:] - box[:2])) - _overlap(box, frame)
            hidden += sum(_overlap(part, obstacle) for part in [box, *leader] for obstacle in taken)
            places.append((round(hidden), len(places), distance, side, [box, *leader]))
        _, _, distance, side, boxes = min(places, key=lambda place: place[:2])
        _write(axes, row.setting, at, colours[row.rule], distance, side)
        taken += boxes
        if distance > DISTANCES_PT[0]:
            axes.annotate("", at, (0.8 * distance * side[0], 0.8 * distance * side[1]),
                          textcoords="offset points", arrowprops=LEADER).set_in_layout(False)


def what_if(table: pd.DataFrame) -> Figure:
    """Throughput against the slowest reads (frame: rule, setting, operations_per_s, p99_ms). The first rule is
    what was built, in order of its setting: a line; the others are marks, every one labelled with its setting."""
    figure, axes = canvas(aspect=1.05)
    groups = list(table.groupby("rule", sort=False))
    for (rule, rows), look in zip(groups, LOOKS, strict=False):
        axes.plot(rows.operations_per_s, rows.p99_ms, label=rule, **look)
    axes.set_xlabel("operations per second")
    axes.set_ylabel("read response time, 99th percentile (ms)")
    axes.margins(0.1)
    axes.locator_params(axis="x", nbins=5)
    axes.set_title("better is right and down", loc="right", fontsize=7, color=GREY)
    figure.legend(loc="outside lower center", ncols=1, handlelength=1.6)
    line = groups[0][1][["operations_per_s", "p99_ms"]].to_numpy()
    _label(figure, axes, table, line, {rule: look["color"] for (rule, _), look in zip(groups, LOOKS, strict=False)})
    return figure
