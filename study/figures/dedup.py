"""Figures of `13_dedup`. Blue is with dedup, orange with a cache device besides, grey without; dashed is what was said."""
import pandas as pd
from matplotlib.figure import Figure

from study.drawing import BLACK, BLUE, GREEN, GREY, ORANGE, RED, canvas, ratio_ticks
from study.figures.in_words import CLAIMS, named

COLOURS = (BLUE, ORANGE, GREEN, RED)
LEAST_SHOWN, MOST_SHOWN = 0.03, 20      # of what is simulated, over what was printed


def memory(grown: pd.DataFrame, published: pd.DataFrame, post_bytes: float) -> Figure:
    """Bytes of the table for an entry as it grows, and what published outputs of zdb show."""
    figure, axes = canvas(aspect=0.62)
    axes.plot(grown.entries, grown.in_core, color=BLUE, label="model, 4 KiB leaves of 31 entries")
    axes.plot(published.entries, published.in_core, "D", color=BLACK, ms=4, label="published zdb -DD, zpool -D")
    axes.axhline(post_bytes, color=BLACK, lw=0.7, ls="--")
    axes.annotate("post of 2010: 200", (grown.entries.min(), post_bytes), xytext=(0, 3), textcoords="offset points",
                  fontsize=7)
    axes.set_xscale("log")
    axes.set_ylim(0, 290)
    axes.set_xlabel("entries")
    axes.set_ylabel("in core (B for an entry)")
    axes.legend(loc="lower right")
    return figure


def gains(over_changes: pd.DataFrame, over_runs: pd.DataFrame, published: float) -> Figure:
    """How much better 8K dedups than 128K: over the share of changed pages, by load and backups, and by clustering."""
    figure, (left, right) = canvas(aspect=0.95, columns=2, sharey=True)
    for style, (load, of_load) in zip(("-", ":"), over_changes.groupby("load", sort=False), strict=True):
        for colour, (backups, rows) in zip(COLOURS, of_load.groupby("backups"), strict=False):
            left.plot(100 * rows.share, rows.gain, style, color=colour, label=f"{backups:.0f}, {load}")
    for colour, (run, rows) in zip(COLOURS, over_runs.groupby("run"), strict=False):
        right.plot(100 * rows.share, rows.gain, color=colour, label=f"{run}")
    for axes in (left, right):
        axes.axhline(published, color=BLACK, lw=0.7, ls="--", label="as published")
        axes.set_xscale("log")
        ratio_ticks(axes.xaxis)
        axes.set_xlabel("pages changed (%)")
    left.set_ylabel("gain of 8K over 128K")
    left.set_ylim(0.8, 16)
    figure.legend(*left.get_legend_handles_labels(), title="backups, load", title_fontsize=7, loc="outside lower left")
    handles, labels = right.get_legend_handles_labels()
    figure.legend(handles[:-1], labels[:-1], title="changed pages in a run", title_fontsize=7,
                  loc="outside lower right")
    return figure


def batches(rows: pd.DataFrame) -> Figure:
    """Writes of data that one write of a table block stands for."""
    figure, axes = canvas(aspect=0.6)
    for colour, (block, of_block) in zip(COLOURS, rows.groupby("block"), strict=False):
        axes.loglog(of_block.entries, of_block.blocks_per_write, color=colour, label=f"blocks of {block // 1024} KiB")
    axes.axhline(10, color=BLACK, lw=0.7, ls="--")
    axes.set_xlabel("entries of the table")
    axes.set_ylabel("duplicates for a table block")
    axes.legend()
    return figure


def post_figures(rows: pd.DataFrame) -> Figure:
    """Ranges of figures over what is printed, a line each, and what the words allow."""
    figure, axes = canvas(aspect=0.95)
    for place, row in enumerate(rows[::-1].to_dict("records")):
        axes.fill_betweenx((place - 0.35, place + 0.35), max(row["from"], LEAST_SHOWN), min(row["to"], MOST_SHOWN),
                           color=GREY, alpha=0.25, lw=0, label=None if place else "what the words allow")
        axes.plot((row["low"], row["high"]), (place, place), color=BLUE, lw=2, solid_capstyle="butt",
                  label=None if place else "simulated, 5 to 95 %")
        axes.plot(row["middle"], place, "o", color=BLUE, ms=4, label=None if place else "middle")
    axes.axvline(1, color=BLACK, lw=0.7, ls="--", label="as printed")
    axes.set_xscale("log")
    axes.set_xlim(LEAST_SHOWN, MOST_SHOWN)
    ratio_ticks(axes.xaxis)
    axes.set_yticks(range(len(rows)), named(rows.claim[::-1], CLAIMS))
    axes.set_xlabel("simulated over printed")
    figure.legend(loc="outside lower center", ncols=2, columnspacing=1)
    return figure


def cliff(rows: pd.DataFrame) -> Figure:
    """Sustained writes, and the longest a call waited, over the size of the table; dashed and dotted without duplicates, and
    with the most of them."""
    figure, panels = canvas(aspect=0.95, rows=2, sharex=True)
    without = rows[rows.what == "without dedup"].iloc[0]
    for axes, column, label in zip(panels, ("mb_per_s", "most_ms"), ("writes (MB/s)", "longest call (ms)"), strict=True):
        axes.axhline(without[column], color=GREY, lw=1, label="without dedup")
        for style, colour, (what, of_what) in zip(("o-", "o-", ".--", ".:"), (BLUE, ORANGE, BLUE, BLUE), rows[
                rows.what != "without dedup"].groupby("what", sort=False), strict=True):
            axes.plot(of_what.times, of_what[column], style, ms=3, color=colour, label=what)
        axes.set_yscale("log")
        ratio_ticks(axes.yaxis)
        axes.set_ylabel(label)
    panels[1].set_xscale("log", base=2)
    panels[1].set_xticks(sorted(rows.times.unique()), [f"{times:g}" for times in sorted(rows.times.unique())])
    panels[1].set_xlabel("table, in what memory may hold of it")
    panels[0].legend()
    return figure


def reads(rows: pd.DataFrame) -> Figure:
    """Share of the second of two equal files that is read from memory, over the size of a file."""
    figure, axes = canvas(aspect=0.6)
    for colour, style, (how, of_how) in zip((GREY, BLUE, GREEN), ("o-", "s-", "^--"), rows.groupby("how", sort=False),
                                            strict=True):
        axes.plot(of_how.part, 100 * of_how.in_memory, style, ms=4, color=colour, label=how)
    axes.set_xlabel("size of a file, in parts of the ARC")
    axes.set_ylabel("second file in memory (%)")
    axes.set_ylim(-4, 104)
    axes.legend()
    return figure


def synchronous(rows: pd.DataFrame) -> Figure:
    """The longest and the median of synchronous calls, over the rate at which they come."""
    figure, panels = canvas(aspect=0.7, columns=2, sharey=True)
    for axes, column, label in zip(panels, ("p50_ms", "most_ms"), ("median", "longest"), strict=True):
        for colour, style, (what, of_what) in zip((GREY, BLUE, RED, ORANGE), ("o-", "s--", "D-", "^:"),
                                                  rows.groupby("what", sort=False), strict=True):
            axes.plot(of_what.offered, of_what[column], style, ms=4, color=colour, label=what)
        axes.set_xscale("log", base=2)
        axes.set_xticks(sorted(rows.offered.unique()), [f"{rate:g}" for rate in sorted(rows.offered.unique())])
        axes.set_yscale("log")
        axes.set_xlabel("asked for (MB/s)")
        axes.set_title(label)
    panels[0].set_ylabel("synchronous call (ms)")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=7)
    return figure
