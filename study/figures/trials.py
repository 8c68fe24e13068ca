"""Figures of set-ups that others have measured: what was predicted before, against what was published."""
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from study.figures import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SKY, canvas

COLOURS = (BLUE, ORANGE, GREEN, PURPLE, RED, SKY, BLACK)
MARKS = "os^vDPX"
TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10)


def against(table: pd.DataFrame, unit: str, before: pd.DataFrame | None = None) -> Figure:
    """Published across, predicted upwards with its interval; on the line both are the same, dotted is a factor of 2. Earlier
    trials, `before`, are grey."""
    figure, axes = canvas(aspect=1.05)
    drawn = pd.concat([table, before])
    ends = np.array([0.7 * drawn[["published", "low"]].min().min(), 1.4 * drawn[["published", "high"]].max().max()])
    axes.plot(ends, ends, color=BLACK, lw=0.7)
    for factor in (0.5, 2):
        axes.plot(ends, factor * ends, color=GREY, lw=0.5, ls=":")
    if before is not None:
        axes.plot(before.published, before.middle, "o", color=GREY, ms=3, mfc="none", label="before")
    for (setup, rows), colour, mark in zip(table.groupby("setup", sort=False), COLOURS, MARKS, strict=False):
        axes.vlines(rows.published, rows.low, rows.high, color=colour, lw=1, alpha=0.5)
        axes.plot(rows.published, rows.middle, mark, color=colour, ms=4, label=setup)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(*ends)
    axes.set_ylim(*ends)
    axes.set_xlabel(f"published ({unit})")
    axes.set_ylabel(f"predicted ({unit})")
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
    low, high = axes.get_xlim()
    ticks = [tick for tick in TICKS if low <= tick <= high]
    axes.minorticks_off()
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_yticks(places, [_named(row.what, row.setup.replace("nihr43-", "").replace("vondra-", ""))
                             for row in table.itertuples()])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(-0.6, len(table) - 0.4)
    axes.set_xlabel("ratio of rates (1)")
    figure.legend(loc="outside lower center", ncols=2, fontsize=7)
    return figure


def _named(what: str, setup: str) -> str:
    return f"{what} ({setup})" if setup else what
