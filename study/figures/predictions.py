"""Figures of predictions: intervals beside what was published, and what each condition does."""
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from study.drawing import BLACK, BLUE, ORANGE, SKY, canvas, ratio_ticks

LEAST_RATIO = 1e-3      # of a number over what was printed, on a logarithmic axis


def intervals(table: pd.DataFrame, published: float, label: str) -> Figure:
    """Rows of (what, low, middle, high) against one published number; a row without an interval is a dot."""
    figure, axes = canvas(aspect=0.24 + 0.09 * len(table))
    places = np.arange(len(table))[::-1]
    axes.axvline(published, color=BLACK, lw=0.8, ls="--")
    axes.plot([published], [len(table) - 0.45], "D", color=BLACK, ms=4, clip_on=False, label="published")
    axes.hlines(places, table.low, table.high, color=BLUE, lw=3, alpha=0.5, label="5 to 95 %")
    axes.plot(table.middle, places, "o", color=BLUE, ms=4, label="middle")
    axes.set_yticks(places, table.what)
    axes.set_ylim(-0.6, len(table) - 0.4)
    axes.set_xlabel(label)
    axes.tick_params(axis="y", length=0)
    figure.legend(loc="outside lower center", ncols=3, columnspacing=1)
    return figure


def _range(effects: pd.Series, others: tuple) -> tuple[float, float]:
    """What an axis shows: all, but an effect that lies further out than all the rest is wide."""
    def ends(values: pd.Series) -> tuple[float, float]:
        return min(*others, *values), max(*others, *values)

    for farthest in (effects.idxmin(), effects.idxmax()):
        low, high = ends(effects.drop(farthest))
        if not low - (high - low) <= effects[farthest] <= high + (high - low):
            return low, high
    return ends(effects)


def _at_the_edge(axes: Axes, effect: float, place: float, edge: float) -> None:
    """An effect that lies beyond the axis: an arrow and its number."""
    sign = -1 if effect < edge else 1
    axes.annotate(f"{effect:.0f}".replace("-", "−"), (1.08 * edge, place), (-sign * 14, 0), textcoords="offset points",
                  fontsize=7, va="center", ha="left" if sign < 0 else "right", color=ORANGE,
                  arrowprops={"arrowstyle": "->", "color": ORANGE, "shrinkA": 1, "shrinkB": 0})


def conditions(table: pd.DataFrame, published: float, parameters: tuple[float, float], label: str) -> Figure:
    """An effect under each choice of each condition (`study.ensembles.effects.conditions`), others at their best guess. The
    band is what the ranges of all numbers make of it."""
    figure, axes = canvas(aspect=0.2 + 0.085 * len(table))
    places = np.arange(len(table))[::-1]
    axes.axvspan(*parameters, color=SKY, alpha=0.3, lw=0, label="ranges of all numbers, 5 to 95 %")
    axes.axvline(published, color=BLACK, lw=0.8, ls="--", label="published")
    central = table.is_central.to_numpy()
    low, high = _range(table.effect, (0, published, *parameters))
    for place, effect in zip(places, table.effect, strict=True):
        if not low <= effect <= high:
            _at_the_edge(axes, effect, place, low if effect < low else high)
    axes.plot(table.effect[~central], places[~central], "o", color=ORANGE, ms=4, label="one condition changed")
    axes.plot(table.effect[central], places[central], "s", color=BLUE, ms=4, label="best guess")
    axes.set_yticks(places, table.label)
    axes.set_ylim(-0.6, len(table) - 0.4)
    axes.set_xlim(1.08 * low, 1.08 * high)
    axes.set_xlabel(label)
    axes.tick_params(axis="y", length=0)
    figure.legend(loc="outside lower center", ncols=2, fontsize=7, columnspacing=1)
    return figure


def what_is_left(table: pd.DataFrame, by_chance: float, labels: dict[str, str]) -> Figure:
    """How draws that show what was printed differ from all draws (`study.ensembles.history_matching.moved`). Choices have a
    share, numbers a rank among all draws. `by_chance`: how far (%) a number moves by chance; `labels` of names and
    values."""
    chosen, numbers = table[table.is_choice], table[~table.is_choice]
    figure, (above, below) = canvas(aspect=0.3 + 0.075 * len(table), rows=2, height_ratios=[len(chosen), len(numbers)])
    def named(what: str) -> str:
        return labels.get(what, what.removesuffix("_ns").replace("_", " "))

    names = [f"{named(row.what)}: {labels.get(row.value, row.value)}" for row in chosen.itertuples()]
    for axes, rows, ticks, label in (
            (above, chosen, names, "share of draws (%)"),
            (below, numbers, list(map(named, numbers.what)), "rank among all draws (%)")):
        places = np.arange(len(rows))[::-1]
        axes.hlines(places, rows.before, rows.left, color=SKY, lw=2)
        axes.plot(rows.before, places, "o", color=BLACK, mfc="white", ms=4, label="all draws")
        axes.plot(rows.left, places, "o", color=BLUE, ms=4, label="draws left")
        axes.set_yticks(places, ticks)
        axes.set_ylim(-0.6, len(rows) - 0.4)
        axes.set_xlim(-3, 103)
        axes.set_xlabel(label)
        axes.tick_params(axis="y", length=0)
    below.axvspan(50 - by_chance, 50 + by_chance, color=SKY, alpha=0.25, lw=0, label="by chance")
    handles, words = below.get_legend_handles_labels()
    figure.legend(handles, words, loc="outside lower center", ncols=3, columnspacing=1)
    return figure


def nearest(table: pd.DataFrame, labels: dict[str, str], trusted: float) -> Figure:
    """Each printed number of the machine nearest to all, over what was printed (`study.ensembles.nearest_machine.beside`); a
    printed 0 is left out. `labels` of numbers in words; `trusted`: a factor, how far off blind predictions were."""
    shown = table[table.printed > 0]
    figure, axes = canvas(aspect=0.3 + 0.075 * len(shown))
    places = np.arange(len(shown))[::-1]
    low, mean, high = (np.maximum(shown[end] / shown.printed, LEAST_RATIO) for end in ("least", "mean", "most"))
    axes.axvspan(1 / trusted, trusted, color=SKY, alpha=0.25, lw=0, label=f"a factor of {trusted:.2g}")
    axes.axvline(1, color=BLACK, lw=0.8, ls="--", label="published")
    axes.hlines(places, low, high, color=BLUE, lw=3, alpha=0.5, label="least to most of its seeds")
    axes.plot(mean, places, "o", color=BLUE, ms=4, label="mean")
    axes.set_xscale("log")
    axes.set_xlim(min(0.95 / trusted, 0.9 * low.min()), max(1.05 * trusted, 1.1 * high.max()))
    ratio_ticks(axes.xaxis)
    axes.set_yticks(places, [labels.get(number, number.replace("/", "\n", 1)) for number in shown.number])
    axes.set_ylim(-0.6, len(shown) - 0.4)
    axes.set_xlabel("model over published")
    axes.tick_params(axis="y", length=0)
    figure.legend(loc="outside lower center", ncols=2, fontsize=7, columnspacing=1)
    return figure
