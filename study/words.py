"""Counts in sentences.

    words.counted(1, "row"), words.counted(2, "row")        "1 row", "2 rows"
"""


def counted(n: int, noun: str) -> str:
    """So many of a thing whose plural ends in s."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
