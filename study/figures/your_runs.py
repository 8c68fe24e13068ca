"""Figures of `11_your_runs`: series on one clock, tails of response times, lags, changes of level, two labels."""
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from study.drawing import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SKY, canvas, ratio_ticks
from study.your_runs.change_points import Changes
from study.your_runs.comparison import Comparison
from study.your_runs.lags import Scan
from study.your_runs.quantities import unit_in_words, with_unit

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
        axes.set_title(with_unit(name, table.attrs["units"][name]), loc="left", fontsize=7)
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
    ratio_ticks(axes.xaxis)
    axes.set_xlabel("response time (ms)")
    axes.set_ylabel("share of requests that took longer")
    figure.legend(loc="outside lower center", ncols=3)
    return figure


def lags(scanned: Scan, interval_s: float, apart_s: float) -> Figure:
    """Correlation at each lag. Dashed: what the largest of all passes by chance one time in twenty. Grey: what the clocks do
    not tell from zero."""
    figure, axes = canvas(aspect=0.76)
    at = scanned.table.lag * interval_s
    axes.axvspan(-apart_s, apart_s, color=GREY, alpha=0.2, lw=0, label="clocks do not tell this from 0")
    axes.vlines(at, 0, scanned.table.r, color=BLUE, lw=1.5)
    axes.plot(at, scanned.table.r, "o", color=BLUE, ms=3, label="at this lag")
    axes.axhline(0, color=BLACK, lw=0.6)
    for side, label in ((-1, ""), (1, "largest of all by chance, 1 in 20")):
        axes.axhline(side * scanned.bound, color=BLACK, lw=0.8, ls="--", label=label)
    figure.legend(loc="outside lower center")
    axes.set_ylim(-1, 1)
    axes.set_xlabel("lag (s): the outcome comes so much later")
    axes.set_ylabel("rank correlation,\npast taken out")
    return figure


def levels(table: pd.DataFrame, name: str, changed: Changes) -> Figure:
    """A series, the levels of its parts, and where these change."""
    figure, axes = canvas(aspect=0.6)
    seconds = np.asarray(table.index, float)
    axes.plot(seconds, table[name], color=SKY, lw=0.8, label="of each interval")
    axes.plot(seconds, changed.levels, color=BLUE, lw=1.4, drawstyle="steps-mid", label="level")
    for n, place in enumerate(changed.table.place):
        axes.axvline(seconds[int(place) - 1], color=RED, lw=0.8, ls="--", label="" if n else "change")
    axes.set_xlabel(CLOCK)
    axes.set_ylabel(_wrapped(name, table.attrs["units"][name]))
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, borderaxespad=0.2, columnspacing=1)
    axes.set_ylim(bottom=min(0.0, float(np.nanmin(table[name]))))
    return figure


def two_labels(compared: Comparison, quantity: str) -> Figure:
    """Means of all runs of two labels; below, on an axis of its own, their difference with its interval."""
    figure, (above, below) = canvas(aspect=0.75, rows=2, height_ratios=(2, 1))
    for place, values, colour in zip((1, 0), compared.values, (BLUE, ORANGE), strict=True):
        above.plot(values, np.full(len(values), place), "o", color=colour, ms=4)
        above.plot([np.mean(values)], [place], "|", color=BLACK, ms=12, mew=1.5, label="" if place else "mean of the runs")
    above.plot([], [], "o", color=GREY, ms=4, label="a run")
    above.set_yticks([1, 0], [compared.before, compared.after])
    above.set_ylim(-0.6, 1.6)
    above.set_xlabel(with_unit(quantity, compared.unit))
    below.hlines([0], compared.low, compared.high, color=SKY, lw=4, label="95 % of the difference")
    below.plot([compared.by], [0], "D", color=BLACK, ms=4, label="difference")
    below.axvline(0, color=GREY, lw=0.8, ls="--", label="none")
    below.set_yticks([0], ["difference"])
    below.set_ylim(-1, 1)
    below.set_xlabel(f"{compared.after} less {compared.before} ({unit_in_words(quantity, compared.unit).strip() or '1'})")
    for axes in (above, below):
        axes.tick_params(axis="y", length=0)
    figure.legend(loc="outside lower center", ncols=3, columnspacing=1)
    return figure


def _wrapped(name: str, unit: str) -> str:
    """Name and unit of an upright axis, each on a line of its own."""
    return with_unit(name, unit).replace(" (", "\n(")
