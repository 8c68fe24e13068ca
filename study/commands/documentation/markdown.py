"""What is common to pages that are made."""


def table(columns: tuple[str, ...], rows: list[tuple]) -> str:
    lines = [columns, ("---",) * len(columns), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)
