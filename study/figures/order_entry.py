"""Figures of `04_oltp_gain`. Blue is the old rules, orange the new ones; black is what was published."""
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from study.figures import BLACK, BLUE, GREEN, GREY, ORANGE, canvas

LOOKS = {"before": (BLUE, "old rules"), "after": (ORANGE, "new rules")}


def series(runs) -> Figure:
    """Throughput run by run under both rules (`study.order_entry_2010.Comparison`), and how many blocks a write of records
    has."""
    figure, (above, below) = canvas(aspect=0.95, rows=2, sharex=True)
    for variant, one in runs.items():
        colour, label = LOOKS[variant]
        numbers = np.arange(1, len(one.tps) + 1)
        above.plot(numbers, one.tps, "o-", color=colour, ms=3, label=label)
        above.axhline(one.tps.mean(), color=colour, lw=0.6, ls=":")
        below.plot(numbers, one.pool.blocks_per_write, "o-", color=colour, ms=3)
    above.set_ylim(0, None)
    above.set_ylabel("transactions (1/s)")
    below.set_ylim(0, None)
    below.set_ylabel("blocks in a write")
    below.set_xlabel("run")
    change = 100 * (runs.after.tps.mean() / runs.before.tps.mean() - 1)
    spread = [100 * one.tps.std(ddof=1) / one.tps.mean() for _, one in runs.items()]
    above.set_title(f"mean {change:+.0f} %, standard deviation {spread[0]:.0f} % and {spread[1]:.0f} % of it", loc="left",
                    fontsize=7)
    figure.legend(*above.get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=7)
    return figure


def ladder(table: pd.DataFrame) -> Figure:
    """Throughput at each number of users (rules, users, repeat, tps): every run a dot, a line through the means."""
    figure, axes = canvas(aspect=0.66)
    for variant, (colour, label) in LOOKS.items():
        some = table[table.rules == variant]
        axes.plot(some.users, some.tps, "o", color=colour, ms=3, mfc="none")
        means = some.groupby("users").tps.mean()
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
    """Gain in the mean and fall of the variability for every change by itself and for all (label, gain, reduction)."""
    rows = table[table.key != "old"]
    figure, (left, right) = canvas(aspect=0.2 + 0.075 * len(rows), columns=2, sharey=True)
    places = np.arange(len(rows))[::-1]
    alone = ~rows.key.str.startswith("new-").to_numpy()
    for axes, values, target, label in ((left, rows.gain, published[0], "gain in throughput (%)"),
                                        (right, rows.reduction, published[1], "less variability (%)")):
        axes.barh(places, values, color=np.where(alone, GREEN, ORANGE), height=0.6)
        axes.axvline(0, color=GREY, lw=0.6)
        axes.axvline(target, color=BLACK, lw=0.8, ls="--")
        axes.set_xlabel(label, fontsize=7)
        axes.tick_params(axis="y", length=0)
    right.set_xlim(max(-150, rows.reduction.min() * 1.1), 110)
    left.set_yticks(places, rows.label, fontsize=6)
    return figure


def over_unpublished(table: pd.DataFrame, published: tuple[float, float]) -> Figure:
    """Gain and fall of variability over each thing that was not published (factor, label, level, gain, reduction)."""
    factors = list(table.factor.unique())
    figure, panels = canvas(aspect=0.36 * -(-len(factors) // 2) + 0.1, rows=-(-len(factors) // 2), columns=2, sharey=True)
    for axes, factor in zip(panels.flat, factors, strict=False):
        some = table[table.factor == factor]
        places = np.arange(len(some))
        axes.plot(places, some.gain, "o-", color=ORANGE, ms=3, label="gain in throughput")
        axes.plot(places, some.reduction, "s-", color=GREEN, ms=3, label="less variability")
        for value, colour in zip(published, (ORANGE, GREEN), strict=True):
            axes.axhline(value, color=colour, lw=0.8, ls="--")
        axes.axhline(0, color=GREY, lw=0.6)
        axes.set_xticks(places, [f"{level:g}" for level in some.level])
        axes.set_xlabel(some.label.iloc[0], fontsize=7)
    for axes in panels[:, 0]:
        axes.set_ylabel("%")
    panels.flat[0].set_ylim(max(-120, table[["gain", "reduction"]].min().min() - 10), None)
    figure.legend(*panels.flat[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=7)
    return figure


def draws(results: pd.DataFrame, published: tuple[float, float]) -> Figure:
    """Gain against fall of variability of every draw (`study.order_entry_questions.predict`)."""
    figure, axes = canvas(aspect=0.75)
    looks = {"all": (BLUE, "o", "everything drawn"), "parameter": (GREEN, "x", "numbers drawn"),
             "structure": (ORANGE, "s", "one condition changed"), "central": (BLACK, "*", "best guess")}
    for part, (colour, marker, label) in looks.items():
        some = results[results.part == part]
        axes.plot(some["after/throughput.gain"], some["after/variability.reduction"], marker, color=colour, ms=4,
                  label=label, ls="none")
    axes.plot(*published, "D", color=BLACK, mfc="none", ms=6, label="published")
    axes.axhline(0, color=GREY, lw=0.6)
    axes.axvline(0, color=GREY, lw=0.6)
    axes.set_ylim(max(-150, results["after/variability.reduction"].min() - 10), 105)
    axes.set_xlabel("gain in throughput (%)")
    axes.set_ylabel("less variability (%)")
    figure.legend(loc="outside lower center", ncols=3, fontsize=7, columnspacing=1)
    return figure
