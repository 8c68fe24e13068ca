"""Tables of scores for readers."""
import re

import pandas as pd

from study.grades import score_tables

SCORES = pd.DataFrame({
    "claim": ["oltp-gain", "lutz-gain"], "published": [1.2, -50.0], "unfitted 5 %": [1.1, -0.001],
    "unfitted 50 %": [1.15, 2.0], "unfitted 95 %": [1.234, 12345.678],
    "fitted 5 %": [None, 1.0], "fitted 50 %": [None, 1.5], "fitted 95 %": [None, 2.0],
    "draws left": [70, 0], "left, low": [1.1, None], "left, high": [1.2, None], "grade": ["consistent", "not identified"],
    "by single changes": ["consistent", "consistent"]})


def rows_of(styled) -> list[list[str]]:
    cells = re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", styled.to_html())
    return [cells[i:i + 8] for i in range(0, len(cells), 8)]


def test_an_interval_is_one_cell_and_what_is_not_is_a_dash():
    heads, first, second = rows_of(score_tables.shown(SCORES, thousands=" "))
    assert heads == ["claim", "published", *score_tables.KINDS.values(), "draws left", score_tables.LEFT, "grade",
                     "by single changes"]
    assert first == ["oltp-gain", "1.20", "1.15 (1.10 to 1.23)", "–", "70", "1.10 to 1.20", "consistent", "consistent"]
    assert second == ["lutz-gain", "−50.00", "2.00 (0.00 to 12 346)", "1.50 (1.00 to 2.00)", "0", "–", "not identified",
                      "consistent"]


def test_what_no_claim_has_has_no_column():
    none = SCORES.assign(**{f"fitted {share}": None for share in ("5 %", "50 %", "95 %")})
    assert list(score_tables.shown(none).data) == [
        "claim", "published", score_tables.KINDS["unfitted"], "draws left", score_tables.LEFT, "grade", "by single changes"]
    without_end = SCORES.assign(**{"left, high": [None, None]})
    assert score_tables.shown(without_end).data[score_tables.LEFT].isna().all()
    assert "by single changes" not in score_tables.shown(SCORES.drop(columns="by single changes")).data
