"""Figures of `05_io_size_correlation`. Blue could explain throughput, grey follows from it; a black diamond
is what was published."""
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from study.drawing import BLACK, BLUE, GREY, ORANGE, RED, canvas
from study.ensembles.correlation import Analysis
from study.figures import in_words
from study.your_runs.quantities import with_unit

LONG_NAME, LONG_LABEL, NEW_LINE = 16, 34, "\n"      # letters: of what is explained, of an upright axis
MAX_STATISTICS = 12, 5  # statistics of each kind in a ranking


def ranking(analysis: Analysis, published: float | None = None) -> Figure:
    """R² of statistics with throughput, with intervals: those that could explain it, the others, and the best of many."""
    is_own = analysis.ranked.disguise == ""
    mine, others = analysis.ranked[is_own].head(MAX_STATISTICS[0]), analysis.ranked[~is_own].head(MAX_STATISTICS[1])
    n = len(mine) + len(others) + 1
    figure, axes = canvas(aspect=0.3 + 0.048 * n)
    places = np.arange(n)[::-1]
    for rows, at, colour, label in ((mine, places[1:len(mine) + 1], BLUE, "could explain it"),
                                    (others, places[len(mine) + 1:], GREY, "follows from it")):
        axes.barh(at, rows.r2, height=0.7, color=colour, alpha=0.55, label=label)
        axes.hlines(at, rows.low, rows.high, color=BLACK, lw=0.8)
    low, middle, high = analysis.best
    axes.hlines(places[:1], low, high, color=ORANGE, lw=4, alpha=0.7)
    axes.plot([middle], places[:1], "o", color=ORANGE, ms=4, label="the best of many")
    if published is not None:
        axes.axvline(published, color=BLACK, lw=0.7, ls="--")
        axes.plot([published], [n - 0.35], "D", color=BLACK, ms=4, clip_on=False, label=f"published: {published:g}")
    axes.set_yticks(places, ["best of those below",
                            *in_words.named([*mine.statistic, *others.statistic], in_words.STATISTICS)])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(-0.6, n - 0.4)
    axes.set_xlim(0, 1)
    outcome = in_words.STATISTICS.get(analysis.outcome, analysis.outcome)
    is_long = len(outcome) > LONG_NAME
    axes.set_xlabel(f"R² with {outcome},{NEW_LINE if is_long else ' '}5 to 95 %",
                    loc="right" if is_long else "center")
    figure.legend(loc="outside lower center", ncols=2, fontsize=7, columnspacing=1)
    return figure


def scatter(analysis: Analysis, row: str = "test run") -> Figure:
    """The statistic against throughput, each row of the table in the colour of its place in time, and the line of least
    squares. `row` is what a row is, in a word."""
    figure, axes = canvas(aspect=0.75)
    x, y = analysis.table[analysis.statistic].to_numpy(float), analysis.table[analysis.outcome].to_numpy(float)
    dots = axes.scatter(x, y, c=analysis.table.index, cmap="viridis", s=14, lw=0)
    ends = np.array([x.min(), x.max()])
    axes.plot(ends, analysis.fit.params[0] + analysis.fit.params[1] * ends, color=RED, lw=1.2)
    axes.set_title(f"R² = {analysis.fit.rsquared:.2f}", loc="left")
    bar = figure.colorbar(dots, ax=axes, pad=0.02, aspect=30, ticks=_whole())
    bar.set_label(f"{row}, in the order of time")
    bar.outline.set_visible(False)
    axes.locator_params(axis="x", nbins=5)
    axes.set_xlabel(_label(analysis, analysis.statistic))
    label = _label(analysis, analysis.outcome)
    axes.set_ylabel(label.replace(" (", f"{NEW_LINE}(") if len(label) > LONG_LABEL else label)
    return figure


def over_runs(analysis: Analysis) -> Figure:
    """Throughput and the statistic, by test run."""
    figure, panels = canvas(aspect=0.8, rows=2, sharex=True)
    for axes, name, colour in zip(panels, (analysis.outcome, analysis.statistic), (BLACK, BLUE), strict=True):
        axes.plot(analysis.table.index, analysis.table[name], "o-", color=colour, ms=2.5, lw=0.8)
        axes.set_title(_label(analysis, name), loc="left", fontsize=7)     # beside a low panel it would be cut
        axes.margins(y=0.12)
    panels[1].xaxis.set_major_locator(_whole())
    panels[1].set_xlabel(f"test run, in the order of time ({len(analysis.table)} that count as {analysis.row.n_eff:.0f})")
    return figure


def residuals(analysis: Analysis) -> Figure:
    """What the line leaves: by test run, and against how much each could bend it; the size of a dot is how much it does."""
    figure, (above, below) = canvas(aspect=1.15, rows=2)
    seen, runs = analysis.influence, analysis.table.index.to_numpy()
    marked = seen.marked.to_numpy()
    above.axhspan(-2, 2, color=GREY, alpha=0.15, lw=0)
    above.plot(runs, seen.residual, "o-", color=BLUE, ms=2.5, lw=0.6)
    above.xaxis.set_major_locator(_whole())
    above.set_xlabel("test run, in the order of time")
    below.axhspan(-2, 2, color=GREY, alpha=0.15, lw=0)
    for mine, colour in ((~marked, BLUE), (marked, RED)):
        below.scatter(seen.hat[mine], seen.residual[mine], s=4 + 300 * seen.cook[mine], color=colour, alpha=0.6, lw=0)
    for place in np.flatnonzero(marked):
        below.annotate(f"test run {runs[place]}", (seen.hat[place], seen.residual[place]), (-5, -3),
                       textcoords="offset points", fontsize=7, color=RED, ha="right")
        above.plot(runs[place], seen.residual[place], "o", color=RED, ms=3.5)
    below.set_xlabel("hat value: a test run's pull on the line")
    for axes in (above, below):
        axes.axhline(0, color=GREY, lw=0.6)
        axes.set_ylabel("studentised residual")
    figure.align_ylabels((above, below))
    return figure


def both(table: pd.DataFrame, published: float) -> Figure:
    """R² of I/O size and of the best statistic under several assumptions: what, and size_low to best_high."""
    figure, axes = canvas(aspect=0.34 + 0.075 * len(table))
    places = np.arange(len(table))[::-1]
    for kind, colour, shift, label in (("size", BLUE, 0.14, "I/O size"), ("best", ORANGE, -0.14, "the best of many")):
        axes.hlines(places + shift, table[f"{kind}_low"], table[f"{kind}_high"], color=colour, lw=3, alpha=0.5)
        axes.plot(table[f"{kind}_middle"], places + shift, "o", color=colour, ms=3.5, label=label)
    axes.axvline(published, color=BLACK, lw=0.7, ls="--")
    axes.plot([published], [len(table) - 0.45], "D", color=BLACK, ms=4, clip_on=False, label=f"published: {published:g}")
    axes.set_yticks(places, table.what)
    axes.set_ylim(-0.6, len(table) - 0.4)
    axes.set_xlim(0, 1.01)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("R² with throughput")
    figure.legend(loc="outside lower center", ncols=3, fontsize=7, columnspacing=1)
    return figure


def _whole() -> MaxNLocator:
    """Ticks at whole test runs; a locator belongs to one axis."""
    return MaxNLocator(6, integer=True)


def _label(analysis: Analysis, name: str) -> str:
    unit = analysis.table.attrs["units"].get(name, "1")
    if name in in_words.STATISTICS:
        return in_words.STATISTICS[name] + {"1": "", "1/s": " a second"}.get(unit, f" ({unit})")
    if "." in name:     # of a reader's own runs: series.quantity
        return with_unit(name, unit)
    return name if unit == "1" else f"{name} ({unit})"
