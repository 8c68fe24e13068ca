"""Figures of advice: what each step of tuning gains on a machine, and the ladder of the safe ones."""
import textwrap

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from study.drawing import BLACK, BLUE, ORANGE, canvas, ratio_ticks

WIDE = 30                               # letters of a label
TICKS = (-80, -20, 0, 20, 100, 1000)    # %


def gains(table: pd.DataFrame) -> Figure:
    """Rows of (step, low, middle, high in %, is_safe): a bar from 5 to 95 % each, and a dot at the middle."""
    figure, axes = canvas(aspect=0.26 + 0.095 * len(table))
    places = np.arange(len(table))[::-1]
    colours = np.where(table.is_safe, BLUE, ORANGE)
    axes.set_xscale("symlog", linthresh=20)     # before the marks, as margins are of the scale when they come
    axes.use_sticky_edges = False               # a bar that begins at the edge would lose its dot
    axes.barh(places, table.high - table.low, left=table.low, height=0.5, color=colours, alpha=0.45, lw=0)
    axes.scatter(table.middle, places, c=colours, s=14, zorder=3)
    for colour, label in ((BLUE, "safe"), (ORANGE, "trades safety")):
        if colour in colours:
            axes.plot([], [], "o", color=colour, ms=3.5, label=label)
    axes.axvline(0, color=BLACK, lw=0.6)
    axes.set_yticks(places, [textwrap.fill(step, WIDE) for step in table.step])
    axes.tick_params(axis="y", length=0)
    ticks = [tick for tick in TICKS if min(-20, table.low.min()) <= tick <= max(20, 1.2 * table.high.max())]
    axes.set_xticks(ticks, [f"{tick:+d}".replace("-", "−") if tick else "0" for tick in ticks], fontsize=7)
    axes.minorticks_off()
    axes.set_xlabel("gain (%)")
    figure.legend(loc="outside lower center", ncols=2, fontsize=7, columnspacing=1)
    return figure


def ladder(table: pd.DataFrame) -> Figure:
    """Rows of (rung, low, tps, high): transactions a second, a bar from 5 to 95 % and a dot at the middle."""
    figure, axes = canvas(aspect=0.25 + 0.11 * len(table))
    places = np.arange(len(table))[::-1]
    axes.barh(places, table.high - table.low, left=table.low, height=0.5, color=BLUE, alpha=0.45, lw=0)
    axes.scatter(table.tps, places, color=BLUE, s=14, zorder=3)
    for place, row in zip(places, table.itertuples(), strict=True):
        axes.annotate(f"{row.tps:,.0f}".replace(",", "\u2009"), (row.high, place), (4, 0), textcoords="offset points",
                      va="center", fontsize=7)
    axes.set_yticks(places, [textwrap.fill(rung, WIDE) for rung in table.rung])
    axes.tick_params(axis="y", length=0)
    axes.set_xscale("log")
    axes.set_xlim(0.7 * table.low.min(), 2.2 * table.high.max())
    ratio_ticks(axes.xaxis)
    axes.set_xlabel("transactions a second")
    return figure
