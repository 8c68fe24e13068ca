"""Figures of `09_postgres_checkpoints`, drawn like those of 2008. Orange is UFS, blue ZFS; black is what was published."""
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Annotation, Text

from study.drawing import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, canvas, ratio_ticks
from study.experiments.postgres_2008 import curves
from study.experiments.postgres_2008.curves import Run
from study.experiments.postgres_2008.setups import TESTS
from study.figures.in_words import CLAIMS, named

COLOURS = (ORANGE, BLUE, GREEN, PURPLE, SKY, GREY)
# Where words may stand at a mark: place along it (0 to 1), points away from it, and which side of the words is there.
PLACES = {"above": (0.5, (0, 4), "center", "bottom"), "below": (0.5, (0, -5), "center", "top"),
          "above, at its end": (1.0, (0, 4), "right", "bottom"), "below, at its end": (1.0, (0, -5), "right", "top"),
          "high above": (0.5, (0, 13), "center", "bottom"), "right": (1.0, (5, 0), "left", "center"),
          "left": (0.0, (-5, 0), "right", "center"), "above, behind its end": (1.0, (2, 4), "left", "bottom"),
          "below, behind its end": (1.0, (2, -5), "left", "top")}
QUANTITIES = {
    "write.phase": "length of a write phase", "write.bandwidth": "bytes written a second",
    "write.burst": "length of the burst", "write.bandwidth_peak": "writes in the burst",
    "write.fall_line_over_step": "fall: line over step", "write.rate_divided_by": "UFS's writes over ZFS's",
    "throughput.stable_from": "steady from", "database.throughput": "throughput",
    "database.throughput_over_ufs": "throughput over UFS's", "database.throughput_over_15": "throughput over 15 %'s",
    "log.write_bandwidth@1800": "writes to the log, 1800 s"}
OF_SEVERAL = {"checkpoint-900s": "ZFS, 8K", "zfs-no-zil": "ZFS, no intent log"}     # numbers of more tests than one
LEAST_RATIO = 1e-3     # what is simulated as zero is drawn there
BEHIND = {"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.85}    # of words: lines do not cross them


def _lines(axes: Axes, runs: dict[str, Run], values: Callable[[Run], np.ndarray], window_s: float) -> None:
    for (label, run), colour in zip(runs.items(), COLOURS, strict=False):
        axes.plot(run.t, curves.smooth(values(run), window_s, run.step_s), color=colour, lw=1, label=label)


def in_words(numbers: Iterable[str]) -> dict[str, str]:
    """Names `test/quantity` of printed numbers, and in two lines what they are; what has no words keeps its name."""
    tests = {name: test.label for name, test in TESTS.items()} | OF_SEVERAL
    parts = {number: number.split("/", 1) for number in numbers}
    return {number: f"{tests.get(test, test)}:\n{QUANTITIES.get(quantity, quantity)}"
            for number, (test, quantity) in parts.items()}


def _labelled(axes: Axes) -> tuple[list, list]:
    """What a legend is to show."""
    return axes.get_legend_handles_labels()


class Words(NamedTuple):
    """Of a mark from `low` to `high` (s)."""
    axes: Axes
    text: Annotation
    low: float
    high: float

    def put(self, place: str) -> None:
        """The words go to a place beside their curve."""
        along, away, side, edge = PLACES[place]
        self.text.xy = (self.low + along * (self.high - self.low), self.text.xy[1])
        self.text.set(position=away, ha=side, va=edge)


def _mark(axes: Axes, marks: list[tuple[float, float, float, str]]) -> list[Words]:
    """What was published: (from s, to s, value, text). `_free_of_lines` says where the words stand."""
    words = []
    for low, high, value, text in marks:
        axes.plot([low, high], [value, value], color=BLACK, lw=1.4, ls="--" if high > low else "", marker="D",
                  ms=3 if high > low else 4)
        words.append(Words(axes, axes.annotate(text, (high, value), textcoords="offset points", xytext=(0, 0), fontsize=7,
                                               bbox=BEHIND, zorder=5), low, high))
    return words


def _free_of_lines(figure: Figure, words: list[Words]) -> None:
    """The last thing done to a figure: words go to the first of PLACES of those that cover least of lines and of other
    words; the layout then makes room for them."""
    figure.draw_without_rendering()
    for label in words:
        covered = {}
        for place in PLACES:
            label.put(place)
            covered[place] = _covers(label.axes, label.text)
        label.put(min(covered, key=covered.__getitem__))


def _covers(axes: Axes, words: Text) -> int:
    """Points of lines behind the words, twenty to a step of the test; beside the panel is as bad as a hundred, above or
    below it worse than all else, as ticks or another panel are there."""
    box = words.get_window_extent().padded(1)
    lines = [axes.transData.transform_path(line.get_path()).interpolated(20).vertices for line in axes.lines]
    others = sum(box.overlaps(text.get_window_extent()) for text in axes.texts if text is not words)
    x0, y0, x1, y1 = axes.bbox.extents
    beside, beyond = box.x0 < x0 or box.x1 > x1, box.y0 < y0 or box.y1 > y1
    return sum(int(box.count_contains(points)) for points in lines) + 100 * beside + 1000 * others + 10_000 * beyond


def over_time(runs: dict, group: str, marks: dict, window_s: float = 60, beside: dict | None = None) -> Figure:
    """Throughput, bandwidth and rate of writes over the time of a test (label: run). `marks`: what `_mark` draws, by panel
    (tpm, written, writes). `beside`: runs of which only throughput is shown."""
    figure, panels = canvas(aspect=1.15, rows=3, sharex=True)
    words = []
    quantities = {"tpm": ("1000 trans./min", lambda run: run.tpm / 1000),
            "written": ("writes (MB/s)", lambda run: run.written_mb[group]),
            "writes": ("writes (1/s)", lambda run: run.writes[group])}
    for axes, (name, (label, values)) in zip(panels, quantities.items(), strict=True):
        _lines(axes, runs | (beside or {}) if name == "tpm" else runs, values, window_s)
        words += _mark(axes, marks.get(name, []))
        axes.set_ylim(0, None)
        axes.set_ylabel(label)
    panels[-1].set_xlabel("time of the test (s)")
    columns = len(panels[0].lines) if len(runs) < 4 else 2
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=columns, fontsize=7)
    _free_of_lines(figure, words)
    return figure


def throughput(runs: dict, marks: list[tuple[float, float, float, str]], window_s: float = 30) -> Figure:
    """Throughput over the time of a test (label: run), each line dashed more than the last one, as some hide others;
    `marks`: what `_mark` draws."""
    figure, axes = canvas(aspect=0.68)
    _lines(axes, runs, lambda run: run.tpm / 1000, window_s)
    for i, line in enumerate(axes.lines):
        line.set_linestyle((0, (4, 2 * i)) if i else "-")
    words = _mark(axes, marks)
    axes.set_ylim(0, None)
    axes.set_xlabel("time of the test (s)")
    axes.set_ylabel("1000 trans./min")
    figure.legend(*_labelled(axes), loc="outside lower center", ncols=2, fontsize=7)
    _free_of_lines(figure, words)
    return figure


def split(runs: dict, marks: list[tuple[float, float, float, str]], window_s: float = 30) -> Figure:
    """What the disks of the log write, and those of the rest, on a logarithmic axis (label: run); `marks`: of the rest."""
    figure, (log, rest) = canvas(aspect=0.95, rows=2, sharex=True)
    _lines(log, runs, lambda run: run.written_mb["log pool"], window_s)
    _lines(rest, runs, lambda run: np.maximum(run.written_mb["data"], 0.1), window_s)
    words = _mark(rest, marks)
    rest.set_yscale("log")
    log.set_ylim(0, None)
    log.set_ylabel("log, four disks\n(MB/s)")
    rest.set_ylabel("rest, five disks\n(MB/s)")
    rest.set_xlabel("time of the test (s)")
    figure.legend(*_labelled(log), loc="outside lower center", ncols=2, fontsize=7)
    _free_of_lines(figure, words)
    return figure


def reads(runs: dict, marks: list[tuple[float, float, str]]) -> Figure:
    """What disks read over time, on a logarithmic axis; `marks`: (s, KB/s, text)."""
    figure, axes = canvas(aspect=0.62)
    for (label, run), colour in zip(runs.items(), COLOURS, strict=False):
        values = 1000 * curves.smooth(run.read_mb["data"], 60, run.step_s)
        axes.plot(run.t, np.maximum(values, 1), color=colour, label=label)
    axes.set_yscale("log")
    words = _mark(axes, [(t, t, value, text) for t, value, text in marks])
    axes.set_xlabel("time of the test (s)")
    axes.set_ylabel("reads (KB/s)")
    figure.legend(loc="outside lower center", ncols=2, fontsize=7)
    _free_of_lines(figure, words)
    return figure


def memory(table: pd.DataFrame) -> Figure:
    """What ZFS reads (reads_mb) by how much of the ARC tables and log need (of_arc); a colour for each log_gib."""
    figure, axes = canvas(aspect=0.62)
    for (size, group), colour in zip(table.groupby("log_gib"), (BLUE, SKY, PURPLE), strict=False):
        axes.plot(group.of_arc, group.reads_mb, "o", color=colour, ms=5, label=f"{size:.0f} GiB of log files")
    axes.axvline(1, color=BLACK, lw=0.8, ls="--")
    axes.set_ylim(-0.03 * table.reads_mb.max(), None)
    axes.set_xlabel("tables and log files, over the ARC")
    axes.set_ylabel("ZFS reads (MB/s)")
    figure.legend(loc="outside lower center", ncols=2, fontsize=7)
    return figure


def one_checkpoint(runs: dict, period_s: int, burst_s: float, peak_mb: float, parts_of: str) -> Figure:
    """The mean checkpoint interval: writes a second, and MB/s. Of run `parts_of` also what the database writes of pages and
    of log. Then what was published of its burst, with a straight line behind it that ends where the simulated one does."""
    figure, (above, below) = canvas(aspect=1.15, rows=2, sharex=True, height_ratios=(2, 3))
    for (label, run), colour in zip(runs.items(), COLOURS, strict=False):
        for axes, values in ((above, run.writes["data"]), (below, run.written_mb["data"])):
            axes.plot(*_mean_checkpoint(run, values, period_s), color=colour, label=label)
    of = runs[parts_of]
    end = _mean_checkpoint(of, of.written_mb["data"], period_s)[1][-1]
    for values, colour, label in ((of.pages_mb, SKY, f"{parts_of}: pages"), (of.log_mb, PURPLE, f"{parts_of}: log")):
        below.plot(*_mean_checkpoint(of, values, period_s), color=colour, lw=1, label=label)
    below.plot([0, burst_s, period_s], [peak_mb, peak_mb, end], color=BLACK, lw=1.4, ls="--",
               label=f"published: up to {peak_mb:g}, then linear")
    above.axvspan(0, burst_s, color=GREY, alpha=0.15, lw=0)
    above.text(burst_s + 4, 0.98, f"burst of ZFS, published: {burst_s:g} s", fontsize=7, va="top", bbox=BEHIND, zorder=5,
               transform=above.get_xaxis_transform())
    for axes, label in ((above, "writes (1/s)"), (below, "writes (MB/s)")):
        axes.set_ylim(0, 1.18 * axes.dataLim.y1)
        axes.set_ylabel(label)
    below.set_xlabel("time since a checkpoint began (s)")
    figure.legend(*_labelled(below), loc="outside lower center", ncols=2, fontsize=7)
    return figure


def _mean_checkpoint(run: Run, values: np.ndarray, period_s: int) -> tuple[np.ndarray, np.ndarray]:
    """Seconds since it began, and the mean of all but the first."""
    mean = curves.folded(curves.smooth(values, 10, run.step_s), run.step_s, period_s)
    return (np.arange(len(mean)) + 0.5) * period_s / len(mean), mean


def logs(runs: dict[str, Run], of_log: Run, marks: dict) -> Figure:
    """Throughput with the intent log in three places, and what the log device writes. `of_log`: the run with its own.
    `marks`: tpm, what `_mark` draws, and log, (s, MB/s, text), with its words behind the end of the run."""
    figure, (above, below) = canvas(aspect=0.95, rows=2, sharex=True)
    _lines(above, runs, lambda run: run.tpm / 1000, 30)
    words = _mark(above, marks["tpm"])
    below.plot(of_log.t, curves.smooth(of_log.written_mb["log"], 10, of_log.step_s), color=GREEN)
    below.plot(of_log.t, curves.smooth(of_log.written_mb["data"], 10, of_log.step_s), color=GREY, lw=0.8,
               label="below: nine disks, besides")
    for t, value, text in marks["log"]:
        below.plot([t], [value], "D", color=BLACK, ms=4, zorder=5)
        below.annotate(text, (t, value), xytext=(of_log.t[-1] + 60, value), va="center", fontsize=7,
                       arrowprops={"arrowstyle": "-", "color": BLACK, "lw": 0.6}, zorder=5)
    for axes, label in ((above, "1000 trans./min"), (below, "writes (MB/s)")):
        axes.set_ylim(0, None)
        axes.set_ylabel(label)
    below.set_xlabel("time of the test (s)")
    lines = [*above.get_legend_handles_labels()[0], below.lines[1]]
    figure.legend(lines, [line.get_label() for line in lines], loc="outside lower center", ncols=2, fontsize=7)
    _free_of_lines(figure, words)
    return figure


def targets(table: pd.DataFrame) -> Figure:
    """Mean throughput by completion target (what, target, tpm, low): a bar, and the tenth of the time that is worst."""
    figure, axes = canvas(aspect=0.62)
    kinds = list(dict.fromkeys(table.what))
    shares = sorted(table.target.unique())
    for i, label in enumerate(kinds):
        rows = table[table.what == label]
        places = [shares.index(target) + (i - (len(kinds) - 1) / 2) * 0.25 for target in rows.target]
        axes.bar(places, rows.tpm / 1000, width=0.23, color=COLOURS[i], label=label)
        axes.plot(places, rows.low / 1000, "_", color=BLACK, ms=8)
    axes.set_xticks(range(len(shares)), [f"{share:g} %" for share in shares])
    axes.set_xlabel("completion target of checkpoints (every 300 s)")
    axes.set_ylabel("1000 trans./min")
    figure.legend(loc="outside lower center", ncols=3, fontsize=7)
    return figure


def _ratio(scores: pd.DataFrame, end: str) -> pd.Series:
    """An end of the intervals over what was published; a logarithmic axis has no zero."""
    return np.maximum(scores[end].astype(float) / scores.published, LEAST_RATIO)


def claims(scores: pd.DataFrame) -> Figure:
    """Each claim's intervals over what was published (`study.grades.claim_predictions.scores`): of all draws, of the fitted
    ones, and of those that show the baseline. Where nothing was published, it is left out."""
    shown = scores[scores.published > 0]
    figure, axes = canvas(aspect=0.3 + 0.09 * len(shown))
    places = np.arange(len(shown))[::-1]
    for kind, words, colour, up in (("unfitted", "nothing fitted", BLUE, 0.24),
                                    ("fitted", "one constant fitted", ORANGE, 0.0)):
        if shown[f"{kind} 50 %"].notna().any():
            low, middle, high = (_ratio(shown, f"{kind} {share} %") for share in (5, 50, 95))
            axes.hlines(places + up, low, high, color=colour, lw=3, alpha=0.5)
            axes.plot(middle, places + up, "o", color=colour, ms=3, label=words)
    axes.hlines(places - 0.24, _ratio(shown, "left, low"), _ratio(shown, "left, high"), color=GREEN, lw=3,
                label="draws that show the baseline")
    axes.axvline(1, color=BLACK, lw=0.8, ls="--", label="published")
    axes.set_xscale("log")
    ratio_ticks(axes.xaxis)
    labels = zip(named(shown.claim, CLAIMS), shown.grade, strict=True)
    axes.set_yticks(places, [f"{claim}\n({grade})" for claim, grade in labels])
    axes.set_xlabel("simulated over published (1)")
    axes.tick_params(axis="y", length=0)
    figure.legend(loc="outside lower center", ncols=2, fontsize=7)
    return figure
