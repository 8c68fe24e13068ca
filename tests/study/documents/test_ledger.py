"""The ledger: what moved a prediction, with values before and after, and what was tried once."""
import re
import tomllib

import pytest

from study.project import DATA, ROOT
from study.runs import catalogue

LEDGER = tomllib.loads((DATA / "ledger.toml").read_text())
NUMBERS = {"quantity", "values", "unit"}
ONCE = re.compile(r"\b(?:tried|looked at|seen|measured) (?:only )?once\b", re.I)


def test_a_change_has_its_reason_and_its_source_and_values_before_and_after():
    for row in LEDGER["change"]:
        assert row.keys() == {"date", "what", "reason", "source", "quantity", "before", "after", "unit"}, row["what"]
        assert len(row["before"]) == len(row["after"]) > 0, row["what"]
        assert re.fullmatch(r"2026-1[12]-\d\d", row["date"])


def test_what_was_tried_once_says_of_what_it_is_and_what_came_out():
    for row in LEDGER["tried"]:
        assert {"date", "of", "what", "outcome"} <= row.keys() <= {"date", "of", "what", "outcome", *NUMBERS}, row["what"]
        assert row.keys() >= NUMBERS or not NUMBERS & row.keys(), row["what"]
        assert re.fullmatch(r"2026-1[12](-\d\d)?", row["date"])
        assert row["of"] in catalogue.STUDY or (ROOT / row["of"]).is_file(), row["of"]


@pytest.mark.parametrize("path", sorted((ROOT / "docs").rglob("*.md")), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_page_tells_what_was_tried_once(path):
    """It belongs in the ledger; a page may lead there."""
    wrong_lines = [line for line in path.read_text().splitlines() if ONCE.search(line) and "ledger" not in line]
    assert not wrong_lines, wrong_lines
