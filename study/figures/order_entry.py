"""Figures of `04_oltp_gain`. Blue is the old rules, orange the new ones; black is what was published."""
import textwrap

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from study.drawing import BLACK, BLUE, GREEN, GREY, ORANGE, canvas
from study.experiments.allocator_2010.order_entry_machine import Setup
from study.experiments.allocator_2010.order_entry_series import Series
from study.experiments.protocol import Comparison

RUN = "test run, in order (from 0, as in the run store)"
FAR = 3.0       # quartile ranges: beyond, a mark stands at the edge with its numbers
LOWEST = -120   # %; what varies even more stands beside an arrow
LINE_PT = 8     # of a label
WIDE = 26       # letters of a title of half a column
FEW = 6         # marks at an edge; of more none has its numbers beside it
ROOM = 20       # % of variability, below the least that is shown
LOOKS = {"before": (BLUE, "old rules"), "after": (ORANGE, "new rules")}


def _run_by_run(above: Axes, below: Axes, runs: Comparison[Setup, Series]) -> None:
    """Throughput in one panel (dotted: its mean) and how many records a write has in the other, under both rules."""
    for variant, result in runs.items():
        colour, label = LOOKS[variant]
        numbers = np.arange(len(result.tps))
        above.plot(numbers, result.tps, ".-", color=colour, label=label)
        above.axhline(result.tps.mean(), color=colour, lw=0.6, ls=":")
        below.plot(numbers, result.pool.blocks_per_write, ".-", color=colour)


def _names(above: Axes, below: Axes) -> None:
    for axes, name in ((above, "transactions (1/s)"), (below, "records in a write")):
        axes.set_ylim(0, None)
        axes.set_ylabel(name)


def series(runs: Comparison[Setup, Series]) -> Figure:
    """Throughput run by run under both rules (`study.experiments.protocol.Comparison`), and how many
    blocks a write of records has."""
    figure, (above, below) = canvas(aspect=0.95, rows=2, sharex=True)
    _run_by_run(above, below, runs)
    _names(above, below)
    below.set_xlabel(RUN)
    change = 100 * (runs.after.tps.mean() / runs.before.tps.mean() - 1)
    spread = [100 * result.tps.std(ddof=1) / result.tps.mean() for _, result in runs.items()]
    above.set_title(f"mean {change:+.0f} %; standard deviation {spread[0]:.0f} → {spread[1]:.0f} % of the mean", loc="left",
                    fontsize=7)
    figure.legend(*above.get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=7)
    return figure


def full_scale(full: dict) -> Figure:
    """The same for pools of different ages (turnovers: Comparison), side by side."""
    figure, panels = canvas(aspect=0.95, rows=2, columns=len(full), sharex=True, sharey="row", squeeze=False)
    for (age, runs), (above, below) in zip(full.items(), panels.T, strict=True):
        _run_by_run(above, below, runs)
        above.set_title(f"rewritten {age:g} times before" if age else "never rewritten before", loc="left", fontsize=7)
    _names(*panels[:, 0])
    figure.supxlabel(RUN, fontsize=7)
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=2, fontsize=7)
    return figure


def sizes(small: pd.DataFrame, full: pd.DataFrame, labels: dict[str, str],
          published: dict[str, float | None]) -> Figure:
    """The same draws to scale and at full size: a panel for each column that `labels` names, a dot a draw."""
    figure, panels = canvas(aspect=1.15, rows=2, columns=2)
    for panel, (name, label) in zip(panels.flat, labels.items(), strict=True):
        _dots(panel, small[name], full[name])
        ends = np.array([*panel.get_xlim(), *panel.get_ylim()])
        panel.plot([ends.min(), ends.max()], [ends.min(), ends.max()], color=GREY, lw=0.6, zorder=0)
        if published[name] is not None:
            panel.axhline(published[name], color=BLACK, lw=0.8, ls="--")
        panel.set_title(textwrap.fill(label, WIDE), loc="left", fontsize=7)
    figure.supxlabel("to scale (simulated smaller)", fontsize=7)
    figure.supylabel("full size", fontsize=7)
    return figure


def _dots(panel: Axes, small: pd.Series, full: pd.Series) -> None:
    """A dot a draw. One far from all others stands at an edge, with its numbers: to scale; at full size. At the foot these
    are the numbers at full size alone, in the order of the dots."""
    low, high = _reach(pd.concat([small, full]))
    foot = low - (high - low) / 10          # of what lies below, apart from the least that is shown
    heights = full.where(full >= low, foot).clip(upper=high)
    panel.plot(small.clip(low, high), heights, "o", color=BLUE, ms=4)
    feet = sorted((x, y) for x, y in zip(small, full, strict=True) if low <= x <= high and y < low)
    at_foot = textwrap.fill(", ".join(f"{y:.0f}" for _, y in feet), WIDE // 2)
    labels = [(feet[0], at_foot)] if feet else []
    labels += [((x, y), f"{x:.3g}; {y:.3g}") for x, y in zip(small, full, strict=True)
               if not (low <= x <= high and y <= high)]
    for place, label in labels:
        side, align = (6, "left") if place[0] < low else (-6, "right")
        panel.annotate(label.replace("-", "−"), (np.clip(place[0], low, high), min(high, max(foot, place[1]))),
                       (side, 0), textcoords="offset points", fontsize=7, ha=align, va="center")


def by_age(several: dict) -> Figure:
    """Throughput run by run under the old rules, for pools that had been rewritten so often (turnovers: series)."""
    figure, panels = canvas(aspect=0.3 + 0.22 * len(several), rows=len(several), sharex=True, sharey=True)
    for axes, (age, result) in zip(panels, several.items(), strict=True):
        axes.plot(np.arange(len(result.tps)), result.tps, "o-", color=BLUE, ms=3)
        axes.set_title(f"{age:.2g} turnovers before the first run", loc="left", fontsize=7)
        axes.set_ylim(0, None)
    panels[len(panels) // 2].set_ylabel("transactions (1/s)")
    panels[-1].set_xlabel(RUN)
    return figure


def ladder(table: pd.DataFrame) -> Figure:
    """Throughput at each number of users (rules, users, repeat, tps): every run a dot, a line through the means."""
    figure, axes = canvas(aspect=0.66)
    for variant, (colour, label) in LOOKS.items():
        rows = table[table.rules == variant]
        axes.plot(rows.users, rows.tps, "o", color=colour, ms=3, mfc="none")
        means = rows.groupby("users").tps.mean()
        axes.plot(means.index, means, color=colour, label=label)
    axes.set_xscale("log", base=2)
    users = sorted(table.users.unique())
    axes.set_xticks(users, [str(n) for n in users])
    axes.minorticks_off()
    axes.set_ylim(0, None)
    axes.set_xlabel("users")
    axes.set_ylabel("transactions (1/s)")
    axes.legend(loc="upper left")
    return figure


def ablation(table: pd.DataFrame, published: tuple[float, float]) -> Figure:
    """Gain in the mean and fall of the variability for every change by itself and for all (key, label, seed, gain,
    reduction). Shown are means over seeds, and their range."""
    rows = table[table.key != "old"].groupby(["key", "label"], sort=False)[["gain", "reduction"]].agg(["mean", "min", "max"])
    figure, (left, right) = canvas(aspect=0.32 + 0.07 * len(rows), columns=2, sharey=True)
    places, is_all = np.arange(len(rows))[::-1], rows.index.get_level_values("key").str.startswith("all-")
    for axes, name, target, title in ((left, "gain", published[0], "gain in\nthroughput"),
                                      (right, "reduction", published[1], "less\nvariability")):
        changes = rows[name].clip(lower=LOWEST)
        for mine, colour, label in ((~is_all, GREEN, "one change"), (is_all, ORANGE, "all together")):
            axes.barh(places[mine], changes["mean"][mine], color=colour, height=0.6, label=label)
        axes.hlines(places, changes["min"], changes["max"], color=BLACK, lw=0.8)
        for place, minimum in zip(places, rows[name]["min"], strict=True):
            if minimum < LOWEST:      # beyond the axis
                axes.annotate(f"← {minimum:.0f}".replace("-", "−"), (LOWEST, place + 0.3), (1, 0),
                              textcoords="offset points", fontsize=7)
        axes.axvline(0, color=GREY, lw=0.6)
        axes.axvline(target, color=BLACK, lw=0.8, ls="--", label="published")
        axes.set_title(title, fontsize=7, loc="left")
        axes.set_xlabel("%")
        axes.tick_params(axis="y", length=0)
    left.set_yticks(places, rows.index.get_level_values("label"))
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3, columnspacing=1)
    return figure


def over_unpublished(table: pd.DataFrame, published: tuple[float, float]) -> Figure:
    """Gain and fall of variability over each thing that was not published (factor, label, level, is_number, gain,
    reduction)."""
    factors = list(table.factor.unique())
    figure, panels = canvas(aspect=0.36 * -(-len(factors) // 2) + 0.1, rows=-(-len(factors) // 2), columns=2, sharey=True)
    for axes, factor in zip(panels.flat, factors, strict=False):
        levels = table[table.factor == factor]
        places = np.arange(len(levels))
        line = "-" if levels.is_number.all() else ""      # between words there is nothing
        axes.plot(places, levels.gain, "o" + line, color=ORANGE, ms=3, label="gain in throughput")
        axes.plot(places, levels.reduction, "s" + line, color=GREEN, ms=3, label="less variability")
        for value, colour in zip(published, (ORANGE, GREEN), strict=True):
            axes.axhline(value, color=colour, lw=0.8, ls="--")
        axes.axhline(0, color=GREY, lw=0.6)
        axes.set_xticks(places, levels.level)
        axes.set_xlim(-0.5, len(levels) - 0.5)
        axes.set_xlabel(levels.label.iloc[0], fontsize=7)
    for axes in panels[:, 0]:
        axes.set_ylabel("change (%)")
    panels.flat[0].set_ylim(max(LOWEST, min(0, table[["gain", "reduction"]].min().min()) - 10), None)
    figure.legend(*panels.flat[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=7)
    return figure


def _reach(values: pd.Series) -> tuple[float, float]:
    """Where an axis ends, so that what lies far from all others does not squeeze them: `FAR` quartile ranges from these."""
    low, high = values.quantile([0.25, 0.75])
    return max(values.min(), low - FAR * (high - low)), min(values.max(), high + FAR * (high - low))


def draws(results: pd.DataFrame, published: tuple[float, float]) -> Figure:
    """Gain against fall of variability of every draw (`study.experiments.allocator_2010.order_entry.predict`)."""
    figure, axes = canvas(aspect=0.85)
    looks = {"all": (BLUE, "o", "everything drawn"), "parameter": (GREEN, "x", "numbers drawn"),
             "structure": (ORANGE, "s", "one condition changed"), "central": (BLACK, "*", "best guess")}
    gains, falls = results["after/throughput.gain"], results["after/variability.reduction"]
    (leftmost, rightmost), (lowest, _) = _reach(gains), _reach(falls)
    bottom = min(lowest, 0.0) - ROOM
    heights = falls.where(falls >= lowest, bottom + ROOM / 5)       # what lies below the axis is at its foot
    for part, (colour, marker, label) in looks.items():
        rows = results.part == part
        axes.plot(gains[rows].clip(leftmost, rightmost), heights[rows], marker, color=colour, ms=4, label=label, ls="none")
    beyond = sorted((gain, fall, height) for gain, fall, height in zip(gains, falls, heights, strict=True)
                    if not leftmost <= gain <= rightmost or fall < lowest)
    for n, (gain, fall, height) in enumerate(beyond if len(beyond) <= FEW else []):     # neighbours on lines of their own
        arrow = "→ " if gain > rightmost else "← " if gain < leftmost else "↓ "
        axes.annotate(f"{arrow}{gain:.0f}, {fall:.0f}".replace("-", "−"), (np.clip(gain, leftmost, rightmost), height),
                      (0, 4 + LINE_PT * (n % 2)), textcoords="offset points", fontsize=7,
                      ha="right" if gain > rightmost else "center", va="bottom")
    axes.plot(*published, "D", color=BLACK, mfc="none", ms=6, label="published")
    axes.axhline(0, color=GREY, lw=0.6)
    axes.axvline(0, color=GREY, lw=0.6)
    axes.set_ylim(bottom, 105)
    axes.margins(x=0.08)
    axes.set_xlabel("gain in throughput (%)")
    axes.set_ylabel("less variability (%)")
    figure.legend(loc="outside lower center", ncols=2, fontsize=7, columnspacing=1.5)
    return figure
