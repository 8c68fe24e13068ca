"""Figures of `00_claims`: what the documents say against what their figures show."""
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from study.figures import BLUE, GREEN, GREY, ORANGE, RED, SKY, canvas

COLOURS = {"agrees": BLUE, "differs": RED}
OPEN_END = 1e9          # stands for "no end" where a range is drawn


def said_against_shown(findings: pd.DataFrame) -> Figure:
    """Shown over said, a row for each check of a claim that differs; what agrees is gathered in the top row. The band is what
    the rounding of the printed numbers allows: a dot outside its band differs."""
    table = _ratios(findings)
    differing = table[table["finding"] == "differs"]
    names = ["(all that agree)", *dict.fromkeys(differing["label"])]
    figure, axes = canvas(aspect=0.25 + 0.039 * len(names))
    for row in table.itertuples():
        y = names.index(row.label) if row.finding == "differs" else 0
        if y:
            axes.plot([row.low, row.high], [y, y], color=SKY, lw=3, solid_capstyle="butt", zorder=1)
        axes.plot(row.ratio, y, "o", ms=3, color=COLOURS[row.finding], mew=0, zorder=2, alpha=1 if y else 0.4)
    axes.axvline(1, color=GREY, lw=0.6, zorder=0)
    axes.set_xscale("log")
    axes.set_xlim(differing["ratio"].min() / 1.6, differing["ratio"].max() * 1.6)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_yticks(range(len(names)), names, fontsize=5.5)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("what the figures show / what is said")
    return figure


def _ratios(findings: pd.DataFrame) -> pd.DataFrame:
    """Columns label, finding, ratio and the range of ratios that would agree. What is said is the middle of its range, or its
    one end; rows where that or what is shown is zero have no ratio."""
    table = findings[findings["finding"].isin(COLOURS)].copy()
    said = table[["said_low", "said_high"]].mean(axis=1)        # of what is there: the middle, or the one end
    table = table[(said > 0) & (table["shown"] > 0)]
    said = said[table.index]
    slack_below = (table["shown"] - table["shown_low"]) / said
    slack_above = (table["shown_high"] - table["shown"]) / said
    table["ratio"] = table["shown"] / said
    table["low"] = (table["said_low"] / said - slack_above).fillna(1 / OPEN_END).clip(lower=1 / OPEN_END)
    table["high"] = (table["said_high"] / said + slack_below).fillna(OPEN_END)
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
        axes.barh(parts, width, left=left, color=colour, height=0.5, label=subject)
        left += width
    axes.axvline(expected, color="black", lw=0.8, ls="--")
    axes.set_xlim(0.93 * expected, 1.005 * expected)
    axes.set_xlabel(f"shadow processes accounted for (of {expected:g}; the axis starts at {0.93 * expected:g})")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=2, borderaxespad=0.1)
    return figure


def prices(findings: pd.DataFrame) -> Figure:
    """Price of one device by its gigabytes and by its I/Os per second, with the range that rounding allows."""
    table = findings[findings["check"] == "price"].sort_values("shown").reset_index(drop=True)
    figure, axes = canvas(aspect=0.55)
    y = np.arange(len(table))
    axes.hlines(y - 0.13, table["shown_low"], table["shown_high"], color=BLUE, lw=3, label="capacity × price of a GB")
    axes.hlines(y + 0.13, table["said_low"], table["said_high"], color=ORANGE, lw=3, label="I/Os per second × price of one")
    for name, column, shift, colour in (("shown", "shown", -0.13, BLUE), ("said", None, 0.13, ORANGE)):
        middle = table[column] if column else (table["said_low"] + table["said_high"]) / 2
        axes.plot(middle, y + shift, "|", ms=7, color=colour, gid=name)
    axes.set_yticks(y, table["claim_id"].str.removeprefix("price-"))
    axes.set_ylim(len(table) - 0.5, -0.5)
    axes.set_xlim(0, None)
    axes.set_xlabel("price of one device [$]")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), borderaxespad=0.1)
    return figure


def in_flight(findings: pd.DataFrame) -> Figure:
    """Requests that must be in flight for a table's I/Os per second at its latency."""
    table = findings[findings["check"] == "in-flight"].sort_values("shown")
    figure, axes = canvas(aspect=0.5)
    colours = [COLOURS[finding] for finding in table["finding"]]
    axes.barh(table["claim_id"].str.removeprefix("speed-"), table["shown"], color=colours, height=0.6)
    axes.axvline(1, color="black", lw=0.8, ls="--")
    axes.set_xlabel("requests in flight = I/Os per second × latency")
    return figure
