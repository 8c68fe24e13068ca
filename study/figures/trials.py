"""Figures of set-ups that others have measured: what was predicted before, against what was published."""
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from study.drawing import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SKY, canvas, ratio_ticks

COLOURS = (BLUE, ORANGE, GREEN, PURPLE, RED, SKY, BLACK)
MARKS = "os^vDPX"


def against(table: pd.DataFrame, unit: str, before: pd.DataFrame | None = None) -> Figure:
    """Published across; upwards by what factor the prediction is off, with its interval. On the line both are the same,
    dotted is a factor of 2. Earlier trials, `before`, are grey."""
    figure, axes = canvas(aspect=0.85)
    axes.axhline(1, color=BLACK, lw=0.7)
    for factor in (0.5, 2):
        axes.axhline(factor, color=GREY, lw=0.5, ls=":")
    if before is not None:
        axes.plot(before.published, before.middle / before.published, "o", color=GREY, ms=3, mfc="none",
                  label="earlier trials")
    for (setup, rows), colour, mark in zip(table.groupby("setup", sort=False), COLOURS, MARKS, strict=False):
        axes.vlines(rows.published, rows.low / rows.published, rows.high / rows.published, color=colour, lw=1, alpha=0.5)
        axes.plot(rows.published, rows.middle / rows.published, mark, color=colour, ms=4, label=setup)
    axes.set_xscale("log")
    axes.set_yscale("log")
    ratio_ticks(axes.xaxis)
    ratio_ticks(axes.yaxis)
    axes.set_xlabel(f"published ({unit})")
    axes.set_ylabel("predicted over published (1)")
    figure.legend(loc="outside lower center", ncols=2, fontsize=7, columnspacing=1)
    return figure


def effects(table: pd.DataFrame) -> Figure:
    """A row per ratio of two variants: the predicted interval, and what was published."""
    figure, axes = canvas(aspect=0.3 + 0.07 * len(table))
    places = np.arange(len(table))[::-1]
    axes.axvline(1, color=GREY, lw=0.6)
    axes.hlines(places, table.low, table.high, color=BLUE, lw=3, alpha=0.5)
    axes.plot(table.middle, places, "o", color=BLUE, ms=4, label="predicted")
    axes.plot(table.published, places, "D", color=BLACK, ms=3.5, ls="", label="published")
    axes.set_xscale("log")
    ratio_ticks(axes.xaxis)
    axes.set_yticks(places, [_named(row.what, row.setup.replace("nihr43-", "").replace("vondra-", ""))
                             for row in table.itertuples()])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(-0.6, len(table) - 0.4)
    axes.set_xlabel("ratio of rates (1)")
    figure.legend(loc="outside lower center", ncols=2, fontsize=7)
    return figure


def _named(ratio: str, setup: str) -> str:
    return f"{ratio} ({setup})" if setup else ratio
