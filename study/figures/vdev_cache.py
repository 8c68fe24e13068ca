"""Figures of `90_model_vs_zfs`."""
import numpy as np
import pandas as pd
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from model.zfs.vdev.cache import OUTCOMES
from study.drawing import BLUE, GREY, ORANGE, canvas
from study.experiments.vdev_cache_2007.cache_lines import Lines

POINTS = 600        # along the time axis: as many as a column-wide figure can show


def agreement(counts: np.ndarray) -> Figure:
    """Recorded against replayed outcomes of all reads: `counts[recorded, replayed]`."""
    seen = np.flatnonzero(counts.sum(0) + counts.sum(1))
    shown = counts[np.ix_(seen, seen)]
    names = [OUTCOMES[code] for code in seen]
    figure, axes = canvas(aspect=0.9)
    axes.imshow(np.where(shown > 0, shown, np.nan), norm=LogNorm(1, counts.max() * 30), cmap="Blues")
    for (row, column), count in np.ndenumerate(shown):
        axes.text(column, row, f"{count:,}".replace(",", "\u2009"), ha="center", va="center", fontsize=7,
                  color="black" if count else GREY)
    axes.set_xticks(range(len(names)), names, rotation=40, ha="right")
    axes.set_yticks(range(len(names)), names)
    axes.set_xlabel("what the model decides")
    axes.set_ylabel("what ZFS decided (recorded)")
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    return figure


def lines_over_time(runs: list[Lines]) -> Figure:
    """Lines resident over time, a panel for each rule; hatched is what metadata brought in."""
    figure, panels = canvas(aspect=1.25, rows=len(runs), sharex=True, sharey=True)
    for axes, run in zip(panels, runs, strict=True):
        shown = slice(None, None, max(1, len(run.time_s) // POINTS))
        time_s, metadata, data = run.time_s[shown], run.metadata_lines[shown], run.data_lines[shown]
        axes.fill_between(time_s, metadata, step="post", color=BLUE, label="brought in by metadata", lw=0)
        axes.fill_between(time_s, metadata, metadata + data, step="post", color=ORANGE, label="brought in by data", lw=0)
        axes.axhline(run.limit, color=GREY, lw=0.6, ls="--", label="zfs_vdev_cache_size")
        axes.set_title(f"{run.rule.label}\n{100 * run.answered:.0f} % of metadata answered, "
                       f"{run.kib_per_record:.1f} KiB moved a record", loc="left", fontsize=7, pad=2)
    panels[0].set_ylim(0, 1.12 * max(1, runs[0].limit))
    panels[-1].set_xlabel("time after a cold start (s)")
    figure.supylabel("lines resident in the cache of one disk", fontsize=8)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, handlelength=1.2, columnspacing=0.8)
    return figure


def what_the_disk_moves(table: pd.DataFrame) -> Figure:
    """Bytes that the disk moves for each record read (frame: line_kib, rule, kib_per_record, answered)."""
    figure, (left, right) = canvas(aspect=0.85, columns=2)
    looks = ({"marker": "o", "ms": 3}, {"marker": "s", "ms": 6, "mfc": "none"}, {"marker": "^", "ms": 3, "ls": "--"},
             {"marker": "D", "ms": 3})          # the second and third lie on each other
    for (rule, rows), look in zip(table.groupby("rule", sort=False), looks, strict=True):
        left.plot(rows.line_kib, rows.kib_per_record, label=rule, **look)
        right.plot(rows.line_kib, 100 * rows.answered, **look)
    for axes, label in ((left, "from disk per record (KiB)"), (right, "metadata answered (%)")):
        axes.set_xscale("log", base=2)
        axes.set_xticks(sorted(set(table.line_kib)), [f"{kib:g}" for kib in sorted(set(table.line_kib))])
        axes.minorticks_off()
        axes.set_xlabel("line (KiB)")
        axes.set_ylabel(label)
    left.set_yscale("log", base=2)
    left.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    right.set_ylim(0, None)
    figure.legend(loc="outside lower center", fontsize=7)
    return figure
