"""Figures of a measured ladder: what was predicted beside what was measured, and who had the processors."""
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from study.drawing import BLACK, BLUE, GREY, ORANGE, SKY, canvas, ratio_ticks


def rates(table: pd.DataFrame) -> Figure:
    """A row a rung: the predicted interval if there is one, the middle of the measured runs and their extremes, in
    transactions/s."""
    return _rows(table, "transactions/s")


def steps(table: pd.DataFrame) -> Figure:
    """The same of each rung over the one that it changes; 1: no change."""
    figure = _rows(table, "rate over that before the change (1)")
    figure.axes[0].axvline(1, color=GREY, lw=0.6, zorder=0)
    return figure


def _rows(table: pd.DataFrame, quantity: str) -> Figure:
    figure, axes = canvas(aspect=0.3 + 0.075 * len(table))
    places = np.arange(len(table))[::-1]
    if table.middle.notna().any():
        axes.hlines(places + 0.12, table.low, table.high, color=BLUE, lw=3, alpha=0.5)
        axes.plot(table.middle, places + 0.12, "o", color=BLUE, ms=4, label="predicted, 5 to 95 %")
    axes.hlines(places - 0.12, table.measured_low, table.measured_high, color=BLACK, lw=1)
    axes.plot(table.measured, places - 0.12, "D", color=BLACK, ms=3.5, ls="", label="measured, all runs")
    axes.set_xscale("log")
    ratio_ticks(axes.xaxis)
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_yticks(places, [rung.replace("-", " ") for rung in table.rung])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(-0.6, len(table) - 0.4)
    axes.set_xlabel(quantity)
    figure.legend(loc="outside lower center", ncols=2, fontsize=7)
    return figure


def processors(sampled: pd.DataFrame) -> Figure:
    """A row a rung: shares of all processors, %, of the database with its clients, of other programs, and idle."""
    figure, axes = canvas(aspect=0.3 + 0.065 * len(sampled))
    places = np.arange(len(sampled))[::-1]
    ours, others = 100 * sampled.ours.to_numpy(), 100 * sampled.others.to_numpy()
    axes.barh(places, ours, color=BLUE, label="database, pgbench")
    axes.barh(places, others, left=ours, color=ORANGE, hatch="//", edgecolor="white", lw=0, label="others")
    axes.barh(places, np.maximum(0.0, 100 - ours - others), left=ours + others, color=SKY, alpha=0.35, label="idle")
    axes.set_yticks(places, [rung.replace("-", " ") for rung in sampled.index])
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(0, 100)
    axes.set_xlabel("time of all processors (%)")
    figure.legend(loc="outside lower center", ncols=3, fontsize=7, columnspacing=1)
    return figure
