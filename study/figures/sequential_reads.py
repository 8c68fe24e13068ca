"""Figures of sequential readers: what a reader does with its time, and what a disk does. Blue is with the vdev cache,
orange without."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from model.simulations.sequential_reads import watch_columns as watched
from model.simulations.sequential_reads.state import ACTIVITIES, COPYING, ISSUING, STALLED, WAITING
from model.zfs.vdev import recorder_columns as recorded
from study.drawing import BLUE, GREY, ORANGE, RED, SKY, canvas
from study.experiments.vdev_cache_2007.timeline import Timeline
from study.figures.short_runs import line_of, with_room

RATES = {"before": (BLUE, "vdev cache on"), "after": (ORANGE, "vdev cache off")}
LOOK = {COPYING: (BLUE, 1.0), ISSUING: (SKY, 1.0), WAITING: ("#D0D0D0", 0.55), STALLED: (RED, 0.55)}     # colour, height
TIMES = [watched.BEGAN, watched.ENDED]


def _within(run: Timeline, start_ns: int, length_ns: int) -> np.ndarray:
    """The rows that touch the window, cut to it; times in ms from its start."""
    began, ended = run.activities[:, watched.BEGAN], run.activities[:, watched.ENDED]
    rows = run.activities[(ended > start_ns) & (began < start_ns + length_ns)].astype(float)
    rows[:, TIMES] = (np.clip(rows[:, TIMES], start_ns, start_ns + length_ns) - start_ns) / 1e6
    return rows


def stall_timeline(runs: list[Timeline], start_s: float, length_s: float = 0.3) -> Figure:
    """One reader under each rule, in a window of time: high bars are work of its processor, low ones are waits."""
    figure, panels = canvas(aspect=0.28 + 0.32 * len(runs), rows=len(runs), sharex=True, squeeze=False)
    for axes, run in zip(panels[:, 0], runs, strict=True):
        rows = _within(run, round(start_s * 1e9), round(length_s * 1e9))
        length, doing = rows[:, watched.ENDED] - rows[:, watched.BEGAN], rows[:, watched.ACTIVITY]
        for activity, (colour, height) in LOOK.items():
            mine = doing == activity
            spans = np.column_stack([rows[mine, watched.BEGAN], length[mine]])
            axes.broken_barh(spans, (0, height), color=colour, lw=0)
        n_stalls = len(set(rows[doing == STALLED, watched.WAITED_FOR]))
        share, n_copies = (length[doing == activity] for activity in (STALLED, COPYING))
        axes.set_title(f"{run.label}\n{len(n_copies) * run.mib_per_copy:.0f} MiB copied, {n_stalls} "
                       f"{'stall' if n_stalls == 1 else 'stalls'}, {100 * share.sum() / (length_s * 1e3):.0f} % of the time",
                       loc="left", fontsize=7, pad=2)
        axes.set_ylim(0, 1)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
    panels[-1, 0].set_xlim(0, length_s * 1e3)
    panels[-1, 0].set_xlabel(f"time (ms), from {start_s:g} s after the start")
    handles = [Patch(color=colour, lw=0) for colour, _ in LOOK.values()]
    figure.legend(handles, ACTIVITIES, loc="outside lower center", ncols=2, handlelength=1.2, columnspacing=0.8)
    return figure


def one_disk(commands: np.ndarray, start_s: float, length_s: float = 0.3) -> Figure:
    """A disk in a window of time (columns of `model.zfs.vdev.recorder_columns`). Shown is where its head is asked to be, and
    how many commands and I/Os stand before it, both whenever it begins a command."""
    start_ns, length_ns = start_s * 1e9, length_s * 1e9
    began = commands[:, recorded.BEGAN]
    rows = commands[(began >= start_ns) & (began < start_ns + length_ns)].astype(float)
    at_ms = (rows[:, recorded.BEGAN] - start_ns) / 1e6
    figure, (above, below) = canvas(aspect=0.95, rows=2, sharex=True)
    large = rows[:, recorded.BYTES] > 2**16
    for mine, colour, label, size in ((large, BLUE, "records", 3), (~large, RED, "indirect blocks", 12)):
        above.scatter(at_ms[mine], rows[mine, recorded.OFFSET] / 2**20, s=size, color=colour, label=label, lw=0)
    above.set_ylabel("read from (MiB)")
    above.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, handletextpad=0.2, borderpad=0)
    below.step(at_ms, rows[:, recorded.AT_DRIVE], where="post", color=BLUE, label="in drive and driver")
    below.step(at_ms, rows[:, recorded.AT_QUEUE], where="post", color=GREY, label="in the vdev queue")
    below.set_ylabel("commands")
    below.set_ylim(0, None)
    below.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    below.set_xlim(0, length_s * 1e3)
    below.set_xlabel(f"time (ms), from {start_s:g} s after the start")
    below.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, borderpad=0)
    return figure


def time_budget(table: pd.DataFrame) -> Figure:
    """What a reader's time for a MiB goes to, a bar for each row (step, mib_per_s, and ms of each activity)."""
    figure, axes = canvas(aspect=0.32 + 0.11 * len(table))
    places, end = np.arange(len(table))[::-1], np.zeros(len(table))
    for name, (colour, _) in zip(("copying", "issuing", "waiting", "stalled"), LOOK.values(), strict=True):
        length = table[f"reader.{name}"].to_numpy()
        axes.barh(places, length, left=end, height=0.6, color=colour, lw=0)
        end = end + length
    for place, at, rate in zip(places, end, table.mib_per_s, strict=True):
        axes.annotate(f"{rate:.0f} MiB/s", (at, place), (3, 0), textcoords="offset points", va="center", fontsize=7)
    axes.set_yticks(places, table.step)
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(0, 1.45 * end.max())
    axes.set_xlabel("a reader's time for a read of 1 MiB (ms)")
    handles = [Patch(color=colour, lw=0) for colour, _ in LOOK.values()]
    figure.legend(handles, ACTIVITIES, loc="outside lower center", ncols=2, handlelength=1.2, columnspacing=0.8)
    return figure


def throughput(table: pd.DataFrame) -> Figure:
    """MiB read in each second, with the cache and without (frame: variant, t in s, mib_per_s), and what is lost."""
    figure, axes = canvas(aspect=0.6)
    means = table.groupby("variant").mib_per_s.mean()
    for variant, rows in table.groupby("variant", sort=False):
        colour, label = RATES[variant]
        axes.plot(rows.t, rows.mib_per_s, line_of(len(rows)), ms=3, color=colour, label=label)
    with_room(axes, table.t.nunique())
    axes.set_xlabel("time (s)")
    axes.set_ylabel("read (MiB/s)")
    change = 100 * (means["after"] / max(means["before"], 1e-9) - 1)
    axes.set_title(f"a run of {table.t.max():g} s: {change:+.1f} % without the cache", loc="left")
    figure.legend(loc="outside lower center", ncols=2, fontsize=7, columnspacing=1)
    return figure


def processor_time(draws: pd.DataFrame, printed: pd.DataFrame) -> Figure:
    """Throughput and processor time of a read, of each draw with the cache and without it, and as printed. Columns:
    `<variant>/summary.rate` and `.cpu` (us) of both."""
    figure, axes = canvas(aspect=0.7)
    ends = {variant: (f"{variant}/summary.rate", f"{variant}/summary.cpu") for variant in RATES}
    rates, times = ([draws[ends[variant][i]] for variant in RATES] for i in (0, 1))
    axes.plot(rates, np.array(times) / 1e3, "-", color=GREY, lw=0.5, alpha=0.7, zorder=1)
    for variant, (colour, label) in RATES.items():
        rate, cpu = ends[variant]
        axes.plot(draws[rate], draws[cpu] / 1e3, "o", color=colour, ms=3, label=label, zorder=2)
        axes.plot(printed[rate], printed[cpu] / 1e3, "D", color=colour, mec="black", ms=6, zorder=4)
    axes.plot([printed[ends[variant][0]] for variant in RATES], [printed[ends[variant][1]] / 1e3 for variant in RATES], "-",
              color="black", lw=1, zorder=3, label="published (diamonds)")
    axes.set_xlabel("throughput (MiB/s)")
    axes.set_ylabel("CPU time (ms/MiB)")
    figure.legend(loc="outside lower center", ncols=2, fontsize=7, columnspacing=1)
    return figure
