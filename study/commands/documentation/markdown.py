"""What is common to pages that are made."""


def table(columns: tuple[str, ...], rows: list[tuple]) -> str:
    """A table of Markdown: a row of titles and a line for each of `rows`."""
    lines = [columns, ("---",) * len(columns), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)
