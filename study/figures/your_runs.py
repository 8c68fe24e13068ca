"""Figures of `11_your_runs`: series on one clock, tails of response times, lags, changes of level, two labels."""
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from study.drawing import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SKY, canvas
from study.your_runs.change_points import Changes
from study.your_runs.comparison import Comparison
from study.your_runs.lags import Scan

COLOURS = (BLUE, ORANGE, GREEN, RED, PURPLE, SKY, BLACK)
MAX_CURVES = len(COLOURS)
MAX_PANELS = 4
CLOCK = "time since all series have begun (s)"


def on_one_clock(table: pd.DataFrame, names: list[str]) -> Figure:
    """The first of these series, a panel each, over the seconds of a run."""
    shown = names[:MAX_PANELS]
    figure, panels = canvas(aspect=0.12 + 0.3 * len(shown), rows=len(shown), sharex=True, squeeze=False)
    for axes, name, colour in zip(panels[:, 0], shown, COLOURS, strict=False):
        axes.plot(table.index, table[name], color=colour, lw=0.8)
        unit = table.attrs["units"][name]
        axes.set_title(name if unit == "1" else f"{name} ({unit})", loc="left", fontsize=7)
        axes.margins(y=0.1)
    panels[-1, 0].set_xlabel(CLOCK)
    return figure


def tails(table: pd.DataFrame) -> Figure:
    """Which share of the requests took longer, both axes logarithmic (frame: run, response in ms, longer)."""
    figure, axes = canvas(aspect=0.75)
    for (run, part), colour in zip(table.groupby("run"), COLOURS, strict=False):
        axes.plot(part.response, part.longer, color=colour, drawstyle="steps-post", label=run)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("response time (ms)")
    axes.set_ylabel("share of requests that took longer")
    figure.legend(loc="outside lower center", ncols=3)
    return figure


def lags(scanned: Scan, interval_s: float, apart_s: float) -> Figure:
    """Correlation at each lag; dashed: what the largest of all passes by chance one time in twenty; grey: what the clocks do
    not tell from zero."""
    figure, axes = canvas(aspect=0.6)
    at = scanned.table.lag * interval_s
    axes.axvspan(-apart_s, apart_s, color=GREY, alpha=0.2, lw=0)
    axes.vlines(at, 0, scanned.table.r, color=BLUE, lw=1.5)
    axes.plot(at, scanned.table.r, "o", color=BLUE, ms=3)
    axes.axhline(0, color=BLACK, lw=0.6)
    for side in (-1, 1):
        axes.axhline(side * scanned.bound, color=BLACK, lw=0.8, ls="--")
    axes.set_ylim(-1, 1)
    axes.set_xlabel("lag (s): the outcome comes so much later")
    axes.set_ylabel("rank correlation,\npast taken out")
    return figure


def levels(table: pd.DataFrame, name: str, changed: Changes) -> Figure:
    """A series, the levels of its parts, and where these change."""
    figure, axes = canvas(aspect=0.6)
    seconds = np.asarray(table.index, float)
    axes.plot(seconds, table[name], color=SKY, lw=0.8)
    axes.plot(seconds, changed.levels, color=BLUE, lw=1.4, drawstyle="steps-mid")
    for place in changed.table.place:
        axes.axvline(seconds[int(place) - 1], color=RED, lw=0.8, ls="--")
    axes.set_xlabel(CLOCK)
    unit = table.attrs["units"][name]
    axes.set_ylabel(name if unit == "1" else f"{name} ({unit})")
    axes.set_ylim(bottom=min(0.0, float(np.nanmin(table[name]))))
    return figure


def two_labels(compared: Comparison, quantity: str) -> Figure:
    """Means of all runs of two labels, and the interval of the difference from the mean of the first."""
    figure, axes = canvas(aspect=0.42)
    for place, values, colour in zip((1, 0), compared.values, (BLUE, ORANGE), strict=True):
        axes.plot(values, np.full(len(values), place), "o", color=colour, ms=4)
        axes.plot([np.mean(values)], [place], "|", color=BLACK, ms=12, mew=1.5)
    axes.hlines([-1], compared.means[0] + compared.low, compared.means[0] + compared.high, color=ORANGE, lw=4, alpha=0.6)
    axes.axvline(compared.means[0], color=BLUE, lw=0.8, ls="--")
    axes.set_yticks([1, 0, -1], [compared.before, compared.after, "95 % of the difference"])
    axes.set_ylim(-1.6, 1.6)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(quantity if compared.unit == "1" else f"{quantity} ({compared.unit})")
    return figure
