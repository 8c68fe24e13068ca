"""Figures of storage tiers: the scale of latencies, the two prices of each device, and pools between price and rate."""
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from study import drawing
from study.drawing import BLACK, BLUE, GREEN, GREY, ORANGE, SKY, canvas
from study.figures import in_words

LOOKS = {(0, 0): (GREY, "disks alone"), (1, 0): (GREEN, "with a log SSD"), (0, 1): (SKY, "with a cache SSD"),
         (1, 1): (ORANGE, "with both")}
SMALLEST_PT, LARGEST_PT = 3.0, 8.0
SHAPES, SHAPE_WORDS = ("o", "s"), ("dots", "squares")      # of kinds of disks, by their names
LEAST_TICK = 250                # of a scale that doubles, in $
APART = 1.3                     # a pool on the frontier has its parts written beside it if it is so much faster


def scale(table: pd.DataFrame) -> Figure:
    """Latencies over nine decades (frame: technology, printed, low, high in us; nan where nothing is simulated)."""
    figure, axes = canvas(aspect=0.3 + 0.07 * len(table))
    places = np.arange(len(table))[::-1]
    axes.hlines(places, table.low, table.high, color=BLUE, lw=4, alpha=0.5, label="simulated, 5 to 95 %")
    axes.plot(table.printed, places, "D", color=BLACK, ms=4, label="printed")
    axes.set_xscale("log")
    axes.set_xlim(1e-3, 1e6)
    axes.set_xticks([1e-3, 1, 1e3, 1e6], ["1 ns", "1 µs", "1 ms", "1 s"])
    axes.set_yticks(places, in_words.named(table.technology, in_words.DEVICES))
    axes.set_ylim(-0.6, len(table) - 0.4)
    axes.set_xlabel("latency")
    axes.tick_params(axis="y", length=0)
    figure.legend(loc="outside lower center", ncols=2)
    return figure


def two_prices(table: pd.DataFrame, by_capacity: str, by_ios: str) -> Figure:
    """What a device costs by its gigabytes and by its I/Os: a line between both (frame: technology and these columns)."""
    figure, axes = canvas(aspect=0.3 + 0.07 * len(table))
    places = np.arange(len(table))[::-1]
    axes.hlines(places, table[by_capacity], table[by_ios], color=SKY, lw=2)
    axes.plot(table[by_capacity], places, "o", color=BLUE, ms=5, label=by_capacity)
    axes.plot(table[by_ios], places, "s", color=ORANGE, ms=5, label=by_ios)
    axes.set_yticks(places, in_words.named(table.technology, in_words.DEVICES))
    axes.set_ylim(-0.6, len(table) - 0.4)
    axes.set_xlim(0, 1.1 * float(table[[by_capacity, by_ios]].max().max()))
    axes.set_xlabel("price of one device ($)")
    axes.tick_params(axis="y", length=0)
    figure.legend(loc="outside lower center", ncols=2)
    return figure


def frontier(table: pd.DataFrame) -> Figure:
    """Pools between what they cost and what they do (frame: disks, log, cache, memory_gib, disk, tps, cost, best). The line
    joins those that no other beats, with their parts in words."""
    figure, axes = canvas(aspect=1.0)
    table = table.reset_index(drop=True)
    sizes = np.interp(table.memory_gib, [table.memory_gib.min(), table.memory_gib.max()], [SMALLEST_PT, LARGEST_PT])
    best, kinds = table[table.best].sort_values("cost"), sorted(table.disk.unique())
    axes.plot(best.cost, best.tps, color=BLACK, lw=0.8, drawstyle="steps-post", zorder=1)
    for (log, cache), (colour, label) in LOOKS.items():
        rows = table[((table.log > 0) == bool(log)) & ((table.cache > 0) == bool(cache))]
        for shape, kind in zip(SHAPES, kinds, strict=False):
            of_kind = rows[rows.disk == kind]
            axes.scatter(of_kind.cost, of_kind.tps, s=sizes[of_kind.index] ** 2, color=colour, lw=0, marker=shape,
                         label=label if kind == kinds[0] else None, zorder=2)
    labelled = 0.0
    for row in best.itertuples():
        if row.tps > APART * labelled:
            axes.annotate(f"{row.disks} disks, {row.memory_gib:g} GiB", (row.cost, row.tps), (-4, 4),
                          textcoords="offset points", fontsize=7, ha="right", va="bottom")
            labelled = row.tps
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(0.28 * table.cost.min(), 1.3 * table.cost.max())
    if table.cost.min() < LEAST_TICK:
        drawing.ratio_ticks(axes.xaxis, decades=3)
    else:
        ticks = [LEAST_TICK * 2**i for i in range(8) if table.cost.min() / 2 < LEAST_TICK * 2**i < 1.3 * table.cost.max()]
        axes.set_xticks(ticks, [f"{tick:,}".replace(",", " ") for tick in ticks])
    axes.minorticks_off()
    axes.set_xlabel("devices and memory ($)")
    axes.set_ylabel("transactions per second")
    of_kinds = zip(SHAPE_WORDS, in_words.named(kinds, in_words.DEVICES), strict=False)
    shapes = [f"{words}: {kind}" for words, kind in of_kinds] if len(kinds) > 1 else []
    axes.set_title("; ".join([*shapes, "larger: more memory"]), loc="right", fontsize=7, color=GREY)
    figure.legend(loc="outside lower center", ncols=2)
    return figure
