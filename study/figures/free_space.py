"""Figures of free space: maps of it, what best fit takes over, how far new blocks lie side by side."""
import textwrap
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap, LogNorm
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator

from study.drawing import BLACK, BLUE, GREEN, GREY, ORANGE, RED, canvas

FREE, OLD, NEW = "#FFFFFF", "#A9CCE3", "#D55E00"   # of a map: free, occupied, occupied by the last transaction group
COLOURS = {"103_ff": GREEN, "117_df": RED, "141_df": BLUE, "141_ndf": ORANGE}


def _square(places: np.ndarray) -> np.ndarray:
    """Places row by row, as nearly a square as fills it."""
    side = int(np.sqrt(len(places)))
    return places[:side * side].reshape(side, side)


def maps(pictures: dict[str, np.ndarray], times: list[str]) -> Figure:
    """One row for each rule, one column for each time; (n_times, n_places) of 0 free, 1 occupied, 2 new."""
    figure, axes = canvas(0.21 * len(pictures) + 0.07, len(pictures), len(times), is_map=True, squeeze=False)
    for row, (rule, places) in zip(axes, pictures.items(), strict=True):
        for panel, picture in zip(row, places, strict=True):
            _draw_map(panel, picture)
        row[0].set_ylabel(textwrap.fill(rule.partition(" (")[0], 12), fontsize=7)
    for panel, when in zip(axes[0], times, strict=True):
        panel.set_title(when, fontsize=7)
    _map_key(figure)
    return figure


def moments(places: np.ndarray, txgs: Sequence[int]) -> Iterator[Figure]:
    """The frames of a film, one figure that changes: a map after so many transaction groups; (n_times, n_places)."""
    figure, axes = canvas(aspect=1.2)
    image = _draw_map(axes, places[0])
    _map_key(figure)
    for picture, txg in zip(places, txgs, strict=True):
        image.set_data(_square(picture))
        axes.set_title(f"after {txg} transaction groups")
        yield figure


def _draw_map(axes: Axes, picture: np.ndarray) -> AxesImage:
    image = axes.imshow(_square(picture), cmap=ListedColormap([FREE, OLD, NEW]), vmin=0, vmax=2, interpolation="nearest")
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(True)
    return image


def _map_key(figure: Figure) -> None:
    kinds = ((FREE, "free"), (OLD, "occupied"), (NEW, "by the last transaction group"))
    figure.legend(handles=[Patch(facecolor=colour, edgecolor=GREY, label=kind) for colour, kind in kinds],
                  loc="outside lower center", ncols=3, fontsize=7)


def _band(axes: Axes, model: pd.DataFrame, quantity: str, variant: str, label: str, scale: float = 1) -> None:
    """The model over its seeds: a band from the least to the most, and the median."""
    groups, colour = model[model.variant == variant].groupby("occupancy")[quantity], COLOURS[variant]
    low, middle, high = groups.min() * scale, groups.median() * scale, groups.max() * scale
    axes.fill_between(low.index, low, high, color=colour, alpha=0.25, lw=0)
    axes.plot(middle.index, middle, color=colour, label=label)


def shares(recorded: pd.DataFrame, model: pd.DataFrame, rules: dict[str, str]) -> Figure:
    """Share of blocks that best fit placed (or a segment opened by size), against occupancy."""
    figure, axes = canvas(aspect=0.75)
    for variant, rule in rules.items():
        _band(axes, model, "share", variant, rule)
        rows = recorded[recorded.variant == variant]
        axes.plot(rows.occupancy, rows.share, "D", color=COLOURS[variant], ms=3.5, mec=BLACK, mew=0.4)
    axes.plot([], [], "D", color=GREY, ms=3.5, mec=BLACK, mew=0.4, label="recorded ZFS code")
    axes.set_xlabel("occupancy (%)")
    axes.set_ylabel("blocks placed by size (%)")
    figure.legend(loc="outside lower center", ncols=2, columnspacing=1)
    return figure


def contiguity(recorded: pd.DataFrame, model: pd.DataFrame, rules: dict[str, str], block_bytes: int) -> Figure:
    """Blocks in a write, early and late in the rewriting, against occupancy."""
    figure, axes = canvas(0.75, 1, 2, sharey=True)
    for panel, when in zip(axes, ("early", "late"), strict=True):
        quantity = f"{when}_io_bytes_128k_cap"
        for variant, rule in rules.items():
            _band(panel, model, quantity, variant, rule if when == "early" else "_", 1 / block_bytes)
            rows = recorded[recorded.variant == variant]
            panel.plot(rows.occupancy, rows[quantity] / block_bytes, "D", color=COLOURS[variant], ms=3.5, mec=BLACK, mew=0.4)
        panel.set_yscale("log", base=2)
        panel.yaxis.set_major_formatter("{x:g}")
        panel.set_title("first tenth" if when == "early" else "second half", fontsize=8)
        panel.set_xlabel("occupancy (%)")
    axes[0].plot([], [], "D", color=GREY, ms=3.5, mec=BLACK, mew=0.4, label="recorded ZFS code")
    axes[0].set_ylabel("blocks in a write")
    figure.legend(loc="outside lower center", ncols=2, columnspacing=1)
    return figure


def over_time(series: pd.DataFrame, published: list[tuple[float, float]]) -> Figure:
    """Blocks in a write of each transaction group (columns: turnovers, rule, blocks), a panel for each rule. Bands are what
    is published as good and as bad."""
    rules = list(dict.fromkeys(series.rule))
    figure, axes = canvas(0.28 * len(rules) + 0.22, len(rules), 1, sharex=True, sharey=True, squeeze=False)
    top = 2 * series.blocks.max()
    for panel, rule in zip(axes[:, 0], rules, strict=True):
        for low, high in published:
            panel.axhspan(low, min(high, top), color=GREY, alpha=0.2, lw=0)
        rows = series[series.rule == rule]
        panel.plot(rows.turnovers, rows.blocks, ".", color=BLUE, ms=1.6, mew=0, rasterized=True)
        panel.set_title(rule, loc="left", fontsize=7)
        panel.set_yscale("log", base=2)
        panel.yaxis.set_major_formatter("{x:g}")
        panel.set_ylim(0.9, top)
    axes[-1, 0].set_xlabel("records rewritten (turnovers)")
    figure.supylabel("blocks in a write", fontsize=8)
    figure.legend(handles=[Line2D([], [], marker=".", ls="", color=BLUE, label="a group"),
                           Patch(color=GREY, alpha=0.2, lw=0, label="published: good above, bad below")],
                  loc="outside lower center", ncols=2)
    return figure


def slabs_over_time(series: pd.DataFrame, n_slabs: int, max_blocks: float) -> Figure:
    """Which slab each transaction group was written to (columns: turnovers, rule, slab, blocks). The colour says how many
    blocks there were in a write, from 1 to `max_blocks`."""
    rules = list(dict.fromkeys(series.rule))
    figure, axes = canvas(0.28 * len(rules) + 0.22, len(rules), 1, sharex=True, sharey=True, squeeze=False)
    for panel, rule in zip(axes[:, 0], rules, strict=True):
        rows = series[series.rule == rule]
        drawn = panel.scatter(rows.turnovers, rows.slab, c=rows.blocks, s=3, lw=0, cmap="RdYlBu",
                              norm=LogNorm(1, max_blocks), rasterized=True)
        panel.set_title(rule, loc="left", fontsize=7)
        panel.set_ylim(n_slabs - 0.5, -0.5)
    axes[-1, 0].set_xlabel("records rewritten (turnovers)")
    figure.supylabel("slab (0 is the outermost)", fontsize=8)
    bar = figure.colorbar(drawn, ax=axes[:, 0], location="bottom", aspect=40, shrink=0.8, label="blocks in a write")
    bar.ax.xaxis.set_major_locator(FixedLocator([2.0**i for i in range(int(np.log2(max_blocks)) + 1)]))
    bar.ax.xaxis.set_major_formatter("{x:g}")
    bar.ax.minorticks_off()
    return figure


def good_and_bad(table: pd.DataFrame) -> Figure:
    """Rows of (what, low, middle, high) against ranges (published_low, published_high; NaN: nothing was published), on a
    logarithmic axis."""
    figure, axes = canvas(aspect=0.2 + 0.1 * len(table))
    places = np.arange(len(table))[::-1]
    right = 1.5 * max(table.high.max(), table.published_low.max())
    for place, row in zip(places, table.itertuples(), strict=True):
        if np.isfinite(row.published_low):
            axes.barh(place, min(row.published_high, right) - row.published_low, left=row.published_low, height=0.7,
                      color=GREY, alpha=0.3, lw=0)
    axes.hlines(places, table.low, table.high, color=BLUE, lw=3, alpha=0.6)
    axes.plot(table.middle, places, "o", color=BLUE, ms=4)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlim(0.9, right)
    axes.set_yticks(places, table.what)
    axes.set_ylim(-0.6, len(table) - 0.4)
    axes.set_xlabel("blocks in a write (grey: published)")
    axes.tick_params(axis="y", length=0)
    return figure
