"""Figures of `01_vdev_cache_oltp`. Blue is before, orange after the change; a black diamond is what was published."""
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from model.zfs.vdev import recorder_columns as recorded
from study.drawing import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, canvas
from study.experiments.vdev_cache_2007.filebench_oltp import Runs
from study.figures.short_runs import line_of, with_room

LOOKS = {"before": (BLUE, "before: every small read fills a line"), "after": (ORANGE, "after: only metadata fills")}


def response_cdf(responses: dict[str, np.ndarray], published_ms: dict[str, float]) -> Figure:
    """Distribution of the response times (ms) of reads before and after, medians and 99th percentiles marked."""
    figure, axes = canvas(aspect=0.72)
    for variant, times in responses.items():
        colour, label = LOOKS[variant]
        shares = np.linspace(0, 1, 1001)
        axes.plot(np.quantile(times, shares), 100 * shares, color=colour, label=label)
        for share, marker in ((0.5, "o"), (0.99, "s")):
            at = np.quantile(times, share)
            axes.plot([at], [100 * share], marker, color=colour, ms=4)
            place, side = ((5, -9), "left") if variant == "before" else ((-2, 4) if share > 0.9 else (-5, 3), "right")
            axes.annotate(f"{at:.0f} ms", (at, 100 * share), place, textcoords="offset points", color=colour, fontsize=7,
                          ha=side)
        axes.plot([times.mean()], [0], "^", color=colour, ms=5, clip_on=False)
        axes.plot([published_ms[variant]], [0], "D", color=BLACK, mfc=colour, ms=4, clip_on=False)
    axes.set_xscale("log")
    axes.set_xlim(1, None)
    axes.set_xticks([1, 3, 10, 30, 100, 300], ["1", "3", "10", "30", "100", "300"])
    axes.minorticks_off()
    axes.set_ylim(0, 101)
    axes.set_xlabel("response time of a read (ms)")
    axes.set_ylabel("reads answered (%)")
    for marker, label in (("o", "median of the model"), ("s", "99th percentile"), ("^", "mean of the model")):
        axes.plot([], [], marker, color=GREY, ms=4, label=label)
    axes.plot([], [], "D", color=BLACK, mfc="none", ms=4, label="mean published")
    figure.legend(loc="outside lower center", ncols=2, fontsize=7, columnspacing=1)
    return figure


def decomposition(table: pd.DataFrame, label: str = "operations (1/s)") -> Figure:
    """A waterfall from the first to the last of the rows (state, change, rate): `change` is what leads to a state."""
    figure, axes = canvas(aspect=0.55)
    rates, n = table.rate.to_numpy(), len(table)
    axes.bar([0, n], rates[[0, -1]], color=[BLUE, ORANGE], width=0.6)
    for place in range(1, n):
        low, high = sorted(rates[[place - 1, place]])
        axes.bar(place, high - low, bottom=low, color=GREEN if rates[place] >= rates[place - 1] else PURPLE, width=0.6)
        axes.annotate(f"{100 * (rates[place] - rates[place - 1]) / rates[0]:+.1f} %", (place, high), (0, 2),
                      textcoords="offset points", ha="center", fontsize=7)
        axes.plot([place - 1, place], [rates[place - 1]] * 2, color=GREY, lw=0.6)
    axes.plot([n - 1, n], [rates[-1]] * 2, color=GREY, lw=0.6)
    for place, rate in ((0, rates[0]), (n, rates[-1])):
        axes.annotate(f"{rate:,.0f}".replace(",", "\N{THIN SPACE}"), (place, rate), (0, 2), textcoords="offset points",
                      ha="center", fontsize=7)
    axes.set_xticks(range(n + 1), [table.state.iloc[0], *table.change.iloc[1:], table.state.iloc[-1]], fontsize=7)
    axes.set_ylim(0, rates.max() * 1.15)
    axes.set_ylabel(label)
    return figure


def throughput(runs: Runs, rates: dict[str, float]) -> Figure:
    """Reads and writes in each second under both builds (`study.experiments.protocol.Comparison`); above, the rates that
    FileBench prints (by variant, waits counted), and what the change gains."""
    figure, axes = canvas(aspect=0.68)
    for (variant, x), width in zip(runs.items(), (2.4, 1.2), strict=True):      # where both are the same, both are seen
        colour, label = LOOKS[variant]
        seconds = x.per_second.sum(axis=0)
        axes.plot(np.arange(len(seconds)) + 1, seconds, line_of(len(seconds)), ms=3, lw=width, color=colour, label=label)
    with_room(axes, len(seconds))
    seconds = runs.machine.settings.duration_ns / 1e9
    axes.set_xlabel("time (s)")
    axes.set_ylabel("reads and writes (1/s)")
    before, after = rates.values()
    axes.set_title(f"{seconds:g} s: {before:.0f} operations/s before, {after:.0f} after, "
                   f"{100 * (after / before - 1):+.1f}\N{NO-BREAK SPACE}%", x=0, loc="left", fontsize=7, wrap=True)
    figure.legend(loc="outside lower center", fontsize=7)
    return figure


def levels(results: pd.DataFrame, baseline: float, published: float) -> Figure:
    """Throughput before against gain of each draw (`study.ensembles.ensembles.run`), unfitted and fitted."""
    figure, axes = canvas(aspect=0.75)
    drawn = results[results.part == "all"]
    gain = 100 * (drawn["after/summary.rate"] / drawn["before/summary.rate"] - 1)
    for ncq, colour, name in ((True, BLUE, "NCQ"), (False, GREEN, "no NCQ")):
        for fitted, marker, how, size, opacity in ((False, "o", "unfitted", 2, 0.4), (True, "x", "fitted", 3, 1.0)):
            mine = (drawn.ncq == ncq) & (drawn.fitted == fitted)
            axes.plot(drawn["before/summary.rate"][mine], gain[mine], marker, color=colour, ms=size, alpha=opacity,
                      mew=0 if marker == "o" else 0.8, label=f"{name}, {how}")
    axes.plot([baseline], [published], "D", color=BLACK, ms=5, label="published")
    axes.set_xlim(0, None)
    axes.set_ylim(0, None)
    axes.set_xlabel("operations before the change (1/s)")
    axes.set_ylabel("gain (%)")
    figure.legend(loc="outside lower center", ncols=3, fontsize=7, columnspacing=1)
    return figure


def one_disk(commands: np.ndarray, start_s: float, length_s: float = 1.0) -> Figure:
    """A disk in a window of time (columns of `model.zfs.vdev.recorder_columns`). Shown is where its head is sent, and how
    many commands and I/Os stand before it, both whenever it begins a command."""
    began = commands[:, recorded.BEGAN]
    rows = commands[(began >= start_s * 1e9) & (began < (start_s + length_s) * 1e9)].astype(float)
    at_ms = (rows[:, recorded.BEGAN] - start_s * 1e9) / 1e6
    figure, (above, below) = canvas(aspect=1.0, rows=2, sharex=True)
    large = rows[:, recorded.BYTES] > 2**14
    for mine, colour, label, size in ((~large, BLUE, "up to 16 KiB", 4), (large, ORANGE, "larger", 8)):
        above.scatter(at_ms[mine], rows[mine, recorded.OFFSET] / 2**20, s=size, color=colour, label=label, lw=0)
    above.set_ylabel("head sent to (MiB)")
    above.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, handletextpad=0.2, borderpad=0)
    below.step(at_ms, rows[:, recorded.AT_DRIVE], where="post", color=BLUE, label="in drive and driver")
    below.step(at_ms, rows[:, recorded.AT_QUEUE], where="post", color=GREY, label="in the vdev queue")
    below.set_ylabel("commands, I/Os")
    below.set_ylim(0, None)
    below.set_xlim(0, length_s * 1e3)
    below.set_xlabel(f"time (ms), from {start_s:g} s after the start")
    below.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, borderpad=0)
    return figure
