"""Figures of ladders: every rung under every reading, which choices hold what was published, times of response."""
from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from study.drawing import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SKY, canvas, ratio_ticks

COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, RED)


def every_reading(table: pd.DataFrame, labels: list[str], published: list[float], legend: str) -> Figure:
    """A panel for each rung, a line for each reading (frame: reading, rung, low, middle, high), and a dashed line for the
    published rate. Readings with one label, which is the choice of one switch, lie together and have one colour."""
    n, names = len(labels), list(dict.fromkeys(labels))
    places = np.argsort(np.argsort([names.index(label) * n + i for i, label in enumerate(labels)]))
    figure, panels = canvas(aspect=1.15, columns=len(published), sharey=True)
    low, high = 0.8 * min(table.low.min(), *published), 1.25 * max(table.high.max(), *published)
    for rung, (axes, rate) in enumerate(zip(panels, published, strict=True)):
        rows = table[table.rung == rung].sort_values("reading")
        colours = [COLOURS[names.index(label) % len(COLOURS)] for label in labels]
        axes.hlines(places, rows.low, rows.high * 1.02, colors=colours, lw=max(0.5, 110 / n))
        axes.axvline(rate, color=BLACK, lw=0.8, ls="--")
        axes.plot([rate], [-0.03 * n], "D", color=BLACK, ms=3, clip_on=False)
        axes.set_xscale("log")
        axes.set_xlim(low, high)
        ratio_ticks(axes.xaxis, decades=1.5)
        axes.tick_params(axis="x", rotation=90)
        axes.tick_params(axis="y", length=0)
        axes.set_title(f"{rung + 1}")
    panels[0].set_yticks([])
    panels[0].set_ylim(n - 0.5, -0.06 * n)
    panels[0].set_ylabel(f"{n} readings, a line each")
    panels[len(published) // 2].set_xlabel("transactions per second, by rung")
    for i, name in enumerate(names):
        panels[0].plot([], [], "-", lw=3, color=COLOURS[i % len(COLOURS)], label=name)
    panels[0].plot([], [], "D", color=BLACK, ms=3, label="published")
    figure.legend(loc="outside lower center", ncols=2, fontsize=7, title=legend, title_fontsize=7, columnspacing=1)
    return figure


def map_of_choices(table: pd.DataFrame) -> Figure:
    """Rows: choices (frame: switch, choice, a column for each rung). A cell: the share (%) of the readings with that choice
    whose interval holds what was published."""
    cells = table.drop(columns=["switch", "choice"]).to_numpy(float)
    figure, axes = canvas(aspect=0.2 + 0.068 * len(table))
    axes.pcolormesh(cells, cmap="Blues", vmin=0, vmax=110, edgecolors="white", lw=0.5)
    for (row, column), value in np.ndenumerate(cells):
        axes.annotate(f"{value:.0f}", (column + 0.5, row + 0.5), ha="center", va="center", fontsize=7,
                      color="white" if value > 60 else BLACK)
    axes.set_yticks(np.arange(len(table)) + 0.5, [f"{cell.switch}: {cell.choice}" for cell in table.itertuples()])
    for row in np.flatnonzero(table.switch.to_numpy()[1:] != table.switch.to_numpy()[:-1]) + 1:
        axes.axhline(row, color=GREY, lw=0.8)
    axes.set_xticks(np.arange(cells.shape[1]) + 0.5, [str(i + 1) for i in range(cells.shape[1])])
    axes.invert_yaxis()
    axes.tick_params(length=0)
    axes.set_xlabel("rung", loc="left")
    axes.set_title("readings that hold its published rate (%)", loc="right", fontsize=7)
    return figure


def response_cdf(times: list[tuple[str, np.ndarray]]) -> Figure:
    """Shares of transactions that took at most so long: (label, times in ms), a curve each, with its 95 %. The axis
    leaves out one in a thousand on either side: the slowest would squeeze all others."""
    figure, axes = canvas(aspect=0.78)
    for i, (label, ms) in enumerate(times):
        sorted_ms = np.sort(ms)
        shown = np.unique(np.linspace(0, len(sorted_ms) - 1, 400).astype(int))
        colour = (BLUE, SKY, GREEN, ORANGE, RED, PURPLE)[i % 6]
        axes.plot(sorted_ms[shown], (shown + 1) / len(sorted_ms), color=colour, label=label)
        axes.plot([np.quantile(sorted_ms, 0.95)], [0.95], "v", color=colour, ms=4)
    axes.axhline(0.95, color=GREY, lw=0.5, ls=":")
    axes.plot([], [], "v", color=GREY, ms=4, label="95 % of its transactions")
    axes.set_xscale("log")
    ends = np.array([np.quantile(ms, (0.001, 0.999)) for _, ms in times])
    axes.set_xlim(0.8 * ends.min(), 1.25 * ends.max())
    ratio_ticks(axes.xaxis)
    axes.set_ylim(0, 1.03)
    axes.set_xlabel("response time (ms), 0.1 to 99.9 %")
    axes.set_ylabel("share of\ntransactions")
    figure.legend(loc="outside lower center", ncols=1, fontsize=7)
    return figure


def steps(table: pd.DataFrame) -> Figure:
    """What each rung does to the one before: rows of (rung, published, low, middle, high, dumb), all ratios."""
    figure, axes = canvas(aspect=0.2 + 0.1 * len(table))
    places = np.arange(len(table))[::-1]
    axes.axvline(1, color=GREY, lw=0.6, ls=":")
    axes.hlines(places, table.low, table.high, color=BLUE, lw=3, alpha=0.5)
    axes.plot(table.middle, places, "o", color=BLUE, ms=4, label="model, all readings, nothing fitted")
    axes.plot(table.dumb, places, "x", color=ORANGE, ms=5, label="I/Os of the price table")
    axes.plot(table.published, places, "D", color=BLACK, ms=4, label="published")
    axes.set_xscale("log")
    ratio_ticks(axes.xaxis)
    axes.set_yticks(places, table.rung)
    axes.set_ylim(-0.6, len(table) - 0.4)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("times the rate of the rung before")
    figure.legend(loc="outside lower center", ncols=2, fontsize=7, columnspacing=1)
    return figure


def rates(table: pd.DataFrame, published: list[float], longer: Sequence[float] = ()) -> Figure:
    """Transactions per second of each rung (frame: rung, rate) beside those published, and those of the `longer` runs that
    the notebook has made above."""
    figure, axes = canvas(aspect=0.66)
    places = np.arange(len(table))
    axes.plot(places, table.rate, "o-", color=BLUE, ms=5, lw=1, label="simulated")
    axes.plot(places, published, "D", color=BLACK, ms=4, label="published, on the slides' machine")
    if len(longer):
        axes.plot(places, longer, "s", color=GREY, ms=4, mfc="none", label="the longer runs above")
    axes.set_yscale("log")
    axes.margins(y=0.1)
    ratio_ticks(axes.yaxis)
    axes.set_xticks(places, table.rung)
    axes.tick_params(axis="x", length=0)
    axes.set_xlabel("rung")
    axes.set_ylabel("transactions per second")
    figure.legend(loc="outside lower center", ncols=2, columnspacing=1, handlelength=1.5)
    return figure
