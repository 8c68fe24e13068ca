"""Figures of `00_claims`: what the documents say against what their figures show."""
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from study.drawing import BLUE, GREEN, GREY, ORANGE, RED, canvas
from study.figures import in_words

AGAINST = {"own figures": RED, "a law": BLUE, "the code": ORANGE, "the workload's script": GREEN}
LEGEND_ABOVE = {"loc": "outside upper left", "ncols": 2}


def differences(findings: pd.DataFrame) -> Figure:
    """How much more or less the figures show than is said, in per cent. There is one row per check of a claim that differs,
    the smallest difference on top. Colours say what the claim was held against, if that is not the same for all."""
    table = relative_difference(findings).sort_values("percent", key=abs)
    names = list(dict.fromkeys(table["label"]))
    figure, axes = canvas(aspect=0.3 + 0.045 * len(names))
    held = {against: colour for against, colour in AGAINST.items() if (table["against"] == against).any()}
    for against, colour in held.items():
        for marker, rows in (("<", table[table["percent"] < 0]), (">", table[table["percent"] > 0])):
            rows = rows[rows["against"] == against]
            axes.plot(rows["percent"].abs(), rows["label"].map(names.index), marker, color=colour, ms=4, mew=0)
        axes.plot([], [], "s", color=colour, ms=4, mew=0, label=against)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda percent, _: f"{percent:g}")       # exponents would be too small to read
    axes.set_yticks(range(len(names)), in_words.named(names, in_words.AUDIT))
    axes.set_ylim(max(len(names), 1) - 0.4, -0.6)
    axes.grid(axis="y", color=GREY, lw=0.2)
    axes.tick_params(axis="y", length=0)
    figure.supxlabel("less (◀) or more (▶) than said (%)", fontsize=8)      # under a narrow panel its own label is cut
    if len(held) > 1:
        figure.legend(**LEGEND_ABOVE)
    return figure


def relative_difference(findings: pd.DataFrame) -> pd.DataFrame:
    """The findings that differ, with columns label and percent. The latter is 100 (shown / said - 1), where said is the
    middle of what is said, or its one end."""
    table = findings[findings["finding"] == "differs"].copy()
    table["percent"] = 100 * (table["shown"] / table[["said_low", "said_high"]].mean(axis=1) - 1)
    table["label"] = table["claim_id"] + ": " + table["check"]
    return table


def processes(shares: pd.DataFrame, expected: float) -> Figure:
    """Little's law: a bar per run, made of rate times time of each row; `expected` processes there are."""
    figure, axes = canvas(aspect=0.5)
    parts = list(dict.fromkeys(shares["part"]))
    order = shares.groupby("subject")["processes"].sum().sort_values(ascending=False).index
    left = np.zeros(len(parts))
    for subject, colour in zip(order, (BLUE, ORANGE, GREEN, RED), strict=False):
        width = shares[shares["subject"] == subject].set_index("part")["processes"].reindex(parts).to_numpy()
        axes.barh(parts, width, left=left, color=colour, height=0.5, label=in_words.SHADOW.get(subject, subject))
        left += width
    axes.axvline(expected, color="black", lw=0.8, ls="--")
    axes.set_xlim(0.93 * expected, 1.005 * expected)
    axes.set_xlabel(f"processes accounted for, of {expected:g} (axis cut)")
    figure.legend(**LEGEND_ABOVE)
    return figure


def prices(findings: pd.DataFrame) -> Figure:
    """Price of one device by its gigabytes and by its I/Os per second, with the range that rounding allows."""
    table = findings[findings["check"] == "price"].sort_values("shown").reset_index(drop=True)
    figure, axes = canvas(aspect=0.55)
    y = np.arange(len(table))
    axes.hlines(y - 0.13, table["shown_low"], table["shown_high"], color=BLUE, lw=3, label="capacity × price of a GB")
    axes.hlines(y + 0.13, table["said_low"], table["said_high"], color=ORANGE, lw=3, label="I/Os per second × price of one")
    axes.plot(table["shown"], y - 0.13, "|", ms=7, color=BLUE)
    axes.plot((table["said_low"] + table["said_high"]) / 2, y + 0.13, "|", ms=7, color=ORANGE)
    axes.set_yticks(y, in_words.named(table["claim_id"].str.removeprefix("price-"), in_words.DEVICES))
    axes.set_ylim(max(len(table), 1) - 0.5, -0.5)
    axes.set_xlim(0, None)
    axes.set_xlabel("price of one device ($)")
    figure.legend(**LEGEND_ABOVE | {"ncols": 1})
    return figure


def in_flight(findings: pd.DataFrame) -> Figure:
    """Requests that must be in flight for a table's I/Os per second at its latency, with the number beside each bar."""
    table = findings[findings["check"] == "in-flight"].sort_values("shown")
    figure, axes = canvas(aspect=0.5)
    devices = in_words.named(table["claim_id"].str.removeprefix("speed-"), in_words.DEVICES)
    bars = axes.barh(devices, table["shown"], color=BLUE, height=0.6)
    axes.bar_label(bars, [f"{number:.2g}" for number in table["shown"]], padding=3, fontsize=7)
    axes.margins(x=0.1)
    axes.axvline(1, color="black", lw=0.8, ls="--", label="all that a latency allows one after another")
    axes.set_xlabel("requests in flight (1)")
    figure.legend(loc="outside lower center")
    return figure
