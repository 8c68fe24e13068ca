"""Scores of claims as a table that fits the notebook's column: an interval is one cell.

    scores.pipe(score_tables.shown, digits=1)       of `claim_predictions.scores` or `full_size.scores`
"""
import pandas as pd
from pandas.io.formats.style import Styler

from study import short_tables

KINDS = {"unfitted": "nothing fitted: middle (5 to 95 %)", "fitted": "one constant fitted"}
LEFT = "these give"


def shown(scores: pd.DataFrame, digits: int = 2, thousands: str = "") -> Styler:
    """Claim, published, intervals, what is left of the draws, and grades. From 1000 on a number has no decimals. A kind of
    interval that no claim has goes without its column."""
    def number(value: float) -> str:
        decimals = digits if abs(value) < 1000 else 0
        rounded = round(value, decimals) + 0.0      # without the sign of −0
        return f"{rounded:,.{decimals}f}".replace(",", thousands).replace("-", "−")

    def between(low: float, high: float) -> str:
        return "" if pd.isna(low) or pd.isna(high) else f"{number(low)} to {number(high)}"

    cells: dict[str, object] = {"claim": scores.claim, "published": scores.published.map(number)}
    for kind, name in KINDS.items():
        if f"{kind} 5 %" in scores and scores[f"{kind} 5 %"].notna().any():
            ends = zip(scores[f"{kind} 5 %"], scores[f"{kind} 50 %"], scores[f"{kind} 95 %"], strict=True)
            cells[name] = ["" if pd.isna(low) else f"{number(middle)} ({between(low, high)})" for low, middle, high in ends]
    cells["draws left"] = scores["draws left"]
    cells[LEFT] = [between(low, high) for low, high in zip(scores["left, low"], scores["left, high"], strict=True)]
    beside = scores.columns[scores.columns.get_loc("left, high") + 1:]
    return short_tables.shown(pd.DataFrame(cells).join(scores[beside]), digits=0)
