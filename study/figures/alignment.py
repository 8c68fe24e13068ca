"""Figures of alignment: a map of offset against request size, the cases of the document, and what each condition does."""
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, ScalarFormatter

from study.drawing import BLACK, BLUE, ORANGE, SKY, canvas
from study.figures.in_words import DEVICES, named

TOP = 4.0                       # where the darkest colour begins, at least
PLACES = {17.0: "17  (EFI, sector 34)", 31.5: "31.5  (DOS, sector 63)", 0.0: "0  (aligned)"}


def heat(table: pd.DataFrame, label: str) -> Figure:
    """How many times slower, or more I/Os (frame: start_kib, request_kib, slowdown): numbers in cells, darker is worse."""
    cells = table.pivot(index="start_kib", columns="request_kib", values="slowdown")
    figure, axes = canvas(aspect=0.72)
    top = max(TOP, float(cells.max().max()))
    picture = axes.pcolormesh(cells.to_numpy().clip(min=1), cmap="Oranges", norm=LogNorm(1, 1.3 * top), edgecolors="white",
                              linewidth=1)
    for (row, column), value in np.ndenumerate(cells.to_numpy()):
        axes.annotate(f"{value:.1f}", (column + 0.5, row + 0.5), ha="center", va="center", fontsize=8,
                      color="white" if value > 0.7 * top else BLACK, weight="bold" if value >= 1.95 else "normal")
    axes.set_xticks(np.arange(cells.shape[1]) + 0.5, [f"{size:g}" for size in cells.columns])
    axes.set_yticks(np.arange(cells.shape[0]) + 0.5, [PLACES.get(float(start), f"{start:g}") for start in cells.index])
    axes.invert_yaxis()
    axes.tick_params(length=0)
    axes.set_xlabel("size of a request (KiB)")
    axes.set_ylabel("the partition begins at (KiB)")
    bar = figure.colorbar(picture, ax=axes, ticks=[1, 2, 4], format="%g", label=label)
    bar.ax.yaxis.set_minor_formatter(NullFormatter())
    return figure


def _times_slower(axes: Axes, claimed: tuple[float, float]) -> None:
    """An axis of factors, with the claimed ones as a band."""
    axes.axvspan(*claimed, color=SKY, alpha=0.35, lw=0, label=f"claimed: {claimed[0]:g} to {claimed[1]:g} times")
    axes.axvline(1, color=BLACK, lw=0.6)
    axes.set_xscale("log")
    axes.set_xticks([1, 2, 4])
    axes.xaxis.set_major_formatter(ScalarFormatter())
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("times slower")
    axes.tick_params(axis="y", length=0)


def cases(table: pd.DataFrame, claimed: tuple[float, float]) -> Figure:
    """The cases of the document (frame: case, slowdown, fits_ms, does_not_ms), and the response times in words."""
    figure, axes = canvas(aspect=0.28 + 0.085 * len(table))
    _times_slower(axes, claimed)
    places = np.arange(len(table))[::-1]
    axes.barh(places, table.slowdown - 1, left=1, height=0.55, color=BLUE, lw=0)
    for place, row in zip(places, table.itertuples(), strict=True):
        axes.annotate(f"{row.fits_ms:.3g} to {row.does_not_ms:.3g} ms", (max(1.0, row.slowdown), place), (3, 0),
                      textcoords="offset points", va="center", fontsize=7)
    axes.set_yticks(places, named(table.case, DEVICES))
    axes.set_xlim(0.95, 2.1 * max(claimed[1], table.slowdown.max()))
    figure.legend(loc="outside lower center")
    return figure


def conditions(table: pd.DataFrame, claimed: tuple[float, float], interval: tuple[float, float]) -> Figure:
    """The slowdown under each condition (frame: label, slowdown, is_central); a bar for all draws at the bottom."""
    figure, axes = canvas(aspect=0.3 + 0.075 * len(table))
    _times_slower(axes, claimed)
    places, central = np.arange(len(table))[::-1] + 1, table.is_central.to_numpy()
    axes.plot(table.slowdown[~central], places[~central], "o", color=ORANGE, ms=4, label="one condition changed")
    axes.plot(table.slowdown[central], places[central], "s", color=BLUE, ms=4, label="best guess")
    axes.hlines([0], *interval, color=BLUE, lw=3, alpha=0.5, label="all draws, 5 to 95 %")
    axes.set_yticks([*places, 0], [*table.label, "all at once"])
    axes.set_xlim(0.9, 1.2 * max(claimed[1], table.slowdown.max(), interval[1]))
    figure.legend(loc="outside lower center", ncols=2, fontsize=7, columnspacing=1)
    return figure
