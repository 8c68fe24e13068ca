"""Figures of Exchange: what each change of the rules does by itself, and a map over what was not published. Also what
becomes of writes in a pool as fragmented as one's own."""
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from study.drawing import BLACK, BLUE, GREY, ORANGE, SKY, canvas

ERA_LOOK = {"b103": (GREY, "first fit (b103)"), "b117": (BLUE, "dynamic fit, 30 % (b117)"),
            "b141_df": (ORANGE, "dynamic fit, 4 %"), "b141": (SKY, "new dynamic fit (b141)")}


def steps(table: pd.DataFrame) -> Figure:
    """Rows of (label, gain in %, KiB of a write): bars of the gain, and what a write became in words."""
    figure, axes = canvas(aspect=0.2 + 0.085 * len(table))
    places, width = np.arange(len(table))[::-1], max(1.0, table.gain.abs().max())
    axes.barh(places, table.gain, height=0.6, color=[GREY if key == "old" else BLUE for key in table.key], lw=0)
    for place, row in zip(places, table.itertuples(), strict=True):
        axes.annotate(f"{row.write_kib:.0f} KiB", (max(0.0, row.gain), place), (3, 0), textcoords="offset points",
                      va="center", fontsize=7)
    axes.axvline(0, color=BLACK, lw=0.6)
    axes.set_yticks(places, table.label)
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(min(0.0, 1.1 * table.gain.min()), 1.5 * width)
    axes.set_xlabel("gain (%)")
    return figure


def gain_map(table: pd.DataFrame, published: float, labels: tuple[str, str]) -> Figure:
    """The gain over two things, the first two columns; numbers in the cells."""
    across, down = table.columns[:2]
    cells = table.pivot(index=down, columns=across, values="gain")
    figure, axes = canvas(aspect=0.62)
    max_gain = max(published, float(cells.max().max()))
    picture = axes.pcolormesh(cells.to_numpy(), cmap="Blues", vmin=min(0.0, float(cells.min().min())), vmax=1.1 * max_gain)
    for (row, column), value in np.ndenumerate(cells.to_numpy()):
        axes.annotate(f"{value:+.0f}", (column + 0.5, row + 0.5), ha="center", va="center", fontsize=7,
                      color="white" if value > 0.6 * max_gain else BLACK)
    axes.set_xticks(np.arange(cells.shape[1]) + 0.5, [f"{level:g}" for level in cells.columns])
    axes.set_yticks(np.arange(cells.shape[0]) + 0.5, [f"{level:g}" for level in cells.index])
    axes.tick_params(length=0)
    axes.set_xlabel(labels[0])
    axes.set_ylabel(labels[1])
    bar = figure.colorbar(picture, ax=axes, label="gain (%); line: published")
    bar.ax.axhline(published, color=ORANGE, lw=2)
    return figure


def pool_forecast(table: pd.DataFrame, max_kib: float) -> Figure:
    """KiB of a write against fragmentation (%), a line for each set of rules (frame: era, fragmentation, kib)."""
    figure, axes = canvas(aspect=0.62)
    for name, rows in table.groupby("era", sort=False):
        colour, label = ERA_LOOK[name]
        style = "o--" if name == "b103" else "o-"       # often the same as dynamic fit at 4 %
        axes.plot(rows.fragmentation, rows.kib, style, color=colour, ms=3, label=label, zorder=3 if name == "b103" else 2)
    axes.axhline(max_kib, color=BLACK, lw=0.6, ls=":", label="the largest I/O")
    axes.set_ylim(0, None)
    axes.set_xlabel("fragmentation, as of zpool list (%)")
    axes.set_ylabel("a write\nat most (KiB)")
    figure.legend(loc="outside lower center", ncols=2, fontsize=7, columnspacing=1)
    return figure
