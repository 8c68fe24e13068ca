"""Counts in sentences."""
from study.words import counted


def test_one_thing_is_no_plural():
    assert [counted(n, "row") for n in (0, 1, 2)] == ["0 rows", "1 row", "2 rows"]
